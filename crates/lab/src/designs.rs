//! The core designs. A new one is its file in the crate `designs` and its row here; one that is not an SM its crate, its
//! `OtherCore` in this crate and its row.

use crate::other_core::{Other, OtherCore};
use crate::source::{Source, Stream};
use ::functional::FunctionalCore;
use ::sgmf::Sgmf;
use designs::boards::{AccessReads, Bloomboard, NoDependences, StoreBoard, WarScoreboard, Warpboard};
use designs::ghost::Ghost;
use designs::ideal::Ideal;
use designs::load_slice::LoadSlice;
use designs::loog::Loog;
use designs::modern::Modern;
use designs::on_sub_cores::{FedBySubCores, OnSubCores};
use designs::socgpu::Socgpu;
use kit::Parameters;
use kit::parameters::Parameter;
use kit::suggest;
use sm::operands::PerfectOperands;
use sm::{
    ConfigOf, CoreDesign, InOrder, IssuePolicy, PerfectExecution, PerfectFetch, PerfectMemory, Scoreboard, WarpMask,
    With,
};

/// Something that can be done with the type of any design whose sets of warps are `M`.
pub(crate) trait ForDesign<M: WarpMask> {
    type Output;
    fn with<D: CoreDesign<Issue: IssuePolicy<Mask = M>> + 'static>(self) -> Self::Output;
}

/// A row of the registry of core designs.
#[derive(Debug)]
#[allow(missing_docs, reason = "the names of some fields and variants say it all")]
pub struct Design {
    pub name: &'static str,
    pub description: &'static str,
    schema: fn() -> Vec<Parameter>,
    /// How its machines are made, if it is not an SM.
    pub(crate) other: Option<Other>,
}

impl Design {
    /// The parameters that its name may set, with bounds and defaults.
    pub fn parameters(&self) -> Vec<Parameter> {
        (self.schema)()
    }

    /// Whether it is a design of SMs, which have warp schedulers, issue slots, structures and energy.
    pub fn is_sm(&self) -> bool {
        self.other.is_none()
    }
}

macro_rules! designs {
    (
        designs { $($design:literal: $type:ty, $about:literal;)* }
        others { $($other:literal: $core:ty, $what:literal;)* }
        names { $($name:literal = $setting:literal, $text:literal;)* }
    ) => {
        /// All designs, in the order of lists.
        pub const DESIGNS: &[Design] = {
            type M = u64;
            &[
                $(Design {
                    name: $design,
                    description: $about,
                    schema: <ConfigOf<$type> as Parameters>::schema,
                    other: None,
                },)*
                $(Design {
                    name: $other,
                    description: $what,
                    schema: <<$core as OtherCore>::Config as Parameters>::schema,
                    other: Some(Other::of::<$core>()),
                },)*
            ]
        };

        /// Short names, each of a design with some of its parameters set.
        pub const SHORT_NAMES: &[(&str, &str)] = &[$(($name, $setting),)*];

        /// Name and description of each design and of what has a short name.
        pub const CORES: &[(&str, &str)] = &[$(($design, $about),)* $(($name, $text),)* $(($other, $what),)*];

        /// Does `task` with the type of the design called `design`, its sets of warps being `M`; `None` if there is
        /// no such design of SMs.
        pub(crate) fn for_design<M: WarpMask, T: ForDesign<M>>(design: &str, task: T) -> Option<T::Output> {
            match design {
                $($design => Some(task.with::<$type>()),)*
                _ => None,
            }
        }
    };
}

/// The design called `name`.
pub(crate) fn find(name: &str) -> Option<&'static Design> {
    DESIGNS.iter().find(|design| design.name == name)
}

/// The design and parameters that the short name `name` abbreviates.
pub fn stands_for(name: &str) -> Option<&'static str> {
    SHORT_NAMES.iter().find(|(short, _)| *short == name).map(|(_, setting)| *setting)
}

/// The design in order whose stages `core` has: results of a design say something over this one.
pub fn in_order_on_stages_of(core: &str) -> &'static str {
    if core.starts_with("modern") { "modern" } else { "inorder" }
}

pub(crate) fn unknown(core: &str) -> String {
    let all = CORES.iter().map(|(name, _)| *name);
    let known: Vec<&str> = match suggest::nearest(core, all) {
        Some(near) => vec![near],
        None => DESIGNS.iter().map(|design| design.name).collect(),
    };
    suggest::unknown("core design", core, &known)
}

designs! {
    designs {
        "inorder": InOrder<Scoreboard<M>, M>, "in-order issue per warp behind a scoreboard for RAW and WAW: the baseline";
        "inorder-war": InOrder<WarScoreboard<M>, M>, "in-order issue with an exact WAR scoreboard";
        "warpboard": InOrder<Warpboard<M>, M>, "in-order issue, one instruction of a warp at a time from issue until it is released";
        "warpboard-stores": InOrder<StoreBoard<M>, M>, "in-order issue, writers wait while a store of the warp collects operands: for hazard-free register allocation";
        "bloomboard": InOrder<Bloomboard<M>, M>, "in-order issue, reads pending by register bank in bins that count";
        "ghost": Ghost<M>, "GhOST: out-of-order issue from a buffer of 8 per warp";
        "socgpu": Socgpu<M>, "SOCGPU: out-of-order issue from a buffer of 8 per warp that holds instructions until write-back";
        "loog": Loog<M>, "LOOG: in-order issue with renaming into 32 operand collectors that are reservation stations";
        "load-slice": LoadSlice<M>, "load slice core: loads and the instructions that make their addresses issue in order from a queue of their own";
        "ideal": Ideal<M>, "idealised out-of-order issue from a window of 64 per warp: registers renamed, addresses and branches known";
        "modern": Modern<M>, "the core of NVIDIA's GPUs since Volta: machine code issues by its control bits, sub-core by sub-core";
        "modern-ghost": OnSubCores<Ghost<M, AccessReads<M>>>, "GhOST over the stages of the core of GPUs since Volta";
        "modern-socgpu": OnSubCores<Socgpu<M>>, "SOCGPU over the stages of the core of GPUs since Volta";
        "modern-ideal": OnSubCores<Ideal<M>>, "idealised out-of-order issue over the stages of the core of GPUs since Volta";
        "modern-loog": FedBySubCores<Loog<M>>, "LOOG with the front end of the core of GPUs since Volta";
        "perfect-frontend": With<PerfectFetch<M>, InOrder<Scoreboard<M>, M>>, "limit study: inorder with a front end in which no warp waits for instructions";
        "perfect-operands": With<PerfectOperands, InOrder<Scoreboard<M>, M>>, "limit study: inorder with operands in the cycle after issue";
        "perfect-execution": With<PerfectExecution, InOrder<Scoreboard<M>, M>>, "limit study: inorder with a unit and a result bus for every instruction";
        "perfect-memory": With<PerfectMemory, InOrder<Scoreboard<M>, M>>, "limit study: inorder with a memory in which every access takes the time of a hit";
        "no-dependences": InOrder<NoDependences, M>, "limit study: inorder without waiting for registers";
    }
    others {
        "functional": FunctionalCore<Stream>, "no pipeline: instructions execute completely, some per cycle, and nothing is timed: results in a fraction of the host time";
        "sgmf": Sgmf<(), Source>, "SGMF: threads flow as tagged tokens through a kernel that is configured on a fabric of functional units";
    }
    names {
        "war-none" = "inorder", "the same as inorder: no protection against WAR, as historical simulators";
        "inorder-war-exact" = "inorder-war:release=commit", "in-order issue with an exact WAR scoreboard that is cleared at write-back: SOCGPU's baseline";
        "inorder-war-ideal" = "inorder-war:release=read", "in-order issue with an exact WAR scoreboard that is cleared when operands are read";
        "warpboard-commit" = "warpboard:release=commit", "in-order issue, one instruction of a warp between issue and commit";
        "warpboard-read" = "warpboard:release=read", "in-order issue, one instruction of a warp collecting operands at a time";
        "bloomboard-1" = "bloomboard:counter_bits=1", "in-order issue, reads pending by register bank in 1-bit bins";
        "bloomboard-2" = "bloomboard:counter_bits=2", "in-order issue, reads pending by register bank in 2-bit bins";
        "bloomboard-unbounded" = "bloomboard:counter_bits=0", "in-order issue, reads pending by register bank in unbounded bins";
        "ghost-4" = "ghost:issue_buffer=4", "GhOST with an issue buffer of 4";
        "ghost-16" = "ghost:issue_buffer=16", "GhOST with an issue buffer of 16";
        "ghost-32" = "ghost:issue_buffer=32", "GhOST with an issue buffer of 32";
        "ghost-64" = "ghost:issue_buffer=64", "GhOST with an issue buffer of 64, the maximum";
        "ghost-ib8" = "ghost:instruction_buffer=8", "GhOST with an instruction buffer of 8";
        "ghost-precise" = "ghost:precise=true", "GhOST with precise exceptions of loads";
        "ghost-unguarded" = "ghost:guarded=false", "GhOST by its paper's rules only: nothing keeps a write after an older read in an operand collector";
        "socgpu-4" = "socgpu:buffer=4", "SOCGPU with a buffer of 4";
        "socgpu-16" = "socgpu:buffer=16", "SOCGPU with a buffer of 16";
        "socgpu-32" = "socgpu:buffer=32", "SOCGPU with a buffer of 32";
        "socgpu-issue" = "socgpu:stops_end=issue", "SOCGPU whose branches wait for the issue, not the write-back, of older instructions";
        "socgpu-issue-memory" = "socgpu:stops_end=issue,accesses_end=issue", "the same, and accesses to memory wait for the issue of older ones";
        "loog-8" = "loog:collectors=8", "LOOG with 8 operand collectors, as many as recent GPUs have";
        "loog-16" = "loog:collectors=16", "LOOG with 16 operand collectors";
        "loog-lsq" = "loog:queue=32", "LOOG with memory accesses in a load-store queue of 32 in place of operand collectors";
        "ideal-ra" = "ideal:branches=false", "the same without branches known";
        "ideal-rb" = "ideal:addresses=false", "the same without addresses known";
        "ideal-ab" = "ideal:renaming=false", "the same without renaming";
        "ideal-r" = "ideal:addresses=false,branches=false", "idealised out-of-order issue with only registers renamed";
        "ideal-a" = "ideal:renaming=false,branches=false", "idealised out-of-order issue with only addresses known";
        "ideal-b" = "ideal:renaming=false,addresses=false", "idealised out-of-order issue with only branches known";
        "ideal-none" = "ideal:renaming=false,addresses=false,branches=false", "idealised out-of-order issue with nothing but its window of 64";
        "ideal-8" = "ideal:window=8", "the same as ideal with a window of 8";
    }
}

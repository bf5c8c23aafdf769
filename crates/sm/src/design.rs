//! A core design: which alternative each stage of the SM is.
//!
//! The SM is generic over the design, so that a stage calls its neighbours by static dispatch.

use crate::execute::ExecutionStage;
use crate::frontend::FrontEnd;
use crate::frontend::fetch::Fetch;
use crate::issue::policy::IssuePolicy;
use crate::memory::MemoryStage;
use crate::operands::OperandStage;
use crate::spec::CoreSpec;
use config::BranchFetch;
use std::marker::PhantomData;

/// Liberties of a design against program order: it has its own means against the harm, or is a limit.
/// The [`Auditor`](crate::Auditor) does not hold it to that.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Allowances {
    /// Registers are renamed: writes need not wait for older reads and writes of the same register, and
    /// predicates and uniform registers may be awaited in operand collectors instead of read at issue.
    pub renames: bool,
    /// Branches are predicted: instructions may issue before an older branch does.
    pub passes_branches: bool,
    /// Instructions read and write registers whatever older ones have yet to read or write, as no machine could.
    pub ignores_registers: bool,
    /// Results of fixed latency are there when the control bits of machine code say so, whatever the SM knows of them:
    /// [`early_reads`](crate::early_reads) compares these with the latencies. Others have dependence counters.
    pub trusts_stall_counts: bool,
}

/// Sizes and choices of a design's issue stage.
pub type ConfigOf<D> = <<D as CoreDesign>::Issue as IssuePolicy>::Config;

/// Sets of warps of a design.
pub type MaskOf<D> = <<D as CoreDesign>::Issue as IssuePolicy>::Mask;

/// Fetch of a design.
pub(crate) type FetchOf<D> = Fetch<MaskOf<D>, <D as CoreDesign>::FrontEnd>;

/// The parts of a core.
pub trait CoreDesign: Sized {
    /// How instructions come to decode.
    type FrontEnd: FrontEnd<MaskOf<Self>>;

    /// Instruction buffers and hazards: which instructions may issue.
    type Issue: IssuePolicy;

    /// Where issued instructions get their operands.
    type Operands: OperandStage<Self::Issue>;

    /// Where other instructions than loads and stores execute: [`Units`](crate::Units), unless the design is about that.
    type Execution: ExecutionStage;

    /// Where loads and stores execute: [`LoadStoreUnit`](crate::LoadStoreUnit), unless the design is about
    /// that.
    type Memory: MemoryStage;

    /// Memory accesses of one warp reach the memory stage in the order in which they issued.
    const KEEPS_MEMORY_ORDER: bool = true;

    /// The warp scheduler that it goes with, unless a user names one; none: the GPU description's.
    const SCHEDULER: Option<&'static str> = None;

    /// Keys of a GPU description that it does not read, and tables, whose names end in a dot.
    const UNREAD: &'static [&'static str] = &[];

    /// The operand stage of an SM of `spec`.
    fn operands(config: &ConfigOf<Self>, spec: &CoreSpec) -> Self::Operands;

    /// The front end of an SM of `spec`.
    fn front_end(_config: &ConfigOf<Self>, spec: &CoreSpec) -> Self::FrontEnd {
        FrontEnd::new(spec)
    }

    /// The memory stage of an SM of `spec`.
    fn memory(_config: &ConfigOf<Self>, spec: &CoreSpec) -> Self::Memory {
        MemoryStage::new(spec)
    }

    /// How decode continues after a branch that has not issued, on a GPU whose front end does as `of_gpu`.
    fn branches(_config: &ConfigOf<Self>, of_gpu: BranchFetch) -> BranchFetch {
        of_gpu
    }

    /// Its liberties against program order.
    fn allowances(_config: &ConfigOf<Self>) -> Allowances {
        Allowances::default()
    }

    /// Changes what the design does without, or does otherwise, in the SM that it is for.
    fn adapt(_config: &ConfigOf<Self>, _spec: &mut CoreSpec) {}

    /// Whether the design makes sense on an SM of `spec`.
    ///
    /// # Errors
    /// Sizes that do not fit together, or not that SM.
    fn check(config: &ConfigOf<Self>, spec: &CoreSpec) -> Result<(), String> {
        Self::Issue::check(config, spec)
    }
}

/// The design `D` with the stage `S` in place of its own. The file of `S` says of which kind it is.
#[derive(Debug)]
pub struct With<S, D>(PhantomData<(S, D)>);

/// Makes `With<$stage, D>` a design: `D` with these stages, of which `$make` makes the front end and `$memorise` the memory
/// stage. Not for operand stages, because a design says how its own is made.
macro_rules! with {
    ($stage:ty => $front_end:ty, $execution:ty, $memory:ty; $make:expr, $memorise:expr) => {
        impl<D: $crate::CoreDesign> $crate::CoreDesign for $crate::With<$stage, D> {
            type FrontEnd = $front_end;
            type Issue = D::Issue;
            type Operands = D::Operands;
            type Execution = $execution;
            type Memory = $memory;

            const KEEPS_MEMORY_ORDER: bool = D::KEEPS_MEMORY_ORDER;
            const SCHEDULER: Option<&'static str> = D::SCHEDULER;
            const UNREAD: &'static [&'static str] = D::UNREAD;

            fn operands(config: &$crate::ConfigOf<D>, spec: &$crate::CoreSpec) -> D::Operands {
                D::operands(config, spec)
            }

            fn front_end(config: &$crate::ConfigOf<D>, spec: &$crate::CoreSpec) -> $front_end {
                let make: fn(&$crate::ConfigOf<D>, &$crate::CoreSpec) -> $front_end = $make;
                make(config, spec)
            }

            fn memory(config: &$crate::ConfigOf<D>, spec: &$crate::CoreSpec) -> $memory {
                let make: fn(&$crate::ConfigOf<D>, &$crate::CoreSpec) -> $memory = $memorise;
                make(config, spec)
            }

            fn branches(config: &$crate::ConfigOf<D>, of_gpu: config::BranchFetch) -> config::BranchFetch {
                D::branches(config, of_gpu)
            }

            fn allowances(config: &$crate::ConfigOf<D>) -> $crate::Allowances {
                D::allowances(config)
            }

            fn adapt(config: &$crate::ConfigOf<D>, spec: &mut $crate::CoreSpec) {
                D::adapt(config, spec);
            }

            fn check(config: &$crate::ConfigOf<D>, spec: &$crate::CoreSpec) -> Result<(), String> {
                D::check(config, spec)
            }
        }
    };
}
pub(crate) use with;

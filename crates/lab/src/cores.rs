//! The core designs by name. A new one is its file in `sm::policy` and its row here.

use crate::Setup;
use crate::engine::Engine;
use crate::erased::{AnyStream, Unerased};
use crate::scalar;
use config::GpuConfig;
use gpu::Machine;
use isa::WarpStream;
use sm::policy::boards::{BloomConfig, Bloomboard, Release, StoreBoard, WarScoreboard, Warpboard};
use sm::policy::ghost::{Ghost, GhostConfig};
use sm::policy::ideal::{Ideal, IdealConfig};
use sm::policy::loog::{Loog, LoogConfig};
use sm::policy::socgpu::{Socgpu, SocgpuConfig, Until};
use sm::scalar::ScalarCounts;
use sm::{
    Auditor, ConfigOf, CoreDesign, CoreOptions, CoreSpec, DesignStatistic, InOrder, IssuePolicy, Scoreboard, Silent,
    Sm, TimingTable, WarpMask,
};
use std::any::Any;
use std::sync::Arc;

/// What every core design can be fed by: live execution, traces.
pub(crate) trait Stream: WarpStream<Shared: 'static> + Default + 'static {}

impl<S: WarpStream<Shared: 'static> + Default + 'static> Stream for S {}

/// Something that can be done with any core design.
pub trait ForCore {
    /// What comes of it.
    type Output;
    /// Does it with the design `P`.
    fn with<P: CoreDesign + 'static>(self, policy: &ConfigOf<P>) -> Self::Output;
}

/// A GPU whose SMs have the core design that `setup` names and whose warps are streams `S`.
///
/// # Errors
/// There is no such design: which there are.
pub(crate) fn build<S: Stream>(
    setup: &Setup,
    spec: Arc<CoreSpec>,
    shared: S::Shared,
) -> Result<Box<dyn Engine<S>>, String> {
    let build = Build::<S> { setup, spec, shared };
    if setup.gpu.sm.max_warps as usize <= u64::SLOTS {
        for_core::<u64, _>(&setup.core, build)
    } else {
        for_core::<u128, _>(&setup.core, BuildWide(build))
    }
}

/// Builds a machine behind a common face: nothing within a cycle goes through it.
pub(crate) struct Build<'a, S: Stream> {
    pub setup: &'a Setup,
    pub spec: Arc<CoreSpec>,
    pub shared: S::Shared,
}

impl<S: Stream> ForCore for Build<'_, S> {
    type Output = Box<dyn Engine<S>>;

    fn with<P: CoreDesign + 'static>(self, policy: &ConfigOf<P>) -> Box<dyn Engine<S>> {
        let Self { setup, spec, shared } = self;
        if setup.audit {
            return Box::new(Unerased(audited::<P>(policy, &setup.gpu, spec, Box::new(shared), AnyStream::new::<S>)));
        }
        let sm = |i| Sm::<S, P>::new(i, spec.clone(), S::default(), policy, Silent);
        Box::new(Machine::new(&setup.gpu, spec.outbox_packets, shared, sm))
    }
}

/// Builds a machine of SMs with more than 64 warps, which no GPU has: each design is compiled once more
/// for them, not once for each kind of stream.
struct BuildWide<'a, S: Stream>(Build<'a, S>);

impl<S: Stream> ForCore for BuildWide<'_, S> {
    type Output = Box<dyn Engine<S>>;

    fn with<P: CoreDesign + 'static>(self, policy: &ConfigOf<P>) -> Box<dyn Engine<S>> {
        let Build { setup, spec, shared } = self.0;
        let (shared, stream): (Box<dyn Any>, _) = (Box::new(shared), AnyStream::new::<S>);
        if setup.audit {
            return Box::new(Unerased(audited::<P>(policy, &setup.gpu, spec, shared, stream)));
        }
        let sm = |i| Sm::<AnyStream, P>::new(i, spec.clone(), stream(), policy, Silent);
        Box::new(Unerased(Box::new(Machine::new(&setup.gpu, spec.outbox_packets, shared, sm))))
    }
}

/// A machine with an auditor at each SM.
fn audited<P: CoreDesign + 'static>(
    policy: &ConfigOf<P>,
    gpu: &GpuConfig,
    spec: Arc<CoreSpec>,
    shared: Box<dyn Any>,
    stream: fn() -> AnyStream,
) -> Box<dyn Engine<AnyStream>> {
    let auditor = || Auditor::new(P::allowances(policy));
    let sm = |i| Sm::<AnyStream, P, Auditor>::new(i, spec.clone(), stream(), policy, auditor());
    Box::new(Machine::new(gpu, spec.outbox_packets, shared, sm))
}

macro_rules! cores {
    ($($name:literal: $policy:ty = $config:expr, $text:literal;)*) => {
        /// Name and description of each core design.
        pub const CORES: &[(&str, &str)] = &[$(($name, $text),)*];

        /// Does `task` with the core design called `core`, with a scalar path or without, its sets of warps
        /// being `M`.
        ///
        /// # Errors
        /// There is no such design: which there are. Or a scalar path makes no sense on it: why.
        pub fn for_core<M: WarpMask, T: ForCore>(core: &str, task: T) -> Result<T::Output, String> {
            let (design, scalar) = scalar::split(core)?;
            match design {
                $($name => {
                    if scalar.is_some() {
                        scalar_goes_with::<$policy>(design, &$config)?;
                    }
                    Ok(with::<M, $policy, T>(task, &$config))
                })*
                _ => Err(unknown(design)),
            }
        }

        /// The statistics that only some designs have, each once.
        pub(crate) fn design_statistics(gpu: &GpuConfig) -> Vec<DesignStatistic> {
            type M = u128;
            let Ok(spec) = CoreSpec::new(gpu, TimingTable::Sass, CoreOptions::default()) else { return Vec::new() };
            let mut all: Vec<DesignStatistic> = Vec::new();
            $(for one in <<$policy as CoreDesign>::Issue as IssuePolicy>::new(&$config, &spec).statistics() {
                if !all.iter().any(|other| other.info == one.info) {
                    all.push(one);
                }
            })*
            all.extend(ScalarCounts::default().statistics());
            all
        }
    };
}

/// Does `task` with `P`, which serves SMs of as many warps as `M`.
fn with<M, P: CoreDesign<Issue: IssuePolicy<Mask = M>> + 'static, T: ForCore>(
    task: T,
    policy: &ConfigOf<P>,
) -> T::Output {
    task.with::<P>(policy)
}

/// # Errors
/// A scalar path makes no sense on the design.
fn scalar_goes_with<P: CoreDesign>(design: &str, config: &ConfigOf<P>) -> Result<(), String> {
    if P::allowances(config).renames {
        return Err(format!(
            "`{design}` renames registers: none has one place in the scalar or the vector register file, which is \
             what the scalar path goes by. Take a design that does not, such as `inorder+scalar` or `ghost+scalar`"
        ));
    }
    Ok(())
}

/// Checks the name of a core design, with a scalar path or without.
///
/// # Errors
/// As [`for_core`].
pub fn check_core(core: &str) -> Result<(), String> {
    struct Nothing;
    impl ForCore for Nothing {
        type Output = ();
        fn with<P: CoreDesign + 'static>(self, _: &ConfigOf<P>) {}
    }
    for_core::<u64, _>(core, Nothing)
}

/// Whether nothing in the core design keeps a write behind an older read of the same register, nor memory
/// accesses of a warp in order, as in GPGPU-Sim and Accel-Sim. False of what is no design.
pub fn lacks_hazard_guard(core: &str) -> bool {
    struct Guard;
    impl ForCore for Guard {
        type Output = bool;
        fn with<P: CoreDesign + 'static>(self, _: &ConfigOf<P>) -> bool {
            !P::KEEPS_MEMORY_ORDER
        }
    }
    for_core::<u64, _>(core, Guard).unwrap_or(false)
}

fn unknown(core: &str) -> String {
    let known = CORES.iter().map(|(name, _)| (*name).to_owned()).collect::<Vec<_>>();
    format!("there is no core design `{core}`{}", workloads::suggest::among(core, &known))
}

cores! {
    "inorder": InOrder<Scoreboard<M>, M> = (), "in-order issue per warp behind a scoreboard for RAW and WAW: the baseline";
    "war-none": InOrder<Scoreboard<M>, M> = (), "the same as inorder: no protection against WAR, as historical simulators";
    "inorder-war-exact": InOrder<WarScoreboard<M>, M> = Release::Commit, "in-order issue with an exact WAR scoreboard that is cleared at write-back: SOCGPU's baseline";
    "inorder-war-ideal": InOrder<WarScoreboard<M>, M> = Release::Read, "in-order issue with an exact WAR scoreboard that is cleared when operands are read";
    "warpboard-commit": InOrder<Warpboard<M>, M> = Release::Commit, "in-order issue, one instruction of a warp between issue and commit";
    "warpboard-read": InOrder<Warpboard<M>, M> = Release::Read, "in-order issue, one instruction of a warp collecting operands at a time";
    "warpboard-stores": InOrder<StoreBoard<M>, M> = (), "in-order issue, writers wait while a store of the warp collects operands: for hazard-free register allocation";
    "bloomboard-1": InOrder<Bloomboard<M>, M> = BloomConfig { counter_bits: 1 }, "in-order issue, reads pending by register bank in 1-bit bins";
    "bloomboard-2": InOrder<Bloomboard<M>, M> = BloomConfig { counter_bits: 2 }, "in-order issue, reads pending by register bank in 2-bit bins";
    "bloomboard-unbounded": InOrder<Bloomboard<M>, M> = BloomConfig { counter_bits: 0 }, "in-order issue, reads pending by register bank in unbounded bins";
    "ghost": Ghost<M> = GhostConfig::default(), "GhOST: out-of-order issue from a buffer of 8 per warp";
    "ghost-4": Ghost<M> = GhostConfig { issue_buffer: 4, ..GhostConfig::default() }, "GhOST with an issue buffer of 4";
    "ghost-16": Ghost<M> = GhostConfig { issue_buffer: 16, ..GhostConfig::default() }, "GhOST with an issue buffer of 16";
    "ghost-32": Ghost<M> = GhostConfig { issue_buffer: 32, ..GhostConfig::default() }, "GhOST with an issue buffer of 32";
    "ghost-64": Ghost<M> = GhostConfig { issue_buffer: 64, ..GhostConfig::default() }, "GhOST with an issue buffer of 64, the most there is";
    "ghost-ib8": Ghost<M> = GhostConfig { instruction_buffer: 8, ..GhostConfig::default() }, "GhOST with an instruction buffer of 8";
    "ghost-precise": Ghost<M> = GhostConfig { precise: true, ..GhostConfig::default() }, "GhOST with precise exceptions of loads";
    "ghost-unguarded": Ghost<M> = GhostConfig { guarded: false, ..GhostConfig::default() }, "GhOST by its paper's rules alone: nothing keeps a write behind an older read in an operand collector";
    "socgpu": Socgpu<M> = SocgpuConfig::default(), "SOCGPU: out-of-order issue from a buffer of 8 per warp that holds instructions until write-back";
    "socgpu-4": Socgpu<M> = SocgpuConfig { entries: 4, ..SocgpuConfig::default() }, "SOCGPU with a buffer of 4";
    "socgpu-16": Socgpu<M> = SocgpuConfig { entries: 16, ..SocgpuConfig::default() }, "SOCGPU with a buffer of 16";
    "socgpu-32": Socgpu<M> = SocgpuConfig { entries: 32, ..SocgpuConfig::default() }, "SOCGPU with a buffer of 32";
    "socgpu-issue": Socgpu<M> = SocgpuConfig { stops_end: Until::Issue, ..SocgpuConfig::default() }, "SOCGPU whose branches keep behind the issue, not the write-back, of older instructions";
    "socgpu-issue-memory": Socgpu<M> = SocgpuConfig { stops_end: Until::Issue, accesses_end: Until::Issue, ..SocgpuConfig::default() }, "the same, and accesses to memory keep behind the issue of older ones";
    "loog": Loog<M> = LoogConfig::default(), "LOOG: in-order issue with renaming into 32 operand collectors that are reservation stations";
    "loog-8": Loog<M> = LoogConfig { collectors: 8, queue: 0 }, "LOOG with 8 operand collectors, as many as recent GPUs have";
    "loog-16": Loog<M> = LoogConfig { collectors: 16, queue: 0 }, "LOOG with 16 operand collectors";
    "loog-lsq": Loog<M> = LoogConfig { collectors: 32, queue: 32 }, "LOOG with memory accesses in a load-store queue of 32 in place of operand collectors";
    "ideal": Ideal<M> = IdealConfig::default(), "idealised out-of-order issue from a window of 64 per warp: registers renamed, addresses and branches known";
    "ideal-ra": Ideal<M> = IdealConfig::with(true, true, false), "the same without branches known";
    "ideal-rb": Ideal<M> = IdealConfig::with(true, false, true), "the same without addresses known";
    "ideal-ab": Ideal<M> = IdealConfig::with(false, true, true), "the same without renaming";
    "ideal-r": Ideal<M> = IdealConfig::with(true, false, false), "idealised out-of-order issue with registers renamed alone";
    "ideal-a": Ideal<M> = IdealConfig::with(false, true, false), "idealised out-of-order issue with addresses known alone";
    "ideal-b": Ideal<M> = IdealConfig::with(false, false, true), "idealised out-of-order issue with branches known alone";
    "ideal-none": Ideal<M> = IdealConfig::with(false, false, false), "idealised out-of-order issue with nothing but its window of 64";
    "ideal-8": Ideal<M> = IdealConfig { window: 8, ..IdealConfig::default() }, "the same as ideal with a window of 8";
}

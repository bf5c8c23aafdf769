//! The core designs by name. A new one is its file in `sm::policy` and its row here.

use crate::engine::{Engine, Rig, Subject};
use crate::scalar;
use crate::source::{Source, Stream};
use config::GpuConfig;
use gpu::Machine;
use isa::{LaunchShape, Program};
use sm::policy::boards::{BloomConfig, Bloomboard, Release, StoreBoard, WarScoreboard, Warpboard};
use sm::policy::ghost::{Ghost, GhostConfig};
use sm::policy::ideal::{Ideal, IdealConfig};
use sm::policy::loog::{Loog, LoogConfig};
use sm::policy::socgpu::{Socgpu, SocgpuConfig, Until};
use sm::scalar::ScalarCounts;
use sm::{
    Auditor, Code, ConfigOf, CoreDesign, CoreOptions, CoreSpec, DesignStatistic, Findings, InOrder, IssuePolicy,
    Kernel, Observer, Scoreboard, Silent, Sm, TimingTable, WarpMask,
};
use std::collections::HashMap;
use std::sync::Arc;
use trace::Recorder;
use workloads::Form;

/// Something that can be done with any core design.
pub trait ForCore {
    /// Its result.
    type Output;
    /// Does it with the design `P`.
    fn with<P: CoreDesign + 'static>(self, policy: &ConfigOf<P>) -> Self::Output;
}

/// A machine of SMs that is to be built.
pub(crate) struct Build<'a> {
    gpu: &'a GpuConfig,
    /// With an auditor at each SM.
    audit: bool,
    source: Source,
    /// Records what the warps do.
    recorder: Option<&'a Recorder>,
    codes: Codes,
}

impl<'a> Build<'a> {
    /// A machine of `gpu` whose SMs behave as `options` say and whose warps do what `source` has.
    ///
    /// # Errors
    /// There is no such scheduler, or the description cannot be built.
    pub fn new(gpu: &'a GpuConfig, options: &CoreOptions, source: Source) -> Result<Self, String> {
        let spec = |table| CoreSpec::new(gpu, table, options.clone()).map(Arc::new).map_err(|e| e.to_string());
        let (ptx, sass) = (spec(TimingTable::Ptx)?, spec(TimingTable::Sass)?);
        let sms = if let Source::AccelSim(_) = source { &sass } else { &ptx }.clone();
        Ok(Self { gpu, audit: false, source, recorder: None, codes: Codes { sms, ptx, sass, made: HashMap::new() } })
    }

    /// Puts an auditor at each SM if `audit` says so.
    pub fn audited(self, audit: bool) -> Self {
        Self { audit, ..self }
    }

    /// Has the warps recorded.
    pub fn recorded(self, recorder: Option<&'a Recorder>) -> Self {
        Self { recorder, ..self }
    }

    /// With the core design called `core`.
    ///
    /// # Errors
    /// There is no such design: which there are.
    pub fn with_core(self, core: &str) -> Result<Box<dyn Engine>, String> {
        if !self.audit && self.gpu.sm.max_warps as usize <= u64::SLOTS {
            for_core::<u64, _>(core, Plain(self))
        } else {
            for_core::<u128, _>(core, self)
        }
    }

    fn watched<P: CoreDesign + 'static, O: Watch>(
        self,
        policy: &ConfigOf<P>,
        observer: impl Fn() -> O,
    ) -> Box<dyn Engine> {
        let Self { gpu, source, recorder, codes, .. } = self;
        let sm = |i| Sm::<Stream, P, O>::new(i, codes.sms.clone(), source.stream(recorder), policy, observer());
        let sms = (0..gpu.sm_count as u16).map(sm).collect();
        let machine = Machine::new(gpu, codes.sms.outbox_packets, source, sms);
        Box::new(Rig { machine, loader: codes })
    }
}

/// Audited machines, and those of SMs with more than 64 warps, which no GPU has: each design is compiled
/// once for each of the two.
impl ForCore for Build<'_> {
    type Output = Box<dyn Engine>;

    fn with<P: CoreDesign + 'static>(self, policy: &ConfigOf<P>) -> Box<dyn Engine> {
        if self.audit {
            self.watched::<P, _>(policy, || Auditor::new(P::allowances(policy)))
        } else {
            self.watched::<P, _>(policy, || Silent)
        }
    }
}

/// All other machines.
struct Plain<'a>(Build<'a>);

impl ForCore for Plain<'_> {
    type Output = Box<dyn Engine>;

    fn with<P: CoreDesign + 'static>(self, policy: &ConfigOf<P>) -> Box<dyn Engine> {
        self.0.watched::<P, _>(policy, || Silent)
    }
}

/// What may watch SMs.
trait Watch: Observer + 'static {
    /// What it has found, if it looks for anything.
    fn findings(&self) -> Option<&Findings>;
}

impl Watch for Silent {
    fn findings(&self) -> Option<&Findings> {
        None
    }
}

impl Watch for Auditor {
    fn findings(&self) -> Option<&Findings> {
        Some(Auditor::findings(self))
    }
}

/// Programs as SMs need them, each resolved once.
pub(crate) struct Codes {
    /// The SMs.
    sms: Arc<CoreSpec>,
    /// The same with the latencies of PTX and of machine code.
    ptx: Arc<CoreSpec>,
    sass: Arc<CoreSpec>,
    /// By the address of the program, which its code keeps alive.
    made: HashMap<*const Program, Arc<Code>>,
}

impl<P: CoreDesign + 'static, O: Watch> Subject for Sm<Stream, P, O> {
    type Loader = Codes;

    fn load(codes: &mut Codes, program: &Arc<Program>, form: Form, shape: LaunchShape) -> Kernel {
        let spec = if form == Form::Sass { &codes.sass } else { &codes.ptx };
        let code = codes.made.entry(Arc::as_ptr(program));
        let code = code.or_insert_with(|| Arc::new(Code::new(program.clone(), spec)));
        Kernel::new(code.clone(), shape, &codes.sms)
    }

    fn findings(&self) -> Option<&Findings> {
        self.observer.findings()
    }

    fn scheduler(codes: &Codes) -> &str {
        codes.sms.scheduler_name()
    }
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

/// Whether nothing in the core design makes a write wait for an older read of the same register, nor keeps
/// memory accesses of a warp in order, as in GPGPU-Sim and Accel-Sim. False of what is no design.
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

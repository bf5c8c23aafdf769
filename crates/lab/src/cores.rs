//! Machines of any core design: of SMs here, of other cores as they say.

use crate::core_name::CoreName;
use crate::engine::{Engine, LaunchCode, LoadableCore, LoadingMachine};
use crate::for_core::{ForCore, check_core_on, core_spec, for_core, no_sm};
use crate::other_core::{Other, Parts};
use crate::setup::Setup;
use crate::source::{Source, Stream};
use gpu::Machine;
use isa::Form;
use sm::passages::Passages;
use sm::{
    Auditor, Code, ConfigOf, CoreDesign, CoreOptions, CoreSpec, Findings, FrontEnd, Instruments, Observer, Profile,
    ResidentKernel, Silent, Sm, WarpMask,
};
use std::collections::HashMap;
use std::sync::Arc;
use trace::Recorder;

/// Builds a machine.
pub(crate) struct MachineBuilder<'a> {
    setup: &'a Setup,
    source: Source,
    /// Records what the warps do.
    recorder: Option<&'a Recorder>,
    codes: CodeCache,
}

impl<'a> MachineBuilder<'a> {
    /// The machine that `setup` describes. Its SMs have `options`, and its warps get their instructions from `source`.
    ///
    /// # Errors
    /// There is no such scheduler, or the description cannot be built.
    pub fn new(setup: &'a Setup, options: &CoreOptions, source: Source) -> Result<Self, String> {
        let spec = |table| core_spec(&setup.core, &setup.gpu, table, options.clone()).map(Arc::new);
        let (ptx, sass) = (spec(Form::Ptx)?, spec(Form::Sass)?);
        let sms = if let Source::AccelSim(_) = source { &sass } else { &ptx }.clone();
        Ok(Self {
            setup,
            source,
            recorder: None,
            codes: CodeCache { sms, ptx, sass, made: HashMap::new(), end: 0, copied: None },
        })
    }

    /// Records the warps with `recorder`.
    pub fn recorded(self, recorder: Option<&'a Recorder>) -> Self {
        Self { recorder, ..self }
    }

    /// Builds the machine with the core design that the set-up names.
    ///
    /// # Errors
    /// There is no such design; the message lists them.
    pub fn build(self) -> Result<Box<dyn Engine>, String> {
        let core = &self.setup.core;
        let name = CoreName::parse(core)?;
        if let Some(other) = name.other()? {
            check_without_sms(self.setup, name.design, other)?;
            let Self { setup, source, recorder, .. } = self;
            return other.machine(Parts {
                gpu: &setup.gpu,
                core: name.design,
                settings: &name.parameters,
                source,
                recorder,
            });
        }
        check_core_on(core, &self.codes.sms)?;
        if !self.setup.is_watched() && self.setup.gpu.sm.max_warps as usize <= u64::SLOTS {
            for_core::<u64, _>(core, UnwatchedBuilder(self))
        } else {
            for_core::<u128, _>(core, self)
        }
    }

    /// Builds the machine with core design `D`, which need not be registered.
    pub fn of_design<D: CoreDesign + 'static>(self, config: &ConfigOf<D>) -> Box<dyn Engine> {
        if self.setup.is_watched() { self.with::<D>(config) } else { UnwatchedBuilder(self).with::<D>(config) }
    }

    fn assemble<D: CoreDesign + 'static, O: Watch>(
        self,
        config: &ConfigOf<D>,
        observer: impl Fn(u16) -> O,
    ) -> Box<dyn Engine> {
        let Self { setup, source, recorder, codes } = self;
        let numbers = 0..setup.gpu.sm_count as u16;
        let streams: Vec<_> = numbers.clone().map(|_| source.stream(recorder)).collect();
        let sm = |(stream, i)| Sm::<Stream, D, O>::new(i, codes.sms.clone(), stream, config, observer(i));
        let sms = streams.into_iter().zip(numbers).map(sm);
        let machine = Machine::new(&setup.gpu, source, sms);
        Box::new(LoadingMachine::new(machine, codes))
    }
}

/// Checks that `setup` asks for nothing that `core`, which is not an SM, does not have.
fn check_without_sms(setup: &Setup, core: &str, other: &Other) -> Result<(), String> {
    if setup.scheduler.is_some() {
        return Err(no_sm(core, "warp schedulers: choose no scheduler"));
    }
    if setup.timeline.is_some() {
        return Err(no_sm(core, "pipeline that a timeline could show"));
    }
    if setup.profile {
        return Err(no_sm(core, "issue slots, which a profile counts by instruction"));
    }
    if setup.power_interval.is_some() && !other.has_energy() {
        return Err(no_sm(core, "model of energy, and so no power over time"));
    }
    Ok(())
}

/// Machines with instruments at each SM: watched ones, and ones whose SMs have more than 64 warps, which no GPU has.
/// Each design is compiled once for all of these.
impl ForCore for MachineBuilder<'_> {
    type Output = Box<dyn Engine>;

    fn with<D: CoreDesign + 'static>(self, config: &ConfigOf<D>) -> Box<dyn Engine> {
        let (setup, spec) = (self.setup, self.codes.sms.clone());
        let width = spec.sm.issue.width as usize;
        self.assemble::<D, _>(config, |sm| Instruments {
            auditor: setup
                .audit
                .then(|| Auditor::new(D::allowances(config)).of_fences(setup.gpu.sm.issue.fences_wait_for)),
            profile: setup.profile.then(|| Profile::new(spec.schedulers() * width)),
            passages: setup.timeline.as_ref().and_then(|window| window.of_sm(sm)),
        })
    }
}

struct UnwatchedBuilder<'a>(MachineBuilder<'a>);

impl ForCore for UnwatchedBuilder<'_> {
    type Output = Box<dyn Engine>;

    fn with<D: CoreDesign + 'static>(self, config: &ConfigOf<D>) -> Box<dyn Engine> {
        let Self(MachineBuilder { setup, source, recorder, codes }) = self;
        if recorder.is_some() {
            return MachineBuilder { setup, source, recorder, codes }.assemble::<D, _>(config, |_| Silent);
        }
        let (spec, config, stream) = (codes.sms.clone(), config.clone(), source.streams());
        let sm = move |i| Sm::<Stream, D, Silent>::new(i as u16, spec.clone(), stream(), &config, Silent);
        let machine = Machine::made_lazily(&setup.gpu, source, setup.gpu.sm_count as usize, sm);
        Box::new(LoadingMachine::new(machine, codes))
    }
}

/// An observer that may be at each SM.
trait Watch: Observer + 'static {
    /// The findings of its auditor, if it has one.
    fn findings(&self) -> Option<&Findings>;
    /// Its profile, if it has one.
    fn profile(&self) -> Option<&Profile>;
    /// Its record of the pipeline, if it has one.
    fn passages(&self) -> Option<&Passages>;
}

impl Watch for Silent {
    fn findings(&self) -> Option<&Findings> {
        None
    }

    fn profile(&self) -> Option<&Profile> {
        None
    }

    fn passages(&self) -> Option<&Passages> {
        None
    }
}

impl Watch for Instruments {
    fn findings(&self) -> Option<&Findings> {
        self.auditor.as_ref().map(Auditor::findings)
    }

    fn profile(&self) -> Option<&Profile> {
        self.profile.as_ref()
    }

    fn passages(&self) -> Option<&Passages> {
        self.passages.as_ref()
    }
}

/// Programs as SMs need them, each resolved once.
pub(crate) struct CodeCache {
    sms: Arc<CoreSpec>,
    /// The same with the latencies of PTX and of machine code.
    ptx: Arc<CoreSpec>,
    sass: Arc<CoreSpec>,
    /// By the address of the program, which its code keeps alive.
    made: HashMap<usize, Arc<Code>>,
    /// The end of the programs in memory, where the cores fetch them from there.
    end: u64,
    /// The program that was placed last: address and bytes.
    copied: Option<(u64, u64)>,
}

/// Programs begin at multiples of this many bytes, as CUDA's linker has functions.
const CODE_ALIGNMENT: u64 = 128;

impl<D: CoreDesign + 'static, O: Watch> LoadableCore for Sm<Stream, D, O> {
    type Loader = CodeCache;

    fn load(codes: &mut CodeCache, loading: &LaunchCode<'_>) -> Result<ResidentKernel, String> {
        let &LaunchCode { program, form, shape, .. } = loading;
        let spec = if form == Form::Sass { &codes.sass } else { &codes.ptx };
        let (end, copied) = (&mut codes.end, &mut codes.copied);
        let code = codes.made.entry(Arc::as_ptr(program).addr());
        let code = code.or_insert_with(|| {
            let mut code = Code::new(program.clone(), spec);
            if D::FrontEnd::PLACES_CODE {
                code.loaded_at = *end;
                *copied = Some(code.fetched());
                *end += code.bytes().next_multiple_of(CODE_ALIGNMENT);
            }
            Arc::new(code)
        });
        Ok(ResidentKernel::new(code.clone(), shape, &codes.sms))
    }

    fn take_copied(codes: &mut CodeCache) -> Option<(u64, u64)> {
        codes.copied.take()
    }

    fn findings(&self) -> Option<&Findings> {
        self.observer.findings()
    }

    fn profile(&self) -> Option<&Profile> {
        self.observer.profile()
    }

    fn passages(&self) -> Option<&Passages> {
        self.observer.passages()
    }

    fn scheduler(codes: &CodeCache) -> Option<&str> {
        Some(codes.sms.scheduler_name())
    }
}

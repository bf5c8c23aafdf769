//! Work with a core by its name: the design's type and its configuration.

use crate::core_name::CoreName;
use crate::designs::{self, CORES, DESIGNS, Design, ForDesign};
use crate::other_core::Other;
use config::GpuConfig;
use gpu::{StatInfo, Value};
use isa::Form;
use sm::scalar::ScalarCounts;
use sm::{ConfigOf, CoreDesign, CoreOptions, CoreSpec, DesignStatistic, FrontEnd, IssuePolicy, WarpMask};
use std::sync::Arc;

/// Something that can be done with any core design.
pub trait ForCore {
    /// Result of the work.
    type Output;
    /// Does it with the design `D`.
    fn with<D: CoreDesign + 'static>(self, config: &ConfigOf<D>) -> Self::Output;
}

/// Does `task` with the core called `core`, its sets of warps being `M`.
///
/// # Errors
/// There is no such design or parameter (the message lists them), or the design cannot have a scalar path (why), or
/// it is not an SM.
pub fn for_core<M: WarpMask, T: ForCore>(core: &str, task: T) -> Result<T::Output, String> {
    let name = CoreName::parse(core)?;
    let done = designs::for_design::<M, _>(name.design, Configured { name: &name, task });
    done.unwrap_or_else(|| Err(no_sm(name.design, "issue policy and stages")))
}

/// The message that core `design` is not an SM and has no `what`.
pub(crate) fn no_sm(design: &str, what: &str) -> String {
    format!("core `{design}` is not an SM and has no {what}")
}

/// A task for a design with the configuration that a name gives it.
struct Configured<'a, T> {
    name: &'a CoreName<'a>,
    task: T,
}

impl<M: WarpMask, T: ForCore> ForDesign<M> for Configured<'_, T> {
    type Output = Result<T::Output, String>;

    fn with<D: CoreDesign<Issue: IssuePolicy<Mask = M>> + 'static>(self) -> Self::Output {
        let Self { name, task } = self;
        let config = name.config::<ConfigOf<D>>()?;
        if name.scalar.is_some() && D::allowances(&config).renames {
            return Err(format!(
                "`{}` renames registers: none has one place in the scalar or the vector register file, which is \
                 what the scalar path goes by. Take a design that does not, such as `inorder+scalar` or `ghost+scalar`",
                name.design
            ));
        }
        Ok(task.with::<D>(&config))
    }
}

/// Checks the name of a core.
///
/// # Errors
/// There is no such design or parameter, or it has a scalar path and cannot have one.
pub fn check_core(core: &str) -> Result<(), String> {
    struct Nothing;
    impl ForCore for Nothing {
        type Output = ();
        fn with<D: CoreDesign + 'static>(self, _: &ConfigOf<D>) {}
    }
    if CoreName::parse(core)?.other()?.is_some() {
        return Ok(());
    }
    for_core::<u64, _>(core, Nothing)
}

/// Whether `core` is an SM: others have no warp schedulers, issue slots, structures and energy. False if there is no
/// such core.
pub fn is_sm(core: &str) -> bool {
    CoreName::parse(core).is_ok_and(|name| designs::find(name.design).is_some_and(Design::is_sm))
}

/// Whether cycles of `core` are a model of time, as cycles of SMs are.
pub fn is_timed(core: &str) -> bool {
    other(core).is_none_or(|other| other.is_timed)
}

/// Whether `core` runs live programs of PTX only, not machine code or traces.
pub fn needs_ptx(core: &str) -> bool {
    other(core).is_some_and(|other| other.needs_ptx)
}

/// Whether runs on `core` have energy, as those on SMs have where the GPU has a model of it.
pub fn has_energy(core: &str) -> bool {
    other(core).is_none_or(Other::has_energy)
}

fn other(core: &str) -> Option<&'static Other> {
    designs::find(CoreName::parse(core).ok()?.design)?.other.as_ref()
}

/// Checks that the parameters of a core fit together and an SM of `spec`.
///
/// # Errors
/// As [`for_core`], or the reason why they do not fit.
pub(crate) fn check_core_on(core: &str, spec: &CoreSpec) -> Result<(), String> {
    struct Check<'a>(&'a CoreSpec);
    impl ForCore for Check<'_> {
        type Output = Result<(), String>;
        fn with<D: CoreDesign + 'static>(self, config: &ConfigOf<D>) -> Self::Output {
            D::check(config, self.0)
        }
    }
    let checked = for_core::<u64, _>(core, Check(spec))?;
    checked.map_err(|problem| format!("core `{}`: {problem}", kit::text::excerpt(core)))
}

/// Specification of an SM of `core` on `gpu`, with the timing of `form`.
///
/// # Errors
/// The description cannot be built. A core that is unknown or not an SM changes nothing.
pub(crate) fn core_spec(core: &str, gpu: &GpuConfig, form: Form, options: CoreOptions) -> Result<CoreSpec, String> {
    struct Adapt<'a>(&'a mut CoreSpec);
    impl ForCore for Adapt<'_> {
        type Output = ();
        fn with<D: CoreDesign + 'static>(self, config: &ConfigOf<D>) {
            D::adapt(config, self.0);
        }
    }
    let mut spec = CoreSpec::new(gpu, form, options).map_err(|e| e.to_string())?;
    let _ = for_core::<u64, _>(core, Adapt(&mut spec));
    Ok(spec)
}

/// Whether nothing in the core design keeps a write after an older read of the same register, nor memory
/// accesses of a warp in order, as in GPGPU-Sim and Accel-Sim. False if there is no such design.
pub fn lacks_hazard_guard(core: &str) -> bool {
    struct Guard;
    impl ForCore for Guard {
        type Output = bool;
        fn with<D: CoreDesign + 'static>(self, _: &ConfigOf<D>) -> bool {
            !D::KEEPS_MEMORY_ORDER
        }
    }
    for_core::<u64, _>(core, Guard).unwrap_or(false)
}

/// The warp scheduler that the core design goes with, if it has one of its own.
pub fn scheduler_of(core: &str) -> Option<&'static str> {
    struct Own;
    impl ForCore for Own {
        type Output = Option<&'static str>;
        fn with<D: CoreDesign + 'static>(self, _: &ConfigOf<D>) -> Option<&'static str> {
            D::SCHEDULER
        }
    }
    for_core::<u64, _>(core, Own).ok().flatten()
}

/// Whether the control bits of machine code keep the dependences of a program on `core`, if it has them.
pub(crate) fn trusts_control_bits(core: &str) -> bool {
    struct Trusts;
    impl ForCore for Trusts {
        type Output = bool;
        fn with<D: CoreDesign + 'static>(self, config: &ConfigOf<D>) -> bool {
            D::allowances(config).trusts_stall_counts
        }
    }
    for_core::<u64, _>(core, Trusts).unwrap_or(false)
}

/// The keys of a GPU description, and tables, whose names end in a dot, that the core design does not read.
pub fn unread_keys(core: &str) -> &'static [&'static str] {
    struct Unread;
    impl ForCore for Unread {
        type Output = &'static [&'static str];
        fn with<D: CoreDesign + 'static>(self, _: &ConfigOf<D>) -> &'static [&'static str] {
            D::UNREAD
        }
    }
    for_core::<u64, _>(core, Unread).unwrap_or_default()
}

/// The statistics of cores that are not SMs.
pub(crate) fn other_statistics(gpu: &GpuConfig) -> impl Iterator<Item = (Arc<StatInfo>, Value)> {
    DESIGNS.iter().filter_map(|design| design.other.as_ref()).flat_map(|other| other.statistics(gpu).0)
}

/// The statistics that only some designs of SMs have, each once.
pub(crate) fn design_statistics(gpu: &GpuConfig) -> Vec<DesignStatistic> {
    struct Collect<'a>(&'a CoreSpec);
    impl ForCore for Collect<'_> {
        type Output = Vec<DesignStatistic>;
        fn with<D: CoreDesign + 'static>(self, config: &ConfigOf<D>) -> Self::Output {
            let mut all = D::Issue::new(config, self.0).statistics();
            all.extend(D::front_end(config, self.0).statistics());
            all
        }
    }
    let Ok(spec) = CoreSpec::new(gpu, Form::Sass, CoreOptions::default()) else { return Vec::new() };
    let mut all: Vec<DesignStatistic> = Vec::new();
    for (core, _) in CORES {
        for one in for_core::<u128, _>(core, Collect(&spec)).unwrap_or_default() {
            if !all.iter().any(|other| other.info == one.info) {
                all.push(one);
            }
        }
    }
    all.extend(ScalarCounts::default().statistics());
    all
}

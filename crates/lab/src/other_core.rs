//! Cores that are not SMs: how their machines are made of a row in `designs`.

use crate::design_cost::Process;
use crate::engine::{Engine, LoadableCore, LoadingMachine};
use crate::source::Source;
use config::GpuConfig;
use energy::Hardware;
use gpu::{CoreReport, Period, Stats, Table};
use kit::Parameters;
use kit::parameters::{self, Settings};
use trace::Recorder;

/// A core that is not an SM.
pub(crate) trait OtherCore: LoadableCore + Sized + 'static {
    /// Its parameters.
    type Config: Parameters;
    /// Whether its cycles are a model of time.
    const IS_TIMED: bool = true;
    /// Whether it executes operations itself: of live programs of PTX, not of machine code or traces.
    const NEEDS_PTX: bool = false;

    /// Its structures, on `gpu` in `process`; `None` if it has no hardware.
    ///
    /// # Errors
    /// The description and the parameters do not fit together.
    fn hardware(_gpu: &GpuConfig, _: &Self::Config, _: Process) -> Result<Option<Hardware>, String> {
        Ok(None)
    }

    /// Checks that the parameters fit together.
    ///
    /// # Errors
    /// They do not: why.
    fn check_config(_: &Self::Config) -> Result<(), String> {
        Ok(())
    }

    /// A machine of such cores on `gpu`, whose warps get their instructions from `source`.
    ///
    /// # Errors
    /// The description and the parameters do not fit together.
    fn machine(
        gpu: &GpuConfig,
        config: &Self::Config,
        source: Source,
        recorder: Option<&Recorder>,
    ) -> Result<LoadingMachine<Self>, String>;
}

/// An [`OtherCore`] of any type.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Other {
    /// Whether its cycles are a model of time.
    pub is_timed: bool,
    /// Whether it executes operations itself: of live programs of PTX, not of machine code or traces.
    pub needs_ptx: bool,
    check: fn(&str, &Settings<'_>) -> Result<(), String>,
    hardware: HardwareOf,
    machine: fn(Parts<'_>) -> Result<Box<dyn Engine>, String>,
    statistics: fn(&GpuConfig) -> Stats,
    has_energy: fn() -> bool,
}

/// Structures of the core with this name and these parameters.
type HardwareOf = fn(&GpuConfig, &str, &Settings<'_>, Process) -> Result<Option<Hardware>, String>;

/// Parts of a machine.
pub(crate) struct Parts<'a> {
    pub gpu: &'a GpuConfig,
    /// Name of the core, for messages.
    pub core: &'a str,
    /// Its parameters.
    pub settings: &'a Settings<'a>,
    pub source: Source,
    /// Records what the warps do.
    pub recorder: Option<&'a Recorder>,
}

impl Other {
    /// Cores `C`.
    pub const fn of<C: OtherCore>() -> Self {
        Self {
            is_timed: C::IS_TIMED,
            needs_ptx: C::NEEDS_PTX,
            check: |core, settings| configured::<C>(core, settings).map(drop),
            hardware: |gpu, core, settings, process| C::hardware(gpu, &configured::<C>(core, settings)?, process),
            machine: machine::<C>,
            statistics: statistics::<C>,
            has_energy: || C::Counters::default().has_energy_events(),
        }
    }

    /// Checks the parameters of the core called `core`.
    ///
    /// # Errors
    /// There is no such parameter, it does not accept its value, or the parameters do not fit together.
    pub fn check(&self, core: &str, settings: &Settings<'_>) -> Result<(), String> {
        (self.check)(core, settings)
    }

    /// Structures of the core called `core`, on `gpu` in `process`; `None` if it has no hardware.
    ///
    /// # Errors
    /// As [`Other::check`], or the description and the parameters do not fit together.
    pub fn hardware(
        &self,
        gpu: &GpuConfig,
        core: &str,
        settings: &Settings<'_>,
        process: Process,
    ) -> Result<Option<Hardware>, String> {
        (self.hardware)(gpu, core, settings, process)
    }

    /// Builds a machine.
    ///
    /// # Errors
    /// As [`Other::check`], or the description does not fit the parameters.
    pub fn machine(&self, parts: Parts<'_>) -> Result<Box<dyn Engine>, String> {
        (self.machine)(parts)
    }

    /// Whether the energy of runs is known.
    pub fn has_energy(&self) -> bool {
        (self.has_energy)()
    }

    /// The core's statistics, all zero or absent.
    pub fn statistics(&self, gpu: &GpuConfig) -> Stats {
        (self.statistics)(gpu)
    }
}

fn configured<C: OtherCore>(core: &str, settings: &Settings<'_>) -> Result<C::Config, String> {
    let of = format!("core design `{core}`");
    let config = parameters::configured(&of, settings)?;
    C::check_config(&config).map_err(|problem| format!("{of}: {problem}"))?;
    Ok(config)
}

fn machine<C: OtherCore>(parts: Parts<'_>) -> Result<Box<dyn Engine>, String> {
    let Parts { gpu, core, settings, source, recorder } = parts;
    Ok(Box::new(C::machine(gpu, &configured::<C>(core, settings)?, source, recorder)?))
}

fn statistics<C: OtherCore>(gpu: &GpuConfig) -> Stats {
    let (none, period, mut table) = (C::Counters::default(), Period { kernel_cycles: 0, gpu }, Table::default());
    none.headline(period, &mut table);
    none.parts(period, &mut table);
    none.design(&mut table);
    table.0
}

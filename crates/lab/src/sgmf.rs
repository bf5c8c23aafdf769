//! Machines of SGMF cores, and kernels on their fabrics.

use crate::core_name::CoreName;
use crate::design_cost::Process;
use crate::engine::{LaunchCode, LoadableCore, LoadingMachine};
use crate::other_core::OtherCore;
use crate::source::Source;
use ::sgmf::{Sgmf, SgmfConfig, SgmfKernel, Timing, unit_counts};
use config::GpuConfig;
use dataflow::Refusal;
use dataflow::fabric::{Fabric, FabricSpec, UnitKind};
use dataflow::graph::Node;
use dataflow::map::{Compiled, Failure, Options, map};
use dataflow::resources;
use energy::Hardware;
use exec::Kernel;
use gpu::Machine;
use kit::Parameters;
use kit::parameters::{self, Parameter};
use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;
use trace::Recorder;

const DESIGN: &str = "sgmf";

kit::words! {
    /// Measure of the length of paths.
    pub enum Balance {
        /// Their number of nodes (§4.4).
        Nodes = "nodes",
        /// The latencies of their units and links.
        Latencies = "latencies",
        /// The threads that they hold while a unit waits for memory.
        Threads = "threads",
    }
}

kit::parameters! {
    /// How kernels are mapped.
    pub struct Compilation {
        /// Maximum number of copies of a graph side by side, of which the paper says nothing; 0: as many as the fabric
        /// has room for.
        pub copies: u32 = 1 in (0, 64),
        /// Measure of length that delays make equal on paths that meet again.
        pub balance: Balance = (Balance::Nodes),
        /// Seed of the placement.
        pub place_seed: u32 = 1,
    }
}

/// Links of a route that paths are balanced with: a guess, as routes come later.
const LINKS_OF_A_ROUTE: u32 = 2;

/// Parameters of a core: of its execution, its fabric, and the compiler.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Config {
    core: SgmfConfig,
    fabric: FabricSpec,
    compilation: Compilation,
}

impl Parameters for Config {
    fn schema() -> Vec<Parameter> {
        SgmfConfig::schema().into_iter().chain(FabricSpec::schema()).chain(Compilation::schema()).collect()
    }

    fn set(&mut self, name: &str, value: &str) -> Result<(), String> {
        match Self::schema().iter().any(|p| p.name == name) {
            false => Err(parameters::unknown(name, &Self::schema())),
            true if FabricSpec::schema().iter().any(|p| p.name == name) => self.fabric.set(name, value),
            true if Compilation::schema().iter().any(|p| p.name == name) => self.compilation.set(name, value),
            true => self.core.set(name, value),
        }
    }
}

/// Why a kernel cannot be mapped.
#[derive(Clone, Debug)]
pub enum Unmapped {
    /// No unit executes some of its instructions: all of them.
    Refused(Vec<Refusal>),
    /// The fabric is too small for it, whatever the cuts.
    NoRoom(Failure),
}

impl fmt::Display for Unmapped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("it cannot be mapped onto the fabric:")?;
        match self {
            Self::Refused(refusals) => refusals.iter().try_for_each(|r| write!(f, "\n  {r}")),
            Self::NoRoom(failure) => write!(
                f,
                " {failure}\n  hint: parameters give the fabric other units: columns, rows, control_columns, int_dividers, \
                 fp_dividers, roots"
            ),
        }
    }
}

/// Maps kernels to the fabric of a core.
#[derive(Clone, Debug)]
pub struct FabricCompiler {
    config: SgmfConfig,
    fabric: Fabric,
    compilation: Compilation,
    timing: Timing,
}

impl FabricCompiler {
    /// For the core called `core` on `gpu`.
    ///
    /// # Errors
    /// There is no such core or parameter, the core has no fabric, or the parameters do not fit together or the GPU.
    pub fn new(core: &str, gpu: &GpuConfig) -> Result<Self, String> {
        let name = CoreName::parse(core)?;
        name.other()?;
        if name.design != DESIGN {
            return Err(format!("core `{}` has no fabric; one that has is `{DESIGN}`", name.design));
        }
        Self::of(&name.config()?, gpu)
    }

    fn of(config: &Config, gpu: &GpuConfig) -> Result<Self, String> {
        let (core, fabric) = (config.core, Fabric::new(config.fabric)?);
        let timing = Timing::of(gpu, &core)?;
        Ok(Self { config: core, fabric, compilation: config.compilation, timing })
    }

    /// The fabric.
    pub const fn fabric(&self) -> &Fabric {
        &self.fabric
    }

    /// Maps a kernel.
    ///
    /// # Errors
    /// It cannot be mapped: all reasons.
    pub fn compile(&self, kernel: &Kernel) -> Result<Compiled, Unmapped> {
        let graphs = dataflow::dataflow(kernel).map_err(Unmapped::Refused)?;
        let Compilation { copies, balance, place_seed } = self.compilation;
        let entries = self.config.entries;
        // A unit that waits for memory holds threads in its reservation buffer and in its token buffers.
        let held = |node: &Node| match resources::kind(&node.op) {
            Some(UnitKind::LoadStore) => 2 * entries,
            Some(UnitKind::IntDivider | UnitKind::FpDivider | UnitKind::Root) => entries,
            _ => self.timing.of_node(&node.op),
        };
        let threads = |node: &Node| held(node) + LINKS_OF_A_ROUTE * self.config.hop_cycles;
        let latencies = |node: &Node| self.timing.of_node(&node.op) + LINKS_OF_A_ROUTE * self.config.hop_cycles;
        let usual = Options { copies, seed: place_seed.into(), ..Options::default() };
        let options = match balance {
            Balance::Nodes => usual,
            Balance::Latencies => Options { latency: &latencies, absorbed: entries - 1, ..usual },
            Balance::Threads => Options { latency: &threads, absorbed: entries - 1, ..usual },
        };
        map(&graphs, &self.fabric, &options).map_err(Unmapped::NoRoom)
    }
}

/// A kernel on the fabric, or all reasons why it is on none.
type Outcome = Result<Arc<Compiled>, String>;

/// Maps kernels, each once.
pub(crate) struct Mapper {
    gpu: GpuConfig,
    compiler: FabricCompiler,
    /// By the address of the kernel, which is kept alive.
    known: HashMap<usize, (Arc<Kernel>, Outcome)>,
}

impl Mapper {
    fn map(&mut self, kernel: &Arc<Kernel>) -> Outcome {
        let (_, mapped) = self.known.entry(Arc::as_ptr(kernel).addr()).or_insert_with(|| {
            let mapped = self.compiler.compile(kernel).map(Arc::new);
            (kernel.clone(), mapped.map_err(|why| format!("kernel `{}`: {why}", kernel.name())))
        });
        mapped.clone()
    }
}

impl LoadableCore for Sgmf<(), Source> {
    type Loader = Mapper;

    fn load(mapper: &mut Mapper, loading: &LaunchCode<'_>) -> Result<SgmfKernel, String> {
        let Some(live) = loading.live else {
            return Err("an SGMF core executes operations, and a trace has none: run the program itself".into());
        };
        if live.kernel.is_machine_code() {
            return Err(format!(
                "kernel `{}` is machine code, and an SGMF core executes PTX: choose the code ptx of a bundled workload, the PTX \
                 for a launch file",
                live.kernel.name()
            ));
        }
        let compiled = mapper.map(&live.kernel)?;
        SgmfKernel::new(&compiled.mapped, live, &mapper.gpu, &mapper.compiler.config).map_err(|e| e.to_string())
    }
}

impl OtherCore for Sgmf<(), Source> {
    type Config = Config;

    const NEEDS_PTX: bool = true;

    fn hardware(gpu: &GpuConfig, config: &Config, process: Process) -> Result<Option<Hardware>, String> {
        let fabric = Fabric::new(config.fabric)?;
        let timing = Timing::of(gpu, &config.core)?;
        Ok(Some(::sgmf::hardware(&config.core, &fabric, &timing, process.node_nm, process.volts)))
    }

    fn check_config(config: &Config) -> Result<(), String> {
        Fabric::new(config.fabric).map(drop)
    }

    fn machine(
        gpu: &GpuConfig,
        config: &Config,
        source: Source,
        _: Option<&Recorder>,
    ) -> Result<LoadingMachine<Self>, String> {
        let compiler = FabricCompiler::of(config, gpu)?;
        let units = unit_counts(&compiler.fabric);
        let core = |number| Sgmf::new(gpu, compiler.config, units, number);
        let cores: Vec<_> = (0..gpu.sm_count).map(core).collect();
        let loader = Mapper { gpu: gpu.clone(), compiler, known: HashMap::new() };
        Ok(LoadingMachine::new(Machine::new(gpu, source, cores), loader))
    }
}

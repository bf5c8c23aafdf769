//! Machines of SGMF cores.

use crate::engine::{Loading, Rig, Subject};
use crate::other_core::OtherCore;
use ::sgmf::{Sgmf, SgmfConfig, SgmfKernel, Timing};
use config::GpuConfig;
use dataflow::fabric::{Fabric, FabricSpec, UnitKind};
use dataflow::graph::Node;
use dataflow::map::{Compiled, Options, map};
use dataflow::resources;
use exec::Kernel;
use gpu::Machine;
use kit::Parameters;
use kit::parameters::{self, Parameter};
use std::collections::HashMap;
use std::sync::Arc;
use stream::Source;
use trace::Recorder;

/// Packets of a core's outbox: it makes one request in a cycle.
const OUTBOX_PACKETS: u32 = 8;

kit::words! {
    /// What makes paths equally long.
    pub enum Balance {
        /// Their number of nodes (§4.4).
        Nodes = "nodes",
        /// The threads that they hold while a unit waits for memory.
        Threads = "threads",
    }
}

kit::parameters! {
    /// How kernels are mapped.
    pub struct Compilation {
        /// Maximum number of copies of a graph side by side; 0: as many as the fabric has room for.
        pub copies: u32 = 1 in (0, 64),
        /// What delays make equal on paths that meet again.
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

/// Parameters of a core's execution that follow from its fabric.
const OF_FABRIC: [&str; 4] = ["compute", "control", "ldst", "special"];

impl Parameters for Config {
    fn schema() -> Vec<Parameter> {
        let own = SgmfConfig::schema().into_iter().filter(|p| !OF_FABRIC.contains(&p.name));
        own.chain(FabricSpec::schema()).chain(Compilation::schema()).collect()
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

/// A kernel on the fabric, or all reasons why it is on none.
type Outcome = Result<Arc<Compiled>, String>;

/// Maps kernels, each once.
pub(crate) struct Mapper {
    gpu: GpuConfig,
    config: SgmfConfig,
    fabric: Fabric,
    compilation: Compilation,
    /// By the address of the kernel, which is kept alive.
    known: HashMap<*const Kernel, (Arc<Kernel>, Outcome)>,
}

impl Mapper {
    fn map(&mut self, kernel: &Arc<Kernel>) -> Outcome {
        if let Some((_, mapped)) = self.known.get(&Arc::as_ptr(kernel)) {
            return mapped.clone();
        }
        let mapped = self.compile(kernel).map(Arc::new);
        self.known.insert(Arc::as_ptr(kernel), (kernel.clone(), mapped.clone()));
        mapped
    }

    /// `kernel` on the fabric, or all reasons why it cannot be mapped.
    fn compile(&self, kernel: &Kernel) -> Result<Compiled, String> {
        let name = kernel.name();
        let graphs = dataflow::dataflow(kernel).map_err(|refusals| {
            let reasons: Vec<String> = refusals.iter().map(|r| format!("\n  {r}")).collect();
            format!("kernel `{name}` cannot be mapped onto the fabric:{}", reasons.concat())
        })?;
        let Compilation { copies, balance, place_seed } = self.compilation;
        let timing = Timing::of(&self.gpu, &self.config)?;
        let entries = self.config.entries;
        // A unit that waits for memory holds threads in its reservation buffer and in its token buffers.
        let held = |node: &Node| match resources::kind(&node.op) {
            Some(UnitKind::LoadStore) => 2 * entries,
            Some(UnitKind::IntDivider | UnitKind::FpDivider | UnitKind::Root) => entries,
            _ => timing.of_node(&node.op),
        };
        let threads = |node: &Node| held(node) + LINKS_OF_A_ROUTE * self.config.hop_cycles;
        let usual = Options { copies, seed: place_seed.into(), ..Options::default() };
        let options = match balance {
            Balance::Nodes => usual,
            Balance::Threads => Options { latency: &threads, absorbed: entries - 1, ..usual },
        };
        map(&graphs, &self.fabric, &options)
            .map_err(|failure| format!("kernel `{name}` cannot be mapped onto the fabric: {failure}"))
    }
}

impl Subject for Sgmf<(), Source> {
    type Loader = Mapper;

    fn load(mapper: &mut Mapper, loading: &Loading<'_>) -> Result<SgmfKernel, String> {
        let Some(live) = loading.live else {
            return Err("an SGMF core executes operations, and a trace has none: run the program itself".into());
        };
        let compiled = mapper.map(&live.kernel)?;
        SgmfKernel::new(&compiled.mapped, live, &mapper.gpu, &mapper.config).map_err(|e| e.to_string())
    }
}

impl OtherCore for Sgmf<(), Source> {
    type Config = Config;

    const NEEDS_PTX: bool = true;

    fn machine(gpu: &GpuConfig, config: &Config, source: Source, _: Option<&Recorder>) -> Result<Rig<Self>, String> {
        let fabric = Fabric::new(config.fabric)?;
        let counts = fabric.counts();
        let special = [UnitKind::IntDivider, UnitKind::FpDivider, UnitKind::Root].map(|kind| counts[kind as usize]);
        let of = |kind: UnitKind| counts[kind as usize] as u32;
        let core = SgmfConfig {
            compute: of(UnitKind::Compute),
            control: of(UnitKind::Control),
            ldst: of(UnitKind::LoadStore),
            special: special.iter().sum::<usize>() as u32,
            ..config.core
        };
        let cores = (0..gpu.sm_count).map(|number| Sgmf::new(gpu, core, number)).collect();
        let loader =
            Mapper { gpu: gpu.clone(), config: core, fabric, compilation: config.compilation, known: HashMap::new() };
        Ok(Rig::new(Machine::new(gpu, OUTBOX_PACKETS, source, cores), loader))
    }
}

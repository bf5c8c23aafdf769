//! The bundled workloads on a GPU of fabric cores with the whole memory system: results are right, with values in the
//! tokens. Each node is on a unit of its own: placement is not what is tested here.

use crate::host::{self, Host, Runs};
use crate::support::mapping;
use dataflow::dataflow;
use dataflow::mapping::Mapped;
use exec::{DeviceState, Kernel, Launch};
use gpu::{Machine, StreamId};
use lower::{RegisterLimits, Registers};
use sgmf::{Sgmf, SgmfConfig, SgmfKernel};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;
use std::sync::{Arc, OnceLock};
use workloads::device::DeviceError;
use workloads::{Form, conformance, suite};

/// A GPU of three fabric cores; what cannot be mapped runs without time.
struct Fabrics {
    config: SgmfConfig,
    gpu: config::GpuConfig,
    machine: Machine<Sgmf>,
    mapped: BTreeMap<String, Option<Arc<Mapped>>>,
    /// Kernels that ran on fabrics.
    ran: BTreeSet<String>,
}

/// `kernel` with each node on a unit of its own, and links of their own.
fn placed(kernel: &Kernel) -> Option<Arc<Mapped>> {
    let dataflow = dataflow(kernel).ok()?;
    let mappings = dataflow.regions.iter().map(|region| mapping(region.clone(), |_, _| 1)).collect();
    Some(Arc::new(Mapped { dataflow, mappings }))
}

impl Fabrics {
    fn new(config: SgmfConfig) -> Self {
        let mut gpu = config::load("accel-sim/gtx480").expect("built in");
        gpu.sm_count = 3;
        let core = |number| Sgmf::new(&gpu, config, [4096; 4], number);
        let cores: Vec<_> = (0..3).map(core).collect();
        let machine = Machine::new(&gpu, host::memory(), cores);
        Self { config, gpu, machine, mapped: BTreeMap::new(), ran: BTreeSet::new() }
    }
}

impl Runs for Fabrics {
    fn state(&mut self) -> &mut DeviceState {
        &mut self.machine.shared
    }

    fn run(&mut self, launch: &Launch) -> Result<(), DeviceError> {
        let name = launch.kernel.name().to_owned();
        let mapped = self.mapped.entry(name.clone()).or_insert_with(|| placed(&launch.kernel)).clone();
        let Some(mapped) = mapped else {
            return exec::run(&mut self.machine.shared, launch).map(|_| ()).map_err(DeviceError::Fault);
        };
        let kernel = SgmfKernel::new(&mapped, launch, &self.gpu, &self.config).map_err(host::other)?;
        self.ran.insert(name);
        self.machine.launch(kernel, StreamId(0));
        self.machine.run(&mut |_| ControlFlow::Continue(())).map_err(|error| host::other(format!("{error:?}")))?;
        self.machine.take_ended();
        Ok(())
    }
}

/// Workloads whose kernels are mapped, of little work.
const CHECKED: [&str; 9] =
    ["vectoradd", "transpose", "backprop", "bfs", "btree", "gaussian", "histogram", "nn", "pathfinder"];

fn check(names: &[&str], config: SgmfConfig) -> BTreeSet<String> {
    check_with(names, config, Registers::Virtual).0
}

/// Kernels that ran on fabrics, and words of their registers that are in local memory.
fn check_with(names: &[&str], config: SgmfConfig, registers: Registers) -> (BTreeSet<String>, u32) {
    let mut spilled = 0;
    let (mut problems, mut ran) = (String::new(), BTreeSet::new());
    for workload in suite::ALL.iter().filter(|workload| names.contains(&workload.name)) {
        let mut device = Host { registers, ..Host::from(Fabrics::new(config)) };
        let begun = std::time::Instant::now();
        problems += &conformance::check_one(workload, &mut device, Form::Ptx, &[], 1);
        let counters = device.machine.counters();
        println!(
            "{:>12}: {} core cycles, {} firings, {:.0} ns a firing",
            workload.name,
            counters.cycles,
            counters.core.fabric.firings,
            begun.elapsed().as_nanos() as f64 / counters.core.fabric.firings.max(1) as f64
        );
        ran.append(&mut device.ran);
        let kernels = device.modules.iter().flat_map(|module| &module.module.kernels);
        spilled += kernels.filter_map(|kernel| kernel.allocation).map(|done| done.spilled).sum::<u32>();
    }
    assert!(problems.is_empty(), "{problems}");
    (ran, spilled)
}

const fn wide(entries: u32) -> SgmfConfig {
    SgmfConfig { entries, ..SgmfConfig::DEFAULT }
}

/// The kernels of each workload that ran on fabrics of 16 entries, once for all tests.
fn usual() -> &'static BTreeMap<&'static str, BTreeSet<String>> {
    static RAN: OnceLock<BTreeMap<&str, BTreeSet<String>>> = OnceLock::new();
    RAN.get_or_init(|| CHECKED.map(|name| (name, check(&[name], wide(16)))).into())
}

#[test]
fn workloads_are_right_on_fabrics() {
    let ran: BTreeSet<_> = usual().values().flatten().collect();
    assert!(ran.len() >= CHECKED.len(), "{ran:?}");
}

/// The dispatcher gives a core a CTA a cycle: CTAs of 16 threads that come one after the other are one batch.
#[test]
fn a_core_s_ctas_of_a_launch_are_one_batch() {
    let gaussian = suite::ALL.iter().find(|workload| workload.name == "gaussian").expect("bundled");
    let mut device = Host::from(Fabrics::new(wide(16)));
    assert_eq!(conformance::check_one(gaussian, &mut device, Form::Ptx, &[], 1), "");
    let fabric = device.machine.counters().core.fabric;
    // For each of 31 columns a CTA of `multipliers` and 64 of `eliminate`, on three cores.
    assert_eq!((fabric.ctas, fabric.batches), (31 * (1 + 64), 31 * (1 + 3)));
}

/// Graphs are made of PTX with allocated registers too: as many as there are, and so few that some are spilled.
#[test]
fn results_do_not_depend_on_the_registers() {
    let limits = |most| RegisterLimits { chosen: Some(most), ..RegisterLimits::default() };
    let names = ["backprop", "bfs", "gaussian", "histogram", "nn", "pathfinder"];
    let usual: BTreeSet<_> = names.iter().flat_map(|name| usual()[name].clone()).collect();
    for (registers, spills) in [(Registers::HazardFree(limits(255)), false), (Registers::Allocated(limits(12)), true)] {
        let (ran, spilled) = check_with(&names, wide(16), registers);
        assert_eq!((ran, spilled > 0), (usual.clone(), spills), "{registers:?}");
    }
}

#[test]
fn results_do_not_depend_on_the_entries() {
    for entries in [1, 2, 8, 64] {
        check(&["backprop"], wide(entries));
    }
}

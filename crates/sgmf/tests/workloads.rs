//! The bundled workloads on a GPU of fabric cores with the whole memory system: results are right, with values in the
//! tokens. Each node is on a unit of its own: placement is not what is tested here.

use crate::support::mapping;
use dataflow::dataflow;
use dataflow::mapping::Mapped;
use exec::{DeviceState, GpuFacts, Kernel, Launch};
use gpu::{Machine, StreamId};
use lower::{KernelError, Loaded, LowerOptions};
use sgmf::{Sgmf, SgmfConfig, SgmfKernel};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;
use std::sync::Arc;
use workloads::device::{
    Buffer, Device, DeviceError, LaunchRequest, ModuleCode, ModuleId, ModuleSource, ParameterInfo,
};
use workloads::{Form, conformance, suite};

/// A GPU of three fabric cores; what cannot be mapped runs without time.
struct Fabrics {
    config: SgmfConfig,
    gpu: config::GpuConfig,
    machine: Machine<Sgmf>,
    modules: Vec<Loaded>,
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
        let mut gpu = config::load("gtx480").expect("built in");
        gpu.sm_count = 3;
        let state = DeviceState::new(16 << 30, GpuFacts::default());
        let cores = (0..3).map(|number| Sgmf::new(&gpu, config, [4096; 4], number)).collect();
        let machine = Machine::new(&gpu, 8, state, cores);
        Self { config, gpu, machine, modules: Vec::new(), mapped: BTreeMap::new(), ran: BTreeSet::new() }
    }

    fn module(&self, id: ModuleId) -> Result<&Loaded, DeviceError> {
        self.modules.get(id.0 as usize).ok_or(DeviceError::UnknownModule(id))
    }

    fn kernel(&self, id: ModuleId, name: &str) -> Result<&Arc<Kernel>, DeviceError> {
        self.module(id)?.kernel(name).map_err(|error| match error {
            KernelError::Unknown { name, .. } => DeviceError::UnknownKernel { name, known: Vec::new() },
            error => DeviceError::Module(error.to_string()),
        })
    }

    fn run(&mut self, launch: &Launch) -> Result<(), DeviceError> {
        let name = launch.kernel.name().to_owned();
        let mapped = self.mapped.entry(name.clone()).or_insert_with(|| placed(&launch.kernel)).clone();
        let Some(mapped) = mapped else {
            return exec::run(&mut self.machine.shared, launch).map(|_| ()).map_err(DeviceError::Fault);
        };
        let kernel = SgmfKernel::new(&mapped, launch, &self.gpu, &self.config).map_err(other)?;
        self.ran.insert(name);
        self.machine.launch(kernel, StreamId(0));
        self.machine.run(&mut |_| ControlFlow::Continue(())).map_err(|error| other(format!("{error:?}")))?;
        self.machine.take_ended();
        Ok(())
    }
}

fn other(error: impl std::fmt::Display) -> DeviceError {
    DeviceError::Other(error.to_string())
}

fn span(buffer: Buffer, offset: u64, bytes: usize) -> Result<u64, DeviceError> {
    if offset + bytes as u64 > buffer.bytes {
        return Err(DeviceError::OutOfRange { offset, bytes: bytes as u64, size: buffer.bytes });
    }
    Ok(buffer.address + offset)
}

impl Device for Fabrics {
    fn sm_version(&self) -> u32 {
        0
    }
    fn load_module(&mut self, source: &ModuleSource<'_>) -> Result<ModuleId, DeviceError> {
        let options = LowerOptions { slot: self.modules.len() as u16, ..LowerOptions::default() };
        let ModuleCode::Ptx(text) = source.code else { return Err(other("graphs are made of PTX")) };
        let loaded = lower::load(source.name, text, options).map_err(|e| DeviceError::Module(e.to_string()))?;
        self.machine.shared.load(&loaded.module).map_err(other)?;
        self.modules.push(loaded);
        Ok(ModuleId(self.modules.len() as u32 - 1))
    }
    fn kernels(&self, module: ModuleId) -> Result<Vec<String>, DeviceError> {
        Ok(self.module(module)?.module.kernels.iter().map(|k| k.name().to_owned()).collect())
    }
    fn parameters(&self, module: ModuleId, kernel: &str) -> Result<Vec<ParameterInfo>, DeviceError> {
        let info = |p: &exec::Param| ParameterInfo {
            name: p.name.clone(),
            bytes: p.bytes,
            type_name: p.ty.trim_start_matches('.').to_owned(),
        };
        Ok(self.kernel(module, kernel)?.params.iter().map(info).collect())
    }
    fn alloc(&mut self, name: &str, bytes: u64) -> Result<Buffer, DeviceError> {
        let address = self.machine.shared.memory.allocate(name, bytes).map_err(other)?;
        Ok(Buffer { address, bytes })
    }
    fn free(&mut self, buffer: Buffer) -> Result<(), DeviceError> {
        self.machine.shared.memory.free(buffer.address).map_err(other)
    }
    fn write(&mut self, buffer: Buffer, offset: u64, bytes: &[u8]) -> Result<(), DeviceError> {
        self.machine.shared.memory.write(span(buffer, offset, bytes.len())?, bytes).map_err(other)
    }
    fn read(&mut self, buffer: Buffer, offset: u64, bytes: &mut [u8]) -> Result<(), DeviceError> {
        self.machine.shared.memory.read(span(buffer, offset, bytes.len())?, bytes).map_err(other)
    }
    fn memset(&mut self, buffer: Buffer, byte: u8) -> Result<(), DeviceError> {
        self.write(buffer, 0, &vec![byte; buffer.bytes as usize])
    }
    fn write_symbol(&mut self, module: ModuleId, name: &str, offset: u64, bytes: &[u8]) -> Result<(), DeviceError> {
        let variable = self.module(module)?.module.variable(name).ok_or_else(|| other(name))?;
        let place = Buffer { address: variable.address, bytes: variable.bytes };
        self.machine.shared.memory.write(span(place, offset, bytes.len())?, bytes).map_err(other)
    }
    fn image(&mut self, image: &isa::Image) -> Result<u64, DeviceError> {
        self.machine.shared.add_image(*image).map_err(|e| DeviceError::Image(e.to_string()))
    }
    fn launch(&mut self, launch: &LaunchRequest<'_>) -> Result<(), DeviceError> {
        let kernel = self.kernel(launch.module, launch.kernel)?.clone();
        let args: Vec<_> = launch.args.iter().map(|a| exec::Arg::Bytes(a.bytes().to_vec())).collect();
        let live = Launch::new(kernel, launch.grid, launch.block, launch.dynamic_shared_bytes, &args)
            .map_err(|e| DeviceError::Arguments { kernel: launch.kernel.to_owned(), problem: e.to_string() })?;
        self.run(&live)
    }
    fn synchronize(&mut self) -> Result<(), DeviceError> {
        Ok(())
    }
}

/// Workloads whose kernels are mapped, of little work.
const CHECKED: [&str; 9] =
    ["vectoradd", "transpose", "backprop", "bfs", "btree", "gaussian", "histogram", "nn", "pathfinder"];

fn check(names: &[&str], config: SgmfConfig) -> BTreeSet<String> {
    let (mut problems, mut ran) = (String::new(), BTreeSet::new());
    for workload in suite::ALL.iter().filter(|workload| names.contains(&workload.name)) {
        let mut device = Fabrics::new(config);
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
    }
    assert!(problems.is_empty(), "{problems}");
    ran
}

const fn wide(entries: u32) -> SgmfConfig {
    SgmfConfig { entries, ..SgmfConfig::DEFAULT }
}

#[test]
fn workloads_are_right_on_fabrics() {
    let ran = check(&CHECKED, wide(16));
    assert!(ran.len() >= CHECKED.len(), "{ran:?}");
}

#[test]
fn results_do_not_depend_on_the_entries() {
    for entries in [1, 2, 4, 8, 32, 64] {
        check(&["backprop"], wide(entries));
    }
}

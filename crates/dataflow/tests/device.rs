//! A device that runs kernels as graphs where they can be mapped, and else as usual.

use crate::host::{self, Host, Runs};
use dataflow::evaluate::{self, Memory};
use dataflow::graph::Dataflow;
use dataflow::resources::{Counts, needs};
use dataflow::{Refusal, watched};
use exec::atomic::{Atomic, AtomicOp, AtomicType};
use exec::{DeviceMemory, DeviceState, Launch};
use isa::Space;
use std::collections::{BTreeMap, HashMap};
use workloads::device::DeviceError;

/// The graphs of a kernel, or why there are none.
pub type Outcome = Result<Dataflow, Vec<Refusal>>;

/// Runs each launch at once.
pub struct Graphs {
    state: DeviceState,
    /// Kernels that have been launched, by name.
    pub kernels: BTreeMap<String, Outcome>,
    /// Units that they need after each pass of the compiler, by name.
    pub stages: BTreeMap<String, Vec<(&'static str, Counts)>>,
    /// Change of the graphs before they run.
    pub change: fn(Dataflow) -> Dataflow,
}

impl Graphs {
    /// A device without modules.
    pub fn device() -> Host<Self> {
        Self { state: host::memory(), kernels: BTreeMap::new(), stages: BTreeMap::new(), change: |graphs| graphs }
            .into()
    }
}

impl Runs for Graphs {
    fn state(&mut self) -> &mut DeviceState {
        &mut self.state
    }

    fn run(&mut self, launch: &Launch) -> Result<(), DeviceError> {
        let name = launch.kernel.name();
        let graphs = self.kernels.entry(name.to_owned()).or_insert_with(|| {
            let stages = self.stages.entry(name.to_owned()).or_default();
            let mut watch = |pass, graphs: &Dataflow| {
                stages.push((pass, needs(graphs.regions.iter().flat_map(|region| &region.nodes))));
            };
            watched(&launch.kernel, &mut watch).map(self.change)
        });
        match graphs {
            Ok(graphs) => {
                let shared_bytes = launch.shape().shared_bytes;
                let mut memory =
                    Spaces { device: &mut self.state.memory, shared: HashMap::new(), shared_bytes, at: [0; 2] };
                evaluate::run(graphs, launch, &mut memory).map_err(|e| host::other(format!("{e:?}")))
            }
            Err(_) => exec::run(&mut self.state, launch).map(|_| ()).map_err(DeviceError::Fault),
        }
    }
}

/// Memory of the threads of a launch.
struct Spaces<'a> {
    device: &'a mut DeviceMemory,
    /// By CTA, or by CTA and thread for local memory.
    shared: HashMap<[u64; 3], Vec<u8>>,
    shared_bytes: u32,
    at: [u64; 2],
}

impl Spaces<'_> {
    fn own(&mut self, space: Space) -> &mut Vec<u8> {
        let (key, bytes) = match space {
            Space::Shared => ([0, self.at[0], 0], self.shared_bytes as usize),
            _ => ([1, self.at[0], self.at[1]], 1 << 16),
        };
        self.shared.entry(key).or_insert_with(|| vec![0; bytes])
    }
}

impl Memory for Spaces<'_> {
    type Error = String;

    fn load(&mut self, space: Space, address: u64, bytes: u8) -> Result<u64, String> {
        let mut raw = [0; 8];
        let n = usize::from(bytes);
        match space {
            Space::Global | Space::Constant | Space::Generic => {
                self.device.read(address, &mut raw[..n]).map_err(|e| e.to_string())?;
            }
            space => {
                let own = self.own(space);
                let from = own.get(address as usize..address as usize + n).ok_or("beyond the array")?;
                raw[..n].copy_from_slice(from);
            }
        }
        Ok(u64::from_le_bytes(raw))
    }

    fn store(&mut self, space: Space, address: u64, bytes: u8, value: u64) -> Result<(), String> {
        let raw = value.to_le_bytes();
        let n = usize::from(bytes);
        match space {
            Space::Global | Space::Generic => self.device.write(address, &raw[..n]).map_err(|e| e.to_string()),
            space => {
                let own = self.own(space);
                let to = own.get_mut(address as usize..address as usize + n).ok_or("beyond the array")?;
                to.copy_from_slice(&raw[..n]);
                Ok(())
            }
        }
    }

    fn atomic(&mut self, atomic: &Atomic, space: Space, address: u64, [value, swap]: [u64; 2]) -> Result<u64, String> {
        let Atomic { op, ty, .. } = atomic;
        let old = self.load(space, address, ty.bytes())?;
        let float = |x: u64| f32::from_bits(x as u32);
        let new = match (op, ty) {
            (AtomicOp::Add, AtomicType::F32) => u64::from((float(old) + float(value)).to_bits()),
            (AtomicOp::Add, AtomicType::F64) => (f64::from_bits(old) + f64::from_bits(value)).to_bits(),
            (AtomicOp::Add, _) => old.wrapping_add(value),
            (AtomicOp::Or, _) => old | value,
            (AtomicOp::And, _) => old & value,
            (AtomicOp::Exch, _) => value,
            (AtomicOp::Cas, _) => {
                if old == value {
                    swap
                } else {
                    old
                }
            }
            (AtomicOp::Xor, _) => old ^ value,
            (AtomicOp::Max, AtomicType::U32) => old.max(value),
            (AtomicOp::Min, AtomicType::U32) => old.min(value),
            (AtomicOp::Max, AtomicType::S32) => u64::from((old as i32).max(value as i32) as u32),
            (AtomicOp::Min, AtomicType::S32) => u64::from((old as i32).min(value as i32) as u32),
            (AtomicOp::Inc, _) => {
                if old >= value {
                    0
                } else {
                    old + 1
                }
            }
            _ => return Err(format!("{op:?} of {ty:?}")),
        };
        self.store(space, address, ty.bytes(), new)?;
        Ok(old)
    }

    fn thread(&mut self, cta: u64, thread: u64) {
        self.at = [cta, thread];
    }
}

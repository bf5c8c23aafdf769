//! The dynamic energy of a run, split over its static instructions.
//!
//! The energy model counts events of the whole GPU. The energy of each event is shared out among the instructions in
//! proportion to how often they cause it, so that the shares add up to the run's energy:
//!
//! - decode, fetch and the core design's own structures: by issues; scheduling: by issues other than memory accesses
//! - registers, lanes and pipelines: by active lanes times the registers, of the instructions that use the part
//! - shared memory: by passes through the banks; constants: by their different words; textures: by transactions
//! - L1: by transactions that it served or not; crossbar, L2 and DRAM: by sectors, of loads and atomics those that came
//!   from there, of stores all. Which store causes a write-back is not known: they share it by sectors.
//!
//! The energy of instruction and constant cache misses beyond L1 is in no count of an instruction: loads and stores
//! share it with their own, and where none causes the event it belongs to none.
//!
//! Static power, idle SMs, the board, leakage of the design, and events that no instruction causes belong to none.

use energy::{Component, Energy, Event, PerEvent};
use isa::{Access, OpClass, Pc, Space, Work};
use mem::Level;
use serde::Serialize;
use sm::profile::{CodeProfile, Row};

/// The energy of a run by event.
#[derive(Clone, Debug)]
pub(crate) struct ByEvent {
    /// All of it, by component.
    pub all: Energy,
    /// Of events, in joules.
    pub events: PerEvent,
    /// Of using the core design's own structures, in joules.
    pub design: f64,
}

/// Energy by component, in joules, most first.
pub type Parts = Vec<(&'static str, f64)>;

/// The energy that an instruction caused.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct InstructionEnergy {
    /// In all, in joules.
    pub joules: f64,
    /// By component.
    pub parts: Parts,
}

/// How often an instruction caused each event, in units of which only the ratios to other instructions matter.
fn causes(code: &CodeProfile, pc: Pc, row: &Row) -> PerEvent {
    let micro = code.code.micro(pc);
    let (issues, lanes) = (row.issues as f64, row.lanes as f64);
    let mut caused = PerEvent::default();
    let mut count = |event: Event, n: f64| caused[event] += n;
    for event in [Event::Decode, Event::IcacheHit, Event::IcacheMiss] {
        count(event, issues);
    }
    if micro.mem.is_none() || micro.is_constant_move() {
        count(Event::Schedule, issues);
    }
    count(Event::RegisterRead, lanes * f64::from(micro.vector_srcs));
    count(Event::RegisterWrite, lanes * f64::from(micro.vector_dsts));
    count(Event::PipelineDuty, lanes);
    count(Event::PipeCycle, issues * f64::from(micro.pipe_cycles));
    if let Some(event) = gpu::event_of(micro.work) {
        count(event, lanes);
    }
    if micro.class == OpClass::Uniform {
        count(Event::IntAdd, issues);
    }
    let Some(mem) = micro.mem else {
        if micro.work == Work::Memory {
            count(Event::ConstantHit, issues);
        }
        return caused;
    };
    let memory = &row.memory;
    let served = |level: Level| memory.served[level as usize] as f64;
    let (from_l1, from_dram) = (served(Level::L1), served(Level::Dram));
    let beyond_l1 = Level::ALL.iter().map(|&level| served(level)).sum::<f64>() - from_l1;
    let transactions = memory.transactions as f64;
    match mem.space {
        Space::Constant | Space::Param => {
            let accesses = issues + memory.conflict_cycles as f64;
            count(Event::ConstantHit, accesses);
            count(Event::ConstantMiss, accesses);
            return caused;
        }
        Space::Texture => {
            count(Event::TextureHit, transactions);
            count(Event::TextureMiss, transactions);
        }
        _ if memory.sectors == 0 => {
            count(Event::SharedAccess, transactions);
            count(Event::SharedInstruction, issues);
            return caused;
        }
        _ if mem.access == Access::Store => {
            count(Event::L1WriteHit, transactions);
            count(Event::L1WriteMiss, transactions);
        }
        _ if matches!(mem.access, Access::Atomic | Access::Reduction) => {}
        _ => {
            count(Event::L1ReadHit, from_l1);
            count(Event::L1ReadMiss, beyond_l1);
        }
    }
    // The rest, neither from L1 nor from DRAM, comes from L2, whichever part of it.
    let of_all = |n: f64| if transactions > 0.0 { memory.sectors as f64 * n / transactions } else { 0.0 };
    let is_written = matches!(mem.access, Access::Store | Access::Atomic | Access::Reduction);
    let written = if is_written { memory.sectors as f64 } else { 0.0 };
    let requests = if is_written { transactions } else { beyond_l1 };
    let (from_l2, from_dram) = (of_all(beyond_l1 - from_dram), of_all(from_dram));
    count(Event::CrossbarFlit, requests + from_l2 + from_dram + written);
    count(Event::L2ReadHit, from_l2);
    count(Event::L2ReadMiss, from_dram);
    count(Event::L2WriteHit, written);
    count(Event::L2WriteMiss, written);
    count(Event::DramRead, from_dram);
    count(Event::DramWrite, written);
    count(Event::DramPrecharge, from_dram + written);
    caused
}

/// Share of each instruction in an event that it causes.
#[derive(Clone, Debug)]
pub(crate) struct Prices {
    /// Joules of each event as [`causes`] counts it.
    events: PerEvent,
    /// Joules of the design for each issue.
    design: f64,
}

impl Prices {
    /// The prices in a run, of which `codes` are all instructions.
    pub fn new(run: &ByEvent, codes: &[CodeProfile]) -> Self {
        let (mut caused, mut issues) = (PerEvent::default(), 0);
        for (code, pc, row) in codes.iter().flat_map(rows) {
            let of_row = causes(code, pc, row);
            caused.0.iter_mut().zip(of_row.0).for_each(|(sum, n)| *sum += n);
            issues += row.issues;
        }
        let each = |joules: f64, times: f64| if times > 0.0 { joules / times } else { 0.0 };
        let mut events = PerEvent::default();
        Event::ALL.iter().for_each(|&event| events[event] = each(run.events[event], caused[event]));
        Self { events, design: each(run.design, issues as f64) }
    }

    /// The energy that an instruction caused.
    pub fn of(&self, code: &CodeProfile, pc: Pc, row: &Row) -> InstructionEnergy {
        let caused = causes(code, pc, row);
        let mut joules = [0.0; Component::ALL.len()];
        for &event in Event::ALL {
            joules[event.component() as usize] += caused[event] * self.events[event];
        }
        joules[Component::Design as usize] += self.design * row.issues as f64;
        InstructionEnergy { joules: joules.iter().sum(), parts: parts(joules) }
    }
}

/// The energy in `all` that is not of `instructions`, by component.
pub(crate) fn rest<'a>(all: &Energy, instructions: impl Iterator<Item = &'a InstructionEnergy>) -> Parts {
    let mut joules: [f64; Component::ALL.len()] = std::array::from_fn(|at| all.joules(Component::ALL[at]));
    for (name, charged) in instructions.flat_map(|instruction| &instruction.parts) {
        let at = Component::ALL.iter().position(|component| component.name() == *name);
        joules[at.expect("parts are named after components")] -= charged;
    }
    // The rest of a fully attributed component is a rounding error.
    let is_rounding = |at: usize| joules[at].abs() < 1e-9 * all.joules(Component::ALL[at]);
    parts(std::array::from_fn(|at| if is_rounding(at) { 0.0 } else { joules[at] }))
}

fn parts(joules: [f64; Component::ALL.len()]) -> Parts {
    let mut some: Parts = Component::ALL.iter().map(|component| component.name()).zip(joules).collect();
    some.retain(|(_, joules)| *joules != 0.0);
    some.sort_by(|one, other| other.1.total_cmp(&one.1));
    some
}

/// The instructions to which anything happened.
pub(crate) fn rows(code: &CodeProfile) -> impl Iterator<Item = (&CodeProfile, Pc, &Row)> {
    code.rows.iter().enumerate().filter_map(move |(pc, row)| Some((code, Pc::from(pc), row.as_deref()?)))
}

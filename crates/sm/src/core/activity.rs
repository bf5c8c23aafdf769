//! From what SMs counted to events of the power model.
//!
//! Which of our counts are which of its events follows AccelWattch (Kandiah et al., MICRO 2021) as its
//! published sources count them in Accel-Sim; deviations are numbered. `docs/energy.md` has the table.
//!
//! - D-E1: 32-bit registers are counted by active lanes; Accel-Sim counts operands, whatever their width, with all 32
//!   lanes of a warp.
//! - D-E2: operands from elsewhere (immediates, constants, predicates) are not counted. AccelWattch
//!   counts none in machine code either; GPUWattch does in PTX.
//! - D-E3: a constant read as operand of an arithmetic instruction is not an access to the constant cache.

use super::totals::SmTotals;
use config::GpuConfig;
use energy::{Activity, Event};
use gpu::event_of;
use isa::OpClass;
use isa::Work;
use kit::{Cycle, WARP_LANES};

/// The events of SMs in `cycles` core cycles.
pub(super) fn of(s: &SmTotals, cycles: Cycle, gpu: &GpuConfig) -> Activity {
    let sms = f64::from(gpu.sm_count);
    let mut activity = Activity {
        seconds: cycles as f64 / (gpu.clocks.core_mhz * 1e6),
        lanes: mean_lanes(s),
        active_sms: if cycles > 0 { s.sm.active_cycles as f64 / cycles as f64 } else { 0.0 },
        sms,
        ..Activity::default()
    };
    let events = &mut activity.events;
    let mut count = |event: Event, n: u64| events[event] += n as f64;
    count(Event::Decode, s.sm.decoded);
    count(Event::Schedule, OpClass::ALL.iter().filter(|c| !is_memory(**c)).map(|c| s.classes.0[*c as usize]).sum());
    count(Event::IcacheHit, s.sm.fetches - s.sm.fetch_misses);
    count(Event::IcacheMiss, s.sm.fetch_misses);
    for &work in Work::ALL {
        if let Some(event) = event_of(work) {
            count(event, s.works.0[work as usize]);
        }
    }
    count(Event::IntAdd, s.classes.0[OpClass::Uniform as usize]);
    count(Event::PipeCycle, s.sm.pipe_cycles);
    count(Event::SharedAccess, s.sm.shared_accesses + s.sm.shared_conflict_cycles);
    count(Event::SharedInstruction, s.sm.shared_accesses);
    count(Event::L1ReadHit, s.l1d.reads_served());
    count(Event::L1ReadMiss, s.l1d.reads_missed());
    count(Event::L1WriteHit, s.l1d.writes_served());
    count(Event::L1WriteMiss, s.l1d.write_misses);
    if gpu.sm.perfect_instruction_and_constant_caches {
        // Sub-cores look constants up nevertheless, in some of these passes.
        let looked_up = s.constant.reads_served() + s.constant.reads_missed();
        let passes = s.sm.constant_accesses + s.sm.constant_conflict_cycles;
        count(Event::ConstantHit, passes.saturating_sub(looked_up));
    }
    count(Event::ConstantHit, s.sm.constant_moves + s.constant.reads_served());
    count(Event::ConstantMiss, s.constant.reads_missed());
    count(Event::TextureHit, s.texture.reads_served());
    count(Event::TextureMiss, s.texture.reads_missed());
    // Lane counts exclude accesses that a layer over the operand stage saves; its own register file
    // and detector are structures of the design.
    count(Event::RegisterRead, s.sm.lane_reads);
    count(Event::RegisterWrite, s.sm.lane_writes + s.layer.lane_writes_added());
    // Misses are accesses less hits, and reads that wait for a sector are in the hits only. They cost more as a hit
    // than is taken off here.
    events[Event::L1ReadMiss] -= s.l1d.read_merges as f64;
    let full = (WARP_LANES as f64) * f64::from(gpu.sm.writeback_width) * sms;
    events[Event::PipelineDuty] = (s.sm.thread_instructions - s.layer.lane_operations_saved) as f64 / full;
    activity
}

const fn is_memory(class: OpClass) -> bool {
    use OpClass::{AsyncCopy, Atomic, Load, MatrixLoad, Store, Texture};
    matches!(class, Load | Store | Atomic | AsyncCopy | MatrixLoad | Texture)
}

/// Active lanes of an instruction of the arithmetic units, on average.
fn mean_lanes(s: &SmTotals) -> f64 {
    let lanes: u64 = Work::ALL.iter().filter(|w| w.is_arithmetic()).map(|w| s.works.0[*w as usize]).sum();
    let instructions = s.sm.unit_instructions;
    if instructions > 0 { lanes as f64 / instructions as f64 } else { 0.0 }
}

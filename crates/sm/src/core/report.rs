//! The counters of SMs for reports and the energy model.

use super::activity;
use super::totals::SmTotals;
use crate::observe::counters::{DesignStatistic, Per, SmCounters};
use crate::observe::stalls::Stall;
use config::{GpuConfig, Unit};
use energy::{Activity, Each};
use gpu::{CoreCounters, CoreReport, Period, Table, Value, WarpWork};
use isa::OpClass;
use isa::Work;
use kit::Cycle;

/// The reasons that the GhOST paper counts as scheduler stalls (section VI-A): "a scheduler cannot find
/// any instruction ready for issue due to data and/or structural hazards".
const HAZARDS: [Stall; 10] = [
    Stall::MemoryPipeFull,
    Stall::UnitBusy,
    Stall::CollectorFull,
    Stall::SameUnit,
    Stall::Design,
    Stall::War,
    Stall::Waw,
    Stall::Raw,
    Stall::RawMemory,
    Stall::MemoryOrder,
];

impl CoreCounters for SmTotals {
    /// No SM has a warp while all kernels wait for their launch latency: all of these slots are idle.
    fn leave_out(&mut self, waited: &Self) {
        self.slots_stalled.0[Stall::Idle as usize] -= waited.slots();
    }
}

impl CoreReport for SmTotals {
    fn headline(&self, of: Period<'_>, t: &mut Table) {
        let SmCounters { warp_instructions, thread_instructions, warp_cycles, active_cycles, .. } = self.sm;
        t.warp_work(of, WarpWork { warp_instructions, thread_instructions, warp_cycles, active_cycles });
    }

    fn parts(&self, of: Period<'_>, t: &mut Table) {
        put_slots(self, t);
        for class in OpClass::ALL {
            let count = self.classes.0[*class as usize];
            t.put(format!("mix.{}", class.name()), "warp instructions", class.description(), Value::Count(count));
        }
        for work in Work::ALL {
            let lanes = self.works.0[*work as usize];
            t.put(format!("lanes.{}", work.name()), "lane operations", work.description(), Value::Count(lanes));
        }
        t.group("sm", &self.sm);
        let sm_cycles = of.kernel_cycles * u64::from(of.gpu.sm_count);
        let tensor_cores = of.gpu.sm.units.get(&Unit::Tensor).map_or(0, |units| u64::from(units.count));
        t.put(
            "sm.copy_engine_utilisation",
            "%",
            "Cycles in which copy engines were busy, as a share of the kernels' cycles of all SMs.",
            Value::ratio(self.sm.transfer_cycles, sm_cycles, 100.0),
        );
        t.put(
            "sm.matrix_group_utilisation",
            "%",
            "Cycles in which matrix operations of warp groups kept tensor cores busy, as a share of the kernels' cycles of all tensor cores.",
            Value::ratio(self.sm.matrix_group_cycles, sm_cycles * tensor_cores, 100.0),
        );
        t.cache("l1d", &self.l1d);
        t.cache("icache", &self.icache);
        t.cache("constant", &self.constant);
        t.cache("texture", &self.texture);
    }

    fn design(&self, t: &mut Table) {
        for DesignStatistic { info, count, per } in &self.design.0 {
            let value = match per {
                None => Value::Count(*count),
                Some(Per { count: of, scale }) => Value::ratio(*count, *of, (*scale).into()),
            };
            t.put(format!("design.{}", info.name), info.unit, info.description, value);
        }
    }

    fn activity(&self, cycles: Cycle, gpu: &GpuConfig) -> Activity {
        activity::of(self, cycles, gpu)
    }

    fn uses(&self, each: Each) -> u64 {
        let (sm, layer) = (&self.sm, &self.layer);
        // Registers that instructions name, in whichever register file they are.
        let sources = sm.register_reads + layer.vector_reads_saved;
        let results = sm.register_writes + layer.vector_writes_saved;
        match each {
            Each::Instruction => sm.warp_instructions,
            Each::Source => sources,
            Each::Result => results,
            Each::ScalarRead | Each::ScalarWrite | Each::Compared => layer.uses(each),
            Each::Operand => sources + results,
            Each::Access => sm.global_accesses + sm.local_accesses + sm.shared_accesses,
        }
    }

    fn warp_instructions(&self) -> u64 {
        self.sm.warp_instructions
    }

    fn thread_instructions(&self) -> u64 {
        self.sm.thread_instructions
    }

    fn active_cycles(&self) -> u64 {
        self.sm.active_cycles
    }
}

fn put_slots(totals: &SmTotals, t: &mut Table) {
    t.count(
        "slots.all",
        "issue slots",
        "Scheduler slots: schedulers x issue width x cycles of kernels x SMs.",
        totals.slots(),
    );
    t.count("slots.issued", "issue slots", "Slots in which an instruction issued.", totals.slots_issued);
    for stall in Stall::ALL {
        let lost = totals.slots_stalled.0[*stall as usize];
        t.put(format!("slots.{}", stall.name()), "issue slots", stall.description(), Value::Count(lost));
    }
    let hazards = HAZARDS.iter().map(|stall| totals.slots_stalled.0[*stall as usize]).sum();
    let what = "Slots lost to data and structural hazards: no instruction of a warp that had one could issue.";
    t.count("stalls.hazards", "issue slots", what, hazards);
}

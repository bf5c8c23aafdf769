//! Whether a run gets anywhere: deadlocks, livelocks, and the machine as its watcher sees it.

use super::{Control, Floor, Machine, Unmade};
use crate::core::{Core, CoreReport};
use crate::run::{Deadlock, MachineError, Progress, View};
use crate::watchdog::Watchdog;
use config::GpuConfig;
use kit::locks::{read, write};
use kit::{Cycle, NEVER};
use std::num::NonZeroU64;

/// Core cycles without an issue and without a packet between SMs and L2 after which the machine counts
/// as stuck, although requests still move.
const STUCK_AFTER_CYCLES: Cycle = 10_000_000;

impl<C: Core> Machine<C> {
    /// Ends a run with [`MachineError::Livelock`] when all warps have repeated themselves, and nothing that
    /// they share has changed, for at least `cycles` cycles. A program that would end is never stopped. Cores
    /// must know their state ([`Core::has_changed`]).
    ///
    /// [`MachineError::Livelock`]: crate::MachineError::Livelock
    pub fn watch_for_livelock(&mut self, cycles: NonZeroU64) {
        self.control.watchdog = Some(Box::new(Watchdog::new(cycles.get())));
    }
}

impl<C: Core> Control<C> {
    /// The same, or the time of a hundred requests one after the other on a GPU with long latencies or with very
    /// different clocks.
    pub(super) fn stuck_after(config: &GpuConfig) -> Cycle {
        let clocks = &config.clocks;
        let t = &config.dram.timing;
        let in_bank: u64 = [t.tRC, t.tRAS, t.tRP, t.tRCD, t.tCL, t.tWL, t.tWR, t.tCDLR].map(u64::from).iter().sum();
        let dram = (u64::from(config.dram.latency_cycles) + in_bank) as f64 / clocks.dram_mhz;
        let l2 = f64::from(config.l2.latency_cycles) / clocks.l2_mhz;
        // A line in flits of one byte.
        let interconnect = 256.0 / clocks.interconnect_mhz;
        STUCK_AFTER_CYCLES.max((100.0 * clocks.core_mhz * (dram + l2 + interconnect)) as Cycle)
    }

    /// The machine as the watcher sees it.
    pub(super) fn view<'a, 'b>(&'a self, floor: &'a Floor<'b, C>) -> impl View + use<'a, 'b, C> {
        Look { control: self, floor }
    }

    /// A machine in which requests circulate but nothing issues is deadlocked too.
    pub(super) fn check_progress(&mut self, floor: &Floor<'_, C>) -> Result<(), MachineError> {
        let issued = floor.each_unit().map(|unit| unit.cores.iter().map(C::warp_instructions).sum::<u64>());
        let moved = issued.sum::<u64>() + write(&floor.memory).packets_moved();
        if moved != self.last_move.1 {
            self.last_move = (self.now, moved);
        } else if self.now - self.last_move.0 > self.stuck_after {
            return Err(self.deadlock(floor));
        }
        let Self { watchdog, kernel_ready, now, .. } = self;
        if let Some(watchdog) = watchdog {
            let mut world = write(&floor.world);
            let (shared, kernels) = &mut *world;
            let mut units: Vec<_> = floor.each_unit().collect();
            let cores: Vec<(usize, &C)> = units.iter().flat_map(|unit| (unit.first..).zip(&unit.cores)).collect();
            if watchdog.look(*now, &cores, shared, *kernel_ready != NEVER) {
                let mut warps = Vec::new();
                let cores = units.iter_mut().flat_map(|unit| (unit.first..).zip(&mut unit.cores));
                for (number, core) in cores {
                    warps.extend(core.follow_loops(*now, kernels, shared, &|warp| watchdog.is_blocked(number, warp)));
                }
                return Err(MachineError::Livelock(watchdog.report(*now, warps)));
            }
        }
        Ok(())
    }

    pub(super) fn deadlock(&self, floor: &Floor<'_, C>) -> MachineError {
        let world = read(&floor.world);
        let mut blocked = Vec::new();
        for unit in floor.each_unit() {
            unit.cores.iter().for_each(|core| blocked.extend(core.describe_stalls(world.1)));
        }
        MachineError::Deadlock(Deadlock { cycle: self.now, blocked })
    }
}

/// The machine as the watcher sees it.
struct Look<'a, 'b, C: Core> {
    control: &'a Control<C>,
    floor: &'a Floor<'b, C>,
}

impl<C: Core> View for Look<'_, '_, C> {
    fn progress(&self) -> Progress {
        let (ctas_done, ctas_total) = self.control.dispatcher.progress();
        Progress {
            kernel: self.control.running.first().map(|r| r.kernel),
            ctas_done,
            ctas_total,
            cycles: self.control.now,
            warp_instructions: self.issued().iter().sum(),
        }
    }

    fn issued(&self) -> Vec<u64> {
        let mut issued = Vec::new();
        for unit in self.floor.each_unit() {
            issued.extend(unit.cores.iter().map(C::warp_instructions));
            issued.resize(unit.first + unit.ports.len(), 0);
        }
        issued
    }

    fn counted(&self) -> Box<dyn CoreReport> {
        let mut sum = C::Counters::default();
        for unit in self.floor.each_unit() {
            unit.cores.iter().for_each(|core| core.count(&mut sum));
        }
        if let Some(Unmade { idle: Some(idle), .. }) = &self.control.unmade {
            (0..self.floor.unmade()).for_each(|_| idle.count(&mut sum));
        }
        Box::new(sum)
    }
}

//! Counters of functional cores.

use config::GpuConfig;
use energy::{Activity, Each};
use gpu::{CoreCounters, CoreReport, Period, Table, WarpWork};
use kit::Cycle;

kit::counters! {
    /// Counters of functional cores, all added up.
    pub struct FunctionalCounters {
        /// Instructions executed by warps.
        pub warp_instructions: "warp instructions",
        /// Instructions executed by threads.
        pub thread_instructions: "thread instructions",
        /// CTAs started.
        pub ctas_started: "CTAs",
        /// CTAs ended.
        pub ctas_finished: "CTAs",
        /// Arrivals of warps at CTA barriers.
        pub barrier_arrivals: "arrivals",
        /// Resident warps, added up over cycles.
        pub warp_cycles: "warp cycles",
        /// Cycles in which a core had a warp.
        pub active_cycles: "cycles",
    }
}

impl CoreCounters for FunctionalCounters {
    /// Nothing is counted while no warp is resident.
    fn leave_out(&mut self, _: &Self) {}
}

impl CoreReport for FunctionalCounters {
    fn headline(&self, of: Period<'_>, t: &mut Table) {
        let Self { warp_instructions, thread_instructions, warp_cycles, active_cycles, .. } = *self;
        t.warp_work(of, WarpWork { warp_instructions, thread_instructions, warp_cycles, active_cycles });
    }

    fn parts(&self, _: Period<'_>, _: &mut Table) {}

    fn design(&self, t: &mut Table) {
        t.count("design.ctas", "CTAs", "CTAs that functional cores have executed.", self.ctas_finished);
        let arrivals = "Arrivals of warps at CTA barriers on functional cores.";
        t.count("design.barrier_arrivals", "arrivals", arrivals, self.barrier_arrivals);
    }

    fn has_energy_events(&self) -> bool {
        false
    }

    fn activity(&self, _: Cycle, _: &GpuConfig) -> Activity {
        Activity::default()
    }

    fn uses(&self, _: Each) -> u64 {
        0
    }

    fn warp_instructions(&self) -> u64 {
        self.warp_instructions
    }

    fn thread_instructions(&self) -> u64 {
        self.thread_instructions
    }

    fn active_cycles(&self) -> u64 {
        self.active_cycles
    }
}

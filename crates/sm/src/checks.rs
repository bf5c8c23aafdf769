//! Checks of the description of an SM, by which the other files can rely on its sizes.

use crate::issue::schedulers;
use crate::spec::{CoreOptions, CoreSpec, SpecError, within};
use crate::warps::mask::MOST_WARPS;
use config::{GpuConfig, OpTable};
use isa::Form;

impl CoreSpec {
    /// Derives and checks the description of an SM.
    ///
    /// # Errors
    /// [`SpecError`] says which value is missing or impossible.
    pub fn new(gpu: &GpuConfig, table: Form, options: CoreOptions) -> Result<Self, SpecError> {
        let sm = gpu.sm.clone();
        let timing = match table {
            Form::Ptx => OpTable::of_ptx(&sm),
            Form::Sass => OpTable::of_machine_code(&sm),
        }
        .map_err(SpecError::NoTiming)?;
        let partitions = if sm.operands.sub_cores { sm.issue.schedulers as usize } else { 1 };
        let spec = Self {
            sm,
            sm_version: gpu.sm_version,
            sm_count: gpu.sm_count,
            outbox_packets: (gpu.interconnect.input_buffer_packets / gpu.sms_per_cluster.max(1)).max(1),
            kept_at_launches: mem::kept_at_launches(gpu),
            timing,
            options,
            partitions,
        };
        spec.check()?;
        Ok(spec)
    }

    fn check(&self) -> Result<(), SpecError> {
        let Self { sm, .. } = self;
        let parts = self.partitions as u64;
        within("the number of warp slots", sm.max_warps, 1, MOST_WARPS as u64)?;
        within("the number of CTA slots", sm.max_ctas, 1, 64)?;
        within("the number of warp schedulers", sm.issue.schedulers, 1, 7.min(u64::from(sm.max_warps)))?;
        within("the issue width", sm.issue.width, 1, 8)?;
        within("the number of operand collectors", sm.operands.collectors, parts, 64)?;
        within("the number of register banks", sm.operands.banks, parts, 64)?;
        within("the reads per register bank and cycle", sm.operands.reads_per_bank, 1, 64)?;
        within("the operand collectors' input ports", sm.operands.in_ports, 1, 1024)?;
        within("the operand collectors' output ports", sm.operands.out_ports, 1, 1024)?;
        within("the instruction buffer's entries", sm.frontend.buffer_entries, 1, 64)?;
        within(
            "the instructions per fetch",
            sm.frontend.instructions_per_fetch,
            1,
            u64::from(sm.frontend.buffer_entries),
        )?;
        within("the fetches per cycle", sm.frontend.fetches_per_cycle, 1, 64)?;
        within("the write-back width", sm.writeback_width, 1, 64)?;
        within("the barriers per CTA", sm.barriers_per_cta, 1, 64)?;
        within("the crossbar's input buffer", self.outbox_packets, 1, 1 << 20)?;
        for class in isa::OpClass::ALL {
            let timing = self.timing.of(*class);
            let unit = sm.units.get(&timing.unit).filter(|u| u.count > 0);
            let unit = unit.ok_or(SpecError::NoUnit(class.name(), timing.unit))?;
            within("the latches before the operand collectors", unit.issue_latches, parts, 64)?;
            within("the latches behind the operand collectors", unit.dispatch_latches, parts, 64)?;
            within("a latency", timing.latency_cycles, 1, 4000)?;
            within("an initiation interval", timing.initiation_cycles, 1, 4000)?;
        }
        self.check_layer()?;
        schedulers::parameters(self.scheduler_name()).map_err(SpecError::Scheduler)?;
        Ok(())
    }
}

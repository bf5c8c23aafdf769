//! The sequencer of regions (§4.6): all threads of a batch pass a region, then the next one is configured; a loop's
//! region runs until no thread is left in it, a barrier ends a region.

use crate::batch::Batch;
use crate::configuration::Configuration;
use crate::fabric::Fabric;
use crate::kernel::SgmfKernel;
use crate::observer::Observer;
use crate::pass::Pass;
use isa::{Dim3, KernelId};
use kit::{Cycle, Ring};
use std::sync::Arc;

/// Phase of a core's batch.
#[derive(Clone, Debug)]
pub(crate) enum Phase {
    /// Nothing: there is no batch.
    Idle,
    /// The configuration is written until a fabric cycle; then the pass begins.
    Configure { until: u64, pass: Box<Pass> },
    /// A region runs.
    Run,
    /// Dirty lines of L1 are written back.
    WriteBack,
    /// Threads wait at barriers that the others do not reach.
    Stuck,
}

/// Order of regions on a core.
#[derive(Clone, Debug)]
pub(crate) struct Sequencer {
    pub phase: Phase,
    pub batch: Option<Batch>,
    /// No thread has gone beyond the first region: CTAs may still join.
    pub open: bool,
    /// CTAs of other kernels that wait.
    pub queue: Ring<(KernelId, Dim3)>,
    /// Configured kernel and region.
    configured: Option<(KernelId, u32)>,
}

impl Sequencer {
    /// Without threads.
    pub fn new() -> Self {
        Self { phase: Phase::Idle, batch: None, open: true, queue: Ring::new(), configured: None }
    }

    /// Starts `pass` in cycle `at`, or once its region is configured. A batch's first region is configured anew.
    pub fn start<O: Observer>(&mut self, fabric: &mut Fabric<O>, kernel: &SgmfKernel, pass: Pass, at: u64) {
        let Some(batch) = &self.batch else { return };
        let configuration = &kernel.configurations[pass.region as usize];
        let this = (batch.kernel, pass.region);
        let cycles = configuration.configuration_cycles * u64::from(fabric.config.clock_ratio);
        if self.configured == Some(this) || cycles == 0 {
            self.note(fabric, this, configuration);
            self.run(fabric, configuration, pass, at);
        } else {
            self.note(fabric, this, configuration);
            fabric.counts.fabric.configuration_cycles += cycles;
            self.phase = Phase::Configure { until: at + cycles, pass: Box::new(pass) };
        }
    }

    fn note<O: Observer>(&mut self, fabric: &mut Fabric<O>, this: (KernelId, u32), configuration: &Configuration) {
        if self.configured != Some(this) {
            fabric.counts.fabric.configurations += 1;
            fabric.counts.fabric.configured_bits += configuration.configuration_bits;
            self.configured = Some(this);
        }
    }

    fn run<O: Observer>(&mut self, fabric: &mut Fabric<O>, configuration: &Arc<Configuration>, pass: Pass, at: u64) {
        self.phase = Phase::Run;
        fabric.begin(configuration.clone(), pass, at);
    }

    /// The configuration that ends in cycle `at` is there.
    pub fn configured<O: Observer>(&mut self, fabric: &mut Fabric<O>, kernel: &SgmfKernel, at: u64) {
        if let Phase::Configure { pass, .. } = std::mem::replace(&mut self.phase, Phase::Run) {
            let configuration = &kernel.configurations[pass.region as usize];
            self.run(fabric, configuration, *pass, at);
        }
    }

    /// The pass is over: the next region's begins in cycle `at`, or the batch is at its end.
    pub fn passed<O: Observer>(&mut self, fabric: &mut Fabric<O>, kernel: &SgmfKernel, at: u64) {
        let Some(batch) = &mut self.batch else { return };
        let pass = fabric.end(at);
        let always = kernel.configurations[pass.region as usize].always;
        batch.passed(pass, always.map(|region| region.0 as usize));
        self.open = false;
        if batch.is_over() {
            self.phase = Phase::WriteBack;
            return;
        }
        let after_barrier = |region: usize| kernel.configurations[region].after_barrier;
        match batch.next_region(after_barrier) {
            Some((region, run)) => {
                let pass = Pass::of(region as u32, run, batch.threads(), fabric.config.skip_masked);
                self.start(fabric, kernel, pass, at);
            }
            None => self.phase = Phase::Stuck,
        }
    }

    /// The batch has ended; gives it away.
    pub fn finish(&mut self) -> Option<Batch> {
        self.phase = Phase::Idle;
        self.open = true;
        self.configured = None;
        self.batch.take()
    }

    /// Threads on the core, waiting or not.
    pub fn threads(&self) -> u32 {
        self.batch.as_ref().map_or(0, Batch::threads)
    }

    /// Whether the core has something to do or threads that wait.
    pub fn is_idle(&self) -> bool {
        self.batch.is_none() && self.queue.is_empty()
    }
}

/// Core cycles in which dirty lines were written back are counted in fabric cycles.
pub(crate) const fn fabric_cycle(core: Cycle, ratio: u32) -> u64 {
    core * ratio as u64
}

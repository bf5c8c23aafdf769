//! The core: a fabric, the sequencer of its regions, and the port to the memory system.

use crate::batch::Batch;
use crate::config::SgmfConfig;
use crate::fabric::{Fabric, LatencyOf};
use crate::kernel::SgmfKernel;
use crate::kind::{Kind, UnitCounts};
use crate::memory::{Outside, Windows};
use crate::observer::Observer;
use crate::pass::Pass;
use crate::sequencer::{Phase, Sequencer, fabric_cycle};
use crate::statistics::{Reason, SgmfCounters};
use ::config::GpuConfig;
use exec::DeviceState;
use exec::single::CtaMemory;
use gpu::{Core, CoreKernel, EnvOf, FinishedCta};
use isa::{Dim3, Fault, KernelId, LaunchShape};
use kit::{Counters, Cycle, NEVER, WARP_LANES};
use mem::Port;
use std::marker::PhantomData;

/// Maximum number of CTAs of a batch: their slots are numbered.
const MOST_CTAS: usize = u16::MAX as usize;

/// An SGMF core. `O` sees what its tokens do; `S`, which all cores share, has the state of the device.
#[derive(Clone, Debug)]
pub struct Sgmf<O = (), S = DeviceState> {
    shared: PhantomData<fn(&mut S)>,
    number: u32,
    fabric: Fabric<O>,
    sequencer: Sequencer,
    windows: Windows,
    /// Cycles accounted for.
    cycles: Cycle,
    /// Fabric cycles whose phase is accounted for.
    accounted: u64,
    finished: Vec<FinishedCta>,
    cta_events: u64,
}

impl<S> Sgmf<(), S> {
    /// Core `number` of `gpu`, whose fabric has `units`.
    pub fn new(gpu: &GpuConfig, config: SgmfConfig, units: UnitCounts, number: u32) -> Self {
        Self::observed(gpu, config, units, number, ())
    }
}

impl<O: Observer, S> Sgmf<O, S> {
    /// Core `number` of `gpu`, whose tokens `observer` sees.
    pub fn observed(gpu: &GpuConfig, config: SgmfConfig, units: UnitCounts, number: u32, observer: O) -> Self {
        Self {
            shared: PhantomData,
            number,
            fabric: Fabric::new(gpu, config, units, observer),
            sequencer: Sequencer::new(),
            windows: Windows::new(number, config.batch_threads),
            cycles: 0,
            accounted: 0,
            finished: Vec::new(),
            cta_events: 0,
        }
    }

    /// From now on operations of special units take as many cycles (at least one) as `latency` gives for their node
    /// and thread: dividers whose time depends on the operands (§4.2).
    pub fn vary_latency(&mut self, latency: LatencyOf) {
        self.fabric.latency = Some(latency);
    }

    /// Observer of its tokens.
    pub const fn observer(&self) -> &O {
        &self.fabric.observer
    }

    pub(crate) const fn number(&self) -> u32 {
        self.number
    }

    pub(crate) const fn fabric(&self) -> &Fabric<O> {
        &self.fabric
    }

    pub(crate) const fn sequencer(&self) -> &Sequencer {
        &self.sequencer
    }

    const fn ratio(&self) -> u32 {
        self.fabric.config.clock_ratio
    }

    /// Adds CTA `cta` of `kernel` to the batch; `at` is the first fabric cycle in which its threads may be injected.
    fn join(&mut self, kernels: &[SgmfKernel], kernel: KernelId, cta: Dim3, at: u64) {
        let launch = &kernels[kernel.index()];
        let shape = launch.shape();
        let regions = launch.configurations.len();
        let is_first = self.sequencer.batch.is_none();
        let live = launch.live_offsets.len() - 1;
        let batch = self.sequencer.batch.get_or_insert_with(|| Batch::new(kernel, shape, regions, live));
        batch.add(cta, CtaMemory::new(shape.threads(), shape.shared_bytes, launch.local_bytes));
        if is_first {
            self.fabric.counts.fabric.batches += 1;
            let pass = Pass::of_all(0, shape.threads());
            self.sequencer.start(&mut self.fabric, launch, pass, at);
        } else if let Phase::Configure { pass, .. } = &mut self.sequencer.phase {
            pass.count += shape.threads();
        } else {
            self.fabric.add_threads(shape.threads(), at);
        }
    }

    /// Whether a CTA of `kernel` may join the batch.
    fn joins(&self, kernel: KernelId) -> bool {
        let Sequencer { batch, open, queue, .. } = &self.sequencer;
        *open && queue.is_empty() && batch.as_ref().is_none_or(|batch| batch.kernel == kernel)
    }

    /// The first fabric cycle from `at` on in which something happens without a reply.
    fn next_fabric_event(&self, at: u64) -> Option<u64> {
        match &self.sequencer.phase {
            Phase::Run if self.fabric.is_done() => Some(at),
            Phase::Run => self.fabric.next(at),
            Phase::Configure { until, .. } => Some(at.max(*until)),
            Phase::WriteBack => Some(at),
            Phase::Idle | Phase::Stuck => None,
        }
    }
}

impl<O: Observer, S: AsMut<DeviceState> + Send + Sync> Sgmf<O, S> {
    /// The fabric cycles of core cycle `now`.
    fn run(&mut self, now: Cycle, env: &mut EnvOf<'_, Self>) -> Result<(), Box<Fault>> {
        let (mut at, after) = (fabric_cycle(now, self.ratio()), fabric_cycle(now + 1, self.ratio()));
        self.fabric.receive(now, at, env.port);
        while let Some(next) = self.next_fabric_event(at)
            && next < after
            && !matches!(self.sequencer.phase, Phase::WriteBack)
        {
            at = next + 1;
            self.fabric_cycle(next, env)?;
        }
        if matches!(self.sequencer.phase, Phase::WriteBack) {
            self.write_back(now, env);
        }
        self.fabric.transmit(now, after, env.port);
        Ok(())
    }

    /// Fabric cycle `at`, in which a region runs or begins to.
    fn fabric_cycle(&mut self, at: u64, env: &mut EnvOf<'_, Self>) -> Result<(), Box<Fault>> {
        let Some(batch) = &self.sequencer.batch else { return Ok(()) };
        let kernel = &env.kernels[batch.kernel.index()];
        if let Phase::Configure { .. } = self.sequencer.phase {
            self.account(at);
            self.sequencer.configured(&mut self.fabric, kernel, at);
        }
        if let Some(batch) = &mut self.sequencer.batch {
            let mut outside = Outside { device: env.shared.alone().as_mut(), kernel, batch, windows: self.windows };
            self.fabric.cycle(at, &mut outside)?;
        }
        if self.fabric.is_done() {
            self.account(at + 1);
            self.sequencer.passed(&mut self.fabric, kernel, at + 1);
        }
        Ok(())
    }

    /// Writes a dirty line of L1 back; without one, the batch ends.
    fn write_back(&mut self, now: Cycle, env: &EnvOf<'_, Self>) {
        if !self.fabric.l1.is_quiet() || self.fabric.l1.cache_mut().write_back_one(now) || self.fabric.l1.may_send() {
            return;
        }
        let after = fabric_cycle(now + 1, self.ratio());
        self.account(after);
        let Some(batch) = self.sequencer.finish() else { return };
        self.fabric.counts.fabric.ctas += batch.ctas.len() as u64;
        self.cta_events += batch.ctas.len() as u64;
        let of = |(i, cta): (usize, &crate::batch::Cta)| FinishedCta {
            kernel: batch.kernel,
            cta: cta.position,
            slot: Batch::slot(i),
        };
        self.finished.extend(batch.ctas.iter().enumerate().map(of));
        while let Some(&(kernel, cta)) = self.sequencer.queue.front()
            && self.sequencer.batch.as_ref().is_none_or(|batch| batch.kernel == kernel)
        {
            self.sequencer.queue.pop_front();
            self.join(env.kernels, kernel, cta, after);
        }
    }

    /// Accounts for the units' cycles before fabric cycle `upto`.
    fn account(&mut self, upto: u64) {
        let cycles = upto.saturating_sub(self.accounted);
        self.accounted += cycles;
        let reason = match &self.sequencer.phase {
            Phase::Run => {
                self.fabric.settle(upto);
                None
            }
            Phase::Configure { .. } => Some(Reason::Configuration),
            Phase::WriteBack => Some(Reason::WriteBack),
            Phase::Idle | Phase::Stuck => Some(Reason::NoThread),
        };
        let counts = &mut self.fabric.counts;
        counts.fabric.cycles += cycles;
        if !matches!(self.sequencer.phase, Phase::Idle) {
            counts.fabric.busy_cycles += cycles;
        }
        if let Some(reason) = reason {
            for (kind, units) in Kind::ALL.into_iter().zip(self.fabric.there) {
                counts.spend(kind, reason, units.into(), cycles);
            }
        }
        if matches!(self.sequencer.phase, Phase::WriteBack) {
            counts.fabric.write_back_cycles += cycles;
        }
    }
}

impl<O: Observer, S: AsMut<DeviceState> + Send + Sync> Core for Sgmf<O, S> {
    type Kernel = SgmfKernel;
    type Shared = S;
    type Counters = SgmfCounters;

    const MOST_REQUESTS: usize = 1;
    /// Loads and stores of the fabric's units are performed in their cycle.
    const IN_STEP: bool = true;

    fn tick(&mut self, now: Cycle, env: &mut EnvOf<'_, Self>) -> Result<(), Box<Fault>> {
        self.settle(now);
        let has_batch = self.sequencer.batch.is_some();
        self.run(now, env)?;
        self.fabric.counts.fabric.active_cycles += u64::from(has_batch);
        self.cycles = now + 1;
        Ok(())
    }

    fn next_event(&self, port: &Port) -> Cycle {
        let at = fabric_cycle(self.cycles, self.ratio());
        let own = self.next_fabric_event(at).map(|at| self.fabric.core_cycle(at));
        let sends = self.fabric.l1.may_send().then_some(self.cycles);
        let reply = port.inbox.front().map(|&(from, _)| from);
        own.into_iter().chain(sends).chain(reply).min().map_or(NEVER, |next| next.max(self.cycles))
    }

    fn cycles(&self) -> Cycle {
        self.cycles
    }

    fn can_accept(&self, coming: &mut dyn Iterator<Item = &LaunchShape>, shape: &LaunchShape) -> bool {
        // A core that refuses is asked again after the end of a CTA, which is the end of the batch. CTAs that are about to
        // start join the batch, or wait for its end if it closes before.
        let here = self.sequencer.batch.as_ref().map_or(0, |batch| batch.ctas.len());
        let (ctas, threads) = coming.fold((here, self.sequencer.threads()), |(ctas, threads), start| {
            (ctas + 1, threads.saturating_add(start.threads()))
        });
        let fits = threads.saturating_add(shape.threads()) <= self.fabric.config.batch_threads && ctas < MOST_CTAS;
        self.sequencer.open && self.sequencer.queue.is_empty() && (fits || ctas == 0)
    }

    fn start_cta(&mut self, now: Cycle, env: &mut EnvOf<'_, Self>, kernel: KernelId, cta: Dim3) {
        self.settle(now);
        self.cta_events += 1;
        if self.joins(kernel) {
            self.join(env.kernels, kernel, cta, fabric_cycle(now, self.ratio()));
        } else {
            self.sequencer.queue.push_back((kernel, cta));
        }
    }

    fn finished(&mut self) -> &mut Vec<FinishedCta> {
        &mut self.finished
    }

    fn has_threads(&self) -> bool {
        !self.sequencer.is_idle()
    }

    fn is_idle(&self) -> bool {
        self.sequencer.is_idle() && !self.fabric.l1.may_send()
    }

    fn settle(&mut self, now: Cycle) {
        let passed = now.saturating_sub(self.cycles);
        self.cycles += passed;
        self.fabric.counts.fabric.active_cycles += if self.sequencer.batch.is_some() { passed } else { 0 };
        self.account(fabric_cycle(self.cycles, self.ratio()));
    }

    fn check(&self) {
        let fabric = &self.fabric;
        for (kind, there) in Kind::ALL.into_iter().zip(fabric.there) {
            let cycles: u64 = fabric.counts.units[kind as usize].iter().sum();
            assert_eq!(cycles, self.accounted * u64::from(there), "cycles of {} units", kind.name());
        }
    }

    fn flush_l1(&mut self) {
        self.fabric.l1.cache_mut().invalidate();
    }

    fn count(&self, sum: &mut SgmfCounters) {
        let mut own = self.fabric.counts.reported(self.fabric.l1.cache().counters());
        own.fabric.requests = self.fabric.l1.requests;
        own.fabric.bank_reads = self.fabric.l1.read_words;
        own.fabric.bank_writes = self.fabric.l1.written_words;
        sum.add(&own);
    }

    fn warp_instructions(&self) -> u64 {
        self.fabric.counts.fabric.firings.div_ceil(WARP_LANES as u64)
    }

    fn cta_events(&self) -> u64 {
        self.cta_events
    }

    fn describe_stalls(&self, kernels: &[SgmfKernel]) -> Vec<String> {
        self.stalls(kernels)
    }
}

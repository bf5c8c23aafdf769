//! The fabric (fig. 8): units, links, token buffers, L1; and a cycle of it, which visits what can move.

use crate::config::SgmfConfig;
use crate::configuration::{Configuration, Element, Unit};
use crate::kind::{Kind, UnitCounts};
use crate::l1::L1;
use crate::memory::Outside;
use crate::observer::{Note, Observer};
use crate::pass::Pass;
use crate::state::{Links, SourceState, UnitState};
use crate::statistics::{Counts, Reason};
use crate::token::TokenBuffers;
use crate::wheel::Wheel;
use ::config::GpuConfig;
use dataflow::graph::RegionId;
use exec::function::Evaluator;
use isa::Fault;
use kit::Cycle;
use mem::Port;
use std::sync::Arc;

/// Latencies of special units that depend on the operation: by node and number of the thread.
pub(crate) type LatencyOf = fn(u32, u32) -> u32;

/// The fabric of a core.
#[derive(Clone, Debug)]
pub(crate) struct Fabric<O> {
    pub config: SgmfConfig,
    /// Its units.
    pub there: UnitCounts,
    pub configuration: Arc<Configuration>,
    pub wheel: Wheel,
    /// By element: it waits for room.
    pub blocked: Vec<bool>,
    // The block diagram.
    pub sources: Vec<SourceState>,
    pub links: Links,
    pub buffers: TokenBuffers,
    pub units: Vec<UnitState>,
    pub l1: L1,

    pub pass: Pass,
    pub latency: Option<LatencyOf>,
    pub evaluator: Evaluator,
    pub counts: Counts,
    pub observer: O,
    /// A region runs since this cycle, up to which its unused units are accounted for.
    running: Option<u64>,
}

impl<O: Observer> Fabric<O> {
    /// An empty fabric of a core of `gpu`.
    pub fn new(gpu: &GpuConfig, config: SgmfConfig, there: UnitCounts, observer: O) -> Self {
        Self {
            config,
            there,
            configuration: Arc::default(),
            wheel: Wheel::default(),
            blocked: Vec::new(),
            sources: Vec::new(),
            links: Links::default(),
            buffers: TokenBuffers::default(),
            units: Vec::new(),
            l1: L1::new(gpu, &config),
            pass: Pass::default(),
            latency: None,
            evaluator: Evaluator::default(),
            counts: Counts::default(),
            observer,
            running: None,
        }
    }

    /// The core cycle of fabric cycle `at`.
    #[inline]
    pub fn core_cycle(&self, at: u64) -> Cycle {
        at / u64::from(self.config.clock_ratio)
    }

    /// Starts `pass` on `configuration` in cycle `at`. Panics if the configuration is one of a larger fabric.
    pub fn begin(&mut self, configuration: Arc<Configuration>, pass: Pass, at: u64) {
        let fits = configuration.used.iter().zip(self.there).all(|(used, there)| *used <= there);
        assert!(fits, "a configuration uses {:?} units of {:?}", configuration.used, self.there);
        self.wheel = Wheel::new(configuration.elements.len());
        self.blocked = vec![false; configuration.elements.len()];
        self.sources = configuration
            .sources
            .iter()
            .map(|source| SourceState::new(configuration.shares.first(source.copy)))
            .collect();
        self.links = Links::new(configuration.segments.len());
        self.buffers = TokenBuffers::new(configuration.ports.len(), self.config.entries);
        self.units = vec![UnitState::new(at); configuration.units.len()];
        self.configuration = configuration;
        self.l1.take_refused();
        let threads = pass.count;
        self.observer.note(at, Note::Begin { region: RegionId(pass.region), threads });
        self.pass = pass;
        self.pass.count = 0;
        self.running = Some(at);
        self.counts.fabric.passes += 1;
        self.add_threads(threads, at);
    }

    /// `threads` more pass.
    pub fn add_threads(&mut self, threads: u32, at: u64) {
        let Configuration { units, sources, shares, .. } = &*self.configuration;
        let copy_of = units.iter().map(|unit| unit.copy).chain(sources.iter().map(|source| source.copy));
        let passes = |pass: &Pass| copy_of.clone().map(|copy| u64::from(shares.of_copy(copy, pass.count))).sum::<u64>();
        let before = passes(&self.pass);
        self.pass.count += threads;
        self.pass.remaining += passes(&self.pass) - before;
        self.counts.fabric.thread_passes += u64::from(threads);
        for source in &self.configuration.sources {
            self.wheel.wake(at, at, source.element);
        }
    }

    /// Whether all threads of the pass have left all units.
    pub const fn is_done(&self) -> bool {
        self.running.is_some() && self.pass.remaining == 0
    }

    /// The pass is over from cycle `at` on. Panics if a token is left.
    pub fn end(&mut self, at: u64) -> &mut Pass {
        self.settle(at);
        self.running = None;
        let region = RegionId(self.pass.region);
        self.observer.note(at, Note::End { region });
        assert!(self.units.iter().all(UnitState::is_empty), "a unit holds a thread after its pass");
        let ports = 0..self.configuration.ports.len() as u32;
        assert!(ports.into_iter().all(|port| self.buffers.is_empty(port)), "a token is left in a token buffer");
        let Configuration { units, shares, .. } = &*self.configuration;
        let passed = |(unit, state): (&Unit, &UnitState)| state.left == shares.of_copy(unit.copy, self.pass.count);
        assert!(units.iter().zip(&self.units).all(passed), "a thread left a unit not once");
        self.counts.fabric.masked_threads += u64::from(self.pass.masked());
        &mut self.pass
    }

    /// Accounts for all cycles of all units before `upto`, while a region runs.
    pub fn settle(&mut self, upto: u64) {
        let Some(since) = self.running else { return };
        let configuration = self.configuration.clone();
        for (u, unit) in configuration.units.iter().enumerate() {
            self.settle_unit(unit, u as u32, upto);
        }
        let cycles = upto.saturating_sub(since);
        for (kind, there) in Kind::ALL.into_iter().zip(self.there) {
            let unused = there - configuration.used[kind as usize];
            self.counts.spend(kind, Reason::Unused, unused.into(), cycles);
        }
        let fabric = &mut self.counts.fabric;
        fabric.link_cycles += u64::from(configuration.links) * cycles;
        let reserving = configuration.used[Kind::Memory as usize] + configuration.used[Kind::Special as usize];
        fabric.reservable_cycles += u64::from(reserving * self.config.entries) * cycles;
        self.running = Some(since + cycles);
    }

    /// The first cycle from `at` on in which something moves.
    pub fn next(&self, at: u64) -> Option<u64> {
        self.wheel.next(at)
    }

    /// One cycle: everything that can move is visited from the sinks to the sources.
    ///
    /// # Errors
    /// An access faults.
    pub fn cycle(&mut self, at: u64, outside: &mut Outside<'_>) -> Result<(), Box<Fault>> {
        let configuration = self.configuration.clone();
        self.wheel.begin(at);
        let mut word = 0;
        while let Some(element) = self.wheel.take(at, &mut word) {
            match configuration.elements[element as usize] {
                Element::Segment(s) => self.advance(&configuration, s, at),
                Element::Source(s) => self.inject(&configuration, s, at, outside),
                Element::Unit(u) => match configuration.units[u as usize].kind {
                    Kind::Compute | Kind::Control => self.step_pipelined(&configuration, u, at),
                    Kind::Special => self.step_special(&configuration, u, at),
                    Kind::Memory => self.step_ldst(&configuration, u, at, outside)?,
                },
            }
        }
        Ok(())
    }

    /// A reply from the port, if there is one in core cycle `now`, whose first fabric cycle is `at`.
    pub fn receive(&mut self, now: Cycle, at: u64, port: &mut Port) {
        let Self { l1, units, wheel, configuration, .. } = self;
        let changed = l1.replies(now, port, |u, token| {
            units[u as usize].done.push_back(token);
            wheel.wake(at, at, configuration.units[u as usize].element);
        });
        if changed {
            self.retry(at);
        }
    }

    /// A request goes to the port, if one waits and there is room.
    pub fn transmit(&mut self, now: Cycle, after: u64, port: &mut Port) {
        if self.l1.send(now, port) {
            self.retry(after);
        }
    }

    /// Accesses that L1 refused are tried again.
    fn retry(&mut self, at: u64) {
        for u in self.l1.take_refused() {
            self.wheel.wake(at, at, self.configuration.units[u as usize].element);
        }
    }
}

//! The part of a GPU that simulates a window by itself: the cores that share a crossbar port.

use crate::core::{Access, Core, Env};
use config::GpuConfig;
use isa::{Dim3, Fault, KernelId};
use kit::persist::{Archive, Mismatch, Persist, each};
use kit::{Counters, Cycle, NEVER};
use mem::{AnswerCounters, Ejected, Gate, Port};
use std::collections::VecDeque;

/// A CTA that is to start.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Start {
    /// Its first cycle.
    pub at: Cycle,
    /// Place of its core in the unit.
    pub place: usize,
    pub kernel: KernelId,
    pub cta: Dim3,
}

/// Where a unit stops before the end of a window.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum StopAt {
    /// Nowhere.
    #[default]
    End,
    /// At the end of its last CTA.
    LastEnd,
    /// It pauses at each end of a CTA, until the dispatcher has served that cycle.
    EachEnd,
}

/// The cores of a cluster with their ports and their gate. It meets others only where the machine exchanges messages:
/// until then its cycles depend on nothing else.
pub(crate) struct Unit<C: Core> {
    /// Number of its first core.
    pub first: usize,
    /// One for each port, or none if they have not been made.
    pub cores: Vec<C>,
    pub ports: Vec<Port>,
    pub gate: Gate,
    /// When each core must be ticked next.
    due: Vec<Cycle>,
    /// CTAs that the dispatcher has given it, in the order of their cycles.
    pub starts: VecDeque<Start>,
    /// The first cycle in which the next part of a reply may leave the crossbar; all before it are done, or nothing else
    /// leaves in them.
    gate_free_at: Cycle,
    /// The replies that have left the crossbar in this window: the cycle of each, and its latency, which is 0 for an
    /// acknowledgement of a write.
    ejected: Vec<(Cycle, Cycle)>,
    /// The cycle of the last end of a CTA that the machine has not seen.
    pub ended: Option<Cycle>,
    /// The same, if it has paused for a new CTA.
    pub paused: Option<Cycle>,
    /// The first fault: its cycle, its core.
    pub fault: Option<(Cycle, usize, Box<Fault>)>,
    /// Cores have been ticked since the last exchange.
    pub has_run: bool,
    /// The cycle before which the next sample is taken, and from one to the next.
    pub sample_at: Cycle,
    pub sample_every: Cycle,
    /// Its parts of the samples of this window.
    pub samples: Vec<SamplePart<C::Counters>>,
}

/// A unit's part of a sample: what it has counted before cycle `at`.
pub(crate) struct SamplePart<K> {
    pub at: Cycle,
    pub core: K,
    pub answers: AnswerCounters,
}

impl<C: Core> Unit<C> {
    /// The unit of cluster `cluster`, which has `count` cores, the first of which has number `first`. They are to be
    /// made.
    pub fn new(config: &GpuConfig, cluster: usize, first: usize, count: usize) -> Self {
        Self {
            first,
            cores: Vec::new(),
            ports: vec![Port::default(); count],
            gate: Gate::new(config, cluster),
            due: vec![NEVER; count],
            starts: VecDeque::new(),
            gate_free_at: 0,
            ejected: Vec::new(),
            ended: None,
            paused: None,
            fault: None,
            has_run: false,
            sample_at: NEVER,
            sample_every: NEVER,
            samples: Vec::new(),
        }
    }

    /// Whether a thread is resident or is going to be.
    pub fn has_threads(&self) -> bool {
        !self.starts.is_empty() || self.cores.iter().any(C::has_threads)
    }

    /// Whether it has nothing to do until a CTA or a reply comes, and nothing to tell others.
    pub fn is_idle(&self) -> bool {
        let is_silent = |port: &Port| port.waiting == 0 && port.outbox.is_empty();
        !self.has_run && !self.has_threads() && self.next_event() == NEVER && self.ports.iter().all(is_silent)
    }

    /// Whether it has threads, and something to do before cycle `until`.
    pub fn has_work(&self, until: Cycle) -> bool {
        self.next_event() < until && self.has_threads()
    }

    /// The next cycle in which anything can happen here, as long as nothing comes from outside.
    #[inline(never)]
    pub fn next_event(&self) -> Cycle {
        let start = self.starts.front().map_or(NEVER, |start| start.at);
        let core = self.due.iter().fold(NEVER, |first, &due| first.min(due));
        start.min(core).min(self.gate.next_event(self.gate_free_at, &self.ports))
    }

    /// A window begins with cycle `start`.
    pub fn begin_window(&mut self, start: Cycle) {
        if self.ejected.last().is_none_or(|(cycle, _)| *cycle < start) {
            self.ejected.clear();
        }
    }

    /// Does the cycles before `end` in which anything happens, up to a fault or to where it is to stop.
    pub fn run(&mut self, end: Cycle, stop: StopAt, kernels: &[C::Kernel], mut shared: Access<'_, C::Shared>) {
        loop {
            let now = self.next_event();
            if now >= end || self.fault.is_some() {
                return;
            }
            if now >= self.sample_at {
                self.pass(now);
            }
            let now = self.cycles(now, end, kernels, &mut shared);
            if stop != StopAt::End && self.ended == Some(now) {
                if stop == StopAt::EachEnd {
                    self.paused = Some(now);
                }
                if stop == StopAt::EachEnd || !self.has_threads() {
                    return;
                }
            }
        }
    }

    /// Adds what has been counted before cycle `upto`: all cycles before it are done.
    pub fn count(&mut self, upto: Cycle, sum: &mut C::Counters, answers: &mut AnswerCounters) {
        for core in &mut self.cores {
            core.settle(upto);
            core.count(sum);
        }
        let mut before = self.gate.answers().clone();
        // Replies of later cycles may have left the crossbar.
        for &(_, latency) in self.ejected.iter().filter(|(cycle, _)| *cycle >= upto) {
            let count = if latency == 0 { &mut before.writes } else { &mut before.reads };
            *count -= 1;
            before.read_latency -= latency;
        }
        answers.add(&before);
    }

    /// Takes its parts of the samples up to cycle `now`: all cycles before it are done.
    #[cold]
    pub fn pass(&mut self, now: Cycle) {
        while self.sample_at <= now {
            let mut part =
                SamplePart { at: self.sample_at, core: C::Counters::default(), answers: AnswerCounters::default() };
            self.count(part.at, &mut part.core, &mut part.answers);
            self.samples.push(part);
            self.sample_at += self.sample_every;
        }
    }

    /// Replies leave the crossbar, from cycle `now` to the one before `until`, as many as certainly find room: the inboxes
    /// keep each until its cycle, so that cores need not stop for them.
    #[inline(never)]
    fn eject(&mut self, now: Cycle, until: Cycle) {
        self.gate_free_at = self.gate_free_at.max(now);
        while let Some(Ejected { at, reply }) = self.gate.eject(self.gate_free_at, until, &mut self.ports) {
            self.gate_free_at = at + 1;
            if let Some((place, latency)) = reply {
                self.due[place] = self.due[place].min(at + 1);
                self.ejected.push((at, latency));
            }
        }
    }

    /// One cycle: replies arrive, CTAs start, cores work. The only core of a unit continues before `end`, until it ends a CTA or
    /// the unit has something else to do than its work. Returns the last cycle done.
    #[inline]
    fn cycles(&mut self, now: Cycle, end: Cycle, kernels: &[C::Kernel], shared: &mut Access<'_, C::Shared>) -> Cycle {
        self.eject(now, end.min(self.sample_at));
        while let Some(&Start { place, kernel, cta, .. }) = self.starts.front().filter(|start| start.at == now) {
            self.starts.pop_front();
            let mut env = Env { kernels, shared: shared.reborrow(), port: &mut self.ports[place] };
            self.cores[place].start_cta(now, &mut env, kernel, cta);
            self.due[place] = now;
        }
        let until = if self.cores.len() == 1 { self.alone_until(now, end) } else { now };
        let mut now = now;
        for place in 0..self.cores.len() {
            if self.due[place] > now {
                continue;
            }
            self.has_run = true;
            let core = &mut self.cores[place];
            let mut env = Env { kernels, shared: shared.reborrow(), port: &mut self.ports[place] };
            let before = core.finished().len();
            self.due[place] = loop {
                let result = core.tick(now, &mut env);
                let due = core.next_event(env.port);
                if let Err(fault) = result {
                    self.fault = Some((now, self.first + place, fault));
                    return now;
                }
                if core.finished().len() > before {
                    self.ended = Some(now);
                    break due;
                }
                if due >= until {
                    break due;
                }
                now = due;
            };
        }
        self.gate_free_at = self.gate_free_at.max(now + 1);
        now
    }

    /// The first cycle after `now`, or `end`, in which the unit has something else to do than the work of its cores.
    #[inline]
    fn alone_until(&self, now: Cycle, end: Cycle) -> Cycle {
        let start = self.starts.front().map_or(NEVER, |start| start.at);
        // A part that did not find room waits for the core.
        let part = self.gate.first_arrival().map_or(NEVER, |from| from.max(self.gate_free_at).max(now + 1));
        end.min(self.sample_at).min(start).min(part)
    }

    /// A core has new work, or is to be looked at, in cycle `now`.
    pub fn wake(&mut self, place: usize, now: Cycle) {
        self.due[place] = self.due[place].min(now);
    }
}

impl<C: Core> Unit<C> {
    /// Its state between kernels ([`Persist`]).
    ///
    /// # Errors
    /// As [`Persist::persist`].
    pub fn persist(&mut self, kernels: &[C::Kernel], archive: &mut Archive) -> Result<(), Mismatch> {
        let Self {
            first: _, cores, ports, gate, due, starts, gate_free_at, ended, paused: _, fault: _, has_run, ..
        } = self;
        let Self { ejected: _, sample_at: _, sample_every: _, samples: _, .. } = self;
        if !starts.is_empty() {
            return Err(Mismatch::new("a CTA is about to start"));
        }
        cores.iter_mut().try_for_each(|core| core.persist(kernels, archive))?;
        each(ports, archive)?;
        gate.persist(archive)?;
        each(due, archive)?;
        gate_free_at.persist(archive)?;
        ended.persist(archive)?;
        has_run.persist(archive)
    }
}

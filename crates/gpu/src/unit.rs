//! The part of a GPU that simulates a window by itself: the cores that share a crossbar port.

use crate::core::{Access, Core, Env};
use config::GpuConfig;
use isa::{Dim3, Fault, KernelId};
use kit::persist::{Archive, Mismatch, Persist, each};
use kit::{Cycle, NEVER};
use mem::{Gate, Port};
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

/// The cores of a cluster with their ports and their gate. It meets others only where the machine exchanges messages:
/// until then its cycles depend on nothing else.
pub(crate) struct Unit<C: Core> {
    /// Number of its first core.
    pub first: usize,
    pub cores: Vec<C>,
    pub ports: Vec<Port>,
    pub gate: Gate,
    /// When each core must be ticked next.
    due: Vec<Cycle>,
    /// CTAs that the dispatcher has given it, in the order of their cycles.
    pub starts: VecDeque<Start>,
    /// The first cycle that has not been done.
    done: Cycle,
    /// The cycle of the last end of a CTA that the machine has not seen.
    pub ended: Option<Cycle>,
    /// The first fault: its cycle, its core.
    pub fault: Option<(Cycle, usize, Box<Fault>)>,
    /// Cores have been ticked since the last exchange.
    pub has_run: bool,
}

impl<C: Core> Unit<C> {
    /// Idle cores, the first of which has number `first`, in cluster `cluster`.
    pub fn new(config: &GpuConfig, cluster: usize, first: usize, cores: Vec<C>) -> Self {
        Self {
            first,
            ports: vec![Port::default(); cores.len()],
            gate: Gate::new(config, cluster),
            due: vec![NEVER; cores.len()],
            starts: VecDeque::new(),
            done: 0,
            ended: None,
            fault: None,
            has_run: false,
            cores,
        }
    }

    /// Whether a thread is resident or is going to be.
    pub fn has_threads(&self) -> bool {
        !self.starts.is_empty() || self.cores.iter().any(C::has_threads)
    }

    /// The next cycle in which anything can happen here, as long as nothing comes from outside.
    pub fn next_event(&self) -> Cycle {
        let start = self.starts.front().map_or(NEVER, |start| start.at);
        let core = self.due.iter().fold(NEVER, |first, &due| first.min(due));
        start.min(core).min(self.gate.next_event(self.done, &self.ports))
    }

    /// Does the cycles before `end` in which anything happens, up to a fault; with `to_last_thread`, up to the end of
    /// the last CTA.
    pub fn run(&mut self, end: Cycle, to_last_thread: bool, kernels: &[C::Kernel], mut shared: Access<'_, C::Shared>) {
        loop {
            let now = self.next_event();
            if now >= end || self.fault.is_some() {
                return;
            }
            self.cycle(now, kernels, &mut shared);
            if to_last_thread && self.ended == Some(now) && !self.has_threads() {
                return;
            }
        }
    }

    /// One cycle: a reply arrives, CTAs start, cores work.
    #[inline]
    fn cycle(&mut self, now: Cycle, kernels: &[C::Kernel], shared: &mut Access<'_, C::Shared>) {
        self.done = now + 1;
        if let Some(place) = self.gate.eject(now, &mut self.ports) {
            self.due[place] = self.due[place].min(now + 1);
        }
        while let Some(&Start { place, kernel, cta, .. }) = self.starts.front().filter(|start| start.at == now) {
            self.starts.pop_front();
            let mut env = Env { kernels, shared: shared.reborrow(), port: &mut self.ports[place] };
            self.cores[place].start_cta(now, &mut env, kernel, cta);
            self.due[place] = now;
        }
        for place in 0..self.cores.len() {
            if self.due[place] > now {
                continue;
            }
            self.has_run = true;
            let core = &mut self.cores[place];
            let mut env = Env { kernels, shared: shared.reborrow(), port: &mut self.ports[place] };
            let result = core.tick(now, &mut env);
            self.due[place] = core.next_event(env.port);
            if !core.finished().is_empty() {
                self.ended = Some(now);
            }
            if let Err(fault) = result {
                self.fault = Some((now, self.first + place, fault));
                return;
            }
        }
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
        let Self { first: _, cores, ports, gate, due, starts, done, ended, fault: _, has_run } = self;
        if !starts.is_empty() {
            return Err(Mismatch::new("a CTA is about to start"));
        }
        cores.iter_mut().try_for_each(|core| core.persist(kernels, archive))?;
        each(ports, archive)?;
        gate.persist(archive)?;
        each(due, archive)?;
        done.persist(archive)?;
        ended.persist(archive)?;
        has_run.persist(archive)
    }
}

//! Counts, in all and between samples.

use super::{Control, Floor, Machine, Waiting};
use crate::core::{Core, CoreCounters};
use crate::snapshot::{LaunchWait, Snapshot};
use crate::unit::Unit;
use kit::locks::write;
use kit::{Counters, Cycle};
use mem::AnswerCounters;
use std::num::NonZeroU64;

impl<C: Core> Machine<C> {
    /// From now on takes a sample before each cycle whose number is a multiple of `cycles`, as long as kernels
    /// run. The simulation stays the same. Counts of the memory system are as of the window.
    pub fn sample_every(&mut self, cycles: NonZeroU64) {
        let control = &mut self.control;
        control.sample_every = cycles.get();
        control.sample_at = control.now.next_multiple_of(cycles.get()).max(cycles.get());
    }

    /// As [`Machine::sample_every`] from the start of a run whose length is not known: when there are `most` samples,
    /// an even number, each two become one and the interval doubles.
    pub fn sample_at_most(&mut self, cycles: NonZeroU64, most: usize) {
        self.sample_every(cycles);
        self.control.most_samples = most;
    }

    /// Counts of each interval between samples that has ended since the last call
    /// ([`Machine::sample_every`]).
    pub fn take_samples(&mut self) -> Vec<Snapshot<C::Counters>> {
        std::mem::take(&mut self.control.samples)
    }

    /// Counts of each interval that [`Machine::take_samples`] has not taken.
    pub fn samples(&self) -> &[Snapshot<C::Counters>] {
        &self.control.samples
    }

    /// Counts since the last sample.
    pub fn since_sample(&mut self) -> Snapshot<C::Counters> {
        self.counters().since(&self.control.sampled)
    }

    /// All counters since the start.
    pub fn counters(&mut self) -> Snapshot<C::Counters> {
        let (control, floor) = self.split();
        control.snapshot(&floor, control.now)
    }
}

impl<C: Core> Control<C> {
    /// Nothing happens between the last cycle and `next`: the state holds for each cycle between.
    #[cold]
    pub(super) fn take_samples_upto(&mut self, floor: &Floor<'_, C>, next: Cycle) {
        while self.sample_at <= next {
            let sample = self.snapshot(floor, self.sample_at);
            self.take_sample(sample);
        }
    }

    /// Takes the samples of the window, of which each unit has its part. The memory system's counters are of the
    /// window.
    pub(super) fn collect_samples(&mut self, floor: &Floor<'_, C>) {
        if self.sample_at > self.now {
            return;
        }
        floor.each_unit().for_each(|mut unit| unit.pass(self.now));
        while self.sample_at <= self.now {
            let at = self.sample_at;
            let counted = self.sum(floor, at, |unit, core, answers| {
                if let Some(part) = unit.samples.iter().find(|part| part.at == at) {
                    core.add(&part.core);
                    answers.add(&part.answers);
                }
            });
            let sample = self.without_waits(counted);
            self.take_sample(sample);
        }
        floor.each_unit().for_each(|mut unit| unit.samples.clear());
    }

    pub(super) fn take_sample(&mut self, sample: Snapshot<C::Counters>) {
        self.samples.push(sample.since(&self.sampled));
        self.sampled = sample;
        if self.samples.len() >= self.most_samples {
            self.halve_samples();
        }
        self.sample_at += self.sample_every;
    }

    pub(super) fn halve_samples(&mut self) {
        let sum = |pair: &[Snapshot<C::Counters>]| {
            let mut sum = pair[0].clone();
            pair[1..].iter().for_each(|other| sum.add(other));
            sum
        };
        self.samples = self.samples.chunks(2).map(sum).collect();
        self.sample_every *= 2;
    }

    /// Counts up to `cycle`, as reports have them.
    pub(super) fn snapshot(&mut self, floor: &Floor<'_, C>, upto: Cycle) -> Snapshot<C::Counters> {
        let counted = self.counted(floor, upto);
        self.without_waits(counted)
    }

    /// Counts of cores and memory up to `upto`, waits for launches like any other time.
    pub(super) fn counted(&mut self, floor: &Floor<'_, C>, upto: Cycle) -> Snapshot<C::Counters> {
        let mut counted = self.sum(floor, upto, |unit, core, answers| unit.count(upto, core, answers));
        let unmade = floor.unmade();
        if unmade == 0 {
            self.unmade = None;
        }
        if let Some(cores) = &mut self.unmade {
            let idle = cores.idle(upto);
            (0..unmade).for_each(|_| idle.count(&mut counted.core));
        }
        counted
    }

    /// Counts of the memory system up to `upto`, with the parts of the units that `add` gives.
    pub(super) fn sum(
        &self,
        floor: &Floor<'_, C>,
        upto: Cycle,
        add: impl Fn(&mut Unit<C>, &mut C::Counters, &mut AnswerCounters),
    ) -> Snapshot<C::Counters> {
        let (mut memory, mut core) = (write(&floor.memory), C::Counters::default());
        let mut counters = memory.counters();
        for mut unit in floor.each_unit() {
            add(&mut unit, &mut core, &mut counters.answers);
        }
        Snapshot {
            cycles: upto,
            launch: LaunchWait::default(),
            core,
            memory: counters,
            dram_cycles: memory.dram_cycles(upto),
        }
    }

    /// Separates the waits for launches from other time.
    pub(super) fn without_waits(&self, mut counted: Snapshot<C::Counters>) -> Snapshot<C::Counters> {
        let Waiting { ended, ended_cores, since } = &self.waiting;
        let (mut wait, mut cores) = (ended.clone(), ended_cores.clone());
        if let Some(since) = since {
            wait.add(&counted.wait_since(since));
            cores.add(&counted.core.since(&since.core));
        }
        counted.launch = wait;
        counted.core.leave_out(&cores);
        counted
    }
}

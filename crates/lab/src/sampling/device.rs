//! Launches of a device of which not all is simulated in time.
//!
//! A launch that is not timed is executed when its turn comes, CTA after CTA: memory is then as after a timed launch.
//! With `representative`, whether a launch is timed follows from what it does. It is therefore executed first, with an
//! undo log. If it is to be timed, everything that it has changed is undone, and it is simulated.

use super::began::{Began, Rest};
use super::bounds::{Blind, Bounded, End};
use super::work::{Tally, Work};
use super::{How, Sampler, Time, slots};
use crate::device::SimulatedDevice;
use exec::check::Hazard;
use exec::{FunctionalStats, Launch};
use gpu::Livelock;
use isa::{DynInst, Fault, KernelId};
use std::ops::Range;
use std::time::Instant;
use workloads::DeviceError;

/// Outcome of a launch that was executed first.
enum Tried {
    Did(Work, FunctionalStats),
    /// Its first CTAs may have races.
    MayRace,
    /// It has no result without time.
    Failed,
}

/// The name of a launch's kernel, as users write it.
fn plain_name(launch: &Launch) -> &str {
    exec::plain_name(launch.kernel.name()).unwrap_or(launch.kernel.name())
}

/// The message of a livelock of a launch of `kernel` that is executed without time.
fn livelock_without_time(livelock: &Livelock, kernel: &str) -> String {
    let computes = if livelock.is_certain {
        ""
    } else {
        ". If it only computes for so long, a larger bound lets it (option livelock_cycles)"
    };
    format!(
        "{livelock}\n  hint: without time launches, and their CTAs, are executed one after another; a kernel that waits for later ones, or for copies or the host meanwhile, must be timed (option time: kernels={kernel}){computes}"
    )
}

impl SimulatedDevice<'_> {
    /// Whether not all launches are simulated in time.
    pub fn is_sampled(&self) -> bool {
        self.simulation.sampler.is_some()
    }

    /// Whether launch `number` of a kernel, or a part of it, may be executed when it is launched: launches before it must
    /// have ended.
    pub(crate) fn may_execute(&self, number: u32, kernel: &str) -> bool {
        let is_timed = |choice: &Time| match choice {
            Time::All | Time::None | Time::Kernels(_) => choice.includes(number, kernel),
            Time::Ctas(_) | Time::Representative(_) => false,
        };
        self.simulation.sampler.as_ref().is_some_and(|sampler| !is_timed(sampler.choice()))
    }

    fn sampler(&mut self) -> &mut Sampler {
        self.simulation.sampler.as_mut().expect("the run is sampled")
    }

    /// The number of the next launch, as reports have it: from 0, in the order of requests.
    pub fn number_launch(&mut self) -> u32 {
        self.next_launch += 1;
        self.next_launch - 1
    }

    /// The turn of launch `number` has come: launches before it have ended. Executes what is not timed of it.
    ///
    /// # Errors
    /// A fault, or an interruption.
    pub fn begin(&mut self, number: u32, launch: &Launch) -> Result<Began, DeviceError> {
        if !self.is_sampled() {
            return Ok(Began::ToQueue);
        }
        if self.simulation.keep_on().is_break() {
            return Err(DeviceError::Interrupted);
        }
        let started = Instant::now();
        let began = self.begin_sampled(number, launch);
        self.simulation.add_host_time(started.elapsed());
        began
    }

    fn begin_sampled(&mut self, number: u32, launch: &Launch) -> Result<Began, DeviceError> {
        let name = plain_name(launch).to_owned();
        let shape = launch.shape();
        if launch.is_cooperative() || launch.cluster().is_some() {
            self.sampler().add_timed(number, &name, &shape);
            let how = if launch.is_cooperative() { "cooperatively" } else { "in clusters" };
            self.sampler()
                .remark(format!("`{name}` is launched {how}: its CTAs wait for each other, so that all are timed"));
            return Ok(Began::ToQueue);
        }
        match self.sampler().choice().clone() {
            Time::Ctas(ctas) => {
                let all = launch.grid.volume();
                let part = ctas.start.min(all)..ctas.end.min(all);
                if part.is_empty() {
                    return self.execute_whole(number, &name, launch);
                }
                if part == (0..all) {
                    self.sampler().add_timed(number, &name, &shape);
                    return Ok(Began::ToQueue);
                }
                if self.is_to_be_probed(&name, launch) {
                    self.remark_races(&name, launch);
                }
                let slots = slots(&self.simulation.setup().gpu, &shape);
                self.sampler().add_part(number, &name, &shape, part.clone(), slots);
                let before = self.execute(launch, 0..part.start)?;
                self.sampler().add_rest(number, before.warp_instructions);
                Ok(Began::ToQueue)
            }
            Time::Representative(_) if self.sampler().is_endless(&name) => {
                self.sampler().add_timed(number, &name, &shape);
                Ok(Began::ToQueue)
            }
            Time::Representative(_) => self.begin_tried(number, &name, launch),
            choice if choice.includes(number, launch.kernel.name()) => {
                self.sampler().add_timed(number, &name, &shape);
                Ok(Began::ToQueue)
            }
            _ => self.execute_whole(number, &name, launch),
        }
    }

    /// Executes CTAs of a launch, counted.
    fn execute(&mut self, launch: &Launch, ctas: Range<u64>) -> Result<FunctionalStats, DeviceError> {
        let before = self.sampler().executed;
        let mut bounded = Bounded::new(self.setup(), launch, before, Blind);
        let ran = exec::run_ctas(self.state(), launch, ctas, &mut bounded);
        self.ended(launch, ran, bounded.executed, bounded.end)
    }

    /// Executes a launch, counted. Races that decide its result are a remark.
    fn execute_probed(&mut self, name: &str, launch: &Launch) -> Result<FunctionalStats, DeviceError> {
        let before = self.sampler().executed;
        let mut bounded = Bounded::new(self.setup(), launch, before, Blind);
        let undo = self.state().begin_undo();
        match exec::run_screened(self.state(), launch, Some(undo), &mut bounded) {
            Some(ran) => self.ended(launch, ran, bounded.executed, bounded.end),
            None => {
                self.remark_races(name, launch);
                self.execute(launch, 0..launch.grid.volume())
            }
        }
    }

    fn ended(
        &mut self,
        launch: &Launch,
        ran: Result<Option<FunctionalStats>, Box<Fault>>,
        executed: u64,
        end: Option<End>,
    ) -> Result<FunctionalStats, DeviceError> {
        self.sampler().executed += executed;
        let ended = ran.map_err(DeviceError::Fault)?;
        ended.ok_or_else(|| match end {
            Some(End::Livelock(livelock)) => {
                DeviceError::Deadlock(livelock_without_time(&livelock, plain_name(launch)))
            }
            _ => self.interrupted_without_time(),
        })
    }

    fn interrupted_without_time(&mut self) -> DeviceError {
        self.simulation.interrupt();
        DeviceError::Interrupted
    }

    /// Executes a launch to see what it does and, if it `is_probed`, whether it may have races.
    fn try_out(&mut self, launch: &Launch, is_probed: bool) -> Result<Tried, DeviceError> {
        let before = self.sampler().executed;
        let mut tally = Tally::new(&launch.kernel.program);
        let mut bounded = Bounded::new(self.setup(), launch, before, |out: &DynInst| tally.see(out));
        let ran = if is_probed {
            exec::run_screened(self.state(), launch, None, &mut bounded)
        } else {
            Some(exec::run_ctas(self.state(), launch, 0..launch.grid.volume(), &mut bounded))
        };
        let Some(ran) = ran else { return Ok(Tried::MayRace) };
        let (end, executed) = (bounded.end, bounded.executed);
        self.sampler().executed += executed;
        match (ran, end) {
            (Ok(Some(stats)), _) => Ok(Tried::Did(tally.work(&stats), stats)),
            (_, Some(End::Interrupted)) => Err(self.interrupted_without_time()),
            (Ok(None) | Err(_), _) => Ok(Tried::Failed),
        }
    }

    /// Whether races of the launch's first CTAs are to be looked for.
    fn is_to_be_probed(&mut self, name: &str, launch: &Launch) -> bool {
        !self.setup().check_memory && self.sampler().is_to_be_probed(name, launch)
    }

    /// Looks for races that decide the result of a kernel without time.
    fn remark_races(&mut self, name: &str, launch: &Launch) {
        let races = exec::decisive_races(self.state(), launch);
        let Some(first) = races.first() else { return };
        let others = match races.len() - 1 {
            0 => String::new(),
            others => format!(" ({} more)", kit::text::counted(others as u64, "instruction")),
        };
        let mend = match first.kind {
            Hazard::SharedRace => "Put a barrier (__syncthreads) between the two accesses",
            _ => "Put the two accesses into separate launches",
        };
        self.sampler().remark(format!(
            "`{name}` has a race that decides its result: {first}{others}. Without time, warps have long turns and CTAs run one after another. {mend}, or execute the kernel in the order of the GPU's timing (option time: kernels={name}); option check_memory lists all races"
        ));
    }

    fn execute_whole(&mut self, number: u32, name: &str, launch: &Launch) -> Result<Began, DeviceError> {
        let is_probed = self.is_to_be_probed(name, launch);
        self.sampler().add_untimed(number, name, &launch.shape(), How::Functional);
        let stats =
            if is_probed { self.execute_probed(name, launch)? } else { self.execute(launch, 0..launch.grid.volume())? };
        let work = Work {
            amount: stats.warp_instructions,
            thread_instructions: Some(stats.thread_instructions),
            ..Work::default()
        };
        self.sampler().join(number, &work);
        Ok(self.executed(number, launch, stats))
    }

    fn executed(&mut self, number: u32, launch: &Launch, stats: FunctionalStats) -> Began {
        let latency = &self.simulation.setup().gpu;
        let per_cta = u64::from(latency.launch.cta_latency_cycles);
        let latency = u64::from(latency.kernel_latency_cycles()) + per_cta * launch.grid.volume();
        let sampler = self.sampler();
        sampler.set_instructions(number, stats.warp_instructions);
        Began::Executed(stats, sampler.inferred_now(number).map(|cycles| cycles + latency))
    }

    /// Executes the launch, and undoes that if it is to be timed.
    fn begin_tried(&mut self, number: u32, name: &str, launch: &Launch) -> Result<Began, DeviceError> {
        let is_probed = self.is_to_be_probed(name, launch);
        let mut undo = self.state().begin_undo();
        let mut tried = self.try_out(launch, is_probed);
        if let Ok(Tried::MayRace) = tried {
            self.state().undo(undo);
            self.remark_races(name, launch);
            undo = self.state().begin_undo();
            tried = self.try_out(launch, false);
        }
        let Ok(Tried::Did(work, stats)) = tried else {
            self.state().undo(undo);
            tried?;
            // A fault is reported by the timed launch.
            self.sampler().add_timed(number, name, &launch.shape());
            self.sampler().note_endless(name);
            return Ok(Began::ToQueue);
        };
        self.sampler().add_untimed(number, name, &launch.shape(), How::Functional);
        if self.sampler().join(number, &work) {
            self.state().undo(undo);
            self.sampler().set_timed(number);
            return Ok(Began::ToQueue);
        }
        self.state().keep(undo);
        Ok(self.executed(number, launch, stats))
    }

    /// Notes what is to be executed of launch `number` after its CTAs that are timed.
    pub(crate) fn note_rest(&mut self, id: KernelId, number: u32, part: Option<&Range<u64>>, launch: &Launch) {
        if let Some(part) = part {
            let ctas = part.end..launch.grid.volume();
            self.rests.insert(id, Rest { launch: launch.clone(), number, ctas });
        }
    }

    /// Executes the CTAs that come after the timed ones of launches that have ended.
    pub(crate) fn execute_rests(&mut self, ended: &[KernelId]) -> Result<(), DeviceError> {
        for id in ended {
            if let Some(Rest { launch, number, ctas }) = self.rests.remove(id) {
                let started = Instant::now();
                let stats = self.execute(&launch, ctas)?;
                self.simulation.add_host_time(started.elapsed());
                self.sampler().add_rest(number, stats.warp_instructions);
                self.sampler().end_part(number);
            }
        }
        Ok(())
    }

    /// Cycles by which launch `number`, which has ended, takes longer than what was simulated of it.
    pub fn extra_cycles(&self, number: u32) -> u64 {
        self.simulation.sampler.as_ref().map_or(0, |sampler| sampler.extra_now(number))
    }
}

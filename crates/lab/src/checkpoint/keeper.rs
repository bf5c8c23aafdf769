//! When checkpoints are taken, and the way back to one.

use super::file::{self, Bytes, Contents};
use super::identity::{self, JobIdentity};
use super::journal::{Answer, Journal};
use super::kernels::Kernels;
use super::plan::{CheckpointPlan, Checkpoints, SavedRun};
use crate::report::KernelReport;
use crate::setup::Setup;
use kit::output::Lock;
use kit::persist::{Archive, Mismatch, Persist};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// The state is taken when this multiple of the time that it takes has passed, so that an interrupted run has a late one
/// to write.
const TIMES_ITS_COST: u32 = 20;

/// Larger ones are not held in memory for that.
const MOST_HELD_BYTES: usize = 256 << 20;

/// Keeps the checkpoints of a run.
#[derive(Debug)]
pub(crate) struct Keeper {
    plan: Option<CheckpointPlan>,
    /// Held while the run writes its checkpoints.
    _lock: Option<Lock>,
    identity: Vec<(String, String)>,
    journal: Journal,
    /// Results of the runs to kernels' ends so far.
    steps: Vec<u8>,
    step_count: usize,
    kernels: Option<Kernels>,
    replay: Option<Replay>,
    /// A state that has been taken and not been written.
    held: Option<Contents>,
    last_taken: Instant,
    taking: Duration,
    last_written: Instant,
    /// The last checkpoint that could not be written, and why.
    trouble: Option<String>,
}

/// The way back to a checkpoint.
#[derive(Debug)]
struct Replay {
    path: PathBuf,
    launches: Vec<String>,
    /// Those that had not ended.
    pending: BTreeSet<u32>,
    steps: Archive,
    left: usize,
    machine: Vec<u8>,
}

impl Keeper {
    /// Keeps the checkpoints of a run of `job` on `setup`.
    ///
    /// # Errors
    /// The run is not the one to be continued, or what it observes cannot be kept.
    pub fn of(checkpoints: Checkpoints, setup: &Setup, job: &JobIdentity) -> Result<Self, String> {
        let Checkpoints { plan, resume } = checkpoints;
        let observers = [
            (setup.timeline.is_some(), "--timeline"),
            (setup.check_memory, "--check-memory"),
            (setup.out_of_bounds == exec::OutOfBounds::Warn, "--out-of-bounds warn"),
            (!setup.time.is_all(), "--time"),
        ];
        if let Some((_, option)) = observers.iter().find(|(is_on, _)| *is_on) {
            return Err(format!(
                "checkpoints do not keep what {option} collects; leave out {option}, or --checkpoint and --resume"
            ));
        }
        Self::new(plan, resume, identity::of(setup, job))
    }

    fn new(
        plan: Option<CheckpointPlan>,
        resume: Option<SavedRun>,
        identity: Vec<(String, String)>,
    ) -> Result<Self, String> {
        let lock = plan.as_ref().map(|plan| locked(&plan.file)).transpose()?;
        let mut keeper = Self {
            plan,
            _lock: lock,
            identity,
            journal: Journal::default(),
            steps: Vec::new(),
            step_count: 0,
            kernels: None,
            replay: None,
            held: None,
            last_taken: Instant::now(),
            taking: Duration::ZERO,
            last_written: Instant::now(),
            trouble: None,
        };
        let Some(SavedRun { path, contents }) = resume else {
            keeper.begin_kernels(&[])?;
            return Ok(keeper);
        };
        if let Some(difference) = identity::difference(&contents.identity, &keeper.identity) {
            return Err(format!(
                "the checkpoint `{}` is of another run: {difference}\n  hint: `warpwright run --resume {}` has all options of that run but its outputs",
                path.display(),
                path.display()
            ));
        }
        keeper.journal = Journal::replaying(contents.answers.0);
        keeper.steps = contents.steps.0;
        keeper.step_count = contents.step_count;
        keeper.replay = Some(Replay {
            path,
            launches: contents.launches,
            pending: contents.pending.into_iter().collect(),
            steps: Archive::reader(keeper.steps.clone()),
            left: contents.step_count,
            machine: contents.machine.0,
        });
        Ok(keeper)
    }

    /// Whether the run has yet to come back to its checkpoint.
    pub fn is_replaying(&self) -> bool {
        self.replay.is_some()
    }

    /// Whether the run leaves checkpoints, so that it must be recorded.
    pub fn leaves_checkpoints(&self) -> bool {
        self.plan.is_some()
    }

    fn begin_kernels(&mut self, reports: &[KernelReport]) -> Result<(), String> {
        let Some(plan) = &self.plan else { return Ok(()) };
        let kernels = Kernels::begin(&plan.file, reports).map_err(|e| {
            let path = super::kernels::beside(&plan.file);
            format!("cannot write `{}`: {e}; name another file with --checkpoint file=FILE", path.display())
        });
        self.kernels = Some(kernels?);
        Ok(())
    }

    /// Restores the data that the host read at this place, if the run has yet to come back to its checkpoint. True if
    /// it did.
    pub fn answer_again(&mut self, answer: Answer, value: &mut impl Persist) -> Result<bool, String> {
        let Some(replay) = &self.replay else { return Ok(false) };
        let path = replay.path.display();
        match self.journal.next(answer, value) {
            Ok(()) => Ok(true),
            Err(why) => Err(format!("the host does not do what it did before the checkpoint `{path}`: {why}")),
        }
    }

    /// Notes what the host gets of the device.
    pub fn note_answer(&mut self, answer: Answer, value: &mut impl Persist) {
        if self.plan.is_some() {
            self.journal.note(answer, value);
        }
    }

    /// Checks launch number `number` of the kernel `name` against the run before the checkpoint.
    pub fn check_launch(&self, number: usize, name: &str) -> Result<(), String> {
        let Some(replay) = &self.replay else { return Ok(()) };
        let there = replay.launches.get(number).map(String::as_str);
        if there == Some(name) {
            return Ok(());
        }
        let there = there.map_or("there is none".to_owned(), |there| format!("it is of `{there}`"));
        let path = replay.path.display();
        Err(format!("launch {number} is of the kernel `{name}`, and in the run of the checkpoint `{path}` {there}"))
    }

    /// Whether launch number `number` had ended before the checkpoint that the run has yet to come back to: it is never
    /// simulated.
    pub fn has_ended_before(&self, number: usize) -> bool {
        self.replay.as_ref().is_some_and(|replay| !replay.pending.contains(&(number as u32)))
    }

    /// The next step of the run before the checkpoint, read by `read`.
    pub fn step_again<T>(&mut self, read: impl FnOnce(&mut Archive) -> Result<T, Mismatch>) -> Result<T, String> {
        let Some(replay) = &mut self.replay else { return Err("nothing to repeat".to_owned()) };
        replay.left = replay.left.saturating_sub(1);
        read(&mut replay.steps).map_err(|why| unusable(&replay.path, &why))
    }

    /// If all steps have been repeated, the run is back: `restore` reads the state of the machine; `launches` have been
    /// made, `reports` are of the kernels that have ended.
    pub fn come_back(
        &mut self,
        launches: usize,
        reports: &[KernelReport],
        restore: impl FnOnce(&mut Archive) -> Result<(), Mismatch>,
    ) -> Result<(), String> {
        let Some(replay) = self.replay.take_if(|replay| replay.left == 0) else { return Ok(()) };
        let mut archive = Archive::reader(replay.machine);
        let expected = replay.launches.len();
        let restored = (launches == expected)
            .then_some(())
            .ok_or_else(|| Mismatch::new(format!("{launches} launches have been made, {expected} there")))
            .and_then(|()| replay.steps.end())
            .and_then(|()| self.journal.end())
            .and_then(|()| restore(&mut archive))
            .and_then(|()| archive.end());
        restored.map_err(|why| unusable(&replay.path, &why))?;
        self.begin_kernels(reports)?;
        (self.last_taken, self.last_written) = (Instant::now(), Instant::now());
        Ok(())
    }

    /// A run to a kernel's end has brought `step`; `reports` are of all kernels that have ended.
    pub fn add_step(&mut self, step: &[u8], reports: &[KernelReport]) {
        self.steps.extend_from_slice(step);
        self.step_count += 1;
        if let Some(kernels) = &mut self.kernels
            && let Err(error) = kernels.append(reports)
        {
            self.trouble = Some(format!("reports of kernels could not be kept: {error}"));
        }
    }

    /// The machine is between kernels: takes its state, with `persist`, if it is time to; `launches` names those so far,
    /// of which those in `reports` have ended.
    pub fn keep<'a>(
        &mut self,
        launches: impl Iterator<Item = &'a str>,
        reports: &[KernelReport],
        persist: impl FnOnce(&mut Archive) -> Result<(), Mismatch>,
    ) {
        let Some(plan) = &self.plan else { return };
        let writes = self.last_written.elapsed() >= plan.every;
        if !writes && self.last_taken.elapsed() < TIMES_ITS_COST * self.taking {
            return;
        }
        let begin = Instant::now();
        let mut archive = Archive::writer();
        if let Err(why) = persist(&mut archive) {
            self.trouble = Some(format!("the state of the machine could not be kept: {why}"));
            return;
        }
        let machine = archive.into_bytes();
        let launches: Vec<String> = launches.map(str::to_owned).collect();
        let mut pending: BTreeSet<u32> = (0..launches.len() as u32).collect();
        reports.iter().for_each(|report| _ = pending.remove(&report.launch));
        let holds = writes || machine.len() <= MOST_HELD_BYTES;
        self.held = holds.then(|| Contents {
            identity: self.identity.clone(),
            command: plan.command.clone(),
            folder: std::env::current_dir().map_or_else(|_| String::new(), |folder| folder.display().to_string()),
            launches,
            pending: pending.into_iter().collect(),
            answers: Bytes(self.journal.answers().to_vec()),
            steps: Bytes(self.steps.clone()),
            step_count: self.step_count,
            machine: Bytes(machine),
        });
        self.taking = begin.elapsed();
        self.last_taken = Instant::now();
        if writes {
            self.write();
        }
    }

    /// Writes the state that was taken last, unless that has been done.
    pub fn write(&mut self) {
        let (Some(plan), Some(mut held)) = (&self.plan, self.held.take()) else { return };
        let packed = file::packed(&mut held).map_err(|why| why.to_string());
        let written = packed.and_then(|file| kit::output::write(&plan.file, &file).map_err(|e| e.to_string()));
        if let Err(why) = written {
            let file = plan.file.display();
            self.trouble =
                Some(format!("the checkpoint `{file}` could not be written: {why}; an older one is as it was"));
        }
        self.last_written = Instant::now();
    }

    /// Remarks for users on the checkpoints of the run.
    pub fn trouble(&self) -> Option<&str> {
        self.trouble.as_deref()
    }
}

/// The lock of a checkpoint file, which one run writes at a time.
fn locked(file: &Path) -> Result<Lock, String> {
    let file_name = file.display();
    let taken = Lock::take(file).map_err(|e| format!("cannot lock the checkpoint `{file_name}`: {e}"))?;
    taken.ok_or_else(|| {
        format!(
            "another run writes the checkpoint `{file_name}` at this moment\n  hint: name another file with --checkpoint file=FILE, or wait for its end"
        )
    })
}

fn unusable(path: &Path, why: &Mismatch) -> String {
    format!("the run does not come back to the checkpoint `{}`: {why}", path.display())
}

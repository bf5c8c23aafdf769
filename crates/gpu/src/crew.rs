//! Host threads that share the tasks of each window.
//!
//! Which thread does which task changes nothing that is simulated: a task touches only what is its own. Threads that
//! have nothing to do wait for some microseconds, since the next window usually comes sooner, and sleep then.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// The host threads that simulations have together: those that run at the same time share them.
#[derive(Clone, Debug)]
pub struct HostThreads {
    total: usize,
    running: Arc<AtomicUsize>,
    order: Option<u64>,
}

impl HostThreads {
    /// `total` threads, at least one.
    pub fn new(total: usize) -> Self {
        Self { total: total.max(1), running: Arc::default(), order: None }
    }

    /// As many as the host has processors.
    pub fn all() -> Self {
        Self::new(std::thread::available_parallelism().map_or(1, usize::from))
    }

    /// The same threads, which do the parts of each window in an order drawn from `seed`: for tests, as results do not
    /// depend on it.
    pub fn shuffled(self, seed: u64) -> Self {
        Self { order: Some(seed), ..self }
    }

    /// The seed of the order of work, if it is drawn.
    pub(crate) fn order(&self) -> Option<u64> {
        self.order
    }

    /// Their number.
    pub fn total(&self) -> usize {
        self.total
    }

    /// A simulation runs as long as the returned value exists.
    pub(crate) fn enter(&self) -> Share<'_> {
        let running = self.running.fetch_add(1, Ordering::SeqCst) + 1;
        Share { threads: (self.total / running).max(1), of: self }
    }
}

impl Default for HostThreads {
    /// One thread.
    fn default() -> Self {
        Self::new(1)
    }
}

/// A simulation's part of the threads.
pub(crate) struct Share<'a> {
    pub threads: usize,
    of: &'a HostThreads,
}

impl Drop for Share<'_> {
    fn drop(&mut self) {
        self.of.running.fetch_sub(1, Ordering::SeqCst);
    }
}

/// How long a thread waits without sleeping.
const AWAKE: Duration = Duration::from_micros(20);

/// A round of tasks that took less than this is not worth waking anybody: the next one is done by the calling thread.
const WORTH_SHARING: Duration = Duration::from_micros(30);

/// What a thread waits for: a number that changes, and where it sleeps until then.
#[derive(Default)]
struct Signal {
    value: AtomicU64,
    asleep: Mutex<usize>,
    changed: Condvar,
}

impl Signal {
    fn lock(&self) -> MutexGuard<'_, usize> {
        self.asleep.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds one, and wakes who sleeps.
    fn add(&self) {
        self.value.fetch_add(1, Ordering::SeqCst);
        if *self.lock() > 0 {
            self.changed.notify_all();
        }
    }

    /// Waits until `holds` of the value; returns the value.
    fn wait(&self, holds: impl Fn(u64) -> bool) -> u64 {
        let value = || Some(self.value.load(Ordering::SeqCst)).filter(|&value| holds(value));
        let begin = Instant::now();
        while begin.elapsed() < AWAKE {
            for _ in 0..64 {
                if let Some(value) = value() {
                    return value;
                }
                std::hint::spin_loop();
            }
        }
        let mut asleep = self.lock();
        *asleep += 1;
        loop {
            if let Some(value) = value() {
                *asleep -= 1;
                return value;
            }
            asleep = self.changed.wait(asleep).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

/// What the threads of a run have in common.
struct Board<'a> {
    helpers: usize,
    task: &'a (dyn Fn(usize) + Sync),
    /// Number of the present round of tasks.
    round: Signal,
    tasks: AtomicUsize,
    next: AtomicUsize,
    /// Rounds that helpers have ended, added up.
    ended: Signal,
    stop: AtomicBool,
    panicked: AtomicBool,
}

impl Board<'_> {
    /// The life of a helper.
    fn help(&self) {
        /// Counts the round as ended, also after a panic, which the calling thread passes on.
        struct Ending<'a>(&'a Board<'a>);
        impl Drop for Ending<'_> {
            fn drop(&mut self) {
                if std::thread::panicking() {
                    self.0.panicked.store(true, Ordering::SeqCst);
                }
                self.0.ended.add();
            }
        }
        let mut seen = 0;
        loop {
            seen = self.round.wait(|round| round > seen);
            if self.stop.load(Ordering::SeqCst) {
                return;
            }
            let ending = Ending(self);
            self.take_tasks();
            drop(ending);
        }
    }

    fn take_tasks(&self) {
        let tasks = self.tasks.load(Ordering::SeqCst);
        loop {
            let task = self.next.fetch_add(1, Ordering::SeqCst);
            if task >= tasks {
                return;
            }
            (self.task)(task);
        }
    }

    /// All threads do the tasks `0..tasks`.
    fn share(&self, tasks: usize) {
        self.tasks.store(tasks, Ordering::SeqCst);
        self.next.store(0, Ordering::SeqCst);
        let before = self.ended.value.load(Ordering::SeqCst);
        self.round.add();
        self.take_tasks();
        self.ended.wait(|ended| ended == before + self.helpers as u64);
        assert!(!self.panicked.load(Ordering::SeqCst), "a thread of the simulation has panicked");
    }
}

/// The calling thread, and those that help it from the first round on that is worth it.
pub(crate) struct Crew<'a> {
    board: &'a Board<'a>,
    /// Starts the helpers.
    start: &'a dyn Fn(),
    has_started: Cell<bool>,
    /// Every round is shared, however short.
    always: bool,
    /// How long the last round took.
    last: Cell<Duration>,
}

impl Crew<'_> {
    /// Calls `work` with a crew of `threads` threads, the calling one among them, that do `task`s by their numbers. Short
    /// rounds of tasks are shared only if `always`.
    pub fn with<R>(
        threads: usize,
        always: bool,
        task: &(dyn Fn(usize) + Sync),
        work: impl FnOnce(&Crew<'_>) -> R,
    ) -> R {
        let board = Board {
            helpers: threads.saturating_sub(1),
            task,
            round: Signal::default(),
            tasks: AtomicUsize::new(0),
            next: AtomicUsize::new(0),
            ended: Signal::default(),
            stop: AtomicBool::new(false),
            panicked: AtomicBool::new(false),
        };
        let board = &board;
        std::thread::scope(|scope| {
            let start = || (0..board.helpers).for_each(|_| drop(scope.spawn(|| board.help())));
            let (has_started, last) = (Cell::new(false), Cell::new(Duration::ZERO));
            let crew = Crew { board, start: &start, has_started, always, last };
            // Helpers end after a panic, too, else the scope would wait for them.
            let result = catch_unwind(AssertUnwindSafe(|| work(&crew)));
            board.stop.store(true, Ordering::SeqCst);
            board.round.add();
            result.unwrap_or_else(|panic| resume_unwind(panic))
        })
    }

    /// Does the tasks `0..tasks`. Those with low numbers begin first.
    pub fn run(&self, tasks: usize) {
        if self.board.helpers == 0 {
            (0..tasks).for_each(self.board.task);
            return;
        }
        let begin = Instant::now();
        if tasks < 2 || self.last.get() < WORTH_SHARING && !self.always {
            (0..tasks).for_each(self.board.task);
        } else {
            if !self.has_started.replace(true) {
                (self.start)();
            }
            self.board.share(tasks);
        }
        self.last.set(begin.elapsed());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_task_of_each_round_is_done_once() {
        for threads in [1, 2, 5] {
            let done: Vec<AtomicUsize> = (0..40).map(|_| AtomicUsize::new(0)).collect();
            let task = |i: usize| _ = done[i].fetch_add(1, Ordering::SeqCst);
            Crew::with(threads, true, &task, |crew| {
                for round in 0..200 {
                    crew.run(round % 41);
                    if round % 50 == 0 {
                        // Long enough for helpers to fall asleep.
                        std::thread::sleep(Duration::from_millis(1));
                    }
                }
            });
            let expected = |i: usize| (0..200).filter(|round| i < round % 41).count();
            for (i, done) in done.iter().enumerate() {
                assert_eq!(done.load(Ordering::SeqCst), expected(i), "task {i}, {threads} threads");
            }
        }
    }

    #[test]
    fn simulations_share_the_threads() {
        let threads = HostThreads::new(5);
        let first = threads.enter();
        let others = threads.clone();
        let second = others.enter();
        assert_eq!((first.threads, second.threads, others.enter().threads), (5, 2, 1));
        drop((first, second));
        assert_eq!(threads.enter().threads, 5);
    }

    #[test]
    fn a_panic_of_any_thread_reaches_the_caller() {
        for threads in [1, 3] {
            let task = |i: usize| assert_ne!(i, 7);
            let outcome = catch_unwind(|| Crew::with(threads, true, &task, |crew| crew.run(20)));
            assert!(outcome.is_err());
        }
    }
}

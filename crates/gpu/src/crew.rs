//! Host threads that share the tasks of each window.
//!
//! Which thread does which task changes nothing that is simulated: a task touches only what is its own. Threads that
//! have nothing to do wait for some microseconds, since the next window usually comes sooner, and sleep then.

use crate::scaling::{Scaling, WORTH_SHARING};
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
    scaling: Option<Arc<Mutex<Scaling>>>,
}

impl HostThreads {
    /// `total` threads, at least one.
    pub fn new(total: usize) -> Self {
        Self { total: total.max(1), running: Arc::default(), order: None, scaling: None }
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

    /// One thread, which measures how long the parts of each window take.
    pub fn measuring() -> Self {
        Self { scaling: Some(Arc::default()), ..Self::new(1) }
    }

    /// Measurements, if there are any.
    pub fn scaling(&self) -> Option<Scaling> {
        Some(self.measure()?.lock().unwrap_or_else(PoisonError::into_inner).clone())
    }

    /// Meter of the tasks, if there is one.
    pub(crate) fn measure(&self) -> Option<&Mutex<Scaling>> {
        self.scaling.as_deref()
    }

    /// The seed of the order of work, if it is drawn.
    pub(crate) fn order(&self) -> Option<u64> {
        self.order
    }

    /// Their number.
    pub fn total(&self) -> usize {
        self.total
    }

    /// How many of them another simulation would have now.
    pub fn share(&self) -> usize {
        (self.total / (self.running.load(Ordering::SeqCst) + 1)).max(1)
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

/// Event that a thread waits for: a number that changes, and where it sleeps until then.
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

/// The tasks of a round: number of the round, how many tasks it has, and the next one, in one word, so that a thread that
/// comes late takes none of another round.
#[derive(Default)]
struct Round(AtomicU64);

impl Round {
    /// Bits of a number of tasks.
    const BITS: u32 = 20;

    /// Begins a round. No task of the one before is left.
    fn begin(&self, tasks: usize) {
        let number = (self.0.load(Ordering::SeqCst) >> (2 * Self::BITS)).wrapping_add(1);
        self.0.store((number << Self::BITS | tasks as u64) << Self::BITS, Ordering::SeqCst);
    }

    /// Takes the next task.
    fn take(&self) -> Option<usize> {
        let part = |state: u64| state & ((1 << Self::BITS) - 1);
        let next = |state: u64| Some(part(state) as usize).filter(|_| part(state) < part(state >> Self::BITS));
        next(self.0.load(Ordering::SeqCst))?;
        next(self.0.fetch_add(1, Ordering::SeqCst))
    }
}

/// The tasks of a run.
pub(crate) trait Work: Sync {
    /// Task number `task` of the present round.
    fn task(&self, task: usize);
    /// Task number `task` of a window that is done beside its rounds.
    fn aside(&self, task: usize);
    /// Work that follows when all of these are done.
    fn after_asides(&self);
}

/// State that the threads of a run share.
struct Board<'a> {
    helpers: usize,
    work: &'a dyn Work,
    /// Changes when there is something to do.
    call: Signal,
    round: Round,
    /// The tasks beside the rounds, and how many of them are not done.
    asides: Round,
    asides_left: AtomicUsize,
    /// Tasks of rounds that have been done, and tasks beside them, each added up.
    done: Signal,
    asides_done: Signal,
    stop: AtomicBool,
    panicked: AtomicBool,
}

impl Board<'_> {
    /// The life of a helper.
    fn help(&self) {
        let mut seen = 0;
        loop {
            seen = self.call.wait(|call| call > seen);
            if self.stop.load(Ordering::SeqCst) {
                return;
            }
            // Asides first: the window's end waits for them. Tasks fill the rest.
            self.take_asides();
            self.take_tasks();
        }
    }

    fn take_tasks(&self) {
        while let Some(task) = self.round.take() {
            self.count(&self.done, || self.work.task(task));
        }
    }

    /// Does tasks beside the rounds that no other thread has taken. Who does the last one does what follows.
    fn take_asides(&self) {
        while let Some(task) = self.asides.take() {
            self.count(&self.asides_done, || {
                self.work.aside(task);
                if self.asides_left.fetch_sub(1, Ordering::SeqCst) == 1 {
                    self.work.after_asides();
                }
            });
        }
    }

    /// Does `task`, and counts it as done also if it panics, which the calling thread passes on.
    fn count(&self, done: &Signal, task: impl FnOnce()) {
        struct Ending<'a>(&'a AtomicBool, &'a Signal);
        impl Drop for Ending<'_> {
            fn drop(&mut self) {
                if std::thread::panicking() {
                    self.0.store(true, Ordering::SeqCst);
                }
                self.1.add();
            }
        }
        let _ending = Ending(&self.panicked, done);
        task();
    }

    fn pass_on_panics(&self) {
        assert!(!self.panicked.load(Ordering::SeqCst), "a thread of the simulation has panicked");
    }
}

/// The calling thread, and those that help it from the first window on that is worth it.
pub(crate) struct Crew<'a> {
    board: &'a Board<'a>,
    /// Starts the helpers.
    start: &'a dyn Fn(),
    has_started: Cell<bool>,
    /// Every round is shared, however short.
    always: bool,
    /// How long the last round took, of the first ones of windows and of others.
    last: [Cell<Duration>; 2],
    /// Tasks of rounds that the threads have been given, and tasks beside them.
    given: Cell<u64>,
    asides: Cell<u64>,
    measure: Option<&'a Mutex<Scaling>>,
}

impl Crew<'_> {
    /// Calls `run` with a crew of `threads` threads, the calling one among them, that do `work`. Short rounds of tasks are
    /// shared only if `always`. With `measure` there is one thread, whose tasks are measured.
    pub fn with<R>(
        threads: usize,
        always: bool,
        measure: Option<&Mutex<Scaling>>,
        work: &dyn Work,
        run: impl FnOnce(&Crew<'_>) -> R,
    ) -> R {
        let board = Board {
            helpers: if measure.is_some() { 0 } else { threads.saturating_sub(1) },
            work,
            call: Signal::default(),
            round: Round::default(),
            asides: Round::default(),
            asides_left: AtomicUsize::new(0),
            done: Signal::default(),
            asides_done: Signal::default(),
            stop: AtomicBool::new(false),
            panicked: AtomicBool::new(false),
        };
        let board = &board;
        std::thread::scope(|scope| {
            // A process that may have no more threads, or is about to end, works with fewer.
            let helper = || std::thread::Builder::new().spawn_scoped(scope, || board.help()).is_ok();
            let start = || _ = (0..board.helpers).take_while(|_| helper()).count();
            let (has_started, last) = (Cell::new(false), Default::default());
            let (given, asides) = (Cell::new(0), Cell::new(0));
            let crew = Crew { board, start: &start, has_started, always, last, given, asides, measure };
            // Helpers end after a panic, too, else the scope would wait for them.
            let result = catch_unwind(AssertUnwindSafe(|| run(&crew)));
            board.stop.store(true, Ordering::SeqCst);
            board.call.add();
            result.unwrap_or_else(|panic| resume_unwind(panic))
        })
    }

    /// A window begins, with `asides` tasks beside its rounds. [`Crew::end_window`] follows.
    pub fn begin_window(&self, asides: usize) {
        if asides > 0 {
            self.asides.set(self.asides.get() + asides as u64);
            self.board.asides_left.store(asides, Ordering::SeqCst);
            self.board.asides.begin(asides);
            if self.is_worth_sharing(true) {
                self.call();
            }
        }
    }

    /// Does the tasks `0..tasks`, in the first round of the window or in another one. Those with low numbers begin first.
    pub fn run(&self, tasks: usize, is_first: bool) {
        if let Some(measure) = self.measure {
            let mut scaling = measure.lock().unwrap_or_else(PoisonError::into_inner);
            return scaling.round(tasks, is_first, &|task| self.board.work.task(task));
        }
        let board = self.board;
        if board.helpers == 0 {
            return (0..tasks).for_each(|task| board.work.task(task));
        }
        let begin = Instant::now();
        if tasks < 2 || !self.is_worth_sharing(is_first) {
            (0..tasks).for_each(|task| board.work.task(task));
        } else {
            board.round.begin(tasks);
            self.call();
            board.take_tasks();
            self.given.set(self.given.get() + tasks as u64);
            board.done.wait(|done| done == self.given.get());
            board.pass_on_panics();
        }
        self.last[usize::from(is_first)].set(begin.elapsed());
    }

    /// All of the window is done when this returns.
    pub fn end_window(&self) {
        let board = self.board;
        if let Some(measure) = self.measure {
            let mut scaling = measure.lock().unwrap_or_else(PoisonError::into_inner);
            let asides = std::iter::from_fn(|| board.asides.take());
            return scaling.end_window(asides, &|task| board.work.aside(task), &|| board.work.after_asides());
        }
        board.take_asides();
        board.asides_done.wait(|done| done == self.asides.get());
        board.pass_on_panics();
    }

    /// Whether a round, the first of a window or another one, takes so long that helpers are called.
    fn is_worth_sharing(&self, is_first: bool) -> bool {
        self.board.helpers > 0 && (self.always || self.last[usize::from(is_first)].get() >= WORTH_SHARING)
    }

    fn call(&self) {
        if !self.has_started.replace(true) {
            (self.start)();
        }
        self.board.call.add();
    }
}

/// Tasks without work.
struct Nothing;

impl Work for Nothing {
    fn task(&self, _: usize) {}
    fn aside(&self, _: usize) {}
    fn after_asides(&self) {}
}

/// Cost on this host of sharing a round with a second thread, measured on rounds without work.
pub fn handover() -> Duration {
    const ROUNDS: u32 = 10_000;
    let mut time = Duration::ZERO;
    Crew::with(2, true, None, &Nothing, |crew| {
        crew.run(2, true);
        let begin = Instant::now();
        (0..ROUNDS).for_each(|_| crew.run(2, true));
        time = begin.elapsed() / ROUNDS;
    });
    time
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Calls a function with the number of each task.
    struct Calls<F>(F);

    /// The numbers of the tasks beside rounds, and of what follows.
    const ASIDE: usize = 1000;
    const AFTER: usize = 1010;

    impl<F: Fn(usize) + Sync> Work for Calls<F> {
        fn task(&self, task: usize) {
            (self.0)(task);
        }

        fn aside(&self, task: usize) {
            (self.0)(ASIDE + task);
        }

        fn after_asides(&self) {
            (self.0)(AFTER);
        }
    }

    #[test]
    fn each_task_of_each_round_is_done_once() {
        for threads in [1, 2, 5] {
            let done: Vec<AtomicUsize> = (0..=AFTER).map(|_| AtomicUsize::new(0)).collect();
            let work = Calls(|i: usize| _ = done[i].fetch_add(1, Ordering::SeqCst));
            Crew::with(threads, true, None, &work, |crew| {
                for window in 0..200 {
                    crew.begin_window(window % 3 * 4);
                    for round in 0..3 {
                        crew.run((window + round) % 41, round == 0);
                    }
                    crew.end_window();
                    let with_aside = |aside| (0..=window).filter(|window| window % 3 * 4 > aside).count();
                    for aside in 0..8 {
                        let done = done[ASIDE + aside].load(Ordering::SeqCst);
                        assert_eq!(done, with_aside(aside), "window {window}, {threads} threads, task {aside}");
                    }
                    assert_eq!(done[AFTER].load(Ordering::SeqCst), with_aside(0), "window {window}, {threads} threads");
                    if window % 50 == 0 {
                        // Long enough for helpers to fall asleep.
                        std::thread::sleep(Duration::from_millis(1));
                    }
                }
            });
            let rounds = || (0..200).flat_map(|window| (0..3).map(move |round| (window + round) % 41));
            for (i, done) in done.iter().enumerate().take(40) {
                let expected = rounds().filter(|&tasks| i < tasks).count();
                assert_eq!(done.load(Ordering::SeqCst), expected, "task {i}, {threads} threads");
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
            for bad in [7, ASIDE, ASIDE + 2, AFTER] {
                let work = Calls(|i: usize| assert_ne!(i, bad));
                let outcome = catch_unwind(|| {
                    Crew::with(threads, true, None, &work, |crew| {
                        crew.begin_window(3);
                        crew.run(20, true);
                        crew.end_window();
                    });
                });
                assert!(outcome.is_err(), "{bad} on {threads} threads");
            }
        }
    }
}

//! How long a run would take on more host threads than it has: what its tasks took on one, and how they could be shared.
//!
//! In each round of tasks (a window has one, or several where units pause) a thread takes the next task when it has done
//! its last one; the parts of the memory system are done beside the rounds. The calling thread does the rest alone: exchange, merge,
//! dispatch. Deviations from a host with that many processors: tasks take as long there as one after the other here, with
//! all caches and the memory for themselves. The cost of sharing a round is measured with two threads, and each further
//! one adds its part of that.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::time::{Duration, Instant};

/// A round of tasks that took less than this is not worth waking anybody: the next one is done by the calling thread.
pub(crate) const WORTH_SHARING: Duration = Duration::from_micros(30);

/// Numbers of threads for which a run is predicted.
pub const PREDICTED: [usize; 7] = [1, 2, 4, 8, 16, 32, 64];

/// Time of a run on one thread, and prediction for several.
#[derive(Clone, Debug, Default)]
pub struct Scaling {
    /// Outside tasks.
    alone: Duration,
    /// In windows: for each number of threads.
    windows: [Duration; PREDICTED.len()],
    /// Rounds that would be shared.
    shared: u64,
    /// All tasks, and the memory system's among them.
    tasks: Duration,
    memory: Duration,
    /// The rounds of the present window: the times of their tasks, and whether they would be shared.
    rounds: Vec<(Vec<Duration>, bool)>,
    /// How long the last round took, of those that are not the first of their window and of those that are.
    last: [Duration; 2],
    /// Nothing was measured since then.
    idle_since: Option<Instant>,
}

/// A prediction of [`Scaling`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Prediction {
    /// Host threads.
    pub threads: usize,
    /// Wall-clock time of the simulation in seconds.
    pub seconds: f64,
}

impl Scaling {
    /// The run begins or continues.
    pub(crate) fn begin(&mut self) {
        self.idle_since = Some(Instant::now());
    }

    /// The run ends, or pauses.
    pub(crate) fn end(&mut self) {
        self.alone += self.idle_since.take().map_or(Duration::ZERO, |since| since.elapsed());
    }

    /// Does the tasks `0..tasks` one after the other.
    pub(crate) fn round(&mut self, tasks: usize, is_first: bool, task: &dyn Fn(usize)) {
        self.end();
        let times: Vec<Duration> = (0..tasks).map(|number| time_of(|| task(number))).collect();
        let sum: Duration = times.iter().sum();
        self.tasks += sum;
        // As the crew decides.
        let last = std::mem::replace(&mut self.last[usize::from(is_first)], sum);
        let is_shared = tasks > 1 && last >= WORTH_SHARING;
        self.shared += u64::from(is_shared);
        self.rounds.push((times, is_shared));
        self.begin();
    }

    /// Ends the window, with the tasks beside its rounds, and with what follows them.
    pub(crate) fn end_window(&mut self, asides: impl Iterator<Item = usize>, aside: &dyn Fn(usize), after: &dyn Fn()) {
        self.end();
        let asides: Vec<Duration> = asides.map(|task| time_of(|| aside(task))).collect();
        let after = if asides.is_empty() { Duration::ZERO } else { time_of(after) };
        let memory = asides.iter().sum::<Duration>() + after;
        self.tasks += memory;
        self.memory += memory;
        for (time, threads) in self.windows.iter_mut().zip(PREDICTED) {
            *time += makespan(&self.rounds, &asides, after, threads);
        }
        self.rounds.clear();
        self.begin();
    }

    /// Seconds outside tasks: what one thread does between rounds.
    pub fn alone_seconds(&self) -> f64 {
        self.alone.as_secs_f64()
    }

    /// Seconds in tasks.
    pub fn task_seconds(&self) -> f64 {
        self.tasks.as_secs_f64()
    }

    /// Seconds in the memory system.
    pub fn memory_seconds(&self) -> f64 {
        self.memory.as_secs_f64()
    }

    /// The time on each number of threads, where sharing a round costs two threads `handover`.
    pub fn predictions(&self, handover: Duration) -> Vec<Prediction> {
        let predict = |(&windows, threads): (&Duration, usize)| {
            let shares = self.shared as f64 * handover.as_secs_f64() * (threads - 1) as f64;
            Prediction { threads, seconds: (self.alone + windows).as_secs_f64() + shares }
        };
        self.windows.iter().zip(PREDICTED).map(predict).collect()
    }
}

fn time_of(task: impl FnOnce()) -> Duration {
    let begin = Instant::now();
    task();
    begin.elapsed()
}

/// How long a window takes on `threads` threads that take the next task each. Helping threads take the tasks beside the
/// rounds first, if any round is shared, the calling one when it has done its rounds; `after` follows the last of them.
fn makespan(rounds: &[(Vec<Duration>, bool)], asides: &[Duration], after: Duration, threads: usize) -> Duration {
    let mut asides = asides.iter().copied();
    let mut asides_end = Duration::ZERO;
    // When each helping thread is free.
    let helping = if rounds.iter().any(|(_, is_shared)| *is_shared) { threads - 1 } else { 0 };
    let mut helpers: BinaryHeap<_> = vec![Reverse(Duration::ZERO); helping].into();
    let mut now = Duration::ZERO;
    for (times, is_shared) in rounds {
        let (mut tasks, mut caller, mut end) = (times.iter(), now, now);
        while tasks.len() > 0 {
            let helper = helpers.peek().map(|&Reverse(free)| free).filter(|&free| free < caller && *is_shared);
            let Some(free) = helper else {
                caller += *tasks.next().unwrap_or(&Duration::ZERO);
                end = end.max(caller);
                continue;
            };
            helpers.pop();
            let done = if let Some(aside) = asides.next() {
                asides_end = asides_end.max(free + aside);
                free + aside
            } else {
                let done = free.max(now) + *tasks.next().unwrap_or(&Duration::ZERO);
                end = end.max(done);
                done
            };
            helpers.push(Reverse(done));
        }
        now = end;
    }
    let mut free = helpers;
    free.push(Reverse(now));
    for aside in asides {
        let Reverse(start) = free.pop().unwrap_or_default();
        asides_end = asides_end.max(start + aside);
        free.push(Reverse(start + aside));
    }
    now.max(asides_end + after)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_take_the_next_task_when_they_have_done_their_last() {
        let us = Duration::from_micros;
        let round = |times: &[u64]| (times.iter().map(|&time| us(time)).collect(), true);
        let on = |rounds: &[(Vec<Duration>, bool)], aside, threads| {
            makespan(rounds, &[us(aside)], us(0), threads).as_micros()
        };
        let one = [round(&[5, 3, 3, 2, 4])];
        assert_eq!([1, 2, 3, 5, 64].map(|threads| on(&one, 0, threads)), [17, 10, 7, 5, 5]);
        assert_eq!([1, 2].map(|threads| on(&[], 4, threads)), [4, 4]);
        // The second thread does the task beside first.
        assert_eq!([1, 2, 64].map(|threads| on(&one, 9, threads)), [26, 15, 9]);
        // The calling thread helps with what is left at the end.
        let parts = |threads| makespan(&one, &[us(6), us(6), us(6)], us(1), threads).as_micros();
        assert_eq!([1, 2, 3, 64].map(parts), [36, 19, 13, 7]);
        let two = [round(&[5, 3, 3, 2, 4]), round(&[2, 2])];
        assert_eq!([1, 2, 3].map(|threads| on(&two, 9, threads)), [30, 17, 12]);
    }

    #[test]
    fn predictions_add_what_one_thread_does_alone() {
        let ms = Duration::from_millis;
        let mut scaling = Scaling { alone: ms(10), shared: 100, ..Scaling::default() };
        scaling.windows = [80, 40, 20, 20, 20, 20, 20].map(ms);
        let seconds: Vec<f64> = scaling.predictions(Duration::from_micros(10)).iter().map(|p| p.seconds).collect();
        let expected = [0.090, 0.051, 0.033, 0.037, 0.045, 0.061, 0.093];
        assert!(seconds.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-9), "{seconds:?}");
    }
}

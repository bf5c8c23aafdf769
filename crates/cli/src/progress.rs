//! Progress on standard error: only on a terminal, only for work that takes more than a moment.

use crate::live::Live;
use crate::render::number;
use crate::{interrupt, output, preparation};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use lab::{Monitor, Progress};
use std::io::IsTerminal;
use std::ops::ControlFlow;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Work that takes less shows no progress.
const SILENT: Duration = Duration::from_secs(1);

fn wanted(quiet: bool) -> bool {
    !quiet && std::io::stderr().is_terminal()
}

fn style(template: &str) -> ProgressStyle {
    ProgressStyle::with_template(template).expect("the template is well-formed").progress_chars("=> ")
}

/// Watches one run: shows how far it has come and ends it at Ctrl-C.
pub struct Watch {
    wanted: bool,
    begin: Instant,
    bar: Option<ProgressBar>,
    /// The launch shown, and when it was first reported: the time left is estimated for the launch.
    launch: Option<(u32, Instant)>,
    /// A view of several lines, if that is shown.
    live: Option<Live>,
}

impl Watch {
    /// Watches a run that begins now.
    pub fn new(quiet: bool) -> Self {
        Self { wanted: wanted(quiet), begin: Instant::now(), bar: None, launch: None, live: None }
    }

    /// The same with a view of several lines, if `live`.
    pub fn live(mut self, live: bool) -> Self {
        self.live = live.then(Live::default);
        self
    }

    fn show(&mut self, progress: &Progress) {
        let since = match self.launch {
            Some((launch, since)) if launch == progress.kernels_done => since,
            _ => self.launch.insert((progress.kernels_done, Instant::now())).1,
        };
        if let Some(live) = &mut self.live {
            live.add(progress);
        } else if self.begin.elapsed() < SILENT {
            return;
        }
        let template = if self.live.is_some() { "{bar:40}\n{msg}" } else { "{bar:12} {wide_msg}" };
        let bar = self.bar.get_or_insert_with(|| {
            let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
            bar.set_style(style(template));
            bar
        });
        bar.set_length(progress.ctas_total);
        bar.set_position(progress.ctas_done);
        let line = message(progress, self.begin.elapsed(), since.elapsed());
        bar.set_message(self.live.as_ref().map_or(line.clone(), |live| live.view(&line, progress)));
    }
}

impl Monitor for Watch {
    fn progress(&mut self, progress: &Progress) -> ControlFlow<()> {
        if self.wanted {
            self.show(progress);
        }
        preparation::end();
        if interrupt::requested() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }

    fn wants_details(&self) -> bool {
        self.wanted && self.live.is_some()
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        preparation::end();
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

/// The text for a run that began `run` ago and whose present launch began `launch` ago.
fn message(progress: &Progress, run: Duration, launch: Duration) -> String {
    let rate = progress.cycles as f64 / run.as_secs_f64().max(1e-9);
    let all = progress.kernels_total.map_or(String::new(), |all| format!(" of {all}"));
    let mut out = format!(
        "{} #{}{all}  {}/{} CTAs",
        name(&progress.kernel),
        progress.kernels_done,
        number::count(progress.ctas_done),
        number::count(progress.ctas_total),
    );
    if let Some(left) = progress.share_done.and_then(|share| run_left(share, run)) {
        out += &format!("  {} left", number::about_seconds(left));
    } else if let Some(left) = time_left(progress, launch) {
        out += &format!("  {} left in kernel", number::about_seconds(left));
    }
    // Last, because narrow terminals cut off the end.
    out + &format!("  cycle {}  {} cycles/s", number::count(progress.cycles), number::short(rate))
}

/// A kernel's name as far as there is room.
fn name(kernel: &str) -> String {
    const MOST: usize = 24;
    let more = if kernel.chars().nth(MOST).is_some() { "…" } else { "" };
    kit::text::visible(&kernel.chars().take(MOST).collect::<String>()).into_owned() + more
}

/// Seconds left in a run of which `share` is done after `run`, with CTAs of equal length.
fn run_left(share: f64, run: Duration) -> Option<f64> {
    (share > 0.0 && share <= 1.0).then(|| run.as_secs_f64() * (1.0 - share) / share)
}

/// Seconds left in the present launch, with CTAs of equal length.
fn time_left(progress: &Progress, launch: Duration) -> Option<f64> {
    let left = progress.ctas_total.checked_sub(progress.ctas_done)?;
    (progress.ctas_done > 0).then(|| launch.as_secs_f64() * left as f64 / progress.ctas_done as f64)
}

/// Watches the parts of work that simulates nothing.
#[derive(Debug)]
pub struct Parts {
    bar: ProgressBar,
    begin: Instant,
}

impl Parts {
    /// Watches `number` parts, each a `unit`.
    pub fn new(number: usize, unit: &str) -> Self {
        let bar = ProgressBar::with_draw_target(Some(number as u64), ProgressDrawTarget::hidden());
        bar.set_style(style(&format!("{{bar:12}} {{pos}}/{{len}} {unit}  about {{eta}} left")));
        Self { bar, begin: Instant::now() }
    }

    /// One of them begins.
    pub fn begin(&self) {
        if self.bar.is_hidden() && wanted(false) && self.begin.elapsed() >= SILENT {
            self.bar.set_draw_target(ProgressDrawTarget::stderr());
        }
        self.bar.inc(1);
    }
}

impl Drop for Parts {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}

/// Watches several runs at once.
pub struct Board {
    bar: Option<ProgressBar>,
    begin: Instant,
    shown: Mutex<bool>,
    cycles: AtomicU64,
    /// Sum of the shares that are done of the runs under way, in millionths.
    under_way: AtomicU64,
}

/// One run, in the unit of shares.
const WHOLE: u64 = 1_000_000;

impl Board {
    /// Watches `runs` runs that begin now.
    pub fn new(quiet: bool, runs: usize) -> Self {
        let bar = wanted(quiet).then(|| {
            let bar = ProgressBar::with_draw_target(Some(runs as u64), ProgressDrawTarget::hidden());
            bar.set_style(style("{bar:12} {pos}/{len} runs  {wide_msg}"));
            bar
        });
        Self {
            bar,
            begin: Instant::now(),
            shown: Mutex::new(false),
            cycles: AtomicU64::new(0),
            under_way: AtomicU64::new(0),
        }
    }

    /// Watches one of the runs.
    pub fn watch(&self) -> BoardWatch<'_> {
        BoardWatch { board: self, cycles: 0, share: 0 }
    }

    fn update(&self) {
        let Some(bar) = &self.bar else { return };
        let elapsed = self.begin.elapsed();
        if elapsed < SILENT {
            return;
        }
        let mut shown = self.shown.lock().unwrap_or_else(|e| e.into_inner());
        if !*shown {
            bar.set_draw_target(ProgressDrawTarget::stderr());
            *shown = true;
        }
        let rate = self.cycles.load(Ordering::Relaxed) as f64 / elapsed.as_secs_f64();
        let mut text = format!("{} cycles/s", number::short(rate));
        let under_way = self.under_way.load(Ordering::Relaxed);
        if let Some(left) = board_left(bar.position(), under_way, bar.length().unwrap_or(0), elapsed) {
            text += &format!("  about {} left", number::about_seconds(left));
        }
        bar.set_message(text);
    }
}

impl Drop for Board {
    fn drop(&mut self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

/// Seconds left where after `elapsed` `done` of `all` runs have ended, and `under_way` millionths of runs beside them,
/// with runs of equal length; `None` while less than a hundredth of a run is done.
fn board_left(done: u64, under_way: u64, all: u64, elapsed: Duration) -> Option<f64> {
    let (done, all) = ((done * WHOLE + under_way) as f64, (all * WHOLE) as f64);
    (done >= WHOLE as f64 / 100.0 && done < all).then(|| elapsed.as_secs_f64() * (all - done) / done)
}

impl experiment::runs::Watch for Board {
    fn begin(&self) -> Box<dyn Monitor + '_> {
        Box::new(self.watch())
    }

    fn cannot_keep(&self, why: &str) {
        output::remark(&format!("{why}\n"));
    }
}

/// Progress of a run, in millionths: by its CTAs if their number is known, else by its first launch's;
/// `before` where neither says.
fn share(progress: &Progress, before: u64) -> u64 {
    let of_launch = || {
        let is_first = progress.kernels_done == 0 && progress.ctas_total > 0;
        is_first.then(|| progress.ctas_done as f64 / progress.ctas_total as f64)
    };
    let share = progress.share_done.or_else(of_launch).filter(|share| (0.0..=1.0).contains(share));
    share.map_or(before, |share| (share * WHOLE as f64) as u64)
}

/// Watches one of several runs; done when dropped.
pub struct BoardWatch<'a> {
    board: &'a Board,
    cycles: u64,
    /// This run's share of the board.
    share: u64,
}

impl BoardWatch<'_> {
    /// Tells the board that this run has come to `share`.
    fn come_to(&mut self, share: u64) {
        // Wraps where a share falls; the sum is right again.
        self.board.under_way.fetch_add(share.wrapping_sub(self.share), Ordering::Relaxed);
        self.share = share;
    }
}

impl Monitor for BoardWatch<'_> {
    fn progress(&mut self, progress: &Progress) -> ControlFlow<()> {
        self.board.cycles.fetch_add(progress.cycles.saturating_sub(self.cycles), Ordering::Relaxed);
        self.cycles = progress.cycles;
        self.come_to(share(progress, self.share));
        self.board.update();
        preparation::end();
        if interrupt::requested() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }
}

impl Drop for BoardWatch<'_> {
    fn drop(&mut self) {
        preparation::end();
        self.come_to(0);
        if let Some(bar) = &self.board.bar {
            bar.inc(1);
        }
        self.board.update();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn quarter_done() -> Progress {
        Progress {
            kernel: "matmul".into(),
            kernels_done: 2,
            kernels_total: None,
            share_done: None,
            ctas_done: 16,
            ctas_total: 64,
            cycles: 1_500_000,
            warp_instructions: 9_000_000,
            details: None,
        }
    }

    #[test]
    fn says_how_far_and_how_long() {
        let text = message(&quarter_done(), Duration::from_secs(3), Duration::from_secs(2));
        assert_eq!(text, "matmul #2  16/64 CTAs  6 s left in kernel  cycle 1,500,000  500 k cycles/s");
    }

    #[test]
    fn of_a_trace_the_time_left_is_that_of_the_run() {
        let trace = Progress { kernels_total: Some(8), share_done: Some(0.25), ..quarter_done() };
        let text = message(&trace, Duration::from_secs(3), Duration::from_secs(2));
        assert_eq!(text, "matmul #2 of 8  16/64 CTAs  9 s left  cycle 1,500,000  500 k cycles/s");
        assert_eq!(run_left(0.0, Duration::from_secs(3)), None);
    }

    #[test]
    fn long_names_leave_room_for_the_rest() {
        let long = Progress { kernel: "_ZN6thrust".repeat(40), ..quarter_done() };
        let text = message(&long, Duration::from_secs(3), Duration::from_secs(2));
        assert!(text.starts_with("_ZN6thrust_ZN6thrust_ZN6… #2  16/64 CTAs  6 s left"), "{text}");
    }

    #[test]
    fn time_is_left_before_the_first_of_several_runs_ends() {
        let after = Duration::from_secs(10);
        assert_eq!(board_left(0, 500_000, 4, after), Some(70.0));
        assert_eq!(board_left(1, 1_000_000, 4, after), Some(10.0));
        assert_eq!([board_left(0, 9_999, 4, after), board_left(4, 0, 4, after)], [None, None]);
        let first = Progress { kernels_done: 0, ..quarter_done() };
        assert_eq!(share(&first, 0), 250_000);
        assert_eq!(share(&quarter_done(), 123), 123, "a later launch of nobody knows how many");
        assert_eq!(share(&Progress { share_done: Some(0.5), ..quarter_done() }, 123), 500_000);
        let board = Board::new(true, 2);
        let (mut one, mut other) = (board.watch(), board.watch());
        one.come_to(600_000);
        other.come_to(300_000);
        one.come_to(500_000);
        assert_eq!(board.under_way.load(Ordering::Relaxed), 800_000);
        drop(one);
        assert_eq!(board.under_way.load(Ordering::Relaxed), 300_000);
    }

    #[test]
    fn estimates_nothing_from_nothing() {
        let none = Progress { ctas_done: 0, ..quarter_done() };
        assert_eq!(time_left(&none, Duration::from_secs(9)), None);
        let beyond = Progress { ctas_done: 65, ..quarter_done() };
        assert_eq!(time_left(&beyond, Duration::from_secs(9)), None);
    }
}

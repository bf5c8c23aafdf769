//! The live view of a run: several lines, redrawn while it runs.

use crate::render::number;
use lab::{Details, Progress};
use std::collections::VecDeque;

/// Columns and signs of heights, lowest first.
const SIGNS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
/// Sign of an SM that issued nothing.
const QUIET: char = '·';
/// Maximum number of intervals that are shown.
const INTERVALS: usize = 48;
/// SMs on a line.
const SMS: usize = 72;
/// Reasons shown of issue slots.
const REASONS: usize = 5;

/// The view's memory of the run.
#[derive(Debug, Default)]
pub struct Live {
    /// Cycles and warp instructions at the last report.
    last: (u64, u64),
    /// Warp instructions per cycle over the last intervals between two reports, oldest first.
    rates: VecDeque<f64>,
    before: Details,
    /// Counts of the last interval.
    between: Details,
}

impl Live {
    /// Takes in a report; one in which no cycle has passed changes nothing.
    pub fn add(&mut self, progress: &Progress) {
        let (cycles, issued) = (progress.cycles, progress.warp_instructions);
        let passed = cycles.saturating_sub(self.last.0);
        if passed == 0 {
            return;
        }
        self.rates.push_back(issued.saturating_sub(self.last.1) as f64 / passed as f64);
        if self.rates.len() > INTERVALS {
            self.rates.pop_front();
        }
        self.last = (cycles, issued);
        if let Some(details) = &progress.details {
            self.between = since(details, &self.before);
            self.before = details.clone();
        }
    }

    /// The lines below the bar: `line`; the rate of issue now, on average and over the last intervals; the rate of each
    /// SM; the issue slots.
    pub fn view(&self, line: &str, progress: &Progress) -> String {
        let mean = progress.warp_instructions as f64 / (progress.cycles as f64).max(1.0);
        let now = self.rates.back().copied().unwrap_or_default();
        let (now, mean, issued) = (number::real(now), number::real(mean), number::count(progress.warp_instructions));
        let rates: Vec<f64> = self.rates.iter().copied().collect();
        let mut out = format!("{line}\n{issued} warp instructions, {now} per cycle now, {mean} on average\n");
        out += &columns(&rates, SIGNS[0]);
        out + &self.sms() + &self.slots()
    }

    /// The rate of each SM, compared with the highest.
    fn sms(&self) -> String {
        let issued = &self.between.issued;
        if issued.is_empty() {
            return String::new();
        }
        let busy = issued.iter().filter(|&&n| n > 0).count();
        let rates: Vec<f64> = issued.iter().map(|&n| n as f64).collect();
        let lines: Vec<String> = rates.chunks(SMS).map(|some| of_highest(some, &rates, QUIET)).collect();
        format!("\n{busy} of {} SMs issue\n{}", issued.len(), lines.join("\n"))
    }

    /// The shares of the issue slots, most first.
    fn slots(&self) -> String {
        let mut slots = self.between.slots.clone();
        let all: u64 = slots.iter().map(|(_, n)| n).sum();
        if all == 0 {
            return String::new();
        }
        // Stable: ties stay in the order of the reasons.
        slots.sort_by_key(|(_, n)| std::cmp::Reverse(*n));
        let share = |(name, n): &(String, u64)| format!("{name} {:.0} %", *n as f64 / all as f64 * 100.0);
        let shown: Vec<String> = slots.iter().take(REASONS).filter(|(_, n)| *n > 0).map(share).collect();
        format!("\nissue slots: {}", shown.join(", "))
    }
}

/// Counts between two reports.
fn since(now: &Details, before: &Details) -> Details {
    let earlier = |at: usize| before.issued.get(at).copied().unwrap_or(0);
    let lost = |name: &str| before.slots.iter().find(|(other, _)| other == name).map_or(0, |(_, n)| *n);
    Details {
        issued: now.issued.iter().enumerate().map(|(at, n)| n.saturating_sub(earlier(at))).collect(),
        slots: now.slots.iter().map(|(name, n)| (name.clone(), n.saturating_sub(lost(name)))).collect(),
    }
}

fn columns(rates: &[f64], none: char) -> String {
    of_highest(rates, rates, none)
}

/// A column of each of `rates`, the highest of `all` full; `none` where it is 0.
fn of_highest(rates: &[f64], all: &[f64], none: char) -> String {
    let most = all.iter().copied().fold(f64::MIN_POSITIVE, f64::max);
    let sign = |rate: &f64| if *rate > 0.0 { SIGNS[((rate / most * 7.0).round() as usize).min(7)] } else { none };
    rates.iter().map(sign).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(cycles: u64, warp_instructions: u64) -> Progress {
        Progress { cycles, warp_instructions, ..Progress::default() }
    }

    #[test]
    fn it_has_the_rate_of_each_interval() {
        let mut live = Live::default();
        for (cycles, issued) in [(100, 800), (100, 800), (200, 1200), (300, 1200)] {
            live.add(&at(cycles, issued));
        }
        let text = live.view("matmul", &at(300, 1200));
        let expected = "matmul\n1,200 warp instructions, 0.000 per cycle now, 4.000 on average\n█▅▁";
        assert_eq!(text, expected, "8, 4 and 0 per cycle; a report without cycles is none");
        (4..200).for_each(|n| live.add(&at(n * 100, n * 800)));
        assert_eq!(live.rates.len(), INTERVALS);
    }

    #[test]
    fn sms_and_slots_are_those_of_the_last_interval() {
        let mut live = Live::default();
        let slots = |issued: u64, idle: u64, raw: u64| {
            [("issued", issued), ("idle", idle), ("raw", raw)].map(|(name, n)| (name.to_owned(), n)).to_vec()
        };
        let details = |issued: &[u64], slots| Some(Details { issued: issued.to_vec(), slots });
        live.add(&Progress { details: details(&[40, 40, 0], slots(80, 20, 0)), ..at(100, 80) });
        let now = Progress { details: details(&[48, 40, 4], slots(92, 24, 4)), ..at(200, 92) };
        live.add(&now);
        let text = live.view("matmul", &now);
        assert!(text.contains("\n2 of 3 SMs issue\n█·▅\n"), "{text}");
        assert!(text.ends_with("\nissue slots: issued 60 %, idle 20 %, raw 20 %"), "{text}");
        let many = Details { issued: vec![1; 132], slots: Vec::new() };
        live.add(&Progress { details: Some(many), ..at(300, 1000) });
        assert_eq!(live.sms().lines().count(), 4, "a heading and two lines after the break: {}", live.sms());
        assert_eq!(live.slots(), "", "cores without slots");
    }
}

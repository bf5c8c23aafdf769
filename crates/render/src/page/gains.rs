//! The gain or loss of a design against another one, in words.

use super::html::spaced;
use crate::changes::cause_sentences;
use crate::number;
use crate::slots;
use crate::summary;
use lab::changes::{Changes, Slots};
use lab::{Report, Stats};

/// Reasons named of a pair.
const REASONS: usize = 3;
/// Differences below this share of the slots that changed are left out.
const LEAST: f64 = 0.05;

/// The difference after a change of the design; the reports have the names of the designs beside them.
pub(super) fn sentences((before, before_label): (&Report, &str), (after, after_label): (&Report, &str)) -> Vec<String> {
    let Some(changes) = Changes::between(before_label, before, after) else { return Vec::new() };
    let saved = -changes.cycles();
    let cycles = before.total.number(summary::CYCLES);
    let (busy_before, busy_after) = (busy(&before.total), busy(&after.total));
    if cycles == 0.0 || busy_before == 0.0 || busy_after == 0.0 {
        return Vec::new();
    }
    let mut out = Vec::new();
    if saved == 0.0 {
        out.push(format!("{after_label} takes as many cycles as {before_label}."));
    } else {
        let (count, share) = (counted(saved, "cycle"), saved.abs() / cycles * 100.0);
        out.push(format!("{after_label} takes {count} than {before_label} ({share:.1} %)."));
    }
    let saved = |slots: &Slots| slots.before as f64 - slots.after as f64;
    let reasons = || changes.issue_slots.iter().filter(|slots| !["issued", "idle"].contains(&&*slots.reason));
    let all: f64 = reasons().map(|slots| saved(slots).abs()).sum();
    for slots in reasons().take(REASONS).filter(|slots| saved(slots).abs() > LEAST * all) {
        let (from, to) = (slots.before as f64 / busy_before * 100.0, slots.after as f64 / busy_after * 100.0);
        let count = counted(saved(slots), "slot");
        let what = description(&after.total, &slots.reason);
        out.push(format!(
            "{count} lost to “{}”, {from:.1} % of the slots before and {to:.1} % now: {what}",
            spaced(&slots.reason)
        ));
    }
    out.extend(cause_sentences(&changes));
    out.extend(own(&after.total).into_iter().map(|text| format!("{after_label} by itself: {text}")));
    out
}

/// How many fewer or more: `1,200 fewer slots`.
fn counted(saved: f64, noun: &str) -> String {
    let (n, word) = (saved.abs() as u64, if saved > 0.0 { "fewer" } else { "more" });
    format!("{} {word} {}", number::count(n), kit::text::plural(n, noun))
}

/// Issue slots of schedulers with warps.
fn busy(stats: &Stats) -> f64 {
    let idle = stats.number("slots.idle");
    stats.number(slots::ALL) - idle
}

/// Meaning of the reason, in a sentence.
fn description(stats: &Stats, reason: &str) -> String {
    let name = format!("slots.{reason}");
    let info = stats.0.iter().find(|(info, _)| info.name == name);
    info.map_or_else(String::new, |(info, _)| info.description.trim().to_owned())
}

/// The statistics of the core design alone that are not 0.
fn own(stats: &Stats) -> Vec<String> {
    let mut all = Vec::new();
    for (info, value) in &stats.0 {
        if let Some(name) = info.name.strip_prefix("design.").filter(|_| stats.number(&info.name) != 0.0) {
            let (value, what) = (number::value(*value, info.unit), info.description.trim());
            all.push(format!("{} {value} {}: {what}", spaced(name), info.unit));
        }
    }
    all.truncate(REASONS);
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use lab::Value;
    use std::sync::Arc;

    fn report(cycles: u64, slots: &[(&str, u64)]) -> Report {
        let all: u64 = slots.iter().map(|(_, n)| n).sum();
        let rows = [("cycles", cycles), ("slots.all", all)].into_iter();
        let rows = rows
            .map(|(name, n)| (name.to_owned(), n))
            .chain(slots.iter().map(|(name, n)| (format!("slots.{name}"), *n)));
        let stat = |(name, n): (String, u64)| {
            let description = format!("What {name} means.");
            (
                Arc::new(lab::StatInfo { name: name.into(), unit: "issue slots", description: description.into() }),
                Value::Count(n),
            )
        };
        Report { total: Stats(rows.map(stat).collect()), ..crate::sample::report() }
    }

    #[test]
    fn differences_are_told_greatest_first() {
        let before = report(1000, &[("issued", 100), ("idle", 500), ("raw", 100), ("raw_memory", 300)]);
        let after = report(900, &[("issued", 100), ("idle", 500), ("raw", 120), ("raw_memory", 180)]);
        let text = sentences((&before, "inorder"), (&after, "ghost"));
        assert_eq!(text[0], "ghost takes 100 fewer cycles than inorder (10.0 %).");
        assert!(
            text[1]
                .starts_with("120 fewer slots lost to “raw memory”, 60.0 % of the slots before and 45.0 % now: What"),
            "{text:?}"
        );
        assert!(text[2].starts_with("20 more slots lost to “raw”, 20.0 %"), "{text:?}");
        assert_eq!(text.len(), 3);
        assert_eq!(sentences((&before, "a"), (&before, "b")), ["b takes as many cycles as a."]);
        assert!(sentences((&report(0, &[]), "a"), (&after, "b")).is_empty(), "a fabric has no slots");
    }
}

//! The changes between two runs, as text.

use crate::diagnosis::paragraph;
use crate::number::{self, ABSENT};
use crate::profile::{more, signed};
use crate::style::{FAINT, HEADING, styled};
use crate::table::{Align, Table};
use crate::wrap::wrapped;
use lab::changes::{Changes, Figure, KernelChange, LineChange, Slots, Spot};

/// Maximum number of rows of a table.
const MOST: usize = 12;
/// Reasons below this share of all changes of slots are left out.
const LEAST: f64 = 0.01;
/// Least change of a roof, in percentage points.
const LEAST_POINTS: f64 = 0.5;

/// The changes as a section: figures, the slots that account for the change in cycles, kernels, lines, roofs, causes.
/// `now` names the run after.
pub fn section(changes: &Changes, now: Option<&str>) -> String {
    let to = now.map_or_else(String::new, |now| format!(" to {now}"));
    let heading = styled(HEADING, format!("Changes from {}{to}", changes.baseline));
    if changes.is_equal {
        return format!("{heading}\n  No difference: every statistic is equal.\n");
    }
    let machine: String = machine_sentences(changes).iter().map(|text| wrapped(text, "  ", "    ")).collect();
    let head = format!("{heading}\n  {}\n{machine}", summary(changes));
    let mut sections = vec![head + &figures(&changes.figures), slots(changes)];
    if changes.kernels.len() > 1 || changes.kernels.iter().any(|kernel| kernel.name_before.is_some()) {
        sections.push(kernels(&changes.kernels));
    }
    sections.push(line_tables(changes));
    sections.push(sentences("Roofs in use", &roof_sentences(changes)));
    sections.push(sentences("Causes", &cause_sentences(changes)));
    sections.retain(|section| !section.is_empty());
    sections.join("\n")
}

/// Differences of the machine, each in a sentence.
pub fn machine_sentences(changes: &Changes) -> Vec<String> {
    let shown = |text: &str| if text.is_empty() { "none".to_owned() } else { text.to_owned() };
    changes
        .machine
        .iter()
        .map(|of| format!("{}: {} before, {} now", of.name, shown(&of.before), shown(&of.after)))
        .collect()
}

/// The change in time in a sentence.
pub fn summary(changes: &Changes) -> String {
    let cycles = changes.cycles();
    if cycles == 0.0 {
        return "As many cycles.".to_owned();
    }
    let (count, more) = (cycles.abs().round() as u64, if cycles < 0.0 { "fewer" } else { "more" });
    let speed = match changes.times_faster {
        None => String::new(),
        Some(times) if times >= 1.0 => format!(": {times:.3} times as fast"),
        Some(times) => format!(": {:.3} times as slow", 1.0 / times),
    };
    format!("{} {more} {}{speed}.", number::count(count), kit::text::plural(count, "cycle"))
}

pub(crate) fn cycles(change: f64) -> String {
    signed(change.round() as i64)
}

pub(crate) fn value(figure: Option<f64>, unit: &str) -> String {
    match figure {
        None => ABSENT.to_owned(),
        Some(joules) if unit == "J" => number::with_prefix(joules, "J"),
        Some(real) if unit == "%" => format!("{real:.1} %"),
        Some(count) => number::count(count as u64),
    }
}

fn figures(figures: &[Figure]) -> String {
    let mut table =
        Table::new([("", Align::Name), ("before", Align::Right), ("now", Align::Right), ("", Align::Right)]);
    for Figure { name, unit, before, after } in figures {
        let change = match before.zip(*after) {
            Some((before, after)) if unit == "%" => format!("{:+.1} points", after - before),
            Some((before, after)) if before != 0.0 => format!("{:+.1} %", (after / before - 1.0) * 100.0),
            _ => String::new(),
        };
        table.row(&[name.clone(), value(*before, unit), value(*after, unit), change]);
    }
    if table.is_empty() { String::new() } else { table.render() }
}

/// The issue slots with the largest changes; small changes are left out.
pub fn main_slots(changes: &Changes) -> impl Iterator<Item = &Slots> {
    let all: f64 = changes.issue_slots.iter().map(|slots| slots.cycles.abs()).sum();
    changes.issue_slots.iter().filter(move |slots| slots.cycles.abs() > LEAST * all).take(MOST)
}

fn slots(changes: &Changes) -> String {
    let columns = [("slots", Align::Left), ("before", Align::Right), ("now", Align::Right), ("cycles", Align::Right)];
    let mut table = Table::new(columns);
    for Slots { reason, before, after, cycles: change } in main_slots(changes) {
        table.row(&[reason.clone(), number::count(*before), number::count(*after), cycles(*change)]);
    }
    if table.is_empty() {
        return String::new();
    }
    table.row(&["all".to_owned(), String::new(), String::new(), cycles(changes.cycles())]);
    let note = styled(FAINT, "issue slots, and the cycles that they account for");
    format!("{}  {note}\n{}", styled(HEADING, "Where the cycles went"), table.render())
}

fn kernels(all: &[KernelChange]) -> String {
    let columns = [("kernel", Align::Name), ("before", Align::Right), ("now", Align::Right), ("cycles", Align::Right)];
    let mut table = Table::new(columns);
    for kernel in all.iter().take(MOST) {
        let of = |cycles: Option<f64>| value(cycles, "");
        let name = kernel
            .name_before
            .as_ref()
            .map_or_else(|| kernel.name.clone(), |old| format!("{} (was {old})", kernel.name));
        table.row(&[name, of(kernel.cycles_before), of(kernel.cycles_after), cycles(kernel.cycles())]);
    }
    table.render() + &more(all.len().saturating_sub(MOST), "kernel")
}

/// The lines of each kernel that changed most; empty unless both runs were profiled.
pub fn line_tables(changes: &Changes) -> String {
    let kernels = changes.kernels.iter().filter(|kernel| !kernel.lines.is_empty());
    kernels.map(lines).collect::<Vec<_>>().join("\n")
}

fn lines(kernel: &KernelChange) -> String {
    let mut table = Table::new([
        ("before", Align::Right),
        ("now", Align::Right),
        ("cycles", Align::Right),
        ("", Align::Left),
        ("place", Align::Left),
        ("waits for", Align::Left),
        ("source", Align::Left),
    ]);
    for line in kernel.lines.iter().take(MOST) {
        let slots =
            |spot: &Option<Spot>| spot.as_ref().map_or_else(|| ABSENT.to_owned(), |spot| number::count(spot.slots));
        table.row(&[
            slots(&line.before),
            slots(&line.after),
            cycles(line.cycles),
            state(line).to_owned(),
            place(line),
            line.waits_for().unwrap_or_default().to_owned(),
            line.text.clone(),
        ]);
    }
    let note = styled(FAINT, "issue slots of lines, and the cycles that they account for");
    let left = more(kernel.lines.len().saturating_sub(MOST), "line");
    format!("{}  {note}\n{}{left}", styled(HEADING, &kernel.name), table.render())
}

/// A word for a line that only one version has; empty for others.
pub fn state(line: &LineChange) -> &'static str {
    match (&line.before, &line.after) {
        (None, _) => "new",
        (_, None) => "gone",
        _ => "",
    }
}

/// Place of a line: in both versions, if it has moved.
pub fn place(line: &LineChange) -> String {
    let of = |spot: &Spot| {
        spot.file.as_ref().map_or_else(|| spot.number.to_string(), |file| format!("{file}:{}", spot.number))
    };
    match (&line.before, &line.after) {
        (Some(before), Some(after)) if before.number != after.number => {
            format!("{} (was {})", of(after), before.number)
        }
        (_, Some(spot)) | (Some(spot), None) => of(spot),
        (None, None) => String::new(),
    }
}

/// Roofs whose shares differ, each in a sentence.
pub fn roof_sentences(changes: &Changes) -> Vec<String> {
    let moved = |figure: &&Figure| figure.before.zip(figure.after).is_some_and(|(a, b)| (a - b).abs() >= LEAST_POINTS);
    let roof = |of: &Figure| format!("{}: {} before, {} now", of.name, value(of.before, "%"), value(of.after, "%"));
    changes.roofs.iter().filter(moved).take(MOST).map(roof).collect()
}

/// Causes that are gone or new, each in a paragraph.
pub fn cause_sentences(changes: &Changes) -> Vec<String> {
    let gone = changes.causes_gone.iter().map(|cause| format!("Gone: {}", cause.sentence));
    gone.chain(changes.causes_new.iter().map(|cause| format!("New: {}", paragraph(cause)))).collect()
}

/// Sentences under a heading; empty without sentences.
fn sentences(heading: &str, all: &[String]) -> String {
    if all.is_empty() {
        return String::new();
    }
    let rows: String = all.iter().map(|sentence| wrapped(sentence, "  ", "    ")).collect();
    format!("{}\n{rows}", styled(HEADING, heading))
}

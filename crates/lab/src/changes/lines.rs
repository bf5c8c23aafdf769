//! Lines of a kernel, or its instructions, matched between two versions.

use super::code::without_numbers;
use super::model::{LineChange, Spot};
use crate::listing::TextLine;
use crate::profile::{KernelProfile, LineProfile};
use crate::report::Report;
use gpu::Stats;
use similar::{Algorithm, DiffTag, capture_diff_slices};

/// A part of a version of a kernel.
struct Part {
    /// Parts with equal keys match.
    key: String,
    text: String,
    spot: Spot,
}

/// The lines of a kernel of each run whose slots differ; none unless both were profiled.
pub fn between(before: (&Report, &str), after: (&Report, &str)) -> Vec<LineChange> {
    let (Some(old), Some(new)) = (of(before), of(after)) else { return Vec::new() };
    let of_cycle = |report: &Report| slots_of_a_cycle(&report.total);
    let (Some(of_cycle_before), Some(of_cycle_after)) = (of_cycle(before.0), of_cycle(after.0)) else {
        return Vec::new();
    };
    let has_lines = has_lines(old) && has_lines(new);
    let unread = [old, new].iter().flat_map(|kernel| unread(kernel)).collect::<Vec<_>>();
    let (old, new) = (parts(old, has_lines, &unread), parts(new, has_lines, &unread));
    let mut changes = Vec::new();
    let mut add = |old: Option<&Part>, new: Option<&Part>| {
        let slots = |part: Option<&Part>| part.map_or(0, |part| part.spot.slots);
        let text = [new, old].into_iter().flatten().map(|part| &part.text).find(|text| !text.is_empty());
        let text = text.cloned().unwrap_or_default();
        let is_moved = old.is_some() && new.is_some();
        if slots(old) != slots(new) || !is_moved {
            changes.push(LineChange {
                text,
                before: old.map(|part| part.spot.clone()),
                after: new.map(|part| part.spot.clone()),
                cycles: slots(new) as f64 / of_cycle_after - slots(old) as f64 / of_cycle_before,
            });
        }
    };
    let keys = |parts: &[Part]| parts.iter().map(|part| part.key.clone()).collect::<Vec<_>>();
    for step in capture_diff_slices(Algorithm::Patience, &keys(&old), &keys(&new)) {
        let (tag, of_old, of_new) = step.as_tag_tuple();
        if tag == DiffTag::Equal {
            old[of_old].iter().zip(&new[of_new]).for_each(|(old, new)| add(Some(old), Some(new)));
        } else {
            old[of_old].iter().for_each(|old| add(Some(old), None));
            new[of_new].iter().for_each(|new| add(None, Some(new)));
        }
    }
    changes.sort_by(|a, b| b.cycles.abs().total_cmp(&a.cycles.abs()));
    changes
}

fn of<'a>((report, kernel): (&'a Report, &str)) -> Option<&'a KernelProfile> {
    report.profile.as_ref()?.kernels.iter().find(|of| of.name == kernel)
}

fn has_lines(kernel: &KernelProfile) -> bool {
    kernel.instructions.iter().any(|row| row.source.is_some())
}

/// The name of a line's file without its folders.
fn file_of(source: &TextLine) -> &str {
    let file = source.file.as_deref().unwrap_or_default();
    file.rsplit(['/', '\\']).next().unwrap_or(file)
}

/// Files of lines without text: their sources were not found.
fn unread(kernel: &KernelProfile) -> Vec<&str> {
    let sources = kernel.lines().into_iter().filter_map(|line| line.source);
    sources.filter(|source| source.text.as_deref().is_none_or(str::is_empty)).map(file_of).collect()
}

/// The parts in the order of the text. A line of a file that is `unread` in either version is identified by its number.
fn parts(kernel: &KernelProfile, has_lines: bool, unread: &[&str]) -> Vec<Part> {
    if !has_lines {
        let alone = |row| LineProfile { source: None, instructions: vec![row] };
        return kernel.instructions.iter().map(|row| part((None, row.pc), &row.text, &alone(row), false)).collect();
    }
    let mut lines = kernel.lines();
    lines.retain(|line| line.source.is_some());
    let place =
        |line: &LineProfile<'_>| line.source.map(|source| (source.file.clone(), source.line)).unwrap_or_default();
    lines.sort_by_key(place);
    let of_line = |line: &LineProfile<'_>| {
        let source = line.source?;
        let file = file_of(source);
        let text = source.text.as_deref().unwrap_or_default();
        Some(part((Some(file), source.line), text, line, unread.contains(&file)))
    };
    lines.iter().filter_map(of_line).collect()
}

fn part((file, number): (Option<&str>, u32), text: &str, line: &LineProfile<'_>, is_unread: bool) -> Part {
    // Handwritten PTX is its own source.
    let is_instruction = file.is_none() || matches!(&line.instructions[..], [row] if row.text.trim() == text.trim());
    let key = match file {
        Some(file) if is_unread => format!("{file}:{number}"),
        _ if is_instruction => without_numbers(text),
        _ => text.split_whitespace().collect(),
    };
    let spot = Spot {
        file: file.map(str::to_owned),
        number,
        slots: line.slots(),
        issued: line.instructions.iter().map(|row| row.issues).sum(),
        waits_for: line.stalls().first().map(|(reason, _)| *reason),
    };
    Part { key, text: text.trim().to_owned(), spot }
}

/// Issue slots of a cycle of the whole GPU; `None` of cores without issue slots.
pub fn slots_of_a_cycle(stats: &Stats) -> Option<f64> {
    let (slots, cycles) = (stats.number("slots.all"), stats.number("cycles"));
    (slots > 0.0 && cycles > 0.0).then(|| slots / cycles)
}

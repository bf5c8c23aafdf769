//! Where the issue slots went, by line of source and by instruction: hottest first, then the code.

use super::html::{Section, code, details, escaped, figure, note, spaced};
use super::stack::{self, Bar, Piece};
use super::stalls;
use crate::number;
use crate::profile::{self, Compared};
use lab::listing::TextLine;
use lab::profile::{InstructionProfile, KernelProfile, LineProfile, Profile};
use std::borrow::Cow;
use std::fmt::Write as _;

/// Maximum number of kernels, by slots.
const MOST_KERNELS: usize = 8;
/// Maximum number of lines of a kernel that have bars.
const MOST_LINES: usize = 12;
/// Maximum number of instructions of a kernel in its table, and in its listing.
const MOST_ROWS: usize = 100;
const MOST_LISTED: usize = 400;
/// Maximum number of loads of a kernel whose latencies are listed by level.
const MOST_LOADS: usize = 40;
/// Maximum number of instructions of a kernel that are compared.
const MOST_COMPARED: usize = 20;
/// Height of the bars in pixels.
const HEIGHT: u32 = 14;

/// The section; `None` where nothing ran.
pub fn section(profile: &Profile) -> Option<Section> {
    let mut kernels: Vec<&KernelProfile> = profile.kernels.iter().collect();
    // Stable: ties stay in the order in which they ran.
    kernels.sort_by_key(|kernel| std::cmp::Reverse(kernel.slots()));
    let left = kernels.len().saturating_sub(MOST_KERNELS);
    kernels.truncate(MOST_KERNELS);
    let all: u64 = profile.kernels.iter().map(KernelProfile::slots).sum();
    let energy = profile::all_joules(profile);
    if all == 0 {
        return None;
    }
    let mut body = note(
        "Every issue slot of an SM with warps belongs to an instruction: one that issued in it, or one that waited. A bar is as long as the slots of the line, its pieces are what became of them.",
    );
    for kernel in kernels {
        body += &of_kernel(kernel, all, energy);
    }
    if left > 0 {
        let kernels = number::counted(left as u64, "kernel");
        body += &note(&format!("{kernels} of fewer slots left out; warpwright profile shows them."));
    }
    Some(Section { id: "instructions".into(), title: "Instructions and lines".into(), body })
}

fn of_kernel(kernel: &KernelProfile, all: u64, energy: Option<f64>) -> String {
    let slots = kernel.slots();
    let mut lines = kernel.lines();
    lines.sort_by_key(|line| std::cmp::Reverse(line.slots()));
    let shown = &lines[..lines.len().min(MOST_LINES)];
    let mut out = format!("<h3>{}</h3>\n", escaped(&kernel.name));
    out += &note(&format!("{} of the slots of all kernels.", profile::percent(slots, all)));
    let bars = hot_lines(shown, slots, energy);
    out += &figure(&format!("Hottest lines of {}", kernel.name), &bars);
    out += &details("Figures: instructions, hottest first", &table(kernel, slots, energy));
    let loads = latencies(kernel);
    if !loads.is_empty() {
        out += &details("Figures: latency of loads by level", &loads);
    }
    out += &details("The code, line by line", &listing(kernel, slots));
    out
}

/// Use of the slots of a line, as a bar over the longest.
fn bar<'a>(line: &LineProfile<'_>, longest: u64) -> Bar<'a> {
    let all = line.slots() as f64;
    let issued = line.instructions.iter().map(|i| i.issues).sum();
    let piece = |name: Cow<'a, str>, colour: &'a str, slots: u64| Piece {
        name,
        colour: colour.into(),
        share: slots as f64 / all.max(1.0),
        amount: format!("{} slots", number::count(slots)),
    };
    let mut pieces = vec![piece("issued".into(), stalls::colour("issued"), issued)];
    pieces.extend(
        line.stalls().into_iter().map(|(reason, slots)| piece(spaced(reason).into(), stalls::colour(reason), slots)),
    );
    Bar {
        label: line.source.map_or_else(|| "no line known".to_owned(), profile::place),
        figure: String::new(),
        length: all / longest.max(1) as f64,
        pieces,
    }
}

/// A row for each line: place, text, bar, shares.
fn hot_lines(lines: &[LineProfile<'_>], slots: u64, energy: Option<f64>) -> String {
    let longest = lines.iter().map(LineProfile::slots).max().unwrap_or(0);
    let bars: Vec<Bar<'_>> = lines.iter().map(|line| bar(line, longest)).collect();
    let mut out = stack::legend(&bars);
    out += "<div class=\"scroll\"><table class=\"hot\">\n<thead><tr><th scope=\"col\">line</th><th scope=\"col\">source</th><th scope=\"col\">issue slots</th><th scope=\"col\" class=\"num\">share</th><th scope=\"col\">waits most for</th><th scope=\"col\" class=\"num\">energy</th></tr></thead>\n<tbody>\n";
    for (line, bar) in lines.iter().zip(&bars) {
        let text = line.source.and_then(|source| source.text.as_deref()).unwrap_or_default();
        let why = line.stalls().first().map_or_else(String::new, |(reason, _)| spaced(reason));
        let joules = energy.map_or_else(String::new, |all| profile::share(profile::line_joules(line), all));
        let _ = writeln!(
            out,
            "<tr><td>{}</td><td class=\"code\">{}</td><td class=\"wide\">{}</td><td class=\"num\" data-v=\"{}\">{}</td><td>{}</td><td class=\"num\">{joules}</td></tr>",
            escaped(&bar.label),
            code(text.trim()),
            stack::drawing(bar, HEIGHT),
            line.slots(),
            profile::percent(line.slots(), slots),
            escaped(&why)
        );
    }
    out + "</tbody></table></div>\n"
}

/// Headings, with whether their columns are of numbers.
fn head(columns: &[(&str, bool)]) -> String {
    let cell = |(name, is_number): &(&str, bool)| {
        let class = if *is_number { " class=\"num\"" } else { "" };
        format!("<th scope=\"col\"{class}>{}</th>", escaped(name))
    };
    let cells: String = columns.iter().map(cell).collect();
    format!("<div class=\"scroll\"><table>\n<thead><tr>{cells}</tr></thead>\n<tbody>\n")
}

/// A row for each of the hottest instructions.
fn table(kernel: &KernelProfile, slots: u64, energy: Option<f64>) -> String {
    let mut hottest: Vec<&InstructionProfile> = kernel.instructions.iter().collect();
    hottest.sort_by_key(|i| std::cmp::Reverse(i.slots()));
    let mut out = head(&[
        ("slots", true),
        ("issued", true),
        ("lanes", true),
        ("waited for", false),
        ("awaited", true),
        ("latency", true),
        ("energy", true),
        ("memory", false),
        ("pc", true),
        ("instruction", false),
        ("line", false),
    ]);
    for i in hottest.iter().take(MOST_ROWS) {
        let latency =
            i.latency.as_ref().map_or_else(|| number::ABSENT.to_owned(), |latency| number::real(latency.mean));
        let joules = energy.map_or_else(|| number::ABSENT.to_owned(), |all| profile::share(profile::joules(i), all));
        let _ = writeln!(
            out,
            "<tr><td class=\"num\" data-v=\"{}\">{}</td><td class=\"num\">{}</td><td class=\"num\">{}</td><td>{}</td><td class=\"num\">{}</td><td class=\"num\">{latency}</td><td class=\"num\">{joules}</td><td>{}</td><td class=\"num\">{}</td><td class=\"code\">{}</td><td>{}</td></tr>",
            i.slots(),
            profile::percent(i.slots(), slots),
            number::count(i.issues),
            profile::ratio(i.lanes, i.issues),
            escaped(&spaced(&profile::reasons(&i.stalls))),
            profile::percent(i.caused(), slots),
            escaped(&i.memory.as_ref().map_or_else(String::new, profile::memory)),
            i.pc,
            code(&i.text),
            escaped(&profile::source(i)),
        );
    }
    out += "</tbody></table></div>\n";
    out + &left_out(
        hottest.len().saturating_sub(MOST_ROWS),
        "of fewer slots left out; warpwright profile shows as many as --lines says.",
    )
}

/// Rows of loads and atomics by the level that their data came from, those first that others waited for most; empty without
/// any. Behind them the shares of issues that took less than each power of two.
fn latencies(kernel: &KernelProfile) -> String {
    let mut loads: Vec<&InstructionProfile> =
        kernel.instructions.iter().filter(|i| !i.latency_by_level.is_empty()).collect();
    loads.sort_by_key(|i| std::cmp::Reverse(i.caused()));
    let left = loads.len().saturating_sub(MOST_LOADS);
    loads.truncate(MOST_LOADS);
    if loads.is_empty() {
        return String::new();
    }
    let powers = profile::powers(&loads);
    let names: Vec<String> = powers.iter().map(|power| format!("<{power}")).collect();
    let columns = [
        ("pc", true),
        ("instruction", false),
        ("line", false),
        ("level", false),
        ("issues", true),
        ("mean", true),
        ("95 %", true),
        ("longest", true),
    ];
    let columns: Vec<(&str, bool)> =
        columns.into_iter().chain(names.iter().map(|name| (name.as_str(), true))).collect();
    let mut out = note(
        "Core cycles from issue to write-back, and the share of the issues that took less than each power of two.",
    );
    out += &head(&columns);
    for i in loads {
        for (level, latency) in &i.latency_by_level {
            let by_power = profile::by_power(latency);
            let issues = by_power.values().sum();
            let share = |power: &u64| by_power.get(power).map_or_else(String::new, |n| profile::percent(*n, issues));
            let figures = [
                number::count(issues),
                number::real(latency.mean),
                number::count(latency.p95),
                number::count(latency.max),
            ];
            let figures: String = figures
                .into_iter()
                .chain(powers.iter().map(share))
                .map(|cell| format!("<td class=\"num\">{cell}</td>"))
                .collect();
            let _ = writeln!(
                out,
                "<tr><td class=\"num\">{}</td><td class=\"code\">{}</td><td>{}</td><td>{level}</td>{figures}</tr>",
                i.pc,
                code(&i.text),
                escaped(&profile::source(i)),
            );
        }
    }
    out += "</tbody></table></div>\n";
    out + &left_out(left, "that others wait for less left out.")
}

/// A sentence on instructions that a page has no room for.
fn left_out(n: usize, which: &str) -> String {
    if n == 0 { String::new() } else { note(&format!("{} {which}", number::counted(n as u64, "instruction"))) }
}

/// The code in order, with its lines of source and of PTX above it. Of long kernels the hottest instructions, and how
/// many are left out between them.
fn listing(kernel: &KernelProfile, slots: u64) -> String {
    let mut by_slots: Vec<usize> = (0..kernel.instructions.len()).collect();
    by_slots.sort_by_key(|&at| std::cmp::Reverse(kernel.instructions[at].slots()));
    let mut shown = vec![false; by_slots.len()];
    by_slots.iter().take(MOST_LISTED).for_each(|&at| shown[at] = true);
    let mut out = head(&[("slots", true), ("waited for", false), ("pc", true), ("code", false)]);
    let (mut source, mut ptx): (Option<&TextLine>, Option<&TextLine>) = (None, None);
    let mut left = 0;
    let gap = |left: usize| {
        let what = number::counted(left as u64, "instruction");
        format!("<tr class=\"gap\"><td colspan=\"3\"></td><td>{what} of fewer slots</td></tr>\n")
    };
    for (i, is_shown) in kernel.instructions.iter().zip(shown) {
        if !is_shown {
            left += 1;
            continue;
        }
        if left > 0 {
            out += &gap(left);
            left = 0;
        }
        let mut line = |class: &str, of: &TextLine, word: &str| {
            let text = of.text.as_deref().unwrap_or_default();
            let _ = writeln!(
                out,
                "<tr class=\"{class}\"><td colspan=\"3\">{}</td><td class=\"code\">{}</td></tr>",
                escaped(word),
                code(text)
            );
        };
        if profile::is_heading(i) && i.source.as_ref() != source {
            for (number, of) in i.source.iter().chain(&i.calls).enumerate() {
                line("source", of, &format!("{}{}", if number == 0 { "" } else { "inlined at " }, profile::place(of)));
            }
        }
        if let Some(of) = i.ptx.as_ref().filter(|of| Some(*of) != ptx) {
            line("ptx", of, &format!("PTX {}", of.line));
        }
        (source, ptx) = (i.source.as_ref(), i.ptx.as_ref());
        let why = i.stalls.first().map_or_else(String::new, |(reason, _)| spaced(reason));
        let _ = writeln!(
            out,
            "<tr><td class=\"num\">{}</td><td>{}</td><td class=\"num\">{}</td><td class=\"code\">{}</td></tr>",
            profile::percent(i.slots(), slots),
            escaped(&why),
            i.pc,
            code(&i.text)
        );
    }
    if left > 0 {
        out += &gap(left);
    }
    out + "</tbody></table></div>\n"
}

/// Which instructions the others help or hurt, of profiles of the same workload on several machines; empty where none
/// have the same code.
pub fn changes(profiles: &[(&str, &Profile)]) -> String {
    let first = profiles.first().map_or("", |(label, _)| label);
    profile::compared(profiles, MOST_COMPARED).iter().map(|kernel| changed(kernel, first)).collect()
}

fn changed(of: &Compared<'_>, first: &str) -> String {
    let columns = [("pc", true), ("instruction", false), (first, true)];
    let labels = of.labels.iter().map(|label| (*label, true));
    let columns: Vec<(&str, bool)> =
        columns.into_iter().chain(labels).chain([("line", false), ("source", false)]).collect();
    let mut out = format!("<h4>{}</h4>\n", escaped(&of.kernel.name)) + &head(&columns);
    let changes = |changes: &[i64]| {
        let cell = |change: &i64| {
            let class = if *change < 0 { "good" } else { "bad" };
            format!("<td class=\"num {class}\" data-v=\"{change}\">{}</td>", profile::signed(*change))
        };
        changes.iter().map(cell).collect::<String>()
    };
    for (i, change) in &of.rows {
        let text = i.source.as_ref().and_then(|source| source.text.as_deref()).unwrap_or_default();
        let _ = writeln!(
            out,
            "<tr><td class=\"num\">{}</td><td class=\"code\">{}</td><td class=\"num\">{}</td>{}<td>{}</td><td class=\"code\">{}</td></tr>",
            i.pc,
            code(&i.text),
            number::count(i.slots()),
            changes(change),
            escaped(&profile::source(i)),
            code(text.trim()),
        );
    }
    let _ = writeln!(
        out,
        "<tr><td></td><td>all</td><td class=\"num\">{}</td>{}<td></td><td></td></tr>",
        number::count(of.kernel.slots()),
        changes(&of.all)
    );
    out += "</tbody></table></div>\n";
    out + &left_out(of.left, "of smaller changes left out.")
}

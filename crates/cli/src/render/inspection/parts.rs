//! The parts that inspections of PTX and of machine code share.

use super::super::number;
use super::super::style::{BAD, GOOD, styled};
use super::super::table::{Align, Table};
use super::super::wrap::wrapped_list;
use crate::inspection::facts::{EntryFacts, Mix, VariableFacts};
use kit::text::counted;

/// Opcodes or classes that are listed in a mix; the others are counted together.
const MIX: usize = 12;

/// The entries of a fat binary, equal ones once: each source file of a library has its own.
pub fn entries(list: &[EntryFacts]) -> String {
    let mut table = Table::new([("", Align::Left); 4]);
    let mut different: Vec<(&EntryFacts, usize)> = Vec::new();
    for entry in list {
        match different.iter_mut().find(|(known, _)| *known == entry) {
            Some((_, number)) => *number += 1,
            None => different.push((entry, 1)),
        }
    }
    for (entry, number) in different {
        let compressed = if entry.compressed { "compressed" } else { "" };
        let shown = match (entry.shown, entry.readable) {
            (true, _) => "shown here",
            (false, true) => "",
            (false, false) => "cannot be read",
        };
        let shown = match (number, shown) {
            (1, shown) => shown.to_owned(),
            (number, "") => format!("{number} of them"),
            (number, shown) => format!("{shown}, {number} of them"),
        };
        table.row(&[format!("  {}", entry.kind), entry.architecture.clone(), compressed.into(), shown]);
    }
    format!("  entries:\n{}", table.render())
}

/// How many kernels there are, and how many of them can be executed.
pub fn runnable(kernels: usize, executable: usize) -> String {
    let colour = if executable == kernels && kernels > 0 { GOOD } else { BAD };
    let executable = styled(colour, format!("{executable} executable"));
    format!("{}, {executable}", counted(kernels as u64, "kernel"))
}

/// Variables or parameters, a line each.
pub fn variables(list: &[VariableFacts]) -> String {
    let mut table = Table::new([("", Align::Name), ("", Align::Left), ("", Align::Right)]);
    for v in list {
        let bytes = v.bytes.map_or_else(|| "size open".to_owned(), number::bytes);
        table.row(&[format!("  {}", v.name), format!(".{} .{}", v.space, v.ty), bytes]);
    }
    table.render()
}

/// Facts under their labels.
pub fn facts(list: &[(&str, String)]) -> String {
    list.iter().map(|(label, value)| fact(label, value)).collect()
}

/// A fact under its label.
pub fn fact(label: &str, value: &str) -> String {
    wrapped_list(value, &format!("  {label}: "), "    ")
}

/// The most frequent entries of a mix, with their shares.
pub fn mix(Mix(counts): &Mix) -> String {
    let all: u64 = counts.iter().map(|(_, n)| n).sum();
    let share = |n: u64| 100.0 * n as f64 / all.max(1) as f64;
    let mut parts: Vec<String> =
        counts.iter().take(MIX).map(|(name, n)| format!("{name} {:.0} %", share(*n))).collect();
    let rest: u64 = counts.iter().skip(MIX).map(|(_, n)| n).sum();
    if rest > 0 {
        parts.push(format!("others {:.0} %", share(rest)));
    }
    parts.join(", ")
}

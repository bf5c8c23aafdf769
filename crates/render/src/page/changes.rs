//! The changes from an earlier run: figures, issue slots, lines, causes.

use super::html::{Cell, Section, Table, details, escaped, note, spaced};
use super::overview::list;
use crate::changes::{
    cause_sentences, cycles, machine_sentences, main_slots, place, roof_sentences, state, summary, value,
};
use crate::number;
use crate::table::Align;
use lab::changes::{Changes, KernelChange, Spot};

/// Maximum number of lines of a kernel.
const MOST_LINES: usize = 40;

/// The section of a run that was compared with an earlier one.
pub fn section(changes: &Changes) -> Section {
    let mut body = format!("<p>{}</p>\n", escaped(&summary(changes)));
    body += &list("Machine", &machine_sentences(changes), "findings");
    body += &list("Causes", &cause_sentences(changes), "findings");
    body += &slots(changes);
    body += &list("Roofs in use", &roof_sentences(changes), "findings");
    body += &lines(changes);
    body += &details("Figures", &figures(changes));
    Section { id: "changes".into(), title: format!("What changed from {}", changes.baseline), body }
}

fn figures(changes: &Changes) -> String {
    let mut table =
        Table::new([("", Align::Name), ("before", Align::Right), ("now", Align::Right), ("unit", Align::Left)]);
    for of in &changes.figures {
        let cell = |figure: Option<f64>| Cell::number(value(figure, &of.unit), figure);
        table.row([of.name.clone().into(), cell(of.before), cell(of.after), of.unit.clone().into()]);
    }
    table.render()
}

fn slots(changes: &Changes) -> String {
    let columns = [("slots", Align::Left), ("before", Align::Right), ("now", Align::Right), ("cycles", Align::Right)];
    let mut table = Table::new(columns);
    for slots in main_slots(changes) {
        let count = |n: u64| Cell::number(number::count(n), Some(n as f64));
        let change = Cell::number(cycles(slots.cycles), Some(slots.cycles));
        table.row([spaced(&slots.reason).into(), count(slots.before), count(slots.after), change]);
    }
    if table.is_empty() {
        return String::new();
    }
    note("Issue slots, and the cycles that they account for: all of them together are the difference.")
        + &table.render()
}

/// Tables of the lines of each kernel that changed most; empty unless both runs were profiled.
pub fn lines(changes: &Changes) -> String {
    changes.kernels.iter().filter(|kernel| !kernel.lines.is_empty()).map(of_kernel).collect()
}

fn of_kernel(kernel: &KernelChange) -> String {
    let columns = [
        ("slots before", Align::Right),
        ("now", Align::Right),
        ("cycles", Align::Right),
        ("", Align::Left),
        ("place", Align::Left),
        ("waits for", Align::Left),
        ("source", Align::Left),
    ];
    let mut table = Table::new(columns);
    for line in kernel.lines.iter().take(MOST_LINES) {
        let slots = |spot: &Option<Spot>| match spot {
            Some(spot) => Cell::number(number::count(spot.slots), Some(spot.slots as f64)),
            None => number::ABSENT.to_owned().into(),
        };
        table.row([
            slots(&line.before),
            slots(&line.after),
            Cell::number(cycles(line.cycles), Some(line.cycles)),
            state(line).to_owned().into(),
            place(line).into(),
            line.waits_for().map(spaced).unwrap_or_default().into(),
            line.text.clone().into(),
        ]);
    }
    format!("<h4>{}</h4>\n{}", escaped(&kernel.name), table.render())
}

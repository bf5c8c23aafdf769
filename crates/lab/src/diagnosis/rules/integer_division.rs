//! Integer divisions and remainders by values that the compiler does not know.

use super::super::facts::{Facts, line_of, named};
use super::super::found::{Found, keeping};
use super::super::roofs::Resource;
use crate::profile::InstructionProfile;
use config::Unit;
use sass::meaning::opcode_of;

/// Instructions of a division whose lines are not known.
const LENGTH: usize = 16;

pub fn find<'a>(facts: &Facts<'a>) -> Option<Found<'a>> {
    // In machine code a division begins with the reciprocal of its divisor, which is converted upwards.
    let starts =
        |row: &InstructionProfile| (row.text.contains("I2F") && row.text.contains(".RP")) || is_ptx_division(&row.text);
    let rows = facts.instructions();
    let first = facts.most(|row| if starts(row) { row.issues } else { 0 })?;
    let is_line = |row: &InstructionProfile| match line_of(row) {
        Some(line) if !is_ptx_division(&row.text) => {
            rows.iter().any(|start| starts(start) && line_of(start) == Some(line))
        }
        _ => is_ptx_division(&row.text),
    };
    let slots: u64 = if rows.iter().any(|row| line_of(row).is_some()) {
        rows.iter().filter(|row| is_line(row)).map(|row| row.slots() + row.caused()).sum()
    } else {
        let starts = rows.iter().enumerate().filter(|(_, row)| starts(row));
        starts.flat_map(|(at, _)| &rows[at..rows.len().min(at + LENGTH)]).map(|row| row.slots() + row.caused()).sum()
    };
    let cycles = facts.cycles_of(slots as f64).min(facts.cycles);
    Some(Found {
        sentence: format!(
            "The division or remainder that begins with {} and the rest of its line take {:.0} % of the issue slots",
            named(first),
            100.0 * cycles / facts.cycles
        ),
        without: "that line",
        remedy: "Divide by constants or powers of two (shifts and masks), or count in steps in place of dividing.",
        at: Some(first),
        cycles,
        relieved: keeping(
            0.0,
            &[Resource::Issue, Resource::Unit(Unit::Int), Resource::Unit(Unit::Sp), Resource::Unit(Unit::Sfu)],
        ),
    })
}

fn is_ptx_division(text: &str) -> bool {
    let Some((opcode, kind)) = opcode_of(text).split_once('.') else { return false };
    matches!(opcode, "div" | "rem") && (kind.starts_with('u') || kind.starts_with('s'))
}

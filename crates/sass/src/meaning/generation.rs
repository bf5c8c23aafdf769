//! Classes of machine opcodes, from a table per architecture generation.

use isa::OpClass;
use std::sync::LazyLock;

/// A generation of machine code with its own opcode table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Generation {
    /// sm_30 to sm_37.
    Kepler,
    /// sm_50 to sm_62.
    Pascal,
    /// sm_70, sm_72.
    Volta,
    /// sm_75.
    Turing,
    /// sm_80 to sm_87.
    Ampere,
    /// sm_89.
    Ada,
    /// sm_90 and later.
    Hopper,
}

impl Generation {
    /// The generation whose table is used for machine code of compute capability `version` / 10.
    pub const fn of(version: u32) -> Self {
        match version {
            0..50 => Self::Kepler,
            50..70 => Self::Pascal,
            70..75 => Self::Volta,
            75..80 => Self::Turing,
            80..89 => Self::Ampere,
            89 => Self::Ada,
            _ => Self::Hopper,
        }
    }

    /// NVIDIA's name of compute capability `version` / 10, which is finer than the opcode tables.
    pub const fn name_of(version: u32) -> &'static str {
        match version {
            0..20 => "Tesla",
            20..30 => "Fermi",
            30..50 => "Kepler",
            50..60 => "Maxwell",
            60..70 => "Pascal",
            70..75 => "Volta",
            75..80 => "Turing",
            80..89 => "Ampere",
            89 => "Ada",
            90..100 => "Hopper",
            _ => "Blackwell",
        }
    }

    /// Size of an instruction in bytes.
    pub const fn instruction_bytes(self) -> u32 {
        if (self as u8) < Self::Volta as u8 { 8 } else { 16 }
    }
}

/// Class of each opcode in each generation; the head of the table gives its origin.
const TABLE: &str = include_str!("../../data/opcodes.tsv");
const GENERATIONS: usize = Generation::Hopper as usize + 1;

/// The rows, in the order of their opcodes: a program has few of them, so that only those are read.
static ROWS: LazyLock<Vec<&str>> =
    LazyLock::new(|| TABLE.lines().filter(|line| !line.starts_with('#')).skip(1).collect());

/// The opcode of a row, and its class in each generation.
fn fields(row: &str) -> impl Iterator<Item = &[u8]> {
    row.as_bytes().split(|&byte| byte == b'\t')
}

/// Class of the opcode `base` (without modifiers) in `generation`. If that generation lacks it, the class in
/// the nearest one that has it; `None` if none does.
pub fn class_of(base: &str, generation: Generation) -> Option<OpClass> {
    let row = ROWS[ROWS.binary_search_by(|row| fields(row).next().cmp(&Some(base.as_bytes()))).ok()?];
    let mut names = [&b""[..]; GENERATIONS];
    names.iter_mut().zip(fields(row).skip(1)).for_each(|(place, name)| *place = name);
    let class = |name: &&[u8]| OpClass::ALL.iter().copied().find(|class| class.name().as_bytes() == *name);
    let (until, after) = names.split_at(generation as usize);
    after.iter().chain(until.iter().rev()).find_map(class)
}

/// Class of an opcode in no table: an integer operation, as Accel-Sim treats opcodes without a unit.
pub const DEFAULT_CLASS: OpClass = OpClass::IntAdd;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_entry_of_the_table_is_a_class_or_absent() {
        assert!(ROWS.is_sorted_by_key(|row| fields(row).next()), "a look-up halves the table");
        for line in ROWS.iter() {
            let fields: Vec<_> = line.split('\t').collect();
            assert_eq!(fields.len(), GENERATIONS + 1, "{line}");
            for name in &fields[1..] {
                assert!(*name == "-" || OpClass::ALL.iter().any(|c| c.name() == *name), "{line}");
            }
        }
    }

    #[test]
    fn names_are_those_of_the_architectures() {
        let names = [20, 35, 52, 61, 70, 75, 86, 89, 90, 120].map(Generation::name_of);
        let expected =
            ["Fermi", "Kepler", "Maxwell", "Pascal", "Volta", "Turing", "Ampere", "Ada", "Hopper", "Blackwell"];
        assert_eq!(names, expected);
    }

    #[test]
    fn opcodes_change_units_with_the_generations() {
        assert_eq!(class_of("IMMA", Generation::Volta), Some(OpClass::IntMad));
        assert_eq!(class_of("IMMA", Generation::Turing), Some(OpClass::Tensor));
        assert_eq!(class_of("UIADD3", Generation::Volta), Some(OpClass::Uniform), "a later generation's");
        assert_eq!(class_of("XMAD", Generation::Hopper), Some(OpClass::IntMad), "an earlier generation's");
        assert_eq!(class_of("FROBNICATE", Generation::Ampere), None);
    }
}

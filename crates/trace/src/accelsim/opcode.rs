//! SASS opcodes for exported traces.

use crate::{Generation, class_of};
use isa::Form;
use isa::{Access, CacheOp, Control, Inst, MemAccess, Space};
use std::collections::HashMap;
use std::sync::LazyLock;

/// Opcode for each kind of PTX instruction; see the table's head.
const TABLE: &str = include_str!("../../data/ptx_to_sass.tsv");

static OPCODES: LazyLock<HashMap<&str, &str>> =
    LazyLock::new(|| rows().map(|[key, opcode, _]| (key, opcode)).collect());

fn rows() -> impl Iterator<Item = [&'static str; 3]> {
    TABLE.lines().filter(|line| !line.starts_with('#')).skip(1).filter_map(|line| {
        let mut fields = line.split('\t');
        Some([fields.next()?, fields.next()?, fields.next()?])
    })
}

/// The opcode, with modifiers, of an instruction with text `text`.
pub(super) fn opcode(inst: &Inst, text: &str, timing: Form, generation: Generation) -> String {
    if timing == Form::Sass
        && let Some(own) = opcode_in(text)
        && class_of(own.split('.').next().unwrap_or_default(), generation).is_some()
    {
        return own.to_owned();
    }
    let mut opcode = inst
        .mem
        .and_then(|mem| of_access(&mem))
        .or_else(|| of_control(inst.control))
        .map_or_else(|| OPCODES.get(inst.class.name()).copied().unwrap_or("NOP").to_owned(), str::to_owned);
    if let Some(mem) = inst.mem {
        opcode += if past_l1(&mem) { ".STRONG.GPU" } else { "" };
        opcode += width_modifier(mem.bytes);
    }
    opcode
}

/// `LDG.E.64` in `@!P0 LDG.E.64 R2, [R4.64] ;` and in `0010 1 R2 LDG.E.64 1 R4`.
fn opcode_in(text: &str) -> Option<&str> {
    let is_opcode = |word: &str| {
        let base = word.split('.').next().unwrap_or_default();
        base.len() > 1 && base.starts_with(|c: char| c.is_ascii_uppercase()) && !is_register(base)
    };
    text.split([' ', '\t', ',', ';']).filter(|word| !word.starts_with('@')).find(|word| is_opcode(word))
}

fn is_register(word: &str) -> bool {
    let digits = word.trim_start_matches(['U', 'R', 'P']);
    digits.len() < word.len() && digits.bytes().all(|c| c.is_ascii_digit())
}

fn of_control(control: Control) -> Option<&'static str> {
    let key = match control {
        Control::BarrierArrive => "barrier_arrive",
        Control::AsyncCommit => "async_commit",
        Control::AsyncWait => "async_wait",
        Control::Sleep => "sleep",
        _ => return None,
    };
    OPCODES.get(key).copied()
}

fn of_access(mem: &MemAccess) -> Option<&'static str> {
    let access = match mem.access {
        Access::Load => "load",
        Access::Store => "store",
        Access::Atomic => "atomic",
        Access::Reduction => "reduction",
        Access::AsyncCopy => "async_copy",
    };
    let space = match mem.space {
        Space::Global => "global",
        Space::Local => "local",
        Space::Shared => "shared",
        Space::Constant => "constant",
        Space::Param => "param",
        Space::Generic => "generic",
        Space::Texture => "texture",
    };
    OPCODES.get(format!("{access}.{space}").as_str()).copied()
}

fn past_l1(mem: &MemAccess) -> bool {
    let atomic = matches!(mem.access, Access::Atomic | Access::Reduction);
    let off_chip = matches!(mem.space, Space::Global | Space::Generic);
    off_chip && (atomic || matches!(mem.cache, CacheOp::L2 | CacheOp::Volatile))
}

/// Modifier for the bytes that a lane accesses; empty for four.
const fn width_modifier(bytes: u8) -> &'static str {
    match bytes {
        1 => ".U8",
        2 => ".U16",
        3..=4 => "",
        5..=8 => ".64",
        _ => ".128",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use isa::OpClass;
    use sass::meaning::meaning;

    const MODERN: [Generation; 5] =
        [Generation::Volta, Generation::Turing, Generation::Ampere, Generation::Ada, Generation::Hopper];

    #[test]
    fn every_class_has_an_opcode_of_its_class_or_says_that_it_is_the_nearest() {
        for class in OpClass::ALL {
            let row = rows().find(|[key, ..]| *key == class.name());
            let [_, opcode, remark] = row.unwrap_or_else(|| panic!("no row for {}", class.name()));
            for generation in MODERN {
                let same = meaning(opcode, generation).class == *class;
                assert_eq!(same, !remark.starts_with("nearest"), "{opcode} for {} in {generation:?}", class.name());
            }
        }
    }

    #[test]
    fn every_opcode_is_known_and_every_key_is_one() {
        let spaces = ["global", "local", "shared", "constant", "param", "generic", "texture"];
        let accesses = ["load", "store", "atomic", "reduction", "async_copy"];
        let controls = ["barrier_arrive", "async_commit", "async_wait", "sleep"];
        for [key, opcode, _] in rows() {
            let base = opcode.split('.').next().unwrap();
            assert!(class_of(base, Generation::Volta).is_some(), "{opcode}");
            let is_access = key.split_once('.').is_some_and(|(a, s)| accesses.contains(&a) && spaces.contains(&s));
            let is_class = OpClass::ALL.iter().any(|class| class.name() == key);
            assert!(is_access || is_class || controls.contains(&key), "{key}");
        }
    }

    #[test]
    fn machine_code_keeps_its_opcodes() {
        for text in ["@!P0 LDG.E.64 R2, [R4.64] ;", "0010 1 R2 LDG.E.64 1 R4", "LDG.E.64 R2, desc[UR4][R4.64]"] {
            assert_eq!(opcode_in(text), Some("LDG.E.64"), "{text}");
        }
        assert_eq!(opcode_in("@P0 EXIT ;"), Some("EXIT"));
        assert_eq!(opcode_in("UR4 R2 P0"), None);
    }
}

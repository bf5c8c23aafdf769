//! Work of the lanes of machine instructions: AccelWattch's table of opcodes (Kandiah et al., MICRO 2021; Accel-Sim's
//! `ISA_Def/accelwattch_component_mapping.h` and, for `MUFU` and `IMAD`, `trace_driven.cc`). The energies of lanes were
//! tuned for counts by this table. An opcode that it lacks has the work of its class.

use isa::{OpClass, Work};

/// Work of an instruction of `class` with the opcode `base`, of which `opcode` has more in its text; `has` says
/// whether it has a modifier.
pub(super) fn of(class: OpClass, base: &str, opcode: &str, has: impl Fn(&str) -> bool) -> Work {
    match base {
        "LDC" => Work::Memory,
        // Neither reads nor computes in the lanes of a unit of the table.
        "S2R" | "VOTE" | "VOTE_VTG" | "MATCH" | "B2R" | "R2B" | "LEPC" | "QSPC" | "CSMTEST" | "GETLMEMBASE"
        | "SETLMEMBASE" | "SETCTAID" => Work::None,
        "LEA" | "ISCADD" | "ISCADD32I" => Work::IntMul,
        // Moves and shifts by the multiplier count as multiplications there.
        "IMAD" if has("IADD") => Work::IntAdd,
        "FRND" => Work::IntAdd,
        "MUFU" if has("RSQ") => Work::Sqrt,
        "MUFU" if has("LG2") => Work::Log,
        "MUFU" if has("EX2") || has("RCP") => Work::Exp,
        // Functions without an energy of their own.
        "MUFU" => Work::Sin,
        "TEXS" | "TLDS" | "TLD4S" => Work::Texture,
        _ => Work::of_opcode(class, opcode),
    }
}

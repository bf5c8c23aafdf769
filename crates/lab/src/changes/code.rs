//! Texts of instructions without the parts that a compiler chooses anew, to match two versions of a kernel.

use sass::meaning::{base, opcode_of};

/// Mnemonics whose operands are addresses of code.
const JUMPS: [&str; 8] = ["BRA", "BSSY", "BSYNC", "BRX", "CALL", "JMP", "RET", "WARPSYNC"];

/// The text of an instruction without numbers of registers, predicates, labels and addresses of code. All of them
/// change when the compiler allocates other registers or inserts an instruction.
pub fn without_numbers(text: &str) -> String {
    let mnemonic = opcode_of(text);
    let is_jump = JUMPS.contains(&base(mnemonic));
    let mut out = String::with_capacity(text.len());
    let mut word = String::new();
    // Words consist of letters, digits and other characters of names.
    for c in text.chars().chain([' ']) {
        if c.is_ascii_alphanumeric() || matches!(c, '_' | '$' | '%' | '.') {
            word.push(c);
            continue;
        }
        let is_number = word.starts_with(|first: char| first.is_ascii_digit());
        match word.as_str() {
            _ if is_number && is_jump => {}
            _ if is_number || word == mnemonic => out += &word,
            name => out += name.trim_end_matches(|last: char| last.is_ascii_digit()),
        }
        word.clear();
        out.push(c);
    }
    out.truncate(out.len() - 1);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_a_compiler_allots_is_left_out() {
        for (text, expected) in [
            ("FFMA R12, R4, R3, R12", "FFMA R, R, R, R"),
            ("@!P0 LDG.E.64.SYS R2, [R4+0x10]", "@!P LDG.E.64.SYS R, [R+0x10]"),
            ("IMAD.WIDE R2, R0, R3, c[0x0][0x160]", "IMAD.WIDE R, R, R, c[0x0][0x160]"),
            ("@P1 BRA 0x3f0", "@P BRA "),
            ("MOV R1, 0x20", "MOV R, 0x20"),
            ("ld.global.f32 %f12, [%rd4+8];", "ld.global.f32 %f, [%rd+8];"),
            ("@%p1 bra $L__BB0_2;", "@%p bra $L__BB0_;"),
            ("", ""),
        ] {
            assert_eq!(without_numbers(text), expected);
        }
    }
}

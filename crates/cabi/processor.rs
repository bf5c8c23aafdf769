//! Checks that the processor has the instruction sets that a program or library was compiled for
//! (`.cargo/config.toml`). The command, `libcuda`, the auditing library and this crate, which all other libraries
//! contain, each have the file as a module.
//!
//! Without the check, the first missing instruction would end the program. It runs when the program or library is
//! loaded and must not need these sets itself: it compares masks, and calls only the standard library, which is compiled
//! for any x86-64 processor.
#![allow(unsafe_code, reason = "CPUID")]

use std::arch::x86_64::{__cpuid, __cpuid_count};
use std::hint::black_box;
use std::io::{Write as _, stderr};
use std::process::exit;

/// An instruction set: its name, and its bit in a register of CPUID; 0 if the program was not compiled for it.
type Row = (&'static str, u32);

macro_rules! rows {
    ($($feature:literal: $bit:literal),*) => {
        &[$(($feature, if cfg!(target_feature = $feature) { 1 << $bit } else { 0 })),*]
    };
}

/// Leaf 1, ECX.
const BASIC: &[Row] = rows!(
    "sse3": 0, "ssse3": 9, "fma": 12, "sse4.1": 19, "sse4.2": 20, "movbe": 22, "popcnt": 23, "avx": 28, "f16c": 29
);
/// The same register: the operating system saves the registers of AVX.
const SYSTEM: &[Row] = &[("osxsave", if cfg!(target_feature = "avx") { 1 << 27 } else { 0 })];
/// Leaf 7, EBX.
const EXTENDED: &[Row] = rows!("bmi1": 3, "avx2": 5, "bmi2": 8);
/// Leaf 0x8000_0001, ECX.
const AMD: &[Row] = rows!("lzcnt": 5);

/// The bits of all rows.
const fn all(rows: &[Row]) -> u32 {
    let (mut mask, mut at) = (0, 0);
    while at < rows.len() {
        mask |= rows[at].1;
        at += 1;
    }
    mask
}

/// The bits that each register must have.
const NEEDED: [u32; 3] = [all(BASIC) | all(SYSTEM), all(EXTENDED), all(AMD)];

/// The loader calls it before other code of the program or library.
#[used]
#[unsafe(link_section = ".init_array")]
static AT_LOAD: extern "C" fn() = check;

/// Ends the program with a message if the processor lacks instructions that the program or library uses.
extern "C" fn check() {
    let found = registers();
    if !is_enough(found) {
        let [basic, extended, amd] = found;
        refuse(basic, extended, amd);
    }
}

/// The three registers of this processor.
#[inline(always)]
fn registers() -> [u32; 3] {
    // SAFETY: every x86-64 processor has CPUID.
    #[allow(unused_unsafe, reason = "newer compilers know that")]
    unsafe {
        let extended = if __cpuid(0).eax >= 7 { __cpuid_count(7, 0).ebx } else { 0 };
        let amd = if __cpuid(0x8000_0000).eax >= 0x8000_0001 { __cpuid(0x8000_0001).ecx } else { 0 };
        [__cpuid(1).ecx, extended, amd]
    }
}

#[inline(always)]
fn is_enough([basic, extended, amd]: [u32; 3]) -> bool {
    has(basic, NEEDED[0]) && has(extended, NEEDED[1]) && has(amd, NEEDED[2])
}

/// Whether `found` has all `bits`. The compiler must not know what is compared: it would take an instruction of BMI.
#[inline(always)]
fn has(found: u32, bits: u32) -> bool {
    black_box(found & bits) == bits
}

/// Reports the missing instruction sets. Formats no text, and copies nothing larger than a register: the compiler would
/// take vector instructions.
#[cold]
#[inline(never)]
fn refuse(basic: u32, extended: u32, amd: u32) -> ! {
    print("error: this processor lacks instructions that this build of warpwright uses:");
    print_missing(BASIC, basic);
    print_missing(SYSTEM, basic);
    print_missing(EXTENDED, extended);
    print_missing(AMD, amd);
    print("\n  hint: build it for any x86-64 processor: RUSTFLAGS=\"\" cargo build --release --locked\n");
    exit(2)
}

#[inline(never)]
fn print_missing(rows: &'static [Row], found: u32) {
    for (name, bits) in rows {
        if !has(found, *bits) {
            print(" ");
            print(name);
        }
    }
}

#[inline(never)]
fn print(text: &str) {
    // Nobody reads it if standard error is closed.
    let _ = stderr().write_all(text.as_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_instruction_set_has_its_bit() {
        let found = registers();
        assert!(is_enough(found), "this program runs: {found:x?}");
        let without = |at: usize, bit: u32| {
            let mut fewer = found;
            fewer[at] &= !(1 << bit);
            !is_enough(fewer)
        };
        assert_eq!(without(0, 12), cfg!(target_feature = "fma"));
        assert_eq!(without(0, 27), cfg!(target_feature = "avx"), "the system does not save the registers of AVX");
        assert_eq!(without(1, 5), cfg!(target_feature = "avx2"));
        assert_eq!(without(2, 5), cfg!(target_feature = "lzcnt"));
        assert!(!without(1, 16), "AVX-512 is not needed");
    }
}

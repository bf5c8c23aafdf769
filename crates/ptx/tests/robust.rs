//! No input causes a panic or a hang, or is silently dropped.

use crate::common;

use common::ptx_files;
use proptest::prelude::*;
use ptx::Severity;

/// Runs all of the crate on one input, and checks what must hold for any.
fn exercise(bytes: &[u8]) {
    let parsed = ptx::parse("x.ptx", bytes);
    let length = parsed.source.text().len() as u32;
    for diagnostic in &parsed.diagnostics {
        assert!(diagnostic.span.start <= diagnostic.span.end && diagnostic.span.end <= length.max(1), "{diagnostic:?}");
    }
    parsed.render(Severity::Note);
    ptx::check(&parsed.module).render(&parsed.source, Severity::Note);
    ptx::Inventory::of(&parsed.module);
    let printed = ptx::print(&parsed.module);
    if !parsed.has_errors() {
        let again = ptx::parse("x.ptx", &printed);
        assert_eq!(again.render(Severity::Error), "", "{printed}");
        assert_eq!(ptx::print(&again.module), printed);
    }
}

fn samples() -> Vec<Vec<u8>> {
    let mut samples: Vec<Vec<u8>> = ptx_files("tests/data/valid").into_iter().map(|(_, text)| text).collect();
    samples.extend(ptx_files("tests/data/errors").into_iter().map(|(_, text)| text));
    samples
}

#[test]
fn words_that_start_a_function_within_its_header() {
    exercise(b".version 7.0\n.target sm_70\n.entry .visible .entry k() { ret; }\n");
    exercise(b".version 7.0\n.target sm_70\n.entry k() .visible .entry { ret; }\n");
}

#[test]
fn truncated_at_every_byte() {
    for text in samples() {
        // The first parts of all files are similar: use all of the shorter ones.
        let step = if text.len() > 3000 { 7 } else { 1 };
        for length in (0..text.len()).step_by(step) {
            exercise(&text[..length]);
        }
    }
}

/// Pieces of PTX, and pieces of other text.
const PIECES: &[&str] = &[
    ".version 7.8",
    ".target sm_75",
    ".entry",
    ".func",
    ".visible",
    "k",
    "(",
    ")",
    "{",
    "}",
    "[",
    "]",
    ",",
    ";",
    ":",
    "\n",
    " ",
    ".reg",
    ".b32",
    ".pred",
    ".param",
    ".shared",
    ".align",
    "16",
    "%r",
    "<",
    ">",
    "%r1",
    "@",
    "!",
    "|",
    "+",
    "-",
    "*",
    "/",
    "%",
    "~",
    "?",
    "=",
    "==",
    "<<",
    "&&",
    "0x1F",
    "0f3F800000",
    "1.5",
    "017",
    "9999999999999999999999",
    "_",
    ".x",
    ".b0",
    "add.s32",
    "ld.global.f32",
    "bra",
    "L",
    "call",
    "tex.2d.v4.f32.s32",
    "bar.sync",
    "ret",
    "$x",
    ".loc 1 2 3",
    ".file 1 \"a\"",
    ".section .x",
    ".pragma",
    "\"s\"",
    "\"",
    "//",
    "/*",
    "*/",
    "#",
    "generic",
    "WARP_SZ",
    ".branchtargets",
    ".callprototype",
    ".maxntid",
    ".global",
    ".ptr",
    "\u{e9}",
    "\\",
    ".",
    "::",
    ".L2::128B",
    "(.s64)",
];

fn soup() -> impl Strategy<Value = String> {
    let piece = proptest::sample::select(PIECES);
    let glue = prop_oneof![4 => Just(" "), 1 => Just(""), 1 => Just("\n")];
    proptest::collection::vec((piece, glue), 0..120)
        .prop_map(|parts| parts.into_iter().fold(String::new(), |text, (piece, glue)| text + piece + glue))
}

/// Kinds of damage to a valid file.
#[derive(Clone, Debug)]
enum Damage {
    Flip(usize, u8),
    Delete(usize, usize),
    Duplicate(usize, usize),
    Insert(usize, usize),
}

fn damage() -> impl Strategy<Value = Damage> {
    let at = any::<usize>();
    prop_oneof![
        (at, any::<u8>()).prop_map(|(at, byte)| Damage::Flip(at, byte)),
        (at, 1..60_usize).prop_map(|(at, n)| Damage::Delete(at, n)),
        (at, 1..60_usize).prop_map(|(at, n)| Damage::Duplicate(at, n)),
        (at, any::<usize>()).prop_map(|(at, piece)| Damage::Insert(at, piece)),
    ]
}

fn apply(text: &mut Vec<u8>, damage: &Damage) {
    if text.is_empty() {
        return;
    }
    let length = text.len();
    match *damage {
        Damage::Flip(at, byte) => text[at % length] = byte,
        Damage::Delete(at, n) => {
            let at = at % length;
            text.drain(at..(at + n).min(length));
        }
        Damage::Duplicate(at, n) => {
            let at = at % length;
            let piece = text[at..(at + n).min(length)].to_vec();
            text.splice(at..at, piece);
        }
        Damage::Insert(at, piece) => {
            let piece = PIECES[piece % PIECES.len()].bytes();
            text.splice(at % length..at % length, piece);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn token_soup(text in soup(), in_body in any::<bool>()) {
        let header = ".version 7.8\n.target sm_75\n";
        exercise(text.as_bytes());
        exercise(if in_body { format!("{header}.entry k() {{\n{text}\n}}") } else { format!("{header}{text}") }.as_bytes());
    }

    #[test]
    fn damaged_files(sample in any::<usize>(), damages in proptest::collection::vec(damage(), 1..8)) {
        let samples = samples();
        let mut text = samples[sample % samples.len()].clone();
        for damage in &damages {
            apply(&mut text, damage);
        }
        exercise(&text);
    }

    #[test]
    fn random_bytes(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
        exercise(&bytes);
    }
}

/// Time and memory are proportional to the length of the text: with repeated scanning, each of these would
/// take the product of two lengths.
#[test]
fn long_repetitions() {
    let pieces = [
        "{",
        "}",
        "(",
        "[",
        "-",
        "@",
        "a ",
        "a:",
        "1 + ",
        ".x ",
        ";",
        "/*",
        "\"",
        "\\",
        "add.s32 a b\n",
        ".entry k(",
        ".entry k() {\n",
        ".section x {",
        "mov a, {",
        "call (",
        "k<",
        "1 ? ",
        "\n.visible ",
        "%r1.x",
        "@@\n",
        ".loc 1 1 1,",
    ];
    for piece in pieces {
        for header in
            ["", ".version 7.8\n.target sm_75\n.entry k() {\n", ".version 7.8\n.target sm_75\n.global .u32 x = "]
        {
            let text = format!("{header}{}", piece.repeat(400_000 / piece.len()));
            let begin = std::time::Instant::now();
            exercise(text.as_bytes());
            assert!(begin.elapsed().as_secs() < 3, "{header}{piece}…");
        }
    }
}

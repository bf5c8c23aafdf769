//! Printed modules parse to the same tree.

use crate::common;

use common::{ptx_files, valid_files};
use proptest::prelude::*;
use ptx::Severity;

#[track_caller]
fn round_trip(name: &str, text: &[u8]) {
    let first = ptx::parse(name, text);
    let printed = ptx::print(&first.module);
    let second = ptx::parse(name, &printed);
    assert_eq!(second.render(Severity::Warning), "", "{printed}");
    if first.module != second.module {
        // The trees are too large to show: the texts show the difference.
        assert_eq!(printed, ptx::print(&second.module), "{name}");
        assert!(first.module.names == second.module.names, "{name}: names differ");
        panic!("{name}: trees differ");
    }
}

#[test]
fn valid() {
    for (name, text) in valid_files() {
        round_trip(&name, &text);
    }
}

#[test]
fn instructions_as_text() {
    let text = b".version 7.8\n.target sm_75\n.entry k() {\n@!%p1   ld . global .u32 %r1 , [ %rd1 + 4*2 ] ;\n\
        call ( r ), f, ( a, 1 ) ;\n tex.2d.v4.f32.s32 {%r1,_}, [t, s, {%x, %y}]; bar.sync 0;\n mov.u64 %rd1, a-4;\n\
        vmad.s32.s32.s32 %r1, -%r2.h1, - %r3, - 4+1; vadd4.u32.u32.u32 %r1.b210, %r2.b7654, %r3, %r1; add.s32 %r1, %r2+4, -1;}\n";
    // A blank between a dot and its word is not PTX, so the first line is given without it.
    let text = String::from_utf8_lossy(text).replace("ld . global", "ld .global");
    let parsed = ptx::parse("k.ptx", text);
    assert_eq!(parsed.render(Severity::Note), "");
    let kernel = parsed.module.kernels().next().unwrap();
    let lines: Vec<String> = kernel.instructions().map(|i| ptx::print_instruction(&parsed.module, i)).collect();
    let expected = [
        "@!%p1 ld.global.u32 %r1, [%rd1+8]",
        "call (r), f, (a, 1)",
        "tex.2d.v4.f32.s32 {%r1, _}, [t, s, {%x, %y}]",
        "bar.sync 0",
        "mov.u64 %rd1, a+-4",
        "vmad.s32.s32.s32 %r1, -%r2.h1, -%r3, -3",
        "vadd4.u32.u32.u32 %r1.b210, %r2.b7654, %r3, %r1",
        "add.s32 %r1, %r2+4, -1",
    ];
    assert_eq!(lines, expected);
}

/// Integers in every notation, and what they must be read as.
fn notation() -> impl Strategy<Value = (String, u64)> {
    let value = prop_oneof![any::<u64>(), 0_u64..100, any::<u32>().prop_map(u64::from)];
    (value, 0..5).prop_map(|(v, form)| match form {
        0 => (format!("{v}"), v),
        1 => (format!("0x{v:x}"), v),
        2 => (format!("0X{v:X}U"), v),
        3 => (format!("0{v:o}"), v),
        _ => (format!("0b{v:b}"), v),
    })
}

proptest! {
    #[test]
    fn integers((text, value) in notation()) {
        let parsed = ptx::parse("n.ptx", format!(".version 7.8\n.target sm_75\n.global .u64 x = {text};"));
        let variable = parsed.module.variables().next().unwrap();
        let Some(ptx::ast::Init::Value(ptx::ast::InitValue::Number(number), _)) = &variable.init else {
            panic!("no number: {}", parsed.render(Severity::Note));
        };
        prop_assert_eq!(number.int_bits(), Some(value));
    }

    /// Sums and products with random brackets, against the host's arithmetic.
    #[test]
    fn constant_expressions(terms in proptest::collection::vec((-1000_i64..1000, 0..6_u8), 1..12)) {
        let (mut text, mut value) = (String::from("1"), 1_i64);
        for (n, operator) in terms {
            let operand = format!("{}{}", if n < 0 { "-" } else { "" }, n.unsigned_abs());
            (text, value) = match operator {
                0 => (format!("({text} + {operand})"), value.wrapping_add(n)),
                1 => (format!("({operand} - {text})"), n.wrapping_sub(value)),
                2 => (format!("({text}) * {operand}"), value.wrapping_mul(n)),
                3 => (format!("(({text}) & ~{operand})"), value & !n),
                4 => (format!("(({text}) >> 3 ^ {operand})"), (value >> 3) ^ n),
                _ => (format!("(({text}) < {operand} ? {operand} : ({text}))"), if value < n { n } else { value }),
            };
            if text.len() > 2000 {
                break;
            }
        }
        let parsed = ptx::parse("n.ptx", format!(".version 7.8\n.target sm_75\n.global .u64 x = {text};"));
        prop_assert_eq!(parsed.render(Severity::Note), "");
        let variable = parsed.module.variables().next().unwrap();
        let Some(ptx::ast::Init::Value(ptx::ast::InitValue::Number(number), _)) = &variable.init else { panic!() };
        prop_assert_eq!(number.int_bits(), Some(value as u64));
    }
}

/// The parsed part of a broken file prints as a valid file.
#[test]
fn broken() {
    for (name, text) in ptx_files("tests/data/errors") {
        let first = ptx::parse(&name, &text);
        if first.module.items.is_empty() || first.module.version == (0, 0) {
            continue;
        }
        let printed = ptx::print(&first.module);
        let second = ptx::parse(&name, &printed);
        assert_eq!(ptx::print(&second.module), printed, "{name}");
    }
}

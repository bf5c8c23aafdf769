//! Golden texts of diagnostics: `data/errors/*.ptx` and `snapshots/`.

use crate::common;

use common::ptx_files;
use ptx::Severity;
use std::fmt::Write as _;

#[test]
fn golden() {
    let files = ptx_files("tests/data/errors");
    assert!(files.len() >= 15);
    for (name, text) in files {
        let parsed = ptx::parse(&name, &text);
        insta::assert_snapshot!(name.trim_end_matches(".ptx"), parsed.render(Severity::Note));
    }
}

#[test]
fn no_text_at_all() {
    let inputs: [(&str, &[u8]); 10] = [
        ("empty.ptx", b""),
        ("nul.ptx", b"\0\0"),
        ("k.cubin", b"\x7fELF\x02\x01\x01"),
        ("k.fatbin", b"\x50\xed\x55\xba\x01\x00"),
        ("k.bc", b"BC\xc0\xde5"),
        ("k.zip", b"PK\x03\x04"),
        ("utf16.ptx", b"\xff\xfe.\0v\0"),
        ("zeros.bin", b".version 7.8\n\0\0\x01\x02"),
        ("latin1.ptx", b".version 7.8\n.target sm_75 // \xe9t\xe9\n.entry k() { ret; }\n"),
        ("random.bin", b"\x93\x12\xfe\xa1\xb7\xc3\x08\n\xee"),
    ];
    let mut out = String::new();
    for (name, bytes) in inputs {
        write!(out, "{}", ptx::parse(name, bytes).render(Severity::Note)).unwrap();
    }
    insta::assert_snapshot!(out);
}

#[test]
fn nul_at_the_end_and_byte_order_mark_are_fine() {
    let parsed = ptx::parse("nvrtc.ptx", b"\xef\xbb\xbf.version 7.8\n.target sm_75\n.entry k() { ret; }\n\0");
    assert_eq!(parsed.render(Severity::Note), "");
}

#[test]
fn many_errors_are_counted() {
    let mut text = String::from(".version 7.8\n.target sm_75\n.entry k()\n{\n");
    text.extend((0..250).map(|_| "\tadd.s32 ;;\n\tmov.u32 %r1 %r2;\n"));
    text.push_str("}\n");
    let rendered = ptx::parse("many.ptx", text).render(Severity::Error);
    assert_eq!(rendered.matches(": error: ").count(), 100);
    assert!(rendered.ends_with("many.ptx: 150 more errors not shown\n"), "{rendered}");
}

#[test]
fn a_message_is_shown_once_for_a_line() {
    let text = format!(".version 7.8\n.target sm_75\n{}\n}}\n", "}\t".repeat(60));
    insta::assert_snapshot!(ptx::parse("braces.ptx", text).render(Severity::Error));
}

#[test]
fn a_place_in_a_long_line_is_shown() {
    let mut text = String::from(".version 7.8\n.target sm_75\n.global .u32 x[] = {");
    text.extend((0..5000).map(|i| format!("{i}, ")));
    text.push_str("5000 5001, 5002};\n");
    insta::assert_snapshot!(ptx::parse("long.ptx", text).render(Severity::Error));
}

#[test]
fn deep_nesting_is_refused() {
    let deep = |open: &str, close: &str| format!("{}1{}", open.repeat(100_000), close.repeat(100_000));
    let bodies = [
        deep("{ ", "; }"),
        format!("mov.u32 %r1, {};", deep("(", ")")),
        format!("mov.u32 %r1, {};", deep("-", "")),
        format!("mov.u32 %r1, {};", deep("!", "")),
        format!("mov.b32 {}, %r1;", deep("{", "}")),
        format!("mov.u32 %r1, {};", deep("1 ? ", " : 2")),
        format!("ld.u32 %r1, {};", deep("[a, ", "]")),
        format!("mov.u32 %r1, {};", deep("a[", "]")),
        format!("call {};", deep("(", ")")),
    ];
    for body in bodies {
        let text =
            format!(".version 7.8\n.target sm_75\n.entry k() {{\n{body}\n}}\n.global .u32 x = {};\n", deep("{", "}"));
        let rendered = ptx::parse("deep.ptx", text).render(Severity::Error);
        assert!(rendered.contains("nested more than 100 deep"), "{rendered}");
    }
}

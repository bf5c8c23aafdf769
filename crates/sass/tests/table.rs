//! The instruction table is consistent: no two rows describe one word, and every value has a text.

use sass::decode::row::{Field, RESERVED, Row, Show, bits};
use sass::decode::{SassOp, table};
use std::collections::{BTreeMap, BTreeSet};

const ARCHITECTURES: [u8; 6] = [70, 75, 80, 86, 89, 90];

/// Fixed bits of a row apart from its opcode: mask and value.
fn fixed(row: &Row) -> (u128, u128) {
    row.fixed.iter().fold((0, 0), |(mask, value), &(field, number)| {
        assert_eq!(field.len_high, 0, "{}: fixed fields have one part", row.op);
        (mask | field.mask(), value | u128::from(number) << field.lo)
    })
}

#[test]
fn no_two_rows_overlap() {
    let rows: Vec<&Row> = table::rows().collect();
    for (at, a) in rows.iter().enumerate() {
        for b in &rows[at + 1..] {
            let together =
                ARCHITECTURES.iter().any(|sm| (a.sm.0..=a.sm.1).contains(sm) && (b.sm.0..=b.sm.1).contains(sm));
            if !together || a.code != b.code || a.forms & b.forms == 0 {
                continue;
            }
            let ((mask_a, value_a), (mask_b, value_b)) = (fixed(a), fixed(b));
            let common = mask_a & mask_b;
            assert_ne!(value_a & common, value_b & common, "{} ({}) and {} ({}) overlap", a.op, a.doc, b.op, b.doc);
        }
    }
}

#[test]
fn every_operation_has_a_row_and_every_row_a_meaning() {
    let used: BTreeSet<SassOp> = table::rows().map(|row| row.op).collect();
    let unused: Vec<&SassOp> = SassOp::ALL.iter().filter(|op| !used.contains(op)).collect();
    assert!(unused.is_empty(), "without a row: {unused:?}");
    for row in table::rows() {
        assert!(!row.doc.is_empty() && row.forms != 0 && row.code < 1 << 9, "{}", row.op);
    }
}

#[test]
fn modifiers_name_every_value_of_their_field() {
    for row in table::rows() {
        for modifier in row.mods {
            let values = 1usize << (modifier.field.len + modifier.field.len_high);
            assert!(modifier.text.len() <= values, "{} {}: more texts than values", row.op, modifier.name);
            assert!(modifier.text.len() == values || values > 2, "{} {}: too few texts", row.op, modifier.name);
            let texts = modifier.text.iter().filter(|text| !text.is_empty() && **text != RESERVED);
            // `x16` is the second part of a shape.
            texts.for_each(|text| assert!(text.starts_with(['.', 'x']), "{} {}: {text}", row.op, modifier.name));
        }
    }
}

#[test]
fn modifiers_of_a_row_share_no_bits() {
    for row in table::rows() {
        let mut seen: BTreeMap<u8, &str> = BTreeMap::new();
        for modifier in row.mods.iter().filter(|modifier| modifier.show == Show::Always) {
            for bit in (0..128).filter(|bit| modifier.field.mask() >> bit & 1 == 1) {
                let other = seen.insert(bit, modifier.name);
                assert_eq!(other, None, "{}: bit {bit} is in two modifiers", row.op);
            }
        }
    }
}

#[test]
fn fields_join_their_parts() {
    let field = Field { lo: 16, len: 8, lo_high: 34, len_high: 48 };
    assert_eq!(field.get(0xab << 16 | 0x1234 << 34), 0x12_34ab);
    assert_eq!(bits(0, 12).get(0xfff_f123), 0x123);
    assert_eq!(field.mask().count_ones(), 56);
}

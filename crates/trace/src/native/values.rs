//! Encoding of operand values.
//!
//! For each register that an instruction reads there is a byte: the form of the values of the active lanes
//! (the lowest three bits) and of the others (the next three). The data of these forms follows, relative to
//! the register's value when the warp last read it.
//!
//! | | given | bytes |
//! | --- | --- | --- |
//! | 0 | as it was | |
//! | 1 | the same in all lanes | difference of the first lane to what it was |
//! | 2 | regular | the same, and the distance from lane to lane |
//! | 3 | a list | the same, and for each further lane the difference to the lane before |
//! | 4 | zeros and ones | 32 bits |
//!
//! The last values of registers are a table indexed by the lowest bits of the register's number; registers
//! that share a place cost bytes, never correctness.

use super::bytes::{Cursor, Expected, put_signed};
use isa::{OperandValues, RegId};
use kit::{LaneMask, WARP_LANES};

const SAME: u8 = 0;
const UNIFORM: u8 = 1;
const REGULAR: u8 = 2;
const LIST: u8 = 3;
const BITS: u8 = 4;

/// Number of bits of a form.
const KIND_BITS: u32 = 3;

/// Number of places in a table of last values.
const PLACES: usize = 64;

type Column = [u32; WARP_LANES];

/// Values of a warp's registers when they were last read; zeros at first.
#[derive(Clone, Debug)]
pub(super) struct LastValues(Box<[Column; PLACES]>);

impl Default for LastValues {
    fn default() -> Self {
        Self(Box::new([[0; WARP_LANES]; PLACES]))
    }
}

impl LastValues {
    fn of(&mut self, reg: RegId) -> &mut Column {
        &mut self.0[reg.index() % PLACES]
    }

    /// Appends the values of the registers `srcs` that an instruction with `active` lanes reads.
    pub fn note(&mut self, out: &mut Vec<u8>, srcs: &[RegId], active: LaneMask, values: &OperandValues) {
        for (&reg, column) in srcs.iter().zip(&values.columns) {
            let last = self.of(reg);
            let kind_at = out.len();
            out.push(0);
            let of_active = put_lanes(out, active, column, last);
            let of_others = put_lanes(out, !active, column, last);
            out[kind_at] = of_active | of_others << KIND_BITS;
            *last = *column;
        }
    }

    /// Reads the values of the registers `srcs` for an instruction with `active` lanes.
    pub fn take(
        &mut self,
        cursor: &mut Cursor,
        bytes: &[u8],
        srcs: &[RegId],
        active: LaneMask,
        values: &mut OperandValues,
    ) -> Result<(), Expected> {
        for &reg in srcs {
            let last = self.of(reg);
            let kinds = cursor.byte(bytes)?;
            take_lanes(cursor, bytes, kinds & ((1 << KIND_BITS) - 1), active, last)?;
            take_lanes(cursor, bytes, kinds >> KIND_BITS, !active, last)?;
            values.columns.push(*last);
        }
        Ok(())
    }
}

/// Appends the values of `lanes` of `column`; returns their form.
fn put_lanes(out: &mut Vec<u8>, lanes: LaneMask, column: &Column, last: &Column) -> u8 {
    if kit::lanes(lanes).all(|lane| column[lane] == last[lane]) {
        return SAME;
    }
    let first = lanes.trailing_zeros() as usize;
    let rest = lanes & (lanes - 1);
    let difference = |to: u32, from: u32| i64::from(to.wrapping_sub(from) as i32);
    let from_last = difference(column[first], last[first]);
    if kit::lanes(rest).all(|lane| column[lane] == column[first]) {
        put_signed(out, from_last);
        return UNIFORM;
    }
    if kit::lanes(lanes).all(|lane| column[lane] <= 1) {
        let bits: u32 = kit::lanes(lanes).fold(0, |bits, lane| bits | column[lane] << lane);
        out.extend(bits.to_le_bytes());
        return BITS;
    }
    put_signed(out, from_last);
    if let Some(stride) = stride(first, rest, column) {
        put_signed(out, i64::from(stride as i32));
        return REGULAR;
    }
    let mut before = column[first];
    for lane in kit::lanes(rest) {
        put_signed(out, difference(column[lane], before));
        before = column[lane];
    }
    LIST
}

/// The difference between lanes, if it is constant from lane `first` through all of `rest`.
fn stride(first: usize, rest: LaneMask, column: &Column) -> Option<u32> {
    let second = rest.trailing_zeros() as usize;
    let (distance, lanes) = (column[second].wrapping_sub(column[first]) as i32, (second - first) as i32);
    let stride = (distance % lanes == 0).then(|| (distance / lanes) as u32)?;
    kit::lanes(rest).all(|lane| column[lane] == at(column[first], stride, lane - first)).then_some(stride)
}

fn at(base: u32, stride: u32, lanes: usize) -> u32 {
    base.wrapping_add(stride.wrapping_mul(lanes as u32))
}

/// Sets `lanes` of `column`, which holds the last values, to the values in the bytes.
fn take_lanes(
    cursor: &mut Cursor,
    bytes: &[u8],
    kind: u8,
    lanes: LaneMask,
    column: &mut Column,
) -> Result<(), Expected> {
    if kind == SAME {
        return Ok(());
    }
    if lanes == 0 {
        return Err("values of lanes that there are");
    }
    if kind == BITS {
        let bits = cursor.word(bytes)?;
        kit::lanes(lanes).for_each(|lane| column[lane] = bits >> lane & 1);
        return Ok(());
    }
    let first = lanes.trailing_zeros() as usize;
    let base = column[first].wrapping_add(cursor.signed(bytes)? as u32);
    match kind {
        UNIFORM => kit::lanes(lanes).for_each(|lane| column[lane] = base),
        REGULAR => {
            let stride = cursor.signed(bytes)? as u32;
            kit::lanes(lanes).for_each(|lane| column[lane] = at(base, stride, lane - first));
        }
        LIST => {
            column[first] = base;
            let mut before = base;
            for lane in kit::lanes(lanes & (lanes - 1)) {
                before = before.wrapping_add(cursor.signed(bytes)? as u32);
                column[lane] = before;
            }
        }
        _ => return Err("values"),
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn column() -> impl Strategy<Value = Column> {
        prop_oneof![
            any::<u32>().prop_map(|value| [value; WARP_LANES]),
            (any::<u32>(), any::<u32>()).prop_map(|(base, stride)| std::array::from_fn(|lane| at(base, stride, lane))),
            any::<u32>().prop_map(|bits| std::array::from_fn(|lane| bits >> lane & 1)),
            proptest::array::uniform32(any::<u32>()),
        ]
    }

    proptest! {
        #[test]
        fn what_goes_in_comes_out(
            instructions in proptest::collection::vec((any::<u32>(), proptest::collection::vec((0u16..150, column()), 0..5)), 1..20),
        ) {
            let (mut bytes, mut last) = (Vec::new(), LastValues::default());
            let split = |operands: &[(u16, Column)]| {
                let (srcs, columns): (Vec<_>, Vec<_>) = operands.iter().map(|&(reg, column)| (RegId(reg), column)).unzip();
                (srcs, OperandValues { columns })
            };
            for (active, operands) in &instructions {
                let (srcs, values) = split(operands);
                last.note(&mut bytes, &srcs, *active, &values);
            }
            let (mut cursor, mut last) = (Cursor::over(&bytes), LastValues::default());
            for (active, operands) in &instructions {
                let (srcs, values) = split(operands);
                let mut out = OperandValues::default();
                prop_assert_eq!(last.take(&mut cursor, &bytes, &srcs, *active, &mut out), Ok(()));
                prop_assert_eq!(out, values);
            }
            prop_assert_eq!(cursor.left(), 0);
        }

        #[test]
        fn any_bytes_give_values_or_an_error(bytes in proptest::collection::vec(any::<u8>(), 0..200), active: u32) {
            let (mut cursor, mut last) = (Cursor::over(&bytes), LastValues::default());
            let mut out = OperandValues::default();
            while last.take(&mut cursor, &bytes, &[RegId(3)], active, &mut out).is_ok() {}
            prop_assert!(out.columns.len() <= bytes.len());
        }
    }

    /// A column that stays, and one that is the same in all lanes, take one byte and two.
    #[test]
    fn regular_values_are_short() {
        let (mut bytes, mut last) = (Vec::new(), LastValues::default());
        let same = OperandValues { columns: vec![[7; WARP_LANES]] };
        last.note(&mut bytes, &[RegId(0)], LaneMask::MAX, &same);
        assert_eq!(bytes.len(), 2);
        last.note(&mut bytes, &[RegId(0)], LaneMask::MAX, &same);
        assert_eq!(bytes.len(), 3);
    }
}

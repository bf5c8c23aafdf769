//! One instruction of a trace: `PC MASK ND [Rd…] OPCODE NS [Rs…] WIDTH [MODE ADDRESSES] [IMM]`.

use kit::{LaneMask, WARP_LANES};
use std::ops::Range;

/// Optional fields of lines.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Layout {
    /// Fields before PC: CTA and warp (tracer versions 1 and 2), source line.
    pub leading: u8,
}

impl Layout {
    pub fn of(header: &crate::Header) -> Self {
        Self { leading: if header.tracer_version < 3 { 4 } else { 0 } + u8::from(header.line_info) }
    }

    /// Position of the program counter in the line at the start of `text`, if everything before it is valid.
    pub fn start(self, text: &[u8]) -> Option<usize> {
        let mut at = 0;
        for _ in 0..self.leading {
            let digits = text[at..].iter().take_while(|c| c.is_ascii_digit()).count();
            at += digits + 1;
            if !(1..=19).contains(&digits) || text.get(at - 1) != Some(&b' ') {
                return None;
            }
        }
        Some(at)
    }
}

/// Words separated by blanks.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Words<'a> {
    text: &'a [u8],
    at: usize,
}

impl<'a> Words<'a> {
    pub fn new(text: &'a [u8]) -> Self {
        Self::from(text, 0)
    }

    /// The words of `text`, starting at byte `at`.
    pub fn from(text: &'a [u8], at: usize) -> Self {
        Self { text, at }
    }

    #[inline]
    pub fn next(&mut self) -> Option<&'a [u8]> {
        let text = self.text;
        let mut from = self.at;
        while from < text.len() && text[from] <= b' ' {
            from += 1;
        }
        let mut to = from;
        while to < text.len() && text[to] > b' ' {
            to += 1;
        }
        self.at = to;
        (from < to).then(|| &text[from..to])
    }

    /// The first address, and the position of its digits.
    #[inline]
    fn base(&mut self) -> Result<(u64, Range<usize>), &'static str> {
        let word = self.next().ok_or("a base address")?;
        let digits = word.strip_prefix(b"0x").unwrap_or(word).len();
        Ok((hexadecimal(word).ok_or("a base address")?, self.at - digits..self.at))
    }

    fn decimal(&mut self, what: &'static str) -> Result<u64, &'static str> {
        self.next().and_then(decimal).ok_or(what)
    }
}

/// Reads an unsigned number.
#[inline]
pub(crate) fn decimal(word: &[u8]) -> Option<u64> {
    if word.is_empty() || word.len() > 19 {
        return None;
    }
    word.iter().try_fold(0u64, |n, &c| c.is_ascii_digit().then(|| n * 10 + u64::from(c - b'0')))
}

/// Reads a signed number.
#[inline]
fn signed(word: &[u8]) -> Option<i64> {
    match word.strip_prefix(b"-") {
        Some(digits) => decimal(digits).map(|n| (n as i64).wrapping_neg()),
        None => decimal(word).map(|n| n as i64),
    }
}

/// Reads a hexadecimal number, with or without `0x`.
#[inline]
fn hexadecimal(word: &[u8]) -> Option<u64> {
    let digits = word.strip_prefix(b"0x").unwrap_or(word);
    leading_hexadecimal(digits).and_then(|(number, length)| (length == digits.len()).then_some(number))
}

/// Maximum number of digits of a hexadecimal number.
const HEX_DIGITS: usize = 16;

/// Value of each character as a hexadecimal digit; 255 if it is none.
const HEX: [u8; 256] = {
    let mut values = [u8::MAX; 256];
    let mut digit = 0;
    while digit < 16 {
        let characters = [b"0123456789abcdef"[digit as usize], b"0123456789ABCDEF"[digit as usize]];
        values[characters[0] as usize] = digit;
        values[characters[1] as usize] = digit;
        digit += 1;
    }
    values
};

/// Value and number of the hexadecimal digits, without `0x`, at the start of `text`.
#[inline]
pub(crate) fn leading_hexadecimal(text: &[u8]) -> Option<(u64, usize)> {
    let (mut number, mut length) = (0, 0);
    for &character in &text[..text.len().min(HEX_DIGITS + 1)] {
        let digit = HEX[usize::from(character)];
        if digit == u8::MAX {
            break;
        }
        number = number << 4 | u64::from(digit);
        length += 1;
    }
    (1..=HEX_DIGITS).contains(&length).then_some((number, length))
}

/// The parts of a line that identify the static instruction.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Line<'a> {
    pub pc: u64,
    /// `ND [Rd…] OPCODE NS [Rs…]`: with the PC, the static instruction.
    pub fixed: &'a [u8],
    pub dynamic: Dynamic<'a>,
}

/// One execution, from a line.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Dynamic<'a> {
    pub mask: LaneMask,
    /// Bytes per access according to the tracer; not 0 if addresses follow.
    pub width: u64,
    /// Words after the width.
    pub rest: Words<'a>,
    pub places: Places,
}

/// Positions in a line.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Places {
    /// The program counter, which is first except for the fields of [`Layout`].
    pub start: usize,
    /// The digits of the mask.
    pub mask: (usize, usize),
    /// The words after the width.
    pub rest: usize,
}

impl Places {
    /// The same positions in a text that starts `bytes` later.
    pub const fn shifted_back(self, bytes: usize) -> Self {
        let Self { start, mask, rest } = self;
        Self { start: start - bytes, mask: (mask.0 - bytes, mask.1 - bytes), rest: rest - bytes }
    }
}

/// Maximum number of registers on each side of an instruction; Accel-Sim has at most 4.
const MAX_REGISTERS: u64 = 16;

impl<'a> Line<'a> {
    /// Splits `text` into its parts. The error names the expected part.
    #[inline]
    pub fn parse(text: &'a [u8], layout: Layout) -> Result<Self, &'static str> {
        let mut words = Words::new(text);
        for _ in 0..layout.leading {
            words.decimal("CTA, warp or source line before the program counter")?;
        }
        let word = words.next();
        let start = words.at - word.map_or(0, <[u8]>::len);
        let pc = word.and_then(hexadecimal).ok_or("a program counter in hexadecimal")?;
        let word = words.next().ok_or("an active mask in hexadecimal")?;
        let mask_at = (words.at - word.strip_prefix(b"0x").unwrap_or(word).len(), words.at);
        let mask = hexadecimal(word).ok_or("an active mask in hexadecimal")?;
        let mask = LaneMask::try_from(mask).map_err(|_| "an active mask of 32 bits")?;
        let from = words.at + 1;
        skip_registers(&mut words)?;
        words.next().ok_or("an opcode")?;
        skip_registers(&mut words)?;
        let fixed = text[from..words.at].trim_ascii_start();
        let width = words.decimal("the width of the access, 0 for none")?;
        let places = Places { start, mask: mask_at, rest: words.at };
        Ok(Self { pc, fixed, dynamic: Dynamic { mask, width, rest: words, places } })
    }
}

fn skip_registers(words: &mut Words<'_>) -> Result<(), &'static str> {
    let count = words.decimal("a number of registers")?;
    if count > MAX_REGISTERS {
        return Err("no more than 16 registers");
    }
    for _ in 0..count {
        words.next().ok_or("as many registers as announced")?;
    }
    Ok(())
}

/// Addresses of the active lanes, in the shortest form.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Addresses {
    Absent,
    /// `base` in the first active lane, `stride` more in each following one.
    Affine {
        base: u64,
        stride: i64,
    },
    List,
}

/// Maximum number of bits of an address on a GPU; arithmetic with one stays within 64.
pub(crate) const ADDRESS_BITS: u32 = 57;

/// Whether all `lanes` addresses starting at `base` are possible on a GPU.
pub(crate) fn is_sane(base: u64, stride: i64, lanes: u32) -> bool {
    let last = i128::from(base) + i128::from(stride) * i128::from(lanes.saturating_sub(1));
    base >> ADDRESS_BITS == 0 && (0..1 << ADDRESS_BITS).contains(&last)
}

/// Addresses and their form in a line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Access {
    pub addresses: Addresses,
    /// Position of the first address's digits, if the others are distances from it.
    pub base: Option<Range<usize>>,
}

/// Reads addresses. If they are a list, it is stored in `list` for the active lanes in order.
#[inline]
pub(crate) fn addresses(
    words: &mut Words<'_>,
    mask: LaneMask,
    list: &mut [u64; WARP_LANES],
) -> Result<Access, &'static str> {
    let lanes = mask.count_ones() as usize;
    let mode = words.decimal("an address mode")?;
    let base = match mode {
        0 => {
            for address in &mut list[..lanes] {
                *address = words.next().and_then(hexadecimal).ok_or("an address for each active lane")?;
            }
            None
        }
        1 => {
            let (base, digits) = words.base()?;
            let stride = words.next().and_then(signed).ok_or("a stride")?;
            let run = mask.checked_shr(mask.trailing_zeros()).unwrap_or(0).trailing_ones() as usize;
            if run == lanes {
                return Ok(Access { addresses: Addresses::Affine { base, stride }, base: Some(digits) });
            }
            // The tracer writes this mode only for one run of lanes; Accel-Sim uses 0 in other lanes.
            list[..lanes].fill(0);
            for (i, address) in list[..run].iter_mut().enumerate() {
                *address = base.wrapping_add_signed(stride.wrapping_mul(i as i64));
            }
            None
        }
        2 => {
            let (base, digits) = words.base()?;
            let mut address = base;
            for (i, slot) in list[..lanes].iter_mut().enumerate() {
                if i > 0 {
                    let delta = words.next().and_then(signed).ok_or("a delta for each active lane but the first")?;
                    address = address.wrapping_add_signed(delta);
                }
                *slot = address;
            }
            Some(digits)
        }
        // Tensor copies have no addresses of lanes.
        3 | 4 => return Ok(Access { addresses: Addresses::Absent, base: None }),
        _ => return Err("an address mode from 0 to 4"),
    };
    Ok(Access { addresses: shorten(&list[..lanes]), base })
}

/// Replaces a list with equal steps by its stride.
fn shorten(list: &[u64]) -> Addresses {
    let Some(&base) = list.first() else { return Addresses::Absent };
    let stride = list.get(1).map_or(0, |second| second.wrapping_sub(base));
    let same = list.windows(2).all(|pair| pair[1].wrapping_sub(pair[0]) == stride);
    if same { Addresses::Affine { base, stride: stride as i64 } } else { Addresses::List }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str, mask: LaneMask) -> Result<Vec<u64>, &'static str> {
        let mut list = [7; WARP_LANES];
        let lanes = mask.count_ones() as usize;
        Ok(match addresses(&mut Words::new(text.as_bytes()), mask, &mut list)?.addresses {
            Addresses::Absent => vec![],
            Addresses::Affine { base, stride } => {
                (0..lanes as i64).map(|i| base.wrapping_add_signed(stride * i)).collect()
            }
            Addresses::List => list[..lanes].to_vec(),
        })
    }

    #[test]
    fn all_address_modes_give_each_active_lane_its_address() {
        assert_eq!(read("0 0x10 0x18 0x100", 0b10101), Ok(vec![0x10, 0x18, 0x100]));
        assert_eq!(read("1 0x1000 -4", 0b1110), Ok(vec![0x1000, 0xffc, 0xff8]));
        assert_eq!(read("1 0x1000 4", 0b10110), Ok(vec![0x1000, 0x1004, 0]), "a gap: as Accel-Sim");
        assert_eq!(read("1 0x0 0", 0), Ok(vec![]));
        assert_eq!(read("2 0x1000 8 -16 99", 0b1101), Ok(vec![0x1000, 0x1008, 0xff8]));
        assert_eq!(read("2 0x1000", 1), Ok(vec![0x1000]), "one lane has no delta");
        assert_eq!(read("3 2 0x10 0x20", 3), Ok(vec![]));
        assert!(read("0 0x10", 3).is_err() && read("5 0x10", 1).is_err() && read("", 1).is_err());
    }

    #[test]
    fn a_line_comes_apart_into_what_is_fixed_and_what_is_not() {
        let line = Line::parse(b"00a0 000000ff 1 R4 LDG.E.64 1 R2 8 1 0x10 8 0 ", Layout { leading: 0 }).unwrap();
        assert_eq!((line.pc, line.fixed), (0xa0, &b"1 R4 LDG.E.64 1 R2"[..]));
        assert_eq!((line.dynamic.mask, line.dynamic.width), (0xff, 8));
        let old = Line::parse(b"3 0 0 7 0010 ffffffff 0 EXIT 0 0", Layout { leading: 4 }).unwrap();
        assert_eq!((old.pc, old.fixed), (0x10, &b"0 EXIT 0"[..]));
        for bad in ["", "0", "0 1", "0 1 1 R1", "0 1 99", "0 1ffffffff 0 EXIT 0 0", "0 1 0 EXIT 0"] {
            assert!(Line::parse(bad.as_bytes(), Layout { leading: 0 }).is_err(), "{bad}");
        }
    }
}

//! A warp whose lines other warps repeat as a whole.
//!
//! Most warps of a kernel execute the same instructions by the same lanes, and leave the same lines except for first
//! addresses. The text between two of these is compared at once.

use crate::line::leading_hexadecimal;
use crate::program::InstIndex;
use crate::repeat::{Reach, Repeat};

/// A line with a first address.
#[derive(Clone, Copy, Debug)]
struct Cut {
    /// Positions in the text of the line and of the digits of the address.
    line: usize,
    digits: usize,
    /// Lines before it.
    lines: usize,
    reach: Reach,
    /// Upper half of the address.
    high: u32,
}

/// Maximum size of the lines of a warp that are remembered.
const MOST_BYTES: usize = 64 << 20;

/// The lines of a warp.
#[derive(Debug, Default)]
pub(crate) struct Whole {
    /// All lines, without the digits of first addresses.
    text: Vec<u8>,
    cuts: Vec<Cut>,
    /// The instruction of each line.
    pub insts: Vec<InstIndex>,
    /// The epoch in which the decoded warp is valid.
    pub epoch: u32,
    /// Warps that have repeated all lines and are yet to be counted.
    pub times: u64,
}

/// The first lines of another warp, which repeat the lines of a [`Whole`].
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Prefix {
    pub lines: usize,
    /// Length of these lines.
    pub bytes: usize,
    /// Position in the text of the lines that do not.
    at: usize,
}

impl Whole {
    /// Removes the lines after `prefix`, for others to be appended.
    pub fn restart(&mut self, prefix: Prefix, epoch: u32) {
        self.text.truncate(prefix.at);
        self.insts.truncate(prefix.lines);
        self.cuts.retain(|cut| cut.lines < prefix.lines);
        self.epoch = epoch;
    }

    /// Appends the line that `repeat`, of the instruction `at`, remembers. Returns false if it does not, or if the lines
    /// take too much memory.
    pub fn add(&mut self, at: InstIndex, repeat: &Repeat) -> bool {
        if self.text.len() > MOST_BYTES {
            return false;
        }
        let Some((head, tail, reach)) = repeat.parts() else { return false };
        let line = self.text.len();
        self.text.extend_from_slice(head);
        if let Some(reach) = reach {
            let (digits, lines) = (self.text.len(), self.insts.len());
            self.cuts.push(Cut { line, digits, lines, reach, high: repeat.high });
        }
        self.text.extend_from_slice(tail);
        self.insts.push(at);
        true
    }

    /// The lines at the start of `ahead` that repeat these. Appends the lower halves of their first addresses to `bases`.
    pub fn compare(&self, ahead: &[u8], bases: &mut Vec<u32>) -> Prefix {
        let (mut prefix, mut bases_of_prefix) = (Prefix::default(), bases.len());
        let (mut at, mut from) = (0, 0);
        for cut in &self.cuts {
            let Some(rest) = ahead[at..].strip_prefix(&self.text[from..cut.digits]) else { break };
            at += cut.digits - from;
            from = cut.digits;
            // Lines are repeated if the next line with an address begins as it should.
            prefix = Prefix { lines: cut.lines, bytes: at - (cut.digits - cut.line), at: cut.line };
            bases_of_prefix = bases.len();
            match leading_hexadecimal(rest) {
                Some((base, digits)) if base >> 32 == u64::from(cut.high) && cut.reach.of(base) == Some(false) => {
                    bases.push(base as u32);
                    at += digits;
                }
                _ => break,
            }
        }
        let rest = &self.text[from..];
        let is_last = self.cuts.last().is_none_or(|cut| cut.lines == prefix.lines && bases.len() > bases_of_prefix);
        if is_last && ahead[at..].starts_with(rest) {
            return Prefix { lines: self.insts.len(), bytes: at + rest.len(), at: self.text.len() };
        }
        bases.truncate(bases_of_prefix);
        prefix
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A warp of three lines, the second of which has an address.
    fn whole() -> Whole {
        let reach = Reach { low: 0, high: 124, odd_below: 0x100 };
        let cut = Cut { line: 2, digits: 5, lines: 1, reach, high: 1 };
        Whole { text: b"a\nb0x 4\nc\n".into(), cuts: vec![cut], insts: vec![0, 1, 2], ..Whole::default() }
    }

    #[test]
    fn lines_are_repeated_up_to_the_first_that_differs() {
        for (ahead, lines, bytes, found) in [
            ("a\nb0x100000200 4\nc\nd", 3, 19, vec![0x200]),
            // Another first line, address beyond its upper half, suspicious address, no digits: the rest is read.
            ("x\nb0x100000200 4\nc\n", 0, 0, vec![]),
            ("a\nb0x200000200 4\nc\n", 1, 2, vec![]),
            ("a\nb0x20 4\nc\n", 1, 2, vec![]),
            ("a\nb0x 4\nc\n", 1, 2, vec![]),
            // Text after the address differs: its line is read again.
            ("a\nb0x100000200 8\nc\n", 1, 2, vec![]),
            ("a\nb0x100000200 4\nx\n", 1, 2, vec![]),
            ("a\nb0x1000002", 1, 2, vec![]),
            ("a\n", 0, 0, vec![]),
        ] {
            let mut bases = Vec::new();
            let prefix = whole().compare(ahead.as_bytes(), &mut bases);
            assert_eq!((prefix.lines, prefix.bytes, &bases), (lines, bytes, &found), "{ahead:?}");
        }
    }
}

//! How an address chooses its set.

use crate::dram::{AddressMap, WithinSlice};
use crate::ipoly::IPoly;
use config::IndexFunction;

/// The set-index function of one cache, resolved.
#[derive(Clone, Debug)]
pub(super) struct SetIndex {
    sets: u32,
    line_shift: u32,
    function: Function,
    /// In an L2 slice: what chose the slice is left out of addresses.
    within_slice: Option<WithinSlice>,
}

#[derive(Clone, Debug)]
enum Function {
    /// One set: nothing to choose.
    Only,
    Linear,
    Masked,
    Xor,
    Fermi,
    IPoly(IPoly),
}

impl SetIndex {
    /// For `sets` sets of lines of `1 << line_shift` bytes. Hashes need a power of two of sets,
    /// Fermi's 32 or 64, IPOLY's at most 4096; other numbers are indexed linearly.
    pub fn new(function: IndexFunction, sets: u32, line_shift: u32) -> Self {
        let is_power = sets.is_power_of_two();
        let function = match function {
            _ if sets <= 1 => Function::Only,
            IndexFunction::Xor if is_power => Function::Xor,
            IndexFunction::Fermi if sets == 32 || sets == 64 => Function::Fermi,
            IndexFunction::IPoly if is_power && sets <= IPoly::MAX_POSITIONS => Function::IPoly(IPoly::new(sets)),
            IndexFunction::Linear if is_power => Function::Masked,
            IndexFunction::Masked => Function::Masked,
            _ => Function::Linear,
        };
        Self { sets, line_shift, function, within_slice: None }
    }

    /// The same for a slice of an L2 that addresses are spread over by `map`.
    pub fn within_slice(self, map: &AddressMap) -> Self {
        Self { within_slice: Some(map.within_slice().clone()), ..self }
    }

    /// The set of byte address `address`.
    #[inline]
    pub fn of(&self, address: u64) -> u32 {
        let address = self.within_slice.as_ref().map_or(address, |within| within.of(address));
        let line = address >> self.line_shift;
        let low = || (line & u64::from(self.sets - 1)) as u32;
        let upper = || line >> self.sets.trailing_zeros();
        match &self.function {
            Function::Only => 0,
            Function::Masked => low(),
            Function::Linear => (line % u64::from(self.sets)) as u32,
            Function::Xor => low() ^ (upper() & u64::from(self.sets - 1)) as u32,
            Function::IPoly(hash) => hash.hash(upper(), low()),
            Function::Fermi => self.fermi(address, line),
        }
    }

    /// The hash found in Fermi's L1 (Nugteren et al., HPCA 2014): five line bits against address
    /// bits 13, 14, 15, 17 and 19; with 64 sets, bit 12 on top.
    fn fermi(&self, address: u64, line: u64) -> u32 {
        let bit = |from: u32, to: u32| (address >> from & 1) << to;
        let upper = bit(13, 0) | bit(14, 1) | bit(15, 2) | bit(17, 3) | bit(19, 4);
        let top = if self.sets == 64 { bit(12, 5) } else { 0 };
        (((line & 0x1f) ^ upper) | top) as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_function_by_hand() {
        let at = |function, sets, address| SetIndex::new(function, sets, 7).of(address);
        assert_eq!(at(IndexFunction::Linear, 64, 0x1234_5680), 0x2d);
        assert_eq!(at(IndexFunction::Linear, 48, 128 * 100), 4);
        assert_eq!(at(IndexFunction::Masked, 48, 128 * 0x35), 0x25, "48 - 1 lacks bit 4");
        assert_eq!(at(IndexFunction::Masked, 64, 128 * 0x75), 0x35);
        assert_eq!(at(IndexFunction::Xor, 16, 128 * 0x35), 0x5 ^ 0x3);
        // Bits 13 to 15, 17 and 19 set and nothing else: only the upper part.
        assert_eq!(at(IndexFunction::Fermi, 32, 0xa_e000), 0b11111);
        assert_eq!(at(IndexFunction::Fermi, 64, 0x1000), 0b100000);
        assert_eq!(at(IndexFunction::IPoly, 64, 128 * 64), 0b11, "x^6 = x + 1");
        assert_eq!(at(IndexFunction::Xor, 1, 0xdead_beef), 0);
    }

    #[test]
    fn every_set_is_used_equally_by_consecutive_lines() {
        for function in [IndexFunction::Linear, IndexFunction::Xor, IndexFunction::Fermi, IndexFunction::IPoly] {
            let index = SetIndex::new(function, 64, 7);
            let mut used = [0; 64];
            // Fermi's hash takes bit 12 twice, so whole 8 KiB blocks balance.
            (0..64 * 16).for_each(|line| used[index.of(line * 128) as usize] += 1);
            assert_eq!(used, [16; 64], "{function:?}");
        }
    }
}

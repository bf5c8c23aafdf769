//! The scalar detector: whether the lanes of an operand are the same.

use isa::RegId;
use kit::{LaneMask, WARP_LANES, lanes};

/// A register that an instruction reads, as the detector sees it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Operand {
    pub reg: RegId,
    /// It is a vector register: of the register files.
    pub is_vector: bool,
    /// Groups of lanes for which it is in the scalar register file, one bit each.
    pub in_srf: u8,
    /// Groups of lanes in each of which it is the same in all active lanes, one bit each.
    pub same: u8,
    /// It is the same in all active lanes of the warp.
    pub same_everywhere: bool,
}

impl Operand {
    /// Looks at `reg`, which holds `column` and is in the scalar register file for the groups
    /// `in_srf`. A register there is the same in all lanes by definition; others are compared.
    pub fn of(
        reg: RegId,
        is_vector: bool,
        in_srf: u8,
        column: &[u32; WARP_LANES],
        mask: LaneMask,
        groups: &[LaneMask],
    ) -> Self {
        let compared = groups.iter().enumerate().filter(|(_, group)| is_same(column, mask & **group));
        let same = compared.fold(in_srf, |same, (g, _)| same | 1 << g);
        Self { reg, is_vector, in_srf, same, same_everywhere: is_same(column, mask) }
    }

    /// Whether all active lanes find it in the scalar register file.
    pub fn is_in_srf(&self, mask: LaneMask, groups: &[LaneMask]) -> bool {
        groups.iter().enumerate().all(|(g, group)| mask & group == 0 || self.in_srf >> g & 1 != 0)
    }
}

/// Whether `column` is the same in all lanes of `mask`.
fn is_same(column: &[u32; WARP_LANES], mask: LaneMask) -> bool {
    let first = column[(mask.trailing_zeros() as usize).min(WARP_LANES - 1)];
    if mask == LaneMask::MAX {
        return column.iter().fold(0, |differs, value| differs | (value ^ first)) == 0;
    }
    lanes(mask).all(|lane| column[lane] == first)
}

#[cfg(test)]
mod tests {
    use super::*;

    const HALVES: [LaneMask; 2] = [0xffff, 0xffff_0000];

    #[test]
    fn only_active_lanes_are_compared() {
        let mut column = [7; WARP_LANES];
        column[5] = 8;
        assert!(!is_same(&column, LaneMask::MAX));
        assert!(is_same(&column, !(1 << 5)));
        assert!(is_same(&column, 1 << 5));
        assert!(is_same(&column, 0));
    }

    #[test]
    fn halves_are_compared_each_for_itself() {
        let column = std::array::from_fn(|lane| lane as u32 / 16);
        let operand = Operand::of(RegId(0), true, 0, &column, LaneMask::MAX, &HALVES);
        assert_eq!((operand.same, operand.same_everywhere), (0b11, false));
        let column = std::array::from_fn(|lane| if lane < 16 { 3 } else { lane as u32 });
        let operand = Operand::of(RegId(0), true, 0, &column, LaneMask::MAX, &HALVES);
        assert_eq!((operand.same, operand.same_everywhere), (0b01, false));
        assert!(!operand.is_in_srf(LaneMask::MAX, &HALVES));
    }

    #[test]
    fn what_is_in_the_scalar_file_is_not_compared() {
        let column = std::array::from_fn(|lane| lane as u32);
        let operand = Operand::of(RegId(0), true, 1, &column, LaneMask::MAX, &[LaneMask::MAX]);
        assert_eq!(operand.same, 1);
        assert!(operand.is_in_srf(LaneMask::MAX, &[LaneMask::MAX]));
    }
}

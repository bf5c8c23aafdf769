//! The relocation table of a warp: which of its registers are in the scalar register file, and what
//! becomes of them when some lanes alone write them.
//!
//! The contents of the two register files are followed exactly, so that a value that a reader would get wrong is found
//! (section 6.3.1 of the paper). A scalar register is what one of its writer's lanes holds; a lane's place in the
//! vector register file is stale from a scalar write until it is written.

use super::parameters::Divergence;
use isa::{Pc, RegId, WarpSlot};
use kit::{LaneMask, WARP_LANES, lanes};

/// A wrong value that an instruction would have read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Misread {
    /// Its warp.
    pub warp: WarpSlot,
    /// The instruction.
    pub pc: Pc,
    /// The register.
    pub reg: RegId,
    /// The first lane that would have got it.
    pub lane: u8,
    /// The value that it would have got; `None` for what the vector register file held before the
    /// register became scalar.
    pub read: Option<u32>,
    /// The program's value.
    pub expected: u32,
}

/// Where a register is.
#[derive(Clone, Copy, Debug, Default)]
struct Entry {
    /// Groups of lanes for which it is in the scalar register file, one bit each.
    scalar: u8,
    /// A lane whose value that is, for each group.
    writer: [u8; 2],
    /// Lanes whose place in the vector register file holds an older value.
    stale: LaneMask,
}

/// A write of a register by lanes of one group.
#[derive(Clone, Copy, Debug)]
pub(super) struct Write {
    pub reg: RegId,
    /// Number of the group.
    pub group: usize,
    /// All of its lanes.
    pub of: LaneMask,
    /// Those that write; at least one.
    pub lanes: LaneMask,
}

/// Where a write went.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Written {
    pub to_scalar_file: bool,
    /// The scalar value was copied to the vector register file first.
    pub copied: bool,
}

/// The relocation table of a warp.
#[derive(Clone, Debug, Default)]
pub(super) struct Relocation {
    /// Lanes whose threads have not exited.
    pub live: LaneMask,
    entries: Vec<Entry>,
}

impl Relocation {
    /// Starts a warp with lanes `live` and `registers` vector registers: all are in the vector register
    /// file.
    pub fn start(&mut self, live: LaneMask, registers: u16) {
        self.live = live;
        self.entries.clear();
        self.entries.resize(registers.into(), Entry::default());
    }

    /// Groups of lanes for which `reg` is in the scalar register file, one bit each.
    pub fn scalar_groups(&self, reg: RegId) -> u8 {
        self.entries.get(reg.index()).map_or(0, |entry| entry.scalar)
    }

    /// A write whose value is the same in all its lanes if it `is_scalar`.
    pub fn write(&mut self, write: &Write, is_scalar: bool, divergence: Divergence) -> Written {
        let &Write { reg, group, of, lanes } = write;
        let Some(entry) = self.entries.get_mut(reg.index()) else { return Written::default() };
        let bit = 1 << group;
        let is_full = lanes == self.live & of;
        let was_scalar = entry.scalar & bit != 0;
        if is_scalar && (is_full || divergence == Divergence::Unguarded) {
            entry.scalar |= bit;
            entry.writer[group] = lanes.trailing_zeros() as u8;
            entry.stale |= lanes;
            return Written { to_scalar_file: true, copied: false };
        }
        let copied = was_scalar && !is_full && divergence == Divergence::Copy;
        if copied {
            entry.stale &= !of;
        }
        entry.scalar &= !bit;
        entry.stale &= !lanes;
        Written { to_scalar_file: false, copied }
    }

    /// The first lane of `mask` that would not get what `reg` is to hold, which is `column`.
    pub fn misread(
        &self,
        reg: RegId,
        column: &[u32; WARP_LANES],
        mask: LaneMask,
        groups: &[LaneMask],
    ) -> Option<Misread> {
        let entry = self.entries.get(reg.index()).filter(|e| e.scalar != 0 || e.stale != 0)?;
        for (g, group) in groups.iter().enumerate() {
            let is_scalar = entry.scalar >> g & 1 != 0;
            let scalar = column[usize::from(entry.writer[g]) % WARP_LANES];
            let wrong = |&lane: &usize| {
                if is_scalar { column[lane] != scalar } else { entry.stale >> lane & 1 != 0 }
            };
            if let Some(lane) = lanes(mask & group).find(wrong) {
                return Some(Misread {
                    warp: WarpSlot(0),
                    pc: Pc(0),
                    reg,
                    lane: lane as u8,
                    read: is_scalar.then_some(scalar),
                    expected: column[lane],
                });
            }
        }
        None
    }
}

kit::persist! {
    new struct Misread { warp, pc, reg, lane, read, expected }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: &[LaneMask] = &[LaneMask::MAX];
    const REG: RegId = RegId(2);

    fn table() -> Relocation {
        let mut table = Relocation::default();
        table.start(LaneMask::MAX, 4);
        table
    }

    fn write(lanes: LaneMask) -> Write {
        Write { reg: REG, group: 0, of: LaneMask::MAX, lanes }
    }

    /// Listing 1 of the paper: `r7` is 5 in all lanes, one lane adds 1 to it, then all read it.
    fn listing_1(divergence: Divergence) -> (Written, Option<Misread>) {
        let mut table = table();
        let first = table.write(&write(LaneMask::MAX), true, divergence);
        assert!(first.to_scalar_file);
        let second = table.write(&write(1), true, divergence);
        let mut column = [5; WARP_LANES];
        column[0] = 6;
        (second, table.misread(REG, &column, LaneMask::MAX, ALL))
    }

    #[test]
    fn the_paper_s_listing_reads_a_wrong_value_without_a_guard() {
        let (written, misread) = listing_1(Divergence::Unguarded);
        assert!(written.to_scalar_file && !written.copied);
        let misread = misread.expect("lanes 1 to 31 read lane 0's value");
        assert_eq!((misread.lane, misread.read, misread.expected), (1, Some(6), 5));
    }

    #[test]
    fn a_copy_before_a_partial_write_keeps_values_right() {
        let (written, misread) = listing_1(Divergence::Copy);
        assert_eq!(written, Written { to_scalar_file: false, copied: true });
        assert_eq!(misread, None);
    }

    /// A vector instruction in some lanes turns the entry off, but nobody has told the other lanes.
    #[test]
    fn a_partial_vector_write_leaves_stale_lanes_without_a_guard() {
        for (divergence, stale) in [(Divergence::Unguarded, true), (Divergence::Copy, false)] {
            let mut table = table();
            table.write(&write(LaneMask::MAX), true, divergence);
            table.write(&write(0xff), false, divergence);
            let misread = table.misread(REG, &[9; WARP_LANES], LaneMask::MAX, ALL);
            assert_eq!(misread.map(|m| (m.lane, m.read)), stale.then_some((8, None)), "{divergence:?}");
            assert_eq!(table.misread(REG, &[9; WARP_LANES], 0xff, ALL), None);
        }
    }

    #[test]
    fn a_write_of_all_live_lanes_is_full() {
        let mut table = table();
        table.live = 0xff;
        assert!(table.write(&write(0xff), true, Divergence::Copy).to_scalar_file);
        assert_eq!(table.scalar_groups(REG), 1);
        assert_eq!(table.write(&write(0xff), false, Divergence::Copy), Written::default());
        assert_eq!(table.scalar_groups(REG), 0);
    }

    #[test]
    fn halves_have_entries_of_their_own() {
        let (mut table, low) = (table(), 0xffff);
        let half = Write { reg: REG, group: 0, of: low, lanes: low };
        assert!(table.write(&half, true, Divergence::Copy).to_scalar_file);
        assert_eq!(table.scalar_groups(REG), 0b01);
        let other = Write { reg: REG, group: 1, of: !low, lanes: !low };
        assert_eq!(table.write(&other, false, Divergence::Copy), Written::default());
        let column = std::array::from_fn(|lane| if lane < 16 { 1 } else { lane as u32 });
        assert_eq!(table.misread(REG, &column, LaneMask::MAX, &[low, !low]), None);
    }
}

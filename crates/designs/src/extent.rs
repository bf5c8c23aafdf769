//! Whether two accesses to memory touch a byte in common: for designs that know addresses.

use isa::Space;
use kit::bits::lanes;
use sm::Window;
use sm::{InFlight, InstId};

/// Bytes of an aligned piece of memory for each of which [`Extent::pieces`] has a bit.
const PIECE: u32 = 32;

/// Where an access is, roughly: two that do not meet here touch no byte in common.
#[derive(Clone, Copy, Debug)]
pub(super) struct Extent {
    space: Space,
    first: u64,
    last: u64,
    /// Pieces of memory that it touches, modulo 64.
    pieces: u64,
}

impl Extent {
    /// The extent of an access by no lane.
    pub const NOWHERE: Self = Self { space: Space::Global, first: u64::MAX, last: 0, pieces: 0 };

    /// Of the access `id`.
    pub fn of(window: Window<'_>, id: InstId) -> Self {
        let bytes = window.inst(id).mem.map_or(0, |m| u64::from(m.bytes));
        let dynamic = window.dynamic(id);
        let mut extent = Self { space: dynamic.space, ..Self::NOWHERE };
        for lane in lanes(window.inst(id).mask) {
            let first = dynamic.addresses[lane];
            let last = first.saturating_add(bytes - 1);
            extent.first = extent.first.min(first);
            extent.last = extent.last.max(last);
            // No access is longer than a piece.
            extent.pieces |= 1 << (first / u64::from(PIECE) % 64) | 1 << (last / u64::from(PIECE) % 64);
        }
        extent
    }

    /// Whether a byte in common is possible.
    #[inline]
    pub fn may_meet(&self, other: &Self) -> bool {
        let overlap = self.first <= other.last && other.first <= self.last;
        self.space == other.space && overlap && self.pieces & other.pieces != 0
    }
}

/// Whether two accesses to one space touch a byte in common.
pub(super) fn overlap(window: Window<'_>, older: InstId, younger: InstId) -> bool {
    let (x, y) = (window.inst(older), window.inst(younger));
    let bytes = |inst: &InFlight| inst.mem.map_or(0, |m| u64::from(m.bytes));
    let (of_x, of_y) = (bytes(x), bytes(y));
    let (from, to) = (&window.dynamic(older).addresses, &window.dynamic(younger).addresses);
    // The distance is between -of_y and of_x, both excluded.
    let meet = |i: usize, j: usize| to[j].wrapping_sub(from[i]).wrapping_add(of_y - 1) < of_x + of_y - 1;
    // Mostly a thread's own accesses meet, if any do; local memory is each lane's own.
    let same_lane = lanes(x.mask & y.mask).any(|i| meet(i, i));
    let is_local = window.dynamic(younger).space == Space::Local;
    same_lane
        || !is_local && lanes(x.mask).any(|i| (0..32).fold(0, |hit, j| hit | u32::from(meet(i, j)) << j) & y.mask != 0)
}

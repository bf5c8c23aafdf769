//! The order of a warp's accesses to memory: by kind, or by the bytes that they touch.

use super::waits::{Place, Places, SPAN};
use crate::inflight::{InFlight, InstId, Window};
use crate::warps::PerWarp;
use isa::{Access, CacheOp, MemAccess, Space};
use kit::bits::{lanes, set_bits};

/// Bytes of an aligned piece of memory that one bit of [`Extent::pieces`] stands for.
const PIECE: u32 = 32;

/// Accesses of a warp that have not issued.
#[derive(Clone, Copy, Debug, Default)]
struct Order {
    /// The youngest that no access may pass.
    keeper: Places,
    /// Those behind it. If addresses are not known they are all loads.
    behind: Places,
    /// Stores among them.
    stores: Places,
}

/// Where an access lies, roughly: two that meet nowhere here touch no byte in common.
#[derive(Clone, Copy, Debug)]
struct Extent {
    space: Space,
    first: u64,
    last: u64,
    /// Pieces of memory that it touches, modulo 64.
    pieces: u64,
}

impl Extent {
    const NOWHERE: Self = Self { space: Space::Global, first: u64::MAX, last: 0, pieces: 0 };

    fn of(window: Window<'_>, id: InstId, bytes: u8) -> Self {
        let dynamic = window.dynamic(id);
        let mut extent = Self { space: dynamic.space, ..Self::NOWHERE };
        for lane in lanes(window.inst(id).mask) {
            let first = dynamic.addresses[lane];
            let last = first.saturating_add(u64::from(bytes) - 1);
            extent.first = extent.first.min(first);
            extent.last = extent.last.max(last);
            // No access is longer than a piece.
            extent.pieces |= 1 << (first / u64::from(PIECE) % 64) | 1 << (last / u64::from(PIECE) % 64);
        }
        extent
    }

    #[inline]
    fn may_meet(&self, other: &Self) -> bool {
        let overlap = self.first <= other.last && other.first <= self.last;
        self.space == other.space && overlap && self.pieces & other.pieces != 0
    }
}

/// The accesses of all warps.
#[derive(Debug)]
pub(super) struct Accesses {
    knows_addresses: bool,
    order: PerWarp<Order>,
    /// By warp and place, if addresses are known.
    extents: Box<[Extent]>,
}

impl Accesses {
    pub fn new(knows_addresses: bool) -> Self {
        let extents = if knows_addresses { 64 * SPAN } else { 0 };
        Self { knows_addresses, order: PerWarp::new(Order::default()), extents: vec![Extent::NOWHERE; extents].into() }
    }

    /// The access `id`, the youngest of its warp, comes to `place` among the warp's `places`. Gives the
    /// older ones for whose issue it waits.
    #[inline]
    pub fn enter(&mut self, window: Window<'_>, id: InstId, place: usize, places: &[Place]) -> Places {
        let inst = window.inst(id);
        let (w, mine) = (inst.warp.index(), 1 << place);
        let Some(mem) = inst.mem else { return 0 };
        let keeps = if self.knows_addresses { keeps_its_place(mem) } else { !is_plain_load(mem) };
        let order = &mut self.order[w];
        if keeps {
            let older = order.keeper | order.behind;
            *order = Order { keeper: mine, behind: 0, stores: 0 };
            return older;
        }
        if !self.knows_addresses {
            order.behind |= mine;
            return order.keeper;
        }
        if is_read_only(mem.space) {
            return 0;
        }
        let stores = mem.access == Access::Store;
        let candidates = if stores { order.behind } else { order.stores };
        let older = order.keeper;
        order.behind |= mine;
        order.stores |= if stores { mine } else { 0 };
        let extent = Extent::of(window, id, mem.bytes);
        let extents = &mut self.extents[w * SPAN..][..SPAN];
        extents[place] = extent;
        let meets = |&p: &usize| extents[p].may_meet(&extent) && overlap(window, places[p].id, id);
        set_bits(candidates).filter(meets).fold(older, |older, p| older | 1 << p)
    }

    /// The access at the place `mine` of a warp issues.
    #[inline]
    pub fn issue(&mut self, inst: &InFlight, mine: Places) {
        let Order { keeper, behind, stores } = &mut self.order[inst.warp.index()];
        *keeper &= !mine;
        *behind &= !mine;
        *stores &= !mine;
    }
}

/// A load that may pass other loads, whatever their addresses.
fn is_plain_load(mem: MemAccess) -> bool {
    mem.access == Access::Load && !matches!(mem.cache, CacheOp::L2 | CacheOp::Volatile)
}

/// An access that none passes and that passes none, whatever their addresses: other threads may see the
/// order.
fn keeps_its_place(mem: MemAccess) -> bool {
    !is_plain_load(mem) && (mem.access != Access::Store || mem.cache == CacheOp::Volatile)
}

/// Space that no kernel writes.
const fn is_read_only(space: Space) -> bool {
    matches!(space, Space::Constant | Space::Param | Space::Texture)
}

/// Whether two accesses to one space touch a byte in common.
fn overlap(window: Window<'_>, older: InstId, younger: InstId) -> bool {
    let (x, y) = (window.inst(older), window.inst(younger));
    let bytes = |inst: &InFlight| inst.mem.map_or(0, |m| u64::from(m.bytes));
    let (of_x, of_y) = (bytes(x), bytes(y));
    let (from, to) = (&window.dynamic(older).addresses, &window.dynamic(younger).addresses);
    // The distance lies between -of_y and of_x, both excluded.
    let meet = |i: usize, j: usize| to[j].wrapping_sub(from[i]).wrapping_add(of_y - 1) < of_x + of_y - 1;
    // Mostly a thread's own accesses meet, if any do; local memory is each lane's own.
    let same_lane = lanes(x.mask & y.mask).any(|i| meet(i, i));
    let is_local = window.dynamic(younger).space == Space::Local;
    same_lane
        || !is_local && lanes(x.mask).any(|i| (0..32).fold(0, |hit, j| hit | u32::from(meet(i, j)) << j) & y.mask != 0)
}

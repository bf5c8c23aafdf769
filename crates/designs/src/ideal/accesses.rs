//! The order of a warp's accesses to memory: by kind, or by the bytes that they touch.

use super::waits::{Entry, Places, SPAN};
use crate::extent::{Extent, overlap};
use isa::{Access, CacheOp, MemAccess, Space};
use kit::bits::set_bits;
use sm::PerWarp;
use sm::Window;
use sm::{InFlight, InstId};

/// Accesses of a warp that have not issued.
#[derive(Clone, Copy, Debug, Default)]
struct Order {
    /// The youngest that no access may pass.
    keeper: Places,
    /// Those after it. If addresses are not known they are all loads.
    behind: Places,
    /// Stores among them.
    stores: Places,
    /// Accesses among them whose extent is known, since another has been compared with it.
    measured: Places,
}

/// The accesses of all warps.
#[derive(Debug)]
pub(super) struct Accesses {
    knows_addresses: bool,
    order: PerWarp<Order, u128>,
    /// By warp and place, if addresses are known.
    extents: Box<[Extent]>,
}

impl Accesses {
    pub fn new(warps: usize, knows_addresses: bool) -> Self {
        let extents = if knows_addresses { warps * SPAN } else { 0 };
        Self { knows_addresses, order: PerWarp::new(Order::default()), extents: vec![Extent::NOWHERE; extents].into() }
    }

    /// The access `id`, the youngest of its warp, comes to `place` among the warp's accesses, which hold
    /// `entries`. Gives the older ones for whose issue it waits.
    #[inline]
    pub fn enter(&mut self, window: Window<'_>, id: InstId, place: usize, entries: &[Entry]) -> Places {
        let inst = window.inst(id);
        let (w, mine) = (inst.warp.index(), 1 << place);
        let Some(mem) = inst.mem else { return 0 };
        let keeps = if self.knows_addresses { keeps_its_place(mem) } else { !is_plain_load(mem) };
        let order = &mut self.order[w];
        if keeps {
            let older = order.keeper | order.behind;
            *order = Order { keeper: mine, behind: 0, stores: 0, measured: 0 };
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
        order.measured &= !mine;
        if candidates == 0 {
            return older;
        }
        let extents = &mut self.extents[w * SPAN..][..SPAN];
        for p in set_bits(candidates & !order.measured) {
            extents[p] = Extent::of(window, entries[p].id);
        }
        order.measured |= candidates | mine;
        let extent = Extent::of(window, id);
        extents[place] = extent;
        let meets = |&p: &usize| extents[p].may_meet(&extent) && overlap(window, entries[p].id, id);
        set_bits(candidates).filter(meets).fold(older, |older, p| older | 1 << p)
    }

    /// The access at the place `mine` of a warp issues.
    #[inline]
    pub fn issue(&mut self, inst: &InFlight, mine: Places) {
        let Order { keeper, behind, stores, .. } = &mut self.order[inst.warp.index()];
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

//! Which instructions of each warp have issued and not left their stations.

use isa::WarpSlot;
use sm::PerWarp;
use sm::WarpMask;

/// Places in program order that a mask covers.
const SPAN: u32 = 64;

/// Instructions of a warp in stations.
#[derive(Clone, Debug, Default)]
struct Chain {
    /// By place in program order from `first` on. Empty only if all have left.
    mask: u64,
    first: u32,
    /// Later ones, by place in program order.
    far: Vec<u32>,
}

impl Chain {
    /// The mask starts at the oldest; later ones that now have a place in it take it.
    #[cold]
    fn advance(&mut self) {
        if self.mask == 0 {
            self.first = self.far.iter().copied().min().unwrap_or(self.first);
        } else {
            self.first += self.mask.trailing_zeros();
            self.mask >>= self.mask.trailing_zeros();
        }
        let Self { mask, first, far } = self;
        far.retain(|order| {
            let distance = order - *first;
            *mask |= if distance < SPAN { 1 << distance } else { 0 };
            distance >= SPAN
        });
    }
}

/// Instructions of all warps in stations.
#[derive(Debug)]
pub struct InStations<M: WarpMask>(PerWarp<Chain, M>);

impl<M: WarpMask> Default for InStations<M> {
    fn default() -> Self {
        Self(PerWarp::from_fn(|_| Chain::default()))
    }
}

impl<M: WarpMask> InStations<M> {
    /// Whether `warp` has none.
    pub fn is_empty(&self, warp: WarpSlot) -> bool {
        self.0[warp.index()].mask == 0
    }

    /// The instruction at `order`, the youngest of `warp`, issues.
    #[inline]
    pub fn enter(&mut self, warp: WarpSlot, order: u32) {
        let chain = &mut self.0[warp.index()];
        if chain.mask == 0 {
            (chain.mask, chain.first) = (1, order);
            return;
        }
        if order - chain.first >= SPAN {
            chain.advance();
        }
        let distance = order - chain.first;
        if distance < SPAN {
            chain.mask |= 1 << distance;
        } else {
            chain.far.push(order);
        }
    }

    /// The instruction at `order` of `warp` leaves its station. Returns whether an older one has yet to.
    #[inline]
    pub fn leave(&mut self, warp: WarpSlot, order: u32) -> bool {
        let chain = &mut self.0[warp.index()];
        let distance = order - chain.first;
        if distance >= SPAN {
            chain.far.retain(|&far| far != order);
            return true;
        }
        let mine = 1 << distance;
        let any_older = chain.mask & (mine - 1) != 0;
        chain.mask &= !mine;
        if chain.mask == 0 && !chain.far.is_empty() {
            chain.advance();
        }
        any_older
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WARP: WarpSlot = WarpSlot(3);

    #[test]
    fn who_leaves_before_an_older_one_is_known() {
        let (mut in_stations, other) = (InStations::<u64>::default(), WarpSlot(4));
        (10..13).for_each(|order| in_stations.enter(WARP, order));
        in_stations.enter(other, 1);
        assert!(!in_stations.leave(other, 1), "of another warp");
        assert!(in_stations.leave(WARP, 11));
        assert!(in_stations.leave(WARP, 12));
        in_stations.enter(WARP, 13);
        assert!(!in_stations.leave(WARP, 10));
        assert!(!in_stations.leave(WARP, 13));
        assert!(in_stations.is_empty(WARP));
    }

    #[test]
    fn one_that_waits_long_is_older_than_all_that_pass() {
        let mut in_stations = InStations::<u64>::default();
        in_stations.enter(WARP, 5);
        for order in 6..500 {
            in_stations.enter(WARP, order);
            if order % 100 != 0 {
                assert!(in_stations.leave(WARP, order));
            }
        }
        assert!(in_stations.leave(WARP, 300));
        assert!(!in_stations.leave(WARP, 5));
        assert!(in_stations.leave(WARP, 200));
        assert!(in_stations.leave(WARP, 400));
        assert!(!in_stations.leave(WARP, 100));
        assert!(in_stations.is_empty(WARP));
    }
}

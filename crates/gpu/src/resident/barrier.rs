//! CTA barriers: arrivals counted in warps, release, exited warps.
//!
//! A barrier that waits for all of the CTA's threads is complete when every live warp has arrived,
//! so an exit counts as an arrival. One with a thread count is complete after the arrivals of that number of threads'
//! warps, and then only: a kernel that promises more than come hangs, and is reported. A warp may arrive there and
//! then wait, which are two arrivals.

use super::mask::WarpMask;
use isa::{BarrierArrival, CtaSlot, WarpSlot};
use kit::text::{counted, plural};

#[derive(Clone, Copy, Debug, Default)]
struct Barrier<M> {
    /// Warps that wait for the release.
    waiting: M,
    /// Warps that have arrived, waiting or not.
    arrived: M,
    arrivals: u16,
    /// Arrivals expected; 0 for all live warps.
    expected: u16,
}

/// The barriers of all CTAs on the SM.
#[derive(Debug)]
pub struct Barriers<M> {
    /// Barriers of the CTA slots that have been used, `per_cta` each.
    barriers: Vec<Barrier<M>>,
    per_cta: usize,
    /// Warps of each CTA that have not exited.
    live: Box<[M]>,
}

impl<M: WarpMask> Barriers<M> {
    /// Barriers for `ctas` CTA slots with `per_cta` barriers each.
    pub fn new(ctas: usize, per_cta: usize) -> Self {
        Self { barriers: Vec::new(), per_cta, live: vec![M::NONE; ctas].into() }
    }

    fn of_cta(&mut self, cta: CtaSlot) -> &mut [Barrier<M>] {
        let start = cta.index() * self.per_cta;
        &mut self.barriers[start..start + self.per_cta]
    }

    /// A CTA of `warps` starts.
    pub fn start_cta(&mut self, cta: CtaSlot, warps: M) {
        let used = (cta.index() + 1) * self.per_cta;
        if used > self.barriers.len() {
            self.barriers.resize(used, Barrier::default());
        }
        self.of_cta(cta).fill(Barrier::default());
        self.live[cta.index()] = warps;
    }

    /// A warp arrives, to wait if `waits`. Returns the warps that this releases: they had been
    /// waiting, the arriving one perhaps among them.
    pub fn arrive(&mut self, cta: CtaSlot, warp: WarpSlot, arrival: BarrierArrival, waits: bool) -> M {
        let live = self.live[cta.index()];
        // A number beyond the hardware's is a fault of the stream's making; it shares the last one.
        let id = usize::from(arrival.id).min(self.per_cta - 1);
        let barrier = &mut self.of_cta(cta)[id];
        barrier.arrived.insert(warp);
        barrier.arrivals = barrier.arrivals.saturating_add(1);
        if waits {
            barrier.waiting.insert(warp);
        }
        barrier.expected = arrival.threads.div_ceil(kit::WARP_LANES as u16);
        barrier.try_release(live)
    }

    /// A warp exits. Returns the warps that this releases.
    pub fn exit(&mut self, cta: CtaSlot, warp: WarpSlot) -> M {
        self.live[cta.index()].remove(warp);
        let live = self.live[cta.index()];
        let arrived = |b: &&mut Barrier<M>| !b.arrived.is_empty();
        self.of_cta(cta).iter_mut().filter(arrived).fold(M::NONE, |released, b| released | b.try_release(live))
    }

    /// The barrier at which `warp` waits, with the warps that have arrived there.
    pub fn waiting_at(&self, cta: CtaSlot, warp: WarpSlot) -> Option<(usize, M)> {
        let start = cta.index() * self.per_cta;
        let mine = &self.barriers[start..start + self.per_cta];
        mine.iter().position(|b| b.waiting.contains(warp)).map(|id| (id, mine[id].arrived))
    }

    /// The wait of `warp`, in words: its barrier, and the warps that have not arrived there by their places in the
    /// CTA, which `place` gives.
    pub fn describe_wait(&self, cta: CtaSlot, warp: WarpSlot, place: impl Fn(WarpSlot) -> u16) -> String {
        let Some((id, arrived)) = self.waiting_at(cta, warp) else { return "a barrier".into() };
        let missing: Vec<_> = (self.live(cta) & !arrived).iter().map(|m| place(m).to_string()).collect();
        let Barrier { arrivals, expected, .. } = self.barriers[cta.index() * self.per_cta + id];
        if expected != 0 {
            let none = if missing.is_empty() { "" } else { ", none of warp " };
            return format!("barrier {id}: {arrivals} of {expected} arrivals{none}{}", missing.join(", "));
        }
        let arrived = u64::from(arrived.count());
        let have = if arrived == 1 { "has" } else { "have" };
        format!(
            "barrier {id}: {} {have} arrived, and not {} {}",
            counted(arrived, "warp"),
            plural(missing.len() as u64, "warp"),
            missing.join(", ")
        )
    }

    /// Warps of the CTA that have not exited.
    pub fn live(&self, cta: CtaSlot) -> M {
        self.live[cta.index()]
    }
}

impl<M: WarpMask> Barrier<M> {
    fn try_release(&mut self, live: M) -> M {
        let all = self.arrived & live == live;
        let enough = self.arrivals >= self.expected;
        if !(if self.expected == 0 { all } else { enough }) {
            return M::NONE;
        }
        std::mem::take(self).waiting
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CTA: CtaSlot = CtaSlot(1);
    const ALL: BarrierArrival = BarrierArrival { id: 0, threads: 0 };

    fn four_warps() -> Barriers<u64> {
        let mut barriers = Barriers::new(2, 16);
        barriers.start_cta(CTA, 0b1111_0000);
        barriers
    }

    #[test]
    fn the_last_arrival_releases_all() {
        let mut b = four_warps();
        for warp in [WarpSlot(4), WarpSlot(6), WarpSlot(5)] {
            assert_eq!(b.arrive(CTA, warp, ALL, true), 0);
        }
        assert_eq!(b.arrive(CTA, WarpSlot(7), ALL, true), 0b1111_0000);
        assert_eq!(b.arrive(CTA, WarpSlot(4), ALL, true), 0, "the barrier starts afresh");
    }

    #[test]
    fn an_exit_counts_as_an_arrival() {
        let mut b = four_warps();
        assert_eq!(b.exit(CTA, WarpSlot(4)), 0);
        assert_eq!(b.arrive(CTA, WarpSlot(6), ALL, true), 0);
        assert_eq!(b.arrive(CTA, WarpSlot(7), ALL, true), 0);
        assert_eq!(b.exit(CTA, WarpSlot(5)), 0b1100_0000);
    }

    #[test]
    fn producers_arrive_and_only_consumers_wait() {
        let mut b = four_warps();
        let of_two = BarrierArrival { id: 3, threads: 64 };
        assert_eq!(b.arrive(CTA, WarpSlot(4), of_two, true), 0);
        assert_eq!(b.waiting_at(CTA, WarpSlot(4)), Some((3, 0b0001_0000)));
        assert_eq!(
            b.describe_wait(CTA, WarpSlot(4), |w| w.index() as u16 - 4),
            "barrier 3: 1 of 2 arrivals, none of warp 1, 2, 3"
        );
        assert_eq!(b.arrive(CTA, WarpSlot(5), of_two, false), 0b0001_0000);
        assert_eq!(b.arrive(CTA, WarpSlot(5), of_two, false), 0);
        assert_eq!(b.arrive(CTA, WarpSlot(4), of_two, true), 0b0001_0000);
    }

    #[test]
    fn a_warp_that_has_arrived_may_wait() {
        let mut b = four_warps();
        let of_three = BarrierArrival { id: 1, threads: 96 };
        assert_eq!(b.arrive(CTA, WarpSlot(4), of_three, false), 0);
        assert_eq!(b.arrive(CTA, WarpSlot(5), of_three, false), 0);
        assert_eq!(b.arrive(CTA, WarpSlot(5), of_three, true), 0b0010_0000);
        assert_eq!(b.arrive(CTA, WarpSlot(5), of_three, true), 0, "the barrier starts afresh");
    }

    #[test]
    fn numbers_do_not_mix() {
        let mut b = four_warps();
        let of_two = |id| BarrierArrival { id, threads: 64 };
        assert_eq!(b.arrive(CTA, WarpSlot(4), of_two(1), true), 0);
        assert_eq!(b.arrive(CTA, WarpSlot(5), of_two(2), true), 0);
        assert_eq!(b.arrive(CTA, WarpSlot(6), of_two(1), true), 0b0101_0000);
    }
}

//! Clock domains against the core clock, in exact integer arithmetic.
//!
//! All clocks have an edge at time 0. The memory system keeps time in core cycles; within one core
//! cycle the edges of the other domains are taken in order of time. Frequencies are taken to the
//! nearest kilohertz.

use kit::Cycle;
use std::cmp::Ordering;

/// How many edges of one clock fall on a number of edges of another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Ratio {
    num: u64,
    den: u64,
}

impl Ratio {
    /// From a clock of `from_mhz` to one of `to_mhz`. Impossible frequencies count as 1 MHz.
    pub fn new(from_mhz: f64, to_mhz: f64) -> Self {
        let khz =
            |mhz: f64| if mhz.is_finite() && mhz > 0.0 { (mhz * 1e3).round().clamp(1.0, 1e9) as u64 } else { 1000 };
        let (num, den) = (khz(to_mhz), khz(from_mhz));
        let divisor = gcd(num, den);
        Self { num: num / divisor, den: den / divisor }
    }

    /// Whether both clocks are the same.
    #[inline]
    pub fn is_one(self) -> bool {
        self.num == self.den
    }

    /// The last edge of the target clock at or before edge `tick` of the source clock.
    #[inline]
    pub fn floor(self, tick: u64) -> u64 {
        if self.is_one() {
            return tick;
        }
        match tick.checked_mul(self.num) {
            Some(product) => product / self.den,
            None => (u128::from(tick) * u128::from(self.num) / u128::from(self.den)) as u64,
        }
    }

    /// The first edge of the source clock at or after edge `tick` of the target clock.
    #[inline]
    pub fn first_source_at(self, tick: u64) -> u64 {
        if self.is_one() {
            return tick;
        }
        match tick.checked_mul(self.den) {
            Some(product) => product.div_ceil(self.num),
            None => (u128::from(tick) * u128::from(self.den)).div_ceil(u128::from(self.num)) as u64,
        }
    }

    /// The number of source cycles nearest to `ticks` target cycles.
    pub fn nearest_source(self, ticks: u64) -> u64 {
        let halves = u128::from(ticks) * u128::from(self.den) * 2 + u128::from(self.num);
        (halves / (u128::from(self.num) * 2)) as u64
    }

    /// Compares the times of edge `source` of the source clock and edge `target` of the target's.
    #[inline]
    pub fn compare(self, source: u64, target: u64) -> Ordering {
        if self.is_one() {
            return source.cmp(&target);
        }
        match (source.checked_mul(self.num), target.checked_mul(self.den)) {
            (Some(source), Some(target)) => source.cmp(&target),
            _ => (u128::from(source) * u128::from(self.num)).cmp(&(u128::from(target) * u128::from(self.den))),
        }
    }
}

fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { gcd(b, a % b) }
}

/// The clocks of the memory system.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Clocks {
    /// From core cycles to crossbar cycles.
    pub interconnect: Ratio,
    /// From core cycles to L2 cycles.
    pub l2: Ratio,
    /// From core cycles to DRAM command cycles.
    pub dram: Ratio,
    /// From crossbar cycles to L2 cycles.
    pub interconnect_to_l2: Ratio,
    /// From crossbar cycles to DRAM cycles.
    pub interconnect_to_dram: Ratio,
    /// From L2 cycles to DRAM cycles.
    pub l2_to_dram: Ratio,
}

impl Clocks {
    pub fn new(clocks: &config::Clocks) -> Self {
        let config::Clocks { core_mhz, interconnect_mhz, l2_mhz, dram_mhz } = *clocks;
        Self {
            interconnect: Ratio::new(core_mhz, interconnect_mhz),
            l2: Ratio::new(core_mhz, l2_mhz),
            dram: Ratio::new(core_mhz, dram_mhz),
            interconnect_to_l2: Ratio::new(interconnect_mhz, l2_mhz),
            interconnect_to_dram: Ratio::new(interconnect_mhz, dram_mhz),
            l2_to_dram: Ratio::new(l2_mhz, dram_mhz),
        }
    }

    /// Calls `edge` with the edges of crossbar and L2 that belong to core cycle `t`, in order of time: those after the
    /// last core cycle and not after `t`. Edge 0 of every clock belongs to core cycle 0.
    #[inline]
    pub fn each_edge(&self, t: Cycle, mut edge: impl FnMut(Edge)) {
        if self.interconnect.is_one() && self.l2.is_one() {
            return edge(Edge { interconnect: Some(t), l2: Some(t), dram: self.dram.floor(t) });
        }
        let first = |ratio: Ratio| if t == 0 { 0 } else { ratio.floor(t - 1) + 1 };
        let (mut interconnect, interconnect_last) = (first(self.interconnect), self.interconnect.floor(t));
        let (mut l2, l2_last) = (first(self.l2), self.l2.floor(t));
        while interconnect <= interconnect_last || l2 <= l2_last {
            let order = match (interconnect <= interconnect_last, l2 <= l2_last) {
                (true, false) => Ordering::Less,
                (false, _) => Ordering::Greater,
                (true, true) => self.interconnect_to_l2.compare(interconnect, l2),
            };
            let (is_interconnect, is_l2) = (order.is_le(), order.is_ge());
            edge(Edge {
                interconnect: is_interconnect.then_some(interconnect),
                l2: is_l2.then_some(l2),
                dram: if is_l2 { self.l2_to_dram.floor(l2) } else { self.interconnect_to_dram.floor(interconnect) },
            });
            interconnect += u64::from(is_interconnect);
            l2 += u64::from(is_l2);
        }
    }

    /// The core cycle in which DRAM edge `tick` is taken.
    pub fn core_cycle_of_dram(&self, tick: u64) -> Cycle {
        if tick == u64::MAX { kit::NEVER } else { self.dram.first_source_at(tick) }
    }
}

/// The first of the cycles from `done` on and before `end` that has something to do.
#[inline]
pub(crate) fn due_before(next: Cycle, done: Cycle, end: Cycle) -> Option<Cycle> {
    Some(next.max(done)).filter(|&due| due < end)
}

/// An edge of the crossbar's clock, of the L2's, or of both at the same time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Edge {
    pub interconnect: Option<u64>,
    pub l2: Option<u64>,
    /// The last DRAM cycle until then.
    pub dram: u64,
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn edges_are_counted_exactly_and_back(core in 1u32..4_000_000, other in 1u32..4_000_000, cycle in 0u64..1 << 40) {
            let ratio = Ratio::new(f64::from(core) / 1e3, f64::from(other) / 1e3);
            let edge = ratio.floor(cycle);
            // edge / other <= cycle / core < (edge + 1) / other
            prop_assert!(u128::from(edge) * u128::from(core) <= u128::from(cycle) * u128::from(other));
            prop_assert!(u128::from(cycle) * u128::from(other) < (u128::from(edge) + 1) * u128::from(core));
            let first = ratio.first_source_at(edge);
            prop_assert!(first <= cycle && ratio.floor(first) >= edge);
            prop_assert!(first == 0 || ratio.floor(first - 1) < edge);
            prop_assert!(ratio.compare(first, edge).is_ge());
        }
    }

    #[test]
    fn dram_of_the_rtx_2060_super_makes_3500_cycles_in_1905() {
        let ratio = Ratio::new(1905.0, 3500.0);
        assert_eq!(ratio.floor(1905), 3500);
        assert_eq!(ratio.floor(1), 1);
        assert_eq!(ratio.floor(2), 3);
        assert_eq!(Ratio::new(1365.0, 1365.0).floor(77), 77);
        assert_eq!(Ratio::new(f64::NAN, 0.0).floor(3), 3);
    }
}

//! The edges of the other clocks in each core cycle, computed once for all parts that are simulated by themselves.

use crate::clock::{Clocks, Edge};
use kit::Cycle;
use std::ops::Range;

/// Past cycles that are kept at most.
const MOST_PAST: u64 = 1024;

/// The edges in some core cycles.
#[derive(Clone, Debug)]
pub(crate) struct Timetable {
    clocks: Clocks,
    /// The first core cycle.
    first: Cycle,
    edges: Vec<Edge>,
    /// For each core cycle, where its edges begin and end, and the last DRAM cycle.
    cycles: Vec<(u32, u32, u64)>,
}

impl Timetable {
    pub fn new(clocks: Clocks) -> Self {
        Self { clocks, first: 0, edges: Vec::new(), cycles: Vec::new() }
    }

    /// From now on knows these core cycles, which move forward from call to call.
    pub fn cover(&mut self, cycles: Range<Cycle>) {
        if cycles.start < self.first || cycles.start > self.first + self.cycles.len() as u64 {
            self.edges.clear();
            self.cycles.clear();
            self.first = cycles.start;
        } else if cycles.start > self.first + MOST_PAST {
            let past = (cycles.start - self.first) as usize;
            let (_, gone, _) = self.cycles[past - 1];
            self.edges.drain(..gone as usize);
            self.cycles.drain(..past);
            self.cycles.iter_mut().for_each(|(begin, end, _)| (*begin, *end) = (*begin - gone, *end - gone));
            self.first = cycles.start;
        }
        for t in self.first + self.cycles.len() as u64..cycles.end {
            let edges = &mut self.edges;
            let begin = edges.len() as u32;
            self.clocks.each_edge(t, |edge| edges.push(edge));
            self.cycles.push((begin, edges.len() as u32, self.clocks.dram.floor(t)));
        }
    }

    /// The edges of crossbar and L2 that belong to core cycle `t`, in order of time.
    #[inline]
    pub fn edges(&self, t: Cycle) -> &[Edge] {
        let (begin, end, _) = self.cycles[(t - self.first) as usize];
        &self.edges[begin as usize..end as usize]
    }

    /// The last DRAM cycle that belongs to core cycle `t`.
    #[inline]
    pub fn last_dram_cycle(&self, t: Cycle) -> u64 {
        self.cycles[(t - self.first) as usize].2
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_it_knows_does_not_depend_on_when_it_was_asked() {
        let mhz = config::Clocks { core_mhz: 1000.0, interconnect_mhz: 1300.0, l2_mhz: 700.0, dram_mhz: 2600.0 };
        let clocks = Clocks::new(&mhz);
        let mut table = Timetable::new(clocks);
        for cycles in [0..3, 2..50, 50..51, 40..3000, 2900..3100, 2901..3200, 9000..9001, 100..120] {
            table.cover(cycles.clone());
            for t in cycles {
                let mut edges = Vec::new();
                clocks.each_edge(t, |edge| edges.push(edge));
                assert_eq!((table.edges(t), table.last_dram_cycle(t)), (&edges[..], clocks.dram.floor(t)), "cycle {t}");
            }
        }
    }
}

//! The threads on a core (§4.6): all pass a region before the next one is configured.

use crate::pass::{Mask, Pass, count, insert, members, remove};
use exec::single::CtaMemory;
use isa::{CtaSlot, Dim3, KernelId, LaunchShape};

/// A CTA of a batch.
#[derive(Clone, Debug)]
pub(crate) struct Cta {
    pub position: Dim3,
    /// Threads that have not ended.
    pub live: u32,
    pub memory: CtaMemory,
}

/// The threads on a core. TIDs are consecutive in the order in which CTAs arrive.
#[derive(Clone, Debug)]
pub(crate) struct Batch {
    pub kernel: KernelId,
    /// Threads of a CTA.
    pub per_cta: u32,
    /// Positions of the threads of a CTA.
    pub positions: Vec<Dim3>,
    pub ctas: Vec<Cta>,
    /// By region: threads that continue there.
    waiting: Vec<Mask>,
    /// Live values, by slot and TID.
    pub live: Vec<Vec<u64>>,
}

impl Batch {
    /// A batch without threads, of a kernel of some `regions` and `live` values that are kept between them.
    pub fn new(kernel: KernelId, shape: &LaunchShape, regions: usize, live: usize) -> Self {
        let per_cta = shape.threads();
        Self {
            kernel,
            per_cta,
            positions: (0..u64::from(per_cta)).map(|i| shape.block.position(i)).collect(),
            ctas: Vec::new(),
            waiting: vec![Mask::new(); regions],
            live: vec![Vec::new(); live],
        }
    }

    /// Threads of all its CTAs, ended or not.
    pub fn threads(&self) -> u32 {
        self.per_cta * self.ctas.len() as u32
    }

    /// Adds a CTA.
    pub fn add(&mut self, position: Dim3, memory: CtaMemory) {
        self.ctas.push(Cta { position, live: self.per_cta, memory });
        let threads = self.threads() as usize;
        self.live.iter_mut().for_each(|values| values.resize(threads, 0));
    }

    /// The CTA of thread `tid` and its position in it.
    #[inline]
    pub const fn place(&self, tid: u32) -> (usize, u32) {
        ((tid / self.per_cta) as usize, tid % self.per_cta)
    }

    /// The slot of a CTA.
    pub fn slot(cta: usize) -> CtaSlot {
        CtaSlot::from(cta)
    }

    /// The threads of `pass` continue elsewhere or end; all continue in `always`, if there is such a region.
    pub fn passed(&mut self, pass: &mut Pass, always: Option<usize>) {
        let (mut run, next) = pass.finish();
        if let Some(region) = always {
            let to = &mut self.waiting[region];
            to.resize(to.len().max(run.len()), 0);
            to.iter_mut().zip(&run).for_each(|(to, run)| *to |= run);
            return;
        }
        for (tid, region) in next {
            insert(&mut self.waiting[region.0 as usize], tid);
            remove(&mut run, tid);
        }
        for tid in members(&run) {
            let (cta, _) = self.place(tid);
            self.ctas[cta].live -= 1;
        }
    }

    /// The first region in which threads continue, with these threads, which no longer wait for it. A region after a
    /// barrier waits for all threads of a CTA that have not ended.
    pub fn next_region(&mut self, after_barrier: impl Fn(usize) -> bool) -> Option<(usize, Mask)> {
        for region in 0..self.waiting.len() {
            if count(&self.waiting[region]) == 0 {
                continue;
            }
            let run = if after_barrier(region) {
                self.complete_ctas(region)
            } else {
                std::mem::take(&mut self.waiting[region])
            };
            if count(&run) > 0 {
                return Some((region, self.padded(run)));
            }
        }
        None
    }

    /// Takes the threads of CTAs all of whose threads wait for `region`.
    fn complete_ctas(&mut self, region: usize) -> Mask {
        let mut here = vec![0; self.ctas.len()];
        for tid in members(&self.waiting[region]) {
            here[self.place(tid).0] += 1;
        }
        let is_complete = |tid: u32| {
            let (cta, _) = self.place(tid);
            here[cta] == self.ctas[cta].live
        };
        let mut run = Mask::new();
        members(&self.waiting[region]).filter(|&tid| is_complete(tid)).for_each(|tid| insert(&mut run, tid));
        self.waiting[region].iter_mut().zip(&run).for_each(|(waiting, run)| *waiting &= !run);
        run
    }

    fn padded(&self, mut run: Mask) -> Mask {
        run.resize((self.threads() as usize).div_ceil(64), 0);
        run
    }

    /// Whether all threads have ended.
    pub fn is_over(&self) -> bool {
        self.ctas.iter().all(|cta| cta.live == 0)
    }

    /// Threads that wait for regions, for messages: region, CTA, their number.
    pub fn waiting(&self) -> Vec<(usize, Dim3, u32)> {
        let mut found = Vec::new();
        for (region, mask) in self.waiting.iter().enumerate() {
            for (number, cta) in self.ctas.iter().enumerate() {
                let here = members(mask).filter(|&tid| self.place(tid).0 == number).count() as u32;
                if here > 0 {
                    found.push((region, cta.position, here));
                }
            }
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dataflow::graph::RegionId;

    fn batch() -> Batch {
        let one = Dim3::new(1, 1, 1);
        let shape = LaunchShape {
            grid: one,
            block: Dim3::new(4, 1, 1),
            registers_per_thread: 0,
            shared_bytes: 0,
            cluster: None,
        };
        let mut batch = Batch::new(KernelId(0), &shape, 3, 0);
        (0..2).for_each(|x| batch.add(Dim3::new(x, 0, 0), CtaMemory::default()));
        batch
    }

    #[test]
    fn a_barrier_waits_for_the_threads_of_its_cta_that_have_not_ended() {
        let mut batch = batch();
        let mut pass = Pass::of_all(0, 8);
        // Of the first CTA threads 0 and 1 reach the barrier, 2 ends, 3 goes round once more.
        [0, 1, 4, 5, 6, 7].into_iter().for_each(|tag| pass.goes_on(tag, RegionId(2)));
        pass.goes_on(3, RegionId(1));
        batch.passed(&mut pass, None);
        let barrier = |region: usize| region == 2;
        let (region, run) = batch.next_region(barrier).unwrap();
        assert_eq!((region, members(&run).collect::<Vec<_>>()), (1, vec![3]));
        let (region, run) = batch.next_region(barrier).unwrap();
        assert_eq!((region, members(&run).collect::<Vec<_>>()), (2, vec![4, 5, 6, 7]));
        assert_eq!(batch.waiting(), [(2, Dim3::new(0, 0, 0), 2)]);
        let mut back = Pass::of(1, vec![8], 8, false);
        back.goes_on(3, RegionId(2));
        batch.passed(&mut back, None);
        let (_, run) = batch.next_region(barrier).unwrap();
        assert_eq!(members(&run).collect::<Vec<_>>(), [0, 1, 3]);
        assert!(batch.next_region(barrier).is_none() && !batch.is_over());
    }
}

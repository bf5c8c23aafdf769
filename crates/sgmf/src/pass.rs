//! One pass of the threads of a batch through a region.

use dataflow::graph::RegionId;
use kit::bits::set_bits;

/// Threads as bits, by TID.
pub(crate) type Mask = Vec<u64>;

/// A pass of threads through a region.
#[derive(Clone, Debug, Default)]
pub(crate) struct Pass {
    pub region: u32,
    /// Threads that pass, masked or not.
    pub count: u32,
    /// Results that have not left their units.
    pub remaining: u64,
    /// Those that take part.
    run: Mask,
    /// All take part: the first region of a batch.
    all: bool,
    /// TIDs by number in the pass, if masked threads are left out.
    tids: Option<Vec<u32>>,
    /// Where threads continue.
    next: Vec<(u32, RegionId)>,
}

impl Pass {
    /// A pass of all of `threads` threads, to which more may be added.
    pub fn of_all(region: u32, threads: u32) -> Self {
        Self { region, count: threads, all: true, ..Self::default() }
    }

    /// A pass of `threads` threads of which those in `run` take part; if `skip_masked`, only these pass.
    pub fn of(region: u32, run: Mask, threads: u32, skip_masked: bool) -> Self {
        let tids = skip_masked.then(|| members(&run).collect::<Vec<u32>>());
        let count = tids.as_ref().map_or(threads, |tids| tids.len() as u32);
        Self { region, count, run, tids, ..Self::default() }
    }

    /// The TID of the thread with number `tag`.
    #[inline]
    pub fn tid(&self, tag: u32) -> u32 {
        self.tids.as_ref().map_or(tag, |tids| tids[tag as usize])
    }

    /// Whether thread `tag` takes part.
    #[inline]
    pub fn is_live(&self, tag: u32) -> bool {
        self.all || self.tids.is_some() || self.run[tag as usize / 64] >> (tag % 64) & 1 == 1
    }

    /// Thread `tag` continues in `region`, if it takes part.
    #[inline]
    pub fn goes_on(&mut self, tag: u32, region: RegionId) {
        if self.is_live(tag) {
            self.next.push((self.tid(tag), region));
        }
    }

    /// The threads that took part, once all have passed, and where they continue.
    pub fn finish(&mut self) -> (Mask, Vec<(u32, RegionId)>) {
        let run = if self.all { all(self.count) } else { std::mem::take(&mut self.run) };
        (run, std::mem::take(&mut self.next))
    }

    /// Threads that pass without taking part.
    pub fn masked(&self) -> u32 {
        if self.all { 0 } else { self.count - count(&self.run) }
    }
}

/// A mask of the first `threads` threads.
fn all(threads: u32) -> Mask {
    let mut mask = vec![u64::MAX; threads as usize / 64];
    if !threads.is_multiple_of(64) {
        mask.push((1 << (threads % 64)) - 1);
    }
    mask
}

/// Threads in `mask`.
pub(crate) fn count(mask: &[u64]) -> u32 {
    mask.iter().map(|word| word.count_ones()).sum()
}

/// Threads in `mask`, in order.
pub(crate) fn members(mask: &[u64]) -> impl Iterator<Item = u32> + '_ {
    mask.iter().enumerate().flat_map(|(i, word)| set_bits(*word).map(move |bit| (64 * i + bit) as u32))
}

/// Adds thread `tid` to `mask`.
pub(crate) fn insert(mask: &mut Mask, tid: u32) {
    let word = tid as usize / 64;
    if mask.len() <= word {
        mask.resize(word + 1, 0);
    }
    mask[word] |= 1 << (tid % 64);
}

/// Removes thread `tid` from `mask`, which is large enough.
pub(crate) fn remove(mask: &mut Mask, tid: u32) {
    mask[tid as usize / 64] &= !(1 << (tid % 64));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn masked_threads_pass_or_are_left_out() {
        let mut run = Mask::new();
        [1, 64, 70].into_iter().for_each(|tid| insert(&mut run, tid));
        assert_eq!((count(&run), members(&run).collect::<Vec<_>>()), (3, vec![1, 64, 70]));
        let (masked, mut skipped) = (Pass::of(2, run.clone(), 100, false), Pass::of(2, run, 100, true));
        assert_eq!((masked.count, masked.masked()), (100, 97));
        assert!(masked.is_live(64) && !masked.is_live(65) && masked.tid(64) == 64);
        assert_eq!((skipped.count, skipped.masked(), skipped.tid(1)), (3, 0, 64));
        skipped.goes_on(2, RegionId(1));
        let (run, next) = skipped.finish();
        assert_eq!((count(&run), next), (3, vec![(70, RegionId(1))]));
    }

    #[test]
    fn threads_that_do_not_take_part_go_on_nowhere() {
        let mut run = Mask::new();
        insert(&mut run, 3);
        let mut pass = Pass::of(0, run, 10, false);
        (0..10).for_each(|tag| pass.goes_on(tag, RegionId(4)));
        assert_eq!(pass.finish().1, [(3, RegionId(4))]);
        let mut first = Pass::of_all(0, 65);
        assert_eq!(count(&first.finish().0), 65);
    }
}

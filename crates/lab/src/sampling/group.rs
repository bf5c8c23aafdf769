//! Groups of launches that are alike: of the same kernel, grid, block and shared memory, with much the same work.
//!
//! After Principal Kernel Selection (Baddouh, Khairy, Green, Payer, Rogers, *Principal Kernel Analysis*, MICRO 2021),
//! which groups the kernels of a whole profile by what they do, independent of the machine, and simulates one of each
//! group. Deviations:
//!
//! - D1. One pass: a launch joins the group whose first launch it is nearest to, within a tolerance, or begins one. The
//!   paper has a profile of all launches beforehand, reduces twelve metrics to principal components and clusters them by
//!   k-means, with the number of clusters that keeps the error of the known total within 5 %.
//! - D2. Name and shape of a launch are compared exactly, so that few metrics suffice: warp instructions by class, memory
//!   accesses by space, thread instructions, sectors of global memory. The paper's metrics are of the same kinds.
//! - D3. Several launches of a group are timed, which gives an estimate of the error; the paper times one.
//! - D4. The paper scales the representative's time by the number of launches, here it is scaled by the work.

use super::work::Work;
use isa::{Dim3, LaunchShape};
use std::collections::BTreeMap;

/// Properties that all launches of a group share.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Key {
    pub name: String,
    grid: [u32; 3],
    block: [u32; 3],
    shared_bytes: u32,
}

impl Key {
    pub fn new(name: &str, shape: &LaunchShape) -> Self {
        let array = |d: Dim3| [d.x, d.y, d.z];
        Self {
            name: name.to_owned(),
            grid: array(shape.grid),
            block: array(shape.block),
            shared_bytes: shape.shared_bytes,
        }
    }

    /// CTAs in each dimension.
    pub fn grid(&self) -> [u32; 3] {
        self.grid
    }

    /// Threads of a CTA in each dimension.
    pub fn block(&self) -> [u32; 3] {
        self.block
    }

    /// CTAs of the grid.
    pub fn ctas(&self) -> u64 {
        self.grid.iter().map(|&n| u64::from(n)).product()
    }
}

/// Launches that were timed: their number, and their amounts and cycles together.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Sum {
    launches: u64,
    amount: u64,
    cycles: u64,
    /// Cycles of the group's first launch, if it was timed.
    first: Option<(u64, u64)>,
}

impl Sum {
    /// Adds a launch.
    pub fn add(&mut self, amount: u64, cycles: u64, is_first: bool) {
        (self.launches, self.amount, self.cycles) = (self.launches + 1, self.amount + amount, self.cycles + cycles);
        if is_first {
            self.first = Some((amount, cycles));
        }
    }

    /// Cycles of a launch of `amount`, as the report will have them; `None` if nothing was timed.
    pub fn inferred(&self, amount: u64) -> Option<u64> {
        let (of, cycles) = match self.first {
            Some((first, cycles)) if self.launches > 2 => (self.amount - first, self.cycles - cycles),
            _ => (self.amount, self.cycles),
        };
        (of > 0).then(|| (cycles as f64 * amount as f64 / of as f64).round() as u64)
    }
}

/// A group.
#[derive(Clone, Debug)]
pub(crate) struct Group {
    pub key: Key,
    /// The work of its first launch.
    work: Work,
    /// Launches so far.
    pub launches: u64,
    /// Those that were timed.
    pub timed: Sum,
}

/// Whether the launch number `order` of group number `group`, from 0, is to be timed: the first two, and then one of
/// each 2, 4, 8 … that follow. Which one is drawn, so that launches with a period of a power of two are not always met
/// in the same phase; the draw depends on nothing but the two numbers.
pub(crate) fn is_chosen(group: usize, order: u64) -> bool {
    let Some(exponent) = order.checked_ilog2().filter(|exponent| *exponent > 0) else { return true };
    let size = 1_u64 << exponent;
    order - size == draw(group as u64, exponent.into()) % size
}

/// A number that two numbers determine: the finalizer of SplitMix64.
fn draw(a: u64, b: u64) -> u64 {
    let mut x = (a << 8 | b).wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    x = (x ^ x >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ x >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ x >> 31
}

/// All groups, in the order of their first launches.
#[derive(Clone, Debug, Default)]
pub(crate) struct Groups {
    pub all: Vec<Group>,
    by_key: BTreeMap<Key, Vec<usize>>,
}

impl Groups {
    /// Adds a launch to the nearest group within `tolerance` (a share), or to a new one. Returns the group and the
    /// launch's place in it, from 0.
    pub fn join(&mut self, key: &Key, work: &Work, tolerance: f64) -> (usize, u64) {
        let of_key = self.by_key.entry(key.clone()).or_default();
        let near = of_key.iter().map(|&group| (work.distance(&self.all[group].work), group));
        let near = near.filter(|(distance, _)| *distance <= tolerance);
        let found = near.min_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, group)| group);
        let group = found.unwrap_or_else(|| {
            of_key.push(self.all.len());
            self.all.push(Group { key: key.clone(), work: work.clone(), launches: 0, timed: Sum::default() });
            self.all.len() - 1
        });
        self.all[group].launches += 1;
        (group, self.all[group].launches - 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn launches_join_the_nearest_group_within_the_tolerance() {
        let shape = |x| LaunchShape {
            grid: Dim3::new(x, 1, 1),
            block: Dim3::new(32, 1, 1),
            registers_per_thread: 16,
            shared_bytes: 0,
            cluster: None,
        };
        let work = |amount| Work { amount, ..Work::default() };
        let (a, b, wide) = (Key::new("a", &shape(1)), Key::new("b", &shape(1)), Key::new("a", &shape(2)));
        let mut groups = Groups::default();
        let mut join = |key, amount| groups.join(key, &work(amount), 0.05);
        assert_eq!([join(&a, 1000), join(&a, 1040), join(&a, 1060), join(&a, 1045)], [(0, 0), (0, 1), (1, 0), (1, 1)]);
        assert_eq!([join(&b, 1000), join(&wide, 1000), join(&a, 950)], [(2, 0), (3, 0), (0, 2)]);
    }

    #[test]
    fn the_first_is_timed_and_ever_fewer_of_the_others() {
        for group in 0..20 {
            let chosen: Vec<u64> = (0..1024).filter(|&order| is_chosen(group, order)).collect();
            assert_eq!(chosen.len(), 11);
            assert!(chosen[..2] == [0, 1] && chosen[2..].iter().zip(1..).all(|(order, e)| order.ilog2() == e));
        }
        let fourth: std::collections::BTreeSet<u64> =
            (0..50).flat_map(|group| (4..8).filter(move |&order| is_chosen(group, order))).collect();
        assert_eq!(fourth.len(), 4, "all of them are drawn");
    }
}

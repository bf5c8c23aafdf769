//! The work of a launch, counted while it is executed without time.

use exec::FunctionalStats;
use isa::{Control, DynInst, OpClass, Program, Space};
use std::ops::ControlFlow;

/// Warp instructions without the exit of any thread after which a launch counts as one that does not end without
/// time, because CTAs of it wait for later ones.
const MOST_WITHOUT_EXIT: u64 = 1 << 26;

/// The work of a launch.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Work {
    /// Work to which its time is taken to be proportional: warp instructions, or a figure in their place.
    pub amount: u64,
    /// Thread instructions, if they are known.
    pub thread_instructions: Option<u64>,
    /// Counts by instruction, if there are any.
    pub mix: Option<Mix>,
}

/// The mix of a launch's instructions.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Mix {
    /// Warp instructions by class, memory accesses by space.
    classes: Box<[u64]>,
    /// Sectors of 32 bytes that accesses to global memory touch, as far as neighbouring lanes share them.
    sectors: u64,
}

/// Kinds of memory accesses: classes of their own, after the classes of instructions.
const SPACES: [Space; 7] =
    [Space::Global, Space::Local, Space::Shared, Space::Constant, Space::Param, Space::Generic, Space::Texture];

/// The difference of two counts as a share of the larger.
fn difference(a: u64, b: u64) -> f64 {
    if a == b { 0.0 } else { a.abs_diff(b) as f64 / a.max(b) as f64 }
}

impl Mix {
    fn distance(&self, other: &Self) -> f64 {
        let pairs = || self.classes.iter().zip(&other.classes);
        let differ: u64 = pairs().map(|(&a, &b)| a.abs_diff(b)).sum();
        let all: u64 = pairs().map(|(&a, &b)| a.max(b)).sum();
        let classes = if differ == 0 { 0.0 } else { differ as f64 / all as f64 };
        classes.max(difference(self.sectors, other.sectors))
    }
}

impl Work {
    /// Largest difference of two launches, as a share: 0 to 1. Figures unknown for one of them are not compared.
    pub fn distance(&self, other: &Self) -> f64 {
        let threads = self.thread_instructions.zip(other.thread_instructions);
        let threads = threads.map_or(0.0, |(a, b)| difference(a, b));
        let mix = self.mix.as_ref().zip(other.mix.as_ref()).map_or(0.0, |(a, b)| a.distance(b));
        difference(self.amount, other.amount).max(threads).max(mix)
    }
}

/// Counts the instructions of a launch.
pub(crate) struct Tally<'a> {
    program: &'a Program,
    by_pc: Vec<u64>,
    sectors: u64,
    instructions: u64,
    /// Instructions at the last exit of a thread.
    exit_at: u64,
}

impl<'a> Tally<'a> {
    pub fn new(program: &'a Program) -> Self {
        let by_pc = vec![0; program.insts().len()];
        Self { program, by_pc, sectors: 0, instructions: 0, exit_at: 0 }
    }

    /// Counts an executed instruction. `Break`: the launch seems not to end.
    pub fn see(&mut self, out: &DynInst) -> ControlFlow<()> {
        self.by_pc[out.pc.index()] += 1;
        self.instructions += 1;
        let inst = self.program.inst(out.pc);
        if inst.mem.is_some() && out.space == Space::Global {
            self.sectors += sectors(out);
        }
        if inst.control == Control::Exit {
            self.exit_at = self.instructions;
        }
        let is_endless = self.instructions - self.exit_at > MOST_WITHOUT_EXIT;
        if is_endless { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }

    /// The work of the launch, which has ended.
    pub fn work(self, stats: &FunctionalStats) -> Work {
        let mut classes = vec![0; OpClass::COUNT + SPACES.len()];
        for (inst, count) in self.program.insts().iter().zip(&self.by_pc) {
            let class = inst.mem.map_or(inst.class as usize, |mem| {
                OpClass::COUNT + SPACES.iter().position(|&space| space == mem.space).unwrap_or(0)
            });
            classes[class] += count;
        }
        Work {
            amount: stats.warp_instructions,
            thread_instructions: Some(stats.thread_instructions),
            mix: Some(Mix { classes: classes.into(), sectors: self.sectors }),
        }
    }
}

/// Sectors that the lanes of an access touch; lanes that are not neighbours are taken to touch different ones.
fn sectors(out: &DynInst) -> u64 {
    let (mut count, mut last, mut lanes) = (0, u64::MAX, out.mask);
    while lanes != 0 {
        let sector = out.addresses[lanes.trailing_zeros() as usize] >> 5;
        count += u64::from(sector != last);
        last = sector;
        lanes &= lanes - 1;
    }
    count
}

#[cfg(test)]
mod tests {
    use super::*;

    fn work(classes: &[u64], sectors: u64) -> Work {
        let mix = Mix { classes: classes.into(), sectors };
        let amount = classes.iter().sum();
        Work { amount, thread_instructions: Some(32 * amount), mix: Some(mix) }
    }

    #[test]
    fn launches_differ_by_classes_threads_and_sectors() {
        let base = work(&[100, 50, 50], 40);
        assert_eq!(base.distance(&base), 0.0);
        // Ten of one class in place of another: twenty of 210.
        assert!((base.distance(&work(&[90, 60, 50], 40)) - 20.0 / 210.0).abs() < 1e-12);
        assert_eq!(base.distance(&work(&[100, 50, 50], 50)), 0.2);
        let fewer_threads = Work { thread_instructions: Some(3200), ..base.clone() };
        assert_eq!(base.distance(&fewer_threads), 0.5);
        // Without counts by class.
        assert_eq!(base.distance(&Work { amount: 100, ..Work::default() }), 0.5);
        assert_eq!(Work::default().distance(&Work::default()), 0.0);
    }

    #[test]
    fn lanes_share_sectors_with_their_neighbours() {
        let mut out = DynInst { mask: u32::MAX, ..DynInst::default() };
        out.addresses = std::array::from_fn(|lane| 0x1000 + 4 * lane as u64);
        assert_eq!(sectors(&out), 4);
        out.addresses = std::array::from_fn(|lane| 0x1000 + 128 * lane as u64);
        assert_eq!(sectors(&out), 32);
        out.mask = 0b101;
        assert_eq!(sectors(&out), 2);
    }
}

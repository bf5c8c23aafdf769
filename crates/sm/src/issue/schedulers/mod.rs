//! Warp schedulers: which of the warps with a candidate issues.
//!
//! A new scheduler is one file with a [`WarpScheduler`] and its two lines here: the `mod` and the
//! row of the table.

mod gto;
mod laggard;
mod lrr;
mod srr;
mod two_level;

use crate::spec::CoreSpec;
use crate::warps::Warps;
use crate::warps::mask::WarpMask;
use isa::{CtaSlot, WarpSlot};

/// What a scheduler sees of its warps. What a method gives is looked up when it is called.
#[derive(Clone, Copy, Debug)]
pub struct View<'a, M: WarpMask> {
    /// Its warps that are resident and have not exited.
    pub live: M,
    /// Its live warps that wait at a barrier, a fence or similar.
    pub held: M,
    /// Its live warps whose oldest instruction waits for a long-latency operation.
    pub long_waits: M,
    pub(super) warps: &'a Warps<M>,
}

impl<M: WarpMask> View<'_, M> {
    /// Order of arrival of `warp` on the SM: smaller is older.
    #[inline]
    pub fn age(&self, warp: WarpSlot) -> u64 {
        self.warps.age[warp.index()]
    }

    /// The CTA of `warp`.
    #[inline]
    pub fn cta(&self, warp: WarpSlot) -> CtaSlot {
        self.warps.cta[warp.index()]
    }

    /// Progress of `warp`: its instructions that are complete.
    #[inline]
    pub fn completed(&self, warp: WarpSlot) -> u32 {
        let w = warp.index();
        self.warps.next_order[w] - u32::from(self.warps.in_pipeline[w])
    }

    /// Memory accesses of `warp` that have issued and are not performed.
    #[inline]
    pub fn outstanding(&self, warp: WarpSlot) -> u32 {
        self.warps.outstanding[warp.index()]
    }

    /// Look-ups of `warp` that have missed in L1 since it started.
    #[inline]
    pub fn l1_misses(&self, warp: WarpSlot) -> u32 {
        self.warps.l1_misses[warp.index()]
    }

    /// Warps that wait at a barrier, of any scheduler.
    #[inline]
    pub fn at_barrier(&self) -> M {
        self.warps.at_barrier
    }
}

/// A warp scheduler. Its state changes only when a warp issues or when what it sees changes, so
/// that an SM in which nothing moves may sleep.
pub trait WarpScheduler<M: WarpMask> {
    /// A scheduler for the warps in `mine`.
    fn new(spec: &CoreSpec, mine: M) -> Self;

    /// The warps that it looks at in this cycle, among the live ones.
    fn considered(&mut self, view: &View<'_, M>) -> M {
        view.live
    }

    /// Chooses one of `ready`, which is not empty: warps it looks at that can issue.
    fn choose(&mut self, ready: M, view: &View<'_, M>) -> WarpSlot;

    /// The chosen warp has issued.
    fn on_issue(&mut self, warp: WarpSlot);
}

/// Declares the schedulers: the enum over them, their names and the dispatch.
macro_rules! schedulers {
    ($($(#[doc = $text:literal])+ $variant:ident($type:ty) = $name:literal,)*) => {
        /// Name and description of each scheduler.
        pub const NAMES: &[(&str, &str)] = &[$(($name, concat!($($text,)+).trim_ascii()),)*];

        /// One of the warp schedulers.
        #[derive(Debug)]
        pub enum Scheduler<M> { $($(#[doc = $text])+ $variant($type),)* }

        impl<M: WarpMask> Scheduler<M> {
            /// The scheduler named in `spec`, which has been checked.
            pub fn of(spec: &CoreSpec, mine: M) -> Self {
                match spec.scheduler_name() {
                    $($name => Self::$variant(<$type as WarpScheduler<M>>::new(spec, mine)),)*
                    name => unreachable!("scheduler `{name}` was checked with the specification"),
                }
            }

            /// See [`WarpScheduler::considered`].
            #[inline]
            pub fn considered(&mut self, view: &View<'_, M>) -> M {
                match self { $(Self::$variant(s) => s.considered(view),)* }
            }

            /// Chooses one of `ready`, which issues: see [`WarpScheduler::choose`].
            #[inline]
            pub fn choose(&mut self, ready: M, view: &View<'_, M>) -> WarpSlot {
                match self {
                    $(Self::$variant(s) => {
                        let warp = s.choose(ready, view);
                        WarpScheduler::<M>::on_issue(s, warp);
                        warp
                    })*
                }
            }
        }
    };
}

schedulers! {
    /// Loose round robin: the first ready warp behind the one that issued last.
    Lrr(lrr::LooseRoundRobin) = "lrr",
    /// Greedy then oldest: the warp that issued last, else the oldest ready one.
    Gto(gto::GreedyThenOldest<M>) = "gto",
    /// Strict round robin: only the warp whose turn it is may issue.
    Srr(srr::StrictRoundRobin) = "srr",
    /// Two-level: loose round robin over an active set, from which warps that wait long are demoted.
    TwoLevel(two_level::TwoLevel<M>) = "two_level",
    /// Greedy, then the warp with the fewest instructions completed (criticality, after CAWA).
    Laggard(laggard::Laggard<M>) = "laggard",
}

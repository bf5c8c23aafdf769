//! The trait of warp schedulers, and what they see.

use crate::spec::CoreSpec;
use crate::warps::Warps;
use crate::warps::mask::WarpMask;
use isa::{CtaSlot, WarpSlot};
use kit::Parameters;
use kit::persist::{Archive, Mismatch};

/// A scheduler's view of its warps. A method looks its result up when it is called.
#[derive(Clone, Copy, Debug)]
pub struct View<'a, M: WarpMask> {
    /// Its warps that are resident and have not exited.
    pub live: M,
    /// Its live warps that cannot issue until others have: they wait at a barrier, a fence, an `mbarrier` or similar.
    pub held: M,
    /// Its live warps whose oldest instruction waits for a long-latency operation.
    pub long_waits: M,
    pub(in crate::issue) warps: &'a Warps<M>,
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
pub trait WarpScheduler<M: WarpMask>: Send {
    /// Its sizes and choices (`kit::parameters!`), `()` without any.
    type Config: Parameters;

    /// It looks at all live warps: [`WarpScheduler::considered`] is not asked.
    const CONSIDERS_LIVE: bool;

    /// A scheduler for the warps in `mine`.
    fn new(config: &Self::Config, spec: &CoreSpec, mine: M) -> Self;

    /// The warps that it looks at in this cycle, among the live ones.
    fn considered(&mut self, view: &View<'_, M>) -> M {
        view.live
    }

    /// Chooses one of `ready`, which is not empty: warps it looks at that can issue. May be asked without an issue.
    fn choose(&mut self, ready: M, view: &View<'_, M>) -> WarpSlot;

    /// The chosen warp has issued.
    fn on_issue(&mut self, warp: WarpSlot);

    /// Saves the state that survives the end of all warps, for checkpoints between kernels; by default nothing
    /// ([`Persist`](kit::persist::Persist)).
    ///
    /// # Errors
    /// The archive has the state of another kind.
    fn persist(&mut self, _archive: &mut Archive) -> Result<(), Mismatch> {
        Ok(())
    }
}

//! Greedy, then the warp that is most behind: criticality as progress.
//!
//! S.-Y. Lee, A. Arunkumar, C.-J. Wu, "CAWA: Coordinated Warp Scheduling and Cache Prioritization for
//! Critical Warp Acceleration of GPGPU Workloads" (ISCA 2015), section 3: a greedy scheduler that prefers
//! critical warps, those that will end last.
//!
//! - D-LG1: CAWA predicts the instructions that a warp has left, from the paths of its branches, and adds
//!   the cycles it has stalled. Here the warp with the fewest instructions completed is critical.

use super::{View, WarpScheduler};
use crate::spec::CoreSpec;
use crate::warps::mask::WarpMask;
use isa::WarpSlot;

/// Remembers the warp that issued last.
#[derive(Debug)]
pub struct Laggard<M> {
    greedy: M,
}

impl<M: WarpMask> WarpScheduler<M> for Laggard<M> {
    fn new(_spec: &CoreSpec, mine: M) -> Self {
        Self { greedy: mine.first().map_or(M::NONE, M::of) }
    }

    #[inline]
    fn choose(&mut self, ready: M, view: &View<'_, M>) -> WarpSlot {
        if let Some(greedy) = (ready & self.greedy).first() {
            return greedy;
        }
        ready.iter().min_by_key(|&w| (view.completed(w), view.age(w))).expect("some warp is ready")
    }

    #[inline]
    fn on_issue(&mut self, warp: WarpSlot) {
        self.greedy = M::of(warp);
    }
}

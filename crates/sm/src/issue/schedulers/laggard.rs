//! Greedy, then the warp with the least progress: criticality as progress.
//!
//! S.-Y. Lee, A. Arunkumar, C.-J. Wu, "CAWA: Coordinated Warp Scheduling and Cache Prioritization for
//! Critical Warp Acceleration of GPGPU Workloads" (ISCA 2015), section 3: a greedy scheduler that prefers
//! critical warps, those that will end last.
//!
//! - D-LG1: CAWA predicts the instructions that a warp has left, from the paths of its branches, and adds
//!   the cycles it has stalled. Here the warp with the fewest instructions completed is critical.

use super::gto::Order;
use super::scheduler::View;
use crate::warps::mask::WarpMask;
use isa::WarpSlot;

/// The order of a [`Greedy`](super::gto::Greedy) scheduler: by progress, then by arrival.
#[derive(Debug)]
pub struct FewestCompleted;

impl Order for FewestCompleted {
    type Key = (u32, u64);

    #[inline]
    fn key<M: WarpMask>(view: &View<'_, M>, warp: WarpSlot) -> (u32, u64) {
        (view.completed(warp), view.age(warp))
    }
}

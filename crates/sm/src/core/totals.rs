//! The counters of SMs, added up.

use crate::execute::work::WorkCounts;
use crate::observe::counters::{ClassCounts, DesignStatistics, SmCounters};
use crate::observe::stalls::Stall;
use crate::operands::layer::LayerCounters;
use kit::ByKind;
use mem::cache::CacheCounters;

kit::counters! {
    /// All counters of SMs, added up.
    pub struct SmTotals {
        /// Events.
        pub sm: SmCounters,
        /// Issue slots that issued.
        pub slots_issued: u64,
        /// Issue slots lost, by [`Stall`].
        pub slots_stalled: ByKind<{ Stall::COUNT }>,
        /// Warp instructions by class.
        pub classes: ClassCounts,
        /// Active lanes of warp instructions, by what they do.
        pub works: WorkCounts,
        /// Statistics of the issue design's own.
        pub design: DesignStatistics,
        /// The layer over the operand stage, if there is one.
        pub layer: LayerCounters,
        /// L1 data caches.
        pub l1d: CacheCounters,
        /// Instruction caches.
        pub icache: CacheCounters,
        /// Constant caches.
        pub constant: CacheCounters,
        /// Texture caches.
        pub texture: CacheCounters,
    }
}

impl SmTotals {
    /// Issue slots in all.
    pub(super) fn slots(&self) -> u64 {
        self.slots_issued + self.slots_stalled.0.iter().sum::<u64>()
    }
}

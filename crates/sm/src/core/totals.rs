//! The counters of SMs, added up.

use crate::design::CoreDesign;
use crate::execute::work::WorkCounts;
use crate::issue::policy::IssuePolicy;
use crate::observe::counters::{ClassCounts, DesignStatistics, SmCounters};
use crate::observe::observer::Observer;
use crate::observe::stalls::Stall;
use crate::operands::layer::LayerCounters;
use crate::sm::Sm;
use isa::WarpStream;
use kit::{ByKind, Counters};
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
    /// Adds the counters of one SM.
    pub(super) fn add_sm<S: WarpStream, D: CoreDesign, O: Observer>(&mut self, sm: &Sm<S, D, O>) {
        self.sm.add(sm.counters());
        self.slots_issued += sm.account().issued();
        self.slots_stalled.add(&ByKind(std::array::from_fn(|i| sm.account().stalled(Stall::ALL[i]))));
        self.classes.add(sm.class_counts());
        self.works.add(sm.work_counts());
        let mut design = sm.policy().statistics();
        if let Some(layer) = sm.layer_counts() {
            design.extend(layer.statistics());
            self.layer.add(&layer.counters);
        }
        self.design.add(&DesignStatistics(design));
        let memory = sm.memory_counters();
        self.l1d.add(&memory.l1d);
        if let Some(cache) = sm.icache() {
            self.icache.add(cache.counters());
        }
        self.constant.add(&memory.constant);
        self.texture.add(&memory.texture);
    }

    /// Issue slots in all.
    pub(super) fn slots(&self) -> u64 {
        self.slots_issued + self.slots_stalled.0.iter().sum::<u64>()
    }
}

//! Sizes and times of the caches.

use crate::spec::CoreSpec;
use config::{Allocate, Cache, IndexFunction, Replacement, WriteAllocate, WritePolicy};

/// Sizes and times of a [`SubCoreFetch`](super::SubCoreFetch). A design may change any of them.
#[derive(Clone, Debug, PartialEq)]
pub struct SubCoreCaches {
    /// Every look-up hits.
    pub perfect: bool,
    /// Instruction cache of a sub-core.
    pub l0: Cache,
    /// Lines of its stream buffer; without any nothing is prefetched.
    pub stream_buffer_lines: u32,
    /// Cache of instructions and constants of the SM.
    pub l1: Cache,
    /// From a sub-core to that cache.
    pub to_l1_cycles: u32,
    /// From that cache to a sub-core.
    pub from_l1_cycles: u32,
}

impl SubCoreCaches {
    /// As the description of the SM gives them.
    pub fn of(spec: &CoreSpec) -> Self {
        Self {
            perfect: false,
            // The paper has 32 misses, as many as a sub-core can have: one of each warp.
            l0: cache([8, 32, 128], spec.sm.max_warps),
            stream_buffer_lines: 8,
            l1: cache([64, 16, 128], 64),
            to_l1_cycles: 39,
            from_l1_cycles: 39,
        }
    }
}

/// A cache of sets, ways and bytes of a line, with `misses` lines under way at most.
fn cache([sets, ways, line_bytes]: [u32; 3], misses: u32) -> Cache {
    Cache {
        sectored: false,
        sets,
        ways,
        line_bytes,
        replacement: Replacement::Lru,
        write: WritePolicy::ReadOnly,
        allocate: Allocate::OnFill,
        write_allocate: WriteAllocate::None,
        index: IndexFunction::Linear,
        mshr_entries: misses,
        // All that could wait for a line: warps in a sub-core, misses and prefetches at the SM.
        mshr_merges: 4096,
        miss_queue: misses,
        port_bytes: line_bytes,
    }
}

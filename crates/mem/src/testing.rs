//! GPU descriptions and parts of them for this crate's tests.

use config::{Allocate, Cache, IndexFunction, Replacement, WriteAllocate, WritePolicy};

/// A small read-only sectored cache: 4 sets of 4 ways.
pub(crate) fn cache_config() -> Cache {
    Cache {
        sectored: true,
        sets: 4,
        line_bytes: 128,
        ways: 4,
        replacement: Replacement::Lru,
        write: WritePolicy::WriteBack,
        allocate: Allocate::OnMiss,
        write_allocate: WriteAllocate::LazyFetchOnRead,
        index: IndexFunction::Linear,
        mshr_entries: 8,
        mshr_merges: 4,
        miss_queue: 8,
        port_bytes: 32,
    }
}

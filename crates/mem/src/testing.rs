//! GPU descriptions and parts of them for this crate's tests.

use config::{Allocate, Cache, GpuConfig, IndexFunction, Replacement, WriteAllocate, WritePolicy};

/// A small write-back sectored cache: 4 sets of 4 ways.
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

/// Four SMs, two channels of two slices, all clocks at 1 GHz.
pub(crate) fn small_gpu() -> GpuConfig {
    let mut config = config::load("accel-sim/rtx2060s").expect("built in");
    config.sm_count = 4;
    config.clocks = config::Clocks { core_mhz: 1000.0, interconnect_mhz: 1000.0, l2_mhz: 1000.0, dram_mhz: 1000.0 };
    config.l2.partitions = 2;
    config.l2.latency_cycles = 40;
    config.dram.latency_cycles = 30;
    // Rows of 2 KiB per bank and channel: row 12 up, banks 10:9 and 7, columns the rest.
    config.dram.address_map = "00000000.00000000.00000000.00000000.RRRRRRRR.RRRRRRRR.RRRRBBBC.BCCSSSSS".into();
    config
}

//! The split of a unified array between L1 and shared memory.

use config::{Allocate, L1Data};

/// L1 and shared memory as a kernel finds them.
#[derive(Clone, Debug, PartialEq)]
pub struct Carveout {
    /// The L1 proper, with the ways that are left to it.
    pub l1: config::Cache,
    /// Bytes of the array given to shared memory; 0 where the two are separate.
    pub shared_bytes: u32,
}

/// The split for a kernel whose resident CTAs use `shared_bytes` together on an SM: the smallest
/// choice that holds them, the rest of the array as ways of L1, rounded to the nearest.
///
/// A streaming L1 allocates at the miss if it has the array for itself, else at the fill, so that
/// misses never wait for a line. Without choices, or if none is large enough, the configuration
/// stays as it is.
pub fn carve_out(config: &L1Data, shared_bytes: u32) -> Carveout {
    let mut l1 = config.cache.clone();
    let choice = config.shared_carveouts_bytes.iter().copied().find(|&c| shared_bytes <= c);
    let Some(shared) = choice.filter(|&c| config.unified_bytes > c) else {
        return Carveout { l1, shared_bytes: 0 };
    };
    let way_bytes = (l1.sets * l1.line_bytes).max(1);
    let max_ways = config.unified_bytes / way_bytes;
    let left = u64::from(config.unified_bytes - shared) * u64::from(max_ways);
    // Rounded to the nearest way: (left / unified) + 1/2.
    l1.ways = ((2 * left + u64::from(config.unified_bytes)) / (2 * u64::from(config.unified_bytes))).max(1) as u32;
    if l1.allocate == Allocate::Streaming && shared_bytes == 0 {
        l1.allocate = Allocate::OnMiss;
    }
    Carveout { l1, shared_bytes: shared }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::cache_config;

    /// The V100's: 128 KiB for both, L1 of 4 sets.
    fn v100() -> L1Data {
        L1Data {
            cache: config::Cache { ways: 64, ..cache_config() },
            latency_cycles: 20,
            banks: 4,
            bank_interleave_bytes: 32,
            bank_hash: None,
            look_up_order: None,
            bytes_per_cycle: None,
            skip_global: false,
            write_ratio_percent: 25,
            unified_bytes: 128 << 10,
            shared_carveouts_bytes: [0, 8, 16, 32, 64, 96].map(|k| k << 10).to_vec(),
            fences_invalidate: config::InvalidatingFences::None,
        }
    }

    #[test]
    fn the_smallest_sufficient_carve_out_is_taken_and_l1_has_the_rest() {
        for (used, shared_kib, l1_kib) in
            [(0, 0, 128), (1, 8, 120), (8192, 8, 120), (33 << 10, 64, 64), (96 << 10, 96, 32)]
        {
            let split = carve_out(&v100(), used);
            assert_eq!((split.shared_bytes, split.l1.capacity_bytes()), (shared_kib << 10, l1_kib << 10), "{used}");
        }
    }

    #[test]
    fn streaming_allocates_at_the_miss_only_with_the_whole_array() {
        let mut config = v100();
        config.cache.allocate = Allocate::Streaming;
        assert_eq!(carve_out(&config, 0).l1.allocate, Allocate::OnMiss);
        assert_eq!(carve_out(&config, 4).l1.allocate, Allocate::Streaming);
    }

    #[test]
    fn a_fixed_split_stays_fixed() {
        let config = L1Data { unified_bytes: 0, shared_carveouts_bytes: vec![], ..v100() };
        assert_eq!(carve_out(&config, 48 << 10).l1, config.cache);
    }
}

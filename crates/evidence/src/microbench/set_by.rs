//! Which numbers of a description set a quantity directly. A figure of the same source as one of them was given to the
//! model; any other is a prediction.

/// Patterns of quantities, with dotted paths of the numbers that set them. A quantity without a row, such as the latency
/// of an atomic, is the sum of what several numbers do.
const SET_BY: &[(&str, &[&str])] = &[
    ("fp32_add_*", &["sm.ptx_timing.fp_add"]),
    ("fp32_mul_*", &["sm.ptx_timing.fp_mul"]),
    ("fp32_fma_*", &["sm.ptx_timing.fp_fma"]),
    ("fp32_min_*", &["sm.ptx_timing.fp_min_max"]),
    ("fp32_compare_*", &["sm.ptx_timing.fp_compare"]),
    ("half2_fma_*", &["sm.ptx_timing.half"]),
    ("fp64_add_*", &["sm.ptx_timing.dp_add"]),
    ("fp64_mul_*", &["sm.ptx_timing.dp_mul"]),
    ("fp64_fma_*", &["sm.ptx_timing.dp_fma"]),
    ("int_add_*", &["sm.ptx_timing.int_add"]),
    ("int_logic_*", &["sm.ptx_timing.int_add"]),
    ("int_shift_*", &["sm.ptx_timing.int_add"]),
    ("int_mul_*", &["sm.ptx_timing.int_mul"]),
    ("int_mad_latency", &["sm.ptx_timing.int_mad"]),
    ("int_mad_rate", &["sm.ptx_timing.int_mad"]),
    ("int_min_*", &["sm.ptx_timing.int_min_max"]),
    ("select_*", &["sm.ptx_timing.int_add"]),
    ("permute_*", &["sm.ptx_timing.int_add"]),
    ("guard_latency", &["sm.dependence.to_guard_cycles"]),
    ("cross_pipes_latency", &["sm.dependence.cross_cycles"]),
    ("shared_address_latency", &["sm.dependence.to_memory_cycles"]),
    ("popc_*", &["sm.ptx_timing.bit_scan"]),
    ("find_leading_*", &["sm.ptx_timing.bit_scan"]),
    ("brev_*", &["sm.ptx_timing.bit_scan"]),
    ("f32_to_s32_*", &["sm.ptx_timing.convert"]),
    ("s32_to_f32_*", &["sm.ptx_timing.convert"]),
    ("f32_to_f16_*", &["sm.ptx_timing.convert"]),
    ("f64_to_*", &["sm.ptx_timing.convert_wide"]),
    ("ex2_*", &["sm.ptx_timing.sfu"]),
    ("lg2_*", &["sm.ptx_timing.sfu"]),
    ("rcp_*", &["sm.ptx_timing.sfu"]),
    ("rsqrt_*", &["sm.ptx_timing.sfu"]),
    ("sqrt_*", &["sm.ptx_timing.sfu"]),
    ("sin_*", &["sm.ptx_timing.sfu"]),
    ("shuffle_*", &["sm.ptx_timing.shuffle"]),
    ("vote_*", &["sm.ptx_timing.vote"]),
    ("redux_*", &["sm.ptx_timing.reduce"]),
    ("wmma_f16_*", &["sm.tensor.f16"]),
    ("wmma_f32_*", &["sm.tensor.f16_f32"]),
    ("mma_*_f16_*", &["sm.tensor.f16"]),
    ("mma_*_f32_*", &["sm.tensor.f16_f32"]),
    ("mma_*_bf16_*", &["sm.tensor.bf16"]),
    ("mma_*_tf32_*", &["sm.tensor.tf32"]),
    ("mma_*_s8_*", &["sm.tensor.int8"]),
    ("mma_*_f64_*", &["sm.tensor.f64"]),
    ("wgmma_n8_*interval", &["sm.matrix_groups.shared_bytes_per_cycle", "sm.matrix_groups.least_cycles"]),
    ("wgmma_n16_*interval", &["sm.matrix_groups.shared_bytes_per_cycle", "sm.matrix_groups.least_cycles"]),
    ("wgmma_n32_*interval", &["sm.matrix_groups.shared_bytes_per_cycle", "sm.matrix_groups.least_cycles"]),
    ("wgmma_n64_*interval", &["sm.matrix_groups.multiply_adds_per_cycle"]),
    ("wgmma_n128_*interval", &["sm.matrix_groups.multiply_adds_per_cycle"]),
    ("wgmma_n256_*interval", &["sm.matrix_groups.multiply_adds_per_cycle"]),
    ("wgmma_n*_latency", &["sm.matrix_groups.latency_cycles", "sm.matrix_groups.a_in_registers_saves_cycles"]),
    ("wgmma_n*_shared_hold", &["sm.matrix_groups.shared_bytes_per_cycle"]),
    ("wgmma_rate", &["sm.matrix_groups.multiply_adds_per_cycle"]),
    ("wgmma_*queue_interval", &["sm.matrix_groups.shared_bytes_per_cycle"]),
    ("bulk_store_interval", &["sm.copy_engine.store_bytes_per_cycle"]),
    ("bulk_store_bandwidth", &["sm.copy_engine.store_bytes_per_cycle"]),
    ("bulk_store_kernel", &["sm.copy_engine.store_bytes_per_cycle"]),
    ("bulk_reduction_interval", &["sm.copy_engine.reduction_bytes_per_cycle"]),
    ("bulk_reduction_bandwidth", &["sm.copy_engine.reduction_bytes_per_cycle"]),
    ("bulk_reduction_kernel", &["sm.copy_engine.reduction_bytes_per_cycle"]),
    ("bulk_load_*", &["sm.copy_engine.completion_cycles", "sm.copy_engine.load_bytes_per_cycle"]),
    ("tensor_load_*", &["sm.copy_engine.tensor_load_cycles", "sm.copy_engine.load_bytes_per_cycle"]),
    ("cluster_load_latency", &["sm.cluster_port.latency_cycles"]),
    ("cluster_load_bandwidth", &["sm.cluster_port.bytes_per_cycle"]),
    ("l1_latency", &["sm.l1d.latency_cycles"]),
    ("l1_bandwidth_*", &["sm.l1d.banks", "sm.l1d.bytes_per_cycle"]),
    ("l1_lines*", &["sm.l1d.bank_interleave_bytes", "sm.l1d.look_up_order"]),
    ("shared_latency", &["sm.shared.latency_cycles"]),
    ("shared_bandwidth_*", &["sm.shared.banks", "sm.shared.bytes_per_cycle"]),
    ("shared_atomic_*", &["sm.shared.atomic_lane_cycles"]),
    ("l2_latency", &["l2.latency_cycles"]),
    ("l2_bandwidth", &["clocks.interconnect_mhz", "l2.slices_per_partition"]),
    ("l2_store_bandwidth", &["l2.request_bytes_per_cycle"]),
    ("l2_copy_bandwidth", &["l2.request_bytes_per_cycle"]),
    ("dram_latency*", &["dram.latency_cycles"]),
    ("dram_read*", &["clocks.dram_mhz", "dram.timing", "dram.scheduler_queue"]),
    ("dram_write*", &["dram.timing", "dram.write_queue"]),
    ("dram_copy*", &["dram.timing", "dram.write_queue"]),
    ("barrier_*", &["sm.barrier_warp_cycles", "sm.barrier_latency_cycles"]),
    ("launch_*", &["launch.kernel_latency_ns"]),
];

/// The numbers that set a quantity.
pub fn keys(quantity: &str) -> impl Iterator<Item = &'static str> {
    let rows = SET_BY.iter().filter(move |(pattern, _)| kit::text::matches(pattern, quantity));
    rows.flat_map(|(_, keys)| keys.iter().copied())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::microbench::quantities;

    #[test]
    fn each_pattern_is_of_a_quantity_and_each_number_of_a_description() {
        let described: Vec<config::Raw> =
            config::hardware().map(|name| config::Raw::open(name).expect("a description of our own")).collect();
        for (pattern, keys) in SET_BY {
            assert!(quantities().iter().any(|q| kit::text::matches(pattern, &q.name)), "{pattern}");
            for key in *keys {
                let inside = format!("{key}.");
                let has = |raw: &config::Raw| raw.keys().any(|known| known == *key || known.starts_with(&inside));
                assert!(described.iter().any(has), "{pattern}: no description has {key}");
            }
        }
        for quantity in quantities() {
            assert!(
                SET_BY.iter().filter(|(pattern, _)| kit::text::matches(pattern, &quantity.name)).count() <= 1,
                "{} has two rows",
                quantity.name
            );
        }
    }
}

//! Quantities that follow from a description: peaks and capacities, for reports and tests.

use crate::{
    Allocate, Cache, ClusterPort, CopyEngine, Dependence, Dram, GpcCache, GpuConfig, IndexFunction, InstructionCaches,
    L2, Launch, MatrixGroups, OpTiming, Replacement, Sm, Unit, WriteAllocate, WritePolicy,
};
use isa::{GroupWork, MatrixType, TransferKind};
use std::ops::Range;

impl GpuConfig {
    /// Peak bandwidth of all DRAM channels together, in GB/s (10^9 bytes).
    pub fn dram_peak_gb_per_s(&self) -> f64 {
        let per_cycle = f64::from(self.dram.peak_bytes_per_cycle()) * f64::from(self.l2.partitions);
        per_cycle * self.clocks.dram_mhz / 1000.0
    }

    /// Peak bandwidth of all DRAM channels together, in bytes per core cycle.
    pub fn dram_peak_bytes_per_core_cycle(&self) -> f64 {
        self.dram_peak_gb_per_s() * 1000.0 / self.clocks.core_mhz
    }

    /// Peak bandwidth of all L2 slices together, in bytes per core cycle: what their ports deliver.
    pub fn l2_peak_bytes_per_core_cycle(&self) -> f64 {
        let per_l2_cycle = f64::from(self.l2.slices()) * f64::from(self.l2.cache.port_bytes);
        per_l2_cycle * self.clocks.l2_mhz / self.clocks.core_mhz
    }

    /// From a kernel's turn to its first CTA's dispatch, in core cycles, whichever way the description gives it.
    pub fn kernel_latency_cycles(&self) -> u32 {
        let Launch { kernel_latency_cycles, kernel_latency_ns, .. } = self.launch;
        let of_time = |ns: u32| (f64::from(ns) * self.clocks.core_mhz / 1000.0).round() as u32;
        kernel_latency_cycles.or(kernel_latency_ns.map(of_time)).unwrap_or(0)
    }

    /// The SMs of each GPC: as few GPCs as there can be, which have equally many, to two. An odd SM is on the last one.
    pub fn gpcs(&self) -> Box<[Range<u32>]> {
        let most = self.sms_per_gpc.unwrap_or(self.sm_count).max(1);
        let count = self.sm_count.div_ceil(most);
        // NVIDIA's GPCs are made of pairs of SMs.
        let together = if most.is_multiple_of(2) { 2 } else { 1 };
        let parts = self.sm_count.div_ceil(together);
        let first = |gpc: u32| together * (gpc * (parts / count) + gpc.min(parts % count));
        (0..count).map(|gpc| first(gpc)..first(gpc + 1).min(self.sm_count)).collect()
    }

    /// The core design that runs where none is chosen.
    pub fn usual_core(&self) -> &str {
        self.core.as_deref().unwrap_or("inorder")
    }

    /// Warp slots of the whole GPU.
    pub fn warps(&self) -> u32 {
        self.sm_count * self.sm.max_warps
    }
}

impl Launch {
    /// Makes `cycles` the latency of a kernel, in place of cycles or a time given.
    pub fn set_kernel_latency_cycles(&mut self, cycles: u32) {
        (self.kernel_latency_cycles, self.kernel_latency_ns) = (Some(cycles), None);
    }
}

impl Dependence {
    /// The longest distance in core cycles; 0 if there is none.
    pub fn longest(&self) -> u32 {
        let Dependence {
            cross_cycles,
            to_dp_cycles,
            to_sfu_cycles,
            to_half_cycles,
            to_matrix_cycles,
            to_memory_cycles,
            to_guard_cycles,
            dp_to_int_cycles,
            dp_to_sp_cycles,
            dp_to_guard_cycles,
        } = *self;
        let all = [
            cross_cycles,
            to_dp_cycles,
            to_sfu_cycles,
            to_half_cycles,
            to_matrix_cycles,
            to_memory_cycles,
            to_guard_cycles,
            dp_to_int_cycles,
            dp_to_sp_cycles,
            dp_to_guard_cycles,
        ];
        all.into_iter().flatten().max().unwrap_or(0)
    }
}

impl Cache {
    /// A cache without writes of `sets`, `ways` and bytes of a line, which may be fetching `misses` lines, with any number
    /// of requests that wait for each.
    pub fn read_only([sets, ways, line_bytes]: [u32; 3], misses: u32) -> Self {
        Self {
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
            mshr_merges: 4096,
            miss_queue: misses,
            port_bytes: line_bytes,
        }
    }
}

impl GpcCache {
    /// Bytes of a line.
    pub fn line_bytes(&self) -> u32 {
        self.line_bytes.unwrap_or(128)
    }
}

impl InstructionCaches {
    /// Bytes of a line of L0, of the cache of constant operands, and of L1.
    pub fn line_bytes(&self) -> [u32; 3] {
        let Self { l0_line_bytes, constant_line_bytes, l1_line_bytes, .. } = self;
        [l0_line_bytes.unwrap_or(128), constant_line_bytes.unwrap_or(64), l1_line_bytes.unwrap_or(128)]
    }
}

impl MatrixGroups {
    /// Timing on `unit` of a warp's quarter of an operation with `multiply_adds` multiply-adds of factors of `ty`; its
    /// latency counts from issue.
    pub fn timing(&self, unit: Unit, ty: MatrixType, multiply_adds: u32, group: GroupWork) -> OpTiming {
        let rate = self.multiply_adds_per_cycle.unwrap_or(512);
        let rate = match ty {
            MatrixType::F16 | MatrixType::F16F32 | MatrixType::Bf16 => rate,
            MatrixType::Tf32 | MatrixType::F64 => rate / 2,
            MatrixType::Fp8 | MatrixType::Fp8F32 | MatrixType::Int8 => 2 * rate,
            MatrixType::Int4 => 4 * rate,
            MatrixType::B1 => 16 * rate,
        };
        let least = self.least_cycles.unwrap_or(13);
        let initiation_cycles = multiply_adds.div_ceil(rate.max(1)).max(self.wavefronts(group)).max(least);
        // A register for each two columns, or four of f16.
        let accumulator =
            u32::from(group.columns) / if matches!(ty, MatrixType::F16 | MatrixType::Fp8) { 4 } else { 2 };
        let saved = if group.a_in_registers { self.a_in_registers_saves_cycles.unwrap_or(18) } else { 0 };
        // Without registers it is in its unit a cycle before instructions whose latency counts from issue.
        let sooner = u32::from(!group.a_in_registers);
        let latency_cycles = (self.latency_cycles.unwrap_or(49) + accumulator + sooner).saturating_sub(saved);
        OpTiming { unit, latency_cycles, initiation_cycles }
    }

    /// Cycles in which an operation of `group` reads its factors from shared memory: 64 rows of A, unless it is in
    /// registers, and the columns of B, of 32 bytes each. The four warps share them.
    pub fn wavefronts(&self, group: GroupWork) -> u32 {
        const ROW_BYTES: u32 = 32;
        let rows = if group.a_in_registers { 0 } else { 64 };
        ((rows + u32::from(group.columns)) * ROW_BYTES).div_ceil(self.shared_bytes_per_cycle())
    }

    /// Bytes that operations read from shared memory per cycle.
    pub fn shared_bytes_per_cycle(&self) -> u32 {
        self.shared_bytes_per_cycle.unwrap_or(128)
    }

    /// Operations of an SM between issue and their end.
    pub fn queue_entries(&self) -> u32 {
        self.queue_entries.unwrap_or(7)
    }

    /// Greatest latency of an operation.
    pub fn longest(&self) -> u32 {
        self.latency_cycles.unwrap_or(49) + 129
    }
}

impl CopyEngine {
    /// From the issue of the instruction that starts a transfer to its first request.
    pub fn start_cycles(&self) -> u32 {
        self.start_cycles.unwrap_or(1)
    }

    /// Cycles that a transfer of `kind` with a tensor map takes longer to its first request.
    pub fn tensor_cycles(&self, kind: TransferKind) -> u32 {
        match kind {
            TransferKind::GlobalToShared | TransferKind::Prefetch => self.tensor_load_cycles.unwrap_or(128),
            TransferKind::SharedToGlobal | TransferKind::SharedToShared | TransferKind::SharedReduction => 0,
        }
    }

    /// Rows of a box per cycle.
    pub fn rows_per_cycle(&self) -> u32 {
        self.rows_per_cycle.unwrap_or(1)
    }

    /// Tensor maps that it keeps.
    pub fn tensor_maps(&self) -> u32 {
        self.tensor_maps.unwrap_or(32)
    }

    /// Bytes per cycle of a transfer of `kind`.
    pub fn rate(&self, kind: TransferKind) -> u32 {
        match kind {
            TransferKind::GlobalToShared | TransferKind::Prefetch => self.load_bytes_per_cycle.unwrap_or(112),
            TransferKind::SharedToGlobal | TransferKind::SharedToShared => self.store_bytes_per_cycle.unwrap_or(24),
            TransferKind::SharedReduction => self.reduction_bytes_per_cycle.unwrap_or(18),
        }
    }

    /// Cycles from the last reply to the end of a transfer of `kind`.
    pub fn completion(&self, kind: TransferKind) -> u64 {
        match kind {
            TransferKind::GlobalToShared | TransferKind::SharedToShared => self.completion_cycles.unwrap_or(1).into(),
            TransferKind::SharedToGlobal | TransferKind::SharedReduction | TransferKind::Prefetch => 0,
        }
    }
}

impl ClusterPort {
    /// From an access to its reply.
    pub fn latency_cycles(&self) -> u32 {
        self.latency_cycles.unwrap_or(180)
    }

    /// Bytes that a port passes per cycle.
    pub fn bytes_per_cycle(&self) -> u32 {
        self.bytes_per_cycle.unwrap_or(16)
    }
}

impl Dram {
    /// Bytes that one burst moves on a channel.
    pub fn burst_bytes(&self) -> u32 {
        self.bus_bytes * self.chips_per_channel * self.burst_length
    }

    /// Bytes that a channel's data bus moves per command cycle.
    pub fn peak_bytes_per_cycle(&self) -> u32 {
        self.bus_bytes * self.chips_per_channel * self.data_rate
    }
}

impl L2 {
    /// Slices of the whole GPU.
    pub fn slices(&self) -> u32 {
        self.partitions * self.slices_per_partition
    }

    /// Capacity of all slices together, in bytes.
    pub fn bytes(&self) -> u64 {
        u64::from(self.slices()) * self.cache.capacity_bytes()
    }
}

impl Sm {
    /// Threads that an SM can hold.
    pub fn max_threads(&self) -> u32 {
        self.max_warps * 32
    }
}

#[cfg(test)]
mod tests {
    /// Vendors' figures: (name, GB/s of DRAM, KB of L2, threads of an SM).
    const DATA_SHEETS: [(&str, f64, u64, u32); 15] = [
        ("gtx480", 177.4, 768, 1536),
        ("v100", 900.0, 6144, 2048),
        ("titanv", 652.8, 4608, 2048),
        ("rtx2060s", 448.0, 4096, 1024),
        ("rtx3070", 448.0, 4096, 1536),
        ("gv100", 870.0, 6144, 2048),
        ("a40", 696.0, 6144, 1536),
        ("a6000", 768.0, 6144, 1536),
        ("rtx3090", 936.0, 6144, 1536),
        ("a100", 2039.0, 40960, 2048),
        ("l40", 864.0, 98304, 1536),
        ("rtx4090", 1008.0, 73728, 1536),
        ("h100", 3352.0, 51200, 2048),
        ("h100-pcie", 2039.0, 51200, 2048),
        // 50 MB do not divide among 192 slices.
        ("h200", 4800.0, 52224, 2048),
    ];

    /// GPCs have equally many SMs, to a pair, and as many of them as NVIDIA's products have: 6 of the V100, 7 of the A100, 8 of the H100.
    #[test]
    fn sms_are_spread_over_gpcs() {
        let sizes = |gpu: &str, most| {
            let gpu = crate::GpuConfig { sms_per_gpc: most, ..crate::load(gpu).unwrap() };
            let gpcs = gpu.gpcs();
            assert_eq!(gpcs.iter().flat_map(Clone::clone).collect::<Vec<_>>(), (0..gpu.sm_count).collect::<Vec<_>>());
            gpcs.iter().map(ExactSizeIterator::len).collect::<Vec<_>>()
        };
        let usual = |gpu: &str| sizes(gpu, crate::load(gpu).unwrap().sms_per_gpc);
        assert_eq!(usual("v100"), [14, 14, 14, 14, 12, 12]);
        assert_eq!(usual("a100"), [16, 16, 16, 16, 16, 14, 14]);
        assert_eq!(usual("h100"), [18, 18, 16, 16, 16, 16, 16, 16]);
        assert_eq!(usual("gtx480"), [15]);
        assert_eq!(sizes("gtx480", Some(4)), [4, 4, 4, 3]);
        assert_eq!(sizes("gtx480", Some(1)), [1; 15]);
        assert_eq!(sizes("gtx480", Some(100)), [15]);
    }

    #[test]
    fn peaks_and_capacities_are_those_of_the_data_sheets() {
        for (name, gb_per_s, l2_kb, threads) in DATA_SHEETS {
            let gpu = crate::load(name).unwrap();
            let peak = gpu.dram_peak_gb_per_s();
            assert!((peak / gb_per_s - 1.0).abs() < 0.01, "{name}: {peak} GB/s");
            assert_eq!(gpu.sm.max_threads(), threads, "{name}");
            assert_eq!(gpu.l2.bytes(), l2_kb * 1024, "{name}");
        }
    }

    #[test]
    fn a_launch_takes_the_same_time_at_any_clock() {
        let cycles = |settings: &[&str]| crate::load_with("rtx2060s", settings).unwrap().kernel_latency_cycles();
        let ns = "launch.kernel_latency_ns=2500";
        assert_eq!(cycles(&[ns, "clocks.core_mhz=1000.0"]), 2500);
        assert_eq!(cycles(&[ns, "clocks.core_mhz=1650.0"]), 4125);
        assert_eq!(cycles(&["clocks.core_mhz=1333.0", ns]), 3333, "to the nearest: 3332.5");
        assert_eq!(cycles(&["launch.kernel_latency_cycles=77", "clocks.core_mhz=1000.0"]), 77);
        assert_eq!(cycles(&[ns, "launch.kernel_latency_cycles=77"]), 77, "the later of two alternatives");
    }

    #[test]
    fn bandwidths_scale_with_the_clocks() {
        let mut gpu = crate::load("rtx2060s").unwrap();
        let (dram, l2) = (gpu.dram_peak_bytes_per_core_cycle(), gpu.l2_peak_bytes_per_core_cycle());
        assert_eq!(l2, 32.0 * 32.0);
        gpu.clocks.core_mhz *= 2.0;
        assert!((gpu.dram_peak_bytes_per_core_cycle() - dram / 2.0).abs() < 1e-9);
        assert_eq!(gpu.l2_peak_bytes_per_core_cycle(), l2 / 2.0);
    }
}

//! The quantities that microbenchmarks measure: names, units, and the run of a kernel from which each comes.

use super::catalogue::{CLASSES, Class, Group};
use super::hopper::{
    self, BOX_ROW_BYTES, CHAIN_COLUMNS, COPY_BYTES, FirstFactor, HOLD_COLUMNS, LATENCY_COLUMNS, LOAD_BYTES,
    PEER_LOAD_BYTES,
};
use std::sync::LazyLock;

/// Measurement of a run of a kernel.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Method {
    /// Cycles of each link of a chain in one warp of `threads` threads.
    Line { threads: u32, lane_bytes: u32 },
    /// The same, beyond the cycles of a link of `shared_chase`.
    BeyondShared { threads: u32, lane_bytes: u32 },
    /// Lines of a CTA of 1024 threads per cycle, in lanes.
    LanesPerCycle { threads: u32, lane_bytes: u32 },
    /// Cycles of each line of a barrier.
    Interval { warps: u32 },
    /// The same of a cluster of two CTAs.
    InCluster { threads: u32 },
    /// Cycles of a step of a pointer chase, by one thread.
    Chase { nodes: u64, stride: u64, warm: bool },
    /// Cycles of a step from texel to texel, by one thread, when caches are warm.
    TextureChase { nodes: u64, stride: u64 },
    /// Bytes per cycle of data in L2, with one or two accesses to each.
    L2 { accesses: u32 },
    /// Bytes per cycle of data that are in DRAM only; `bytes` for each accessed one.
    Dram { accesses: u32, writes: bool },
    /// Bytes per cycle of sectors at random addresses.
    Random,
    /// Additions per cycle of all SMs, a word of `lane_bytes` on for each thread.
    Atomics { lane_bytes: u32 },
    /// Bytes per cycle and SM of all SMs, with `ctas` CTAs on each; `bytes` of a line of a CTA.
    BytesPerLine { ctas: u32, threads: u32, bytes: u32 },
    /// Cycles of each line of one thread, which loads boxes of this many rows by tensor maps at the start of the data.
    Boxes { rows: u32 },
    /// The same of a row, beyond the cycles of one by the same map each time.
    FirstUse,
    /// Cycles of a whole kernel as a profiler counts them, when caches are cold.
    Profiled { ctas: u32, threads: u32, trips: u32 },
    /// Cycles of the second of two launches.
    Launch { ctas: u32, threads: u32 },
}

/// From what was measured to the quantity.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Scale {
    Times(f64),
    /// From cycles, or bytes per cycle, with the core clock.
    Nanoseconds,
    Microseconds,
    GigabytesPerSecond,
    PercentOfPeak,
    /// From lanes per cycle to cycles per warp.
    CyclesPerWarp,
    /// From cycles to a rate: this much in them.
    Per(f64),
}

/// A quantity that microbenchmarks measure.
#[derive(Clone, Debug)]
pub struct Quantity {
    /// Name, as in the file of hardware's figures.
    pub name: String,
    /// Its group.
    pub group: Group,
    /// Unit of its values.
    pub unit: &'static str,
    /// Description.
    pub text: String,
    /// Lowest sm_XX that has it.
    pub lowest_sm: u32,
    pub(super) kernel: String,
    pub(super) method: Method,
    pub(super) scale: Scale,
}

const CYCLES: &str = "core cycles";
const RESULTS: &str = "results/core cycle/SM";

/// Every quantity, in the order of reports.
pub fn quantities() -> &'static [Quantity] {
    static ALL: LazyLock<Vec<Quantity>> = LazyLock::new(|| {
        let mut all: Vec<Quantity> = CLASSES.iter().flat_map(of_class).collect();
        all.extend(others());
        all.extend(of_hopper());
        all.sort_by_key(|quantity| quantity.group);
        all
    });
    &ALL
}

fn of_class(class: &Class) -> Vec<Quantity> {
    let quantity = |kind: &str, unit, text: String, method, scale| Quantity {
        name: format!("{}_{kind}", class.name),
        group: class.group,
        unit,
        text,
        lowest_sm: class.lowest_sm,
        kernel: format!("{}_{kind}", class.name),
        method,
        scale: Scale::Times(scale),
    };
    // The count is of multiply-adds of the whole warp for matrix operations, and of results of each lane for other lines.
    let (unit, threads, per_lane) = match class.is_matrix() {
        true => ("multiply-adds/core cycle/SM", 512, f64::from(class.results) / 32.0),
        false => (RESULTS, 1024, f64::from(class.results)),
    };
    let latency = || {
        quantity(
            "latency",
            CYCLES,
            format!("{}: from one to the next that depends on it", class.text),
            Method::Line { threads: 32, lane_bytes: 0 },
            1.0 / f64::from(class.links),
        )
    };
    let rate =
        quantity("rate", unit, class.text.to_owned(), Method::LanesPerCycle { threads, lane_bytes: 0 }, per_lane);
    class.has_latency.then(latency).into_iter().chain([rate]).collect()
}

fn others() -> Vec<Quantity> {
    // A row to a line.
    macro_rules! table {
        ($($row:ident($($cell:expr),+);)*) => { vec![$($row($($cell),+)),*] };
    }

    use Group::*;
    use Scale::*;
    let q = |group, name: &str, unit, text: &str, kernel: &str, method, scale| Quantity {
        name: name.to_owned(),
        group,
        unit,
        text: text.to_owned(),
        lowest_sm: 20,
        kernel: kernel.to_owned(),
        method,
        scale,
    };
    let line = |lane_bytes| Method::Line { threads: 32, lane_bytes };
    let loads = |lane_bytes| Method::LanesPerCycle { threads: 1024, lane_bytes };
    let bytes = "bytes/core cycle/SM";
    let once = Times(1.0);
    let (l2, dram) = (
        Method::Chase { nodes: 64, stride: 4096, warm: true },
        Method::Chase { nodes: 64, stride: 8192 + 256, warm: false },
    );
    let read = Method::Dram { accesses: 1, writes: false };
    let write = Method::Dram { accesses: 1, writes: true };
    let copy = Method::Dram { accesses: 2, writes: true };
    table! {
        q(L1, "l1_latency", CYCLES, "load that hits", "chase_l1", Method::Chase { nodes: 64, stride: 128, warm: true }, once);
        q(L1, "l1_bandwidth_32", bytes, "loads of 32 bits a lane", "l1_loads_32", loads(4), Times(4.0));
        q(L1, "l1_bandwidth_64", bytes, "loads of 64 bits a lane", "l1_loads_64", loads(8), Times(8.0));
        q(L1, "l1_bandwidth_128", bytes, "loads of 128 bits a lane", "l1_loads_128", loads(16), Times(16.0));
        q(L1, "l1_lines", "core cycles/load", "loads of a word from each of 32 lines, in all banks", "l1_loads_32", loads(132), CyclesPerWarp);
        q(L1, "l1_lines_one_bank", "core cycles/load", "loads of a word from each of 32 lines, 128 bytes apart", "l1_loads_32", loads(128), CyclesPerWarp);
        q(Texture, "texture_latency", CYCLES, "read of a texel that hits", "chase_texture", Method::TextureChase { nodes: 64, stride: 128 }, once);
        q(Shared, "shared_latency", CYCLES, "load without a conflict", "shared_chase", line(4), once);
        q(Shared, "shared_latency_2_way", CYCLES, "load, two lanes in each bank", "shared_chase", line(8), once);
        q(Shared, "shared_latency_32_way", CYCLES, "load, all lanes in one bank", "shared_chase", line(128), once);
        q(Shared, "shared_address_latency", CYCLES, "addition and logic that a load's address waits for: what a chase has more by them", "shared_address_chase", Method::BeyondShared { threads: 32, lane_bytes: 4 }, once);
        q(Shared, "shared_bandwidth_32", bytes, "loads of 32 bits a lane", "shared_loads_32", loads(4), Times(4.0));
        q(Shared, "shared_bandwidth_64", bytes, "loads of 64 bits a lane", "shared_loads_64", loads(8), Times(8.0));
        q(Shared, "shared_bandwidth_128", bytes, "loads of 128 bits a lane", "shared_loads_128", loads(16), Times(16.0));
        q(Shared, "shared_atomic_latency", CYCLES, "addition, a word for each lane", "shared_atomic_chain", line(4), once);
        q(Shared, "shared_atomic_one_address_latency", CYCLES, "addition, one word for all lanes", "shared_atomic_chain", line(0), once);
        q(Shared, "shared_atomic_rate", RESULTS, "additions, a word for each lane", "shared_atomics", loads(4), once);
        q(Shared, "shared_atomic_one_address_rate", RESULTS, "additions, one word for all lanes", "shared_atomics", loads(0), once);
        q(Constant, "constant_latency", CYCLES, "load that hits, one word for all lanes", "constant_chase", line(0), once);
        q(Constant, "constant_divergent_latency", CYCLES, "load that hits, a word for each lane", "constant_chase", line(8), once);
        q(L2, "l2_latency", CYCLES, "load that misses in L1 and hits in L2", "chase_l2", l2, once);
        q(L2, "l2_bandwidth", "bytes/core cycle", "loads of all SMs", "stream_read", Method::L2 { accesses: 1 }, once);
        q(L2, "l2_store_bandwidth", "bytes/core cycle", "stores of all SMs", "stream_write", Method::L2 { accesses: 1 }, once);
        q(L2, "l2_copy_bandwidth", "bytes/core cycle", "loads and stores of all SMs", "stream_copy", Method::L2 { accesses: 2 }, once);
        q(Dram, "dram_latency", CYCLES, "load that misses in L2", "chase_l2", dram, once);
        q(Dram, "dram_latency_ns", "ns", "load that misses in L2", "chase_l2", dram, Nanoseconds);
        q(Dram, "dram_read_bandwidth", "GB/s", "loads of all SMs", "stream_read", read, GigabytesPerSecond);
        q(Dram, "dram_write_bandwidth", "GB/s", "stores of all SMs", "stream_write", write, GigabytesPerSecond);
        q(Dram, "dram_copy_bandwidth", "GB/s", "loads and stores of all SMs", "stream_copy", copy, GigabytesPerSecond);
        q(Dram, "dram_read", "% of peak", "loads of all SMs", "stream_read", read, PercentOfPeak);
        q(Dram, "dram_write", "% of peak", "stores of all SMs", "stream_write", write, PercentOfPeak);
        q(Dram, "dram_copy", "% of peak", "loads and stores of all SMs", "stream_copy", copy, PercentOfPeak);
        q(Dram, "dram_random_bandwidth", "GB/s", "sectors of 32 bytes at random", "random_sectors", Method::Random, GigabytesPerSecond);
        q(Atomic, "atomic_latency", CYCLES, "addition whose old value is used", "atomic_chain", Method::Line { threads: 1, lane_bytes: 4 }, once);
        q(Atomic, "atomic_one_address_rate", "results/core cycle", "additions of all SMs on one word", "atomics", Method::Atomics { lane_bytes: 0 }, once);
        q(Atomic, "atomic_distinct_rate", "results/core cycle", "additions of all SMs, a word for each thread", "atomics", Method::Atomics { lane_bytes: 4 }, once);
        q(Synchronisation, "barrier_1_warp", CYCLES, "barrier to barrier", "barriers", Method::Interval { warps: 1 }, once);
        q(Synchronisation, "barrier_8_warps", CYCLES, "barrier to barrier", "barriers", Method::Interval { warps: 8 }, once);
        q(Synchronisation, "barrier_32_warps", CYCLES, "barrier to barrier", "barriers", Method::Interval { warps: 32 }, once);
        q(Synchronisation, "fence_gpu", CYCLES, "fence of the GPU's scope without accesses before it", "fences_gpu", line(0), once);
        q(Launch, "launch_empty", "us", "an empty kernel after another", "empty", Method::Launch { ctas: 1, threads: 32 }, Microseconds);
        q(Launch, "launch_64k", "us", "a kernel that scales 4,096 doubles, after another", "scale", Method::Launch { ctas: 32, threads: 128 }, Microseconds);
    }
}

/// The quantities of compute capability 9.0.
fn of_hopper() -> Vec<Quantity> {
    let q = |group, name: String, unit, text: String, kernel: String, method, scale| Quantity {
        name,
        group,
        unit,
        text,
        lowest_sm: hopper::SM,
        kernel,
        method,
        scale,
    };
    let group_line = Method::Line { threads: 128, lane_bytes: 0 };
    let once = Scale::Times(1.0);
    let mut all = Vec::new();
    for (first, suffix) in FirstFactor::ALL {
        let first = if first == FirstFactor::Shared { "A in shared memory" } else { "A in registers" };
        let mut add = |kind: &str, columns, unit, text: &str, kernel: &str, method| {
            let (name, text) =
                (format!("wgmma_n{columns}{suffix}_{kind}"), format!("m64n{columns}k16 of halves, {first}: {text}"));
            all.push(q(Group::WarpGroup, name, unit, text, format!("wgmma_n{columns}{suffix}_{kernel}"), method, once));
        };
        let chain = "from one to the next on the same sums";
        CHAIN_COLUMNS.iter().for_each(|n| add("interval", n, CYCLES, chain, "chain", group_line));
        let waited = "with the wait for it, from one to the next";
        LATENCY_COLUMNS.iter().for_each(|n| add("latency", n, CYCLES, waited, "latency", group_line));
        let held = "time that one takes from another warp group's accesses to shared memory";
        let all_lines = Method::Line { threads: 256, lane_bytes: 0 };
        HOLD_COLUMNS.iter().for_each(|n| add("shared_hold", n, CYCLES, held, "hold", all_lines));
    }
    for bytes in LOAD_BYTES {
        let text = format!("load of {bytes} bytes from L2 to shared memory with the wait at its mbarrier");
        let mut add = |form, text, method| {
            let (name, kernel) = (format!("{form}_load_{bytes}_latency"), format!("{form}_load_{bytes}_chain"));
            all.push(q(Group::BulkCopy, name, CYCLES, text, kernel, method, once));
        };
        add("bulk", text.clone(), Method::Line { threads: 1, lane_bytes: 0 });
        let by_map = format!("{text}, by a tensor map that the engine has, in rows of {BOX_ROW_BYTES}");
        add("tensor", by_map, Method::Boxes { rows: bytes / BOX_ROW_BYTES });
    }
    macro_rules! table {
        ($($row:ident($group:ident, $name:expr, $unit:expr, $text:expr, $kernel:expr, $method:expr, $scale:expr);)*) => {
            [$($row(Group::$group, $name.into(), $unit, $text.into(), $kernel.into(), $method, $scale)),*]
        };
    }
    let (one, pairs) =
        (Method::Line { threads: 1, lane_bytes: 0 }, Method::BytesPerLine { ctas: 2, threads: 1, bytes: COPY_BYTES });
    let peers = Method::InCluster { threads: 256 };
    let (few, many) = (
        Method::Profiled { ctas: 1, threads: 1024, trips: 128 },
        Method::Profiled { ctas: 256, threads: 1024, trips: 16 },
    );
    let (cycles, bytes) = (CYCLES, "bytes/core cycle/SM");
    all.extend(table! {
        q(WarpGroup, "wgmma_rate", "multiply-adds/core cycle/SM", "m64n256k16 of halves", "wgmma_n256_chain", Method::LanesPerCycle { threads: 128, lane_bytes: 0 }, Scale::Times(f64::from(64 * 256 * 16) / 128.0));
        q(WarpGroup, "wgmma_queue_interval", cycles, "m64n16k16: at issue, from one to the next of the first seven", "wgmma_queue", group_line, once);
        q(WarpGroup, "wgmma_full_queue_interval", cycles, "m64n16k16: at issue, from one to the next after the eighth", "wgmma_full_queue", group_line, once);
        q(BulkCopy, "bulk_store_interval", cycles, "stores of 4,096 bytes by one SM, each waiting until the last one's source has been read", "bulk_stores", one, once);
        q(BulkCopy, "bulk_reduction_interval", cycles, "the same of reductions (maximum of 32-bit integers)", "bulk_reductions", one, once);
        q(BulkCopy, "bulk_store_bandwidth", bytes, "such stores by two CTAs on each SM", "bulk_stores", pairs, once);
        q(BulkCopy, "bulk_reduction_bandwidth", bytes, "such reductions by two CTAs on each SM", "bulk_reductions", pairs, once);
        q(BulkCopy, "bulk_store_kernel", cycles, "kernel of one CTA with 128 such stores, as a profiler counts", "bulk_store_kernel", few, once);
        q(BulkCopy, "bulk_reduction_kernel", cycles, "the same of reductions", "bulk_reduction_kernel", few, once);
        q(BulkCopy, "bulk_store_kernel_256", cycles, "kernel of 256 CTAs with 16 such stores each", "bulk_store_kernel", many, once);
        q(BulkCopy, "bulk_reduction_kernel_256", cycles, "the same of reductions", "bulk_reduction_kernel", many, once);
        q(BulkCopy, "tensor_map_first_use", cycles, "time that a load of 128 bytes takes longer by a tensor map that is only in L2", "tensor_map_chain", Method::FirstUse, once);
        q(Cluster, "cluster_load_latency", cycles, "load from shared memory of another CTA", "cluster_chase", Method::InCluster { threads: 32 }, once);
        q(Cluster, "cluster_load_bandwidth", bytes, "loads of 128 bits a lane of two CTAs from each other's shared memory", "cluster_loads", peers, Scale::Per(f64::from(8 * PEER_LOAD_BYTES)));
        q(Cluster, "cluster_barrier", cycles, "barrier to barrier of a cluster of two CTAs", "cluster_barriers", Method::InCluster { threads: 32 }, once);
    });
    all
}

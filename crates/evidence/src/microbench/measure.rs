//! Runs the kernels of the catalogue in either form of code.

use super::bench::{Bench, Difference, Work};
use super::binaries;
use super::catalogue::{CLASSES, Group};
use super::source::{self, CHASE_LOADS, Kernel, STREAM_ACCESSES, STREAM_THREADS};
use lab::Setup;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{LazyLock, Mutex};
use workloads::Form;
use workloads::device::{DeviceError, ModuleCode};

/// Measurement of a run of a kernel.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Method {
    /// Cycles of each link of a chain in one warp of `threads` threads.
    Line { threads: u32, lane_bytes: u32 },
    /// The same, beyond the cycles of a link of `shared_chase`.
    BeyondShared { threads: u32, lane_bytes: u32 },
    /// Lines of a CTA of 1024 threads per cycle, in lanes.
    LanesPerCycle { threads: u32, lane_bytes: u32 },
    /// Cycles of each line of a barrier.
    Interval { warps: u32 },
    /// Cycles of a step of a pointer chase, by one thread.
    Chase { nodes: u64, stride: u64, warm: bool },
    /// Cycles of a step from texel to texel, by one thread, when caches are warm.
    TextureChase { nodes: u64, stride: u64 },
    /// Bytes per cycle that all SMs read from L2.
    L2Read,
    /// Bytes per cycle of data that are in DRAM only; `bytes` for each accessed one.
    Dram { accesses: u32, writes: bool },
    /// Bytes per cycle of sectors at random addresses.
    Random,
    /// Additions per cycle of all SMs, a word of `lane_bytes` on for each thread.
    Atomics { lane_bytes: u32 },
    /// Cycles of the second of two launches.
    Launch { ctas: u32, threads: u32 },
}

/// From what was measured to the quantity.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Scale {
    Times(f64),
    /// From cycles, or bytes per cycle, with the core clock.
    Nanoseconds,
    Microseconds,
    GigabytesPerSecond,
    PercentOfPeak,
    /// From lanes per cycle to cycles per warp.
    CyclesPerWarp,
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
    kernel: String,
    method: Method,
    scale: Scale,
}

const CYCLES: &str = "core cycles";
const RESULTS: &str = "results/core cycle/SM";

/// Every quantity, in the order of reports.
pub fn quantities() -> &'static [Quantity] {
    static ALL: LazyLock<Vec<Quantity>> = LazyLock::new(|| {
        let mut all: Vec<Quantity> = CLASSES.iter().flat_map(of_class).collect();
        all.extend(others());
        all
    });
    &ALL
}

fn of_class(class: &super::catalogue::Class) -> Vec<Quantity> {
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
        q(L2, "l2_bandwidth", "bytes/core cycle", "loads of all SMs", "stream_read", Method::L2Read, once);
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

/// Trips of the loops, and their double: enough for the steady state.
const TRIPS: u32 = 4;

/// Data that a CTA of a stream accesses in one trip.
const STREAM_BYTES: u32 = STREAM_THREADS * 16 * STREAM_ACCESSES;

/// Bytes from what a copy reads to what it writes, as in `source`.
const COPY_DISTANCE: u64 = 1 << 29;

/// The window of random addresses: more than any L2 here keeps of what was touched.
const RANDOM_WINDOW: u32 = 1 << 26;

/// Kernels in one form of code, on one GPU.
struct Runner<'a> {
    setup: &'a Setup,
    kernels: &'a BTreeMap<String, Kernel>,
}

impl Runner<'_> {
    fn bench(&self, setup: &Setup, kernel: &str) -> Result<Bench, DeviceError> {
        if setup.code == Form::Ptx {
            return Bench::of(setup, ModuleCode::Ptx(&self.kernels[kernel].ptx));
        }
        let cubin = binaries::cubins(setup.gpu.sm_version).and_then(|cubins| cubins.get(kernel));
        let cubin = cubin.ok_or_else(|| DeviceError::Other(format!("there is no machine code of {kernel}")))?;
        Bench::of(setup, ModuleCode::Binary(cubin))
    }

    /// Cycles of each line: of `long` less of `short`, each the difference of two numbers of trips.
    fn per_line(&self, kernel: &str, threads: u32, lane_bytes: u32) -> Result<f64, DeviceError> {
        let lines = self.kernels[kernel].lines.map_or(1, |(short, long)| long - short);
        let mut bench = self.bench(self.setup, kernel)?;
        let data = bench.buffer(1 << 20)?.address;
        let work = |trips| Work { ctas: 1, threads, data, trips, cta_stride: lane_bytes, ..Work::default() };
        let mut trip = |entry| bench.beyond_of(entry, work(TRIPS), work(2 * TRIPS)).map(|counted| counted.of("cycles"));
        let (short, long) = (trip("short")?, trip("long")?);
        Ok((long - short) / (f64::from(TRIPS) * lines as f64))
    }

    fn chase(&self, kernel: &str, nodes: u64, stride: u64, warm: bool) -> Result<f64, DeviceError> {
        let mut setup = self.setup.clone();
        setup.gpu.launch.host_copies_fill_l2 = warm;
        let trips = (if warm { 2 * nodes } else { nodes / 2 } / CHASE_LOADS as u64) as u32;
        let work = |data, trips| Work { ctas: 1, threads: 1, data, trips, ..Work::default() };
        if warm {
            let mut bench = self.bench(&setup, kernel)?;
            let data = bench.ring(nodes, stride)?.address;
            let counted = bench.beyond_of("bench", work(data, trips), work(data, 2 * trips))?;
            return Ok(counted.of("cycles") / (2 * nodes) as f64);
        }
        // Each on a device of its own: the first would leave its data in L2.
        let run = |trips| {
            let mut bench = self.bench(&setup, kernel)?;
            let data = bench.ring(nodes, stride)?.address;
            bench.run_entry("bench", work(data, trips))
        };
        let counted = Difference::new(run(trips)?, run(2 * trips)?);
        Ok(counted.of("cycles") / (nodes / 2) as f64)
    }

    fn texture_chase(&self, kernel: &str, nodes: u64, stride: u64) -> Result<f64, DeviceError> {
        let trips = (2 * nodes / CHASE_LOADS as u64) as u32;
        let mut bench = self.bench(self.setup, kernel)?;
        let object = bench.texture_ring(nodes, stride)?;
        let object = u32::try_from(object)
            .map_err(|_| DeviceError::Other(format!("the texture object {object:#x} has more than 32 bits")))?;
        let data = bench.buffer(8)?.address;
        let work = |trips| Work { ctas: 1, threads: 1, data, trips, cta_stride: object, ..Work::default() };
        let counted = bench.beyond_of("bench", work(trips), work(2 * trips))?;
        Ok(counted.of("cycles") / (2 * nodes) as f64)
    }

    fn l2_read(&self, kernel: &str) -> Result<f64, DeviceError> {
        const WINDOW: u32 = 1 << 19;
        const L2_TRIPS: u32 = 4;
        let mut setup = self.setup.clone();
        setup.gpu.launch.host_copies_fill_l2 = true;
        let mut bench = self.bench(&setup, kernel)?;
        let data = bench.zeroes(u64::from(WINDOW + STREAM_BYTES))?.address;
        let ctas = setup.gpu.sm_count;
        let work = |trips| Work {
            ctas,
            threads: STREAM_THREADS,
            data,
            trips,
            cta_stride: STREAM_BYTES,
            step: STREAM_BYTES + STREAM_THREADS * 16,
            mask: WINDOW - 1,
        };
        let counted = bench.beyond_of("bench", work(L2_TRIPS), work(2 * L2_TRIPS))?;
        Ok(f64::from(ctas) * f64::from(STREAM_BYTES) * f64::from(L2_TRIPS) / counted.of("cycles"))
    }

    /// One stream of all SMs. Stores reach DRAM once L2 is full: twice its size, as its sets do not fill evenly.
    fn dram(&self, kernel: &str, accesses: u32, writes: bool) -> Result<f64, DeviceError> {
        let gpu = &self.setup.gpu;
        let ctas = gpu.sm_count;
        let step = ctas * STREAM_BYTES;
        let to_fill_l2 = if writes { (2 * gpu.l2.bytes()).div_ceil(u64::from(step)) as u32 } else { 0 };
        let trips = to_fill_l2.max(2);
        let run = |trips: u32| {
            let mut bench = self.bench(self.setup, kernel)?;
            let bytes = u64::from(step) * u64::from(trips) + if accesses > 1 { COPY_DISTANCE } else { 0 };
            let data = bench.buffer(bytes)?.address;
            let work =
                Work { ctas, threads: STREAM_THREADS, data, trips, cta_stride: STREAM_BYTES, step, mask: u32::MAX };
            bench.run_entry("bench", work)
        };
        let counted = Difference::new(run(trips)?, run(2 * trips)?);
        let bytes = f64::from(step) * f64::from(trips) * f64::from(accesses);
        Ok(bytes / counted.of("cycles"))
    }

    fn random(&self, kernel: &str) -> Result<f64, DeviceError> {
        const TRIPS: u32 = 2;
        let ctas = 2 * self.setup.gpu.sm_count;
        let run = |trips| {
            let mut bench = self.bench(self.setup, kernel)?;
            let data = bench.buffer(u64::from(RANDOM_WINDOW))?.address;
            bench.run_entry(
                "bench",
                Work { ctas, threads: STREAM_THREADS, data, trips, mask: RANDOM_WINDOW - 1, ..Work::default() },
            )
        };
        let counted = Difference::new(run(TRIPS)?, run(2 * TRIPS)?);
        let sectors = f64::from(ctas * STREAM_THREADS * STREAM_ACCESSES * TRIPS);
        Ok(32.0 * sectors / counted.of("cycles"))
    }

    fn atomics(&self, kernel: &str, lane_bytes: u32) -> Result<f64, DeviceError> {
        const THREADS: u32 = 128;
        let ctas = self.setup.gpu.sm_count;
        let mut bench = self.bench(self.setup, kernel)?;
        let data = bench.zeroes(u64::from(ctas * THREADS * 4))?.address;
        let work = |trips| Work {
            ctas,
            threads: THREADS,
            data,
            trips,
            cta_stride: lane_bytes,
            step: lane_bytes * THREADS,
            ..Work::default()
        };
        let counted = bench.beyond_of("bench", work(1), work(2))?;
        // Eight in each trip.
        Ok(f64::from(8 * ctas * THREADS) / counted.of("cycles"))
    }

    fn launch(&self, kernel: &str, ctas: u32, threads: u32) -> Result<f64, DeviceError> {
        let mut bench = self.bench(self.setup, kernel)?;
        let data = bench.zeroes(1 << 17)?.address;
        let work = Work { ctas, threads, data, cta_stride: 4096, ..Work::default() };
        bench.run_entry("bench", work)?;
        Ok(bench.run_entry("bench", work)?.number("total_cycles"))
    }

    fn measure(&self, kernel: &str, method: Method) -> Result<f64, DeviceError> {
        match method {
            Method::Line { threads, lane_bytes } => self.per_line(kernel, threads, lane_bytes),
            Method::BeyondShared { threads, lane_bytes } => {
                Ok(self.per_line(kernel, threads, lane_bytes)? - self.per_line("shared_chase", threads, lane_bytes)?)
            }
            Method::LanesPerCycle { threads, lane_bytes } => {
                Ok(f64::from(threads) / self.per_line(kernel, threads, lane_bytes)?)
            }
            Method::Interval { warps } => self.per_line(kernel, 32 * warps, 0),
            Method::Chase { nodes, stride, warm } => self.chase(kernel, nodes, stride, warm),
            Method::TextureChase { nodes, stride } => self.texture_chase(kernel, nodes, stride),
            Method::L2Read => self.l2_read(kernel),
            Method::Dram { accesses, writes } => self.dram(kernel, accesses, writes),
            Method::Random => self.random(kernel),
            Method::Atomics { lane_bytes } => self.atomics(kernel, lane_bytes),
            Method::Launch { ctas, threads } => self.launch(kernel, ctas, threads),
        }
    }
}

fn scaled(value: f64, scale: Scale, setup: &Setup) -> f64 {
    let mhz = setup.gpu.clocks.core_mhz;
    match scale {
        Scale::Times(factor) => value * factor,
        Scale::Nanoseconds => value * 1e3 / mhz,
        Scale::Microseconds => value / mhz,
        Scale::GigabytesPerSecond => value * mhz / 1e3,
        Scale::PercentOfPeak => value * mhz / 1e3 / setup.gpu.dram_peak_gb_per_s() * 100.0,
        Scale::CyclesPerWarp => 32.0 / value,
    }
}

/// A figure of the model, in the quantity's unit.
#[derive(Clone, Debug)]
pub struct Measurement {
    /// The measured quantity.
    pub quantity: &'static Quantity,
    /// The figure.
    pub value: f64,
}

/// Whether a GPU has the quantity in this form of code.
pub fn has(quantity: &Quantity, sm_version: u32, code: Form) -> bool {
    let written = match code {
        // The pointers in constant memory are addresses in machine code's constant bank.
        Form::Ptx => quantity.group != Group::Constant,
        Form::Sass => binaries::cubins(sm_version).is_some_and(|cubins| cubins.contains_key(&quantity.kernel)),
    };
    written && quantity.lowest_sm <= sm_version
}

/// Measures the quantities that `wanted` says and the GPU has, with the form of code of
/// `setup`, on up to `jobs` threads. Warps are scheduled by loose round robin: a greedy scheduler lets some
/// end early, and the last ones cannot fill the pipes.
///
/// # Errors
/// Errors of the device; a model that cannot run one of the kernels is at fault.
pub fn measure(
    setup: &Setup,
    wanted: impl Fn(&Quantity) -> bool,
    jobs: usize,
) -> Result<Vec<Measurement>, DeviceError> {
    let setup = &Setup { scheduler: Some("lrr".to_owned()), any_architecture: true, ..setup.clone() };
    let kernels = source::kernels().into_iter().map(|kernel| (kernel.name.clone(), kernel)).collect();
    let runner = Runner { setup, kernels: &kernels };
    let wanted: Vec<&'static Quantity> =
        quantities().iter().filter(|q| has(q, setup.gpu.sm_version, setup.code) && wanted(q)).collect();
    // Several quantities may be the same run in other units.
    let mut runs: Vec<(&str, Method)> = Vec::new();
    for quantity in &wanted {
        if !runs.contains(&(&quantity.kernel, quantity.method)) {
            runs.push((&quantity.kernel, quantity.method));
        }
    }
    let next = AtomicUsize::new(0);
    let found: Vec<Mutex<Option<Result<f64, DeviceError>>>> = runs.iter().map(|_| Mutex::new(None)).collect();
    std::thread::scope(|scope| {
        for _ in 0..jobs.clamp(1, runs.len().max(1)) {
            scope.spawn(|| {
                loop {
                    let index = next.fetch_add(1, Ordering::Relaxed);
                    let Some((kernel, method)) = runs.get(index) else { break };
                    let value = runner.measure(kernel, *method);
                    *found[index].lock().expect("nothing panics while it holds this") = Some(value);
                }
            });
        }
    });
    let mut values = Vec::new();
    for ((kernel, _), value) in runs.iter().zip(found) {
        let value = value.into_inner().ok().flatten().expect("every run has a result");
        values.push(value.map_err(|e| DeviceError::Other(format!("{kernel}: {e}")))?);
    }
    let measurement = |quantity: &&'static Quantity| {
        let at = runs.iter().position(|run| *run == (quantity.kernel.as_str(), quantity.method));
        Measurement { quantity, value: scaled(values[at.expect("it was run")], quantity.scale, setup) }
    };
    Ok(wanted.iter().map(measurement).collect())
}

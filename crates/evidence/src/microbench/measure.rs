//! Runs the kernels of the catalogue in either form of code.

use super::bench::{Bench, Difference, Work};
use super::binaries;
use super::catalogue::Group;
use super::hopper::{BOX_ROW_BYTES, COPY_BYTES};
use super::quantity::{Method, Quantity, Scale, quantities};
use super::source::{self, CHASE_LOADS, Kernel, STREAM_ACCESSES, STREAM_THREADS};
use lab::Setup;
use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use workloads::Form;
use workloads::device::{DeviceError, ModuleCode};

/// Trips of the loops, and their double: enough for the steady state.
const TRIPS: u32 = 4;

/// Tensor maps of a run: one for each load of most trips of most lines.
const MAPS: u64 = 2 * TRIPS as u64 * 16;

/// Data that a CTA of a stream accesses in one trip.
const STREAM_BYTES: u32 = STREAM_THREADS * 16 * STREAM_ACCESSES;

/// Bytes from what a copy reads to what it writes, as in `source`.
const COPY_DISTANCE: u64 = 1 << 29;

/// Room for the copy of data with that many accesses to each.
fn copy_bytes(accesses: u32) -> u64 {
    if accesses > 1 { COPY_DISTANCE } else { 0 }
}

/// The window of random addresses: more than any L2 here keeps of what was touched.
const RANDOM_WINDOW: u32 = 1 << 26;

/// Kernels in one form of code, on one GPU.
struct Runner<'a> {
    setup: &'a Setup,
    kernels: &'a BTreeMap<String, Kernel>,
}

impl Runner<'_> {
    fn code(&self, kernel: &str) -> Result<ModuleCode<'_>, DeviceError> {
        if self.setup.code == Form::Ptx {
            return Ok(ModuleCode::Ptx(&self.kernels[kernel].ptx));
        }
        let cubin = binaries::cubins(self.setup.gpu.sm_version).and_then(|cubins| cubins.get(kernel));
        let cubin = cubin.ok_or_else(|| DeviceError::Other(format!("there is no machine code of {kernel}")))?;
        Ok(ModuleCode::Binary(cubin))
    }

    fn bench(&self, setup: &Setup, kernel: &str) -> Result<Bench, DeviceError> {
        Bench::of(setup, self.code(kernel)?)
    }

    /// Cycles of each line: of `long` less of `short`, each the difference of two numbers of trips.
    fn per_line(&self, kernel: &str, threads: u32, lane_bytes: u32) -> Result<f64, DeviceError> {
        self.per_line_of(kernel, (1, threads), lane_bytes)
    }

    /// The same with several CTAs.
    fn per_line_of(&self, kernel: &str, (ctas, threads): (u32, u32), lane_bytes: u32) -> Result<f64, DeviceError> {
        let mut bench = self.bench(self.setup, kernel)?;
        let data = bench.buffer(u64::from(ctas * COPY_BYTES).max(1 << 20))?.address;
        self.per_line_in(&mut bench, kernel, (ctas, threads), (data, lane_bytes))
    }

    /// Cycles of each load by tensor maps of a tensor of `rows` rows.
    fn per_box(&self, kernel: &str, rows: u32) -> Result<f64, DeviceError> {
        let mut bench = self.bench(self.setup, kernel)?;
        let data = bench.tensor_maps(MAPS, [BOX_ROW_BYTES, rows])?.address;
        self.per_line_in(&mut bench, kernel, (1, 1), (data, 0))
    }

    fn per_line_in(
        &self,
        bench: &mut Bench,
        kernel: &str,
        (ctas, threads): (u32, u32),
        (data, lane_bytes): (u64, u32),
    ) -> Result<f64, DeviceError> {
        let lines = self.kernels[kernel].lines.map_or(1, |(short, long)| long - short);
        let work = |trips| Work { ctas, threads, data, trips, cta_stride: lane_bytes, ..Work::default() };
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

    /// All SMs access a window that is in L2, past L1.
    fn l2(&self, kernel: &str, accesses: u32) -> Result<f64, DeviceError> {
        const WINDOW: u32 = 1 << 19;
        const L2_TRIPS: u32 = 4;
        let mut setup = self.setup.clone();
        setup.gpu.launch.host_copies_fill_l2 = true;
        let mut bench = self.bench(&setup, kernel)?;
        let data = bench.zeroes(u64::from(WINDOW + STREAM_BYTES), copy_bytes(accesses))?.address;
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
        let bytes = f64::from(ctas) * f64::from(STREAM_BYTES) * f64::from(L2_TRIPS * accesses);
        Ok(bytes / counted.of("cycles"))
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
            let bytes = u64::from(step) * u64::from(trips) + copy_bytes(accesses);
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
        let data = bench.zeroes(u64::from(ctas * THREADS * 4), 0)?.address;
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
        let mut bench = Bench::with_kept_code(self.setup, self.code(kernel)?)?;
        let data = bench.zeroes(1 << 17, 0)?.address;
        let work = Work { ctas, threads, data, cta_stride: 4096, ..Work::default() };
        bench.run_entry("bench", work)?;
        Ok(bench.run_entry("bench", work)?.number("total_cycles"))
    }

    /// Cycles of a kernel whose data are in DRAM only, with what a profiler counts beside its execution.
    fn profiled(&self, kernel: &str, ctas: u32, threads: u32, trips: u32) -> Result<f64, DeviceError> {
        let mut bench = self.bench(self.setup, kernel)?;
        let data = bench.buffer(u64::from(ctas * COPY_BYTES))?.address;
        let cycles = bench.run_entry("bench", Work { ctas, threads, data, trips, ..Work::default() })?.number("cycles");
        Ok(cycles + f64::from(self.setup.gpu.launch.profiled_cycles.unwrap_or(0)))
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
            Method::InCluster { threads } => self.per_line_of(kernel, (2, threads), 0),
            Method::BytesPerLine { ctas, threads, bytes } => {
                let cycles = self.per_line_of(kernel, (ctas * self.setup.gpu.sm_count, threads), 0)?;
                Ok(f64::from(ctas * bytes) / cycles)
            }
            Method::Boxes { rows } => self.per_box(kernel, rows),
            Method::FirstUse => {
                Ok(self.per_box(kernel, 1)? - self.per_box(&format!("tensor_load_{BOX_ROW_BYTES}_chain"), 1)?)
            }
            Method::Profiled { ctas, threads, trips } => self.profiled(kernel, ctas, threads, trips),
            Method::Chase { nodes, stride, warm } => self.chase(kernel, nodes, stride, warm),
            Method::TextureChase { nodes, stride } => self.texture_chase(kernel, nodes, stride),
            Method::L2 { accesses } => self.l2(kernel, accesses),
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
        Scale::Per(amount) => amount / value,
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
/// `setup`, on up to `jobs` threads. Warps are scheduled by loose round robin: a greedy scheduler lets some end early, and
/// the last ones cannot fill the pipes. Machine code has the scheduler of a core that has one of its own, because operands
/// are kept for the next instruction of the same warp.
///
/// # Errors
/// Errors of the device; a model that cannot run one of the kernels is at fault.
pub fn measure(
    setup: &Setup,
    wanted: impl Fn(&Quantity) -> bool,
    jobs: usize,
) -> Result<Vec<Measurement>, DeviceError> {
    let own = lab::scheduler_of(&setup.core).filter(|_| setup.code == Form::Sass);
    let scheduler = own.is_none().then(|| "lrr".to_owned());
    let setup = &Setup { scheduler, any_architecture: true, ..setup.clone() };
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

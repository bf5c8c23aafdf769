//! Runs generated kernels and computes their cycles per unit of work.

use super::kernels;
use exec::tensor_map::{self, Element, Interleave, Swizzle, TensorMap};
use gpu::Stats;
use isa::{Channel, Dim3, Image, Sampler, Shape};
use lab::Setup;
use lab::SimulatedDevice;
use workloads::device::{
    ArgBytes, Buffer, Device, DeviceError, LaunchRequest, ModuleCode, ModuleId, ModuleSource, ThreadRegisters,
};

/// A fresh device with one generated kernel.
pub struct Bench {
    device: SimulatedDevice<'static>,
    module: ModuleId,
    registers: ThreadRegisters,
}

/// Arguments of a launch: all generated kernels have the same parameters.
#[derive(Clone, Copy, Debug, Default)]
#[allow(missing_docs, reason = "the names of some fields and variants say it all")]
pub struct Work {
    pub ctas: u32,
    /// Threads of each CTA.
    pub threads: u32,
    /// Address of the data.
    pub data: u64,
    /// Trips of the loop.
    pub trips: u32,
    /// Bytes between the beginnings of two CTAs; see [`kernels::stream`].
    pub cta_stride: u32,
    pub step: u32,
    pub mask: u32,
}

impl Bench {
    /// A device of `setup` with the kernel `text` loaded.
    ///
    /// # Errors
    /// Errors of the device.
    pub fn new(setup: &Setup, text: &str) -> Result<Self, DeviceError> {
        Self::of(setup, ModuleCode::Ptx(text))
    }

    /// A device of `setup` with a module of either form loaded, whose launches all begin without code in the caches: one
    /// on an SM that kept it would not be compared with one on another.
    ///
    /// # Errors
    /// Errors of the device.
    pub fn of(setup: &Setup, code: ModuleCode<'_>) -> Result<Self, DeviceError> {
        let mut setup = setup.clone();
        setup.gpu.launch.keeps_code = setup.gpu.launch.keeps_code.map(|_| false);
        Self::with_kept_code(&setup, code)
    }

    /// As [`Bench::of`], but launches find the code that the GPU keeps from those before.
    ///
    /// # Errors
    /// Errors of the device.
    pub fn with_kept_code(setup: &Setup, code: ModuleCode<'_>) -> Result<Self, DeviceError> {
        let mut device = SimulatedDevice::new(setup)?;
        let module = device.load_module(&ModuleSource { name: "microbenchmark", code })?;
        // Of PTX few enough for a full CTA on every GPU; machine code says how many it has.
        let registers = match code {
            ModuleCode::Ptx(_) | ModuleCode::BundledPtx(_) => {
                ThreadRegisters::Given(if setup.gpu.sm_version < 30 { 20 } else { 32 })
            }
            ModuleCode::Binary(_) => ThreadRegisters::Estimated,
        };
        Ok(Self { device, module, registers })
    }

    /// Device memory, never written.
    ///
    /// # Errors
    /// Errors of the device.
    pub fn buffer(&mut self, bytes: u64) -> Result<Buffer, DeviceError> {
        self.device.alloc("data", bytes)
    }

    /// A ring of `nodes` pointers, each to the next, `stride` bytes apart.
    ///
    /// # Errors
    /// Errors of the device.
    pub fn ring(&mut self, nodes: u64, stride: u64) -> Result<Buffer, DeviceError> {
        let buffer = self.device.alloc("ring", nodes * stride)?;
        for i in 0..nodes {
            let next = buffer.address + (i + 1) % nodes * stride;
            self.device.write(buffer, i * stride, &next.to_le_bytes())?;
        }
        Ok(buffer)
    }

    /// `count` maps, one after the other, of a tensor of bytes that its box covers.
    ///
    /// # Errors
    /// Errors of the device.
    pub fn tensor_maps(&mut self, count: u64, [row_bytes, rows]: [u32; 2]) -> Result<Buffer, DeviceError> {
        let tensor = self.device.alloc("tensor", u64::from(row_bytes) * u64::from(rows))?;
        let buffer = self.device.alloc("maps", count * tensor_map::BYTES as u64)?;
        let map = TensorMap {
            address: tensor.address,
            element: Element::U8,
            rank: 2,
            sizes: [row_bytes.into(), rows.into(), 1, 1, 1],
            strides: [row_bytes.into(), 0, 0, 0],
            element_strides: [1; 5],
            shape: tensor_map::Shape::Tiled { size: [row_bytes, rows, 1, 1, 1] },
            interleave: Interleave::None,
            swizzle: Swizzle::None,
            promotion: 0,
            fills_nan: false,
        };
        let bytes: Vec<u8> = map.encode().iter().flat_map(|word| word.to_le_bytes()).collect();
        for i in 0..count {
            self.device.write(buffer, i * tensor_map::BYTES as u64, &bytes)?;
        }
        Ok(buffer)
    }

    /// A texture of 32-bit texels of which `nodes`, `stride` bytes apart, hold the place of the next; returns its
    /// object.
    ///
    /// # Errors
    /// Errors of the device.
    pub fn texture_ring(&mut self, nodes: u64, stride: u64) -> Result<u64, DeviceError> {
        const TEXEL_BYTES: u64 = 4;
        let buffer = self.device.alloc("texture", nodes * stride)?;
        for i in 0..nodes {
            let next = (i + 1) % nodes * stride / TEXEL_BYTES;
            self.device.write(buffer, i * stride, &(next as u32).to_le_bytes())?;
        }
        self.device.image(&Image {
            base: buffer.address,
            shape: Shape::D1,
            size: [(nodes * stride / TEXEL_BYTES) as u32, 1, 1],
            pitch: nodes * stride,
            channel: Channel::U32,
            channels: 1,
            sampler: Some(Sampler::default()),
        })
    }

    /// Zeroes in device memory, and in L2 where host copies go there, with `beyond` bytes after them, never written.
    ///
    /// # Errors
    /// Errors of the device.
    pub fn zeroes(&mut self, bytes: u64, beyond: u64) -> Result<Buffer, DeviceError> {
        let buffer = self.device.alloc("data", bytes + beyond)?;
        self.device.write(buffer, 0, &vec![0; bytes as usize])?;
        Ok(buffer)
    }

    /// Runs the kernel `bench`; gives the statistics of this launch only.
    ///
    /// # Errors
    /// Errors of the device.
    pub fn run(&mut self, work: Work) -> Result<Stats, DeviceError> {
        self.run_entry("bench", work)
    }

    /// Runs a kernel of the module; gives the statistics of this launch only.
    ///
    /// # Errors
    /// Errors of the device.
    pub fn run_entry(&mut self, kernel: &str, work: Work) -> Result<Stats, DeviceError> {
        let args: [ArgBytes; 5] =
            [work.data.into(), work.trips.into(), work.cta_stride.into(), work.step.into(), work.mask.into()];
        self.device.launch(&LaunchRequest {
            module: self.module,
            kernel,
            grid: Dim3::new(work.ctas, 1, 1),
            block: Dim3::new(work.threads, 1, 1),
            dynamic_shared_bytes: 0,
            args: &args,
            registers: self.registers,
            stream: 0,
        })?;
        self.device.synchronize()?;
        Ok(self.device.kernel_reports().last().map(|r| r.statistics.unpacked()).unwrap_or_default())
    }

    /// The counts of one launch beyond another's with fewer trips, when caches are warm.
    ///
    /// # Errors
    /// Errors of the device.
    pub fn beyond(&mut self, short: Work, long: Work) -> Result<Difference, DeviceError> {
        self.beyond_of("bench", short, long)
    }

    /// As [`Bench::beyond`], of any kernel of the module.
    ///
    /// # Errors
    /// Errors of the device.
    pub fn beyond_of(&mut self, kernel: &str, short: Work, long: Work) -> Result<Difference, DeviceError> {
        self.run_entry(kernel, short)?;
        Ok(Difference { short: self.run_entry(kernel, short)?, long: self.run_entry(kernel, long)? })
    }
}

/// Two launches that differ only in their amount of work.
#[derive(Clone, Debug)]
pub struct Difference {
    short: Stats,
    long: Stats,
}

impl Difference {
    /// Of two launches on different devices.
    pub fn new(short: Stats, long: Stats) -> Self {
        Self { short, long }
    }

    /// By how much the longer launch's statistic is larger.
    pub fn of(&self, statistic: &str) -> f64 {
        self.long.number(statistic) - self.short.number(statistic)
    }

    /// Statistics of the longer of the two launches.
    pub fn long(&self) -> &Stats {
        &self.long
    }
}

/// Trips that are enough for the steady state, and their double.
const TRIPS: (u32, u32) = (4, 8);

/// A body of instructions in a loop that never ends.
#[derive(Clone, Copy, Debug)]
pub struct Steady<'a> {
    /// Gives registers their values.
    pub setup: &'a str,
    /// Threads of the one CTA.
    pub threads: u32,
    /// Instructions in the shorter body; the longer one has twice as many.
    pub body: usize,
}

impl Steady<'_> {
    /// The counts of one trip: the difference between eight and four.
    fn trip(&self, setup: &Setup, body: &str) -> Result<Difference, DeviceError> {
        let mut bench = Bench::new(setup, &kernels::looped(setup.gpu.sm_version, self.setup, body))?;
        let data = bench.ring(64, 128)?.address;
        let work = |trips| Work { ctas: 1, threads: self.threads, data, trips, ..Work::default() };
        bench.beyond(work(TRIPS.0), work(TRIPS.1))
    }

    /// By how much `statistic` grows per line: the difference of a body of twice the length and one,
    /// so that the loop itself does not count. `line` gives the body's lines.
    ///
    /// # Errors
    /// Errors of the device.
    pub fn per_line(&self, setup: &Setup, statistic: &str, line: impl Fn(usize) -> String) -> Result<f64, DeviceError> {
        Ok(self.lines(setup, &[statistic], line)?[0])
    }

    /// As [`Steady::per_line`], several statistics at once.
    ///
    /// # Errors
    /// Errors of the device.
    pub fn lines(
        &self,
        setup: &Setup,
        statistics: &[&str],
        line: impl Fn(usize) -> String,
    ) -> Result<Vec<f64>, DeviceError> {
        let short = self.trip(setup, &kernels::repeat(self.body, &line))?;
        let long = self.trip(setup, &kernels::repeat(2 * self.body, &line))?;
        let work = f64::from(TRIPS.1 - TRIPS.0) * self.body as f64;
        Ok(statistics.iter().map(|s| (long.of(s) - short.of(s)) / work).collect())
    }
}

/// Figures of one step of a pointer chase.
#[derive(Clone, Debug)]
pub struct Chase {
    /// Core cycles per step.
    pub cycles: f64,
    /// Steps that the figures are over.
    pub steps: f64,
    /// The statistics of these steps.
    pub counted: Difference,
}

/// Loads in one trip of a chase.
const CHASE_LOADS: u64 = 16;

/// One thread follows `load` through a ring of `nodes` pointers `stride` bytes apart, a multiple of
/// 64 of them. `warm` times whole turns after the first; otherwise host copies leave nothing in L2
/// and the second half of the first turn is timed.
///
/// # Errors
/// Errors of the device.
pub fn chase(setup: &Setup, load: &str, nodes: u64, stride: u64, warm: bool) -> Result<Chase, DeviceError> {
    let mut setup = setup.clone();
    setup.gpu.launch.host_copies_fill_l2 = warm;
    let text = kernels::looped(
        setup.gpu.sm_version,
        "",
        &kernels::repeat(CHASE_LOADS as usize, |_| format!("{load} %p1, [%p1];")),
    );
    let trips = (if warm { 2 * nodes } else { nodes / 2 } / CHASE_LOADS) as u32;
    let (counted, steps) = if warm {
        let mut bench = Bench::new(&setup, &text)?;
        let data = bench.ring(nodes, stride)?.address;
        let work = |trips| Work { ctas: 1, threads: 1, data, trips, ..Work::default() };
        (bench.beyond(work(trips), work(2 * trips))?, 2 * nodes)
    } else {
        // Each on a device of its own: the first would leave its data in L2.
        let run = |trips| {
            let mut bench = Bench::new(&setup, &text)?;
            let data = bench.ring(nodes, stride)?.address;
            bench.run(Work { ctas: 1, threads: 1, data, trips, ..Work::default() })
        };
        (Difference { short: run(trips)?, long: run(2 * trips)? }, nodes / 2)
    };
    Ok(Chase { cycles: counted.of("cycles") / steps as f64, steps: steps as f64, counted })
}

/// Figures of loads of all SMs.
#[derive(Clone, Debug)]
pub struct Bandwidth {
    /// Bytes per core cycle.
    pub bytes_per_cycle: f64,
    /// The statistics of the same time.
    pub counted: Difference,
}

/// Threads of each CTA of a bandwidth measurement.
const STREAM_THREADS: u32 = 256;
/// Data that such a CTA reads in one trip.
const STREAM_BYTES: u32 = STREAM_THREADS * 16 * kernels::STREAM_LOADS;

/// Bytes after which the channel changes, on all GPUs described here. CTAs begin a multiple of this
/// apart that is 1 modulo 6, 16, 24 and 32: each in the channel after its neighbour's, whatever the
/// number of channels. Without a hash of addresses they would go through the channels in step.
const CHANNEL_BYTES: u32 = 256;

/// `sms` SMs read, past L1, a window that is in L2.
///
/// # Errors
/// Errors of the device.
pub fn l2_bandwidth(setup: &Setup, sms: u32, trips: u32) -> Result<Bandwidth, DeviceError> {
    const WINDOW: u32 = 1 << 18;
    let mut setup = setup.clone();
    setup.gpu.launch.host_copies_fill_l2 = true;
    let text = kernels::stream(setup.gpu.sm_version, "ld.global.cg.v4.u32", STREAM_THREADS);
    let mut bench = Bench::new(&setup, &text)?;
    let data = bench.zeroes(u64::from(WINDOW + STREAM_BYTES), 0)?.address;
    let ctas = sms;
    let (cta_stride, step) = (97 * CHANNEL_BYTES, STREAM_BYTES + STREAM_THREADS * 16);
    let work = |trips| Work { ctas, threads: STREAM_THREADS, data, trips, cta_stride, step, mask: WINDOW - 1 };
    let counted = bench.beyond(work(trips), work(2 * trips))?;
    let bytes = f64::from(ctas) * f64::from(STREAM_BYTES) * f64::from(trips);
    Ok(Bandwidth { bytes_per_cycle: bytes / counted.of("cycles"), counted })
}

/// As many SMs as there are slices, if there are as many, read from L2: each from a slice of its
/// own, so that no two packets meet in the crossbar.
///
/// # Errors
/// Errors of the device.
pub fn l2_port_bandwidth(setup: &Setup, trips: u32) -> Result<Bandwidth, DeviceError> {
    const WARPS: u32 = 16;
    const LINE: u64 = 128;
    let mut setup = setup.clone();
    setup.gpu.launch.host_copies_fill_l2 = true;
    let map = mem::dram::AddressMap::new(&setup.gpu);
    let ctas = map.slices().min(setup.gpu.sm_count);
    let mut bench = Bench::new(&setup, &kernels::gather(setup.gpu.sm_version))?;
    let per_cta = (WARPS * kernels::GATHER_LOADS) as usize;
    let table = bench.buffer(8 * u64::from(ctas) * per_cta as u64)?;
    // Enough for every slice to have its lines, however the hash has them.
    let data = bench.zeroes(4 * LINE * u64::from(map.slices()) * per_cta as u64, 0)?;
    let mut lines = vec![Vec::with_capacity(per_cta); ctas as usize];
    for address in (data.address..data.address + data.bytes).step_by(LINE as usize) {
        if let Some(mine) = lines.get_mut(map.slice_of(address) as usize).filter(|l| l.len() < per_cta) {
            mine.push(address);
        }
    }
    let bytes: Vec<u8> = lines.iter().flatten().flat_map(|address: &u64| address.to_le_bytes()).collect();
    bench.device.write(table, 0, &bytes)?;
    let work = |trips| Work { ctas, threads: 32 * WARPS, data: table.address, trips, ..Work::default() };
    let counted = bench.beyond(work(trips), work(2 * trips))?;
    let bytes = LINE as f64 * f64::from(ctas) * per_cta as f64 * f64::from(trips);
    Ok(Bandwidth { bytes_per_cycle: bytes / counted.of("cycles"), counted })
}

/// All SMs read data that are only in DRAM, bypassing L1, in one stream.
///
/// # Errors
/// Errors of the device.
pub fn dram_bandwidth(setup: &Setup, trips: u32) -> Result<Bandwidth, DeviceError> {
    let text = kernels::stream(setup.gpu.sm_version, "ld.global.cg.v4.u32", STREAM_THREADS);
    let ctas = setup.gpu.sm_count;
    let cta_stride = 193 * CHANNEL_BYTES;
    let step = ctas * cta_stride;
    let run = |trips| {
        let mut bench = Bench::new(setup, &text)?;
        let data = bench.buffer(u64::from(step) * u64::from(trips))?.address;
        bench.run(Work { ctas, threads: STREAM_THREADS, data, trips, cta_stride, step, mask: u32::MAX })
    };
    let counted = Difference { short: run(trips)?, long: run(2 * trips)? };
    let bytes = f64::from(ctas) * f64::from(STREAM_BYTES) * f64::from(trips);
    Ok(Bandwidth { bytes_per_cycle: bytes / counted.of("cycles"), counted })
}

//! Any settings that a GPU description accepts run kernels of every memory behaviour to their end, with the
//! right results and every issue slot accounted for (a kernel's end asserts that).
//!
//! Settings are drawn from the schema. A value that the description refuses is left out, so that what is
//! left is an accepted combination. A failing one is made smaller before it is reported.
//!
//! `cargo test -p warpwright-lab settings:: -- --ignored` tries `WARPWRIGHT_CASES` of them (2000 unless
//! said) from seed `WARPWRIGHT_SEED` on.

use config::schema::{self, Key, ValueKind};
use config::{GpuConfig, Raw};
use isa::{Channel, Dim3, Image, Sampler, Shape};
use lab::{Setup, SimulatedDevice};
use std::num::NonZeroU64;
use std::panic::{AssertUnwindSafe, catch_unwind};
use workloads::{ArgBytes, Buffer, Device, DeviceError, LaunchRequest, ModuleCode, ModuleSource, ThreadRegisters};

const CTAS: u32 = 3;
const THREADS: u32 = 64;
/// Words of the input, and of each kernel's output: a word per thread, and space from `SCRATCH` on.
const WORDS: u32 = 4096;
const SCRATCH: u32 = 1024;

/// A kernel that leaves `%v` of thread `%i` of the grid, `%t` of its CTA; `%from` and `%to` are its buffers.
struct Behaviour {
    name: &'static str,
    body: &'static str,
    expected: fn(u32) -> u32,
}

/// The input's words.
const fn word(i: u32) -> u32 {
    (i ^ 0x2545).wrapping_mul(0x9e37_79b1) >> 7
}

const BEHAVIOURS: &[Behaviour] = &[
    Behaviour { name: "streaming", body: "ld.global.u32 %v, [%a];\nadd.u32 %v, %v, 1;", expected: |i| word(i) + 1 },
    Behaviour {
        name: "strided",
        body: "mul.lo.u32 %r1, %i, 37;\nand.b32 %r1, %r1, 2047;\nmul.wide.u32 %c, %r1, 4;\nadd.u64 %c, %c, %from;\n\
               ld.global.u32 %v, [%c];\nld.global.u32 %r2, [%c+8192];\nadd.u32 %v, %v, %r2;",
        expected: |i| word((i * 37) & 2047).wrapping_add(word(((i * 37) & 2047) + 2048)),
    },
    Behaviour {
        name: "reuse",
        body: "mov.u32 %r1, %i;\nmov.u32 %v, 0;\nmov.u32 %r2, 8;\nL:\nmad.lo.u32 %r1, %r1, 1664525, 1013904223;\n\
               shr.u32 %r3, %r1, 8;\nand.b32 %r3, %r3, 255;\nmul.wide.u32 %c, %r3, 4;\nadd.u64 %c, %c, %from;\n\
               ld.global.u32 %r4, [%c];\nadd.u32 %v, %v, %r4;\nsub.u32 %r2, %r2, 1;\nsetp.ne.u32 %p, %r2, 0;\n@%p bra L;",
        expected: |i| {
            let step = |(x, sum): (u32, u32), _| {
                let x = x.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                (x, sum.wrapping_add(word(x >> 8 & 255)))
            };
            (0..8).fold((i, 0), step).1
        },
    },
    Behaviour {
        name: "wide",
        body: "and.b32 %r1, %i, 255;\nmul.wide.u32 %c, %r1, 16;\nadd.u64 %c, %c, %from;\n\
               ld.global.v4.u32 {%r1, %r2, %r3, %r4}, [%c];\nadd.u32 %v, %r1, %r2;\nadd.u32 %v, %v, %r3;\nadd.u32 %v, %v, %r4;\n\
               mul.wide.u32 %c, %i, 8;\nadd.u64 %c, %c, %to;\nst.global.v2.u32 [%c+4096], {%v, %r1};\n\
               ld.global.cg.u32 %v, [%c+4096];",
        expected: |i| (0..4).fold(0u32, |sum, k| sum.wrapping_add(word(4 * (i & 255) + k))),
    },
    Behaviour {
        name: "atomics",
        body: "setp.lt.u32 %p, %t, 4;\nmul.lo.u32 %r1, %t, 4;\nmov.u32 %r2, s;\nadd.u32 %r1, %r1, %r2;\nmov.u32 %r3, 0;\n\
               @%p st.shared.u32 [%r1], %r3;\nbar.sync 0;\nand.b32 %r1, %t, 3;\nmul.lo.u32 %r1, %r1, 4;\nadd.u32 %r1, %r1, %r2;\n\
               atom.shared.add.u32 %r3, [%r1], 1;\nand.b32 %r4, %i, 7;\nmul.wide.u32 %c, %r4, 4;\nadd.u64 %c, %c, %to;\n\
               atom.global.add.u32 %r3, [%c+4096], %i;\nred.global.max.u32 [%c+4128], %i;\nbar.sync 0;\nld.shared.u32 %v, [%r1];",
        expected: |_| THREADS / 4,
    },
    Behaviour {
        name: "conflicts",
        body: "mov.u32 %r2, s;\nmad.lo.u32 %r1, %t, 64, %r2;\nst.shared.u32 [%r1], %i;\nbar.sync 0;\nadd.u32 %r1, %t, 1;\n\
               and.b32 %r1, %r1, 63;\nmad.lo.u32 %r1, %r1, 64, %r2;\nld.shared.u32 %v, [%r1];",
        expected: |i| i / THREADS * THREADS + (i + 1) % THREADS,
    },
    Behaviour {
        name: "local",
        body: "mov.u64 %c, l;\nmov.u32 %r1, 0;\nL:\nmul.wide.u32 %d, %r1, 4;\nadd.u64 %d, %d, %c;\nmul.lo.u32 %r2, %i, %r1;\n\
               st.local.u32 [%d], %r2;\nadd.u32 %r1, %r1, 1;\nsetp.lt.u32 %p, %r1, 16;\n@%p bra L;\nand.b32 %r1, %i, 15;\n\
               mul.wide.u32 %d, %r1, 4;\nadd.u64 %d, %d, %c;\nld.local.u32 %v, [%d];\nst.local.u8 [%d+1], %r1;\n\
               ld.local.v4.u32 {%r1, %r2, %r3, %r4}, [l+16];\nadd.u32 %v, %v, %r4;",
        expected: |i| {
            let seven = if i & 15 == 7 { (7 * i) & !0xff00 | (i & 15) << 8 } else { 7 * i };
            i * (i & 15) + seven
        },
    },
    Behaviour {
        name: "constant",
        body: "and.b32 %r1, %t, 7;\nmul.wide.u32 %c, %r1, 4;\nmov.u64 %d, table;\nadd.u64 %c, %c, %d;\nld.const.u32 %v, [%c];\n\
               ld.const.u32 %r2, [table+8];\nadd.u32 %v, %v, %r2;",
        expected: |i| [3, 1, 4, 1, 5, 9, 2, 6][i as usize % 8] + 4,
    },
    Behaviour {
        name: "texture",
        body: "and.b32 %r1, %i, 15;\nshr.u32 %r2, %i, 4;\nmov.u32 %r6, 0;\n\
               tex.2d.v4.u32.s32 {%v, %r3, %r4, %r5}, [%image, {%r1, %r2}];\n\
               tex.2d.v4.u32.s32 {%r1, %r3, %r4, %r5}, [%image, {%r6, %r2}];\nadd.u32 %v, %v, %r1;",
        expected: |i| word(i).wrapping_add(word(i & !15)),
    },
    Behaviour {
        name: "bytes",
        body: "st.global.u8 [%b+4096], %i;\nadd.u32 %r1, %i, 1;\nst.global.u8 [%b+4098], %r1;\nadd.u32 %r1, %i, 2;\n\
               st.global.u8 [%b+4099], %r1;\nmembar.gl;\nld.global.u32 %v, [%b+4096];\nld.global.u32 %r2, [%a];\n\
               membar.cta;\nld.global.u32 %r3, [%a];\nsub.u32 %r2, %r2, %r3;\nadd.u32 %v, %v, %r2;",
        expected: |i| i & 255 | ((i + 1) & 255) << 16 | ((i + 2) & 255) << 24,
    },
];

fn module() -> String {
    let mut text = ".version 6.4\n.target sm_30\n.address_size 64\n\
                    .const .align 4 .b32 table[8] = {3, 1, 4, 1, 5, 9, 2, 6};\n"
        .to_string();
    for Behaviour { name, body, .. } in BEHAVIOURS {
        text += &format!(
            ".visible .entry {name}(.param .u64 from, .param .u64 to, .param .u64 image)\n{{\n\
             .reg .b32 %i, %t, %v, %r<9>;\n.reg .b64 %from, %to, %image, %a, %b, %c, %d;\n.reg .pred %p;\n\
             .shared .align 4 .b8 s[4096];\n.local .align 16 .b8 l[64];\n\
             mov.u32 %t, %tid.x;\nmov.u32 %r1, %ctaid.x;\nmov.u32 %r2, %ntid.x;\nmad.lo.u32 %i, %r1, %r2, %t;\n\
             ld.param.u64 %from, [from];\nld.param.u64 %to, [to];\nld.param.u64 %image, [image];\n\
             mul.wide.u32 %a, %i, 4;\nadd.u64 %b, %a, %to;\nadd.u64 %a, %a, %from;\n\
             {body}\nst.global.u32 [%b], %v;\nret;\n}}\n"
        );
    }
    text
}

/// Statistics of a run: of each kernel, by name, and of all.
pub(crate) type Figures = Vec<(String, String)>;

/// Statistics of all that `device` has run.
pub(crate) fn figures(device: &mut SimulatedDevice<'_>) -> Figures {
    let of_kernel =
        |k: &lab::KernelReport| (k.name.clone(), format!("{} {:?} {:?}", k.start_cycle, k.occupancy, k.statistics));
    let mut all: Figures = device.kernel_reports().iter().map(of_kernel).collect();
    all.push(("total".into(), format!("{:?}", device.total_statistics())));
    all
}

/// Runs all behaviours. Gives how many there were: of those that fit on an SM.
///
/// # Errors
/// A run fails.
fn run(gpu: GpuConfig, core: &str) -> Result<usize, String> {
    behaviours(gpu, core).map(|(count, _)| count)
}

/// Runs all behaviours; gives how many fit on an SM, and their statistics.
///
/// # Errors
/// A run fails.
pub(crate) fn behaviours(gpu: GpuConfig, core: &str) -> Result<(usize, Figures), String> {
    let setup = Setup {
        core: core.into(),
        max_cycles: Some(4_000_000_000),
        livelock_cycles: NonZeroU64::new(50_000_000),
        ..Setup::new(gpu)
    };
    let wrong = |e: DeviceError| e.to_string();
    let mut device = SimulatedDevice::new(&setup).map_err(wrong)?;
    let module = device.load_module(&ModuleSource { name: "behaviours.ptx", code: ModuleCode::Ptx(&module()) });
    let module = module.map_err(wrong)?;
    let bytes = |words: &mut dyn Iterator<Item = u32>| words.flat_map(u32::to_le_bytes).collect::<Vec<u8>>();
    let from = device.alloc("from", 4 * u64::from(WORDS)).map_err(wrong)?;
    device.write(from, 0, &bytes(&mut (0..WORDS).map(word))).map_err(wrong)?;
    let rows = CTAS * THREADS / 16;
    let image = Image {
        base: from.address,
        shape: Shape::D2,
        size: [16, rows, 1],
        pitch: 64,
        channel: Channel::U32,
        channels: 1,
        sampler: Some(Sampler::default()),
    };
    let image = device.image(&image).map_err(wrong)?;
    let mut outputs = Vec::new();
    // A fabric has no texture units.
    let has_textures = !lab::needs_ptx(core);
    for behaviour in BEHAVIOURS.iter().filter(|behaviour| has_textures || behaviour.name != "texture") {
        let to = device.alloc(behaviour.name, 4 * u64::from(WORDS)).map_err(wrong)?;
        device.memset(to, 0).map_err(wrong)?;
        let launch = LaunchRequest {
            module,
            kernel: behaviour.name,
            grid: Dim3::new(CTAS, 1, 1),
            block: Dim3::new(THREADS, 1, 1),
            dynamic_shared_bytes: 0,
            args: &[from.into(), to.into(), ArgBytes::from(image)],
            registers: ThreadRegisters::Given(24),
            stream: outputs.len() as u32 % 3,
        };
        match device.launch(&launch) {
            Ok(()) => outputs.push((behaviour, to)),
            Err(DeviceError::Shape { .. }) => {}
            Err(error) => return Err(error.to_string()),
        }
    }
    device.synchronize().map_err(wrong)?;
    outputs.iter().try_for_each(|&(behaviour, to)| check(&mut device, behaviour, to))?;
    Ok((outputs.len(), figures(&mut device)))
}

fn check(device: &mut SimulatedDevice<'_>, behaviour: &Behaviour, to: Buffer) -> Result<(), String> {
    let mut bytes = vec![0; 4 * WORDS as usize];
    device.read(to, 0, &mut bytes).map_err(|e| e.to_string())?;
    let got: Vec<u32> = bytes.as_chunks::<4>().0.iter().map(|b| u32::from_le_bytes(*b)).collect();
    let name = behaviour.name;
    for i in 0..CTAS * THREADS {
        let (got, expected) = (got[i as usize], (behaviour.expected)(i));
        if got != expected {
            return Err(format!("{name}: thread {i} leaves {got:#x}, not {expected:#x}"));
        }
    }
    if name == "atomics" {
        for k in 0..8 {
            let (sum, most) = ((0..CTAS * THREADS).filter(|i| i & 7 == k).sum(), CTAS * THREADS - 8 + k);
            let got = [got[(SCRATCH + k) as usize], got[(SCRATCH + 8 + k) as usize]];
            if got != [sum, most] {
                return Err(format!("{name}: counters {k} are {got:?}, not {:?}", [sum, most]));
            }
        }
    }
    Ok(())
}

/// SplitMix64.
struct Dice(u64);

impl Dice {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ z >> 31
    }

    fn below(&mut self, bound: u64) -> u64 {
        self.next() % bound
    }

    fn one<'a, T>(&mut self, of: &'a [T]) -> &'a T {
        &of[self.below(of.len() as u64) as usize]
    }

    /// Between the bounds, each order of magnitude as likely as another; often one of the bounds.
    fn magnitude(&mut self, low: u32, high: u32) -> u32 {
        if self.below(6) == 0 {
            return if self.below(2) == 0 { low } else { high };
        }
        let span = u64::from(high - low) + 1;
        let bits = self.below(u64::from(span.ilog2()) + 1);
        low + (self.below(2 << bits).min(span - 1)) as u32
    }
}

/// Values that only cost the host time and memory.
const CEILINGS: &[(&str, u32)] = &[
    ("sm_count", 64),
    ("launch.kernel_latency_cycles", 100_000),
    ("launch.kernel_latency_ns", 100_000),
    ("launch.cta_latency_cycles", 100_000),
    ("l2.partitions", 128),
    ("<cache>.sets", 4096),
];

/// A value for `key`, as `--set` takes it; nothing for what changes no timing.
fn draw(dice: &mut Dice, key: &Key, gpu: &GpuConfig) -> Option<String> {
    let ceiling = CEILINGS.iter().find(|(path, _)| *path == key.path).map_or(u32::MAX, |(_, most)| *most);
    Some(match key.kind {
        ValueKind::Int(low, high) => dice.magnitude(low, high.min(ceiling)).to_string(),
        ValueKind::Pow2(low, high) => {
            let steps = high.min(ceiling).ilog2() - low.ilog2() + 1;
            (low << dice.below(steps.into())).to_string()
        }
        ValueKind::Mhz => format!("{}.0", dice.magnitude(1, 100_000)),
        ValueKind::Volts => return None,
        ValueKind::Bool => (dice.below(2) == 0).to_string(),
        ValueKind::Choice(words) => (*dice.one(words)).to_string(),
        ValueKind::List(Some(count), low, high) => {
            let mut values: Vec<u32> = (0..count).map(|_| dice.magnitude(low, high)).collect();
            if key.path == "dram.write_queue" {
                // Entries, drain above, drain until below.
                values.sort_unstable();
                values = vec![values[2], values[1], values[0]];
            }
            format!("{values:?}")
        }
        ValueKind::List(None, ..) => {
            let step = gpu.sm.l1d.cache.sets * gpu.sm.l1d.cache.line_bytes;
            let mut parts: Vec<u32> = (0..dice.below(4)).map(|_| dice.below(16) as u32 * step).collect();
            parts.push(gpu.sm.shared.bytes);
            parts.sort_unstable();
            parts.dedup();
            format!("{parts:?}")
        }
        ValueKind::Text if key.path == "sm.issue.scheduler" => dice.one(lab::schedulers()).0.to_string(),
        ValueKind::Text if key.path == "dram.address_map" => {
            let mut bits = "B".repeat(gpu.dram.timing.nbk.ilog2() as usize);
            bits += &"C".repeat(1 + dice.below(8) as usize);
            bits += &"R".repeat(1 + dice.below(16) as usize);
            let mut bits: Vec<char> = bits.chars().collect();
            (1..bits.len()).rev().for_each(|i| bits.swap(i, dice.below(i as u64 + 1) as usize));
            bits.into_iter().collect::<String>() + &"S".repeat(dice.below(7) as usize)
        }
        ValueKind::Text => return None,
    })
}

/// A drawn description: what it is made of, and its settings.
struct Case {
    gpu: &'static str,
    core: &'static str,
    settings: Vec<String>,
}

impl Case {
    fn draw(seed: u64) -> Self {
        let mut dice = Dice(seed.wrapping_mul(0x1234_5678_9abc_def1));
        let gpu = dice.one(config::builtin()).name;
        let core = if dice.below(4) == 0 { dice.one(lab::cores()).0 } else { lab::cores()[0].0 };
        let keys: Vec<_> = schema::paths().collect();
        let mut case = Self { gpu, core, settings: Vec::new() };
        let mut now = config::load(gpu).unwrap();
        // Mostly a few, so that what follows from one is not hidden behind another.
        for _ in 0..1 + dice.magnitude(1, 60) {
            let (path, key) = dice.one(&keys);
            // Energy plays no part. Timing tables are most keys.
            let rare = path.starts_with("sm.ptx_timing") || path.starts_with("sm.sass_timing");
            if path.starts_with("energy.") || rare && dice.below(8) != 0 {
                continue;
            }
            let Some(value) = draw(&mut dice, key, &now) else { continue };
            case.settings.push(format!("{path}={value}"));
            match case.config() {
                Some(config) => now = config,
                None => _ = case.settings.pop(),
            }
        }
        case
    }

    /// The description, if it is accepted.
    fn config(&self) -> Option<GpuConfig> {
        let mut raw = Raw::open(self.gpu).unwrap();
        config::with_overrides(&mut raw, &self.settings).ok()?;
        raw.config().ok()
    }

    fn try_it(&self) -> Result<usize, String> {
        let Some(gpu) = self.config() else { return Ok(0) };
        let done = catch_unwind(AssertUnwindSafe(|| run(gpu, self.core)));
        done.unwrap_or_else(|panic| {
            let text = panic.downcast_ref::<String>().map(String::as_str);
            Err(format!("panic: {}", text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("of some kind")))
        })
    }

    /// Leaves out what does not matter for a failure.
    fn smaller(mut self) -> (Self, String) {
        let mut message = self.try_it().unwrap_err();
        let mut at = 0;
        while at < self.settings.len() {
            let left_out = self.settings.remove(at);
            match self.try_it() {
                Err(other) => message = other,
                Ok(_) => {
                    self.settings.insert(at, left_out);
                    at += 1;
                }
            }
        }
        (self, message)
    }
}

/// Tries the cases of `seeds` seeds.
fn try_cases(seeds: std::ops::Range<u64>) {
    let (mut failures, mut kernels, mut settings) = (Vec::new(), 0, 0);
    let count = seeds.end - seeds.start;
    for seed in seeds {
        let case = Case::draw(seed);
        settings += case.settings.len();
        if let Ok(ran) = case.try_it() {
            kernels += ran;
        } else {
            let (Case { gpu, core, settings }, message) = case.smaller();
            let settings = settings.iter().map(|s| format!(" --set {s}")).collect::<String>();
            eprintln!("seed {seed}: --gpu {gpu} --core {core}{settings}\n  {message}");
            failures.push(seed);
        }
    }
    eprintln!("{count} descriptions with {settings} settings drawn ran {kernels} kernels");
    assert!(failures.is_empty(), "seeds {failures:?}: see above");
    assert!(kernels as u64 > 7 * count, "{kernels} kernels of {count} descriptions fit on their SMs");
}

#[test]
fn the_behaviours_run_on_every_gpu() {
    for gpu in config::builtin() {
        Case { gpu: gpu.name, core: "inorder", settings: vec![] }
            .try_it()
            .unwrap_or_else(|e| panic!("{}: {e}", gpu.name));
    }
}

#[test]
fn settings_that_once_failed_run() {
    for (gpu, settings) in [
        ("gtx480", &["sm.l1d.cache.sectored=true"][..]),
        ("gtx480", &["sm.texture_cache.sectored=true"]),
        // A set full of dirty lines, far from a quarter of all lines.
        ("rtx3070", &["sm.l1d.cache.sets=16"]),
    ] {
        let case = Case { gpu, core: "inorder", settings: settings.iter().map(|&s| s.into()).collect() };
        assert!(case.config().is_some(), "{settings:?} are not accepted");
        case.try_it().unwrap_or_else(|e| panic!("{gpu} {settings:?}: {e}"));
    }
}

#[test]
fn accepted_settings_run_to_the_end() {
    try_cases(0..40);
}

#[test]
#[ignore = "minutes"]
fn thousands_of_accepted_settings_run_to_the_end() {
    let given = |name: &str, usual: u64| std::env::var(name).map_or(usual, |text| text.parse().unwrap());
    let (first, count) = (given("WARPWRIGHT_SEED", 0), given("WARPWRIGHT_CASES", 2000));
    try_cases(first..first + count);
}

/// Messages about PTX for newer GPUs name none that does not exist.
#[test]
fn the_newest_gpu_is_the_newest_of_the_descriptions() {
    let all = config::builtin().iter().map(|gpu| config::load(gpu.name).unwrap().sm_version);
    assert_eq!(all.max(), Some(lower::NEWEST_GPU));
}

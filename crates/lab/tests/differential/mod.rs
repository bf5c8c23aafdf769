//! Small kernels with known results, run in every way: as PTX with each kind of registers, as machine
//! code, functionally and on core designs. Used by the test over the committed corpus and by
//! `examples/differential.rs`, which `tools/fuzz-kernels` runs on fresh kernels.
//!
//! A folder holds `input.bin`, which all kernels read, and groups of kernels: `NAME.cases` has a line for
//! each kernel (`kernel grid block words [shared [offset:size ...]]`), `NAME.expected` what they leave, one after
//! the other, and `NAME.VARIANT.ptx` or `NAME.VARIANT.cubin` the same kernels compiled in different ways. What is
//! expected and what is compiled may be compressed (`.gz`).
//! A kernel takes three buffers: the input, the output of `words` words, and memory of its own. Further arguments
//! are `size` bytes each of the input from `offset` on. `shared` is its dynamic shared memory, in bytes.

use exec::DeviceState;
use flate2::read::GzDecoder;
use isa::Dim3;
use lab::{CORES, ReadChecker, RegisterChoice, RegisterMode, Setup, SimulatedDevice};
use lower::{Loaded, LowerOptions, RegisterLimits, Registers};
use std::any::Any;
use std::cell::RefCell;
use std::fs;
use std::io::Read;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use workloads::device::{Device, LaunchRequest, ModuleCode, ModuleId, ModuleSource, ThreadRegisters};

/// Bytes of its own memory that a kernel has for each thread.
const SCRATCH_BYTES: u64 = 256;
/// Warp instructions after which a kernel is taken to run indefinitely.
const MAX_INSTRUCTIONS: u64 = 20_000_000;
/// Bytes of a thread's stack where machine code does not bound it: the recursive functions here go four deep, and
/// some have arrays.
const STACK_BYTES: u32 = 8192;
/// Cycles after which a kernel is taken to run indefinitely.
const MAX_CYCLES: u64 = 12_000_000;

/// A kernel and what it must leave.
pub struct Case {
    pub kernel: String,
    grid: u32,
    block: u32,
    /// Bytes of dynamic shared memory.
    shared: u32,
    /// Where in the input the arguments after the buffers are, and their sizes.
    arguments: Vec<(usize, usize)>,
    expected: Vec<u8>,
}

/// Kernels that are compiled together.
pub struct Group {
    pub name: String,
    pub cases: Vec<Case>,
    /// The compiled files.
    pub files: Vec<PathBuf>,
}

/// All groups of a folder.
pub struct Folder {
    pub input: Vec<u8>,
    pub groups: Vec<Group>,
}

/// How a kernel did not do what it should.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// It cannot be executed.
    Refused,
    /// Another result than the host's.
    Different,
    /// A fault, a deadlock, or no end.
    Fault,
    /// The simulator panicked.
    Panic,
    /// Its control bits let an instruction read a register too early by our latencies.
    Early,
}

/// One kernel in one form that failed.
pub struct Failure {
    /// `group.variant kernel mode`.
    pub at: String,
    pub kind: Kind,
    pub detail: String,
}

/// How a run of one kernel failed.
type Outcome = Result<(), (Kind, String)>;

impl Folder {
    /// Reads the folder at `path`; only groups whose name contains `filter`.
    pub fn read(path: &Path, filter: &str) -> Self {
        let mut files: Vec<PathBuf> = fs::read_dir(path).unwrap().map(|entry| entry.unwrap().path()).collect();
        files.sort();
        let input = fs::read(path.join("input.bin")).unwrap();
        let lists = files.iter().filter(|f| f.extension().is_some_and(|e| e == "cases"));
        let groups = lists.map(|list| Group::read(list, &files)).filter(|g| g.name.contains(filter)).collect();
        Self { input, groups }
    }
}

impl Group {
    fn read(list: &Path, files: &[PathBuf]) -> Self {
        let name = list.file_stem().unwrap().to_str().unwrap().to_owned();
        let plain = list.with_extension("expected");
        let packed = list.with_extension("expected.gz");
        let all = contents(if plain.exists() { &plain } else { &packed });
        let mut rest = &all[..];
        let mut case = |line: &str| {
            let mut words = line.split_whitespace();
            let kernel = words.next().unwrap().to_owned();
            let [grid, block, count] = [(); 3].map(|()| words.next().unwrap().parse::<u32>().unwrap());
            let (expected, after) = rest.split_at(4 * count as usize);
            rest = after;
            let shared = words.next().map_or(0, |bytes| bytes.parse().unwrap());
            let argument = |word: &str| {
                let (offset, size) = word.split_once(':').unwrap();
                (offset.parse().unwrap(), size.parse().unwrap())
            };
            let arguments = words.map(argument).collect();
            Case { kernel, grid, block, shared, arguments, expected: expected.to_vec() }
        };
        let cases = fs::read_to_string(list).unwrap().lines().map(&mut case).collect();
        assert!(rest.is_empty(), "{name}: more is expected than the kernels leave");
        let compiled = |file: &Path| {
            let variant = variant(file);
            let of = file.file_name().unwrap().to_str().unwrap().split('.').next();
            (variant.ends_with(".ptx") || variant.ends_with(".cubin")) && of == Some(&name)
        };
        let files = files.iter().filter(|f| compiled(f)).cloned().collect();
        Self { name, cases, files }
    }
}

/// The contents of a file, decompressed.
fn contents(file: &Path) -> Vec<u8> {
    let bytes = fs::read(file).unwrap();
    if file.extension().is_none_or(|e| e != "gz") {
        return bytes;
    }
    let mut text = Vec::new();
    GzDecoder::new(&bytes[..]).read_to_end(&mut text).unwrap();
    text
}

/// The name of a file without `.gz`.
fn plain_name(file: &Path) -> &str {
    let name = file.file_name().unwrap().to_str().unwrap();
    name.strip_suffix(".gz").unwrap_or(name)
}

/// `sm_75-O0.cubin` of `name.sm_75-O0.cubin`.
pub fn variant(file: &Path) -> String {
    plain_name(file).split_once('.').map(|(_, variant)| variant.to_owned()).unwrap_or_default()
}

fn is_ptx(file: &Path) -> bool {
    plain_name(file).ends_with(".ptx")
}

thread_local! {
    /// Where the last panic was.
    static PLACE: RefCell<String> = const { RefCell::new(String::new()) };
}

/// Keeps panics from being printed: what they say and where is in the failures.
#[allow(dead_code, reason = "the tests print panics")]
pub fn record_panics() {
    std::panic::set_hook(Box::new(|info| {
        PLACE.set(info.location().map(|at| format!(" ({at})")).unwrap_or_default());
    }));
}

/// Message of a panic.
fn message(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().cloned();
    let text = text.or_else(|| panic.downcast_ref::<&str>().map(|s| (*s).to_owned())).unwrap_or_default();
    text + &PLACE.take()
}

/// Runs `f`; a panic of it is a failure, save the one that ends a kernel without end.
fn guarded(f: impl FnOnce() -> Outcome) -> Outcome {
    catch_unwind(AssertUnwindSafe(f)).unwrap_or_else(|panic| {
        let text = message(&*panic);
        Err((if text.starts_with("no end") { Kind::Fault } else { Kind::Panic }, text))
    })
}

impl Case {
    /// The bytes of the arguments after the buffers.
    fn further<'a>(&'a self, input: &'a [u8]) -> impl Iterator<Item = Vec<u8>> + 'a {
        self.arguments.iter().map(|&(offset, size)| input[offset..][..size].to_vec())
    }
}

/// Compares what a kernel left with what it should.
fn compare(case: &Case, got: &[u8]) -> Outcome {
    let words =
        |bytes: &[u8]| -> Vec<u32> { bytes.as_chunks::<4>().0.iter().map(|b| u32::from_le_bytes(*b)).collect() };
    let (expected, got) = (words(&case.expected), words(got));
    let differ: Vec<usize> = (0..expected.len()).filter(|&i| expected[i] != got[i]).collect();
    let Some(&first) = differ.first() else { return Ok(()) };
    let detail = format!(
        "{} of {} words, the first at {first}: {:#010x}, not {:#010x}",
        differ.len(),
        expected.len(),
        got[first],
        expected[first]
    );
    Err((Kind::Different, detail))
}

/// Runs a kernel without timing.
fn functional(loaded: &Loaded, case: &Case, input: &[u8]) -> Outcome {
    let kernel = loaded.kernel(&case.kernel).map_err(|e| (Kind::Refused, e.to_string()))?.clone();
    let mut state = DeviceState::default();
    let fault = |e: &dyn std::fmt::Display| (Kind::Fault, e.to_string());
    state.load(&loaded.module).map_err(|e| fault(&e))?;
    let scratch = SCRATCH_BYTES * u64::from(case.grid * case.block);
    let sizes = [input.len() as u64, case.expected.len() as u64, scratch];
    let buffers = sizes.map(|bytes| state.memory.allocate("buffer", bytes).unwrap());
    state.memory.write(buffers[0], input).unwrap();
    state.memory.write(buffers[1], &vec![0; case.expected.len()]).unwrap();
    let shape = [case.grid, case.block].map(|n| Dim3::new(n, 1, 1));
    let pointers = buffers.map(exec::Arg::Pointer).into_iter();
    let args: Vec<_> = pointers.chain(case.further(input).map(exec::Arg::Bytes)).collect();
    let launch = exec::Launch::new(kernel, shape[0], shape[1], case.shared, &args).map_err(|e| fault(&e))?;
    let mut executed = 0;
    exec::run_observed(&mut state, &launch, |_, _| {
        executed += 1;
        assert!(executed < MAX_INSTRUCTIONS, "no end after {executed} instructions");
    })
    .map_err(|e| fault(&e))?;
    let mut out = vec![0; case.expected.len()];
    state.memory.read(buffers[1], &mut out).unwrap();
    compare(case, &out)
}

/// Runs a group as `file` functionally, PTX with each kind of registers; gives the failures to `fail`.
/// Returns how many runs there were.
pub fn check_functional(group: &Group, file: &Path, input: &[u8], fail: &mut dyn FnMut(Failure)) -> usize {
    let bytes = contents(file);
    let limits = RegisterLimits::default();
    let few = RegisterLimits { chosen: Some(24), ..limits };
    let all = [
        ("virtual", Registers::Virtual),
        ("allocated", Registers::Allocated(limits)),
        ("allocated-24", Registers::Allocated(few)),
        ("hazard-free", Registers::HazardFree(limits)),
    ];
    let modes: &[_] = if is_ptx(file) { &all } else { &[("", Registers::Virtual)] };
    for (mode, registers) in modes {
        let options = LowerOptions {
            registers: *registers,
            any_architecture: true,
            stack_bytes: Some(STACK_BYTES),
            ..LowerOptions::default()
        };
        let name = plain_name(file);
        let load = || {
            if is_ptx(file) {
                lower::load(name, &bytes, options)
            } else {
                lower::load_binary(name, &bytes, 90, options)
            }
        };
        let loaded = catch_unwind(AssertUnwindSafe(load)).map_err(|panic| message(&*panic));
        if let Ok(Ok(loaded)) = &loaded {
            check_reads(loaded, &variant(file), &mut |kernel, detail| {
                fail(Failure {
                    at: format!("{}.{} {kernel} {mode}", group.name, variant(file)),
                    kind: Kind::Early,
                    detail,
                });
            });
        }
        for case in &group.cases {
            let outcome = match &loaded {
                Err(panic) => Err((Kind::Panic, panic.clone())),
                Ok(Err(error)) => Err((Kind::Refused, error.to_string())),
                Ok(Ok(loaded)) => guarded(|| functional(loaded, case, input)),
            };
            // A kernel that needs too many registers is refused.
            let too_few = |kind: &Kind, detail: &str| {
                *kind == Kind::Refused && *mode == "allocated-24" && detail.contains("registers")
            };
            if let Err((kind, detail)) = outcome
                && !too_few(&kind, &detail)
            {
                fail(Failure { at: format!("{}.{} {} {mode}", group.name, variant(file), case.kernel), kind, detail });
            }
        }
    }
    modes.len() * group.cases.len()
}

/// Runs a group as `file` on a GPU with a core design, every instruction's order checked.
pub fn check_on_core(
    group: &Group,
    file: &Path,
    input: &[u8],
    (gpu, core, mode): (&str, &str, RegisterMode),
    fail: &mut dyn FnMut(Failure),
) -> usize {
    let registers = RegisterChoice { mode, most: None };
    let setup = Setup {
        core: core.into(),
        registers,
        any_architecture: true,
        max_cycles: Some(MAX_CYCLES),
        stack_bytes: Some(STACK_BYTES),
        ..Setup::new(config::load(gpu).unwrap())
    };
    let bytes = contents(file);
    // The device of the kernels before this one, with the module; a failure leaves none.
    let mut last = None;
    for case in &group.cases {
        let outcome = guarded(|| {
            let (mut device, module) = last.take().map_or_else(|| loaded(&setup, file, &bytes), Ok)?;
            timed(&mut device, module, case, input)?;
            last = Some((device, module));
            Ok(())
        });
        // A thread of Fermi has at most 63 registers; a kernel that needs more is refused.
        let too_few =
            |kind: &Kind, detail: &str| *kind == Kind::Refused && gpu == "gtx480" && detail.contains("registers");
        if let Err((kind, detail)) = outcome
            && !too_few(&kind, &detail)
        {
            let at = format!("{}.{} {} {core} on {gpu}, {}", group.name, variant(file), case.kernel, mode.name());
            fail(Failure { at, kind, detail });
        }
    }
    group.cases.len()
}

fn refused(error: &workloads::DeviceError) -> (Kind, String) {
    (Kind::Refused, error.to_string())
}

/// A device with the module of `file`.
fn loaded(setup: &Setup, file: &Path, bytes: &[u8]) -> Result<(SimulatedDevice<'static>, ModuleId), (Kind, String)> {
    let mut device = SimulatedDevice::new(setup).unwrap();
    let text = String::from_utf8_lossy(bytes);
    let code = if is_ptx(file) { ModuleCode::Ptx(&text) } else { ModuleCode::Binary(bytes) };
    let module = device.load_module(&ModuleSource { name: plain_name(file), code }).map_err(|error| refused(&error))?;
    Ok((device, module))
}

fn timed(device: &mut SimulatedDevice<'_>, module: ModuleId, case: &Case, input: &[u8]) -> Outcome {
    let scratch = SCRATCH_BYTES * u64::from(case.grid * case.block);
    let sizes = [input.len() as u64, case.expected.len() as u64, scratch];
    let buffers = sizes.map(|bytes| device.alloc("buffer", bytes).unwrap());
    device.write(buffers[0], 0, input).unwrap();
    device.memset(buffers[1], 0).unwrap();
    device.memset(buffers[2], 0).unwrap();
    let pointers = buffers.map(workloads::device::ArgBytes::from).into_iter();
    let args: Vec<_> = pointers.chain(case.further(input).map(workloads::device::ArgBytes::from_bytes)).collect();
    let [grid, block] = [case.grid, case.block].map(|n| Dim3::new(n, 1, 1));
    let launch = LaunchRequest {
        module,
        kernel: &case.kernel,
        grid,
        block,
        dynamic_shared_bytes: case.shared,
        args: &args,
        registers: ThreadRegisters::Estimated,
        stream: 0,
    };
    device.launch(&launch).map_err(|error| refused(&error))?;
    device.synchronize().map_err(|e| (Kind::Fault, e.to_string()))?;
    let mut out = vec![0; case.expected.len()];
    device.read(buffers[1], 0, &mut out).map_err(|e| (Kind::Fault, e.to_string()))?;
    buffers.into_iter().for_each(|buffer| device.free(buffer).unwrap());
    compare(case, &out)
}

/// Calls `fail` with kernel and description of each read that comes too early for no known reason.
fn check_reads(loaded: &Loaded, variant: &str, fail: &mut dyn FnMut(&str, String)) {
    let gpus =
        [("_70", "v100"), ("_75", "rtx2060s"), ("_80", "a100"), ("_86", "a6000"), ("_89", "l40"), ("_90", "h100")];
    // The last architecture is the code's; the PTX's stands before it.
    let found = gpus.into_iter().filter_map(|(sm, gpu)| Some((variant.rfind(sm)?, gpu)));
    let Some((_, gpu)) = found.max().filter(|_| !variant.ends_with(".ptx")) else { return };
    let checker = ReadChecker::new(&config::load(gpu).unwrap()).unwrap();
    for kernel in &loaded.module.kernels {
        let early = checker.check(&kernel.program).into_iter().filter(|early| early.reason.is_none());
        early.for_each(|early| fail(kernel.name(), format!("{early:?}")));
    }
}

/// The GPU, core design and registers of the run number `turn`.
pub fn place(turn: usize, variant: &str) -> (&'static str, &'static str, RegisterMode) {
    let ptx = variant.ends_with(".ptx");
    let gpus: &[&str] = match variant {
        _ if ptx => &["gtx480", "rtx2060s", "v100", "rtx3070"],
        v if v.contains("_70.") || v.contains("_70-") => &["titanv"],
        v if v.contains("_75") => &["rtx2060s"],
        _ => &["rtx3070"],
    };
    let scalar = ["inorder+scalar", "ghost+scalar", "inorder+scalar+half"];
    let n = turn % (CORES.len() + scalar.len());
    let core = CORES.get(n).map_or_else(|| scalar[n - CORES.len()], |(name, _)| name);
    let core = if lab::needs_ptx(core) && !ptx { "functional" } else { core };
    // This design relies on registers that are allocated against the hazard.
    let mode = match core {
        _ if !ptx => RegisterMode::Virtual,
        "warpboard-stores" => RegisterMode::HazardFree,
        _ => RegisterMode::ALL[turn % 3],
    };
    (gpus[turn / 7 % gpus.len()], core, mode)
}

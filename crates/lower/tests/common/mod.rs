//! Runs small PTX kernels on 32 lanes, with virtual and with allocated registers, and compares them with
//! host arithmetic.
mod compiled;

use exec::{Arg, DeviceState, Kernel, Launch, LiveStream, run};
use isa::{CtaSlot, Dim3, DynInst, Fault, StepContext, WarpSlot, WarpStream};
use lower::{Loaded, LowerOptions, RegisterLimits, Registers, load, load_cubin};
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use std::sync::Arc;

/// Register allocations to test: the results are the same.
pub const MODES: [Registers; 3] = {
    let limits = RegisterLimits { architecture: 255, chosen: None, sm: 65_536 };
    [Registers::Virtual, Registers::Allocated(limits), Registers::HazardFree(limits)]
};

/// Loads a module from the text of its items.
pub fn module(items: &str) -> Loaded {
    module_with(items, Registers::Virtual)
}

/// As [`module`], with these registers; `items` may begin with a header of their own.
pub fn module_with(items: &str, registers: Registers) -> Loaded {
    let header = if items.starts_with(".version") { "" } else { ".version 8.3\n.target sm_90\n.address_size 64\n" };
    let text = format!("{header}{items}");
    let options = LowerOptions { registers, any_architecture: true, ..LowerOptions::default() };
    let loaded = load("test.ptx", &text, options).unwrap_or_else(|e| panic!("{e}\n{text}"));
    if let Some(problems) = loaded.problems() {
        panic!("{problems}\n{text}");
    }
    loaded
}

/// A module as PTX, with each kind of registers, and as machine code.
pub fn versions(name: &str, ptx: &str, cubins: &[(&'static str, &[u8])]) -> Vec<(&'static str, Loaded)> {
    let mut all = Vec::new();
    for registers in MODES {
        let options = LowerOptions { registers, ..LowerOptions::default() };
        all.push(("PTX", load(&format!("{name}.ptx"), ptx, options).unwrap()));
    }
    for (version, cubin) in cubins {
        all.push((*version, load_cubin(name, cubin, LowerOptions::default()).unwrap()));
    }
    all
}

/// Results of a kernel.
#[derive(Debug, PartialEq, Eq)]
pub struct Outcome {
    pub words: Vec<u32>,
    pub output: String,
}

/// Runs the only kernel of `items` with one buffer of `words` and returns the buffer, which must be the same
/// with all register allocations and as machine code ([`compiled`]).
#[track_caller]
pub fn try_run(items: &str, grid: u32, block: u32, words: &[u32]) -> Result<Outcome, Box<Fault>> {
    let plain = try_run_ptx(items, grid, block, words)?;
    machine_code_agrees(items, (grid, block), words, &plain);
    Ok(plain)
}

/// As [`try_run`] without machine code.
pub fn try_run_ptx(items: &str, grid: u32, block: u32, words: &[u32]) -> Result<Outcome, Box<Fault>> {
    let [plain, others @ ..] = MODES.map(|mode| run_with(items, mode, (grid, block), words));
    let plain = plain?;
    for other in others {
        assert_eq!(other.unwrap_or_else(|fault| panic!("{fault}\n{items}")), plain, "{items}");
    }
    Ok(plain)
}

/// Checks that machine code of `items` leaves the same buffer.
#[track_caller]
fn machine_code_agrees(items: &str, shape: (u32, u32), words: &[u32], plain: &Outcome) {
    for (architecture, loaded) in compiled::whole(items) {
        let kernel = loaded.kernel("k").unwrap_or_else(|e| panic!("{e}\n{items}")).clone();
        let outcome = run_kernel(&loaded, &kernel, shape, words);
        assert_eq!(&outcome.unwrap_or_else(|fault| panic!("{fault}\n{items}")), plain, "{architecture}: {items}");
    }
}

#[track_caller]
pub fn run_with(
    items: &str,
    registers: Registers,
    (grid, block): (u32, u32),
    words: &[u32],
) -> Result<Outcome, Box<Fault>> {
    let loaded = module_with(items, registers);
    run_kernel(&loaded, &loaded.module.kernels[0], (grid, block), words)
}

/// Runs a launch.
type Run<'a> = dyn Fn(&mut DeviceState, &Launch) -> Result<(), Box<Fault>> + 'a;

/// Runs a kernel whose parameters all are a buffer of these words.
pub fn run_kernel(
    loaded: &Loaded,
    kernel: &Arc<Kernel>,
    (grid, block): (u32, u32),
    words: &[u32],
) -> Result<Outcome, Box<Fault>> {
    let outcome = |run: &Run<'_>| -> Result<Outcome, Box<Fault>> {
        let mut state = DeviceState::default();
        state.load(&loaded.module).unwrap();
        let bytes: Vec<u8> = words.iter().flat_map(|w| w.to_le_bytes()).collect();
        let buffer = state.memory.allocate("buffer", bytes.len() as u64).unwrap();
        state.memory.write(buffer, &bytes).unwrap();
        let args: Vec<Arg> = kernel.params.iter().map(|_| Arg::Pointer(buffer)).collect();
        let launch = Launch::new(kernel.clone(), Dim3::new(grid, 1, 1), Dim3::new(block, 1, 1), 0, &args).unwrap();
        run(&mut state, &launch)?;
        let mut out = vec![0; bytes.len()];
        state.memory.read(buffer, &mut out).unwrap();
        let words = out.as_chunks::<4>().0.iter().map(|b| u32::from_le_bytes(*b)).collect();
        Ok(Outcome { words, output: state.output })
    };
    let plain = outcome(&|state, launch| run(state, launch).map(drop));
    // The functional run finds barriers at which too few arrive.
    let is_stuck = plain.as_ref().err().is_some_and(|fault| fault.what.starts_with("deadlock: "));
    if grid == 1 && block <= 32 && !is_stuck {
        for length in [1, 5, 1000] {
            let windows = outcome(&|state, launch| run_in_windows(state, launch, length));
            assert_eq!(windows, plain, "windows of {length}");
        }
    }
    plain
}

/// Runs the one warp of a launch in windows of `length` instructions: it sees its stores before they are merged, and
/// waits for the exchange.
fn run_in_windows(state: &mut DeviceState, launch: &Launch, length: u32) -> Result<(), Box<Fault>> {
    let (id, warp) = (state.add_launch(launch.clone()), WarpSlot(0));
    let (mut stream, mut out, mut now) = (LiveStream::new(), DynInst::default(), 0);
    stream.prepare_cta(state, id, Dim3::new(0, 0, 0));
    stream.start_cta(state, id, Dim3::new(0, 0, 0), CtaSlot(0), &[warp]);
    while stream.next_pc(warp).is_some() {
        for _ in 0..length {
            if stream.next_pc(warp).is_none() {
                break;
            }
            stream.step(state, warp, StepContext { now, sm: 0 }, &mut out)?;
            assert_eq!(out.next_pc, stream.next_pc(warp));
            now += 1;
            if out.held {
                break;
            }
        }
        stream.merge(state);
        let mut held = out.held;
        while !stream.waiting().is_empty() {
            if let Some(released) = stream.exchange(state)? {
                assert_eq!((released, held), (warp, true));
                held = false;
            }
        }
        assert!(!held, "the warp is released");
    }
    Ok(())
}

/// As [`try_run`]; the run must succeed.
#[track_caller]
pub fn run_words(items: &str, grid: u32, block: u32, words: &[u32]) -> Vec<u32> {
    try_run(items, grid, block, words).unwrap_or_else(|fault| panic!("{fault}")).words
}

/// A kernel with a buffer parameter, whose body finds in `%i` the thread number, in `%at` the
/// address of the thread's own word, and in `%buf` the buffer.
pub fn kernel(body: &str) -> String {
    format!(
        ".visible .entry k(.param .u64 p)\n{{\n\
         .reg .b64 %buf, %at, %off;\n.reg .b32 %i, %n, %b, %r<40>;\n.reg .pred %p<20>;\n\
         .reg .b64 %rd<20>;\n.reg .f32 %f<20>;\n.reg .b16 %h<20>;\n.reg .f64 %d<20>;\n\
         ld.param.u64 %buf, [p];\nmov.u32 %i, %tid.x;\nmov.u32 %n, %ntid.x;\nmov.u32 %b, %ctaid.x;\n\
         mad.lo.u32 %i, %b, %n, %i;\nmul.wide.u32 %off, %i, 4;\nadd.s64 %at, %buf, %off;\n{body}\nret;\n}}\n"
    )
}

/// A source of test values: random bits, small numbers, and the edges of every type.
pub struct Values(ChaCha8Rng);

impl Values {
    pub fn new(seed: &str) -> Self {
        let seed = seed.bytes().fold(7_u64, |h, b| h.wrapping_mul(0x100_0000_01b3) ^ u64::from(b));
        Self(ChaCha8Rng::seed_from_u64(seed))
    }

    /// Bits of a value of PTX type `ty`.
    pub fn next(&mut self, ty: &str) -> u64 {
        let bits: u64 = self.0.random();
        let choice = self.0.random_range(0..8);
        match ty {
            "f32" => u64::from(match choice {
                0 => EDGES_F32[bits as usize % EDGES_F32.len()],
                1 => (((bits % 2001) as f32 - 1000.0) / 8.0).to_bits(),
                2 => bits as u32 & 0x807f_ffff | 0x3f80_0000,
                _ => bits as u32,
            }),
            "f64" => match choice {
                0 => f64::from(f32::from_bits(EDGES_F32[bits as usize % EDGES_F32.len()])).to_bits(),
                1 => ((bits % 2001) as f64 - 1000.0).to_bits(),
                2 => bits & 0x800f_ffff_ffff_ffff | 0x3ff0_0000_0000_0000,
                _ => bits,
            },
            _ => match choice {
                0 => EDGES_INT[bits as usize % EDGES_INT.len()],
                1 => bits % 65,
                2 => (bits % 65).wrapping_neg(),
                _ => bits,
            },
        }
    }
}

const EDGES_F32: [u32; 14] = [
    0,
    0x8000_0000,
    1,
    0x8000_0001,
    0x007f_ffff,
    0x0080_0000,
    0x3f80_0000,
    0xbf80_0000,
    0x7f7f_ffff,
    0xff7f_ffff,
    0x7f80_0000,
    0xff80_0000,
    0x7fc0_0001,
    0xffff_ffff,
];
const EDGES_INT: [u64; 12] =
    [0, 1, u64::MAX, 0x7fff, 0x8000, 0xffff, 0x7fff_ffff, 0x8000_0000, 0xffff_ffff, 1 << 63, (1 << 63) - 1, 0x80];

/// Register class and width in bits of a PTX type.
fn register(ty: &str) -> (&'static str, u32) {
    match ty {
        "b16" | "u16" | "s16" | "f16" | "bf16" => ("b16", 16),
        "b64" | "u64" | "s64" => ("b64", 64),
        "f64" => ("f64", 64),
        "f32" => ("f32", 32),
        _ => ("b32", 32),
    }
}

/// Rounds of 32 lanes that each check does.
const ROUNDS: usize = 12;

/// Checks `instruction`, written with `$d`, `$a`, `$b`, `$c`, on lanes of random values of the
/// source types against `expected`, under random masks, as PTX with all kinds of registers and as the machine
/// code that NVIDIA's assembler makes of it ([`compiled`]). Bits of unused source registers are zero.
#[track_caller]
pub fn check(instruction: &str, d: &str, sources: &[&str], expected: impl Fn([u64; 4]) -> u64) {
    check_like(instruction, d, sources, |s| Some(expected(s)));
}

/// As [`check`]; lanes for which nothing is expected may hold anything.
#[track_caller]
pub fn check_like(instruction: &str, d: &str, sources: &[&str], expected: impl Fn([u64; 4]) -> Option<u64>) {
    check_where(instruction, d, sources, expected, |_| true);
}

/// As [`check_like`]; machine code is checked only in lanes where `compiled` holds: in others the assembler
/// uses a replacement that deviates from the manual.
#[track_caller]
pub fn check_where(
    instruction: &str,
    d: &str,
    sources: &[&str],
    expected: impl Fn([u64; 4]) -> Option<u64>,
    compiled: impl Fn([u64; 4]) -> bool,
) {
    let text = case(instruction, d, sources);
    let modes = MODES.map(|mode| (format!("{mode:?}"), module_with(&text, mode)));
    let machine = compiled::modules(instruction, &text);
    let (bits, mut values) = (register(d).1, Values::new(instruction));
    for round in 0..ROUNDS {
        let lanes: Vec<Lane> = (0..32).map(|_| Lane::new(&mut values, sources, round == 0)).collect();
        let (mode, loaded) = &modes[round % 3];
        let mut forms = vec![(mode.as_str(), loaded.module.kernels[0].clone(), &loaded.module, false)];
        if let Some((architecture, kernel, module)) = machine.get(round % machine.len().max(1)) {
            forms.push((*architecture, kernel.clone(), module, true));
        }
        for (form, kernel, module, is_machine) in forms {
            let results = run_lanes(module, kernel, &lanes).unwrap_or_else(|e| panic!("{instruction}, {form}: {e}"));
            for (at, (lane, got)) in lanes.iter().zip(results).enumerate() {
                let keep = u64::MAX >> (64 - bits);
                let want = if lane.on { expected(lane.sources) } else { Some(lane.before) };
                let want = want.filter(|_| !(is_machine && lane.on) || compiled(lane.sources));
                let (got, want) = (got & keep, want.unwrap_or(got) & keep);
                let (s, on) = (lane.sources, lane.on);
                assert_eq!(
                    got, want,
                    "{instruction}, {form}: lane {at} (on: {on}) of {s:x?} gave {got:#x}, not {want:#x}"
                );
            }
        }
    }
}

/// A kernel whose lanes read, from 48 bytes, their operands, the old value of `$d`, and whether they are
/// active, and write `$d` back.
fn case(instruction: &str, d: &str, sources: &[&str]) -> String {
    let (class, bits) = register(d);
    let mut body = format!(".reg .{class} $d;\n.reg .b64 %in;\nmul.wide.u32 %off, %i, 48;\nadd.s64 %in, %buf, %off;\n");
    body += &format!("ld.global.b{bits} $d, [%in+32];\nld.global.u32 %r0, [%in+40];\nsetp.ne.u32 %p0, %r0, 0;\n");
    let names = ["$a", "$b", "$c", "$e"];
    for (k, ty) in sources.iter().enumerate() {
        let (class, bits) = register(ty);
        body += &format!(".reg .{class} {};\nld.global.b{bits} {}, [%in+{}];\n", names[k], names[k], 8 * k);
    }
    // Several instructions are skipped by a branch, one is guarded.
    body += &if instruction.contains(';') {
        format!("@!%p0 bra SKIP;\n{instruction}\nSKIP:\n")
    } else {
        format!("@%p0 {instruction};\n")
    };
    body += &format!("st.global.b{bits} [%in+32], $d;\n");
    kernel(&body).replace('$', "%v_")
}

/// Input of a lane of a [`case`].
struct Lane {
    sources: [u64; 4],
    before: u64,
    on: bool,
}

impl Lane {
    fn new(values: &mut Values, types: &[&str], on: bool) -> Self {
        let mut sources = [0; 4];
        for (slot, ty) in sources.iter_mut().zip(types) {
            *slot = values.next(ty) & (u64::MAX >> (64 - register(ty).1));
        }
        Self { sources, before: values.next("u64"), on: on || !values.next("u64").is_multiple_of(3) }
    }
}

/// Results of the lanes of a [`case`].
fn run_lanes(module: &exec::LoadedModule, kernel: Arc<Kernel>, lanes: &[Lane]) -> Result<Vec<u64>, Box<Fault>> {
    let mut state = DeviceState::default();
    state.load(module).unwrap();
    let words = lanes.iter().flat_map(|l| l.sources.into_iter().chain([l.before, l.on.into()]));
    let mut bytes: Vec<u8> = words.flat_map(u64::to_le_bytes).collect();
    let buffer = state.memory.allocate("buffer", bytes.len() as u64).unwrap();
    state.memory.write(buffer, &bytes).unwrap();
    let one = Dim3::new(1, 1, 1);
    let launch = Launch::new(kernel, one, Dim3::new(32, 1, 1), 0, &[Arg::Pointer(buffer)]).unwrap();
    run(&mut state, &launch)?;
    state.memory.read(buffer, &mut bytes).unwrap();
    Ok(bytes.chunks_exact(48).map(|lane| u64::from_le_bytes(lane[32..40].try_into().unwrap())).collect())
}

/// The value of the low bits of `x` as a signed integer.
pub fn signed(x: u64, bits: u32) -> i128 {
    i128::from((x << (64 - bits)) as i64 >> (64 - bits))
}

/// The value of the low bits of `x` as an unsigned integer.
pub fn unsigned(x: u64, bits: u32) -> i128 {
    i128::from(x & (u64::MAX >> (64 - bits)))
}

/// By the sign of PTX type `ty`.
pub fn value(x: u64, ty: &str) -> i128 {
    let bits: u32 = ty[1..].parse().unwrap();
    if ty.starts_with('s') { signed(x, bits) } else { unsigned(x, bits) }
}

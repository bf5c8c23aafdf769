//! Atomics on vectors of floating-point numbers (sm_90), as PTX and as machine code, against the host.

use exec::{Arg, DeviceState, Launch, run};
use isa::{Access, Dim3};
use lower::{Loaded, LowerOptions, load, load_cubin};
use num::Rounding::NearestEven;
use num::half::{self, Bf16, F16};

const THREADS: usize = 32;
/// Offset in bytes of the vectors that eight threads each reduce into.
const SHARED: usize = 16;
/// Offset of a vector of each thread.
const OWN: usize = 1024;
/// Offset of the value that it had before.
const BEFORE: usize = 2048;
/// Bytes of a thread's place in each.
const PLACE: usize = 16;
const BYTES: usize = BEFORE + THREADS * PLACE;

/// The bytes of a small integer.
fn encode(ty: &str, x: i32) -> Vec<u8> {
    match ty {
        "f16" => half::from_f32::<F16>(x as f32, NearestEven).to_le_bytes().to_vec(),
        "bf16" => half::from_f32::<Bf16>(x as f32, NearestEven).to_le_bytes().to_vec(),
        _ => (x as f32).to_le_bytes().to_vec(),
    }
}

/// `out` after a launch of `kernel`, from these bytes of it and of `in`.
fn launched(loaded: &Loaded, kernel: &str, before: &[u8], input: &[u8]) -> Vec<u8> {
    let mut state = DeviceState::default();
    state.load(&loaded.module).unwrap();
    let [out, data] = [("out", before), ("in", input)].map(|(name, bytes)| {
        let at = state.memory.allocate(name, bytes.len() as u64).unwrap();
        state.memory.write(at, bytes).unwrap();
        at
    });
    let args = [Arg::Pointer(out), Arg::Pointer(data)];
    let kernel = loaded.kernel(kernel).unwrap().clone();
    let launch = Launch::new(kernel, Dim3::new(1, 1, 1), Dim3::new(THREADS as u32, 1, 1), 0, &args).unwrap();
    run(&mut state, &launch).unwrap();
    let mut after = vec![0; before.len()];
    state.memory.read(out, &mut after).unwrap();
    after
}

/// One kernel for each type, length and operation, with a reduction and an atomic.
fn check(name: &str, loaded: &Loaded, (op, length, ty): (&str, usize, &str)) {
    let (element, count) = ty.strip_suffix("x2").map_or((ty, length), |element| (element, 2 * length));
    let size = encode(element, 0).len();
    let given = |thread: usize, k: usize| (thread * 7 + k * 5) as i32 % 17 - 8;
    let there = |at: usize| (at / size * 3) as i32 % 13 - 6;
    let apply = |old: i32, x: i32| match op {
        "add" => old + x,
        "min" => old.min(x),
        _ => old.max(x),
    };
    let mut expected: Vec<i32> = (0..BYTES / size).map(|at| there(at * size)).collect();
    let before: Vec<u8> = expected.iter().flat_map(|&x| encode(element, x)).collect();
    let places = PLACE / size;
    let input =
        (0..THREADS * places).flat_map(|at| encode(element, given(at / places, at % places))).collect::<Vec<u8>>();
    for thread in 0..THREADS {
        for k in 0..count {
            let at = |region: usize, place: usize| (region + place * PLACE) / size + k;
            let x = given(thread, k);
            expected[at(SHARED, thread / 8)] = apply(expected[at(SHARED, thread / 8)], x);
            expected[at(BEFORE, thread)] = expected[at(OWN, thread)];
            expected[at(OWN, thread)] = apply(expected[at(OWN, thread)], x);
        }
    }
    let expected: Vec<u8> = expected.iter().flat_map(|&x| encode(element, x)).collect();
    let found = launched(loaded, &format!("k_{op}_v{length}_{ty}"), &before, &input);
    let wrong = found.iter().zip(&expected).position(|(found, expected)| found != expected);
    assert_eq!(wrong, None, "{name}: {op} of v{length} {ty}: first wrong byte of `out`");
}

#[test]
fn vectors_agree_with_the_host() {
    let ptx = load("vectors", include_str!("data/sm_90/vectors.ptx"), LowerOptions::default()).unwrap();
    let cubin = include_bytes!("data/sm_90/vectors.cuda130.sm_90.cubin");
    let cubin = load_cubin("vectors", cubin, LowerOptions::default()).unwrap();
    for (name, loaded) in [("PTX", &ptx), ("machine code", &cubin)] {
        for length in [2, 4] {
            check(name, loaded, ("add", length, "f32"));
        }
        for op in ["add", "min", "max"] {
            for (length, ty) in [(2, "f16"), (4, "f16"), (8, "f16"), (2, "f16x2"), (4, "f16x2")] {
                check(name, loaded, (op, length, ty));
                check(name, loaded, (op, length, &format!("b{ty}")));
            }
        }
    }
}

/// Atomics of a kernel in the timing model: the kind, and the bytes of a lane.
fn accesses(loaded: &Loaded, kernel: &str) -> Vec<(Access, u8)> {
    let kernel = loaded.kernel(kernel).unwrap();
    let accesses = kernel.program.insts().iter().filter_map(|inst| inst.mem);
    let atomics = accesses.filter(|mem| matches!(mem.access, Access::Atomic | Access::Reduction));
    atomics.map(|mem| (mem.access, mem.bytes)).collect()
}

#[test]
fn a_vector_is_one_access_as_in_machine_code() {
    let ptx = load("vectors", include_str!("data/sm_90/vectors.ptx"), LowerOptions::default()).unwrap();
    let cubin = include_bytes!("data/sm_90/vectors.cuda130.sm_90.cubin");
    let cubin = load_cubin("vectors", cubin, LowerOptions::default()).unwrap();
    for kernel in &ptx.module.kernels {
        let of_code = accesses(&cubin, kernel.name());
        assert_eq!(of_code.len(), 2, "{}", kernel.name());
        assert_eq!(accesses(&ptx, kernel.name()), of_code, "{}", kernel.name());
    }
}

#[test]
fn a_misaligned_vector_faults() {
    let cubin = include_bytes!("data/sm_90/vectors.cuda130.sm_90.cubin");
    let loaded = load_cubin("vectors", cubin, LowerOptions::default()).unwrap();
    let mut state = DeviceState::default();
    state.load(&loaded.module).unwrap();
    let out = state.memory.allocate("out", BYTES as u64 + 8).unwrap();
    let data = state.memory.allocate("in", (THREADS * PLACE) as u64).unwrap();
    let kernel = loaded.kernel("k_add_v4_f32").unwrap().clone();
    let args = [Arg::Pointer(out + 8), Arg::Pointer(data)];
    let launch = Launch::new(kernel, Dim3::new(1, 1, 1), Dim3::new(THREADS as u32, 1, 1), 0, &args).unwrap();
    let fault = run(&mut state, &launch).unwrap_err().to_string();
    assert!(fault.contains("misaligned atomic access to global"), "{fault}");
}

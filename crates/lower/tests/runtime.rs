//! Functions of the device runtime that kernels call: `printf`, `assert`, `malloc`, `free`.

use crate::common::versions;
use exec::{Arg, DeviceState, Launch, run};
use isa::{Dim3, FaultKind};
use lower::Loaded;

const LANES: usize = 32;
const PTX: &str = include_str!("data/runtime.ptx");
const CUBINS: [(&str, &[u8]); 8] = [
    ("sm_70", include_bytes!("data/runtime.sm_70.cubin")),
    ("sm_75", include_bytes!("data/runtime.sm_75.cubin")),
    ("sm_75 -O0", include_bytes!("data/runtime_O0.sm_75.cubin")),
    ("sm_80", include_bytes!("data/runtime.sm_80.cubin")),
    ("sm_86", include_bytes!("data/runtime.sm_86.cubin")),
    ("sm_90", include_bytes!("data/runtime.sm_90.cubin")),
    ("sm_80, CUDA 12.9", include_bytes!("data/runtime.cuda129.sm_80.cubin")),
    ("sm_90, CUDA 12.9", include_bytes!("data/runtime.cuda129.sm_90.cubin")),
];

/// The module as PTX and as machine code, of which nothing is refused.
fn modules() -> Vec<(&'static str, Loaded)> {
    let all = versions("runtime", PTX, &CUBINS);
    for (name, loaded) in &all {
        assert!(loaded.problems().is_none(), "{name}: {}", loaded.problems().unwrap());
    }
    all
}

/// A device with the module and an output buffer.
fn device(loaded: &Loaded) -> (DeviceState, u64) {
    let mut state = DeviceState::default();
    state.load(&loaded.module).unwrap();
    let out = state.memory.allocate("out", 4 * LANES as u64).unwrap();
    (state, out)
}

fn try_run(
    loaded: &Loaded,
    kernel: &str,
    n: i32,
    state: &mut DeviceState,
    out: u64,
) -> Result<Vec<u32>, Box<isa::Fault>> {
    let kernel = loaded.kernel(kernel).unwrap_or_else(|e| panic!("{e}")).clone();
    let args = [Arg::Pointer(out), Arg::I32(n)];
    let launch = Launch::new(kernel, Dim3::new(1, 1, 1), Dim3::new(LANES as u32, 1, 1), 0, &args).unwrap();
    run(state, &launch)?;
    let mut bytes = [0; 4 * LANES];
    state.memory.read(out, &mut bytes).unwrap();
    Ok(bytes.as_chunks::<4>().0.iter().map(|w| u32::from_le_bytes(*w)).collect())
}

#[test]
fn output_is_in_the_order_of_the_calls() {
    let line = |t: usize| format!("thread {t} of 9: {:.2} end 10000000000\n", t as f64 / 4.0);
    let expected = [3, 11, 19, 27].map(line).concat() + "last\n";
    for (name, loaded) in modules() {
        let (mut state, out) = device(&loaded);
        let words = try_run(&loaded, "say", 9, &mut state, out).unwrap_or_else(|e| panic!("{name}: {e}"));
        assert_eq!(state.output, expected, "{name}");
        assert_eq!(words, (9..9 + LANES as u32).collect::<Vec<_>>(), "{name}");
    }
}

#[test]
fn failed_assertions_are_faults_of_their_kind() {
    for (name, loaded) in modules() {
        let (mut state, out) = device(&loaded);
        let words = try_run(&loaded, "check", LANES as i32, &mut state, out).unwrap();
        assert_eq!(words, [1; LANES], "{name}");
        let fault = try_run(&loaded, "check", 20, &mut state, out).unwrap_err();
        assert_eq!((fault.kind, fault.lanes), (FaultKind::Assert, !0 << 20), "{name}");
        assert_eq!(
            fault.what, "assertion `threadIdx.x < n` failed in void check(unsigned int *, int) (runtime.cu:15)",
            "{name}"
        );
    }
}

#[test]
fn the_heap_holds_lists() {
    for (name, loaded) in modules() {
        let (mut state, out) = device(&loaded);
        for n in [0, 5, 40] {
            let words = try_run(&loaded, "list", n, &mut state, out).unwrap_or_else(|e| panic!("{name}: {e}"));
            let sum = |lane: usize| (0..n as u32 + lane as u32 % 4).map(|i| i * i).sum();
            assert_eq!(words, (0..LANES).map(sum).collect::<Vec<u32>>(), "{name}");
        }
    }
}

#[test]
fn a_full_heap_returns_null() {
    for (name, loaded) in modules() {
        let (mut state, out) = device(&loaded);
        // Each block takes 112 bytes.
        assert!(state.set_heap_bytes(112 * 20 + 64));
        let words = try_run(&loaded, "exhaust", 100, &mut state, out).unwrap();
        let expected: Vec<u32> = (0..LANES).map(|lane| u32::from(lane < 20)).collect();
        assert_eq!(words, expected, "{name}");
        assert!(!state.set_heap_bytes(1 << 20), "it is in use");
    }
}

#[test]
fn a_block_is_freed_once() {
    for (name, loaded) in modules() {
        let (mut state, out) = device(&loaded);
        let fault = try_run(&loaded, "twice", 8, &mut state, out).unwrap_err();
        assert_eq!(fault.kind, FaultKind::IllegalAddress, "{name}");
        assert!(fault.what.contains("which is not a block that `malloc` returned"), "{name}: {fault}");
    }
}

/// The number of arguments, as CUDA's guide defines it, and not of characters.
#[test]
fn printf_returns_the_number_of_its_arguments() {
    let cubin: &[u8] = include_bytes!("data/printf_result.sm_75.cubin");
    for (name, loaded) in versions("printf_result", include_str!("data/printf_result.ptx"), &[("sm_75", cubin)]) {
        let (mut state, out) = device(&loaded);
        let kernel = loaded.kernel("k").unwrap_or_else(|e| panic!("{e}")).clone();
        let launch = Launch::new(kernel, Dim3::new(1, 1, 1), Dim3::new(2, 1, 1), 0, &[Arg::Pointer(out)]).unwrap();
        run(&mut state, &launch).unwrap();
        let mut bytes = [0; 16];
        state.memory.read(out, &mut bytes).unwrap();
        assert_eq!(
            bytes.as_chunks::<4>().0.iter().map(|w| u32::from_le_bytes(*w)).collect::<Vec<_>>(),
            [3, 0, 3, 0],
            "{name}"
        );
        assert_eq!(state.output, "t=0 7  0.00\nt=1 7  1.50\nnone\nnone\n", "{name}");
    }
}

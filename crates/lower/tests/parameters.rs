//! Kernels with more than 4 KiB of parameters, which CUDA has had since 12.1 (`data/large.cu`, NVRTC and ptxas 12.9.86).

use exec::{Arg, DeviceState, Launch, run};
use isa::Dim3;
use lower::{Loaded, LowerOptions, load, load_cubin};

const LANES: u32 = 32;
const WORDS: u32 = 1500;

/// What the kernel writes for a table of squares.
fn picked(loaded: &Loaded) -> Vec<u32> {
    let mut state = DeviceState::default();
    let out = state.memory.allocate("out", 4 * u64::from(LANES)).unwrap();
    let table = (0..WORDS).flat_map(|i| (i * i).to_le_bytes()).collect();
    let args = [Arg::Bytes(table), Arg::Pointer(out), Arg::Bytes(7_u32.to_le_bytes().to_vec())];
    let kernel = loaded.kernel("pick").unwrap().clone();
    let launch = Launch::new(kernel, Dim3::new(1, 1, 1), Dim3::new(LANES, 1, 1), 0, &args).unwrap();
    run(&mut state, &launch).unwrap();
    let mut bytes = [0; 4 * LANES as usize];
    state.memory.read(out, &mut bytes).unwrap();
    bytes.as_chunks::<4>().0.iter().map(|w| u32::from_le_bytes(*w)).collect()
}

#[test]
fn large_parameters_are_passed() {
    let want: Vec<u32> = (0..LANES).map(|i| (40 * i).pow(2) + (WORDS - 1).pow(2) + 7).collect();
    let options = LowerOptions::default();
    assert_eq!(picked(&load("large.ptx", include_str!("data/large.ptx"), options).unwrap()), want);
    for (sm, cubin) in [
        (75, &include_bytes!("data/large.cuda129.sm_75.cubin")[..]),
        (90, include_bytes!("data/large.cuda129.sm_90.cubin")),
    ] {
        let loaded = load_cubin("large", cubin, options).unwrap();
        assert_eq!(loaded.kernel("pick").unwrap().params.iter().map(|p| p.bytes).collect::<Vec<_>>(), [6000, 8, 4]);
        assert_eq!(picked(&loaded), want, "sm_{sm}");
    }
}

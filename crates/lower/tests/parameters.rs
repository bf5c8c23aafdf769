//! Constant banks of more than 32 KiB: large parameters, which CUDA has had since 12.1, and a large constant
//! (`data/large.cu`).

use exec::{Arg, DeviceState, Launch, run};
use isa::Dim3;
use lower::{Loaded, LowerOptions, load, load_cubin};

const LANES: u32 = 32;

fn words(bytes: &[u8]) -> Vec<u32> {
    bytes.as_chunks::<4>().0.iter().map(|w| u32::from_le_bytes(*w)).collect()
}

fn squares(count: u32) -> Vec<u8> {
    (0..count).flat_map(|i| (i * i).to_le_bytes()).collect()
}

/// Output of `kernel`, with a constant of squares.
fn written(loaded: &Loaded, kernel: &str, table: Option<Vec<u8>>) -> Vec<u32> {
    let mut state = DeviceState::default();
    state.load(&loaded.module).unwrap();
    let constant = loaded.module.variable("squares").unwrap();
    state.memory.write(constant.address, &squares(16384)).unwrap();
    let out = state.memory.allocate("out", 4 * u64::from(LANES)).unwrap();
    let last = [Arg::Pointer(out), Arg::Bytes(7_u32.to_le_bytes().to_vec())];
    let args: Vec<Arg> = table.map(Arg::Bytes).into_iter().chain(last).collect();
    let kernel = loaded.kernel(kernel).unwrap().clone();
    let launch = Launch::new(kernel, Dim3::new(1, 1, 1), Dim3::new(LANES, 1, 1), 0, &args).unwrap();
    run(&mut state, &launch).unwrap();
    let mut bytes = [0; 4 * LANES as usize];
    state.memory.read(out, &mut bytes).unwrap();
    words(&bytes)
}

/// Each form of the module, with its name.
fn modules() -> Vec<(&'static str, Loaded)> {
    let cubin = |name, file: &[u8]| (name, load_cubin(name, file, LowerOptions::default()).unwrap());
    vec![
        ("PTX", load("large.ptx", include_str!("data/large.ptx"), LowerOptions::default()).unwrap()),
        cubin("sm_75", include_bytes!("data/large.cuda129.sm_75.cubin")),
        cubin("sm_90", include_bytes!("data/large.cuda129.sm_90.cubin")),
    ]
}

#[test]
fn large_parameters_are_passed() {
    let square = |i: u32| i * i;
    let value = |i| square(200 * i) + 3 * square(6600 + 40 * i) + square(6600 + 1499) + 7;
    for (name, loaded) in modules() {
        let sizes: Vec<_> = loaded.kernel("parameters").unwrap().params.iter().map(|p| p.bytes).collect();
        assert_eq!(sizes, [32400, 8, 4], "{name}");
        let got = written(&loaded, "parameters", Some(squares(8100)));
        assert_eq!(got, (0..LANES).map(value).collect::<Vec<_>>(), "{name}");
    }
}

#[test]
fn large_constants_are_read() {
    let square = |i: u32| i.wrapping_mul(i);
    let value =
        |i| square(i).wrapping_add(square(i + 12000).wrapping_mul(3)).wrapping_add(square(16383)).wrapping_add(7);
    for (name, loaded) in modules() {
        assert_eq!(written(&loaded, "constants", None), (0..LANES).map(value).collect::<Vec<_>>(), "{name}");
    }
}

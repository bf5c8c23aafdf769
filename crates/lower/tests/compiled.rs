//! Kernels as compilers emit them, whose results differed from the host's.

use crate::common;

use common::{MODES, Values, versions};
use exec::{Arg, DeviceState, Launch, run};
use isa::Dim3;
use lower::{LowerOptions, load};

const WIDE_DIVISION: &str = include_str!("data/widediv.ptx");

#[test]
fn division_of_128_bit_numbers() {
    let mut values = Values::new("widediv");
    let mut wide = || u128::from(values.next("u64")) << 64 | u128::from(values.next("u64"));
    let dividends: Vec<u128> = (0..64).map(|_| wide()).collect();
    let divisors: Vec<u128> = (0..64).map(|i| (wide() >> (2 * i)).max(1)).collect();
    for registers in MODES {
        let loaded = load("widediv.ptx", WIDE_DIVISION, LowerOptions { registers, ..LowerOptions::default() }).unwrap();
        let mut state = DeviceState::default();
        state.load(&loaded.module).unwrap();
        let mut place = |list: &[u128]| {
            let bytes: Vec<u8> = list.iter().flat_map(|x| x.to_le_bytes()).collect();
            let at = state.memory.allocate("numbers", bytes.len() as u64).unwrap();
            state.memory.write(at, &bytes).unwrap();
            Arg::Pointer(at)
        };
        let args = [place(&dividends), place(&divisors), place(&[0; 128])];
        let Arg::Pointer(out) = args[2] else { unreachable!() };
        let kernel = loaded.kernel("widediv").unwrap().clone();
        let launch = Launch::new(kernel, Dim3::new(2, 1, 1), Dim3::new(32, 1, 1), 0, &args).unwrap();
        run(&mut state, &launch).unwrap_or_else(|fault| panic!("{fault}"));
        let mut bytes = vec![0; 64 * 32];
        state.memory.read(out, &mut bytes).unwrap();
        let found: Vec<u128> = bytes.as_chunks().0.iter().map(|b| u128::from_le_bytes(*b)).collect();
        for (i, (a, b)) in dividends.iter().zip(&divisors).enumerate() {
            assert_eq!(found[2 * i..2 * i + 2], [a / b, a % b], "{a:#x} / {b:#x}, {registers:?}");
        }
    }
}

/// A barrier's number and count in one register, and `__constant__` variables read through their address.
#[test]
fn code_without_optimisation() {
    const PTX: &str = include_str!("data/unoptimised.ptx");
    const CUBINS: [(&str, &[u8]); 3] = [
        ("sm_70", include_bytes!("data/unoptimised.sm_70.cubin")),
        ("sm_86", include_bytes!("data/unoptimised.sm_86.cubin")),
        ("sm_90", include_bytes!("data/unoptimised.sm_90.cubin")),
    ];
    const TABLE: [u64; 4] = [10, 0x1_0000_0020, 30, 0x2_0000_0040];
    for (name, loaded) in versions("unoptimised", PTX, &CUBINS) {
        let mut state = DeviceState::default();
        state.load(&loaded.module).unwrap();
        let out = state.memory.allocate("out", 4 * 96).unwrap();
        let args = [Arg::Pointer(out), Arg::U32(3), Arg::U32(64)];
        let kernel = loaded.kernel("unoptimised").unwrap().clone();
        let launch = Launch::new(kernel, Dim3::new(1, 1, 1), Dim3::new(96, 1, 1), 0, &args).unwrap();
        run(&mut state, &launch).unwrap_or_else(|fault| panic!("{name}: {fault}"));
        let mut bytes = vec![0; 4 * 96];
        state.memory.read(out, &mut bytes).unwrap();
        for (t, found) in (0..).zip(bytes.as_chunks().0) {
            let got = if t < 32 { (63 - t) * 7 } else { 0 };
            let expected = got + (TABLE[t as usize % 4] >> (t % 32)) as u32;
            assert_eq!(u32::from_le_bytes(*found), expected, "{name}: thread {t}");
        }
    }
}

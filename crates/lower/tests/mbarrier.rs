//! `mbarrier`: PTX and machine code pass the same phases.

use exec::functional::run_observed;
use exec::{Arg, DeviceState, Launch};
use isa::Dim3;
use lower::{Loaded, LowerOptions, load, load_cubin};

const PTX: &str = include_str!("data/mbarrier.ptx");
const CUBINS: [&[u8]; 2] = [include_bytes!("data/mbarrier.sm_80.cubin"), include_bytes!("data/mbarrier.sm_86.cubin")];
const THREADS: usize = 64;

fn modules() -> Vec<Loaded> {
    let ptx = load("mbarrier.ptx", PTX, LowerOptions::default()).unwrap();
    assert!(ptx.problems().is_none(), "{:?}", ptx.problems());
    let cubin = |file| load_cubin("mbarrier", file, LowerOptions::default()).unwrap();
    std::iter::once(ptx).chain(CUBINS.map(cubin)).collect()
}

#[test]
fn two_warps_meet_in_every_phase() {
    let input: Vec<u32> = (0..2 * THREADS as u32).map(|i| i * i + 7).collect();
    for (number, loaded) in modules().iter().enumerate() {
        let mut state = DeviceState::default();
        let [from, out] = [8 * THREADS, 20 * THREADS].map(|n| state.memory.allocate("test", n as u64).unwrap());
        let bytes: Vec<u8> = input.iter().flat_map(|x| x.to_le_bytes()).collect();
        state.memory.write(from, &bytes).unwrap();
        let kernel = loaded.kernel("mbarriers").unwrap_or_else(|e| panic!("{e}")).clone();
        let args = [Arg::Pointer(from), Arg::Pointer(out)];
        let launch = Launch::new(kernel, Dim3::new(1, 1, 1), Dim3::new(THREADS as u32, 1, 1), 0, &args).unwrap();
        let mut instructions = 0;
        let observe = |_, out: &isa::DynInst| {
            instructions += 1;
            assert!(instructions < 10_000, "module {number}: a warp waits indefinitely at {:?}", out.pc);
        };
        run_observed(&mut state, &launch, observe).unwrap_or_else(|fault| panic!("module {number}: {fault}"));
        let mut bytes = vec![0; 20 * THREADS];
        state.memory.read(out, &mut bytes).unwrap();
        let found: Vec<u32> = bytes.as_chunks().0.iter().map(|b| u32::from_le_bytes(*b)).collect();
        for t in 0..THREADS {
            let other = t ^ 32;
            // The lanes of a warp arrive in order.
            let left = if t < 32 { 32 - t as u32 } else { 0 };
            let next = if t == 0 { 66 } else { 0 };
            let expected = [input[other], left, input[other], input[THREADS + other], next];
            assert_eq!([0, 1, 2, 3, 4].map(|k| found[k * THREADS + t]), expected, "module {number}, thread {t}");
        }
    }
}

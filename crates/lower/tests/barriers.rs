//! Hopper's barriers in shared memory: PTX and machine code of two compilers pass the same phases.
//! `data/sm_90/README.md` describes the files.

use exec::functional::run_observed;
use exec::{Arg, DeviceState, Launch};
use isa::{Dim3, Fault};
use lower::{Loaded, LowerOptions, load, load_cubin};

fn modules() -> Vec<(&'static str, Loaded)> {
    let ptx = load("barriers.ptx", include_str!("data/sm_90/barriers.ptx"), LowerOptions::default()).unwrap();
    assert!(ptx.problems().is_none(), "{:?}", ptx.problems());
    let cubin = |name, file: &[u8]| (name, load_cubin(name, file, LowerOptions::default()).unwrap());
    vec![
        ("PTX", ptx),
        cubin("ptxas 12.4", include_bytes!("data/sm_90/barriers.cuda124.sm_90.cubin")),
        cubin("ptxas 12.4 -O0", include_bytes!("data/sm_90/barriers.debug.cuda124.sm_90.cubin")),
        cubin("ptxas 13.0", include_bytes!("data/sm_90/barriers.cuda130.sm_90.cubin")),
    ]
}

/// Words of the output after a run of `kernel` by two CTAs, or one if it is to fail.
fn run(name: &str, loaded: &Loaded, kernel: &str, (ctas, threads): (u32, u32)) -> Result<Vec<u32>, Box<Fault>> {
    let kernel = loaded.kernel(kernel).unwrap_or_else(|e| panic!("{name}: {e}")).clone();
    let mut state = DeviceState::default();
    let [out, input] = [2048, 2048].map(|n| state.memory.allocate("test", n).unwrap());
    let bytes: Vec<u8> = (0..512_u32).flat_map(|i| (i * i + 7).to_le_bytes()).collect();
    state.memory.write(input, &bytes).unwrap();
    let args = [Arg::Pointer(out), Arg::Pointer(input)];
    let launch = Launch::new(kernel, Dim3::new(ctas, 1, 1), Dim3::new(threads, 1, 1), 0, &args).unwrap();
    let mut instructions = 0;
    let observe = |_, out: &isa::DynInst| {
        instructions += 1;
        assert!(instructions < 100_000, "{name}: a warp waits indefinitely at {:?}", out.pc);
    };
    run_observed(&mut state, &launch, observe)?;
    let mut bytes = vec![0; 2048];
    state.memory.read(out, &mut bytes).unwrap();
    Ok(bytes.as_chunks().0.iter().map(|b| u32::from_le_bytes(*b)).collect())
}

#[test]
fn phases_end_when_arrivals_and_bytes_have_come() {
    let tests = [0, 1, 0, 0, 1, 1, 1, 1];
    let pending = [5, 4, 2, 4, 3, 4, 2, 1, 1, (1 << 20) - 1, 1];
    for (name, loaded) in modules() {
        let found = run(name, &loaded, "states", (2, 32)).unwrap_or_else(|fault| panic!("{name}: {fault}"));
        assert_eq!(found[..8], tests, "{name}: phases that were complete");
        assert_eq!(found[8..19], pending, "{name}: pending arrivals before each");
        assert_eq!(found[19], 1, "{name}: a phase of the largest counts");
    }
}

#[test]
fn a_ring_of_buffers_has_no_races() {
    let row = |i: u32, lane: u32| (32 * i + lane).pow(2) + 7;
    for (name, loaded) in modules() {
        let found = run(name, &loaded, "ring", (2, 128)).unwrap_or_else(|fault| panic!("{name}: {fault}"));
        for t in 0..128 {
            let sum = (0..7).fold(0_u32, |sum, i| sum.wrapping_mul(3).wrapping_add(row(i, t % 32)));
            assert_eq!(found[t as usize], if t < 32 { 0 } else { sum }, "{name}: thread {t}");
        }
    }
}

#[test]
fn lanes_wait_for_lanes_of_their_warp() {
    for (name, loaded) in modules() {
        let found = run(name, &loaded, "lanes", (1, 64)).unwrap_or_else(|fault| panic!("{name}: {fault}"));
        assert!((0..64).eq(found[..64].iter().copied()), "{name}: {:?}", &found[..64]);
    }
}

#[test]
fn a_barrier_that_is_never_complete_is_a_deadlock() {
    for (name, loaded) in modules() {
        let fault = run(name, &loaded, "stuck", (1, 64)).unwrap_err();
        let address = if name == "PTX" { 0x10 } else { 0x410 };
        let lacks = "which lacks 2 arrivals and 48 bytes";
        let expected = format!(
            "deadlock: warp 1 waits for the even phase of the mbarrier at shared address {address:#x}, {lacks}"
        );
        assert_eq!(fault.what, expected, "{name}");
        assert!(fault.spot.text.contains("try_wait") || fault.spot.text.contains("TRYWAIT"), "{name}: {fault}");
    }
}

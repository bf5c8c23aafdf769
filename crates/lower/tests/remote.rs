//! Copies, stores, reductions and arrivals of a CTA in shared memory of others of its cluster, as PTX and as machine code
//! of two compilers, against the host. `crates/lab/tests/clusters.rs` runs the same in time.

mod expected;

use exec::{Arg, DeviceState, Launch, run, run_observed};
use expected::{INPUT, KERNELS, input, output, tensor};
use isa::Dim3;
use lower::{Loaded, LowerOptions, load, load_cubin};

fn modules() -> [(&'static str, Loaded); 4] {
    let ptx = ptx(|text| text);
    assert!(ptx.problems().is_none(), "{:?}", ptx.problems());
    let cubin = |name, file: &[u8]| (name, load_cubin(name, file, LowerOptions::default()).unwrap());
    [
        ("PTX", ptx),
        cubin("ptxas 12.9", include_bytes!("data/sm_90/remote.cuda129.sm_90.cubin")),
        cubin("ptxas 13.0", include_bytes!("data/sm_90/remote.cuda130.sm_90.cubin")),
        cubin("ptxas 12.9 -O0", include_bytes!("data/sm_90/remote.debug.cuda129.sm_90.cubin")),
    ]
}

/// The module of PTX with a change.
fn ptx(change: impl Fn(String) -> String) -> Loaded {
    load("remote.ptx", change(include_str!("data/sm_90/remote.ptx").into()), LowerOptions::default()).unwrap()
}

/// The output of `kernel` by `ctas` CTAs in clusters of `size`, if any.
fn launch(
    loaded: &Loaded,
    (kernel, threads, words): (&str, u32, usize),
    (size, ctas): (Option<u32>, u32),
    is_observed: bool,
) -> Result<Vec<u32>, String> {
    let mut state = DeviceState::default();
    let from = state.memory.allocate("input", 4 * INPUT as u64).unwrap();
    let bytes = 4 * words as u64 * u64::from(ctas);
    let out = state.memory.allocate("output", bytes).unwrap();
    let map = state.memory.allocate_aligned("map", 128, 64).unwrap();
    let words: Vec<u8> = (0..INPUT).flat_map(|i| input(i).to_le_bytes()).collect();
    state.memory.write(from, &words).unwrap();
    state.memory.write(out, &vec![0; bytes as usize]).unwrap();
    state.memory.write(map, &tensor(from).to_bytes()).unwrap();
    let args = [Arg::Pointer(out), Arg::Pointer(if kernel == "boxes" { map } else { from })];
    let kernel = loaded.kernel(kernel).map_err(|e| e.to_string())?.clone();
    let (grid, block) = (Dim3::new(ctas, 1, 1), Dim3::new(threads, 1, 1));
    let mut launch = Launch::new(kernel, grid, block, 0, &args).unwrap();
    launch.set_cluster(size.map(|size| Dim3::new(size, 1, 1))).map_err(|e| e.to_string())?;
    let ran = if is_observed { run_observed(&mut state, &launch, |_, _| ()) } else { run(&mut state, &launch) };
    ran.map_err(|fault| fault.to_string())?;
    let mut found = vec![0; bytes as usize];
    state.memory.read(out, &mut found).unwrap();
    Ok(found.as_chunks().0.iter().map(|word| u32::from_le_bytes(*word)).collect())
}

#[test]
fn data_and_arrivals_reach_every_cta_of_the_cluster() {
    for (name, loaded) in &modules() {
        for (kernel, threads, words, most) in KERNELS {
            for size in [None, Some(1), Some(2), Some(3), Some(8), Some(16)] {
                let (of, ctas) = (size.unwrap_or(1), 2 * size.unwrap_or(1));
                if of > most {
                    continue;
                }
                let expected = output(kernel, of as usize, ctas as usize);
                for is_observed in [false, true] {
                    let found = launch(loaded, (kernel, threads, words), (size, ctas), is_observed);
                    let found = found.unwrap_or_else(|e| panic!("{name}: {kernel} in clusters of {of}: {e}"));
                    let wrong = (0..found.len()).find(|&i| found[i] != expected[i]);
                    let wrong = wrong.map(|i| (i, found[i], expected[i]));
                    assert_eq!(wrong, None, "{name}: {kernel} in clusters of {size:?}, word, found, expected");
                }
            }
        }
    }
}

#[test]
fn receivers_outside_the_cluster_are_named() {
    let fault = |kernel, (from, to): (&str, &str)| {
        let loaded = ptx(|text| {
            assert!(text.contains(from), "{from}");
            text.replace(from, to)
        });
        let threads = if kernel == "boxes" { 128 } else { 64 };
        launch(&loaded, (kernel, threads, 512), (Some(2), 2), false).unwrap_err()
    };
    let mask = "shl.b32 %v1, 1, %size;";
    for kernel in ["blocks", "boxes"] {
        let found = fault(kernel, (mask, "mov.u32 %v1, 9;"));
        let expected = "multicast to the CTAs 0x0008 of a cluster of 2 CTAs: a bit for each receiver";
        assert!(found.starts_with(expected), "{kernel}: {found}");
        let none = fault(kernel, (mask, "mov.u32 %v1, 1;"));
        assert!(none.starts_with("multicast to the CTAs 0x0000 of"), "{kernel}: {none}");
    }
    let far = fault("blocks", ("mapa.shared::cluster.u32 %v6, %v6, %k;", "or.b32 %v6, %v6, 0x5000000;"));
    assert!(far.starts_with("the destination of a copy at 0x50004") && far.contains("outside the cluster"), "{far}");
    let barrier = fault("blocks", ("mapa.shared::cluster.u32 %v7, %bar, %k;", "or.b32 %v7, %bar, 0x5000000;"));
    assert!(barrier.contains("an `mbarrier` at 0x500") && barrier.contains("outside the cluster"), "{barrier}");
    let source =
        fault("blocks", ("add.u32 %v5, %sent, %v4;\n\tadd.u32", "mapa.shared::cluster.u32 %v5, %sent, 1;\n\tadd.u32"));
    assert!(
        source.starts_with("the source of a bulk copy in the shared memory of CTA 1 of the cluster: it"),
        "{source}"
    );
}

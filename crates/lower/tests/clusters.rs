//! Clusters of CTAs, and small instructions of Hopper, as PTX and as machine code of two compilers, against the host.

use exec::{Arg, DeviceState, Launch, LaunchError, run, run_observed};
use isa::Dim3;
use lower::{Loaded, LowerOptions, load, load_cubin};

macro_rules! modules {
    ($ptx:literal $(, $cubin:literal)*) => {
        [
            ("PTX", load($ptx, include_str!(concat!("data/sm_90/", $ptx, ".ptx")), LowerOptions::default()).unwrap()),
            $(($cubin, cubin(include_bytes!(concat!("data/sm_90/", $cubin, ".sm_90.cubin"))))),*
        ]
    };
}

fn cubin(data: &[u8]) -> Loaded {
    load_cubin("cubin", data, LowerOptions::default()).unwrap()
}

fn clusters() -> [(&'static str, Loaded); 4] {
    modules!("cluster", "cluster.cuda124", "cluster.cuda130", "cluster.debug.cuda124")
}

/// Shapes of clusters and grids of them.
const SHAPES: [([u32; 3], [u32; 3]); 9] = [
    ([1, 1, 1], [3, 1, 1]),
    ([2, 1, 1], [6, 1, 1]),
    ([4, 1, 1], [8, 1, 1]),
    ([8, 1, 1], [16, 1, 1]),
    ([16, 1, 1], [32, 1, 1]),
    ([1, 2, 1], [3, 4, 1]),
    ([2, 3, 1], [4, 9, 2]),
    ([3, 1, 2], [6, 2, 4]),
    ([2, 2, 2], [4, 2, 6]),
];

fn dim([x, y, z]: [u32; 3]) -> Dim3 {
    Dim3::new(x, y, z)
}

/// A launch of `kernel`, and the words that it leaves in `out`.
fn launched(
    loaded: &Loaded,
    kernel: &str,
    (cluster, grid, threads): (Option<Dim3>, Dim3, u32),
    words: usize,
) -> Result<Vec<u32>, String> {
    let mut state = DeviceState::default();
    state.load(&loaded.module).unwrap();
    let out = state.memory.allocate("out", words.max(1) as u64 * 4).unwrap();
    let kernel = loaded.kernel(kernel).unwrap().clone();
    let args = vec![Arg::Pointer(out); kernel.params.len()];
    let mut launch = Launch::new(kernel, grid, Dim3::new(threads, 1, 1), 0, &args).map_err(|e| e.to_string())?;
    launch.set_cluster(cluster).map_err(|e| e.to_string())?;
    run(&mut state, &launch).map_err(|fault| fault.to_string())?;
    let unseen = read(&state, out, words);
    // With an observer, the instructions are executed one by one.
    state.memory.write(out, &vec![0; words * 4]).unwrap();
    run_observed(&mut state, &launch, |_, _| ()).map_err(|fault| fault.to_string())?;
    assert_eq!(unseen, read(&state, out, words), "observed and not");
    Ok(unseen)
}

fn read(state: &DeviceState, at: u64, words: usize) -> Vec<u32> {
    let mut bytes = vec![0; words * 4];
    state.memory.read(at, &mut bytes).unwrap();
    bytes.as_chunks::<4>().0.iter().map(|word| u32::from_le_bytes(*word)).collect()
}

/// Checks skip accesses of clusters, and say so.
#[test]
fn accesses_of_clusters_are_not_checked() {
    for (name, loaded) in &clusters() {
        let mut state = DeviceState::default();
        state.check(exec::OutOfBounds::Warn, true);
        state.load(&loaded.module).unwrap();
        let out = state.memory.allocate("out", 4 * 64 * 8 * 4).unwrap();
        let kernel = loaded.kernel("exchange").unwrap().clone();
        let mut launch = Launch::new(kernel, dim([4, 1, 1]), dim([64, 1, 1]), 0, &[Arg::Pointer(out)]).unwrap();
        launch.set_cluster(Some(dim([2, 1, 1]))).unwrap();
        run(&mut state, &launch).unwrap();
        check_exchange(name, 2, &read(&state, out, 4 * 64 * 8));
        assert_eq!(state.findings().unwrap().found().len(), 0, "{name}");
        assert_eq!(state.remarks(), ["kernel `exchange` is launched in clusters: its memory accesses are not checked"]);
    }
}

/// Position of point `number` in a box.
fn place([x, y, _]: [u32; 3], number: u32) -> [u32; 3] {
    [number % x, number / x % y, number / x / y]
}

#[test]
fn ctas_read_their_place_in_the_cluster_and_the_clusters() {
    for (name, loaded) in &clusters() {
        for (cluster, grid) in SHAPES {
            let ctas = grid.iter().product::<u32>();
            let given = (Some(dim(cluster)), dim(grid), 32);
            let found = launched(loaded, "registers", given, 16 * ctas as usize).unwrap();
            for (number, row) in (0..ctas).zip(found.chunks(16)) {
                let at = place(grid, number);
                let [within, of, all] = [0, 1, 2].map(|how| {
                    std::array::from_fn::<u32, 3, _>(|k| match how {
                        0 => at[k] % cluster[k],
                        1 => at[k] / cluster[k],
                        _ => grid[k] / cluster[k],
                    })
                });
                let rank = within[0] + cluster[0] * (within[1] + cluster[1] * within[2]);
                let size = cluster.iter().product::<u32>();
                let expected = [
                    [within[0], within[1], within[2], rank],
                    [cluster[0], cluster[1], cluster[2], size],
                    [of[0], of[1], of[2], 1],
                    [all[0], all[1], all[2], number],
                ];
                assert_eq!(row, expected.as_flattened(), "{name}: CTA {at:?} of {grid:?} in clusters of {cluster:?}");
            }
        }
    }
}

#[test]
fn ctas_reach_each_others_shared_memory() {
    for (name, loaded) in &clusters() {
        for size in [1, 2, 3, 4, 8, 16] {
            let ctas = 2 * size;
            let shape = (Some(Dim3::new(size, 1, 1)), Dim3::new(ctas, 1, 1), 64);
            let found = launched(loaded, "exchange", shape, (ctas * 64 * 8) as usize).unwrap();
            check_exchange(name, size, &found);
        }
    }
}

/// Compares what kernel `exchange` left with the host's values.
fn check_exchange(name: &str, size: u32, found: &[u32]) {
    let sent = |from: u32, to: u32, thread: u32| 1000 * from + 100_000 * to + thread;
    let sum = |of: &dyn Fn(u32) -> u32| (0..size).fold(0_u32, |sum, k| sum.wrapping_mul(31).wrapping_add(of(k)));
    for (cluster, rows) in found.chunks(size as usize * 64 * 8).enumerate() {
        let mut drawn = Vec::new();
        for (rank, rows) in (0..size).zip(rows.chunks(64 * 8)) {
            for (thread, row) in (0..64).zip(rows.chunks(8)) {
                let ranks = (0..size).fold(0_u32, |sum, k| {
                    let two = [k, k, 1].iter().fold(sum, |sum, &x| sum.wrapping_mul(31).wrapping_add(x));
                    two + if k == rank { 2 } else { 0 }
                });
                let expected = [
                    sum(&|k| sent(k, rank, thread)),
                    sum(&|k| sent(rank, k, thread)),
                    sum(&|k| sent(rank, k, thread) & 0xffff),
                    ranks,
                ];
                let context = format!("{name}: thread {thread} of CTA {rank} of {size} of cluster {cluster}");
                assert_eq!(row[..4], expected, "{context}");
                assert_eq!(row[5..8], [size * 64, rank, rank], "{context}");
                drawn.push(row[4]);
            }
        }
        drawn.sort_unstable();
        assert_eq!(drawn, (0..size * 64).collect::<Vec<_>>(), "{name}: each number is drawn once");
    }
}

#[test]
fn threads_that_exit_and_lanes_that_diverge_complete_the_barrier() {
    for (name, loaded) in &clusters() {
        for size in [2, 4, 8] {
            let shape = (Some(Dim3::new(size, 1, 1)), Dim3::new(2 * size, 1, 1), 96);
            let found = launched(loaded, "leave", shape, (2 * size * 96) as usize).unwrap();
            for (at, &word) in found.iter().enumerate() {
                let (cta, thread) = (at / 96 % size as usize, at % 96);
                let expected = match (cta % 2, thread % 4) {
                    (1, _) | (_, 1 | 3) => 1,
                    (_, 0) => 2,
                    _ => 3,
                };
                assert_eq!(word, expected, "{name}: thread {thread} of CTA {cta} of {size}");
            }
        }
    }
}

#[test]
fn a_barrier_that_cannot_complete_is_reported() {
    for (name, loaded) in &clusters() {
        let shape = (Some(Dim3::new(2, 1, 1)), Dim3::new(2, 1, 1), 32);
        let fault = launched(loaded, "stuck", shape, 0).unwrap_err();
        let expected = "deadlock: warp 0 of CTA 0 of the cluster waits at barrier 0 for 64 threads (32 arrived); \
                        warp 0 of CTA 1 of the cluster waits for the barrier of cluster 0, as CTA 1 of 2: 32 threads \
                        have arrived, 32 have not";
        assert!(fault.starts_with(expected), "{name}: {fault}");
    }
}

#[test]
fn launches_in_impossible_clusters_are_refused() {
    let [(_, loaded), ..] = clusters();
    let kernel = loaded.kernel("registers").unwrap();
    let refusal = |cluster: [u32; 3], grid: [u32; 3]| {
        let args = [Arg::Pointer(0)];
        let mut launch = Launch::new(kernel.clone(), dim(grid), dim([32, 1, 1]), 0, &args).unwrap();
        let refused: LaunchError = launch.set_cluster(Some(dim(cluster))).unwrap_err();
        refused.to_string()
    };
    for (cluster, grid, why) in [
        ([0, 1, 1], [4, 1, 1], "a cluster of (0,1,1) has no CTAs"),
        ([17, 1, 1], [17, 1, 1], "a cluster of (17,1,1) has 17 CTAs, of at most 16"),
        ([4, 4, 2], [4, 4, 2], "a cluster of (4,4,2) has 32 CTAs, of at most 16"),
        ([2, 1, 1], [3, 1, 1], "a grid of (3,1,1) is not a multiple of the cluster of (2,1,1)"),
        ([1, 2, 1], [4, 1, 1], "a grid of (4,1,1) is not a multiple of the cluster of (1,2,1)"),
    ] {
        assert_eq!(refusal(cluster, grid), format!("kernel `registers`: {why}"));
    }
}

#[test]
fn a_kernel_may_require_its_clusters() {
    let text = include_str!("data/sm_90/cluster.ptx").replace(".explicitcluster", ".reqnctapercluster 2, 1, 1");
    let loaded = load("cluster", &text, LowerOptions::default()).unwrap();
    let found = launched(&loaded, "exchange", (None, Dim3::new(4, 1, 1), 64), 4 * 64 * 8).unwrap();
    check_exchange("required", 2, &found);
    let other = launched(&loaded, "exchange", (Some(Dim3::new(4, 1, 1)), Dim3::new(4, 1, 1), 64), 0).unwrap_err();
    assert!(other.contains("clusters of (4,1,1), but it was compiled for clusters of (2,1,1) only"), "{other}");
    let odd = launched(&loaded, "exchange", (None, Dim3::new(3, 1, 1), 64), 0).unwrap_err();
    assert!(odd.contains("a grid of (3,1,1) is not a multiple"), "{odd}");
}

/// Without clusters each CTA is a cluster of its own.
#[test]
fn a_launch_without_clusters_has_clusters_of_one_cta() {
    for (name, loaded) in &clusters() {
        let found = launched(loaded, "exchange", (None, Dim3::new(3, 1, 1), 64), 3 * 64 * 8).unwrap();
        check_exchange(name, 1, &found);
        let rows = launched(loaded, "registers", (None, Dim3::new(3, 2, 1), 32), 6 * 16).unwrap();
        assert_eq!(rows[5 * 16..], [0, 0, 0, 0, 1, 1, 1, 1, 2, 1, 0, 0, 3, 2, 1, 5], "{name}");
    }
}

#[test]
fn an_address_outside_the_cluster_faults() {
    let text = include_str!("data/sm_90/cluster.ptx").replace("mov.u32 %r10, 0;\nsend:", "mov.u32 %r10, 77;\nsend:");
    let loaded = load("cluster", &text, LowerOptions::default()).unwrap();
    let fault = launched(&loaded, "exchange", (Some(Dim3::new(2, 1, 1)), Dim3::new(2, 1, 1), 64), 64 * 16).unwrap_err();
    assert!(fault.starts_with("store to shared address 0x4e000000 (4 bytes) outside the CTA's"), "{fault}");
}

#[test]
fn small_instructions() {
    for (name, loaded) in &modules!("small", "small.cuda124", "small.cuda130") {
        let found = launched(loaded, "small", (None, Dim3::new(1, 1, 1), 128), 128).unwrap();
        for (thread, &word) in found.iter().enumerate() {
            let elected = thread % 32 == 0;
            assert_eq!(word, if elected { 100 } else { 7 }, "{name}: thread {thread}");
        }
    }
}

/// Warps use the registers that they request, more than their kernel has at launch.
#[test]
fn requested_registers() {
    const WORDS: usize = 140;
    for (name, loaded) in &modules!("registers", "registers.cuda124", "registers.cuda130") {
        if *name != "PTX" {
            assert_eq!(loaded.kernel("registers").unwrap().registers.per_thread, 128, "{name}: at launch");
        }
        let found = launched(loaded, "registers", (None, Dim3::new(1, 1, 1), 512), 384 * WORDS).unwrap();
        for (at, &word) in found.iter().enumerate() {
            let reversed = at / WORDS * WORDS + WORDS - 1 - at % WORDS;
            assert_eq!(word, reversed as u32, "{name}: word {at}");
        }
    }
}

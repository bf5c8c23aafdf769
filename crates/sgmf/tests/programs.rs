//! Random kernels, compiled, placed and routed, leave the memory that the SIMT run leaves, whatever the entries, the
//! placement and the latencies are. `PROPTEST_CASES=20000` makes a long run of it.

use crate::support::program::{THREADS, WORDS, ptx};
use crate::support::{Bench, config, mapping};
use dataflow::dataflow;
use dataflow::fabric::{Fabric, FabricSpec};
use dataflow::map::{Options, map};
use dataflow::mapping::Mapped;
use exec::{DeviceState, GpuFacts, Kernel, Launch};
use isa::Dim3;
use lower::LowerOptions;
use proptest::prelude::*;
use sgmf::{SgmfConfig, SgmfKernel};
use std::sync::Arc;

/// Number of cases: `cases`, or what the environment asks for.
fn cases(cases: u32) -> ProptestConfig {
    let asked = std::env::var("PROPTEST_CASES").ok().and_then(|n| n.parse().ok());
    ProptestConfig { cases: asked.unwrap_or(cases), ..ProptestConfig::default() }
}

/// Words of all arrays: those of the threads of three CTAs, and one for sums.
const ALL: usize = (3 * WORDS * THREADS + 1) as usize;

fn kernel(text: &str) -> Arc<Kernel> {
    let loaded = lower::load("random.ptx", text, LowerOptions::default()).unwrap_or_else(|e| panic!("{e}\n{text}"));
    loaded.kernel("k").expect("it has one").clone()
}

fn launch(kernel: &Arc<Kernel>, ctas: u32, threads: u32, base: u64) -> Launch {
    let args = [base.to_le_bytes().to_vec(), 12_345_u32.to_le_bytes().to_vec()].map(exec::Arg::Bytes);
    Launch::new(kernel.clone(), Dim3::new(ctas, 1, 1), Dim3::new(threads, 1, 1), 0, &args).expect("two parameters")
}

/// The memory after the SIMT run, whose arrays are at `base`.
fn expected(kernel: &Arc<Kernel>, [ctas, threads]: [u32; 2], words: &[u32], base: u64) -> Vec<u32> {
    let mut state = DeviceState::new(1 << 24, GpuFacts::default());
    assert_eq!(state.memory.allocate("array", 4 * words.len() as u64).expect("room"), base);
    let bytes: Vec<u8> = words.iter().flat_map(|w| w.to_le_bytes()).collect();
    state.memory.write(base, &bytes).expect("there");
    exec::run(&mut state, &launch(kernel, ctas, threads, base)).expect("it runs");
    let mut bytes = vec![0; 4 * words.len()];
    state.memory.read(base, &mut bytes).expect("there");
    bytes.chunks_exact(4).map(|b| u32::from_le_bytes(b.try_into().expect("4 bytes"))).collect()
}

/// What differs between runs of one kernel on fabrics.
#[derive(Clone, Copy, Debug)]
struct Setting {
    entries: u32,
    seed: u64,
    latency: u32,
    shape: [u32; 2],
    skip_masked: bool,
    through: bool,
}

fn settings() -> impl Strategy<Value = Setting> {
    let shape = (1_u32..=3, 1_u32..=THREADS);
    (1_u32..=64, any::<u64>(), 1_u32..=9, shape, any::<bool>(), any::<bool>()).prop_map(
        |(entries, seed, latency, (ctas, threads), skip_masked, through)| Setting {
            entries,
            seed,
            latency,
            shape: [ctas, threads],
            skip_masked,
            through,
        },
    )
}

/// Runs `mapped` and compares the memory; a deadlock is a failure.
fn check(text: &str, kernel: &Arc<Kernel>, mapped: &Mapped, setting: Setting) -> Result<(), TestCaseError> {
    let Setting { entries, seed, latency, shape: [ctas, threads], skip_masked, through } = setting;
    let write = if through { sgmf::L1Write::Through } else { sgmf::L1Write::Back };
    let mut bench = Bench::new(SgmfConfig { write, skip_masked, l1_kib: 2, mshrs: 4, ..config(entries) });
    bench.timing.classes = [latency; isa::OpClass::COUNT];
    bench.delay = Box::new(move |_, n| 1 + (seed.wrapping_mul(2 * n + 1) >> 13) % 150);
    let words: Vec<u32> = (0..ALL as u32).map(|i| i.wrapping_mul(seed as u32 | 1).rotate_left(i % 32)).collect();
    let base = bench.array(&words);
    let live = launch(kernel, ctas, threads, base);
    let made = SgmfKernel::of_graph(mapped, live.shape(), live.params(), &bench.config, &bench.timing);
    let made = made.unwrap_or_else(|e| panic!("{e}\n{text}"));
    if let Err(lines) = bench.run(made, ctas) {
        return Err(TestCaseError::fail(format!("deadlock:\n{}\n{text}", lines.join("\n"))));
    }
    let expected = expected(kernel, setting.shape, &words, base);
    prop_assert_eq!(bench.words(base, ALL), expected, "{}", text);
    Ok(())
}

proptest! {
    #![proptest_config(cases(120))]

    /// Each node on a unit of its own, with links of random length.
    #[test]
    fn graphs_compute_what_the_kernel_says(genes in prop::collection::vec(any::<u32>(), 1..60), setting in settings()) {
        let text = ptx(&genes);
        let kernel = kernel(&text);
        let graphs = dataflow(&kernel).unwrap_or_else(|refusals| panic!("{refusals:?}\n{text}"));
        let links = |from: dataflow::graph::NodeId, to: dataflow::graph::NodeId| {
            (u64::from(from.0 + 3 * to.0) ^ setting.seed) as usize % 4
        };
        let mappings = graphs.regions.iter().map(|region| mapping(region.clone(), links)).collect();
        check(&text, &kernel, &Mapped { dataflow: graphs, mappings }, setting)?;
    }
}

proptest! {
    #![proptest_config(cases(24))]

    /// On the paper's fabric and on smaller ones, where regions are cut.
    #[test]
    fn mapped_kernels_compute_what_the_kernel_says(
        genes in prop::collection::vec(any::<u32>(), 1..30),
        setting in settings(),
        (rows, columns) in (6_u32..=7, 10_u32..=18),
    ) {
        let text = ptx(&genes);
        let kernel = kernel(&text);
        let graphs = dataflow(&kernel).unwrap_or_else(|refusals| panic!("{refusals:?}\n{text}"));
        let spec = FabricSpec { rows, columns, int_dividers: 2, fp_dividers: 2, roots: 2, ..FabricSpec::DEFAULT };
        let fabric = Fabric::new(spec).expect("a fabric");
        let latency = move |_: &dataflow::graph::Node| setting.latency;
        let options = Options { seed: setting.seed, latency: &latency, ..Options::default() };
        match map(&graphs, &fabric, &options) {
            Ok(compiled) => check(&text, &kernel, &compiled.mapped, setting)?,
            Err(failure) => prop_assert!(!failure.to_string().is_empty()),
        }
    }
}

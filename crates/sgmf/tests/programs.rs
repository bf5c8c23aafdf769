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
use sgmf::{EpochGate, L1Write, SgmfConfig, SgmfKernel};
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

/// Settings that vary between runs of a kernel.
#[derive(Clone, Copy, Debug)]
struct Setting {
    entries: u32,
    seed: u64,
    latency: u32,
    shape: [u32; 2],
    skip_masked: bool,
    through: bool,
    exit: bool,
    copy_block: u32,
}

fn settings() -> impl Strategy<Value = Setting> {
    let shape = (1_u32..=3, 1_u32..=THREADS);
    let options = (any::<bool>(), any::<bool>(), any::<bool>(), 1_u32..=20);
    (1_u32..=64, any::<u64>(), 1_u32..=9, shape, options).prop_map(
        |(entries, seed, latency, (ctas, threads), (skip_masked, through, exit, copy_block))| Setting {
            entries,
            seed,
            latency,
            shape: [ctas, threads],
            skip_masked,
            through,
            exit,
            copy_block,
        },
    )
}

/// Runs `mapped` and compares the memory; a deadlock is a failure.
fn check(text: &str, kernel: &Arc<Kernel>, mapped: &Mapped, setting: Setting) -> Result<(), TestCaseError> {
    let Setting { entries, seed, latency, shape: [ctas, threads], skip_masked, through, exit, copy_block } = setting;
    let write = if through { L1Write::Through } else { L1Write::Back };
    let epoch_gate = if exit { EpochGate::Exit } else { EpochGate::Entry };
    let options = SgmfConfig { write, skip_masked, epoch_gate, copy_block, ..config(entries) };
    let mut bench = Bench::new(SgmfConfig { l1_kib: 2, mshrs: 4, ..options });
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
        (rows, columns, copies) in (6_u32..=7, 10_u32..=18, 0_u32..=3),
    ) {
        let text = ptx(&genes);
        let kernel = kernel(&text);
        let graphs = dataflow(&kernel).unwrap_or_else(|refusals| panic!("{refusals:?}\n{text}"));
        let spec = FabricSpec { rows, columns, int_dividers: 2, fp_dividers: 2, roots: 2, ..FabricSpec::DEFAULT };
        let fabric = Fabric::new(spec).expect("a fabric");
        let latency = move |_: &dataflow::graph::Node| setting.latency;
        let options = Options { seed: setting.seed, latency: &latency, copies, ..Options::default() };
        match map(&graphs, &fabric, &options) {
            Ok(compiled) => check(&text, &kernel, &compiled.mapped, setting)?,
            Err(failure) => prop_assert!(!failure.to_string().is_empty()),
        }
    }
}

/// Integer operations with constants, each of which a pass may make cheaper, and with equal operands.
#[test]
fn operations_with_constants_keep_their_values() {
    let (mut body, mut slot) = (String::new(), 0);
    let mut store = |body: &mut String, register: &str| {
        *body += &format!("    st.global.u32 [%rd3+{}], {register};\n", 4 * 8 * slot);
        slot += 1;
    };
    for op in ["add.u32", "sub.u32", "mul.lo.u32", "and.b32", "or.b32", "xor.b32", "min.u32", "max.s32"] {
        body += &format!("    {op} %r2, %r1, %r1;\n");
        store(&mut body, "%r2");
    }
    let words = [0_u32, 1, 2, 7, 8, 31, 32, 33, 1 << 31, u32::MAX];
    let of_words =
        "add.u32 sub.u32 mul.lo.u32 and.b32 or.b32 xor.b32 div.u32 rem.u32 div.s32 rem.s32 shl.b32 shr.u32 shr.s32";
    for (op, constant) in of_words.split(' ').flat_map(|op| words.map(|constant| (op, constant))) {
        body += &format!("    {op} %r2, %r1, {constant};\n    {op} %r3, %r2, {constant};\n");
        store(&mut body, "%r2");
        store(&mut body, "%r3");
    }
    let pairs = [0_u64, 1, 16, 1 << 40, u64::MAX];
    let of_pairs = "add.u64 sub.u64 mul.lo.u64 and.b64 div.u64 rem.u64";
    for (op, constant) in of_pairs.split(' ').flat_map(|op| pairs.map(|constant| (op, constant))) {
        body +=
            &format!("    {op} %rd5, %rd4, {constant};\n    mov.b64 {{%r2, %r3}}, %rd5;\n    xor.b32 %r2, %r2, %r3;\n");
        store(&mut body, "%r2");
    }
    for (op, constant) in
        ["mul.lo.u16", "div.u16", "rem.u16", "add.u16"].into_iter().flat_map(|op| [1, 8].map(|c| (op, c)))
    {
        body += &format!("    {op} %h2, %h1, {constant};\n    cvt.u32.u16 %r2, %h2;\n");
        store(&mut body, "%r2");
    }
    let text = format!(
        ".version 7.8\n.target sm_80\n.address_size 64\n.visible .entry k(.param .u64 p, .param .u32 n)\n{{\n\
         .reg .b16 %h<4>; .reg .b32 %r<8>; .reg .b64 %rd<8>;\n\
         ld.param.u64 %rd1, [p];\nmov.u32 %r1, %tid.x;\nmul.wide.u32 %rd2, %r1, 4;\nadd.s64 %rd3, %rd1, %rd2;\n\
         ld.global.u32 %r1, [%rd3];\nld.global.u32 %r2, [%rd3+32];\nmov.b64 %rd4, {{%r1, %r2}};\n\
         cvt.u16.u32 %h1, %r1;\n{body}ret;\n}}\n"
    );
    let kernel = kernel(&text);
    let graphs = dataflow(&kernel).expect("it maps");
    let mappings = graphs.regions.iter().map(|region| mapping(region.clone(), |_, _| 1)).collect();
    let mapped = Mapped { dataflow: graphs, mappings };
    for seed in 1..4 {
        let (latency, shape) = (2, [1, 8]);
        let (skip_masked, through, exit, copy_block) = (false, false, false, 1);
        let setting = Setting { entries: 16, seed, latency, shape, skip_masked, through, exit, copy_block };
        check(&text, &kernel, &mapped, setting).unwrap();
    }
}

//! No key of a GPU description is dead: another value of each changes some figure of some small run, or is refused.
//!
//! The runs: the kernels of [`crate::settings`], of every memory behaviour, one of every operation class and one with
//! traffic of every kind, as PTX; a trace with every class of machine code. The keys of each description that is tried
//! are those that it gives.

use crate::settings::{Figures, behaviours, figures};
use config::schema::{self, Key, ValueKind};
use config::{GpuConfig, Raw};
use isa::MatrixType;
use lab::{Job, Setup, SimulatedDevice, Unattended};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use toml::Value;
use workloads::{Device, LaunchRequest, ModuleCode, ModuleSource, ThreadRegisters};

/// Settings of both runs that are compared, so that a key has something to say: of keys that begin so.
const FOR: &[(&str, &[&str])] = &[
    ("sm.issue.two_level_active_warps", &["sm.issue.scheduler=two_level"]),
    ("launch.max_concurrent_kernels", &["launch.kernel_latency_cycles=0"]),
    ("sm.issue.dual_issue_needs_different_units", &["sm.issue.width=2"]),
];

/// Keys that change no figure of these runs, each with the reason.
///
/// Caches have the same keys, so that some of them have less to say in a cache that only reads.
const ELSEWHERE: &[(&str, &str)] = &[
    ("launch.max_concurrent_kernels", "kernels of a trace and of a program that are in several streams"),
    (
        "sm.shared_allocation_unit",
        "shared memory limits no kernel here (`the_shared_memory_of_the_system_counts` in `sm`)",
    ),
    ("sm.trace_generic_spaces", "the trace has no generic access (`generic_addresses_belong_to_spaces_…` in `trace`)"),
    ("sm.frontend.icache.index", "code of these kernels is in lines that follow each other"),
    ("sm.frontend.icache.mshr_entries", "warps of a kernel wait for the same line"),
    ("sm.frontend.icache.miss_queue", "as above"),
    ("sm.ptx_timing.texture.unit", "textures of PTX are accesses to memory"),
    ("sm.texture_cache.allocate", "few texels are read here"),
    ("sm.texture_cache.index", "as above"),
    ("sm.texture_cache.miss_queue", "as above"),
    ("sm.texture_cache.mshr_merges", "as above"),
    ("sm.texture_cache.replacement", "as above"),
    ("sm.texture_cache.sets", "as above"),
    ("sm.units.uniform.dispatch_latches", "there are few instructions for the uniform datapath here"),
    ("interconnect.output_buffer_packets", "outputs are full only under more traffic than this"),
    ("sm.constant_cache.miss_queue", "one warp misses at a time"),
];

/// Keys that none of the descriptions has.
const NOT_GIVEN: &[(&str, &str)] = &[
    ("sms_per_gpc", "descriptions from sm_90 on have it (`clusters_that_never_fit_are_refused`)"),
    ("launch.first_cluster", "what repeats of a comparison change by chance (`any_cluster_can_be_the_first` in `gpu`)"),
    ("launch.kernel_latency_ns", "in place of launch.kernel_latency_cycles, which is tried"),
    ("launch.profiled_cycles", "`--profiled-as` (`kernels_run_as_under_the_profiler` in `cli`)"),
    ("launch.profiler", "as above"),
    ("sm.issue.stall_counts", "these programs have no control bits (`stall_counts` in `sm`)"),
    ("sm.dependence.cross_cycles", "Accel-Sim's descriptions have none (`each_pair_has_its_distance` in `sm`)"),
    ("sm.dependence.to_dp_cycles", "as above"),
    ("sm.dependence.to_sfu_cycles", "as above"),
    ("sm.dependence.to_half_cycles", "as above"),
    ("sm.dependence.to_matrix_cycles", "as above"),
    ("sm.dependence.to_memory_cycles", "as above"),
    ("sm.dependence.to_guard_cycles", "as above"),
    ("sm.dependence.dp_to_int_cycles", "as above"),
    ("sm.dependence.dp_to_sp_cycles", "as above"),
    ("sm.dependence.dp_to_guard_cycles", "as above"),
    ("sm.instruction_caches.constant_hold_cycles", "front ends of sub-cores (`sub_core_fetch` in `sm`)"),
    ("sm.instruction_caches.constant_line_bytes", "as above"),
    (
        "sm.instruction_caches.constant_load_sets",
        "loads of machine code (`constant_loads_look_up_a_cache` in `designs`)",
    ),
    ("sm.instruction_caches.constant_load_ways", "as above"),
    ("sm.instruction_caches.constant_sets", "front ends of sub-cores (`sub_core_fetch` in `sm`)"),
    ("sm.instruction_caches.constant_ways", "as above"),
    ("sm.instruction_caches.from_l1_cycles", "as above"),
    ("sm.instruction_caches.l0_line_bytes", "as above"),
    ("sm.instruction_caches.l0_sets", "as above"),
    ("sm.instruction_caches.l0_ways", "as above"),
    ("sm.instruction_caches.l1_line_bytes", "as above"),
    ("sm.instruction_caches.l1_sets", "as above"),
    ("sm.instruction_caches.l1_ways", "as above"),
    ("sm.instruction_caches.perfect", "as above"),
    ("sm.instruction_caches.perfect_constants", "as above"),
    ("sm.instruction_caches.stream_buffer_lines", "as above"),
    ("sm.instruction_caches.taken_branch_cycles", "as above"),
    ("sm.instruction_caches.to_l1_cycles", "as above"),
    ("sm.memory_queues.accesses", "memory stages of sub-cores (`each_key_of_the_queues_counts` in `designs`)"),
    ("sm.memory_queues.address_cycles", "as above"),
    ("sm.memory_queues.gather_cycles", "as above"),
    ("sm.memory_queues.register_cycles", "as above"),
    ("sm.memory_queues.shared_cycles", "as above"),
    ("sm.memory_queues.unit_cycles", "as above"),
    (
        "sm.operation_latencies.constant_load_cycles",
        "designs by control bits (`operations_have_latencies_of_their_own` in `designs`)",
    ),
    ("sm.operation_latencies.indexed_constant_load_cycles", "as above"),
    ("sm.operation_latencies.special_register_cycles", "as above"),
    ("sm.operation_latencies.uniform_move_cycles", "as above"),
    ("sm.operation_latencies.vote_cycles", "as above"),
    ("sm.operation_latencies.word_to_float_cycles", "as above"),
    ("sm.matrix_groups.multiply_adds_per_cycle", "programs for Hopper (`each_key_of_matrix_groups_counts` in `sm`)"),
    ("sm.matrix_groups.shared_bytes_per_cycle", "as above"),
    ("sm.matrix_groups.least_cycles", "as above"),
    ("sm.matrix_groups.latency_cycles", "as above"),
    ("sm.matrix_groups.a_in_registers_saves_cycles", "as above"),
    ("sm.matrix_groups.queue_entries", "as above"),
    ("sm.copy_engine.start_cycles", "transfers of programs for Hopper (`each_key_of_the_copy_engine_counts` in `sm`)"),
    ("sm.copy_engine.completion_cycles", "as above"),
    ("sm.copy_engine.tensor_load_cycles", "as above"),
    ("sm.copy_engine.rows_per_cycle", "as above"),
    ("sm.copy_engine.tensor_maps", "as above"),
    ("sm.copy_engine.load_bytes_per_cycle", "as above"),
    ("sm.copy_engine.store_bytes_per_cycle", "as above"),
    ("sm.copy_engine.reduction_bytes_per_cycle", "as above"),
    ("sm.cluster_port.latency_cycles", "accesses to other CTAs (`remote_accesses_take_the_time_of_the_network` here)"),
    ("sm.cluster_port.bytes_per_cycle", "as above"),
    ("gpc_cache.sets", "cores that fetch code through it (`a_gpc_has_the_lines_of_its_kernel` in `mem`)"),
    ("launch.keeps_code", "as above (`launches_keep_and_fetch_code_where_the_description_says_so` in `mem`)"),
    ("launch.prefetched_code_bytes", "as above"),
    ("launch.prefetches_parameters", "as above"),
    ("gpc_cache.ways", "as above"),
    ("gpc_cache.line_bytes", "as above"),
    ("gpc_cache.latency_cycles", "as above"),
    ("gpc_cache.bytes_per_cycle", "as above"),
    ("board.memory_mib", "what programs under `exec` see and may allocate"),
    ("board.link_mb_per_s", "copies between host and device, in the timeline of a program"),
    ("board.link_latency_us", "as above"),
];

/// Operations of PTX by class: text with `D` for a register that it writes and `S` for one that it reads.
const PTX: &[&str] = &[
    "prefetch.global.L1 [%from];",
    "selp.b32 %rD, %rS, %rS, %p;",
    "add.u32 %rD, %rS, %rS;",
    "popc.b32 %rD, %rS;",
    "min.s32 %rD, %rS, 9;",
    "mul.lo.u32 %rD, %rS, %rS;",
    "mad.lo.u32 %rD, %rS, %rS, %rS;",
    "div.u32 %rD, %rS, 3;",
    "shfl.sync.down.b32 %rD, %rS, 1, 31, -1;",
    "match.any.sync.b32 %rD, %rS, -1;",
    "redux.sync.add.u32 %rD, %rS, -1;",
    "cvt.rn.f32.u32 %fD, %rS;\ncvt.rzi.u32.f32 %rD, %fD;",
    "cvt.f64.f32 %dD, %fS;\ncvt.rn.f32.f64 %fD, %dD;",
    "cvt.u64.u32 %lD, %rS;\ncvt.u32.u64 %rD, %lD;",
    "fma.rn.f16x2 %rD, %rS, %rS, %rS;",
    "add.f32 %fD, %fS, %fS;",
    "setp.lt.f32 %qD, %fS, %fS;\nselp.f32 %fD, %fS, %fS, %qD;",
    "min.f32 %fD, %fS, %fS;",
    "mul.f32 %fD, %fS, %fS;",
    "fma.rn.f32 %fD, %fS, %fS, %fS;",
    "div.rn.f32 %fD, %fS, 0f40400000;",
    "add.f64 %dD, %dS, %dS;",
    "min.f64 %dD, %dS, %dS;",
    "mul.f64 %dD, %dS, %dS;",
    "fma.rn.f64 %dD, %dS, %dS, %dS;",
    "div.rn.f64 %dD, %dS, %dS;",
    "sqrt.approx.f32 %fD, %fS;",
    "mma.sync.aligned.m16n8k8.row.col.f16.f16.f16.f16 {%rD, %r30}, {%rS, %r31}, {%rS}, {%rS, %r31};",
    "mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%fD, %f30, %f31, %f32}, {%r1, %r2}, {%r3}, {%fS, %f33, %f34, %f35};",
    "mma.sync.aligned.m16n8k8.row.col.f32.bf16.bf16.f32 {%fD, %f30, %f31, %f32}, {%r1, %r2}, {%r3}, {%fS, %f33, %f34, %f35};",
    "mma.sync.aligned.m16n8k4.row.col.f32.tf32.tf32.f32 {%fD, %f30, %f31, %f32}, {%r1, %r2}, {%r3}, {%fS, %f33, %f34, %f35};",
    "mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%dD, %d30}, {%d1}, {%d2}, {%dS, %d31};",
    "mma.sync.aligned.m8n8k16.row.col.s32.s8.s8.s32 {%rD, %r30}, {%r1}, {%r2}, {%rS, %r31};",
    "mma.sync.aligned.m8n8k32.row.col.s32.s4.s4.s32 {%rD, %r30}, {%r1}, {%r2}, {%rS, %r31};",
    "mma.sync.aligned.m8n8k128.row.col.s32.b1.b1.s32.xor.popc {%rD, %r30}, {%r1}, {%r2}, {%rS, %r31};",
    "bar.sync 0;",
    "mov.u32 %r30, %tid.x;\nsetp.lt.u32 %q30, %r30, 192;\n@%q30 bar.sync 1, 192;\n@!%q30 bar.sync 2, 192;",
    "membar.gl;",
];

/// Reads and writes of drawn words of a MiB, some of them by bytes: misses, rows and queues of every kind.
const TRAFFIC: &str = "
    .version 6.4
    .target sm_30
    .address_size 64
    .const .align 4 .b32 table[8192] = {1, 2, 3};
    .visible .entry traffic(.param .u64 from)
    {
        .reg .b32 %i, %n, %x, %v, %sum, %r<4>; .reg .b64 %from, %a, %c; .reg .pred %p;
        mov.u64 %c, table;
        ld.param.u64 %from, [from];
        mov.u32 %r1, %tid.x; mov.u32 %r2, %ctaid.x; mov.u32 %r3, %ntid.x; mad.lo.u32 %x, %r2, %r3, %r1;
        mov.u32 %n, 6; mov.u32 %sum, 0;
    L:
        mad.lo.u32 %x, %x, 1664525, 1013904223;
        shr.u32 %i, %x, 14; mul.wide.u32 %a, %i, 4; add.u64 %a, %a, %from;
        ld.global.u32 %v, [%a]; add.u32 %sum, %sum, %v;
        and.b32 %i, %x, 4095; mul.wide.u32 %a, %i, 128; add.u64 %a, %a, %from;
        st.global.u8 [%a+524288], %n; st.global.u32 [%a], %sum;
        and.b32 %i, %x, 8191; mul.wide.u32 %a, %i, 4; add.u64 %a, %a, %c; ld.const.u32 %v, [%a]; add.u32 %sum, %sum, %v;
        sub.u32 %n, %n, 1; setp.ne.u32 %p, %n, 0;
        @%p bra L;
        ret;
    }";

/// Opcodes of machine code by class, and whether a register of 64 bits is meant.
const OPCODES: &[&str] = &[
    "NOP",
    "MOV",
    "IADD3",
    "POPC",
    "IMNMX",
    "IMUL",
    "IMAD",
    "SHFL.DOWN",
    "VOTE.ANY",
    "REDUX.SUM",
    "F2I",
    "F2F.F64.F32",
    "HFMA2",
    "FADD",
    "FSETP.LT.AND",
    "FMNMX",
    "FMUL",
    "FFMA",
    "DADD",
    "DMNMX",
    "DMUL",
    "DFMA",
    "MUFU.RCP",
    "SHFL.IDX",
    "HMMA.1688.F16",
    "HMMA.1688.F32",
    "HMMA.1688.F32.BF16",
    "HMMA.1684.F32.TF32",
    "DMMA.884",
    "IMMA.8816.S8.S8",
    "IMMA.8832.S4.S4",
    "BMMA.88128.XOR.POPC",
    "QMMA.16816.F16.E4M3.E4M3",
    "QMMA.16816.F32.E4M3.E4M3",
    "TEX",
    "UIADD3",
    "BRA",
    "BAR.SYNC",
    "MEMBAR.SC.GPU",
];

/// Registers that an operation writes and reads: in a chain, then side by side, then in a chain with the last of these.
const CHAIN: [(u32, u32); 7] = [(1, 1), (1, 1), (2, 1), (3, 1), (4, 1), (5, 1), (1, 5)];
/// Registers of the operation, and of one of another unit after it.
const BESIDE: [(u32, u32); 3] = [(6, 10), (7, 11), (8, 12)];

/// A kernel in which each operation comes in chains, side by side and beside those of other units.
fn classes() -> String {
    let mut body = String::new();
    let others = ["fma.rn.f32 %f20, %f13, %f13, %f13;", "add.u32 %r20, %r13, %r13;", "sqrt.approx.f32 %f21, %f13;"];
    for operation in PTX {
        // `D` and `S` are followed by no letter or digit, so that mnemonics keep theirs.
        let with = |d: u32, s: u32| {
            let text = operation.replace("D,", &format!("{d},")).replace("D;", &format!("{d};"));
            text.replace("S,", &format!("{s},")).replace("S}", &format!("{s}}}")).replace("S;", &format!("{s};"))
        };
        for (d, s) in CHAIN {
            writeln!(body, "{}", with(d, s)).unwrap();
        }
        for ((d, s), other) in BESIDE.into_iter().zip(others) {
            writeln!(body, "{}\n{other}", with(d, s)).unwrap();
        }
    }
    format!(
        ".version 7.8\n.target sm_86\n.address_size 64\n.visible .entry classes(.param .u64 from)\n{{\n\
         .reg .b32 %r<40>; .reg .f32 %f<40>; .reg .b64 %l<40>, %from; .reg .f64 %d<40>; .reg .pred %p, %q<40>;\n\
         .shared .align 4 .b8 some[30000];\nld.param.u64 %from, [from];\n{body}st.global.u32 [%from], %r1;\nret;\n}}\n"
    )
}

/// The same of machine code, as a trace.
fn write_trace(folder: &Path) {
    let (mut lines, mut pc) = (Vec::new(), 0);
    let mut add = |opcode: &str, d: u32, s: u32| {
        lines.push(format!("{pc:04x} ffffffff 1 R{d} {opcode} 1 R{s} 0 0 "));
        pc += 16;
    };
    for opcode in OPCODES {
        CHAIN.iter().for_each(|&(d, s)| add(opcode, d, s));
        for ((d, s), other) in BESIDE.into_iter().zip(["FFMA", "IADD3", "MUFU.RCP"]) {
            add(opcode, d, s);
            add(other, d + 10, 13);
        }
    }
    lines.push(format!("{pc:04x} ffffffff 0 EXIT 0 0 0 "));
    let warps: String =
        (0..WARPS).map(|w| format!("warp = {w}\ninsts = {}\n{}\n\n", lines.len(), lines.join("\n"))).collect();
    let text = format!(
        "-kernel name = classes\n-kernel id = 1\n-grid dim = (1,1,1)\n-block dim = ({},1,1)\n-shmem = 0\n-nregs = 40\n\
         -binary version = 86\n-cuda stream id = 0\n-shmem base_addr = 0x00007f0000000000\n\
         -local mem base_addr = 0x00007f0001000000\n-nvbit version = 1\n-accelsim tracer version = 5\n\
         -enable lineinfo = 0\n\n#traces format = [line_num] PC mask dest_num [reg_dests] opcode src_num [reg_srcs] \
         mem_width [adrrescompress?] [mem_addresses] immediate\n\n\n#BEGIN_TB\n\nthread block = 0,0,0\n\n{warps}#END_TB\n",
        32 * WARPS,
    );
    std::fs::write(folder.join("kernel-1.traceg"), text).unwrap();
    std::fs::write(folder.join("kernelslist.g"), "kernel-1.traceg\n").unwrap();
}

/// Warps of the kernels of operations: several for each scheduler.
const WARPS: u32 = 12;

/// Runs that a description is tried with.
const PARTS: usize = 4;

/// Inputs of the runs.
struct Bench<'a> {
    trace: &'a Path,
    classes: &'a str,
}

impl Bench<'_> {
    /// The runs, those first that a key is likely to change, then the short ones: the last takes four times as long as
    /// all others.
    fn parts(path: &str) -> [usize; PARTS] {
        let is_of_ptx = ["sm.ptx_timing", "sm.tensor"].iter().any(|prefix| path.starts_with(prefix));
        if is_of_ptx { [2, 0, 1, 3] } else { [0, 1, 2, 3] }
    }

    fn run(&self, gpu: &GpuConfig, part: usize) -> Result<Figures, String> {
        match part {
            0 => behaviours(gpu.clone(), "inorder").map(|(_, figures)| figures),
            1 => self.machine_code(gpu),
            2 => self.ptx(gpu, "classes", self.classes, [2, 32 * WARPS]),
            _ => self.ptx(gpu, "traffic", TRAFFIC, [12, 256]),
        }
    }

    fn ptx(&self, gpu: &GpuConfig, kernel: &str, text: &str, [ctas, threads]: [u32; 2]) -> Result<Figures, String> {
        let setup = Setup { any_architecture: true, ..Setup::new(gpu.clone()) };
        let wrong = |e: workloads::DeviceError| e.to_string();
        let mut device = SimulatedDevice::new(&setup).map_err(wrong)?;
        let source = ModuleSource { name: "classes.ptx", code: ModuleCode::Ptx(text) };
        let module = device.load_module(&source).map_err(wrong)?;
        let from = device.alloc("from", 2 << 20).map_err(wrong)?;
        let launch = LaunchRequest {
            module,
            kernel,
            grid: isa::Dim3::new(ctas, 1, 1),
            block: isa::Dim3::new(threads, 1, 1),
            dynamic_shared_bytes: 0,
            args: &[from.into()],
            registers: ThreadRegisters::Given(40),
            stream: 0,
        };
        device.launch(&launch).map_err(wrong)?;
        device.synchronize().map_err(wrong)?;
        Ok(figures(&mut device))
    }

    fn machine_code(&self, gpu: &GpuConfig) -> Result<Figures, String> {
        let setup = Setup { any_architecture: true, ..Setup::new(gpu.clone()) };
        let job = Job::Trace { path: self.trace.join("kernelslist.g"), concurrent_streams: false };
        let report = lab::run(&setup, &job, &mut Unattended).map_err(|e| e.message)?;
        Ok(vec![("trace".into(), format!("{:?}", report.total))])
    }
}

/// The descriptions that are tried: one with sub-cores and every optional key, one without them, one without sub-cores.
fn descriptions() -> [Raw; 3] {
    let few = ["sm_count=2", "sm.perfect_instruction_and_constant_caches=false", "l2.cache.sets=4"];
    let optional = [
        "sm.latency=execution",
        "sm.barrier_latency_cycles=19",
        "sm.barrier_warp_cycles=2",
        "sm.constant_words_per_cycle=2",
        "sm.issue.fences_wait_for=accesses",
        "sm.issue.ignore_predicates=false",
        "sm.trace_generic_spaces=windows",
        "sm.reserved_shared_bytes_per_cta=1024",
        "sm.shared_allocation_unit=128",
        "sm.shared.bytes_per_cycle=64",
        "sm.shared.atomic_lane_cycles=2",
        "sm.l1d.bank_hash=true",
        "sm.l1d.look_up_order=bank",
        "sm.l1d.bytes_per_cycle=64",
        "l2.far_latency_cycles=40",
        "l2.request_bytes_per_cycle=8",
        "dram.scheduler=fr_fcfs",
        "dram.write_queue=[16, 8, 4]",
        "dram.timing.tFAW=60",
        "dram.timing.tREFI=1500",
        "dram.timing.tRFC=200",
        "energy.volts=1.0",
    ];
    let mut modern = Raw::open("accel-sim/rtx3070").unwrap();
    let rates = MatrixType::ALL.iter().flat_map(|ty| {
        let of = |key: &str, value: u32| format!("sm.tensor.{}.{key}={value}", ty.name());
        [of("multiply_adds_per_cycle", 64), of("latency_cycles", 9)]
    });
    let parts = isa::OpClass::ALL.iter().filter(|class| class.part_of().is_some()).flat_map(|class| {
        let of = |form: &str, key: &str, value: &str| format!("sm.{form}_timing.{}.{key}={value}", class.name());
        ["ptx", "sass"].into_iter().flat_map(move |form| {
            [of(form, "unit", "sfu"), of(form, "latency_cycles", "11"), of(form, "initiation_cycles", "4")]
        })
    });
    let all = few.iter().chain(&optional).map(|s| s.to_string()).chain(rates).chain(parts);
    let is_key = |setting: &String| schema::lookup(setting.split('=').next().unwrap()).is_some();
    let all: Vec<String> = all.filter(is_key).collect();
    config::with_overrides(&mut modern, &all).unwrap();
    let [plain, old] = ["accel-sim/rtx3070", "accel-sim/gtx480"].map(|name| {
        let mut raw = Raw::open(name).unwrap();
        config::with_overrides(&mut raw, &few).unwrap();
        raw
    });
    [modern, plain, old]
}

/// Other values of a key, as `--set` takes them: the least first, which gives the most to wait for.
fn others(key: &Key, now: &Value) -> Vec<String> {
    let numbers = |v: i64, low: u32, high: u32| {
        let mut all = vec![i64::from(low), 1, 2 * v, v / 2, v + 1, v - 1, 4 * v, 16 * v, 200];
        let mut seen = BTreeSet::from([v]);
        all.retain(|&n| (low.into()..=high.into()).contains(&n) && seen.insert(n));
        all
    };
    match (key.kind, now) {
        (ValueKind::Int(low, high), Value::Integer(v)) => numbers(*v, low, high).iter().map(i64::to_string).collect(),
        (ValueKind::Pow2(low, high), Value::Integer(v)) => {
            let fits = |n: &i64| *n != *v && (low.into()..=high.into()).contains(n);
            [low.into(), v / 2, 2 * v, v / 4, 4 * v, v / 8].into_iter().filter(fits).map(|n| n.to_string()).collect()
        }
        (ValueKind::Mhz | ValueKind::Volts, v) => {
            let v = v.as_float().unwrap_or(1.0);
            [0.6, 1.7].map(|by| format!("{:?}", v * by)).to_vec()
        }
        (ValueKind::Bool, Value::Boolean(v)) => vec![(!v).to_string()],
        (ValueKind::Choice(words), Value::String(v)) => {
            words.iter().filter(|w| w.name != v).map(|w| w.name.to_string()).collect()
        }
        (ValueKind::List(_, low, high), Value::Array(items)) => {
            let items: Vec<i64> = items.iter().filter_map(Value::as_integer).collect();
            let with = |i: usize, n: i64| {
                let mut all = items.clone();
                all[i] = n;
                format!("{all:?}")
            };
            let mut all: Vec<String> = (0..items.len())
                .flat_map(|i| numbers(items[i], low, high).into_iter().map(move |n| (i, n)))
                .map(|(i, n)| with(i, n))
                .collect();
            all.extend(items.last().map(|last| format!("[{last}]")));
            all
        }
        (ValueKind::Text, Value::String(v)) if key.path == "sm.issue.scheduler" => {
            lab::schedulers().iter().map(|(name, _)| (*name).to_owned()).filter(|name| name != v).collect()
        }
        (ValueKind::Text, Value::String(v)) if key.path == "dram.address_map" => vec![v.replacen("CB", "BC", 1)],
        _ => Vec::new(),
    }
}

/// Effect of a key of a description.
#[derive(Debug, PartialEq)]
enum Verdict {
    /// A value that changes a figure.
    Alive,
    /// Every other value is refused.
    Fixed,
    Dead,
}

/// Values of a key that are tried.
const TRIES: usize = 4;

fn verdict(bench: &Bench<'_>, raw: &Raw, base: &[Figures], path: &str, key: &Key) -> Verdict {
    let accepted = |value| {
        let mut changed = raw.clone();
        config::with_overrides(&mut changed, &[format!("{path}={value}")]).ok()?;
        changed.config().ok()
    };
    let tried: Vec<GpuConfig> =
        others(key, raw.value(path).unwrap()).into_iter().filter_map(accepted).take(TRIES).collect();
    // A run that another value makes impossible tells of it.
    let changes = |part: usize| tried.iter().any(|gpu| bench.run(gpu, part).as_ref() != Ok(&base[part]));
    match () {
        () if tried.is_empty() => Verdict::Fixed,
        () if Bench::parts(path).into_iter().any(changes) => Verdict::Alive,
        () => Verdict::Dead,
    }
}

/// The keys that `raw` gives, with settings that make them matter.
fn keys_of(raw: &Raw) -> Vec<(Raw, String, &'static Key)> {
    let given =
        |(path, key): &(String, &Key)| raw.value(path).is_some() && !others(key, raw.value(path).unwrap()).is_empty();
    let with_settings = |(path, key): (String, &'static Key)| {
        let settings: Vec<&str> =
            FOR.iter().filter(|(start, _)| path.starts_with(start)).flat_map(|(_, s)| s.iter().copied()).collect();
        let mut raw = raw.clone();
        config::with_overrides(&mut raw, &settings).unwrap();
        (raw, path, key)
    };
    schema::paths().filter(given).map(with_settings).collect()
}

#[test]
fn every_key_changes_something() {
    let folder = tempfile::tempdir().unwrap();
    write_trace(folder.path());
    let classes = classes();
    let bench = Bench { trace: folder.path(), classes: &classes };
    let names = |of: &[(&str, &str)]| -> BTreeSet<String> { of.iter().map(|(path, _)| (*path).to_owned()).collect() };
    let elsewhere = names(ELSEWHERE);
    let (mut seen, mut alive) = (BTreeSet::new(), BTreeSet::new());
    for raw in descriptions() {
        // Keys shown alive by another description are not retried.
        let is_open = |path: &String| !alive.contains(path) && !elsewhere.contains(path);
        let work: Vec<_> = keys_of(&raw).into_iter().filter(|(_, path, _)| is_open(path)).collect();
        let bases: Mutex<BTreeMap<String, Vec<Figures>>> = Mutex::default();
        let base_of = |raw: &Raw| {
            let gpu = raw.config().unwrap();
            let name = format!("{gpu:?}");
            if let Some(known) = bases.lock().unwrap().get(&name) {
                return known.clone();
            }
            let run = |part| bench.run(&gpu, part).unwrap_or_else(|e| panic!("{}, run {part}: {e}", gpu.name));
            let figures: Vec<_> = (0..PARTS).map(run).collect();
            bases.lock().unwrap().insert(name, figures.clone());
            figures
        };
        let (next, found) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
        std::thread::scope(|scope| {
            for _ in 0..std::thread::available_parallelism().map_or(1, usize::from) {
                scope.spawn(|| {
                    while let Some((raw, path, key)) = work.get(next.fetch_add(1, Ordering::Relaxed)) {
                        let verdict = verdict(&bench, raw, &base_of(raw), path, key);
                        found.lock().unwrap().push((path.clone(), verdict));
                    }
                });
            }
        });
        for (path, verdict) in found.into_inner().unwrap() {
            if verdict == Verdict::Alive {
                alive.insert(path.clone());
            }
            if verdict != Verdict::Fixed {
                seen.insert(path);
            }
        }
    }
    let of_runs = |(path, key): (String, &Key)| (!matches!(key.kind, ValueKind::Text)).then_some(path);
    let not_given =
        schema::paths().filter_map(of_runs).filter(|path| descriptions().iter().all(|raw| raw.value(path).is_none()));
    assert_eq!(not_given.collect::<BTreeSet<_>>(), names(NOT_GIVEN), "keys that nothing tries");
    let dead: Vec<_> = seen.difference(&alive).collect();
    assert!(dead.is_empty(), "keys that change nothing: {dead:#?}");
}

//! L1, its banks, write policies, atomic operations, faults.

use crate::support::{Bench, Graph, PARAM, UNITS, YES, config, mapped, number};
use dataflow::graph::{AccessKind, Input, NodeOp, Target};
use exec::access::Address;
use exec::atomic::{Atomic, AtomicOp, AtomicType};
use exec::int::Int2;
use exec::lanes::Reg;
use exec::op::Op;
use gpu::{Core, Env};
use isa::{Dim3, KernelId, LaunchShape, Space};
use mem::{Port, RequestKind};
use sgmf::{L1Write, SgmfConfig, SgmfKernel};

fn kinds(bench: &Bench, kind: RequestKind) -> usize {
    bench.requests.iter().filter(|(_, request)| request.kind == kind).count()
}

/// Threads store a word each, to two lines.
fn stores(write: L1Write) -> Bench {
    let mut bench = Bench::new(SgmfConfig { write, ..config(16) });
    let base = bench.array(&[0; 64]);
    let mut graph = Graph::default();
    let tid = graph.tid();
    let address = graph.int(Int2::MulLo32, tid, Input::Immediate(4));
    graph.store(PARAM, address, tid, YES);
    bench.launch(&mapped(vec![graph], 0), 1, 64, base).expect("it ends");
    assert_eq!(bench.words(base, 64), (0..64).collect::<Vec<_>>());
    bench
}

#[test]
fn l1_fetches_on_a_store_and_writes_back_at_the_end() {
    let bench = stores(L1Write::Back);
    assert_eq!(kinds(&bench, RequestKind::Read), 2);
    assert_eq!((kinds(&bench, RequestKind::Write), kinds(&bench, RequestKind::WriteBack)), (0, 2));
    let last = bench.requests.last().expect("some").1;
    assert_eq!((last.kind, last.bytes), (RequestKind::WriteBack, 128), "the flush comes last");
    assert_eq!(bench.counters().fabric.requests, 4);
}

#[test]
fn a_write_through_l1_passes_every_store_on() {
    let bench = stores(L1Write::Through);
    assert_eq!((kinds(&bench, RequestKind::Read), kinds(&bench, RequestKind::WriteBack)), (0, 0));
    assert_eq!(kinds(&bench, RequestKind::Write), 64);
}

/// Two units load a word each in the same cycles, `distance` bytes apart.
fn two_loads(distance: u64) -> u64 {
    let mut bench = Bench::new(config(16));
    let base = bench.array(&[3; 256]);
    let mut graph = Graph::default();
    let tid = graph.tid();
    let address = graph.int(Int2::And32, tid, Input::Immediate(0));
    graph.load(PARAM, address, YES);
    let far = graph.int(Int2::And32, tid, Input::Immediate(0));
    let far = graph.load(Input::Immediate(base + distance), far, YES);
    bench.launch(&mapped(vec![graph], 0), 1, 32, base).expect("it ends");
    assert_eq!(bench.fired(0, number(far)).len(), 32);
    bench.counters().ldst.bank_conflict
}

#[test]
fn a_bank_takes_one_access_a_cycle() {
    assert_eq!(two_loads(4), 0, "neighbouring words");
    assert!(two_loads(128) > 0, "the same word of another line");
    assert!(two_loads(0) > 0, "the same word");
}

#[test]
fn atomic_operations_go_to_l2_and_lose_nothing() {
    let mut bench = Bench::new(config(8));
    let base = bench.array(&[100, 0]);
    let operation = Atomic {
        space: Space::Global,
        op: AtomicOp::Add,
        ty: AtomicType::U32,
        count: 1,
        d: Some(Reg(0)),
        unused: false,
        address: Address { base: Reg(0), wide: true, frame: false, offset: 0 },
        b: Reg(2),
        c: None,
    };
    let mut graph = Graph::default();
    let tid = graph.tid();
    let zero = graph.int(Int2::And32, tid, Input::Immediate(0));
    let kind = AccessKind::Atomic(Op::Atomic(operation));
    let old = graph.access(kind, Target::Space(Space::Global), PARAM, [zero, Input::Immediate(2), YES]);
    let limit = graph.int(Int2::MinU32, old, Input::Immediate(1000));
    let address = graph.int(Int2::MulLo32, tid, Input::Immediate(0));
    graph.store(PARAM, address, limit, Input::Immediate(0));
    bench.launch(&mapped(vec![graph], 0), 2, 50, base).expect("it ends");
    assert_eq!(bench.words(base, 1), [300]);
    assert_eq!((kinds(&bench, RequestKind::Atomic), bench.counters().fabric.atomics), (100, 100));
    assert_eq!(bench.counters().fabric.disabled_accesses, 100);
}

/// Data port of a 32-bit atomic operation: a compare-and-swap takes both values, an addition the lower half.
#[test]
fn atomic_operations_take_their_part_of_a_token() {
    for (op, c, data, after) in [
        (AtomicOp::Cas, Some(Reg(4)), 7 << 32 | 5, [7, 6]),
        (AtomicOp::Cas, Some(Reg(4)), 7 << 32 | 6, [5, 7]),
        (AtomicOp::Add, None, 7 << 32 | 5, [10, 11]),
    ] {
        let mut bench = Bench::new(config(4));
        let base = bench.array(&[5, 6]);
        let address = Address { base: Reg(0), wide: true, frame: false, offset: 0 };
        let operation = Atomic {
            space: Space::Global,
            op,
            ty: AtomicType::U32,
            count: 1,
            d: Some(Reg(0)),
            unused: false,
            address,
            b: Reg(2),
            c,
        };
        let mut graph = Graph::default();
        let tid = graph.tid();
        let place = graph.int(Int2::MulLo32, tid, Input::Immediate(4));
        let kind = AccessKind::Atomic(Op::Atomic(operation));
        graph.access(kind, Target::Space(Space::Global), PARAM, [place, Input::Immediate(data), YES]);
        bench.launch(&mapped(vec![graph], 0), 1, 2, base).expect("it ends");
        assert_eq!(bench.words(base, 2), after, "{op:?} of {data:#x}");
    }
}

/// Without room in L1 accesses wait and are tried again.
#[test]
fn accesses_that_l1_refuses_are_tried_again() {
    let mut bench = Bench::new(SgmfConfig { mshrs: 1, mshr_merges: 1, l1_kib: 1, ..config(16) });
    let base = bench.array(&(0..4096).collect::<Vec<_>>());
    bench.delay = Box::new(|_, n| 5 + 7 * (n % 3));
    let mut graph = Graph::default();
    let tid = graph.tid();
    let address = graph.int(Int2::MulLo32, tid, Input::Immediate(132));
    let loaded = graph.load(PARAM, address, YES);
    let sum = graph.add(loaded, YES);
    graph.store(PARAM, address, sum, YES);
    bench.launch(&mapped(vec![graph], 0), 1, 100, base).expect("it ends");
    assert!(bench.counters().ldst.l1_refused > 100);
    let words = bench.words(base, 4096);
    assert!((0..100).all(|t| words[33 * t] == 33 * t as u32 + 1));
}

#[test]
fn a_fault_names_kernel_and_thread() {
    let gpu = config::load("accel-sim/gtx480").expect("built in");
    let mut bench = Bench::new(config(64));
    let base = bench.array(&[0; 16]);
    let mut graph = Graph::default();
    let tid = graph.tid();
    let address = graph.int(Int2::MulLo32, tid, Input::Immediate(4));
    graph.load(PARAM, address, YES);
    let shape = LaunchShape {
        grid: Dim3::new(1, 1, 1),
        block: Dim3::new(32, 1, 1),
        registers_per_thread: 0,
        shared_bytes: 0,
        cluster: None,
    };
    let params = [base as u32, (base >> 32) as u32];
    let made = mapped(vec![graph], 0);
    let kernels = [SgmfKernel::of_graph(&made, shape, &params, &bench.config, &bench.timing).expect("it fits")];
    let mut core = sgmf::Sgmf::new(&gpu, bench.config, UNITS, 0);
    let mut port = Port::default();
    let mut env = Env { kernels: &kernels, shared: gpu::Access::Alone(&mut bench.device), port: &mut port };
    core.start_cta(0, &mut env, KernelId(0), Dim3::new(0, 0, 0));
    let fault = (0..100).find_map(|now| core.tick(now, &mut env).err()).expect("beyond the array");
    assert_eq!((fault.thread, fault.cta), (Dim3::new(16, 0, 0), Dim3::new(0, 0, 0)));
    assert!(fault.to_string().contains("out-of-bounds load from global address"), "{fault}");
    assert!(fault.to_string().contains("kernel `test`"), "{fault}");
}

#[test]
fn a_mapping_that_is_none_of_the_fabric_is_refused() {
    let shape = LaunchShape {
        grid: Dim3::new(1, 1, 1),
        block: Dim3::new(32, 1, 1),
        registers_per_thread: 0,
        shared_bytes: 0,
        cluster: None,
    };
    let mut graph = Graph::default();
    let tid = graph.tid();
    let sum = graph.add(tid, YES);
    graph.add(sum, YES);
    let made = mapped(vec![graph], 0);
    let refusal = |made: &dataflow::mapping::Mapped| {
        SgmfKernel::of_graph(made, shape, &[0; 2], &config(4), &sgmf::Timing::unit()).expect_err("wrong").to_string()
    };
    let mut lacks = made.clone();
    lacks.mappings[0].routes.pop();
    assert!(refusal(&lacks).ends_with("no route ends at port 0 of node 2"));
    let mut shares = made.clone();
    shares.mappings[0].units[2] = shares.mappings[0].units[1];
    assert!(refusal(&shares).ends_with("unit 1 has two nodes"));
    let mut crosses = made;
    crosses.mappings[0].routes.iter_mut().for_each(|route| route.links = vec![dataflow::mapping::LinkId(7)]);
    assert!(refusal(&crosses).ends_with("link 7 is used by two results"));
    let mut constant = Graph::default();
    constant.node(NodeOp::Select, &[YES, YES, YES]);
    let text = refusal(&mapped(vec![constant], 0));
    assert!(text.contains("node 0 takes no token"), "{text}");
}

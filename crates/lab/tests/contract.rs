//! Contract of every core design, on small programs: each instruction issues and is written back once,
//! nothing waits indefinitely, every issue slot has its account, no order is broken, and sleeping
//! changes nothing. The timelines are golden: designs in [`DRAWN`] as drawings, the others as digests.
//!
//! A design takes part by its row in `designs.rs`. `INSTA_UPDATE=always` writes its line or its file.

use crate::support;

use isa::{CtaSlot, Dim3, KernelId, OpClass, Pc, Space, WarpSlot};
use kit::Cycle;
use lab::{CORES, ForCore, for_core};
use sha2::{Digest as _, Sha256};
use sm::scalar::ScalarConfig;
use sm::{Auditor, ConfigOf, CoreDesign, Findings, Observer, Seen, Stall, Timeline, Violation};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::Path;
use support::{Bench, Line, add, arrive, atomic, branch, copy_async, exit, fence, load, op, store, sync};

/// Designs that may break an order, and which: what their documents say they leave unguarded.
const EXPOSED: &[(&str, &[Violation])] = &[
    ("inorder", &[Violation::War, Violation::Memory]),
    ("war-none", &[Violation::War, Violation::Memory]),
    // It relies on registers that were allocated against the hazard.
    ("warpboard-stores", &[Violation::War]),
    // By its paper alone: a WAR dependence ends when the reader issues (D8).
    ("ghost-unguarded", &[Violation::War]),
    // Limits of the in-order core.
    ("perfect-frontend", &[Violation::War, Violation::Memory]),
    ("perfect-execution", &[Violation::War, Violation::Memory]),
    ("perfect-memory", &[Violation::War, Violation::Memory]),
    ("no-dependences", &[Violation::Memory]),
];

/// The first predicate register of [`Bench`]'s programs.
const P0: u16 = 128;

/// A special function: a result that comes late.
fn late(dst: u16) -> Line {
    op(OpClass::Sfu, dst, &[90])
}

fn ld(dst: u16, address: u64) -> Line {
    load(Space::Global, dst, address, 4)
}

fn st(src: u16, address: u64) -> Line {
    store(Space::Global, src, address, 4)
}

/// The first warp ends at line 1, which the others leave out.
fn one_leaves_early(warp: usize, line: usize) -> bool {
    warp > 0 && line == 1
}

/// The first warp stores and arrives, the other one waits and loads.
fn first_arrives(warp: usize, line: usize) -> bool {
    if warp == 0 { matches!(line, 3 | 4) } else { matches!(line, 1 | 2) }
}

/// Two that read one bank slowly have the sub-core's collectors when the third, which reads there too,
/// and the fourth, which overwrites what it reads and is of a pipe that is served before, wait for one.
fn collectors_taken() -> [Line; 4] {
    let slow = |class, dst| op(class, dst, &[16, 32, 48, 64, 96, 112]);
    [slow(OpClass::FpFma, 1), slow(OpClass::Sfu, 2), op(OpClass::IntMad, 4, &[112]), op(OpClass::FpAdd, 112, &[3])]
}

/// The programs, by what they are about. In each, something follows that depends on nothing.
fn programs() -> Vec<(&'static str, Bench)> {
    let one = |lines: &[Line]| Bench { memory_latency: 30, ..Bench::new(&[lines, &[add(80, &[81])]].concat()) };
    let many_reads = op(OpClass::IntMad, 1, &[4, 8, 12, 16, 20, 24, 28, 32, 36, 40]);
    let slow_bank = |bench: Bench| bench.gpu(|g| g.sm.operands.reads_per_bank = 1);
    let shared = |dst, address| load(Space::Shared, dst, address, 4);
    vec![
        ("read after write", one(&[late(1), add(2, &[1]), add(3, &[2])])),
        ("write after read", slow_bank(one(&[many_reads, add(40, &[3])]))),
        ("write after read, collectors taken", slow_bank(one(&collectors_taken()))),
        ("write after write", one(&[late(1), add(1, &[3]), add(2, &[1])])),
        ("load, load", one(&[late(100), ld(1, 0), load(Space::Shared, 2, 0, 4), add(3, &[1, 2])])),
        ("load, store, same address", one(&[late(100), ld(1, 0), st(2, 0)])),
        ("load, store, other address", one(&[late(100), ld(1, 0), st(2, 4096)])),
        ("store, load, same address", one(&[late(2), st(2, 0), ld(1, 0), add(3, &[1])])),
        ("store, load, other address", one(&[late(2), st(2, 0), ld(1, 4096), add(3, &[1])])),
        ("store, store", one(&[late(2), st(2, 0), st(3, 0)])),
        ("shared memory", one(&[late(2), store(Space::Shared, 2, 0, 4), shared(1, 0), add(3, &[1])])),
        ("barrier", one(&[late(2), store(Space::Shared, 2, 0, 4), sync(0, 0), shared(1, 64), add(3, &[1])]).warps(2)),
        (
            "arrival",
            Bench {
                skip: first_arrives,
                ..one(&[late(2), store(Space::Shared, 2, 0, 4), arrive(1, 64), sync(1, 64), shared(1, 0)]).warps(2)
            },
        ),
        ("branch", one(&[late(1), add(2, &[1]), branch(-1, 2), add(3, &[2])])),
        ("branch over", one(&[late(P0), Line { srcs: vec![P0], ..branch(2, 1) }, add(2, &[1]), add(3, &[4])])),
        ("exit behind a load", one(&[ld(1, 0), add(2, &[3])])),
        ("two exits", Bench { skip: one_leaves_early, ..one(&[late(1), exit(), add(2, &[1])]).warps(2) }),
        ("predicate", one(&[late(P0), add(2, &[P0, 3]), add(4, &[5])])),
        ("atomics", one(&[late(100), atomic(1, 0, 0), atomic(2, 0, 0), ld(3, 0), add(4, &[1, 2])])),
        ("partial writes", one(&[late(1).mask(0xffff), add(1, &[3]).mask(0xffff_0000), add(2, &[1])])),
        ("nothing active", one(&[late(1), ld(2, 0).mask(0), add(3, &[2])])),
        ("fence", one(&[late(2), st(2, 0), fence(), ld(1, 0), add(3, &[1])])),
        ("asynchronous copy", one(&[copy_async(0), ld(1, 256), add(2, &[1])])),
    ]
}

/// Designs that are held to the contract with a scalar path, too.
const SCALAR: [&str; 2] = ["inorder+scalar", "ghost+scalar"];

/// One design of each family of issue policies, whose drawings are in the repository.
const DRAWN: [&str; 6] = ["inorder", "warpboard", "socgpu", "ghost", "loog", "load-slice"];

/// Writes the drawing of a design below `folder`, under a name with its digest. Returns the digest.
fn keep(folder: &Path, core: &str, drawing: &str) -> String {
    let digest: String = Sha256::digest(drawing)[..8].iter().map(|byte| format!("{byte:02x}")).collect();
    std::fs::create_dir_all(folder).expect("a folder for drawings");
    std::fs::write(folder.join(format!("{core}-{digest}.txt")), drawing).expect("a drawing");
    digest
}

/// `programs` with a scalar path, all lanes of whose operands are the same.
fn on_a_scalar_path(mut programs: Vec<(&'static str, Bench)>) -> Vec<(&'static str, Bench)> {
    for (_, bench) in &mut programs {
        bench.options.scalar = Some(ScalarConfig::DEFAULT);
        bench.lines.iter_mut().for_each(|line| line.value = |_| 7);
    }
    programs
}

/// Everything about a run.
#[derive(Default)]
struct Watch {
    auditor: Option<Auditor>,
    timeline: Timeline,
    issued: BTreeMap<(u16, u32), u32>,
    written: BTreeMap<(u16, u32), u32>,
}

impl Watch {
    fn audit(&mut self) -> &mut Auditor {
        self.auditor.as_mut().expect("made with the watch")
    }

    fn findings(&self) -> &Findings {
        self.auditor.as_ref().expect("made with the watch").findings()
    }
}

fn count(of: &mut BTreeMap<(u16, u32), u32>, seen: Seen<'_>) {
    *of.entry((seen.inst().warp.0, seen.inst().order)).or_default() += 1;
}

impl Observer for Watch {
    fn cta_started(&mut self, now: Cycle, kernel: KernelId, cta: Dim3, slot: CtaSlot, warps: &[WarpSlot]) {
        self.audit().cta_started(now, kernel, cta, slot, warps);
    }
    fn cta_finished(&mut self, now: Cycle, slot: CtaSlot) {
        self.audit().cta_finished(now, slot);
    }
    fn fetched(&mut self, now: Cycle, warp: WarpSlot, pc: Pc) {
        self.timeline.fetched(now, warp, pc);
    }
    fn decoded(&mut self, now: Cycle, seen: Seen<'_>) {
        self.audit().decoded(now, seen);
        self.timeline.decoded(now, seen);
    }
    fn issued(&mut self, now: Cycle, slot: usize, seen: Seen<'_>) {
        self.audit().issued(now, slot, seen);
        self.timeline.issued(now, slot, seen);
        count(&mut self.issued, seen);
    }
    fn collecting(&mut self, now: Cycle, seen: Seen<'_>, awaited: u64) {
        self.audit().collecting(now, seen, awaited);
    }
    fn collected(&mut self, now: Cycle, seen: Seen<'_>) {
        self.audit().collected(now, seen);
    }
    fn operands_read(&mut self, now: Cycle, seen: Seen<'_>) {
        self.audit().operands_read(now, seen);
        self.timeline.operands_read(now, seen);
    }
    fn executing(&mut self, now: Cycle, seen: Seen<'_>) {
        self.audit().executing(now, seen);
        self.timeline.executing(now, seen);
    }
    fn written_back(&mut self, now: Cycle, seen: Seen<'_>) {
        self.audit().written_back(now, seen);
        self.timeline.written_back(now, seen);
        count(&mut self.written, seen);
    }
    fn released(&mut self, now: Cycle, warps: u128) {
        self.audit().released(now, warps);
    }
}

/// Holds a design to the contract on one program: its drawn timeline and what the auditor found.
#[derive(Clone)]
struct Contract<'a> {
    /// Design and program.
    name: String,
    bench: &'a Bench,
    exposed: &'a [Violation],
    /// Warp instructions of the program.
    instructions: u64,
}

impl ForCore for Contract<'_> {
    type Output = (String, Findings);

    fn with<P: CoreDesign + 'static>(self, policy: &ConfigOf<P>) -> (String, Findings) {
        let Self { name, bench, exposed, instructions } = self;
        let watch = || Watch { auditor: Some(Auditor::new(P::allowances(policy))), ..Watch::default() };
        let run = bench.run_design::<P, Watch>(policy, watch());
        let (seen, drawn) = (&run.sm.observer, run.sm.observer.timeline.draw());
        assert!(!run.deadlocked, "{name}: {:?}\n{drawn}", run.sm.describe_stalls(&run.kernels));
        for (stage, times) in [("issued", &seen.issued), ("written back", &seen.written)] {
            assert!(times.values().all(|&n| n == 1), "{name}: {stage} not once\n{drawn}");
            assert_eq!(times.len() as u64, instructions, "{name}: not all are {stage}\n{drawn}");
        }
        let found = seen.findings();
        let unexpected = |&&kind: &&Violation| found.count(kind) > 0 && !exposed.contains(&kind);
        assert_eq!(Violation::ALL.iter().find(unexpected), None, "{name}: {found}\n{drawn}");
        let account = run.sm.account();
        let lost: u64 = Stall::ALL.iter().map(|&stall| account.stalled(stall)).sum();
        assert_eq!(account.issued(), instructions, "{name}");
        assert_eq!(account.issued() + lost, account.cycles() * account.slots() as u64, "{name}");
        let awake = Bench { tick_every_cycle: true, ..bench.clone() }.run_design::<P, Watch>(policy, watch());
        assert_eq!(awake.sm.observer.timeline.draw(), drawn, "{name}: sleeping changes what happens");
        (drawn, found.clone())
    }
}

/// Warp instructions of `bench`: in order, each issues once.
fn instructions(bench: &Bench) -> u64 {
    bench.run().sm.counters().warp_instructions
}

#[test]
fn every_design_keeps_the_contract() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("contract");
    let mut digests = String::from(
        "Design and digest of its timelines: target/tmp/contract/DESIGN-DIGEST.txt, which the test writes.\n\
         The drawing of an old digest is written by the test of the commit that has it.\n",
    );
    let (programs, scalar) = (programs(), on_a_scalar_path(programs()));
    let designs = CORES.iter().filter(|(core, _)| lab::is_sm(core)).map(|&(core, _)| (core, &programs));
    for (core, programs) in designs.chain(SCALAR.map(|core| (core, &scalar))) {
        let design = core.split('+').next().expect("a name");
        let exposed = EXPOSED.iter().find(|(name, _)| *name == design).map_or(&[][..], |(_, kinds)| kinds);
        let (mut text, mut findings) = (String::new(), Findings::default());
        for (program, bench) in programs {
            let name = format!("{core}, {program}");
            let contract = Contract { name, bench, exposed, instructions: instructions(bench) };
            let (drawn, found) = for_core::<u64, _>(core, contract.clone()).expect("it is registered");
            let (wide, _) = for_core::<u128, _>(core, contract).expect("it is registered");
            assert_eq!(wide, drawn, "{core}, {program}: sets of warps of another width");
            findings.add(&found);
            writeln!(text, "{program}\n{drawn}").expect("a string");
        }
        // The programs show the hazard that these leave open.
        let open = ["war-none", "ghost-unguarded"].contains(&core);
        assert!(!open || findings.count(Violation::War) > 0, "{core}: {findings}");
        if DRAWN.contains(&core) {
            insta::assert_snapshot!(core, text);
        } else {
            writeln!(digests, "{core} {}", keep(&folder, core, &text)).expect("a string");
        }
    }
    println!("drawings are in {}", folder.display());
    insta::assert_snapshot!("digests", digests);
}

#[test]
fn designs_that_are_named_here_exist() {
    for core in EXPOSED.iter().map(|(core, _)| core).chain(&DRAWN) {
        assert!(CORES.iter().any(|(name, _)| name == core), "{core}");
    }
}

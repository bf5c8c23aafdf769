//! The hazard auditor: holds every run of every design against the program order of each warp.
//!
//! Instructions are decoded in program order. For each one the auditor notes then which older ones,
//! still in flight, it depends on; when it passes a stage that presumes that those are done, it looks
//! whether they are:
//!
//! | kind | is found when | unless |
//! | --- | --- | --- |
//! | RAW | a collector may read a vector register; an instruction issues that reads a predicate or uniform register (where registers are renamed and it steers nothing: when it enters its collector); an operand that a collector awaits has come | the youngest older writer has written back |
//! | WAR | an instruction writes back | every older reader has been served its reads (vector registers) or issued (others) |
//! | WAW | an instruction writes back | the youngest older writer has written back |
//! | memory | an access enters the load/store unit | all older accesses to the same address, one of the two a write, have |
//! | memory | an access, barrier, fence or atomic issues | all older ones that it must not pass have issued, and no barrier or fence holds the warp |
//! | control | an instruction issues | all older branches and exits have issued |
//! | duplicate | an instruction is decoded, issues, writes back | it does so once and in turn |
//!
//! Designs that ignore registers ([`Allowances::ignores_registers`]) are held to memory, control and duplicates only.
//!
//! Reads count as done when the last of an instruction's is served: the register file is busy with
//! it until then. In a cycle, registers are written before they are read.
//!
//! Tables are per warp and register and hold what is in flight only. The auditor costs about as much
//! as the simulation; a run without it is not touched.

mod findings;

pub use findings::{Example, Findings, Party, Violation};

use crate::design::Allowances;
use crate::inflight::{InFlight, InstId};
use crate::observe::observer::{Observer, Seen};
use crate::slab::Window;
use crate::warps::mask::{MOST_WARPS, WarpMask};
use config::FenceWaits;
use isa::{Access, Control, CtaSlot, Dim3, KernelId, Pc, RegId, Space, WarpSlot};
use kit::bits::lanes;
use kit::{Cycle, LaneMask};

/// A dynamic instruction: its id is given to others later, its place in its warp's program is not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Link {
    id: InstId,
    warp: WarpSlot,
    order: u32,
}

impl Link {
    fn to(seen: Seen<'_>) -> Self {
        let inst = seen.inst();
        Self { id: seen.id, warp: inst.warp, order: inst.order }
    }
}

/// An older instruction that must have passed some stage before a younger one passes another.
#[derive(Clone, Copy, Debug)]
struct Dependence {
    kind: Violation,
    reg: RegId,
    /// Place of the register among the sources, for RAW.
    source: u8,
    /// The register is in the banked register file.
    vector: bool,
    on: Link,
}

impl Dependence {
    /// Whether its source is one of the `awaited`.
    fn comes(&self, awaited: u64) -> bool {
        awaited.checked_shr(self.source.into()).is_some_and(|bits| bits & 1 != 0)
    }
}

/// Record of an instruction in flight.
#[derive(Clone, Debug, Default)]
struct Record {
    live: bool,
    warp: WarpSlot,
    order: u32,
    pc: Pc,
    kernel: KernelId,
    issued: Option<Cycle>,
    /// Its register reads have been served.
    collected: bool,
    /// Sources that come to its collector.
    awaited: u64,
    dependences: Vec<Dependence>,
}

/// A warp's last accesses.
#[derive(Clone, Debug, Default)]
struct WarpTables {
    next_order: u32,
    in_flight: u32,
    /// Youngest writer of each register, if it is in flight.
    writers: Vec<Option<Link>>,
    /// Readers of each register after its youngest writer that have not read it.
    readers: Vec<Vec<Link>>,
    /// Not issued, in program order.
    unissued: Vec<InstId>,
    /// Accesses that have not entered the load/store unit, in program order.
    before_memory: Vec<InstId>,
    /// Instructions that have issued and are not complete, of those that fences wait for.
    outstanding: u32,
    /// A fence has issued with such instructions outstanding.
    fenced: bool,
    /// A barrier has issued and not released the warp.
    at_barrier: bool,
}

/// Watches an SM and counts violations. See the [module](self).
#[derive(Clone, Debug)]
pub struct Auditor {
    allowed: Allowances,
    fences: FenceWaits,
    warps: Vec<WarpTables>,
    /// The records of the instructions in flight, by [`InstId`].
    records: Vec<Record>,
    /// Warps of each CTA slot.
    ctas: Vec<Vec<WarpSlot>>,
    findings: Findings,
}

impl Auditor {
    /// An auditor of a design that may do what is `allowed`.
    pub fn new(allowed: Allowances) -> Self {
        let warps = vec![WarpTables::default(); MOST_WARPS];
        Self {
            allowed,
            fences: FenceWaits::Accesses,
            warps,
            records: Vec::new(),
            ctas: Vec::new(),
            findings: Findings::default(),
        }
    }

    /// The same on a GPU whose fences wait for `fences`.
    pub fn of_fences(self, fences: Option<FenceWaits>) -> Self {
        Self { fences: fences.unwrap_or(FenceWaits::Accesses), ..self }
    }

    /// Whether a fence waits for `inst`.
    fn is_before_fence(&self, inst: &InFlight) -> bool {
        match self.fences {
            FenceWaits::Accesses => inst.mem.is_some(),
            FenceWaits::Registers => inst.dsts > 0,
        }
    }

    /// Findings so far.
    pub fn findings(&self) -> &Findings {
        &self.findings
    }

    /// The record of an instruction, if it is in flight.
    fn find(&self, link: Link) -> Option<&Record> {
        self.records.get(link.id.index()).filter(|r| r.live && r.warp == link.warp && r.order == link.order)
    }

    /// Notes `what` of a younger and an older instruction.
    fn violate(&mut self, kind: Violation, now: Cycle, window: Window<'_>, younger: InstId, older: InstId, what: &str) {
        let (younger, older) = (&self.records[younger.index()], &self.records[older.index()]);
        let program = |r: &Record| &window.kernels[r.kernel.index()].code.program;
        let party = |r: &Record| Party { pc: r.pc, text: program(r).text(r.pc).to_owned(), issued: r.issued };
        self.findings.note(kind, || Example {
            kernel: Some(program(younger).name.clone()),
            cycle: now,
            warp: younger.warp,
            younger: Some(party(younger)),
            what: what.to_owned(),
            older: Some(party(older)),
        });
    }

    /// A violation without an older instruction to name.
    fn example(&self, now: Cycle, seen: Seen<'_>, what: String) -> Example {
        let (inst, text) = (seen.inst(), seen.window.text(seen.id).to_owned());
        let issued = self.find(Link::to(seen)).and_then(|r| r.issued);
        Example {
            kernel: Some(seen.window.code(seen.id).program.name.clone()),
            cycle: now,
            warp: inst.warp,
            younger: Some(Party { pc: inst.pc, text, issued }),
            what,
            older: None,
        }
    }

    /// Notes an instruction out of turn. True if it may be looked at further.
    fn in_turn(&mut self, now: Cycle, seen: Seen<'_>, stage: &str, ok: impl Fn(&Record) -> bool) -> bool {
        if self.find(Link::to(seen)).is_some_and(ok) {
            return true;
        }
        let example = self.example(now, seen, format!("{stage} twice or out of turn"));
        self.findings.note(Violation::Duplicate, || example);
        false
    }

    /// Checks the dependences of `seen` that `which` picks; `done` says of an older instruction
    /// whether it is harmless.
    fn check(
        &mut self,
        now: Cycle,
        seen: Seen<'_>,
        what: &str,
        which: impl Fn(&Dependence) -> bool,
        done: impl Fn(&Dependence, &Record) -> bool,
    ) {
        let dependences = std::mem::take(&mut self.records[seen.id.index()].dependences);
        for dependence in dependences.iter().filter(|d| which(d)) {
            self.findings.dependences += 1;
            if self.find(dependence.on).is_some_and(|older| !done(dependence, older)) {
                let what = format!("{what} register {} before", dependence.reg.0);
                self.violate(dependence.kind, now, seen.window, seen.id, dependence.on.id, &what);
            }
        }
        self.records[seen.id.index()].dependences = dependences;
    }

    /// Notes what `seen`, just decoded, depends on, and that others may depend on it.
    fn link(&mut self, seen: Seen<'_>) {
        if self.allowed.ignores_registers {
            return;
        }
        let (window, id, inst) = (seen.window, seen.id, seen.inst());
        let me = Link::to(seen);
        let vectors = window.code(id).program.regs.vector;
        let tables = &mut self.warps[inst.warp.index()];
        let record = &mut self.records[id.index()];
        let mut add = |kind, reg: RegId, source: usize, on| {
            record.dependences.push(Dependence { kind, reg, source: source as u8, vector: reg.0 < vectors, on });
        };
        let awaited = |on: &Link| !trusted(self.allowed, window, (on.id, inst.mask));
        for (source, &reg) in window.srcs(id).iter().enumerate() {
            tables.writers[reg.index()].into_iter().filter(awaited).for_each(|on| add(Violation::Raw, reg, source, on));
        }
        if !self.allowed.renames {
            for &reg in window.dsts(id) {
                tables.readers[reg.index()].iter().for_each(|&on| add(Violation::War, reg, 0, on));
                tables.writers[reg.index()].into_iter().filter(awaited).for_each(|on| add(Violation::Waw, reg, 0, on));
            }
        }
        for &reg in window.dsts(id) {
            tables.writers[reg.index()] = Some(me);
            tables.readers[reg.index()].clear();
        }
        for &reg in window.srcs(id).iter().filter(|r| !window.dsts(id).contains(r)) {
            tables.readers[reg.index()].push(me);
        }
    }

    /// `seen` has read its sources that are vector registers, or those that are not.
    fn has_read(&mut self, seen: Seen<'_>, vectors: bool) {
        let (all, count) = (seen.window.srcs(seen.id), seen.window.vector_srcs(seen.id).len());
        let me = Link::to(seen);
        let readers = &mut self.warps[seen.inst().warp.index()].readers;
        for reg in if vectors { &all[..count] } else { &all[count..] } {
            readers[reg.index()].retain(|&r| r != me);
        }
    }

    /// The vector registers of `seen` have been read.
    fn collect(&mut self, seen: Seen<'_>) {
        if !std::mem::replace(&mut self.records[seen.id.index()].collected, true) {
            self.has_read(seen, true);
        }
    }

    /// `seen` issues before the instruction `older` of its warp does.
    fn check_overtaking(&mut self, now: Cycle, seen: Seen<'_>, older: InstId) {
        let (mine, theirs) = (seen.inst(), seen.window.inst(older));
        let steers = matches!(theirs.control, Control::Branch | Control::Exit);
        if steers && !self.allowed.passes_branches || mine.ends_warp {
            self.violate(Violation::Control, now, seen.window, seen.id, older, "issues before");
        }
        let (mine, theirs) = (MemoryRole::of(mine), MemoryRole::of(theirs));
        if mine.orders && theirs.is_ordered || mine.is_ordered && theirs.orders {
            self.violate(Violation::Memory, now, seen.window, seen.id, older, "issues before");
        }
    }

    /// `seen` is an access, barrier or fence and issues.
    fn check_holds(&mut self, now: Cycle, seen: Seen<'_>) {
        let tables = &mut self.warps[seen.inst().warp.index()];
        let held = if tables.at_barrier {
            "a barrier"
        } else if tables.fenced {
            "a fence"
        } else {
            return;
        };
        let example = self.example(now, seen, format!("issues while {held} holds the warp"));
        self.findings.note(Violation::Memory, || example);
    }
}

/// How barriers, fences and atomics concern an instruction.
#[derive(Clone, Copy)]
struct MemoryRole {
    /// It keeps its place among accesses that other threads see.
    is_ordered: bool,
    /// Such accesses keep their places around it.
    orders: bool,
}

impl MemoryRole {
    fn of(inst: &InFlight) -> Self {
        let visible = inst.mem.is_some_and(|m| matches!(m.space, Space::Global | Space::Shared | Space::Generic));
        let atomic = inst.mem.is_some_and(|m| matches!(m.access, Access::Atomic | Access::Reduction));
        let point = match inst.control {
            Control::BarrierSync | Control::BarrierArrive => inst.mask != 0,
            Control::Fence | Control::FenceCta | Control::AsyncCommit | Control::AsyncWait => true,
            Control::Transfer | Control::BulkCommit | Control::BulkWait | Control::BulkReadWait => true,
            Control::MatrixCommit | Control::MatrixWait => true,
            _ => false,
        };
        Self { is_ordered: visible || point, orders: visible && atomic || point }
    }
}

/// Whether an instruction of `lanes` that reads or overwrites the results of `writer` waits by its stall count alone, or
/// need not wait: compilers keep the dependences of each lane, on whatever way others are.
fn trusted(allowed: Allowances, window: Window<'_>, (writer, lanes): (InstId, LaneMask)) -> bool {
    let scheduling = window.names(writer).scheduling;
    let others = window.inst(writer).mask & lanes == 0 && lanes != 0;
    let by_count = !scheduling.counts_results() && window.inst(writer).mem.is_none();
    allowed.trusts_stall_counts && scheduling.has_bits() && (by_count || others)
}

/// Whether two accesses of a warp, one of them a write, touch a byte in common.
fn conflict(window: Window<'_>, a: InstId, b: InstId) -> bool {
    let (x, y) = (window.inst(a), window.inst(b));
    let (Some(of_x), Some(of_y)) = (x.mem, y.mem) else { return false };
    let writes = |access| matches!(access, Access::Store | Access::Atomic | Access::Reduction);
    let copies = of_x.access == Access::AsyncCopy || of_y.access == Access::AsyncCopy;
    let (dx, dy) = (window.dynamic(a), window.dynamic(b));
    if copies || dx.space != dy.space || !writes(of_x.access) && !writes(of_y.access) {
        return false;
    }
    let meet = |i: usize, j: usize| {
        let (p, q) = (dx.addresses[i], dy.addresses[j]);
        p < q.saturating_add(of_y.bytes.into()) && q < p.saturating_add(of_x.bytes.into())
    };
    if dx.space == Space::Local {
        return lanes(x.mask & y.mask).any(|i| meet(i, i));
    }
    lanes(x.mask).any(|i| lanes(y.mask).any(|j| meet(i, j)))
}

impl Observer for Auditor {
    fn cta_started(&mut self, _now: Cycle, _kernel: KernelId, _cta: Dim3, slot: CtaSlot, warps: &[WarpSlot]) {
        if self.ctas.len() <= slot.index() {
            self.ctas.resize(slot.index() + 1, Vec::new());
        }
        self.ctas[slot.index()] = warps.to_vec();
        for warp in warps {
            let tables = &mut self.warps[warp.index()];
            tables.next_order = 0;
            tables.writers.fill(None);
            tables.readers.iter_mut().for_each(Vec::clear);
        }
    }

    fn cta_finished(&mut self, now: Cycle, slot: CtaSlot) {
        for warp in std::mem::take(&mut self.ctas[slot.index()]) {
            let left = std::mem::take(&mut self.warps[warp.index()]).in_flight;
            if left > 0 {
                self.findings.note(Violation::Duplicate, || Example {
                    kernel: None,
                    cycle: now,
                    warp,
                    younger: None,
                    what: format!("its CTA ends with {} in flight", kit::text::counted(left.into(), "instruction")),
                    older: None,
                });
            }
        }
    }

    fn decoded(&mut self, now: Cycle, seen: Seen<'_>) {
        let (inst, id) = (seen.inst(), seen.id);
        if self.records.len() <= id.index() {
            self.records.resize(id.index() + 1, Record::default());
        }
        let record = &mut self.records[id.index()];
        let taken = std::mem::replace(&mut record.live, true);
        (record.warp, record.order, record.pc, record.kernel) = (inst.warp, inst.order, inst.pc, inst.kernel);
        (record.issued, record.collected, record.awaited) = (None, false, 0);
        record.dependences.clear();
        let tables = &mut self.warps[inst.warp.index()];
        let expected = std::mem::replace(&mut tables.next_order, inst.order + 1);
        tables.in_flight += 1;
        tables.unissued.push(id);
        if inst.mem.is_some() {
            tables.before_memory.push(id);
        }
        let registers = seen.window.code(id).program.regs.count();
        if tables.writers.len() < registers {
            tables.writers.resize(registers, None);
            tables.readers.resize(registers, Vec::new());
        }
        self.in_turn(now, seen, "is decoded", |r| !taken && r.order == expected);
        self.link(seen);
    }

    fn issued(&mut self, now: Cycle, _slot: usize, seen: Seen<'_>) {
        if !self.in_turn(now, seen, "issues", |r| r.issued.is_none()) {
            return;
        }
        let inst = seen.inst();
        self.records[seen.id.index()].issued = Some(now);
        if !self.allowed.renames || inst.control != Control::None {
            self.check(now, seen, "reads", |d| d.kind == Violation::Raw && !d.vector, |_, _| false);
        }
        self.has_read(seen, false);
        let tables = &mut self.warps[inst.warp.index()];
        let place = tables.unissued.iter().position(|&id| id == seen.id).expect("it has not issued");
        tables.unissued.remove(place);
        for older in 0..place {
            let older = self.warps[inst.warp.index()].unissued[older];
            self.check_overtaking(now, seen, older);
        }
        let role = MemoryRole::of(inst);
        if role.is_ordered {
            self.check_holds(now, seen);
        }
        let counts = self.is_before_fence(inst);
        let tables = &mut self.warps[inst.warp.index()];
        match inst.control {
            Control::BarrierSync if inst.mask != 0 => tables.at_barrier = true,
            Control::Fence | Control::FenceCta => tables.fenced |= tables.outstanding > 0,
            _ => {}
        }
        tables.outstanding += u32::from(counts);
    }

    fn collecting(&mut self, now: Cycle, seen: Seen<'_>, awaited: u64) {
        if self.in_turn(now, seen, "enters its collector", |r| r.issued.is_some() && !r.collected) {
            self.records[seen.id.index()].awaited = awaited;
            let renames = self.allowed.renames;
            let reads = |d: &Dependence| d.kind == Violation::Raw && (d.vector || renames) && !d.comes(awaited);
            self.check(now, seen, "reads", reads, |_, _| false);
        }
    }

    fn collected(&mut self, now: Cycle, seen: Seen<'_>) {
        if self.in_turn(now, seen, "reads its registers", |r| r.issued.is_some() && !r.collected) {
            self.collect(seen);
        }
    }

    fn operands_read(&mut self, now: Cycle, seen: Seen<'_>) {
        if self.in_turn(now, seen, "leaves its collector", |r| r.issued.is_some()) {
            self.collect(seen);
            let awaited = self.records[seen.id.index()].awaited;
            let came = |d: &Dependence| d.kind == Violation::Raw && d.comes(awaited);
            self.check(now, seen, "has received", came, |_, _| false);
        }
    }

    fn executing(&mut self, now: Cycle, seen: Seen<'_>) {
        let Some(_) = seen.inst().mem else { return };
        let warp = seen.inst().warp.index();
        let waiting = &mut self.warps[warp].before_memory;
        let Some(place) = waiting.iter().position(|&id| id == seen.id) else {
            self.in_turn(now, seen, "enters the load/store unit", |_| false);
            return;
        };
        waiting.remove(place);
        for older in 0..place {
            let older = self.warps[warp].before_memory[older];
            self.findings.dependences += 1;
            if conflict(seen.window, older, seen.id) {
                self.violate(Violation::Memory, now, seen.window, seen.id, older, "accesses memory before");
            }
        }
    }

    fn written_back(&mut self, now: Cycle, seen: Seen<'_>) {
        if !self.in_turn(now, seen, "writes back", |r| r.issued.is_some() && r.collected) {
            return;
        }
        let has_read = |d: &Dependence, r: &Record| if d.vector { r.collected } else { r.issued.is_some() };
        self.check(now, seen, "writes", |d| d.kind == Violation::War, has_read);
        self.check(now, seen, "writes", |d| d.kind == Violation::Waw, |_, _| false);
        let (inst, me) = (seen.inst(), Link::to(seen));
        let counts = self.is_before_fence(inst);
        let tables = &mut self.warps[inst.warp.index()];
        for reg in seen.window.dsts(seen.id) {
            let writer = &mut tables.writers[reg.index()];
            *writer = writer.filter(|w| *w != me);
        }
        tables.in_flight -= 1;
        tables.outstanding -= u32::from(counts);
        tables.fenced &= tables.outstanding > 0;
        self.records[seen.id.index()].live = false;
        self.findings.instructions += 1;
    }

    fn released(&mut self, _now: Cycle, warps: u128) {
        warps.iter().for_each(|warp| self.warps[warp.index()].at_barrier = false);
    }
}

kit::persist! {
    struct Auditor { findings; skip allowed, fences, warps, records, ctas }
}

//! Checks of the memory accesses of kernels, on request: accesses outside allocations that are permitted, reads
//! of what was never written, and races.
//!
//! A warp under checks executes its instructions as any other; then the check looks at the addresses that
//! the instruction reports to the timing model. Races are found by the order that barriers and atomic
//! operations make, whether or not the run suffers from them.
//!
//! | not found | because |
//! | --- | --- |
//! | races between threads of a warp | its lanes execute in lockstep here |
//! | races in global memory between warps of a CTA | the record of a word has its CTA only |
//! | reads by textures, surfaces, asynchronous copies and the copy engine, and races with the latter | their lanes need not access all that they report |
//! | an access that more than two others conflict with, for all of them | the last write and two reads of a word are known |
//! | what cores without warps do | they execute no instructions of warps |

mod findings;
mod order;
mod shadow;

pub use findings::{Finding, Findings, Hazard};

use crate::copy_engine::SeesWrites;
use crate::kernel::Kernel;
use crate::launch::Launch;
use crate::memory::{DeviceMemory, WINDOW_BYTES, WINDOWS_END, generic_space, window_base};
use crate::op::Op;
use crate::spot::spot;
use crate::warp::Warp;
use isa::{Access, CacheOp, Control, Dim3, DynInst, Inst, KernelId, MemAccess, Pc, Space};
use kit::{WARP_LANES, lanes};
use order::{CtaOrder, WarpOrder};
use shadow::{Conflict, Stamp, Word, words};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Words of a page of the shadow of global memory.
const PAGE_WORDS: u64 = 1024;

/// Accesses that are checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scope {
    /// Accesses outside allocations.
    Strays,
    /// Races that have certainly no order: a CTA is checked up to its first fence, atomic or volatile access. Its code
    /// may synchronise by memory from there on, which machine code does not show completely: `LDS` has no volatile form.
    PlainRaces,
    /// Everything.
    All,
}

/// Checks of a run, and their findings.
#[derive(Debug)]
pub(crate) struct Watch {
    scope: Scope,
    findings: Findings,
    launches: BTreeMap<KernelId, LaunchWatch>,
}

/// Global memory as the CTAs of a launch have accessed it.
#[derive(Debug, Default)]
struct LaunchWatch {
    order: CtaOrder,
    pages: BTreeMap<u64, Box<[Word]>>,
}

/// Shared memory as the warps of a CTA have accessed it.
#[derive(Debug)]
pub(crate) struct CtaWatch {
    order: WarpOrder,
    words: Vec<Word>,
    /// By word, the bytes that were written.
    written: Vec<u8>,
    /// Nothing more is checked.
    is_over: bool,
}

impl SeesWrites for CtaWatch {
    fn note_written(&mut self, address: u64, bytes: u64) {
        for (index, mask) in words(address, bytes) {
            if let Some(written) = self.written.get_mut(index as usize) {
                *written |= mask;
            }
        }
    }
}

impl CtaWatch {
    /// A CTA that has accessed nothing.
    fn new(warps: usize, shared_bytes: u32) -> Self {
        let count = shared_bytes.div_ceil(4) as usize;
        Self {
            order: WarpOrder::new(warps),
            words: vec![Word::default(); count],
            written: vec![0; count],
            is_over: false,
        }
    }
}

/// An instruction that a warp has executed.
pub(crate) struct Executed<'a> {
    pub launch: &'a Launch,
    pub warp: &'a Warp,
    pub cta: Dim3,
    pub out: &'a DynInst,
}

impl Executed<'_> {
    fn kernel(&self) -> &Arc<Kernel> {
        &self.launch.kernel
    }

    fn pc(&self) -> Pc {
        self.out.pc
    }

    fn warp_index(&self) -> usize {
        self.warp.index as usize
    }

    fn thread_number(&self, lane: usize) -> u16 {
        (self.warp_index() * WARP_LANES + lane) as u16
    }

    fn cta_number(&self) -> u32 {
        let (grid, cta) = (self.launch.grid, self.cta);
        cta.x + grid.x * (cta.y + grid.y * cta.z)
    }

    /// The access of a lane, if it is to global or shared memory.
    fn access(&self, mem: &MemAccess, lane: usize) -> Option<(Space, u64)> {
        let address = self.out.addresses[lane];
        match (mem.space, self.out.space) {
            (Space::Global, _) => Some((Space::Global, address)),
            (Space::Shared, _) => Some((Space::Shared, address)),
            // Addresses in windows are relative to them.
            (Space::Generic, _) if address >= WINDOWS_END => Some((Space::Global, address)),
            (Space::Generic, Space::Shared) if address < WINDOW_BYTES => Some((Space::Shared, address)),
            _ => None,
        }
    }

    fn finding(&self, kind: Hazard, lane: usize, what: String, earlier: Option<Pc>) -> Finding {
        Finding {
            kind,
            count: 1,
            spot: spot(self.kernel(), self.pc()),
            cta: self.cta,
            thread: self.warp.thread(lane),
            what,
            earlier: earlier.map(|pc| spot(self.kernel(), pc)),
        }
    }
}

/// `load of 4 bytes at shared address 0x10`.
fn describe(mem: &MemAccess, space: Space, address: u64) -> String {
    let verb = match mem.access {
        Access::Load => "load",
        Access::Store => "store",
        Access::Atomic | Access::Reduction => "atomic access",
        Access::AsyncCopy => "copy",
    };
    let space = if space == Space::Shared { "shared" } else { "global" };
    format!("{verb} of {} at {space} address {address:#x}", kit::text::counted(mem.bytes.into(), "byte"))
}

impl Watch {
    pub fn new(scope: Scope) -> Self {
        Self { scope, findings: Findings::default(), launches: BTreeMap::new() }
    }

    pub fn findings(&self) -> &Findings {
        &self.findings
    }

    /// Replaces the findings by earlier ones.
    pub fn set_findings(&mut self, findings: Findings) {
        self.findings = findings;
    }

    /// Watch on a CTA that starts.
    pub fn start_cta(&self, warps: usize, shared_bytes: u32) -> Option<Box<CtaWatch>> {
        (self.scope != Scope::Strays).then(|| Box::new(CtaWatch::new(warps, shared_bytes)))
    }

    /// Plain races are looked for in one launch only, whose CTAs are executed one by one.
    pub fn end_launch(&mut self, id: KernelId) {
        if self.scope == Scope::All {
            self.launches.remove(&id);
        }
    }

    /// Counts instructions that have been executed.
    pub fn count(&mut self, instructions: u64) {
        self.findings.instructions += instructions;
    }

    /// Checks an instruction that has been executed; `stray` is its first access outside allocations, if any is to
    /// be reported.
    pub fn see(
        &mut self,
        done: &Executed<'_>,
        memory: &mut DeviceMemory,
        stray: Option<u64>,
        cta: Option<&mut CtaWatch>,
    ) {
        let inst = done.kernel().program.inst(done.pc());
        if let Some(address) = stray {
            self.see_stray(done, inst.mem.as_ref(), address, memory);
        }
        let Some(cta) = cta.filter(|cta| !cta.is_over) else { return };
        cta.is_over = self.scope == Scope::PlainRaces && may_synchronise(inst);
        if cta.is_over {
            return;
        }
        let warp = done.warp_index();
        cta.order.resume(warp);
        if matches!(inst.control, Control::BarrierSync | Control::BarrierArrive) && done.out.mask != 0 {
            cta.order.arrive(warp, done.out.barrier, inst.control == Control::BarrierSync);
        }
        let op = done.kernel().code.get(done.pc().index()).map(|guarded| &guarded.op);
        if let (Some(Op::BulkCopy(_) | Op::TensorCopy(_)), Some(transfer)) = (op, &done.out.transfer)
            && transfer.kind.is_by_group()
        {
            transfer.runs.iter().for_each(|&(address, bytes)| memory.note_written(address, bytes.into()));
        }
        let Some(mem) = inst.mem.filter(|_| done.out.mask != 0 && !matches!(op, Some(Op::Surface(_)))) else { return };
        if mem.access == Access::AsyncCopy {
            for lane in lanes(done.out.mask) {
                let address = done.out.second_addresses()[lane];
                self.see_shared(done, &mem, lane, address, cta);
            }
            return;
        }
        // A CTA's accesses by one instruction are at one time.
        let strong = is_strong(&mem);
        if lanes(done.out.mask).any(|lane| matches!(done.access(&mem, lane), Some((Space::Global, _)))) {
            self.launches.entry(done.warp.launch).or_default().order.advance(done.cta_number(), strong);
        }
        for lane in lanes(done.out.mask) {
            match done.access(&mem, lane) {
                Some((Space::Shared, address)) => self.see_shared(done, &mem, lane, address, cta),
                Some((_, address)) => self.see_global(done, &mem, lane, address, memory),
                None => {}
            }
        }
    }

    fn see_stray(&mut self, done: &Executed<'_>, mem: Option<&MemAccess>, first: u64, memory: &DeviceMemory) {
        if generic_space(first) == Space::Shared {
            let address = first - window_base(Space::Shared);
            let lane = lanes(done.out.mask).find(|&lane| done.out.addresses[lane] == address).unwrap_or(0);
            self.findings.add((Hazard::OutOfBounds, done.kernel(), done.pc()), 1, || {
                let access = mem.map_or_else(|| "access".into(), |mem| describe(mem, Space::Shared, address));
                let what = format!(
                    "out-of-bounds {access}: beyond the CTA's shared memory, in the rest of its last allocation unit"
                );
                Finding { count: 1, ..done.finding(Hazard::OutOfBounds, lane, what, None) }
            });
            return;
        }
        let outside = |lane: &usize| {
            let access = mem.and_then(|mem| Some((done.access(mem, *lane)?, mem)));
            access.is_some_and(|((space, at), mem)| space == Space::Global && memory.is_outside(at, mem.bytes.into()))
        };
        let (mut bad, active) = (lanes(done.out.mask).filter(outside), done.out.mask.trailing_zeros());
        let (lane, address) = match bad.next() {
            Some(lane) => (lane, done.out.addresses[lane]),
            // The access of a texture or of a call.
            None => (active as usize % WARP_LANES, first),
        };
        let count = 1 + bad.count() as u64;
        self.findings.add((Hazard::OutOfBounds, done.kernel(), done.pc()), count, || {
            let what = mem.map_or_else(
                || format!("access to global address {address:#x}"),
                |mem| describe(mem, Space::Global, address),
            );
            let what = format!("out-of-bounds {what}: {}", memory.describe(address));
            Finding { count, ..done.finding(Hazard::OutOfBounds, lane, what, None) }
        });
    }

    fn see_shared(&mut self, done: &Executed<'_>, mem: &MemAccess, lane: usize, address: u64, cta: &mut CtaWatch) {
        let (warp, strong, writes) = (done.warp_index(), is_strong(mem), mem.access != Access::Load);
        let mut unwritten = false;
        let mut conflict = None;
        for (index, mask) in words(address, mem.bytes.into()) {
            if mem.access == Access::Atomic || mem.access == Access::Reduction {
                cta.order.synchronise(warp, index);
            }
            let CtaWatch { order, words, written, is_over: _ } = cta;
            let Some(word) = words.get_mut(index as usize) else { continue };
            let stamp = Stamp {
                who: warp as u32,
                clock: order.now(warp),
                pc: done.pc().0,
                thread: done.thread_number(lane),
                mask,
                strong,
            };
            let found = word.touch(stamp, writes, |old| order.is_before(old, warp));
            conflict = conflict.or(found);
            let written = &mut written[index as usize];
            unwritten |= reads(mem) && mask & !*written != 0;
            *written |= if writes { mask } else { 0 };
        }
        if unwritten && self.scope == Scope::All {
            let what = || format!("{}, which its CTA has not written", describe(mem, Space::Shared, address));
            self.findings.add((Hazard::UninitialisedShared, done.kernel(), done.pc()), 1, || {
                done.finding(Hazard::UninitialisedShared, lane, what(), None)
            });
        }
        if let Some((conflict, old)) = conflict {
            self.add_race(Hazard::SharedRace, done, (mem, lane, address), (conflict, old), None);
        }
    }

    fn see_global(
        &mut self,
        done: &Executed<'_>,
        mem: &MemAccess,
        lane: usize,
        address: u64,
        memory: &mut DeviceMemory,
    ) {
        let (cta, strong, writes) = (done.cta_number(), is_strong(mem), mem.access != Access::Load);
        if self.scope == Scope::All && reads(mem) && !memory.is_written(address, mem.bytes.into()) {
            self.findings.add((Hazard::UninitialisedGlobal, done.kernel(), done.pc()), 1, || {
                let what = describe(mem, Space::Global, address);
                let what = format!("{what}, which was never written: {}", memory.describe(address));
                done.finding(Hazard::UninitialisedGlobal, lane, what, None)
            });
        }
        if writes {
            memory.note_written(address, mem.bytes.into());
        }
        let LaunchWatch { order, pages } = self.launches.entry(done.warp.launch).or_default();
        let mut conflict = None;
        for (index, mask) in words(address, mem.bytes.into()) {
            let page =
                pages.entry(index / PAGE_WORDS).or_insert_with(|| vec![Word::default(); PAGE_WORDS as usize].into());
            let (clock, pc, thread) = (order.now, done.pc().0, done.thread_number(lane));
            let stamp = Stamp { who: cta, clock, pc, thread, mask, strong };
            let found = page[(index % PAGE_WORDS) as usize].touch(stamp, writes, |old| order.is_before(old, cta));
            conflict = conflict.or(found);
        }
        if let Some((conflict, old)) = conflict {
            let nearest = memory.describe(address);
            self.add_race(Hazard::GlobalRace, done, (mem, lane, address), (conflict, old), Some(nearest));
        }
    }

    fn add_race(
        &mut self,
        kind: Hazard,
        done: &Executed<'_>,
        (mem, lane, address): (&MemAccess, usize, u64),
        (conflict, old): (Conflict, Stamp),
        allocation: Option<String>,
    ) {
        self.findings.add((kind, done.kernel(), done.pc()), 1, || {
            let space = if kind == Hazard::SharedRace { Space::Shared } else { Space::Global };
            let who = done.launch.block.position(u64::from(old.thread));
            let (of, between) = match kind {
                Hazard::SharedRace => (String::new(), "no barrier between them"),
                _ => (
                    format!(" of CTA {}", done.launch.grid.position(old.who.into())),
                    "no synchronisation between them",
                ),
            };
            let earlier = spot(done.kernel(), Pc(old.pc));
            let place = if earlier.place.is_empty() { String::new() } else { format!(" at {}", earlier.place) };
            let what = format!(
                "{}, {} by thread {who}{of}{place} (instruction {}: {}) with {between}{}",
                describe(mem, space, address),
                conflict.earlier(),
                old.pc,
                earlier.text,
                allocation.map_or(String::new(), |allocation| format!("; {allocation}"))
            );
            done.finding(kind, lane, what, Some(Pc(old.pc)))
        });
    }
}

/// Whether threads may have an order by memory from an instruction on.
pub(crate) fn may_synchronise(inst: &Inst) -> bool {
    matches!(inst.control, Control::Fence | Control::FenceCta) || inst.mem.as_ref().is_some_and(is_strong)
}

/// Whether an access synchronises: two such accesses are not a race.
pub(crate) fn is_strong(mem: &MemAccess) -> bool {
    matches!(mem.access, Access::Atomic | Access::Reduction) || matches!(mem.cache, CacheOp::Volatile | CacheOp::L2)
}

/// Whether an access uses what is in memory.
fn reads(mem: &MemAccess) -> bool {
    matches!(mem.access, Access::Load | Access::Atomic | Access::Reduction)
}

//! Groups of lanes in machine code, where each lane has a program counter: where they diverge, and where all
//! of them certainly meet.
//!
//! Lanes that diverge at a branch are apart until a `BSYNC` that brings all live lanes together, or to the
//! end of the kernel if there is none. A `BSYNC` does so if only one `BSSY` can have set its convergence
//! barrier, all live lanes executed that together, and nothing has intervened: no `BREAK`, no other
//! instruction that sets that barrier while lanes are apart, no other `BSYNC` for the same `BSSY`. The same
//! holds for the only `WARPSYNC` that lanes reach apart, if it names all lanes.
//!
//! A `CALL` whose target reaches a `RET` returns to the instruction after the `CALL`, as in all compiled
//! code. A call that never returns is a jump. The targets of other indirect branches are unknown: all
//! registers of such a kernel count as partly written.

use crate::cfg::{Flow, Graph};
use exec::kernel::{Guarded, Kernel};
use exec::lanes::{Pred, Reg};
use exec::op::Op;
use exec::operand::Use;
use exec::steer::Steer;
use exec::uses;
use kit::BitSet;
use sass::decode::INSTRUCTION_BYTES;
use std::collections::{BTreeSet, HashMap};
use std::ops::Range;

/// Convergence barrier registers B0 to B15.
pub(super) const BARRIERS: usize = 16;

/// Properties of machine code that the analysis needs besides its operations.
pub(crate) struct Machine<'a> {
    /// Instructions that are a `CALL`, in ascending order.
    pub calls: &'a [u32],
    /// Instructions that are a `RET`, in ascending order.
    pub returns: &'a [u32],
    /// Uniform registers and predicates.
    pub uniform: [Range<u16>; 2],
    pub barriers: Range<u16>,
    /// Holds the return address of a collective stretch.
    pub collective: Reg,
    /// The first register and predicate that are only used within an instruction.
    pub scratch: [u16; 2],
}

/// Which `BSSY` set a convergence barrier.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Slot {
    /// None, or all its lanes have met since.
    Shut,
    /// This `BSSY`, executed by all live lanes together.
    Open(u32),
    Unknown,
}

/// State before an instruction.
#[derive(Clone, Debug)]
pub(super) struct State {
    /// Registers, followed by predicates, that may differ between lanes that are together.
    pub varying: BitSet,
    /// Some live lanes may be at another program counter.
    pub apart: bool,
    /// Convergence barriers of machine code.
    pub slots: [Slot; BARRIERS],
}

/// A function that is called and returns.
#[derive(Debug, Default)]
pub(super) struct Routine {
    /// Its `RET`s.
    pub returns: Vec<u32>,
    /// Convergence barriers that instructions name and that it may reach, one bit each.
    pub touches: u16,
    /// Registers, followed by predicates, that it may write; it preserves the others.
    pub writes: BitSet,
    /// State where it returns.
    pub after: Option<State>,
    /// The blocks that end in its calls.
    pub callers: Vec<usize>,
}

/// State of a kernel's groups of lanes as a whole. It only ever becomes less certain.
pub(super) struct Groups<'a> {
    pub machine: &'a Machine<'a>,
    /// Called functions, by their first instruction.
    pub routines: HashMap<u32, Routine>,
    /// `BSSY`s whose lanes may not all meet.
    pub unsure: BitSet,
    /// The `BSYNC` of each `BSSY`.
    pub meets: HashMap<u32, u32>,
    /// The `WARPSYNC` that lanes reach apart; several are one that is unsure.
    pub sync: Option<u32>,
    pub several_syncs: bool,
    pub less_is_sure: bool,
    /// An indirect branch may have any target.
    pub unknown_target: bool,
}

pub(super) fn conditional(guard: Pred, p: Pred) -> bool {
    guard != Pred::TRUE || p != Pred::TRUE
}

/// Successors of each instruction; for calls, the called function.
pub(super) fn flow(kernel: &Kernel, machine: &Machine<'_>) -> Vec<Flow> {
    let code = &kernel.code;
    let last = code.len() as u32;
    let (mut begins, mut backs) = (Vec::new(), Vec::new());
    for (at, g) in (0..last).zip(code) {
        if let Op::Steer(Steer::Collective(_, _, back)) = g.op {
            begins.push(at + 1);
            backs.push(back / INSTRUCTION_BYTES as u32);
        }
    }
    let within = |targets: &[u32]| targets.iter().copied().filter(|&t| t < last).collect();
    let one = |g: &Guarded| {
        let falls_through = g.guard != Pred::TRUE;
        let Some(steer) = steering(kernel, &g.op) else {
            return if let Op::Trap = g.op { Flow { falls_through, targets: Vec::new() } } else { Flow::next() };
        };
        match steer {
            Steer::Branch(target, p) | Steer::BranchIfAny(target, p) => {
                Flow { falls_through: conditional(g.guard, p), targets: within(&[target]) }
            }
            Steer::BranchIfDiverged(target, ..) => Flow { falls_through: true, targets: within(&[target]) },
            // Lanes of all stretches continue after one.
            Steer::Collective(..) => Flow { falls_through: true, targets: within(&begins) },
            // `ENDCOLLECTIVE`.
            Steer::BranchIndirect(base, ..) if base == machine.collective => {
                Flow { falls_through, targets: within(&backs) }
            }
            Steer::BranchIndirect(_, _, p) | Steer::Exit(p) => {
                Flow { falls_through: conditional(g.guard, p), targets: Vec::new() }
            }
            _ => Flow::next(),
        }
    };
    code.iter().map(one).collect()
}

impl<'a> Groups<'a> {
    pub fn new(kernel: &Kernel, machine: &'a Machine<'a>, graph: &Graph) -> Self {
        let mut groups = Self {
            machine,
            routines: HashMap::new(),
            unsure: BitSet::new(kernel.code.len()),
            meets: HashMap::new(),
            sync: None,
            several_syncs: false,
            less_is_sure: false,
            unknown_target: false,
        };
        for &call in machine.calls {
            if let Op::Steer(Steer::Branch(target, _)) = kernel.code[call as usize].op {
                let caller = graph.block_of(call);
                groups.routines.entry(target).or_default().callers.push(caller);
            }
        }
        let entries: HashMap<usize, u32> =
            groups.routines.keys().map(|&entry| (graph.block_of(entry), entry)).collect();
        let (mut called, mut reached) = (Vec::with_capacity(entries.len()), vec![false; graph.blocks()]);
        for (&entry, routine) in &mut groups.routines {
            let mut own = machine.reach(&[entry], graph, false, &mut reached);
            let is_own = |r: &u32| own.binary_search(&graph.block_of(*r)).is_ok();
            routine.returns = machine.returns.iter().copied().filter(is_own).collect();
            let calls = own.iter().filter(|&&b| machine.is_call(graph.range(b).end - 1));
            let targets: BTreeSet<usize> = calls.flat_map(|&b| graph.successors(b)).map(|&b| b as usize).collect();
            let (routines, others): (Vec<usize>, Vec<usize>) = targets.iter().partition(|&b| entries.contains_key(b));
            // Targets of other calls, with all that these call.
            let others = others.into_iter().filter(|block| own.binary_search(block).is_err());
            let begins: Vec<u32> = others.map(|block| graph.range(block).start).collect();
            if !begins.is_empty() {
                let begins: Vec<u32> = begins.into_iter().chain([entry]).collect();
                own = machine.reach(&begins, graph, true, &mut reached);
            }
            (routine.touches, routine.writes) = footprint(kernel, graph, machine, &own);
            called.push((entry, routines.into_iter().map(|block| entries[&block]).collect()));
        }
        groups.add_called(&called);
        groups
    }

    /// Adds to each routine all that its callees touch and write. `called`: each routine with its callees.
    fn add_called(&mut self, called: &[(u32, Vec<u32>)]) {
        let mut is_settled = false;
        while !std::mem::replace(&mut is_settled, true) {
            for (entry, others) in called {
                for other in others {
                    let (touches, writes) = (self.routines[other].touches, self.routines[other].writes.clone());
                    let routine = self.routines.get_mut(entry).expect("it is a routine");
                    let is_new = touches & !routine.touches != 0;
                    routine.touches |= touches;
                    is_settled &= !(routine.writes.union_with(&writes) || is_new);
                }
            }
        }
    }

    /// Whether the state has become less certain since the last call.
    pub fn less_is_sure(&mut self) -> bool {
        std::mem::take(&mut self.less_is_sure)
    }

    pub fn doubt(&mut self, slot: Slot) {
        if let Slot::Open(begin) = slot {
            self.less_is_sure |= self.unsure.insert(begin as usize);
        }
    }

    /// Joins the states of two paths. Returns whether `known` changes.
    pub fn join(&mut self, known: &mut [Slot; BARRIERS], other: &[Slot; BARRIERS]) -> bool {
        let mut changed = false;
        for (known, &other) in known.iter_mut().zip(other) {
            if *known != other {
                self.doubt(*known);
                self.doubt(other);
                changed |= *known != Slot::Unknown;
                *known = Slot::Unknown;
            }
        }
        changed
    }

    /// An instruction writes a register. If it is a convergence barrier, no lane waits at it for a `BSSY` any
    /// more. `all`: for all live lanes.
    pub fn overwrite(&mut self, register: usize, all: bool, slots: &mut [Slot; BARRIERS]) {
        let first = usize::from(self.machine.barriers.start);
        let Some(slot) = register.checked_sub(first).and_then(|n| slots.get_mut(n)) else { return };
        if all {
            *slot = Slot::Shut;
        } else {
            self.doubt(*slot);
            *slot = Slot::Unknown;
        }
    }

    /// Whether it is a uniform register or predicate: lanes that execute together read one value.
    pub fn is_of_warp(&self, register: usize, columns: usize) -> bool {
        let [registers, predicates] = &self.machine.uniform;
        match register.checked_sub(columns) {
            Some(p) => predicates.contains(&(p as u16)),
            None => registers.contains(&(register as u16)),
        }
    }

    /// Whether it is only used within an instruction.
    pub fn is_scratch(&self, register: usize, columns: usize) -> bool {
        let [first, first_predicate] = self.machine.scratch;
        match register.checked_sub(columns) {
            Some(p) => p >= first_predicate.into(),
            None => register >= first.into(),
        }
    }

    /// All lanes of a `BSSY` meet. Returns whether these are all live lanes.
    pub fn meet(&mut self, at: u32, slot: Slot, guarded: bool) -> bool {
        let Slot::Open(begin) = slot else { return false };
        if guarded || *self.meets.entry(begin).or_insert(at) != at {
            self.doubt(slot);
        }
        !self.unsure.contains(begin as usize)
    }

    /// Lanes apart reach a `WARPSYNC`. Returns whether all live lanes meet there.
    pub fn sync(&mut self, at: u32, all: bool) -> bool {
        if *self.sync.get_or_insert(at) != at && !self.several_syncs {
            (self.several_syncs, self.less_is_sure) = (true, true);
        }
        all && !self.several_syncs
    }
}

impl Machine<'_> {
    pub fn is_call(&self, at: u32) -> bool {
        self.calls.binary_search(&at).is_ok()
    }

    /// Blocks that can be reached from instructions, in order, stepping over calls; with `into`, also through called
    /// functions. `reached` is false for all blocks before and after.
    fn reach(&self, from: &[u32], graph: &Graph, into: bool, reached: &mut [bool]) -> Vec<usize> {
        let mut all = Vec::new();
        let mut next: Vec<usize> = from.iter().map(|&at| graph.block_of(at)).collect();
        while let Some(block) = next.pop() {
            if std::mem::replace(&mut reached[block], true) {
                continue;
            }
            all.push(block);
            let last = graph.range(block).end - 1;
            let call = self.is_call(last);
            if call && block + 1 < graph.blocks() {
                next.push(block + 1);
            }
            if !call || into {
                next.extend(graph.successors(block).iter().map(|&b| b as usize));
            }
        }
        all.iter().for_each(|&block| reached[block] = false);
        all.sort_unstable();
        all
    }
}

/// Convergence barriers that instructions of the blocks name or write, and everything that they write.
fn footprint(kernel: &Kernel, graph: &Graph, machine: &Machine<'_>, blocks: &[usize]) -> (u16, BitSet) {
    let (columns, predicates) = kernel.files();
    let (mut touched, mut written) = (0, BitSet::new(columns + predicates));
    let mut touch = |register: u16| {
        if machine.barriers.contains(&register) {
            touched |= 1 << (register - machine.barriers.start);
        }
    };
    for at in blocks.iter().flat_map(|&b| graph.range(b)) {
        for op in steps(kernel, &kernel.code[at as usize].op) {
            if let Op::Steer(Steer::Meet(_, barrier) | Steer::Leave(_, barrier, _)) = op {
                touch(barrier.0);
            }
            uses(op, &kernel.matrix, &kernel.calls, &mut |u| match u {
                Use::Write(r, n) => (r.0..r.0 + u16::from(n)).for_each(|c| {
                    touch(c);
                    written.insert(c.into());
                }),
                Use::WritePred(p) => p.number().into_iter().for_each(|n| {
                    written.insert(columns + usize::from(n));
                }),
                Use::Read(..) | Use::ReadPred(_) => {}
            });
        }
    }
    (touched, written)
}

/// Effect of an instruction on the groups of lanes: its last operation's, if any.
pub(super) fn steering(kernel: &Kernel, op: &Op) -> Option<Steer> {
    match steps(kernel, op).last() {
        Some(&Op::Steer(steer)) => Some(steer),
        _ => None,
    }
}

/// The operations of an instruction.
pub(super) fn steps<'a>(kernel: &'a Kernel, op: &'a Op) -> &'a [Op] {
    match (op, &kernel.machine) {
        (&Op::Sequence(first, count), Some(machine)) => &machine.sequences[first as usize..][..count.into()],
        _ => std::slice::from_ref(op),
    }
}

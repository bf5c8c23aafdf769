//! Lanes of machine code, which each have a program counter: where they part, and where all of them
//! meet for sure.
//!
//! Lanes that part at a branch are apart until a `BSYNC` that brings all live lanes together, and to
//! the end of the kernel if there is none. A `BSYNC` does so if only one `BSSY` can have set its
//! convergence barrier, which all live lanes executed together, and nothing has come between them: no
//! `BREAK`, no other instruction that sets that barrier apart, no other `BSYNC` for the same `BSSY`. The
//! same holds of the one `WARPSYNC` that lanes apart come to, if it names all lanes.
//!
//! A `CALL` whose target comes to a `RET` returns behind the `CALL`: so do all that compilers emit.
//! A call that never returns is a jump. Of an indirect branch of another kind the targets are not
//! known: all registers of such a kernel count as partly written.

use crate::cfg::{Flow, Graph};
use exec::kernel::{Guarded, Kernel};
use exec::lanes::{Pred, Reg};
use exec::op::Op;
use exec::operand::Use;
use exec::steer::Steer;
use exec::uses;
use kit::BitSet;
use sass::decode::INSTRUCTION_BYTES;
use std::collections::HashMap;
use std::ops::Range;

/// Convergence barrier registers B0 to B15.
pub(super) const BARRIERS: usize = 16;

/// What the analysis must know of machine code beyond its operations.
pub(crate) struct Machine<'a> {
    /// Instructions that are a `CALL`, ascending.
    pub calls: &'a [u32],
    /// Instructions that are a `RET`, ascending.
    pub returns: &'a [u32],
    /// Registers and predicates that the warp has only one of.
    pub uniform: [Range<u16>; 2],
    /// Convergence barriers.
    pub barriers: Range<u16>,
    /// Where lanes go after a collective stretch.
    pub collective: Reg,
    /// The first register and predicate that hold nothing beyond an instruction.
    pub scratch: [u16; 2],
}

/// Who set a convergence barrier.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Slot {
    /// Nobody, or all have met at it since.
    Shut,
    /// This `BSSY`, executed by all live lanes together.
    Open(u32),
    /// Cannot be said.
    Unknown,
}

/// What is known before an instruction.
#[derive(Clone, Debug)]
pub(super) struct State {
    /// Registers and, behind them, predicates that may differ between lanes that are together.
    pub varying: BitSet,
    /// Live lanes may be elsewhere.
    pub apart: bool,
    /// Convergence barriers of machine code.
    pub slots: [Slot; BARRIERS],
}

/// A function that is called and returns.
#[derive(Debug, Default)]
pub(super) struct Routine {
    /// Its `RET`s.
    pub returns: Vec<u32>,
    /// Convergence barriers that instructions name which it may come to, a bit each.
    pub touches: u16,
    /// Registers and, behind them, predicates that it may write: the others come back as they went.
    pub writes: BitSet,
    /// What is known where it returns.
    pub after: Option<State>,
    /// The blocks that end in its calls.
    pub callers: Vec<usize>,
}

/// What is known of a kernel's groups of lanes as a whole. It only ever gets less.
pub(super) struct Groups<'a> {
    pub machine: &'a Machine<'a>,
    /// By their first instruction.
    pub routines: HashMap<u32, Routine>,
    /// `BSSY`s whose lanes may not all meet.
    pub unsure: BitSet,
    /// The `BSYNC` of each `BSSY`.
    pub meets: HashMap<u32, u32>,
    /// The `WARPSYNC` that lanes apart come to, and whether there are several.
    pub sync: Option<u32>,
    pub several_syncs: bool,
    pub less_is_sure: bool,
    /// An indirect branch may go anywhere.
    pub unknown_target: bool,
}

pub(super) fn conditional(guard: Pred, p: Pred) -> bool {
    guard != Pred::TRUE || p != Pred::TRUE
}

/// Where control goes from each instruction; of calls, into the function.
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
            // Lanes of all of them go on behind one.
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
        for (&entry, routine) in &mut groups.routines {
            let own = machine.reach(entry, graph, false);
            routine.returns = machine.returns.iter().copied().filter(|&r| own[graph.block_of(r)]).collect();
            let all = machine.reach(entry, graph, true);
            (routine.touches, routine.writes) = footprint(kernel, graph, machine, &all);
        }
        groups
    }

    /// Whether less is sure than when this was last asked.
    pub fn less_is_sure(&mut self) -> bool {
        std::mem::take(&mut self.less_is_sure)
    }

    pub fn doubt(&mut self, slot: Slot) {
        if let Slot::Open(begin) = slot {
            self.less_is_sure |= self.unsure.insert(begin as usize);
        }
    }

    /// Joins what is known on two ways; whether `known` changes.
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

    /// An instruction writes a register. If it is a convergence barrier, nobody waits at it for a `BSSY`
    /// any more; `all`: of all live lanes.
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

    /// Whether the warp has only one of it, which all lanes see.
    pub fn is_of_warp(&self, register: usize, columns: usize) -> bool {
        let [registers, predicates] = &self.machine.uniform;
        match register.checked_sub(columns) {
            Some(p) => predicates.contains(&(p as u16)),
            None => registers.contains(&(register as u16)),
        }
    }

    /// Whether it holds nothing beyond an instruction.
    pub fn is_scratch(&self, register: usize, columns: usize) -> bool {
        let [first, first_predicate] = self.machine.scratch;
        match register.checked_sub(columns) {
            Some(p) => p >= first_predicate.into(),
            None => register >= first.into(),
        }
    }

    /// All lanes of a `BSSY` meet; whether these are all live ones.
    pub fn meet(&mut self, at: u32, slot: Slot, guarded: bool) -> bool {
        let Slot::Open(begin) = slot else { return false };
        if guarded || *self.meets.entry(begin).or_insert(at) != at {
            self.doubt(slot);
        }
        !self.unsure.contains(begin as usize)
    }

    /// Lanes apart come to a `WARPSYNC`; whether all live ones meet there.
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

    /// Blocks that are reached from an instruction; over calls, and if `into` through them too.
    fn reach(&self, from: u32, graph: &Graph, into: bool) -> Vec<bool> {
        let mut reached = vec![false; graph.blocks()];
        let mut next = vec![graph.block_of(from)];
        while let Some(block) = next.pop() {
            if std::mem::replace(&mut reached[block], true) {
                continue;
            }
            let last = graph.range(block).end - 1;
            let call = self.is_call(last);
            if call && block + 1 < graph.blocks() {
                next.push(block + 1);
            }
            if !call || into {
                next.extend(graph.successors(block).iter().map(|&b| b as usize));
            }
        }
        reached
    }
}

/// Convergence barriers that instructions of the blocks name or write, and all that they write.
fn footprint(kernel: &Kernel, graph: &Graph, machine: &Machine<'_>, blocks: &[bool]) -> (u16, BitSet) {
    let (columns, predicates) = kernel.files();
    let (mut touched, mut written) = (0, BitSet::new(columns + predicates));
    let mut touch = |register: u16| {
        if machine.barriers.contains(&register) {
            touched |= 1 << (register - machine.barriers.start);
        }
    };
    for at in (0..blocks.len()).filter(|&b| blocks[b]).flat_map(|b| graph.range(b)) {
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

/// What an instruction does to the groups of lanes: the last of its operations, if it does anything.
pub(super) fn steering(kernel: &Kernel, op: &Op) -> Option<Steer> {
    match steps(kernel, op).last() {
        Some(&Op::Steer(steer)) => Some(steer),
        _ => None,
    }
}

/// The operations that an instruction is made of.
pub(super) fn steps<'a>(kernel: &'a Kernel, op: &'a Op) -> &'a [Op] {
    match (op, &kernel.machine) {
        (&Op::Sequence(first, count), Some(machine)) => &machine.sequences[first as usize..][..count.into()],
        _ => std::slice::from_ref(op),
    }
}

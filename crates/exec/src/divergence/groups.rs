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

use super::{Analysis, Machine, State};
use crate::cfg::{Flow, Graph};
use crate::kernel::{Guarded, Kernel};
use crate::lanes::{Pred, Reg};
use crate::lower::uses;
use crate::machine::Steer;
use crate::op::{Op, Use};
use kit::BitSet;
use sass::decode::INSTRUCTION_BYTES;
use std::collections::HashMap;

/// Convergence barrier registers B0 to B15.
pub(super) const BARRIERS: usize = 16;

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

/// A function that is called and returns.
#[derive(Debug, Default)]
struct Routine {
    /// Its `RET`s.
    returns: Vec<u32>,
    /// Convergence barriers that instructions name which it may come to, a bit each.
    touches: u16,
    /// Registers and, behind them, predicates that it may write: the others come back as they went.
    writes: BitSet,
    /// What is known where it returns.
    after: Option<State>,
    /// The blocks that end in its calls.
    callers: Vec<usize>,
}

/// What is known of a kernel's groups of lanes as a whole. It only ever gets less.
pub(super) struct Groups<'a> {
    machine: &'a Machine<'a>,
    /// By their first instruction.
    routines: HashMap<u32, Routine>,
    /// `BSSY`s whose lanes may not all meet.
    unsure: BitSet,
    /// The `BSYNC` of each `BSSY`.
    meets: HashMap<u32, u32>,
    /// The `WARPSYNC` that lanes apart come to, and whether there are several.
    sync: Option<u32>,
    several_syncs: bool,
    less_is_sure: bool,
    /// An indirect branch may go anywhere.
    pub unknown_target: bool,
}

fn conditional(guard: Pred, p: Pred) -> bool {
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
        let Some(steer) = super::steering(kernel, &g.op) else {
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

    fn doubt(&mut self, slot: Slot) {
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
    fn meet(&mut self, at: u32, slot: Slot, guarded: bool) -> bool {
        let Slot::Open(begin) = slot else { return false };
        if guarded || *self.meets.entry(begin).or_insert(at) != at {
            self.doubt(slot);
        }
        !self.unsure.contains(begin as usize)
    }

    /// Lanes apart come to a `WARPSYNC`; whether all live ones meet there.
    fn sync(&mut self, at: u32, all: bool) -> bool {
        if *self.sync.get_or_insert(at) != at && !self.several_syncs {
            (self.several_syncs, self.less_is_sure) = (true, true);
        }
        all && !self.several_syncs
    }
}

impl Machine<'_> {
    fn is_call(&self, at: u32) -> bool {
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
        for op in super::steps(kernel, &kernel.code[at as usize].op) {
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

impl Analysis<'_> {
    /// What an instruction does to the groups of lanes. `part`: it may be executed in a part of the
    /// live lanes.
    pub(super) fn steer(&mut self, at: u32, steer: Steer, guard: Pred, part: bool, state: &mut State) {
        let guarded = guard != Pred::TRUE;
        let parts = self.varies(state, guard);
        let kernel = self.kernel;
        let all_lanes = |r: Reg| r.is_constant() && kernel.constants[usize::from(r.0 - Reg::CONSTANTS)][0] == !0;
        match steer {
            Steer::Branch(_, p) => state.apart |= parts || self.varies(state, p),
            Steer::BranchIfDiverged(..) => state.apart |= parts,
            Steer::BranchIndirect(r, _, p) => {
                state.apart |= parts || self.varies(state, p) || self.column_varies(state, r);
                self.go_back(at, r, state);
            }
            Steer::CtaBarrier { .. } | Steer::Collective(..) => {
                state.apart |= matches!(steer, Steer::Collective(r, ..) if self.column_varies(state, r));
                self.operate(at, &Op::Steer(steer), (part, !guarded), state);
            }
            Steer::Exit(_) | Steer::Yield | Steer::BranchIfAny(..) => {}
            Steer::Gather(..) | Steer::Meet(..) | Steer::Leave(..) | Steer::WarpSync(..) => {
                let differ = matches!(steer, Steer::WarpSync(r, _) if self.column_varies(state, r));
                let Some(groups) = &mut self.machine else { return };
                match steer {
                    Steer::WarpSync(..) if differ => state.apart = true,
                    Steer::Gather(n, ..) => {
                        let slot = &mut state.slots[usize::from(n) % BARRIERS];
                        if part || guarded {
                            groups.doubt(*slot);
                            *slot = Slot::Unknown;
                        } else {
                            *slot = Slot::Open(at);
                        }
                    }
                    Steer::Meet(n, _) => {
                        let slot = std::mem::replace(&mut state.slots[usize::from(n) % BARRIERS], Slot::Shut);
                        state.apart &= !groups.meet(at, slot, guarded);
                    }
                    Steer::Leave(n, ..) => groups.doubt(state.slots[usize::from(n) % BARRIERS]),
                    Steer::WarpSync(r, _) if state.apart => state.apart = !groups.sync(at, !guarded && all_lanes(r)),
                    _ => {}
                }
            }
        }
    }

    /// `RET`, `ENDCOLLECTIVE`, or an indirect branch that may go anywhere.
    fn go_back(&mut self, at: u32, base: Reg, state: &State) {
        let Some(groups) = &mut self.machine else { return };
        if base == groups.machine.collective {
            return;
        }
        if groups.machine.returns.binary_search(&at).is_err() {
            groups.unknown_target = true;
            return;
        }
        for routine in groups.routines.values_mut().filter(|r| r.returns.contains(&at)) {
            let changed = match &mut routine.after {
                Some(after) => {
                    let changed = after.varying.union_with(&state.varying) | (state.apart && !after.apart);
                    after.apart |= state.apart;
                    changed
                }
                unknown => {
                    *unknown = Some(state.clone());
                    true
                }
            };
            if changed {
                routine.callers.iter().for_each(|&block| self.due[block] = true);
            }
        }
    }

    /// Goes on behind a block of machine code.
    pub(super) fn leave_as_group(&mut self, block: usize, state: &State) {
        let last = self.graph.range(block).end - 1;
        let Guarded { op, guard, .. } = self.kernel.code[last as usize];
        let Some(steer) = super::steering(self.kernel, &op) else { return self.leave(block, state) };
        match steer {
            // Lanes that are together are not diverged.
            Steer::BranchIfDiverged(_, _, true) if !state.apart => self.fall_through(block, state),
            Steer::Branch(target, p) => {
                let groups = self.machine.as_mut();
                let routine = groups.filter(|g| g.machine.is_call(last)).and_then(|g| {
                    let routine = g.routines.get(&target).filter(|r| !r.returns.is_empty())?;
                    let touches = routine.touches;
                    let after = routine.after.as_ref().map(|after| {
                        let mut varying = state.varying.clone();
                        for register in routine.writes.iter() {
                            if after.varying.contains(register) {
                                varying.insert(register);
                            } else {
                                varying.remove(register);
                            }
                        }
                        (varying, after.apart || state.apart)
                    });
                    let mut slots = state.slots;
                    for (n, slot) in slots.iter_mut().enumerate() {
                        if touches >> n & 1 == 1 {
                            g.doubt(*slot);
                            *slot = Slot::Unknown;
                        }
                    }
                    Some(after.map(|(varying, apart)| State { varying, apart, slots }))
                });
                let Some(behind) = routine else { return self.leave(block, state) };
                let within = State { slots: [Slot::Unknown; BARRIERS], ..state.clone() };
                self.flow_to(self.graph.block_of(target), &within);
                if let Some(behind) = behind {
                    self.fall_through(block, &behind);
                }
                if conditional(guard, p) {
                    self.fall_through(block, state);
                }
            }
            _ => self.leave(block, state),
        }
    }

    fn fall_through(&mut self, block: usize, state: &State) {
        if block + 1 < self.graph.blocks() {
            self.flow_to(block + 1, state);
        }
    }
}

//! Execution of machine code: what its kernels have beyond those of PTX, and how lanes are steered.

use crate::convergence::{Gathering, Stuck};
use crate::fault::{Outcome, Trap};
use crate::interpret::{Environment, arrive, operate};
use crate::kernel::{Guarded, Kernel};
use crate::lanes::{Column, Lanes, Pred, Reg};
use crate::memory::{DeviceMemory, LOCAL_WINDOW, SHARED_WINDOW};
use crate::op::{BarrierOp, Destination, Op, Use};
use crate::warp::Warp;
use isa::{Dim3, DynInst};
use kit::{LaneMask, WARP_LANES, lanes};
use sass::decode::INSTRUCTION_BYTES;

/// What a kernel of machine code has beyond one of PTX.
#[derive(Clone, Debug, Default)]
pub struct MachineCode {
    /// Where parameters start in constant bank 0.
    pub parameter_base: u32,
    /// Offset in constant bank 0 of the device address of constant bank 3, and that address:
    /// code that is not optimised reads `__constant__` variables with it.
    pub constants_base: (u32, u64),
    /// Constants whose value a launch decides.
    pub launch_words: Vec<LaunchWord>,
    /// The operations of [`Op::Sequence`].
    pub sequences: Vec<Op>,
    /// Control bits of each instruction: see [`Kernel::control_words`].
    pub control_words: Vec<u32>,
    /// The first instruction of each function that memory holds a pointer to: see [`POINTERS`].
    pub functions: Vec<u32>,
    /// Column of the first uniform register.
    pub first_uniform: u16,
    /// Columns of a warp: general, uniform and convergence barrier registers, then those that only
    /// sequences use.
    pub columns: usize,
    /// Predicates of a warp: general and uniform ones, then those that only sequences use.
    pub predicates: usize,
}

/// The first pointer to a function in memory; the next one is an instruction's bytes further. Each kernel has
/// its functions elsewhere, so that these are numbers, above the addresses of code.
pub const POINTERS: u64 = 1 << 31;

/// A word that becomes one of the kernel's constants when it is launched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LaunchWord {
    /// Number of the constant.
    pub constant: u16,
    /// Where the word stands.
    pub source: WordSource,
}

/// Where a word stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WordSource {
    /// At an offset of constant bank 0: shape and parameters of the launch.
    LaunchBank(u32),
    /// At an address of device memory: `__constant__` variables.
    Memory(u64),
}

/// What an instruction does to the groups of lanes of its warp.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Steer {
    /// `BSSY`: the executing lanes will meet at convergence barrier number and register, and go on from
    /// an instruction.
    Gather(u8, Reg, u32),
    /// `BSYNC`: waits for the lanes of convergence barrier number and register.
    Meet(u8, Reg),
    /// `BREAK`: the lanes where the guard and the predicate hold will not come to convergence barrier
    /// number and register.
    Leave(u8, Reg, Pred),
    /// `WARPSYNC`: waits for the lanes in a register; true: lanes that name others go on apart
    /// (`.EXCLUSIVE`).
    WarpSync(Reg, bool),
    /// `WARPSYNC.COLLECTIVE`: the lanes in a register run the next instructions as one group, up to
    /// `ENDCOLLECTIVE`, which sends each to the byte address that a second register now takes.
    Collective(Reg, Reg, u32),
    /// `YIELD`.
    Yield,
    /// `BRA`, `CALL`: to an instruction, where the guard and the predicate hold.
    Branch(u32, Pred),
    /// `BRA.U.ANY`: all active lanes go, if the guard and the predicate hold in one of them.
    BranchIfAny(u32, Pred),
    /// `BRA.DIV` (true) and `BRA.CONV` (false): if the lanes in the register do not all execute it, or do.
    BranchIfDiverged(u32, Reg, bool),
    /// `BRX`, `BRXU`, `RET`: to the byte address in a register plus a number, where the guard and the
    /// predicate hold.
    BranchIndirect(Reg, i64, Pred),
    /// `EXIT`, where the guard and the predicate hold.
    Exit(Pred),
    /// `BAR`.
    CtaBarrier {
        /// What it does.
        op: BarrierOp,
        /// Barrier number.
        id: Reg,
        /// Threads, if not all.
        threads: Option<Reg>,
        /// Takes the count of a reduction.
        d: Option<Destination>,
        /// Operand of a reduction.
        p: Pred,
    },
}

impl Steer {
    /// Tells `f` each register and predicate that is used.
    pub(crate) fn uses(self, f: &mut impl FnMut(Use)) {
        match self {
            Steer::Gather(_, b, _) => f(Use::Write(b, 1)),
            Steer::Collective(lanes, back, _) => {
                f(Use::Write(back, 1));
                f(Use::Read(lanes, 1));
            }
            Steer::Meet(_, r) | Steer::WarpSync(r, _) | Steer::BranchIfDiverged(_, r, _) => f(Use::Read(r, 1)),
            Steer::BranchIndirect(r, _, p) | Steer::Leave(_, r, p) => {
                f(Use::Read(r, 1));
                f(Use::ReadPred(p));
            }
            Steer::Branch(_, p) | Steer::BranchIfAny(_, p) | Steer::Exit(p) => f(Use::ReadPred(p)),
            Steer::Yield => {}
            Steer::CtaBarrier { id, threads, d, p, .. } => {
                match d {
                    Some(Destination::Reg(d)) => f(Use::Write(d, 1)),
                    Some(Destination::Pred(d)) => f(Use::WritePred(d)),
                    None => {}
                }
                f(Use::Read(id, 1));
                threads.into_iter().for_each(|r| f(Use::Read(r, 1)));
                f(Use::ReadPred(p));
            }
        }
    }
}

/// Constant bank 0 of a launch: CTA and grid size, the generic addresses of shared and local memory,
/// at 0x28 the stack pointer that threads start with, dynamic shared memory; the address of constant bank 3;
/// then the packed parameters.
pub(crate) fn launch_bank(
    kernel: &Kernel,
    code: &MachineCode,
    shape: [Dim3; 2],
    dynamic_shared: u32,
    params: &[u32],
) -> Vec<u32> {
    let [grid, block] = shape;
    let base = code.parameter_base as usize / 4;
    let mut bank = vec![0; base + params.len()];
    let stack = kernel.local_bytes;
    let windows = [SHARED_WINDOW, LOCAL_WINDOW].map(|base| [base as u32, (base >> 32) as u32]);
    let head = [block.x, block.y, block.z, grid.x, grid.y, grid.z];
    let head = head.into_iter().chain(windows.into_iter().flatten()).chain([stack, dynamic_shared]);
    bank[..base].iter_mut().zip(head).for_each(|(word, value)| *word = value);
    let (at, address) = code.constants_base;
    let words = [address as u32, (address >> 32) as u32];
    bank[..base].iter_mut().skip(at as usize / 4).zip(words).for_each(|(word, value)| *word = value);
    bank[base..].copy_from_slice(params);
    bank
}

/// Fills in the constants of a launch: from constant bank 0 or from memory.
pub(crate) fn resolve(code: &MachineCode, bank: &[u32], memory: &DeviceMemory, constants: &mut [Column]) {
    for word in &code.launch_words {
        let value = match word.source {
            WordSource::LaunchBank(offset) => bank.get(offset as usize / 4).copied().unwrap_or(0),
            WordSource::Memory(address) => {
                let mut bytes = [0; 4];
                // What lies outside the bank reads as zero.
                let _ = memory.read(address, &mut bytes);
                u32::from_le_bytes(bytes)
            }
        };
        constants[usize::from(word.constant)] = [value; WARP_LANES];
    }
}

/// Executes the next instruction of `warp`, which runs machine code and has one. Fills in `out`.
pub(crate) fn execute(warp: &mut Warp, kernel: &Kernel, env: &mut Environment<'_>, out: &mut DynInst) -> Outcome {
    let pc = warp.groups.pc().unwrap_or(0);
    let Some(Guarded { op, guard, uniform }) = kernel.code.get(pc as usize) else {
        return Err(Trap::new("execution ran past the end of the code", warp.groups.active()));
    };
    let active = warp.groups.active();
    let candidates = if *uniform { !0 } else { active };
    let holds = guard.number().map_or(!0, |n| warp.preds[n as usize]);
    let mask = candidates & if guard.is_negated() { !holds } else { holds };
    out.pc = isa::Pc(pc);
    out.mask = mask & active;
    out.active = active;
    out.diverged = false;
    match op {
        Op::Steer(steer) => return execute_steer(*steer, warp, kernel, mask & active, env, out),
        Op::Sequence(first, count) => {
            let sequences = kernel.machine.as_ref().map_or(&[][..], |m| &m.sequences);
            for op in &sequences[*first as usize..][..*count as usize] {
                match op {
                    // The last of the sequence.
                    Op::Steer(steer) => return execute_steer(*steer, warp, kernel, mask & active, env, out),
                    op => operate(op, warp, kernel, mask, env, out)?,
                }
            }
        }
        op => operate(op, warp, kernel, mask, env, out)?,
    }
    warp.groups.advance();
    Ok(())
}

#[cold]
fn stuck(mask: LaneMask) -> Box<Trap> {
    Trap::new("deadlock within a warp: all its lanes wait for others at convergence barriers", mask)
}

fn execute_steer(
    steer: Steer,
    warp: &mut Warp,
    kernel: &Kernel,
    mask: LaneMask,
    env: &mut Environment<'_>,
    out: &mut DynInst,
) -> Outcome {
    let active = warp.groups.active();
    let first = active.trailing_zeros() as usize % WARP_LANES;
    let mut file = Lanes { regs: &mut warp.regs, preds: &mut warp.preds, constants: &env.launch.constants, mask };
    let at_stuck = |_: Stuck| stuck(active);
    match steer {
        Steer::Gather(place, b, target) => {
            file.write(b, &[mask; WARP_LANES]);
            warp.groups.gather(Gathering { place, lanes: mask }, target);
        }
        Steer::Meet(place, b) => {
            let lanes = file.column(b)[first];
            warp.groups.meet(Gathering { place, lanes }).map_err(at_stuck)?;
        }
        Steer::Leave(place, b, p) => {
            let mask = mask & file.pred(p);
            let gathering = lanes(mask).next().map_or(0, |lane| file.column(b)[lane]);
            let left = file.column(b).map(|lanes| lanes & !mask);
            file.mask = gathering;
            file.write(b, &left);
            warp.groups.leave(place, mask);
        }
        Steer::WarpSync(r, exclusive) => {
            let members = by_members(file.column(r), active);
            warp.groups.sync(Gathering::WARPSYNC, &members, exclusive).map_err(at_stuck)?;
        }
        Steer::Collective(lanes, back, target) => {
            file.write(back, &[target; WARP_LANES]);
            let members = by_members(file.column(lanes), active);
            warp.groups.sync(Gathering::COLLECTIVE, &members, true).map_err(at_stuck)?;
        }
        Steer::Yield => warp.groups.yield_turn(),
        Steer::Branch(target, p) => {
            let taken = mask & file.pred(p);
            out.diverged = warp.groups.branch(taken, target);
        }
        Steer::BranchIfAny(target, p) => {
            let taken = if mask & file.pred(p) != 0 { active } else { 0 };
            out.diverged = warp.groups.branch(taken, target);
        }
        Steer::BranchIfDiverged(target, r, diverged) => {
            // Compilers guard `BRA.DIV` by "this lane names the same members as the first" where lanes may name
            // different ones: lanes without the guard count as elsewhere, and all take the branch.
            let together = file.column(r)[first] & warp.groups.live() & !mask == 0;
            let taken = match (diverged, together) {
                (true, false) => active,
                (false, true) => mask,
                _ => 0,
            };
            out.diverged = warp.groups.branch(taken, target);
        }
        Steer::BranchIndirect(r, offset, p) => {
            let ways = ways(file.column(r), offset, mask & file.pred(p), kernel)?;
            out.diverged = warp.groups.branch_many(&ways);
        }
        Steer::Exit(p) => {
            let gone = mask & file.pred(p);
            out.mask = gone;
            warp.groups.exit(gone).map_err(at_stuck)?;
        }
        Steer::CtaBarrier { .. } if mask == 0 => warp.groups.advance(),
        Steer::CtaBarrier { op, id, threads, d, p } => {
            let votes = file.pred(p);
            let uniform = |r: Reg| file.column(r)[first];
            let (id, threads) = (uniform(id), threads.map(uniform));
            if !warp.groups.reach_cta_barrier() {
                out.mask = 0;
                return Ok(());
            }
            let all = warp.groups.active();
            out.mask = all;
            warp.groups.advance();
            if d.is_some() {
                env.memory.note_change();
            }
            arrive(warp, env.reductions, op, (id, threads), d, (votes, all), out)?;
        }
    }
    Ok(())
}

/// The lanes in `mask` by the lanes that each names, with those.
fn by_members(column: &Column, mask: LaneMask) -> Vec<(LaneMask, LaneMask)> {
    let mut groups: Vec<(LaneMask, LaneMask)> = Vec::new();
    for lane in lanes(mask) {
        match groups.iter_mut().find(|group| group.1 == column[lane]) {
            Some(group) => group.0 |= 1 << lane,
            None => groups.push((1 << lane, column[lane])),
        }
    }
    groups
}

/// Where the lanes in `mask` go, by target.
fn ways(base: &Column, offset: i64, mask: LaneMask, kernel: &Kernel) -> Result<Vec<(u32, LaneMask)>, Box<Trap>> {
    let mut ways: Vec<(u32, LaneMask)> = Vec::new();
    for lane in lanes(mask) {
        let address = i64::from(base[lane]).wrapping_add(offset);
        let target = u64::try_from(address).ok().filter(|a| a % INSTRUCTION_BYTES == 0);
        let target = target.and_then(|a| match a.checked_sub(POINTERS) {
            Some(pointer) => {
                let functions = kernel.machine.as_ref().map_or(&[][..], |m| &m.functions);
                functions.get((pointer / INSTRUCTION_BYTES) as usize).copied()
            }
            None => u32::try_from(a / INSTRUCTION_BYTES).ok(),
        });
        let Some(target) = target else {
            return Err(Trap::new(format!("jump to {address:#x}, which is not an instruction"), 1 << lane));
        };
        match ways.iter_mut().find(|way| way.0 == target) {
            Some(way) => way.1 |= 1 << lane,
            None => ways.push((target, 1 << lane)),
        }
    }
    Ok(ways)
}

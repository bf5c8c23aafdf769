//! Execution of machine code, with lanes steered by [`Steer`].

use crate::cluster;
use crate::convergence::{Convergence, Gathering, Stuck};
use crate::fault::{Outcome, Stop, Trap};
use crate::interpret::{Environment, arrive, operate, stuck};
use crate::kernel::{Callee, Guarded, Kernel};
use crate::lanes::{Column, Lanes, Reg};
use crate::machine_code::POINTERS;
use crate::op::Op;
use crate::runtime;
use crate::shuffle::by_members;
use crate::steer::{ClusterBarrier, Steer};
use crate::warp::{Rest, Warp};
use isa::{DynInst, FaultKind};
use kit::{LaneMask, WARP_LANES, lanes};

/// Executes the next instruction of `warp`, which runs machine code and has not ended. Fills in `out`.
pub(crate) fn execute(warp: &mut Warp, kernel: &Kernel, env: &mut Environment<'_>, out: &mut DynInst) -> Outcome {
    let pc = warp.groups.pc().unwrap_or(0);
    let Some(Guarded { op, guard }) = kernel.code.get(pc as usize) else {
        let what = "execution ran past the end of the code";
        return Err(Trap::stop(FaultKind::InvalidPc, what, warp.groups.active()));
    };
    let active = warp.groups.active();
    let holds = guard.number().map_or(!0, |n| warp.preds[n as usize]);
    let mask = active & if guard.is_negated() { !holds } else { holds };
    out.pc = isa::Pc(pc);
    out.mask = mask;
    out.active = active;
    out.reconverge = warp.groups.reconvergence().map(isa::Pc);
    out.diverged = false;
    match op {
        Op::Steer(steer) => return execute_steer(*steer, warp, kernel, mask, env, out),
        Op::Sequence(..) => {
            for (i, op) in operations(op, kernel).iter().enumerate() {
                let done = match op {
                    // The last operation of the sequence.
                    Op::Steer(steer) => return execute_steer(*steer, warp, kernel, mask, env, out),
                    Op::Call(site) => call(*site, warp, kernel, mask, env),
                    op => operate(op, warp, kernel, mask, env, out),
                };
                if let Err(stop) = done {
                    let rest = Rest { first: i as u16, mask };
                    return put_off(stop, rest, warp, kernel, env, out);
                }
            }
        }
        Op::ClusterBarrier(ClusterBarrier::Wait) if mask != 0 => {
            if !warp.groups.reach_cta_barrier(cluster::BARRIER) {
                out.mask = 0;
                return Ok(());
            }
            out.mask = warp.groups.active();
            let rest = Rest { first: 0, mask: out.mask };
            if let Err(stop) = operate(op, warp, kernel, rest.mask, env, out) {
                return put_off(stop, rest, warp, kernel, env, out);
            }
        }
        op => {
            if let Err(stop) = operate(op, warp, kernel, mask, env, out) {
                let rest = Rest { first: 0, mask };
                return put_off(stop, rest, warp, kernel, env, out);
            }
        }
    }
    warp.groups.advance();
    Ok(())
}

/// The operations of an instruction.
#[inline]
fn operations<'a>(op: &'a Op, kernel: &'a Kernel) -> &'a [Op] {
    let Op::Sequence(first, count) = op else { return std::slice::from_ref(op) };
    let sequences = kernel.machine.as_ref().map_or(&[][..], |m| &m.sequences);
    &sequences[*first as usize..][..*count as usize]
}

/// `rest` of the next instruction waits for the exchange or the cluster, if it is not a trap. The lanes go to their next instructions
/// now: no operation that waits decides about these.
#[cold]
fn put_off(
    stop: Stop,
    rest: Rest,
    warp: &mut Warp,
    kernel: &Kernel,
    env: &mut Environment<'_>,
    out: &mut DynInst,
) -> Outcome {
    if matches!(stop, Stop::Deferred | Stop::AtCluster) {
        warp.rest = rest;
        match kernel.code.get(out.pc.index()).and_then(|at| operations(&at.op, kernel).last()) {
            Some(Op::Steer(steer)) => execute_steer(*steer, warp, kernel, rest.mask, env, out)?,
            _ => warp.groups.advance(),
        }
    }
    Err(stop)
}

/// Executes what waits of the instruction at `out.pc`, by a warp that has the device for itself.
pub(crate) fn resume(warp: &mut Warp, kernel: &Kernel, env: &mut Environment<'_>, out: &mut DynInst) -> Outcome {
    let Rest { first, mask } = warp.rest;
    let operations = operations(&kernel.code[out.pc.index()].op, kernel);
    for op in &operations[first.into()..] {
        match op {
            // Executed already.
            Op::Steer(_) => {}
            Op::Call(site) => call(*site, warp, kernel, mask, env)?,
            op => operate(op, warp, kernel, mask, env, out)?,
        }
    }
    Ok(())
}

/// Calls of functions of the device runtime; other calls are jumps.
#[cold]
fn call(number: u32, warp: &mut Warp, kernel: &Kernel, mask: LaneMask, env: &mut Environment<'_>) -> Outcome {
    let site = &kernel.calls[number as usize];
    match site.callee {
        Callee::Runtime(function) => runtime::run(function, warp, kernel, site, mask, env.services()),
        Callee::Function(_) | Callee::Pointer(_) => Ok(()),
    }
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
            abandon(place, b, &mut file, &mut warp.groups);
            file.write(b, &[mask; WARP_LANES]);
            warp.groups.gather(Gathering { place, lanes: mask }, target);
        }
        Steer::Meet(place, b) => {
            let mut all = active;
            if warp.groups.is_apart() {
                // Lanes that a `WARPSYNC` has brought together may hold different lanes.
                let held = file.column(b);
                all |= lanes(active).fold(0, |all, lane| all | held[lane]);
            }
            warp.groups.meet(Gathering { place, lanes: all }).map_err(at_stuck)?;
        }
        Steer::Leave(place, b, p) => {
            for (gone, all) in by_members(file.column(b), mask & file.pred(p)) {
                let left = file.column(b).map(|held| if held == all { all & !gone } else { held });
                file.mask = all;
                file.write(b, &left);
                warp.groups.leave(Gathering { place, lanes: all }, gone);
            }
            warp.groups.advance();
        }
        Steer::Clear(place, b) => {
            abandon(place, b, &mut file, &mut warp.groups);
            file.write(b, &[0; WARP_LANES]);
            warp.groups.advance();
        }
        Steer::WarpSync(r, exclusive) => {
            let members: Vec<_> = by_members(file.column(r), active).collect();
            warp.groups.sync(Gathering::WARPSYNC, &members, exclusive).map_err(at_stuck)?;
        }
        Steer::Collective(lanes, back, target) => {
            file.write(back, &[target; WARP_LANES]);
            let members: Vec<_> = by_members(file.column(lanes), active).collect();
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
            // Where lanes may name different members, compilers guard `BRA.DIV` by "this lane names the same
            // members as the first". Lanes without the guard count as not executing it, so that all take the
            // branch.
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
            if !warp.groups.reach_cta_barrier(id) {
                out.mask = 0;
                return Ok(());
            }
            let all = warp.groups.active();
            out.mask = all;
            warp.groups.advance();
            if d.is_some() {
                env.memory.note_change();
            }
            arrive(warp, &mut env.cta.reductions, op, (id, threads), d, (votes, all), out)?;
        }
    }
    Ok(())
}

/// The executing lanes lose what a convergence barrier holds: those that would have met them there meet
/// without them.
fn abandon(place: u8, b: Reg, file: &mut Lanes<'_>, groups: &mut Convergence) {
    if !groups.is_apart() {
        return;
    }
    let (gone, held) = (file.mask, *file.column(b));
    for (_, lanes) in by_members(&held, gone).filter(|group| group.1 & !gone != 0) {
        file.mask = lanes & !gone;
        file.write(b, &held.map(|other| if other == lanes { lanes & !gone } else { other }));
        groups.abandon(Gathering { place, lanes }, gone);
    }
    file.mask = gone;
}

/// Targets of the lanes in `mask`, with the lanes of each.
fn ways(base: &Column, offset: i64, mask: LaneMask, kernel: &Kernel) -> Result<Vec<(u32, LaneMask)>, Stop> {
    let bytes = u64::from(kernel.program.inst_bytes);
    let mut ways: Vec<(u32, LaneMask)> = Vec::new();
    for lane in lanes(mask) {
        let address = i64::from(base[lane]).wrapping_add(offset);
        let target = u64::try_from(address).ok().filter(|a| a % bytes == 0);
        let target = target.and_then(|a| match a.checked_sub(POINTERS) {
            Some(pointer) => {
                let functions = kernel.machine.as_ref().map_or(&[][..], |m| &m.functions);
                functions.get((pointer / bytes) as usize).copied()
            }
            None => u32::try_from(a / bytes).ok(),
        });
        let Some(target) = target.filter(|&target| (target as usize) < kernel.code.len()) else {
            let what = format!("jump to {address:#x}, which is not an instruction");
            return Err(Trap::stop(FaultKind::InvalidPc, what, 1 << lane));
        };
        match ways.iter_mut().find(|way| way.0 == target) {
            Some(way) => way.1 |= 1 << lane,
            None => ways.push((target, 1 << lane)),
        }
    }
    Ok(ways)
}

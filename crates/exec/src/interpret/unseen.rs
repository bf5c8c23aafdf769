//! Turns of warps whose instructions nobody observes: most of a run without time.
//!
//! They mean the same as in [`execute`](super::execute) and [`machine::execute`]. The frequent operations are in one
//! loop, which finds once what the instructions of a turn share and describes only what other operations read.

use super::{Environment, compute, execute_rarely, file, operate_rarely, spaces};
use crate::access;
use crate::fault::{Stop, overflow};
use crate::kernel::Guarded;
use crate::lanes::{Lanes, Pred};
use crate::machine;
use crate::op::Op;
use crate::steer::Steer;
use crate::turn::{Turn, wait};
use crate::warp::Warp;
use access::Spaces;
use isa::{DynInst, Pc};
use kit::LaneMask;

/// The lanes of `active` for which `guard` holds.
#[inline(always)]
fn executing(file: &Lanes<'_>, guard: Pred, active: LaneMask) -> LaneMask {
    if guard == Pred::TRUE { active } else { active & file.pred(guard) }
}

/// Executes up to `most` instructions of `warp`, which runs PTX and has the device for itself. Counts them in the
/// context of `env`, and the instructions of their lanes in `threads`.
#[inline(never)]
pub(crate) fn execute_ptx_unseen(
    warp: &mut Warp,
    env: &mut Environment<'_>,
    out: &mut DynInst,
    most: u32,
    threads: &mut u64,
) -> Result<Turn, Stop> {
    let launch = env.launch;
    let code = &launch.kernel.code[..];
    let (begun, mut done, mut executed) = (env.context.now, 0, 0);
    let mut file = file!(warp, &launch.constants, 0);
    let end = loop {
        if done == most {
            break Ok(Turn::Over);
        }
        let Some(pc) = warp.stack.pc() else { break Ok(Turn::Done) };
        let Guarded { op, guard } = &code[pc as usize];
        let active = warp.stack.active();
        let mask = executing(&file, *guard, active);
        file.mask = mask;
        done += 1;
        executed += u64::from(mask.count_ones());
        if compute(op, &mut file) {
            warp.stack.advance();
            continue;
        }
        out.pc = Pc(pc);
        let moved = match op {
            Op::Load(t) | Op::FrameLoad(t) => {
                access::load::<false>(&mut file, &mut spaces!(warp, env.memory, env.cta, env.clusters, launch), t, out)
            }
            Op::Store(t) | Op::FrameStore(t) => {
                access::store::<false>(&file, &mut spaces!(warp, env.memory, env.cta, env.clusters, launch), t, out)
            }
            Op::Branch { target, reconverge, polls } => {
                if warp.stack.branch(mask, *target, *reconverge).is_err() {
                    break Err(overflow(mask));
                }
                if *polls && mask != 0 {
                    warp.stack.poll();
                }
                continue;
            }
            _ => {
                (out.mask, out.active, out.diverged) = (mask, active, false);
                env.context.now = begun + u64::from(done - 1);
                if let Err(stop) = execute_rarely(op, warp, mask, env, out) {
                    break Err(stop);
                }
                file = file!(warp, &launch.constants, 0);
                // Which lanes execute it, it may have found out itself.
                executed = executed + u64::from(out.mask.count_ones()) - u64::from(mask.count_ones());
                if let Some(end) = wait(launch.kernel.program.insts(), out) {
                    break Ok(end);
                }
                continue;
            }
        };
        if let Err(stop) = moved {
            break Err(stop);
        }
        warp.stack.advance();
    };
    env.context.now = begun + u64::from(done);
    *threads += executed;
    end
}

/// The same for a warp that runs machine code.
#[inline(never)]
pub(crate) fn execute_machine_code_unseen(
    warp: &mut Warp,
    env: &mut Environment<'_>,
    out: &mut DynInst,
    most: u32,
    threads: &mut u64,
) -> Result<Turn, Stop> {
    let launch = env.launch;
    let kernel = &*launch.kernel;
    let code = &kernel.code[..];
    let (begun, mut done, mut executed) = (env.context.now, 0, 0);
    let mut file = file!(warp, &launch.constants, 0);
    let end = 'turn: loop {
        if done == most {
            break Ok(Turn::Over);
        }
        let Some(pc) = warp.groups.pc() else { break Ok(Turn::Done) };
        let active = warp.groups.active();
        done += 1;
        'whole: {
            let Some(Guarded { op, guard }) = code.get(pc as usize) else { break 'whole };
            let mask = executing(&file, *guard, active);
            file.mask = mask;
            let mut counted = mask;
            if !compute(op, &mut file) {
                out.pc = Pc(pc);
                let moved = match op {
                    Op::Load(t) | Op::FrameLoad(t) => access::load::<false>(
                        &mut file,
                        &mut spaces!(warp, env.memory, env.cta, env.clusters, launch),
                        t,
                        out,
                    ),
                    Op::Store(t) | Op::FrameStore(t) => access::store::<false>(
                        &file,
                        &mut spaces!(warp, env.memory, env.cta, env.clusters, launch),
                        t,
                        out,
                    ),
                    Op::Steer(Steer::Branch(target, p)) => {
                        let taken = mask & file.pred(*p);
                        executed += u64::from(mask.count_ones());
                        warp.groups.branch(taken, *target);
                        continue 'turn;
                    }
                    Op::Steer(_) | Op::Sequence(..) | Op::MbarrierWait(_) | Op::ClusterBarrier(_) => break 'whole,
                    _ => {
                        (out.mask, out.active) = (mask, active);
                        env.context.now = begun + u64::from(done - 1);
                        let operated = operate_rarely(op, warp, kernel, mask, env, out);
                        file = file!(warp, &launch.constants, 0);
                        // Which lanes execute it, it may have found out itself.
                        counted = out.mask;
                        operated
                    }
                };
                if let Err(stop) = moved {
                    break 'turn Err(stop);
                }
            }
            executed += u64::from(counted.count_ones());
            warp.groups.advance();
            continue 'turn;
        }
        env.context.now = begun + u64::from(done - 1);
        if let Err(stop) = machine::execute(warp, kernel, env, out) {
            break Err(stop);
        }
        file = file!(warp, &launch.constants, 0);
        executed += u64::from(out.mask.count_ones());
        if let Some(end) = wait(kernel.program.insts(), out) {
            break Ok(end);
        }
    };
    env.context.now = begun + u64::from(done);
    *threads += executed;
    end
}

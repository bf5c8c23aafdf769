//! Executes one instruction of a warp.

mod unseen;
mod words;

use crate::access::{self, Address, SPLIT_SPACES, Spaces};
use crate::calls;
use crate::cluster::{self, Clusters};
use crate::compare;
use crate::convergence::Stuck;
use crate::copy_engine::{self, Ends};
use crate::cta::Cta;
use crate::fault::{Outcome, Stop, Trap, overflow};
use crate::heap::Heap;
use crate::image::Images;
use crate::int::{Int1, Int2};
use crate::kernel::{Guarded, Kernel};
use crate::lanes::{Column, Lanes, Pred, Reg, blend};
use crate::launch::Launch;
use crate::mbarrier::{self, Wait};
use crate::memory::{View, generic_space, window_base};
use crate::op::Op;
use crate::operand::Destination;
use crate::runtime::Services;
use crate::shuffle;
use crate::special::Special;
use crate::state::GpuFacts;
use crate::steer::{BarrierOp, ClusterBarrier};
use crate::surroundings::Surroundings;
use crate::tensor::WarpPlace;
use crate::warp::{PendingReduction, Reduction, Rest, Warp};
use isa::{DynInst, FaultKind, Space, StepContext};
use kit::{LaneMask, WARP_LANES, lanes};
pub(crate) use unseen::{execute_machine_code_unseen, execute_ptx_unseen};
use words::{Chain, add_pairs, add3, lop3, move_pair, pack, unpack};

/// State that an instruction may access besides its warp.
pub(crate) struct Environment<'a> {
    pub memory: View<'a>,
    pub images: &'a Images,
    /// Output and heap of kernels, if this warp has the device for itself.
    pub rest: Option<(&'a mut String, &'a mut Heap)>,
    pub cta: &'a mut Cta,
    /// Shared memory of other CTAs, if this warp has the device for itself.
    pub clusters: Option<&'a mut Clusters>,
    pub launch: &'a Launch,
    pub gpu: &'a GpuFacts,
    pub context: StepContext,
    /// When transfers of the copy engine end.
    pub ends: Ends,
}

impl Environment<'_> {
    /// State of the functions of the device runtime, if this warp has the device for itself.
    pub fn services(&mut self) -> Option<Services<'_>> {
        let (output, heap) = self.rest.as_mut()?;
        let (memory, _) = self.memory.exclusive()?;
        Some(Services { memory, output, heap })
    }
}

/// Borrows the warp's registers.
macro_rules! file {
    ($warp:expr, $constants:expr, $mask:expr) => {
        Lanes { regs: &mut $warp.regs, preds: &mut $warp.preds, constants: $constants, mask: $mask }
    };
}
use file;

/// Borrows what the warp can load from and store to.
macro_rules! spaces {
    ($warp:expr, $memory:expr, $cta:expr, $clusters:expr, $launch:expr) => {
        Spaces {
            device: &mut $memory,
            shared: &mut $cta.shared,
            local: &mut $warp.local,
            params: &$launch.params,
            frame: $warp.stack.frame().map_or(0, |call| call.frame),
            cluster: $cta.cluster.as_ref().map(|cluster| cluster.place),
            peers: $clusters.as_deref_mut(),
        }
    };
}
use spaces;

/// Starts the transfer of an instruction, which ends with it if nothing takes time.
macro_rules! transfer {
    ($instruction:expr, $file:expr, $spaces:expr, $env:expr, $out:expr) => {{
        let watch = $env.cta.watch.as_deref_mut().map(|watch| watch as _);
        let (places, ends) = (($spaces, watch), ($env.ends, &mut $env.cta.started));
        let done = copy_engine::start($instruction, $file, places, ends, $out);
        end_transfer($env);
        done?
    }};
}

/// Outcome of an instruction that has not faulted.
#[derive(Debug)]
pub(crate) enum Done<'a> {
    /// It has been executed, and is not a reduction.
    Executed,
    /// It has yet to be executed, by these lanes: [`execute_rarely`].
    Left(&'a Op, LaneMask),
}

/// Executes the next instruction of `warp`, which runs PTX and has not ended. Fills in `out`.
pub(crate) fn execute(warp: &mut Warp, env: &mut Environment<'_>, out: &mut DynInst) -> Outcome {
    match execute_often(warp, env.launch, || (env.memory.reborrow(), &mut *env.cta, env.clusters.as_deref_mut()), out)?
    {
        Done::Left(op, mask) => execute_rarely(op, warp, mask, env, out),
        Done::Executed => Ok(()),
    }
}

/// As [`execute`], if the operation is one of the frequent ones. Those that only compute need nothing but registers.
#[inline(always)]
pub(crate) fn execute_often<'a, 'm>(
    warp: &mut Warp,
    launch: &'a Launch,
    memory: impl FnOnce() -> (View<'m>, &'m mut Cta, Option<&'m mut Clusters>),
    out: &mut DynInst,
) -> Result<Done<'a>, Stop> {
    let pc = warp.stack.pc().unwrap_or(0);
    let Guarded { op, guard, .. } = &launch.kernel.code[pc as usize];
    let active = warp.stack.active();
    let mask = match *guard {
        Pred::TRUE => active,
        guard => file!(warp, &launch.constants, active).pred(guard) & active,
    };
    out.pc = isa::Pc(pc);
    out.reconverge = warp.stack.reconvergence().map(isa::Pc);
    out.mask = mask;
    out.active = active;
    out.diverged = false;
    let mut file = file!(warp, &launch.constants, mask);
    if compute(op, &mut file) {
        warp.stack.advance();
        return Ok(Done::Executed);
    }
    let done = match op {
        // One call of `memory` for all: several would not be compiled into this function.
        Op::Load(_) | Op::FrameLoad(_) | Op::Store(_) | Op::FrameStore(_) => {
            let (mut device, cta, mut clusters) = memory();
            let mut spaces = spaces!(warp, device, cta, clusters, launch);
            match op {
                Op::Load(t) | Op::FrameLoad(t) => access::load::<true>(&mut file, &mut spaces, t, out),
                Op::Store(t) | Op::FrameStore(t) => access::store::<true>(&file, &mut spaces, t, out),
                _ => Ok(()),
            }
        }
        Op::Branch { target, reconverge, polls } => {
            out.diverged = warp.stack.branch(mask, *target, *reconverge).map_err(|_| overflow(mask))?;
            if *polls && mask != 0 {
                warp.stack.poll();
            }
            return Ok(Done::Executed);
        }
        _ => return Ok(Done::Left(op, mask)),
    };
    match done {
        Ok(()) => warp.stack.advance(),
        Err(stop) => put_off(stop, mask, warp)?,
    }
    Ok(Done::Executed)
}

/// The next instruction, executed by the lanes in `mask`, holds its warp, if it is not a trap.
#[cold]
fn put_off(stop: Stop, mask: LaneMask, warp: &mut Warp) -> Outcome {
    if matches!(stop, Stop::Deferred | Stop::AtCluster) {
        warp.rest = Rest { first: 0, mask };
        warp.stack.advance();
    }
    Err(stop)
}

/// Executes the instruction at `out.pc`, which waits, by a warp that has the device for itself.
pub(crate) fn resume(warp: &mut Warp, kernel: &Kernel, env: &mut Environment<'_>, out: &mut DynInst) -> Outcome {
    let mask = warp.rest.mask;
    match &kernel.code[out.pc.index()].op {
        Op::Call(number) => calls::call_runtime(warp, kernel, *number, mask, env.services()),
        op => operate(op, warp, kernel, mask, env, out),
    }
}

/// Executes `op` if it is one of the frequent operations that only compute: registers and predicates from others.
#[inline(always)]
pub(crate) fn compute(op: &Op, file: &mut Lanes<'_>) -> bool {
    match op {
        // Addresses are moved and added so; as maps they would take the pairs of columns apart and together again.
        Op::Int1(Int1::Mov64, d, [s]) => move_pair(file, *d, *s),
        Op::Int2(Int2::Add64, d, s) => add_pairs(file, *d, *s),
        Op::Int1(op, d, s) => op.run(file, *d, *s),
        Op::Int2(op, d, s) => op.run(file, *d, *s),
        Op::Int3(op, d, s) => op.run(file, *d, *s),
        Op::Int4(op, d, s) => op.run(file, *d, *s),
        Op::Lop3(d, s, table) => lop3(file, *d, *s, *table),
        Op::Float1(op, m, d, s) => op.run(file, *m, *d, *s),
        Op::Float2(op, m, d, s) => op.run(file, *m, *d, *s),
        Op::Float3(op, m, d, s) => op.run(file, *m, *d, *s),
        Op::Convert(op, d, s) => op.run(file, *d, *s),
        Op::Setp { test, s, d, with } => compare::setp(file, *test, *s, *d, *with),
        Op::Selp { d, s, wide, p } => {
            compare::selp(file, *d, s[0], s[1], *p);
            if *wide {
                compare::selp(file, d.next(), s[0].next(), s[1].next(), *p);
            }
        }
        Op::PredLogic(combine, d, [a, b]) => {
            let value = combine.of(file.pred(*a), file.pred(*b));
            file.write_pred(*d, value);
        }
        Op::Add3 { d, s, minus, carry_in, carry_out } => add3(file, *d, *s, *minus, *carry_in, *carry_out),
        Op::PredLut { d, s, tables } => {
            let [a, b, c] = s.map(|s| file.pred(s));
            let values = tables.map(|table| num::bits::lop3(a, b, c, table));
            file.write_pred(d[0], values[0]);
            file.write_pred(d[1], values[1]);
        }
        _ => return false,
    }
    true
}

/// The less frequent operations that only compute.
#[inline]
pub(crate) fn compute_rarely(op: &Op, file: &mut Lanes<'_>) -> bool {
    match op {
        Op::Carry { op, wide, d, s, carry, carry_in, carry_out } => {
            let chain = Chain { op: *op, carry: *carry, carry_in: *carry_in, carry_out: *carry_out };
            if *wide { chain.run64(file, *d, *s) } else { chain.run32(file, *d, *s) }
        }
        Op::Cvt(cvt, d, a) => cvt.run(file, *d, *a),
        Op::PackedCvt(op, d, s) => op.run(file, *d, *s),
        Op::Video(op, d, s) => op.run(file, *d, *s),
        Op::Pack { d, s, parts, bits } => pack(file, *d, &s[..*parts as usize], *bits),
        Op::Unpack { d, s, parts, bits } => unpack(file, &d[..*parts as usize], *s, *bits),
        Op::Set { test, s, d, holds, with } => compare::set(file, *test, *s, *d, *holds, *with),
        Op::Testp { d, class, a, wide } => compare::testp(file, *d, *class, *a, *wide),
        Op::Isspacep { d, space, a, .. } => is_in_space(file, *d, *space, *a, |_| true),
        _ => return false,
    }
    true
}

/// Whether the generic addresses `a` are in `space` and `is_meant`.
fn is_in_space(file: &mut Lanes<'_>, d: Pred, space: Space, a: Reg, is_meant: impl Fn(u64) -> bool) {
    let is_there = |a| space != Space::Constant && generic_space(a) == space && is_meant(a);
    let holds = file.test2(a, a, |a: u64, _: u64| is_there(a));
    file.write_pred(d, holds);
}

/// Executes `op` in the lanes of `mask`: everything but control flow.
#[inline(never)]
pub(crate) fn operate(
    op: &Op,
    warp: &mut Warp,
    kernel: &Kernel,
    mask: LaneMask,
    env: &mut Environment<'_>,
    out: &mut DynInst,
) -> Outcome {
    let mut file = file!(warp, &env.launch.constants, mask);
    if compute(op, &mut file) {
        return Ok(());
    }
    match op {
        Op::Load(t) | Op::FrameLoad(t) => {
            access::load::<true>(&mut file, &mut spaces!(warp, env.memory, env.cta, env.clusters, env.launch), t, out)
        }
        Op::Store(t) | Op::FrameStore(t) => {
            access::store::<true>(&file, &mut spaces!(warp, env.memory, env.cta, env.clusters, env.launch), t, out)
        }
        _ => operate_rarely(op, warp, kernel, mask, env, out),
    }
}

/// The less frequent operations.
#[inline(never)]
fn operate_rarely(
    op: &Op,
    warp: &mut Warp,
    kernel: &Kernel,
    mask: LaneMask,
    env: &mut Environment<'_>,
    out: &mut DynInst,
) -> Outcome {
    let (frame, active) = (warp.frame(), warp.active());
    let mut file = file!(warp, &env.launch.constants, mask);
    if let (Op::Isspacep { d, space: Space::Shared, of_cluster: false, a }, Some(cluster)) = (op, &env.cta.cluster) {
        is_in_space(&mut file, *d, Space::Shared, *a, |a| cluster.place.is_own(a - window_base(Space::Shared)));
        return Ok(());
    }
    if compute_rarely(op, &mut file) {
        return Ok(());
    }
    let mut spaces = spaces!(warp, env.memory, env.cta, env.clusters, env.launch);
    match op {
        Op::Special(special, d) => {
            if special.is_time() {
                spaces.device.note_change();
            }
            let surroundings = Surroundings {
                context: env.context,
                gpu: *env.gpu,
                launch: env.launch,
                grid_id: warp.launch.0,
                cta: env.cta.position,
                warp: warp.index,
            };
            read_special(&mut file, *special, *d, &warp.tid, &surroundings);
        }
        Op::FrameAddress { d, offset, wide } => {
            file.write(*d, &[frame + offset; WARP_LANES]);
            if *wide {
                file.write(d.next(), &[0; WARP_LANES]);
            }
        }
        Op::Fetch(fetch) => fetch.run(&mut file, env.images, spaces.device.base(), out)?,
        Op::Surface(access) => access.run(&mut file, &mut spaces, env.images, out)?,
        Op::Query(query) => query.run(&mut file, env.images)?,
        Op::Atomic(atomic) => atomic.run(&mut file, &mut spaces, out)?,
        Op::Mbarrier(barrier) => {
            barrier.run(&mut file, &mut spaces, out)?;
            env.cta.barriers_changed = true;
        }
        Op::MbarrierWait(wait) => {
            if let Some((address, odd)) = wait.run(&mut file, &spaces, out)?
                && mask == active
                && !warp.has_others()
            {
                let slot = env.cta.warps[warp.index as usize];
                env.cta.waits.push(Wait { warp: slot, pc: out.pc, address, odd, d: wait.d, mask });
                (out.held, out.at_mbarrier) = (true, true);
            }
        }
        Op::AsyncCopy { shared, global, bytes, source_bytes, ignore } => {
            let limit = (*source_bytes, *ignore);
            async_copy(&file, &mut spaces, [*shared, *global], *bytes, limit, out)?;
        }
        Op::BulkCopy(copy) => transfer!(copy, &file, &mut spaces, env, out),
        Op::TensorCopy(copy) => transfer!(copy, &file, &mut spaces, env, out),
        Op::MapPrefetch(prefetch) => transfer!(prefetch, &file, &mut spaces, env, out),
        Op::AsyncWait(groups) | Op::MatrixWait(groups) | Op::BulkWait { groups, .. } => out.async_groups_left = *groups,
        Op::Shuffle { mode, d, p, s, .. } => shuffle::shfl(&mut file, *mode, *d, *p, *s),
        Op::Vote { kind, d, p, members, .. } => shuffle::vote_sync(&mut file, *kind, *d, *p, *members),
        Op::Match { all, wide, d, p, a, members } => {
            shuffle::match_sync(&mut file, (*all, *wide), *d, *p, [*a, *members]);
        }
        Op::ActiveMask(d) => file.write(*d, &[mask; WARP_LANES]),
        Op::Redux(op, d, s) => shuffle::redux(&mut file, *op, *d, *s),
        Op::Elect { d, p, members } => shuffle::elect(&mut file, *d, *p, *members),
        Op::Matrix(number) => {
            let place = WarpPlace { index: warp.index, threads: env.launch.block.volume() };
            kernel.matrix[*number as usize].run(&mut file, &mut spaces, place, out)?;
        }
        Op::Sleep(a) => {
            let column = file.column(*a);
            out.sleep_cycles = lanes(mask).map(|lane| column[lane]).max().unwrap_or(0);
        }
        Op::Trap if mask != 0 => return Err(Trap::stop(FaultKind::Trap, "the kernel executed `trap`", mask)),
        Op::ReadFirst(d, s) if mask != 0 => shuffle::read_first(&mut file, *d, *s, active),
        Op::AnyLane(d, s) if mask != 0 => shuffle::any_lane(&mut file, *d, *s),
        Op::ClusterBarrier(ClusterBarrier::Arrive) => {
            spaces.device.note_change();
            warp.at_cluster |= mask;
        }
        Op::ClusterBarrier(ClusterBarrier::Wait) if warp.at_cluster & mask != 0 => return Err(Stop::AtCluster),
        // Others are to see what was written and reduced before.
        Op::Fence if mask != 0 && spaces.device.is_ahead() => return Err(Stop::Deferred),
        // Other fences need no action: every access is performed when it executes.
        _ => {}
    }
    Ok(())
}

/// A transfer without time ends with its instruction.
fn end_transfer(env: &mut Environment<'_>) {
    if env.ends == Ends::AtOnce
        && let Some(started) = env.cta.started.take()
    {
        let place = env.cta.cluster.as_ref().map(|cluster| cluster.place);
        for arriving in started.barriers {
            let shared = match (place, &mut env.clusters) {
                (Some(place), Some(clusters)) if place.rank != arriving.rank => {
                    clusters.shared_mut(place, arriving.rank)
                }
                _ => Some(&mut env.cta.shared),
            };
            if let Some(shared) = shared {
                mbarrier::complete(shared, arriving);
            }
        }
        env.cta.barriers_changed = true;
    }
}

/// The less frequent operations, control flow of PTX other than direct branches among them.
#[inline(never)]
pub(crate) fn execute_rarely(
    op: &Op,
    warp: &mut Warp,
    mask: LaneMask,
    env: &mut Environment<'_>,
    out: &mut DynInst,
) -> Outcome {
    let kernel = &*env.launch.kernel;
    match op {
        Op::BranchTable { table, index, reconverge } => {
            let file = file!(warp, &env.launch.constants, mask);
            let ways = branch_ways(&file, &kernel.tables[*table as usize], *index)?;
            out.diverged = warp.stack.branch_many(&ways, *reconverge).map_err(|_| overflow(mask))?;
        }
        Op::Call(site) => {
            out.diverged = match calls::call(warp, kernel, *site, mask, env.services()) {
                Ok(diverged) => diverged,
                Err(stop) => return put_off(stop, mask, warp),
            };
        }
        Op::Return => calls::ret(warp, kernel, mask),
        Op::Exit => {
            warp.stack.exit(mask);
        }
        Op::Barrier { op, id, threads, d, p, aligned } if mask != 0 => {
            let file = file!(warp, &env.launch.constants, mask);
            let first = mask.trailing_zeros() as usize;
            let (id, threads) = (file.column(*id)[first], threads.map(|r| file.column(r)[first]));
            if warp.stack.is_apart() && mask == warp.stack.active() {
                let meets = *aligned || meet(warp, &[(mask, !0)], out)?.is_some();
                let Some(others) = meets.then(|| warp.stack.reach_cta_barrier(id)).flatten() else {
                    out.mask = 0;
                    return Ok(());
                };
                for (pc, mask) in others {
                    join_reduction(warp, kernel, &mut env.cta.reductions, pc, (id, mask));
                }
            }
            let mask = if mask == out.active { warp.stack.active() } else { mask };
            let votes = file!(warp, &env.launch.constants, mask).pred(*p);
            (out.mask, out.active) = (mask, warp.stack.active());
            if d.is_some() {
                env.memory.note_change();
            }
            warp.stack.advance();
            arrive(warp, &mut env.cta.reductions, *op, (id, threads), *d, (votes, mask), out)?;
        }
        Op::ClusterBarrier(ClusterBarrier::Wait)
            if warp.stack.is_apart() && mask != 0 && mask == warp.stack.active() =>
        {
            if warp.stack.reach_cta_barrier(cluster::BARRIER).is_none() {
                out.mask = 0;
                return Ok(());
            }
            let all = warp.stack.active();
            (out.mask, out.active) = (all, all);
            if let Err(stop) = operate_rarely(op, warp, kernel, all, env, out) {
                return put_off(stop, all, warp);
            }
            warp.stack.advance();
        }
        _ => {
            if let Some(members) = op.waits_for()
                && warp.stack.is_apart()
            {
                let named: Vec<_> =
                    shuffle::by_members(file!(warp, &env.launch.constants, mask).column(members), mask).collect();
                let Some(executing) = meet(warp, &named, out)? else {
                    out.mask = 0;
                    return Ok(());
                };
                out.active = executing;
                let Guarded { guard, .. } = &kernel.code[out.pc.index()];
                let mask = file!(warp, &env.launch.constants, out.active).pred(*guard) & out.active;
                out.mask = mask;
                operate_rarely(op, warp, kernel, mask, env, out)?;
                warp.stack.advance_met();
                return Ok(());
            }
            match operate_rarely(op, warp, kernel, mask, env, out) {
                Ok(()) => warp.stack.advance(),
                Err(stop) => return put_off(stop, mask, warp),
            }
        }
    }
    Ok(())
}

fn read_special(file: &mut Lanes<'_>, special: Special, d: Reg, tid: &[Column; 3], s: &Surroundings<'_>) {
    let position = match special {
        Special::TidX => Some(&tid[0]),
        Special::TidY => Some(&tid[1]),
        Special::TidZ => Some(&tid[2]),
        _ => None,
    };
    if let Some(column) = position {
        return file.write(d, column);
    }
    if !special.varies() {
        let value = s.value(special, 0);
        file.write(d, &[value as u32; WARP_LANES]);
        if special.columns() == 2 {
            file.write(d.next(), &[(value >> 32) as u32; WARP_LANES]);
        }
        return;
    }
    let (mut low, mut high) = ([0; WARP_LANES], [0; WARP_LANES]);
    for lane in 0..WARP_LANES {
        let value = s.value(special, lane);
        low[lane] = value as u32;
        high[lane] = (value >> 32) as u32;
    }
    file.write(d, &low);
    if special.columns() == 2 {
        file.write(d.next(), &high);
    }
}

fn branch_ways(file: &Lanes<'_>, table: &[u32], index: Reg) -> Result<Vec<(u32, LaneMask)>, Stop> {
    let column = file.column(index);
    let mut ways: Vec<(u32, LaneMask)> = Vec::new();
    for lane in lanes(file.mask) {
        let Some(&target) = table.get(column[lane] as usize) else {
            let what = format!("branch index {} is beyond the table of {} targets", column[lane], table.len());
            return Err(Trap::stop(FaultKind::InvalidPc, what, 1 << lane));
        };
        match ways.iter_mut().find(|w| w.0 == target) {
            Some(way) => way.1 |= 1 << lane,
            None => ways.push((target, 1 << lane)),
        }
    }
    Ok(ways)
}

/// Arrival of a warp at a barrier.
pub(crate) fn arrive(
    warp: &mut Warp,
    reductions: &mut [Reduction],
    op: BarrierOp,
    (id, threads): (u32, Option<u32>),
    d: Option<Destination>,
    (votes, mask): (LaneMask, LaneMask),
    out: &mut DynInst,
) -> Outcome {
    if id as usize >= reductions.len() {
        let what = format!("barrier {id} does not exist: a CTA has {}", reductions.len());
        return Err(Trap::stop(FaultKind::IllegalInstruction, what, mask));
    }
    // A count of 0 waits for all threads. Threads that do not wait must say how many are expected.
    let threads = threads.filter(|&n| n != 0 || op == BarrierOp::Arrive);
    if let Some(n) = threads
        && (n == 0 || n % WARP_LANES as u32 != 0 || n > 1024)
    {
        let threads = kit::text::counted(n.into(), "thread");
        let what = format!("a barrier cannot wait for {threads}: not a multiple of the warp size");
        return Err(Trap::stop(FaultKind::IllegalInstruction, what, mask));
    }
    out.barrier = isa::BarrierArrival { id: id as u8, threads: threads.unwrap_or(0) as u16 };
    if let Some(d) = d {
        reductions[id as usize].add(votes, mask);
        warp.pending.push(PendingReduction { barrier: id as u8, op, d, mask });
    }
    Ok(())
}

/// The active lanes of `warp` are at an instruction that waits for the lanes that they name. Returns the lanes that
/// execute it now, if active ones do.
fn meet(warp: &mut Warp, named: &[(LaneMask, LaneMask)], out: &DynInst) -> Result<Option<LaneMask>, Stop> {
    warp.stack.meet(named).map_err(|Stuck| stuck(out.active))
}

/// All lanes of a warp wait for others.
#[cold]
pub(crate) fn stuck(mask: LaneMask) -> Stop {
    let what = "deadlock within a warp: all its lanes wait for others of the warp";
    Trap::stop(FaultKind::Other, what, mask)
}

/// Lanes `mask` at the barrier instruction at `pc` take part in the reduction of CTA barrier `id`.
#[cold]
fn join_reduction(
    warp: &mut Warp,
    kernel: &Kernel,
    reductions: &mut [Reduction],
    pc: u32,
    (id, mask): (u32, LaneMask),
) {
    let Op::Barrier { op, d: Some(d), p, .. } = kernel.code[pc as usize].op else { return };
    let votes = file!(warp, &kernel.constants, mask).pred(p);
    if let Some(reduction) = reductions.get_mut(id as usize) {
        reduction.add(votes, mask);
        warp.pending.push(PendingReduction { barrier: id as u8, op, d, mask });
    }
}

/// Copies from global to shared memory at once: the earliest legal time for an asynchronous copy.
fn async_copy(
    file: &Lanes<'_>,
    m: &mut Spaces<'_, '_>,
    [shared, global]: [Address; 2],
    bytes: u8,
    (source_bytes, ignore): (Option<Reg>, Option<Pred>),
    out: &mut DynInst,
) -> Outcome {
    access::addresses(file, global, m.frame, &mut out.addresses);
    access::addresses(file, shared, m.frame, out.second_addresses_mut());
    out.space = Space::Global;
    let mask = file.mask;
    let whole = mask & !ignore.map_or(0, |p| file.pred(p));
    let from = out.addresses;
    let to = *out.second_addresses();
    let mut words = [[0; WARP_LANES]; 4];
    if let Some(count) = source_bytes {
        let count = file.column(count);
        for byte in 0..u32::from(bytes) {
            let some = lanes(whole).filter(|&lane| byte < count[lane]).fold(0, |m, lane| m | 1 << lane);
            let mut column = [[0; WARP_LANES]; 1];
            if some != 0 {
                access::read(m, Space::Global, &from.map(|a| a + u64::from(byte)), some, 1, &mut column)?;
            }
            for lane in lanes(some) {
                words[(byte / 4) as usize][lane] |= column[0][lane] << (byte % 4 * 8);
            }
        }
    } else if whole != 0 {
        let mut read = words;
        match bytes {
            4 => {
                let mut word = [words[0]];
                access::read(m, Space::Global, &from, whole, 4, &mut word)?;
                read[0] = word[0];
            }
            8 => {
                let mut pair = [words[0]; 2];
                access::read(m, Space::Global, &from, whole, 8, &mut pair)?;
                read[..2].copy_from_slice(&pair);
            }
            _ => access::read(m, Space::Global, &from, whole, 16, &mut read)?,
        }
        // The words of other lanes are undefined.
        words.iter_mut().zip(&read).for_each(|(word, read)| blend(word, read, whole));
    }
    if mask == 0 {
        return Ok(());
    }
    let space = SPLIT_SPACES[1];
    match bytes {
        4 => access::write(m, space, &to, mask, 4, &[words[0]]),
        8 => access::write(m, space, &to, mask, 8, &[words[0], words[1]]),
        _ => access::write(m, space, &to, mask, 16, &words),
    }
}

//! The front end: fetch, decode, and the buffers between decode and issue.
//!
//! How instructions come to decode is a choice of the core design ([`FrontEnd`]): [`CachedFetch`] is GPGPU-Sim's,
//! [`PerfectFetch`] one without limits, [`SubCoreFetch`] has caches and a prefetcher in each sub-core.
//! Where decode of each warp may continue, at branches and barriers, is the same for all (`fetch`).
//!
//! [`CachedFetch`]: cached::CachedFetch
//! [`PerfectFetch`]: perfect::PerfectFetch
//! [`SubCoreFetch`]: sub_cores::SubCoreFetch

pub(crate) mod cached;
pub(crate) mod decode;
pub(crate) mod fetch;
pub(crate) mod instruction_buffer;
pub(crate) mod perfect;
pub(crate) mod sub_cores;

use crate::observe::counters::DesignStatistic;
use crate::observe::observer::Observer;
use crate::outbox::Client;
use crate::spec::CoreSpec;
use crate::state::{State, Tick};
use crate::warps::PerWarp;
use crate::warps::mask::WarpMask;
use isa::{ConstantOperand, KernelId, Pc, WarpSlot};
use kit::Cycle;
use kit::persist::{Archive, Mismatch};
use mem::cache::CacheCounters;
use mem::{Request, RequestKind};

/// How instructions come to decode. As a [`Client`] of the SM's port it sends the misses of its instruction caches, if
/// it has any.
pub trait FrontEnd<M: WarpMask>: Client + Send {
    /// Instructions of fixed latency issue only if their constant operands are there: [`FrontEnd::may_issue`],
    /// [`FrontEnd::has_constant`].
    const LOOKS_UP_CONSTANTS: bool = false;

    /// The front end of an SM of `spec`, with nothing fetched.
    fn new(spec: &CoreSpec) -> Self;

    /// Fetches for some of `wanting`: warps whose buffer has room for a fetch and that wait neither for an earlier
    /// fetch ([`FetchWires::missed`]), nor for a change of control flow, nor at a barrier. Called
    /// [`FrontEnd::fetches_per_cycle`] times in a cycle, after decode of what was fetched before, as long as something
    /// is fetched.
    fn step<O: Observer>(&mut self, wanting: M, wires: &mut FetchWires<'_, M, O>);

    /// Programs lie one after the other in memory, and the host has copied them there. Elsewhere each is where it is
    /// linked to.
    const PLACES_CODE: bool = false;

    /// How often fetch and decode alternate in a cycle.
    #[inline]
    fn fetches_per_cycle(&self, spec: &CoreSpec) -> u32 {
        spec.sm.frontend.fetches_per_cycle
    }

    /// Whether a packet waits for decode.
    fn has_packet(&self) -> bool;

    /// Takes what was fetched for decode: a warp and how many of its next instructions, of which decode may
    /// find fewer.
    fn take_packet(&mut self) -> Option<(WarpSlot, u8)>;

    /// The reply to a request of [`RequestKind::Instruction`] has come.
    fn receive(&mut self, _now: Cycle, _reply: &Request) {}

    /// All cycles before `now` are over, and a stage or a report will see it: what has been left to do in them is done.
    fn catch_up(&mut self, _now: Cycle) {}

    /// A CTA of a kernel comes to the SM, which is `alone` if no other is there.
    fn prepare_kernel(&mut self, _kernel: KernelId, _alone: bool) {}

    /// An instruction of `warp` issues, which scheduler number `scheduler` has chosen.
    #[inline(always)]
    fn on_issue(&mut self, _scheduler: usize, _warp: WarpSlot) {}

    /// Warps that no missing constant holds, for scheduler number `scheduler`.
    #[inline(always)]
    fn may_issue(&self, _scheduler: usize) -> M {
        M::ALL
    }

    /// Whether `constant`, an operand of an instruction of `warp` that scheduler number `scheduler` has chosen, is there.
    /// If not, the instruction does not issue.
    #[inline(always)]
    fn has_constant(&mut self, _now: Cycle, _scheduler: usize, _warp: WarpSlot, _constant: ConstantOperand) -> bool {
        true
    }

    /// From the issue of a taken branch, after which the sequential path was fetched, to the fetch of the right one.
    /// `found_early`: sequential instructions came with the branch's own fetch.
    #[inline]
    fn refetch_cycles(&self, found_early: bool) -> Cycle {
        if found_early { 1 } else { 2 }
    }

    /// Counters of its instruction caches.
    fn counters(&self) -> CacheCounters {
        CacheCounters::default()
    }

    /// Statistics that only this front end has, like the statistics of an issue policy
    /// ([`IssuePolicy::statistics`](crate::IssuePolicy::statistics)).
    fn statistics(&self) -> Vec<DesignStatistic> {
        Vec::new()
    }

    /// Saves the state that survives the end of all warps, for checkpoints between kernels; by default nothing
    /// ([`Persist`](kit::persist::Persist)).
    ///
    /// # Errors
    /// The archive has the state of another kind.
    fn persist(&mut self, _archive: &mut Archive) -> Result<(), Mismatch> {
        Ok(())
    }
}

/// Wires of fetch.
pub struct FetchWires<'a, M: WarpMask, O> {
    pub(crate) tick: Tick<'a, O>,
    pub(crate) state: &'a mut State<M>,
    /// The next instruction of each warp.
    pub(crate) next: &'a PerWarp<Option<Pc>, M>,
}

impl<M: WarpMask, O: Observer> FetchWires<'_, M, O> {
    /// The cycle being ticked.
    #[inline]
    pub fn now(&self) -> Cycle {
        self.tick.now
    }

    /// The next instruction of `warp`; none once it has ended, of which the SM takes note.
    #[inline]
    pub fn next_pc(&mut self, warp: WarpSlot) -> Option<Pc> {
        let pc = self.next[warp.index()];
        if pc.is_none() {
            self.state.warps.decoded.insert(warp);
        }
        pc
    }

    /// The warp of `among` that came to the SM last.
    #[inline]
    pub fn youngest(&self, among: M) -> Option<WarpSlot> {
        among.iter().max_by_key(|warp| self.state.warps.age[warp.index()])
    }

    /// The request for the instruction at `pc` of `warp`.
    #[inline]
    pub fn request(&self, warp: WarpSlot, pc: Pc) -> Request {
        let code = &self.tick.kernels[self.state.warps.kernel[warp.index()].index()].code;
        Request::new(RequestKind::Instruction, code.address(pc), code.program.inst_bytes, u32::from(warp.0))
    }

    /// Something moved, so that the SM does not sleep.
    #[inline]
    pub fn moved(&mut self) {
        self.state.wake_up.moved();
    }

    /// The SM looks again in `cycle`, which is after the present one.
    #[inline]
    pub fn wake_at(&mut self, cycle: Cycle) {
        self.state.wake_up.at(cycle);
    }

    /// A fetch for `warp` at `pc` begins, and hits or has no cache to miss in.
    #[inline]
    pub fn fetched(&mut self, warp: WarpSlot, pc: Pc) {
        self.state.counters.fetches += 1;
        self.tick.observer.fetched(self.tick.now, warp, pc);
    }

    /// A fetch for `warp` at `pc` begins, and misses: the warp waits until it is [answered](Self::answered).
    #[inline]
    pub fn missed(&mut self, warp: WarpSlot, pc: Pc) {
        self.fetched(warp, pc);
        self.state.counters.fetch_misses += 1;
        self.state.warps.missing.insert(warp);
        self.state.dirty.insert(warp);
    }

    /// The instruction cache has refused a request.
    #[inline]
    pub fn refused(&mut self) {
        self.state.counters.fetch_refusals += 1;
    }

    /// The schedulers of `warps` look at them again in the next cycle: something has changed for them.
    #[inline]
    pub fn look_again(&mut self, warps: M) {
        self.state.dirty |= warps;
        self.moved();
    }

    /// The instructions that `warp` has [missed](Self::missed) are there.
    #[inline]
    pub fn answered(&mut self, warp: WarpSlot) {
        self.state.warps.missing.remove(warp);
        self.state.dirty.insert(warp);
    }
}

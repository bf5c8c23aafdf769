//! The front end: fetch, decode, and the buffers between decode and issue.
//!
//! How instructions come to decode is a choice of the core design ([`FrontEnd`]): [`CachedFetch`] is GPGPU-Sim's,
//! [`PerfectFetch`] one without limits.
//! Where decode of each warp may continue, at branches and barriers, is the same for all (`fetch`).
//!
//! [`CachedFetch`]: cached::CachedFetch
//! [`PerfectFetch`]: perfect::PerfectFetch

pub(crate) mod cached;
pub(crate) mod decode;
pub(crate) mod fetch;
pub(crate) mod instruction_buffer;
pub(crate) mod perfect;

use crate::observe::observer::Observer;
use crate::outbox::Client;
use crate::spec::CoreSpec;
use crate::state::{State, Tick};
use crate::warps::PerWarp;
use crate::warps::mask::WarpMask;
use isa::{Pc, WarpSlot};
use kit::Cycle;
use kit::persist::{Archive, Mismatch};
use mem::cache::CacheCounters;
use mem::{Request, RequestKind};

/// Where code is for the caches.
const CODE_BASE: u64 = 1 << 43;

/// How instructions come to decode. As a [`Client`] of the SM's port it sends the misses of its instruction caches, if
/// it has any.
pub trait FrontEnd<M: WarpMask>: Client + Send {
    /// The front end of an SM of `spec`, with nothing fetched.
    fn new(spec: &CoreSpec) -> Self;

    /// Fetches for some of `wanting`: warps whose buffer has room for a fetch and that wait neither for an earlier
    /// fetch ([`FetchWires::missed`]), nor for a change of control flow, nor at a barrier. Called
    /// [`FrontEnd::fetches_per_cycle`] times in a cycle, after decode of what was fetched before, as long as something
    /// is fetched.
    fn step<O: Observer>(&mut self, wanting: M, wires: &mut FetchWires<'_, M, O>);

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

    /// Counters of its instruction caches.
    fn counters(&self) -> CacheCounters {
        CacheCounters::default()
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

    /// The request for the instruction at `pc` of `warp`.
    #[inline]
    pub fn request(&self, warp: WarpSlot, pc: Pc) -> Request {
        let program = &self.tick.kernels[self.state.warps.kernel[warp.index()].index()].code.program;
        Request {
            address: program.address(pc) + CODE_BASE,
            bytes: program.inst_bytes,
            kind: RequestKind::Instruction,
            local: false,
            byte_mask: u32::MAX,
            token: u32::from(warp.0),
            from: mem::Level::L2,
        }
    }

    /// Something moved, so that the SM does not sleep.
    #[inline]
    pub fn moved(&mut self) {
        self.state.wake_up.moved();
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

    /// The instructions that `warp` has [missed](Self::missed) are there.
    #[inline]
    pub fn answered(&mut self, warp: WarpSlot) {
        self.state.warps.missing.remove(warp);
        self.state.dirty.insert(warp);
    }
}

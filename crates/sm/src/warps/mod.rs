//! State of the resident warps and CTAs: a struct of arrays, with masks over the warps.

pub(crate) mod rows;
pub(crate) mod stall_counters;

pub(crate) use gpu::resident::{ctas, mask, occupancy};

use crate::warps::mask::WarpMask;
use crate::warps::stall_counters::StallCounters;
use isa::{CtaSlot, KernelId, Pc, WarpSlot};
use kit::persist::{Archive, Mismatch, Persist, each};
use std::fmt;

/// One value per warp slot of SMs whose sets of warps are `M`. It has no others, so that indexing needs no
/// check.
pub struct PerWarp<T: Send, M: WarpMask = u64>(M::Each<T>);

impl<T: Copy + Send, M: WarpMask> PerWarp<T, M> {
    /// `value` for every slot.
    pub fn new(value: T) -> Self {
        Self::from_fn(|_| value)
    }
}

impl<T: Send, M: WarpMask> PerWarp<T, M> {
    /// `value` of each slot.
    pub fn from_fn(value: impl FnMut(usize) -> T) -> Self {
        Self(M::each(value))
    }
}

impl<T: Clone + Send, M: WarpMask> Clone for PerWarp<T, M> {
    fn clone(&self) -> Self {
        Self::from_fn(|w| self[w].clone())
    }
}

impl<T: fmt::Debug + Send, M: WarpMask> fmt::Debug for PerWarp<T, M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.0.as_ref()).finish()
    }
}

impl<T: Send, M: WarpMask> std::ops::Index<usize> for PerWarp<T, M> {
    type Output = T;
    #[inline(always)]
    fn index(&self, warp: usize) -> &T {
        &self.0.as_ref()[warp % M::SLOTS]
    }
}

impl<T: Send, M: WarpMask> std::ops::IndexMut<usize> for PerWarp<T, M> {
    #[inline(always)]
    fn index_mut(&mut self, warp: usize) -> &mut T {
        &mut self.0.as_mut()[warp % M::SLOTS]
    }
}

/// The resident warps.
#[derive(Debug)]
pub struct Warps<M: WarpMask = u64> {
    /// Slots in use.
    pub resident: M,
    /// All threads have exited and the exit has issued.
    pub exited: M,
    /// All threads have exited as far as decode has come: nothing more to fetch.
    pub decoded: M,
    /// Waits for a fetch that has missed in an instruction cache.
    pub missing: M,
    /// Waits at a CTA barrier.
    pub at_barrier: M,
    /// Waits at a fence.
    pub at_fence: M,
    /// The fence that it waits at drops the contents of L1.
    pub invalidates: M,
    /// It has passed such a fence: L1 drops its contents when the warp's scheduler looks at it, as in GPGPU-Sim.
    pub drops_l1: M,
    /// Waits for asynchronous copies.
    pub at_copies: M,
    /// Waits for transfers of the copy engine.
    pub at_bulk: M,
    /// Waits until their sources have been read.
    pub at_bulk_reads: M,
    /// Waits for matrix operations of its warp group.
    pub at_matrices: M,
    /// Decode waits at an `mbarrier` for its phase to complete.
    pub at_mbarrier: M,
    /// Waits for atomics (only where they hold the warp).
    pub at_atomic: M,
    /// Decode waits for the exchange between SMs, after an atomic or another operation that needs memory for itself.
    pub atomic_at_exchange: M,
    /// The same after a fence.
    pub fence_at_exchange: M,
    /// Atomics among them whose operation has been performed.
    pub exchanged: M,
    /// Sleeps.
    pub asleep: M,
    /// Those held by the stall counts of their last instructions.
    pub stalls: StallCounters<M>,
    /// Kernel of each warp.
    pub kernel: PerWarp<KernelId, M>,
    /// CTA of each warp.
    pub cta: PerWarp<CtaSlot, M>,
    /// Place of each warp in its CTA.
    pub index_in_cta: PerWarp<u16, M>,
    /// Order of arrival on the SM: smaller is older.
    pub age: PerWarp<u64, M>,
    /// Program order of the next instruction to be decoded.
    pub next_order: PerWarp<u32, M>,
    /// The instruction that issued last.
    pub last_issued: PerWarp<Pc, M>,
    /// Instructions decoded and not yet complete.
    pub in_pipeline: PerWarp<u16, M>,
    /// Memory instructions issued and not performed, and store acknowledgements still to come.
    pub outstanding: PerWarp<u32, M>,
    /// Transfers of the copy engine among them.
    pub transfers: PerWarp<u32, M>,
    /// Instructions issued and not complete that write registers.
    pub writers: PerWarp<u32, M>,
    /// Atomics on their way that hold the warp.
    pub atomics: PerWarp<u16, M>,
    /// Look-ups that have missed in L1 since it started.
    pub l1_misses: PerWarp<u32, M>,
    arrivals: u64,
}

impl<M: WarpMask> Default for Warps<M> {
    /// Empty slots.
    fn default() -> Self {
        Self {
            resident: M::NONE,
            exited: M::NONE,
            decoded: M::NONE,
            missing: M::NONE,
            at_barrier: M::NONE,
            at_fence: M::NONE,
            invalidates: M::NONE,
            drops_l1: M::NONE,
            at_copies: M::NONE,
            at_bulk: M::NONE,
            at_bulk_reads: M::NONE,
            at_matrices: M::NONE,
            at_mbarrier: M::NONE,
            at_atomic: M::NONE,
            atomic_at_exchange: M::NONE,
            fence_at_exchange: M::NONE,
            exchanged: M::NONE,
            asleep: M::NONE,
            stalls: StallCounters::default(),
            kernel: PerWarp::new(KernelId(0)),
            cta: PerWarp::new(CtaSlot(0)),
            index_in_cta: PerWarp::new(0),
            age: PerWarp::new(0),
            next_order: PerWarp::new(0),
            last_issued: PerWarp::new(Pc(0)),
            in_pipeline: PerWarp::new(0),
            outstanding: PerWarp::new(0),
            transfers: PerWarp::new(0),
            writers: PerWarp::new(0),
            atomics: PerWarp::new(0),
            l1_misses: PerWarp::new(0),
            arrivals: 0,
        }
    }
}

impl<M: WarpMask> Warps<M> {
    /// Warps that may not issue whatever their buffers hold.
    #[inline]
    pub fn held(&self) -> M {
        let asynchronous = self.at_copies | self.at_bulk | self.at_bulk_reads | self.at_matrices;
        self.at_barrier | self.at_fence | asynchronous | self.at_atomic | self.asleep | self.exited
    }

    /// Warps that may issue if their buffers hold anything.
    #[inline]
    pub fn free(&self) -> M {
        self.resident & !self.held() & !self.stalls.holding
    }

    /// Warps with threads that have not exited.
    #[inline]
    pub fn live(&self) -> M {
        self.resident & !self.exited
    }

    /// The fence of `warp` is complete.
    pub fn pass_fence(&mut self, warp: WarpSlot) {
        self.at_fence.remove(warp);
        if self.invalidates.contains(warp) {
            self.invalidates.remove(warp);
            self.drops_l1.insert(warp);
        }
    }

    /// Puts a warp into a free slot.
    pub fn start(&mut self, warp: WarpSlot, kernel: KernelId, cta: CtaSlot, index_in_cta: usize) {
        let w = warp.index();
        debug_assert!(!self.resident.contains(warp));
        self.resident.insert(warp);
        self.exited.remove(warp);
        self.decoded.remove(warp);
        self.kernel[w] = kernel;
        self.cta[w] = cta;
        self.index_in_cta[w] = index_in_cta as u16;
        self.age[w] = self.arrivals;
        self.arrivals += 1;
        self.next_order[w] = 0;
        self.l1_misses[w] = 0;
        debug_assert!(self.in_pipeline[w] == 0 && self.outstanding[w] == 0 && self.atomics[w] == 0);
    }

    /// Whether all threads have exited and nothing of the warp is left in the SM or the memory.
    #[inline]
    pub fn is_drained(&self, warp: WarpSlot) -> bool {
        let w = warp.index();
        self.exited.contains(warp) && self.in_pipeline[w] == 0 && self.outstanding[w] == 0
    }
}

impl<T: Persist + Send, M: WarpMask> Persist for PerWarp<T, M> {
    fn persist(&mut self, archive: &mut Archive) -> Result<(), Mismatch> {
        each(self.0.as_mut(), archive)
    }
}

kit::persist! {
    struct [M: WarpMask] Warps<M> {
        resident, exited, decoded, missing, at_barrier, at_fence, invalidates, drops_l1, at_copies, at_bulk, at_bulk_reads, at_matrices, at_mbarrier, at_atomic, atomic_at_exchange,
        fence_at_exchange, exchanged, asleep, stalls, kernel, cta, index_in_cta, age, next_order, last_issued, in_pipeline,
        outstanding, transfers, writers, atomics, l1_misses, arrivals
    }
}

//! State of the resident warps and CTAs: a struct of arrays, with masks over the warps.

use crate::spec::WarpMask;
use isa::{CtaSlot, Dim3, KernelId, Pc, WarpSlot};
use kit::bits::set_bits;

/// The bit of a warp.
#[inline]
pub const fn bit(warp: WarpSlot) -> WarpMask {
    1 << warp.0
}

/// The warps in a mask, lowest first.
#[inline]
pub fn warps_in(mask: WarpMask) -> impl Iterator<Item = WarpSlot> {
    set_bits(mask).map(|w| WarpSlot(w as u16))
}

/// The first warp of `mask` behind `last` in round-robin order.
#[inline]
pub fn next_after(mask: WarpMask, last: u32) -> Option<WarpSlot> {
    if mask == 0 {
        return None;
    }
    let turn = (last + 1) % 64;
    Some(WarpSlot(((mask.rotate_right(turn).trailing_zeros() + turn) % 64) as u16))
}

/// One value per warp slot. Slots are below 64, so that indexing needs no check.
#[derive(Clone, Debug)]
pub struct PerWarp<T>([T; 64]);

impl<T: Copy> PerWarp<T> {
    /// `value` for every slot.
    pub const fn new(value: T) -> Self {
        Self([value; 64])
    }
}

impl<T> PerWarp<T> {
    /// What `value` gives for each slot.
    pub fn from_fn(value: impl FnMut(usize) -> T) -> Self {
        Self(std::array::from_fn(value))
    }
}

impl<T> std::ops::Index<usize> for PerWarp<T> {
    type Output = T;
    #[inline]
    fn index(&self, warp: usize) -> &T {
        &self.0[warp % 64]
    }
}

impl<T> std::ops::IndexMut<usize> for PerWarp<T> {
    #[inline]
    fn index_mut(&mut self, warp: usize) -> &mut T {
        &mut self.0[warp % 64]
    }
}

/// The resident warps.
#[derive(Debug)]
pub struct Warps {
    /// Slots in use.
    pub resident: WarpMask,
    /// All threads have exited and the exit has issued.
    pub exited: WarpMask,
    /// All threads have exited as far as decode has come: nothing more to fetch.
    pub decoded: WarpMask,
    /// Waits at a CTA barrier.
    pub at_barrier: WarpMask,
    /// Waits at a fence.
    pub at_fence: WarpMask,
    /// Waits for asynchronous copies.
    pub at_copies: WarpMask,
    /// Waits for atomics (only where they hold the warp).
    pub at_atomic: WarpMask,
    /// Sleeps.
    pub asleep: WarpMask,
    /// Kernel of each warp.
    pub kernel: PerWarp<KernelId>,
    /// CTA of each warp.
    pub cta: PerWarp<CtaSlot>,
    /// Place of each warp in its CTA.
    pub index_in_cta: PerWarp<u16>,
    /// Order of arrival on the SM: smaller is older.
    pub age: PerWarp<u64>,
    /// Program order of the next instruction to be decoded.
    pub next_order: PerWarp<u32>,
    /// The instruction that issued last.
    pub last_issued: PerWarp<Pc>,
    /// Instructions decoded and not yet complete.
    pub in_pipeline: PerWarp<u16>,
    /// Memory instructions issued and not performed, and store acknowledgements still to come.
    pub outstanding: PerWarp<u32>,
    /// Global atomics on their way.
    pub atomics: PerWarp<u16>,
    arrivals: u64,
}

impl Default for Warps {
    /// Empty slots.
    fn default() -> Self {
        Self {
            resident: 0,
            exited: 0,
            decoded: 0,
            at_barrier: 0,
            at_fence: 0,
            at_copies: 0,
            at_atomic: 0,
            asleep: 0,
            kernel: PerWarp::new(KernelId(0)),
            cta: PerWarp::new(CtaSlot(0)),
            index_in_cta: PerWarp::new(0),
            age: PerWarp::new(0),
            next_order: PerWarp::new(0),
            last_issued: PerWarp::new(Pc(0)),
            in_pipeline: PerWarp::new(0),
            outstanding: PerWarp::new(0),
            atomics: PerWarp::new(0),
            arrivals: 0,
        }
    }
}

impl Warps {
    /// Warps that may not issue whatever their buffers hold.
    #[inline]
    pub fn held(&self) -> WarpMask {
        self.at_barrier | self.at_fence | self.at_copies | self.at_atomic | self.asleep | self.exited
    }

    /// Puts a warp into a free slot.
    pub fn start(&mut self, warp: WarpSlot, kernel: KernelId, cta: CtaSlot, index_in_cta: usize) {
        let (w, b) = (warp.index(), bit(warp));
        debug_assert!(self.resident & b == 0);
        self.resident |= b;
        self.exited &= !b;
        self.decoded &= !b;
        self.kernel[w] = kernel;
        self.cta[w] = cta;
        self.index_in_cta[w] = index_in_cta as u16;
        self.age[w] = self.arrivals;
        self.arrivals += 1;
        self.next_order[w] = 0;
        debug_assert!(self.in_pipeline[w] == 0 && self.outstanding[w] == 0 && self.atomics[w] == 0);
    }

    /// Whether all threads have exited and nothing of the warp is left in the SM or the memory.
    #[inline]
    pub fn is_drained(&self, warp: WarpSlot) -> bool {
        let w = warp.index();
        self.exited & bit(warp) != 0 && self.in_pipeline[w] == 0 && self.outstanding[w] == 0
    }
}

/// A CTA on the SM.
#[derive(Clone, Copy, Debug)]
pub struct Cta {
    /// Its kernel.
    pub kernel: KernelId,
    /// Its position in the grid.
    pub position: Dim3,
    /// Slots of its warps.
    pub warps: WarpMask,
    /// Those of them that are not finished.
    pub unfinished: WarpMask,
    /// What it takes of the SM.
    pub resources: crate::occupancy::Resources,
}

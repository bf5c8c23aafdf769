//! The CTAs on a core: their slots, what they take of it, their barriers.

use super::barrier::Barriers;
use super::mask::{MOST_WARPS, WarpMask};
use super::occupancy::Resources;
use crate::core::FinishedCta;
use config::Sm as SmConfig;
use isa::{CtaSlot, Dim3, KernelId, LaunchShape, WarpSlot};
use kit::persist::{Archive, Mismatch, Persist};

/// A CTA on the core.
#[derive(Clone, Copy, Debug)]
struct Cta<M> {
    kernel: KernelId,
    /// Its position in the grid.
    position: Dim3,
    /// Slots of its warps.
    warps: M,
    /// Its warps that are not finished.
    unfinished: M,
    /// Resources of the core that it takes.
    resources: Resources,
}

/// The slots of a core.
#[derive(Debug)]
pub struct Ctas<M> {
    slots: Box<[Option<Cta<M>>]>,
    /// Their barriers.
    pub barriers: Barriers<M>,
    free: Resources,
    /// Slots of all warps of resident CTAs, finished ones among them.
    reserved: M,
    warp_slots: usize,
    /// CTAs that have left, for the dispatcher to drain.
    pub finished: Vec<FinishedCta>,
    /// Slots that CTAs have left in this tick, of which the stream has yet to be informed, one bit each.
    pub ended: u64,
    /// Slots that CTAs have left since the last exchange: what they have done there is known by their slots, so that
    /// no other CTA gets them before, if there are exchanges.
    left: u64,
}

impl<M: WarpMask> Ctas<M> {
    /// Free slots.
    pub fn new(sm: &SmConfig) -> Self {
        let ctas = sm.max_ctas as usize;
        Self {
            slots: vec![None; ctas].into(),
            barriers: Barriers::new(ctas, sm.barriers_per_cta as usize),
            free: Resources::of_sm(sm),
            reserved: M::NONE,
            warp_slots: sm.max_warps as usize,
            finished: Vec::with_capacity(ctas),
            ended: 0,
            left: 0,
        }
    }

    /// Whether no CTA is resident.
    pub fn is_empty(&self) -> bool {
        self.reserved.is_empty()
    }

    /// Whether a CTA of `shape` fits, after CTAs of the shapes in `coming`, which fit.
    pub fn can_accept(
        &self,
        sm: &SmConfig,
        coming: &mut dyn Iterator<Item = &LaunchShape>,
        shape: &LaunchShape,
    ) -> bool {
        let mut free = self.free;
        coming.for_each(|shape| free.take(&Resources::of_cta(sm, shape)));
        free.covers(&Resources::of_cta(sm, shape))
    }

    /// The position in the grid of the CTA in `slot`.
    pub fn position(&self, slot: CtaSlot) -> Dim3 {
        self.slots[slot.index()].map_or(Dim3::new(0, 0, 0), |c| c.position)
    }

    /// A CTA that takes `resources`, which are free, comes. Gives its slot, and the slots of its warps in
    /// `warps`; returns the number of warps.
    pub fn start(
        &mut self,
        kernel: KernelId,
        position: Dim3,
        resources: Resources,
        warps: &mut [WarpSlot; MOST_WARPS],
    ) -> (CtaSlot, usize) {
        assert!(self.free.covers(&resources), "a CTA that does not fit was started");
        self.free.take(&resources);
        let mut free = (0..self.slots.len()).filter(|&slot| self.slots[slot].is_none());
        // In windows there is one: who dispatches knows only what was free at the last exchange.
        let unused = free.clone().find(|&slot| self.left >> slot & 1 == 0);
        let slot = CtaSlot::from(unused.or_else(|| free.next()).expect("a CTA slot is free"));
        let count = self.choose_warp_slots(resources.warps as usize, warps);
        let mine = M::collect(warps[..count].iter().copied());
        self.reserved |= mine;
        self.slots[slot.index()] = Some(Cta { kernel, position, warps: mine, unfinished: mine, resources });
        self.barriers.start_cta(slot, mine);
        (slot, count)
    }

    /// The first run of free slots that holds `count` warps side by side, as GPGPU-Sim looks for
    /// one at multiples of the CTA's size; else the first free ones.
    fn choose_warp_slots(&self, count: usize, slots: &mut [WarpSlot; MOST_WARPS]) -> usize {
        let total = self.warp_slots;
        let fits = |&s: &usize| s + count <= total && !self.reserved.meets(M::run(s, count));
        let aligned = (0..total).step_by(count.max(1)).find(fits);
        let from = (aligned.unwrap_or(0)..total).map(|w| WarpSlot(w as u16));
        let mut chosen = 0;
        for warp in from.filter(|&w| !self.reserved.contains(w)).take(count) {
            slots[chosen] = warp;
            chosen += 1;
        }
        chosen
    }

    /// `warp` of the CTA in `slot` is finished. Whether the CTA has left with it.
    pub fn finish_warp(&mut self, slot: CtaSlot, warp: WarpSlot) -> bool {
        let cta = self.slots[slot.index()].as_mut().expect("a resident warp's CTA is resident");
        cta.unfinished.remove(warp);
        if !cta.unfinished.is_empty() {
            return false;
        }
        let cta = *cta;
        self.slots[slot.index()] = None;
        self.free.give_back(&cta.resources);
        self.reserved &= !cta.warps;
        self.finished.push(FinishedCta { kernel: cta.kernel, cta: cta.position, slot });
        self.ended |= 1 << slot.index();
        self.left |= 1 << slot.index();
        true
    }

    /// Writes of CTAs that have left are known to all: others may have their slots.
    pub fn exchanged(&mut self) {
        self.left = 0;
    }
}

/// No CTA is resident: nothing is state but what is on its way to others.
impl<M: WarpMask> Persist for Ctas<M> {
    fn persist(&mut self, archive: &mut Archive) -> Result<(), Mismatch> {
        let Self { slots: _, barriers: _, free: _, reserved, warp_slots: _, finished, ended, left } = self;
        if !reserved.is_empty() {
            return Err(Mismatch::new("a CTA is resident"));
        }
        finished.persist(archive)?;
        ended.persist(archive)?;
        left.persist(archive)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn warps_of_a_cta_are_side_by_side_at_a_multiple_of_its_size() {
        let mut ctas = Ctas::<u64>::new(&config::load("accel-sim/rtx2060s").expect("a built-in GPU").sm);
        let mut start = |warps| {
            let mut slots = [WarpSlot(0); MOST_WARPS];
            let need = Resources { warps, ctas: 1, ..Resources::default() };
            let (_, count) = ctas.start(KernelId(0), Dim3::new(0, 0, 0), need, &mut slots);
            slots[..count].iter().map(|slot| slot.0).collect::<Vec<_>>()
        };
        assert_eq!(start(1), [0]);
        assert_eq!(start(2), [2, 3]);
        assert_eq!(start(1), [1]);
        assert_eq!(start(4), [4, 5, 6, 7]);
    }
}

//! Dispatch within a window: CTAs get places in the order of cycles.

use super::{Control, Floor, Paused};
use crate::core::{Core, CoreKernel};
use crate::unit::{Start, StopAt, Unit};
use isa::KernelId;
use kit::locks::{own, write};
use kit::{Cycle, NEVER};
use std::cmp::Reverse;

impl<C: Core> Control<C> {
    /// Whether a core of unit `number` may have room.
    pub(super) fn has_room(&self, number: usize) -> bool {
        let first = number * self.cores_per_unit;
        self.room.next(first).is_some_and(|core| core < first + self.cores_per_unit)
    }

    /// The units of which a core may have room.
    pub(super) fn units_with_room(&self) -> Vec<usize> {
        let mut units: Vec<usize> = self.room.iter().map(|core| core / self.cores_per_unit).collect();
        units.dedup();
        units
    }

    /// The dispatcher serves the cycles from `from` on, up to the first one after which a unit can continue by itself.
    /// Those units are the shift from now on. Units of the present shift have done the window or have `paused`, and
    /// units with room have done the cycles before `from`. Returns the first cycle that has not been served.
    ///
    /// CTAs dispatched in the last cycle before `end` start in the next window, and are left to it.
    pub(super) fn serve(&mut self, floor: &Floor<'_, C>, mut from: Cycle, end: Cycle, paused: &mut Paused) -> Cycle {
        let mut shift = write(&floor.shift);
        let note = |number: usize, paused: &mut Paused| {
            paused.extend(own(&floor.units[number]).paused.take().map(|at| Reverse((at, number))));
        };
        shift.units.drain(..).for_each(|number| note(number, paused));
        while shift.units.is_empty() && self.dispatcher.has_work(from) {
            let first_pause = paused.peek().map_or(NEVER, |Reverse((at, _))| *at);
            let cycle = if self.room.is_empty() { first_pause } else { from };
            if cycle >= end - 1 {
                shift.units = self.units_with_room();
                return end;
            }
            for number in self.units_with_room() {
                if own(&floor.units[number]).has_work(cycle + 1) {
                    floor.run_unit(number, cycle + 1, StopAt::EachEnd);
                    note(number, paused);
                }
            }
            while let Some(&Reverse((at, number))) = paused.peek()
                && at == cycle
            {
                paused.pop();
                let mut unit = own(&floor.units[number]);
                let first = unit.first;
                for (place, core) in unit.cores.iter_mut().enumerate() {
                    if !core.finished().is_empty() {
                        self.room.insert(first + place);
                    }
                }
            }
            shift.units = self.units_with_room();
            self.dispatch_in(floor, cycle);
            shift.units.retain(|&number| !self.has_room(number));
            from = cycle + 1;
        }
        from
    }

    /// Dispatch in `cycle`: each unit gets at most one CTA, which starts in the next cycle. Cores that
    /// cannot take another one have no room any more.
    pub(super) fn dispatch_in(&mut self, floor: &Floor<'_, C>, cycle: Cycle) {
        if self.room.is_empty() || !self.dispatcher.has_work(cycle) {
            return;
        }
        let Self { dispatcher, room, cores_per_unit, awake, unmade, .. } = self;
        let mut world = write(&floor.world);
        let (shared, kernels) = &mut *world;
        let shape = |kernel: KernelId| kernels[kernel.index()].shape();
        let fits = |unit: &Unit<C>, place: usize, kernel: KernelId| {
            let coming = unit.starts.iter().filter(|start| start.place == place);
            unit.cores[place].can_accept(&mut coming.map(|start| shape(start.kernel)), shape(kernel))
        };
        dispatcher.dispatch(cycle, room, |p| {
            let place = p.core % *cores_per_unit;
            let mut unit = own(&floor.units[p.core / *cores_per_unit]);
            if let Some(unmade) = unmade {
                unmade.make_cores(&mut unit);
            }
            let fits = fits(&unit, place, p.kernel);
            if fits {
                unit.cores[place].prepare_cta(shared, p.kernel, p.cta);
                awake.insert(p.core / *cores_per_unit);
                unit.starts.push_back(Start { at: cycle + 1, place, kernel: p.kernel, cta: p.cta });
            }
            fits
        });
        let full = |&core: &usize| {
            let unit = own(&floor.units[core / *cores_per_unit]);
            !dispatcher.ready(cycle).any(|kernel| fits(&unit, core % *cores_per_unit, kernel))
        };
        let full: Vec<usize> = room.iter().filter(full).collect();
        full.into_iter().for_each(|core| _ = room.remove(core));
    }

    /// Dispatch of clusters in `cycle`, the first of a window.
    pub(super) fn dispatch_clusters(&mut self, floor: &Floor<'_, C>, cycle: Cycle) {
        if !std::mem::take(&mut self.has_cluster_room) || !self.dispatcher.has_clusters(cycle) {
            return;
        }
        let Self { dispatcher, cores_per_unit, awake, unmade, network, .. } = self;
        let mut world = write(&floor.world);
        let (shared, kernels) = &mut *world;
        let shape = |kernel: KernelId| kernels[kernel.index()].shape();
        let fits = |core: usize, kernel: KernelId, ctas: usize| {
            let (place, mut unit) = (core % *cores_per_unit, own(&floor.units[core / *cores_per_unit]));
            if let Some(unmade) = unmade {
                unmade.make_cores(&mut unit);
            }
            let coming = unit.starts.iter().filter(|start| start.place == place).map(|start| shape(start.kernel));
            unit.cores[place].can_accept(&mut coming.chain((1..ctas).map(|_| shape(kernel))), shape(kernel))
        };
        dispatcher.dispatch_clusters(cycle, fits, |p, at| {
            let (place, mut unit) = (p.core % *cores_per_unit, own(&floor.units[p.core / *cores_per_unit]));
            unit.cores[place].prepare_cta(shared, p.kernel, p.cta);
            if let Some(cta) = shape(p.kernel).member(p.kernel, p.cta) {
                network.place(cta, p.core);
            }
            awake.insert(p.core / *cores_per_unit);
            let after = unit.starts.partition_point(|start| start.at <= at);
            unit.starts.insert(after, Start { at, place, kernel: p.kernel, cta: p.cta });
        });
    }
}

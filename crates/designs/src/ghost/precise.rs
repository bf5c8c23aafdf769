//! GhOST-Precise: exceptions of loads leave a state from which the warp can be started again at the
//! load (section IV-F).
//!
//! - **LoadCounter** of a warp: its loads between dependence check and TLB check. **InstLoadCounter**
//!   of an instruction: the LoadCounter when it was checked, less the TLB checks since. The paper keeps
//!   it in unary and shifts it.
//! - **Idempotence**: an instruction that overwrites what it or an older one has read since the load
//!   to start again at, and what none has written before between that load and the read, cannot be
//!   executed a second time; nor can stores, atomics and synchronisation. It waits until its
//!   InstLoadCounter is zero.
//!
//! - D-P1: a compiler would mark instructions for all paths that lead to them; here they are marked by
//!   the path that the warp takes.
//! - D-P2: loads and atomics to global and local memory have a TLB check; it ends a fixed time after
//!   they have left their operand collector and never misses.

use isa::{Access, Control, MemAccess, Space, WarpSlot};
use kit::Cycle;
use sm::InstId;
use sm::PerWarp;
use sm::WakeUp;
use sm::Window;
use sm::{Names, RegSet};
use std::collections::VecDeque;

/// Instructions that would be executed again by starting again at any unchecked load of a warp.
#[derive(Clone, Copy, Debug, Default)]
struct Region {
    /// LoadCounter.
    loads: u8,
    /// Read with a value from before a load.
    exposed: RegSet,
    /// Written since the youngest load.
    defined: RegSet,
}

/// Loads on their way to their TLB checks.
#[derive(Debug)]
pub(super) struct Translations {
    /// From the cycle in which a load leaves its operand collector to the one in which its TLB check ends.
    tlb_check_cycles: u32,
    regions: PerWarp<Region, u128>,
    /// Lookups that began in this cycle.
    begun: Vec<WarpSlot>,
    /// Lookups by the cycle in which their warps know.
    pending: VecDeque<(Cycle, WarpSlot)>,
}

/// Whether an access is a load that has a TLB check.
fn is_translated(mem: MemAccess) -> bool {
    matches!(mem.access, Access::Load | Access::Atomic)
        && matches!(mem.space, Space::Global | Space::Generic | Space::Local)
}

impl Translations {
    pub fn new(tlb_check_cycles: u32) -> Self {
        Self { tlb_check_cycles, regions: PerWarp::new(Region::default()), begun: Vec::new(), pending: VecDeque::new() }
    }

    /// `id` is checked for dependences: its InstLoadCounter, and whether it must wait for that to be
    /// zero.
    pub fn check(&mut self, window: Window<'_>, warp: WarpSlot, id: InstId) -> (u8, bool) {
        let inst = window.inst(id);
        let region = &mut self.regions[warp.index()];
        let loads = region.loads;
        let is_load = inst.mem.is_some_and(is_translated);
        if loads == 0 {
            *region = Region::default();
        }
        if is_load {
            region.loads += 1;
            region.defined = RegSet::default();
        }
        let Names { reads: mut read, writes, .. } = *window.names(id);
        read.remove(region.defined);
        region.exposed.insert(read);
        let overwrites = region.exposed.meets(&writes) || inst.is_wide;
        region.defined.insert(writes);
        let once = inst.control != Control::None && inst.control != Control::Branch
            || inst.mem.is_some_and(|m| m.access != Access::Load);
        (loads, loads > 0 && (overwrites || once))
    }

    /// `id` leaves its operand collector.
    pub fn look_up(&mut self, window: Window<'_>, id: InstId) {
        let inst = window.inst(id);
        if inst.mem.is_some_and(is_translated) {
            self.begun.push(inst.warp);
        }
    }

    /// A warp one of whose TLB checks has ended; at the first call of a cycle, lookups begun in it
    /// start to take time.
    pub fn take_done(&mut self, now: Cycle, wake_up: &mut WakeUp) -> Option<WarpSlot> {
        let known = now + Cycle::from(self.tlb_check_cycles) + 1;
        self.pending.extend(self.begun.drain(..).map(|warp| (known, warp)));
        let &(due, warp) = self.pending.front()?;
        if due > now {
            wake_up.at(due);
            return None;
        }
        self.pending.pop_front();
        self.regions[warp.index()].loads -= 1;
        Some(warp)
    }
}

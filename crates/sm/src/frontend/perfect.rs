//! A front end without limits: a warp that may decode its next instructions has them.
//!
//! There is no instruction cache. Fetch and decode alternate until no warp that may decode has room for a fetch in
//! its instruction buffer, whatever [`config::Frontend::fetches_per_cycle`] says.
//!
//! - **Kept**: the sizes of a fetch and of the instruction buffers; barriers; the penalty of a change of control
//!   flow ([`config::BranchFetch`]), which `sm.frontend.branches = "oracle"` removes.
//! - **Left out**: the traffic of code to L2, which in other designs data share the crossbar with.
//!
//! Stall reasons: `empty_buffer` occurs only in the cycle in which a warp starts or continues after a barrier or
//! branch, `instruction_cache` never.

use super::{FetchWires, FrontEnd};
use crate::design::{MaskOf, with};
use crate::observe::observer::Observer;
use crate::outbox::Client;
use crate::spec::CoreSpec;
use crate::warps::mask::WarpMask;
use isa::WarpSlot;

/// Warps whose next instructions are to be decoded.
#[derive(Debug)]
pub struct PerfectFetch<M = u64> {
    fetched: M,
    per_fetch: u8,
}

impl<M: WarpMask> FrontEnd<M> for PerfectFetch<M> {
    fn new(spec: &CoreSpec) -> Self {
        Self { fetched: M::NONE, per_fetch: spec.sm.frontend.instructions_per_fetch as u8 }
    }

    fn fetches_per_cycle(&self, _: &CoreSpec) -> u32 {
        u32::MAX
    }

    fn step<O: Observer>(&mut self, wanting: M, wires: &mut FetchWires<'_, M, O>) {
        for warp in wanting.iter() {
            let Some(pc) = wires.next_pc(warp) else { continue };
            self.fetched.insert(warp);
            wires.fetched(warp, pc);
            wires.moved();
        }
    }

    fn has_packet(&self) -> bool {
        !self.fetched.is_empty()
    }

    fn take_packet(&mut self) -> Option<(WarpSlot, u8)> {
        let warp = self.fetched.first()?;
        self.fetched.remove(warp);
        Some((warp, self.per_fetch))
    }
}

impl<M> Client for PerfectFetch<M> {}

with!(PerfectFetch<MaskOf<D>> => PerfectFetch<MaskOf<D>>, D::Execution, D::Memory; |_, spec| FrontEnd::new(spec), D::memory);

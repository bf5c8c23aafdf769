//! Who waits for what: the report of a deadlock.

use crate::design::{CoreDesign, MaskOf};
use crate::issue::policy::IssuePolicy;
use crate::kernel::ResidentKernel;
use crate::observe::observer::Observer;
use crate::observe::stalls::Stall;
use crate::sm::Sm;
use crate::warps::mask::WarpMask;
use isa::{Dim3, Pc, WarpSlot, WarpStream};
use kit::text::counted;

/// A warp that cannot continue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BlockedWarp {
    /// SM that it is on.
    pub sm: u16,
    /// Slot on the SM.
    pub warp: WarpSlot,
    /// Name of its kernel.
    pub kernel: String,
    /// Its CTA's position in the grid.
    pub cta: Dim3,
    /// Its place in the CTA.
    pub index_in_cta: u16,
    /// The instruction at which it waits, if there is one.
    pub pc: Option<Pc>,
    /// That instruction's text.
    pub text: String,
    /// Where that instruction is ([`Program::place`](isa::Program::place)); empty if unknown.
    pub place: String,
    /// Why it does not issue.
    pub stall: Stall,
    /// The event that it waits for, in words.
    pub waits_for: String,
}

impl std::fmt::Display for BlockedWarp {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { sm, warp, kernel, cta, index_in_cta, text, place, waits_for, .. } = self;
        write!(f, "SM {sm}, warp slot {}: warp {index_in_cta} of CTA {cta} of `{kernel}`", warp.0)?;
        if !text.is_empty() {
            write!(f, " at `{text}`")?;
        }
        if !place.is_empty() {
            write!(f, " ({place})")?;
        }
        write!(f, " waits for {waits_for}")
    }
}

impl<S: WarpStream, D: CoreDesign, O: Observer> Sm<S, D, O> {
    /// Every resident warp with what keeps it from issuing.
    pub fn describe_stalls(&self, kernels: &[ResidentKernel]) -> Vec<BlockedWarp> {
        self.state.warps.resident.iter().map(|warp| self.describe_warp(kernels, warp)).collect()
    }

    fn describe_warp(&self, kernels: &[ResidentKernel], warp: WarpSlot) -> BlockedWarp {
        let w = warp.index();
        let kernel = self.state.warps.kernel[w];
        let program = &kernels[kernel.index()].code.program;
        let partition = self.state.partition_of(warp);
        let only = MaskOf::<D>::of(warp);
        let free = only & self.state.warps.free();
        let blocked = self.issue.policy.candidates().pipes_of(free);
        let stall = self.issue.why((only, free), blocked, partition, &self.state, &self.fetch, &self.operands);
        // A warp that is held waits at the instruction that it issued, others before their next.
        let next = if self.state.warps.held().contains(warp) {
            Some(self.state.warps.last_issued[w])
        } else {
            self.issue
                .policy
                .oldest(warp)
                .map(|id| self.state.slab.get(id).pc)
                .or_else(|| self.decode.stream.next_pc(warp))
        };
        let pc = next.filter(|pc| pc.index() < program.insts().len());
        BlockedWarp {
            sm: self.state.id,
            warp,
            kernel: program.name.clone(),
            cta: self.state.ctas.position(self.state.warps.cta[w]),
            index_in_cta: self.state.warps.index_in_cta[w],
            pc,
            text: pc.map_or_else(String::new, |pc| program.text(pc).to_owned()),
            place: pc.map_or_else(String::new, |pc| program.place(pc)),
            stall,
            waits_for: self.describe_wait(warp, stall),
        }
    }

    fn describe_wait(&self, warp: WarpSlot, stall: Stall) -> String {
        if let Some(what) = self.decode.stream.describe_wait(warp) {
            return what;
        }
        let w = warp.index();
        let outstanding = self.state.warps.outstanding[w];
        match stall {
            Stall::Barrier => {
                let place = |warp: WarpSlot| self.state.warps.index_in_cta[warp.index()];
                self.state.ctas.barriers.describe_wait(self.state.warps.cta[w], warp, place)
            }
            Stall::Fence => format!("{} at a fence", counted(outstanding.into(), "outstanding memory access")),
            Stall::Drain => format!("{} before it can end", counted(outstanding.into(), "outstanding memory access")),
            Stall::AsyncCopy => {
                format!("asynchronous copies, {} groups of which are pending", self.state.copies.pending(warp))
            }
            Stall::Raw | Stall::RawMemory | Stall::Waw | Stall::War => {
                format!("a register ({}), {outstanding} memory accesses being outstanding", stall.name())
            }
            other => other.description().trim_end_matches('.').to_owned(),
        }
    }
}

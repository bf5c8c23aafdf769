//! Several observers at one SM, each of which may be absent: a design is compiled once for all of them.

use crate::kernel::ResidentKernel;
use crate::observe::auditor::Auditor;
use crate::observe::observer::{Accessed, Awaited, Observer, Seen, Transferred, Wait};
use crate::observe::passages::Passages;
use crate::observe::profile::Profile;
use crate::observe::stalls::Stall;
use isa::{CtaSlot, Dim3, KernelId, Pc, WarpSlot};
use kit::Cycle;
use kit::persist::{Archive, Mismatch, part};
use mem::Level;

/// The observers of an SM.
#[derive(Debug, Default)]
pub struct Instruments {
    /// Checks the order of instructions.
    pub auditor: Option<Auditor>,
    /// Counts by instruction.
    pub profile: Option<Profile>,
    /// Records when instructions pass their stages.
    pub passages: Option<Passages>,
}

/// Passes an event on to each observer that is there.
macro_rules! each {
    ($self:ident, $call:ident($($argument:expr),*)) => {{
        if let Some(auditor) = &mut $self.auditor {
            auditor.$call($($argument),*);
        }
        if let Some(profile) = &mut $self.profile {
            profile.$call($($argument),*);
        }
        if let Some(passages) = &mut $self.passages {
            passages.$call($($argument),*);
        }
    }};
}

impl Observer for Instruments {
    fn watches_details(&self) -> bool {
        self.profile.is_some() || self.passages.is_some()
    }
    fn cta_started(&mut self, now: Cycle, kernel: KernelId, cta: Dim3, slot: CtaSlot, warps: &[WarpSlot]) {
        each!(self, cta_started(now, kernel, cta, slot, warps));
    }
    fn cta_finished(&mut self, now: Cycle, slot: CtaSlot) {
        each!(self, cta_finished(now, slot));
    }
    fn fetched(&mut self, now: Cycle, warp: WarpSlot, pc: Pc) {
        each!(self, fetched(now, warp, pc));
    }
    fn decoded(&mut self, now: Cycle, seen: Seen<'_>) {
        each!(self, decoded(now, seen));
    }
    fn issued(&mut self, now: Cycle, slot: usize, seen: Seen<'_>) {
        each!(self, issued(now, slot, seen));
    }
    fn collecting(&mut self, now: Cycle, seen: Seen<'_>, awaited: u64) {
        each!(self, collecting(now, seen, awaited));
    }
    fn collected(&mut self, now: Cycle, seen: Seen<'_>) {
        each!(self, collected(now, seen));
    }
    fn operands_read(&mut self, now: Cycle, seen: Seen<'_>) {
        each!(self, operands_read(now, seen));
    }
    fn executing(&mut self, now: Cycle, seen: Seen<'_>) {
        each!(self, executing(now, seen));
    }
    fn accessed(&mut self, now: Cycle, seen: Seen<'_>, accessed: Accessed) {
        each!(self, accessed(now, seen, accessed));
    }
    fn served(&mut self, now: Cycle, seen: Seen<'_>, level: Level) {
        each!(self, served(now, seen, level));
    }
    fn written_back(&mut self, now: Cycle, seen: Seen<'_>) {
        each!(self, written_back(now, seen));
    }
    fn flushed(&mut self, now: Cycle, warp: WarpSlot) {
        each!(self, flushed(now, warp));
    }
    fn released(&mut self, now: Cycle, warps: u128) {
        each!(self, released(now, warps));
    }
    fn awaited(&mut self, now: Cycle, warp: WarpSlot, stall: Stall, by: Option<Awaited<'_>>) {
        each!(self, awaited(now, warp, stall, by));
    }
    fn transferred(&mut self, now: Cycle, warp: WarpSlot, place: (KernelId, Pc), transferred: Transferred) {
        each!(self, transferred(now, warp, place, transferred));
    }
    fn stalled(&mut self, now: Cycle, slot: usize, wait: &Wait<'_>) {
        each!(self, stalled(now, slot, wait));
    }
    fn settled(&mut self, now: Cycle) {
        each!(self, settled(now));
    }
    fn persist(&mut self, kernels: &[ResidentKernel], archive: &mut Archive) -> Result<(), Mismatch> {
        let Self { auditor, profile, passages } = self;
        if passages.is_some() {
            return Err(Mismatch::new("what is recorded cycle by cycle is not kept"));
        }
        part(auditor, archive)?;
        archive.same("number of profiles", usize::from(profile.is_some()))?;
        profile.as_mut().map_or(Ok(()), |profile| Observer::persist(profile, kernels, archive))
    }
}

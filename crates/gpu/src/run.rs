//! Results of a run: kernels that have ended, progress, why it ended before its kernels did.

use crate::core::CoreReport;
use crate::dispatch::StreamId;
use crate::livelock::Livelock;
use crate::snapshot::Snapshot;
use isa::{Fault, KernelId};
use kit::{Counters, Cycle};
use std::fmt;

/// A kernel that has ended.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs, reason = "the names of some fields and variants say it all")]
pub struct KernelRun<K> {
    pub kernel: KernelId,
    pub stream: StreamId,
    /// Cycle in which it became resident: the launch latency begins.
    pub start: Cycle,
    /// Cycle in which its launch latency was over.
    pub ready: Cycle,
    /// Cycle after its last CTA's end.
    pub end: Cycle,
    /// Counts of the whole GPU from `start` to `end`; from `ready` on only, if other kernels ran during the
    /// launch latency. [`Snapshot::kernel_cycles`] of it are those from `ready` to `end`.
    pub counters: Snapshot<K>,
}

impl<K: CoreReport + 'static> KernelRun<K> {
    /// The same without the type of the cores.
    pub fn erased(self) -> KernelRun<Box<dyn CoreReport>> {
        let Self { kernel, stream, start, ready, end, counters } = self;
        KernelRun { kernel, stream, start, ready, end, counters: counters.erased() }
    }
}

/// Progress of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names of some fields and variants say it all")]
pub struct Progress {
    /// The oldest kernel that runs.
    pub kernel: Option<KernelId>,
    /// CTAs of unfinished kernels that have ended.
    pub ctas_done: u64,
    /// CTAs of unfinished kernels.
    pub ctas_total: u64,
    /// Core cycles simulated so far.
    pub cycles: Cycle,
    pub warp_instructions: u64,
}

/// State that can be looked at while a machine runs.
pub trait View {
    /// How far it has come.
    fn progress(&self) -> Progress;
    /// Warp instructions that each core has issued so far.
    fn issued(&self) -> Vec<u64>;
    /// Counts of the cores together, each up to the last cycle in which it had anything to do.
    fn counted(&self) -> Box<dyn CoreReport>;
}

/// A deadlock: no warp can continue, and what each waits for.
#[derive(Clone, Debug)]
pub struct Deadlock {
    /// When it was found.
    pub cycle: Cycle,
    /// The warps, each with what it waits for ([`Core::describe_stalls`](crate::Core::describe_stalls)).
    pub blocked: Vec<String>,
}

/// Maximum number of warps that the text of a deadlock names.
const NAMED_WARPS: usize = 16;

impl fmt::Display for Deadlock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let warps = kit::text::counted(self.blocked.len() as u64, "warp");
        write!(f, "deadlock at cycle {}: {warps} can never go on", self.cycle)?;
        for warp in self.blocked.iter().take(NAMED_WARPS) {
            write!(f, "\n  {warp}")?;
        }
        if self.blocked.len() > NAMED_WARPS {
            write!(f, "\n  … and {} more", self.blocked.len() - NAMED_WARPS)?;
        }
        Ok(())
    }
}

/// Why a run ended before its kernels did. The machine keeps its counters.
#[derive(Debug)]
pub enum MachineError {
    /// An instruction had no defined outcome.
    Fault(Box<Fault>),
    /// Nothing can continue: warps wait for what never comes.
    Deadlock(Deadlock),
    /// Warps execute without end and change nothing.
    Livelock(Livelock),
    /// The watcher ended the run.
    Interrupted,
}

/// A launch that is running.
#[derive(Clone, Debug)]
pub(crate) struct Running<K> {
    pub kernel: KernelId,
    pub stream: StreamId,
    pub start: Cycle,
    /// Its launch latency ends.
    pub ready: Cycle,
    /// The counters at the beginning of its own.
    pub before: Snapshot<K>,
}

impl<K: Counters> Running<K> {
    /// Whether nothing ran between the beginning of the counters and `now`.
    pub fn only_waited(&self, now: &Snapshot<K>) -> bool {
        now.launch.cycles - self.before.launch.cycles == now.cycles - self.before.cycles
    }

    /// The run up to `after`.
    pub fn until(&self, after: &Snapshot<K>) -> KernelRun<K> {
        let Self { kernel, stream, start, ready, ref before } = *self;
        let end = after.cycles;
        // Work of others while it waited is not its own.
        let counters = if ready > end && !self.only_waited(after) { after } else { before };
        KernelRun { kernel, stream, start, ready: ready.min(end), end, counters: after.since(counters) }
    }
}

kit::persist! {
    new struct [K: kit::persist::Fresh + Counters] KernelRun<K> { kernel, stream, start, ready, end, counters }
    new struct [K: kit::persist::Fresh + Counters] Running<K> { kernel, stream, start, ready, before }
}

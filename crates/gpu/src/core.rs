//! The machine's interface to a core: the trait above the SM and above any core that is built otherwise.
//!
//! A core takes CTAs, makes requests at its [`Port`] and reports what it has counted. Its inside (a
//! pipeline of warps, a dataflow fabric) and its statistics are its own: a machine adds them
//! up, a report prints the rows that they give ([`CoreReport`]).

use crate::cluster_network::{Multicast, PeerEvent, PeerRequest};
use crate::livelock::{Pulse, SpinningWarp};
use crate::statistics::{Period, Table};
use config::GpuConfig;
use energy::{Activity, Each};
use isa::{ClusterMember, CtaSlot, Dim3, Fault, KernelId, LaunchShape, WarpSlot};
use kit::persist::{Archive, Fresh, Mismatch};
use kit::{Counters, Cycle};
use mem::Port;

/// State that all cores share, as a core sees it while it ticks.
#[derive(Debug)]
pub enum Access<'a, Shared> {
    /// Other cores see it too, and nobody changes it.
    Frozen(&'a Shared),
    /// For this core alone, which may change it.
    Alone(&'a mut Shared),
}

impl<Shared> Access<'_, Shared> {
    /// The shared state, to read.
    #[inline]
    pub fn get(&self) -> &Shared {
        match self {
            Self::Frozen(shared) => shared,
            Self::Alone(shared) => shared,
        }
    }

    /// The shared state, to change.
    ///
    /// # Panics
    /// Other cores see it too: the core is not one of those that run [in step](Core::IN_STEP).
    #[inline]
    pub fn alone(&mut self) -> &mut Shared {
        match self {
            Self::Frozen(_) => panic!("a core that changes shared state while it ticks must say so: `Core::IN_STEP`"),
            Self::Alone(shared) => shared,
        }
    }

    /// The same access for a shorter time.
    #[inline]
    pub fn reborrow(&mut self) -> Access<'_, Shared> {
        match self {
            Self::Frozen(shared) => Access::Frozen(shared),
            Self::Alone(shared) => Access::Alone(shared),
        }
    }
}

/// State that a core shares with the rest of the GPU while it ticks.
#[derive(Debug)]
pub struct Env<'a, Kernel, Shared> {
    /// All launches, by [`KernelId`].
    pub kernels: &'a [Kernel],
    /// State that all cores share: device memory, or nothing.
    pub shared: Access<'a, Shared>,
    /// Requests of this core to the memory system and the replies.
    pub port: &'a mut Port,
}

/// The environment of a core `C`.
pub type EnvOf<'a, C> = Env<'a, <C as Core>::Kernel, <C as Core>::Shared>;

/// A CTA that has left its core.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names of some fields and variants say it all")]
pub struct FinishedCta {
    pub kernel: KernelId,
    /// Its position in the grid.
    pub cta: Dim3,
    /// The slot it had.
    pub slot: CtaSlot,
}

/// A launch as a core needs it: the code, resolved for this kind of core, in a shape.
pub trait CoreKernel: Send + Sync {
    /// Grid, block, registers, shared memory.
    fn shape(&self) -> &LaunchShape;

    /// Address and bytes of what a launch writes to memory for the kernel, as far as cores fetch it from there: its
    /// parameters.
    fn parameters(&self) -> Option<(u64, u64)> {
        None
    }

    /// Address and bytes of its code, as far as cores fetch it through the memory system.
    fn code(&self) -> Option<(u64, u64)> {
        None
    }
}

/// One of a machine's cores, in time steps of a core cycle.
///
/// All calls are static: a [`Machine`](crate::Machine) is compiled for its kind of core.
pub trait Core: Send {
    /// A launch, ready for this kind of core.
    type Kernel: CoreKernel;
    /// State that all cores share: device memory, or nothing.
    type Shared: Send + Sync;
    /// Counters of a core.
    type Counters: CoreCounters;

    /// Maximum number of requests that it makes in one cycle.
    const MOST_REQUESTS: usize;

    /// The core changes shared state while it ticks. Cores of this kind tick one after the other, cycle by cycle,
    /// with [`Access::Alone`]; others get [`Access::Frozen`].
    const IN_STEP: bool = false;

    /// The core fetches [code](CoreKernel::code) and [parameters](CoreKernel::parameters) of its kernels through the
    /// memory system.
    const FETCHES_CODE: bool = false;

    /// One cycle. `now` is at least [`Core::cycles`]: the core accounts for the cycles between by itself.
    ///
    /// # Errors
    /// The fault of an instruction that could not be executed.
    fn tick(&mut self, now: Cycle, env: &mut EnvOf<'_, Self>) -> Result<(), Box<Fault>>;

    /// When the core must be ticked next: exact or too early, never too late, unless a CTA is started
    /// before. [`NEVER`](kit::NEVER) if only a reply from the memory can move it and none is on its way
    /// through its `port`.
    fn next_event(&self, port: &Port) -> Cycle;

    /// Cycles accounted for: the first one that has been neither ticked nor settled.
    fn cycles(&self) -> Cycle;

    /// Whether a CTA of `shape` fits, after CTAs of the shapes in `coming` have started, which fit.
    fn can_accept(&self, coming: &mut dyn Iterator<Item = &LaunchShape>, shape: &LaunchShape) -> bool;

    /// Takes from the shared state what CTA `cta` of `kernel` needs, between windows. [`Core::start_cta`] follows
    /// later, in the same order.
    fn prepare_cta(&mut self, _shared: &mut Self::Shared, _kernel: KernelId, _cta: Dim3) {}

    /// Starts CTA `cta` of `kernel`, which has been prepared and must fit. The first tick for it is in cycle
    /// `now`.
    fn start_cta(&mut self, now: Cycle, env: &mut EnvOf<'_, Self>, kernel: KernelId, cta: Dim3);

    /// Hands over to the shared state what the core's threads have written since the last time: a window ends.
    fn merge(&mut self, _shared: &mut Self::Shared) {}

    /// Cycle of each operation that waits for the exchange, the oldest first.
    fn waiting(&self) -> &[Cycle] {
        &[]
    }

    /// Performs the oldest waiting operation with the shared state for itself. All cores have been merged.
    ///
    /// # Errors
    /// The fault of the operation.
    fn exchange(&mut self, _shared: &mut Self::Shared) -> Result<(), Box<Fault>> {
        Ok(())
    }

    /// Whether shared memory of other cores may be needed in the exchange ([`isa::WarpStream::wants_peers`]).
    fn wants_peers(&self) -> bool {
        false
    }

    /// Hands over shared memory of clusters for the exchange: all cores do if one wants it.
    fn lend(&mut self, _shared: &mut Self::Shared) {}

    /// Takes it back, at the end of the exchange. Returns whether warps have been woken, for [`Core::end_exchange`].
    fn take_back(&mut self, _shared: &mut Self::Shared) -> bool {
        false
    }

    /// Requests for the network of clusters since the last exchange, in the order of their cycles.
    fn take_peer_requests(&mut self) -> Vec<PeerRequest> {
        Vec::new()
    }

    /// Multicasts that have begun or ended since the last exchange, in the order of their cycles.
    fn take_multicasts(&mut self) -> Vec<Multicast> {
        Vec::new()
    }

    /// CTA `to` is going to receive a multicast, as a number of replies of the memory system. Returns the token for
    /// these replies.
    fn receive_multicast(&mut self, _to: ClusterMember, _multicast: &Multicast) -> u32 {
        0
    }

    /// The network of clusters brings `event` in cycle `at`, which has not been ticked.
    fn receive_from_peer(&mut self, _at: Cycle, _event: PeerEvent) {}

    /// All waiting operations of all cores have been performed: the warps that waited for them continue from cycle
    /// `now` on, which has not been ticked.
    fn end_exchange(&mut self, _now: Cycle) {}

    /// CTAs that have left since the caller last drained this.
    fn finished(&mut self) -> &mut Vec<FinishedCta>;

    /// Whether any thread is resident.
    fn has_threads(&self) -> bool;

    /// Whether no CTA is resident and nothing is under way.
    fn is_idle(&self) -> bool;

    /// Accounts for the cycles before `now` that the core slept through, for [`Core::count`].
    fn settle(&mut self, now: Cycle);

    /// Asserts the invariants of the core's counters, at the end of a run.
    fn check(&self) {}

    /// Drops the contents of L1, as between kernels.
    fn flush_l1(&mut self);

    /// Adds what the core has counted to `sum`.
    fn count(&self, sum: &mut Self::Counters);

    /// Warp instructions (of a core without warps: their equivalent) so far, for progress.
    fn warp_instructions(&self) -> u64;

    /// CTAs started and CTAs finished, added up.
    fn cta_events(&self) -> u64;

    /// Which warp waits for what, a line each: the report of a deadlock.
    fn describe_stalls(&self, kernels: &[Self::Kernel]) -> Vec<String>;

    /// From now on notes whether anything that threads share changes: [`Core::has_changed`].
    fn watch_changes(&self, _shared: &mut Self::Shared) {}

    /// The state that survives the end of all CTAs, for checkpoints between kernels: no thread is resident. `kernels` are
    /// all launches.
    ///
    /// # Errors
    /// As [`Persist::persist`](kit::persist::Persist::persist). Cores of this kind have no checkpoints.
    fn persist(&mut self, _kernels: &[Self::Kernel], _archive: &mut Archive) -> Result<(), Mismatch> {
        Err(Mismatch::new("cores of this kind have no checkpoints"))
    }

    /// Whether anything that threads share may have changed since [`Core::watch_changes`]. A core that does
    /// not know always returns true, and no livelock is found on it.
    fn has_changed(&self, _shared: &Self::Shared) -> bool {
        true
    }

    /// The resident warps with their states.
    fn pulses(&self) -> Vec<(WarpSlot, Pulse)> {
        Vec::new()
    }

    /// The work of the resident warps, each of which repeats itself, or is `blocked` at a barrier. The machine
    /// cannot continue after this.
    fn follow_loops(
        &mut self,
        _now: Cycle,
        _kernels: &[Self::Kernel],
        _shared: &mut Self::Shared,
        _blocked: &dyn Fn(WarpSlot) -> bool,
    ) -> Vec<SpinningWarp> {
        Vec::new()
    }
}

/// The counters of a kind of core, added up over cores.
pub trait CoreCounters: Counters + CoreReport + Fresh + Send + 'static {
    /// Subtracts what cores count because time passes (idle issue slots): `waited` was counted while every
    /// kernel was within its launch latency, and reports leave those cycles out.
    fn leave_out(&mut self, waited: &Self);
}

/// Rows and events for reports and the energy model from the counters of a kind of core.
pub trait CoreReport {
    /// The statistics that summarise a run: instructions, their rate, occupancy.
    fn headline(&self, of: Period<'_>, table: &mut Table);

    /// The statistics of the core's parts: stages, stalls, caches.
    fn parts(&self, of: Period<'_>, table: &mut Table);

    /// The statistics that only some designs of this kind of core have.
    fn design(&self, table: &mut Table);

    /// Whether [`CoreReport::activity`] has the events of this kind of core: without them reports have no energy.
    fn has_energy_events(&self) -> bool {
        true
    }

    /// Events for the energy model in `cycles` core cycles, those beyond the cores left out.
    fn activity(&self, cycles: Cycle, gpu: &GpuConfig) -> Activity;

    /// How often `each` has happened, for the energy of a design's own structures.
    fn uses(&self, each: Each) -> u64;

    /// Number of warp instructions issued.
    fn warp_instructions(&self) -> u64;

    /// Number of thread instructions issued.
    fn thread_instructions(&self) -> u64;

    /// Cycles in which a core had a thread, summed over cores.
    fn active_cycles(&self) -> u64;
}

kit::persist! {
    new struct FinishedCta { kernel, cta, slot }
}

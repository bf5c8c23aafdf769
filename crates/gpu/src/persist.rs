//! The state of a machine between kernels, for checkpoints.
//!
//! No thread is resident, and none is about to start. Requests may be anywhere in the memory system: acknowledged
//! stores on their way through L2 to DRAM, fetches of code for warps that have ended. Launches may wait, or be within
//! their launch latency. Launches, the shared state and the host threads are not part of it: the same
//! kernels are launched before the state is read.

use crate::core::Core;
use crate::machine::{Control, Machine, Waiting};
use kit::persist::{Archive, Fresh, Mismatch, Persist};

kit::persist! {
    struct [K: Fresh + kit::Counters] Waiting<K> { ended, ended_cores, since }
    struct [C: Core] Control<C> {
        dispatcher, running, ended, now, window, room, has_cluster_room, kernel_ready, waiting, last_move, watchdog: part, since_watch,
        network, sample_every, sample_at, sampled, samples;
        skip cores_per_unit, streams, awake, flush_l1, flush_l2, stuck_after, shuffle, most_samples, unmade
    }
}

impl<C: Core> Machine<C> {
    /// Whether the machine is between kernels: no thread is resident, and no kernel has begun to dispatch its CTAs.
    pub fn is_between_kernels(&self) -> bool {
        self.units.iter().all(|unit| !unit.has_threads()) && self.control.dispatcher.is_between_kernels()
    }
}

/// The machine is [between kernels](Machine::is_between_kernels).
impl<C: Core> Persist for Machine<C> {
    fn persist(&mut self, archive: &mut Archive) -> Result<(), Mismatch> {
        self.make_cores();
        let Self { units, memory, shared: _, kernels, control, threads: _ } = self;
        archive.same("number of launches", kernels.len())?;
        archive.same("number of clusters", units.len())?;
        units.iter_mut().try_for_each(|unit| unit.persist(kernels, archive))?;
        memory.persist(archive)?;
        control.persist(archive)
    }
}

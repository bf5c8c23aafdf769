//! Launches of a device that may be [fills](super::fill).

use super::bounds::Bounded;
use super::fill::{Filled, Known, MOST_KNOWN, Stores, is_same, only_stores, value_of};
use crate::device::SimulatedDevice;
use exec::Launch;
use exec::memory::Fill;
use isa::DynInst;
use std::ops::ControlFlow;
use std::time::Instant;
use workloads::DeviceError;

impl SimulatedDevice<'_> {
    /// Bytes that a fill has at least to be one that is not simulated: the L2's, of which nothing else stays then.
    pub fn least_fill(&self) -> u64 {
        self.simulation.l2_bytes()
    }

    /// Empties the L2.
    pub fn empty_l2(&mut self) {
        self.simulation.empty_l2();
    }

    /// Executes a launch whose turn has come, without time, if it does nothing but fill much memory. The L2 is empty
    /// then. `None` if it is to be simulated.
    ///
    /// # Errors
    /// An interruption.
    pub fn fill(&mut self, launch: &Launch) -> Result<Option<Filled>, DeviceError> {
        if let Some(known) = self.fills.iter().find(|known| is_same(&known.launch, launch)) {
            let Some((filled, value)) = known.filled else { return Ok(None) };
            let memory = &mut self.state().memory;
            if memory.fill(filled.address, Fill::Word(value), filled.bytes).is_err() {
                return Ok(None);
            }
            self.empty_l2();
            return Ok(Some(filled));
        }
        if !self.may_be_fill(launch) {
            return Ok(None);
        }
        let started = Instant::now();
        let filled = self.try_to_fill(launch);
        self.simulation.add_host_time(started.elapsed());
        let filled = filled?;
        self.fills.truncate(MOST_KNOWN - 1);
        self.fills.insert(0, Known { launch: launch.clone(), filled });
        if filled.is_some() {
            self.empty_l2();
        }
        Ok(filled.map(|(filled, _)| filled))
    }

    /// Whether the code and the arguments of a launch let it be a fill.
    fn may_be_fill(&mut self, launch: &Launch) -> bool {
        let least = self.least_fill();
        let memory = &self.state().memory;
        let is_large = |words: &[u32]| {
            let address = u64::from(words[0]) | u64::from(words[1]) << 32;
            memory.allocation_of(address).is_some_and(|allocation| allocation.bytes >= least)
        };
        launch.kernel.calls.is_empty()
            && launch.params().chunks_exact(2).any(is_large)
            && only_stores(&launch.kernel.program)
    }

    fn try_to_fill(&mut self, launch: &Launch) -> Result<Option<(Filled, u32)>, DeviceError> {
        let least = self.least_fill();
        let program = launch.kernel.program.clone();
        let mut stores = Stores { is_global: true, ..Stores::default() };
        let mut bounded = Bounded::new(self.setup(), launch, 0, |out: &DynInst| {
            stores.see(&program, out);
            if kit::stop::requested() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        });
        let ran = exec::run_ctas(self.state(), launch, 0..launch.grid.volume(), &mut bounded);
        if kit::stop::requested() {
            return Err(DeviceError::Interrupted);
        }
        // A fault, or a loop without end, is the simulated launch's.
        let Ok(Some(executed)) = ran else { return Ok(None) };
        let Some(span) = stores.span.filter(|span| stores.is_global && span.end - span.start == stores.bytes) else {
            return Ok(None);
        };
        if stores.bytes < least || !span.start.is_multiple_of(4) || !stores.bytes.is_multiple_of(4) {
            return Ok(None);
        }
        let Some(value) = value_of(&self.state().memory, &span) else { return Ok(None) };
        Ok(Some((Filled { address: span.start, bytes: stores.bytes, executed }, value)))
    }
}

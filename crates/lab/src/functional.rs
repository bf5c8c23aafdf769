//! Machines of functional cores.

use crate::engine::{LaunchCode, LoadableCore, LoadingMachine};
use crate::other_core::OtherCore;
use crate::source::{Source, Stream};
use config::GpuConfig;
use functional::{FunctionalConfig, FunctionalCore, FunctionalKernel, FunctionalSpec};
use gpu::Machine;
use std::sync::Arc;
use trace::Recorder;

impl LoadableCore for FunctionalCore<Stream> {
    type Loader = ();

    const REMARKS: &'static [&'static str] = &[
        "a functional core has no model of time: its cycles are turns of warps, and nothing of them says how long a GPU takes",
        "warps and CTAs take turns in another order than on a GPU, on which the result of a kernel with a race depends: --check-memory lists races",
        "it has no caches, sends nothing to the memory system and has no model of energy: these figures are zero or absent",
    ];

    fn load((): &mut (), loading: &LaunchCode<'_>) -> Result<FunctionalKernel, String> {
        Ok(FunctionalKernel::new(loading.program.clone(), loading.shape))
    }
}

impl OtherCore for FunctionalCore<Stream> {
    type Config = FunctionalConfig;

    const IS_TIMED: bool = false;

    fn machine(
        gpu: &GpuConfig,
        config: &FunctionalConfig,
        source: Source,
        recorder: Option<&Recorder>,
    ) -> Result<LoadingMachine<Self>, String> {
        let spec = Arc::new(FunctionalSpec::new(gpu, config));
        let core = |id| FunctionalCore::new(id, spec.clone(), source.stream(recorder));
        let cores: Vec<_> = (0..gpu.sm_count as u16).map(core).collect();
        Ok(LoadingMachine::new(Machine::new(gpu, source, cores), ()))
    }
}

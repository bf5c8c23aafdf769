//! The core designs by name. A new one is its file in `sm::policy` and its row here.

use crate::engine::Engine;
use config::GpuConfig;
use gpu::Machine;
use isa::WarpStream;
use sm::{CoreSpec, InOrder, IssuePolicy, Scoreboard, Silent};
use std::sync::Arc;

/// Builds a machine of one design behind a common face: nothing within a cycle goes through it.
fn machine<S: Stream, P: IssuePolicy + 'static>(
    policy: &P::Config,
    config: &GpuConfig,
    spec: Arc<CoreSpec>,
    shared: S::Shared,
) -> Box<dyn Engine<S>> {
    Box::new(Machine::<S, P, Silent>::new(config, spec, policy, shared, |_| S::default(), |_| Silent))
}

/// What every core design can be fed by: live execution, traces.
pub(crate) trait Stream: WarpStream<Shared: 'static> + Default + 'static {}

impl<S: WarpStream<Shared: 'static> + Default + 'static> Stream for S {}

macro_rules! cores {
    ($($name:literal: $policy:ty = $config:expr, $text:literal;)*) => {
        /// Name and description of each core design.
        pub const CORES: &[(&str, &str)] = &[$(($name, $text),)*];

        /// A GPU whose SMs have the core design `core` and whose warps are streams `S`.
        ///
        /// # Errors
        /// There is no such design: which there are.
        pub(crate) fn build<S: Stream>(
            core: &str,
            config: &GpuConfig,
            spec: Arc<CoreSpec>,
            shared: S::Shared,
        ) -> Result<Box<dyn Engine<S>>, String> {
            match core {
                $($name => Ok(machine::<S, $policy>(&$config, config, spec, shared)),)*
                _ => Err(unknown(core)),
            }
        }
    };
}

fn unknown(core: &str) -> String {
    let known = CORES.iter().map(|(name, _)| (*name).to_owned()).collect::<Vec<_>>();
    format!("there is no core design `{core}`{}", workloads::suggest::among(core, &known))
}

cores! {
    "inorder": InOrder<Scoreboard> = (), "in-order issue per warp behind a scoreboard for RAW and WAW: the baseline";
}

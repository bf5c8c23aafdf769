//! The core designs by name. A new one is its file in `sm::policy` and its row here.

use crate::engine::Engine;
use config::GpuConfig;
use exec::{DeviceState, LiveStream};
use gpu::Machine;
use sm::{CoreSpec, InOrder, IssuePolicy, Scoreboard, Silent};
use std::sync::Arc;

/// Builds a machine of one design behind a common face: nothing within a cycle goes through it.
fn machine<P: IssuePolicy + 'static>(
    policy: &P::Config,
    config: &GpuConfig,
    spec: Arc<CoreSpec>,
    state: DeviceState,
) -> Box<dyn Engine> {
    Box::new(Machine::<LiveStream, P, Silent>::new(config, spec, policy, state, |_| LiveStream::new(), |_| Silent))
}

macro_rules! cores {
    ($($name:literal: $policy:ty = $config:expr, $text:literal;)*) => {
        /// Name and description of each core design.
        pub const CORES: &[(&str, &str)] = &[$(($name, $text),)*];

        /// A GPU whose SMs have the core design `core`, or `None` if there is no such design.
        pub(crate) fn build(
            core: &str,
            config: &GpuConfig,
            spec: Arc<CoreSpec>,
            state: DeviceState,
        ) -> Option<Box<dyn Engine>> {
            match core {
                $($name => Some(machine::<$policy>(&$config, config, spec, state)),)*
                _ => None,
            }
        }
    };
}

cores! {
    "inorder": InOrder<Scoreboard> = (), "in-order issue per warp behind a scoreboard for RAW and WAW: the baseline";
}

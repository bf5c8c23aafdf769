//! Machines whose SMs are of any core design.

use crate::Setup;
use crate::designs::{ForCore, check_core_on, for_core};
use crate::engine::Engine;
use crate::erased::{AnyStream, Unerased};
use config::GpuConfig;
use gpu::Machine;
use isa::WarpStream;
use sm::{Auditor, ConfigOf, CoreDesign, CoreSpec, Silent, Sm, WarpMask};
use std::any::Any;
use std::sync::Arc;

/// What every core design can be fed by: live execution, traces.
pub(crate) trait Stream: WarpStream<Shared: 'static> + Default + 'static {}

impl<S: WarpStream<Shared: 'static> + Default + 'static> Stream for S {}

/// A GPU whose SMs have the core design that `setup` names and whose warps are streams `S`.
///
/// # Errors
/// There is no such design: which there are.
pub(crate) fn build<S: Stream>(
    setup: &Setup,
    spec: Arc<CoreSpec>,
    shared: S::Shared,
) -> Result<Box<dyn Engine<S>>, String> {
    check_core_on(&setup.core, &spec)?;
    let build = Build::<S> { setup, spec, shared };
    if setup.gpu.sm.max_warps as usize <= u64::SLOTS {
        for_core::<u64, _>(&setup.core, build)
    } else {
        for_core::<u128, _>(&setup.core, BuildWide(build))
    }
}

/// Builds a machine behind a common face: nothing within a cycle goes through it.
pub(crate) struct Build<'a, S: Stream> {
    pub setup: &'a Setup,
    pub spec: Arc<CoreSpec>,
    pub shared: S::Shared,
}

impl<S: Stream> ForCore for Build<'_, S> {
    type Output = Box<dyn Engine<S>>;

    fn with<P: CoreDesign + 'static>(self, policy: &ConfigOf<P>) -> Box<dyn Engine<S>> {
        let Self { setup, spec, shared } = self;
        if setup.audit {
            return Box::new(Unerased(audited::<P>(policy, &setup.gpu, spec, Box::new(shared), AnyStream::new::<S>)));
        }
        let sm = |i| Sm::<S, P>::new(i, spec.clone(), S::default(), policy, Silent);
        Box::new(Machine::new(&setup.gpu, spec.outbox_packets, shared, sm))
    }
}

/// Builds a machine of SMs with more than 64 warps, which no GPU has: each design is compiled once more
/// for them, not once for each kind of stream.
struct BuildWide<'a, S: Stream>(Build<'a, S>);

impl<S: Stream> ForCore for BuildWide<'_, S> {
    type Output = Box<dyn Engine<S>>;

    fn with<P: CoreDesign + 'static>(self, policy: &ConfigOf<P>) -> Box<dyn Engine<S>> {
        let Build { setup, spec, shared } = self.0;
        let (shared, stream): (Box<dyn Any>, _) = (Box::new(shared), AnyStream::new::<S>);
        if setup.audit {
            return Box::new(Unerased(audited::<P>(policy, &setup.gpu, spec, shared, stream)));
        }
        let sm = |i| Sm::<AnyStream, P>::new(i, spec.clone(), stream(), policy, Silent);
        Box::new(Unerased(Box::new(Machine::new(&setup.gpu, spec.outbox_packets, shared, sm))))
    }
}

/// A machine with an auditor at each SM.
fn audited<P: CoreDesign + 'static>(
    policy: &ConfigOf<P>,
    gpu: &GpuConfig,
    spec: Arc<CoreSpec>,
    shared: Box<dyn Any>,
    stream: fn() -> AnyStream,
) -> Box<dyn Engine<AnyStream>> {
    let auditor = || Auditor::new(P::allowances(policy));
    let sm = |i| Sm::<AnyStream, P, Auditor>::new(i, spec.clone(), stream(), policy, auditor());
    Box::new(Machine::new(gpu, spec.outbox_packets, shared, sm))
}

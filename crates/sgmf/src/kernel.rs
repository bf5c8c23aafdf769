//! A launch, ready for SGMF cores.

use crate::config::{SgmfConfig, Timing};
use crate::configuration::{Configuration, KernelError};
use ::config::GpuConfig;
use dataflow::mapping::Mapped;
use dataflow::uniforms::Facts;
use exec::single::BadAccess;
use exec::{Kernel, Launch};
use gpu::CoreKernel;
use isa::{Dim3, Fault, LaunchShape, Pc, SourceSpot};
use std::sync::Arc;

/// A launch of a mapped kernel.
#[derive(Clone, Debug)]
pub struct SgmfKernel {
    shape: LaunchShape,
    name: String,
    /// For messages; none of graphs that are made by hand.
    source: Option<Arc<Kernel>>,
    pub(crate) params: Vec<u32>,
    /// By region.
    pub(crate) configurations: Vec<Arc<Configuration>>,
    /// Bytes of the live values before each one, and of all.
    pub(crate) live_offsets: Vec<u32>,
    pub(crate) local_bytes: u32,
}

impl SgmfKernel {
    /// The launch `launch`, whose kernel is mapped as `mapped` says, on cores of `gpu` with `config`.
    ///
    /// # Errors
    /// The mapping does not fit the fabric.
    pub fn new(mapped: &Mapped, launch: &Launch, gpu: &GpuConfig, config: &SgmfConfig) -> Result<Self, KernelError> {
        let timing = Timing::of(gpu, config).map_err(|what| KernelError { entry: Pc::default(), what })?;
        let mut made = Self::of_graph(mapped, launch.shape(), launch.params(), config, &timing)?;
        made.source = Some(launch.kernel.clone());
        Ok(made)
    }

    /// A launch without a kernel in an instruction set, in `shape` with the packed parameters `params`.
    ///
    /// # Errors
    /// As [`SgmfKernel::new`].
    pub fn of_graph(
        mapped: &Mapped,
        shape: LaunchShape,
        params: &[u32],
        config: &SgmfConfig,
        timing: &Timing,
    ) -> Result<Self, KernelError> {
        let bad = |what: String| KernelError { entry: Pc::default(), what };
        let facts = Facts { params, block: shape.block, grid: shape.grid };
        let uniforms = facts.values(&mapped.dataflow.uniforms).map_err(bad)?;
        if mapped.mappings.is_empty() {
            return Err(bad("it has no region".into()));
        }
        let of = |mapping| Configuration::new(mapping, &uniforms, config, timing).map(Arc::new);
        let mut live_offsets = vec![0];
        for bytes in &mapped.dataflow.live {
            live_offsets.push(live_offsets[live_offsets.len() - 1] + u32::from(*bytes));
        }
        Ok(Self {
            shape,
            name: mapped.dataflow.name.clone(),
            source: None,
            params: params.to_vec(),
            configurations: mapped.mappings.iter().map(of).collect::<Result<_, _>>()?,
            live_offsets,
            local_bytes: mapped.dataflow.local_bytes,
        })
    }

    /// The fault `what` of `thread` of CTA `cta` at `pc`.
    #[cold]
    pub(crate) fn fault(&self, bad: BadAccess, pc: Option<Pc>, cta: Dim3, thread: Dim3) -> Box<Fault> {
        let spot = match (&self.source, pc) {
            (Some(kernel), Some(pc)) => exec::spot(kernel, pc),
            _ => SourceSpot {
                kernel: self.name.clone(),
                pc: pc.unwrap_or_default(),
                text: String::new(),
                line: 0,
                place: String::new(),
                excerpt: String::new(),
                origin: None,
            },
        };
        let BadAccess { kind, what } = bad;
        Box::new(Fault { kind, what, spot, cta, thread, lanes: 1 })
    }
}

impl CoreKernel for SgmfKernel {
    fn shape(&self) -> &LaunchShape {
        &self.shape
    }
}

//! The values of special registers.

use crate::launch::Launch;
use crate::special::{ClusterRegister, Special};
use crate::state::GpuFacts;
use isa::{Dim3, StepContext};

/// The values that special registers read, except those that each thread has.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Surroundings<'a> {
    pub context: StepContext,
    pub gpu: GpuFacts,
    pub launch: &'a Launch,
    pub grid_id: u32,
    pub cta: Dim3,
    pub warp: u32,
}

impl Surroundings<'_> {
    /// The present cycle as a time.
    fn nanoseconds(&self) -> u64 {
        (u128::from(self.context.now) * 1_000_000 / u128::from(self.gpu.core_khz)) as u64
    }

    /// Value of `special` in `lane`; the warp knows the positions in the CTA.
    #[inline]
    pub fn value(&self, special: Special, lane: usize) -> u64 {
        use Special::*;
        let eq = 1u32 << lane;
        let lt = eq - 1;
        let launch = self.launch;
        u64::from(match special {
            NtidX => launch.block.x,
            NtidY => launch.block.y,
            NtidZ => launch.block.z,
            CtaidX => self.cta.x,
            CtaidY => self.cta.y,
            CtaidZ => self.cta.z,
            NctaidX => launch.grid.x,
            NctaidY => launch.grid.y,
            NctaidZ => launch.grid.z,
            Laneid => lane as u32,
            Warpid => self.warp,
            Nwarpid => self.gpu.sm_warps,
            Smid => u32::from(self.context.sm),
            Nsmid => self.gpu.sm_count,
            Gridid => self.grid_id,
            LanemaskEq => eq,
            LanemaskLt => lt,
            LanemaskLe => lt | eq,
            LanemaskGe => !lt,
            LanemaskGt => !(lt | eq),
            Clock => self.context.now as u32,
            ClockHi => (self.context.now >> 32) as u32,
            Clock64 => return self.context.now,
            GlobalTimerLo => self.nanoseconds() as u32,
            GlobalTimerHi => (self.nanoseconds() >> 32) as u32,
            GlobalTimer => return self.nanoseconds(),
            DynamicSmemSize => launch.dynamic_shared,
            TotalSmemSize => launch.own_shared(),
            AllocatedSmemSize => launch.kernel.system_shared.with(launch.own_shared()),
            ReservedSmemBegin => launch.kernel.system_shared.range(launch.own_shared()).start,
            ReservedSmemEnd => launch.kernel.system_shared.range(launch.own_shared()).end,
            ReservedSmemGroups => launch.kernel.system_shared.groups(launch.own_shared()),
            WorkspaceHi => (launch.workspace >> 32) as u32,
            WorkspaceLo => launch.workspace as u32,
            Cluster(of) => register(of, launch, self.cta),
            TidX | TidY | TidZ | Zero => 0,
        })
    }
}

/// The value of a register about the cluster of the CTA at `cta`.
fn register(of: ClusterRegister, launch: &Launch, cta: Dim3) -> u32 {
    use ClusterRegister::*;
    let cluster = launch.cluster_shape();
    let clusters = launch.grid.parts(cluster);
    match of {
        IsExplicit => launch.cluster().is_some().into(),
        CtaRank => launch.rank(cta),
        CtaCount => cluster.volume() as u32,
        CtaX => cta.x % cluster.x,
        CtaY => cta.y % cluster.y,
        CtaZ => cta.z % cluster.z,
        SizeX => cluster.x,
        SizeY => cluster.y,
        SizeZ => cluster.z,
        ClusterX => cta.x / cluster.x,
        ClusterY => cta.y / cluster.y,
        ClusterZ => cta.z / cluster.z,
        ClustersX => clusters.x,
        ClustersY => clusters.y,
        ClustersZ => clusters.z,
    }
}

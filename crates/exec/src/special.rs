//! Special registers.

/// Special registers, by their PTX names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "the names are the manual's")]
pub enum Special {
    TidX,
    TidY,
    TidZ,
    NtidX,
    NtidY,
    NtidZ,
    CtaidX,
    CtaidY,
    CtaidZ,
    NctaidX,
    NctaidY,
    NctaidZ,
    Laneid,
    /// Index of the warp in its CTA.
    Warpid,
    /// Maximum number of warps of an SM.
    Nwarpid,
    Smid,
    Nsmid,
    Gridid,
    LanemaskEq,
    LanemaskLe,
    LanemaskLt,
    LanemaskGe,
    LanemaskGt,
    /// Low word of the cycle counter.
    Clock,
    /// High word of the cycle counter.
    ClockHi,
    /// Cycle counter; two columns.
    Clock64,
    /// Time in nanoseconds, two columns: the cycle counter at the core clock.
    GlobalTimer,
    /// Low word of the time.
    GlobalTimerLo,
    /// High word of the time.
    GlobalTimerHi,
    DynamicSmemSize,
    TotalSmemSize,
    /// The same with the system's part, if the kernel asks for it.
    AllocatedSmemSize,
    /// Start of the system's part of shared memory: `%reserved_smem_offset_begin`, `%reserved_smem_offset_0`.
    ReservedSmemBegin,
    /// Its end: `%reserved_smem_offset_end`, `%reserved_smem_offset_cap`.
    ReservedSmemEnd,
    /// The scratch of cooperative groups in it: `%reserved_smem_offset_1`.
    ReservedSmemGroups,
    /// Upper word of the address of the workspace of a cooperative launch: `%envreg1`.
    WorkspaceHi,
    /// Lower word of that address: `%envreg2`.
    WorkspaceLo,
    /// A register that exists but reads as 0 here (performance monitors).
    Zero,
    /// A register about the cluster of the CTA.
    Cluster(ClusterRegister),
}

/// Registers about the cluster of a CTA and the grid of clusters. A launch without clusters has clusters of one CTA.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ClusterRegister {
    /// 1 if the launch is in clusters.
    IsExplicit,
    /// Rank of the CTA in the cluster.
    CtaRank,
    /// CTAs of the cluster.
    CtaCount,
    /// Position of the CTA in the cluster.
    CtaX,
    /// The same.
    CtaY,
    /// The same.
    CtaZ,
    /// CTAs of the cluster in a dimension.
    SizeX,
    /// The same.
    SizeY,
    /// The same.
    SizeZ,
    /// Position of the cluster in the grid of clusters.
    ClusterX,
    /// The same.
    ClusterY,
    /// The same.
    ClusterZ,
    /// Clusters in a dimension.
    ClustersX,
    /// The same.
    ClustersY,
    /// The same.
    ClustersZ,
}

impl Special {
    /// The register that PTX calls `name` (with its `%`), and its `component` (0 to 3).
    pub fn from_name(name: &str, component: Option<usize>) -> Option<Self> {
        use ClusterRegister as C;
        use Special::*;
        let vector = |xyz: [Special; 3]| component.map_or(Some(xyz[0]), |c| Some(*xyz.get(c).unwrap_or(&Zero)));
        Some(match name {
            "%tid" => return vector([TidX, TidY, TidZ]),
            "%ntid" => return vector([NtidX, NtidY, NtidZ]),
            "%ctaid" => return vector([CtaidX, CtaidY, CtaidZ]),
            "%nctaid" => return vector([NctaidX, NctaidY, NctaidZ]),
            "%clusterid" => return vector([C::ClusterX, C::ClusterY, C::ClusterZ].map(Cluster)),
            "%nclusterid" => return vector([C::ClustersX, C::ClustersY, C::ClustersZ].map(Cluster)),
            "%cluster_ctaid" => return vector([C::CtaX, C::CtaY, C::CtaZ].map(Cluster)),
            "%cluster_nctaid" => return vector([C::SizeX, C::SizeY, C::SizeZ].map(Cluster)),
            "%cluster_ctarank" => Cluster(C::CtaRank),
            "%cluster_nctarank" => Cluster(C::CtaCount),
            "%is_explicit_cluster" => Cluster(C::IsExplicit),
            "%laneid" => Laneid,
            "%warpid" => Warpid,
            "%nwarpid" => Nwarpid,
            "%smid" => Smid,
            "%nsmid" => Nsmid,
            "%gridid" => Gridid,
            "%lanemask_eq" => LanemaskEq,
            "%lanemask_le" => LanemaskLe,
            "%lanemask_lt" => LanemaskLt,
            "%lanemask_ge" => LanemaskGe,
            "%lanemask_gt" => LanemaskGt,
            "%clock" => Clock,
            "%clock_hi" => ClockHi,
            "%clock64" => Clock64,
            "%globaltimer" => GlobalTimer,
            "%globaltimer_lo" => GlobalTimerLo,
            "%globaltimer_hi" => GlobalTimerHi,
            "%dynamic_smem_size" => DynamicSmemSize,
            "%total_smem_size" => TotalSmemSize,
            "%aggr_smem_size" => TotalSmemSize,
            "%reserved_smem_offset_begin" | "%reserved_smem_offset_0" => ReservedSmemBegin,
            "%reserved_smem_offset_end" | "%reserved_smem_offset_cap" => ReservedSmemEnd,
            "%reserved_smem_offset_1" => ReservedSmemGroups,
            "%envreg1" => WorkspaceHi,
            "%envreg2" => WorkspaceLo,
            _ if name.starts_with("%pm") || name.starts_with("%envreg") => Zero,
            _ => return None,
        })
    }

    /// Whether the lanes of a warp read different values.
    pub const fn varies(self) -> bool {
        use Special::*;
        matches!(self, TidX | TidY | TidZ | Laneid | LanemaskEq | LanemaskLe | LanemaskLt | LanemaskGe | LanemaskGt)
    }

    /// Whether it is about the system's part of shared memory.
    pub const fn is_of_system_shared(self) -> bool {
        matches!(self, Self::ReservedSmemBegin | Self::ReservedSmemEnd | Self::ReservedSmemGroups)
    }

    /// Whether it reads the time.
    pub const fn is_time(self) -> bool {
        use Special::*;
        matches!(self, Clock | ClockHi | Clock64 | GlobalTimer | GlobalTimerLo | GlobalTimerHi)
    }

    /// Number of columns: 2 for 64-bit registers.
    pub const fn columns(self) -> u8 {
        match self {
            Special::Clock64 | Special::GlobalTimer => 2,
            _ => 1,
        }
    }
}

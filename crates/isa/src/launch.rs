//! Grids and blocks.

kit::id! {
    /// A kernel launch within one simulation, in launch order.
    pub struct KernelId(u32);
}

/// A size or position in up to three dimensions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "the names say it")]
pub struct Dim3 {
    /// The dimension that varies fastest.
    pub x: u32,
    pub y: u32,
    /// The dimension that varies slowest.
    pub z: u32,
}

impl Dim3 {
    /// A size or position from its three parts.
    pub const fn new(x: u32, y: u32, z: u32) -> Self {
        Self { x, y, z }
    }

    /// Number of points in a box of this size, or the largest number if there are more.
    pub const fn volume(self) -> u64 {
        (self.x as u64 * self.y as u64).saturating_mul(self.z as u64)
    }

    /// Number of boxes of size `part` in each dimension, the last ones of which may reach beyond this box.
    pub const fn parts(self, part: Self) -> Self {
        Self::new(self.x.div_ceil(part.x), self.y.div_ceil(part.y), self.z.div_ceil(part.z))
    }

    /// Whether boxes of size `part` fill this box without a rest.
    pub const fn is_multiple_of(self, part: Self) -> bool {
        self.x.is_multiple_of(part.x) && self.y.is_multiple_of(part.y) && self.z.is_multiple_of(part.z)
    }

    /// The position of point number `index`, where one box of size `part` is counted after the other. The size is a
    /// multiple of theirs.
    pub const fn position_by_parts(self, part: Self, index: u64) -> Self {
        let first = self.parts(part).position(index / part.volume());
        let within = part.position(index % part.volume());
        Self::new(first.x * part.x + within.x, first.y * part.y + within.y, first.z * part.z + within.z)
    }

    /// The number of the point at `position` in a box of this size: the inverse of [`Dim3::position`].
    pub const fn index(self, position: Self) -> u64 {
        (position.z as u64 * self.y as u64 + position.y as u64) * self.x as u64 + position.x as u64
    }

    /// The position of point number `index` in a box of this size, x fastest.
    pub const fn position(self, index: u64) -> Self {
        let (x, y) = (self.x as u64, self.y as u64);
        Self::new((index % x) as u32, (index / x % y) as u32, (index / x / y) as u32)
    }
}

impl std::fmt::Display for Dim3 {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "({},{},{})", self.x, self.y, self.z)
    }
}

/// A CTA by its place in a cluster.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[allow(missing_docs, reason = "the names say it")]
pub struct ClusterMember {
    pub kernel: KernelId,
    /// Number of the cluster in the grid.
    pub cluster: u64,
    pub rank: u8,
}

/// The resources of a kernel launch on an SM: the inputs of the occupancy calculation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LaunchShape {
    /// CTAs in the grid.
    pub grid: Dim3,
    /// Threads in a CTA.
    pub block: Dim3,
    /// 32-bit registers per thread.
    pub registers_per_thread: u32,
    /// Static and dynamic shared memory per CTA, in bytes.
    pub shared_bytes: u32,
    /// CTAs of a cluster in each dimension, of launches in clusters. The grid is a multiple of it.
    pub cluster: Option<Dim3>,
}

impl LaunchShape {
    /// Threads in a CTA.
    pub const fn threads(&self) -> u32 {
        self.block.volume() as u32
    }

    /// Warps in a CTA.
    pub const fn warps(&self) -> u32 {
        self.threads().div_ceil(kit::WARP_LANES as u32)
    }

    /// CTAs in the grid.
    pub const fn ctas(&self) -> u64 {
        self.grid.volume()
    }

    /// CTAs of a cluster; 1 without clusters.
    pub const fn cluster_ctas(&self) -> u64 {
        match self.cluster {
            Some(cluster) => cluster.volume(),
            None => 1,
        }
    }

    /// The place in its cluster of the CTA at `cta` of launch `kernel`; `None` without clusters.
    pub fn member(&self, kernel: KernelId, cta: Dim3) -> Option<ClusterMember> {
        let cluster = self.cluster?;
        let at = Dim3::new(cta.x / cluster.x, cta.y / cluster.y, cta.z / cluster.z);
        let within = Dim3::new(cta.x % cluster.x, cta.y % cluster.y, cta.z % cluster.z);
        Some(ClusterMember { kernel, cluster: self.grid.parts(cluster).index(at), rank: cluster.index(within) as u8 })
    }

    /// Position of the CTA that is number `number` in the order of execution: one cluster after the other.
    pub const fn position(&self, number: u64) -> Dim3 {
        match self.cluster {
            Some(cluster) => self.grid.position_by_parts(cluster, number),
            None => self.grid.position(number),
        }
    }
}

kit::persist! {
    new struct Dim3 { x, y, z }
}

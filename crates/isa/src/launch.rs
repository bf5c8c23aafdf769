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

    /// Number of points in a box of this size.
    pub const fn volume(self) -> u64 {
        self.x as u64 * self.y as u64 * self.z as u64
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
}

kit::persist! {
    new struct Dim3 { x, y, z }
}

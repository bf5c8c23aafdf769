//! Clusters of CTAs (compute capability 9.0 and later): which clusters a launch has, and how many fit.

use crate::error::{Error, Result};
use crate::module::{Function, Modules};
use crate::platform::Platform;
use config::GpuConfig;
use exec::cluster::{MOST_CTAS, PORTABLE_CTAS};
use isa::{Dim3, LaunchShape};

/// `CU_FUNC_ATTRIBUTE_CLUSTER_SIZE_MUST_BE_SET`.
pub(crate) const MUST_BE_SET: u32 = 10;
/// `CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH`, height and depth.
pub(crate) const REQUIRED: [u32; 3] = [11, 12, 13];
/// `CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED`.
pub(crate) const NON_PORTABLE: u32 = 14;

impl Function {
    /// Whether it must be launched in clusters, by its code or by an attribute.
    pub(crate) fn needs_cluster(&self) -> bool {
        self.kernel.needs_cluster || self.set.get(&MUST_BE_SET).is_some_and(|&must| must != 0)
    }

    /// The clusters that its launches must have, by its code or by attributes.
    pub(crate) fn required_cluster(&self) -> Option<Dim3> {
        let [x, y, z] = REQUIRED.map(|side| self.set.get(&side).map_or(0, |&n| n.cast_unsigned()));
        self.kernel.required_cluster.or_else(|| [x, y, z].iter().all(|&n| n > 0).then(|| Dim3::new(x, y, z)))
    }

    /// CTAs of a cluster at most.
    fn most_ctas(&self) -> u32 {
        let most =
            if self.set.get(&NON_PORTABLE).is_some_and(|&allowed| allowed != 0) { MOST_CTAS } else { PORTABLE_CTAS };
        most.min(self.kernel.max_cluster.unwrap_or(most))
    }

    /// The clusters of a launch that asks for `asked`, or why it cannot have them.
    fn cluster(&self, gpu: &GpuConfig, asked: Option<Dim3>, grid: Dim3) -> std::result::Result<Option<Dim3>, Problem> {
        let wrong = |what: String| Err((Error::INVALID_CLUSTER_SIZE, what));
        let required = self.required_cluster();
        let Some(cluster) = asked.or(required) else {
            return if self.needs_cluster() { wrong("it must be launched in clusters".into()) } else { Ok(None) };
        };
        let ctas = cluster.volume();
        if gpu.sm_version < 90 {
            let what = format!("{} (sm_{}) has no clusters: they need sm_90", gpu.name, gpu.sm_version);
            return if ctas == 1 { Ok(None) } else { Err((Error::NOT_SUPPORTED, what)) };
        }
        if let Some(required) = required.filter(|&required| required != cluster) {
            return wrong(format!("clusters of {cluster}, but it needs clusters of {required}"));
        }
        if ctas == 0 || ctas > self.most_ctas().into() {
            let (most, all) = (self.most_ctas(), MOST_CTAS);
            let allowed = format!("{all} if cudaFuncAttributeNonPortableClusterSizeAllowed is set");
            return wrong(format!("a cluster of {cluster} has {ctas} CTAs, of at most {most} ({allowed})"));
        }
        if !grid.is_multiple_of(cluster) {
            return wrong(format!("a grid of {grid} is not a multiple of the cluster of {cluster}"));
        }
        Ok(Some(cluster))
    }
}

/// Why a launch has no clusters, and the error that the program gets.
type Problem = (Error, String);

impl Modules {
    /// The clusters of a launch of `function` that asks for clusters of `asked`.
    ///
    /// # Errors
    /// The GPU or the function cannot be launched so; the host is told why.
    pub(crate) fn launch_cluster(
        &self,
        platform: &Platform,
        function: u64,
        (asked, grid): (Option<[u32; 3]>, [u32; 3]),
    ) -> Result<Option<Dim3>> {
        let function = self.functions.get(function)?;
        let gpu = &platform.devices[function.device].setup.gpu;
        function.cluster(gpu, asked.map(dim3), dim3(grid)).map_err(|(error, what)| {
            platform.host.message(&format!("kernel `{}`: {what}", function.kernel.name()));
            error
        })
    }

    /// Clusters of a launch of `function` that the GPU can hold at a time.
    ///
    /// # Errors
    /// The function cannot be launched so.
    pub fn active_clusters(
        &self,
        platform: &Platform,
        function: u64,
        (cluster, block, dynamic_shared): (Option<[u32; 3]>, [u32; 3], u32),
    ) -> Result<u32> {
        // The grid does not count.
        let grid = cluster.unwrap_or([1, 1, 1]);
        let required = self.functions.get(function)?.required_cluster();
        let grid = required.filter(|_| cluster.is_none()).map_or(grid, |Dim3 { x, y, z }| [x, y, z]);
        let cluster = self.launch_cluster(platform, function, (cluster, grid))?;
        self.clusters_at_once(platform, function, cluster, (block, dynamic_shared))
    }

    /// CTAs of the largest cluster in which `function` can be launched.
    ///
    /// # Errors
    /// As [`Modules::active_clusters`].
    pub fn largest_cluster(
        &self,
        platform: &Platform,
        function: u64,
        (block, dynamic_shared): ([u32; 3], u32),
    ) -> Result<u32> {
        let of = self.functions.get(function)?;
        if platform.devices[of.device].setup.gpu.sm_version < 90 {
            return Err(Error::NOT_SUPPORTED);
        }
        if let Some(required) = of.required_cluster() {
            return Ok(required.volume() as u32);
        }
        for ctas in (1..=of.most_ctas()).rev() {
            let cluster = Some(Dim3::new(ctas, 1, 1));
            if self.clusters_at_once(platform, function, cluster, (block, dynamic_shared))? > 0 {
                return Ok(ctas);
            }
        }
        Err(Error::INVALID_CLUSTER_SIZE)
    }

    fn clusters_at_once(
        &self,
        platform: &Platform,
        function: u64,
        cluster: Option<Dim3>,
        (block, dynamic_shared): ([u32; 3], u32),
    ) -> Result<u32> {
        let threads = u32::try_from(dim3(block).volume()).map_err(|_| Error::INVALID_VALUE)?;
        if self.occupancy(platform, function, threads, dynamic_shared)? == 0 {
            return Ok(0);
        }
        let of = self.functions.get(function)?;
        let gpu = &platform.devices[of.device].setup.gpu;
        let shape = LaunchShape {
            grid: Dim3::new(u32::MAX >> 1, 1, 1),
            block: dim3(block),
            registers_per_thread: of.kernel.registers.per_thread,
            shared_bytes: of.kernel.static_shared.saturating_add(dynamic_shared),
            cluster,
        };
        Ok(u32::try_from(lab::clusters_at_once(gpu, &shape)).unwrap_or(u32::MAX))
    }
}

fn dim3([x, y, z]: [u32; 3]) -> Dim3 {
    Dim3::new(x, y, z)
}

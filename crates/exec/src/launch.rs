//! Kernel launches and their arguments.

use crate::cluster::{ClusterPlace, MOST_CTAS};
use crate::kernel::{Kernel, Param};
use crate::lanes::Column;
use crate::machine_code::{launch_bank, resolve, set_clusters, set_system_shared, set_workspace};
use crate::memory::{DeviceMemory, MAX_LOCAL_BYTES};
use crate::op::Op;
use isa::{Dim3, KernelId, LaunchShape};
use kit::persist::{Archive, Mismatch, Persist};
use std::sync::Arc;

/// An argument of a kernel.
#[derive(Clone, Debug, PartialEq)]
#[expect(missing_docs, reason = "the names say it")]
pub enum Arg {
    U8(u8),
    U16(u16),
    U32(u32),
    U64(u64),
    I8(i8),
    I16(i16),
    I32(i32),
    I64(i64),
    F32(f32),
    F64(f64),
    /// An address in device memory.
    Pointer(u64),
    /// The bytes of a structure in memory.
    Bytes(Vec<u8>),
}

impl Arg {
    fn bytes(&self) -> Vec<u8> {
        match self {
            Arg::U8(x) => x.to_le_bytes().into(),
            Arg::U16(x) => x.to_le_bytes().into(),
            Arg::U32(x) => x.to_le_bytes().into(),
            Arg::U64(x) | Arg::Pointer(x) => x.to_le_bytes().into(),
            Arg::I8(x) => x.to_le_bytes().into(),
            Arg::I16(x) => x.to_le_bytes().into(),
            Arg::I32(x) => x.to_le_bytes().into(),
            Arg::I64(x) => x.to_le_bytes().into(),
            Arg::F32(x) => x.to_le_bytes().into(),
            Arg::F64(x) => x.to_le_bytes().into(),
            Arg::Bytes(x) => x.clone(),
        }
    }

    const fn kind(&self) -> &'static str {
        match self {
            Arg::U8(_) => "u8",
            Arg::U16(_) => "u16",
            Arg::U32(_) => "u32",
            Arg::U64(_) => "u64",
            Arg::I8(_) => "i8",
            Arg::I16(_) => "i16",
            Arg::I32(_) => "i32",
            Arg::I64(_) => "i64",
            Arg::F32(_) => "f32",
            Arg::F64(_) => "f64",
            Arg::Pointer(_) => "a pointer",
            Arg::Bytes(_) => "bytes",
        }
    }
}

impl LaunchError {
    /// The message without the name of the kernel at its begin.
    pub fn problem(&self) -> String {
        let text = self.to_string();
        let (Self::Shape { kernel, .. } | Self::ArgumentCount { kernel, .. } | Self::ArgumentSize { kernel, .. }) =
            self;
        let rest = text.strip_prefix(&format!("kernel `{kernel}`"));
        rest.map_or(text.clone(), |rest| rest.trim_start_matches([':', ' ']).to_owned())
    }
}

/// The reason why a kernel cannot be launched.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs, reason = "the names say it")]
pub enum LaunchError {
    /// Wrong number of arguments.
    #[error(
        "kernel `{kernel}` takes {}, {given} given; its parameters are {parameters}",
        kit::text::counted(*expected as u64, "argument")
    )]
    ArgumentCount {
        kernel: String,
        expected: usize,
        /// Number of arguments given.
        given: usize,
        /// All parameters, for the message.
        parameters: String,
    },
    /// An argument that does not fit its parameter.
    #[error(
        "argument {number} of kernel `{kernel}`: {given} of {} for parameter `{name}`, {ty} of {}",
        kit::text::counted(*given_bytes as u64, "byte"),
        kit::text::counted(*bytes as u64, "byte")
    )]
    ArgumentSize {
        kernel: String,
        /// Position among the arguments, starting at 1.
        number: usize,
        /// Kind of the argument.
        given: &'static str,
        /// In bytes.
        given_bytes: usize,
        /// Name of the parameter.
        name: String,
        ty: String,
        /// Size of the parameter.
        bytes: u32,
    },
    /// A grid or a block that is empty or too large.
    #[error("kernel `{kernel}`: {what}")]
    Shape {
        kernel: String,
        /// Description of the problem.
        what: String,
    },
}

/// A kernel with its grid and arguments.
#[derive(Clone, Debug)]
#[allow(missing_docs, reason = "the names say it")]
pub struct Launch {
    pub kernel: Arc<Kernel>,
    /// CTAs in each dimension.
    pub grid: Dim3,
    /// Threads of a CTA in each dimension.
    pub block: Dim3,
    /// Dynamically allocated shared memory per CTA, in bytes.
    pub dynamic_shared: u32,
    /// CTAs of a cluster in each dimension, if it is a launch in clusters.
    cluster: Option<Dim3>,
    /// A launch without clusters has barriers of clusters, of one CTA each.
    has_lone_barriers: bool,
    /// Address of the workspace of a cooperative launch; 0 without one.
    pub(crate) workspace: u64,
    /// The packed parameters, as words; for machine code, constant bank 0.
    pub(crate) params: Vec<u32>,
    /// The kernel's constants, including those that the launch determines.
    pub(crate) constants: Vec<Column>,
}

/// Maximum number of threads of a CTA, on every GPU so far.
const MAX_THREADS: u64 = 1024;

impl Launch {
    /// A launch of `kernel` with arguments `args`.
    ///
    /// # Errors
    /// If the arguments do not match the parameters, or the shape is impossible.
    pub fn new(
        kernel: Arc<Kernel>,
        grid: Dim3,
        block: Dim3,
        dynamic_shared: u32,
        args: &[Arg],
    ) -> Result<Self, LaunchError> {
        check_shape(&kernel, grid, block, dynamic_shared)?;
        let mut params = pack(&kernel, args)?;
        if let Some(code) = &kernel.machine {
            let shared = (kernel.system_shared, kernel.static_shared + dynamic_shared);
            params = launch_bank(code, kernel.local_bytes, [grid, block], dynamic_shared, &params);
            set_system_shared(&mut params[..code.parameter_base as usize / 4], &code.system_shared_at, shared);
        }
        let constants = kernel.constants.clone();
        let has_lone_barriers = kernel.code.iter().any(|at| matches!(at.op, Op::ClusterBarrier(_)));
        let (cluster, workspace) = (None, 0);
        let mut launch =
            Self { kernel, grid, block, dynamic_shared, cluster, has_lone_barriers, workspace, params, constants };
        launch.set_cluster(launch.kernel.required_cluster)?;
        Ok(launch)
    }

    /// Launches in clusters of this shape; without one, in those that the kernel was compiled for, if any.
    ///
    /// # Errors
    /// If the shape is impossible, or the kernel was compiled for another one.
    pub fn set_cluster(&mut self, cluster: Option<Dim3>) -> Result<(), LaunchError> {
        let cluster = cluster.or(self.kernel.required_cluster);
        check_cluster(&self.kernel, self.grid, cluster)?;
        self.cluster = cluster;
        if let Some(code) = self.kernel.machine.as_ref().filter(|code| code.has_clusters) {
            let (head, _) = self.params.split_at_mut(code.parameter_base as usize / 4);
            set_clusters(head, cluster, self.grid);
        }
        Ok(())
    }

    /// Shared memory of a CTA without the system's part, in bytes.
    pub(crate) fn own_shared(&self) -> u32 {
        self.kernel.static_shared + self.dynamic_shared
    }

    /// CTAs of a cluster in each dimension, if it is a launch in clusters.
    pub fn cluster(&self) -> Option<Dim3> {
        self.cluster
    }

    /// CTAs of a cluster: one, if it is not a launch in clusters.
    pub(crate) fn cluster_shape(&self) -> Dim3 {
        self.cluster.unwrap_or(Dim3::new(1, 1, 1))
    }

    /// Rank in its cluster of the CTA at `cta`.
    pub(crate) fn rank(&self, cta: Dim3) -> u32 {
        let cluster = self.cluster_shape();
        cluster.index(Dim3::new(cta.x % cluster.x, cta.y % cluster.y, cta.z % cluster.z)) as u32
    }

    /// The place in its cluster of the CTA at `cta` of launch `kernel`, if clusters have any effect.
    pub(crate) fn cluster_place(&self, kernel: KernelId, cta: Dim3) -> Option<ClusterPlace> {
        let cluster = self.effective_cluster()?;
        let at = Dim3::new(cta.x / cluster.x, cta.y / cluster.y, cta.z / cluster.z);
        Some(ClusterPlace {
            kernel,
            cluster: self.grid.parts(cluster).index(at),
            rank: self.rank(cta),
            ctas: cluster.volume() as u32,
            by_rank: self.kernel.is_machine_code(),
        })
    }

    /// CTAs of a cluster, if clusters have any effect.
    pub(crate) fn effective_cluster(&self) -> Option<Dim3> {
        if self.has_lone_barriers { Some(self.cluster_shape()) } else { self.cluster }
    }

    /// Bytes of the workspace of a cooperative launch.
    pub const WORKSPACE_BYTES: u64 = 8;

    /// Makes the launch cooperative: `grid.sync()` of cooperative groups counts arrivals in the workspace at
    /// `address`, [`Self::WORKSPACE_BYTES`] of device memory that are zero when the launch starts. Without a
    /// workspace it traps. All CTAs must be resident at once.
    pub fn set_workspace(&mut self, address: u64) {
        self.workspace = address;
        if let Some(code) = &self.kernel.machine {
            set_workspace(code, &mut self.params, address);
        }
    }

    /// Whether the launch is cooperative ([`Launch::set_workspace`]).
    pub fn is_cooperative(&self) -> bool {
        self.workspace != 0
    }

    /// Reads the constants that are in device memory: the launch sees their present values.
    pub(crate) fn resolve_constants(&mut self, memory: &DeviceMemory) {
        resolve(&self.kernel.launch_words, &self.params, memory, &mut self.constants);
    }

    /// The packed parameters, as words; for machine code, constant bank 0.
    pub fn params(&self) -> &[u32] {
        &self.params
    }

    /// Resources that the launch needs on an SM.
    pub fn shape(&self) -> LaunchShape {
        LaunchShape {
            grid: self.grid,
            block: self.block,
            registers_per_thread: self.kernel.registers.per_thread,
            shared_bytes: self.kernel.static_shared + self.dynamic_shared,
            cluster: self.cluster,
        }
    }
}

fn check_shape(kernel: &Kernel, grid: Dim3, block: Dim3, dynamic_shared: u32) -> Result<(), LaunchError> {
    let fail = |what: String| Err(LaunchError::Shape { kernel: kernel.name().into(), what });
    if grid.x == 0 || grid.y == 0 || grid.z == 0 {
        return fail(format!("a grid of {grid} has no CTAs"));
    }
    if block.x == 0 || block.y == 0 || block.z == 0 {
        return fail(format!("a block of {block} has no threads"));
    }
    if grid.x > i32::MAX as u32 || grid.y > 65_535 || grid.z > 65_535 {
        return fail(format!("a grid of {grid} is larger than (2147483647,65535,65535)"));
    }
    if block.x > 1024 || block.y > 1024 || block.z > 64 || block.volume() > MAX_THREADS {
        return fail(format!("a block of {block} is larger than (1024,1024,64) or {MAX_THREADS} threads"));
    }
    if let Some(most) = kernel.max_threads
        && block.volume() > u64::from(most)
    {
        let most = kit::text::counted(most.into(), "thread");
        return fail(format!("a block of {block} has more than the {most} that it was compiled for"));
    }
    if let Some(required) = kernel.required_block.filter(|&required| required != block) {
        return fail(format!("a block of {block}, but it was compiled for blocks of {required} only (`.reqntid`)"));
    }
    if u64::from(kernel.static_shared) + u64::from(dynamic_shared) > 1 << 20 {
        return fail(format!("{dynamic_shared} bytes of dynamic shared memory are more than any SM has"));
    }
    if kernel.local_bytes > MAX_LOCAL_BYTES {
        let bytes = kernel.local_bytes;
        return fail(format!("a thread takes {bytes} bytes of local memory; {MAX_LOCAL_BYTES} are the maximum"));
    }
    Ok(())
}

fn check_cluster(kernel: &Kernel, grid: Dim3, cluster: Option<Dim3>) -> Result<(), LaunchError> {
    let fail = |what: String| Err(LaunchError::Shape { kernel: kernel.name().into(), what });
    let Some(cluster) = cluster else { return Ok(()) };
    let ctas = cluster.volume();
    if ctas == 0 {
        return fail(format!("a cluster of {cluster} has no CTAs"));
    }
    if ctas > MOST_CTAS.into() {
        return fail(format!("a cluster of {cluster} has {ctas} CTAs, of at most {MOST_CTAS}"));
    }
    if let Some(required) = kernel.required_cluster.filter(|&required| required != cluster) {
        return fail(format!("clusters of {cluster}, but it was compiled for clusters of {required} only"));
    }
    if !grid.is_multiple_of(cluster) {
        return fail(format!("a grid of {grid} is not a multiple of the cluster of {cluster}"));
    }
    Ok(())
}

fn pack(kernel: &Kernel, args: &[Arg]) -> Result<Vec<u32>, LaunchError> {
    if args.len() != kernel.params.len() {
        let list: Vec<String> = kernel.params.iter().map(|p| format!("{} {}", p.ty, p.name)).collect();
        let parameters = if list.is_empty() { "none".into() } else { list.join(", ") };
        let (expected, given) = (kernel.params.len(), args.len());
        return Err(LaunchError::ArgumentCount { kernel: kernel.name().into(), expected, given, parameters });
    }
    let mut bytes = vec![0; kernel.param_bytes().next_multiple_of(4) as usize];
    for (i, (arg, param)) in args.iter().zip(&kernel.params).enumerate() {
        let data = arg.bytes();
        let Param { name, ty, offset, bytes: size, .. } = param;
        if data.len() != *size as usize {
            return Err(LaunchError::ArgumentSize {
                kernel: kernel.name().into(),
                number: i + 1,
                given: arg.kind(),
                given_bytes: data.len(),
                name: name.clone(),
                ty: ty.clone(),
                bytes: *size,
            });
        }
        bytes[*offset as usize..][..data.len()].copy_from_slice(&data);
    }
    let (words, _) = bytes.as_chunks::<4>();
    Ok(words.iter().map(|w| u32::from_le_bytes(*w)).collect())
}

/// State that was resolved when the launch was made.
impl Persist for Launch {
    fn persist(&mut self, archive: &mut Archive) -> Result<(), Mismatch> {
        let Self { workspace, params, constants, .. } = self;
        workspace.persist(archive)?;
        params.persist(archive)?;
        constants.persist(archive)
    }
}

//! State that all SMs share: device memory, running launches, output of kernels.

use crate::heap::Heap;
use crate::image::{ImageError, Images};
use crate::kernel::{ImageReference, LoadedModule};
use crate::launch::Launch;
use crate::memory::{DeviceMemory, MemoryError};
use isa::{Image, KernelId};

/// Properties of the GPU that special registers report.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GpuFacts {
    /// SMs: `%nsmid`.
    pub sm_count: u32,
    /// Warps per SM: `%nwarpid`.
    pub sm_warps: u32,
}

impl Default for GpuFacts {
    fn default() -> Self {
        Self { sm_count: 1, sm_warps: 32 }
    }
}

/// State of the device outside its SMs.
#[derive(Debug, Default)]
#[allow(missing_docs, reason = "the names say it")]
pub struct DeviceState {
    pub memory: DeviceMemory,
    pub gpu: GpuFacts,
    /// Output of kernels that has not been taken yet.
    pub output: String,
    heap: Heap,
    images: Images,
    launches: Vec<Option<Launch>>,
}

impl DeviceState {
    /// A device with `capacity` bytes of memory.
    pub fn new(capacity: u64, gpu: GpuFacts) -> Self {
        Self { memory: DeviceMemory::new(capacity), gpu, ..Self::default() }
    }

    /// Places the variables of `module` in device memory.
    ///
    /// # Errors
    /// If the memory is full or another module occupies the addresses.
    pub fn load(&mut self, module: &LoadedModule) -> Result<(), MemoryError> {
        module.place(&mut self.memory)?;
        module.references.iter().try_for_each(|reference| self.bind(reference, None))
    }

    /// Binds a texture or surface reference to the image of `handle`, or to none, for later launches. A kernel
    /// that uses a reference without an image faults.
    ///
    /// # Errors
    /// If the reference's module is not loaded.
    pub fn bind(&mut self, reference: &ImageReference, handle: Option<u64>) -> Result<(), MemoryError> {
        let handle = handle.unwrap_or_else(|| self.images.unbound(reference));
        self.memory.write(reference.address, &handle.to_le_bytes())
    }

    /// Registers a texture or surface and returns the handle that kernels take.
    ///
    /// # Errors
    /// If the description is impossible, or the memory is not allocated.
    pub fn add_image(&mut self, image: Image) -> Result<u64, ImageError> {
        self.images.add(image, &self.memory)
    }

    /// Sets the size of the heap of kernels (`cudaLimitMallocHeapSize`). Returns false, and changes nothing, once
    /// a kernel has used the heap.
    pub fn set_heap_bytes(&mut self, bytes: u64) -> bool {
        self.heap.resize(bytes)
    }

    /// Size of the heap of kernels in bytes.
    pub fn heap_bytes(&self) -> u64 {
        self.heap.bytes()
    }

    /// Registers a launch; [`isa::WarpStream::start_cta`] takes the returned id.
    pub fn add_launch(&mut self, mut launch: Launch) -> KernelId {
        launch.resolve_constants(&self.memory);
        self.launches.push(Some(launch));
        KernelId::from(self.launches.len() - 1)
    }

    /// Removes a launch that has ended.
    pub fn end_launch(&mut self, id: KernelId) {
        if let Some(launch) = self.launches.get_mut(id.index()) {
            *launch = None;
        }
    }

    /// Takes back the last launch: the next one gets its id.
    pub(crate) fn take_back_launch(&mut self, id: KernelId) {
        debug_assert_eq!(id.index() + 1, self.launches.len(), "the last launch");
        self.launches.pop();
    }

    /// A launch that has not ended.
    pub fn launch(&self, id: KernelId) -> Option<&Launch> {
        self.launches.get(id.index())?.as_ref()
    }

    /// Parts of the state that one instruction needs at once.
    #[inline]
    pub(crate) fn split(&mut self, id: KernelId) -> Parts<'_> {
        let launch = self.launches.get(id.index()).and_then(Option::as_ref);
        let Self { memory, output, heap, images, gpu, .. } = self;
        Parts { memory, output, heap, images, launch, gpu: *gpu }
    }
}

impl AsMut<Self> for DeviceState {
    fn as_mut(&mut self) -> &mut Self {
        self
    }
}

/// Parts of [`DeviceState`] that one instruction needs at once.
pub(crate) struct Parts<'a> {
    pub memory: &'a mut DeviceMemory,
    pub output: &'a mut String,
    pub heap: &'a mut Heap,
    pub images: &'a Images,
    /// The launch, if it has not ended.
    pub launch: Option<&'a Launch>,
    pub gpu: GpuFacts,
}

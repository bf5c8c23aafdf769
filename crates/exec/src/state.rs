//! State that all SMs share: device memory, running launches, output of kernels.

use crate::check::{CtaWatch, Executed, Findings, Scope, Watch};
use crate::cluster::Clusters;
use crate::heap::Heap;
use crate::image::{ImageError, ImageReference, Images};
use crate::kernel::{Kernel, LoadedModule, LoadedVariable, plain_name};
use crate::launch::Launch;
use crate::memory::{DeviceMemory, MemoryError, OutOfBounds, Own, Reader, View};
use crate::warp::Warp;
use isa::{Dim3, DynInst, Image, KernelId};
use kit::persist::{Archive, Mismatch, Persist, each};
use std::sync::Arc;

/// Properties of the GPU that special registers report.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GpuFacts {
    /// SMs: `%nsmid`.
    pub sm_count: u32,
    /// Warps per SM: `%nwarpid`.
    pub sm_warps: u32,
    /// A CTA gets shared memory in multiples of this many bytes.
    pub shared_unit: u32,
    /// Core clock, in kHz, not 0: `%globaltimer` is in nanoseconds, `%clock64` in cycles.
    pub core_khz: u32,
}

impl Default for GpuFacts {
    fn default() -> Self {
        Self { sm_count: 1, sm_warps: 32, shared_unit: 128, core_khz: 1_000_000 }
    }
}

/// Remarks of a run at most.
const MOST_REMARKS: usize = 20;

/// A `.const` variable without initial contents.
#[derive(Debug)]
struct UnsetConstant {
    name: String,
    address: u64,
    bytes: u64,
    /// Writes by the host when the module was loaded.
    writes: u64,
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
    /// Shared memory of clusters' CTAs that their streams have handed over.
    pub(crate) clusters: Clusters,
    /// Constants that nobody has set.
    unset: Vec<UnsetConstant>,
    /// Kernels whose use of these constants is known: the first launch shows it.
    examined: Vec<Arc<Kernel>>,
    remarks: Vec<String>,
    /// Checks on warps that start.
    pub(crate) watch: Option<Box<Watch>>,
}

impl DeviceState {
    /// A device with `capacity` bytes of memory.
    pub fn new(capacity: u64, gpu: GpuFacts) -> Self {
        Self { memory: DeviceMemory::new(capacity), gpu, ..Self::default() }
    }

    /// Chooses what happens to accesses outside allocations, and whether memory accesses are checked
    /// ([`crate::check`]). Call it before memory is allocated.
    pub fn check(&mut self, out_of_bounds: OutOfBounds, checks_memory: bool) {
        self.memory.set_out_of_bounds(out_of_bounds);
        self.memory.track_writes(checks_memory);
        let is_watched = checks_memory || out_of_bounds == OutOfBounds::Warn;
        let scope = if checks_memory { Scope::All } else { Scope::Strays };
        self.watch = is_watched.then(|| Box::new(Watch::new(scope)));
    }

    /// Bytes of shared memory that a CTA that asks for `bytes` may access.
    pub(crate) fn shared_room(&self, bytes: u32) -> u32 {
        let unit = self.gpu.shared_unit.max(1);
        let rounded = || bytes.checked_next_multiple_of(unit).unwrap_or(bytes);
        if self.memory.out_of_bounds() == OutOfBounds::Error { bytes } else { rounded() }
    }

    /// Findings of the checks; `None` if nothing is checked.
    pub fn findings(&self) -> Option<&Findings> {
        self.watch.as_ref().map(|watch| watch.findings())
    }

    /// Places the variables of `module` in device memory.
    ///
    /// # Errors
    /// If the memory is full or another module occupies the addresses.
    pub fn load(&mut self, module: &LoadedModule) -> Result<(), MemoryError> {
        module.place(&mut self.memory)?;
        let is_unset = |v: &&LoadedVariable| v.constant && v.init.iter().all(|&byte| byte == 0);
        for v in module.variables.iter().filter(is_unset) {
            let writes = self.memory.allocation_of(v.address).map_or(0, |a| a.host_writes);
            self.unset.push(UnsetConstant { name: v.name.clone(), address: v.address, bytes: v.bytes, writes });
        }
        module.references.iter().try_for_each(|reference| self.bind(reference, None))
    }

    /// Remarks for reports: kernels that read constants that nobody has set.
    pub fn remarks(&self) -> &[String] {
        &self.remarks
    }

    /// Notes the constants that `kernel` reads and that nobody has set.
    #[cold]
    fn remark_unset_constants(&mut self, kernel: &Arc<Kernel>) {
        if self.examined.iter().any(|known| Arc::ptr_eq(known, kernel)) {
            return;
        }
        self.examined.push(Arc::clone(kernel));
        let memory = &self.memory;
        let still = |c: &UnsetConstant| memory.allocation_of(c.address).is_some_and(|a| a.host_writes == c.writes);
        self.unset.retain(still);
        for constant in &self.unset {
            let UnsetConstant { name, address, bytes, .. } = constant;
            if kernel.refers_to(&(*address..address + bytes)) {
                let kernel = plain_name(kernel.name()).unwrap_or(kernel.name());
                let remark = format!("kernel `{kernel}` reads the constant `{name}`, which was never set: it is zero");
                if !self.remarks.contains(&remark) {
                    self.remarks.push(remark);
                }
            }
        }
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

    /// Removes a texture or surface; a later one may get its handle. Returns false if there is none.
    pub fn remove_image(&mut self, handle: u64) -> bool {
        self.images.remove(handle)
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
        if !self.unset.is_empty() && self.remarks.len() < MOST_REMARKS {
            self.remark_unset_constants(&launch.kernel);
        }
        if self.watch.is_some() && launch.effective_cluster().is_some() && self.remarks.len() < MOST_REMARKS {
            let kernel = plain_name(launch.kernel.name()).unwrap_or(launch.kernel.name());
            let remark = format!("kernel `{kernel}` is launched in clusters: its memory accesses are not checked");
            if !self.remarks.contains(&remark) {
                self.remarks.push(remark);
            }
        }
        self.launches.push(Some(launch));
        KernelId::from(self.launches.len() - 1)
    }

    /// Removes a launch that has ended.
    pub fn end_launch(&mut self, id: KernelId) {
        if let Some(launch) = self.launches.get_mut(id.index()) {
            *launch = None;
        }
        self.clusters.end_launch(id);
        if let Some(watch) = &mut self.watch {
            watch.end_launch(id);
        }
    }

    /// Takes back the last launch: the next one gets its id.
    pub(crate) fn take_back_launch(&mut self, id: KernelId) {
        debug_assert_eq!(id.index() + 1, self.launches.len(), "the last launch");
        self.end_launch(id);
        self.launches.pop();
    }

    /// Begins an undo log: what kernels change from now on can be undone by [`DeviceState::undo`]. The host changes
    /// nothing, and no launch begins or ends, before [`DeviceState::keep`] or that.
    pub fn begin_undo(&mut self) -> Undo {
        Undo {
            allocations: self.memory.begin_undo(),
            output: self.output.len(),
            heap: self.heap.clone(),
            findings: self.watch.as_ref().map(|watch| watch.findings().clone()),
        }
    }

    /// Ends an undo log: what was changed stays.
    pub fn keep(&mut self, undo: Undo) {
        self.memory.end_undo(undo.allocations, true);
        drop(undo);
    }

    /// Ends an undo log: memory, the heap and the output of kernels, and what checks have found are as they were when
    /// it began.
    pub fn undo(&mut self, undo: Undo) {
        let Undo { allocations, output, heap, findings } = undo;
        self.memory.end_undo(allocations, false);
        self.output.truncate(output);
        self.heap = heap;
        if let Some((watch, findings)) = self.watch.as_mut().zip(findings) {
            watch.set_findings(findings);
        }
    }

    /// A launch that has not ended.
    pub fn launch(&self, id: KernelId) -> Option<&Launch> {
        self.launches.get(id.index())?.as_ref()
    }

    /// The parts of the state that an instruction needs at once, beside other SMs.
    #[inline(always)]
    pub(crate) fn frozen<'a>(&'a self, id: KernelId, own: &'a mut Own, reader: &'a Reader) -> Parts<'a> {
        let Self { memory, images, gpu, .. } = self;
        Parts {
            memory: View::frozen(memory, own, reader),
            images,
            rest: None,
            clusters: None,
            launch: self.launch(id),
            gpu,
        }
    }

    /// The same for an instruction that has the device for itself.
    #[inline(always)]
    pub(crate) fn alone<'a>(&'a mut self, id: KernelId, reader: &'a Reader) -> Parts<'a> {
        let launch = self.launches.get(id.index()).and_then(Option::as_ref);
        let Self { memory, output, heap, images, gpu, clusters, .. } = self;
        let (rest, clusters) = (Some((output, heap)), Some(clusters));
        Parts { memory: View::alone(memory, reader), images, rest, clusters, launch, gpu }
    }

    /// Checks an instruction of a warp, if there are checks.
    pub(crate) fn see(
        &mut self,
        warp: &Warp,
        cta: Dim3,
        out: &DynInst,
        (stray, of_cta): (Option<u64>, Option<&mut CtaWatch>),
    ) {
        let launch = self.launches.get(warp.launch.index()).and_then(Option::as_ref);
        let (Some(launch), Some(watch)) = (launch, &mut self.watch) else { return };
        watch.see(&Executed { launch, warp, cta, out }, &mut self.memory, stray, of_cta);
    }
}

/// Record for [`DeviceState::undo`].
#[derive(Debug)]
#[must_use = "an undo log ends by `keep` or `undo`"]
pub struct Undo {
    /// Allocations so far.
    allocations: u64,
    /// Length of the output.
    output: usize,
    heap: Heap,
    findings: Option<Findings>,
}

impl AsMut<Self> for DeviceState {
    fn as_mut(&mut self) -> &mut Self {
        self
    }
}

/// Parts of [`DeviceState`] that one instruction needs at once.
pub(crate) struct Parts<'a> {
    pub memory: View<'a>,
    pub images: &'a Images,
    /// Output and heap of kernels, if the instruction has the device for itself.
    pub rest: Option<(&'a mut String, &'a mut Heap)>,
    /// The same of shared memory of clusters.
    pub clusters: Option<&'a mut Clusters>,
    /// The launch, if it has not ended.
    pub launch: Option<&'a Launch>,
    pub gpu: &'a GpuFacts,
}

/// The kernels of the launches are not part of it: the same launches are made before it is read.
impl Persist for DeviceState {
    fn persist(&mut self, archive: &mut Archive) -> Result<(), Mismatch> {
        let Self { memory, output, heap, images, launches, unset, remarks, watch, .. } = self;
        if watch.is_some() {
            return Err(Mismatch::new("what is known of memory accesses that are checked is not kept"));
        }
        memory.persist(archive)?;
        output.persist(archive)?;
        heap.persist(archive)?;
        images.persist(archive)?;
        each(launches.iter_mut().flatten().collect::<Vec<_>>(), archive)?;
        unset.persist(archive)?;
        remarks.persist(archive)
    }
}

kit::persist! {
    new struct UnsetConstant { name, address, bytes, writes }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_undo_log_has_heap_output_and_memory() {
        let mut state = DeviceState::default();
        let buffer = state.memory.allocate("a", 100).unwrap();
        state.output.push_str("before\n");
        let undo = state.begin_undo();
        let block = state.heap.allocate(24, &mut state.memory);
        state.memory.write(buffer, &[7; 4]).unwrap();
        state.output.push_str("within\n");
        state.undo(undo);
        assert_eq!((&*state.output, state.memory.allocations().len()), ("before\n", 1));
        assert!(state.set_heap_bytes(1 << 20), "no kernel has used it");
        let undo = state.begin_undo();
        assert_eq!(state.heap.allocate(24, &mut state.memory), block);
        state.memory.write(buffer, &[8; 4]).unwrap();
        state.output.push_str("after\n");
        state.keep(undo);
        let mut bytes = [0; 4];
        state.memory.read(buffer, &mut bytes).unwrap();
        assert_eq!((&*state.output, bytes), ("before\nafter\n", [8; 4]));
        assert!(state.heap.free(block) && !state.set_heap_bytes(1));
    }
}

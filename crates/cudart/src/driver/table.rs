//! The driver's functions that the runtime calls, by the names that the library exports.
//!
//! Pointers are addresses: the driver checks what it gets from C programs.

use std::ffi::{c_int, c_uint};

use super::{check, missing};
use crate::error::Result;
use cabi::address::{Address, Handle};

/// `CUmemLocation`: passed by value.
#[repr(C)]
#[derive(Clone, Copy, Default)]
pub struct Location {
    /// Device, host, or a node of its memory.
    pub kind: c_int,
    /// Which device or node.
    pub id: c_int,
}

/// A handle that another process may open: passed by value.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Shared(pub [u8; 64]);

cabi::plain!(Location, Shared);

cabi::driver! {
    missing, check, Result<()>;
    // Start and devices.
    cuInit(flags: c_uint);
    cuDriverGetVersion(version: Address);
    cuGetProcAddress_v2(name: Address, function: Address, version: c_int, flags: u64, status: Address);
    cuDeviceGetCount(count: Address);
    cuDeviceGetName(name: Address, bytes: c_int, device: c_int);
    cuDeviceGetUuid_v2(uuid: Address, device: c_int);
    cuDeviceTotalMem_v2(bytes: Address, device: c_int);
    cuDeviceGetAttribute(value: Address, attribute: c_int, device: c_int);
    cuDeviceGetTexture1DLinearMaxWidth(width: Address, format: c_int, channels: c_uint, device: c_int);
    cuDeviceGetByPCIBusId(device: Address, name: Address);
    cuDeviceGetPCIBusId(name: Address, bytes: c_int, device: c_int);
    cuDeviceGetP2PAttribute(value: Address, attribute: c_int, from: c_int, to: c_int);
    cuDeviceCanAccessPeer(can: Address, device: c_int, peer: c_int);
    cuDeviceGetDefaultMemPool(pool: Address, device: c_int);
    cuDeviceGetMemPool(pool: Address, device: c_int);
    cuDeviceSetMemPool(device: c_int, pool: Handle);
    cuDeviceGraphMemTrim(device: c_int);
    cuDeviceGetGraphMemAttribute(device: c_int, attribute: c_int, value: Address);
    cuDeviceSetGraphMemAttribute(device: c_int, attribute: c_int, value: Address);
    cuFlushGPUDirectRDMAWrites(target: c_int, scope: c_int);

    // Contexts.
    cuDevicePrimaryCtxRetain(context: Address, device: c_int);
    cuDevicePrimaryCtxRelease_v2(device: c_int);
    cuDevicePrimaryCtxReset_v2(device: c_int);
    cuDevicePrimaryCtxSetFlags_v2(device: c_int, flags: c_uint);
    cuDevicePrimaryCtxGetState(device: c_int, flags: Address, active: Address);
    cuCtxGetCurrent(context: Address);
    cuCtxSetCurrent(context: Handle);
    cuCtxGetDevice(device: Address);
    cuCtxSynchronize();
    cuCtxSetLimit(limit: c_int, value: usize);
    cuCtxGetLimit(value: Address, limit: c_int);
    cuCtxGetCacheConfig(config: Address);
    cuCtxSetCacheConfig(config: c_int);
    cuCtxGetSharedMemConfig(config: Address);
    cuCtxSetSharedMemConfig(config: c_int);
    cuCtxGetStreamPriorityRange(least: Address, greatest: Address);
    cuCtxResetPersistingL2Cache();
    cuCtxEnablePeerAccess(peer: Handle, flags: c_uint);
    cuCtxDisablePeerAccess(peer: Handle);

    // Modules, libraries, kernels.
    cuModuleLoadFatBinary(module: Address, image: Address);
    cuModuleUnload(module: Handle);
    cuModuleGetFunction(function: Address, module: Handle, name: Address);
    cuModuleGetGlobal_v2(address: Address, bytes: Address, module: Handle, name: Address);
    cuModuleGetTexRef(reference: Address, module: Handle, name: Address);
    cuModuleGetSurfRef(reference: Address, module: Handle, name: Address);
    cuLibraryLoadData(
        library: Address, code: Address, jit_options: Address, jit_values: Address, jit_count: c_uint,
        options: Address, values: Address, count: c_uint,
    );
    cuLibraryLoadFromFile(
        library: Address, path: Address, jit_options: Address, jit_values: Address, jit_count: c_uint,
        options: Address, values: Address, count: c_uint,
    );
    cuLibraryUnload(library: Handle);
    cuLibraryGetKernel(kernel: Address, library: Handle, name: Address);
    cuLibraryGetKernelCount(count: Address, library: Handle);
    cuLibraryEnumerateKernels(kernels: Address, count: c_uint, library: Handle);
    cuLibraryGetGlobal(address: Address, bytes: Address, library: Handle, name: Address);
    cuLibraryGetManaged(address: Address, bytes: Address, library: Handle, name: Address);
    cuLibraryGetUnifiedFunction(function: Address, library: Handle, name: Address);
    cuKernelGetFunction(function: Address, kernel: Handle);
    cuKernelSetAttribute(attribute: c_int, value: c_int, kernel: Handle, device: c_int);
    cuFuncGetAttribute(value: Address, attribute: c_int, function: Handle);
    cuFuncSetAttribute(function: Handle, attribute: c_int, value: c_int);
    cuFuncSetCacheConfig(function: Handle, config: c_int);
    cuFuncSetSharedMemConfig(function: Handle, config: c_int);
    cuFuncGetName(name: Address, function: Handle);
    cuFuncGetParamInfo(function: Handle, index: usize, offset: Address, bytes: Address);
    cuLaunchKernel(
        function: Handle, grid_x: c_uint, grid_y: c_uint, grid_z: c_uint, block_x: c_uint, block_y: c_uint,
        block_z: c_uint, shared: c_uint, stream: Handle, arguments: Address, extra: Address,
    );
    cuLaunchCooperativeKernel(
        function: Handle, grid_x: c_uint, grid_y: c_uint, grid_z: c_uint, block_x: c_uint, block_y: c_uint,
        block_z: c_uint, shared: c_uint, stream: Handle, arguments: Address,
    );
    cuLaunchKernelEx(config: Address, function: Handle, arguments: Address, extra: Address);
    cuLaunchHostFunc(stream: Handle, function: Address, data: Address);
    cuOccupancyMaxActiveBlocksPerMultiprocessor(blocks: Address, function: Handle, block: c_int, shared: usize);
    cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
        blocks: Address, function: Handle, block: c_int, shared: usize, flags: c_uint,
    );
    cuOccupancyAvailableDynamicSMemPerBlock(bytes: Address, function: Handle, blocks: c_int, block: c_int);
    cuOccupancyMaxPotentialClusterSize(size: Address, function: Handle, config: Address);
    cuOccupancyMaxActiveClusters(clusters: Address, function: Handle, config: Address);

    // Memory.
    cuMemGetInfo_v2(free: Address, total: Address);
    cuMemAlloc_v2(address: Address, bytes: usize);
    cuMemAllocPitch_v2(address: Address, pitch: Address, width: usize, height: usize, element: c_uint);
    cuMemFree_v2(address: Address);
    cuMemHostAlloc(address: Address, bytes: usize, flags: c_uint);
    cuMemFreeHost(address: Address);
    cuMemHostRegister_v2(address: Address, bytes: usize, flags: c_uint);
    cuMemHostUnregister(address: Address);
    cuMemHostGetDevicePointer_v2(device: Address, host: Address, flags: c_uint);
    cuMemHostGetFlags(flags: Address, host: Address);
    cuMemAllocManaged(address: Address, bytes: usize, flags: c_uint);
    cuMemAdvise(address: Address, bytes: usize, advice: c_int, device: c_int);
    cuMemAdvise_v2(address: Address, bytes: usize, advice: c_int, location: Location);
    cuMemPrefetchAsync(address: Address, bytes: usize, device: c_int, stream: Handle);
    cuMemPrefetchAsync_v2(address: Address, bytes: usize, location: Location, flags: c_uint, stream: Handle);
    cuMemRangeGetAttribute(data: Address, bytes: usize, attribute: c_int, address: Address, count: usize);
    cuMemRangeGetAttributes(
        data: Address, sizes: Address, attributes: Address, number: usize, address: Address, count: usize,
    );
    cuPointerGetAttribute(data: Address, attribute: c_int, address: Address);
    cuIpcGetMemHandle(handle: Address, address: Address);
    cuIpcOpenMemHandle_v2(address: Address, handle: Shared, flags: c_uint);
    cuIpcCloseMemHandle(address: Address);
    cuIpcGetEventHandle(handle: Address, event: Handle);
    cuIpcOpenEventHandle(event: Address, handle: Shared);

    // Pools.
    cuMemAllocAsync(address: Address, bytes: usize, stream: Handle);
    cuMemAllocFromPoolAsync(address: Address, bytes: usize, pool: Handle, stream: Handle);
    cuMemFreeAsync(address: Address, stream: Handle);
    cuMemPoolCreate(pool: Address, properties: Address);
    cuMemPoolDestroy(pool: Handle);
    cuMemPoolTrimTo(pool: Handle, keep: usize);
    cuMemPoolSetAttribute(pool: Handle, attribute: c_int, value: Address);
    cuMemPoolGetAttribute(pool: Handle, attribute: c_int, value: Address);
    cuMemPoolSetAccess(pool: Handle, list: Address, count: usize);
    cuMemPoolGetAccess(flags: Address, pool: Handle, location: Address);
    cuMemPoolExportToShareableHandle(handle: Address, pool: Handle, kind: c_int, flags: u64);
    cuMemPoolImportFromShareableHandle(pool: Address, handle: Address, kind: c_int, flags: u64);
    cuMemPoolExportPointer(data: Address, address: Address);
    cuMemPoolImportPointer(address: Address, pool: Handle, data: Address);

    // Copies and fills.
    cuMemcpy(to: Address, from: Address, bytes: usize);
    cuMemcpyAsync(to: Address, from: Address, bytes: usize, stream: Handle);
    cuMemcpyHtoD_v2(to: Address, from: Address, bytes: usize);
    cuMemcpyDtoH_v2(to: Address, from: Address, bytes: usize);
    cuMemcpyDtoD_v2(to: Address, from: Address, bytes: usize);
    cuMemcpyHtoDAsync_v2(to: Address, from: Address, bytes: usize, stream: Handle);
    cuMemcpyDtoHAsync_v2(to: Address, from: Address, bytes: usize, stream: Handle);
    cuMemcpyDtoDAsync_v2(to: Address, from: Address, bytes: usize, stream: Handle);
    cuMemcpyPeer(to: Address, to_context: Handle, from: Address, from_context: Handle, bytes: usize);
    cuMemcpyPeerAsync(
        to: Address, to_context: Handle, from: Address, from_context: Handle, bytes: usize, stream: Handle,
    );
    cuMemcpy2DUnaligned_v2(copy: Address);
    cuMemcpy2DAsync_v2(copy: Address, stream: Handle);
    cuMemcpy3D_v2(copy: Address);
    cuMemcpy3DAsync_v2(copy: Address, stream: Handle);
    cuMemcpy3DPeer(copy: Address);
    cuMemcpy3DPeerAsync(copy: Address, stream: Handle);
    cuMemsetD8_v2(to: Address, value: u8, count: usize);
    cuMemsetD8Async(to: Address, value: u8, count: usize, stream: Handle);
    cuMemsetD2D8_v2(to: Address, pitch: usize, value: u8, width: usize, height: usize);
    cuMemsetD2D8Async(to: Address, pitch: usize, value: u8, width: usize, height: usize, stream: Handle);

    // Arrays, textures, surfaces.
    cuArray3DCreate_v2(array: Address, descriptor: Address);
    cuArray3DGetDescriptor_v2(descriptor: Address, array: Handle);
    cuArrayDestroy(array: Handle);
    cuArrayGetPlane(plane: Address, array: Handle, index: c_uint);
    cuArrayGetMemoryRequirements(requirements: Address, array: Handle, device: c_int);
    cuArrayGetSparseProperties(properties: Address, array: Handle);
    cuMipmappedArrayCreate(array: Address, descriptor: Address, levels: c_uint);
    cuMipmappedArrayGetLevel(level: Address, array: Handle, index: c_uint);
    cuMipmappedArrayDestroy(array: Handle);
    cuMipmappedArrayGetMemoryRequirements(requirements: Address, array: Handle, device: c_int);
    cuMipmappedArrayGetSparseProperties(properties: Address, array: Handle);
    cuTexObjectCreate(object: Address, resource: Address, texture: Address, view: Address);
    cuTexObjectDestroy(object: u64);
    cuTexObjectGetResourceDesc(resource: Address, object: u64);
    cuTexObjectGetTextureDesc(texture: Address, object: u64);
    cuTexObjectGetResourceViewDesc(view: Address, object: u64);
    cuSurfObjectCreate(object: Address, resource: Address);
    cuSurfObjectDestroy(object: u64);
    cuSurfObjectGetResourceDesc(resource: Address, object: u64);
    cuTexRefSetArray(reference: Handle, array: Handle, flags: c_uint);
    cuTexRefSetMipmappedArray(reference: Handle, array: Handle, flags: c_uint);
    cuTexRefSetAddress_v2(offset: Address, reference: Handle, address: Address, bytes: usize);
    cuTexRefSetAddress2D_v3(reference: Handle, descriptor: Address, address: Address, pitch: usize);
    cuTexRefSetFormat(reference: Handle, format: c_int, channels: c_int);
    cuTexRefSetAddressMode(reference: Handle, dimension: c_int, mode: c_int);
    cuTexRefSetFilterMode(reference: Handle, mode: c_int);
    cuTexRefSetFlags(reference: Handle, flags: c_uint);
    cuTexRefSetMaxAnisotropy(reference: Handle, anisotropy: c_uint);
    cuTexRefSetMipmapFilterMode(reference: Handle, mode: c_int);
    cuTexRefSetMipmapLevelBias(reference: Handle, bias: f32);
    cuTexRefSetMipmapLevelClamp(reference: Handle, least: f32, greatest: f32);
    cuSurfRefSetArray(reference: Handle, array: Handle, flags: c_uint);

    // Streams and events.
    cuStreamCreateWithPriority(stream: Address, flags: c_uint, priority: c_int);
    cuStreamDestroy_v2(stream: Handle);
    cuStreamSynchronize(stream: Handle);
    cuStreamQuery(stream: Handle);
    cuStreamWaitEvent(stream: Handle, event: Handle, flags: c_uint);
    cuStreamAddCallback(stream: Handle, callback: Address, data: Address, flags: c_uint);
    cuStreamGetPriority(stream: Handle, priority: Address);
    cuStreamGetFlags(stream: Handle, flags: Address);
    cuStreamGetId(stream: Handle, id: Address);
    cuStreamGetDevice(stream: Handle, device: Address);
    cuStreamCopyAttributes(to: Handle, from: Handle);
    cuStreamGetAttribute(stream: Handle, attribute: c_int, value: Address);
    cuStreamSetAttribute(stream: Handle, attribute: c_int, value: Address);
    cuStreamAttachMemAsync(stream: Handle, address: Address, bytes: usize, flags: c_uint);
    cuStreamBeginCapture_v2(stream: Handle, mode: c_int);
    cuStreamBeginCaptureToGraph(
        stream: Handle, graph: Handle, dependencies: Address, edges: Address, count: usize, mode: c_int,
    );
    cuStreamEndCapture(stream: Handle, graph: Address);
    cuStreamIsCapturing(stream: Handle, status: Address);
    cuStreamGetCaptureInfo_v2(
        stream: Handle, status: Address, id: Address, graph: Address, dependencies: Address, count: Address,
    );
    cuStreamGetCaptureInfo_v3(
        stream: Handle, status: Address, id: Address, graph: Address, dependencies: Address, edges: Address,
        count: Address,
    );
    cuStreamUpdateCaptureDependencies(stream: Handle, dependencies: Address, count: usize, flags: c_uint);
    cuStreamUpdateCaptureDependencies_v2(
        stream: Handle, dependencies: Address, edges: Address, count: usize, flags: c_uint,
    );
    cuThreadExchangeStreamCaptureMode(mode: Address);
    cuEventCreate(event: Address, flags: c_uint);
    cuEventRecord(event: Handle, stream: Handle);
    cuEventRecordWithFlags(event: Handle, stream: Handle, flags: c_uint);
    cuEventQuery(event: Handle);
    cuEventSynchronize(event: Handle);
    cuEventDestroy_v2(event: Handle);
    cuEventElapsedTime(milliseconds: Address, start: Handle, end: Handle);

    // Graphs.
    cuGraphCreate(graph: Address, flags: c_uint);
    cuGraphDestroy(graph: Handle);
    cuGraphClone(clone: Address, graph: Handle);
    cuGraphAddKernelNode_v2(node: Address, graph: Handle, dependencies: Address, count: usize, parameters: Address);
    cuGraphAddMemcpyNode(
        node: Address, graph: Handle, dependencies: Address, count: usize, parameters: Address, context: Handle,
    );
    cuGraphAddMemsetNode(
        node: Address, graph: Handle, dependencies: Address, count: usize, parameters: Address, context: Handle,
    );
    cuGraphAddHostNode(node: Address, graph: Handle, dependencies: Address, count: usize, parameters: Address);
    cuGraphAddChildGraphNode(node: Address, graph: Handle, dependencies: Address, count: usize, child: Handle);
    cuGraphAddEmptyNode(node: Address, graph: Handle, dependencies: Address, count: usize);
    cuGraphAddEventRecordNode(node: Address, graph: Handle, dependencies: Address, count: usize, event: Handle);
    cuGraphAddEventWaitNode(node: Address, graph: Handle, dependencies: Address, count: usize, event: Handle);
    cuGraphAddMemAllocNode(node: Address, graph: Handle, dependencies: Address, count: usize, parameters: Address);
    cuGraphAddMemFreeNode(node: Address, graph: Handle, dependencies: Address, count: usize, address: Address);
    cuGraphKernelNodeGetParams_v2(node: Handle, parameters: Address);
    cuGraphKernelNodeSetParams_v2(node: Handle, parameters: Address);
    cuGraphKernelNodeCopyAttributes(to: Handle, from: Handle);
    cuGraphKernelNodeGetAttribute(node: Handle, attribute: c_int, value: Address);
    cuGraphKernelNodeSetAttribute(node: Handle, attribute: c_int, value: Address);
    cuGraphMemcpyNodeGetParams(node: Handle, parameters: Address);
    cuGraphMemcpyNodeSetParams(node: Handle, parameters: Address);
    cuGraphMemsetNodeGetParams(node: Handle, parameters: Address);
    cuGraphMemsetNodeSetParams(node: Handle, parameters: Address);
    cuGraphHostNodeGetParams(node: Handle, parameters: Address);
    cuGraphHostNodeSetParams(node: Handle, parameters: Address);
    cuGraphChildGraphNodeGetGraph(node: Handle, graph: Address);
    cuGraphEventRecordNodeGetEvent(node: Handle, event: Address);
    cuGraphEventRecordNodeSetEvent(node: Handle, event: Handle);
    cuGraphEventWaitNodeGetEvent(node: Handle, event: Address);
    cuGraphEventWaitNodeSetEvent(node: Handle, event: Handle);
    cuGraphMemAllocNodeGetParams(node: Handle, parameters: Address);
    cuGraphMemFreeNodeGetParams(node: Handle, address: Address);
    cuGraphNodeFindInClone(node: Address, original: Handle, clone: Handle);
    cuGraphNodeGetType(node: Handle, kind: Address);
    cuGraphGetNodes(graph: Handle, nodes: Address, count: Address);
    cuGraphGetRootNodes(graph: Handle, nodes: Address, count: Address);
    cuGraphGetEdges(graph: Handle, from: Address, to: Address, count: Address);
    cuGraphGetEdges_v2(graph: Handle, from: Address, to: Address, edges: Address, count: Address);
    cuGraphNodeGetDependencies(node: Handle, nodes: Address, count: Address);
    cuGraphNodeGetDependencies_v2(node: Handle, nodes: Address, edges: Address, count: Address);
    cuGraphNodeGetDependentNodes(node: Handle, nodes: Address, count: Address);
    cuGraphNodeGetDependentNodes_v2(node: Handle, nodes: Address, edges: Address, count: Address);
    cuGraphAddDependencies(graph: Handle, from: Address, to: Address, count: usize);
    cuGraphAddDependencies_v2(graph: Handle, from: Address, to: Address, edges: Address, count: usize);
    cuGraphRemoveDependencies(graph: Handle, from: Address, to: Address, count: usize);
    cuGraphRemoveDependencies_v2(graph: Handle, from: Address, to: Address, edges: Address, count: usize);
    cuGraphDestroyNode(node: Handle);
    cuGraphInstantiateWithFlags(executable: Address, graph: Handle, flags: u64);
    cuGraphInstantiateWithParams(executable: Address, graph: Handle, parameters: Address);
    cuGraphExecGetFlags(executable: Handle, flags: Address);
    cuGraphExecKernelNodeSetParams_v2(executable: Handle, node: Handle, parameters: Address);
    cuGraphExecMemcpyNodeSetParams(executable: Handle, node: Handle, parameters: Address, context: Handle);
    cuGraphExecMemsetNodeSetParams(executable: Handle, node: Handle, parameters: Address, context: Handle);
    cuGraphExecHostNodeSetParams(executable: Handle, node: Handle, parameters: Address);
    cuGraphExecChildGraphNodeSetParams(executable: Handle, node: Handle, child: Handle);
    cuGraphExecEventRecordNodeSetEvent(executable: Handle, node: Handle, event: Handle);
    cuGraphExecEventWaitNodeSetEvent(executable: Handle, node: Handle, event: Handle);
    cuGraphExecUpdate_v2(executable: Handle, graph: Handle, result: Address);
    cuGraphExecDestroy(executable: Handle);
    cuGraphNodeSetEnabled(executable: Handle, node: Handle, enabled: c_uint);
    cuGraphNodeGetEnabled(executable: Handle, node: Handle, enabled: Address);
    cuGraphUpload(executable: Handle, stream: Handle);
    cuGraphLaunch(executable: Handle, stream: Handle);
    cuGraphDebugDotPrint(graph: Handle, path: Address, flags: c_uint);
    cuUserObjectCreate(object: Address, data: Address, destroy: Address, references: c_uint, flags: c_uint);
    cuUserObjectRetain(object: Handle, count: c_uint);
    cuUserObjectRelease(object: Handle, count: c_uint);
    cuGraphRetainUserObject(graph: Handle, object: Handle, count: c_uint, flags: c_uint);
    cuGraphReleaseUserObject(graph: Handle, object: Handle, count: c_uint);

    // Profiling and logs.
    cuProfilerStart();
    cuProfilerStop();
    cuLogsRegisterCallback(function: Address, data: Address, handle: Address);
    cuLogsUnregisterCallback(handle: Handle);
    cuLogsCurrent(iterator: Address, flags: c_uint);
    cuLogsDumpToFile(iterator: Address, path: Address, flags: c_uint);
    cuLogsDumpToMemory(iterator: Address, buffer: Address, bytes: Address, flags: c_uint);
}

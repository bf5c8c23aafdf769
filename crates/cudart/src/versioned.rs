//! Functions whose signature, structure or result differs between the major versions.
//!
//! [`crate::runtime!`] exports them from a version's library; everything else is exported once for all versions.
//! The rest of this module is what the macro's expansion uses.

pub use crate::api::enter;
pub use crate::argument::{Argument, In, Out, Stream};
pub use crate::batch::copy_batch;
pub use crate::context::current;
pub use crate::device::{EntryPointFlags, driver_function};
pub use crate::driver::Location;
pub use crate::function::{ATTRIBUTES_11, ATTRIBUTES_12, write_attributes};
pub use crate::graph::{instantiate_11, update_11};
pub use crate::graph_node::add_node;
pub use crate::launch::Kernel;
pub use crate::properties::{Layout, write_properties};
pub use crate::texture::{Resource, TEXTURE_11, TEXTURE_12, View, create_texture, write_texture};
pub use cabi::address::{Address, Handle};

/// Exports the functions of a major version that differ from another one's.
#[macro_export]
macro_rules! runtime {
    (11) => {
        use std::ffi::{c_int, c_uint};
        use $crate::versioned::*;

        $crate::runtime!(every version, 11080);
        $crate::runtime!(until 12);
        $crate::api! {
            fn cudaGetDeviceProperties(place: Address, device: c_int) {
                write_properties(place, device, Layout::Eleven)
            }
            fn cudaFuncGetAttributes(place: Address, kernel: Kernel) { write_attributes(place, kernel, ATTRIBUTES_11) }
            fn cudaCreateTextureObject(object: Out<u64>, resource: In<Resource>, how: Address, view: In<View>) {
                create_texture(object, resource, how, view, TEXTURE_11)
            }
            fn cudaGetTextureObjectTextureDesc(place: Address, object: u64) {
                write_texture(place, object, TEXTURE_11)
            }
            fn cudaGetDriverEntryPoint | cudaGetDriverEntryPoint_ptsz(
                name: In<u8>, place: Out<Address>, flags: EntryPointFlags,
            ) {
                driver_function(name, place, 11080, flags, Out::at(0))
            }
            fn cudaGraphInstantiate(
                executable: Out<Handle>, graph: Handle, node: Out<Handle>, text: Out<u8>, bytes: usize,
            ) {
                instantiate_11(executable, graph, node, text, bytes)
            }
            fn cudaGraphExecUpdate(executable: Handle, graph: Handle, node: Out<Handle>, result: Out<c_int>) {
                update_11(executable, graph, node, result)
            }
        }
    };
    (12) => {
        use std::ffi::{c_int, c_uint};
        use $crate::versioned::*;

        $crate::runtime!(every version, 12090);
        $crate::runtime!(until 12);
        $crate::runtime!(since 12, 12090);
        $crate::api! {
            // Programs built for version 12 call the second version of this function.
            fn cudaGetDeviceProperties(place: Address, device: c_int) {
                write_properties(place, device, Layout::Eleven)
            }
        }
    };
    (13) => {
        use std::ffi::{c_int, c_uint};
        use $crate::versioned::*;

        $crate::runtime!(every version, 13000);
        $crate::runtime!(since 12, 13000);
        $crate::api! {
            fn cudaGetDeviceProperties(place: Address, device: c_int) {
                write_properties(place, device, Layout::Thirteen)
            }
            fn cudaMemcpyBatchAsync | cudaMemcpyBatchAsync_ptsz(
                to: Address, from: Address, sizes: Address, count: usize, _attributes: Address, _indices: Address,
                _number: usize, stream: Stream,
            ) {
                copy_batch(to, from, sizes, count, Out::at(0), stream)
            }
            fn cudaMemAdvise(address: Address, bytes: usize, advice: c_int, location: Location) = cuMemAdvise_v2;
            fn cudaMemPrefetchAsync | cudaMemPrefetchAsync_ptsz(
                address: Address, bytes: usize, location: Location, flags: c_uint, stream: Stream,
            ) = cuMemPrefetchAsync_v2;
            fn cudaStreamGetCaptureInfo | cudaStreamGetCaptureInfo_ptsz(
                stream: Stream, status: Out<c_int>, id: Address, graph: Address, nodes: Address, edges: Address,
                count: Address,
            ) = cuStreamGetCaptureInfo_v3;
            fn cudaStreamUpdateCaptureDependencies | cudaStreamUpdateCaptureDependencies_ptsz(
                stream: Stream, nodes: Address, edges: Address, count: usize, flags: c_uint,
            ) = cuStreamUpdateCaptureDependencies_v2;
            fn cudaGraphKernelNodeCopyAttributes(to: Handle, from: Handle) = cuGraphKernelNodeCopyAttributes;
            fn cudaGraphAddNode(
                node: Out<Handle>, graph: Handle, nodes: Address, edges: Address, count: usize, parameters: Address,
            ) {
                add_node(node, graph, nodes, edges, count, parameters)
            }
            fn cudaGraphAddDependencies(graph: Handle, from: Address, to: Address, edges: Address, count: usize)
                = cuGraphAddDependencies_v2;
            fn cudaGraphRemoveDependencies(graph: Handle, from: Address, to: Address, edges: Address, count: usize)
                = cuGraphRemoveDependencies_v2;
            fn cudaGraphGetEdges(graph: Handle, from: Address, to: Address, edges: Address, count: Out<usize>)
                = cuGraphGetEdges_v2;
            fn cudaGraphNodeGetDependencies(node: Handle, nodes: Address, edges: Address, count: Out<usize>)
                = cuGraphNodeGetDependencies_v2;
            fn cudaGraphNodeGetDependentNodes(node: Handle, nodes: Address, edges: Address, count: Out<usize>)
                = cuGraphNodeGetDependentNodes_v2;
        }
    };
    (every version, $version:literal) => {
        $crate::api! {
            fn cudaRuntimeGetVersion(version: Out<c_int>) { version.set($version) }
            fn cudaGetDeviceProperties_v2(place: Address, device: c_int) {
                write_properties(place, device, Layout::Twelve)
            }
            fn cudaCreateTextureObject_v2(object: Out<u64>, resource: In<Resource>, how: Address, view: In<View>) {
                create_texture(object, resource, how, view, TEXTURE_12)
            }
            fn cudaGetTextureObjectTextureDesc_v2(place: Address, object: u64) {
                write_texture(place, object, TEXTURE_12)
            }
        }
    };
    (since 12, $version:literal) => {
        $crate::api! {
            fn cudaFuncGetAttributes(place: Address, kernel: Kernel) { write_attributes(place, kernel, ATTRIBUTES_12) }
            fn cudaCreateTextureObject(object: Out<u64>, resource: In<Resource>, how: Address, view: In<View>) {
                create_texture(object, resource, how, view, TEXTURE_12)
            }
            fn cudaGetTextureObjectTextureDesc(place: Address, object: u64) {
                write_texture(place, object, TEXTURE_12)
            }
            fn cudaGetDriverEntryPoint | cudaGetDriverEntryPoint_ptsz(
                name: In<u8>, place: Out<Address>, flags: EntryPointFlags, status: Out<c_int>,
            ) {
                driver_function(name, place, $version, flags, status)
            }
            fn cudaGraphInstantiate(executable: Out<Handle>, graph: Handle, flags: u64) = cuGraphInstantiateWithFlags;
            // The result is the driver's structure: result, node, node before it.
            fn cudaGraphExecUpdate(executable: Handle, graph: Handle, result: Out<[u64; 3]>) = cuGraphExecUpdate_v2;
        }
    };
    (until 12) => {
        $crate::api! {
            fn cudaMemcpyBatchAsync | cudaMemcpyBatchAsync_ptsz(
                to: Address, from: Address, sizes: Address, count: usize, _attributes: Address, _indices: Address,
                _number: usize, failed: Out<usize>, stream: Stream,
            ) {
                copy_batch(to, from, sizes, count, failed, stream)
            }
            fn cudaMemAdvise(address: Address, bytes: usize, advice: c_int, device: c_int) = cuMemAdvise;
            fn cudaMemPrefetchAsync | cudaMemPrefetchAsync_ptsz(
                address: Address, bytes: usize, device: c_int, stream: Stream,
            ) = cuMemPrefetchAsync;
            fn cudaStreamGetCaptureInfo | cudaStreamGetCaptureInfo_ptsz(
                stream: Stream, status: Out<c_int>, id: Address,
            ) {
                let driver = current()?;
                status.receive(|status| driver.cuStreamGetCaptureInfo_v2(stream.0, status, id, 0, 0, 0))
            }
            fn cudaStreamUpdateCaptureDependencies | cudaStreamUpdateCaptureDependencies_ptsz(
                stream: Stream, nodes: Address, count: usize, flags: c_uint,
            ) = cuStreamUpdateCaptureDependencies;
            // Until version 12 the node that gets the attributes is the last argument.
            fn cudaGraphKernelNodeCopyAttributes(from: Handle, to: Handle) {
                current()?.cuGraphKernelNodeCopyAttributes(to, from)
            }
            fn cudaGraphAddNode(node: Out<Handle>, graph: Handle, nodes: Address, count: usize, parameters: Address) {
                add_node(node, graph, nodes, 0, count, parameters)
            }
            fn cudaGraphAddDependencies(graph: Handle, from: Address, to: Address, count: usize)
                = cuGraphAddDependencies;
            fn cudaGraphRemoveDependencies(graph: Handle, from: Address, to: Address, count: usize)
                = cuGraphRemoveDependencies;
            fn cudaGraphGetEdges(graph: Handle, from: Address, to: Address, count: Out<usize>) = cuGraphGetEdges;
            fn cudaGraphNodeGetDependencies(node: Handle, nodes: Address, count: Out<usize>)
                = cuGraphNodeGetDependencies;
            fn cudaGraphNodeGetDependentNodes(node: Handle, nodes: Address, count: Out<usize>)
                = cuGraphNodeGetDependentNodes;
        }
    };
}

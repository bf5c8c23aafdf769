//! Functions whose signature, structure or result differs between the major versions.
//!
//! [`crate::runtime!`] exports them from a version's library under their C names; everything else is
//! exported once for all versions. Pointers, handles and streams are numbers here.

use std::ffi::{c_int, c_uint};

use crate::address::{Address, Argument, Handle, In, Out, Stream};
use crate::api::enter;
use crate::context::current;
use crate::device::{driver_function, per_thread_flags};
pub use crate::driver::Location;
use crate::error::Error;
use crate::properties::{Layout, write_properties};
use crate::{batch, function, graph, graph_node, memory, stream, texture};

/// Reports the version of the runtime: 1000 times the major one, 10 times the minor one.
pub fn runtime_version(place: Address, version: c_int) -> c_int {
    enter(|| Out::at(place).set(version))
}

/// `cudaGetDeviceProperties` of version 11, and of binaries for it that run with version 12.
pub fn properties_11(place: Address, device: c_int) -> c_int {
    enter(|| write_properties(place, device, Layout::Eleven))
}

/// `cudaGetDeviceProperties_v2` of version 12.
pub fn properties_12(place: Address, device: c_int) -> c_int {
    enter(|| write_properties(place, device, Layout::Twelve))
}

/// `cudaGetDeviceProperties` of version 13.
pub fn properties_13(place: Address, device: c_int) -> c_int {
    enter(|| write_properties(place, device, Layout::Thirteen))
}

/// `cudaFuncGetAttributes` of version 11.
pub fn function_attributes_11(place: Address, kernel: Address) -> c_int {
    enter(|| function::write_attributes(place, kernel, function::ATTRIBUTES_11))
}

/// `cudaFuncGetAttributes` from version 12 on.
pub fn function_attributes_12(place: Address, kernel: Address) -> c_int {
    enter(|| function::write_attributes(place, kernel, function::ATTRIBUTES_12))
}

/// `cudaCreateTextureObject` of version 11.
pub fn create_texture_11(object: Address, resource: Address, how: Address, view: Address) -> c_int {
    let (object, resource, view) = (Out::at(object), In::at(resource), In::at(view));
    enter(|| texture::create(object, resource, how, view, texture::TEXTURE_11))
}

/// `cudaCreateTextureObject` from version 12 on, and the second version of 11.
pub fn create_texture_12(object: Address, resource: Address, how: Address, view: Address) -> c_int {
    let (object, resource, view) = (Out::at(object), In::at(resource), In::at(view));
    enter(|| texture::create(object, resource, how, view, texture::TEXTURE_12))
}

/// `cudaGetTextureObjectTextureDesc` of version 11.
pub fn texture_11(place: Address, object: u64) -> c_int {
    enter(|| texture::write_texture(place, object, texture::TEXTURE_11))
}

/// `cudaGetTextureObjectTextureDesc` from version 12 on, and the second version of 11.
pub fn texture_12(place: Address, object: u64) -> c_int {
    enter(|| texture::write_texture(place, object, texture::TEXTURE_12))
}

/// `cudaGetDriverEntryPoint`; `status` is null in version 11, which lacks it.
pub fn driver_entry_point(name: Address, place: Address, version: c_int, flags: u64, status: Address) -> c_int {
    enter(|| driver_function(name, Out::at(place), version, flags, Out::at(status)))
}

/// `cudaGetDriverEntryPoint` for a program whose default stream is that of the thread.
pub fn driver_entry_point_per_thread(
    name: Address,
    place: Address,
    version: c_int,
    flags: u64,
    status: Address,
) -> c_int {
    driver_entry_point(name, place, version, per_thread_flags(flags), status)
}

/// `cudaMemAdvise` of versions 11 and 12.
pub fn advise(address: Address, bytes: usize, advice: c_int, device: c_int) -> c_int {
    enter(|| current()?.cuMemAdvise(address, bytes, advice, device))
}

/// `cudaMemAdvise` of version 13, and its second version in 12.
pub fn advise_location(address: Address, bytes: usize, advice: c_int, location: Location) -> c_int {
    enter(|| memory::advise(address, bytes, advice, location))
}

/// `cudaMemPrefetchAsync` of versions 11 and 12.
pub fn prefetch(address: Address, bytes: usize, device: c_int, stream: Handle) -> c_int {
    enter(|| current()?.cuMemPrefetchAsync(address, bytes, device, stream))
}

/// `cudaMemPrefetchAsync` of version 13, and its second version in 12.
pub fn prefetch_location(address: Address, bytes: usize, location: Location, flags: c_uint, stream: Handle) -> c_int {
    enter(|| current()?.cuMemPrefetchAsync_v2(address, bytes, location, flags, stream))
}

/// The stream of a caller whose default stream is that of the thread.
pub fn per_thread(stream: Handle) -> Handle {
    Stream(stream).per_thread().0
}

/// `cudaStreamGetCaptureInfo` of versions 11 and 12.
pub fn capture_id(stream: Handle, status: Address, id: Address) -> c_int {
    capture_info(stream, status, id, 0, 0, 0, 0)
}

/// `cudaStreamGetCaptureInfo` of version 13.
pub fn capture_info(
    stream: Handle,
    status: Address,
    id: Address,
    graph: Address,
    nodes: Address,
    edges: Address,
    count: Address,
) -> c_int {
    let (stream, status) = (Stream(stream), Out::at(status));
    enter(|| stream::capture_info(current()?, stream, status, [id, graph, nodes, edges, count]))
}

/// `cudaStreamUpdateCaptureDependencies`; `edges` is null in versions 11 and 12, which lack it.
pub fn update_capture(stream: Handle, nodes: Address, edges: Address, count: usize, flags: c_uint) -> c_int {
    enter(|| {
        let driver = current()?;
        if edges == 0 {
            return driver.cuStreamUpdateCaptureDependencies(stream, nodes, count, flags);
        }
        driver.cuStreamUpdateCaptureDependencies_v2(stream, nodes, edges, count, flags)
    })
}

/// `cudaGraphInstantiate` of version 11: the first node that failed, and a text about it.
pub fn instantiate_11(executable: Address, graph: Handle, node: Address, text: Address, bytes: usize) -> c_int {
    enter(|| {
        Out::<Handle>::at(node).set_unless_null(0)?;
        if bytes > 0 {
            Out::<u8>::at(text).set_unless_null(0)?;
        }
        graph::instantiate(Out::at(executable), graph, 0)
    })
}

/// `cudaGraphInstantiate` from version 12 on.
pub fn instantiate(executable: Address, graph: Handle, flags: u64) -> c_int {
    enter(|| graph::instantiate(Out::at(executable), graph, flags))
}

/// `cudaGraphExecUpdate` of version 11.
pub fn update_graph_11(executable: Handle, graph: Handle, node: Address, result: Address) -> c_int {
    enter(|| graph::update_11(executable, graph, Out::at(node), Out::at(result)))
}

/// `cudaGraphExecUpdate` from version 12 on.
pub fn update_graph(executable: Handle, graph: Handle, result: Address) -> c_int {
    enter(|| graph::update(executable, graph, Out::at(result)))
}

/// `cudaGraphKernelNodeCopyAttributes`: the headers of 13 name the node that gets them first,
/// earlier ones last.
pub fn copy_kernel_attributes(to: Handle, from: Handle) -> c_int {
    enter(|| current()?.cuGraphKernelNodeCopyAttributes(to, from))
}

/// `cudaGraphAddNode`; `edges` is null in version 12, which lacks it.
pub fn add_node(
    node: Address,
    graph: Handle,
    nodes: Address,
    edges: Address,
    count: usize,
    parameters: Address,
) -> c_int {
    enter(|| graph_node::add_node(Out::at(node), graph, nodes, edges, count, parameters))
}

/// `cudaMemcpyBatchAsync`; `failed` is null in version 13, which lacks it.
pub fn copy_batch(to: Address, from: Address, sizes: Address, count: usize, failed: Address, stream: Handle) -> c_int {
    enter(|| batch::copy_batch(to, from, sizes, count, Out::at(failed), Stream(stream)))
}

/// What is done with the edges of a graph.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Edges {
    /// `cudaGraphAddDependencies`.
    Add,
    /// `cudaGraphRemoveDependencies`.
    Remove,
    /// `cudaGraphGetEdges`: the number is a place.
    Get,
}

/// Edges of a graph, with or without data for each.
pub fn graph_edges(what: Edges, graph: Handle, from: Address, to: Address, edges: Address, count: usize) -> c_int {
    enter(|| {
        let driver = current()?;
        if what == Edges::Get {
            Out::<usize>::at(count).ready()?;
        }
        match (what, edges) {
            (Edges::Add, 0) => driver.cuGraphAddDependencies(graph, from, to, count),
            (Edges::Add, _) => driver.cuGraphAddDependencies_v2(graph, from, to, edges, count),
            (Edges::Remove, 0) => driver.cuGraphRemoveDependencies(graph, from, to, count),
            (Edges::Remove, _) => driver.cuGraphRemoveDependencies_v2(graph, from, to, edges, count),
            (Edges::Get, 0) => driver.cuGraphGetEdges(graph, from, to, count),
            (Edges::Get, _) => driver.cuGraphGetEdges_v2(graph, from, to, edges, count),
        }
    })
}

/// `cudaGraphNodeGetDependencies`, with or without data for each.
pub fn nodes_before(node: Handle, nodes: Address, edges: Address, count: Address) -> c_int {
    enter(|| {
        let driver = current()?;
        Out::<usize>::at(count).ready()?;
        match edges {
            0 => driver.cuGraphNodeGetDependencies(node, nodes, count),
            _ => driver.cuGraphNodeGetDependencies_v2(node, nodes, edges, count),
        }
    })
}

/// `cudaGraphNodeGetDependentNodes`, with or without data for each.
pub fn nodes_after(node: Handle, nodes: Address, edges: Address, count: Address) -> c_int {
    enter(|| {
        let driver = current()?;
        Out::<usize>::at(count).ready()?;
        match edges {
            0 => driver.cuGraphNodeGetDependentNodes(node, nodes, count),
            _ => driver.cuGraphNodeGetDependentNodes_v2(node, nodes, edges, count),
        }
    })
}

/// A function that this runtime does not have.
pub fn unsupported(name: &str) -> c_int {
    crate::driver::name_once(format!("{name} is not supported"));
    enter(|| Err(Error::NOT_SUPPORTED))
}

/// Exports C functions, each by a call of the function that it names.
#[doc(hidden)]
#[macro_export]
macro_rules! exports {
    ($(fn $name:ident($($argument:ident: $kind:ty),* $(,)?) = $call:expr;)*) => {
        $(
            // SAFETY: the name belongs to this API, which defines it once.
            #[doc = "The C function of this name."]
            #[unsafe(no_mangle)]
            pub extern "C" fn $name($($argument: $kind),*) -> std::ffi::c_int {
                $call
            }
        )*
    };
}

/// Exports the functions of a major version that differ from those of another one.
#[macro_export]
macro_rules! runtime {
    (11) => {
        #[allow(unused_imports, reason = "the numbers of C")]
        use std::ffi::{c_int, c_uint};
        use $crate::versioned as runtime;

        $crate::runtime!(common 11080);
        $crate::runtime!(without_edges);
        $crate::exports! {
            fn cudaGetDeviceProperties(place: usize, device: c_int)
                = runtime::properties_11(place, device);
            fn cudaFuncGetAttributes(place: usize, kernel: usize)
                = runtime::function_attributes_11(place, kernel);
            fn cudaCreateTextureObject(object: usize, resource: usize, how: usize, view: usize)
                = runtime::create_texture_11(object, resource, how, view);
            fn cudaGetTextureObjectTextureDesc(place: usize, object: u64)
                = runtime::texture_11(place, object);
            fn cudaGetDriverEntryPoint(name: usize, place: usize, flags: u64)
                = runtime::driver_entry_point(name, place, 11080, flags, 0);
            fn cudaGetDriverEntryPoint_ptsz(name: usize, place: usize, flags: u64)
                = runtime::driver_entry_point_per_thread(name, place, 11080, flags, 0);
            fn cudaGraphInstantiate(
                executable: usize, graph: usize, node: usize, text: usize, bytes: usize,
            ) = runtime::instantiate_11(executable, graph, node, text, bytes);
            fn cudaGraphExecUpdate(executable: usize, graph: usize, node: usize, result: usize)
                = runtime::update_graph_11(executable, graph, node, result);
            fn cudaGraphAddNode(
                node: usize, graph: usize, nodes: usize, count: usize, parameters: usize,
            ) = runtime::add_node(node, graph, nodes, 0, count, parameters);
        }
    };
    (12) => {
        use std::ffi::{c_int, c_uint};
        use $crate::versioned as runtime;

        $crate::runtime!(common 12090);
        $crate::runtime!(without_edges);
        $crate::runtime!(since_12 12090);
        $crate::exports! {
            fn cudaGetDeviceProperties(place: usize, device: c_int)
                = runtime::properties_11(place, device);
            fn cudaGraphAddNode(
                node: usize, graph: usize, nodes: usize, count: usize, parameters: usize,
            ) = runtime::add_node(node, graph, nodes, 0, count, parameters);
        }
    };
    (13) => {
        use std::ffi::{c_int, c_uint};
        use $crate::versioned as runtime;

        $crate::runtime!(common 13000);
        $crate::runtime!(since_12 13000);
        $crate::exports! {
            fn cudaGetDeviceProperties(place: usize, device: c_int)
                = runtime::properties_13(place, device);
            fn cudaMemcpyBatchAsync(
                to: usize, from: usize, sizes: usize, count: usize, _attributes: usize,
                _indices: usize, _number: usize, stream: usize,
            ) = runtime::copy_batch(to, from, sizes, count, 0, stream);
            fn cudaMemcpyBatchAsync_ptsz(
                to: usize, from: usize, sizes: usize, count: usize, _attributes: usize,
                _indices: usize, _number: usize, stream: usize,
            ) = runtime::copy_batch(to, from, sizes, count, 0, runtime::per_thread(stream));
            fn cudaMemAdvise(
                address: usize, bytes: usize, advice: c_int, location: runtime::Location,
            ) = runtime::advise_location(address, bytes, advice, location);
            fn cudaMemPrefetchAsync(
                address: usize, bytes: usize, location: runtime::Location, flags: c_uint,
                stream: usize,
            ) = runtime::prefetch_location(address, bytes, location, flags, stream);
            fn cudaMemPrefetchAsync_ptsz(
                address: usize, bytes: usize, location: runtime::Location, flags: c_uint,
                stream: usize,
            ) = runtime::prefetch_location(
                address, bytes, location, flags, runtime::per_thread(stream),
            );
            fn cudaStreamGetCaptureInfo(
                stream: usize, status: usize, id: usize, graph: usize, nodes: usize, edges: usize,
                count: usize,
            ) = runtime::capture_info(stream, status, id, graph, nodes, edges, count);
            fn cudaStreamGetCaptureInfo_ptsz(
                stream: usize, status: usize, id: usize, graph: usize, nodes: usize, edges: usize,
                count: usize,
            ) = runtime::capture_info(
                runtime::per_thread(stream), status, id, graph, nodes, edges, count,
            );
            fn cudaStreamUpdateCaptureDependencies(
                stream: usize, nodes: usize, edges: usize, count: usize, flags: c_uint,
            ) = runtime::update_capture(stream, nodes, edges, count, flags);
            fn cudaStreamUpdateCaptureDependencies_ptsz(
                stream: usize, nodes: usize, edges: usize, count: usize, flags: c_uint,
            ) = runtime::update_capture(runtime::per_thread(stream), nodes, edges, count, flags);
            fn cudaGraphKernelNodeCopyAttributes(to: usize, from: usize)
                = runtime::copy_kernel_attributes(to, from);
            fn cudaGraphAddNode(
                node: usize, graph: usize, nodes: usize, edges: usize, count: usize,
                parameters: usize,
            ) = runtime::add_node(node, graph, nodes, edges, count, parameters);
            fn cudaGraphAddDependencies(
                graph: usize, from: usize, to: usize, edges: usize, count: usize,
            ) = runtime::graph_edges(runtime::Edges::Add, graph, from, to, edges, count);
            fn cudaGraphRemoveDependencies(
                graph: usize, from: usize, to: usize, edges: usize, count: usize,
            ) = runtime::graph_edges(runtime::Edges::Remove, graph, from, to, edges, count);
            fn cudaGraphGetEdges(graph: usize, from: usize, to: usize, edges: usize, count: usize)
                = runtime::graph_edges(runtime::Edges::Get, graph, from, to, edges, count);
            fn cudaGraphNodeGetDependencies(
                node: usize, nodes: usize, edges: usize, count: usize,
            ) = runtime::nodes_before(node, nodes, edges, count);
            fn cudaGraphNodeGetDependentNodes(
                node: usize, nodes: usize, edges: usize, count: usize,
            ) = runtime::nodes_after(node, nodes, edges, count);
        }
    };
    (common $version:literal) => {
        $crate::exports! {
            fn cudaRuntimeGetVersion(place: usize) = runtime::runtime_version(place, $version);
            fn cudaGetDeviceProperties_v2(place: usize, device: c_int)
                = runtime::properties_12(place, device);
            fn cudaCreateTextureObject_v2(object: usize, resource: usize, how: usize, view: usize)
                = runtime::create_texture_12(object, resource, how, view);
            fn cudaGetTextureObjectTextureDesc_v2(place: usize, object: u64)
                = runtime::texture_12(place, object);
            fn cudaMemPrefetchAsync_v2(
                address: usize, bytes: usize, location: runtime::Location, flags: c_uint,
                stream: usize,
            ) = runtime::prefetch_location(address, bytes, location, flags, stream);
            fn cudaMemPrefetchAsync_v2_ptsz(
                address: usize, bytes: usize, location: runtime::Location, flags: c_uint,
                stream: usize,
            ) = runtime::prefetch_location(
                address, bytes, location, flags, runtime::per_thread(stream),
            );
        }
    };
    (since_12 $version:literal) => {
        $crate::exports! {
            fn cudaFuncGetAttributes(place: usize, kernel: usize)
                = runtime::function_attributes_12(place, kernel);
            fn cudaCreateTextureObject(object: usize, resource: usize, how: usize, view: usize)
                = runtime::create_texture_12(object, resource, how, view);
            fn cudaGetTextureObjectTextureDesc(place: usize, object: u64)
                = runtime::texture_12(place, object);
            fn cudaGetDriverEntryPoint(name: usize, place: usize, flags: u64, status: usize)
                = runtime::driver_entry_point(name, place, $version, flags, status);
            fn cudaGetDriverEntryPoint_ptsz(name: usize, place: usize, flags: u64, status: usize)
                = runtime::driver_entry_point_per_thread(name, place, $version, flags, status);
            fn cudaGraphInstantiate(executable: usize, graph: usize, flags: u64)
                = runtime::instantiate(executable, graph, flags);
            fn cudaGraphExecUpdate(executable: usize, graph: usize, result: usize)
                = runtime::update_graph(executable, graph, result);
        }
    };
    (without_edges) => {
        $crate::exports! {
            fn cudaMemcpyBatchAsync(
                to: usize, from: usize, sizes: usize, count: usize, _attributes: usize,
                _indices: usize, _number: usize, failed: usize, stream: usize,
            ) = runtime::copy_batch(to, from, sizes, count, failed, stream);
            fn cudaMemcpyBatchAsync_ptsz(
                to: usize, from: usize, sizes: usize, count: usize, _attributes: usize,
                _indices: usize, _number: usize, failed: usize, stream: usize,
            ) = runtime::copy_batch(to, from, sizes, count, failed, runtime::per_thread(stream));
            fn cudaMemAdvise(address: usize, bytes: usize, advice: c_int, device: c_int)
                = runtime::advise(address, bytes, advice, device);
            fn cudaMemPrefetchAsync(address: usize, bytes: usize, device: c_int, stream: usize)
                = runtime::prefetch(address, bytes, device, stream);
            fn cudaMemPrefetchAsync_ptsz(
                address: usize, bytes: usize, device: c_int, stream: usize,
            ) = runtime::prefetch(address, bytes, device, runtime::per_thread(stream));
            fn cudaStreamGetCaptureInfo(stream: usize, status: usize, id: usize)
                = runtime::capture_id(stream, status, id);
            fn cudaStreamGetCaptureInfo_ptsz(stream: usize, status: usize, id: usize)
                = runtime::capture_id(runtime::per_thread(stream), status, id);
            fn cudaStreamUpdateCaptureDependencies(
                stream: usize, nodes: usize, count: usize, flags: c_uint,
            ) = runtime::update_capture(stream, nodes, 0, count, flags);
            fn cudaStreamUpdateCaptureDependencies_ptsz(
                stream: usize, nodes: usize, count: usize, flags: c_uint,
            ) = runtime::update_capture(runtime::per_thread(stream), nodes, 0, count, flags);
            fn cudaGraphKernelNodeCopyAttributes(from: usize, to: usize)
                = runtime::copy_kernel_attributes(to, from);
            fn cudaGraphAddDependencies(graph: usize, from: usize, to: usize, count: usize)
                = runtime::graph_edges(runtime::Edges::Add, graph, from, to, 0, count);
            fn cudaGraphRemoveDependencies(graph: usize, from: usize, to: usize, count: usize)
                = runtime::graph_edges(runtime::Edges::Remove, graph, from, to, 0, count);
            fn cudaGraphGetEdges(graph: usize, from: usize, to: usize, count: usize)
                = runtime::graph_edges(runtime::Edges::Get, graph, from, to, 0, count);
            fn cudaGraphNodeGetDependencies(node: usize, nodes: usize, count: usize)
                = runtime::nodes_before(node, nodes, 0, count);
            fn cudaGraphNodeGetDependentNodes(node: usize, nodes: usize, count: usize)
                = runtime::nodes_after(node, nodes, 0, count);
        }
    };
}

//! Graphs: their edges, instantiation, updates, launches, and objects that they keep.

use std::ffi::{c_int, c_uint};

use crate::address::{Address, Handle, In, Out, Stream, readable};
use crate::api::api;
use crate::context::current;
use crate::driver::{into, out};
use crate::error::{Error, Result};

/// `cudaGraphInstantiateParams`, which is the driver's structure too.
type InstantiateParameters = [u64; 4];

/// Updates an executable graph. `result` is the driver's structure: result, node, node before it.
pub fn update(executable: Handle, graph: Handle, result: Out<[u64; 3]>) -> Result<()> {
    let driver = current()?;
    result.ready()?;
    driver.cuGraphExecUpdate_v2(executable, graph, result.0)
}

/// The same with the results of version 11.
pub fn update_11(executable: Handle, graph: Handle, node: Out<Handle>, result: Out<c_int>) -> Result<()> {
    let driver = current()?;
    let mut info = [0_u64; 3];
    let place = into(&mut info);
    let outcome = driver.cuGraphExecUpdate_v2(executable, graph, place);
    // The first field is an enumeration: its low half, whatever follows it.
    let low = u32::try_from(info[0] & u64::from(u32::MAX)).unwrap_or(0);
    result.set_unless_null(low.cast_signed())?;
    node.set_unless_null(usize::try_from(info[1]).unwrap_or(0))?;
    outcome
}

/// Instantiates a graph.
pub fn instantiate(executable: Out<Handle>, graph: Handle, flags: u64) -> Result<()> {
    let driver = current()?;
    executable.ready()?;
    executable.set(out(|place| driver.cuGraphInstantiateWithFlags(place, graph, flags))?)
}

/// The nodes of a graph, or those before or after a node: both have this form in the driver.
fn list(nodes: Address, count: Out<usize>, get: impl FnOnce(Address, Address) -> Result<()>) -> Result<()> {
    let room = count.ready()?.get()?;
    if nodes != 0 {
        let bytes = room.checked_mul(size_of::<Handle>()).ok_or(Error::INVALID_VALUE)?;
        if bytes > 0 {
            readable(nodes, bytes)?;
        }
    }
    get(nodes, count.0)
}

api! {
    fn cudaGraphCreate(graph: Out<Handle>, flags: c_uint) = cuGraphCreate;
    fn cudaGraphDestroy(graph: Handle) = cuGraphDestroy;
    fn cudaGraphClone(clone: Out<Handle>, graph: Handle) = cuGraphClone;
    fn cudaGraphDestroyNode(node: Handle) = cuGraphDestroyNode;
    fn cudaGraphExecDestroy(executable: Handle) = cuGraphExecDestroy;
    fn cudaGraphInstantiateWithFlags(executable: Out<Handle>, graph: Handle, flags: u64) {
        instantiate(executable, graph, flags)
    }
    fn cudaGraphInstantiateWithParams | cudaGraphInstantiateWithParams_ptsz(
        executable: Out<Handle>,
        graph: Handle,
        parameters: Out<InstantiateParameters>,
    ) = cuGraphInstantiateWithParams;
    fn cudaGraphExecGetFlags(executable: Handle, flags: Out<u64>) = cuGraphExecGetFlags;
    fn cudaGraphUpload | cudaGraphUpload_ptsz(executable: Handle, stream: Stream) = cuGraphUpload;
    fn cudaGraphLaunch | cudaGraphLaunch_ptsz(executable: Handle, stream: Stream) = cuGraphLaunch;
    fn cudaGraphDebugDotPrint(graph: Handle, path: In<u8>, flags: c_uint) = cuGraphDebugDotPrint;
    fn cudaGraphNodeFindInClone(node: Out<Handle>, original: Handle, clone: Handle)
        = cuGraphNodeFindInClone;
    fn cudaGraphNodeGetType(node: Handle, kind: Out<c_int>) = cuGraphNodeGetType;
    fn cudaGraphNodeSetEnabled(executable: Handle, node: Handle, enabled: c_uint)
        = cuGraphNodeSetEnabled;
    fn cudaGraphNodeGetEnabled(executable: Handle, node: Handle, enabled: Out<c_uint>)
        = cuGraphNodeGetEnabled;

    fn cudaGraphGetNodes(graph: Handle, nodes: Address, count: Out<usize>) {
        let driver = current()?;
        list(nodes, count, |nodes, count| driver.cuGraphGetNodes(graph, nodes, count))
    }

    fn cudaGraphGetRootNodes(graph: Handle, nodes: Address, count: Out<usize>) {
        let driver = current()?;
        list(nodes, count, |nodes, count| driver.cuGraphGetRootNodes(graph, nodes, count))
    }

    fn cudaUserObjectCreate(
        object: Out<Handle>,
        data: Address,
        destroy: Address,
        references: c_uint,
        flags: c_uint,
    ) = cuUserObjectCreate;
    fn cudaUserObjectRetain(object: Handle, count: c_uint) = cuUserObjectRetain;
    fn cudaUserObjectRelease(object: Handle, count: c_uint) = cuUserObjectRelease;
    fn cudaGraphRetainUserObject(graph: Handle, object: Handle, count: c_uint, flags: c_uint)
        = cuGraphRetainUserObject;
    fn cudaGraphReleaseUserObject(graph: Handle, object: Handle, count: c_uint)
        = cuGraphReleaseUserObject;
}

// Edges: the second versions carry data for each.
api! {
    fn cudaGraphGetEdges_v2(
        graph: Handle,
        from: Address,
        to: Address,
        edges: Address,
        count: Out<usize>,
    ) = cuGraphGetEdges_v2;
    fn cudaGraphNodeGetDependencies_v2(
        node: Handle,
        nodes: Address,
        edges: Address,
        count: Out<usize>,
    ) = cuGraphNodeGetDependencies_v2;
    fn cudaGraphNodeGetDependentNodes_v2(
        node: Handle,
        nodes: Address,
        edges: Address,
        count: Out<usize>,
    ) = cuGraphNodeGetDependentNodes_v2;
    fn cudaGraphAddDependencies_v2(
        graph: Handle,
        from: Address,
        to: Address,
        edges: Address,
        count: usize,
    ) = cuGraphAddDependencies_v2;
    fn cudaGraphRemoveDependencies_v2(
        graph: Handle,
        from: Address,
        to: Address,
        edges: Address,
        count: usize,
    ) = cuGraphRemoveDependencies_v2;
}

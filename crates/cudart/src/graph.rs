//! Graphs: their edges, instantiation, updates, launches, and objects that they keep.

use std::ffi::{c_int, c_uint};

use crate::api::api;
use crate::argument::{Argument, In, Out, Stream};
use crate::context::current;
use crate::driver::into;
use crate::error::{Error, Result};
use cabi::address::{Address, Handle, readable};

/// `cudaGraphInstantiateParams`, which is the driver's structure too.
type InstantiateParameters = [u64; 4];

/// `cudaGraphExecUpdate` of version 11, whose results are the node and the result of the driver's structure.
pub fn update_11(executable: Handle, graph: Handle, node: Out<Handle>, result: Out<c_int>) -> Result<()> {
    let driver = current()?;
    let mut info = [0_u64; 3];
    let outcome = driver.cuGraphExecUpdate_v2(executable, graph, into(&mut info));
    // The first field is an enumeration: the low half of the word.
    let low = u32::try_from(info[0] & u64::from(u32::MAX)).unwrap_or(0);
    result.set_unless_null(low.cast_signed())?;
    node.set_unless_null(usize::try_from(info[1]).unwrap_or(0))?;
    outcome
}

/// `cudaGraphInstantiate` of version 11: the first node that failed, and a text about it.
pub fn instantiate_11(
    executable: Out<Handle>,
    graph: Handle,
    node: Out<Handle>,
    text: Out<u8>,
    bytes: usize,
) -> Result<()> {
    let driver = current()?;
    node.set_unless_null(0)?;
    if bytes > 0 {
        text.set_unless_null(0)?;
    }
    executable.receive(|place| driver.cuGraphInstantiateWithFlags(place, graph, 0))
}

/// Lists the nodes of a graph; `nodes` has room for the number at `count`, or is null.
fn list(nodes: Address, count: Out<usize>, get: impl FnOnce(Address) -> Result<()>) -> Result<()> {
    let room = In::<usize>::at(count.raw()?).get()?;
    let bytes = room.checked_mul(size_of::<Handle>()).ok_or(Error::INVALID_VALUE)?;
    if nodes != 0 && bytes > 0 {
        readable(nodes, bytes)?;
    }
    get(count.0)
}

api! {
    fn cudaGraphCreate(graph: Out<Handle>, flags: c_uint) = cuGraphCreate;
    fn cudaGraphDestroy(graph: Handle) = cuGraphDestroy;
    fn cudaGraphClone(clone: Out<Handle>, graph: Handle) = cuGraphClone;
    fn cudaGraphDestroyNode(node: Handle) = cuGraphDestroyNode;
    fn cudaGraphExecDestroy(executable: Handle) = cuGraphExecDestroy;
    fn cudaGraphInstantiateWithFlags(executable: Out<Handle>, graph: Handle, flags: u64) = cuGraphInstantiateWithFlags;
    fn cudaGraphInstantiateWithParams | cudaGraphInstantiateWithParams_ptsz(
        executable: Out<Handle>, graph: Handle, parameters: Out<InstantiateParameters>,
    ) = cuGraphInstantiateWithParams;
    fn cudaGraphExecGetFlags(executable: Handle, flags: Out<u64>) = cuGraphExecGetFlags;
    fn cudaGraphUpload | cudaGraphUpload_ptsz(executable: Handle, stream: Stream) = cuGraphUpload;
    fn cudaGraphLaunch | cudaGraphLaunch_ptsz(executable: Handle, stream: Stream) = cuGraphLaunch;
    fn cudaGraphDebugDotPrint(graph: Handle, path: In<u8>, flags: c_uint) = cuGraphDebugDotPrint;
    fn cudaGraphNodeFindInClone(node: Out<Handle>, original: Handle, clone: Handle) = cuGraphNodeFindInClone;
    fn cudaGraphNodeGetType(node: Handle, kind: Out<c_int>) = cuGraphNodeGetType;
    fn cudaGraphNodeSetEnabled(executable: Handle, node: Handle, enabled: c_uint) = cuGraphNodeSetEnabled;
    fn cudaGraphNodeGetEnabled(executable: Handle, node: Handle, enabled: Out<c_uint>) = cuGraphNodeGetEnabled;

    fn cudaGraphGetNodes(graph: Handle, nodes: Address, count: Out<usize>) {
        let driver = current()?;
        list(nodes, count, |count| driver.cuGraphGetNodes(graph, nodes, count))
    }

    fn cudaGraphGetRootNodes(graph: Handle, nodes: Address, count: Out<usize>) {
        let driver = current()?;
        list(nodes, count, |count| driver.cuGraphGetRootNodes(graph, nodes, count))
    }

    fn cudaUserObjectCreate(
        object: Out<Handle>, data: Address, destroy: Address, references: c_uint, flags: c_uint,
    ) = cuUserObjectCreate;
    fn cudaUserObjectRetain(object: Handle, count: c_uint) = cuUserObjectRetain;
    fn cudaUserObjectRelease(object: Handle, count: c_uint) = cuUserObjectRelease;
    fn cudaGraphRetainUserObject(graph: Handle, object: Handle, count: c_uint, flags: c_uint) = cuGraphRetainUserObject;
    fn cudaGraphReleaseUserObject(graph: Handle, object: Handle, count: c_uint) = cuGraphReleaseUserObject;
}

// Edges: the second versions have data for each.
api! {
    fn cudaGraphGetEdges_v2(graph: Handle, from: Address, to: Address, edges: Address, count: Out<usize>)
        = cuGraphGetEdges_v2;
    fn cudaGraphNodeGetDependencies_v2(node: Handle, nodes: Address, edges: Address, count: Out<usize>)
        = cuGraphNodeGetDependencies_v2;
    fn cudaGraphNodeGetDependentNodes_v2(node: Handle, nodes: Address, edges: Address, count: Out<usize>)
        = cuGraphNodeGetDependentNodes_v2;
    fn cudaGraphAddDependencies_v2(graph: Handle, from: Address, to: Address, edges: Address, count: usize)
        = cuGraphAddDependencies_v2;
    fn cudaGraphRemoveDependencies_v2(graph: Handle, from: Address, to: Address, edges: Address, count: usize)
        = cuGraphRemoveDependencies_v2;
}

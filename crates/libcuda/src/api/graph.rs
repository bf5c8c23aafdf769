//! Graphs: nodes, dependences, objects of the program.
//!
//! Layouts of structures are as in cuda.h: offsets of their fields are next to each use.

use crate::api;
use crate::api::node::{KernelForm, allocation_bytes, check_edges, of_union, put_params, task_of};
use crate::values::{get, get_text, get_u64, put, put_bytes, put_new};
use cuda::graph::{Task, kind};
use cuda::work::{Call, Work};
use cuda::{Driver, Error, Result};

/// A list of handles in the program's memory.
pub fn handles(driver: &Driver, list: u64, count: u64) -> Result<Vec<u64>> {
    if count > 0 && (list == 0 || count > MOST_HANDLES) {
        return Err(Error::INVALID_VALUE);
    }
    (0..count).map(|i| get_u64(driver, list + 8 * i)).collect()
}

/// Maximum number of handles in a list.
const MOST_HANDLES: u64 = 1 << 24;

/// Writes as much of a list as the program has room for, and its length; without a list, only its length.
fn put_list(driver: &Driver, list: u64, count: u64, items: &[u64]) -> Result<()> {
    if count == 0 {
        return Err(Error::INVALID_VALUE);
    }
    if list == 0 {
        return put(driver, count, items.len() as u64);
    }
    let room = get_u64(driver, count)?;
    for at in 0..room.min(MOST_HANDLES) {
        // Entries beyond the list are set to null.
        put(driver, list + 8 * at, items.get(at as usize).copied().unwrap_or(0))?;
    }
    put(driver, count, room.min(items.len() as u64))
}

/// Writes a list of dependences: earlier and later nodes, data of the edges.
fn put_edges(driver: &Driver, lists: [u64; 3], count: u64, edges: &[(u64, u64)]) -> Result<()> {
    let [from, to, data] = lists;
    if count == 0 || (from == 0) != (to == 0) {
        return Err(Error::INVALID_VALUE);
    }
    let room = if from == 0 { edges.len() as u64 } else { get_u64(driver, count)? };
    let room = room.min(edges.len() as u64);
    for (at, &(earlier, later)) in edges.iter().take(room as usize).enumerate() {
        let at = 8 * at as u64;
        if from != 0 {
            put(driver, from + at, earlier)?;
            put(driver, to + at, later)?;
        }
        if data != 0 {
            // All edges mean full completion.
            put(driver, data + at, 0_u64)?;
        }
    }
    put(driver, count, room)
}

/// Pairs of nodes.
fn pairs(driver: &Driver, from: u64, to: u64, count: u64) -> Result<Vec<(u64, u64)>> {
    let (from, to) = (handles(driver, from, count)?, handles(driver, to, count)?);
    Ok(from.into_iter().zip(to).collect())
}

/// Adds a node for `task` after the nodes of a list.
fn add(driver: &mut Driver, node: u64, graph: u64, (list, count): (u64, u64), task: Task) -> Result<()> {
    let after = handles(driver, list, count)?;
    let handle = match task {
        Task::Child(child) => driver.graphs.add_child(&mut driver.memory, graph, &after, child)?,
        Task::Free(address) => driver.graphs.add_free(&mut driver.memory, graph, &after, address)?,
        task => driver.graphs.add(&mut driver.memory, graph, &after, task)?,
    };
    put(driver, node, handle)
}

/// Adds a node of a kind whose parameters are at `params`.
fn add_kind(
    driver: &mut Driver,
    node: u64,
    graph: u64,
    after: (u64, u64),
    kind: u32,
    (params, form): (u64, KernelForm),
) -> Result<()> {
    if node == 0 || params == 0 {
        return Err(Error::INVALID_VALUE);
    }
    driver.graphs.get(graph)?;
    let task = task_of(driver, kind, params, form)?;
    add(driver, node, graph, after, task)
}

/// Adds a node that allocates; its parameters receive the address.
fn add_allocation(driver: &mut Driver, node: u64, graph: u64, (list, count): (u64, u64), params: u64) -> Result<()> {
    if node == 0 || params == 0 {
        return Err(Error::INVALID_VALUE);
    }
    let (bytes, after) = (allocation_bytes(driver, params)?, handles(driver, list, count)?);
    let (handle, address) =
        driver.graphs.add_allocation(&mut driver.platform, &mut driver.memory, graph, &after, bytes)?;
    put(driver, params + ALLOCATION_ADDRESS, address)?;
    put(driver, node, handle)
}

/// Place of the address in `CUDA_MEM_ALLOC_NODE_PARAMS`: after the properties of the pool (88 bytes), the list of
/// accesses, its length, and the size.
const ALLOCATION_ADDRESS: u64 = 112;

/// Adds a node as `CUgraphNodeParams` says.
fn add_any(driver: &mut Driver, node: u64, graph: u64, after: (u64, u64), params: u64) -> Result<()> {
    if node == 0 || params == 0 {
        return Err(Error::INVALID_VALUE);
    }
    let (kind, params) = of_union(driver, params)?;
    match kind {
        kind::ALLOCATE => add_allocation(driver, node, graph, after, params),
        _ => add_kind(driver, node, graph, after, kind, (params, Long)),
    }
}

fn set_kind(driver: &mut Driver, node: u64, kind: u32, params: u64, form: KernelForm) -> Result<()> {
    if params == 0 || driver.graphs.node(node)?.task.kind() != kind {
        return Err(Error::INVALID_VALUE);
    }
    let task = task_of(driver, kind, params, form)?;
    driver.graphs.node_set(&mut driver.memory, node, task)
}

fn get_kind(driver: &mut Driver, node: u64, kind: u32, params: u64, form: KernelForm) -> Result<()> {
    if params == 0 || driver.graphs.node(node)?.task.kind() != kind {
        return Err(Error::INVALID_VALUE);
    }
    put_params(driver, node, params, form)
}

/// A number of an object that no other one of its kind has: the part of its handle with index and generation.
pub fn number(handle: u64) -> u32 {
    (handle >> 4 & 0x0fff_ffff) as u32 | ((handle >> 32 & 0xf) as u32) << 28
}

use KernelForm::{Long, Short};

api! {
    fn cuGraphCreate(graph: u64, flags: u32) |driver| {
        if flags != 0 {
            return Err(Error::INVALID_VALUE);
        }
        put_new(driver, graph, |driver| driver.graphs.create(&driver.platform))
    }

    fn cuGraphDestroy(graph: u64) |driver| { driver.graphs.destroy(&mut driver.platform, &mut driver.memory, graph) }

    fn cuGraphClone(clone: u64, graph: u64) |driver| {
        put_new(driver, clone, |driver| driver.graphs.clone_graph(&mut driver.memory, graph))
    }

    fn cuGraphNodeFindInClone(node: u64, original: u64, clone: u64) |driver| {
        let handle = driver.graphs.node_in_clone(original, clone)?;
        put(driver, node, handle)
    }

    fn cuGraphAddKernelNode(node: u64, graph: u64, after: u64, count: u64, params: u64) |driver| {
        add_kind(driver, node, graph, (after, count), kind::KERNEL, (params, Short))
    }
    fn cuGraphAddKernelNode_v2(node: u64, graph: u64, after: u64, count: u64, params: u64) |driver| {
        add_kind(driver, node, graph, (after, count), kind::KERNEL, (params, Long))
    }
    fn cuGraphAddMemcpyNode(node: u64, graph: u64, after: u64, count: u64, params: u64, _context: u64) |driver| {
        add_kind(driver, node, graph, (after, count), kind::COPY, (params, Short))
    }
    fn cuGraphAddMemsetNode(node: u64, graph: u64, after: u64, count: u64, params: u64, _context: u64) |driver| {
        add_kind(driver, node, graph, (after, count), kind::FILL, (params, Short))
    }
    fn cuGraphAddHostNode(node: u64, graph: u64, after: u64, count: u64, params: u64) |driver| {
        add_kind(driver, node, graph, (after, count), kind::CALL, (params, Short))
    }
    fn cuGraphAddChildGraphNode(node: u64, graph: u64, after: u64, count: u64, child: u64) |driver| {
        add(driver, node, graph, (after, count), Task::Child(child))
    }
    fn cuGraphAddEmptyNode(node: u64, graph: u64, after: u64, count: u64) |driver| {
        add(driver, node, graph, (after, count), Task::Work(Work::Nothing))
    }
    fn cuGraphAddEventRecordNode(node: u64, graph: u64, after: u64, count: u64, event: u64) |driver| {
        driver.streams.event_wait(event, true)?;
        add(driver, node, graph, (after, count), Task::Record(event))
    }
    fn cuGraphAddEventWaitNode(node: u64, graph: u64, after: u64, count: u64, event: u64) |driver| {
        driver.streams.event_wait(event, true)?;
        add(driver, node, graph, (after, count), Task::Wait(event))
    }
    fn cuGraphAddMemAllocNode(node: u64, graph: u64, after: u64, count: u64, params: u64) |driver| {
        add_allocation(driver, node, graph, (after, count), params)
    }
    fn cuGraphAddMemFreeNode(node: u64, graph: u64, after: u64, count: u64, address: u64) |driver| {
        add(driver, node, graph, (after, count), Task::Free(address))
    }
    fn cuGraphAddBatchMemOpNode(node: u64, graph: u64, after: u64, count: u64, params: u64) |driver| {
        add_kind(driver, node, graph, (after, count), kind::VALUES, (params, Long))
    }
    fn cuGraphAddNode(node: u64, graph: u64, after: u64, count: u64, params: u64) |driver| {
        add_any(driver, node, graph, (after, count), params)
    }
    fn cuGraphAddNode_v2(
        node: u64, graph: u64, after: u64, edges: u64, count: u64, params: u64,
    ) = cuGraphAddNode_v3 |driver| {
        check_edges(driver, edges, count)?;
        add_any(driver, node, graph, (after, count), params)
    }

    fn cuGraphAddDependencies(graph: u64, from: u64, to: u64, count: u64) |driver| {
        let pairs = pairs(driver, from, to, count)?;
        driver.graphs.add_dependences(graph, &pairs)
    }
    fn cuGraphAddDependencies_v2(graph: u64, from: u64, to: u64, edges: u64, count: u64) |driver| {
        check_edges(driver, edges, count)?;
        let pairs = pairs(driver, from, to, count)?;
        driver.graphs.add_dependences(graph, &pairs)
    }
    fn cuGraphRemoveDependencies(graph: u64, from: u64, to: u64, count: u64) |driver| {
        let pairs = pairs(driver, from, to, count)?;
        driver.graphs.remove_dependences(graph, &pairs)
    }
    fn cuGraphRemoveDependencies_v2(graph: u64, from: u64, to: u64, _edges: u64, count: u64) |driver| {
        let pairs = pairs(driver, from, to, count)?;
        driver.graphs.remove_dependences(graph, &pairs)
    }

    fn cuGraphGetNodes(graph: u64, nodes: u64, count: u64) |driver| {
        let list = driver.graphs.nodes_of(graph)?;
        put_list(driver, nodes, count, &list)
    }
    fn cuGraphGetRootNodes(graph: u64, nodes: u64, count: u64) |driver| {
        let list = driver.graphs.roots(graph)?;
        put_list(driver, nodes, count, &list)
    }
    fn cuGraphGetEdges(graph: u64, from: u64, to: u64, count: u64) |driver| {
        let edges = driver.graphs.edges(graph)?;
        put_edges(driver, [from, to, 0], count, &edges)
    }
    fn cuGraphGetEdges_v2(graph: u64, from: u64, to: u64, data: u64, count: u64) |driver| {
        let edges = driver.graphs.edges(graph)?;
        put_edges(driver, [from, to, data], count, &edges)
    }
    fn cuGraphNodeGetDependencies(node: u64, nodes: u64, count: u64) |driver| {
        let list = driver.graphs.node(node)?.after.clone();
        put_list(driver, nodes, count, &list)
    }
    fn cuGraphNodeGetDependencies_v2(node: u64, nodes: u64, data: u64, count: u64) |driver| {
        let edges: Vec<(u64, u64)> = driver.graphs.node(node)?.after.iter().map(|&from| (from, from)).collect();
        put_edges(driver, [nodes, nodes, data], count, &edges)
    }
    fn cuGraphNodeGetDependentNodes(node: u64, nodes: u64, count: u64) |driver| {
        let list = driver.graphs.node_followers(node)?;
        put_list(driver, nodes, count, &list)
    }
    fn cuGraphNodeGetDependentNodes_v2(node: u64, nodes: u64, data: u64, count: u64) |driver| {
        let edges: Vec<(u64, u64)> = driver.graphs.node_followers(node)?.into_iter().map(|to| (to, to)).collect();
        put_edges(driver, [nodes, nodes, data], count, &edges)
    }
    fn cuGraphNodeGetType(node: u64, kind: u64) |driver| {
        let value = driver.graphs.node(node)?.task.kind();
        put(driver, kind, value)
    }
    fn cuGraphDestroyNode(node: u64) |driver| {
        driver.graphs.node_destroy(&mut driver.platform, &mut driver.memory, node)
    }

    fn cuGraphKernelNodeGetParams(node: u64, params: u64) |driver| { get_kind(driver, node, kind::KERNEL, params, Short) }
    fn cuGraphKernelNodeGetParams_v2(node: u64, params: u64) |driver| { get_kind(driver, node, kind::KERNEL, params, Long) }
    fn cuGraphKernelNodeSetParams(node: u64, params: u64) |driver| { set_kind(driver, node, kind::KERNEL, params, Short) }
    fn cuGraphKernelNodeSetParams_v2(node: u64, params: u64) |driver| { set_kind(driver, node, kind::KERNEL, params, Long) }
    fn cuGraphMemcpyNodeGetParams(node: u64, params: u64) |driver| { get_kind(driver, node, kind::COPY, params, Short) }
    fn cuGraphMemcpyNodeSetParams(node: u64, params: u64) |driver| { set_kind(driver, node, kind::COPY, params, Short) }
    fn cuGraphMemsetNodeGetParams(node: u64, params: u64) |driver| { get_kind(driver, node, kind::FILL, params, Short) }
    fn cuGraphMemsetNodeSetParams(node: u64, params: u64) |driver| { set_kind(driver, node, kind::FILL, params, Short) }
    fn cuGraphHostNodeGetParams(node: u64, params: u64) |driver| { get_kind(driver, node, kind::CALL, params, Short) }
    fn cuGraphHostNodeSetParams(node: u64, params: u64) |driver| { set_kind(driver, node, kind::CALL, params, Short) }
    fn cuGraphMemAllocNodeGetParams(node: u64, params: u64) |driver| { get_kind(driver, node, kind::ALLOCATE, params, Short) }
    fn cuGraphMemFreeNodeGetParams(node: u64, address: u64) |driver| { get_kind(driver, node, kind::FREE, address, Short) }
    fn cuGraphEventRecordNodeGetEvent(node: u64, event: u64) |driver| { get_kind(driver, node, kind::RECORD, event, Short) }
    fn cuGraphEventWaitNodeGetEvent(node: u64, event: u64) |driver| { get_kind(driver, node, kind::WAIT, event, Short) }
    fn cuGraphEventRecordNodeSetEvent(node: u64, event: u64) |driver| {
        driver.streams.event_wait(event, true)?;
        driver.graphs.node_set(&mut driver.memory, node, Task::Record(event))
    }
    fn cuGraphEventWaitNodeSetEvent(node: u64, event: u64) |driver| {
        driver.streams.event_wait(event, true)?;
        driver.graphs.node_set(&mut driver.memory, node, Task::Wait(event))
    }
    fn cuGraphBatchMemOpNodeSetParams(node: u64, params: u64) |driver| { set_kind(driver, node, kind::VALUES, params, Long) }
    fn cuGraphChildGraphNodeGetGraph(node: u64, graph: u64) |driver| { get_kind(driver, node, kind::GRAPH, graph, Short) }
    fn cuGraphNodeSetParams(node: u64, params: u64) = cuGraphNodeSetParams_v2 |driver| {
        let (kind, params) = of_union(driver, params)?;
        set_kind(driver, node, kind, params, Long)
    }
    fn cuGraphNodeGetParams(node: u64, params: u64) |driver| {
        let kind = driver.graphs.node(node)?.task.kind();
        put(driver, params, kind)?;
        let (_, place) = of_union(driver, params)?;
        if kind == kind::NOTHING { Ok(()) } else { put_params(driver, node, place, Long) }
    }
    fn cuGraphNodeGetContainingGraph(node: u64, graph: u64) |driver| {
        let of = driver.graphs.node(node)?.graph;
        put(driver, graph, of)
    }
    fn cuGraphNodeGetLocalId(node: u64, id: u64) |driver| {
        let graph = driver.graphs.node(node)?.graph;
        let place = driver.graphs.nodes_of(graph)?.iter().position(|&other| other == node).unwrap_or(0);
        put(driver, id, place as u32)
    }
    fn cuGraphGetId(graph: u64, id: u64) |driver| {
        driver.graphs.get(graph)?;
        put(driver, id, number(graph))
    }

    fn cuGraphKernelNodeSetAttribute(node: u64, attribute: u32, value: u64) |driver| {
        let bytes: [u8; 64] = get(driver, value)?;
        driver.graphs.node_set_attribute(&mut driver.platform, &mut driver.memory, node, attribute, bytes.to_vec())
    }
    fn cuGraphKernelNodeGetAttribute(node: u64, attribute: u32, value: u64) |driver| {
        if driver.graphs.node(node)?.task.kind() != kind::KERNEL {
            return Err(Error::INVALID_VALUE);
        }
        let set = driver.graphs.node(node)?.attributes.get(&attribute).cloned().unwrap_or_else(|| vec![0; 64]);
        put_bytes(driver, value, &set)
    }
    fn cuGraphKernelNodeCopyAttributes(to: u64, from: u64) |driver| {
        let attributes = driver.graphs.node(from)?.attributes.clone();
        let Driver { graphs, platform, memory, .. } = driver;
        let mut set = attributes.into_iter();
        set.try_for_each(|(number, value)| graphs.node_set_attribute(platform, memory, to, number, value))
    }

    fn cuUserObjectCreate(object: u64, pointer: u64, destructor: u64, references: u32, flags: u32) |driver| {
        // The only flag says that nobody waits for the destructor; it is required.
        if flags != 1 {
            return Err(Error::INVALID_VALUE);
        }
        let destructor = Call { function: destructor, argument: pointer, stream: None };
        put_new(driver, object, |driver| driver.graphs.user_object_create(&driver.platform, destructor, references))
    }
    fn cuUserObjectRetain(object: u64, count: u32) |driver| { driver.graphs.user_object_retain(object, count) }
    fn cuUserObjectRelease(object: u64, count: u32) |driver| {
        driver.graphs.user_object_release(&mut driver.platform, object, count, &[])
    }
    fn cuGraphRetainUserObject(graph: u64, object: u64, count: u32, flags: u32) |driver| {
        if flags > 1 {
            return Err(Error::INVALID_VALUE);
        }
        driver.graphs.retain_object(graph, object, count, flags == 1)
    }
    fn cuGraphReleaseUserObject(graph: u64, object: u64, count: u32) |driver| {
        driver.graphs.release_object(&mut driver.platform, graph, object, count)
    }

    fn cuDeviceGetGraphMemAttribute(device: i32, attribute: u32, value: u64) |driver| {
        driver.platform.device(device)?;
        if attribute > 3 {
            return Err(Error::INVALID_VALUE);
        }
        let bytes = driver.memory.graph_bytes(device as usize);
        put(driver, value, bytes)
    }
    fn cuDeviceSetGraphMemAttribute(device: i32, attribute: u32, value: u64) |driver| {
        driver.platform.device(device)?;
        // Marks of maximum use can be set to 0.
        let is_mark = matches!(attribute, 1 | 3) && get_u64(driver, value)? == 0;
        if is_mark { Ok(()) } else { Err(Error::INVALID_VALUE) }
    }
    fn cuDeviceGraphMemTrim(device: i32) |driver| { driver.platform.device(device).map(|_| ()) }

    fn cuGraphDebugDotPrint(graph: u64, path: u64, _flags: u32) |driver| {
        let path = get_text(driver, path)?;
        let mut text = String::from("digraph graph_of_cuda {\n");
        for node in driver.graphs.nodes_of(graph)? {
            let kind = driver.graphs.node(node)?.task.kind();
            text.push_str(&format!("\"{node:#x}\" [label=\"{}\"];\n", KINDS[kind as usize]));
        }
        for (from, to) in driver.graphs.edges(graph)? {
            text.push_str(&format!("\"{from:#x}\" -> \"{to:#x}\";\n"));
        }
        text.push_str("}\n");
        kit::output::write(std::path::Path::new(&path), text.as_bytes()).map_err(|_| Error::OPERATING_SYSTEM)
    }
}

/// Names of the kinds of nodes, by number.
const KINDS: [&str; 13] = [
    "kernel",
    "memcpy",
    "memset",
    "host",
    "graph",
    "empty",
    "event wait",
    "event record",
    "signal",
    "wait",
    "alloc",
    "free",
    "memory operations",
];

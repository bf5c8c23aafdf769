//! Nodes of graphs: kernels, copies, fills, host functions, child graphs, events, memory.

use std::ffi::c_int;

use crate::address::{Address, Handle, In, Out, plain, read, readable};
use crate::api::api;
use crate::context::{current, current_context};
use crate::driver::{Driver, at, out};
use crate::error::{Error, Result};
use crate::launch::{DriverKernelNode, KernelNode, kernel_node};
use crate::stream::AttributeValue;
use crate::transfer::{Copy3D, Transfer};
use crate::{registry, symbol};

/// `cudaMemsetParams`, which is the driver's structure too.
type FillNode = [u64; 5];
/// `cudaHostNodeParams`: function and data.
type HostNode = [u64; 2];
/// `cudaMemAllocNodeParams`, which is the driver's structure too.
type AllocNode = [u64; 15];
/// Bytes of `cudaGraphEdgeData`; all zero for an ordinary dependency.
const EDGE_BYTES: usize = 8;

/// Nodes that a new node depends on.
#[derive(Clone, Copy)]
struct Dependencies {
    nodes: Address,
    count: usize,
}

impl Dependencies {
    fn ready(self) -> Result<Self> {
        let bytes = self.count.checked_mul(size_of::<Handle>()).ok_or(Error::INVALID_VALUE)?;
        if bytes > 0 {
            readable(self.nodes, bytes)?;
        }
        Ok(self)
    }
}

/// Where the new node goes: its graph and what it depends on.
#[derive(Clone, Copy)]
struct Place {
    node: Out<Handle>,
    graph: Handle,
    after: Dependencies,
}

impl Place {
    fn new(node: Out<Handle>, graph: Handle, nodes: Address, count: usize) -> Result<Self> {
        let after = Dependencies { nodes, count }.ready()?;
        Ok(Self { node: node.ready()?, graph, after })
    }

    fn kernel(self, parameters: Address) -> Result<()> {
        let (driver, node) = kernel_node(parameters)?;
        let Dependencies { nodes, count } = self.after;
        driver.cuGraphAddKernelNode_v2(self.node.0, self.graph, nodes, count, at(&node))
    }

    fn copy(self, transfer: &Transfer) -> Result<()> {
        let (driver, context) = current_context()?;
        let Dependencies { nodes, count } = self.after;
        driver.cuGraphAddMemcpyNode(self.node.0, self.graph, nodes, count, at(transfer), context)
    }

    fn fill(self, parameters: Address) -> Result<()> {
        let (driver, context) = current_context()?;
        let parameters: FillNode = read(parameters)?;
        let Dependencies { nodes, count } = self.after;
        let parameters = at(&parameters);
        driver.cuGraphAddMemsetNode(self.node.0, self.graph, nodes, count, parameters, context)
    }

    fn host(self, parameters: Address) -> Result<()> {
        let parameters: HostNode = read(parameters)?;
        let Dependencies { nodes, count } = self.after;
        current()?.cuGraphAddHostNode(self.node.0, self.graph, nodes, count, at(&parameters))
    }

    fn child(self, child: Handle) -> Result<()> {
        let Dependencies { nodes, count } = self.after;
        current()?.cuGraphAddChildGraphNode(self.node.0, self.graph, nodes, count, child)
    }

    fn empty(self) -> Result<()> {
        let Dependencies { nodes, count } = self.after;
        current()?.cuGraphAddEmptyNode(self.node.0, self.graph, nodes, count)
    }

    fn record(self, event: Handle) -> Result<()> {
        let Dependencies { nodes, count } = self.after;
        current()?.cuGraphAddEventRecordNode(self.node.0, self.graph, nodes, count, event)
    }

    fn wait(self, event: Handle) -> Result<()> {
        let Dependencies { nodes, count } = self.after;
        current()?.cuGraphAddEventWaitNode(self.node.0, self.graph, nodes, count, event)
    }

    fn allocate(self, parameters: Address) -> Result<()> {
        Out::<AllocNode>::at(parameters).ready()?;
        let Dependencies { nodes, count } = self.after;
        current()?.cuGraphAddMemAllocNode(self.node.0, self.graph, nodes, count, parameters)
    }

    fn free(self, address: Address) -> Result<()> {
        let Dependencies { nodes, count } = self.after;
        current()?.cuGraphAddMemFreeNode(self.node.0, self.graph, nodes, count, address)
    }
}

fn transfer(copy: Address) -> Result<(&'static Driver, Transfer)> {
    let driver = current()?;
    let copy: Copy3D = read(copy)?;
    Ok((driver, Transfer::of(&copy, driver)?))
}

/// `cudaGraphNodeParams` as far as it is read: the kind, and where the parameters are.
#[repr(C)]
#[derive(Clone, Copy)]
struct AnyNode {
    kind: c_int,
    reserved: [c_int; 3],
    first: u64,
}
plain!(AnyNode);

/// Where the parameters of a node of any kind start, and those of a copy.
const PARAMETERS: usize = 16;
const COPY_PARAMETERS: usize = 32;

/// Adds a node of any kind. Edges other than ordinary dependencies are not supported.
pub fn add_node(
    node: Out<Handle>,
    graph: Handle,
    dependencies: Address,
    edges: Address,
    count: usize,
    parameters: Address,
) -> Result<()> {
    let any: AnyNode = read(parameters)?;
    ordinary(edges, count)?;
    let place = Place::new(node, graph, dependencies, count)?;
    let first = usize::try_from(any.first).map_err(|_| Error::INVALID_VALUE)?;
    let of_kind = parameters.wrapping_add(PARAMETERS);
    match any.kind {
        0 => place.kernel(of_kind),
        1 => place.copy(&transfer(parameters.wrapping_add(COPY_PARAMETERS))?.1),
        2 => place.fill(of_kind),
        3 => place.host(of_kind),
        4 => place.child(first),
        5 => place.empty(),
        6 => place.wait(first),
        7 => place.record(first),
        10 => place.allocate(of_kind),
        11 => place.free(first),
        _ => Err(Error::NOT_SUPPORTED),
    }
}

/// Refuses edges that are more than a dependency.
fn ordinary(edges: Address, count: usize) -> Result<()> {
    if edges == 0 {
        return Ok(());
    }
    for index in 0..count {
        if read::<u64>(edges.wrapping_add(index * EDGE_BYTES))? != 0 {
            return Err(Error::NOT_SUPPORTED);
        }
    }
    Ok(())
}

api! {
    fn cudaGraphAddNode_v2(
        node: Out<Handle>,
        graph: Handle,
        dependencies: Address,
        edges: Address,
        count: usize,
        parameters: Address,
    ) {
        add_node(node, graph, dependencies, edges, count, parameters)
    }
}

// Kernels.
api! {
    fn cudaGraphAddKernelNode(
        node: Out<Handle>,
        graph: Handle,
        dependencies: Address,
        count: usize,
        parameters: Address,
    ) {
        Place::new(node, graph, dependencies, count)?.kernel(parameters)
    }

    fn cudaGraphKernelNodeGetParams(node: Handle, parameters: Out<KernelNode>) {
        let driver = current()?;
        let found: DriverKernelNode =
            out(|place| driver.cuGraphKernelNodeGetParams_v2(node, place))?;
        let mut described = found.node;
        described.kernel = registry::kernel_of(described.kernel).unwrap_or(described.kernel);
        parameters.set(described)
    }

    fn cudaGraphKernelNodeSetParams(node: Handle, parameters: Address) {
        let (driver, parameters) = kernel_node(parameters)?;
        driver.cuGraphKernelNodeSetParams_v2(node, at(&parameters))
    }

    fn cudaGraphExecKernelNodeSetParams(executable: Handle, node: Handle, parameters: Address) {
        let (driver, parameters) = kernel_node(parameters)?;
        driver.cuGraphExecKernelNodeSetParams_v2(executable, node, at(&parameters))
    }

    fn cudaGraphKernelNodeGetAttribute(
        node: Handle,
        attribute: c_int,
        value: Out<AttributeValue>,
    ) = cuGraphKernelNodeGetAttribute;
    fn cudaGraphKernelNodeSetAttribute(
        node: Handle,
        attribute: c_int,
        value: In<AttributeValue>,
    ) = cuGraphKernelNodeSetAttribute;
}

// Copies.
api! {
    fn cudaGraphAddMemcpyNode(
        node: Out<Handle>,
        graph: Handle,
        dependencies: Address,
        count: usize,
        parameters: Address,
    ) {
        let (_, transfer) = transfer(parameters)?;
        Place::new(node, graph, dependencies, count)?.copy(&transfer)
    }

    fn cudaGraphAddMemcpyNode1D(
        node: Out<Handle>,
        graph: Handle,
        dependencies: Address,
        count: usize,
        to: Address,
        from: Address,
        bytes: usize,
        kind: c_int,
    ) {
        let transfer = Transfer::line(to, from, bytes, kind)?;
        Place::new(node, graph, dependencies, count)?.copy(&transfer)
    }

    fn cudaGraphAddMemcpyNodeToSymbol(
        node: Out<Handle>,
        graph: Handle,
        dependencies: Address,
        count: usize,
        symbol: Address,
        from: Address,
        bytes: usize,
        offset: usize,
        kind: c_int,
    ) {
        let transfer = Transfer::line(symbol::part(symbol, offset, bytes)?, from, bytes, kind)?;
        Place::new(node, graph, dependencies, count)?.copy(&transfer)
    }

    fn cudaGraphAddMemcpyNodeFromSymbol(
        node: Out<Handle>,
        graph: Handle,
        dependencies: Address,
        count: usize,
        to: Address,
        symbol: Address,
        bytes: usize,
        offset: usize,
        kind: c_int,
    ) {
        let transfer = Transfer::line(to, symbol::part(symbol, offset, bytes)?, bytes, kind)?;
        Place::new(node, graph, dependencies, count)?.copy(&transfer)
    }

    fn cudaGraphMemcpyNodeGetParams(node: Handle, parameters: Out<Copy3D>) {
        let driver = current()?;
        let found: Transfer = out(|place| driver.cuGraphMemcpyNodeGetParams(node, place))?;
        parameters.set(found.to_runtime(driver)?)
    }

    fn cudaGraphMemcpyNodeSetParams(node: Handle, parameters: Address) {
        let (driver, transfer) = transfer(parameters)?;
        driver.cuGraphMemcpyNodeSetParams(node, at(&transfer))
    }

    fn cudaGraphMemcpyNodeSetParams1D(
        node: Handle,
        to: Address,
        from: Address,
        bytes: usize,
        kind: c_int,
    ) {
        let transfer = Transfer::line(to, from, bytes, kind)?;
        current()?.cuGraphMemcpyNodeSetParams(node, at(&transfer))
    }

    fn cudaGraphMemcpyNodeSetParamsToSymbol(
        node: Handle,
        symbol: Address,
        from: Address,
        bytes: usize,
        offset: usize,
        kind: c_int,
    ) {
        let transfer = Transfer::line(symbol::part(symbol, offset, bytes)?, from, bytes, kind)?;
        current()?.cuGraphMemcpyNodeSetParams(node, at(&transfer))
    }

    fn cudaGraphMemcpyNodeSetParamsFromSymbol(
        node: Handle,
        to: Address,
        symbol: Address,
        bytes: usize,
        offset: usize,
        kind: c_int,
    ) {
        let transfer = Transfer::line(to, symbol::part(symbol, offset, bytes)?, bytes, kind)?;
        current()?.cuGraphMemcpyNodeSetParams(node, at(&transfer))
    }

    fn cudaGraphExecMemcpyNodeSetParams(executable: Handle, node: Handle, parameters: Address) {
        set_copy(executable, node, &transfer(parameters)?.1)
    }

    fn cudaGraphExecMemcpyNodeSetParams1D(
        executable: Handle,
        node: Handle,
        to: Address,
        from: Address,
        bytes: usize,
        kind: c_int,
    ) {
        set_copy(executable, node, &Transfer::line(to, from, bytes, kind)?)
    }

    fn cudaGraphExecMemcpyNodeSetParamsToSymbol(
        executable: Handle,
        node: Handle,
        symbol: Address,
        from: Address,
        bytes: usize,
        offset: usize,
        kind: c_int,
    ) {
        let to = symbol::part(symbol, offset, bytes)?;
        set_copy(executable, node, &Transfer::line(to, from, bytes, kind)?)
    }

    fn cudaGraphExecMemcpyNodeSetParamsFromSymbol(
        executable: Handle,
        node: Handle,
        to: Address,
        symbol: Address,
        bytes: usize,
        offset: usize,
        kind: c_int,
    ) {
        let from = symbol::part(symbol, offset, bytes)?;
        set_copy(executable, node, &Transfer::line(to, from, bytes, kind)?)
    }
}

fn set_copy(executable: Handle, node: Handle, transfer: &Transfer) -> Result<()> {
    let (driver, context) = current_context()?;
    driver.cuGraphExecMemcpyNodeSetParams(executable, node, at(transfer), context)
}

fn set_fill(executable: Handle, node: Handle, parameters: Address) -> Result<()> {
    let (driver, context) = current_context()?;
    let parameters: FillNode = read(parameters)?;
    driver.cuGraphExecMemsetNodeSetParams(executable, node, at(&parameters), context)
}

// Fills, host functions, child graphs, events, memory.
api! {
    fn cudaGraphAddMemsetNode(
        node: Out<Handle>,
        graph: Handle,
        dependencies: Address,
        count: usize,
        parameters: Address,
    ) {
        Place::new(node, graph, dependencies, count)?.fill(parameters)
    }

    fn cudaGraphMemsetNodeGetParams(node: Handle, parameters: Out<FillNode>)
        = cuGraphMemsetNodeGetParams;
    fn cudaGraphMemsetNodeSetParams(node: Handle, parameters: In<FillNode>)
        = cuGraphMemsetNodeSetParams;
    fn cudaGraphExecMemsetNodeSetParams(executable: Handle, node: Handle, parameters: Address) {
        set_fill(executable, node, parameters)
    }

    fn cudaGraphAddHostNode(
        node: Out<Handle>,
        graph: Handle,
        dependencies: Address,
        count: usize,
        parameters: Address,
    ) {
        Place::new(node, graph, dependencies, count)?.host(parameters)
    }

    fn cudaGraphHostNodeGetParams(node: Handle, parameters: Out<HostNode>)
        = cuGraphHostNodeGetParams;
    fn cudaGraphHostNodeSetParams(node: Handle, parameters: In<HostNode>)
        = cuGraphHostNodeSetParams;
    fn cudaGraphExecHostNodeSetParams(
        executable: Handle,
        node: Handle,
        parameters: In<HostNode>,
    ) = cuGraphExecHostNodeSetParams;

    fn cudaGraphAddChildGraphNode(
        node: Out<Handle>,
        graph: Handle,
        dependencies: Address,
        count: usize,
        child: Handle,
    ) {
        Place::new(node, graph, dependencies, count)?.child(child)
    }

    fn cudaGraphChildGraphNodeGetGraph(node: Handle, graph: Out<Handle>)
        = cuGraphChildGraphNodeGetGraph;
    fn cudaGraphExecChildGraphNodeSetParams(executable: Handle, node: Handle, child: Handle)
        = cuGraphExecChildGraphNodeSetParams;

    fn cudaGraphAddEmptyNode(
        node: Out<Handle>,
        graph: Handle,
        dependencies: Address,
        count: usize,
    ) {
        Place::new(node, graph, dependencies, count)?.empty()
    }

    fn cudaGraphAddEventRecordNode(
        node: Out<Handle>,
        graph: Handle,
        dependencies: Address,
        count: usize,
        event: Handle,
    ) {
        Place::new(node, graph, dependencies, count)?.record(event)
    }

    fn cudaGraphEventRecordNodeGetEvent(node: Handle, event: Out<Handle>)
        = cuGraphEventRecordNodeGetEvent;
    fn cudaGraphEventRecordNodeSetEvent(node: Handle, event: Handle)
        = cuGraphEventRecordNodeSetEvent;
    fn cudaGraphExecEventRecordNodeSetEvent(executable: Handle, node: Handle, event: Handle)
        = cuGraphExecEventRecordNodeSetEvent;

    fn cudaGraphAddEventWaitNode(
        node: Out<Handle>,
        graph: Handle,
        dependencies: Address,
        count: usize,
        event: Handle,
    ) {
        Place::new(node, graph, dependencies, count)?.wait(event)
    }

    fn cudaGraphEventWaitNodeGetEvent(node: Handle, event: Out<Handle>)
        = cuGraphEventWaitNodeGetEvent;
    fn cudaGraphEventWaitNodeSetEvent(node: Handle, event: Handle)
        = cuGraphEventWaitNodeSetEvent;
    fn cudaGraphExecEventWaitNodeSetEvent(executable: Handle, node: Handle, event: Handle)
        = cuGraphExecEventWaitNodeSetEvent;

    fn cudaGraphAddMemAllocNode(
        node: Out<Handle>,
        graph: Handle,
        dependencies: Address,
        count: usize,
        parameters: Address,
    ) {
        Place::new(node, graph, dependencies, count)?.allocate(parameters)
    }

    fn cudaGraphMemAllocNodeGetParams(node: Handle, parameters: Out<AllocNode>)
        = cuGraphMemAllocNodeGetParams;

    fn cudaGraphAddMemFreeNode(
        node: Out<Handle>,
        graph: Handle,
        dependencies: Address,
        count: usize,
        address: Address,
    ) {
        Place::new(node, graph, dependencies, count)?.free(address)
    }

    fn cudaGraphMemFreeNodeGetParams(node: Handle, address: Out<Address>)
        = cuGraphMemFreeNodeGetParams;

    fn cudaGraphNodeSetParams(node: Handle, parameters: Address) {
        let any: AnyNode = read(parameters)?;
        let of_kind = parameters.wrapping_add(PARAMETERS);
        match any.kind {
            0 => {
                let (driver, parameters) = kernel_node(of_kind)?;
                driver.cuGraphKernelNodeSetParams_v2(node, at(&parameters))
            }
            1 => {
                let (driver, transfer) = transfer(parameters.wrapping_add(COPY_PARAMETERS))?;
                driver.cuGraphMemcpyNodeSetParams(node, at(&transfer))
            }
            2 => current()?.cuGraphMemsetNodeSetParams(node, at(&read::<FillNode>(of_kind)?)),
            3 => current()?.cuGraphHostNodeSetParams(node, at(&read::<HostNode>(of_kind)?)),
            _ => Err(Error::NOT_SUPPORTED),
        }
    }

    fn cudaGraphExecNodeSetParams(executable: Handle, node: Handle, parameters: Address) {
        let any: AnyNode = read(parameters)?;
        let of_kind = parameters.wrapping_add(PARAMETERS);
        match any.kind {
            0 => {
                let (driver, parameters) = kernel_node(of_kind)?;
                driver.cuGraphExecKernelNodeSetParams_v2(executable, node, at(&parameters))
            }
            1 => set_copy(executable, node, &transfer(parameters.wrapping_add(COPY_PARAMETERS))?.1),
            2 => set_fill(executable, node, of_kind),
            3 => {
                let parameters: HostNode = read(of_kind)?;
                current()?.cuGraphExecHostNodeSetParams(executable, node, at(&parameters))
            }
            _ => Err(Error::NOT_SUPPORTED),
        }
    }
}

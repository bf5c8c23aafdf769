//! Nodes of graphs: kernels, copies, fills, host functions, child graphs, events, memory.

use std::ffi::c_int;

use crate::api::api;
use crate::argument::{Argument, In, Out};
use crate::context::{current, current_context};
use crate::driver::{at, out};
use crate::error::{Error, Result};
use crate::launch::{Dim3, launchable};
use crate::stream::AttributeValue;
use crate::transfer::{Copy3D, Transfer};
use crate::{registry, symbol};
use cabi::address::{Address, Handle, plain, read, readable};

/// `cudaKernelNodeParams`, and the first fields of the driver's structure.
#[repr(C)]
#[derive(Clone, Copy, Default)]
struct KernelNode {
    kernel: Address,
    grid: Dim3,
    block: Dim3,
    shared: u32,
    arguments: Address,
    extra: Address,
}

/// `CUDA_KERNEL_NODE_PARAMS` of its second version.
#[repr(C)]
#[derive(Clone, Copy, Default)]
struct DriverKernelNode {
    node: KernelNode,
    kernel: Handle,
    context: Handle,
}

/// `cudaMemsetParams`, which is the driver's structure too.
type FillNode = [u64; 5];
/// `cudaHostNodeParams`, which is the driver's structure too: function and data.
type HostNode = [u64; 2];
/// `cudaMemAllocNodeParams`, which is the driver's structure too.
type AllocNode = [u64; 15];

/// `cudaGraphNodeParams` as far as all kinds of nodes have it.
#[repr(C)]
#[derive(Clone, Copy)]
struct AnyNode {
    kind: c_int,
    reserved: [c_int; 3],
    /// The first word of the parameters.
    first: usize,
}

plain!(KernelNode, DriverKernelNode, AnyNode);

/// Where the parameters of a node of any kind start, and where a copy's start.
const PARAMETERS: usize = 16;
const COPY_PARAMETERS: usize = 32;
/// Bytes of `cudaGraphEdgeData`; all zero for an ordinary dependency.
const EDGE_BYTES: usize = 8;

/// A node as the driver gets it.
enum Node {
    Kernel(DriverKernelNode),
    Copy(Transfer),
    Fill(FillNode),
    Host(HostNode),
    Child(Handle),
    Empty,
    Wait(Handle),
    Record(Handle),
    /// The parameters remain the program's: the driver writes the address of the memory into them.
    Allocate(Out<AllocNode>),
    Free(Address),
}

// One function for each form in which the API describes a node.
impl Node {
    fn kernel(parameters: In<KernelNode>) -> Result<Self> {
        let mut node = parameters.get()?;
        node.kernel = launchable(node.kernel, node.grid, node.block)?.1;
        Ok(Self::Kernel(DriverKernelNode { node, kernel: 0, context: 0 }))
    }

    fn copy(parameters: In<Copy3D>) -> Result<Self> {
        Transfer::of(&parameters.get()?, current()?).map(Self::Copy)
    }

    fn line(to: Address, from: Address, bytes: usize, kind: c_int) -> Result<Self> {
        Transfer::line(to, from, bytes, kind).map(Self::Copy)
    }

    fn to_symbol(symbol: Address, from: Address, bytes: usize, offset: usize, kind: c_int) -> Result<Self> {
        Self::line(symbol::part(symbol, offset, bytes)?, from, bytes, kind)
    }

    fn from_symbol(to: Address, symbol: Address, bytes: usize, offset: usize, kind: c_int) -> Result<Self> {
        Self::line(to, symbol::part(symbol, offset, bytes)?, bytes, kind)
    }

    fn fill(parameters: In<FillNode>) -> Result<Self> {
        parameters.get().map(Self::Fill)
    }

    fn host(parameters: In<HostNode>) -> Result<Self> {
        parameters.get().map(Self::Host)
    }

    fn record(event: Handle) -> Result<Self> {
        Ok(Self::Record(event))
    }

    fn wait(event: Handle) -> Result<Self> {
        Ok(Self::Wait(event))
    }

    /// By `cudaGraphNodeParams`.
    fn any(parameters: Address) -> Result<Self> {
        let AnyNode { kind, first, .. } = read(parameters)?;
        let of_kind = parameters.wrapping_add(PARAMETERS);
        match kind {
            0 => Self::kernel(In::at(of_kind)),
            1 => Self::copy(In::at(parameters.wrapping_add(COPY_PARAMETERS))),
            2 => Self::fill(In::at(of_kind)),
            3 => Self::host(In::at(of_kind)),
            4 => Ok(Self::Child(first)),
            5 => Ok(Self::Empty),
            6 => Ok(Self::Wait(first)),
            7 => Ok(Self::Record(first)),
            10 => Ok(Self::Allocate(Out::at(of_kind))),
            11 => Ok(Self::Free(first)),
            _ => Err(Error::NOT_SUPPORTED),
        }
    }
}

/// Where a node goes: its graph, and the list of the nodes that it depends on. The driver writes its handle at `node`.
struct Place {
    node: Address,
    graph: Handle,
    after: Address,
    count: usize,
}

impl Place {
    fn new(node: Out<Handle>, graph: Handle, after: Address, count: usize) -> Result<Self> {
        let bytes = count.checked_mul(size_of::<Handle>()).ok_or(Error::INVALID_VALUE)?;
        if bytes > 0 {
            readable(after, bytes)?;
        }
        Ok(Self { node: node.raw()?, graph, after, count })
    }
}

impl Node {
    /// Adds the node to a graph.
    fn add(&self, Place { node, graph, after, count }: Place) -> Result<()> {
        let (driver, context) = current_context()?;
        match self {
            Self::Kernel(kernel) => driver.cuGraphAddKernelNode_v2(node, graph, after, count, at(kernel)),
            Self::Copy(transfer) => driver.cuGraphAddMemcpyNode(node, graph, after, count, at(transfer), context),
            Self::Fill(fill) => driver.cuGraphAddMemsetNode(node, graph, after, count, at(fill), context),
            Self::Host(call) => driver.cuGraphAddHostNode(node, graph, after, count, at(call)),
            Self::Child(child) => driver.cuGraphAddChildGraphNode(node, graph, after, count, *child),
            Self::Empty => driver.cuGraphAddEmptyNode(node, graph, after, count),
            Self::Wait(event) => driver.cuGraphAddEventWaitNode(node, graph, after, count, *event),
            Self::Record(event) => driver.cuGraphAddEventRecordNode(node, graph, after, count, *event),
            Self::Allocate(place) => driver.cuGraphAddMemAllocNode(node, graph, after, count, place.raw()?),
            Self::Free(address) => driver.cuGraphAddMemFreeNode(node, graph, after, count, *address),
        }
    }

    /// Changes a node of a graph to this.
    fn set(&self, node: Handle) -> Result<()> {
        let driver = current()?;
        match self {
            Self::Kernel(kernel) => driver.cuGraphKernelNodeSetParams_v2(node, at(kernel)),
            Self::Copy(transfer) => driver.cuGraphMemcpyNodeSetParams(node, at(transfer)),
            Self::Fill(fill) => driver.cuGraphMemsetNodeSetParams(node, at(fill)),
            Self::Host(call) => driver.cuGraphHostNodeSetParams(node, at(call)),
            Self::Wait(event) => driver.cuGraphEventWaitNodeSetEvent(node, *event),
            Self::Record(event) => driver.cuGraphEventRecordNodeSetEvent(node, *event),
            Self::Child(_) | Self::Empty | Self::Allocate(_) | Self::Free(_) => Err(Error::NOT_SUPPORTED),
        }
    }

    /// Changes what an executable graph does for a node to this.
    fn set_in(&self, executable: Handle, node: Handle) -> Result<()> {
        let (driver, context) = current_context()?;
        match self {
            Self::Kernel(kernel) => driver.cuGraphExecKernelNodeSetParams_v2(executable, node, at(kernel)),
            Self::Copy(transfer) => driver.cuGraphExecMemcpyNodeSetParams(executable, node, at(transfer), context),
            Self::Fill(fill) => driver.cuGraphExecMemsetNodeSetParams(executable, node, at(fill), context),
            Self::Host(call) => driver.cuGraphExecHostNodeSetParams(executable, node, at(call)),
            Self::Child(child) => driver.cuGraphExecChildGraphNodeSetParams(executable, node, *child),
            Self::Wait(event) => driver.cuGraphExecEventWaitNodeSetEvent(executable, node, *event),
            Self::Record(event) => driver.cuGraphExecEventRecordNodeSetEvent(executable, node, *event),
            Self::Empty | Self::Allocate(_) | Self::Free(_) => Err(Error::NOT_SUPPORTED),
        }
    }
}

/// The functions of a form of nodes: the first adds one to a graph, the second changes one in its graph, the third in
/// an executable graph.
macro_rules! nodes {
    ($($add:ident, $set:ident, $set_in:ident($($argument:ident: $kind:ty),*) = $make:ident;)*) => {$(
        api! {
            fn $add(node: Out<Handle>, graph: Handle, after: Address, count: usize, $($argument: $kind),*) {
                let place = Place::new(node, graph, after, count)?;
                Node::$make($($argument),*)?.add(place)
            }
            fn $set(node: Handle, $($argument: $kind),*) {
                Node::$make($($argument),*)?.set(node)
            }
            fn $set_in(executable: Handle, node: Handle, $($argument: $kind),*) {
                Node::$make($($argument),*)?.set_in(executable, node)
            }
        }
    )*};
}

nodes! {
    cudaGraphAddKernelNode, cudaGraphKernelNodeSetParams, cudaGraphExecKernelNodeSetParams(
        parameters: In<KernelNode>
    ) = kernel;
    cudaGraphAddMemcpyNode, cudaGraphMemcpyNodeSetParams, cudaGraphExecMemcpyNodeSetParams(
        parameters: In<Copy3D>
    ) = copy;
    cudaGraphAddMemcpyNode1D, cudaGraphMemcpyNodeSetParams1D, cudaGraphExecMemcpyNodeSetParams1D(
        to: Address, from: Address, bytes: usize, kind: c_int
    ) = line;
    cudaGraphAddMemcpyNodeToSymbol, cudaGraphMemcpyNodeSetParamsToSymbol, cudaGraphExecMemcpyNodeSetParamsToSymbol(
        symbol: Address, from: Address, bytes: usize, offset: usize, kind: c_int
    ) = to_symbol;
    cudaGraphAddMemcpyNodeFromSymbol, cudaGraphMemcpyNodeSetParamsFromSymbol,
    cudaGraphExecMemcpyNodeSetParamsFromSymbol(
        to: Address, symbol: Address, bytes: usize, offset: usize, kind: c_int
    ) = from_symbol;
    cudaGraphAddMemsetNode, cudaGraphMemsetNodeSetParams, cudaGraphExecMemsetNodeSetParams(
        parameters: In<FillNode>
    ) = fill;
    cudaGraphAddHostNode, cudaGraphHostNodeSetParams, cudaGraphExecHostNodeSetParams(
        parameters: In<HostNode>
    ) = host;
    cudaGraphAddEventRecordNode, cudaGraphEventRecordNodeSetEvent, cudaGraphExecEventRecordNodeSetEvent(
        event: Handle
    ) = record;
    cudaGraphAddEventWaitNode, cudaGraphEventWaitNodeSetEvent, cudaGraphExecEventWaitNodeSetEvent(
        event: Handle
    ) = wait;
}

/// Adds a node of any kind. Edges other than ordinary dependencies are not supported.
pub fn add_node(
    node: Out<Handle>,
    graph: Handle,
    after: Address,
    edges: Address,
    count: usize,
    parameters: Address,
) -> Result<()> {
    let edge_count = if edges == 0 { 0 } else { count };
    for index in 0..edge_count {
        if read::<u64>(edges.wrapping_add(index * EDGE_BYTES))? != 0 {
            return Err(Error::NOT_SUPPORTED);
        }
    }
    let place = Place::new(node, graph, after, count)?;
    Node::any(parameters)?.add(place)
}

// Nodes of any kind, and those that cannot be changed.
api! {
    fn cudaGraphAddNode_v2(
        node: Out<Handle>, graph: Handle, after: Address, edges: Address, count: usize, parameters: Address,
    ) {
        add_node(node, graph, after, edges, count, parameters)
    }

    fn cudaGraphNodeSetParams(node: Handle, parameters: Address) { Node::any(parameters)?.set(node) }

    fn cudaGraphExecNodeSetParams(executable: Handle, node: Handle, parameters: Address) {
        Node::any(parameters)?.set_in(executable, node)
    }

    fn cudaGraphAddChildGraphNode(node: Out<Handle>, graph: Handle, after: Address, count: usize, child: Handle) {
        Node::Child(child).add(Place::new(node, graph, after, count)?)
    }
    fn cudaGraphExecChildGraphNodeSetParams(executable: Handle, node: Handle, child: Handle)
        = cuGraphExecChildGraphNodeSetParams;

    fn cudaGraphAddEmptyNode(node: Out<Handle>, graph: Handle, after: Address, count: usize) {
        Node::Empty.add(Place::new(node, graph, after, count)?)
    }

    fn cudaGraphAddMemAllocNode(
        node: Out<Handle>, graph: Handle, after: Address, count: usize, parameters: Out<AllocNode>,
    ) {
        Node::Allocate(parameters).add(Place::new(node, graph, after, count)?)
    }

    fn cudaGraphAddMemFreeNode(node: Out<Handle>, graph: Handle, after: Address, count: usize, address: Address) {
        Node::Free(address).add(Place::new(node, graph, after, count)?)
    }
}

// Parameters of nodes.
api! {
    fn cudaGraphKernelNodeGetParams(node: Handle, parameters: Out<KernelNode>) {
        let driver = current()?;
        let found: DriverKernelNode = out(|place| driver.cuGraphKernelNodeGetParams_v2(node, place))?;
        let kernel = registry::kernel_of(found.node.kernel).unwrap_or(found.node.kernel);
        parameters.set(KernelNode { kernel, ..found.node })
    }

    fn cudaGraphMemcpyNodeGetParams(node: Handle, parameters: Out<Copy3D>) {
        let driver = current()?;
        let found: Transfer = out(|place| driver.cuGraphMemcpyNodeGetParams(node, place))?;
        parameters.set(found.to_runtime(driver)?)
    }

    fn cudaGraphMemsetNodeGetParams(node: Handle, parameters: Out<FillNode>) = cuGraphMemsetNodeGetParams;
    fn cudaGraphHostNodeGetParams(node: Handle, parameters: Out<HostNode>) = cuGraphHostNodeGetParams;
    fn cudaGraphChildGraphNodeGetGraph(node: Handle, graph: Out<Handle>) = cuGraphChildGraphNodeGetGraph;
    fn cudaGraphEventRecordNodeGetEvent(node: Handle, event: Out<Handle>) = cuGraphEventRecordNodeGetEvent;
    fn cudaGraphEventWaitNodeGetEvent(node: Handle, event: Out<Handle>) = cuGraphEventWaitNodeGetEvent;
    fn cudaGraphMemAllocNodeGetParams(node: Handle, parameters: Out<AllocNode>) = cuGraphMemAllocNodeGetParams;
    fn cudaGraphMemFreeNodeGetParams(node: Handle, address: Out<Address>) = cuGraphMemFreeNodeGetParams;

    fn cudaGraphKernelNodeGetAttribute(node: Handle, attribute: c_int, value: Out<AttributeValue>)
        = cuGraphKernelNodeGetAttribute;
    fn cudaGraphKernelNodeSetAttribute(node: Handle, attribute: c_int, value: In<AttributeValue>)
        = cuGraphKernelNodeSetAttribute;
}

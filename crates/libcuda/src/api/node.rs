//! Parameters of the nodes of graphs, as structures of cuda.h have them.

use crate::api::array::box_3d;
use crate::api::launch::{arguments, shape};
use crate::values::{get_u32, get_u64, put};
use cuda::graph::{Task, kind};
use cuda::module::Request;
use cuda::work::{At, Call, Comparison, Copy, Fill, KernelLaunch, Side, Work};
use cuda::{Driver, Error, Result};

/// Which structure a program passes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KernelForm {
    /// Layout of the functions without a version, for kernels without `kern` and `ctx`.
    Short,
    /// Layout of `_v2` functions and of `CUgraphNodeParams`.
    Long,
}

/// Kind and address of the parameters in `CUgraphNodeParams`: kind, 12 bytes, union.
pub fn of_union(driver: &Driver, params: u64) -> Result<(u32, u64)> {
    let kind = get_u32(driver, params)?;
    // Copies have flags and a context before their parameters.
    Ok((kind, params + 16 + if kind == kind::COPY { 16 } else { 0 }))
}

/// Operation from the parameters of a node of a kind (`CU_GRAPH_NODE_TYPE_*`).
pub fn task_of(driver: &mut Driver, kind: u32, params: u64, form: KernelForm) -> Result<Task> {
    match kind {
        kind::KERNEL => kernel(driver, params, form).map(Task::Work),
        kind::COPY => copy(driver, params).map(|copy| Task::Work(Work::Copy(copy))),
        kind::FILL => fill(driver, params).map(|fill| Task::Work(Work::Fill(fill))),
        kind::CALL => {
            let (function, argument) = (get_u64(driver, params)?, get_u64(driver, params + 8)?);
            if function == 0 {
                return Err(Error::INVALID_VALUE);
            }
            Ok(Task::Work(Work::Call(Call { function, argument, stream: None })))
        }
        kind::GRAPH => get_u64(driver, params).map(Task::Child),
        kind::NOTHING => Ok(Task::Work(Work::Nothing)),
        kind::WAIT | kind::RECORD => {
            let event = get_u64(driver, params)?;
            driver.streams.event_wait(event, true)?;
            Ok(if kind == kind::WAIT { Task::Wait(event) } else { Task::Record(event) })
        }
        kind::FREE => get_u64(driver, params).map(Task::Free),
        kind::VALUES => {
            // Context, number, list, flags.
            let (count, list) = (get_u32(driver, params + 8)?, get_u64(driver, params + 16)?);
            memory_operations(driver, u64::from(count), list).map(Task::Several)
        }
        _ => Err(Error::NOT_SUPPORTED),
    }
}

/// `CUDA_KERNEL_NODE_PARAMS`: function, grid, block, shared bytes (7 numbers of 32 bits), arguments, further arguments;
/// in the long form, kernel and context.
fn kernel(driver: &mut Driver, params: u64, form: KernelForm) -> Result<Work> {
    let (grid, block, shared_bytes) = shape(driver, params + 8)?;
    let mut function = get_u64(driver, params)?;
    if function == 0 && form == KernelForm::Long {
        function = get_u64(driver, params + 56)?;
    }
    let (each, extra) = (get_u64(driver, params + 40)?, get_u64(driver, params + 48)?);
    let request = Request {
        function,
        grid,
        block,
        shared_bytes,
        stream: 0,
        arguments: arguments(driver, each, extra)?,
        cooperative: false,
        cluster: None,
    };
    driver.prepare(&request).map(Work::Launch)
}

/// Bytes of a side of `CUDA_MEMCPY3D`.
const SIDE_BYTES: u64 = 88;

fn copy(driver: &mut Driver, params: u64) -> Result<Copy> {
    let (to, from, size) = box_3d(driver, params)?;
    driver.memory.plan_copy(&mut driver.platform, to, from, size)
}

/// `CUDA_MEMSET_NODE_PARAMS`: address, pitch, value, bytes of an element, elements of a row, rows.
fn fill(driver: &mut Driver, params: u64) -> Result<Fill> {
    let (address, pitch) = (get_u64(driver, params)?, get_u64(driver, params + 8)?);
    let (value, unit) = (get_u32(driver, params + 16)?, get_u32(driver, params + 20)?);
    let size = [get_u64(driver, params + 24)?, get_u64(driver, params + 32)?];
    if !matches!(unit, 1 | 2 | 4) || size.contains(&0) {
        return Err(Error::INVALID_VALUE);
    }
    let device = driver.platform.device_here()?;
    cuda::memory::plan_fill(&mut driver.platform, device, (address, pitch), (value, u64::from(unit)), size)
}

/// Bytes that the parameters of a node that allocates ask for: after the properties of the pool (88 bytes), the list of
/// accesses and its length.
pub fn allocation_bytes(driver: &Driver, params: u64) -> Result<u64> {
    // Only pinned memory of a device (kind of memory, handles, kind of place).
    if get_u32(driver, params)? != 1 || get_u32(driver, params + 4)? != 0 || get_u32(driver, params + 8)? != 1 {
        return Err(Error::NOT_SUPPORTED);
    }
    get_u64(driver, params + 104)
}

/// Checks the data of edges (ports, kind), if there are any: only full completion of the earlier node is supported.
pub fn check_edges(driver: &Driver, data: u64, count: u64) -> Result<()> {
    let edges = if data == 0 { 0 } else { count };
    (0..edges).try_for_each(|i| if get_u64(driver, data + 8 * i)? == 0 { Ok(()) } else { Err(Error::NOT_SUPPORTED) })
}

/// Bytes of `CUstreamBatchMemOpParams`.
const OPERATION_BYTES: u64 = 48;
/// Maximum number of operations in a list.
const MOST_OPERATIONS: u64 = 1 << 16;

/// Stores and waits for values, of a list of `CUstreamBatchMemOpParams`: kind, address, value, flags.
pub fn memory_operations(driver: &mut Driver, count: u64, list: u64) -> Result<Vec<Work>> {
    if count > MOST_OPERATIONS || (count > 0 && list == 0) {
        return Err(Error::INVALID_VALUE);
    }
    let device = driver.platform.device_here()?;
    let mut works = Vec::new();
    for at in (0..count).map(|i| list + OPERATION_BYTES * i) {
        let (address, value, flags) = (get_u64(driver, at + 8)?, get_u64(driver, at + 16)?, get_u32(driver, at + 24)?);
        let (wide, waits) = match get_u32(driver, at)? {
            1 => (false, true),
            2 => (false, false),
            4 => (true, true),
            5 => (true, false),
            // Barriers and flushes: operations follow each other anyway.
            3 | 6 => continue,
            _ => return Err(Error::INVALID_VALUE),
        };
        let comparison = if waits { Some(comparison(flags)?) } else { None };
        works.push(cuda::memory::value_work(&mut driver.platform, device, address, (value, wide), comparison)?);
    }
    Ok(works)
}

/// The comparison that `CU_STREAM_WAIT_VALUE_*` means.
pub fn comparison(flags: u32) -> Result<Comparison> {
    /// Flushes writes of other devices, of which there are none.
    const FLUSH: u32 = 1 << 30;
    match flags & !FLUSH {
        0 => Ok(Comparison::AtLeast),
        1 => Ok(Comparison::Equal),
        2 => Ok(Comparison::And),
        3 => Ok(Comparison::Nor),
        _ => Err(Error::INVALID_VALUE),
    }
}

/// Writes the parameters of a node.
pub fn put_params(driver: &Driver, node: u64, params: u64, form: KernelForm) -> Result<()> {
    let present = driver.graphs.node(node)?;
    match &present.task {
        Task::Work(Work::Launch(launch)) => put_kernel(driver, launch, &present.argument_list, params, form),
        Task::Work(Work::Copy(copy)) => put_copy(driver, copy, params),
        Task::Work(Work::Fill(fill)) => put_fill(driver, fill, params),
        Task::Work(Work::Call(call)) => {
            put(driver, params, call.function)?;
            put(driver, params + 8, call.argument)
        }
        Task::Child(handle) | Task::Record(handle) | Task::Wait(handle) | Task::Free(handle) => {
            put(driver, params, *handle)
        }
        Task::Allocate(address, bytes) => put_allocation(driver, (*address, *bytes), params),
        _ => Err(Error::NOT_SUPPORTED),
    }
}

fn put_kernel(driver: &Driver, launch: &KernelLaunch, list: &[u64], params: u64, form: KernelForm) -> Result<()> {
    let (grid, block) = (launch.live.grid, launch.live.block);
    put(driver, params, launch.function)?;
    let words = [grid.x, grid.y, grid.z, block.x, block.y, block.z, launch.live.dynamic_shared];
    for (i, word) in words.into_iter().enumerate() {
        put(driver, params + 8 + 4 * i as u64, word)?;
    }
    // The list stays as long as the node does.
    put(driver, params + 40, if list.is_empty() { 0 } else { list.as_ptr() as u64 })?;
    put(driver, params + 48, 0_u64)?;
    if form == KernelForm::Long {
        put(driver, params + 56, 0_u64)?;
        put(driver, params + 64, 0_u64)?;
    }
    Ok(())
}

fn put_copy(driver: &Driver, copy: &Copy, params: u64) -> Result<()> {
    let put_side = |side: &Side, at: u64| -> Result<()> {
        let (kind, host, device) = match &side.at {
            At::Host(address) => (1, *address, 0),
            At::Device(address) | At::Locked(address) => (2, 0, *address),
            At::Data(data) => (1, data.as_ptr() as u64, 0),
        };
        let height = side.slice.checked_div(side.pitch).unwrap_or(0);
        let fields = [0, 0, 0, 0, kind, host, device, 0, 0, side.pitch, height];
        fields.into_iter().enumerate().try_for_each(|(i, value)| put(driver, at + 8 * i as u64, value))
    };
    put_side(&copy.from, params)?;
    put_side(&copy.to, params + SIDE_BYTES)?;
    let size = [copy.width, copy.height, copy.depth];
    size.into_iter().enumerate().try_for_each(|(i, n)| put(driver, params + 2 * SIDE_BYTES + 8 * i as u64, n))
}

fn put_fill(driver: &Driver, fill: &Fill, params: u64) -> Result<()> {
    put(driver, params, fill.address)?;
    put(driver, params + 8, fill.pitch)?;
    put(driver, params + 16, u32::from_le_bytes(fill.pattern))?;
    put(driver, params + 20, fill.unit as u32)?;
    put(driver, params + 24, fill.width / fill.unit)?;
    put(driver, params + 32, fill.height)
}

fn put_allocation(driver: &Driver, (address, bytes): (u64, u64), params: u64) -> Result<()> {
    // Pinned memory of the device, without handles.
    for at in 0..11 {
        put(driver, params + 8 * at, if at == 0 { 1 } else { 0_u64 })?;
    }
    let device = driver.memory.find(address).map_or(0, |(_, allocation)| allocation.device);
    put(driver, params + 8, 1_u32)?;
    put(driver, params + 12, device as u32)?;
    for (at, value) in [(88, 0), (96, 0), (104, bytes), (112, address)] {
        put(driver, params + at, value)?;
    }
    Ok(())
}

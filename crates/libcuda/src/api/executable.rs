//! Executable graphs.

use crate::api::graph::number;
use crate::api::node::{KernelForm, of_union, task_of};
use crate::call::launching;
use crate::values::{get_u64, put, put_if, put_new};
use crate::{api, unlocked};
use cuda::graph::{Task, kind};
use cuda::{Driver, Error, Result};

fn exec_set_kind(
    driver: &mut Driver,
    exec: u64,
    node: u64,
    kind: u32,
    (params, form): (u64, KernelForm),
) -> Result<()> {
    if params == 0 {
        return Err(Error::INVALID_VALUE);
    }
    driver.graphs.executable(exec)?;
    let task = task_of(driver, kind, params, form)?;
    driver.graphs.executable_set(exec, node, task)
}

fn instantiate(driver: &mut Driver, exec: u64, graph: u64, flags: u64) -> Result<()> {
    put_new(driver, exec, |driver| driver.graphs.instantiate(&mut driver.memory, graph, flags))
}

/// Instantiates with a place for the node that is wrong, and for a message.
fn instantiate_with_log(driver: &mut Driver, exec: u64, graph: u64, error_node: u64, log: (u64, u64)) -> Result<()> {
    put_if(driver, error_node, 0_u64)?;
    if log.0 != 0 && log.1 > 0 {
        put(driver, log.0, 0_u8)?;
    }
    instantiate(driver, exec, graph, 0)
}

/// Writes the result of an update: three fields for it, the node, and the node before it.
fn update(driver: &mut Driver, exec: u64, graph: u64, places: [u64; 3]) -> Result<()> {
    let difference = driver.graphs.executable_update(exec, graph)?;
    let (reason, node) = difference.map_or((0, 0), |difference| (difference.reason, difference.node));
    put_if(driver, places[0], reason)?;
    put_if(driver, places[1], node)?;
    put_if(driver, places[2], 0_u64)?;
    if difference.is_some() { Err(Error::GRAPH_EXEC_UPDATE_FAILURE) } else { Ok(()) }
}

use KernelForm::{Long, Short};

api! {
    fn cuGraphInstantiate(exec: u64, graph: u64, error_node: u64, log: u64, room: u64) = cuGraphInstantiate_v2 |driver| {
        instantiate_with_log(driver, exec, graph, error_node, (log, room))
    }
    fn cuGraphInstantiateWithFlags(exec: u64, graph: u64, flags: u64) |driver| {
        instantiate(driver, exec, graph, flags)
    }
    fn cuGraphInstantiateWithParams(exec: u64, graph: u64, params: u64) per_thread |driver| {
        // Flags, stream for an upload, node that is wrong, result.
        let flags = get_u64(driver, params)?;
        put(driver, params + 16, 0_u64)?;
        let result = instantiate(driver, exec, graph, flags);
        let code = match result {
            Ok(()) => 0,
            Err(Error::NOT_SUPPORTED) => 3,
            Err(Error::INVALID_VALUE) => 2,
            Err(_) => 1,
        };
        put(driver, params + 24, code)?;
        result
    }
    fn cuGraphExecGetFlags(exec: u64, flags: u64) |driver| {
        let value = driver.graphs.executable(exec)?.flags;
        put(driver, flags, value)
    }
    fn cuGraphExecDestroy(exec: u64) |driver| {
        driver.graphs.executable_destroy(&mut driver.platform, &mut driver.memory, exec)
    }
    fn cuGraphUpload(exec: u64, stream: u64) per_thread |driver| {
        driver.streams.device_of(&driver.platform, stream)?;
        driver.graphs.executable(exec).map(|_| ())
    }
    fn cuGraphExecUpdate(exec: u64, graph: u64, error_node: u64, result: u64) |driver| {
        update(driver, exec, graph, [result, error_node, 0])
    }
    fn cuGraphExecUpdate_v2(exec: u64, graph: u64, info: u64) |driver| {
        update(driver, exec, graph, [info, info + 8, info + 16])
    }
    fn cuGraphExecKernelNodeSetParams(exec: u64, node: u64, params: u64) |driver| {
        exec_set_kind(driver, exec, node, kind::KERNEL, (params, Short))
    }
    fn cuGraphExecKernelNodeSetParams_v2(exec: u64, node: u64, params: u64) |driver| {
        exec_set_kind(driver, exec, node, kind::KERNEL, (params, Long))
    }
    fn cuGraphExecMemcpyNodeSetParams(exec: u64, node: u64, params: u64, _context: u64) |driver| {
        exec_set_kind(driver, exec, node, kind::COPY, (params, Short))
    }
    fn cuGraphExecMemsetNodeSetParams(exec: u64, node: u64, params: u64, _context: u64) |driver| {
        exec_set_kind(driver, exec, node, kind::FILL, (params, Short))
    }
    fn cuGraphExecHostNodeSetParams(exec: u64, node: u64, params: u64) |driver| {
        exec_set_kind(driver, exec, node, kind::CALL, (params, Short))
    }
    fn cuGraphExecBatchMemOpNodeSetParams(exec: u64, node: u64, params: u64) |driver| {
        exec_set_kind(driver, exec, node, kind::VALUES, (params, Long))
    }
    fn cuGraphExecChildGraphNodeSetParams(exec: u64, node: u64, child: u64) |driver| {
        driver.graphs.executable_set_child(exec, node, child)
    }
    fn cuGraphExecEventRecordNodeSetEvent(exec: u64, node: u64, event: u64) |driver| {
        driver.streams.event_wait(event, true)?;
        driver.graphs.executable_set(exec, node, Task::Record(event))
    }
    fn cuGraphExecEventWaitNodeSetEvent(exec: u64, node: u64, event: u64) |driver| {
        driver.streams.event_wait(event, true)?;
        driver.graphs.executable_set(exec, node, Task::Wait(event))
    }
    fn cuGraphExecNodeSetParams(exec: u64, node: u64, params: u64) |driver| {
        let (kind, params) = of_union(driver, params)?;
        match kind {
            kind::GRAPH => {
                let child = get_u64(driver, params)?;
                driver.graphs.executable_set_child(exec, node, child)
            }
            _ => exec_set_kind(driver, exec, node, kind, (params, Long)),
        }
    }
    fn cuGraphNodeSetEnabled(exec: u64, node: u64, enabled: u32) |driver| {
        *driver.graphs.step_enabled(exec, node)? = enabled != 0;
        Ok(())
    }
    fn cuGraphNodeGetEnabled(exec: u64, node: u64, enabled: u64) |driver| {
        let value = u32::from(*driver.graphs.step_enabled(exec, node)?);
        put(driver, enabled, value)
    }
    fn cuGraphExecGetId(exec: u64, id: u64) |driver| {
        driver.graphs.executable(exec)?;
        put(driver, id, number(exec))
    }
}

unlocked! {
    fn cuGraphLaunch(exec: u64, stream: u64) per_thread { launching(|driver| driver.graph_launch(exec, stream)) }
}

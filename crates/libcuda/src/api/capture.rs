//! Capture of streams, and values that streams store and wait for.

use crate::api;
use crate::api::graph::handles;
use crate::api::node::{check_edges, comparison, memory_operations};
use crate::values::{get_u32, put, put_if};
use cuda::stream::{Info, Mode, exchange_mode};
use cuda::{Driver, Error, Result};

/// A function that ends without a capture writes that.
fn put_info(driver: &mut Driver, stream: u64, status: u64, id: u64, rest: Option<[u64; 4]>) -> Result<()> {
    if status == 0 {
        return Err(Error::INVALID_VALUE);
    }
    let info @ Info { after: (list, count), .. } = driver.streams.capture_info(&driver.platform, stream)?;
    put(driver, status, info.status)?;
    if info.status != 1 {
        return Ok(());
    }
    put_if(driver, id, info.id)?;
    let Some([graph, nodes, edges, number]) = rest else { return Ok(()) };
    put_if(driver, graph, info.graph)?;
    put_if(driver, nodes, list)?;
    // All edges mean full completion: null.
    put_if(driver, edges, 0_u64)?;
    put_if(driver, number, count)
}

fn follow(driver: &mut Driver, stream: u64, nodes: u64, count: u64, flags: u32) -> Result<()> {
    if flags > 1 {
        return Err(Error::INVALID_VALUE);
    }
    let nodes = handles(driver, nodes, count)?;
    driver.capture_follow(stream, &nodes, flags == 1)
}

fn begin_to_graph(driver: &mut Driver, stream: u64, graph: u64, after: [u64; 3], mode: u32) -> Result<()> {
    let [nodes, edges, count] = after;
    check_edges(driver, edges, count)?;
    let nodes = handles(driver, nodes, count)?;
    driver.capture_begin(stream, Mode::of(mode)?, Some((graph, nodes)))
}

fn wait_value(driver: &mut Driver, stream: u64, address: u64, value: (u64, bool), flags: u32) -> Result<()> {
    let device = driver.streams.device_of(&driver.platform, stream)?;
    let work = cuda::memory::value_work(&mut driver.platform, device, address, value, Some(comparison(flags)?))?;
    driver.request_values(stream, vec![work])
}

fn write_value(driver: &mut Driver, stream: u64, address: u64, value: (u64, bool), flags: u32) -> Result<()> {
    // The only flag asks for no barrier before it.
    if flags > 1 {
        return Err(Error::INVALID_VALUE);
    }
    let device = driver.streams.device_of(&driver.platform, stream)?;
    let work = cuda::memory::value_work(&mut driver.platform, device, address, value, None)?;
    driver.request_values(stream, vec![work])
}

api! {
    fn cuStreamBeginCapture(stream: u64) per_thread |driver| { driver.capture_begin(stream, Mode::Global, None) }
    fn cuStreamBeginCapture_v2(stream: u64, mode: u32) per_thread |driver| {
        driver.capture_begin(stream, Mode::of(mode)?, None)
    }
    fn cuStreamBeginCaptureToGraph(stream: u64, graph: u64, nodes: u64, edges: u64, count: u64, mode: u32) per_thread |driver| {
        begin_to_graph(driver, stream, graph, [nodes, edges, count], mode)
    }
    fn cuStreamEndCapture(stream: u64, graph: u64) per_thread |driver| {
        if graph == 0 {
            return Err(Error::INVALID_VALUE);
        }
        put(driver, graph, 0_u64)?;
        let handle = driver.capture_end(stream)?;
        put(driver, graph, handle)
    }
    fn cuStreamIsCapturing(stream: u64, status: u64) per_thread |driver| {
        let info = driver.streams.capture_info(&driver.platform, stream)?;
        put(driver, status, info.status)
    }
    fn cuStreamGetCaptureInfo(stream: u64, status: u64, id: u64) per_thread |driver| { put_info(driver, stream, status, id, None) }
    fn cuStreamGetCaptureInfo_v2(stream: u64, status: u64, id: u64, graph: u64, nodes: u64, count: u64) per_thread |driver| {
        put_info(driver, stream, status, id, Some([graph, nodes, 0, count]))
    }
    fn cuStreamGetCaptureInfo_v3(
        stream: u64, status: u64, id: u64, graph: u64, nodes: u64, edges: u64, count: u64,
    ) per_thread |driver| {
        put_info(driver, stream, status, id, Some([graph, nodes, edges, count]))
    }
    fn cuStreamUpdateCaptureDependencies(stream: u64, nodes: u64, count: u64, flags: u32) per_thread |driver| {
        follow(driver, stream, nodes, count, flags)
    }
    fn cuStreamUpdateCaptureDependencies_v2(stream: u64, nodes: u64, edges: u64, count: u64, flags: u32) per_thread |driver| {
        check_edges(driver, edges, count)?;
        follow(driver, stream, nodes, count, flags)
    }
    fn cuThreadExchangeStreamCaptureMode(mode: u64) |driver| {
        let former = exchange_mode(Mode::of(get_u32(driver, mode)?)?);
        put(driver, mode, former as u32)
    }

    fn cuStreamWaitValue32(stream: u64, address: u64, value: u32, flags: u32) = cuStreamWaitValue32_v2 per_thread |driver| {
        wait_value(driver, stream, address, (value.into(), false), flags)
    }
    fn cuStreamWaitValue64(stream: u64, address: u64, value: u64, flags: u32) = cuStreamWaitValue64_v2 per_thread |driver| {
        wait_value(driver, stream, address, (value, true), flags)
    }
    fn cuStreamWriteValue32(stream: u64, address: u64, value: u32, flags: u32) = cuStreamWriteValue32_v2 per_thread |driver| {
        write_value(driver, stream, address, (value.into(), false), flags)
    }
    fn cuStreamWriteValue64(stream: u64, address: u64, value: u64, flags: u32) = cuStreamWriteValue64_v2 per_thread |driver| {
        write_value(driver, stream, address, (value, true), flags)
    }
    fn cuStreamBatchMemOp(stream: u64, count: u32, list: u64, _flags: u32) = cuStreamBatchMemOp_v2 per_thread |driver| {
        driver.streams.device_of(&driver.platform, stream)?;
        let works = memory_operations(driver, count.into(), list)?;
        driver.request_values(stream, works)
    }
}

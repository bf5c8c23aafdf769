//! Streams, callbacks in them, and capture.

use std::ffi::{c_int, c_uint, c_void};

use crate::address::{Address, Handle, In, Out, Stream};
use crate::api::api;
use crate::context::current;
use crate::driver::{Driver, out};
use crate::error::{Error, Result};

/// A value of a stream's or a launch's attribute.
pub type AttributeValue = [u64; 8];

/// A callback of the program: stream, status, its data.
type Callback = extern "C" fn(Handle, c_int, *mut c_void);

/// What a callback in a stream is called with.
struct Call {
    function: Callback,
    data: *mut c_void,
}

/// Called by the driver once, with the `Call` that was left with it.
extern "C" fn call(stream: Handle, status: c_int, call: *mut c_void) {
    // SAFETY: the pointer is of `Box::into_raw` in `add_callback`, and the driver calls once.
    let call = unsafe { Box::from_raw(call.cast::<Call>()) };
    (call.function)(stream, status, call.data);
}

fn add_callback(stream: Stream, function: Option<Callback>, data: *mut c_void) -> Result<()> {
    let function = function.ok_or(Error::INVALID_VALUE)?;
    let driver = current()?;
    let call_data = Box::into_raw(Box::new(Call { function, data }));
    let trampoline = (call as extern "C" fn(Handle, c_int, *mut c_void)) as *const ();
    let added = driver.cuStreamAddCallback(stream.0, trampoline.expose_provenance(), call_data.expose_provenance(), 0);
    if added.is_err() {
        // SAFETY: the driver refused the callback, so the box is still ours alone.
        drop(unsafe { Box::from_raw(call_data) });
    }
    added
}

/// Creates a stream.
fn create(stream: Out<Handle>, flags: c_uint, priority: c_int) -> Result<()> {
    let driver = current()?;
    stream.ready()?;
    stream.set(out(|place| driver.cuStreamCreateWithPriority(place, flags, priority))?)
}

impl crate::address::Argument for Option<Callback> {
    type Raw = Self;

    fn raw(self) -> Result<Self> {
        Ok(self)
    }
}

impl crate::address::Argument for *mut c_void {
    type Raw = Self;

    fn raw(self) -> Result<Self> {
        Ok(self)
    }
}

api! {
    fn cudaStreamCreate(stream: Out<Handle>) { create(stream, 0, 0) }
    fn cudaStreamCreateWithFlags(stream: Out<Handle>, flags: c_uint) { create(stream, flags, 0) }
    fn cudaStreamCreateWithPriority(stream: Out<Handle>, flags: c_uint, priority: c_int) {
        create(stream, flags, priority)
    }

    fn cudaStreamDestroy(stream: Handle) {
        // The default streams belong to nobody.
        if stream <= Stream::PER_THREAD.0 {
            return Err(Error::INVALID_HANDLE);
        }
        current()?.cuStreamDestroy_v2(stream)
    }

    fn cudaStreamSynchronize | cudaStreamSynchronize_ptsz(stream: Stream) = cuStreamSynchronize;
    fn cudaStreamQuery | cudaStreamQuery_ptsz(stream: Stream) = cuStreamQuery;
    fn cudaStreamWaitEvent | cudaStreamWaitEvent_ptsz(stream: Stream, event: Handle, flags: c_uint)
        = cuStreamWaitEvent;
    fn cudaStreamGetPriority | cudaStreamGetPriority_ptsz(stream: Stream, priority: Out<c_int>)
        = cuStreamGetPriority;
    fn cudaStreamGetFlags | cudaStreamGetFlags_ptsz(stream: Stream, flags: Out<c_uint>)
        = cuStreamGetFlags;
    fn cudaStreamGetId | cudaStreamGetId_ptsz(stream: Stream, id: Out<u64>) = cuStreamGetId;

    fn cudaStreamGetDevice | cudaStreamGetDevice_ptsz(stream: Stream, device: Out<c_int>)
        = cuStreamGetDevice;
    fn cudaStreamCopyAttributes | cudaStreamCopyAttributes_ptsz(to: Stream, from: Stream)
        = cuStreamCopyAttributes;
    fn cudaStreamGetAttribute | cudaStreamGetAttribute_ptsz(
        stream: Stream,
        attribute: c_int,
        value: Out<AttributeValue>,
    ) = cuStreamGetAttribute;
    fn cudaStreamSetAttribute | cudaStreamSetAttribute_ptsz(
        stream: Stream,
        attribute: c_int,
        value: In<AttributeValue>,
    ) = cuStreamSetAttribute;

    fn cudaStreamAddCallback | cudaStreamAddCallback_ptsz(
        stream: Stream,
        function: Option<Callback>,
        data: *mut c_void,
        flags: c_uint,
    ) {
        if flags != 0 {
            return Err(Error::INVALID_VALUE);
        }
        add_callback(stream, function, data)
    }

    fn cudaStreamBeginCapture | cudaStreamBeginCapture_ptsz(stream: Stream, mode: c_int)
        = cuStreamBeginCapture_v2;
    fn cudaStreamBeginCaptureToGraph | cudaStreamBeginCaptureToGraph_ptsz(
        stream: Stream,
        graph: Handle,
        dependencies: Address,
        edges: Address,
        count: usize,
        mode: c_int,
    ) = cuStreamBeginCaptureToGraph;
    fn cudaStreamEndCapture | cudaStreamEndCapture_ptsz(stream: Stream, graph: Out<Handle>)
        = cuStreamEndCapture;
    fn cudaStreamIsCapturing | cudaStreamIsCapturing_ptsz(stream: Stream, status: Out<c_int>)
        = cuStreamIsCapturing;
    fn cudaThreadExchangeStreamCaptureMode(mode: Out<c_int>) = cuThreadExchangeStreamCaptureMode;

    fn cudaStreamGetCaptureInfo_v2 | cudaStreamGetCaptureInfo_v2_ptsz(
        stream: Stream,
        status: Out<c_int>,
        id: Address,
        graph: Address,
        dependencies: Address,
        count: Address,
    ) = cuStreamGetCaptureInfo_v2;
    fn cudaStreamGetCaptureInfo_v3 | cudaStreamGetCaptureInfo_v3_ptsz(
        stream: Stream,
        status: Out<c_int>,
        id: Address,
        graph: Address,
        dependencies: Address,
        edges: Address,
        count: Address,
    ) {
        capture_info(current()?, stream, status, [id, graph, dependencies, edges, count])
    }

    fn cudaStreamUpdateCaptureDependencies_v2 | cudaStreamUpdateCaptureDependencies_v2_ptsz(
        stream: Stream,
        dependencies: Address,
        edges: Address,
        count: usize,
        flags: c_uint,
    ) = cuStreamUpdateCaptureDependencies_v2;

    fn cudaLogsRegisterCallback(function: Address, data: Address, handle: Address)
        = cuLogsRegisterCallback;
    fn cudaLogsUnregisterCallback(handle: Handle) = cuLogsUnregisterCallback;
    fn cudaLogsCurrent(iterator: Out<c_uint>, flags: c_uint) = cuLogsCurrent;
    fn cudaLogsDumpToFile(iterator: Address, path: In<u8>, flags: c_uint) = cuLogsDumpToFile;
    fn cudaLogsDumpToMemory(
        iterator: Address,
        buffer: Address,
        bytes: Out<usize>,
        flags: c_uint,
    ) = cuLogsDumpToMemory;
}

/// What a stream captures. Places: id, graph, dependencies, edges, number of dependencies; each
/// may be null.
pub fn capture_info(
    driver: &Driver,
    stream: Stream,
    status: Out<c_int>,
    [id, graph, dependencies, edges, count]: [Address; 5],
) -> Result<()> {
    status.ready()?;
    if edges == 0 {
        let status = status.0;
        return driver.cuStreamGetCaptureInfo_v2(stream.0, status, id, graph, dependencies, count);
    }
    driver.cuStreamGetCaptureInfo_v3(stream.0, status.0, id, graph, dependencies, edges, count)
}

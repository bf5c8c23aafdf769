//! Streams, callbacks in them, and capture.

use std::ffi::{c_int, c_uint};

use crate::api::api;
use crate::argument::{In, Out, Stream};
use crate::context::current;
use crate::error::Error;
use cabi::address::{Address, Handle};

/// A value of a stream's or a launch's attribute.
pub type AttributeValue = [u64; 8];

api! {
    fn cudaStreamCreate(stream: Out<Handle>) {
        let driver = current()?;
        stream.receive(|place| driver.cuStreamCreateWithPriority(place, 0, 0))
    }
    fn cudaStreamCreateWithFlags(stream: Out<Handle>, flags: c_uint) {
        let driver = current()?;
        stream.receive(|place| driver.cuStreamCreateWithPriority(place, flags, 0))
    }
    fn cudaStreamCreateWithPriority(stream: Out<Handle>, flags: c_uint, priority: c_int) = cuStreamCreateWithPriority;

    fn cudaStreamDestroy(stream: Handle) {
        if stream <= Stream::PER_THREAD.0 {
            // Default streams exist as long as the context.
            return Err(Error::INVALID_HANDLE);
        }
        current()?.cuStreamDestroy_v2(stream)
    }

    fn cudaStreamSynchronize | cudaStreamSynchronize_ptsz(stream: Stream) = cuStreamSynchronize;
    fn cudaStreamQuery | cudaStreamQuery_ptsz(stream: Stream) = cuStreamQuery;
    fn cudaStreamWaitEvent | cudaStreamWaitEvent_ptsz(stream: Stream, event: Handle, flags: c_uint) = cuStreamWaitEvent;
    fn cudaStreamGetPriority | cudaStreamGetPriority_ptsz(stream: Stream, priority: Out<c_int>) = cuStreamGetPriority;
    fn cudaStreamGetFlags | cudaStreamGetFlags_ptsz(stream: Stream, flags: Out<c_uint>) = cuStreamGetFlags;
    fn cudaStreamGetId | cudaStreamGetId_ptsz(stream: Stream, id: Out<u64>) = cuStreamGetId;

    fn cudaStreamGetDevice | cudaStreamGetDevice_ptsz(stream: Stream, device: Out<c_int>) = cuStreamGetDevice;
    fn cudaStreamCopyAttributes | cudaStreamCopyAttributes_ptsz(to: Stream, from: Stream) = cuStreamCopyAttributes;
    fn cudaStreamGetAttribute | cudaStreamGetAttribute_ptsz(
        stream: Stream, attribute: c_int, value: Out<AttributeValue>,
    ) = cuStreamGetAttribute;
    fn cudaStreamSetAttribute | cudaStreamSetAttribute_ptsz(
        stream: Stream, attribute: c_int, value: In<AttributeValue>,
    ) = cuStreamSetAttribute;

    fn cudaStreamAddCallback | cudaStreamAddCallback_ptsz(
        stream: Stream, function: Address, data: Address, flags: c_uint,
    ) {
        if flags != 0 {
            return Err(Error::INVALID_VALUE);
        }
        // A callback of the driver has the same form.
        current()?.cuStreamAddCallback(stream.0, function, data, flags)
    }

    fn cudaStreamBeginCapture | cudaStreamBeginCapture_ptsz(stream: Stream, mode: c_int) = cuStreamBeginCapture_v2;
    fn cudaStreamBeginCaptureToGraph | cudaStreamBeginCaptureToGraph_ptsz(
        stream: Stream, graph: Handle, dependencies: Address, edges: Address, count: usize, mode: c_int,
    ) = cuStreamBeginCaptureToGraph;
    fn cudaStreamEndCapture | cudaStreamEndCapture_ptsz(stream: Stream, graph: Out<Handle>) = cuStreamEndCapture;
    fn cudaStreamIsCapturing | cudaStreamIsCapturing_ptsz(stream: Stream, status: Out<c_int>) = cuStreamIsCapturing;
    fn cudaThreadExchangeStreamCaptureMode(mode: Out<c_int>) = cuThreadExchangeStreamCaptureMode;

    fn cudaStreamGetCaptureInfo_v2 | cudaStreamGetCaptureInfo_v2_ptsz(
        stream: Stream, status: Out<c_int>, id: Address, graph: Address, dependencies: Address, count: Address,
    ) = cuStreamGetCaptureInfo_v2;
    fn cudaStreamGetCaptureInfo_v3 | cudaStreamGetCaptureInfo_v3_ptsz(
        stream: Stream, status: Out<c_int>, id: Address, graph: Address, dependencies: Address, edges: Address,
        count: Address,
    ) = cuStreamGetCaptureInfo_v3;

    fn cudaStreamUpdateCaptureDependencies_v2 | cudaStreamUpdateCaptureDependencies_v2_ptsz(
        stream: Stream, dependencies: Address, edges: Address, count: usize, flags: c_uint,
    ) = cuStreamUpdateCaptureDependencies_v2;

    fn cudaLogsRegisterCallback(function: Address, data: Address, handle: Address) = cuLogsRegisterCallback;
    fn cudaLogsUnregisterCallback(handle: Handle) = cuLogsUnregisterCallback;
    fn cudaLogsCurrent(iterator: Out<c_uint>, flags: c_uint) = cuLogsCurrent;
    fn cudaLogsDumpToFile(iterator: Address, path: In<u8>, flags: c_uint) = cuLogsDumpToFile;
    fn cudaLogsDumpToMemory(iterator: Address, buffer: Address, bytes: Out<usize>, flags: c_uint) = cuLogsDumpToMemory;
}

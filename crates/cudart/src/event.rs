//! Events.

use std::ffi::c_uint;

use crate::api::api;
use crate::argument::{Out, Stream};
use crate::context::current;
use cabi::address::Handle;

api! {
    fn cudaEventCreate(event: Out<Handle>) {
        let driver = current()?;
        event.receive(|place| driver.cuEventCreate(place, 0))
    }

    fn cudaEventCreateWithFlags(event: Out<Handle>, flags: c_uint) = cuEventCreate;
    fn cudaEventDestroy(event: Handle) = cuEventDestroy_v2;
    fn cudaEventQuery(event: Handle) = cuEventQuery;
    fn cudaEventSynchronize(event: Handle) = cuEventSynchronize;
    fn cudaEventRecord | cudaEventRecord_ptsz(event: Handle, stream: Stream) = cuEventRecord;
    fn cudaEventRecordWithFlags | cudaEventRecordWithFlags_ptsz(
        event: Handle, stream: Stream, flags: c_uint,
    ) = cuEventRecordWithFlags;
    fn cudaEventElapsedTime(milliseconds: Out<f32>, start: Handle, end: Handle) = cuEventElapsedTime;
    fn cudaEventElapsedTime_v2(milliseconds: Out<f32>, start: Handle, end: Handle) = cuEventElapsedTime;
}

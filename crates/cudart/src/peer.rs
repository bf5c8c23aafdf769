//! Other devices and other processes: access between devices, and handles that are shared.

use std::ffi::{c_int, c_uint};

use crate::api::api;
use crate::argument::{Device, Out};
use crate::context::{current, primary_context};
use crate::driver::Shared;
use crate::error::Error;
use cabi::address::{Address, Handle};

api! {
    fn cudaDeviceCanAccessPeer(can: Out<c_int>, device: Device, peer: Device) = cuDeviceCanAccessPeer, no context;
    fn cudaDeviceGetP2PAttribute(value: Out<c_int>, attribute: c_int, from: Device, to: Device)
        = cuDeviceGetP2PAttribute, no context;

    fn cudaDeviceEnablePeerAccess(peer: c_int, flags: c_uint) {
        let driver = current()?;
        if flags != 0 {
            return Err(Error::INVALID_VALUE);
        }
        driver.cuCtxEnablePeerAccess(primary_context(peer)?, flags)
    }

    fn cudaDeviceDisablePeerAccess(peer: c_int) {
        let driver = current()?;
        driver.cuCtxDisablePeerAccess(primary_context(peer)?)
    }

    fn cudaIpcGetMemHandle(handle: Out<Shared>, address: Address) = cuIpcGetMemHandle;
    fn cudaIpcOpenMemHandle(address: Out<Address>, handle: Shared, flags: c_uint) = cuIpcOpenMemHandle_v2;
    fn cudaIpcCloseMemHandle(address: Address) = cuIpcCloseMemHandle;
    fn cudaIpcGetEventHandle(handle: Out<Shared>, event: Handle) = cuIpcGetEventHandle;
    fn cudaIpcOpenEventHandle(event: Out<Handle>, handle: Shared) = cuIpcOpenEventHandle;
}

//! Other devices and other processes: access between devices, and handles that are shared.

use std::ffi::{c_int, c_uint};

use crate::address::{Address, Handle, Out};
use crate::api::api;
use crate::context::{check, current, primary_context};
use crate::driver::{Shared, driver, out};
use crate::error::Error;

api! {
    fn cudaDeviceCanAccessPeer(can: Out<c_int>, device: c_int, peer: c_int) {
        let driver = driver()?;
        check(driver, device)?;
        check(driver, peer)?;
        can.ready()?;
        can.set(out(|place| driver.cuDeviceCanAccessPeer(place, device, peer))?)
    }

    fn cudaDeviceGetP2PAttribute(value: Out<c_int>, attribute: c_int, from: c_int, to: c_int) {
        let driver = driver()?;
        check(driver, from)?;
        check(driver, to)?;
        value.ready()?;
        value.set(out(|place| driver.cuDeviceGetP2PAttribute(place, attribute, from, to))?)
    }

    fn cudaDeviceEnablePeerAccess(peer: c_int, flags: c_uint) {
        let driver = current()?;
        if flags != 0 {
            return Err(Error::INVALID_VALUE);
        }
        driver.cuCtxEnablePeerAccess(primary_context(driver, peer)?, flags)
    }

    fn cudaDeviceDisablePeerAccess(peer: c_int) {
        let driver = current()?;
        driver.cuCtxDisablePeerAccess(primary_context(driver, peer)?)
    }

    fn cudaIpcGetMemHandle(handle: Out<Shared>, address: Address) = cuIpcGetMemHandle;
    fn cudaIpcCloseMemHandle(address: Address) = cuIpcCloseMemHandle;
    fn cudaIpcGetEventHandle(handle: Out<Shared>, event: Handle) = cuIpcGetEventHandle;

    fn cudaIpcOpenMemHandle(address: Out<Address>, handle: Shared, flags: c_uint) {
        let driver = current()?;
        address.ready()?;
        driver.cuIpcOpenMemHandle_v2(address.0, handle, flags)
    }

    fn cudaIpcOpenEventHandle(event: Out<Handle>, handle: Shared) {
        let driver = current()?;
        event.ready()?;
        driver.cuIpcOpenEventHandle(event.0, handle)
    }
}

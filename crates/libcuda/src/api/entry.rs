//! Functions by name and version.

use crate::api;
use crate::call::{get_text, put, put_if};
use crate::process::own_function;
use driver::{Driver, Error, Result};

/// The function that `name` means in a version of the API.
fn function(name: &str, _version: i32) -> u64 {
    let newest = ["_v4", "_v3", "_v2", ""].iter().map(|suffix| own_function(&format!("{name}{suffix}")));
    newest.into_iter().find(|&address| address != 0).unwrap_or(0)
}

fn look_up(driver: &mut Driver, name: u64, to: u64, version: i32, status: u64) -> Result<()> {
    let name = get_text(driver, name)?;
    let address = function(&name, version);
    put(driver, to, address)?;
    // Found, or not in any version.
    put_if(driver, status, if address == 0 { 1 } else { 0 })?;
    if address == 0 { Err(Error::NOT_FOUND) } else { Ok(()) }
}

api! {
    fn cuGetProcAddress(name: u64, to: u64, version: i32, _flags: u64) |driver| {
        look_up(driver, name, to, version, 0)
    }

    fn cuGetProcAddress_v2(name: u64, to: u64, version: i32, _flags: u64, status: u64) |driver| {
        look_up(driver, name, to, version, status)
    }

    // Tables of functions that are no part of the public API.
    fn cuGetExportTable(table: u64, _id: u64) |driver| {
        put_if(driver, table, 0_u64)?;
        Err::<(), _>(Error::NOT_SUPPORTED)
    }
}

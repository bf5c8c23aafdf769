//! The driver: found by `dlopen`, called through a typed table.
//!
//! Addresses and handles of the program are numbers, which the driver checks as it checks the numbers of
//! any C program.

mod table;

use std::ffi::c_int;
use std::sync::OnceLock;

use crate::error::{Error, Result};
use cabi::address::{Address, Plain};
use cabi::driver::{Finder, Owner};
pub use cabi::driver::{at, into, name_once};
pub use table::{Driver, Location, Shared};

/// Names this library in messages; `warpwright exec` finds it in programs that have the library
/// linked in.
static MARK: &str = "warpwright CUDA runtime";

static FINDER: OnceLock<Finder> = OnceLock::new();
static DRIVER: OnceLock<Result<Driver>> = OnceLock::new();
static OWNER: Owner = Owner::none();

/// Uses the functions that `find` returns in place of `libcuda.so.1`'s. False if a driver
/// is in use. For tests.
#[doc(hidden)]
pub fn use_driver(find: Finder) -> bool {
    DRIVER.get().is_none() && FINDER.set(find).is_ok()
}

/// The driver, loaded and initialised by the first call.
pub fn driver() -> Result<&'static Driver> {
    if is_forked() {
        return Err(Error::INITIALIZATION);
    }
    DRIVER.get_or_init(start).as_ref().map_err(|error| *error)
}

/// The driver if it was loaded before: used when objects go away.
pub fn loaded_driver() -> Option<&'static Driver> {
    if is_forked() {
        return None;
    }
    DRIVER.get()?.as_ref().ok()
}

fn start() -> Result<Driver> {
    let find = match FINDER.get() {
        Some(find) => *find,
        None => cabi::driver::library(MARK).ok_or(Error::INSUFFICIENT_DRIVER)?,
    };
    let driver = Driver::bind(find);
    driver.cuInit(0)?;
    OWNER.set();
    Ok(driver)
}

/// Whether this process is a child that may use nothing of its parent's: a lock may be held here by
/// a thread that the child does not have.
pub fn is_forked() -> bool {
    OWNER.is_other_process()
}

fn missing(name: &str) -> Error {
    name_once(format!("{name} is not supported by the driver"));
    Error::NOT_SUPPORTED
}

fn check(code: c_int) -> Result<()> {
    if code == 0 { Ok(()) } else { Err(Error(code)) }
}

/// Calls a function of the driver that leaves its result at an address.
pub fn out<T: Plain + Default>(call: impl FnOnce(Address) -> Result<()>) -> Result<T> {
    cabi::driver::out(call)
}

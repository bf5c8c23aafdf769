//! Variables of modules: their addresses, and copies from and to them.

use std::ffi::c_int;

use crate::address::{Address, Out, Stream};
use crate::api::api;
use crate::context::current_context;
use crate::copy::copy_line;
use crate::error::{Error, Result};
use crate::registry;
use crate::transfer::{BY_ADDRESS, TO_DEVICE};

/// A part of a symbol's memory that a copy may use.
pub fn part(symbol: Address, offset: usize, bytes: usize) -> Result<Address> {
    let (driver, context) = current_context()?;
    let (address, size) = registry::variable(driver, context, symbol)?;
    let end = offset.checked_add(bytes).ok_or(Error::INVALID_VALUE)?;
    if end > size { Err(Error::INVALID_VALUE) } else { Ok(address + offset) }
}

/// Copies to and from symbols start or end at a device: other kinds are refused.
fn check_kind(kind: c_int, towards: c_int) -> Result<()> {
    if [towards, 3, BY_ADDRESS].contains(&kind) { Ok(()) } else { Err(Error::INVALID_MEMCPY_DIRECTION) }
}

fn to_symbol(
    symbol: Address,
    from: Address,
    bytes: usize,
    offset: usize,
    kind: c_int,
    stream: Stream,
    wait: bool,
) -> Result<()> {
    check_kind(kind, TO_DEVICE)?;
    copy_line(part(symbol, offset, bytes)?, from, bytes, kind, stream, wait)
}

fn from_symbol(
    to: Address,
    symbol: Address,
    bytes: usize,
    offset: usize,
    kind: c_int,
    stream: Stream,
    wait: bool,
) -> Result<()> {
    check_kind(kind, 2)?;
    copy_line(to, part(symbol, offset, bytes)?, bytes, kind, stream, wait)
}

api! {
    fn cudaGetSymbolAddress(address: Out<Address>, symbol: Address) {
        let (driver, context) = current_context()?;
        address.ready()?;
        address.set(registry::variable(driver, context, symbol)?.0)
    }

    fn cudaGetSymbolSize(size: Out<usize>, symbol: Address) {
        let (driver, context) = current_context()?;
        size.ready()?;
        size.set(registry::variable(driver, context, symbol)?.1)
    }

    fn cudaMemcpyToSymbol | cudaMemcpyToSymbol_ptds(
        symbol: Address,
        from: Address,
        bytes: usize,
        offset: usize,
        kind: c_int,
    ) in stream {
        to_symbol(symbol, from, bytes, offset, kind, stream, true)
    }

    fn cudaMemcpyToSymbolAsync | cudaMemcpyToSymbolAsync_ptsz(
        symbol: Address,
        from: Address,
        bytes: usize,
        offset: usize,
        kind: c_int,
        stream: Stream,
    ) {
        to_symbol(symbol, from, bytes, offset, kind, stream, false)
    }

    fn cudaMemcpyFromSymbol | cudaMemcpyFromSymbol_ptds(
        to: Address,
        symbol: Address,
        bytes: usize,
        offset: usize,
        kind: c_int,
    ) in stream {
        from_symbol(to, symbol, bytes, offset, kind, stream, true)
    }

    fn cudaMemcpyFromSymbolAsync | cudaMemcpyFromSymbolAsync_ptsz(
        to: Address,
        symbol: Address,
        bytes: usize,
        offset: usize,
        kind: c_int,
        stream: Stream,
    ) {
        from_symbol(to, symbol, bytes, offset, kind, stream, false)
    }
}

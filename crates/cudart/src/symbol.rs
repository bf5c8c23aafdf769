//! Variables of modules: their addresses, and copies from and to them.

use std::ffi::c_int;

use crate::api::api;
use crate::argument::Out;
use crate::context::current_context;
use crate::copy::copy_line;
use crate::error::{Error, Result};
use crate::registry;
use crate::transfer::{BY_ADDRESS, TO_DEVICE, TO_HOST, WITHIN_DEVICE};
use cabi::address::Address;

/// A part of a symbol's memory that a copy may use.
pub fn part(symbol: Address, offset: usize, bytes: usize) -> Result<Address> {
    let (address, size) = registry::variable(current_context()?, symbol)?;
    let end = offset.checked_add(bytes).ok_or(Error::INVALID_VALUE)?;
    if end > size { Err(Error::INVALID_VALUE) } else { Ok(address + offset) }
}

/// Refuses directions in which the symbol is not on a device.
fn check_kind(kind: c_int, allowed: c_int) -> Result<()> {
    if [allowed, WITHIN_DEVICE, BY_ADDRESS].contains(&kind) { Ok(()) } else { Err(Error::INVALID_MEMCPY_DIRECTION) }
}

api! {
    fn cudaGetSymbolAddress(address: Out<Address>, symbol: Address) {
        address.set(registry::variable(current_context()?, symbol)?.0)
    }

    fn cudaGetSymbolSize(size: Out<usize>, symbol: Address) {
        size.set(registry::variable(current_context()?, symbol)?.1)
    }

    fn cudaMemcpyToSymbol | cudaMemcpyToSymbol_ptds, cudaMemcpyToSymbolAsync | cudaMemcpyToSymbolAsync_ptsz(
        symbol: Address, from: Address, bytes: usize, offset: usize, kind: c_int,
    ) in order {
        check_kind(kind, TO_DEVICE)?;
        copy_line(part(symbol, offset, bytes)?, from, bytes, kind, order)
    }

    fn cudaMemcpyFromSymbol | cudaMemcpyFromSymbol_ptds, cudaMemcpyFromSymbolAsync | cudaMemcpyFromSymbolAsync_ptsz(
        to: Address, symbol: Address, bytes: usize, offset: usize, kind: c_int,
    ) in order {
        check_kind(kind, TO_HOST)?;
        copy_line(to, part(symbol, offset, bytes)?, bytes, kind, order)
    }
}

//! Fills of memory, in one to three dimensions.

use std::ffi::c_int;

use crate::api::api;
use crate::argument::Order;
use crate::context::current;
use crate::error::{Error, Result};
use crate::geometry::{Extent, Pitched};
use cabi::address::Address;

api! {
    fn cudaMemset | cudaMemset_ptds, cudaMemsetAsync | cudaMemsetAsync_ptsz(
        to: Address, value: c_int, bytes: usize,
    ) in order {
        let driver = current()?;
        if bytes == 0 {
            return Ok(());
        }
        order.start(
            || driver.cuMemsetD8_v2(to, byte(value), bytes),
            |stream| driver.cuMemsetD8Async(to, byte(value), bytes, stream),
        )
    }

    fn cudaMemset2D | cudaMemset2D_ptds, cudaMemset2DAsync | cudaMemset2DAsync_ptsz(
        to: Address, pitch: usize, value: c_int, width: usize, height: usize,
    ) in order {
        fill_rows(Pitched { address: to, pitch, width, height }, value, order)
    }

    fn cudaMemset3D | cudaMemset3D_ptds, cudaMemset3DAsync | cudaMemset3DAsync_ptsz(
        to: Pitched, value: c_int, extent: Extent,
    ) in order {
        let Pitched { address, pitch, .. } = to;
        let Extent { width, height, depth } = extent;
        if height == to.height || depth <= 1 {
            // The slices touch: all of them are rows of one plane.
            let rows = height.checked_mul(depth).ok_or(Error::INVALID_VALUE)?;
            return fill_rows(Pitched { address, pitch, width, height: rows }, value, order);
        }
        let slice = pitch.checked_mul(to.height).ok_or(Error::INVALID_VALUE)?;
        for index in 0..depth {
            let address = address.wrapping_add(index * slice);
            fill_rows(Pitched { address, pitch, width, height }, value, order)?;
        }
        Ok(())
    }
}

/// The byte that a fill takes of its value.
fn byte(value: c_int) -> u8 {
    value.to_le_bytes()[0]
}

/// Fills rows. The driver decides when a synchronous fill waits: fills of device memory do not.
fn fill_rows(to: Pitched, value: c_int, order: Order) -> Result<()> {
    let driver = current()?;
    let Pitched { address, pitch, width, height } = to;
    if width == 0 || height == 0 {
        return Ok(());
    }
    order.start(
        || driver.cuMemsetD2D8_v2(address, pitch, byte(value), width, height),
        |stream| driver.cuMemsetD2D8Async(address, pitch, byte(value), width, height, stream),
    )
}

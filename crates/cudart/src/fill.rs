//! Fills of memory, in one to three dimensions.

use std::ffi::c_int;

use crate::address::{Address, Stream};
use crate::api::api;
use crate::context::current;
use crate::error::{Error, Result};
use crate::geometry::{Extent, Pitched};

api! {
    fn cudaMemset | cudaMemset_ptds(to: Address, value: c_int, bytes: usize) in stream {
        fill(to, value, bytes, stream, true)
    }

    fn cudaMemsetAsync | cudaMemsetAsync_ptsz(
        to: Address,
        value: c_int,
        bytes: usize,
        stream: Stream,
    ) {
        fill(to, value, bytes, stream, false)
    }

    fn cudaMemset2D | cudaMemset2D_ptds(
        to: Address,
        pitch: usize,
        value: c_int,
        width: usize,
        height: usize,
    ) in stream {
        fill_rows(to, pitch, value, width, height, stream, true)
    }

    fn cudaMemset2DAsync | cudaMemset2DAsync_ptsz(
        to: Address,
        pitch: usize,
        value: c_int,
        width: usize,
        height: usize,
        stream: Stream,
    ) {
        fill_rows(to, pitch, value, width, height, stream, false)
    }

    fn cudaMemset3D | cudaMemset3D_ptds(to: Pitched, value: c_int, extent: Extent) in stream {
        fill_3d(to, value, extent, stream, true)
    }

    fn cudaMemset3DAsync | cudaMemset3DAsync_ptsz(
        to: Pitched,
        value: c_int,
        extent: Extent,
        stream: Stream,
    ) {
        fill_3d(to, value, extent, stream, false)
    }
}

/// The byte that a fill takes of its value.
fn byte(value: c_int) -> u8 {
    value.to_le_bytes()[0]
}

fn fill(to: Address, value: c_int, bytes: usize, stream: Stream, wait: bool) -> Result<()> {
    let driver = current()?;
    if bytes == 0 {
        return Ok(());
    }
    if wait && stream == Stream::DEFAULT {
        driver.cuMemsetD8_v2(to, byte(value), bytes)
    } else {
        driver.cuMemsetD8Async(to, byte(value), bytes, stream.0)
    }
}

fn fill_rows(
    to: Address,
    pitch: usize,
    value: c_int,
    width: usize,
    height: usize,
    stream: Stream,
    wait: bool,
) -> Result<()> {
    let driver = current()?;
    if width == 0 || height == 0 {
        return Ok(());
    }
    if wait && stream == Stream::DEFAULT {
        driver.cuMemsetD2D8_v2(to, pitch, byte(value), width, height)
    } else {
        driver.cuMemsetD2D8Async(to, pitch, byte(value), width, height, stream.0)
    }
}

fn fill_3d(to: Pitched, value: c_int, extent: Extent, stream: Stream, wait: bool) -> Result<()> {
    if extent.height == to.height || extent.depth <= 1 {
        // The slices touch: all of them are rows of one plane.
        let rows = extent.height.checked_mul(extent.depth).ok_or(Error::INVALID_VALUE)?;
        return fill_rows(to.address, to.pitch, value, extent.width, rows, stream, wait);
    }
    let slice = to.pitch.checked_mul(to.height).ok_or(Error::INVALID_VALUE)?;
    for index in 0..extent.depth {
        let start = to.address.wrapping_add(index * slice);
        fill_rows(start, to.pitch, value, extent.width, extent.height, stream, wait)?;
    }
    Ok(())
}

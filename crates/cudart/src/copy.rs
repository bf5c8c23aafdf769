//! Copies of memory, in one to three dimensions.

use std::ffi::c_int;

use crate::api::api;
use crate::argument::{In, Order, Out, Stream};
use crate::array::row_bytes;
use crate::context::{current, primary_context};
use crate::driver::at;
use crate::error::{Error, Result};
use crate::geometry::{Extent, Pitched, Position};
use crate::transfer::{Copy3D, DEVICE, HOST, Side, Transfer, WITHIN_DEVICE, sides};
use cabi::address::{Address, Handle, plain};

/// `cudaMemcpy3DPeerParms`.
#[repr(C)]
#[derive(Clone, Copy)]
struct PeerCopy3D {
    from_array: Handle,
    from_position: Position,
    from: Pitched,
    from_device: c_int,
    to_array: Handle,
    to_position: Position,
    to: Pitched,
    to_device: c_int,
    extent: Extent,
}

plain!(PeerCopy3D);

/// Copies bytes.
pub fn copy_line(to: Address, from: Address, bytes: usize, kind: c_int, order: Order) -> Result<()> {
    let driver = current()?;
    let sides = sides(kind)?;
    if bytes == 0 {
        return Ok(());
    }
    if to == 0 || from == 0 {
        return Err(Error::INVALID_VALUE);
    }
    if sides == (HOST, HOST) {
        // The driver finds out later that memory is only readable.
        Out::<u8>::at(to).ready()?;
    }
    order.start(
        || match sides {
            (HOST, DEVICE) => driver.cuMemcpyHtoD_v2(to, from, bytes),
            (DEVICE, HOST) => driver.cuMemcpyDtoH_v2(to, from, bytes),
            (DEVICE, _) => driver.cuMemcpyDtoD_v2(to, from, bytes),
            _ => driver.cuMemcpy(to, from, bytes),
        },
        |stream| match sides {
            (HOST, DEVICE) => driver.cuMemcpyHtoDAsync_v2(to, from, bytes, stream),
            (DEVICE, HOST) => driver.cuMemcpyDtoHAsync_v2(to, from, bytes, stream),
            (DEVICE, _) => driver.cuMemcpyDtoDAsync_v2(to, from, bytes, stream),
            _ => driver.cuMemcpyAsync(to, from, bytes, stream),
        },
    )?;
    order.finish(driver)
}

/// Rows in memory, with the kind of the memory.
fn memory(kind: c_int, place: Pitched) -> Result<Side> {
    if place.width > place.pitch {
        return Err(Error::INVALID_PITCH);
    }
    Ok(Side::memory(kind, place.address, place.pitch, place.height))
}

/// Copies rows between two places in memory.
fn copy_rows(to: Pitched, from: Pitched, kind: c_int, order: Order) -> Result<()> {
    let driver = current()?;
    let (from_kind, to_kind) = sides(kind)?;
    let transfer = Transfer::rows(memory(from_kind, from)?, memory(to_kind, to)?, to.width, to.height);
    transfer.start(driver, order)
}

/// Copies rows from memory to an array.
fn copy_to_array(array: Side, from: Pitched, kind: c_int, order: Order) -> Result<()> {
    let driver = current()?;
    Transfer::rows(memory(sides(kind)?.0, from)?, array, from.width, from.height).start(driver, order)
}

/// Copies rows from an array to memory.
fn copy_from_array(to: Pitched, array: Side, kind: c_int, order: Order) -> Result<()> {
    let driver = current()?;
    Transfer::rows(array, memory(sides(kind)?.1, to)?, to.width, to.height).start(driver, order)
}

/// Copies bytes between an array, row after row, and memory without a pitch: `copy` copies rows.
fn copy_array_line(
    array: Side,
    memory: Address,
    bytes: usize,
    copy: impl Fn(Side, Pitched) -> Result<()>,
) -> Result<()> {
    let row = row_bytes(current()?, array.array_handle())?;
    for Piece { x_bytes, row, width, rows, offset } in pieces(row, array.x_bytes, bytes) {
        let place = Side::array(array.array_handle(), x_bytes, array.y + row);
        copy(place, Pitched { address: memory.wrapping_add(offset), pitch: width, width, height: rows })?;
    }
    Ok(())
}

/// Whole rows, or a part of one, of a line that wraps at the end of rows.
#[derive(PartialEq, Eq, Debug)]
struct Piece {
    x_bytes: usize,
    row: usize,
    width: usize,
    rows: usize,
    offset: usize,
}

/// The pieces of a line: the rest of the first row, whole rows, the start of the last.
fn pieces(row: usize, x_bytes: usize, bytes: usize) -> Vec<Piece> {
    if row == 0 || x_bytes >= row {
        return Vec::new();
    }
    let mut pieces = Vec::new();
    let mut add = |x_bytes, at_row, width, rows, offset| {
        if width > 0 && rows > 0 {
            pieces.push(Piece { x_bytes, row: at_row, width, rows, offset });
        }
    };
    let first = if x_bytes == 0 { 0 } else { bytes.min(row - x_bytes) };
    add(x_bytes, 0, first, 1, 0);
    let (at_row, left) = (usize::from(first > 0), bytes - first);
    add(0, at_row, row, left / row, first);
    add(0, at_row + left / row, left % row, 1, first + left / row * row);
    pieces
}

/// Copies between arrays.
fn copy_arrays(from: Side, to: Side, width: usize, height: usize, order: Order) -> Result<()> {
    let driver = current()?;
    Transfer::rows(from, to, width, height).start(driver, order)
}

fn copy_between_devices(copy: &PeerCopy3D, order: Order) -> Result<()> {
    let driver = current()?;
    let mut transfer = Transfer::of(
        &Copy3D {
            from_array: copy.from_array,
            from_position: copy.from_position,
            from: copy.from,
            to_array: copy.to_array,
            to_position: copy.to_position,
            to: copy.to,
            extent: copy.extent,
            kind: WITHIN_DEVICE,
        },
        driver,
    )?;
    transfer.from.context = primary_context(copy.from_device)?;
    transfer.to.context = primary_context(copy.to_device)?;
    if transfer.is_empty() {
        return Ok(());
    }
    order.start(|| driver.cuMemcpy3DPeer(at(&transfer)), |stream| driver.cuMemcpy3DPeerAsync(at(&transfer), stream))?;
    order.finish(driver)
}

// Bytes, rows and boxes of memory.
api! {
    fn cudaMemcpy | cudaMemcpy_ptds, cudaMemcpyAsync | cudaMemcpyAsync_ptsz(
        to: Address, from: Address, bytes: usize, kind: c_int,
    ) in order {
        copy_line(to, from, bytes, kind, order)
    }

    fn cudaMemcpyPeer(to: Address, to_device: c_int, from: Address, from_device: c_int, bytes: usize) {
        let (to_context, from_context) = (primary_context(to_device)?, primary_context(from_device)?);
        current()?.cuMemcpyPeer(to, to_context, from, from_context, bytes)
    }

    fn cudaMemcpyPeerAsync(
        to: Address, to_device: c_int, from: Address, from_device: c_int, bytes: usize, stream: Stream,
    ) {
        let (to_context, from_context) = (primary_context(to_device)?, primary_context(from_device)?);
        current()?.cuMemcpyPeerAsync(to, to_context, from, from_context, bytes, stream.0)
    }

    fn cudaMemcpy2D | cudaMemcpy2D_ptds, cudaMemcpy2DAsync | cudaMemcpy2DAsync_ptsz(
        to: Address, to_pitch: usize, from: Address, from_pitch: usize, width: usize, height: usize, kind: c_int,
    ) in order {
        let to = Pitched { address: to, pitch: to_pitch, width, height };
        copy_rows(to, Pitched { address: from, pitch: from_pitch, width, height }, kind, order)
    }

    fn cudaMemcpy3D | cudaMemcpy3D_ptds, cudaMemcpy3DAsync | cudaMemcpy3DAsync_ptsz(copy: In<Copy3D>) in order {
        let driver = current()?;
        Transfer::of(&copy.get()?, driver)?.start(driver, order)
    }

    fn cudaMemcpy3DPeer | cudaMemcpy3DPeer_ptds, cudaMemcpy3DPeerAsync | cudaMemcpy3DPeerAsync_ptsz(
        copy: In<PeerCopy3D>,
    ) in order {
        copy_between_devices(&copy.get()?, order)
    }
}

// Arrays.
api! {
    fn cudaMemcpy2DToArray | cudaMemcpy2DToArray_ptds, cudaMemcpy2DToArrayAsync | cudaMemcpy2DToArrayAsync_ptsz(
        to: Handle, x_bytes: usize, y: usize, from: Address, pitch: usize, width: usize, height: usize, kind: c_int,
    ) in order {
        copy_to_array(Side::array(to, x_bytes, y), Pitched { address: from, pitch, width, height }, kind, order)
    }

    fn cudaMemcpy2DFromArray | cudaMemcpy2DFromArray_ptds,
        cudaMemcpy2DFromArrayAsync | cudaMemcpy2DFromArrayAsync_ptsz(
        to: Address, pitch: usize, from: Handle, x_bytes: usize, y: usize, width: usize, height: usize, kind: c_int,
    ) in order {
        copy_from_array(Pitched { address: to, pitch, width, height }, Side::array(from, x_bytes, y), kind, order)
    }

    fn cudaMemcpyToArray | cudaMemcpyToArray_ptds, cudaMemcpyToArrayAsync | cudaMemcpyToArrayAsync_ptsz(
        to: Handle, x_bytes: usize, y: usize, from: Address, bytes: usize, kind: c_int,
    ) in order {
        copy_array_line(Side::array(to, x_bytes, y), from, bytes, |to, from| copy_to_array(to, from, kind, order))
    }

    fn cudaMemcpyFromArray | cudaMemcpyFromArray_ptds, cudaMemcpyFromArrayAsync | cudaMemcpyFromArrayAsync_ptsz(
        to: Address, from: Handle, x_bytes: usize, y: usize, bytes: usize, kind: c_int,
    ) in order {
        copy_array_line(Side::array(from, x_bytes, y), to, bytes, |from, to| copy_from_array(to, from, kind, order))
    }

    fn cudaMemcpy2DArrayToArray | cudaMemcpy2DArrayToArray_ptds(
        to: Handle, to_x_bytes: usize, to_y: usize, from: Handle, from_x_bytes: usize, from_y: usize, width: usize,
        height: usize, _kind: c_int,
    ) in order {
        let (from, to) = (Side::array(from, from_x_bytes, from_y), Side::array(to, to_x_bytes, to_y));
        copy_arrays(from, to, width, height, order)
    }

    fn cudaMemcpyArrayToArray | cudaMemcpyArrayToArray_ptds(
        to: Handle, to_x_bytes: usize, to_y: usize, from: Handle, from_x_bytes: usize, from_y: usize, bytes: usize,
        _kind: c_int,
    ) in order {
        let (from, to) = (Side::array(from, from_x_bytes, from_y), Side::array(to, to_x_bytes, to_y));
        let row = row_bytes(current()?, from.array_handle())?;
        if row != row_bytes(current()?, to.array_handle())? || from_x_bytes != to_x_bytes {
            // Rows that wrap at different places: one row at most.
            return copy_arrays(from, to, bytes, 1, order);
        }
        for piece in pieces(row, from_x_bytes, bytes) {
            let place = |side: Side| Side::array(side.array_handle(), piece.x_bytes, side.y + piece.row);
            copy_arrays(place(from), place(to), piece.width, piece.rows, order)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_structure_has_the_size_of_the_header() {
        assert_eq!(size_of::<PeerCopy3D>(), 168);
    }

    #[test]
    fn a_line_in_an_array_wraps_at_the_end_of_rows() {
        let piece = |x_bytes, row, width, rows, offset| Piece { x_bytes, row, width, rows, offset };
        assert_eq!(pieces(16, 0, 32), [piece(0, 0, 16, 2, 0)]);
        assert_eq!(pieces(16, 0, 10), [piece(0, 0, 10, 1, 0)]);
        assert_eq!(pieces(16, 4, 8), [piece(4, 0, 8, 1, 0)]);
        let all = [piece(4, 0, 12, 1, 0), piece(0, 1, 16, 2, 12), piece(0, 3, 6, 1, 44)];
        assert_eq!(pieces(16, 4, 50), all);
        assert_eq!(pieces(16, 16, 8), []);
    }
}

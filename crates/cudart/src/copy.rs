//! Copies of memory, in one to three dimensions.

use std::ffi::c_int;

use crate::address::{Address, Handle, In, Stream, copy as copy_on_host, plain};
use crate::api::api;
use crate::array::row_bytes;
use crate::context::{current, primary_context};
use crate::driver::at;
use crate::error::{Error, Result};
use crate::geometry::{Extent, Pitched, Position};
use crate::transfer::{Copy3D, DEVICE, HOST, Side, Transfer, WITHIN_DEVICE, finish, sides};

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

/// Copies bytes, and waits where the call is synchronous.
pub fn copy_line(to: Address, from: Address, bytes: usize, kind: c_int, stream: Stream, wait: bool) -> Result<()> {
    let driver = current()?;
    let sides = sides(kind)?;
    if bytes == 0 {
        return Ok(());
    }
    if to == 0 || from == 0 {
        return Err(Error::INVALID_VALUE);
    }
    if wait && stream == Stream::DEFAULT {
        return match sides {
            (HOST, HOST) => copy_on_host(to, from, bytes),
            (HOST, _) => driver.cuMemcpyHtoD_v2(to, from, bytes),
            (DEVICE, HOST) => driver.cuMemcpyDtoH_v2(to, from, bytes),
            (DEVICE, _) => driver.cuMemcpyDtoD_v2(to, from, bytes),
            _ => driver.cuMemcpy(to, from, bytes),
        };
    }
    match sides {
        (HOST, DEVICE) => driver.cuMemcpyHtoDAsync_v2(to, from, bytes, stream.0),
        (DEVICE, HOST) => driver.cuMemcpyDtoHAsync_v2(to, from, bytes, stream.0),
        (DEVICE, _) => driver.cuMemcpyDtoDAsync_v2(to, from, bytes, stream.0),
        _ => driver.cuMemcpyAsync(to, from, bytes, stream.0),
    }?;
    finish(driver, stream, wait)
}

/// Copies rows between two places in memory.
fn copy_rows(
    to: Address,
    to_pitch: usize,
    from: Address,
    from_pitch: usize,
    width: usize,
    height: usize,
    kind: c_int,
    stream: Stream,
    wait: bool,
) -> Result<()> {
    let driver = current()?;
    let (from_kind, to_kind) = sides(kind)?;
    if width > to_pitch || width > from_pitch {
        return Err(Error(12)); // cudaErrorInvalidPitchValue
    }
    let from = Side::memory(from_kind, from, from_pitch, height);
    let to = Side::memory(to_kind, to, to_pitch, height);
    Transfer::rows(from, to, width, height).start(driver, stream, wait)
}

/// Copies rows between an array and memory with a pitch.
fn copy_array_rows(
    array: Side,
    memory: Pitched,
    to_array: bool,
    kind: c_int,
    stream: Stream,
    wait: bool,
) -> Result<()> {
    let driver = current()?;
    let (from_kind, to_kind) = sides(kind)?;
    if memory.width > memory.pitch {
        return Err(Error(12)); // cudaErrorInvalidPitchValue
    }
    let memory_kind = if to_array { from_kind } else { to_kind };
    let side = Side::memory(memory_kind, memory.address, memory.pitch, memory.height);
    let (from, to) = if to_array { (side, array) } else { (array, side) };
    Transfer::rows(from, to, memory.width, memory.height).start(driver, stream, wait)
}

/// Copies bytes between an array, row after row, and memory without a pitch.
fn copy_array_line(
    array: Side,
    memory: Address,
    bytes: usize,
    to_array: bool,
    kind: c_int,
    stream: Stream,
    wait: bool,
) -> Result<()> {
    let row = row_bytes(current()?, array.array_handle())?;
    for piece in pieces(row, array.x_bytes, bytes) {
        let place = Side::array(array.array_handle(), piece.x_bytes, array.y + piece.row);
        let memory = Pitched {
            address: memory.wrapping_add(piece.offset),
            pitch: piece.width,
            width: piece.width,
            height: piece.rows,
        };
        copy_array_rows(place, memory, to_array, kind, stream, wait)?;
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
fn copy_arrays(from: Side, to: Side, width: usize, height: usize, stream: Stream) -> Result<()> {
    let driver = current()?;
    Transfer::rows(from, to, width, height).start(driver, stream, true)
}

fn copy_3d(copy: In<Copy3D>, stream: Stream, wait: bool) -> Result<()> {
    let driver = current()?;
    Transfer::of(&copy.get()?, driver)?.start(driver, stream, wait)
}

fn copy_3d_between(copy: In<PeerCopy3D>, stream: Stream, wait: bool) -> Result<()> {
    let driver = current()?;
    let copy = copy.get()?;
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
    transfer.from.context = primary_context(driver, copy.from_device)?;
    transfer.to.context = primary_context(driver, copy.to_device)?;
    if transfer.is_empty() {
        return Ok(());
    }
    if wait && stream == Stream::DEFAULT {
        return driver.cuMemcpy3DPeer(at(&transfer));
    }
    driver.cuMemcpy3DPeerAsync(at(&transfer), stream.0)?;
    finish(driver, stream, wait)
}

api! {
    fn cudaMemcpy | cudaMemcpy_ptds(to: Address, from: Address, bytes: usize, kind: c_int)
    in stream {
        copy_line(to, from, bytes, kind, stream, true)
    }

    fn cudaMemcpyAsync | cudaMemcpyAsync_ptsz(
        to: Address,
        from: Address,
        bytes: usize,
        kind: c_int,
        stream: Stream,
    ) {
        copy_line(to, from, bytes, kind, stream, false)
    }

    fn cudaMemcpyPeer(
        to: Address,
        to_device: c_int,
        from: Address,
        from_device: c_int,
        bytes: usize,
    ) {
        let driver = current()?;
        let to_context = primary_context(driver, to_device)?;
        let from_context = primary_context(driver, from_device)?;
        driver.cuMemcpyPeer(to, to_context, from, from_context, bytes)
    }

    fn cudaMemcpyPeerAsync(
        to: Address,
        to_device: c_int,
        from: Address,
        from_device: c_int,
        bytes: usize,
        stream: Stream,
    ) {
        let driver = current()?;
        let to_context = primary_context(driver, to_device)?;
        let from_context = primary_context(driver, from_device)?;
        driver.cuMemcpyPeerAsync(to, to_context, from, from_context, bytes, stream.0)
    }

    fn cudaMemcpy2D | cudaMemcpy2D_ptds(
        to: Address,
        to_pitch: usize,
        from: Address,
        from_pitch: usize,
        width: usize,
        height: usize,
        kind: c_int,
    ) in stream {
        copy_rows(to, to_pitch, from, from_pitch, width, height, kind, stream, true)
    }

    fn cudaMemcpy2DAsync | cudaMemcpy2DAsync_ptsz(
        to: Address,
        to_pitch: usize,
        from: Address,
        from_pitch: usize,
        width: usize,
        height: usize,
        kind: c_int,
        stream: Stream,
    ) {
        copy_rows(to, to_pitch, from, from_pitch, width, height, kind, stream, false)
    }

    fn cudaMemcpy2DToArray | cudaMemcpy2DToArray_ptds(
        to: Handle,
        x_bytes: usize,
        y: usize,
        from: Address,
        pitch: usize,
        width: usize,
        height: usize,
        kind: c_int,
    ) in stream {
        let memory = Pitched { address: from, pitch, width, height };
        copy_array_rows(Side::array(to, x_bytes, y), memory, true, kind, stream, true)
    }

    fn cudaMemcpy2DToArrayAsync | cudaMemcpy2DToArrayAsync_ptsz(
        to: Handle,
        x_bytes: usize,
        y: usize,
        from: Address,
        pitch: usize,
        width: usize,
        height: usize,
        kind: c_int,
        stream: Stream,
    ) {
        let memory = Pitched { address: from, pitch, width, height };
        copy_array_rows(Side::array(to, x_bytes, y), memory, true, kind, stream, false)
    }

    fn cudaMemcpy2DFromArray | cudaMemcpy2DFromArray_ptds(
        to: Address,
        pitch: usize,
        from: Handle,
        x_bytes: usize,
        y: usize,
        width: usize,
        height: usize,
        kind: c_int,
    ) in stream {
        let memory = Pitched { address: to, pitch, width, height };
        copy_array_rows(Side::array(from, x_bytes, y), memory, false, kind, stream, true)
    }

    fn cudaMemcpy2DFromArrayAsync | cudaMemcpy2DFromArrayAsync_ptsz(
        to: Address,
        pitch: usize,
        from: Handle,
        x_bytes: usize,
        y: usize,
        width: usize,
        height: usize,
        kind: c_int,
        stream: Stream,
    ) {
        let memory = Pitched { address: to, pitch, width, height };
        copy_array_rows(Side::array(from, x_bytes, y), memory, false, kind, stream, false)
    }

    fn cudaMemcpyToArray | cudaMemcpyToArray_ptds(
        to: Handle,
        x_bytes: usize,
        y: usize,
        from: Address,
        bytes: usize,
        kind: c_int,
    ) in stream {
        copy_array_line(Side::array(to, x_bytes, y), from, bytes, true, kind, stream, true)
    }

    fn cudaMemcpyToArrayAsync | cudaMemcpyToArrayAsync_ptsz(
        to: Handle,
        x_bytes: usize,
        y: usize,
        from: Address,
        bytes: usize,
        kind: c_int,
        stream: Stream,
    ) {
        copy_array_line(Side::array(to, x_bytes, y), from, bytes, true, kind, stream, false)
    }

    fn cudaMemcpyFromArray | cudaMemcpyFromArray_ptds(
        to: Address,
        from: Handle,
        x_bytes: usize,
        y: usize,
        bytes: usize,
        kind: c_int,
    ) in stream {
        copy_array_line(Side::array(from, x_bytes, y), to, bytes, false, kind, stream, true)
    }

    fn cudaMemcpyFromArrayAsync | cudaMemcpyFromArrayAsync_ptsz(
        to: Address,
        from: Handle,
        x_bytes: usize,
        y: usize,
        bytes: usize,
        kind: c_int,
        stream: Stream,
    ) {
        copy_array_line(Side::array(from, x_bytes, y), to, bytes, false, kind, stream, false)
    }

    fn cudaMemcpy2DArrayToArray | cudaMemcpy2DArrayToArray_ptds(
        to: Handle,
        to_x_bytes: usize,
        to_y: usize,
        from: Handle,
        from_x_bytes: usize,
        from_y: usize,
        width: usize,
        height: usize,
        _kind: c_int,
    ) in stream {
        let (from, to) =
            (Side::array(from, from_x_bytes, from_y), Side::array(to, to_x_bytes, to_y));
        copy_arrays(from, to, width, height, stream)
    }

    fn cudaMemcpyArrayToArray | cudaMemcpyArrayToArray_ptds(
        to: Handle,
        to_x_bytes: usize,
        to_y: usize,
        from: Handle,
        from_x_bytes: usize,
        from_y: usize,
        bytes: usize,
        _kind: c_int,
    ) in stream {
        let (from, to) =
            (Side::array(from, from_x_bytes, from_y), Side::array(to, to_x_bytes, to_y));
        let row = row_bytes(current()?, from.array_handle())?;
        if row != row_bytes(current()?, to.array_handle())? || from_x_bytes != to_x_bytes {
            // Rows that wrap at different places: one row at most.
            return copy_arrays(from, to, bytes, 1, stream);
        }
        for piece in pieces(row, from_x_bytes, bytes) {
            let place = |side: Side| Side::array(side.array_handle(), piece.x_bytes, side.y + piece.row);
            copy_arrays(place(from), place(to), piece.width, piece.rows, stream)?;
        }
        Ok(())
    }

    fn cudaMemcpy3D | cudaMemcpy3D_ptds(copy: In<Copy3D>) in stream {
        copy_3d(copy, stream, true)
    }

    fn cudaMemcpy3DAsync | cudaMemcpy3DAsync_ptsz(copy: In<Copy3D>, stream: Stream) {
        copy_3d(copy, stream, false)
    }

    fn cudaMemcpy3DPeer | cudaMemcpy3DPeer_ptds(copy: In<PeerCopy3D>) in stream {
        copy_3d_between(copy, stream, true)
    }

    fn cudaMemcpy3DPeerAsync | cudaMemcpy3DPeerAsync_ptsz(copy: In<PeerCopy3D>, stream: Stream) {
        copy_3d_between(copy, stream, false)
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

//! Copies and fills of memory, in one to three dimensions.
//!
//! A copy is described as the driver's `CUDA_MEMCPY3D`, whichever call it comes from: each side is
//! a place in host or device memory with a pitch, or in an array.

use std::ffi::c_int;

use crate::address::{Address, Argument, Handle, In, Stream, copy as copy_on_host, plain};
use crate::api::api;
use crate::array::{element_bytes, row_bytes};
use crate::context::{current, primary_context};
use crate::driver::{Driver, at};
use crate::error::{Error, Result};

/// `cudaExtent`.
#[repr(C)]
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct Extent {
    pub width: usize,
    pub height: usize,
    pub depth: usize,
}

/// `cudaPos`.
#[repr(C)]
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct Position {
    pub x: usize,
    pub y: usize,
    pub z: usize,
}

/// `cudaPitchedPtr`.
#[repr(C)]
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct Pitched {
    pub address: Address,
    pub pitch: usize,
    pub width: usize,
    pub height: usize,
}

/// `cudaMemcpy3DParms`.
#[repr(C)]
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct Copy3D {
    pub from_array: Handle,
    pub from_position: Position,
    pub from: Pitched,
    pub to_array: Handle,
    pub to_position: Position,
    pub to: Pitched,
    pub extent: Extent,
    pub kind: c_int,
}

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

/// One side of `CUDA_MEMCPY3D`. The ninth field is reserved there and the context in the
/// structure of copies between devices.
#[repr(C)]
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct Side {
    pub x_bytes: usize,
    pub y: usize,
    pub z: usize,
    level: usize,
    kind: c_int,
    host: Address,
    device: Address,
    array: Handle,
    context: Handle,
    pitch: usize,
    height: usize,
}

/// `CUDA_MEMCPY3D`.
#[repr(C)]
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct Transfer {
    pub from: Side,
    pub to: Side,
    pub width_bytes: usize,
    pub height: usize,
    pub depth: usize,
}

/// One side of `CUDA_MEMCPY2D`.
#[repr(C)]
#[derive(Clone, Copy)]
struct FlatSide {
    x_bytes: usize,
    y: usize,
    kind: c_int,
    host: Address,
    device: Address,
    array: Handle,
    pitch: usize,
}

/// `CUDA_MEMCPY2D`.
#[repr(C)]
#[derive(Clone, Copy)]
struct FlatTransfer {
    from: FlatSide,
    to: FlatSide,
    width_bytes: usize,
    height: usize,
}

plain!(Extent, Position, Pitched, Copy3D, PeerCopy3D, Transfer);

impl Argument for Pitched {
    type Raw = Self;

    fn raw(self) -> Result<Self> {
        Ok(self)
    }
}

impl Argument for Extent {
    type Raw = Self;

    fn raw(self) -> Result<Self> {
        Ok(self)
    }
}

/// `CUmemorytype`.
const HOST: c_int = 1;
const DEVICE: c_int = 2;
const ARRAY: c_int = 3;
const UNIFIED: c_int = 4;

/// `cudaMemcpyKind`.
pub const TO_DEVICE: c_int = 1;
const TO_HOST: c_int = 2;
const WITHIN_DEVICE: c_int = 3;
pub const BY_ADDRESS: c_int = 4;

/// The kinds of memory from and to which a kind of copy goes.
fn sides(kind: c_int) -> Result<(c_int, c_int)> {
    match kind {
        0 => Ok((HOST, HOST)),
        TO_DEVICE => Ok((HOST, DEVICE)),
        TO_HOST => Ok((DEVICE, HOST)),
        WITHIN_DEVICE => Ok((DEVICE, DEVICE)),
        BY_ADDRESS => Ok((UNIFIED, UNIFIED)),
        _ => Err(Error::INVALID_MEMCPY_DIRECTION),
    }
}

impl Side {
    /// A place in memory of a kind. Of the two fields for addresses the driver reads that of the
    /// kind.
    fn memory(kind: c_int, address: Address, pitch: usize, height: usize) -> Self {
        let (host, device) = if kind == HOST { (address, 0) } else { (0, address) };
        Self { kind, host, device, pitch, height, ..Self::default() }
    }

    /// A place in an array.
    pub fn array(array: Handle, x_bytes: usize, y: usize) -> Self {
        Self { kind: ARRAY, array, x_bytes, y, ..Self::default() }
    }

    pub fn array_handle(self) -> Handle {
        self.array
    }

    fn flat(self) -> FlatSide {
        FlatSide {
            x_bytes: self.x_bytes,
            y: self.y,
            kind: self.kind,
            host: self.host,
            device: self.device,
            array: self.array,
            pitch: self.pitch,
        }
    }

    /// The runtime's words for this side: array, position, memory.
    fn to_runtime(self, element: usize) -> (Handle, Position, Pitched) {
        let position = Position { x: self.x_bytes / element, y: self.y, z: self.z };
        if self.kind == ARRAY {
            return (self.array, position, Pitched::default());
        }
        let address = if self.kind == HOST { self.host } else { self.device };
        let memory = Pitched { address, pitch: self.pitch, width: self.pitch, height: self.height };
        (0, position, memory)
    }
}

impl Transfer {
    /// Bytes one after the other.
    pub fn line(to: Address, from: Address, bytes: usize, kind: c_int) -> Result<Self> {
        let (from_kind, to_kind) = sides(kind)?;
        Ok(Self {
            from: Side::memory(from_kind, from, bytes, 1),
            to: Side::memory(to_kind, to, bytes, 1),
            width_bytes: bytes,
            height: 1,
            depth: 1,
        })
    }

    /// Rows of bytes.
    pub fn rows(from: Side, to: Side, width_bytes: usize, height: usize) -> Self {
        Self { from, to, width_bytes, height, depth: 1 }
    }

    /// The driver's description of a copy in three dimensions. Widths and positions count elements
    /// where an array takes part, else bytes.
    pub fn of(copy: &Copy3D, driver: &Driver) -> Result<Self> {
        let (from_kind, to_kind) = sides(copy.kind)?;
        let side = |array, position: Position, memory: Pitched, kind| -> Result<(Side, usize)> {
            let has_memory = memory.address != 0;
            if (array != 0) == has_memory {
                // Exactly one of the two says where the side is.
                return Err(Error::INVALID_VALUE);
            }
            let element = if array == 0 { 1 } else { element_bytes(driver, array)? };
            let side = if array == 0 {
                Side::memory(kind, memory.address, memory.pitch, memory.height)
            } else {
                Side::array(array, 0, 0)
            };
            let x_bytes = position.x.checked_mul(element).ok_or(Error::INVALID_VALUE)?;
            Ok((Side { x_bytes, y: position.y, z: position.z, ..side }, element))
        };
        let (from, of_from) = side(copy.from_array, copy.from_position, copy.from, from_kind)?;
        let (to, of_to) = side(copy.to_array, copy.to_position, copy.to, to_kind)?;
        let element = of_from.max(of_to);
        let width_bytes = copy.extent.width.checked_mul(element).ok_or(Error::INVALID_VALUE)?;
        let (height, depth) = (copy.extent.height, copy.extent.depth);
        Ok(Self { from, to, width_bytes, height, depth })
    }

    /// The runtime's description of this copy: the reverse of [`Transfer::of`].
    pub fn to_runtime(self, driver: &Driver) -> Result<Copy3D> {
        let element = |side: Side| match side.kind {
            ARRAY => element_bytes(driver, side.array),
            _ => Ok(1),
        };
        let (of_from, of_to) = (element(self.from)?, element(self.to)?);
        let (from_array, from_position, from) = self.from.to_runtime(of_from);
        let (to_array, to_position, to) = self.to.to_runtime(of_to);
        let width = self.width_bytes / of_from.max(of_to);
        let extent = Extent { width, height: self.height, depth: self.depth };
        let host = |side: Side| side.kind == HOST;
        let kind = match (host(self.from), host(self.to)) {
            _ if self.from.kind == UNIFIED || self.to.kind == UNIFIED => BY_ADDRESS,
            (true, true) => 0,
            (true, false) => TO_DEVICE,
            (false, true) => TO_HOST,
            (false, false) => WITHIN_DEVICE,
        };
        Ok(Copy3D { from_array, from_position, from, to_array, to_position, to, extent, kind })
    }

    fn is_empty(&self) -> bool {
        self.width_bytes == 0 || self.height == 0 || self.depth == 0
    }

    /// Copies, in one plane where there is one: drivers have more ways for that.
    fn start(&self, driver: &Driver, stream: Stream, wait: bool) -> Result<()> {
        if self.is_empty() {
            return Ok(());
        }
        let in_plane = self.depth == 1 && self.from.z == 0 && self.to.z == 0;
        let flat = FlatTransfer {
            from: self.from.flat(),
            to: self.to.flat(),
            width_bytes: self.width_bytes,
            height: self.height,
        };
        let now = wait && stream == Stream::DEFAULT;
        match (in_plane, now) {
            (true, true) => driver.cuMemcpy2DUnaligned_v2(at(&flat)),
            (true, false) => driver.cuMemcpy2DAsync_v2(at(&flat), stream.0),
            (false, true) => driver.cuMemcpy3D_v2(at(self)),
            (false, false) => driver.cuMemcpy3DAsync_v2(at(self), stream.0),
        }?;
        finish(driver, stream, wait && !now)
    }
}

/// Waits for a copy that a synchronous call started in a stream.
fn finish(driver: &Driver, stream: Stream, wait: bool) -> Result<()> {
    if wait { driver.cuStreamSynchronize(stream.0) } else { Ok(()) }
}

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
#[allow(clippy::too_many_arguments, reason = "the arguments of cudaMemcpy2D")]
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
    let row = row_bytes(current()?, array)?;
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
        let row = row_bytes(current()?, from)?;
        if row != row_bytes(current()?, to)? || from_x_bytes != to_x_bytes {
            // Rows that wrap at different places: one row at most.
            return copy_arrays(from, to, bytes, 1, stream);
        }
        for piece in pieces(row, from_x_bytes, bytes) {
            let place = |side: Side| Side::array(side.array, piece.x_bytes, side.y + piece.row);
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

#[cfg(test)]
mod tests {
    use super::*;

    /// Sizes of the public headers, by gcc.
    #[test]
    fn structures_have_the_sizes_of_the_headers() {
        assert_eq!(size_of::<Copy3D>(), 160);
        assert_eq!(size_of::<PeerCopy3D>(), 168);
        assert_eq!(size_of::<Transfer>(), 200);
        assert_eq!(size_of::<FlatTransfer>(), 128);
        assert_eq!(size_of::<Pitched>(), 32);
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

//! The contents of a file for the run as a whole: programs, launches, where each CTA is.

use super::bytes::{Cursor, Expected, put, put_signed, put_text};
use super::file::{Block, VALUES_VERSION};
use super::program::{classes, program, put_classes, put_program};
use isa::Form;
use isa::{Dim3, LaunchShape, Program};
use std::sync::Arc;

/// Commands of the program to the GPU, in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names say it")]
pub enum Action {
    /// The host wrote to device memory.
    CopyToDevice {
        address: u64,
        /// Number of bytes.
        bytes: u64,
    },
    /// The next launch.
    Launch,
    /// The host waited until all launches had ended.
    Wait,
}

/// Description of a kernel launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LaunchInfo {
    /// Index of the kernel in [`Contents::codes`].
    pub code: u32,
    /// Grid, block, registers, shared memory.
    pub shape: LaunchShape,
    /// CUDA stream.
    pub stream: u32,
    /// Compute capability of the code, times ten.
    pub architecture: u32,
    /// How its instructions are timed.
    pub timing: Form,
}

/// Contents of a file without the CTAs.
#[derive(Clone, Debug, Default)]
pub struct Contents {
    /// Name and version of the program that made the file.
    pub producer: String,
    /// Name of the simulated GPU.
    pub gpu: String,
    /// The file has operand values.
    pub has_values: bool,
    /// Programs of the kernels, to which [`LaunchInfo::code`] refers.
    pub codes: Vec<Arc<Program>>,
    /// In order.
    pub actions: Vec<Action>,
    /// In order.
    pub launches: Vec<LaunchInfo>,
}

/// Position of the bytes of a CTA: block, and offset and length in the unpacked block.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Place {
    pub block: u32,
    pub offset: u32,
    pub length: u32,
}

/// Results of a launch.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Ran {
    pub warp_instructions: u64,
    pub thread_instructions: u64,
    /// Position of each CTA, x fastest.
    pub ctas: Vec<Place>,
}

/// The data at the end of a file.
#[derive(Clone, Debug, Default)]
pub(super) struct Footer {
    pub contents: Contents,
    pub ran: Vec<Ran>,
    pub blocks: Vec<Block>,
}

/// Maximum number of threads of a CTA, on every NVIDIA GPU.
const MAX_CTA_THREADS: u64 = 1024;

/// Far more registers than a thread may have, small enough to compute an occupancy.
const MAX_REGISTERS: u32 = 65_535;

impl Footer {
    pub fn encode(&self) -> Vec<u8> {
        let mut out = Vec::new();
        let Contents { producer, gpu, has_values, codes, actions, launches } = &self.contents;
        put_text(&mut out, producer);
        put_text(&mut out, gpu);
        out.push(u8::from(*has_values));
        put_classes(&mut out);
        put(&mut out, codes.len() as u64);
        codes.iter().for_each(|code| put_program(&mut out, code));
        put(&mut out, actions.len() as u64);
        actions.iter().for_each(|action| put_action(&mut out, *action));
        put(&mut out, self.blocks.len() as u64);
        let mut expected = 0;
        for block in &self.blocks {
            put_signed(&mut out, block.offset.wrapping_sub(expected) as i64);
            put(&mut out, block.stored.into());
            put(&mut out, block.unpacked.into());
            out.extend(block.checksum.to_le_bytes());
            expected = block.offset + u64::from(block.stored);
        }
        put(&mut out, launches.len() as u64);
        for (launch, ran) in launches.iter().zip(&self.ran) {
            put_launch(&mut out, launch, ran);
        }
        out
    }

    /// Decodes the end of a file of `version`.
    pub fn decode(bytes: &[u8], version: u16) -> Result<Self, (Expected, u32)> {
        let mut cursor = Cursor::over(bytes);
        decode(&mut cursor, bytes, version).map_err(|expected| (expected, cursor.at))
    }
}

fn decode(cursor: &mut Cursor, bytes: &[u8], version: u16) -> Result<Footer, Expected> {
    let (producer, gpu) = (cursor.text(bytes)?, cursor.text(bytes)?);
    let has_values = match if version < VALUES_VERSION { 0 } else { cursor.byte(bytes)? } {
        0 => false,
        1 => true,
        _ => return Err("whether there are operand values"),
    };
    let classes = classes(cursor, bytes)?;
    let count = cursor.count(bytes, 18)?;
    let codes = (0..count).map(|_| program(cursor, bytes, &classes, version)).collect::<Result<Vec<_>, _>>()?;
    let count = cursor.count(bytes, 1)?;
    let actions = (0..count).map(|_| action(cursor, bytes)).collect::<Result<Vec<_>, _>>()?;
    let blocks = blocks(cursor, bytes)?;
    let count = cursor.count(bytes, 16)?;
    let (mut launches, mut ran) = (Vec::new(), Vec::new());
    for _ in 0..count {
        let (launch, done) = launch(cursor, bytes, codes.len(), &blocks)?;
        launches.push(launch);
        ran.push(done);
    }
    if actions.iter().filter(|a| **a == Action::Launch).count() != launches.len() {
        return Err("as many launches as in the actions");
    }
    if cursor.left() != 0 {
        return Err("nothing after the last launch");
    }
    Ok(Footer { contents: Contents { producer, gpu, has_values, codes, actions, launches }, ran, blocks })
}

fn put_action(out: &mut Vec<u8>, action: Action) {
    match action {
        Action::CopyToDevice { address, bytes } => {
            out.push(0);
            put(out, address);
            put(out, bytes);
        }
        Action::Launch => out.push(1),
        Action::Wait => out.push(2),
    }
}

fn action(cursor: &mut Cursor, bytes: &[u8]) -> Result<Action, Expected> {
    match cursor.byte(bytes)? {
        0 => {
            let (address, length) = (cursor.number(bytes)?, cursor.number(bytes)?);
            let fits = address.checked_add(length).is_some_and(|end| end >> 57 == 0);
            if fits { Ok(Action::CopyToDevice { address, bytes: length }) } else { Err("a copy within device memory") }
        }
        1 => Ok(Action::Launch),
        2 => Ok(Action::Wait),
        _ => Err("a copy, a launch or a wait"),
    }
}

fn blocks(cursor: &mut Cursor, bytes: &[u8]) -> Result<Vec<Block>, Expected> {
    let count = cursor.count(bytes, 7)?;
    let mut blocks = Vec::with_capacity(count);
    let mut expected = 0u64;
    for _ in 0..count {
        let offset = expected.wrapping_add_signed(cursor.signed(bytes)?);
        let (stored, unpacked) = (cursor.narrow::<u32>(bytes)?, cursor.narrow(bytes)?);
        expected = offset.checked_add(stored.into()).ok_or("a block within the file")?;
        blocks.push(Block { offset, stored, unpacked, checksum: cursor.word(bytes)? });
    }
    Ok(blocks)
}

fn put_dim(out: &mut Vec<u8>, dim: Dim3) {
    [dim.x, dim.y, dim.z].into_iter().for_each(|n| put(out, n.into()));
}

/// A size without zeros, and its volume.
fn dim(cursor: &mut Cursor, bytes: &[u8]) -> Result<(Dim3, u64), Expected> {
    let dim = Dim3::new(cursor.narrow(bytes)?, cursor.narrow(bytes)?, cursor.narrow(bytes)?);
    let volume = u64::from(dim.x).checked_mul(dim.y.into()).and_then(|v| v.checked_mul(dim.z.into()));
    let volume = volume.filter(|&v| v > 0).ok_or("a grid and a block that are not empty")?;
    Ok((dim, volume))
}

fn put_launch(out: &mut Vec<u8>, launch: &LaunchInfo, ran: &Ran) {
    put(out, launch.code.into());
    put_dim(out, launch.shape.grid);
    put_dim(out, launch.shape.block);
    put(out, launch.shape.registers_per_thread.into());
    put(out, launch.shape.shared_bytes.into());
    put(out, launch.stream.into());
    put(out, launch.architecture.into());
    out.push(match launch.timing {
        Form::Ptx => 0,
        Form::Sass => 1,
    });
    put(out, ran.warp_instructions);
    put(out, ran.thread_instructions);
    put(out, ran.ctas.len() as u64);
    let mut last = Place::default();
    for place in &ran.ctas {
        // CTAs usually follow each other.
        put_signed(out, i64::from(place.block) - i64::from(last.block));
        put_signed(out, i64::from(place.offset) - i64::from(last.offset) - i64::from(last.length));
        put(out, place.length.into());
        last = *place;
    }
}

fn launch(cursor: &mut Cursor, bytes: &[u8], codes: usize, blocks: &[Block]) -> Result<(LaunchInfo, Ran), Expected> {
    let code = cursor.narrow::<u32>(bytes)?;
    if code as usize >= codes {
        return Err("a launch of a program that the file has");
    }
    let (grid, ctas) = dim(cursor, bytes)?;
    let (block, threads) = dim(cursor, bytes)?;
    if threads > MAX_CTA_THREADS {
        return Err("a CTA of at most 1024 threads");
    }
    let (registers_per_thread, shared_bytes) = (cursor.narrow(bytes)?, cursor.narrow(bytes)?);
    if registers_per_thread > MAX_REGISTERS {
        return Err("a thread of at most 65,535 registers");
    }
    let (stream, architecture) = (cursor.narrow(bytes)?, cursor.narrow(bytes)?);
    let timing = match cursor.byte(bytes)? {
        0 => Form::Ptx,
        1 => Form::Sass,
        _ => return Err("the timing of PTX or of machine code"),
    };
    let (warp_instructions, thread_instructions) = (cursor.number(bytes)?, cursor.number(bytes)?);
    if cursor.count(bytes, 3)? as u64 != ctas {
        return Err("a place for each CTA of the grid");
    }
    let ctas = (0..ctas).scan(Place::default(), |last, _| Some(place(cursor, bytes, blocks, last)));
    let ctas = ctas.collect::<Result<Vec<_>, _>>()?;
    let shape = LaunchShape { grid, block, registers_per_thread, shared_bytes, cluster: None };
    let launch = LaunchInfo { code, shape, stream, architecture, timing };
    Ok((launch, Ran { warp_instructions, thread_instructions, ctas }))
}

/// Decodes the place that follows `last`, and stores it in `last`.
fn place(cursor: &mut Cursor, bytes: &[u8], blocks: &[Block], last: &mut Place) -> Result<Place, Expected> {
    let from = |base: u32, by: i64| i64::from(base).checked_add(by).and_then(|n| u32::try_from(n).ok());
    let block = from(last.block, cursor.signed(bytes)?).ok_or("a block that the file has")?;
    let after = last.offset.checked_add(last.length).ok_or("a CTA within its block")?;
    let offset = from(after, cursor.signed(bytes)?).ok_or("a CTA within its block")?;
    let length: u32 = cursor.narrow(bytes)?;
    let unpacked = blocks.get(block as usize).ok_or("a block that the file has")?.unpacked;
    if offset.checked_add(length).is_none_or(|end| end > unpacked) {
        return Err("a CTA within its block");
    }
    *last = Place { block, offset, length };
    Ok(*last)
}

//! Reads files of the native format.

use super::codec::{CtaCode, Layout};
use super::contents::{Contents, Footer, LaunchInfo, Ran};
use super::file::{
    BLOCK_RATIO, Block, FOOTER_RATIO, HEAD, HEAD_BYTES, NATIVE_VERSION, RECONVERGENCE_VERSION, TAIL, TAIL_BYTES,
    read_block,
};
use crate::TraceError;
use isa::Program;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// An open file of the native format: everything except the CTAs.
#[derive(Debug)]
#[allow(missing_docs, reason = "the names say it")]
pub struct NativeTrace {
    path: PathBuf,
    pub contents: Contents,
    layout: Layout,
    ran: Vec<Ran>,
    blocks: Vec<Block>,
}

impl NativeTrace {
    /// Opens the file at `path` and reads its end.
    ///
    /// # Errors
    /// A file that cannot be read, is not of this format or is of another version, is damaged, or has
    /// impossible contents.
    pub fn open(path: &Path) -> Result<Self, TraceError> {
        let fail = |e: std::io::Error| TraceError::new(path, 0, format!("cannot be opened: {e}"));
        let mut file = File::open(path).map_err(fail)?;
        let length = file.metadata().map_err(fail)?.len();
        let (version, footer_block) = ends(&mut file, path, length)?;
        let bytes = read_block(&mut file, path, footer_block, FOOTER_RATIO)?;
        let footer = Footer::decode(&bytes, version).map_err(|(expected, at)| {
            let what = format!("expected {expected} in the table of contents, at its byte {at}");
            TraceError::at_byte(path, footer_block.offset, what)
        })?;
        for block in &footer.blocks {
            let end = block.offset.checked_add(block.stored.into());
            if block.offset < HEAD_BYTES || end.is_none_or(|end| end > footer_block.offset) {
                return Err(TraceError::at_byte(path, block.offset, "a block is outside the file's CTAs"));
            }
        }
        let Footer { contents, ran, blocks } = footer;
        let layout = Layout { reconvergence: version >= RECONVERGENCE_VERSION, values: contents.has_values };
        Ok(Self { path: path.to_owned(), contents, layout, ran, blocks })
    }

    /// The launches, in order.
    pub fn launches(&self) -> &[LaunchInfo] {
        &self.contents.launches
    }

    /// The program of launch `launch`.
    pub fn code(&self, launch: usize) -> &Arc<Program> {
        &self.contents.codes[self.contents.launches[launch].code as usize]
    }

    /// Number of warp instructions of launch `launch`.
    pub fn warp_instructions(&self, launch: usize) -> u64 {
        self.ran[launch].warp_instructions
    }

    /// Number of thread instructions of launch `launch`.
    pub fn thread_instructions(&self, launch: usize) -> u64 {
        self.ran[launch].thread_instructions
    }

    /// Path of the file.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

/// Checks head and tail; returns the version of the format and the position of the footer.
fn ends(file: &mut File, path: &Path, length: u64) -> Result<(u16, Block), TraceError> {
    let fail = |e: std::io::Error| TraceError::new(path, 0, format!("cannot be read: {e}"));
    let mut head = [0; HEAD_BYTES as usize];
    let is_ours = length >= HEAD_BYTES && file.read_exact(&mut head).map_err(fail).map(|()| head.starts_with(HEAD))?;
    if !is_ours {
        return Err(TraceError::at_byte(path, 0, "this is not a trace of Warpwright's own format"));
    }
    let version = u16::from_le_bytes([head[8], head[9]]);
    if !(1..=NATIVE_VERSION).contains(&version) {
        let what = format!("version {version} of the format; this program reads versions 1 to {NATIVE_VERSION}");
        return Err(TraceError::at_byte(path, 8, what).hint("record the trace again with this version of warpwright"));
    }
    let cut = |at| {
        TraceError::at_byte(path, at, "the end of a trace is missing")
            .hint("the file is cut short: its recording or its copying was not finished")
    };
    let at = length.checked_sub(TAIL_BYTES).filter(|&at| at >= HEAD_BYTES).ok_or_else(|| cut(length))?;
    let mut tail = [0; TAIL_BYTES as usize];
    file.seek(SeekFrom::Start(at)).and_then(|_| file.read_exact(&mut tail)).map_err(fail)?;
    if !tail.ends_with(TAIL) {
        return Err(cut(length));
    }
    let word = |from: usize| u32::from_le_bytes([tail[from], tail[from + 1], tail[from + 2], tail[from + 3]]);
    let offset = u64::from(word(0)) | u64::from(word(4)) << 32;
    let block = Block { offset, stored: word(8), unpacked: word(12), checksum: word(16) };
    if offset < HEAD_BYTES || offset.checked_add(block.stored.into()) != Some(at) {
        return Err(TraceError::at_byte(path, at, "the table of contents is not where the tail says"));
    }
    Ok((version, block))
}

/// Number of unpacked blocks that are kept: CTAs dispatched one after the other usually share one.
const KEPT_BLOCKS: usize = 4;

/// Reads CTAs of a file, in any order.
#[derive(Debug)]
pub(crate) struct CtaSource {
    trace: Arc<NativeTrace>,
    file: File,
    /// Unpacked blocks, the last used one first.
    kept: Vec<(u32, Vec<u8>)>,
}

impl CtaSource {
    pub fn open(trace: Arc<NativeTrace>) -> Result<Self, TraceError> {
        let file =
            File::open(&trace.path).map_err(|e| TraceError::new(&trace.path, 0, format!("cannot be opened: {e}")))?;
        Ok(Self { trace, file, kept: Vec::new() })
    }

    pub fn trace(&self) -> &Arc<NativeTrace> {
        &self.trace
    }

    /// Reads CTA number `cta` (x fastest) of launch `launch` into `out`.
    pub fn read(&mut self, launch: usize, cta: u64, out: &mut CtaCode) -> Result<(), TraceError> {
        let trace = self.trace.clone();
        let place = *trace.ran[launch]
            .ctas
            .get(cta as usize)
            .ok_or_else(|| TraceError::new(&trace.path, 0, format!("launch {launch} has no CTA {cta}")))?;
        let block = trace.blocks[place.block as usize];
        match self.kept.iter().position(|(index, _)| *index == place.block) {
            Some(at) => self.kept[..=at].rotate_right(1),
            None => {
                self.kept.truncate(KEPT_BLOCKS - 1);
                let bytes = read_block(&mut self.file, &trace.path, block, BLOCK_RATIO)?;
                self.kept.insert(0, (place.block, bytes));
            }
        }
        let bytes = &self.kept[0].1[place.offset as usize..][..place.length as usize];
        let warps = trace.contents.launches[launch].shape.warps() as usize;
        out.take(bytes, warps, trace.code(launch), trace.layout).map_err(|expected| {
            let what = format!("expected {expected} in CTA {cta} of launch {launch}, in the block that begins here");
            TraceError::at_byte(&trace.path, block.offset, what)
        })
    }

    /// The error of a warp of CTA `cta` of launch `launch` that cannot be read further.
    #[cold]
    pub fn error(&self, launch: usize, cta: u64, expected: &str) -> TraceError {
        let place = self.trace.ran[launch].ctas.get(cta as usize).copied().unwrap_or_default();
        let offset = self.trace.blocks.get(place.block as usize).map_or(0, |b| b.offset);
        let what = format!("expected {expected} in CTA {cta} of launch {launch}, in the block that begins here");
        TraceError::at_byte(&self.trace.path, offset, what)
    }
}

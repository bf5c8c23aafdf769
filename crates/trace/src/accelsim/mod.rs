//! Writes Accel-Sim traces: `kernelslist.g` and a file for each launch, in the format of tracer version 5.
//!
//! Deviations, since the format or Accel-Sim's reader is more limited than our format:
//! - A1: predicates and uniform registers are not named; at most one written and four read registers are.
//! - A2: PTX instructions appear as the SASS opcode in `data/ptx_to_sass.tsv`; PTX registers beyond
//!   254 share numbers.
//! - A3: addresses of constant, parameter and texture accesses, and those in shared memory of
//!   asynchronous copies, are not written.
//! - A4: barrier numbers and thread counts are not written.
//! - A5: targets of branches are not written: the next line shows them.

mod opcode;
mod text;

use crate::TraceError;
use crate::native::{Action, NativeTrace};
use std::fs::File;
use std::io::{BufWriter, Write};
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;
use text::LaunchText;

/// Compression of the files of launches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compression {
    /// Uncompressed.
    None,
    /// `.gz` files.
    Gzip,
    /// `.xz` files, which Accel-Sim reads.
    Xz,
    /// `.zst` files.
    Zstd,
}

impl Compression {
    /// End of file names.
    pub const fn suffix(self) -> &'static str {
        match self {
            Self::None => "",
            Self::Gzip => ".gz",
            Self::Xz => ".xz",
            Self::Zstd => ".zst",
        }
    }
}

/// Called with the progress; can break off the export.
pub type KeepOn<'a> = dyn FnMut(u64, u64) -> ControlFlow<()> + 'a;

/// A compromise of speed and size for `.xz`.
const XZ_PRESET: u32 = 3;
/// Bytes in which `.xz` looks for repetitions, for which each reader needs memory. More saves nothing: lines repeat those
/// shortly before them.
const XZ_DICTIONARY: u32 = 1 << 20;

/// Writes `trace` as an Accel-Sim trace into the existing folder `directory`; returns the number of bytes
/// written. Calls `keep_on` for each CTA with the number of those written and the total.
///
/// # Errors
/// If the trace is damaged, a file cannot be written, or `keep_on` breaks off.
pub fn export_accelsim(
    trace: &Arc<NativeTrace>,
    directory: &Path,
    compression: Compression,
    keep_on: &mut KeepOn<'_>,
) -> Result<u64, TraceError> {
    let (mut list, mut bytes, mut launch) = (String::new(), 0, 0);
    let (mut done, all) = (0, trace.launches().iter().map(|launch| launch.shape.ctas()).sum());
    let mut keep_on = || {
        done += 1;
        keep_on(done, all)
    };
    for action in &trace.contents.actions {
        match action {
            Action::CopyToDevice { address, bytes } => list += &format!("MemcpyHtoD,0x{address:016x},{bytes}\n"),
            Action::Launch => {
                let name = format!("kernel-{}.traceg{}", launch + 1, compression.suffix());
                bytes += write_launch(trace, launch, &directory.join(&name), compression, &mut keep_on)?;
                list += &name;
                list.push('\n');
                launch += 1;
            }
            Action::Wait => {}
        }
    }
    let path = directory.join("kernelslist.g");
    std::fs::write(&path, &list).map_err(|e| unwritten(&path, &e))?;
    Ok(bytes + list.len() as u64)
}

fn unwritten(path: &Path, error: &std::io::Error) -> TraceError {
    TraceError::new(path, 0, format!("cannot be written: {error}"))
}

fn write_launch(
    trace: &Arc<NativeTrace>,
    launch: usize,
    path: &Path,
    compression: Compression,
    keep_on: &mut dyn FnMut() -> ControlFlow<()>,
) -> Result<u64, TraceError> {
    let mut text = LaunchText::new(trace, launch, keep_on)?;
    let file = File::create(path).map_err(|e| unwritten(path, &e))?;
    let written = compress(&mut text, file, compression).map_err(|e| unwritten(path, &e));
    match text.failed {
        Some(error) => Err(error),
        None => written,
    }
}

/// Writes `text` to `file`; returns the file's size.
fn compress(text: &mut LaunchText<'_>, file: File, compression: Compression) -> std::io::Result<u64> {
    let mut out = Patient { out: BufWriter::new(file), bytes: 0, failed: None };
    match compression {
        Compression::None => {
            std::io::copy(text, &mut out)?;
        }
        Compression::Gzip => {
            let mut encoder = flate2::write::GzEncoder::new(&mut out, flate2::Compression::default());
            std::io::copy(text, &mut encoder)?;
            encoder.finish()?;
        }
        Compression::Xz => {
            let mut options = lzma_rust2::XzOptions::with_preset(XZ_PRESET);
            options.lzma_options.dict_size = XZ_DICTIONARY;
            let mut encoder = lzma_rust2::XzWriter::new(&mut out, options)?;
            std::io::copy(text, &mut encoder)?;
            encoder.finish()?;
        }
        Compression::Zstd => {
            ruzstd::encoding::compress(text, &mut out, ruzstd::encoding::CompressionLevel::Fastest);
        }
    }
    out.out.flush()?;
    out.failed.map_or(Ok(out.bytes), Err)
}

/// Keeps the first error until the end: not every compressor reports one.
struct Patient<W> {
    out: W,
    bytes: u64,
    failed: Option<std::io::Error>,
}

impl<W: Write> Write for Patient<W> {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        if self.failed.is_none() {
            self.failed = self.out.write_all(bytes).err();
            self.bytes += bytes.len() as u64;
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

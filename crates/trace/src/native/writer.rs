//! Writes files of the native format during the run.

use super::contents::{Action, Contents, Footer, LaunchInfo, Place, Ran};
use super::file::{BLOCK_RATIO, Block, FOOTER_RATIO, HEAD, HEAD_BYTES, NATIVE_VERSION, TAIL, checksum, pack};
use super::recording::{Message, Recording};
use super::stream::number;
use crate::TraceError;
use isa::{KernelId, Program, WarpStream};
use kit::output::NewFile;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::JoinHandle;

/// Unpacked size at which a block is closed.
const BLOCK_BYTES: usize = 64 << 10;

/// Maximum number of finished CTAs that wait for the writer.
const WAITING_CTAS: usize = 16;

/// Summary of a written file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names of some fields and variants say it all")]
pub struct Written {
    /// Size of the file.
    pub bytes: u64,
    pub launches: u64,
    pub ctas: u64,
    pub warp_instructions: u64,
    pub thread_instructions: u64,
}

/// Records a run into a file of the native format.
///
/// The file gets its name when it is complete. If the recorder is dropped without [`Recorder::finish`], an
/// old file of that name is kept.
#[derive(Debug)]
pub struct Recorder {
    path: PathBuf,
    to: SyncSender<Message>,
    writer: Option<JoinHandle<std::io::Result<(Written, NewFile)>>>,
    contents: Contents,
}

impl Recorder {
    /// Begins a file at `path` with the names `producer` and `gpu`. `with_values` records the values that
    /// instructions read, which the streams must know.
    ///
    /// # Errors
    /// If the file cannot be made.
    pub fn create(path: &Path, producer: &str, gpu: &str, with_values: bool) -> Result<Self, TraceError> {
        let fail = |e| unwritten(path, &e);
        let file = NewFile::create(path).map_err(fail)?;
        let (to, from) = sync_channel(WAITING_CTAS);
        let thread = std::thread::Builder::new().name("trace writer".into());
        let writer = thread.spawn(move || write(BufWriter::new(file), &from)).map_err(fail)?;
        let contents =
            Contents { producer: producer.into(), gpu: gpu.into(), has_values: with_values, ..Contents::default() };
        Ok(Self { path: path.to_owned(), to, writer: Some(writer), contents })
    }

    /// Wraps `stream` so that its CTAs are recorded. `program_of` finds the program of a launch.
    pub fn record<S: WarpStream>(
        &self,
        stream: S,
        program_of: fn(&S::Shared, KernelId) -> Option<Arc<Program>>,
    ) -> Recording<S> {
        Recording::new(stream, program_of, self.to.clone(), self.contents.has_values)
    }

    /// Records a command of the host. Launches are recorded by [`Recorder::launch`].
    pub fn note(&mut self, action: Action) {
        // Waiting twice has the same effect as waiting once.
        if action != Action::Wait || self.contents.actions.last() != Some(&Action::Wait) {
            self.contents.actions.push(action);
        }
    }

    /// Records a launch of `code`. Launches are numbered in the order of [`KernelId`]s. This sets
    /// [`LaunchInfo::code`].
    pub fn launch(&mut self, program: &Arc<Program>, launch: LaunchInfo) {
        let known = self.contents.codes.iter().position(|known| Arc::ptr_eq(known, program));
        let index = known.unwrap_or_else(|| {
            self.contents.codes.push(Arc::clone(program));
            self.contents.codes.len() - 1
        });
        self.contents.launches.push(LaunchInfo { code: index as u32, ..launch });
        self.contents.actions.push(Action::Launch);
    }

    /// Completes the file. All launches have ended.
    ///
    /// # Errors
    /// If something could not be written, or CTAs are missing.
    pub fn finish(mut self) -> Result<Written, TraceError> {
        let contents = Box::new(std::mem::take(&mut self.contents));
        // If the writer has failed, its own error says why.
        let _ = self.to.send(Message::Finish(contents));
        let finished = self.join().and_then(|(written, file)| file.finish().map(|()| written));
        finished.map_err(|e| unwritten(&self.path, &e))
    }

    /// Why the file could not be written, of a recording that was broken off; `None` if that is not the reason.
    pub fn trouble(mut self) -> Option<TraceError> {
        let has_ended = self.writer.as_ref().is_some_and(JoinHandle::is_finished);
        // A writer waits for more until it has failed.
        has_ended.then(|| self.join().err().map(|e| unwritten(&self.path, &e))).flatten()
    }

    fn join(&mut self) -> std::io::Result<(Written, NewFile)> {
        let fail = || std::io::Error::other("the writer has failed");
        self.writer.take().ok_or_else(fail)?.join().map_err(|_| fail())?
    }
}

fn unwritten(path: &Path, error: &std::io::Error) -> TraceError {
    TraceError::new(path, 0, format!("cannot be written: {error}"))
}

impl Drop for Recorder {
    fn drop(&mut self) {
        if self.writer.is_some() {
            // Without contents the writer only ends; the file is dropped unfinished.
            let _ = self.to.send(Message::Finish(Box::default()));
            let _ = self.join();
        }
    }
}

/// Finished CTAs of a launch, in order of completion.
#[derive(Default)]
struct Came {
    warp_instructions: u64,
    thread_instructions: u64,
    ctas: Vec<(isa::Dim3, Place)>,
}

/// Collects CTAs into blocks.
struct Blocks<W> {
    out: W,
    offset: u64,
    open: Vec<u8>,
    written: Vec<Block>,
}

impl<W: Write> Blocks<W> {
    fn add(&mut self, bytes: &[u8]) -> std::io::Result<Place> {
        let number = |n: usize| u32::try_from(n).map_err(|_| std::io::Error::other("a CTA takes more than 4 GiB"));
        let place = Place {
            block: number(self.written.len())?,
            offset: number(self.open.len())?,
            length: number(bytes.len())?,
        };
        self.open.extend_from_slice(bytes);
        number(self.open.len())?;
        if self.open.len() >= BLOCK_BYTES {
            self.close()?;
        }
        Ok(place)
    }

    /// Writes the open block.
    fn close(&mut self) -> std::io::Result<()> {
        if !self.open.is_empty() {
            let block = self.store(BLOCK_RATIO)?;
            self.written.push(block);
        }
        Ok(())
    }

    /// Packs and writes the open bytes.
    fn store(&mut self, ratio: u64) -> std::io::Result<Block> {
        let packed = pack(&self.open, ratio)?;
        let (stored, unpacked) = (u32::try_from(packed.len()), u32::try_from(self.open.len()));
        let (Ok(stored), Ok(unpacked)) = (stored, unpacked) else {
            return Err(std::io::Error::other("the table of contents takes more than 4 GiB"));
        };
        self.out.write_all(&packed)?;
        let block = Block { offset: self.offset, stored, unpacked, checksum: checksum(&packed) };
        self.offset += u64::from(stored);
        self.open.clear();
        Ok(block)
    }
}

/// Main function of the writer's thread.
fn write(mut out: BufWriter<NewFile>, from: &Receiver<Message>) -> std::io::Result<(Written, NewFile)> {
    out.write_all(HEAD)?;
    out.write_all(&NATIVE_VERSION.to_le_bytes())?;
    out.write_all(&[0; HEAD_BYTES as usize - HEAD.len() - 2])?;
    let mut blocks = Blocks { out, offset: HEAD_BYTES, open: Vec::new(), written: Vec::new() };
    let mut came: Vec<Came> = Vec::new();
    loop {
        kit::stop::check()?;
        match from.recv() {
            Ok(Message::Cta(cta)) => {
                let place = blocks.add(&cta.bytes)?;
                let launch = crate::stream::slot(&mut came, cta.launch);
                launch.warp_instructions += cta.warp_instructions;
                launch.thread_instructions += cta.thread_instructions;
                launch.ctas.push((cta.position, place));
            }
            Ok(Message::Finish(contents)) => return finish(blocks, came, *contents),
            Err(_) => return Err(std::io::Error::other("the recording was broken off")),
        }
    }
}

fn finish(
    mut blocks: Blocks<BufWriter<NewFile>>,
    mut came: Vec<Came>,
    contents: Contents,
) -> std::io::Result<(Written, NewFile)> {
    blocks.close()?;
    came.resize_with(contents.launches.len().max(came.len()), Came::default);
    let ran = contents.launches.iter().zip(&came).map(|(launch, came)| sorted(launch, came));
    let ran = ran.collect::<std::io::Result<Vec<_>>>()?;
    let mut written = Written {
        bytes: 0,
        launches: contents.launches.len() as u64,
        ctas: ran.iter().map(|r| r.ctas.len() as u64).sum(),
        warp_instructions: ran.iter().map(|r| r.warp_instructions).sum(),
        thread_instructions: ran.iter().map(|r| r.thread_instructions).sum(),
    };
    let footer = Footer { contents, ran, blocks: std::mem::take(&mut blocks.written) };
    blocks.open = footer.encode();
    let block = blocks.store(FOOTER_RATIO)?;
    let mut tail = block.offset.to_le_bytes().to_vec();
    for word in [block.stored, block.unpacked, block.checksum, 0] {
        tail.extend(word.to_le_bytes());
    }
    tail.extend(TAIL);
    blocks.out.write_all(&tail)?;
    written.bytes = blocks.offset + tail.len() as u64;
    Ok((written, blocks.out.into_inner()?))
}

/// The CTAs of a launch, sorted by position; an error unless all have finished.
fn sorted(launch: &LaunchInfo, came: &Came) -> std::io::Result<Ran> {
    let grid = launch.shape.grid;
    let mut ctas: Vec<_> = came.ctas.iter().map(|&(cta, place)| (number(grid, cta), place)).collect();
    ctas.sort_unstable_by_key(|&(number, _)| number);
    let whole = ctas.iter().map(|&(number, _)| number).eq(0..grid.volume());
    if !whole {
        return Err(std::io::Error::other(format!("{} of {} CTAs have ended", ctas.len(), grid.volume())));
    }
    Ok(Ran {
        warp_instructions: came.warp_instructions,
        thread_instructions: came.thread_instructions,
        ctas: ctas.into_iter().map(|(_, place)| place).collect(),
    })
}

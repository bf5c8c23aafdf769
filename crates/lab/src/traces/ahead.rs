//! Traces that a thread of its own reads while kernels run.
//!
//! In the order of their list. More than one is read ahead, since small and large kernels often alternate.

use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::thread::JoinHandle;
use std::time::Duration;
use trace::{KernelTrace, TraceError};

/// Maximum number of traces that wait.
const MOST_TRACES: usize = 16;

/// As long as traces of more bytes than this wait, no other one is begun.
const MOST_BYTES: usize = 16 << 20;

/// Time between two checks of whether the run is to continue.
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// The thread that reads.
pub(super) struct Ahead {
    read: Receiver<Result<Option<KernelTrace>, TraceError>>,
    reader: JoinHandle<()>,
    shared: Arc<Shared>,
}

/// State that it shares with the thread that takes traces.
#[derive(Default)]
struct Shared {
    /// Bytes of the traces that have been read and not taken.
    waiting: AtomicUsize,
    /// No more are needed.
    stop: AtomicBool,
}

impl Shared {
    fn go_on(&self) -> ControlFlow<()> {
        if self.stop.load(Ordering::Relaxed) { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }
}

impl Ahead {
    /// Begins to read `files`, and keeps the decoded CTAs of each if they take at most `kept_bytes`.
    pub fn read(files: Vec<PathBuf>, kept_bytes: usize) -> Self {
        Self::read_at_most(MOST_BYTES, files, kept_bytes)
    }

    fn read_at_most(bytes: usize, files: Vec<PathBuf>, kept_bytes: usize) -> Self {
        let (send, read) = sync_channel(MOST_TRACES);
        let shared = Arc::<Shared>::default();
        let its = shared.clone();
        let reader = std::thread::spawn(move || {
            for file in files {
                while its.waiting.load(Ordering::SeqCst) > bytes && its.go_on().is_continue() {
                    std::thread::park();
                }
                let trace = KernelTrace::open_while(&file, kept_bytes, 1, &mut || its.go_on());
                let is_last = !matches!(trace, Ok(Some(_)));
                its.waiting.fetch_add(bytes_of(&trace), Ordering::SeqCst);
                // Nobody may wait for it any more.
                if send.send(trace).is_err() || is_last {
                    return;
                }
            }
        });
        Self { read, reader, shared }
    }

    /// The next trace, which there must be; `None` if `keep_on` breaks. After an error there is none.
    pub fn take(&self, keep_on: &mut dyn FnMut() -> ControlFlow<()>) -> Result<Option<KernelTrace>, TraceError> {
        loop {
            match self.read.recv_timeout(LOOK_EVERY) {
                Ok(trace) => {
                    self.shared.waiting.fetch_sub(bytes_of(&trace), Ordering::SeqCst);
                    self.reader.thread().unpark();
                    return trace;
                }
                Err(RecvTimeoutError::Timeout) if keep_on().is_break() => return Ok(None),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => panic!("the thread that reads traces has panicked"),
            }
        }
    }
}

impl Drop for Ahead {
    fn drop(&mut self) {
        self.shared.stop.store(true, Ordering::SeqCst);
        self.reader.thread().unpark();
    }
}

/// Size of `read` while it waits. A file that is read again when its kernel runs is to be in the system's cache
/// then: no other one is read before.
fn bytes_of(read: &Result<Option<KernelTrace>, TraceError>) -> usize {
    if let Ok(Some(trace)) = read { trace.kept_bytes().unwrap_or(KernelTrace::KEPT_BYTES) } else { 0 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    /// A trace of `ctas` CTAs.
    fn write(folder: &Path, number: usize, ctas: usize) -> PathBuf {
        let head = "-kernel name = k\n-kernel id = 1\n-block dim = (32,1,1)\n-shmem = 0\n-nregs = 8\n\
                    -binary version = 75\n-cuda stream id = 0\n-shmem base_addr = 0x00007f0000000000\n\
                    -local mem base_addr = 0x00007f0001000000\n-nvbit version = 1\n-accelsim tracer version = 5\n\
                    -enable lineinfo = 0\n";
        let cta = |cta| {
            let line = "0000 ffffffff 0 EXIT 0 0 0";
            format!("#BEGIN_TB\nthread block = {cta},0,0\nwarp = 0\ninsts = 1\n{line}\n#END_TB\n")
        };
        let ctas =
            format!("-grid dim = ({ctas},1,1)\n#traces format = text\n{}", (0..ctas).map(cta).collect::<String>());
        let path = folder.join(format!("kernel-{number}.traceg"));
        std::fs::write(&path, format!("{head}{ctas}")).unwrap();
        path
    }

    #[test]
    fn traces_come_in_their_order_however_many_wait() {
        let folder = tempfile::tempdir().unwrap();
        let files: Vec<_> = (1..=3 * MOST_TRACES).map(|ctas| write(folder.path(), ctas, ctas)).collect();
        let kept = KernelTrace::KEPT_BYTES;
        for (most_bytes, kept_bytes) in [(0, kept), (40, kept), (MOST_BYTES, kept), (MOST_BYTES, 0)] {
            let ahead = Ahead::read_at_most(most_bytes, files.clone(), kept_bytes);
            for ctas in 1..=files.len() as u64 {
                let trace = ahead.take(&mut || ControlFlow::Continue(())).unwrap().unwrap();
                assert_eq!(trace.header.shape.ctas(), ctas);
            }
        }
    }

    #[test]
    fn a_trace_that_is_not_kept_waits_alone() {
        let folder = tempfile::tempdir().unwrap();
        let path = write(folder.path(), 1, 5);
        let read = |kept_bytes| KernelTrace::open_while(&path, kept_bytes, 1, &mut || ControlFlow::Continue(()));
        assert!((1..MOST_BYTES).contains(&bytes_of(&read(KernelTrace::KEPT_BYTES))));
        assert!(bytes_of(&read(0)) > MOST_BYTES);
    }

    #[test]
    fn a_damaged_trace_is_the_last_one() {
        let folder = tempfile::tempdir().unwrap();
        let mut files = vec![write(folder.path(), 1, 1), write(folder.path(), 2, 2)];
        files.insert(1, folder.path().join("missing.traceg"));
        let ahead = Ahead::read(files, KernelTrace::KEPT_BYTES);
        let take = || ahead.take(&mut || ControlFlow::Continue(()));
        assert!(take().is_ok());
        assert!(take().unwrap_err().to_string().contains("missing"));
    }

    #[test]
    fn reading_ends_when_nobody_waits() {
        let folder = tempfile::tempdir().unwrap();
        let files: Vec<_> = (1..=2 * MOST_TRACES).map(|ctas| write(folder.path(), ctas, ctas)).collect();
        let ahead = Ahead::read_at_most(0, files, KernelTrace::KEPT_BYTES);
        let shared = Arc::downgrade(&ahead.shared);
        drop(ahead);
        while shared.strong_count() > 0 {
            std::thread::yield_now();
        }
    }
}

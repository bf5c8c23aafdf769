//! The process around the driver.
#![allow(unsafe_code, reason = "the boundary to the C library and to the program's memory")]

use cuda::Host;
use std::cell::Cell;
use std::ffi::{CStr, OsStr, c_char, c_int, c_void};
use std::os::unix::ffi::OsStrExt as _;
use std::path::PathBuf;
use std::sync::atomic::{AtomicI32, AtomicU64, Ordering};
use std::time::Duration;

/// The process that the library is loaded in.
pub struct Process;

unsafe extern "C" {
    /// The C library's standard output: what the program prints itself goes through it too.
    static stdout: *mut libc::FILE;
    /// As `atexit`, for a function that also receives the exit status.
    fn on_exit(function: extern "C" fn(c_int, *mut c_void), argument: *mut c_void) -> c_int;
    fn pthread_setcancelstate(state: c_int, former: *mut c_int) -> c_int;
}

/// Copies between this process and itself by the operating system, which finds out wrong addresses: memory of the
/// caller, and as many bytes at addresses that may be wrong, [`MOST_BYTES`] at most.
fn copy(mine: &[libc::iovec], theirs: &[libc::iovec], to_mine: bool) -> bool {
    let bytes: usize = mine.iter().map(|piece| piece.iov_len).sum();
    let (here, there) = ((mine.as_ptr(), mine.len() as u64), (theirs.as_ptr(), theirs.len() as u64));
    // SAFETY: `mine` is memory of the caller, to be written to if `to_mine`; the system checks `theirs`.
    let copied = unsafe {
        if to_mine {
            libc::process_vm_readv(number(), here.0, here.1, there.0, there.1, 0)
        } else {
            libc::process_vm_writev(number(), here.0, here.1, there.0, there.1, 0)
        }
    };
    copied == bytes as isize
}

fn mine(bytes: &[u8]) -> libc::iovec {
    libc::iovec { iov_base: bytes.as_ptr().cast_mut().cast(), iov_len: bytes.len() }
}

fn mine_to_write(bytes: &mut [u8]) -> libc::iovec {
    libc::iovec { iov_base: bytes.as_mut_ptr().cast(), iov_len: bytes.len() }
}

fn theirs(address: u64, bytes: usize) -> libc::iovec {
    libc::iovec { iov_base: address as usize as *mut c_void, iov_len: bytes }
}

/// Pieces that the system copies at once (`IOV_MAX` is 1024).
const MOST_PIECES: usize = 512;

/// Bytes that the system copies at once (Linux's `MAX_RW_COUNT` is a page less than 2 GiB).
const MOST_BYTES: usize = 1 << 30;

/// Whether the system lets a process copy from itself; some containers do not.
fn may_copy() -> bool {
    static ASKED: AtomicI32 = AtomicI32::new(-1);
    match ASKED.load(Ordering::Relaxed) {
        -1 => {
            let (mut to, from) = ([0u8], [1u8]);
            let may = copy(&[mine_to_write(&mut to)], &[theirs(from.as_ptr() as u64, 1)], true);
            ASKED.store(i32::from(may), Ordering::Relaxed);
            may
        }
        known => known == 1,
    }
}

impl Host for Process {
    fn read(&self, address: u64, out: &mut [u8]) -> bool {
        if address == 0 {
            return false;
        }
        if may_copy() {
            return out.chunks_mut(MOST_BYTES).zip(0_u64..).all(|(piece, number)| {
                let from = address.wrapping_add(number * MOST_BYTES as u64);
                copy(&[mine_to_write(piece)], &[theirs(from, piece.len())], true)
            });
        }
        // SAFETY: the program says that this memory exists; nothing here can find out.
        unsafe { std::ptr::copy_nonoverlapping(address as usize as *const u8, out.as_mut_ptr(), out.len()) };
        true
    }

    fn read_each(&self, pieces: &mut [(u64, &mut [u8])]) -> bool {
        if !may_copy() {
            return pieces.iter_mut().all(|(address, out)| self.read(*address, out));
        }
        pieces.chunks_mut(MOST_PIECES).all(|pieces| {
            let from: Vec<_> = pieces.iter().map(|(address, out)| theirs(*address, out.len())).collect();
            let to: Vec<_> = pieces.iter_mut().map(|(_, out)| mine_to_write(out)).collect();
            copy(&to, &from, true)
        })
    }

    fn write(&self, address: u64, data: &[u8]) -> bool {
        if address == 0 {
            return false;
        }
        if may_copy() {
            return data.chunks(MOST_BYTES).zip(0_u64..).all(|(piece, number)| {
                let to = address.wrapping_add(number * MOST_BYTES as u64);
                copy(&[mine(piece)], &[theirs(to, piece.len())], false)
            });
        }
        // SAFETY: the program says that this memory exists; nothing here can find out.
        unsafe { std::ptr::copy_nonoverlapping(data.as_ptr(), address as usize as *mut u8, data.len()) };
        true
    }

    fn map(&self, address: u64, bytes: u64) -> bool {
        let wanted = address as usize as *mut c_void;
        // SAFETY: the range is given up again if something is there already.
        let got = unsafe {
            libc::mmap(
                wanted,
                bytes as usize,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE | libc::MAP_FIXED_NOREPLACE,
                -1,
                0,
            )
        };
        if got == wanted {
            return true;
        }
        if got != libc::MAP_FAILED {
            // SAFETY: the system has just given this range.
            unsafe { libc::munmap(got, bytes as usize) };
        }
        false
    }

    fn unmap(&self, address: u64, bytes: u64) {
        // SAFETY: `map` has given this range, and the program has given it back.
        unsafe { libc::munmap(address as usize as *mut c_void, bytes as usize) };
    }

    fn print(&self, text: &str) {
        // SAFETY: `stdout` is an open stream while the program runs, and the text has this length.
        unsafe { libc::fwrite(text.as_ptr().cast(), 1, text.len(), stdout) };
    }

    fn message(&self, text: &str) {
        message(text);
    }
}

/// Writes a message to the user to standard error.
pub fn message(text: &str) {
    use std::io::Write as _;
    let _ = writeln!(std::io::stderr(), "warpwright: {}", render::names::in_text(text));
}

/// The name of the library's threads.
pub const THREAD_NAME: &str = "warpwright";

/// Whether the program's main thread and `threads` others are all that is left of the process, and the main thread has
/// ended too.
pub fn is_left_to(threads: usize) -> bool {
    let is_dead = |stat: String| stat.rsplit_once(')').is_some_and(|(_, rest)| rest.trim_start().starts_with('Z'));
    let main = std::fs::read_to_string(format!("/proc/self/task/{}/stat", number()));
    main.is_ok_and(is_dead) && std::fs::read_dir("/proc/self/task").is_ok_and(|tasks| tasks.count() <= threads + 1)
}

/// The process, by number. It is asked for each time: a child has another one, whatever call has made it.
pub fn number() -> i32 {
    // SAFETY: it has no conditions.
    unsafe { libc::getpid() }
}

thread_local! {
    /// Whether the thread is in a function of the program that a stream calls, which may not use CUDA.
    static IN_STREAM_CALL: Cell<bool> = const { Cell::new(false) };
}

/// Whether this thread is in a function of the program that a stream calls.
pub fn is_in_stream_call() -> bool {
    IN_STREAM_CALL.get()
}

/// Calls a function of the program for a stream.
fn from_stream(call: impl FnOnce()) {
    IN_STREAM_CALL.set(true);
    cuda::stream::default_stream::legacy(call);
    IN_STREAM_CALL.set(false);
}

/// Calls a function of the program with one argument.
pub fn call_function(function: u64, argument: u64) {
    if function == 0 {
        return;
    }
    // SAFETY: the program has given this address as the address of such a function (`CUhostFn`).
    let function: extern "C" fn(u64) = unsafe { std::mem::transmute(function as usize) };
    from_stream(|| function(argument));
}

/// The status that callbacks receive: after a fault none is called.
const SUCCESS: u32 = 0;

/// Calls a function of the program for a stream (`CUstreamCallback`).
pub fn call_callback(function: u64, stream: u64, argument: u64) {
    if function == 0 {
        return;
    }
    // SAFETY: the program has given this address as the address of such a function (`CUstreamCallback`).
    let function: extern "C" fn(u64, u32, u64) = unsafe { std::mem::transmute(function as usize) };
    from_stream(|| function(stream, SUCCESS, argument));
}

/// Calls a function of the program that gives the shared memory of a block size (`CUoccupancyB2DSize`).
pub fn call_size(function: u64, block: i32) -> u64 {
    // SAFETY: the program has given this address, which is not 0, as the address of such a function.
    let function: extern "C" fn(i32) -> u64 = unsafe { std::mem::transmute(function as usize) };
    cuda::stream::default_stream::legacy(|| function(block))
}

/// A table of a copy of NVTX (`NvtxGetExportTableFunc_t`); 0: it has none, or there is no function.
pub fn call_export_table(function: u64, table: u32) -> u64 {
    if function == 0 {
        return 0;
    }
    // SAFETY: NVTX has given this address as the address of such a function.
    let function: extern "C" fn(u32) -> u64 = unsafe { std::mem::transmute(function as usize) };
    function(table)
}

/// Address and size of the table of a module of NVTX (`GetModuleFunctionTable`), if it has one.
pub fn call_function_table(function: u64, module: u32) -> Option<(u64, u32)> {
    let (mut table, mut size) = (0_u64, 0_u32);
    // SAFETY: NVTX has given this address, which is not 0, as the address of such a function.
    let function: extern "C" fn(u32, *mut u64, *mut u32) -> c_int = unsafe { std::mem::transmute(function as usize) };
    (function(module, &raw mut table, &raw mut size) != 0 && table != 0).then_some((table, size))
}

/// Keeps the thread from being cancelled: no call of the library is left in its midst.
pub struct Uncancelled(c_int);

impl Uncancelled {
    pub fn new() -> Self {
        /// `PTHREAD_CANCEL_DISABLE`.
        const DISABLE: c_int = 1;
        let mut former = 0;
        // SAFETY: there is a place for the former state.
        unsafe { pthread_setcancelstate(DISABLE, &raw mut former) };
        Self(former)
    }
}

impl Drop for Uncancelled {
    fn drop(&mut self) {
        // SAFETY: the state is one that the C library has given.
        unsafe { pthread_setcancelstate(self.0, std::ptr::null_mut()) };
    }
}

/// Signals by which users and batch systems end programs.
const ENDING_SIGNALS: [c_int; 5] = [libc::SIGHUP, libc::SIGINT, libc::SIGQUIT, libc::SIGALRM, libc::SIGTERM];

/// Keeps handlers of the program for [`ENDING_SIGNALS`] from this thread: the system calls them in another thread, such
/// as one of the library. They may call `exit`, which waits for what this thread does.
pub struct SignalsElsewhere(libc::sigset_t);

impl SignalsElsewhere {
    pub fn new() -> Self {
        // SAFETY: the sets are complete.
        unsafe {
            let (mut ending, mut former): (libc::sigset_t, libc::sigset_t) = (std::mem::zeroed(), std::mem::zeroed());
            libc::sigemptyset(&raw mut ending);
            ENDING_SIGNALS.iter().for_each(|signal| _ = libc::sigaddset(&raw mut ending, *signal));
            libc::pthread_sigmask(libc::SIG_BLOCK, &raw const ending, &raw mut former);
            Self(former)
        }
    }
}

impl Drop for SignalsElsewhere {
    fn drop(&mut self) {
        // SAFETY: the set is one that the system has given.
        unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, &raw const self.0, std::ptr::null_mut()) };
    }
}

/// Calls `at_exit` with the exit status when the program ends in an orderly way.
pub fn at_exit(at_exit: extern "C" fn(c_int, *mut c_void)) {
    // SAFETY: the function is one of this library, which is not unloaded (`build.rs`).
    unsafe { on_exit(at_exit, std::ptr::null_mut()) };
}

/// The status in place of the program's own; 0: its own.
static LAST_STATUS: AtomicI32 = AtomicI32::new(0);

/// Lets the process end with a status, after all that the program does at its end.
pub fn end_with(status: i32) {
    LAST_STATUS.store(status, Ordering::Relaxed);
}

/// The loader calls it when destructors of the program and of libraries that use this one have run.
#[used]
// SAFETY: the section has functions of this kind.
#[unsafe(link_section = ".fini_array")]
static AT_LAST: extern "C" fn() = {
    extern "C" fn at_last() {
        let status = LAST_STATUS.load(Ordering::Relaxed);
        if status != 0 {
            leave(status);
        }
    }
    at_last
};

/// The process that listens to signals; 0: none.
static LISTENER: AtomicI32 = AtomicI32::new(0);

/// When the user has first asked the process to end, in milliseconds of the system's clock; 0: never.
static ASKED_TO_STOP: AtomicU64 = AtomicU64::new(0);

/// Signals that follow the first one as soon are the same request: `timeout` sends two.
const SAME_REQUEST: Duration = Duration::from_millis(300);

/// Exit status of a program that the user has interrupted.
pub const INTERRUPTED: i32 = 130;

fn milliseconds() -> u64 {
    let mut now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: there is a place for the time. Handlers of signals may ask for it.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &raw mut now) };
    now.tv_sec as u64 * 1000 + now.tv_nsec as u64 / 1_000_000 + 1
}

extern "C" fn on_signal(signal: c_int) {
    if number() != LISTENER.load(Ordering::Relaxed) {
        // A child has the handler, and nobody who acts on its request. The signal ends it when the handler returns.
        // SAFETY: handlers may call both functions.
        unsafe {
            libc::signal(signal, libc::SIG_DFL);
            libc::raise(signal);
        }
        return;
    }
    let now = milliseconds();
    let first = ASKED_TO_STOP.compare_exchange(0, now, Ordering::Relaxed, Ordering::Relaxed).err();
    if first.is_some_and(|first| now - first > SAME_REQUEST.as_millis() as u64) {
        leave_at_once(INTERRUPTED);
    }
    kit::stop::request();
}

/// Whether the user has asked the process to end, and nobody else listens.
pub fn asked_to_stop() -> bool {
    ASKED_TO_STOP.load(Ordering::Relaxed) != 0
}

/// Listens to Ctrl-C and requests to terminate, unless the program does itself.
pub fn listen() {
    LISTENER.store(number(), Ordering::Relaxed);
    for signal in [libc::SIGINT, libc::SIGTERM] {
        // SAFETY: the structures are complete, and the handler only uses atomics and functions for handlers.
        unsafe {
            let mut present: libc::sigaction = std::mem::zeroed();
            if libc::sigaction(signal, std::ptr::null(), &raw mut present) != 0 || present.sa_sigaction != libc::SIG_DFL
            {
                continue;
            }
            let mut ours: libc::sigaction = std::mem::zeroed();
            ours.sa_sigaction = on_signal as extern "C" fn(c_int) as usize;
            ours.sa_flags = libc::SA_RESTART;
            libc::sigaction(signal, &raw const ours, std::ptr::null_mut());
        }
    }
}

/// Ends the process as the C library does when the last thread has ended.
pub fn exit() -> ! {
    // SAFETY: this thread holds no lock.
    unsafe { libc::exit(0) }
}

/// Ends the process without anything else.
pub fn leave_at_once(status: i32) -> ! {
    // SAFETY: it has no conditions.
    unsafe { libc::_exit(status) }
}

/// Ends the process with what it has printed.
pub fn leave(status: i32) -> ! {
    // SAFETY: all open streams are meant.
    unsafe { libc::fflush(std::ptr::null_mut()) };
    leave_at_once(status)
}

/// The library or program at an address: its file, and where it is in memory.
fn library_at(address: *const c_void) -> Option<(*const c_char, *mut c_void)> {
    // SAFETY: any bytes are a value of the structure, which `dladdr` fills.
    unsafe {
        let mut info: libc::Dl_info = std::mem::zeroed();
        (libc::dladdr(address, &raw mut info) != 0).then_some((info.dli_fname, info.dli_fbase))
    }
}

/// The file of the library or program that has called this library.
pub fn caller() -> Option<PathBuf> {
    let mut frames = [std::ptr::null_mut(); 64];
    // SAFETY: there is room for as many addresses.
    let count = unsafe { libc::backtrace(frames.as_mut_ptr(), frames.len() as i32) };
    let (_, own) = library_at(on_signal as *const c_void)?;
    let mut places = frames[..count.max(0) as usize].iter().filter_map(|frame| library_at(*frame));
    let (name, _) = places.find(|(_, base)| *base != own)?;
    // SAFETY: the name is a text that lives as long as the library.
    let name = unsafe { CStr::from_ptr(name) };
    Some(OsStr::from_bytes(name.to_bytes()).into())
}

/// The address of one of this library's functions, by name; 0 if there is none.
pub fn own_function(name: &str) -> u64 {
    let Ok(name) = std::ffi::CString::new(name) else { return 0 };
    static LIBRARY: std::sync::OnceLock<usize> = std::sync::OnceLock::new();
    let library = *LIBRARY.get_or_init(|| {
        let Some((name, _)) = library_at(on_signal as *const c_void) else { return 0 };
        // SAFETY: the name is a text; the library is open already.
        unsafe { libc::dlopen(name, libc::RTLD_NOW | libc::RTLD_NOLOAD | libc::RTLD_NODELETE) as usize }
    });
    if library == 0 {
        return 0;
    }
    // SAFETY: the library is open, and the name is a text.
    unsafe { libc::dlsym(library as *mut c_void, name.as_ptr()) as u64 }
}

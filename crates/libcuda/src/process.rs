//! The process around the driver.
#![allow(unsafe_code, reason = "the boundary to the C library and to the program's memory")]

use driver::Host;
use std::ffi::{CStr, OsStr, c_char, c_void};
use std::os::unix::ffi::OsStrExt as _;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};

/// The process that the library is loaded in.
pub struct Process;

unsafe extern "C" {
    /// The C library's standard output: what the program prints itself goes through it too.
    static stdout: *mut libc::FILE;
}

/// Copies between this process and itself by the operating system, which finds out wrong addresses: memory of the
/// caller, and as many bytes at addresses that may be wrong.
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
            return copy(&[mine_to_write(out)], &[theirs(address, out.len())], true);
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
            return copy(&[mine(data)], &[theirs(address, data.len())], false);
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
    let _ = writeln!(std::io::stderr(), "warpwright: {text}");
}

/// The number of this process once it has been asked for; 0 before.
static NUMBER: AtomicI32 = AtomicI32::new(0);

extern "C" fn note_number() {
    // SAFETY: it has no conditions.
    NUMBER.store(unsafe { libc::getpid() }, Ordering::Relaxed);
}

/// The process, by number: a child that `fork` has made has another one.
pub fn number() -> i32 {
    if NUMBER.load(Ordering::Relaxed) == 0 {
        // SAFETY: the function is one of this library, which is not unloaded (`build.rs`), and only stores a number.
        unsafe { libc::pthread_atfork(None, None, Some(note_number)) };
        note_number();
    }
    NUMBER.load(Ordering::Relaxed)
}

/// Calls a function of the program with one argument.
pub fn call_function(function: u64, argument: u64) {
    if function == 0 {
        return;
    }
    // SAFETY: the program has given this address as that of such a function (`CUhostFn`).
    let function: extern "C" fn(u64) = unsafe { std::mem::transmute(function as usize) };
    driver::stream::default_stream::legacy(|| function(argument));
}

/// The status that callbacks receive: after a fault none is called.
const SUCCESS: u32 = 0;

/// Calls a function of the program for a stream (`CUstreamCallback`).
pub fn call_callback(function: u64, stream: u64, argument: u64) {
    if function == 0 {
        return;
    }
    // SAFETY: the program has given this address as that of such a function (`CUstreamCallback`).
    let function: extern "C" fn(u64, u32, u64) = unsafe { std::mem::transmute(function as usize) };
    driver::stream::default_stream::legacy(|| function(stream, SUCCESS, argument));
}

/// Calls a function of the program that gives the shared memory of a block size (`CUoccupancyB2DSize`).
pub fn call_size(function: u64, block: i32) -> u64 {
    // SAFETY: the program has given this address, which is not 0, as that of such a function.
    let function: extern "C" fn(i32) -> u64 = unsafe { std::mem::transmute(function as usize) };
    driver::stream::default_stream::legacy(|| function(block))
}

/// Calls `at_exit` when the program ends in an orderly way.
pub fn at_exit(at_exit: extern "C" fn()) {
    // SAFETY: the function is one of this library, which is not unloaded (`build.rs`).
    unsafe { libc::atexit(at_exit) };
}

static STOP: AtomicBool = AtomicBool::new(false);

extern "C" fn on_signal(_: i32) {
    STOP.store(true, Ordering::Relaxed);
}

/// Whether the user has asked the process to end, and nobody else listens.
pub fn asked_to_stop() -> bool {
    STOP.load(Ordering::Relaxed)
}

/// Listens to Ctrl-C and requests to terminate, unless the program does itself.
pub fn listen() {
    for signal in [libc::SIGINT, libc::SIGTERM] {
        // SAFETY: the structures are complete, and the handler only sets a flag.
        unsafe {
            let mut present: libc::sigaction = std::mem::zeroed();
            if libc::sigaction(signal, std::ptr::null(), &raw mut present) != 0 || present.sa_sigaction != libc::SIG_DFL
            {
                continue;
            }
            let mut ours: libc::sigaction = std::mem::zeroed();
            ours.sa_sigaction = on_signal as extern "C" fn(i32) as usize;
            ours.sa_flags = libc::SA_RESTART;
            libc::sigaction(signal, &raw const ours, std::ptr::null_mut());
        }
    }
}

/// Ends the process at once, with what it has printed.
pub fn leave(status: i32) -> ! {
    // SAFETY: nothing of this library runs after it.
    unsafe {
        libc::fflush(std::ptr::null_mut());
        libc::_exit(status)
    }
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

//! NVIDIA's runtime within a program, replaced when our library is loaded, which is before anything of the program runs.
//!
//! Each function that the program's symbol table names becomes a jump to ours. Pages of code are writable for that
//! moment only. Of the libraries that are loaded, the one of the program's version does it.

use hostcode::{Function, JUMP_BYTES, LinkedRuntime, linked_runtime};
use libc::{PROT_EXEC, PROT_READ, PROT_WRITE};
use std::ffi::{CStr, CString, c_int, c_void};
use std::{ptr, slice};

/// Replaces the runtime of `version` in the running program, if it has one.
pub fn at_load(version: u32) {
    if let Err(why) = std::panic::catch_unwind(|| replace(version)).unwrap_or(Ok(())) {
        eprintln!("warpwright: NVIDIA's CUDA runtime in this program cannot be replaced: {why}");
    }
}

fn replace(version: u32) -> Result<(), String> {
    let Some(file) = Mapped::program() else { return Ok(()) };
    let Some(runtime) = linked_runtime(file.bytes())?.filter(|runtime| runtime.version == version) else {
        return Ok(());
    };
    let LinkedRuntime { functions, .. } = runtime;
    let base = program_base();
    let own = Own::open()?;
    let jumps: Vec<(usize, &Function, u64)> = functions
        .iter()
        .filter_map(|function| {
            Some((base.wrapping_add(function.address) as usize, function, own.function(&function.name)?))
        })
        .collect();
    // Nothing is changed unless all can be.
    for &(at, function, _) in &jumps {
        if function.code.len() < JUMP_BYTES {
            let (name, room) = (&function.name, function.code.len());
            return Err(format!("`{name}` has room for {room} of the {JUMP_BYTES} bytes of a jump"));
        }
        // SAFETY: the bytes are of a segment of the running program, which has these sizes.
        let there = unsafe { slice::from_raw_parts(at as *const u8, JUMP_BYTES) };
        if there != function.code {
            return Err(format!("`{}` is not where its symbol table says", function.name));
        }
    }
    for (at, function, to) in jumps {
        write_jump(at, to).map_err(|e| format!("`{}`: {e}", function.name))?;
    }
    Ok(())
}

/// Writes a jump to `to` over the code at `at`.
fn write_jump(at: usize, to: u64) -> std::io::Result<()> {
    // SAFETY: sysconf has no preconditions.
    let page = unsafe { libc::sysconf(libc::_SC_PAGESIZE) } as usize;
    let first = at / page * page;
    let bytes = (at + JUMP_BYTES).next_multiple_of(page) - first;
    let protect = |how: c_int| {
        // SAFETY: the pages hold code of the program, which no other thread executes before its start.
        match unsafe { libc::mprotect(first as *mut c_void, bytes, how) } {
            0 => Ok(()),
            _ => Err(std::io::Error::last_os_error()),
        }
    };
    protect(PROT_READ | PROT_WRITE)?;
    // SAFETY: the pages are writable, and the caller has compared what is there.
    unsafe { ptr::copy_nonoverlapping(jump(to).as_ptr(), at as *mut u8, JUMP_BYTES) };
    let done = protect(PROT_READ | PROT_EXEC);
    forget_instructions(at);
    done
}

/// `jmp [rip]`, with the address behind it.
#[cfg(not(target_arch = "aarch64"))]
fn jump(to: u64) -> [u8; JUMP_BYTES] {
    let mut code = [0xff, 0x25, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
    code[6..].copy_from_slice(&to.to_le_bytes());
    code
}

/// `ldr x16, .+8` and `br x16`, with the address behind them.
#[cfg(target_arch = "aarch64")]
fn jump(to: u64) -> [u8; JUMP_BYTES] {
    let mut code = [0x50, 0, 0, 0x58, 0, 0x02, 0x1f, 0xd6, 0, 0, 0, 0, 0, 0, 0, 0];
    code[8..].copy_from_slice(&to.to_le_bytes());
    code
}

/// Makes processors read the code at `at` anew: x86-64 does so by itself.
#[cfg(not(target_arch = "aarch64"))]
fn forget_instructions(_at: usize) {}

#[cfg(target_arch = "aarch64")]
fn forget_instructions(at: usize) {
    for line in [at, at + JUMP_BYTES - 1] {
        // SAFETY: cache maintenance of readable memory.
        unsafe { std::arch::asm!("dc cvau, {0}", "dsb ish", "ic ivau, {0}", "dsb ish", "isb", in(reg) line) };
    }
}

/// A file in memory.
struct Mapped {
    at: *mut c_void,
    bytes: usize,
}

impl Mapped {
    /// The running program's file; `None` if it cannot be read.
    fn program() -> Option<Self> {
        use std::os::fd::AsRawFd as _;
        let file = std::fs::File::open("/proc/self/exe").ok()?;
        let bytes = usize::try_from(file.metadata().ok()?.len()).ok()?;
        // SAFETY: a new mapping of an open file.
        let at = unsafe { libc::mmap(ptr::null_mut(), bytes, PROT_READ, libc::MAP_PRIVATE, file.as_raw_fd(), 0) };
        (at != libc::MAP_FAILED).then_some(Self { at, bytes })
    }

    fn bytes(&self) -> &[u8] {
        // SAFETY: it is mapped. The file of a running program cannot be written.
        unsafe { slice::from_raw_parts(self.at.cast(), self.bytes) }
    }
}

impl Drop for Mapped {
    fn drop(&mut self) {
        // SAFETY: nothing borrows it any longer.
        unsafe { libc::munmap(self.at, self.bytes) };
    }
}

/// Distance of the program's addresses from those in its file.
fn program_base() -> u64 {
    unsafe extern "C" fn first(info: *mut libc::dl_phdr_info, _: usize, to: *mut c_void) -> c_int {
        // SAFETY: `to` is the variable below; the first object is the program.
        unsafe { *to.cast::<u64>() = (*info).dlpi_addr };
        1
    }
    let mut base = 0_u64;
    // SAFETY: `first` writes to `base` only.
    unsafe { libc::dl_iterate_phdr(Some(first), (&raw mut base).cast()) };
    base
}

/// This library, as the loader knows it: others of another version may be loaded before it.
struct Own(*mut c_void);

impl Own {
    fn open() -> Result<Self, String> {
        let mut info = libc::Dl_info {
            dli_fname: ptr::null(),
            dli_fbase: ptr::null_mut(),
            dli_sname: ptr::null(),
            dli_saddr: ptr::null_mut(),
        };
        // SAFETY: the address is in this library; `info` is written.
        let found = unsafe { libc::dladdr(at_load as *const c_void, &raw mut info) };
        if found == 0 || info.dli_fname.is_null() {
            return Err("the loader does not know this library".to_owned());
        }
        // SAFETY: the name is one of the loader's; nothing is loaded.
        let handle = unsafe { libc::dlopen(info.dli_fname, libc::RTLD_NOW | libc::RTLD_NOLOAD) };
        if handle.is_null() {
            // SAFETY: as above.
            let name = unsafe { CStr::from_ptr(info.dli_fname) };
            return Err(format!("the loader does not find {}", name.to_string_lossy()));
        }
        Ok(Self(handle))
    }

    /// The address of our function of this name; `None` if there is none.
    fn function(&self, name: &str) -> Option<u64> {
        let name = CString::new(name).ok()?;
        // SAFETY: the handle is open.
        let address = unsafe { libc::dlsym(self.0, name.as_ptr()) };
        (!address.is_null()).then_some(address as u64)
    }
}

//! NVIDIA's runtime in an object, replaced by ours before any code of the object runs: each function that the symbol
//! table of its file names becomes a jump. Pages of code are writable for that moment only.

use crate::mapped::Mapped;
use crate::object::{Object, overwrite};
use crate::stand_ins::StandIns;
use hostcode::{Fault, Function, JUMP_BYTES, exports, linked_runtime};
use libc::{PROT_EXEC, PROT_READ};
use std::ffi::c_long;
use std::{ptr, slice};

/// NVIDIA's runtime in an object, with our functions in place of its functions.
pub struct Waiting {
    namespace: c_long,
    /// The name of the runtime of ours.
    pub runtime: &'static [u8],
    /// Addresses of functions, and of ours in the file of our runtime.
    jumps: Vec<(usize, u64)>,
}

/// NVIDIA's runtime in an object, if it has one and can be replaced.
pub fn find(object: &Object, namespace: c_long, stand_ins: &'static StandIns) -> Result<Option<Waiting>, String> {
    let path = object.path();
    // The kernel's object has a name without a folder, and no file.
    let Some(file) = path.parent().filter(|folder| !folder.as_os_str().is_empty()).and_then(|_| Mapped::open(&path))
    else {
        return Ok(None);
    };
    let found = match linked_runtime(file.bytes()) {
        // The driver says so when the runtime calls it.
        Err(Fault::Stripped) => return Ok(None),
        found => found.map_err(|fault| fault.to_string())?,
    };
    let Some(found) = found else { return Ok(None) };
    let ours = stand_ins.runtime(found.version).and_then(|name| Some((name, Mapped::open(stand_ins.path(name)?)?)));
    let Some((runtime, ours)) = ours else { return Err(format!("there is none of version {}", found.version)) };
    let ours = exports(ours.bytes()).ok_or("our own is damaged")?;
    let mut jumps = Vec::new();
    // Nothing is changed unless all can be.
    for function in &found.functions {
        let Some(&to) = ours.get(&function.name) else { continue };
        let at = (function.address as usize).wrapping_add(object.base());
        check(function, at)?;
        jumps.push((at, to));
    }
    Ok(Some(Waiting { namespace, runtime, jumps }))
}

/// Checks that a function is in memory at `at`, and has room for a jump.
fn check(function: &Function, at: usize) -> Result<(), String> {
    let Function { name, code, begins, .. } = function;
    if !begins {
        return Err(format!("its symbol table is wrong: no function begins at `{name}`"));
    }
    if code.len() < JUMP_BYTES {
        let room = code.len();
        return Err(format!("`{name}` has room for {room} of the {JUMP_BYTES} bytes of a jump"));
    }
    // SAFETY: the bytes are of a segment of the object, which has these sizes.
    let there = unsafe { slice::from_raw_parts(ptr::with_exposed_provenance::<u8>(at), JUMP_BYTES) };
    if there == code { Ok(()) } else { Err(format!("`{name}` is not where its symbol table says")) }
}

/// Replaces what has waited for a runtime of ours, which is loaded now.
pub fn now_loaded(runtime: &[u8], base: usize, namespace: c_long, waiting: &mut Vec<Waiting>) -> Result<(), String> {
    let is_due = |one: &mut Waiting| one.runtime == runtime && one.namespace == namespace;
    let due: Vec<Waiting> = waiting.extract_if(.., is_due).collect();
    due.iter().try_for_each(|one| one.replace(base))
}

impl Waiting {
    /// Replaces the functions by jumps to the runtime that is loaded at `base`.
    pub fn replace(&self, base: usize) -> Result<(), String> {
        for &(at, to) in &self.jumps {
            let code = jump(to.wrapping_add(base as u64));
            let place = ptr::with_exposed_provenance_mut(at);
            // SAFETY: the object is mapped and does not run yet; the bytes are a function's, which `check` has compared.
            unsafe { overwrite(place, &code, PROT_READ | PROT_EXEC) }.map_err(|e| e.to_string())?;
            forget_instructions(at);
        }
        Ok(())
    }
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

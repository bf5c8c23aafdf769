//! The auditing library of `warpwright exec` (`LD_AUDIT`, rtld-audit(7)): the loader takes our libraries in place of
//! NVIDIA's.
//!
//! ```text
//! name or path ──► la_objsearch ──► the file of that name in our folder
//! object mapped ─► la_objopen ────► NVIDIA's runtime is linked in: one more dependency, our runtime of its version;
//!                                   when both are mapped, jumps to ours over its functions
//! ```
//!
//! - `stand_ins`: for which names and paths there is a library of ours.
//! - `mapped`: files in memory.
//! - `object`: an object as the loader has mapped it.
//! - `processor`: the check of the processor at load.
//! - `replace`: jumps over the functions of NVIDIA's runtime.
//!
//! Programs and libraries, loaded at the start or later, all come by here before any of their code runs. Their
//! constructors register kernels, so that a constructor of ours would be too late for a library; a function of ours in
//! place of `dlopen` would have to load the library to find out what is in it. The loader's own report to debuggers
//! (`r_brk`) comes at the right moment as well, but cannot change where a library is found.
//!
//! The library is in a link namespace of its own, with a C library of its own: it calls nothing of the program's.
//! Functions for bindings of symbols (`la_symbind64`, `la_…_gnu_pltenter`) are not defined: with them each call of a
//! library's function would take a detour. Loaders before glibc 2.35 make the detour with any auditing library, for
//! objects that are bound lazily.
//!
//! Programs that ignore `LD_AUDIT` find our libraries by `LD_LIBRARY_PATH` only, or not at all: programs of other C
//! libraries than glibc, static programs, programs with the rights of another user.
#![cfg(all(target_os = "linux", target_pointer_width = "64"))]
#![allow(unsafe_code, reason = "the boundary to the dynamic loader")]

mod mapped;
mod object;
#[cfg(target_arch = "x86_64")]
#[path = "../../cabi/processor.rs"]
mod processor;
mod replace;
mod stand_ins;

use hostcode::families::CHOICE;
use object::{LinkMap, Object};
use replace::Waiting;
use stand_ins::StandIns;
use std::ffi::{CStr, OsStr, c_char, c_long, c_uint};
use std::os::unix::ffi::OsStrExt as _;
use std::panic::catch_unwind;
use std::path::Path;
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

/// Our libraries, in the folder of this one, of the families that the user has chosen.
fn stand_ins() -> &'static StandIns {
    static STAND_INS: OnceLock<StandIns> = OnceLock::new();
    STAND_INS.get_or_init(|| {
        let choice = std::env::var(CHOICE).ok();
        object::own_path().map(|own| StandIns::beside(&own, choice.as_deref())).unwrap_or_default()
    })
}

/// Objects that wait for the runtime which they depend on. The loader has a lock around all that it does.
fn waiting() -> MutexGuard<'static, Vec<Waiting>> {
    static WAITING: Mutex<Vec<Waiting>> = Mutex::new(Vec::new());
    WAITING.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Called first. Returns the version of the interface that is used.
// SAFETY: the loader's name for it.
#[unsafe(no_mangle)]
extern "C" fn la_version(version: c_uint) -> c_uint {
    version
}

/// Called before the loader looks for a library, and for each path that it tries then. Returns the path that it takes.
// SAFETY: the loader's name for it.
#[unsafe(no_mangle)]
unsafe extern "C" fn la_objsearch(name: *const c_char, _cookie: *mut usize, _flag: c_uint) -> *const c_char {
    let ours = catch_unwind(|| {
        // SAFETY: the loader gives a text.
        let asked = unsafe { CStr::from_ptr(name) };
        stand_ins().of(Path::new(OsStr::from_bytes(asked.to_bytes()))).map(CStr::as_ptr)
    });
    ours.ok().flatten().unwrap_or(name)
}

/// Called when an object is mapped, before its dependences are. Asks for no calls about its symbols.
// SAFETY: the loader's name for it.
#[unsafe(no_mangle)]
unsafe extern "C" fn la_objopen(map: *mut LinkMap, namespace: c_long, _cookie: *mut usize) -> c_uint {
    let _ = catch_unwind(|| {
        // SAFETY: the loader gives an object that is mapped.
        let object = unsafe { Object::new(map) };
        if let Err(why) = opened(&object, namespace) {
            let name = object.path().file_name().unwrap_or_default().to_string_lossy().into_owned();
            eprintln!("warpwright: NVIDIA's CUDA runtime in `{name}` cannot be replaced: {why}");
        }
    });
    0
}

fn opened(object: &Object, namespace: c_long) -> Result<(), String> {
    if let Some(ours) = stand_ins().loaded_as(&object.path()) {
        return replace::now_loaded(ours, object.base(), namespace, &mut waiting());
    }
    let Some(found) = replace::find(object, namespace, stand_ins())? else { return Ok(()) };
    object.depend_on(found.runtime)?;
    match object.others().find(|other| stand_ins().loaded_as(&other.path()) == Some(found.runtime)) {
        Some(runtime) => found.replace(runtime.base()),
        None => {
            waiting().push(found);
            Ok(())
        }
    }
}

/// `LA_ACT_CONSISTENT`: objects have been added with all that they depend on, or could not be added.
const CONSISTENT: c_uint = 0;

/// Called around all changes.
// SAFETY: the loader's name for it.
#[unsafe(no_mangle)]
extern "C" fn la_activity(_cookie: *mut usize, flag: c_uint) {
    if flag == CONSISTENT {
        waiting().clear();
    }
}

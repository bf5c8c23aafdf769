//! An object as the loader has mapped it.

use libc::{PROT_EXEC, PROT_READ, PROT_WRITE};
use std::ffi::{CStr, CString, OsStr, c_char, c_int, c_void};
use std::io;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::PathBuf;
use std::ptr;

/// The loader's description of an object (`struct link_map` in `link.h`).
#[repr(C)]
pub struct LinkMap {
    base: usize,
    name: *const c_char,
    dynamic: *mut Entry,
    next: *mut Self,
    previous: *mut Self,
}

/// An entry of the dynamic section (`Elf64_Dyn`).
#[repr(C)]
struct Entry {
    tag: i64,
    value: usize,
}

const DT_NULL: i64 = 0;
const DT_NEEDED: i64 = 1;
const DT_STRTAB: i64 = 5;
const DT_SYMENT: i64 = 11;

/// An object that is mapped.
pub struct Object(*mut LinkMap);

impl Object {
    /// # Safety
    /// `map` is an object of the loader's, which is mapped as long as this exists.
    pub unsafe fn new(map: *mut LinkMap) -> Self {
        Self(map)
    }

    fn map(&self) -> &LinkMap {
        // SAFETY: the loader's object exists, by the condition of `new`.
        unsafe { &*self.0 }
    }

    /// Distance of its addresses from those in its file.
    pub fn base(&self) -> usize {
        self.map().base
    }

    /// The file from which it was loaded: the program has no name.
    pub fn path(&self) -> PathBuf {
        let name = self.map().name;
        // SAFETY: the loader's names are texts.
        let name = if name.is_null() { c"" } else { unsafe { CStr::from_ptr(name) } };
        match name.to_bytes() {
            b"" => PathBuf::from("/proc/self/exe"),
            name => PathBuf::from(OsStr::from_bytes(name)),
        }
    }

    /// The other objects of its namespace.
    pub fn others(&self) -> impl Iterator<Item = Self> {
        let follow = |from: *mut LinkMap, next: fn(&LinkMap) -> *mut LinkMap| {
            // SAFETY: the loader's objects form a list, which it does not change meanwhile.
            let step = move |at: &*mut LinkMap| Some(next(unsafe { &**at })).filter(|next| !next.is_null());
            std::iter::successors(Some(from), step).skip(1)
        };
        follow(self.0, |map| map.previous).chain(follow(self.0, |map| map.next)).map(Self)
    }

    /// Adds a library to those that the object depends on: the loader loads it, and initialises it first.
    ///
    /// The entry for the size of symbols becomes the dependence: each object has one, which the loader has checked
    /// already and does not use.
    pub fn depend_on(&self, library: &[u8]) -> Result<(), String> {
        const WHY: &str = "the object's dynamic section is not as expected";
        let map = self.map();
        let (mut strings, mut place) = (None, None);
        let mut at = map.dynamic;
        // SAFETY: the section ends with an entry that is null.
        while let Some(entry) = unsafe { at.as_ref() }.filter(|entry| entry.tag != DT_NULL) {
            match entry.tag {
                DT_STRTAB => strings = Some(entry.value),
                DT_SYMENT => place = Some(at),
                _ => {}
            }
            at = at.wrapping_add(1);
        }
        let (strings, place) = strings.zip(place).ok_or(WHY)?;
        // The loader has made an address of it, unless the section is read-only.
        let strings = if strings < map.base { strings + map.base } else { strings };
        let name = CString::new(library).map_err(|_| WHY)?.into_raw();
        // Names are distances from the object's texts, which may wrap around.
        let entry = Entry { tag: DT_NEEDED, value: (name.expose_provenance()).wrapping_sub(strings) };
        // SAFETY: an entry of a section that is mapped.
        unsafe { overwrite(place.cast(), &entry, PROT_READ | PROT_WRITE) }.map_err(|e| e.to_string())
    }
}

/// Writes to memory of an object, whatever its protection is, and protects it as `after` says.
///
/// # Safety
/// The place is mapped memory of an object that runs no code yet.
pub unsafe fn overwrite<T>(place: *mut u8, with: &T, after: c_int) -> io::Result<()> {
    // SAFETY: sysconf has no preconditions.
    let page = unsafe { libc::sysconf(libc::_SC_PAGESIZE) } as usize;
    let at = place.addr();
    let first = at / page * page;
    let bytes = (at + size_of::<T>()).next_multiple_of(page) - first;
    let protect = |how: c_int| {
        // SAFETY: the pages are the object's, by the condition of this function.
        match unsafe { libc::mprotect(place.with_addr(first).cast(), bytes, how) } {
            0 => Ok(()),
            _ => Err(io::Error::last_os_error()),
        }
    };
    protect(PROT_READ | PROT_WRITE)?;
    // SAFETY: the pages are writable.
    unsafe { ptr::copy_nonoverlapping(ptr::from_ref(with).cast(), place, size_of::<T>()) };
    if after & PROT_EXEC == 0 { Ok(()) } else { protect(after) }
}

/// The path of this library, as the loader knows it.
pub fn own_path() -> Option<PathBuf> {
    let mut info = libc::Dl_info {
        dli_fname: ptr::null(),
        dli_fbase: ptr::null_mut(),
        dli_sname: ptr::null(),
        dli_saddr: ptr::null_mut(),
    };
    // SAFETY: the address is in this library; `info` is written.
    let found = unsafe { libc::dladdr(own_path as *const c_void, &raw mut info) };
    if found == 0 || info.dli_fname.is_null() {
        return None;
    }
    // SAFETY: a name of the loader's.
    let name = unsafe { CStr::from_ptr(info.dli_fname) };
    Some(PathBuf::from(std::ffi::OsString::from_vec(name.to_bytes().to_vec())))
}

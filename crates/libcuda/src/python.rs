//! The line of Python that a thread executes, by the C functions of the interpreter in the process (3.10 and later).
//!
//! Extension modules release the interpreter's lock before they call CUDA. This thread takes the lock again for the
//! moment in which it looks at its frames, as it would to return to Python. It holds none of our locks meanwhile.
#![allow(unsafe_code, reason = "the boundary to the interpreter")]

use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::path::Path;
use std::ptr::{null, null_mut};
use std::sync::OnceLock;

/// An object of Python.
type Object = *mut c_void;

/// Folders of installed packages.
const PACKAGES: [&str; 2] = ["/site-packages/", "/dist-packages/"];

/// Maximum number of frames that are looked at.
const MOST_FRAMES: usize = 4096;

/// Functions of the interpreter.
#[derive(Clone, Copy)]
struct Interpreter {
    is_initialized: extern "C" fn() -> c_int,
    is_finalizing: Option<extern "C" fn() -> c_int>,
    own_state: extern "C" fn() -> *mut c_void,
    lock: extern "C" fn() -> c_int,
    unlock: extern "C" fn(c_int),
    take_error: extern "C" fn(*mut Object, *mut Object, *mut Object),
    drop_error: extern "C" fn(),
    restore_error: extern "C" fn(Object, Object, Object),
    interpreter: extern "C" fn() -> *mut c_void,
    first_thread: extern "C" fn(*mut c_void) -> *mut c_void,
    next_thread: extern "C" fn(*mut c_void) -> *mut c_void,
    frame_of: extern "C" fn(*mut c_void) -> Object,
    back: extern "C" fn(Object) -> Object,
    code: extern "C" fn(Object) -> Object,
    line: extern "C" fn(Object) -> c_int,
    attribute: extern "C" fn(Object, *const c_char) -> Object,
    text: extern "C" fn(*const c_char) -> Object,
    utf8: extern "C" fn(Object, *mut isize) -> *const c_char,
    module: extern "C" fn(Object) -> Object,
    release: extern "C" fn(Object),
}

/// The address of a function of the process.
fn symbol(name: &CStr) -> Option<*mut c_void> {
    // SAFETY: the name is a text.
    let address = unsafe { libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()) };
    (!address.is_null()).then_some(address)
}

/// A function of the process with the type that the interpreter's documentation gives for its name.
macro_rules! function {
    ($name:literal) => {{
        let address = symbol($name);
        // SAFETY: a function of this name has this type in every version of the interpreter.
        address.map(|address| unsafe { std::mem::transmute(address) })
    }};
}

impl Interpreter {
    fn find() -> Option<Self> {
        Some(Self {
            is_initialized: function!(c"Py_IsInitialized")?,
            // Public since 3.13.
            is_finalizing: function!(c"Py_IsFinalizing").or_else(|| function!(c"_Py_IsFinalizing")),
            own_state: function!(c"PyGILState_GetThisThreadState")?,
            lock: function!(c"PyGILState_Ensure")?,
            unlock: function!(c"PyGILState_Release")?,
            take_error: function!(c"PyErr_Fetch")?,
            drop_error: function!(c"PyErr_Clear")?,
            restore_error: function!(c"PyErr_Restore")?,
            interpreter: function!(c"PyInterpreterState_Get")?,
            first_thread: function!(c"PyInterpreterState_ThreadHead")?,
            next_thread: function!(c"PyThreadState_Next")?,
            frame_of: function!(c"PyThreadState_GetFrame")?,
            back: function!(c"PyFrame_GetBack")?,
            code: function!(c"PyFrame_GetCode")?,
            line: function!(c"PyFrame_GetLineNumber")?,
            attribute: function!(c"PyObject_GetAttrString")?,
            text: function!(c"PyUnicode_FromString")?,
            utf8: function!(c"PyUnicode_AsUTF8AndSize")?,
            module: function!(c"PyImport_GetModule")?,
            release: function!(c"Py_DecRef")?,
        })
    }

    /// The interpreter of the process, if it runs.
    fn running() -> Option<&'static Self> {
        // It may be loaded later.
        static FOUND: OnceLock<Interpreter> = OnceLock::new();
        if FOUND.get().is_none() {
            let _ = FOUND.set(Self::find()?);
        }
        let found = FOUND.get()?;
        let ends = found.is_finalizing.is_some_and(|ends| ends() != 0);
        ((found.is_initialized)() != 0 && !ends).then_some(found)
    }

    /// An attribute that is a text.
    fn text_of(&self, object: Object, name: &CStr) -> Option<String> {
        let value = self.owned((self.attribute)(object, name.as_ptr()));
        let mut bytes = 0;
        let text = value.as_ref().map_or(null(), |value| (self.utf8)(value.0, &raw mut bytes));
        if text.is_null() {
            (self.drop_error)();
            return None;
        }
        // SAFETY: the interpreter has given the text, with its size, which lives as long as the object.
        let bytes = unsafe { std::slice::from_raw_parts(text.cast::<u8>(), usize::try_from(bytes).ok()?) };
        Some(String::from_utf8_lossy(bytes).into_owned())
    }

    /// A new reference.
    fn owned(&self, object: Object) -> Option<Owned<'_>> {
        (!object.is_null()).then_some(Owned(object, self))
    }

    /// The folder of the standard library: where its module `os` is.
    fn standard_library(&self) -> Option<String> {
        let name = CString::new("os").ok()?;
        let name = self.owned((self.text)(name.as_ptr()))?;
        let module = self.owned((self.module)(name.0))?;
        let file = self.text_of(module.0, c"__file__")?;
        Some(Path::new(&file).parent()?.to_str()?.to_owned())
    }

    /// The innermost frame that is not of a library, else, as an error, the innermost one if there is any.
    fn place(&self, state: *mut c_void) -> Result<String, Option<String>> {
        static LIBRARY: OnceLock<Option<String>> = OnceLock::new();
        let library = LIBRARY.get_or_init(|| self.standard_library()).as_deref();
        let mut frame = self.owned((self.frame_of)(state));
        let mut innermost = None;
        for _ in 0..MOST_FRAMES {
            let Some(at) = frame else { break };
            let code = self.owned((self.code)(at.0)).ok_or(None)?;
            let file = self.text_of(code.0, c"co_filename").unwrap_or_default();
            let shown = || {
                let qualified = self.text_of(code.0, c"co_qualname");
                let function = qualified.or_else(|| self.text_of(code.0, c"co_name")).unwrap_or_default();
                format!("{}:{} {function}", near(&file), (self.line)(at.0))
            };
            if !is_of_library(&file, library) {
                return Ok(shown());
            }
            if innermost.is_none() {
                innermost = Some(shown());
            }
            frame = self.owned((self.back)(at.0));
        }
        Err(innermost)
    }

    /// The place of the only thread that executes code of the user.
    fn place_of_the_only_one(&self) -> Option<String> {
        let there = |state: *mut c_void| (!state.is_null()).then_some(state);
        let first = there((self.first_thread)((self.interpreter)()));
        let threads = std::iter::successors(first, |&state| there((self.next_thread)(state)));
        let mut places = threads.filter_map(|state| self.place(state).ok());
        places.next().filter(|_| places.next().is_none())
    }
}

/// A reference that is given back.
struct Owned<'a>(Object, &'a Interpreter);

impl Drop for Owned<'_> {
    fn drop(&mut self) {
        (self.1.release)(self.0);
    }
}

/// Whether a file is of the interpreter or of an installed package.
fn is_of_library(file: &str, library: Option<&str>) -> bool {
    let in_library = || library.is_some_and(|folder| Path::new(file).starts_with(folder));
    file.starts_with("<frozen") || PACKAGES.iter().any(|folder| file.contains(folder)) || in_library()
}

/// A file by its path from the folder in which the program was when it first launched a kernel.
fn near(file: &str) -> &str {
    static FOLDER: OnceLock<Option<String>> = OnceLock::new();
    let folder = FOLDER.get_or_init(|| std::env::current_dir().ok()?.to_str().map(str::to_owned));
    let within = folder.as_deref().and_then(|folder| file.strip_prefix(folder)?.strip_prefix('/'));
    within.unwrap_or(file)
}

/// The line that this thread executes: file, line and function of the innermost frame that is not of a library. `None`
/// if the thread has no frame of Python.
pub fn line() -> Option<String> {
    in_python(|python, state| python.place(state).map_or_else(|innermost| innermost, Some))
}

/// The line that the only thread with code of the user executes: it waits for what this thread does.
pub fn line_of_the_only_thread() -> Option<String> {
    in_python(|python, _| python.place_of_the_only_one())
}

/// Result of `what` under the interpreter's lock. A thread that has never had the lock does not request it: the holder
/// may wait for this thread.
fn in_python<T>(what: impl FnOnce(&Interpreter, *mut c_void) -> Option<T>) -> Option<T> {
    let python = Interpreter::running()?;
    let state = (python.own_state)();
    if state.is_null() {
        return None;
    }
    let held = (python.lock)();
    let (mut kind, mut value, mut trace) = (null_mut(), null_mut(), null_mut());
    (python.take_error)(&raw mut kind, &raw mut value, &raw mut trace);
    let given = what(python, state);
    (python.restore_error)(kind, value, trace);
    (python.unlock)(held);
    given
}

/// The name of this thread.
pub fn thread_name() -> String {
    let mut name = [0_u8; 16];
    // SAFETY: there is room for the longest name and its end.
    unsafe { libc::prctl(libc::PR_GET_NAME, name.as_mut_ptr()) };
    let end = name.iter().position(|&byte| byte == 0).unwrap_or(name.len());
    String::from_utf8_lossy(&name[..end]).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_of_libraries_are_distinguished_from_the_users() {
        let library = Some("/usr/lib/python3.11");
        for (file, expected) in [
            ("/usr/lib/python3.11/contextlib.py", true),
            ("/home/user/venv/lib/python3.11/site-packages/torch/nn/modules/linear.py", true),
            ("/usr/lib/python3/dist-packages/numba/core.py", true),
            ("<frozen importlib._bootstrap>", true),
            ("/usr/lib/python3.11-own/train.py", false),
            ("/home/user/train.py", false),
            ("<stdin>", false),
        ] {
            assert_eq!(is_of_library(file, library), expected, "{file}");
        }
        assert_eq!(near("/nowhere/train.py"), "/nowhere/train.py");
    }

    #[test]
    fn without_an_interpreter_there_is_no_line() {
        assert_eq!((line(), line_of_the_only_thread()), (None, None));
        let named = std::thread::Builder::new().name("worker".into()).spawn(thread_name).unwrap();
        assert_eq!(named.join().unwrap(), "worker");
    }
}

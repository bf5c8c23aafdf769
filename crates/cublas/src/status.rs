//! Results of the API's functions.

use std::ffi::{CStr, c_char, c_int};
use std::panic::{AssertUnwindSafe, catch_unwind};

use cabi::address::BadAddress;

/// A code of `cublasStatus_t` other than success.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Status(pub c_int);

pub type Result<T> = std::result::Result<T, Status>;

impl Status {
    pub const NOT_INITIALIZED: Self = Self(1);
    pub const ALLOC_FAILED: Self = Self(3);
    pub const INVALID_VALUE: Self = Self(7);
    pub const MAPPING_ERROR: Self = Self(11);
    pub const EXECUTION_FAILED: Self = Self(13);
    pub const INTERNAL_ERROR: Self = Self(14);
    pub const NOT_SUPPORTED: Self = Self(15);
}

impl From<BadAddress> for Status {
    fn from(_: BadAddress) -> Self {
        Self::INVALID_VALUE
    }
}

/// Runs the body of a function of the API. A panic ends here.
pub fn enter(body: impl FnOnce() -> Result<()>) -> c_int {
    match catch_unwind(AssertUnwindSafe(body)).unwrap_or(Err(Status::INTERNAL_ERROR)) {
        Ok(()) => 0,
        Err(status) => status.0,
    }
}

/// Fails with `CUBLAS_STATUS_INVALID_VALUE` unless `holds`.
pub fn valid(holds: bool) -> Result<()> {
    if holds { Ok(()) } else { Err(Status::INVALID_VALUE) }
}

const STATUSES: [(c_int, &CStr, &CStr); 10] = [
    (0, c"CUBLAS_STATUS_SUCCESS", c"success"),
    (1, c"CUBLAS_STATUS_NOT_INITIALIZED", c"the library was not initialized"),
    (3, c"CUBLAS_STATUS_ALLOC_FAILED", c"the resource allocation failed"),
    (7, c"CUBLAS_STATUS_INVALID_VALUE", c"an unsupported value or parameter was passed to the function"),
    (8, c"CUBLAS_STATUS_ARCH_MISMATCH", c"an absent device architectural feature is required"),
    (11, c"CUBLAS_STATUS_MAPPING_ERROR", c"an access to GPU memory space failed"),
    (13, c"CUBLAS_STATUS_EXECUTION_FAILED", c"the function failed to launch on the GPU"),
    (14, c"CUBLAS_STATUS_INTERNAL_ERROR", c"an internal operation failed"),
    (15, c"CUBLAS_STATUS_NOT_SUPPORTED", c"the functionality requested is not supported"),
    (16, c"CUBLAS_STATUS_LICENSE_ERROR", c"an error was detected when checking the license"),
];

fn row(code: c_int) -> Option<&'static (c_int, &'static CStr, &'static CStr)> {
    STATUSES.iter().find(|row| row.0 == code)
}

/// Name of a code.
extern "C" fn name(code: c_int) -> *const c_char {
    row(code).map_or(c"CUBLAS_STATUS_UNKNOWN", |row| row.1).as_ptr()
}

/// Text of a code.
extern "C" fn text(code: c_int) -> *const c_char {
    row(code).map_or(c"unknown status", |row| row.2).as_ptr()
}

macro_rules! texts {
    ($($exported:ident = $function:ident),* $(,)?) => {
        $(
            // SAFETY: the name belongs to this API, which defines it once.
            #[unsafe(no_mangle)]
            extern "C" fn $exported(code: c_int) -> *const c_char {
                $function(code)
            }
        )*
    };
}
texts! {
    cublasGetStatusName = name,
    cublasGetStatusString = text,
    cublasLtGetStatusName = name,
    cublasLtGetStatusString = text,
}

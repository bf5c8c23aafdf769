//! Results of the API's functions.

use std::ffi::{CStr, c_int};

cabi::status! {
    /// A code of `cublasStatus_t` other than success.
    internal = 14,
    not_supported = 15,
    no_memory = ALLOC_FAILED, no_driver = NOT_INITIALIZED, failed = EXECUTION_FAILED, bad_address = INVALID_VALUE;
    NOT_INITIALIZED = 1,
    ALLOC_FAILED = 3,
    INVALID_VALUE = 7,
    MAPPING_ERROR = 11,
    EXECUTION_FAILED = 13,
    INTERNAL_ERROR = 14,
    NOT_SUPPORTED = 15,
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

fn name(code: c_int) -> &'static CStr {
    STATUSES.iter().find(|row| row.0 == code).map_or(c"CUBLAS_STATUS_UNKNOWN", |row| row.1)
}

fn text(code: c_int) -> &'static CStr {
    STATUSES.iter().find(|row| row.0 == code).map_or(c"unknown status", |row| row.2)
}

cabi::texts! {
    cublasGetStatusName = name,
    cublasGetStatusString = text,
    cublasLtGetStatusName = name,
    cublasLtGetStatusString = text,
}

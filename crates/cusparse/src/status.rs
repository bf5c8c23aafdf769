//! Results of the API's functions.

use std::ffi::{CStr, c_int};

cabi::status! {
    /// A code of `cusparseStatus_t` other than success.
    internal = 7,
    not_supported = 10,
    no_memory = ALLOC_FAILED, no_driver = NOT_INITIALIZED, failed = EXECUTION_FAILED, bad_address = INVALID_VALUE;
    NOT_INITIALIZED = 1,
    ALLOC_FAILED = 2,
    INVALID_VALUE = 3,
    EXECUTION_FAILED = 6,
}

/// Fails with `CUSPARSE_STATUS_INVALID_VALUE` unless `holds`.
pub fn valid(holds: bool) -> Result<()> {
    if holds { Ok(()) } else { Err(Status::INVALID_VALUE) }
}

const STATUSES: [(c_int, &CStr, &CStr); 12] = [
    (0, c"CUSPARSE_STATUS_SUCCESS", c"success"),
    (1, c"CUSPARSE_STATUS_NOT_INITIALIZED", c"initialization error"),
    (2, c"CUSPARSE_STATUS_ALLOC_FAILED", c"out of memory"),
    (3, c"CUSPARSE_STATUS_INVALID_VALUE", c"invalid value"),
    (4, c"CUSPARSE_STATUS_ARCH_MISMATCH", c"architecture mismatch"),
    (5, c"CUSPARSE_STATUS_MAPPING_ERROR", c"texture mapping error"),
    (6, c"CUSPARSE_STATUS_EXECUTION_FAILED", c"kernel launch failure"),
    (7, c"CUSPARSE_STATUS_INTERNAL_ERROR", c"internal error"),
    (8, c"CUSPARSE_STATUS_MATRIX_TYPE_NOT_SUPPORTED", c"matrix type not supported"),
    (9, c"CUSPARSE_STATUS_ZERO_PIVOT", c"zero pivot"),
    (10, c"CUSPARSE_STATUS_NOT_SUPPORTED", c"operation not supported"),
    (11, c"CUSPARSE_STATUS_INSUFFICIENT_RESOURCES", c"insufficient resources"),
];

fn name(code: c_int) -> &'static CStr {
    STATUSES.iter().find(|row| row.0 == code).map_or(c"unknown error code", |row| row.1)
}

fn text(code: c_int) -> &'static CStr {
    STATUSES.iter().find(|row| row.0 == code).map_or(c"unknown error code", |row| row.2)
}

cabi::texts! {
    cusparseGetErrorName = name,
    cusparseGetErrorString = text,
}

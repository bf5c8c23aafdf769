//! Results of the API's functions.

use std::ffi::{CStr, c_int};

use cabi::address::BadAddress;
use cabi::stand_in::Fault;

/// A code of `cusparseStatus_t` other than success.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Status(c_int);

pub type Result<T> = std::result::Result<T, Status>;

impl Status {
    pub const NOT_INITIALIZED: Self = Self(1);
    pub const ALLOC_FAILED: Self = Self(2);
    pub const INVALID_VALUE: Self = Self(3);
    pub const EXECUTION_FAILED: Self = Self(6);
}

impl cabi::stand_in::Status for Status {
    const INTERNAL: Self = Self(7);
    const NOT_SUPPORTED: Self = Self(10);
    fn code(self) -> c_int {
        self.0
    }
}

impl From<Fault> for Status {
    fn from(fault: Fault) -> Self {
        if fault.is_memory() {
            Self::ALLOC_FAILED
        } else if fault.is_start() {
            Self::NOT_INITIALIZED
        } else {
            Self::EXECUTION_FAILED
        }
    }
}

impl From<BadAddress> for Status {
    fn from(_: BadAddress) -> Self {
        Self::INVALID_VALUE
    }
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

//! Results of the API's functions.

use std::ffi::c_int;

use cabi::address::BadAddress;
use cabi::stand_in::Fault;

/// A code of `cufftResult` other than success.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Status(c_int);

pub type Result<T> = std::result::Result<T, Status>;

impl Status {
    pub const INVALID_PLAN: Self = Self(1);
    pub const ALLOC_FAILED: Self = Self(2);
    pub const INVALID_TYPE: Self = Self(3);
    pub const INVALID_VALUE: Self = Self(4);
    pub const EXEC_FAILED: Self = Self(6);
    pub const SETUP_FAILED: Self = Self(7);
    pub const INVALID_SIZE: Self = Self(8);
}

impl cabi::stand_in::Status for Status {
    const INTERNAL: Self = Self(5);
    const NOT_SUPPORTED: Self = Self(16);
    fn code(self) -> c_int {
        self.0
    }
}

impl From<Fault> for Status {
    fn from(fault: Fault) -> Self {
        if fault.is_memory() {
            Self::ALLOC_FAILED
        } else if fault.is_start() {
            Self::SETUP_FAILED
        } else {
            Self::EXEC_FAILED
        }
    }
}

impl From<BadAddress> for Status {
    fn from(_: BadAddress) -> Self {
        Self::INVALID_VALUE
    }
}

//! Results of the API's functions.

use std::ffi::c_int;

use cabi::address::BadAddress;
use cabi::stand_in::Fault;

/// A code of `curandStatus_t` other than success.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Status(c_int);

pub type Result<T> = std::result::Result<T, Status>;

impl Status {
    pub const NOT_INITIALIZED: Self = Self(101);
    pub const ALLOCATION_FAILED: Self = Self(102);
    pub const TYPE_ERROR: Self = Self(103);
    pub const OUT_OF_RANGE: Self = Self(104);
    pub const LENGTH_NOT_MULTIPLE: Self = Self(105);
    pub const LAUNCH_FAILURE: Self = Self(201);
    pub const INITIALIZATION_FAILED: Self = Self(203);
    pub const ARCH_MISMATCH: Self = Self(204);
}

impl cabi::stand_in::Status for Status {
    const INTERNAL: Self = Self(999);
    // There is no better code: "the GPU does not support a requested feature".
    const NOT_SUPPORTED: Self = Self::ARCH_MISMATCH;
    fn code(self) -> c_int {
        self.0
    }
}

impl From<Fault> for Status {
    fn from(fault: Fault) -> Self {
        if fault.is_memory() {
            Self::ALLOCATION_FAILED
        } else if fault.is_start() {
            Self::INITIALIZATION_FAILED
        } else {
            Self::LAUNCH_FAILURE
        }
    }
}

impl From<BadAddress> for Status {
    fn from(_: BadAddress) -> Self {
        Self::OUT_OF_RANGE
    }
}

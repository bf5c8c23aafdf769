//! Results of the API's functions.

cabi::status! {
    /// A code of `curandStatus_t` other than success.
    internal = 999,
    // The nearest code: "the GPU does not support a requested feature".
    not_supported = 204,
    no_memory = ALLOCATION_FAILED, no_driver = INITIALIZATION_FAILED, failed = LAUNCH_FAILURE, bad_address = OUT_OF_RANGE;
    NOT_INITIALIZED = 101,
    ALLOCATION_FAILED = 102,
    TYPE_ERROR = 103,
    OUT_OF_RANGE = 104,
    LENGTH_NOT_MULTIPLE = 105,
    LAUNCH_FAILURE = 201,
    INITIALIZATION_FAILED = 203,
    ARCH_MISMATCH = 204,
}

//! Results of the API's functions.

cabi::status! {
    /// A code of `cufftResult` other than success.
    internal = 5,
    not_supported = 16,
    no_memory = ALLOC_FAILED, no_driver = SETUP_FAILED, failed = EXEC_FAILED, bad_address = INVALID_VALUE;
    INVALID_PLAN = 1,
    ALLOC_FAILED = 2,
    INVALID_TYPE = 3,
    INVALID_VALUE = 4,
    EXEC_FAILED = 6,
    SETUP_FAILED = 7,
    INVALID_SIZE = 8,
}

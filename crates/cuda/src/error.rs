//! Error codes of the driver API.

use std::fmt;

/// An error code of the driver API (`CUresult`).
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Error(u32);

/// The result of a call of the driver API.
pub type Result<T> = std::result::Result<T, Error>;

macro_rules! errors {
    ($($name:ident = $code:literal $cuda:ident $text:literal)*) => {
        #[allow(missing_docs, reason = "the texts say it")]
        impl Error {
            $(pub const $name: Self = Self($code);)*
        }
        /// Number, name and description of each error.
        const TABLE: &[(u32, &str, &str)] = &[$(($code, concat!("CUDA_ERROR_", stringify!($cuda)), $text)),*];
    };
}

// Numbers, names and descriptions as cuda.h of CUDA 12.9 has them.
errors! {
    INVALID_VALUE = 1 INVALID_VALUE "invalid argument"
    OUT_OF_MEMORY = 2 OUT_OF_MEMORY "out of memory"
    NOT_INITIALIZED = 3 NOT_INITIALIZED "initialization error"
    DEINITIALIZED = 4 DEINITIALIZED "driver shutting down"
    PROFILER_DISABLED = 5 PROFILER_DISABLED "profiler disabled while using external profiling tool"
    PROFILER_NOT_INITIALIZED = 6 PROFILER_NOT_INITIALIZED "profiler not initialized: call cudaProfilerInitialize()"
    PROFILER_ALREADY_STARTED = 7 PROFILER_ALREADY_STARTED "profiler already started"
    PROFILER_ALREADY_STOPPED = 8 PROFILER_ALREADY_STOPPED "profiler already stopped"
    STUB_LIBRARY = 34 STUB_LIBRARY "CUDA driver is a stub library"
    DEVICE_UNAVAILABLE = 46 DEVICE_UNAVAILABLE "CUDA-capable device(s) is/are busy or unavailable"
    NO_DEVICE = 100 NO_DEVICE "no CUDA-capable device is detected"
    INVALID_DEVICE = 101 INVALID_DEVICE "invalid device ordinal"
    DEVICE_NOT_LICENSED = 102 DEVICE_NOT_LICENSED "device doesn't have valid Grid license"
    INVALID_IMAGE = 200 INVALID_IMAGE "device kernel image is invalid"
    INVALID_CONTEXT = 201 INVALID_CONTEXT "invalid device context"
    CONTEXT_ALREADY_CURRENT = 202 CONTEXT_ALREADY_CURRENT "context already current"
    MAP_FAILED = 205 MAP_FAILED "mapping of buffer object failed"
    UNMAP_FAILED = 206 UNMAP_FAILED "unmapping of buffer object failed"
    ARRAY_IS_MAPPED = 207 ARRAY_IS_MAPPED "array is mapped"
    ALREADY_MAPPED = 208 ALREADY_MAPPED "resource already mapped"
    NO_BINARY_FOR_GPU = 209 NO_BINARY_FOR_GPU "no kernel image is available for execution on the device"
    ALREADY_ACQUIRED = 210 ALREADY_ACQUIRED "resource already acquired"
    NOT_MAPPED = 211 NOT_MAPPED "resource not mapped"
    NOT_MAPPED_AS_ARRAY = 212 NOT_MAPPED_AS_ARRAY "resource not mapped as array"
    NOT_MAPPED_AS_POINTER = 213 NOT_MAPPED_AS_POINTER "resource not mapped as pointer"
    ECC_UNCORRECTABLE = 214 ECC_UNCORRECTABLE "uncorrectable ECC error encountered"
    UNSUPPORTED_LIMIT = 215 UNSUPPORTED_LIMIT "limit is not supported on this architecture"
    CONTEXT_ALREADY_IN_USE = 216 CONTEXT_ALREADY_IN_USE "exclusive-thread device already in use by a different thread"
    PEER_ACCESS_UNSUPPORTED = 217 PEER_ACCESS_UNSUPPORTED "peer access is not supported between these two devices"
    INVALID_PTX = 218 INVALID_PTX "a PTX JIT compilation failed"
    INVALID_GRAPHICS_CONTEXT = 219 INVALID_GRAPHICS_CONTEXT "invalid OpenGL or DirectX context"
    NVLINK_UNCORRECTABLE = 220 NVLINK_UNCORRECTABLE "uncorrectable NVLink error detected during the execution"
    JIT_COMPILER_NOT_FOUND = 221 JIT_COMPILER_NOT_FOUND "PTX JIT compiler library not found"
    UNSUPPORTED_PTX_VERSION = 222 UNSUPPORTED_PTX_VERSION "the provided PTX was compiled with an unsupported toolchain."
    JIT_COMPILATION_DISABLED = 223 JIT_COMPILATION_DISABLED "PTX JIT compilation was disabled"
    UNSUPPORTED_EXEC_AFFINITY = 224 UNSUPPORTED_EXEC_AFFINITY "the provided execution affinity is not supported"
    UNSUPPORTED_DEVSIDE_SYNC = 225 UNSUPPORTED_DEVSIDE_SYNC "the provided PTX contains unsupported call to cudaDeviceSynchronize"
    CONTAINED = 226 CONTAINED "Invalid access of peer GPU memory over nvlink or a hardware error"
    INVALID_SOURCE = 300 INVALID_SOURCE "device kernel image is invalid"
    FILE_NOT_FOUND = 301 FILE_NOT_FOUND "file not found"
    SHARED_OBJECT_SYMBOL_NOT_FOUND = 302 SHARED_OBJECT_SYMBOL_NOT_FOUND "shared object symbol not found"
    SHARED_OBJECT_INIT_FAILED = 303 SHARED_OBJECT_INIT_FAILED "shared object initialization failed"
    OPERATING_SYSTEM = 304 OPERATING_SYSTEM "OS call failed or operation not supported on this OS"
    INVALID_HANDLE = 400 INVALID_HANDLE "invalid resource handle"
    ILLEGAL_STATE = 401 ILLEGAL_STATE "the operation cannot be performed in the present state"
    LOSSY_QUERY = 402 LOSSY_QUERY "attempted introspection would be semantically lossy"
    NOT_FOUND = 500 NOT_FOUND "named symbol not found"
    NOT_READY = 600 NOT_READY "device not ready"
    ILLEGAL_ADDRESS = 700 ILLEGAL_ADDRESS "an illegal memory access was encountered"
    LAUNCH_OUT_OF_RESOURCES = 701 LAUNCH_OUT_OF_RESOURCES "too many resources requested for launch"
    LAUNCH_TIMEOUT = 702 LAUNCH_TIMEOUT "the launch timed out and was terminated"
    LAUNCH_INCOMPATIBLE_TEXTURING = 703 LAUNCH_INCOMPATIBLE_TEXTURING "launch uses incompatible texturing mode"
    PEER_ACCESS_ALREADY_ENABLED = 704 PEER_ACCESS_ALREADY_ENABLED "peer access is already enabled"
    PEER_ACCESS_NOT_ENABLED = 705 PEER_ACCESS_NOT_ENABLED "peer access has not been enabled"
    PRIMARY_CONTEXT_ACTIVE = 708 PRIMARY_CONTEXT_ACTIVE "cannot set while device is active in this process"
    CONTEXT_IS_DESTROYED = 709 CONTEXT_IS_DESTROYED "context is destroyed"
    ASSERT = 710 ASSERT "device-side assert triggered"
    TOO_MANY_PEERS = 711 TOO_MANY_PEERS "peer mapping resources exhausted"
    HOST_MEMORY_ALREADY_REGISTERED = 712 HOST_MEMORY_ALREADY_REGISTERED "part or all of the requested memory range is already mapped"
    HOST_MEMORY_NOT_REGISTERED = 713 HOST_MEMORY_NOT_REGISTERED "pointer does not correspond to a registered memory region"
    HARDWARE_STACK_ERROR = 714 HARDWARE_STACK_ERROR "hardware stack error"
    ILLEGAL_INSTRUCTION = 715 ILLEGAL_INSTRUCTION "an illegal instruction was encountered"
    MISALIGNED_ADDRESS = 716 MISALIGNED_ADDRESS "misaligned address"
    INVALID_ADDRESS_SPACE = 717 INVALID_ADDRESS_SPACE "operation not supported on global/shared address space"
    INVALID_PC = 718 INVALID_PC "invalid program counter"
    LAUNCH_FAILED = 719 LAUNCH_FAILED "unspecified launch failure"
    COOPERATIVE_LAUNCH_TOO_LARGE = 720 COOPERATIVE_LAUNCH_TOO_LARGE "too many blocks in cooperative launch"
    TENSOR_MEMORY_LEAK = 721 TENSOR_MEMORY_LEAK "tensor memory not completely freed"
    NOT_PERMITTED = 800 NOT_PERMITTED "operation not permitted"
    NOT_SUPPORTED = 801 NOT_SUPPORTED "operation not supported"
    SYSTEM_NOT_READY = 802 SYSTEM_NOT_READY "system not yet initialized"
    SYSTEM_DRIVER_MISMATCH = 803 SYSTEM_DRIVER_MISMATCH "system has unsupported display driver / cuda driver combination"
    COMPAT_NOT_SUPPORTED_ON_DEVICE = 804 COMPAT_NOT_SUPPORTED_ON_DEVICE "forward compatibility was attempted on non supported HW"
    MPS_CONNECTION_FAILED = 805 MPS_CONNECTION_FAILED "MPS client failed to connect to the MPS control daemon or the MPS server"
    MPS_RPC_FAILURE = 806 MPS_RPC_FAILURE "the remote procedural call between the MPS server and the MPS client failed"
    MPS_SERVER_NOT_READY = 807 MPS_SERVER_NOT_READY "MPS server is not ready to accept new MPS client requests"
    MPS_MAX_CLIENTS_REACHED = 808 MPS_MAX_CLIENTS_REACHED "the hardware resources required to create MPS client have been exhausted"
    MPS_MAX_CONNECTIONS_REACHED = 809 MPS_MAX_CONNECTIONS_REACHED "the hardware resources required to support device connections have been exhausted"
    MPS_CLIENT_TERMINATED = 810 MPS_CLIENT_TERMINATED "the MPS client has been terminated by the server"
    CDP_NOT_SUPPORTED = 811 CDP_NOT_SUPPORTED "CUDA Dynamic Parallelism is not supported"
    CDP_VERSION_MISMATCH = 812 CDP_VERSION_MISMATCH "unsupported interaction between different versions of CUDA Dynamic Parallelism"
    STREAM_CAPTURE_UNSUPPORTED = 900 STREAM_CAPTURE_UNSUPPORTED "operation not permitted when stream is capturing"
    STREAM_CAPTURE_INVALIDATED = 901 STREAM_CAPTURE_INVALIDATED "operation failed due to a previous error during capture"
    STREAM_CAPTURE_MERGE = 902 STREAM_CAPTURE_MERGE "operation would result in a merge of separate capture sequences"
    STREAM_CAPTURE_UNMATCHED = 903 STREAM_CAPTURE_UNMATCHED "capture was not ended in the same stream as it began"
    STREAM_CAPTURE_UNJOINED = 904 STREAM_CAPTURE_UNJOINED "capturing stream has unjoined work"
    STREAM_CAPTURE_ISOLATION = 905 STREAM_CAPTURE_ISOLATION "dependency created on uncaptured work in another stream"
    STREAM_CAPTURE_IMPLICIT = 906 STREAM_CAPTURE_IMPLICIT "operation would make the legacy stream depend on a capturing blocking stream"
    CAPTURED_EVENT = 907 CAPTURED_EVENT "operation not permitted on an event last recorded in a capturing stream"
    STREAM_CAPTURE_WRONG_THREAD = 908 STREAM_CAPTURE_WRONG_THREAD "attempt to terminate a thread-local capture sequence from another thread"
    TIMEOUT = 909 TIMEOUT "wait operation timed out"
    GRAPH_EXEC_UPDATE_FAILURE = 910 GRAPH_EXEC_UPDATE_FAILURE "the graph update was not performed because it included changes which violated constraints specific to instantiated graph update"
    EXTERNAL_DEVICE = 911 EXTERNAL_DEVICE "an async error has occured in external entity outside of CUDA"
    INVALID_CLUSTER_SIZE = 912 INVALID_CLUSTER_SIZE "a kernel launch error has occurred due to cluster misconfiguration"
    FUNCTION_NOT_LOADED = 913 FUNCTION_NOT_LOADED "the function is not loaded"
    INVALID_RESOURCE_TYPE = 914 INVALID_RESOURCE_TYPE "one or more resources passed in are not valid resource types for the operation"
    INVALID_RESOURCE_CONFIGURATION = 915 INVALID_RESOURCE_CONFIGURATION "one or more resources are insufficient or non-applicable for the operation"
    KEY_ROTATION = 916 KEY_ROTATION "the requested operation is not permitted because a key rotation is in progress"
    UNKNOWN = 999 UNKNOWN "unknown error"
}

impl Error {
    /// No error: what texts are asked for.
    pub const SUCCESS: Self = Self(0);

    /// All errors.
    pub fn all() -> impl Iterator<Item = Self> {
        TABLE.iter().map(|row| Self(row.0))
    }

    /// The number, as `CUresult` has it.
    pub const fn code(self) -> u32 {
        self.0
    }

    /// The error of a number; `None` of success and of numbers that are not errors.
    pub fn from_code(code: u32) -> Option<Self> {
        TABLE.iter().find(|row| row.0 == code).map(|row| Self(row.0))
    }

    fn row(self) -> (u32, &'static str, &'static str) {
        TABLE.iter().find(|row| row.0 == self.0).copied().unwrap_or((999, "CUDA_ERROR_UNKNOWN", "unknown error"))
    }

    /// Name of the constant.
    pub fn name(self) -> &'static str {
        self.row().1
    }

    /// Description.
    pub fn text(self) -> &'static str {
        self.row().2
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.text(), self.name())
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

//! Bundled CUDA kernels with generated inputs, launch sequences and host references ([`suite`]), and the [`Device`] that
//! they run on, whichever implements it.
#![warn(missing_docs)]

pub mod bounded;
pub mod bundled;
pub mod check;
pub mod conformance;
pub mod device;
pub mod element;
pub mod suite;
pub mod tensor;
pub mod workload;

pub use check::{Check, Mismatch};
pub use device::{
    ArgBytes, Buffer, Device, DeviceError, LaunchRequest, ModuleCode, ModuleId, ModuleSource, ParameterInfo,
    ThreadRegisters,
};
pub use isa::Form;
pub use workload::{Outcome, Parameter, Params, Size, Suite, Workload, WorkloadError};

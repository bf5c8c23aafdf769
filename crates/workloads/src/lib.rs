//! What runs on the simulated GPU: bundled CUDA kernels with generated inputs, launch sequences and
//! host references ([`suite`]), and launch files that describe how to run any other kernel
//! ([`launchfile`]).
//!
//! Both use a [`Device`], whichever implements it.
#![warn(missing_docs)]

pub mod bounded;
pub mod bundled;
pub mod check;
pub mod conformance;
pub mod device;
pub mod element;
pub mod launchfile;
pub mod suite;
pub mod workload;

pub use check::{Check, Mismatch};
pub use device::{
    ArgBytes, Buffer, Device, DeviceError, LaunchRequest, ModuleCode, ModuleId, ModuleSource, ParameterInfo,
    ThreadRegisters,
};
pub use isa::Form;
pub use kit::suggest;
pub use workload::{Outcome, Parameter, Params, Size, Workload, WorkloadError};

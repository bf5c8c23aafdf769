//! The internal representation of instructions, and the contract between what the warps do and when they do
//! it.
//!
//! Front ends (PTX, SASS, traces) produce a [`Program`]; functional execution or a trace reader
//! implements [`WarpStream`] over it; timing designs consume both and never compute a value.
//!
//! **Invariant:** nothing here depends on a front end, on the meaning of values, or on a GPU.
#![warn(missing_docs)]

mod architecture;
mod class;
mod control_bits;
mod form;
mod image;
mod inst;
mod launch;
mod matrix;
mod stream;
mod work;

pub use architecture::runs_on;
pub use class::OpClass;
pub use control_bits::{ControlBits, CounterBound};
pub use form::Form;
pub use image::{AddressMode, Channel, Image, Sampler, Shape};
pub use inst::{
    Access, CacheOp, ConstantOperand, Control, InlinedCall, Inst, InstSpec, Lines, MemAccess, Pc, Program,
    ProgramBuilder, RegFile, RegId, SingleOperation, Source, Space, Traits,
};
pub use launch::{ClusterMember, Dim3, KernelId, LaunchShape};
pub use matrix::{GroupWork, MatrixType, MatrixWork};
pub use stream::{
    ALL_COPIES, BarrierArrival, CtaSlot, DynInst, Fault, FaultKind, MessageId, OperandValues, PeerAccesses, SourceSpot,
    StepContext, TensorUse, Transfer, TransferId, TransferKind, WarpSlot, WarpStream,
};
pub use work::Work;

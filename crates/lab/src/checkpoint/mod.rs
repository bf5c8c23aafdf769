//! Checkpoints of runs, taken between kernels.
//!
//! A checkpoint has the state of the machine with device memory ([`gpu::Machine`]), what each kernel's end has brought
//! to the report, and what the host had got of the device. A run that resumes executes the code of the host again, up
//! to the same place: launches are made, but not simulated, and what the host reads comes from the checkpoint.
//! `docs/checkpoints.md` says what that means for users.
//!
//! | file | what it is |
//! | --- | --- |
//! | `plan` | what a run leaves and continues |
//! | `file` | the file: format, compression, checksum |
//! | `identity` | what the resuming run must have in common |
//! | `journal` | what the host has got of the device |
//! | `kernels` | the reports of kernels, kept line by line beside the checkpoint |
//! | `keeper` | when checkpoints are taken, and the way back to one |

mod file;
mod identity;
mod journal;
mod keeper;
mod kernels;
mod plan;

pub(crate) use identity::of as identity;
pub use identity::{JobIdentity, MODEL};
pub(crate) use journal::{Answer, Known};
pub(crate) use keeper::Keeper;
pub use plan::{CheckpointPlan, Checkpoints, SavedRun};

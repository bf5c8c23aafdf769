//! What most commands ask of [`lab`].

pub use lab::{cores, run, schedulers, schema, structures};

//! The calls into [`lab`], in one place.

pub use lab::{cores, run, schedulers, schema, structures};

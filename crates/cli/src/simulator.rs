//! What most commands ask of [`lab`].

pub use lab::{cores, run, run_kept, schedulers, schema, structures};

//! The functions of the driver API, by family.

mod context;
mod device;
mod entry;
mod launch;
mod memory;
mod module;
mod stream;
mod unsupported;

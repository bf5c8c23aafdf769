//! The functions of the driver API, by family.

mod capture;
mod context;
mod device;
mod entry;
mod graph;
mod launch;
mod link;
mod mapping;
mod memory;
mod module;
mod node;
mod pool;
mod stream;
mod unsupported;

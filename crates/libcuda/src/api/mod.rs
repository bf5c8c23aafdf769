//! The functions of the driver API, by family.

mod array;
mod capture;
mod context;
mod device;
mod entry;
mod executable;
mod graph;
mod launch;
mod link;
mod mapping;
mod memory;
mod module;
mod node;
mod nvtx;
mod occupancy;
mod old;
mod peer;
mod pointer;
mod pool;
mod stream;
mod tensor;
mod texture;
mod unsupported;

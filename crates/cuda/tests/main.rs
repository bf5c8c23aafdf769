//! Tests of the driver in a process of their own making.

// The name by which other crates have it.
extern crate warpwright_cuda as cuda;

mod captures;
mod clusters;
mod fake;
mod graphs;
mod images;
mod links;
mod pools;
mod timeline;

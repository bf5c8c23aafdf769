//! Kinds of nodes (`CU_GRAPH_NODE_TYPE_*`).
#![allow(missing_docs, reason = "the names say it")]

pub const KERNEL: u32 = 0;
pub const COPY: u32 = 1;
pub const FILL: u32 = 2;
pub const CALL: u32 = 3;
pub const GRAPH: u32 = 4;
pub const NOTHING: u32 = 5;
pub const WAIT: u32 = 6;
pub const RECORD: u32 = 7;
pub const ALLOCATE: u32 = 10;
pub const FREE: u32 = 11;
/// Stores of values in memory and waits for them.
pub const VALUES: u32 = 12;

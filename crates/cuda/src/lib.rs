//! CUDA's driver over the simulated GPU: devices, contexts, modules, memory, streams, events, graphs. Safe Rust;
//! `warpwright-libcuda` is its C boundary.
//!
//! | module | content |
//! | --- | --- |
//! | `error`, `handles`, `host` | error codes, handles of objects, what is needed of the process |
//! | `settings` | what the user asks for |
//! | `link` | time of transfers |
//! | `work`, `shared`, `timeline` | operations; memory that device and host share; the order of operations in simulated time |
//! | `report` | the report of a program |
//! | `driver` | the driver: its devices, and the objects of all families |
//! | `context`, `wait` | contexts; the simulated GPUs, and waiting for their operations |
//! | `attributes` | attributes of devices |
//! | `memory` | allocations, copies and fills, pools, virtual memory, attributes of addresses |
//! | `module` | modules, functions, launches, linking at run time |
//! | `stream` | streams, events, which default stream a call means |
//! | `image` | arrays, texture and surface objects, texture and surface references |
//! | `graph` | graphs, captured from streams or built; executable graphs; objects of the program |
//!
//! The last five are the families of the API. The `objects` of each are what the driver keeps; its other files are
//! methods of [`Driver`].
//!
//! 1. The time of the host program is not simulated: it takes none.
//! 2. Operations run when the program waits: for a stream, an event or a device, or in a call that waits by its
//!    nature. A query of what has not ended advances simulated time by a microsecond.
//! 3. Device and host see each other's stores to shared memory only between operations ([`shared`]).
//! 4. Arrays are stored row by row ([`exec::image`]).
#![warn(missing_docs)]

pub mod attributes;
pub mod context;
mod driver;
mod error;
pub mod graph;
pub mod handles;
mod host;
pub mod image;
pub mod link;
pub mod memory;
pub mod module;
pub mod report;
pub mod settings;
pub mod shared;
pub mod stream;
pub mod timeline;
mod wait;
pub mod work;

pub use driver::{Context, Device, Driver};
pub use error::{Error, Result};
pub use host::{Host, PAGE_BYTES, read_text};
pub use settings::Settings;
pub use wait::{MOST_PENDING, Step, Wait};

//! CUDA's driver over the simulated GPU: devices, contexts, modules, memory, streams, events, graphs. Safe Rust;
//! `warpwright-libcuda` is its C boundary.
//!
//! | module | content |
//! | --- | --- |
//! | `error`, `handles`, `host` | error codes, handles of objects, what is needed of the process |
//! | `settings` | what the user asks for |
//! | `link` | time of transfers |
//! | `origin` | what launched a kernel |
//! | `work`, `shared`, `timeline` | operations; memory that device and host share; the order of operations in simulated time |
//! | `report` | the report of a program |
//! | `platform` | [`Platform`]: devices with their attributes, contexts, waiting for operations |
//! | `stream` | [`stream::Streams`]: streams, events, captures, which default stream a call means |
//! | `module` | [`module::Modules`]: modules, functions, linking at run time |
//! | `memory` | [`memory::Memory`]: allocations, pools, virtual memory, memory of graphs, attributes of addresses |
//! | `image` | [`image::Images`]: arrays, texture and surface objects, texture and surface references |
//! | `graph` | [`graph::Graphs`]: graphs, executable graphs, objects of the program |
//! | `driver` | [`Driver`]: the six owners, and calls that need several: requests in streams, captures, copies, launches |
//!
//! The fields of the owners of the five families are private. A call that needs more gets it as an argument: the
//! [`Platform`], or owners of rows above its own. The `objects` of each family are the data.
//!
//! 1. The time of the host program is not simulated: it takes none.
//! 2. Operations run when the program waits: for a stream, an event or a device, or in a call that waits by its
//!    nature. A query of what has not ended advances simulated time by a microsecond.
//! 3. Device and host see each other's stores to shared memory only between operations ([`shared`]).
//! 4. Arrays are stored row by row ([`exec::image`]).
#![warn(missing_docs)]

mod driver;
mod error;
pub mod graph;
pub mod handles;
mod host;
pub mod image;
pub mod link;
pub mod memory;
pub mod module;
pub mod origin;
pub mod platform;
pub mod report;
pub mod settings;
pub mod shared;
pub mod stream;
pub mod timeline;
pub mod work;

pub use driver::Driver;
pub use error::{Error, Result};
pub use exec::tensor_map;
pub use host::{Host, PAGE_BYTES, read_text};
pub use platform::{Context, Device, MOST_PENDING, Platform, Step, Wait};
pub use settings::Settings;

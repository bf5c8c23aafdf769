//! CUDA's driver over the simulated GPU: devices, contexts, modules, memory, streams, events, graphs. Safe Rust;
//! `warpwright-libcuda` is its C boundary.
//!
//! | module | content |
//! | --- | --- |
//! | `error`, `handles`, `host` | error codes, handles of objects, what is needed of the process |
//! | `settings` | what the user asks for |
//! | `attributes`, `properties`, `link` | what a device says of itself, time of transfers |
//! | `work`, `timeline`, `shared` | operations, and their order in simulated time; memory that device and host share |
//! | `driver` | devices, contexts, and waiting |
//! | `module`, `launch`, `memory`, `copy`, `stream`, `event` | the families of the API |
//! | `pointer` | what an address is, advice on managed memory |
//! | `array`, `texture`, `reference` | arrays, texture and surface objects, texture and surface references |
//! | `default_stream` | which default stream a call means |
//! | `capture`, `graph`, `executable`, `user_object` | graphs, captured from streams or built |
//! | `pool`, `mapping` | memory in the order of streams, virtual memory |
//! | `linker` | linking at run time |
//! | `report` | the report of a program |
//!
//! 1. The time of the host program is not simulated: it takes none.
//! 2. Operations run when the program waits: for a stream, an event or a device, or in a call that waits by its
//!    nature. A query of what has not ended lets a microsecond of simulated time pass.
//! 3. Device and host see each other's stores to shared memory only between operations ([`shared`]).
//! 4. Arrays are stored row by row ([`exec::image`]).
#![warn(missing_docs)]

pub mod array;
pub mod attributes;
pub mod capture;
pub mod copy;
pub mod default_stream;
mod driver;
mod error;
pub mod event;
pub mod executable;
pub mod graph;
pub mod handles;
mod host;
pub mod launch;
pub mod link;
pub mod linker;
pub mod mapping;
pub mod memory;
pub mod module;
pub mod pointer;
pub mod pool;
pub mod properties;
pub mod reference;
pub mod report;
pub mod settings;
pub mod shared;
pub mod stream;
pub mod texture;
pub mod timeline;
pub mod user_object;
pub mod work;

pub use driver::{Context, Device, Driver, MOST_PENDING, Step, Wait};
pub use error::{Error, Result};
pub use host::{Host, PAGE_BYTES, read_text};
pub use settings::Settings;

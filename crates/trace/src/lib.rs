//! Traces: recorded behaviour of a kernel's warps, as a program and instruction streams.
//!
//! Accel-Sim's format is read here and written by [`export_accelsim`]. Our own format, in which any stream
//! can be recorded, is read by [`NativeTrace`]. Accel-Sim's traces are read as follows:
//!
//! ```text
//!  kernelslist.g ─► List ─► kernel files ─► KernelTrace::open ─► isa::Program
//!                                               │ (CtaReader: static instructions, checks)
//!                                               └► Decoded ─► TraceShared ─► TraceStream
//!                                                  (all CTAs, or each as it is dispatched)
//! ```
//! A file is read once, from beginning to end. Most lines repeat an earlier line and are only compared with
//! it. Decoded CTAs are kept if they take little memory. Otherwise the file is read a second time, by whole
//! CTAs and in file order, which is the order of dispatch: memory then holds the static instructions and the
//! resident CTAs, whatever the length and compression of the file.
//!
//! Traces are interpreted as by Accel-Sim wherever the two can be compared, even where hardware differs:
//! - T1: a 64-bit operand counts as its first register: traces do not name the second.
//! - T2: `R255`, which reads as zero, counts as any other register.
//! - T3: predicates and uniform registers are absent before tracer version 5; nothing waits for them.
//! - T4: a generic access goes to the state space of its first active lane.
//! - T5: `BAR` waits for the whole CTA, whatever its operands.
//! - T6: bytes per lane are derived from the opcode's modifiers, never from the trace's width.
//!
//! **Invariant:** no file, however damaged, makes this crate panic, or take more memory than in proportion to
//! the file's longest CTA, apart from kept CTAs, which are bounded.
#![warn(missing_docs)]

mod accelsim;
mod cta;
mod decoded;
mod error;
mod header;
mod kernel;
mod line;
mod list;
mod native;
mod oddities;
mod program;
mod repeat;
mod source;
mod stream;
mod whole;

pub use accelsim::{Compression, KeepOn, export_accelsim};
pub use error::TraceError;
pub use header::Header;
pub use kernel::KernelTrace;
pub use list::{Command, List};
pub use native::{
    Action, Contents, LaunchInfo, NATIVE_VERSION, NativeShared, NativeStream, NativeTrace, Recorder, Recording,
    Written, is_native, walk_cta,
};
pub use oddities::Oddities;
pub use program::UnknownOpcode;
pub use sass::meaning::{Generation, class_of};
pub use source::open_decompressed;
pub use stream::{GenericSpaces, TraceShared, TraceStream};

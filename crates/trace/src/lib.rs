//! Traces: what the warps of a kernel did, as a program and as instruction streams.
//!
//! Accel-Sim's are read here and written by [`export_accelsim`]; our own format, which any stream is
//! recorded in, is [`NativeTrace`]'s. Accel-Sim's first:
//!
//! ```text
//!  kernelslist.g ─► List ─► kernel files ─► KernelTrace::open ─► isa::Program
//!                                               │ (CtaReader: static instructions, checks)
//!                                               └► Decoded ─► TraceShared ─► TraceStream
//!                                                  (all CTAs, or each as it is dispatched)
//! ```
//! A file is read once, from its beginning to its end; most of its lines say again what an earlier
//! one said, and are only compared with it. What is decoded is kept if it takes little memory.
//! Otherwise the file is read a second time, by whole CTAs and in file order, which is the order of
//! dispatch: memory holds the static instructions and the CTAs that are resident, whatever the
//! length of the file and however it is compressed.
//!
//! What Accel-Sim makes of a trace is followed where the two can be compared, even where the
//! hardware does otherwise:
//! - T1: a 64-bit operand counts as its first register, which is all that a trace names.
//! - T2: `R255`, which reads as zero, counts as a register like the others.
//! - T3: predicates and uniform registers are absent before tracer version 5; nothing waits for them.
//! - T4: a generic access goes where its first active lane goes.
//! - T5: `BAR` waits for the whole CTA, whatever its operands.
//! - T6: bytes per lane come from the opcode's modifiers, never from the trace's width.
//!
//! **Invariant:** nothing in a file, however damaged, makes this crate panic or take memory, beside
//! that for decoded CTAs which has its bound, out of proportion to the file's own longest CTA.
#![warn(missing_docs)]

mod accelsim;
mod cta;
mod error;
mod header;
mod kernel;
mod line;
mod list;
mod native;
mod program;
mod repeat;
mod source;
mod stream;

pub use accelsim::{Compression, KeepOn, export_accelsim};
pub use error::TraceError;
pub use header::Header;
pub use kernel::{KernelTrace, Oddities};
pub use list::{Command, List};
pub use native::{
    Action, Contents, LaunchInfo, NATIVE_VERSION, NativeShared, NativeStream, NativeTrace, Recorder, Recording, Timing,
    Written, is_native, walk_cta,
};
pub use program::UnknownOpcode;
pub use sass::meaning::{Generation, class_of};
pub use source::open_decompressed;
pub use stream::{TraceShared, TraceStream};

//! Our own trace format: everything that the warps of a run did, as seen by the timing model.
//!
//! ```text
//!  any WarpStream ─► Recording ─► CtaLog ─► (a CTA ends) ─► writer's thread ─► file
//!                                                                                │
//!  NativeStream ◄─ CtaCode, decoded as its warps go along ◄─ CtaSource ◄─ NativeTrace::open
//! ```
//! `docs/traces.md` describes the bytes.

mod bytes;
mod codec;
mod codes;
mod contents;
mod file;
mod program;
mod reader;
mod recording;
mod stream;
mod values;
mod writer;

pub(crate) use codec::CtaCode;
pub use contents::{Action, Contents, LaunchInfo};
pub use file::{NATIVE_VERSION, is_native};
pub(crate) use reader::CtaSource;
pub use reader::NativeTrace;
pub use recording::Recording;
pub use stream::{NativeShared, NativeStream};
pub use writer::{Recorder, Written};

/// For fuzzing: decodes `bytes` as a CTA that executes `program`.
#[doc(hidden)]
pub fn walk_cta(bytes: &[u8], warps: usize, program: &isa::Program) -> Result<u64, &'static str> {
    let mut cta = CtaCode::default();
    let has = |bit: u8| bytes.first().is_some_and(|byte| byte >> bit & 1 != 0);
    cta.take(bytes, warps, program, codec::Layout { values: has(0), reconvergence: has(1) })?;
    let (mut done, mut values, mut steps) = (isa::DynInst::default(), isa::OperandValues::default(), 0);
    for warp in 0..warps {
        while cta.next_pc(warp).is_some() {
            cta.step(warp, program, &mut done)?;
            values.columns.clear();
            cta.read_values(warp, program, &done, &mut values)?;
            steps += 1;
        }
    }
    Ok(steps)
}

//! Video instructions: arithmetic on bytes and half-words of registers ([`num::video`]).

use crate::lanes::{Lanes, Reg};
use kit::lanes;
use num::video::{self, Destination, Part, Simd, Source, Then, Vmad};

/// The part of a source register that a scalar instruction reads, and whether it is signed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "the names say it")]
pub struct Selected {
    pub part: Part,
    pub signed: bool,
}

impl Selected {
    const fn of(self, value: u32) -> Source {
        Source { value, part: self.part, signed: self.signed }
    }
}

/// A video instruction without its registers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "the names say it")]
pub enum Video {
    /// `vadd`, `vset` and so on.
    Scalar {
        op: video::VideoOp,
        sources: [Selected; 2],
        /// The destination's type is signed.
        signed: bool,
        sat: bool,
        /// Operation with the third operand.
        then: Then,
    },
    /// `vmad`.
    Mad { sources: [Selected; 2], flags: Vmad },
    /// `vadd2`, `vset4` and so on.
    Simd(video::VideoOp, Simd),
}

impl Video {
    /// Executes the instruction in the executing lanes.
    pub(crate) fn run(self, file: &mut Lanes<'_>, d: Reg, s: [Reg; 3]) {
        let mut out = [0; 32];
        for lane in lanes(file.mask) {
            let [a, b, c]: [u32; 3] = s.map(|s| file.get(s, lane));
            out[lane] = match self {
                Video::Scalar { op, sources: [x, y], signed, sat, then } => {
                    video::scalar(op, x.of(a), y.of(b), Destination { signed, sat, then, c })
                }
                Video::Mad { sources: [x, y], flags } => video::vmad(x.of(a), y.of(b), c, flags),
                Video::Simd(op, flags) => video::simd(op, a, b, c, flags),
            };
        }
        file.write(d, &out);
    }
}

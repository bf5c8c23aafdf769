//! Kernels that a fabric refuses.

use exec::function::Function;
use exec::kernel::Kernel;
use exec::lanes::Pred;
use exec::op::Op;
use exec::special::Special;
use exec::steer::{BarrierOp, Steer};
use isa::{Pc, Space};
use std::fmt;

/// The reason why a kernel cannot be mapped, and the instruction.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names of the fields say it all")]
pub struct Refusal {
    pub what: String,
    pub pc: Pc,
    /// The instruction in the front end's own text, and its line there.
    pub text: String,
    pub line: u32,
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: `{}`: {}", self.line, self.text, self.what)
    }
}

impl Refusal {
    pub(crate) fn new(kernel: &Kernel, pc: u32, what: impl Into<String>) -> Self {
        let at = Pc(pc);
        let text = kernel.program.text(at).to_string();
        Self { what: what.into(), pc: at, text, line: kernel.program.source(at).line }
    }
}

/// Why the fabric cannot execute the instruction at `pc`, if it cannot.
pub(crate) fn refusal(kernel: &Kernel, pc: u32) -> Option<Refusal> {
    let code = &kernel.code[pc as usize];
    let is_constant = |r: exec::lanes::Reg| r.is_constant();
    let what = match &code.op {
        Op::Nop | Op::Branch { .. } | Op::Exit | Op::Return | Op::Fence | Op::FenceCta => return None,
        Op::FrameAddress { .. } => return None,
        op if Function::of(op).is_some() => return None,
        Op::Special(special, _) => match special {
            Special::TidX | Special::TidY | Special::TidZ => return None,
            Special::CtaidX | Special::CtaidY | Special::CtaidZ => return None,
            Special::NtidX | Special::NtidY | Special::NtidZ => return None,
            Special::NctaidX | Special::NctaidY | Special::NctaidZ => return None,
            Special::Zero => return None,
            Special::Laneid | Special::Warpid | Special::Nwarpid => "threads of a fabric are in no warp",
            special if special.is_time() => "the fabric has no clock that a thread can read",
            _ => "this special register has no meaning on a fabric",
        },
        Op::Load(t) if t.space == Space::Param && !is_constant(t.address.base) => {
            "a parameter at an address that is computed"
        }
        Op::Load(_) | Op::Store(_) => return None,
        Op::Atomic(atomic) if atomic.count > 1 => "an atomic access to several values",
        Op::Atomic(_) | Op::AsyncCopy { .. } | Op::AsyncCommit | Op::AsyncWait(_) => return None,
        // Threads of a fabric are in no warp.
        Op::Steer(Steer::WarpSync(..)) => return None,
        // It suspends a thread for a time that may be none.
        Op::Sleep(_) => return None,
        Op::Barrier { op: BarrierOp::Sync, id, threads: None, .. } if is_constant(*id) && code.guard == Pred::TRUE => {
            return None;
        }
        Op::Barrier { .. } => "only barriers of the whole CTA, without a guard, end a region",
        Op::FrameLoad(_) | Op::FrameStore(_) | Op::Call(_) => "calls have no place in a graph",
        Op::BranchTable { .. } => "an indirect branch",
        Op::Fetch(_) | Op::Surface(_) | Op::Query(_) => "the fabric has no texture units",
        Op::Matrix(_) => "the fabric has no matrix units",
        Op::Trap => "a trap",
        Op::Shuffle { .. } | Op::Vote { .. } | Op::Match { .. } | Op::ActiveMask(_) | Op::Redux(..) => {
            "threads of a fabric are in no warp"
        }
        Op::Elect { .. } | Op::ReadFirst(..) | Op::AnyLane(..) => "threads of a fabric are in no warp",
        _ => "no unit executes it",
    };
    Some(Refusal::new(kernel, pc, what))
}

//! Latencies that depend on the reader of a result.
//!
//! A result of fixed latency is ready for an instruction of its own kind before it is for others: for an address or a
//! guard it has further to go. NVIDIA's compilers know these distances by pair of classes (Mesa's NAK has them as
//! tables: `src/nouveau/compiler/nak/sm75_instr_latencies.rs` and `sm80_…`) and write them into stall counts. Programs
//! without stall counts get them here, once per program.
//!
//! - D-DP1: an instruction has one latency, which is right for the last of its readers: each reader's distance less the
//!   instructions between the first reader and this one. In an in-order core none of them can issue earlier. Of several
//!   readers an early one may wait longer than it does on hardware.
//! - D-DP2: readers are sought in the instructions that follow in memory, as far as any distance reaches. Behind a
//!   branch that is taken the instructions are fetched anew, which takes about as long.

use crate::spec::CoreSpec;
use config::{LatencyOf, OpTiming, Unit};
use isa::{Control, Inst, OpClass, Pc, Program};

/// The latencies of a program's instructions on an SM.
#[derive(Clone, Copy, Debug)]
pub struct Distances<'a> {
    program: &'a Program,
    spec: &'a CoreSpec,
    /// The longest distance that depends on a reader; 0 if none does.
    reach: u32,
}

impl<'a> Distances<'a> {
    /// Those of `program` on an SM of `spec`.
    pub fn of(program: &'a Program, spec: &'a CoreSpec) -> Self {
        let has_counts = || program.insts().iter().any(|inst| inst.control_bits.is_some());
        let by_stalls = spec.honours_stall_counts() && has_counts();
        let applies = spec.sm.latency == Some(LatencyOf::Issue) && !by_stalls;
        Self { program, spec, reach: if applies { spec.sm.dependence.longest() } else { 0 } }
    }

    /// The latency of the instruction at `pc`, whose own timing is `own`, in core cycles.
    pub fn latency(&self, pc: usize, own: OpTiming) -> u32 {
        if self.reach <= own.latency_cycles || !matches!(own.unit, Unit::Int | Unit::Sp | Unit::Dp) {
            return own.latency_cycles;
        }
        let mut written = self.program.dsts(self.program.inst(Pc::from(pc))).to_vec();
        let (mut first, mut latency) = (None, own.latency_cycles);
        for (reader, between) in self.program.insts()[pc + 1..].iter().zip(0..self.reach) {
            let sources = self.program.srcs(reader);
            let distance = sources.iter().enumerate().filter(|(_, src)| written.contains(src)).map(|(at, _)| {
                let guards = reader.guarded && at + 1 == sources.len();
                self.distance((own.unit, own.latency_cycles), reader, guards)
            });
            if let Some(distance) = distance.max() {
                latency = latency.max(distance.saturating_sub(between - *first.get_or_insert(between)));
            }
            if !reader.guarded {
                written.retain(|reg| !self.program.dsts(reader).contains(reg));
            }
            let leaves = matches!(reader.control, Control::Exit) || reader.class == OpClass::Branch;
            if written.is_empty() || leaves && !reader.guarded {
                break;
            }
        }
        latency
    }

    /// From the issue of an instruction on a unit with a latency to that of `reader`, which the result guards or which
    /// reads it in another way.
    fn distance(&self, (writer, latency): (Unit, u32), reader: &Inst, guards: bool) -> u32 {
        let d = &self.spec.sm.dependence;
        let from_dp = writer == Unit::Dp;
        let least = match (reader.class, self.spec.timing_of(reader).unit) {
            _ if guards => d.to_guard_cycles,
            (_, Unit::Mem) => d.to_memory_cycles,
            (_, Unit::Branch) => d.to_guard_cycles,
            (_, Unit::Int) if from_dp => d.dp_to_int_cycles,
            (_, Unit::Sp) if from_dp => d.dp_to_sp_cycles,
            _ if from_dp => None,
            (OpClass::Half, _) => d.to_half_cycles,
            (OpClass::Tensor, _) => d.to_matrix_cycles,
            (_, Unit::Dp) => d.to_dp_cycles,
            (_, Unit::Sfu | Unit::Texture) => d.to_sfu_cycles,
            (_, unit @ (Unit::Int | Unit::Sp)) => d.cross_cycles.filter(|_| unit != writer),
            (_, Unit::Tensor | Unit::Uniform) => None,
        };
        least.map_or(latency, |least| least.max(latency))
    }
}

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

use crate::spec::{CoreSpec, Pipe};
use crate::warps::stall_counters::issue_distance;
use config::{LatencyOf, OpTiming, Unit};
use isa::{Control, ControlBits, Inst, OpClass, Pc, Program, RegId};

/// A read that comes before the value does, by an SM's latencies and a program's control bits. The compiler knows the
/// hardware: it is a finding about the latencies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EarlyRead {
    /// The instruction that makes the value.
    pub writer: Pc,
    /// The instruction that reads it.
    pub reader: Pc,
    /// The register.
    pub register: RegId,
    /// From issue to issue by the stall counts, in core cycles.
    pub distance: u32,
    /// The least distance by the latencies; none if nothing waits for a counter of the writer.
    pub needed: Option<u32>,
}

/// Instructions behind a writer in which its readers are sought.
const SOUGHT: usize = 64;
/// From the issue of an instruction to the first issue that sees its dependence counters; `DEPBAR.LE` sees them at once.
const COUNTED_AFTER: u32 = 2;

/// The reads in `program` that come too early on an SM of `spec`, in code without branches between writer and reader:
/// first readers of each register. None in a program without control bits. An instruction of variable latency without a
/// counter of its own is left out: it shares the counter of a younger one of its unit, which ends after it.
pub fn early_reads(program: &Program, spec: &CoreSpec) -> Vec<EarlyRead> {
    let distances = Distances { program, spec, reach: 0 };
    let writers = program.insts().iter().enumerate();
    writers
        .filter_map(|(pc, inst)| Some((pc, inst, inst.control_bits?)))
        .flat_map(|(pc, inst, bits)| distances.early_readers(Pc::from(pc), inst, bits))
        .collect()
}

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
            let distance = sources.iter().enumerate().filter(|(_, src)| written.contains(src)).map(|(at, &src)| {
                let guards = reader.guarded && at + 1 == sources.len();
                self.distance((own.unit, own.latency_cycles), Pc::from(pc + 1 + between as usize), (src, guards))
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

    /// The first readers of the results of `writer`, at `pc` with `bits`, that come too early.
    fn early_readers(&self, pc: Pc, writer: &Inst, bits: ControlBits) -> Vec<EarlyRead> {
        let own = self.spec.timing_at(self.program, pc);
        let is_fixed = matches!(own.unit, Unit::Int | Unit::Sp | Unit::Tensor | Unit::Uniform)
            || own.unit == Unit::Dp && self.spec.has_own_units(Pipe::of(Unit::Dp));
        let is_asynchronous = writer.matrix.is_some_and(|work| work.group.is_some());
        if is_asynchronous || bits.write_barrier.is_none() && (!is_fixed || writer.mem.is_some()) {
            return Vec::new();
        }
        let mut written = self.program.dsts(writer).to_vec();
        let (mut early, mut distance) = (Vec::new(), u32::from(issue_distance(bits)));
        for (reader, inst) in self.program.insts().iter().enumerate().skip(pc.index() + 1).take(SOUGHT) {
            let waits = |counter: u8| {
                let bound = inst.counter_bound.is_some_and(|b| b.counter == counter || b.drained >> counter & 1 != 0);
                let masked = || inst.control_bits.is_none_or(|bits| bits.wait_mask >> counter & 1 != 0);
                bound || distance >= COUNTED_AFTER && masked()
            };
            if bits.write_barrier.is_some_and(waits) {
                return early;
            }
            let sources = self.program.srcs(inst);
            for (at, &register) in sources.iter().enumerate().filter(|(_, src)| written.contains(src)) {
                let guards = inst.guarded && at + 1 == sources.len();
                let own = (own.unit, own.latency_cycles);
                let needed =
                    bits.write_barrier.is_none().then(|| self.distance(own, Pc::from(reader), (register, guards)));
                if needed.is_none_or(|needed| distance < needed) {
                    early.push(EarlyRead { writer: pc, reader: Pc::from(reader), register, distance, needed });
                }
            }
            let gone = |reg: &RegId| sources.contains(reg) || !inst.guarded && self.program.dsts(inst).contains(reg);
            written.retain(|reg| !gone(reg));
            let leaves = inst.control == Control::Branch || inst.control == Control::Exit;
            if written.is_empty() || leaves && !inst.guarded {
                break;
            }
            distance += inst.control_bits.map_or(1, |bits| u32::from(issue_distance(bits)));
        }
        early
    }

    /// Cycles from the issue of a writer, on its unit with its latency, to the issue of the reader at `pc`. The result, in
    /// `register`, guards the reader or is an operand. Results of the uniform datapath are ready for all readers at a time.
    fn distance(&self, (writer, latency): (Unit, u32), pc: Pc, (register, guards): (RegId, bool)) -> u32 {
        let reader = self.program.inst(pc);
        if writer == Unit::Uniform {
            return latency;
        }
        let d = &self.spec.sm.dependence;
        let from_dp = writer == Unit::Dp;
        let to_guard = d.dp_to_guard_cycles.filter(|_| from_dp).or(d.to_guard_cycles);
        let least = match (reader.class, self.spec.timing_at(self.program, pc).unit) {
            _ if guards => to_guard,
            (_, Unit::Mem) => d.to_memory_cycles,
            // A target in a register is read as special functions read theirs, and so is the number of a barrier.
            (_, Unit::Branch) if self.program.regs.is_vector(register) => d.to_sfu_cycles,
            (_, Unit::Branch) => to_guard,
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

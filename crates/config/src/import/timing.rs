//! Which unit executes each class, and how fast: GPGPU-Sim's rules for PTX (`cuda-sim.cc`,
//! `shader.cc`), Accel-Sim's opcode tables for machine code.

use super::reader::Reader;
use crate::schema::is_timed;
use crate::{OpTiming, Unit, UnitConfig};
use isa::OpClass;
use std::collections::BTreeMap;

/// Sources of the timings that no option gives.
pub(super) const SOURCES: &[(&str, &str)] = &[
    ("sm.ptx_timing.nop", UNLISTED),
    ("sm.ptx_timing.move", UNLISTED),
    ("sm.ptx_timing.convert", UNLISTED),
    ("sm.ptx_timing.branch", UNLISTED),
    ("sm.ptx_timing.exit", UNLISTED),
    ("sm.ptx_timing.barrier", UNLISTED),
    ("sm.ptx_timing.half", "guess: as fp_add; GPGPU-Sim gives 16-bit opcodes integer timing"),
    ("sm.ptx_timing.texture", MEMORY),
    ("sm.ptx_timing.fence", MEMORY),
    ("sm.sass_timing.exit", UNTIMED),
    ("sm.sass_timing.barrier", UNTIMED),
    ("sm.sass_timing.fence", MEMORY),
];
const UNLISTED: &str = "guess: as int_add; GPGPU-Sim gives opcodes that it does not list latency 1";
const MEMORY: &str = "GPGPU-Sim 4: latency 1 in the unit; the rest is the memory's";
const UNTIMED: &str = "Accel-Sim trace_driven.cc: latency 1 for opcodes without a category";

type Table = BTreeMap<String, OpTiming>;
type Units = BTreeMap<Unit, UnitConfig>;

/// `wanted` where the SM has it, else `instead`.
fn unit_or(units: &Units, wanted: Unit, instead: Unit) -> Unit {
    if units.contains_key(&wanted) { wanted } else { instead }
}

fn timing(unit: Unit, latency_cycles: u32, initiation_cycles: u32) -> OpTiming {
    OpTiming { unit, latency_cycles, initiation_cycles }
}

/// Timing for PTX. Division goes to the special-function unit, as does double precision where
/// there is no unit for it; everything simple to the integer unit, or to SP where there is none.
pub(super) fn ptx(reader: &mut Reader, units: &Units) -> Table {
    use OpClass::*;
    let (int_latency, int_initiation) = integers(reader);
    let int = unit_or(units, Unit::Int, Unit::Sp);
    let dp = unit_or(units, Unit::Dp, Unit::Sfu);
    let fp_latency = reader.list("-ptx_opcode_latency_fp", ',', 5, 5);
    let fp_initiation = reader.list("-ptx_opcode_initiation_fp", ',', 5, 5);
    let dp_latency = reader.list("-ptx_opcode_latency_dp", ',', 5, 5);
    let dp_initiation = reader.list("-ptx_opcode_initiation_dp", ',', 5, 5);
    let int_op = |unit, i: usize| timing(unit, int_latency[i], int_initiation[i]);
    let fp_op = |unit, i: usize| timing(unit, fp_latency[i], fp_initiation[i]);
    let dp_op = |unit, i: usize| timing(unit, dp_latency[i], dp_initiation[i]);
    let sfu = timing(Unit::Sfu, reader.int("-ptx_opcode_latency_sfu"), reader.int("-ptx_opcode_initiation_sfu"));
    let tensor = tensor_for_ptx(reader, units);
    let memory = timing(Unit::Mem, 1, 1);
    let of = |class: &OpClass| match class {
        Nop | Move | IntAdd | BitScan | Convert | ConvertWide | ConvertInt | Uniform | Branch | Exit | Barrier => {
            int_op(int, 0)
        }
        IntMinMax => int_op(int, 1),
        IntMul => int_op(int, 2),
        IntMad => int_op(int, 3),
        IntDiv => int_op(Unit::Sfu, 4),
        Shuffle | Vote | Reduce => int_op(int, 5),
        Half | FpAdd | FpCompare => fp_op(Unit::Sp, 0),
        FpMinMax => fp_op(Unit::Sp, 1),
        FpMul => fp_op(Unit::Sp, 2),
        FpFma => fp_op(Unit::Sp, 3),
        FpDiv => fp_op(Unit::Sfu, 4),
        DpAdd => dp_op(dp, 0),
        DpMinMax => dp_op(dp, 1),
        DpMul => dp_op(dp, 2),
        DpFma => dp_op(dp, 3),
        DpDiv => dp_op(Unit::Sfu, 4),
        Sfu => sfu,
        Tensor => tensor,
        Texture | Fence | Load | Store | Atomic | AsyncCopy | MatrixLoad => memory,
    };
    rows("ptx_timing", of)
}

/// A row for each class of the table that is not part of another: Accel-Sim has them all.
fn rows(table: &str, of: impl Fn(&OpClass) -> OpTiming) -> Table {
    let wholes = OpClass::ALL.iter().filter(|class| is_timed(table, **class) && class.part_of().is_none());
    wholes.map(|class| (class.name().to_string(), of(class))).collect()
}

/// The integer rows. Some files give five numbers, and GPGPU-Sim then uses an uninitialised sixth.
fn integers(reader: &mut Reader) -> (Vec<u32>, Vec<u32>) {
    let with_sixth = |reader: &mut Reader, name, sixth| {
        let mut numbers = reader.list(name, ',', 5, 6);
        if numbers.len() == 5 {
            reader.cannot(
                name,
                "the sixth number, for shuffles, is missing (GPGPU-Sim would use an uninitialised variable)",
                format!("{sixth}, the default, is taken for it; the others are read"),
            );
            numbers.push(sixth);
        }
        numbers
    };
    (with_sixth(reader, "-ptx_opcode_latency_int", 32), with_sixth(reader, "-ptx_opcode_initiation_int", 4))
}

fn tensor_for_ptx(reader: &mut Reader, units: &Units) -> OpTiming {
    let (latency, initiation) = ("-ptx_opcode_latency_tesnor", "-ptx_opcode_initiation_tensor");
    timing(unit_or(units, Unit::Tensor, Unit::Sp), reader.int(latency), reader.int(initiation))
}

/// Timing for machine code and traces.
pub(super) fn sass(reader: &mut Reader, units: &Units) -> Table {
    use OpClass::*;
    let pair = |reader: &mut Reader, name, unit| {
        let numbers = reader.list(name, ',', 2, 2);
        timing(unit, numbers[0], numbers[1])
    };
    let int = pair(reader, "-trace_opcode_latency_initiation_int", unit_or(units, Unit::Int, Unit::Sp));
    let fp = pair(reader, "-trace_opcode_latency_initiation_sp", Unit::Sp);
    let dp = pair(reader, "-trace_opcode_latency_initiation_dp", unit_or(units, Unit::Dp, Unit::Sfu));
    let sfu = pair(reader, "-trace_opcode_latency_initiation_sfu", Unit::Sfu);
    // Without its own unit, a class executes where everything simple does.
    let mut specialised = |name, unit, otherwise| {
        if units.contains_key(&unit) {
            return pair(reader, name, unit);
        }
        reader.ignored(name, "the specialized unit is not there");
        otherwise
    };
    let branch = specialised("-trace_opcode_latency_initiation_spec_op_1", Unit::Branch, int);
    let texture = specialised("-trace_opcode_latency_initiation_spec_op_2", Unit::Texture, int);
    let uniform = specialised("-trace_opcode_latency_initiation_spec_op_4", Unit::Uniform, int);
    let tensor = if reader.text("-specialized_unit_3").starts_with('1') {
        pair(reader, "-trace_opcode_latency_initiation_spec_op_3", unit_or(units, Unit::Tensor, Unit::Sp))
    } else {
        reader.ignored("-trace_opcode_latency_initiation_spec_op_3", "the specialized unit is not there");
        tensor_for_ptx(reader, units)
    };
    // Accel-Sim halves the interval of 16-bit instructions: they do twice the work.
    let half = timing(fp.unit, fp.latency_cycles, (fp.initiation_cycles / 2).max(1));
    let of = |class: &OpClass| match class {
        Nop | Move | IntAdd | BitScan | IntMinMax | IntMul | IntMad | Shuffle | Vote | Convert | ConvertWide
        | ConvertInt => int,
        FpAdd | FpCompare | FpMinMax | FpMul | FpFma => fp,
        DpAdd | DpMinMax | DpMul | DpFma => dp,
        IntDiv | FpDiv | DpDiv | Sfu => sfu,
        Half => half,
        Tensor => tensor,
        Texture => texture,
        Uniform | Reduce => uniform,
        Branch => branch,
        Exit | Barrier => timing(int.unit, 1, 1),
        Fence | Load | Store | Atomic | AsyncCopy | MatrixLoad => timing(Unit::Mem, 1, 1),
    };
    rows("sass_timing", of)
}

//! Properties of machine instructions that the timing model needs: class, control, memory access. Units are
//! those of Accel-Sim, from a table per architecture generation.

mod generation;
mod matrix;

pub use generation::{DEFAULT_CLASS, Generation, class_of};
use isa::{Access, CacheOp, Control, MatrixWork, MemAccess, OpClass, Space, Work};

/// Properties of an opcode with its modifiers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names say it")]
pub struct Meaning {
    pub class: OpClass,
    /// Kind of work of its lanes.
    pub work: Work,
    /// Effect on control flow.
    pub control: Control,
    pub mem: Option<MemAccess>,
    /// Matrix multiplication, if it is one of known shape.
    pub matrix: Option<MatrixWork>,
    /// The opcode is in no table.
    pub unknown: bool,
}

/// Properties of `opcode`, such as `LDG.E.64.SYS`, in `generation`.
pub fn meaning(opcode: &str, generation: Generation) -> Meaning {
    let base = base(opcode);
    let known = class_of(base, generation);
    let mem = access(base).map(|(space, access)| MemAccess {
        space,
        access,
        bytes: bytes_per_lane(opcode),
        cache: cache_operator(opcode, access),
    });
    let class = match known.unwrap_or(DEFAULT_CLASS) {
        OpClass::Convert if converts_64_bits(base, opcode) => OpClass::ConvertWide,
        class => class,
    };
    let work = Work::of_opcode(class, opcode);
    let matrix = if class == OpClass::Tensor { matrix::work(base, opcode) } else { None };
    Meaning { class, work, control: control(base, opcode), mem, matrix, unknown: known.is_none() }
}

/// Whether an opcode converts from or to a floating-point type, and one of the two types has 64 bits.
fn converts_64_bits(base: &str, opcode: &str) -> bool {
    !base.starts_with("I2I") && opcode.split('.').skip(1).any(|part| matches!(part, "F64" | "S64" | "U64"))
}

/// The opcode without its modifiers.
pub fn base(opcode: &str) -> &str {
    opcode.split('.').find(|part| !part.is_empty()).unwrap_or(opcode)
}

/// Space and kind of access. A constant load has none: it executes in the integer unit, as in Accel-Sim.
fn access(base: &str) -> Option<(Space, Access)> {
    Some(match base {
        "LDG" => (Space::Global, Access::Load),
        "LDL" => (Space::Local, Access::Load),
        "LDS" | "LDSM" | "LDSLK" => (Space::Shared, Access::Load),
        "LD" => (Space::Generic, Access::Load),
        "STG" => (Space::Global, Access::Store),
        "STL" => (Space::Local, Access::Store),
        "STS" | "STSM" | "STSCUL" => (Space::Shared, Access::Store),
        "ST" => (Space::Generic, Access::Store),
        "ATOM" | "ATOMG" => (Space::Global, Access::Atomic),
        "RED" | "REDG" => (Space::Global, Access::Reduction),
        "ATOMS" => (Space::Shared, Access::Atomic),
        "LDGSTS" => (Space::Global, Access::AsyncCopy),
        _ => return None,
    })
}

fn control(base: &str, opcode: &str) -> Control {
    match base {
        "BRA" | "BRX" | "BRXU" | "JMP" | "JMX" | "JMXU" | "CALL" | "CAL" | "JCAL" | "RET" | "BRK" | "CONT" | "SYNC" => {
            Control::Branch
        }
        "EXIT" => Control::Exit,
        "BAR" => Control::BarrierSync,
        "MEMBAR" if opcode.split('.').any(|part| part == "CTA") => Control::FenceCta,
        "MEMBAR" => Control::Fence,
        "LDGDEPBAR" => Control::AsyncCommit,
        "DEPBAR" if opcode.contains(".LE") => Control::AsyncWait,
        _ => Control::None,
    }
}

/// Accesses of GPU or wider scope, and atomics, are performed at L2.
fn cache_operator(opcode: &str, access: Access) -> CacheOp {
    let has = |modifier| opcode.split('.').any(|part| part == modifier);
    let atomic = matches!(access, Access::Atomic | Access::Reduction);
    let load_past_l1 = access == Access::Load && has("STRONG") && has("GPU");
    if atomic || load_past_l1 { CacheOp::L2 } else { CacheOp::All }
}

/// The first modifier that is a number of bits, with or without `U` or `S` before it; otherwise 4 bytes.
fn bytes_per_lane(opcode: &str) -> u8 {
    let bits = opcode.split('.').skip(1).find_map(|part| {
        let digits = part.strip_prefix(['U', 'S']).unwrap_or(part);
        let number = !digits.is_empty() && digits.bytes().all(|c| c.is_ascii_digit());
        number.then(|| digits.parse::<u32>().unwrap_or(u32::MAX))
    });
    bits.map_or(4, |bits| (bits / 8).clamp(1, 16) as u8)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn widths_come_from_modifiers() {
        let widths =
            [("LDG.E", 4), ("LDG.E.U8", 1), ("LDG.E.64.SYS", 8), ("STS.128", 16), ("LDS.S16", 2), ("LDG.9999", 16)];
        for (opcode, bytes) in widths {
            assert_eq!(meaning(opcode, Generation::Ampere).mem.unwrap().bytes, bytes, "{opcode}");
        }
    }

    #[test]
    fn strong_loads_of_gpu_scope_and_atomics_go_to_l2() {
        let cache = |opcode| meaning(opcode, Generation::Ampere).mem.unwrap().cache;
        assert_eq!(cache("LDG.E.STRONG.GPU"), CacheOp::L2);
        assert_eq!(cache("LDG.E.STRONG.CTA"), CacheOp::All);
        assert_eq!(cache("ATOMG.E.ADD.STRONG.GPU"), CacheOp::L2);
        assert_eq!(cache("STG.E.STRONG.GPU"), CacheOp::All);
    }

    #[test]
    fn an_unknown_opcode_is_an_integer_operation() {
        let m = meaning("FROBNICATE.X", Generation::Volta);
        assert_eq!((m.class, m.control, m.mem, m.unknown), (OpClass::IntAdd, Control::None, None, true));
    }
}

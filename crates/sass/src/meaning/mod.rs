//! Properties of machine instructions that the timing model needs: class, control, memory access. Units are
//! Accel-Sim's, from a table per architecture generation.

mod generation;
mod matrix;
mod work;

use crate::decode::modifier::{AtomicType, FloatType, IntType, Order, Scope, Size, key};
use crate::decode::{SassInst, SassOp, common_use};
pub use generation::{DEFAULT_CLASS, Generation, class_of};
use isa::{Access, CacheOp, Control, MatrixWork, MemAccess, OpClass, SingleOperation, Space, Work};

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
    /// Operation that may have a latency of its own.
    pub single: Option<SingleOperation>,
    /// The opcode is in no table.
    pub unknown: bool,
}

/// The modifiers that the properties of an opcode depend on.
#[derive(Clone, Copy, Debug)]
struct Facts {
    /// Bytes that an access moves for a lane.
    bytes: u8,
    /// Where loads and stores are performed, by their order and its scope.
    ordered: CacheOp,
    /// A fence for the CTA only.
    in_cta: bool,
    /// A `DEPBAR` that waits until a number is reached.
    at_most: bool,
    /// An arrival at the barrier of another CTA.
    remote: bool,
    /// A type of a conversion has 64 bits.
    wide: bool,
    matrix: Option<MatrixWork>,
}

/// Properties of a decoded instruction.
pub fn of_instruction(inst: &SassInst) -> Meaning {
    let base = base(inst.row.op.name());
    let is_double = |key| inst.modifier(key) == Some(FloatType::F64);
    let is_long = |key| matches!(inst.modifier(key), Some(IntType::U64 | IntType::S64));
    let (order, scope) = (inst.modifier(key::ORDER), inst.modifier(key::SCOPE));
    let facts = Facts {
        bytes: bytes_of(inst),
        ordered: match (order, scope) {
            (Some(Order::StrongGpu), _) | (Some(Order::Strong), Some(Scope::Gpu)) => CacheOp::L2,
            // `volatile` in CUDA C++ is this, too.
            (Some(Order::StrongSystem | Order::Mmio), _) | (Some(Order::Strong), Some(Scope::System)) => {
                CacheOp::Volatile
            }
            _ => CacheOp::All,
        },
        in_cta: scope == Some(Scope::Cta),
        at_most: inst.has(key::AT_MOST),
        remote: inst.has(key::REMOTE),
        wide: [key::TO_FLOAT, key::FROM_FLOAT].into_iter().any(is_double)
            || [key::TO_INT, key::FROM_INT].into_iter().any(is_long),
        matrix: matrix::of_instruction(inst),
    };
    let function = inst.text_of(key::FUNCTION).trim_start_matches('.');
    let adds = inst.row.op == SassOp::IMad && common_use(inst) == ".IADD";
    let has = |modifier: &str| modifier == function || modifier == "IADD" && adds;
    let work = |class| work::of(class, base, base, has);
    with_facts(base, Generation::of(inst.sm.into()), facts, work)
}

/// Properties of the text `opcode`, such as `LDG.E.64.SYS`, in `generation`: traces have opcodes as text, also opcodes
/// of generations whose instructions are not decoded.
pub fn meaning(opcode: &str, generation: Generation) -> Meaning {
    let base = base(opcode);
    let has = |modifier: &str| opcode.split('.').skip(1).any(|part| part == modifier);
    let facts = Facts {
        bytes: bytes_per_lane(opcode),
        ordered: match (has("STRONG"), has("GPU"), has("SYS")) {
            _ if has("MMIO") => CacheOp::Volatile,
            (true, true, _) => CacheOp::L2,
            (true, _, true) => CacheOp::Volatile,
            _ => CacheOp::All,
        },
        in_cta: has("CTA"),
        at_most: has("LE"),
        remote: base == "SYNCS" && has("RED"),
        wide: has("F64") || has("S64") || has("U64"),
        matrix: matrix::of_text(base, opcode),
    };
    with_facts(base, generation, facts, |class| work::of(class, base, opcode, has))
}

fn with_facts(base: &str, generation: Generation, facts: Facts, work: impl FnOnce(OpClass) -> Work) -> Meaning {
    // An arrival at the barrier of another CTA is a reduction there.
    let base = if facts.remote { "REDAS" } else { base };
    let known = class_of(base, generation);
    let class = match known.unwrap_or(DEFAULT_CLASS) {
        // Conversions from or to a floating-point type.
        OpClass::Convert if facts.wide && !base.starts_with("I2I") => OpClass::ConvertWide,
        class => class,
    };
    let mem = access(base).map(|(space, access)| MemAccess {
        space,
        access,
        bytes: facts.bytes,
        cache: cache_operator(access, facts.ordered),
    });
    let matrix = facts.matrix.filter(|_| class == OpClass::Tensor);
    Meaning {
        class,
        work: work(class),
        control: control(base, facts),
        mem,
        matrix,
        single: SingleOperation::of_opcode(base),
        unknown: known.is_none(),
    }
}

/// The opcode, with its modifiers, of an instruction's text: the first word behind a guard.
pub fn opcode_of(text: &str) -> &str {
    text.split_whitespace().find(|word| !word.starts_with('@')).unwrap_or_default().trim_end_matches(';')
}

/// The opcode without its modifiers.
pub fn base(opcode: &str) -> &str {
    opcode.split('.').find(|part| !part.is_empty()).unwrap_or(opcode)
}

/// Space and kind of access. A constant load has none, as in Accel-Sim's traces, which lack its addresses.
fn access(base: &str) -> Option<(Space, Access)> {
    Some(match base {
        "LDG" => (Space::Global, Access::Load),
        "LDL" => (Space::Local, Access::Load),
        "LDS" | "LDSM" | "LDSLK" => (Space::Shared, Access::Load),
        "LD" => (Space::Generic, Access::Load),
        "STG" => (Space::Global, Access::Store),
        "STL" => (Space::Local, Access::Store),
        "STS" | "STSM" | "STSCUL" | "STAS" => (Space::Shared, Access::Store),
        "ST" => (Space::Generic, Access::Store),
        "ATOM" | "ATOMG" => (Space::Global, Access::Atomic),
        "RED" | "REDG" => (Space::Global, Access::Reduction),
        "ATOMS" => (Space::Shared, Access::Atomic),
        "REDAS" => (Space::Shared, Access::Reduction),
        "LDGSTS" => (Space::Global, Access::AsyncCopy),
        _ => return None,
    })
}

fn control(base: &str, facts: Facts) -> Control {
    match base {
        "BRA" | "BRX" | "BRXU" | "JMP" | "JMX" | "JMXU" | "CALL" | "CAL" | "JCAL" | "RET" | "BRK" | "CONT" | "SYNC" => {
            Control::Branch
        }
        "EXIT" => Control::Exit,
        "BAR" => Control::BarrierSync,
        "MEMBAR" if facts.in_cta => Control::FenceCta,
        "MEMBAR" => Control::Fence,
        "LDGDEPBAR" => Control::AsyncCommit,
        "UTMACMDFLUSH" => Control::BulkCommit,
        "UBLKCP" | "UBLKRED" | "UBLKPF" | "UTMALDG" | "UTMASTG" | "UTMAREDG" | "UTMAPF" => Control::Transfer,
        "DEPBAR" if facts.at_most => Control::AsyncWait,
        _ => Control::None,
    }
}

/// Accesses of GPU or wider scope, and atomics, are performed at L2.
fn cache_operator(access: Access, ordered: CacheOp) -> CacheOp {
    match access {
        Access::Atomic | Access::Reduction => CacheOp::L2,
        Access::Load | Access::Store => ordered,
        Access::AsyncCopy => CacheOp::All,
    }
}

/// As [`bytes_per_lane`] has them of the text.
fn bytes_of(inst: &SassInst) -> u8 {
    match (inst.row.op, inst.modifier(key::SIZE), inst.modifier(key::ATOMIC_TYPE)) {
        // The size of an element.
        (SassOp::LdSm | SassOp::StSm, ..) => 2,
        (SassOp::AtomSArrive, ..) | (_, Some(Size::B64), _) | (_, _, Some(AtomicType::U64 | AtomicType::S64)) => 8,
        (_, _, Some(AtomicType::F32x2 | AtomicType::F16x4 | AtomicType::Bf16x4)) => 8,
        (_, _, Some(AtomicType::F32x4 | AtomicType::F16x8 | AtomicType::Bf16x8)) => 16,
        (_, Some(Size::U8 | Size::S8), _) => 1,
        (_, Some(Size::U16 | Size::S16), _) => 2,
        (_, Some(Size::B128 | Size::Uniform128), _) => 16,
        _ => 4,
    }
}

/// The first modifier that is a number of bits, with or without `U` or `S` before it, or a vector such as `F32x4`;
/// otherwise 4 bytes.
fn bytes_per_lane(opcode: &str) -> u8 {
    let bits = opcode.split('.').skip(1).find_map(|part| {
        let vector = part.strip_prefix('B').unwrap_or(part).strip_prefix('F').and_then(|part| part.split_once('x'));
        let (digits, count) = match vector {
            Some((bits, count)) => (bits, count.parse::<u32>().ok()?),
            None => (part.strip_prefix(['U', 'S']).unwrap_or(part), 1),
        };
        let number = !digits.is_empty() && digits.bytes().all(|c| c.is_ascii_digit());
        number.then(|| digits.parse::<u32>().unwrap_or(u32::MAX).saturating_mul(count))
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
    fn strong_accesses_of_gpu_or_wider_scope_and_atomics_go_to_l2() {
        let cache = |opcode| meaning(opcode, Generation::Ampere).mem.unwrap().cache;
        assert_eq!(cache("LDG.E.STRONG.GPU"), CacheOp::L2);
        assert_eq!(cache("LDG.E.STRONG.CTA"), CacheOp::All);
        assert_eq!(cache("ATOMG.E.ADD.STRONG.GPU"), CacheOp::L2);
        assert_eq!(cache("STG.E.STRONG.GPU"), CacheOp::L2);
        assert_eq!(cache("LDG.E.SYS"), CacheOp::All);
        for volatile in ["LDG.E.STRONG.SYS", "STG.E.64.STRONG.SYS", "LD.E.STRONG.SYS", "STG.E.MMIO.SYS"] {
            assert_eq!(cache(volatile), CacheOp::Volatile, "{volatile}");
        }
    }

    #[test]
    fn some_operations_have_latencies_of_their_own() {
        let rows = [
            ("LDC.U8", Some(SingleOperation::ConstantLoad)),
            ("S2R", Some(SingleOperation::SpecialRegister)),
            ("S2UR", None),
            ("ULDC.64", Some(SingleOperation::UniformMove)),
            ("VOTEU.ANY", Some(SingleOperation::UniformMove)),
            ("VOTE.ANY", Some(SingleOperation::Vote)),
            ("I2FP.F32.S32", Some(SingleOperation::WordToFloat)),
            ("LDCX", None),
        ];
        for (opcode, single) in rows {
            assert_eq!(meaning(opcode, Generation::Ampere).single, single, "{opcode}");
        }
    }

    #[test]
    fn an_unknown_opcode_is_an_integer_operation() {
        let m = meaning("FROBNICATE.X", Generation::Volta);
        assert_eq!((m.class, m.control, m.mem, m.unknown), (OpClass::IntAdd, Control::None, None, true));
    }
}

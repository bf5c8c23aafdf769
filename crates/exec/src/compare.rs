//! Comparisons and users of predicates: `setp`, `set`, `selp`, `testp`, predicate logic.

use crate::lanes::{LANE_BITS, Lanes, Pred, Reg, Value};
use kit::{LaneMask, WARP_LANES};
use num::float32::{self, TestClass};
use num::half::{Bf16, F16, Half};

/// Relations of two operands. Those ending in `u` also hold if an operand is NaN.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "the names are the manual's")]
pub enum Relation {
    Eq,
    Ne,
    Lt,
    Le,
    Gt,
    Ge,
    Equ,
    Neu,
    Ltu,
    Leu,
    Gtu,
    Geu,
    /// Neither is NaN.
    Num,
    /// One or both are NaN.
    Nan,
}

/// Types that are compared. Untyped bits are compared as unsigned integers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "the names are the manual's")]
pub enum CompareType {
    U16,
    S16,
    U32,
    S32,
    U64,
    S64,
    F16,
    F16x2,
    Bf16,
    Bf16x2,
    F32,
    F64,
}

impl CompareType {
    /// Columns of each operand.
    pub const fn columns(self) -> u8 {
        match self {
            CompareType::U64 | CompareType::S64 | CompareType::F64 => 2,
            _ => 1,
        }
    }

    /// Class of a comparison for timing.
    pub const fn class(self) -> isa::OpClass {
        use isa::OpClass;
        match self {
            CompareType::F16 | CompareType::F16x2 | CompareType::Bf16 | CompareType::Bf16x2 => OpClass::Half,
            CompareType::F32 => OpClass::FpCompare,
            CompareType::F64 => OpClass::DpAdd,
            _ => OpClass::IntAdd,
        }
    }

    /// Work of the lanes of a comparison.
    pub const fn work(self) -> isa::Work {
        match self {
            CompareType::F16 | CompareType::F16x2 | CompareType::Bf16 | CompareType::Bf16x2 | CompareType::F32 => {
                isa::Work::FpAdd
            }
            CompareType::F64 => isa::Work::DpAdd,
            _ => isa::Work::IntAdd,
        }
    }

    /// Whether two pairs of numbers are compared at once.
    pub const fn is_packed(self) -> bool {
        matches!(self, CompareType::F16x2 | CompareType::Bf16x2)
    }
}

/// A comparison: relation, type, and whether subnormal f32 and f16 operands count as zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "the names say it")]
pub struct Comparison {
    /// Relation that must hold.
    pub relation: Relation,
    /// Type of the operands.
    pub ty: CompareType,
    pub ftz: bool,
}

/// How a comparison is combined with a predicate, and predicates with each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "the names are the manual's")]
pub enum Combine {
    And,
    Or,
    Xor,
}

impl Combine {
    /// Applies it to 32 lanes.
    #[inline(always)]
    pub const fn of(self, a: LaneMask, b: LaneMask) -> LaneMask {
        match self {
            Combine::And => a & b,
            Combine::Or => a | b,
            Combine::Xor => a ^ b,
        }
    }
}

impl Comparison {
    /// Lanes in which the relation holds: for the only or lower element, and for the upper one.
    #[inline]
    pub(crate) fn run(self, lanes: &Lanes<'_>, a: Reg, b: Reg) -> [LaneMask; 2] {
        let r = self.relation;
        let single = match self.ty {
            CompareType::U16 => ordered::<u16>(lanes, r, a, b),
            CompareType::S16 => ordered::<i16>(lanes, r, a, b),
            CompareType::U32 => ordered::<u32>(lanes, r, a, b),
            CompareType::S32 => ordered::<i32>(lanes, r, a, b),
            CompareType::U64 => ordered::<u64>(lanes, r, a, b),
            CompareType::S64 => ordered::<i64>(lanes, r, a, b),
            CompareType::F32 if self.ftz => numbers::<f32, f32>(lanes, r, a, b, float32::flush),
            CompareType::F32 => numbers::<f32, f32>(lanes, r, a, b, |x| x),
            CompareType::F64 => numbers::<f64, f64>(lanes, r, a, b, |x| x),
            CompareType::F16 => numbers(lanes, r, a, b, |x| self.half::<F16>(x)),
            CompareType::Bf16 => numbers(lanes, r, a, b, |x| self.half::<Bf16>(x)),
            CompareType::F16x2 => return self.packed::<F16>(lanes, a, b),
            CompareType::Bf16x2 => return self.packed::<Bf16>(lanes, a, b),
        };
        [single, 0]
    }

    #[inline]
    fn half<F: Half>(self, x: u16) -> f32 {
        F::to_f32(if self.ftz { num::half::flush::<F>(x) } else { x })
    }

    fn packed<F: Half>(self, lanes: &Lanes<'_>, a: Reg, b: Reg) -> [LaneMask; 2] {
        [0, 16].map(|shift| numbers(lanes, self.relation, a, b, |x: u32| self.half::<F>((x >> shift) as u16)))
    }
}

#[inline(always)]
fn ordered<T: Value + Ord>(lanes: &Lanes<'_>, relation: Relation, a: Reg, b: Reg) -> LaneMask {
    match relation {
        Relation::Eq | Relation::Equ => lanes.test2(a, b, |a: T, b: T| a == b),
        Relation::Ne | Relation::Neu => lanes.test2(a, b, |a: T, b: T| a != b),
        Relation::Lt | Relation::Ltu => lanes.test2(a, b, |a: T, b: T| a < b),
        Relation::Le | Relation::Leu => lanes.test2(a, b, |a: T, b: T| a <= b),
        Relation::Gt | Relation::Gtu => lanes.test2(a, b, |a: T, b: T| a > b),
        Relation::Ge | Relation::Geu => lanes.test2(a, b, |a: T, b: T| a >= b),
        Relation::Num => !0,
        Relation::Nan => 0,
    }
}

#[inline(always)]
#[expect(clippy::neg_cmp_op_on_partial_ord, reason = "holds for NaN, as it must")]
fn numbers<T: Value, N: PartialOrd>(
    lanes: &Lanes<'_>,
    relation: Relation,
    a: Reg,
    b: Reg,
    n: impl Fn(T) -> N,
) -> LaneMask {
    let nan = |x: &N| x.partial_cmp(x).is_none();
    match relation {
        Relation::Eq => lanes.test2(a, b, |a, b| n(a) == n(b)),
        Relation::Ne => lanes.test2(a, b, |a, b| n(a) < n(b) || n(a) > n(b)),
        Relation::Lt => lanes.test2(a, b, |a, b| n(a) < n(b)),
        Relation::Le => lanes.test2(a, b, |a, b| n(a) <= n(b)),
        Relation::Gt => lanes.test2(a, b, |a, b| n(a) > n(b)),
        Relation::Ge => lanes.test2(a, b, |a, b| n(a) >= n(b)),
        Relation::Equ => lanes.test2(a, b, |a, b| !(n(a) < n(b) || n(a) > n(b))),
        Relation::Neu => lanes.test2(a, b, |a, b| n(a) != n(b)),
        Relation::Ltu => lanes.test2(a, b, |a, b| !(n(a) >= n(b))),
        Relation::Leu => lanes.test2(a, b, |a, b| !(n(a) > n(b))),
        Relation::Gtu => lanes.test2(a, b, |a, b| !(n(a) <= n(b))),
        Relation::Geu => lanes.test2(a, b, |a, b| !(n(a) < n(b))),
        Relation::Num => lanes.test2(a, b, |a, b| !nan(&n(a)) && !nan(&n(b))),
        Relation::Nan => lanes.test2(a, b, |a, b| nan(&n(a)) || nan(&n(b))),
    }
}

/// Executes `setp`. `p` receives the combined comparison, `q` the comparison of its complement (for a packed
/// comparison, of the upper elements).
#[inline]
pub(crate) fn setp(lanes: &mut Lanes<'_>, test: Comparison, [a, b]: [Reg; 2], pq: [Pred; 2], with: (Combine, Pred)) {
    let (combine, c) = with;
    let [low, high] = test.run(lanes, a, b);
    let second = if test.ty.is_packed() { high } else { !low };
    let c = lanes.pred(c);
    lanes.write_pred(pq[0], combine.of(low, c));
    lanes.write_pred(pq[1], combine.of(second, c));
}

/// Executes `set`: `holds` where the combined comparison holds, else zero. A packed comparison
/// writes its two results to the halves of the destination if `halves`.
pub(crate) fn set(
    lanes: &mut Lanes<'_>,
    test: Comparison,
    [a, b]: [Reg; 2],
    d: Reg,
    holds: u32,
    with: (Combine, Pred),
) {
    let (combine, c) = with;
    let [low, high] = test.run(lanes, a, b);
    let c = lanes.pred(c);
    let (low, high) = (combine.of(low, c), combine.of(high, c));
    let packed = test.ty.is_packed();
    let out = std::array::from_fn(|i| {
        let bit = LANE_BITS[i];
        let value = if low & bit != 0 { holds } else { 0 };
        if packed && high & bit != 0 { value | holds << 16 } else { value }
    });
    lanes.write(d, &out);
}

/// Executes `selp`: `a` where `p` holds, else `b`.
#[inline]
pub(crate) fn selp(lanes: &mut Lanes<'_>, d: Reg, a: Reg, b: Reg, p: Pred) {
    let p = lanes.pred(p);
    let (a, b) = (lanes.column(a), lanes.column(b));
    let mut out = [0; WARP_LANES];
    for i in 0..WARP_LANES {
        out[i] = if p & LANE_BITS[i] != 0 { a[i] } else { b[i] };
    }
    lanes.write(d, &out);
}

pub(crate) fn testp(lanes: &mut Lanes<'_>, p: Pred, class: TestClass, a: Reg, wide: bool) {
    let holds = if wide {
        lanes.test2(a, a, |a: f64, _: f64| num::float64::testp(a, class))
    } else {
        lanes.test2(a, a, |a: f32, _: f32| float32::testp(a, class))
    };
    lanes.write_pred(p, holds);
}

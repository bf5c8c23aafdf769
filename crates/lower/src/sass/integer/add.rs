//! Sums: `IADD3`, `LEA`, and the sums of `IMAD`.

use crate::sass::builder::{Builder, Lowered};
use crate::sass::operand::{is_zero, operands, sign_of};
use exec::int::{Int1, Int2, Int3};
use exec::lanes::{Pred, Reg};
use exec::op::Op;
use sass::decode::modifier::key;
use sass::decode::{SassInst, SassOperand};

/// A summand of a sum: a value and its sign.
#[derive(Clone, Copy, Debug)]
pub(super) struct Term {
    value: Reg,
    /// Negated; in a sum with carries in, complemented.
    minus: bool,
    zero: bool,
}

impl Term {
    /// A value that is not an operand.
    pub fn of(value: Reg, minus: bool) -> Self {
        Self { value, minus, zero: false }
    }

    /// The value without its sign.
    pub fn value(self) -> Reg {
        self.value
    }

    pub fn read(b: &mut Builder<'_>, operand: SassOperand) -> Lowered<Self> {
        let sign = sign_of(operand);
        Ok(Self { value: b.source(operand)?, minus: sign.negate || sign.invert, zero: is_zero(operand) })
    }
}

/// The carries of a sum: predicates that are added, if any, and predicates that are set.
#[derive(Clone, Copy, Debug)]
pub(super) struct Carries {
    pub carry_in: Option<[Pred; 2]>,
    pub carry_out: [Pred; 2],
}

impl Carries {
    pub const NONE: Self = Self { carry_in: None, carry_out: [Pred::TRUE; 2] };
    /// No carry.
    pub const NO: Pred = Pred::TRUE.not();
}

/// `d` = sum of up to three terms.
pub(super) fn add(b: &mut Builder<'_>, d: Reg, terms: &[Term], carries: Carries) {
    if carries.carry_in.is_none() && carries.carry_out == [Pred::TRUE; 2] {
        return add_plainly(b, d, terms);
    }
    let none = b.constant(0);
    let mut s = [none; 3];
    let mut minus = 0;
    for (k, term) in terms.iter().enumerate() {
        s[k] = term.value;
        minus |= u8::from(term.minus) << k;
    }
    b.emit(Op::Add3 { d, s, minus, carry_in: carries.carry_in, carry_out: carries.carry_out });
}

fn add_plainly(b: &mut Builder<'_>, d: Reg, terms: &[Term]) {
    let values = |minus| terms.iter().filter(move |t| !t.zero && t.minus == minus).map(|t| t.value);
    let (plus, minus): (Vec<Reg>, Vec<Reg>) = (values(false).collect(), values(true).collect());
    let none = b.constant(0);
    let op = match (&plus[..], &minus[..]) {
        ([], []) => Op::Int1(Int1::Mov32, d, [none]),
        (&[x], []) => Op::Int1(Int1::Mov32, d, [x]),
        ([], &[x]) => Op::Int1(Int1::Neg32, d, [x]),
        (&[x, y], []) => Op::Int2(Int2::Add32, d, [x, y]),
        (&[x], &[y]) => Op::Int2(Int2::Sub32, d, [x, y]),
        (&[x, y, z, ..], _) => Op::Int3(Int3::Add3x32, d, [x, y, z]),
        (&[x, y], &[z, ..]) => Op::Int3(Int3::AddSub32, d, [x, y, z]),
        (&[x], &[y, z, ..]) => Op::Int3(Int3::SubSub32, d, [x, y, z]),
        ([], &[x, y]) => Op::Int3(Int3::SubSub32, d, [none, x, y]),
        ([], &[x, y, z, ..]) => {
            let part = b.scratch(1);
            b.emit(Op::Int1(Int1::Neg32, part, [x]));
            Op::Int3(Int3::SubSub32, d, [part, y, z])
        }
    };
    b.emit(op);
}

/// `d` = sum of operands.
pub(super) fn sum(b: &mut Builder<'_>, d: Reg, operands: &[SassOperand]) -> Lowered<()> {
    let terms = operands.iter().map(|&o| Term::read(b, o)).collect::<Lowered<Vec<Term>>>()?;
    add(b, d, &terms, Carries::NONE);
    Ok(())
}

/// `IADD3`: negation is the two's complement, so that `-0` carries; with `.X` it is the one's complement.
pub(crate) fn iadd3(b: &mut Builder<'_>, inst: &SassInst) -> Lowered<()> {
    let [d, p, q, x, y, z, c, e] = operands(inst)?;
    let terms = [Term::read(b, x)?, Term::read(b, y)?, Term::read(b, z)?];
    let carry_in = if inst.has(key::EXTENDED) { Some([b.pred(c)?, b.pred(e)?]) } else { None };
    let carries = Carries { carry_in, carry_out: [b.pred(p)?, b.pred(q)?] };
    let d = b.destination(d, 1)?;
    add(b, d, &terms, carries);
    Ok(())
}

/// `UIADD3.64`.
pub(crate) fn add64(b: &mut Builder<'_>, inst: &SassInst) -> Lowered<()> {
    let [d, terms @ ..] = operands::<4>(inst)?;
    let sum = b.scratch(2);
    let mut first = b.constant64(0);
    for term in terms.into_iter().filter(|&term| !is_zero(term)) {
        let value = match term {
            SassOperand::Immediate { bits, .. } => b.constant64(i64::from(bits as u32 as i32) as u64),
            _ => b.source64(term)?,
        };
        let op = if sign_of(term).negate { Int2::Sub64 } else { Int2::Add64 };
        b.emit(Op::Int2(op, sum, [first, value]));
        first = sum;
    }
    let d = b.destination(d, 2)?;
    b.emit(Op::Int1(Int1::Mov64, d, [first]));
    Ok(())
}

/// `LEA`: a shifted value plus another one. The sign modifiers of the first operand apply to the shifted
/// value.
pub(crate) fn lea(b: &mut Builder<'_>, inst: &SassInst) -> Lowered<()> {
    let [d, p, x, y, high_word, shift, c] = operands(inst)?;
    let SassOperand::Immediate { bits: shift, .. } = shift else { return Err("it has an unknown form".into()) };
    let (extended, signed) = (inst.has(key::EXTENDED), inst.has(key::SIGN_EXTEND));
    let carry_in = if extended { Some([b.pred(c)?, Carries::NO]) } else { None };
    let carries = Carries { carry_in, carry_out: [b.pred(p)?, Pred::TRUE] };
    let (low, other) = (Term::read(b, x)?, Term::read(b, y)?);
    let d = b.destination(d, 1)?;
    let plain = carry_in.is_none() && carries.carry_out == [Pred::TRUE; 2] && !low.minus && !other.minus;
    let (right, left) = (b.constant(32 - shift as u32), b.constant(shift as u32));
    let single = !inst.has(key::HIGH) || signed || is_zero(high_word);
    // Shift and sum in one operation, and the shift on its own.
    let (both, alone, amount) = match (inst.has(key::HIGH), signed) {
        (false, _) => (Int3::ShlAdd32, Int2::Shl32, left),
        (true, false) => (Int3::ShrAddU32, Int2::ShrU32, right),
        (true, true) => (Int3::ShrAddS32, Int2::ShrS32, right),
    };
    if single && plain {
        b.emit(match other.zero {
            true => Op::Int2(alone, d, [low.value, amount]),
            false => Op::Int3(both, d, [low.value, other.value, amount]),
        });
        return Ok(());
    }
    let shifted = b.scratch(1);
    if single {
        b.emit(Op::Int2(alone, shifted, [low.value, amount]));
    } else {
        let high = b.source(high_word)?;
        b.emit(Op::Int3(Int3::ShfLeftClamp, shifted, [low.value, high, left]));
    }
    add(b, d, &[Term::of(shifted, low.minus), other], carries);
    Ok(())
}

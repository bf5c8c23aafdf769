//! Cheaper operations for integers with a constant or with themselves: shifts for products and quotients of powers of
//! two, so that dividers stay free; nothing for what changes nothing; one operation for two with constants.
//!
//! Constants are at the second port (pass `common`). Signed quotients stay: their rounding towards zero takes three
//! operations more, and compilers of CUDA have done it where it pays.

use crate::draft::{Draft, Uniforms, as_immediate, function, is_token};
use crate::graph::{Input, NodeOp};
use exec::function::Function;
use exec::int::Int2;
use exec::lanes::Reg;
use exec::op::Op;

pub(super) fn run(draft: &mut Draft, uniforms: &mut Uniforms) {
    draft.rewrite(|made, node, _| {
        let NodeOp::Apply(function) = node.op else { return None };
        let (Op::Int2(op, ..), [a, b]) = (function.op(), &node.inputs[..]) else { return None };
        match reduced(*op, [*a, *b]).unwrap_or_else(|| regrouped(made, *op, [*a, *b], uniforms)) {
            Reduced::Value(value) => return Some(value),
            Reduced::To(op, inputs) => (node.op, node.inputs) = (NodeOp::Apply(of(op)), inputs.to_vec()),
            Reduced::No => {}
        }
        None
    });
}

/// Replacement of an operation.
enum Reduced {
    Value(Input),
    To(Int2, [Input; 2]),
    No,
}

const ZERO: Input = Input::Immediate(0);

/// Replacement of `op`, by its operands.
fn reduced(op: Int2, [a, b]: [Input; 2]) -> Option<Reduced> {
    use Int2::*;
    if a == b {
        return Some(match op {
            Sub32 | Sub64 | Xor32 | Xor64 => Reduced::Value(ZERO),
            And32 | And64 | Or32 | Or64 | MinU32 | MaxU32 | MinS32 | MaxS32 | MinU64 | MaxU64 | MinS64 | MaxS64 => {
                Reduced::Value(a)
            }
            _ => return None,
        });
    }
    let constant = as_immediate(b)?;
    let bits = bits(op)?;
    let ones = u64::MAX >> (64 - bits);
    let constant = constant & ones;
    let power = constant.is_power_of_two().then(|| Input::Immediate(constant.trailing_zeros().into()));
    Some(match (op, constant) {
        (Add16 | Add32 | Add64 | Or32 | Or64 | Xor32 | Xor64 | Sub16 | Sub32 | Sub64, 0) => Reduced::Value(a),
        (Shl32 | Shl64 | ShrU32 | ShrS32 | ShrU64 | ShrS64, 0) => Reduced::Value(a),
        (MulLo32 | MulLo64 | DivU32 | DivU64 | DivS32 | DivS64, 1) => Reduced::Value(a),
        (MulLo16 | MulLo32 | MulLo64 | And32 | And64 | MulWideU16 | MulWideS16 | MulWideU32 | MulWideS32, 0) => {
            Reduced::Value(ZERO)
        }
        (RemU16 | RemU32 | RemU64 | RemS32 | RemS64, 1) => Reduced::Value(ZERO),
        (And32 | And64, mask) if mask == ones => Reduced::Value(a),
        (Sub32, x) => Reduced::To(Add32, [a, Input::Immediate(x.wrapping_neg() & ones)]),
        (Sub64, x) => Reduced::To(Add64, [a, Input::Immediate(x.wrapping_neg())]),
        (RemU16 | RemU32, x) if power.is_some() => Reduced::To(And32, [a, Input::Immediate(x - 1)]),
        (RemU64, x) if power.is_some() => Reduced::To(And64, [a, Input::Immediate(x - 1)]),
        _ => {
            let shift = match op {
                MulLo16 => Shl16,
                MulLo32 => Shl32,
                MulLo64 => Shl64,
                DivU16 => ShrU16,
                DivU32 => ShrU32,
                DivU64 => ShrU64,
                _ => return None,
            };
            Reduced::To(shift, [a, power?])
        }
    })
}

/// Bits of the second operand of those operations that [`reduced`] knows.
fn bits(op: Int2) -> Option<u32> {
    use Int2::*;
    Some(match op {
        Add16 | Sub16 | MulLo16 | MulWideU16 | MulWideS16 | DivU16 | RemU16 => 16,
        Add64 | Sub64 | MulLo64 | And64 | Or64 | Xor64 | DivU64 | RemU64 | DivS64 | RemS64 => 64,
        Add32 | Sub32 | MulLo32 | MulWideU32 | MulWideS32 | And32 | Or32 | Xor32 => 32,
        DivU32 | RemU32 | DivS32 | RemS32 => 32,
        Shl32 | ShrU32 | ShrS32 | Shl64 | ShrU64 | ShrS64 => 32,
        _ => return None,
    })
}

/// `(x op c) op d`, where `c` and `d` are constant or uniform, is `x op (c op d)`.
fn regrouped(made: &Draft, op: Int2, [a, d]: [Input; 2], uniforms: &mut Uniforms) -> Reduced {
    let same = matches!(
        op,
        Int2::Add32
            | Int2::Add64
            | Int2::MulLo32
            | Int2::MulLo64
            | Int2::And32
            | Int2::And64
            | Int2::Or32
            | Int2::Or64
            | Int2::Xor32
            | Int2::Xor64
    );
    if same
        && !is_token(&d)
        && let Some((Op::Int2(inner, ..), &[x, c])) = made.computed(a)
        && *inner == op
        && !is_token(&c)
        && let Some(both) = uniforms.apply(&of(op), &[c, d])
    {
        return Reduced::To(op, [x, both]);
    }
    Reduced::No
}

fn of(op: Int2) -> Function {
    function(&Op::Int2(op, Reg(0), [Reg(2), Reg(4)]))
}

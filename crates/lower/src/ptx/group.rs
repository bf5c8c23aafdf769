//! `wgmma`: matrix multiplication by a warp group.

use super::function::FunctionLowering;
use super::matrix::{element, shape};
use super::mods::Mods;
use super::scope::Lowered;
use exec::lanes::{Pred, Reg};
use exec::matrix::{GroupMma, GroupTypes, Shape};
use exec::op::Op;
use exec::tensor::{GroupFactor, GroupMultiply, MatrixOp};
use kit::text::counted;
use ptx::Type;
use ptx::ast::Operand;

impl FunctionLowering<'_, '_> {
    /// Lowers `wgmma`. An operation has its results when it executes; groups are for the timing model.
    pub fn group_matrix(&mut self, m: &Mods<'_>, o: &[Operand]) -> Lowered<Op> {
        m.ignore(&["sync", "aligned"]);
        if !m.has("mma_async") {
            m.ignore(&["fence"]);
            return match () {
                () if m.has("commit_group") => Ok(Op::MatrixCommit),
                () if m.has("wait_group") => {
                    self.expect(o, 1)?;
                    let groups = (0..8).map(|n| (i64::from(n), n)).collect::<Vec<_>>();
                    Ok(Op::MatrixWait(self.choice(&o[0], &groups)?))
                }
                () => Ok(Op::Nop),
            };
        }
        let op = MatrixOp::Group(self.group_multiply(m, o)?);
        self.matrix_op(m, op)
    }

    fn group_multiply(&mut self, m: &Mods<'_>, o: &[Operand]) -> Lowered<GroupMultiply> {
        let shape = self.need(m.find_map(shape), m)?;
        let types: Option<Vec<_>> = m.types().into_iter().map(element).collect();
        let [d, a, b] = self.need(types, m)?[..] else {
            return Err(self.problem(format!("`{}` has too few types", m.text())));
        };
        let is_sparse = m.has("sp");
        m.ignore(&["and", "popc"]);
        self.expect_between(o, 4, 10)?;
        let from_registers = self.parts(&o[1]).len() > 1;
        let (metadata, rest) =
            if is_sparse && o.len() > 5 { (Some(self.src(&o[3], Type::B32)?), &o[4..]) } else { (None, &o[3..]) };
        let (selector, rest) = match rest {
            [selector, rest @ ..] if is_sparse => (Some(self.choice(selector, &[(0, 0), (1, 1)])?), rest),
            _ => (None, rest),
        };
        let [scale, rest @ ..] = rest else { return Err(self.problem(format!("`{}` has too few operands", m.text()))) };
        let flag = |operand: Option<&Operand>, values: [i64; 2]| match operand {
            Some(operand) => self.choice(operand, &[(values[0], false), (values[1], true)]),
            None => Ok(false),
        };
        let negated = [flag(rest.first(), [1, -1])?, flag(rest.get(1), [1, -1])?];
        // A from registers has one order.
        let transposed = match rest.get(2..).unwrap_or_default() {
            [of_b] if from_registers => [false, flag(Some(of_b), [0, 1])?],
            [of_a, of_b] if !from_registers => [flag(Some(of_a), [0, 1])?, flag(Some(of_b), [0, 1])?],
            [] => [false; 2],
            _ => return Err(self.problem("the number of operands does not match the place of A".to_owned())),
        };
        let types = GroupTypes {
            a,
            b,
            d,
            columns: shape.n,
            negated,
            transposed,
            satfinite: m.has("satfinite"),
            sparse: selector,
        };
        let exists = shape == Shape { m: 64, n: shape.n, k: types.length() };
        let plan = self.need(GroupMma::new(types).filter(|_| exists), m)?;
        let d = self.columns(&o[0])?;
        self.expect_registers(&d, plan.registers())?;
        let a = if from_registers {
            let a = self.columns(&o[1])?;
            match *a {
                [a, b, c, d] => GroupFactor::Registers([a, b, c, d]),
                _ => return Err(self.problem(format!("A has 4 registers, not {}", a.len()))),
            }
        } else {
            GroupFactor::Shared(self.src(&o[1], Type::B64)?)
        };
        let accumulates = self.pred_src(scale)?;
        let c: Vec<Reg> = if accumulates == Pred::TRUE.not() { Vec::new() } else { d.clone() };
        Ok(GroupMultiply { plan, d, c, a, b: self.src(&o[2], Type::B64)?, metadata, accumulates })
    }

    /// The meaning of an operand that is one of some integers.
    fn choice<T: Copy>(&self, operand: &Operand, values: &[(i64, T)]) -> Lowered<T> {
        let number = operand.integer().map(|bits| bits as i64);
        let found = values.iter().find(|(value, _)| Some(*value) == number);
        found.map(|(_, meaning)| *meaning).ok_or_else(|| {
            let list: Vec<String> = values.iter().map(|(value, _)| value.to_string()).collect();
            super::operand::error(operand.span, format!("{} expected here", list.join(" or ")))
        })
    }

    /// Checks the number of registers of a matrix.
    pub fn expect_registers(&self, have: &[Reg], want: usize) -> Lowered<()> {
        if have.len() == want {
            return Ok(());
        }
        Err(self.problem(format!("{} expected here, not {}", counted(want as u64, "register"), have.len())))
    }
}

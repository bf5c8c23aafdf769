//! Warp matrix instructions.

use super::function::FunctionLowering;
use super::mods::Mods;
use super::scope::Lowered;
use exec::access::Address;
use exec::lanes::Reg;
use exec::matrix::{BitOp, Element, Fragment, MatrixOperand as Role, Mma, Multiply, Order, Shape};
use exec::op::Op;
use exec::tensor::{MatrixMemory, MatrixOp};
use isa::Space;
use num::Rounding;
use ptx::Type;
use ptx::ast::Operand;

const ORDERS: [(&str, Order); 2] = [("row", Order::Row), ("col", Order::Col)];

pub(super) const fn element(ty: Type) -> Option<Element> {
    Some(match ty {
        Type::F16 => Element::F16,
        Type::Bf16 => Element::Bf16,
        Type::Tf32 => Element::Tf32,
        Type::F32 => Element::F32,
        Type::F64 => Element::F64,
        Type::U8 => Element::U8,
        Type::S8 => Element::S8,
        Type::U4 => Element::U4,
        Type::S4 => Element::S4,
        Type::B1 => Element::B1,
        Type::S32 => Element::S32,
        Type::E4m3 => Element::E4m3,
        Type::E5m2 => Element::E5m2,
        _ => return None,
    })
}

/// 16, 8 and 16 for `m16n8k16`.
pub(super) fn shape(text: &str) -> Option<Shape> {
    let rest = text.strip_prefix('m')?;
    let (m, rest) = rest.split_once('n')?;
    let (n, k) = rest.split_once('k')?;
    Some(Shape { m: m.parse().ok()?, n: n.parse().ok()?, k: k.parse().ok()? })
}

impl FunctionLowering<'_, '_> {
    /// Lowers warp matrix instructions.
    pub fn matrix(&mut self, m: &Mods<'_>, o: &[Operand]) -> Lowered<Op> {
        m.ignore(&["sync", "aligned"]);
        let op = match m.name() {
            "ldmatrix" | "stmatrix" => self.tiles(m, o)?,
            "movmatrix" => {
                m.ignore(&["trans", "m8n8"]);
                m.types();
                self.expect(o, 2)?;
                MatrixOp::Transpose { d: self.dst(&o[0], Type::B32)?, s: self.src(&o[1], Type::B32)? }
            }
            "mma" if m.has("sp") || m.has("sp::ordered_metadata") => {
                let what = "multiplication of sparse matrices";
                return Err(self.problem(format!("`{}` is not executable: {what}", m.text())));
            }
            "mma" => self.multiply_matrices(m, o)?,
            _ if m.has("mma") => self.multiply_matrices(m, o)?,
            _ => self.matrix_memory(m, o)?,
        };
        self.matrix_op(m, op)
    }

    /// Adds a matrix operation to the kernel.
    pub fn matrix_op(&mut self, m: &Mods<'_>, op: MatrixOp) -> Lowered<Op> {
        self.b.matrix.push(op);
        let number = u16::try_from(self.b.matrix.len() - 1);
        Ok(Op::Matrix(self.need(number.ok(), m)?))
    }

    /// The columns of the registers in an operand.
    pub fn columns(&mut self, o: &Operand) -> Lowered<Vec<Reg>> {
        let mut columns = Vec::new();
        for part in self.parts(o) {
            let r = self.any_register(&part)?;
            columns.push(r.reg);
            if r.ty.bits() == 64 {
                columns.push(r.reg.next());
            }
        }
        Ok(columns)
    }

    fn matrix_address(&mut self, m: &Mods<'_>, o: &Operand) -> Lowered<(Space, Address)> {
        match self.space_of(m) {
            Some(space) => Ok((space, self.address(o)?.0)),
            None => Ok((Space::Generic, self.generic_address(o)?)),
        }
    }

    fn tiles(&mut self, m: &Mods<'_>, o: &[Operand]) -> Lowered<MatrixOp> {
        let count = m.one_of(&[("x1", 1), ("x2", 2), ("x4", 4)]);
        let count = self.need(count, m)?;
        if m.types() != [Type::B16] || !m.has("m8n8") {
            return Err(self.problem(format!("`{}` is not executable", m.text())));
        }
        let trans = m.has("trans");
        self.expect(o, 2)?;
        let load = m.name() == "ldmatrix";
        let (registers, at) = if load { (&o[0], &o[1]) } else { (&o[1], &o[0]) };
        let columns = self.columns(registers)?;
        self.expect_registers(&columns, count)?;
        let (space, address) = self.matrix_address(m, at)?;
        Ok(if load {
            MatrixOp::LoadTiles { space, address, d: columns, trans }
        } else {
            MatrixOp::StoreTiles { space, address, s: columns, trans }
        })
    }

    fn shape_of(&self, m: &Mods<'_>) -> Lowered<Shape> {
        let found = m.find_map(shape);
        self.need(found, m)
    }

    /// `mma` and `wmma.mma`.
    fn multiply_matrices(&mut self, m: &Mods<'_>, o: &[Operand]) -> Lowered<MatrixOp> {
        let wmma = m.name() == "wmma";
        let shape = self.shape_of(m)?;
        let orders = m.all_of(&ORDERS);
        let types: Option<Vec<Element>> = m.types().into_iter().map(element).collect();
        let types = self.need(types, m)?;
        let [d, a, b, c] = match types[..] {
            [d, a, b, c] => [d, a, b, c],
            // `wmma.mma` on f16 names only the types of D and C.
            [d, c] if wmma => [d, Element::F16, Element::F16, c],
            _ => return Err(self.problem(format!("`{}` has too few types", m.text()))),
        };
        let order = |i: usize, default| orders.get(i).copied().unwrap_or(default);
        let rounding =
            [("rn", Rounding::NearestEven), ("rz", Rounding::Zero), ("rm", Rounding::Down), ("rp", Rounding::Up)];
        let bit_op = m.one_of(&[("xor", BitOp::Xor), ("and", BitOp::And)]).unwrap_or(BitOp::Xor);
        m.ignore(&["popc", "mma"]);
        let multiply = Multiply {
            a,
            b,
            c,
            d,
            a_order: order(0, Order::Row),
            b_order: order(1, Order::Col),
            satfinite: m.has("satfinite"),
            round: m.one_of(&rounding).unwrap_or_default(),
            bit_op,
        };
        // The GPU's tensor cores, not those that the PTX was made for.
        let scope = self.b.scope;
        let sm = scope.options.gpu_sm.or(scope.ast.target_sm()).unwrap_or_default();
        let plan = if wmma { Mma::wmma(shape, multiply, sm) } else { Mma::mma(shape, multiply, sm) };
        let plan = Box::new(self.need(plan, m)?);
        self.expect(o, 4)?;
        let counts = plan.registers();
        let [ka, kb, kc, kd] = counts;
        let registers = [self.columns(&o[0])?, self.columns(&o[1])?, self.columns(&o[2])?, self.columns(&o[3])?];
        let wanted = [kd, ka, kb, kc];
        for (have, want) in registers.iter().zip(wanted) {
            self.expect_registers(have, want)?;
        }
        Ok(MatrixOp::Multiply { plan, registers })
    }

    /// `wmma.load` and `wmma.store`.
    fn matrix_memory(&mut self, m: &Mods<'_>, o: &[Operand]) -> Lowered<MatrixOp> {
        let load = m.has("load");
        m.ignore(&["store"]);
        let role = m.one_of(&[("a", Role::A), ("b", Role::B), ("c", Role::C), ("d", Role::C)]);
        let role = self.need(role, m)?;
        let shape = self.shape_of(m)?;
        let order = self.need(m.one_of(&ORDERS), m)?;
        let ty = self.need_type(m)?;
        let fragment = element(ty).and_then(|e| Fragment::wmma(role, e, shape));
        let fragment = self.need(fragment, m)?;
        let elements = self.need(fragment.memory(order), m)?;
        self.expect_between(o, 2, 3)?;
        let (list, at) = if load { (&o[0], &o[1]) } else { (&o[1], &o[0]) };
        let registers = self.columns(list)?;
        self.expect_registers(&registers, fragment.registers())?;
        let stride = match o.get(2) {
            Some(stride) => self.src(stride, Type::U32)?,
            None => self.b.constant(u64::from(fragment.default_stride(order)), false),
        };
        let (space, address) = self.matrix_address(m, at)?;
        let memory = MatrixMemory { elements, space, address, stride, registers };
        Ok(if load { MatrixOp::Load(memory) } else { MatrixOp::Store(memory) })
    }
}

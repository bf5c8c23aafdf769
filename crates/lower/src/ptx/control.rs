//! Branches, calls, returns, ends.

use super::function::FunctionLowering;
use super::mods::Mods;
use super::scope::Lowered;
use super::scope::ModuleName;
use exec::kernel::{CallSite, Callee, Place, RuntimeFunction};
use exec::lanes::Reg;
use exec::op::Op;
use exec::simt::NOWHERE;
use ptx::ast::{self, Operand, OperandKind};
use ptx::{Sym, Type};

impl FunctionLowering<'_, '_> {
    /// Lowers branches, calls, returns and ends.
    pub fn control(&mut self, m: &Mods<'_>, o: &[Operand]) -> Lowered<Op> {
        m.ignore(&["uni"]);
        match m.name() {
            "bra" => {
                self.expect(o, 1)?;
                let OperandKind::Name(name) = o[0].kind else { return Err(self.problem("a label is needed here")) };
                // Labels and the reconvergence point are replaced by instruction numbers at the end.
                Ok(Op::Branch { target: self.label(name, o[0].span)?, reconverge: NOWHERE, polls: false })
            }
            "brx" => self.branch_table(m, o),
            "call" => self.call(m, o),
            "ret" => Ok(self.ret()),
            "exit" => Ok(Op::Exit),
            "trap" => Ok(Op::Trap),
            // A breakpoint without a debugger, or a performance event without a monitor: no effect.
            _ => Ok(Op::Nop),
        }
    }

    /// `brx.idx index, list`
    fn branch_table(&mut self, m: &Mods<'_>, o: &[Operand]) -> Lowered<Op> {
        m.ignore(&["idx"]);
        self.expect(o, 2)?;
        let index = self.src(&o[0], Type::U32)?;
        let OperandKind::Name(list) = o[1].kind else { return Err(self.problem("a list of targets is needed here")) };
        let Some(targets) = self.branch_targets(list).map(<[Sym]>::to_vec) else {
            return Err(self.problem("no `.branchtargets` of that name"));
        };
        let targets = targets.into_iter().map(|t| self.label(t, o[1].span)).collect::<Lowered<Vec<u32>>>()?;
        self.b.tables.push(targets);
        let table = self.b.tables.len() as u32 - 1;
        Ok(Op::BranchTable { table, index, reconverge: NOWHERE })
    }

    /// `call (results), callee, (arguments), prototype`; the lists are optional.
    fn call(&mut self, _: &Mods<'_>, o: &[Operand]) -> Lowered<Op> {
        let results_given = matches!(o.first().map(|o| &o.kind), Some(OperandKind::List(_))) && o.len() > 1;
        let (results, rest) = if results_given { (self.places(&o[0], true)?, &o[1..]) } else { (Vec::new(), o) };
        let [callee, rest @ ..] = rest else { return Err(self.problem("a function is needed here")) };
        let args = match rest.first() {
            Some(list) if matches!(list.kind, OperandKind::List(_)) => self.places(list, false)?,
            _ => Vec::new(),
        };
        let OperandKind::Name(name) = callee.kind else { return Err(self.problem("a function is needed here")) };
        let callee = match self.register_named(name, None, callee.span)? {
            Some(r) => {
                self.b.reach_all_functions();
                self.calls_pointers = true;
                Callee::Pointer(r.reg)
            }
            None => self.direct_callee(name)?,
        };
        // The size of the frame is known at the end of the function.
        self.b.calls.push(CallSite { callee, args, results, frame_bytes: 0, save: None });
        Ok(Op::Call(self.b.calls.len() as u32 - 1))
    }

    fn direct_callee(&mut self, name: Sym) -> Lowered<Callee> {
        let text = self.b.scope.ast.name(name);
        let Some(Err(ModuleName::Function(index))) = self.resolve(name) else {
            return Err(self.problem(format!("no function `{text}`")));
        };
        if self.b.scope.is_defined(index) {
            let number = self.b.function_number(index);
            self.callees.push(number);
            return Ok(Callee::Function(number));
        }
        let runtime = RuntimeFunction::named(text).map(Callee::Runtime);
        runtime.ok_or_else(|| self.problem(format!("function `{text}` is not defined in this module")))
    }

    /// Places of the arguments or results of a call.
    fn places(&mut self, list: &Operand, results: bool) -> Lowered<Vec<Place>> {
        let OperandKind::List(list) = &list.kind else { return Ok(Vec::new()) };
        let mut places = Vec::with_capacity(list.len());
        let list: Vec<Operand> = list.iter().flat_map(|o| self.parts(o)).collect();
        for o in list {
            places.push(self.place(&o, results)?);
        }
        // The guard's own predicate is last, because it guards the others.
        let guard = self.guard();
        self.after.sort_by_key(|(op, _)| matches!(op, Op::Setp { d, .. } if d[0].number() == guard.number()));
        Ok(places)
    }

    /// The register in which a predicate is passed as argument or result; `None` for other operands.
    fn predicate_place(&mut self, o: &Operand, result: bool) -> Lowered<Option<Reg>> {
        let predicate = match o.kind {
            OperandKind::Name(name) => match self.resolve(name) {
                Some(Ok((super::scope::Local::Registers { ty: Type::Pred, .. }, _))) => {
                    self.pred_named(name, o.span)?
                }
                _ => return Ok(None),
            },
            OperandKind::Not(_) if !result => self.pred_src(o)?,
            _ => return Ok(None),
        };
        let register = self.b.new_register(1);
        if result {
            let op = self.is_set(register, predicate);
            self.after.push((op, "setp; a predicate that was returned".into()));
        } else {
            let op = self.as_register(register, predicate);
            self.push(op, "selp; a predicate argument".into());
        }
        Ok(Some(register))
    }

    fn place(&mut self, o: &Operand, result: bool) -> Lowered<Place> {
        if let Some(register) = self.predicate_place(o, result)? {
            return Ok(Place::Register(register, 1));
        }
        match &o.kind {
            OperandKind::Sink if result => Ok(Place::Frame { offset: 0, bytes: 0 }),
            OperandKind::Offset(name, _) if !result => {
                let ty = self.register_named(*name, None, o.span)?.map_or(Type::B64, |r| r.ty);
                Ok(Place::Register(self.src(o, ty)?, ty.bits().div_ceil(32) as u8))
            }
            OperandKind::Name(name) => {
                if let Some((offset, bytes)) = self.frame_place(*name) {
                    return Ok(Place::Frame { offset, bytes });
                }
                let r = self.any_register(o)?;
                Ok(Place::Register(r.reg, r.ty.bits().div_ceil(32) as u8))
            }
            OperandKind::Immediate(value) if !result => {
                let ty = if matches!(value, ast::Immediate::F64(_)) { Type::B64 } else { Type::B32 };
                Ok(Place::Register(self.immediate(*value, ty, o.span)?, ty.bits().div_ceil(32) as u8))
            }
            _ => {
                let r = self.any_register(o)?;
                Ok(Place::Register(r.reg, r.ty.bits().div_ceil(32) as u8))
            }
        }
    }

    fn frame_place(&self, name: Sym) -> Option<(u32, u32)> {
        match self.resolve(name)? {
            Ok((super::scope::Local::Frame { offset, bytes }, _)) => Some((offset, bytes)),
            _ => None,
        }
    }
}

//! The statements of a function in order: variables, labels, instructions.

use super::build::KernelBuilder;
use super::families::family;
use super::function::FunctionLowering;
use super::mods::Mods;
use super::scope::{Local, Lowered};
use crate::listing::{LoweredFunction, Names};
use exec::kernel::{CalledFunction, Param, Place};
use exec::lanes::Pred;
use exec::memory::MAX_LOCAL_BYTES;
use exec::op::Op;
use isa::{CacheOp, Source};
use ptx::ast::{self, Block, Instruction, Statement};
use ptx::{Diagnostic, StateSpace, Sym, Type};

/// Lowers the body of `function` to the end of the builder's code. Problems are added to its diagnostics.
pub(super) fn lower_function<'a>(
    b: &mut KernelBuilder<'a>,
    function: &'a ast::Function,
    kernel_params: Option<&[Param]>,
) -> LoweredFunction {
    let (start, calls) = (b.code.len() as u32, b.calls.len());
    let first = (b.vectors, b.predicates);
    b.names = Names::default();
    let mut f = FunctionLowering::new(b, function, kernel_params.is_some());
    f.locals.push();
    f.elements.push();
    let mut params = Vec::new();
    match kernel_params {
        Some(list) => {
            for (v, p) in function.params.iter().zip(list) {
                if let Some(name) = v.name {
                    f.elements.declare(name, None, v.element_bytes());
                    f.locals.declare(name, None, Local::Param { offset: p.offset });
                }
            }
        }
        None => {
            params = function.params.iter().flat_map(|v| f.formal(v, true)).collect();
            f.returns = function.returns.iter().flat_map(|v| f.formal(v, false)).collect();
        }
    }
    let names = f.b.names.clone();
    if let Some(body) = &function.body {
        f.block(body);
    }
    // A body may end without `ret`.
    f.b.names = Names::default();
    f.at = function.span;
    f.guard = Pred::TRUE;
    let last = f.ret();
    f.push(last, "ret;".into());
    f.resolve_labels(start);
    let name = f.b.scope.ast.name(function.name).to_owned();
    let frame_bytes = f.frame_bytes.next_multiple_of(16);
    let (returns, callees, calls_pointers) = (f.returns, f.callees, f.calls_pointers);
    b.calls[calls..].iter_mut().for_each(|site| site.frame_bytes = frame_bytes);
    LoweredFunction {
        function: CalledFunction { name, entry: start, params, returns, frame_bytes },
        names,
        registers: [first, (b.vectors, b.predicates)],
        range: (start, b.code.len() as u32),
        callees,
        calls_pointers,
    }
}

impl FunctionLowering<'_, '_> {
    /// Declares a parameter or result of a device function and returns its place, or the place of each element of
    /// a vector. Predicates are passed as registers.
    fn formal(&mut self, v: &ast::Variable, is_parameter: bool) -> Vec<Place> {
        if v.space != StateSpace::Reg {
            let (offset, bytes) = self.frame_variable(v);
            return vec![Place::Frame { offset, bytes }];
        }
        let declaration = self.declare_registers(v.name, v.count, v.ty, v.vector);
        if v.ty == Type::Pred {
            let (register, predicate) = (self.b.new_register(1), self.predicate((declaration, 0)));
            if is_parameter {
                let op = self.is_set(register, predicate);
                self.push(op, "setp; a predicate parameter".into());
            } else {
                let names = &self.b.names;
                self.returned_predicates.extend(names.column(register).zip(names.number(predicate)));
            }
            return vec![Place::Register(register, 1)];
        }
        let columns = v.ty.bits().div_ceil(32) as u8;
        (0..v.vector).map(|k| Place::Register(self.register((declaration, 0, k), v.ty), columns)).collect()
    }

    fn declare_registers(&mut self, name: Option<Sym>, count: Option<u32>, ty: Type, vector: u8) -> u32 {
        let declaration = self.declarations;
        self.declarations += 1;
        if let Some(name) = name {
            self.locals.declare(name, count, Local::Registers { declaration, ty, vector });
        }
        declaration
    }

    /// Reserves room in the frame for a variable and declares it.
    fn frame_variable(&mut self, v: &ast::Variable) -> (u32, u32) {
        let limit = u64::from(MAX_LOCAL_BYTES);
        let bytes = v.bytes().unwrap_or(u64::MAX);
        let room = limit - u64::from(self.frame_bytes).min(limit);
        if bytes > room {
            let what = format!("{bytes} bytes of local memory: a thread has {limit}, and {room} are left here");
            self.b.diagnostics.push(Diagnostic::error(v.span, what));
        }
        let bytes = bytes.min(room) as u32;
        // Parameters are passed in words.
        let align = v.alignment().clamp(4, 256);
        let offset = self.frame_bytes.next_multiple_of(align);
        self.frame_bytes = offset + bytes;
        if let Some(name) = v.name {
            self.locals.declare(name, v.count, Local::Frame { offset, bytes });
        }
        (offset, bytes)
    }

    fn block(&mut self, block: &Block) {
        self.locals.push();
        self.elements.push();
        self.declare_labels(block);
        for statement in &block.statements {
            match statement {
                Statement::Instruction(i) => self.instruction(i),
                Statement::Label(label) => {
                    if let Some((Local::Label(number), _)) = self.locals.lookup(&self.b.scope.ast.names, label.name) {
                        self.labels[*number as usize] = self.b.code.len() as u32;
                    }
                }
                Statement::Registers(r) => {
                    for name in &r.names {
                        self.declare_registers(Some(name.name), name.count, r.ty, r.vector);
                    }
                }
                Statement::Variable(v) => self.variable(v),
                Statement::Block(inner) => self.block(inner),
                Statement::BranchTargets(t) => {
                    let list = t.targets.iter().map(|t| t.0).collect();
                    if let Some((Local::Targets(n), _)) = self.locals.lookup(&self.b.scope.ast.names, t.label) {
                        self.target_lists[*n as usize] = list;
                    }
                }
                Statement::CallTargets(_) | Statement::CallPrototype(_) | Statement::Pragma(_) => {}
            }
        }
        self.locals.pop();
        self.elements.pop();
    }

    /// Labels are visible in their whole block.
    fn declare_labels(&mut self, block: &Block) {
        for statement in &block.statements {
            match statement {
                Statement::Label(label) => {
                    self.locals.declare(label.name, None, Local::Label(self.labels.len() as u32));
                    self.labels.push(u32::MAX);
                }
                Statement::BranchTargets(t) => {
                    let list = t.targets.iter().map(|t| t.0).collect();
                    self.locals.declare(t.label, None, Local::Targets(self.target_lists.len() as u32));
                    self.target_lists.push(list);
                }
                Statement::CallTargets(t) => {
                    self.locals.declare(t.label, None, Local::Prototype);
                }
                Statement::CallPrototype(p) => {
                    self.locals.declare(p.label, None, Local::Prototype);
                }
                _ => {}
            }
        }
    }

    fn variable(&mut self, v: &ast::Variable) {
        if let Some(name) = v.name {
            self.elements.declare(name, v.count, v.element_bytes());
        }
        match v.space {
            StateSpace::Local | StateSpace::Param => {
                self.frame_variable(v);
            }
            StateSpace::Shared => {
                // The place of its name distinguishes it from variables of other functions and of one list.
                let key = usize::MAX - v.name_span.start as usize;
                match self.b.shared_offset(key, v) {
                    Ok(offset) => {
                        if let Some(name) = v.name {
                            self.locals.declare(name, None, Local::Shared { offset });
                        }
                    }
                    Err(problem) => self.b.diagnostics.push(*problem),
                }
            }
            _ => {
                if let (Some(name), Some(&local)) = (v.name, self.b.scope.locals.get(&v.name_span.start)) {
                    self.locals.declare(name, None, local);
                } else {
                    let what = format!("a {} variable within a function is not executable", v.space);
                    self.b.diagnostics.push(Diagnostic::error(v.span, what).hint("move it to module level"));
                }
            }
        }
    }

    /// Lowers one instruction, or reports why it cannot be executed.
    fn instruction(&mut self, i: &Instruction) {
        let scope = self.b.scope;
        let opcode = scope.ast.opcode(i);
        self.at = i.span;
        self.cache = CacheOp::All;
        self.b.names = Names::default();
        self.guard = Pred::TRUE;
        let loc = scope.ast.loc(i);
        if let Some(calls) = loc.map(|loc| scope.calls(loc)).filter(|calls| !calls.is_empty()) {
            self.b.inlined.insert(i.span.start, calls);
        }
        let origin = loc.map_or((0, 0), |l| (scope.files.get(&l.file).copied().unwrap_or(0), l.line));
        self.source = Source { line: scope.source.line(i.span.start), origin };
        let mods = Mods::new(opcode);
        let lowered = self.guard_of(i).and_then(|guard| {
            self.guard = guard;
            family(mods.name())(self, &mods, &i.operands)
        });
        let lowered = lowered.and_then(|op| match mods.leftover() {
            Some(m) => Err(self.problem(format!("`{}` with `.{m}` is not executable", opcode.name()))),
            None => Ok(op),
        });
        match lowered {
            Ok(op) => {
                let text = scope.source.snippet(i.span).split_whitespace().collect::<Vec<_>>().join(" ");
                self.push(op, text);
                for (op, text) in std::mem::take(&mut self.after) {
                    self.push(op, text);
                }
            }
            Err(problem) => {
                self.after.clear();
                self.b.diagnostics.push(*problem);
                // Keeps the positions of labels.
                self.push(Op::Nop, String::new());
            }
        }
    }

    fn guard_of(&mut self, i: &Instruction) -> Lowered<Pred> {
        let Some(guard) = &i.guard else { return Ok(Pred::TRUE) };
        let pred = self.pred_named(guard.register, guard.span)?;
        Ok(if guard.negated { pred.not() } else { pred })
    }

    /// Replaces label numbers by instruction numbers, starting at instruction `start`.
    fn resolve_labels(&mut self, start: u32) {
        let end = self.b.code.len() as u32;
        let place = |label: u32| match self.labels[label as usize] {
            // The parser has reported labels without a place; others follow the last instruction.
            u32::MAX => end - 1,
            pc => pc.min(end - 1),
        };
        for pc in start..end {
            match &mut self.b.code[pc as usize].op {
                Op::Branch { target, .. } => *target = place(*target),
                Op::BranchTable { table, .. } => {
                    self.b.tables[*table as usize].iter_mut().for_each(|t| *t = place(*t));
                }
                _ => {}
            }
        }
    }
}

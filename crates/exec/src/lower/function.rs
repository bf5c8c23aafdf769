//! One function: its scopes, labels, variables, and its statements in order.

use super::Lowered;
use super::build::{KernelBuilder, Line, LoweredFunction};
use super::mods::Mods;
use super::module::ModuleName;
use crate::compare::{Combine, CompareType, Comparison, Relation};
use crate::kernel::{Function, Param, Place, Save};
use crate::lanes::{Pred, Reg};
use crate::memory::MAX_LOCAL_BYTES;
use crate::op::Op;
use isa::{CacheOp, Source};
use ptx::ast::{self, Block, Instruction, Statement};
use ptx::{Diagnostic, Scopes, Span, StateSpace, Sym, Type};
use std::collections::HashMap;

/// What a name within a function stands for.
#[derive(Clone, Copy, Debug)]
pub(super) enum Local {
    /// A row of registers: which declaration, type, elements of a vector.
    Registers { declaration: u32, ty: Type, vector: u8 },
    /// A label, by number.
    Label(u32),
    /// A `.local` variable, or a parameter of a device function or call: offset in the frame.
    Frame { offset: u32, bytes: u32 },
    /// A kernel parameter: its offset.
    Param { offset: u32 },
    /// A `.shared` variable: its offset, unless the launch sizes it.
    Shared { offset: Option<u32> },
    /// A `.global` or `.const` variable.
    Device { address: u64, constant: bool },
    /// A list of branch targets, by number.
    Targets(u32),
    /// A call prototype or a list of call targets: only names.
    Prototype,
}

/// A function while it is lowered.
pub(super) struct FunctionLowering<'b, 'a> {
    pub b: &'b mut KernelBuilder<'a>,
    pub locals: Scopes<Local>,
    /// Registers that are used, by declaration, number in the row and vector element.
    registers: HashMap<(u32, u32, u8), Reg>,
    predicates: HashMap<(u32, u32), Pred>,
    declarations: u32,
    /// Instruction that each label stands before.
    labels: Vec<u32>,
    target_lists: Vec<Vec<Sym>>,
    pub frame_bytes: u32,
    carry: Option<Pred>,
    pub is_kernel: bool,
    pub returns: Vec<Place>,
    /// Results that are predicates, with the registers that they are passed in.
    returned_predicates: Vec<(Reg, Pred)>,
    /// What follows the instruction at hand.
    pub after: Vec<(Op, String)>,
    pub callees: Vec<u32>,
    pub calls_pointers: bool,
    /// The instruction at hand.
    pub at: Span,
    guard: Pred,
    source: Source,
    pub cache: CacheOp,
}

/// Lowers the body of `function` to the end of the builder's code. Problems go to its diagnostics.
pub(super) fn lower_function<'a>(
    b: &mut KernelBuilder<'a>,
    function: &'a ast::Function,
    kernel_params: Option<&[Param]>,
) -> LoweredFunction {
    let start = b.code.len() as u32;
    let first = b.registers_so_far();
    let mut f = FunctionLowering {
        b,
        locals: Scopes::new(),
        registers: HashMap::new(),
        predicates: HashMap::new(),
        declarations: 0,
        labels: Vec::new(),
        target_lists: Vec::new(),
        frame_bytes: 0,
        carry: None,
        is_kernel: kernel_params.is_some(),
        returns: Vec::new(),
        returned_predicates: Vec::new(),
        after: Vec::new(),
        callees: Vec::new(),
        calls_pointers: false,
        at: function.name_span,
        guard: Pred::TRUE,
        source: Source::default(),
        cache: CacheOp::All,
    };
    f.locals.push();
    let mut params = Vec::new();
    match kernel_params {
        Some(list) => {
            for (v, p) in function.params.iter().zip(list) {
                if let Some(name) = v.name {
                    f.locals.declare(name, None, Local::Param { offset: p.offset });
                }
            }
        }
        None => {
            params = function.params.iter().flat_map(|v| f.formal(v, true)).collect();
            f.returns = function.returns.iter().flat_map(|v| f.formal(v, false)).collect();
        }
    }
    if let Some(body) = &function.body {
        f.block(body);
    }
    // A body may end without `ret`.
    f.at = function.span;
    f.guard = Pred::TRUE;
    let last = f.ret();
    f.push(last, "ret;".into());
    f.resolve_labels(start);
    let name = f.b.scope.ast.name(function.name).to_owned();
    let frame_bytes = f.frame_bytes.next_multiple_of(16);
    let (returns, callees, calls_pointers) = (f.returns, f.callees, f.calls_pointers);
    let next = b.registers_so_far();
    let save = Save { registers: (first.0, next.0 - first.0), predicates: (first.1, next.1 - first.1) };
    for site in &mut b.calls {
        if site.frame_bytes == u32::MAX {
            site.frame_bytes = frame_bytes;
        }
    }
    LoweredFunction {
        function: Function { name, entry: start, params, returns, frame_bytes },
        save,
        range: (start, b.code.len() as u32),
        callees,
        calls_pointers,
    }
}

impl FunctionLowering<'_, '_> {
    /// Declares a parameter or result of a device function and says where it, or each element of a
    /// vector, is. A predicate is passed as a register.
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
                self.returned_predicates.push((register, predicate));
            }
            return vec![Place::Register(register, 1)];
        }
        let columns = v.ty.bits().div_ceil(32) as u8;
        (0..v.vector).map(|k| Place::Register(self.register((declaration, 0, k), v.ty), columns)).collect()
    }

    /// The operation that makes of a register that is passed for a predicate that predicate.
    pub fn is_set(&mut self, register: Reg, predicate: Pred) -> Op {
        let test = Comparison { relation: Relation::Ne, ty: CompareType::U32, ftz: false };
        let s = [register, self.b.constant(0, false)];
        Op::Setp { test, s, d: [predicate, Pred::TRUE], with: (Combine::And, Pred::TRUE) }
    }

    /// The reverse of [`Self::is_set`].
    pub fn as_register(&mut self, register: Reg, predicate: Pred) -> Op {
        let s = [self.b.constant(1, false), self.b.constant(0, false)];
        Op::Selp { d: register, s, wide: false, p: predicate }
    }

    /// Returns, results that are predicates in their registers.
    pub fn ret(&mut self) -> Op {
        for (register, predicate) in self.returned_predicates.clone() {
            let op = self.as_register(register, predicate);
            self.push(op, "selp; a predicate that is returned".into());
        }
        Op::Return
    }

    fn declare_registers(&mut self, name: Option<Sym>, count: Option<u32>, ty: Type, vector: u8) -> u32 {
        let declaration = self.declarations;
        self.declarations += 1;
        if let Some(name) = name {
            self.locals.declare(name, count, Local::Registers { declaration, ty, vector });
        }
        declaration
    }

    /// Makes room in the frame for a variable and declares it.
    fn frame_variable(&mut self, v: &ast::Variable) -> (u32, u32) {
        let limit = u64::from(MAX_LOCAL_BYTES);
        let bytes = v.bytes().unwrap_or(u64::MAX);
        let room = limit - u64::from(self.frame_bytes).min(limit);
        if bytes > room {
            let what = format!("{bytes} bytes of local memory: a thread has {limit}, of which {room} are left here");
            self.b.diagnostics.push(Diagnostic::error(v.span, what));
        }
        let bytes = bytes.min(room) as u32;
        // Words are the unit of parameter passing.
        let align = v.alignment().clamp(4, 256);
        let offset = self.frame_bytes.next_multiple_of(align);
        self.frame_bytes = offset + bytes;
        if let Some(name) = v.name {
            self.locals.declare(name, v.count, Local::Frame { offset, bytes });
        }
        (offset, bytes)
    }

    /// The register with this key, made when it is first used.
    pub fn register(&mut self, key: (u32, u32, u8), ty: Type) -> Reg {
        if let Some(&reg) = self.registers.get(&key) {
            return reg;
        }
        let reg = self.b.new_register(ty.bits().div_ceil(32));
        self.registers.insert(key, reg);
        reg
    }

    /// The predicate with this key, made when it is first used.
    pub fn predicate(&mut self, key: (u32, u32)) -> Pred {
        if let Some(&pred) = self.predicates.get(&key) {
            return pred;
        }
        let pred = self.b.new_predicate();
        self.predicates.insert(key, pred);
        pred
    }

    /// The carry bit of the function.
    pub fn carry(&mut self) -> Pred {
        match self.carry {
            Some(pred) => pred,
            None => {
                let pred = self.b.new_predicate();
                self.carry = Some(pred);
                pred
            }
        }
    }

    fn block(&mut self, block: &Block) {
        self.locals.push();
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
        match v.space {
            StateSpace::Local | StateSpace::Param => {
                self.frame_variable(v);
            }
            StateSpace::Shared => {
                // The address of the syntax node tells variables of different functions apart.
                let key = usize::MAX - v.span.start as usize;
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

    /// Lowers one instruction, or says why it cannot be executed.
    fn instruction(&mut self, i: &Instruction) {
        let scope = self.b.scope;
        let opcode = scope.ast.opcode(i);
        self.at = i.span;
        self.cache = CacheOp::All;
        let origin = scope.ast.loc(i).map_or((0, 0), |l| (scope.files.get(&l.file).copied().unwrap_or(0), l.line));
        self.source = Source { line: scope.source.line(i.span.start), origin };
        let mods = Mods::new(opcode);
        let lowered = self.guard_of(i).and_then(|guard| {
            self.guard = guard;
            self.operation(&mods, &i.operands)
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
                // Keeps the places of labels.
                self.push(Op::Nop, String::new());
            }
        }
    }

    fn guard_of(&mut self, i: &Instruction) -> Lowered<Pred> {
        let Some(guard) = &i.guard else { return Ok(Pred::TRUE) };
        let pred = self.pred_named(guard.register, guard.span)?;
        Ok(if guard.negated { pred.not() } else { pred })
    }

    /// Appends an instruction. Those pushed before the one at hand is complete come before it.
    pub fn push(&mut self, op: Op, text: String) {
        let (guard, source, span, cache) = (self.guard, self.source, self.at, self.cache);
        self.b.code.push(Line { op, guard, source, span, text, cache });
    }

    /// The guard of the instruction at hand.
    pub fn guard(&self) -> Pred {
        self.guard
    }

    /// An error at the instruction at hand.
    pub fn problem(&self, what: impl Into<String>) -> Box<Diagnostic> {
        Box::new(Diagnostic::error(self.at, what))
    }

    /// The label number that `name` stands for.
    pub fn label(&self, name: Sym, span: Span) -> Lowered<u32> {
        match self.locals.lookup(&self.b.scope.ast.names, name) {
            Some((Local::Label(number), None)) => Ok(*number),
            _ => {
                let what = format!("no label `{}` here", self.b.scope.ast.name(name));
                Err(Box::new(Diagnostic::error(span, what)))
            }
        }
    }

    /// The labels in a `.branchtargets` list.
    pub fn branch_targets(&self, name: Sym) -> Option<&[Sym]> {
        match self.locals.lookup(&self.b.scope.ast.names, name) {
            Some((Local::Targets(n), None)) => Some(&self.target_lists[*n as usize]),
            _ => None,
        }
    }

    /// What a name stands for: here, else at module level.
    pub fn resolve(&self, name: Sym) -> Option<Result<(Local, Option<u32>), ModuleName>> {
        if let Some((local, number)) = self.locals.lookup(&self.b.scope.ast.names, name) {
            return Some(Ok((*local, number)));
        }
        self.b.module_name(name).map(Err)
    }

    /// Puts instruction numbers in place of label numbers, from instruction `start` on.
    fn resolve_labels(&mut self, start: u32) {
        let end = self.b.code.len() as u32;
        let place = |label: u32| match self.labels[label as usize] {
            // A label that stands nowhere was reported by the parser, or behind the last instruction.
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

    /// The operation of an instruction.
    fn operation(&mut self, m: &Mods<'_>, o: &[ast::Operand]) -> Lowered<Op> {
        match m.name() {
            "mov" | "cvta" | "selp" | "slct" | "setp" | "set" | "testp" | "isspacep" => self.moves(m, o),
            "add" | "sub" | "mul" | "mad" | "div" | "rem" | "min" | "max" | "neg" | "abs" => self.arithmetic(m, o),
            "fma" | "rcp" | "sqrt" | "rsqrt" | "ex2" | "lg2" | "sin" | "cos" | "tanh" | "copysign" => self.float(m, o),
            "addc" | "subc" | "madc" | "mul24" | "mad24" | "sad" | "dp4a" | "dp2a" | "bfe" | "bfi" | "bfind"
            | "brev" | "clz" | "popc" | "prmt" | "shf" | "lop3" | "szext" | "bmsk" | "fns" | "and" | "or" | "xor"
            | "not" | "cnot" | "shl" | "shr" => self.int(m, o),
            "cvt" => self.cvt(m, o),
            "vadd" | "vsub" | "vabsdiff" | "vmin" | "vmax" | "vshl" | "vshr" | "vset" => self.scalar_video(m, o),
            "vmad" => self.vmad(m, o),
            "vadd2" | "vsub2" | "vavrg2" | "vabsdiff2" | "vmin2" | "vmax2" | "vset2" => self.simd_video(m, o, 2),
            "vadd4" | "vsub4" | "vavrg4" | "vabsdiff4" | "vmin4" | "vmax4" | "vset4" => self.simd_video(m, o, 4),
            "ld" | "ldu" | "st" | "atom" | "red" | "cp" | "prefetch" | "prefetchu" | "applypriority" | "discard"
            | "createpolicy" => self.memory(m, o),
            "tex" | "tld4" | "txq" | "suq" | "suld" | "sust" => self.image(m, o),
            "shfl" | "vote" | "match" | "activemask" | "redux" | "elect" | "bar" | "barrier" | "membar" | "fence"
            | "nanosleep" | "griddepcontrol" | "setmaxnreg" => self.warp(m, o),
            "bra" | "brx" | "call" | "ret" | "exit" | "trap" | "brkpt" | "pmevent" => self.control(m, o),
            "ldmatrix" | "stmatrix" | "movmatrix" | "mma" | "wmma" => self.matrix(m, o),
            name => Err(self.problem(format!("`{name}` is not executable"))),
        }
    }
}

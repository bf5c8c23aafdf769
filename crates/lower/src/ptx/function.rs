//! A function under construction: names, registers, the present instruction.

use super::build::KernelBuilder;
use super::scope::{Local, Lowered, ModuleName};
use crate::listing::{Line, Names};
use exec::compare::{Combine, CompareType, Comparison, Relation};
use exec::kernel::Place;
use exec::lanes::{Pred, Reg};
use exec::op::Op;
use isa::{CacheOp, Source};
use ptx::ast;
use ptx::{Diagnostic, Scopes, Span, Sym, Type};
use std::collections::HashMap;

/// A function while it is lowered.
pub(super) struct FunctionLowering<'b, 'a> {
    pub b: &'b mut KernelBuilder<'a>,
    pub locals: Scopes<Local>,
    /// Size of an element of each variable and parameter, in bytes.
    pub elements: Scopes<u64>,
    /// Registers in use, by declaration, number in the row and vector element.
    pub registers: HashMap<(u32, u32, u8), u32>,
    pub predicates: HashMap<(u32, u32), u32>,
    pub declarations: u32,
    /// The instruction after each label.
    pub labels: Vec<u32>,
    pub target_lists: Vec<Vec<Sym>>,
    pub frame_bytes: u32,
    carry: Option<u32>,
    pub is_kernel: bool,
    pub returns: Vec<Place>,
    /// Columns in which predicates are returned, and the predicates.
    pub returned_predicates: Vec<(u32, u32)>,
    /// Operations that follow the present instruction.
    pub after: Vec<(Op, String)>,
    pub callees: Vec<u32>,
    pub calls_pointers: bool,
    /// Position of the present instruction in the text.
    pub at: Span,
    pub guard: Pred,
    pub source: Source,
    pub cache: CacheOp,
}

impl<'b, 'a> FunctionLowering<'b, 'a> {
    /// A function of the kernel under construction, without statements.
    pub fn new(b: &'b mut KernelBuilder<'a>, function: &ast::Function, is_kernel: bool) -> Self {
        Self {
            b,
            locals: Scopes::new(),
            elements: Scopes::new(),
            registers: HashMap::new(),
            predicates: HashMap::new(),
            declarations: 0,
            labels: Vec::new(),
            target_lists: Vec::new(),
            frame_bytes: 0,
            carry: None,
            is_kernel,
            returns: Vec::new(),
            returned_predicates: Vec::new(),
            after: Vec::new(),
            callees: Vec::new(),
            calls_pointers: false,
            at: function.name_span,
            guard: Pred::TRUE,
            source: Source::default(),
            cache: CacheOp::All,
        }
    }

    /// The operation that sets a predicate from the register in which it was passed.
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

    /// Returns; copies results that are predicates to their registers.
    pub fn ret(&mut self) -> Op {
        for (column, number) in self.returned_predicates.clone() {
            let (register, predicate) = (self.b.names.register(column, 1), self.b.names.predicate(number));
            let op = self.as_register(register, predicate);
            self.push(op, "selp; a predicate that is returned".into());
        }
        Op::Return
    }

    /// The register with this key, created at its first use.
    pub fn register(&mut self, key: (u32, u32, u8), ty: Type) -> Reg {
        let columns = ty.bits().div_ceil(32);
        let first = *self.registers.entry(key).or_insert_with(|| self.b.new_columns(columns));
        self.b.names.register(first, columns)
    }

    /// The predicate with this key, created at its first use.
    pub fn predicate(&mut self, key: (u32, u32)) -> Pred {
        let number = *self.predicates.entry(key).or_insert_with(|| self.b.new_predicate());
        self.b.names.predicate(number)
    }

    /// The carry bit of the function.
    pub fn carry(&mut self) -> Pred {
        let number = *self.carry.get_or_insert_with(|| self.b.new_predicate());
        self.b.names.predicate(number)
    }

    /// Appends an instruction. Instructions that are pushed before the present one is complete precede it.
    pub fn push(&mut self, op: Op, text: String) {
        let (mut op, mut guard, source, span, cache) = (op, self.guard, self.source, self.at, self.cache);
        if self.b.names.overflow() {
            let what = format!("an instruction names more than {} registers or predicates", Names::MOST - 4);
            self.b.diagnostics.push(Diagnostic::error(span, what));
        }
        let names = self.b.names.of_instruction(&mut op, &mut guard, (&mut self.b.matrix, &mut self.b.calls));
        self.b.code.push(Line { op, names, guard, source, span, text, cache });
    }

    /// The guard of the present instruction.
    pub fn guard(&self) -> Pred {
        self.guard
    }

    /// An error at the present instruction.
    pub fn problem(&self, what: impl Into<String>) -> Box<Diagnostic> {
        Box::new(Diagnostic::error(self.at, what))
    }

    /// The number of the label `name`.
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

    /// The meaning of a name: in this function, otherwise at module level.
    pub fn resolve(&self, name: Sym) -> Option<Result<(Local, Option<u32>), ModuleName>> {
        if let Some((local, number)) = self.locals.lookup(&self.b.scope.ast.names, name) {
            return Some(Ok((*local, number)));
        }
        self.b.module_name(name).map(Err)
    }
}

//! Checks that every name is declared once and visible where it is used. Instructions are checked at the same
//! time, since they need the declarations.

use super::call::{self, Signature};
use super::declared::{Declared, Shape, What};
use super::instruction::Instructions;
use super::special::{SPECIAL, is_special_register};
use crate::ast::*;
use crate::diag::{Diagnostic, Diagnostics, Severity};
use crate::names::Sym;
use crate::scope::{Scopes, numbered_parts};
use crate::span::Span;
use crate::types::{Linkage, StateSpace};
use kit::suggest;
use std::collections::HashMap;

/// The expected kind of a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Wanted {
    Register,
    Variable,
    Function,
    Label,
}

impl Wanted {
    const fn name(self) -> &'static str {
        match self {
            Wanted::Register => "register",
            Wanted::Variable => "variable",
            Wanted::Function => "function",
            Wanted::Label => "label",
        }
    }
}

pub(super) fn check(module: &Module, diagnostics: &mut Diagnostics) {
    let mut checker = Checker {
        module,
        instructions: Instructions::of(module),
        diagnostics,
        scopes: Scopes::new(),
        signatures: HashMap::new(),
    };
    checker.module_level();
    for function in module.functions() {
        checker.function(function);
    }
}

struct Checker<'a> {
    module: &'a Module,
    instructions: Instructions,
    diagnostics: &'a mut Diagnostics,
    scopes: Scopes<Declared>,
    /// Of all functions, and of the prototypes seen so far.
    signatures: HashMap<Sym, Signature<'a>>,
}

impl<'a> Checker<'a> {
    /// Declares all module-level names, then checks the initialisers, which may refer forward.
    fn module_level(&mut self) {
        let module = self.module;
        // Prototypes and `.extern` declarations may be repeated, and followed by the definition.
        let mut defined = Scopes::<Span>::new();
        for item in &module.items {
            let mut shape = None;
            let (name, count, what, span, defines) = match item {
                Item::Variable(v) => {
                    shape = Some(Shape::of(v));
                    let Some(name) = v.name else { continue };
                    let defines = !matches!(v.linkage, Some(Linkage::Extern | Linkage::Common));
                    (name, v.count, What::Variable(v.space), v.name_span, defines)
                }
                Item::Function(f) => {
                    self.signatures.insert(f.name, Signature { returns: &f.returns, params: &f.params });
                    (f.name, None, What::Function, f.name_span, f.body.is_some())
                }
                Item::Alias(alias) => (alias.name, None, What::Function, alias.span, false),
                Item::Pragma(_) => continue,
            };
            if defines && !defined.declare(name, count, span) {
                let first = defined.lookup(&module.names, name).map(|(span, _)| *span);
                self.twice(name, span, first);
            }
            self.scopes.declare(name, count, Declared { what, span, shape });
        }
        for variable in module.variables() {
            variable.init.iter().for_each(|init| self.init(init));
        }
    }

    fn init(&mut self, init: &Init) {
        match init {
            Init::Value(InitValue::Address { symbol, .. }, span) => self.name(*symbol, *span, Wanted::Variable),
            Init::Value(InitValue::Number(_), _) => {}
            Init::List(list, _) => list.iter().for_each(|init| self.init(init)),
        }
    }

    fn function(&mut self, function: &'a Function) {
        self.scopes.push();
        for param in function.returns.iter().chain(&function.params) {
            self.declare_variable(param);
        }
        if let Some(body) = &function.body {
            self.block(body);
        }
        self.scopes.pop();
    }

    fn block(&mut self, block: &'a Block) {
        self.scopes.push();
        for statement in &block.statements {
            let (name, span) = match statement {
                Statement::Label(label) => (label.name, label.span),
                Statement::BranchTargets(targets) | Statement::CallTargets(targets) => {
                    self.signatures.remove(&targets.label);
                    (targets.label, targets.span)
                }
                Statement::CallPrototype(p) => {
                    self.signatures.insert(p.label, Signature { returns: &p.returns, params: &p.params });
                    (p.label, p.span)
                }
                _ => continue,
            };
            self.declare(name, None, (What::Label, None), span);
        }
        for statement in &block.statements {
            self.statement(statement);
        }
        self.scopes.pop();
    }

    fn statement(&mut self, statement: &'a Statement) {
        match statement {
            Statement::Instruction(instruction) => self.instruction(instruction),
            Statement::Registers(registers) => {
                for register in &registers.names {
                    let what = What::Register(registers.ty, registers.vector);
                    self.declare(register.name, register.count, (what, None), register.span);
                }
            }
            Statement::Variable(variable) => {
                self.declare_variable(variable);
                variable.init.iter().for_each(|init| self.init(init));
            }
            Statement::Block(block) => self.block(block),
            Statement::BranchTargets(targets) => {
                targets.targets.iter().for_each(|&(name, span)| self.name(name, span, Wanted::Label));
            }
            Statement::CallTargets(targets) => {
                targets.targets.iter().for_each(|&(name, span)| self.name(name, span, Wanted::Function));
            }
            Statement::Label(_) | Statement::CallPrototype(_) | Statement::Pragma(_) => {}
        }
    }

    fn declare_variable(&mut self, variable: &Variable) {
        if let Some(name) = variable.name {
            let what = match variable.space {
                StateSpace::Reg => What::Register(variable.ty, variable.vector),
                space => What::Variable(space),
            };
            self.declare(name, variable.count, (what, Some(Shape::of(variable))), variable.name_span);
        }
    }

    fn declare(&mut self, name: Sym, count: Option<u32>, (what, shape): (What, Option<Shape>), span: Span) {
        if !self.scopes.declare(name, count, Declared { what, span, shape }) {
            let first = self.scopes.latest(name, count.is_some()).map(|d| d.span);
            self.twice(name, span, first);
        }
    }

    fn twice(&mut self, name: Sym, span: Span, first: Option<Span>) {
        let message = format!("`{}` is declared twice", self.module.name(name));
        let mut diagnostic = Diagnostic::error(span, message);
        if let Some(first) = first {
            diagnostic = diagnostic.related(first, "first here");
        }
        self.diagnostics.push(diagnostic);
    }

    fn instruction(&mut self, instruction: &Instruction) {
        if let Some(guard) = instruction.guard {
            self.name(guard.register, guard.span, Wanted::Register);
        }
        // The expected kinds of the last operand of a branch and of the callee.
        let opcode = self.module.opcode(instruction).name();
        let last = instruction.operands.len().saturating_sub(1);
        for (i, operand) in instruction.operands.iter().enumerate() {
            let wanted = match opcode {
                "bra" | "brx" if i == last => Wanted::Label,
                "call" if matches!(operand.kind, OperandKind::Name(_)) => Wanted::Function,
                _ => Wanted::Register,
            };
            self.operand(operand, wanted);
        }
        let hint = self.diagnostics.count(Severity::Error) < Diagnostics::LIMIT;
        if let Some(diagnostic) = self.instructions.check(self.module, &self.scopes, instruction, hint) {
            self.diagnostics.push(diagnostic);
        } else if opcode == "call"
            && let Some((callee, signature)) = self.callee(instruction)
            && let Some(diagnostic) = call::check(self.module, &self.scopes, instruction, callee, signature)
        {
            self.diagnostics.push(diagnostic);
        }
    }

    /// The function or prototype that determines the arguments of a call, if it is known.
    fn callee(&self, call: &Instruction) -> Option<(Sym, Signature<'a>)> {
        let name = call::callees(call).find(|name| self.signatures.contains_key(name))?;
        let (declared, _) = self.scopes.lookup(&self.module.names, name)?;
        let known = matches!(declared.what, What::Function | What::Label);
        known.then(|| (name, self.signatures[&name]))
    }

    fn operand(&mut self, operand: &Operand, wanted: Wanted) {
        let span = operand.span;
        match &operand.kind {
            OperandKind::Name(name) => self.name(*name, span, wanted),
            OperandKind::Component(name, _) | OperandKind::Selected(name, _) | OperandKind::Not(name) => {
                self.name(*name, span, Wanted::Register);
            }
            OperandKind::Offset(name, _) => self.name(*name, span, Wanted::Variable),
            OperandKind::Negated(inner) => self.operand(inner, Wanted::Register),
            OperandKind::Element(name, index) => {
                self.name(*name, span, Wanted::Variable);
                self.operand(index, Wanted::Register);
            }
            OperandKind::Pair(first, second) => {
                first.iter().chain(second).for_each(|&name| self.name(name, span, Wanted::Register));
            }
            OperandKind::Address(Address { base: AddressBase::Name(name), .. }) => {
                self.name(*name, span, Wanted::Variable);
            }
            OperandKind::Vector(items) | OperandKind::List(items) | OperandKind::Texture(items) => {
                items.iter().for_each(|item| self.operand(item, Wanted::Register));
            }
            OperandKind::Immediate(_) | OperandKind::Sink | OperandKind::Address(_) => {}
        }
    }

    /// Reports `name` if it is not declared. `wanted` is its expected kind.
    fn name(&mut self, name: Sym, span: Span, wanted: Wanted) {
        let names = &self.module.names;
        let text = names.text(name);
        if is_special_register(text) {
            return;
        }
        if let Some((declared, _)) = self.scopes.lookup(names, name) {
            if wanted == Wanted::Label && declared.what != What::Label {
                let message = format!("`{text}` is a {}, not a label", declared.what.name());
                self.diagnostics.push(Diagnostic::error(span, message).related(declared.span, "declared here"));
            }
            return;
        }
        let what = match wanted {
            _ if text.starts_with('%') => "register",
            Wanted::Register => "name",
            wanted => wanted.name(),
        };
        let mut diagnostic = Diagnostic::error(span, format!("{what} `{text}` is not declared"));
        if self.diagnostics.count(Severity::Error) >= Diagnostics::LIMIT {
            // The error will not be shown, so a hint is not searched for.
        } else if let Some(hint) = self.row_hint(text) {
            diagnostic = diagnostic.hint(hint);
        } else if let Some(near) = self.near(text) {
            diagnostic = diagnostic.hint(format!("did you mean `{near}`?"));
        }
        self.diagnostics.push(diagnostic);
    }

    /// The last name of a declared row, if `text` is beyond it.
    fn row_hint(&self, text: &str) -> Option<String> {
        let names = &self.module.names;
        numbered_parts(text).find_map(|(prefix, _)| {
            let count = self.scopes.row(names.get(prefix)?)?;
            let last = count.checked_sub(1)?;
            Some(format!("`{prefix}<{count}>` declares `{prefix}0` to `{prefix}{last}`"))
        })
    }

    fn near(&self, text: &str) -> Option<&'a str> {
        let names = &self.module.names;
        suggest::nearest(text, self.scopes.visible().map(|name| names.text(name)).chain(SPECIAL.iter().copied()))
    }
}

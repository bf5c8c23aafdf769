//! Every name is declared, once, where it is used.

use crate::ast::*;
use crate::diag::{Diagnostic, Diagnostics, Severity};
use crate::names::Sym;
use crate::scope::{Scopes, numbered_parts};
use crate::span::Span;
use crate::suggest;
use crate::types::Linkage;

/// What a name was declared as, and where.
#[derive(Clone, Copy, Debug)]
struct Declared {
    what: What,
    span: Span,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum What {
    Register,
    Variable,
    Function,
    Label,
}

impl What {
    const fn name(self) -> &'static str {
        match self {
            What::Register => "register",
            What::Variable => "variable",
            What::Function => "function",
            What::Label => "label",
        }
    }
}

pub(super) fn check(module: &Module, diagnostics: &mut Diagnostics) {
    let mut checker = Checker { module, diagnostics, scopes: Scopes::new() };
    checker.module_level();
    for function in module.functions() {
        checker.function(function);
    }
}

struct Checker<'a> {
    module: &'a Module,
    diagnostics: &'a mut Diagnostics,
    scopes: Scopes<Declared>,
}

impl<'a> Checker<'a> {
    /// Declares all module-level names, then looks at the initialisers: they may refer forward.
    fn module_level(&mut self) {
        let module = self.module;
        // Prototypes and `.extern` declarations may be repeated, and followed by the definition.
        let mut defined = Scopes::<Span>::new();
        for item in &module.items {
            let (name, count, what, span, defines) = match item {
                Item::Variable(v) => {
                    let Some(name) = v.name else { continue };
                    let defines = !matches!(v.linkage, Some(Linkage::Extern | Linkage::Common));
                    (name, v.count, What::Variable, v.name_span, defines)
                }
                Item::Function(f) => (f.name, None, What::Function, f.name_span, f.body.is_some()),
                Item::Alias(alias) => (alias.name, None, What::Function, alias.span, false),
                Item::Pragma(_) => continue,
            };
            if defines && !defined.declare(name, count, span) {
                let first = defined.lookup(&module.names, name).map(|(span, _)| *span);
                self.twice(name, span, first);
            }
            self.scopes.declare(name, count, Declared { what, span });
        }
        for variable in module.variables() {
            variable.init.iter().for_each(|init| self.init(init));
        }
    }

    fn init(&mut self, init: &Init) {
        match init {
            Init::Value(InitValue::Address { symbol, .. }, span) => self.name(*symbol, *span, What::Variable),
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
                Statement::BranchTargets(targets) | Statement::CallTargets(targets) => (targets.label, targets.span),
                Statement::CallPrototype(prototype) => (prototype.label, prototype.span),
                _ => continue,
            };
            self.declare(name, None, What::Label, span);
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
                    self.declare(register.name, register.count, What::Register, register.span);
                }
            }
            Statement::Variable(variable) => {
                self.declare_variable(variable);
                variable.init.iter().for_each(|init| self.init(init));
            }
            Statement::Block(block) => self.block(block),
            Statement::BranchTargets(targets) => {
                targets.targets.iter().for_each(|&(name, span)| self.name(name, span, What::Label));
            }
            Statement::CallTargets(targets) => {
                targets.targets.iter().for_each(|&(name, span)| self.name(name, span, What::Function));
            }
            Statement::Label(_) | Statement::CallPrototype(_) | Statement::Pragma(_) => {}
        }
    }

    fn declare_variable(&mut self, variable: &Variable) {
        if let Some(name) = variable.name {
            self.declare(name, variable.count, What::Variable, variable.name_span);
        }
    }

    fn declare(&mut self, name: Sym, count: Option<u32>, what: What, span: Span) {
        if !self.scopes.declare(name, count, Declared { what, span }) {
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
            self.name(guard.register, guard.span, What::Register);
        }
        // What the last operand of a branch, and the one that a call names, must be.
        let opcode = self.module.opcode(instruction).name();
        let last = instruction.operands.len().saturating_sub(1);
        for (i, operand) in instruction.operands.iter().enumerate() {
            let wanted = match opcode {
                "bra" | "brx" if i == last => What::Label,
                "call" if matches!(operand.kind, OperandKind::Name(_)) => What::Function,
                _ => What::Register,
            };
            self.operand(operand, wanted);
        }
    }

    fn operand(&mut self, operand: &Operand, wanted: What) {
        let span = operand.span;
        match &operand.kind {
            OperandKind::Name(name) => self.name(*name, span, wanted),
            OperandKind::Component(name, _) | OperandKind::Selected(name, _) | OperandKind::Not(name) => {
                self.name(*name, span, What::Register);
            }
            OperandKind::Offset(name, _) => self.name(*name, span, What::Variable),
            OperandKind::Negated(inner) => self.operand(inner, What::Register),
            OperandKind::Element(name, index) => {
                self.name(*name, span, What::Variable);
                self.operand(index, What::Register);
            }
            OperandKind::Pair(first, second) => {
                first.iter().chain(second).for_each(|&name| self.name(name, span, What::Register));
            }
            OperandKind::Address(Address { base: AddressBase::Name(name), .. }) => {
                self.name(*name, span, What::Variable);
            }
            OperandKind::Vector(items) | OperandKind::List(items) | OperandKind::Texture(items) => {
                items.iter().for_each(|item| self.operand(item, What::Register));
            }
            OperandKind::Immediate(_) | OperandKind::Sink | OperandKind::Address(_) => {}
        }
    }

    /// Reports `name` if nothing here has it. `wanted` is what it would most likely be.
    fn name(&mut self, name: Sym, span: Span, wanted: What) {
        let names = &self.module.names;
        let text = names.text(name);
        if is_special_register(text) {
            return;
        }
        if let Some((declared, _)) = self.scopes.lookup(names, name) {
            if (wanted == What::Label) != (declared.what == What::Label) && wanted == What::Label {
                let message = format!("`{text}` is a {}, not a label", declared.what.name());
                self.diagnostics.push(Diagnostic::error(span, message).related(declared.span, "declared here"));
            }
            return;
        }
        let what = match wanted {
            _ if text.starts_with('%') => "register",
            What::Register => "name",
            wanted => wanted.name(),
        };
        let mut diagnostic = Diagnostic::error(span, format!("{what} `{text}` is not declared"));
        if self.diagnostics.count(Severity::Error) >= Diagnostics::LIMIT {
            // It will not be shown, so the search for a hint would be for nothing.
        } else if let Some(hint) = self.row_hint(text) {
            diagnostic = diagnostic.hint(hint);
        } else if let Some(near) = self.near(text) {
            diagnostic = diagnostic.hint(format!("did you mean `{near}`?"));
        }
        self.diagnostics.push(diagnostic);
    }

    /// If `text` is beyond the end of a declared row of names: where that ends.
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

/// Whether `name` is one of the special registers of the ISA, such as `%tid` or `%clock64`.
pub fn is_special_register(name: &str) -> bool {
    if !name.starts_with('%') {
        return false;
    }
    if SPECIAL.contains(&name) {
        return true;
    }
    let name = &name[1..];
    let numbered = |prefix: &str, limit: u32| {
        let digits = name.strip_prefix(prefix);
        digits.is_some_and(|d| !d.starts_with('+') && d.parse().is_ok_and(|n: u32| n < limit))
    };
    let performance = name.strip_suffix("_64").unwrap_or(name);
    let counter = performance.strip_prefix("pm").is_some_and(|d| matches!(d.as_bytes(), [b'0'..=b'7']));
    counter || numbered("envreg", 32) || numbered("reserved_smem_offset_", 2)
}

const SPECIAL: &[&str] = &[
    "%tid",
    "%ntid",
    "%laneid",
    "%warpid",
    "%nwarpid",
    "%ctaid",
    "%nctaid",
    "%smid",
    "%nsmid",
    "%gridid",
    "%is_explicit_cluster",
    "%clusterid",
    "%nclusterid",
    "%cluster_ctaid",
    "%cluster_nctaid",
    "%cluster_ctarank",
    "%cluster_nctarank",
    "%lanemask_eq",
    "%lanemask_le",
    "%lanemask_lt",
    "%lanemask_ge",
    "%lanemask_gt",
    "%clock",
    "%clock_hi",
    "%clock64",
    "%globaltimer",
    "%globaltimer_lo",
    "%globaltimer_hi",
    "%reserved_smem_offset_begin",
    "%reserved_smem_offset_end",
    "%reserved_smem_offset_cap",
    "%total_smem_size",
    "%aggr_smem_size",
    "%dynamic_smem_size",
    "%current_graph_exec",
];

//! Kernels, device functions, prototypes.

use super::{Parse, Parser, PendingLoc};
use crate::ast::{Block, CallPrototype, Function, FunctionDirective, FunctionKind, Item, Statement, Variable};
use crate::diag::Diagnostic;
use crate::lexer::Tok;
use crate::names::Sym;
use crate::types::{Linkage, StateSpace};
use kit::suggest;

/// Maximum number of kernels, functions and prototypes of a module.
const MAX_FUNCTIONS: u32 = 1 << 16;
const FIRST_TOO_MANY: u32 = MAX_FUNCTIONS + 1;

impl Parser<'_> {
    /// A function, after `.entry` or `.func`.
    pub(super) fn function(&mut self, kind: FunctionKind, linkage: Option<Linkage>, start: u32) -> Parse<()> {
        self.bump();
        let mut directives = self.function_directives()?;
        let returns = self.parameters()?;
        if kind == FunctionKind::Entry && !returns.is_empty() {
            let span = returns[0].span;
            self.error(span, "a kernel returns nothing");
        }
        let (name, name_span) = self.name("the function's name")?;
        let mut params = self.parameters()?;
        directives.extend(self.function_directives()?);
        let span = self.since(start);
        let body = if self.at(Tok::LBrace) {
            self.loc = PendingLoc::None;
            let mut body = self.block(true);
            if kind == FunctionKind::Entry && self.module.version < PARAMETER_LISTS {
                move_parameters(&mut body, &mut params);
            }
            // A device function would share them with its callers: there they stay undeclared.
            if kind == FunctionKind::Entry && !self.module_registers.is_empty() {
                let registers = self.module_registers.iter().cloned().map(Statement::Registers);
                let span = body.span;
                body = Block { statements: registers.chain([Statement::Block(body)]).collect(), span };
            }
            Some(body)
        } else {
            self.eat_prototype_end(kind)?;
            None
        };
        let function = Function { kind, linkage, name, returns, params, directives, body, name_span, span };
        self.functions += 1;
        match self.functions {
            ..=MAX_FUNCTIONS => self.module.items.push(Item::Function(function)),
            FIRST_TOO_MANY => {
                let message = format!("{MAX_FUNCTIONS} kernels and functions are the maximum of a module");
                self.report(Diagnostic::error(function.name_span, message).hint("split the module"));
            }
            _ => {}
        }
        Ok(())
    }

    /// Takes the `;` of a prototype. CUDA 3 and 4 leave it out after a `.func`, and ptxas accepts that in all versions.
    fn eat_prototype_end(&mut self, kind: FunctionKind) -> Parse<()> {
        let next_item = self.at(Tok::End) || self.at(Tok::Dot) && self.tok.starts_line;
        if self.eat(Tok::Semi) || kind == FunctionKind::Func && next_item {
            return Ok(());
        }
        let message = format!("expected `{{` of the body or `;` of a prototype, found {}", self.found());
        let mut diagnostic = Diagnostic::error(self.tok.span(), message);
        if self.at(Tok::End) {
            diagnostic = diagnostic.hint("is the file truncated?");
        }
        Err(self.report(diagnostic))
    }

    /// `(…)`, if it follows. A single `_` is an empty list.
    fn parameters(&mut self) -> Parse<Vec<Variable>> {
        if !self.eat(Tok::LParen) {
            return Ok(Vec::new());
        }
        self.separated(Tok::RParen, "`)` of the parameters", Self::parameter)
    }

    /// The directives between the parameters and the body.
    fn function_directives(&mut self) -> Parse<Vec<FunctionDirective>> {
        let mut directives = Vec::new();
        while self.at(Tok::Dot) {
            let word = self.dot_word();
            if word != "pragma" && super::module::DIRECTIVES.contains(&word) {
                break;
            }
            directives.push(self.function_directive()?);
        }
        Ok(directives)
    }

    fn function_directive(&mut self) -> Parse<FunctionDirective> {
        let start = self.tok.start;
        let name: Box<str> = self.dot_word().into();
        self.bump();
        let (mut values, mut texts) = (Vec::new(), Vec::new());
        if &*name == "attribute" {
            texts = self.attribute()?;
        } else if self.at(Tok::Text) {
            texts.push(self.string("a string")?);
            while self.eat(Tok::Comma) {
                texts.push(self.string("a string")?);
            }
            self.eat(Tok::Semi);
        } else if self.at_constant() && !self.at(Tok::LParen) {
            values.push(self.unsigned("a number")?);
            while self.eat(Tok::Comma) {
                values.push(self.unsigned("a number")?);
            }
        }
        let span = self.since(start);
        if !KNOWN.contains(&&*name) {
            let mut note = Diagnostic::note(span, format!("unknown directive `.{name}` ignored"));
            if let Some(near) = suggest::nearest(&name, KNOWN.iter().copied()) {
                note = note.hint(format!("did you mean `.{near}`?"));
            }
            self.report(note);
        }
        Ok(FunctionDirective { name, values, texts, span })
    }

    /// `.callprototype (returns) _ (params) directives;` after its label.
    pub(super) fn call_prototype(&mut self, label: Sym, start: u32) -> Parse<CallPrototype> {
        self.bump();
        let returns = self.parameters()?;
        self.name("`_`")?;
        let params = self.parameters()?;
        let directives = self.function_directives()?;
        self.end_statement("the prototype")?;
        Ok(CallPrototype { label, returns, params, directives, span: self.since(start) })
    }
}

/// The version that introduced parameter lists of kernels. Before, parameters are declared in the body.
const PARAMETER_LISTS: (u32, u32) = (1, 4);

/// Moves the `.param` variables that a body declares to the parameters.
fn move_parameters(body: &mut Block, params: &mut Vec<Variable>) {
    for statement in std::mem::take(&mut body.statements) {
        match statement {
            Statement::Variable(v) if v.space == StateSpace::Param => params.push(*v),
            other => body.statements.push(other),
        }
    }
}

/// Directives that may be between parameters and body.
const KNOWN: &[&str] = &[
    "maxntid",
    "reqntid",
    "minnctapersm",
    "maxnctapersm",
    "maxnreg",
    "noreturn",
    "pragma",
    "attribute",
    "explicitcluster",
    "reqnctapercluster",
    "maxclusterrank",
    "abi_preserve",
    "abi_preserve_control",
    "unique",
    "blocksareclusters",
];

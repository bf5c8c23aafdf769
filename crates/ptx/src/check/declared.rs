//! Declarations of names.

use crate::ast::Variable;
use crate::span::Span;
use crate::types::{StateSpace, Type};
use std::fmt;

/// The declaration of a name.
#[derive(Clone, Copy, Debug)]
pub(super) struct Declared {
    pub what: What,
    pub span: Span,
    /// Present for variables.
    pub shape: Option<Shape>,
}

/// The properties of a variable that matter when it is an argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Shape {
    pub ty: Type,
    pub array: bool,
    pub bytes: u64,
    pub align: u32,
}

impl Shape {
    pub fn of(v: &Variable) -> Self {
        let array = !v.dims.is_empty() || v.vector > 1;
        Self { ty: v.ty, array, bytes: v.bytes().unwrap_or(u64::MAX), align: v.alignment() }
    }

    pub const fn scalar(ty: Type) -> Self {
        Self { ty, array: false, bytes: ty.bytes() as u64, align: ty.bytes() }
    }
}

impl fmt::Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.array {
            true => write!(f, "{} bytes aligned to {}", self.bytes, self.align),
            false => write!(f, "a {}", self.ty),
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum What {
    /// A register of this type, or a vector of this length.
    Register(Type, u8),
    Variable(StateSpace),
    Function,
    Label,
}

impl What {
    pub const fn name(self) -> &'static str {
        match self {
            What::Register(..) => "register",
            What::Variable(_) => "variable",
            What::Function => "function",
            What::Label => "label",
        }
    }
}

//! PTX front end: syntax tree, types, source positions.
#![warn(missing_docs)]

pub mod ast;
mod check;
mod diag;
mod inventory;
mod lexer;
mod names;
mod parser;
mod print;
mod scope;
mod span;
mod suggest;
mod types;

pub use check::{check, is_special_register};
pub use diag::{Diagnostic, Diagnostics, Severity};
pub use inventory::{
    Inventory, KernelInventory, OpcodeCount, ParamSlot, RegisterCount, VariableInventory, param_layout,
};
pub use names::{Names, Opcode, OpcodeId, Opcodes, Sym};
pub use parser::{MAX_BYTES, Parsed, parse};
pub use print::{print, print_instruction, print_operand};
pub use scope::{Scopes, numbered_parts};
pub use span::{Position, SourceText, Span};
pub use types::{Component, Linkage, StateSpace, Type};

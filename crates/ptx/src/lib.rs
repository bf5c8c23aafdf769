//! PTX front end: syntax tree, types, source positions.
#![warn(missing_docs)]

pub mod ast;
mod names;
mod scope;
mod span;
mod types;

pub use names::{Names, Opcode, OpcodeId, Opcodes, Sym};
pub use scope::{Scopes, numbered_parts};
pub use span::{Position, SourceText, Span};
pub use types::{Component, Linkage, StateSpace, Type};

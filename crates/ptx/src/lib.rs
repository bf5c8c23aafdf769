//! The PTX front end: from text to a syntax tree, with diagnostics that a person can act on.
//!
//! - [`parse`] converts any bytes to a [`Parsed`]: an [`ast::Module`], the [`SourceText`] and the
//!   [`Diagnostics`]. It always returns. It continues after an error, so that all errors are reported at
//!   once.
//! - [`check`] finds names that are not declared or declared twice, and instructions that are not in the ISA:
//!   modifiers, types, operands, `.version` and `.target`, by the table of [`isa`].
//! - [`Inventory`] lists the contents of a module: parameters, registers, memory, instruction mix.
//! - [`print()`] converts a tree back to text.
//! - [`link`] makes one module of several.
//!
//! ```
//! let text = "
//! .version 7.8
//! .target sm_75
//! .address_size 64
//! .visible .entry twice(.param .u64 data)
//! {
//!     .reg .f32 %f<3>;
//!     .reg .b32 %r<2>;
//!     .reg .b64 %rd<4>;
//!     ld.param.u64 %rd1, [data];
//!     mov.u32 %r1, %tid.x;
//!     mul.wide.u32 %rd2, %r1, 4;
//!     add.s64 %rd3, %rd1, %rd2;
//!     ld.global.f32 %f1, [%rd3];
//!     add.f32 %f2, %f1, %f1;
//!     st.global.f32 [%rd3], %f2;
//!     ret;
//! }";
//! let parsed = ptx::parse("twice.ptx", text);
//! assert!(parsed.diagnostics.is_empty() && ptx::check(&parsed.module).is_empty());
//!
//! let module = &parsed.module;
//! let kernel = module.kernels().next().unwrap();
//! let load = kernel.instructions().nth(4).unwrap();
//! assert_eq!(module.opcode(load).name(), "ld");
//! assert_eq!(module.opcode(load).types().next(), Some(ptx::Type::F32));
//! assert_eq!(ptx::print_instruction(module, load), "ld.global.f32 %f1, [%rd3]");
//! assert_eq!(parsed.source.position(load.span.start).line, 14);
//!
//! let stock = ptx::Inventory::of(module);
//! assert_eq!((stock.kernels[0].instructions, stock.kernels[0].mix[0].name.as_str()), (8, "add"));
//! ```
//!
//! # What is accepted
//! The text of PTX ISA 1.x to 8.x for sm_10 to sm_90, as nvcc, NVRTC, clang and Triton emit it, and most PTX
//! written by hand. The tree has the modifiers that old versions and targets imply (`parser/dialect.rs`):
//! 1. Modules: `.version`, `.target`, `.address_size`, `.file`, `.section`, `.pragma`, `.alias`.
//! 2. Variables of all state spaces and types, with alignment, vectors, arrays (several
//!    dimensions, first one open), `name<n>` rows, `.attribute`, linkage, and initialisers with
//!    constant expressions, addresses of symbols, `generic(…)` and byte masks `0xFF00(…)`.
//! 3. Kernels, functions and prototypes with `.param` and `.reg` parameters, `.ptr`, and directives
//!    such as `.maxntid`.
//! 4. Bodies: nested scopes, declarations, labels, `.branchtargets`, `.calltargets`,
//!    `.callprototype`, `.loc` with `inlined_at`, and instructions of any opcode.
//! 5. Operands: registers and their parts, numbers in every notation, constant expressions, addresses, elements,
//!    vectors, predicate pairs, negated predicates, `_`, call lists, texture coordinates.
//!
//! # What is not accepted
//! - **D1.** The C preprocessor is not run: lines that start with `#` are skipped, with a warning.
//! - **D2.** Debug sections (`.section`, `@@DWARF`) are skipped, with a note; `.loc` and `.file` are kept.
//! - **D3.** Fields in the initialisers of `.texref`, `.samplerref` and `.surfref`, and banks (`.const[2]`),
//!   are skipped, with a note.
//! - **D4.** Unknown directives are skipped, with a note. A misspelt directive in a body is an error.
//! - **D5.** Instructions are checked by the table of [`isa`]. Operands of forms with `*` or `...` (textures,
//!   bulk copies, `tcgen05`) are not checked, nor is the version against the target.
//! - **D6.** `5 %3` without a blank after `%` reads `%3` as a register, according to the ISA's grammar of
//!   names.
//! - **D7.** Negated arguments of `vmad` (`-%r1`) are errors.
//! - **D8.** Constant expressions of bitwise operators on signed numbers are signed; the bits are the same as
//!   under the ISA's rules, by which they are unsigned.
//!
//! # Limits
//! Text of [`MAX_BYTES`]; nesting of 100; 65,536 functions; rows of 2^24 names; variables of a terabyte. 100
//! diagnostics of each severity are kept, further ones are counted. Time and memory are linear in the text.
//! **Invariant:** no input makes this crate panic, recurse without bound, or do I/O.
#![warn(missing_docs)]

pub mod ast;
mod check;
mod diag;
mod inventory;
pub mod isa;
mod lexer;
mod link;
mod names;
mod parser;
mod print;
mod scope;
mod span;
mod types;

pub use check::{check, is_special_register};
pub use diag::{Diagnostic, Diagnostics, Severity};
pub use inventory::{
    Inventory, KernelInventory, OpcodeCount, ParamSlot, RegisterCount, VariableInventory, param_layout,
};
pub use link::link;
pub use names::{Names, Opcode, OpcodeId, Opcodes, Sym};
pub use parser::{MAX_BYTES, Parsed, parse};
pub use print::{print, print_instruction, print_operand};
pub use scope::{Scopes, numbered_parts};
pub use span::{Position, SourceText, Span};
pub use types::{Component, Linkage, StateSpace, Type};

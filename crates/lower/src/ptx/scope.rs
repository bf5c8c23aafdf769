//! State that the kernels of a module share, and the meaning of names.

use crate::loaded::LowerOptions;
use ptx::ast::{self, FunctionKind};
use ptx::{Diagnostic, SourceText, Sym, Type};
use std::collections::HashMap;
use std::sync::Arc;

/// Result of lowering a part.
pub(super) type Lowered<T> = Result<T, Box<Diagnostic>>;

/// The meaning of a module-level name.
#[derive(Clone, Copy, Debug)]
pub(super) enum ModuleName {
    /// A `.global` or `.const` variable: its address.
    Device { address: u64, constant: bool },
    /// A `.shared` variable: index among the module's items.
    Shared(usize),
    /// A function: index among the module's functions.
    Function(usize),
    /// A texture or surface reference: the address of its handle.
    Reference(u64),
    /// Something whose use is an error, with the message.
    Unusable(&'static str),
}

/// State that all kernels of a module share.
pub(super) struct ModuleScope<'a> {
    pub ast: &'a ast::Module,
    pub source: &'a Arc<SourceText>,
    pub names: HashMap<Sym, ModuleName>,
    /// Size of an element of each variable at module level, in bytes.
    pub elements: HashMap<Sym, u64>,
    /// The `.global` and `.const` variables within functions, by the position of their names in the text.
    pub locals: HashMap<u32, Local>,
    /// All functions; for those that are declared more than once, the definition.
    pub functions: Vec<&'a ast::Function>,
    pub options: LowerOptions,
    /// Position of each `.file` index in the list of files.
    pub files: HashMap<u32, u16>,
    /// By file, line and column of code that was inlined, the call that it was inlined for.
    pub inlined: HashMap<(u32, u32, u32), &'a ast::Inlined>,
}

/// Maximum number of calls within each other that are kept of an instruction.
const MOST_CALLS: usize = 32;

impl ModuleScope<'_> {
    /// Files and lines of the calls that the code at `loc` was inlined for, the innermost first.
    pub fn calls(&self, loc: &ast::Loc) -> Vec<(u16, u32)> {
        let outer = |call: &&ast::Inlined| self.inlined.get(&(call.file, call.line, call.column)).copied();
        let place = |call: &ast::Inlined| Some((*self.files.get(&call.file)?, call.line));
        std::iter::successors(loc.inlined.as_ref(), outer).take(MOST_CALLS).filter_map(place).collect()
    }
}

/// The meaning of a name within a function.
#[derive(Clone, Copy, Debug)]
pub(super) enum Local {
    /// A row of registers: index of the declaration, type, elements of a vector.
    Registers { declaration: u32, ty: Type, vector: u8 },
    /// A label, by number.
    Label(u32),
    /// A `.local` variable, or a parameter of a device function or call: offset in the frame.
    Frame { offset: u32, bytes: u32 },
    /// A kernel parameter: its offset.
    Param { offset: u32 },
    /// A `.shared` variable: its offset, unless its size is set at launch.
    Shared { offset: Option<u32> },
    /// A `.global` or `.const` variable.
    Device { address: u64, constant: bool },
    /// A list of branch targets, by number.
    Targets(u32),
    /// A call prototype or a list of call targets: names without a place.
    Prototype,
}

impl ModuleScope<'_> {
    /// Whether function number `index` is a device function with a body.
    pub fn is_defined(&self, index: usize) -> bool {
        let f = self.functions[index];
        f.kind == FunctionKind::Func && f.body.is_some()
    }
}

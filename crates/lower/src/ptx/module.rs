//! Module level: variables with their addresses and contents, functions, kernels.

use super::kernel;
use super::scope::{Local, Lowered, ModuleName, ModuleScope};
use crate::loaded::{LoadError, Loaded, LowerOptions, MOST_VARIABLE_BYTES, Rejected, module_base};
use exec::ImageReference;
use exec::kernel::{LoadedModule, LoadedVariable, function_address};
use ptx::ast::{self, Init, InitValue};
use ptx::{Diagnostic, Diagnostics, SourceText, StateSpace, Sym};
use std::collections::HashMap;
use std::sync::Arc;

/// Message for samplers at module level.
const NO_SAMPLERS: &str = "samplers apart from their textures are not executable";
/// Size of a texture or surface reference: a handle. `.tex .u32` declares one, too.
const REFERENCE_BYTES: u64 = 8;

const TOO_LARGE: &str = "the module's variables take more than 4 GiB";

/// A variable of a module, or of a function in it, with its address.
#[derive(Clone, Copy)]
struct Placed<'a> {
    v: &'a ast::Variable,
    /// Index of the function.
    function: Option<usize>,
    address: u64,
    bytes: u64,
    /// The reference whose handle it holds.
    reference: Option<usize>,
}

/// The address of a variable placed at `next`; advances `next`.
fn place_after(next: &mut u64, v: &ast::Variable, bytes: u64) -> u64 {
    let address = next.next_multiple_of(256.max(u64::from(v.alignment())));
    *next = address + bytes.max(1) + 16;
    address
}

/// The `.global` or `.const` variable that a statement of a function declares, if it does.
fn device_variable(statement: &ast::Statement) -> Option<&ast::Variable> {
    match statement {
        ast::Statement::Variable(v) if matches!(v.space, StateSpace::Global | StateSpace::Const) => Some(v),
        _ => None,
    }
}

/// Lowers a parsed module.
pub(super) fn lower(
    ast: &ast::Module,
    source: &Arc<SourceText>,
    options: LowerOptions,
) -> Result<Loaded, Box<LoadError>> {
    let mut scope = ModuleScope {
        ast,
        source,
        names: HashMap::new(),
        elements: ast.variables().filter_map(|v| Some((v.name?, v.element_bytes()))).collect(),
        locals: HashMap::new(),
        functions: Vec::new(),
        options,
        files: ast.files.iter().enumerate().map(|(i, f)| (f.index, i as u16)).collect(),
        inlined: ast.locs.iter().filter_map(|l| Some(((l.file, l.line, l.column), l.inlined.as_ref()?))).collect(),
    };
    let mut diagnostics = Diagnostics::default();
    if ast.address_size == 32 && ast.kernels().next().is_some() {
        diagnostics.push(
            Diagnostic::error(ptx::Span::default(), "32-bit addressing is not supported")
                .hint("compile for 64 bits (`-m64`)"),
        );
    }
    scope.declare_functions();
    let mut references = Vec::new();
    let variables = scope.declare_variables(&mut references, &mut diagnostics);
    if diagnostics.has_errors() {
        return Err(LoadError::new(diagnostics, source));
    }
    let mut loaded =
        Loaded { module: LoadedModule { kernels: Vec::new(), variables, references }, ..Loaded::default() };
    for function in ast.kernels() {
        match kernel::lower(&scope, function) {
            Ok(kernel) => loaded.module.kernels.push(Arc::new(kernel)),
            Err(diagnostics) => {
                let name = ast.name(function.name).to_owned();
                loaded.rejected.push(Rejected { name, error: LoadError::new(diagnostics, source) });
            }
        }
    }
    Ok(loaded)
}

impl<'a> ModuleScope<'a> {
    fn declare_functions(&mut self) {
        for function in self.ast.functions() {
            if let Some(ModuleName::Function(index)) = self.names.get(&function.name) {
                if function.body.is_some() {
                    self.functions[*index] = function;
                }
                continue;
            }
            self.names.insert(function.name, ModuleName::Function(self.functions.len()));
            self.functions.push(function);
        }
        for item in &self.ast.items {
            if let ast::Item::Alias(alias) = item
                && let Some(&target) = self.names.get(&alias.target)
            {
                self.names.insert(alias.name, target);
            }
        }
    }

    /// Places every variable, then computes the initial contents.
    fn declare_variables(
        &mut self,
        references: &mut Vec<ImageReference>,
        diagnostics: &mut Diagnostics,
    ) -> Vec<LoadedVariable> {
        let mut next = module_base(self.options.slot);
        let end = next + MOST_VARIABLE_BYTES;
        let mut placed: Vec<Placed<'_>> = Vec::new();
        for (index, item) in self.ast.items.iter().enumerate() {
            let ast::Item::Variable(v) = item else { continue };
            let Some(name) = v.name else { continue };
            let constant = v.space == StateSpace::Const;
            let bytes = v.bytes().filter(|&b| b < MOST_VARIABLE_BYTES);
            let entry = match v.space {
                StateSpace::Global | StateSpace::Const | StateSpace::Tex => {
                    let known = matches!(self.names.get(&name), Some(ModuleName::Device { .. }));
                    if known {
                        continue;
                    }
                    let Some(bytes) = bytes.filter(|&b| next + b + 512 < end) else {
                        diagnostics.push(Diagnostic::error(v.span, TOO_LARGE));
                        continue;
                    };
                    if v.ty == ptx::Type::Samplerref {
                        ModuleName::Unusable(NO_SAMPLERS)
                    } else {
                        // `.tex` is the form of PTX 1.x of `.global .texref`.
                        let texture = v.ty == ptx::Type::Texref || v.space == StateSpace::Tex;
                        let is_reference = texture || v.ty == ptx::Type::Surfref;
                        let bytes = if is_reference { bytes.max(REFERENCE_BYTES) } else { bytes };
                        let address = place_after(&mut next, v, bytes);
                        let reference = is_reference.then_some(references.len());
                        placed.push(Placed { v, function: None, address, bytes, reference });
                        if is_reference {
                            let name = self.ast.name(name).to_owned();
                            references.push(ImageReference { name, texture, address });
                            ModuleName::Reference(address)
                        } else {
                            ModuleName::Device { address, constant }
                        }
                    }
                }
                StateSpace::Shared => ModuleName::Shared(index),
                _ => ModuleName::Unusable("a variable of this state space cannot be declared at module level"),
            };
            self.names.insert(name, entry);
        }
        let mut own = vec![HashMap::new(); self.functions.len()];
        for (index, function) in self.functions.iter().enumerate() {
            for v in function.body.iter().flat_map(ast::Block::walk).filter_map(device_variable) {
                let Some(bytes) = v.bytes().filter(|&b| b < MOST_VARIABLE_BYTES && next + b + 512 < end) else {
                    diagnostics.push(Diagnostic::error(v.span, TOO_LARGE));
                    continue;
                };
                let address = place_after(&mut next, v, bytes);
                let constant = v.space == StateSpace::Const;
                self.locals.insert(v.name_span.start, Local::Device { address, constant });
                own[index].extend(v.name.map(|name| (name, address)));
                placed.push(Placed { v, function: Some(index), address, bytes, reference: None });
            }
        }
        let mut variables = Vec::new();
        for &Placed { v, function, address, bytes, reference } in &placed {
            if let Some(reference) = reference {
                variables.push(LoadedVariable::of_reference(&references[reference]));
                continue;
            }
            let constant = v.space == StateSpace::Const;
            match self.contents(v, function.map_or(&HashMap::new(), |f| &own[f]), bytes) {
                Ok(init) => {
                    let name = v.name.map_or("", |n| self.ast.name(n));
                    let name = function
                        .map_or(name.to_owned(), |f| format!("{}.{name}", self.ast.name(self.functions[f].name)));
                    let managed = v.attributes.iter().any(|attribute| &**attribute == ".managed");
                    variables.push(LoadedVariable { name, address, bytes, constant, managed, init });
                }
                Err(problem) => diagnostics.push(*problem),
            }
        }
        variables
    }

    /// The initial contents of a variable, up to the last byte that is not zero.
    fn contents(&self, v: &ast::Variable, own: &HashMap<Sym, u64>, bytes: u64) -> Lowered<Vec<u8>> {
        let mut out = Vec::new();
        if let Some(init) = &v.init {
            // Sizes of the rows of each dimension, outermost first; the elements of a vector are the last
            // dimension.
            let mut sizes: Vec<u64> = vec![u64::from(v.ty.bytes())];
            if v.vector > 1 {
                sizes.push(sizes[0] * u64::from(v.vector));
            }
            for dim in v.dims.iter().skip(1).rev() {
                let inner = sizes[sizes.len() - 1];
                sizes.push(inner.saturating_mul(dim.unwrap_or(1)));
            }
            self.fill((v, own), init, 0, sizes.len(), &sizes, &mut out)?;
        }
        if out.len() as u64 > bytes {
            return Err(Box::new(Diagnostic::error(v.span, "more initial values than the variable holds")));
        }
        Ok(out)
    }

    fn fill(
        &self,
        (v, own): (&ast::Variable, &HashMap<Sym, u64>),
        init: &Init,
        at: u64,
        depth: usize,
        sizes: &[u64],
        out: &mut Vec<u8>,
    ) -> Lowered<()> {
        match init {
            Init::List(list, _) => {
                let row = sizes[depth.saturating_sub(1).min(sizes.len() - 1)];
                // A flat list may initialise nested dimensions element by element.
                let flat = list.iter().all(|i| matches!(i, Init::Value(..)));
                let row = if flat { sizes[0] } else { row };
                for (k, item) in list.iter().enumerate() {
                    self.fill((v, own), item, at + k as u64 * row, depth.saturating_sub(1), sizes, out)?;
                }
                Ok(())
            }
            Init::Value(value, span) => {
                let bytes = v.ty.bytes() as usize;
                let bits = match *value {
                    InitValue::Number(n) => n.bits_as(v.ty),
                    InitValue::Address { symbol, offset, mask, .. } => {
                        let address = match self.names.get(&symbol) {
                            _ if own.contains_key(&symbol) => own.get(&symbol).copied(),
                            Some(ModuleName::Device { address, .. }) => Some(*address),
                            Some(ModuleName::Function(i)) => Some(function_address(*i)),
                            _ => None,
                        };
                        address.map(|a| {
                            let a = a.wrapping_add_signed(offset);
                            mask.map_or(a, |m| if m == 0 { 0 } else { (a & m) >> m.trailing_zeros() })
                        })
                    }
                };
                let bits =
                    bits.ok_or_else(|| Box::new(Diagnostic::error(*span, "this value cannot be stored here")))?;
                let at = at as usize;
                if out.len() < at + bytes {
                    out.resize(at + bytes, 0);
                }
                out[at..at + bytes].copy_from_slice(&bits.to_le_bytes()[..bytes]);
                Ok(())
            }
        }
    }
}

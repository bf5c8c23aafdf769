//! A kernel under construction.

use super::scope::{Lowered, ModuleName, ModuleScope};
use crate::listing::{Constants, Line, Names};
use exec::kernel::CallSite;
use exec::lanes::Reg;
use exec::machine_code::{LaunchWord, WordSource};
use exec::tensor::MatrixOp;
use ptx::ast;
use ptx::{Diagnostic, Diagnostics};
use std::collections::HashMap;

/// All parts of a kernel while its functions are lowered.
pub(super) struct KernelBuilder<'a> {
    pub scope: &'a ModuleScope<'a>,
    pub diagnostics: Diagnostics,
    pub code: Vec<Line>,
    /// By the start of an instruction in the text, the calls that it was inlined for, the innermost first.
    pub inlined: HashMap<u32, Vec<(u16, u32)>>,
    pub tables: Vec<Vec<u32>>,
    pub calls: Vec<CallSite>,
    pub matrix: Vec<MatrixOp>,
    /// Numbers of columns and predicates so far.
    pub vectors: u32,
    pub predicates: u32,
    /// Those that operands of the present instruction have named.
    pub names: Names,
    pub constants: Constants,
    /// Constants for an address in dynamically sized shared memory.
    pub dynamic: Vec<(Reg, bool, i64)>,
    /// Constants that the launch determines.
    pub launch_words: Vec<LaunchWord>,
    /// Constants with the handles of texture and surface references, by the addresses of the handles.
    handles: HashMap<u64, Reg>,
    pub dynamic_align: Option<u32>,
    pub shared_bytes: u32,
    shared: HashMap<usize, Option<u32>>,
    pub shared_symbols: Vec<(String, u32, u32)>,
    /// From the index of a function in the module to the one in the kernel.
    pub numbers: HashMap<usize, u32>,
    pub queue: Vec<usize>,
    /// All functions of the module are among them, since a call goes through a pointer.
    indirect: bool,
}

impl<'a> KernelBuilder<'a> {
    /// A kernel without instructions.
    pub fn new(scope: &'a ModuleScope<'a>) -> Self {
        Self {
            scope,
            diagnostics: Diagnostics::default(),
            code: Vec::new(),
            inlined: HashMap::new(),
            tables: Vec::new(),
            calls: Vec::new(),
            matrix: Vec::new(),
            vectors: 0,
            predicates: 0,
            names: Names::default(),
            constants: Constants::default(),
            dynamic: Vec::new(),
            launch_words: Vec::new(),
            handles: HashMap::new(),
            dynamic_align: None,
            shared_bytes: 0,
            shared: HashMap::new(),
            shared_symbols: Vec::new(),
            numbers: HashMap::new(),
            queue: Vec::new(),
            indirect: false,
        }
    }

    /// A new register of this many columns.
    pub fn new_register(&mut self, columns: u32) -> Reg {
        let first = self.new_columns(columns);
        self.names.register(first, columns)
    }

    /// The first of the columns of a new register.
    pub fn new_columns(&mut self, columns: u32) -> u32 {
        self.vectors += columns;
        self.vectors - columns
    }

    /// The number of a new predicate.
    pub fn new_predicate(&mut self) -> u32 {
        self.predicates += 1;
        self.predicates - 1
    }

    /// A constant of one column, or two.
    pub fn constant(&mut self, value: u64, wide: bool) -> Reg {
        self.constants.get(value, wide)
    }

    /// The offset of the `.shared` variable `v`; `None` if its size is set at launch. `key` identifies the
    /// variable.
    pub fn shared_offset(&mut self, key: usize, v: &ast::Variable) -> Lowered<Option<u32>> {
        if let Some(&offset) = self.shared.get(&key) {
            return Ok(offset);
        }
        let offset = if v.is_unsized() {
            self.dynamic_align = Some(self.dynamic_align.unwrap_or(16).max(v.alignment()));
            None
        } else {
            let bytes = v.bytes().filter(|&b| b <= 1 << 20);
            let bytes =
                bytes.ok_or_else(|| Box::new(Diagnostic::error(v.span, "more shared memory than any SM has")))?;
            let offset = self.shared_bytes.next_multiple_of(v.alignment());
            self.shared_bytes = offset + bytes as u32;
            let name = v.name.map_or("", |n| self.scope.ast.name(n)).to_owned();
            self.shared_symbols.push((name, offset, bytes as u32));
            Some(offset)
        };
        self.shared.insert(key, offset);
        Ok(offset)
    }

    /// A constant for an address in shared memory; `None` is the dynamically sized part.
    pub fn shared_address(&mut self, offset: Option<u32>, addend: i64, wide: bool) -> Reg {
        match offset {
            Some(offset) => self.constant((i64::from(offset) + addend) as u64, wide),
            None => {
                let reg = self.constants.add(0, wide);
                self.dynamic.push((reg, wide, addend));
                reg
            }
        }
    }

    /// A constant with the handle that is at `address` in device memory when the kernel is launched.
    pub fn handle(&mut self, address: u64) -> Reg {
        if let Some(&known) = self.handles.get(&address) {
            return known;
        }
        let register = self.constants.add(0, true);
        let first = register.0 - Reg::CONSTANTS;
        for (constant, at) in [(first, address), (first + 1, address + 4)] {
            self.launch_words.push(LaunchWord { constant, source: WordSource::Memory(at) });
        }
        self.handles.insert(address, register);
        register
    }

    /// Index in the kernel of function `index` of the module; the function will be lowered too.
    pub fn function_number(&mut self, index: usize) -> u32 {
        if let Some(&number) = self.numbers.get(&index) {
            return number;
        }
        self.queue.push(index);
        let number = self.queue.len() as u32;
        self.numbers.insert(index, number);
        number
    }

    /// Adds all functions of the module: any of them may be called through a pointer.
    pub fn reach_all_functions(&mut self) {
        if std::mem::replace(&mut self.indirect, true) {
            return;
        }
        for index in 0..self.scope.functions.len() {
            if self.scope.is_defined(index) {
                self.function_number(index);
            }
        }
    }

    /// The meaning of a module-level name.
    pub fn module_name(&self, sym: ptx::Sym) -> Option<ModuleName> {
        self.scope.names.get(&sym).copied()
    }
}

//! The contents of a PTX file, of one of machine code ([`code`]), and kernels on a dataflow fabric ([`fabric`]).

pub mod code;
pub mod fabric;
pub mod facts;

use exec::Kernel;
use facts::{EntryFacts, Mix, VariableFacts, classes, most_first};
use lower::{Loaded, LowerOptions, RegisterLimits, Registers, Rejected};
use ptx::ast::{Block, Function, Module, Statement, Variable};
use ptx::{Diagnostic, Diagnostics, Parsed, SourceText, StateSpace};
use std::collections::{BTreeMap, HashMap};

/// Contents of a file of PTX.
#[derive(Clone, Debug, serde::Serialize)]
pub struct Inspection {
    /// As the user named it.
    pub file: String,
    /// Contents of the file, if it is a fat binary with this text in it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub entries: Vec<EntryFacts>,
    /// PTX ISA version.
    pub version: String,
    /// Architecture and options.
    pub target: Vec<String>,
    /// 32 or 64.
    pub address_bits: u32,
    pub variables: Vec<VariableFacts>,
    pub kernels: Vec<KernelFacts>,
    /// Names of the device functions that have a body.
    pub functions: Vec<String>,
    /// Errors, warnings and notes of the parser.
    pub diagnostics: Vec<Remark>,
    /// The same as text, with carets.
    #[serde(skip)]
    pub diagnostics_text: String,
    /// Whether there are errors: the kernels are then what could be understood.
    pub has_errors: bool,
}

/// A kernel in a file of PTX, and whether it can be executed.
#[derive(Clone, Debug, serde::Serialize)]
pub struct KernelFacts {
    /// Name in the file.
    pub name: String,
    /// Name in the source, where the other is mangled.
    pub source_name: Option<String>,
    /// Line of its header.
    pub line: u32,
    pub parameters: Vec<VariableFacts>,
    /// Instructions in its body.
    pub instructions: usize,
    /// Virtual registers declared, by type.
    pub virtual_registers: BTreeMap<&'static str, u64>,
    /// Statically allocated shared memory that its body declares, in bytes.
    pub declared_shared_bytes: u64,
    /// Local memory per thread that its body declares, in bytes.
    pub declared_local_bytes: u64,
    /// Instructions by opcode without modifiers, most frequent first.
    pub opcodes: Mix,
    /// Facts that need a kernel that can be executed.
    pub executable: Option<Executable>,
    /// Instructions and features that cannot be executed, in it and in the functions that it calls.
    pub not_executable: Vec<Remark>,
    /// The same as text, with carets.
    #[serde(skip)]
    pub not_executable_text: String,
}

/// Facts of a kernel that can be executed.
#[derive(Clone, Debug, serde::Serialize)]
pub struct Executable {
    /// Instructions, called functions included.
    pub instructions: usize,
    /// 32-bit registers per thread, estimated from liveness.
    pub registers_per_thread: u32,
    /// The result of register allocation, in each mode.
    pub allocations: Vec<AllocationFacts>,
    /// Shared memory per CTA, without the dynamic part, in bytes.
    pub shared_bytes: u32,
    /// Local memory per thread, in bytes.
    pub local_bytes: u32,
    pub parameter_bytes: u32,
    /// Maximum number of threads per CTA, if the file gives one.
    pub max_threads: Option<u32>,
    /// Threads per CTA in each dimension, if the file fixes them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub required_threads: Option<[u32; 3]>,
    /// Instructions by operation class, most frequent first: they choose the units.
    pub classes: Mix,
}

/// The result of register allocation for a kernel.
#[derive(Clone, Debug, serde::Serialize)]
pub struct AllocationFacts {
    /// `allocated` or `hazard-free`.
    pub mode: &'static str,
    /// 32-bit registers per thread; absent if it does not fit into those allowed.
    pub registers_per_thread: Option<u32>,
    /// Words that are kept in local memory instead.
    pub spilled_words: u32,
    /// Words that are computed again where they are used.
    pub recomputed_words: u32,
    /// Predicates that are kept in registers.
    pub spilled_predicates: u32,
    /// Instructions that only wait, to prevent hazards.
    pub fences: u32,
}

/// An error, a warning, a note, or something that is not executable.
#[derive(Clone, Debug, serde::Serialize)]
pub struct Remark {
    /// `error`, `warning` or `note`.
    pub severity: &'static str,
    /// In the text; lines and columns count from 1.
    pub line: u32,
    pub column: u32,
    pub message: String,
    /// Remedy for the author of the file.
    pub hint: Option<String>,
}

/// Takes a file apart, and allocates registers within `limits`.
pub fn inspect(file: &str, content: &[u8], limits: RegisterLimits) -> Inspection {
    let parsed = ptx::parse(file, content);
    let module = &parsed.module;
    let mut kernels: Vec<KernelFacts> = module.kernels().map(|k| kernel(module, &parsed.source, k)).collect();
    if !parsed.has_errors() {
        add_lowered(&mut kernels, &parsed, limits);
    }
    let functions = module.functions().filter(|f| f.kind == ptx::ast::FunctionKind::Func && f.body.is_some());
    Inspection {
        file: file.to_owned(),
        entries: Vec::new(),
        version: format!("{}.{}", module.version.0, module.version.1),
        target: module.target.iter().map(|&sym| module.name(sym).to_owned()).collect(),
        address_bits: module.address_size,
        variables: module.variables().map(|v| variable(module, v)).collect(),
        kernels,
        functions: functions.map(|f| module.name(f.name).to_owned()).collect(),
        diagnostics: remarks(&parsed.diagnostics, &parsed.source),
        diagnostics_text: parsed.render(ptx::Severity::Note),
        has_errors: parsed.has_errors(),
    }
}

impl Inspection {
    /// Adds the text of another source file.
    pub fn absorb(&mut self, other: Self) {
        self.variables.extend(other.variables);
        self.kernels.extend(other.kernels);
        self.functions.extend(other.functions);
        self.diagnostics.extend(other.diagnostics);
        self.diagnostics_text += &other.diagnostics_text;
        self.has_errors |= other.has_errors;
    }
}

fn remarks(diagnostics: &Diagnostics, source: &SourceText) -> Vec<Remark> {
    let one = |d: &Diagnostic| {
        let at = source.position(d.span.start);
        Remark {
            severity: d.severity.name(),
            line: at.line,
            column: at.column,
            message: d.message.clone(),
            hint: d.hint.clone(),
        }
    };
    diagnostics.iter().map(one).collect()
}

fn variable(module: &Module, v: &Variable) -> VariableFacts {
    VariableFacts {
        name: v.name.map_or("_", |n| module.name(n)).to_owned(),
        space: v.space.name(),
        ty: v.ty.name(),
        bytes: v.bytes().filter(|_| !v.is_unsized()),
    }
}

fn kernel(module: &Module, source: &SourceText, function: &Function) -> KernelFacts {
    let name = module.name(function.name);
    let mut body = Body::default();
    if let Some(block) = &function.body {
        body.add(module, block);
    }
    KernelFacts {
        name: name.to_owned(),
        source_name: exec::plain_name(name).map(str::to_owned),
        line: source.line(function.span.start),
        parameters: function.params.iter().map(|p| variable(module, p)).collect(),
        instructions: body.instructions,
        virtual_registers: body.registers,
        declared_shared_bytes: body.shared_bytes,
        declared_local_bytes: body.local_bytes,
        opcodes: most_first(body.opcodes),
        executable: None,
        not_executable: Vec::new(),
        not_executable_text: String::new(),
    }
}

/// Declarations and instructions of a body.
#[derive(Default)]
struct Body<'a> {
    instructions: usize,
    opcodes: BTreeMap<&'a str, u64>,
    registers: BTreeMap<&'static str, u64>,
    shared_bytes: u64,
    local_bytes: u64,
}

impl<'a> Body<'a> {
    fn add(&mut self, module: &'a Module, block: &'a Block) {
        for statement in &block.statements {
            match statement {
                Statement::Instruction(instruction) => {
                    self.instructions += 1;
                    *self.opcodes.entry(module.opcode(instruction).name()).or_default() += 1;
                }
                Statement::Registers(registers) => {
                    let scalars: u64 = registers.names.iter().map(|n| u64::from(n.count.unwrap_or(1))).sum();
                    *self.registers.entry(registers.ty.name()).or_default() += scalars * u64::from(registers.vector);
                }
                Statement::Variable(v) => match v.space {
                    StateSpace::Shared => self.shared_bytes += v.bytes().unwrap_or(0),
                    StateSpace::Local => self.local_bytes += v.bytes().unwrap_or(0),
                    _ => {}
                },
                Statement::Block(inner) => self.add(module, inner),
                _ => {}
            }
        }
    }
}

/// Adds the facts of kernels that can be executed, and for the others the reasons.
fn add_lowered(kernels: &mut [KernelFacts], parsed: &Parsed, limits: RegisterLimits) {
    let loaded = match lower::load_parsed(parsed, LowerOptions::default()) {
        Ok(loaded) => loaded,
        Err(error) => {
            for kernel in kernels {
                kernel.not_executable = remarks(&error.diagnostics, &parsed.source);
                kernel.not_executable_text = error.text.clone();
            }
            return;
        }
    };
    let executables = by_name(&loaded);
    let rejected: HashMap<&str, &Rejected> = loaded.rejected.iter().map(|r| (&*r.name, r)).collect();
    for facts in kernels.iter_mut() {
        let name = &*facts.name;
        if let Some(kernel) = executables.get(name) {
            facts.executable = Some(executable(kernel));
        } else if let Some(Rejected { error, .. }) = rejected.get(name) {
            facts.not_executable = remarks(&error.diagnostics, &parsed.source);
            facts.not_executable_text = error.text.clone();
        }
    }
    drop(loaded);
    // One after the other: a large module takes much memory.
    for (mode, registers) in
        [("allocated", Registers::Allocated(limits)), ("hazard-free", Registers::HazardFree(limits))]
    {
        let options = LowerOptions { registers, ..LowerOptions::default() };
        let loaded = lower::load_parsed(parsed, options).unwrap_or_default();
        let allocated = by_name(&loaded);
        for facts in kernels.iter_mut() {
            if let Some(executable) = &mut facts.executable {
                executable.allocations.push(allocation(mode, allocated.get(&*facts.name).copied()));
            }
        }
    }
}

fn by_name(loaded: &Loaded) -> HashMap<&str, &Kernel> {
    loaded.module.kernels.iter().map(|k| (k.name(), &**k)).collect()
}

fn allocation(mode: &'static str, kernel: Option<&Kernel>) -> AllocationFacts {
    let done = kernel.and_then(|k| k.allocation).unwrap_or_default();
    AllocationFacts {
        mode,
        registers_per_thread: kernel.map(|k| k.registers.per_thread),
        spilled_words: done.spilled,
        recomputed_words: done.recomputed,
        spilled_predicates: done.predicates_spilled,
        fences: done.fences,
    }
}

fn executable(kernel: &Kernel) -> Executable {
    Executable {
        instructions: kernel.program.insts().len(),
        registers_per_thread: kernel.registers.per_thread,
        allocations: Vec::new(),
        shared_bytes: kernel.static_shared,
        local_bytes: kernel.local_bytes,
        parameter_bytes: kernel.param_bytes(),
        max_threads: kernel.max_threads,
        required_threads: kernel.required_block.map(|b| [b.x, b.y, b.z]),
        classes: classes(kernel),
    }
}

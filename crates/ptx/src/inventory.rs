//! Contents of a module: the facts that `inspect` shows.

use crate::ast::*;
use crate::names::{OpcodeId, Sym};
use crate::types::{StateSpace, Type};
use std::collections::{BTreeMap, BTreeSet};

/// The contents of a module.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Inventory {
    /// PTX version, such as 7.8.
    pub version: (u32, u32),
    /// Target architecture and options.
    pub target: Vec<String>,
    /// 32 or 64.
    pub address_size: u32,
    /// Module-level variables in the order of the file.
    pub variables: Vec<VariableInventory>,
    /// Kernels with a body, in the order of the file.
    pub kernels: Vec<KernelInventory>,
    /// Device functions with a body, in the order of the file.
    pub functions: Vec<KernelInventory>,
    /// Functions that are declared in the module and defined elsewhere.
    pub external: Vec<String>,
}

/// A module-level variable.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names say it")]
pub struct VariableInventory {
    pub name: String,
    pub space: StateSpace,
    /// In bytes; 0 if the launch or another module sets the size.
    pub bytes: u64,
    /// In bytes.
    pub align: u32,
}

/// The contents of a kernel or function.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names say it")]
pub struct KernelInventory {
    pub name: String,
    pub params: Vec<ParamSlot>,
    /// Size of all parameters.
    pub param_bytes: u64,
    /// Declared registers by type, nested scopes included.
    pub registers: Vec<RegisterCount>,
    /// Static shared memory in bytes: its own, and the variables of the module that it names.
    pub shared_bytes: u64,
    /// It names shared memory whose size is set at launch.
    pub dynamic_shared: bool,
    /// Local memory in bytes per thread.
    pub local_bytes: u64,
    pub instructions: u64,
    /// Instructions by operation, the most frequent first.
    pub mix: Vec<OpcodeCount>,
    pub labels: u64,
    /// Branches: `bra` and `brx`.
    pub branches: u64,
    /// Functions that it calls by name, in order of name.
    pub calls: Vec<String>,
    /// Calls through a register.
    pub indirect_calls: u64,
    /// Directives such as `maxntid` with their numbers.
    pub directives: Vec<(String, Vec<u64>)>,
}

/// A parameter and its position in the parameter block.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names say it")]
pub struct ParamSlot {
    /// Empty in a prototype.
    pub name: String,
    /// Its type as written, such as `.u64` or `.b8[16]`.
    pub ty: String,
    /// In bytes from the start of the block.
    pub offset: u64,
    pub bytes: u64,
    pub align: u32,
    /// For a pointer (`.ptr`), the state space that it points to; `None` within is generic.
    pub pointer: Option<Option<StateSpace>>,
}

/// Number of declared registers of a type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names say it")]
pub struct RegisterCount {
    pub ty: Type,
    /// The elements of a vector are counted separately.
    pub count: u64,
}

/// Number of occurrences of an operation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpcodeCount {
    /// The operation without modifiers.
    pub name: String,
    /// Number in the text.
    pub count: u64,
}

impl Inventory {
    /// Makes the inventory of `module`.
    pub fn of(module: &Module) -> Self {
        let globals = ModuleLevel::of(module);
        let bodies = |kind| {
            let of_kind = module.functions().filter(|f| f.kind == kind && f.body.is_some());
            of_kind.map(|f| KernelInventory::with(module, &globals, f)).collect()
        };
        let defined: BTreeSet<Sym> = module.functions().filter(|f| f.body.is_some()).map(|f| f.name).collect();
        let external: BTreeSet<Sym> = module.functions().map(|f| f.name).filter(|n| !defined.contains(n)).collect();
        Self {
            version: module.version,
            target: module.target.iter().map(|&t| module.name(t).to_owned()).collect(),
            address_size: module.address_size,
            variables: module.variables().filter_map(|v| variable(module, v)).collect(),
            kernels: bodies(FunctionKind::Entry),
            functions: bodies(FunctionKind::Func),
            external: external.into_iter().map(|name| module.name(name).to_owned()).collect(),
        }
    }
}

/// Declarations that bodies refer to.
struct ModuleLevel<'a> {
    functions: BTreeSet<Sym>,
    shared: BTreeMap<Sym, &'a Variable>,
}

impl<'a> ModuleLevel<'a> {
    fn of(module: &'a Module) -> Self {
        let shared = module.variables().filter(|v| v.space == StateSpace::Shared);
        Self {
            functions: module.functions().map(|f| f.name).collect(),
            shared: shared.filter_map(|v| Some((v.name?, v))).collect(),
        }
    }
}

fn variable(module: &Module, v: &Variable) -> Option<VariableInventory> {
    let name = module.name(v.name?).to_owned();
    Some(VariableInventory { name, space: v.space, bytes: total_bytes(v), align: v.alignment() })
}

/// Size of a variable; of a row of variables, the size of all.
fn total_bytes(v: &Variable) -> u64 {
    v.bytes().unwrap_or(0).saturating_mul(u64::from(v.count.unwrap_or(1)))
}

/// Positions of a function's parameters in its parameter block: each follows the one before, at the next
/// multiple of its alignment.
pub fn param_layout(module: &Module, params: &[Variable]) -> Vec<ParamSlot> {
    let mut end = 0_u64;
    let mut slots = Vec::with_capacity(params.len());
    for param in params {
        let (bytes, align) = (total_bytes(param), param.alignment());
        let offset = end.checked_next_multiple_of(u64::from(align)).unwrap_or(u64::MAX);
        end = offset.saturating_add(bytes);
        let name = param.name.map_or(String::new(), |name| module.name(name).to_owned());
        slots.push(ParamSlot { name, ty: type_text(param), offset, bytes, align, pointer: param.ptr.map(|p| p.space) });
    }
    slots
}

fn type_text(v: &Variable) -> String {
    let vector = if v.vector > 1 { format!(".v{}", v.vector) } else { String::new() };
    let dims: String = v.dims.iter().map(|d| d.map_or("[]".to_owned(), |n| format!("[{n}]"))).collect();
    format!("{vector}{}{dims}", v.ty)
}

impl KernelInventory {
    /// Makes the inventory of `function` of `module`.
    pub fn of(module: &Module, function: &Function) -> Self {
        Self::with(module, &ModuleLevel::of(module), function)
    }

    fn with(module: &Module, globals: &ModuleLevel<'_>, function: &Function) -> Self {
        let params = param_layout(module, &function.params);
        let mut stock = Self {
            name: module.name(function.name).to_owned(),
            param_bytes: params.last().map_or(0, |last| last.offset.saturating_add(last.bytes)),
            params,
            registers: Vec::new(),
            shared_bytes: 0,
            dynamic_shared: false,
            local_bytes: 0,
            instructions: 0,
            mix: Vec::new(),
            labels: 0,
            branches: 0,
            calls: Vec::new(),
            indirect_calls: 0,
            directives: function.directives.iter().map(|d| (d.name.to_string(), d.values.clone())).collect(),
        };
        let mut used = BTreeSet::new();
        stock.count_statements(module, globals, function, &mut used);
        for v in used.iter().filter_map(|name| globals.shared.get(name)) {
            stock.count_shared(v);
        }
        stock
    }

    fn count_statements(
        &mut self,
        module: &Module,
        globals: &ModuleLevel<'_>,
        function: &Function,
        used: &mut BTreeSet<Sym>,
    ) {
        let mut registers = BTreeMap::<Type, u64>::new();
        let mut per_opcode = BTreeMap::new();
        let mut calls = BTreeSet::new();
        for statement in function.body.iter().flat_map(Block::walk) {
            match statement {
                Statement::Instruction(instruction) => {
                    *per_opcode.entry(instruction.opcode).or_default() += 1;
                    instruction.operands.iter().for_each(|operand| names_in(operand, used));
                    if module.opcode(instruction).name() == "call" {
                        match callee(instruction) {
                            Some(name) if globals.functions.contains(&name) => {
                                calls.insert(module.name(name));
                            }
                            _ => self.indirect_calls += 1,
                        }
                    }
                }
                Statement::Label(_) => self.labels += 1,
                Statement::Registers(r) => {
                    let names: u64 = r.names.iter().map(|n| u64::from(n.count.unwrap_or(1))).sum();
                    *registers.entry(r.ty).or_default() += names * u64::from(r.vector);
                }
                Statement::Variable(v) if v.space == StateSpace::Shared => self.count_shared(v),
                Statement::Variable(v) if v.space == StateSpace::Local => {
                    self.local_bytes = self.local_bytes.saturating_add(total_bytes(v));
                }
                _ => {}
            }
        }
        self.registers = registers.into_iter().map(|(ty, count)| RegisterCount { ty, count }).collect();
        self.calls = calls.into_iter().map(str::to_owned).collect();
        self.count_opcodes(module, &per_opcode);
    }

    fn count_opcodes(&mut self, module: &Module, per_opcode: &BTreeMap<OpcodeId, u64>) {
        let mut by_name = BTreeMap::<&str, u64>::new();
        for (&opcode, &count) in per_opcode {
            *by_name.entry(module.opcodes.get(opcode).name()).or_default() += count;
        }
        self.instructions = by_name.values().sum();
        self.branches = ["bra", "brx"].iter().filter_map(|name| by_name.get(name)).sum();
        let mix = by_name.into_iter().map(|(name, count)| OpcodeCount { name: name.to_owned(), count });
        self.mix = mix.collect();
        self.mix.sort_by_key(|opcode| std::cmp::Reverse(opcode.count));
    }

    fn count_shared(&mut self, v: &Variable) {
        self.dynamic_shared |= v.is_unsized();
        // Variables follow each other, each at its alignment.
        let align = u64::from(v.alignment());
        let start = self.shared_bytes.checked_next_multiple_of(align).unwrap_or(u64::MAX);
        if !v.is_unsized() {
            self.shared_bytes = start.saturating_add(total_bytes(v));
        }
    }
}

/// The name that is the first operand of a call outside parentheses.
fn callee(instruction: &Instruction) -> Option<Sym> {
    let operand = instruction.operands.iter().find(|o| !matches!(o.kind, OperandKind::List(_)))?;
    match operand.kind {
        OperandKind::Name(name) => Some(name),
        _ => None,
    }
}

/// Adds the names in an operand that may be variables.
fn names_in(operand: &Operand, names: &mut BTreeSet<Sym>) {
    match &operand.kind {
        OperandKind::Name(name) | OperandKind::Offset(name, _) => {
            names.insert(*name);
        }
        OperandKind::Element(name, index) => {
            names.insert(*name);
            names_in(index, names);
        }
        OperandKind::Address(Address { base: AddressBase::Name(name), .. }) => {
            names.insert(*name);
        }
        OperandKind::Vector(items) | OperandKind::List(items) | OperandKind::Texture(items) => {
            items.iter().for_each(|item| names_in(item, names));
        }
        _ => {}
    }
}

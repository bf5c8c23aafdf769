//! Builds kernels from sections and symbols.

use super::info::{Attribute, attributes};
use super::sections::{File, Section, Symbol, fail, read};
use super::{
    ConstantBank, Cubin, ElfError, ElfFunction, ElfVariable, Problem, Relocation, RelocationKind, Space, Target, lines,
};
use std::collections::{HashMap, HashSet};

/// Architectures whose instructions are decoded.
pub const KNOWN: &[u32] = &[70, 72, 75, 80, 86, 87, 89, 90];
/// `st_other` bit of a variable in managed memory.
const MANAGED: u8 = 4;
/// `st_other` bit of a symbol that can be launched.
const ENTRY: u8 = 0x10;
/// Type of the symbol of a section.
const SECTION: u8 = 3;
const REL: u32 = 9;
const RELA: u32 = 4;
/// Shared memory of a CTA that the system uses on Hopper (CUDA C++ Programming Guide, compute capability 9.0).
const RESERVED_SHARED_BYTES: u64 = 1024;

impl<'a> Cubin<'a> {
    /// Reads a cubin. An error says at which byte it is damaged.
    pub fn parse(data: &'a [u8]) -> Result<Self, ElfError> {
        let file = read(data)?;
        file.require_cuda()?;
        let sm = architecture(&file)?;
        let symbols = file.symbols()?;
        let mut functions = functions(&file, &symbols, sm)?;
        let by_section: HashMap<u32, usize> =
            functions.iter().enumerate().map(|(index, function)| (function.id, index)).collect();
        let by_name: HashMap<&str, usize> =
            functions.iter().enumerate().map(|(index, function)| (function.name, index)).collect();
        let (variables, variable_of) = variables(&file, &symbols);
        let target = |symbol: u32| {
            let named = &symbols[symbol as usize];
            let function = by_section.get(&named.section.into()).map(|&index| &functions[index]);
            // The symbol of a section is its start, too.
            let is_start = |f: &&ElfFunction<'_>| f.name == named.name || named.info & 15 == SECTION;
            let function = function.filter(is_start).map(|f| Target::Function(f.id));
            function.or_else(|| variable_of.get(&symbol).map(|&index| Target::Variable(index)))
        };
        let targets: Vec<Option<Target>> = (0..symbols.len() as u32).map(target).collect();
        let mut constants = Vec::new();
        let (mut relocations, mut line_relocations) = (Vec::new(), Vec::new());
        for section in &file.sections {
            let name = section.name;
            // Sections of a function refer to its code, apart from its shared memory in some versions.
            let owned = |section: &Section<'_>, rest: &str| {
                let named = |index: &&usize| functions[**index].name == rest;
                by_section.get(&section.info).filter(named).or_else(|| by_name.get(rest)).copied()
            };
            let owner = |prefix: &str| name.strip_prefix(prefix).and_then(|rest| owned(section, rest));
            if name == ".nv.info" {
                shared_attributes(&mut functions, &targets, section)?;
            } else if let Some(index) = owner(".nv.info.") {
                own_attributes(&mut functions[index], section)?;
            } else if let Some(index) = owner(".nv.shared.") {
                let reserved = if sm >= 90 { section.size.min(RESERVED_SHARED_BYTES) } else { 0 };
                functions[index].reserved_shared_bytes = reserved;
                functions[index].shared_bytes = section.size - reserved;
            } else if let Some((bank, rest)) = constant_bank(name) {
                let bank = ConstantBank { bank, data: section.data.data() };
                match owned(section, rest) {
                    Some(index) => functions[index].constants.push(bank),
                    None => constants.push(bank),
                }
            } else if section.kind == REL || section.kind == RELA {
                let changed = file.sections.get(section.info as usize);
                let bank = changed.and_then(|changed| Some((changed, constant_bank(changed.name)?.1)));
                let owner = bank.and_then(|(changed, rest)| owned(changed, rest)).map(|index| functions[index].id);
                let found = read_relocations(&file, &symbols, (&targets, owner), section)?;
                let target = changed.map_or("", |changed| changed.name);
                match by_section.get(&section.info) {
                    Some(&index) => functions[index].relocations.extend(found),
                    None if target.starts_with(".nv.") => relocations.extend(found),
                    None if [lines::SOURCE, lines::PTX].contains(&target) => line_relocations.extend(found),
                    None => {}
                }
            }
        }
        let data = |name: &str| file.section(name).map_or(&[][..], |section| section.data.data());
        let line_sections = lines::Sections {
            source: data(lines::SOURCE),
            ptx: data(lines::PTX),
            ptx_text: data(".nv_debug_ptx_txt"),
            strings: data(".debug_str"),
            line_strings: data(".debug_line_str"),
            relocations: line_relocations,
        };
        Ok(Self {
            sm,
            functions,
            constants,
            variables,
            global_bytes: file.section(".nv.global").map_or(0, |section| section.size),
            global_init: data(".nv.global.init"),
            relocations,
            line_sections,
        })
    }
}

/// The architecture; its position in the flags depends on the version of the ABI.
fn architecture(file: &File) -> Result<u8, ElfError> {
    let sm = if file.abi >= 65 { file.flags >> 8 & 0xff } else { file.flags & 0xff };
    if KNOWN.contains(&sm) { Ok(sm as u8) } else { fail(48, Problem::Architecture(sm)) }
}

/// Bank and remaining name of `.nv.constant3` or `.nv.constant0.kernel`.
fn constant_bank(name: &str) -> Option<(u8, &str)> {
    let rest = name.strip_prefix(".nv.constant")?;
    let (number, rest) = rest.split_once('.').unwrap_or((rest, ""));
    Some((number.parse().ok()?, rest))
}

fn functions<'a>(file: &File<'a>, symbols: &[Symbol<'a>], sm: u8) -> Result<Vec<ElfFunction<'a>>, ElfError> {
    let mut functions: Vec<ElfFunction> = Vec::new();
    let mut of_section: HashMap<usize, usize> = HashMap::new();
    // Local functions of two translation units may have the same name; kernels may not.
    let (mut names, mut repeated) = (HashSet::new(), Vec::new());
    for (index, section) in file.sections.iter().enumerate() {
        let Some(name) = section.name.strip_prefix(".text.") else { continue };
        if section.data.len() % 16 != 0 {
            return fail(section.data.offset() as u64, Problem::OddCode(section.data.len() as u64));
        }
        if !names.insert(name) {
            repeated.push((name, section.data.offset() as u64));
        }
        of_section.insert(index, functions.len());
        functions.push(ElfFunction {
            name,
            id: index as u32,
            is_kernel: false,
            code: section.data.data(),
            code_offset: section.data.offset() as u64,
            registers: section.info >> 24,
            barriers: (section.flags >> 20 & 0x7f) as u8,
            shared_bytes: 0,
            reserved_shared_bytes: 0,
            frame_bytes: 0,
            min_stack_bytes: 0,
            max_threads: None,
            required_threads: None,
            required_cluster: None,
            needs_cluster: false,
            max_cluster: None,
            parameters: Vec::new(),
            parameter_base: if sm >= 90 { 0x210 } else { 0x160 },
            parameter_bytes: 0,
            constants: Vec::new(),
            exits: Vec::new(),
            procedures: Vec::new(),
            relocations: Vec::new(),
        });
    }
    for symbol in symbols.iter().filter(|symbol| symbol.info & 15 == 2) {
        let Some(&index) = of_section.get(&usize::from(symbol.section)) else { continue };
        let function = &mut functions[index];
        if symbol.name == function.name {
            function.is_kernel = symbol.other & ENTRY != 0;
        } else {
            function.procedures.push((symbol.name, symbol.value, symbol.size));
        }
    }
    let kernels: HashSet<&str> = functions.iter().filter(|f| f.is_kernel).map(|f| f.name).collect();
    if let Some((_, offset)) = repeated.iter().find(|(name, _)| kernels.contains(name)) {
        return fail(*offset, Problem::Duplicate("function of the same name"));
    }
    Ok(functions)
}

/// `.nv.info`: attributes that name their function by its symbol.
fn shared_attributes(
    functions: &mut [ElfFunction],
    targets: &[Option<Target>],
    section: &Section,
) -> Result<(), ElfError> {
    for attribute in attributes(section.data)? {
        let (Attribute::Registers(symbol, _) | Attribute::Frame(symbol, _) | Attribute::MinStack(symbol, _)) =
            attribute
        else {
            continue;
        };
        let Some(target) = targets.get(symbol as usize) else {
            return fail(section.data.offset() as u64, Problem::BadIndex("symbol", symbol.into()));
        };
        let Some(Target::Function(id)) = *target else { continue };
        let Ok(index) = functions.binary_search_by_key(&id, |function| function.id) else { continue };
        match attribute {
            Attribute::Registers(_, count) => functions[index].registers = count,
            Attribute::Frame(_, bytes) => functions[index].frame_bytes = bytes,
            Attribute::MinStack(_, bytes) => functions[index].min_stack_bytes = bytes,
            _ => {}
        }
    }
    Ok(())
}

fn own_attributes(function: &mut ElfFunction, section: &Section) -> Result<(), ElfError> {
    for attribute in attributes(section.data)? {
        match attribute {
            Attribute::Parameter(parameter) => function.parameters.push(parameter),
            Attribute::ParameterBank(base, bytes) => {
                function.parameter_base = base;
                function.parameter_bytes = bytes;
            }
            Attribute::ParameterBytes(bytes) => function.parameter_bytes = bytes,
            Attribute::MaxThreads(threads) => function.max_threads = Some(threads),
            Attribute::RequiredThreads(threads) => function.required_threads = Some(threads),
            Attribute::RequiredCluster(ctas) => function.required_cluster = Some(ctas),
            Attribute::NeedsCluster => function.needs_cluster = true,
            Attribute::MaxCluster(ctas) => function.max_cluster = Some(ctas),
            Attribute::Exits(exits) => function.exits = exits,
            Attribute::Registers(..) | Attribute::Frame(..) | Attribute::MinStack(..) => {}
        }
    }
    function.parameters.sort_by_key(|parameter| parameter.ordinal);
    Ok(())
}

fn read_relocations<'a>(
    file: &File<'a>,
    symbols: &[Symbol<'a>],
    (targets, owner): (&[Option<Target>], Option<u32>),
    section: &Section<'a>,
) -> Result<Vec<Relocation<'a>>, ElfError> {
    let bytes = if section.kind == RELA { 24 } else { 16 };
    let what = "relocation";
    let Some(target) = file.sections.get(section.info as usize) else {
        return fail(section.data.offset() as u64, Problem::BadIndex("section", section.info.into()));
    };
    (0..section.data.len() / bytes)
        .map(|index| {
            let at = index * bytes;
            let (symbol, kind) = (section.data.u32(at + 12, what)?, section.data.u32(at + 8, what)?);
            let Some(named) = symbols.get(symbol as usize) else {
                return fail((section.data.offset() + at) as u64, Problem::BadIndex("symbol", symbol.into()));
            };
            Ok(Relocation {
                section: target.name,
                owner,
                offset: section.data.u64(at, what)?,
                kind: match kind {
                    // The generic address of a variable is its address.
                    0x02 | 0x04 => RelocationKind::Address64,
                    0x06 => RelocationKind::TextureHandle,
                    0x34 => RelocationKind::SurfaceHandle,
                    0x38 => RelocationKind::Low32,
                    0x39 => RelocationKind::High32,
                    0x3a | 0x4b => RelocationKind::JumpTarget,
                    0x44 | 0x45 => RelocationKind::Yield,
                    other => RelocationKind::Other(other),
                },
                symbol: named.name,
                target: targets[symbol as usize],
                addend: if section.kind == RELA { section.data.u64(at + 16, what)? as i64 } else { 0 },
            })
        })
        .collect()
}

/// The variables, and the index of each by its symbol.
fn variables<'a>(file: &File<'a>, symbols: &[Symbol<'a>]) -> (Vec<ElfVariable<'a>>, HashMap<u32, u32>) {
    let place = |symbol: &Symbol| match file.sections.get(usize::from(symbol.section))?.name {
        ".nv.global" => Some(Space::Global),
        ".nv.global.init" => Some(Space::GlobalInit),
        name => constant_bank(name).filter(|(_, rest)| rest.is_empty()).map(|(bank, _)| Space::Constant(bank)),
    };
    let (mut variables, mut of_symbol) = (Vec::new(), HashMap::new());
    for (number, symbol) in (0..).zip(symbols).filter(|(_, symbol)| symbol.info & 15 == 1) {
        let Some(space) = place(symbol) else { continue };
        of_symbol.insert(number, variables.len() as u32);
        variables.push(ElfVariable {
            name: symbol.name,
            space,
            offset: symbol.value,
            bytes: symbol.size,
            managed: symbol.other & MANAGED != 0,
        });
    }
    (variables, of_symbol)
}

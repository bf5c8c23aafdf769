//! State that all kernels of a cubin share: places of its variables and constant banks in device memory.

use super::device_runtime;
use crate::loaded::module_base;
use exec::ImageReference;
use exec::kernel::{LoadedVariable, RuntimeFunction};
use exec::machine_code::POINTERS;
use sass::decode::{INSTRUCTION_BYTES, SassInst, SassOperand};
use sass::elf::{ConstantBank, Cubin, ElfFunction, ElfVariable, Relocation, RelocationKind, Space, Target};
use std::collections::BTreeMap;

/// Alignment of sections in memory.
const ALIGNMENT: u64 = 256;
/// Maximum size of a module's variables.
const MOST_BYTES: u64 = 1 << 31;

/// Places of a module's parts in device memory.
#[derive(Debug, Default)]
pub(super) struct Layout {
    variables: Vec<LoadedVariable>,
    /// Address of initialised global memory.
    initialised: u64,
    /// Address of each variable of the cubin.
    symbols: BTreeMap<u32, u64>,
    /// Address of each constant bank, by the id of its function; `None` for a bank of all functions.
    banks: BTreeMap<(Option<u32>, u8), u64>,
    /// Relocated contents of constant banks that do not change.
    contents: BTreeMap<(Option<u32>, u8), Vec<u8>>,
    /// Functions to which memory holds pointers.
    pointers: Vec<Code>,
    /// Texture and surface references.
    references: Vec<ImageReference>,
    /// Index of the reference at an offset in constant bank 0 of a function.
    handles: BTreeMap<(u32, u64), usize>,
    /// Variables whose addresses constant banks hold, each with the owner of the bank; `None` if it is shared.
    addresses: Vec<(Option<u32>, u32)>,
    /// Relocations that are not supported, with what they spoil.
    unknown: Vec<(Spoilt, String)>,
}

/// Code that a relocation names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Code {
    /// The function of this id.
    Function(u32),
    /// The function of this name that the driver adds.
    Driver(&'static str),
    Runtime(RuntimeFunction),
}

impl Code {
    /// The code that `relocation` names; `None` if that is a variable, or nothing known.
    pub fn of(relocation: &Relocation<'_>) -> Option<Self> {
        match relocation.target {
            Some(Target::Function(id)) => Some(Self::Function(id)),
            Some(Target::Variable(_)) => None,
            None => {
                let runtime = RuntimeFunction::named(relocation.symbol).map(Self::Runtime);
                runtime.or_else(|| device_runtime::named(relocation.symbol).map(Self::Driver))
            }
        }
    }
}

/// Feature that an unsupported relocation makes unusable.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Spoilt {
    /// The function that owns a constant bank.
    Function(u32),
    /// A constant bank of all functions.
    Bank(u8),
    /// A variable.
    Variable(u32),
    /// Data without a name.
    All,
}

impl Layout {
    /// Places each variable and constant bank of `cubin`.
    pub fn new(cubin: &Cubin<'_>, slot: u32) -> Result<Self, String> {
        let mut layout = Self::default();
        let mut next = module_base(slot);
        let end = next + MOST_BYTES;
        let sections = [
            (Space::Global, cubin.global_bytes, &[][..]),
            (Space::GlobalInit, cubin.global_init.len() as u64, cubin.global_init),
        ];
        for (space, bytes, data) in sections {
            layout.initialised = next;
            layout.place_section(cubin, space, (next, bytes), data, false);
            next = advance(next, bytes, end)?;
        }
        for bank in &cubin.constants {
            let bytes = bank.data.len() as u64;
            layout.banks.insert((None, bank.bank), next);
            layout.place_section(cubin, Space::Constant(bank.bank), (next, bytes), bank.data, true);
            next = advance(next, bytes, end)?;
        }
        // The launch sets bank 0.
        for function in &cubin.functions {
            for bank in function.constants.iter().filter(|b| b.bank != 0) {
                let bytes = bank.data.len() as u64;
                layout.banks.insert((Some(function.id), bank.bank), next);
                let name = format!("constant bank {} of {}", bank.bank, function.name);
                layout.variables.push(variable(name, next, bytes, true, bank.data.to_vec()));
                next = advance(next, bytes, end)?;
            }
        }
        layout.place_references(cubin, next, end)?;
        layout.relocate(cubin);
        Ok(layout)
    }

    /// Texture and surface references.
    pub fn references(&self) -> &[ImageReference] {
        &self.references
    }

    /// Address of the handle at an offset in constant bank 0 of `function`, if that is a reference's.
    pub fn reference(&self, function: &ElfFunction<'_>, offset: u32) -> Option<u64> {
        let index = *self.handles.get(&(function.id, offset.into()))?;
        Some(self.references[index].address)
    }

    /// The relocations on which a kernel depends that are not supported, one line each.
    pub fn unknown(&self, linked: &[&ElfFunction<'_>], insts: &[SassInst]) -> Vec<String> {
        if self.unknown.is_empty() {
            return Vec::new();
        }
        let names = |variable: u32| {
            let own = linked.iter().flat_map(|f| &f.relocations).any(|r| r.target == Some(Target::Variable(variable)));
            let from_bank = |&(owner, held): &(Option<u32>, u32)| {
                held == variable && owner.is_none_or(|owner| linked.iter().any(|f| f.id == owner))
            };
            own || self.addresses.iter().any(from_bank)
        };
        let reads = |bank: u8| {
            let is_read = |o: SassOperand| matches!(o, SassOperand::Constant(c) if c.bank == bank);
            insts.iter().any(|inst| inst.operands().any(is_read))
        };
        let depends = |spoilt: &Spoilt| match spoilt {
            Spoilt::Function(id) => linked.iter().any(|f| f.id == *id),
            Spoilt::Bank(bank) => reads(*bank),
            Spoilt::Variable(variable) => names(*variable),
            Spoilt::All => true,
        };
        self.unknown.iter().filter(|(spoilt, _)| depends(spoilt)).map(|(_, text)| format!("  {text}")).collect()
    }

    /// All variables, sorted by address.
    pub fn variables(&self) -> &[LoadedVariable] {
        &self.variables
    }

    /// Address of the variable that a relocation names.
    pub fn variable(&self, relocation: &Relocation<'_>) -> Option<u64> {
        let Some(Target::Variable(index)) = relocation.target else { return None };
        self.symbols.get(&index).copied()
    }

    /// Functions to which memory holds pointers.
    pub fn pointers(&self) -> &[Code] {
        &self.pointers
    }

    /// The pointer to a function, if memory holds one.
    pub fn pointer(&self, function: Code) -> Option<u64> {
        let number = self.pointers.iter().position(|&known| known == function)?;
        Some(POINTERS + INSTRUCTION_BYTES * number as u64)
    }

    /// Address of a constant bank as `function` sees it.
    pub fn bank_address(&self, function: &ElfFunction<'_>, bank: u8) -> Option<u64> {
        let own = self.banks.get(&(Some(function.id), bank));
        own.or_else(|| self.banks.get(&(None, bank))).copied()
    }

    /// A word of a constant bank that the host cannot change: of any bank but 3.
    pub fn fixed_word(&self, function: &ElfFunction<'_>, bank: u8, offset: u64) -> Option<u32> {
        let own = self.contents.get(&(Some(function.id), bank));
        let data = own.or_else(|| self.contents.get(&(None, bank)))?;
        let at = usize::try_from(offset).ok()?;
        let word = data.get(at..at.checked_add(4)?)?;
        Some(u32::from_le_bytes(word.try_into().ok()?))
    }

    /// Places the variables of a section, and the gaps between them.
    fn place_section(
        &mut self,
        cubin: &Cubin<'_>,
        space: Space,
        (base, bytes): (u64, u64),
        data: &[u8],
        constant: bool,
    ) {
        let all = (0_u32..).zip(&cubin.variables);
        let mut named: Vec<_> = all.filter(|(_, v)| v.space == space && v.bytes > 0).collect();
        named.sort_by_key(|(_, v)| v.offset);
        let contents = |from: u64, to: u64| {
            let clip = |at: u64| (at as usize).min(data.len());
            data[clip(from)..clip(to)].to_vec()
        };
        let mut at = 0;
        for (index, v) in named {
            self.symbols.insert(index, base.wrapping_add(v.offset));
            let end = v.offset.saturating_add(v.bytes);
            if v.offset < at || end > bytes {
                continue;
            }
            if v.offset > at {
                self.variables.push(unnamed(base + at, contents(at, v.offset), v.offset - at, constant));
            }
            let named = variable(v.name.into(), base + v.offset, v.bytes, constant, contents(v.offset, end));
            self.variables.push(LoadedVariable { managed: v.managed, ..named });
            at = end;
        }
        if bytes > at {
            self.variables.push(unnamed(base + at, contents(at, bytes), bytes - at, constant));
        }
    }

    /// Writes addresses into initial values and constant banks.
    fn relocate(&mut self, cubin: &Cubin<'_>) {
        let all = cubin.constants.iter().map(|b| (None, b));
        let own = cubin.functions.iter().flat_map(|f| f.constants.iter().map(move |b| (Some(f.id), b)));
        let banks: Vec<(Option<u32>, &ConstantBank<'_>)> =
            all.chain(own).filter(|(_, b)| !matches!(b.bank, 0 | 3)).collect();
        for (function, bank) in banks {
            self.contents.insert((function, bank.bank), bank.data.to_vec());
        }
        for relocation in &cubin.relocations {
            match relocation.kind {
                RelocationKind::Address64 => {}
                // `place_references` has placed these.
                RelocationKind::TextureHandle | RelocationKind::SurfaceHandle => continue,
                kind => {
                    let Relocation { section, symbol, .. } = relocation;
                    let text = format!("relocation {kind:?} of `{symbol}` in {section} is not supported");
                    self.unknown.extend(spoilt(cubin, relocation).map(|spoilt| (spoilt, text)));
                    continue;
                }
            }
            if let (Some(_), Some(Target::Variable(variable))) = (bank_of(relocation), relocation.target) {
                self.addresses.push((relocation.owner, variable));
            }
            let is_kernel = |code| matches!(code, Code::Function(id) if cubin.function(id).is_none_or(|f| f.is_kernel));
            let code = Code::of(relocation).filter(|&code| !is_kernel(code));
            if let Some(code) = code.filter(|&code| self.pointer(code).is_none()) {
                self.pointers.push(code);
            }
            let address = self.variable(relocation).or_else(|| self.pointer(code?));
            let Some(address) = address else { continue };
            let value = address.wrapping_add_signed(relocation.addend).to_le_bytes();
            let place = self.section_base(relocation).map(|base| base.wrapping_add(relocation.offset));
            let Some(place) = place else { continue };
            for v in &mut self.variables {
                let Some(at) = place.checked_sub(v.address).filter(|&at| at + 8 <= v.init.len() as u64) else {
                    continue;
                };
                v.init[at as usize..at as usize + 8].copy_from_slice(&value);
                for (key, base) in &self.banks {
                    if let Some(data) = self.contents.get_mut(key)
                        && let Some(at) = place.checked_sub(*base).filter(|&at| at + 8 <= data.len() as u64)
                    {
                        data[at as usize..at as usize + 8].copy_from_slice(&value);
                    }
                }
            }
        }
    }

    /// Places the handles of texture and surface references.
    fn place_references(&mut self, cubin: &Cubin<'_>, base: u64, end: u64) -> Result<(), String> {
        let mut next = base;
        for r in &cubin.relocations {
            let texture = r.kind == RelocationKind::TextureHandle;
            let owner = r.owner.filter(|_| bank_of(r) == Some(0));
            let (true, Some(owner)) = (texture || r.kind == RelocationKind::SurfaceHandle, owner) else { continue };
            let known = self.references.iter().position(|known| known.name == r.symbol && known.texture == texture);
            let index = match known {
                Some(index) => index,
                None => {
                    let reference = ImageReference { name: r.symbol.into(), texture, address: next };
                    self.variables.push(LoadedVariable::of_reference(&reference));
                    self.references.push(reference);
                    next = advance(next, ImageReference::BYTES, end)?;
                    self.references.len() - 1
                }
            };
            self.handles.insert((owner, r.offset), index);
        }
        Ok(())
    }

    /// Address of the first byte of the section that a relocation changes.
    fn section_base(&self, r: &Relocation<'_>) -> Option<u64> {
        if r.section == ".nv.global.init" {
            return Some(self.initialised);
        }
        self.banks.get(&(r.owner, bank_of(r)?)).copied()
    }
}

/// Number of the constant bank that a relocation changes.
fn bank_of(r: &Relocation<'_>) -> Option<u8> {
    let rest = r.section.strip_prefix(".nv.constant")?;
    rest.split_once('.').map_or(rest, |(bank, _)| bank).parse().ok()
}

/// Feature that an unsupported relocation makes unusable; `None` if nothing reads its section.
fn spoilt(cubin: &Cubin<'_>, r: &Relocation<'_>) -> Option<Spoilt> {
    match (bank_of(r), r.owner) {
        (Some(_), Some(function)) => return Some(Spoilt::Function(function)),
        (Some(bank), None) => return Some(Spoilt::Bank(bank)),
        (None, _) if r.section == ".nv.global.init" => {}
        (None, _) => return None,
    }
    let holds = |v: &ElfVariable<'_>| v.space == Space::GlobalInit && r.offset.wrapping_sub(v.offset) < v.bytes;
    let variable = cubin.variables.iter().position(holds);
    Some(variable.map_or(Spoilt::All, |index| Spoilt::Variable(index as u32)))
}

fn advance(next: u64, bytes: u64, end: u64) -> Result<u64, String> {
    let after = next.checked_add(bytes).filter(|&a| a + ALIGNMENT < end);
    let after = after.ok_or("the module's variables take more than 2 GiB")?;
    // A gap catches accesses beyond the end.
    Ok((after + 16).next_multiple_of(ALIGNMENT))
}

fn variable(name: String, address: u64, bytes: u64, constant: bool, init: Vec<u8>) -> LoadedVariable {
    LoadedVariable { name, address, bytes, constant, managed: false, init }
}

fn unnamed(address: u64, init: Vec<u8>, bytes: u64, constant: bool) -> LoadedVariable {
    variable("(data without a name)".into(), address, bytes, constant, init)
}

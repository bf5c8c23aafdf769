//! State that all kernels of a cubin share: places of its variables and constant banks in device memory.

use crate::loaded::module_base;
use exec::ImageReference;
use exec::kernel::{LoadedVariable, RuntimeFunction};
use exec::machine_code::POINTERS;
use sass::decode::{INSTRUCTION_BYTES, SassInst, SassOperand};
use sass::elf::{ConstantBank, Cubin, ElfFunction, ElfVariable, Relocation, RelocationKind, Space};
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
    /// Address of each named variable.
    symbols: BTreeMap<String, u64>,
    /// Address of each constant bank, by function; `None` for a bank of all functions.
    banks: BTreeMap<(Option<String>, u8), u64>,
    /// Relocated contents of constant banks that do not change.
    contents: BTreeMap<(Option<String>, u8), Vec<u8>>,
    /// Functions to which memory holds pointers.
    pointers: Vec<String>,
    /// Texture and surface references.
    references: Vec<ImageReference>,
    /// Index of the reference at an offset in constant bank 0 of a function.
    handles: BTreeMap<(String, u64), usize>,
    /// Variables whose addresses constant banks hold, each with the owner of the bank; `None` if it is shared.
    addresses: Vec<(Option<String>, String)>,
    /// Relocations that are not supported, with what they spoil.
    unknown: Vec<(Spoilt, String)>,
}

/// What a relocation that is not supported makes unusable.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Spoilt {
    /// The function that owns a constant bank.
    Function(String),
    /// A constant bank of all functions.
    Bank(u8),
    /// A variable.
    Variable(String),
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
                layout.banks.insert((Some(function.name.into()), bank.bank), next);
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
        let index = *self.handles.get(&(function.name.to_owned(), offset.into()))?;
        Some(self.references[index].address)
    }

    /// The relocations on which a kernel depends that are not supported, one line each.
    pub fn unknown(&self, linked: &[&ElfFunction<'_>], insts: &[SassInst]) -> Vec<String> {
        if self.unknown.is_empty() {
            return Vec::new();
        }
        let names = |name: &str| {
            let own = linked.iter().flat_map(|f| &f.relocations).any(|r| r.symbol == name);
            let from_bank = |(owner, symbol): &(Option<String>, String)| {
                symbol == name && owner.as_ref().is_none_or(|owner| linked.iter().any(|f| f.name == owner))
            };
            own || self.addresses.iter().any(from_bank)
        };
        let reads = |bank: u8| {
            let is_read = |o: SassOperand| matches!(o, SassOperand::Constant(c) if c.bank == bank);
            insts.iter().any(|inst| inst.operands().any(is_read))
        };
        let depends = |spoilt: &Spoilt| match spoilt {
            Spoilt::Function(name) => linked.iter().any(|f| f.name == name),
            Spoilt::Bank(bank) => reads(*bank),
            Spoilt::Variable(name) => names(name),
            Spoilt::All => true,
        };
        self.unknown.iter().filter(|(spoilt, _)| depends(spoilt)).map(|(_, text)| format!("  {text}")).collect()
    }

    /// All variables, sorted by address.
    pub fn variables(&self) -> &[LoadedVariable] {
        &self.variables
    }

    /// Address of a named variable.
    pub fn symbol(&self, name: &str) -> Option<u64> {
        self.symbols.get(name).copied()
    }

    /// Functions to which memory holds pointers.
    pub fn pointers(&self) -> &[String] {
        &self.pointers
    }

    /// The pointer to a function, if memory holds one.
    pub fn pointer(&self, function: &str) -> Option<u64> {
        let number = self.pointers.iter().position(|name| name == function)?;
        Some(POINTERS + INSTRUCTION_BYTES * number as u64)
    }

    /// Address of a constant bank as `function` sees it.
    pub fn bank_address(&self, function: &ElfFunction<'_>, bank: u8) -> Option<u64> {
        let own = self.banks.get(&(Some(function.name.into()), bank));
        own.or_else(|| self.banks.get(&(None, bank))).copied()
    }

    /// A word of a constant bank that the host cannot change: of any bank but 3.
    pub fn fixed_word(&self, function: &ElfFunction<'_>, bank: u8, offset: u64) -> Option<u32> {
        let own = self.contents.get(&(Some(function.name.into()), bank));
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
        let mut named: Vec<_> = cubin.variables.iter().filter(|v| v.space == space && v.bytes > 0).collect();
        named.sort_by_key(|v| v.offset);
        let contents = |from: u64, to: u64| {
            let clip = |at: u64| (at as usize).min(data.len());
            data[clip(from)..clip(to)].to_vec()
        };
        let mut at = 0;
        for v in named {
            self.symbols.insert(v.name.into(), base.wrapping_add(v.offset));
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
        let own = cubin.functions.iter().flat_map(|f| f.constants.iter().map(move |b| (Some(f.name), b)));
        let banks: Vec<(Option<&str>, &ConstantBank<'_>)> =
            all.chain(own).filter(|(_, b)| !matches!(b.bank, 0 | 3)).collect();
        for (function, bank) in banks {
            self.contents.insert((function.map(Into::into), bank.bank), bank.data.to_vec());
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
            if let Some((_, owner)) = bank_of(relocation.section) {
                self.addresses.push((owner.map(Into::into), relocation.symbol.into()));
            }
            let is_function = cubin.device_function(relocation.symbol).is_some()
                || self.symbol(relocation.symbol).is_none() && RuntimeFunction::named(relocation.symbol).is_some();
            if is_function && self.pointer(relocation.symbol).is_none() {
                self.pointers.push(relocation.symbol.into());
            }
            let address = self.symbol(relocation.symbol).or_else(|| self.pointer(relocation.symbol));
            let Some(address) = address else { continue };
            let value = address.wrapping_add_signed(relocation.addend).to_le_bytes();
            let place = self.section_base(relocation.section).map(|base| base.wrapping_add(relocation.offset));
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
            let owner = r.section.strip_prefix(".nv.constant0.");
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
            self.handles.insert((owner.into(), r.offset), index);
        }
        Ok(())
    }

    /// Address of the first byte of a section by its ELF name.
    fn section_base(&self, section: &str) -> Option<u64> {
        if section == ".nv.global.init" {
            return Some(self.initialised);
        }
        let (bank, function) = bank_of(section)?;
        self.banks.get(&(function.map(Into::into), bank)).copied()
    }
}

/// Number and owner of the constant bank in a section; no owner for a bank of all functions.
fn bank_of(section: &str) -> Option<(u8, Option<&str>)> {
    let rest = section.strip_prefix(".nv.constant")?;
    let (bank, function) = rest.split_once('.').map_or((rest, None), |(bank, name)| (bank, Some(name)));
    Some((bank.parse().ok()?, function))
}

/// What a relocation that is not supported makes unusable; `None` if nothing reads its section.
fn spoilt(cubin: &Cubin<'_>, r: &Relocation<'_>) -> Option<Spoilt> {
    match bank_of(r.section) {
        Some((_, Some(function))) => return Some(Spoilt::Function(function.into())),
        Some((bank, None)) => return Some(Spoilt::Bank(bank)),
        None if r.section == ".nv.global.init" => {}
        None => return None,
    }
    let holds = |v: &&ElfVariable<'_>| v.space == Space::GlobalInit && r.offset.wrapping_sub(v.offset) < v.bytes;
    let variable = cubin.variables.iter().find(holds);
    Some(variable.map_or(Spoilt::All, |v| Spoilt::Variable(v.name.into())))
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

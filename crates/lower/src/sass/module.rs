//! State that all kernels of a cubin share: places of its variables and constant banks in device memory.

use crate::loaded::module_base;
use exec::kernel::LoadedVariable;
use exec::machine_code::POINTERS;
use sass::decode::INSTRUCTION_BYTES;
use sass::elf::{ConstantBank, Cubin, ElfFunction, RelocationKind, Space};
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
        layout.relocate(cubin)?;
        Ok(layout)
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
            self.variables.push(variable(v.name.into(), base + v.offset, v.bytes, constant, contents(v.offset, end)));
            at = end;
        }
        if bytes > at {
            self.variables.push(unnamed(base + at, contents(at, bytes), bytes - at, constant));
        }
    }

    /// Writes addresses into initial values and constant banks.
    fn relocate(&mut self, cubin: &Cubin<'_>) -> Result<(), String> {
        let all = cubin.constants.iter().map(|b| (None, b));
        let own = cubin.functions.iter().flat_map(|f| f.constants.iter().map(move |b| (Some(f.name), b)));
        let banks: Vec<(Option<&str>, &ConstantBank<'_>)> =
            all.chain(own).filter(|(_, b)| !matches!(b.bank, 0 | 3)).collect();
        for (function, bank) in banks {
            self.contents.insert((function.map(Into::into), bank.bank), bank.data.to_vec());
        }
        for relocation in &cubin.relocations {
            if relocation.kind != RelocationKind::Address64 {
                return Err(format!(
                    "relocation of kind {:?} in {} is not supported",
                    relocation.kind, relocation.section
                ));
            }
            let is_function = cubin.functions.iter().any(|f| !f.is_kernel && f.name == relocation.symbol);
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
        Ok(())
    }

    /// Address of the first byte of a section by its ELF name.
    fn section_base(&self, section: &str) -> Option<u64> {
        if section == ".nv.global.init" {
            return Some(self.initialised);
        }
        let rest = section.strip_prefix(".nv.constant")?;
        let (bank, function) = rest.split_once('.').map_or((rest, None), |(bank, name)| (bank, Some(name.to_owned())));
        self.banks.get(&(function, bank.parse().ok()?)).copied()
    }
}

fn advance(next: u64, bytes: u64, end: u64) -> Result<u64, String> {
    let after = next.checked_add(bytes).filter(|&a| a + ALIGNMENT < end);
    let after = after.ok_or("the module's variables take more than 2 GiB")?;
    // A gap catches accesses beyond the end.
    Ok((after + 16).next_multiple_of(ALIGNMENT))
}

fn variable(name: String, address: u64, bytes: u64, constant: bool, init: Vec<u8>) -> LoadedVariable {
    LoadedVariable { name, address, bytes, constant, init }
}

fn unnamed(address: u64, init: Vec<u8>, bytes: u64, constant: bool) -> LoadedVariable {
    variable("(data without a name)".into(), address, bytes, constant, init)
}

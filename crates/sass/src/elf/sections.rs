//! ELF headers, sections and symbols.

use super::bytes::Bytes;
use super::{ElfError, Problem};

const MAGIC: &[u8] = b"\x7fELF";
const EM_CUDA: u16 = 190;
const NOBITS: u32 = 8;

/// Whether a file starts like an ELF file.
pub fn is_elf(file: &[u8]) -> bool {
    file.starts_with(MAGIC)
}

/// Whether a file starts like a cubin.
pub fn is_cubin(file: &[u8]) -> bool {
    is_elf(file) && Bytes::new(file).u16(18, "machine") == Ok(EM_CUDA)
}

/// A section: its header and contents.
#[derive(Clone, Copy, Debug)]
pub(super) struct Section<'a> {
    pub name: &'a str,
    pub kind: u32,
    pub flags: u64,
    pub info: u32,
    /// Claimed size, also of sections without contents in the file.
    pub size: u64,
    pub data: Bytes<'a>,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Symbol<'a> {
    pub name: &'a str,
    /// Low four bits: 1 for a variable, 2 for a function.
    pub info: u8,
    pub other: u8,
    pub section: u16,
    pub value: u64,
    pub size: u64,
}

#[derive(Debug)]
pub(super) struct File<'a> {
    pub machine: u16,
    pub abi: u8,
    pub flags: u32,
    pub sections: Vec<Section<'a>>,
}

pub(super) fn fail<T>(offset: u64, problem: Problem) -> Result<T, ElfError> {
    Err(ElfError { offset, problem })
}

pub(super) fn read(data: &[u8]) -> Result<File<'_>, ElfError> {
    let file = Bytes::new(data);
    if !is_elf(data) {
        return fail(0, Problem::NotElf);
    }
    if file.u8(4, "ELF header")? != 2 || file.u8(5, "ELF header")? != 1 {
        return fail(4, Problem::WrongClass);
    }
    let what = "ELF header";
    let table = file.u64(40, what)?;
    let (entry_bytes, count, names) = (file.u16(58, what)?, file.u16(60, what)?, file.u16(62, what)?);
    if count > 0 && entry_bytes < 64 {
        return fail(58, Problem::BadHeader("size of a section header"));
    }
    let table = file.part(table, u64::from(entry_bytes) * u64::from(count), "section headers")?;
    let header = |index: u16| table.part(u64::from(entry_bytes) * u64::from(index), 64, "section header");
    if names >= count {
        return fail(62, Problem::BadIndex("section", names.into()));
    }
    let names = contents(file, header(names)?)?;
    let mut sections = Vec::with_capacity(count.into());
    // All sections together may not exceed the file, so that memory use stays proportional.
    let mut total = 0u64;
    for index in 0..count {
        let head = header(index)?;
        let section = Section {
            name: names.name(head.u32(0, "section header")?)?,
            kind: head.u32(4, "section header")?,
            flags: head.u64(8, "section header")?,
            info: head.u32(44, "section header")?,
            size: head.u64(32, "section header")?,
            data: contents(file, head)?,
        };
        total += section.data.len() as u64 + section.name.len() as u64;
        if total > 2 * data.len() as u64 {
            return fail(head.offset() as u64, Problem::Overlap);
        }
        sections.push(section);
    }
    Ok(File { machine: file.u16(18, what)?, abi: file.u8(7, what)?, flags: file.u32(48, what)?, sections })
}

fn contents<'a>(file: Bytes<'a>, header: Bytes<'a>) -> Result<Bytes<'a>, ElfError> {
    let what = "section header";
    let size = if header.u32(4, what)? == NOBITS { 0 } else { header.u64(32, what)? };
    if header.u32(4, what)? == 0 || size == 0 {
        return file.part(0, 0, "section");
    }
    file.part(header.u64(24, what)?, size, "section")
}

impl<'a> File<'a> {
    /// Fails unless this is a cubin.
    pub(super) fn require_cuda(&self) -> Result<(), ElfError> {
        if self.machine == EM_CUDA { Ok(()) } else { fail(18, Problem::NotCubin(self.machine)) }
    }

    pub(super) fn section(&self, name: &str) -> Option<&Section<'a>> {
        self.sections.iter().find(|section| section.name == name)
    }

    pub(super) fn symbols(&self) -> Result<Vec<Symbol<'a>>, ElfError> {
        let Some(table) = self.section(".symtab") else { return Ok(Vec::new()) };
        let names = self.section(".strtab").map_or(Bytes::new(&[]), |section| section.data);
        let mut symbols = Vec::with_capacity(table.data.len() / 24);
        // Names are borrowed, so that many symbols with one long name take no memory; but finding the end of
        // each takes time.
        let mut length = 0;
        for at in (0..table.data.len() / 24).map(|index| index * 24) {
            let what = "symbol";
            let name = names.name(table.data.u32(at, what)?)?;
            length += name.len();
            if length > 64 * (names.len() + 64) {
                return fail((table.data.offset() + at) as u64, Problem::Overlap);
            }
            symbols.push(Symbol {
                name,
                info: table.data.u8(at + 4, what)?,
                other: table.data.u8(at + 5, what)?,
                section: table.data.u16(at + 6, what)?,
                value: table.data.u64(at + 8, what)?,
                size: table.data.u64(at + 16, what)?,
            });
        }
        Ok(symbols)
    }
}

/// The fat binaries in a host program, library or object: section `.nv_fatbin`, or `__nv_relfatbin` in a file that
/// is not linked; programs that were linked keep the latter, of which the former is the linked code.
pub fn host_fatbin(data: &[u8]) -> Result<Vec<(u64, &[u8])>, ElfError> {
    let file = read(data)?;
    let of = |name: &str| -> Vec<(u64, &[u8])> {
        let found = file.sections.iter().filter(|section| section.name == name && section.data.len() > 0);
        found.map(|section| (section.data.offset() as u64, section.data.data())).collect()
    };
    let linked = of(".nv_fatbin");
    Ok(if linked.is_empty() { of("__nv_relfatbin") } else { linked })
}

//! Line tables: the line of the CUDA source, and of the PTX, that an instruction was compiled from.
//!
//! `.debug_line` is DWARF with two opcodes of NVIDIA's for inlined functions; `.nv_debug_line_sass` has the same form
//! and refers to the lines of `.nv_debug_ptx_txt`. `nvcc -lineinfo` writes all three. A damaged table ends at its
//! damage and is not an error: lines only inform.

use super::relocation::{Relocation, Target};
use gimli::{DebugLine, DebugLineOffset, EndianSlice, LineInstruction, LineRow, LittleEndian, Reader};
use std::collections::HashMap;
use std::sync::Arc;

/// Size of an address in these tables.
const ADDRESS_BYTES: usize = 8;
/// Relocated addresses have the number of their function above these bits, their offset in it below.
const OFFSET_BITS: u32 = 40;
/// `DW_LNE_NVIDIA_inlined_call`: number of the row of the call in its sequence, from 1 (0: none), and the function's name.
const INLINED_CALL: u8 = 0x90;
/// Bound on the text of all file names, in multiples of the table's size: a directory is written once for many files.
const MOST_NAMES: usize = 64;

type Bytes<'a> = EndianSlice<'a, LittleEndian>;

/// The sections with line tables.
#[derive(Clone, Debug, Default)]
pub struct Sections<'a> {
    pub(super) source: &'a [u8],
    pub(super) ptx: &'a [u8],
    pub(super) ptx_text: &'a [u8],
    /// Strings of tables of DWARF 5.
    pub(super) strings: &'a [u8],
    pub(super) line_strings: &'a [u8],
    /// Relocations of the first two.
    pub(super) relocations: Vec<Relocation<'a>>,
}

/// Bound on the depth of inlining to show; a damaged table may have deeper chains.
pub const MOST_CALLS: usize = 64;

/// Names of the sections of [`Sections::source`] and [`Sections::ptx`].
pub(super) const SOURCE: &str = ".debug_line";
pub(super) const PTX: &str = ".nv_debug_line_sass";

/// The line tables of a cubin; empty if it was compiled without line information.
#[derive(Clone, Debug, Default)]
pub struct LineTables {
    /// Paths of source files as the compiler recorded them; [`LineEntry::file`] is an index.
    pub files: Vec<String>,
    /// The PTX that was assembled, if the file holds it.
    pub ptx_text: Option<Arc<str>>,
    /// By the ids of the functions.
    functions: HashMap<u32, FunctionLines>,
}

/// The lines of a function.
#[derive(Clone, Debug, Default)]
pub struct FunctionLines {
    source: Vec<LineEntry>,
    ptx: Vec<LineEntry>,
}

/// A row of a line table: it applies from its offset to the next row's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LineEntry {
    /// In bytes from the start of the function.
    pub offset: u64,
    /// Index in [`LineTables::files`]; `None` for lines of PTX.
    pub file: Option<u32>,
    /// From 1; 0 where a sequence ends.
    pub line: u32,
    /// Index in the same function of the row of the call that this code was inlined for.
    call: Option<u32>,
}

impl LineTables {
    /// Reads the tables of the functions of these ids.
    pub(super) fn read(sections: &Sections<'_>, functions: &[u32]) -> Self {
        let numbers = functions.iter().zip(1..).map(|(&id, number)| (id, number)).collect();
        let mut files = Vec::new();
        let mut rows = |section: &str, data| {
            let data = relocated(data, sections.relocations.iter().filter(|r| r.section == section), &numbers);
            let mut reading = Reading {
                sections,
                files: &mut files,
                by_path: HashMap::new(),
                paths: 0,
                rows: vec![Vec::new(); functions.len()],
            };
            reading.units(&data);
            reading.rows
        };
        let (source, ptx) = (rows(SOURCE, sections.source), rows(PTX, sections.ptx));
        let functions = functions.iter().zip(source.into_iter().zip(ptx));
        let functions = functions.map(|(&id, (source, ptx))| (id, FunctionLines { source, ptx }));
        let ptx_text = String::from_utf8_lossy(sections.ptx_text).replace('\0', "\n");
        Self {
            files,
            ptx_text: (!ptx_text.is_empty()).then(|| ptx_text.into()),
            functions: functions.filter(|(_, lines)| !lines.source.is_empty() || !lines.ptx.is_empty()).collect(),
        }
    }

    /// The lines of the function of this [`id`](super::ElfFunction::id), if it has any.
    pub fn function(&self, id: u32) -> Option<&FunctionLines> {
        self.functions.get(&id)
    }
}

impl FunctionLines {
    /// The line of CUDA of the instruction at `offset` bytes from the start of the function.
    pub fn source_at(&self, offset: u64) -> Option<LineEntry> {
        at(&self.source, offset)
    }

    /// The line of the PTX of that instruction.
    pub fn ptx_at(&self, offset: u64) -> Option<u32> {
        at(&self.ptx, offset).map(|entry| entry.line)
    }

    /// The call that the code of `entry` was inlined for.
    pub fn call_of(&self, entry: LineEntry) -> Option<LineEntry> {
        self.source.get(entry.call? as usize).copied()
    }
}

fn at(rows: &[LineEntry], offset: u64) -> Option<LineEntry> {
    let after = rows.partition_point(|row| row.offset <= offset);
    rows.get(after.checked_sub(1)?).copied().filter(|row| row.line != 0)
}

/// A copy of a table with the addresses that its relocations write.
fn relocated<'a>(
    data: &[u8],
    relocations: impl Iterator<Item = &'a Relocation<'a>>,
    numbers: &HashMap<u32, u64>,
) -> Vec<u8> {
    let mut copy = data.to_vec();
    for r in relocations {
        let Some(Target::Function(id)) = r.target else { continue };
        let at = usize::try_from(r.offset).ok();
        let place = at.and_then(|at| copy.get_mut(at..at.checked_add(ADDRESS_BYTES)?));
        let (Some(place), Some(number)) = (place, numbers.get(&id)) else { continue };
        let addend = u64::from_le_bytes((&*place).try_into().expect("eight bytes")).wrapping_add_signed(r.addend);
        place.copy_from_slice(&(number << OFFSET_BITS | addend & ((1 << OFFSET_BITS) - 1)).to_le_bytes());
    }
    copy
}

/// A table while it is read.
struct Reading<'r, 'a> {
    sections: &'r Sections<'a>,
    files: &'r mut Vec<String>,
    by_path: HashMap<String, u32>,
    /// Bytes of the names of files so far.
    paths: usize,
    /// By function.
    rows: Vec<Vec<LineEntry>>,
}

impl Reading<'_, '_> {
    /// Reads one line program after the other: linked cubins have one per source file.
    fn units(&mut self, data: &[u8]) {
        let table = DebugLine::new(data, LittleEndian);
        let mut at = 0;
        while at < data.len() {
            let Ok(program) = table.program(DebugLineOffset(at), ADDRESS_BYTES as u8, None, None) else { return };
            let header = program.header();
            at += header.unit_length() + usize::from(header.format().initial_length_size());
            // Rows read before the damage of a program are kept; the next one has its own place.
            let _ = self.unit(program, data.len());
        }
    }

    fn unit(&mut self, mut program: gimli::IncompleteLineProgram<Bytes<'_>>, bytes: usize) -> gimli::Result<()> {
        let header = program.header().clone();
        let mut instructions = header.instructions();
        let mut row = LineRow::new(&header);
        let mut known: HashMap<u64, Option<u32>> = HashMap::new();
        // Rows of the present sequence: function and index in its rows.
        let mut sequence: Vec<(u64, u32)> = Vec::new();
        let mut call = 0;
        while let Some(instruction) = instructions.next_instruction(&header)? {
            if let LineInstruction::UnknownExtended(opcode, mut operands) = instruction
                && opcode.0 == INLINED_CALL
            {
                call = operands.read_uleb128()?;
            }
            if !row.execute(instruction, &mut program)? {
                continue;
            }
            let (number, offset) = (row.address() >> OFFSET_BITS, row.address() & ((1 << OFFSET_BITS) - 1));
            let rows = number.checked_sub(1).and_then(|index| self.rows.get_mut(usize::try_from(index).ok()?));
            if let Some(rows) = rows {
                let outer = usize::try_from(call).ok().and_then(|call| sequence.get(call.checked_sub(1)?));
                let line = row.line().map_or(0, |line| u32::try_from(line.get()).unwrap_or(0));
                let index = rows.len() as u32;
                rows.push(LineEntry {
                    offset,
                    file: None,
                    line: if row.end_sequence() { 0 } else { line },
                    call: outer.filter(|(function, _)| *function == number).map(|(_, index)| *index),
                });
                sequence.push((number, index));
                let file = row.file_index();
                let file = match known.get(&file) {
                    Some(&file) => file,
                    None => {
                        let within = self.paths <= MOST_NAMES * bytes;
                        let path = row.file(&header).filter(|_| within).and_then(|file| self.path(file, &header));
                        self.paths += path.as_ref().map_or(0, String::len);
                        let index = path.map(|path| self.intern(path));
                        known.insert(file, index);
                        index
                    }
                };
                self.rows[number as usize - 1][index as usize].file = file;
            } else {
                sequence.push((number, 0));
            }
            if row.end_sequence() {
                sequence.clear();
                call = 0;
            }
            row.reset(&header);
        }
        Ok(())
    }

    /// Path of a file: relative to its directory, if it has one.
    fn path(&self, file: &gimli::FileEntry<Bytes<'_>>, header: &gimli::LineProgramHeader<Bytes<'_>>) -> Option<String> {
        let name = self.text(file.path_name())?;
        let directory = file.directory(header).and_then(|directory| self.text(directory)).unwrap_or_default();
        if directory.is_empty() || name.starts_with('/') {
            return Some(name);
        }
        Some(format!("{}/{name}", directory.trim_end_matches('/')))
    }

    fn text(&self, value: gimli::AttributeValue<Bytes<'_>>) -> Option<String> {
        let string = |section: &[u8], at: usize| {
            let rest = section.get(at..)?;
            let end = rest.iter().position(|&byte| byte == 0)?;
            Some(String::from_utf8_lossy(&rest[..end]).into_owned())
        };
        match value {
            gimli::AttributeValue::String(text) => Some(text.to_string_lossy().into_owned()),
            gimli::AttributeValue::DebugStrRef(at) => string(self.sections.strings, at.0),
            gimli::AttributeValue::DebugLineStrRef(at) => string(self.sections.line_strings, at.0),
            _ => None,
        }
    }

    fn intern(&mut self, path: String) -> u32 {
        if let Some(&index) = self.by_path.get(&path) {
            return index;
        }
        let index = self.files.len() as u32;
        self.files.push(path.clone());
        self.by_path.insert(path, index);
        index
    }
}

//! `.nv.info`: attributes of functions, as records {format u8, attribute u8, size or value u16}.

use super::bytes::Bytes;
use super::{ElfError, Parameter};

/// Format of a record whose value follows it.
const SIZED: u8 = 4;

/// A supported attribute. The first number of those that name a function is its symbol.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Attribute {
    /// Symbol and number of registers.
    Registers(u32, u32),
    /// Symbol and size of the stack frame.
    Frame(u32, u32),
    /// Symbol and minimum size of the stack.
    MinStack(u32, u32),
    Parameter(Parameter),
    /// Base offset in bank 0 and size.
    ParameterBank(u16, u16),
    ParameterBytes(u16),
    MaxThreads([u32; 3]),
    RequiredThreads([u32; 3]),
    RequiredCluster([u32; 3]),
    NeedsCluster,
    MaxCluster(u32),
    Exits(Vec<u32>),
}

/// The attributes of a section; unknown kinds are skipped.
pub(super) fn attributes(section: Bytes) -> Result<Vec<Attribute>, ElfError> {
    let mut found = Vec::new();
    let mut at = 0;
    while at < section.len() {
        let what = "attribute";
        let (format, attribute, number) =
            (section.u8(at, what)?, section.u8(at + 1, what)?, section.u16(at + 2, what)?);
        at += 4;
        let size = if format == SIZED { number } else { 0 };
        let value = section.part(at as u64, size.into(), what)?;
        found.extend(read(attribute, number, value)?);
        at += usize::from(size);
    }
    Ok(found)
}

fn read(attribute: u8, number: u16, value: Bytes) -> Result<Option<Attribute>, ElfError> {
    let what = "attribute's value";
    let word = |at| value.u32(at, what);
    Ok(Some(match attribute {
        0x05 if value.len() >= 12 => Attribute::MaxThreads([word(0)?, word(4)?, word(8)?]),
        0x10 if value.len() >= 12 => Attribute::RequiredThreads([word(0)?, word(4)?, word(8)?]),
        // Found by compiling `.reqnctapercluster`, `.explicitcluster` and `.maxclusterrank`.
        0x3d if value.len() >= 12 => Attribute::RequiredCluster([word(0)?, word(4)?, word(8)?]),
        0x3e => Attribute::NeedsCluster,
        0x3f if value.len() >= 4 => Attribute::MaxCluster(word(0)?),
        0x0a => Attribute::ParameterBank(value.u16(4, what)?, value.u16(6, what)?),
        0x11 => Attribute::Frame(word(0)?, word(4)?),
        0x12 => Attribute::MinStack(word(0)?, word(4)?),
        0x17 => Attribute::Parameter(Parameter {
            ordinal: value.u16(4, what)?,
            offset: value.u16(6, what)?,
            bytes: (word(8)? >> 18) as u16,
        }),
        0x19 => Attribute::ParameterBytes(number),
        // Of kernels with more than 4 KiB of parameters (CUDA 12.1 and later), which are at another place of bank 0.
        0x45 => Attribute::Parameter(Parameter {
            ordinal: value.u16(4, what)?,
            offset: value.u16(6, what)?,
            bytes: value.u16(8, what)?,
        }),
        0x1c => Attribute::Exits((0..value.len() / 4).map(|index| word(index * 4)).collect::<Result<_, _>>()?),
        0x2f => Attribute::Registers(word(0)?, word(4)?),
        _ => return Ok(None),
    }))
}

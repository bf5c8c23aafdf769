//! Lines of CUDA and PTX of machine code.

use super::link::Linked;
use crate::inlined::Calls;
use isa::{Lines, Pc, Program};
use sass::decode::SassInst;
use sass::elf::lines::{LineEntry, LineTables, MOST_CALLS};
use std::collections::HashMap;

/// Gives each instruction of `program`, which are `insts` in order, its lines.
pub(super) fn annotate(program: &mut Program, insts: &[SassInst], linked: &Linked<'_>, tables: &LineTables) {
    let mut files: HashMap<u32, u16> = HashMap::new();
    let mut calls = Calls::default();
    let mut lines = Lines { ptx_text: tables.ptx_text.clone(), ..Lines::default() };
    let all = program.insts().len();
    for (index, inst) in insts.iter().enumerate() {
        let (base, function) = linked.part_at(inst.address);
        let Some(table) = tables.function(function.id) else { continue };
        let offset = inst.address - base;
        if let Some(line) = table.ptx_at(offset) {
            lines.ptx.resize(all, 0);
            lines.ptx[index] = line;
        }
        let mut place = |entry: LineEntry| {
            let file = entry.file?;
            let place = match files.get(&file) {
                Some(&place) => place,
                None => {
                    let place = u16::try_from(program.files.len()).ok()?;
                    program.files.push(tables.files[file as usize].clone());
                    files.insert(file, place);
                    place
                }
            };
            Some((place, entry.line))
        };
        let mut chain = std::iter::successors(table.source_at(offset), |entry| table.call_of(*entry)).take(MOST_CALLS);
        let origin = chain.next().and_then(&mut place);
        calls.add(&mut lines, (index, all), chain.filter_map(place).collect());
        if let Some(origin) = origin {
            program.set_origin(Pc::from(index), origin);
        }
    }
    program.lines = lines;
}

//! The contents of a cubin as text.

use super::super::number;
use super::super::style::{BAD, FAINT, HEADING, styled};
use super::super::table::{Align, Table};
use super::parts::{entries, fact, facts, mix, runnable, variables};
use crate::inspection::code::{BankFacts, CodeInspection, CodeKernel, CodeLine};
use kit::text::counted;
use lab::EarlyReadFinding;
use lab::listing::TextLine;
use sass::decode;
use std::fmt::Write as _;

/// The file as text with colours.
pub fn render(inspection: &CodeInspection) -> String {
    let mut sections = vec![header(inspection)];
    sections.extend(inspection.kernels.iter().map(kernel));
    sections.join("\n")
}

fn header(inspection: &CodeInspection) -> String {
    let mut out = format!("{}\n", styled(HEADING, &inspection.file));
    if !inspection.entries.is_empty() {
        out += &entries(&inspection.entries);
    }
    let _ = writeln!(out, "  machine code for {}", inspection.architecture);
    let executable = inspection.kernels.iter().filter(|k| k.executable).count();
    let _ = writeln!(out, "  {}", runnable(inspection.kernels.len(), executable));
    if !inspection.functions.is_empty() {
        out += &fact("device functions", &inspection.functions.join(", "));
    }
    if !inspection.constant_banks.is_empty() {
        let _ = writeln!(out, "  constant banks: {}", banks(&inspection.constant_banks));
    }
    if !inspection.variables.is_empty() {
        let _ = writeln!(out, "  variables:");
        out += &variables(&inspection.variables);
    }
    out
}

fn banks(banks: &[BankFacts]) -> String {
    let list: Vec<String> = banks.iter().map(|b| format!("{} ({})", b.bank, number::bytes(b.bytes))).collect();
    list.join(", ")
}

fn kernel(kernel: &CodeKernel) -> String {
    let source_name = kernel.source_name.as_ref().map_or(String::new(), |n| format!(" ({n})"));
    let mut out = format!("{}{source_name}\n", styled(HEADING, &kernel.name));
    if !kernel.parameters.is_empty() {
        let _ = writeln!(out, "  parameters:");
        let mut table = Table::new([("", Align::Left), ("", Align::Right)]);
        for p in &kernel.parameters {
            table.row(&[format!("  c[0x0][{:#x}]", p.bank_offset), number::bytes(p.bytes.into())]);
        }
        out += &table.render();
    }
    let mut list = vec![
        ("instructions", number::count(kernel.instructions as u64)),
        ("registers per thread", kernel.registers_per_thread.to_string()),
        ("shared memory", number::bytes(kernel.shared_bytes)),
        ("stack frame per thread", number::bytes(kernel.frame_bytes.into())),
        ("stack per thread, with calls", number::bytes(kernel.stack_bytes.into())),
        ("barriers", kernel.barriers.to_string()),
    ];
    if !kernel.constant_banks.is_empty() {
        list.push(("constant banks", banks(&kernel.constant_banks)));
    }
    list.extend(kernel.max_threads.map(|[x, y, z]| ("threads per CTA", format!("at most {x} x {y} x {z}"))));
    list.extend(kernel.required_threads.map(|[x, y, z]| ("threads per CTA", format!("{x} x {y} x {z}"))));
    list.extend(kernel.classes.as_ref().map(|classes| ("classes", mix(classes))));
    list.push(("opcodes", mix(&kernel.opcodes)));
    out += &facts(&list);
    if !kernel.executable {
        let places = counted(kernel.not_executable.len() as u64, "place");
        let _ = writeln!(out, "  {}", styled(BAD, format!("not executable: {places}")));
        for obstacle in &kernel.not_executable {
            let place = obstacle.address.map_or(String::new(), |a| format!("{a:04x}: "));
            let _ = writeln!(out, "    {place}{}", obstacle.message);
        }
        let _ = kernel.hint.iter().try_for_each(|hint| writeln!(out, "    hint: {hint}"));
    }
    if let Some(found) = &kernel.early_reads {
        let _ = writeln!(out, "  reads that come too early: {}", found.len());
        found.iter().for_each(|early| out += &early_read(early));
    }
    if let Some(stalls) = kernel.stalls_without_yield {
        let _ = writeln!(out, "  stall counts above 11 without a yield: {stalls}");
    }
    if let Some(code) = &kernel.code {
        let mut last = (None, None);
        for l in code {
            out += &lines(l, &mut last);
            out += &line(l);
        }
    }
    out
}

/// The lines of CUDA and PTX of an instruction, where they differ from the preceding one's.
fn lines<'a>(l: &'a CodeLine, last: &mut (Option<&'a TextLine>, Option<&'a TextLine>)) -> String {
    let mut out = String::new();
    if l.source.is_some() && l.source.as_ref() != last.0 {
        for (number, line) in l.source.iter().chain(&l.calls).enumerate() {
            let text = line.text.as_ref().map_or(String::new(), |text| format!("  {text}"));
            let word = if number == 0 { "" } else { "inlined at " };
            let place = format!("{word}{}:{}", line.file.as_deref().unwrap_or_default(), line.line);
            let _ = writeln!(out, "  {}{text}", styled(HEADING, place));
        }
    }
    if let Some(line) = l.ptx.as_ref().filter(|line| Some(*line) != last.1) {
        let text = line.text.as_ref().map_or(String::new(), |text| format!("  {text}"));
        let _ = writeln!(out, "    {}", styled(FAINT, format!("PTX {}{text}", line.line)));
    }
    *last = (l.source.as_ref(), l.ptx.as_ref());
    out
}

/// Address, what is waited for, barriers set when sources are read and results written, yield, stall
/// cycles; the instruction.
fn line(l: &CodeLine) -> String {
    let waits: String = (0..6).map(|n| if l.waits_for.contains(&n) { char::from(b'0' + n) } else { '-' }).collect();
    let barrier = |n: Option<u8>| n.map_or('-', |n| char::from(b'0' + n));
    let (read, write) = (barrier(l.read_barrier), barrier(l.write_barrier));
    let yields = if l.yields { 'Y' } else { '-' };
    let control = format!("B{waits}:R{read}:W{write}:{yields}:S{:02}", l.stall_cycles);
    let unknown = || styled(BAD, format!("{:#018x}{:016x}: no known instruction", l.word[0], l.word[1]));
    let text = l.text.clone().unwrap_or_else(unknown);
    format!("  {}  {}  {text}\n", styled(FAINT, format!("{:04x}", l.address)), styled(FAINT, control))
}

fn early_read(early: &EarlyReadFinding) -> String {
    let [writer, reader] = [early.writer, early.reader].map(|number| u64::from(number) * decode::INSTRUCTION_BYTES);
    let needed = early.needed.map_or("its counter is not awaited".to_owned(), |needed| format!("{needed} are needed"));
    let reason = early.reason.map_or(String::new(), |reason| format!(" ({reason})"));
    let EarlyReadFinding { writer_text, reader_text, distance, .. } = early;
    let cycles = counted((*distance).into(), "cycle");
    format!("    {writer:04x}: {writer_text} -> {reader:04x}: {reader_text}: {cycles}, {needed}{reason}\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::inspection::code::{Contents, Shown, choose, inspect};
    use crate::render::sample;
    use lab::ReadChecker;

    const LASTBLOCK: &[u8] = include_bytes!("../../../../sass/tests/data/lastblock.sm_80.cubin");
    const FATBIN: &[u8] = include_bytes!("../../../../sass/tests/data/vectoradd.fatbin");

    #[test]
    fn golden() {
        insta::assert_snapshot!(sample::plain(&render(&inspect("k.cubin", LASTBLOCK, Shown::default()).unwrap())));
    }

    #[test]
    fn golden_with_code_of_a_fat_binary() {
        let (entries, Contents::Cubins(cubins)) = choose(FATBIN, Some(75)).unwrap() else { panic!("it has a cubin") };
        let mut inspection = inspect("k.fatbin", &cubins[0], Shown { code: true, ..Shown::default() }).unwrap();
        inspection.entries = entries;
        insta::assert_snapshot!(sample::plain(&render(&inspection)));
    }

    /// The compiler's stall counts are enough. Where all counts are 1, they are not.
    #[test]
    fn reads_that_come_too_early_are_listed() {
        let checker = ReadChecker::new(&config::load("a100").unwrap()).unwrap();
        let shown = Shown { checker: Some(&checker), ..Shown::default() };
        let text = |file: &[u8]| sample::plain(&render(&inspect("k.cubin", file, shown).unwrap()));
        assert!(text(LASTBLOCK).contains("reads that come too early: 0\n"));

        let mut file = LASTBLOCK.to_vec();
        let cubin = sass::elf::Cubin::parse(LASTBLOCK).unwrap();
        let (at, bytes) = (cubin.functions[0].code_offset as usize, cubin.functions[0].code.len());
        for word in file[at..at + bytes].as_chunks_mut::<16>().0 {
            let bits = u128::from_le_bytes(*word);
            *word = (bits & !(0xf << 105) | 1 << 105).to_le_bytes();
        }
        let text = text(&file);
        assert!(
            text.contains(
                " R2, R3, c[0x0][0x0], R0 -> 0070: ISETP.GE.AND P0, PT, R2, c[0x0][0x178], PT: 2 cycles, 5 are needed\n"
            ),
            "{text}"
        );
    }

    #[test]
    fn unknown_instructions_have_addresses() {
        let mut file = LASTBLOCK.to_vec();
        let at = sass::elf::Cubin::parse(LASTBLOCK).unwrap().functions[0].code_offset as usize + 0x40;
        file[at..at + 16].fill(0xff);
        let inspection = inspect("k.cubin", &file, Shown { code: true, ..Shown::default() }).unwrap();
        let text = sample::plain(&render(&inspection));
        assert!(text.contains("1 kernel, 0 executable") && text.contains("not executable: 1 place"), "{text}");
        assert_eq!(inspection.kernels[0].not_executable[0].address, Some(0x40));
        assert!(
            text.contains("0040: opcode 0xfff is not known on sm_80") && text.contains("no known instruction"),
            "{text}"
        );
        assert!(inspection.kernels[0].opcodes.0.contains(&("(unknown)".to_owned(), 1)));
    }
}

//! What is in a PTX file, for people.

use super::number;
use super::style::{BAD, FAINT, GOOD, HEADING, styled};
use super::table::{Align, Table};
use crate::inspection::{Executable, Inspection, KernelFacts, VariableFacts};
use std::fmt::Write as _;

/// Opcodes or classes that are listed in a mix; the others are counted together.
const MIX: usize = 12;

/// The file as text with colours.
pub fn render(inspection: &Inspection) -> String {
    let mut sections = vec![header(inspection)];
    sections.extend(inspection.kernels.iter().map(kernel));
    if !inspection.diagnostics_text.is_empty() {
        sections.push(format!("{}\n{}", styled(HEADING, "Remarks on the text"), inspection.diagnostics_text));
    }
    sections.join("\n")
}

fn header(inspection: &Inspection) -> String {
    let mut out = format!("{}\n", styled(HEADING, &inspection.file));
    if !inspection.target.is_empty() {
        let target = inspection.target.join(", ");
        let _ = writeln!(out, "  PTX {} for {target}, {}-bit addresses", inspection.version, inspection.address_bits);
    }
    let runnable = inspection.kernels.iter().filter(|k| k.executable.is_some()).count();
    let kernels = inspection.kernels.len();
    let colour = if runnable == kernels && kernels > 0 { GOOD } else { BAD };
    let _ =
        writeln!(out, "  {kernels} kernel{}, {}", plural(kernels), styled(colour, format!("{runnable} executable")));
    if !inspection.functions.is_empty() {
        let _ = writeln!(out, "  device functions: {}", inspection.functions.join(", "));
    }
    if !inspection.variables.is_empty() {
        let _ = writeln!(out, "  variables:");
        out += &variables(&inspection.variables);
    }
    out
}

fn plural(n: usize) -> &'static str {
    if n == 1 { "" } else { "s" }
}

fn variables(list: &[VariableFacts]) -> String {
    let mut table = Table::new([("", Align::Left), ("", Align::Left), ("", Align::Right)]);
    for v in list {
        let bytes = v.bytes.map_or_else(|| "size open".to_owned(), number::bytes);
        table.row(&[format!("  {}", v.name), format!(".{} .{}", v.space, v.ty), bytes]);
    }
    table.render()
}

fn kernel(kernel: &KernelFacts) -> String {
    let source_name = kernel.source_name.as_ref().map_or(String::new(), |n| format!(" ({n})"));
    let place = styled(FAINT, format!("line {}", kernel.line));
    let mut out = format!("{}{source_name}  {place}\n", styled(HEADING, &kernel.name));
    if !kernel.parameters.is_empty() {
        let _ = writeln!(out, "  parameters:");
        out += &variables(&kernel.parameters);
    }
    let registers: Vec<String> = kernel.virtual_registers.iter().map(|(ty, n)| format!("{n} .{ty}")).collect();
    match &kernel.executable {
        Some(executable) => out += &executable_lines(kernel, executable, &registers),
        None => {
            let _ = writeln!(
                out,
                "  {} instructions, virtual registers: {}",
                number::count(kernel.instructions as u64),
                registers.join(", ")
            );
        }
    }
    let _ = writeln!(out, "  opcodes: {}", mix(&kernel.opcodes));
    if !kernel.not_executable_text.is_empty() {
        let heading =
            format!("not executable: {} place{}", kernel.not_executable.len(), plural(kernel.not_executable.len()));
        let _ = writeln!(out, "  {}\n{}", styled(BAD, heading), kernel.not_executable_text.trim_end());
    }
    out
}

fn executable_lines(kernel: &KernelFacts, executable: &Executable, registers: &[String]) -> String {
    let mut out = String::new();
    let _ = writeln!(
        out,
        "  {} instructions ({} when lowered, with the functions it calls)",
        number::count(kernel.instructions as u64),
        number::count(executable.instructions as u64),
    );
    let _ = writeln!(
        out,
        "  registers per thread: {} (estimated from liveness; virtual: {})",
        executable.registers_per_thread,
        registers.join(", "),
    );
    let _ = writeln!(
        out,
        "  shared memory: {}, local memory per thread: {}, parameters: {}",
        number::bytes(executable.shared_bytes.into()),
        number::bytes(executable.local_bytes.into()),
        number::bytes(executable.parameter_bytes.into()),
    );
    if let Some(most) = executable.max_threads {
        let _ = writeln!(out, "  threads per CTA: at most {most}");
    }
    let _ = writeln!(out, "  classes: {}", mix(&executable.classes));
    out
}

fn mix(counts: &[(String, u64)]) -> String {
    let all: u64 = counts.iter().map(|(_, n)| n).sum();
    let share = |n: u64| 100.0 * n as f64 / all.max(1) as f64;
    let mut parts: Vec<String> =
        counts.iter().take(MIX).map(|(name, n)| format!("{name} {:.0} %", share(*n))).collect();
    let rest: u64 = counts.iter().skip(MIX).map(|(_, n)| n).sum();
    if rest > 0 {
        parts.push(format!("others {:.0} %", share(rest)));
    }
    parts.join(", ")
}

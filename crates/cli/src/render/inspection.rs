//! The contents of a PTX file as text; [`code`] does the same for machine code, [`fabric`] for kernels on a fabric.

pub mod code;
pub mod fabric;
mod parts;

use super::number;
use super::style::{BAD, FAINT, HEADING, styled};
use crate::inspection::{AllocationFacts, Executable, Inspection, KernelFacts};
use kit::text::counted;
use parts::{entries, fact, facts, mix, runnable, variables};
use std::fmt::Write as _;

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
    if !inspection.entries.is_empty() {
        out += &entries(&inspection.entries);
    }
    if !inspection.target.is_empty() {
        let target = inspection.target.join(", ");
        let _ = writeln!(out, "  PTX {} for {target}, {}-bit addresses", inspection.version, inspection.address_bits);
    }
    let executable = inspection.kernels.iter().filter(|k| k.executable.is_some()).count();
    let _ = writeln!(out, "  {}", runnable(inspection.kernels.len(), executable));
    if !inspection.functions.is_empty() {
        out += &fact("device functions", &inspection.functions.join(", "));
    }
    if !inspection.variables.is_empty() {
        let _ = writeln!(out, "  variables:");
        out += &variables(&inspection.variables);
    }
    out
}

fn kernel(kernel: &KernelFacts) -> String {
    let source_name = kernel.source_name.as_ref().map_or(String::new(), |n| format!(" ({n})"));
    let place = styled(FAINT, format!("line {}", kernel.line));
    let mut out = format!("{}{source_name}  {place}\n", styled(HEADING, &kernel.name));
    if !kernel.parameters.is_empty() {
        let _ = writeln!(out, "  parameters:");
        out += &variables(&kernel.parameters);
    }
    let mut list = vec![("instructions", number::count(kernel.instructions as u64))];
    let registers: Vec<String> = kernel.virtual_registers.iter().map(|(ty, n)| format!("{n} .{ty}")).collect();
    list.push(("virtual registers", if registers.is_empty() { "none".to_owned() } else { registers.join(", ") }));
    match &kernel.executable {
        Some(executable) => list.extend(executable_facts(executable)),
        None => list.extend([
            ("shared memory declared", number::bytes(kernel.declared_shared_bytes)),
            ("local memory declared", number::bytes(kernel.declared_local_bytes)),
        ]),
    }
    list.push(("opcodes", mix(&kernel.opcodes)));
    out += &facts(&list);
    if !kernel.not_executable_text.is_empty() {
        let heading = format!("not executable: {}", counted(kernel.not_executable.len() as u64, "place"));
        let _ = writeln!(out, "  {}\n{}", styled(BAD, heading), kernel.not_executable_text.trim_end());
    }
    out
}

fn executable_facts(executable: &Executable) -> Vec<(&'static str, String)> {
    let mut facts = vec![
        ("registers per thread", format!("{} (estimated from liveness)", executable.registers_per_thread)),
        ("shared memory", number::bytes(executable.shared_bytes.into())),
        ("local memory per thread", number::bytes(executable.local_bytes.into())),
        ("bytes of parameters", number::bytes(executable.parameter_bytes.into())),
    ];
    facts.extend(executable.allocations.iter().map(|a| match a.mode {
        "allocated" => ("allocated registers", allocation(a)),
        _ => ("hazard-free registers", allocation(a)),
    }));
    facts.extend(executable.max_threads.map(|most| ("threads per CTA", format!("at most {most}"))));
    facts.extend(executable.required_threads.map(|[x, y, z]| ("threads per CTA", format!("{x} x {y} x {z}"))));
    facts.push(("lowered, with the functions it calls", counted(executable.instructions as u64, "instruction")));
    facts.push(("classes", mix(&executable.classes)));
    facts
}

/// Registers per thread, and the cost of having no more.
fn allocation(a: &AllocationFacts) -> String {
    let Some(registers) = a.registers_per_thread else {
        return "it does not fit into as few".to_owned();
    };
    let prices = [
        (a.spilled_words, "word", " spilled"),
        (a.recomputed_words, "word", " computed again"),
        (a.spilled_predicates, "predicate", " spilled"),
        (a.fences, "fence", ""),
    ];
    let paid = prices.iter().filter(|p| p.0 > 0);
    let prices: String = paid.map(|&(n, what, how)| format!(", {}{how}", counted(n.into(), what))).collect();
    format!("{registers}{prices}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::inspection::inspect;
    use crate::render::sample;
    use lower::RegisterLimits;

    const TEXT: &str = "\
.version 8.0
.target sm_90
.address_size 64
.const .align 4 .f32 table[4] = {1.0, 2.0, 3.0, 4.0};
.extern .shared .align 16 .b8 dynamic[];
.visible .entry _Z5texedPf(.param .u64 p)
.maxntid 128, 1, 1
{
    .reg .b64 %rd<3>;
    .reg .f32 %f<3>;
    .reg .b32 %r<2>;
    .shared .f32 tile[256];
    ld.param.u64 %rd1, [p];
    txq.filter_mode.b32 %r1, [%rd1];
    st.global.f32 [%rd1], %f1;
    ret;
}
.visible .entry nothing() { ret; }
";

    #[test]
    fn golden() {
        insta::assert_snapshot!(sample::plain(&render(&inspect("k.ptx", TEXT.as_bytes(), RegisterLimits::default()))));
    }

    #[test]
    fn golden_of_a_syntax_error() {
        let torn = TEXT.replace("st.global.f32 [%rd1], %f1;", "st.global.f32 [%rd1] %f1;");
        insta::assert_snapshot!(sample::plain(&render(&inspect("k.ptx", torn.as_bytes(), RegisterLimits::default()))));
    }
}

//! Kernels on a dataflow fabric as text.

use super::super::number::{self, counted};
use super::super::style::{BAD, FAINT, GOOD, HEADING, styled};
use super::super::table::{Align, Table};
use super::super::wrap::wrapped;
use super::parts::fact;
use crate::inspection::fabric::{CutFacts, FabricInspection, FabricKernel, MappedFacts, PartFacts};
use crate::inspection::facts::Mix;
use std::fmt::Write as _;

/// The kernels as text with colours: a table, then each with its parts. Nodes are shown only if there is one kernel.
pub fn render(inspection: &FabricInspection) -> String {
    let mut sections = vec![header(inspection)];
    if let [_, _, ..] = &inspection.kernels[..] {
        sections.push(overview(inspection));
    }
    sections.extend(inspection.kernels.iter().map(|kernel| self::kernel(inspection, kernel)));
    match &inspection.kernels[..] {
        [only] => sections.extend(inspection.graphs(only)),
        _ => sections.push(styled(FAINT, "--kernel NAME shows the nodes of one kernel, --svg FOLDER draws all") + "\n"),
    }
    sections.join("\n")
}

fn header(inspection: &FabricInspection) -> String {
    let FabricInspection { file, core, columns, rows, links, .. } = inspection;
    let units = inspection.units.0.iter().map(|(kind, n)| format!("{n} {kind}")).collect::<Vec<_>>().join(", ");
    let title = format!("{}  {}\n", styled(HEADING, file), styled(FAINT, format!("on a fabric of {core}")));
    title + &fact("units", &format!("{columns} x {rows}: {units}")) + &fact("links", &number::count(*links as u64))
}

/// State of a kernel on the fabric, in a word or two.
pub fn outcome(mapped: Option<usize>) -> String {
    match mapped {
        Some(1) => "whole".to_owned(),
        Some(parts) => format!("in {parts} parts"),
        None => "refused".to_owned(),
    }
}

fn coloured(kernel: &FabricKernel) -> String {
    let parts = kernel.mapped.as_ref().map(|mapped| mapped.parts.len());
    styled(if parts.is_some() { GOOD } else { BAD }, outcome(parts))
}

/// All kernels, a line each: the most that a part of them takes.
fn overview(inspection: &FabricInspection) -> String {
    let columns = ["compute", "control", "ld/st", "special", "delays", "path", "bits"];
    let right = columns.map(|heading| (heading, Align::Right));
    let mut table = Table::new([("kernel", Align::Name), ("fabric", Align::Left)].into_iter().chain(right));
    for kernel in &inspection.kernels {
        let of = |figure: &dyn Fn(&PartFacts) -> u64| {
            let most = kernel.mapped.iter().flat_map(|mapped| &mapped.parts).map(figure).max();
            most.map_or(number::ABSENT.to_owned(), number::count)
        };
        let mut cells = vec![kernel.source_name.clone().unwrap_or_else(|| kernel.name.clone()), coloured(kernel)];
        cells.extend((0..4).map(|kind| of(&|part| units(&part.units)[kind])));
        cells.extend([of(&|p| p.delays as u64), of(&|p| p.critical_path.into()), of(&|p| p.configuration_bits)]);
        table.row(&cells);
    }
    table.render()
}

/// Compute, control, load/store and special units.
fn units(Mix(kinds): &Mix) -> [u64; 4] {
    let n = |kind: usize| kinds.get(kind).map_or(0, |(_, n)| *n);
    [n(0), n(1), n(2), kinds.iter().skip(3).map(|(_, n)| n).sum()]
}

fn kernel(inspection: &FabricInspection, kernel: &FabricKernel) -> String {
    let source_name = kernel.source_name.as_ref().map_or(String::new(), |name| format!(" ({name})"));
    let mut out = format!("{}{source_name}  {}\n", styled(HEADING, &kernel.name), coloured(kernel));
    for reason in &kernel.reasons {
        let place = reason.line.map_or(String::new(), |line| format!("line {line}: "));
        let instruction = reason.instruction.as_ref().map_or(String::new(), |text| format!("`{text}`: "));
        out += &wrapped(&format!("{place}{instruction}{}", reason.message), "  ", "    ");
    }
    if let Some(mapped) = &kernel.mapped {
        out += &parts(inspection, mapped);
        out += &mapped.cuts.iter().map(cut).collect::<String>();
        if mapped.parts.len() > 1 {
            let live = counted(mapped.live_values as u64, "value");
            let live = format!("{live} of a thread, {}", number::bytes(mapped.live_bytes.into()));
            out += &fact("kept in memory between parts", &live);
        }
        out += &fact("shared by all threads", &counted(mapped.uniform_values as u64, "value"));
    }
    out
}

/// A line for each graph, and one for what the fabric has.
fn parts(inspection: &FabricInspection, mapped: &MappedFacts) -> String {
    let columns = ["line", "compute", "control", "ld/st", "special", "delays", "path", "wire", "links", "bits"];
    let right = columns.map(|heading| (heading, Align::Right));
    let mut table = Table::new([("part", Align::Right)].into_iter().chain(right));
    for (i, part) in mapped.parts.iter().enumerate() {
        let mut numbers = vec![i as u64, part.line.into()];
        numbers.extend(units(&part.units));
        let PartFacts { delays, critical_path, wire_length, links, configuration_bits, .. } = *part;
        numbers.extend([delays as u64, critical_path.into(), wire_length.into(), links as u64, configuration_bits]);
        table.row(&numbers.into_iter().map(number::count).collect::<Vec<_>>());
    }
    let has = units(&inspection.units).map(number::count);
    let has = ["all", ""].map(str::to_owned).into_iter().chain(has).chain(["", "", ""].map(str::to_owned));
    table.row(&has.chain([number::count(inspection.links as u64), String::new()]).collect::<Vec<_>>());
    table.render() + &order(mapped)
}

/// Where threads continue after each of several graphs.
fn order(mapped: &MappedFacts) -> String {
    if mapped.parts.len() == 1 && mapped.parts[0].copies == 1 {
        return String::new();
    }
    let one = |(i, part): (usize, &PartFacts)| {
        let barrier = if part.after_barrier { " (after a barrier)" } else { "" };
        let copies = if part.copies > 1 { format!(" ({} copies)", part.copies) } else { String::new() };
        format!("part {i}{copies}{barrier}: {}", part.next)
    };
    let order: Vec<String> = mapped.parts.iter().enumerate().map(one).collect();
    wrapped(&format!("order: {}", order.join("; ")), "  ", "    ")
}

fn cut(cut: &CutFacts) -> String {
    let CutFacts { region, line, parts, reasons, stores, loads, bytes } = cut;
    let mut out = String::new();
    let _ = write!(out, "region {region} (line {line}) is cut into {parts} parts: {}. ", reasons.join("; "));
    let [stores, loads] = [(stores, "store"), (loads, "load")].map(|(n, noun)| counted(*n as u64, noun));
    let _ = write!(out, "Live values take {stores} and {loads} a thread, {}", number::bytes((*bytes).into()));
    wrapped(&out, "  ", "    ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::render::sample;

    const TEXT: &str = "\
.version 7.0
.target sm_80
.address_size 64
.visible .entry _Z5scalePff(.param .u64 p, .param .f32 by)
{
    .reg .b32 %r<3>;
    .reg .b64 %rd<4>;
    .reg .f32 %f<4>;
    .reg .pred %p<2>;
    ld.param.u64 %rd1, [p];
    ld.param.f32 %f1, [by];
    mov.u32 %r1, %tid.x;
    mul.wide.u32 %rd2, %r1, 4;
    add.s64 %rd3, %rd1, %rd2;
again:
    ld.global.f32 %f2, [%rd3];
    mul.f32 %f3, %f2, %f1;
    st.global.f32 [%rd3], %f3;
    setp.lt.f32 %p1, %f3, %f1;
    @%p1 bra again;
    ret;
}
.visible .entry across(.param .u64 p)
{
    .reg .b32 %r<3>;
    .reg .pred %p<2>;
    mov.u32 %r1, %laneid;
    shfl.sync.down.b32 %r2, %r1, 1, 31, -1;
    trap;
}
";

    fn render_of(is_shown: fn(&FabricKernel) -> bool) -> String {
        let gpu = config::load("gtx480").unwrap();
        let core = "sgmf:columns=8,rows=5,int_dividers=1,fp_dividers=1,roots=1";
        let mut inspection = FabricInspection::new("k.ptx", TEXT.as_bytes(), core, &gpu).unwrap();
        inspection.kernels.retain(is_shown);
        inspection.map();
        sample::plain(&render(&inspection))
    }

    #[test]
    fn golden_of_several_kernels() {
        insta::assert_snapshot!(render_of(|_| true));
    }

    #[test]
    fn golden_of_a_kernel_alone() {
        insta::assert_snapshot!(render_of(|kernel| kernel.name != "across"));
    }

    #[test]
    fn a_cut_is_shown_with_its_price() {
        let gpu = config::load("gtx480").unwrap();
        let ptx = workloads::suite::find("lavamd").unwrap().module.ptx();
        let mut inspection = FabricInspection::new("lavamd.ptx", ptx.as_bytes(), "sgmf", &gpu).unwrap();
        inspection.map();
        let text = sample::plain(&render(&inspection));
        let cut = &inspection.kernels[0].mapped.as_ref().unwrap().cuts[0];
        assert!(cut.stores > 0 && cut.loads > 0 && cut.bytes > 0);
        let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
        let expected = format!("region {} (line {}) is cut into {} parts: ", cut.region, cut.line, cut.parts);
        assert!(words.contains(&expected) && words.contains(&cut.reasons.join("; ")), "{text}");
        assert!(words.contains(&format!("loads a thread, {} B", cut.bytes)), "{text}");
    }
}

//! A self-contained page of a run or a comparison: HTML with drawings in SVG, a style sheet and a short script, and
//! no reference to anything outside. It is well-formed XML, too. `docs/page.md` says how each figure is computed.
//!
//! A section is a file here and a line in [`run`] or [`comparison()`]; [`html`], [`stack`] and [`area`] have the pieces
//! they are made from.

pub mod area;
mod changes;
pub mod comparison;
mod energy;
mod gains;
pub mod html;
mod input;
mod instructions;
mod kernels;
mod launches;
mod memory;
mod number_axis;
mod occupancy;
mod over_time;
mod overview;
mod ranges;
mod roofline;
mod sampling;
pub mod stack;
mod stalls;
mod statistics;
mod traffic;

pub use comparison::Comparison;
pub use html::Section;
pub use input::Run;

use html::escaped;

/// The page of a run.
pub fn run(run: &Run<'_>) -> String {
    let report = run.report;
    let mut sections = vec![overview::section(run)];
    sections.extend(report.changes.as_ref().map(changes::section));
    sections.extend(ranges::section(report));
    sections.extend(sampling::section(report));
    sections.extend(stalls::section(report));
    sections.extend(report.profile.as_ref().and_then(instructions::section));
    sections.extend(over_time::section(report));
    sections.extend(roofline::section(run));
    sections.extend(occupancy::section(run));
    sections.extend(memory::section(run));
    sections.extend(energy::section(run));
    sections.extend(launches::section(report));
    sections.push(statistics::section(run));
    let about = format!("{}, core {}, scheduler {}", report.gpu, report.core, report.scheduler);
    page(&report.workload, &[about], &sections, run.program)
}

/// The page of comparisons: the parts of an experiment, or a single one. `about` are paragraphs under the title;
/// `further` sections follow.
pub fn comparison(
    title: &str,
    about: &[String],
    parts: &[Comparison<'_>],
    further: Vec<Section>,
    program: &str,
) -> String {
    let several = parts.len() > 1;
    let of_part = |(i, part): (usize, &Comparison<'_>)| {
        let (prefix, name) =
            if several { (format!("part{}-", i + 1), format!("Part {}", i + 1)) } else { Default::default() };
        comparison::sections(part, &prefix, &name)
    };
    let sections: Vec<Section> = parts.iter().enumerate().flat_map(of_part).chain(further).collect();
    page(title, about, &sections, program)
}

const STYLE: &str = include_str!("style.css");
const SCRIPT: &str = include_str!("script.js");

/// A whole page of sections.
fn page(title: &str, about: &[String], sections: &[Section], program: &str) -> String {
    let title = escaped(title);
    let about: String = about.iter().map(|text| format!("<p>{}</p>\n", escaped(text))).collect();
    let link = |s: &Section| format!("<a href=\"#{}\">{}</a>\n", escaped(&s.id), escaped(&s.title));
    let links: String = sections.iter().map(link).collect();
    let section = |s: &Section| {
        let (id, heading) = (escaped(&s.id), escaped(&s.title));
        format!(
            "<section id=\"{id}\" aria-labelledby=\"{id}-title\">\n<h2 id=\"{id}-title\">{heading}</h2>\n{}</section>\n",
            s.body
        )
    };
    let body: String = sections.iter().map(section).collect();
    let program = escaped(program);
    format!(
        "<!DOCTYPE html>\n<html xmlns=\"http://www.w3.org/1999/xhtml\" lang=\"en\">\n<head>\n<meta charset=\"utf-8\"/>\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\n<meta name=\"generator\" content=\"warpwright {program}\"/>\n\
         <title>{title} - Warpwright</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n\
         <header>\n<h1>{title}</h1>\n{about}</header>\n<nav aria-label=\"Sections\">\n{links}</nav>\n<main>\n{body}</main>\n\
         <footer>Warpwright {program}</footer>\n<script>\n//<![CDATA[\n{SCRIPT}//]]>\n</script>\n</body>\n</html>\n"
    )
}

#[cfg(test)]
mod tests;

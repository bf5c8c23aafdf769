//! Claims of papers, compared with the simulated values: as text, as Markdown and for a page.

use super::number::{self, ABSENT};
use super::style::{HEADING, styled};
use super::table::{Align, Table};
use super::wrap::wrapped;
use crate::version;
use ::render::page::Section;
use ::render::page::html::{self, Cell, escaped};
use experiment::claim::Judged;

/// Claims about a figure of a paper.
#[derive(Clone, Debug)]
pub struct Figure {
    /// Name of the experiment.
    pub name: String,
    /// The paper.
    pub paper: String,
    pub claims: Vec<Judged>,
}

const COLUMNS: [(&str, Align); 5] = [
    ("claim", Align::Name),
    ("published", Align::Right),
    ("ours", Align::Right),
    ("rows", Align::Right),
    ("verdict", Align::Left),
];

/// Title of the table.
pub const TITLE: &str = "Claims of the paper";

fn ours(of: &Judged) -> String {
    let half = of.half.map(|half| format!(" ±{}", number::real(half))).unwrap_or_default();
    of.ours.map_or_else(|| ABSENT.to_owned(), |ours| number::real(ours) + &half)
}

fn cells(of: &Judged) -> [String; 5] {
    [of.claim.clone(), of.published.clone(), ours(of), of.rows.to_string(), of.verdict.name().to_owned()]
}

/// The claims under a heading; empty without claims.
pub fn text(claims: &[Judged]) -> String {
    if claims.is_empty() { String::new() } else { format!("\n{}\n{}", styled(HEADING, TITLE), table_text(claims)) }
}

/// The claims as a table, and what is known about the differences.
pub fn table_text(claims: &[Judged]) -> String {
    let mut table = Table::new(COLUMNS);
    claims.iter().for_each(|claim| table.row(&cells(claim)));
    let whys = claims.iter().filter(|claim| !claim.why.is_empty());
    let whys: String = whys.map(|claim| wrapped(&format!("{}: {}", claim.claim, claim.why), "  ", "    ")).collect();
    table.render() + &whys
}

/// The claims as a section of a page.
pub fn section(claims: &[Judged]) -> Option<Section> {
    let figures = claims.iter().map(|claim| (None, claim));
    (!claims.is_empty()).then(|| Section { id: "claims".into(), title: TITLE.into(), body: table(figures) })
}

/// A table of claims, with the name of the figure before each if there is one.
fn table<'a>(claims: impl IntoIterator<Item = (Option<&'a str>, &'a Judged)>) -> String {
    let mut claims = claims.into_iter().peekable();
    let figure = claims.peek().and_then(|(figure, _)| figure.map(|_| ("figure", Align::Left)));
    let headings = figure.into_iter().chain(COLUMNS).chain([("remark", Align::Left)]);
    let mut table = html::Table::new(headings);
    for (figure, claim) in claims {
        let cells = figure.map(str::to_owned).into_iter().chain(cells(claim)).chain([claim.why.clone()]);
        table.row(cells.map(Cell::from));
    }
    table.render()
}

/// The figures of each paper, in the order of the first.
pub fn by_paper(figures: &[Figure]) -> Vec<(&str, Vec<&Figure>)> {
    let mut papers: Vec<(&str, Vec<&Figure>)> = Vec::new();
    for figure in figures {
        match papers.iter_mut().find(|(paper, _)| *paper == figure.paper) {
            Some((_, known)) => known.push(figure),
            None => papers.push((&figure.paper, vec![figure])),
        }
    }
    papers
}

/// The claims of all papers as a page, with links to the figures' pages in the same folder.
pub fn page(figures: &[Figure]) -> String {
    let section = |(at, (paper, figures)): (usize, (&str, Vec<&Figure>))| {
        let link = |figure: &&Figure| {
            let name = escaped(&figure.name);
            format!("<a href=\"{name}/report.html\">{name}</a>")
        };
        let links: Vec<String> = figures.iter().map(link).collect();
        let claims = figures.iter().flat_map(|figure| figure.claims.iter().map(|one| (Some(&*figure.name), one)));
        let body = format!("{}<p>{}</p>\n", table(claims), links.join(", "));
        Section { id: format!("paper{}", at + 1), title: paper.to_owned(), body }
    };
    let sections = by_paper(figures).into_iter().enumerate().map(section).collect();
    ::render::page::comparison("Papers reproduced", &[], &[], sections, version::TEXT)
}

/// The claims of all papers as Markdown, each paper under a heading.
pub fn markdown(figures: &[Figure]) -> String {
    let line = |cells: &[&str]| {
        let cells: Vec<String> = cells.iter().map(|cell| cell.replace('|', "\\|")).collect();
        format!("| {} |\n", cells.join(" | "))
    };
    let mut out = format!("Warpwright {}\n", version::TEXT);
    for (paper, figures) in by_paper(figures) {
        out += &format!("\n## {paper}\n\n");
        out += &line(&[&["figure"][..], &COLUMNS.map(|(heading, _)| heading)].concat());
        out += "| --- | --- | ---: | ---: | ---: | --- |\n";
        for (figure, claim) in figures.iter().flat_map(|of| of.claims.iter().map(|claim| (&of.name, claim))) {
            let [text, published, ours, rows, verdict] = cells(claim);
            let text = if claim.why.is_empty() { text } else { format!("{text}. {}", claim.why) };
            out += &line(&[figure, &text, &published, &ours, &rows, &verdict]);
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use experiment::claim::Verdict;

    #[test]
    fn claims_are_grouped_by_paper() {
        let claim = |claim: &str, ours, half| Judged {
            claim: claim.into(),
            published: "1.07".into(),
            ours,
            half,
            rows: 3,
            verdict: Verdict::Holds,
            why: String::new(),
        };
        let figure =
            |name: &str, paper: &str, claims: Vec<Judged>| Figure { name: name.into(), paper: paper.into(), claims };
        let figures = [
            figure("a-fig1", "A <paper>", vec![claim("mean | all", Some(1.06), Some(0.01))]),
            figure("b-fig1", "B", vec![]),
            figure("a-fig2", "A <paper>", vec![claim("least", None, None)]),
        ];
        let papers: Vec<(&str, usize)> = by_paper(&figures).iter().map(|(paper, of)| (*paper, of.len())).collect();
        assert_eq!(papers, [("A <paper>", 2), ("B", 1)]);
        let text = markdown(&figures);
        assert!(
            text.contains("## A <paper>\n") && text.contains("| a-fig2 | least | 1.07 | - | 3 | holds |"),
            "{text}"
        );
        assert!(text.contains("| a-fig1 | mean \\| all | 1.07 | 1.060 ±0.0100 | 3 | holds |"), "{text}");
        let page = page(&figures);
        assert!(
            page.contains("A &lt;paper&gt;") && page.contains("<a href=\"b-fig1/report.html\">b-fig1</a>"),
            "{page}"
        );
    }
}

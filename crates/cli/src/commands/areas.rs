//! Experiments about areas of cores.

use super::list;
use super::results_folder::{SCHEMA, about, heading, made_folder, title, write_folder};
use crate::failure::{Exit, Failure};
use crate::options::{Page, Results};
use crate::render::style::{FAINT, styled};
use crate::render::{claims, lists};
use crate::{output, version};
use ::render::page::{self, Section, html};
use clap::Parser;
use experiment::claim::Judged;
use experiment::file::Experiment;
use request::Options;
use serde::Serialize;

/// Shows published areas beside ours.
pub fn areas(name: &str, experiment: &Experiment, options: &Options) -> Result<(Exit, Vec<Judged>), Failure> {
    #[derive(Debug, Parser)]
    struct Line {
        #[command(flatten)]
        list: list::Args,
    }
    let results = Results::of(options);
    let page = Page::of(options);
    output::check(results.formats.files()?.into_iter().chain(page.html.as_deref()), &[])?;
    let folder = made_folder(options)?;
    let mut text = heading(experiment, name);
    let (mut all, mut sections) = (Vec::new(), Vec::new());
    for part in &experiment.areas() {
        let line =
            Line::try_parse_from(["list"].into_iter().chain(part.split_whitespace())).map_err(Failure::failed)?;
        let cores = list::lists(&line.list)?.cores.unwrap_or_default();
        let areas: String = cores.iter().map(lists::structures).collect();
        let command = styled(FAINT, format!("$ warpwright list {part}"));
        text += &format!("\n{command}\n{areas}");
        let plain = anstream::adapter::strip_str(&areas).to_string();
        let (part, plain) = (html::escaped(part), html::escaped(&plain));
        let body = format!("<pre>$ warpwright list {part}</pre>\n<pre class=\"columns\">{plain}</pre>\n");
        let names: Vec<&str> = cores.iter().map(|core| &*core.named.name).collect();
        let (id, title) = (format!("part{}", sections.len() + 1), format!("Areas of {}", names.join(", ")));
        sections.push(Section { id, title, body });
        all.extend(cores);
    }
    let judged = experiment.judged(&[]);
    text += &claims::text(&judged);
    sections.extend(claims::section(&judged));
    if results.as_text() {
        output::print(&text)?;
    }
    let whole = || page::comparison(title(experiment, name), &about(experiment), &[], sections.clone(), version::TEXT);
    page.save(whole)?;
    let parts = all.iter().filter_map(|core| core.area.as_ref()).collect();
    let sms = all.iter().filter(|core| core.area.is_none()).collect();
    let (paper, published) = (experiment.title.as_str(), experiment.published.as_str());
    let areas = Areas { schema: SCHEMA, figure: name, paper, published, parts, sms, claims: &judged };
    let rows = || lists::tables::parts(&all).into_iter().collect::<Vec<_>>();
    results.formats.give(&areas, rows)?;
    write_folder(options, &text, &areas, rows, whole, &[])?;
    folder.keep();
    Ok((Exit::Success, judged))
}

/// Published areas as JSON.
#[derive(Serialize)]
struct Areas<'a> {
    schema: u32,
    figure: &'a str,
    paper: &'a str,
    published: &'a str,
    parts: Vec<&'a lists::Area>,
    sms: Vec<&'a lists::Core>,
    claims: &'a [Judged],
}

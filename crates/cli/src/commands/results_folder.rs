//! The results of an experiment: heading and folder.

use crate::failure::Failure;
use crate::output;
use crate::render::page as parts;
use crate::render::style::{HEADING, styled};
use ::render::bars;
use experiment::file::Experiment;
use kit::output::MadeFolders;
use request::Options;
use request::comparison::Comparison;
use serde::Serialize;
use std::path::PathBuf;

/// Version of the JSON of an experiment.
pub const SCHEMA: u32 = 1;

/// The files in the folder of the results, of `parts` comparisons.
pub fn in_folder(options: &Options, parts: usize) -> Vec<PathBuf> {
    let names = ["report.csv", "report.html"].map(str::to_owned).into_iter();
    let names: Vec<String> =
        names.chain((1..=parts).flat_map(|part| ["svg", "png"].map(|form| format!("report-{part}.{form}")))).collect();
    options.out.iter().flat_map(|folder| names.iter().map(|name| folder.join(name))).collect()
}

/// Creates the folder of the results, if one is requested; it is removed again if it stays empty.
pub fn made_folder(options: &Options) -> Result<MadeFolders, Failure> {
    let Some(folder) = &options.out else { return Ok(MadeFolders::default()) };
    MadeFolders::make(folder)
        .map_err(|e| Failure::bad_input(format!("cannot make the folder `{}`: {e}", folder.display())))
}

/// Writes the folder of the results, if one is requested.
pub fn write_folder<R: Serialize>(
    options: &Options,
    text: &str,
    document: &impl Serialize,
    rows: impl FnOnce() -> Vec<R>,
    page: impl FnOnce() -> String,
    comparisons: &[Comparison],
) -> Result<(), Failure> {
    let Some(folder) = &options.out else { return Ok(()) };
    let plain = anstream::adapter::strip_str(text).to_string();
    output::save(&folder.join("report.txt"), plain.as_bytes())?;
    output::save_as(&folder.join("report.json"), |out| output::json(document, out))?;
    output::save_as(&folder.join("report.csv"), |out| output::csv(rows(), out))?;
    output::save(&folder.join("report.html"), page().as_bytes())?;
    for (at, comparison) in comparisons.iter().enumerate() {
        let (bars, file) = (parts::bars(comparison), |form| folder.join(format!("report-{}.{form}", at + 1)));
        output::save(&file("svg"), bars::svg(&bars).as_bytes())?;
        output::save(&file("png"), &bars::png(&bars).map_err(Failure::failed)?)?;
    }
    Ok(())
}

pub fn title<'a>(experiment: &'a Experiment, name: &'a str) -> &'a str {
    if experiment.title.is_empty() { name } else { &experiment.title }
}

/// Subject of an experiment, and the paper's findings.
pub fn about(experiment: &Experiment) -> Vec<String> {
    let published = format!("published: {}", experiment.published);
    let about = [experiment.about.clone(), if experiment.published.is_empty() { String::new() } else { published }];
    about.into_iter().filter(|text| !text.is_empty()).collect()
}

pub fn heading(experiment: &Experiment, name: &str) -> String {
    let about: String = about(experiment).iter().map(|line| format!("  {line}\n")).collect();
    format!("{}\n{about}", styled(HEADING, title(experiment, name)))
}

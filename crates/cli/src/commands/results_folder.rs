//! The results of an experiment: heading and folder.

use crate::failure::Failure;
use crate::output;
use crate::render::plots::Plot;
use crate::render::style::{HEADING, styled};
use experiment::file::Experiment;
use kit::output::MadeFolders;
use request::Options;
use serde::Serialize;
use std::path::PathBuf;

/// Version of the JSON of an experiment.
pub const SCHEMA: u32 = 1;

/// Name of the picture of part `number`, from 1.
pub fn of_part(number: usize) -> String {
    format!("report-{number}")
}

/// Name of the picture of claim `number`, from 1.
pub fn of_claim(number: usize) -> String {
    format!("claim-{number}")
}

/// The files in the folder of the results, among them pictures with these names.
pub fn in_folder(options: &Options, pictures: impl Iterator<Item = String>) -> Vec<PathBuf> {
    let Some(folder) = &options.out else { return Vec::new() };
    let names = ["report.csv", "report.html"].map(str::to_owned).into_iter();
    let pictures = pictures.flat_map(|name| ["svg", "png"].map(|form| format!("{name}.{form}")));
    names.chain(pictures).map(|name| folder.join(name)).collect()
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
    pictures: &[(String, Plot)],
) -> Result<(), Failure> {
    let Some(folder) = &options.out else { return Ok(()) };
    let plain = anstream::adapter::strip_str(text).to_string();
    output::save(&folder.join("report.txt"), plain.as_bytes())?;
    output::save_as(&folder.join("report.json"), |out| output::json(document, out))?;
    output::save_as(&folder.join("report.csv"), |out| output::csv(rows(), out))?;
    output::save(&folder.join("report.html"), page().as_bytes())?;
    for (name, picture) in pictures {
        let file = |form| folder.join(format!("{name}.{form}"));
        output::save(&file("svg"), picture.svg().as_bytes())?;
        output::save(&file("png"), &picture.png().map_err(Failure::failed)?)?;
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

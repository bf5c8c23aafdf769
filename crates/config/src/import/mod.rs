//! Reads Accel-Sim's `gpgpusim.config` and `trace.config`, and reports what was done with each option.

mod cache;
mod chip;
mod memory;
mod options;
mod outcome;
mod reader;
mod text;
mod timing;

use crate::error::{ConfigError, Problem};
use crate::{GpuConfig, Raw};
use options::Fate;
pub use outcome::{OptionReport, Outcome};
use reader::Reader;
use std::collections::BTreeMap;
use text::Given;

/// A GPU description made from Accel-Sim's files.
#[derive(Clone, Debug, PartialEq)]
pub struct Import {
    /// The description; its name is `imported` until the caller sets another.
    pub config: GpuConfig,
    /// Where each number comes from, by dotted path, for the `[sources]` table.
    pub sources: BTreeMap<String, String>,
    /// Fate of each option, in the order of the files. Options that are absent, but whose
    /// default cannot be honoured, are at the end.
    pub report: Vec<OptionReport>,
}

impl Import {
    /// The description as a file of ours, with sources.
    pub fn to_toml(&self) -> String {
        crate::write::to_toml(&self.config, &self.sources)
    }
}

const GPGPUSIM: &str = "gpgpusim.config";
const TRACE: &str = "trace.config";

/// Reads the texts of a `gpgpusim.config` and of the `trace.config` beside it (may be empty).
///
/// # Errors
/// Everything that is malformed, or that makes no consistent GPU, with file and line.
pub fn import_accelsim(gpgpusim_config: &str, trace_config: &str) -> Result<Import, ConfigError> {
    let mut problems = Vec::new();
    let mut given = text::options(gpgpusim_config, GPGPUSIM, &mut problems);
    if given.is_empty() {
        let problem = Problem::new("", "has no options in it").at(crate::Spot::whole(GPGPUSIM));
        problems.push(problem.hint("is this GPGPU-Sim's configuration? It has lines such as -gpgpu_n_clusters 34"));
        return Err(ConfigError { problems });
    }
    let of_trace = text::options(trace_config, TRACE, &mut problems);
    check_order(&given, &of_trace)?;
    given.extend(of_trace);
    let mut reader = Reader::new(&given, problems);
    let config = chip::gpu(&mut reader);
    ConfigError::unless_none(std::mem::take(&mut reader.problems))?;
    config.check().map_err(|e| blame(e, &reader))?;
    let sources = sources(&reader, &config);
    let mut report: Vec<_> = given.iter().map(|g| report_given(g, &reader)).collect();
    report.extend(options::ROWS.iter().filter_map(|row| report_default(row, &reader)));
    Ok(Import { config, sources, report })
}

/// Whether each file is the one that it is given as.
fn check_order(gpgpusim: &[Given], trace: &[Given]) -> Result<(), Problem> {
    let of_chip = |options: &[Given]| options.iter().any(|g| g.name.starts_with("-gpgpu_"));
    if of_chip(gpgpusim) {
        return Ok(());
    }
    let (message, hint) = if of_chip(trace) {
        ("has no option -gpgpu_…, and the second file has: the two are exchanged", "give gpgpusim.config first")
    } else {
        ("has no option -gpgpu_…", "is this GPGPU-Sim's configuration? It has lines such as -gpgpu_n_clusters 34")
    };
    Err(Problem::new("", message).at(crate::Spot::whole(GPGPUSIM)).hint(hint))
}

fn report_given(given: &Given, reader: &Reader) -> OptionReport {
    let present = options::lookup(reader::present_name(&given.name));
    let outcome = match present.and_then(|row| reader.given.get(row.name)) {
        Some(last) if last.spot != given.spot => {
            Outcome::Ignored(format!("given again in {} line {}", last.spot.file, last.spot.line))
        }
        _ => reader.outcome(&given.name, &given.value),
    };
    OptionReport {
        option: given.name.clone(),
        value: given.value.clone(),
        at: Some((given.spot.file.to_string(), given.spot.line)),
        outcome,
    }
}

/// An absent option whose default asks for something that does not exist here.
fn report_default(row: &options::Row, reader: &Reader) -> Option<OptionReport> {
    let Fate::Fixed(fixed, _, _) = row.fate else { return None };
    if reader.is_given(row.name) || row.default == fixed {
        return None;
    }
    let outcome = reader.outcome(row.name, row.default);
    Some(OptionReport { option: row.name.into(), value: format!("{} (default)", row.default), at: None, outcome })
}

/// Gives each problem the place of the option that the value came from.
fn blame(mut error: ConfigError, reader: &Reader) -> ConfigError {
    for problem in &mut error.problems {
        let leads_here = |keys: &str| {
            let covers = |key: &str| problem.key == key || problem.key.starts_with(&format!("{key}."));
            keys.split(' ').filter(|key| covers(key)).map(str::len).max()
        };
        let options = options::ROWS.iter().filter_map(|row| match row.fate {
            Fate::To(keys) => Some((leads_here(keys)?, row.name)),
            _ => None,
        });
        let option = options.filter(|(_, name)| reader.is_given(name)).max_by_key(|(length, _)| *length);
        problem.spot = option.and_then(|(_, name)| Some(reader.given.get(name)?.spot.clone()));
        if let Some((_, name)) = option {
            problem.message = format!("(from {name}) {}", problem.message);
        }
    }
    error
}

/// Where each number comes from.
fn sources(reader: &Reader, config: &GpuConfig) -> BTreeMap<String, String> {
    let mut from: BTreeMap<&str, (Vec<String>, Vec<String>)> = BTreeMap::new();
    for row in options::ROWS {
        let Fate::To(keys) = row.fate else { continue };
        if matches!(reader.outcome(row.name, row.default), Outcome::Ignored(_)) {
            continue;
        }
        for key in keys.split(' ') {
            let (given, defaults) = from.entry(key).or_default();
            match reader.given.get(row.name) {
                Some(g) => given.push(format!("{}: {} {}", g.spot.file, g.name, g.value)),
                None => defaults.push(format!("{} {}", row.name, row.default)),
            }
        }
    }
    let mut sources: BTreeMap<String, String> = chip::SOURCES
        .iter()
        .chain(timing::SOURCES)
        .map(|(key, source)| (key.to_string(), source.to_string()))
        .collect();
    for (key, (given, defaults)) in from {
        let text =
            if given.is_empty() { format!("Accel-Sim default: {}", defaults.join("; ")) } else { given.join("; ") };
        sources.insert(key.into(), text);
    }
    adjust(&mut sources, reader, config);
    let raw = Raw::from(config);
    let keys: Vec<&str> = raw.keys().collect();
    sources.retain(|source, _| {
        let inside = format!("{source}.");
        keys.iter().any(|key| *key == source || key.starts_with(&inside))
    });
    sources
}

/// Where the table of options cannot know which option counted.
fn adjust(sources: &mut BTreeMap<String, String>, reader: &Reader, config: &GpuConfig) {
    if reader.text("-gpgpu_num_tensor_core_units") != "0" {
        sources.remove("sm.units.tensor");
    }
    let technology = sources.remove("dram.technology").unwrap_or_default();
    sources.insert("dram.technology".into(), format!("guess from {technology}"));
    if config.sm.issue.scheduler != "two_level" {
        let key = "sm.issue.two_level_active_warps";
        sources.insert(key.into(), "guess: the file chooses another scheduler".into());
    }
    for (key, option) in
        [("input_buffer_packets", "-icnt_in_buffer_limit"), ("output_buffer_packets", "-icnt_out_buffer_limit")]
    {
        if reader.text("-network_mode") == "1" && !reader.is_given(option) {
            let source = "guess: as the other GPUs; the file asks for the Booksim network";
            sources.insert(format!("interconnect.{key}"), source.into());
        }
    }
    for class in ["branch", "texture", "uniform", "tensor"] {
        sources.entry(format!("sm.sass_timing.{class}")).or_insert_with(|| match class {
            "tensor" => "as sm.ptx_timing.tensor: Accel-Sim has no matrix unit here".into(),
            _ => "as int_add: Accel-Sim has no unit of its own for it here".into(),
        });
    }
    for (timing, option) in [("latency", "-ptx_opcode_latency_int"), ("initiation", "-ptx_opcode_initiation_int")] {
        if reader.text(option).split(',').count() == 5 {
            let source = format!("Accel-Sim default: the sixth {timing} number of {option}, which the file lacks");
            sources.insert("sm.ptx_timing.shuffle".into(), source);
        }
    }
}

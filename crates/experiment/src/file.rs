//! An experiment as a file.
//!
//! ```toml
//! title = "GhOST (ISCA 2024), figure 16"
//! about = "GhOST under each warp scheduler"
//! published = "RTX 2060 Super, geometric means: GTO 1.069, LRR 1.071, SRR 1.086"
//! size = "medium"
//!
//! [all]
//! gpus = "papers/ghost"
//! stock = "rtx2060s"
//! code = "sass"
//! cores = ["inorder", "ghost"]
//! show = "speedup"
//!
//! [[part]]
//! workloads = ["lud", "nn:places=42764"]
//! schedulers = ["gto", "lrr", "srr"]
//! over = "inorder"
//! ```
//! A part is a comparison; `[all]` has what the parts share. The keys are the options of `warpwright compare`, with a text, a number, `true`, or a list of
//! these as the value; what takes `KEY=VALUE` may have a table. Any value may be a table by size
//! (`{ small = …, medium = …, large = … }`). `docs/experiments.md` describes it for users.

use crate::claim::{Claim, Correlation, Judged};
use request::comparison::{Comparison, ratio};
use request::option::{OptionRow, Shape, Way};
use request::options::{ROWS, Texts, row};
use request::own_figures::OwnFigures;
use request::{BadRequest, Options};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use toml::{Table, Value};
use workloads::Size;

/// An experiment.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Experiment {
    /// Title: paper and figure, or the user's own.
    #[serde(default)]
    pub title: String,
    /// Subject, in a line.
    #[serde(default)]
    pub about: String,
    /// Findings of the paper, and its set-up.
    #[serde(default)]
    pub published: String,
    /// Size of bundled workloads unless the user names one; the parts' options decide if it is absent.
    size: Option<String>,
    /// Defaults of all parts.
    #[serde(default)]
    all: Table,
    /// Comparisons.
    #[serde(default, rename = "part")]
    parts: Vec<Table>,
    /// Areas of cores: arguments of `warpwright list`.
    #[serde(default)]
    areas: OneOrMore,
    /// Claims of the paper.
    #[serde(default, rename = "claim")]
    pub claims: Vec<Claim>,
}

/// Name and text of each bundled experiment.
pub const BUNDLED: &[(&str, &str)] = include!(concat!(env!("OUT_DIR"), "/bundled.rs"));

/// The bundled experiments with their names.
///
/// # Panics
/// A bundled file is not an experiment, which tests exclude.
pub fn bundled() -> impl Iterator<Item = (&'static str, Experiment)> {
    BUNDLED.iter().map(|(name, text)| (*name, Experiment::read(text).unwrap_or_else(|e| panic!("{name}: {e}"))))
}

/// The text of the bundled experiment `name`.
pub fn find(name: &str) -> Option<&'static str> {
    BUNDLED.iter().find(|(known, _)| *known == name).map(|(_, text)| *text)
}

/// An experiment with its name.
#[derive(Clone, Debug)]
pub struct Named {
    /// Name of the figure, or of the file without its extension.
    pub name: String,
    /// The experiment.
    pub experiment: Experiment,
    /// Folder of its file, from which paths in it start.
    pub folder: PathBuf,
}

impl Named {
    /// The experiment called `what`: a bundled one, or a file. `None` if `what` is a workload, a launch file among them.
    ///
    /// # Errors
    /// The file is not an experiment: where, and why.
    pub fn find(what: &Path) -> Result<Option<Self>, BadRequest> {
        let name = what.to_string_lossy();
        if let Some(text) = find(&name) {
            return Ok(Some(Self { name: name.into(), experiment: Experiment::read(text)?, folder: PathBuf::new() }));
        }
        if what.extension().is_none_or(|extension| extension != "toml") {
            return Ok(None);
        }
        let Ok(Ok(text)) = kit::files::read_data(what).map(kit::files::text) else { return Ok(None) };
        if !Experiment::is_meant_by(&text) {
            return Ok(None);
        }
        let experiment = Experiment::read(&text).map_err(|e| BadRequest::new(format!("`{}`: {e}", what.display())))?;
        let name = what.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        Ok(Some(Self { name, experiment, folder: what.parent().unwrap_or(Path::new("")).to_owned() }))
    }
}

/// A part as the file has it.
#[derive(Clone, Debug, Deserialize)]
struct PartText {
    workloads: Value,
    #[serde(default)]
    show: OneOrMore,
    published: Option<Value>,
    plot: Option<PlotKind>,
    /// The GPU that the paper's machine is made from, under the paper's scheduler.
    stock: Option<String>,
    #[serde(flatten)]
    options: Table,
}

/// Form of a part's picture.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PlotKind {
    /// A group of bars for each row.
    Bars,
    /// Lines over a setting that varies in numbers.
    Line,
    /// The first figure over the second, a point for each row.
    Scatter,
    /// No picture.
    None,
}

/// A text or a list of texts.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(untagged)]
enum OneOrMore {
    #[default]
    None,
    One(String),
    More(Vec<String>),
}

impl OneOrMore {
    fn all(&self) -> Vec<String> {
        match self {
            Self::None => Vec::new(),
            Self::One(one) => vec![one.clone()],
            Self::More(more) => more.clone(),
        }
    }
}

/// Machines that an experiment runs on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Machines {
    /// The machines that its file names.
    Named,
    /// The stock GPUs in their place (`stock`), under the same scheduler.
    Stock,
}

/// A comparison of an experiment.
#[derive(Clone, Debug)]
pub struct Part {
    /// Workloads.
    pub workloads: Vec<PathBuf>,
    /// Machines and all other options.
    pub options: Options,
    /// Names of the figures to show; the usual ones if there are none.
    pub show: Vec<String>,
    /// Published figures are shown beside ours.
    pub published: bool,
    /// The file's own published figures, in place of the papers'.
    pub figures: Option<OwnFigures>,
    /// Form of its picture; by what varies if absent.
    pub plot: Option<PlotKind>,
    /// The same as a command.
    pub command: String,
}

impl Experiment {
    /// The experiment of a file with this text.
    ///
    /// # Errors
    /// It is not one: where, and why.
    pub fn read(text: &str) -> Result<Self, BadRequest> {
        let mut experiment: Self = toml::from_str(text).map_err(|e| BadRequest::new(e.to_string().trim_end()))?;
        if !experiment.all.is_empty() && experiment.parts.is_empty() {
            // One part needs no second heading.
            experiment.parts.push(Table::new());
        }
        if experiment.parts.is_empty() && experiment.areas.all().is_empty() {
            return Err(BadRequest::new("it has no part: `[[part]]` begins one (`warpwright docs experiments`)"));
        }
        experiment.claims.iter().try_for_each(|claim| claim.check(experiment.parts.len()))?;
        Ok(experiment)
    }

    /// The paper: the title up to its last comma.
    pub fn paper(&self) -> &str {
        self.title.rsplit_once(", ").map_or(&*self.title, |(paper, _)| paper)
    }

    /// Compares the claims with `comparisons`, the results of its parts.
    pub fn judged(&self, comparisons: &[Comparison]) -> Vec<Judged> {
        self.claims.iter().map(|claim| claim.judged(comparisons)).collect()
    }

    /// The claims of correlations with their numbers, from 1.
    pub fn correlations(&self) -> impl Iterator<Item = (usize, Correlation<'_>)> {
        (1..).zip(&self.claims).filter_map(|(number, claim)| Some((number, claim.correlation()?)))
    }

    /// Areas of cores that it shows: arguments of `warpwright list`.
    pub fn areas(&self) -> Vec<String> {
        self.areas.all()
    }

    /// Whether a file with this text is an experiment, not a launch file. A text that is not TOML counts as one, so that the
    /// error is reported.
    pub fn is_meant_by(text: &str) -> bool {
        let is_one = |table: Table| ["part", "all", "areas"].iter().any(|key| table.contains_key(*key));
        toml::from_str(text).map_or(true, is_one)
    }

    /// The comparisons on `machines`, with the options that the user has `given` in place of the file's; paths are of
    /// `folder`. Parts without a stock GPU are left out where these are asked for.
    ///
    /// # Errors
    /// An option or a value makes no sense: of which part, and why.
    pub fn parts(&self, folder: &Path, given: &Texts, machines: Machines) -> Result<Vec<Part>, BadRequest> {
        let mut parts = Vec::new();
        for (at, own) in self.parts.iter().enumerate() {
            let of_part = |e: &dyn std::fmt::Display| BadRequest::new(format!("part {}: {e}", at + 1));
            let mut table = self.all.clone();
            table.extend(own.clone());
            let text: PartText = table.try_into().map_err(|e: toml::de::Error| of_part(&e.message()))?;
            if machines == Machines::Named || text.stock.is_some() {
                parts.push(self.part(&text, folder, given, machines).map_err(|e| of_part(&e))?);
            }
        }
        Ok(parts)
    }

    /// The size at which it runs.
    fn size(&self, given: &Texts) -> Result<Size, BadRequest> {
        let given = given.iter().find(|(row, _)| row.name == "size").and_then(|(_, texts)| texts.last()?.to_str());
        let Some(name) = given.or(self.size.as_deref()) else { return Ok(Size::default()) };
        let known = Size::ALL.into_iter().find(|size| size.name() == name);
        known.ok_or_else(|| BadRequest::new(kit::suggest::unknown("size", name, &Size::ALL.map(|size| size.name()))))
    }

    fn part(&self, part: &PartText, folder: &Path, given: &Texts, machines: Machines) -> Result<Part, BadRequest> {
        let size = self.size(given)?;
        let mut texts = Texts::new();
        if self.size.is_some() {
            texts.push((row("size").expect("the option is there"), vec![size.name().into()]));
        }
        for (key, value) in &part.options {
            let row = option(key)?;
            texts.retain(|(known, _)| known.name != row.name);
            texts.push((row, values(row, of_size(value, size)).map_err(|e| BadRequest::new(format!("`{key}`: {e}")))?));
        }
        if let (Machines::Stock, Some(stock)) = (machines, &part.stock) {
            on_stock(&mut texts, stock);
        }
        for (row, given) in given {
            texts.retain(|(known, _)| known.name != row.name);
            texts.push((row, given.clone()));
        }
        in_folder(&mut texts, folder);
        let options = Options::read(Way::Sweep, &texts, &|row| format!("`{}`", row.name))?;
        let workloads = workloads(&part.workloads, size)?;
        let show = part.show.all();
        let (published, figures) = published(part.published.as_ref().map(|value| of_size(value, size)), &show)?;
        let command = command(&workloads, &texts, &show, published && figures.is_none());
        let workloads = workloads.iter().map(|name| placed(name.as_ref(), folder)).collect();
        Ok(Part { workloads, options, show, published, figures, plot: part.plot, command })
    }
}

/// The workloads for a size: the named workloads, or the list of the bundled experiment in `as_in`.
fn workloads(value: &Value, size: Size) -> Result<Vec<String>, BadRequest> {
    let value = of_size(value, size);
    let other = match value {
        Value::Table(table) if table.len() == 1 => table.get("as_in").and_then(Value::as_str),
        _ => None,
    };
    let named = match other {
        None => strings(value),
        Some(name) => {
            let known: Vec<&str> = BUNDLED.iter().map(|(name, _)| *name).collect();
            let unknown = || BadRequest::new(kit::suggest::unknown("figure", name, &known));
            let other = Experiment::read(find(name).ok_or_else(unknown)?)?;
            other.all.get("workloads").and_then(|value| strings(of_size(value, size)))
        }
    };
    named.ok_or_else(|| {
        BadRequest::new("`workloads` is a name, a list of names, a table of these by size, or { as_in = FIGURE } where the figure's `[all]` has such a list")
    })
}

/// Whether published figures are shown, and the file's own: `true`, or a table by row, or by column and row.
fn published(value: Option<&Value>, show: &[String]) -> Result<(bool, Option<OwnFigures>), BadRequest> {
    let wrong = || {
        BadRequest::new(
            "`published` is true, false, a table of figures by row, as { nn = 1.1 }, or of such tables by column",
        )
    };
    let table = match value {
        None => return Ok((false, None)),
        Some(Value::Boolean(is_shown)) => return Ok((*is_shown, None)),
        Some(value) => value.as_table().ok_or_else(wrong)?,
    };
    let number = |value: &Value| value.as_float().or(value.as_integer().map(|n| n as f64)).filter(|x| x.is_finite());
    let rows = |table: &Table| -> Option<BTreeMap<String, f64>> {
        table.iter().map(|(row, value)| Some((row.clone(), number(value)?))).collect()
    };
    let columns = match rows(table) {
        Some(of_all) => BTreeMap::from([(String::new(), of_all)]),
        None => {
            let of_column = |(label, of): (&String, &Value)| Some((label.clone(), rows(of.as_table()?)?));
            table.iter().map(of_column).collect::<Option<_>>().ok_or_else(wrong)?
        }
    };
    let first = show.iter().map(String::as_str).find(|name| ratio(name).is_some());
    let figure = first.or(show.is_empty().then_some("speedup"));
    let figure = figure.ok_or_else(|| BadRequest::new("`published`: `show` has no ratio that such figures are of"))?;
    let own = OwnFigures::new(figure, columns).map_err(|why| BadRequest::new(format!("`published`: {why}")))?;
    Ok((true, Some(own)))
}

/// The option that a file calls `key`.
fn option(key: &str) -> Result<&'static OptionRow, BadRequest> {
    let name = key.replace('-', "_");
    ROWS.iter().find(|row| row.name == name || row.aliases.contains(&&*name)).ok_or_else(|| {
        let known: Vec<&str> = ROWS.iter().filter(|row| row.reason(Way::Sweep).is_none()).map(|row| row.name).collect();
        BadRequest::new(kit::suggest::unknown("option", key, &known))
    })
}

/// The value for a size: that itself, unless it is a table by size.
fn of_size(value: &Value, size: Size) -> &Value {
    let by_size =
        |table: &Table| !table.is_empty() && table.keys().all(|key| Size::ALL.iter().any(|s| s.name() == key));
    match value {
        Value::Table(table) if by_size(table) => table.get(size.name()).unwrap_or(value),
        _ => value,
    }
}

/// A scalar as an option reads it.
fn text(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Integer(number) => Some(number.to_string()),
        Value::Float(number) => Some(number.to_string()),
        Value::Boolean(flag) => Some(flag.to_string()),
        Value::Datetime(_) | Value::Array(_) | Value::Table(_) => None,
    }
}

fn strings(value: &Value) -> Option<Vec<String>> {
    match value {
        Value::Array(all) => all.iter().map(text).collect(),
        one => Some(vec![text(one)?]),
    }
}

/// The texts of an option's value.
fn values(row: &OptionRow, value: &Value) -> Result<Vec<OsString>, String> {
    let texts = match value {
        Value::Boolean(flag) if row.shape == Shape::Flag => return Ok(vec![if *flag { "1" } else { "0" }.into()]),
        Value::Table(table) => {
            let assignment = |(key, value): (&String, &Value)| Some(format!("{key}={}", strings(value)?.join(",")));
            table.iter().map(assignment).collect()
        }
        other => strings(other),
    };
    let texts = texts.ok_or("it is a text, a number, true or false, a list of these or a table of these")?;
    Ok(texts.into_iter().map(OsString::from).collect())
}

/// Replaces the machine by the stock GPU with the machine's scheduler.
fn on_stock(texts: &mut Texts, stock: &str) {
    let gpu = texts.iter_mut().find(|(row, _)| row.name == "gpu");
    let paper = gpu.map(|(_, gpu)| std::mem::replace(gpu, vec![stock.into()]));
    let paper = paper.and_then(|paper| config::load(paper.first()?.to_str()?).ok());
    let Some(paper) = paper.filter(|_| !texts.iter().any(|(row, _)| row.name == "scheduler")) else { return };
    // Cores that are not SMs refuse a scheduler of their own.
    let setting: OsString = format!("sm.issue.scheduler={}", paper.sm.issue.scheduler).into();
    match texts.iter_mut().find(|(row, _)| row.name == "set") {
        Some((_, settings)) => settings.push(setting),
        None => texts.push((row("set").expect("the option is there"), vec![setting])),
    }
}

/// Files that options name beside the experiment's.
fn in_folder(texts: &mut Texts, folder: &Path) {
    for (row, values) in texts.iter_mut().filter(|(row, _)| ["gpu", "energy_model"].contains(&row.name)) {
        debug_assert!(!row.writes, "what is written is not looked for");
        for value in values {
            *value = placed(Path::new(value), folder).into_os_string();
        }
    }
}

/// `name` as a path of `folder`, if there is such a file.
fn placed(name: &Path, folder: &Path) -> PathBuf {
    let beside = folder.join(name);
    if !folder.as_os_str().is_empty() && beside.exists() { beside } else { name.to_owned() }
}

/// The comparison as a command.
fn command(workloads: &[String], texts: &Texts, show: &[String], published: bool) -> String {
    let mut command = format!("warpwright compare {}", workloads.join(" "));
    for (row, values) in texts.iter().filter(|(row, _)| row.reason(Way::Compare).is_none()) {
        row.words(Way::Compare, values).iter().for_each(|word| {
            let word = word.to_string_lossy();
            let is_plain = word.chars().all(|c| c.is_alphanumeric() || "-_=.,:+/%@[]*".contains(c));
            let _ = write!(command, " {}", if is_plain { word.into_owned() } else { kit::text::shell_word(&word) });
        });
    }
    if !show.is_empty() {
        let _ = write!(command, " --show {}", show.join(","));
    }
    command + if published { " --published" } else { "" }
}

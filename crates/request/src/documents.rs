//! Options as text: the tables of the documents, and the keywords of Python.

use crate::option::{Group, OptionRow, Shape, Way};
use crate::options::ROWS;
use kit::suggest;
use kit::text::excerpt;
use render::wrap::wrapped_within;
use std::fmt::Write as _;

/// Columns of a line in the package of Python.
const PYTHON_COLUMNS: usize = 120;

/// The values of an option as a command line has them.
fn usage(row: &OptionRow) -> String {
    let short = row.short.map_or_else(String::new, |short| format!("-{short}, "));
    let value = match row.shape {
        Shape::Flag => String::new(),
        Shape::Optional => format!("[={}]", row.value),
        Shape::One | Shape::Pair | Shape::List | Shape::Repeated => format!(" {}", row.value),
    };
    format!("{short}--{}{value}", row.option())
}

/// Meaning, choices and default.
fn meaning(row: &OptionRow) -> String {
    let choices: Vec<String> = (row.choices)()
        .into_iter()
        .filter(|(_, meaning)| !meaning.is_empty())
        .map(|(name, meaning)| format!("`{name}`: {}", lower_first(meaning)))
        .collect();
    let choices = if choices.is_empty() { String::new() } else { format!(" ({})", choices.join("; ")) };
    let default = row.default.map(str::to_owned).or_else(|| row.usual());
    let default = default.map_or_else(String::new, |default| format!(". Default: {default}"));
    let most = row.most.map_or_else(String::new, |most| format!("; at most {most}"));
    let exec = row.exec_default.map_or_else(String::new, |default| format!(", for programs {default}"));
    format!("{}{choices}{default}{exec}{most}", row.text.trim()).replace('|', "\\|")
}

fn lower_first(text: &str) -> String {
    let mut chars = text.chars();
    let first = chars.next().into_iter().flat_map(char::to_lowercase);
    first.chain(chars).collect()
}

/// Rows of a table of Markdown: options with their meaning, by group, and the ways in that have them.
pub fn options() -> String {
    let mut text = String::new();
    for group in Group::ALL {
        let _ = writeln!(
            text,
            "\n## {}\n\n| option | meaning | run | compare | sweep | exec | Python |\n| --- | --- | --- | --- | --- | --- | --- |",
            group.heading()
        );
        for row in ROWS.iter().filter(|row| row.group == group) {
            let has = |way| if row.reason(way).is_none() { "x" } else { "" };
            let in_python = Way::ALL.iter().any(|way| way.is_python() && row.reason(*way).is_none());
            let python = if in_python { format!("`{}`", row.keyword()) } else { String::new() };
            let [run, compare, sweep, exec] = [Way::Run, Way::Compare, Way::Sweep, Way::Exec].map(has);
            let usage = usage(row).replace('|', "\\|");
            let _ =
                writeln!(text, "| `{usage}` | {} | {run} | {compare} | {sweep} | {exec} | {python} |", meaning(row));
        }
    }
    text
}

/// Rows of a table of Markdown: why ways in lack options.
pub fn reasons() -> String {
    let mut text = "| option | not in | because |\n| --- | --- | --- |\n".to_owned();
    for row in ROWS {
        for (way, reason) in row.reasons() {
            let _ = writeln!(text, "| `--{}` | {} | {reason} |", row.option(), way.name());
        }
    }
    text
}

/// Rows of a table of Markdown: environment variables.
pub fn variables() -> String {
    let mut text = "| variable | as the option |\n| --- | --- |\n".to_owned();
    for row in ROWS.iter().filter(|row| row.reason(Way::Exec).is_none()) {
        let _ = writeln!(text, "| `{}` | `{}` |", row.variable(), usage(row).replace('|', "\\|"));
    }
    text
}

/// A call of Python whose keywords are options.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Call {
    /// `run`.
    Run,
    /// `compare`.
    Compare,
    /// `sweep`.
    Sweep,
    /// `Device`: a GPU without a workload.
    Device,
    /// `launch`: a device for one launch.
    Launch,
}

impl Call {
    /// Every call.
    pub const ALL: [Self; 5] = [Self::Run, Self::Compare, Self::Sweep, Self::Device, Self::Launch];

    /// Its name in Python.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Run => "run",
            Self::Compare => "compare",
            Self::Sweep => "sweep",
            Self::Device => "Device",
            Self::Launch => "launch",
        }
    }

    const fn way(self) -> Way {
        match self {
            Self::Run | Self::Device | Self::Launch => Way::Python,
            Self::Compare => Way::PythonCompare,
            Self::Sweep => Way::PythonSweep,
        }
    }

    /// Its options, in the order of the table.
    fn rows(self) -> impl Iterator<Item = &'static OptionRow> {
        ROWS.iter().filter(move |row| {
            row.reason(self.way()).is_none()
                && match self {
                    Self::Run | Self::Compare | Self::Sweep => true,
                    Self::Device => !is_workload(row),
                    // Its `registers` are the number that each thread of the launch has.
                    Self::Launch => !is_workload(row) && row.name != "registers",
                }
        })
    }

    /// Names of an option; a comparison has plurals too.
    fn names(self, row: &'static OptionRow) -> impl Iterator<Item = &'static str> {
        let aliases = row.aliases.iter().copied().filter(move |_| self.way().compares());
        std::iter::once(row.keyword()).chain(aliases)
    }

    /// Type of an option's value.
    fn type_of(self, row: &OptionRow) -> String {
        let choices: Vec<String> = (row.choices)().into_iter().map(|(name, _)| format!("\"{name}\"")).collect();
        let one = match choices.is_empty() {
            true => row.python_type.to_owned(),
            false => format!("Literal[{}]", choices.join(", ")),
        };
        let is_several = row.shape == Shape::List && (!row.is_axis || self.way().compares());
        if is_several { format!("{one} | Sequence[{one}]") } else { one }
    }

    /// The parameters of its definition.
    pub fn parameters(self) -> String {
        let mut text = String::new();
        for row in self.rows() {
            for name in self.names(row) {
                let _ = writeln!(text, "    {name}: {} | None = None,", self.type_of(row));
            }
        }
        text
    }

    /// Meanings of its options, for its docstring.
    pub fn meanings(self) -> String {
        let mut text = String::new();
        for row in self.rows() {
            let names: Vec<&str> = self.names(row).collect();
            let meaning = meaning(row).replace("\\|", "|");
            let indent = "        ";
            let _ = writeln!(text, "    {}", names.join(", "));
            text += &wrapped_within(PYTHON_COLUMNS, &format!("{meaning}."), indent, indent);
        }
        text
    }
}

impl Call {
    /// The message for a keyword that it does not have: the option's name here, the reason why it has none, or the
    /// nearest of `known`, the names of its arguments.
    pub fn unexpected(self, keyword: &str, known: &[impl AsRef<str>]) -> String {
        let call = self.name();
        let is_called = |row: &&OptionRow| row.name == keyword || row.option() == keyword || is_keyword(row, keyword);
        let found = ROWS.iter().find(is_called);
        let hint = match found {
            Some(row) if self.rows().any(|own| own.name == row.name) => format!(": it is `{}` here", row.keyword()),
            Some(row) => match row.reason(self.way()) {
                Some(reason) => format!(": {reason}"),
                None => ": a device has no workload; `warpwright.run` has it".to_owned(),
            },
            None => suggest::among(keyword, known),
        };
        format!("{call}() got an unexpected keyword argument '{}'{hint}", excerpt(keyword))
    }
}

/// Whether an option chooses the workload, which a device does not have.
fn is_workload(row: &OptionRow) -> bool {
    row.group == Group::Input && row.reason(Way::Exec).is_some()
}

/// The option that Python calls `keyword` in a call of `way`.
pub fn by_keyword(keyword: &str) -> Option<&'static OptionRow> {
    ROWS.iter().find(|row| is_keyword(row, keyword))
}

fn is_keyword(row: &OptionRow, keyword: &str) -> bool {
    row.keyword() == keyword || row.aliases.contains(&keyword)
}

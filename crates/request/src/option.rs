//! An option of a run: a row of the table in [`options`](crate::options).

use std::ffi::{OsStr, OsString};
use std::io;
use std::ops::Deref;
use std::os::unix::ffi::OsStrExt;

/// A way in which a run is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// `warpwright run`, `profile` and `timeline`.
    Run,
    /// `warpwright compare`.
    Compare,
    /// `warpwright sweep`, and the files of experiments.
    Sweep,
    /// `warpwright exec`, and the environment variables that it sets.
    Exec,
    /// `warpwright trace`.
    Trace,
    /// `run` and `Device` in Python.
    Python,
    /// `compare` in Python.
    PythonCompare,
    /// `sweep` in Python.
    PythonSweep,
}

impl Way {
    /// Every way.
    pub const ALL: [Self; 8] = [
        Self::Run,
        Self::Compare,
        Self::Sweep,
        Self::Exec,
        Self::Trace,
        Self::Python,
        Self::PythonCompare,
        Self::PythonSweep,
    ];

    /// Its name in messages.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Run => "`warpwright run`",
            Self::Compare => "`warpwright compare`",
            Self::Sweep => "`warpwright sweep`",
            Self::Exec => "`warpwright exec`",
            Self::Trace => "`warpwright trace`",
            Self::Python => "`warpwright.run`",
            Self::PythonCompare => "`warpwright.compare`",
            Self::PythonSweep => "`warpwright.sweep`",
        }
    }

    /// Whether options are keywords of Python.
    pub const fn is_python(self) -> bool {
        matches!(self, Self::Python | Self::PythonCompare | Self::PythonSweep)
    }

    /// Whether options with several values are known by their plurals first.
    pub const fn has_plurals(self) -> bool {
        matches!(self, Self::Compare | Self::Sweep)
    }

    /// Whether machines are compared.
    pub const fn compares(self) -> bool {
        matches!(self, Self::Compare | Self::Sweep | Self::PythonCompare | Self::PythonSweep)
    }

    /// Whether runs are stored.
    pub const fn stores(self) -> bool {
        matches!(self, Self::Sweep | Self::PythonSweep)
    }
}

/// Under which heading an option is listed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Group {
    /// The machine, and what is simulated and checked.
    Machine,
    /// Changes to the GPU description.
    Changes,
    /// The code that runs.
    Input,
    /// Energy, power, and statistics over time.
    Energy,
    /// Records cycle by cycle.
    Timeline,
    /// Stop and continue.
    Checkpoints,
    /// Where results go and what they show.
    Output,
}

impl Group {
    /// Every group, in the order of the documents.
    pub const ALL: [Self; 7] =
        [Self::Machine, Self::Changes, Self::Input, Self::Energy, Self::Timeline, Self::Checkpoints, Self::Output];

    /// Its heading.
    pub const fn heading(self) -> &'static str {
        match self {
            Self::Machine => "Options",
            Self::Changes => "Changes to the GPU",
            Self::Input => "Input",
            Self::Energy => "Energy and power",
            Self::Timeline => "Timeline",
            Self::Checkpoints => "Checkpoints",
            Self::Output => "Output",
        }
    }
}

/// How the values of an option are written on a command line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// It is there or not.
    Flag,
    /// One word.
    One,
    /// One word after an equals sign, or none.
    Optional,
    /// Two words, which are joined by a comma everywhere else.
    Pair,
    /// Words between commas.
    List,
    /// One word each time that it is given.
    Repeated,
}

/// Ways in that do not have an option, each with the reason.
pub type Reasons = &'static [(Way, &'static str)];

/// An option of a run: all that is said about it.
#[derive(Debug)]
pub struct OptionRow {
    /// Name, with underscores.
    pub name: &'static str,
    /// Its meaning.
    pub text: &'static str,
    /// Placeholder of its value in help texts.
    pub value: &'static str,
    /// A value for examples and tests.
    pub example: &'static str,
    /// Where it is listed.
    pub group: Group,
    /// How its values are written.
    pub shape: Shape,
    /// The value if none is given.
    pub default: Option<&'static str>,
    /// The default of `exec` where it is another one.
    pub exec_default: Option<&'static str>,
    /// The value if none is given, in words; `{}` is for `usual_value`.
    pub usual: Option<&'static str>,
    /// The part of `usual` that a constant of the program has.
    pub usual_value: fn() -> String,
    /// The largest value, of a number.
    pub most: Option<u64>,
    /// Other names on the command line and in the environment.
    pub aliases: &'static [&'static str],
    /// One-letter name on the command line.
    pub short: Option<char>,
    /// Name in Python, if it is another one.
    pub python: Option<&'static str>,
    /// Type in Python.
    pub python_type: &'static str,
    /// The possible values, each with its meaning, if they are few.
    pub choices: fn() -> Vec<(&'static str, &'static str)>,
    /// Checks a value.
    pub check: fn(&OsStr) -> Result<(), String>,
    /// Whether a comparison takes several values, one for each column.
    pub is_axis: bool,
    /// Whether its value names a file or folder that results are written to.
    pub writes: bool,
    /// Whether `trace` has it, beside what runs.
    pub is_traced: bool,
    /// Whether `sweep` has it, although `compare` does not.
    pub is_of_sweeps: bool,
    /// It has no effect without one of these; empty: it has one.
    pub needs: &'static [&'static str],
    /// Ways in that do not have it, each with the reason.
    pub absent: &'static [Reasons],
}

/// Why `warpwright trace` lacks what is not about the program.
const TRACE: &str = "a trace records what a program does, without time";

impl OptionRow {
    /// A row with nothing but what every option has.
    pub(crate) const PLAIN: Self = Self {
        name: "",
        text: "",
        value: "",
        example: "",
        group: Group::Machine,
        shape: Shape::One,
        default: None,
        exec_default: None,
        usual: None,
        usual_value: String::new,
        most: None,
        aliases: &[],
        short: None,
        python: None,
        python_type: "",
        choices: Vec::new,
        check: |_| Ok(()),
        is_axis: false,
        writes: false,
        is_traced: false,
        is_of_sweeps: false,
        needs: &[],
        absent: &[],
    };

    /// Why `way` does not have it; `None` if it does.
    pub fn reason(&self, way: Way) -> Option<&'static str> {
        if way == Way::Trace {
            let is_there = self.group == Group::Input || self.is_traced;
            return (!is_there).then_some(TRACE);
        }
        let of = |way| self.reasons().find(|(absent, _)| *absent == way).map(|(_, reason)| *reason);
        match way {
            // A sweep is a comparison whose runs are kept.
            Way::Sweep => of(way).or_else(|| of(Way::Compare).filter(|_| !self.is_of_sweeps)),
            Way::PythonSweep => of(way).or_else(|| of(Way::PythonCompare)),
            _ => of(way),
        }
    }

    /// Why ways in lack it.
    pub fn reasons(&self) -> impl Iterator<Item = &'static (Way, &'static str)> {
        self.absent.iter().copied().flatten()
    }

    /// The value for `way` if none is given.
    pub fn default_of(&self, way: Way) -> Option<&'static str> {
        self.exec_default.filter(|_| way == Way::Exec).or(self.default)
    }

    /// The value if none is given, in words.
    pub fn usual(&self) -> Option<String> {
        self.usual.map(|text| text.replace("{}", &(self.usual_value)()))
    }

    /// Checks that a value is not above the largest one.
    ///
    /// # Errors
    /// It is: both are named.
    pub fn check_bound(&self, text: &OsStr) -> Result<(), String> {
        let Some(most) = self.most else { return Ok(()) };
        let value = u64::read(text)?;
        if value > most { Err(format!("at most {most}, not {value}")) } else { Ok(()) }
    }

    /// Name on the command line, without the dashes.
    pub fn option(&self) -> String {
        self.name.replace('_', "-")
    }

    /// Name of the environment variable.
    pub fn variable(&self) -> String {
        format!("WARPWRIGHT_{}", self.name.to_uppercase())
    }

    /// Name in Python.
    pub fn keyword(&self) -> &'static str {
        self.python.unwrap_or(self.name)
    }

    /// The words of a command line of `way` that give these values; none for a flag that is not set.
    pub fn words(&self, way: Way, values: &[OsString]) -> Vec<OsString> {
        let option = OsString::from(self.called(way));
        let joined = || values.join(OsStr::new(","));
        match self.shape {
            Shape::Flag if values == ["0"] => Vec::new(),
            Shape::Flag => vec![option],
            Shape::Optional => {
                let mut word = option;
                word.push("=");
                word.push(joined());
                vec![word]
            }
            Shape::Pair => std::iter::once(option).chain(values.iter().flat_map(|value| split(value))).collect(),
            Shape::Repeated => values.iter().flat_map(|value| [option.clone(), value.clone()]).collect(),
            Shape::One | Shape::List => vec![option, joined()],
        }
    }

    /// Name in messages to one who asks by `way`; `exec` is asked by its command.
    pub fn called(&self, way: Way) -> String {
        match self.aliases {
            _ if way.is_python() => self.keyword().to_owned(),
            [plural] if self.is_axis && way.has_plurals() => format!("--{plural}"),
            _ => format!("--{}", self.option()),
        }
    }
}

/// The two words of a pair.
fn split(pair: &OsStr) -> Vec<OsString> {
    let parts = pair.as_bytes().splitn(2, |byte| *byte == b',');
    parts.map(|part| OsStr::from_bytes(part).to_owned()).collect()
}

/// A value of an option.
pub trait One: Sized {
    /// How a command line has it.
    const SHAPE: Shape = Shape::One;
    /// Type in Python.
    const PYTHON: &'static str = "str";
    /// Whether several of them stand between commas; else an option is repeated.
    const AT_COMMAS: bool = true;

    /// Reads a value.
    ///
    /// # Errors
    /// The text is not one: why.
    fn read(text: &OsStr) -> Result<Self, String>;

    /// The text of which [`One::read`] makes the value again.
    fn text(&self) -> OsString;

    /// The possible values, each with its meaning, if they are few.
    fn choices() -> Vec<(&'static str, &'static str)> {
        Vec::new()
    }

    /// The texts of several values.
    fn split(text: &OsStr) -> Vec<OsString> {
        match text.to_str().filter(|_| Self::AT_COMMAS) {
            Some(text) => text.split(',').map(|one| one.trim().into()).collect(),
            None => vec![text.to_owned()],
        }
    }

    /// Makes paths absolute: another process may run in another folder.
    ///
    /// # Errors
    /// The current folder is not known.
    fn absolute(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Values of an option, whatever they are.
pub trait Field {
    /// As if it was not given.
    fn clear(&mut self);

    /// Adds the values of a text.
    ///
    /// # Errors
    /// There is no such value: why.
    fn add(&mut self, text: &OsStr) -> Result<(), String>;

    /// Texts of which [`Field::add`] makes the values again; none if it was not given.
    fn texts(&self) -> Vec<OsString>;

    /// As [`One::absolute`].
    ///
    /// # Errors
    /// The current folder is not known.
    fn absolute(&mut self) -> io::Result<()>;
}

/// The table's interface to a type of values.
pub(crate) trait Shaped: Field + Default {
    const SHAPE: Shape;
    const PYTHON: &'static str;

    fn choices() -> Vec<(&'static str, &'static str)>;

    fn check(text: &OsStr) -> Result<(), String> {
        Self::default().add(text)
    }
}

impl Field for bool {
    fn clear(&mut self) {
        *self = false;
    }

    fn add(&mut self, text: &OsStr) -> Result<(), String> {
        *self = match text.to_str() {
            Some("1" | "true") => true,
            Some("0" | "false" | "") => false,
            _ => return Err(format!("`{}` is not 1 or 0", shown(text))),
        };
        Ok(())
    }

    fn texts(&self) -> Vec<OsString> {
        if *self { vec!["1".into()] } else { Vec::new() }
    }

    fn absolute(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Shaped for bool {
    const SHAPE: Shape = Shape::Flag;
    const PYTHON: &'static str = "bool";

    fn choices() -> Vec<(&'static str, &'static str)> {
        Vec::new()
    }
}

impl<T: One> Field for Option<T> {
    fn clear(&mut self) {
        *self = None;
    }

    fn add(&mut self, text: &OsStr) -> Result<(), String> {
        *self = Some(T::read(text)?);
        Ok(())
    }

    fn texts(&self) -> Vec<OsString> {
        self.iter().map(T::text).collect()
    }

    fn absolute(&mut self) -> io::Result<()> {
        self.iter_mut().try_for_each(T::absolute)
    }
}

impl<T: One> Shaped for Option<T> {
    const SHAPE: Shape = T::SHAPE;
    const PYTHON: &'static str = T::PYTHON;

    fn choices() -> Vec<(&'static str, &'static str)> {
        T::choices()
    }
}

impl<T: One> Field for Vec<T> {
    fn clear(&mut self) {
        Vec::clear(self);
    }

    fn add(&mut self, text: &OsStr) -> Result<(), String> {
        let parts = T::split(text);
        if parts.iter().any(|part| part.is_empty()) {
            let what = if parts.len() > 1 { "a name is missing at a comma" } else { "no name is given" };
            return Err(what.to_owned());
        }
        for part in parts {
            self.push(T::read(&part)?);
        }
        Ok(())
    }

    fn texts(&self) -> Vec<OsString> {
        self.iter().map(T::text).collect()
    }

    fn absolute(&mut self) -> io::Result<()> {
        self.iter_mut().try_for_each(T::absolute)
    }
}

impl<T: One> Shaped for Vec<T> {
    const SHAPE: Shape = if T::AT_COMMAS { Shape::List } else { Shape::Repeated };
    const PYTHON: &'static str = T::PYTHON;

    fn choices() -> Vec<(&'static str, &'static str)> {
        T::choices()
    }
}

/// A value that is always there: its row has a default.
#[derive(Clone, Debug, PartialEq)]
pub struct Always<T>(Option<T>);

impl<T> Default for Always<T> {
    fn default() -> Self {
        Self(None)
    }
}

impl<T> Deref for Always<T> {
    type Target = T;

    fn deref(&self) -> &T {
        self.0.as_ref().expect("its row has a default")
    }
}

impl<T: One> Field for Always<T> {
    fn clear(&mut self) {
        self.0.clear();
    }

    fn add(&mut self, text: &OsStr) -> Result<(), String> {
        self.0.add(text)
    }

    fn texts(&self) -> Vec<OsString> {
        self.0.texts()
    }

    fn absolute(&mut self) -> io::Result<()> {
        self.0.absolute()
    }
}

impl<T: One> Shaped for Always<T> {
    const SHAPE: Shape = T::SHAPE;
    const PYTHON: &'static str = T::PYTHON;

    fn choices() -> Vec<(&'static str, &'static str)> {
        T::choices()
    }
}

/// A text as messages quote it.
pub(crate) fn shown(text: &OsStr) -> String {
    kit::text::excerpt(&text.to_string_lossy())
}

/// A value as text.
///
/// # Errors
/// It is not UTF-8.
pub(crate) fn utf8(text: &OsStr) -> Result<&str, String> {
    text.to_str().ok_or_else(|| format!("`{}` is not UTF-8", shown(text)))
}

/// Makes [`Options`](crate::Options) and its table of rows: `name: type, "VALUE", "example", { further: columns }`, with
/// the meaning as its comment, in groups.
macro_rules! options {
    ($(
        $group:ident {$(
            #[doc = $text:literal]
            $name:ident: $type:ty, $value:literal, $example:literal $(, { $($key:ident: $column:expr),* $(,)? })?;
        )*}
    )*) => {
        /// The options of a run, typed. [`ROWS`] says what each means.
        #[derive(Clone, Debug, PartialEq)]
        pub struct Options {
            /// How the run is asked for.
            pub way: Way,
            $($(#[doc = $text] pub $name: $type,)*)*
        }

        /// All options, in the order of the documents.
        pub static ROWS: &[OptionRow] = &[$($(
            OptionRow {
                name: stringify!($name),
                text: $text,
                value: $value,
                example: $example,
                group: Group::$group,
                shape: <$type as Shaped>::SHAPE,
                python_type: <$type as Shaped>::PYTHON,
                choices: <$type as Shaped>::choices,
                check: <$type as Shaped>::check,
                $($($key: $column,)*)?
                ..OptionRow::PLAIN
            },
        )*)*];

        impl Options {
            fn empty(way: Way) -> Self {
                Self { way, $($($name: Default::default(),)*)* }
            }

            fn field_mut(&mut self, row: &OptionRow) -> &mut dyn Field {
                match row.name {
                    $($(stringify!($name) => &mut self.$name,)*)*
                    other => unreachable!("there is no option {other}"),
                }
            }

            fn field(&self, row: &OptionRow) -> &dyn Field {
                match row.name {
                    $($(stringify!($name) => &self.$name,)*)*
                    other => unreachable!("there is no option {other}"),
                }
            }
        }
    };
}
pub(crate) use options;

//! Options as arguments of a command.

use crate::BadRequest;
use crate::option::{Group, OptionRow, Shape, Way};
use crate::options::{Options, ROWS, Texts};
use clap::builder::{OsStringValueParser, PossibleValue, PossibleValuesParser, TypedValueParser, ValueParser};
use clap::error::ErrorKind;
use clap::{Arg, ArgAction, ArgMatches, Command};
use std::ffi::OsString;
use std::fmt::Debug;
use std::marker::PhantomData;

/// A command that takes options of a run.
pub trait Asks: Copy + Debug + Send + Sync + 'static {
    /// Which options it has.
    const WAY: Way;
}

macro_rules! commands {
    ($($(#[$doc:meta])* $name:ident;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub struct $name;

        impl Asks for $name {
            const WAY: Way = Way::$name;
        }
    )*};
}
commands! {
    /// `run`, `profile` and `timeline`.
    Run;
    /// `compare`.
    Compare;
    /// `sweep`.
    Sweep;
    /// `exec`.
    Exec;
    /// `trace`.
    Trace;
}

/// The options that a command line gives, to be flattened into the command's own arguments.
#[derive(Clone, Debug)]
pub struct Given<C> {
    texts: Texts,
    command: PhantomData<C>,
}

impl<C: Asks> Given<C> {
    /// The texts of the options that are given.
    pub fn texts(&self) -> &Texts {
        &self.texts
    }

    /// The options.
    ///
    /// # Errors
    /// The command does not have one of them, or two exclude each other.
    pub fn options(&self) -> Result<Options, BadRequest> {
        Options::read(C::WAY, &self.texts, &|row: &OptionRow| row.called(C::WAY))
    }
}

impl<C: Asks> clap::Args for Given<C> {
    fn augment_args(command: Command) -> Command {
        ROWS.iter()
            .filter(|row| is_argument(row, C::WAY))
            .fold(command, |command, row| command.arg(argument(row, C::WAY)))
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl<C: Asks> clap::FromArgMatches for Given<C> {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let rows = ROWS.iter().filter(|row| is_argument(row, C::WAY));
        let texts = rows.filter_map(|row| Some((row, given(row, matches)?))).collect();
        Ok(Self { texts, command: PhantomData })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

/// `command` with options of the table, for commands that are not about one run: each by its name, and with the words for
/// its default if that is another one here.
pub fn with_options(command: Command, options: &[(&str, Option<&'static str>)]) -> Command {
    chosen(options).fold(command, |command, (row, usual)| {
        let arg = argument(row, Way::Run);
        command.arg(match usual {
            Some(usual) => arg.help(help(row, Way::Run, Some(usual))),
            None => arg,
        })
    })
}

/// The options that a command line of [`with_options`] gives.
///
/// # Errors
/// Two options exclude each other.
pub fn options_of(matches: &ArgMatches, options: &[(&str, Option<&'static str>)]) -> Result<Options, clap::Error> {
    let texts = chosen(options).filter_map(|(row, _)| Some((row, given(row, matches)?))).collect();
    Options::read(Way::Run, &texts, &|row| row.called(Way::Run))
        .map_err(|e| clap::Error::raw(ErrorKind::ValueValidation, format!("{e}\n")))
}

fn chosen<'a>(
    options: &'a [(&str, Option<&'static str>)],
) -> impl Iterator<Item = (&'static OptionRow, Option<&'static str>)> + 'a {
    ROWS.iter().filter_map(|row| options.iter().find(|(name, _)| *name == row.name).map(|(_, usual)| (row, *usual)))
}

/// The texts of an option, if it is given.
fn given(row: &OptionRow, matches: &ArgMatches) -> Option<Vec<OsString>> {
    if row.shape == Shape::Flag {
        return matches.get_flag(row.name).then(|| vec!["1".into()]);
    }
    let few = !(row.choices)().is_empty();
    let words: Vec<OsString> = if few {
        matches.get_many::<String>(row.name)?.map(OsString::from).collect()
    } else {
        matches.get_many::<OsString>(row.name)?.cloned().collect()
    };
    Some(if row.shape == Shape::Pair { vec![words.join(",".as_ref())] } else { words })
}

/// Whether the table makes an argument of the option: `trace` has a `--out` of its own.
fn is_argument(row: &OptionRow, way: Way) -> bool {
    way != Way::Trace || row.name != "out"
}

/// The options that most commands are given, in the order of help: before all others.
const USUAL: [&str; 11] =
    ["gpu", "core", "scheduler", "vary", "size", "param", "set", "stats", "json", "html", "threads"];

/// The option as an argument of a command; hidden where `way` does not have it, to say why.
fn argument(row: &'static OptionRow, way: Way) -> Arg {
    let is_absent = row.reason(way).is_some();
    let mut arg = Arg::new(row.name).long(row.option()).help(help(row, way, None)).hide(is_absent);
    arg = match USUAL.iter().position(|name| *name == row.name) {
        Some(place) => arg.display_order(place),
        None if row.group == Group::Machine => arg.help_heading("What is simulated and checked"),
        None => arg.help_heading(row.group.heading()),
    };
    if !is_absent {
        arg = arg.short(row.short);
    }
    if row.name == "out" {
        arg = arg.alias("output");
    }
    let several = row.is_axis && way.has_plurals();
    // An axis has its plural as first name where several values are usual.
    arg = match row.aliases {
        [plural] if several => arg.long(*plural).alias(row.option()),
        // The plurals are for compare.
        aliases if row.is_axis => arg.aliases(aliases),
        aliases => arg.visible_aliases(aliases),
    };
    // A wrong number is a wrong value, not an option.
    arg = arg.allow_negative_numbers(row.shape != Shape::Flag);
    let names: Vec<&str> = row.value.split(' ').collect();
    arg = match row.shape {
        Shape::Flag => return arg.action(ArgAction::SetTrue),
        Shape::One => arg.action(ArgAction::Set).value_name(row.value),
        Shape::Optional => {
            // Elsewhere the next word may be what runs.
            let needs_equals = way != Way::Exec;
            let arg = arg.action(ArgAction::Set).value_name(row.value).num_args(0..=1);
            arg.require_equals(needs_equals).default_missing_value("-")
        }
        Shape::Pair => {
            return arg
                .action(ArgAction::Set)
                .num_args(names.len())
                .value_names(names)
                .value_parser(OsStringValueParser::new());
        }
        Shape::List if several => arg.action(ArgAction::Append).value_name("A,B"),
        Shape::List | Shape::Repeated => arg.action(ArgAction::Append).value_name(row.value),
    };
    // Other lists split their texts themselves.
    if row.shape == Shape::List && !(row.choices)().is_empty() {
        arg = arg.value_delimiter(',');
    }
    let are_named_in_the_text = (row.choices)().iter().any(|(_, meaning)| meaning.is_empty());
    arg.hide_possible_values(are_named_in_the_text).value_parser(parser(row))
}

fn parser(row: &'static OptionRow) -> ValueParser {
    let choices = (row.choices)();
    if choices.is_empty() {
        let checked = move |text: OsString| (row.check)(&text).and_then(|()| row.check_bound(&text)).map(|()| text);
        return OsStringValueParser::new().try_map(checked).into();
    }
    let choices = choices.into_iter().map(|(name, meaning)| {
        let value = PossibleValue::new(name);
        if meaning.is_empty() { value } else { value.help(meaning) }
    });
    PossibleValuesParser::new(choices).into()
}

/// The meaning, with the default, which is `usual` if that is given.
fn help(row: &OptionRow, way: Way, usual: Option<&str>) -> String {
    let several = if row.is_axis && way.has_plurals() { "; several between commas" } else { "" };
    let every = if several.is_empty() || !["gpu", "core", "scheduler"].contains(&row.name) { "" } else { ", or `all`" };
    let default = usual.or(row.default_of(way)).map(str::to_owned).or_else(|| row.usual());
    let default = default.map_or_else(String::new, |default| format!(" [default: {default}]"));
    format!("{}{several}{every}{default}", row.text.trim())
}

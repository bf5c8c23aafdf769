//! One request by command line, by environment variables and by keywords.

use clap::{Args as _, FromArgMatches as _};
use request::command::{Asks, Compare, Exec, Given, Run, Sweep, Trace};
use request::option::{OptionRow, Way};
use request::options::{ROWS, Texts, row};
use request::{Options, environment};
use std::ffi::OsString;

/// The words of a command line that give `row` its example.
fn words(row: &OptionRow) -> Vec<OsString> {
    row.words(Way::Run, &[row.example.into()])
}

fn by_command<C: Asks>(words: &[OsString]) -> Result<Options, String> {
    let grammar = Given::<C>::augment_args(clap::Command::new("test").no_binary_name(true));
    let matches = grammar.try_get_matches_from(words).map_err(|e| e.to_string())?;
    let given = Given::<C>::from_arg_matches(&matches).map_err(|e| e.to_string())?;
    given.options().map_err(|e| e.message)
}

fn by_texts(way: Way, texts: &Texts) -> Result<Options, String> {
    Options::read(way, texts, &|row| row.called(way)).map_err(|e| e.message)
}

/// Options that an option is given with: alone it means nothing.
fn with(row: &OptionRow) -> Vec<&'static OptionRow> {
    let others: &[&str] = if row.name == "max_registers" { &["registers"] } else { &[] };
    others.iter().filter_map(|name| request::options::row(name)).collect()
}

#[test]
fn every_option_means_the_same_by_every_way() {
    for row in ROWS {
        let rows: Vec<&'static OptionRow> = with(row).into_iter().chain([row]).collect();
        let line: Vec<OsString> = rows.iter().flat_map(|row| words(row)).collect();
        let texts: Texts = rows.iter().map(|row| (*row, vec![row.example.into()])).collect();
        // `trace` has an argument of its own of that name.
        for way in Way::ALL.into_iter().filter(|way| row.name != "out" || *way != Way::Trace) {
            let given = by_texts(way, &texts);
            assert_eq!(given.is_ok(), row.reason(way).is_none(), "{} by {}: {given:?}", row.name, way.name());
            let command = match way {
                Way::Run => by_command::<Run>(&line),
                Way::Compare => by_command::<Compare>(&line),
                Way::Sweep => by_command::<Sweep>(&line),
                Way::Exec => by_command::<Exec>(&line),
                Way::Trace => by_command::<Trace>(&line),
                Way::Python | Way::PythonCompare | Way::PythonSweep => given.clone(),
            };
            match (given, command) {
                (Ok(given), Ok(command)) => {
                    assert_eq!(given, command, "{}", row.name);
                    assert_ne!(given, Options::new(way), "the example of {} is its default", row.name);
                    assert_eq!(by_texts(way, &given.texts()).as_ref(), Ok(&given), "{}", row.name);
                }
                (Err(_), Err(why)) => {
                    let reason = row.reason(way).unwrap();
                    assert!(why.contains(reason), "{} by {}: {why}", row.name, way.name());
                }
                (given, command) => panic!("{} by {}: {given:?}, {command:?}", row.name, way.name()),
            }
        }
    }
}

#[test]
fn an_environment_has_what_the_command_line_says() {
    let rows: Vec<&'static OptionRow> = ROWS.iter().filter(|row| row.reason(Way::Exec).is_none()).collect();
    // Two that exclude each other.
    let rows = rows.into_iter().filter(|row| row.name != "power_interval");
    let line: Vec<OsString> = rows.flat_map(words).collect();
    let options = by_command::<Exec>(&line).unwrap();
    let variables = environment::of(&options).unwrap();
    let get = |name: &str| {
        let (_, value) = variables.iter().find(|(variable, _)| variable == name)?;
        Some(value.to_str().unwrap().to_owned())
    };
    assert_eq!(environment::read(&get), Ok(options));
    assert_eq!(environment::read(&|_| None), Ok(Options::new(Way::Exec)));
}

#[test]
fn names_are_unique_and_texts_are_whole() {
    let names: Vec<&str> = ROWS.iter().flat_map(|row| std::iter::once(&row.name).chain(row.aliases)).copied().collect();
    for (at, name) in names.iter().enumerate() {
        assert!(!names[..at].contains(name), "{name} is there twice");
    }
    for row in ROWS {
        let ends_well = !row.text.trim().ends_with('.') && row.text.trim().starts_with(char::is_uppercase);
        assert!(ends_well, "{}: a capital first, no full stop at the end", row.name);
        assert!(row.default.is_none() || row.usual.is_none(), "{}: two defaults", row.name);
    }
}

#[test]
fn lists_and_paths_survive() {
    let line = [
        "--gpu",
        "v100, rtx2060s",
        "--core",
        "ghost:issue_buffer=16,guarded=false,inorder",
        "--set",
        "a=1",
        "--set",
        "b=[1,2]",
    ];
    let options = by_command::<Compare>(&line.map(OsString::from)).unwrap();
    let texts: Vec<(&str, Vec<OsString>)> = options.texts().into_iter().map(|(row, texts)| (row.name, texts)).collect();
    let of = |name: &str| texts.iter().find(|(row, _)| *row == name).map(|(_, texts)| texts.clone()).unwrap();
    assert_eq!(of("gpu"), ["v100", "rtx2060s"]);
    assert_eq!(of("core"), ["ghost:issue_buffer=16,guarded=false", "inorder"]);
    assert_eq!(of("set"), ["a=1", "b=[1,2]"]);
    assert!(row("json").is_some() && row("jsn").is_none());
}

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
        let filled = row.usual.is_some_and(|text| text.contains("{}"));
        assert_eq!(filled, !(row.usual_value)().is_empty(), "{}: a value without a place, or the reverse", row.name);
    }
    let usual = |name: &str| row(name).and_then(OptionRow::usual);
    assert_eq!(usual("gpu").as_deref(), Some("the launch file's, else rtx2060s"));
    assert_eq!(usual("checkpoint").as_deref(), Some("every=60s,file=WORKLOAD-GPU-CORE.checkpoint"));
}

/// The largest value of a number is the same by every way in.
#[test]
fn numbers_above_their_bounds_are_refused() {
    let bounded: Vec<_> = ROWS.iter().filter_map(|row| Some((row, row.most?))).collect();
    assert!(bounded.iter().any(|(row, _)| row.name == "stack_bytes"), "{bounded:?}");
    for (row, most) in bounded {
        let text = |value: u64| vec![OsString::from(value.to_string())];
        for way in Way::ALL.into_iter().filter(|way| row.reason(*way).is_none()) {
            let read = |value| by_texts(way, &vec![(row, text(value))]);
            assert!(read(most).is_ok(), "{} by {}", row.name, way.name());
            let why = read(most + 1).unwrap_err();
            assert_eq!(why, format!("{}: at most {most}, not {}", row.called(way), most + 1));
        }
        let by_words = |value| by_command::<Run>(&row.words(Way::Run, &text(value)));
        assert!(by_words(most).is_ok());
        let why = by_words(most + 1).unwrap_err();
        assert!(why.contains(&format!("at most {most}, not {}", most + 1)), "{why}");
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

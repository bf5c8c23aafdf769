//! Options as environment variables: `warpwright exec` sets them for the program, and so can a user.

use crate::BadRequest;
use crate::option::{OptionRow, Shape, Way};
use crate::options::{Options, ROWS, Texts};
use std::ffi::OsString;

/// The options that programs have.
fn rows() -> impl Iterator<Item = &'static OptionRow> {
    ROWS.iter().filter(|row| row.reason(Way::Exec).is_none())
}

/// The variable of each option, and its other names.
fn variables(row: &OptionRow) -> impl Iterator<Item = String> {
    let aliases = row.aliases.iter().map(|alias| format!("WARPWRIGHT_{}", alias.to_uppercase()));
    std::iter::once(row.variable()).chain(aliases)
}

/// Every variable that has a meaning.
pub fn names() -> Vec<String> {
    rows().flat_map(variables).collect()
}

/// The variables that say what `options` say.
///
/// # Errors
/// A value is not UTF-8, as a variable must be.
pub fn of(options: &Options) -> Result<Vec<(String, OsString)>, BadRequest> {
    options.texts().into_iter().map(|(row, texts)| Ok((row.variable(), value(row, texts)?))).collect()
}

fn value(row: &OptionRow, texts: Vec<OsString>) -> Result<OsString, BadRequest> {
    let utf8 = |text: OsString| {
        text.into_string().map_err(|text| {
            let shown = text.to_string_lossy();
            BadRequest::new(format!("`{shown}` is not UTF-8, as a path for a program must be"))
        })
    };
    let texts = texts.into_iter().map(utf8).collect::<Result<Vec<String>, _>>()?;
    Ok(match row.shape {
        Shape::List | Shape::Repeated if is_plain(&texts) => texts.concat().into(),
        // They may have any characters.
        Shape::List | Shape::Repeated => serde_json::to_string(&texts).map_err(BadRequest::new)?.into(),
        _ => texts.concat().into(),
    })
}

/// Whether a list reads as itself: one value without what separates values.
fn is_plain(texts: &[String]) -> bool {
    matches!(texts, [one] if !one.contains([',', ';', '[', '"']) && one.trim() == one)
}

/// The options that the environment gives; `get` gives the value of a variable.
///
/// # Errors
/// A variable has no meaning: all problems.
pub fn read(get: &dyn Fn(&str) -> Option<String>) -> Result<Options, BadRequest> {
    let mut texts: Texts = Vec::new();
    let mut problems = Vec::new();
    for row in rows() {
        let set = variables(row).find_map(|name| Some((get(&name).filter(|value| !value.trim().is_empty())?, name)));
        let Some((value, name)) = set else { continue };
        match split(row, &value) {
            Ok(all) => texts.push((row, all.into_iter().map(OsString::from).collect())),
            Err(why) => problems.push(format!("{name}: {why}")),
        }
    }
    let called = |row: &OptionRow| variables(row).find(|name| get(name).is_some()).unwrap_or_else(|| row.variable());
    let options = Options::read(Way::Exec, &texts, &called);
    if problems.is_empty() {
        return options;
    }
    problems.extend(options.err().map(|others| others.message));
    Err(BadRequest::new(problems.join("\n")))
}

/// Values of a variable: an array of JSON, or words with commas, of settings with semicolons, between them.
fn split(row: &OptionRow, value: &str) -> Result<Vec<String>, String> {
    match row.shape {
        Shape::List | Shape::Repeated if value.trim_start().starts_with('[') => {
            serde_json::from_str(value).map_err(|e| format!("not an array of texts in JSON: {e}"))
        }
        Shape::Repeated => Ok(value.split(';').map(|one| one.trim().to_owned()).collect()),
        _ => Ok(vec![value.trim().to_owned()]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read_from(variables: &[(&str, &str)]) -> Result<Options, String> {
        read(&|name| variables.iter().find(|(n, _)| *n == name).map(|(_, value)| (*value).to_owned()))
            .map_err(|e| e.message)
    }

    #[test]
    fn lists_may_be_json() {
        let options = read_from(&[
            ("WARPWRIGHT_GPU", r#"["v100", "rtx2060s"]"#),
            ("WARPWRIGHT_SET", r#"["sm_count=4", "name=a;b,[c]"]"#),
        ]);
        let options = options.unwrap();
        let gpus: Vec<_> = options.gpu.iter().map(|gpu| gpu.0.display().to_string()).collect();
        let sets: Vec<_> = options.set.iter().map(|set| &*set.0).collect();
        assert_eq!(
            (&gpus[..], &sets[..]),
            (&["v100".to_owned(), "rtx2060s".into()][..], &["sm_count=4", "name=a;b,[c]"][..])
        );
        for wrong in ["[", "[1]", r#"["a"] b"#] {
            let problem = read_from(&[("WARPWRIGHT_SET", wrong)]).unwrap_err();
            assert!(problem.contains("WARPWRIGHT_SET: not an array"), "{wrong}");
        }
        let plain =
            read_from(&[("WARPWRIGHT_GPUS", "v100, rtx2060s"), ("WARPWRIGHT_SET", "sm_count=4; name=x")]).unwrap();
        assert_eq!((plain.gpu.len(), plain.set.len()), (2, 2));
    }

    #[test]
    fn all_mistakes_are_reported_at_once() {
        let problems = read_from(&[
            ("WARPWRIGHT_THREADS", "0"),
            ("WARPWRIGHT_CORE", "gost"),
            ("WARPWRIGHT_TIME", "some"),
            ("WARPWRIGHT_ISA", "x86"),
            ("WARPWRIGHT_SET", "["),
        ]);
        let problems = problems.unwrap_err();
        for name in ["WARPWRIGHT_THREADS", "WARPWRIGHT_CORE", "WARPWRIGHT_TIME", "WARPWRIGHT_ISA", "WARPWRIGHT_SET"] {
            assert!(problems.contains(&format!("{name}: ")), "{problems}");
        }
    }
}

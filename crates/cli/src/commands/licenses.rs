//! `warpwright licenses`: the licences of the program and of what it has in it.

use crate::failure::{Exit, Outcome};
use crate::output;

/// Print the licence of Warpwright and the notices of the libraries that are part of it
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  warpwright licenses | less")]
pub struct Args {}

const OWN: &str = include_str!("../../../../LICENSE-MIT");
const THIRD_PARTY: &str = include_str!("../../../../THIRD-PARTY.md");

/// Prints the notices.
pub fn run() -> Outcome {
    output::print(&format!(
        "Warpwright is under the Apache License 2.0 or the MIT licence, as you choose.\n\n{OWN}\n{THIRD_PARTY}"
    ))?;
    Ok(Exit::Success)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    /// Crates of the lock file that are not ours, as `name version`.
    fn locked() -> BTreeSet<String> {
        let lock = include_str!("../../../../Cargo.lock");
        let value = |package: &str, key: &str| {
            let line = package.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(" = "));
            line.map(|value| value.trim_matches('"').to_owned())
        };
        let packages = lock.split("[[package]]").filter(|package| value(package, "source").is_some());
        packages
            .filter_map(|package| Some(format!("{} {}", value(package, "name")?, value(package, "version")?)))
            .collect()
    }

    #[test]
    fn the_notices_are_of_the_crates_that_are_locked() {
        let rows = THIRD_PARTY.lines().filter_map(|line| line.strip_prefix("| ")?.split_once(" | "));
        let rows: Vec<(&str, &str)> = rows.filter(|(name, _)| name.contains(' ')).collect();
        let others =
            THIRD_PARTY.lines().find_map(|line| line.strip_prefix("Only to build, to test, or on other systems: "));
        let others = others.expect("the others are listed").trim_end_matches('.').split(", ");
        let named: BTreeSet<String> = rows.iter().map(|(name, _)| *name).chain(others).map(str::to_owned).collect();
        let locked = locked();
        let differences: Vec<&String> = named.symmetric_difference(&locked).collect();
        assert!(differences.is_empty(), "run tools/rebuild-third-party: {differences:?}");
        // Each has a text.
        let headings: Vec<&str> = THIRD_PARTY
            .lines()
            .filter_map(|line| line.strip_prefix("### "))
            .flat_map(|line| line.split(", "))
            .collect();
        let without: Vec<&str> = THIRD_PARTY
            .lines()
            .filter_map(|line| line.strip_prefix("- ")?.split_once(": "))
            .map(|(name, _)| name)
            .collect();
        for (name, _) in &rows {
            let name = name.split(' ').next().unwrap();
            assert!(headings.contains(&name) || without.contains(&name), "{name} has no text");
        }
        assert!(
            rows.iter().any(|(name, licences)| name.starts_with("lzma-rust2 ") && licences.ends_with("| Apache-2.0 |"))
        );
    }
}

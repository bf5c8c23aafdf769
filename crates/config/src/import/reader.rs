//! Reads the values of options, and notes the outcome of each.

use super::options::{self, Fate};
use super::outcome::Outcome;
use super::text::Given;
use crate::error::Problem;
use kit::text::excerpt;
use std::collections::BTreeMap;

/// The options of both files, with what has been found out about them.
pub(super) struct Reader {
    /// By present name; the last one given counts, as in GPGPU-Sim.
    pub given: BTreeMap<&'static str, Given>,
    /// The options whose values cannot be read.
    pub problems: Vec<Problem>,
    /// Fates that depend on the value, over the table's.
    notes: BTreeMap<&'static str, Outcome>,
}

impl Reader {
    pub fn new(given: &[Given], problems: Vec<Problem>) -> Self {
        let known = given.iter().filter_map(|g| Some((options::lookup(present_name(&g.name))?.name, g.clone())));
        Self { given: known.collect(), problems, notes: BTreeMap::new() }
    }

    pub fn is_given(&self, name: &'static str) -> bool {
        self.given.contains_key(name)
    }

    /// The value given, else the simulator's default.
    pub fn text(&self, name: &'static str) -> String {
        let given = self.given.get(name).map(|g| g.value.clone());
        given.unwrap_or_else(|| options::lookup(name).map_or(String::new(), |row| row.default.into()))
    }

    /// Notes that the value given cannot be read.
    pub fn malformed(&mut self, name: &'static str, must_be: &str) {
        let problem = Problem::new(name, format!("cannot be `{}`: must be {must_be}", excerpt(&self.text(name))));
        self.problems.push(match self.given.get(name) {
            Some(given) => problem.at(given.spot.clone()),
            None => problem,
        });
    }

    /// Notes that the value asks for something that does not exist here.
    pub fn cannot(&mut self, name: &'static str, why: impl Into<String>, instead: impl Into<String>) {
        self.notes.insert(name, Outcome::CannotHonour { why: why.into(), instead: instead.into() });
    }

    /// Notes that the value plays no part.
    pub fn ignored(&mut self, name: &'static str, why: impl Into<String>) {
        self.notes.insert(name, Outcome::Ignored(why.into()));
    }

    /// Notes the key that took the value, where it is another than in the table.
    pub fn understood(&mut self, name: &'static str, as_what: impl Into<String>) {
        self.notes.insert(name, Outcome::Understood(as_what.into()));
    }

    pub fn int(&mut self, name: &'static str) -> u32 {
        match self.text(name).trim().parse() {
            Ok(value) => value,
            Err(_) => {
                self.malformed(name, "a number that is not negative");
                0
            }
        }
    }

    pub fn flag(&mut self, name: &'static str) -> bool {
        self.int(name) != 0
    }

    /// Numbers between `separator`s, `at_least` of them and at most `at_most`.
    pub fn list(&mut self, name: &'static str, separator: char, at_least: usize, at_most: usize) -> Vec<u32> {
        let text = self.text(name);
        let numbers: Option<Vec<u32>> = text.split(separator).map(|n| n.trim().parse().ok()).collect();
        let mut numbers = numbers.filter(|n| (at_least..=at_most).contains(&n.len())).unwrap_or_else(|| {
            let count = if at_least == at_most { format!("{at_least}") } else { format!("{at_least} to {at_most}") };
            self.malformed(name, &format!("{count} numbers with `{separator}` between them"));
            Vec::new()
        });
        // The import has failed already; any values serve.
        numbers.resize(numbers.len().max(at_least), 1);
        numbers
    }

    /// Fate of an option.
    pub fn outcome(&self, name: &str, value: &str) -> Outcome {
        let Some(row) = options::lookup(present_name(name)) else {
            let near = kit::suggest::nearest(name, options::ROWS.iter().map(|row| row.name));
            let near = near.map_or(String::new(), |near| format!(" (did you mean {near}?)"));
            return Outcome::CannotHonour {
                why: format!("is not an option of GPGPU-Sim 4 or Accel-Sim{near}"),
                instead: "it is left out".into(),
            };
        };
        if let Some(outcome) = self.notes.get(row.name) {
            return outcome.clone();
        }
        match row.fate {
            Fate::To(keys) => Outcome::Understood(keys.replace(' ', ", ")),
            Fate::Ignored(why) => Outcome::Ignored(why.into()),
            Fate::Fixed(fixed, _, instead) if value == fixed => Outcome::Understood(format!("always so: {instead}")),
            Fate::Fixed(_, why, instead) => Outcome::CannotHonour { why: why.into(), instead: instead.into() },
        }
    }
}

/// The name under which the table lists `name`.
pub(super) fn present_name(name: &str) -> &str {
    let alias = options::ALIASES.iter().find(|(former, _)| *former == name);
    alias.map_or(name, |(_, present)| present)
}

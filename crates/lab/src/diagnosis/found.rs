//! Findings of rules.

use super::facts::named;
use super::roofs::Resource;
use crate::profile::InstructionProfile;

/// A rule that holds.
pub struct Found<'a> {
    /// The sentence without its bound.
    pub sentence: String,
    /// Words for the cause, after "without".
    pub without: &'static str,
    /// A change that may help.
    pub remedy: &'static str,
    /// The instruction.
    pub at: Option<&'a InstructionProfile>,
    /// Cycles that it costs at most.
    pub cycles: f64,
    /// Resources that are used less without it, and the share of each that remains.
    pub relieved: Vec<(Resource, f64)>,
}

/// The resources `relieved`, of which the share `kept` remains.
pub fn keeping(kept: f64, relieved: &[Resource]) -> Vec<(Resource, f64)> {
    relieved.iter().map(|&resource| (resource, kept)).collect()
}

/// The instruction for a sentence, or other words for it.
pub fn name_or(at: Option<&InstructionProfile>, words: &str) -> String {
    at.map_or_else(|| words.to_owned(), named)
}

/// A finding about kernels `names`, which are not named if they are all that there is, with its gain.
pub fn with_gain(names: &str, sentence: &str, without: &str, (times_faster, is_bound): (f64, bool)) -> String {
    let names = if names.is_empty() { String::new() } else { format!("{names}: ") };
    // No gain is known to a percent of a large number.
    let times = if times_faster < 10.0 { format!("{times_faster:.2}") } else { format!("{times_faster:.0}") };
    let about = if is_bound { "at most" } else { "about" };
    format!("{names}{sentence}; {without} {about} {times} times as fast.")
}

//! Figures of real GPUs, for comparison with the simulator's.
//!
//! The data are in `docs/hardware-figures.toml`, which comes with the program and says how it is
//! ordered.
//!
//! ```
//! let l1 = evidence::figures::of("titanv").find(|f| f.quantity == "l1_latency").unwrap();
//! assert_eq!(l1.gpu, "TITAN V");
//! assert!(l1.low > 33.7 && l1.high < 33.8);
//! ```

use crate::microbench::quantities;
use serde::Deserialize;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;
use toml::Spanned;

/// A figure of hardware, with its source.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct Figure {
    /// The GPU measured, or described by its vendor.
    pub gpu: String,
    /// Descriptions that it is compared with.
    #[serde(skip)]
    pub of: Vec<String>,
    /// Name of the quantity, which also has the unit.
    #[serde(skip)]
    pub quantity: String,
    /// Lowest value published.
    pub low: f64,
    /// Highest value published; the same as `low` where there is only one.
    pub high: f64,
    /// Who measured it, and where that is to be read.
    pub source: String,
    /// Remark; may be empty.
    pub note: String,
    /// How the sources of descriptions name this one.
    #[serde(skip)]
    pub cited: Option<String>,
    /// Whether it is read off the machine code that is measured.
    #[serde(skip)]
    pub from_machine_code: bool,
}

/// Why a deviation stays.
#[derive(Clone, Debug, PartialEq)]
pub struct Reason {
    /// Names of our descriptions.
    pub of: Vec<String>,
    /// Names of the quantities.
    pub quantities: Vec<String>,
    /// The mechanism.
    pub text: String,
}

/// Contents of the file.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Figures {
    /// In the order of the file.
    pub figures: Vec<Figure>,
    /// In the order of the file.
    pub reasons: Vec<Reason>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    sources: BTreeMap<String, String>,
    #[serde(default)]
    cited: BTreeMap<String, String>,
    card: Vec<Card>,
    #[serde(default)]
    reason: Vec<Explained>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Card {
    gpu: String,
    #[serde(default)]
    of: Vec<String>,
    source: Spanned<String>,
    cited: Option<String>,
    #[serde(default)]
    from_machine_code: bool,
    figures: BTreeMap<Spanned<String>, Entry>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Entry {
    Value(Values),
    Noted { value: Values, note: String },
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Values {
    One(f64),
    Range([f64; 2]),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Explained {
    of: Vec<String>,
    quantities: Vec<Spanned<String>>,
    text: String,
}

const ORIGIN: &str = "docs/hardware-figures.toml";

/// Figures that come with the program.
pub fn bundled() -> &'static Figures {
    // A file of our own: a test reads it.
    static FIGURES: LazyLock<Figures> =
        LazyLock::new(|| parse(include_str!("../../../docs/hardware-figures.toml"), ORIGIN).unwrap_or_default());
    &FIGURES
}

/// The figures that our description `name` is compared with: of each quantity the first in the file.
pub fn of(name: &str) -> impl Iterator<Item = &'static Figure> {
    let mut seen = BTreeSet::new();
    bundled().figures.iter().filter(move |f| f.of.iter().any(|of| of == name) && seen.insert(&f.quantity))
}

/// Why the quantity of our description deviates, if that is said.
pub fn reason_of(name: &str, quantity: &str) -> Option<&'static Reason> {
    bundled().reasons.iter().find(|r| r.of.iter().any(|of| of == name) && r.quantities.iter().any(|q| q == quantity))
}

/// Line and column of a place in the text, from 1.
fn place(text: &str, at: usize) -> (usize, usize) {
    let before = &text[..at.min(text.len())];
    (before.matches('\n').count() + 1, before.len() - before.rfind('\n').map_or(0, |n| n + 1) + 1)
}

/// Reads a file of figures.
///
/// # Errors
/// The malformed part, with file, line and column.
pub fn parse(text: &str, origin: &str) -> Result<Figures, String> {
    let wrong = |at: usize, why: String| {
        let (line, column) = place(text, at);
        format!("{origin}:{line}:{column}: {why}")
    };
    let data: File =
        toml::from_str(text).map_err(|e| wrong(e.span().map_or(0, |span| span.start), e.message().to_owned()))?;
    let known: BTreeSet<&str> = quantities().iter().map(|q| q.name.as_str()).collect();
    let check = |name: &Spanned<String>| match known.contains(name.get_ref().as_str()) {
        true => Ok(()),
        false => {
            let hint = kit::suggest::unknown("quantity", name.get_ref(), &known.iter().copied().collect::<Vec<_>>());
            Err(wrong(name.span().start, hint))
        }
    };
    let mut found = Figures::default();
    for card in data.card {
        let source = data.sources.get(card.source.get_ref());
        let source = source.ok_or_else(|| {
            wrong(card.source.span().start, format!("`source` is `{}`, which [sources] lacks", card.source.get_ref()))
        })?;
        let cited = card.cited.as_ref().or_else(|| data.cited.get(card.source.get_ref()));
        // In the order of the file, not of the names.
        let mut entries: Vec<_> = card.figures.into_iter().collect();
        entries.sort_by_key(|(name, _)| name.span().start);
        for (name, entry) in entries {
            check(&name)?;
            let (values, note) = match entry {
                Entry::Value(values) => (values, String::new()),
                Entry::Noted { value, note } => (value, note),
            };
            let (low, high) = match values {
                Values::One(value) => (value, value),
                Values::Range([low, high]) => (low, high),
            };
            if !(low > 0.0 && low <= high && high.is_finite()) {
                return Err(wrong(name.span().start, "values are above 0, the lowest first".to_owned()));
            }
            found.figures.push(Figure {
                gpu: card.gpu.clone(),
                of: card.of.clone(),
                quantity: name.into_inner(),
                low,
                high,
                source: source.clone(),
                note,
                cited: cited.cloned(),
                from_machine_code: card.from_machine_code,
            });
        }
    }
    for reason in data.reason {
        for quantity in &reason.quantities {
            check(quantity)?;
        }
        let quantities = reason.quantities.into_iter().map(Spanned::into_inner).collect();
        found.reasons.push(Reason { of: reason.of, quantities, text: reason.text });
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bundled_figures_can_be_read_and_no_card_has_one_twice() {
        let text = include_str!("../../../docs/hardware-figures.toml");
        let found = parse(text, ORIGIN).unwrap_or_else(|e| panic!("{e}"));
        let mut seen = BTreeSet::new();
        for f in &found.figures {
            assert!(seen.insert((&f.gpu, &f.of, &f.quantity)), "{} {:?} {} twice", f.gpu, f.of, f.quantity);
        }
        for name in config::hardware() {
            assert!(of(name).count() > 10, "{name} has hardly any figure");
        }
        assert!(of("titanv").count() > 40);
    }

    #[test]
    fn the_first_card_of_a_quantity_counts() {
        // Measured on a Turing card, though the guide has a value too.
        let shuffle: Vec<_> = of("rtx2060s").filter(|f| f.quantity == "shuffle_rate").collect();
        assert_eq!(shuffle.len(), 1);
        assert!(shuffle[0].gpu.contains("TU102"));
    }

    #[test]
    fn malformed_figures_are_refused_with_their_line() {
        let with = |lines: &str| {
            let text = format!("[sources]\ns = \"me\"\n[[card]]\ngpu = \"g\"\n{lines}\n");
            parse(&text, "t").unwrap_err()
        };
        for (lines, expected) in [
            ("source = \"s\"\n[card.figures]\nl1_latency = -1", "t:7:1: values are above 0"),
            ("source = \"s\"\n[card.figures]\nl1_latency = [3, 2]", "t:7:1: values are above 0"),
            ("source = \"u\"\n[card.figures]\nl1_latency = 3", "t:5:10: `source` is `u`, which [sources] lacks"),
            ("source = \"s\"\n[card.figures]\nl1_latenzy = 3", "t:7:1: "),
            ("source = \"s\"\n[card.figures]\nl1_latency = \"3\"", "t:7:"),
        ] {
            let found = with(lines);
            assert!(found.contains(expected), "{expected}\nnot in\n{found}");
        }
    }
}

//! The part of a run that is simulated in time: `--time`.

use kit::parameters;
use std::fmt;
use std::ops::{Range, RangeInclusive};
use std::str::FromStr;

kit::parameters! {
    /// How launches are grouped, of which some are simulated in time.
    pub struct Likeness {
        /// Maximum difference between a launch and the first of its group, in percent: warp instructions by class,
        /// thread instructions, sectors of global memory.
        pub tolerance: u32 = 5 in (0, 100),
    }
}

/// Which launches.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Which {
    /// Those with these numbers, as reports have them.
    Numbers(RangeInclusive<u32>),
    /// Launches of the kernel of this name, as in the source or mangled.
    Name(String),
}

impl Which {
    /// Whether it has the launch `number` of the kernel `name`. Both names may be mangled.
    pub(super) fn has(&self, number: u32, name: &str) -> bool {
        match self {
            Self::Numbers(numbers) => numbers.contains(&number),
            Self::Name(wanted) => exec::is_named(name, wanted) || exec::is_named(wanted, name),
        }
    }
}

impl fmt::Display for Which {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Numbers(numbers) if numbers.start() == numbers.end() => write!(f, "{}", numbers.start()),
            Self::Numbers(numbers) => write!(f, "{}..{}", numbers.start(), numbers.end()),
            Self::Name(name) => f.write_str(name),
        }
    }
}

/// The part of a run that is simulated in time. The rest is executed without time; of a trace, it is left out.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Time {
    /// All of it.
    #[default]
    All,
    /// Nothing.
    None,
    /// These launches.
    Kernels(Vec<Which>),
    /// Of each launch the CTAs with these numbers.
    Ctas(Range<u64>),
    /// Of launches that are alike, some.
    Representative(Likeness),
}

/// The forms of a choice, for messages.
const FORMS: &str = "all, none, kernels=3,7..9, kernels=NAME, ctas=0..79, representative, representative:tolerance=5";

impl FromStr for Time {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let text = text.trim();
        let problem = |why: &str| {
            let shown = kit::text::excerpt(text);
            format!("`{shown}`{why}\n  hint: it is one of {FORMS}")
        };
        match text {
            "all" => return Ok(Self::All),
            "none" => return Ok(Self::None),
            _ => {}
        }
        if let Some(list) = text.strip_prefix("kernels=") {
            let all: Result<Vec<Which>, String> =
                list.split(',').map(str::trim).filter(|one| !one.is_empty()).map(which).collect();
            let all = all.map_err(|why| problem(&why))?;
            return if all.is_empty() { Err(problem(" names no launch")) } else { Ok(Self::Kernels(all)) };
        }
        if let Some(range) = text.strip_prefix("ctas=") {
            let range = numbers::<u64>(range).map_err(|why| problem(&why))?;
            let end = range.end().checked_add(1).ok_or_else(|| problem(": no grid has as many CTAs"))?;
            return Ok(Self::Ctas(*range.start()..end));
        }
        let (name, settings) = parameters::split(text, "representative:tolerance=5")?;
        if name != "representative" {
            return Err(problem(" chooses nothing"));
        }
        parameters::configured("representative", &settings).map(Self::Representative)
    }
}

/// A range of launches or a name.
fn which(text: &str) -> Result<Which, String> {
    if text.starts_with(|first: char| first.is_ascii_digit()) {
        return numbers(text).map(Which::Numbers);
    }
    Ok(Which::Name(text.to_owned()))
}

/// A number, or the first and the last of several with two dots between them.
fn numbers<N: FromStr + Copy + PartialOrd>(text: &str) -> Result<RangeInclusive<N>, String> {
    let number = |text: &str| {
        let read = text.trim().replace('_', "").parse::<N>();
        read.map_err(|_| format!(": `{}` is not a number that is possible here", kit::text::excerpt(text)))
    };
    let (first, last) = match text.split_once("..") {
        Some((first, last)) => (number(first)?, number(last)?),
        None => (number(text)?, number(text)?),
    };
    if first > last { Err(format!(": in `{}` the last is before the first", text.trim())) } else { Ok(first..=last) }
}

impl Time {
    /// Whether all is simulated in time.
    pub fn is_all(&self) -> bool {
        *self == Self::All
    }

    /// Whether the choice, which is by launch, has the launch `number` of the kernel `name` (mangled or not).
    pub fn includes(&self, number: u32, name: &str) -> bool {
        match self {
            Self::None => false,
            Self::Kernels(all) => all.iter().any(|which| which.has(number, name)),
            Self::All | Self::Ctas(_) | Self::Representative(_) => true,
        }
    }
}

impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::All => f.write_str("all"),
            Self::None => f.write_str("none"),
            Self::Kernels(all) => {
                let all: Vec<String> = all.iter().map(Which::to_string).collect();
                write!(f, "kernels={}", all.join(","))
            }
            Self::Ctas(ctas) => write!(f, "ctas={}..{}", ctas.start, ctas.end - 1),
            Self::Representative(like) => write!(f, "representative:tolerance={}", like.tolerance),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn choices_are_read_and_written() {
        for text in ["all", "none", "kernels=3,7..9,add", "ctas=0..79", "ctas=5..5", "representative:tolerance=7"] {
            assert_eq!(text.parse::<Time>().map(|time| time.to_string()), Ok(text.to_owned()));
        }
        assert_eq!("representative".parse(), Ok(Time::Representative(Likeness { tolerance: 5 })));
        assert_eq!(" kernels= 1_000 , add".parse::<Time>().unwrap().to_string(), "kernels=1000,add");
        assert_eq!("ctas=4".parse(), Ok(Time::Ctas(4..5)));
    }

    #[test]
    fn mistakes_are_named() {
        for (text, why) in [
            ("some", "`some` chooses nothing"),
            ("kernels=", "names no launch"),
            ("kernels=9..7", "`9..7` the last is before the first"),
            ("kernels=3x", "`3x` is not a number"),
            ("ctas=0..", "`` is not a number"),
            ("ctas=all", "`all` is not a number"),
            ("ctas=0..18446744073709551615", "no grid has as many CTAs"),
            ("representative:tolerance=101", "tolerance"),
            ("representative:size=1", "no parameter `size`"),
            ("representative:5", "expected NAME=VALUE"),
        ] {
            let problem = text.parse::<Time>().unwrap_err();
            assert!(problem.contains(why), "{text}: {problem}");
        }
    }

    #[test]
    fn launches_are_chosen_by_number_and_by_name() {
        let time: Time = "kernels=2..3,add".parse().unwrap();
        let chosen: Vec<u32> = (0..6).filter(|&number| time.includes(number, "mul")).collect();
        assert_eq!(chosen, [2, 3]);
        assert!(time.includes(9, "add") && time.includes(9, "_Z3addPf") && !time.includes(9, "_Z4add2Pf"));
        assert!(!Time::None.includes(0, "add") && Time::All.includes(0, "add"));
    }
}

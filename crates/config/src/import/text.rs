//! The text of GPGPU-Sim's configuration files: options and values between blanks, `#` comments,
//! quotes around values that contain blanks or line ends.

use crate::error::{Lines, Problem, Spot};
use kit::text::excerpt;

/// An option as a file gives it.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Given {
    /// With its leading hyphen.
    pub name: String,
    /// Without quotes; runs of blanks are one blank.
    pub value: String,
    /// The place of the option.
    pub spot: Spot,
}

/// A word or quoted string.
struct Token {
    text: String,
    quoted: bool,
    spot: Spot,
}

/// Splits a file into options. Malformed parts are reported and left out.
pub(super) fn options(text: &str, origin: &str, problems: &mut Vec<Problem>) -> Vec<Given> {
    let mut given: Vec<Given> = Vec::new();
    let mut open: Option<(String, Spot)> = None;
    for token in tokens(text, origin, problems) {
        let is_option = !token.quoted && is_option_name(&token.text);
        match (open.take(), is_option) {
            (None, true) => open = Some((token.text, token.spot)),
            (Some((name, spot)), true) => {
                problems.push(valueless(&name, spot));
                open = Some((token.text, token.spot));
            }
            (Some((name, spot)), false) => given.push(Given { name, value: token.text, spot }),
            (None, false) => {
                let after =
                    given.last().map_or(String::new(), |g| format!("; `{}` before it already has a value", g.name));
                problems.push(
                    Problem::new("", format!("`{}` belongs to no option{after}", excerpt(&token.text)))
                        .at(token.spot)
                        .hint("an option starts with a hyphen; values with blanks need quotes; comments start with #"),
                );
            }
        }
    }
    if let Some((name, spot)) = open {
        problems.push(valueless(&name, spot));
    }
    given
}

fn valueless(name: &str, spot: Spot) -> Problem {
    Problem::new(name, "has no value").at(spot)
}

/// `-gpgpu_n_mem` is one; `-1` is a number.
fn is_option_name(text: &str) -> bool {
    text.strip_prefix('-').is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_alphabetic()))
}

fn tokens(text: &str, origin: &str, problems: &mut Vec<Problem>) -> Vec<Token> {
    let lines = Lines::new(&origin.into(), text);
    let mut tokens = Vec::new();
    let mut rest = text.char_indices().peekable();
    while let Some((start, c)) = rest.next() {
        if c.is_whitespace() || c == '\u{feff}' {
            continue;
        }
        if c == '#' {
            while rest.next_if(|&(_, c)| c != '\n').is_some() {}
            continue;
        }
        let spot = lines.spot(start);
        let quoted = c == '"';
        let mut word = String::new();
        if quoted {
            let mut closed = false;
            for (_, c) in rest.by_ref() {
                if c == '"' {
                    closed = true;
                    break;
                }
                word.push(c);
            }
            if !closed {
                problems.push(Problem::new("", "opens a quote that nothing closes").at(spot.clone()));
            }
            word = word.split_whitespace().collect::<Vec<_>>().join(" ");
        } else {
            word.push(c);
            while let Some((_, c)) = rest.next_if(|&(_, c)| !c.is_whitespace() && c != '#' && c != '"') {
                word.push(c);
            }
        }
        tokens.push(Token { text: word, quoted, spot });
    }
    tokens
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_quotes_and_negative_numbers() {
        let text = "# -not 1\n-a 1 # one\n  -b \"x=1:\n      y=2\"\n-c -1\n-d 1,2,3";
        let mut problems = Vec::new();
        let given = options(text, "f", &mut problems);
        assert_eq!(problems, []);
        let pairs: Vec<_> = given.iter().map(|g| (g.name.as_str(), g.value.as_str(), g.spot.line)).collect();
        assert_eq!(pairs, [("-a", "1", 2), ("-b", "x=1: y=2", 3), ("-c", "-1", 5), ("-d", "1,2,3", 6)]);
        assert_eq!(given[1].spot.column, 3);
    }

    #[test]
    fn what_is_malformed_is_named_with_its_line() {
        let mut problems = Vec::new();
        let given = options("-a\n-b 1 2\n\n-c \"open", "f", &mut problems);
        assert_eq!(given.iter().map(|g| g.name.as_str()).collect::<Vec<_>>(), ["-b", "-c"]);
        let found: Vec<_> = problems.iter().map(|p| p.to_string().lines().next().unwrap().to_string()).collect();
        assert_eq!(
            found,
            [
                "f:4:4: opens a quote that nothing closes",
                "f:1:1: `-a` has no value",
                "f:2:6: `2` belongs to no option; `-b` before it already has a value",
            ]
        );
    }
}

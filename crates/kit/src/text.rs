//! Words and excerpts of messages.

use std::borrow::Cow;
use std::fmt::Write;

/// Maximum length of an excerpt of a user's file in a message, in characters.
pub const MOST_EXCERPT: usize = 60;
/// Maximum length of a user's line that a message shows with a mark under it, in characters.
pub const MOST_LINE: usize = 120;
/// Maximum length of a word of a message, such as a path or a kernel's name, in characters.
const MOST_WORD: usize = 240;
/// Maximum length of a line of a message, in characters.
const MOST_MESSAGE_LINE: usize = 1000;
/// Maximum number of lines of a message.
const MOST_MESSAGE_LINES: usize = 200;

/// `noun` in the form for `number`: `plural(2, "launch")` is `launches`.
pub fn plural(number: u64, noun: &str) -> String {
    const HISSING: [&str; 5] = ["s", "x", "z", "ch", "sh"];
    const VOWELS: [&str; 5] = ["ay", "ey", "oy", "uy", "iy"];
    if number == 1 {
        noun.to_owned()
    } else if HISSING.iter().any(|end| noun.ends_with(end)) {
        format!("{noun}es")
    } else if noun.ends_with('y') && !VOWELS.iter().any(|end| noun.ends_with(end)) {
        format!("{}ies", &noun[..noun.len() - 1])
    } else {
        format!("{noun}s")
    }
}

/// A number and its noun: `1 launch`, `2 launches`.
pub fn counted(number: u64, noun: &str) -> String {
    format!("{number} {}", plural(number, noun))
}

/// Text of a user's file or command line, short and printable: at most [`MOST_EXCERPT`] characters, control
/// characters replaced.
pub fn excerpt(text: &str) -> String {
    shortened(text, MOST_EXCERPT)
}

/// As [`excerpt`], for bytes that may not be text.
pub fn excerpt_bytes(bytes: &[u8]) -> String {
    // Only the beginning of a long text is decoded; a character has at most four bytes.
    excerpt(&String::from_utf8_lossy(&bytes[..bytes.len().min(4 * MOST_EXCERPT + 4)]))
}

fn shortened(text: &str, most: usize) -> String {
    let printable = |c: char| if c.is_control() { '?' } else { c };
    let mut out: String = text.chars().take(most).map(printable).collect();
    if text.chars().nth(most).is_some() {
        out.push('…');
    }
    out
}

/// A line of a user's file with a mark under part of it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Pointed {
    /// The line, or its part around the mark if the line is long.
    pub line: String,
    /// The line below it: blanks (tabs where the line has them), then `^`.
    pub mark: String,
}

/// `line` with a mark under `bytes` bytes starting at byte `at`. For a line of more than [`MOST_LINE`]
/// characters only the part around the mark is shown and processed.
pub fn pointed(line: &str, at: usize, bytes: usize) -> Pointed {
    const BEFORE: usize = MOST_LINE / 3;
    let at = floor(line, at);
    let is_long = line.chars().nth(MOST_LINE).is_some();
    let reach = if is_long { BEFORE } else { MOST_LINE };
    let from = line[..at].char_indices().rev().take(reach).last().map_or(at, |(i, _)| i);
    let shown = &line[from..];
    let to = shown.char_indices().nth(MOST_LINE).map_or(line.len(), |(i, _)| from + i);
    let printable = |c: char| if c.is_control() && c != '\t' { '?' } else { c };
    let (left, right) = (if from > 0 { "…" } else { "" }, if to < line.len() { "…" } else { "" });
    let blanks = line[from..at].chars().map(|c| if c == '\t' { '\t' } else { ' ' });
    let marked = line[at..floor(line, at.saturating_add(bytes)).clamp(at, to)].chars().count().max(1);
    Pointed {
        line: format!("{left}{}{right}", line[from..to].chars().map(printable).collect::<String>()),
        mark: left.chars().map(|_| ' ').chain(blanks).chain(std::iter::repeat_n('^', marked)).collect(),
    }
}

/// The last position at or before byte `at` at which `text` can be cut.
fn floor(text: &str, at: usize) -> usize {
    let at = at.min(text.len());
    (0..=at).rev().find(|&i| text.is_char_boundary(i)).unwrap_or(0)
}

/// `text` in at most `most` characters. A longer text is cut in the middle, since names and paths often
/// differ at the end.
pub fn middle_cut(text: &str, most: usize) -> Cow<'_, str> {
    let Some(all) = text.char_indices().nth(most).map(|_| text.chars().count()) else { return text.into() };
    let begin = most.saturating_sub(1) / 3;
    let end = most.saturating_sub(1) - begin;
    let chars = |from: usize, count: usize| text.chars().skip(from).take(count);
    chars(0, begin).chain(['…']).chain(chars(all - end, end)).collect::<String>().into()
}

/// A message of bounded length, whatever parts of a user's file it repeats.
pub fn bounded(message: &str) -> String {
    let mut out = String::new();
    for (number, line) in message.split('\n').enumerate() {
        if number == MOST_MESSAGE_LINES {
            let left = message.split('\n').count() - number;
            let _ = write!(out, "\n… and {}", counted(left as u64, "more line"));
            break;
        }
        if number > 0 {
            out.push('\n');
        }
        push_bounded(&mut out, line);
    }
    out
}

/// Appends a line of a message: a long word is cut in the middle, a long line at the end.
fn push_bounded(out: &mut String, line: &str) {
    let mut room = MOST_MESSAGE_LINE;
    for (number, word) in line.split(' ').enumerate() {
        let word = middle_cut(word, MOST_WORD);
        let gap = usize::from(number > 0);
        out.extend(" ".chars().take(gap.min(room)));
        out.extend(word.chars().take(room - gap.min(room)));
        match room.checked_sub(gap + word.chars().count()) {
            Some(left) => room = left,
            None => return out.push('…'),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nouns_agree_with_their_number() {
        let nouns = ["launch", "warp", "CTA", "process", "entry", "key", "more line", "byte"];
        let many = ["launches", "warps", "CTAs", "processes", "entries", "keys", "more lines", "bytes"];
        for (noun, many) in nouns.into_iter().zip(many) {
            assert_eq!([0, 1, 2].map(|n| plural(n, noun)), [many, noun, many]);
        }
        assert_eq!([counted(1, "launch"), counted(0, "byte")], ["1 launch", "0 bytes"]);
    }

    #[test]
    fn excerpts_are_short_and_printable() {
        assert_eq!(excerpt("short"), "short");
        assert_eq!(excerpt("a\nb\u{1b}[31m"), "a?b?[31m");
        let long = "é".repeat(1 << 20);
        assert_eq!(excerpt(&long).chars().count(), MOST_EXCERPT + 1);
        assert_eq!(excerpt_bytes(long.as_bytes()), excerpt(&long));
        assert_eq!(excerpt_bytes(&[0xff; 3]), "\u{fffd}\u{fffd}\u{fffd}");
    }

    #[test]
    fn what_is_cut_keeps_its_ends() {
        assert_eq!(middle_cut("seventy", 7), "seventy");
        assert_eq!(middle_cut("a_long_name", 7), "a_…name");
        assert_eq!([0, 1, 2].map(|most| middle_cut("name", most).into_owned()), ["…", "…", "…e"]);
    }

    #[test]
    fn a_mark_is_under_its_characters() {
        let short = pointed("\tadd x, y", 5, 1);
        assert_eq!((short.line.as_str(), short.mark.as_str()), ("\tadd x, y", "\t    ^"));
        assert_eq!(pointed("ab", 1, 9).mark, " ^", "no further than the line");
        assert_eq!(pointed("ab", 2, 1).mark, "  ^", "at the end");
        assert_eq!(pointed("é = ü", 6, 1).mark, "    ^", "characters, not bytes");
        let line = format!("{}!{}", "x".repeat(5000), "y".repeat(1 << 20));
        let long = pointed(&line, 5000, 1);
        assert!(long.line.chars().count() <= MOST_LINE + 2 && long.line.starts_with("…x") && long.line.ends_with("y…"));
        let marked = long.line.chars().nth(long.mark.chars().count() - 1);
        assert_eq!(marked, Some('!'));
    }

    #[test]
    fn messages_are_bounded() {
        assert_eq!(bounded("one\ntwo"), "one\ntwo");
        assert_eq!(bounded(" a  b "), " a  b ");
        assert_eq!(bounded(&"x ".repeat(1 << 19)).chars().count(), MOST_MESSAGE_LINE + 1);
        let path = bounded(&format!("error: {}/end.ptx: it is long", "é".repeat(1 << 20)));
        assert!(path.starts_with("error: éé") && path.ends_with("éé/end.ptx: it is long"), "{path}");
        assert_eq!(path.chars().count(), "error: ".len() + MOST_WORD + " it is long".len());
        let many = bounded(&"line\n".repeat(1000));
        assert!(many.ends_with("line\n… and 801 more lines"), "{many}");
    }
}

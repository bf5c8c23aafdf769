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

/// Whether a character of a name changes how the text around it is read, or is not seen: control characters, characters
/// for the direction of text (UAX #9), other format characters (Unicode's category Cf), line and paragraph separators,
/// and noncharacters.
pub fn is_invisible(c: char) -> bool {
    c.is_control()
        || matches!(c,
            '\u{ad}' | '\u{600}'..='\u{605}' | '\u{61c}' | '\u{6dd}' | '\u{70f}' | '\u{890}' | '\u{891}' | '\u{8e2}'
            | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}' | '\u{180b}'..='\u{180f}'
            | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}'
            | '\u{3164}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}' | '\u{fff0}'..='\u{fffb}'
            | '\u{fffe}' | '\u{ffff}' | '\u{110bd}' | '\u{110cd}' | '\u{13430}'..='\u{1343f}'
            | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e0fff}')
}

/// `text` with `'\u{fffd}'` in place of what is [invisible](is_invisible), except line feeds and tabs.
pub fn visible(text: &str) -> Cow<'_, str> {
    let is_bad = |c: char| is_invisible(c) && !matches!(c, '\n' | '\t');
    if text.chars().any(is_bad) { text.replace(is_bad, "\u{fffd}").into() } else { text.into() }
}

fn shortened(text: &str, most: usize) -> String {
    let printable = |c: char| if is_invisible(c) { '?' } else { c };
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
    let printable = |c: char| if is_invisible(c) && c != '\t' { '?' } else { c };
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

/// `page` with `body` between the marks `<!-- name -->` and `<!-- end of name -->`, each of which ends its line.
///
/// # Errors
/// The page has no such place.
pub fn with_section(page: &str, name: &str, body: &str) -> Result<String, String> {
    between(page, &format!("<!-- {name} -->\n"), &format!("<!-- end of {name} -->"), body)
}

/// `text` with `body` in place of the text between the first `begin` and the `end` that follows it.
///
/// # Errors
/// `begin` or `end` is missing.
pub fn between(text: &str, begin: &str, end: &str, body: &str) -> Result<String, String> {
    let from = text.find(begin).map(|at| at + begin.len());
    match from.and_then(|from| Some((from, from + text[from..].find(end)?))) {
        Some((from, to)) => Ok(format!("{}{body}{}", &text[..from], &text[to..])),
        None => Err(format!("the place for a section is missing: put `{}` and `{}` there", begin.trim(), end.trim())),
    }
}

/// Whether `text` is of the form `pattern`, in which `*` matches any text.
pub fn matches(pattern: &str, text: &str) -> bool {
    match pattern.split_once('*') {
        None => pattern == text,
        Some((before, after)) => text
            .strip_prefix(before)
            .is_some_and(|rest| (0..=rest.len()).any(|at| rest.is_char_boundary(at) && matches(after, &rest[at..]))),
    }
}

/// A word as a shell reads it, whatever is in it.
pub fn shell_word(text: &str) -> String {
    format!("'{}'", text.replace('\'', "'\\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns() {
        for (pattern, text, expected) in [
            ("l1_latency", "l1_latency", true),
            ("l1", "l1_latency", false),
            ("l1*", "l1_latency", true),
            ("*latency", "l1_latency", true),
            ("*rate*", "l1_latency", false),
            ("l*_*y", "l1_latency", true),
        ] {
            assert_eq!(matches(pattern, text), expected, "{pattern} {text}");
        }
    }

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
    fn what_is_invisible_is_replaced() {
        assert_eq!(visible("a\tb\nc é 漢 😀"), "a\tb\nc é 漢 😀");
        let bad = "\r\u{1b}\0\u{7f}\u{9b}\u{202e}\u{2066}\u{200b}\u{feff}\u{2028}\u{ad}\u{e0041}\u{ffff}";
        assert_eq!(visible(bad), "\u{fffd}".repeat(bad.chars().count()));
        assert_eq!(excerpt("a\u{202e}b"), "a?b");
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

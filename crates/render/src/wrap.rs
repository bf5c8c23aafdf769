//! Lines that fit a terminal.

use crate::names;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// Columns that every terminal has.
pub const WIDTH: usize = 80;

/// Maximum length of a line of words.
static MOST: AtomicUsize = AtomicUsize::new(WIDTH);

/// Whether wide tables are one piece, whatever the length of a line.
static WHOLE_TABLES: AtomicBool = AtomicBool::new(false);

/// From now on lines of words have at most `columns` characters; `None`: a paragraph is a line.
pub fn set_columns(columns: Option<usize>) {
    MOST.store(columns.unwrap_or(usize::MAX), Ordering::Relaxed);
}

/// Maximum length of a line: [`WIDTH`], or as [`set_columns`] has it.
pub fn line_limit() -> usize {
    MOST.load(Ordering::Relaxed)
}

/// From now on wide tables are one piece: other programs read them.
pub fn keep_tables_whole() {
    WHOLE_TABLES.store(true, Ordering::Relaxed);
}

/// Length of a line from which a wide table is split into parts.
pub fn table_limit() -> usize {
    if WHOLE_TABLES.load(Ordering::Relaxed) { usize::MAX } else { line_limit() }
}

/// Whether a paragraph is a line.
pub fn is_unbounded() -> bool {
    line_limit() == usize::MAX
}

/// The words of `text` in lines of at most [`line_limit`] characters, the first after `first`, the others after `rest`. A word
/// that is longer has a line of its own; long names of kernels are [short](names::in_text).
pub fn wrapped(text: &str, first: &str, rest: &str) -> String {
    wrapped_within(line_limit(), &names::in_text(text), first, rest)
}

/// As [`wrapped`], for a file: lines have at most `most` characters, whatever the terminal has.
pub fn wrapped_within(most: usize, text: &str, first: &str, rest: &str) -> String {
    filled(most, text.split_whitespace(), first, rest)
}

/// As [`wrapped`], with lines that end only after a comma.
pub fn wrapped_list(text: &str, first: &str, rest: &str) -> String {
    filled(line_limit(), text.split_inclusive(", ").map(str::trim_end), first, rest)
}

/// Columns that text takes, colours left out.
pub fn width(text: &str) -> usize {
    anstream::adapter::strip_str(text).to_string().chars().count()
}

fn filled<'a>(most: usize, words: impl Iterator<Item = &'a str>, first: &str, rest: &str) -> String {
    let (mut lines, mut line, mut is_empty) = (String::new(), first.to_owned(), true);
    for word in words {
        let blank = usize::from(!is_empty);
        if !is_empty && width(&line) + blank + width(word) > most {
            lines += &format!("{line}\n");
            line = rest.to_owned();
        } else if !is_empty {
            line.push(' ');
        }
        line += word;
        is_empty = false;
    }
    lines + &line + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_short_and_lose_no_word() {
        let text = "lorem ipsum ".repeat(30);
        let lines = wrapped(&text, "", "  ");
        assert!(lines.lines().all(|line| line.chars().count() <= WIDTH), "{lines}");
        assert_eq!(lines.split_whitespace().count(), 60);
        assert!(lines.lines().nth(1).unwrap().starts_with("  "));
        let long = "x".repeat(100);
        assert_eq!(wrapped(&format!("a {long} b"), "", ""), format!("a\n{long}\nb\n"));
        assert_eq!(wrapped_list(&format!("a b, {long} c, d e"), "", "  "), format!("a b,\n  {long} c,\n  d e\n"));
    }
}

//! Lines that fit a terminal.

/// Columns that every terminal has.
pub const WIDTH: usize = 80;

/// The words of `text` in lines of at most [`WIDTH`] characters, the first after `first`, the others
/// after `rest`. A word that is longer has a line of its own.
pub fn wrapped(text: &str, first: &str, rest: &str) -> String {
    let (mut lines, mut line, mut is_empty) = (String::new(), first.to_owned(), true);
    for word in text.split_whitespace() {
        let blank = usize::from(!is_empty);
        if !is_empty && line.chars().count() + blank + word.chars().count() > WIDTH {
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
    }
}

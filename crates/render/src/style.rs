//! The few colours there are. Whether they reach the terminal is decided where text is printed.

use anstyle::{AnsiColor, Style};

/// For headings.
pub const HEADING: Style = Style::new().bold();
/// For text that matters less.
pub const FAINT: Style = Style::new().dimmed();
/// For success.
pub const GOOD: Style = AnsiColor::Green.on_default().bold();
/// For failures.
pub const BAD: Style = AnsiColor::Red.on_default().bold();
/// For remarks that matter.
pub const WARNING: Style = AnsiColor::Yellow.on_default().bold();

/// `text` in a style.
pub fn styled(style: Style, text: impl std::fmt::Display) -> String {
    format!("{style}{text}{style:#}")
}

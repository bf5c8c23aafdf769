//! The few colours there are. Whether they reach the terminal is decided where text is printed.

use anstyle::{AnsiColor, Style};

/// Headings.
pub const HEADING: Style = Style::new().bold();
/// What matters less.
pub const FAINT: Style = Style::new().dimmed();
/// Success.
pub const GOOD: Style = AnsiColor::Green.on_default().bold();
/// Failure.
pub const BAD: Style = AnsiColor::Red.on_default().bold();
/// Something to know.
pub const WARNING: Style = AnsiColor::Yellow.on_default().bold();

/// `text` in a style.
pub fn styled(style: Style, text: impl std::fmt::Display) -> String {
    format!("{style}{text}{style:#}")
}

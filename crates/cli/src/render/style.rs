//! The few colours there are. Whether they reach the terminal is decided where text is printed.

use anstyle::{AnsiColor, Style};

pub const HEADING: Style = Style::new().bold();
/// For text that matters less.
pub const FAINT: Style = Style::new().dimmed();
pub const GOOD: Style = AnsiColor::Green.on_default().bold();
pub const BAD: Style = AnsiColor::Red.on_default().bold();
pub const WARNING: Style = AnsiColor::Yellow.on_default().bold();

/// `text` in a style.
pub fn styled(style: Style, text: impl std::fmt::Display) -> String {
    format!("{style}{text}{style:#}")
}

//! Diagnostics: description of a problem, its place, and a hint.

use crate::span::{SourceText, Span};
use std::fmt::Write as _;

/// Severity of a diagnostic.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Severity {
    /// The module cannot be used.
    Error,
    /// Probably not intended.
    Warning,
    /// Something was ignored.
    Note,
}

impl Severity {
    /// The word in messages.
    pub const fn name(self) -> &'static str {
        match self {
            Severity::Error => "error",
            Severity::Warning => "warning",
            Severity::Note => "note",
        }
    }
}

/// One message about a text.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names say it")]
pub struct Diagnostic {
    pub severity: Severity,
    /// The part of the text that it is about.
    pub span: Span,
    /// Description of the problem, in one line.
    pub message: String,
    /// How to solve it.
    pub hint: Option<String>,
    /// Another relevant place, with its meaning.
    pub related: Option<(Span, String)>,
}

impl Diagnostic {
    /// An error at `span`.
    pub fn error(span: Span, message: impl Into<String>) -> Self {
        Self { severity: Severity::Error, span, message: message.into(), hint: None, related: None }
    }

    /// A warning at `span`.
    pub fn warning(span: Span, message: impl Into<String>) -> Self {
        Self { severity: Severity::Warning, ..Self::error(span, message) }
    }

    /// A note at `span`.
    pub fn note(span: Span, message: impl Into<String>) -> Self {
        Self { severity: Severity::Note, ..Self::error(span, message) }
    }

    /// Adds a hint.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// Adds a related place.
    #[must_use]
    pub fn related(mut self, span: Span, why: impl Into<String>) -> Self {
        self.related = Some((span, why.into()));
        self
    }

    /// Formats it as `file:line:column: severity: message`, the line, a caret under the place, the related
    /// place in the same way, and the hint. Ends with a newline.
    pub fn render(&self, source: &SourceText) -> String {
        self.render_first_of(1, source)
    }

    /// As [`Diagnostic::render`] for the first of `alike` with this message on one line.
    fn render_first_of(&self, alike: usize, source: &SourceText) -> String {
        let mut out = String::new();
        let more = if alike > 1 { format!(" (and {} more on this line)", alike - 1) } else { String::new() };
        let label = format!("{}: {}{more}", self.severity.name(), self.message);
        render_place(&mut out, source, self.span, &label);
        if let Some((span, why)) = &self.related {
            render_place(&mut out, source, *span, why);
        }
        if let Some(hint) = &self.hint {
            let _ = writeln!(out, "      = hint: {hint}");
        }
        out
    }
}

fn render_place(out: &mut String, source: &SourceText, span: Span, label: &str) {
    let at = source.position(span.start);
    let _ = writeln!(out, "{}:{}:{}: {label}", source.name, at.line, at.column);
    render_excerpt(out, source, span);
}

/// The line in which `span` starts, with carets under its part of `span`.
fn render_excerpt(out: &mut String, source: &SourceText, span: Span) {
    let number = source.line(span.start);
    let line = source.line_text(number);
    if line.trim_ascii_start().is_empty() {
        return;
    }
    let before = (span.start as usize).saturating_sub(source.line_start(number));
    let shown = kit::text::pointed(line, before, (span.end - span.start) as usize);
    let _ = writeln!(out, "{number:>5} | {}", shown.line.trim_end());
    let _ = writeln!(out, "      | {}", shown.mark);
}

impl SourceText {
    /// The line in which `span` starts, with carets under its part of `span`, as messages show it.
    pub fn excerpt(&self, span: Span) -> String {
        let mut out = String::new();
        render_excerpt(&mut out, self, span);
        out
    }
}

/// All messages about a file: at most [`Diagnostics::LIMIT`] of each severity are kept.
#[derive(Clone, Debug, Default)]
pub struct Diagnostics {
    list: Vec<Diagnostic>,
    counts: [usize; 3],
}

impl Diagnostics {
    /// Maximum number of each severity that is kept; further ones are only counted.
    pub const LIMIT: usize = 100;

    /// Adds a diagnostic, or only counts it if [`Diagnostics::LIMIT`] of its severity are kept.
    pub fn push(&mut self, diagnostic: Diagnostic) {
        let count = &mut self.counts[diagnostic.severity as usize];
        *count += 1;
        if *count <= Self::LIMIT {
            self.list.push(diagnostic);
        }
    }

    /// Adds the diagnostics of another collection.
    pub fn append(&mut self, other: Diagnostics) {
        let kept = |s: Severity| other.list.iter().filter(|d| d.severity == s).count();
        let dropped = [Severity::Error, Severity::Warning, Severity::Note].map(|s| other.counts[s as usize] - kept(s));
        for diagnostic in other.list {
            self.push(diagnostic);
        }
        for (count, dropped) in self.counts.iter_mut().zip(dropped) {
            *count += dropped;
        }
    }

    /// The kept diagnostics, in the order found.
    pub fn iter(&self) -> std::slice::Iter<'_, Diagnostic> {
        self.list.iter()
    }

    /// Number of diagnostics of a severity, kept or not.
    pub fn count(&self, severity: Severity) -> usize {
        self.counts[severity as usize]
    }

    /// Whether there is an error.
    pub fn has_errors(&self) -> bool {
        self.count(Severity::Error) > 0
    }

    /// Whether there are no messages.
    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// Formats the diagnostics of `least` severity or worse in the order of the file, and a last line with
    /// the number of omitted ones, if any. Of repeated messages on one line only the first is shown.
    pub fn render(&self, source: &SourceText, least: Severity) -> String {
        let mut shown: Vec<&Diagnostic> = self.list.iter().filter(|d| d.severity <= least).collect();
        shown.sort_by_key(|d| d.span.start);
        let mut out = String::new();
        let line = |d: &Diagnostic| source.line(d.span.start);
        for alike in shown.chunk_by(|a, b| a.message == b.message && line(a) == line(b)) {
            out.push_str(&alike[0].render_first_of(alike.len(), source));
        }
        for severity in [Severity::Error, Severity::Warning, Severity::Note] {
            let left = self.count(severity).saturating_sub(Self::LIMIT);
            if severity <= least && left > 0 {
                let more = kit::text::counted(left as u64, &format!("more {}", severity.name()));
                let _ = writeln!(out, "{}: {more} not shown", source.name);
            }
        }
        out
    }
}

impl<'a> IntoIterator for &'a Diagnostics {
    type Item = &'a Diagnostic;
    type IntoIter = std::slice::Iter<'a, Diagnostic>;
    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

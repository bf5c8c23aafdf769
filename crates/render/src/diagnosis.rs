//! Why a run takes the time it takes, as text.

use crate::style::{FAINT, HEADING, styled};
use crate::wrap::wrapped;
use lab::Report;
use lab::diagnosis::Cause;

/// A cause as one paragraph.
pub fn paragraph(cause: &Cause) -> String {
    format!("{} {}", cause.sentence, cause.remedy)
}

/// The limit and the first cause.
pub fn first(report: &Report) -> String {
    let left = report.diagnosis.as_ref().map_or(0, |diagnosis| diagnosis.causes.len().saturating_sub(1));
    let is_located = report.profile.is_some();
    let mut out = section(report, 1);
    if left > 0 || (!is_located && !out.is_empty() && !report.kernels.is_empty()) {
        let more = kit::text::counted(left as u64, "more cause");
        let profile = "warpwright profile --show causes";
        let text = match (left, is_located) {
            (0, _) => format!("{profile} names instructions and lines"),
            (_, true) => format!("and {more}: --show causes"),
            (_, false) => format!("and {more}: {profile} lists them with instructions and lines"),
        };
        out += &format!("  {}\n", styled(FAINT, text));
    }
    out
}

/// The limit and all causes.
pub fn all(report: &Report) -> String {
    section(report, usize::MAX)
}

fn section(report: &Report, most: usize) -> String {
    let Some(diagnosis) = &report.diagnosis else { return String::new() };
    let limit = wrapped(&diagnosis.limit, "  ", "  ");
    let causes = diagnosis.causes.iter().take(most).enumerate();
    let causes: String =
        causes.map(|(i, cause)| wrapped(&paragraph(cause), &format!("  {}. ", i + 1), "     ")).collect();
    format!("{}\n{limit}{causes}", styled(HEADING, "Diagnosis"))
}

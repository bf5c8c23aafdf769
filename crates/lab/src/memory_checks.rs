//! Findings of checks of memory accesses, for reports.

use crate::setup::Setup;
use crate::source::Source;
use exec::OutOfBounds;
use exec::check::{Finding, Findings, Hazard};
use serde::Serialize;
use std::collections::BTreeMap;

/// Accesses outside allocations that are described in remarks.
const MOST_REMARKS: usize = 10;

/// Findings about the memory accesses of a run.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct MemoryChecks {
    /// Instructions of warps that were checked.
    pub instructions: u64,
    /// Accesses by kind; kinds that were not found are absent.
    pub accesses: BTreeMap<&'static str, u64>,
    /// The first access of each instruction, in the order of these accesses.
    pub findings: Vec<MemoryFinding>,
}

/// Access of an instruction.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[allow(missing_docs, reason = "the names say it")]
pub struct MemoryFinding {
    pub kind: &'static str,
    /// Accesses by threads.
    pub count: u64,
    pub kernel: String,
    pub pc: u32,
    /// The instruction.
    pub text: String,
    /// Its file and line.
    pub place: String,
    /// File and line of the source that it was compiled from; empty if unknown.
    pub origin: String,
    /// Position in the grid.
    pub cta: [u32; 3],
    /// Position in the CTA.
    pub thread: [u32; 3],
    /// Address, and what is wrong with it.
    pub what: String,
    /// Of races, the instruction of the earlier access.
    pub earlier_pc: Option<u32>,
    /// All of it as a sentence.
    #[serde(skip)]
    pub sentence: String,
}

impl From<&Finding> for MemoryFinding {
    fn from(finding: &Finding) -> Self {
        let Finding { kind, count, spot, cta, thread, what, earlier } = finding;
        Self {
            kind: kind.name(),
            count: *count,
            kernel: spot.kernel.clone(),
            pc: spot.pc.0,
            text: spot.text.clone(),
            place: spot.place.clone(),
            origin: spot.origin.as_ref().map_or(String::new(), |(file, line)| format!("{file}:{line}")),
            cta: [cta.x, cta.y, cta.z],
            thread: [thread.x, thread.y, thread.z],
            what: what.clone(),
            earlier_pc: earlier.as_ref().map(|spot| spot.pc.0),
            sentence: finding.to_string(),
        }
    }
}

fn findings_of(source: &Source) -> Option<&Findings> {
    let Source::Live(state) = source else { return None };
    state.findings()
}

impl MemoryChecks {
    /// The findings of a run, if it was to be checked and could be.
    pub(crate) fn of(setup: &Setup, source: &Source) -> Option<Self> {
        let found = findings_of(source).filter(|found| setup.check_memory && found.instructions() > 0)?;
        let count = |kind: Hazard| Some((kind.name(), found.count(kind))).filter(|&(_, count)| count > 0);
        Some(Self {
            instructions: found.instructions(),
            accesses: Hazard::ALL.into_iter().filter_map(count).collect(),
            findings: found.found().iter().map(MemoryFinding::from).collect(),
        })
    }
}

/// Remarks for the report on memory.
pub(crate) fn remarks(setup: &Setup, source: &Source) -> Vec<String> {
    let Source::Live(state) = source else {
        let asked = setup.check_memory || setup.out_of_bounds != OutOfBounds::Error;
        return asked
            .then(|| "a trace has addresses only: its memory accesses are not checked".to_owned())
            .into_iter()
            .collect();
    };
    let mut remarks = state.remarks().to_vec();
    let Some(found) = state.findings() else { return remarks };
    if found.instructions() == 0 {
        let core = &setup.core;
        remarks.push(format!("memory accesses are not checked: core `{core}` has executed no instruction of a warp"));
    } else if !setup.check_memory {
        remarks.extend(found.found().iter().take(MOST_REMARKS).map(Finding::to_string));
        let all = found.count(Hazard::OutOfBounds);
        let shown: u64 = found.found().iter().take(MOST_REMARKS).map(|finding| finding.count).sum();
        if all > shown {
            let more = kit::text::counted(all - shown, "more access");
            remarks.push(format!("{more} outside allocations by other instructions"));
        }
    }
    remarks
}

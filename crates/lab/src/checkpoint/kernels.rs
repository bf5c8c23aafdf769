//! The reports of kernels, a line of JSON for each, appended when it ends.

use crate::report::KernelReport;
use kit::output::Appended;
use std::ffi::OsString;
use std::io::Result;
use std::path::{Path, PathBuf};

/// The file beside the checkpoint.
#[derive(Debug)]
pub(super) struct Kernels {
    file: Appended,
    /// Lines that it has.
    lines: usize,
}

/// The place of the file beside a checkpoint.
pub(super) fn beside(checkpoint: &Path) -> PathBuf {
    let mut name: OsString = checkpoint.into();
    name.push(".kernels.jsonl");
    name.into()
}

fn line(report: &KernelReport) -> Result<String> {
    Ok(serde_json::to_string(report)? + "\n")
}

impl Kernels {
    /// Begins the file with `reports`. Lines that an earlier run has written after the same reports stay: kernels that
    /// run again have the same reports again.
    pub fn begin(checkpoint: &Path, reports: &[KernelReport]) -> Result<Self> {
        let path = beside(checkpoint);
        let mut content = reports.iter().map(line).collect::<Result<String>>()?;
        if !reports.is_empty()
            && let Ok(Ok(old)) = kit::files::read_data(&path).map(kit::files::text)
            && old.starts_with(&content)
        {
            // A line that a killed process has left may lack its end.
            let end = old.rfind('\n').map_or(0, |at| at + 1);
            content = old[..end].to_owned();
        }
        let lines = content.lines().count();
        Ok(Self { file: Appended::create(&path, content.as_bytes())?, lines })
    }

    /// Appends the reports that are missing; `reports` are all of the run's.
    pub fn append(&mut self, reports: &[KernelReport]) -> Result<()> {
        for report in reports.iter().skip(self.lines) {
            self.file.append(line(report)?.as_bytes())?;
            self.lines += 1;
        }
        Ok(())
    }
}

//! What two runs must have in common so that one continues the other.

use super::file::Digest;
use crate::run::Job;
use crate::setup::Setup;
use std::fs::File;
use std::io::Read;
use std::path::Path;

/// Inputs up to this size are compared by their contents, larger ones by their size.
const COMPARED_BYTES: u64 = 64 << 20;
/// The same for the files of traces, of which there may be thousands.
const COMPARED_TRACE_BYTES: u64 = 1 << 20;

/// Names and values: equal ones mean that the results are the same.
pub(super) fn of(setup: &Setup, job: &Job) -> Vec<(String, String)> {
    let Setup {
        gpu,
        core,
        scheduler,
        settings: _,
        max_cycles: _,
        livelock_cycles,
        code,
        registers,
        any_architecture,
        stack_bytes,
        audit,
        profile,
        timeline,
        out_of_bounds,
        check_memory,
        energy,
        power_interval,
        sample_interval,
        overview,
        threads: _,
    } = setup;
    let digest = |text: String| Digest::new().with(text.as_bytes()).text();
    let observers = (audit, profile, timeline.is_some(), check_memory, out_of_bounds);
    let intervals = (power_interval, sample_interval, overview, livelock_cycles);
    [
        ("version of the program", env!("CARGO_PKG_VERSION").to_owned()),
        ("job", named(job)),
        ("inputs", inputs(job)),
        ("GPU", gpu.name.clone()),
        ("GPU description", digest(format!("{gpu:?}"))),
        ("core design", core.clone()),
        ("warp scheduler", scheduler.clone().unwrap_or_else(|| "the GPU's".to_owned())),
        ("code", format!("{code:?}, {registers:?}, {any_architecture}, {stack_bytes:?}")),
        ("observation", format!("{observers:?}")),
        ("intervals", format!("{intervals:?}")),
        ("energy model", digest(format!("{energy:?}"))),
    ]
    .map(|(name, value)| (name.to_owned(), value))
    .to_vec()
}

fn named(job: &Job) -> String {
    match job {
        Job::Workload { name, size, params, seed } => format!("{name}, {size:?}, {params:?}, seed {seed}"),
        Job::LaunchFile { path, overrides } => format!("{}, {overrides:?}", path.display()),
        Job::Trace { path, concurrent_streams } => {
            let streams = if *concurrent_streams { ", concurrent streams" } else { "" };
            format!("{}{streams}", path.display())
        }
    }
}

/// A digest of what the job reads.
fn inputs(job: &Job) -> String {
    let most = if matches!(job, Job::Trace { .. }) { COMPARED_TRACE_BYTES } else { COMPARED_BYTES };
    job.inputs().iter().fold(Digest::new(), |digest, path| of_file(digest, path, most)).text()
}

fn of_file(digest: Digest, path: &Path, most: u64) -> Digest {
    // A file that cannot be read is reported when it is to be used.
    let Ok(mut file) = File::open(path) else { return digest };
    let size = file.metadata().map_or(0, |meta| meta.len());
    let digest = digest.with(&size.to_le_bytes());
    let mut contents = Vec::new();
    let is_small = size <= most;
    if is_small && file.read_to_end(&mut contents).is_ok() { digest.with(&contents) } else { digest }
}

/// The first difference between the run of a checkpoint and this one, in words.
pub(super) fn difference(there: &[(String, String)], here: &[(String, String)]) -> Option<String> {
    let of = |side: &[(String, String)], name: &str| {
        side.iter().find(|(known, _)| known == name).map_or("unknown".to_owned(), |(_, value)| value.clone())
    };
    let (name, value) = here.iter().find(|(name, value)| of(there, name) != *value)?;
    Some(format!("{name}: `{}` there, `{value}` here", of(there, name)))
}

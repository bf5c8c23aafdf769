//! The properties that two runs must share so that one continues the other.

use super::file::Digest;
use crate::setup::Setup;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

/// A digest of the sources that simulated figures come from: runs of the same model have the same figures, and the state
/// in a checkpoint means the same to it.
pub const MODEL: &str = env!("WARPWRIGHT_MODEL");

/// Inputs up to this size are compared by their contents, larger ones by their size.
const COMPARED_BYTES: u64 = 64 << 20;
/// The same for the files of traces, of which there may be thousands.
const COMPARED_TRACE_BYTES: u64 = 1 << 20;

/// The part of a run's identity that its job determines.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JobIdentity {
    /// The job with all that chooses its inputs.
    name: String,
    /// A digest of the files that it reads.
    inputs: String,
}

impl JobIdentity {
    /// The identity of the job called `name`. Reads `inputs`, which are of a trace or not.
    pub(crate) fn new(name: String, inputs: &[PathBuf], is_trace: bool) -> Self {
        let most = if is_trace { COMPARED_TRACE_BYTES } else { COMPARED_BYTES };
        let inputs = inputs.iter().fold(Digest::new(), |digest, path| of_file(digest, path, most)).text();
        Self { name, inputs }
    }
}

/// Names and values: equal ones mean that the results are the same.
pub(crate) fn of(setup: &Setup, job: &JobIdentity) -> Vec<(String, String)> {
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
        shift_addresses,
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
        time,
        threads: _,
    } = setup;
    let digest = |text: String| Digest::new().with(text.as_bytes()).text();
    let observers = (audit, profile, timeline.is_some(), check_memory, out_of_bounds, time);
    let intervals = (power_interval, sample_interval, overview, livelock_cycles);
    [
        ("version of the program", format!("{}, model {MODEL}", env!("CARGO_PKG_VERSION"))),
        ("job", job.name.clone()),
        ("inputs", job.inputs.clone()),
        ("GPU", gpu.name.clone()),
        ("GPU description", digest(format!("{gpu:?}"))),
        ("core design", core.clone()),
        ("warp scheduler", scheduler.clone().unwrap_or_else(|| "the GPU's".to_owned())),
        ("code", format!("{code:?}, {registers:?}, {any_architecture}, {stack_bytes:?}, {shift_addresses}")),
        ("observation", format!("{observers:?}")),
        ("intervals", format!("{intervals:?}")),
        ("energy model", digest(format!("{energy:?}"))),
    ]
    .map(|(name, value)| (name.to_owned(), value))
    .to_vec()
}

fn of_file(digest: Digest, path: &Path, most: u64) -> Digest {
    // A file that cannot be read is reported when it is to be used.
    let Ok(file) = File::open(path) else { return digest };
    let size = file.metadata().map_or(0, |meta| meta.len());
    let digest = digest.with(&size.to_le_bytes());
    let mut contents = Vec::new();
    // A device or a pipe says that it is empty, and may not end.
    let is_small = size <= most;
    let whole = is_small && file.take(size).read_to_end(&mut contents).is_ok();
    if whole { digest.with(&contents) } else { digest }
}

/// The first difference between the run of a checkpoint and this one, in words.
pub(super) fn difference(there: &[(String, String)], here: &[(String, String)]) -> Option<String> {
    let of = |side: &[(String, String)], name: &str| {
        side.iter().find(|(known, _)| known == name).map_or("unknown".to_owned(), |(_, value)| value.clone())
    };
    let (name, value) = here.iter().find(|(name, value)| of(there, name) != *value)?;
    Some(format!("{name}: `{}` there, `{value}` here", of(there, name)))
}

//! Completed runs: one file each, `NN/DIGEST.json.gz`, named by a digest of the run's identity.
//!
//! A file appears complete or not at all: processes on several machines may share a folder, and a killed process leaves no
//! partial run. A file that is damaged or has another identity counts as missing.

use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use kit::files::user_cache;
use kit::output;
use lab::{Job, JobIdentity, KeptReport, Report, Setup};
use request::chance;
use sha2::{Digest, Sha256};
use std::fmt::Write as _;
use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

/// Name of a stored run.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Key(String);

impl Key {
    /// The name of a run with this identity ([`lab::identity_of`]).
    fn of(identity: &[(String, String)]) -> Self {
        Self(digest(identity.iter().flat_map(|(name, value)| [&**name, &**value])))
    }
}

/// A digest of texts, of 32 hexadecimal digits.
pub(crate) fn digest(parts: impl IntoIterator<Item = impl AsRef<str>>) -> String {
    let mut digest = Sha256::new();
    for part in parts {
        let part = part.as_ref();
        digest.update((part.len() as u64).to_le_bytes());
        digest.update(part);
    }
    digest.finalize().iter().take(16).fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

impl AsRef<str> for Key {
    fn as_ref(&self) -> &str {
        &self.0
    }
}

/// A job, with what the store needs to know of it; computed on first use, because that reads its files.
#[derive(Clone, Debug)]
pub struct StoredJob {
    /// The job.
    pub job: Job,
    identity: OnceLock<JobIdentity>,
    writes: OnceLock<bool>,
}

impl StoredJob {
    /// A job.
    pub fn new(job: Job) -> Self {
        Self { job, identity: OnceLock::new(), writes: OnceLock::new() }
    }
}

/// A run: a job on a machine.
#[derive(Clone, Debug)]
pub struct Point {
    /// The machine.
    pub setup: Setup,
    /// Number of the repeat, from 0, which seeds its random changes.
    pub repeat: u64,
    /// The job, which all runs of it share.
    stored: Arc<StoredJob>,
    /// Identity and name.
    known: OnceLock<(Vec<(String, String)>, Key)>,
}

impl Point {
    /// The `repeat`th run of a job on a machine ([`chance::repeated`]).
    pub fn new(setup: &Setup, job: Arc<StoredJob>, repeat: u64) -> Self {
        Self { setup: chance::repeated(setup, repeat), repeat, stored: job, known: OnceLock::new() }
    }

    /// The job.
    pub fn job(&self) -> &Job {
        &self.stored.job
    }

    /// Job and machine, in a line.
    pub fn described(&self) -> String {
        let setup = &self.setup;
        let scheduler = setup.scheduler.iter().map(|scheduler| format!("scheduler {scheduler}"));
        let machine = [setup.gpu.name.clone(), format!("core {}", setup.core)].into_iter().chain(scheduler);
        let machine: Vec<String> = machine.chain(setup.settings.iter().cloned()).collect();
        let repeat = if self.repeat == 0 { String::new() } else { format!(", repeat {}", self.repeat) };
        format!("{}, {} on {}{repeat}", self.job().named(), setup.code.name(), machine.join(", "))
    }

    fn known(&self) -> &(Vec<(String, String)>, Key) {
        self.known.get_or_init(|| {
            let job = self.stored.identity.get_or_init(|| self.job().identity());
            let mut identity = lab::identity_of(&self.setup, job);
            identity.push(("cycles at most".to_owned(), format!("{:?}", self.setup.max_cycles)));
            let key = Key::of(&identity);
            (identity, key)
        })
    }

    /// The name under which it is stored.
    pub fn key(&self) -> &Key {
        &self.known().1
    }

    /// Whether it can be stored: a launch file that writes files must run to write them.
    pub fn can_be_kept(&self) -> bool {
        !self.stored.writes.get_or_init(|| !self.job().outputs().is_empty())
    }

    /// The report of this run as it is stored; `None` if it has parts that are not stored.
    ///
    /// # Errors
    /// The report cannot be written as JSON.
    pub fn pack(&self, report: &Report) -> io::Result<Option<Vec<u8>>> {
        let Some(kept) = KeptReport::of(self.known().0.clone(), report) else { return Ok(None) };
        let mut packed = GzEncoder::new(Vec::new(), Compression::fast());
        serde_json::to_writer(&mut packed, &kept)?;
        packed.finish().map(Some)
    }

    /// The report that `packed` has; `None` if it is damaged or of another run.
    pub fn unpack(&self, packed: impl BufRead) -> Option<Report> {
        let kept: KeptReport = serde_json::from_reader(BufReader::new(GzDecoder::new(packed))).ok()?;
        // The same value may have been set by another option.
        let settings = self.setup.settings.clone();
        (kept.identity == self.known().0).then(|| Report { settings, ..kept.into_report() })
    }
}

/// A folder of runs.
#[derive(Clone, Debug)]
pub struct Store {
    folder: PathBuf,
}

impl Store {
    /// The folder of the user's runs, in the user's cache folder; `None` if no variable of the environment names one.
    pub fn usual_folder() -> Option<PathBuf> {
        user_cache(|name| std::env::var_os(name)).map(|cache| cache.join("warpwright/points"))
    }

    /// The runs in `folder`, which is created with the first run.
    pub fn new(folder: PathBuf) -> Self {
        Self { folder }
    }

    /// The folder of the runs.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    fn file(&self, Key(name): &Key) -> PathBuf {
        self.folder.join(&name[..2]).join(format!("{name}.json.gz"))
    }

    /// Whether a run has a file, which may still be damaged.
    pub fn has(&self, point: &Point) -> bool {
        self.file(point.key()).is_file()
    }

    /// The report of a run, if it is stored.
    pub fn get(&self, point: &Point) -> Option<Report> {
        point.unpack(BufReader::new(File::open(self.file(point.key())).ok()?))
    }

    /// Stores a run that [`Point::pack`] has packed.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn put(&self, point: &Point, packed: &[u8]) -> io::Result<()> {
        let file = self.file(point.key());
        output::MadeFolders::make(file.parent().unwrap_or(&self.folder))?.keep();
        output::write(&file, packed)
    }
}

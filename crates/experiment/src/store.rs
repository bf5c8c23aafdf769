//! Runs that are kept: a file for each, `NN/DIGEST.json.gz`, whose name is a digest of the run's identity.
//!
//! A file appears whole or not at all, so that processes on several machines may share a folder, and one that is killed
//! leaves nothing that is wrong. What cannot be read, or is of another identity, is not there.

use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use kit::output;
use lab::{Job, KeptReport, Report, Setup};
use request::chance;
use sha2::{Digest, Sha256};
use std::fmt::Write as _;
use std::fs::File;
use std::io::{self, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// Name of a kept run.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Key(String);

impl Key {
    /// That of a run with this identity ([`lab::identity_of`]).
    fn of(identity: &[(String, String)]) -> Self {
        let mut digest = Sha256::new();
        for part in identity.iter().flat_map(|(name, value)| [name, value]) {
            digest.update((part.len() as u64).to_le_bytes());
            digest.update(part);
        }
        Self(digest.finalize().iter().take(16).fold(String::new(), |mut text, byte| {
            let _ = write!(text, "{byte:02x}");
            text
        }))
    }
}

impl AsRef<str> for Key {
    fn as_ref(&self) -> &str {
        &self.0
    }
}

/// A run: a job on a machine.
#[derive(Clone, Debug)]
pub struct Point {
    /// The machine.
    pub setup: Setup,
    /// What runs.
    pub job: Job,
    /// Number of the repeat, from 0: what was changed by chance.
    pub repeat: u64,
    /// What the results depend on, and its name; known when it is asked for, since inputs are read.
    known: OnceLock<(Vec<(String, String)>, Key)>,
}

impl Point {
    /// The `repeat`th run of a job on a machine ([`chance::repeated`]).
    pub fn new(setup: &Setup, job: Job, repeat: u64) -> Self {
        Self { setup: chance::repeated(setup, repeat), job, repeat, known: OnceLock::new() }
    }

    fn known(&self) -> &(Vec<(String, String)>, Key) {
        self.known.get_or_init(|| {
            let mut identity = lab::identity_of(&self.setup, &self.job);
            identity.push(("cycles at most".to_owned(), format!("{:?}", self.setup.max_cycles)));
            let key = Key::of(&identity);
            (identity, key)
        })
    }

    /// Its name.
    pub fn key(&self) -> &Key {
        &self.known().1
    }

    /// Whether it can be kept: a launch file that writes files must run to write them.
    pub fn can_be_kept(&self) -> bool {
        self.job.outputs().is_empty()
    }
}

/// A folder of runs.
#[derive(Clone, Debug)]
pub struct Store {
    folder: PathBuf,
}

impl Store {
    /// The runs in `folder`, which is made when the first one is kept.
    pub fn new(folder: PathBuf) -> Self {
        Self { folder }
    }

    /// Where they are.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    fn file(&self, Key(name): &Key) -> PathBuf {
        self.folder.join(&name[..2]).join(format!("{name}.json.gz"))
    }

    /// Whether there is a file of a run; it may turn out that it cannot be read.
    pub fn has(&self, point: &Point) -> bool {
        self.file(point.key()).is_file()
    }

    /// The report of a run, if it is kept.
    pub fn get(&self, point: &Point) -> Option<Report> {
        let (identity, key) = point.known();
        let file = BufReader::new(File::open(self.file(key)).ok()?);
        let kept: KeptReport = serde_json::from_reader(BufReader::new(GzDecoder::new(file))).ok()?;
        // A value may have been set in other words.
        let settings = point.setup.settings.clone();
        (kept.identity == *identity).then(|| Report { settings, ..kept.into_report() })
    }

    /// Keeps the report of a run. Returns it as it will be read again; `None` if it has parts that are not kept.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn keep(&self, point: &Point, report: &Report) -> io::Result<Option<Report>> {
        let (identity, key) = point.known();
        let Some(kept) = KeptReport::of(identity.clone(), report) else { return Ok(None) };
        let file = self.file(key);
        output::MadeFolders::make(file.parent().unwrap_or(&self.folder))?.keep();
        let mut packed = GzEncoder::new(Vec::new(), Compression::fast());
        let text = serde_json::to_vec(&kept)?;
        packed.write_all(&text)?;
        output::write(&file, &packed.finish()?)?;
        let again: KeptReport = serde_json::from_slice(&text)?;
        Ok(Some(again.into_report()))
    }
}

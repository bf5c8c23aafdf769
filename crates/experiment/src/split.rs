//! A program in several processes: each runs all of it, and times its share of the launches.
//!
//! A first run executes the program without time and lists its launches. Shares are stretches of launches with about the
//! same number of warp instructions. The launch before a share is timed too, to fill the caches, and is not counted. Every
//! run must have the same launches; a program whose runs differ has no shares.

use crate::store::{Store, digest};
use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use kit::output;
use lab::{KernelReport, Report, Sampling, summed, summed_by_kernel};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::fs::File;
use std::io::{self, BufReader};
use std::ops::Range;
use std::path::PathBuf;

/// The report of a program, as `exec` writes it.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[allow(missing_docs, reason = "as in the report of `exec`")]
pub struct ProgramReport {
    pub schema: u32,
    pub version: String,
    pub program: String,
    pub unsupported: Value,
    pub failures: Vec<String>,
    pub failed: Value,
    pub devices: Vec<DeviceReport>,
}

/// The report of a device of a program.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[allow(missing_docs, reason = "as in the report of `exec`")]
pub struct DeviceReport {
    pub device: usize,
    #[serde(flatten)]
    pub report: Report,
    pub transfers: Value,
    pub untimed: Vec<Value>,
    pub seconds: f64,
}

/// A launch of a program.
#[derive(Clone, Debug, PartialEq)]
pub struct Launch {
    name: String,
    /// Grid and block.
    shape: Option<[[u32; 3]; 2]>,
    warp_instructions: u64,
}

impl Launch {
    fn described(&self) -> String {
        let of = |[x, y, z]: [u32; 3]| format!("{x}x{y}x{z}");
        let shape = self.shape.map(|[grid, block]| format!(", {} CTAs of {} threads", of(grid), of(block)));
        format!("`{}`{}", self.name, shape.unwrap_or_default())
    }

    /// Whether it is the same launch in another run. Its instructions may differ: threads may race.
    fn is_like(&self, other: &Self) -> bool {
        (&self.name, self.shape) == (&other.name, other.shape)
    }
}

/// The one device of a program that has shares.
fn device(program: &ProgramReport) -> Result<(&DeviceReport, &Sampling), String> {
    let one = match &program.devices[..] {
        [one] => one,
        [] => return Err("the program launches no kernel".to_owned()),
        all => {
            let uses = all.len();
            return Err(format!("the program uses {uses} devices, or one {uses} times: launches of one are split"));
        }
    };
    let sampling = one.report.sampling.as_ref().filter(|_| !one.report.interrupted);
    Ok((one, sampling.ok_or("a run of the program ended early")?))
}

/// The launches of a run of the program, in order.
///
/// # Errors
/// It has none, or several devices, or ended early.
pub fn launches(program: &ProgramReport) -> Result<Vec<Launch>, String> {
    let (_, sampling) = device(program)?;
    let launch = |one: &lab::LaunchSample| Launch {
        name: one.name.clone(),
        shape: one.group.and_then(|at| sampling.groups.get(at)).map(|group| [group.grid, group.block]),
        warp_instructions: one.warp_instructions.unwrap_or(0),
    };
    let all: Vec<Launch> = sampling.kernels.iter().map(launch).collect();
    if all.is_empty() { Err("the program launches no kernel".to_owned()) } else { Ok(all) }
}

/// Up to `count` shares with about the same number of warp instructions, each with a launch or more.
pub fn shares(launches: &[Launch], count: usize) -> Vec<Range<u32>> {
    let count = count.clamp(1, launches.len().max(1));
    // A launch costs something even if it is empty.
    let work = |launch: &Launch| u128::from(launch.warp_instructions) + 1;
    let mut left: u128 = launches.iter().map(work).sum();
    let (mut shares, mut first, mut done) = (Vec::new(), 0, 0);
    for (at, launch) in launches.iter().enumerate() {
        done += work(launch);
        let (number, rest) = (shares.len(), launches.len() - at - 1);
        let is_full = done * (count - number) as u128 >= left;
        // Later shares need a launch each.
        let is_needed = rest < count - number;
        if rest == 0 || (number + 1 < count && (is_full || is_needed)) {
            shares.push(first..at as u32 + 1);
            first = at as u32 + 1;
            left -= std::mem::take(&mut done);
        }
    }
    shares
}

/// The choice of `--time` for a share: with the launch before it.
pub fn time(share: &Range<u32>) -> String {
    format!("kernels={}..{}", share.start.saturating_sub(1), share.end - 1)
}

/// Checks that `run` has the launches of the first run.
///
/// # Errors
/// It has others: which.
pub fn check(launches: &[Launch], run: &ProgramReport) -> Result<(), String> {
    let differs = |first: &str, other: &str| {
        Err(format!(
            "the program is not deterministic: {first} in its first run, {other} in another; shares of different runs do not add up"
        ))
    };
    let others = self::launches(run)?;
    if let Some((number, (first, other))) =
        launches.iter().zip(&others).enumerate().find(|(_, (first, other))| !first.is_like(other))
    {
        return differs(&format!("launch {number} is {}", first.described()), &other.described());
    }
    match (launches.len(), others.len()) {
        (first, other) if first != other => differs(&format!("it has {first} launches"), &other.to_string()),
        _ => Ok(()),
    }
}

/// The report of the program as if one process had timed all launches: of its first run, and of each share.
///
/// # Errors
/// A share lacks launches, or failed otherwise than the first run.
pub fn gathered(first: ProgramReport, shares: &[(Range<u32>, ProgramReport)]) -> Result<ProgramReport, String> {
    let (mut kernels, mut cycle, mut overlap) = (Vec::<KernelReport>::new(), 0, false);
    let mut remarks = vec![said(shares)];
    let mut host = lab::HostFigures::default();
    for (share, program) in shares {
        if program.failed != first.failed {
            return Err(format!("a share failed: {}", program.failures.join("; ")));
        }
        let (DeviceReport { report, .. }, _) = device(program)?;
        let mut own: Vec<KernelReport> = report.kernels.iter().filter(|k| share.contains(&k.launch)).cloned().collect();
        own.sort_by_key(|kernel| kernel.launch);
        if !own.iter().map(|kernel| kernel.launch).eq(share.clone()) {
            return Err(format!("a run did not time launches {} to {}", share.start, share.end - 1));
        }
        let begin = own.iter().map(|kernel| kernel.start_cycle).min().unwrap_or(0);
        let mut end = 0;
        for kernel in &mut own {
            kernel.start_cycle -= begin;
            overlap |= kernel.start_cycle < end;
            end = end.max(kernel.start_cycle + kernel.statistics.number("total_cycles") as u64);
            kernel.start_cycle += cycle;
        }
        cycle += end;
        kernels.extend(own);
        for remark in report.remarks.iter().filter(|remark| !remark.starts_with("sampled (")) {
            if !remarks.contains(remark) {
                remarks.push(remark.clone());
            }
        }
        host.seconds += report.host.seconds;
        host.peak_memory_bytes = host.peak_memory_bytes.max(report.host.peak_memory_bytes);
    }
    if overlap {
        remarks.push("launches overlap in time: each counts the whole GPU while it ran, and the total counts such cycles more than once".to_owned());
    }
    let total = summed(kernels.iter().map(|kernel| &kernel.statistics));
    let per_second = |name: &str| if host.seconds > 0.0 { total.number(name) / host.seconds } else { 0.0 };
    host.cycles_per_second = per_second("total_cycles");
    host.warp_instructions_per_second = per_second("warp_instructions");
    let by_kernel = summed_by_kernel(&kernels);
    let mut program = first;
    let Some(device) = program.devices.first_mut() else { return Ok(program) };
    // Without time, kernels take none.
    device.seconds += total.number("total_time") * 1e-6;
    device.untimed.clear();
    device.report = Report {
        kernels,
        total,
        // The first run has no time, and a share also has the accesses of the launch that fills its caches.
        l2_slice_accesses: Vec::new(),
        by_kernel,
        remarks,
        sampling: None,
        host,
        ..device.report.clone()
    };
    Ok(program)
}

/// The remark of a report on its shares.
fn said(shares: &[(Range<u32>, ProgramReport)]) -> String {
    let list: Vec<String> = shares
        .iter()
        .map(
            |(share, _)| {
                if share.len() == 1 { share.start.to_string() } else { format!("{}..{}", share.start, share.end - 1) }
            },
        )
        .collect();
    format!(
        "split into {} shares of launches ({}) with about the same number of warp instructions, each timed by a process \
         of its own. The launch before a share fills the caches and is not counted. What earlier launches leave in caches \
         and DRAM is approximate, above all in the first launches of a share. Totals are sums over launches",
        shares.len(),
        list.join(", ")
    )
}

/// A run of a program that is stored: what its results depend on.
#[derive(Clone, Debug)]
pub struct Identity(Vec<String>);

impl Identity {
    /// A run that depends on `parts`.
    pub fn new(parts: Vec<String>) -> Self {
        Self(parts)
    }

    /// The same with another choice of `--time`.
    pub fn timing(&self, choice: &str) -> Self {
        Self(self.0.iter().cloned().chain(["time".to_owned(), choice.to_owned()]).collect())
    }

    /// Name of the stored run.
    pub fn name(&self) -> String {
        digest(["exec"].iter().copied().chain(self.0.iter().map(String::as_str)))
    }

    fn file(&self, store: &Store) -> PathBuf {
        let name = self.name();
        store.folder().join(&name[..2]).join(format!("{name}.exec.json.gz"))
    }

    /// The report of the run and the program's exit status, if they are stored.
    pub fn get(&self, store: &Store) -> Option<(ProgramReport, i32)> {
        let file = BufReader::new(File::open(self.file(store)).ok()?);
        let kept: Kept = serde_json::from_reader(BufReader::new(GzDecoder::new(file))).ok()?;
        (kept.identity == self.0).then_some((kept.report, kept.status))
    }

    /// Stores the report of the run.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn put(&self, store: &Store, report: &ProgramReport, status: i32) -> io::Result<()> {
        let mut packed = GzEncoder::new(Vec::new(), Compression::fast());
        let kept = Kept { identity: self.0.clone(), status, report: report.clone() };
        serde_json::to_writer(&mut packed, &kept)?;
        let file = self.file(store);
        output::MadeFolders::make(file.parent().unwrap_or(store.folder()))?.keep();
        output::write(&file, &packed.finish()?)
    }
}

#[derive(Serialize, Deserialize)]
struct Kept {
    identity: Vec<String>,
    status: i32,
    report: ProgramReport,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(work: &[u64]) -> Vec<Launch> {
        let launch = |&warp_instructions| Launch { name: "k".into(), shape: None, warp_instructions };
        work.iter().map(launch).collect()
    }

    #[test]
    fn shares_cover_all_launches_with_about_the_same_work() {
        assert_eq!(shares(&of(&[10; 9]), 3), [0..3, 3..6, 6..9]);
        assert_eq!(shares(&of(&[100, 1, 1, 1, 1, 1]), 3), [0..1, 1..4, 4..6]);
        assert_eq!(shares(&of(&[1, 1, 1, 1, 100]), 3), [0..3, 3..4, 4..5]);
        assert_eq!(shares(&of(&[0, 0]), 5), [0..1, 1..2]);
        for (launches, count) in [(1, 1), (1, 7), (5, 2), (40, 7), (100, 100), (101, 100)] {
            for seed in 1..20_u64 {
                let work: Vec<u64> = (0..launches).map(|at| (at * seed * seed) % 37 * (at % 3) * 1000).collect();
                let shares = shares(&of(&work), count);
                assert_eq!(shares.len(), count.min(launches as usize));
                assert!(shares.iter().all(|share| !share.is_empty()));
                assert!(shares.iter().cloned().flatten().eq(0..launches as u32), "{shares:?}");
            }
        }
    }

    #[test]
    fn the_launch_before_a_share_is_timed_with_it() {
        assert_eq!([time(&(0..3)), time(&(3..4))], ["kernels=0..2", "kernels=2..3"]);
    }
}

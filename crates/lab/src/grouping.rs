//! The kernels of a program by what launched them.

use serde::Serialize;
use std::collections::{BTreeMap, HashMap};

/// Kernels that a group lists.
const MOST_KERNELS: usize = 3;

/// Origin of a launch: names, the outermost first, each with the number of its range.
pub type Path = Vec<(String, u64)>;

/// Launches by number: kernel, and cycles if it has any.
pub type Costs<'a> = BTreeMap<u32, (&'a str, Option<f64>)>;

/// A kernel within a group.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[allow(missing_docs, reason = "the names say it")]
pub struct GroupKernel {
    pub name: String,
    pub launches: u64,
    pub cycles: f64,
}

/// Kernels with the same names of what launched them, and those of the groups within it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Group {
    /// Names, the outermost first; empty for kernels that nothing launched that has a name.
    pub path: Vec<String>,
    /// Launches.
    pub launches: u64,
    /// Those of them without cycles: executed without time, or not ended.
    pub untimed: u64,
    /// Sum of their cycles, without launch latency.
    pub cycles: f64,
    /// The same as simulated time.
    pub seconds: f64,
    /// Of the cycles of all kernels; absent if there are none.
    pub share_percent: Option<f64>,
    /// Those of most cycles.
    pub kernels: Vec<GroupKernel>,
}

/// Origin of a launch.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct GroupedLaunch {
    /// Number of the launch.
    pub launch: u32,
    /// Its group, an index of the groups.
    pub group: usize,
    /// Numbers of the ranges, the outermost first: launches with the same number were made in the same one.
    pub ranges: Vec<u64>,
}

/// The kernels of a program by what launched them.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Grouping {
    /// `nvtx` or `python`.
    pub by: &'static str,
    /// A group before those within it; groups of the same level by cycles.
    pub groups: Vec<Group>,
    /// Each launch.
    pub launches: Vec<GroupedLaunch>,
}

/// Sums of a group.
#[derive(Default)]
struct Sums<'a> {
    launches: u64,
    untimed: u64,
    cycles: f64,
    kernels: BTreeMap<&'a str, (u64, f64)>,
}

impl Grouping {
    /// The launches `cost`, each with its kernel and the cycles if it has any, of which launch `i` was launched by
    /// `paths[i]`, on a GPU with `core_hz`.
    pub fn of(by: &'static str, cost: &Costs<'_>, paths: &[Path], core_hz: f64) -> Self {
        let mut sums: HashMap<Vec<&str>, Sums<'_>> = HashMap::new();
        let names = |launch: u32| -> Vec<&str> {
            paths.get(launch as usize).map_or_else(Vec::new, |path| path.iter().map(|(name, _)| &**name).collect())
        };
        let mut total = 0.0;
        for (&launch, &(name, cycles)) in cost {
            total += cycles.unwrap_or(0.0);
            let path = names(launch);
            let outermost = usize::from(!path.is_empty());
            for length in outermost..=path.len() {
                let sum = sums.entry(path[..length].to_vec()).or_default();
                sum.launches += 1;
                sum.untimed += u64::from(cycles.is_none());
                sum.cycles += cycles.unwrap_or(0.0);
                let kernel = sum.kernels.entry(name).or_default();
                *kernel = (kernel.0 + 1, kernel.1 + cycles.unwrap_or(0.0));
            }
        }
        let order = ordered(&sums);
        let place: HashMap<&[&str], usize> = order.iter().zip(0..).map(|(path, at)| (&**path, at)).collect();
        let launches = cost.keys().map(|&launch| GroupedLaunch {
            launch,
            group: place.get(&*names(launch)).copied().unwrap_or(0),
            ranges: paths.get(launch as usize).map_or_else(Vec::new, |path| path.iter().map(|(_, one)| *one).collect()),
        });
        let launches = launches.collect();
        let groups = order.iter().map(|path| {
            let Sums { launches, untimed, cycles, kernels } = &sums[path];
            Group {
                path: path.iter().map(|name| (*name).to_owned()).collect(),
                launches: *launches,
                untimed: *untimed,
                cycles: *cycles,
                seconds: cycles / core_hz,
                share_percent: (total > 0.0).then(|| cycles / total * 100.0),
                kernels: dearest(kernels),
            }
        });
        Self { by, groups: groups.collect(), launches }
    }

    /// Path of the group of a launch.
    pub fn path(&self, launch: u32) -> Option<&[String]> {
        let at = self.launches.binary_search_by_key(&launch, |one| one.launch).ok()?;
        self.groups.get(self.launches[at].group).map(|group| &*group.path)
    }
}

/// The paths, each before those within it, and those of the same level by cycles.
fn ordered<'a>(sums: &HashMap<Vec<&'a str>, Sums<'_>>) -> Vec<Vec<&'a str>> {
    let cycles = |path: &[&str]| sums.get(path).map_or(0.0, |sum| sum.cycles);
    let mut paths: Vec<Vec<&str>> = sums.keys().cloned().collect();
    paths.sort_by(|a, b| {
        let common = a.iter().zip(b).take_while(|(a, b)| a == b).count();
        if common == a.len() || common == b.len() {
            return a.len().cmp(&b.len());
        }
        let (left, right) = (&a[..=common], &b[..=common]);
        cycles(right).total_cmp(&cycles(left)).then_with(|| left.cmp(right))
    });
    paths
}

fn dearest(kernels: &BTreeMap<&str, (u64, f64)>) -> Vec<GroupKernel> {
    let mut all: Vec<GroupKernel> = kernels
        .iter()
        .map(|(name, &(launches, cycles))| GroupKernel { name: (*name).to_owned(), launches, cycles })
        .collect();
    all.sort_by(|a, b| b.cycles.total_cmp(&a.cycles).then(b.launches.cmp(&a.launches)));
    all.truncate(MOST_KERNELS);
    all
}

//! Runs that are kept.

use experiment::costs::Costs;
use experiment::plan::{Plan, Runs};
use experiment::runs::{Watch, run_all};
use experiment::store::{Point, Store};
use lab::{Monitor, Unattended};
use request::comparison::{Cell, Comparison};
use request::options::{Texts, row};
use request::{Options, Way};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use tempfile::TempDir;

/// Counts the runs.
#[derive(Default)]
struct Counting(AtomicUsize);

impl Watch for Counting {
    fn begin(&self) -> Box<dyn Monitor + '_> {
        self.0.fetch_add(1, Ordering::Relaxed);
        Box::new(Unattended)
    }

    fn cannot_keep(&self, why: &str) {
        panic!("{why}");
    }
}

fn plan(workloads: &[&str], options: &[(&str, &str)]) -> Plan {
    let texts: Texts = options.iter().map(|(name, value)| (row(name).unwrap(), vec![value.into()])).collect();
    let options = Options::read(Way::Sweep, &texts, &|row| row.name.to_owned()).unwrap();
    Plan::new(&options, &workloads.iter().map(PathBuf::from).collect::<Vec<_>>()).unwrap()
}

/// The comparison, and how many of its runs ran.
fn made(plan: &Plan, store: &Store) -> (Comparison, usize) {
    let counting = Counting::default();
    let points: Vec<&Point> = plan.points.iter().collect();
    let compared = plan.compared(run_all(&points, 2, Some(store), &counting));
    (compared, counting.0.into_inner())
}

/// As JSON, which has everything that is told of a comparison.
fn told(comparison: &Comparison) -> String {
    serde_json::to_string(&comparison.document()).unwrap()
}

fn folder() -> (TempDir, Store) {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::new(folder.path().join("points"));
    (folder, store)
}

fn files(store: &Store) -> Vec<PathBuf> {
    let inner = |folder: PathBuf| fs::read_dir(folder).into_iter().flatten().map(|entry| entry.unwrap().path());
    let folders = fs::read_dir(store.folder()).unwrap().map(|entry| entry.unwrap().path()).filter(|path| path.is_dir());
    let mut files: Vec<PathBuf> = folders.flat_map(inner).collect();
    files.sort();
    files
}

#[test]
fn a_run_that_is_kept_is_told_as_if_it_had_just_run() {
    let (_folder, store) = folder();
    let of = |options: &[(&str, &str)]| plan(&["lud:n=32", "reduction:n=4096", "gaussian:n=8"], options);
    for options in [
        &[("core", "inorder,ghost,socgpu,inorder+scalar")][..],
        &[("core", "inorder"), ("gpu", "v100"), ("kernels", "reduce_sum"), ("repeat", "2")],
        &[("core", "inorder,functional"), ("gpu", "gtx480")],
        &[("core", "inorder"), ("time", "representative")],
        &[("core", "inorder"), ("max_cycles", "9000")],
    ] {
        let (first, ran) = made(&of(options), &store);
        assert_eq!(ran, of(options).points.len(), "{options:?}");
        let (second, again) = made(&of(options), &store);
        assert!(again == 0 && told(&second) == told(&first), "{options:?}: {again}");
        // Results outside the JSON.
        for (one, other) in first.cells.iter().zip(&second.cells) {
            assert!(one.complete().map(|r| &r.by_kernel) == other.complete().map(|r| &r.by_kernel));
        }
    }
    let alone = of(&[("core", "inorder")]);
    let points: Vec<&Point> = alone.points.iter().collect();
    let without = alone.compared(run_all(&points, 1, None, &Counting::default()));
    let (kept, ran) = made(&alone, &store);
    assert_eq!(ran, 0, "the same runs of another comparison");
    for (one, other) in without.cells.iter().zip(&kept.cells) {
        let (one, other) = (one.complete().unwrap(), other.complete().unwrap());
        assert!((&one.total, &one.kernels, &one.check) == (&other.total, &other.kernels, &other.check));
    }
}

#[test]
fn whatever_changes_results_is_another_run() {
    let usual = plan(&["lud:n=32"], &[]);
    let changed = [
        plan(&["lud:n=48"], &[]),
        plan(&["lud:n=32"], &[("seed", "2")]),
        plan(&["lud:n=32"], &[("gpu", "v100")]),
        plan(&["lud:n=32"], &[("core", "ghost")]),
        plan(&["lud:n=32"], &[("scheduler", "lrr")]),
        plan(&["lud:n=32"], &[("set", "l2.latency_cycles=3")]),
        plan(&["lud:n=32"], &[("code", "ptx")]),
        plan(&["lud:n=32"], &[("registers", "allocated")]),
        plan(&["lud:n=32"], &[("shift_addresses", "256")]),
        plan(&["lud:n=32"], &[("max_cycles", "5")]),
        plan(&["lud:n=32"], &[("energy_model", "v100")]),
        plan(&["lud:n=32"], &[("time", "none")]),
    ];
    let mut keys: Vec<_> = changed.iter().chain([&usual]).map(|plan| plan.points[0].key().clone()).collect();
    let repeat = plan(&["lud:n=32"], &[("repeat", "2")]);
    assert_eq!(repeat.points[0].key(), usual.points[0].key());
    keys.push(repeat.points[1].key().clone());
    let count = keys.len();
    keys.sort();
    keys.dedup();
    assert_eq!(keys.len(), count);
    let key = |core, scheduler: Option<&str>| {
        let axes = [("core", core)].into_iter().chain(scheduler.map(|name| ("scheduler", name))).collect::<Vec<_>>();
        plan(&["lud:n=32"], &axes).points[0].key().clone()
    };
    let of_gpu = usual.points[0].setup.gpu.sm.issue.scheduler.to_string();
    assert_eq!(key("inorder", None), key("inorder", Some(&of_gpu)), "the GPU's own scheduler by its name");
    assert_eq!(key("modern", None), key("modern", Some("gty")), "the core's own");
    assert_ne!(key("modern", None), key("modern", Some(&of_gpu)), "which is not the GPU's");
}

#[test]
fn what_is_damaged_runs_again() {
    let (_folder, store) = folder();
    let one = plan(&["lud:n=32", "reduction:n=4096"], &[]);
    let (first, _) = made(&one, &store);
    let kept = files(&store);
    assert_eq!(kept.len(), 2);
    let whole = fs::read(&kept[0]).unwrap();
    for damaged in [&whole[..whole.len() / 2], b"", b"nothing of the kind", &fs::read(&kept[1]).unwrap()] {
        fs::write(&kept[0], damaged).unwrap();
        let (again, ran) = made(&one, &store);
        assert!(ran == 1 && told(&again) == told(&first), "{ran}");
    }
    assert_eq!(fs::read(&kept[0]).unwrap().len(), whole.len());
}

#[test]
fn a_run_that_fails_runs_twice_and_is_not_kept() {
    let (folder, store) = folder();
    let path = folder.path().join("fault.toml");
    let ptx = ".version 7.0\n.target sm_70\n.address_size 64\n.visible .entry k()\n{\n.reg .u64 %a;\nmov.u64 %a, 8;\nst.global.u64 [%a], %a;\nret;\n}\n";
    fs::write(folder.path().join("fault.ptx"), ptx).unwrap();
    fs::write(&path, "module = \"fault.ptx\"\n[[launch]]\nkernel = \"k\"\ngrid = 1\nblock = 32\n").unwrap();
    let of = plan(&[path.to_str().unwrap(), "lud:n=32"], &[]);
    let (compared, ran) = made(&of, &store);
    assert!(matches!(&compared.cells[..], [Cell::Failed(..), Cell::Complete(_)]), "{:?}", compared.cells[0].reason());
    assert_eq!((ran, files(&store).len()), (3, 1));
    let (_, again) = made(&of, &store);
    assert_eq!(again, 2, "only what failed");
}

#[test]
fn several_comparisons_have_each_run_once_and_shares_cover_all() {
    let (_folder, store) = folder();
    let plans = [
        plan(&["lud:n=32", "nn:places=512"], &[("core", "inorder,ghost")]),
        plan(&["lud:n=32"], &[("core", "inorder,socgpu")]),
    ];
    let runs = Runs::of(&plans, &store);
    assert_eq!((runs.count(), runs.left.len()), (5, 5));
    let mut shares: Vec<_> = (0..3).flat_map(|share| runs.share(share, 3)).map(Point::key).collect();
    shares.sort();
    shares.dedup();
    assert_eq!(shares.len(), 5);
    let dealt = runs.share(1, 3);
    let (first, second) = (runs.estimate(1), runs.estimate(4));
    assert!(first.time > second.time && first.at_most > first.time && first.unknown == 0, "{first:?} {second:?}");
    run_all(&dealt, 1, Some(&store), &Counting::default());
    let later = Runs::of(&plans, &store);
    assert_eq!(later.left.len(), 5 - dealt.len());
    assert!(later.share(1, 3).is_empty(), "shares do not move when something is kept");
}

#[test]
fn times_are_noted_and_lines_that_are_none_passed_over() {
    let (_folder, store) = folder();
    let one = plan(&["lud:n=32", "nn"], &[("core", "inorder,ghost")]);
    let [lud, lud_ghost, nn, _] = &one.points[..] else { panic!() };
    fs::create_dir_all(store.folder()).unwrap();
    Costs::note(&store, lud, Duration::from_millis(2500)).unwrap();
    let file = fs::read_dir(store.folder()).unwrap().next().unwrap().unwrap().path();
    let text = fs::read_to_string(&file).unwrap();
    fs::write(&file, format!("{text}nothing\na\tb\tc\tNaN\n{text}")).unwrap();
    let costs = Costs::of(&store);
    let seconds = |point: &Point| costs.cost(point).map(|cost| cost.seconds);
    assert_eq!([seconds(lud), seconds(lud_ghost), seconds(nn)], [Some(2.5), Some(2.5), Some(0.15)]);
    assert!(!Path::new(&store.folder().join("lud")).exists());
}

#[test]
fn estimates_follow_parameters_that_grow_with_the_size() {
    let (_folder, store) = folder();
    let seconds = |workload: &str, size: &str| {
        let plan = plan(&[workload], &[("core", "inorder"), ("size", size)]);
        Costs::of(&store).cost(&plan.points[0]).unwrap().seconds
    };
    for name in ["bfs", "backprop", "storegpu", "lud"] {
        let workload = workloads::suite::find(name).unwrap();
        let of = |size: usize| {
            let given: Vec<String> =
                workload.parameters.iter().map(|p| format!("{}={}", p.name, p.sizes[size])).collect();
            format!("{name}:{}", given.join(","))
        };
        // The parameters of a size, given to another one.
        let (large, as_large) = (seconds(name, "large"), seconds(&of(2), "small"));
        assert!((as_large / large - 1.0).abs() < 1e-9, "{name}: {as_large} {large}");
        let (medium, as_medium) = (seconds(name, "medium"), seconds(&of(1), "small"));
        assert!(as_medium > medium / 3.0 && as_medium < medium * 3.0, "{name}: {as_medium} {medium}");
        assert!(seconds(&of(0), "medium") < medium / 3.0, "{name}");
    }
    assert_eq!(seconds("bfs:block=64,degree=3", "small"), seconds("bfs", "small"));
    assert!(seconds("nn:places=1", "small") > 0.0, "a run of nothing takes time as well");
}

//! `warpwright sweep`: runs that are kept, experiments as files, repeats.

use crate::common::{command, from, root, run, succeed};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Stdio;
use std::time::Instant;

const RUNS: [&str; 12] = [
    "sweep",
    "lud:n=64",
    "nn:places=2048",
    "bfs:nodes=512",
    "gaussian:n=12",
    "--cores",
    "inorder,ghost,loog",
    "--repeat",
    "2",
    "--quiet",
    "--points",
    "points",
];

/// The contents of the folder of results.
fn results(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let entries = fs::read_dir(folder.join("out")).unwrap().map(|entry| entry.unwrap().path());
    entries.map(|path| (path.file_name().unwrap().to_str().unwrap().to_owned(), fs::read(path).unwrap())).collect()
}

#[test]
fn a_sweep_killed_at_any_moment_and_continued_has_the_same_files() {
    let whole = tempfile::tempdir().unwrap();
    let sweep = |folder: &Path| {
        let mut command = command(&RUNS);
        command.args(["--out", "out"]).current_dir(folder).stdout(Stdio::null()).stderr(Stdio::null());
        command
    };
    let began = Instant::now();
    assert!(sweep(whole.path()).status().unwrap().success());
    let (took, expected) = (began.elapsed(), results(whole.path()));
    let names: Vec<&str> = expected.keys().map(String::as_str).collect();
    assert_eq!(names, ["report-1.png", "report-1.svg", "report.csv", "report.html", "report.json", "report.txt"]);
    // Where it is killed must not matter, so any numbers will do.
    let mut random = std::time::UNIX_EPOCH.elapsed().map_or(1, |d| d.subsec_nanos()) | 1;
    let killed = tempfile::tempdir().unwrap();
    for _ in 0..20 {
        random ^= random << 13;
        random ^= random >> 17;
        random ^= random << 5;
        let mut child = sweep(killed.path()).spawn().unwrap();
        std::thread::sleep(took.mul_f64(f64::from(random % 300) / 1000.0));
        let _ = child.kill();
        child.wait().unwrap();
    }
    assert!(sweep(killed.path()).status().unwrap().success());
    let got = results(killed.path());
    for (name, bytes) in &expected {
        assert!(got.get(name) == Some(bytes), "{name} differs");
    }
    // A killed process leaves temporary files under other names.
    assert!(got.keys().filter(|name| name.starts_with("report")).count() == expected.len());
}

#[test]
fn only_what_is_missing_runs() {
    let folder = tempfile::tempdir().unwrap();
    let sweep = |words: &[&str]| {
        let ran = from(command(words).args(["--points", "points"]).current_dir(folder.path()).output().unwrap());
        assert_eq!(ran.status, 0, "{words:?}: {}", ran.stderr);
        ran
    };
    let one = ["sweep", "lud:n=64", "nn:places=512", "--cores", "inorder,ghost"];
    let dry = sweep(&[&one[..], &["--dry-run"]].concat());
    assert!(dry.stderr.starts_with("4 runs; what is left takes about"), "{}", dry.stderr);
    assert_eq!(dry.stdout.lines().count(), 4, "{}", dry.stdout);
    assert!(dry.stdout.contains("lud, small, n=64, seed 1, machine code on rtx2060s, core ghost"), "{}", dry.stdout);
    let share = sweep(&[&one[..], &["--share", "1/2"]].concat());
    assert_eq!(share.stdout, "");
    let first = sweep(&one);
    assert!(first.stderr.starts_with("4 runs, 2 of them kept; what is left"), "{}", first.stderr);
    let second = sweep(&one);
    assert_eq!((second.stderr.as_str(), &second.stdout), ("4 runs, 4 of them kept\n", &first.stdout));
    let more = sweep(&[
        "sweep",
        "nn:places=512",
        "lud:n=64",
        "--cores",
        "inorder,ghost,socgpu",
        "--vary",
        "core.buffer=16,32",
    ]);
    assert!(more.stderr.starts_with("8 runs, 4 of them kept; what is left"), "{}", more.stderr);
    let compared = succeed(&[&["compare"], &one[1..]].concat());
    assert_eq!(compared, first.stdout, "as without keeping");
}

/// Parts may share a column, and may have different columns with one label.
#[test]
fn means_on_both_machines_name_their_part_and_are_listed_once() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("mine.toml");
    let text = "title = 'Two machines'\n[all]\nworkloads = 'lud:n=64'\ngpus = 'papers/ghost'\nstock = 'rtx2060s'\n\
                cores = ['inorder', 'ghost']\n[[part]]\n[[part]]\ncores = ['inorder', 'ghost', 'ideal']\n\
                [[part]]\nset = { 'sm.issue.ignore_predicates' = true }\n";
    fs::write(&file, text).unwrap();
    let points = folder.path().join("points");
    let command = ["sweep", file.to_str().unwrap(), "--stock", "--repeat", "2", "--points", points.to_str().unwrap()];
    let document: Value = serde_json::from_str(&succeed(&[&command[..], &["--json"]].concat())).unwrap();
    let headlines = document["headlines"].as_array().unwrap();
    let of = |headline: &Value| (headline["part"].as_u64().unwrap(), headline["label"].as_str().unwrap().to_owned());
    let expected = [(1, "ghost"), (2, "ideal"), (3, "ghost")].map(|(part, label)| (part, label.to_owned()));
    assert_eq!(headlines.iter().map(of).collect::<Vec<_>>(), expected);
    for (machines, repeats) in [("parts", "repeats_on_papers"), ("stock", "repeats_on_stock")] {
        let mean = &document[machines][2]["geometric_means"][1]["repeats"];
        assert_eq!((&mean["runs"], mean), (&2.into(), &headlines[2][repeats]));
    }
    let text = succeed(&command);
    assert!(["part 1, ghost: ", "part 3, ghost: "].iter().all(|one| text.matches(one).count() == 1), "{text}");
}

#[test]
fn an_experiment_of_ones_own_is_a_file() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| fs::write(folder.path().join(name), text).unwrap();
    write(
        "mine.toml",
        "title = 'Buffers'\nabout = 'how long'\n[all]\nworkloads = ['lud:n=64', 'launch.toml']\ncores = ['inorder', 'ghost']\n\
         [[part]]\nshow = 'speedup'\n[[part]]\ncores = 'inorder'\ninstruction_buffer = [2, 8]\n",
    );
    write("launch.toml", "module = \"k.ptx\"\n[[launch]]\nkernel = \"k\"\ngrid = 1\nblock = 32\n");
    write("k.ptx", ".version 7.0\n.target sm_70\n.address_size 64\n.visible .entry k()\n{\nret;\n}\n");
    let file = folder.path().join("mine.toml");
    let points = folder.path().join("points");
    let (file, points) = (file.to_str().unwrap(), points.to_str().unwrap());
    let text = succeed(&["sweep", file, "--points", points]);
    for part in ["Buffers\n  how long\n", "Speedup over inorder", "$ warpwright compare lud:n=64", "buffer=8"] {
        assert!(text.contains(part), "{part}: {text}");
    }
    let document: Value =
        serde_json::from_str(&succeed(&["sweep", file, "--points", points, "--repeat", "2", "--json"])).unwrap();
    let second = &document["parts"][0]["runs"][1];
    assert_eq!(second["repeats"]["runs"], 2, "{second}");
    assert!(second["repeats"]["mean"].as_f64().unwrap() > 0.9 && second["repeats"]["half"].as_f64().is_some());
    for (text, message) in [
        ("[[part]]\nworkloads = 'lud'\nkores = 'ghost'\n", "part 1: there is no option `kores`"),
        ("part = 1\n", "mine.toml"),
    ] {
        write("mine.toml", text);
        let ran = run(&["sweep", file, "--points", points]);
        assert!(ran.status == 2 && ran.stderr.contains(message), "{}", ran.stderr);
    }
}

#[test]
fn pictures_are_of_the_first_figure_that_a_part_shows() {
    let folder = tempfile::tempdir().unwrap();
    let (file, points) = (folder.path().join("mine.toml"), folder.path().join("points"));
    let all = "[all]\nworkloads = ['lud:n=64', 'nn:places=512', 'bfs:nodes=512']\ncores = ['inorder', 'ghost']\n\
               show = ['power', 'speedup']\n";
    let parts = "[[part]]\n[[part]]\nplot = 'scatter'\n[[part]]\nplot = 'none'\n\
                 [[part]]\nworkloads = 'lud:n=64'\ncores = 'inorder'\nshow = 'speedup'\n\
                 vary = { 'sm.frontend.buffer_entries' = [2, 4, 8] }\n";
    let claim = "[[claim]]\nclaim = 'they correlate'\ncolumn = 'ghost'\ntake = 'correlation'\nwith = 'cycles'\n\
                 at_least = -1.0\n";
    fs::write(&file, [all, parts, claim].concat()).unwrap();
    let out = folder.path().join("out");
    let words = ["sweep", file.to_str().unwrap(), "--points", points.to_str().unwrap()];
    succeed(&[&words[..], &["--quiet", "--out", out.to_str().unwrap()]].concat());
    let picture = |name: &str| fs::read_to_string(out.join(name)).unwrap();
    for (name, texts) in [
        ("report-1.svg", &["Mean power (W)", "inorder", "ghost", "nn:places=512"][..]),
        ("report-2.svg", &["Mean power (W) by speedup", "Speedup over inorder"]),
        ("report-4.svg", &["Speedup over buffer_entries=2", "buffer_entries", "over the baseline"]),
        ("claim-1.svg", &["they correlate", "speedup over inorder", "cycles (core cycles)"]),
    ] {
        let picture = picture(name);
        let missing = texts.iter().find(|text| !picture.contains(*text));
        assert_eq!(missing, None, "{name}: {picture}");
        assert!(fs::read(out.join(name.replace("svg", "png"))).unwrap().starts_with(b"\x89PNG"));
    }
    assert!(!out.join("report-3.svg").exists());
    for (plot, message) in [("line", "part 1: `plot = \"line\"`: no setting"), ("pie", "part 1: unknown variant `pie`")]
    {
        fs::write(&file, format!("{all}plot = '{plot}'\n")).unwrap();
        let ran = run(&words);
        assert!(ran.status == 2 && ran.stderr.contains(message), "{}", ran.stderr);
    }
}

#[test]
fn published_and_derived_figures_may_be_the_users() {
    let folder = tempfile::tempdir().unwrap();
    let (file, points) = (folder.path().join("mine.toml"), folder.path().join("points"));
    let all = "[all]\nworkloads = ['lud:n=64', 'nn:places=512']\ncores = ['inorder', 'ghost']\nshow = 'speedup'\n";
    let derive = "derive = { 'bytes per instruction' = 'dram.bytes / warp_instructions' }\n";
    let words = ["sweep", file.to_str().unwrap(), "--points", points.to_str().unwrap()];
    fs::write(&file, [all, "published = { nn = 1.25 }\n", derive].concat()).unwrap();
    let document: Value = serde_json::from_str(&succeed(&[&words[..], &["--json"]].concat())).unwrap();
    let run = |at: usize| &document["parts"][0]["runs"][at];
    assert_eq!(
        (&run(3)["published"]["speedup"], &run(2)["published"], &run(1)["published"]),
        (&1.25.into(), &Value::Null, &Value::Null)
    );
    let total = |name: &str| run(3)["report"]["total"][name].as_f64().unwrap();
    let derived = &run(3)["derived"][0];
    assert_eq!(derived["name"], "bytes per instruction");
    assert_eq!(derived["value"].as_f64().unwrap(), total("dram.bytes") / total("warp_instructions"));
    let text = succeed(&words);
    let has = ["$ warpwright compare", " paper", "1.250", "by the experiment's file", "\nbytes per instruction\n"];
    assert_eq!(has.iter().find(|part| !text.contains(*part)), None, "{text}");
    let command = text.lines().find(|line| line.starts_with("$ ")).unwrap();
    assert!(command.contains("--derive 'bytes per instruction=dram.bytes / warp_instructions'"), "{command}");
    let csv = succeed(&[&words[..], &["--csv"]].concat());
    assert_eq!(csv.lines().filter(|line| line.contains(",published.speedup,ratio,1.25")).count(), 1, "{csv}");
    assert_eq!(csv.lines().filter(|line| line.contains(",bytes per instruction,,")).count(), 4, "{csv}");
    for (keys, message) in [
        ("published = { nw = 1.1 }\n", "part 1: `published`: there is no row `nw`"),
        (
            "published = { ghots = { nn = 1.1 } }\n",
            "part 1: `published`: there is no column `ghots`; did you mean `ghost`?",
        ),
        ("published = 1.1\n", "`published` is true, false, a table"),
        ("derive = { x = 'dram.byte / 2' }\n", "did you mean `dram.bytes`?"),
    ] {
        fs::write(&file, [all, keys].concat()).unwrap();
        let ran = crate::common::run(&words);
        assert!(ran.status == 2 && ran.stderr.contains(message), "{}", ran.stderr);
    }
}

/// Each verdict from figures that the document has beside it.
#[test]
fn claims_are_compared_with_the_simulated_values() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("claims.toml");
    let claim = |text: &str, keys: &str| format!("[[claim]]\nclaim = '{text}'\ncolumn = 'ghost'\n{keys}\n");
    let claims = [
        claim("mean", "published = 5.0\nwhy = 'it is invented'"),
        claim("least", "take = 'least'\nat_least = 0.5"),
        claim("row", "row = 'nn:places=2048'\nat_most = 0.1"),
        claim("share", "take = 'share_below_1'\nat_most = 1.0"),
        claim("energy", "figure = 'relative-energy'\ntake = 'arithmetic_mean'\npublished = 1e9"),
        claim("correlation", "take = 'correlation'\nwith = 'cycles'\nat_least = -1.0"),
        claim("elsewhere", "published = 1.0").replace("ghost", "loog"),
        "[[claim]]\nclaim = 'area'\ncost = 'a core at 40 nm'\n".to_owned(),
    ];
    let part = "title = 'A paper, figure 1'\n[[part]]\nworkloads = ['lud:n=64', 'nn:places=2048', 'bfs:nodes=512']\n\
                cores = ['inorder', 'ghost']\nshow = 'speedup'\n";
    fs::write(&file, part.to_owned() + &claims.concat()).unwrap();
    let points = folder.path().join("points");
    let words = ["sweep", file.to_str().unwrap(), "--points", points.to_str().unwrap()];
    let document: Value = serde_json::from_str(&succeed(&[&words[..], &["--json"]].concat())).unwrap();
    let runs = document["parts"][0]["runs"].as_array().unwrap();
    let speedups: Vec<f64> =
        runs.iter().filter(|run| run["column"] == 1).map(|run| run["speedup"].as_f64().unwrap()).collect();
    let found = |claim: &str| {
        let all = document["claims"].as_array().unwrap();
        let one = all.iter().find(|one| one["claim"] == claim).unwrap();
        (one["ours"].as_f64().unwrap_or(f64::NAN), one["verdict"].as_str().unwrap(), one["rows"].as_u64().unwrap())
    };
    let mean = (speedups.iter().map(|speedup| speedup.ln()).sum::<f64>() / 3.0).exp();
    let (ours, verdict, rows) = found("mean");
    assert!((ours - mean).abs() < 1e-12 && rows == 3, "{ours} {mean}");
    assert_eq!(verdict, if mean > 1.0 { "same_sign" } else { "not" });
    let least = speedups.iter().copied().fold(f64::MAX, f64::min);
    assert_eq!(found("least"), (least, "holds", 3));
    assert_eq!(found("row"), (speedups[1], "not", 1));
    let slower = speedups.iter().filter(|speedup| **speedup < 1.0).count() as f64 / 3.0;
    assert_eq!(found("share"), (slower, "holds", 3));
    let energies = runs.iter().filter(|run| run["column"] == 1).map(|run| run["relative_energy"].as_f64().unwrap());
    let energy = energies.sum::<f64>() / 3.0;
    let (ours, verdict, _) = found("energy");
    assert!((ours - energy).abs() < 1e-12, "{ours} {energy}");
    assert_eq!(verdict, if energy > 1.0 { "same_sign" } else { "not" });
    assert_eq!(found("correlation").1, "holds");
    assert_eq!((found("elsewhere").1, found("elsewhere").2), ("unknown", 0));
    assert_eq!(found("area").1, "not");
    let text = succeed(&words);
    let table = text.split("Claims of the paper").nth(1).unwrap();
    assert!(table.contains("mean: it is invented") && table.contains("at least 0.500"), "{table}");
    let row = table.lines().find(|line| line.contains("elsewhere")).unwrap();
    assert!(row.ends_with("not run"), "{row}");
}

#[test]
fn what_a_sweep_cannot_do_is_said() {
    let cannot = |words: &[&str], message: &str| {
        let ran = run(&[&["sweep"], words].concat());
        assert!(ran.status == 2 && ran.stderr.contains(message), "{words:?}: {}", ran.stderr);
    };
    cannot(&["lud", "--audit"], "findings are not stored with a run");
    cannot(&["lud", "--share", "0/4"], "expected a share such as 2/16");
    cannot(&["lud", "--stock"], "--stock is for experiments of papers");
    cannot(&["ghost-fig16", "--show", "ipc"], "an experiment's parts set --show");
    cannot(&["nothing"], "nothing");
    let all = run(&["reproduce", "all", "--json"]);
    assert!(all.status == 2 && all.stderr.contains("--out FOLDER writes each figure's"), "{}", all.stderr);
    let quick = run(&["reproduce", "ghost-fig16", "--quick", "--size", "medium"]);
    assert!(quick.status == 2 && quick.stderr.contains("--quick is --size small"), "{}", quick.stderr);
    cannot(&["lud", "--repeat", "4000000000"], "--repeat 4000000000 of 1 run: a comparison has 65536 runs at most");
    let points = root().join("README.md");
    let ran = run(&["sweep", "lud:n=16", "--points", points.to_str().unwrap()]);
    assert!(ran.status == 0 && ran.stderr.contains("a run cannot be kept"), "{}", ran.stderr);
    // Without Slurm's commands.
    let folder = tempfile::tempdir().unwrap();
    let mut alone = command(&["sweep", "lud:n=16", "--engine", "slurm", "--points"]);
    let ran = from(alone.arg(folder.path().join("points")).env("PATH", folder.path()).output().unwrap());
    assert!(ran.status == 1 && ran.stderr.contains("`squeue` was not found"), "{}", ran.stderr);
}

/// Repeats of what is bound by memory differ, and say by how much.
#[test]
fn repeats_have_an_interval() {
    let text = succeed(&["compare", "bfs:nodes=1024", "lud:n=64", "--cores", "inorder,ghost", "--repeat", "3"]);
    let speedups = text.split("Speedup over inorder").nth(1).unwrap();
    let bfs = speedups.lines().find(|line| line.trim_start().starts_with("bfs")).unwrap();
    assert!(bfs.contains('±'), "{text}");
    assert!(
        speedups.lines().any(|line| line.trim_start().starts_with("geometric mean") && line.contains('±')),
        "{text}"
    );
    assert!(text.contains("Means of 3 runs"), "{text}");
    let csv = succeed(&["compare", "bfs:nodes=1024", "--cores", "inorder,ghost", "--repeat", "3", "--csv"]);
    assert!(csv.lines().any(|line| line.contains(",speedup.half_width,ratio,")), "{csv}");
}

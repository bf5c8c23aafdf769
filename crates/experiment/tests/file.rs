//! Experiments as files.

use experiment::file::{Experiment, Machines, bundled};
use experiment::plan::Plan;
use request::options::{Texts, row};
use std::path::Path;
use workloads::{Size, suite};

fn parts(text: &str, given: &[(&str, &str)], machines: Machines) -> Result<Vec<experiment::file::Part>, String> {
    let given: Texts = given.iter().map(|(name, value)| (row(name).unwrap(), vec![value.into()])).collect();
    let experiment = Experiment::read(text).map_err(|e| e.message)?;
    experiment.parts(Path::new(""), &given, machines).map_err(|e| e.message)
}

const TWO: &str = r#"
size = "medium"

[all]
gpus = "papers/ghost"
stock = "rtx2060s"
cores = ["inorder", "ghost"]
code = "sass"

[[part]]
workloads.small = "lud"
workloads.medium = ["lud", "nn:places=42764"]
workloads.large = "nn"
show = "speedup"
published = true

[[part]]
workloads = "bfs"
cores = "inorder"
instruction_buffer = [4, 12]
set = { "sm.issue.width" = 1, "sm.issue.ignore_predicates" = true }
vary = { "l2.latency_cycles" = [100, 200] }
"#;

#[test]
fn a_part_is_a_comparison_and_what_all_share_is_said_once() {
    let two = parts(TWO, &[], Machines::Named).unwrap();
    let commands: Vec<&str> = two.iter().map(|part| &*part.command).collect();
    let expected = [
        "warpwright compare lud nn:places=42764 --size medium --gpus papers/ghost --cores inorder,ghost --code sass \
         --show speedup --published",
        "warpwright compare bfs --size medium --gpus papers/ghost --cores inorder --code sass \
         --instruction-buffer 4,12 --set sm.issue.width=1 --set sm.issue.ignore_predicates=true \
         --vary l2.latency_cycles=100,200",
    ];
    assert_eq!(commands, expected);
    assert_eq!((&two[0].show[..], two[0].published, two[1].published), (&["speedup".to_owned()][..], true, false));
    let columns = |part: &experiment::file::Part| Plan::new(&part.options, &part.workloads).unwrap().points.len();
    assert_eq!([columns(&two[0]), columns(&two[1])], [4, 4]);
}

#[test]
fn a_part_may_have_the_workloads_of_another_experiment() {
    let listed = experiment::file::find("war-fig6").unwrap();
    let all = |text: &str| parts(text, &[], Machines::Named).unwrap()[0].workloads.clone();
    let same = all("[all]\nworkloads = { as_in = 'war-fig6' }\ncores = ['inorder', 'ghost']");
    assert!(same.len() == 11 && same == all(listed), "{same:?}");
}

#[test]
fn what_the_user_gives_replaces_what_the_file_says() {
    let small = parts(TWO, &[("size", "small"), ("core", "socgpu"), ("repeat", "2")], Machines::Named).unwrap();
    for part in &small {
        assert!(
            part.command.contains(" --size small ") && part.command.contains(" --cores socgpu"),
            "{}",
            part.command
        );
        assert!(!part.command.contains("inorder"), "{}", part.command);
        assert_eq!(part.options.repeat.map(u32::from), Some(2));
    }
    assert_eq!(small[0].workloads, [Path::new("lud")]);
}

#[test]
fn stock_gpus_have_the_papers_scheduler() {
    let stock = parts(TWO, &[], Machines::Stock).unwrap();
    assert!(stock[0].command.contains("--set sm.issue.scheduler=gto "), "{}", stock[0].command);
    let set: Vec<&str> = stock[1].options.set.iter().map(|set| &*set.0).collect();
    assert_eq!(set.last(), Some(&"sm.issue.scheduler=gto"));
    let without = TWO.replace("stock = \"rtx2060s\"", "");
    assert!(parts(&without, &[], Machines::Stock).unwrap().is_empty());
}

#[test]
fn mistakes_are_named_with_their_place() {
    for (text, parts_of_message) in [
        ("", &["no part", "[[part]]"][..]),
        ("titel = 1", &["titel", "line 1"]),
        ("[[part]]\ncores = 'inorder'", &["part 1", "workloads"]),
        ("[all]\nworkloads = 'lud'\n[[part]]\n[[part]]\nkores = 'ghost'", &["part 2", "`kores`", "core"]),
        ("[all]\nworkloads = 'lud'\ncores = 'gost'", &["part 1", "`core`", "ghost"]),
        ("[all]\nworkloads = 'lud'\ncores = [['ghost']]", &["part 1", "`cores`", "a list"]),
        ("[all]\nworkloads = {a = 'lud'}", &["part 1", "`workloads`", "by size"]),
        ("[all]\nworkloads = {as_in = 'ghost-fig31'}", &["part 1", "figure", "ghost-fig"]),
        ("[all]\nworkloads = {as_in = 'ghost-fig16'}", &["part 1", "`workloads`", "as_in"]),
        ("size = 'huge'\n[all]\nworkloads = 'lud'", &["part 1", "huge", "medium"]),
        ("[all]\nworkloads = 'lud'\naudit = true", &["part 1", "`audit`", "`warpwright compare` has it"]),
        ("[all]\nworkloads = 'lud'\nshow = 3", &["part 1"]),
        ("[[part]", &["line 1"]),
    ] {
        let message = parts(text, &[], Machines::Named).expect_err(text);
        assert!(parts_of_message.iter().all(|part| message.contains(part)), "{text}: {message}");
    }
}

fn claims_name_what_there_is(name: &str, experiment: &Experiment, parts: &[experiment::file::Part]) {
    for (part, column, row) in experiment.claims.iter().filter_map(|claim| claim.place()) {
        let part = &parts[part - 1];
        let plan = Plan::new(&part.options, &part.workloads).unwrap_or_else(|e| panic!("{name}: {e}"));
        let labels: Vec<&str> = plan.sweep.columns.iter().map(|column| column.label.as_str()).collect();
        assert!(labels.contains(&column), "{name}: {column}: {labels:?}");
        let rows = plan.sweep.workloads.iter().map(|path| path.to_str().unwrap());
        let mut rows = rows.chain(part.options.kernels.iter().map(String::as_str));
        assert!(row.is_none_or(|row| rows.any(|known| known == row)), "{name}: {row:?}");
    }
}

#[test]
fn every_bundled_experiment_can_be_made_at_every_size_on_both_machines() {
    let mut count = 0;
    for (name, experiment) in bundled() {
        assert!(!experiment.title.is_empty() && !experiment.about.is_empty(), "{name}");
        for size in Size::ALL {
            let given = vec![(row("size").unwrap(), vec![size.name().into()])];
            for machines in [Machines::Named, Machines::Stock] {
                let parts = experiment.parts(Path::new(""), &given, machines);
                let parts = parts.unwrap_or_else(|e| panic!("{name}: {e}"));
                if machines == Machines::Named {
                    claims_name_what_there_is(name, &experiment, &parts);
                }
                for part in parts {
                    let on_papers = part.command.contains(" papers/");
                    assert_eq!(on_papers, machines == Machines::Named, "{name}: {}", part.command);
                    let plan = Plan::new(&part.options, &part.workloads).unwrap_or_else(|e| panic!("{name}: {e}"));
                    assert!(plan.sweep.columns.len() > 1, "{name}: {}", part.command);
                    for kernel in &part.options.kernels {
                        let has_it = |w: &&workloads::Workload| w.module.ptx().contains(&format!(".entry {kernel}("));
                        assert!(suite::ALL.iter().any(|w| has_it(&w)), "{name}: no kernel {kernel}");
                    }
                    count += 1;
                }
            }
        }
    }
    assert!(count > 150, "{count}");
}

/// A claim that does not hold says what is known of the difference.
#[test]
fn what_does_not_hold_has_a_reason() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/results");
    let mut rows = 0;
    for page in std::fs::read_dir(folder).unwrap() {
        let page = std::fs::read_to_string(page.unwrap().path()).unwrap();
        for row in page.lines().filter(|row| row.ends_with("| no |") || row.ends_with("| same sign |")) {
            let claim = row.split(" | ").nth(1).unwrap();
            assert!(claim.contains(". "), "{row}: give the claim a `why`");
            rows += 1;
        }
    }
    assert!(rows > 40, "{rows}");
}

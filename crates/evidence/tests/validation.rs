//! The model's figures that hardware's are published for: some of each GPU, and how many of a GPU are how near.
//! `warpwright microbench all --page docs/validation.md` counts all of them, in minutes.

use evidence::microbench::Quantity;
use evidence::validate::{ValidationRow, Verdict, summaries, table};
use lab::Setup;
use std::path::Path;
use workloads::Form;

/// Quantities that take a moment even without optimisation.
fn quick(quantity: &Quantity) -> bool {
    ["fp32_add_rate", "shared_latency", "l1_latency"].contains(&quantity.name.as_str())
}

fn rows(name: &str, wanted: impl Fn(&Quantity) -> bool) -> Vec<ValidationRow> {
    let setup = Setup::new(config::load(name).unwrap());
    let codes: &[Form] = if setup.gpu.sm_version < 70 { &[Form::Ptx] } else { &[Form::Ptx, Form::Sass] };
    let description = config::Raw::open(name).unwrap();
    table(&setup, &description, codes, wanted, 2).unwrap_or_else(|e| panic!("{name}: {e}"))
}

#[test]
fn figures_of_each_gpu() {
    let mut text = String::new();
    for row in config::hardware().flat_map(|name| rows(name, quick)).filter(|row| row.published.is_some()) {
        let [(ptx, ptx_off), (machine, machine_off)] = [Form::Ptx, Form::Sass].map(|code| row.found_text(code));
        let (gpu, quantity, hardware) = (&row.gpu, &row.quantity, row.published_text());
        text += &format!(
            "{gpu} {quantity}: hardware {hardware}, PTX {ptx} ({ptx_off}), machine code {machine} ({machine_off})\n"
        );
    }
    insta::assert_snapshot!(text);
}

/// A figure that the description was made of is given; one that follows from other numbers is predicted.
#[test]
fn rows_of_the_description_s_own_source_are_given() {
    let given = |gpu: &str, quantity: &str| {
        let row = rows(gpu, |q| q.name == quantity).remove(0);
        [row.ptx, row.machine_code].map(|found| found.and_then(|found| found.given))
    };
    assert_eq!(given("v100", "l1_latency"), [Some(true); 2], "gpu-benches");
    assert_eq!(given("v100", "texture_latency"), [Some(false); 2]);
    assert_eq!(given("h100", "fp32_add_rate"), [Some(false); 2], "of compute capability 8.0");
    assert_eq!(given("h100", "fp32_add_latency"), [None; 2], "nothing is published");
    assert_eq!(given("v100", "guard_latency"), [Some(true); 2], "stall counts");
    assert_eq!(given("a100", "guard_latency"), [Some(false), Some(true)], "PTX has another source's latencies");
    let setup = Setup::new(config::load("v100").unwrap());
    let mut changed = config::Raw::open("v100").unwrap();
    changed.set("sm.l1d.latency_cycles=25").unwrap();
    let row = &table(&setup, &changed, &[Form::Ptx], |q| q.name == "l1_latency", 1).unwrap()[0];
    assert_eq!(row.ptx.unwrap().given, Some(false), "a number of the user's own");
}

#[test]
fn the_page_counts_the_figures_of_each_gpu() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/validation.md");
    let page = std::fs::read_to_string(&path).expect("docs/validation.md can be read");
    let stale = "run `warpwright microbench all --page docs/validation.md`";
    for name in config::hardware() {
        assert!(page.contains(&format!("\n| {name} | ")), "{name} is not counted: {stale}");
    }
    // The one that takes seconds.
    let rows = rows("gtx480", |_| true);
    let table = summaries([("gtx480", rows.as_slice())]);
    let line = table.lines().nth(2).unwrap_or_default();
    assert!(page.contains(line), "{line}: {stale}");
}

#[test]
fn descriptions_made_of_measurements_agree_with_them() {
    for row in rows("a40", quick) {
        for found in [row.ptx, row.machine_code] {
            let found = found.expect("both forms have it");
            if row.published.is_some() {
                assert_eq!(found.verdict, Some(Verdict::Within10), "{}: {}", row.quantity, found.value);
            }
        }
    }
}

/// The first screen of the README has the accuracy that the pages have.
#[test]
fn the_readme_agrees_with_the_pages() {
    let read =
        |name: &str| std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(name)).unwrap();
    let readme = read("README.md");
    let line = |page: &str, begin: &str| {
        let text = read(page);
        text.lines().find(|line| line.starts_with(begin)).unwrap_or_else(|| panic!("{page}: {begin}")).to_owned()
    };
    let mut stated = Vec::new();
    // The last cell: machine code, predicted.
    let all = line("docs/validation.md", "| all | ");
    let (within, rows) = all.trim_end_matches(" |").rsplit("| ").next().unwrap().split_once(" of ").unwrap();
    let (near, fair) = within.split_once(", ").unwrap();
    stated
        .push(format!("{rows} figures that the descriptions were not given | {near} within 10 %, {fair} within 30 %"));
    let applications = line("docs/applications.md", "Over the ");
    let numbers = applications.split(|c: char| !(c.is_ascii_digit() || c == '.')).map(|n| n.trim_end_matches('.'));
    let numbers: Vec<&str> = numbers.filter(|n| !n.is_empty()).collect();
    let [runs, error, without, theirs, theirs_without] = numbers[..] else { panic!("{applications}") };
    stated.push(format!("| {runs} runs of"));
    stated
        .push(format!("{error} % mean absolute error, {without} % without launches | {theirs} %, {theirs_without} %"));
    let cycles = line("docs/accelsim.md", "25 rows: deviation ");
    stated.push(cycles.trim_start_matches("25 rows: deviation ").trim_end_matches('.').to_owned());
    for figures in stated {
        assert!(readme.contains(&figures), "README.md does not say: {figures}");
    }
}

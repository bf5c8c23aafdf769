//! `docs/validation.md` holds the tables as they come out now. `warpwright microbench all --page` writes them; here
//! the rows of some quantities are compared.

use lab::Setup;
use lab::validate::{Row, Verdict, markdown, table};
use std::path::Path;
use workloads::Form;

/// Quantities that take a moment even without optimisation.
const QUICK: [&str; 3] = ["fp32_add_rate", "shared_latency", "l1_latency"];

fn rows(name: &str) -> Vec<Row> {
    let setup = Setup::new(config::load(name).unwrap());
    let codes: &[Form] = if setup.gpu.sm_version < 70 { &[Form::Ptx] } else { &[Form::Ptx, Form::Sass] };
    table(&setup, codes, |q| QUICK.contains(&q.name.as_str()), 2).unwrap_or_else(|e| panic!("{name}: {e}"))
}

#[test]
fn the_document_shows_the_figures_of_now() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/validation.md");
    let document = std::fs::read_to_string(&path).expect("docs/validation.md can be read");
    let stale = "run `warpwright microbench all --page docs/validation.md`";
    for name in config::hardware() {
        let begin = document.find(&format!("### {name}\n")).unwrap_or_else(|| panic!("{name} has no table: {stale}"));
        let section = document[begin + 4..].split("\n##").next().unwrap_or_default();
        for row in rows(name) {
            let table = markdown(std::slice::from_ref(&row));
            let line = table.lines().last().unwrap_or_default();
            assert!(section.contains(line), "{name}: {line}\n{stale}");
        }
    }
}

#[test]
fn descriptions_made_of_measurements_agree_with_them() {
    for row in rows("a40") {
        for found in [row.ptx, row.machine_code] {
            let found = found.expect("both forms have it");
            if row.published.is_some() {
                assert_eq!(found.verdict, Some(Verdict::Within10), "{}: {}", row.quantity, found.value);
            }
        }
    }
}

//! `docs/applications.md` prints the agreement with hardware that the figures have. Renew it with `BLESS=1`.

use evidence::applications::{Agreement, ApplicationRow, agreement, applications};
use kit::text::with_section;
use std::path::Path;

const GPU: &str = "gv100";

fn is_application(row: &&ApplicationRow) -> bool {
    row.is_application()
}

/// A table of suites: ours and Accel-Sim's, with launches or without.
fn table(rows: &[ApplicationRow], with_launches: bool) -> String {
    let mut text = String::from(
        "| suite | runs | mean | median | 90 % | signed | Accel-Sim: mean | median | 90 % | signed |\n| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |\n",
    );
    let cells = |a: Agreement| {
        let absolute = [a.mean_error_percent, a.median_error_percent, a.p90_error_percent];
        absolute.map(|x| format!("{x:.1}")).join(" | ") + &format!(" | {:+.1}", a.signed_mean_percent)
    };
    let mut line = |suite: &str, rows: &mut dyn Iterator<Item = &ApplicationRow>| {
        let (ours, accelsim) = agreement(rows, with_launches);
        text += &format!("| {suite} | {} | {} | {} |\n", ours.runs, cells(ours), cells(accelsim));
    };
    let mut suites: Vec<&str> = rows.iter().map(|row| row.suite.as_str()).collect();
    suites.dedup();
    for suite in suites {
        line(suite, &mut rows.iter().filter(|row| row.suite == suite));
    }
    line("**applications**, without microbenchmarks", &mut rows.iter().filter(is_application));
    text
}

fn summary(rows: &[ApplicationRow]) -> String {
    let of = |with_launches| agreement(rows.iter().filter(is_application), with_launches);
    let ((ours, accelsim), (kernels, accelsim_kernels)) = (of(true), of(false));
    format!(
        "Over the {} applications the mean absolute error is {:.1} % as the profiler counts, and {:.1} % without launches. Accel-Sim's published cycles of the same runs have {:.1} and {:.1} %.",
        ours.runs,
        ours.mean_error_percent,
        kernels.mean_error_percent,
        accelsim.mean_error_percent,
        accelsim_kernels.mean_error_percent
    )
}

#[test]
fn the_page_has_the_agreement_of_the_figures() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/applications.md");
    let page = std::fs::read_to_string(&path).expect("docs/applications.md can be read");
    let rows = applications().rows(GPU);
    let older = rows.iter().filter(|row| row.older.is_some()).count();
    let older = match older {
        0 => String::new(),
        n => format!("\nOlder than the model: {n} of the {} runs.\n", rows.len()),
    };
    let agreement = format!(
        "\nAs {} counts, launches included, error in %:\n\n{}\nWithout launches on all sides:\n\n{}{older}\n",
        applications().published.profiler,
        table(&rows, true),
        table(&rows, false)
    );
    let renewed = with_section(&page, "summary", &format!("\n{}\n\n", summary(&rows)));
    let renewed = renewed.and_then(|page| with_section(&page, "agreement", &agreement)).unwrap();
    if renewed != page {
        assert!(std::env::var_os("BLESS").is_some(), "docs/applications.md is out of date: run with BLESS=1");
        std::fs::write(&path, renewed).expect("docs/applications.md can be written");
    }
}

//! `docs/energy.md` prints the agreement with measured power that the figures have. Renew it with `BLESS=1`.

use energy::accelwattch;
use evidence::applications::Agreement;
use evidence::power::{Kernel, agreement, measured_power};
use kit::text::with_section;
use std::fmt::Write;
use std::path::Path;

type Watts = (String, Box<dyn Fn(&Kernel) -> Option<f64>>);

/// Rows of the table: ours by core design, then AccelWattch's.
fn columns() -> Vec<Watts> {
    let mut columns: Vec<Watts> = Vec::new();
    for core in measured_power().ours.keys() {
        columns.push((format!("ours, {core}"), Box::new(move |kernel| kernel.watts.get(core).copied())));
    }
    columns.push(("AccelWattch, simulated".to_owned(), Box::new(|kernel| Some(kernel.simulated_variant_watts))));
    columns.push(("AccelWattch, hardware's counters".to_owned(), Box::new(|kernel| kernel.hardware_variant_watts)));
    columns
}

fn table() -> String {
    let power = measured_power();
    let mut text = String::from(
        "\n| watts of | kernels | mean of magnitudes, % | median | signed mean |\n| --- | ---: | ---: | ---: | ---: |\n",
    );
    for (name, watts) in columns() {
        let ours = power.kernels.iter().filter(|kernel| !kernel.watts.is_empty());
        let of: Agreement = agreement(ours.map(|kernel| (watts(kernel), kernel.measured_watts)));
        let (mean, median, signed) = (of.mean_error_percent, of.median_error_percent, of.signed_mean_percent);
        writeln!(text, "| {name} | {} | {mean:.1} | {median:.1} | {signed:+.1} |", of.runs).unwrap();
    }
    for (core, ours) in &power.ours {
        write!(
            text,
            "\n`{core}`: `--gpu {} --energy-model {}`, version {}, commit {}, {}.",
            ours.gpu, ours.energy_model, ours.version, ours.commit, ours.date
        )
        .unwrap();
    }
    text + "\n\n"
}

#[test]
fn the_page_has_the_agreement_of_the_figures() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/energy.md");
    let page = std::fs::read_to_string(&path).expect("docs/energy.md can be read");
    let renewed = with_section(&page, "measured power", &table()).unwrap();
    if renewed != page {
        assert!(std::env::var_os("BLESS").is_some(), "docs/energy.md is out of date: run with BLESS=1");
        std::fs::write(&path, renewed).expect("docs/energy.md can be written");
    }
}

/// Kernels of both tables have the same measured and published watts.
#[test]
fn watts_are_those_of_the_artifact() {
    let counters = accelwattch::rows().expect("comes with the program");
    let mut shared = 0;
    for kernel in &measured_power().kernels {
        let Some(row) = counters.iter().find(|row| row.kernel == kernel.name) else { continue };
        shared += 1;
        assert_eq!(kernel.measured_watts, row.measured, "{}", kernel.name);
        let published = kernel.hardware_variant_watts.expect("is published");
        assert!((published - row.published).abs() < 0.06, "{}: {published} W, not {}", kernel.name, row.published);
    }
    assert_eq!((shared, measured_power().kernels.len()), (25, 26));
}

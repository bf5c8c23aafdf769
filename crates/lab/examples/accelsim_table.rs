//! Prints, for each trace and GPU configuration that Accel-Sim was run with, its cycles and ours,
//! all in one process: `accelsim_table REFERENCE TRACES [FILTER]`.

use lab::accelsim::{Compared, Ours, Reference, Traces};
use lab::{Job, Setup, Unattended, run};
use std::error::Error;
use std::path::Path;

fn main() -> Result<(), Box<dyn Error>> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [reference, traces, filter @ ..] = &args[..] else {
        return Err("usage: accelsim_table REFERENCE TRACES [FILTER]".into());
    };
    let (reference, mut traces) = (Reference::open(Path::new(reference))?, Traces::new(Path::new(traces)));
    for row in &reference.rows {
        if !filter.iter().all(|f| format!("{},{}", row.trace, row.config).contains(f.as_str())) {
            continue;
        }
        let setup = Setup { any_architecture: true, ..Setup::new(reference.gpu(&row.config)?.config) };
        let job = Job::Trace { path: traces.list(&row.trace)?, concurrent_streams: false };
        let report = run(&setup, &job, &mut Unattended)?;
        let row = Compared::new(row.clone(), Ours::of_report(&serde_json::to_value(&report)?, report.host.seconds)?);
        let (theirs, ours) = (&row.accelsim, &row.ours);
        println!(
            "{:30}{:15}{:>10}{:>10}{:>+7.1}%{:>8.0}x{}",
            theirs.trace,
            theirs.config,
            theirs.cycles,
            ours.cycles,
            row.deviation_percent,
            row.speed_ratio,
            if row.same_instructions { "" } else { "  instructions DIFFER" }
        );
        for (name, theirs, ours) in row.kernels().filter(|_| !filter.is_empty()) {
            println!("    {theirs:>7}{ours:>7}  {name}");
        }
    }
    Ok(())
}

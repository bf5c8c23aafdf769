//! A core design outside of the project, beside the in-order core:
//! `cargo run --release -p warpwright-lab --example sidestep`.

mod policy;

use lab::{Job, Report, RunError, Setup, Unattended, run, run_design};
use policy::Sidestep;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let gpu = config::load("rtx2060s")?;
    let setup = |core: &str| Setup { core: core.into(), audit: true, ..Setup::new(gpu.clone()) };
    for name in ["matmul", "kmeans", "hotspot"] {
        let job =
            Job::Workload { name: name.into(), size: workloads::Size::Small, params: Default::default(), seed: 1 };
        let in_order = run(&setup("inorder-war-ideal"), &job, &mut Unattended)?;
        let sidestep: Result<Report, RunError> = run_design::<Sidestep>(&(), &setup("sidestep"), &job, &mut Unattended);
        let (before, after) = (in_order.total.number("cycles"), sidestep.as_ref().map(|r| r.total.number("cycles")));
        println!("{name}: {before} cycles in order, {} with sidestep", after.unwrap_or(f64::NAN));
        if let Some(findings) = sidestep?.audit {
            println!("  {findings}");
        }
    }
    Ok(())
}

//! `warpwright compare`: workloads on several machines, side by side.

use crate::changes::Changes;
use crate::comparison::{Cell, Column, Comparison, Shown};
use crate::failure::{Exit, Failure, Outcome};
use crate::lookup::{self, Input};
use crate::progress::{Board, BoardWatch};
use crate::render::comparison;
use crate::{interrupt, output, simulator};
use lab::{Job, Setup};
use std::num::NonZeroUsize;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use workloads::Form;

/// Run workloads on several GPUs, cores, schedulers or settings and show them side by side
///
/// Each workload runs on every combination of what --gpus, --cores, --schedulers and --vary list; speedups are over the first combination. The order of the output does not depend on which run ends first.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  warpwright compare matmul --schedulers all
  warpwright compare matmul bfs hotspot --gpus gtx480,v100,rtx3070
  warpwright compare traces/bfs traces/vecadd --gpus v100,titanv --any-architecture
  warpwright compare bfs --size medium --vary sm.issue.two_level_active_warps=4,8,16 --schedulers two_level
  warpwright compare all --cores inorder,ghost --isa sass --show speedup,stalls,occupancy --published
  warpwright compare kmeans --warps-per-sm x1,x2 --register-file x1,x2
  warpwright compare all --schedulers lrr,gto --set sm.issue.schedulers=2 --json=schedulers.json")]
pub struct Args {
    /// Bundled workloads, launch files or traces; `all` means every bundled workload that has code for the GPUs
    #[arg(value_name = "WORKLOAD|LAUNCH.toml|KERNELSLIST.g", required = true)]
    workloads: Vec<String>,
    /// GPUs: names, paths of descriptions, or `all`
    #[arg(long, value_name = "A,B", value_delimiter = ',', default_value = "rtx2060s")]
    gpus: Vec<String>,
    /// Core designs, or `all`
    #[arg(long, value_name = "A,B", value_delimiter = ',', default_value = "inorder")]
    cores: Vec<String>,
    /// Warp schedulers, or `all` [default: the GPU description's]
    #[arg(long, value_name = "A,B", value_delimiter = ',')]
    schedulers: Vec<String>,
    /// A value of the GPU description to compare, such as sm.issue.schedulers=1,2,4; several of these are combined
    #[arg(long, value_name = "KEY=A,B")]
    vary: Vec<String>,
    /// End each run soon after so many simulated core cycles
    #[arg(long, value_name = "NUMBER")]
    max_cycles: Option<u64>,
    /// Check each instruction against the program order of its warp (hazard auditor) and count the violations
    #[arg(long)]
    audit: bool,
    #[command(flatten)]
    changes: Changes,
    #[command(flatten)]
    input: Input,
    #[command(flatten)]
    output: Output,
}

#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Output")]
struct Output {
    /// Print the comparison as JSON, or write it to FILE
    #[arg(long, value_name = "FILE", num_args = 0..=1, require_equals = true)]
    json: Option<Option<PathBuf>>,
    /// What to show [default: cycles, speedup and ipc, and what fits beside them; time if the GPUs differ]
    #[arg(long, value_name = "A,B", value_enum, value_delimiter = ',')]
    show: Vec<Shown>,
    /// Put beside speedup, stalls and occupancy what papers report of the core design for the same workload, GPU and baseline (in order, the first column)
    #[arg(long)]
    published: bool,
    /// Runs at the same time [default: one per processor]
    #[arg(short, long, value_name = "NUMBER")]
    jobs: Option<NonZeroUsize>,
    /// Print neither progress nor tables: only errors, and the JSON asked for
    #[arg(short, long)]
    quiet: bool,
}

/// Runs everything and shows the tables.
pub fn run(args: &Args) -> Outcome {
    let (comparison, exit) = compared(args)?;
    show(args, &comparison)?;
    Ok(exit)
}

/// Runs everything; how it ended.
pub fn compared(args: &Args) -> Result<(Comparison, Exit), Failure> {
    let (columns, setups): (Vec<Column>, Vec<Setup>) = machines(args)?.into_iter().unzip();
    let workloads = workloads(args, &setups);
    let jobs = workloads.iter().map(|w| lookup::job(w, &args.input)).collect::<Result<Vec<_>, _>>()?;
    output::check_paths(args.output.json.iter().flatten().map(PathBuf::as_path))?;
    interrupt::install()?;
    let runs: Vec<(&Setup, &Job)> = jobs.iter().flat_map(|job| setups.iter().map(move |setup| (setup, job))).collect();
    let threads = args.output.jobs.or(std::thread::available_parallelism().ok()).map_or(1, NonZeroUsize::get);
    let cells = run_all(&runs, threads, args.output.quiet);
    let comparison = Comparison { code: args.input.form(), workloads, columns, cells };
    let exit = match () {
        () if interrupt::requested() => Exit::Interrupted,
        () if comparison.failures().next().is_some() => Exit::Failed,
        () => Exit::Success,
    };
    Ok((comparison, exit))
}

/// A comparison for people, as `args` want it.
pub fn text(args: &Args, comparison: &Comparison) -> String {
    comparison::render(comparison, &args.output.show, args.output.published)
}

fn show(args: &Args, comparison: &Comparison) -> Result<(), Failure> {
    let json = args.output.json.as_ref();
    if args.output.quiet {
        for (workload, column, why) in comparison.failures() {
            output::error(&format!("{workload} on {}: {why}", column.label));
        }
    } else if json != Some(&None) {
        output::print(&text(args, comparison))?;
    }
    json.map_or(Ok(()), |file| output::give_json(file.as_deref(), &comparison.document()))
}

/// The workloads to run. `all` leaves out those without code for some machine, and says so.
fn workloads(args: &Args, setups: &[Setup]) -> Vec<String> {
    let has_code = |w: &workloads::Workload| {
        let on = |setup: &Setup| w.module.cubin(setup.gpu.sm_version).is_some();
        args.input.form() == Form::Ptx || setups.iter().all(on)
    };
    let (every, without): (Vec<_>, Vec<_>) = workloads::suite::ALL.iter().partition(|w| has_code(w));
    if args.workloads.iter().any(|w| w == "all") && !without.is_empty() && !args.output.quiet {
        let names: Vec<&str> = without.iter().map(|w| w.name).collect();
        output::remark(&format!("left out, without machine code for every GPU here: {}\n", names.join(", ")));
    }
    let every: Vec<&str> = every.iter().map(|w| w.name).collect();
    expanded(&args.workloads, &every)
}

/// `all` stands for every known name.
fn expanded(given: &[String], every: &[&str]) -> Vec<String> {
    let mut out = Vec::new();
    for name in given {
        if name == "all" { out.extend(every.iter().map(|&n| n.to_owned())) } else { out.push(name.clone()) }
    }
    out
}

fn names(list: &[(&'static str, &str)]) -> Vec<&'static str> {
    list.iter().map(|&(name, _)| name).collect()
}

/// The combinations, in the order of the options; the last one varies fastest.
pub(super) fn machines(args: &Args) -> Result<Vec<(Column, Setup)>, Failure> {
    let every_gpu: Vec<&str> = config::builtin().iter().map(|b| b.name).collect();
    let gpus = expanded(&args.gpus, &every_gpu);
    let cores = expanded(&args.cores, &names(simulator::cores()));
    let schedulers = expanded(&args.schedulers, &names(simulator::schedulers()));
    cores.iter().try_for_each(|c| lookup::core(c))?;
    schedulers.iter().try_for_each(|s| lookup::scheduler(s))?;
    // Without a choice, the GPU description's own scheduler.
    let schedulers: Vec<Option<String>> =
        if schedulers.is_empty() { vec![None] } else { schedulers.into_iter().map(Some).collect() };
    let mut columns = vec![Column::default()];
    columns = combined(&columns, &gpus, |c, gpu| c.gpu.clone_from(gpu));
    columns = combined(&columns, &cores, |c, core| c.core.clone_from(core));
    columns = combined(&columns, &schedulers, |c, scheduler| c.scheduler.clone_from(scheduler));
    columns = combined(&columns, &variations(&args.vary)?, |c, varied| {
        c.settings = args.changes.settings.iter().chain(varied).cloned().collect();
        c.label = varied.iter().map(|v| last_part(v)).collect::<Vec<_>>().join(" ");
    });
    columns = combined(&columns, &args.changes.choices(), |c, choice| {
        c.choice = choice.clone();
        c.label = format!("{} {}", c.label, choice.label).trim().to_owned();
    });
    for column in &mut columns {
        let parts = [
            Some(&column.gpu).filter(|_| gpus.len() > 1),
            Some(&column.core).filter(|_| cores.len() > 1),
            column.scheduler.as_ref().filter(|_| schedulers.len() > 1),
            Some(&column.label).filter(|varied| !varied.is_empty()),
        ];
        let label: Vec<&str> = parts.into_iter().flatten().map(String::as_str).collect();
        column.label = if label.is_empty() { column.gpu.clone() } else { label.join(" ") };
    }
    columns.into_iter().map(|column| machine(column, args)).collect()
}

/// Every column with every value.
fn combined<T>(columns: &[Column], values: &[T], set: impl Fn(&mut Column, &T)) -> Vec<Column> {
    let mut out = Vec::with_capacity(columns.len() * values.len());
    for column in columns {
        for value in values {
            let mut column = column.clone();
            set(&mut column, value);
            out.push(column);
        }
    }
    out
}

fn machine(mut column: Column, args: &Args) -> Result<(Column, Setup), Failure> {
    let (gpu, settings) = column.choice.apply(&column.gpu, &column.settings, column.scheduler.as_deref())?;
    column.settings = settings;
    let setup = Setup {
        core: column.core.clone(),
        scheduler: column.scheduler.clone(),
        settings: column.settings.clone(),
        max_cycles: args.max_cycles,
        code: args.input.form(),
        registers: args.input.registers(),
        any_architecture: args.input.any_architecture,
        stack_bytes: args.input.stack_bytes,
        audit: args.audit,
        ..Setup::new(gpu)
    };
    setup.energy.as_ref().map_err(Failure::bad_input)?;
    Ok((column, setup))
}

/// `sm.issue.schedulers=2` as `schedulers=2`: enough to tell columns apart.
fn last_part(assignment: &str) -> String {
    let (key, value) = assignment.split_once('=').unwrap_or((assignment, ""));
    format!("{}={value}", key.rsplit('.').next().unwrap_or(key))
}

/// Every combination of the values that `--vary` lists.
fn variations(given: &[String]) -> Result<Vec<Vec<String>>, Failure> {
    let mut out = vec![Vec::new()];
    for text in given {
        let (key, values) =
            text.split_once('=').filter(|(key, values)| !key.is_empty() && !values.is_empty()).ok_or_else(|| {
                Failure::bad_input(format!("`--vary {text}`: expected KEY=A,B, such as sm.issue.schedulers=1,2,4"))
            })?;
        let values = at_commas(values);
        out = out
            .iter()
            .flat_map(|before| {
                values.iter().map(move |v| before.iter().cloned().chain([format!("{key}={v}")]).collect())
            })
            .collect();
    }
    Ok(out)
}

/// Splits at commas, save those in brackets: a value may be a list.
fn at_commas(text: &str) -> Vec<&str> {
    let mut depth = 0_u32;
    text.split(|c| {
        match c {
            '[' => depth += 1,
            ']' => depth = depth.saturating_sub(1),
            _ => {}
        }
        c == ',' && depth == 0
    })
    .collect()
}

/// Runs everything on a few threads; the cells come back in the order of `runs`.
fn run_all(runs: &[(&Setup, &Job)], threads: usize, quiet: bool) -> Vec<Cell> {
    let board = Board::new(quiet, runs.len());
    let next = AtomicUsize::new(0);
    let cells: Vec<Mutex<Option<Cell>>> = runs.iter().map(|_| Mutex::new(None)).collect();
    std::thread::scope(|scope| {
        for _ in 0..threads.min(runs.len()) {
            scope.spawn(|| {
                loop {
                    let index = next.fetch_add(1, Ordering::Relaxed);
                    let Some((setup, job)) = runs.get(index) else { break };
                    let cell = run_one(setup, job, &mut board.watch());
                    *cells[index].lock().expect("nothing panics while it holds this") = Some(cell);
                }
            });
        }
    });
    cells.into_iter().map(|c| c.into_inner().ok().flatten().unwrap_or(Cell::Interrupted(None))).collect()
}

fn run_one(setup: &Setup, job: &Job, watch: &mut BoardWatch<'_>) -> Cell {
    if interrupt::requested() {
        return Cell::Interrupted(None);
    }
    // A defect of the simulator that one run meets must not take the other runs' results along.
    match catch_unwind(AssertUnwindSafe(|| simulator::run(setup, job, watch))) {
        Ok(Ok(report)) if interrupt::requested() && report.interrupted => Cell::Interrupted(Some(Box::new(report))),
        Ok(Ok(report)) => match comparison::wrong_result(&report) {
            Some(why) => Cell::Failed(why, Some(Box::new(report))),
            None => Cell::Complete(Box::new(report)),
        },
        Ok(Err(error)) => Cell::Failed(error.message, error.partial),
        Err(panic) => {
            let text = panic.downcast_ref::<String>().map(String::as_str).or(panic.downcast_ref::<&str>().copied());
            Cell::Failed(format!("a defect of warpwright: {}; please report it", text.unwrap_or("no message")), None)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_may_be_lists() {
        assert_eq!(at_commas("1,2,4"), ["1", "2", "4"]);
        assert_eq!(at_commas("[1,2],[3,4]"), ["[1,2]", "[3,4]"]);
        assert_eq!(at_commas("x]y,z"), ["x]y", "z"]);
    }

    #[test]
    fn every_combination_the_last_fastest() {
        let given = ["a.x=1,2".to_owned(), "b=3,4".to_owned()];
        let got = variations(&given).unwrap();
        assert_eq!(got, [["a.x=1", "b=3"], ["a.x=1", "b=4"], ["a.x=2", "b=3"], ["a.x=2", "b=4"]]);
        assert_eq!(variations(&[]).unwrap(), [Vec::<String>::new()]);
        for wrong in ["a", "=1", "a="] {
            assert!(variations(&[wrong.to_owned()]).is_err(), "{wrong}");
        }
    }
}

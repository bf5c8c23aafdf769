//! Runs of a sweep by Slurm: the command of a task, and progress.

use super::keeping::Asked;
use crate::failure::Failure;
use crate::{interrupt, output};
use ::render::number;
use experiment::plan::{Estimate, Runs};
use experiment::slurm;
use experiment::store::Store;
use request::Way;
use request::options::words;
use std::cell::Cell;
use std::ffi::OsString;
use std::num::NonZeroUsize;
use std::path::Path;

/// Makes the missing runs by Slurm.
pub fn by_slurm(runs: &Runs<'_>, store: &Store, asked: &Asked<'_>) -> Result<(), Failure> {
    let Asked { options, keeping, .. } = *asked;
    let tasks = keeping.tasks.map_or_else(|| tasks_for(&runs.estimate(1)), NonZeroUsize::get);
    let cannot = |e: std::io::Error| Failure::failed(format!("cannot find out how this command was called: {e}"));
    let program = std::env::current_exe().map_err(cannot)?;
    let folder = std::path::absolute(store.folder()).map_err(cannot)?;
    let array = slurm::Array {
        name: slurm::name_of(runs.keys().map(AsRef::as_ref), &folder),
        tasks,
        command: task(&program, asked, &folder),
        rest: Vec::new(),
        options: keeping.sbatch.clone(),
        folder: folder.join("slurm"),
    };
    let mut left = runs.dealt(tasks);
    let mut missing = || {
        left.retain(|(_, point)| !store.has(point));
        left.iter().map(|(share, _)| share + 1).collect::<Vec<usize>>()
    };
    let reported = Cell::new(None);
    let report = |progress: slurm::Progress| {
        if !options.quiet && reported.replace(Some(progress)) != Some(progress) {
            let slurm::Progress { tasks, missing } = progress;
            output::remark(&format!(
                "Slurm job {}: {tasks} tasks wait or run, {missing} runs are missing\n",
                array.name
            ));
        }
    };
    array.run(&mut missing, &report).map_err(Failure::failed)?;
    let missing = number::counted(missing().len() as u64, "run");
    if interrupt::requested() {
        let name = &array.name;
        let how = format!("the same command gathers it, `scancel --name={name}` ends it");
        return Err(Failure::failed(format!("{missing} missing; the job {name} continues: {how}")));
    }
    if !left.is_empty() {
        let lines: String = left.iter().take(5).map(|(_, point)| point.described() + "\n").collect();
        let folder = array.folder.display();
        return Err(Failure::failed(format!(
            "{missing} missing although their tasks have ended three times:\n{lines}  hint: their output is in `{folder}`"
        )));
    }
    Ok(())
}

/// Tasks that take about ten minutes each.
fn tasks_for(estimate: &Estimate) -> usize {
    (estimate.time.as_secs_f64() / 600.0).ceil().clamp(1.0, 1000.0) as usize
}

/// The words of a task's command, but for its share.
fn task(program: &Path, asked: &Asked<'_>, points: &Path) -> Vec<String> {
    let what = asked.what.iter().map(|what| what.clone().into_os_string());
    // The job says how many processors a task has.
    let of_runs = asked.of_runs().into_iter().filter(|(row, _)| row.name != "threads");
    let of_runs = of_runs.flat_map(|(row, values)| row.words(Way::Sweep, &values));
    let own = asked.keeping.stock.then(|| "--stock".into()).into_iter();
    let own = own.chain(["--points".into(), points.into()]).chain(words(Way::Sweep, [("quiet", "1".into())]));
    let words = [program.into(), "sweep".into()].into_iter().chain(what).chain(of_runs).chain(own);
    words.map(|word: OsString| word.to_string_lossy().into_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::super::keeping::{Engine, Keeping};
    use super::*;
    use request::Options;
    use request::options::{Texts, row};

    #[test]
    fn tasks_have_the_command_without_what_is_of_the_whole() {
        let given = [
            ("repeat", "3"),
            ("core", "inorder,ghost"),
            ("json", "-"),
            ("csv", "a"),
            ("quiet", "1"),
            ("out", "o"),
            ("threads", "4"),
            ("set", "l2.latency_cycles=9"),
            ("any_architecture", "1"),
        ];
        let texts: Texts = given.iter().map(|(name, value)| (row(name).unwrap(), vec![value.into()])).collect();
        let options = Options::read(Way::Sweep, &texts, &|row| row.name.to_owned()).unwrap();
        let keeping = Keeping { engine: Engine::Slurm, sbatch: vec!["--mem=4G".into()], ..Keeping::default() };
        let asked = Asked { what: &["x.toml".into()], texts: &texts, options: &options, keeping: &keeping };
        let words = task(Path::new("/bin/warpwright"), &asked, Path::new("/points"));
        let expected = "/bin/warpwright sweep x.toml --repeat 3 --cores inorder,ghost --set l2.latency_cycles=9 \
                        --any-architecture --points /points --quiet";
        assert_eq!(words.join(" "), expected);
        let stock = Keeping { stock: true, ..keeping.clone() };
        assert!(task(Path::new("w"), &Asked { keeping: &stock, ..asked }, Path::new("p")).contains(&"--stock".into()));
    }

    #[test]
    fn a_task_is_for_ten_minutes() {
        let of = |seconds| Estimate {
            time: std::time::Duration::from_secs(seconds),
            at_most: std::time::Duration::MAX,
            unknown: 0,
        };
        assert_eq!([0, 600, 601, 10_000_000].map(|seconds| tasks_for(&of(seconds))), [1, 1, 2, 1000]);
    }
}

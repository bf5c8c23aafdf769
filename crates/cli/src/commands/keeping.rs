//! Options of a sweep beside a comparison's: where runs are stored and made.

use clap::ValueEnum;
use request::options::Texts;
use request::{Group, OptionRow, Options};
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::str::FromStr;

/// Where runs are stored, and which are made where.
#[derive(Clone, Debug, Default, clap::Args)]
#[command(next_help_heading = "Runs")]
pub struct Keeping {
    /// Folder of stored runs, which processes on several machines may share [default: `warpwright/points` in the user's cache folder]
    #[arg(long, value_name = "FOLDER")]
    pub points: Option<PathBuf>,
    /// List the missing runs and their estimated time, and run nothing
    #[arg(long)]
    pub dry_run: bool,
    /// Make only this share of the missing runs, such as 2/16 for the second of sixteen, and show nothing: for jobs on several machines that share the folder of runs
    #[arg(long, value_name = "N/ALL")]
    pub share: Option<Share>,
    /// Where runs are made: here, or by Slurm as a job array, whose results are shown here when it has ended
    #[arg(long, value_name = "ENGINE", value_enum, default_value_t = Engine::Here)]
    pub engine: Engine,
    /// Number of Slurm's tasks [default: one for about ten minutes of one thread, 1000 at most]
    #[arg(long, value_name = "NUMBER")]
    pub tasks: Option<NonZeroUsize>,
    /// An option for sbatch, such as --sbatch=--mem=4G; may be repeated
    #[arg(long, value_name = "OPTION", allow_hyphen_values = true)]
    pub sbatch: Vec<String>,
    /// Run an experiment also on the stock GPU of the paper's machine, and compare the mean speedups
    #[arg(long)]
    pub stock: bool,
}

/// A request for a sweep.
#[derive(Clone, Copy, Debug)]
pub struct Asked<'a> {
    /// Names of the experiment or the workloads.
    pub what: &'a [PathBuf],
    /// The options as they were given.
    pub texts: &'a Texts,
    /// The same with their values.
    pub options: &'a Options,
    pub keeping: &'a Keeping,
}

impl Asked<'_> {
    /// The options that are about the runs: results go to one place, for all parts of an experiment.
    pub fn of_runs(&self) -> Texts {
        let is_of_runs = |row: &OptionRow| row.group != Group::Output || ["kernels", "threads"].contains(&row.name);
        self.texts.iter().filter(|(row, _)| is_of_runs(row)).cloned().collect()
    }
}

/// Where runs are made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Engine {
    /// This process
    #[default]
    Here,
    /// Slurm
    Slurm,
}

/// One of several shares.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Share {
    /// From 0.
    pub number: usize,
    /// Their number.
    pub of: usize,
}

impl FromStr for Share {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let parts = text.split_once('/').and_then(|(number, of)| Some((number.parse().ok()?, of.parse().ok()?)));
        match parts {
            Some((number, of)) if (1..=of).contains(&number) => Ok(Self { number: number - 1, of }),
            _ => Err("expected a share such as 2/16, from 1/16 to 16/16".to_owned()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_from_one() {
        assert_eq!("2/16".parse(), Ok(Share { number: 1, of: 16 }));
        assert!(["0/4", "5/4", "1", "1/0", "a/b", "-1/4"].iter().all(|wrong| wrong.parse::<Share>().is_err()));
    }
}

//! Versions of the code of one piece of work, each a column of a comparison: other modules of a launch file, or several
//! launch files.

use crate::BadRequest;
use crate::name;
use crate::options::Options;
use crate::values::{EVERY, check_size, distinct};
use lab::Job;
use launchfile::ModuleOverride;
use std::path::{Path, PathBuf};

/// The code that a column runs.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Version {
    /// Distinguishes it from the other versions; empty if it is the only one.
    pub label: String,
    /// Runs in place of the workload of a row.
    workload: Option<PathBuf>,
    /// Files in place of modules.
    modules: Vec<ModuleOverride>,
}

impl Version {
    /// The workload that runs in a row of `workload`.
    pub fn of<'a>(&'a self, workload: &'a Path) -> &'a Path {
        self.workload.as_deref().unwrap_or(workload)
    }

    /// The job of a row of `workload`.
    ///
    /// # Errors
    /// The name is unknown, or an option does not apply to it.
    pub fn job(&self, workload: &Path, options: &Options) -> Result<Job, BadRequest> {
        let options = Options { module: self.modules.clone(), ..options.clone() };
        name::job(self.of(workload), &options)
    }
}

/// The rows of a comparison with their labels, and the versions that its columns run.
#[derive(Clone, Debug)]
pub struct Rows {
    /// Rows, each with its label.
    pub workloads: Vec<(PathBuf, String)>,
    /// At least one version.
    pub versions: Vec<Version>,
}

/// Rows and versions of a comparison: each of `workloads` is a row, or all are versions of one row.
///
/// # Errors
/// Options do not make versions of these workloads.
pub fn rows(options: &Options, workloads: &[PathBuf]) -> Result<Rows, BadRequest> {
    distinct("workload", workloads)?;
    let modules = alternatives(options)?;
    if modules.len() > 1 && !options.way.compares() {
        let module = options.called("module");
        return Err(BadRequest::new(format!(
            "{module}: one version at a time\n  hint: `warpwright compare … {module} A,B` shows several side by side"
        )));
    }
    let shown = |path: &PathBuf| path.display().to_string();
    if !options.as_columns {
        let workloads = workloads.iter().map(|workload| (workload.clone(), shown(workload))).collect();
        return Ok(Rows { workloads, versions: modules });
    }
    let option = options.called("as_columns");
    if workloads.len() < 2 || workloads.iter().any(|workload| workload == Path::new(EVERY)) {
        return Err(BadRequest::new(format!("{option}: name two or more workloads, which become the columns")));
    }
    if modules.len() > 1 {
        let module = options.called("module");
        return Err(BadRequest::new(format!("{option}: the workloads are the versions; give one file with {module}")));
    }
    let labels = labels(workloads);
    let version = |(workload, label): (&PathBuf, String)| Version {
        label,
        workload: Some(workload.clone()),
        modules: modules[0].modules.clone(),
    };
    let versions = workloads.iter().zip(labels).map(version).collect();
    let row = workloads.iter().map(shown).collect::<Vec<_>>().join(", ");
    Ok(Rows { workloads: vec![(workloads[0].clone(), row)], versions })
}

/// Every combination of the files given for each module; the last module varies fastest.
fn alternatives(options: &Options) -> Result<Vec<Version>, BadRequest> {
    let mut by_name: Vec<(Option<&String>, Vec<PathBuf>)> = Vec::new();
    for ModuleOverride { name, path } in &options.module {
        match by_name.iter_mut().find(|(known, _)| *known == name.as_ref()) {
            Some((_, files)) => files.push(path.clone()),
            None => by_name.push((name.as_ref(), vec![path.clone()])),
        }
    }
    let mut versions = vec![Version::default()];
    for (name, files) in by_name {
        distinct(&options.called("module"), &files)?;
        check_size(1, (versions.len() as u64).saturating_mul(files.len() as u64))?;
        let labels = labels(&files);
        let varies = files.len() > 1;
        let with = |version: &Version, file: &PathBuf, label: &String| {
            let mut version = version.clone();
            version.modules.push(ModuleOverride { name: name.cloned(), path: file.clone() });
            if varies {
                version.label = format!("{} {label}", version.label).trim().to_owned();
            }
            version
        };
        versions = versions
            .iter()
            .flat_map(|version| {
                files.iter().zip(&labels).map(|(file, label)| with(version, file, label)).collect::<Vec<_>>()
            })
            .collect();
    }
    Ok(versions)
}

/// File names if they are different, else whole paths.
fn labels(files: &[PathBuf]) -> Vec<String> {
    let short = |file: &PathBuf| file.file_name().unwrap_or(file.as_os_str()).to_string_lossy().into_owned();
    let names: Vec<String> = files.iter().map(short).collect();
    let is_one = |name: &String| names.iter().filter(|other| *other == name).count() == 1;
    if names.iter().all(is_one) { names } else { files.iter().map(|file| file.display().to_string()).collect() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::option::Way;
    use crate::options::row;

    fn made(words: &[(&str, &str)], workloads: &[&str]) -> Result<Rows, String> {
        let texts = words.iter().map(|(name, text)| (row(name).unwrap(), vec![(*text).into()])).collect();
        let options = Options::read(Way::Compare, &texts, &|row| row.called(Way::Compare)).unwrap();
        rows(&options, &workloads.iter().map(PathBuf::from).collect::<Vec<_>>()).map_err(|e| e.message)
    }

    fn versions(words: &[(&str, &str)], workloads: &[&str]) -> Vec<String> {
        made(words, workloads).unwrap().versions.into_iter().map(|version| version.label).collect()
    }

    #[test]
    fn files_of_a_module_are_versions() {
        assert_eq!(versions(&[], &["a.toml", "b.toml"]), [""]);
        assert_eq!(versions(&[("module", "a/v1.cubin")], &["a.toml"]), [""]);
        assert_eq!(versions(&[("module", "a/v1.cubin,b/v2.cubin")], &["a.toml"]), ["v1.cubin", "v2.cubin"]);
        assert_eq!(versions(&[("module", "k.ptx=a/k.cubin,b/k.cubin")], &["a.toml"]), ["a/k.cubin", "b/k.cubin"]);
        assert!(made(&[("module", "a.cubin,a.cubin")], &["a.toml"]).unwrap_err().contains("given twice"));
    }

    #[test]
    fn too_many_versions_are_refused_before_they_are_made() {
        let mut options = Options::read(Way::Compare, &Vec::new(), &|row| row.called(Way::Compare)).unwrap();
        for (name, file) in (0..8).flat_map(|name| (0..100).map(move |file| (name, file))) {
            let (name, path) = (Some(format!("{name}.ptx")), format!("{file}.ptx").into());
            options.module.push(ModuleOverride { name, path });
        }
        let why = rows(&options, &["a.toml".into()]).unwrap_err().message;
        assert!(why.starts_with("10000 columns: a comparison has"), "{why}");
    }

    #[test]
    fn workloads_are_versions_of_one_row() {
        let columns = ("as_columns", "1");
        let rows = made(&[columns], &["x/a.toml", "x/b.toml"]).unwrap();
        assert_eq!(rows.workloads, [(PathBuf::from("x/a.toml"), "x/a.toml, x/b.toml".to_owned())]);
        assert_eq!(rows.versions[1].of(Path::new("x/a.toml")), Path::new("x/b.toml"));
        assert_eq!(versions(&[columns], &["x/a.toml", "x/b.toml"]), ["a.toml", "b.toml"]);
        assert!(made(&[columns], &["a.toml"]).unwrap_err().contains("two or more"));
        assert!(made(&[columns], &["a.toml", "all"]).unwrap_err().contains("two or more"));
        assert!(made(&[columns, ("module", "a,b")], &["a.toml", "b.toml"]).unwrap_err().contains("--module"));
    }
}

//! The machines that are asked for: one, the devices of a program, or every combination of what the axes of a comparison
//! list, with labels, baselines and descriptions.

use crate::BadRequest;
use crate::comparison::{Axis, Column};
use crate::machine;
use crate::options::{Options, row};
use crate::values::{Core, EVERY, MOST_RUNS, NameOrFile, Over, Scheduler, USUAL_GPU, Vary, check_size, distinct};
use crate::versions::{self, Rows, Version};
use crate::{Way, code, gpu, name, relative};
use kit::text::counted;
use lab::Setup;
use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use workloads::{Form, Workload};

/// Every combination of the values that are varied, as assignments.
fn combinations(options: &Options, given: &[&Vary]) -> Result<Vec<Vec<String>>, BadRequest> {
    let mut out = vec![Vec::new()];
    for Vary { key, values } in given {
        distinct(&format!("{} {key}", options.called("vary")), values)?;
        check_size(1, (out.len() as u64).saturating_mul(values.len() as u64))?;
        out = out
            .iter()
            .flat_map(|before: &Vec<String>| {
                values.iter().map(move |v| before.iter().cloned().chain([format!("{key}={v}")]).collect())
            })
            .collect();
    }
    Ok(out)
}

/// Something with parameters of its own, which a comparison can vary.
struct Parametric {
    /// Prefix of the keys that are parameters of these.
    prefix: &'static str,
    /// The option that names them.
    option: &'static str,
    /// All of them, in messages and as the topic of `list`.
    plural: &'static str,
    check: fn(&str) -> Result<(), String>,
    /// One with a parameter set; `None` if it has no such parameter.
    with: fn(&str, &str, &str) -> Result<Option<String>, String>,
}

/// Core designs.
const CORES: Parametric =
    Parametric { prefix: "core.", option: "core", plural: "cores", check: lab::check_core, with: lab::with_parameter };

/// Warp schedulers.
const SCHEDULERS: Parametric = Parametric {
    prefix: "scheduler.",
    option: "scheduler",
    plural: "schedulers",
    check: lab::check_scheduler,
    with: lab::scheduler_with,
};

impl Parametric {
    /// Each of `named` with every combination of the values that `given` lists, where it has the parameters.
    fn varied(&self, options: &Options, named: &[String], given: &[&Vary]) -> Result<Vec<String>, BadRequest> {
        if named.is_empty() && !given.is_empty() {
            let (vary, plural, option) = (options.called("vary"), self.plural, options.called(self.option));
            return Err(BadRequest::new(format!(
                "`{vary} {}`: varies the {plural} that {option} names, and none is named",
                given[0].key
            )));
        }
        let parameter = |assignment: &str| -> (String, String) {
            let (name, value) = assignment[self.prefix.len()..].split_once('=').unwrap_or_default();
            (name.to_owned(), value.to_owned())
        };
        let varied = combinations(options, given)?;
        let mut out: Vec<String> = Vec::new();
        let mut found = BTreeSet::new();
        for (one, values) in named.iter().flat_map(|one| varied.iter().map(move |values| (one, values))) {
            let mut one = one.clone();
            for (name, value) in values.iter().map(|value| parameter(value)) {
                if let Some(with) = (self.with)(&one, &name, &value).map_err(BadRequest::new)? {
                    one = with;
                    found.insert(name);
                }
            }
            (self.check)(&one).map_err(BadRequest::new)?;
            if !out.contains(&one) {
                out.push(one);
            }
        }
        let Self { prefix, plural, .. } = self;
        match varied[0].iter().map(|value| parameter(value).0).find(|name| !found.contains(name)) {
            None => Ok(out),
            Some(name) => Err(BadRequest::new(format!(
                "`{} {prefix}{name}`: none of the {plural} has this parameter\n  hint: `warpwright list {plural} {}` shows the parameters",
                options.called("vary"),
                named[0]
            ))),
        }
    }
}

/// The runs of a comparison.
#[derive(Clone, Debug)]
pub struct Sweep {
    /// Rows: names of workloads, `all` replaced by those that run the same code on every machine.
    pub workloads: Vec<PathBuf>,
    /// Labels of the rows.
    pub names: Vec<String>,
    /// Workloads that `all` leaves out: they have no machine code for some machine, where others have.
    pub left_out: Vec<&'static str>,
    /// Workloads that `all` leaves out: some machine lacks their instructions.
    pub of_other_gpus: Vec<&'static str>,
    /// Columns.
    pub columns: Vec<Column>,
    /// The machine of each column.
    pub setups: Vec<Setup>,
}

impl Sweep {
    /// Every combination of the axes of `options`, in their order; the last one varies fastest.
    ///
    /// # Errors
    /// An axis has something twice or nothing, is not about anything here, or a machine makes no sense.
    pub fn new(options: &Options, workloads: &[PathBuf]) -> Result<Self, BadRequest> {
        let Rows { workloads: rows, versions } = versions::rows(options, workloads)?;
        distinct(&options.called("kernels"), &options.kernels)?;
        let of_files = || {
            let paths: Vec<&Path> = workloads.iter().map(PathBuf::as_path).collect();
            Ok(vec![name::usual_gpu(options, &paths)?])
        };
        let gpus_meant = given_gpus(options).map_or_else(of_files, Ok)?;
        let (columns, setups): (Vec<_>, Vec<_>) = machines(options, &gpus_meant, &versions)?.into_iter().unzip();
        let (mut workloads, mut names): (Vec<_>, Vec<_>) = rows.into_iter().unzip();
        let (mut left_out, mut of_other_gpus) = (Vec::new(), Vec::new());
        if workloads.iter().any(|w| w == Path::new(EVERY)) {
            let (gpus, cores) = (gpus(&setups), cores(&setups));
            let runs = |w: &&Workload| !code::lacks_code(options, w, &gpus, &cores);
            let (every, others): (Vec<_>, Vec<_>) =
                workloads::suite::ALL.iter().partition(|w| !code::lacks_instructions(w, &gpus));
            let (every, without): (Vec<&Workload>, Vec<_>) = every.into_iter().partition(runs);
            let known: Vec<&str> = every.iter().map(|w| w.name).collect();
            workloads = expanded(&workloads, &known, |name| name.as_os_str(), |name| PathBuf::from(name));
            names = workloads.iter().map(|workload| workload.display().to_string()).collect();
            left_out = without.iter().map(|w| w.name).collect();
            of_other_gpus = others.iter().map(|w| w.name).collect();
        }
        check_size(workloads.len() as u64, columns.len() as u64)?;
        let repeats = options.repeat.map_or(1, |repeat| u64::from(repeat.get()));
        let runs = (workloads.len() * columns.len()) as u64;
        if runs.saturating_mul(repeats) > MOST_RUNS {
            let repeat = options.called("repeat");
            return Err(BadRequest::new(format!(
                "{repeat} {repeats} of {}: a comparison has {MOST_RUNS} runs at most",
                counted(runs, "run")
            )));
        }
        Ok(Self { workloads, names, left_out, of_other_gpus, columns, setups })
    }

    /// The code that each workload runs as, the same on every machine, and a remark where it is not the usual one.
    pub fn codes(&self, options: &Options) -> Vec<(Form, Option<String>)> {
        let (gpus, cores) = (gpus(&self.setups), cores(&self.setups));
        let of = |w: &PathBuf| {
            // All versions run the same kind of code.
            let versions = || self.columns.iter().map(|column| column.version.of(w));
            let is_ptx = versions().any(|w| code::form(options, w, &gpus, &cores) == Form::Ptx);
            let remark = versions().find_map(|w| code::remark(options, w, &gpus, &cores));
            (if is_ptx { Form::Ptx } else { Form::Sass }, remark)
        };
        self.workloads.iter().map(of).collect()
    }
}

/// The machine of what is called `workload`, and what its GPU description is called.
///
/// # Errors
/// Options name several machines, or one that makes no sense.
pub fn one(options: &Options, workload: &Path) -> Result<(Setup, PathBuf), BadRequest> {
    let sweep = Sweep::new(options, &[workload.to_owned()])?;
    let (Ok([column]), Ok([setup])) = (<[Column; 1]>::try_from(sweep.columns), <[Setup; 1]>::try_from(sweep.setups))
    else {
        return Err(several(options));
    };
    let code = code::form(options, workload, &[&setup.gpu], &[&setup.core]);
    Ok((Setup { code, ..setup }, column.gpu_path))
}

/// The devices of a program.
///
/// # Errors
/// Options name several machines on one GPU, or one that makes no sense.
pub fn devices(options: &Options) -> Result<Vec<Setup>, BadRequest> {
    // Without `Sweep`, whose bundled workloads the libraries of programs would have within them.
    let gpus = given_gpus(options).unwrap_or_else(|| vec![USUAL_GPU.into()]);
    let machines = machines(options, &gpus, &[Version::default()])?;
    if machines.len() > options.gpu.len().max(1) {
        return Err(several(options));
    }
    let code = code::of_programs(options);
    Ok(machines.into_iter().map(|(_, setup)| Setup { code, ..setup }).collect())
}

/// A device for kernels that are given one by one.
///
/// # Errors
/// Options name several machines, or one that makes no sense.
pub fn device(options: &Options) -> Result<Setup, BadRequest> {
    match <[Setup; 1]>::try_from(devices(options)?) {
        Ok([setup]) => Ok(Setup { code: Form::Ptx, ..setup }),
        Err(_) => Err(several(options)),
    }
}

fn several(options: &Options) -> BadRequest {
    let axes = [
        ("gpu", options.gpu.len()),
        ("core", options.core.len()),
        ("scheduler", options.scheduler.len()),
        ("warps_per_sm", options.warps_per_sm.len()),
        ("register_file", options.register_file.len()),
        ("branches", options.branches.len()),
        ("instruction_buffer", options.instruction_buffer.len()),
    ];
    let is_several = |(name, count): &&(&str, usize)| *count > 1 && !(*name == "gpu" && options.way == Way::Exec);
    let name = axes.iter().find(is_several).map_or("core", |(name, _)| name);
    let plural = row(name).map_or_else(String::new, |row| row.called(Way::Compare));
    let how = if options.way.is_python() {
        "`warpwright.compare`".to_owned()
    } else {
        format!("`warpwright compare {plural} A,B`")
    };
    BadRequest::new(format!(
        "{}: one machine at a time, not several\n  hint: {how} takes several values and shows them side by side",
        options.called(name)
    ))
}

fn gpus(setups: &[Setup]) -> Vec<&config::GpuConfig> {
    setups.iter().map(|setup| &setup.gpu).collect()
}

fn cores(setups: &[Setup]) -> Vec<&str> {
    setups.iter().map(|setup| &*setup.core).collect()
}

/// The names given, `all` replaced by every known name.
fn expanded<T: Clone>(given: &[T], every: &[&str], text: fn(&T) -> &OsStr, named: fn(&str) -> T) -> Vec<T> {
    let mut out = Vec::new();
    for name in given {
        if text(name) == EVERY { out.extend(every.iter().map(|name| named(name))) } else { out.push(name.clone()) }
    }
    out
}

fn names(list: &[(&'static str, &'static str)]) -> Vec<&'static str> {
    list.iter().map(|&(name, _)| name).collect()
}

/// The GPUs that the options name, if they name any.
fn given_gpus(options: &Options) -> Option<Vec<PathBuf>> {
    let every_gpu: Vec<&str> = config::hardware().collect();
    let all = expanded(&options.gpu, &every_gpu, |gpu| gpu.0.as_os_str(), |name| NameOrFile(name.into()));
    (!all.is_empty()).then(|| all.into_iter().map(|gpu| gpu.0).collect())
}

/// The combinations on these GPUs, each with its machine, which run these versions.
fn machines(options: &Options, gpus: &[PathBuf], versions: &[Version]) -> Result<Vec<(Column, Setup)>, BadRequest> {
    distinct(&options.called("gpu"), gpus)?;
    let (of_cores, rest): (Vec<&Vary>, Vec<&Vary>) = options.vary.iter().partition(|v| v.key.starts_with(CORES.prefix));
    let (of_schedulers, of_gpus): (Vec<&Vary>, Vec<&Vary>) =
        rest.iter().partition(|v| v.key.starts_with(SCHEDULERS.prefix));
    // One that runs PTX only would make the others run as PTX too.
    let is_ptx = *options.code == crate::values::Code::Ptx;
    let is_meant = |core: &&str| lab::is_timed(core) && (is_ptx || !lab::needs_ptx(core));
    let all: Vec<&str> = names(lab::cores()).into_iter().filter(is_meant).collect();
    let given: Vec<String> = options.core.iter().map(|Core(name)| name.clone()).collect();
    distinct(&options.called("core"), &given)?;
    let mut cores = expanded(&given, &all, |core| core.as_ref(), |name| name.to_owned());
    let common: Vec<String> = options.set.iter().map(|set| set.0.clone()).collect();
    // Without a choice, what is varied is a parameter of the descriptions' core, if all have the same.
    if cores.is_empty() && !of_cores.is_empty() {
        let described = |gpu: &PathBuf| Ok(gpu::load(gpu, &common)?.usual_core().to_owned());
        let described = gpus.iter().map(described).collect::<Result<BTreeSet<String>, BadRequest>>()?;
        if described.len() == 1 {
            cores.extend(described);
        }
    }
    cores = CORES.varied(options, &cores, &of_cores)?;
    let with_over = |names: &mut Vec<String>, over: &String| {
        if !names.contains(over) {
            names.insert(0, over.clone());
        }
    };
    if let Some(Over::Core(over)) = &options.over {
        // Designs are compared over the same stages. Without a choice, the design in order on the baseline's stages is.
        if cores.is_empty() {
            cores.push(lab::in_order_on_stages_of(over).to_owned());
        }
        with_over(&mut cores, over);
    }
    // Without a choice, the GPU description's own core, which `machine` puts in.
    if cores.is_empty() {
        cores.push(String::new());
    }
    let given: Vec<String> = options.scheduler.iter().map(|Scheduler(name)| name.clone()).collect();
    distinct(&options.called("scheduler"), &given)?;
    let schedulers = expanded(&given, &names(lab::schedulers()), |one| one.as_ref(), |name| name.to_owned());
    let mut schedulers = SCHEDULERS.varied(options, &schedulers, &of_schedulers)?;
    if let Some(Over::Scheduler(over)) = &options.over {
        if schedulers.is_empty() {
            let (option, scheduler) = (options.called("over"), options.called("scheduler"));
            return Err(BadRequest::new(format!(
                "{option} {over}: {scheduler} names no scheduler that is compared with it"
            )));
        }
        with_over(&mut schedulers, over);
    }
    // Without a choice, the GPU description's own scheduler.
    let schedulers: Vec<Option<String>> =
        if schedulers.is_empty() { vec![None] } else { schedulers.into_iter().map(Some).collect() };
    let (varied, choices) = (combinations(options, &of_gpus)?, gpu::choices(options));
    let parts = [gpus.len(), cores.len(), schedulers.len(), varied.len(), choices.len(), versions.len()];
    check_size(1, parts.iter().fold(1, |all: u64, &part| all.saturating_mul(part as u64)))?;
    let mut columns = vec![Column::default()];
    columns = combined(&columns, gpus, |c, gpu| {
        c.gpu = gpu.display().to_string();
        c.gpu_path.clone_from(gpu);
    });
    columns = combined(&columns, &cores, |c, core| c.core.clone_from(core));
    columns = combined(&columns, &schedulers, |c, scheduler| c.scheduler.clone_from(scheduler));
    columns = combined(&columns, &varied, |c, varied| {
        c.settings = common.iter().chain(varied).cloned().collect();
        c.label = varied.iter().map(|v| last_part(v)).collect::<Vec<_>>().join(" ");
    });
    columns = combined(&columns, &choices, |c, choice| {
        c.choice = choice.clone();
        c.label = format!("{} {}", c.label, choice.label).trim().to_owned();
    });
    columns = combined(&columns, versions, |c, version| c.version.clone_from(version));
    for column in &mut columns {
        let parts = [
            Some(&column.gpu).filter(|_| gpus.len() > 1),
            Some(&column.core).filter(|_| cores.len() > 1),
            column.scheduler.as_ref().filter(|_| schedulers.len() > 1),
            Some(&column.label).filter(|varied| !varied.is_empty()),
            Some(&column.version.label).filter(|version| !version.is_empty()),
        ];
        let label: Vec<&str> = parts.into_iter().flatten().map(String::as_str).collect();
        column.label = if label.is_empty() { column.gpu.clone() } else { label.join(" ") };
        let axis = |name: &str, value: &str, is_setting| Axis { name: name.into(), value: value.into(), is_setting };
        let one_design = options.core.len() == 1 && !matches!(options.over, Some(Over::Core(_)));
        let one_scheduler = options.scheduler.len() == 1 && !matches!(options.over, Some(Over::Scheduler(_)));
        let of_column = [
            (gpus.len() > 1).then(|| axis("gpu", &column.gpu, false)),
            (cores.len() > 1).then(|| axis("core", &column.core, one_design && of_cores.len() == 1)),
            column
                .scheduler
                .as_ref()
                .filter(|_| schedulers.len() > 1)
                .map(|scheduler| axis("scheduler", scheduler, one_scheduler && of_schedulers.len() == 1)),
        ];
        let set = column.settings.iter().skip(common.len());
        let several = set.filter(|setting| varied.iter().any(|of| !of.contains(setting)));
        let settings =
            several.filter_map(|s| Some((s.split_once('=')?.0, s))).map(|(key, s)| axis(key, &last_part(s), true));
        let flags = column.choice.varied.iter().map(|(name, value)| axis(name, value, true));
        let version = (versions.len() > 1).then(|| axis("version", &column.version.label, false));
        column.axes = of_column.into_iter().flatten().chain(settings).chain(flags).chain(version).collect();
    }
    relative::set_baselines(&mut columns, options)?;
    let host = machine::host(options);
    columns.into_iter().map(|column| machine::of_column(column, options, &host)).collect()
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

/// `sm.issue.schedulers=2` as `schedulers=2`: enough to distinguish columns.
fn last_part(assignment: &str) -> String {
    let (key, value) = assignment.split_once('=').unwrap_or((assignment, ""));
    format!("{}={value}", key.rsplit('.').next().unwrap_or(key))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::option::Way;
    use workloads::Form;

    fn options(words: &[(&str, &str)]) -> Options {
        let row = |name: &str| row(name).unwrap();
        let mut texts: crate::options::Texts = Vec::new();
        for (name, text) in words {
            match texts.iter_mut().find(|(row, _)| row.name == *name) {
                Some((_, all)) => all.push(text.into()),
                None => texts.push((row(name), vec![text.into()])),
            }
        }
        Options::read(Way::Compare, &texts, &|row| row.called(Way::Compare)).unwrap()
    }

    fn varied(of: &Parametric, named: &[&str], vary: &[&str]) -> Result<Vec<String>, String> {
        let words: Vec<(&str, &str)> = vary.iter().map(|vary| ("vary", *vary)).collect();
        let options = options(&words);
        let named: Vec<String> = named.iter().map(|&name| name.to_owned()).collect();
        of.varied(&options, &named, &options.vary.iter().collect::<Vec<_>>()).map_err(|e| e.message)
    }

    #[test]
    fn every_combination_the_last_fastest() {
        let options = options(&[("vary", "a.x=1,2"), ("vary", "b=3,4")]);
        let got = combinations(&options, &options.vary.iter().collect::<Vec<_>>()).unwrap();
        assert_eq!(got, [["a.x=1", "b=3"], ["a.x=1", "b=4"], ["a.x=2", "b=3"], ["a.x=2", "b=4"]]);
        assert_eq!(combinations(&options, &[]).unwrap(), [Vec::<String>::new()]);
    }

    #[test]
    fn cores_are_varied_as_far_as_they_have_the_parameter() {
        let cores = ["inorder", "ghost", "socgpu"];
        let expected = ["inorder", "ghost:issue_buffer=4", "ghost:issue_buffer=16", "socgpu:buffer=32"];
        assert_eq!(varied(&CORES, &cores, &["core.issue_buffer=4,16", "core.buffer=32"]).unwrap(), expected);
        assert_eq!(varied(&CORES, &cores, &[]).unwrap(), cores);
        let error = |vary: &str| varied(&CORES, &cores, &[vary]).unwrap_err();
        assert!(error("core.size=1").contains("`--vary core.size`: none of the cores"));
        assert!(error("core.issue_buffer=65").contains("1 to 64"));
    }

    #[test]
    fn schedulers_are_varied_as_far_as_they_have_the_parameter() {
        let schedulers = ["gto", "two_level"];
        let expected = ["gto", "two_level:active=4", "two_level:active=8"].map(str::to_owned);
        assert_eq!(varied(&SCHEDULERS, &schedulers, &["scheduler.active=4,8"]), Ok(expected.to_vec()));
        let error = |named: &[&str], vary: &str| varied(&SCHEDULERS, named, &[vary]).unwrap_err();
        assert!(error(&schedulers, "scheduler.active=65").contains("`active` is 0 to 64"));
        assert!(error(&schedulers[..1], "scheduler.active=4").contains("none of the schedulers"));
        assert!(error(&[], "scheduler.active=4").contains("--scheduler"));
    }

    #[test]
    fn all_is_what_runs_the_same_code_on_all_gpus() {
        let all = |words: &[(&str, &str)]| {
            let options = options(words);
            let sweep = Sweep::new(&options, &["all".into()]).unwrap();
            let codes = sweep.codes(&options);
            (sweep.workloads.len(), codes.iter().filter(|(code, _)| *code == Form::Sass).count())
        };
        let every = workloads::suite::on(Form::Ptx, 75).count();
        let (turing, _) = all(&[]);
        assert!(turing < every && turing >= 20);
        assert_eq!(all(&[("code", "sass")]), (turing, turing));
        assert_eq!(all(&[]), (turing, turing));
        assert_eq!(all(&[("gpu", "gtx480")]), (every, 0));
        assert_eq!(all(&[("gpu", "rtx2060s,gtx480")]), (every, 0));
        assert_eq!(all(&[("code", "ptx")]), (every, 0));
        assert_eq!(all(&[("registers", "allocated")]), (every, 0));
        assert_eq!(all(&[("core", "inorder,sgmf")]), (every, 0), "what runs PTX only");
        assert_eq!(all(&[("core", "all")]), (turing, turing));
        let hopper = workloads::suite::ALL.len();
        assert!(hopper > every);
        assert_eq!(all(&[("gpu", "h100")]), (hopper, hopper));
        assert_eq!(all(&[("gpu", "h100"), ("code", "ptx")]), (hopper, 0));
    }

    /// Another core of the same design that a parameter distinguishes is not the one that speedups are over.
    #[test]
    fn over_is_a_column_of_its_own() {
        let options = options(&[("core", "inorder,ghost"), ("vary", "core.issue_buffer=4,8"), ("over", "ghost")]);
        let sweep = Sweep::new(&options, &["vectoradd".into()]).unwrap();
        let columns: Vec<(&str, usize)> = sweep.columns.iter().map(|c| (&*c.core, c.baseline)).collect();
        let expected = [("ghost", 0), ("inorder", 0), ("ghost:issue_buffer=4", 0), ("ghost:issue_buffer=8", 0)];
        assert_eq!(columns, expected);
    }

    #[test]
    fn without_a_choice_the_core_is_the_descriptions() {
        let sweep = |words: &[(&str, &str)]| Sweep::new(&options(words), &["vectoradd".into()]);
        let cores = |words: &[(&str, &str)]| -> Vec<String> {
            let Sweep { columns, setups, .. } = sweep(words).unwrap();
            assert!(columns.iter().zip(&setups).all(|(column, setup)| column.core == setup.core));
            columns.into_iter().map(|column| column.core).collect()
        };
        assert_eq!(cores(&[("gpu", "accel-sim/v100")]), ["inorder"]);
        let described = ("set", "core=modern:ports=2");
        assert_eq!(cores(&[described]), ["modern:ports=2"]);
        assert_eq!(cores(&[described, ("core", "ghost")]), ["ghost"]);
        assert_eq!(cores(&[("vary", "core=modern,loog")]), ["modern", "loog"]);
        let error = sweep(&[("gpu", "v100"), ("set", "core=modem")]).unwrap_err().message;
        assert!(error.contains("`core` of v100") && error.contains("did you mean `modern`"), "{error}");
        // Compared is what has the stages of the baseline, whatever the description says.
        assert_eq!(cores(&[described, ("over", "ghost")]), ["ghost", "inorder"]);
        assert_eq!(cores(&[described, ("over", "inorder")]), ["inorder"]);
        assert_eq!(cores(&[("over", "modern-ghost:issue_buffer=4")]), ["modern-ghost:issue_buffer=4", "modern"]);
        assert_eq!(cores(&[("set", "core=modern"), ("vary", "core.ports=1,2")]), ["modern:ports=1", "modern:ports=2"]);
    }

    #[test]
    fn built_in_descriptions_name_known_cores() {
        for name in config::builtin().iter().map(|gpu| gpu.name) {
            let gpu = config::load(name).unwrap();
            lab::check_core(gpu.usual_core()).unwrap();
            assert!(!name.contains('/') || gpu.core.is_none(), "{name}: papers and Accel-Sim have `inorder`");
        }
    }

    #[test]
    fn over_a_scheduler_each_core_has_a_baseline_of_its_own() {
        let words = [("core", "inorder,ghost"), ("scheduler", "gto,two_level"), ("over", "lrr")];
        let sweep = Sweep::new(&options(&words), &["vectoradd".into()]).unwrap();
        let columns: Vec<(&str, usize)> = sweep.columns.iter().map(|c| (&*c.label, c.baseline)).collect();
        let expected = [
            ("inorder lrr", 0),
            ("inorder gto", 0),
            ("inorder two_level", 0),
            ("ghost lrr", 3),
            ("ghost gto", 3),
            ("ghost two_level", 3),
        ];
        assert_eq!(columns, expected);
        let words = [("core", "inorder,ghost"), ("over", "lrr")];
        let error = Sweep::new(&options(&words), &["vectoradd".into()]).unwrap_err().message;
        assert!(error.contains("--over lrr") && error.contains("--schedulers"), "{error}");
    }
}

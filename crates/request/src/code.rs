//! Which code of a bundled workload or a program runs: one rule for every way in.

use crate::name::bundled;
use crate::options::Options;
use crate::values::Code;
use config::GpuConfig;
use std::path::Path;
use workloads::{Form, Workload, suite};

/// The first of `cores` that runs PTX only.
fn needs_ptx<'a>(cores: &[&'a str]) -> Option<&'a str> {
    cores.iter().copied().find(|core| lab::needs_ptx(core))
}

/// Machine code where the workload has some for all of `gpus`, else PTX.
fn usual_form(workload: &Workload, gpus: &[&GpuConfig]) -> Form {
    workload.usual_form(gpus.iter().map(|gpu| gpu.sm_version))
}

/// Which code of what is called `name` runs on all of `gpus` and `cores`. Launch files, traces and kernels that a program
/// compiles have one code only.
pub fn form(options: &Options, name: impl AsRef<Path>, gpus: &[&GpuConfig], cores: &[&str]) -> Form {
    match *options.code {
        Code::Ptx => Form::Ptx,
        Code::Sass => Form::Sass,
        Code::Auto if options.registers.is_some() || needs_ptx(cores).is_some() => Form::Ptx,
        Code::Auto => {
            let name = name.as_ref().to_string_lossy();
            bundled(&name).map_or(Form::Ptx, |(workload, _)| usual_form(workload, gpus))
        }
    }
}

/// Which code of the fat binaries of a program runs: they have machine code by themselves where there is some.
pub fn of_programs(options: &Options) -> Form {
    match *options.code {
        Code::Auto if options.registers.is_some() => Form::Ptx,
        Code::Ptx => Form::Ptx,
        Code::Auto | Code::Sass => Form::Sass,
    }
}

/// The form in which a kernel is compiled for a device: machine code if the core executes it for the architecture.
pub fn of_device(options: &Options, gpu: &GpuConfig, core: &str) -> Form {
    let is_executed = sass::elf::KNOWN.contains(&gpu.sm_version) && !lab::needs_ptx(core);
    match *options.code {
        Code::Auto if !is_executed => Form::Ptx,
        _ => of_programs(options),
    }
}

/// A remark, if a workload runs as PTX for want of machine code for all of `gpus`, which others have, or because one of
/// `cores` runs nothing else.
pub fn remark(options: &Options, name: impl AsRef<Path>, gpus: &[&GpuConfig], cores: &[&str]) -> Option<String> {
    let (workload, _) = bundled(&name.as_ref().to_string_lossy()).ok()?;
    let name = workload.name;
    let has_code = usual_form(workload, gpus) == Form::Sass;
    match needs_ptx(cores) {
        _ if *options.code != Code::Auto || options.registers.is_some() => None,
        Some(core) if has_code => Some(format!("core {core} executes PTX only: {name} runs as PTX")),
        _ if lacks_instructions(workload, gpus) => None,
        _ if lacks_code(options, workload, gpus, cores) => {
            let lacks = |gpu: &&&GpuConfig| workload.module.cubin(gpu.sm_version).is_none();
            let lacking: Vec<_> =
                gpus.iter().filter(lacks).map(|gpu| format!("{} (sm_{})", gpu.name, gpu.sm_version)).collect();
            Some(format!("{name} has no machine code for {}: it runs as PTX", lacking.join(", ")))
        }
        _ => None,
    }
}

/// Whether one of `gpus` lacks the instructions of `workload`, which then runs as no code.
pub fn lacks_instructions(workload: &Workload, gpus: &[&GpuConfig]) -> bool {
    !gpus.iter().all(|gpu| workload.runs_on(Form::Ptx, gpu.sm_version))
}

/// Whether `workload` lacks the machine code for all of `gpus` as which others run.
pub fn lacks_code(options: &Options, workload: &Workload, gpus: &[&GpuConfig], cores: &[&str]) -> bool {
    let has_code = |workload: &Workload| usual_form(workload, gpus) == Form::Sass;
    let runs_code = match *options.code {
        Code::Auto => options.registers.is_none() && needs_ptx(cores).is_none() && suite::ALL.iter().any(has_code),
        Code::Ptx => false,
        Code::Sass => true,
    };
    runs_code && !has_code(workload)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::option::Way;
    use crate::options::row;
    use lab::RegisterMode;

    fn options(words: &[(&str, &str)]) -> Options {
        let texts = words.iter().map(|(name, text)| (row(name).unwrap(), vec![(*text).into()])).collect();
        Options::read(Way::Run, &texts, &|row| row.called(Way::Run)).unwrap()
    }

    #[test]
    fn machine_code_runs_where_there_is_some() {
        let gpu = |name: &str| config::load(name).unwrap();
        let (turing, ampere, fermi) = (gpu("rtx2060s"), gpu("rtx3070"), gpu("gtx480"));
        let usual = options(&[]);
        let of = |name: &str, gpus: &[&GpuConfig]| form(&usual, name, gpus, &["inorder"]);
        assert_eq!(of("matmul", &[&turing, &ampere]), Form::Sass);
        assert_eq!(remark(&usual, "matmul", &[&turing], &["inorder"]), None);
        // No workload has machine code for that GPU: nothing to remark.
        assert_eq!((of("matmul", &[&fermi]), remark(&usual, "matmul", &[&fermi], &["inorder"])), (Form::Ptx, None));
        assert_eq!(of("matmul", &[&turing, &fermi]), Form::Ptx, "the same code on all GPUs");
        assert_eq!(of("asynccopy", &[&turing]), Form::Ptx);
        let said = remark(&usual, "asynccopy", &[&ampere, &turing], &["inorder"]).unwrap();
        assert_eq!(said, "asynccopy has no machine code for rtx2060s (sm_75): it runs as PTX");
        assert_eq!(of("asynccopy", &[&ampere]), Form::Sass);
        assert_eq!(form(&options(&[("code", "ptx")]), "matmul", &[&turing], &["inorder"]), Form::Ptx);
        let sass = form(&options(&[("code", "sass")]), "asynccopy", &[&turing], &["inorder"]);
        assert_eq!(sass, Form::Sass, "an error, which is reported later");
        let allocated = options(&[("registers", "allocated")]);
        assert_eq!(allocated.registers, Some(RegisterMode::Allocated));
        assert_eq!(form(&allocated, "matmul", &[&turing], &["inorder"]), Form::Ptx);
        assert_eq!(remark(&allocated, "asynccopy", &[&turing], &["inorder"]), None);
    }

    #[test]
    fn a_device_gets_machine_code_that_it_executes() {
        let gpu = |name: &str| config::load(name).unwrap();
        let of = |words: &[(&str, &str)], name: &str, core: &str| of_device(&options(words), &gpu(name), core);
        assert_eq!(of(&[], "v100", "inorder"), Form::Sass);
        assert_eq!(of(&[], "gtx480", "inorder"), Form::Ptx, "sm_20");
        assert_eq!(of(&[], "v100", "sgmf"), Form::Ptx);
        assert_eq!(of(&[("registers", "allocated")], "v100", "inorder"), Form::Ptx);
        assert_eq!(of(&[("code", "ptx")], "v100", "inorder"), Form::Ptx);
        assert_eq!(of(&[("code", "sass")], "v100", "sgmf"), Form::Sass, "an error, which is reported later");
    }

    #[test]
    fn a_workload_of_one_architecture_has_no_other_code() {
        let (ampere, hopper) = (config::load("rtx3070").unwrap(), config::load("h200").unwrap());
        let (usual, wgmma) = (options(&[]), suite::find("wgmma").unwrap());
        assert!(lacks_instructions(wgmma, &[&hopper, &ampere]) && !lacks_instructions(wgmma, &[&hopper]));
        assert_eq!(form(&usual, "wgmma", &[&hopper], &["inorder"]), Form::Sass);
        assert_eq!(remark(&usual, "wgmma", &[&ampere], &["inorder"]), None, "an error, which is reported later");
    }

    #[test]
    fn what_runs_ptx_only_makes_all_run_as_ptx() {
        let (turing, fermi) = (config::load("rtx2060s").unwrap(), config::load("gtx480").unwrap());
        let (usual, cores) = (options(&[]), ["inorder", "sgmf:entries=32"]);
        assert_eq!(form(&usual, "matmul", &[&turing], &cores), Form::Ptx);
        let said = remark(&usual, "matmul", &[&turing], &cores).unwrap();
        assert_eq!(said, "core sgmf:entries=32 executes PTX only: matmul runs as PTX");
        assert_eq!(remark(&usual, "matmul", &[&fermi], &cores), None, "nothing runs as machine code there");
        assert_eq!(remark(&usual, "asynccopy", &[&turing], &cores), None, "it runs as PTX anyway");
        let sass = options(&[("code", "sass")]);
        assert_eq!(form(&sass, "matmul", &[&turing], &cores), Form::Sass, "an error, which is reported later");
    }
}

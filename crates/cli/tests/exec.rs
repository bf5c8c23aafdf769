//! `warpwright exec` with C programs that the system's compiler builds.

use crate::common::{command, from};
use std::path::Path;
use std::process::Command;

/// A runtime of another maker, which says so.
const FOREIGN: &str = "int cudaRuntimeGetVersion(int *version) { *version = -1; return 0; }";
/// Prints the version of its runtime, and whether libraries were loaded before its own.
const PROGRAM: &str = r#"
#include <stdio.h>
#include <stdlib.h>
int cudaRuntimeGetVersion(int *);
int main(void) {
    int version = 0;
    cudaRuntimeGetVersion(&version);
    printf("%d %s\n", version / 1000, getenv("LD_PRELOAD") ? "preloaded" : "found");
    return 0;
}"#;

/// Runs the C compiler in `folder`; false where there is none.
fn compile(folder: &Path, args: &[&str]) -> bool {
    let Ok(output) =
        Command::new(std::env::var_os("CC").unwrap_or("cc".into())).current_dir(folder).args(args).output()
    else {
        eprintln!("skipped: there is no C compiler");
        return false;
    };
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    true
}

/// What `program` prints under `warpwright exec`.
fn under_exec(program: &[&str]) -> String {
    let mut exec = command(&["exec", "--"]);
    let ran = from(exec.args(program).env_remove("LD_PRELOAD").env_remove("LD_LIBRARY_PATH").output().unwrap());
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    ran.stdout
}

#[test]
fn programs_find_our_runtime_whatever_their_own_paths_are() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    std::fs::write(folder.join("foreign.c"), FOREIGN).unwrap();
    std::fs::write(folder.join("program.c"), PROGRAM).unwrap();
    for (soname, version) in [("libcudart.so.11.0", 11), ("libcudart.so.12", 12), ("libcudart.so.13", 13)] {
        std::fs::write(folder.join("symbols.map"), format!("{soname} {{ *; }};")).unwrap();
        let soname_option = format!("-Wl,-soname,{soname}");
        let library =
            ["-shared", "-fPIC", "-Wl,--version-script=symbols.map", &soname_option, "-o", soname, "foreign.c"];
        if !compile(folder, &library) {
            return;
        }
        let path = format!("-Wl,-rpath,{}", folder.display());
        for (tags, how) in [("--disable-new-dtags", "preloaded"), ("--enable-new-dtags", "found")] {
            let tags = format!("-Wl,{tags}");
            assert!(compile(folder, &["-o", "program", "program.c", soname, &path, &tags]));
            let program = folder.join("program");
            let alone = Command::new(&program).env_remove("LD_PRELOAD").output().unwrap();
            assert_eq!(String::from_utf8_lossy(&alone.stdout), "0 found\n");
            let program = program.to_str().unwrap();
            assert_eq!(under_exec(&[program]), format!("{version} {how}\n"), "{soname}");
            // What an interpreter loads is not known before it runs.
            assert_eq!(under_exec(&["sh", "-c", program]), format!("{version} preloaded\n"), "{soname}");
        }
    }
}

#[test]
fn what_is_loaded_before_stays_so() {
    let print = ["exec", "--print-environment"];
    let text = from(command(&print).env("LD_PRELOAD", "libown.so").output().unwrap()).stdout;
    let line = text.lines().find(|line| line.starts_with("export LD_PRELOAD=")).expect("it is among the variables");
    let list: Vec<&str> = line.trim_start_matches("export LD_PRELOAD='").trim_end_matches('\'').split(':').collect();
    assert_eq!(list[0], "libown.so");
    let names: Vec<_> = list[1..].iter().map(|path| Path::new(path).file_name().unwrap().to_str().unwrap()).collect();
    assert_eq!(names, ["libcudart.so.12", "libcudart.so.13", "libcudart.so.11.0"]);
}

#[test]
fn run_takes_a_program_as_exec_does() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("program.c"), "#include <stdio.h>\nint main(void) { puts(\"here\"); return 3; }")
        .unwrap();
    if !compile(folder.path(), &["-o", "program", "program.c"]) {
        return;
    }
    for words in [&["run", "program", "--gpu", "v100"][..], &["run", "--core", "ghost", "./program"]] {
        let ran = from(command(words).current_dir(folder.path()).output().unwrap());
        assert_eq!((ran.status, ran.stdout.as_str()), (3, "here\n"), "{words:?}: {}", ran.stderr);
    }
    let refused = from(command(&["run", "program", "--energy"]).current_dir(folder.path()).output().unwrap());
    assert!(refused.status == 2 && refused.stderr.contains("--energy"), "{}", refused.stderr);
}

//! `warpwright exec` with C programs that the system's compiler builds.

use crate::common::{Ran, command, from};
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::Command;

/// A runtime of another maker, which says so.
const FOREIGN: &str = "int cudaRuntimeGetVersion(int *version) { *version = -1; return 0; }";
/// Prints the version of its runtime.
const PROGRAM: &str = r#"
#include <stdio.h>
int cudaRuntimeGetVersion(int *);
int main(void) {
    int version = 0;
    cudaRuntimeGetVersion(&version);
    printf("%d\n", version / 1000);
    return 0;
}"#;
/// Opens each runtime whose name or path it is given, and prints its version.
const OPENS_RUNTIMES: &str = r#"
#include <dlfcn.h>
#include <stdio.h>
int main(int count, char **names) {
    for (int at = 1; at < count; at++) {
        int version = 0;
        void *runtime = dlopen(names[at], RTLD_NOW);
        if (!runtime) { puts(dlerror()); return 1; }
        ((int (*)(int *))dlsym(runtime, "cudaRuntimeGetVersion"))(&version);
        printf("%d\n", version / 1000);
    }
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

/// Runs `program` with its arguments under `warpwright exec`.
fn exec(program: &[&str]) -> Ran {
    let mut exec = command(&["exec", "--"]);
    from(exec.args(program).env_remove("LD_AUDIT").env_remove("LD_LIBRARY_PATH").output().unwrap())
}

/// Output of `program` under `warpwright exec`.
fn under_exec(program: &[&str]) -> String {
    let ran = exec(program);
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
        for tags in ["-Wl,--disable-new-dtags", "-Wl,--enable-new-dtags"] {
            assert!(compile(folder, &["-o", "program", "program.c", soname, &path, tags]));
            let program = folder.join("program");
            let alone = Command::new(&program).env_remove("LD_AUDIT").output().unwrap();
            assert_eq!(String::from_utf8_lossy(&alone.stdout), "0\n");
            let program = program.to_str().unwrap();
            assert_eq!(under_exec(&[program]), format!("{version}\n"), "{soname} {tags}");
            assert_eq!(under_exec(&["sh", "-c", program]), format!("{version}\n"), "{soname} {tags}");
        }
    }
    // By paths, by a name without a version, and by a name as Python wheels have it.
    let file = |name: &str| folder.join(name).to_str().unwrap().to_owned();
    std::fs::copy(file("libcudart.so.12"), file("libcudart-0123abcd.so.12")).unwrap();
    std::fs::copy(file("libcudart.so.13"), file("libcudart.so")).unwrap();
    std::fs::copy(file("libcudart.so.11.0"), file("libcudart.so.11.8.89")).unwrap();
    std::fs::copy(file("libcudart.so.12"), file("libother.so")).unwrap();
    std::fs::write(folder.join("opens.c"), OPENS_RUNTIMES).unwrap();
    assert!(compile(folder, &["-o", "opens", "opens.c", "-ldl", &format!("-Wl,-rpath,{}", folder.display())]));
    let names = ["libcudart.so.12", "libcudart-0123abcd.so.12", "libcudart.so.11.8.89", "libcudart.so"].map(file);
    let [opens, other] = ["opens", "libother.so"].map(file);
    for (name, expected) in names.iter().zip(["12\n", "12\n", "11\n", "13\n"]) {
        assert_eq!(under_exec(&[&opens, name]), expected, "{name}");
    }
    assert_eq!(under_exec(&[&opens, "libcudart.so", "libcudart.so.11.0"]), "13\n11\n");
    assert_eq!(under_exec(&[&opens, &other]), "0\n", "only the name says that a library is NVIDIA's");
}

/// A program or library with a runtime of another maker linked in, which its compiler's start-up code and its
/// constructors call.
const WITH_RUNTIME: &str = r#"
#include <stdio.h>
#include <stdlib.h>
#define FOREIGN SCOPE __attribute__((noinline, used, aligned(16)))
FOREIGN int cudaRuntimeGetVersion(int *version) { *version = -1000; return 0; }
FOREIGN void **__cudaRegisterFatBinary(void *data) { puts("foreign"); exit(1); }
FOREIGN int cudaLaunchKernel(void *kernel) { puts("foreign"); exit(1); }
#ifdef UNTIL_12
FOREIGN int cudaGetDeviceProperties_v2(void *to) { puts("foreign"); exit(1); }
#endif
__attribute__((used)) static const char marks[] = "cudaErrorMissingConfiguration\0" MARKS;
#ifndef NO_KERNELS
__attribute__((used, section(".nv_fatbin"))) static const char kernels[16] = "kernels";
#endif
static int early;
__attribute__((constructor)) static void first(void) { cudaRuntimeGetVersion(&early); }
int SHOW(void) {
    int version = 0;
    cudaRuntimeGetVersion(&version);
    printf("%d %d\n", early / 1000, version / 1000);
    return 0;
}"#;
/// Is linked to such a library.
const LINKED: &str = "int show(void); int main(void) { return show(); }";
/// Loads such libraries, each in several ways.
const LOADS: &str = r#"
#include <dlfcn.h>
#include <stdio.h>
int main(int count, char **paths) {
    int how[] = { RTLD_LAZY, RTLD_NOW, RTLD_NOW | RTLD_GLOBAL };
    for (int at = 1; at < count; at++) for (int each = 0; each < 3; each++) {
        void *library = dlopen(paths[at], how[each]);
        if (!library) { puts(dlerror()); continue; }
        ((int (*)(void))dlsym(library, "show"))();
        dlclose(library);
        if (each == 2) continue;
        if (dlopen(paths[at], RTLD_NOW | RTLD_NOLOAD)) puts("stays");
    }
    return 0;
}"#;

const MARKS_12: &str = r#"-DMARKS="cudaErrorCdpVersionMismatch\0""#;
const MARKS_13: &str = r#"-DMARKS="cudaErrorCdpVersionMismatch\0cudaErrorStreamDetached\0""#;
/// Versions of runtimes, and how they are built.
const VERSIONS: [(i32, &[&str]); 4] =
    [(11, &["-DMARKS="]), (12, &[MARKS_12, "-DUNTIL_12"]), (13, &[MARKS_12]), (13, &[MARKS_13])];

/// Functions too short for a jump.
const SHORT: &str = ".globl cudaMalloc, cudaFree
.type cudaMalloc, @function
.type cudaFree, @function
.text
cudaMalloc: .cfi_startproc
ret
.cfi_endproc
cudaFree: .cfi_startproc
ret
.cfi_endproc
";

/// Moves a function in the symbol table of a file by one byte.
fn move_symbol(path: &Path, name: &str) {
    use object::{Object as _, ObjectSection as _, ObjectSymbol as _};
    let mut file = std::fs::read(path).unwrap();
    let elf = object::File::parse(&*file).unwrap();
    let symbol = elf.symbols().find(|symbol| symbol.name() == Ok(name)).unwrap();
    let (table, _) = elf.section_by_name(".symtab").unwrap().file_range().unwrap();
    // A symbol has 24 bytes, of which the last 16 are address and size.
    let at = table as usize + symbol.index().0 * 24 + 8;
    let moved = (symbol.address() + 1).to_le_bytes();
    file[at..at + 8].copy_from_slice(&moved);
    std::fs::write(path, file).unwrap();
}

#[test]
#[cfg(target_arch = "x86_64")]
fn a_runtime_that_is_linked_in_is_replaced() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    std::fs::write(folder.join("program.c"), WITH_RUNTIME).unwrap();
    std::fs::write(folder.join("short.s"), SHORT).unwrap();
    let file = folder.join("program");
    let program = file.to_str().unwrap();
    for (version, options) in VERSIONS {
        for how in [["-DSCOPE=", "-no-pie"], ["-DSCOPE=static", "-pie"]] {
            let words = [&["-o", "program", "program.c", "-fPIE", "-DSHOW=main"], options, &how].concat();
            if !compile(folder, &words) {
                return;
            }
            let alone = Command::new(program).env_remove("LD_AUDIT").output().unwrap();
            assert_eq!(String::from_utf8_lossy(&alone.stdout), "-1 -1\n");
            let expected = format!("{version} {version}\n");
            assert_eq!(under_exec(&[program]), expected, "{words:?}");
            assert_eq!(under_exec(&["sh", "-c", program]), expected, "{words:?}");
        }
    }
    // Nothing says where its functions are.
    assert!(compile(folder, &["-s", "-o", "program", "program.c", MARKS_13, "-DSCOPE=", "-DSHOW=main"]));
    let ran = exec(&[program]);
    assert!(
        ran.status == 2 && ran.stderr.contains("is stripped") && ran.stderr.contains("-cudart shared"),
        "{}",
        ran.stderr
    );
    // Said, and nothing is changed: too short for a jump; a table that is wrong within the code.
    assert!(compile(folder, &["-o", "program", "program.c", "short.s", MARKS_13, "-DSCOPE=", "-DSHOW=main"]));
    let ran = exec(&[program]);
    assert_eq!(ran.stdout, "-1 -1\n");
    assert!(ran.stderr.contains("has room for 1 of the 14 bytes"), "{}", ran.stderr);
    assert!(compile(folder, &["-o", "program", "program.c", MARKS_13, "-DSCOPE=", "-DSHOW=main"]));
    assert_eq!(under_exec(&[program]), "13 13\n");
    move_symbol(&file, "cudaLaunchKernel");
    let ran = exec(&[program]);
    assert_eq!(ran.stdout, "-1 -1\n");
    assert!(ran.stderr.contains("no function begins at `cudaLaunchKernel`"), "{}", ran.stderr);
}

#[test]
#[cfg(target_arch = "x86_64")]
fn a_runtime_in_a_library_is_replaced() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let write = |name: &str, text: &str| std::fs::write(folder.join(name), text).unwrap();
    write("library.c", WITH_RUNTIME);
    write("linked.c", LINKED);
    write("loads.c", LOADS);
    write("short.s", SHORT);
    let path = |name: &str| folder.join(name).to_str().unwrap().to_owned();
    let [library, linked, loads] = ["libone.so", "linked", "loads"].map(path);
    let build = |options: &[&str]| {
        let words = ["-shared", "-fPIC", "-DSHOW=show", "-Wl,-soname,libone.so", "-o", "libone.so", "library.c"];
        compile(folder, &[&words, options].concat())
    };
    if !build(&[MARKS_13, "-DSCOPE="]) {
        return;
    }
    assert!(compile(folder, &["-o", "loads", "loads.c", "-ldl"]));
    let rpath = format!("-Wl,-rpath,{}", folder.display());
    assert!(compile(folder, &["-o", "linked", "linked.c", "libone.so", &rpath]));
    let alone = Command::new(&loads).arg(&library).env_remove("LD_AUDIT").output().unwrap();
    assert_eq!(String::from_utf8_lossy(&alone.stdout), "-1 -1\n-1 -1\n-1 -1\n");
    // With kernels and without, as in CuPy's wheel.
    for (version, options) in VERSIONS {
        for how in [["-DSCOPE=", "-Wl,-z,now"], ["-DSCOPE=static", "-DNO_KERNELS"]] {
            assert!(build(&[options, &how].concat()));
            let expected = format!("{version} {version}\n");
            assert_eq!(under_exec(&[&linked]), expected, "{options:?} {how:?}");
            assert_eq!(under_exec(&["sh", "-c", &linked]), expected, "{options:?} {how:?}");
            assert_eq!(under_exec(&[&loads, &library]), expected.repeat(3), "{options:?} {how:?}");
        }
    }
    // Several in one process; one that cannot be loaded, because a library that it needs is not there.
    let two = path("libtwo.so");
    std::fs::copy(&library, &two).unwrap();
    assert!(build(&["-DMARKS=", "-DSCOPE="]));
    assert_eq!(under_exec(&[&loads, &library, &two]), "11 11\n".repeat(3) + &"13 13\n".repeat(3));
    assert!(compile(folder, &["-shared", "-o", "libgone.so", "-Wl,-soname,libgone.so", "-x", "c", "/dev/null"]));
    let three = path("libthree.so");
    let words = ["-shared", "-fPIC", "-DSHOW=show", "-DMARKS=", "-DSCOPE=", "-Wl,--no-as-needed", "-o", "libthree.so"];
    assert!(compile(folder, &[&words[..], &["library.c", "libgone.so"]].concat()));
    std::fs::remove_file(path("libgone.so")).unwrap();
    let shown = under_exec(&[&loads, &three, &library]);
    assert!(shown.matches("libgone.so: cannot open").count() == 3 && shown.ends_with(&"11 11\n".repeat(3)), "{shown}");
    // Nothing is changed: stripped, too short for a jump, a table that is wrong within the code.
    let unchanged = |why: &str| {
        for program in [&[&*linked][..], &[&loads, &library]] {
            let ran = exec(program);
            assert!(ran.status == 0 && ran.stdout.starts_with("-1 -1\n"), "{}", ran.stdout);
            assert!(ran.stderr.contains(why), "{why}: {}", ran.stderr);
        }
    };
    assert!(build(&["-s", MARKS_13, "-DSCOPE="]));
    unchanged("");
    assert!(build(&["short.s", MARKS_13, "-DSCOPE="]));
    unchanged("in `libone.so` cannot be replaced: `cudaFree` has room for 1 of the 14 bytes");
    assert!(build(&[MARKS_13, "-DSCOPE="]));
    move_symbol(Path::new(&library), "__cudaRegisterFatBinary");
    unchanged("no function begins at `__cudaRegisterFatBinary`");
}

/// The loader holds its lock while constructors run, and the driver's threads end while they wait.
#[test]
fn a_constructor_of_a_library_may_launch_kernels() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let library = LAUNCHES.replace("int main(void)", "__attribute__((constructor)) int first(void)");
    std::fs::write(folder.join("library.c"), library).unwrap();
    std::fs::write(folder.join("loads.c"), "#include <dlfcn.h>\n#include <stdio.h>\nint main(int count, char **paths) { return !dlopen(paths[1], RTLD_NOW); }").unwrap();
    if compile(folder, &["-w", "-shared", "-fPIC", "-o", "library.so", "library.c", "-ldl"]) {
        assert!(compile(folder, &["-o", "loads", "loads.c", "-ldl"]));
        let [loads, library] = ["loads", "library.so"].map(|name| folder.join(name).to_str().unwrap().to_owned());
        assert_eq!(under_exec(&[&loads, &library]), "1\n");
    }
}

#[test]
fn auditing_libraries_of_the_user_stay() {
    let print = ["exec", "--print-environment"];
    let list = |before: &str| {
        let text = from(command(&print).env("LD_AUDIT", before).output().unwrap()).stdout;
        let line = text.lines().find_map(|line| line.strip_prefix("export LD_AUDIT='")).map(str::to_owned);
        line.expect("it is among the variables").trim_end_matches('\'').to_owned()
    };
    let ours = list("");
    assert!(ours.starts_with('/') && ours.ends_with("/warpwright-audit.so"), "{ours}");
    assert_eq!(list("libown.so"), format!("libown.so:{ours}"));
}

/// A library that a program opens by a path, in the place of NVIDIA's cuBLAS.
const FOREIGN_BLAS: &str = "int cublasCreate_v2(void **handle) { *handle = 0; return 3; }";
/// Multiplies two matrices of two rows by the cuBLAS at a path, and prints the product or the status.
const MULTIPLIES: &str = r#"
#include <dlfcn.h>
#include <stdio.h>
#define GET(library, name) ((int (*)())dlsym(library, #name))
int main(int count, char **names) {
    void *blas = dlopen(names[1], RTLD_NOW), *runtime = dlopen("libcudart.so.12", RTLD_NOW), *handle, *memory;
    float a[8] = {1, 2, 3, 4, 5, 6, 7, 8}, c[4], one = 1, zero = 0;
    int status = GET(blas, cublasCreate_v2)(&handle);
    if (status) { printf("status %d\n", status); return 0; }
    GET(runtime, cudaMalloc)(&memory, 64);
    GET(runtime, cudaMemcpy)(memory, a, 32, 1);
    float *device = memory;
    int (*sgemm)(void *, int, int, int, int, int, float *, float *, int, float *, int, float *, float *, int)
        = (void *)dlsym(blas, "cublasSgemm_v2");
    sgemm(handle, 0, 0, 2, 2, 2, &one, device, 2, device + 4, 2, &zero, device + 8, 2);
    GET(runtime, cudaMemcpy)(c, device + 8, 16, 2);
    printf("%g %g %g %g\n", c[0], c[1], c[2], c[3]);
    return 0;
}"#;

#[test]
fn our_cublas_is_taken_unless_it_is_not_wanted() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("program.c"), MULTIPLIES).unwrap();
    std::fs::write(folder.path().join("blas.c"), FOREIGN_BLAS).unwrap();
    if !compile(folder.path(), &["-std=gnu89", "program.c", "-o", "program", "-ldl"])
        || !compile(
            folder.path(),
            &["-shared", "-fPIC", "blas.c", "-Wl,-soname,libcublas.so.12", "-o", "libcublas.so.12"],
        )
    {
        return;
    }
    let path = |name| folder.path().join(name).to_str().unwrap().to_owned();
    let run = |which: &str| {
        let library = path("libcublas.so.12");
        from(command(&["exec", "--own-libraries", which, "--", &path("program"), &library]).output().unwrap())
    };
    let ours = run("blas");
    assert_eq!(ours.stdout, "23 34 31 46\n", "{}", ours.stderr);
    assert!(ours.stderr.contains("In place of libraries (launches)\n  cublas (1): "), "{}", ours.stderr);
    assert_eq!(run("rand,blas").stdout, ours.stdout);
    for other in ["none", "rand"] {
        let theirs = run(other);
        assert_eq!(theirs.stdout, "status 3\n", "{}", theirs.stderr);
    }
    // The processes of shares have the same libraries.
    let points = path("points");
    let shared = ["exec", "--split", "1", "--points", &points, "--own-libraries", "none", "--", &path("program")];
    let shared = from(command(&[&shared[..], &[&path("libcublas.so.12")]].concat()).output().unwrap());
    assert_eq!(shared.stdout, "status 3\n", "{}", shared.stderr);
    assert!(run("none,blas").stderr.contains("`none` excludes other values"));
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
    let refused = from(command(&["run", "program", "--scaling"]).current_dir(folder.path()).output().unwrap());
    assert!(
        refused.status == 2 && refused.stderr.contains("--scaling: `warpwright exec` does not have it"),
        "{}",
        refused.stderr
    );
}

/// The variables that `exec` with `args` sets in `folder`.
fn variables(folder: &Path, args: &[&str]) -> Vec<String> {
    let mut print = command(&[&["exec"], args, &["--print-environment"]].concat());
    let ran = from(print.current_dir(folder).output().unwrap());
    assert_eq!(ran.status, 0, "{args:?}: {}", ran.stderr);
    ran.stdout.lines().map(str::to_owned).collect()
}

#[test]
fn what_is_checked_is_what_the_program_gets() {
    let place = tempfile::tempdir().unwrap();
    let folder = place.path().canonicalize().unwrap().join("a,b;c");
    std::fs::create_dir(&folder).unwrap();
    let write = |name: &str, text: &str| std::fs::write(folder.join(name), text).unwrap();
    write("v100", "no description");
    write("mine.toml", "extends = \"v100\"\n");
    std::fs::copy(crate::common::root().join("energies/v100.toml"), folder.join("energy.toml")).unwrap();
    let set = ["--set", "name=x;y", "--set", "energy.model=energy.toml"];
    let got = variables(&folder, &[&["--gpu", "v100,mine.toml", "--json", "r.json"], &set[..]].concat());
    let at = folder.display();
    for expected in [
        format!(r#"export WARPWRIGHT_GPU='["v100","{at}/mine.toml"]'"#),
        format!(r#"export WARPWRIGHT_SET='["name=x;y","energy.model={at}/energy.toml"]'"#),
        format!("export WARPWRIGHT_JSON='{at}/r.json'"),
        "unset WARPWRIGHT_OUT".to_owned(),
        "unset WARPWRIGHT_THREADS".to_owned(),
    ] {
        assert!(got.contains(&expected), "{expected}: {got:#?}");
    }
    // An option that is not given has its default, whatever the environment says.
    let mut exec =
        command(&["exec", "--", "sh", "-c", "echo ${WARPWRIGHT_SET-unset} ${WARPWRIGHT_CORE-unset} $WARPWRIGHT_CODE"]);
    for (name, value) in [("SET", "sm_count=1"), ("CORE", "ghost"), ("CODE", "ptx")] {
        exec.env(format!("WARPWRIGHT_{name}"), value);
    }
    let ran = from(exec.output().unwrap());
    assert_eq!(ran.stdout, "unset unset auto\n", "{}", ran.stderr);
}

#[test]
fn outputs_are_tried_before_the_program_runs() {
    let place = tempfile::tempdir().unwrap();
    let folder = place.path();
    std::fs::create_dir(folder.join("closed")).unwrap();
    let set = |path: &Path, mode| std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
    set(&folder.join("closed"), 0o555);
    set(folder, 0o555);
    let is_root = std::fs::metadata("/proc/self").is_ok_and(|meta| std::os::unix::fs::MetadataExt::uid(&meta) == 0);
    for args in [["--out", "closed"], ["--out", "closed/new"], ["--out", "new"], ["--json", "closed/r.json"]] {
        let mut exec = command(&[&["exec"], &args[..], &["--", "echo", "ran"]].concat());
        if is_root {
            exec.uid(65_534).gid(65_534);
        }
        let ran = from(exec.current_dir(folder).output().unwrap());
        assert!(ran.status == 2 && ran.stdout.is_empty(), "{args:?}: {}", ran.stderr);
        assert!(ran.stderr.contains("ermission denied"), "{args:?}: {}", ran.stderr);
    }
    set(folder, 0o755);
}

#[test]
fn code_of_a_gpu_is_not_started() {
    let place = tempfile::tempdir().unwrap();
    let file = place.path().join("x.cubin");
    let program = std::fs::read(std::env::current_exe().unwrap()).unwrap();
    let mut cubin = program[..4096].to_vec();
    cubin[18..20].copy_from_slice(&190_u16.to_le_bytes());
    for mode in [0o644, 0o755] {
        for name in ["x.cubin", "x"] {
            let file = file.with_file_name(name);
            std::fs::write(&file, &cubin).unwrap();
            std::fs::set_permissions(&file, std::fs::Permissions::from_mode(mode)).unwrap();
            let path = file.to_str().unwrap();
            let ran = crate::common::run(&["run", path]);
            let expected = "machine code has no grids and arguments; write a launch file";
            assert!(ran.status == 2 && ran.stderr.contains(expected), "{name}: {}", ran.stderr);
            let ran = crate::common::run(&["exec", "--", path]);
            assert!(ran.status == 2 && ran.stderr.contains("machine code of a GPU"), "{name}: {}", ran.stderr);
        }
    }
    for (path, what) in [("/dev/zero", "a device"), ("/", "a folder")] {
        let ran = crate::common::run(&["exec", "--", path]);
        assert!(ran.status == 2 && ran.stderr.contains(what), "{path}: {}", ran.stderr);
    }
}

/// A driver program that launches a kernel.
pub const LAUNCHES: &str = r#"
#include <dlfcn.h>
#include <stdio.h>
static const char *kernel = ".version 7.0\n.target sm_70\n.address_size 64\n"
    ".visible .entry one(.param .u64 to)\n{\n.reg .b32 %r<2>;\n.reg .b64 %d<2>;\n"
    "ld.param.u64 %d1, [to];\nmov.u32 %r1, 1;\nst.global.u32 [%d1], %r1;\nret;\n}\n";
int main(void) {
    void *driver = dlopen("libcuda.so.1", RTLD_NOW);
    if (!driver) { puts(dlerror()); return 2; }
    #define CALL(name, ...) do { int (*call)() = (int (*)())dlsym(driver, #name); int code = call(__VA_ARGS__); \
        if (code) { printf("%s: %d\n", #name, code); return 1; } } while (0)
    void *context, *module, *function; unsigned long to; int value = 0;
    CALL(cuInit, 0);
    CALL(cuCtxCreate_v2, &context, 0, 0);
    CALL(cuModuleLoadData, &module, kernel);
    CALL(cuModuleGetFunction, &function, module, "one");
    CALL(cuMemAlloc_v2, &to, 4ul);
    void *args[] = { &to };
    CALL(cuLaunchKernel, function, 1, 1, 1, 1, 1, 1, 0, (void *)0, args, (void *)0);
    CALL(cuMemcpyDtoH_v2, &value, to, 4ul);
    printf("%d\n", value);
    return 0;
}"#;

/// Builds a C program in `folder`. False where there is no compiler.
pub fn build(folder: &Path, source: &str) -> bool {
    std::fs::write(folder.join("program.c"), source).unwrap();
    compile(folder, &["-w", "-o", "program", "program.c", "-ldl"])
}

/// Every form in which results are given has what it says, of a program as of a run.
#[test]
fn programs_have_every_output() {
    let folder = tempfile::tempdir().unwrap();
    if !build(folder.path(), LAUNCHES) {
        return;
    }
    let of = |words: &[&str]| {
        let exec = [&["exec"], words, &["--", "./program"]].concat();
        let ran = from(command(&exec).current_dir(folder.path()).output().unwrap());
        assert_eq!(ran.status, 0, "{words:?}: {}", ran.stderr);
        ran.stderr
    };
    let read = |name: &str| std::fs::read_to_string(folder.path().join(name)).unwrap();
    let text = of(&[
        "--gpu",
        "v100",
        "--profile",
        "--stats",
        "all",
        "--energy",
        "--json=r.json",
        "--csv=r.csv",
        "--html",
        "r.html",
        "--timeline",
        "r.kanata",
        "--sample",
        "100",
        "s.csv",
        "--power",
        "p.csv",
        "--power-plot",
        "p.svg",
    ]);
    assert!(text.contains("l1d.hit_rate") && text.contains("Energy"), "{text}");
    let report: serde_json::Value = serde_json::from_str(&read("r.json")).unwrap();
    let instructions = &report["devices"][0]["profile"]["kernels"][0]["instructions"];
    assert!(instructions.as_array().is_some_and(|all| !all.is_empty()), "{report}");
    assert!(text.contains(instructions[0]["text"].as_str().unwrap()), "{text}");
    let cycles = report["devices"][0]["total"]["cycles"].as_u64().unwrap();
    assert!(
        read("r.csv").lines().any(|line| line.ends_with(&format!(",cycles,core cycles,{cycles}"))),
        "{}",
        read("r.csv")
    );
    assert!(read("r.html").starts_with("<!DOCTYPE html>") && read("r.kanata").starts_with("Kanata\t0004"));
    assert!(
        read("s.csv").lines().count() > 2 && read("p.csv").lines().count() > 2 && read("p.svg").starts_with("<svg")
    );
    let unnamed = from(command(&["exec", "--json", "--", "./program"]).current_dir(folder.path()).output().unwrap());
    assert!(unnamed.status == 2 && unnamed.stderr.contains("--json: name a file"), "{}", unnamed.stderr);
    let modelled = of(&["--gpu", "h100", "--energy", "--energy-model", "v100"]);
    assert!(modelled.contains("Energy"), "{modelled}");
    let fewer = of(&["--gpu", "v100", "--warps-per-sm", "x0.5", "--json=f.json", "-q"]);
    let report: serde_json::Value = serde_json::from_str(&read("f.json")).unwrap();
    assert_eq!(
        (report["devices"][0]["settings"].clone(), fewer),
        (serde_json::json!(["sm.max_warps=32"]), String::new())
    );
}

/// The command and the variables that it prints ask for the same.
#[test]
fn an_environment_is_the_command() {
    let folder = tempfile::tempdir().unwrap();
    if !build(folder.path(), LAUNCHES) {
        return;
    }
    let options =
        ["-q", "--gpu", "v100", "--core", "ghost:issue_buffer=4,guarded=false", "--set", "sm.issue.schedulers=2"];
    let options = [&options[..], &["--check-memory", "--audit", "--profile", "--sample", "500", "s.csv"]].concat();
    let run = |mut command: Command, file: &str| {
        let ran = from(command.current_dir(folder.path()).output().unwrap());
        assert_eq!(ran.status, 0, "{}", ran.stderr);
        let text = std::fs::read_to_string(folder.path().join(file)).unwrap();
        let mut report: serde_json::Value = serde_json::from_str(&text).unwrap();
        report["devices"][0].as_object_mut().unwrap().remove("host");
        serde_json::to_string(&report).unwrap()
    };
    let by_command = run(command(&[&["exec", "--json=a.json"], &options[..], &["--", "./program"]].concat()), "a.json");
    let printed = command(&[&["exec", "--print-environment", "--json=b.json"], &options[..]].concat());
    let printed = from({
        let mut printed = printed;
        printed.current_dir(folder.path()).output().unwrap()
    })
    .stdout;
    let mut shell = Command::new("sh");
    shell.arg("-c").arg(format!("{printed}\nexec ./program"));
    assert_eq!(by_command, run(shell, "b.json"));
}

//! `--out-of-bounds` and `--check-memory`: what they change and what the report says.

use crate::common;

use common::{run, succeed};
use serde_json::Value;
use std::fs;
use tempfile::TempDir;

/// Reads a word after the end of its buffer, and lets two warps access shared memory without a barrier.
const KERNEL: &str = ".version 7.0
.target sm_70
.address_size 64
.const .align 4 .b8 table[16];
.visible .entry careless(.param .u64 x)
{
    .reg .b32 %r<5>;
    .reg .b64 %rd1;
    .shared .align 4 .b8 s[4];
    ld.param.u64 %rd1, [x];
    ld.global.u32 %r1, [%rd1+256];
    ld.const.u32 %r2, [table+4];
    add.u32 %r1, %r1, %r2;
    mov.u32 %r3, %tid.x;
    st.shared.u32 [s], %r3;
    st.global.u32 [%rd1], %r1;
    ret;
}
";

const LAUNCH: &str = r#"module = "careless.ptx"
[buffers.x]
type = "u32"
length = 64
fill = 1
[[launch]]
kernel = "careless"
grid = 1
block = 64
args = ["x"]
"#;

fn folder() -> (TempDir, String) {
    let folder = TempDir::new().unwrap();
    fs::write(folder.path().join("careless.ptx"), KERNEL).unwrap();
    let launch = folder.path().join("launch.toml");
    fs::write(&launch, LAUNCH).unwrap();
    let launch = launch.to_str().unwrap().to_owned();
    (folder, launch)
}

fn report(args: &[&str]) -> Value {
    serde_json::from_str(&succeed(&[args, &["--json"]].concat())).unwrap()
}

fn remarks(report: &Value) -> Vec<&str> {
    report["remarks"].as_array().unwrap().iter().map(|remark| remark.as_str().unwrap()).collect()
}

#[test]
fn accesses_near_allocations_are_an_error_a_remark_or_nothing() {
    let (_folder, launch) = folder();
    for policy in [&[][..], &["--out-of-bounds", "error"]] {
        let ran = run(&[&["run", &launch], policy].concat());
        assert_eq!(ran.status, 1);
        assert!(ran.stderr.contains("out-of-bounds load from global address 0x7f00000100"), "{}", ran.stderr);
    }
    for core in ["inorder", "ghost", "functional"] {
        let warned = report(&["run", &launch, "--core", core, "--out-of-bounds", "warn"]);
        // The functional core has remarks of its own.
        let [.., constant, outside] = remarks(&warned)[..] else { panic!("{warned}") };
        assert_eq!(constant, "kernel `careless` reads the constant `table`, which was never set: it is zero");
        assert!(outside.starts_with("out-of-bounds load of 4 bytes at global address 0x7f00000100"), "{outside}");
        assert!(
            outside.contains("careless.ptx:11") && outside.ends_with("64 accesses of this instruction"),
            "{outside}"
        );
        assert_eq!(warned["memory_checks"], Value::Null);
    }
    let allowed = report(&["run", &launch, "--core", "inorder", "--out-of-bounds", "allow"]);
    let [constant] = remarks(&allowed)[..] else { panic!("{allowed}") };
    assert!(constant.contains("`table`"), "{constant}");
    succeed(&["compare", &launch, "--cores", "inorder,ghost", "--out-of-bounds", "allow"]);
    assert_eq!(run(&["run", &launch, "--out-of-bounds", "maybe"]).status, 2);
}

#[test]
fn findings_are_in_the_report() {
    let (_folder, launch) = folder();
    for core in ["inorder", "loog", "functional"] {
        let args = ["run", &launch, "--core", core, "--out-of-bounds", "warn", "--check-memory"];
        let checked = report(&args);
        let checks = &checked["memory_checks"];
        assert_eq!(checks["instructions"], checked["total"]["warp_instructions"]);
        assert_eq!(checks["accesses"].to_string(), r#"{"out_of_bounds":64,"shared_race":1}"#);
        let [outside, race] = &checks["findings"].as_array().unwrap()[..] else { panic!("{checks}") };
        assert_eq!((&outside["kind"], &outside["count"]), (&"out_of_bounds".into(), &64.into()));
        assert_eq!((&race["kind"], &race["kernel"]), (&"shared_race".into(), &"careless".into()));
        assert!(race["what"].as_str().unwrap().contains("no barrier between them"), "{race}");
        assert_eq!(race["text"], "st.shared.u32 [s], %r3;");
        assert_eq!(race["earlier_pc"], race["pc"]);
        let text = succeed(&args);
        assert!(text.contains("Memory checks") && text.contains("1 shared_race"), "{text}");
    }
    let clean = report(&["run", "vectoradd", "--check-memory"]);
    assert_eq!(clean["memory_checks"]["findings"], Value::Array(Vec::new()));
    assert!(succeed(&["run", "vectoradd", "--check-memory"]).contains("nothing found"));
    let other = report(&["run", "vectoradd", "--core", "sgmf", "--check-memory"]);
    assert_eq!(other["memory_checks"], Value::Null);
    assert!(remarks(&other).iter().any(|remark| remark.contains("core `sgmf` has executed no instruction of a warp")));
}

/// Each thread takes the word of one of the other warp, without a barrier; the result is checked.
const RACE: &str = ".version 7.0
.target sm_70
.address_size 64
.visible .entry careless(.param .u64 x)
{
    .reg .b32 %r<7>;
    .reg .b64 %rd<3>;
    .shared .align 4 .b8 s[256];
    ld.param.u64 %rd1, [x];
    mov.u32 %r1, %tid.x;
    shl.b32 %r2, %r1, 2;
    mov.u32 %r3, s;
    add.u32 %r4, %r3, %r2;
    xor.b32 %r5, %r2, 128;
    add.u32 %r5, %r3, %r5;
    st.shared.u32 [%r4], %r1;
    BARRIER
    ld.shared.u32 %r6, [%r5];
    mul.wide.u32 %rd2, %r1, 4;
    add.u64 %rd1, %rd1, %rd2;
    st.global.u32 [%rd1], %r6;
    ret;
}
";

#[test]
fn a_race_is_a_remark_of_runs_without_time() {
    let (folder, launch) = folder();
    let output = "[[output]]\nbuffer = \"x\"\ncompare = { formula = \"(i + 32) % 64\" }\n";
    fs::write(&launch, LAUNCH.to_owned() + output).unwrap();
    let with = |barrier: &str, options: &[&str]| {
        fs::write(folder.path().join("careless.ptx"), RACE.replace("BARRIER", barrier)).unwrap();
        let ran = run(&[&["run", &launch, "--json"], options].concat());
        let report: Value = serde_json::from_str(&ran.stdout).unwrap_or_else(|e| panic!("{e}: {}", ran.stderr));
        let remarks = report["remarks"].as_array().unwrap().iter().map(|remark| remark.as_str().unwrap().to_owned());
        (report["check"]["passed"].as_bool().unwrap(), remarks.collect::<Vec<_>>())
    };
    let is_race = |remark: &&String| remark.starts_with("`careless` has a race that decides its result: store of 4");
    let is_hint = |remark: &&String| remark.starts_with("the result is wrong, and launches were executed without time");
    let count = |remarks: &[String]| (remarks.iter().filter(is_race).count(), remarks.iter().filter(is_hint).count());

    // The first warp loads before the second has stored.
    let (passed, remarks) = with("", &["--time", "none"]);
    assert!(!passed && count(&remarks) == (1, 1), "{remarks:?}");
    let race = remarks.iter().find(is_race).unwrap();
    for part in [
        "shared address",
        "careless.ptx:18",
        "careless.ptx:16",
        "no barrier",
        "Put a barrier",
        "option time: kernels=careless",
    ] {
        assert!(race.contains(part), "{part}: {race}");
    }
    assert_eq!(count(&with("", &["--time", "representative"]).1).0, 1);
    // Launches that are timed or checked have no such remark.
    assert_eq!(count(&with("", &["--time", "kernels=careless"]).1).0, 0);
    assert_eq!(count(&with("", &["--time", "none", "--check-memory"]).1).0, 0);
    let (passed, remarks) = with("bar.sync 0;", &["--time", "none"]);
    assert!(passed && count(&remarks) == (0, 0), "{remarks:?}");
}

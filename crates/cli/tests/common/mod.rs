//! Runs the built binary.

use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
#[cfg(unix)]
use std::time::{Duration, Instant};

/// The binary, in a surrounding that does not change what it prints.
pub fn command(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_warpwright"));
    command.args(args).env_remove("COLUMNS").env_remove("CLICOLOR_FORCE").env("NO_COLOR", "1");
    // Runs that are kept are not the user's.
    command.env("XDG_CACHE_HOME", concat!(env!("CARGO_TARGET_TMPDIR"), "/cache"));
    command
}

/// Waits until `child` has had `time` of a processor, which on a busy machine takes longer than that.
#[cfg(unix)]
pub fn let_work(child: &std::process::Child, time: Duration) {
    let begin = Instant::now();
    // Ticks of 10 ms in user and system mode, after the name in parentheses (proc(5)).
    let worked = || -> Option<Duration> {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", child.id())).ok()?;
        let fields: Vec<&str> = stat.rsplit(')').next()?.split_whitespace().collect();
        let ticks = |i: usize| fields.get(i)?.parse::<u64>().ok();
        Some(Duration::from_millis(10 * (ticks(11)? + ticks(12)?)))
    };
    while worked().unwrap_or_else(|| begin.elapsed()) < time && begin.elapsed() < 20 * time {
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Outcome of a command.
pub struct Ran {
    pub status: i32,
    pub stdout: String,
    pub stderr: String,
}

/// Runs to the end.
pub fn run(args: &[&str]) -> Ran {
    from(command(args).output().expect("the binary runs"))
}

pub fn from(output: Output) -> Ran {
    Ran {
        status: output.status.code().unwrap_or(-1),
        stdout: String::from_utf8(output.stdout).expect("standard output is text"),
        stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
    }
}

/// Runs to the end, which must be a success.
#[allow(dead_code, reason = "not every test needs it")]
pub fn succeed(args: &[&str]) -> String {
    let ran = run(args);
    assert_eq!(ran.status, 0, "{args:?}\n{}\n{}", ran.stdout, ran.stderr);
    ran.stdout
}

/// The repository's root.
#[allow(dead_code, reason = "not every test needs it")]
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

pub fn json(text: &str) -> Value {
    serde_json::from_str(text).expect("the output is JSON")
}

pub fn strings<'a>(list: &'a Value, key: &str) -> Vec<&'a str> {
    list.as_array().expect("a list").iter().map(|v| v[key].as_str().expect("text")).collect()
}

/// A run that takes no time.
pub const QUICK: [&str; 4] = ["run", "vectoradd", "--param", "n=1000"];

pub fn quick(more: &[&str]) -> String {
    succeed(&[&QUICK[..], more].concat())
}

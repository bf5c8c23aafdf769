//! Runs the built binary.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// The binary, in a surrounding that does not change what it prints.
pub fn command(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_warpwright"));
    command.args(args).env_remove("COLUMNS").env_remove("CLICOLOR_FORCE").env("NO_COLOR", "1");
    command
}

/// What came of a command.
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

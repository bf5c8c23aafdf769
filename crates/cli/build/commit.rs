//! Finds out which commit is built: from the files of the repository, so that no git is needed. `WARPWRIGHT_COMMIT`
//! says it where there is no repository, as in a package's sources. Build scripts of several crates have this file.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};

/// Digits of a commit's name that are shown.
const DIGITS: usize = 12;

/// Sets `WARPWRIGHT_COMMIT` for the crate that is built.
pub fn set() {
    println!("cargo::rerun-if-env-changed=WARPWRIGHT_COMMIT");
    let package = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").unwrap_or_default());
    let said = env::var("WARPWRIGHT_COMMIT").ok().filter(|commit| !commit.trim().is_empty());
    let commit = said.or_else(|| commit_of(&git_folder(&package)?)).unwrap_or_default();
    let short: String = commit.trim().chars().filter(char::is_ascii_alphanumeric).take(DIGITS).collect();
    println!("cargo::rustc-env=WARPWRIGHT_COMMIT={short}");
}

/// The folder of the repository that has the package two folders below its root; a worktree's own.
fn git_folder(package: &Path) -> Option<PathBuf> {
    let git = package.parent()?.parent()?.join(".git");
    if git.is_dir() {
        return Some(git);
    }
    let text = fs::read_to_string(&git).ok()?;
    let folder = PathBuf::from(text.strip_prefix("gitdir:")?.trim());
    Some(if folder.is_absolute() { folder } else { git.parent()?.join(folder) })
}

/// The checked-out commit. The script runs again when it moves.
fn commit_of(git: &Path) -> Option<String> {
    // The log gets a line whenever HEAD moves; without one HEAD itself and its branch say most of it.
    watch(&git.join("logs/HEAD"));
    watch(&git.join("HEAD"));
    let head = fs::read_to_string(git.join("HEAD")).ok()?;
    let Some(branch) = head.trim().strip_prefix("ref:").map(str::trim) else { return Some(head) };
    // A worktree shares its branches with the repository that it belongs to.
    let common = fs::read_to_string(git.join("commondir")).map_or_else(|_| git.to_owned(), |to| git.join(to.trim()));
    for folder in [git, &common] {
        watch(&folder.join(branch));
        if let Ok(commit) = fs::read_to_string(folder.join(branch)) {
            return Some(commit);
        }
    }
    let packed = fs::read_to_string(common.join("packed-refs")).ok()?;
    packed.lines().find_map(|line| line.strip_suffix(branch)?.strip_suffix(' ').map(str::to_owned))
}

/// A file that is not there would make the script run each time.
fn watch(path: &Path) {
    if path.exists() {
        println!("cargo::rerun-if-changed={}", path.display());
    }
}

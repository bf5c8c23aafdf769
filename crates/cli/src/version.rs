//! Version and commit of the program.

use request::outputs::Program;

/// This build.
pub const PROGRAM: Program<'static> = Program { commit: COMMIT };

/// Version and commit: `0.1.0 (0123456789ab)`.
pub const TEXT: &str = {
    const WITH_COMMIT: &str = concat!(env!("CARGO_PKG_VERSION"), " (", env!("WARPWRIGHT_COMMIT"), ")");
    if COMMIT.is_some() { WITH_COMMIT } else { env!("CARGO_PKG_VERSION") }
};

/// The commit that was built; `None` if that was not known.
pub const COMMIT: Option<&str> = {
    let commit = env!("WARPWRIGHT_COMMIT");
    if commit.is_empty() { None } else { Some(commit) }
};

//! Finds out which commit is built, and says where the libraries are that a release build of the command has within it
//! (`embed`). Packs the pages of the documentation.

#[path = "build/commit.rs"]
mod commit;
#[path = "build/pages.rs"]
mod pages;

use std::path::PathBuf;
use std::{env, io};

fn main() -> io::Result<()> {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed=build/commit.rs");
    println!("cargo::rerun-if-changed=build/pages.rs");
    commit::set();
    pages::pack()?;
    let target = ["OS", "ENV"].map(|part| env::var(format!("CARGO_CFG_TARGET_{part}")).unwrap_or_default());
    if target == ["linux", "gnu"] {
        // At an address of its own choice the loader would write 20,000 pointers, of which a run needs few: that is a
        // tenth of the time of a short run, and 0.4 MiB.
        println!("cargo::rustc-link-arg-bins=-no-pie");
    }
    // Libraries of other profiles are several times as large, and are beside the command.
    if env::var("PROFILE").is_ok_and(|profile| profile == "release")
        && let Some(folder) = libraries()
    {
        println!("cargo::rustc-env=WARPWRIGHT_EMBED_FROM={}", folder.display());
    }
    Ok(())
}

/// The folder in which cargo builds libraries that the command depends on: `OUT_DIR` is in `build`, beside it.
fn libraries() -> Option<PathBuf> {
    let out = PathBuf::from(env::var_os("OUT_DIR")?);
    Some(out.ancestors().find(|folder| folder.ends_with("build"))?.parent()?.join("deps"))
}

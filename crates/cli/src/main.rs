//! The `warpwright` command: parses arguments, calls [`lab`], renders the results.
//!
//! One file per subcommand in [`commands`], their output in [`render`].

mod commands;
mod failure;
mod inspection;
mod interrupt;
#[cfg(all(target_os = "linux", target_env = "gnu"))]
mod large_pages;
mod libraries;
mod live;
mod on_fabric;
mod options;
mod output;
mod preparation;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
#[path = "../../cabi/processor.rs"]
mod processor;
mod program;
mod progress;
mod render;
mod schema;
mod tables;
mod version;

fn main() -> std::process::ExitCode {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    large_pages::ask();
    commands::main()
}

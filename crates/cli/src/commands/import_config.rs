//! `warpwright import-config`: a GPU description from Accel-Sim's configuration.

use crate::failure::{Exit, Failure, Outcome};
use crate::render::import;
use crate::{interrupt, output};
use config::import::import_accelsim;
use std::path::{Path, PathBuf};

/// Make a GPU description from Accel-Sim's gpgpusim.config and trace.config
///
/// Reports for each option whether it was understood, ignored or cannot be honoured, and why. Without --out, the description goes to standard output and the account of the options to standard error.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  warpwright import-config SM7_QV100/gpgpusim.config SM7_QV100/trace.config -o qv100.toml
  warpwright run matmul --gpu qv100.toml")]
pub struct Args {
    /// GPGPU-Sim's configuration
    #[arg(value_name = "gpgpusim.config")]
    gpgpusim: PathBuf,
    /// Accel-Sim's trace configuration, which holds latencies
    #[arg(value_name = "trace.config")]
    trace: Option<PathBuf>,
    /// File to write the description to
    #[arg(short, long, visible_alias = "output", value_name = "FILE.toml")]
    out: Option<PathBuf>,
    /// Name of the GPU in the description [default: the file's name]
    #[arg(long)]
    name: Option<String>,
}

/// Imports the configuration and reports on its options.
pub fn run(args: &Args) -> Outcome {
    if args.name.as_ref().is_some_and(|name| name.trim().is_empty()) {
        return Err(Failure::bad_input("--name: the name of a GPU cannot be empty"));
    }
    interrupt::install()?;
    let inputs: Vec<PathBuf> = [Some(&args.gpgpusim), args.trace.as_ref()].into_iter().flatten().cloned().collect();
    output::check(args.out.as_deref(), &inputs)?;
    let gpgpusim = read(&args.gpgpusim)?;
    let trace = args.trace.as_deref().map_or(Ok(String::new()), read)?;
    let mut import = import_accelsim(&gpgpusim, &trace)
        .map_err(|e| Failure::bad_input(format!("`{}` cannot be imported:\n{e}", args.gpgpusim.display())))?;
    let stem = args.out.as_deref().and_then(Path::file_stem).map(|s| s.to_string_lossy().into_owned());
    if let Some(name) = args.name.clone().or(stem) {
        import.config.name = name;
    }
    let account = import::render(&import);
    match &args.out {
        Some(path) => {
            output::save(path, import.to_toml().as_bytes())?;
            output::print(&account)?;
        }
        None => {
            output::print(&import.to_toml())?;
            output::remark(&account);
        }
    }
    Ok(Exit::Success)
}

fn read(path: &Path) -> Result<String, Failure> {
    let shown = path.display();
    let bytes = kit::files::read(path, kit::files::MOST_TEXT_BYTES).map_err(|e| {
        Failure::bad_input(format!("`{shown}` cannot be read: {e}; expected a configuration of Accel-Sim"))
    })?;
    kit::files::text(bytes)
        .map_err(|e| Failure::bad_input(format!("`{shown}` is {e}; expected a configuration of Accel-Sim")))
}

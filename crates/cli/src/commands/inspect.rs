//! `warpwright inspect`: what is in a PTX file.

use crate::failure::{Exit, Failure, Outcome};
use crate::inspection::{self, Inspection};
use crate::output;
use crate::render::inspection::render;
use std::path::Path;
use workloads::suggest;

/// Show what is in a PTX file: kernels, registers, instruction mix, what cannot be executed
///
/// Instead of a file, the name of a bundled workload shows its kernels.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  warpwright inspect kernel.ptx
  warpwright inspect kernel.ptx --kernel saxpy --json
  warpwright inspect matmul")]
pub struct Args {
    /// PTX file, or bundled workload
    #[arg(value_name = "FILE.ptx|WORKLOAD")]
    file: String,
    /// Only this kernel; of a mangled C++ name, the plain one will do
    #[arg(long, value_name = "NAME")]
    kernel: Option<String>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Inspects.
pub fn run(args: &Args) -> Outcome {
    let (name, content) = content(&args.file)?;
    let mut inspection = inspection::inspect(&name, &content);
    // A file in which nothing was understood has nothing to show but its errors.
    if inspection.has_errors && inspection.kernels.is_empty() {
        return Err(Failure::bad_input(inspection.diagnostics_text));
    }
    if let Some(kernel) = &args.kernel {
        keep(&mut inspection, kernel)?;
    }
    if args.json {
        output::print_json(&inspection)?;
    } else {
        output::print(&render(&inspection))?;
    }
    Ok(if inspection.has_errors { Exit::BadInput } else { Exit::Success })
}

fn content(file: &str) -> Result<(String, Vec<u8>), Failure> {
    if !Path::new(file).exists()
        && let Ok(workload) = workloads::suite::find(file)
    {
        return Ok((format!("{}.ptx", workload.module.name), workload.module.ptx.as_bytes().to_vec()));
    }
    let bytes = std::fs::read(file).map_err(|e| {
        Failure::bad_input(format!(
            "`{file}` cannot be read: {e}; give the path of a PTX file or the name of a bundled workload"
        ))
    })?;
    Ok((file.to_owned(), bytes))
}

fn keep(inspection: &mut Inspection, kernel: &str) -> Result<(), Failure> {
    let known: Vec<String> = inspection.kernels.iter().map(|k| k.name.clone()).collect();
    inspection.kernels.retain(|k| k.name == kernel || k.source_name.as_deref() == Some(kernel));
    if inspection.kernels.is_empty() {
        let file = &inspection.file;
        return Err(Failure::bad_input(format!("`{file}` has no kernel `{kernel}`{}", suggest::among(kernel, &known))));
    }
    Ok(())
}

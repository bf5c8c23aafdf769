//! Contents of a file, as tables for other programs: the rows that `inspect --csv` writes.

use crate::inspection::code::{CodeInspection, CodeKernel};
use crate::inspection::fabric::FabricInspection;
use crate::inspection::{Inspection, KernelFacts};
use serde::Serialize;

/// A kernel of a file.
#[derive(Debug, Serialize)]
pub struct KernelRow<'a> {
    file: &'a str,
    kernel: &'a str,
    source_name: Option<&'a str>,
    /// Architecture of machine code; `ptx` else.
    code: &'a str,
    instructions: usize,
    registers_per_thread: Option<u32>,
    shared_bytes: u64,
    local_bytes: Option<u64>,
    stack_bytes: Option<u32>,
    barriers: Option<u8>,
    parameters: usize,
    executable: bool,
}

/// The kernels of a file of PTX.
pub fn of_ptx(inspection: &Inspection) -> Vec<KernelRow<'_>> {
    let row = |kernel| {
        let kernel: &KernelFacts = kernel;
        let runs = kernel.executable.as_ref();
        KernelRow {
            file: &inspection.file,
            kernel: &kernel.name,
            source_name: kernel.source_name.as_deref(),
            code: "ptx",
            instructions: runs.map_or(kernel.instructions, |runs| runs.instructions),
            registers_per_thread: runs.map(|runs| runs.registers_per_thread),
            shared_bytes: runs.map_or(kernel.declared_shared_bytes, |runs| runs.shared_bytes.into()),
            local_bytes: Some(runs.map_or(kernel.declared_local_bytes, |runs| runs.local_bytes.into())),
            stack_bytes: None,
            barriers: None,
            parameters: kernel.parameters.len(),
            executable: runs.is_some(),
        }
    };
    inspection.kernels.iter().map(row).collect()
}

/// The kernels of a file of machine code.
pub fn of_code(inspection: &CodeInspection) -> Vec<KernelRow<'_>> {
    let row = |kernel| {
        let kernel: &CodeKernel = kernel;
        KernelRow {
            file: &inspection.file,
            kernel: &kernel.name,
            source_name: kernel.source_name.as_deref(),
            code: &inspection.architecture,
            instructions: kernel.instructions,
            registers_per_thread: Some(kernel.registers_per_thread),
            shared_bytes: kernel.shared_bytes,
            local_bytes: Some(kernel.frame_bytes.into()),
            stack_bytes: Some(kernel.stack_bytes),
            barriers: Some(kernel.barriers),
            parameters: kernel.parameters.len(),
            executable: kernel.executable,
        }
    };
    inspection.kernels.iter().map(row).collect()
}

/// A graph of a kernel on a fabric, or why the kernel has none.
#[derive(Debug, Serialize)]
pub struct GraphRow<'a> {
    file: &'a str,
    core: &'a str,
    kernel: &'a str,
    /// From 1, in the order in which they are configured.
    graph: Option<usize>,
    line: Option<u32>,
    copies: Option<u32>,
    nodes: Option<usize>,
    delays: Option<usize>,
    critical_path: Option<u32>,
    wire_length: Option<u32>,
    links: Option<usize>,
    reason: Option<&'a str>,
}

/// The graphs of kernels on a fabric.
pub fn of_fabric(inspection: &FabricInspection) -> Vec<GraphRow<'_>> {
    let bare = |kernel| GraphRow {
        file: &inspection.file,
        core: &inspection.core,
        kernel,
        graph: None,
        line: None,
        copies: None,
        nodes: None,
        delays: None,
        critical_path: None,
        wire_length: None,
        links: None,
        reason: None,
    };
    let mut rows = Vec::new();
    for kernel in &inspection.kernels {
        let bare = || bare(&kernel.name);
        rows.extend(kernel.reasons.iter().map(|reason| GraphRow {
            line: reason.line,
            reason: Some(&reason.message),
            ..bare()
        }));
        for (number, part) in kernel.mapped.iter().flat_map(|mapped| &mapped.parts).enumerate() {
            rows.push(GraphRow {
                graph: Some(number + 1),
                line: Some(part.line),
                copies: Some(part.copies),
                nodes: Some(part.nodes),
                delays: Some(part.delays),
                critical_path: Some(part.critical_path),
                wire_length: Some(part.wire_length),
                links: Some(part.links),
                ..bare()
            });
        }
    }
    rows
}

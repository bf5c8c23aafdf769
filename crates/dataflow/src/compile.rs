//! From a kernel to its graphs: the first ones, then the passes.

use crate::build::program;
use crate::draft::Program;
use crate::graph::{Dataflow, NodeId, Region};
use crate::passes;
use crate::refusal::Refusal;
use crate::resources::{Misfit, narrow_ports};
use exec::kernel::Kernel;

/// The graphs of `kernel`, which must be of PTX.
///
/// # Errors
/// All reasons why it cannot be mapped.
pub fn dataflow(kernel: &Kernel) -> Result<Dataflow, Vec<Refusal>> {
    compiled(kernel, &mut |_, _| ())
}

/// The same; `watch` sees the graphs when they are first made (`ssa`) and after each pass, by name.
///
/// # Errors
/// All reasons why it cannot be mapped.
pub fn watched(kernel: &Kernel, watch: &mut dyn FnMut(&'static str, &Dataflow)) -> Result<Dataflow, Vec<Refusal>> {
    compiled(kernel, &mut |pass, program| watch(pass, &graphs(kernel, program)))
}

fn compiled(kernel: &Kernel, watch: &mut dyn FnMut(&'static str, &Program)) -> Result<Dataflow, Vec<Refusal>> {
    let mut program = program(kernel)?;
    watch("ssa", &program);
    passes::apply(&mut program, watch);
    let graphs = graphs(kernel, &program);
    let narrow: Vec<Refusal> = graphs.regions.iter().flat_map(|region| wide(kernel, region)).collect();
    if narrow.is_empty() { Ok(graphs) } else { Err(narrow) }
}

/// Instructions with more operands than a unit has ports.
fn wide(kernel: &Kernel, region: &Region) -> Vec<Refusal> {
    let refusal = |misfit: Misfit| {
        let Misfit::Ports { node: NodeId(node), kind, tokens } = misfit else { return None };
        let pc = region.nodes[node as usize].pc.unwrap_or(region.entry);
        let (unit, ports) = (kind.name(), kind.ports());
        Some(Refusal::new(
            kernel,
            pc.0,
            format!("it takes {tokens} values of each thread, a {unit} unit has {ports} ports"),
        ))
    };
    narrow_ports(region).filter_map(refusal).collect()
}

fn graphs(kernel: &Kernel, program: &Program) -> Dataflow {
    Dataflow {
        name: kernel.name().to_owned(),
        regions: program.drafts.iter().map(|draft| draft.region.clone()).collect(),
        uniforms: program.uniforms.list.clone(),
        live: program.live.clone(),
        static_shared: kernel.static_shared,
        local_bytes: kernel.local_bytes,
    }
}

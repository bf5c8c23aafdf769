//! The kernels of a PTX file on a dataflow fabric.

use super::facts::Mix;
use super::{Remark, remarks};
use config::GpuConfig;
use dataflow::fabric::UnitKind;
use dataflow::graph::{Access, AccessKind, NodeOp, Region, Target};
use dataflow::map::{Compiled, RegionReport};
use dataflow::mapping::Mapping;
use dataflow::partition::Cut;
use dataflow::resources::Counts;
use dataflow::{Refusal, svg, text};
use exec::Kernel;
use isa::Pc;
use lab::{FabricCompiler, Unmapped};
use lower::LowerOptions;
use std::sync::Arc;

/// The kernels of a module on the fabric of a core.
#[derive(Clone, Debug, serde::Serialize)]
pub struct FabricInspection {
    /// As the user named it.
    pub file: String,
    pub core: String,
    /// Columns of the grid of units.
    pub columns: u32,
    /// Rows of the grid of units.
    pub rows: u32,
    /// Units of the fabric by kind.
    pub units: Mix,
    /// Links of the fabric.
    pub links: usize,
    pub kernels: Vec<FabricKernel>,
    #[serde(skip)]
    compiler: FabricCompiler,
}

/// A kernel on the fabric, or why it is not on it.
#[derive(Clone, Debug, serde::Serialize)]
pub struct FabricKernel {
    /// Name in the file.
    pub name: String,
    /// Name in the source, where the other is mangled.
    pub source_name: Option<String>,
    /// Absent if it cannot be mapped.
    pub mapped: Option<MappedFacts>,
    /// All reasons why it cannot be mapped.
    pub reasons: Vec<Reason>,
    #[serde(skip)]
    kernel: Option<Arc<Kernel>>,
    #[serde(skip)]
    compiled: Option<Compiled>,
}

/// A reason why a kernel cannot be mapped.
#[derive(Clone, Debug, serde::Serialize)]
pub struct Reason {
    /// Line in the file, if it is one instruction.
    pub line: Option<u32>,
    pub instruction: Option<String>,
    pub message: String,
}

/// Use of a fabric by a kernel.
#[derive(Clone, Debug, serde::Serialize)]
pub struct MappedFacts {
    /// Its graphs, in the order in which they are configured. Loops, barriers and cuts end a graph.
    pub parts: Vec<PartFacts>,
    /// Regions without loops and barriers that are too large for the fabric.
    pub cuts: Vec<CutFacts>,
    /// Values that all threads share, in configuration registers.
    pub uniform_values: usize,
    /// Values that are kept in memory between graphs.
    pub live_values: usize,
    /// Their bytes a thread.
    pub live_bytes: u32,
}

/// A graph of a kernel.
#[derive(Clone, Debug, serde::Serialize)]
pub struct PartFacts {
    /// The region of the kernel that it is, or is a part of.
    pub region: u32,
    /// Line of its first instruction.
    pub line: u32,
    /// It begins after a barrier.
    pub after_barrier: bool,
    /// Where its threads continue.
    pub next: String,
    /// Copies of the graph side by side, of which threads take turns.
    pub copies: u32,
    /// Nodes of all copies.
    pub nodes: usize,
    /// Units by kind of all copies, units of delays among them.
    pub units: Mix,
    /// Nodes that delay a token, of all copies.
    pub delays: usize,
    /// Ports of a copy whose tokens arrive at different times all the same.
    pub unbalanced_ports: usize,
    /// Firings on the longest path.
    pub critical_path: u32,
    /// Sum of the shortest routes between units that exchange tokens, in links.
    pub wire_length: u32,
    /// Links that its routes take.
    pub links: usize,
    /// Placements that could not be routed.
    pub failed_placements: usize,
    pub configuration_bits: u64,
    /// Live values that a thread loads.
    pub live_loads: usize,
    /// Live values that a thread stores.
    pub live_stores: usize,
    /// Bytes of both.
    pub live_bytes: u32,
}

/// A region that was cut.
#[derive(Clone, Debug, serde::Serialize)]
pub struct CutFacts {
    pub region: u32,
    /// Line of its first instruction.
    pub line: u32,
    pub parts: usize,
    /// Reasons that concern the whole region.
    pub reasons: Vec<String>,
    /// Live values that a thread stores because of the cuts.
    pub stores: usize,
    /// Live values that a thread loads because of the cuts.
    pub loads: usize,
    /// Bytes of both.
    pub bytes: u32,
}

impl FabricInspection {
    /// The kernels of a PTX file, not mapped yet, and the fabric of `core` on `gpu`.
    ///
    /// # Errors
    /// The file is not PTX, or the core has no fabric.
    pub fn new(file: &str, content: &[u8], core: &str, gpu: &GpuConfig) -> Result<Self, String> {
        let compiler = FabricCompiler::new(core, gpu)?;
        let fabric = compiler.fabric();
        let parsed = ptx::parse(file, content);
        if parsed.has_errors() {
            return Err(parsed.render(ptx::Severity::Error));
        }
        let loaded =
            lower::load(file, parsed.source.text(), LowerOptions::default()).map_err(|error| error.to_string())?;
        let executable = loaded
            .module
            .kernels
            .iter()
            .map(|kernel| FabricKernel { kernel: Some(kernel.clone()), ..FabricKernel::named(kernel.name()) });
        let rejected = loaded.rejected.iter().map(|rejected| FabricKernel {
            reasons: remarks(&rejected.error.diagnostics, &parsed.source).into_iter().map(Reason::from).collect(),
            ..FabricKernel::named(&rejected.name)
        });
        Ok(Self {
            file: file.to_owned(),
            core: core.to_owned(),
            columns: fabric.spec().columns,
            rows: fabric.spec().rows,
            units: by_kind(&fabric.counts()),
            links: fabric.links().len(),
            kernels: executable.chain(rejected).collect(),
            compiler,
        })
    }

    /// Maps the kernels.
    pub fn map(&mut self) {
        for kernel in &mut self.kernels {
            kernel.map(&self.compiler);
        }
    }

    /// The graphs of a kernel and their places on the fabric, as a page of drawings.
    pub fn drawing(&self, kernel: &FabricKernel) -> Option<String> {
        let (code, compiled) = (kernel.kernel.as_ref()?, kernel.compiled.as_ref()?);
        Some(svg::kernel(&compiled.mapped, self.compiler.fabric(), &|pc| {
            format!("line {}: {}", code.program.source(pc).line, code.program.text(pc))
        }))
    }

    /// The graphs of a kernel with their places as text, a node a line.
    pub fn graphs(&self, kernel: &FabricKernel) -> Option<String> {
        let (code, compiled) = (kernel.kernel.as_ref()?, kernel.compiled.as_ref()?);
        let line = |pc: Pc| format!("line {}", code.program.source(pc).line);
        Some(text::mapped(&compiled.mapped, self.compiler.fabric(), &line))
    }
}

impl FabricKernel {
    fn named(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            source_name: exec::plain_name(name).map(str::to_owned),
            mapped: None,
            reasons: Vec::new(),
            kernel: None,
            compiled: None,
        }
    }

    fn map(&mut self, compiler: &FabricCompiler) {
        let Some(kernel) = &self.kernel else { return };
        match compiler.compile(kernel) {
            Ok(compiled) => {
                self.mapped = Some(MappedFacts::new(kernel, &compiled));
                self.compiled = Some(compiled);
            }
            Err(Unmapped::Refused(refusals)) => self.reasons = refusals.into_iter().map(Reason::from).collect(),
            Err(Unmapped::NoRoom(failure)) => {
                self.reasons = vec![Reason { line: None, instruction: None, message: failure.to_string() }];
            }
        }
    }
}

impl From<Remark> for Reason {
    fn from(remark: Remark) -> Self {
        Self { line: Some(remark.line), instruction: None, message: remark.message }
    }
}

impl From<Refusal> for Reason {
    fn from(refusal: Refusal) -> Self {
        Self { line: Some(refusal.line), instruction: Some(refusal.text), message: refusal.what }
    }
}

impl MappedFacts {
    fn new(kernel: &Kernel, compiled: &Compiled) -> Self {
        let graphs = &compiled.mapped.dataflow;
        let line = |region: &Region| kernel.program.source(region.entry).line;
        let parts = compiled.mapped.mappings.iter().zip(&compiled.regions);
        let cut = |cut: &Cut| {
            let whole = cut.parts.first().map_or(0, |part| line(&graphs.regions[part.region.0 as usize]));
            CutFacts {
                region: cut.region.0,
                line: whole,
                parts: cut.parts.len(),
                reasons: cut.reason.iter().map(ToString::to_string).collect(),
                stores: cut.parts.iter().map(|part| part.stores.len()).sum(),
                loads: cut.parts.iter().map(|part| part.loads.len()).sum(),
                bytes: cut.bytes(graphs),
            }
        };
        Self {
            parts: parts.map(|(mapping, report)| PartFacts::new(mapping, report, line(&mapping.region))).collect(),
            cuts: compiled.cuts.iter().map(cut).collect(),
            uniform_values: graphs.uniforms.len(),
            live_values: graphs.live.len(),
            live_bytes: graphs.live.iter().map(|bytes| u32::from(*bytes)).sum(),
        }
    }
}

impl PartFacts {
    fn new(mapping: &Mapping, report: &RegionReport, line: u32) -> Self {
        let region = &mapping.region;
        // A thread passes one of the copies.
        let copy = &region.nodes[..region.nodes.len() / mapping.copies as usize];
        let live = copy.iter().filter_map(|node| match &node.op {
            NodeOp::Access(access) if matches!(access.target, Target::Live(_)) => Some(access),
            _ => None,
        });
        let (loads, stores): (Vec<&Access>, Vec<_>) = live.partition(|access| access.kind == AccessKind::Load);
        Self {
            region: report.origin.0,
            line,
            after_barrier: region.after_barrier,
            next: text::next(region),
            copies: mapping.copies,
            nodes: region.nodes.len(),
            units: by_kind(&report.used),
            delays: report.delays,
            unbalanced_ports: report.left.len(),
            critical_path: report.critical_path,
            wire_length: report.wire_length,
            links: report.links,
            failed_placements: report.failures,
            configuration_bits: mapping.configuration_bits,
            live_loads: loads.len(),
            live_stores: stores.len(),
            live_bytes: loads.iter().chain(&stores).map(|access| u32::from(access.bytes)).sum(),
        }
    }
}

/// Units by the name of their kind.
fn by_kind(counts: &Counts) -> Mix {
    Mix(UnitKind::ALL.iter().map(|kind| (kind.name().to_owned(), counts[*kind as usize] as u64)).collect())
}

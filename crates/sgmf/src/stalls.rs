//! Which tokens wait where, and for what: the text of a deadlock.

use crate::configuration::{Action, Configuration, Port, Unit};
use crate::core::Sgmf;
use crate::kernel::SgmfKernel;
use crate::observer::Observer;
use crate::sequencer::Phase;
use crate::statistics::Reason;
use dataflow::graph::{AccessKind, Target};
use kit::text::counted;

/// Maximum number of threads that a line names.
const NAMED_THREADS: usize = 16;

impl<O: Observer, S> Sgmf<O, S> {
    /// A line for each unit and each link that holds a token.
    pub(crate) fn stalls(&self, kernels: &[SgmfKernel]) -> Vec<String> {
        let core = self.number();
        let lines = match &self.sequencer().phase {
            Phase::Idle => Vec::new(),
            Phase::Configure { .. } => vec!["the fabric is being configured".into()],
            Phase::WriteBack => vec!["dirty lines of L1 wait for the memory system".into()],
            Phase::Stuck => self.barriers(kernels),
            Phase::Run => self.units().into_iter().chain(self.links()).chain(self.sources()).collect(),
        };
        lines.into_iter().map(|line| format!("core {core}: {line}")).collect()
    }

    fn barriers(&self, kernels: &[SgmfKernel]) -> Vec<String> {
        let Some(batch) = &self.sequencer().batch else { return Vec::new() };
        let kernel = &kernels[batch.kernel.index()];
        let line = |(region, cta, threads): (usize, isa::Dim3, u32)| {
            let entry = kernel.configurations[region].entry.0;
            let threads = counted(threads.into(), "thread");
            format!("CTA {cta}: {threads} at the barrier before instruction {entry} for the others of the CTA")
        };
        batch.waiting().into_iter().map(line).collect()
    }

    fn units(&self) -> Vec<String> {
        let fabric = self.fabric();
        let configuration = &*fabric.configuration;
        let mut lines = Vec::new();
        for (unit, state) in configuration.units.iter().zip(&fabric.units) {
            let mut holds = Vec::new();
            for port in unit.ports.clone() {
                let threads = fabric.buffers.threads(port);
                if !threads.is_empty() {
                    let Port { input, .. } = configuration.ports[port as usize];
                    holds.push(format!("port {input} holds {}", self.threads(&threads)));
                }
            }
            let done = state.done.iter().chain(state.pipeline.iter().map(|(_, token)| token));
            let unsent: Vec<u32> = done.map(|token| token.tag).collect();
            if !unsent.is_empty() {
                holds.push(format!("unsent results of {}", self.threads(&unsent)));
            }
            let in_flight = state.reserved as usize - state.done.len();
            if in_flight > 0 {
                holds.push(format!("{} in flight", counted(in_flight as u64, "operation")));
            }
            if !holds.is_empty() {
                let (what, why) = (name(unit), why(state.reason));
                lines.push(format!("node {} ({what}): {}; {why}", unit.node, holds.join(", ")));
            }
        }
        lines
    }

    fn links(&self) -> Vec<String> {
        let fabric = self.fabric();
        let line = |(s, segment): (usize, &crate::configuration::Segment)| {
            let tags: Vec<u32> = fabric.links.held(s).map(|token| token.tag).collect();
            let names: Vec<String> = segment.links.iter().map(|link| link.0.to_string()).collect();
            let (links, hold) = if names.len() == 1 { ("link", "holds") } else { ("links", "hold") };
            (!tags.is_empty()).then(|| format!("{links} {} {hold} {}", names.join(", "), self.threads(&tags)))
        };
        fabric.configuration.segments.iter().enumerate().filter_map(line).collect()
    }

    fn sources(&self) -> Vec<String> {
        let fabric = self.fabric();
        let Configuration { sources, .. } = &*fabric.configuration;
        let line = |(source, state): (&crate::configuration::Source, &crate::state::SourceState)| {
            let waits = state.next < fabric.pass.count;
            waits.then(|| {
                let thread = self.threads(&[state.next]);
                format!("the injector waits with node {} ({:?}) of {thread}", source.node, source.value)
            })
        };
        sources.iter().zip(&fabric.sources).filter_map(line).collect()
    }

    fn threads(&self, tags: &[u32]) -> String {
        let mut tids: Vec<u32> = tags.iter().map(|&tag| self.fabric().pass.tid(tag)).collect();
        tids.sort_unstable();
        let named: Vec<String> = tids.iter().take(NAMED_THREADS).map(|tid| tid.to_string()).collect();
        let more = if tids.len() > NAMED_THREADS { ", …" } else { "" };
        format!("TID {}{more}", named.join(", "))
    }
}

fn name(unit: &Unit) -> String {
    let at = unit.pc.map_or_else(String::new, |pc| format!(" of instruction {}", pc.0));
    let what = match &unit.action {
        Action::Apply(function) => function.class().name(),
        Action::Select => "select",
        Action::Label(_) => "label",
        Action::First => "join or delay",
        Action::Next(_) => "next region",
        Action::Access(access) => match (access.target, access.kind) {
            (Target::Live(_), AccessKind::Load) => "load of a live value",
            (Target::Live(_), _) => "store of a live value",
            (_, AccessKind::Load) => "load",
            (_, AccessKind::Store) => "store",
            (_, AccessKind::Atomic(_)) => "atomic",
        },
    };
    format!("{what}{at}")
}

const fn why(reason: Reason) -> &'static str {
    match reason {
        Reason::Fired | Reason::NoToken | Reason::NoThread | Reason::Unused => "waits for tokens",
        Reason::Operand => "waits for the other operands of these threads",
        Reason::OutputBlocked => "its result finds no room downstream",
        Reason::Epoch => "waits for the threads of older epochs",
        Reason::ReservationFull => "its reservation buffer is full",
        Reason::BlocksBusy => "all its dividers or roots are busy",
        Reason::Interval => "is busy with a double-precision operation",
        Reason::BankConflict => "waits for a bank of L1",
        Reason::L1Refused => "L1 has no room for its miss",
        Reason::Configuration => "is being configured",
        Reason::WriteBack => "waits for the write-back of L1",
    }
}

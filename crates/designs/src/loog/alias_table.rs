//! The register alias tables of all warps, and who waits for whose result.

use isa::{Access, RegFile, RegId, WarpSlot};
use sm::MOST_WARPS;
use sm::Stall;
use sm::Window;
use sm::widened;
use sm::{InFlight, InstId};

/// The register is in the register file.
const IN_FILE: u16 = u16::MAX;

/// For each register of each warp the instruction in flight that will produce it; for each such
/// instruction those that await it.
#[derive(Debug, Default)]
pub struct AliasTable {
    /// `stride` places for each warp.
    producers: Vec<u16>,
    stride: usize,
    /// By [`InstId`]: its sources that have yet to be broadcast, one bit each.
    awaited: Vec<u64>,
    /// By [`InstId`]: who awaits its result, and as which source.
    consumers: Vec<Vec<(InstId, u8)>>,
    /// Instructions in stations for which a result has come.
    woken: Vec<InstId>,
    /// Sources taken from results.
    pub captured: u64,
    /// Results broadcast.
    pub broadcasts: u64,
}

impl AliasTable {
    /// A warp with registers `regs` starts: all are in the register file.
    pub fn start_warp(&mut self, warp: WarpSlot, regs: &RegFile) {
        if regs.count() > self.stride {
            self.widen(regs.count().next_multiple_of(64));
        }
        debug_assert!(self.row(warp).iter().all(|&p| p == IN_FILE), "results under way from a former warp");
    }

    /// A kernel with more registers than any before it has come.
    fn widen(&mut self, stride: usize) {
        self.producers = widened(&self.producers, self.stride, MOST_WARPS, stride, IN_FILE);
        self.stride = stride;
    }

    fn row(&self, warp: WarpSlot) -> &[u16] {
        &self.producers[warp.index() * self.stride..][..self.stride]
    }

    /// Who will produce `reg`, if it is not in the register file.
    #[inline]
    fn producer(&self, warp: WarpSlot, reg: RegId) -> Option<InstId> {
        let producer = self.producers[warp.index() * self.stride + reg.index()];
        (producer != IN_FILE).then_some(InstId(producer))
    }

    /// Why `id` cannot read all its sources now.
    pub fn pending(&self, window: Window<'_>, id: InstId) -> Option<Stall> {
        let warp = window.inst(id).warp;
        let producers = window.srcs(id).iter().filter_map(|&reg| self.producer(warp, reg));
        let loads = |p: InstId| window.inst(p).mem.is_some_and(|m| m.access != Access::Store);
        producers.map(|p| if loads(p) { Stall::RawMemory } else { Stall::Raw }).max()
    }

    /// `id` issues: its sources become those that it awaits, unless it has `read` them already, and its
    /// results have its name from now on.
    #[inline]
    pub fn rename(&mut self, window: Window<'_>, id: InstId, read: bool) {
        let (warp, i) = (window.inst(id).warp, id.index());
        if self.awaited.len() <= i {
            self.awaited.resize(i + 1, 0);
            self.consumers.resize(i + 1, Vec::new());
        }
        let mut awaited = 0;
        if !read {
            for (source, &reg) in window.srcs(id).iter().enumerate() {
                if let Some(producer) = self.producer(warp, reg) {
                    awaited |= 1 << source;
                    self.consumers[producer.index()].push((id, source as u8));
                }
            }
        }
        self.awaited[i] = awaited;
        let first = warp.index() * self.stride;
        window.dsts(id).iter().for_each(|reg| self.producers[first + reg.index()] = id.0);
    }

    /// Sources of `id` that have yet to be broadcast.
    #[inline]
    pub fn awaited(&self, id: InstId) -> u64 {
        self.awaited[id.index()]
    }

    /// The results of `id` are broadcast: stations capture them; the table forgets it, unless a register
    /// has another name by now.
    #[inline]
    pub fn broadcast(&mut self, window: Window<'_>, id: InstId) {
        let first = window.inst(id).warp.index() * self.stride;
        let dsts = window.dsts(id);
        for reg in dsts {
            let producer = &mut self.producers[first + reg.index()];
            *producer = if *producer == id.0 { IN_FILE } else { *producer };
        }
        self.broadcasts += u64::from(!dsts.is_empty());
        let Self { consumers, awaited, woken, captured, .. } = self;
        for (consumer, source) in consumers[id.index()].drain(..) {
            awaited[consumer.index()] &= !(1 << source);
            // One that has no station yet will find the result in the register file.
            if window.inst(consumer).station != InFlight::NO_STATION {
                woken.push(consumer);
                *captured += 1;
            }
        }
    }

    /// An instruction in a station for which one source has come.
    #[inline]
    pub fn take_woken(&mut self) -> Option<InstId> {
        self.woken.pop()
    }
}

kit::persist! {
    struct AliasTable { captured, broadcasts; skip producers, stride, awaited, consumers, woken }
}

//! SOCGPU: out-of-order issue from an instruction buffer that holds instructions until write-back,
//! with a matrix of bits for their dependences and without renaming or scoreboards.
//!
//! Paper: R. Huerta, J.-M. Arnau, A. González, "Simple Out of Order Core for GPGPUs" (GPGPU 2023),
//! section 3.
//!
//! ```text
//!            ┌────────────── of each warp ──────────────┐
//!  decode ─┬►│ instruction buffer ─ a1: not issued ──┐  │
//!          │ │  (8, first free)   ─ a3: before the ──┤  │   local       issue
//!          │ │    ▲ valid           re-convergence PC├─►│─► policy ───► scheduler ─┬─► ID_OC ► … ─┐
//!          └►│ dependence matrix  ─ a2: row clear ───┘  │  (1st place)  (1 warp)   │              │
//!            │  (8 x 8) ▲ column                        │                          │              │
//!            └──────┬───┴───────────────────────────────┘◄── issued ───────────────┘              │
//!                   └◄──────────────────────────────── cleared at write-back ─────────────────────┘
//! ```
//!
//! - **Insertion.** A decoded instruction takes the first free entry by place, and a row of bits for
//!   the older ones in the buffer that it depends on: RAW, WAW and WAR by register, predicates among
//!   them; accesses to memory after a barrier; stores after accesses, loads after stores; branches
//!   and returns after everything, and everything after them.
//! - **Issue.** The candidate of a warp is its first entry by place that (a1) has not issued, (a2)
//!   has a clear row and (a3) is before the re-convergence PC of the SIMT unit's present entry, or is
//!   the oldest in the buffer. It is the only one that the warp scheduler sees, even if its latch is
//!   full.
//! - **Write-back** frees the entry and clears its column. Until then it takes room.
//! - **Flush.** When a branch or an instruction at a re-convergence point issues and the warp continues
//!   elsewhere than after it, what is after it in the buffer is eliminated and the right path fetched
//!   ([`config::BranchFetch`]). Nothing after a branch can have issued, so nothing is squashed.
//!
//! **Deviations**
//! - D1: decode inserts no instruction of a wrong path (see `fetch`, D-F2). Such instructions could
//!   neither issue nor keep out others before the flush; figure 5's averages lack them.
//! - D2: the re-convergence PC comes from PTX's SIMT stack; in machine code since Volta, which has no
//!   such stack, that which `BSSY` names for lanes that are apart. There an instruction brings lanes
//!   together (`BSYNC` and similar): it counts as a branch, as does, in traces, any instruction after
//!   which the warp continues elsewhere. Traces know no re-convergence PC: what `BSSY` names is not in them.
//! - D3: exits count as returns.
//! - D4: the paper lets a barrier pass older accesses to memory, which would break its meaning. Here it
//!   waits until they have issued, by seniority. Fences, sleep and what closes or awaits groups of
//!   copies count as barriers, and barriers keep their order.
//! - D5: atomics, reductions, asynchronous copies, volatile loads and loads of GPU scope count as
//!   stores.
//! - D6: the paper says that a branch waits for older instructions to *issue* and younger ones for the
//!   branch to issue (section 3's reason for the rule, section 5.1), but its matrix is cleared at
//!   *write-back*. The matrix decides; [`Until::Issue`] is the other reading, in which the oldest of
//!   a3 is the oldest that has not issued. For the order of accesses to memory, too, issue would do:
//!   the rest of the pipeline keeps it.
//! - D7: no text of the paper ends a WAR dependence before write-back. `reads_end=issue` does, for experiments; the
//!   operand collectors then let no write pass an older read ([`CollectorRules::guards_reads`]).
//!
//! **Structures** of a warp with 8 entries: instruction buffer (8 x (valid, instruction and lanes as in
//! the baseline, PC and next PC, issued, 3 bits of seniority), and for each entry comparators of 56 bits
//! for the registers of each instruction that is decoded and of 32 for a3), dependence matrix (8 x 8 bits).
//!
//! **Stall reasons** are of the oldest instruction that has not issued: RAW, WAW, WAR, memory
//! order; `control` where a branch or re-convergence point is the reason; `design` if all have issued
//! and there is no room for a fetch.

mod buffer;
mod parameters;

use buffer::{Buffer, Offer, Place};
use isa::{RegFile, WarpSlot};
use kit::Cycle;
use kit::persist::{Archive, Mismatch, Persist};
pub use parameters::{SocgpuConfig, Until};
use sm::CachedFetch;
use sm::CoreDesign;
use sm::DesignStatistic;
use sm::Head;
use sm::Heads;
use sm::InstId;
use sm::LoadStoreUnit;
use sm::PerWarp;
use sm::Units;
use sm::WakeUp;
use sm::WarpMask;
use sm::operands::{CollectorRules, Collectors, read_guard};
use sm::policy::DEPENDENCE_BITS;
use sm::{Candidates, Each, IssuePolicy, Structure};
use sm::{CoreSpec, PipeSet};
use sm::{Flight, Window};

/// Instructions that entered the buffers, and on how many there they depended.
#[derive(Clone, Copy, Debug, Default)]
struct Counts {
    inserted: u64,
    issued: u64,
    reordered: u64,
    raw: u64,
    waw_war: u64,
    stop: u64,
    memory: u64,
}

/// The issue design.
#[derive(Debug)]
pub struct Socgpu<M: WarpMask = u64> {
    buffer: Buffer<M>,
    candidate: PerWarp<Place, M>,
    heads: Heads<M>,
    counts: Counts,
    config: SocgpuConfig,
    warps: usize,
    per_fetch: usize,
    /// Structure of D7.
    read_guard: Option<Structure>,
}

impl<M: WarpMask> Socgpu<M> {
    /// Recomputes what the warp scheduler sees of `warp`.
    #[inline]
    fn examine(&mut self, warp: WarpSlot) {
        let head = match self.buffer.offer(warp) {
            Offer::Nothing => Head::EMPTY,
            Offer::Stalled(stall) => Head::stalled(stall),
            Offer::Candidate(place, pipe) => {
                self.candidate[warp.index()] = place;
                Head::ready(pipe)
            }
        };
        // The same pipe may mean another instruction, which the schedulers do not tell apart.
        self.heads.set(warp, head);
    }
}

impl<M: WarpMask> CoreDesign for Socgpu<M> {
    type FrontEnd = CachedFetch;
    type Issue = Self;
    type Operands = Collectors;
    type Execution = Units;
    type Memory = LoadStoreUnit;

    fn operands(config: &SocgpuConfig, spec: &CoreSpec) -> Collectors {
        let guards_reads = config.reads_end == Until::Issue;
        Collectors::new(spec, CollectorRules { guards_reads, ..CollectorRules::default() })
    }
}

impl<M: WarpMask> IssuePolicy for Socgpu<M> {
    type Config = SocgpuConfig;
    type Mask = M;

    fn new(config: &SocgpuConfig, spec: &CoreSpec) -> Self {
        let (warps, per_fetch) = (spec.sm.max_warps as usize, spec.sm.frontend.instructions_per_fetch as usize);
        let config = SocgpuConfig { buffer: (config.buffer as usize).clamp(per_fetch, 64) as u32, ..*config };
        Self {
            buffer: Buffer::new(&config, warps, per_fetch),
            candidate: PerWarp::new(0),
            heads: Heads::default(),
            counts: Counts::default(),
            config,
            warps,
            per_fetch,
            read_guard: (config.reads_end == Until::Issue).then(|| read_guard::structure(spec)),
        }
    }

    fn structures(&self) -> Vec<Structure> {
        let (entries, instances) = (self.config.buffer as usize, self.warps);
        let seniority = entries.next_power_of_two().trailing_zeros() as usize;
        // Valid, instruction (registers and type in it) and lanes as in the baseline; PC and next PC.
        let entry = 1 + 64 + 32 + 2 * 32 + 1 + seniority;
        let once = Each::Instruction.times(1);
        // Decoded instructions are compared with all entries; their next PCs with the re-convergence PC.
        let compared = entries * (self.per_fetch * DEPENDENCE_BITS + 32);
        let mut all = vec![
            Structure::new("instruction buffer", instances, entries, entry)
                .ports(1, self.per_fetch)
                .compares(compared)
                .read(once)
                .written(once)
                .searched(once),
            // Rows are tested when one is written and when a column is cleared.
            Structure::new("dependence matrix", instances, entries, entries)
                .ports(0, self.per_fetch)
                .matrix()
                .written(once)
                .searched(Each::Instruction.times(2)),
        ];
        all.extend(self.read_guard.clone());
        all
    }

    fn statistics(&self) -> Vec<DesignStatistic> {
        let Counts { inserted, issued, reordered, raw, waw_war, stop, memory } = self.counts;
        let per_instruction = |name, description, count| {
            DesignStatistic::count(name, "dependences/instruction", description, count).per(inserted, 1)
        };
        vec![
            per_instruction(
                "raw_dependences",
                "Older instructions in the buffer whose result an instruction reads, when it enters.",
                raw,
            ),
            per_instruction(
                "waw_war_dependences",
                "Older instructions in the buffer that read or write what an instruction writes, when it enters.",
                waw_war,
            ),
            per_instruction(
                "stop_dependences",
                "Branches and returns in the buffer when an instruction enters; of one itself, all there.",
                stop,
            ),
            per_instruction(
                "memory_dependences",
                "Older accesses and barriers in the buffer that an access or barrier must not pass, when it enters.",
                memory,
            ),
            DesignStatistic::reordered_share(reordered, issued),
        ]
    }

    fn start_warp(&mut self, warp: WarpSlot, _regs: &RegFile) {
        debug_assert!(self.heads.is_empty(warp));
    }

    #[inline]
    fn room(&self) -> M {
        self.buffer.room
    }

    #[inline]
    fn insert(&mut self, flight: Flight<'_>) {
        let found = self.buffer.insert(flight.window, flight.id);
        self.counts.inserted += 1;
        self.counts.raw += u64::from(found.raw);
        self.counts.waw_war += u64::from(found.waw_war);
        self.counts.stop += u64::from(found.stop);
        self.counts.memory += u64::from(found.memory);
        self.examine(flight.warp);
    }

    #[inline]
    fn tick(&mut self, _now: Cycle, _window: Window<'_>, _wake_up: &mut WakeUp) -> M {
        self.heads.take_changed()
    }

    #[inline]
    fn candidates(&self) -> &Candidates<M> {
        self.heads.candidates()
    }

    #[inline]
    fn select(&self, _window: Window<'_>, warp: WarpSlot, _pipes: PipeSet) -> InstId {
        self.buffer.id(warp, self.candidate[warp.index()])
    }

    #[inline]
    fn on_issue(&mut self, flight: Flight<'_>) {
        let warp = flight.warp;
        let place = self.candidate[warp.index()];
        debug_assert_eq!(self.buffer.id(warp, place), flight.id);
        self.counts.issued += 1;
        self.counts.reordered += u64::from(self.buffer.reorders(warp, place));
        self.buffer.issue(warp, place);
        self.examine(warp);
    }

    #[inline]
    fn on_writeback(&mut self, flight: Flight<'_>) {
        let Flight { id, window, .. } = flight;
        self.buffer.write_back(window, id);
        self.examine(flight.warp);
    }

    fn oldest(&self, warp: WarpSlot) -> Option<InstId> {
        self.buffer.oldest(warp)
    }

    fn persist(&mut self, archive: &mut Archive) -> Result<(), Mismatch> {
        self.counts.persist(archive)
    }
}

kit::persist! {
    struct Counts { inserted, issued, reordered, raw, waw_war, stop, memory }
}

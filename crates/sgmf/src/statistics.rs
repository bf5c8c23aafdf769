//! Counters of a core.

use crate::hardware::tag_share;
use crate::kind::Kind;
use config::GpuConfig;
use energy::{Activity, Each, Event};
use gpu::{CoreCounters, CoreReport, Period, Table, Value, event_of};
use isa::Work;
use kit::{ByKind, Cycle, WARP_LANES};
use mem::CacheCounters;

/// Words of 4 bytes of a line of L1, and of the part of it that requests have.
const LINE_WORDS: f64 = 32.0;
const SECTOR_WORDS: f64 = 8.0;
/// Size of L1 whose tags its energy is computed with: other sizes have a bit more or less of them.
const LINES_KIB: u32 = 64;

macro_rules! reasons {
    ($($(#[doc = $text:literal])+ $name:ident = $field:ident,)*) => {
        /// State of a unit in a cycle: it fires, or has one stall reason.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Reason { $($(#[doc = $text])+ $name,)* }

        impl Reason {
            /// All reasons in the order of declaration.
            pub const ALL: &'static [Self] = &[$(Self::$name,)*];
            /// Number of reasons.
            pub const COUNT: usize = Self::ALL.len();
            /// The name in reports.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$name => stringify!($field),)* }
            }
        }

        kit::counters! {
            /// Cycles of the units of a kind, each by what the unit did.
            pub struct UnitCounters {
                $($(#[doc = $text])+ pub $field: "unit cycles",)*
            }
        }

        impl UnitCounters {
            /// From cycles by [`Reason`].
            fn of(cycles: &[u64; Reason::COUNT]) -> Self {
                Self { $($field: cycles[Reason::$name as usize],)* }
            }

            /// All cycles.
            pub const fn total(&self) -> u64 {
                0 $(+ self.$field)*
            }
        }
    };
}

reasons! {
    /// The unit executes its node for a thread.
    Fired = fired,
    /// No token of a thread that it has not executed is in its token buffers.
    NoToken = no_token,
    /// Tokens wait for other tokens of their threads.
    Operand = waits_for_operand,
    /// Its result finds no room in a link or a token buffer, so that its pipeline is full.
    OutputBlocked = output_blocked,
    /// The threads that are ready belong to a younger epoch than those in the unit.
    Epoch = epoch,
    /// The reservation buffer is full.
    ReservationFull = reservation_full,
    /// All dividers or roots are busy.
    BlocksBusy = blocks_busy,
    /// A double-precision operation occupies the unit.
    Interval = interval,
    /// Another unit uses the bank of L1.
    BankConflict = bank_conflict,
    /// L1 has no line, no MSHR or no place in its miss queue.
    L1Refused = l1_refused,
    /// The fabric is being configured.
    Configuration = configuration,
    /// Dirty lines of L1 are being written back.
    WriteBack = write_back,
    /// All threads of the region have passed it, or there are no threads.
    NoThread = no_thread,
    /// The region that runs does not use it.
    Unused = unused,
}

kit::counters! {
    /// Counters of a fabric.
    pub struct FabricCounters {
        /// Fabric cycles.
        pub cycles: "fabric cycles",
        /// Fabric cycles with a batch of threads.
        pub busy_cycles: "fabric cycles",
        /// Core cycles with a thread on the core.
        pub active_cycles: "core cycles",
        /// CTAs executed.
        pub ctas: "CTAs",
        /// Batches of threads.
        pub batches: "batches",
        /// Regions run, each time.
        pub passes: "passes",
        /// Threads that passed regions, masked or not.
        pub thread_passes: "threads",
        /// Threads that passed regions in which they do not take part.
        pub masked_threads: "threads",
        /// Regions configured.
        pub configurations: "configurations",
        /// Time of configuration.
        pub configuration_cycles: "fabric cycles",
        /// Bits of configuration registers that were written.
        pub configured_bits: "bits",
        /// Time of writing back dirty lines of L1 at the end of batches.
        pub write_back_cycles: "fabric cycles",
        /// Values that the injector sent.
        pub injected: "tokens",
        /// Their bits, with tags.
        pub injected_bits: "bits",
        /// Tokens that entered token buffers.
        pub tokens: "tokens",
        /// Their bits, with the part of the tag that is stored.
        pub token_bits: "bits",
        /// The same when units took them.
        pub token_bits_read: "bits",
        /// Tokens whose tags were compared with those at other ports of their unit.
        pub matches: "tokens",
        /// Tokens that entered links.
        pub hops: "tokens",
        /// Their bits, with tags.
        pub hop_bits: "bits",
        /// The same by the distance that they travel, in distances of adjacent units.
        pub wire_bits: "bit pitches",
        /// Bits that passed the multiplexers of switches.
        pub switched_bits: "bits",
        /// Cycles of links that are part of a route, while their region ran.
        pub link_cycles: "link cycles",
        /// Nodes executed.
        pub firings: "firings",
        /// Nodes executed that come from an instruction.
        pub instruction_firings: "firings",
        /// Bits of results by the stages of their units' pipelines.
        pub stage_bits: "bit stages",
        /// Bits of tokens that passed delay FIFOs.
        pub fifo_bits: "bits",
        /// Accesses to memory.
        pub accesses: "accesses",
        /// Accesses that were not enabled: poisoned.
        pub disabled_accesses: "accesses",
        /// Loads and stores of values that live across regions.
        pub live_accesses: "accesses",
        /// Atomic operations.
        pub atomics: "accesses",
        /// Epochs begun in LDST and special units.
        pub epochs: "epochs",
        /// Entries of reservation buffers in use, summed over cycles.
        pub reserved_cycles: "entry cycles",
        /// Entries of reservation buffers of the units in use, summed over cycles.
        pub reservable_cycles: "entry cycles",
        /// Bits written to reservation buffers: results with their tags.
        pub reserved_bits: "bits",
        /// Bits read from them.
        pub reserved_bits_read: "bits",
        /// Bits between load/store units and banks of L1, both ways.
        pub bank_bits: "bits",
        /// Words read from banks of L1.
        pub bank_reads: "words",
        /// Words written to banks of L1.
        pub bank_writes: "words",
        /// Requests sent to L2.
        pub requests: "requests",
    }
}

kit::counters! {
    /// Counters of an SGMF core.
    pub struct SgmfCounters {
        /// The fabric.
        pub fabric: FabricCounters,
        /// Compute units.
        pub compute: UnitCounters,
        /// Control units.
        pub control: UnitCounters,
        /// Load/store units.
        pub ldst: UnitCounters,
        /// Special units.
        pub special: UnitCounters,
        /// Firings by what they do.
        pub works: ByKind<{ Work::COUNT }>,
        /// L1.
        pub l1: CacheCounters,
    }
}

/// Counts within a core.
#[derive(Clone, Debug, Default)]
pub(crate) struct Counts {
    pub fabric: FabricCounters,
    /// Unit cycles by kind and reason.
    pub units: [[u64; Reason::COUNT]; Kind::COUNT],
    pub works: ByKind<{ Work::COUNT }>,
}

impl Counts {
    /// `units` of `kind` spend `cycles` with `reason`.
    #[inline]
    pub const fn spend(&mut self, kind: Kind, reason: Reason, units: u64, cycles: u64) {
        self.units[kind as usize][reason as usize] += units * cycles;
    }

    /// For reports, with those of L1.
    pub fn reported(&self, l1: &CacheCounters) -> SgmfCounters {
        let of = |kind: Kind| UnitCounters::of(&self.units[kind as usize]);
        SgmfCounters {
            fabric: self.fabric.clone(),
            compute: of(Kind::Compute),
            control: of(Kind::Control),
            ldst: of(Kind::Memory),
            special: of(Kind::Special),
            works: self.works,
            l1: l1.clone(),
        }
    }
}

impl SgmfCounters {
    /// Unit cycles of `kind`.
    pub const fn units(&self, kind: Kind) -> &UnitCounters {
        match kind {
            Kind::Compute => &self.compute,
            Kind::Control => &self.control,
            Kind::Memory => &self.ldst,
            Kind::Special => &self.special,
        }
    }

    /// Accesses to L1 that hit as accesses to whole lines, which the coefficients are for: reads, writes. An access
    /// compares all tags of its set and moves the words of its bank; a line that is written back is read.
    fn line_accesses(&self) -> [f64; 2] {
        let tags = tag_share(LINES_KIB);
        let of = |served: u64, missed: u64, words: u64| {
            let share = if served > 0 { served as f64 / (served + missed) as f64 } else { 0.0 };
            served as f64 * tags + (1.0 - tags) * words as f64 * share / LINE_WORDS
        };
        let (f, l1) = (&self.fabric, &self.l1);
        let reads = of(l1.reads_served(), l1.reads_missed(), f.bank_reads);
        let written_back = (1.0 - tags) * l1.written_back_sectors as f64 * SECTOR_WORDS / LINE_WORDS;
        [reads + written_back, of(l1.writes_served(), l1.write_misses, f.bank_writes)]
    }

    fn units_mut(&mut self, kind: Kind) -> &mut UnitCounters {
        match kind {
            Kind::Compute => &mut self.compute,
            Kind::Control => &mut self.control,
            Kind::Memory => &mut self.ldst,
            Kind::Special => &mut self.special,
        }
    }
}

impl CoreCounters for SgmfCounters {
    fn leave_out(&mut self, waited: &Self) {
        self.fabric.cycles -= waited.fabric.cycles;
        for kind in Kind::ALL {
            self.units_mut(kind).no_thread -= waited.units(kind).no_thread;
        }
    }
}

impl CoreReport for SgmfCounters {
    fn headline(&self, of: Period<'_>, t: &mut Table) {
        let f = &self.fabric;
        t.count("thread_instructions", "firings", "Nodes of the graph executed, of all threads.", f.firings);
        let rate = Value::ratio(f.firings, of.kernel_cycles, 1.0);
        t.put("ipc", "firings/cycle", "Nodes executed per core cycle.", rate);
    }

    fn parts(&self, _: Period<'_>, t: &mut Table) {
        t.cache("l1d", &self.l1);
    }

    fn design(&self, t: &mut Table) {
        t.group("design.fabric", &self.fabric);
        let f = &self.fabric;
        let mut percent = |name: &str, of: &'static str, part: u64, whole: u64| {
            t.put(format!("design.fabric.{name}"), "%", of, Value::ratio(part, whole, 100.0));
        };
        percent("link_utilisation", "Cycles in which a link of a route took a token.", f.hops, f.link_cycles);
        let of = "Share of the reservation buffers' entries in use, of the units in use.";
        percent("reservation_occupancy", of, f.reserved_cycles, f.reservable_cycles);
        let of = "Cycles in which a fabric with threads was being configured.";
        percent("configuration_share", of, f.configuration_cycles, f.busy_cycles);
        for kind in Kind::ALL {
            let (name, units) = (format!("design.{}", kind.name()), self.units(kind));
            let busy = Value::ratio(units.fired, units.total(), 100.0);
            t.put(format!("{name}.utilisation"), "%", "Unit cycles in which the unit fired.", busy);
            t.group(&name, units);
        }
        for &work in Work::ALL {
            let of = self.works.0[work as usize];
            t.count(format!("design.works.{}", work.name()), "firings", work.description(), of);
        }
    }

    fn activity(&self, cycles: Cycle, gpu: &GpuConfig) -> Activity {
        let active = self.fabric.active_cycles;
        let mut activity = Activity {
            seconds: cycles as f64 / (gpu.clocks.core_mhz * 1e6),
            lanes: WARP_LANES as f64,
            active_sms: if cycles > 0 { active as f64 / cycles as f64 } else { 0.0 },
            sms: f64::from(gpu.sm_count),
            ..Activity::default()
        };
        let mut count = |event: Event, n: u64| activity.events[event] += n as f64;
        for &work in Work::ALL {
            if let Some(event) = event_of(work) {
                count(event, self.works.0[work as usize]);
            }
        }
        let f = &self.fabric;
        count(Event::TokenWrite, f.token_bits);
        count(Event::TokenRead, f.token_bits_read);
        count(Event::ReservationWrite, f.reserved_bits);
        count(Event::ReservationRead, f.reserved_bits_read);
        count(Event::FifoBit, f.fifo_bits);
        count(Event::TokenMatch, f.matches);
        count(Event::UnitFiring, f.firings);
        count(Event::InjectedBit, f.injected_bits);
        count(Event::UnitStage, f.stage_bits);
        count(Event::LinkBit, f.hop_bits);
        count(Event::WireBit, f.wire_bits);
        count(Event::SwitchBit, f.switched_bits);
        count(Event::BankBit, f.bank_bits);
        count(Event::ConfigurationBit, f.configured_bits);
        count(Event::L1ReadMiss, self.l1.reads_missed());
        count(Event::L1WriteMiss, self.l1.write_misses);
        let [reads, writes] = self.line_accesses();
        activity.events[Event::L1ReadHit] += reads;
        activity.events[Event::L1WriteHit] += writes;
        activity
    }

    fn uses(&self, _: Each) -> u64 {
        0
    }

    fn warp_instructions(&self) -> u64 {
        self.fabric.firings.div_ceil(WARP_LANES as u64)
    }

    fn thread_instructions(&self) -> u64 {
        self.fabric.firings
    }

    fn active_cycles(&self) -> u64 {
        self.fabric.active_cycles
    }
}

//! The caches of instructions and constants that the SMs of a GPC share, between them and L2.
//!
//! NVIDIA's *Nsight Compute, Kernel Profiling Guide*, units of metrics: "The GPC Constant Cache (GCC) is a L1.5 constant
//! cache in the General Processing Cluster (GPC). The GCC is responsible for caching constant data and instructions for
//! all L1 constant caches in the GPC. Any missed data is fetched from the L2 cache."
//!
//! An SM's miss is looked up when SMs and memory system exchange messages. The first miss of a line passes the crossbar
//! as the SM's own request. Requests of other SMs for the line wait for its reply; the cache serves later misses.
//!
//! **Launches.** NVIDIA publishes the fields of the descriptors by which kernels are launched (open-gpu-doc,
//! `classes/compute/cl*qmd.h`). One that CUDA wrote for an empty kernel on an RTX 3070 (driver 580.95.05, in the comments
//! of a public program that launches kernels without CUDA) sets `INVALIDATE_SHADER_DATA_CACHE` and
//! `CONSTANT_BUFFER_INVALIDATE(0)`, the buffer of parameters; `INVALIDATE_INSTRUCTION_CACHE` and
//! `INVALIDATE_SHADER_CONSTANT_CACHE` are clear. Mesa's and tinygrad's drivers leave instructions, too. So code stays
//! (`launch.keeps_code`). From Turing on a descriptor also names code that is fetched at the launch
//! (`PROGRAM_PREFETCH_ADDR`, `_SIZE` and `_TYPE_PREFETCH_LAUNCH`): `launch.prefetched_code_bytes`. From Ampere on buffers
//! of constants are fetched before or after (`CONSTANT_BUFFER_PREFETCH_POST`, clear in that descriptor, then `_PRE`):
//! `launch.prefetches_parameters`.
//!
//! - D-GC1: of SMs that miss the same line in one window, the one with the lowest number fetches it.
//! - D-GC2: the cache looks up any number of requests at a time; its replies pass one port.
//! - D-GC3: look-ups cost no energy.
//! - D-GC4: all constants go at a launch, since kernels have the same addresses for theirs, not only parameters.
//! - D-GC5: code that a launch fetches is there before the first CTA, and costs no bandwidth of L2. That it goes to these
//!   caches is a guess.

use crate::cache::{CacheCounters, CacheOutcome};
use crate::gate::Arrival;
use crate::packet::{Packet, Packets};
use crate::{Cache, Request, RequestKind, kept_at_launches};
use config::GpuConfig;
use kit::{Counters, Cycle, Ring};
use std::collections::BTreeMap;
use std::ops::Range;

/// All lines that a cache may be waiting for: more than a GPC's SMs ask for at a time.
const MISSES: u32 = 4096;

/// The caches of all GPCs.
#[derive(Clone, Debug)]
pub(crate) struct GpcCaches {
    caches: Box<[GpcCache]>,
    /// The GPC of each SM.
    gpc_of: Box<[u16]>,
    latency: Cycle,
    bytes_per_cycle: u32,
    line_bytes: u32,
    /// Addresses whose lines stay at a launch.
    kept: Range<u64>,
    /// Bytes of code that a launch fetches, at most.
    prefetched: u64,
    prefetches_parameters: bool,
}

#[derive(Clone, Debug)]
struct GpcCache {
    cache: Cache,
    /// Requests that wait for lines.
    waiting: Packets,
    /// MSHR of each fetch under way.
    fetches: BTreeMap<FetchId, u32>,
    /// The first cycle in which its port is free.
    free_at: Cycle,
}

/// A request of instructions or constants: its SM, whether it is for constants, and its token.
type FetchId = (u16, bool, u32);

/// The outcome of a look-up.
enum Outcome {
    /// It goes to L2, as this.
    Passed(Request),
    /// Its reply comes with another one's.
    Waits,
    /// The cache has replied.
    Served(Arrival),
}

impl GpcCaches {
    /// The caches of a GPU; none if its description has none.
    pub fn new(config: &GpuConfig) -> Option<Self> {
        let keys = &config.gpc_cache;
        let cache = config::Cache::read_only([keys.sets?, keys.ways.unwrap_or(16), keys.line_bytes()], MISSES);
        let empty =
            GpcCache { cache: Cache::new(&cache), waiting: Packets::default(), fetches: BTreeMap::new(), free_at: 0 };
        let gpcs = config.gpcs();
        Some(Self {
            caches: vec![empty; gpcs.len()].into(),
            gpc_of: (0_u16..).zip(&gpcs).flat_map(|(gpc, sms)| sms.clone().map(move |_| gpc)).collect(),
            latency: keys.latency_cycles.unwrap_or(62).into(),
            bytes_per_cycle: keys.bytes_per_cycle.unwrap_or(128),
            line_bytes: keys.line_bytes(),
            kept: kept_at_launches(config),
            prefetched: config.launch.prefetched_code_bytes.unwrap_or(0).into(),
            prefetches_parameters: config.launch.prefetches_parameters == Some(true),
        })
    }

    /// Takes from the `outbox` of `sm` the requests that a cache serves, and puts its fetches in their place. Replies that
    /// it has go to `arrived`, from cycle `first` on.
    pub fn take(
        &mut self,
        sm: u16,
        outbox: &mut Ring<(Cycle, Request)>,
        first: Cycle,
        mut arrived: impl FnMut(Arrival),
    ) {
        let mut at = 0;
        while let Some((since, request)) = outbox.get(at).copied() {
            if !is_fetch(&request) {
                at += 1;
                continue;
            }
            let (latency, bytes_per_cycle) = (self.latency, self.bytes_per_cycle);
            let cache = &mut self.caches[usize::from(self.gpc_of[usize::from(sm)])];
            let packet = Packet { request, sm, parts_left: 0, since };
            match cache.look_up(packet, (since + latency).max(first), bytes_per_cycle) {
                Outcome::Passed(fetch) => {
                    if let Some((_, request)) = outbox.get_mut(at) {
                        *request = fetch;
                    }
                    at += 1;
                }
                Outcome::Waits => _ = outbox.remove(at),
                Outcome::Served(arrival) => {
                    outbox.remove(at);
                    arrived(arrival);
                }
            }
        }
    }

    /// A part of a reply has passed the crossbar in the cycle before `from`. Returns false if it is none of a cache's
    /// fetches. With its last part, the requests that wait for it get their replies.
    #[inline]
    pub fn receive(&mut self, packet: &Packet, from: Cycle, arrived: impl FnMut(Arrival)) -> bool {
        if !is_fetch(&packet.request) {
            return false;
        }
        let cache = &mut self.caches[usize::from(self.gpc_of[usize::from(packet.sm)])];
        cache.receive(packet, from, self.bytes_per_cycle, arrived)
    }

    /// Drops lines that a launch does not keep and that are not under way.
    pub fn begin_launch(&mut self) {
        self.caches.iter_mut().for_each(|cache| cache.cache.keep_only(&self.kept));
    }

    /// Puts the lines of `bytes` of code from `address` on into all caches, as far as a launch fetches them.
    pub fn prefetch_code(&mut self, address: u64, bytes: u64) {
        self.prefetch(address, bytes.min(self.prefetched));
    }

    /// The same of a launch's parameters.
    pub fn prefetch_parameters(&mut self, address: u64, bytes: u64) {
        self.prefetch(address, if self.prefetches_parameters { bytes } else { 0 });
    }

    fn prefetch(&mut self, address: u64, bytes: u64) {
        let first = address - address % u64::from(self.line_bytes);
        for line in (first..address + bytes).step_by(self.line_bytes as usize) {
            self.caches.iter_mut().for_each(|cache| cache.cache.preload(line, self.line_bytes));
        }
    }

    /// Whether no request waits for a line.
    pub fn is_idle(&self) -> bool {
        self.caches.iter().all(|cache| cache.waiting.is_empty())
    }

    /// Counts of all caches together.
    pub fn counters(&self) -> CacheCounters {
        let mut sum = CacheCounters::default();
        self.caches.iter().for_each(|cache| sum.add(cache.cache.counters()));
        sum
    }
}

impl GpcCache {
    /// Looks up `packet`, to which the cache may reply from cycle `from` on.
    fn look_up(&mut self, packet: Packet, from: Cycle, bytes_per_cycle: u32) -> Outcome {
        let Packet { request, sm, since, .. } = packet;
        let waiter = self.waiting.insert(packet);
        let outcome = self.cache.access(since, &Request { token: waiter, ..request }).outcome;
        match outcome {
            CacheOutcome::Hit => {
                self.waiting.remove(waiter);
                Outcome::Served(self.reply(packet, from, bytes_per_cycle))
            }
            CacheOutcome::Merged => Outcome::Waits,
            CacheOutcome::Miss => match self.cache.pop_miss() {
                Some(fetch) => {
                    self.fetches.insert(id_of(sm, &request), fetch.token);
                    Outcome::Passed(Request { token: request.token, ..fetch })
                }
                // The line is under way.
                None => Outcome::Waits,
            },
            CacheOutcome::Fail(_) => {
                self.waiting.remove(waiter);
                Outcome::Passed(request)
            }
        }
    }

    fn receive(
        &mut self,
        packet: &Packet,
        from: Cycle,
        bytes_per_cycle: u32,
        mut arrived: impl FnMut(Arrival),
    ) -> bool {
        let id = id_of(packet.sm, &packet.request);
        let Some(&mshr) = self.fetches.get(&id) else { return false };
        if packet.parts_left > 0 {
            return true;
        }
        self.fetches.remove(&id);
        self.cache.fill(from, mshr);
        while let Some(waiter) = self.cache.pop_ready() {
            let mut waiting = self.waiting[waiter.token];
            self.waiting.remove(waiter.token);
            waiting.request.from = packet.request.from;
            arrived(self.reply(waiting, from, bytes_per_cycle));
        }
        true
    }

    /// The cache replies to `packet` as soon as its port is free, from cycle `from` on.
    fn reply(&mut self, packet: Packet, from: Cycle, bytes_per_cycle: u32) -> Arrival {
        let from = from.max(self.free_at);
        self.free_at = from + Cycle::from(packet.request.bytes.div_ceil(bytes_per_cycle));
        Arrival { from, packet }
    }
}

fn is_fetch(request: &Request) -> bool {
    matches!(request.kind, RequestKind::Instruction | RequestKind::Constant)
}

fn id_of(sm: u16, request: &Request) -> FetchId {
    (sm, request.kind == RequestKind::Constant, request.token)
}

kit::persist! {
    struct GpcCache { cache, waiting, fetches, free_at }
    struct GpcCaches { caches; skip gpc_of, latency, bytes_per_cycle, line_bytes, kept, prefetched, prefetches_parameters }
}

//! The caches of instructions and constants that the SMs of a GPC share, between them and L2.
//!
//! NVIDIA's *Nsight Compute, Kernel Profiling Guide*, units of metrics: "The GPC Constant Cache (GCC) is a L1.5 constant
//! cache in the General Processing Cluster (GPC). The GCC is responsible for caching constant data and instructions for
//! all L1 constant caches in the GPC. Any missed data is fetched from the L2 cache."
//!
//! An SM's miss is looked up when SMs and memory system exchange messages. The first miss of a line passes the crossbar
//! as the SM's own request. Requests of other SMs for the line wait for its reply; the cache serves later misses.
//! A launch of a kernel empties the caches, as NVIDIA's launch descriptors can ask for (`INVALIDATE_INSTRUCTION_CACHE`,
//! `INVALIDATE_SHADER_CONSTANT_CACHE` in the public headers of compute classes).
//!
//! - D-GC1: of SMs that miss the same line in one window, the one with the lowest number fetches it.
//! - D-GC2: the cache looks up any number of requests at a time; its replies pass one port.
//! - D-GC3: look-ups cost no energy.

use crate::cache::{CacheCounters, CacheOutcome};
use crate::gate::Arrival;
use crate::packet::{Packet, Packets};
use crate::{Cache, Request, RequestKind};
use config::GpuConfig;
use kit::{Counters, Cycle, Ring};
use std::collections::BTreeMap;

/// All lines that a cache may be waiting for: more than a GPC's SMs ask for at a time.
const MISSES: u32 = 4096;

/// The caches of all GPCs.
#[derive(Clone, Debug)]
pub(crate) struct GpcCaches {
    caches: Box<[GpcCache]>,
    sms_per_gpc: usize,
    latency: Cycle,
    bytes_per_cycle: u32,
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
        let sms_per_gpc = config.gpc_sms() as usize;
        Some(Self {
            caches: vec![empty; (config.sm_count as usize).div_ceil(sms_per_gpc)].into(),
            sms_per_gpc,
            latency: keys.latency_cycles.unwrap_or(62).into(),
            bytes_per_cycle: keys.bytes_per_cycle.unwrap_or(128),
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
            let cache = &mut self.caches[usize::from(sm) / self.sms_per_gpc];
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
        let cache = &mut self.caches[usize::from(packet.sm) / self.sms_per_gpc];
        cache.receive(packet, from, self.bytes_per_cycle, arrived)
    }

    /// Drops all lines that are not under way.
    pub fn invalidate(&mut self) {
        self.caches.iter_mut().for_each(|cache| cache.cache.invalidate());
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
    struct GpcCaches { caches; skip sms_per_gpc, latency, bytes_per_cycle }
}

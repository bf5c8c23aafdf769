//! L1 (table 1): banks behind a crossbar, one access per bank and fabric cycle; misses go to the port.

use crate::config::{SgmfConfig, l1_cache};
use crate::token::Token;
use config::GpuConfig;
use kit::{Cycle, Ring, Slab};
use mem::cache::Answer;
use mem::{Cache, Port, Request, RequestKind};

/// An access that waits for its reply.
#[derive(Clone, Copy, Debug)]
struct Flight {
    unit: u32,
    token: Token,
    /// A store, which has left its unit.
    is_over: bool,
}

/// Reply of L1 to an access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Grant {
    /// Takes it: the reply comes after the latency of a hit.
    Hit,
    /// Takes it: the reply comes with [`L1::replies`], for this flight.
    Later(u32),
    /// Its bank has taken another one.
    Conflict,
    /// It has no room for the miss.
    Refused,
}

/// L1 with its banks, and the requests that go past it.
#[derive(Clone, Debug)]
pub(crate) struct L1 {
    cache: Cache,
    banks: u32,
    bank_bytes: u64,
    is_perfect: bool,
    /// Banks that have taken an access in cycle `used_at`.
    used: u64,
    used_at: u64,
    flights: Slab<Flight>,
    /// Atomic operations, which go to L2.
    direct: Ring<Request>,
    /// Units with accesses that were refused, until something changes.
    refused: Vec<u32>,
    outbox_packets: u32,
    pub requests: u64,
    /// Words of banks that were read, and written.
    pub read_words: u64,
    pub written_words: u64,
}

/// Atomic operations that wait for the port.
const DIRECT_ENTRIES: usize = 8;

impl L1 {
    /// An empty L1 of a core of `gpu`.
    pub fn new(gpu: &GpuConfig, config: &SgmfConfig) -> Self {
        Self {
            cache: Cache::new(&l1_cache(gpu, config)),
            banks: config.l1_banks,
            bank_bytes: config.bank_bytes.into(),
            is_perfect: config.perfect_l1,
            used: 0,
            used_at: 0,
            flights: Slab::default(),
            direct: Ring::new(),
            refused: Vec::new(),
            outbox_packets: (gpu.interconnect.input_buffer_packets / gpu.sms_per_cluster.max(1)).max(1),
            requests: 0,
            read_words: 0,
            written_words: 0,
        }
    }

    /// The cache proper.
    pub const fn cache(&self) -> &Cache {
        &self.cache
    }

    /// The cache proper.
    pub const fn cache_mut(&mut self) -> &mut Cache {
        &mut self.cache
    }

    /// Banks of `bytes` at `address`.
    #[inline]
    fn banks_of(&self, address: u64, bytes: u8) -> u64 {
        let bank = |word: u64| 1 << (word % u64::from(self.banks));
        let (first, last) = (address / self.bank_bytes, (address + u64::from(bytes) - 1) / self.bank_bytes);
        if first == last { bank(first) } else { bank(first) | bank(last) }
    }

    /// Looks an access of `unit` up. A store is over once it is taken: a line that is fetched for it keeps its data.
    pub fn look_up(&mut self, at: u64, now: Cycle, mut request: Request, bytes: u8, unit: u32, token: Token) -> Grant {
        if self.used_at != at {
            (self.used_at, self.used) = (at, 0);
        }
        let banks = self.banks_of(request.address, bytes);
        if self.used & banks != 0 {
            return Grant::Conflict;
        }
        if self.is_perfect {
            self.used |= banks;
            return Grant::Hit;
        }
        request.address &= !31;
        let is_over = request.kind == RequestKind::Write;
        request.token = self.flights.insert(Flight { unit, token, is_over });
        let access = self.cache.access(now, &request);
        if access.is_taken() {
            self.used |= banks;
            let words = u64::from(banks.count_ones()) * (self.bank_bytes / 4);
            *if is_over { &mut self.written_words } else { &mut self.read_words } += words;
        }
        let grant = match access.answer {
            Answer::WhenReady | Answer::NextLevel if is_over => return Grant::Hit,
            Answer::WhenReady | Answer::NextLevel => return Grant::Later(request.token),
            Answer::Now => Grant::Hit,
            Answer::None => Grant::Refused,
        };
        self.flights.remove(request.token);
        grant
    }

    /// Sends an atomic operation to L2, if there is room.
    pub fn send_atomic(&mut self, mut request: Request, unit: u32, token: Token) -> Grant {
        if self.direct.len() >= DIRECT_ENTRIES {
            return Grant::Refused;
        }
        request.token = self.flights.insert(Flight { unit, token, is_over: false });
        self.direct.push_back(request);
        Grant::Later(request.token)
    }

    /// `value` is the result of the access of `flight`.
    pub fn set_value(&mut self, flight: u32, value: u64) {
        self.flights[flight].token.value = value;
    }

    /// Remembers that an access of `unit` was refused.
    pub fn wait(&mut self, unit: u32) {
        if !self.refused.contains(&unit) {
            self.refused.push(unit);
        }
    }

    /// Units with refused accesses, which may be tried again.
    pub fn take_refused(&mut self) -> Vec<u32> {
        std::mem::take(&mut self.refused)
    }

    /// Takes one reply from the port and gives the accesses that are done to `done`. Returns whether there was one.
    pub fn replies(&mut self, now: Cycle, port: &mut Port, mut done: impl FnMut(u32, Token)) -> bool {
        let Some(reply) = port.take_answer(now) else { return false };
        match reply.kind {
            RequestKind::Read => self.cache.fill(now, reply.token),
            _ => self.end(reply.token, &mut done),
        }
        while let Some(waiter) = self.cache.pop_ready() {
            if !waiter.silent {
                self.end(waiter.token, &mut done);
            }
        }
        true
    }

    fn end(&mut self, flight: u32, done: &mut impl FnMut(u32, Token)) {
        let Flight { unit, token, is_over } = self.flights[flight];
        self.flights.remove(flight);
        if !is_over {
            done(unit, token);
        }
    }

    /// Sends a request, if there is one and the port has room. Returns whether it did.
    pub fn send(&mut self, now: Cycle, port: &mut Port) -> bool {
        if !self.may_send() || !port.has_room(self.outbox_packets, now) {
            return false;
        }
        let request = self.direct.pop_front().or_else(|| self.cache.pop_miss());
        port.outbox.push_back((now, request.expect("just seen")));
        self.requests += 1;
        true
    }

    /// Whether no line is on its way.
    pub fn is_quiet(&self) -> bool {
        self.flights.is_empty()
    }

    /// Whether a request waits for the port.
    pub fn may_send(&self) -> bool {
        !self.direct.is_empty() || self.cache.peek_miss().is_some()
    }
}

//! The SM's copy engine (TMA): bulk copies and boxes of tensors, which an instruction starts and the engine executes.
//!
//! ```text
//!  issue ─► start ─► commands, in order ─► tensor map ─► requests, a line each ─► Outbox
//!                                                                                   │
//!           mbarrier, bulk group ◄─ completion ◄─ replies ◄─────────────────────────┘
//! ```
//! A command becomes ready some cycles after the instruction that starts it, a load with a tensor map later than a bulk
//! load. Commands send their requests one after the other: a cycle sends one request, of a 128-byte line at most, no more
//! bytes than the engine's rate for its direction, and no more rows of a box than it starts. When all replies have come,
//! and some cycles later for loads, the stream completes the command's `mbarrier`; commands of a bulk group are complete
//! with the last acknowledgement.
//!
//! The engine keeps the tensor maps that commands have used or prefetched ([`TensorMaps`]). A command whose map it does
//! not have reads it when its turn comes, as it would a line of data, and waits. A prefetch does not wait.
//!
//! - D-CE1: the data moved when the instruction executed ([`isa::WarpStream::transferred`]); shared memory is read and
//!   written without taking its banks from other accesses.
//! - D-CE2: the queue has no limit. Of a tensor map that is in two lines, the first is read; one among the parameters is read
//!   at its generic address. All are dropped with the contents of L1, and none by a fence of tensor maps.
//! - D-CE3: a prefetch receives the data that it brings to the L2, and drops them.
//! - D-CE4: in machine code a wait ends when sources have been read, also where PTX waits for the end: `DEPBAR` waits for
//!   the counter that `UTMACMDFLUSH` names as its read counter. A wait for groups of `cp.async` waits for bulk groups too.
//! - D-CE5: a copy from shared memory to shared memory takes the time of its bytes at the rate of stores. To another CTA,
//!   they then pass the network of clusters.
//! - D-CE6: a load for other CTAs ([`Multicast`]) is a command of the CTA that starts it, which receives the data even if it
//!   is not among the receivers; the crossbar delivers each reply to the other SMs too, whose engines count them.
//! - D-CE7: a line that the engine reads crosses to the SM as one packet, other data sector by sector: an H100's SM loads 112
//!   bytes per cycle by its engine. A box outside its tensor ends without the time of an access; on an H100 it takes as long
//!   as one inside.

use crate::memory::copies::Copies;
use crate::observe::observer::Transferred;
use crate::outbox::Outbox;
use config::CopyEngine as Parameters;
use gpu::Multicast;
use isa::{ClusterMember, KernelId, MessageId, Pc, TensorUse, Transfer, TransferId, TransferKind, WarpSlot};
use kit::persist::{Archive, Mismatch, Persist};
use kit::{Cycle, NEVER};
use mem::{Request, RequestKind};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

/// Marks the token of a request of the engine; the rest is the number of the command.
pub(crate) const TOKEN_ENGINE: u32 = 1 << 30;
/// With [`TOKEN_ENGINE`], marks a read of a tensor map.
const TOKEN_MAP: u32 = 1 << 29;

/// Most bytes of a request.
const LINE: u64 = 128;
/// Requests are of whole sectors.
const SECTOR: u64 = 32;

/// The copy engine of an SM.
#[derive(Debug)]
pub(crate) struct CopyEngine {
    /// Commands under way, by number; free ones are reused.
    commands: Vec<Command>,
    free: Vec<u16>,
    /// Those that have requests to send, in order.
    queue: VecDeque<u16>,
    /// When the first of them may send.
    next_request: Cycle,
    /// Ends that come by time.
    ends: BinaryHeap<Reverse<(Cycle, u16)>>,
    /// The first of them, which the SM looks at in every cycle.
    next_end: Cycle,
    maps: TensorMaps,
    /// Bulk groups by warp: how far their sources have been read, and how far they are complete.
    pub reads: Copies,
    pub groups: Copies,
}

/// A command from its instruction's issue to its end.
#[derive(Debug)]
struct Command {
    warp: WarpSlot,
    /// The instruction that starts it.
    place: (KernelId, Pc),
    transfer: Transfer,
    /// Its groups in [`CopyEngine::reads`] and [`CopyEngine::groups`].
    group: [u32; 2],
    ready_at: Cycle,
    /// When its instruction issued, and when it had its first turn.
    issued: Cycle,
    first_turn: Option<Cycle>,
    /// That cycle, plus the cycles in which a request had no room.
    begun: Option<Cycle>,
    /// Bytes of requests that have been sent.
    sent: u64,
    /// Bytes of its runs: of all, and of those that have been asked for.
    bytes: u64,
    asked: u64,
    /// The next request: number of the run, offset in it.
    next: (usize, u32),
    /// Requests without a reply.
    outstanding: u32,
    /// The multicast of another SM that it receives, if it does.
    received: Option<Received>,
}

/// The source of a command in shared memory has been read.
pub(crate) struct Read {
    pub warp: WarpSlot,
    /// The instruction that started the command.
    pub place: (KernelId, Pc),
    /// Whether the warp was waiting for that and may continue.
    pub goes_on: bool,
}

/// A command is complete.
pub(crate) struct Complete {
    pub warp: WarpSlot,
    /// The instruction that started it.
    pub place: (KernelId, Pc),
    pub transfer: TransferId,
    /// For observers.
    pub transferred: Transferred,
    /// Whether the warp was waiting for the command's group and may continue.
    pub goes_on: bool,
    /// The multicast of another SM that it received; then it belongs to no warp here.
    pub received: Option<Received>,
    /// Its own multicast, which has ended.
    pub ended: Option<Multicast>,
}

/// A multicast of another SM that a CTA receives.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Received {
    pub to: ClusterMember,
    /// Rank of the CTA that sent it.
    pub from: u8,
    pub message: MessageId,
}

impl CopyEngine {
    /// Without commands, for `warps` warps.
    pub fn new(warps: usize) -> Self {
        Self {
            commands: vec![],
            free: vec![],
            queue: VecDeque::new(),
            next_request: NEVER,
            ends: BinaryHeap::new(),
            next_end: NEVER,
            maps: TensorMaps::default(),
            reads: Copies::new(warps),
            groups: Copies::new(warps),
        }
    }

    /// Whether nothing is under way.
    pub fn is_idle(&self) -> bool {
        self.commands.len() == self.free.len() && self.maps.under_way == 0
    }

    /// Drops the tensor maps that it keeps.
    pub fn drop_maps(&mut self) {
        self.maps.kept.clear();
    }

    /// The first cycle in which it has something to do by itself.
    #[inline]
    pub fn next_event(&self) -> Cycle {
        self.next_end.min(self.next_request)
    }

    /// An instruction of `warp` has issued and starts `transfer`.
    /// Returns the multicast that begins with it.
    pub fn start(
        &mut self,
        now: Cycle,
        (warp, place): (WarpSlot, (KernelId, Pc)),
        transfer: Transfer,
        parameters: &Parameters,
    ) -> Option<Multicast> {
        let group =
            if transfer.kind.is_by_group() { [self.reads.issue(warp), self.groups.issue(warp)] } else { [0; 2] };
        let bytes = transfer.runs.iter().map(|&(_, length)| u64::from(length)).sum();
        let mut command = Command { warp, place, transfer, group, issued: now, bytes, ..Command::unused() };
        let has_box = command.transfer.tensor.is_some() && !command.is_map_prefetch();
        let tensor_cycles = if has_box { parameters.tensor_cycles(command.transfer.kind) } else { 0 };
        command.ready_at = now + Cycle::from(parameters.start_cycles() + tensor_cycles);
        let ready_at = command.ready_at;
        let number = self.add(command);
        self.queue.push_back(number);
        if self.queue.len() == 1 {
            self.next_request = ready_at;
        }
        self.commands[usize::from(number)].multicast(number)
    }

    /// A multicast of another SM is going to bring data for a CTA here. Returns the token for its replies.
    pub fn expect(&mut self, to: ClusterMember, multicast: &Multicast) -> u32 {
        let received = Received { to, from: multicast.from.rank, message: multicast.message };
        let command = Command { received: Some(received), outstanding: multicast.requests, ..Command::unused() };
        TOKEN_ENGINE | u32::from(self.add(command))
    }

    /// Adds a command and returns its number.
    fn add(&mut self, command: Command) -> u16 {
        let number = self.free.pop().unwrap_or_else(|| {
            self.commands.push(Command::unused());
            (self.commands.len() - 1) as u16
        });
        self.commands[usize::from(number)] = command;
        number
    }

    /// Ends a command whose end is due.
    pub fn end(&mut self, now: Cycle) -> Option<Complete> {
        let &Reverse((_, number)) = self.ends.peek().filter(|&&Reverse((due, _))| due <= now)?;
        self.ends.pop();
        self.next_end = self.ends.peek().map_or(NEVER, |&Reverse((due, _))| due);
        let ended = self.commands[usize::from(number)].multicast(number);
        let ended = ended.map(|multicast| Multicast { others: 0, ..multicast });
        let Command { warp, place, transfer, group, received, issued, first_turn, .. } =
            std::mem::replace(&mut self.commands[usize::from(number)], Command::unused());
        self.free.push(number);
        let goes_on = transfer.kind.is_by_group() && self.groups.performed(warp, group[1]);
        let begun = first_turn.unwrap_or(issued);
        let transferred = Transferred { kind: transfer.kind, bytes: transfer.shared_bytes, issued, begun };
        Some(Complete { warp, place, transfer: transfer.id, transferred, goes_on, received, ended })
    }

    /// Sends a request to the memory, if one is due and there is room. If it is the last one of a command of a bulk
    /// group, the source has been read. Adds the cycles that the request takes to `busy_cycles`.
    pub fn send(
        &mut self,
        now: Cycle,
        parameters: &Parameters,
        outbox: &mut Outbox<'_>,
        busy_cycles: &mut u64,
    ) -> Option<Read> {
        if self.next_request > now {
            return None;
        }
        let number = *self.queue.front()?;
        let command = &mut self.commands[usize::from(number)];
        if let (Some(TensorUse { map, .. }), None) = (command.transfer.tensor, command.first_turn) {
            self.next_request = match self.maps.look_up(map, parameters.tensor_maps(), outbox) {
                MapState::NoRoom => now + 1,
                MapState::UnderWay if !command.is_map_prefetch() => NEVER,
                MapState::UnderWay | MapState::Kept => now,
            };
            if self.next_request > now {
                return None;
            }
        }
        let begun = command.begun.unwrap_or(now);
        command.begun = Some(begun);
        command.first_turn.get_or_insert(now);
        let rate = u64::from(parameters.rate(command.transfer.kind));
        if let Some((next, bytes, mut request)) = command.request() {
            request.token = TOKEN_ENGINE | u32::from(number);
            if !outbox.has_room() {
                command.begun = Some(begun + 1);
                self.next_request = now + 1;
                return None;
            }
            outbox.push(request);
            command.next = next;
            command.asked += bytes;
            command.sent += u64::from(request.bytes);
            command.outstanding += 1;
        } else {
            command.sent = u64::from(command.transfer.shared_bytes);
        }
        // The bytes of a request take their time at the engine before the next one.
        let paced = begun + command.sent.div_ceil(rate).max(command.rows_started(parameters));
        self.next_request = paced.max(now + 1);
        *busy_cycles += self.next_request - now;
        if command.next.0 < command.transfer.runs.len() {
            return None;
        }
        self.queue.pop_front();
        if let Some(&next) = self.queue.front() {
            self.next_request = self.next_request.max(self.commands[usize::from(next)].ready_at);
        } else {
            self.next_request = NEVER;
        }
        let &Command { warp, place, ref transfer, group, outstanding, .. } = &self.commands[usize::from(number)];
        let (is_by_group, end) = (transfer.kind.is_by_group(), paced + parameters.completion(transfer.kind));
        if outstanding == 0 {
            self.end_at(end, number);
        }
        is_by_group.then(|| Read { warp, place, goes_on: self.reads.performed(warp, group[0]) })
    }

    /// A reply to a request of the engine has come.
    pub fn receive(&mut self, now: Cycle, reply: &Request, parameters: &Parameters) {
        if reply.token & TOKEN_MAP != 0 {
            self.maps.receive(reply.address);
            // The first command may have waited for it.
            if !self.queue.is_empty() && self.next_request == NEVER {
                self.next_request = now;
            }
            return;
        }
        let number = (reply.token & !TOKEN_ENGINE) as u16;
        let command = &mut self.commands[usize::from(number)];
        command.outstanding -= 1;
        if command.outstanding == 0 && command.next.0 == command.transfer.runs.len() {
            let end = now + parameters.completion(command.transfer.kind);
            self.end_at(end, number);
        }
    }

    /// Command `number` ends in cycle `end`.
    fn end_at(&mut self, end: Cycle, number: u16) {
        self.ends.push(Reverse((end, number)));
        self.next_end = self.next_end.min(end);
    }
}

impl Command {
    /// The entry of an unused number.
    fn unused() -> Self {
        Self {
            warp: WarpSlot(0),
            place: (KernelId(0), Pc(0)),
            transfer: Transfer::default(),
            group: [0; 2],
            ready_at: NEVER,
            issued: 0,
            first_turn: None,
            begun: None,
            sent: 0,
            bytes: 0,
            asked: 0,
            next: (0, 0),
            outstanding: 0,
            received: None,
        }
    }

    /// Whether it only brings a tensor map to the engine.
    fn is_map_prefetch(&self) -> bool {
        self.transfer.kind == TransferKind::Prefetch && self.transfer.runs.is_empty()
    }

    /// Cycles that the rows of the box take up to the next request.
    fn rows_started(&self, parameters: &Parameters) -> u64 {
        let Some(TensorUse { rows, .. }) = self.transfer.tensor else { return 0 };
        let is_last = self.next.0 == self.transfer.runs.len();
        let started = if is_last { rows.into() } else { (u64::from(rows) * self.asked).div_ceil(self.bytes) };
        started.div_ceil(parameters.rows_per_cycle().into())
    }

    /// The multicast of the command, which has this number, if it is one.
    fn multicast(&self, number: u16) -> Option<Multicast> {
        let (from, message) = self.transfer.multicast?;
        let lines = |&(start, length): &(u64, u32)| (start + u64::from(length) - 1) / LINE - start / LINE + 1;
        let requests = self.transfer.runs.iter().map(lines).sum::<u64>() as u32;
        Some(Multicast {
            from,
            others: self.transfer.others,
            message,
            token: TOKEN_ENGINE | u32::from(number),
            requests,
        })
    }

    /// The position after the next request, the bytes of the run that it covers, and the request.
    fn request(&self) -> Option<((usize, u32), u64, Request)> {
        let (run, offset) = self.next;
        let &(start, length) = self.transfer.runs.get(run)?;
        let address = start + u64::from(offset);
        let end = (start + u64::from(length)).min((address / LINE + 1) * LINE);
        let first = address / SECTOR * SECTOR;
        let bytes = (end.div_ceil(SECTOR) * SECTOR - first) as u32;
        let kind = match self.transfer.kind {
            TransferKind::GlobalToShared | TransferKind::Prefetch => RequestKind::Read,
            TransferKind::SharedReduction => RequestKind::Atomic,
            TransferKind::SharedToGlobal | TransferKind::SharedToShared => RequestKind::Write,
        };
        // Bytes that a write covers in every one of its sectors.
        let is_full = address.is_multiple_of(SECTOR) && end.is_multiple_of(SECTOR);
        let byte_mask = if is_full { u32::MAX } else { covered(address - first, end - first, u64::from(bytes)) };
        let whole = kind == RequestKind::Read;
        let request = Request { byte_mask, whole, ..Request::new(kind, first, bytes, 0) };
        let next = if end == start + u64::from(length) { (run + 1, 0) } else { (run, (end - start) as u32) };
        Some((next, end - address, request))
    }
}

/// The tensor maps that an engine keeps. The least recently used one goes first.
#[derive(Clone, Debug, Default)]
struct TensorMaps {
    /// Address of each, and whether it has come; the most recently used last.
    kept: Vec<(u64, bool)>,
    /// Reads without a reply.
    under_way: u32,
}

/// Result of a look-up in [`TensorMaps`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum MapState {
    Kept,
    /// A read is under way.
    UnderWay,
    /// There was no room for a read.
    NoRoom,
}

impl TensorMaps {
    /// Looks for the map at `address`, and sends a read of it if it is not there. At most `entries` are kept.
    fn look_up(&mut self, address: u64, entries: u32, outbox: &mut Outbox<'_>) -> MapState {
        let found = self.kept.iter().rposition(|&(map, _)| map == address);
        let (map, has_come) = match found {
            Some(place) => self.kept.remove(place),
            None if !outbox.has_room() => return MapState::NoRoom,
            None => {
                let (line, token) = (address / LINE * LINE, TOKEN_ENGINE | TOKEN_MAP);
                outbox.push(Request { whole: true, ..Request::new(RequestKind::Read, line, LINE as u32, token) });
                self.under_way += 1;
                if self.kept.len() >= entries as usize {
                    self.kept.remove(0);
                }
                (address, false)
            }
        };
        self.kept.push((map, has_come));
        if has_come { MapState::Kept } else { MapState::UnderWay }
    }

    /// The line at `address` has come, with the maps in it.
    fn receive(&mut self, address: u64) {
        self.under_way -= 1;
        let in_line = self.kept.iter_mut().filter(|(map, _)| map / LINE * LINE == address);
        in_line.for_each(|(_, has_come)| *has_come = true);
    }
}

/// The bytes of a sector that the bytes from `from` to `to` of `bytes` bytes cover in each of their sectors.
fn covered(from: u64, to: u64, bytes: u64) -> u32 {
    (0..SECTOR)
        .filter(|&byte| (0..bytes / SECTOR).all(|sector| (from..to).contains(&(sector * SECTOR + byte))))
        .fold(0, |mask, byte| mask | 1 << byte)
}

impl Persist for CopyEngine {
    /// Nothing is under way between kernels.
    fn persist(&mut self, archive: &mut Archive) -> Result<(), Mismatch> {
        if !self.is_idle() {
            return Err(Mismatch::new("a transfer is in the copy engine"));
        }
        self.reads.persist(archive)?;
        self.groups.persist(archive)?;
        self.maps.persist(archive)
    }
}

kit::persist! {
    struct TensorMaps { kept, under_way }
}

//! Miss status holding registers: which blocks are being fetched, and the requests that wait for them.

use super::lookup::Lookup;
use crate::{Level, RequestKind};
use kit::Ring;

/// A request to which a cache has replied or will reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names of some fields and variants say it all")]
pub struct Waiter {
    pub token: u32,
    /// Kind of the request.
    pub kind: RequestKind,
    /// A fetch that the cache made for itself, without a reply.
    pub silent: bool,
    /// The furthest level that its data came from.
    pub from: Level,
}

/// Why a miss cannot be taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum MshrFull {
    /// No MSHR is free.
    Entries,
    /// The block's entry holds as many requests as it can.
    Merges,
}

#[derive(Clone, Debug)]
struct Entry {
    block: u64,
    /// The line reserved for the data, in caches that allocate at the miss.
    line: u32,
    /// Requests that wait: the first one, and the others in a list.
    waiters: u32,
    first: Waiter,
    head: u32,
    tail: u32,
    has_atomic: bool,
    arrived: bool,
    /// The furthest level that the data came from.
    from: Level,
    /// A read waits after a write that fetches.
    read_behind_write: bool,
    has_write: bool,
}

#[derive(Clone, Copy, Debug)]
struct Link {
    waiter: Waiter,
    next: u32,
}

const NONE: u32 = u32::MAX;

/// The table. Entries and waiting lists live in slabs; nothing is allocated once they are warm.
#[derive(Clone, Debug)]
pub(super) struct Mshrs {
    /// Maximum number of entries, and of requests in each.
    limit: usize,
    merges: u32,
    by_block: Lookup,
    /// Entries that have been used.
    entries: Vec<Entry>,
    /// Numbers of the entries that are not in use.
    free: Vec<u32>,
    links: Vec<Link>,
    free_link: u32,
    /// Entries whose data have come, in order of arrival.
    ready: Ring<u32>,
}

impl Mshrs {
    pub fn new(entries: u32, merges: u32) -> Self {
        let limit = entries.max(1) as usize;
        Self {
            limit,
            merges: merges.max(1),
            by_block: Lookup::new(limit),
            entries: Vec::new(),
            free: Vec::new(),
            links: Vec::new(),
            free_link: NONE,
            ready: Ring::new(),
        }
    }

    /// The entry of `block`, if it is under way.
    #[inline]
    pub fn find(&self, block: u64) -> Option<u32> {
        self.by_block.get(block, |id| self.entries[id as usize].block)
    }

    /// Whether a request for `block`, whose entry is `found`, can be taken.
    #[inline]
    pub fn check(&self, found: Option<u32>) -> Result<(), MshrFull> {
        match found {
            Some(id) if self.entries[id as usize].waiters >= self.merges => Err(MshrFull::Merges),
            None if self.is_full() => Err(MshrFull::Entries),
            _ => Ok(()),
        }
    }

    /// A new entry for `block` with its first waiter; `line` is given back at the fill.
    #[inline(always)]
    pub fn allocate(&mut self, block: u64, line: u32, first: Waiter) -> u32 {
        debug_assert!(self.in_use() < self.limit, "checked before");
        let entry = Entry {
            block,
            line,
            waiters: 1,
            first,
            head: NONE,
            tail: NONE,
            has_atomic: first.kind == RequestKind::Atomic,
            arrived: false,
            from: first.from,
            read_behind_write: false,
            has_write: first.kind.is_write(),
        };
        let id = match self.free.pop() {
            Some(id) => {
                self.entries[id as usize] = entry;
                id
            }
            None => {
                self.entries.push(entry);
                self.entries.len() as u32 - 1
            }
        };
        self.by_block.insert(block, id, |id| self.entries[id as usize].block);
        id
    }

    /// Adds a waiter at the end of the queue of entry `id`.
    pub fn wait(&mut self, id: u32, waiter: Waiter) {
        let link = Link { waiter, next: NONE };
        let at = match self.free_link {
            NONE => {
                self.links.push(link);
                self.links.len() as u32 - 1
            }
            at => {
                self.free_link = self.links[at as usize].next;
                self.links[at as usize] = link;
                at
            }
        };
        let entry = &mut self.entries[id as usize];
        match entry.tail {
            NONE => entry.head = at,
            tail => self.links[tail as usize].next = at,
        }
        entry.tail = at;
        entry.waiters += 1;
        entry.has_atomic |= waiter.kind == RequestKind::Atomic;
        let write = waiter.kind.is_write();
        entry.read_behind_write |= entry.has_write && !write;
        entry.has_write |= write;
    }

    /// Whether a read waits behind a write on entry `id`: a further write must not overtake it.
    pub fn has_read_behind_write(&self, id: u32) -> bool {
        self.entries[id as usize].read_behind_write
    }

    /// Whether the data of entry `id` have come and only its waiters are left.
    pub fn has_arrived(&self, id: u32) -> bool {
        self.entries[id as usize].arrived
    }

    /// The data of entry `id` have come: gives its block, its line and whether an atomic waits. `None` if the entry
    /// waits for nothing.
    #[inline]
    pub fn arrived(&mut self, id: u32, from: Level) -> Option<(u64, u32, bool)> {
        let entry = self.entries.get_mut(id as usize).filter(|e| e.waiters > 0 && !e.arrived)?;
        entry.arrived = true;
        entry.from = from;
        self.ready.push_back(id);
        Some((entry.block, entry.line, entry.has_atomic))
    }

    /// Whether a waiter can be replied to.
    #[inline]
    pub fn is_ready(&self) -> bool {
        !self.ready.is_empty()
    }

    /// The next waiter whose data have come; its entry is free with its last.
    #[inline(always)]
    pub fn pop_ready(&mut self) -> Option<Waiter> {
        let &id = self.ready.front()?;
        let entry = &mut self.entries[id as usize];
        let waiter = Waiter { from: entry.from, ..entry.first };
        entry.waiters -= 1;
        if entry.waiters == 0 {
            self.by_block.remove(entry.block, id);
            self.ready.drop_front(1);
            self.free.push(id);
        } else {
            self.go_on_to_next_waiter(id);
        }
        Some(waiter)
    }

    /// The first waiter of entry `id` has gone, and others are there.
    #[inline(never)]
    fn go_on_to_next_waiter(&mut self, id: u32) {
        let entry = &mut self.entries[id as usize];
        let at = entry.head;
        let link = &mut self.links[at as usize];
        (entry.first, entry.head) = (link.waiter, link.next);
        if entry.head == NONE {
            entry.tail = NONE;
        }
        link.next = std::mem::replace(&mut self.free_link, at);
    }

    /// Whether no entry is free.
    #[inline]
    pub fn is_full(&self) -> bool {
        self.in_use() == self.limit
    }

    /// Number of MSHRs in use.
    #[inline]
    pub fn in_use(&self) -> usize {
        self.entries.len() - self.free.len()
    }
}

kit::persist! {
    new struct Waiter { token, kind, silent, from }
    new struct Entry {
        block, line, waiters, first, head, tail, has_atomic, arrived, from, read_behind_write, has_write
    }
    new struct Link { waiter, next }
    struct Mshrs { by_block, entries, free, links, free_link, ready; skip limit, merges }
}

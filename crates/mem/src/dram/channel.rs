//! One DRAM channel: queues, banks, command and data bus.
//!
//! [`Channel::tick`] does one command cycle and says when the next one is due in which anything can
//! happen; the cycles between are never visited.

use super::credits::Credits;
use super::data_pipe::DataPipe;
use super::scheduler::{Banks, Policy, Queued, Scheduler};
use super::timing::{Command, MOST_BANKS, Rules};
use super::{AddressMap, DramCounters, NEVER_TICK};
use crate::clock::Ratio;
use crate::partition::{FromDram, Side, Slice, ToDram};
use kit::bits::set_bits;
use kit::{Ring, Slab};

#[derive(Clone, Copy, Debug)]
struct Entry {
    request: ToDram,
    /// The command cycle in which the channel took it.
    since: u64,
    slice: u8,
    bank: u8,
    row: u32,
    /// Bytes for which column commands have been sent, and that have moved.
    sent_bytes: u32,
    moved_bytes: u32,
}

const NO_REQUEST: u16 = u16::MAX;

/// Commands for columns, and for rows.
const COLUMNS: [Command; 2] = [Command::Read, Command::Write];
const ROWS: [Command; 2] = [Command::Activate, Command::Precharge];

/// Fields are in the order in which a request passes them.
#[derive(Clone, Debug)]
pub(crate) struct Channel {
    credits: Credits,
    /// Slices that may have requests for the channel, as a mask.
    offering: u64,
    /// Fixed latency: (due, request, whether it is a write).
    latency_queue: Ring<(u64, u16, bool)>,
    /// The fixed latency in core cycles: GPGPU-Sim counts it in those.
    latency_core_cycles: u64,
    /// From core cycles to command cycles.
    clock: Ratio,
    scheduler: Scheduler,
    /// Whether its queue has room for a read, and for a write.
    room: [bool; 2],
    /// Banks that can take a request when they are free.
    choosable: u64,
    /// Whether a free bank can take a request in the next tick.
    can_choose: bool,
    banks: u32,
    /// The request that each bank serves.
    serving: [u16; MOST_BANKS],
    busy: u64,
    all_banks: u64,
    /// Banks by the command that they need next, indexed by [`Command`].
    wanting: [u64; 4],
    active: u64,
    open_row: [u32; MOST_BANKS],
    first_bank: u32,
    rules: Rules,
    /// When the next refresh begins, if there are any.
    next_refresh: u64,
    dual_bus: bool,
    data: DataPipe,
    return_queue: Ring<u16>,
    return_entries: usize,
    entries: Slab<Entry>,
    burst_bytes: u32,
    bank_hash: bool,
    /// The first cycle in which a column command can go, and a row command: exact or early.
    columns_due: u64,
    rows_due: u64,
    /// The next cycle in which anything can happen.
    next_tick: u64,
    /// Slices that got data or room in the last tick, as a mask.
    woken: u64,
    counters: DramCounters,
}

impl Channel {
    /// `clock` goes from core cycles to command cycles.
    pub fn new(dram: &config::Dram, slices: usize, clock: Ratio) -> Self {
        let rules = Rules::new(dram);
        let banks = dram.timing.nbk.clamp(1, MOST_BANKS as u32) as usize;
        Self {
            credits: Credits::new(dram, slices),
            offering: 0,
            latency_queue: Ring::new(),
            latency_core_cycles: clock.nearest_source(u64::from(dram.latency_cycles)),
            clock,
            scheduler: Scheduler::new(dram, banks),
            room: [true; 2],
            choosable: 0,
            can_choose: false,
            banks: banks as u32,
            serving: [NO_REQUEST; MOST_BANKS],
            busy: 0,
            all_banks: u64::MAX >> (64 - banks),
            wanting: [0; 4],
            active: 0,
            open_row: [0; MOST_BANKS],
            first_bank: 0,
            next_refresh: if rules.timing().nREFI == 0 { NEVER_TICK } else { rules.timing().nREFI },
            dual_bus: dram.dual_command_bus,
            data: DataPipe::new(rules.timing().nCL),
            rules,
            return_queue: Ring::new(),
            return_entries: if dram.return_queue == 0 { 1024 } else { dram.return_queue as usize },
            entries: Slab::default(),
            burst_bytes: (dram.burst_length * dram.bus_bytes * dram.chips_per_channel).max(1),
            bank_hash: dram.bank_hash,
            columns_due: NEVER_TICK,
            rows_due: NEVER_TICK,
            next_tick: NEVER_TICK,
            woken: 0,
            counters: DramCounters::default(),
        }
    }

    /// The next command cycle in which anything can happen, or [`NEVER_TICK`].
    #[inline]
    pub fn next_tick(&self) -> u64 {
        self.next_tick
    }

    /// Something changed in a slice: look again at `tick` at the latest.
    #[inline]
    pub fn wake(&mut self, tick: u64) {
        self.next_tick = self.next_tick.min(tick);
    }

    /// Slice number `slice` may have a new request, or room for data, before command cycle `tick`.
    #[inline]
    pub fn notice(&mut self, slice: usize, tick: u64) {
        self.offering |= 1 << slice;
        // Without room in the scheduler no request is taken before a bank takes one.
        if self.room != [false; 2] || !self.return_queue.is_empty() {
            self.wake(tick);
        }
    }

    /// Requests in the channel.
    pub fn in_flight(&self) -> usize {
        self.entries.len()
    }

    pub fn counters(&self) -> &DramCounters {
        &self.counters
    }

    /// One command cycle. `slices` are the channel's own. Gives a mask of the slices that got
    /// data or room.
    #[inline(always)]
    pub fn tick(&mut self, now: u64, map: &AddressMap, slices: &mut [Slice]) -> u64 {
        self.woken = 0;
        if self.next_refresh <= now {
            self.refresh(now);
        }
        if !self.return_queue.is_empty() {
            self.return_to_slice(now, slices);
        }
        self.move_data(now);
        if self.can_choose {
            self.choose();
        }
        if self.columns_due.min(self.rows_due) <= now {
            self.issue_commands(now);
        }
        let mut accepted = false;
        if self.room != [false; 2] {
            accepted = self.accept_from_slices(now, slices);
            self.enter_scheduler(now, map);
        }
        if self.return_queue_full() {
            self.data.freeze(now + 1);
        }
        self.can_choose = self.choosable & self.free_banks() != 0;
        let more = self.can_choose || accepted && self.room != [false; 2] && self.may_take_any(slices);
        self.next_tick = if more { now + 1 } else { self.due_after(now, slices) };
        self.woken
    }

    /// All banks are refreshed at fixed times, whatever they do: the last one until `now` closes their rows.
    #[cold]
    fn refresh(&mut self, now: u64) {
        let interval = self.rules.timing().nREFI;
        let start = now / interval * interval;
        self.next_refresh = start + interval;
        self.rules.refresh(start);
        self.active = 0;
        self.wanting = [0; 4];
        for bank in set_bits(self.busy) {
            let (row, write) = self.served(bank);
            self.note_need(bank, row, write);
        }
    }

    /// One finished request goes back to its slice, if that has room.
    #[inline(never)]
    fn return_to_slice(&mut self, now: u64, slices: &mut [Slice]) {
        let Some(&id) = self.return_queue.front() else { return };
        let &Entry { request, since, slice, .. } = &self.entries[id.into()];
        if slices[usize::from(slice)].take_from_dram(request.answer) {
            self.return_queue.drop_front(1);
            self.woken |= 1 << slice;
            if !request.write {
                self.counters.reads += 1;
                self.counters.read_latency += now - since;
            }
            self.finish(id);
        }
    }

    fn return_queue_full(&self) -> bool {
        self.return_queue.len() >= self.return_entries
    }

    fn finish(&mut self, id: u16) {
        self.credits.give_back(self.entries[id.into()].slice);
        self.entries.remove(id.into());
    }

    /// One burst ends on the data bus. A full return queue stops the bus.
    #[inline(always)]
    fn move_data(&mut self, now: u64) {
        if self.return_queue_full() {
            return;
        }
        let Some(id) = self.data.pop(now) else { return };
        let burst_bytes = self.burst_bytes;
        let entry = &mut self.entries[id.into()];
        entry.moved_bytes += burst_bytes;
        if entry.moved_bytes >= entry.request.bytes {
            match entry.request.answer {
                FromDram::Nothing => self.finish(id),
                _ => self.return_queue.push_back(id),
            }
        }
    }

    /// A free bank takes a request, which there is.
    #[inline]
    fn choose(&mut self) {
        let banks = Banks { free: self.free_banks(), first: self.first_bank, open_row: &self.open_row };
        let Some(choice) = self.scheduler.choose(banks) else { return };
        let bank = usize::from(choice.request.bank);
        self.serving[bank % MOST_BANKS] = choice.request.id;
        self.busy |= 1 << bank;
        self.note_need(bank, choice.request.row, choice.request.write);
        if choice.rotate {
            self.first_bank = self.after(self.first_bank);
        }
        self.counters.scheduled += 1;
        self.counters.row_hits += u64::from(choice.row_hit && self.active >> bank & 1 != 0);
        self.note_queue();
    }

    /// The scheduler's queue has changed.
    #[inline(always)]
    fn note_queue(&mut self) {
        self.room = self.scheduler.room();
        self.choosable = self.scheduler.choosable();
    }

    /// Banks that serve no request.
    #[inline]
    fn free_banks(&self) -> u64 {
        self.all_banks & !self.busy
    }

    /// The row of the request that `bank` serves, and whether it is a write.
    #[inline]
    fn served(&self, bank: usize) -> (u32, bool) {
        let entry = &self.entries[self.serving[bank % MOST_BANKS].into()];
        (entry.row, entry.request.write)
    }

    /// Notes the command that `bank`, which serves a request to `row`, needs next.
    #[inline]
    fn note_need(&mut self, bank: usize, row: u32, write: bool) {
        let command = if self.active >> bank & 1 == 0 {
            Command::Activate
        } else if self.open_row[bank % MOST_BANKS] != row {
            Command::Precharge
        } else if write {
            Command::Write
        } else {
            Command::Read
        };
        self.wanting[command as usize] |= 1 << bank;
        let due = if COLUMNS.contains(&command) { &mut self.columns_due } else { &mut self.rows_due };
        *due = (*due).min(self.rules.legal_from(command, bank));
    }

    /// The first of `banks`, from `first_bank` on, that needs one of two commands and can take it now.
    #[inline]
    fn first_ready(&self, commands: [Command; 2], banks: u64, now: u64) -> Option<(Command, usize)> {
        let [one, other] = commands;
        let wanting = commands.map(|c| if self.rules.common(c) <= now { self.wanting[c as usize] } else { 0 });
        let candidates = (wanting[0] | wanting[1]) & banks;
        let behind = (1 << self.first_bank) - 1;
        let need = |bank: usize| (if wanting[0] >> bank & 1 != 0 { one } else { other }, bank);
        let ready = |&(command, bank): &(Command, usize)| self.rules.local(command, bank) <= now;
        let mut parts = [candidates & !behind, candidates & behind].into_iter();
        parts.find_map(|part| set_bits(part).map(need).find(ready))
    }

    /// First cycle from `soon` on in which one of two commands can go.
    #[inline]
    fn next_of(&self, commands: [Command; 2], soon: u64) -> u64 {
        let [one, other] = commands;
        self.ready_from(other, soon, self.ready_from(one, soon, NEVER_TICK))
    }

    /// First cycle from `soon` on in which `command` can go to some bank that needs it, or `before` if that is earlier.
    #[inline]
    fn ready_from(&self, command: Command, soon: u64, before: u64) -> u64 {
        let wanting = self.wanting[command as usize];
        let (floor, mut first) = (self.rules.common(command).max(soon), before);
        if wanting == 0 || floor >= before {
            return before;
        }
        for bank in set_bits(wanting) {
            let able_from = self.rules.local(command, bank);
            if able_from <= floor {
                return floor;
            }
            first = first.min(able_from);
        }
        first
    }

    /// Sends commands: one for columns and one for rows on a dual bus. Else one for a column, or one
    /// for a row if its bank comes before every bank that is ready for a column; the search for a
    /// column then continues after it (as in GPGPU-Sim; a single bus could not do it).
    #[inline(never)]
    fn issue_commands(&mut self, now: u64) {
        let (columns_due, rows_due) = (self.columns_due <= now, self.rows_due <= now);
        let first = |commands, due| if due { self.first_ready(commands, self.all_banks, now) } else { None };
        let mut column = first(COLUMNS, columns_due).filter(|_| !self.data.is_full(now));
        let mut row = first(ROWS, rows_due);
        if let (Some((_, column_bank)), Some((_, row_bank))) = (column, row) {
            if !self.dual_bus && self.distance(row_bank) > self.distance(column_bank) {
                row = None;
            } else if !self.dual_bus {
                // GPGPU-Sim moves its starting point past the row's bank at once, and so skips as many
                // banks as it had looked at.
                column = self.first_ready(COLUMNS, self.banks_from(2 * self.distance(row_bank) + 2), now);
            }
            self.counters.double_commands += u64::from(column.is_some() && row.is_some());
        }
        if let Some(column) = column {
            self.issue_column(column, now);
        }
        if let Some(row) = row {
            self.issue_row(row, now);
        }
        if columns_due {
            self.columns_due = self.next_of(COLUMNS, now + 1);
        }
        if rows_due {
            self.rows_due = self.next_of(ROWS, now + 1);
        }
    }

    /// The banks at a distance of at least `distance` from `first_bank`.
    fn banks_from(&self, distance: u32) -> u64 {
        let banks = self.banks;
        let near = ((1u128 << distance.min(banks)) - 1) << self.first_bank;
        self.all_banks & !(near | near >> banks) as u64
    }

    /// The distance of `bank` from `first_bank`, cyclically.
    fn distance(&self, bank: usize) -> u32 {
        (bank as u32 + self.banks - self.first_bank) % self.banks
    }

    #[inline(always)]
    fn issue_column(&mut self, (command, bank): (Command, usize), now: u64) {
        let id = self.serving[bank % MOST_BANKS];
        self.rules.issue(command, bank, now);
        let t = self.rules.timing();
        let latency = if command == Command::Read { t.nCL } else { t.nWL };
        self.counters.data_bus_busy += t.nBL;
        self.data.push(id, now, latency);
        let entry = &mut self.entries[id.into()];
        entry.sent_bytes += self.burst_bytes;
        if entry.sent_bytes >= entry.request.bytes {
            self.busy &= !(1 << bank);
            self.wanting[command as usize] &= !(1 << bank);
        }
        match command {
            Command::Read => self.counters.read_commands += 1,
            _ => self.counters.write_commands += 1,
        }
    }

    fn issue_row(&mut self, (command, bank): (Command, usize), now: u64) {
        self.rules.issue(command, bank, now);
        self.wanting[command as usize] &= !(1 << bank);
        let (row, write) = self.served(bank);
        if command == Command::Activate {
            self.open_row[bank % MOST_BANKS] = row;
            self.active |= 1 << bank;
            self.counters.activates += 1;
        } else {
            self.active &= !(1 << bank);
            self.counters.precharges += 1;
        }
        self.note_need(bank, row, write);
        self.first_bank = self.after(bank as u32);
    }

    /// The bank after `bank`, cyclically.
    #[inline]
    fn after(&self, bank: u32) -> u32 {
        if bank + 1 < self.banks { bank + 1 } else { 0 }
    }

    /// Takes one request from the slices, in turn, into the latency queue; returns whether there was one to take.
    #[inline(never)]
    fn accept_from_slices(&mut self, now: u64, slices: &mut [Slice]) -> bool {
        let served = u64::MAX >> (63 - self.credits.last);
        for part in [self.offering & !served, self.offering & served] {
            for s in set_bits(part) {
                let slice = &mut slices[s];
                match self.may_take(s, slice) {
                    None => {}
                    // The one whose turn it is holds up the others, until a bank takes a request.
                    Some(request) if !self.room[usize::from(request.write)] => return false,
                    Some(&request) => {
                        self.take_from(s, request, now, slice);
                        return true;
                    }
                }
            }
        }
        false
    }

    /// Takes `request`, which is the next one of slice number `s`.
    #[inline(always)]
    fn take_from(&mut self, s: usize, request: ToDram, now: u64, slice: &mut Slice) {
        self.woken |= u64::from(slice.is_full_towards(Side::Dram)) << s;
        slice.drop_to_dram();
        if slice.next_to_dram().is_none() {
            self.offering &= !(1 << s);
        }
        let entry = Entry { request, since: now, slice: s as u8, bank: 0, row: 0, sent_bytes: 0, moved_bytes: 0 };
        let id = self.entries.insert(entry) as u16;
        self.credits.take(s);
        self.latency_queue.push_back((self.latency_over(now), id, request.write));
    }

    /// The next request of slice `s`, unless there is no place for it or for its reply.
    #[inline(always)]
    fn may_take<'a>(&self, s: usize, slice: &'a Slice) -> Option<&'a ToDram> {
        slice.next_to_dram().filter(|_| self.credits.has(s) && slice.has_room_from_dram())
    }

    /// Whether any slice has a request that can be taken.
    #[inline]
    fn may_take_any(&self, slices: &[Slice]) -> bool {
        set_bits(self.offering)
            .any(|s| self.may_take(s, &slices[s]).is_some_and(|request| self.room[usize::from(request.write)]))
    }

    /// The command cycle in which the fixed latency of a request taken at `now` is over: the first one
    /// after that many core cycles.
    fn latency_over(&self, now: u64) -> u64 {
        let core_cycle = self.clock.first_source_at(now) + self.latency_core_cycles;
        core_cycle.checked_sub(1).map_or(now, |before| self.clock.floor(before) + 1)
    }

    /// One request whose fixed latency is over goes to the scheduler, which sees it next cycle.
    #[inline(never)]
    fn enter_scheduler(&mut self, now: u64, map: &AddressMap) {
        let Some(&(due, id, write)) = self.latency_queue.front() else { return };
        if due > now || !self.room[usize::from(write)] {
            return;
        }
        self.latency_queue.drop_front(1);
        let entry = &mut self.entries[id.into()];
        let (bank, row) = map.bank_and_row(entry.request.address);
        let bank = if self.bank_hash { bank ^ row } else { bank } % self.banks;
        (entry.bank, entry.row) = (bank as u8, row);
        let request = Queued { id, bank: entry.bank, row, write };
        self.scheduler.push(request);
        self.note_queue();
        self.counters.requests += 1;
    }

    /// The first cycle after `now` in which anything can happen, where no bank can take a request and the channel none
    /// of a slice.
    #[inline(always)]
    fn due_after(&self, now: u64, slices: &[Slice]) -> u64 {
        let soon = now + 1;
        let mut due = NEVER_TICK;
        if let Some(&id) = self.return_queue.front()
            && slices[usize::from(self.entries[id.into()].slice)].has_room_from_dram()
        {
            return soon;
        }
        if !self.return_queue_full() {
            due = due.min(self.data.next_due());
        }
        due = due.min(self.columns_due).min(self.rows_due);
        if self.room != [false; 2]
            && let Some(&(at, _, write)) = self.latency_queue.front()
            && at < due
            && self.room[usize::from(write)]
        {
            due = at;
        }
        due.max(soon)
    }
}

kit::persist! {
    new struct Entry { request, since, slice, bank, row, sent_bytes, moved_bytes }
    struct Channel {
        credits, offering, latency_queue, scheduler, room, choosable, can_choose, serving, busy, wanting, active, open_row, first_bank, rules, next_refresh,
        data, return_queue, entries, columns_due, rows_due, next_tick, woken, counters;
        skip latency_core_cycles, clock, banks, all_banks, dual_bus, return_entries, burst_bytes, bank_hash
    }
}

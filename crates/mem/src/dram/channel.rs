//! One DRAM channel: queues, banks, command and data bus.
//!
//! [`Channel::tick`] does one command cycle and says when the next one is due in which anything can
//! happen; the cycles between are never visited.

use super::credits::Credits;
use super::data_pipe::DataPipe;
use super::scheduler::{Banks, Policy, Queued, Scheduler};
use super::timing::{Command, Rules};
use super::{AddressMap, DramCounters, NEVER_TICK};
use crate::clock::Ratio;
use crate::partition::{FromDram, Side, Slice, ToDram};
use kit::Slab;
use kit::bits::set_bits;
use std::collections::VecDeque;

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

/// Fields are in the order in which a request passes them.
#[derive(Clone, Debug)]
pub(crate) struct Channel {
    credits: Credits,
    /// Fixed latency: (due, request).
    latency_queue: VecDeque<(u64, u16)>,
    /// The fixed latency in core cycles: GPGPU-Sim counts it in those.
    latency_core_cycles: u64,
    /// From core cycles to command cycles.
    clock: Ratio,
    /// The request that enters the scheduler's queue in the next cycle.
    arriving: Option<Queued>,
    scheduler: Scheduler,
    /// The request that each bank serves.
    serving: Box<[u16]>,
    busy: u64,
    all_banks: u64,
    /// Banks by the command that they need next, indexed by [`Command`].
    wanting: [u64; 4],
    /// That command of each bank, as an index; 0 for banks that serve no request.
    needed: Box<[u8]>,
    /// The cycle from which the bank and its group can take it; [`NEVER_TICK`] for banks that serve no request.
    able_from: Box<[u64]>,
    active: u64,
    open_row: Box<[u32]>,
    first_bank: u32,
    rules: Rules,
    /// When the next refresh begins, if there are any.
    next_refresh: u64,
    dual_bus: bool,
    data: DataPipe,
    return_queue: VecDeque<u16>,
    return_entries: usize,
    entries: Slab<Entry>,
    burst_bytes: u32,
    bank_hash: bool,
    /// The first cycle in which a command can go, unless banks get new requests.
    commands_due: u64,
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
        let banks = dram.timing.nbk.clamp(1, 64) as usize;
        Self {
            credits: Credits::new(dram, slices),
            latency_queue: VecDeque::new(),
            latency_core_cycles: clock.nearest_source(u64::from(dram.latency_cycles)),
            clock,
            arriving: None,
            scheduler: Scheduler::new(dram, banks),
            serving: vec![NO_REQUEST; banks].into(),
            busy: 0,
            all_banks: u64::MAX >> (64 - banks),
            wanting: [0; 4],
            needed: vec![0; banks].into(),
            able_from: vec![NEVER_TICK; banks].into(),
            active: 0,
            open_row: vec![0; banks].into(),
            first_bank: 0,
            next_refresh: if rules.timing().nREFI == 0 { NEVER_TICK } else { rules.timing().nREFI },
            dual_bus: dram.dual_command_bus,
            data: DataPipe::new(rules.timing().nCL),
            rules,
            return_queue: VecDeque::new(),
            return_entries: if dram.return_queue == 0 { 1024 } else { dram.return_queue as usize },
            entries: Slab::default(),
            burst_bytes: (dram.burst_length * dram.bus_bytes * dram.chips_per_channel).max(1),
            bank_hash: dram.bank_hash,
            commands_due: NEVER_TICK,
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

    /// Requests in the channel.
    pub fn in_flight(&self) -> usize {
        self.entries.len()
    }

    pub fn counters(&self) -> &DramCounters {
        &self.counters
    }

    /// One command cycle. `slices` are the channel's own. Gives a mask of the slices that got
    /// data or room.
    pub fn tick(&mut self, now: u64, map: &AddressMap, slices: &mut [Slice]) -> u64 {
        self.woken = 0;
        self.refresh(now);
        self.return_to_slice(now, slices);
        self.move_data(now);
        if let Some(bank) = self.schedule() {
            let command = Command::ALL[usize::from(self.needed[bank])];
            self.commands_due = self.commands_due.min(self.able_from[bank].max(self.rules.common(command)));
        }
        if self.commands_due <= now {
            self.issue_commands(now);
            self.commands_due = self.next_command(now + 1);
        }
        // Nothing enters or leaves the scheduler's queue any more in this cycle.
        let room = [self.scheduler.has_room(false), self.scheduler.has_room(true)];
        let more = self.accept_from_slices(now, room, slices);
        self.enter_scheduler(now, room, map);
        if self.return_queue_full() {
            self.data.freeze(now + 1);
        }
        self.next_tick = if more { now + 1 } else { self.due_after(now, room, slices) };
        self.woken
    }

    /// All banks are refreshed at fixed times, whatever they do: the last one until `now` closes their rows.
    #[inline]
    fn refresh(&mut self, now: u64) {
        if now < self.next_refresh {
            return;
        }
        let interval = self.rules.timing().nREFI;
        let start = now / interval * interval;
        self.next_refresh = start + interval;
        self.rules.refresh(start);
        self.active = 0;
        (0..self.serving.len()).for_each(|bank| self.note_needs(bank));
        self.commands_due = now;
    }

    /// One finished request goes back to its slice, if that has room.
    fn return_to_slice(&mut self, now: u64, slices: &mut [Slice]) {
        let Some(&id) = self.return_queue.front() else { return };
        let Entry { request, since, slice, .. } = self.entries[id.into()];
        if slices[usize::from(slice)].take_from_dram(request.answer) {
            self.return_queue.pop_front();
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

    /// One free bank takes a request, if there is one for it.
    #[inline]
    fn schedule(&mut self) -> Option<usize> {
        if let Some(request) = self.arriving.take() {
            self.scheduler.push(request);
        }
        if !self.scheduler.can_choose(self.free_banks()) {
            return None;
        }
        let banks = Banks { free: self.free_banks(), first: self.first_bank, open_row: &self.open_row };
        let choice = self.scheduler.choose(banks)?;
        let bank = usize::from(choice.request.bank);
        self.serving[bank] = choice.request.id;
        self.busy |= 1 << bank;
        self.note_needs(bank);
        if choice.rotate {
            self.first_bank = self.after(self.first_bank);
        }
        self.counters.scheduled += 1;
        self.counters.row_hits += u64::from(choice.row_hit && self.active >> bank & 1 != 0);
        Some(bank)
    }

    /// Banks that serve no request.
    #[inline]
    fn free_banks(&self) -> u64 {
        self.all_banks & !self.busy
    }

    /// The command that `bank` needs next for the request that it serves.
    fn needs(&self, bank: usize) -> Command {
        let entry = &self.entries[self.serving[bank].into()];
        if self.active >> bank & 1 == 0 {
            Command::Activate
        } else if self.open_row[bank] != entry.row {
            Command::Precharge
        } else if entry.request.write {
            Command::Write
        } else {
            Command::Read
        }
    }

    /// Notes the command that `bank` needs next.
    fn note_needs(&mut self, bank: usize) {
        self.wanting.iter_mut().for_each(|w| *w &= !(1 << bank));
        (self.needed[bank], self.able_from[bank]) = (0, NEVER_TICK);
        if self.busy >> bank & 1 != 0 {
            let command = self.needs(bank);
            self.wanting[command as usize] |= 1 << bank;
            self.needed[bank] = command as u8;
            self.able_from[bank] = self.rules.local(command, bank);
        }
    }

    /// The first of `banks`, from `first_bank` on, that needs one of two commands and can take it now.
    #[inline]
    fn first_ready(&self, commands: [Command; 2], banks: u64, now: u64) -> Option<usize> {
        let wanting = commands.map(|c| if self.rules.common(c) <= now { self.wanting[c as usize] } else { 0 });
        let candidates = (wanting[0] | wanting[1]) & banks;
        let behind = (1 << self.first_bank) - 1;
        let mut parts = [candidates & !behind, candidates & behind].into_iter();
        parts.find_map(|part| set_bits(part).find(|&bank| self.able_from[bank] <= now))
    }

    /// First cycle from `soon` on in which some command can go.
    fn next_command(&self, soon: u64) -> u64 {
        Command::ALL.into_iter().map(|c| self.ready_from(c, soon)).fold(NEVER_TICK, u64::min)
    }

    /// First cycle from `soon` on in which `command` can go to some bank that needs it.
    #[inline]
    fn ready_from(&self, command: Command, soon: u64) -> u64 {
        let wanting = self.wanting[command as usize];
        if wanting == 0 {
            return NEVER_TICK;
        }
        let (floor, mut first) = (self.rules.common(command).max(soon), NEVER_TICK);
        for bank in set_bits(wanting) {
            let able_from = self.able_from[bank];
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
    fn issue_commands(&mut self, now: u64) {
        const COLUMN: [Command; 2] = [Command::Read, Command::Write];
        let column = self.first_ready(COLUMN, self.all_banks, now).filter(|_| !self.data.is_full(now));
        let row = self.first_ready([Command::Activate, Command::Precharge], self.all_banks, now);
        match (column, row) {
            (Some(column), Some(row)) if !self.dual_bus && self.distance(row) > self.distance(column) => {
                self.issue_column(column, now);
            }
            (Some(column), None) => self.issue_column(column, now),
            (None, Some(row)) => self.issue_row(row, now),
            (Some(column), Some(row)) => {
                let column = if self.dual_bus {
                    Some(column)
                } else {
                    // GPGPU-Sim moves its starting point past the row's bank at once, and so skips as many
                    // banks as it had looked at.
                    self.first_ready(COLUMN, self.banks_from(2 * self.distance(row) + 2), now)
                };
                if let Some(column) = column {
                    self.issue_column(column, now);
                    self.counters.double_commands += 1;
                }
                self.issue_row(row, now);
            }
            (None, None) => {}
        }
    }

    /// The banks at a distance of at least `distance` from `first_bank`.
    fn banks_from(&self, distance: u32) -> u64 {
        let banks = self.serving.len() as u32;
        let near = ((1u128 << distance.min(banks)) - 1) << self.first_bank;
        self.all_banks & !(near | near >> banks) as u64
    }

    /// The distance of `bank` from `first_bank`, cyclically.
    fn distance(&self, bank: usize) -> u32 {
        let banks = self.serving.len() as u32;
        (bank as u32 + banks - self.first_bank) % banks
    }

    fn issue_column(&mut self, bank: usize, now: u64) {
        let id = self.serving[bank];
        let command = self.needs(bank);
        let t = *self.rules.timing();
        self.rules.issue(command, bank, now);
        let latency = if command == Command::Read { t.nCL } else { t.nWL };
        self.data.push(id, now, latency);
        let entry = &mut self.entries[id.into()];
        entry.sent_bytes += self.burst_bytes;
        if entry.sent_bytes >= entry.request.bytes {
            self.serving[bank] = NO_REQUEST;
            self.busy &= !(1 << bank);
            self.note_needs(bank);
        }
        // The group takes columns and closes rows later now.
        for other in set_bits(self.busy & self.rules.group(bank)) {
            let command = Command::ALL[usize::from(self.needed[other])];
            self.able_from[other] = self.rules.local(command, other);
        }
        match command {
            Command::Read => self.counters.read_commands += 1,
            _ => self.counters.write_commands += 1,
        }
        self.counters.data_bus_busy += t.nBL;
    }

    fn issue_row(&mut self, bank: usize, now: u64) {
        let command = self.needs(bank);
        self.rules.issue(command, bank, now);
        if command == Command::Activate {
            self.open_row[bank] = self.entries[self.serving[bank].into()].row;
            self.active |= 1 << bank;
            self.counters.activates += 1;
        } else {
            self.active &= !(1 << bank);
            self.counters.precharges += 1;
        }
        self.note_needs(bank);
        self.first_bank = self.after(bank as u32);
    }

    /// The bank after `bank`, cyclically.
    #[inline]
    fn after(&self, bank: u32) -> u32 {
        if bank as usize + 1 < self.serving.len() { bank + 1 } else { 0 }
    }

    /// Takes one request from the slices, in turn, into the latency queue; returns whether another
    /// one could be taken. `room` is the scheduler's, for reads and writes.
    fn accept_from_slices(&mut self, now: u64, room: [bool; 2], slices: &mut [Slice]) -> bool {
        let mut s = self.credits.last;
        for _ in 0..slices.len() {
            s = if s + 1 < slices.len() { s + 1 } else { 0 };
            match self.may_take(s, &slices[s], room) {
                None => {}
                // The one whose turn it is holds up the others, until a bank takes a request.
                Some(false) => return false,
                Some(true) => {
                    self.woken |= u64::from(slices[s].is_full_towards(Side::Dram)) << s;
                    let request = slices[s].pop_to_dram().expect("just seen");
                    let slice = s as u8;
                    let entry = Entry { request, since: now, slice, bank: 0, row: 0, sent_bytes: 0, moved_bytes: 0 };
                    let id = self.entries.insert(entry) as u16;
                    self.credits.take(s);
                    self.latency_queue.push_back((self.latency_over(now), id));
                    return slices.iter().enumerate().any(|(s, slice)| self.may_take(s, slice, room) == Some(true));
                }
            }
        }
        false
    }

    /// Whether slice `s` has a request that the scheduler has room for; `None` if it has none, or
    /// has no place for it or for its reply.
    #[inline]
    fn may_take(&self, s: usize, slice: &Slice, room: [bool; 2]) -> Option<bool> {
        let request = slice.next_to_dram()?;
        (self.credits.has(s) && slice.has_room_from_dram()).then(|| room[usize::from(request.write)])
    }

    /// The command cycle in which the fixed latency of a request taken at `now` is over: the first one
    /// after that many core cycles.
    fn latency_over(&self, now: u64) -> u64 {
        let core_cycle = self.clock.first_source_at(now) + self.latency_core_cycles;
        core_cycle.checked_sub(1).map_or(now, |before| self.clock.floor(before) + 1)
    }

    /// One request whose fixed latency is over goes to the scheduler, which sees it next cycle.
    fn enter_scheduler(&mut self, now: u64, room: [bool; 2], map: &AddressMap) {
        let Some(&(due, id)) = self.latency_queue.front() else { return };
        let entry = &mut self.entries[id.into()];
        let write = entry.request.write;
        if due > now || !room[usize::from(write)] {
            return;
        }
        self.latency_queue.pop_front();
        let banks = self.serving.len() as u32;
        let (bank, row) = map.bank_and_row(entry.request.address);
        let bank = if self.bank_hash { bank ^ row } else { bank } % banks;
        (entry.bank, entry.row) = (bank as u8, row);
        self.arriving = Some(Queued { id, bank: entry.bank, row, write });
        self.counters.requests += 1;
    }

    /// The first cycle after `now` in which anything can happen, where no slice has a request that can be taken.
    fn due_after(&self, now: u64, room: [bool; 2], slices: &[Slice]) -> u64 {
        let soon = now + 1;
        if self.arriving.is_some() || self.scheduler.can_choose(self.free_banks()) {
            return soon;
        }
        let mut due = NEVER_TICK;
        if let Some(&id) = self.return_queue.front()
            && slices[usize::from(self.entries[id.into()].slice)].has_room_from_dram()
        {
            return soon;
        }
        if !self.return_queue_full() {
            due = due.min(self.data.next_due());
        }
        if let Some(&(at, id)) = self.latency_queue.front()
            && room[usize::from(self.entries[id.into()].request.write)]
        {
            due = due.min(at);
        }
        due.min(self.commands_due).max(soon)
    }
}

kit::persist! {
    new struct Entry { request, since, slice, bank, row, sent_bytes, moved_bytes }
    struct Channel {
        credits, latency_queue, arriving, scheduler, serving, busy, wanting, needed, able_from, active, open_row, first_bank, rules,
        next_refresh, data, return_queue, entries, commands_due, next_tick, woken, counters;
        skip latency_core_cycles, clock, all_banks, dual_bus, return_entries, burst_bytes, bank_hash
    }
}

//! Dependences through registers: by name, or with every write to a register of its own.

use super::waits::{AllWaiters, Cause, Entry, Places, Waits, wait};
use isa::{Access, RegFile, RegId, WarpSlot};
use kit::bits::set_bits;
use sm::MOST_WARPS;
use sm::PerWarp;
use sm::Window;
use sm::widened;
use sm::{InFlight, InstId};

/// No instruction.
const NONE: InstId = InstId(u16::MAX);

/// A register of a warp.
#[derive(Clone, Copy, Debug)]
struct Register {
    /// Lanes that the writer gives or has waited for.
    lanes: u32,
    /// Its youngest writer, if that is in flight.
    writer: InstId,
}

impl Default for Register {
    fn default() -> Self {
        Self { lanes: 0, writer: NONE }
    }
}

/// Who reads and writes the registers of each warp.
#[derive(Debug)]
pub(super) struct Registers {
    renames: bool,
    /// `stride` for each warp.
    of: Vec<Register>,
    /// Likewise, places after the writer that read it and have not issued. Empty if registers are
    /// renamed.
    readers: Vec<Places>,
    stride: usize,
    /// Issued, with vector registers still to read. Empty if registers are renamed.
    reading: PerWarp<Vec<InstId>, u128>,
}

/// Why a reader of what `writer` produces waits.
#[inline]
pub(super) fn raw(writer: &InFlight) -> Cause {
    let by_memory = writer.mem.is_some_and(|m| m.access != Access::Store);
    if by_memory { Cause::RawMemory } else { Cause::Raw }
}

impl Registers {
    pub fn new(renames: bool) -> Self {
        Self { renames, of: Vec::new(), readers: Vec::new(), stride: 0, reading: PerWarp::from_fn(|_| Vec::new()) }
    }

    /// A warp with registers `regs` starts.
    pub fn start_warp(&mut self, warp: WarpSlot, regs: &RegFile) {
        if regs.count() > self.stride {
            self.widen(regs.count().next_multiple_of(64));
        }
        debug_assert!(self.of(warp).iter().all(|r| r.writer == NONE), "left by a former warp");
        debug_assert!(self.reading[warp.index()].is_empty());
    }

    /// A kernel with more registers than any before it has come.
    fn widen(&mut self, stride: usize) {
        self.of = widened(&self.of, self.stride, MOST_WARPS, stride, Register::default());
        if !self.renames {
            self.readers = widened(&self.readers, self.stride, MOST_WARPS, stride, Default::default());
        }
        self.stride = stride;
    }

    #[inline]
    fn of(&mut self, warp: WarpSlot) -> &mut [Register] {
        &mut self.of[warp.index() * self.stride..][..self.stride]
    }

    /// `id`, the youngest of its warp, comes to the place `mine` of its warp, whose places hold
    /// `entries`. Gives what it waits for.
    #[inline]
    pub fn enter(
        &mut self,
        window: Window<'_>,
        id: InstId,
        mine: Places,
        entries: &[Entry],
        waiters: &mut AllWaiters,
    ) -> Waits {
        let mut waits = Waits::default();
        let inst = window.inst(id);
        let registers = &mut self.of[inst.warp.index() * self.stride..][..self.stride];
        for reg in window.srcs(id) {
            let writer = registers[reg.index()].writer;
            if writer != NONE {
                wait(&mut waiters.to_go_on[writer.index()].result, mine, &mut waits, raw(window.inst(writer)));
            }
        }
        if self.renames {
            for reg in window.dsts(id) {
                let Register { lanes, writer } = &mut registers[reg.index()];
                let covers = *writer == NONE || *lanes & !inst.mask == 0;
                if !covers {
                    wait(&mut waiters.to_go_on[writer.index()].result, mine, &mut waits, raw(window.inst(*writer)));
                }
                *lanes = if covers { inst.mask } else { *lanes | inst.mask };
                *writer = id;
            }
        } else {
            self.enter_by_name(window, id, mine, entries, waiters, &mut waits);
        }
        waits
    }

    /// Without renaming: `id` also waits for older writes and reads of what it writes.
    #[inline]
    fn enter_by_name(
        &mut self,
        window: Window<'_>,
        id: InstId,
        mine: Places,
        entries: &[Entry],
        waiters: &mut AllWaiters,
        waits: &mut Waits,
    ) {
        let inst = window.inst(id);
        let vectors = window.code(id).program.regs.vector;
        let range = inst.warp.index() * self.stride..(inst.warp.index() + 1) * self.stride;
        let (registers, readers_of) = (&mut self.of[range.clone()], &mut self.readers[range]);
        let waiters = &mut waiters.to_write;
        let (mut readers, mut readers_at_issue) = (0, 0);
        for reg in window.dsts(id) {
            let writer = std::mem::replace(&mut registers[reg.index()].writer, id);
            if writer != NONE && writer != id {
                wait(&mut waiters[writer.index()].result, mine, waits, Cause::Waw);
            }
            let of_reg = std::mem::take(&mut readers_of[reg.index()]);
            *(if reg.0 < vectors { &mut readers } else { &mut readers_at_issue }) |= of_reg;
        }
        for older in set_bits(readers) {
            wait(&mut waiters[entries[older].id.index()].read, mine, waits, Cause::War);
        }
        for older in set_bits(readers_at_issue) {
            wait(&mut waiters[entries[older].id.index()].issue, mine, waits, Cause::War);
        }
        for &older in &self.reading[inst.warp.index()] {
            if will_read(window, older, id) {
                wait(&mut waiters[older.index()].read, mine, waits, Cause::War);
            }
        }
        // If an instruction also writes a source, younger writers wait for that write.
        for reg in window.srcs(id) {
            readers_of[reg.index()] |= if registers[reg.index()].writer == id { 0 } else { mine };
        }
    }

    /// `id`, at the place `mine`, issues.
    #[inline]
    pub fn issue(&mut self, window: Window<'_>, id: InstId, mine: Places) {
        if self.renames {
            return;
        }
        let inst = window.inst(id);
        let readers = &mut self.readers[inst.warp.index() * self.stride..][..self.stride];
        window.srcs(id).iter().for_each(|reg| readers[reg.index()] &= !mine);
        if !window.vector_srcs(id).is_empty() {
            self.reading[inst.warp.index()].push(id);
        }
    }

    /// `id` has read its registers.
    #[inline]
    pub fn has_read(&mut self, window: Window<'_>, id: InstId) {
        let reading = &mut self.reading[window.inst(id).warp.index()];
        if let Some(place) = reading.iter().position(|&r| r == id) {
            reading.swap_remove(place);
        }
    }

    /// `id` has written its registers.
    #[inline]
    pub fn has_written(&mut self, window: Window<'_>, id: InstId) {
        let registers = self.of(window.inst(id).warp);
        for reg in window.dsts(id) {
            let writer = &mut registers[reg.index()].writer;
            *writer = if *writer == id { NONE } else { *writer };
        }
    }
}

/// Whether `older`, issued, has yet to read a vector register that `id` writes.
#[inline]
fn will_read(window: Window<'_>, older: InstId, id: InstId) -> bool {
    let (reader, writer) = (window.names(older), window.names(id));
    let may = reader.reads.meets(&writer.writes) || window.inst(id).is_wide;
    let reads = |reg: &RegId| window.vector_srcs(older).contains(reg);
    may && window.dsts(id).iter().any(reads)
}

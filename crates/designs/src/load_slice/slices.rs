//! Iterative backward dependency analysis: the instruction slice table (IST) and the register dependence table
//! (RDT).

use isa::{Access, Control, RegFile, RegId, WarpSlot};
use sm::Window;
use sm::widened;
use sm::{Each, Structure};
use sm::{InFlight, InstId};

/// Number of an instruction in memory: its address by the bytes of one.
type Place = u32;

/// No instruction.
const NONE: Place = Place::MAX;

/// Registers and predicates of a warp in machine code.
const REGISTERS: usize = 263;

/// Bits of an instruction's address without those within an instruction of 16 bytes: an address of 32 bits,
/// a guess.
const PLACE_BITS: usize = 28;

/// Whether `inst` goes through queue B whatever the IST says: every access but stores and reductions, which wait
/// for data and bring nothing back.
#[inline]
pub(super) fn loads(inst: &InFlight) -> bool {
    inst.control == Control::None && inst.mem.is_some_and(|m| !stores(m.access))
}

/// Whether an access has data beside its address and no result.
#[inline]
fn stores(access: Access) -> bool {
    matches!(access, Access::Store | Access::Reduction)
}

/// An entry of the IST.
#[derive(Clone, Copy, Debug)]
struct Entry {
    place: Place,
    /// When it was last used, in uses of the table.
    used: u64,
}

/// The two tables of an SM.
#[derive(Debug)]
pub(super) struct Slices {
    /// The IST, set by set.
    entries: Box<[Entry]>,
    ways: usize,
    uses: u64,
    /// The RDT: who wrote the registers of each warp last, `stride` for each warp. Without what needs no entry
    /// in the IST or may not have one.
    writers: Vec<Place>,
    stride: usize,
    warps: usize,
    learns: bool,
}

impl Slices {
    /// Empty tables: an IST of `entries` in `ways`, an RDT for `warps` warps. Unless it `learns` there are none.
    pub fn new((entries, ways): (usize, usize), warps: usize, learns: bool) -> Self {
        let entries = vec![Entry { place: NONE, used: 0 }; entries].into();
        Self { entries, ways, uses: 0, writers: Vec::new(), stride: 0, warps, learns }
    }

    /// A warp with registers `regs` starts: none of them has been written.
    pub fn start_warp(&mut self, warp: WarpSlot, regs: &RegFile) {
        if !self.learns || warp.index() >= self.warps {
            return;
        }
        if regs.count() > self.stride {
            let stride = regs.count().next_multiple_of(64);
            self.writers = widened(&self.writers, self.stride, self.warps, stride, NONE);
            self.stride = stride;
        }
        self.of_warp(warp).fill(NONE);
    }

    fn of_warp(&mut self, warp: WarpSlot) -> &mut [Place] {
        &mut self.writers[warp.index() * self.stride..][..self.stride]
    }

    /// Whether the arithmetic instruction `id` makes an address, as far as the IST knows.
    #[inline]
    pub fn makes_address(&mut self, window: Window<'_>, id: InstId) -> bool {
        self.learns && self.use_entry(place(window, id)).is_some()
    }

    /// One step backward from `id`, which is decoded and is an access or has been found in the IST if `in_slice`;
    /// then `id` is the last writer of its results.
    pub fn follow(&mut self, window: Window<'_>, id: InstId, in_slice: bool) {
        let inst = window.inst(id);
        if !self.learns || inst.warp.index() >= self.warps {
            return;
        }
        if in_slice {
            for reg in address_sources(window, id) {
                let writer = self.of_warp(inst.warp)[reg.index()];
                self.insert(writer);
            }
        }
        let may_enter = inst.mem.is_none() && inst.control == Control::None;
        let writer = if may_enter { place(window, id) } else { NONE };
        let writers = self.of_warp(inst.warp);
        window.dsts(id).iter().for_each(|reg| writers[reg.index()] = writer);
    }

    /// The set of `place`.
    #[inline]
    fn set(&mut self, place: Place) -> &mut [Entry] {
        let sets = self.entries.len() / self.ways;
        &mut self.entries[place as usize % sets * self.ways..][..self.ways]
    }

    /// The entry of `place`, if there is one, used now.
    #[inline]
    fn use_entry(&mut self, place: Place) -> Option<&mut Entry> {
        self.uses += 1;
        let now = self.uses;
        let entry = self.set(place).iter_mut().find(|entry| entry.place == place)?;
        entry.used = now;
        Some(entry)
    }

    /// `place` has an entry from now on, if need be the least recently used one of its set.
    fn insert(&mut self, place: Place) {
        if place == NONE || self.use_entry(place).is_some() {
            return;
        }
        let used = self.uses;
        let oldest = self.set(place).iter_mut().min_by_key(|entry| entry.used).expect("a set has a way");
        *oldest = Entry { place, used };
    }

    /// As hardware; `decoded` instructions of a warp come in a cycle.
    pub fn structures(&self, decoded: usize) -> Vec<Structure> {
        if !self.learns {
            return Vec::new();
        }
        let (ways, sets) = (self.ways, self.entries.len() / self.ways);
        let tag = PLACE_BITS - sets.next_power_of_two().trailing_zeros() as usize;
        let age = ways.next_power_of_two().trailing_zeros() as usize;
        vec![
            Structure::new("instruction slice table (IST)", 1, self.entries.len(), 1 + tag + age)
                .ports(decoded, decoded)
                .compares(decoded * ways * tag)
                .searched(Each::Instruction.times(1))
                // Once the slices are known nothing enters: what is written are the ages.
                .written(Each::Instruction.times(1)),
            // Three sources at a time. Looked up are those of accesses and of slices, about as many: two each. Writes
            // are counted as if all warps had rows.
            Structure::new("register dependence table (RDT)", self.warps, REGISTERS, 1 + PLACE_BITS)
                .ports(3 * decoded, decoded)
                .read(Each::Access.times(4))
                .written(Each::Result.times(1)),
        ]
    }
}

/// Where `id` is in memory.
#[inline]
fn place(window: Window<'_>, id: InstId) -> Place {
    let program = &window.code(id).program;
    (program.address(window.inst(id).pc) / u64::from(program.inst_bytes)) as Place
}

/// The registers that the address of `id` is made of, or its result: all sources, except the data of a store,
/// which come after its address (D6).
fn address_sources(window: Window<'_>, id: InstId) -> &[RegId] {
    let (sources, vectors) = (window.srcs(id), window.vector_srcs(id));
    let data = window.inst(id).mem.filter(|m| stores(m.access)).map(|m| usize::from(m.bytes).div_ceil(4));
    data.map_or(sources, |data| &vectors[..vectors.len().saturating_sub(data).max(1).min(vectors.len())])
}

kit::persist! {
    struct Entry { place, used }
    struct Slices { entries, uses; skip ways, writers, stride, warps, learns }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_entry_used_least_recently_is_replaced() {
        let mut slices = Slices::new((4, 2), 1, true);
        for place in [2, 4, 3] {
            slices.insert(place);
        }
        assert!(slices.use_entry(2).is_some(), "after 4, in its set");
        slices.insert(6);
        let known = [2, 3, 4, 6].map(|place| slices.use_entry(place).is_some());
        assert_eq!(known, [true, true, false, true]);
    }
}

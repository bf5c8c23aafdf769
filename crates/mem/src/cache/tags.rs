//! Tag array: lines and the state of their sectors. The replacement policy follows each line.
//!
//! Lines are numbered in the order of their first use. Lines that have not been used exist only as
//! a count, so that a large cache costs the host no memory before it is used.

use super::index::SetIndex;
use super::lookup::Lookup;
use super::replacement::{Place, Replacement};
use crate::dram::AddressMap;
use config::Allocate;
use kit::bits::set_bits;
use std::ops::Range;

/// Sectors (atoms) of a line as a bit mask; a line that is not sectored has one atom.
pub(super) type Atoms = u8;

/// The atoms (sectors, or the one line) of a cache's lines, all set.
pub(super) fn sectors_of(config: &config::Cache) -> Atoms {
    let sectors = if config.sectored { (config.line_bytes / 32).clamp(1, 4) } else { 1 };
    ((1u32 << sectors) - 1) as Atoms
}

#[derive(Clone, Debug)]
struct Line {
    block: u64,
    set: u32,
    place: Place,
    reserved: Atoms,
    valid: Atoms,
    modified: Atoms,
    /// Modified sectors of which every byte is known.
    readable: Atoms,
    modified_on_fill: Atoms,
}

impl Line {
    /// A line of `set` that holds nothing, pinned.
    const fn empty(set: u32) -> Self {
        Self {
            block: u64::MAX,
            set,
            place: Place::Pinned,
            reserved: 0,
            valid: 0,
            modified: 0,
            readable: 0,
            modified_on_fill: 0,
        }
    }

    /// Notes the place that its state gives the line, which has number `id`.
    #[inline(always)]
    fn note_place(&mut self, id: u32, replacement: &mut Replacement) {
        let place = match (self.reserved, self.modified) {
            (0, 0) => Place::Clean,
            (0, _) => Place::Dirty,
            _ => Place::Pinned,
        };
        if place != self.place {
            self.place = place;
            replacement.move_to(id, self.set, place);
        }
    }
}

/// Number of no line.
pub(super) const NO_LINE: u32 = u32::MAX;

/// State of a request's line and sectors in the tags.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Probe {
    /// The sector is there.
    Hit(u32),
    /// The sector is under way.
    Reserved(u32),
    /// The line is there, the sector (or the rest of it) is not.
    SectorMiss(u32),
    /// The line is not there; this one of its set may become it ([`NO_LINE`] if none is needed until it comes).
    Miss { line: u32, set: u32 },
    /// The line is not there and no line may go.
    Full,
}

/// The part of a line that a write covers: the same bytes of some sectors.
#[derive(Clone, Copy, Debug)]
pub(super) struct Written {
    /// The sectors, as a mask.
    pub sectors: u32,
    /// Bytes of each of them, as a mask.
    pub bytes: u32,
}

impl Written {
    /// The whole line.
    pub const LINE: Self = Self { sectors: 0b1111, bytes: u32::MAX };
}

/// Dirty sectors of a line that had to go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Evicted {
    pub block: u64,
    pub modified: Atoms,
    pub bytes: [u32; 4],
}

#[derive(Clone, Debug)]
pub(super) struct Tags {
    /// Those that have ever been used.
    lines: Vec<Line>,
    /// How many of them are of each set.
    used_ways: Box<[u32]>,
    ways: u32,
    holds_writes: bool,
    /// Bytes written per sector; empty for caches that hold no writes.
    dirty_bytes: Vec<[u32; 4]>,
    by_block: Lookup,
    index: SetIndex,
    line_shift: u32,
    all_atoms: Atoms,
    /// The sectors of a line, whether it is sectored or not.
    all_sectors: Atoms,
    replacement: Replacement,
    /// Lines are taken at the miss, not at the fill.
    allocate_on_miss: bool,
    /// Dirty lines may go only once this many lines are dirty.
    dirty_limit: u32,
    dirty_lines: u32,
}

impl Tags {
    /// `dirty_limit_percent` of the lines must be dirty before one of them may be replaced.
    pub fn new(config: &config::Cache, dirty_limit_percent: u32) -> Self {
        let (sets, ways) = (config.sets.max(1), config.ways.max(1));
        let count = sets as usize * ways as usize;
        let line_shift = config.line_bytes.max(32).next_power_of_two().trailing_zeros();
        let holds_writes = config.write != config::WritePolicy::ReadOnly;
        Self {
            lines: Vec::new(),
            used_ways: vec![0; sets as usize].into(),
            ways,
            holds_writes,
            dirty_bytes: Vec::new(),
            by_block: Lookup::new(count),
            index: SetIndex::new(config.index, sets, line_shift),
            line_shift,
            all_atoms: sectors_of(config),
            all_sectors: sectors_of(&config::Cache { sectored: true, ..config.clone() }),
            replacement: Replacement::new(config.replacement, sets, ways),
            allocate_on_miss: config.allocate == Allocate::OnMiss,
            dirty_limit: (count as u64 * u64::from(dirty_limit_percent)).div_ceil(100) as u32,
            dirty_lines: 0,
        }
    }

    /// The same for a slice of an L2 that addresses are spread over by `map`.
    pub fn within_slice(self, map: &AddressMap) -> Self {
        Self { index: self.index.within_slice(map), ..self }
    }

    /// The line of `block`, if it is there.
    #[inline]
    fn find(&self, block: u64) -> Option<u32> {
        self.by_block.get(block, |id| self.lines[id as usize].block)
    }

    /// Shift from a byte address to a block number.
    pub const fn line_shift(&self) -> u32 {
        self.line_shift
    }

    /// Looks up `atoms` of `block`, to which `address` belongs, without changing anything.
    #[inline(always)]
    pub fn probe(&self, block: u64, address: u64, atoms: Atoms, write: bool) -> Probe {
        if let Some(id) = self.find(block) {
            let line = &self.lines[id as usize];
            let there = line.valid | if write { line.modified } else { line.modified & line.readable };
            return if line.reserved & atoms != 0 {
                Probe::Reserved(id)
            } else if there & atoms == atoms {
                Probe::Hit(id)
            } else {
                Probe::SectorMiss(id)
            };
        }
        // Where lines are taken at the fill, only a write may need one now.
        if !self.allocate_on_miss && !write {
            return Probe::Miss { line: NO_LINE, set: 0 };
        }
        let set = self.index.of(address);
        self.victim(set).map_or(Probe::Full, |line| Probe::Miss { line, set })
    }

    /// The line that goes next in `set`; one that is not there yet if none has to.
    #[inline]
    fn victim(&self, set: u32) -> Option<u32> {
        if let Some(free) = self.replacement.free(set) {
            return Some(free);
        }
        if self.used_ways[set as usize] < self.ways {
            return Some(self.lines.len() as u32);
        }
        let dirty_may_go = self.dirty_lines >= self.dirty_limit;
        self.replacement.victim(set, dirty_may_go).or_else(|| self.only_dirty(set))
    }

    /// The victim in a set that has nothing but dirty lines, so that waiting for a clean one would
    /// never end. GPGPU-Sim waits.
    #[cold]
    fn only_dirty(&self, set: u32) -> Option<u32> {
        let only_dirty = self.replacement.dirty_lines(set) == self.ways;
        if only_dirty { self.replacement.victim(set, true) } else { None }
    }

    /// Notes a use of line `id`.
    #[inline]
    pub fn touch(&mut self, id: u32) {
        let line = &self.lines[id as usize];
        self.replacement.hit(id, line.set, line.place);
    }

    /// Takes a line for `block`, to which `address` belongs, and reserves `atoms` of it; gives what had to go.
    #[cfg(test)]
    pub fn allocate(&mut self, block: u64, address: u64, atoms: Atoms) -> (u32, Option<Evicted>) {
        let Probe::Miss { line, set } = self.probe(block, address, atoms, false) else { panic!("there is room") };
        (line, self.replace(line, set, block, atoms))
    }

    /// Line `id` of `set`, which [`Probe::Miss`] gave, becomes `block`'s, with `atoms` reserved; gives what had to
    /// go.
    pub fn replace(&mut self, id: u32, set: u32, block: u64, atoms: Atoms) -> Option<Evicted> {
        let evicted = if id as usize == self.lines.len() {
            self.add_line(set);
            None
        } else {
            self.evict(id)
        };
        let line = &mut self.lines[id as usize];
        (line.block, line.reserved) = (block, atoms);
        self.replacement.insert(id, set);
        self.by_block.insert(block, id, |id| self.lines[id as usize].block);
        evicted
    }

    /// Adds a line to `set`.
    fn add_line(&mut self, set: u32) {
        let count = self.lines.len();
        if count == self.lines.capacity() {
            // Fourfold, since to grow is to copy; what is not used takes no memory of the host's.
            let more = (3 * count).max(16);
            self.lines.reserve_exact(more);
            if self.holds_writes {
                self.dirty_bytes.reserve_exact(more);
            }
        }
        self.replacement.add_line(set, self.used_ways[set as usize]);
        self.used_ways[set as usize] += 1;
        self.lines.push(Line::empty(set));
        if self.holds_writes {
            self.dirty_bytes.push([0; 4]);
        }
    }

    /// Clears line `id`, pins it and gives its dirty sectors.
    fn evict(&mut self, id: u32) -> Option<Evicted> {
        let line = &mut self.lines[id as usize];
        let Line { block, set, place, modified, .. } = std::mem::replace(line, Line::empty(line.set));
        self.replacement.move_to(id, set, Place::Pinned);
        if place != Place::Free {
            self.by_block.remove(block, id);
        }
        let bytes = self.dirty_bytes.get_mut(id as usize).map(std::mem::take).unwrap_or_default();
        self.dirty_lines -= u32::from(modified != 0);
        (modified != 0).then_some(Evicted { block, modified, bytes })
    }

    /// Reserves further sectors of a line that is there. A modified sector whose rest is fetched
    /// stays modified when the data come.
    #[inline(always)]
    pub fn reserve(&mut self, id: u32, atoms: Atoms) {
        let line = &mut self.lines[id as usize];
        self.dirty_lines -= u32::from(line.modified != 0);
        line.modified_on_fill = line.modified_on_fill & !atoms | line.modified & atoms;
        line.reserved |= atoms;
        line.valid &= !atoms;
        line.modified &= !atoms;
        self.dirty_lines += u32::from(line.modified != 0);
        line.note_place(id, &mut self.replacement);
        // A line with a sector under way is pinned.
        self.replacement.sector_miss(id, line.set, Place::Pinned);
    }

    /// Notes a use of line `id` that missed its sector.
    #[inline]
    pub fn miss_sector(&mut self, id: u32) {
        let line = &self.lines[id as usize];
        self.replacement.sector_miss(id, line.set, line.place);
    }

    /// Marks sectors written. Whole sectors, and those whose bytes are all known by now, can be
    /// read; others are read only once their rest has been fetched.
    pub fn write(&mut self, id: u32, atoms: Atoms, written: Written) {
        let mut known = self.add_dirty_bytes(id, written);
        if self.all_atoms == 1 {
            known = u8::from(self.known_sectors(id) == self.all_sectors);
        }
        let line = &mut self.lines[id as usize];
        self.dirty_lines -= u32::from(line.modified != 0);
        // A sector that was clean is complete.
        line.readable = line.readable & !(atoms & !line.valid & !line.modified) | line.valid & atoms | known & atoms;
        line.reserved &= !atoms;
        line.valid &= !atoms;
        line.modified |= atoms;
        self.dirty_lines += 1;
        line.note_place(id, &mut self.replacement);
    }

    /// Notes a write to sectors under way: they are modified once their data have come. The line
    /// stays pinned, so that the data find it.
    pub fn write_under_way(&mut self, id: u32, atoms: Atoms, written: Written) {
        self.add_dirty_bytes(id, written);
        self.lines[id as usize].modified_on_fill |= atoms;
    }

    /// Notes which bytes a write to line `id` covers; gives its sectors of which every byte has been written.
    #[inline]
    fn add_dirty_bytes(&mut self, id: u32, Written { sectors, bytes }: Written) -> Atoms {
        let mut known = 0;
        if let Some(dirty) = self.dirty_bytes.get_mut(id as usize) {
            for s in set_bits(sectors.into()) {
                dirty[s % 4] |= bytes;
                known |= u8::from(dirty[s % 4] == u32::MAX) << s;
            }
        }
        known
    }

    /// Sectors of line `id` of which every byte has been written.
    fn known_sectors(&self, id: u32) -> Atoms {
        let dirty = self.dirty_bytes.get(id as usize).copied().unwrap_or_default();
        (0..4).filter(|&s| dirty[s] == u32::MAX).fold(0, |known, s| known | 1 << s)
    }

    /// Data of sectors of line `id` have come.
    #[inline(always)]
    pub fn fill(&mut self, id: u32, atoms: Atoms) {
        let line = &mut self.lines[id as usize];
        line.reserved &= !atoms;
        if line.modified_on_fill & atoms != 0 {
            self.dirty_lines += u32::from(line.modified == 0);
            line.modified |= line.modified_on_fill & atoms;
            line.modified_on_fill &= !atoms;
        }
        line.valid = (line.valid | atoms) & !line.modified;
        line.readable |= atoms;
        line.note_place(id, &mut self.replacement);
    }

    /// Data of `block`, to which `address` belongs, have come to a cache that allocates only now; dropped if no line may
    /// go.
    #[inline]
    pub fn fill_block(&mut self, block: u64, address: u64, atoms: Atoms) -> Option<Evicted> {
        self.fill_found(self.find(block), block, address, atoms)
    }

    /// The same for the sectors of `atoms` that are not under way, which come by themselves.
    pub fn preload(&mut self, block: u64, address: u64, atoms: Atoms) {
        let found = self.find(block);
        let missing = atoms & !found.map_or(0, |id| self.lines[id as usize].reserved);
        if missing != 0 {
            self.fill_found(found, block, address, missing);
        }
    }

    /// Fills `atoms` of `block`, whose line is `found`.
    #[inline(always)]
    fn fill_found(&mut self, found: Option<u32>, block: u64, address: u64, atoms: Atoms) -> Option<Evicted> {
        let (id, evicted) = match found {
            Some(id) => (id, None),
            None => {
                let set = self.index.of(address);
                let id = self.victim(set)?;
                (id, self.replace(id, set, block, atoms))
            }
        };
        self.fill(id, atoms);
        evicted
    }

    /// Drops sectors of line `id`.
    pub fn drop_atoms(&mut self, id: u32, atoms: Atoms) {
        let line = &mut self.lines[id as usize];
        self.dirty_lines -= u32::from(line.modified != 0);
        line.valid &= !atoms;
        line.modified &= !atoms;
        self.dirty_lines += u32::from(line.modified != 0);
        if line.valid | line.modified | line.reserved == 0 {
            self.evict(id);
            self.release(id);
        } else {
            line.note_place(id, &mut self.replacement);
        }
    }

    /// Drops dirty lines, but for sectors that are under way.
    pub fn drop_dirty(&mut self) {
        self.drop_lines(|line| line.modified != 0);
    }

    /// Drops lines outside the addresses `kept`, but for sectors that are under way.
    pub fn keep_only(&mut self, kept: &Range<u64>) {
        let shift = self.line_shift;
        self.drop_lines(|line| !kept.contains(&(line.block << shift)));
    }

    fn drop_lines(&mut self, goes: impl Fn(&Line) -> bool) {
        for id in 0..self.lines.len() as u32 {
            let line = &self.lines[id as usize];
            if line.place != Place::Free && goes(line) {
                self.drop_atoms(id, self.all_atoms);
            }
        }
    }

    /// Makes the next dirty line that is not under way clean, and gives what was dirty in it. The search continues
    /// at line `from`, which becomes the one after it.
    pub fn clean_next(&mut self, from: &mut u32) -> Option<Evicted> {
        let count = self.lines.len() as u32;
        let ids = (*from..count).chain(0..(*from).min(count));
        let id = ids.filter(|_| self.dirty_lines > 0).find(|&id| {
            let line = &self.lines[id as usize];
            line.modified != 0 && line.reserved == 0
        })?;
        *from = id + 1;
        let line = &mut self.lines[id as usize];
        let bytes = self.dirty_bytes.get_mut(id as usize).map(std::mem::take).unwrap_or_default();
        let dirty = Evicted { block: line.block, modified: line.modified, bytes };
        line.valid |= line.modified & line.readable;
        (line.modified, line.readable) = (0, 0);
        self.dirty_lines -= 1;
        if line.valid == 0 {
            self.evict(id);
            self.release(id);
        } else {
            line.note_place(id, &mut self.replacement);
        }
        Some(dirty)
    }

    /// Lines with a modified sector.
    pub const fn dirty_lines(&self) -> u32 {
        self.dirty_lines
    }

    /// Frees an empty line, which is pinned.
    fn release(&mut self, id: u32) {
        let line = &mut self.lines[id as usize];
        line.place = Place::Free;
        self.replacement.move_to(id, line.set, Place::Free);
    }
}

kit::persist! {
    new struct Line { block, set, place, reserved, valid, modified, readable, modified_on_fill }
    struct Tags {
        lines, used_ways, dirty_bytes, by_block, replacement, dirty_lines;
        skip ways, holds_writes, index, line_shift, all_atoms, all_sectors, allocate_on_miss, dirty_limit
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::cache_config;
    use config::Replacement;

    fn tags(ways: u32, replacement: Replacement, dirty_percent: u32) -> Tags {
        let config = config::Cache { sets: 1, ways, replacement, ..cache_config() };
        Tags::new(&config, dirty_percent)
    }

    fn bring(tags: &mut Tags, block: u64) {
        let (id, _) = tags.allocate(block, block << 7, 1);
        tags.fill(id, 1);
    }

    fn there(tags: &Tags, blocks: Range<u64>) -> Vec<u64> {
        blocks.filter(|&b| matches!(tags.probe(b, b << 7, 1, false), Probe::Hit(_))).collect()
    }

    #[test]
    fn lru_keeps_what_was_used_and_fifo_what_came_last() {
        for (replacement, left) in [(Replacement::Lru, vec![0, 2, 3]), (Replacement::Fifo, vec![1, 2, 3])] {
            let mut tags = tags(3, replacement, 0);
            (0..3).for_each(|b| bring(&mut tags, b));
            let Probe::Hit(id) = tags.probe(0, 0, 1, false) else { panic!("0 is there") };
            tags.touch(id);
            bring(&mut tags, 3);
            assert_eq!(there(&tags, 0..4), left, "{replacement:?}");
        }
    }

    #[test]
    fn lines_under_way_cannot_go() {
        let mut tags = tags(2, Replacement::Lru, 0);
        let (first, _) = tags.allocate(10, 0, 1);
        let (_, _) = tags.allocate(11, 0, 1);
        assert_eq!(tags.probe(12, 0, 1, false), Probe::Full);
        assert_eq!(tags.probe(10, 0, 1, false), Probe::Reserved(first));
        assert_eq!(tags.probe(10, 0, 2, false), Probe::SectorMiss(first));
        tags.fill(first, 1);
        assert_eq!(tags.probe(12, 0, 1, false), Probe::Miss { line: first, set: 0 });
        assert_eq!(tags.allocate(12, 0, 1), (first, None));
    }

    #[test]
    fn a_line_filled_late_keeps_the_age_of_its_request() {
        let mut tags = tags(3, Replacement::Lru, 0);
        let (slow, _) = tags.allocate(0, 0, 1);
        bring(&mut tags, 1);
        bring(&mut tags, 2);
        tags.fill(slow, 1);
        bring(&mut tags, 3);
        assert_eq!(there(&tags, 0..4), [1, 2, 3]);
    }

    #[test]
    fn dirty_lines_stay_until_their_share_is_reached() {
        let mut tags = tags(4, Replacement::Lru, 50);
        (0..4).for_each(|b| bring(&mut tags, b));
        tags.write(0, 1, Written { sectors: 1, bytes: u32::MAX });
        let (_, evicted) = tags.allocate(4, 0, 1);
        assert_eq!(evicted, None, "block 1 goes although dirty block 0 is older");
        assert_eq!(there(&tags, 0..4), [0, 2, 3]);
        let Probe::Hit(two) = tags.probe(2, 0, 1, false) else { panic!("2 is there") };
        tags.write(two, 1, Written { sectors: 1, bytes: 1 });
        let (_, evicted) = tags.allocate(5, 0, 1);
        assert_eq!(evicted, Some(Evicted { block: 0, modified: 1, bytes: [u32::MAX, 0, 0, 0] }));
        assert_eq!(tags.dirty_lines(), 1);
    }

    #[test]
    fn a_set_of_dirty_lines_gives_one_up_below_their_share() {
        let config = config::Cache { sets: 64, ways: 2, ..cache_config() };
        let mut tags = Tags::new(&config, 90);
        let (first, _) = tags.allocate(0, 0, 1);
        let (second, _) = tags.allocate(64, 0, 1);
        tags.write(first, 1, Written { sectors: 1, bytes: u32::MAX });
        assert_eq!(tags.probe(128, 0, 1, false), Probe::Full, "the other one is under way, and may come clean");
        tags.write(second, 1, Written { sectors: 1, bytes: 1 });
        assert_eq!(tags.probe(128, 0, 1, false), Probe::Miss { line: first, set: 0 });
        let (id, evicted) = tags.allocate(128, 0, 1);
        assert_eq!((id, evicted.map(|e| e.block)), (first, Some(0)));
    }

    #[test]
    fn a_partly_written_sector_is_not_readable_until_it_is_whole() {
        let mut tags = tags(2, Replacement::Lru, 0);
        let (id, _) = tags.allocate(7, 0, 1);
        tags.write(id, 1, Written { sectors: 1, bytes: 0xffff });
        assert_eq!(tags.probe(7, 0, 1, true), Probe::Hit(id));
        assert_eq!(tags.probe(7, 0, 1, false), Probe::SectorMiss(id));
        tags.write(id, 1, Written { sectors: 1, bytes: 0xffff_0000 });
        assert_eq!(tags.probe(7, 0, 1, false), Probe::Hit(id));
    }

    #[test]
    fn clearing_drops_all_but_what_is_under_way() {
        let mut tags = tags(3, Replacement::Lru, 0);
        bring(&mut tags, 0);
        bring(&mut tags, 1);
        tags.write(0, 1, Written { sectors: 1, bytes: 1 });
        let (pending, _) = tags.allocate(2, 0, 1);
        tags.drop_dirty();
        assert_eq!(there(&tags, 0..3), [1]);
        tags.keep_only(&(1 << tags.line_shift()..2 << tags.line_shift()));
        assert_eq!(there(&tags, 0..3), [1]);
        tags.keep_only(&(0..0));
        assert_eq!(there(&tags, 0..3), Vec::<u64>::new());
        assert_eq!(tags.probe(2, 0, 1, false), Probe::Reserved(pending));
        assert_eq!(tags.dirty_lines(), 0);
    }
}

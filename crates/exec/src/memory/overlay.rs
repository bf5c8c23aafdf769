//! The writes of an SM's warps to device memory in a window, by lines of 128 bytes.

/// Bytes of a line.
pub(crate) const LINE_BYTES: u64 = 128;
/// Words of a line.
pub(crate) const LINE_WORDS: usize = LINE_BYTES as usize / 4;
/// Places of the table at first.
const PLACES: usize = 256;

/// An access needs what a reduction that has not been performed leaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Unreduced;

/// A line: bytes that were written, and bytes to which a reduction waits to be added.
#[derive(Clone, Debug)]
pub(crate) struct Line {
    /// Address of the first byte.
    pub address: u64,
    /// Its place in the table.
    place: u32,
    /// Bytes that were written, a bit each.
    pub written: u128,
    /// Bytes that reductions change, a bit each.
    reduced: u128,
    /// The contents of written bytes; others are anything.
    pub words: [u32; LINE_WORDS],
}

/// The lines in order of their first write. A line is found by a table with open addressing, which need not be
/// cleared: a place is taken if the line that it names has that place.
#[derive(Clone, Debug)]
pub(crate) struct Overlay {
    /// Lines in use are the first `used`; the others keep their storage.
    lines: Vec<Line>,
    used: usize,
    /// Number of a line, or anything. Twice as many as lines, at least; a power of two.
    table: Vec<u32>,
    /// The line that was found last.
    last: usize,
    /// All lines are within these addresses.
    low: u64,
    high: u64,
    /// Some line has bytes that reductions change.
    has_reduced: bool,
}

impl Default for Overlay {
    fn default() -> Self {
        Self { lines: Vec::new(), used: 0, table: Vec::new(), last: 0, low: u64::MAX, high: 0, has_reduced: false }
    }
}

/// The bits of a word whose bytes are set in `bytes`, of which there are four.
pub(super) const fn word_mask(bytes: u8) -> u32 {
    // Each of the bits goes to the lowest bit of its byte, which is then filled.
    let spread = (bytes as u32).wrapping_mul(0x0020_4081) & 0x0101_0101;
    spread * 0xff
}

/// The bits of `bytes` bytes from `address` on, which are in one line.
const fn bits_of(address: u64, bytes: u64) -> u128 {
    (u128::MAX >> (LINE_BYTES - bytes)) << (address % LINE_BYTES)
}

impl Overlay {
    /// Whether nothing was written and no reduction waits.
    #[inline(always)]
    pub fn is_empty(&self) -> bool {
        self.used == 0
    }

    /// Whether reductions wait.
    #[inline(always)]
    pub fn has_reduced(&self) -> bool {
        self.has_reduced
    }

    /// Whether a line may be among the addresses `start..end`.
    #[inline(always)]
    pub fn meets(&self, start: u64, end: u64) -> bool {
        start < self.high && self.low < end
    }

    /// The lines with bytes that were written, in the order of their first access.
    pub fn lines(&self) -> impl Iterator<Item = &Line> {
        self.lines[..self.used].iter().filter(|line| line.written != 0)
    }

    /// Forgets everything.
    pub fn clear(&mut self) {
        (self.used, self.last) = (0, 0);
        (self.low, self.high) = (u64::MAX, 0);
        self.has_reduced = false;
    }

    /// The place in the table of the line at `address`, or the free one for it; and the line's number.
    #[inline]
    fn place_of(&self, address: u64) -> (usize, Option<usize>) {
        let most = self.table.len() - 1;
        let mut place = ((address / LINE_BYTES).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) as usize & most;
        loop {
            let number = self.table[place] as usize;
            match self.lines.get(number).filter(|line| number < self.used && line.place as usize == place) {
                None => return (place, None),
                Some(line) if line.address == address => return (place, Some(number)),
                Some(_) => place = (place + 1) & most,
            }
        }
    }

    /// The line around `address`, if anything was written or waits there.
    #[inline]
    fn find(&self, address: u64) -> Option<&Line> {
        let address = address / LINE_BYTES * LINE_BYTES;
        self.place_of(address).1.map(|number| &self.lines[number])
    }

    /// The line around `address`, new if need be.
    #[inline]
    fn line(&mut self, address: u64) -> &mut Line {
        let address = address / LINE_BYTES * LINE_BYTES;
        if self.last >= self.used || self.lines[self.last].address != address {
            self.last = self.find_or_add(address);
        }
        &mut self.lines[self.last]
    }

    /// The number of the line at `address`, new if need be.
    fn find_or_add(&mut self, address: u64) -> usize {
        if 2 * self.used >= self.table.len() {
            self.grow();
        }
        let (place, number) = self.place_of(address);
        if let Some(number) = number {
            return number;
        }
        let number = self.used;
        self.table[place] = number as u32;
        if number == self.lines.len() {
            let words = [0; LINE_WORDS];
            self.lines.push(Line { address, place: place as u32, written: 0, reduced: 0, words });
        } else {
            let line = &mut self.lines[number];
            (line.address, line.place, line.written, line.reduced) = (address, place as u32, 0, 0);
        }
        self.used += 1;
        self.low = self.low.min(address);
        self.high = self.high.max(address + LINE_BYTES);
        number
    }

    #[cold]
    fn grow(&mut self) {
        let places = (2 * self.table.len()).max(PLACES);
        self.table = vec![u32::MAX; places];
        let used = std::mem::take(&mut self.used);
        for number in 0..used {
            // Lines that are not yet in the new table must not be found in it.
            let (place, _) = self.place_of(self.lines[number].address);
            self.table[place] = number as u32;
            self.lines[number].place = place as u32;
            self.used = number + 1;
        }
    }

    /// Writes whole words from `address` on, a multiple of four.
    #[inline]
    pub fn write_words(&mut self, mut address: u64, mut words: &[u32]) {
        while !words.is_empty() {
            let at = (address % LINE_BYTES / 4) as usize;
            let (now, later) = words.split_at(words.len().min(LINE_WORDS - at));
            let line = self.line(address);
            line.words[at..at + now.len()].copy_from_slice(now);
            line.written |= bits_of(address, 4 * now.len() as u64);
            address += 4 * now.len() as u64;
            words = later;
        }
    }

    /// Writes the lowest `bytes` bytes of `value`, one or two, to an aligned address.
    pub fn write_narrow(&mut self, address: u64, bytes: u64, value: u32) {
        let line = self.line(address);
        line.written |= bits_of(address, bytes);
        let (shift, keep) = (address % 4 * 8, (1 << (8 * bytes)) - 1);
        let word = &mut line.words[(address % LINE_BYTES / 4) as usize];
        *word = *word & !(keep << shift) | (value & keep) << shift;
    }

    /// A reduction of `bytes` bytes at an aligned address waits.
    pub fn mark_reduced(&mut self, address: u64, bytes: u64) {
        self.has_reduced = true;
        self.line(address).reduced |= bits_of(address, bytes);
    }

    /// Whether a reduction waits at any of `bytes` bytes at an aligned address.
    pub fn is_reduced(&self, address: u64, bytes: u64) -> bool {
        self.has_reduced
            && self.meets(address, address + bytes)
            && self.find(address).is_some_and(|line| line.reduced & bits_of(address, bytes) != 0)
    }

    /// A view of it for the lanes of an access.
    pub fn glance(&self) -> Glance<'_> {
        Glance { overlay: self, address: u64::MAX, line: None }
    }
}

/// Finds lines one after the other; neighbours are usually the same.
pub(crate) struct Glance<'a> {
    overlay: &'a Overlay,
    /// Address of the line that was looked for last.
    address: u64,
    line: Option<&'a Line>,
}

impl Glance<'_> {
    /// Replaces the words at `address`, which are aligned to their size and in one line, that were
    /// written.
    ///
    /// # Errors
    /// A reduction waits there.
    #[inline]
    pub fn patch<'w>(
        &mut self,
        address: u64,
        words: impl ExactSizeIterator<Item = &'w mut u32>,
    ) -> Result<(), Unreduced> {
        let (bytes, at) = (4 * words.len() as u64, (address % LINE_BYTES / 4) as usize);
        let Some(line) = self.line(address) else { return Ok(()) };
        let bits = bits_of(address, bytes);
        if line.reduced & bits != 0 {
            return Err(Unreduced);
        }
        let mut written = (line.written & bits) >> (address % LINE_BYTES);
        if written != 0 {
            for (word, own) in words.zip(&line.words[at..]) {
                let keep = word_mask(written as u8 & 0xf);
                *word = *word & !keep | own & keep;
                written >>= 4;
            }
        }
        Ok(())
    }

    /// The same for one or two bytes, at the bottom of a word.
    ///
    /// # Errors
    /// A reduction waits there.
    pub fn patch_narrow(&mut self, address: u64, bytes: u64, value: &mut u32) -> Result<(), Unreduced> {
        let Some(line) = self.line(address) else { return Ok(()) };
        let bits = bits_of(address, bytes);
        if line.reduced & bits != 0 {
            return Err(Unreduced);
        }
        let (word, shift) = (line.words[(address % LINE_BYTES / 4) as usize], address % 4 * 8);
        let keep = word_mask((line.written >> (address % LINE_BYTES)) as u8 & ((1 << bytes) - 1));
        *value = *value & !keep | word >> shift & keep;
        Ok(())
    }

    #[inline]
    fn line(&mut self, address: u64) -> Option<&Line> {
        let of = address / LINE_BYTES * LINE_BYTES;
        if of != self.address {
            self.address = of;
            self.line = if self.overlay.meets(of, of + LINE_BYTES) { self.overlay.find(of) } else { None };
        }
        self.line
    }
}

#[cfg(test)]
mod tests {
    use super::super::{DeviceMemory, OutOfBounds, Own, Reader, View};
    use super::*;

    /// Pseudo-random numbers below `below`.
    struct Draw(u64);

    impl Draw {
        fn below(&mut self, below: u64) -> u64 {
            self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (self.0 >> 33) % below
        }
    }

    #[test]
    fn what_was_written_is_read_by_words_and_by_bytes() {
        let (mut own, mut draw) = (Overlay::default(), Draw(1));
        let mut bytes = vec![None; 8192];
        for _ in 0..3 {
            own.clear();
            bytes.fill(None);
            for _ in 0..1000 {
                let size = 1 << draw.below(5);
                let at = draw.below(8192 / size) * size;
                let value: Vec<u8> = (0..size).map(|_| draw.below(256) as u8).collect();
                if size < 4 {
                    own.write_narrow(at, size, value.iter().rev().fold(0, |word, &byte| word << 8 | u32::from(byte)));
                } else {
                    let (words, _) = value.as_chunks();
                    own.write_words(at, &words.iter().map(|&word| u32::from_le_bytes(word)).collect::<Vec<_>>());
                }
                (0..size as usize).for_each(|k| bytes[at as usize + k] = Some(value[k]));
                let at = draw.below(8192 / 16) * 16;
                let mut words = [0x0102_0304; 4];
                own.glance().patch(at, words.iter_mut()).unwrap();
                let found: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
                let wanted = |k: usize| bytes[at as usize + k].unwrap_or([4, 3, 2, 1][k % 4]);
                assert_eq!(found, (0..16).map(wanted).collect::<Vec<u8>>());
                let (at, mut half) = (draw.below(4096) * 2, 0x0909);
                own.glance().patch_narrow(at, 2, &mut half).unwrap();
                let wanted = [0, 1].map(|k| bytes[at as usize + k].unwrap_or(9));
                assert_eq!(half, u32::from(u16::from_le_bytes(wanted)), "at {at}");
            }
        }
    }

    #[test]
    fn a_merge_leaves_what_stores_leave() {
        for policy in [OutOfBounds::Error, OutOfBounds::Allow] {
            let mut draw = Draw(7);
            let make = || {
                let mut memory = DeviceMemory::default();
                memory.set_out_of_bounds(policy);
                let sizes = [100, 200_001, 64];
                let bases: Vec<u64> = sizes.iter().map(|&bytes| memory.allocate("a", bytes).unwrap()).collect();
                // A module's variables, at addresses that are not multiples of a line or of a word.
                let variables = [(0x12_3456_7804, 1000), (0x12_3466_7805, 70_001)];
                variables.iter().for_each(|&(base, bytes)| memory.place("v", base, bytes, false).unwrap());
                (memory, [bases, variables.map(|v| v.0).to_vec()].concat())
            };
            let ((mut direct, bases), (mut merged, _)) = (make(), make());
            let (reader, mut own) = (Reader::default(), Overlay::default());
            for round in 0..200 {
                for _ in 0..20 {
                    let size = 1 << draw.below(5);
                    // Pages have borders; beside allocations there is memory, if the policy permits that.
                    let near = [0, 64, 65_500, 199_900][draw.below(4) as usize];
                    let base = bases[draw.below(5) as usize];
                    let address = (base + near + draw.below(160)) / size * size;
                    let value = draw.below(1 << 31) as u32;
                    let Some(w) = direct.window_mut(address, size, &reader) else {
                        assert!(direct.room(address, size, &reader).is_none());
                        continue;
                    };
                    let (limit, word, shift) = (w.limit, w.word(address), address % 4 * 8);
                    assert_eq!(direct.room(address, size, &reader).map(|w| w.limit), Some(limit));
                    let w = direct.window_mut(address, size, &reader).unwrap();
                    if size < 4 {
                        let keep = ((1 << (8 * size)) - 1) << shift;
                        w.words[word] = w.words[word] & !keep | value << shift & keep;
                        own.write_narrow(address, size, value);
                    } else {
                        w.words[word..word + size as usize / 4].fill(value);
                        own.write_words(address, &vec![value; size as usize / 4]);
                    }
                }
                own.lines().for_each(|line| merged.merge(line.address, line.written, &line.words, &reader));
                own.clear();
                for &base in &bases {
                    for address in (base..base + 400).chain(base + 65_400..base + 65_700) {
                        let byte = |memory: &DeviceMemory| {
                            let w = memory.window(address, 1, &reader)?;
                            Some(w.words[w.word(address)] >> (address % 4 * 8) & 0xff)
                        };
                        assert_eq!(byte(&direct), byte(&merged), "round {round}, {address:#x}");
                    }
                }
            }
            let changed = |memory: &DeviceMemory| {
                bases.iter().map(|&base| memory.changed(base).collect::<Vec<_>>()).collect::<Vec<_>>()
            };
            assert_eq!(changed(&direct), changed(&merged));
        }
    }

    #[test]
    fn what_reductions_change_is_not_read() {
        let mut own = Overlay::default();
        own.write_words(256, &[1, 2, 3, 4]);
        own.mark_reduced(264, 4);
        assert!(own.is_reduced(264, 4) && own.is_reduced(267, 1) && own.is_reduced(256, 16));
        assert!(!own.is_reduced(256, 8) && !own.is_reduced(268, 4) && !own.is_reduced(1 << 40, 4));
        let mut pair = [0; 2];
        own.glance().patch(256, pair.iter_mut()).unwrap();
        assert_eq!(pair, [1, 2]);
        assert_eq!(own.glance().patch(264, pair.iter_mut()), Err(Unreduced));
        assert_eq!(own.glance().patch_narrow(266, 2, &mut pair[0]), Err(Unreduced));
        own.clear();
        assert!(!own.is_reduced(264, 4) && own.is_empty() && own.lines().count() == 0);
    }

    #[test]
    fn a_table_that_grows_keeps_its_lines() {
        let mut own = Overlay::default();
        for line in 0..1000 {
            own.write_words(line * 4096, &[line as u32]);
        }
        assert!(own.lines().map(|line| line.words[0]).eq(0..1000), "in the order of their first write");
        for line in 0..1000 {
            let mut word = [9];
            own.glance().patch(line * 4096, word.iter_mut()).unwrap();
            assert_eq!(word, [line as u32]);
        }
    }

    #[test]
    fn a_view_records_changes_for_its_own_stream() {
        let (mut memory, mut own, reader) = (DeviceMemory::default(), Own::default(), Reader::default());
        memory.watch();
        assert!(View::frozen(&memory, &mut own, &reader).is_unchanged());
        View::frozen(&memory, &mut own, &reader).note_change();
        assert!(!View::frozen(&memory, &mut own, &reader).is_unchanged());
        assert!(memory.is_unchanged() && own.changed);
        View::alone(&mut memory, &reader).note_change();
        assert!(!memory.is_unchanged());
    }

    #[test]
    fn several_streams_may_read_the_device() {
        fn is_sync<T: Send + Sync>() {}
        is_sync::<crate::DeviceState>();
    }
}

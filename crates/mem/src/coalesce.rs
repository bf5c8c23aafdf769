//! From the addresses of a warp's lanes to memory transactions.
//!
//! Follows what Accel-Sim emits: since Maxwell one 32-byte transaction per touched sector; before
//! that, 128-byte segments, cut to 64 or 32 bytes when only a half or a quarter of them is used.
//! Transactions are in the order in which the load/store unit sends them: highest address first.

use crate::shared_banks::MAX_BANKS;
use crate::{Request, RequestKind};
use kit::{LaneMask, WARP_LANES, lanes};
use std::ops::Range;

/// Bytes of a sector.
pub const SECTOR_BYTES: u32 = 32;
/// Bytes of a line, the most that one transaction can touch.
pub const LINE_BYTES: u32 = 128;
/// Maximum number of transactions of one warp instruction: 32 lanes with four 4-byte pieces each.
pub const MAX_ACCESSES: usize = 4 * WARP_LANES;

/// How addresses are gathered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Granularity {
    /// One 32-byte transaction per sector (sm_40 and later, and whatever bypasses an older L1).
    Sector,
    /// Maximum bytes of a segment (sm_20 to sm_39 through L1): 128, or what the L1 fetches at once
    /// if that is less.
    Segment(u32),
}

impl Granularity {
    /// Coalescing of a GPU of compute capability `sm_version` / 10 for accesses that bypass L1 or not. A
    /// transaction never asks for more than L1 fetches at a miss (`l1_fetch_bytes`).
    pub fn of(sm_version: u32, bypass_l1: bool, l1_fetch_bytes: u32) -> Self {
        match l1_fetch_bytes.min(LINE_BYTES) {
            most if sm_version < 40 && !bypass_l1 && most > SECTOR_BYTES => Self::Segment(most),
            _ => Self::Sector,
        }
    }
}

/// One memory transaction of a warp instruction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Transaction {
    /// First byte, a multiple of [`Transaction::bytes`].
    pub address: u64,
    /// 32, 64 or 128.
    pub bytes: u32,
    /// Bytes touched in the sector, bit *i* for byte *i*; of several sectors, those touched in each of them (see
    /// [`Request::byte_mask`]).
    pub byte_mask: u32,
}

impl Transaction {
    /// One of the sector at `address`.
    const fn sector(address: u64, byte_mask: u32) -> Self {
        Self { address, bytes: SECTOR_BYTES, byte_mask }
    }

    /// The request that asks the next level for this transaction.
    #[inline]
    pub fn request(&self, kind: RequestKind, local: bool, token: u32) -> Request {
        let Self { address, bytes, byte_mask } = *self;
        Request { local, byte_mask, ..Request::new(kind, address, bytes, token) }
    }
}

/// The transactions of one warp instruction; meant to be kept and filled again and again.
#[derive(Clone, Debug)]
pub struct Transactions {
    len: usize,
    items: [Transaction; MAX_ACCESSES],
}

impl Default for Transactions {
    fn default() -> Self {
        Self { len: 0, items: [Transaction::default(); MAX_ACCESSES] }
    }
}

impl std::ops::Deref for Transactions {
    type Target = [Transaction];
    #[inline]
    fn deref(&self) -> &[Transaction] {
        &self.items[..self.len]
    }
}

impl Transactions {
    /// An empty list of transactions.
    pub fn new() -> Self {
        Self::default()
    }

    fn push(&mut self, transaction: Transaction) {
        // Only misaligned local accesses, which are faults, could overflow: they share the last.
        let i = self.len.min(MAX_ACCESSES - 1);
        self.items[i] = transaction;
        self.len = i + 1;
    }

    /// The transaction at `address`. Neighbours in lane order are mostly neighbours in memory, so the search runs from
    /// the newest.
    #[inline]
    fn find(&mut self, address: u64) -> Option<&mut Transaction> {
        self.items[..self.len].iter_mut().rfind(|t| t.address == address)
    }

    /// Highest address first; among equals, newest first.
    fn order(&mut self) {
        if self.len < 2 {
            return;
        }
        let items = &mut self.items[..self.len];
        items.reverse();
        // Insertion sort: short, stable, and nearly always already in order.
        for i in 1..items.len() {
            let mut j = i;
            while j > 0 && items[j - 1].address < items[j].address {
                items.swap(j - 1, j);
                j -= 1;
            }
        }
    }

    /// Deals the transactions to the banks ([`MAX_BANKS`] at most) in rounds, each of which has one of a bank at
    /// most. Accesses of one bank keep their order.
    #[inline]
    pub fn deal(&mut self, bank: impl Fn(u64) -> usize) {
        let mut banks = 0_u64;
        let is_one_round = self.iter().all(|item| {
            let bit = 1 << bank(item.address);
            let is_first = banks & bit == 0;
            banks |= bit;
            is_first
        });
        if !is_one_round {
            self.deal_rounds(bank);
        }
    }

    #[inline(never)]
    fn deal_rounds(&mut self, bank: impl Fn(u64) -> usize) {
        let mut of_bank = [0_u8; MAX_BANKS];
        let mut rounds = [0_u8; MAX_ACCESSES];
        for (round, item) in rounds.iter_mut().zip(&self.items[..self.len]) {
            let next = &mut of_bank[bank(item.address)];
            *round = *next;
            *next += 1;
        }
        // Stable, and there is nothing to do where the lanes fill neighbouring sectors.
        for i in 1..self.len {
            let mut j = i;
            while j > 0 && rounds[j - 1] > rounds[j] {
                self.items.swap(j - 1, j);
                rounds.swap(j - 1, j);
                j -= 1;
            }
        }
    }

    /// Gathers a load or store of `bytes` per lane of global memory.
    pub fn gather(&mut self, mask: LaneMask, addresses: &[u64; WARP_LANES], bytes: u32, granularity: Granularity) {
        self.len = 0;
        if mask == LaneMask::MAX && granularity == Granularity::Sector {
            let done = match bytes {
                1 => self.gather_whole_sectors::<1>(addresses),
                2 => self.gather_whole_sectors::<2>(addresses),
                4 => self.gather_whole_sectors::<4>(addresses),
                8 => self.gather_whole_sectors::<8>(addresses),
                16 => self.gather_whole_sectors::<16>(addresses),
                _ => false,
            };
            if done {
                return;
            }
        }
        for lane in lanes(mask) {
            self.touch(addresses[lane], bytes);
        }
        self.finish(segment_bytes(bytes, granularity));
    }

    /// The common case: the lanes fill sectors, a run of lanes each: as many sectors as a lane has bytes.
    fn gather_whole_sectors<const BYTES: usize>(&mut self, addresses: &[u64; WARP_LANES]) -> bool {
        let lanes_each = SECTOR_BYTES as usize / BYTES;
        let mut off = 0;
        for run in addresses.chunks_exact(lanes_each) {
            off |= run[0] % u64::from(SECTOR_BYTES);
            for (i, &address) in run.iter().enumerate() {
                off |= address ^ run[0].wrapping_add((i * BYTES) as u64);
            }
        }
        if off != 0 {
            return false;
        }
        let sectors: [u64; BYTES] = std::array::from_fn(|run| addresses[run * lanes_each]);
        if sectors.is_sorted_by(|a, b| a < b) {
            // As it mostly is: nothing to search, nothing to order.
            for (item, &address) in self.items.iter_mut().zip(sectors.iter().rev()) {
                *item = Transaction::sector(address, u32::MAX);
            }
            self.len = BYTES;
            return true;
        }
        for address in sectors {
            if self.find(address).is_none() {
                self.push(Transaction::sector(address, u32::MAX));
            }
        }
        self.order();
        true
    }

    /// Gathers a load or store of local memory, whose addresses [`LocalLayout::addresses`] made.
    /// Accesses wider than four bytes fall into 4-byte pieces `piece_stride` bytes apart.
    pub fn gather_local(
        &mut self,
        mask: LaneMask,
        addresses: &[u64; WARP_LANES],
        bytes: u32,
        piece_stride: u64,
        granularity: Granularity,
    ) {
        self.len = 0;
        let (piece_bytes, pieces) = if bytes > 4 { (4, (bytes / 4).min(4)) } else { (bytes, 1) };
        for piece in 0..u64::from(pieces) {
            for lane in lanes(mask) {
                self.touch(addresses[lane] + piece * piece_stride, piece_bytes);
            }
        }
        self.finish(segment_bytes(bytes, granularity));
    }

    /// Gathers an atomic, which bypasses L1: lanes whose bytes overlap go in different transactions.
    pub fn gather_atomic(&mut self, mask: LaneMask, addresses: &[u64; WARP_LANES], bytes: u32) {
        self.len = 0;
        for lane in lanes(mask) {
            let (sector, touched) = (sector_of(addresses[lane]), bytes_from(addresses[lane], bytes) as u32);
            let is_free = |t: &&mut Transaction| t.address == sector && t.byte_mask & touched == 0;
            match self.items[..self.len].iter_mut().find(is_free) {
                Some(t) => t.byte_mask |= touched,
                None => self.push(Transaction::sector(sector, touched)),
            }
        }
        self.order();
    }

    /// Gathers reads of two places per lane.
    pub fn gather_pairs(
        &mut self,
        mask: LaneMask,
        places: [&[u64; WARP_LANES]; 2],
        bytes: u32,
        granularity: Granularity,
    ) {
        self.len = 0;
        for addresses in places {
            lanes(mask).for_each(|lane| self.touch(addresses[lane], bytes));
        }
        self.finish(segment_bytes(bytes, granularity));
    }

    /// Gathers what goes through a cache that fetches `fetch_bytes` at a miss: constants and textures,
    /// which have two places per lane.
    pub fn gather_lines(
        &mut self,
        mask: LaneMask,
        addresses: &[u64; WARP_LANES],
        second: Option<&[u64; WARP_LANES]>,
        fetch_bytes: u32,
    ) {
        self.len = 0;
        for addresses in std::iter::once(addresses).chain(second) {
            for lane in lanes(mask) {
                let address = addresses[lane] & !u64::from(fetch_bytes - 1);
                if self.find(address).is_none() {
                    self.push(Transaction { address, bytes: fetch_bytes, byte_mask: 0 });
                }
            }
        }
        self.order();
    }

    /// Notes that a lane touches `bytes`, at most a sector's, at `address`: in one sector or across two.
    #[inline]
    fn touch(&mut self, address: u64, bytes: u32) {
        let (sector, touched) = (sector_of(address), bytes_from(address, bytes));
        self.touch_sector(sector, touched as u32);
        let beyond = (touched >> SECTOR_BYTES) as u32;
        if beyond != 0 {
            self.touch_sector(sector.wrapping_add(u64::from(SECTOR_BYTES)), beyond);
        }
    }

    #[inline]
    fn touch_sector(&mut self, sector: u64, touched: u32) {
        match self.find(sector) {
            Some(t) => t.byte_mask |= touched,
            None => self.push(Transaction::sector(sector, touched)),
        }
    }

    /// Orders the sectors that were touched, and makes segments of them.
    fn finish(&mut self, segment: u32) {
        self.order();
        if segment > SECTOR_BYTES {
            self.join(segment);
        }
    }

    /// Joins sectors, which are in order, to segments of `segment` bytes, and cuts unused halves off.
    #[cold]
    fn join(&mut self, segment: u32) {
        let (mut joined, mut next) = (0, 0);
        while next < self.len {
            let start = self.items[next].address & !u64::from(segment - 1);
            let mut masks = [0; (LINE_BYTES / SECTOR_BYTES) as usize];
            while let Some(t) = self.items[..self.len].get(next).filter(|t| t.address >= start) {
                masks[(t.address - start) as usize / SECTOR_BYTES as usize] = t.byte_mask;
                next += 1;
            }
            let used = |sectors: Range<usize>| masks[sectors].iter().any(|&mask| mask != 0);
            let mut sectors = 0..(segment / SECTOR_BYTES) as usize;
            while sectors.len() > 1 {
                let middle = sectors.start + sectors.len() / 2;
                match (used(sectors.start..middle), used(middle..sectors.end)) {
                    (true, true) => break,
                    (false, true) => sectors.start = middle,
                    _ => sectors.end = middle,
                }
            }
            self.items[joined] = Transaction {
                address: start + u64::from(SECTOR_BYTES) * sectors.start as u64,
                bytes: SECTOR_BYTES * sectors.len() as u32,
                byte_mask: masks[sectors].iter().fold(u32::MAX, |all, mask| all & mask),
            };
            joined += 1;
        }
        self.len = joined;
    }
}

/// Address of the sector that `address` is in.
#[inline]
const fn sector_of(address: u64) -> u64 {
    address & !(SECTOR_BYTES as u64 - 1)
}

/// The bytes that an access of `bytes`, at most a sector's, at `address` touches, counted from the beginning of its
/// sector.
#[inline]
const fn bytes_from(address: u64, bytes: u32) -> u64 {
    debug_assert!(bytes <= SECTOR_BYTES);
    ((1 << bytes) - 1) << (address % SECTOR_BYTES as u64)
}

/// Size of the segment that an access of `bytes` per lane is gathered in.
fn segment_bytes(bytes: u32, granularity: Granularity) -> u32 {
    match (granularity, bytes) {
        (Granularity::Sector, _) | (_, 0 | 1) => 32,
        (Granularity::Segment(most), 2) => most.min(64),
        (Granularity::Segment(most), _) => most,
    }
}

/// The layout of local memory: word *w* of all threads side by side, so that lanes that use the same
/// offset touch consecutive words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LocalLayout {
    /// Start of the local window in device memory.
    pub base: u64,
    /// Threads of a CTA, rounded up to whole warps.
    pub threads_per_cta: u32,
    /// CTAs that may be resident on an SM.
    pub ctas_per_sm: u32,
    /// SMs of the GPU.
    pub sm_count: u32,
}

impl LocalLayout {
    /// Bytes between one word of a thread and its next.
    pub const fn word_stride(&self) -> u64 {
        4 * self.threads_per_cta as u64 * self.ctas_per_sm as u64 * self.sm_count as u64
    }

    /// Turns offsets in the threads' local windows into device addresses, for the warp whose first
    /// thread is `first_thread` of the CTA in slot `cta_slot` of SM `sm`.
    pub fn addresses(
        &self,
        sm: u32,
        cta_slot: u32,
        first_thread: u32,
        offsets: &[u64; WARP_LANES],
    ) -> [u64; WARP_LANES] {
        let cta = u64::from(sm) + u64::from(self.sm_count) * u64::from(cta_slot);
        let thread = u64::from(self.threads_per_cta) * cta + u64::from(first_thread);
        let (base, stride) = (self.base + 4 * thread, self.word_stride());
        // Lanes without an access may have anything for an offset.
        let place = |offset: u64| (offset / 4).wrapping_mul(stride).wrapping_add(offset % 4);
        std::array::from_fn(|lane| place(offsets[lane]).wrapping_add(base + 4 * lane as u64))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    fn strided(start: u64, stride: u64) -> [u64; WARP_LANES] {
        std::array::from_fn(|i| start + i as u64 * stride)
    }

    fn gathered(mask: LaneMask, addresses: &[u64; WARP_LANES], bytes: u32, g: Granularity) -> Transactions {
        let mut t = Transactions::new();
        t.gather(mask, addresses, bytes, g);
        t
    }

    #[test]
    fn a_warp_reading_consecutive_words_makes_four_sectors_highest_first() {
        let t = gathered(u32::MAX, &strided(0x1000, 4), 4, Granularity::Sector);
        assert_eq!(t[..], [0x1060, 0x1040, 0x1020, 0x1000].map(|address| Transaction::sector(address, u32::MAX)));
    }

    #[test]
    fn banks_that_are_dealt_to_have_a_transaction_in_each_round() {
        // Eight lines begin in each bank: those of a bank follow each other until they are dealt.
        let mut t = gathered(u32::MAX, &strided(0, 132), 4, Granularity::Sector);
        let bank = |address: u64| (address / 32 % 4) as usize;
        let before: Vec<u64> = t.iter().map(|t| t.address).collect();
        t.deal(bank);
        for (i, round) in t.chunks(4).enumerate() {
            let mut banks: Vec<usize> = round.iter().map(|t| bank(t.address)).collect();
            banks.sort_unstable();
            assert_eq!(banks, [0, 1, 2, 3], "round {i}");
        }
        let of = |bank_wanted| move |address: &u64| bank(*address) == bank_wanted;
        for b in 0..4 {
            let dealt = t.iter().map(|t| t.address).filter(of(b));
            assert!(dealt.eq(before.iter().copied().filter(of(b))), "the order of bank {b}");
        }
    }

    #[test]
    fn strides_misalignment_and_widths_decide_how_many_sectors() {
        let count =
            |start, stride, bytes| gathered(u32::MAX, &strided(start, stride), bytes, Granularity::Sector).len();
        assert_eq!(count(0, 0, 4), 1);
        assert_eq!(count(4, 4, 4), 5);
        assert_eq!(count(0, 8, 4), 8);
        assert_eq!(count(0, 32, 4), 32);
        assert_eq!(count(0, 8, 8), 8);
        assert_eq!(count(0, 16, 16), 16);
        assert_eq!(count(0, 1, 1), 1);
        assert_eq!(count(28, 4096, 8), 64, "each lane crosses a sector");
    }

    #[test]
    fn fermi_cuts_segments_to_the_half_or_quarter_in_use() {
        let shape = |mask, start, stride, bytes| -> Vec<_> {
            gathered(mask, &strided(start, stride), bytes, Granularity::Segment(128))
                .iter()
                .map(|t| (t.address, t.bytes))
                .collect()
        };
        assert_eq!(shape(u32::MAX, 0x1000, 4, 4), [(0x1000, 128)]);
        assert_eq!(shape(0xffff, 0x1040, 4, 4), [(0x1040, 64)]);
        assert_eq!(shape(0xff, 0x1020, 4, 4), [(0x1020, 32)]);
        assert_eq!(shape(1, 0x1078, 4, 4), [(0x1060, 32)]);
        assert_eq!(shape(u32::MAX, 0x1000, 2, 2), [(0x1000, 64)]);
        assert_eq!(shape(u32::MAX, 0x1000, 1, 1), [(0x1000, 32)]);
        assert_eq!(shape(0b11, 0x1010, 0x40, 4), [(0x1000, 128)], "first and third quarter");
    }

    #[test]
    fn segments_are_no_larger_than_what_l1_fetches() {
        assert_eq!(Granularity::of(20, false, 128), Granularity::Segment(128));
        assert_eq!(Granularity::of(20, false, 64), Granularity::Segment(64));
        assert_eq!(Granularity::of(20, false, 32), Granularity::Sector, "a sectored L1");
        assert_eq!(Granularity::of(20, true, 128), Granularity::Sector);
        assert_eq!(Granularity::of(75, false, 128), Granularity::Sector);
        let halves = gathered(u32::MAX, &strided(0x1000, 4), 4, Granularity::Segment(64));
        assert_eq!(halves.iter().map(|t| (t.address, t.bytes)).collect::<Vec<_>>(), [(0x1040, 64), (0x1000, 64)]);
    }

    #[test]
    fn atomics_to_one_address_go_one_by_one() {
        let mut t = Transactions::new();
        t.gather_atomic(u32::MAX, &[0x2000; 32], 4);
        assert_eq!(t[..], [Transaction::sector(0x2000, 0xf); 32]);
        t.gather_atomic(u32::MAX, &strided(0x2000, 4), 4);
        assert_eq!(t.len(), 4);
        let pairs = std::array::from_fn(|i| 0x2000 + (i as u64 / 2) * 4);
        t.gather_atomic(u32::MAX, &pairs, 4);
        assert_eq!(t.len(), 4, "two rounds over two sectors");
    }

    #[test]
    fn local_words_of_a_warp_lie_side_by_side() {
        let layout = LocalLayout { base: 1 << 40, threads_per_cta: 128, ctas_per_sm: 4, sm_count: 2 };
        let addresses = layout.addresses(1, 2, 32, &[8; 32]);
        assert_eq!(addresses[0], layout.base + 4 * (128 * 5 + 32) + 2 * layout.word_stride());
        assert_eq!(addresses[31] - addresses[0], 124);
        let mut t = Transactions::new();
        t.gather_local(u32::MAX, &addresses, 16, layout.word_stride(), Granularity::Sector);
        assert_eq!(t.len(), 16, "four words of four sectors");
    }

    #[test]
    fn constant_accesses_are_gathered_by_line() {
        let mut t = Transactions::new();
        t.gather_lines(u32::MAX, &strided(0x100, 4), None, 64);
        assert_eq!(t.iter().map(|t| (t.address, t.bytes)).collect::<Vec<_>>(), [(0x140, 64), (0x100, 64)]);
    }

    #[test]
    fn two_places_per_lane_are_gathered_by_sector_and_by_line() {
        let mut t = Transactions::new();
        let rows = [strided(0x1000, 4), strided(0x2010, 4)];
        t.gather_pairs(u32::MAX, [&rows[0], &rows[1]], 4, Granularity::Sector);
        let sectors = [0x2080, 0x2060, 0x2040, 0x2020, 0x2000, 0x1060, 0x1040, 0x1020, 0x1000];
        assert_eq!(t.iter().map(|t| t.address).collect::<Vec<_>>(), sectors);
        t.gather_lines(u32::MAX, &rows[0], Some(&rows[1]), 128);
        assert_eq!(t.iter().map(|t| t.address).collect::<Vec<_>>(), [0x2080, 0x2000, 0x1000]);
    }

    proptest! {
        /// Every touched byte is covered by one transaction, and each says what is touched in all of its sectors.
        #[test]
        fn transactions_cover_the_bytes_touched(
            mask: u32,
            seed in proptest::array::uniform32(0u64..4096),
            log_bytes in 0u32..5,
            segment: bool,
        ) {
            let bytes = 1 << log_bytes;
            let addresses = seed.map(|a| 0x10_0000 + a / u64::from(bytes) * u64::from(bytes));
            let granularity = if segment { Granularity::Segment(128) } else { Granularity::Sector };
            let t = gathered(mask, &addresses, bytes, granularity);
            let mut touched: BTreeMap<u64, u32> = BTreeMap::new();
            for lane in lanes(mask) {
                for byte in (0..u64::from(bytes)).map(|b| addresses[lane] + b) {
                    *touched.entry(byte / 32).or_default() |= 1 << (byte % 32);
                }
            }
            let mut left = touched.clone();
            for t in t.iter() {
                prop_assert!(t.address.is_multiple_of(u64::from(t.bytes)));
                let sectors = t.address / 32..(t.address + u64::from(t.bytes)) / 32;
                let masks = sectors.map(|sector| left.remove(&sector).unwrap_or(0));
                prop_assert_eq!(masks.reduce(|all, mask| all & mask), Some(t.byte_mask));
            }
            prop_assert!(left.is_empty(), "not covered: {left:?}");
            prop_assert!(t.windows(2).all(|w| w[0].address > w[1].address));
        }

        /// The short cut for consecutive lanes agrees with the general path.
        #[test]
        fn consecutive_lanes_take_a_short_cut_to_the_same_result(start in 0u64..64, log_bytes in 0u32..5) {
            let bytes = 1u32 << log_bytes;
            let addresses = strided(0x4000 + start * 16, u64::from(bytes));
            let fast = gathered(u32::MAX, &addresses, bytes, Granularity::Sector);
            let mut slow = Transactions::new();
            addresses.iter().for_each(|&address| slow.touch(address, bytes));
            slow.finish(32);
            prop_assert_eq!(&fast[..], &slow[..]);
        }
    }
}

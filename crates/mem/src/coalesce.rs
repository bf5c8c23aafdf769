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
    /// What a GPU of compute capability `sm_version` / 10 does for accesses that bypass L1 or not. A
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
    /// Bytes touched in each sector of the 128-byte line: bit *i* of element *s* is byte `32 s + i`.
    pub byte_masks: [u32; 4],
    /// Lanes that take part.
    pub lanes: LaneMask,
}

impl Transaction {
    /// Address of the 128-byte line.
    pub const fn line(&self) -> u64 {
        self.address & !(LINE_BYTES as u64 - 1)
    }

    /// The first of its sectors in the 128-byte line.
    #[inline]
    fn first_sector(&self) -> usize {
        (self.address % LINE_BYTES as u64) as usize / SECTOR_BYTES as usize
    }

    /// Sectors of the 128-byte line that the transaction covers.
    #[inline]
    fn sectors(&self) -> Range<usize> {
        let first = self.first_sector();
        first..(first + (self.bytes / SECTOR_BYTES) as usize).min(self.byte_masks.len())
    }

    /// Bytes touched in every covered sector (see [`Request::byte_mask`]).
    #[inline]
    pub fn byte_mask(&self) -> u32 {
        match self.bytes {
            SECTOR_BYTES => self.byte_masks[self.first_sector()],
            _ => self.byte_masks[self.sectors()].iter().fold(u32::MAX, |mask, sector| mask & sector),
        }
    }

    /// The request that asks the next level for this transaction.
    #[inline]
    pub fn request(&self, kind: RequestKind, local: bool, token: u32) -> Request {
        let Self { address, bytes, .. } = *self;
        Request { address, bytes, kind, local, byte_mask: self.byte_mask(), token, from_dram: false }
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

    fn push(&mut self, transaction: Transaction) -> &mut Transaction {
        // Only misaligned local accesses, which are faults, could overflow: they share the last.
        let i = self.len.min(MAX_ACCESSES - 1);
        self.items[i] = transaction;
        self.len = i + 1;
        &mut self.items[i]
    }

    /// The transaction at `address`, made if there is none. Neighbours in lane order are mostly
    /// neighbours in memory, so the search runs from the newest.
    #[inline]
    fn at(&mut self, address: u64) -> &mut Transaction {
        match self.items[..self.len].iter().rposition(|t| t.address == address) {
            Some(i) => &mut self.items[i],
            None => self.push(Transaction { address, ..Transaction::default() }),
        }
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
    /// most. Those of one bank keep their order.
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
        let segment = segment_bytes(bytes, granularity);
        for lane in lanes(mask) {
            self.touch(addresses[lane], bytes, segment, lane);
        }
        self.finish(segment);
    }

    /// The common case: the lanes fill sectors, a run of lanes each.
    fn gather_whole_sectors<const BYTES: u32>(&mut self, addresses: &[u64; WARP_LANES]) -> bool {
        let lanes_each = (SECTOR_BYTES / BYTES) as usize;
        let mut off = 0;
        for run in addresses.chunks_exact(lanes_each) {
            off |= run[0] % u64::from(SECTOR_BYTES);
            for (i, &address) in run.iter().enumerate() {
                off |= address ^ run[0].wrapping_add(i as u64 * u64::from(BYTES));
            }
        }
        if off != 0 {
            return false;
        }
        let lane_bits = LaneMask::MAX >> (WARP_LANES - lanes_each);
        let starts = || addresses.iter().step_by(lanes_each);
        if starts().is_sorted_by(|a, b| a < b) {
            // As it mostly is: nothing to search, nothing to order.
            for (i, &address) in starts().enumerate().rev() {
                let mut byte_masks = [0; 4];
                byte_masks[(address % 128 / 32) as usize] = u32::MAX;
                let lanes = lane_bits << (i * lanes_each);
                self.push(Transaction { address, bytes: SECTOR_BYTES, byte_masks, lanes });
            }
            return true;
        }
        for first in (0..WARP_LANES).step_by(lanes_each) {
            let address = addresses[first];
            let at = self.at(address);
            at.lanes |= lane_bits << first;
            at.byte_masks[(address % 128 / 32) as usize] = u32::MAX;
            at.bytes = SECTOR_BYTES;
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
        let segment = segment_bytes(bytes, granularity);
        for piece in 0..u64::from(pieces) {
            for lane in lanes(mask) {
                self.touch(addresses[lane] + piece * piece_stride, piece_bytes, segment, lane);
            }
        }
        self.finish(segment);
    }

    /// Gathers an atomic: lanes whose bytes overlap go in different transactions.
    pub fn gather_atomic(
        &mut self,
        mask: LaneMask,
        addresses: &[u64; WARP_LANES],
        bytes: u32,
        granularity: Granularity,
    ) {
        self.len = 0;
        let segment = segment_bytes(bytes, granularity);
        for lane in lanes(mask) {
            let address = addresses[lane];
            let (block, masks) = (address & !u64::from(segment - 1), line_bytes_of(address, bytes));
            let free = |t: &Transaction| t.address == block && (0..4).all(|s| t.byte_masks[s] & masks[s] == 0);
            let at = match self.items[..self.len].iter().position(free) {
                Some(i) => &mut self.items[i],
                None => self.push(Transaction { address: block, ..Transaction::default() }),
            };
            at.lanes |= 1 << lane;
            (0..4).for_each(|s| at.byte_masks[s] |= masks[s]);
        }
        self.finish(segment);
        self.drop_strays();
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
        let segment = segment_bytes(bytes, granularity);
        for addresses in places {
            lanes(mask).for_each(|lane| self.touch(addresses[lane], bytes, segment, lane));
        }
        self.finish(segment);
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
                let at = self.at(addresses[lane] & !u64::from(fetch_bytes - 1));
                at.lanes |= 1 << lane;
                at.bytes = fetch_bytes;
            }
        }
        self.order();
    }

    /// Notes that `lane` touches `bytes`, at most a sector's, at `address`: in one sector or across
    /// two.
    #[inline]
    fn touch(&mut self, address: u64, bytes: u32, segment: u32, lane: usize) {
        debug_assert!(bytes <= SECTOR_BYTES);
        let here = bytes.min(SECTOR_BYTES - address as u32 % SECTOR_BYTES);
        self.touch_sector(address, here, segment, lane);
        if here < bytes {
            self.touch_sector(address.wrapping_add(u64::from(here)), bytes - here, segment, lane);
        }
    }

    /// The same within one sector.
    #[inline]
    fn touch_sector(&mut self, address: u64, bytes: u32, segment: u32, lane: usize) {
        let mask = ((1u64 << bytes) - 1) as u32;
        let at = self.at(address & !u64::from(segment - 1));
        at.lanes |= 1 << lane;
        at.byte_masks[(address % 128 / 32) as usize] |= mask << (address % 32);
    }

    /// Sets each transaction's size, cutting unused halves off, and orders them.
    fn finish(&mut self, segment: u32) {
        for t in &mut self.items[..self.len] {
            t.bytes = segment;
            while t.bytes > SECTOR_BYTES {
                let half = t.bytes / 2;
                let first = (t.address % 128 / 32) as usize;
                let sectors = (half / SECTOR_BYTES) as usize;
                let used = |from: usize| t.byte_masks[from..from + sectors].iter().any(|&m| m != 0);
                match (used(first), used(first + sectors)) {
                    (true, true) => break,
                    (false, true) => t.address += u64::from(half),
                    _ => {}
                }
                t.bytes = half;
            }
        }
        self.order();
    }

    /// Forgets bytes outside the transactions' own sectors, which other transactions do not cover.
    fn drop_strays(&mut self) {
        for t in &mut self.items[..self.len] {
            let sectors = t.sectors();
            (0..4).filter(|s| !sectors.contains(s)).for_each(|s| t.byte_masks[s] = 0);
        }
    }
}

/// Size of the segment that an access of `bytes` per lane is gathered in.
fn segment_bytes(bytes: u32, granularity: Granularity) -> u32 {
    match (granularity, bytes) {
        (Granularity::Sector, _) | (_, 0 | 1) => 32,
        (Granularity::Segment(most), 2) => most.min(64),
        (Granularity::Segment(most), _) => most,
    }
}

/// Which bytes of the 128-byte line an access touches, per sector; what sticks out is dropped.
fn line_bytes_of(address: u64, bytes: u32) -> [u32; 4] {
    let first = (address % 128) as u32;
    let bits = if bytes >= 128 { u128::MAX } else { (1u128 << bytes) - 1 } << first;
    std::array::from_fn(|s| (bits >> (32 * s)) as u32)
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
    use std::collections::BTreeSet;

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
        let summary: Vec<_> = t.iter().map(|t| (t.address, t.bytes, t.lanes, t.byte_mask())).collect();
        assert_eq!(
            summary,
            [
                (0x1060, 32, 0xff00_0000, u32::MAX),
                (0x1040, 32, 0x00ff_0000, u32::MAX),
                (0x1020, 32, 0x0000_ff00, u32::MAX),
                (0x1000, 32, 0x0000_00ff, u32::MAX),
            ]
        );
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
        t.gather_atomic(u32::MAX, &[0x2000; 32], 4, Granularity::Sector);
        assert_eq!(t.len(), 32);
        assert!(t.iter().all(|t| t.lanes.count_ones() == 1 && t.address == 0x2000));
        t.gather_atomic(u32::MAX, &strided(0x2000, 4), 4, Granularity::Sector);
        assert_eq!(t.len(), 4);
        let pairs = std::array::from_fn(|i| 0x2000 + (i as u64 / 2) * 4);
        t.gather_atomic(u32::MAX, &pairs, 4, Granularity::Sector);
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
        /// Every touched byte is covered exactly by its sector's transaction, and nothing else is.
        #[test]
        fn transactions_cover_exactly_the_bytes_touched(
            mask: u32,
            seed in proptest::array::uniform32(0u64..4096),
            log_bytes in 0u32..5,
            segment: bool,
        ) {
            let bytes = 1 << log_bytes;
            let addresses = seed.map(|a| 0x10_0000 + a / u64::from(bytes) * u64::from(bytes));
            let granularity = if segment { Granularity::Segment(128) } else { Granularity::Sector };
            let t = gathered(mask, &addresses, bytes, granularity);
            let mut expected = BTreeSet::new();
            for lane in lanes(mask) {
                expected.extend((0..u64::from(bytes)).map(|b| addresses[lane] + b));
            }
            let mut got = BTreeSet::new();
            for t in t.iter() {
                prop_assert!(t.address.is_multiple_of(u64::from(t.bytes)));
                for s in 0..4u64 {
                    for b in 0..32u64 {
                        if t.byte_masks[s as usize] >> b & 1 != 0 {
                            let byte = t.line() + 32 * s + b;
                            prop_assert!((t.address..t.address + u64::from(t.bytes)).contains(&byte));
                            prop_assert!(got.insert(byte), "byte covered twice");
                        }
                    }
                }
            }
            prop_assert_eq!(got, expected);
            prop_assert!(t.windows(2).all(|w| w[0].address >= w[1].address));
        }

        /// The short cut for consecutive lanes agrees with the general path.
        #[test]
        fn consecutive_lanes_take_a_short_cut_to_the_same_result(start in 0u64..64, log_bytes in 0u32..5) {
            let bytes = 1u32 << log_bytes;
            let addresses = strided(0x4000 + start * 16, u64::from(bytes));
            let fast = gathered(u32::MAX, &addresses, bytes, Granularity::Sector);
            let mut slow = Transactions::new();
            for (lane, &address) in addresses.iter().enumerate() {
                slow.touch(address, bytes, 32, lane);
            }
            slow.finish(32);
            prop_assert_eq!(&fast[..], &slow[..]);
        }
    }
}

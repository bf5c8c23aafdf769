//! Bank conflicts of shared memory.
//!
//! Banks are four bytes wide; lanes that read the same word share one access. A lane counts with
//! the word that its access begins in: lanes of a conflict-free 8-byte access begin in the even
//! banks, so a warp takes two rounds of 16 lanes, and one of 16-byte accesses four of 8 lanes.

use kit::{LaneMask, WARP_LANES, lanes};

/// Maximum number of banks.
pub const MAX_BANKS: usize = 64;

/// Rounds (cycles of the shared-memory pipe) that an access takes: 1 without conflict, 0 for an
/// empty `mask`. `banks` is a power of two, at most [`MAX_BANKS`].
///
/// With `limited_broadcast`, as before Fermi, only one word per access is broadcast: the lowest
/// bank's lowest word that several lanes request; all other lanes count one by one.
pub fn conflict_degree(mask: LaneMask, addresses: &[u64; WARP_LANES], banks: u32, limited_broadcast: bool) -> u32 {
    if mask == 0 {
        return 0;
    }
    let banks = u64::from(banks);
    // Among so few consecutive words no two share a bank: mostly they are those of one row.
    if !limited_broadcast && differing_bits(mask, addresses) < 4 * banks {
        return 1;
    }
    degree_beyond_a_row(mask, addresses, banks, limited_broadcast)
}

/// The same for words that are not all of one row.
#[inline(never)]
fn degree_beyond_a_row(mask: LaneMask, addresses: &[u64; WARP_LANES], banks: u64, limited_broadcast: bool) -> u32 {
    if !limited_broadcast && words_spanned(mask, addresses) < banks {
        return 1;
    }
    let mut tally = Tally::new();
    for lane in lanes(mask) {
        let word = addresses[lane] / 4;
        tally.add(lane, word, (word & (banks - 1)) as usize % MAX_BANKS);
    }
    if limited_broadcast { tally.degree_with_one_broadcast() } else { tally.degree() }
}

/// Maximum number of lanes of `mask` whose access begins in one bank, be it the same word. `banks` is a power of two,
/// at most [`MAX_BANKS`].
pub fn most_in_a_bank(mask: LaneMask, addresses: &[u64; WARP_LANES], banks: u32) -> u32 {
    let bank_mask = u64::from(banks - 1);
    let mut lanes_of = [0_u32; MAX_BANKS];
    lanes(mask).for_each(|lane| lanes_of[((addresses[lane] / 4) & bank_mask) as usize % MAX_BANKS] += 1);
    lanes_of.into_iter().max().unwrap_or(0)
}

/// Bits in which the addresses of the lanes of `mask`, not empty, differ.
fn differing_bits(mask: LaneMask, addresses: &[u64; WARP_LANES]) -> u64 {
    let first = addresses[mask.trailing_zeros() as usize];
    if mask == LaneMask::MAX {
        return addresses.iter().fold(0, |bits, address| bits | (address ^ first));
    }
    lanes(mask).fold(0, |bits, lane| bits | (addresses[lane] ^ first))
}

/// Distance in words from the lowest to the highest word of the lanes of `mask`, which is not empty.
fn words_spanned(mask: LaneMask, addresses: &[u64; WARP_LANES]) -> u64 {
    let first = addresses[mask.trailing_zeros() as usize];
    let (mut low, mut high) = (first, first);
    for (lane, &address) in addresses.iter().enumerate() {
        let address = if mask >> lane & 1 != 0 { address } else { first };
        low = low.min(address);
        high = high.max(address);
    }
    high / 4 - low / 4
}

/// Distinct words per bank, as lists through the lanes that asked first.
struct Tally {
    /// First lane (plus one) of each bank's list of distinct words.
    head: [u8; MAX_BANKS],
    /// Next lane (plus one) with another word of the same bank.
    next: [u8; WARP_LANES],
    word: [u64; WARP_LANES],
    /// Lanes with this lane's word; 0 if an earlier lane has it too.
    wanted: [u8; WARP_LANES],
    distinct: [u8; MAX_BANKS],
    asked: [u8; MAX_BANKS],
}

impl Tally {
    const fn new() -> Self {
        Self {
            head: [0; MAX_BANKS],
            next: [0; WARP_LANES],
            word: [0; WARP_LANES],
            wanted: [0; WARP_LANES],
            distinct: [0; MAX_BANKS],
            asked: [0; MAX_BANKS],
        }
    }

    fn add(&mut self, lane: usize, word: u64, bank: usize) {
        self.asked[bank] += 1;
        let mut at = self.head[bank];
        while at != 0 {
            let other = usize::from(at) - 1;
            if self.word[other] == word {
                self.wanted[other] += 1;
                return;
            }
            at = self.next[other];
        }
        self.word[lane] = word;
        self.wanted[lane] = 1;
        self.next[lane] = self.head[bank];
        self.head[bank] = lane as u8 + 1;
        self.distinct[bank] += 1;
    }

    fn degree(&self) -> u32 {
        u32::from(self.distinct.iter().copied().max().unwrap_or(0))
    }

    fn degree_with_one_broadcast(&self) -> u32 {
        let mut saved = None;
        for bank in 0..MAX_BANKS {
            let mut shared: Option<(u64, u8)> = None;
            let mut at = self.head[bank];
            while at != 0 {
                let lane = usize::from(at) - 1;
                if self.wanted[lane] > 1 && shared.is_none_or(|(word, _)| self.word[lane] < word) {
                    shared = Some((self.word[lane], self.wanted[lane]));
                }
                at = self.next[lane];
            }
            if let Some((_, wanted)) = shared {
                saved = Some((bank, wanted - 1));
                break;
            }
        }
        let rounds = |bank: usize| match saved {
            Some((b, n)) if b == bank => self.asked[bank] - n,
            _ => self.asked[bank],
        };
        u32::from((0..MAX_BANKS).map(rounds).max().unwrap_or(0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::{BTreeMap, BTreeSet};

    #[test]
    fn lanes_of_one_word_are_counted_each() {
        let most = |mask, f: fn(u64) -> u64| most_in_a_bank(mask, &std::array::from_fn(|i| f(i as u64)), 32);
        assert_eq!([most(u32::MAX, |_| 64), most(u32::MAX, |i| 4 * i), most(u32::MAX, |i| 8 * i)], [32, 1, 2]);
        assert_eq!([most(0xf, |_| 64), most(0, |_| 64)], [4, 0]);
    }

    fn degree(f: impl Fn(u64) -> u64) -> u32 {
        conflict_degree(u32::MAX, &std::array::from_fn(|i| f(i as u64)), 32, false)
    }

    #[test]
    fn strides_broadcasts_and_wide_accesses() {
        assert_eq!(degree(|i| i * 4), 1);
        assert_eq!(degree(|_| 64), 1, "broadcast");
        for stride in 1..=32u64 {
            let expected = 1 << stride.trailing_zeros().min(5);
            assert_eq!(degree(|i| i * stride * 4), expected, "stride of {stride} words");
        }
        assert_eq!(degree(|i| i * 8), 2, "8-byte accesses: two half warps");
        assert_eq!(degree(|i| i * 16), 4, "16-byte accesses: four quarter warps");
        assert_eq!(degree(|i| i), 1, "bytes of eight words");
        assert_eq!(conflict_degree(0, &[0; 32], 32, false), 0);
        assert_eq!(conflict_degree(0b101, &std::array::from_fn(|i| i as u64 * 128), 32, false), 2);
    }

    #[test]
    fn limited_broadcast_helps_only_one_word() {
        let two_words = std::array::from_fn(|i| (i as u64 % 2) * 4);
        assert_eq!(conflict_degree(u32::MAX, &two_words, 32, false), 1);
        assert_eq!(conflict_degree(u32::MAX, &two_words, 32, true), 16, "the other word's 16 lanes queue");
        assert_eq!(conflict_degree(u32::MAX, &[128; 32], 32, true), 1);
    }

    proptest! {
        #[test]
        fn agrees_with_counting_distinct_words_in_maps(
            mask: u32,
            words in proptest::array::uniform32(0u64..200),
            log_banks in 4u32..6,
        ) {
            let banks = 1u64 << log_banks;
            let addresses = words.map(|w| w * 4);
            let mut seen: BTreeMap<u64, BTreeSet<u64>> = BTreeMap::new();
            for lane in lanes(mask) {
                seen.entry(words[lane] % banks).or_default().insert(words[lane]);
            }
            let expected = seen.values().map(|s| s.len() as u32).max().unwrap_or(0);
            prop_assert_eq!(conflict_degree(mask, &addresses, banks as u32, false), expected);
        }
    }
}

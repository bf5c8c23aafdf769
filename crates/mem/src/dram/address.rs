//! From a device address to channel, L2 slice, bank, row and column.
//!
//! GPGPU-Sim's scheme: a string names the row (`R`), bank (`B`) and column (`C`, `S`) bits from the
//! most significant down; the channel number is spliced in at a given bit. With a power of two of
//! channels these are address bits; otherwise the address above that bit is divided by the number
//! of channels, the remainder is the channel and the quotient takes the place of the upper bits.
//! Slices of a channel share it by the lowest bits of the bank number.

use crate::ipoly::IPoly;
use config::{GpuConfig, PartitionIndex};

/// The place of an address in DRAM.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Location {
    /// Memory partition, which has one channel.
    pub channel: u32,
    /// L2 slice, counted over all partitions.
    pub slice: u32,
    /// Bank of the channel, before any bank hash.
    pub bank: u32,
    /// Row of the bank.
    pub row: u32,
    /// Column as a byte offset in the row.
    pub column: u32,
}

/// Bits of an address gathered into a number, lowest first: runs of neighbouring bits are moved
/// together.
#[derive(Clone, Debug)]
struct Bits {
    mask: u64,
    /// The first run; many have no others.
    first: Run,
    rest: Box<[Run]>,
}

/// Neighbouring bits that are moved together.
#[derive(Clone, Copy, Debug, Default)]
struct Run {
    from: u32,
    to: u32,
    /// The bits, once moved down from `from`.
    field: u64,
}

impl Run {
    #[inline]
    fn of(self, address: u64) -> u64 {
        (address >> self.from & self.field) << self.to
    }
}

impl Bits {
    fn new(mask: u64) -> Self {
        let (mut left, mut to, mut runs) = (mask, 0, Vec::new());
        while left != 0 {
            let from = left.trailing_zeros();
            let length = (left >> from).trailing_ones();
            let field = u64::MAX >> (64 - length);
            runs.push(Run { from, to, field });
            to += length;
            left &= !(field << from);
        }
        Self::of_runs(mask, runs.into_iter())
    }

    fn of_runs(mask: u64, mut runs: impl Iterator<Item = Run>) -> Self {
        Self { mask, first: runs.next().unwrap_or_default(), rest: runs.collect() }
    }

    fn runs(&self) -> impl Iterator<Item = Run> {
        std::iter::once(self.first).chain(self.rest.iter().copied())
    }

    /// These bits, and the bits of `upper` above them.
    fn below(&self, upper: &Self) -> Self {
        let width = self.mask.count_ones();
        let upper_runs = upper.runs().map(|run| Run { to: run.to + width, ..run });
        Self::of_runs(self.mask | upper.mask, self.runs().chain(upper_runs))
    }

    #[inline]
    fn of(&self, address: u64) -> u64 {
        self.rest.iter().fold(self.first.of(address), |out, run| out | run.of(address))
    }
}

/// Makes room in `mask` for `width` bits at bit `at`.
const fn spread(mask: u64, at: u32, width: u32) -> u64 {
    let low = (1u64 << at) - 1;
    (mask & !low) << width | mask & low
}

/// Address decoding, resolved from the configuration.
#[derive(Clone, Debug)]
pub struct AddressMap {
    splice: Splice,
    slices_per_channel: u32,
    /// The number of slices in all is not a power of two.
    partly_used: bool,
    bank: Bits,
    row: Bits,
    /// Bank and, above it, row.
    bank_and_row: Bits,
    column: Bits,
    /// The bank bits that choose the slice within the channel.
    slice_in_channel: Bits,
    within_slice: WithinSlice,
    upper_shift: u32,
    hash: Hash,
}

/// How the channel is spliced into addresses.
#[derive(Clone, Copy, Debug)]
struct Splice {
    channels: u32,
    channel_bit: u32,
    /// The number of channels is not a power of two.
    divide: bool,
}

impl Splice {
    /// Channel bits before hashing, and the address that masks apply to.
    #[inline]
    fn split(self, address: u64) -> (u32, u64) {
        let above = address >> self.channel_bit;
        if self.divide {
            let (quotient, channel) = (above / u64::from(self.channels), above % u64::from(self.channels));
            let low = address & ((1 << self.channel_bit) - 1);
            (channel as u32, quotient << self.channel_bit | low)
        } else {
            ((above & u64::from(self.channels - 1)) as u32, address)
        }
    }
}

/// The rest of an address for the L2's set index: all bits except those that chose channel and slice.
#[derive(Clone, Debug)]
pub(crate) struct WithinSlice {
    splice: Splice,
    bits: Bits,
}

impl WithinSlice {
    #[inline]
    pub fn of(&self, address: u64) -> u64 {
        let (_, rest) = self.splice.split(address);
        self.bits.of(rest)
    }
}

#[derive(Clone, Debug)]
enum Hash {
    None,
    Xor,
    IPoly(IPoly),
    Rotate,
}

impl AddressMap {
    /// Resolves the description. Characters of the map other than `R`, `B`, `C`, `S` and `0` are
    /// skipped; its last character is bit 0.
    pub fn new(config: &GpuConfig) -> Self {
        let channels = config.l2.partitions.max(1);
        let slices = config.l2.slices_per_partition.max(1);
        let divide = !channels.is_power_of_two();
        let channel_bits = channels.ilog2();
        let channel_bit = config.dram.channel_bit.min(48);
        let around_channel = |mask: u64| if divide { mask } else { spread(mask, channel_bit, channel_bits) };
        let named = |names: &str| Bits::new(around_channel(mask_of(&config.dram.address_map, names)));
        let (bank, row) = (named("Bb"), named("Rr"));
        let slice_bits = lowest_bits(bank.mask, slices.next_power_of_two().ilog2());
        let channel_mask = if divide { 0 } else { u64::from(channels - 1) << channel_bit };
        let hash = match config.l2.partition_index {
            PartitionIndex::Linear => Hash::None,
            PartitionIndex::Xor if divide => Hash::None,
            PartitionIndex::Xor => Hash::Xor,
            PartitionIndex::Rotate => Hash::Rotate,
            PartitionIndex::IPoly => Hash::IPoly(IPoly::new((channels * slices).next_power_of_two())),
        };
        let splice = Splice { channels, channel_bit, divide };
        Self {
            splice,
            slices_per_channel: slices,
            partly_used: !(channels * slices).is_power_of_two(),
            bank_and_row: bank.below(&row),
            bank,
            row,
            column: named("CcSs"),
            slice_in_channel: Bits::new(slice_bits),
            within_slice: WithinSlice { splice, bits: Bits::new(!(channel_mask | slice_bits)) },
            upper_shift: channel_bit + if divide { 0 } else { channel_bits + slices.next_power_of_two().ilog2() },
            hash,
        }
    }

    /// Number of slices of the GPU.
    pub const fn slices(&self) -> u32 {
        self.splice.channels * self.slices_per_channel
    }

    /// Whether aligned blocks of `bytes`, a power of two, are in one slice each.
    pub fn keeps_together(&self, bytes: u32) -> bool {
        1 << self.splice.channel_bit >= u64::from(bytes)
            && self.slice_in_channel.mask & u64::from(bytes.max(1) - 1) == 0
    }

    /// The place of `address`.
    pub fn locate(&self, address: u64) -> Location {
        let (_, rest) = self.splice.split(address);
        let slice = self.slice_of(address);
        Location {
            channel: slice / self.slices_per_channel,
            slice,
            bank: self.bank.of(rest) as u32,
            row: self.row.of(rest) as u32,
            column: self.column.of(rest) as u32,
        }
    }

    /// The slice that serves `address`.
    #[inline]
    pub fn slice_of(&self, address: u64) -> u32 {
        let (channel, rest) = self.splice.split(address);
        let upper = rest >> self.upper_shift;
        // A number of slices that is not a power of two takes the remainder of some bank bits.
        let in_channel = self.slice_in_channel.of(rest) as u32 % self.slices_per_channel;
        match &self.hash {
            Hash::None => channel * self.slices_per_channel + in_channel,
            Hash::Xor => {
                let channel = channel ^ (upper & u64::from(self.splice.channels - 1)) as u32;
                channel * self.slices_per_channel + in_channel
            }
            Hash::IPoly(hash) => {
                let slice = hash.hash(upper, channel * self.slices_per_channel + in_channel);
                if self.partly_used { slice % self.slices() } else { slice }
            }
            Hash::Rotate => {
                // The bits that distinguish addresses of a slice, without bits that choose the slice.
                let upper = self.within_slice.bits.of(rest) >> self.splice.channel_bit;
                let turn = upper.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
                let slice = u64::from(channel * self.slices_per_channel + in_channel);
                ((slice + turn) % u64::from(self.slices())) as u32
            }
        }
    }

    /// Bank and row of `address` within its channel.
    #[inline]
    pub fn bank_and_row(&self, address: u64) -> (u32, u32) {
        let (_, rest) = self.splice.split(address);
        let both = self.bank_and_row.of(rest);
        let bank_bits = self.bank.mask.count_ones();
        ((both & ((1 << bank_bits) - 1)) as u32, (both >> bank_bits) as u32)
    }

    /// An address without what chose channel and slice, for the L2's set index.
    pub(crate) fn within_slice(&self) -> &WithinSlice {
        &self.within_slice
    }
}

/// The bits of an address map whose character is one of `names`.
fn mask_of(map: &str, names: &str) -> u64 {
    let characters = map.chars().rev().filter(|c| "RrBbCcSs0".contains(*c)).take(64);
    characters.enumerate().filter(|(_, c)| names.contains(*c)).fold(0, |mask, (bit, _)| mask | 1 << bit)
}

/// The lowest `count` set bits of `mask`.
fn lowest_bits(mut mask: u64, count: u32) -> u64 {
    let mut out = 0;
    for _ in 0..count {
        out |= mask & mask.wrapping_neg();
        mask &= mask.wrapping_sub(1);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    fn map(gpu: &str) -> AddressMap {
        AddressMap::new(&config::load(gpu).expect("built in"))
    }

    /// RTX 2060 Super: `RRRR.RRRRRRRR.RBBBCCCC.BCCSSSSS`, 16 channels at bit 8, 2 slices each, no
    /// hash. Worked by hand: channel = bits 11:8; spliced, `S` = 4:0, `C` = 6:5 and 15:12 (bits
    /// 11:8 of the map), `B` = 7 and 18:16, `R` = 31:19.
    #[test]
    fn rtx_2060_super_by_hand() {
        let map = map("accel-sim/rtx2060s");
        assert_eq!(map.locate(0), Location::default());
        assert_eq!(map.locate(0x80), Location { bank: 1, slice: 1, ..Location::default() });
        assert_eq!(map.locate(0x100), Location { channel: 1, slice: 2, ..Location::default() });
        assert_eq!(map.locate(0x1000), Location { column: 0x80, ..Location::default() });
        assert_eq!(map.locate(0x1_0000), Location { bank: 2, ..Location::default() });
        assert_eq!(map.locate(0x8_0000), Location { row: 1, ..Location::default() });
        let at = map.locate(0xdead_beef);
        // 0xdeadbeef = 1101_1110_1010_1101_1011_1110_1110_1111
        let expected =
            Location { channel: 0xe, slice: 0x1d, bank: 0b1011, row: 0b1_1011_1101_0101, column: 0b101_1110_1111 };
        assert_eq!(at, expected);
    }

    /// V100: 32 channels at bit 8, 2 slices, IPOLY over 64.
    #[test]
    fn v100_hashes_its_slices() {
        let map = map("accel-sim/v100");
        // Map RBBBCCCB.CCCSSSSS: bank bit 0 is map bit 8, spliced to bit 13.
        assert_eq!(map.locate(0x100).slice, 2);
        assert_eq!(map.locate(0x2000).slice, 1);
        // Upper bits start at 8 + 5 + 1 = 14: x^6 = x + 1.
        assert_eq!(map.locate(0x4000).slice, 0b11);
        assert_eq!(map.locate(0x4000).channel, 1);
        assert_eq!(map.locate(0x8000).slice, 0b110);
    }

    /// GTX 480: 6 channels by division of the address above bit 8.
    #[test]
    fn six_channels_are_divided() {
        let map = map("accel-sim/gtx480");
        let channels: Vec<_> = (0..8).map(|i| map.locate(i * 256).channel).collect();
        assert_eq!(channels, [0, 1, 2, 3, 4, 5, 0, 1]);
        // The seventh 256-byte block is block 1 of channel 0: map bit 8 is the lowest bank bit.
        assert_eq!(map.locate(6 * 256), Location { bank: 1, slice: 1, ..Location::default() });
        assert_eq!(map.locate(6 * 256 + 5), Location { bank: 1, slice: 1, column: 5, ..Location::default() });
    }

    /// Any number of partitions, blocks that follow each other and blocks a power of two apart.
    #[test]
    fn rotated_slices_are_used_evenly() {
        for (gpu, partitions) in [("a40", 24), ("v100", 32), ("gtx480", 5)] {
            let mut config = config::load(gpu).unwrap();
            (config.l2.partitions, config.l2.partition_index) = (partitions, PartitionIndex::Rotate);
            let map = AddressMap::new(&config);
            for shift in 8..20 {
                let mut count = vec![0; map.slices() as usize];
                (0..1u64 << 14).for_each(|block| count[map.slice_of(block << shift) as usize] += 1);
                let mean = (1 << 14) / map.slices();
                let most = count.iter().max().unwrap();
                assert!(
                    *most < mean * 5 / 4 + 40,
                    "{partitions} partitions, {} bytes apart: {most} of {mean}",
                    1 << shift
                );
            }
        }
    }

    #[test]
    fn consecutive_blocks_spread_evenly_over_slices() {
        for gpu in config::builtin() {
            let map = map(gpu.name);
            let mut count: BTreeMap<u32, u32> = BTreeMap::new();
            (0..1u64 << 16).for_each(|sector| *count.entry(map.slice_of(sector * 32)).or_default() += 1);
            let (low, high) = (count.values().min().unwrap(), count.values().max().unwrap());
            assert_eq!(count.len() as u32, map.slices(), "{}", gpu.name);
            // 24 channels take the remainder of a hash over 64 places: a third of them come up twice.
            let even = if map.splice.divide && matches!(map.hash, Hash::IPoly(_)) {
                high / low <= 2
            } else {
                high - low <= 512
            };
            assert!(even, "{}: {low} to {high} sectors a slice", gpu.name);
        }
    }

    proptest! {
        /// No two addresses of a sector's size share a place, and neighbours within a slice differ in
        /// their index address.
        #[test]
        fn locations_are_distinct(a in 0u64..1 << 31, b in 0u64..1 << 31, gpu in 0..config::builtin().len()) {
            let map = map(config::builtin()[gpu].name);
            let (x, y) = (map.locate(a), map.locate(b));
            prop_assert!(x.slice < map.slices() && x.channel == x.slice / map.slices_per_channel);
            if a != b && !matches!(map.hash, Hash::IPoly(_)) {
                prop_assert_ne!(x, y);
                prop_assert!(x.slice != y.slice || map.within_slice().of(a) != map.within_slice().of(b));
            }
        }
    }
}

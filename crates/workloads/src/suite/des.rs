//! Triple DES encryption.

use crate::bundled;
use crate::workload::{Parameter, Run, Suite, Workload, WorkloadError};

const THREADS: usize = 128;

pub(super) const WORKLOAD: Workload = Workload {
    name: "des",
    summary: "triple DES of packets with three keys each, by tables, each a launch of one CTA",
    character: "one CTA on the GPU at a time; eight independent look-ups in shared memory a round, rounds are a chain",
    suite: Suite::Pagoda,
    papers: &[("ghost", "DES")],
    module: bundled!("des"),
    parameters: &[
        Parameter::new("packets", "packets", [3, 64, 512], 1, 4096),
        Parameter::new("bytes", "bytes of a packet", [2048; 3], 8, 1 << 20).in_steps_of(8),
    ],
    body,
};

// The tables of FIPS 46-3: places of bits, counted from 1 at the most significant one.
const INITIAL: [u8; 64] = initial();
const EXPANSION: [u8; 48] = expansion();
const MIXING: [u8; 32] = [
    16, 7, 20, 21, 29, 12, 28, 17, 1, 15, 23, 26, 5, 18, 31, 10, 2, 8, 24, 14, 32, 27, 3, 9, 19, 13, 30, 6, 22, 11, 4,
    25,
];
const CHOICE_1: [u8; 56] = [
    57, 49, 41, 33, 25, 17, 9, 1, 58, 50, 42, 34, 26, 18, 10, 2, 59, 51, 43, 35, 27, 19, 11, 3, 60, 52, 44, 36, 63, 55,
    47, 39, 31, 23, 15, 7, 62, 54, 46, 38, 30, 22, 14, 6, 61, 53, 45, 37, 29, 21, 13, 5, 28, 20, 12, 4,
];
const CHOICE_2: [u8; 48] = [
    14, 17, 11, 24, 1, 5, 3, 28, 15, 6, 21, 10, 23, 19, 12, 4, 26, 8, 16, 7, 27, 20, 13, 2, 41, 52, 31, 37, 47, 55, 30,
    40, 51, 45, 33, 48, 44, 49, 39, 56, 34, 53, 46, 42, 50, 36, 29, 32,
];
const SHIFTS: [u32; 16] = [1, 1, 2, 2, 2, 2, 2, 2, 1, 2, 2, 2, 2, 2, 2, 1];
/// Rows of the substitutions, a hexadecimal digit a column.
const SUBSTITUTIONS: [[u64; 4]; 8] = [
    [0xe4d1_2fb8_3a6c_5907, 0x0f74_e2d1_a6cb_9538, 0x41e8_d62b_fc97_3a50, 0xfc82_4917_5b3e_a06d],
    [0xf18e_6b34_972d_c05a, 0x3d47_f28e_c01a_69b5, 0x0e7b_a4d1_58c6_932f, 0xd8a1_3f42_b67c_05e9],
    [0xa09e_63f5_1dc7_b428, 0xd709_346a_285e_cbf1, 0xd649_8f30_b12c_5ae7, 0x1ad0_6987_4fe3_b52c],
    [0x7de3_069a_1285_bc4f, 0xd8b5_6f03_472c_1ae9, 0xa690_cb7d_f13e_5284, 0x3f06_a1d8_945b_c72e],
    [0x2c41_7ab6_853f_d0e9, 0xeb2c_47d1_50fa_3986, 0x421b_ad78_f9c5_630e, 0xb8c7_1e2d_6f09_a453],
    [0xc1af_9268_0d34_e75b, 0xaf42_7c95_61de_0b38, 0x9ef5_28c3_704a_1db6, 0x432c_95fa_be17_608d],
    [0x4b2e_f08d_3c97_5a61, 0xd0b7_491a_e35c_2f86, 0x14bd_c37e_af68_0592, 0x6bd8_14a7_950f_e23c],
    [0xd284_6fb1_a93e_50c7, 0x1fd8_a374_c56b_0e92, 0x7b41_9ce2_06ad_f358, 0x21e7_4a8d_fc90_356b],
];

/// Columns of bytes from right to left, the even ones first, each from the bottom.
const fn initial() -> [u8; 64] {
    let mut places = [0; 64];
    let mut i = 0;
    while i < 64 {
        let first = if i < 32 { 58 } else { 57 };
        places[i] = (first + 2 * (i / 8 % 4) - 8 * (i % 8)) as u8;
        i += 1;
    }
    places
}

/// Groups of four bits and their neighbours.
const fn expansion() -> [u8; 48] {
    let mut places = [0; 48];
    let mut i = 0;
    while i < 48 {
        places[i] = ((4 * (i / 6) + i % 6 + 31) % 32 + 1) as u8;
        i += 1;
    }
    places
}

/// The bits of a number of `width` bits at these places.
fn choose(value: u64, width: u32, places: &[u8]) -> u64 {
    places.iter().fold(0, |bits, &place| bits << 1 | value >> (width - u32::from(place)) & 1)
}

/// A substitution of six bits: the outer ones choose the row.
fn substituted(of: usize, six: u64) -> u64 {
    let (row, column) = (six >> 4 & 2 | six & 1, six >> 1 & 15);
    SUBSTITUTIONS[of][row as usize] >> (60 - 4 * column) & 15
}

/// The keys of the rounds, 48 bits each.
fn round_keys(key: u64) -> [u64; 16] {
    let chosen = choose(key, 64, &CHOICE_1);
    let mut halves = [chosen >> 28, chosen & 0xfff_ffff];
    SHIFTS.map(|by| {
        halves = halves.map(|half| (half << by | half >> (28 - by)) & 0xfff_ffff);
        choose(halves[0] << 28 | halves[1], 56, &CHOICE_2)
    })
}

/// A block with the keys of the rounds, by the steps of the standard.
fn des(block: u64, keys: &[u64]) -> u64 {
    let start = choose(block, 64, &INITIAL);
    let (mut left, mut right) = (start >> 32, start & 0xffff_ffff);
    for key in keys {
        let mixed = choose(right, 32, &EXPANSION) ^ key;
        let boxes = (0..8).fold(0, |word, i| word << 4 | substituted(i, mixed >> (42 - 6 * i) & 63));
        (left, right) = (right, left ^ choose(boxes, 32, &MIXING));
    }
    let end = right << 32 | left;
    // Back by the first permutation: the bit that came from a place returns to it.
    INITIAL.iter().enumerate().fold(0, |block, (i, &place)| block | (end >> (63 - i) & 1) << (64 - place))
}

/// The keys of all rounds of encryption, decryption and encryption.
fn triple_keys(keys: [u64; 3]) -> Vec<u64> {
    let [first, mut second, third] = keys.map(round_keys);
    second.reverse();
    [first, second, third].concat()
}

/// A round key as the kernel has it: a byte for each group of six bits, the even ones, then the odd ones.
fn words(key: u64) -> [u32; 2] {
    let group = |i: usize| (key >> (42 - 6 * i) & 63) as u8;
    [0, 1].map(|odd| u32::from_be_bytes([group(odd), group(odd + 2), group(odd + 4), group(odd + 6)]))
}

/// The substitutions of the kernel, whose results are where the permutation moves them.
fn tables() -> Vec<u32> {
    let entry = |i: usize| choose(substituted(i / 64, (i % 64) as u64) << (28 - 4 * (i / 64)), 32, &MIXING) as u32;
    (0..8 * 64).map(entry).collect()
}

fn body(run: &mut Run<'_>) -> Result<(), WorkloadError> {
    let (packets, bytes) = (run.param("packets"), run.param("bytes"));
    let plain: Vec<u8> = run.integers(packets * bytes, 0, 255);
    let keys: Vec<u32> = run.integers(packets * 6, 0, u32::MAX.into());
    let keys: Vec<Vec<u64>> = keys
        .as_chunks::<2>()
        .0
        .iter()
        .map(|&[high, low]| u64::from(high) << 32 | u64::from(low))
        .collect::<Vec<_>>()
        .as_chunks()
        .0
        .iter()
        .map(|three| triple_keys(*three))
        .collect();
    run.write_symbol("substitutions", &tables())?;
    let flat: Vec<u32> = keys.iter().flatten().flat_map(|key| words(*key)).collect();
    let round_keys = run.upload("round keys", &flat)?;
    let (input, output) = (run.upload("plain", &plain)?, run.alloc::<u8>("cipher", plain.len())?);
    for (packet, keys) in keys.iter().enumerate() {
        let places = [input, output].map(|buffer| (buffer.address + (packet * bytes) as u64).into());
        let keys = round_keys.address + (packet * keys.len() * 8) as u64;
        run.launch("triple_des", 1, THREADS, &[&places[..], &[keys.into(), (bytes as i32 / 8).into()]].concat())?;
    }
    let got = run.download::<u8>(output)?;
    let through = |block: u64, keys: &[u64]| keys.chunks(16).fold(block, des);
    let expected: Vec<u8> = plain
        .chunks(bytes)
        .zip(&keys)
        .flat_map(|(packet, keys)| {
            packet.as_chunks().0.iter().flat_map(|block| through(u64::from_be_bytes(*block), keys).to_be_bytes())
        })
        .collect();
    run.check_equal("cipher", &got, &expected);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEY: u64 = 0x1334_5779_9bbc_dff1;

    #[test]
    fn examples() {
        assert_eq!(des(0x0123_4567_89ab_cdef, &round_keys(KEY)), 0x85e8_1354_0f0a_b405);
        // As OpenSSL encrypts it.
        let keys = triple_keys([0xba5a_46bd_80bd_bb55, 0x397f_5492_c20f_7263, 0x70c4_bb7b_f186_0319]);
        assert_eq!(keys.chunks(16).fold(0xa54d_ca18_2530_bb1d, des), 0x8e13_4147_a743_3900);
    }

    /// Two passes with equal keys cancel out, and the kernel's tables match the standard.
    #[test]
    fn passes_undo_each_other() {
        let keys = triple_keys([KEY, KEY, 5]);
        let block = 0x0123_4567_89ab_cdef;
        assert_eq!(keys.chunks(16).fold(block, des), des(block, &round_keys(5)));
        assert_eq!(words(0xfff0_0000_0003), [0x3f00_0000, 0x3f00_0003]);
        assert_eq!(tables()[0], choose(0xe000_0000, 32, &MIXING) as u32);
        for rows in SUBSTITUTIONS {
            for row in rows {
                assert_eq!((0..16).fold(0, |seen, i| seen | 1 << (row >> (4 * i) & 15)), 0xffff);
            }
        }
    }
}

//! AES encryption.

use crate::bundled;
use crate::workload::{Parameter, Run, Suite, Workload, WorkloadError};

const THREADS: usize = 256;
const ROUNDS: usize = 10;
/// Bytes of a block and of a key.
const BLOCK: usize = 16;

pub(super) const WORKLOAD: Workload = Workload {
    name: "aes",
    summary: "AES-128 of many blocks with one key, by tables",
    character: "table look-ups in shared memory at scattered places, with bank conflicts; a barrier a round",
    suite: Suite::Ispass,
    papers: &[("war", "AES")],
    module: bundled!("aes"),
    parameters: &[Parameter::new("blocks", "blocks of 16 bytes", [576, 16448, 262_144], 1, 1 << 22)],
    body,
};

fn body(run: &mut Run<'_>) -> Result<(), WorkloadError> {
    let blocks = run.param("blocks");
    let key: Vec<u8> = run.integers(BLOCK, 0, 255);
    let plain: Vec<u8> = run.integers(blocks * BLOCK, 0, 255);
    let sbox = substitution();
    let keys = round_keys(key.as_slice().try_into().expect("a key has 16 bytes"), &sbox);
    run.write_symbol("round_keys", keys.as_flattened())?;
    let tables = run.upload("tables", &tables(&sbox))?;
    let (input, output) = (run.upload("plain", &plain)?, run.alloc::<u8>("cipher", plain.len())?);
    let words = blocks * BLOCK / 4;
    let args = [input.into(), output.into(), tables.into(), (words as i32).into()];
    run.launch("aes_encrypt", words.div_ceil(THREADS), THREADS, &args)?;
    let got = run.download::<u8>(output)?;
    let blocks = plain.as_chunks().0;
    run.check_equal(
        "cipher",
        &got,
        blocks.iter().map(|block| encrypt(*block, &keys, &sbox)).collect::<Vec<_>>().as_flattened(),
    );
    Ok(())
}

/// Product in the field of 256 elements.
fn times(a: u8, b: u8) -> u8 {
    let double = |x: u8| x << 1 ^ if x & 0x80 != 0 { 0x1b } else { 0 };
    let mut power = a;
    let mut product = 0;
    for bit in 0..8 {
        product ^= if b >> bit & 1 != 0 { power } else { 0 };
        power = double(power);
    }
    product
}

/// The substitution of bytes: the inverse in the field, its bits mixed.
fn substitution() -> [u8; 256] {
    std::array::from_fn(|byte| {
        let byte = byte as u8;
        let inverse = (1..=255).find(|&other| times(byte, other) == 1).unwrap_or(0);
        (0..5).fold(0x63, |mixed, turn| mixed ^ inverse.rotate_left(turn))
    })
}

/// The four tables of the kernel: a substituted byte of row 0, 1, 2 or 3, times its column of the mixing matrix.
fn tables(sbox: &[u8; 256]) -> Vec<u32> {
    let row = |byte: &u8| u32::from_le_bytes([times(*byte, 2), *byte, *byte, times(*byte, 3)]);
    (0..4).flat_map(|at| sbox.iter().map(move |byte| row(byte).rotate_left(8 * at))).collect()
}

/// The keys of all rounds.
fn round_keys(key: [u8; BLOCK], sbox: &[u8; 256]) -> Vec<[u8; BLOCK]> {
    let mut keys = vec![key];
    let mut constant = 1;
    for round in 0..ROUNDS {
        let mut next = keys[round];
        for i in 0..BLOCK {
            next[i] ^= match i {
                0..4 => sbox[usize::from(next[12 + (i + 1) % 4])] ^ if i == 0 { constant } else { 0 },
                _ => next[i - 4],
            };
        }
        keys.push(next);
        constant = times(constant, 2);
    }
    keys
}

/// A block, by the steps of the standard.
fn encrypt(plain: [u8; BLOCK], keys: &[[u8; BLOCK]], sbox: &[u8; 256]) -> [u8; BLOCK] {
    let add = |state: [u8; BLOCK], key: &[u8; BLOCK]| std::array::from_fn(|i| state[i] ^ key[i]);
    let mut state: [u8; BLOCK] = add(plain, &keys[0]);
    for (round, key) in keys.iter().enumerate().skip(1) {
        let shifted: [u8; BLOCK] = std::array::from_fn(|i| sbox[usize::from(state[(i + i % 4 * 4) % BLOCK])]);
        let mixed = std::array::from_fn(|i| {
            let column = &shifted[i / 4 * 4..][..4];
            let at = |turn: usize| column[(i + turn) % 4];
            times(at(0), 2) ^ times(at(1), 3) ^ at(2) ^ at(3)
        });
        state = add(if round < ROUNDS { mixed } else { shifted }, key);
    }
    state
}

#[cfg(test)]
mod tests {
    use super::*;

    /// FIPS 197, appendix B.
    #[test]
    fn example_of_the_standard() {
        let bytes = |hex: u128| hex.to_be_bytes();
        let sbox = substitution();
        let keys = round_keys(bytes(0x2b7e151628aed2a6abf7158809cf4f3c), &sbox);
        assert_eq!(keys[ROUNDS], bytes(0xd014f9a8c9ee2589e13f0cc8b6630ca6));
        let cipher = encrypt(bytes(0x3243f6a8885a308d313198a2e0370734), &keys, &sbox);
        assert_eq!(cipher, bytes(0x3925841d02dc09fbdc118597196a0b32));
    }
}

//! Hashes of chunks of a file.

use crate::bundled;
use crate::workload::{Parameter, Run, Suite, Workload, WorkloadError};

const THREADS: usize = 128;
/// Bytes that a hash takes in at a time.
const BLOCK: usize = 64;
const START: [u32; 5] = [0x6745_2301, 0xefcd_ab89, 0x98ba_dcfe, 0x1032_5476, 0xc3d2_e1f0];

pub(super) const WORKLOAD: Workload = Workload {
    name: "storegpu",
    summary: "MD5 or SHA-1 hashes of the chunks of a file, or of the window at each of its bytes",
    character: "chains of integer additions, logic and rotations; a message block a thread in shared memory",
    suite: Suite::Ispass,
    papers: &[("ghost", "STO")],
    module: bundled!("storegpu"),
    parameters: &[
        Parameter::new("hashes", "chunks or windows", [384, 8192, 49152], 1, 1 << 22),
        Parameter::new("blocks", "blocks of 64 bytes in a chunk", [2, 4, 7], 1, 1 << 12),
        Parameter::new("hash", "1: MD5 of chunks, 2: SHA-1 of chunks, 3: MD5 of windows of a block", [1; 3], 1, 3)
            .variant(),
    ],
    body,
};

fn body(run: &mut Run<'_>) -> Result<(), WorkloadError> {
    let (hashes, blocks, hash) = (run.param("hashes"), run.param("blocks"), run.param("hash"));
    let bytes = if hash == 3 { (hashes + BLOCK).next_multiple_of(4) } else { hashes * blocks * BLOCK };
    let data = run.integers::<u32>(bytes / 4, 0, u32::MAX.into());
    let file: Vec<u8> = data.iter().flat_map(|word| word.to_le_bytes()).collect();
    let input = run.upload("file", &data)?;
    let words = if hash == 2 { 5 } else { 4 };
    let digests = run.alloc::<u32>("digests", words * hashes)?;
    let kernel = ["md5_chunks", "sha1_chunks", "md5_windows"][hash - 1];
    let mut args = vec![input.into(), digests.into(), (hashes as i32).into()];
    if hash != 3 {
        args.push((blocks as i32).into());
    }
    run.launch(kernel, hashes.div_ceil(THREADS), THREADS, &args)?;
    let got = run.download::<u32>(digests)?;
    let expected: Vec<u32> = match hash {
        1 => file.chunks_exact(blocks * BLOCK).flat_map(md5).collect(),
        2 => file.chunks_exact(blocks * BLOCK).flat_map(sha1).collect(),
        _ => file.windows(BLOCK).take(hashes).flat_map(md5).collect(),
    };
    run.check_equal("digests", &got, &expected);
    Ok(())
}

/// The blocks of a padded message, with its length in bits at the end.
fn padded(message: &[u8], length: [u8; 8]) -> Vec<u8> {
    let mut padded = message.to_vec();
    padded.push(0x80);
    padded.resize((padded.len() + 8).next_multiple_of(BLOCK) - 8, 0);
    padded.extend(length);
    padded
}

/// MD5 (RFC 1321); the digest's words are little-endian.
fn md5(message: &[u8]) -> [u32; 4] {
    const TURNS: [[u32; 4]; 4] = [[7, 12, 17, 22], [5, 9, 14, 20], [4, 11, 16, 23], [6, 10, 15, 21]];
    let mut state = [START[0], START[1], START[2], START[3]];
    for block in padded(message, (8 * message.len() as u64).to_le_bytes()).as_chunks().0 {
        let block: &[u8; BLOCK] = block;
        let words = block.as_chunks().0;
        let [mut a, mut b, mut c, mut d] = state;
        for i in 0..BLOCK {
            let (mixed, word) = match i / 16 {
                0 => (b & c | !b & d, i),
                1 => (b & d | c & !d, 5 * i + 1),
                2 => (b ^ c ^ d, 3 * i + 5),
                _ => (c ^ (b | !d), 7 * i),
            };
            let sine = ((i + 1) as f64).sin().abs() * f64::from(2.0f32.powi(32));
            let sum =
                a.wrapping_add(mixed).wrapping_add(u32::from_le_bytes(words[word % 16])).wrapping_add(sine as u32);
            (a, d, c, b) = (d, c, b, b.wrapping_add(sum.rotate_left(TURNS[i / 16][i % 4])));
        }
        state.iter_mut().zip([a, b, c, d]).for_each(|(word, more)| *word = word.wrapping_add(more));
    }
    state
}

/// SHA-1 (FIPS 180), words as numbers.
fn sha1(message: &[u8]) -> [u32; 5] {
    let mut state = START;
    for block in padded(message, (8 * message.len() as u64).to_be_bytes()).as_chunks().0 {
        let block: &[u8; BLOCK] = block;
        let mut words: Vec<u32> = block.as_chunks().0.iter().map(|word| u32::from_be_bytes(*word)).collect();
        for i in 16..80 {
            words.push((words[i - 3] ^ words[i - 8] ^ words[i - 14] ^ words[i - 16]).rotate_left(1));
        }
        let [mut a, mut b, mut c, mut d, mut e] = state;
        for (i, word) in words.into_iter().enumerate() {
            let (mixed, constant) = match i / 20 {
                0 => (b & c | !b & d, 0x5a82_7999),
                1 => (b ^ c ^ d, 0x6ed9_eba1),
                2 => (b & c | b & d | c & d, 0x8f1b_bcdc),
                _ => (b ^ c ^ d, 0xca62_c1d6u32),
            };
            let sum = [mixed, constant, e, word].into_iter().fold(a.rotate_left(5), u32::wrapping_add);
            (e, d, c, b, a) = (d, c, b.rotate_left(30), a, sum);
        }
        state.iter_mut().zip([a, b, c, d, e]).for_each(|(word, more)| *word = word.wrapping_add(more));
    }
    state
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_digests() {
        let hex = |words: &[u32], bytes: fn(u32) -> [u8; 4]| -> String {
            words.iter().flat_map(|&word| bytes(word)).map(|byte| format!("{byte:02x}")).collect()
        };
        assert_eq!(hex(&md5(b""), u32::to_le_bytes), "d41d8cd98f00b204e9800998ecf8427e");
        assert_eq!(hex(&md5(b"message digest"), u32::to_le_bytes), "f96b697d7cb7938d525a2f31aaf161d0");
        assert_eq!(hex(&sha1(b"abc"), u32::to_be_bytes), "a9993e364706816aba3e25717850c26c9cd0d89d");
        let two_blocks = b"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq";
        assert_eq!(hex(&sha1(two_blocks), u32::to_be_bytes), "84983e441c3bd26ebaae4aa1f95129e5e54670f1");
    }
}

//! The kernels of `data/sm_90/remote.ptx` on the host.

use exec::tensor_map::{Element, Interleave, Shape, Swizzle, TensorMap};

/// A kernel: its name, threads of a CTA, words of output of a CTA, the largest cluster.
pub const KERNELS: [(&str, u32, usize, u32); 5] = [
    ("blocks", 64, 64, 8),
    ("stores", 32, 512, 16),
    ("reductions", 32, 16, 16),
    ("arrivals", 64, 1, 16),
    ("boxes", 128, 512, 8),
];

/// Words of the input.
pub const INPUT: usize = 4096;
/// Words of a row of the input as a tensor.
const ROW: usize = 64;

/// Word `i` of the input.
pub fn input(i: usize) -> u32 {
    (i as u32).wrapping_mul(0x9e37_79b9) >> 7
}

/// The input as a tensor, of which a box has 16 words of two rows.
pub fn tensor(address: u64) -> TensorMap {
    TensorMap {
        address,
        element: Element::U32,
        rank: 2,
        sizes: [ROW as u64, (INPUT / ROW) as u64, 1, 1, 1],
        strides: [4 * ROW as u64, 0, 0, 0],
        element_strides: [1; 5],
        shape: Shape::Tiled { size: [16, 2, 1, 1, 1] },
        interleave: Interleave::None,
        swizzle: Swizzle::None,
        promotion: 0,
        fills_nan: false,
    }
}

/// The output of `kernel`, whose output was zero, by `ctas` CTAs in clusters of `size`.
pub fn output(kernel: &str, size: usize, ctas: usize) -> Vec<u32> {
    let of_cta: fn(usize, usize) -> Vec<u32> = match kernel {
        "blocks" => blocks,
        "stores" => stores,
        "reductions" => |size, _| reductions(size as u32),
        "arrivals" => |_, _| vec![2],
        "boxes" => boxes,
        _ => panic!("{kernel}"),
    };
    (0..ctas).flat_map(|cta| of_cta(size, cta)).collect()
}

/// The number of the cluster's CTA of rank `k`, by the number of one of them.
fn of_rank(size: usize, cta: usize, k: usize) -> usize {
    cta / size * size + k
}

fn blocks(size: usize, cta: usize) -> Vec<u32> {
    let from = |k: usize, word: usize| input(16 * of_rank(size, cta, k) + word);
    let check = |word: usize| (0..size).fold(0_u32, |sum, k| sum.wrapping_mul(31).wrapping_add(from(k, word)));
    let sum = |word: usize| (0..size).fold(0_u32, |sum, k| sum.wrapping_add(from(k, word)));
    let rank = (cta % size) as u32;
    let blocks: [&dyn Fn(usize) -> u32; 4] = [&check, &check, &sum, &|_| rank];
    blocks.iter().flat_map(|block| (0..16).map(block)).collect()
}

fn stores(size: usize, cta: usize) -> Vec<u32> {
    let from = of_rank(size, cta, (cta % size + size - 1) % size) as u32;
    (0..512).map(|i| (from << 16) | ((i / 16) << 8) | (i % 16)).collect()
}

fn reductions(size: u32) -> Vec<u32> {
    let each = || 0..32 * size;
    let negative = || each().map(u32::wrapping_neg);
    let high = || each().map(|x| x + 4096);
    let long = each().fold(1000 | 1000 << 32, |sum: u64, x| sum.wrapping_add(u64::from(x) << 24));
    let sum = each().sum::<u32>();
    vec![
        1000 + sum,
        1000_u32.wrapping_sub(sum),
        0,
        negative().fold(1000, u32::max),
        (1 - 32 * size as i32) as u32,
        high().fold(1000, u32::max),
        negative().fold(1000, |all, x| all & x),
        high().fold(1000, |all, x| all | x),
        each().fold(1000, |all, x| all ^ x),
        1000 + 32 * size,
        1000_u32.wrapping_sub(32 * size).min(100_000),
        1000,
        long as u32,
        (long >> 32) as u32,
        long as u32,
        (long >> 32) as u32,
    ]
}

fn boxes(size: usize, cta: usize) -> Vec<u32> {
    let word = |x: usize, y: usize, i: usize| input((y + i / 16) * ROW + x + i % 16);
    let before = (cta % size + size - 1) % size;
    let mut out = vec![0; 512];
    for (i, out) in out[..32 * size].iter_mut().enumerate() {
        *out = word(3, 2 * (i / 32 + 1), i % 32);
    }
    (0..32).for_each(|i| out[256 + i] = word(before, before, i));
    out
}

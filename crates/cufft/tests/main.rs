//! cuFFT on simulated GPUs against sums in double precision on the host.
//!
//! `tools/check-libraries fft` draws more calls than these tests.
#![cfg(target_os = "linux")]
#![allow(unsafe_code, reason = "the libraries under test are called as a C program calls them")]
#![allow(clippy::cast_precision_loss, clippy::cast_possible_truncation, reason = "sizes are small")]

/// The file of the library under test.
const LIBRARY: &str = "libcufft12.so";

#[path = "../../cabi/testing.rs"]
#[macro_use]
mod library;
mod case;
mod refusals;

use case::{Case, Random};
use library::{devices, select};

fn given(name: &str) -> Option<u64> {
    let text = std::env::var(name).ok()?;
    Some(text.parse().unwrap_or_else(|_| panic!("{name} is not a number: {text}")))
}

/// Transforms of random sizes, types and layouts: `CHECK_CASES` of them from the seed `CHECK_SEED`, or `CHECK_CASE`.
#[test]
fn random_calls() {
    let devices = devices();
    let (seed, cases) = (given("CHECK_SEED").unwrap_or(1), given("CHECK_CASES").unwrap_or(80));
    let mut wrong = Vec::new();
    for number in given("CHECK_CASE").map_or(0..cases, |case| case..case + 1) {
        let mut random = Random(seed.wrapping_mul(0x9e37_79b9) ^ number.wrapping_mul(0x0100_0000_01b3));
        random.below(2);
        select(devices[random.below(devices.len())]);
        let case = Case::draw(&mut random);
        if let Err(why) = case.run(&mut random) {
            println!("--seed {seed} --case {number}: {case:?}: {why}");
            wrong.push(number);
        }
    }
    select(devices[0]);
    assert!(wrong.is_empty(), "wrong: {wrong:?}");
}

/// A length in one launch, in two, in three, by Bluestein's method with a short and a long convolution.
#[test]
fn each_method_is_right() {
    let _devices = devices();
    let mut random = Random(7);
    for double in [false, true] {
        for n in [1, 2, 1536, 3072, 6144, 61 * 61, 41 * 41 * 41, 67, 4099] {
            let case = Case::line(n, double);
            case.run(&mut random).unwrap_or_else(|why| panic!("{n}: {why}"));
        }
    }
}

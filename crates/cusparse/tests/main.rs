//! cuSPARSE's products, systems and conversions on simulated GPUs against sums on the host.
//!
//! `tools/check-libraries sparse` draws more calls than these tests.
#![cfg(target_os = "linux")]
#![allow(unsafe_code, reason = "the libraries under test are called as a C program calls them")]
#![allow(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    reason = "sizes are small"
)]

/// The file of the library under test.
const LIBRARY: &str = "libcusparse12.so";

#[path = "../../cabi/testing.rs"]
#[macro_use]
mod library;
mod case;
mod conversions;
mod descriptors;
mod number;
mod refusals;
mod sparse;

use case::Case;
use library::{devices, select};
use number::Random;

fn given(name: &str) -> Option<u64> {
    let text = std::env::var(name).ok()?;
    Some(text.parse().unwrap_or_else(|_| panic!("{name} is not a number: {text}")))
}

/// Calls with random matrices: `CHECK_CASES` of them from the seed `CHECK_SEED`, or only `CHECK_CASE`.
#[test]
fn random_calls() {
    let devices = devices();
    let (seed, cases) = (given("CHECK_SEED").unwrap_or(1), given("CHECK_CASES").unwrap_or(200));
    let mut wrong = Vec::new();
    for number in given("CHECK_CASE").map_or(0..cases, |case| case..case + 1) {
        let mut random = Random(seed.wrapping_mul(0x9e37_79b9) ^ number.wrapping_mul(0x0100_0000_01b3));
        random.below(2);
        select(devices[random.below(devices.len())]);
        let done = match number % 13 {
            0 => conversions::dense(&mut random),
            1 => conversions::by_columns(&mut random),
            2 => conversions::sorted(&mut random),
            3 => conversions::taken(&mut random),
            4 => conversions::summed(&mut random),
            5 => sparse::vectors(&mut random),
            6 => sparse::sampled(&mut random),
            7 => sparse::triangle(&mut random),
            8 => sparse::product(&mut random),
            _ => Case::draw(&mut random).run(),
        };
        if let Err(why) = done {
            println!("--seed {seed} --case {number}: {why}");
            wrong.push(number);
        }
    }
    select(devices[0]);
    assert!(wrong.is_empty(), "wrong: {wrong:?}");
}

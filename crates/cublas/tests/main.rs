//! The functions of cuBLAS against a reference in double precision, on simulated GPUs.
//!
//! `tools/check-libraries blas` draws more calls than these tests, other ones, and on other GPUs.
#![cfg(target_os = "linux")]
#![allow(unsafe_code, reason = "the libraries under test are called as a C program calls them")]
#![allow(clippy::cast_precision_loss, reason = "sizes are small")]

mod case;
mod level1;
mod level2;
mod level3;
mod library;
mod light;
mod management;
mod matrix;
mod number;
mod product;
mod rows;
mod solver;

use case::{Choice, Increment, Leading, Size};
use library::devices;
use rows::Rows;

/// A number from the environment.
fn given(name: &str) -> Option<u64> {
    let text = std::env::var(name).ok()?;
    Some(text.parse().unwrap_or_else(|_| panic!("{name} is not a number: {text}")))
}

/// A call of each function with random arguments: `CHECK_CASES` of them from the seed `CHECK_SEED`, or only
/// `CHECK_CASE`, or only those of `CHECK_FUNCTION`.
#[test]
fn random_calls() {
    let (rows, devices) = (Rows::all(), devices());
    let (seed, cases) = (given("CHECK_SEED").unwrap_or(1), given("CHECK_CASES").unwrap_or(2 * rows.0.len() as u64));
    let numbers = given("CHECK_CASE").map_or(0..cases, |case| case..case + 1);
    let mut wrong = Vec::new();
    let function = std::env::var("CHECK_FUNCTION").ok();
    for number in numbers.filter(|number| function.as_ref().is_none_or(|name| rows.row(*number).name == *name)) {
        let mut case = rows.case(seed, number);
        let device = devices[case.random.below(devices.len())];
        if let Err(why) = case.run(device) {
            let text = case.text();
            println!("--seed {seed} --case {number}: {text}: {why}");
            wrong.push(number);
        }
    }
    assert!(wrong.is_empty(), "wrong: {wrong:?}");
}

/// Calls of each function with one wrong argument are refused, and change nothing.
#[test]
fn wrong_arguments() {
    const INVALID: i32 = 7;
    let (rows, devices) = (Rows::all(), devices());
    let mut wrong = Vec::new();
    for number in 0..2 * rows.0.len() as u64 {
        // Functions of vectors do nothing for sizes and increments that make no sense.
        let draw = || rows.case(3, number);
        let matrices = draw().arguments.iter().any(|argument| matches!(argument, Choice(_) | Leading(..)));
        let arguments = draw().arguments;
        for (which, argument) in arguments.into_iter().enumerate() {
            let other = match argument {
                Size(_) if matrices => Size(usize::MAX),
                Leading(_, least) if least > 0 => Leading(least - 1, least),
                Choice(_) => Choice(9),
                Increment(_) => Increment(0),
                _ => continue,
            };
            let mut case = draw();
            case.refuse(which, other, INVALID);
            if let Err(why) = case.run(devices[0]) {
                println!("{number}, argument {which}: {}: {why}", case.text());
                wrong.push(number);
            }
        }
    }
    assert!(wrong.is_empty(), "not refused: {wrong:?}");
}

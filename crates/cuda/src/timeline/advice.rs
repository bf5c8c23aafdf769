//! Advice to a program that takes long: launches that are alike need not all be simulated in time.

use exec::Launch;
use isa::Dim3;
use std::collections::HashSet;
use std::time::Duration;

/// Time of simulation after which there is advice.
const AFTER: Duration = Duration::from_secs(60);

/// How many times as fast as simulation in time execution is, at least (docs/speed.md).
const FASTER: f64 = 10.0;

/// Launches that would have been timed, of all, from which on the advice pays.
const WORTHWHILE: f64 = 0.5;

/// The launches so far.
#[derive(Debug, Default)]
pub struct Advice {
    launches: usize,
    kinds: HashSet<(String, Dim3, Dim3)>,
    is_given: bool,
}

impl Advice {
    /// Counts a launch that is simulated in time, after `simulated`, the host's time of simulation. Returns the advice,
    /// once.
    pub fn note(&mut self, launch: &Launch, simulated: Duration) -> Option<String> {
        self.counted(launch.kernel.name(), [launch.grid, launch.block], simulated)
    }

    fn counted(&mut self, kernel: &str, [grid, block]: [Dim3; 2], simulated: Duration) -> Option<String> {
        if self.is_given {
            return None;
        }
        self.launches += 1;
        self.kinds.insert((kernel.to_owned(), grid, block));
        let (launches, kinds) = (self.launches, self.kinds.len());
        let timed = kinds as f64 / launches as f64;
        if simulated < AFTER || timed > WORTHWHILE {
            return None;
        }
        self.is_given = true;
        self.kinds.clear();
        let seconds = simulated.as_secs_f64();
        let would = seconds * (timed + (1.0 - timed) / FASTER);
        Some(format!(
            "after {seconds:.0} s of simulation: {launches} launches of {}\n  hint: `--time representative` times about one launch of each kind and executes the others, which would have taken about {would:.0} s (`warpwright docs sampling`)",
            kit::text::counted(kinds as u64, "kind")
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ONE: Dim3 = Dim3 { x: 1, y: 1, z: 1 };

    #[test]
    fn a_minute_of_launches_that_are_alike_has_advice_once() {
        let mut advice = Advice::default();
        let mut launch = |kernel: &str, seconds| advice.counted(kernel, [ONE, ONE], Duration::from_secs(seconds));
        for second in 0..60 {
            assert_eq!(launch(if second % 2 == 0 { "even" } else { "odd" }, second), None);
        }
        let text = launch("even", 60).unwrap();
        assert!(text.starts_with("after 60 s of simulation: 61 launches of 2 kinds\n"), "{text}");
        assert!(text.contains("about 8 s"), "{text}");
        assert_eq!(launch("even", 61), None);
    }

    #[test]
    fn only_simulation_counts() {
        let mut advice = Advice::default();
        let mut launch = |seconds| advice.counted("kernel", [ONE, ONE], Duration::from_secs(seconds));
        // A program that waits for minutes between its launches, which take a second each.
        assert!((0..60).all(|second| launch(second).is_none()));
        let text = launch(60).unwrap();
        assert!(text.starts_with("after 60 s of simulation: 61 launches of 1 kind\n"), "{text}");
    }

    #[test]
    fn launches_of_different_kinds_have_none() {
        let mut advice = Advice::default();
        for kernel in 0..100 {
            let grid = Dim3 { x: kernel, ..ONE };
            assert_eq!(advice.counted("kernel", [grid, ONE], Duration::from_secs(100)), None);
        }
    }
}

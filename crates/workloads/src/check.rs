//! Comparison of the device's results with references.

use crate::bounded::Bounded;
use kit::stop::until_requested;
use kit::text::counted;
use serde::Serialize;

/// A wrong value.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[allow(missing_docs, reason = "the names of some fields and variants say it all")]
pub struct Mismatch {
    pub index: usize,
    /// Value of the reference.
    pub expected: String,
    /// Value of the device.
    pub got: String,
}

/// One comparison. If the program is asked to stop, it ends early and has no meaning.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[allow(missing_docs, reason = "the names of some fields and variants say it all")]
pub struct Check {
    pub what: String,
    /// When two values count as the same.
    pub rule: String,
    pub compared: u64,
    pub mismatches: u64,
    /// The first that differs.
    pub first: Option<Mismatch>,
    /// For floating point: the largest error as a share of what is allowed.
    pub worst_share: Option<f64>,
}

impl Check {
    fn new(what: &str, rule: &str) -> Self {
        let (what, rule) = (what.to_owned(), rule.to_owned());
        Self { what, rule, compared: 0, mismatches: 0, first: None, worst_share: None }
    }

    /// Whether no value differs.
    pub fn passed(&self) -> bool {
        self.mismatches == 0
    }

    /// Adds a comparison of the same kind, such as of the same array after a later launch. Its
    /// indices follow on.
    pub fn append(&mut self, later: Self) {
        let before = self.compared as usize;
        let first = later.first.map(|first| Mismatch { index: before + first.index, ..first });
        self.first = self.first.take().or(first);
        self.compared += later.compared;
        self.mismatches += later.mismatches;
        self.worst_share = [self.worst_share, later.worst_share].into_iter().flatten().reduce(f64::max);
    }

    fn count(&mut self, same: bool, describe: impl FnOnce() -> (String, String)) {
        if !same {
            if self.first.is_none() {
                let (expected, got) = describe();
                self.first = Some(Mismatch { index: self.compared as usize, expected, got });
            }
            self.mismatches += 1;
        }
        self.compared += 1;
    }

    fn lengths(mut self, expected: usize, got: usize) -> Self {
        if expected != got {
            self.count(false, || (counted(expected as u64, "value"), counted(got as u64, "value")));
        }
        self
    }

    /// Compares values that must be equal.
    pub fn equal<T: PartialEq + std::fmt::Debug>(what: &str, got: &[T], expected: &[T]) -> Self {
        let mut check = Self::new(what, "equal");
        // Most are equal, and runs of them are compared faster, without an end at the first difference.
        for (got, expected) in until_requested(got.chunks(64).zip(expected.chunks(64))) {
            let are_same = got.iter().zip(expected).fold(true, |same, (g, e)| same & (g == e));
            if are_same && got.len() == expected.len() {
                check.compared += got.len() as u64;
                continue;
            }
            for (g, e) in got.iter().zip(expected) {
                check.count(g == e, || (format!("{e:?}"), format!("{g:?}")));
            }
        }
        check.lengths(expected.len(), got.len())
    }

    /// Compares for equality of all bits, except that +0 and -0 differ and NaN equals itself.
    pub fn same_bits(what: &str, got: &[f32], expected: &[f32]) -> Self {
        let mut check = Self::new(what, "same bits");
        for (g, e) in until_requested(got.iter().zip(expected)) {
            check.count(g.to_bits() == e.to_bits(), || (format!("{e:?}"), format!("{g:?}")));
        }
        check.lengths(expected.len(), got.len())
    }

    /// Compares with references that carry their own bounds.
    pub fn within_bounds<T: Copy + Into<f64> + std::fmt::Debug, const P: u32>(
        what: &str,
        got: &[T],
        expected: &[Bounded<P>],
    ) -> Self {
        let mut check = Self::new(what, "within the rounding errors of the algorithm");
        let mut worst = 0.0f64;
        for (&g, e) in until_requested(got.iter().zip(expected)) {
            let value: f64 = g.into();
            check.count(e.admits(value), || (format!("{:e} within {:.2e}", e.value(), e.error()), format!("{g:?}")));
            if e.error() > 0.0 {
                worst = worst.max((value - e.value()).abs() / e.error());
            }
        }
        check.worst_share = Some(worst);
        check.lengths(expected.len(), got.len())
    }

    /// Compares by a rule of the caller's: `describe` returns (expected, got) where it is broken.
    pub fn by_rule(what: &str, rule: &str, count: usize, broken: impl Fn(usize) -> Option<(String, String)>) -> Self {
        let mut check = Self::new(what, rule);
        for index in until_requested(0..count) {
            let outcome = broken(index);
            check.count(outcome.is_none(), || outcome.unwrap_or_default());
        }
        check
    }
}

impl std::fmt::Display for Check {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { what, rule, compared, mismatches, .. } = self;
        match &self.first {
            None => {
                write!(f, "{what}: {} {rule}", counted(*compared, "value"))?;
                match self.worst_share {
                    Some(share) => write!(f, " (largest error {:.0} % of the bound)", 100.0 * share),
                    None => Ok(()),
                }
            }
            Some(Mismatch { index, expected, got }) => write!(
                f,
                "{what}: {mismatches} of {} {} not {rule}; first at {index}: expected {expected}, got {got}",
                counted(*compared, "value"),
                if *mismatches == 1 { "is" } else { "are" }
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bounded::F32;

    #[test]
    fn counts_and_names_the_first() {
        let check = Check::equal("c", &[1, 2, 4, 5], &[1, 2, 3, 4]);
        assert_eq!((check.compared, check.mismatches, check.passed()), (4, 2, false));
        assert_eq!(check.to_string(), "c: 2 of 4 values are not equal; first at 2: expected 3, got 4");
        assert!(Check::equal("c", &[1], &[1]).passed());
        assert!(!Check::equal("c", &[1], &[1, 2]).passed());
    }

    #[test]
    fn bounds() {
        let reference = [F32::exact(1.0) / F32::exact(3.0)];
        assert!(Check::within_bounds("x", &[1.0f32 / 3.0], &reference).passed());
        assert!(!Check::within_bounds("x", &[0.333f32], &reference).passed());
        assert!(!Check::within_bounds("x", &[f32::NAN], &reference).passed());
    }

    #[test]
    fn comparisons_are_joined() {
        let mut check = Check::equal("c", &[1, 2], &[1, 2]);
        check.append(Check::equal("c", &[1, 3, 3], &[1, 2, 2]));
        check.append(Check::equal("c", &[9], &[8]));
        assert_eq!(check.to_string(), "c: 3 of 6 values are not equal; first at 3: expected 2, got 3");
        let third = [F32::exact(1.0) / F32::exact(3.0)];
        let mut check = Check::within_bounds("x", &[1.0f32 / 3.0], &third);
        let share = check.worst_share;
        check.append(Check::within_bounds("x", &[0.333f32], &third));
        assert!(!check.passed() && check.worst_share > share);
    }

    #[test]
    fn zeros_have_signs() {
        assert!(!Check::same_bits("x", &[-0.0], &[0.0]).passed());
        assert!(Check::same_bits("x", &[f32::NAN], &[f32::NAN]).passed());
    }
}

//! Ticks of axes.

/// Powers of ten that hold all of `values` above zero: the exponents of the lowest and the highest.
pub fn decades(values: impl IntoIterator<Item = f64>) -> Option<(i32, i32)> {
    let above = values.into_iter().filter(|v| *v > 0.0 && v.is_finite());
    let (low, high) = above.fold((f64::INFINITY, 0.0_f64), |(low, high), v| (low.min(v), high.max(v)));
    let (first, last) = (low.log10().floor() as i32, high.log10().ceil() as i32);
    (high > 0.0).then(|| (first, last.max(first + 1)))
}

/// Round values from 0 to at least `most`, five to ten of them.
pub fn ticks(most: f64) -> Vec<f64> {
    let most = if most > 0.0 && most.is_finite() { most } else { 1.0 };
    let decade = 10f64.powf(most.log10().floor());
    let step = [0.1, 0.2, 0.5, 1.0].into_iter().map(|s| s * decade).find(|s| most / s <= 8.0).unwrap_or(decade);
    (0..=(most / step).ceil() as u32).map(|i| f64::from(i) * step).collect()
}

/// A power of ten as text: `0.01`, `1`, `1,000`, `10^6`.
pub fn power_of_ten(exponent: i32) -> String {
    match exponent {
        0..=5 => crate::number::count(10u64.pow(exponent.unsigned_abs())),
        -4..0 => format!("{:.*}", exponent.unsigned_abs() as usize, 10f64.powi(exponent)),
        _ => format!("10^{exponent}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn axes_hold_their_values() {
        assert_eq!(decades([0.0, 0.03, 700.0]), Some((-2, 3)));
        assert_eq!(decades([1.0]), Some((0, 1)));
        assert_eq!(decades([0.0, f64::NAN]), None);
        for most in [0.0, 0.7, 1.0, 12.0, 54.9, 199.0, 1e6, f64::NAN] {
            let ticks = ticks(most);
            assert!((3..=10).contains(&ticks.len()), "{most}: {ticks:?}");
            assert!(!most.is_finite() || *ticks.last().unwrap() >= most, "{most}: {ticks:?}");
        }
        assert_eq!([-3, 0, 4, 7].map(power_of_ten), ["0.001", "1", "10,000", "10^7"]);
    }
}

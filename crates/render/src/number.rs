//! Numbers for people.

use lab::Value;

/// Mark for an absent value in a table.
pub const ABSENT: &str = "-";

/// `1234567` as `1,234,567`.
pub fn count(n: u64) -> String {
    let digits = n.to_string();
    let mut out = String::with_capacity(digits.len() * 4 / 3);
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// A number and what it counts: `1 launch`, `1,234 launches`.
pub fn counted(n: u64, noun: &str) -> String {
    format!("{} {}", count(n), kit::text::plural(n, noun))
}

/// A real number with about four digits: `0.1235`, `12.35`, `1,235`.
pub fn real(x: f64) -> String {
    let magnitude = x.abs();
    match () {
        () if !x.is_finite() => ABSENT.to_owned(),
        () if magnitude >= 999.5 => format!("{}{}", if x < 0.0 { "-" } else { "" }, count(magnitude.round() as u64)),
        () if magnitude >= 99.95 => format!("{x:.1}"),
        () if magnitude >= 9.995 => format!("{x:.2}"),
        () if magnitude >= 0.9995 || x == 0.0 => format!("{x:.3}"),
        () => format!("{x:.4}"),
    }
}

/// A statistic: counts in full, percentages with one decimal.
pub fn value(value: Value, unit: &str) -> String {
    match value {
        Value::Count(n) => count(n),
        Value::Real(Some(x)) if unit == "%" => format!("{x:.1}"),
        Value::Real(Some(x)) if unit == "J" => format!("{x:.3e}"),
        Value::Real(Some(x)) => real(x),
        Value::Real(None) => ABSENT.to_owned(),
    }
}

/// A rate or a large amount in three digits: `812`, `81.2 k`, `1.23 M`.
pub fn short(x: f64) -> String {
    let steps = [(1e12, " T"), (1e9, " G"), (1e6, " M"), (1e3, " k")];
    let (scaled, suffix) = steps.iter().find(|(s, _)| x >= s * 0.9995).map_or((x, ""), |(s, suffix)| (x / s, *suffix));
    let decimals = match scaled {
        s if suffix.is_empty() || s >= 99.95 => 0,
        s if s >= 9.995 => 1,
        _ => 2,
    };
    format!("{scaled:.decimals$}{suffix}")
}

/// An amount of `unit` in three digits: `2.31 mJ`, `812 uJ`.
pub fn with_prefix(x: f64, unit: &str) -> String {
    let steps = [(1e3, "k"), (1.0, ""), (1e-3, "m"), (1e-6, "u"), (1e-9, "n"), (1e-12, "p")];
    let (step, prefix) = steps.into_iter().find(|(step, _)| x.abs() >= step * 0.9995).unwrap_or((1.0, ""));
    // Less than the smallest step is none.
    let scaled = if x.abs() < 1e-12 * 0.9995 { 0.0 } else { x / step };
    let decimals = match scaled.abs() {
        s if s >= 99.95 || s == 0.0 => 0,
        s if s >= 9.995 => 1,
        _ => 2,
    };
    format!("{scaled:.decimals$} {prefix}{unit}")
}

/// An amount of memory: `512 B`, `48 KiB`.
pub fn bytes(n: u64) -> String {
    match n {
        n if n >= 1 << 20 && n.is_multiple_of(1 << 20) => format!("{} MiB", n >> 20),
        n if n >= 1 << 10 && n.is_multiple_of(1 << 10) => format!("{} KiB", n >> 10),
        n => format!("{} B", count(n)),
    }
}

/// A span of time: `0.35 s`, `2 min 5 s`, `3 h 0 min`.
pub fn seconds(s: f64) -> String {
    let whole = s.round() as u64;
    match whole {
        0..60 if s < 10.0 => format!("{s:.2} s"),
        0..60 => format!("{s:.1} s"),
        60..3600 => format!("{} min {} s", whole / 60, whole % 60),
        _ => format!("{} h {} min", whole / 3600, whole % 3600 / 60),
    }
}

/// Simulated time: `812.0 ns`, `12.35 us`, `1.235 ms`, `2.500 s`.
pub fn simulated(s: f64) -> String {
    let units = [(1.0, "s"), (1e-3, "ms"), (1e-6, "us")];
    let (scale, unit) = units.into_iter().find(|(scale, _)| s.abs() >= *scale).unwrap_or((1e-9, "ns"));
    format!("{} {unit}", real(s / scale))
}

/// An estimate of time: whole seconds.
pub fn about_seconds(s: f64) -> String {
    if s < 59.0 { format!("{:.0} s", s.ceil()) } else { seconds(s) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts() {
        let texts = [0, 12, 999, 1000, 123_456, 1_234_567, u64::MAX].map(count);
        assert_eq!(texts, ["0", "12", "999", "1,000", "123,456", "1,234,567", "18,446,744,073,709,551,615"]);
    }

    #[test]
    fn reals_keep_four_digits() {
        let texts = [0.0, 0.12345, 0.99999, 1.5, 9.9999, 99.999, 123.45, 12345.6, -2.0, f64::NAN].map(real);
        assert_eq!(texts, ["0.000", "0.1235", "1.000", "1.500", "10.00", "100.0", "123.5", "12,346", "-2.000", "-"]);
    }

    #[test]
    fn short_amounts() {
        let texts = [0.0, 999.0, 999.9, 1234.0, 81_200.0, 812_000.0, 1_230_000.0, 4e9].map(short);
        assert_eq!(texts, ["0", "999", "1.00 k", "1.23 k", "81.2 k", "812 k", "1.23 M", "4.00 G"]);
    }

    #[test]
    fn amounts_of_a_unit() {
        let small = [782e-12, -546e-9, -1e-15].map(|x| with_prefix(x, "J"));
        assert_eq!(small, ["782 pJ", "-546 nJ", "0 J"]);
        let texts = [0.0, 0.00231, 0.000_812, 12.34, 12_340.0].map(|x| with_prefix(x, "J"));
        assert_eq!(texts, ["0 J", "2.31 mJ", "812 uJ", "12.3 J", "12.3 kJ"]);
    }

    #[test]
    fn bytes_and_times() {
        assert_eq!([0, 1000, 1024, 49152, 1 << 20].map(bytes), ["0 B", "1,000 B", "1 KiB", "48 KiB", "1 MiB"]);
        assert_eq!(
            [0.346, 12.34, 59.7, 125.0, 10_800.0].map(seconds),
            ["0.35 s", "12.3 s", "1 min 0 s", "2 min 5 s", "3 h 0 min"]
        );
    }
}

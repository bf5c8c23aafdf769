//! Quantities as people write them: `32KiB` for a key in bytes, `1.5GHz` for one in MHz.

/// A unit, and how many of the key's unit it is, as a fraction.
type Unit = (&'static str, u64, u64);

/// The units that a key takes, by the unit that the key is in.
const UNITS: &[(&str, &[Unit])] = &[
    ("bytes", BYTES),
    ("KiB", &[("B", 1, 1 << 10), ("KiB", 1, 1), ("MiB", 1 << 10, 1), ("GiB", 1 << 20, 1)]),
    ("MiB", &[("KiB", 1, 1 << 10), ("MiB", 1, 1), ("GiB", 1 << 10, 1)]),
    ("MHz", &[("kHz", 1, 1000), ("MHz", 1, 1), ("GHz", 1000, 1)]),
    ("nanoseconds", &[("ns", 1, 1), ("us", 1000, 1), ("ms", 1_000_000, 1)]),
    ("microseconds", &[("ns", 1, 1000), ("us", 1, 1), ("ms", 1000, 1), ("s", 1_000_000, 1)]),
    ("V", &[("mV", 1, 1000), ("V", 1, 1)]),
    ("MB/s", &[("MB/s", 1, 1), ("GB/s", 1000, 1)]),
];

const BYTES: &[Unit] = &[
    ("B", 1, 1),
    ("kB", 1000, 1),
    ("KiB", 1 << 10, 1),
    ("MB", 1_000_000, 1),
    ("MiB", 1 << 20, 1),
    ("GiB", 1 << 30, 1),
];

/// The units that a key of `unit` takes.
fn units(unit: &str) -> &'static [Unit] {
    UNITS.iter().find(|(of, _)| *of == unit).map_or(&[], |(_, units)| units)
}

/// The units that a value of a key in `unit` may have, in words; empty if it is a plain number.
pub fn accepted(unit: &str) -> String {
    let names: Vec<&str> = units(unit).iter().map(|(name, ..)| *name).collect();
    if names.is_empty() { String::new() } else { format!("; with a unit: {}", names.join(", ")) }
}

/// `text`, a number or a list of numbers in brackets, with each number that has a unit as a plain one of `unit`.
/// Other texts stay as they are.
pub fn plain(text: &str, unit: &str) -> String {
    let units = units(unit);
    match text.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
        _ if units.is_empty() => text.to_owned(),
        Some(list) => {
            let items: Vec<String> = list.split(',').map(|item| number(item.trim(), units)).collect();
            format!("[{}]", items.join(", "))
        }
        None => number(text, units),
    }
}

fn number(text: &str, units: &[Unit]) -> String {
    let digits = text.find(|c: char| !(c.is_ascii_digit() || c == '.' || c == '_')).unwrap_or(text.len());
    let (number, unit) = (text[..digits].replace('_', ""), text[digits..].trim());
    let found = units.iter().find(|(name, ..)| *name == unit);
    let (Some((_, times, over)), Ok(n)) = (found, number.parse::<f64>()) else { return text.to_owned() };
    let value = n * *times as f64 / *over as f64;
    // An integer of a key that takes no others has no point.
    if value.fract() == 0.0 && value.abs() < 1e15 { format!("{value:.0}") } else { format!("{value:?}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_with_a_unit_is_one_of_the_keys_unit() {
        for (text, unit, expected) in [
            ("32KiB", "bytes", "32768"),
            ("32 KiB", "bytes", "32768"),
            ("1.5kB", "bytes", "1500"),
            ("1MiB", "KiB", "1024"),
            ("1.53GHz", "MHz", "1530"),
            ("1530MHz", "MHz", "1530"),
            ("2us", "nanoseconds", "2000"),
            ("900mV", "V", "0.9"),
            ("[0, 8KiB, 64KiB]", "bytes", "[0, 8192, 65536]"),
            ("0.3B", "bytes", "0.3"),
            ("128", "bytes", "128"),
        ] {
            assert_eq!(plain(text, unit), expected, "{text}");
        }
    }

    #[test]
    fn what_is_no_such_number_stays() {
        for (text, unit) in
            [("32KB", "bytes"), ("32KiB", "ways"), ("KiB", "bytes"), ("1.2.3KiB", "bytes"), ("-1KiB", "bytes")]
        {
            assert_eq!(plain(text, unit), text);
        }
    }
}

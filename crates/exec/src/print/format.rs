//! Formats of `printf` as the CUDA C++ Programming Guide has them: `%[flags][width][.precision][size]type` with C's
//! meaning, which the host's C library gives them on hardware.

use std::fmt::Write;

/// Maximum width and precision of a conversion.
const MOST_CHARACTERS: usize = 4096;

/// The arguments after the format.
pub(super) trait Arguments {
    /// The next argument, of 4 or 8 bytes.
    fn next(&mut self, bytes: u64) -> u64;
    /// The string at an address; `None` if there is no memory.
    fn string(&self, address: u64) -> Option<String>;
}

/// Writes `format` with its arguments to `out`. Returns the number of arguments.
pub(super) fn write(format: &str, arguments: &mut impl Arguments, out: &mut String) -> u32 {
    let (mut rest, mut count) = (format, 0);
    while let Some(at) = rest.find('%') {
        out.push_str(&rest[..at]);
        rest = &rest[at..];
        let (spec, after) = Spec::parse(&rest[1..], || {
            count += 1;
            arguments.next(4) as u32 as i32
        });
        match spec.conversion {
            Some('%') => out.push('%'),
            Some(conversion) if CONVERSIONS.contains(conversion) => {
                count += 1;
                out.push_str(&spec.converted(conversion, arguments));
            }
            // C leaves it undefined; the text is kept.
            _ => out.push_str(&rest[..rest.len() - after.len()]),
        }
        rest = after;
    }
    out.push_str(rest);
    count
}

/// Conversions that have an argument.
const CONVERSIONS: &str = "diuoxXcpsfFeEgGaA";

/// A conversion specification after its `%`.
#[derive(Debug, Default)]
struct Spec {
    /// `-`: left in its field.
    left: bool,
    /// `+`: numbers have a sign.
    plus: bool,
    /// A space in the place of a plus sign.
    space: bool,
    /// `#`: the alternate form.
    alternate: bool,
    /// `0`: zeros up to the width.
    zeros: bool,
    width: usize,
    precision: Option<usize>,
    /// Bytes of an integer.
    bytes: u32,
    conversion: Option<char>,
}

impl Spec {
    /// Parses a specification; `argument` returns the next argument, for `*`. Returns the text after it too.
    fn parse(text: &str, mut argument: impl FnMut() -> i32) -> (Self, &str) {
        let mut spec = Self { bytes: 4, ..Self::default() };
        let flags = text.len() - text.trim_start_matches(['-', '+', ' ', '#', '0']).len();
        let has = |flag| text[..flags].contains(flag);
        (spec.left, spec.plus, spec.space) = (has('-'), has('+'), has(' '));
        (spec.alternate, spec.zeros) = (has('#'), has('0'));
        let (width, mut rest) = number(&text[flags..], &mut argument);
        // A negative width is the flag `-` and a width.
        spec.left |= width.is_some_and(|width| width < 0);
        spec.width = width.map_or(0, clipped);
        if let Some(after) = rest.strip_prefix('.') {
            let (precision, after) = number(after, &mut argument);
            // A negative precision is none.
            spec.precision = Some(precision.unwrap_or(0)).filter(|&precision| precision >= 0).map(clipped);
            rest = after;
        }
        let sizes = rest.len() - rest.trim_start_matches(['h', 'l', 'L', 'j', 'z', 't', 'q']).len();
        spec.bytes = match &rest[..sizes] {
            "" => 4,
            "h" => 2,
            "hh" => 1,
            _ => 8,
        };
        rest = &rest[sizes..];
        spec.conversion = rest.chars().next();
        let after = &rest[spec.conversion.map_or(0, char::len_utf8)..];
        (spec, after)
    }

    /// The text of the next argument, or of the next two if `*` was one.
    fn converted(&self, conversion: char, arguments: &mut impl Arguments) -> String {
        match conversion {
            'd' | 'i' => {
                let unused = 64 - 8 * self.bytes;
                let value = (self.argument(arguments) << unused) as i64 >> unused;
                self.number(self.sign(value < 0), "", &self.digits(&value.unsigned_abs().to_string()), true)
            }
            'u' | 'o' | 'x' | 'X' => {
                let unused = 64 - 8 * self.bytes;
                let value = self.argument(arguments) << unused >> unused;
                let (prefix, digits) = match conversion {
                    'u' => ("", value.to_string()),
                    'o' => ("", format!("{value:o}")),
                    'x' => ("0x", format!("{value:x}")),
                    _ => ("0X", format!("{value:X}")),
                };
                let mut digits = self.digits(&digits);
                if conversion == 'o' && self.alternate && !digits.starts_with('0') {
                    digits.insert(0, '0');
                }
                self.number("", if self.alternate && value != 0 { prefix } else { "" }, &digits, true)
            }
            'c' => self.padded(&char::from(arguments.next(4) as u8).to_string()),
            'p' => match arguments.next(8) {
                0 => self.padded("(nil)"),
                address => self.number(self.sign(false), "0x", &self.digits(&format!("{address:x}")), true),
            },
            's' => {
                let address = arguments.next(8);
                let text = if address == 0 { None } else { arguments.string(address) };
                let text = text.unwrap_or_else(|| "(null)".into());
                self.padded(&text.chars().take(self.precision.unwrap_or(usize::MAX)).collect::<String>())
            }
            _ => self.float(f64::from_bits(arguments.next(8)), conversion),
        }
    }

    /// The next argument as an integer: arguments of less than 4 bytes are passed in 4.
    fn argument(&self, arguments: &mut impl Arguments) -> u64 {
        arguments.next(u64::from(self.bytes.max(4)))
    }

    fn sign(&self, negative: bool) -> &'static str {
        match (negative, self.plus, self.space) {
            (true, ..) => "-",
            (_, true, _) => "+",
            (_, _, true) => " ",
            _ => "",
        }
    }

    /// Digits of an integer with zeros up to the precision.
    fn digits(&self, digits: &str) -> String {
        match self.precision {
            Some(0) if digits == "0" => String::new(),
            precision => format!("{digits:0>0$}", precision.unwrap_or(0)),
        }
    }

    /// A number in its field. A precision of an integer switches the flag `0` off.
    fn number(&self, sign: &str, prefix: &str, digits: &str, is_integer: bool) -> String {
        if !self.zeros || self.left || is_integer && self.precision.is_some() {
            return self.padded(&format!("{sign}{prefix}{digits}"));
        }
        let width = self.width.saturating_sub(sign.len() + prefix.len());
        format!("{sign}{prefix}{digits:0>width$}")
    }

    fn padded(&self, text: &str) -> String {
        let width = self.width;
        if self.left { format!("{text:<width$}") } else { format!("{text:>width$}") }
    }

    fn float(&self, x: f64, conversion: char) -> String {
        let sign = self.sign(x.is_sign_negative());
        let (x, is_upper) = (x.abs(), conversion.is_ascii_uppercase());
        let case = |text: String| if is_upper { text.to_uppercase() } else { text };
        if !x.is_finite() {
            let text = case(if x.is_nan() { "nan" } else { "inf" }.to_owned());
            return self.padded(&format!("{sign}{text}"));
        }
        let precision = self.precision.unwrap_or(6);
        let (prefix, digits) = match conversion.to_ascii_lowercase() {
            'f' => ("", self.pointed(format!("{x:.precision$}"))),
            'e' => ("", self.scientific(x, precision)),
            'g' => ("", self.general(x, precision.max(1))),
            _ => (if is_upper { "0X" } else { "0x" }, self.hexadecimal(x)),
        };
        self.number(sign, prefix, &case(digits), false)
    }

    /// The alternate form has a decimal point in any case.
    fn pointed(&self, mut digits: String) -> String {
        if self.alternate && !digits.contains('.') {
            digits.push('.');
        }
        digits
    }

    fn scientific(&self, x: f64, precision: usize) -> String {
        let (mantissa, exponent) = decimal(x, precision);
        let mut text = self.pointed(mantissa);
        // Writing to a string cannot fail.
        let _ = write!(text, "e{}{:02}", if exponent < 0 { '-' } else { '+' }, exponent.unsigned_abs());
        text
    }

    /// The shorter of the other two forms, with `digits` significant digits.
    fn general(&self, x: f64, digits: usize) -> String {
        let (mantissa, exponent) = decimal(x, digits - 1);
        let trimmed = |text: String| match text.contains('.') && !self.alternate {
            true => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
            false => self.pointed(text),
        };
        if exponent >= -4 && i64::from(exponent) < digits as i64 {
            return trimmed(format!("{x:.*}", (digits as i64 - 1 - i64::from(exponent)) as usize));
        }
        format!("{}e{}{:02}", trimmed(mantissa), if exponent < 0 { '-' } else { '+' }, exponent.unsigned_abs())
    }

    /// Mantissa in hexadecimal, exponent of two.
    fn hexadecimal(&self, x: f64) -> String {
        const BITS: u32 = f64::MANTISSA_DIGITS - 1;
        let bits = x.to_bits();
        let is_normal = bits >> BITS != 0;
        let exponent = if x == 0.0 { 0 } else { (bits >> BITS).max(1) as i32 - 1023 };
        let mut mantissa = bits & ((1 << BITS) - 1) | u64::from(is_normal) << BITS;
        if let Some(precision) = self.precision.filter(|&precision| precision < BITS as usize / 4) {
            // To the nearest, ties to even.
            let unused = BITS - 4 * precision as u32;
            let half = (1 << (unused - 1)) - 1 + (mantissa >> unused & 1);
            mantissa = (mantissa + half) >> unused << unused;
        }
        let fraction = format!("{:013x}", mantissa & ((1 << BITS) - 1));
        let digits = match self.precision {
            None => fraction.trim_end_matches('0').to_owned(),
            Some(precision) => format!("{:0<precision$}", &fraction[..precision.min(fraction.len())]),
        };
        let point = if digits.is_empty() && !self.alternate { "" } else { "." };
        format!("{}{point}{digits}p{exponent:+}", mantissa >> BITS)
    }
}

/// A number of a specification, or the argument in place of `*`, and the text after it.
fn number<'a>(text: &'a str, argument: &mut impl FnMut() -> i32) -> (Option<i64>, &'a str) {
    if let Some(rest) = text.strip_prefix('*') {
        return (Some(argument().into()), rest);
    }
    let rest = text.trim_start_matches(|c: char| c.is_ascii_digit());
    let digits = &text[..text.len() - rest.len()];
    let most = || digits.parse().unwrap_or(MOST_CHARACTERS as i64);
    ((!digits.is_empty()).then(most), rest)
}

fn clipped(number: i64) -> usize {
    number.unsigned_abs().min(MOST_CHARACTERS as u64) as usize
}

/// Decimal mantissa with digits after its point, and exponent.
fn decimal(x: f64, precision: usize) -> (String, i32) {
    let text = format!("{x:.precision$e}");
    let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    (mantissa.to_owned(), exponent.parse().unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Given<'a>(std::slice::Iter<'a, u64>);

    impl Arguments for Given<'_> {
        fn next(&mut self, _: u64) -> u64 {
            self.0.next().copied().unwrap_or(0)
        }

        fn string(&self, address: u64) -> Option<String> {
            (address == 1).then(|| "abc".into())
        }
    }

    /// Right sides: glibc 2.36.
    #[test]
    fn formats_are_those_of_c() {
        let f = f64::to_bits;
        let minus = |x: i64| x as u64;
        let rows: &[(&str, &[u64], &str)] = &[
            ("[%d|%i|%u]", &[42, minus(-42), minus(-42)], "[42|-42|4294967254]"),
            ("[%*d]", &[6, 42], "[    42]"),
            ("[%-*d][%*d]", &[6, 42, minus(-6), 7], "[42    ][7     ]"),
            ("[%.*f|%.*f]", &[1, f(2.25), minus(-1), f(2.0)], "[2.2|2.000000]"),
            ("[% d|%+d|%+ d|% d]", &[42, 42, 42, minus(-1)], "[ 42|+42|+42|-1]"),
            ("[%#x|%#X|%#o|%#x|%#o]", &[42, 42, 42, 0, 0], "[0x2a|0X2A|052|0|0]"),
            ("[%hd|%hu|%hhd|%hhu]", &[70_000, 70_000, 300, 300], "[4464|4464|44|44]"),
            (
                "[%ld|%lld|%lu|%zu|%x]",
                &[minus(-5), minus(-6), 1 << 40, 9, minus(-1)],
                "[-5|-6|1099511627776|9|ffffffff]",
            ),
            ("[%06d|%-06d|%06.3d|%+06d]", &[minus(-42), 42, 42, 42], "[-00042|42    |   042|+00042]"),
            ("[%#08x|%8.4x|%.0d|%#.0o|%.3d]", &[42, 42, 0, 0, minus(-7)], "[0x00002a|    002a||0|-007]"),
            ("[%+.2e|%E|%.0e|%#.0e]", &[f(42.0), f(42.0), f(42.0), f(42.0)], "[+4.20e+01|4.200000E+01|4e+01|4.e+01]"),
            (
                "[%g|%G|%g|%#g|%.3g]",
                &[f(42.0), f(1e-10), f(1e6), f(42.0), f(1234.5)],
                "[42|1E-10|1e+06|42.0000|1.23e+03]",
            ),
            ("[%g|%g|%#.0f|%.0f]", &[f(0.0001), f(100_000.0), f(42.0), f(2.5)], "[0.0001|100000|42.|2]"),
            (
                "[%a|%A|%.1a|%.0a|%a]",
                &[f(42.0), f(-0.1), f(1.97), f(1.5), f(0.0)],
                "[0x1.5p+5|-0X1.999999999999AP-4|0x2.0p+0|0x2p+0|0x0p+0]",
            ),
            (
                "[%a|%.15a|%12.2a]",
                &[1, f(1.0), f(1.0)],
                "[0x0.0000000000001p-1022|0x1.000000000000000p+0|   0x1.00p+0]",
            ),
            (
                "[%f|%F|%5.1f|%05f|%+f]",
                &[f(f64::NAN), f(f64::INFINITY), f(-f64::INFINITY), f(f64::INFINITY), f(f64::NAN)],
                "[nan|INF| -inf|  inf|+nan]",
            ),
            ("[%08.2f|%-8.2f|%+.1f|% .1f]", &[f(-1.5), f(1.5), f(0.25), f(0.0)], "[-0001.50|1.50    |+0.2| 0.0]"),
            ("[%10s|%-6s|%.2s|%s]", &[1, 1, 1, 0], "[       abc|abc   |ab|(null)]"),
            ("[%c|%3c|%-3c]", &[65, 66, 67], "[A|  B|C  ]"),
            ("[%p|%p|%10p]", &[0x1234, 0, 0x12], "[0x1234|(nil)|      0x12]"),
            ("100%% %d %", &[1], "100% 1 %"),
            ("%5", &[], "%5"),
            ("%k %d", &[1], "%k 1"),
            ("%é", &[], "%é"),
        ];
        for &(format, arguments, wanted) in rows {
            let mut out = String::new();
            let count = write(format, &mut Given(arguments.iter()), &mut out);
            assert_eq!(out, wanted, "{format}");
            assert_eq!(count as usize, arguments.len(), "{format}");
        }
    }

    #[test]
    fn widths_are_bounded() {
        let mut out = String::new();
        write("%999999999999999999999d%.99999999f", &mut Given([1, 1].iter()), &mut out);
        assert_eq!(out.len(), 2 * MOST_CHARACTERS + 2);
    }
}

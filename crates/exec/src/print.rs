//! Output of kernels: `printf` and failed assertions.

use crate::fault::{Outcome, Trap};
use crate::kernel::{CallSite, Kernel};
use crate::memory::{DeviceMemory, LOCAL_WINDOW, generic_space};
use crate::warp::{Warp, argument};
use isa::{FaultKind, Space};
use kit::{LaneMask, lanes};
use std::fmt::Write;

/// Maximum length of a string that is read from a kernel.
const MAX_STRING: u64 = 4096;

/// Executes `vprintf(format, arguments)`: appends the output of each lane to `output`.
pub(crate) fn printf(
    warp: &Warp,
    kernel: &Kernel,
    site: &CallSite,
    mask: LaneMask,
    memory: &DeviceMemory,
    output: &mut String,
) -> Outcome {
    for lane in lanes(mask) {
        let of = |i: usize| site.args.get(i).map_or(0, |&place| argument(warp, kernel, place, lane));
        let (format, arguments) = (of(0), of(1));
        let Some(format) = string(memory, format) else {
            let what = format!("printf with a format at {format:#x}, where there is no memory");
            return Err(Trap::stop(FaultKind::IllegalAddress, what, 1 << lane));
        };
        let mut arguments = Arguments { warp, memory, lane, at: arguments };
        write_formatted(&format, &mut arguments, output);
    }
    Ok(())
}

/// The message of a failed assertion: `__assertfail(message, file, line, function, size)`.
pub(crate) fn assertion(
    warp: &Warp,
    kernel: &Kernel,
    site: &CallSite,
    mask: LaneMask,
    memory: &DeviceMemory,
) -> String {
    let lane = mask.trailing_zeros() as usize % 32;
    let of = |i: usize| site.args.get(i).map_or(0, |&place| argument(warp, kernel, place, lane));
    let text = |i| string(memory, of(i)).unwrap_or_else(|| "?".into());
    format!("assertion `{}` failed in {} ({}:{})", text(0), text(3), text(1), of(2) as u32)
}

fn string(memory: &DeviceMemory, address: u64) -> Option<String> {
    let mut bytes = Vec::new();
    let mut byte = [0];
    while (bytes.len() as u64) < MAX_STRING {
        memory.read(address + bytes.len() as u64, &mut byte).ok()?;
        if byte[0] == 0 {
            break;
        }
        bytes.push(byte[0]);
    }
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

/// The arguments of one lane, packed as in a C structure.
struct Arguments<'a> {
    warp: &'a Warp,
    memory: &'a DeviceMemory,
    lane: usize,
    at: u64,
}

impl Arguments<'_> {
    fn word(&self, address: u64) -> u32 {
        if generic_space(address) == Space::Local {
            let offset = address - LOCAL_WINDOW;
            let local = &self.warp.local;
            return if local.holds(offset, 4) { local.column((offset / 4) as usize)[self.lane] } else { 0 };
        }
        let mut bytes = [0; 4];
        // Arguments outside allocated memory print as zero.
        let _ = self.memory.read(address, &mut bytes);
        u32::from_le_bytes(bytes)
    }

    fn next(&mut self, bytes: u64) -> u64 {
        let at = self.at.next_multiple_of(bytes);
        self.at = at + bytes;
        let low = u64::from(self.word(at));
        if bytes == 8 { low | u64::from(self.word(at + 4)) << 32 } else { low }
    }
}

/// Formats like C's `printf`: flags, width, precision, lengths, and the conversions that CUDA has.
fn write_formatted(format: &str, arguments: &mut Arguments<'_>, out: &mut String) {
    let mut rest = format;
    while let Some(at) = rest.find('%') {
        out.push_str(&rest[..at]);
        rest = &rest[at + 1..];
        let end = rest.find(|c: char| c.is_ascii_alphabetic() && !"hlLjzt".contains(c) || c == '%');
        let Some(end) = end else { break };
        let (spec, conversion) = (&rest[..end], rest.as_bytes()[end] as char);
        rest = &rest[end + 1..];
        if conversion == '%' {
            out.push('%');
        } else {
            out.push_str(&convert(spec, conversion, arguments));
        }
    }
    out.push_str(rest);
}

fn convert(spec: &str, conversion: char, arguments: &mut Arguments<'_>) -> String {
    let flags_end = spec.find(|c| !"-+ #0".contains(c)).unwrap_or(spec.len());
    let (flags, sizes) = spec.split_at(flags_end);
    let numbers = sizes.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let long = sizes.contains(['l', 'j', 'z', 't']);
    let (width, precision) = match numbers.split_once('.') {
        Some((w, p)) => (w, Some(p.parse().unwrap_or(0_usize))),
        None => (numbers, None),
    };
    let width: usize = width.parse().unwrap_or(0);
    let width = width.min(MAX_STRING as usize);
    let precision = precision.map(|p| p.min(MAX_STRING as usize));
    let integer = |arguments: &mut Arguments<'_>| arguments.next(if long { 8 } else { 4 });
    let signed = |x: u64| if long { x as i64 } else { i64::from(x as i32) };
    let mut body = String::new();
    // Writing to a string cannot fail.
    let _ = match conversion {
        'd' | 'i' => write!(body, "{}", signed(integer(arguments))),
        'u' => write!(body, "{}", integer(arguments)),
        'x' => write!(body, "{:x}", integer(arguments)),
        'X' => write!(body, "{:X}", integer(arguments)),
        'o' => write!(body, "{:o}", integer(arguments)),
        'c' => write!(body, "{}", arguments.next(4) as u8 as char),
        'p' => write!(body, "{:#x}", arguments.next(8)),
        's' => {
            let text = string(arguments.memory, arguments.next(8)).unwrap_or_else(|| "(null)".into());
            body.extend(text.chars().take(precision.unwrap_or(usize::MAX)));
            Ok(())
        }
        'f' | 'F' | 'e' | 'E' | 'g' | 'G' | 'a' | 'A' => {
            let x = f64::from_bits(arguments.next(8));
            write!(body, "{}", float(x, conversion, precision.unwrap_or(6)))
        }
        _ => write!(body, "%{spec}{conversion}"),
    };
    if flags.contains('+') && !body.starts_with('-') && "difFeEgG".contains(conversion) {
        body.insert(0, '+');
    }
    let missing = width.saturating_sub(body.chars().count());
    if flags.contains('-') {
        body + &" ".repeat(missing)
    } else if flags.contains('0') && conversion != 's' {
        let sign = usize::from(body.starts_with(['-', '+']));
        body.insert_str(sign, &"0".repeat(missing));
        body
    } else {
        " ".repeat(missing) + &body
    }
}

fn float(x: f64, conversion: char, precision: usize) -> String {
    if !x.is_finite() {
        return if x.is_nan() {
            "nan".into()
        } else if x > 0.0 {
            "inf".into()
        } else {
            "-inf".into()
        };
    }
    let scientific = |digits: usize| {
        let text = format!("{x:.digits$e}");
        let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
        let exponent: i32 = exponent.parse().unwrap_or(0);
        let sign = if exponent < 0 { '-' } else { '+' };
        format!("{mantissa}e{sign}{:02}", exponent.abs())
    };
    match conversion {
        'e' | 'E' => scientific(precision),
        'g' | 'G' => {
            let digits = precision.max(1);
            let text = scientific(digits - 1);
            let exponent: i32 = text.rsplit('e').next().and_then(|e| e.parse().ok()).unwrap_or(0);
            let trim = |s: &str| {
                if s.contains('.') { s.trim_end_matches('0').trim_end_matches('.').to_owned() } else { s.to_owned() }
            };
            if exponent < -4 || exponent >= digits as i32 {
                let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "+00"));
                format!("{}e{exponent}", trim(mantissa))
            } else {
                trim(&format!("{x:.*}", (digits as i32 - 1 - exponent).max(0) as usize))
            }
        }
        _ => format!("{x:.precision$}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_print_as_c_does() {
        assert_eq!(float(1.5, 'f', 6), "1.500000");
        assert_eq!(float(12345.678, 'e', 3), "1.235e+04");
        assert_eq!(float(0.0001, 'g', 6), "0.0001");
        assert_eq!(float(1e10, 'g', 6), "1e+10");
        assert_eq!(float(-f64::INFINITY, 'f', 2), "-inf");
    }
}

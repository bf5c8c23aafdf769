//! Output of kernels: `printf` and failed assertions.

mod format;

use crate::fault::{Stop, Trap};
use crate::kernel::{CallSite, Kernel};
use crate::lanes::Column;
use crate::memory::{DeviceMemory, LOCAL_WINDOW, generic_space};
use crate::warp::{Warp, argument};
use format::Arguments;
use isa::{FaultKind, Space};
use kit::{LaneMask, WARP_LANES, lanes};

/// Maximum length of a string that is read from a kernel.
const MAX_STRING: u64 = 4096;

/// Executes `vprintf(format, arguments)`: appends the output of each lane to `output`. Returns each lane's result: the
/// number of its arguments, or -1 for a null format (CUDA C++ Programming Guide, formatted output).
pub(crate) fn printf(
    warp: &Warp,
    kernel: &Kernel,
    site: &CallSite,
    mask: LaneMask,
    memory: &DeviceMemory,
    output: &mut String,
) -> Result<Column, Stop> {
    let mut results = [0; WARP_LANES];
    for lane in lanes(mask) {
        let of = |i: usize| site.args.get(i).map_or(0, |&place| argument(warp, kernel, place, lane));
        let (format, arguments) = (of(0), of(1));
        if format == 0 {
            results[lane] = u32::MAX;
            continue;
        }
        let Some(format) = string(memory, format) else {
            let what = format!("printf with a format at {format:#x}, where there is no memory");
            return Err(Trap::stop(FaultKind::IllegalAddress, what, 1 << lane));
        };
        let mut arguments = Packed { warp, memory, lane, at: arguments };
        results[lane] = format::write(&format, &mut arguments, output);
    }
    Ok(results)
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
        memory.read(address.wrapping_add(bytes.len() as u64), &mut byte).ok()?;
        if byte[0] == 0 {
            break;
        }
        bytes.push(byte[0]);
    }
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

/// The arguments of one lane, packed as in a C structure.
struct Packed<'a> {
    warp: &'a Warp,
    memory: &'a DeviceMemory,
    lane: usize,
    at: u64,
}

impl Packed<'_> {
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
}

impl Arguments for Packed<'_> {
    fn next(&mut self, bytes: u64) -> u64 {
        let at = self.at.checked_next_multiple_of(bytes).unwrap_or(0);
        self.at = at.wrapping_add(bytes);
        let low = u64::from(self.word(at));
        if bytes == 8 { low | u64::from(self.word(at.wrapping_add(4))) << 32 } else { low }
    }

    fn string(&self, address: u64) -> Option<String> {
        string(self.memory, address)
    }
}

//! The functions of CUDA's device runtime that kernels call: `printf`, failed assertions, `malloc`, `free`.

use crate::fault::{Outcome, Stop, Trap};
use crate::heap::Heap;
use crate::kernel::{CallSite, Kernel, Place, RuntimeFunction};
use crate::lanes::{Column, blend};
use crate::memory::DeviceMemory;
use crate::print;
use crate::warp::{Warp, argument};
use isa::FaultKind;
use kit::{LaneMask, WARP_LANES, lanes};

/// State of these functions besides the warp, for itself.
pub(crate) struct Services<'a> {
    pub memory: &'a mut DeviceMemory,
    pub output: &'a mut String,
    pub heap: &'a mut Heap,
}

/// Executes `function`, called at `site` by the lanes in `mask`, one lane after another. It needs `services`.
pub(crate) fn run(
    function: RuntimeFunction,
    warp: &mut Warp,
    kernel: &Kernel,
    site: &CallSite,
    mask: LaneMask,
    services: Option<Services<'_>>,
) -> Outcome {
    if mask == 0 {
        return Ok(());
    }
    let Some(Services { memory, output, heap }) = services else { return Err(Stop::Deferred) };
    memory.note_change();
    let first = |warp: &Warp, lane| site.args.first().map_or(0, |&place| argument(warp, kernel, place, lane));
    match function {
        RuntimeFunction::Printf => {
            let results = print::printf(warp, kernel, site, mask, memory, output)?;
            site.results.first().into_iter().for_each(|&place| give(warp, place, &[results, [0; WARP_LANES]], mask));
        }
        RuntimeFunction::AssertFail => {
            let what = print::assertion(warp, kernel, site, mask, memory);
            return Err(Trap::stop(FaultKind::Assert, what, mask));
        }
        RuntimeFunction::Malloc => {
            let mut columns: [Column; 2] = [[0; WARP_LANES]; 2];
            for lane in lanes(mask) {
                let address = heap.allocate(first(warp, lane), memory);
                (columns[0][lane], columns[1][lane]) = (address as u32, (address >> 32) as u32);
            }
            site.results.first().into_iter().for_each(|&place| give(warp, place, &columns, mask));
        }
        RuntimeFunction::Free => {
            for lane in lanes(mask) {
                let address = first(warp, lane);
                if !heap.free(address) {
                    let what = format!("free of {address:#x}, which is not a block that `malloc` returned");
                    return Err(Trap::stop(FaultKind::IllegalAddress, what, 1 << lane));
                }
            }
        }
    }
    Ok(())
}

/// Writes a result of up to 64 bits to its place in the caller.
fn give(warp: &mut Warp, place: Place, columns: &[Column; 2], mask: LaneMask) {
    match place {
        Place::Register(register, count) => {
            for (k, column) in columns.iter().enumerate().take(count.into()) {
                blend(&mut warp.regs[usize::from(register.0) + k], column, mask);
            }
        }
        Place::Frame { offset, bytes } => {
            let at = warp.frame() + offset;
            warp.local.grow(at + bytes.next_multiple_of(4));
            for (k, column) in columns.iter().enumerate().take(bytes.div_ceil(4) as usize) {
                warp.local.write((at / 4) as usize + k, column, mask);
            }
        }
    }
}

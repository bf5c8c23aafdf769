//! Calls and returns: arguments, frames of local memory, registers saved across recursion.

use crate::access::copy_local;
use crate::fault::{Outcome, Stop, Trap, overflow};
use crate::kernel::{Callee, Kernel, Place, Save, function_at};
use crate::lanes::{Column, Lanes, Reg};
use crate::memory::MAX_LOCAL_BYTES;
use crate::runtime::{self, Services};
use crate::warp::{CallData, Warp, column};
use isa::FaultKind;
use kit::{LaneMask, lanes};

/// Executes a call by the lanes in `mask`. Returns whether they diverge.
pub(crate) fn call(
    warp: &mut Warp,
    kernel: &Kernel,
    number: u32,
    mask: LaneMask,
    services: Option<Services<'_>>,
) -> Result<bool, Stop> {
    let site = &kernel.calls[number as usize];
    if mask == 0 {
        warp.stack.advance();
        return Ok(false);
    }
    let ways = match site.callee {
        Callee::Function(function) => vec![(function, mask)],
        Callee::Pointer(register) => targets(warp, kernel, register, mask)?,
        Callee::Runtime(_) => {
            call_runtime(warp, kernel, number, mask, services)?;
            warp.stack.advance();
            return Ok(false);
        }
    };
    let diverged = ways.len() > 1 || mask != warp.stack.active();
    let caller_frame = warp.frame();
    for (i, &(function, mask)) in ways.iter().enumerate() {
        let (saved, saved_preds) = (Vec::new(), Vec::new());
        let frame = caller_frame + site.frame_bytes;
        let mut data = CallData { site: number, caller_frame, frame, saved, saved_preds };
        let entry = prepare(warp, kernel, function, &mut data, mask)?;
        let pushed = if i == 0 { warp.stack.call(mask, entry, data) } else { warp.stack.enter(mask, entry, data) };
        pushed.map_err(|_| overflow(mask))?;
    }
    Ok(diverged)
}

/// Executes a call of a function of the device runtime by the lanes in `mask`, which stay where they are.
pub(crate) fn call_runtime(
    warp: &mut Warp,
    kernel: &Kernel,
    number: u32,
    mask: LaneMask,
    services: Option<Services<'_>>,
) -> Outcome {
    let site = &kernel.calls[number as usize];
    let Callee::Runtime(function) = site.callee else { return Ok(()) };
    runtime::run(function, warp, kernel, site, mask, services)
}

/// Passes the arguments and saves registers. Returns the function's first instruction.
fn prepare(warp: &mut Warp, kernel: &Kernel, function: u32, data: &mut CallData, mask: LaneMask) -> Result<u32, Stop> {
    let site = &kernel.calls[data.site as usize];
    let callee = &kernel.functions[function as usize];
    let bytes = data.frame + callee.frame_bytes;
    if bytes > MAX_LOCAL_BYTES {
        return Err(overflow(mask));
    }
    warp.local.grow(bytes);
    // Registers are saved first: a function that calls itself receives its arguments in its own registers.
    if let Some(Save { registers: (first, count), predicates: (first_pred, preds) }) = site.save {
        data.saved.extend_from_slice(&warp.regs[first as usize..(first + count) as usize]);
        data.saved_preds.extend_from_slice(&warp.preds[first_pred as usize..(first_pred + preds) as usize]);
    }
    pass_all(warp, kernel, (&site.args, data.caller_frame), (&callee.params, data.frame), mask);
    Ok(callee.entry)
}

/// Executes a return by the lanes in `mask`; in the kernel itself they exit.
pub(crate) fn ret(warp: &mut Warp, kernel: &Kernel, mask: LaneMask) {
    let Some(frame) = warp.stack.frame() else {
        warp.stack.exit(mask);
        return;
    };
    let site = &kernel.calls[frame.site as usize];
    let function = kernel.function_of(warp.stack.pc().unwrap_or(0));
    let (from, to) = (frame.frame, frame.caller_frame);
    let results = values(warp, kernel, (&function.returns, from), (&site.results, to), mask);
    if let Some(save) = site.save {
        restore(warp, save, mask);
    }
    write(warp, &results, mask);
    warp.stack.ret(mask);
}

/// Restores the registers of the lanes in `mask` that return from a recursive call.
fn restore(warp: &mut Warp, save: Save, mask: LaneMask) {
    let Some(frame) = warp.stack.frame() else { return };
    let columns = warp.regs[save.registers.0 as usize..].iter_mut().zip(&frame.saved);
    columns.for_each(|(column, saved)| crate::lanes::blend(column, saved, mask));
    let preds = warp.preds[save.predicates.0 as usize..].iter_mut().zip(&frame.saved_preds);
    preds.for_each(|(pred, saved)| *pred = *pred & !mask | saved & mask);
}

/// The functions that the lanes call through a register.
fn targets(warp: &mut Warp, kernel: &Kernel, register: Reg, mask: LaneMask) -> Result<Vec<(u32, LaneMask)>, Stop> {
    let file = Lanes { regs: &mut warp.regs, preds: &mut warp.preds, constants: &kernel.constants, mask };
    let mut ways: Vec<(u32, LaneMask)> = Vec::new();
    for lane in lanes(mask) {
        let address: u64 = file.get(register, lane);
        let function = function_at(address).and_then(|i| kernel.numbers.get(&i).copied());
        let Some(function) = function else {
            let what = format!("call to {address:#x}, which is not a function");
            return Err(Trap::stop(FaultKind::InvalidPc, what, 1 << lane));
        };
        match ways.iter_mut().find(|w| w.0 == function) {
            Some(way) => way.1 |= 1 << lane,
            None => ways.push((function, 1 << lane)),
        }
    }
    Ok(ways)
}

/// Copies values between places of a caller and a function, each side with its frame. All values are read
/// before the first is written, because a function that calls itself may use the same registers.
fn pass_all(warp: &mut Warp, kernel: &Kernel, from: (&[Place], u32), to: (&[Place], u32), mask: LaneMask) {
    let values = values(warp, kernel, from, to, mask);
    write(warp, &values, mask);
}

fn write(warp: &mut Warp, values: &[(usize, Column)], mask: LaneMask) {
    for (register, column) in values {
        crate::lanes::blend(&mut warp.regs[*register], column, mask);
    }
}

/// Copies what is passed in frames, and returns what is passed in registers.
fn values(
    warp: &mut Warp,
    kernel: &Kernel,
    from: (&[Place], u32),
    to: (&[Place], u32),
    mask: LaneMask,
) -> Vec<(usize, Column)> {
    let mut into_registers: Vec<(usize, Column)> = Vec::new();
    for (&source, &target) in from.0.iter().zip(to.0) {
        match (source, target) {
            (Place::Frame { offset: a, bytes }, Place::Frame { offset: b, bytes: room }) => {
                copy_local(&mut warp.local, from.1 + a, to.1 + b, bytes.min(room), mask);
            }
            (Place::Register(a, n), Place::Register(b, room)) => {
                for k in 0..n.min(room).into() {
                    into_registers.push(((b.0 + k) as usize, column(warp, kernel, Reg(a.0 + k))));
                }
            }
            (Place::Register(a, n), Place::Frame { offset, bytes }) => {
                warp.local.grow(to.1 + offset + bytes.next_multiple_of(4));
                for k in 0..u32::from(n).min(bytes.div_ceil(4)) {
                    let column = column(warp, kernel, Reg(a.0 + k as u16));
                    warp.local.write(((to.1 + offset) / 4 + k) as usize, &column, mask);
                }
            }
            (Place::Frame { offset, bytes }, Place::Register(b, n)) => {
                for k in 0..u32::from(n).min(bytes.div_ceil(4)) {
                    let column = *warp.local.column(((from.1 + offset) / 4 + k) as usize);
                    into_registers.push(((b.0 + k as u16) as usize, column));
                }
            }
        }
    }
    into_registers
}

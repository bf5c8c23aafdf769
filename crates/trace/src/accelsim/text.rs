//! A launch as the text of a `.traceg` file, generated as it is read.

use super::opcode::opcode;
use crate::native::{CtaCode, CtaSource, NativeTrace};
use crate::{Generation, LaunchInfo, TraceError};
use isa::Form;
use isa::{Access, Control, DynInst, Inst, Pc, Program, RegId, Space};
use kit::{LaneMask, WARP_LANES, lanes};
use std::fmt::Write as _;
use std::io::Read;
use std::ops::ControlFlow;
use std::sync::Arc;

/// Start of the generic addresses of shared memory; local memory and parameters follow. They are beyond all
/// device memory.
const SHARED_WINDOW: u64 = 0x7f00_0000_0000;
const LOCAL_WINDOW: u64 = SHARED_WINDOW + WINDOW_BYTES;
const PARAM_WINDOW: u64 = LOCAL_WINDOW + WINDOW_BYTES;
const WINDOW_BYTES: u64 = 16 << 20;

/// Maximum number of registers on each side of an instruction in the format.
const MOST_DSTS: usize = 1;
const MOST_SRCS: usize = 4;

/// Number of registers below the one that reads as zero.
const REGISTERS: u16 = 255;

/// Bytes from one program counter to the next.
const INSTRUCTION_BYTES: u32 = 16;

/// Oldest architecture whose opcodes can replace PTX's.
const OLDEST: u32 = 70;

/// The part that all lines of a static instruction repeat.
struct Fixed {
    /// `ND [Rd] OPCODE NS [Rs…] WIDTH`.
    text: String,
    traced: bool,
}

/// The text of a launch.
pub(super) struct LaunchText<'a> {
    source: CtaSource,
    trace: Arc<NativeTrace>,
    launch: usize,
    fixed: Vec<Fixed>,
    /// The CTA that is being written, and its next warp.
    cta: CtaCode,
    next: (u64, u32),
    text: String,
    /// Bytes of `text` that have been read.
    taken: usize,
    keep_on: &'a mut dyn FnMut() -> ControlFlow<()>,
    /// The error that ended the text early.
    pub failed: Option<TraceError>,
}

impl<'a> LaunchText<'a> {
    pub fn new(
        trace: &Arc<NativeTrace>,
        launch: usize,
        keep_on: &'a mut dyn FnMut() -> ControlFlow<()>,
    ) -> Result<Self, TraceError> {
        let info = &trace.launches()[launch];
        let program = trace.code(launch);
        Ok(Self {
            source: CtaSource::open(trace.clone())?,
            trace: trace.clone(),
            launch,
            fixed: fixed(program, info),
            cta: CtaCode::default(),
            next: (0, 0),
            text: head(&program.name, launch, info, &trace.contents.producer),
            taken: 0,
            keep_on,
            failed: None,
        })
    }

    /// Generates the text of the next warp, if there is one.
    fn refill(&mut self) -> Result<(), TraceError> {
        self.text.clear();
        self.taken = 0;
        let info = &self.trace.launches()[self.launch];
        let (cta, warp) = self.next;
        if cta >= info.shape.ctas() {
            return Ok(());
        }
        if warp == 0 {
            if (self.keep_on)().is_break() {
                return Err(self.broken_off());
            }
            self.source.read(self.launch, cta, &mut self.cta)?;
            let at = info.shape.grid.position(cta);
            let _ = write!(self.text, "\n#BEGIN_TB\n\nthread block = {},{},{}\n", at.x, at.y, at.z);
        }
        self.warp(warp).map_err(|expected| self.source.error(self.launch, cta, expected))?;
        self.next = (cta, warp + 1);
        if warp + 1 == self.trace.launches()[self.launch].shape.warps() {
            self.text.push_str("\n#END_TB\n");
            self.next = (cta + 1, 0);
        }
        Ok(())
    }

    fn broken_off(&self) -> TraceError {
        TraceError::new(self.trace.path(), 0, "the export was broken off")
    }

    fn warp(&mut self, warp: u32) -> Result<(), &'static str> {
        let index = warp as usize;
        let program = self.trace.code(self.launch);
        let _ = write!(self.text, "\nwarp = {warp}\ninsts = {}\n", self.cta.left(index));
        let mut done = DynInst::default();
        while self.cta.next_pc(index).is_some() {
            self.cta.step(index, program, &mut done)?;
            let fixed = &self.fixed[done.pc.index()];
            line(&mut self.text, fixed, program.inst(done.pc), &done);
        }
        Ok(())
    }
}

impl Read for LaunchText<'_> {
    fn read(&mut self, out: &mut [u8]) -> std::io::Result<usize> {
        if self.failed.is_none() && kit::stop::requested() {
            self.failed = Some(self.broken_off());
        }
        if self.taken == self.text.len() && self.failed.is_none() {
            self.failed = self.refill().err();
        }
        if self.failed.is_some() {
            // Not every compressor reports errors: the text ends, and the error is kept.
            return Ok(0);
        }
        let part = &self.text.as_bytes()[self.taken..];
        let length = part.len().min(out.len());
        out[..length].copy_from_slice(&part[..length]);
        self.taken += length;
        Ok(length)
    }
}

fn head(name: &str, launch: usize, info: &LaunchInfo, producer: &str) -> String {
    let shape = &info.shape;
    let version = match info.timing {
        Form::Ptx => info.architecture.max(OLDEST),
        Form::Sass => info.architecture,
    };
    format!(
        "-kernel name = {name}\n-kernel id = {}\n-grid dim = {}\n-block dim = {}\n-shmem = {}\n-nregs = {}\n\
         -binary version = {version}\n-cuda stream id = {}\n-shmem base_addr = 0x{SHARED_WINDOW:016x}\n\
         -local mem base_addr = 0x{LOCAL_WINDOW:016x}\n-nvbit version = {}\n-accelsim tracer version = 5\n\
         -enable lineinfo = 0\n\n#traces format = [line_num] PC mask dest_num [reg_dests] opcode src_num [reg_srcs] \
         mem_width [adrrescompress?] [mem_addresses] immediate\n\n",
        launch + 1,
        shape.grid,
        shape.block,
        shape.shared_bytes,
        shape.registers_per_thread,
        info.stream,
        producer.replace(' ', "-"),
    )
}

fn fixed(program: &Program, info: &LaunchInfo) -> Vec<Fixed> {
    let generation = Generation::of(info.architecture.max(OLDEST));
    let one = |(index, inst): (usize, &Inst)| {
        let text = program.text(Pc::from(index));
        let opcode = opcode(inst, text, info.timing, generation);
        let wide = inst.mem.is_some() || has_wide_type(text);
        let dsts = named(program, program.dsts(inst), info.timing, true, MOST_DSTS);
        let srcs = named(program, program.srcs(inst), info.timing, wide, MOST_SRCS);
        let traced = inst.mem.is_some_and(|mem| is_traced(mem.space));
        let width = inst.mem.filter(|_| traced).map_or(0, |mem| mem.bytes);
        let list = |registers: &[u16]| registers.iter().fold(String::new(), |all, r| all + &format!(" R{r}"));
        let text = format!("{}{} {opcode} {}{} {width}", dsts.len(), list(&dsts), srcs.len(), list(&srcs));
        Fixed { text, traced }
    };
    program.insts().iter().enumerate().map(one).collect()
}

/// Whether addresses in `space` are written: Accel-Sim has none for constants.
const fn is_traced(space: Space) -> bool {
    !matches!(space, Space::Constant | Space::Param | Space::Texture)
}

/// Whether the PTX text has a 64-bit type, whose values take two registers.
fn has_wide_type(text: &str) -> bool {
    [".f64", ".s64", ".u64", ".b64"].iter().any(|ty| text.contains(ty))
}

/// Numbers of the vector registers in a line. For two consecutive ones of a wide operand only the first is
/// named, as by the tracer; numbers beyond the format's range wrap.
fn named(program: &Program, registers: &[RegId], timing: Form, wide: bool, most: usize) -> Vec<u16> {
    let mut out = Vec::new();
    let mut second = None;
    for register in registers.iter().filter(|r| program.regs.is_vector(**r)) {
        if timing == Form::Ptx && wide && second == Some(register.0) {
            second = None;
            continue;
        }
        second = register.0.checked_add(1);
        let number = if register.0 <= REGISTERS { register.0 % 256 } else { register.0 % REGISTERS };
        if !out.contains(&number) && out.len() < most {
            out.push(number);
        }
    }
    out
}

/// Appends the line of an instruction.
fn line(out: &mut String, fixed: &Fixed, inst: &Inst, done: &DynInst) {
    let _ =
        write!(out, "{:04x} {:08x} {} ", u64::from(done.pc.0) * u64::from(INSTRUCTION_BYTES), done.mask, fixed.text);
    if fixed.traced {
        let generic = inst.mem.is_some_and(|mem| mem.space == Space::Generic && mem.access != Access::AsyncCopy);
        let base = match done.space {
            Space::Shared if generic => SHARED_WINDOW,
            Space::Local if generic => LOCAL_WINDOW,
            Space::Param if generic => PARAM_WINDOW,
            _ => 0,
        };
        addresses(out, done.mask, base, &done.addresses);
    }
    let immediate = if inst.control == Control::AsyncWait { done.async_groups_left } else { 0 };
    let _ = writeln!(out, "{immediate} ");
}

/// Appends the addresses in the shortest of the tracer's modes that can represent them.
fn addresses(out: &mut String, mask: LaneMask, window: u64, addresses: &[u64; WARP_LANES]) {
    if mask == 0 {
        out.push_str("1 0x0 0 ");
        return;
    }
    let first = mask.trailing_zeros() as usize;
    let base = addresses[first].wrapping_add(window);
    let deltas = lanes(mask & (mask - 1)).scan(addresses[first], |last, lane| {
        let delta = addresses[lane].wrapping_sub(*last) as i64;
        *last = addresses[lane];
        Some(delta)
    });
    let deltas: Vec<i64> = deltas.collect();
    let one_run = (mask >> first).trailing_ones() == mask.count_ones();
    let stride = deltas.first().copied().unwrap_or(0);
    if one_run && deltas.iter().all(|&delta| delta == stride) {
        let _ = write!(out, "1 0x{base:x} {stride} ");
        return;
    }
    let _ = write!(out, "2 0x{base:x} ");
    deltas.iter().for_each(|delta| {
        let _ = write!(out, "{delta} ");
    });
    // One value per lane; the last is not used.
    out.push_str("0 ");
}

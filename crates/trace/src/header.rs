//! The head of a kernel's trace.

use crate::TraceError;
use crate::source::Lines;
use isa::{Dim3, LaunchShape};
use kit::text::excerpt_bytes;
use std::path::Path;

/// The head of a kernel's trace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Header {
    /// The mangled name.
    pub name: String,
    /// Grid, block, registers, shared memory.
    pub shape: LaunchShape,
    /// Compute capability times ten of the machine code.
    pub binary_version: u32,
    /// CUDA stream.
    pub stream: u64,
    /// Start of the shared-memory window of generic addresses; 0 if unknown.
    pub shared_base: u64,
    /// Start of the local-memory window of generic addresses; 0 if unknown.
    pub local_base: u64,
    /// Version of the tracer, 1 to 6.
    pub tracer_version: u32,
    /// Each instruction has a source line.
    pub line_info: bool,
}

/// Maximum number of threads of a CTA, on every NVIDIA GPU.
const MAX_CTA_THREADS: u64 = 1024;

/// Maximum number of registers of a thread in a trace, which may describe a GPU with more than real ones.
const MAX_REGISTERS: u32 = 65_535;

impl Header {
    /// Reads only the head of the trace at `path`.
    ///
    /// # Errors
    /// A file that cannot be read or has no valid head.
    pub fn open(path: &Path) -> Result<Self, TraceError> {
        Self::read(&mut Lines::open_for_few(path)?)
    }

    /// Reads through the line `#traces format …`.
    pub(crate) fn read(lines: &mut Lines) -> Result<Self, TraceError> {
        let (mut grid, mut block) = (None, None);
        let mut header = Self {
            name: String::new(),
            shape: LaunchShape {
                grid: Dim3::new(1, 1, 1),
                block: Dim3::new(1, 1, 1),
                registers_per_thread: 0,
                shared_bytes: 0,
                cluster: None,
            },
            binary_version: 0,
            stream: 0,
            shared_base: 0,
            local_base: 0,
            tracer_version: 1,
            line_info: false,
        };
        loop {
            let Some(line) = lines.next()? else {
                let error = TraceError::new(lines.path(), 0, "ends before its instructions begin");
                return Err(error.hint("a trace has a line `#traces format = …` after its head"));
            };
            if line.starts_with(b"#") {
                break;
            }
            let text = String::from_utf8_lossy(line).into_owned();
            let Some((key, value)) = text.strip_prefix('-').and_then(|t| t.split_once('=')) else {
                let error =
                    lines.error(format!("`{}` is not expected in the head of a trace", excerpt_bytes(text.as_bytes())));
                return Err(error.hint("expected `-key = value`; is this a .traceg file, after post-processing?"));
            };
            let (key, value) = (key.trim(), value.trim());
            let bad = || lines.error(format!("`{}` is not a value for `{key}`", excerpt_bytes(value.as_bytes())));
            let number = || value.parse::<u32>().map_err(|_| bad());
            let address = || u64::from_str_radix(value.trim_start_matches("0x"), 16).map_err(|_| bad());
            match key {
                "kernel name" => header.name = value.to_owned(),
                "grid dim" => grid = Some(dim(value).ok_or_else(bad)?),
                "block dim" => block = Some(dim(value).ok_or_else(bad)?),
                "shmem" => header.shape.shared_bytes = number()?,
                "nregs" => header.shape.registers_per_thread = number()?,
                "binary version" => header.binary_version = number()?,
                "cuda stream id" => header.stream = value.parse().map_err(|_| bad())?,
                "shmem base_addr" => header.shared_base = address()?,
                "local mem base_addr" => header.local_base = address()?,
                "accelsim tracer version" => header.tracer_version = number()?,
                "enable lineinfo" => header.line_info = number()? != 0,
                _ => {}
            }
        }
        let missing = |what| TraceError::new(lines.path(), 0, format!("the head has no `{what}`"));
        header.shape.grid = grid.ok_or_else(|| missing("grid dim"))?;
        header.shape.block = block.ok_or_else(|| missing("block dim"))?;
        header.check(lines)?;
        Ok(header)
    }

    fn check(&self, lines: &Lines) -> Result<(), TraceError> {
        let fail = |what: String| Err(TraceError::new(lines.path(), 0, what));
        let threads = self.shape.block.volume();
        if threads > MAX_CTA_THREADS {
            return fail(format!("a CTA of {threads} threads; no GPU has more than {MAX_CTA_THREADS}"));
        }
        let registers = self.shape.registers_per_thread;
        if registers > MAX_REGISTERS {
            return fail(format!("a thread of {registers} registers; no GPU has more than 255"));
        }
        if !(1..=6).contains(&self.tracer_version) {
            return fail(format!("tracer version {}; versions 1 to 6 can be read", self.tracer_version));
        }
        if self.binary_version == 0 {
            return fail("the head has no `binary version`, which says what machine code it is".into());
        }
        Ok(())
    }
}

/// `(x,y,z)`, none of them 0, with a product within a grid's limit.
fn dim(text: &str) -> Option<Dim3> {
    let mut parts = text.strip_prefix('(')?.strip_suffix(')')?.split(',').map(|p| p.trim().parse::<u32>().ok());
    let (x, y, z) = (parts.next()??, parts.next()??, parts.next()??);
    let volume = u64::from(x).checked_mul(u64::from(y))?.checked_mul(u64::from(z))?;
    (volume > 0 && parts.next().is_none()).then_some(Dim3::new(x, y, z))
}

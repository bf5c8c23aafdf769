//! Additional state of a kernel of machine code: constants of a launch, sequences.

use crate::lanes::Column;
use crate::memory::{DeviceMemory, LOCAL_WINDOW, SHARED_WINDOW};
use crate::op::Op;
use crate::system_shared::SystemShared;
use isa::Dim3;
use kit::WARP_LANES;

/// Additional state of a kernel of machine code.
#[derive(Clone, Debug, Default)]
pub struct MachineCode {
    /// Where parameters start in constant bank 0.
    pub parameter_base: u32,
    /// Offset in constant bank 0 of the device address of constant bank 3, and that address. Unoptimised code
    /// uses it to read `__constant__` variables.
    pub constants_base: (u32, u64),
    /// Offset in constant bank 0 of a generic address for pointers to parameters, and that address.
    pub parameters_base: (u32, u64),
    /// The operations of [`Op::Sequence`].
    pub sequences: Vec<Op>,
    /// Offsets in constant bank 0 of the lower and the upper word of the address of the workspace of a
    /// cooperative launch.
    pub workspace_at: [u32; 2],
    /// Offsets in constant bank 0 of words about the system's part of shared memory.
    pub system_shared_at: SystemSharedAt,
    /// Constant bank 0 has the shape of clusters, as on sm_90 and later.
    pub has_clusters: bool,
    /// First instruction of each function to which memory holds a pointer: see [`POINTERS`].
    pub functions: Vec<u32>,
    /// Column of the first uniform register.
    pub first_uniform: u16,
    /// Columns of a warp: general, uniform and convergence barrier registers, then registers used only by
    /// sequences.
    pub columns: usize,
    /// Predicates of a warp: general and uniform ones, then predicates used only by sequences.
    pub predicates: usize,
}

/// Offsets in constant bank 0 of words about the system's part of shared memory: found in code that reads PTX's registers.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemSharedAt {
    /// Its bytes.
    pub bytes: u32,
    /// Its end.
    pub end: u32,
    /// Address of the scratch of cooperative groups.
    pub groups: u32,
    /// Bytes with the kernel's own memory; none before sm_90.
    pub all: Option<u32>,
}

/// The first pointer to a function in memory; the next one is larger by the size of an instruction. Each
/// kernel has its functions at other addresses, so that pointers are numbers beyond the addresses of code.
pub const POINTERS: u64 = 1 << 31;

/// A word that becomes one of the kernel's constants when it is launched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names say it")]
pub struct LaunchWord {
    /// Index of the constant.
    pub constant: u16,
    pub source: WordSource,
}

/// Source of a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WordSource {
    /// Offset in constant bank 0: shape and parameters of the launch.
    LaunchBank(u32),
    /// Address in device memory: `__constant__` variables, handles of texture and surface references.
    Memory(u64),
}

/// Constant bank 0 of a launch: CTA and grid size, the generic addresses of shared and local memory, the
/// initial stack pointer of threads (at 0x28), dynamic shared memory, the addresses of constant bank 3 and of
/// parameters, then the packed parameters.
pub(crate) fn launch_bank(
    code: &MachineCode,
    stack: u32,
    shape: [Dim3; 2],
    dynamic_shared: u32,
    params: &[u32],
) -> Vec<u32> {
    let [grid, block] = shape;
    let base = code.parameter_base as usize / 4;
    let mut bank = vec![0; base + params.len()];
    let windows = [SHARED_WINDOW, LOCAL_WINDOW].map(|base| [base as u32, (base >> 32) as u32]);
    let head = [block.x, block.y, block.z, grid.x, grid.y, grid.z];
    let head = head.into_iter().chain(windows.into_iter().flatten()).chain([stack, dynamic_shared]);
    bank[..base].iter_mut().zip(head).for_each(|(word, value)| *word = value);
    for (at, address) in [code.constants_base, code.parameters_base] {
        let words = [address as u32, (address >> 32) as u32];
        bank[..base].iter_mut().skip(at as usize / 4).zip(words).for_each(|(word, value)| *word = value);
    }
    bank[base..].copy_from_slice(params);
    bank
}

/// Writes to constant bank 0 what machine code knows of clusters: offsets found in code that reads PTX's registers.
/// The factors are 1 by the number of CTAs; code multiplies by them to divide.
pub(crate) fn set_clusters(bank: &mut [u32], cluster: Option<Dim3>, grid: Dim3) {
    let size = cluster.unwrap_or(Dim3::new(1, 1, 1));
    let clusters = grid.parts(size);
    let factors = [size.x, size.y, size.z].map(|n| factor(n).to_bits());
    let rows: [(usize, &[u32]); 4] = [
        (0x140, &[cluster.is_some().into(), size.x, size.y, size.z]),
        (0x150, &factors),
        (0x15c, &[clusters.x, clusters.y, clusters.z]),
        (0x188, &[size.volume() as u32]),
    ];
    for (at, words) in rows {
        bank.iter_mut().skip(at / 4).zip(words).for_each(|(word, &value)| *word = value);
    }
}

/// Writes to constant bank 0 the words about the system's part of shared memory beside `own` bytes.
pub(crate) fn set_system_shared(bank: &mut [u32], at: &SystemSharedAt, (system, own): (SystemShared, u32)) {
    let all = system.with(own);
    let words = [
        (Some(at.bytes), all - own),
        (Some(at.end), system.range(own).end),
        (Some(at.groups), system.groups(own)),
        (at.all, all),
    ];
    for (at, value) in words.into_iter().filter_map(|(at, value)| Some((at?, value))) {
        bank.iter_mut().skip(at as usize / 4).take(1).for_each(|word| *word = value);
    }
}

/// 1 / `n`, rounded up: the product with a multiple of `n` is not below the quotient.
fn factor(n: u32) -> f32 {
    let nearest = 1.0 / n as f32;
    if f64::from(nearest) * f64::from(n) < 1.0 { nearest.next_up() } else { nearest }
}

/// Writes the address of the workspace of a cooperative launch to constant bank 0.
pub(crate) fn set_workspace(code: &MachineCode, bank: &mut [u32], address: u64) {
    let words = [address as u32, (address >> 32) as u32];
    for (at, value) in code.workspace_at.into_iter().zip(words) {
        bank.iter_mut().skip(at as usize / 4).take(1).for_each(|word| *word = value);
    }
}

/// Sets the constants of a launch, from constant bank 0 or from memory.
pub(crate) fn resolve(words: &[LaunchWord], bank: &[u32], memory: &DeviceMemory, constants: &mut [Column]) {
    for word in words {
        let value = match word.source {
            WordSource::LaunchBank(offset) => bank.get(offset as usize / 4).copied().unwrap_or(0),
            WordSource::Memory(address) => {
                let mut bytes = [0; 4];
                // Bytes outside the bank read as zero.
                let _ = memory.read(address, &mut bytes);
                u32::from_le_bytes(bytes)
            }
        };
        constants[usize::from(word.constant)] = [value; WARP_LANES];
    }
}

//! Matrix operations as the interpreter executes them: the plans of [`crate::matrix`] with their
//! registers and addresses.

mod group;

use crate::access::{self, Address, SPLIT_SPACES, Spaces, split_generic};
use crate::fault::{Outcome, Stop};
use crate::lanes::{Column, Lanes, Reg};
use crate::matrix::{MemoryElement, Mma, ldmatrix, movmatrix_trans, stmatrix};
use crate::operand::{columns, reads, reads_pred, row, walks, writes};
pub(crate) use group::WarpPlace;
pub use group::{GroupFactor, GroupMultiply};
use isa::{Access, CacheOp, DynInst, MatrixWork, MemAccess, OpClass, Space};
use kit::{LaneMask, WARP_LANES, lanes};

/// The matrix in memory that `wmma.load` or `wmma.store` accesses.
#[derive(Clone, Debug)]
#[allow(missing_docs, reason = "the names say it")]
pub struct MatrixMemory {
    /// Position of each element in registers and in memory.
    pub elements: Vec<MemoryElement>,
    pub space: Space,
    pub address: Address,
    /// Distance between rows, in elements.
    pub stride: Reg,
    /// Register columns of the fragment.
    pub registers: Vec<Reg>,
}

/// A matrix operation with its operands. Lists of registers are lists of columns.
#[derive(Clone, Debug)]
#[allow(missing_docs, reason = "the names say it")]
pub enum MatrixOp {
    /// `ldmatrix`.
    LoadTiles {
        space: Space,
        /// Address of the row of each lane.
        address: Address,
        /// One column per tile.
        d: Vec<Reg>,
        trans: bool,
    },
    /// `stmatrix`.
    StoreTiles {
        space: Space,
        /// Address of the row of each lane.
        address: Address,
        /// One column per tile.
        s: Vec<Reg>,
        trans: bool,
    },
    /// `movmatrix`.
    Transpose { d: Reg, s: Reg },
    /// `mma` and `wmma.mma`.
    Multiply {
        /// Types, shape and modifiers.
        plan: Box<Mma>,
        /// D, A, B, C.
        registers: [Vec<Reg>; 4],
    },
    /// A step of `mma.m8n8k4` with half-precision factors, as sm_70 executes it.
    Step {
        /// Plan of the whole multiplication.
        plan: Box<Mma>,
        /// First of the accumulator's registers that the step computes.
        first: usize,
        /// D, A, B, C: two columns each.
        registers: [[Reg; 2]; 4],
    },
    /// `wgmma.mma_async`.
    Group(GroupMultiply),
    /// `wmma.load`.
    Load(MatrixMemory),
    /// `wmma.store`.
    Store(MatrixMemory),
}

impl MatrixOp {
    /// Class for timing.
    pub const fn class(&self) -> OpClass {
        match self {
            MatrixOp::LoadTiles { .. } => OpClass::MatrixLoad,
            MatrixOp::Load(_) => OpClass::Load,
            MatrixOp::StoreTiles { .. } | MatrixOp::Store(_) => OpClass::Store,
            MatrixOp::Transpose { .. } => OpClass::Shuffle,
            MatrixOp::Multiply { .. } | MatrixOp::Step { .. } | MatrixOp::Group(_) => OpClass::Tensor,
        }
    }

    /// Its work for a matrix unit, if it multiplies.
    pub fn work(&self) -> Option<MatrixWork> {
        match self {
            MatrixOp::Multiply { plan, .. } => Some(plan.work()),
            MatrixOp::Step { plan, registers, .. } => {
                let whole = plan.work();
                let [.., accumulator] = plan.registers();
                let steps = (accumulator / registers[0].len()) as u32;
                Some(MatrixWork { multiply_adds: whole.multiply_adds / steps, ..whole })
            }
            MatrixOp::Group(multiply) => Some(multiply.work()),
            _ => None,
        }
    }

    /// Memory access as seen by timing. The elements of a lane in `wmma.load` and `wmma.store` count as one
    /// access of 16 bytes at the first element.
    pub const fn memory(&self) -> Option<MemAccess> {
        let (space, access) = match self {
            MatrixOp::LoadTiles { space, .. } => (*space, Access::Load),
            MatrixOp::StoreTiles { space, .. } => (*space, Access::Store),
            MatrixOp::Load(m) => (m.space, Access::Load),
            MatrixOp::Store(m) => (m.space, Access::Store),
            MatrixOp::Transpose { .. } | MatrixOp::Multiply { .. } | MatrixOp::Step { .. } | MatrixOp::Group(_) => {
                return None;
            }
        };
        Some(MemAccess { space, access, bytes: 16, cache: CacheOp::All })
    }

    walks!(|self, f| match self {
        MatrixOp::LoadTiles { address: Address { base, wide, .. }, d, .. } => {
            writes(f, d, 1);
            reads(f, [base], columns(*wide));
        }
        MatrixOp::StoreTiles { address: Address { base, wide, .. }, s, .. } => {
            reads(f, [base], columns(*wide));
            reads(f, s, 1);
        }
        MatrixOp::Transpose { d, s } => row(f, (1, [1]), d, [s]),
        MatrixOp::Multiply { registers: [d, rest @ ..], .. } => {
            writes(f, d, 1);
            reads(f, rest.into_iter().flatten(), 1);
        }
        MatrixOp::Step { registers: [d, rest @ ..], .. } => {
            writes(f, d, 1);
            reads(f, rest.into_iter().flatten(), 1);
        }
        MatrixOp::Group(GroupMultiply { d, c, a, b, metadata, accumulates, .. }) => {
            writes(f, d, 1);
            reads(f, c, 1);
            match a {
                GroupFactor::Registers(a) => reads(f, a, 1),
                GroupFactor::Shared(a) => reads(f, [a], 2),
            }
            reads(f, [b], 2);
            reads(f, metadata, 1);
            reads_pred(f, [accumulates]);
        }
        MatrixOp::Load(MatrixMemory { address: Address { base, wide, .. }, stride, registers, .. }) => {
            writes(f, registers, 1);
            reads(f, [base], columns(*wide));
            reads(f, [stride], 1);
        }
        MatrixOp::Store(MatrixMemory { address: Address { base, wide, .. }, stride, registers, .. }) => {
            reads(f, [base], columns(*wide));
            reads(f, [stride], 1);
            reads(f, registers, 1);
        }
    });

    /// Executes it for the whole warp: these instructions require all lanes to take part.
    pub(crate) fn run(
        &self,
        file: &mut Lanes<'_>,
        m: &mut Spaces<'_, '_>,
        warp: WarpPlace,
        out: &mut DynInst,
    ) -> Outcome {
        match self {
            MatrixOp::LoadTiles { space, address, d, trans } => {
                let lanes = tile_lanes(d.len());
                access::addresses(file, *address, m.frame, &mut out.addresses);
                let mut words = [[0; WARP_LANES]; 4];
                out.mask = lanes & file.mask;
                let masks = spread(*space, &mut out.addresses, out.mask);
                out.space = space_of(*space, masks);
                load(m, masks, &out.addresses, &mut words, 16)?;
                let mut columns = [[0; WARP_LANES]; 4];
                ldmatrix(&rows(&words)[..8 * d.len()], *trans, &mut columns);
                d.iter().zip(&columns).for_each(|(&d, column)| file.write(d, column));
            }
            MatrixOp::StoreTiles { space, address, s, trans } => {
                let lanes = tile_lanes(s.len());
                access::addresses(file, *address, m.frame, &mut out.addresses);
                let columns: Vec<Column> = s.iter().map(|&s| *file.column(s)).collect();
                let mut rows = [[0; 4]; WARP_LANES];
                stmatrix(&columns, *trans, &mut rows[..8 * s.len()]);
                let words: [Column; 4] = std::array::from_fn(|k| std::array::from_fn(|lane| rows[lane][k]));
                out.mask = lanes & file.mask;
                let masks = spread(*space, &mut out.addresses, out.mask);
                out.space = space_of(*space, masks);
                store(m, masks, &out.addresses, &words, 16)?;
            }
            MatrixOp::Transpose { d, s } => {
                let column = movmatrix_trans(file.column(*s));
                file.write(*d, &column);
            }
            MatrixOp::Multiply { plan, registers: [d, a, b, c] } => {
                // Each operand has at most eight columns.
                let mut operands = [[[0; WARP_LANES]; 16]; 3];
                for (operand, registers) in operands.iter_mut().zip([a, b, c]) {
                    operand.iter_mut().zip(registers).for_each(|(column, &r)| *column = *file.column(r));
                }
                let mut result = [[0; WARP_LANES]; 16];
                let [x, y, z] = &operands;
                plan.execute(&x[..a.len()], &y[..b.len()], &z[..c.len()], &mut result[..d.len()]);
                d.iter().zip(&result).for_each(|(&d, column)| file.write(d, column));
            }
            MatrixOp::Step { plan, first, registers: [d, rest @ ..] } => {
                let [a, b, c] = rest.map(|registers| registers.map(|r| *file.column(r)));
                let result = plan.execute_part(*first, [&a, &b], c);
                d.iter().zip(&result).for_each(|(&d, column)| file.write(d, column));
            }
            MatrixOp::Group(multiply) => multiply.run(file, m, warp)?,
            MatrixOp::Load(matrix) => load_matrix(matrix, file, m, out)?,
            MatrixOp::Store(matrix) => store_matrix(matrix, file, m, out)?,
        }
        Ok(())
    }
}

/// Lanes whose addresses are used for this number of tiles.
const fn tile_lanes(tiles: usize) -> LaneMask {
    match tiles {
        1 => 0xff,
        2 => 0xffff,
        _ => !0,
    }
}

/// Four words per lane, as rows.
fn rows(words: &[Column; 4]) -> [[u32; 4]; WARP_LANES] {
    std::array::from_fn(|lane| std::array::from_fn(|k| words[k][lane]))
}

/// Loads through any space: the lanes of each, with addresses relative to it.
fn load<const N: usize>(
    m: &mut Spaces<'_, '_>,
    masks: [LaneMask; 4],
    addresses: &[u64; WARP_LANES],
    words: &mut [Column; N],
    size: u64,
) -> Outcome {
    for (space, mask) in SPLIT_SPACES.into_iter().zip(masks) {
        if mask != 0 {
            access::read(m, space, addresses, mask, size, words)?;
        }
    }
    Ok(())
}

/// The same for a store.
fn store<const N: usize>(
    m: &mut Spaces<'_, '_>,
    masks: [LaneMask; 4],
    addresses: &[u64; WARP_LANES],
    words: &[Column; N],
    size: u64,
) -> Outcome {
    for (space, mask) in SPLIT_SPACES.into_iter().zip(masks) {
        if mask != 0 {
            access::write(m, space, addresses, mask, size, words)?;
        }
    }
    Ok(())
}

/// The lanes of each space; addresses become relative to it.
fn spread(space: Space, addresses: &mut [u64; WARP_LANES], mask: LaneMask) -> [LaneMask; 4] {
    match space {
        Space::Generic => split_generic(addresses, mask),
        Space::Shared => [0, mask, 0, 0],
        _ => [mask, 0, 0, 0],
    }
}

/// The space of an access, as the timing model sees it.
fn space_of(space: Space, masks: [LaneMask; 4]) -> Space {
    match space {
        Space::Generic => access::majority(masks),
        Space::Shared => space,
        _ => Space::Global,
    }
}

fn load_matrix(matrix: &MatrixMemory, file: &mut Lanes<'_>, m: &mut Spaces<'_, '_>, out: &mut DynInst) -> Outcome {
    let mut base = [0; WARP_LANES];
    access::addresses(file, matrix.address, m.frame, &mut base);
    let stride = file.column(matrix.stride)[0];
    let mut columns = vec![[0; WARP_LANES]; matrix.registers.len()];
    for (i, element) in matrix.elements.iter().enumerate() {
        let mut addresses = element_addresses(&base, element, stride);
        let masks = spread(matrix.space, &mut addresses, file.mask);
        if i == 0 {
            (out.space, out.addresses) = (space_of(matrix.space, masks), addresses);
        }
        let mut words = [[0; WARP_LANES]; 2];
        match element.bytes {
            8 => load(m, masks, &addresses, &mut words, 8)?,
            bytes => {
                let mut word = [[0; WARP_LANES]; 1];
                load(m, masks, &addresses, &mut word, u64::from(bytes))?;
                words[0] = word[0];
            }
        }
        let register = element.register as usize;
        for lane in 0..WARP_LANES {
            columns[register][lane] |= words[0][lane] << element.shift;
            if element.bytes == 8 {
                columns[register + 1][lane] = words[1][lane];
            }
        }
    }
    matrix.registers.iter().zip(&columns).for_each(|(&r, column)| file.write(r, column));
    Ok(())
}

fn store_matrix(matrix: &MatrixMemory, file: &mut Lanes<'_>, m: &mut Spaces<'_, '_>, out: &mut DynInst) -> Outcome {
    let mut base = [0; WARP_LANES];
    access::addresses(file, matrix.address, m.frame, &mut base);
    let stride = file.column(matrix.stride)[0];
    let places = |element: &MemoryElement| {
        let mut addresses = element_addresses(&base, element, stride);
        let masks = spread(matrix.space, &mut addresses, file.mask);
        (addresses, masks)
    };
    if let Some(first) = matrix.elements.first() {
        let (addresses, masks) = places(first);
        (out.space, out.addresses) = (space_of(matrix.space, masks), addresses);
    }
    // Either all elements are stored now, or none.
    if let Some(own) = m.device.overlay().filter(|own| own.has_reduced()) {
        let waits = |element: &MemoryElement| {
            let (addresses, masks) = places(element);
            lanes(masks[0]).any(|lane| own.is_reduced(addresses[lane], element.bytes.into()))
        };
        if matrix.elements.iter().any(waits) {
            return Err(Stop::Deferred);
        }
    }
    for element in &matrix.elements {
        let (addresses, masks) = places(element);
        let register = element.register as usize;
        let low: Column = file.column(matrix.registers[register]).map(|x| x >> element.shift);
        if element.bytes == 8 {
            let high = *file.column(matrix.registers[register + 1]);
            store(m, masks, &addresses, &[low, high], 8)?;
        } else {
            store(m, masks, &addresses, &[low], u64::from(element.bytes))?;
        }
    }
    Ok(())
}

fn element_addresses(base: &[u64; WARP_LANES], element: &MemoryElement, stride: u32) -> [u64; WARP_LANES] {
    let offsets = element.offsets(stride);
    std::array::from_fn(|lane| base[lane].wrapping_add(offsets[lane]))
}

//! Matrix operations of a warp, `mma`, `wmma`, `ldmatrix`, `stmatrix`, `movmatrix` (PTX ISA, "Warp Level Matrix
//! Multiply-Accumulate Instructions"), and of a warp group, `wgmma` ([`GroupMma`], [`Descriptor`]).
//!
//! A warp holds a matrix as a *fragment*: each lane has some of its elements in its registers. A
//! fragment's registers are columns of 32 lanes, `&[[u32; 32]]`, in the order of the instruction's
//! operand; a 64-bit element takes two columns, low word first.
//!
//! **Usage.** The lowering calls [`Mma::mma`] or [`Mma::wmma`], which checks types and shape and returns a
//! plan (`None` for a combination that does not exist). [`Mma::registers`] gives the number of columns of
//! each operand, [`Mma::execute`] executes the plan. `wmma.load` and `wmma.store` use [`Fragment::wmma`] for
//! the layout and [`Fragment::memory`] for the positions of elements in memory. `ldmatrix` loads one 16-byte
//! row from each lane's address and calls [`ldmatrix`].
//! ```
//! use exec::matrix::{Element, Mma, Multiply, Shape};
//! let shape = Shape { m: 16, n: 8, k: 16 };
//! let plan = Mma::mma(shape, Multiply::plain(Element::F16, Element::F32), 80).unwrap();
//! assert_eq!(plan.registers(), [4, 2, 4, 4]);
//! let (a, b, c) = ([[0x3c00_3c00; 32]; 4], [[0x3c00_3c00; 32]; 2], [[0; 32]; 4]);
//! let mut d = [[0; 32]; 4];
//! plan.execute(&a, &b, &c, &mut d);
//! assert_eq!(f32::from_bits(d[0][0]), 16.0);
//! ```
//!
//! **Layouts** of `mma` are the manual's. Layouts of `wmma` are opaque: the manual leaves them to the
//! architecture. Ours combine the `mma` layouts of blocks of 16 or 8 rows and 8 columns, as sm_75 and later
//! do where this is known. The f16 operands A and B have 8 registers in every shape; if the matrix needs
//! fewer (sm_70 holds each element twice) the registers repeat, and `mma` reads the first copy.
//!
//! **Numerics.** f16, bf16, tf32 and 8-bit floats: as the tensor cores of the architecture add, bit for bit (`matrix/sums.rs`).
//! tf32 operands are truncated to 10 mantissa bits. f64: a chain of fused multiply-adds in ascending order of k, as in the manual.
//! Integers: the exact sum, wrapped, or clamped with `.satfinite`.

mod descriptor;
mod fragment;
mod group;
mod multiply;
mod placed;
mod sums;
mod tiles;

pub use descriptor::{Descriptor, Major, UNIT_BYTES};
pub use fragment::{Element, Fragment, MatrixOperand, MemoryElement, Order, Position, Shape};
pub use group::{A_REGISTERS, BLOCK, GroupMma, GroupTypes, MOST_WORDS, ROWS, WORDS};
pub use multiply::{BitOp, Mma, Multiply};
pub use tiles::{ldmatrix, movmatrix_trans, stmatrix};

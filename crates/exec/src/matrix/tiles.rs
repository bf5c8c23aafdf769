//! Moving 8 x 8 matrices of 16-bit elements between rows and fragments.
//!
//! Such a fragment is one register per lane: lane i holds the elements of columns 2 (i % 4) and
//! 2 (i % 4) + 1 of row i / 4.

use kit::WARP_LANES;

/// A row of 8 elements, as 16 bytes from memory in little-endian words.
type Row = [u32; 4];

/// Element number `col` of a row.
#[inline]
const fn element(row: &Row, col: usize) -> u32 {
    row[col / 2 % 4] >> (col % 2 * 16) & 0xffff
}

/// `ldmatrix.m8n8.{x1,x2,x4}{.trans}.b16`: distributes `rows`, read from the addresses of lanes 0 to 7, 15 or
/// 31, over one register column per 8 rows. With `trans` each matrix is transposed.
///
/// Processes the matrices that are complete in both `rows` and `out`.
#[inline]
pub fn ldmatrix(rows: &[Row], trans: bool, out: &mut [[u32; WARP_LANES]]) {
    for (rows, column) in rows.chunks_exact(8).zip(out) {
        for (lane, register) in column.iter_mut().enumerate() {
            let (group, thread) = (lane / 4, lane % 4);
            *register = if trans {
                element(&rows[2 * thread], group) | element(&rows[2 * thread + 1], group) << 16
            } else {
                rows[group][thread]
            };
        }
    }
}

/// `stmatrix.m8n8.{x1,x2,x4}{.trans}.b16` (sm_90): the reverse of [`ldmatrix`]. The rows are stored at the
/// addresses of lanes 0 to 7, 15 or 31.
#[inline]
pub fn stmatrix(columns: &[[u32; WARP_LANES]], trans: bool, rows: &mut [Row]) {
    for (rows, column) in rows.chunks_exact_mut(8).zip(columns) {
        let column = if trans { movmatrix_trans(column) } else { *column };
        for (group, row) in rows.iter_mut().enumerate() {
            *row = std::array::from_fn(|thread| column[group * 4 + thread]);
        }
    }
}

/// `movmatrix.sync.aligned.m8n8.trans.b16`: transposes an 8 x 8 matrix across the lanes.
#[inline]
pub fn movmatrix_trans(column: &[u32; WARP_LANES]) -> [u32; WARP_LANES] {
    let rows: [Row; 8] = std::array::from_fn(|group| std::array::from_fn(|thread| column[group * 4 + thread]));
    let mut out = [[0; WARP_LANES]];
    ldmatrix(&rows, true, &mut out);
    out[0]
}

//! Tables with a row for each warp, which grow with the registers of kernels.

/// The rows of `old`, of `narrow` cells each, at the beginnings of `count` rows of `wide` cells, which are
/// `empty` elsewhere.
pub fn widened<T: Copy>(old: &[T], narrow: usize, count: usize, wide: usize, empty: T) -> Vec<T> {
    let mut rows = vec![empty; count * wide];
    for (new, old) in rows.chunks_exact_mut(wide).zip(old.chunks_exact(narrow.max(1))) {
        new[..narrow].copy_from_slice(old);
    }
    rows
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_keep_their_beginnings() {
        assert_eq!(widened(&[], 0, 2, 2, 9), [9; 4]);
        assert_eq!(widened(&[1, 2], 1, 2, 3, 0), [1, 0, 0, 2, 0, 0]);
    }
}

//! Needleman-Wunsch sequence alignment.

use crate::bundled;
use crate::workload::{Parameter, Run, Suite, Workload, WorkloadError};

const SIDE: usize = 16;
const MATCH: i32 = 5;
const MISMATCH: i32 = -4;

pub(super) const WORKLOAD: Workload = Workload {
    name: "nw",
    summary: "alignment of two sequences: dynamic programming along anti-diagonals of blocks",
    character: "half a warp per CTA, a barrier per anti-diagonal, lanes that idle: latency-bound",
    suite: Suite::Rodinia,
    papers: &[("war", "NW"), ("scalar", "nw")],
    module: bundled!("nw"),
    parameters: &[
        Parameter::new("n", "length of the sequences", [96, 640, 2048], 16, 32768).in_steps_of(SIDE as u64),
        Parameter::new("penalty", "cost of a gap", [10; 3], 0, 1000),
    ],
    body,
};

fn body(run: &mut Run<'_>) -> Result<(), WorkloadError> {
    let (n, penalty) = (run.param("n"), run.param("penalty") as i32);
    let cols = n + 1;
    let (down, across) = (run.integers::<u8>(n, 0, 3), run.integers::<u8>(n, 0, 3));
    let similarity = similarities(&down, &across);
    let start = with_gaps(n, penalty);

    let like = run.upload("similarity", &similarity)?;
    let score = run.upload("score", &start)?;
    let blocks = n / SIDE;
    let head = [like.into(), score.into(), (cols as i32).into(), penalty.into()];
    for diagonal in 1..=blocks {
        run.launch("nw_grow", diagonal, SIDE, &[&head[..], &[(diagonal as i32).into()]].concat())?;
    }
    for diagonal in (1..blocks).rev() {
        let tail = [(diagonal as i32).into(), (blocks as i32).into()];
        run.launch("nw_shrink", diagonal, SIDE, &[&head[..], &tail].concat())?;
    }
    let got = run.download::<i32>(score)?;
    run.check_equal("score", &got, &align(&similarity, start, penalty));
    Ok(())
}

/// Scores of pairs of letters; row and column 0 are the gap before the sequences.
fn similarities(down: &[u8], across: &[u8]) -> Vec<i32> {
    let cols = across.len() + 1;
    let mut table = vec![0; (down.len() + 1) * cols];
    for (y, a) in down.iter().enumerate() {
        for (x, b) in across.iter().enumerate() {
            table[(y + 1) * cols + x + 1] = if a == b { MATCH } else { MISMATCH };
        }
    }
    table
}

/// A score matrix with only its first row and column filled.
fn with_gaps(n: usize, penalty: i32) -> Vec<i32> {
    let cols = n + 1;
    let mut score = vec![0; cols * cols];
    for i in 1..cols {
        score[i] = -penalty * i as i32;
        score[i * cols] = -penalty * i as i32;
    }
    score
}

/// The score matrix, row by row.
fn align(similarity: &[i32], mut score: Vec<i32>, penalty: i32) -> Vec<i32> {
    let cols = score.len().isqrt();
    for y in 1..cols {
        for x in 1..cols {
            let here = y * cols + x;
            let diagonal = score[here - cols - 1] + similarity[here];
            score[here] = diagonal.max(score[here - 1] - penalty).max(score[here - cols] - penalty);
        }
    }
    score
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn identical_sequences_match_throughout() {
        let letters = [0, 1, 2, 3, 0];
        let score = align(&similarities(&letters, &letters), with_gaps(5, 10), 10);
        assert_eq!(score[35], 5 * MATCH);
    }

    #[test]
    fn one_letter_missing() {
        // ACGT against CGTA: a gap, three matches, a gap.
        let score = align(&similarities(&[0, 1, 2, 3], &[1, 2, 3, 0]), with_gaps(4, 1), 1);
        assert_eq!(score[24], 3 * MATCH - 2);
    }
}

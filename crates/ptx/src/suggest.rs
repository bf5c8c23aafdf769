//! Near misses of names, for hints.

/// The candidate that `word` most likely was meant to be, if one is near: at most one edit for
/// short words, two for longer ones.
pub(crate) fn nearest<'a>(word: &str, candidates: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    // Names longer than this are generated, not typed.
    const LONGEST: usize = 64;
    if word.len() < 2 || word.len() > LONGEST {
        return None;
    }
    let limit = if word.len() <= 4 { 1 } else { 2 };
    candidates
        .filter(|c| c.len().abs_diff(word.len()) <= limit && c.len() <= LONGEST && *c != word)
        .map(|c| (distance(word.as_bytes(), c.as_bytes()), c))
        .filter(|(d, _)| *d <= limit)
        .min_by_key(|(d, _)| *d)
        .map(|(_, c)| c)
}

/// Number of insertions, deletions, replacements and swaps of neighbours between two words.
fn distance(a: &[u8], b: &[u8]) -> usize {
    let width = b.len() + 1;
    let mut before: Vec<usize> = vec![0; width];
    let mut last: Vec<usize> = (0..width).collect();
    for i in 1..=a.len() {
        let mut row = vec![i; width];
        for j in 1..width {
            let cost = usize::from(a[i - 1] != b[j - 1]);
            row[j] = (last[j] + 1).min(row[j - 1] + 1).min(last[j - 1] + cost);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                row[j] = row[j].min(before[j - 2] + 1);
            }
        }
        before = std::mem::replace(&mut last, row);
    }
    last[b.len()]
}

#[cfg(test)]
mod tests {
    use super::nearest;

    #[test]
    fn near_misses() {
        let words = ["add", "and", "version", "entry"];
        assert_eq!(nearest("vresion", words.into_iter()), Some("version"));
        assert_eq!(nearest("entri", words.into_iter()), Some("entry"));
        assert_eq!(nearest("adc", words.into_iter()), Some("add"));
        assert_eq!(nearest("matrix", words.into_iter()), None);
    }
}

//! "Did you mean": the nearest of a few names.

/// Longest name, in bytes, that a near one is looked for.
const MOST_NAME: usize = 200;

/// The name nearest to `name` by edit distance, if it is near enough to be a slip of the fingers.
pub fn nearest<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    // Names of files may be of any length, and the distance takes time and room of one times the other.
    let is_short = |name: &str| name.len() <= MOST_NAME;
    if !is_short(name) {
        return None;
    }
    let limit = (name.chars().count() / 3).max(1) + 1;
    known
        .into_iter()
        .filter(|candidate| is_short(candidate))
        .map(|candidate| (distance(&name.to_lowercase(), &candidate.to_lowercase()), candidate))
        .filter(|&(d, _)| d <= limit)
        .min_by_key(|&(d, _)| d)
        .map(|(_, candidate)| candidate)
}

/// The end of a sentence such as "there is no X": what was probably meant, or what there is.
pub fn among(name: &str, known: &[impl AsRef<str>]) -> String {
    let names: Vec<&str> = known.iter().map(AsRef::as_ref).collect();
    match nearest(name, names.iter().copied()) {
        Some(near) => format!("; did you mean `{near}`?"),
        None if names.is_empty() => "; there are none".to_owned(),
        None if names.len() == 1 => format!("; there is {}", names[0]),
        None if names.len() <= 30 => format!("; there are {}", names.join(", ")),
        None => format!("; there are {} others, `{}` the first", names.len(), names[0]),
    }
}

/// Insertions, deletions, substitutions and swaps of neighbours that make one text of the other.
fn distance(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    let mut rows = vec![(0..=b.len()).collect::<Vec<usize>>()];
    for i in 1..=a.len() {
        let mut row = vec![i];
        for j in 1..=b.len() {
            let same = usize::from(a[i - 1] != b[j - 1]);
            let mut least = (rows[i - 1][j] + 1).min(row[j - 1] + 1).min(rows[i - 1][j - 1] + same);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                least = least.min(rows[i - 2][j - 2] + 1);
            }
            row.push(least);
        }
        rows.push(row);
    }
    rows[a.len()][b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_slips_and_nothing_else() {
        let known = ["vectoradd", "matmul", "reduction"];
        assert_eq!(nearest("vectorad", known), Some("vectoradd"));
        assert_eq!(nearest("matmlu", known), Some("matmul"));
        assert_eq!(nearest("Reduction", known), Some("reduction"));
        assert_eq!(nearest("hotspot", known), None);
        let long = "x".repeat(1 << 24);
        assert_eq!((nearest(&long, known), nearest("matmul", [long.as_str()])), (None, None));
    }

    #[test]
    fn distances() {
        assert_eq!(distance("", "abc"), 3);
        assert_eq!(distance("kitten", "sitting"), 3);
        assert_eq!(distance("ab", "ba"), 1);
        assert_eq!(distance("same", "same"), 0);
    }
}

//! "Did you mean": the nearest of the known names.

/// Maximum length in bytes of the names that are compared. Longer names are generated ones, and the time for
/// the distance is proportional to both lengths.
const MAX_NAME_BYTES: usize = 200;

/// The candidate for which `name` is probably a misspelling: the nearest by edit distance (insertions,
/// deletions, substitutions, swaps of neighbours; case is ignored), if the distance is at most a quarter of
/// the name's length plus one.
///
/// ```
/// assert_eq!(kit::suggest::nearest("matmlu", ["vectoradd", "matmul"]), Some("matmul"));
/// assert_eq!(kit::suggest::nearest("bfs", ["vectoradd", "matmul"]), None);
/// ```
pub fn nearest<'a>(name: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    if name.len() > MAX_NAME_BYTES {
        return None;
    }
    let limit = name.chars().count() / 4 + 1;
    let lower = name.to_lowercase();
    candidates
        .into_iter()
        .filter(|c| c.len() <= MAX_NAME_BYTES && *c != name)
        .map(|c| (strsim::osa_distance(&lower, &c.to_lowercase()), c))
        .filter(|&(distance, _)| distance <= limit)
        .min_by_key(|&(distance, _)| distance)
        .map(|(_, c)| c)
}

/// The only one of `known` that begins or ends with `name` as a whole word: `shared_bytes` for `shared`.
fn with_part<'a>(name: &str, known: &[&'a str]) -> Option<&'a str> {
    const BETWEEN: [char; 3] = ['_', '.', '-'];
    let has = |known: &&&str| {
        known.strip_prefix(name).is_some_and(|rest| rest.starts_with(BETWEEN))
            || known.strip_suffix(name).is_some_and(|rest| rest.ends_with(BETWEEN))
    };
    let mut found = known.iter().filter(has).filter(|_| name.len() > 2);
    found.next().copied().filter(|_| found.next().is_none())
}

/// The end of a sentence such as "there is no X": the probable name, or all names.
pub fn among(name: &str, known: &[impl AsRef<str>]) -> String {
    let names: Vec<&str> = known.iter().map(AsRef::as_ref).collect();
    match nearest(name, names.iter().copied()).or_else(|| with_part(name, &names)) {
        Some(near) => format!("; did you mean `{near}`?"),
        None if names.is_empty() => "; there are none".to_owned(),
        None if names.len() == 1 => format!("; there is {}", names[0]),
        None if names.len() <= 30 => format!("; there are {}", names.join(", ")),
        None => format!("; there are {} others, `{}` the first", names.len(), names[0]),
    }
}

/// The message that there is no `what` called `name`, with the probable name or all of the `known` ones.
pub fn unknown(what: &str, name: &str, known: &[impl AsRef<str>]) -> String {
    format!("there is no {what} `{}`{}", crate::text::excerpt(name), among(name, known))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_slips_and_nothing_else() {
        let known = ["vectoradd", "matmul", "reduction", "add", "and"];
        assert_eq!(nearest("vectorad", known), Some("vectoradd"));
        assert_eq!(nearest("matmlu", known), Some("matmul"));
        assert_eq!(nearest("Reduction", known), Some("reduction"), "case");
        assert_eq!(nearest("reductoin", known), Some("reduction"), "a swap is one edit");
        assert_eq!(nearest("adc", known), Some("add"));
        assert_eq!(nearest("add", ["add", "adc"]), Some("adc"), "the name itself is not a slip");
        assert_eq!(nearest("hotspot", known), None);
    }

    #[test]
    fn long_names_are_left_out() {
        let long = "x".repeat(1 << 24);
        assert_eq!((nearest(&long, ["matmul"]), nearest("matmul", [long.as_str()])), (None, None));
    }

    #[test]
    fn a_list_of_what_there_is() {
        assert_eq!(among("matmlu", &["matmul"]), "; did you mean `matmul`?");
        assert_eq!(among("bfs", &["nn", "lud"]), "; there are nn, lud");
        assert_eq!(among("bfs", &["lud"]), "; there is lud");
        assert_eq!(among("shared", &["grid", "shared_bytes"]), "; did you mean `shared_bytes`?");
        assert_eq!(among("bytes", &["grid", "shared_bytes"]), "; did you mean `shared_bytes`?");
        assert_eq!(among("shared", &["shared_bytes", "shared_words"]), "; there are shared_bytes, shared_words");
        assert_eq!(among("bfs", &[""; 0]), "; there are none");
        assert_eq!(unknown("workload", "bsf", &["bfs"]), "there is no workload `bsf`; did you mean `bfs`?");
    }
}

//! Matches the kernels of two runs.

use crate::report::KernelTotal;

/// A kernel before and after; one of them is missing if only one run has it.
pub type Pair<'a> = (Option<&'a KernelTotal>, Option<&'a KernelTotal>);

/// Kernels of the same name are pairs. If both runs have the same number of others, these are pairs in their order: a
/// new version may have another name.
pub fn pairs<'a>(before: &'a [KernelTotal], after: &'a [KernelTotal]) -> Vec<Pair<'a>> {
    let named = |list: &'a [KernelTotal], name: &str| list.iter().find(|kernel| kernel.name == name);
    let mut pairs: Vec<Pair<'a>> = Vec::new();
    let old: Vec<&KernelTotal> = before.iter().filter(|kernel| named(after, &kernel.name).is_none()).collect();
    let mut renamed = old.iter().copied();
    let new = after.iter().filter(|kernel| named(before, &kernel.name).is_none()).count();
    for kernel in after {
        let same = named(before, &kernel.name);
        pairs.push((same.or_else(|| if new == old.len() { renamed.next() } else { None }), Some(kernel)));
    }
    pairs.extend(renamed.filter(|_| new != old.len()).map(|kernel| (Some(kernel), None)));
    pairs
}

#[cfg(test)]
mod tests {
    use super::*;
    use gpu::Stats;

    fn paired(before: &[&str], after: &[&str]) -> Vec<(Option<String>, Option<String>)> {
        let kernels = |names: &[&str]| -> Vec<KernelTotal> {
            let kernel = |name: &&str| KernelTotal {
                name: (*name).to_owned(),
                launches: 1,
                statistics: Stats::default().into(),
            };
            names.iter().map(kernel).collect()
        };
        let name = |kernel: Option<&KernelTotal>| kernel.map(|kernel| kernel.name.clone());
        let (before, after) = (kernels(before), kernels(after));
        pairs(&before, &after).into_iter().map(|(old, new)| (name(old), name(new))).collect()
    }

    #[test]
    fn kernels_are_paired_by_name_and_then_by_order() {
        let pair = |old: &str, new: &str| (Some(old.to_owned()), Some(new.to_owned()));
        assert_eq!(paired(&["a", "b"], &["b", "a"]), [pair("b", "b"), pair("a", "a")]);
        assert_eq!(paired(&["a", "scan1"], &["scan2", "a"]), [pair("scan1", "scan2"), pair("a", "a")]);
        let (gone, new) = ((Some("c".to_owned()), None), |name: &str| (None, Some(name.to_owned())));
        assert_eq!(paired(&["a", "c"], &["a"]), [pair("a", "a"), gone.clone()]);
        assert_eq!(paired(&["c"], &["d", "e"]), [new("d"), new("e"), gone]);
    }
}

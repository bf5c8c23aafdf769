//! Facts that files of PTX and of machine code have in common.

use exec::Kernel;
use serde::ser::{Serialize, Serializer};
use std::collections::BTreeMap;

/// An entry of a fat binary.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct EntryFacts {
    /// `cubin`, `ptx` or `other`.
    pub kind: &'static str,
    /// Architecture, as `sm_75`.
    pub architecture: String,
    /// Its contents are compressed.
    pub compressed: bool,
    /// It is the one that is shown.
    pub shown: bool,
    /// Code of its architecture can be read.
    pub readable: bool,
}

/// A variable of a module, or a parameter of a kernel.
#[derive(Clone, Debug, serde::Serialize)]
pub struct VariableFacts {
    pub name: String,
    pub space: &'static str,
    /// Type of an element.
    pub ty: &'static str,
    /// Size; absent if the launch or another module decides.
    pub bytes: Option<u64>,
}

/// How often each thing occurs, most frequent first.
#[derive(Clone, Debug)]
pub struct Mix(pub Vec<(String, u64)>);

impl Serialize for Mix {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(name, n)| (name, n)))
    }
}

/// The instructions of `kernel` by operation class.
pub fn classes(kernel: &Kernel) -> Mix {
    let mut classes: BTreeMap<&str, u64> = BTreeMap::new();
    for inst in kernel.program.insts() {
        *classes.entry(inst.class.name()).or_default() += 1;
    }
    most_first(classes)
}

/// The counts, most frequent first.
pub fn most_first(counts: BTreeMap<&str, u64>) -> Mix {
    let mut list: Vec<(String, u64)> = counts.into_iter().map(|(name, n)| (name.to_owned(), n)).collect();
    // Stable: ties stay in alphabetical order.
    list.sort_by_key(|&(_, n)| std::cmp::Reverse(n));
    Mix(list)
}

//! Origins of launches: ranges of the program, or lines of its source, that the C boundary finds out.

use lab::grouping::Path;
use std::collections::HashMap;

/// A name that was open when a kernel was launched, such as a range.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Part {
    /// The name.
    pub name: String,
    /// Distinguishes ranges of the same name.
    pub range: u64,
}

/// Origin of a launch, by number. [`Origins`] has its parts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Origin(u32);

impl Origin {
    /// Nothing that has a name.
    pub const NONE: Self = Self(0);
}

/// Origins so far: a tree, of which [`Origin::NONE`] is the root.
#[derive(Debug)]
pub struct Origins {
    nodes: Vec<(Origin, Part)>,
    known: HashMap<(Origin, Part), Origin>,
}

impl Default for Origins {
    fn default() -> Self {
        let root = Part { name: String::new(), range: 0 };
        Self { nodes: vec![(Origin::NONE, root)], known: HashMap::new() }
    }
}

impl Origins {
    /// The origin with these parts, the outermost first.
    pub fn of(&mut self, parts: Vec<Part>) -> Origin {
        parts.into_iter().fold(Origin::NONE, |parent, part| {
            let Self { nodes, known } = self;
            *known.entry((parent, part)).or_insert_with_key(|(parent, part)| {
                nodes.push((*parent, part.clone()));
                Origin(nodes.len() as u32 - 1)
            })
        })
    }

    fn parts(&self, mut origin: Origin) -> Path {
        let mut parts = Vec::new();
        while origin != Origin::NONE {
            let (parent, part) = &self.nodes[origin.0 as usize];
            parts.push((part.name.clone(), part.range));
            origin = *parent;
        }
        parts.reverse();
        parts
    }

    /// Parts around a launch, the outermost first. `prepared` differs from `launched` for kernels of graphs: parts open
    /// when the kernel became part of the graph are within parts open at the launch of the graph.
    pub fn path(&self, launched: Origin, prepared: Origin) -> Path {
        let mut path = self.parts(launched);
        if prepared != launched {
            let inner = self.parts(prepared);
            let common = path.iter().zip(&inner).take_while(|(a, b)| a.0 == b.0).count();
            path.extend(inner.into_iter().skip(common));
        }
        path
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parts(names: &str) -> Vec<Part> {
        names.split('/').zip(1..).map(|(name, range)| Part { name: name.into(), range }).collect()
    }

    fn shown(path: &Path) -> String {
        path.iter().map(|(name, _)| &**name).collect::<Vec<_>>().join("/")
    }

    #[test]
    fn kernels_of_graphs_are_within_the_launch_of_the_graph() {
        let mut origins = Origins::default();
        let step = origins.of(parts("step"));
        let layer = origins.of(parts("capture/layer"));
        let same = origins.of(parts("step/layer"));
        assert_eq!(origins.of(parts("step")), step, "the same parts are the same origin");
        for (launched, prepared, expected) in [
            (step, step, "step"),
            (step, layer, "step/capture/layer"),
            (step, same, "step/layer"),
            (Origin::NONE, layer, "capture/layer"),
            (step, Origin::NONE, "step"),
            (Origin::NONE, Origin::NONE, ""),
        ] {
            assert_eq!(shown(&origins.path(launched, prepared)), expected);
        }
    }
}

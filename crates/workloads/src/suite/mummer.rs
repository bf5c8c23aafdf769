//! Matches of short DNA sequences in a long one.

use crate::bundled;
use crate::workload::{Parameter, Run, Suite, Workload, WorkloadError};
use isa::{Channel, Image, Sampler, Shape};

const BLOCK: usize = 64;
const LETTERS: &[u8; 4] = b"ACGT";
/// Nodes in a row of the texture of the tree; letters in a row of the text's.
const NODES_IN_ROW: usize = 2048;
const LETTERS_IN_ROW: usize = 4096;
/// Words of a node in its texture: four children; first letter and length of the edge to it, suffix link, nothing.
const NODE_WORDS: usize = 8;
/// Suffix link of a leaf.
const LEAF: i32 = -1;

pub(super) const WORKLOAD: Workload = Workload {
    name: "mummer",
    summary: "longest matches of short DNA sequences in a long one, by its suffix tree",
    character: "each thread follows pointers of its own through textures; warps diverge at every node",
    suite: Suite::Ispass,
    papers: &[("war", "MUM")],
    module: bundled!("mummer"),
    parameters: &[
        Parameter::new("text", "letters of the long sequence", [2000, 20_000, 140_166], 1, 1 << 20),
        Parameter::new("queries", "short sequences", [192, 8192, 50_000], 1, 1 << 20),
        Parameter::new("length", "letters of a short sequence", [25; 3], 1, 4096),
        Parameter::new(
            "least",
            "letters that a match begins before the end, at least; at most `length`",
            [20; 3],
            1,
            4096,
        ),
    ],
    body,
};

fn body(run: &mut Run<'_>) -> Result<(), WorkloadError> {
    let (count, length) = (run.param("queries"), run.param("length"));
    let least = run.param("least").min(length);
    let letters = |run: &mut Run<'_>, count| -> Vec<u8> {
        run.integers::<u8>(count, 0, 3).into_iter().map(|letter| LETTERS[usize::from(letter)]).collect()
    };
    let size = run.param("text");
    let text = letters(run, size);
    let mut queries = letters(run, count * length);
    // Most are parts of the text with a wrong letter or two.
    for query in queries.chunks_exact_mut(length).filter(|query| query.len() <= text.len()) {
        if run.integer(0, 9) == 0 {
            continue;
        }
        let first = run.integer(0, (text.len() - length) as i64) as usize;
        query.copy_from_slice(&text[first..][..length]);
        for _ in 0..run.integer(0, 2) {
            query[run.integer(0, length as i64 - 1) as usize] = LETTERS[run.integer(0, 3) as usize];
        }
    }
    let tree = Tree::of(&text);

    let mut nodes: Vec<i32> = tree.nodes.iter().flat_map(Node::words).collect();
    nodes.resize(nodes.len().next_multiple_of(NODES_IN_ROW * NODE_WORDS), 0);
    let mut rows = text.clone();
    rows.resize(rows.len().next_multiple_of(LETTERS_IN_ROW), 0);
    let nodes_at = run.upload("tree", &nodes)?;
    let text_at = run.upload("text", &rows)?;
    let texture = |base: u64, width: usize, bytes: usize, channel, channels: usize| Image {
        base,
        shape: Shape::D2,
        size: [width as u32, (bytes / (width * channels * if channel == Channel::S32 { 4 } else { 1 })) as u32, 1],
        pitch: (width * channels * if channel == Channel::S32 { 4 } else { 1 }) as u64,
        channel,
        channels: channels as u8,
        sampler: Some(Sampler::default()),
    };
    let tree_image = run.image(&texture(nodes_at.address, 2 * NODES_IN_ROW, 4 * nodes.len(), Channel::S32, 4))?;
    let text_image = run.image(&texture(text_at.address, LETTERS_IN_ROW, rows.len(), Channel::U8, 1))?;
    let queries_at = run.upload("queries", &queries)?;
    let starts = length - least + 1;
    let matches = run.alloc::<i32>("matches", 2 * starts * count)?;
    let sizes = [count, length, least].map(|n| (n as i32).into());
    let args = [&[tree_image, text_image, queries_at.into(), matches.into()][..], &sizes].concat();
    run.launch("match", count.div_ceil(BLOCK), BLOCK, &args)?;
    let got = run.download::<i32>(matches)?;
    let of_query =
        |query: &[u8]| (0..starts).flat_map(|start| tree.longest(&text, &query[start..])).collect::<Vec<_>>();
    let expected: Vec<i32> = queries.chunks_exact(length).flat_map(of_query).collect();
    run.check_equal("matches", &got, &expected);
    Ok(())
}

/// A node of a suffix tree with the edge to it.
#[derive(Clone, Debug, Default)]
struct Node {
    /// By letter, and by the end of the text; 0 for none.
    children: [i32; 5],
    /// First letter of the edge, and number of letters, without the end of the text.
    first: usize,
    length: usize,
    /// Node of the same letters without the first, or [`LEAF`].
    link: i32,
    /// Where the letters from the root begin in the text, and their number.
    path: (usize, usize),
}

impl Node {
    fn words(&self) -> [i32; NODE_WORDS] {
        let [a, c, g, t, _] = self.children;
        [a, c, g, t, self.first as i32, self.length as i32, self.link, 0]
    }
}

/// All suffixes of a text.
struct Tree {
    nodes: Vec<Node>,
}

impl Tree {
    /// Puts in one suffix after the other from the root: the text is random, and paths are short.
    fn of(text: &[u8]) -> Self {
        let mut tree = Tree { nodes: vec![Node::default()] };
        for start in 0..text.len() {
            tree.insert(text, start);
        }
        for index in 1..tree.nodes.len() {
            let (first, letters) = tree.nodes[index].path;
            if tree.nodes[index].link != LEAF {
                tree.nodes[index].link = tree.node_of(text, &text[first + 1..][..letters - 1]);
            }
        }
        tree
    }

    fn insert(&mut self, text: &[u8], start: usize) {
        let (mut node, mut at) = (0, start);
        loop {
            let child = self.nodes[node].children[letter(text, at)] as usize;
            if child == 0 {
                return self.add_leaf(text, node, start, at);
            }
            let Node { first, length, link, .. } = self.nodes[child];
            let same = (0..length).take_while(|&i| letter(text, first + i) == letter(text, at + i)).count();
            if same == length && link != LEAF {
                (node, at) = (child, at + length);
                continue;
            }
            // A new node on the edge.
            let middle = self.nodes.len();
            let path = (start, at - start + same);
            self.nodes.push(Node { first, length: same, path, ..Node::default() });
            self.nodes[node].children[letter(text, at)] = middle as i32;
            self.nodes[middle].children[letter(text, first + same)] = child as i32;
            self.nodes[child].first += same;
            self.nodes[child].length -= same;
            return self.add_leaf(text, middle, start, at + same);
        }
    }

    fn add_leaf(&mut self, text: &[u8], parent: usize, start: usize, at: usize) {
        self.nodes[parent].children[letter(text, at)] = self.nodes.len() as i32;
        let path = (start, text.len() - start);
        self.nodes.push(Node { first: at, length: text.len() - at, link: LEAF, path, ..Node::default() });
    }

    /// The node at which `letters`, which are a path to a node, end.
    fn node_of(&self, text: &[u8], letters: &[u8]) -> i32 {
        let (mut node, mut at) = (0, 0);
        while at < letters.len() {
            node = self.nodes[node as usize].children[letter(letters, at)];
            at += self.nodes[node as usize].length;
        }
        debug_assert_eq!((at, &text[self.nodes[node as usize].path.0..][..at]), (letters.len(), letters));
        node
    }

    /// The longest beginning of `letters` in the text, letter by letter from the root: the node on whose edge, or at
    /// which, it ends, and its length.
    fn longest(&self, text: &[u8], letters: &[u8]) -> [i32; 2] {
        let (mut node, mut at) = (0, 0);
        while at < letters.len() {
            let child = self.nodes[node as usize].children[letter(letters, at)];
            if child == 0 {
                break;
            }
            let Node { first, length, .. } = self.nodes[child as usize];
            let edge = &text[first..][..length];
            let same = edge.iter().zip(&letters[at..]).take_while(|(a, b)| a == b).count();
            (node, at) = (child, at + same);
            if same < length {
                break;
            }
        }
        [node, at as i32]
    }
}

/// Number of the letter at a place of the text, which has an end of its own.
fn letter(text: &[u8], at: usize) -> usize {
    let found = text.get(at).and_then(|&here| LETTERS.iter().position(|&letter| letter == here));
    found.unwrap_or(LETTERS.len())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn letters(most: usize) -> impl Strategy<Value = Vec<u8>> {
        prop::collection::vec((0usize..4).prop_map(|letter| LETTERS[letter]), 1..most)
    }

    proptest! {
        #[test]
        fn matches_are_the_longest_there_are(text in letters(60), query in letters(12)) {
            let tree = Tree::of(&text);
            let occurs = |length: usize| text.windows(length).any(|window| window == &query[..length]);
            let longest = (1..=query.len()).take_while(|&length| occurs(length)).count();
            prop_assert_eq!(tree.longest(&text, &query)[1] as usize, longest);
        }

        #[test]
        fn links_drop_the_first_letter(text in letters(60)) {
            let tree = Tree::of(&text);
            for node in tree.nodes.iter().skip(1).filter(|node| node.link != LEAF) {
                let to = &tree.nodes[node.link as usize];
                let of = |node: &Node| &text[node.path.0..][..node.path.1];
                prop_assert_eq!(of(to), &of(node)[1..]);
            }
        }
    }
}

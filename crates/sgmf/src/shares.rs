//! How copies of a graph side by side share the threads of a pass: blocks of consecutive threads go to the copies in
//! turn. A block of one gives copy *c* of *n* every *n*-th thread.

/// The copies, and the threads of a block.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Shares {
    pub copies: u32,
    pub block: u32,
}

impl Shares {
    /// The first thread of `copy`.
    pub const fn first(self, copy: u32) -> u32 {
        copy * self.block
    }

    /// The next thread of the same copy after thread `tag`.
    #[inline]
    pub const fn next(self, tag: u32) -> u32 {
        let next = tag + 1;
        if next.is_multiple_of(self.block) { next + self.block * (self.copies - 1) } else { next }
    }

    /// The number of thread `tag` among those of its copy.
    #[inline]
    pub const fn number(self, tag: u32) -> u32 {
        tag / (self.block * self.copies) * self.block + tag % self.block
    }

    /// How many of the first `count` threads `copy` has.
    #[inline]
    pub const fn of_copy(self, copy: u32, count: u32) -> u32 {
        let round = self.block * self.copies;
        let rest = (count % round).saturating_sub(copy * self.block);
        count / round * self.block + if rest < self.block { rest } else { self.block }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_thread_has_a_copy_and_a_number_there() {
        for (copies, block) in [(1, 1), (3, 1), (1, 16), (3, 16), (4, 5)] {
            let shares = Shares { copies, block };
            for count in [0, 1, 7, 16, 48, 100] {
                let mut seen = Vec::new();
                for copy in 0..copies {
                    let mut tag = shares.first(copy);
                    for number in 0..shares.of_copy(copy, count) {
                        assert_eq!((shares.number(tag), tag / block % copies), (number, copy));
                        seen.push(tag);
                        tag = shares.next(tag);
                    }
                    assert!(tag >= count, "{copies} copies, blocks of {block}: thread {tag} of {count} is left out");
                }
                seen.sort_unstable();
                assert_eq!(seen, (0..count).collect::<Vec<_>>());
            }
        }
    }
}

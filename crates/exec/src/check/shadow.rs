//! Who has accessed each word of a memory last, and whether an access conflicts with that.

/// An access to a word: none if `mask` is 0.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Stamp {
    /// Warp of shared memory, CTA of global memory.
    pub who: u32,
    /// Time of the access, in the reckoning of `who`.
    pub clock: u32,
    pub pc: u32,
    /// Number of the thread in its CTA.
    pub thread: u16,
    /// Bytes of the word, a bit each.
    pub mask: u8,
    /// Atomic or volatile: two such accesses do not conflict.
    pub strong: bool,
}

/// How an access conflicts with an earlier one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Conflict {
    ReadAfterWrite,
    WriteAfterRead,
    WriteAfterWrite,
}

impl Conflict {
    /// Action of the earlier access.
    pub fn earlier(self) -> &'static str {
        if self == Self::WriteAfterRead { "read" } else { "written" }
    }
}

/// The last accesses to a word. Of reads, by two different readers: more are forgotten.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Word {
    write: Stamp,
    reads: [Stamp; 2],
}

impl Word {
    /// Notes an access. `ordered` says whether an earlier access happens before it; the first that conflicts
    /// is returned.
    pub fn touch(&mut self, new: Stamp, is_write: bool, ordered: impl Fn(&Stamp) -> bool) -> Option<(Conflict, Stamp)> {
        let conflicts = |old: &Stamp| {
            old.mask & new.mask != 0 && old.who != new.who && !(old.strong && new.strong) && !ordered(old)
        };
        let write = Some(self.write).filter(conflicts);
        if !is_write {
            let kept = usize::from(self.reads[0].who == new.who);
            self.reads = [new, self.reads[kept]];
            return write.map(|old| (Conflict::ReadAfterWrite, old));
        }
        let read = self.reads.into_iter().find(conflicts);
        self.write = new;
        self.reads.iter_mut().filter(|read| read.mask & !new.mask == 0).for_each(|read| read.mask = 0);
        let write = write.map(|old| (Conflict::WriteAfterWrite, old));
        write.or_else(|| read.map(|old| (Conflict::WriteAfterRead, old)))
    }
}

/// The words that an access of `bytes` at `address` touches: index of the word, and mask of its bytes.
pub(super) fn words(address: u64, bytes: u64) -> impl Iterator<Item = (u64, u8)> {
    (address / 4..(address + bytes).div_ceil(4)).map(move |word| {
        let first = address.saturating_sub(4 * word).min(4);
        let last = (address + bytes - 4 * word).min(4);
        (word, ((1_u16 << last) - (1 << first)) as u8)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_access_touches_the_bytes_of_its_words() {
        let of = |address, bytes| words(address, bytes).collect::<Vec<_>>();
        assert_eq!(of(8, 4), [(2, 0xf)]);
        assert_eq!(of(9, 1), [(2, 2)]);
        assert_eq!(of(10, 2), [(2, 0xc)]);
        assert_eq!(of(16, 8), [(4, 0xf), (5, 0xf)]);
    }

    #[test]
    fn accesses_to_other_bytes_or_by_the_same_party_do_not_conflict() {
        let stamp = |who, mask, strong| Stamp { who, mask, strong, ..Stamp::default() };
        let mut word = Word::default();
        let mut touch = |new, is_write| word.touch(new, is_write, |_| false).map(|(conflict, old)| (conflict, old.who));
        assert_eq!(touch(stamp(1, 1, false), true), None);
        assert_eq!(touch(stamp(2, 2, false), false), None);
        assert_eq!(touch(stamp(1, 1, false), false), None);
        assert_eq!(touch(stamp(2, 1, false), false), Some((Conflict::ReadAfterWrite, 1)));
        assert_eq!(touch(stamp(3, 3, true), true), Some((Conflict::WriteAfterWrite, 1)));
        assert_eq!(touch(stamp(4, 3, true), true), None, "both are atomic");
        assert_eq!(touch(stamp(5, 3, false), false), Some((Conflict::ReadAfterWrite, 4)));
        assert_eq!(touch(stamp(4, 3, true), true), Some((Conflict::WriteAfterRead, 5)));
    }
}

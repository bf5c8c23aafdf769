//! Which line of a full set is replaced.
//!
//! A policy is a [`Policy`]: it hears what happens to each line and names the victim. [`Ordered`] is
//! one for queues of lines (`lru`, `fifo`); [`ByWays`] makes one of a [`Choice`] among the ways of a
//! set.
//!
//! To add a policy: a file with its type, its row in `policies!`, and its word in
//! [`config::Replacement`].

mod by_way;
mod fifo;
mod lru;
mod ordered;
mod plru;
mod random;
mod srrip;
#[cfg(test)]
mod tests;

use by_way::{ByWays, Candidates, Choice};
use kit::persist::{Archive, Mismatch, Persist};
use ordered::{Ordered, Queue};

/// The state of a line, as far as replacement is concerned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Place {
    /// Empty: taken before any other.
    Free,
    Clean,
    Dirty,
    /// A sector is under way: the line cannot be replaced.
    Pinned,
}

/// The replacement policy of one cache. Lines have numbers in the order of their first use; a line
/// stays in its set. A line is [`Place::Pinned`] before its first [`Policy::move_to`].
pub(super) trait Policy {
    fn new(sets: u32, ways: u32) -> Self;
    /// The next line is way `way` of `set`.
    fn add_line(&mut self, set: u32, way: u32);
    /// `line`, which is pinned, holds a new block.
    fn insert(&mut self, line: u32, set: u32);
    /// A request hit `line`, which is in `place`.
    fn hit(&mut self, line: u32, set: u32, place: Place);
    /// A request missed a sector of `line`, which is in `place`.
    fn sector_miss(&mut self, line: u32, set: u32, place: Place);
    /// The state of `line` changes to `place`, another one than before.
    fn move_to(&mut self, line: u32, set: u32, place: Place);
    /// A free line of `set`.
    fn free(&self, set: u32) -> Option<u32>;
    /// The line of `set` to replace: a clean one, or a dirty one if `dirty_may_go`. The same as
    /// long as nothing else is called.
    fn victim(&self, set: u32, dirty_may_go: bool) -> Option<u32>;
    /// Number of dirty lines of `set`.
    fn dirty_lines(&self, set: u32) -> u32;
}

macro_rules! policies {
    ($($name:ident: $policy:ty;)*) => {
        /// The policy that a description names.
        #[derive(Clone, Debug)]
        pub(super) enum Replacement {
            $($name($policy),)*
        }

        impl Replacement {
            /// The policy `name` for a cache of `sets` sets.
            pub fn new(name: config::Replacement, sets: u32, ways: u32) -> Self {
                match name {
                    $(config::Replacement::$name => Self::$name(Policy::new(sets, ways)),)*
                }
            }

            #[inline]
            pub fn add_line(&mut self, set: u32, way: u32) {
                match self { $(Self::$name(p) => p.add_line(set, way),)* }
            }
            #[inline]
            pub fn insert(&mut self, line: u32, set: u32) {
                match self { $(Self::$name(p) => p.insert(line, set),)* }
            }
            #[inline]
            pub fn hit(&mut self, line: u32, set: u32, place: Place) {
                match self { $(Self::$name(p) => p.hit(line, set, place),)* }
            }
            #[inline(always)]
            pub fn sector_miss(&mut self, line: u32, set: u32, place: Place) {
                match self { $(Self::$name(p) => p.sector_miss(line, set, place),)* }
            }
            #[inline]
            pub fn move_to(&mut self, line: u32, set: u32, place: Place) {
                match self { $(Self::$name(p) => p.move_to(line, set, place),)* }
            }
            #[inline]
            pub fn free(&self, set: u32) -> Option<u32> {
                match self { $(Self::$name(p) => p.free(set),)* }
            }
            #[inline]
            pub fn victim(&self, set: u32, dirty_may_go: bool) -> Option<u32> {
                match self { $(Self::$name(p) => p.victim(set, dirty_may_go),)* }
            }
            #[inline]
            pub fn dirty_lines(&self, set: u32) -> u32 {
                match self { $(Self::$name(p) => p.dirty_lines(set),)* }
            }
        }

        impl Persist for Replacement {
            fn persist(&mut self, archive: &mut Archive) -> Result<(), Mismatch> {
                match self { $(Self::$name(p) => p.persist(archive),)* }
            }
        }
    };
}

policies! {
    Lru: Ordered<lru::Lru>;
    Fifo: Ordered<fifo::Fifo>;
    Plru: ByWays<plru::Plru>;
    Random: ByWays<random::Random>;
    Srrip: ByWays<srrip::Srrip>;
}

kit::persist! {
    enum Place { Free = 0, Clean = 1, Dirty = 2, Pinned = 3 }
}

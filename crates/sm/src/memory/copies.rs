//! Groups of asynchronous copies (`cp.async`), per warp.

use isa::{ALL_COPIES, WarpSlot};
use kit::persist::{Archive, Mismatch, Persist};
use std::collections::VecDeque;

/// Groups of one warp, oldest first; the last one is open.
#[derive(Clone, Debug, Default)]
struct Groups {
    /// Number of the oldest group.
    first: u32,
    /// Copies on their way in each group that is closed.
    closed: VecDeque<u16>,
    /// The same in the open one.
    open: u16,
    /// Groups that may stay pending while the warp continues.
    awaited: u8,
}

/// The groups of all warps.
#[derive(Debug)]
pub struct Copies(Box<[Groups]>);

impl Copies {
    /// No copies, for `warps` warps.
    pub fn new(warps: usize) -> Self {
        Self(vec![Groups::default(); warps].into())
    }

    /// A copy of `warp` issues. Returns the number of its group.
    pub fn issue(&mut self, warp: WarpSlot) -> u32 {
        let groups = &mut self.0[warp.index()];
        groups.open += 1;
        groups.first + groups.closed.len() as u32
    }

    /// The open group of `warp` is closed.
    pub fn commit(&mut self, warp: WarpSlot) {
        let groups = &mut self.0[warp.index()];
        groups.closed.push_back(std::mem::take(&mut groups.open));
        groups.drop_complete();
    }

    /// `warp` waits until at most `left` closed groups are pending, or [`ALL_COPIES`] are done. True if that is so
    /// already.
    pub fn wait(&mut self, warp: WarpSlot, left: u8) -> bool {
        if left == ALL_COPIES {
            self.commit(warp);
        }
        let groups = &mut self.0[warp.index()];
        groups.awaited = if left == ALL_COPIES { 0 } else { left };
        groups.is_satisfied()
    }

    /// A copy of group `group` has been performed. True if a waiting warp may go on.
    pub fn performed(&mut self, warp: WarpSlot, group: u32) -> bool {
        let groups = &mut self.0[warp.index()];
        *groups.closed.get_mut((group - groups.first) as usize).unwrap_or(&mut groups.open) -= 1;
        groups.drop_complete();
        groups.is_satisfied()
    }

    /// Closed groups of `warp` that are pending.
    pub fn pending(&self, warp: WarpSlot) -> usize {
        self.0[warp.index()].closed.len()
    }
}

impl Groups {
    /// Groups complete in order: one that is done stays until those before it are.
    fn drop_complete(&mut self) {
        while self.closed.front() == Some(&0) {
            self.closed.pop_front();
            self.first += 1;
        }
    }

    fn is_satisfied(&self) -> bool {
        self.closed.len() <= self.awaited as usize
    }
}

impl Persist for Copies {
    fn persist(&mut self, archive: &mut Archive) -> Result<(), Mismatch> {
        self.0.persist(archive)
    }
}

kit::persist! {
    struct Groups { first, closed, open, awaited }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_complete_in_order() {
        let (mut copies, warp) = (Copies::new(1), WarpSlot(0));
        let first = copies.issue(warp);
        copies.commit(warp);
        let second = copies.issue(warp);
        assert_eq!(second, first + 1);
        copies.commit(warp);
        assert!(copies.wait(warp, 2) && !copies.wait(warp, 1));
        assert!(!copies.performed(warp, second), "the older group is still pending");
        assert!(copies.performed(warp, first));
        assert_eq!(copies.pending(warp), 0);
        copies.commit(warp);
        assert!(copies.wait(warp, 0), "an empty group is complete");
        let open = copies.issue(warp);
        assert!(copies.wait(warp, 0), "it is in no closed group");
        assert!(!copies.wait(warp, ALL_COPIES) && copies.performed(warp, open));
    }
}

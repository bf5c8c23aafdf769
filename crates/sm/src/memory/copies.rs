//! Groups of asynchronous copies (`cp.async`), per warp.

use isa::{ALL_COPIES, WarpSlot};
use kit::persist::{Archive, Mismatch, Persist};
use std::collections::VecDeque;

/// Groups of one warp, oldest first; the last one is open.
#[derive(Debug)]
struct Groups {
    /// Number of the oldest group.
    first: u32,
    /// Copies on their way in each group.
    outstanding: VecDeque<u16>,
    /// What the warp waits for: groups that may stay pending.
    awaited: u8,
}

/// The groups of all warps.
#[derive(Debug)]
pub struct Copies(Box<[Groups]>);

impl Copies {
    /// No copies, for `warps` warps.
    pub fn new(warps: usize) -> Self {
        let groups = || Groups { first: 0, outstanding: VecDeque::from([0]), awaited: 0 };
        Self((0..warps).map(|_| groups()).collect())
    }

    /// A copy of `warp` issues. Returns the number of its group.
    pub fn issue(&mut self, warp: WarpSlot) -> u32 {
        let groups = &mut self.0[warp.index()];
        *groups.outstanding.back_mut().expect("one group is open") += 1;
        groups.first + groups.outstanding.len() as u32 - 1
    }

    /// The open group of `warp` is closed.
    pub fn commit(&mut self, warp: WarpSlot) {
        let groups = &mut self.0[warp.index()];
        groups.outstanding.push_back(0);
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
        groups.outstanding[(group - groups.first) as usize] -= 1;
        groups.drop_complete();
        groups.is_satisfied()
    }

    /// Closed groups of `warp` that are pending.
    pub fn pending(&self, warp: WarpSlot) -> usize {
        self.0[warp.index()].outstanding.len() - 1
    }
}

impl Groups {
    /// Groups complete in order: one that is done stays until those before it are.
    fn drop_complete(&mut self) {
        while self.outstanding.len() > 1 && self.outstanding[0] == 0 {
            self.outstanding.pop_front();
            self.first += 1;
        }
    }

    fn is_satisfied(&self) -> bool {
        self.outstanding.len() - 1 <= self.awaited as usize
    }
}

impl Persist for Copies {
    fn persist(&mut self, archive: &mut Archive) -> Result<(), Mismatch> {
        self.0.persist(archive)
    }
}

kit::persist! {
    struct Groups { first, outstanding, awaited }
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

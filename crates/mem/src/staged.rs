//! A queue in two stages.

use kit::Ring;

/// Entries come in at the end, are handed on to the second stage one by one, and leave from there, all
/// in order. Handing on moves nothing: the stages are the two ends of one queue.
#[derive(Clone, Debug)]
pub(crate) struct StagedQueue<T> {
    entries: Ring<T>,
    /// How many are in the second stage.
    ready: usize,
}

impl<T: Copy> StagedQueue<T> {
    pub fn new() -> Self {
        Self { entries: Ring::new(), ready: 0 }
    }

    /// A new entry for the first stage.
    #[inline]
    pub fn push(&mut self, entry: T) {
        self.entries.push_back(entry);
    }

    /// A new entry that goes to the second stage at once.
    pub fn push_ready(&mut self, entry: T) {
        self.entries.insert(self.ready, entry);
        self.ready += 1;
    }

    /// Entries in both stages.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Entries in the first stage.
    #[inline]
    pub fn waiting(&self) -> usize {
        self.entries.len() - self.ready
    }

    /// The oldest entry of the first stage.
    #[inline]
    pub fn first_waiting(&self) -> Option<&T> {
        self.entries.get(self.ready)
    }

    /// Hands the oldest entry of the first stage, which there must be, on to the second, and returns it.
    #[inline]
    pub fn hand_on(&mut self) -> Option<&mut T> {
        debug_assert!(self.waiting() != 0, "the first stage has no entry");
        self.ready += 1;
        self.entries.get_mut(self.ready - 1)
    }

    /// Takes the oldest entry of the first stage, which there must be.
    pub fn take_waiting(&mut self) -> T {
        self.entries.remove(self.ready)
    }

    /// Entries in the second stage.
    #[inline]
    pub fn ready(&self) -> usize {
        self.ready
    }

    /// The oldest entry of the second stage.
    #[inline]
    pub fn first_ready(&self) -> Option<&T> {
        if self.ready == 0 { None } else { self.entries.front() }
    }

    /// Takes all entries of the second stage, oldest first.
    #[inline]
    pub fn take_ready(&mut self, take: impl FnMut(&T)) {
        (0..self.ready).filter_map(|i| self.entries.get(i)).for_each(take);
        self.entries.drop_front(std::mem::take(&mut self.ready));
    }

    /// Removes the oldest entry of the second stage, which there must be.
    #[inline]
    pub fn drop_ready(&mut self) {
        self.ready -= 1;
        self.entries.drop_front(1);
    }

    /// Takes the oldest entry of the second stage.
    #[inline]
    pub fn pop(&mut self) -> Option<T> {
        if self.ready == 0 {
            return None;
        }
        self.ready -= 1;
        self.entries.pop_front()
    }
}

kit::persist! {
    struct [T: Copy + kit::persist::Fresh] StagedQueue<T> { entries, ready }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_leave_in_order_and_only_from_the_second_stage() {
        let mut queue = StagedQueue::new();
        [1, 2, 3].into_iter().for_each(|i| queue.push(i));
        assert_eq!((queue.pop(), queue.first_ready(), queue.first_waiting()), (None, None, Some(&1)));
        queue.hand_on();
        queue.push_ready(9);
        assert_eq!((queue.ready(), queue.waiting()), (2, 2));
        assert_eq!([queue.pop(), queue.pop(), queue.pop()], [Some(1), Some(9), None]);
        assert_eq!(queue.first_waiting(), Some(&2));
        queue.push(4);
        assert_eq!((queue.take_waiting(), queue.len()), (2, 2));
        queue.hand_on();
        let mut taken = Vec::new();
        queue.take_ready(|&entry| taken.push(entry));
        assert_eq!((taken, queue.ready(), queue.first_waiting()), (vec![3], 0, Some(&4)));
    }
}

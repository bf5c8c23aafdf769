//! Policies that replace the line whose turn came longest ago.
//!
//! The lines of a set are in three lists (free, clean, dirty), each in the order of their stamps,
//! so that the victim is the first of one or the other and no way is ever walked. A list is a ring
//! through an entry of its own (its head), so that taking a line out needs no look at its list.

use super::{Place, Policy};
use std::marker::PhantomData;

/// When a line gets a new stamp beside its arrival.
pub(in crate::cache) trait Queue {
    /// A hit moves the line to the end of the queue.
    const REQUEUES_ON_HIT: bool;
}

/// Lists of a set.
const LISTS: u32 = 3;

/// Lists of lines, oldest stamp first. A line is in one list or, if it is pinned, in none.
#[derive(Clone, Debug)]
pub(in crate::cache) struct Ordered<Q> {
    order: Order,
    _queue: PhantomData<Q>,
}

/// Head of the list of `place` in `set`.
#[inline]
const fn head(set: u32, place: Place) -> u32 {
    LISTS * set + place as u32
}

impl<Q: Queue> Policy for Ordered<Q> {
    fn new(sets: u32, _ways: u32) -> Self {
        Self { order: Order::new(LISTS as usize * sets as usize), _queue: PhantomData }
    }

    #[inline]
    fn add_line(&mut self, _set: u32, _way: u32) {
        self.order.add_line();
    }

    #[inline]
    fn insert(&mut self, line: u32, _set: u32) {
        self.order.renew(line);
    }

    #[inline]
    fn hit(&mut self, line: u32, set: u32, place: Place) {
        if Q::REQUEUES_ON_HIT {
            self.sector_miss(line, set, place);
        }
    }

    #[inline]
    fn sector_miss(&mut self, line: u32, set: u32, place: Place) {
        match place {
            Place::Pinned => self.order.renew(line),
            _ => self.order.renew_in(head(set, place), line),
        }
    }

    #[inline]
    fn move_to(&mut self, line: u32, set: u32, place: Place) {
        self.order.remove(line);
        match place {
            Place::Pinned => {}
            // Only the first of the free lines is ever taken.
            Place::Free => self.order.insert_first(head(set, place), line),
            Place::Clean | Place::Dirty => self.order.insert(head(set, place), line),
        }
    }

    #[inline]
    fn free(&self, set: u32) -> Option<u32> {
        self.order.first(head(set, Place::Free))
    }

    #[inline]
    fn victim(&self, set: u32, dirty_may_go: bool) -> Option<u32> {
        let first = |place| self.order.first(head(set, place));
        let dirty = if dirty_may_go { first(Place::Dirty) } else { None };
        match (first(Place::Clean), dirty) {
            (Some(clean), Some(dirty)) => Some(if self.order.is_older(dirty, clean) { dirty } else { clean }),
            (clean, dirty) => clean.or(dirty),
        }
    }

    fn dirty_lines(&self, set: u32) -> u32 {
        self.order.length(head(set, Place::Dirty))
    }
}

#[derive(Clone, Debug)]
struct Order {
    /// The lists' heads, then the lines.
    entries: Vec<Entry>,
    lists: u32,
    stamp: u64,
}

#[derive(Clone, Copy, Debug)]
struct Entry {
    /// When the line's turn was renewed; 0 for a head, which is older than every line.
    stamp: u64,
    prev: u32,
    next: u32,
}

impl Order {
    /// `lists` empty lists, and no line yet.
    fn new(lists: usize) -> Self {
        let mut order = Self { entries: Vec::new(), lists: lists as u32, stamp: 0 };
        (0..lists).for_each(|_| order.push());
        order
    }

    /// Adds an entry in no list.
    fn push(&mut self) {
        let i = self.entries.len() as u32;
        self.entries.push(Entry { stamp: 0, prev: i, next: i });
    }

    /// Adds a line in no list.
    fn add_line(&mut self) {
        self.push();
    }

    #[inline]
    fn entry(&mut self, i: u32) -> &mut Entry {
        &mut self.entries[i as usize]
    }

    /// The oldest line of the list at `head`.
    #[inline]
    fn first(&self, head: u32) -> Option<u32> {
        self.entries[head as usize].next.checked_sub(self.lists)
    }

    /// Number of lines in the list at `head`: walks it.
    fn length(&self, head: u32) -> u32 {
        let next = |i: u32| self.entries[i as usize].next;
        std::iter::successors(Some(next(head)), |&i| Some(next(i))).take_while(|&i| i != head).count() as u32
    }

    /// Whether `a` is older than `b`.
    #[inline]
    fn is_older(&self, a: u32, b: u32) -> bool {
        let stamp = |id: u32| self.entries[(self.lists + id) as usize].stamp;
        stamp(a) < stamp(b)
    }

    /// Takes `id` out of its list, if it is in one.
    #[inline]
    fn remove(&mut self, id: u32) {
        let i = self.lists + id;
        let Entry { prev, next, .. } = *self.entry(i);
        self.entry(prev).next = next;
        self.entry(next).prev = prev;
        let entry = self.entry(i);
        (entry.prev, entry.next) = (i, i);
    }

    #[inline]
    fn insert_after(&mut self, before: u32, i: u32) {
        let after = self.entry(before).next;
        self.entry(before).next = i;
        self.entry(after).prev = i;
        let entry = self.entry(i);
        (entry.prev, entry.next) = (before, after);
    }

    /// Puts `id`, which is in no list, before all others of the list at `head`.
    #[inline]
    fn insert_first(&mut self, head: u32, id: u32) {
        self.insert_after(head, self.lists + id);
    }

    /// Puts `id`, which is in no list, after all older lines of the list at `head`.
    #[inline]
    fn insert(&mut self, head: u32, id: u32) {
        let i = self.lists + id;
        let stamp = self.entry(i).stamp;
        let mut before = self.entry(head).prev;
        while self.entry(before).stamp > stamp {
            before = self.entry(before).prev;
        }
        self.insert_after(before, i);
    }

    /// Makes `id`, which is in no list, the youngest line of all.
    #[inline]
    fn renew(&mut self, id: u32) {
        self.stamp += 1;
        self.entry(self.lists + id).stamp = self.stamp;
    }

    /// Makes `id`, in the list at `head`, the youngest line of all.
    #[inline]
    fn renew_in(&mut self, head: u32, id: u32) {
        self.renew(id);
        let i = self.lists + id;
        if self.entry(i).next != head {
            self.remove(id);
            let last = self.entry(head).prev;
            self.insert_after(last, i);
        }
    }
}

kit::persist! {
    new struct Entry { stamp, prev, next }
    struct Order { entries, stamp; skip lists }
    struct [Q] Ordered<Q> { order; skip _queue }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(order: &mut Order, head: u32) -> Vec<u32> {
        let mut out = Vec::new();
        while let Some(id) = order.first(head) {
            order.remove(id);
            out.push(id);
        }
        out
    }

    #[test]
    fn a_list_keeps_the_order_of_the_stamps() {
        let mut order = Order::new(2);
        (0..5).for_each(|_| order.add_line());
        (0..5).for_each(|id| order.renew(id));
        [3, 0, 4, 1].into_iter().for_each(|id| order.insert(0, id));
        order.insert_first(1, 2);
        order.renew_in(0, 1);
        order.remove(3);
        order.remove(3);
        assert!(order.is_older(4, 1));
        assert_eq!((list(&mut order, 0), list(&mut order, 1)), (vec![0, 4, 1], vec![2]));
    }
}

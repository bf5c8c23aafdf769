//! Lists of a cache's lines, each in the order in which its lines may be replaced.
//!
//! A list is a ring through an entry of its own (its head), so that taking a line out and putting
//! it in never asks where it stands.

/// Lists of lines, oldest stamp first. A line stands in one list or in none.
#[derive(Clone, Debug)]
pub(super) struct Order {
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
    pub fn new(lists: usize) -> Self {
        let mut order = Self { entries: Vec::new(), lists: lists as u32, stamp: 0 };
        (0..lists).for_each(|_| order.push());
        order
    }

    /// One more entry, alone.
    fn push(&mut self) {
        let i = self.entries.len() as u32;
        self.entries.push(Entry { stamp: 0, prev: i, next: i });
    }

    /// One more line, in no list.
    pub fn add_line(&mut self) {
        self.push();
    }

    #[inline]
    fn entry(&mut self, i: u32) -> &mut Entry {
        &mut self.entries[i as usize]
    }

    /// The oldest line of the list at `head`.
    #[inline]
    pub fn first(&self, head: u32) -> Option<u32> {
        self.entries[head as usize].next.checked_sub(self.lists)
    }

    /// Number of lines in the list at `head`: walks it.
    pub fn length(&self, head: u32) -> u32 {
        let next = |i: u32| self.entries[i as usize].next;
        std::iter::successors(Some(next(head)), |&i| Some(next(i))).take_while(|&i| i != head).count() as u32
    }

    /// Whether `a` is older than `b`.
    #[inline]
    pub fn is_older(&self, a: u32, b: u32) -> bool {
        let stamp = |id: u32| self.entries[(self.lists + id) as usize].stamp;
        stamp(a) < stamp(b)
    }

    /// Takes `id` out of its list, if it is in one.
    #[inline]
    pub fn remove(&mut self, id: u32) {
        let i = self.lists + id;
        let Entry { prev, next, .. } = *self.entry(i);
        self.entry(prev).next = next;
        self.entry(next).prev = prev;
        let entry = self.entry(i);
        (entry.prev, entry.next) = (i, i);
    }

    #[inline]
    fn insert_behind(&mut self, before: u32, i: u32) {
        let after = self.entry(before).next;
        self.entry(before).next = i;
        self.entry(after).prev = i;
        let entry = self.entry(i);
        (entry.prev, entry.next) = (before, after);
    }

    /// Puts `id`, which is in no list, before all others of the list at `head`.
    #[inline]
    pub fn insert_first(&mut self, head: u32, id: u32) {
        self.insert_behind(head, self.lists + id);
    }

    /// Puts `id`, which is in no list, behind all older ones of the list at `head`.
    #[inline]
    pub fn insert(&mut self, head: u32, id: u32) {
        let i = self.lists + id;
        let stamp = self.entry(i).stamp;
        let mut before = self.entry(head).prev;
        while self.entry(before).stamp > stamp {
            before = self.entry(before).prev;
        }
        self.insert_behind(before, i);
    }

    /// Makes `id`, which is in no list, the youngest line of all.
    #[inline]
    pub fn renew(&mut self, id: u32) {
        self.stamp += 1;
        self.entry(self.lists + id).stamp = self.stamp;
    }

    /// Likewise for a line in the list at `head`, where it goes to the end.
    #[inline]
    pub fn renew_in(&mut self, head: u32, id: u32) {
        self.renew(id);
        let i = self.lists + id;
        if self.entry(i).next != head {
            self.remove(id);
            let last = self.entry(head).prev;
            self.insert_behind(last, i);
        }
    }
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

//! A driver for the tests of each [`Pick`].

use super::{Pick, Queued};

pub(super) fn read(id: u16, row: u32) -> Queued {
    Queued { id, bank: 0, row, write: false }
}

/// The number of the request that must be taken.
pub(super) struct Expected(pub u16);

/// Lets requests to rows `arrivals` arrive at a bank, two for each that it takes, and compares what
/// it takes with what `expected` gives for its queue (oldest first) and its open row.
pub(super) fn agrees<P: Pick>(arrivals: &[u32], mut expected: impl FnMut(&[Queued], u32) -> Expected) {
    let (mut pick, mut queue, mut open_row) = (P::new(1), Vec::new(), 0);
    let mut arriving = (0..).zip(arrivals);
    loop {
        queue.extend(arriving.by_ref().take(2).map(|(id, &row)| read(id, row)));
        if queue.is_empty() {
            return;
        }
        let Expected(id) = expected(&queue, open_row);
        let taken = queue.remove(pick.pick(0, &queue, open_row));
        assert_eq!(taken.id, id, "{queue:?} after {taken:?}, row {open_row}");
        open_row = taken.row;
    }
}

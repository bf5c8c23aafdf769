//! First ready, first come, first served (Rixner et al., ISCA 2000), as GPGPU-Sim has it: a free
//! bank takes its oldest request to the open row, else its oldest request; it then stays with that
//! row while requests for it are there.

use super::{Pick, Queued};

#[derive(Clone, Debug)]
pub(in crate::dram) struct FrFcfs {
    /// The row that each bank stays with.
    row: Box<[Option<u32>]>,
}

impl Pick for FrFcfs {
    fn new(banks: usize) -> Self {
        Self { row: vec![None; banks].into() }
    }

    fn pick(&mut self, bank: usize, queue: &[Queued], open_row: u32) -> usize {
        let wanted = self.row[bank].unwrap_or(open_row);
        let at = queue.iter().position(|r| r.row == wanted).unwrap_or(0);
        let row = queue[at].row;
        // The oldest request to the row goes, so others to it come after.
        self.row[bank] = queue[at + 1..].iter().any(|r| r.row == row).then_some(row);
        at
    }
}

kit::persist! {
    struct FrFcfs { row }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dram::scheduler::tests::{Expected, agrees, read};
    use proptest::prelude::*;

    #[test]
    fn open_rows_first_then_age() {
        let mut fr_fcfs = FrFcfs::new(1);
        let mut queue = vec![read(1, 7), read(2, 9), read(3, 7), read(4, 9)];
        let mut pick = |open_row| queue.remove(fr_fcfs.pick(0, &queue, open_row)).id;
        assert_eq!((pick(9), pick(9)), (2, 4));
        assert_eq!(pick(9), 1, "no hit left: the oldest");
        assert_eq!(pick(7), 3);
    }

    proptest! {
        #[test]
        fn agrees_with_its_definition(arrivals in prop::collection::vec(0u32..4, 1..60)) {
            let mut stays_with = None;
            agrees::<FrFcfs>(&arrivals, |queue, open_row| {
                let row = stays_with.unwrap_or(open_row);
                let hit = queue.iter().find(|r| r.row == row).or(queue.first()).copied().unwrap();
                let same = queue.iter().filter(|r| r.row == hit.row).count();
                stays_with = (same > 1).then_some(hit.row);
                Expected(hit.id)
            });
        }
    }
}

//! Who may send requests to a channel.

const MOST_REQUESTS: usize = 60_000;

/// Places in the channel, so that one slice cannot shut out another: each slice has one of its own,
/// the rest are shared.
#[derive(Clone, Debug)]
pub(super) struct Credits {
    own: Box<[bool]>,
    shared: usize,
    /// Shared places. Numbers of requests are 16 bits wide, so "no limit" has one.
    limit: usize,
    /// The slice that was served last.
    pub last: usize,
}

impl Credits {
    pub fn new(dram: &config::Dram, slices: usize) -> Self {
        let queues = dram.scheduler_queue + dram.return_queue + dram.write_queue.map_or(0, |w| w[0]);
        let limited = dram.scheduler_queue != 0 && dram.return_queue != 0;
        let limit = if limited { (queues as usize + 1).saturating_sub(slices) } else { MOST_REQUESTS };
        Self { own: vec![false; slices].into(), shared: 0, limit: limit.min(MOST_REQUESTS), last: slices.max(1) - 1 }
    }

    pub fn has(&self, slice: usize) -> bool {
        !self.own[slice] || self.shared < self.limit
    }

    pub fn take(&mut self, slice: usize) {
        if self.own[slice] {
            self.shared += 1;
        } else {
            self.own[slice] = true;
        }
        self.last = slice;
    }

    pub fn give_back(&mut self, slice: u8) {
        // The slice's own place is given back first, as GPGPU-Sim does.
        let own = &mut self.own[usize::from(slice)];
        if *own {
            *own = false;
        } else {
            self.shared -= 1;
        }
    }
}

kit::persist! {
    struct Credits { own, shared, last; skip limit }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_slice_has_a_place_of_its_own_and_the_rest_is_shared() {
        let mut dram = config::load("accel-sim/rtx2060s").expect("built in").dram;
        (dram.scheduler_queue, dram.return_queue, dram.write_queue) = (2, 1, None);
        // 2 + 1 places, less one for the second slice's own.
        let mut credits = Credits::new(&dram, 2);
        let mut taken = 0;
        while credits.has(0) {
            credits.take(0);
            taken += 1;
        }
        assert_eq!(taken, 3, "its own and two shared ones");
        assert!(credits.has(1), "the other slice is not shut out");
        credits.take(1);
        assert!(!credits.has(1));
        credits.give_back(0);
        assert!(credits.has(0) && !credits.has(1), "a slice's own place is free first");
        credits.give_back(0);
        assert!(credits.has(1));
    }

    #[test]
    fn an_unlimited_queue_has_no_limit_that_matters() {
        let mut dram = config::load("accel-sim/rtx2060s").expect("built in").dram;
        dram.scheduler_queue = 0;
        let mut credits = Credits::new(&dram, 2);
        (0..10_000).for_each(|_| credits.take(0));
        assert!(credits.has(0));
    }
}

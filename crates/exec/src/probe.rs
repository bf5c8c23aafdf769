//! Races that decide a result, looked for in the first CTAs of a launch that is to be executed without time.
//!
//! Without time, warps have long turns, and CTAs run one after another. A race that hardware hardly ever loses can
//! make every result wrong there. It is reported if both hold:
//!
//! 1. The CTAs leave other memory if their warps have their turns in another order. Races of which all outcomes are the
//!    same, and flags that the checks take for data, end here.
//! 2. Accesses of two warps of a CTA, or of the two CTAs, conflict, and nothing that the checks know can give them an
//!    order ([`Scope::PlainRaces`]).
//!
//! Device memory is as before afterwards. The CTAs are executed up to four times: [`run_screened`](crate::run_screened)
//! says whether that is due.

use crate::check::{Finding, Findings, Scope, Watch};
use crate::functional::{FunctionalStats, Observer, Order, run_in_order};
use crate::launch::Launch;
use crate::state::DeviceState;
use crate::stream::LiveStream;
use isa::{DynInst, Fault};
use kit::LaneMask;
use std::ops::ControlFlow;

/// CTAs that are executed.
pub(crate) const CTAS: u64 = 2;
/// Warp instructions of each that are checked.
pub(crate) const MOST_WATCHED: u64 = 1280;
/// Short turns, so that all warps come to their first accesses. Races are found in every order.
const WATCHED_ORDER: Order = Order { is_reversed: false, turn: 16 };
/// Warp instructions of each order that is tried; of longer CTAs nothing is said.
const MOST_EXECUTED: u64 = 1 << 20;
/// Orders that are compared with the one of runs without time.
const OTHER_ORDERS: [Order; 2] = [Order { is_reversed: true, turn: 256 }, Order { is_reversed: false, turn: 1 }];

/// Ends a run after a number of warp instructions.
struct AtMost(u64);

impl Observer for AtMost {
    fn see(&mut self, _: LaneMask, _: &DynInst) -> ControlFlow<()> {
        self.0 = self.0.saturating_sub(1);
        if self.0 == 0 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }
}

/// Races of the first CTAs of `launch`, if they decide what these CTAs leave in memory. `state` has no launch that runs.
pub fn decisive_races(state: &mut DeviceState, launch: &Launch) -> Vec<Finding> {
    if launch.cluster().is_some() {
        // CTAs of a cluster run together.
        return Vec::new();
    }
    let watch = state.watch.take();
    let races = depends_on_order(state, launch).then(|| plain_races(state, launch));
    state.watch = watch;
    races.map_or_else(Vec::new, |races| races.found().to_vec())
}

fn ctas(launch: &Launch) -> u64 {
    launch.grid.volume().min(CTAS)
}

fn run(
    state: &mut DeviceState,
    launch: &Launch,
    ctas: impl Iterator<Item = u64>,
    order: Order,
    most: u64,
) -> Result<Option<FunctionalStats>, Box<Fault>> {
    let (mut stream, stats) = (LiveStream::new(), FunctionalStats::default());
    run_in_order(state, &mut stream, launch, (ctas, 0..0), (order, stats), &mut AtMost(most))
}

fn plain_races(state: &mut DeviceState, launch: &Launch) -> Findings {
    let undo = state.begin_undo();
    state.watch = Some(Box::new(Watch::new(Scope::PlainRaces)));
    for cta in 0..ctas(launch) {
        // The run that follows has the fault, too.
        let _ = run(state, launch, cta..cta + 1, WATCHED_ORDER, MOST_WATCHED);
    }
    let found = state.watch.take().map_or_else(Findings::default, |watch| watch.findings().clone());
    state.undo(undo);
    found
}

/// Whether another order of the warps and CTAs leaves other memory. False if an order has no end.
fn depends_on_order(state: &mut DeviceState, launch: &Launch) -> bool {
    let usual = digest(state, launch, Order::default());
    usual.is_some()
        && OTHER_ORDERS.iter().any(|&order| digest(state, launch, order).is_some_and(|other| usual != Some(other)))
}

/// Digest of what the CTAs change in this order, if they end.
fn digest(state: &mut DeviceState, launch: &Launch, order: Order) -> Option<u64> {
    let undo = state.begin_undo();
    let mut numbers: Vec<u64> = (0..ctas(launch)).collect();
    if order.is_reversed {
        numbers.reverse();
    }
    let ran = run(state, launch, numbers.into_iter(), order, MOST_EXECUTED);
    let digest = matches!(ran, Ok(Some(_))).then(|| state.memory.digest_of_changes());
    state.undo(undo);
    digest
}

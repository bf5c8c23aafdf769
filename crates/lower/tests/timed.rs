//! A machine of one SM that executes an instruction of each warp a cycle, for tests of the contract between the stream
//! and the timing model: windows, exchange, transfers that take time, waits.

use exec::{DeviceState, Launch, LiveStream};
use isa::{
    Control, CtaSlot, Dim3, DynInst, Fault, FaultKind, SourceSpot, StepContext, TransferId, WarpSlot, WarpStream,
};

/// Cycles of a window, and of a transfer.
const WINDOW: u64 = 5;
const TRANSFER: u64 = 23;
/// A machine that has not ended by then never does.
const MOST_CYCLES: u64 = 50_000;

/// Transfers of a run: runs of global bytes, bytes of shared memory, whether a group's.
pub type Transfers = Vec<isa::Transfer>;

/// Runs `launch` to its end.
pub fn run(state: &mut DeviceState, launch: &Launch) -> Result<Transfers, Box<Fault>> {
    let (mut stream, mut transfers) = (LiveStream::new(), Vec::new());
    let id = state.add_launch(launch.clone());
    let warps: Vec<WarpSlot> = (0..launch.shape().warps() as usize).map(WarpSlot::from).collect();
    let insts = launch.kernel.program.insts();
    let mut now = 0;
    for cta in 0..launch.grid.volume() {
        stream.prepare_cta(state, id, launch.grid.position(cta));
        stream.start_cta(state, id, launch.grid.position(cta), CtaSlot(0), &warps);
        let (mut held, mut at_barrier) = (vec![false; warps.len()], vec![false; warps.len()]);
        let mut pending: Vec<(u64, TransferId)> = Vec::new();
        let mut out = DynInst::default();
        while warps.iter().any(|&warp| stream.next_pc(warp).is_some()) {
            let mut stepped = false;
            for &warp in &warps {
                if held[warp.index()] || at_barrier[warp.index()] || stream.next_pc(warp).is_none() {
                    continue;
                }
                stepped = true;
                stream.step(state, warp, StepContext { now, sm: 0 }, &mut out)?;
                held[warp.index()] = out.held;
                if let Some(transfer) = out.transfer.take() {
                    pending.push((now + TRANSFER, transfer.id));
                    transfers.push(*transfer);
                }
                if insts[out.pc.index()].traits.control == Control::BarrierSync && out.mask != 0 {
                    at_barrier[warp.index()] = true;
                }
                wake(&mut stream, &mut held);
            }
            if warps.iter().all(|&warp| at_barrier[warp.index()] || stream.next_pc(warp).is_none()) {
                stepped |= at_barrier.contains(&true);
                at_barrier.fill(false);
            }
            // Lanes that wait apart from each other spin.
            if now > MOST_CYCLES || !stepped && pending.is_empty() && stream.waiting().is_empty() {
                let what = warps.iter().filter_map(|&warp| stream.describe_wait(warp)).collect::<Vec<_>>().join("; ");
                let (spot, at) = (SourceSpot::default(), Dim3::new(0, 0, 0));
                return Err(Box::new(Fault { kind: FaultKind::Other, what, spot, cta: at, thread: at, lanes: 0 }));
            }
            for (_, transfer) in pending.extract_if(.., |(end, _)| *end <= now) {
                assert_eq!(stream.transferred(transfer, now), None);
                wake(&mut stream, &mut held);
            }
            now += 1;
            if now % WINDOW == 0 {
                stream.merge(state);
                while !stream.waiting().is_empty() {
                    if let Some(warp) = stream.exchange(state)? {
                        held[warp.index()] = false;
                    }
                    wake(&mut stream, &mut held);
                }
            }
        }
        stream.merge(state);
        while !stream.waiting().is_empty() {
            stream.exchange(state)?;
        }
        stream.end_cta(CtaSlot(0));
        pending.into_iter().for_each(|(_, transfer)| drop(stream.transferred(transfer, now)));
    }
    state.end_launch(id);
    Ok(transfers)
}

fn wake(stream: &mut LiveStream, held: &mut [bool]) {
    while let Some(warp) = stream.take_woken() {
        assert!(std::mem::take(&mut held[warp.index()]), "{warp:?} was not held");
    }
}

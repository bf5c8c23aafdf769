//! Any bytes as a cubin to load, and as instructions that are lowered and, where that is possible,
//! executed by one warp.
#![no_main]

use exec::{Arg, DeviceState, Kernel, Launch, LiveStream};
use lower::LowerOptions;
use isa::{CtaSlot, Dim3, DynInst, StepContext, WarpSlot, WarpStream};
use std::sync::Arc;

/// `EXIT`, always.
const EXIT: u128 = 0x000fea00_03800000_00000000_0000794d;
/// Instructions that are executed at most.
const STEPS: u64 = 200;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    if let Err(error) = lower::load_cubin("fuzz.cubin", bytes, LowerOptions::default()) {
        assert!(!error.text.is_empty());
    }
    if let Err(error) = lower::load_binary("fuzz", bytes, 86, LowerOptions::default()) {
        assert!(!error.text.is_empty());
    }
    // The first byte chooses the architecture, the rest are words; those are kept that load.
    let Some((&first, rest)) = bytes.split_first() else { return };
    let sm = [70, 75, 80, 86, 89, 90][usize::from(first) % 6];
    let words = rest.chunks_exact(16).take(32).map(|word| u128::from_le_bytes(word.try_into().unwrap()));
    let mut code: Vec<u128> = words.filter(|&word| lower::load_words("word", sm, &[word, EXIT], 32).is_ok()).collect();
    code.push(EXIT);
    if let Ok(kernel) = lower::load_words("words", sm, &code, 32) {
        execute(kernel);
    }
});

fn execute(kernel: Kernel) {
    let mut state = DeviceState::default();
    state.memory.allocate("memory", 4096).unwrap();
    let args = [Arg::Bytes(vec![0x55; 64])];
    let launch = Launch::new(Arc::new(kernel), Dim3::new(1, 1, 1), Dim3::new(32, 1, 1), 1024, &args).unwrap();
    let id = state.add_launch(launch);
    let (warp, mut stream, mut out) = (WarpSlot::from(0_usize), LiveStream::new(), DynInst::default());
    stream.start_cta(&state, id, Dim3::new(0, 0, 0), CtaSlot(0), &[warp]);
    for now in 0..STEPS {
        let context = StepContext { now, sm: 0 };
        if stream.next_pc(warp).is_none() || stream.step_alone(&mut state, warp, context, &mut out).is_err() {
            break;
        }
    }
}

//! Jumps of a whole warp through a table: `brx.idx.uni`, and in machine code `BRX` and, with uniform
//! registers, `BRXU`.

use crate::common::versions;
use exec::{Arg, DeviceState, Launch, run};
use isa::Dim3;

const PTX: &str = include_str!("data/jumptable.ptx");
const CUBINS: [(&str, &[u8]); 4] = [
    ("sm_70", include_bytes!("data/jumptable.sm_70.cubin")),
    ("sm_75", include_bytes!("data/jumptable.sm_75.cubin")),
    ("sm_80", include_bytes!("data/jumptable.sm_80.cubin")),
    ("sm_90", include_bytes!("data/jumptable.sm_90.cubin")),
];

/// The new value of a lane's word, and the word after those of the warp.
fn expected(way: u32, lane: u32, word: u32) -> (u32, u32) {
    match way {
        0 => (word.wrapping_add(1), 7),
        1 => (word.wrapping_mul(word), !0),
        2 => (word ^ 77, lane),
        _ => (word.count_ones(), !0),
    }
}

#[test]
fn a_warp_goes_the_way_that_the_table_says() {
    for (name, loaded) in versions("jumptable", PTX, &CUBINS) {
        let kernel = loaded.kernel("jumptable").unwrap_or_else(|e| panic!("{e}"));
        let jumps = kernel.program.insts().iter().zip(0..).filter(|(_, at)| {
            let text = kernel.program.text(isa::Pc(*at));
            text.starts_with(if name == "sm_70" { "BRX " } else { "BRXU " }) || text.starts_with("brx.idx.uni")
        });
        assert_eq!(jumps.count(), 1, "{name}");
        for way in 0..4 {
            let mut state = DeviceState::default();
            state.load(&loaded.module).unwrap();
            let words: Vec<u32> = (0..64).map(|i: u32| if i < 32 { i.wrapping_mul(0x9e37_79b9) } else { !0 }).collect();
            let bytes: Vec<u8> = words.iter().flat_map(|w| w.to_le_bytes()).collect();
            let buffer = state.memory.allocate("words", 256).unwrap();
            state.memory.write(buffer, &bytes).unwrap();
            let args = [Arg::Pointer(buffer), Arg::U32(way)];
            let launch = Launch::new(kernel.clone(), Dim3::new(1, 1, 1), Dim3::new(32, 1, 1), 0, &args).unwrap();
            run(&mut state, &launch).unwrap_or_else(|fault| panic!("{name}: {fault}"));
            let mut out = [0; 256];
            state.memory.read(buffer, &mut out).unwrap();
            let found = |i: usize| u32::from_le_bytes(out.as_chunks::<4>().0[i]);
            for lane in 0..32 {
                let i = lane as usize;
                assert_eq!((found(i), found(i + 32)), expected(way, lane, words[i]), "{name}, way {way}, lane {lane}");
            }
        }
    }
}

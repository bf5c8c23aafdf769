//! Instructions that go into the columns come out of them, and any bytes give instructions or an error.

use super::code::LOCAL_BITS;
use super::*;
use isa::{
    Access, BarrierArrival, CacheOp, Control, DynInst, InstSpec, MemAccess, OpClass, Program, ProgramBuilder, RegFile,
    Space, Traits,
};
use kit::{LaneMask, WARP_LANES};
use proptest::prelude::*;

const NO_VALUES: Layout = Layout { reconvergence: true, values: false };

/// One instruction of each kind that has something of its own.
fn program() -> Program {
    let mut builder = ProgramBuilder::new("k", 16);
    let memory = |space, access| Some(MemAccess { space, access, bytes: 4, cache: CacheOp::All });
    let specs = [
        (OpClass::IntAdd, Control::None, None),
        (OpClass::Load, Control::None, memory(Space::Global, Access::Load)),
        (OpClass::Store, Control::None, memory(Space::Generic, Access::Store)),
        (OpClass::Load, Control::None, memory(Space::Local, Access::Load)),
        (OpClass::AsyncCopy, Control::None, memory(Space::Global, Access::AsyncCopy)),
        (OpClass::Branch, Control::Branch, None),
        (OpClass::Barrier, Control::BarrierSync, None),
        (OpClass::Nop, Control::Sleep, None),
        (OpClass::Fence, Control::AsyncWait, None),
        (OpClass::Exit, Control::Exit, None),
    ];
    for (class, control, mem) in specs {
        builder.push(InstSpec::of(Traits { class, control, mem, ..Traits::of(class) }));
    }
    builder.finish(RegFile::default(), Vec::new())
}

/// Addresses as kernels have them: mostly regular.
fn addresses() -> impl Strategy<Value = [u64; WARP_LANES]> {
    let regular = (0u64..1 << 40, -600i64..600).prop_map(|(base, stride)| {
        std::array::from_fn(|lane| (base + (1 << 20)).wrapping_add_signed(stride * lane as i64))
    });
    prop_oneof![3 => regular, 1 => proptest::array::uniform32(0u64..1 << 57)]
}

fn instruction() -> impl Strategy<Value = DynInst> {
    let masks = prop_oneof![4 => Just(LaneMask::MAX), 1 => Just(0), 2 => any::<LaneMask>()];
    let spaces = prop_oneof![Just(Space::Global), Just(Space::Shared)];
    let reconverge = prop_oneof![2 => Just(None), 1 => (0u32..10).prop_map(|pc| Some(Pc(pc)))];
    let lanes = (masks.clone(), masks, any::<bool>(), reconverge);
    (0u32..10, lanes, addresses(), addresses(), spaces, 0u8..16, any::<u32>()).prop_map(
        |(pc, (active, mask, diverged, reconverge), addresses, addresses2, space, small, number)| DynInst {
            held: false,
            at_mbarrier: false,
            transfer: None,
            peers: None,
            pc: Pc(pc),
            mask: mask & active,
            active,
            space,
            addresses,
            addresses2: Some(Box::new(addresses2)),
            diverged,
            barrier: BarrierArrival { id: small, threads: number as u16 },
            sleep_cycles: number,
            async_groups_left: small,
            next_pc: None,
            reconverge,
        },
    )
}

/// Fields that the timing model may look at.
fn seen(program: &Program, done: &DynInst) -> String {
    let inst = program.inst(done.pc);
    let mut text = format!("{} {:x} {:x} {:?}", done.pc.0, done.active, done.mask, done.reconverge);
    if let Some(mem) = inst.mem.filter(|_| done.mask != 0) {
        let space = if mem.space == Space::Generic { done.space } else { mem.space };
        let lanes: Vec<u64> = kit::lanes(done.mask).map(|lane| done.addresses[lane]).collect();
        text += &format!(" {space:?} {lanes:x?}");
        if mem.has_two_addresses() {
            let lanes: Vec<u64> = kit::lanes(done.mask).map(|lane| done.second_addresses()[lane]).collect();
            text += &format!(" {lanes:x?}");
        }
    }
    match inst.control {
        Control::Branch => text += &format!(" {}", done.diverged),
        Control::BarrierSync => text += &format!(" {:?}", done.barrier),
        Control::Sleep => text += &format!(" {}", done.sleep_cycles),
        Control::AsyncWait => text += &format!(" {}", done.async_groups_left),
        _ => {}
    }
    text
}

/// Local addresses are in a thread's own memory.
fn within_local(mut done: DynInst) -> DynInst {
    if done.pc.0 == 3 {
        done.addresses = done.addresses.map(|a| a % (1 << LOCAL_BITS));
    }
    done
}

fn encoded(program: &Program, warps: &[Vec<DynInst>]) -> Vec<u8> {
    let mut log = CtaLog::new(warps.len(), false);
    // The warps take turns, as they do when they run.
    for turn in 0..warps.iter().map(Vec::len).max().unwrap_or(0) {
        for (warp, all) in warps.iter().enumerate() {
            if let Some(done) = all.get(turn) {
                log.note(warp, program.inst(done.pc), done);
            }
        }
    }
    log.finish()
}

fn warps() -> impl Strategy<Value = Vec<Vec<DynInst>>> {
    let warp = proptest::collection::vec(instruction().prop_map(within_local), 1..40);
    proptest::collection::vec(warp, 1..4)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn what_warps_do_comes_back(warps in warps()) {
        let program = program();
        let mut code = CtaCode::default();
        code.take(&encoded(&program, &warps), warps.len(), &program, NO_VALUES).unwrap();
        for (warp, all) in warps.iter().enumerate() {
            prop_assert_eq!(code.left(warp), all.len() as u64);
            for (index, expected) in all.iter().enumerate() {
                let mut out = DynInst::default();
                prop_assert_eq!(code.next_pc(warp), Some(expected.pc));
                code.step(warp, &program, &mut out).unwrap();
                prop_assert_eq!(seen(&program, &out), seen(&program, expected));
                prop_assert_eq!(out.next_pc, all.get(index + 1).map(|next| next.pc));
            }
            prop_assert_eq!(code.next_pc(warp), None);
        }
    }

    #[test]
    fn damaged_bytes_give_instructions_or_an_error(
        warps in warps(), hits in proptest::collection::vec((any::<u16>(), any::<u8>()), 1..6), cut in 0usize..8,
    ) {
        let program = program();
        let mut bytes = encoded(&program, &warps);
        let length = bytes.len();
        hits.iter().for_each(|&(at, with)| bytes[at as usize % length] = with);
        bytes.truncate(length - cut.min(length));
        let mut code = CtaCode::default();
        if code.take(&bytes, warps.len(), &program, NO_VALUES).is_ok() {
            for warp in 0..warps.len() {
                let mut out = DynInst::default();
                while code.next_pc(warp).is_some() && code.step(warp, &program, &mut out).is_ok() {
                    prop_assert!(out.pc.index() < program.insts().len());
                }
            }
        }
    }
}

#[test]
fn a_regular_loop_takes_a_byte_for_each_instruction() {
    let program = program();
    let mut warp = Vec::new();
    for turn in 0..100u64 {
        for pc in [0, 1, 5] {
            let addresses = std::array::from_fn(|lane| 0x10_0000 + 4096 * turn + 4 * lane as u64);
            warp.push(DynInst {
                pc: Pc(pc),
                mask: LaneMask::MAX,
                active: LaneMask::MAX,
                addresses,
                ..DynInst::default()
            });
        }
    }
    // 300 instructions, two jumps of a byte in each turn, and a head.
    assert!(encoded(&program, &[warp]).len() < 300 + 200 + 30);
}

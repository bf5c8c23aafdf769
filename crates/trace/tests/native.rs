//! Files of our own format: recording and reading, messages for damage.

use isa::Form;
use isa::{
    Access, CacheOp, ConstantOperand, Control, ControlBits, CounterBound, CtaSlot, Dim3, DynInst, Fault, GroupWork,
    InstSpec, KernelId, LaunchShape, MatrixType, MatrixWork, MemAccess, OpClass, OperandValues, Pc, Program,
    ProgramBuilder, RegFile, RegId, Space, StepContext, Traits, WarpSlot, WarpStream,
};
use proptest::prelude::*;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;
use trace::{
    Action, Compression, KernelTrace, LaunchInfo, NativeShared, NativeStream, NativeTrace, Recorder, TraceError,
    export_accelsim, is_native,
};

const GRID: Dim3 = Dim3::new(3, 2, 1);
const CONTEXT: StepContext = StepContext { now: 0, sm: 0 };

fn program() -> Arc<Program> {
    let mut builder = ProgramBuilder::new("add", 8);
    let global = |access| Some(MemAccess { space: Space::Global, access, bytes: 8, cache: CacheOp::L2 });
    let (r, p) = ([RegId(0), RegId(1), RegId(2)], [RegId(10)]);
    let matrix = Some(MatrixWork { ty: MatrixType::Int4, multiply_adds: 8192, group: None });
    let group = Some(GroupWork { columns: 256, a_in_registers: true });
    let of_group = Some(MatrixWork { ty: MatrixType::B1, multiply_adds: 1 << 20, group });
    let constant = Some(ConstantOperand { bank: 3, offset: 0xfffc });
    let counter_bound = Some(CounterBound { counter: 5, at_most: 63, drained: 7 });
    let slots = [Some(2), None, Some(254)];
    let traits = Traits { partial: true, matrix, constant, slots, counter_bound, ..Traits::of(OpClass::IntAdd) };
    let add = InstSpec { dsts: &r[..2], srcs: &r, ..InstSpec::of(traits) };
    builder.push(InstSpec { text: "add.u64 %rd1, %rd1, %rd2;", ..add });
    let load = InstSpec {
        dsts: &r[..2],
        srcs: &p,
        ..InstSpec::of(Traits { mem: global(Access::Load), matrix: of_group, ..Traits::of(OpClass::Load) })
    };
    builder.push(InstSpec { text: "@%p1 ld.global.u64 %rd1, [%rd3];", ..load });
    builder.push(InstSpec {
        text: "bar.sync 0;",
        ..InstSpec::of(Traits { control: Control::BarrierSync, ..Traits::of(OpClass::Barrier) })
    });
    builder.push(InstSpec {
        srcs: &r,
        ..InstSpec::of(Traits { mem: global(Access::Store), ..Traits::of(OpClass::Store) })
    });
    builder.push(InstSpec {
        text: "exit;",
        ..InstSpec::of(Traits { control: Control::Exit, ..Traits::of(OpClass::Exit) })
    });
    Arc::new(builder.finish(RegFile { vector: 10, predicate: 2, uniform: 1 }, vec!["add.cu".into()]))
}

/// Warps that execute the program once, each at addresses of its own.
#[derive(Default)]
struct Scripted {
    warps: Vec<(Dim3, u32, u32)>,
}

impl WarpStream for Scripted {
    type Shared = ();

    fn start_cta(&mut self, (): &(), _: KernelId, cta: Dim3, _: CtaSlot, warps: &[WarpSlot]) {
        self.warps.resize(8, (cta, 0, 0));
        for (index, warp) in warps.iter().enumerate() {
            self.warps[warp.index()] = (cta, index as u32, 0);
        }
    }

    fn next_pc(&self, warp: WarpSlot) -> Option<Pc> {
        let pc = self.warps[warp.index()].2;
        (pc < 5).then_some(Pc(pc))
    }

    fn step(&mut self, (): &(), warp: WarpSlot, _: StepContext, out: &mut DynInst) -> Result<(), Box<Fault>> {
        let (cta, index, pc) = &mut self.warps[warp.index()];
        out.pc = Pc(*pc);
        (out.active, out.mask) = (u32::MAX, if *pc == 1 { 0x00ff_00ff } else { u32::MAX });
        let start = 0x7f_0000_0000 + u64::from(cta.x * 4096 + cta.y * 65536 + *index * 256);
        out.addresses = std::array::from_fn(|lane| start + 8 * lane as u64);
        *pc += 1;
        out.next_pc = (*pc < 5).then_some(Pc(*pc));
        Ok(())
    }

    fn step_with_values(
        &mut self,
        (): &(),
        warp: WarpSlot,
        context: StepContext,
        out: &mut DynInst,
        values: &mut OperandValues,
    ) -> Result<(), Box<Fault>> {
        self.step(&(), warp, context, out)?;
        let (cta, index, _) = self.warps[warp.index()];
        let operands = program().srcs(program().inst(out.pc)).len();
        // One column is constant, one regular, one neither.
        let value = |k: usize, lane: u32| [cta.x + index, cta.y + 3 * lane, lane * lane][k % 3] * out.pc.0;
        values.columns = (0..operands).map(|k| std::array::from_fn(|lane| value(k, lane as u32))).collect();
        Ok(())
    }

    fn end_cta(&mut self, _: CtaSlot) {}
}

fn launch() -> LaunchInfo {
    let (block, registers_per_thread, shared_bytes) = (Dim3::new(64, 1, 1), 12, 256);
    let shape = LaunchShape { grid: GRID, block, registers_per_thread, shared_bytes, cluster: None };
    LaunchInfo { code: 0, shape, stream: 2, architecture: 86, timing: Form::Ptx }
}

/// All instructions of warps 0 and 1 of each CTA, as text, with the values that they read. CTAs run in the
/// order `order`.
fn play<S: WarpStream>(stream: &mut S, shared: &mut S::Shared, order: &[u64]) -> Result<Vec<String>, Box<Fault>> {
    let mut texts = vec![String::new(); GRID.volume() as usize];
    for &cta in order {
        stream.prepare_cta(shared, KernelId(0), GRID.position(cta));
        stream.start_cta(shared, KernelId(0), GRID.position(cta), CtaSlot(1), &[WarpSlot(3), WarpSlot(5)]);
        for warp in [WarpSlot(5), WarpSlot(3)] {
            let (mut out, mut values) = (DynInst::default(), OperandValues::default());
            while stream.next_pc(warp).is_some() {
                stream.step_with_values(shared, warp, CONTEXT, &mut out, &mut values)?;
                let lanes: Vec<u64> = kit::lanes(out.mask).map(|lane| out.addresses[lane]).collect();
                let addresses = if matches!(out.pc.0, 1 | 3) { format!("{lanes:x?}") } else { String::new() };
                texts[cta as usize] +=
                    &format!("{} {:x} {:?} {addresses} {:?}\n", out.pc.0, out.mask, out.next_pc, values.columns);
            }
        }
        stream.end_cta(CtaSlot(1));
        stream.merge(shared);
    }
    Ok(texts)
}

/// The program, as machine code with the control bits of `IMAD.X R3, R7.reuse, R4, R5` and others.
fn program_of(machine_code: bool) -> Arc<Program> {
    let mut program = program();
    for (pc, bits) in [0x23f2, 0xfe2, 0x1_0f25, 0x7e1, 0x1f_ffff].into_iter().enumerate().filter(|_| machine_code) {
        Arc::make_mut(&mut program).set_control_bits(pc.into(), ControlBits::of(bits));
    }
    program
}

/// Records the scripted run with operand values; its CTAs end in the order `order`.
fn record(path: &Path, order: &[u64], machine_code: bool) -> Result<Vec<String>, TraceError> {
    let mut recorder = Recorder::create(path, "test 1", "some-gpu", true)?;
    recorder.note(Action::CopyToDevice { address: 0x7f_0000_0000, bytes: 4096 });
    recorder.launch(&program_of(machine_code), launch());
    recorder.note(Action::Wait);
    let mut recording = recorder.record(Scripted::default(), |(), _| Some(program()));
    let texts = play(&mut recording, &mut (), order).unwrap();
    recorder.finish().map(|_| texts)
}

const ORDER: [u64; 6] = [4, 0, 1, 5, 3, 2];

#[test]
fn a_recorded_run_is_read_again() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.wwt");
    let expected = record(&path, &ORDER, true).unwrap();
    assert!(is_native(&path));
    let trace = Arc::new(NativeTrace::open(&path).unwrap());
    let contents = &trace.contents;
    assert!(contents.has_values);
    assert_eq!((contents.producer.as_str(), contents.gpu.as_str()), ("test 1", "some-gpu"));
    let copy = Action::CopyToDevice { address: 0x7f_0000_0000, bytes: 4096 };
    assert_eq!(contents.actions, [copy, Action::Launch, Action::Wait]);
    assert_eq!(trace.launches(), [launch()]);
    assert_eq!((trace.warp_instructions(0), trace.thread_instructions(0)), (60, 12 * (4 * 32 + 16)));
    assert_eq!(format!("{:?}", trace.code(0)), format!("{:?}", program_of(true)));

    let mut shared = NativeShared::new(trace).unwrap();
    let got = play(&mut NativeStream::new(), &mut shared, &[0, 1, 2, 3, 4, 5]).unwrap();
    assert_eq!(got, expected);
}

/// A file of the version without values: `vectoradd`, small, on the GTX 480.
#[test]
fn the_first_version_is_read() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/version1.wwt");
    let trace = Arc::new(NativeTrace::open(&path).unwrap());
    assert!(!trace.contents.has_values);
    assert_eq!((trace.warp_instructions(0), trace.thread_instructions(0)), (45_056, 1_376_256));
    let mut shared = NativeShared::new(trace).unwrap();
    let mut stream = NativeStream::new();
    let slots: Vec<WarpSlot> = (0..8).map(WarpSlot).collect();
    stream.prepare_cta(&mut shared, KernelId(0), Dim3::new(0, 0, 0));
    stream.start_cta(&shared, KernelId(0), Dim3::new(0, 0, 0), CtaSlot(0), &slots);
    let (mut out, mut values, mut steps) = (DynInst::default(), OperandValues::default(), 0);
    while stream.next_pc(WarpSlot(7)).is_some() {
        stream.step_with_values(&shared, WarpSlot(7), CONTEXT, &mut out, &mut values).unwrap();
        assert!(values.columns.is_empty());
        steps += 1;
    }
    assert_eq!(steps, 22);
}

#[test]
fn a_run_without_all_its_ctas_is_no_trace() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.wwt");
    let error = record(&path, &ORDER[1..], false).unwrap_err();
    assert_eq!(error.what, "cannot be written: 5 of 6 CTAs have ended");
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0, "nothing is left behind");
}

#[test]
fn the_export_for_accelsim_has_the_same_instructions() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.wwt");
    record(&path, &ORDER, false).unwrap();
    let trace = Arc::new(NativeTrace::open(&path).unwrap());
    export_accelsim(&trace, folder.path(), Compression::None, &mut |_, _| ControlFlow::Continue(())).unwrap();
    let list = std::fs::read_to_string(folder.path().join("kernelslist.g")).unwrap();
    assert_eq!(list, "MemcpyHtoD,0x0000007f00000000,4096\nkernel-1.traceg\n");
    let kernel = folder.path().join("kernel-1.traceg");
    let text = std::fs::read_to_string(&kernel).unwrap();
    let first = "thread block = 0,0,0\n\nwarp = 0\ninsts = 5\n\
        0000 ffffffff 1 R0 IADD3 2 R0 R2 0 0 \n\
        0010 00ff00ff 1 R0 LDG.E.STRONG.GPU.64 0 8 2 0x7f00000000 8 8 8 8 8 8 8 72 8 8 8 8 8 8 8 0 0 \n\
        0020 ffffffff 0 BAR.SYNC 0 0 0 \n\
        0030 ffffffff 0 STG.E.STRONG.GPU.64 2 R0 R2 8 1 0x7f00000000 8 0 \n\
        0040 ffffffff 0 EXIT 0 0 0 \n";
    assert!(text.contains(first), "{text}");
    let read = KernelTrace::open(&kernel).unwrap();
    assert_eq!(read.header.shape, launch().shape);
    assert_eq!((read.warp_instructions, read.thread_instructions), (60, 12 * (4 * 32 + 16)));
    assert!(read.oddities.unknown_opcodes.is_empty() && read.oddities.warps_without_exit == 0);
}

/// Opens and plays a file; a fault is returned as an error.
fn use_it(path: &Path) -> Result<(), String> {
    let trace = Arc::new(NativeTrace::open(path).map_err(|e| e.to_string())?);
    if trace.launches().len() != 1 || trace.launches()[0].shape.grid != GRID {
        return Ok(());
    }
    let mut shared = NativeShared::new(trace).map_err(|e| e.to_string())?;
    play(&mut NativeStream::new(), &mut shared, &ORDER).map(|_| ()).map_err(|e| e.to_string())
}

fn good() -> Vec<u8> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.wwt");
    record(&path, &ORDER, false).unwrap();
    std::fs::read(&path).unwrap()
}

fn use_bytes(bytes: &[u8]) -> Result<(), String> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.wwt");
    std::fs::write(&path, bytes).unwrap();
    use_it(&path).map_err(|e| e.replace(&folder.path().display().to_string(), ""))
}

#[test]
fn what_is_wrong_is_named_with_its_byte() {
    let good = good();
    assert_eq!(use_bytes(&good), Ok(()));
    let with = |at: usize, byte: u8| {
        let mut bytes = good.clone();
        bytes[at] = byte;
        use_bytes(&bytes).unwrap_err()
    };
    let length = good.len();
    assert!(with(0, b'W').starts_with("/t.wwt, byte 0: this is not a trace of Warpwright's own format"));
    assert!(with(8, 7).contains("byte 8: version 7 of the format; this program reads versions 1 to 6"));
    assert!(with(length - 1, b'?').contains("the end of a trace is missing"), "{}", with(length - 1, b'?'));
    assert!(with(length - 30, 1).contains("the table of contents is not where the tail says"));
    let in_footer = with(length - 40, good[length - 40] ^ 1);
    assert!(in_footer.contains("the checksum is wrong") && !in_footer.contains("byte 16:"), "{in_footer}");
    let in_block = with(20, good[20] ^ 1);
    assert!(in_block.contains(", byte 16: the checksum is wrong\n  hint: the file may be damaged"), "{in_block}");
    let cut = use_bytes(&good[..length - 5]).unwrap_err();
    assert!(cut.contains(&format!("byte {}: the end of a trace is missing", length - 5)), "{cut}");
    assert!(use_bytes(b"").unwrap_err().contains("this is not a trace"));
}

/// The parts of a file: everything before the table of contents, and the unpacked table.
fn parts(file: &[u8]) -> (Vec<u8>, Vec<u8>) {
    let tail = &file[file.len() - 32..];
    let offset = u64::from_le_bytes(tail[..8].try_into().unwrap()) as usize;
    let stored = &file[offset..file.len() - 32];
    let unpacked = u32::from_le_bytes(tail[12..16].try_into().unwrap()) as usize;
    let mut footer = Vec::new();
    if unpacked == stored.len() {
        footer.extend_from_slice(stored);
    } else {
        std::io::Read::read_to_end(&mut flate2::read::DeflateDecoder::new(stored), &mut footer).unwrap();
    }
    (file[..offset].to_vec(), footer)
}

/// A file with another table of contents and a valid checksum.
fn with_footer(before: &[u8], footer: &[u8]) -> Vec<u8> {
    let mut crc = flate2::Crc::new();
    crc.update(footer);
    let mut file = [before, footer].concat();
    file.extend((before.len() as u64).to_le_bytes());
    for word in [footer.len() as u32, footer.len() as u32, crc.sum(), 0] {
        file.extend(word.to_le_bytes());
    }
    file.extend(b"wwtrend\n");
    file
}

#[test]
fn a_file_may_be_put_together_again() {
    let good = good();
    let (before, footer) = parts(&good);
    assert_eq!(use_bytes(&with_footer(&before, &footer)), Ok(()));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn damaged_files_give_errors(at in any::<usize>(), with in any::<u8>(), cut in 0usize..2) {
        let mut bytes = good();
        let length = bytes.len();
        bytes[at % length] ^= with;
        if cut == 1 {
            bytes.truncate(at % length);
        }
        // Six bytes of the head and four of the tail have no meaning yet.
        let unused = (10..16).contains(&(at % length)) || (length - 12..length - 8).contains(&(at % length));
        if with != 0 && !unused || cut == 1 {
            prop_assert!(use_bytes(&bytes).is_err());
        }
    }

    #[test]
    fn tables_of_contents_that_make_no_sense_do_no_harm(
        hits in proptest::collection::vec((any::<usize>(), any::<u8>()), 1..5), cut in 0usize..10,
    ) {
        let (before, mut footer) = parts(&good());
        let length = footer.len();
        hits.iter().for_each(|&(at, with)| footer[at % length] = with);
        footer.truncate(length.saturating_sub(cut.saturating_sub(6)));
        let _ = use_bytes(&with_footer(&before, &footer));
    }
}

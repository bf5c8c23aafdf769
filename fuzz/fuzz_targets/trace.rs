//! Any bytes as a list, as a kernel's trace, as a file of our own format, as the table of contents of
//! one, and as a CTA of one: each is read to its end, or refused with a message.
#![no_main]

use isa::{Access, CacheOp, Control, CtaSlot, Dim3, DynInst, InstSpec, KernelId, MemAccess, OpClass, Program, Traits};
use isa::{ProgramBuilder, RegFile, Space, StepContext, WarpSlot, WarpStream};
use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock};
use trace::{KernelTrace, List, NativeShared, NativeStream, NativeTrace, TraceShared, TraceStream, walk_cta};

/// Most CTAs of a launch that are gone through.
const CTAS: u64 = 64;

static FOLDER: LazyLock<PathBuf> = LazyLock::new(|| {
    let folder = std::env::temp_dir().join(format!("fuzz-trace-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder for one file");
    folder
});

/// An instruction of each kind that a trace says something special of.
static PROGRAM: LazyLock<Program> = LazyLock::new(|| {
    let memory = |space, access| Some(MemAccess { space, access, bytes: 4, cache: CacheOp::All });
    let mut builder = ProgramBuilder::new("k", 16);
    for (class, control, mem) in [
        (OpClass::Load, Control::None, memory(Space::Global, Access::Load)),
        (OpClass::Store, Control::None, memory(Space::Generic, Access::Store)),
        (OpClass::AsyncCopy, Control::None, memory(Space::Global, Access::AsyncCopy)),
        (OpClass::Barrier, Control::BarrierSync, None),
        (OpClass::Nop, Control::Sleep, None),
        (OpClass::Fence, Control::AsyncWait, None),
        (OpClass::Branch, Control::Branch, None),
        (OpClass::Exit, Control::Exit, None),
    ] {
        builder.push(InstSpec::of(Traits { control, mem, ..Traits::of(class) }));
    }
    builder.finish(RegFile::default(), Vec::new())
});

fn file(bytes: &[u8]) -> PathBuf {
    let path = FOLDER.join("kernel-1.traceg");
    std::fs::write(&path, bytes).expect("a file");
    path
}

/// Goes through the CTAs of a launch.
fn play<S: WarpStream>(stream: &mut S, shared: &mut S::Shared, launch: usize, grid: Dim3, warps: u32) {
    let warps: Vec<WarpSlot> = (0..warps as u16).map(WarpSlot).collect();
    let mut out = DynInst::default();
    for cta in 0..grid.volume().min(CTAS) {
        stream.prepare_cta(shared, KernelId::from(launch), grid.position(cta));
        stream.start_cta(shared, KernelId::from(launch), grid.position(cta), CtaSlot(0), &warps);
        for &warp in &warps {
            while stream.next_pc(warp).is_some() {
                if let Err(fault) = stream.step(shared, warp, StepContext { now: 0, sm: 0 }, &mut out) {
                    assert!(!fault.to_string().is_empty());
                    return;
                }
            }
        }
        stream.end_cta(CtaSlot(0));
    }
}

fn accelsim(path: &Path) {
    match KernelTrace::open(path) {
        Err(error) => assert!(!error.to_string().is_empty()),
        Ok(trace) => {
            let (shape, mut shared) = (trace.header.shape, TraceShared::new());
            shared.launch(Arc::new(trace)).expect("the file is there");
            play(&mut TraceStream::new(), &mut shared, 0, shape.grid, shape.warps());
        }
    }
}

fn native(path: &Path) {
    match NativeTrace::open(path) {
        Err(error) => assert!(!error.to_string().is_empty()),
        Ok(trace) => {
            let trace = Arc::new(trace);
            for (index, launch) in trace.launches().iter().enumerate().take(4) {
                let mut shared = NativeShared::new(trace.clone()).expect("the file is there");
                play(&mut NativeStream::new(), &mut shared, index, launch.shape.grid, launch.shape.warps());
            }
        }
    }
}

/// A file whose table of contents is `footer`, behind the blocks `before`.
fn around(before: &[u8], footer: &[u8]) -> Vec<u8> {
    let mut crc = flate2::Crc::new();
    crc.update(footer);
    let mut file = [b"wwtrace\n\x01\0\0\0\0\0\0\0", before, footer].concat();
    file.extend((16 + before.len() as u64).to_le_bytes());
    for word in [footer.len() as u32, footer.len() as u32, crc.sum(), 0] {
        file.extend(word.to_le_bytes());
    }
    file.extend(b"wwtrend\n");
    file
}

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let Some((kind, bytes)) = bytes.split_first() else { return };
    match kind % 5 {
        0 => accelsim(&file(bytes)),
        1 => drop(List::open(&file(bytes)).map_err(|e| assert!(!e.to_string().is_empty()))),
        2 => native(&file(bytes)),
        3 => native(&file(&around(&bytes[..bytes.len() / 4], &bytes[bytes.len() / 4..]))),
        _ => drop(walk_cta(bytes, 2, &PROGRAM)),
    }
});

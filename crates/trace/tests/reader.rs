//! Traces from text: formats, compression, streams, damage.

use isa::{CtaSlot, Dim3, DynInst, KernelId, OpClass, Space, StepContext, WarpSlot, WarpStream};
use proptest::prelude::*;
use std::io::{Read, Write};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use trace::{Command, KernelTrace, List, TraceError, TraceShared, TraceStream};

fn head(version: u32, line_info: bool) -> String {
    format!(
        "-kernel name = k\n-kernel id = 1\n-grid dim = (2,1,1)\n-block dim = (64,1,1)\n-shmem = 16\n-nregs = 9\n\
         -binary version = 80\n-cuda stream id = 3\n-shmem base_addr = 0x00007f0000000000\n\
         -local mem base_addr = 0x00007f0001000000\n-nvbit version = 1.5.5\n-accelsim tracer version = {version}\n\
         -enable lineinfo = {}\n\n#traces format = anything\n",
        u8::from(line_info)
    )
}

/// Two CTAs of two warps; `prefix` precedes each instruction.
fn body(prefix: &str) -> String {
    let mut text = String::new();
    for cta in 0..2 {
        text += &format!("\n#BEGIN_TB\n\nthread block = {cta},0,0\n");
        for warp in 0..2 {
            text += &format!("\nwarp = {warp}\ninsts = 7\n");
            for line in [
                "0000 ffffffff 1 R1 MOV 0 0 0",
                "0010 0000000f 1 R2 LDG.E.64 1 R4 8 1 0x1000 8 0",
                "0020 00000005 0 STG.E 2 R4 R2 4 0 0x2000 0x9000 0",
                "0030 00000007 1 R3 LD.E 1 R8 4 2 0x7f0000000010 4 -8 0 0",
                "0040 00000000 1 R3 FROBNICATE.X 1 R255 0 0",
                "0050 ffffffff 0 BAR.SYNC 0 0 0",
                "0060 ffffffff 0 EXIT 0 0 0",
            ] {
                text += &format!("{prefix}{line}\n");
            }
        }
        text += "#END_TB\n";
    }
    text
}

fn write(folder: &Path, name: &str, bytes: &[u8]) -> PathBuf {
    let path = folder.join(name);
    std::fs::write(&path, bytes).unwrap();
    path
}

fn open(text: &str) -> Result<KernelTrace, TraceError> {
    let folder = tempfile::tempdir().unwrap();
    KernelTrace::open(&write(folder.path(), "kernel-1.traceg", text.as_bytes()))
}

/// All instructions of all warps, as text, and the oddities.
fn run(path: &Path) -> String {
    let kept = played(&Arc::new(KernelTrace::open(path).unwrap()));
    let read_twice = KernelTrace::open_while(path, 0, 1, &mut || ControlFlow::Continue(())).unwrap().unwrap();
    assert_eq!(played(&Arc::new(read_twice)), kept);
    assert!(KernelTrace::open_while(path, 0, 1, &mut || ControlFlow::Break(())).unwrap().is_none());
    kept
}

fn played(trace: &Arc<KernelTrace>) -> String {
    played_ctas(trace, 2)
}

fn played_ctas(trace: &Arc<KernelTrace>, ctas: u32) -> String {
    let mut shared = TraceShared::new();
    shared.launch(trace.clone()).unwrap();
    let mut stream = TraceStream::new();
    let (warps, context) = ([WarpSlot(4), WarpSlot(5)], StepContext { now: 0, sm: 0 });
    let mut text = String::new();
    for cta in 0..ctas {
        stream.prepare_cta(&mut shared, KernelId(0), Dim3::new(cta, 0, 0));
        stream.start_cta(&shared, KernelId(0), Dim3::new(cta, 0, 0), CtaSlot(0), &warps);
        for warp in warps {
            let mut out = DynInst::default();
            while let Some(next) = stream.next_pc(warp) {
                stream.step(&shared, warp, context, &mut out).unwrap();
                assert_eq!(out.pc, next);
                let inst = trace.program.inst(out.pc);
                let lanes: Vec<_> = kit::lanes(out.mask).map(|l| out.addresses[l]).collect();
                let addresses = if inst.mem.is_some() { format!(" {:?} {lanes:x?}", out.space) } else { String::new() };
                text += &format!("{} {:x} {:?}{addresses}\n", trace.program.text(out.pc), out.mask, inst.class);
            }
            assert_eq!(out.next_pc, None);
        }
        stream.end_cta(CtaSlot(0));
    }
    text
}

#[test]
fn a_trace_gives_its_program_and_its_streams() {
    let folder = tempfile::tempdir().unwrap();
    let path = write(folder.path(), "k.traceg", (head(5, false) + &body("")).as_bytes());
    let trace = KernelTrace::open(&path).unwrap();
    assert_eq!((trace.header.name.as_str(), trace.header.stream), ("k", 3));
    assert_eq!((trace.warp_instructions, trace.program.insts().len()), (28, 7));
    assert_eq!(trace.thread_instructions, 4 * (3 * 32 + 4 + 2 + 3));
    assert_eq!(trace.oddities.unknown_opcodes[0].opcode, "FROBNICATE");
    assert_eq!(trace.oddities.unknown_opcodes[0].count, 4);
    assert_eq!(trace.oddities.accesses_near_zero, 8);
    let load = &trace.program.insts()[1];
    assert_eq!((load.class, load.mem.unwrap().space, load.mem.unwrap().bytes), (OpClass::Load, Space::Global, 8));
    let text = run(&path);
    let once = "0000 1 R1 MOV 0 ffffffff Move\n\
        0010 1 R2 LDG.E.64 1 R4 f Load Global [1000, 1008, 1010, 1018]\n\
        0020 0 STG.E 2 R4 R2 5 Store Global [2000, 9000]\n\
        0030 1 R3 LD.E 1 R8 7 Load Shared [10, 14, c]\n\
        0040 1 R3 FROBNICATE.X 1 R255 0 IntAdd\n\
        0050 0 BAR.SYNC 0 ffffffff Barrier\n\
        0060 0 EXIT 0 ffffffff Exit\n";
    assert_eq!(text, once.repeat(4));
}

#[test]
fn addresses_that_make_no_sense_are_counted_and_cut() {
    let body = body("")
        .replace("1 0x1000 8 0", "1 0x8 -8 0")
        .replace("0 0x2000 0x9000", "0 0xfffffffffffffff0 0x7fff00000000")
        .replace("2 0x7f0000000010 4 -8 0", "2 0x10 4 -8 0");
    let folder = tempfile::tempdir().unwrap();
    let path = write(folder.path(), "k", (head(5, false) + &body).as_bytes());
    let oddities = KernelTrace::open(&path).unwrap().oddities;
    assert_eq!((oddities.accesses_beyond_memory, oddities.accesses_near_zero), (8, 8));
    let text = run(&path);
    assert!(text.contains("STG.E 2 R4 R2 5 Store Global [1fffffffffffff0, 7fff00000000]"), "{text}");
    assert!(text.contains("LDG.E.64 1 R4 f Load Global [8, 0, 1fffffffffffff8, 1fffffffffffff0]"), "{text}");
}

#[test]
fn local_addresses_are_offsets_in_a_threads_memory() {
    let body = body("").replace("LDG.E.64 1 R4 8 1 0x1000 8", "LDL.64 1 R4 8 1 0x7f0001000010 8");
    let folder = tempfile::tempdir().unwrap();
    let path = write(folder.path(), "k", (head(5, false) + &body).as_bytes());
    assert!(run(&path).contains("LDL.64 1 R4 f Load Local [10, 18, 20, 28]"));
}

#[test]
fn all_versions_and_compressions_say_the_same() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let plain = (head(5, false) + &body("")).into_bytes();
    let expected = run(&write(at, "plain", &plain));
    let old = head(2, false) + &body("1 0 0 1 ");
    assert_eq!(run(&write(at, "old", old.as_bytes())), expected);
    let lines = head(5, true) + &body("77 ");
    assert_eq!(run(&write(at, "lines", lines.as_bytes())), expected);
    let clusters = head(5, false) + &body("").replace("\nwarp", "\ncluster id = 1,1,1\nwarp");
    assert_eq!(run(&write(at, "clusters", clusters.as_bytes())), expected);

    let mut gz = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    gz.write_all(&plain).unwrap();
    assert_eq!(run(&write(at, "gz", &gz.finish().unwrap())), expected);
    let mut xz = lzma_rust2::XzWriter::new(Vec::new(), lzma_rust2::XzOptions::with_preset(1)).unwrap();
    xz.write_all(&plain).unwrap();
    assert_eq!(run(&write(at, "xz", &xz.finish().unwrap())), expected);
    let zst = ruzstd::encoding::compress_to_vec(&plain[..], ruzstd::encoding::CompressionLevel::Fastest);
    assert_eq!(run(&write(at, "zst", &zst)), expected);
}

#[test]
fn a_list_names_its_files_compressed_or_not() {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), "kernel-2.traceg.xz", b"");
    let list = "MemcpyHtoD,0x00007fc841500000,32768\n\nkernel-1.traceg\nkernel-2.traceg\nMemcpyDtoH,0x1,2\n";
    let list = List::open(&write(folder.path(), "kernelslist.g", list.as_bytes())).unwrap();
    let at = |name: &str| Command::Kernel(folder.path().join(name));
    let copy = Command::CopyToDevice { address: 0x7fc8_4150_0000, bytes: 32768 };
    assert_eq!(list.commands, [copy, at("kernel-1.traceg"), at("kernel-2.traceg.xz"), Command::CopyFromDevice]);
    let bad = List::open(&write(folder.path(), "bad.g", b"kernel-1.traceg\nlaunch it\n")).unwrap_err();
    assert_eq!((bad.line, bad.what.as_str()), (2, "`launch it` is not a command"));
}

#[test]
fn what_is_wrong_is_named_with_its_line() {
    let good = head(5, false) + &body("");
    for (from, to, line, what) in [
        ("(64,1,1)", "(4096,1,1)", 0, "a CTA of 4096 threads; no GPU has more than 1024"),
        ("(2,1,1)", "(3,1,1)", 0, "has 2 CTAs, its grid 3"),
        ("(2,1,1)", "(2,1)", 3, "`(2,1)` is not a value for `grid dim`"),
        ("-binary version = 80\n", "", 0, "the head has no `binary version`, which says what machine code it is"),
        ("version = 5", "version = 9", 0, "tracer version 9; versions 1 to 6 can be read"),
        ("warp = 1", "warp = 2", 32, "warp 2 of a CTA that has 2"),
        ("warp = 1", "warp = 999", 32, "warp 999 of a CTA that has 2"),
        ("warp = 0", "warp = 4294967295", 22, "warp 4294967295 of a CTA that has 2"),
        ("warp = 0", "warp = 4294967296", 21, "`warp = 4294967296` is not expected here"),
        ("insts = 7", "insts = 999999999999", 22, "a CTA of more than 268435456 warp instructions"),
        ("warp = 1", "warp = 0", 32, "warp 0 comes twice in its CTA"),
        ("0000 ffff", "00z0 ffff", 23, "expected a program counter in hexadecimal in `00z0 ffffffff 1 R1 MOV 0 0 0`"),
        ("1 R1 MOV", "1 X1 MOV", 23, "expected a register: R0 to R255, UR, P or UP in `0000 ffffffff 1 X1 MOV 0 0 0`"),
        ("8 1 0x1000 8 0", "8 7 0x1000 8 0", 24, "expected an address mode from 0 to 4 in"),
        ("insts = 7", "insts = 8", 31, "the warp lacks 1 instruction"),
        ("#BEGIN_TB", "#BEGIN", 17, "`#BEGIN` is not expected here"),
    ] {
        assert!(good.contains(from), "{from}");
        let error = open(&good.replacen(from, to, 1)).unwrap_err();
        assert!(error.what.starts_with(what), "{}", error.what);
        assert_eq!(error.line, line, "{what}");
    }
    let cut = open(&good[..good.rfind("0060").unwrap()]).unwrap_err();
    assert_eq!(cut.hint, "the trace may be cut short");
}

/// Each number of the head and of a warp in turn.
#[test]
fn any_number_may_be_hostile() {
    const NUMBERS: [&str; 14] = [
        "",
        "0",
        "-1",
        "1",
        "2",
        "31",
        "33",
        "1024",
        "65536",
        "4294967295",
        "4294967296",
        "9223372036854775807",
        "18446744073709551615",
        "99999999999999999999999",
    ];
    let folder = tempfile::tempdir().unwrap();
    let good = head(5, false) + &body("");
    let end = good.find("warp = 1").unwrap();
    let is_digit = |c: char| c.is_ascii_hexdigit();
    let (mut at, mut places, mut ran) = (0, 0, 0);
    while let Some(start) = good[at..end].find(|c: char| c.is_ascii_digit()).map(|from| at + from) {
        at = start + good[start..].find(|c| !is_digit(c)).unwrap();
        places += 1;
        for number in NUMBERS {
            let path = write(folder.path(), "k", [&good[..start], number, &good[at..]].concat().as_bytes());
            match KernelTrace::open(&path) {
                Ok(trace) => {
                    played(&Arc::new(trace));
                    ran += 1;
                }
                Err(error) => assert!(!error.what.is_empty()),
            }
        }
    }
    assert!(places > 60 && ran > 300, "{places} {ran}");
}

/// Many instructions at one program counter are found by their texts.
#[test]
fn instructions_may_share_a_program_counter() {
    let lines: String = (0..60_000).map(|n| format!("0000 ffffffff 0 OP{n} 0 0\n")).collect();
    let head = head(5, false).replace("(64,1,1)", "(32,1,1)").replace("(2,1,1)", "(1,1,1)");
    let trace = open(&format!("{head}#BEGIN_TB\nwarp = 0\ninsts = 60000\n{lines}#END_TB\n")).unwrap();
    assert_eq!((trace.program.insts().len(), trace.oddities.unknown_opcodes.len()), (60_000, 60_000));
}

/// Contents of a compressed file, or the error.
fn unpacked(bytes: &[u8]) -> Result<Vec<u8>, String> {
    unpacked_in(&tempfile::tempdir().unwrap(), bytes)
}

fn unpacked_in(folder: &tempfile::TempDir, bytes: &[u8]) -> Result<Vec<u8>, String> {
    let path = folder.path().join("file");
    // Without emptying the file first, for which file systems wait until it is on the disk.
    let mut file = std::fs::OpenOptions::new().create(true).truncate(false).write(true).open(&path).unwrap();
    file.write_all(bytes).unwrap();
    file.set_len(bytes.len() as u64).unwrap();
    let mut out = Vec::new();
    let read = trace::open_decompressed(&path).and_then(|mut from| from.read_to_end(&mut out));
    read.map(|_| out).map_err(|e| e.to_string())
}

/// Any flip of a bit is found, or changes nothing that matters (a name, a time); so is any cut.
fn check_damage(good: &[u8], text: &[u8]) {
    let folder = tempfile::tempdir().unwrap();
    let unpacked = |bytes: &[u8]| unpacked_in(&folder, bytes);
    assert!(unpacked(good).unwrap() == text);
    for at in 0..good.len() * 8 {
        let mut flipped = good.to_vec();
        flipped[at / 8] ^= 1 << (at % 8);
        // A file with other first bytes is read as it is.
        let read = unpacked(&flipped);
        assert!(at < 48 || read.map_or(true, |read| read == text), "bit {at}");
    }
    assert!((7..good.len()).all(|length| unpacked(&good[..length]).is_err()), "cut short");
}

fn gzip(text: &[u8]) -> Vec<u8> {
    let head = flate2::GzBuilder::new().filename("a name").comment("a comment").extra("extra").mtime(7);
    let mut out = head.write(Vec::new(), flate2::Compression::default());
    out.write_all(text).unwrap();
    out.finish().unwrap()
}

fn xz(text: &[u8], check: lzma_rust2::CheckType) -> Vec<u8> {
    let mut options = lzma_rust2::XzOptions::with_preset(1);
    options.set_check_sum_type(check);
    options.set_block_size(std::num::NonZeroU64::new(100_000));
    let mut out = lzma_rust2::XzWriter::new(Vec::new(), options).unwrap();
    out.write_all(text).unwrap();
    out.finish().unwrap()
}

#[test]
fn compressed_files_are_checked_as_a_whole() {
    use lzma_rust2::CheckType::{Crc32, Crc64, None as NoCheck, Sha256};
    let short: Vec<u8> = (0..100_u8).collect();
    let long: Vec<u8> = (0..120_000_u32).flat_map(|n| (n / 5).to_le_bytes()).collect();
    check_damage(&gzip(&short), &short);
    for check in [Crc32, Crc64, Sha256] {
        check_damage(&xz(&short, check), &short);
        assert!(unpacked(&xz(&long, check)).unwrap() == long, "{check:?}");
    }
    assert!(unpacked(&xz(&long, NoCheck)).unwrap() == long);

    // Several parts, empty ones among them, and what follows the last one.
    let join = |parts: &[Vec<u8>]| parts.concat();
    let twice = [&short[..], &short].concat();
    assert!(unpacked(&join(&[gzip(&short), gzip(b""), gzip(&short)])).unwrap() == twice);
    let padded = [xz(&short, Crc64), xz(b"", Crc32), vec![0; 8], xz(&short, NoCheck), vec![0; 4]];
    assert!(unpacked(&join(&padded)).unwrap() == twice);
    assert!(unpacked(&join(&[xz(&short, Crc64), xz(b"", Crc64).repeat(20_000)])).unwrap() == short);
    for (good, format) in [(gzip(&short), "gzip"), (xz(&short, Crc64), "xz")] {
        for after in [&b"garbage"[..], &[0; 3], &good[..good.len() - 1]] {
            let refused = unpacked(&join(&[good.clone(), after.to_vec()])).unwrap_err();
            assert!(refused.contains(&format!("not valid {format} data")), "{refused}");
        }
    }
}

/// A dictionary of 4 GiB is refused before memory is asked for.
#[test]
fn memory_of_decompression_is_bounded() {
    let mut file = xz(&[7; 1000], lzma_rust2::CheckType::Crc32);
    let head = 12..12 + (usize::from(file[12]) + 1) * 4;
    let dictionary = head.start + file[head.clone()].iter().position(|&byte| byte == 0x21).unwrap() + 2;
    file[dictionary] = 40;
    let mut crc = flate2::Crc::new();
    crc.update(&file[head.start..head.end - 4]);
    file[head.end - 4..head.end].copy_from_slice(&crc.sum().to_le_bytes());
    let refused = unpacked(&file).unwrap_err();
    assert!(refused.contains("a dictionary of more than 256 MiB"), "{refused}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]
    #[test]
    fn damaged_files_give_errors_or_traces_but_never_panic(at in 0usize..2400, with in any::<u8>(), cut in 0usize..2400) {
        let mut text = (head(5, false) + &body("")).into_bytes();
        let length = text.len();
        text[at % length] = with;
        text.truncate(length - cut % 40);
        let folder = tempfile::tempdir().unwrap();
        let path = write(folder.path(), "k", &text);
        if KernelTrace::open(&path).is_ok() {
            run(&path);
        }
    }
}

/// A line, with `@` for the first address if it has any.
fn line() -> impl Strategy<Value = String> {
    let stride = prop_oneof![-0x100i64..0x100, any::<i64>()];
    let opcode = prop_oneof!["LDG.E", "LDS", "LD.E", "STL.64", "IADD3", "FROB"];
    let access = prop_oneof![
        stride.clone().prop_map(|stride| format!("ff 0 OP 1 R1 4 1 0x@ {stride}")),
        stride.prop_map(|delta| format!("7 1 R2 OP 1 R1 4 2 0x@ 4 {delta} 0")),
        (0u8..2).prop_map(|mode| format!("5 0 OP 0 4 {mode} @ 4")),
        Just("1 0 OP 0 4 0 0x@ 8".to_owned()),
        Just("ff 0 OP 0 0".to_owned()),
        Just("0 0 OP 0 4 1 0x0 0".to_owned()),
    ];
    (0u8..9, access, opcode).prop_map(|(pc, line, opcode)| format!("{pc:04x} {}", line.replace("OP", &opcode)))
}

/// For each instruction of a warp, whether it has the common mask, and the first address if the warp executes
/// it.
fn way() -> impl Strategy<Value = Vec<Option<(bool, u64)>>> {
    let address = prop_oneof![
        4 => 0u64..0x200,
        4 => 0xff00u64..0x10100,
        4 => 0x7f00_0000_0000u64..0x7f00_0000_0200,
        1 => (1u64 << 57) - 0x80..(1 << 57) + 0x80,
        1 => any::<u64>(),
    ];
    prop::collection::vec(prop::option::weighted(0.9, (prop::bool::weighted(0.8), address)), 8)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]
    #[test]
    fn lines_that_say_the_same_again_are_understood_alike(
        program in prop::collection::vec(line(), 1..8),
        ways in prop::collection::vec(way(), 4),
        version in prop_oneof![Just(2u32), Just(5)],
    ) {
        // A leading blank in each line prevents the comparison with an earlier one.
        let text = |blank_before: fn(usize) -> bool| {
            let mut text = head(version, false);
            let mut count = 0;
            for (number, way) in ways.iter().enumerate() {
                let warp = number % 2;
                let lines = program.iter().zip(way).filter_map(|(line, passes)| Some((line, (*passes)?)));
                text += if warp == 0 { "#BEGIN_TB\n" } else { "" };
                text += &format!("warp = {warp}\ninsts = {}\n", lines.clone().count() + 1);
                let place = if version < 3 { format!("{} 0 0 {warp} ", number / 2) } else { String::new() };
                for (line, (common, base)) in lines {
                    count += 1;
                    let blank = if blank_before(count) { " " } else { "" };
                    let line = line.replace('@', &format!("{base:x}"));
                    let line = if common { line } else { line.replace(" ff ", " f0 ").replace(" 7 ", " 00070 ") };
                    text += &format!("{blank}{place}{line}\n");
                }
                text += &format!("{place}0090 ff 0 EXIT 0 0\n");
                text += if warp == 1 { "#END_TB\n" } else { "" };
            }
            text
        };
        let folder = tempfile::tempdir().unwrap();
        let read = |name: &str, blank_before: fn(usize) -> bool| {
            let path = write(folder.path(), name, text(blank_before).as_bytes());
            let said = |trace: KernelTrace| {
                (trace.warp_instructions, trace.thread_instructions, trace.oddities, run(&path))
            };
            KernelTrace::open(&path).map(said).map_err(|error| (error.line, error.what))
        };
        let alone = read("alone", |_| true);
        prop_assert_eq!(&read("compared", |_| false), &alone);
        prop_assert_eq!(&read("mixed", |line| line % 5 == 0), &alone);
    }
}

#[test]
fn a_wait_for_copies_leaves_the_groups_that_it_names() {
    let body = body("").replace("0000 ffffffff 1 R1 MOV 0 0 0", "0000 ffffffff 0 DEPBAR.LE 0 0 3");
    let folder = tempfile::tempdir().unwrap();
    let path = write(folder.path(), "k", (head(5, false) + &body).as_bytes());
    let mut shared = TraceShared::new();
    shared.launch(Arc::new(KernelTrace::open(&path).unwrap())).unwrap();
    let (mut stream, mut out) = (TraceStream::new(), DynInst::default());
    stream.prepare_cta(&mut shared, KernelId(0), Dim3::new(0, 0, 0));
    stream.start_cta(&shared, KernelId(0), Dim3::new(0, 0, 0), CtaSlot(0), &[WarpSlot(0), WarpSlot(1)]);
    stream.step(&shared, WarpSlot(1), StepContext { now: 0, sm: 0 }, &mut out).unwrap();
    assert_eq!(out.async_groups_left, 3);
}

/// Four megabytes of a thousand CTAs, of which later ones have instructions that earlier ones lack.
fn long_text() -> String {
    let mut text = head(5, false).replace("(2,1,1)", "(1000,1,1)");
    for cta in 0..1000u32 {
        text += &format!("#BEGIN_TB\nthread block = {cta},0,0\n");
        for warp in 0..2 {
            text += &format!("warp = {warp}\ninsts = 60\n");
            for inst in 0..59u32 {
                let (pc, mask) = (16 * inst, if (cta + inst) % 7 == 0 { 0xffu32 } else { u32::MAX });
                text += &match (inst + cta / 300) % 4 {
                    0 => format!("{pc:04x} {mask:08x} 1 R{} IADD3 1 R4 0 0\n", inst % 200),
                    1 => format!("{pc:04x} {mask:08x} 1 R2 LDG.E 1 R4 4 1 {:#x} 4 0\n", 0x10000 + 512 * cta + inst),
                    2 => format!("{pc:04x} 00000007 1 R3 LDG.E 1 R8 4 2 {:#x} {inst} -8 0\n", 64 * cta),
                    _ => format!("{pc:04x} 00000005 0 STG.E 2 R4 R2 4 0 0x2000 {:#x} 0\n", 0x9000 + cta),
                };
            }
            text += "0900 ffffffff 0 EXIT 0 0 0\n";
        }
        text += "#END_TB\n";
    }
    text
}

#[test]
fn several_threads_read_what_one_reads() {
    let folder = tempfile::tempdir().unwrap();
    let text = long_text();
    assert!(text.len() > 4 << 20);
    let read = |path: &Path, kept_bytes, threads| {
        let trace = KernelTrace::open_while(path, kept_bytes, threads, &mut || ControlFlow::Continue(()));
        trace.map(|trace| Arc::new(trace.expect("not broken off"))).map_err(|error| (error.line, error.what))
    };
    let said = |trace: &Arc<KernelTrace>| {
        let insts = (0..trace.program.insts().len() as u32).map(|pc| trace.program.text(isa::Pc(pc)).to_owned());
        (insts.collect::<Vec<_>>(), trace.warp_instructions, trace.thread_instructions, trace.oddities.clone())
    };
    let path = write(folder.path(), "long", text.as_bytes());
    let alone = read(&path, usize::MAX, 1).unwrap();
    let streams = played_ctas(&alone, 1000);
    for threads in [2, 3, 4, 9] {
        let together = read(&path, usize::MAX, threads).unwrap();
        assert_eq!(said(&together), said(&alone), "{threads} threads");
        assert!(played_ctas(&together, 1000) == streams, "{threads} threads");
    }
    // Decoded CTAs that are too much for all together are read again.
    let not_kept = read(&path, 500_000, 3).unwrap();
    assert_eq!(said(&not_kept), said(&alone));
    assert!(played_ctas(&not_kept, 1000) == streams);
    assert!(KernelTrace::open_while(&path, usize::MAX, 3, &mut || ControlFlow::Break(())).unwrap().is_none());
    // Errors have the line of the whole file, in whichever part they are.
    let lines = text.lines().count();
    for at in [lines / 8, lines / 2, lines - 40] {
        let damaged: Vec<_> = text.lines().enumerate().map(|(n, line)| if n == at { "oops" } else { line }).collect();
        let path = write(folder.path(), "damaged", damaged.join("\n").as_bytes());
        let (alone, together) = (read(&path, usize::MAX, 1).unwrap_err(), read(&path, usize::MAX, 3).unwrap_err());
        assert_eq!(alone, together);
    }
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    packed.write_all(text.as_bytes()).unwrap();
    let path = write(folder.path(), "long.gz", &packed.finish().unwrap());
    assert_eq!(said(&read(&path, usize::MAX, 3).unwrap()), said(&alone));
}

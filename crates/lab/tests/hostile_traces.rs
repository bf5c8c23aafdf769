//! Damaged traces that can be read all the same are run to an end or an error, never to a panic.

use lab::{Compression, Job, Setup, TraceFormat, Unattended, export, run};
use std::collections::BTreeMap;
use std::path::Path;

/// Numbers without a pattern, the same in every run.
struct Numbers(u64);

impl Numbers {
    fn next(&mut self, below: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % below
    }
}

fn setup() -> Setup {
    Setup {
        core: lab::CORE_OF_TRACES.into(),
        max_cycles: Some(100_000),
        ..Setup::new(config::load("rtx2060s").unwrap())
    }
}

fn recorded(workload: &str, n: u64, folder: &Path, format: TraceFormat) {
    let params = BTreeMap::from([("n".to_owned(), n)]);
    let job = Job::Workload { name: workload.into(), size: workloads::Size::Small, params, seed: 1 };
    let setup = Setup { max_cycles: None, ..setup() };
    export(&setup, &job, folder, format, false, &mut Unattended).unwrap();
}

/// Runs a trace; what comes of it does not matter, save that it is no panic. True if it ran.
fn survives(path: &Path) -> bool {
    let job = Job::Trace { path: path.to_owned(), concurrent_streams: false };
    match run(&setup(), &job, &mut Unattended) {
        Ok(_) => true,
        Err(error) => {
            assert!(!error.message.is_empty());
            false
        }
    }
}

#[test]
fn damaged_texts() {
    let folder = tempfile::tempdir().unwrap();
    recorded("vectoradd", 256, folder.path(), TraceFormat::AccelSim(Compression::None));
    let kernel = folder.path().join("kernel-1.traceg");
    let good = std::fs::read(&kernel).unwrap();
    let mut numbers = Numbers(1);
    let mut ran = 0;
    for _ in 0..300 {
        let mut bytes = good.clone();
        for _ in 0..=numbers.next(3) {
            let at = numbers.next(bytes.len());
            // Mostly digits for digits: what is still a trace goes furthest.
            bytes[at] = if bytes[at].is_ascii_hexdigit() { b"0123456789abcdef"[numbers.next(16)] } else { bytes[at] };
        }
        std::fs::write(&kernel, &bytes).unwrap();
        ran += u32::from(survives(&folder.path().join("kernelslist.g")));
    }
    assert!((20..300).contains(&ran), "{ran} of 300 still ran");
}

/// CRC-32 as gzip has it.
fn crc(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(u32::MAX, |crc, &byte| {
        (0..8).fold(crc ^ u32::from(byte), |crc, _| (crc >> 1) ^ if crc & 1 != 0 { 0xedb8_8320 } else { 0 })
    })
}

/// The file with other bytes in its blocks and its table of contents; their checksums are right.
fn damaged(good: &[u8], numbers: &mut Numbers) -> Vec<u8> {
    let mut file = good.to_vec();
    let tail = file.len() - 32;
    let offset = u64::from_le_bytes(file[tail..tail + 8].try_into().unwrap()) as usize;
    for _ in 0..=numbers.next(3) {
        let at = offset + numbers.next(tail - offset);
        file[at] = file[at].wrapping_add([1, 0xff, 0x80, 7][numbers.next(4)]);
    }
    let sum = crc(&file[offset..tail]);
    file[tail + 16..tail + 20].copy_from_slice(&sum.to_le_bytes());
    file
}

/// The file with its table of contents stored as it is, so that its bytes can be changed one by one.
fn unpacked(good: &[u8]) -> Vec<u8> {
    let tail = good.len() - 32;
    let word = |at: usize| u32::from_le_bytes(good[tail + at..tail + at + 4].try_into().unwrap());
    let (offset, unpacked) = (word(0) as usize, word(12));
    let mut footer = Vec::new();
    std::io::Read::read_to_end(&mut flate2::read::DeflateDecoder::new(&good[offset..tail]), &mut footer).unwrap();
    assert_eq!(footer.len(), unpacked as usize);
    let mut file = [&good[..offset], &footer].concat();
    file.extend((offset as u64).to_le_bytes());
    for word in [unpacked, unpacked, crc(&footer), 0] {
        file.extend(word.to_le_bytes());
    }
    file.extend(b"wwtrend\n");
    file
}

#[test]
fn damaged_files_of_our_own_format() {
    let folder = tempfile::tempdir().unwrap();
    for (workload, n) in [("vectoradd", 256), ("reduction", 512)] {
        let folder = folder.path().join(workload);
        recorded(workload, n, &folder, TraceFormat::Native { values: false });
        let path = folder.join("trace.wwt");
        let good = unpacked(&std::fs::read(&path).unwrap());
        let mut numbers = Numbers(2);
        let mut ran = 0;
        for _ in 0..300 {
            std::fs::write(&path, damaged(&good, &mut numbers)).unwrap();
            ran += u32::from(survives(&path));
        }
        assert!((20..300).contains(&ran), "{workload}: {ran} of 300 still ran");
    }
}

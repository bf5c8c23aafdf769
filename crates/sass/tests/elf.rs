//! Cubins and fat binaries made by nvcc 11.8 (sources: `data/axpy.cu` and two of the bundled kernels).

use sass::elf::{Cubin, ElfError, Parameter, Problem, RelocationKind, Space};
use sass::fatbin::{self, Kind};

const LASTBLOCK: &[u8] = include_bytes!("data/lastblock.sm_80.cubin");
const AXPY_75: &[u8] = include_bytes!("data/axpy.sm_75.cubin");
const AXPY_90: &[u8] = include_bytes!("data/axpy.sm_90.cubin");
const FATBIN: &[u8] = include_bytes!("data/vectoradd.fatbin");

/// Parameters given as (offset, bytes).
fn parameters(list: &[(u16, u16)]) -> Vec<Parameter> {
    let numbered = list.iter().enumerate();
    numbered.map(|(ordinal, &(offset, bytes))| Parameter { ordinal: ordinal as u16, offset, bytes }).collect()
}

/// On Hopper the section of shared memory begins with the KiB that the system uses, which is not the kernel's.
#[test]
fn shared_memory_of_the_system_is_not_the_kernels() {
    let cubin = Cubin::parse(include_bytes!("data/shared.sm_90.cubin")).unwrap();
    let kernel = &cubin.functions[0];
    assert_eq!((kernel.shared_bytes, kernel.reserved_shared_bytes), (64, 1024));
    assert_eq!(Cubin::parse(AXPY_90).unwrap().functions[0].reserved_shared_bytes, 0);
}

#[test]
fn a_kernel_has_its_resources() {
    let cubin = Cubin::parse(LASTBLOCK).unwrap();
    assert_eq!((cubin.sm, cubin.kernels().count(), cubin.global_bytes), (80, 1, 4));
    let kernel = &cubin.functions[0];
    assert_eq!((kernel.name, kernel.is_kernel, kernel.code.len()), ("sum_once", true, 0xa80));
    assert_eq!((kernel.registers, kernel.barriers, kernel.shared_bytes, kernel.frame_bytes), (13, 1, 0x81, 0));
    assert_eq!(kernel.parameters, parameters(&[(0, 8), (8, 8), (16, 8), (24, 4)]));
    assert_eq!((kernel.parameter_base, kernel.parameter_bytes), (0x160, 28));
    assert_eq!(kernel.exits, [0x4a0, 0x740, 0x780]);
    assert_eq!(kernel.procedures, [("$sum_once$__cuda_sm70_shflsync_bfly_p", 0x9a0, 0xe0)]);
    assert_eq!(kernel.constants.iter().map(|bank| (bank.bank, bank.data.len())).collect::<Vec<_>>(), [(0, 0x17c)]);
}

#[test]
fn relocations_name_their_variable() {
    let cubin = Cubin::parse(LASTBLOCK).unwrap();
    let relocations = &cubin.functions[0].relocations;
    let found: Vec<_> = relocations.iter().map(|r| (r.offset, r.kind, r.symbol)).collect();
    assert_eq!(found, [(0x3d0, RelocationKind::High32, "tickets"), (0x3b0, RelocationKind::Low32, "tickets")]);
    let tickets = cubin.variables.iter().find(|variable| variable.name == "tickets").unwrap();
    assert_eq!((tickets.space, tickets.offset, tickets.bytes), (Space::Global, 0, 4));
}

#[test]
fn hopper_places_parameters_and_registers_elsewhere() {
    for (file, sm, base) in [(AXPY_75, 75, 0x160), (AXPY_90, 90, 0x210)] {
        let cubin = Cubin::parse(file).unwrap();
        let kernel = &cubin.functions[0];
        assert_eq!((cubin.sm, kernel.name, kernel.parameter_base), (sm, "axpy", base));
        assert!((8..=32).contains(&kernel.registers), "{}", kernel.registers);
        assert_eq!(kernel.parameters, parameters(&[(0, 8), (8, 8), (16, 4), (20, 4)]));
        assert_eq!(kernel.max_threads, Some([128, 1, 1]));
    }
}

#[test]
fn variables_have_their_space_and_initial_value() {
    let cubin = Cubin::parse(AXPY_75).unwrap();
    let find = |name| cubin.variables.iter().find(|variable| variable.name == name).unwrap();
    assert_eq!((find("scale").space, find("scale").bytes), (Space::Constant(3), 16));
    assert_eq!((find("counter").space, find("counter").bytes), (Space::GlobalInit, 4));
    assert_eq!(cubin.global_init, 7u32.to_le_bytes());
    assert_eq!(cubin.constants.iter().map(|bank| (bank.bank, bank.data.len())).collect::<Vec<_>>(), [(3, 16)]);
}

#[test]
fn a_fat_binary_has_entries_for_architectures() {
    let entries = fatbin::entries(FATBIN).unwrap();
    let kinds: Vec<_> = entries.iter().map(|entry| (entry.kind, entry.sm, entry.is_compressed())).collect();
    assert_eq!(kinds.len(), 4);
    for sm in [70, 75, 86] {
        assert!(kinds.contains(&(Kind::Cubin, sm, true)), "{kinds:?}");
        let entry = entries.iter().find(|entry| entry.sm == sm).unwrap();
        let data = entry.extract().unwrap();
        let cubin = Cubin::parse(&data).unwrap();
        assert_eq!((u32::from(cubin.sm), cubin.functions[0].registers > 0), (sm, true));
        assert!(cubin.functions[0].code.chunks(16).count() > 10);
    }
    let ptx = entries.iter().find(|entry| entry.kind == Kind::Ptx).unwrap();
    assert!(String::from_utf8_lossy(&ptx.extract().unwrap()).contains(".visible .entry"));
}

#[test]
fn selection_takes_the_newest_that_runs() {
    let entries = fatbin::entries(FATBIN).unwrap();
    let chosen = |sm| fatbin::select(&entries, sm).map(|entry| entry.sm);
    assert_eq!(
        [70, 72, 75, 80, 86, 89, 90].map(chosen),
        [Some(70), Some(70), Some(75), None, Some(86), Some(86), None]
    );
}

/// A fat binary with one entry.
fn one_entry(flags: u64, contents: &[u8], raw_bytes: u64) -> Vec<u8> {
    let mut entry = vec![0u8; 64];
    entry[0..4].copy_from_slice(&[2, 0, 1, 1]);
    entry[4..8].copy_from_slice(&64u32.to_le_bytes());
    entry[8..16].copy_from_slice(&(contents.len() as u64).to_le_bytes());
    entry[16..20].copy_from_slice(&(contents.len() as u32).to_le_bytes());
    entry[28..32].copy_from_slice(&75u32.to_le_bytes());
    entry[40..48].copy_from_slice(&flags.to_le_bytes());
    entry[56..64].copy_from_slice(&raw_bytes.to_le_bytes());
    entry.extend_from_slice(contents);
    let mut file = vec![0x50, 0xed, 0x55, 0xba, 1, 0, 16, 0];
    file.extend_from_slice(&(entry.len() as u64).to_le_bytes());
    file.extend(entry);
    file
}

#[test]
fn zstandard_entries_are_expanded() {
    let packed = ruzstd::encoding::compress_to_vec(AXPY_75, ruzstd::encoding::CompressionLevel::Fastest);
    let file = one_entry(0x8000, &packed, AXPY_75.len() as u64);
    let entries = fatbin::entries(&file).unwrap();
    assert_eq!(entries[0].extract().unwrap(), AXPY_75);
    let short = one_entry(0x8000, &packed, AXPY_75.len() as u64 + 1);
    let error = fatbin::entries(&short).unwrap()[0].extract().unwrap_err();
    assert!(matches!(error, ElfError { offset: 80, problem: Problem::Compression(_) }), "{error}");
}

#[test]
fn claims_beyond_the_data_reserve_no_memory() {
    for (flags, claim) in [(0x2000, 1 << 27), (0x2000, u64::MAX), (0x8000, u64::MAX)] {
        let file = one_entry(flags, &[0; 32], claim);
        let error = fatbin::entries(&file).unwrap()[0].extract().unwrap_err();
        assert!(matches!(error.problem, Problem::Compression(_)), "{error}");
    }
}

/// Several source files: each has its own choice. Text ends before the zeros that fill it up.
#[test]
fn each_container_has_its_own_choice() {
    let text = b"// text\n\0\0\0";
    let mut ptx = one_entry(0, text, 0);
    ptx[16] = 1;
    let mut file = FATBIN.to_vec();
    file.extend([0; 24]);
    file.extend(ptx);
    let containers = fatbin::containers(&file).unwrap();
    assert_eq!(containers.iter().map(Vec::len).collect::<Vec<_>>(), [4, 1]);
    let chosen = |sm| [0, 1].map(|c: usize| fatbin::select_code(&containers[c], sm).map(|e| (e.kind, e.sm)));
    let (code, ptx) = (|sm| Some((Kind::Cubin, sm)), |sm| Some((Kind::Ptx, sm)));
    assert_eq!(chosen(86), [code(86), ptx(75)]);
    assert_eq!(chosen(80), [ptx(80), ptx(75)], "no cubin of sm_80");
    assert_eq!(chosen(70), [code(70), None]);
    assert_eq!(&*containers[1][0].extract().unwrap(), b"// text\n");
}

#[test]
fn the_size_of_a_container_is_in_its_header() {
    let file = one_entry(0, &[1; 40], 40);
    let header = file[..16].try_into().unwrap();
    assert_eq!(fatbin::container_bytes(&header), Ok(file.len() as u64));
    let mut wrong = header;
    wrong[0] = 0;
    assert!(fatbin::container_bytes(&wrong).is_err());
}

#[test]
fn errors_say_where_and_what() {
    let cases: [(Vec<u8>, &str); 5] = [
        (b"hello".to_vec(), "byte 0x0: this is not an ELF file (a cubin starts with 7f 45 4c 46)"),
        (LASTBLOCK[..40].to_vec(), "byte 0x28: the file ends within: ELF header (is it complete?)"),
        (LASTBLOCK[..3000].to_vec(), "the file ends within: section headers (is it complete?)"),
        (changed(LASTBLOCK, 18, 62), "byte 0x12: this ELF file holds no GPU code (machine 62; a cubin has 190)"),
        (
            changed(LASTBLOCK, 48, 61),
            "byte 0x30: sm_61 is not supported: sm_70 to sm_90 are; compile for one of these, or to PTX",
        ),
    ];
    for (file, expected) in cases {
        let message = Cubin::parse(&file).unwrap_err().to_string();
        assert!(message.contains(expected), "{message}");
    }
    let message = fatbin::entries(&FATBIN[..100]).unwrap_err().to_string();
    assert_eq!(message, "byte 0x10: the file ends within: fat binary (is it complete?)");
}

/// A copy with one byte changed.
fn changed(file: &[u8], at: usize, value: u8) -> Vec<u8> {
    let mut copy = file.to_vec();
    copy[at] = value;
    copy
}

/// CUDA 13 changed the ABI version and the position of the architecture (made by ptxas 13.5).
#[test]
fn cubins_of_cuda_13_are_read() {
    let data = include_bytes!("data/vectoradd.cuda13.sm_90.cubin");
    let cubin = Cubin::parse(data).unwrap();
    let kernel = cubin.kernels().next().unwrap();
    assert_eq!((cubin.sm, kernel.name, kernel.parameter_base), (90, "vectoradd", 0x210));
    assert!((4..64).contains(&kernel.registers) && !kernel.parameters.is_empty());
    let code = sass::decode::decode_function(kernel.code, cubin.sm);
    assert!(code.map(|inst| inst.unwrap().to_string()).any(|text| text.starts_with("FADD")));
}

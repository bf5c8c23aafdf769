//! Loads, stores and copies of machine code against a model of bytes.

use crate::words;

use exec::DeviceState;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use words::{Registers, Setting, Word, run, try_run};

/// Bytes of the test's memory.
const BYTES: usize = 4096;
/// Registers that read as zero, and the predicate that is true.
pub const RZ: u64 = 255;
pub const PT: u64 = 7;
/// First uniform register of a descriptor.
pub const DESCRIPTOR: u64 = 4;

/// The word, after checking that it is what the test means.
pub fn means(text: &str, sm: u8, word: Word) -> u128 {
    assert_eq!(sass::decode::decode(word.0, 0, sm).unwrap().to_string(), text);
    word.0
}

pub struct Bench {
    pub setting: Setting,
    pub registers: Registers,
    pub base: u64,
    pub bytes: Vec<u8>,
    pub random: ChaCha8Rng,
}

impl Bench {
    /// Memory of random bytes, random registers, 2 KiB of shared memory.
    pub fn new(seed: u64) -> Self {
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        let bytes: Vec<u8> = (0..BYTES).map(|_| random.random()).collect();
        let mut state = DeviceState::default();
        let base = state.memory.allocate("test", BYTES as u64).unwrap();
        state.memory.write(base, &bytes).unwrap();
        let mut registers = Registers::default();
        for column in &mut registers.general {
            *column = std::array::from_fn(|_| random.random());
        }
        let setting = Setting { shared: 2048, state, ..Setting::default() };
        Self { setting, registers, base, bytes, random }
    }

    /// Puts an address per lane into a register pair.
    pub fn point(&mut self, register: usize, address: impl Fn(u64) -> u64) {
        for lane in 0..32 {
            let address = address(lane as u64);
            self.registers.general[register][lane] = address as u32;
            self.registers.general[register + 1][lane] = (address >> 32) as u32;
        }
    }

    pub fn uniform_pair(&mut self, register: usize, value: u64) {
        self.registers.uniform[register] = value as u32;
        self.registers.uniform[register + 1] = (value >> 32) as u32;
    }

    pub fn run(&mut self, sm: u8, code: &[u128]) -> Registers {
        run(sm, code, &self.registers, &mut self.setting)
    }

    /// The message of the fault of a run.
    pub fn fault(&mut self, sm: u8, code: &[u128]) -> String {
        try_run(sm, code, &self.registers, &mut self.setting).unwrap_err().to_string()
    }

    pub fn memory(&self) -> Vec<u8> {
        let mut bytes = vec![0; BYTES];
        self.setting.state.memory.read(self.base, &mut bytes).unwrap();
        bytes
    }
}

/// Suffix, size in bytes, signed.
const SIZES: [(&str, usize, bool); 7] = [
    (".U8", 1, false),
    (".S8", 1, true),
    (".U16", 2, false),
    (".S16", 2, true),
    ("", 4, false),
    (".64", 8, false),
    (".128", 16, false),
];

/// The words that a load of a size returns.
fn loaded(bytes: &[u8], (_, size, signed): (&str, usize, bool)) -> Vec<u32> {
    let word = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap());
    match (size, signed) {
        (1, false) => vec![bytes[0].into()],
        (1, true) => vec![bytes[0] as i8 as u32],
        (2, false) => vec![u16::from_le_bytes([bytes[0], bytes[1]]).into()],
        (2, true) => vec![i16::from_le_bytes([bytes[0], bytes[1]]) as u32],
        _ => (0..size / 4).map(|k| word(4 * k)).collect(),
    }
}

pub fn ldg(sm: u8, d: u64, a: u64, offset: i64, size: usize) -> Word {
    let word = Word::new(0x181, if sm < 80 { 1 } else { 4 }).d(d).a(a).bits(40, 24, offset as u64);
    let word = word.bits(72, 1, 1).bits(73, 3, size as u64).pq(PT, 1);
    if sm < 80 {
        word.bits(77, 2, 3).bits(79, 2, 1)
    } else {
        word.bits(32, 6, DESCRIPTOR).bits(76, 1, 1).bits(90, 2, 3)
    }
}

pub fn stg(sm: u8, a: u64, offset: i64, data: u64, size: usize) -> Word {
    let word = Word::new(0x186, if sm < 80 { 1 } else { 4 }).a(a).bits(32, 8, data).bits(40, 24, offset as u64);
    let word = word.bits(72, 1, 1).bits(73, 3, size as u64).bits(84, 3, 1);
    if sm < 80 {
        word.bits(77, 2, 3).bits(79, 2, 1)
    } else {
        word.bits(64, 6, DESCRIPTOR).bits(76, 1, 1).bits(90, 2, 3)
    }
}

#[test]
fn global_loads_of_every_size() {
    for sm in [70, 75, 80, 86, 90] {
        for (number, size) in SIZES.into_iter().enumerate() {
            for offset in [0_i64, 32, -48] {
                let mut bench = Bench::new(number as u64);
                let at = |lane: u64| 1024 + 16 * (lane * 7 % 32);
                let base = bench.base;
                bench.point(2, |lane| base.wrapping_add_signed(-offset) + at(lane));
                let word = ldg(sm, 8, 2, offset, number);
                let result = bench.run(sm, &[word.0]);
                for lane in 0..32 {
                    let expected = loaded(&bench.bytes[at(lane) as usize..], size);
                    for (k, &value) in expected.iter().enumerate() {
                        assert_eq!(result.general[8 + k][lane as usize], value, "sm_{sm} {size:?} lane {lane}");
                    }
                    assert_eq!(result.general[8 + expected.len()], bench.registers.general[8 + expected.len()]);
                }
            }
        }
    }
    means("LDG.E.S16.SYS R8, [R2+-0x30]", 70, ldg(70, 8, 2, -0x30, 3));
    means("LDG.E.128 R8, [R2.64+0x20]", 86, ldg(86, 8, 2, 0x20, 6));
}

#[test]
fn global_stores_of_every_size() {
    for sm in [70, 75, 80, 86, 90] {
        for (number, (_, size, _)) in SIZES.into_iter().enumerate() {
            for (offset, data) in [(0_i64, 8_u64), (32, 8), (-48, RZ)] {
                let mut bench = Bench::new(number as u64);
                let at = |lane: u64| 1024 + 16 * (lane * 5 % 32);
                let base = bench.base;
                bench.point(2, |lane| base.wrapping_add_signed(-offset) + at(lane));
                bench.run(sm, &[stg(sm, 2, offset, data, number).0]);
                let mut expected = bench.bytes.clone();
                for lane in 0..32 {
                    let words =
                        (0..4).map(|k| if data == RZ { 0 } else { bench.registers.general[8 + k][lane as usize] });
                    let bytes: Vec<u8> = words.flat_map(u32::to_le_bytes).collect();
                    expected[at(lane) as usize..][..size].copy_from_slice(&bytes[..size]);
                }
                assert_eq!(bench.memory(), expected, "sm_{sm} {size} bytes");
            }
        }
    }
    means("STG.E.U8.SYS [R2], RZ", 75, stg(75, 2, 0, RZ, 0));
    means("STG.E.64 [R2.64+0x8], R4", 80, stg(80, 2, 8, 4, 5));
}

/// Uniform registers in addresses of Turing: added, not descriptors.
#[test]
fn uniform_registers_in_global_addresses() {
    let uniform = |word: Word, at: u32, u: u64, wide: u64| {
        word.bits(0, 12, (word.0 as u64 & 0x1ff) | 4 << 9).bits(at, 6, u).bits(90, 1, wide).bits(91, 1, 1)
    };
    let ld = |a, u, wide| uniform(ldg(75, 8, a, 4, 4), 32, u, wide);
    let forms = [
        ("LDG.E.SYS R8, [R2.64+UR6+0x4]", ld(2, 6, 1)),
        ("LDG.E.SYS R8, [R2.U32+UR6+0x4]", ld(2, 6, 0)),
        ("LDG.E.SYS R8, [UR6+0x4]", ld(RZ, 6, 1)),
        ("LDG.E.SYS R8, [R2.64+URZ+0x4]", ld(2, 63, 1)),
    ];
    for (number, (text, word)) in forms.into_iter().enumerate() {
        let mut bench = Bench::new(1);
        let base = bench.base;
        // A base of 64 bits may be negative if there is a uniform register; one of 32 bits may not.
        let at: fn(u64) -> u64 = if number == 2 { |_| 400 } else { |lane| 12 * lane };
        match number {
            0 => {
                bench.point(2, |lane| at(lane).wrapping_sub(64));
                bench.uniform_pair(6, base + 64);
            }
            1 => {
                bench.point(2, at);
                bench.registers.general[3] = [!0; 32];
                bench.uniform_pair(6, base);
            }
            2 => bench.uniform_pair(6, base + 400),
            _ => bench.point(2, |lane| base + at(lane)),
        }
        let result = bench.run(75, &[means(text, 75, word)]);
        for lane in 0..32 {
            let expected = loaded(&bench.bytes[at(lane) as usize + 4..], SIZES[4])[0];
            assert_eq!(result.general[8][lane as usize], expected, "{text} lane {lane}");
        }
    }
    let mut bench = Bench::new(1);
    let base = bench.base;
    bench.point(2, |lane| 4 * lane);
    bench.uniform_pair(6, base + 256);
    let store = uniform(stg(75, 2, 0, 8, 4), 64, 6, 1);
    bench.run(75, &[means("STG.E.SYS [R2.64+UR6], R8", 75, store)]);
    for lane in 0..32 {
        let stored = loaded(&bench.memory()[256 + 4 * lane..], SIZES[4])[0];
        assert_eq!(stored, bench.registers.general[8][lane]);
    }
}

/// A destination may be part of the base.
#[test]
fn a_load_may_overwrite_its_address() {
    let mut bench = Bench::new(2);
    let base = bench.base;
    bench.point(8, |lane| base + 16 * lane);
    let result = bench.run(75, &[ldg(75, 8, 8, 0, 6).0]);
    for lane in 0..32 {
        let expected = loaded(&bench.bytes[16 * lane..], SIZES[6]);
        assert_eq!([8, 9, 10, 11].map(|r| result.general[r][lane]).to_vec(), expected);
    }
}

pub fn lds(sm: u8, d: u64, a: u64, offset: u64, size: u64) -> Word {
    let word = Word::new(0x184, 4).d(d).a(a).bits(40, 24, offset).bits(73, 3, size);
    if sm < 80 { word.pq(0, 0) } else { word }
}

pub fn sts(a: u64, offset: u64, data: u64, size: u64) -> Word {
    Word::new(0x188, 1).a(a).bits(32, 8, data).bits(40, 24, offset).bits(73, 3, size)
}

/// The uniform register of a store is at bit 64, that of a load at bit 32.
fn with_uniform(word: Word, at: u32, u: u64) -> Word {
    word.bits(0, 12, (word.0 as u64 & 0x1ff) | 4 << 9).bits(at, 6, u).bits(91, 1, 1)
}

#[test]
fn shared_memory_with_scales_and_uniform_offsets() {
    for sm in [75, 80, 86, 90] {
        let forms = [
            ("STS [R2+0x10], R8", sts(2, 16, 8, 4), "LDS R9, [R2+0x10]", lds(sm, 9, 2, 16, 4), 1, 0),
            (
                "STS [R2.X4+0x10], R8",
                sts(2, 16, 8, 4).bits(78, 2, 1),
                "LDS R9, [R2.X4+0x10]",
                lds(sm, 9, 2, 16, 4).bits(78, 2, 1),
                4,
                0,
            ),
            (
                "STS [R2.X8+UR6], R8",
                with_uniform(sts(2, 0, 8, 4), 64, 6).bits(78, 2, 2),
                "LDS R9, [R2.X8+UR6]",
                with_uniform(lds(sm, 9, 2, 0, 4), 32, 6).bits(78, 2, 2),
                8,
                32,
            ),
            (
                "STS [R2+UR6+0x4], R8",
                with_uniform(sts(2, 4, 8, 4), 64, 6),
                "LDS R9, [R2+UR6+0x4]",
                with_uniform(lds(sm, 9, 2, 4, 4), 32, 6),
                1,
                32,
            ),
            (
                "STS [R2.X16+UR6], R8",
                with_uniform(sts(2, 0, 8, 4), 64, 6).bits(78, 2, 3),
                "LDS R9, [R2.X16+UR6]",
                with_uniform(lds(sm, 9, 2, 0, 4), 32, 6).bits(78, 2, 3),
                16,
                32,
            ),
        ];
        for (store_text, store, load_text, load, scale, uniform) in forms {
            let mut bench = Bench::new(3);
            let index = |lane: usize| if scale == 1 { 4 * lane as u32 } else { lane as u32 };
            bench.registers.general[2] = std::array::from_fn(index);
            bench.registers.uniform[6] = uniform;
            let code = [means(store_text, sm, store), means(load_text, sm, load)];
            let result = bench.run(sm, &code);
            assert_eq!(result.general[9], bench.registers.general[8], "sm_{sm} {store_text}");
            // The same place by its plain address.
            let offset = u64::from(uniform) + (store.0 >> 40 & 0xff_ffff) as u64 + 5 * u64::from(index(5) / 5 * scale);
            let plain = lds(sm, 10, RZ, offset, 4);
            let result = bench.run(sm, &[code[0], plain.0]);
            assert_eq!(result.general[10], [bench.registers.general[8][5]; 32], "sm_{sm} {store_text}");
        }
        // Without a base; 64 + 8 is not aligned for 16 bytes.
        let mut bench = Bench::new(4);
        bench.registers.uniform[6] = 64;
        let word = with_uniform(lds(sm, 9, RZ, 8, 6), 32, 6);
        let store = [0, 1, 2, 3].map(|k| sts(RZ, 80 + 4 * k, 8 + k, 4));
        let error = try_run(sm, &[word.0], &bench.registers, &mut bench.setting).unwrap_err().to_string();
        assert!(error.contains("misaligned"), "{error}");
        bench.registers.uniform[6] = 72;
        let code: Vec<u128> = store.iter().chain(&[word]).map(|w| w.0).collect();
        let result = bench.run(sm, &code);
        for k in 0..4 {
            // All lanes stored to one address: the last one's value stays.
            assert_eq!(result.general[9 + k], [bench.registers.general[8 + k][31]; 32]);
        }
    }
}

#[test]
fn narrow_shared_stores_leave_their_neighbours() {
    for sm in [70, 90] {
        let mut bench = Bench::new(5);
        bench.registers.general[2] = std::array::from_fn(|lane| lane as u32);
        bench.registers.general[3] = std::array::from_fn(|lane| 4 * (lane as u32 / 4));
        let result = bench.run(sm, &[sts(2, 0, 8, 0).0, lds(sm, 9, 3, 0, 4).0, lds(sm, 10, 2, 0, 1).0]);
        for lane in 0..32 {
            let byte = |lane: usize| bench.registers.general[8][lane] as u8;
            let quad = lane / 4 * 4;
            assert_eq!(result.general[9][lane], u32::from_le_bytes([0, 1, 2, 3].map(|k| byte(quad + k))));
            assert_eq!(result.general[10][lane], byte(lane) as i8 as u32);
        }
    }
}

#[test]
fn local_and_generic_memory() {
    for sm in [70, 75, 80, 90] {
        let mut bench = Bench::new(6);
        let base = bench.base;
        let stl = Word::new(0x187, 1).a(2).bits(32, 8, 8).bits(40, 24, 8).bits(73, 3, 5).bits(84, 3, 1);
        let ldl = Word::new(0x183, 4).d(10).a(2).bits(40, 24, 8).bits(73, 3, 5).bits(84, 3, 1);
        means("STL.64 [R2+0x8], R8", sm, stl);
        means("LDL.64 R10, [R2+0x8]", sm, ldl);
        // Lanes at different offsets.
        bench.registers.general[2] = std::array::from_fn(|lane| 16 + 8 * (lane as u32 % 4));
        // Constant bank 0 says where the windows of shared and local memory are.
        let [shared, local] = [0x18, 0x20].map(|offset| {
            let ldc = Word::new(0x182, 5).d(8).a(RZ).bits(38, 16, offset).bits(73, 3, 5);
            let result = bench.run(sm, &[ldc.0]);
            u64::from(result.general[8][0]) | u64::from(result.general[9][0]) << 32
        });
        // A third of the lanes each in global, shared and local memory.
        let place = |lane: u64| match lane % 3 {
            0 => base + 8 * lane,
            1 => shared + 8 * lane,
            _ => local + 128,
        };
        bench.point(4, place);
        let (form, has_descriptor) = if sm < 80 { (1, false) } else { (4, true) };
        let (offset_at, data_at) = if has_descriptor { (40, 32) } else { (32, 64) };
        let mut st = Word::new(0x185, form).a(4).bits(data_at, 8, 12).bits(offset_at, 24, 0).bits(72, 1, 1);
        st = st.bits(73, 3, 4).bits(84, 3, 1);
        let mut ld = Word::new(0x180, 4).d(13).a(4).bits(72, 1, 1).bits(73, 3, 4).pq(PT, 1);
        if has_descriptor {
            st = st.bits(64, 6, DESCRIPTOR).bits(76, 1, 1).bits(90, 2, 3);
            ld = ld.bits(32, 6, DESCRIPTOR).bits(76, 1, 1).bits(90, 2, 3);
            means("ST.E [R4.64], R12", sm, st);
            means("LD.E R13, [R4.64]", sm, ld);
        } else {
            (st, ld) = (st.bits(77, 2, 3).bits(79, 2, 1), ld.bits(77, 2, 3).bits(79, 2, 1));
            means("ST.E.SYS [R4], R12", sm, st);
            means("LD.E.SYS R13, [R4]", sm, ld);
        }
        let result = bench.run(sm, &[stl.0, ldl.0, st.0, ld.0]);
        assert_eq!(result.general[10..12], bench.registers.general[8..10]);
        assert_eq!(result.general[13], bench.registers.general[12], "sm_{sm}");
        let stored = loaded(&bench.memory()[8 * 3..], SIZES[4])[0];
        assert_eq!(stored, bench.registers.general[12][3]);
    }
}

#[test]
fn loads_of_the_launch_bank() {
    for sm in [70, 75, 86, 90] {
        let mut bench = Bench::new(7);
        let parameter: [u8; 64] = std::array::from_fn(|_| bench.random.random());
        bench.setting.parameter = parameter;
        let first = if sm == 90 { 0x210_u64 } else { 0x160 };
        bench.registers.general[2] = std::array::from_fn(|lane| lane as u32 % 4 * 8 + 64);
        for (number, size) in SIZES.into_iter().enumerate().take(6) {
            let ldc =
                |a: u64, offset: u64| Word::new(0x182, 5).d(8).a(a).bits(38, 16, offset).bits(73, 3, number as u64);
            let indexed = bench.run(sm, &[ldc(2, first - 64 + 8).0]);
            let plain = bench.run(sm, &[ldc(RZ, first + 16).0]);
            for lane in 0..32 {
                let expected = loaded(&parameter[lane % 4 * 8 + 8..], size);
                assert_eq!(indexed.general[8][lane], expected[0], "{size:?}");
                let expected = loaded(&parameter[16..], size);
                assert_eq!(plain.general[8][lane], expected[0]);
                if size.1 == 8 {
                    assert_eq!(plain.general[9][lane], expected[1]);
                }
            }
            // The assembler also loads words at addresses that are not multiples of four, the last beyond the parameters.
            for at in [17, 18, 19, 61, 62, 63].into_iter().filter(|_| size.1 >= 4) {
                let words = bench.run(sm, &[ldc(RZ, first + at).0]);
                let bytes: Vec<u8> = parameter.iter().copied().chain([0; 16]).skip(at as usize).take(8).collect();
                let known = if at > 60 { 64 - at as u32 } else { size.1 as u32 };
                let expected = loaded(&bytes, size);
                let mask = if known >= 4 { u32::MAX } else { (1 << (8 * known)) - 1 };
                assert_eq!(words.general[8][0] & mask, expected[0] & mask, "sm_{sm} {at}");
                if size.1 == 8 && at < 60 {
                    assert_eq!(words.general[9][0], expected[1], "sm_{sm} {at}");
                }
            }
        }
        // Index and offset are added in 32 bits.
        bench.registers.general[2] = [0_u32.wrapping_sub(first as u32); 32];
        let far = Word::new(0x182, 5).d(8).a(2).bits(38, 16, 2 * first).bits(73, 3, 4);
        let result = bench.run(sm, &[far.0]);
        assert_eq!(result.general[8][0], loaded(&parameter, SIZES[4])[0]);
        bench.registers.general[2] = [0x8000; 32];
        assert!(bench.fault(sm, &[far.0]).contains("outside the kernel's"));
    }
}

#[test]
fn parameters_have_generic_addresses() {
    for sm in [70, 75, 86, 90] {
        let mut bench = Bench::new(8);
        let parameter: [u8; 64] = std::array::from_fn(|_| bench.random.random());
        bench.setting.parameter = parameter;
        // The address of constant bank 0, or of the parameters in it.
        let (at, offset) = if sm == 90 { (0x198, 24) } else { (0x40, 0x160 + 24) };
        let address = Word::new(0x182, 5).d(4).a(RZ).bits(38, 16, at).bits(73, 3, 5);
        let ld = Word::new(0x180, 4).d(14).a(4).bits(if sm < 80 { 32 } else { 40 }, 24, offset);
        let ld = ld.bits(72, 1, 1).bits(73, 3, 5).pq(PT, 1);
        let ld = if sm < 80 {
            ld.bits(77, 2, 3).bits(79, 2, 1)
        } else {
            ld.bits(32, 6, DESCRIPTOR).bits(76, 1, 1).bits(90, 2, 3)
        };
        let text = match sm {
            70 | 75 => "LD.E.64.SYS R14, [R4+0x178]",
            86 => "LD.E.64 R14, [R4.64+0x178]",
            _ => "LD.E.64 R14, [R4.64+0x18]",
        };
        means(text, sm, ld);
        let result = bench.run(sm, &[address.0, ld.0]);
        let expected = loaded(&parameter[24..], SIZES[5]);
        assert_eq!([14, 15].map(|r: usize| result.general[r][5]), expected[..], "sm_{sm}");
    }
}

#[test]
fn guards_choose_lanes() {
    let mut bench = Bench::new(11);
    let base = bench.base;
    bench.point(2, |lane| if lane % 2 == 0 { base + 4 * lane } else { 0 });
    bench.registers.predicates[3] = 0x5555_5555;
    let load = ldg(80, 8, 2, 0, 4);
    let result = bench.run(80, &[load.guard(3, false).0]);
    for lane in 0..32 {
        let there = loaded(&bench.bytes[4 * lane..], SIZES[4])[0];
        let expected = if lane % 2 == 0 { there } else { bench.registers.general[8][lane] };
        assert_eq!(result.general[8][lane], expected);
    }
    // Never, and so no fault.
    let never = lds(80, RZ, RZ, 0xf_0000, 4).guard(PT, true);
    assert_eq!(bench.run(80, &[means("@!PT LDS RZ, [0xf0000]", 80, never)]), bench.registers);
    assert!(bench.fault(80, &[load.guard(3, true).0]).contains("load from global address 0x0"));
}

#[test]
fn copies_to_shared_memory() {
    for sm in [80, 86, 90] {
        for (number, bytes) in [(4_u64, 4_u64), (5, 8), (6, 16)] {
            let copy = Word::new(0x1ae, 7).d(2).a(4).bits(44, 20, 32).bits(32, 12, 0x100).bits(73, 3, number);
            let copy = copy.bits(64, 6, DESCRIPTOR).bits(70, 1, 1).bits(76, 1, 1).bits(84, 3, 1).bits(91, 1, 1);
            for (p, not) in [(PT, false), (1, false), (1, true), (PT, true)] {
                let word = copy.p(p, not);
                let mut bench = Bench::new(12);
                let base = bench.base;
                bench.registers.predicates[1] = 0x0f0f_00ff;
                bench.registers.general[2] = std::array::from_fn(|lane| 16 * lane as u32);
                bench.registers.general[6] = std::array::from_fn(|lane| 16 * lane as u32 + 32);
                bench.point(4, |lane| base + 32 * lane);
                let code = [sts(6, 0, 8, 6).0, word.0, lds(sm, 12, 6, 0, 6).0];
                let result = bench.run(sm, &code);
                for lane in 0..32 {
                    let holds = if p == PT { !not } else { (0x0f0f_00ff_u32 >> lane & 1 == 1) != not };
                    let there = loaded(&bench.bytes[256 + 32 * lane..], SIZES[6]);
                    for (k, &there) in there.iter().enumerate() {
                        let expected = match (4 * k < bytes as usize, holds) {
                            (true, true) => there,
                            (true, false) => 0,
                            (false, _) => bench.registers.general[8 + k][lane],
                        };
                        assert_eq!(result.general[12 + k][lane], expected, "sm_{sm} {bytes} lane {lane} word {k}");
                    }
                }
            }
            if number == 6 {
                means("LDGSTS.E.BYPASS.128 [R2+0x20], [R4.64+0x100], P1", sm, copy.p(1, false));
            }
        }
    }
}

#[test]
fn generic_addresses_tell_their_space() {
    let mut bench = Bench::new(13);
    let base = bench.base;
    let window = |bench: &mut Bench, offset| {
        let ldc = Word::new(0x182, 5).d(8).a(RZ).bits(38, 16, offset).bits(73, 3, 5);
        let result = bench.run(75, &[ldc.0]);
        u64::from(result.general[8][0]) | u64::from(result.general[9][0]) << 32
    };
    let (shared, local) = (window(&mut bench, 0x18), window(&mut bench, 0x20));
    // The offset of 8 moves the last lane of each window into it, or out of it.
    bench.point(2, |lane| match lane % 4 {
        0 => base,
        1 => shared - 8,
        2 => local - 8,
        _ => shared - 16,
    });
    let query = |p: u64, space: u64| {
        Word::new(0x1aa, 1).d(RZ).a(2).bits(40, 24, 8).bits(72, 1, 1).bits(73, 2, space).bits(81, 3, p)
    };
    means("QSPC.E.S P2, RZ, [R2+0x8]", 75, query(2, 2));
    let result = bench.run(75, &[query(0, 0).0, query(1, 1).0, query(2, 2).0]);
    assert_eq!(result.predicates[..3], [0x9999_9999, 0x4444_4444, 0x2222_2222]);
}

#[test]
fn bad_addresses_are_reported() {
    for sm in [70, 75, 80, 90] {
        let mut bench = Bench::new(14);
        let base = bench.base;
        let mut fault = |address: u64, word: Word| {
            bench.point(2, |lane| if lane == 9 { address } else { base });
            bench.fault(sm, &[word.0])
        };
        let (load, store) = (ldg(sm, 8, 2, 0, 5), stg(sm, 2, 0, 8, 5));
        for (address, word, what) in [
            (base + 4, load, "misaligned load"),
            (base + 4, store, "misaligned store"),
            (base + BYTES as u64, load, "out-of-bounds load"),
            (base.wrapping_sub(8), store, "out-of-bounds store"),
            (0, load, "out-of-bounds load"),
            (!7, store, "out-of-bounds store"),
        ] {
            let text = fault(address, word);
            assert!(text.contains(what) && text.contains("thread (9,0,0)"), "{address:#x}: {text}");
        }
        let mut bench = Bench::new(14);
        for (offset, size, what) in [
            (2048_u64, 4_u64, "outside the CTA's 2048 bytes"),
            (2047, 0, ""),
            (2036, 5, "misaligned"),
            (0xff_fffc, 4, "outside the CTA's 2048 bytes"),
        ] {
            let code = [lds(sm, 8, RZ, offset, size).0];
            if what.is_empty() {
                bench.run(sm, &code);
            } else {
                let text = bench.fault(sm, &code);
                assert!(text.contains(what), "{offset}: {text}");
            }
        }
        let stl = Word::new(0x187, 1).a(RZ).bits(32, 8, 8).bits(40, 24, 256).bits(73, 3, 4).bits(84, 3, 1);
        assert!(bench.fault(sm, &[stl.0]).contains("outside the thread's 256 bytes"));
    }
}

#[test]
fn what_is_not_known_is_refused() {
    let refused = |sm: u8, word: Word| lower::load_words("k", sm, &[word.0], 32).unwrap_err().join("\n");
    let load = ldg(80, 8, 2, 0, 4);
    assert!(refused(80, load.bits(81, 3, 0)).contains("the predicate of a load"));
    assert!(refused(80, load.bits(64, 3, 5)).contains("the predicate of a load"));
    assert!(refused(80, load.d(31).bits(73, 3, 5)).contains("the kernel has 32 registers"));
    let ldc = Word::new(0x182, 5).d(8).a(2).bits(73, 3, 4);
    assert!(refused(75, ldc.bits(78, 2, 2)).contains("plain indices"));
    assert!(refused(75, ldc.bits(54, 5, 3)).contains("no constant bank 3"));
}

/// The timing model sees the registers of the machine, but none that only sequences use.
#[test]
fn operands_for_timing() {
    let names = |sm: u8, word: Word| {
        let kernel = lower::load_words("k", sm, &[word.0, words::EXIT], 32).unwrap();
        let program = &kernel.program;
        let inst = &program.insts()[0];
        let ids = |list: &[isa::RegId]| list.iter().map(|r| r.0).collect::<Vec<_>>();
        (ids(program.dsts(inst)), ids(program.srcs(inst)))
    };
    assert_eq!(names(80, ldg(80, 8, 2, 0, 6)), (vec![8, 9, 10, 11], vec![2, 3]));
    assert_eq!(names(75, stg(75, 2, 0, 8, 5)), (vec![], vec![2, 3, 8, 9]));
    assert_eq!(names(75, sts(2, 0, 8, 4).bits(78, 2, 1)), (vec![], vec![2, 8]));
}

/// The driver says where the system's part of shared memory is, at offsets of the architecture.
#[test]
fn kernels_that_ask_for_the_system_s_shared_memory_have_it() {
    use exec::system_shared::SystemShared::{Before, Behind, None};
    for (sm, at, place) in
        [(70, 0x124, None), (80, 0x124, Behind), (89, 0x120, Behind), (90, 0x124, None), (90, 0x6c, Before)]
    {
        let load = Word::new(0x182, 5).d(8).a(RZ).bits(38, 16, at).bits(73, 3, 4);
        let kernel = lower::load_words("k", sm, &[load.0, words::EXIT], 32).unwrap();
        assert_eq!(kernel.system_shared, place, "sm_{sm}, {at:#x}");
    }
}

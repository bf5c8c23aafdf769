//! Loads, stores, atomics and copies of machine code against a model of bytes.

use crate::words;

use exec::DeviceState;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use words::{Registers, Setting, Word, run, try_run};

/// Bytes of the test's memory.
const BYTES: usize = 4096;
/// RZ and PT.
const RZ: u64 = 255;
const PT: u64 = 7;
/// A descriptor that stands in a uniform register, and a uniform register with an offset.
const DESCRIPTOR: u64 = 4;

/// The word, after checking that it is what the test means.
fn means(text: &str, sm: u8, word: Word) -> u128 {
    assert_eq!(sass::decode::decode(word.0, 0, sm).unwrap().to_string(), text);
    word.0
}

struct Bench {
    setting: Setting,
    registers: Registers,
    base: u64,
    bytes: Vec<u8>,
    random: ChaCha8Rng,
}

impl Bench {
    /// Memory of random bytes, random registers, 2 KiB of shared memory.
    fn new(seed: u64) -> Self {
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
    fn point(&mut self, register: usize, address: impl Fn(u64) -> u64) {
        for lane in 0..32 {
            let address = address(lane as u64);
            self.registers.general[register][lane] = address as u32;
            self.registers.general[register + 1][lane] = (address >> 32) as u32;
        }
    }

    fn uniform_pair(&mut self, register: usize, value: u64) {
        self.registers.uniform[register] = value as u32;
        self.registers.uniform[register + 1] = (value >> 32) as u32;
    }

    fn run(&mut self, sm: u8, code: &[u128]) -> Registers {
        run(sm, code, &self.registers, &mut self.setting)
    }

    /// What faults says.
    fn fault(&mut self, sm: u8, code: &[u128]) -> String {
        try_run(sm, code, &self.registers, &mut self.setting).unwrap_err().to_string()
    }

    fn memory(&self) -> Vec<u8> {
        let mut bytes = vec![0; BYTES];
        self.setting.state.memory.read(self.base, &mut bytes).unwrap();
        bytes
    }
}

/// Suffix, bytes, signed.
const SIZES: [(&str, usize, bool); 7] = [
    (".U8", 1, false),
    (".S8", 1, true),
    (".U16", 2, false),
    (".S16", 2, true),
    ("", 4, false),
    (".64", 8, false),
    (".128", 16, false),
];

/// The words that a load of a size gives.
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

fn ldg(sm: u8, d: u64, a: u64, offset: i64, size: usize) -> Word {
    let word = Word::new(0x181, if sm < 80 { 1 } else { 4 }).d(d).a(a).bits(40, 24, offset as u64);
    let word = word.bits(72, 1, 1).bits(73, 3, size as u64).pq(PT, 1);
    if sm < 80 {
        word.bits(77, 2, 3).bits(79, 2, 1)
    } else {
        word.bits(32, 6, DESCRIPTOR).bits(76, 1, 1).bits(91, 1, 1)
    }
}

fn stg(sm: u8, a: u64, offset: i64, data: u64, size: usize) -> Word {
    let word = Word::new(0x186, if sm < 80 { 1 } else { 4 }).a(a).bits(32, 8, data).bits(40, 24, offset as u64);
    let word = word.bits(72, 1, 1).bits(73, 3, size as u64).bits(84, 3, 1);
    if sm < 80 {
        word.bits(77, 2, 3).bits(79, 2, 1)
    } else {
        word.bits(64, 6, DESCRIPTOR).bits(76, 1, 1).bits(91, 1, 1)
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
        // A base of 64 bits may be negative beside the uniform register; one of 32 bits not.
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

fn lds(sm: u8, d: u64, a: u64, offset: u64, size: u64) -> Word {
    let word = Word::new(0x184, 4).d(d).a(a).bits(40, 24, offset).bits(73, 3, size);
    if sm < 80 { word.pq(0, 0) } else { word }
}

fn sts(a: u64, offset: u64, data: u64, size: u64) -> Word {
    Word::new(0x188, 1).a(a).bits(32, 8, data).bits(40, 24, offset).bits(73, 3, size)
}

/// Bits 64 on hold the uniform register of a store, 32 on that of a load.
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
        // Without a base; 64 + 8 is no place for 16 bytes.
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
            st = st.bits(64, 6, DESCRIPTOR).bits(76, 1, 1).bits(91, 1, 1);
            ld = ld.bits(32, 6, DESCRIPTOR).bits(76, 1, 1).bits(91, 1, 1);
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

/// An atomic operation on bits, with its type's width.
fn model(op: u64, ty: &str, old: u64, b: u64) -> u64 {
    let wide = ty.contains("64");
    let cut = |x: u64| if wide { x } else { x & 0xffff_ffff };
    let signed = |x: u64| if wide { x as i64 } else { i64::from(x as i32) };
    match (op, ty) {
        (0, ".F32.FTZ.RN") => (f32::from_bits(old as u32) + f32::from_bits(b as u32)).to_bits().into(),
        (0, ".F64.RN") => (f64::from_bits(old) + f64::from_bits(b)).to_bits(),
        (0, _) => cut(old.wrapping_add(b)),
        (1, ".S32" | ".S64") => {
            if signed(old) < signed(b) {
                old
            } else {
                b
            }
        }
        (2, ".S32" | ".S64") => {
            if signed(old) > signed(b) {
                old
            } else {
                b
            }
        }
        (1, _) => old.min(b),
        (2, _) => old.max(b),
        (3, _) => {
            if old >= b {
                0
            } else {
                old + 1
            }
        }
        (4, _) => {
            if old == 0 || old > b {
                b
            } else {
                old - 1
            }
        }
        (5, _) => old & b,
        (6, _) => old | b,
        (7, _) => old ^ b,
        _ => b,
    }
}

struct Case {
    code: u64,
    form: u64,
    sm: u8,
    /// Value of the type's field, and its text.
    ty: (u64, &'static str),
    op: u64,
    shared: bool,
}

fn atomic_word(case: &Case, d: u64) -> Word {
    let &Case { code, form, sm, ty, op, shared } = case;
    let word = Word::new(code.into(), form.into()).d(d).a(2).bits(32, 8, 12).bits(73, 3, ty.0).bits(87, 4, op);
    if shared {
        return word;
    }
    let reduction = code == 0x18e || code == 0x1a6;
    let word = word.bits(72, 1, 1).bits(84, 3, 1).bits(73, if sm == 90 { 4 } else { 3 }, ty.0);
    let word = if reduction { word.d(0).bits(87, 3, op) } else { word.bits(81, 3, PT) };
    match sm {
        80.. => word.bits(77, 4, 7).bits(64, 6, DESCRIPTOR).bits(70, 2, 2).bits(91, 1, 1),
        _ => word.bits(77, 2, 2).bits(79, 2, 2),
    }
}

fn check_atomic(case: &Case) {
    let mut bench = Bench::new(case.op + 16 * case.ty.0);
    let wide = case.ty.1.contains("64");
    let float = case.ty.1.contains(".F");
    let text = sass::decode::decode(atomic_word(case, 8).0, 0, case.sm);
    let text = text.map_or_else(|e| e.to_string(), |i| i.to_string());
    // Lanes share eight places, some values are small, so that wrapping and equality occur.
    let size = if wide { 8 } else { 4 };
    let at = |lane: usize| size * (lane % 8);
    let mut memory: Vec<u64> = (0..8).map(|k| if k % 2 == 0 { k } else { bench.random.random() }).collect();
    for lane in 0..32 {
        let value: u64 = if lane % 3 == 0 { lane as u64 } else { bench.random.random() };
        let value = match (float, wide) {
            (true, false) => u64::from((bench.random.random::<f32>() - 0.5).to_bits()),
            (true, true) => (bench.random.random::<f64>() - 0.5).to_bits(),
            _ => value,
        };
        bench.registers.general[12][lane] = value as u32;
        bench.registers.general[13][lane] = (value >> 32) as u32;
    }
    if float {
        memory.iter_mut().for_each(|m| *m = if wide { 1.5_f64.to_bits() } else { 1.5_f32.to_bits().into() });
    }
    if !wide {
        memory.iter_mut().for_each(|m| *m &= 0xffff_ffff);
    }
    let bytes: Vec<u8> = memory.iter().flat_map(|m| m.to_le_bytes()[..size].to_vec()).collect();
    let base = bench.base;
    bench.setting.state.memory.write(base, &bytes).unwrap();
    let mut code = Vec::new();
    if case.shared {
        bench.registers.general[2] = std::array::from_fn(|lane| at(lane) as u32);
        // Fills shared memory from global memory.
        bench.point(4, |lane| base + 4 * (lane % 16));
        bench.registers.general[6] = std::array::from_fn(|lane| 4 * (lane as u32 % 16));
        code.extend([ldg(case.sm, 7, 4, 0, 4).0, sts(6, 0, 7, 4).0]);
    } else {
        bench.point(2, |lane| base + at(lane as usize) as u64);
    }
    code.push(atomic_word(case, 8).0);
    if case.shared {
        code.extend([lds(case.sm, 7, 6, 0, 4).0, stg(case.sm, 4, 0, 7, 4).0]);
    }
    let result = bench.run(case.sm, &code);
    for lane in 0..32 {
        let b = u64::from(bench.registers.general[12][lane]) | u64::from(bench.registers.general[13][lane]) << 32;
        let b = if wide { b } else { b & 0xffff_ffff };
        let place = &mut memory[lane % 8];
        let reduction = matches!(case.code, 0x18e | 0x1a6);
        if !reduction {
            assert_eq!(result.general[8][lane], *place as u32, "{text} lane {lane}");
            if wide {
                assert_eq!(result.general[9][lane], (*place >> 32) as u32, "{text} lane {lane}");
            }
        }
        *place = model(case.op, case.ty.1, *place, b);
    }
    let bytes: Vec<u8> = memory.iter().flat_map(|m| m.to_le_bytes()[..size].to_vec()).collect();
    assert_eq!(bench.memory()[..bytes.len()], bytes, "{text}");
}

#[test]
fn atomics_of_every_operation_and_type() {
    let types = [(0, ""), (1, ".S32"), (2, ".64"), (5, ".S64"), (3, ".F32.FTZ.RN"), (6, ".F64.RN")];
    let types_90 = [(0, ""), (1, ".S32"), (2, ".64"), (3, ".S64")];
    let floats_90 = [(9, ".F32.FTZ.RN"), (15, ".F64.RN")];
    let legal = |op: u64, ty: &str| match op {
        0 => true,
        3 | 4 => ty.is_empty(),
        _ => !ty.contains(".F"),
    };
    for sm in [70, 75, 80, 86, 90] {
        let list: &[(u64, &'static str)] = if sm == 90 { &types_90 } else { &types };
        let form = if sm < 80 { 1 } else { 4 };
        for &ty in list {
            for op in (0..9).filter(|&op| legal(op, ty.1)) {
                for code in [0x1a8, 0x18a] {
                    check_atomic(&Case { code, form, sm, ty, op, shared: false });
                }
                if op < 8 {
                    check_atomic(&Case { code: 0x18e, form: 4, sm, ty, op, shared: false });
                }
            }
        }
        if sm == 90 {
            for ty in floats_90 {
                for code in [0x1a3, 0x1a2, 0x1a6] {
                    check_atomic(&Case { code, form: 4, sm, ty, op: 0, shared: false });
                }
            }
        }
        for ty in [(0, ""), (1, ".S32"), (2, ".64")] {
            for op in (0..9).filter(|&op| legal(op, ty.1)) {
                check_atomic(&Case { code: 0x18c, form: 1, sm, ty, op, shared: true });
            }
        }
    }
    let case = Case { code: 0x18e, form: 4, sm: 75, ty: (3, ""), op: 0, shared: false };
    means("RED.E.ADD.F32.FTZ.RN.STRONG.GPU [R2], R12", 75, atomic_word(&case, 0));
    let case = Case { code: 0x1a8, form: 4, sm: 86, ty: (2, ""), op: 8, shared: false };
    means("ATOMG.E.EXCH.64.STRONG.GPU PT, R8, [R2.64], R12", 86, atomic_word(&case, 8));
    let case = Case { code: 0x18c, form: 1, sm: 90, ty: (1, ""), op: 1, shared: true };
    means("ATOMS.MIN.S32 R8, [R2], R12", 90, atomic_word(&case, 8));
}

#[test]
fn compare_and_swap() {
    for sm in [70, 75, 80, 90] {
        for wide in [false, true] {
            let ty = if wide { 2 } else { 0 };
            let global = |code| {
                let word = Word::new(code, 1).d(8).a(2).bits(32, 8, 12).c(14).bits(72, 1, 1).bits(73, 3, ty);
                let word = word.bits(84, 3, 1).bits(81, 3, 2);
                if sm < 80 { word.bits(77, 2, 2).bits(79, 2, 2) } else { word.bits(77, 4, 7) }
            };
            let shared = Word::new(0x18d, 1).d(8).a(2).bits(32, 8, 12).c(14).bits(73, 2, ty);
            let cast = shared.bits(87, 2, 3);
            for (number, word) in [global(0x1a9), global(0x18b), shared, cast].into_iter().enumerate() {
                let mut bench = Bench::new(8);
                let (base, in_shared, size) = (bench.base, number >= 2, if wide { 8 } else { 4 });
                // Each place is wanted by four lanes, of which every other compares with what is there.
                let at = |lane: u64| size * (lane / 4);
                let old: Vec<[u8; 8]> = (0..8).map(|_| bench.random.random()).collect();
                let old: Vec<u64> = old.into_iter().map(u64::from_le_bytes).collect();
                let old: Vec<u64> = old.into_iter().map(|x| if wide { x } else { x & 0xffff_ffff }).collect();
                let bytes: Vec<u8> = old.iter().flat_map(|x| x.to_le_bytes()[..size as usize].to_vec()).collect();
                bench.setting.state.memory.write(base, &bytes).unwrap();
                bench.point(12, |lane| if lane % 2 == 1 { old[lane as usize / 4] } else { 99 });
                bench.point(4, |lane| base + 4 * (lane % 16));
                bench.registers.general[6] = std::array::from_fn(|lane| 4 * (lane as u32 % 16));
                bench.point(2, |lane| if in_shared { at(lane) } else { base + at(lane) });
                bench.registers.predicates = [0; 7];
                let mut code = vec![ldg(sm, 7, 4, 0, 4).0, sts(6, 0, 7, 4).0, word.0];
                if in_shared {
                    code.extend([lds(sm, 7, 6, 0, 4).0, stg(sm, 4, 0, 7, 4).0]);
                }
                let result = bench.run(sm, &code);
                let mut memory = old.clone();
                let pair = |r: &Registers, n: usize, lane: usize| {
                    let high = if wide { r.general[n + 1][lane] } else { 0 };
                    u64::from(r.general[n][lane]) | u64::from(high) << 32
                };
                for lane in 0..32 {
                    let place = &mut memory[lane / 4];
                    let (compared, new) = (pair(&bench.registers, 12, lane), pair(&bench.registers, 14, lane));
                    if number == 3 {
                        assert_eq!(result.general[8][lane], u32::from(*place == compared), "sm_{sm} lane {lane}");
                    } else {
                        assert_eq!(pair(&result, 8, lane), *place, "sm_{sm} lane {lane}");
                    }
                    if *place == compared {
                        *place = new;
                    }
                }
                let bytes: Vec<u8> = memory.iter().flat_map(|x| x.to_le_bytes()[..size as usize].to_vec()).collect();
                assert_eq!(bench.memory()[..bytes.len()], bytes, "sm_{sm} {number}");
                assert_eq!(result.predicates[2], if in_shared { 0 } else { !0 });
            }
        }
    }
    let cast = Word::new(0x18d, 1).d(3).a(0).bits(32, 8, 2).c(3).bits(87, 2, 3);
    means("ATOMS.CAST.SPIN R3, [R0], R2, R3", 75, cast);
}

/// The loop that compilers make of an atomic addition to a number in shared memory.
#[test]
fn a_loop_of_compare_and_store_adds_all_lanes() {
    let mut bench = Bench::new(9);
    bench.registers.general[0] = [16; 32];
    bench.registers.general[5] = std::array::from_fn(|lane| 1 << lane);
    let clear = sts(0, 0, RZ, 4);
    let load = lds(75, 2, 0, 0, 4);
    let set = Word::new(0x18d, 1).d(3).a(0).bits(32, 8, 2).c(5).bits(87, 2, 3);
    let result = bench.run(75, &[clear.0, load.0, set.0, lds(75, 4, 0, 0, 4).0]);
    assert_eq!(result.general[3], std::array::from_fn(|lane| u32::from(lane == 0)), "the first lane wins");
    assert_eq!(result.general[4], [1; 32]);
}

#[test]
fn increments_by_the_number_of_lanes() {
    for sm in [80, 86, 90] {
        let mut bench = Bench::new(10);
        bench.registers.uniform[6] = 8;
        bench.registers.general[2] = std::array::from_fn(|lane| if lane < 20 { 0 } else { 4 });
        bench.registers.predicates[0] = 0x00ff_ffff;
        let clear = [sts(RZ, 8, RZ, 4).0, sts(RZ, 12, RZ, 4).0];
        let inc = Word::new(0x18c, 7).d(RZ).a(2).bits(64, 6, 6).bits(88, 4, 13).guard(0, false);
        means("@P0 ATOMS.POPC.INC.32 RZ, [R2+UR6]", sm, inc);
        let read = [lds(sm, 4, RZ, 8, 4).0, lds(sm, 5, RZ, 12, 4).0];
        let result = bench.run(sm, &[clear[0], clear[1], inc.0, read[0], read[1]]);
        assert_eq!((result.general[4][0], result.general[5][0]), (20, 4));
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
    // The offset of 8 brings the last of each window's lanes into it, or out of it.
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
        let case = Case { code: 0x18e, form: 4, sm, ty: (0, ""), op: 0, shared: false };
        bench.point(2, |_| base + 2);
        assert!(bench.fault(sm, &[atomic_word(&case, 0).0]).contains("misaligned atomic"));
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
    let case = Case { code: 0x1a8, form: 1, sm: 75, ty: (3, ""), op: 1, shared: false };
    assert!(refused(75, atomic_word(&case, 8)).contains("atomic .MIN of type `.F32.FTZ.RN`"));
    let case = Case { code: 0x1a8, form: 1, sm: 75, ty: (2, ""), op: 3, shared: false };
    assert!(refused(75, atomic_word(&case, 8)).contains("atomic .INC of type `.64`"));
}

/// What the timing model sees are the registers of the machine, none that only sequences use.
#[test]
fn operands_for_timing() {
    let names = |sm: u8, word: Word| {
        let kernel = lower::load_words("k", sm, &[word.0], 32).unwrap();
        let program = &kernel.program;
        let inst = &program.insts()[0];
        let ids = |list: &[isa::RegId]| list.iter().map(|r| r.0).collect::<Vec<_>>();
        (ids(program.dsts(inst)), ids(program.srcs(inst)))
    };
    assert_eq!(names(80, ldg(80, 8, 2, 0, 6)), (vec![8, 9, 10, 11], vec![2, 3]));
    assert_eq!(names(75, stg(75, 2, 0, 8, 5)), (vec![], vec![2, 3, 8, 9]));
    assert_eq!(names(75, sts(2, 0, 8, 4).bits(78, 2, 1)), (vec![], vec![2, 8]));
}

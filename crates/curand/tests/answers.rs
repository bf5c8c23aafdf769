//! Known answers: of the published algorithms, and of cuRAND 10.4 where its documentation defines the order of results.

use crate::library::{Address, Memory, devices, into};

const XORWOW: i32 = 101;
const MRG32K3A: i32 = 121;
const MT19937: i32 = 142;
const PHILOX: i32 = 161;
const SOBOL32: i32 = 201;
const SOBOL64: i32 = 203;

/// A generator with the seed 1234, on the host or the device.
pub struct Generator {
    pub handle: Address,
    on_host: bool,
}

impl Generator {
    pub fn new(kind: i32, on_host: bool) -> Self {
        let mut handle = 0;
        let create = if on_host { "curandCreateGeneratorHost" } else { "curandCreateGenerator" };
        assert_eq!(c!(create, into(&mut handle), kind), 0);
        if kind < 200 {
            assert_eq!(c!("curandSetPseudoRandomGeneratorSeed", handle, 1234_u64), 0);
        }
        Self { handle, on_host }
    }

    /// The elements that a call leaves.
    pub fn draw<T: Copy + Default>(&self, count: usize, call: impl FnOnce(Address, Address, usize) -> i32) -> Vec<T> {
        let mut values = vec![T::default(); count];
        if self.on_host {
            assert_eq!(call(self.handle, into(values.as_mut_slice()), count), 0);
            return std::hint::black_box(values);
        }
        let memory = Memory::with(&values);
        assert_eq!(call(self.handle, memory.address, count), 0);
        memory.get()
    }

    pub fn words(&self, count: usize) -> Vec<u32> {
        self.draw(count, |handle, out, count| c!("curandGenerate", handle, out, count))
    }

    pub fn uniform(&self, count: usize) -> Vec<f32> {
        self.draw(count, |handle, out, count| c!("curandGenerateUniform", handle, out, count))
    }

    pub fn doubles(&self, count: usize) -> Vec<f64> {
        self.draw(count, |handle, out, count| c!("curandGenerateUniformDouble", handle, out, count))
    }

    pub fn normal(&self, count: usize) -> Vec<f32> {
        self.draw(count, |handle, out, count| c!("curandGenerateNormal", handle, out, count, 0_f32, 1_f32))
    }
}

impl Drop for Generator {
    fn drop(&mut self) {
        assert_eq!(c!("curandDestroyGenerator", self.handle), 0);
    }
}

#[test]
fn words_are_the_ones_of_curand() {
    let _devices = devices();
    for on_host in [true, false] {
        for (kind, first) in [
            (XORWOW, [624_778_773, 3_522_650_202, 2_363_946_744, 1_266_286_439, 3_928_747_533]),
            (MRG32K3A, [3_379_073_520, 653_317_650, 4_012_281_984, 4_237_272_334, 4_243_547_925]),
            (PHILOX, [546_353_992, 3_665_621_163, 1_140_953_199, 3_419_031_310, 3_507_855_656]),
            (SOBOL32, [0, 2_147_483_648, 3_221_225_472, 1_073_741_824, 1_610_612_736]),
        ] {
            assert_eq!(Generator::new(kind, on_host).words(5), first, "{kind}");
            // In two calls, and from an offset.
            let two = Generator::new(kind, on_host);
            assert_eq!([two.words(2), two.words(3)].concat(), first, "{kind}");
            assert_eq!(c!("curandSetGeneratorOffset", two.handle, 3_u64), 0);
            assert_eq!(two.words(2), first[3..], "{kind}");
        }
        // The order of the sequence itself: cuRAND's is another one.
        let twister = Generator::new(MT19937, on_host);
        let all = [twister.words(1000), twister.words(500)].concat();
        assert_eq!(all[..3], [822_569_775, 2_137_449_171, 2_671_936_806]);
        assert_eq!(Generator::new(MT19937, on_host).words(1500), all);
    }
}

#[test]
fn dimensions_of_sobol_sequences_follow_each_other() {
    let _devices = devices();
    for on_host in [true, false] {
        let first = [0, 1 << 31, 3 << 30, 1 << 30, 0, 1 << 31, 1 << 30, 3 << 30, 0, 1 << 31, 1 << 30, 3 << 30];
        let generator = Generator::new(SOBOL32, on_host);
        assert_eq!(c!("curandSetQuasiRandomGeneratorDimensions", generator.handle, 3_u32), 0);
        assert_eq!(generator.words(12), first);
        let second = generator.words(3);
        assert_eq!(c!("curandSetGeneratorOffset", generator.handle, 4_u64), 0);
        assert_eq!(generator.words(3), second);
        let long = Generator::new(SOBOL64, on_host);
        assert_eq!(c!("curandSetQuasiRandomGeneratorDimensions", long.handle, 3_u32), 0);
        let words: Vec<u64> = long.draw(12, |handle, out, count| c!("curandGenerateLongLong", handle, out, count));
        assert_eq!(words, first.map(|word| u64::from(word) << 32));
    }
}

#[test]
fn numbers_are_the_ones_of_curand() {
    let _devices = devices();
    let near = |x: &[f64], expected: &[f64], unit: f64| {
        assert!(x.iter().zip(expected).all(|(x, y)| (x - y).abs() <= unit), "{x:?}, not {expected:?}");
    };
    let wide = |x: Vec<f32>| x.into_iter().map(f64::from).collect::<Vec<_>>();
    for on_host in [true, false] {
        for (kind, uniform, normal, double) in [
            (
                XORWOW,
                [0.145_467_638_969_421_4, 0.820_180_892_944_335_9],
                [0.780_973_553_657_531_7, -1.801_578_164_100_647],
                [0.434_898_804_388_412_93, 0.926_416_920_202_437_7],
            ),
            (
                MRG32K3A,
                [0.786_751_866_340_637_2, 0.152_112_364_768_981_93],
                [-0.360_653_787_851_333_6, -0.591_281_294_822_692_9],
                [0.786_751_862_715_729_4, 0.152_112_369_144_215_53],
            ),
            (
                PHILOX,
                [0.127_207_949_757_576, 0.853_468_954_563_140_9],
                [-1.616_490_483_283_996_6, 1.229_155_421_257_019],
                // The order of cuRAND's further numbers is not documented.
                [0.853_468_995_430_014_3, f64::NAN],
            ),
        ] {
            near(&wide(Generator::new(kind, on_host).uniform(2)), &uniform, 6e-8);
            near(&wide(Generator::new(kind, on_host).normal(2)), &normal, 1e-6);
            let count = if double[1].is_nan() { 1 } else { 2 };
            near(&Generator::new(kind, on_host).doubles(count), &double[..count], 3e-16);
        }
        let first = [2.0_f64.powi(-32), 0.5 + 2.0_f64.powi(-32)];
        near(&Generator::new(SOBOL32, on_host).doubles(2), &first, 0.0);
        near(&wide(Generator::new(SOBOL64, on_host).normal(2)), &[-6.337_957_382, 0.0], 1e-6);
        let sobol = Generator::new(SOBOL32, on_host);
        near(&wide(sobol.normal(4)), &[-6.337_957_382, 0.0, 0.674_489_736_6, -0.674_489_736_6], 1e-6);
    }
}

/// An item of XORWOW's and MRG32k3a's has the next words of its own lane.
#[test]
fn lanes_have_their_own_words() {
    let _devices = devices();
    for (kind, order, lanes) in [(XORWOW, 101, 4096), (MRG32K3A, 101, 81_920), (MRG32K3A, 103, 4096)] {
        let make = |on_host| {
            let generator = Generator::new(kind, on_host);
            assert_eq!(c!("curandSetGeneratorOrdering", generator.handle, order), 0);
            generator
        };
        let host = make(true);
        let words = host.words(lanes + 3);
        assert_eq!(make(false).words(lanes + 3), words);
        // A pair uses two words of its lane.
        let generator = make(false);
        let normal = generator.normal(2);
        assert_eq!(generator.words(2), words[1..3]);
        assert_eq!(c!("curandSetGeneratorOffset", generator.handle, lanes as u64), 0);
        assert_eq!(generator.words(3), words[lanes..]);
        let (first, second) = (words[0], words[lanes]);
        let radius = (-2.0 * ((f64::from(first) + 0.5) / 4_294_967_296.0).ln()).sqrt();
        let angle = std::f64::consts::TAU * f64::from(second) / 4_294_967_296.0;
        assert!((radius * angle.sin() - f64::from(normal[0])).abs() < 1e-5);
    }
}

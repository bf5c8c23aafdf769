//! Random calls: the device against the host, and the distributions against their moments.

use crate::answers::Generator;
use crate::library::{devices, select};

struct Random(u64);

impl Random {
    fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
        (self.0 >> 33) % end
    }
}

fn given(name: &str, default: u64) -> u64 {
    std::env::var(name).map_or(default, |text| text.parse().unwrap_or_else(|_| panic!("{name}: {text}")))
}

/// Several draws of one generator with random settings leave the same on the device as on the host.
#[test]
fn random_calls() {
    let devices = devices();
    let (seed, cases) = (given("CHECK_SEED", 1), given("CHECK_CASES", 40));
    let numbers = std::env::var("CHECK_CASE").map_or(0..cases, |_| given("CHECK_CASE", 0)..given("CHECK_CASE", 0) + 1);
    for number in numbers {
        let mut random = Random(seed.wrapping_mul(0x9e37_79b9) ^ number.wrapping_mul(0x0100_0000_01b3));
        random.below(2);
        select(devices[random.below(devices.len() as u64) as usize]);
        let kind = [101, 121, 142, 161, 201, 203][random.below(6) as usize];
        let pair = [true, false].map(|on_host| Generator::new(kind, on_host));
        let dimensions = if kind > 200 { 1 + random.below(20) as u32 } else { 1 };
        let most = [4, 14, 30][random.below(3) as usize];
        let (offset, new_seed) = (random.below(1 << most), random.below(1 << 31) << 9);
        for generator in &pair {
            if kind > 200 {
                assert_eq!(c!("curandSetQuasiRandomGeneratorDimensions", generator.handle, dimensions), 0);
            } else {
                assert_eq!(c!("curandSetPseudoRandomGeneratorSeed", generator.handle, new_seed), 0);
            }
            if kind != 142 {
                assert_eq!(c!("curandSetGeneratorOffset", generator.handle, offset), 0);
            }
        }
        for draw in 0..3 {
            let step = if kind == 101 || kind == 121 { 2 } else { u64::from(dimensions) };
            let most = [40, 3000][random.below(2) as usize];
            let count = usize::try_from((1 + random.below(most)).next_multiple_of(step)).expect("a count");
            let (mean, deviation) = (random.below(9) as f64 - 4.0, 1.0 + random.below(3) as f64);
            let which = random.below(7);
            let text = format!("--seed {seed} --case {number}: kind {kind}, draw {draw} of {count}, output {which}");
            let near = |host: Vec<f64>, device: Vec<f64>, unit: f64| {
                for (i, (x, y)) in host.iter().zip(&device).enumerate() {
                    assert!((x - y).abs() <= unit * (1.0 + x.abs()), "{text}: element {i} is {y}, not {x}");
                }
            };
            macro_rules! both {
                ($kind:ty, $name:expr $(, $argument:expr)*) => {
                    pair.each_ref().map(|generator| {
                        generator.draw::<$kind>(count, |handle, out, count| c!($name, handle, out, count $(, $argument)*))
                    })
                };
            }
            let wide = |all: [Vec<f32>; 2]| all.map(|all| all.into_iter().map(f64::from).collect::<Vec<_>>());
            match which {
                0 if kind == 203 => {
                    let [host, device] = both!(u64, "curandGenerateLongLong");
                    assert_eq!(host, device, "{text}");
                }
                0 => {
                    let [host, device] = both!(u32, "curandGenerate");
                    assert_eq!(host, device, "{text}");
                }
                1 => {
                    let [host, device] = both!(f32, "curandGenerateUniform");
                    assert_eq!(host, device, "{text}");
                }
                2 => {
                    let [host, device] = both!(f64, "curandGenerateUniformDouble");
                    assert_eq!(host, device, "{text}");
                }
                3 => {
                    let [host, device] = wide(both!(f32, "curandGenerateNormal", mean as f32, deviation as f32));
                    near(host, device, 2e-6 * deviation);
                }
                4 => {
                    let [host, device] = both!(f64, "curandGenerateNormalDouble", mean, deviation);
                    near(host, device, 1e-13);
                }
                5 => {
                    let [host, device] = wide(both!(f32, "curandGenerateLogNormal", mean as f32, deviation as f32));
                    near(host, device, 3e-5);
                }
                _ => {
                    let mean = [0.3, 3.5, 70.0, 3000.0, 1e5][random.below(5) as usize];
                    let [host, device] = both!(u32, "curandGeneratePoisson", mean);
                    // A sum of probabilities may be rounded to the other side of a number.
                    let apart = host.iter().zip(&device).filter(|(x, y)| x != y).count();
                    assert!(
                        apart * 1000 <= count && host.iter().zip(&device).all(|(x, y)| x.abs_diff(*y) <= 1),
                        "{text}"
                    );
                }
            }
        }
    }
    select(devices[0]);
}

/// Mean, variance and third and fourth moments of many numbers, within five standard errors.
#[test]
fn distributions_have_their_moments() {
    let _devices = devices();
    const COUNT: usize = 8000;
    let check = |what: &str, x: &[f64], mean: f64, variance: f64, fourth: f64| {
        let n = x.len() as f64;
        let found = x.iter().sum::<f64>() / n;
        let moment = |power| x.iter().map(|x| (x - mean).powi(power)).sum::<f64>() / n;
        assert!((found - mean).abs() < 5.0 * (variance / n).sqrt(), "{what}: mean {found}");
        let error = ((fourth - variance * variance) / n).sqrt();
        assert!((moment(2) - variance).abs() < 5.0 * error, "{what}: variance {}", moment(2));
        assert!((moment(4) - fourth).abs() < 0.2 * fourth, "{what}: fourth moment {}", moment(4));
        // Neighbours are not correlated.
        let together = x.windows(2).map(|x| (x[0] - mean) * (x[1] - mean)).sum::<f64>() / n;
        assert!(together.abs() < 5.0 * variance / n.sqrt(), "{what}: neighbours {together}");
    };
    for kind in [101, 121, 142, 161] {
        let generator = Generator::new(kind, false);
        let wide = |x: Vec<f32>| x.into_iter().map(f64::from).collect::<Vec<_>>();
        check("uniform", &wide(generator.uniform(COUNT)), 0.5, 1.0 / 12.0, 1.0 / 80.0);
        check("uniform doubles", &generator.doubles(COUNT), 0.5, 1.0 / 12.0, 1.0 / 80.0);
        check("normal", &wide(generator.normal(COUNT)), 0.0, 1.0, 3.0);
        let logs: Vec<f64> = generator
            .draw::<f64>(COUNT, |handle, out, count| {
                c!("curandGenerateLogNormalDouble", handle, out, count, 2_f64, 3_f64)
            })
            .into_iter()
            .map(f64::ln)
            .collect();
        check("logarithms", &logs, 2.0, 9.0, 243.0);
        for mean in [0.7, 12.5, 900.0, 1e6] {
            let counts: Vec<u32> =
                generator.draw(COUNT, |handle, out, count| c!("curandGeneratePoisson", handle, out, count, mean));
            let counts: Vec<f64> = counts.into_iter().map(f64::from).collect();
            check("Poisson's", &counts, mean, mean, mean * (1.0 + 3.0 * mean));
        }
    }
}

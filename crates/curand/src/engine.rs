//! Generators: their first states, and the next word of a state.
//!
//! XORWOW and MRG32k3a have lanes: the same sequence from places far apart, 2^67 and 2^76 words.

/// A generator.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    Xorwow,
    Mrg32k3a,
    Philox,
    Mt19937,
    Sobol32,
    Sobol64,
}

impl Kind {
    /// Its name in kernels.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Xorwow => "xorwow",
            Self::Mrg32k3a => "mrg32k3a",
            Self::Philox => "philox",
            Self::Mt19937 => "mt19937",
            Self::Sobol32 => "sobol32",
            Self::Sobol64 => "sobol64",
        }
    }

    /// Bits of a quasirandom number; `None` of others.
    pub const fn quasi_bits(self) -> Option<usize> {
        match self {
            Self::Sobol32 => Some(32),
            Self::Sobol64 => Some(64),
            _ => None,
        }
    }

    /// Whether normal numbers are made in pairs.
    pub const fn has_pairs(self) -> bool {
        matches!(self, Self::Xorwow | Self::Mrg32k3a | Self::Philox)
    }

    /// Lanes of the generator in an order of results; 0 if it has none.
    pub const fn lanes(self, legacy: bool) -> u32 {
        match self {
            Self::Xorwow => 4096,
            Self::Mrg32k3a if legacy => 4096,
            Self::Mrg32k3a => 81_920,
            _ => 0,
        }
    }
}

/// The state of a lane: XORWOW's five words and its counter, or MRG32k3a's two times three numbers.
pub type State = [u32; WORDS];
/// Words of a lane's state.
pub const WORDS: usize = 6;

/// The next word of XORWOW.
pub const fn xorwow(s: &mut State) -> u32 {
    let shifted = shift([s[0], s[1], s[2], s[3], s[4]]);
    *s = [shifted[0], shifted[1], shifted[2], shifted[3], shifted[4], s[5].wrapping_add(362_437)];
    s[4].wrapping_add(s[5])
}

const fn shift(v: [u32; 5]) -> [u32; 5] {
    let t = v[0] ^ (v[0] >> 2);
    [v[1], v[2], v[3], v[4], v[4] ^ (v[4] << 4) ^ t ^ (t << 1)]
}

const M1: u64 = 4_294_967_087;
const M2: u64 = 4_294_944_443;

/// The next number of MRG32k3a, from 1 to `M1`.
pub fn mrg32k3a(s: &mut State) -> u32 {
    let [a, b, c, d, e, f] = s.map(u64::from);
    let x = (1_403_580 * b + 810_728 * (M1 - a)) % M1;
    let y = (527_612 * f + 1_370_589 * (M2 - d)) % M2;
    *s = [b, c, x, e, f, y].map(low);
    low(if x > y { x - y } else { x + M1 - y })
}

/// The lower half of a number.
#[allow(clippy::cast_possible_truncation, reason = "this is what it is for")]
pub const fn low(x: u64) -> u32 {
    x as u32
}

/// The upper half of a number.
pub const fn high(x: u64) -> u32 {
    low(x >> 32)
}

/// A linear map of XORWOW's five words: the images of the bits.
#[derive(Clone)]
struct Bits(Vec<[u32; 5]>);

impl Bits {
    fn step() -> Self {
        let unit = |bit: usize| std::array::from_fn(|word| if word == bit / 32 { 1 << (bit % 32) } else { 0 });
        Self((0..160).map(|bit| shift(unit(bit))).collect())
    }

    fn of(&self, v: [u32; 5]) -> [u32; 5] {
        let mut sum = [0; 5];
        for (word, mut bits) in v.into_iter().enumerate() {
            while bits != 0 {
                let image = self.0[32 * word + bits.trailing_zeros() as usize];
                sum.iter_mut().zip(image).for_each(|(sum, x)| *sum ^= x);
                bits &= bits - 1;
            }
        }
        sum
    }

    fn squared(&self) -> Self {
        Self(self.0.iter().map(|image| self.of(*image)).collect())
    }
}

/// A linear map of three numbers of MRG32k3a, by a modulus.
#[derive(Clone, Copy)]
struct Numbers([[u64; 3]; 3], u64);

impl Numbers {
    fn of(&self, v: [u64; 3]) -> [u64; 3] {
        let Self(rows, modulus) = self;
        rows.map(|row| row.iter().zip(v).map(|(a, b)| a * b % modulus).sum::<u64>() % modulus)
    }

    fn squared(&self) -> Self {
        let Self(rows, modulus) = *self;
        let columns = [0, 1, 2].map(|j| self.of(rows.map(|row| row[j])));
        Self([0, 1, 2].map(|i| columns.map(|column| column[i])), modulus)
    }
}

/// A map from one lane's state to the next one's, and a state.
enum Jump {
    Xorwow(Bits),
    Mrg32k3a(Numbers, Numbers),
}

impl Jump {
    fn squared(&self) -> Self {
        match self {
            Self::Xorwow(map) => Self::Xorwow(map.squared()),
            Self::Mrg32k3a(a, b) => Self::Mrg32k3a(a.squared(), b.squared()),
        }
    }

    /// The state `words` words later, where this map is of that many.
    fn of(&self, s: State, words: u64) -> State {
        match self {
            Self::Xorwow(map) => {
                let [a, b, c, d, e] = map.of([s[0], s[1], s[2], s[3], s[4]]);
                [a, b, c, d, e, s[5].wrapping_add(362_437_u32.wrapping_mul(low(words)))]
            }
            Self::Mrg32k3a(first, second) => {
                let s = s.map(u64::from);
                let (a, b) = (first.of([s[0], s[1], s[2]]), second.of([s[3], s[4], s[5]]));
                [a[0], a[1], a[2], b[0], b[1], b[2]].map(low)
            }
        }
    }
}

/// The first states of lanes, one after the other.
pub struct Lanes {
    kind: Kind,
    jump: Jump,
    next: State,
    /// Lanes that are one word further.
    further: u64,
    made: u64,
}

impl Lanes {
    /// The lanes of a generator, `offset` words after the beginning of the results.
    pub fn new(kind: Kind, seed: u64, offset: u64, lanes: u32) -> Self {
        let (mut state, mut jump, distance) = match kind {
            Kind::Xorwow => (xorwow_seed(seed), Jump::Xorwow(Bits::step()), 67),
            _ => {
                let first = Numbers([[0, 1, 0], [0, 0, 1], [M1 - 810_728, 1_403_580, 0]], M1);
                let second = Numbers([[0, 1, 0], [0, 0, 1], [M2 - 1_370_589, 0, 527_612]], M2);
                (mrg32k3a_seed(seed), Jump::Mrg32k3a(first, second), 76)
            }
        };
        let (each, further) = (offset / u64::from(lanes), offset % u64::from(lanes));
        for power in 0..distance {
            if power < 64 && each >> power & 1 == 1 {
                state = jump.of(state, 1 << power);
            }
            jump = jump.squared();
        }
        Self { kind, jump, next: state, further, made: 0 }
    }
}

impl Iterator for Lanes {
    type Item = State;
    fn next(&mut self) -> Option<State> {
        let mut state = self.next;
        if self.made < self.further {
            _ = if self.kind == Kind::Xorwow { xorwow(&mut state) } else { mrg32k3a(&mut state) };
        }
        self.made += 1;
        // The counter's period divides the distance of lanes.
        self.next = self.jump.of(self.next, 0);
        Some(state)
    }
}

/// Marsaglia's first words, with the seed as cuRAND mixes it into them.
fn xorwow_seed(seed: u64) -> State {
    let a = (low(seed) ^ 0xaad2_6b49).wrapping_mul(1_099_087_573);
    let b = (high(seed) ^ 0xf7dc_efdd).wrapping_mul(2_591_861_531);
    [
        123_456_789_u32.wrapping_add(a),
        362_436_069 ^ a,
        521_288_629_u32.wrapping_add(b),
        88_675_123 ^ b,
        5_783_321_u32.wrapping_add(a),
        6_615_241_u32.wrapping_add(a).wrapping_add(b),
    ]
}

/// L'Ecuyer's 12345, with the seed as cuRAND mixes it into them.
fn mrg32k3a_seed(seed: u64) -> State {
    if seed == 0 {
        return [12_345; WORDS];
    }
    let (a, b) = (u64::from(low(seed) ^ 0x5555_5555), u64::from(high(seed) ^ 0xaaaa_aaaa));
    let mixed = [(a, M1), (b, M1), (a, M1), (b, M2), (a, M2), (b, M2)];
    mixed.map(|(by, modulus)| low(by * 12_345 % modulus))
}

/// Four words of Philox4x32-10 by their block.
pub fn philox(seed: u64, block: u64) -> [u32; 4] {
    // Blocks are dealt to 65,536 sequences in turn.
    let at = block >> 16;
    philox_of([low(at), high(at), low(block & 0xffff), 0], [low(seed), high(seed)])
}

fn philox_of(counter: [u32; 4], key: [u32; 2]) -> [u32; 4] {
    let ([mut a, mut b, mut c, mut d], [mut k, mut l]) = (counter, key);
    for _ in 0..10 {
        let (p, q) = (u64::from(a) * 0xd251_1f53, u64::from(c) * 0xcd9e_8d57);
        (a, b, c, d) = (high(q) ^ b ^ k, low(q), high(p) ^ d ^ l, low(p));
        (k, l) = (k.wrapping_add(0x9e37_79b9), l.wrapping_add(0xbb67_ae85));
    }
    [a, b, c, d]
}

/// MT19937: its words, and how many of them were used.
#[derive(Clone)]
pub struct Twister {
    pub words: [u32; 624],
    pub used: u32,
}

impl Twister {
    pub fn new(seed: u64) -> Self {
        let mut words = [low(seed); 624];
        for i in 1..624_u32 {
            let last = words[i as usize - 1];
            words[i as usize] = 1_812_433_253_u32.wrapping_mul(last ^ (last >> 30)).wrapping_add(i);
        }
        Self { words, used: 624 }
    }

    /// The next word.
    pub fn next(&mut self) -> u32 {
        if self.used == 624 {
            for i in 0..624 {
                let x = (self.words[i] & 0x8000_0000) | (self.words[(i + 1) % 624] & 0x7fff_ffff);
                let odd = if x & 1 == 1 { 0x9908_b0df } else { 0 };
                self.words[i] = self.words[(i + 397) % 624] ^ (x >> 1) ^ odd;
            }
            self.used = 0;
        }
        let mut x = self.words[self.used as usize];
        self.used += 1;
        x ^= x >> 11;
        x ^= (x << 7) & 0x9d2c_5680;
        x ^= (x << 15) & 0xefc6_0000;
        x ^ (x >> 18)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The known answers that the authors of Philox publish with it.
    #[test]
    fn philox_has_its_known_answers() {
        for (counter, key, expected) in [
            ([0; 4], [0; 2], [0x6627_e8d5, 0xe169_c58d, 0xbc57_ac4c, 0x9b00_dbd8]),
            ([u32::MAX; 4], [u32::MAX; 2], [0x408f_276d, 0x41c8_3b0e, 0xa20b_c7c6, 0x6d54_51fd]),
            (
                [0x243f_6a88, 0x85a3_08d3, 0x1319_8a2e, 0x0370_7344],
                [0xa409_3822, 0x299f_31d0],
                [0xd16c_fe09, 0x94fd_cceb, 0x5001_e420, 0x2412_6ea1],
            ),
        ] {
            assert_eq!(philox_of(counter, key), expected);
        }
    }

    /// The first words for the seed of the authors' own test, and word 10,000, which C++ fixes.
    #[test]
    fn mt19937_has_its_known_answers() {
        let mut twister = Twister::new(5489);
        let words: Vec<u32> = (0..10_000).map(|_| twister.next()).collect();
        assert_eq!(words[..3], [3_499_211_612, 581_869_302, 3_890_346_734]);
        assert_eq!(words[9_999], 4_123_659_995);
    }

    /// A lane is the sequence from a place on: jumps of few words are checked against steps.
    #[test]
    fn jumps_are_steps() {
        for kind in [Kind::Xorwow, Kind::Mrg32k3a] {
            let next = |state: &mut State| if kind == Kind::Xorwow { xorwow(state) } else { mrg32k3a(state) };
            let mut state = Lanes::new(kind, 9, 0, 1).next().unwrap();
            for offset in 0..40 {
                assert_eq!(Lanes::new(kind, 9, offset, 1).next(), Some(state), "{kind:?} {offset}");
                next(&mut state);
            }
            // Of seven lanes the first two are one word further.
            let lanes: Vec<State> = Lanes::new(kind, 9, 2 + 7 * 5, 7).take(7).collect();
            for (lane, mut state) in Lanes::new(kind, 9, 0, 7).take(7).enumerate() {
                for _ in 0..5 + u32::from(lane < 2) {
                    next(&mut state);
                }
                assert_eq!(lanes[lane], state);
            }
        }
    }

    /// L'Ecuyer's generator from 12345 six times: the first numbers that its published package prints.
    #[test]
    fn mrg32k3a_has_its_known_answers() {
        let mut state = [12_345; WORDS];
        let first = f64::from(mrg32k3a(&mut state)) * 2.328_306_549_295_728e-10;
        let second = f64::from(mrg32k3a(&mut state)) * 2.328_306_549_295_728e-10;
        assert!((first - 0.127_011_122_046_577_52).abs() < 1e-15, "{first}");
        assert!((second - 0.318_527_565_396_794_3).abs() < 1e-15, "{second}");
    }
}

//! Random numbers, and numbers as the library stores them.

pub struct Random(pub u64);

impl Random {
    pub fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
        ((self.0 >> 33) % end as u64) as usize
    }

    pub fn once_in(&mut self, end: usize) -> bool {
        self.below(end) == 0
    }

    pub fn one_of<T: Copy>(&mut self, all: &[T]) -> T {
        all[self.below(all.len())]
    }
}

pub type Complex = [f64; 2];

pub fn times([a, b]: Complex, [c, d]: Complex) -> Complex {
    [a * c - b * d, a * d + b * c]
}

pub fn plus([a, b]: Complex, [c, d]: Complex) -> Complex {
    [a + c, b + d]
}

pub fn minus([a, b]: Complex, [c, d]: Complex) -> Complex {
    [a - c, b - d]
}

/// The sum of the magnitudes of both parts.
pub fn size([re, im]: Complex) -> f64 {
    re.abs() + im.abs()
}

pub fn over([a, b]: Complex, [c, d]: Complex) -> Complex {
    let size = c * c + d * d;
    [(a * c + b * d) / size, (b * c - a * d) / size]
}

/// A type of values, by the numbers of `cudaDataType_t`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Kind(pub i32);

impl Kind {
    pub fn any(random: &mut Random) -> Self {
        Self(random.one_of(&[0, 1, 4, 5]))
    }

    pub fn is_double(self) -> bool {
        self.0 % 4 == 1
    }

    pub fn is_complex(self) -> bool {
        self.0 >= 4
    }

    pub fn bytes(self) -> usize {
        (if self.is_double() { 8 } else { 4 }) * if self.is_complex() { 2 } else { 1 }
    }

    pub fn unit(self) -> f64 {
        if self.is_double() { 1.2e-16 } else { 6e-8 }
    }

    /// A number that is not zero.
    pub fn number(self, random: &mut Random) -> Complex {
        let mut part = || (random.below(1999) as f64 - 1000.5) / 512.0;
        [part(), if self.is_complex() { part() } else { 0.0 }]
    }

    pub fn encode(self, x: Complex) -> Vec<u8> {
        x.into_iter()
            .take(if self.is_complex() { 2 } else { 1 })
            .flat_map(|x| if self.is_double() { x.to_le_bytes().to_vec() } else { (x as f32).to_le_bytes().to_vec() })
            .collect()
    }

    pub fn decode(self, bytes: &[u8]) -> Complex {
        let part = |at: usize| {
            if self.is_double() {
                f64::from_le_bytes(bytes[8 * at..8 * at + 8].try_into().expect("eight bytes"))
            } else {
                f32::from_le_bytes(bytes[4 * at..4 * at + 4].try_into().expect("four bytes")).into()
            }
        };
        [part(0), if self.is_complex() { part(1) } else { 0.0 }]
    }
}

/// Indices as bytes.
pub fn indices(all: &[usize], wide: bool, base: usize) -> Vec<u8> {
    all.iter()
        .flat_map(|i| {
            let i = (i + base) as i64;
            if wide { i.to_le_bytes().to_vec() } else { (i as i32).to_le_bytes().to_vec() }
        })
        .collect()
}

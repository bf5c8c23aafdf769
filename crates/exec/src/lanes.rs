//! The warp's registers as columns of 32 lanes, and element-wise maps over them.
//!
//! A map is one loop over 32 lanes, which the compiler turns into vector instructions. Lanes outside the mask
//! are computed and their results discarded, which is cheaper than skipping them. Each map is a function of its
//! own: within a function of many loops the compiler unrolls some and checks in others whether columns overlap.

use kit::{LaneMask, WARP_LANES};

/// One 32-bit value per lane.
pub type Column = [u32; WARP_LANES];

/// A register operand: a 32-bit vector register, or a constant of the kernel.
///
/// A 64-bit operand names the lower of two consecutive columns.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Reg(pub u16);

impl Reg {
    /// First number that is a constant instead of a register.
    pub const CONSTANTS: u16 = 0x8000;

    /// Constant number `index` of the kernel.
    pub const fn constant(index: u16) -> Self {
        Self(Self::CONSTANTS | index)
    }

    /// Whether this is a constant.
    pub const fn is_constant(self) -> bool {
        self.0 >= Self::CONSTANTS
    }

    /// The next column: the high word of a 64-bit operand.
    pub const fn next(self) -> Self {
        Self(self.0 + 1)
    }
}

/// A predicate operand: number, optionally negated; or true.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Pred(pub u16);

impl Pred {
    const NEGATED: u16 = 0x8000;
    /// The predicate that holds in all lanes. As a destination, the result is discarded.
    pub const TRUE: Self = Self(0x7fff);

    /// This predicate, negated.
    #[must_use]
    pub const fn not(self) -> Self {
        Self(self.0 ^ Self::NEGATED)
    }

    /// Its number in the predicate file, or `None` for the constant.
    pub const fn number(self) -> Option<u16> {
        let number = self.0 & !Self::NEGATED;
        if number == Self::TRUE.0 { None } else { Some(number) }
    }

    /// Whether it is negated.
    pub const fn is_negated(self) -> bool {
        self.0 & Self::NEGATED != 0
    }
}

/// Bit of each lane, as a column.
pub(crate) const LANE_BITS: Column = {
    let mut bits = [0; WARP_LANES];
    let mut i = 0;
    while i < WARP_LANES {
        bits[i] = 1 << i;
        i += 1;
    }
    bits
};

/// Registers of the executing warp, constants of its kernel, and the executing lanes.
pub(crate) struct Lanes<'a> {
    pub regs: &'a mut [Column],
    pub preds: &'a mut [LaneMask],
    pub constants: &'a [Column],
    /// Lanes whose registers the instruction may change.
    pub mask: LaneMask,
}

impl Lanes<'_> {
    /// The column of a 32-bit operand.
    #[inline(always)]
    pub fn column(&self, reg: Reg) -> &Column {
        if reg.is_constant() { &self.constants[(reg.0 - Reg::CONSTANTS) as usize] } else { &self.regs[reg.0 as usize] }
    }

    /// Low and high columns of a 64-bit operand.
    #[inline(always)]
    pub fn pair(&self, reg: Reg) -> (&Column, &Column) {
        let (file, i) = if reg.is_constant() { (self.constants, reg.0 - Reg::CONSTANTS) } else { (&*self.regs, reg.0) };
        let pair = &file[i as usize..i as usize + 2];
        (&pair[0], &pair[1])
    }

    /// Stores `values` in the executing lanes of register `reg`.
    #[inline(always)]
    pub fn write(&mut self, reg: Reg, values: &Column) {
        blend(&mut self.regs[reg.0 as usize], values, self.mask);
    }

    /// Lanes for which `pred` holds.
    #[inline(always)]
    pub fn pred(&self, pred: Pred) -> LaneMask {
        let value = pred.number().map_or(!0, |n| self.preds[n as usize]);
        if pred.is_negated() { !value } else { value }
    }

    /// Stores `value` in the executing lanes of predicate `pred`.
    #[inline(always)]
    pub fn write_pred(&mut self, pred: Pred, value: LaneMask) {
        if let Some(n) = pred.number() {
            let p = &mut self.preds[n as usize];
            *p = *p & !self.mask | value & self.mask;
        }
    }

    /// The value of an operand in one lane.
    #[inline(always)]
    pub fn get<T: Value>(&self, reg: Reg, lane: usize) -> T {
        T::get(T::view(self, reg), lane)
    }

    /// `d = f(a)` in each lane.
    #[inline(never)]
    pub fn map1<A: Value, D: Value>(&mut self, d: Reg, [a]: [Reg; 1], f: impl Fn(A) -> D) {
        let a = A::view(self, a);
        let mut out = D::blank();
        for i in 0..WARP_LANES {
            D::put(&mut out, i, f(A::get(a, i)));
        }
        D::commit(&out, self, d);
    }

    /// `d = f(a, b)` in each lane.
    #[inline(never)]
    pub fn map2<A: Value, B: Value, D: Value>(&mut self, d: Reg, [a, b]: [Reg; 2], f: impl Fn(A, B) -> D) {
        let (a, b) = (A::view(self, a), B::view(self, b));
        let mut out = D::blank();
        for i in 0..WARP_LANES {
            D::put(&mut out, i, f(A::get(a, i), B::get(b, i)));
        }
        D::commit(&out, self, d);
    }

    /// `d = f(a, b, c)` in each lane.
    #[inline(never)]
    pub fn map3<A: Value, B: Value, C: Value, D: Value>(
        &mut self,
        d: Reg,
        [a, b, c]: [Reg; 3],
        f: impl Fn(A, B, C) -> D,
    ) {
        let (a, b, c) = (A::view(self, a), B::view(self, b), C::view(self, c));
        let mut out = D::blank();
        for i in 0..WARP_LANES {
            D::put(&mut out, i, f(A::get(a, i), B::get(b, i), C::get(c, i)));
        }
        D::commit(&out, self, d);
    }

    /// `d = f(a, b, c, e)` in each lane.
    #[inline(never)]
    pub fn map4<A: Value, B: Value, C: Value, E: Value, D: Value>(
        &mut self,
        d: Reg,
        [a, b, c, e]: [Reg; 4],
        f: impl Fn(A, B, C, E) -> D,
    ) {
        let (a, b, c, e) = (A::view(self, a), B::view(self, b), C::view(self, c), E::view(self, e));
        let mut out = D::blank();
        for i in 0..WARP_LANES {
            D::put(&mut out, i, f(A::get(a, i), B::get(b, i), C::get(c, i), E::get(e, i)));
        }
        D::commit(&out, self, d);
    }

    /// Lanes in which `f(a, b)` holds.
    #[inline(always)]
    pub fn test2<A: Value, B: Value>(&self, a: Reg, b: Reg, f: impl Fn(A, B) -> bool) -> LaneMask {
        lanes_where(A::view(self, a), B::view(self, b), f)
    }
}

/// Lanes in which `f(a, b)` holds.
#[inline(never)]
fn lanes_where<A: Value, B: Value>(a: A::View<'_>, b: B::View<'_>, f: impl Fn(A, B) -> bool) -> LaneMask {
    let mut bits = [0; WARP_LANES];
    for i in 0..WARP_LANES {
        bits[i] = if f(A::get(a, i), B::get(b, i)) { LANE_BITS[i] } else { 0 };
    }
    bits.iter().fold(0, |mask, bit| mask | bit)
}

/// Replaces the lanes of `column` that are in `mask`.
#[inline(always)]
pub(crate) fn blend(column: &mut Column, values: &Column, mask: LaneMask) {
    if mask == !0 {
        *column = *values;
    } else {
        blend_some(column, values, mask);
    }
}

/// A separate function, so that it is vectorised at every use.
#[inline(never)]
fn blend_some(column: &mut Column, values: &Column, mask: LaneMask) {
    for i in 0..WARP_LANES {
        let on = if mask & LANE_BITS[i] != 0 { u32::MAX } else { 0 };
        column[i] = values[i] & on | column[i] & !on;
    }
}

/// A type that registers hold, in one or two columns.
pub(crate) trait Value: Copy {
    /// Number of columns: 1 or 2.
    const COLUMNS: u8;
    type View<'a>: Copy;
    type Out;
    fn view<'a>(lanes: &'a Lanes<'_>, reg: Reg) -> Self::View<'a>;
    fn get(view: Self::View<'_>, lane: usize) -> Self;
    fn blank() -> Self::Out;
    fn put(out: &mut Self::Out, lane: usize, value: Self);
    fn commit(out: &Self::Out, lanes: &mut Lanes<'_>, reg: Reg);
}

macro_rules! one_column {
    ($($t:ty: $from:path, $to:path;)*) => {$(
        impl Value for $t {
            const COLUMNS: u8 = 1;
            type View<'a> = &'a Column;
            type Out = Column;
            #[inline(always)]
            fn view<'a>(lanes: &'a Lanes<'_>, reg: Reg) -> &'a Column {
                lanes.column(reg)
            }
            #[inline(always)]
            fn get(view: &Column, lane: usize) -> Self {
                $from(view[lane])
            }
            #[inline(always)]
            fn blank() -> Column {
                [0; WARP_LANES]
            }
            #[inline(always)]
            fn put(out: &mut Column, lane: usize, value: Self) {
                out[lane] = $to(value);
            }
            #[inline(always)]
            fn commit(out: &Column, lanes: &mut Lanes<'_>, reg: Reg) {
                lanes.write(reg, out);
            }
        }
    )*};
}

#[inline(always)]
const fn low_half(x: u32) -> u16 {
    x as u16
}

#[inline(always)]
const fn low_half_signed(x: u32) -> i16 {
    x as i16
}

/// Narrow values are kept zero-extended.
#[inline(always)]
const fn zero_extended(x: i16) -> u32 {
    x as u16 as u32
}

one_column! {
    u32: u32::from, u32::from;
    i32: u32::cast_signed, i32::cast_unsigned;
    f32: f32::from_bits, f32::to_bits;
    u16: low_half, u32::from;
    i16: low_half_signed, zero_extended;
}

macro_rules! two_columns {
    ($($t:ty: $from:path, $to:path;)*) => {$(
        impl Value for $t {
            const COLUMNS: u8 = 2;
            type View<'a> = (&'a Column, &'a Column);
            type Out = [Column; 2];
            #[inline(always)]
            fn view<'a>(lanes: &'a Lanes<'_>, reg: Reg) -> (&'a Column, &'a Column) {
                lanes.pair(reg)
            }
            #[inline(always)]
            fn get((low, high): (&Column, &Column), lane: usize) -> Self {
                $from(u64::from(low[lane]) | u64::from(high[lane]) << 32)
            }
            #[inline(always)]
            fn blank() -> [Column; 2] {
                [[0; WARP_LANES]; 2]
            }
            #[inline(always)]
            fn put(out: &mut [Column; 2], lane: usize, value: Self) {
                let bits: u64 = $to(value);
                out[0][lane] = bits as u32;
                out[1][lane] = (bits >> 32) as u32;
            }
            #[inline(always)]
            fn commit(out: &[Column; 2], lanes: &mut Lanes<'_>, reg: Reg) {
                lanes.write(reg, &out[0]);
                lanes.write(reg.next(), &out[1]);
            }
        }
    )*};
}

two_columns! {
    u64: u64::from, u64::from;
    i64: u64::cast_signed, i64::cast_unsigned;
    f64: f64::from_bits, f64::to_bits;
}

/// Declares a table of element-wise operations. A row has the operation's name, its class for timing, the kind of work
/// of its lanes where the class does not determine it, the types of its operands and its meaning in one lane.
///
/// The table becomes an enum; `run` executes an operation, `class` and `columns` describe it.
macro_rules! lane_ops {
    ($(#[$doc:meta])* $name:ident, $map:ident, $count:literal $(, $mode:ident: $mode_type:ty)?;
     $($(#[doc = $text:literal])* $op:ident: $class:ident $([$work:ident])? ($($a:ident: $t:ty),+) -> $r:ty $body:block)*) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[repr(u8)]
        #[allow(missing_docs, reason = "the row of an operation is its meaning")]
        pub enum $name { $($(#[doc = $text])* $op,)* }

        impl $name {
            /// Executes the operation: register `d` from registers `s`.
            #[inline]
            #[allow(unused_variables)]
            pub(crate) fn run(
                self,
                lanes: &mut $crate::lanes::Lanes<'_>,
                $($mode: $mode_type,)?
                d: $crate::lanes::Reg,
                s: [$crate::lanes::Reg; $count],
            ) {
                match self {
                    $($name::$op => lanes.$map(d, s, #[inline(always)] |$($a: $t),+| -> $r { $body }),)*
                }
            }

            /// Class for timing.
            pub const fn class(self) -> isa::OpClass {
                match self { $($name::$op => isa::OpClass::$class,)* }
            }

            /// Work of the lanes. A row of a class of several kinds of work names its own.
            pub const fn work(self) -> isa::Work {
                match self { $($name::$op => $crate::lanes::work_of!($class $($work)?),)* }
            }

            /// Columns of the destination and of each source.
            pub const fn columns(self) -> (u8, [u8; $count]) {
                use $crate::lanes::Value;
                match self {
                    $($name::$op => (<$r as Value>::COLUMNS, [$(<$t as Value>::COLUMNS),+]),)*
                }
            }
        }
    };
}
pub(crate) use lane_ops;

/// The kind of work of a class, or else the one that is named. Does not compile for a class of several kinds of
/// work of which none is named.
macro_rules! work_of {
    ($class:ident $work:ident) => {
        isa::Work::$work
    };
    ($class:ident) => {
        const { isa::Work::of(isa::OpClass::$class).expect("a class of one kind of work") }
    };
}
pub(crate) use work_of;

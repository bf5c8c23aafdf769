//! Bit fields, counts, permutes, funnel shifts, three-input logic (PTX ISA, "Integer Arithmetic
//! Instructions" from `popc` on, "Logic and Shift Instructions", "prmt").

/// `popc.b64`, which returns 32 bits too. For `.b32` use [`u32::count_ones`].
#[inline(always)]
pub const fn popc64(a: u64) -> u32 {
    a.count_ones()
}

/// `clz.b64`: 64 for zero. For `.b32` use [`u32::leading_zeros`].
#[inline(always)]
pub const fn clz64(a: u64) -> u32 {
    a.leading_zeros()
}

/// Result of `bfind` if there is no such bit.
pub const NOT_FOUND: u32 = u32::MAX;

/// `bfind.u32`: position of the most significant one; with `shift_amount` the left shift that moves it to the
/// top.
#[inline(always)]
pub const fn bfind_u32(a: u32, shift_amount: bool) -> u32 {
    if a == 0 {
        NOT_FOUND
    } else if shift_amount {
        a.leading_zeros()
    } else {
        31 - a.leading_zeros()
    }
}

/// `bfind.s32`: as `bfind.u32`, for the most significant bit that differs from the sign.
#[inline(always)]
pub const fn bfind_s32(a: i32, shift_amount: bool) -> u32 {
    bfind_u32((a ^ (a >> 31)) as u32, shift_amount)
}

/// `bfind.u64`.
#[inline(always)]
pub const fn bfind_u64(a: u64, shift_amount: bool) -> u32 {
    if a == 0 {
        NOT_FOUND
    } else if shift_amount {
        a.leading_zeros()
    } else {
        63 - a.leading_zeros()
    }
}

/// `bfind.s64`.
#[inline(always)]
pub const fn bfind_s64(a: i64, shift_amount: bool) -> u32 {
    bfind_u64((a ^ (a >> 63)) as u64, shift_amount)
}

/// Bits `0..n` of a 64-bit word.
#[inline(always)]
const fn ones(n: u32) -> u64 {
    if n >= 64 { u64::MAX } else { (1 << n) - 1 }
}

/// `bfe.u32`: `len` bits starting at `pos`; bits beyond the top are zero. Only the low 8 bits of `pos` and
/// `len` are used.
#[inline(always)]
pub const fn bfe_u32(a: u32, pos: u32, len: u32) -> u32 {
    bfe_u64(a as u64, pos, len) as u32
}

/// `bfe.s32`: as [`bfe_u32`], sign-extended by the field's top bit, or by the word's if the field extends
/// beyond it.
#[inline(always)]
pub const fn bfe_s32(a: i32, pos: u32, len: u32) -> i32 {
    bfe_s64(a as i64, pos, len) as i32
}

/// `bfe.u64`.
#[inline(always)]
pub const fn bfe_u64(a: u64, pos: u32, len: u32) -> u64 {
    let (pos, len) = (pos & 0xff, len & 0xff);
    if pos >= 64 { 0 } else { a >> pos & ones(len) }
}

/// `bfe.s64`.
#[inline(always)]
pub const fn bfe_s64(a: i64, pos: u32, len: u32) -> i64 {
    let (pos, len) = (pos & 0xff, len & 0xff);
    if len == 0 {
        return 0;
    }
    // Beyond the top all bits are the sign.
    let field = a >> (if pos > 63 { 63 } else { pos });
    let unused = 64u32.saturating_sub(len);
    field << unused >> unused
}

/// `bfi.b32`: `b` with `len` bits starting at `pos` replaced by the low bits of `a`. Only the low 8 bits of
/// `pos` and `len` are used.
#[inline(always)]
pub const fn bfi_u32(a: u32, b: u32, pos: u32, len: u32) -> u32 {
    bfi_u64(a as u64, b as u64, pos, len) as u32
}

/// `bfi.b64`.
#[inline(always)]
pub const fn bfi_u64(a: u64, b: u64, pos: u32, len: u32) -> u64 {
    let (pos, len) = (pos & 0xff, len & 0xff);
    if pos >= 64 {
        return b;
    }
    let mask = ones(len) << pos;
    (b & !mask) | (a << pos & mask)
}

/// `fns.b32`: position of the `offset`-th one of `mask` counted from bit `base`, upwards for positive
/// `offset` and downwards for negative. For 0, `base` if that bit is one. [`NOT_FOUND`] if there is none.
#[inline]
pub const fn fns(mask: u32, base: u32, offset: i32) -> u32 {
    if base > 31 {
        return NOT_FOUND;
    }
    if offset == 0 {
        return if mask >> base & 1 != 0 { base } else { NOT_FOUND };
    }
    let up = offset > 0;
    // Candidates from `base` on, the nearest at the lowest bit.
    let mut rest = if up { mask >> base } else { mask.reverse_bits() >> (31 - base) };
    let mut skip = offset.unsigned_abs() - 1;
    if skip > 31 {
        return NOT_FOUND;
    }
    while skip > 0 {
        rest &= rest.wrapping_sub(1);
        skip -= 1;
    }
    if rest == 0 {
        return NOT_FOUND;
    }
    let distance = rest.trailing_zeros();
    if up { base + distance } else { base - distance }
}

/// `shf.l`: the upper word of `hi:lo` shifted left. The amount wraps at 32 or, with `clamp`, stops
/// there.
#[inline(always)]
pub const fn shf_l(lo: u32, hi: u32, amount: u32, clamp: bool) -> u32 {
    let n = funnel_amount(amount, clamp);
    (pair(lo, hi) << n >> 32) as u32
}

/// `shf.r`: the lower word of `hi:lo` shifted right, amount as for [`shf_l`].
#[inline(always)]
pub const fn shf_r(lo: u32, hi: u32, amount: u32, clamp: bool) -> u32 {
    (pair(lo, hi) >> funnel_amount(amount, clamp)) as u32
}

#[inline(always)]
const fn pair(lo: u32, hi: u32) -> u64 {
    (hi as u64) << 32 | lo as u64
}

#[inline(always)]
const fn funnel_amount(amount: u32, clamp: bool) -> u32 {
    if !clamp {
        amount & 31
    } else if amount > 32 {
        32
    } else {
        amount
    }
}

/// `lop3.b32`: each result bit is bit `a<<2 | b<<1 | c` of `table`.
#[inline(always)]
pub const fn lop3(a: u32, b: u32, c: u32, table: u8) -> u32 {
    /// The function of `c` that two table entries describe.
    #[inline(always)]
    const fn of_c(c: u32, table: u8, at: u32) -> u32 {
        let for_zero = ((table >> at & 1) as u32).wrapping_neg();
        let for_one = ((table >> (at + 1) & 1) as u32).wrapping_neg();
        (for_zero & !c) | (for_one & c)
    }
    let without_a = (of_c(c, table, 0) & !b) | (of_c(c, table, 2) & b);
    let with_a = (of_c(c, table, 4) & !b) | (of_c(c, table, 6) & b);
    (without_a & !a) | (with_a & a)
}

/// Modes of `prmt`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Permute {
    /// Each nibble of the selector selects one of the eight bytes of `b:a`; its top bit replicates that
    /// byte's sign to all eight bits.
    #[default]
    Default,
    /// `.f4e`: four bytes upwards from the selected one.
    Forward4,
    /// `.b4e`: four bytes downwards from the selected one.
    Backward4,
    /// `.rc8`: the selected byte four times.
    Replicate8,
    /// `.ecl`: each byte in place, none below the selected one.
    EdgeClampLeft,
    /// `.ecr`: each byte in place, none above the selected one.
    EdgeClampRight,
    /// `.rc16`: the selected half twice.
    Replicate16,
}

/// `prmt.b32{.mode}`.
#[inline]
pub fn prmt(a: u32, b: u32, selector: u32, mode: Permute) -> u32 {
    let i = selector & 3;
    let nibble = |k: u32| match mode {
        Permute::Default => selector >> (4 * k) & 0xf,
        Permute::Forward4 => i + k,
        Permute::Backward4 => i.wrapping_sub(k) & 7,
        Permute::Replicate8 => i,
        Permute::EdgeClampLeft => k.max(i),
        Permute::EdgeClampRight => k.min(i),
        Permute::Replicate16 => (i & 1) * 2 + (k & 1),
    };
    prmt_default(a, b, nibble(0) | nibble(1) << 4 | nibble(2) << 8 | nibble(3) << 12)
}

/// `prmt.b32` without a mode.
#[inline(always)]
pub const fn prmt_default(a: u32, b: u32, selector: u32) -> u32 {
    let bytes = pair(a, b);
    let mut result = 0;
    let mut k = 0;
    while k < 4 {
        let nibble = selector >> (4 * k);
        let byte = (bytes >> (8 * (nibble & 7))) as u8;
        let byte = if nibble & 8 != 0 { (byte as i8 >> 7) as u8 } else { byte };
        result |= (byte as u32) << (8 * k);
        k += 1;
    }
    result
}

/// `szext.mode.{u32,s32}`: extends the low `n` bits of `a`. `n` is taken modulo 32 or, with `clamp`, as at
/// most 32; zero bits give zero.
#[inline(always)]
pub const fn szext(a: u32, n: u32, signed: bool, clamp: bool) -> u32 {
    if clamp && n >= 32 {
        return a;
    }
    let n = n & 31;
    if n == 0 {
        return 0;
    }
    let unused = 32 - n;
    if signed { ((a << unused) as i32 >> unused) as u32 } else { a << unused >> unused }
}

/// `bmsk.mode.b32`: `width` ones starting at bit `position`; both are taken modulo 32 or, with `clamp`, as at
/// most 32.
#[inline(always)]
pub const fn bmsk(position: u32, width: u32, clamp: bool) -> u32 {
    let (position, width) = if clamp {
        (if position > 32 { 32 } else { position }, if width > 32 { 32 } else { width })
    } else {
        (position & 31, width & 31)
    };
    (ones(width) << position) as u32
}

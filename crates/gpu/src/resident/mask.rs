//! Sets of warp slots as integers: 64 bits for the GPUs that there are, 128 for SMs of more warps.

use isa::WarpSlot;
use kit::persist::Fresh;
use std::fmt::Debug;
use std::ops::{BitAnd, BitAndAssign, BitOr, BitOrAssign, Not};

/// Most warp slots of an SM.
pub const MOST_WARPS: usize = 128;

/// A set of warp slots of an SM, one bit each. Everything that keeps such sets is generic over it, so
/// that an SM of at most 64 warps pays nothing for there being larger ones.
pub trait WarpMask:
    Copy
    + Send
    + Debug
    + Default
    + Eq
    + BitAnd<Output = Self>
    + BitOr<Output = Self>
    + Not<Output = Self>
    + BitAndAssign
    + BitOrAssign
    + Fresh
    + 'static
{
    /// Slots that it can tell apart.
    const SLOTS: usize;
    /// A value for each slot.
    type Each<T: Send>: AsRef<[T]> + AsMut<[T]> + Send;
    /// No slot.
    const NONE: Self;
    /// Every slot.
    const ALL: Self;

    /// `value` of each slot.
    fn each<T: Send>(value: impl FnMut(usize) -> T) -> Self::Each<T>;
    /// Only `warp`.
    fn of(warp: WarpSlot) -> Self;
    /// The `count` slots from `first` on, all of which it has.
    fn run(first: usize, count: usize) -> Self;
    /// The lowest slot, if there is one.
    fn first(self) -> Option<WarpSlot>;
    /// The set without its lowest slot; there is one.
    fn without_first(self) -> Self;
    /// The first slot after `last` in round-robin order.
    fn next_after(self, last: u32) -> Option<WarpSlot>;
    /// How many slots it holds.
    fn count(self) -> u32;
    /// As the widest set.
    fn widest(self) -> u128;

    /// Whether it holds nothing.
    #[inline(always)]
    fn is_empty(self) -> bool {
        self == Self::NONE
    }

    /// Whether it holds anything that `other` holds.
    #[inline(always)]
    fn meets(self, other: Self) -> bool {
        self & other != Self::NONE
    }

    /// Whether it holds `warp`.
    #[inline(always)]
    fn contains(self, warp: WarpSlot) -> bool {
        self.meets(Self::of(warp))
    }

    /// Adds `warp`.
    #[inline(always)]
    fn insert(&mut self, warp: WarpSlot) {
        *self |= Self::of(warp);
    }

    /// Takes `warp` out.
    #[inline(always)]
    fn remove(&mut self, warp: WarpSlot) {
        *self &= !Self::of(warp);
    }

    /// The slots, lowest first.
    #[inline(always)]
    fn iter(mut self) -> impl Iterator<Item = WarpSlot> {
        std::iter::from_fn(move || {
            let warp = self.first()?;
            self = self.without_first();
            Some(warp)
        })
    }

    /// The set of `warps`.
    #[inline(always)]
    fn collect(warps: impl IntoIterator<Item = WarpSlot>) -> Self {
        warps.into_iter().fold(Self::NONE, |set, warp| set | Self::of(warp))
    }
}

macro_rules! warp_masks {
    ($($bits:ident)*) => {$(
        impl WarpMask for $bits {
            const SLOTS: usize = $bits::BITS as usize;
            type Each<T: Send> = [T; $bits::BITS as usize];
            const NONE: Self = 0;
            const ALL: Self = $bits::MAX;

            #[inline]
            fn each<T: Send>(value: impl FnMut(usize) -> T) -> Self::Each<T> {
                std::array::from_fn(value)
            }

            #[inline(always)]
            fn of(warp: WarpSlot) -> Self {
                1 << warp.0
            }

            #[inline]
            fn run(first: usize, count: usize) -> Self {
                if count >= Self::SLOTS { Self::ALL } else { ((1 << count) - 1) << first }
            }

            #[inline(always)]
            fn first(self) -> Option<WarpSlot> {
                (self != 0).then(|| WarpSlot(self.trailing_zeros() as u16))
            }

            #[inline(always)]
            fn without_first(self) -> Self {
                self & (self - 1)
            }

            #[inline(always)]
            fn next_after(self, last: u32) -> Option<WarpSlot> {
                if self == 0 {
                    return None;
                }
                let turn = (last + 1) % $bits::BITS;
                let behind = self.rotate_right(turn).trailing_zeros();
                Some(WarpSlot(((behind + turn) % $bits::BITS) as u16))
            }

            #[inline(always)]
            fn count(self) -> u32 {
                self.count_ones()
            }

            #[inline(always)]
            fn widest(self) -> u128 {
                self.into()
            }
        }
    )*};
}

warp_masks! { u64 u128 }

#[cfg(test)]
mod tests {
    use super::*;

    /// Properties of both widths, up to the highest slot.
    fn keeps_its_word<M: WarpMask>() {
        let top = WarpSlot(M::SLOTS as u16 - 1);
        let mut set = M::collect([WarpSlot(3), top]);
        assert_eq!(set.iter().collect::<Vec<_>>(), [WarpSlot(3), top]);
        assert_eq!((set.first(), set.without_first(), set.count()), (Some(WarpSlot(3)), M::of(top), 2));
        let behind = |last: u16| set.next_after(last.into()).expect("it is not empty");
        assert_eq!([behind(top.0), behind(3), behind(2), behind(4)], [WarpSlot(3), top, WarpSlot(3), top]);
        set.remove(top);
        assert!(set.contains(WarpSlot(3)) && !set.contains(top));
        assert_eq!((M::NONE.first(), M::NONE.next_after(5)), (None, None));
        assert_eq!((M::run(0, M::SLOTS), M::run(1, 0)), (M::ALL, M::NONE));
        assert_eq!(M::run(2, 3), M::collect([2, 3, 4].map(WarpSlot)));
    }

    #[test]
    fn sets_of_both_widths() {
        keeps_its_word::<u64>();
        keeps_its_word::<u128>();
    }
}

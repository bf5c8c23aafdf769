//! Numbers of the variants of the representation's types. They are the format's, not
//! the compiler's: variants may change places or be added without changing old files.

use super::bytes::Expected;
use isa::{Access, CacheOp, Control, Space, Work};

macro_rules! codes {
    ($($ty:ident, $encode:ident, $decode:ident, $what:literal: $($variant:ident = $code:literal),*;)*) => {$(
        pub(crate) const fn $encode(value: $ty) -> u8 {
            match value { $($ty::$variant => $code,)* }
        }
        pub(crate) const fn $decode(code: u8) -> Result<$ty, Expected> {
            match code { $($code => Ok($ty::$variant),)* _ => Err($what) }
        }
    )*};
}

codes! {
    Space, space_code, space, "a state space":
        Global = 0, Local = 1, Shared = 2, Constant = 3, Param = 4, Generic = 5, Texture = 6;
    Access, access_code, access, "a kind of access":
        Load = 0, Store = 1, Atomic = 2, Reduction = 3, AsyncCopy = 4;
    CacheOp, cache_code, cache, "a cache operator":
        All = 0, L2 = 1, Streaming = 2, LastUse = 3, Volatile = 4, ReadOnly = 5;
    Control, control_code, control, "a kind of control flow":
        None = 0, Branch = 1, Exit = 2, BarrierSync = 3, BarrierArrive = 4, Fence = 5, AsyncWait = 6,
        AsyncCommit = 7, Sleep = 8, FenceCta = 9, Transfer = 10, BulkWait = 11, BulkReadWait = 12, BulkCommit = 13,
        MatrixWait = 14, MatrixCommit = 15;
    Work, work_code, work, "a kind of work":
        None = 0, Memory = 1, IntAdd = 2, IntMul = 3, IntDiv = 4, FpAdd = 5, FpMul = 6, FpDiv = 7, DpAdd = 8,
        DpMul = 9, DpDiv = 10, Sqrt = 11, Log = 12, Sin = 13, Exp = 14, Tensor = 15, Texture = 16;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_and_variants_belong_together() {
        let mut known = 0;
        for code in 0..=u8::MAX {
            let same = [
                space(code).map(space_code),
                access(code).map(access_code),
                cache(code).map(cache_code),
                control(code).map(control_code),
                work(code).map(work_code),
            ];
            known += same.iter().flatten().count();
            assert!(same.iter().flatten().all(|&c| c == code));
        }
        assert_eq!(known, 7 + 5 + 6 + 16 + 17);
    }
}

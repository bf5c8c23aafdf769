//! Newtype ids: an index that cannot be mistaken for another kind of index.

/// Declares ids over an unsigned integer, each usable as an index.
///
/// ```
/// kit::id! {
///     /// An SM of the GPU.
///     pub struct SmId(u16);
/// }
/// assert_eq!([10, 20][SmId(1).index()], 20);
/// ```
#[macro_export]
macro_rules! id {
    ($($(#[$doc:meta])* pub struct $name:ident($int:ty);)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(pub $int);
        impl $name {
            /// This id as an index into a dense array.
            #[inline]
            pub const fn index(self) -> usize {
                self.0 as usize
            }
        }
        impl From<usize> for $name {
            /// Panics if `index` does not fit: an id is created from the index of an existing object.
            #[inline]
            fn from(index: usize) -> Self {
                Self(<$int>::try_from(index).expect("id out of range"))
            }
        }
        $crate::persist! { new id $name; }
    )*};
}

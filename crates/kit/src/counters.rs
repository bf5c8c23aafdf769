//! Statistics: plain counters bumped where things happen, each with a name, a unit and a description.

/// What one counter means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CounterInfo {
    /// Name of the field, unique within its group.
    pub name: &'static str,
    /// What is counted: `cycles`, `warp instructions`, `sectors` …
    pub unit: &'static str,
    /// One sentence for a reader of the report.
    pub description: &'static str,
}

/// A group of counters declared by [`counters!`](crate::counters!).
pub trait Counters: Default {
    /// The counters of the group, in the order of [`Counters::values`].
    const SCHEMA: &'static [CounterInfo];
    /// Present values.
    fn values(&self) -> Vec<u64>;
    /// Adds another group's counts to this one's.
    fn add(&mut self, other: &Self);
    /// Counts since `earlier`, a former state of this same group.
    fn since(&self, earlier: &Self) -> Self;
}

/// Declares a struct of `u64` counters with its schema.
///
/// ```
/// kit::counters! {
///     /// What a cache does.
///     pub struct CacheCounters {
///         /// Sectors that were looked up.
///         pub accesses: "sectors",
///     }
/// }
/// use kit::Counters;
/// assert_eq!(CacheCounters::SCHEMA[0].unit, "sectors");
/// assert_eq!(CacheCounters::SCHEMA[0].description, "Sectors that were looked up.");
/// ```
#[macro_export]
macro_rules! counters {
    ($(#[$doc:meta])* pub struct $name:ident {
        $($(#[doc = $text:literal])+ pub $field:ident: $unit:literal,)*
    }) => {
        $(#[$doc])*
        #[derive(Clone, Debug, Default, PartialEq, Eq)]
        pub struct $name { $($(#[doc = $text])+ pub $field: u64,)* }
        impl $crate::Counters for $name {
            const SCHEMA: &'static [$crate::CounterInfo] = &[$($crate::CounterInfo {
                name: stringify!($field),
                unit: $unit,
                description: concat!($($text,)+).trim_ascii(),
            },)*];
            fn values(&self) -> Vec<u64> {
                vec![$(self.$field,)*]
            }
            fn add(&mut self, other: &Self) {
                $(self.$field += other.$field;)*
            }
            fn since(&self, earlier: &Self) -> Self {
                Self { $($field: self.$field - earlier.$field,)* }
            }
        }
    };
}

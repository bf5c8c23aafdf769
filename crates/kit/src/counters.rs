//! Statistics: plain counters, each with a name, a unit and a description.

use crate::persist::{Archive, Mismatch, Persist};

/// Description of a counter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CounterInfo {
    /// Name of the field, unique within its group.
    pub name: &'static str,
    /// Unit of the count: `cycles`, `warp instructions`, `sectors` …
    pub unit: &'static str,
    /// One sentence for a reader of the report.
    pub description: &'static str,
}

/// Counts that are summed over parts of a machine and whose differences are the counts of a period: numbers,
/// groups of numbers, groups of groups.
pub trait Counters: Clone + Default {
    /// Adds `other`, counted in another part or later.
    fn add(&mut self, other: &Self);
    /// Counts since `earlier`, an earlier state of the same counters.
    fn since(&self, earlier: &Self) -> Self;
}

/// A group of numbers declared by [`counters!`](crate::counters!).
pub trait CounterGroup: Counters {
    /// The counters of the group, in the order of [`CounterGroup::values`].
    const SCHEMA: &'static [CounterInfo];
    /// The present values, in the order of the schema.
    fn values(&self) -> Vec<u64>;
}

impl Counters for u64 {
    fn add(&mut self, other: &Self) {
        *self += other;
    }

    fn since(&self, earlier: &Self) -> Self {
        self - earlier
    }
}

/// A number for each of `N` kinds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ByKind<const N: usize>(pub [u64; N]);

impl<const N: usize> Default for ByKind<N> {
    fn default() -> Self {
        Self([0; N])
    }
}

impl<const N: usize> Counters for ByKind<N> {
    fn add(&mut self, other: &Self) {
        self.0.iter_mut().zip(&other.0).for_each(|(a, b)| *a += b);
    }

    fn since(&self, earlier: &Self) -> Self {
        Self(std::array::from_fn(|i| self.0[i] - earlier.0[i]))
    }
}

impl<const N: usize> Persist for ByKind<N> {
    fn persist(&mut self, archive: &mut Archive) -> Result<(), Mismatch> {
        self.0.persist(archive)
    }
}

/// Declares a struct of counters: either of `u64`s, each with its unit, which have a schema
/// ([`CounterGroup`]), or of other [`Counters`], each with its type.
///
/// ```
/// kit::counters! {
///     /// What a cache does.
///     pub struct CacheCounters {
///         /// Sectors that were looked up.
///         pub accesses: "sectors",
///     }
/// }
/// kit::counters! {
///     /// What a core does.
///     pub struct CoreCounters {
///         /// Core cycles.
///         pub cycles: u64,
///         /// The L1 data cache.
///         pub l1d: CacheCounters,
///     }
/// }
/// use kit::{CounterGroup, Counters};
/// assert_eq!(CacheCounters::SCHEMA[0].unit, "sectors");
/// assert_eq!(CacheCounters::SCHEMA[0].description, "Sectors that were looked up.");
/// let earlier = CoreCounters { cycles: 10, l1d: CacheCounters { accesses: 3 } };
/// let mut now = earlier.clone();
/// now.add(&CoreCounters { cycles: 5, l1d: CacheCounters { accesses: 4 } });
/// assert_eq!(now.since(&earlier).l1d.accesses, 4);
/// ```
#[macro_export]
macro_rules! counters {
    ($(#[$doc:meta])* pub struct $name:ident {
        $($(#[doc = $text:literal])+ pub $field:ident: $unit:literal,)*
    }) => {
        $crate::counters! { $(#[$doc])* pub struct $name { $($(#[doc = $text])+ pub $field: u64,)* } }
        impl $crate::CounterGroup for $name {
            const SCHEMA: &'static [$crate::CounterInfo] = &[$($crate::CounterInfo {
                name: stringify!($field),
                unit: $unit,
                description: concat!($($text,)+).trim_ascii(),
            },)*];
            fn values(&self) -> Vec<u64> {
                vec![$(self.$field,)*]
            }
        }
    };
    ($(#[$doc:meta])* pub struct $name:ident $(<$part:ident>)? {
        $($(#[doc = $text:literal])+ pub $field:ident: $type:ty,)*
    }) => {
        $(#[$doc])*
        #[derive(Clone, Debug, Default, PartialEq, Eq)]
        pub struct $name $(<$part>)? { $($(#[doc = $text])+ pub $field: $type,)* }
        impl $(<$part: $crate::Counters>)? $crate::Counters for $name $(<$part>)? {
            fn add(&mut self, other: &Self) {
                $($crate::Counters::add(&mut self.$field, &other.$field);)*
            }
            fn since(&self, earlier: &Self) -> Self {
                Self { $($field: $crate::Counters::since(&self.$field, &earlier.$field),)* }
            }
        }
        $crate::persist! { struct [$($part: $crate::persist::Persist)?] $name $(<$part>)? { $($field),* } }
        impl $(<$part: $crate::Counters + $crate::persist::Persist>)? $crate::persist::Fresh for $name $(<$part>)? {
            fn fresh() -> Self {
                Self::default()
            }
        }
    };
}

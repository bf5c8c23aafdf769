//! The macros that make types and keys of the rows of [`crate::model`].

/// Types of choices: each variant has its word in descriptions, and its documentation is the
/// word's meaning.
macro_rules! choices {
    ($(
        $(#[doc = $about:literal])*
        $name:ident { $(#[doc = $doc:literal] $variant:ident = $word:literal,)* }
    )*) => {$(
        $(#[doc = $about])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        pub enum $name {
            $(#[doc = $doc] #[serde(rename = $word)] $variant,)*
        }

        impl $name {
            /// Every variant, in declaration order.
            pub const ALL: [Self; [$($word),*].len()] = [$(Self::$variant),*];
            /// The words of descriptions and reports, with their meanings.
            pub const WORDS: &'static [crate::schema::Word] =
                &[$(crate::schema::Word { name: $word, meaning: $doc.trim_ascii() }),*];

            /// The word of this variant.
            pub const fn name(self) -> &'static str {
                Self::WORDS[self as usize].name
            }
        }
    )*};
}

/// The tables of a description: a struct for each, and a [`crate::schema::Key`] for each field with
/// a kind of value; the other fields are tables (`=> default`: it may be absent).
macro_rules! keys {
    ($(
        $(#[doc = $about:literal])*
        $table:ident $(: $($derive:ident),+)? at $prefix:literal {
            $(#[doc = $doc:literal] $field:ident: $type:ty $(=> $default:ident)? $(= $kind:expr, $unit:literal $(, $optional:ident)?)?;)*
        }
    )*) => {
        $(
            $(#[doc = $about])*
            #[derive(Clone, Debug, PartialEq, Serialize, Deserialize $($(, $derive)+)?)]
            #[serde(deny_unknown_fields)]
            #[allow(non_snake_case, reason = "JEDEC's names of DRAM timing")]
            pub struct $table {
                $(#[doc = $doc] $(#[serde($default)])? pub $field: $type,)*
            }
        )*

        /// Every key, in the order of the tables.
        pub const KEYS: &[crate::schema::Key] = &[$($($(
            crate::schema::Key {
                path: concat!($prefix, stringify!($field)),
                kind: $kind,
                unit: $unit,
                doc: $doc.trim_ascii(),
                optional: !concat!($(stringify!($optional))?).is_empty(),
            },
        )?)*)*];
    };
}

pub(crate) use {choices, keys};

//! Parameters of a design: named values with bounds, a default and documentation, set from text.

use std::collections::BTreeSet;
use std::fmt::Display;

/// The values that a parameter accepts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Accepts {
    /// `true` or `false`; 1 and 0, on and off mean the same.
    Flag,
    /// A whole number between two bounds, inclusive.
    Number(u64, u64),
    /// One of these words.
    Word(&'static [&'static str]),
}

impl Display for Accepts {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Accepts::Flag => f.write_str("true or false"),
            Accepts::Number(least, most) => write!(f, "{least} to {most}"),
            Accepts::Word(words) => f.write_str(&words.join(" or ")),
        }
    }
}

/// A parameter, for listings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parameter {
    /// Its name on the command line and in files.
    pub name: &'static str,
    /// Its meaning, with the unit.
    pub description: &'static str,
    /// The values that it accepts.
    pub accepts: Accepts,
    /// Its value if it is not set.
    pub default: String,
}

/// A type that a parameter can have.
pub trait ParameterValue: Sized + Copy {
    /// The accepted values, given the bounds that the parameter declares.
    fn accepts(bounds: Option<(u64, u64)>) -> Accepts;
    /// Converts `text` to a value, without regard to bounds.
    fn read(text: &str) -> Option<Self>;
    /// The text of this value.
    fn written(self) -> String;
    /// The number to compare with the bounds.
    fn number(self) -> u64 {
        0
    }
}

impl ParameterValue for bool {
    fn accepts(_: Option<(u64, u64)>) -> Accepts {
        Accepts::Flag
    }

    fn read(text: &str) -> Option<Self> {
        match text {
            "true" | "1" | "on" => Some(true),
            "false" | "0" | "off" => Some(false),
            _ => None,
        }
    }

    fn written(self) -> String {
        self.to_string()
    }
}

impl ParameterValue for u32 {
    fn accepts(bounds: Option<(u64, u64)>) -> Accepts {
        let (least, most) = bounds.unwrap_or((0, u32::MAX.into()));
        Accepts::Number(least, most)
    }

    fn read(text: &str) -> Option<Self> {
        text.parse().ok()
    }

    fn written(self) -> String {
        self.to_string()
    }

    fn number(self) -> u64 {
        self.into()
    }
}

/// A struct of parameters, declared by [`parameters!`](crate::parameters!).
pub trait Parameters: Clone + Default + Send {
    /// All parameters, in the order of their declaration.
    fn schema() -> Vec<Parameter>;

    /// Sets one parameter.
    ///
    /// # Errors
    /// There is no such parameter, or it does not accept this value. The message lists the parameters, or the
    /// accepted values.
    fn set(&mut self, name: &str, value: &str) -> Result<(), String>;
}

/// A design without parameters.
impl Parameters for () {
    fn schema() -> Vec<Parameter> {
        Vec::new()
    }

    fn set(&mut self, name: &str, _: &str) -> Result<(), String> {
        Err(unknown(name, &[]))
    }
}

/// Parameters with their values, in the order in which they are set.
pub type Settings<'a> = Vec<(&'a str, &'a str)>;

/// Splits a name from the parameters after its colon; each may be set once: `two_level:active=8`.
///
/// # Errors
/// It is written otherwise, which `example` shows.
pub fn split<'a>(text: &'a str, example: &str) -> Result<(&'a str, Settings<'a>), String> {
    let Some((name, list)) = text.split_once(':') else { return Ok((text, Vec::new())) };
    let (mut settings, mut seen) = (Settings::new(), BTreeSet::new());
    for one in list.split(',') {
        let Some((key, value)) = one.split_once('=') else {
            let text = crate::text::excerpt(text);
            return Err(format!("`{text}`: expected NAME=VALUE after the colon, as in `{example}`"));
        };
        if !seen.insert(key.trim()) {
            let (text, key) = (crate::text::excerpt(text), crate::text::excerpt(key.trim()));
            return Err(format!("`{text}`: `{key}` is set twice"));
        }
        settings.push((key.trim(), value.trim()));
    }
    Ok((name.trim(), settings))
}

/// `text`, a name that may have parameters and, after a `+`, additions with their own, with one more parameter of
/// the name set.
///
/// ```
/// assert_eq!(kit::parameters::with("two_level", "active", "4"), "two_level:active=4");
/// assert_eq!(kit::parameters::with("ghost:precise=true+scalar", "table", "4"), "ghost:precise=true,table=4+scalar");
/// ```
pub fn with(text: &str, name: &str, value: &str) -> String {
    let (named, additions) = text.split_at(text.find('+').unwrap_or(text.len()));
    let separator = if named.contains(':') { ',' } else { ':' };
    format!("{named}{separator}{name}={value}{additions}")
}

/// The parameters of `C` with `settings`; `of` is what has them.
///
/// # Errors
/// One does not exist or does not take its value.
pub fn configured<C: Parameters>(of: &str, settings: &[(&str, &str)]) -> Result<C, String> {
    let mut config = C::default();
    for (name, value) in settings {
        config.set(name, value).map_err(|problem| format!("{of}: {problem}"))?;
    }
    Ok(config)
}

/// `schema` with what `settings` set as the defaults.
pub fn with_defaults(mut schema: Vec<Parameter>, settings: &[(&str, &str)]) -> Vec<Parameter> {
    for parameter in &mut schema {
        if let Some((_, value)) = settings.iter().rev().find(|(key, _)| *key == parameter.name) {
            parameter.default = (*value).to_owned();
        }
    }
    schema
}

/// The message that `schema` has no parameter `name`.
pub fn unknown(name: &str, schema: &[Parameter]) -> String {
    let name = crate::text::excerpt(name);
    match schema {
        [] => format!("no parameter `{name}`: it has none"),
        some => {
            let names: Vec<&str> = some.iter().map(|p| p.name).collect();
            format!("no parameter `{name}`; its parameters are {}", names.join(", "))
        }
    }
}

/// Converts `text` to the value of a parameter.
///
/// # Errors
/// It is not a value within the bounds. The message lists the accepted values.
pub fn read<T: ParameterValue>(name: &str, text: &str, bounds: Option<(u64, u64)>) -> Result<T, String> {
    let accepts = T::accepts(bounds);
    let is_within = |value: &T| match accepts {
        Accepts::Number(least, most) => (least..=most).contains(&value.number()),
        Accepts::Flag | Accepts::Word(_) => true,
    };
    T::read(text.trim())
        .filter(is_within)
        .ok_or_else(|| format!("`{name}` is {accepts}, and `{}` is not", crate::text::excerpt(text)))
}

/// Declares a struct of parameters: each field with its documentation, type, default and, for a number, its
/// bounds.
///
/// ```
/// kit::parameters! {
///     /// Sizes of a buffer.
///     pub struct BufferConfig {
///         /// Entries of a warp.
///         pub entries: u32 = 8 in (1, 64),
///         /// Whether it is bypassed when empty.
///         pub bypass: bool = true,
///     }
/// }
/// use kit::Parameters;
/// let mut config = BufferConfig::default();
/// config.set("entries", "16").unwrap();
/// assert_eq!(config.entries, 16);
/// assert_eq!(config.set("entries", "65").unwrap_err(), "`entries` is 1 to 64, and `65` is not");
/// assert_eq!(BufferConfig::schema()[0].description, "Entries of a warp.");
/// ```
#[macro_export]
macro_rules! parameters {
    ($(#[$doc:meta])* pub struct $name:ident {
        $($(#[doc = $text:literal])+ pub $field:ident: $type:ty = $default:tt $(in $bounds:tt)?,)*
    }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub struct $name { $($(#[doc = $text])+ pub $field: $type,)* }

        impl $name {
            /// The default of every field.
            pub const DEFAULT: Self = Self { $($field: $default,)* };
        }

        impl Default for $name {
            fn default() -> Self {
                Self::DEFAULT
            }
        }

        impl $crate::Parameters for $name {
            fn schema() -> Vec<$crate::parameters::Parameter> {
                use $crate::parameters::ParameterValue;
                let default = Self::default();
                vec![$($crate::parameters::Parameter {
                    name: stringify!($field),
                    description: concat!($($text,)+).trim_ascii(),
                    accepts: <$type as ParameterValue>::accepts(None$(.or(Some($bounds)))?),
                    default: default.$field.written(),
                },)*]
            }

            fn set(&mut self, name: &str, value: &str) -> Result<(), String> {
                match name {
                    $(stringify!($field) => {
                        self.$field = $crate::parameters::read(name, value, None$(.or(Some($bounds)))?)?;
                    })*
                    _ => return Err($crate::parameters::unknown(name, &Self::schema())),
                }
                Ok(())
            }
        }
    };
}

/// Declares an enum for a parameter, with a word for each variant.
#[macro_export]
macro_rules! words {
    ($(#[$meta:meta])* pub enum $name:ident { $($(#[$about:meta])+ $variant:ident = $word:literal,)* }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum $name { $($(#[$about])+ $variant,)* }

        impl $crate::parameters::ParameterValue for $name {
            fn accepts(_: Option<(u64, u64)>) -> $crate::parameters::Accepts {
                $crate::parameters::Accepts::Word(&[$($word,)*])
            }

            fn read(text: &str) -> Option<Self> {
                match text {
                    $($word => Some(Self::$variant),)*
                    _ => None,
                }
            }

            fn written(self) -> String {
                match self { $(Self::$variant => $word.to_owned(),)* }
            }
        }
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    crate::words! {
        /// When.
        pub enum When {
            /// At issue.
            Issue = "issue",
            /// At write-back.
            WriteBack = "write-back",
        }
    }

    crate::parameters! {
        /// A design.
        pub struct Config {
            /// Entries
            /// of a warp.
            pub entries: u32 = 8 in (1, 64),
            /// When it ends.
            pub ends: When = (When::WriteBack),
            /// Whether it is on.
            pub on: bool = true,
        }
    }

    #[test]
    fn a_schema_says_what_there_is() {
        let shown: Vec<String> = Config::schema()
            .into_iter()
            .map(|p| format!("{} {} {} [{}]", p.name, p.accepts, p.default, p.description))
            .collect();
        let expected = [
            "entries 1 to 64 8 [Entries of a warp.]",
            "ends issue or write-back write-back [When it ends.]",
            "on true or false true [Whether it is on.]",
        ];
        assert_eq!(shown, expected);
    }

    #[test]
    fn values_are_read_within_their_bounds() {
        let mut config = Config::default();
        for (name, value) in [("entries", "64"), ("ends", "issue"), ("on", " false ")] {
            config.set(name, value).unwrap();
        }
        assert_eq!(config, Config { entries: 64, ends: When::Issue, on: false });
        for (value, on) in [("1", true), ("0", false), ("on", true), ("off", false), ("true", true)] {
            config.set("on", value).unwrap();
            assert_eq!(config.on, on, "{value}");
        }
        for (name, value, message) in [
            ("entries", "0", "`entries` is 1 to 64, and `0` is not"),
            ("entries", "99999999999", "`entries` is 1 to 64, and `99999999999` is not"),
            ("entries", "-1", "`entries` is 1 to 64, and `-1` is not"),
            ("ends", "", "`ends` is issue or write-back, and `` is not"),
            ("on", "yes", "`on` is true or false, and `yes` is not"),
            ("on", "2", "`on` is true or false, and `2` is not"),
            ("size", "1", "no parameter `size`; its parameters are entries, ends, on"),
        ] {
            assert_eq!(config.set(name, value).unwrap_err(), message);
        }
        assert_eq!(().set("size", "1").unwrap_err(), "no parameter `size`: it has none");
    }
}

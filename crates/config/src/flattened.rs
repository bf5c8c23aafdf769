//! The values of the built-in descriptions, as they were flattened when the program was built.

use toml::Value;

include!(concat!(env!("OUT_DIR"), "/descriptions.rs"));

/// A value by its dotted path, and the byte of the file at which its key begins.
pub(crate) type Given = (&'static str, Constant, usize);

/// A value of a built-in description.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Constant {
    Integer(i64),
    Float(f64),
    Switch(bool),
    Text(&'static str),
    List(&'static [Self]),
}

impl From<Constant> for Value {
    fn from(constant: Constant) -> Self {
        match constant {
            Constant::Integer(number) => Self::Integer(number),
            Constant::Float(number) => Self::Float(number),
            Constant::Switch(switch) => Self::Boolean(switch),
            Constant::Text(text) => Self::String(text.into()),
            Constant::List(items) => Self::Array(items.iter().map(|&item| item.into()).collect()),
        }
    }
}

/// The values of the built-in description `name`, without those that it extends.
pub(crate) fn values_of(name: &str) -> Option<&'static [Given]> {
    FLATTENED.iter().find(|(other, _)| *other == name).map(|&(_, values)| values)
}

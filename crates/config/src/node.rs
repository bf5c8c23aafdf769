//! Values by dotted path as nested tables, for `serde`.

use serde::de::value::MapDeserializer;
use serde::de::{Deserializer, IntoDeserializer, Visitor};
use serde::forward_to_deserialize_any;
use toml::Value;
use toml::de::Error;

/// A table or a value of one.
#[derive(Clone, Debug)]
pub(crate) enum Node<'a> {
    Value(&'a Value),
    Table(Vec<(&'a str, Self)>),
}

/// The entries of the table whose keys begin at byte `from` of the paths of `values`, which are sorted.
pub(crate) fn nested<'a>(values: &[(&'a str, &'a Value)], from: usize) -> Vec<(&'a str, Node<'a>)> {
    let (mut entries, mut rest) = (Vec::new(), values);
    while let Some(&(path, value)) = rest.first() {
        let Some(length) = path[from..].find('.') else {
            entries.push((&path[from..], Node::Value(value)));
            rest = &rest[1..];
            continue;
        };
        // A key that is both a value and a table is unknown to the schema, so none gets here.
        let inner = from + length + 1;
        let count =
            rest.iter().take_while(|(other, _)| other.as_bytes().starts_with(&path.as_bytes()[..inner])).count();
        entries.push((&path[from..inner - 1], Node::Table(nested(&rest[..count], inner))));
        rest = &rest[count..];
    }
    entries
}

impl<'de> Deserializer<'de> for Node<'_> {
    type Error = Error;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match self {
            Node::Value(value) => value.clone().deserialize_any(visitor),
            Node::Table(entries) => visitor.visit_map(MapDeserializer::new(entries.into_iter())),
        }
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_some(self)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        name: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        match self {
            Node::Value(value) => value.clone().deserialize_enum(name, variants, visitor),
            Node::Table(_) => self.deserialize_any(visitor),
        }
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(self, _: &'static str, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_newtype_struct(self)
    }

    forward_to_deserialize_any! {
        bool u8 u16 u32 u64 i8 i16 i32 i64 f32 f64 char str string seq bytes byte_buf map unit ignored_any
        unit_struct tuple_struct tuple identifier struct
    }
}

impl IntoDeserializer<'_, Error> for Node<'_> {
    type Deserializer = Self;

    fn into_deserializer(self) -> Self {
        self
    }
}

//! The terms that schemas are written in.

use serde_json::{Map, Value, json};

/// A reference to the definition `name`.
pub fn reference(name: &str) -> Value {
    json!({ "$ref": format!("#/$defs/{name}") })
}

/// An object with these keys. A key that ends in `?` may be absent.
pub fn object<K: AsRef<str>>(description: &str, keys: impl IntoIterator<Item = (K, Value)>) -> Value {
    let (mut properties, mut required) = (Map::new(), Vec::new());
    for (key, value) in keys {
        let name = key.as_ref().trim_end_matches('?');
        properties.insert(name.to_owned(), value);
        if name == key.as_ref() {
            required.push(name.to_owned());
        }
    }
    json!({ "type": "object", "description": description, "properties": properties, "required": required })
}

/// An object whose keys are names, each with a value of this kind.
pub fn map(description: &str, value: &Value) -> Value {
    json!({ "type": "object", "description": description, "additionalProperties": value })
}

/// A list of such items.
pub fn list(description: &str, items: &Value) -> Value {
    json!({ "type": "array", "description": description, "items": items })
}

/// Any text.
pub fn text(description: &str) -> Value {
    json!({ "type": "string", "description": description })
}

/// One of these words.
pub fn word(description: &str, words: &[&str]) -> Value {
    json!({ "type": "string", "description": description, "enum": words })
}

/// True or false.
pub fn flag(description: &str) -> Value {
    json!({ "type": "boolean", "description": description })
}

/// A whole number of `unit`s; without a unit where that is empty.
pub fn count(description: &str, unit: &str) -> Value {
    with_unit(json!({ "type": "integer", "minimum": 0, "description": description }), unit)
}

/// A number in `unit`.
pub fn number(description: &str, unit: &str) -> Value {
    with_unit(json!({ "type": "number", "description": description }), unit)
}

fn with_unit(mut schema: Value, unit: &str) -> Value {
    if !unit.is_empty() {
        schema["unit"] = unit.into();
    }
    schema
}

/// The same, or `null` where it is absent.
pub fn nullable(mut schema: Value) -> Value {
    match schema.get("type").cloned() {
        Some(Value::String(kind)) if schema.get("enum").is_none() => {
            schema["type"] = json!([kind, "null"]);
            schema
        }
        _ => json!({ "anyOf": [schema, { "type": "null" }] }),
    }
}

/// Three numbers: a position or a size in a grid.
pub fn dimensions(description: &str, unit: &str) -> Value {
    with_unit(
        json!({ "type": "array", "description": description, "items": { "type": "integer" }, "minItems": 3, "maxItems": 3 }),
        unit,
    )
}

/// The version of a document's schema.
pub fn version() -> Value {
    count("Version of this format: it goes up when a key changes its meaning or is removed.", "")
}

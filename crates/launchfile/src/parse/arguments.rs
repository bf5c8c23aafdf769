//! Arguments of launches and members of structures.

use super::{Reader, Value, flatten};
use crate::expr;
use crate::model::{Address, ArgSpec, ImageSpec, Located, StructSpec};
use crate::scope::ADDRESS_BYTES;
use isa::{AddressMode, Sampler};
use kit::suggest;
use std::ops::Range;
use toml::de::{DeTable, DeValue};
use workloads::element::ScalarType;

/// Maximum size of a structure: the size of all parameters of a kernel.
const MOST_STRUCT_BYTES: usize = 32764;

impl<'t> Reader<'t> {
    pub(super) fn args(&mut self, value: &Value<'t>) -> Option<Located<Vec<ArgSpec>>> {
        let DeValue::Array(array) = value.get_ref() else {
            self.wrong_type(value, "an array of arguments");
            return None;
        };
        let read = |reader: &mut Self| array.iter().map(|v| reader.arg(v)).collect();
        let args: Vec<_> = self.with_names(|names| names.round = true, read);
        Some(Located { item: args.into_iter().collect::<Option<_>>()?, span: value.span() })
    }

    fn arg(&mut self, value: &Value<'t>) -> Option<ArgSpec> {
        match value.get_ref() {
            DeValue::String(text) if expr::is_name(text) && !self.is_number(text) => {
                if **text == *"round" || **text == *"pi" {
                    return self.expr(value).map(|value| ArgSpec::Scalar { value, ty: None });
                }
                let found = self.names.buffers.iter().position(|b| b == text);
                if found.is_none() {
                    let known: Vec<_> = self.names.buffers.iter().chain(&self.names.values).cloned().collect();
                    let advice = suggest::among(text, &known);
                    self.problem(value.span(), format!("there is no buffer or value `{text}`{advice}"));
                }
                Some(ArgSpec::Address(Address { buffer: found?, offset: None, when: None, span: value.span() }))
            }
            DeValue::Table(table) => self.arg_table(table, value.span()),
            _ => self.expr(value).map(|value| ArgSpec::Scalar { value, ty: None }),
        }
    }

    /// Whether a name is a value's or counts a loop's rounds.
    fn is_number(&self, name: &str) -> bool {
        self.names.values.iter().chain(self.names.loops.iter().flatten()).any(|v| v == name)
    }

    /// `{ buffer, offset }`, `{ value, type }`, `{ f32 = 1.0 }`, `{ bytes = [...] }`, `{ struct = [...] }`, or a texture
    /// or surface.
    fn arg_table(&mut self, table: &DeTable<'t>, span: Range<usize>) -> Option<ArgSpec> {
        for key in ["buffer", "address"] {
            // Of a texture, `address` is how it is read outside.
            if table.contains_key(key) && !table.contains_key("texture") {
                return self.address(table, key, span).map(ArgSpec::Address);
            }
        }
        if let Some(value) = table.get("bytes") {
            self.known_keys(table, &["bytes"], "an argument of bytes");
            let bytes = value.get_ref().as_array().map(|a| a.iter().map(byte).collect::<Option<Vec<u8>>>());
            if let Some(Some(item)) = bytes {
                return Some(ArgSpec::Bytes(Located { item, span }));
            }
            self.problem(value.span(), "this must be an array of numbers from 0 to 255");
            return None;
        }
        if let Some(members) = table.get("struct") {
            self.known_keys(table, &["struct", "align"], "a structure");
            return self.structure(members, table.get("align"), true).map(ArgSpec::Struct);
        }
        if let Some((name, texture)) =
            table.get("texture").map(|v| (v, true)).or_else(|| table.get("surface").map(|v| (v, false)))
        {
            let own = if texture { "texture" } else { "surface" };
            return self.image(table, name, texture, &[own], span).map(|image| ArgSpec::Image(Box::new(image)));
        }
        if let Some(value) = table.get("value") {
            self.known_keys(table, &["value", "type"], "a scalar argument");
            let ty = table.get("type").map(|t| self.scalar_type(t));
            let value = self.expr(value)?;
            return Some(ArgSpec::Scalar { value, ty: flatten(ty)? });
        }
        let mut entries = table.iter();
        if let (Some((key, value)), None) = (entries.next(), entries.next())
            && let Some(ty) = ScalarType::parse(key.get_ref())
        {
            return self.typed(value, ty);
        }
        self.problem(
            span,
            "an argument is a number, a buffer's name, { buffer, offset }, { value, type }, { bytes }, { struct }, \
             { texture } or { surface }",
        );
        None
    }

    /// `1.0` or `[1.0, 2.0]` of `{ f32 = … }`.
    fn typed(&mut self, value: &Value<'t>, ty: ScalarType) -> Option<ArgSpec> {
        let DeValue::Array(array) = value.get_ref() else {
            return self.expr(value).map(|value| ArgSpec::Scalar { value, ty: Some(ty) });
        };
        let values: Vec<_> = array.iter().map(|v| self.expr(v)).collect();
        let item = values.into_iter().collect::<Option<_>>()?;
        Some(ArgSpec::Array(Located { item, span: value.span() }, ty))
    }

    /// `{ address = "x", offset, when }`; an argument may call it `buffer`.
    pub(super) fn address(&mut self, table: &DeTable<'t>, key: &str, span: Range<usize>) -> Option<Address> {
        let name = table.get(key)?;
        let what = if key == "buffer" { "a buffer argument" } else { "an address" };
        self.known_keys(table, &[key, "offset", "when"], what);
        let name = self.string(name, "a buffer's name")?;
        let buffer = self.any_buffer_named(&name.item, name.span);
        let offset = table.get("offset").map(|v| self.expr(v));
        let when = table.get("when").map(|v| self.expr(v));
        Some(Address { buffer: buffer?, offset: flatten(offset)?, when: flatten(when)?, span })
    }

    /// `[member, …]` with C's alignment. `at` of a member is its byte offset; `images` may be members of arguments.
    pub(super) fn structure(
        &mut self,
        members: &Value<'t>,
        align: Option<&Value<'t>>,
        images: bool,
    ) -> Option<StructSpec> {
        let Some(array) = members.get_ref().as_array() else {
            self.wrong_type(members, "an array of members");
            return None;
        };
        let align = align.map_or(Some(1), |v| self.alignment(v));
        let members_read: Vec<_> = array.iter().map(|v| self.member(v, images)).collect();
        let (mut placed, mut end, mut align) = (Vec::new(), 0usize, align?);
        for (value, read) in array.iter().zip(members_read) {
            let (at, member) = read?;
            let (bytes, own) = size_of_member(&member);
            let offset = at.unwrap_or_else(|| end.next_multiple_of(own));
            align = align.max(if at.is_some() { 1 } else { own });
            end = end.max(offset + bytes);
            if end > MOST_STRUCT_BYTES {
                self.problem(value.span(), format!("a structure has at most {MOST_STRUCT_BYTES} bytes"));
                return None;
            }
            placed.push((offset, member));
        }
        if end == 0 {
            self.problem(members.span(), "a structure needs a member");
            return None;
        }
        Some(StructSpec { members: placed, bytes: end.next_multiple_of(align), align, span: members.span() })
    }

    fn member(&mut self, value: &Value<'t>, images: bool) -> Option<(Option<usize>, ArgSpec)> {
        let mut at = None;
        let member = match value.get_ref() {
            DeValue::Table(table) if table.contains_key("at") => {
                let mut rest = table.clone();
                at = rest.remove("at").and_then(|v| self.byte_offset(&v));
                at?;
                self.arg_table(&rest, value.span())?
            }
            _ => self.arg(value)?,
        };
        if matches!(member, ArgSpec::Scalar { ty: None, .. }) {
            self.problem(value.span(), "a member needs a type, as in { f32 = 1.5 } or { i32 = \"n\" }");
            return None;
        }
        if matches!(member, ArgSpec::Image(_)) && !images {
            self.problem(value.span(), "textures and surfaces are members of arguments only");
            return None;
        }
        Some((at, member))
    }

    fn byte_offset(&mut self, value: &Value<'t>) -> Option<usize> {
        let offset = self.whole_constant(value)?;
        let found = usize::try_from(offset).ok().filter(|&n| n < MOST_STRUCT_BYTES);
        if found.is_none() {
            self.problem(value.span(), format!("a structure has at most {MOST_STRUCT_BYTES} bytes"));
        }
        found
    }

    fn alignment(&mut self, value: &Value<'t>) -> Option<usize> {
        let found = self.whole_constant(value)?;
        if !found.is_power_of_two() || found > 256 {
            self.problem(value.span(), "an alignment is a power of two up to 256");
            return None;
        }
        Some(found as usize)
    }

    /// `{ texture = "x", width, height, … }` or `{ surface = "x", … }`, where `own` are other keys.
    pub(super) fn image(
        &mut self,
        table: &DeTable<'t>,
        name: &Value<'t>,
        texture: bool,
        own: &[&str],
        span: Range<usize>,
    ) -> Option<ImageSpec> {
        const SIZES: [&str; 6] = ["width", "height", "depth", "layers", "pitch", "channels"];
        const SAMPLING: [&str; 4] = ["address", "filter", "normalised", "as_float"];
        if texture {
            self.known_keys(table, &[own, &SIZES, &SAMPLING].concat(), "a texture");
        } else {
            self.known_keys(table, &[own, &SIZES].concat(), "a surface");
        }
        let name = self.string(name, "a buffer's name")?;
        let buffer = self.buffer_named(&name.item, name.span)?;
        let [width, height, depth, layers, pitch, channels] = SIZES.map(|key| table.get(key).map(|v| self.expr(v)));
        if depth.is_some() && layers.is_some() {
            self.problem(span, "an image has either depth or layers");
            return None;
        }
        let sampler = if texture { Some(self.sampler(table)?) } else { None };
        Some(ImageSpec {
            buffer,
            span,
            width: flatten(width)?,
            height: flatten(height)?,
            depth: flatten(depth)?,
            layers: flatten(layers)?,
            pitch: flatten(pitch)?,
            channels: flatten(channels)?,
            sampler,
        })
    }

    fn sampler(&mut self, table: &DeTable<'t>) -> Option<Sampler> {
        let modes = [
            ("clamp", AddressMode::Clamp),
            ("wrap", AddressMode::Wrap),
            ("mirror", AddressMode::Mirror),
            ("border", AddressMode::Border),
        ];
        let mut sampler = Sampler::default();
        match table.get("address").map(|v| (v, v.get_ref().as_array())) {
            Some((_, Some(array))) if (1..=3).contains(&array.len()) => {
                for (mode, value) in sampler.address.iter_mut().zip(array.iter()) {
                    *mode = self.choice(value, &modes)?;
                }
            }
            Some((value, _)) => sampler.address = [self.choice(value, &modes)?; 3],
            None => {}
        }
        if let Some(value) = table.get("filter") {
            sampler.linear = self.choice(value, &[("point", false), ("linear", true)])?;
        }
        for (key, flag) in [("normalised", &mut sampler.normalised), ("as_float", &mut sampler.as_float)] {
            if let Some(value) = table.get(key) {
                let Some(found) = value.get_ref().as_bool() else {
                    self.wrong_type(value, "true or false");
                    return None;
                };
                *flag = found;
            }
        }
        Some(sampler)
    }

    /// One of several words.
    fn choice<T: Copy>(&mut self, value: &Value<'t>, choices: &[(&str, T)]) -> Option<T> {
        let word = self.string(value, "a word in quotes")?;
        let found = choices.iter().find(|(name, _)| *name == word.item);
        if found.is_none() {
            let known: Vec<&str> = choices.iter().map(|c| c.0).collect();
            let advice = suggest::among(&word.item, &known);
            self.problem(word.span, format!("`{}` is none of {}{advice}", word.item, known.join(", ")));
        }
        found.map(|c| c.1)
    }
}

/// Size and alignment, as C has them.
fn size_of_member(member: &ArgSpec) -> (usize, usize) {
    match member {
        ArgSpec::Address(_) | ArgSpec::Image(_) => (ADDRESS_BYTES, ADDRESS_BYTES),
        ArgSpec::Array(values, ty) => (values.item.len() * ty.bytes(), ty.bytes()),
        ArgSpec::Struct(inner) => (inner.bytes, inner.align),
        ArgSpec::Bytes(bytes) => (bytes.item.len(), 1),
        ArgSpec::Scalar { ty, .. } => ty.map_or((1, 1), |ty| (ty.bytes(), ty.bytes())),
    }
}

fn byte(value: &Value<'_>) -> Option<u8> {
    let integer = value.get_ref().as_integer()?;
    u8::from_str_radix(integer.as_str(), integer.radix()).ok()
}

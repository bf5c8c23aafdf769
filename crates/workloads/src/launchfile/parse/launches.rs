//! `[[launch]]` and `[[output]]`.

use super::{Reader, Value, flatten};
use crate::element::{Number, ScalarType};
use crate::launchfile::expr::{self, Expr};
use crate::launchfile::model::{Against, ArgSpec, Compare, ImageSpec, LaunchSpec, Located, OutputSpec};
use crate::suggest;
use isa::{AddressMode, Sampler};
use std::ops::Range;
use toml::de::{DeTable, DeValue};

impl<'t> Reader<'t> {
    pub(super) fn launch(
        &mut self,
        table: &DeTable<'t>,
        span: Range<usize>,
        default_module: Option<&Located<String>>,
        modules: &mut Vec<Located<String>>,
    ) -> Option<LaunchSpec> {
        const KEYS: &[&str] =
            &["module", "kernel", "grid", "block", "shared_bytes", "registers", "args", "repeat", "stream", "swap"];
        self.known_keys(table, KEYS, "a launch");
        let own_module = table.get("module").and_then(|v| self.string(v, "the path of a PTX file"));
        let module = own_module.as_ref().or(default_module);
        if module.is_none() && !table.contains_key("module") {
            self.problem(span.clone(), "no module: write `module = \"FILE.ptx\"` here or at the top of the file");
        }
        let kernel = self.required(table, "kernel", &span).and_then(|v| self.string(v, "a kernel's name"));
        let grid = self.required(table, "grid", &span).and_then(|v| self.sizes(v));
        let block = self.required(table, "block", &span).and_then(|v| self.sizes(v));
        let args = match table.get("args") {
            Some(value) => self.args(value),
            None => Some(Located { item: Vec::new(), span: span.clone() }),
        };
        let mut optional = |key: &str| table.get(key).map(|v| self.round_expr(v));
        let (shared_bytes, registers) = (optional("shared_bytes"), optional("registers"));
        let (repeat, stream) = (optional("repeat"), optional("stream"));
        let swap = table.get("swap").map_or(Some(Vec::new()), |v| self.swap(v));
        let module = module?;
        let known = modules.iter().position(|m| m.item == module.item);
        Some(LaunchSpec {
            module: known.unwrap_or_else(|| {
                modules.push(module.clone());
                modules.len() - 1
            }),
            kernel: kernel?,
            grid: grid?,
            block: block?,
            shared_bytes: flatten(shared_bytes)?,
            registers: flatten(registers)?,
            args: args?,
            repeat: flatten(repeat)?,
            stream: flatten(stream)?,
            swap: swap?,
        })
    }

    fn required<'v>(&mut self, table: &'v DeTable<'t>, key: &str, span: &Range<usize>) -> Option<&'v Value<'t>> {
        let value = table.get(key);
        if value.is_none() {
            // The header line is place enough.
            let header = self.text.get(span.clone()).and_then(|t| t.lines().next()).map_or(0, str::len);
            self.problem(span.start..span.start + header, format!("`{key}` is missing"));
        }
        value
    }

    /// A number, or an array of one to three.
    fn sizes(&mut self, value: &Value<'t>) -> Option<Vec<Expr>> {
        let DeValue::Array(array) = value.get_ref() else { return self.round_expr(value).map(|e| vec![e]) };
        if !(1..=3).contains(&array.len()) {
            self.problem(value.span(), format!("one to three sizes are possible, not {}", array.len()));
            return None;
        }
        let sizes: Vec<_> = array.iter().map(|v| self.round_expr(v)).collect();
        sizes.into_iter().collect()
    }

    fn args(&mut self, value: &Value<'t>) -> Option<Located<Vec<ArgSpec>>> {
        let DeValue::Array(array) = value.get_ref() else {
            self.wrong_type(value, "an array of arguments");
            return None;
        };
        let args: Vec<_> = array.iter().map(|v| self.arg(v)).collect();
        Some(Located { item: args.into_iter().collect::<Option<_>>()?, span: value.span() })
    }

    fn arg(&mut self, value: &Value<'t>) -> Option<ArgSpec> {
        match value.get_ref() {
            DeValue::String(text) if expr::is_name(text) && !self.names.values.iter().any(|v| v == text) => {
                if **text == *"round" || **text == *"pi" {
                    return self.round_expr(value).map(|value| ArgSpec::Scalar { value, ty: None });
                }
                let found = self.names.buffers.iter().position(|b| b == text);
                if found.is_none() {
                    let known: Vec<_> = self.names.buffers.iter().chain(&self.names.values).cloned().collect();
                    let advice = suggest::among(text, &known);
                    self.problem(value.span(), format!("there is no buffer or value `{text}`{advice}"));
                }
                Some(ArgSpec::Buffer { buffer: found?, offset: None, span: value.span() })
            }
            DeValue::Table(table) => self.arg_table(table, value.span()),
            _ => self.round_expr(value).map(|value| ArgSpec::Scalar { value, ty: None }),
        }
    }

    /// `{ buffer, offset }`, `{ value, type }`, `{ f32 = 1.0 }` or `{ bytes = [...] }`.
    fn arg_table(&mut self, table: &DeTable<'t>, span: Range<usize>) -> Option<ArgSpec> {
        if let Some(value) = table.get("buffer") {
            self.known_keys(table, &["buffer", "offset"], "a buffer argument");
            let name = self.string(value, "a buffer's name")?;
            let buffer = self.buffer_named(&name.item, name.span);
            let offset = table.get("offset").map(|v| self.round_expr(v));
            return Some(ArgSpec::Buffer { buffer: buffer?, offset: flatten(offset)?, span });
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
        if let Some((name, texture)) =
            table.get("texture").map(|v| (v, true)).or_else(|| table.get("surface").map(|v| (v, false)))
        {
            return self.image(table, name, texture, span).map(|image| ArgSpec::Image(Box::new(image)));
        }
        if let Some(value) = table.get("value") {
            self.known_keys(table, &["value", "type"], "a scalar argument");
            let ty = table.get("type").map(|t| self.scalar_type(t));
            let value = self.round_expr(value)?;
            return Some(ArgSpec::Scalar { value, ty: flatten(ty)? });
        }
        let mut entries = table.iter();
        if let (Some((key, value)), None) = (entries.next(), entries.next())
            && let Some(ty) = ScalarType::parse(key.get_ref())
        {
            return self.round_expr(value).map(|value| ArgSpec::Scalar { value, ty: Some(ty) });
        }
        self.problem(
            span,
            "an argument is a number, a buffer's name, { buffer, offset }, { value, type }, { bytes }, { texture } or \
             { surface }",
        );
        None
    }

    /// `{ texture = "x", width, height, … }` or `{ surface = "x", … }`.
    fn image(&mut self, table: &DeTable<'t>, name: &Value<'t>, texture: bool, span: Range<usize>) -> Option<ImageSpec> {
        const SIZES: [&str; 6] = ["width", "height", "depth", "layers", "pitch", "channels"];
        const SAMPLING: [&str; 4] = ["address", "filter", "normalised", "as_float"];
        if texture {
            self.known_keys(table, &[&["texture"][..], &SIZES, &SAMPLING].concat(), "a texture");
        } else {
            self.known_keys(table, &[&["surface"][..], &SIZES].concat(), "a surface");
        }
        let name = self.string(name, "a buffer's name")?;
        let buffer = self.buffer_named(&name.item, name.span)?;
        let [width, height, depth, layers, pitch, channels] =
            SIZES.map(|key| table.get(key).map(|v| self.round_expr(v)));
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

    /// `swap = ["a", "b"]`, or an array of such pairs.
    fn swap(&mut self, value: &Value<'t>) -> Option<Vec<(usize, usize)>> {
        let wanted = "a pair of buffers, [\"a\", \"b\"], or an array of pairs";
        let Some(array) = value.get_ref().as_array() else {
            self.wrong_type(value, wanted);
            return None;
        };
        if array.iter().all(|item| item.get_ref().is_array()) {
            let pairs: Vec<_> = array.iter().map(|item| self.pair(item)).collect();
            return pairs.into_iter().collect();
        }
        self.pair(value).map(|pair| vec![pair])
    }

    fn pair(&mut self, value: &Value<'t>) -> Option<(usize, usize)> {
        let items: Vec<&Value<'t>> = value.get_ref().as_array()?.iter().collect();
        let [a, b] = items[..] else {
            self.problem(value.span(), "two buffers change roles: [\"a\", \"b\"]");
            return None;
        };
        let mut buffer = |v: &Value<'t>| {
            let name = self.string(v, "a buffer's name")?;
            self.buffer_named(&name.item, name.span)
        };
        let (a, b) = (buffer(a), buffer(b));
        let (a, b) = (a?, b?);
        if a == b {
            self.problem(value.span(), "a buffer changes roles with another one");
            return None;
        }
        Some((a, b))
    }

    pub(super) fn output(&mut self, table: &DeTable<'t>, span: Range<usize>) -> Option<OutputSpec> {
        self.known_keys(table, &["buffer", "count", "print", "write", "compare"], "an output");
        let name = self.required(table, "buffer", &span).and_then(|v| self.string(v, "a buffer's name"));
        let buffer = name.and_then(|name| self.buffer_named(&name.item, name.span));
        let count = table.get("count").map(|v| self.expr(v));
        let print = table.get("print").map(|v| match v.get_ref() {
            DeValue::Boolean(true) => Some(Expr::constant(v.span(), Number::Int(16))),
            _ => self.expr(v),
        });
        let write = table.get("write").map(|v| self.string(v, "the path of a file"));
        let compare = table.get("compare").map(|v| self.compare(v));
        if !["print", "write", "compare"].iter().any(|key| table.contains_key(*key)) && self.no_problem_in(table) {
            self.problem(span.clone(), "this output does nothing: say print, write or compare");
        }
        Some(OutputSpec {
            buffer: buffer?,
            span,
            count: flatten(count)?,
            print: flatten(print)?,
            write: flatten(write)?,
            compare: flatten(compare)?,
        })
    }

    /// A number, a formula, or a table with `formula` or `file` and tolerances.
    fn compare(&mut self, value: &Value<'t>) -> Option<Compare> {
        let DeValue::Table(table) = value.get_ref() else {
            let against = Against::Formula(self.element_expr(value)?);
            return Some(Compare { against, absolute: None, relative: None });
        };
        self.known_keys(table, &["formula", "file", "absolute", "relative"], "a comparison");
        let against = match (table.get("formula"), table.get("file")) {
            (Some(formula), None) => self.element_expr(formula).map(Against::Formula),
            (None, Some(file)) => self.string(file, "the path of a file").map(Against::File),
            _ => {
                if self.no_problem_in(table) {
                    self.problem(value.span(), "a comparison needs either a formula or a file");
                }
                None
            }
        };
        let absolute = table.get("absolute").map(|v| self.expr(v));
        let relative = table.get("relative").map(|v| self.expr(v));
        Some(Compare { against: against?, absolute: flatten(absolute)?, relative: flatten(relative)? })
    }
}

fn byte(value: &Value<'_>) -> Option<u8> {
    let integer = value.get_ref().as_integer()?;
    u8::from_str_radix(integer.as_str(), integer.radix()).ok()
}

//! Linking at run time: PTX texts become one module. A cubin or fat binary is accepted by itself.
//!
//! The image that comes out is a header of ours, then PTX or the input as it was.

use crate::error::{Error, Result};
use crate::host::Host;
use crate::module::Modules;
use crate::module::objects::{Input, Linker, Logs, Text};
use crate::module::read::IMAGE_MAGIC;
use crate::platform::Platform;
use ptx::Severity;

/// Kinds of inputs (`CU_JIT_INPUT_*`).
const CUBIN: u32 = 0;
const PTX: u32 = 1;
const FAT_BINARY: u32 = 2;
const OBJECT: u32 = 3;

fn parse(name: &str, text: String) -> std::result::Result<Box<Text>, String> {
    let parsed = ptx::parse(name, text.trim_end_matches('\0'));
    if parsed.diagnostics.has_errors() {
        return Err(parsed.diagnostics.render(&parsed.source, Severity::Error));
    }
    Ok(Box::new(Text { name: name.to_owned(), module: parsed.module, text }))
}

impl Modules {
    /// Begins to link.
    ///
    /// # Errors
    /// There is no context.
    pub fn link_create(&mut self, platform: &Platform, logs: Logs) -> Result<u64> {
        let context = platform.context_here()?.0;
        write_logs(&*platform.host, &logs, "", "");
        Ok(self.linkers.add(Linker { context, inputs: Vec::new(), logs, errors: String::new(), image: None }))
    }

    /// Adds an input of a kind (`CU_JIT_INPUT_*`).
    ///
    /// # Errors
    /// The text is wrong, or the kind is not supported.
    pub fn link_add(&mut self, platform: &Platform, link: u64, kind: u32, name: &str, data: Vec<u8>) -> Result<()> {
        let linker = self.linkers.get(link)?;
        if linker.image.is_some() {
            return Err(Error::INVALID_VALUE);
        }
        let read = match kind {
            PTX => match String::from_utf8(data) {
                Ok(text) => parse(name, text).map(Input::Ptx),
                Err(_) => Err(format!("`{name}` is not UTF-8 text")),
            },
            CUBIN | FAT_BINARY | OBJECT => Ok(Input::Binary(data)),
            _ => {
                let problem = format!("`{name}`: inputs of kind {kind} (libraries, NVVM) cannot be linked; pass PTX");
                return self.link_problem(platform, link, &problem, Error::NOT_SUPPORTED);
            }
        };
        match read {
            Ok(input) => {
                self.linkers.get_mut(link)?.inputs.push(input);
                Ok(())
            }
            Err(problem) => self.link_problem(platform, link, &problem, Error::INVALID_PTX),
        }
    }

    fn link_problem<T>(&mut self, platform: &Platform, link: u64, problem: &str, error: Error) -> Result<T> {
        platform.host.message(problem);
        let linker = self.linkers.get_mut(link)?;
        linker.errors.push_str(problem.trim_end());
        linker.errors.push('\n');
        let (logs, errors) = (linker.logs, linker.errors.clone());
        write_logs(&*platform.host, &logs, "", &errors);
        Err(error)
    }

    /// Links; returns address and size of the image, which stays until the link is destroyed.
    ///
    /// # Errors
    /// Names are defined twice or not at all, or several inputs are not all PTX.
    pub fn link_complete(&mut self, platform: &Platform, link: u64) -> Result<(u64, u64)> {
        if self.linkers.get(link)?.image.is_none() {
            let inputs = self.linkers.get(link)?.inputs.clone();
            let (_, device) = platform.place_here()?;
            let contents = match merge(inputs, platform.devices[device].setup.gpu.sm_version) {
                Ok(contents) => contents,
                Err(problem) => return self.link_problem(platform, link, &problem, Error::INVALID_IMAGE),
            };
            let mut image = IMAGE_MAGIC.to_vec();
            image.extend((contents.len() as u64).to_le_bytes());
            image.extend(contents);
            // Programs that take the image for text find its end.
            image.push(0);
            self.linkers.get_mut(link)?.image = Some(image.into());
        }
        let linker = self.linkers.get(link)?;
        let image = linker.image.as_deref().unwrap_or_default();
        write_logs(&*platform.host, &linker.logs, "", &linker.errors);
        Ok((image.as_ptr() as u64, image.len() as u64))
    }

    /// The image of a link that is complete.
    ///
    /// # Errors
    /// There is no such link, or it is not complete.
    pub fn link_image(&self, link: u64) -> Result<&[u8]> {
        self.linkers.get(link)?.image.as_deref().ok_or(Error::INVALID_VALUE)
    }

    /// Ends a link; its image is gone.
    ///
    /// # Errors
    /// There is no such link.
    pub fn link_destroy(&mut self, link: u64) -> Result<()> {
        self.linkers.remove(link).map(|_| ())
    }

    /// Loads a module as [`Modules::load`]; its problems are written to the program's buffers too.
    ///
    /// # Errors
    /// As [`Modules::load`].
    pub fn load_with_logs(&mut self, platform: &mut Platform, image: &[u8], logs: &Logs) -> Result<u64> {
        self.last_problem.clear();
        let loaded = self.load(platform, image);
        let errors = std::mem::take(&mut self.last_problem);
        write_logs(&*platform.host, logs, "", &errors);
        loaded
    }
}

/// Writes texts to the program's buffers, as much as fits; nothing without memory.
fn write_logs(host: &dyn Host, logs: &Logs, info: &str, errors: &str) {
    for (log, text) in [(&logs.info, info), (&logs.error, errors)] {
        let room = usize::try_from(log.room).unwrap_or(0);
        let mut bytes = text.as_bytes()[..text.len().min(room.saturating_sub(1))].to_vec();
        let size = bytes.len() as u64;
        bytes.push(0);
        if log.address != 0 && room > 0 {
            host.write(log.address, &bytes);
        }
        if log.written != 0 {
            host.write(log.written, &size.to_le_bytes());
        }
    }
    if logs.time != 0 {
        host.write(logs.time, &0_f32.to_le_bytes());
    }
}

/// The contents of the image of some inputs, for a GPU of architecture `sm`.
fn merge(mut inputs: Vec<Input>, sm: u32) -> std::result::Result<Vec<u8>, String> {
    match (inputs.len(), inputs.pop()) {
        (_, None) => return Err("there is nothing to link".to_owned()),
        (1, Some(Input::Binary(data))) => return Ok(data),
        (_, Some(last)) => inputs.push(last),
    }
    let mut modules = Vec::new();
    let mut only = None;
    for input in inputs {
        let Text { name, module, text } = match input {
            Input::Ptx(text) => *text,
            Input::Binary(data) => *ptx_of(&data, sm)?,
        };
        modules.push((name, module));
        only = Some(text).filter(|_| modules.len() == 1);
    }
    let linked = ptx::link(&mut modules).map_err(|problems| problems.join("\n"))?;
    // A text that nothing was linked to keeps its lines.
    Ok(only.unwrap_or(linked).into_bytes())
}

/// The newest PTX of a fat binary that a GPU of architecture `sm` takes.
fn ptx_of(data: &[u8], sm: u32) -> std::result::Result<Box<Text>, String> {
    let problem = || "machine code cannot be linked with other inputs; pass PTX".to_owned();
    let entries = sass::fatbin::entries(data).map_err(|_| problem())?;
    let taken = |entry: &&sass::fatbin::Entry<'_>| entry.kind == sass::fatbin::Kind::Ptx && entry.sm <= sm;
    let entry = entries.iter().filter(taken).max_by_key(|entry| entry.sm);
    let text = entry.ok_or_else(problem)?.extract().map_err(|error| error.to_string())?;
    parse("fat binary", String::from_utf8_lossy(&text).into_owned())
}

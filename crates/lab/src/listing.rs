//! The instructions of a kernel with the lines of CUDA and PTX that they were compiled from.

use isa::{Pc, Program};
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use workloads::bundled::Bundled;

/// Where the text of source files is found.
#[derive(Clone, Debug, Default)]
pub enum SourcePlace {
    /// At the path in the line table.
    #[default]
    AsRecorded,
    /// There, or in the folder of the file with the code: by the path in the line table, or by its file name.
    Folder(PathBuf),
    /// In the program: the source of a bundled kernel.
    Bundled(&'static Bundled),
}

/// A line of a text.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct TextLine {
    /// Path as the compiler recorded it; absent for the PTX within a cubin.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// From 1.
    pub line: u32,
    /// Without indentation; absent if the text is not at hand.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
}

impl TextLine {
    /// A line of a text without a file, such as the PTX within a cubin.
    pub fn of(lines: &[&str], line: u32) -> Self {
        Self { file: None, line, text: text_at(lines, line) }
    }
}

/// A static instruction and its lines.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct ListedInstruction {
    /// Index in the kernel.
    pub pc: u32,
    /// As PTX or machine code.
    pub text: String,
    /// Line of CUDA, if known; of PTX without any such line, its own line.
    pub source: Option<TextLine>,
    /// Calls that the code was inlined for, the innermost first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub calls: Vec<TextLine>,
    /// Of machine code: the line of PTX, if known.
    pub ptx: Option<TextLine>,
}

/// All instructions of `program` in order. A source that cannot be read is not an error: its lines have no text.
pub fn listing(program: &Program, place: &SourcePlace) -> Vec<ListedInstruction> {
    let mut sources = Sources::new(place);
    let ptx: Vec<&str> = program.lines.ptx_text.as_deref().unwrap_or_default().lines().collect();
    let has_table = (0..program.insts().len()).any(|index| program.origin(Pc::from(index)).is_some());
    // PTX that somebody wrote is its own source.
    let own = |pc: Pc| {
        let line = program.source(pc).line;
        (!has_table && line != 0 && !program.code_file.is_empty()).then_some((&*program.code_file, line))
    };
    let instruction = |index: usize| {
        let pc = Pc::from(index);
        let ptx_line = program.lines.ptx.get(index).copied().filter(|&line| line != 0);
        ListedInstruction {
            pc: pc.0,
            text: program.text(pc).to_owned(),
            source: program.origin(pc).or_else(|| own(pc)).map(|at| sources.line(at)),
            calls: program.calls(pc).map(|at| sources.line(at)).collect(),
            ptx: ptx_line.map(|line| TextLine::of(&ptx, line)),
        }
    };
    (0..program.insts().len()).map(instruction).collect()
}

fn text_at(lines: &[impl AsRef<str>], line: u32) -> Option<String> {
    let text = lines.get((line as usize).checked_sub(1)?)?;
    Some(text.as_ref().split_whitespace().collect::<Vec<_>>().join(" "))
}

/// Source files, each read once.
#[derive(Debug)]
pub struct Sources<'a> {
    place: &'a SourcePlace,
    files: HashMap<String, Option<Arc<[String]>>>,
}

impl<'a> Sources<'a> {
    /// Those that are found in `place`; none is read yet.
    pub fn new(place: &'a SourcePlace) -> Self {
        Self { place, files: HashMap::new() }
    }

    /// A line of a file by the path that the compiler recorded.
    pub fn line(&mut self, (file, line): (&str, u32)) -> TextLine {
        let lines = match self.files.get(file) {
            Some(lines) => lines.clone(),
            None => {
                let lines = read(self.place, file);
                self.files.insert(file.to_owned(), lines.clone());
                lines
            }
        };
        TextLine { file: Some(file.to_owned()), line, text: lines.and_then(|lines| text_at(&lines, line)) }
    }
}

fn read(place: &SourcePlace, file: &str) -> Option<Arc<[String]>> {
    let path = Path::new(file);
    let of = |text: &str| text.lines().map(str::to_owned).collect();
    let on_disk = |path: PathBuf| path.is_file().then(|| kit::files::read_text(path).ok()).flatten();
    match place {
        SourcePlace::Bundled(bundled) => {
            (path.file_name()? == format!("{}.cu", bundled.name).as_str()).then(|| of(bundled.cuda()))
        }
        SourcePlace::AsRecorded => on_disk(path.to_owned()).map(|text| of(&text)),
        SourcePlace::Folder(folder) => {
            let places = [folder.join(path), folder.join(path.file_name()?)];
            places.into_iter().find_map(on_disk).map(|text| of(&text))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lower::LowerOptions;

    fn bundled(name: &str) -> &'static Bundled {
        &workloads::suite::find(name).unwrap().module
    }

    fn of_cubin(name: &str, sm: u32, place: &SourcePlace) -> Vec<ListedInstruction> {
        let loaded =
            lower::load_cubin("k.cubin", bundled(name).cubin(sm).unwrap().file(), LowerOptions::default()).unwrap();
        listing(&loaded.module.kernels[0].program, place)
    }

    #[test]
    fn machine_code_beside_ptx_and_cuda() {
        for sm in [70, 75, 86, 90] {
            let all = of_cubin("saxpy", sm, &SourcePlace::Bundled(bundled("saxpy")));
            let multiply = all.iter().find(|inst| inst.text.starts_with("FFMA")).unwrap();
            let (source, ptx) = (multiply.source.as_ref().unwrap(), multiply.ptx.as_ref().unwrap());
            assert_eq!((source.file.as_deref(), source.line), (Some("saxpy.cu"), 7));
            assert_eq!(source.text.as_deref(), bundled("saxpy").cuda().lines().nth(6).map(str::trim));
            assert_eq!(ptx.text.as_deref(), Some("fma.rn.f32 %f4, %f2, %f1, %f3;"));
        }
    }

    #[test]
    fn ptx_beside_cuda() {
        let module = bundled("saxpy");
        let loaded = lower::load("saxpy.ptx", module.ptx().to_owned().into_bytes(), LowerOptions::default()).unwrap();
        let all = listing(&loaded.module.kernels[0].program, &SourcePlace::Bundled(module));
        let multiply = all.iter().find(|inst| inst.text.starts_with("fma")).unwrap();
        assert_eq!(multiply.source.as_ref().map(|line| line.line), Some(7));
        assert_eq!(multiply.ptx, None);
    }

    #[test]
    fn ptx_without_lines_is_its_own_source() {
        let folder = tempfile::tempdir().unwrap();
        let text: String = bundled("saxpy")
            .ptx()
            .lines()
            .filter(|l| !l.trim_start().starts_with(".loc"))
            .fold(String::new(), |text, line| text + line + "\n");
        std::fs::write(folder.path().join("own.ptx"), &text).unwrap();
        let loaded = lower::load("own.ptx", text.clone().into_bytes(), LowerOptions::default()).unwrap();
        let all = listing(&loaded.module.kernels[0].program, &SourcePlace::Folder(folder.path().to_owned()));
        let multiply = all.iter().find(|inst| inst.text.starts_with("fma")).unwrap();
        let source = multiply.source.as_ref().unwrap();
        assert_eq!((source.file.as_deref(), source.text.as_deref()), (Some("own.ptx"), Some(&*multiply.text)));
        assert!(text.lines().nth(source.line as usize - 1).unwrap().contains("fma"), "{source:?}");
    }

    #[test]
    fn inlined_code_names_its_calls() {
        let all = of_cubin("bitonic", 75, &SourcePlace::Bundled(bundled("bitonic")));
        let deep = all.iter().max_by_key(|inst| inst.calls.len()).unwrap();
        assert!(deep.calls.len() >= 2, "{deep:?}");
        assert!(deep.calls.iter().all(|call| call.text.is_some()), "{deep:?}");
    }

    #[test]
    fn inlined_ptx_names_its_calls() {
        let module = bundled("bitonic");
        let loaded = lower::load("bitonic.ptx", module.ptx().to_owned().into_bytes(), LowerOptions::default()).unwrap();
        let of = |kernel: &Arc<exec::Kernel>| listing(&kernel.program, &SourcePlace::Bundled(module));
        let all: Vec<ListedInstruction> = loaded.module.kernels.iter().flat_map(of).collect();
        let inlined: Vec<_> = all.iter().filter(|inst| !inst.calls.is_empty()).collect();
        assert!(inlined.len() > 5, "{}", inlined.len());
        assert!(
            inlined.iter().all(|inst| inst.calls.last().unwrap().file.as_deref() == Some("bitonic.cu")),
            "{inlined:?}"
        );
    }

    #[test]
    fn sources_are_found_beside_the_code_or_not_at_all() {
        let folder = tempfile::tempdir().unwrap();
        let place = SourcePlace::Folder(folder.path().to_owned());
        let text = |place| of_cubin("saxpy", 75, place)[0].source.clone().unwrap();
        assert_eq!(text(&place).text, None);
        std::fs::write(folder.path().join("saxpy.cu"), "\n\n  third  line\n").unwrap();
        assert_eq!(text(&place), TextLine { file: Some("saxpy.cu".into()), line: 3, text: Some("third line".into()) });
    }
}

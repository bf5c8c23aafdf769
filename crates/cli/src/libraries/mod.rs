//! The libraries that programs find in place of NVIDIA's, and their folder.
//!
//! Whoever can write to that folder can run code as the user. A folder is used only if no other user can write to it,
//! and each of its files is compared with what it must be before each run.

mod folder;
mod packed;
mod temporary;

use crate::failure::Failure;
use crate::output;
use folder::{Content, Entry, Trust};
use kit::files::user_cache;
use packed::{Packed, Row};
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io;
use std::path::{Path, PathBuf};
use temporary::Temporary;

/// Name of the auditing library in the folder.
const AUDIT: &str = "warpwright-audit.so";

/// Name by which programs and linkers ask for a library, in the folder, and the file that cargo builds.
/// The auditing library takes each as the library of its name (`crates/audit`), wherever a program looks for that.
const SHARED: [(&str, &str); 26] = [
    (AUDIT, "libwarpwright_audit.so"),
    ("libcuda.so.1", "libcuda.so"),
    ("libcuda.so", "libcuda.so"),
    ("libcudart.so.11.0", "libcudart11.so"),
    ("libcudart.so.12", "libcudart12.so"),
    ("libcudart.so.13", "libcudart13.so"),
    ("libcublas.so.11", "libcublas11.so"),
    ("libcublas.so.12", "libcublas12.so"),
    ("libcublas.so.13", "libcublas13.so"),
    ("libcublasLt.so.11", "libcublaslt11.so"),
    ("libcublasLt.so.12", "libcublaslt12.so"),
    ("libcublasLt.so.13", "libcublaslt13.so"),
    ("libcurand.so.10", "libcurand10.so"),
    ("libcufft.so.10", "libcufft10.so"),
    ("libcufft.so.11", "libcufft11.so"),
    ("libcufft.so.12", "libcufft12.so"),
    ("libcusparse.so.11", "libcusparse11.so"),
    ("libcusparse.so.12", "libcusparse12.so"),
    ("cuda/warpwright-audit.so", "libwarpwright_audit.so"),
    ("cuda/libcuda.so.1", "libcuda.so"),
    ("cuda/libcudart.so.11.0", "libcudart11.so"),
    ("cuda/libcudart.so.12", "libcudart12.so"),
    ("cuda/libcudart.so.13", "libcudart13.so"),
    ("11/libcudart.so", "libcudart11.so"),
    ("12/libcudart.so", "libcudart12.so"),
    ("13/libcudart.so", "libcudart13.so"),
];

/// The same of archives for static linking, which only a build folder has.
const ARCHIVES: [(&str, &str); 3] = [
    ("11/libcudart_static.a", "libcudart11.a"),
    ("12/libcudart_static.a", "libcudart12.a"),
    ("13/libcudart_static.a", "libcudart13.a"),
];

/// The libraries within the command; empty where it was built without.
const EMBEDDED: (&[Row], &[u8]) = embed::libraries!(
    "libwarpwright_audit.so",
    "libcuda.so",
    "libcudart11.so",
    "libcudart12.so",
    "libcudart13.so",
    "libcublas11.so",
    "libcublas12.so",
    "libcublas13.so",
    "libcublaslt11.so",
    "libcublaslt12.so",
    "libcublaslt13.so",
    "libcurand10.so",
    "libcufft10.so",
    "libcufft11.so",
    "libcufft12.so",
    "libcusparse11.so",
    "libcusparse12.so",
);

/// The subfolder with CUDA's driver and runtime only.
const CUDA_ONLY: &str = "cuda";

/// Name of the folder beside the libraries.
const FOLDER: &str = "warpwright-cuda";

/// Where the libraries are.
#[derive(Debug)]
pub struct Libraries {
    folder: PathBuf,
    /// The folder, if it is for one program only.
    temporary: Option<Temporary>,
}

impl Libraries {
    /// Finds the libraries beside the program, or takes those within it, and makes the folder in which they have the names
    /// that programs ask for.
    pub fn find() -> Result<Self, Failure> {
        let program = std::env::current_exe().and_then(fs::canonicalize);
        let program = program.map_err(|e| Failure::failed(format!("the program does not know where it is: {e}")))?;
        let beside = program.parent().unwrap_or(Path::new("/"));
        let cache = user_cache(|name| std::env::var_os(name));
        let trust = Trust::of(&program).map_err(|e| Failure::failed(format!("`{}`: {e}", program.display())))?;
        let mut refused = None;
        for place in [beside.to_owned(), beside.join("deps"), beside.join("../deps"), beside.join("../lib/warpwright")]
        {
            let Ok(place) = place.canonicalize() else { continue };
            if !SHARED.iter().all(|(_, file)| place.join(file).is_file()) {
                continue;
            }
            let mut files = SHARED.iter().map(|(_, file)| place.join(file));
            match files.try_for_each(|file| trust.file(&file)) {
                Ok(()) => return Self::linked(&place, cache.as_deref(), trust),
                Err(why) => refused = refused.or(Some(why)),
            }
        }
        let (table, packed) = EMBEDDED;
        if !packed.is_empty() {
            return Self::unpacked(&Packed::new(table, packed), cache.as_deref());
        }
        Err(Failure::failed(match refused {
            Some(why) => format!("the libraries beside the command are not safe to use: {why}"),
            None => missing(beside),
        }))
    }

    /// The folder of links to the libraries in `place`: beside them, or the user's own where that cannot be written.
    fn linked(place: &Path, cache: Option<&Path>, trust: Trust) -> Result<Self, Failure> {
        let archives = ARCHIVES.iter().filter(|(_, file)| place.join(file).is_file());
        let entry = |&(name, file): &(&'static str, &str)| Entry { name, content: Content::Link(place.join(file)) };
        let entries: Vec<Entry<'_>> = SHARED.iter().chain(archives).map(entry).collect();
        let folder = place.join(FOLDER);
        if trust.folder(&folder).is_ok() && folder::has(&folder, &entries, trust)
            || folder::fill_public(&folder, &entries).is_ok()
        {
            return Ok(Self { folder, temporary: None });
        }
        Self::own(cache, &format!("links-{:016x}", hash_of(place)), &entries)
    }

    /// The folder of the libraries that are within the command.
    fn unpacked(packed: &Packed<'_>, cache: Option<&Path>) -> Result<Self, Failure> {
        // Another version of the command has other libraries.
        let name = format!("libraries-{:016x}", hash_of(&packed.table));
        let mut entries: Vec<Entry<'_>> = Vec::new();
        for (name, file) in SHARED {
            let Some(library) = packed.library(file) else { continue };
            // A second name of a library is a link to the first.
            let first = SHARED.iter().find(|(_, other)| *other == file).map_or(name, |(first, _)| *first);
            let to_first = if name.contains('/') { Path::new("..").join(first) } else { first.into() };
            let content = if first == name { Content::File(library) } else { Content::Link(to_first) };
            entries.push(Entry { name, content });
        }
        Self::own(cache, &name, &entries)
    }

    /// The folder `name` with `entries` in the user's cache or, if that cannot be used, one for this program only.
    fn own(cache: Option<&Path>, name: &str, entries: &[Entry<'_>]) -> Result<Self, Failure> {
        let hint = "hint: XDG_CACHE_HOME names another folder for them";
        let in_cache = match cache {
            Some(cache) => folder::fill_private(&cache.join("warpwright"), name, entries),
            None => Err("neither XDG_CACHE_HOME nor HOME names a folder by an absolute path".to_owned()),
        };
        let why = match in_cache {
            Ok(folder) => return Ok(Self { folder, temporary: None }),
            Err(why) => why,
        };
        let what = "the libraries that programs find in place of NVIDIA's";
        let temporary = Temporary::new(&std::env::temp_dir()).and_then(|temporary| {
            folder::fill_private(temporary.path(), name, entries).map(|folder| (folder, temporary))
        });
        let (folder, temporary) =
            temporary.map_err(|also| Failure::failed(format!("cannot write {what}: {why}; {also}\n  {hint}")))?;
        let shown = temporary.path().display();
        output::remark(&format!("warpwright: {why}\n  {what} are in `{shown}` for this program only\n  {hint}\n"));
        Ok(Self { folder, temporary: Some(temporary) })
    }

    /// The library by which the loader takes the others of a folder of these.
    pub fn audit(folder: &Path) -> PathBuf {
        folder.join(AUDIT)
    }

    /// The folder in which programs find them: all, or CUDA's driver and runtime only.
    pub fn folder(&self, all: bool) -> PathBuf {
        if all { self.folder.clone() } else { self.folder.join(CUDA_ONLY) }
    }

    /// How programs are linked to the runtime of `version`, as options of nvcc; `None` in a folder that is going to be
    /// removed.
    pub fn linking(&self, version: u32) -> Option<String> {
        if self.temporary.is_some() {
            return None;
        }
        let folder = self.folder.join(version.to_string());
        let has_archive = folder.join("libcudart_static.a").is_file();
        let library = if has_archive { "-lcudart_static -lpthread -ldl" } else { "-lcudart" };
        Some(format!("-cudart none -L{} {library}", folder.display()))
    }

    /// Keeps a temporary folder until the program that takes the place of this process has ended, with all that it has
    /// started.
    pub fn keep_for_program(&mut self) -> io::Result<()> {
        self.temporary.as_mut().map_or(Ok(()), Temporary::remove_after_program)
    }

    /// Keeps a temporary folder until the user removes it. Returns it.
    pub fn keep(self) -> Option<PathBuf> {
        self.temporary.map(Temporary::keep)
    }
}

/// The message that libraries are missing in the folder of the program, and how to get them.
fn missing(beside: &Path) -> String {
    let mut files: Vec<&str> =
        SHARED.iter().map(|(_, file)| *file).filter(|file| !beside.join(file).is_file()).collect();
    files.sort_unstable();
    files.dedup();
    let (files, own) = (files.join(", "), beside.parent().unwrap_or(Path::new("/")).join("lib/warpwright"));
    format!(
        "the libraries that programs find in place of NVIDIA's are not beside the command: no {files} in `{}` or `{}`\n  hint: a release build has them within it (`cargo install --path crates/cli`); this command was built without",
        beside.display(),
        own.display()
    )
}

fn hash_of(what: impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    what.hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_without_its_libraries_says_where_they_belong() {
        let folder = tempfile::tempdir().unwrap();
        let bin = folder.path().join("bin");
        fs::create_dir(&bin).unwrap();
        let all = missing(&bin);
        assert!(
            all.contains("no libcublas11.so, libcublas12.so, ")
                && all.contains("libcudart12.so, libcudart13.so, ")
                && all.contains(", libwarpwright_audit.so in"),
            "{all}"
        );
        assert!(all.contains(&*folder.path().join("lib/warpwright").to_string_lossy()), "{all}");
        fs::write(bin.join("libcuda.so"), "").unwrap();
        assert!(missing(&bin).contains("libcublaslt13.so, libcudart11.so,"));
    }

    const LIBRARIES: &[(&str, &[u8])] = &[("libcuda.so", b"one"), ("libcudart12.so", b"other")];

    #[test]
    fn libraries_within_the_command_are_written_once() {
        let place = tempfile::tempdir().unwrap();
        let unpack = |libraries: &[(&'static str, &[u8])]| {
            let found = Libraries::unpacked(&Packed::of(libraries), Some(place.path())).unwrap();
            assert!(found.temporary.is_none(), "the cache is used");
            found.folder
        };
        let folder = unpack(LIBRARIES);
        for (name, content) in
            [("libcuda.so.1", "one"), ("libcuda.so", "one"), ("libcudart.so.12", "other"), ("12/libcudart.so", "other")]
        {
            assert_eq!(fs::read_to_string(folder.join(name)).unwrap(), content, "{name}");
        }
        let written = || fs::metadata(folder.join("libcuda.so.1")).unwrap().modified().unwrap();
        let first = written();
        fs::write(folder.join("libcudart.so.12"), "wrong").unwrap();
        assert_eq!(unpack(LIBRARIES), folder);
        assert_eq!(first, written(), "what is right stays");
        assert_eq!(fs::read(folder.join("libcudart.so.12")).unwrap(), b"other");
        assert_ne!(unpack(&[("libcuda.so", b"two")]), folder, "another version does not touch it");
    }

    #[test]
    fn without_a_cache_there_is_a_folder_for_the_program() {
        let place = tempfile::tempdir().unwrap();
        let file = place.path().join("file");
        fs::write(&file, "").unwrap();
        for cache in [None, Some(file.as_path())] {
            let found = Libraries::unpacked(&Packed::of(LIBRARIES), cache).unwrap();
            let folder = found.folder.clone();
            assert_eq!(fs::read(folder.join("libcuda.so.1")).unwrap(), b"one");
            assert_eq!(found.linking(12), None, "nobody links to a folder that is going to be removed");
            drop(found);
            assert!(!folder.exists());
        }
    }

    #[test]
    fn linking_names_what_is_there() {
        let place = tempfile::tempdir().unwrap();
        let files = SHARED.iter().map(|(_, file)| *file);
        files.for_each(|file| fs::write(place.path().join(file), file).unwrap());
        let trust = Trust::of(&std::env::current_exe().unwrap()).unwrap();
        let found = Libraries::linked(place.path(), None, trust).unwrap();
        assert_eq!(found.folder, place.path().join(FOLDER));
        assert_eq!(fs::read_to_string(found.folder.join("13/libcudart.so")).unwrap(), "libcudart13.so");
        assert!(found.linking(13).unwrap().ends_with("warpwright-cuda/13 -lcudart"));
        fs::write(place.path().join("libcudart13.a"), "").unwrap();
        let found = Libraries::linked(place.path(), None, trust).unwrap();
        assert!(found.linking(13).unwrap().ends_with("13 -lcudart_static -lpthread -ldl"));
    }
}

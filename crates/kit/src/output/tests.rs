use super::*;
use std::ffi::OsStr;
use std::sync::atomic::AtomicU32;

/// A folder that goes with the test.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Self {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let name = format!("kit-output-{}-{}", std::process::id(), NUMBER.fetch_add(1, Ordering::Relaxed));
        let path = std::env::temp_dir().join(name);
        fs::create_dir(&path).unwrap();
        Self(path)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    fn with(&self, name: &str, text: &str) -> PathBuf {
        fs::write(self.path(name), text).unwrap();
        self.path(name)
    }

    /// Names with contents; folders end in a slash.
    fn all(&self) -> Vec<(String, String)> {
        let entry = |entry: Result<fs::DirEntry>| {
            let (entry, name) = entry.map(|e| (e.path(), e.file_name().into_string().unwrap())).unwrap();
            if entry.is_dir() { (name + "/", String::new()) } else { (name, fs::read_to_string(entry).unwrap()) }
        };
        let mut all: Vec<_> = fs::read_dir(&self.0).unwrap().map(entry).collect();
        all.sort();
        all
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn pairs(of: &[(&str, &str)]) -> Vec<(String, String)> {
    of.iter().map(|&(name, text)| (name.to_owned(), text.to_owned())).collect()
}

#[test]
fn a_file_is_there_when_it_is_complete() {
    let folder = Folder::new();
    let path = folder.with("a.json", "old");
    let mut file = NewFile::create(&path).unwrap();
    file.write_all(b"new").unwrap();
    assert_eq!(fs::read_to_string(&path).unwrap(), "old");
    file.finish().unwrap();
    assert_eq!(folder.all(), pairs(&[("a.json", "new")]));
    let mut given_up = NewFile::create(&path).unwrap();
    given_up.write_all(b"half").unwrap();
    drop(given_up);
    assert_eq!(folder.all(), pairs(&[("a.json", "new")]));
}

#[test]
fn names_of_one_file() {
    let folder = Folder::new();
    let a = folder.with("a", "a");
    fs::create_dir(folder.path("sub")).unwrap();
    fs::hard_link(&a, folder.path("hard")).unwrap();
    let spelt = folder.path("sub").join("..").join("a");
    for other in [&a, &folder.path("hard"), &spelt] {
        assert!(same_file(&a, other), "{}", other.display());
    }
    assert!(!same_file(&a, &folder.with("b", "a")));
    // A file that is not there yet has a place, too.
    let (new, spelt) = (folder.path("new"), folder.path("sub").join("../new"));
    assert!(same_file(&new, &spelt) && !same_file(&new, &a));
    assert!(!same_file(Path::new("/dev/null"), Path::new("/dev/null")));
    let refused = check(&[folder.path("c"), spelt, new], &[]).unwrap_err();
    assert!(matches!(refused, Refused::Twice(_)), "{refused}");
    let refused = check(&[folder.path("hard")], &[a]).unwrap_err().to_string();
    assert!(refused.contains("an output and an input"), "{refused}");
    assert_eq!(folder.all().len(), 4, "nothing has been made");
}

#[cfg(unix)]
#[test]
fn links_stay_and_permissions_too() {
    use std::os::unix::fs::{PermissionsExt, symlink};
    let folder = Folder::new();
    let a = folder.with("a", "old");
    fs::set_permissions(&a, fs::Permissions::from_mode(0o640)).unwrap();
    symlink("a", folder.path("link")).unwrap();
    symlink("later", folder.path("dangling")).unwrap();
    assert!(same_file(&a, &folder.path("link")) && same_file(&folder.path("later"), &folder.path("dangling")));
    write(&folder.path("link"), b"new").unwrap();
    write(&folder.path("dangling"), b"new").unwrap();
    assert!(folder.path("link").is_symlink() && folder.path("dangling").is_symlink());
    assert_eq!(fs::read_to_string(&a).unwrap(), "new");
    assert_eq!(fs::metadata(&a).unwrap().permissions().mode() & 0o777, 0o640);
    symlink("round", folder.path("round")).unwrap();
    assert!(write(&folder.path("round"), b"").unwrap_err().to_string().contains("links"));
}

#[test]
fn what_cannot_be_written_is_told_before() {
    let folder = Folder::new();
    let file = folder.with("file", "");
    let told = |path: PathBuf| check(&[path], &[]).unwrap_err().to_string();
    assert!(told(folder.path("absent/a")).contains("there is no folder"));
    assert!(told(file.join("a")).contains("not a folder") || told(file.join("a")).contains("Not a directory"));
    assert!(told(folder.0.clone()).contains("it is a folder"));
    assert!(told(folder.path("absent/")).contains("the name of a folder"));
    assert!(told(PathBuf::new()).contains("not the name of a file"));
    if Path::new("/dev/full").exists() {
        check(&["/dev/full".into()], &[]).unwrap();
        assert_eq!(write(Path::new("/dev/full"), b"x").unwrap_err().kind(), ErrorKind::StorageFull);
    }
    assert_eq!(folder.all(), pairs(&[("file", "")]));
}

fn is_part(name: &OsStr) -> bool {
    name == "list" || name.to_string_lossy().starts_with("kernel")
}

fn new_folder(path: &Path, text: &str) -> NewFolder {
    let new = NewFolder::create(path, is_part).unwrap();
    for name in ["kernel-1", "list"] {
        fs::write(new.path().join(name), text).unwrap();
    }
    new
}

#[test]
fn files_appear_together() {
    let folder = Folder::new();
    let deep = folder.path("a/b/c");
    drop(new_folder(&deep, "given up"));
    assert_eq!(folder.all(), [], "no empty folder is left");
    new_folder(&deep, "first").finish("list").unwrap();
    let c = Folder(deep.clone());
    assert_eq!(c.all(), pairs(&[("kernel-1", "first"), ("list", "first")]));

    c.with("kernel-2", "of the old output");
    c.with("notes", "mine");
    let second = new_folder(&deep, "second");
    assert_eq!(c.all().len(), 4, "beside, not in it");
    drop(second);
    assert_eq!(c.all().len(), 4);
    new_folder(&deep, "third").finish("list").unwrap();
    assert_eq!(c.all(), pairs(&[("kernel-1", "third"), ("list", "third"), ("notes", "mine")]));
    assert_eq!(fs::read_dir(deep.parent().unwrap()).unwrap().count(), 1, "nothing is left beside");

    fs::create_dir(deep.join("results")).unwrap();
    let refused = NewFolder::create(&deep, is_part).unwrap_err().to_string();
    assert!(refused.contains("`results`"), "{refused}");
    assert_eq!(c.all().len(), 4);
}

#[test]
fn folders_are_exchanged_by_steps_too() {
    let folder = Folder::new();
    for name in ["old", "new"] {
        fs::create_dir(folder.path(name)).unwrap();
        fs::write(folder.path(name).join("file"), name).unwrap();
    }
    folder::exchange_by_steps(&folder.path("new"), &folder.path("old")).unwrap();
    assert_eq!(fs::read_to_string(folder.path("old/file")).unwrap(), "new");
    assert_eq!(fs::read_to_string(folder.path("new/file")).unwrap(), "old");
    assert!(folder::exchange_by_steps(&folder.path("absent"), &folder.path("old")).is_err());
    assert_eq!(fs::read_to_string(folder.path("old/file")).unwrap(), "new", "as it was");
    assert_eq!(folder.all().len(), 2);
}

#[cfg(target_os = "linux")]
#[test]
fn one_process_has_a_lock() {
    let folder = Folder::new();
    let path = folder.path("a");
    let lock = Lock::take(&path).unwrap().expect("nobody has it");
    assert!(Lock::take(&path).unwrap().is_none());
    assert!(Lock::take(&folder.path("b")).unwrap().is_some(), "another file");
    std::os::unix::fs::symlink("a", folder.path("link")).unwrap();
    assert!(Lock::take(&folder.path("link")).unwrap().is_none(), "a link to the file");
    fs::remove_file(folder.path("link")).unwrap();
    drop(lock);
    // A file that a killed process has left is not locked.
    folder.with(".a.lock", "");
    drop(Lock::take(&path).unwrap().expect("it is free again"));
    assert_eq!(folder.all(), []);
    assert!(Lock::take(&folder.path("absent/a")).is_err());
    // Threads that take it and release it at once never have it together.
    let holders = AtomicU32::new(0);
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for _ in 0..200 {
                    let Some(lock) = Lock::take(&path).unwrap() else { continue };
                    assert_eq!(holders.fetch_add(1, Ordering::SeqCst), 0);
                    holders.fetch_sub(1, Ordering::SeqCst);
                    drop(lock);
                }
            });
        }
    });
}

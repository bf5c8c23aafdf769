use super::*;
use crate::libraries::packed::Packed;
use std::os::unix::fs::chown;
use tempfile::TempDir;

const FILES: &[(&str, &[u8])] = &[("libcuda.so.1", b"driver"), ("12/libcudart.so", b"runtime")];

/// A cache, and beside it files that must stay as they are.
struct Place(TempDir);

impl Place {
    fn new() -> Self {
        let place = Self(tempfile::tempdir().unwrap());
        fs::create_dir(place.path("victim")).unwrap();
        fs::write(place.path("victim/file"), "precious").unwrap();
        fs::set_permissions(place.path("victim/file"), Permissions::from_mode(0o640)).unwrap();
        place
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// The folder in the cache `cache/warpwright/libraries`, or a path in it.
    fn inner(&self, name: &str) -> PathBuf {
        self.path("cache/warpwright/libraries").join(name)
    }

    fn fill(&self) -> Result<PathBuf, String> {
        let packed = Packed::of(FILES);
        let entry =
            |&(name, _): &(&'static str, _)| Entry { name, content: Content::File(packed.library(name).unwrap()) };
        let entries: Vec<Entry<'_>> = FILES.iter().map(entry).collect();
        fill_private(&self.path("cache/warpwright"), "libraries", &entries)
    }

    /// The folder is as it must be, and what is outside of the cache as it was.
    fn check(&self, state: &str) {
        for folder in ["cache/warpwright", "cache/warpwright/libraries", "cache/warpwright/libraries/12"] {
            let meta = self.path(folder).symlink_metadata().unwrap();
            assert!(meta.is_dir() && meta.mode() & 0o7777 == 0o700, "{state}: {folder}: {:o}", meta.mode());
        }
        for (name, content) in [("libcuda.so.1", "driver"), ("12/libcudart.so", "runtime")] {
            let meta = self.inner(name).symlink_metadata().unwrap();
            assert!(meta.is_file() && meta.mode() & 0o777 == 0o600, "{state}: {name}: {:o}", meta.mode());
            assert_eq!(fs::read_to_string(self.inner(name)).unwrap(), content, "{state}: {name}");
        }
        let count = |folder: &Path| fs::read_dir(folder).unwrap().count();
        assert_eq!((count(&self.inner("")), count(&self.inner("12"))), (2, 1), "{state}: nothing else");
        self.check_victim(state);
    }

    fn check_victim(&self, state: &str) {
        assert_eq!(fs::read_dir(self.path("victim")).unwrap().count(), 1, "{state}");
        assert_eq!(fs::read_to_string(self.path("victim/file")).unwrap(), "precious", "{state}");
        assert_eq!(fs::metadata(self.path("victim/file")).unwrap().mode() & 0o777, 0o640, "{state}");
    }
}

type Damage = fn(&Place);

fn mode(path: &Path, mode: u32) {
    fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
}

/// States of the folder in the cache that are put right.
const HEALED: &[(&str, Damage)] = &[
    ("as it was", |_| {}),
    ("no cache", |p| fs::remove_dir_all(p.path("cache")).unwrap()),
    ("no folder", |p| fs::remove_dir_all(p.inner("")).unwrap()),
    ("a file is missing", |p| fs::remove_file(p.inner("libcuda.so.1")).unwrap()),
    ("cut short", |p| fs::write(p.inner("libcuda.so.1"), "driv").unwrap()),
    ("too long", |p| fs::write(p.inner("libcuda.so.1"), "driver and more").unwrap()),
    ("other bytes of the same length", |p| fs::write(p.inner("12/libcudart.so"), "ruNtime").unwrap()),
    ("others can write to a file", |p| mode(&p.inner("libcuda.so.1"), 0o666)),
    ("others can write to the folder", |p| mode(&p.inner(""), 0o777)),
    ("others can write to a subfolder", |p| mode(&p.inner("12"), 0o777)),
    ("others can write to the cache's folder", |p| mode(&p.path("cache/warpwright"), 0o777)),
    ("nobody can write to the folder", |p| mode(&p.inner(""), 0o500)),
    ("nobody can enter the folder", |p| mode(&p.inner(""), 0)),
    ("a library that nobody expects", |p| fs::write(p.inner("libc.so.6"), "evil").unwrap()),
    ("a folder that nobody expects", |p| fs::create_dir_all(p.inner("glibc-hwcaps/x86-64-v3")).unwrap()),
    ("a link that nobody expects", |p| symlink(p.path("victim"), p.inner("13")).unwrap()),
    ("a link to a file in place of a file", |p| {
        fs::remove_file(p.inner("libcuda.so.1")).unwrap();
        symlink(p.path("victim/file"), p.inner("libcuda.so.1")).unwrap();
    }),
    ("a link to the right bytes in place of a file", |p| {
        fs::rename(p.inner("libcuda.so.1"), p.path("elsewhere")).unwrap();
        symlink(p.path("elsewhere"), p.inner("libcuda.so.1")).unwrap();
    }),
    ("a link that leads nowhere in place of a file", |p| {
        fs::remove_file(p.inner("libcuda.so.1")).unwrap();
        symlink(p.path("victim/new"), p.inner("libcuda.so.1")).unwrap();
    }),
    ("a hard link in place of a file", |p| {
        fs::remove_file(p.inner("libcuda.so.1")).unwrap();
        fs::hard_link(p.path("victim/file"), p.inner("libcuda.so.1")).unwrap();
    }),
    ("a folder in place of a file", |p| {
        fs::remove_file(p.inner("libcuda.so.1")).unwrap();
        fs::create_dir_all(p.inner("libcuda.so.1/deep")).unwrap();
    }),
    ("a file in place of the folder", |p| {
        fs::remove_dir_all(p.inner("")).unwrap();
        fs::write(p.path("cache/warpwright/libraries"), "").unwrap();
    }),
    ("a link to a folder in place of the folder", |p| {
        fs::remove_dir_all(p.inner("")).unwrap();
        symlink(p.path("victim"), p.path("cache/warpwright/libraries")).unwrap();
    }),
    ("a link to a folder in place of a subfolder", |p| {
        fs::remove_dir_all(p.inner("12")).unwrap();
        symlink(p.path("victim"), p.inner("12")).unwrap();
    }),
    ("a file in place of a subfolder", |p| {
        fs::remove_dir_all(p.inner("12")).unwrap();
        fs::write(p.inner("12"), "").unwrap();
    }),
    ("a file that a killed process has left", |p| {
        let left = fs::File::create(p.inner(".libcuda.so.1.1-0.partial")).unwrap();
        left.set_modified(SystemTime::now() - 2 * LEFT_BEHIND).unwrap();
    }),
];

#[test]
fn every_state_of_the_folder_is_put_right() {
    for (state, damage) in HEALED {
        let place = Place::new();
        place.fill().unwrap();
        damage(&place);
        assert_eq!(place.fill().unwrap(), place.inner("").canonicalize().unwrap(), "{state}");
        place.check(state);
    }
}

/// States of the cache in which nothing is written.
const REFUSED: &[(&str, Damage)] = &[
    ("is not a folder", |p| fs::write(p.path("cache/warpwright"), "").unwrap()),
    ("is not a folder", |p| symlink(p.path("victim"), p.path("cache/warpwright")).unwrap()),
    ("can write to", |p| mode(&p.path("cache"), 0o777)),
    ("can write to", |p| mode(&p.path("cache"), 0o775)),
    ("cannot be used", |p| {
        fs::remove_dir(p.path("cache")).unwrap();
        fs::write(p.path("cache"), "").unwrap();
    }),
    ("cannot be used", |p| {
        fs::remove_dir(p.path("cache")).unwrap();
        symlink(p.path("nowhere/cache"), p.path("cache")).unwrap();
    }),
];

#[test]
fn a_cache_that_is_not_the_user_s_is_not_used() {
    for (why, damage) in REFUSED {
        let place = Place::new();
        DirBuilder::new().mode(0o700).create(place.path("cache")).unwrap();
        damage(&place);
        let refused = place.fill().unwrap_err();
        assert!(refused.contains(why), "{why}: {refused}");
        place.check_victim(why);
    }
    // Others can write to a sticky folder, but not exchange what is the user's in it.
    let place = Place::new();
    fs::create_dir(place.path("cache")).unwrap();
    mode(&place.path("cache"), 0o1777);
    place.fill().unwrap();
    place.check("sticky");
}

/// Needs the rights of root to play two users.
#[test]
fn another_user_s_folder_is_not_used() {
    const OTHER: Option<u32> = Some(1);
    if geteuid().as_raw() != 0 {
        eprintln!("skipped: only root can give files away");
        return;
    }
    let states: &[(&str, Damage)] = &[
        ("cache", |p| chown(p.path("cache"), OTHER, None).unwrap()),
        ("warpwright", |p| chown(p.path("cache/warpwright"), OTHER, None).unwrap()),
        ("libraries", |p| chown(p.inner(""), OTHER, None).unwrap()),
        ("12", |p| chown(p.inner("12"), OTHER, None).unwrap()),
    ];
    for (name, damage) in states {
        let place = Place::new();
        place.fill().unwrap();
        damage(&place);
        let refused = place.fill().unwrap_err();
        assert!(refused.contains(&format!("{name}` belongs to another user (uid 1)")), "{name}: {refused}");
    }
    // A single file is replaced: the folder is the user's.
    let place = Place::new();
    place.fill().unwrap();
    chown(place.inner("libcuda.so.1"), OTHER, None).unwrap();
    place.fill().unwrap();
    place.check("a file of another user");
    assert_eq!(fs::metadata(place.inner("libcuda.so.1")).unwrap().uid(), 0);
}

#[test]
fn processes_may_fill_a_folder_at_the_same_time() {
    let place = Place::new();
    for round in 0..20 {
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| place.fill().unwrap());
            }
        });
        place.check("at the same time");
        fs::write(place.inner("libcuda.so.1"), format!("wrong {round}")).unwrap();
    }
}

#[test]
fn beside_a_command_its_owner_is_trusted_too() {
    let place = Place::new();
    let command = place.path("command");
    fs::write(&command, "").unwrap();
    let trust = Trust::of(&command).unwrap();
    let library = place.path("library");
    fs::write(&library, "").unwrap();
    for (mode_of_file, is_trusted) in [(0o644, true), (0o664, true), (0o666, false)] {
        mode(&library, mode_of_file);
        assert_eq!(trust.file(&library).is_ok(), is_trusted, "{mode_of_file:o}");
    }
    mode(&library, 0o644);
    for (mode_of_folder, is_trusted) in [(0o755, true), (0o775, true), (0o777, false), (0o1777, true)] {
        mode(place.0.path(), mode_of_folder);
        assert_eq!(trust.file(&library).is_ok(), is_trusted, "{mode_of_folder:o}");
        let is_empty = mode_of_folder == 0o1777;
        assert_eq!(trust.folder(place.0.path()).is_ok(), is_trusted && !is_empty, "{mode_of_folder:o}");
    }
    if geteuid().as_raw() == 0 {
        chown(&library, Some(1), None).unwrap();
        assert!(trust.file(&library).unwrap_err().contains("another user"));
        chown(&command, Some(1), None).unwrap();
        assert!(Trust::of(&command).unwrap().file(&library).is_ok(), "who owns the command is trusted");
    }
}

//! Messages for wrong launch files.

use crate::fake::*;
use insta::assert_snapshot;
use launchfile::{LaunchFile, LaunchFileRunError, Overrides};
use std::path::Path;

#[test]
fn mistakes_in_textures_and_surfaces() {
    for (image, says) in [
        ("{ texture = \"y\" }", "there is no buffer `y`"),
        ("{ texture = \"x\", heigth = 2 }", "a texture has no key `heigth`; did you mean `height`?"),
        ("{ surface = \"x\", filter = \"point\" }", "a surface has no key `filter`"),
        ("{ texture = \"x\", filter = \"cubic\" }", "`cubic` is none of point, linear"),
        ("{ texture = \"x\", address = [] }", "this must be a word in quotes, not an array"),
        ("{ texture = \"x\", normalised = 1 }", "this must be true or false"),
        ("{ texture = \"x\", height = 2 }", "`width` is missing"),
        ("{ texture = \"x\", width = 25 }", "the image takes 25 elements, the buffer has 24"),
        ("{ texture = \"x\", width = 5, height = 5 }", "the image takes 25 elements, the buffer has 24"),
        ("{ texture = \"x\", width = 1, height = 4294967295, depth = 4294967295 }", "the buffer has 24"),
        ("{ texture = \"x\", width = 0 }", "width"),
        ("{ texture = \"x\", depth = 1, layers = 1 }", "an image has either depth or layers"),
        ("{ texture = \"d\" }", "texels cannot be made of f64"),
    ] {
        let found = mistakes(&launch_of(&format!("{image}, \"x\"")));
        assert!(found.contains(says) || says == "width" && found.contains("1 to"), "{image}: {found}");
        assert!(found.contains("test.toml:12:"), "{image}: {found}");
    }
}

#[test]
fn wrong_keys_names_and_types_come_all_at_once() {
    assert_snapshot!(mistakes(
        "
modul = 'k.ptx'
seed = -1

[values]
n = 'm + 1'
i = 3

[buffers.x]
type = 'floot'
lenght = 'n'
random = { low = 0, hi = 1 }

[buffers.y]
type = 'f32'

[buffers.n]
type = 'f32'
length = 2
zero = true
fill = 3

[[launch]]
kernel = 7
grid = [1, 2, 3, 4]
args = ['xx', { buffer = 'z' }, { foo = 1 }, '2 *']

[[output]]
buffer = 'y'
compare = { formla = '1' }
"
    ));
}

#[test]
fn syntax_errors_have_a_place() {
    assert_snapshot!(mistakes("module = 'k.ptx'\n[buffers.x\ntype = = 'f32'\n"));
    assert_snapshot!(mistakes(""));
}

#[test]
fn launches_are_checked_against_their_kernels() {
    assert_snapshot!(mistakes(
        "
module = 'k.ptx'
buffers.x = { type = 'f32', length = 8, fill = 1 }
[[launch]]
kernel = 'saxpi'
grid = 1
block = 1
[[launch]]
kernel = 'saxpy'
grid = 1
block = 1
args = ['x', 'x']
[[launch]]
kernel = 'saxpy'
grid = 1
block = 1
args = [1, 2.5, { f32 = 1 }, { bytes = [1] }]
[[launch]]
kernel = 'record'
grid = 0
block = 'len(x) * 1000'
args = ['x', 1, 5]
"
    ));
    assert_snapshot!(mistakes(
        "
module = 'k.ptx'
buffers.x = { type = 'f32', length = 8, fill = 1 }
[[launch]]
kernel = 'saxpy'
grid = '1 / (len(x) - 8)'
block = 1
args = [1, 'x', 'x', 8]
"
    ));
}

#[test]
fn contents_that_do_not_fit() {
    assert_snapshot!(mistakes(
        "
module = 'nowhere.ptx'
buffers.a = { type = 'u8', length = 4, fill = 256 }
buffers.b = { type = 'i32', length = 2, values = [1, 2, 3] }
buffers.c = { type = 'i32', length = 0 }
buffers.d = { type = 'i32', length = 4, formula = 'i / 2.0' }
buffers.e = { type = 'i32', file = 'nowhere.bin' }
buffers.f = { type = 'i32', length = 4, random = { low = 5, high = 1 } }
buffers.g = { type = 'f64', length = '1 << 50' }
launch = { kernel = 'record', grid = 1, block = 1 }
"
    ));
}

#[test]
fn numbers_and_roles_that_make_no_sense() {
    let launch = |more: &str| {
        mistakes(&format!(
            "module = 'k.ptx'\nbuffers.x = {{ type = 'f32', length = 8, fill = 1 }}\n[[launch]]\n\
             kernel = 'record'\ngrid = 1\nblock = 1\nargs = ['x', 0, {{ bytes = [1, 2, 3] }}]\n{more}\n"
        ))
    };
    let swapped = launch("swap = ['x', 'x']");
    assert!(swapped.starts_with("test.toml:8:8: a buffer changes roles with another one"), "{swapped}");
    let none = launch("registers = 0");
    assert!(none.starts_with("test.toml:8:13: "), "{none}");
}

#[test]
fn a_missing_module() {
    let text = "launch = { module = 'nowhere.ptx', kernel = 'record', grid = 1, block = 1 }";
    assert!(mistakes(text).starts_with("test.toml:1:21: nowhere.ptx: No such file"), "{}", mistakes(text));
    let symbols = format!("symbols.w = {{ type = 'i32', values = [1, 2] }}\nsymbols.v = {{ type = 'i32' }}\n{text}");
    let symbols = symbols.replace("launch = { module = 'nowhere.ptx',", "module = 'nowhere.ptx'\nlaunch = {");
    let symbols = mistakes(&symbols);
    assert!(symbols.starts_with("test.toml:3:10: nowhere.ptx: No such file"), "{symbols}");
    assert_eq!(symbols.matches("test.toml:").count(), 1, "{symbols}");
    let error = LaunchFile::load(Path::new("nowhere.toml"), &Overrides::default()).unwrap_err();
    assert!(matches!(error, LaunchFileRunError::Io { .. }));
}

#[test]
fn mistakes_in_loops_symbols_and_structures() {
    assert_snapshot!(mistakes(
        "
module = 'k.ptx'
gpu = 3
buffers.x = { type = 'f32', length = 4 }
buffers.p = { type = 'f32', values = [{ addres = 'x' }, { address = 'y' }] }
buffers.s = { struct = [{ f32 = 1 }, 2, { texture = 'x' }], length = 2 }
symbols.weights = { lenght = 4 }
symbols.x = { type = 'f32', offset = 'later[0]' }
[[loop]]
at_most = 5
[[loop.set]]
z = 0
x = { value = 1, cuont = 2 }
weights = { count = 1 }
[[loop]]
while = 'y[0]'
repeat = 2
at_most = 3
counter = 'x'
swap = ['x', 'weights']
[[loop.launch]]
kernel = 'less'
grid = 1
block = 1
args = [{ struct = [] }, { struct = ['nothing'] }, { struct = [{ f32 = 1, at = -1 }], align = 3 }, { f32 = [1, 'q'] }]
"
    ));
    assert_snapshot!(mistakes(
        "
module = 'k.ptx'
[buffers.x]
type = 'f32'
length = 4
[buffers.p]
type = 'f32'
values = [{ address = 'x' }]
[buffers.q]
type = 'pointer'
values = [{ address = 'x', offset = 5 }]
[symbols.wights]
type = 'f32'
values = [1]
[symbols.weights]
type = 'f32'
offset = 6
values = [1, 2, 3]
[[launch]]
kernel = 'less'
grid = 1
block = 1
args = ['x']
"
    ));
    assert_snapshot!(mistakes(&counting(
        "buffers.h = { type = 'f16', length = 4 }
set = { x = { address = 'n' }, h = { buffer = 'n' }, n = 'i / 2.0 + 0.5' }
[[launch]]
kernel = 'less'
grid = 1
block = 1
args = [{ struct = ['n', { i32 = 1 }] }]
"
    )));
    let late = mistakes(&counting(
        "set = { x = { values = [1, 2], at = 3 } }\nlaunch = { kernel = 'less', grid = 1, block = 1, args = ['n'] }",
    ));
    assert!(late.starts_with("test.toml:4:9: 2 values from element 3 on do not fit the 4 of the buffer"), "{late}");
}

/// Requests of outputs are checked before the first launch; an output that fails does not suppress the others.
#[test]
fn outputs_are_checked_first_and_made_all_the_same() {
    let text = |output: &str| {
        format!(
            "module = 'k.ptx'\nbuffers.x = {{ type = 'i32', length = 4 }}\n\
             launch = {{ kernel = 'record', grid = 1, block = 1, args = ['x', 4, {{ bytes = [1, 2, 3] }}] }}\n\
             [[output]]\nbuffer = 'x'\n{output}\n[[output]]\nbuffer = 'x'\nprint = true\n"
        )
    };
    for (output, says) in [
        ("compare = { file = 'nosuch.npy' }", "nosuch.npy: No such file"),
        ("compare = { formula = '1 / (i - 3)' }", "zero"),
        ("compare = { formula = 'i', relative = -1 }", "this tolerance is -1"),
        ("print = -5", "-5"),
        ("print = 2\ncount = 9", "9"),
    ] {
        let said = mistakes(&text(output));
        assert!(said.starts_with("test.toml:") && said.contains(says), "{output}: {said}");
    }
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("k.ptx"), "").unwrap();
    let file = LaunchFile::parse(&folder.path().join("test.toml"), &text("write = '/dev/full'"), &Overrides::default());
    let outcome = file.unwrap().run(&mut Fake::default()).unwrap();
    assert_eq!((outcome.prints.len(), outcome.written.len()), (1, 0));
    let error = outcome.error.expect("the device is full").to_string();
    assert!(error.starts_with("`/dev/full` cannot be written: No space left"), "{error}");
}

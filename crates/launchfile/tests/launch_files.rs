//! Launch files: what they mean, on a device that knows three kernels by heart.

use crate::fake::*;
use insta::assert_snapshot;
use launchfile::{LaunchFile, ModuleOverride, Overrides};
use std::path::Path;

#[test]
fn every_example_parses() {
    for entry in std::fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/launch")).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        if name.ends_with(".toml") && name != "kernels.toml" {
            assert!(!example(&name).description.is_empty(), "{name}");
        }
    }
}

#[test]
fn textures_and_surfaces_are_made_once() {
    let launch = |image: &str| {
        format!(
            "[[launch]]\nkernel = \"record\"\ngrid = 1\nblock = 1\nrepeat = 2\n\
             args = [{image}, {{ u32 = 5 }}, {{ bytes = [1, 2, 3] }}]\n"
        )
    };
    let texture = "{ texture = \"x\", width = 3, height = 2, pitch = 4, channels = 1, filter = \"linear\", \
                   address = [\"wrap\", \"border\"], normalised = true }";
    let text = [IMAGES, &launch(texture), &launch("{ surface = \"x\", channels = 4 }")].concat();
    assert_eq!(
        run(&text).unwrap().1,
        [
            "Image { base: 4294967296, shape: D2, size: [3, 2, 1], pitch: 16, channel: F32, channels: 1, sampler: \
             Some(Sampler { address: [Wrap, Border, Clamp], linear: true, normalised: true, as_float: false, \
             srgb: false, seamless: false, border: [0, 0, 0, 0] }) }",
            "record (1,1,1) (1,1,1) shared 0 stream 0: 0x1 0x5 0x30201",
            "record (1,1,1) (1,1,1) shared 0 stream 0: 0x1 0x5 0x30201",
            "Image { base: 4294967296, shape: D1, size: [6, 1, 1], pitch: 96, channel: F32, channels: 4, sampler: None }",
            "record (1,1,1) (1,1,1) shared 0 stream 0: 0x4 0x5 0x30201",
            "record (1,1,1) (1,1,1) shared 0 stream 0: 0x4 0x5 0x30201",
        ]
    );
}

#[test]
fn references_follow_the_names_of_their_buffers() {
    let text = counting(
        "
buffers.y = { type = 'f32', length = 4 }
textures.pixels = { buffer = 'x', address = 'wrap', filter = 'linear' }
launch = { kernel = 'less', grid = 1, block = 1, args = ['n'], repeat = 4, swap = ['x', 'y'] }",
    );
    let log = run(&text).unwrap().1;
    assert!(log[0].contains("base: 8589934592, shape: D1, size: [4, 1, 1]") && log[0].contains("Wrap"), "{}", log[0]);
    let binds: Vec<_> = log.iter().filter(|line| line.starts_with("bind")).collect();
    assert_eq!(binds, ["bind pixels 1", "bind pixels 4", "bind pixels 1", "bind pixels 4"], "{log:?}");
    assert_snapshot!(mistakes(&counting(
        "
textures.pixels = { buffer = 'z', wdth = 3 }
surfaces.screen = { filter = 'point' }
heap_bytes = '1 << 40'
launch = { kernel = 'less', grid = 1, block = 1, args = ['n'] }"
    )));
    let wrong = |reference: &str| {
        mistakes(&counting(&format!("{reference}\nlaunch = {{ kernel = 'less', grid = 1, block = 1, args = ['n'] }}")))
    };
    let large = wrong("textures.pixels = { buffer = 'x', width = 5 }");
    assert!(large.starts_with("test.toml:4:10: the image takes 5 elements, the buffer has 4"), "{large}");
    let unknown = wrong("textures.pixel = { buffer = 'x' }");
    assert!(unknown.starts_with("test.toml:4:10: there is no texture or surface reference `pixel`"), "{unknown}");
}

/// The document's example works, and its mistakes are reported as it says.
#[test]
fn the_document_is_right() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/launch-files.md");
    let document = std::fs::read_to_string(path).unwrap();
    let toml = document.split("```toml\n").nth(1).unwrap().split("```").next().unwrap();
    let outcome = run(&toml.replace("saxpy.ptx", "k.ptx")).unwrap().0;
    assert!(outcome.passed() && outcome.checks.len() == 1, "{:?}", outcome.checks);
    let wrong = toml.replacen("length", "lenght", 1).replace("\"x\", ", "\"z\", ");
    let error = LaunchFile::parse(Path::new("saxpy.toml"), &wrong, &Overrides::default()).unwrap_err().to_string();
    assert!(document.contains(&error), "{error}");
}

#[test]
fn saxpy_runs_and_compares() {
    let mut device = Fake::default();
    let outcome = example("saxpy.toml").run(&mut device).unwrap();
    assert!(outcome.passed(), "{:?}", outcome.checks);
    assert_eq!((outcome.launches, outcome.checks.len(), outcome.prints.len()), (2, 2, 2));
    assert!(outcome.prints[1].starts_with("total: 1 x f32 = ["));
    assert_eq!(device.log[0], "saxpy (40,1,1) (256,1,1) shared 0 stream 0: 0x40200000 0x100000000 0x200000000 0x2710");
}

#[test]
fn values_can_be_set_from_outside() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/launch/saxpy.toml");
    let set = |sets: &[(&str, &str)]| {
        let sets: Vec<_> = sets.iter().map(|(n, v)| (n.to_string(), v.to_string())).collect();
        LaunchFile::load(&path, &Overrides::of_values(&sets)).map(|file| {
            let mut device = Fake::default();
            file.run(&mut device).unwrap();
            device.log[0].clone()
        })
    };
    let launched = set(&[("n", "100"), ("block", "n / 2")]).unwrap();
    assert!(launched.starts_with("saxpy (2,1,1) (50,1,1)"), "{launched}");
    let error = set(&[("m", "100"), ("n", "1 +")]).unwrap_err().to_string();
    assert!(error.contains("[values] has no `m` to set; did you mean `n`?"), "{error}");
    assert!(error.contains("setting n=1 +: the expression ends too early"), "{error}");
}

#[test]
fn the_same_seed_gives_the_same_contents() {
    let contents = |seed: u64, length: u64| {
        let text = format!(
            "module = 'k.ptx'\nseed = {seed}\n\
             buffers.x = {{ type = 'f32', length = {length}, random = true }}\n\
             buffers.y = {{ type = 'i32', length = 4, random = {{ low = -9, high = 9 }} }}\n\
             buffers.z = {{ type = 'f16', length = 4, random = {{ mean = 5, deviation = 2 }} }}\n\
             launch = [{{ kernel = 'record', grid = 1, block = 1, args = ['x', 0, {{ bytes = [1, 2, 3] }}] }}]\n\
             output = [{{ buffer = 'x', print = 4 }}, {{ buffer = 'y', print = 4 }}, {{ buffer = 'z', print = 4 }}]"
        );
        run(&text).unwrap().0.prints
    };
    assert_eq!(contents(7, 4), contents(7, 4));
    assert_ne!(contents(7, 4), contents(8, 4));
    assert_eq!(contents(7, 4)[1], contents(7, 400)[1], "a buffer's contents do not depend on others' sizes");
    assert_snapshot!(contents(7, 4).join("\n"));
}

#[test]
fn every_kind_of_argument_and_setting() {
    let (_, log) = run("
        module = 'k.ptx'
        values = { n = 10 }
        [buffers.x]
        type = 'u16'
        values = [1, 2, 3]
        [buffers.y]
        type = 'u8'
        length = 16
        [[launch]]
        kernel = 'record'
        grid = ['n', 2, 3]
        block = 64
        shared_bytes = 1024
        registers = 40
        stream = 2
        repeat = 2
        swap = ['x', 'y']
        args = [{ buffer = 'x', offset = 'round' }, 1.5, { bytes = [1, 2, 255] }]
        [[launch]]
        kernel = 'record'
        grid = 1
        block = [8, 4, 2]
        args = [{ f64 = 1 }, { value = 'n - 1', type = 'u32' }, { bytes = [0, 0, 0] }]
    ")
    .unwrap();
    assert_snapshot!(log.join("\n"));
}

#[test]
fn files_are_read_and_written() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, bytes: &[u8]| std::fs::write(folder.path().join(name), bytes).unwrap();
    write("k.ptx", b"");
    write("x.txt", b"1 2 3\n4");
    write("y.bin", &[0; 16]);
    write("expected.txt", b"2 4 6 8");
    let text = "
        module = 'k.ptx'
        buffers.x = { type = 'f32', file = 'x.txt' }
        buffers.y = { type = 'f32', file = 'y.bin', length = 4 }
        launch = { kernel = 'saxpy', grid = 1, block = 4, args = [2, 'x', 'y', 'len(x)'] }
        [[output]]
        buffer = 'y'
        write = 'y.npy'
        [[output]]
        buffer = 'y'
        write = 'y.txt'
        compare = { file = 'expected.txt' }
        [[output]]
        buffer = 'y'
        count = 3
        compare = { formula = '2 * x[i] + 1', absolute = 0.5 }
    ";
    let path = folder.path().join("test.toml");
    let outcome = LaunchFile::parse(&path, text, &Overrides::default()).unwrap().run(&mut Fake::default()).unwrap();
    assert_eq!(std::fs::read_to_string(folder.path().join("y.txt")).unwrap(), "2.0\n4.0\n6.0\n8.0\n");
    assert_eq!(outcome.written.len(), 2);
    assert!(outcome.checks[0].passed(), "{}", outcome.checks[0]);
    assert_eq!(outcome.checks[1].to_string(), "y: 3 of 3 values are not within 5e-1; first at 0: expected 3, got 2");
    // The .npy file serves as contents, type and length included; it is not an output then.
    let text = text.replace("buffers.y = { type = 'f32', file = 'y.bin', length = 4 }", "buffers.y.file = 'y.npy'");
    let same = LaunchFile::parse(&path, &text, &Overrides::default()).unwrap().run(&mut Fake::default()).unwrap_err();
    assert!(same.to_string().contains("both an output and an input"), "{same}");
    let text = text.replace("write = 'y.npy'", "write = 'z.npy'");
    let outcome = LaunchFile::parse(&path, &text, &Overrides::default()).unwrap().run(&mut Fake::default()).unwrap();
    assert_eq!(std::fs::read_to_string(folder.path().join("y.txt")).unwrap(), "4.0\n8.0\n12.0\n16.0\n");
    assert_eq!(outcome.launches, 1);
}

#[test]
fn a_loop_reads_present_contents() {
    let (outcome, log) = run(&counting(&format!(
        "loop = {{ while = 'n[0] > 0 && sum(n) != 8', launch = {LESS} }}\noutput = [{{ buffer = 'n', print = true }}]"
    )))
    .unwrap();
    assert_eq!((outcome.launches, log.len()), (2, 2), "3 + 7, then 2 + 7, then 1 + 7");
    assert_eq!(outcome.prints, ["n: 2 x i32 = [1, 7]"]);
    // With `repeat` the bound is an end like any other; without it the run fails.
    let bounded = run(&counting(&format!("loop = {{ while = 'n[0] > 0', repeat = 2, launch = {LESS} }}"))).unwrap();
    assert_eq!(bounded.0.launches, 2);
    let never = mistakes(&counting(&format!("loop = {{ while = 'n[0] != 9', at_most = 2, launch = {LESS} }}")));
    assert!(never.starts_with("test.toml:4:18: this still holds after 2 rounds, `at_most` of the loop"), "{never}");
    let outside = mistakes(&counting(&format!("loop = {{ while = 'n[2]', launch = {LESS} }}")));
    assert!(outside.starts_with("test.toml:4:18: index 2 of a buffer of 2 elements"), "{outside}");
}

#[test]
fn steps_come_in_the_order_of_the_file() {
    let record =
        |args: &str| format!("kernel = 'record'\ngrid = 1\nblock = 1\nargs = [{args}, {{ bytes = [0, 0, 0] }}]");
    let (_, log) = run(&counting(&format!(
        "[[loop]]\nrepeat = 2\ncounter = 'outer'\nswap = ['x', 'y']\n\
         [[loop.launch]]\n{}\n\
         [[loop.loop]]\nrepeat = 'outer + 1'\n[[loop.loop.launch]]\n{}\n\
         [[launch]]\n{}\n\
         [[loop]]\nrepeat = 1\n[[loop.launch]]\nrepeat = 2\n{}\n\
         [buffers.y]\ntype = 'f32'\nlength = 4\n",
        record("'x', 'round'"),
        record("'x', '10 * outer + round'"),
        record("'x', 100"),
        record("'x', '200 + round'"),
    )))
    .unwrap();
    let words: Vec<_> =
        log.iter().map(|line| line.rsplit(": ").next().unwrap().strip_suffix(" 0x0").unwrap()).collect();
    let (x, y) = ("0x200000000", "0x300000000");
    let expected = [(x, 0), (x, 0), (y, 1), (y, 10), (y, 11), (x, 100), (x, 200), (x, 201)];
    assert_eq!(words, expected.map(|(buffer, word)| format!("{buffer} {word:#x}")));
}

#[test]
fn buffers_and_variables_are_set_between_launches() {
    let text = counting(
        "
symbols.weights = { type = 'i32' }
symbols.middle = { name = 'weights', type = 'i32', offset = 2, values = [20, 'weights[3] * 10'] }
symbols.pointer = { name = 'weights', offset = 3, address = 'x' }
launch = { kernel = 'less', grid = 1, block = 1, args = ['weights'], repeat = 2,
           set = { n = { values = ['round + 1'], at = 1 }, x = 'i + round' } }
set = { n = { value = 'i', count = 1 }, weights = { buffer = 'n', at = 1 }, x = { buffer = 'x', offset = 2 } }
[[output]]
symbol = 'weights'
print = true
[[output]]
buffer = 'n'
print = true
compare = '2 * i'
[[output]]
buffer = 'x'
print = true
",
    );
    let prints = run(&text).unwrap().0.prints;
    // 1 to 8 at first; two launches; `n` on 1 and 2; `middle` on 2 and 3; the address of `x` on 6 and 7.
    assert_eq!(prints[0], "weights: 8 x i32 = [-1, 0, 2, 40, 5, 6, 0, 2]");
    assert_eq!(prints[1..], ["n: 2 x i32 = [0, 2]", "x: 4 x f32 = [3.0, 4.0, 3.0, 4.0]"]);
}

#[test]
fn structures_are_laid_out_as_in_c() {
    let (_, log) = run("
module = 'k.ptx'
[buffers.nodes]
struct = [{ u8 = 'i + 1' }, { address = 'nodes', offset = '16 * (i + 1)', when = 'i == 0' }]
length = 2
[buffers.heads]
type = 'pointer'
values = [{ address = 'nodes', offset = 16 }, 0]
[[loop]]
repeat = 2
[[loop.launch]]
kernel = 'record'
grid = 1
block = 1
args = [
    { struct = [{ u8 = [1, 'round'] }, { i32 = 0x55 }] },
    { struct = [{ i16 = 2, at = 2 }] },
    { struct = [{ struct = [{ u8 = 7 }] }, { bytes = [8] }, { u8 = 9 }], align = 1 },
]
[[output]]
buffer = 'heads'
print = true
[[output]]
buffer = 'nodes'
print = 32
")
    .map(|(outcome, log)| {
        assert_eq!(outcome.prints[0], format!("heads: 2 x u64 = [{}, 0]", (1u64 << 32) + 16));
        assert!(
            outcome.prints[1].contains("[ 0]  1  0  0  0  0  0  0  0\n  [ 8] 16  0  0  0  1"),
            "{}",
            outcome.prints[1]
        );
        assert!(outcome.prints[1].ends_with("[16]  2  0  0  0  0  0  0  0\n  [24]  0  0  0  0  0  0  0  0"));
        (outcome, log)
    })
    .unwrap();
    let args: Vec<_> = log.iter().map(|line| line.rsplit(": ").next().unwrap()).collect();
    assert_eq!(args, ["0x5500000001 0x20000 0x90807", "0x5500000101 0x20000 0x90807"]);
}

#[test]
fn loops_end_somewhere() {
    let deep = format!(
        "{}[[{}launch]]",
        (1..10).map(|n| format!("[[{}]]\nrepeat = 1\n", "loop.".repeat(n).trim_end_matches('.'))).collect::<String>(),
        "loop.".repeat(9)
    );
    assert!(mistakes(&counting(&deep)).contains("loops are nested at most 8 deep"), "{}", mistakes(&counting(&deep)));
    let idle = LESS.replace(" }", ", repeat = 0 }");
    let many =
        mistakes(&counting(&format!("loop = {{ repeat = 1048576, loop = {{ repeat = 1048576, launch = {idle} }} }}")));
    assert!(many.contains("the loops have made 1048576 rounds, the maximum of a run"), "{many}");
}

#[test]
fn modules_are_replaced_from_outside() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("test.toml");
    let text = "[[launch]]\nkernel = 'less'\ngrid = 1\nblock = 1\n[[launch]]\nkernel = 'less'\ngrid = 1\nblock = 1\nmodule = 'b.ptx'";
    let with = |text: &str, modules: &[(Option<&str>, &str)]| {
        let one =
            |&(name, path): &(Option<&str>, &str)| ModuleOverride { name: name.map(Into::into), path: path.into() };
        let overrides = Overrides { values: Vec::new(), modules: modules.iter().map(one).collect() };
        let file = LaunchFile::parse(&path, text, &overrides);
        let shown = |p: &std::path::PathBuf| p.strip_prefix(folder.path()).unwrap_or(p).display().to_string();
        file.map(|f| f.inputs()[1..].iter().map(shown).collect::<Vec<_>>()).map_err(|e| e.to_string())
    };
    let default = format!("module = 'a.ptx'\n{text}");
    assert_eq!(with(&default, &[]).unwrap(), ["a.ptx", "b.ptx"]);
    assert_eq!(with(&default, &[(None, "c.cubin")]).unwrap(), ["c.cubin", "b.ptx"]);
    assert_eq!(with(&default, &[(Some("b.ptx"), "c"), (Some("a.ptx"), "d")]).unwrap(), ["d", "c"]);
    assert_eq!(with(text, &[(None, "c.cubin")]).unwrap(), ["c.cubin", "b.ptx"], "where there is none");
    let error = with(&default, &[(Some("c.ptx"), "d")]).unwrap_err();
    assert!(error.contains("there is no module `c.ptx` to replace; did you mean"), "{error}");
    let own = text.split("[[launch]]").nth(2).unwrap();
    let error = with(&format!("[[launch]]{own}"), &[(None, "d")]).unwrap_err();
    assert!(error.contains("each launch names its module; say which, as in b.ptx=FILE"), "{error}");
}

proptest::proptest! {
    /// Neither reading nor running panics, whatever the text.
    #[test]
    fn no_text_panics(lines in proptest::collection::vec(0usize..PIECES.len(), 0..16), cut in 0usize..400) {
        let text: String = lines.iter().map(|&i| format!("{}\n", PIECES[i])).collect();
        let end = (0..=cut.min(text.len())).rev().find(|&i| text.is_char_boundary(i)).unwrap_or(0);
        _ = run(&text);
        _ = run(&text[..end]);
    }
}

proptest::proptest! {
    /// A damaged file is read or refused, and what is said of it has its place in the text.
    #[test]
    fn damaged_files_do_no_harm(
        at in 0usize..2000, cut in 0usize..40, insert in "[\\[\\]{}='\"#,.a-z0-9\n é-]{0,6}",
        which in 0usize..7,
    ) {
        let name = ["saxpy", "jacobi", "bitonic", "streams", "bfs", "convolution", "lists"][which].to_owned() + ".toml";
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/launch").join(name);
        let text = std::fs::read_to_string(&path).unwrap();
        let at = at % text.len();
        let damaged = [&text.as_bytes()[..at], insert.as_bytes(), &text.as_bytes()[(at + cut).min(text.len())..]].concat();
        let damaged = String::from_utf8_lossy(&damaged);
        if let Err(error) = LaunchFile::parse(&path, &damaged, &Overrides::default()) {
            proptest::prop_assert!(!error.to_string().is_empty());
            proptest::prop_assert!(error.problems.iter().flat_map(|p| &p.span).all(|s| s.end <= damaged.len()));
        }
    }
}

const PIECES: &[&str] = &[
    "module = 'k.ptx'",
    "[values]",
    "n = 4",
    "n = 'n'",
    "[buffers.x]",
    "type = 'f32'",
    "length = 'n'",
    "length = -1",
    "fill = 'i'",
    "iota = true",
    "random = true",
    "values = [1, 'é', 2]",
    "[[launch]]",
    "kernel = 'saxpy'",
    "grid = [1, '2']",
    "block = 'len(x)'",
    "args = [1, 'x', 'x', 4]",
    "repeat = 'x'",
    "swap = ['x', 'x']",
    "[[output]]",
    "buffer = 'x'",
    "compare = '2 * x[i]'",
    "print = true",
    "[[set]]",
    "x = { value = 'i', at = 'n - 1' }",
    "x = { buffer = 'x', offset = 1 }",
    "[symbols.weights]",
    "address = 'x'",
    "struct = [{ f32 = 'i' }, { address = 'x', offset = 'i' }]",
    "[[loop]]",
    "repeat = 2",
    "while = 'x[0] < 3'",
    "at_most = 3",
    "counter = 'k'",
    "[[loop.launch]]",
    "[[loop.set]]",
    "x = 0",
    "kernel = 'less'",
    "args = [{ struct = ['x'] }]",
    "grid = 1",
    "block = 1",
    "= [",
];

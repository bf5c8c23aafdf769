//! Output of `inspect` for kernels.

use crate::common::{json, run, strings, succeed};
use serde_json::Value;

#[test]
fn inspect_shows_bundled_kernels() {
    let text = succeed(&["inspect", "matmul"]);
    assert!(text.contains("1 kernel, 1 executable"), "{text}");
    let facts = json(&succeed(&["inspect", "backprop", "--json"]));
    let kernels = facts["kernels"].as_array().unwrap();
    assert!(kernels.len() > 1);
    for kernel in kernels {
        assert!(kernel["executable"]["registers_per_thread"].as_u64().unwrap() > 0);
        let opcodes: u64 = kernel["opcodes"].as_object().unwrap().values().map(|n| n.as_u64().unwrap()).sum();
        assert_eq!(opcodes, kernel["instructions"].as_u64().unwrap());
    }
    let name = kernels[0]["name"].as_str().unwrap();
    let one = json(&succeed(&["inspect", "backprop", "--json", "--kernel", name]));
    assert_eq!(one["kernels"].as_array().unwrap().len(), 1);
}

#[test]
fn inspect_shows_kernels_on_a_fabric_and_draws_them() {
    let folder = tempfile::tempdir().unwrap();
    let drawings = folder.path().join("new").join("drawings");
    let facts = json(&succeed(&["inspect", "bfs", "--svg", drawings.to_str().unwrap(), "--json"]));
    let kernels = facts["kernels"].as_array().unwrap();
    assert!(kernels.len() > 1);
    for kernel in kernels {
        let drawing = std::fs::read_to_string(drawings.join(format!("{}.svg", kernel["name"].as_str().unwrap())));
        let (drawing, parts) = (drawing.unwrap(), kernel["mapped"]["parts"].as_array().unwrap());
        let nodes: u64 = parts.iter().map(|part| part["nodes"].as_u64().unwrap()).sum();
        // In the graph and on the fabric.
        assert_eq!(drawing.matches("class=\"node ").count() as u64, 2 * nodes);
        for part in parts {
            let units: u64 = part["units"].as_object().unwrap().values().map(|n| n.as_u64().unwrap()).sum();
            assert!((1..=108).contains(&units) && part["configuration_bits"].as_u64().unwrap() > 100, "{part}");
        }
    }
    // A refused kernel has no drawing.
    let file = folder.path().join("reduction.svg");
    let ran = run(&["inspect", "reduction", "--svg", file.to_str().unwrap()]);
    assert_eq!(ran.status, 1, "{}", ran.stderr);
    assert!(
        ran.stdout.contains("reduce_sum  refused\n  line 70: `shfl.sync.down.b32") && !file.exists(),
        "{}",
        ran.stdout
    );
    let smaller = ["inspect", "nn", "--core", "sgmf:columns=8,rows=4,int_dividers=1,fp_dividers=1,roots=1", "--json"];
    assert_eq!(json(&succeed(&smaller))["units"]["load/store"], 17);
}

#[test]
fn inspect_shows_machine_code() {
    let data = |name: &str| format!("{}/../sass/tests/data/{name}", env!("CARGO_MANIFEST_DIR"));
    let facts = json(&succeed(&["inspect", "matmul", "--sm", "75", "--code", "--json"]));
    assert_eq!(facts["architecture"], "sm_75");
    let kernel = &facts["kernels"][0];
    assert_eq!(kernel["code"].as_array().unwrap().len() as u64, kernel["instructions"].as_u64().unwrap());
    assert_eq!(kernel["parameters"][1]["bank_offset"], 0x168);
    let opcodes: u64 = kernel["opcodes"].as_object().unwrap().values().map(|n| n.as_u64().unwrap()).sum();
    assert_eq!(opcodes, kernel["instructions"].as_u64().unwrap());
    // Without --sm the newest cubin, with it the one that runs there, or else the text.
    let shown = |args: &[&str]| {
        let facts = json(&succeed(&[&["inspect", &data("vectoradd.fatbin"), "--json"], args].concat()));
        let entries = facts["entries"].as_array().unwrap().clone();
        assert_eq!(entries.len(), 4);
        entries.into_iter().find(|e| e["shown"] == true).unwrap()
    };
    assert_eq!(shown(&[])["architecture"], "sm_86");
    assert_eq!(shown(&["--sm", "sm_72"])["architecture"], "sm_70");
    assert_eq!(shown(&["--sm", "90"])["kind"], "ptx");
    // A host library of two source files: the kernels of both.
    let host = format!("{}/../lower/tests/data/host.elf", env!("CARGO_MANIFEST_DIR"));
    let facts = json(&succeed(&["inspect", &host, "--sm", "75", "--json"]));
    assert_eq!(strings(&facts["kernels"], "name"), ["first", "second"]);
    let entries = facts["entries"].as_array().unwrap();
    assert_eq!((entries.len(), entries.iter().filter(|e| e["shown"] == true).count()), (5, 2));
    let facts = json(&succeed(&["inspect", &host, "--sm", "80", "--json"]));
    assert_eq!((facts["version"].as_str(), strings(&facts["kernels"], "name")), (Some("7.8"), vec!["first"]));
    let text = succeed(&["inspect", &data("axpy.sm_90.cubin"), "--code"]);
    assert!(text.contains("c[0x0][0x210]") && text.contains("  EXIT\n") && text.contains(":S05"), "{text}");
}

/// A fat binary of one container: cubins (2) and text (1), each with the architecture that it is declared to be for.
fn fat_binary(entries: &[(u16, u8, Vec<u8>)]) -> Vec<u8> {
    let mut body = Vec::new();
    for (kind, sm, contents) in entries {
        let mut entry = [0; 64];
        entry[0..2].copy_from_slice(&kind.to_le_bytes());
        entry[4] = 64;
        entry[8..16].copy_from_slice(&(contents.len() as u64).to_le_bytes());
        entry[28] = *sm;
        body.extend(entry);
        body.extend(contents);
    }
    let mut file = vec![0x50, 0xed, 0x55, 0xba, 1, 0, 16, 0];
    file.extend((body.len() as u64).to_le_bytes());
    file.extend(body);
    file
}

/// Newer code than can be read is named. What can be read is shown, which is the text if there is nothing else.
#[test]
fn inspect_names_code_that_is_too_new() {
    let folder = tempfile::tempdir().unwrap();
    let written = |name: &str, content: &[u8]| {
        let file = folder.path().join(name);
        std::fs::write(&file, content).unwrap();
        file.to_str().unwrap().to_owned()
    };
    let data = |name: &str| std::fs::read(format!("{}/../sass/tests/data/{name}", env!("CARGO_MANIFEST_DIR"))).unwrap();
    let old = data("axpy.sm_75.cubin");
    let text = b".version 7.8\n.target sm_75\n.address_size 64\n.visible .entry only_text() { ret; }\n".to_vec();
    for sm in [100, 120] {
        // Byte 48 of a cubin is its architecture.
        let mut new = old.clone();
        new[48] = sm;
        let refused = |args: &[&str], wanted: &str| {
            let ran = run(&[&["inspect"], args].concat());
            assert!(ran.status == 2 && ran.stderr.contains(wanted), "{args:?}: {}", ran.stderr);
        };
        let unsupported = format!("sm_{sm} is not supported: sm_70 to sm_90 are; compile for one of these, or to PTX");
        refused(&[&written("new.cubin", &new)], &unsupported);

        let both = written("both.fatbin", &fat_binary(&[(2, sm, new.clone()), (2, 75, old.clone())]));
        let shown = succeed(&["inspect", &both]);
        let is_so = |name: &str, how: &str| shown.lines().any(|line| line.contains(name) && line.ends_with(how));
        assert!(is_so(&format!("sm_{sm}"), "cannot be read") && is_so("sm_75", "shown here"), "{shown}");
        refused(&[&both, "--sm", &sm.to_string()], &unsupported);

        // The newest that can be read, wherever it is among newer ones and older ones.
        let mut middle = old.clone();
        middle[48] = 86;
        let mixed = fat_binary(&[(2, 75, old.clone()), (2, sm, new.clone()), (2, 86, middle), (2, 80, old.clone())]);
        let mixed = written("mixed.fatbin", &[mixed, fat_binary(&[(2, sm, new.clone())])].concat());
        let facts = json(&succeed(&["inspect", &mixed, "--json"]));
        let of = |entry: &Value| (entry["architecture"].as_str().unwrap().to_owned(), entry["shown"] == true);
        let entries: Vec<(String, bool)> = facts["entries"].as_array().unwrap().iter().map(of).collect();
        let shown: Vec<&str> = entries.iter().filter(|entry| entry.1).map(|entry| &entry.0[..]).collect();
        assert_eq!((entries.len(), shown), (5, vec!["sm_86"]));
        assert_eq!(facts["architecture"], "sm_86");

        let beside_text = written("text.fatbin", &fat_binary(&[(2, sm, new.clone()), (1, sm, text.clone())]));
        let shown = succeed(&["inspect", &beside_text]);
        assert!(shown.contains("cannot be read") && shown.contains("only_text"), "{shown}");

        // Of several containers each kind and architecture is named once.
        let two = fat_binary(&[(2, sm, new.clone()), (2, 121, new.clone())]);
        let twice = written("twice.fatbin", &[two.clone(), two].concat());
        refused(&[&twice], &format!("it holds cubin for sm_{sm}, cubin for sm_121; of cubins"));

        let alone = written("alone.fatbin", &fat_binary(&[(2, sm, new.clone())]));
        refused(&[&alone], &format!("it holds cubin for sm_{sm}; of cubins those for sm_70 to sm_90 can be read"));
    }
}

/// A launch file may name a host program or library: its kernels are those of all source files.
#[test]
fn a_host_library_is_a_module() {
    let host = format!("{}/../lower/tests/data/host.elf", env!("CARGO_MANIFEST_DIR"));
    let launch = format!(
        r#"module = "{host}"
[buffers.sums]
type = "u32"
length = 32
[buffers.products]
type = "u32"
length = 32
[[launch]]
kernel = "first"
grid = 1
block = 32
args = ["sums"]
[[launch]]
kernel = "second"
grid = 1
block = 32
args = ["products"]
[[output]]
buffer = "sums"
compare = {{ formula = "i + 107" }}
[[output]]
buffer = "products"
compare = {{ formula = "i * (i % 2 == 0 ? 3 : 5) + 2000" }}
"#
    );
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("host.toml");
    std::fs::write(&path, launch).unwrap();
    for gpu in ["rtx2060s", "rtx3070"] {
        succeed(&["run", path.to_str().unwrap(), "--gpu", gpu]);
    }
}

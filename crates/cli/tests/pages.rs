//! Pages of `--html`: each command writes one, and a browser shows something.

use crate::common;

use common::{root, run, succeed};
use std::path::Path;
use std::process::Command;
use tempfile::TempDir;

fn page(folder: &Path, name: &str, args: &[&str]) -> String {
    let path = folder.join(name);
    succeed(&[args, &["-q", "--html", path.to_str().unwrap()]].concat());
    std::fs::read_to_string(path).unwrap()
}

#[test]
fn each_command_writes_its_page() {
    let folder = TempDir::new().unwrap();
    let of_run = page(folder.path(), "run.html", &["run", "matmul", "--power-interval", "500"]);
    for id in ["summary", "stalls", "roofline", "occupancy", "memory", "energy", "tables"] {
        assert!(of_run.contains(&format!("<section id=\"{id}\"")), "{id}");
    }
    assert!(of_run.contains("aria-label=\"Power over time\""));
    let of_profile = page(folder.path(), "profile.html", &["profile", "vectoradd", "--gpu", "v100"]);
    for id in ["instructions", "over-time", "energy"] {
        assert!(of_profile.contains(&format!("<section id=\"{id}\"")), "{id}");
    }
    assert!(of_profile.contains("<code>c[i] = a[i] + b[i];</code>") && of_profile.contains("Power over time"));
    let helped = ["compare", "vectoradd", "--gpu", "v100", "--cores", "inorder,ghost", "--profile"];
    let helped = page(folder.path(), "helped.html", &helped);
    assert!(helped.contains("<section id=\"instructions\"") && helped.contains("<code>c[i] = a[i] + b[i];</code>"));
    let compared = page(folder.path(), "compare.html", &["compare", "matmul", "bfs", "--cores", "inorder,ghost"]);
    assert!(compared.contains("<section id=\"speedup\"") && compared.contains("Geometric mean"), "{compared}");
    let figure = page(folder.path(), "figure.html", &["reproduce", "scalar-table1", "--size", "small"]);
    assert!(figure.contains("<section id=\"part1-designs\"") && figure.contains("$ warpwright compare "));
}

#[test]
fn a_run_that_ends_early_has_a_page() {
    let folder = TempDir::new().unwrap();
    let page = page(folder.path(), "run.html", &["run", "bfs", "--max-cycles", "6000"]);
    assert!(page.contains("Ended early"));
}

#[test]
fn a_page_does_not_replace_an_input() {
    let folder = TempDir::new().unwrap();
    let launch = folder.path().join("launch.toml");
    std::fs::write(&launch, "module = \"none.ptx\"\n[[launch]]\nkernel = \"k\"\ngrid = 1\nblock = 1\n").unwrap();
    let launch = launch.to_str().unwrap();
    let ran = run(&["run", launch, "--html", launch]);
    assert!(ran.status != 0 && std::fs::read_to_string(launch).unwrap().contains("none.ptx"), "{}", ran.stderr);
}

/// A launch file for a kernel of `length` additions.
fn long_kernel(folder: &Path, length: usize) -> String {
    let additions: String =
        (0..length).map(|i| format!("add.f32 %f{}, %f{}, %f{};\n", i % 8, (i + 3) % 8, (i + 5) % 8)).collect();
    let ptx = format!(
        ".version 6.4\n.target sm_70\n.address_size 64\n.visible .entry long(.param .u64 p)\n{{\n.reg .f32 %f<8>; .reg .b64 %d;\n\
         ld.param.u64 %d, [p];\n{additions}st.global.f32 [%d], %f1;\nret;\n}}\n"
    );
    std::fs::write(folder.join("long.ptx"), ptx).unwrap();
    let launch = "module = \"long.ptx\"\n[buffers.out]\ntype = \"f32\"\nlength = 1\nfill = 0\n\
                  [[launch]]\nkernel = \"long\"\ngrid = 1\nblock = 64\nargs = [\"out\"]\n";
    let path = folder.join("long.toml");
    std::fs::write(&path, launch).unwrap();
    path.display().to_string()
}

/// Pages of each command, of ten warps and of ten thousand instructions. Skipped, with a message, where there is no Chromium
/// or no Python.
#[test]
fn a_browser_shows_pages() {
    let folder = TempDir::new().unwrap();
    let long = long_kernel(folder.path(), 10_000);
    let of_command: [(&str, &[&str]); 4] = [
        ("run", &["run", "vectoradd", "--set", "sm_count=1", "--param", "n=320"]),
        ("profile", &["profile", &long, "--gpu", "v100"]),
        ("compare", &["compare", "vectoradd", "nn", "--gpu", "v100", "--cores", "inorder,ghost", "--profile"]),
        ("reproduce", &["reproduce", "scalar-table1", "--size", "small"]),
    ];
    let written = of_command.map(|(name, args)| {
        let text = page(folder.path(), &format!("{name}.html"), args);
        assert!((20_000..2_000_000).contains(&text.len()), "{name}: {} bytes", text.len());
        folder.path().join(format!("{name}.html"))
    });
    let mut tool = Command::new(root().join("tools/look-at-pages"));
    let Ok(looked) = tool.args(&written).arg("--out").arg(folder.path()).output() else {
        eprintln!("skipped: no Python");
        return;
    };
    let said = String::from_utf8_lossy(&looked.stdout).into_owned() + &String::from_utf8_lossy(&looked.stderr);
    match looked.status.code() {
        Some(3) => eprintln!("skipped: {said}"),
        Some(127) => eprintln!("skipped: no Python: {said}"),
        code => assert_eq!(code, Some(0), "{said}"),
    }
}

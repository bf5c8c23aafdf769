//! The PyTorch scripts of `examples/python`, where PyTorch is installed.

use crate::common::{command, from, root};
use std::process::Command;

/// The variable that names a Python with PyTorch; without it `python3` is tried.
const PYTHON: &str = "WARPWRIGHT_TEST_PYTHON";

#[test]
fn models_have_the_losses_of_the_cpu() {
    let python = std::env::var(PYTHON).unwrap_or_else(|_| "python3".into());
    let asked = Command::new(&python).args(["-c", "import torch; assert torch.version.cuda"]).output();
    if !asked.is_ok_and(|output| output.status.success()) {
        eprintln!("skipped: {python} has no PyTorch with CUDA ({PYTHON} names another one)");
        return;
    }
    for name in ["mlp", "transformer", "gpt", "cnn"] {
        let script = root().join(format!("examples/python/pytorch_{name}.py"));
        let script = script.to_str().unwrap();
        // On the processor first: a mistake in the script is found there.
        let alone = from(Command::new(&python).arg(script).env("CUDA_VISIBLE_DEVICES", "").output().unwrap());
        assert!(alone.status == 0 && alone.stdout.contains("losses: PASSED"), "{name}: {}", alone.stderr);
        let ran = from(command(&["exec", "--by", "python", "--time", "none", "--", &python, script]).output().unwrap());
        assert!(ran.status == 0 && ran.stdout.contains("losses: PASSED"), "{name}: {}{}", ran.stdout, ran.stderr);
        assert!(ran.stdout.contains("on cuda"), "{name}: {}", ran.stdout);
        // The backward pass has the line that waits for it.
        let lines: Vec<&str> = ran.stderr.lines().filter(|line| line.contains("(thread pt_autograd_0)")).collect();
        assert!(lines.len() == 1 && lines[0].contains(" train (thread"), "{name}: {lines:?}");
    }
}

//! Kernels from the text of their instructions.

use exec::Kernel;
use lower::LowerOptions;
use std::sync::Arc;

/// The kernel `k` of a module.
pub fn module(text: &str) -> Result<Arc<Kernel>, String> {
    let loaded = lower::load("test.ptx", text, LowerOptions::default()).map_err(|e| e.to_string())?;
    loaded.kernel("k").cloned().map_err(|e| format!("{e:?}"))
}

/// A kernel with the parameters `p` (an address) and `n` (a word), and registers of all kinds.
pub fn kernel(body: &str) -> Arc<Kernel> {
    module(&text(body)).unwrap_or_else(|e| panic!("{e}"))
}

/// The module of such a kernel.
pub fn text(body: &str) -> String {
    let registers = ".reg .b16 %h<20>; .reg .b32 %r<60>; .reg .b64 %rd<60>; .reg .f32 %f<20>; .reg .pred %p<20>;";
    format!(
        ".version 7.8\n.target sm_80\n.address_size 64\n.visible .entry k(.param .u64 p, .param .u32 n)\n{{\n{registers}\n{body}\n}}\n"
    )
}

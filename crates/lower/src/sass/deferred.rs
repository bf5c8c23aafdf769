//! Cubins whose kernels are lowered when they are asked for.

use super::lower_kernel;
use super::module::Layout;
use crate::loaded::{Loaded, LowerOptions};
use sass::elf::Cubin;
use std::collections::BTreeSet;

/// A cubin with kernels that are not lowered yet.
#[derive(Debug)]
pub(crate) struct Deferred {
    name: String,
    file: Vec<u8>,
    layout: Layout,
    options: LowerOptions,
    /// Names of these kernels.
    kernels: BTreeSet<String>,
}

impl Deferred {
    /// All kernels of `cubin`, which is `file` parsed.
    pub(super) fn new((name, file): (&str, &[u8]), cubin: &Cubin<'_>, layout: Layout, options: LowerOptions) -> Self {
        let kernels = cubin.kernels().map(|kernel| kernel.name.to_owned()).collect();
        Self { name: name.to_owned(), file: file.to_vec(), layout, options, kernels }
    }

    /// Lowers the kernel of this name, if it is among them, or all kernels, and adds them to `loaded`.
    pub fn lower(&mut self, name: Option<&str>, loaded: &mut Loaded) {
        if name.is_some_and(|name| !self.kernels.contains(name)) {
            return;
        }
        let Ok(cubin) = Cubin::parse(&self.file) else { return };
        for kernel in cubin.kernels().filter(|kernel| name.is_none_or(|name| name == kernel.name)) {
            if self.kernels.remove(kernel.name) {
                lower_kernel(&self.name, &cubin, &self.layout, kernel, self.options, loaded);
            }
        }
    }

    /// Whether all kernels are lowered.
    pub fn is_done(&self) -> bool {
        self.kernels.is_empty()
    }
}

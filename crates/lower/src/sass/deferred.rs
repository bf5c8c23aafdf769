//! Kernels of cubins: lowered when the cubin is loaded, or when they are asked for.

use super::build;
use super::module::Layout;
use crate::loaded::{Deferred, LoadError, Loaded, LowerOptions, Rejected};
use sass::elf::lines::LineTables;
use sass::elf::{Cubin, ElfFunction};
use std::collections::BTreeSet;
use std::sync::Arc;

/// A cubin with kernels that are not lowered yet.
#[derive(Debug)]
pub(super) struct DeferredCubin {
    name: String,
    file: Vec<u8>,
    layout: Layout,
    options: LowerOptions,
    /// Names of these kernels.
    kernels: BTreeSet<String>,
}

impl DeferredCubin {
    /// All kernels of `cubin`, which is `file` parsed.
    pub(super) fn new((name, file): (&str, &[u8]), cubin: &Cubin<'_>, layout: Layout, options: LowerOptions) -> Self {
        let kernels = cubin.kernels().map(|kernel| kernel.name.to_owned()).collect();
        Self { name: name.to_owned(), file: file.to_vec(), layout, options, kernels }
    }
}

impl Deferred for DeferredCubin {
    fn lower(&mut self, name: Option<&str>, loaded: &mut Loaded) {
        if name.is_some_and(|name| !self.kernels.contains(name)) {
            return;
        }
        let Ok(cubin) = Cubin::parse(&self.file) else { return };
        let lines = cubin.lines();
        for kernel in cubin.kernels().filter(|kernel| name.is_none_or(|name| name == kernel.name)) {
            if self.kernels.remove(kernel.name) {
                lower_kernel(&self.name, (&cubin, &lines), &self.layout, kernel, self.options, loaded);
            }
        }
    }

    fn is_done(&self) -> bool {
        self.kernels.is_empty()
    }
}

/// Adds a kernel of a cubin to those that can run or to those that cannot.
pub(super) fn lower_kernel(
    name: &str,
    (cubin, lines): (&Cubin<'_>, &LineTables),
    layout: &Layout,
    function: &ElfFunction<'_>,
    options: LowerOptions,
    loaded: &mut Loaded,
) {
    match build::lower(cubin, layout, function, options, lines) {
        Ok(mut kernel) => {
            Arc::make_mut(&mut kernel.program).code_file = name.to_owned();
            loaded.module.kernels.push(Arc::new(kernel));
        }
        Err(problems) => {
            let text = format!("{name}: kernel `{}` is not executable:\n{}", function.name, problems.join("\n"));
            let error = Box::new(LoadError::of_binary(text));
            loaded.rejected.push(Rejected { name: function.name.to_owned(), error });
        }
    }
}

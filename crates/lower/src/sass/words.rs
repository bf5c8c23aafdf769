//! Kernels of bare instruction words, for tests.

use super::build;
use super::module::Layout;
use crate::loaded::LowerOptions;
use exec::kernel::Kernel;
use sass::elf::lines::Sections;
use sass::elf::{Cubin, ElfFunction, Parameter};

/// Size of the only parameter of [`load_words`]' kernels.
const WORDS_PARAMETER_BYTES: u16 = 64;

/// A kernel of bare instruction words, for tests: one parameter of 64 bytes, 256 bytes of stack.
///
/// # Errors
/// Everything that is not executable, one line each.
#[doc(hidden)]
pub fn load_words(name: &str, sm: u8, words: &[u128], registers: u32) -> Result<Kernel, Vec<String>> {
    let code: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
    let function = ElfFunction {
        name,
        id: 0,
        is_kernel: true,
        code: &code,
        code_offset: 0,
        registers,
        barriers: 0,
        shared_bytes: 0,
        reserved_shared_bytes: 0,
        frame_bytes: 0,
        min_stack_bytes: 256,
        max_threads: None,
        required_threads: None,
        required_cluster: None,
        needs_cluster: false,
        max_cluster: None,
        parameters: vec![Parameter { ordinal: 0, offset: 0, bytes: WORDS_PARAMETER_BYTES }],
        parameter_base: if sm < 90 { 0x160 } else { 0x210 },
        parameter_bytes: WORDS_PARAMETER_BYTES,
        constants: Vec::new(),
        exits: Vec::new(),
        procedures: Vec::new(),
        relocations: Vec::new(),
    };
    let cubin = Cubin {
        sm,
        functions: Vec::new(),
        constants: Vec::new(),
        variables: Vec::new(),
        global_bytes: 0,
        global_init: &[],
        relocations: Vec::new(),
        line_sections: Sections::default(),
    };
    let layout = Layout::new(&cubin, 0).map_err(|problem| vec![problem])?;
    build::lower(&cubin, &layout, &function, LowerOptions::default(), &cubin.lines())
}

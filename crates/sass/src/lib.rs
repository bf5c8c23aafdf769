//! SASS front end: the machine code of NVIDIA GPUs from Volta (sm_70) to Hopper (sm_90).
//!
//! * [`elf`] reads cubins: kernels, their code, resources, parameters, constant banks, relocations;
//! * [`fatbin`] extracts the cubin for one architecture from a fat binary;
//! * [`meaning`] gives the properties of opcodes that the timing model needs;
//! * [`decode`] turns 128-bit instruction words into typed operands and named modifier fields, and
//!   prints them in the text of NVIDIA's disassembler.
//!
//! One row of [`decode::table`] holds all facts about an instruction form; decoding, printing and the test
//! that no two rows overlap read these rows. Execution is in `exec`. No input causes a panic: bad files are
//! reported as [`elf::ElfError`], unknown words as [`decode::DecodeError`].
//!
//! Sources of the encodings: study of the output of NVIDIA's public compilers, Mesa's NAK compiler
//! (MIT licence), and the dissections of Volta (arXiv 1804.06826) and Turing (arXiv 1903.07486).

pub mod decode;
pub mod elf;
pub mod fatbin;
pub mod meaning;

//! SASS front end: the machine code of NVIDIA GPUs from Volta (sm_70) to Hopper (sm_90).
//!
//! * [`elf`] reads cubins: kernels, their code, resources, parameters, constant banks, relocations;
//! * [`fatbin`] takes the cubin for one architecture out of a fat binary;
//! * [`meaning`] says what opcodes are to the timing model;
//! * [`decode`] turns 128-bit instruction words into typed operands and named modifier fields, and
//!   prints them in the text of NVIDIA's disassembler.
//!
//! Everything that is known of an instruction form stands in one row of [`decode::table`]; decoding,
//! printing and the test that no two rows overlap all read those rows. Execution is elsewhere (`exec`), and no
//! input makes it panic: bad files give a [`elf::ElfError`], unknown words a [`decode::DecodeError`].
//!
//! Sources of the encodings: study of the output of NVIDIA's public compilers, Mesa's NAK compiler
//! (MIT licence), and the dissections of Volta (arXiv 1804.06826) and Turing (arXiv 1903.07486).

pub mod decode;
pub mod elf;
pub mod fatbin;
pub mod meaning;

//! Tests of lowering: the meaning of PTX and of machine code, form by form.
//!
//! One program: linking takes longer than the tests. A file of tests is a line here.

mod checks;
mod classes;
mod common;
mod compiled;
mod control;
mod control_bits;
mod convert;
mod cubes;
mod divergence;
mod float;
mod hopper;
mod host;
mod images;
mod integer;
mod jump_table;
mod kernels;
mod matrix;
mod mbarrier;
mod memory;
mod old_ptx;
mod operands;
mod parameters;
mod ptx_page;
mod references;
mod registers;
mod rejects;
mod runtime;
mod sass_atomics;
mod sass_bits;
mod sass_control;
mod sass_float;
mod sass_forms;
mod sass_integer;
mod sass_memory;
mod sass_moves;
mod sass_mutants;
mod sass_registers;
mod sass_warp;
mod turns;
mod twins;
mod video;
mod warp;
mod windows;
mod words;

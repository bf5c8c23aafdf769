//! Integer instructions of machine code against host arithmetic.

mod words;

use words::{Registers, Setting, run};

#[test]
fn a_kernel_of_bare_words_runs() {
    let registers = Registers { predicates: [1, 2, 3, 4, 5, 6, 7], ..Registers::default() };
    assert_eq!(run(75, &[], &registers, &mut Setting::default()), registers);
}

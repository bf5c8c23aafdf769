//! Line tables are what NVIDIA's disassembler reads of them (`nvdisasm -gi` and `-gp`, which `tools/rebuild-kernels`
//! writes to `NAME.lines`).

use crate::folder;
use sass::elf::Cubin;
use sass::elf::lines::LineTables;
use std::fmt::Write;

/// The chain of lines of CUDA and the line of PTX of each instruction, as `tools/rebuild-kernels` writes them.
fn table(cubin: &Cubin<'_>, lines: &LineTables) -> String {
    let mut text = String::new();
    let mut functions: Vec<_> = cubin.functions.iter().collect();
    functions.sort_by_key(|function| function.name);
    for function in functions {
        writeln!(text, ".function {}", function.name).unwrap();
        let of = lines.function(function.id).expect("each function has lines");
        for offset in (0..function.code.len() as u64).step_by(16) {
            let chain = std::iter::successors(of.source_at(offset), |entry| of.call_of(*entry));
            let chain: Vec<String> = chain.map(|entry| entry.line.to_string()).collect();
            let ptx = of.ptx_at(offset).map_or("-".to_owned(), |line| line.to_string());
            let chain = if chain.is_empty() { "-".to_owned() } else { chain.join("<") };
            writeln!(text, "{offset:04x} {chain} {ptx}").unwrap();
        }
    }
    text
}

#[test]
fn lines_are_those_of_the_disassembler() {
    let mut checked = 0;
    for sm in [70, 75, 80, 86, 90] {
        for name in ["bitonic", "matmul", "saxpy"] {
            let path = folder().join(format!("sm_{sm}/{name}.cubin"));
            let file = std::fs::read(&path).unwrap();
            let cubin = Cubin::parse(&file).unwrap();
            let lines = cubin.lines();
            let expected = std::fs::read_to_string(path.with_extension("lines")).unwrap();
            let found = table(&cubin, &lines);
            // The disassembler of CUDA 11.8 leaves out what it does not know (VIMNMX of sm_90).
            let mut found = found.lines();
            for (number, expected) in expected.lines().enumerate() {
                let same = found.find(|found| sm < 90 || found.split(' ').next() == expected.split(' ').next());
                assert_eq!(same, Some(expected), "{name}, sm_{sm}, line {}", number + 1);
            }
            assert!(sm == 90 || found.next().is_none());
            assert_eq!(lines.files[0], format!("{name}.cu"));
            checked += expected.lines().count();
        }
    }
    assert!(checked > 3000, "{checked}");
}

#[test]
fn the_ptx_that_was_assembled_is_there() {
    let file = std::fs::read(folder().join("sm_75/saxpy.cubin")).unwrap();
    let cubin = Cubin::parse(&file).unwrap();
    let lines = cubin.lines();
    let ptx: Vec<&str> = lines.ptx_text.as_deref().unwrap().lines().collect();
    let line = lines.function(cubin.kernels().next().unwrap().id).unwrap().ptx_at(0xb0).unwrap();
    assert_eq!(ptx[line as usize - 1].trim(), "fma.rn.f32 \t%f4, %f2, %f1, %f3;");
}

#[test]
fn without_line_information_the_tables_are_empty() {
    let cubin = Cubin::parse(include_bytes!("data/axpy.sm_75.cubin")).unwrap();
    let (lines, axpy) = (cubin.lines(), cubin.kernels().next().unwrap());
    assert!(lines.files.is_empty() && lines.ptx_text.is_none() && lines.function(axpy.id).is_none());
}

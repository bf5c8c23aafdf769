//! Golden texts of the checks, and of the inventory.

use crate::common;

use common::{ptx_files, valid_files};
use ptx::{Inventory, Severity, StateSpace, Type};

#[test]
fn valid_files_pass() {
    for (name, text) in valid_files() {
        let parsed = ptx::parse(&name, &text);
        let found = ptx::check(&parsed.module).render(&parsed.source, Severity::Note);
        assert_eq!(found, "", "{name}");
    }
}

#[test]
fn golden() {
    let files = ptx_files("tests/data/checks");
    assert!(files.len() >= 2);
    for (name, text) in files {
        let parsed = ptx::parse(&name, &text);
        assert_eq!(parsed.render(Severity::Note), "", "{name}");
        let found = ptx::check(&parsed.module).render(&parsed.source, Severity::Note);
        insta::assert_snapshot!(name.trim_end_matches(".ptx"), found);
    }
}

fn inventory(file: &str) -> Inventory {
    let (name, text) = ptx_files("tests/data/valid").into_iter().find(|(name, _)| name == file).unwrap();
    Inventory::of(&ptx::parse(&name, &text).module)
}

#[test]
fn inventory_of_a_reduction() {
    let stock = inventory("nvcc_sm52_reduce.ptx");
    assert_eq!((stock.version, stock.address_size), ((7, 3), 64));
    assert_eq!(stock.target, ["sm_52"]);
    let variables: Vec<_> = stock.variables.iter().map(|v| (&*v.name, v.space, v.bytes, v.align)).collect();
    let expected = [
        ("sdata", StateSpace::Shared, 0, 16),
        ("coeffs", StateSpace::Const, 16, 4),
        ("retirementCount", StateSpace::Global, 4, 4),
        ("table", StateSpace::Global, 24, 8),
        ("$str", StateSpace::Global, 12, 1),
    ];
    assert_eq!(variables, expected);
    assert_eq!(stock.kernels.len(), 2);
    let kernel = &stock.kernels[0];
    let params: Vec<_> = kernel.params.iter().map(|p| (&*p.ty, p.offset, p.bytes)).collect();
    assert_eq!(params, [(".u64", 0, 8), (".u64", 8, 8), (".u32", 16, 4)]);
    assert_eq!((kernel.param_bytes, kernel.shared_bytes, kernel.dynamic_shared), (20, 1024, true));
    let registers: Vec<_> = kernel.registers.iter().map(|r| (r.ty, r.count)).collect();
    let expected = [(Type::Pred, 9), (Type::B16, 3), (Type::B32, 25), (Type::B64, 12), (Type::F32, 31), (Type::F64, 4)];
    assert_eq!(registers, expected);
    assert_eq!((kernel.labels, kernel.branches, kernel.local_bytes), (4, 5, 0));
    assert_eq!(kernel.mix.iter().map(|o| o.count).sum::<u64>(), kernel.instructions);
    assert_eq!(kernel.directives, [("maxntid".to_owned(), vec![256, 1, 1]), ("minnctapersm".to_owned(), vec![4])]);
    assert_eq!(stock.kernels[1].instructions, 1);
}

#[test]
fn inventory_of_calls() {
    let stock = inventory("nvcc_sm75_calls.ptx");
    assert_eq!(stock.external, ["vprintf", "__assertfail"]);
    assert_eq!(stock.functions.iter().map(|f| &*f.name).collect::<Vec<_>>(), ["_Z3addii", "_Z4noopi"]);
    let kernel = &stock.kernels[0];
    assert_eq!(kernel.calls, ["_Z3addii", "_Z4noopi", "vprintf"]);
    assert_eq!((kernel.indirect_calls, kernel.local_bytes), (2, 8));
    let params: Vec<_> = kernel.params.iter().map(|p| (&*p.ty, p.offset, p.align, p.pointer)).collect();
    let expected = [
        (".u64", 0, 8, Some(Some(StateSpace::Global))),
        (".u32", 8, 4, None),
        (".b8[48]", 16, 16, None),
        (".u64", 64, 8, Some(Some(StateSpace::Shared))),
    ];
    assert_eq!(params, expected);
}

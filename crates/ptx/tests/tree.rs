//! The tree of a small kernel, node by node, with the positions of its nodes.

use ptx::ast::*;
use ptx::{Component, Position, StateSpace, Type};

const TEXT: &str = "\
.version 8.1
.target sm_86
.address_size 64
.visible .entry scale(.param .u64 out, .param .align 8 .b8 pair[16]) .maxntid 64
{
	.reg .b32 %r<4>;
	.loc 1 7 3
	ld.param.u64 %rd1, [pair+8];
	mov.u32 %r1, %tid.x;
LOOP:
	{ @!%p1 st.global.v2.f32 [%rd1+-4], {%f1, 0f40490FDB}; }
	.loc 1 9 1
	shfl.sync.down.b32 %r2|%p1, %r1, 1, 31, -1;
	bra.uni LOOP;
}
";

fn body(module: &Module) -> &[Statement] {
    &module.functions().next().unwrap().body.as_ref().unwrap().statements
}

#[test]
fn nodes() {
    let parsed = ptx::parse("k.ptx", TEXT);
    assert_eq!(parsed.render(ptx::Severity::Note), "");
    let module = &parsed.module;
    assert_eq!((module.version, module.target_sm(), module.address_size), ((8, 1), Some(86), 64));

    let kernel = module.kernels().next().unwrap();
    assert_eq!((module.name(kernel.name), kernel.linkage), ("scale", Some(ptx::Linkage::Visible)));
    assert_eq!(kernel.directive("maxntid"), Some([64].as_slice()));
    let pair = &kernel.params[1];
    assert_eq!((pair.space, pair.ty, pair.bytes(), pair.alignment()), (StateSpace::Param, Type::B8, Some(16), 8));

    let statements = body(module);
    let Statement::Registers(registers) = &statements[0] else { panic!() };
    assert_eq!((registers.ty, registers.names[0].count), (Type::B32, Some(4)));

    let Statement::Instruction(load) = &statements[1] else { panic!() };
    let opcode = module.opcode(load);
    assert_eq!((opcode.text(), opcode.name()), ("ld.param.u64", "ld"));
    assert_eq!(opcode.types().collect::<Vec<_>>(), [Type::U64]);
    assert_eq!(opcode.qualifiers().collect::<Vec<_>>(), ["param"]);
    let name = module.names.get("pair").unwrap();
    assert_eq!(load.operands[1].kind, OperandKind::Address(Address { base: AddressBase::Name(name), offset: 8 }));
    assert_eq!(module.loc(load).map(|loc| (loc.file, loc.line, loc.column)), Some((1, 7, 3)));

    let Statement::Instruction(mov) = &statements[2] else { panic!() };
    assert_eq!(mov.operands[1].kind, OperandKind::Component(module.names.get("%tid").unwrap(), Component::X));
    assert!(matches!(&statements[3], Statement::Label(label) if module.name(label.name) == "LOOP"));

    let Statement::Block(block) = &statements[4] else { panic!() };
    let Statement::Instruction(store) = &block.statements[0] else { panic!() };
    let guard = store.guard.unwrap();
    assert_eq!((module.name(guard.register), guard.negated), ("%p1", true));
    let OperandKind::Vector(items) = &store.operands[1].kind else { panic!() };
    assert_eq!(items[1].kind, OperandKind::Immediate(Immediate::F32(0x4049_0FDB)));
    assert_eq!(module.loc(store).map(|loc| loc.line), Some(7));

    let Statement::Instruction(shuffle) = &statements[5] else { panic!() };
    let (r2, p1) = (module.names.get("%r2"), module.names.get("%p1"));
    assert_eq!(shuffle.operands[0].kind, OperandKind::Pair(r2, p1));
    assert_eq!(shuffle.operands[4].kind, OperandKind::Immediate(Immediate::Signed(-1)));
    assert_eq!(module.loc(shuffle).map(|loc| loc.line), Some(9));
    assert_eq!(kernel.instructions().count(), 5);
}

#[test]
fn places() {
    let parsed = ptx::parse("k.ptx", TEXT);
    let source = &parsed.source;
    let kernel = parsed.module.kernels().next().unwrap();
    assert_eq!(source.snippet(kernel.name_span), "scale");
    let store = kernel.instructions().nth(2).unwrap();
    assert_eq!(source.snippet(store.span), "@!%p1 st.global.v2.f32 [%rd1+-4], {%f1, 0f40490FDB};");
    assert_eq!(source.snippet(store.operands[0].span), "[%rd1+-4]");
    assert_eq!(source.position(store.operands[0].span.start), Position { line: 11, column: 27 });
    assert_eq!(source.line(store.span.start), 11);
    assert_eq!(source.snippet(store.guard.unwrap().span), "@!%p1");
}

#[test]
fn immediates_in_registers() {
    let bits = |immediate: Immediate, ty| immediate.bits_as(ty);
    assert_eq!(bits(Immediate::Signed(-1), Type::B16), Some(0xFFFF));
    assert_eq!(bits(Immediate::Signed(-2), Type::S64), Some(u64::MAX - 1));
    assert_eq!(bits(Immediate::F32(0x3F80_0000), Type::F64), Some(1.0_f64.to_bits()));
    assert_eq!(bits(Immediate::F64(0.1_f64.to_bits()), Type::F32), Some(u64::from(0.1_f32.to_bits())));
    assert_eq!(bits(Immediate::F32(0x3F80_0000), Type::B32), Some(0x3F80_0000));
    assert_eq!(bits(Immediate::F64(0), Type::U32), None);
    assert_eq!(bits(Immediate::Unsigned(3), Type::F32), Some(u64::from(3.0_f32.to_bits())));
}

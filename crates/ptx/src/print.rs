//! Conversion of the syntax tree back to text.
//!
//! `parse(print(module))` gives the same module: tests use this to check that the parser loses nothing.

use crate::ast::*;
use crate::names::Sym;
use std::fmt::{self, Display, Write as _};

/// A module as PTX text.
pub fn print(module: &Module) -> String {
    let mut printer = Printer { module, out: String::new(), depth: 0, loc: None };
    // Writing to a string does not fail.
    let _ = printer.module();
    printer.out
}

/// An instruction as PTX text on one line, without its semicolon.
pub fn print_instruction(module: &Module, instruction: &Instruction) -> String {
    let mut out = String::new();
    let _ = write_instruction(&mut out, module, instruction);
    out
}

/// An operand as PTX text.
pub fn print_operand(module: &Module, operand: &Operand) -> String {
    let mut out = String::new();
    let _ = write_operand(&mut out, module, operand);
    out
}

impl Display for Immediate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Immediate::Signed(v) => write!(f, "{v}"),
            Immediate::Unsigned(v) => write!(f, "{v}U"),
            Immediate::F32(bits) => write!(f, "0f{bits:08X}"),
            Immediate::F64(bits) => write!(f, "0d{bits:016X}"),
        }
    }
}

struct Printer<'a> {
    module: &'a Module,
    out: String,
    depth: usize,
    loc: Option<LocId>,
}

impl<'a> Printer<'a> {
    fn name(&self, sym: Sym) -> &'a str {
        self.module.name(sym)
    }

    fn indent(&mut self) {
        self.out.extend(std::iter::repeat_n('\t', self.depth));
    }

    fn module(&mut self) -> fmt::Result {
        let m = self.module;
        if m.version != (0, 0) {
            writeln!(self.out, ".version {}.{}", m.version.0, m.version.1)?;
        }
        if !m.target.is_empty() {
            let target: Vec<&str> = m.target.iter().map(|&t| m.name(t)).collect();
            writeln!(self.out, ".target {}", target.join(", "))?;
        }
        writeln!(self.out, ".address_size {}", m.address_size)?;
        for file in &m.files {
            write!(self.out, ".file {} \"{}\"", file.index, file.path)?;
            if let Some((time, size)) = file.stamp {
                write!(self.out, ", {time}, {size}")?;
            }
            self.out.push('\n');
        }
        for item in &m.items {
            match item {
                Item::Variable(variable) => {
                    self.variable(variable)?;
                    self.out.push_str(";\n");
                }
                Item::Function(function) => self.function(function)?,
                Item::Alias(alias) => {
                    writeln!(self.out, ".alias {}, {};", self.name(alias.name), self.name(alias.target))?;
                }
                Item::Pragma(pragma) => self.pragma(pragma),
            }
        }
        Ok(())
    }

    fn pragma(&mut self, pragma: &Pragma) {
        let quoted: Vec<String> = pragma.texts.iter().map(|t| format!("\"{t}\"")).collect();
        self.indent();
        self.out.push_str(&format!(".pragma {};\n", quoted.join(", ")));
    }

    fn variable(&mut self, v: &Variable) -> fmt::Result {
        if let Some(linkage) = v.linkage {
            write!(self.out, "{linkage} ")?;
        }
        write!(self.out, "{} ", v.space)?;
        if !v.attributes.is_empty() {
            write!(self.out, ".attribute({}) ", v.attributes.join(", "))?;
        }
        if let Some(align) = v.align {
            write!(self.out, ".align {align} ")?;
        }
        self.vector(v.vector)?;
        write!(self.out, "{} ", v.ty)?;
        if let Some(ptr) = v.ptr {
            self.out.push_str(".ptr ");
            if let Some(space) = ptr.space {
                write!(self.out, "{space} ")?;
            }
            if let Some(align) = ptr.align {
                write!(self.out, ".align {align} ")?;
            }
        }
        self.out.push_str(v.name.map_or("_", |name| self.module.name(name)));
        self.count(v.count)?;
        for dim in &v.dims {
            match dim {
                Some(n) => write!(self.out, "[{n}]")?,
                None => self.out.push_str("[]"),
            }
        }
        if let Some(init) = &v.init {
            self.out.push_str(" = ");
            self.init(init)?;
        }
        Ok(())
    }

    fn vector(&mut self, elements: u8) -> fmt::Result {
        if elements > 1 { write!(self.out, ".v{elements} ") } else { Ok(()) }
    }

    fn count(&mut self, count: Option<u32>) -> fmt::Result {
        count.map_or(Ok(()), |n| write!(self.out, "<{n}>"))
    }

    fn init(&mut self, init: &Init) -> fmt::Result {
        match init {
            Init::Value(InitValue::Number(number), _) => write!(self.out, "{number}"),
            Init::Value(InitValue::Address { symbol, offset, generic, mask }, _) => {
                if let Some(mask) = mask {
                    write!(self.out, "0x{mask:X}(")?;
                }
                let name = self.name(*symbol);
                if *generic {
                    write!(self.out, "generic({name})")?;
                } else {
                    self.out.push_str(name);
                }
                if *offset != 0 {
                    write!(self.out, "+{offset}")?;
                }
                if mask.is_some() {
                    self.out.push(')');
                }
                Ok(())
            }
            Init::List(list, _) => {
                self.out.push('{');
                for (i, init) in list.iter().enumerate() {
                    self.out.push_str(if i > 0 { ", " } else { "" });
                    self.init(init)?;
                }
                self.out.push('}');
                Ok(())
            }
        }
    }

    fn function(&mut self, f: &Function) -> fmt::Result {
        self.out.push('\n');
        if let Some(linkage) = f.linkage {
            write!(self.out, "{linkage} ")?;
        }
        self.out.push_str(if f.kind == FunctionKind::Entry { ".entry " } else { ".func " });
        if !f.returns.is_empty() {
            self.params(&f.returns)?;
            self.out.push(' ');
        }
        self.out.push_str(self.name(f.name));
        self.params(&f.params)?;
        self.directives(&f.directives)?;
        match &f.body {
            None => self.out.push_str(";\n"),
            Some(body) => {
                self.out.push('\n');
                self.loc = None;
                self.block(body)?;
            }
        }
        Ok(())
    }

    fn params(&mut self, params: &[Variable]) -> fmt::Result {
        self.out.push('(');
        for (i, param) in params.iter().enumerate() {
            self.out.push_str(if i > 0 { ", " } else { "" });
            self.variable(param)?;
        }
        self.out.push(')');
        Ok(())
    }

    fn directives(&mut self, directives: &[FunctionDirective]) -> fmt::Result {
        for directive in directives {
            write!(self.out, "\n.{}", directive.name)?;
            let values: Vec<String> = directive.values.iter().map(u64::to_string).collect();
            if !values.is_empty() {
                write!(self.out, " {}", values.join(", "))?;
            }
            if &*directive.name == "attribute" {
                write!(self.out, "({})", directive.texts.join(", "))?;
            } else if !directive.texts.is_empty() {
                write!(self.out, " \"{}\"", directive.texts.join("\", \""))?;
            }
        }
        Ok(())
    }

    fn block(&mut self, block: &Block) -> fmt::Result {
        self.indent();
        self.out.push_str("{\n");
        self.depth += 1;
        for statement in &block.statements {
            self.statement(statement)?;
        }
        self.depth -= 1;
        self.indent();
        self.out.push_str("}\n");
        Ok(())
    }

    fn statement(&mut self, statement: &Statement) -> fmt::Result {
        match statement {
            Statement::Instruction(instruction) => {
                self.loc(instruction)?;
                self.indent();
                write_instruction(&mut self.out, self.module, instruction)?;
                self.out.push_str(";\n");
            }
            Statement::Label(label) => writeln!(self.out, "{}:", self.name(label.name))?,
            Statement::Registers(registers) => self.registers(registers)?,
            Statement::Variable(variable) => {
                self.indent();
                self.variable(variable)?;
                self.out.push_str(";\n");
            }
            Statement::Block(block) => self.block(block)?,
            Statement::BranchTargets(targets) => self.targets(".branchtargets", targets)?,
            Statement::CallTargets(targets) => self.targets(".calltargets", targets)?,
            Statement::CallPrototype(prototype) => {
                self.indent();
                write!(self.out, "{}: .callprototype ", self.name(prototype.label))?;
                self.params(&prototype.returns)?;
                self.out.push_str(" _ ");
                self.params(&prototype.params)?;
                self.directives(&prototype.directives)?;
                self.out.push_str(";\n");
            }
            Statement::Pragma(pragma) => self.pragma(pragma),
        }
        Ok(())
    }

    fn registers(&mut self, registers: &Registers) -> fmt::Result {
        self.indent();
        self.out.push_str(".reg ");
        self.vector(registers.vector)?;
        write!(self.out, "{}", registers.ty)?;
        for (i, register) in registers.names.iter().enumerate() {
            write!(self.out, "{}{}", if i > 0 { ", " } else { " " }, self.name(register.name))?;
            self.count(register.count)?;
        }
        self.out.push_str(";\n");
        Ok(())
    }

    fn targets(&mut self, directive: &str, targets: &Targets) -> fmt::Result {
        let names: Vec<&str> = targets.targets.iter().map(|&(name, _)| self.name(name)).collect();
        self.indent();
        writeln!(self.out, "{}: {directive} {};", self.name(targets.label), names.join(", "))
    }

    /// The `.loc` of an instruction, if it differs from the preceding one's.
    fn loc(&mut self, instruction: &Instruction) -> fmt::Result {
        let Some(loc) = self.module.loc(instruction).filter(|_| instruction.loc != self.loc) else { return Ok(()) };
        self.loc = instruction.loc;
        self.indent();
        write!(self.out, ".loc {} {} {}", loc.file, loc.line, loc.column)?;
        if let Some(i) = &loc.inlined {
            write!(self.out, ", function_name {}", self.name(i.function))?;
            if i.offset != 0 {
                write!(self.out, "+{}", i.offset)?;
            }
            write!(self.out, ", inlined_at {} {} {}", i.file, i.line, i.column)?;
        }
        self.out.push('\n');
        Ok(())
    }
}

fn write_instruction(out: &mut String, module: &Module, instruction: &Instruction) -> fmt::Result {
    if let Some(guard) = instruction.guard {
        write!(out, "@{}{} ", if guard.negated { "!" } else { "" }, module.name(guard.register))?;
    }
    out.push_str(module.opcode(instruction).text());
    for (i, operand) in instruction.operands.iter().enumerate() {
        out.push_str(if i > 0 { ", " } else { " " });
        write_operand(out, module, operand)?;
    }
    Ok(())
}

fn write_list(out: &mut String, module: &Module, brackets: [char; 2], items: &[Operand]) -> fmt::Result {
    out.push(brackets[0]);
    for (i, item) in items.iter().enumerate() {
        out.push_str(if i > 0 { ", " } else { "" });
        match &item.kind {
            // The first part in brackets is an address without brackets of its own.
            OperandKind::Address(address) if i == 0 && brackets[0] == '[' => write_address(out, module, *address)?,
            _ => write_operand(out, module, item)?,
        }
    }
    out.push(brackets[1]);
    Ok(())
}

fn write_operand(out: &mut String, module: &Module, operand: &Operand) -> fmt::Result {
    let name = |sym: Sym| module.name(sym);
    let or_sink = |sym: Option<Sym>| sym.map_or("_", |sym| module.name(sym));
    match &operand.kind {
        OperandKind::Name(sym) => out.write_str(name(*sym)),
        OperandKind::Component(sym, component) => write!(out, "{}{component}", name(*sym)),
        OperandKind::Selected(sym, selector) => write!(out, "{}.{}", name(*sym), name(*selector)),
        OperandKind::Immediate(immediate) => write!(out, "{immediate}"),
        OperandKind::Offset(sym, offset) => write!(out, "{}+{offset}", name(*sym)),
        OperandKind::Element(sym, index) => {
            write!(out, "{}[", name(*sym))?;
            write_operand(out, module, index)?;
            out.write_char(']')
        }
        OperandKind::Not(sym) => write!(out, "!{}", name(*sym)),
        OperandKind::Negated(inner) => {
            out.write_char('-')?;
            write_operand(out, module, inner)
        }
        OperandKind::Pair(first, second) => write!(out, "{}|{}", or_sink(*first), or_sink(*second)),
        OperandKind::Sink => out.write_char('_'),
        OperandKind::Vector(items) => write_list(out, module, ['{', '}'], items),
        OperandKind::List(items) => write_list(out, module, ['(', ')'], items),
        OperandKind::Address(address) => {
            out.push('[');
            write_address(out, module, *address)?;
            out.write_char(']')
        }
        OperandKind::Texture(items) => write_list(out, module, ['[', ']'], items),
    }
}

fn write_address(out: &mut String, module: &Module, address: Address) -> fmt::Result {
    match address {
        Address { base: AddressBase::Name(sym), offset: 0 } => out.write_str(module.name(sym)),
        Address { base: AddressBase::Name(sym), offset } => write!(out, "{}+{offset}", module.name(sym)),
        Address { base: AddressBase::Absolute, offset } => write!(out, "{}", offset as u64),
    }
}

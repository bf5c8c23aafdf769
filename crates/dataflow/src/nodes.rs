//! A graph under construction: equal nodes once, what is known at compile time or launch computed then.
//!
//! Common subexpressions, constant folding and uniform values are not passes over a finished graph: a node that is
//! not needed is never made.

use crate::graph::{Input, Node, NodeId, NodeOp, ThreadValue, Uniform, UniformId};
use exec::function::{Evaluator, Function, Width};
use exec::int::{Int1, Int2};
use exec::op::Op;
use isa::Pc;

/// The uniform values of a kernel.
#[derive(Clone, Debug, Default)]
pub(crate) struct Uniforms(pub Vec<Uniform>);

impl Uniforms {
    /// A uniform value; equal ones are one.
    pub fn get(&mut self, uniform: Uniform) -> Input {
        let at = self.0.iter().position(|u| *u == uniform).unwrap_or_else(|| {
            self.0.push(uniform);
            self.0.len() - 1
        });
        Input::Uniform(UniformId(at as u32))
    }
}

/// A predicate, perhaps negated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Truth {
    pub input: Input,
    pub negated: bool,
}

impl Truth {
    pub const TRUE: Self = Self { input: Input::Immediate(1), negated: false };
    pub const FALSE: Self = Self { input: Input::Immediate(0), negated: false };

    /// The predicate `input`.
    pub fn of(input: Input) -> Self {
        Self { input, negated: false }.known()
    }

    #[must_use]
    pub fn not(self) -> Self {
        Self { negated: !self.negated, ..self }.known()
    }

    fn known(self) -> Self {
        match self.input {
            Input::Immediate(x) if (x & 1 == 1) != self.negated => Self::TRUE,
            Input::Immediate(_) => Self::FALSE,
            _ => self,
        }
    }
}

/// The nodes of a region.
#[derive(Debug, Default)]
pub(crate) struct Nodes {
    pub list: Vec<Node>,
    /// Those of the whole kernel so far.
    pub uniforms: Uniforms,
    evaluator: Evaluator,
}

impl Nodes {
    /// Adds a node without looking for an equal one.
    pub fn add(&mut self, op: NodeOp, inputs: Vec<Input>, pc: Option<Pc>) -> NodeId {
        self.list.push(Node { op, inputs, pc });
        NodeId(self.list.len() as u32 - 1)
    }

    /// A node without effect on memory; equal ones are one.
    fn pure(&mut self, op: NodeOp, inputs: Vec<Input>, pc: Option<Pc>) -> Input {
        let at = self.list.iter().position(|n| n.op == op && n.inputs == inputs);
        Input::Token(at.map_or_else(|| self.add(op, inputs, pc), |i| NodeId(i as u32)))
    }

    /// A value that the injector sends.
    pub fn inject(&mut self, value: ThreadValue) -> Input {
        self.pure(NodeOp::Inject(value), Vec::new(), None)
    }

    /// The node that makes an input, if it is a token.
    pub fn node(&self, input: Input) -> Option<&Node> {
        match input {
            Input::Token(id) => Some(&self.list[id.index()]),
            _ => None,
        }
    }

    /// The value of `function` for `inputs`.
    pub fn apply(&mut self, function: &Function, inputs: Vec<Input>, pc: Pc) -> Input {
        if let Some(same) = self.as_is(function, &inputs) {
            return same;
        }
        let immediates: Option<Vec<u64>> = inputs.iter().map(|i| as_immediate(*i)).collect();
        if let Some(values) = immediates {
            return Input::Immediate(self.evaluator.apply(function, &values));
        }
        if inputs.iter().all(|i| !matches!(i, Input::Token(_))) {
            return self.uniforms.get(Uniform::Apply(*function, inputs));
        }
        if let Op::Selp { p, .. } = function.op() {
            let [a, b, condition] = inputs[..] else { unreachable!("a selection has three operands") };
            return self.select(Truth { input: condition, negated: p.is_negated() }, a, b);
        }
        let all = function.operands();
        if function.result() == Width::Predicate && all.len() <= 2 && all.iter().all(|w| *w == Width::Predicate) {
            let table = (0..4).fold(0, |table, row: u64| {
                let holds = self.evaluator.apply(function, &[row & 1, row >> 1][..all.len()]);
                table | (holds as u8 & 1) << row
            });
            return self.label(table, [inputs[0], inputs.get(1).copied().unwrap_or(Input::Immediate(0))]);
        }
        self.pure(NodeOp::Apply(*function), inputs, Some(pc))
    }

    /// The input that an operation only passes on.
    fn as_is(&self, function: &Function, inputs: &[Input]) -> Option<Input> {
        match function.op() {
            Op::Int1(Int1::Mov32 | Int1::Mov64, ..) => Some(inputs[0]),
            // The operand is a token of 64 bits whose upper half is ignored by all that take a word.
            Op::Int1(Int1::Low32, ..) if !matches!(inputs[0], Input::Immediate(_)) => Some(inputs[0]),
            Op::Int2(Int2::Add32 | Int2::Add64, ..) => match inputs {
                [x, Input::Immediate(0)] | [Input::Immediate(0), x] => Some(*x),
                _ => None,
            },
            _ => None,
        }
    }

    /// `a` where the predicate holds, else `b`.
    pub fn select(&mut self, condition: Truth, a: Input, b: Input) -> Input {
        let (yes, no) = if condition.negated { (b, a) } else { (a, b) };
        match condition.input {
            _ if yes == no => yes,
            Input::Immediate(x) => {
                if x & 1 == 1 {
                    yes
                } else {
                    no
                }
            }
            input => {
                let inputs = [input, yes, no];
                if inputs.iter().all(|i| !matches!(i, Input::Token(_))) {
                    return self.uniforms.get(Uniform::Select(inputs));
                }
                self.pure(NodeOp::Select, inputs.to_vec(), None)
            }
        }
    }

    /// A function of two predicates.
    fn label(&mut self, table: u8, [a, b]: [Input; 2]) -> Input {
        // What an input is known to be, or equal to the other, leaves a part of the table.
        let of = |x: bool, y: bool| table >> (u8::from(x) | u8::from(y) << 1) & 1 == 1;
        match (a, b) {
            (Input::Immediate(a), Input::Immediate(b)) => Input::Immediate(of(a & 1 == 1, b & 1 == 1).into()),
            (Input::Immediate(a), _) => self.label_of_one(b, [of(a & 1 == 1, false), of(a & 1 == 1, true)]),
            (_, Input::Immediate(b)) => self.label_of_one(a, [of(false, b & 1 == 1), of(true, b & 1 == 1)]),
            _ if a == b => self.label_of_one(a, [of(false, false), of(true, true)]),
            (Input::Uniform(_), Input::Uniform(_)) => {
                let [no, yes] = [false, true].map(|a| self.label_of_one(b, [of(a, false), of(a, true)]));
                self.uniforms.get(Uniform::Select([a, yes, no]))
            }
            _ => self.pure(NodeOp::Label(table), vec![a, b], None),
        }
    }

    /// A function of one predicate, by its values for false and true.
    fn label_of_one(&mut self, a: Input, values: [bool; 2]) -> Input {
        match values {
            [false, false] => Input::Immediate(0),
            [true, true] => Input::Immediate(1),
            [false, true] => a,
            [true, false] if matches!(a, Input::Uniform(_)) => {
                self.uniforms.get(Uniform::Select([a, Input::Immediate(0), Input::Immediate(1)]))
            }
            [true, false] => self.pure(NodeOp::Label(0b01), vec![a, Input::Immediate(0)], None),
        }
    }

    fn combine(&mut self, a: Truth, b: Truth, or: bool) -> Truth {
        let row = |x: u8, y: u8| {
            let (x, y) = (x ^ u8::from(a.negated), y ^ u8::from(b.negated));
            if or { x | y } else { x & y }
        };
        let table = row(0, 0) | row(1, 0) << 1 | row(0, 1) << 2 | row(1, 1) << 3;
        Truth::of(self.label(table, [a.input, b.input]))
    }

    pub fn and(&mut self, a: Truth, b: Truth) -> Truth {
        match (a, b) {
            (Truth::TRUE, x) | (x, Truth::TRUE) => x,
            (Truth::FALSE, _) | (_, Truth::FALSE) => Truth::FALSE,
            _ if a == b => a,
            _ if a == b.not() => Truth::FALSE,
            _ => self.combine(a, b, false),
        }
    }

    pub fn or(&mut self, a: Truth, b: Truth) -> Truth {
        match (a, b) {
            (Truth::FALSE, x) | (x, Truth::FALSE) => x,
            (Truth::TRUE, _) | (_, Truth::TRUE) => Truth::TRUE,
            _ if a == b => a,
            _ if a == b.not() => Truth::TRUE,
            _ => self.combine(a, b, true),
        }
    }

    /// The predicate as an input.
    pub fn value(&mut self, truth: Truth) -> Input {
        if truth.negated { self.label_of_one(truth.input, [true, false]) } else { truth.input }
    }

    /// Whether the input is computed from the result of `from`.
    pub fn depends(&self, input: Input, from: NodeId) -> bool {
        let Input::Token(to) = input else { return false };
        let mut seen = vec![false; self.list.len()];
        let mut work = vec![to];
        while let Some(node) = work.pop() {
            if node == from {
                return true;
            }
            if node > from && !std::mem::replace(&mut seen[node.index()], true) {
                work.extend(self.list[node.index()].tokens().map(|(_, id)| id));
            }
        }
        false
    }
}

/// The number that an input is.
fn as_immediate(input: Input) -> Option<u64> {
    match input {
        Input::Immediate(x) => Some(x),
        _ => None,
    }
}

/// The nodes that `is_needed` for what they do, and those whose results they take, renumbered.
pub(crate) fn without_dead(nodes: Vec<Node>, is_needed: impl Fn(&NodeOp) -> bool) -> Vec<Node> {
    let mut needed: Vec<bool> = nodes.iter().map(|node| is_needed(&node.op)).collect();
    for i in (0..nodes.len()).rev() {
        if needed[i] {
            nodes[i].tokens().for_each(|(_, id)| needed[id.index()] = true);
        }
    }
    let mut number = vec![NodeId(0); nodes.len()];
    let mut kept = Vec::new();
    for (i, mut node) in nodes.into_iter().enumerate().filter(|(i, _)| needed[*i]) {
        for input in &mut node.inputs {
            if let Input::Token(id) = input {
                *id = number[id.index()];
            }
        }
        number[i] = NodeId(kept.len() as u32);
        kept.push(node);
    }
    kept
}

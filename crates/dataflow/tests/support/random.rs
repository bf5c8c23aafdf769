//! Graphs of random operations whose memory accesses keep the order of a program.

use dataflow::graph::{
    Access, AccessKind, Dataflow, Input, Node, NodeId, NodeOp, Region, RegionId, Target, ThreadValue, Uniform,
    UniformId,
};
use exec::compare::{Combine, CompareType, Comparison, Relation};
use exec::float::{Float1, Float2, Modifiers};
use exec::function::Function;
use exec::int::Int2;
use exec::lanes::{Pred, Reg};
use exec::op::Op;
use isa::{Pc, Space};

/// A region under construction.
#[derive(Default)]
pub struct Builder {
    pub region: Region,
    /// Inputs with words.
    words: Vec<Input>,
    /// Inputs with predicates.
    predicates: Vec<Input>,
    last_store: Option<NodeId>,
    loads: Vec<NodeId>,
}

impl Builder {
    pub fn new() -> Self {
        let mut new = Self::default();
        for value in [ThreadValue::Tid(0), ThreadValue::Ctaid(0)] {
            let input = new.push(NodeOp::Inject(value), vec![]);
            new.words.push(input);
        }
        let live = new.push(NodeOp::Inject(ThreadValue::Live), vec![]);
        new.predicates.extend([live, Input::Immediate(1), Input::Uniform(UniformId(2))]);
        new
    }

    pub fn push(&mut self, op: NodeOp, inputs: Vec<Input>) -> Input {
        let pc = (!inputs.is_empty()).then_some(Pc(self.region.nodes.len() as u32));
        self.region.nodes.push(Node { op, inputs, pc });
        Input::Token(NodeId(self.region.nodes.len() as u32 - 1))
    }

    pub fn apply(&mut self, op: &Op, inputs: Vec<Input>) -> Input {
        let (functions, _) = Function::of(op).expect("it is a function");
        self.push(NodeOp::Apply(functions[0].1), inputs)
    }

    pub fn two(&mut self, op: Int2, a: Input, b: Input) -> Input {
        self.apply(&Op::Int2(op, Reg(0), [Reg(2), Reg(4)]), vec![a, b])
    }

    /// A token of a recent word.
    fn word(&self, gene: u32) -> Input {
        let recent = self.words.len().min(12);
        self.words[self.words.len() - 1 - gene as usize % recent]
    }

    fn predicate(&self, gene: u32) -> Input {
        self.predicates[gene as usize % self.predicates.len()]
    }

    /// A word, an immediate or a uniform.
    fn operand(&self, gene: u32) -> Input {
        match gene % 8 {
            0 => Input::Immediate((gene >> 3).into()),
            1 => Input::Uniform(UniformId(gene >> 3 & 1)),
            _ => self.word(gene >> 3),
        }
    }

    /// The condition with tokens of all accesses that must be earlier.
    fn enable(&mut self, condition: Input, is_store: bool) -> Input {
        let mut earlier: Vec<NodeId> = self.last_store.into_iter().collect();
        if is_store {
            earlier.append(&mut self.loads);
        }
        let mut enable = condition;
        for access in earlier {
            enable = self.push(NodeOp::Join, vec![enable, Input::Token(access)]);
        }
        enable
    }

    fn access(&mut self, kind: AccessKind, gene: u32) {
        let is_store = kind != AccessKind::Load;
        let condition = self.predicate(gene >> 5);
        let address = if gene.is_multiple_of(5) { Input::Immediate(gene.into()) } else { self.word(gene) };
        let enable = self.enable(condition, is_store);
        let data = if is_store { self.word(gene >> 9) } else { Input::Immediate(0) };
        let is_token = |input: &Input| matches!(input, Input::Token(_));
        let enable = if [address, data, enable].iter().any(is_token) { enable } else { self.predicates[0] };
        let base = [Input::Uniform(UniformId(0)), Input::Immediate((gene >> 16 & 0xff).into())];
        let target = Target::Space(Space::Global);
        let access = Access { kind, target, bytes: 4, signed: false, register_bits: 32, base };
        let token = self.push(NodeOp::Access(access), vec![address, data, enable]);
        let Input::Token(node) = token else { unreachable!("an access sends tokens") };
        if is_store {
            self.last_store = Some(node);
        } else {
            self.loads.push(node);
            self.words.push(token);
        }
    }

    /// One more operation.
    pub fn grow(&mut self, gene: u32) {
        let (kind, gene) = (gene % 32, gene >> 5);
        let (a, b) = (self.word(gene >> 8), self.operand(gene));
        let m = Modifiers::default();
        match kind {
            0..=11 => {
                let ops = [Int2::Add32, Int2::Sub32, Int2::MulLo32, Int2::MaxU32];
                let word = self.two(ops[kind as usize % 4], a, b);
                self.words.push(word);
            }
            12 => {
                let word = self.two(Int2::DivU32, a, b);
                self.words.push(word);
            }
            13 => {
                let word = self.apply(&Op::Float2(Float2::DivRnF32, m, Reg(0), [Reg(2), Reg(4)]), vec![a, b]);
                self.words.push(word);
            }
            14 => {
                let word = self.apply(&Op::Float1(Float1::SqrtF32, m, Reg(0), [Reg(2)]), vec![a]);
                self.words.push(word);
            }
            15..=17 => {
                let test = Comparison { relation: Relation::Lt, ty: CompareType::U32, ftz: false };
                let with = (Combine::And, Pred::TRUE);
                let op = Op::Setp { test, s: [Reg(2), Reg(4)], d: [Pred(0), Pred::TRUE], with };
                let predicate = self.apply(&op, vec![a, b]);
                self.predicates.push(predicate);
            }
            18..=20 => {
                let tokens: Vec<Input> =
                    self.predicates.iter().copied().filter(|p| matches!(p, Input::Token(_))).collect();
                let (p, q) = (tokens[(gene >> 4) as usize % tokens.len()], self.predicate(gene >> 10));
                let predicate = self.push(NodeOp::Label([0b1000, 0b1110, 0b0110][kind as usize - 18]), vec![p, q]);
                self.predicates.push(predicate);
            }
            21..=23 => {
                let word = self.push(NodeOp::Select, vec![self.predicate(gene >> 4), a, b]);
                self.words.push(word);
            }
            24..=27 => self.access(AccessKind::Load, gene),
            _ => self.access(AccessKind::Store, gene),
        }
    }
}

/// A region of one operation for each gene, which ends with a store of the last word.
pub fn region(genes: &[u32]) -> Region {
    let mut builder = Builder::new();
    genes.iter().for_each(|gene| builder.grow(*gene));
    builder.access(AccessKind::Store, 0);
    builder.region
}

/// Two regions: the first is entered again or left for the second, or the thread ends.
pub fn dataflow(genes: &[u32], is_loop: bool) -> Dataflow {
    let mut builder = Builder::new();
    genes.iter().for_each(|gene| builder.grow(*gene));
    let mut second = region(&genes[..genes.len() / 2]);
    if is_loop {
        let is_token = |p: &&Input| matches!(p, Input::Token(_));
        let last = *builder.predicates.iter().rfind(is_token).expect("whether the thread takes part is one");
        builder.push(NodeOp::Next(RegionId(1)), vec![last]);
        builder.region.successors = vec![RegionId(1)];
    } else {
        builder.region.always = Some(RegionId(1));
        builder.region.successors = vec![RegionId(1)];
    }
    second.entry = Pc(1000);
    let param = Uniform::Param { offset: 0, bytes: 4, signed: false, register_bits: 32 };
    Dataflow {
        regions: vec![builder.region, second],
        uniforms: vec![param, Uniform::Ntid(0), Uniform::Nctaid(0)],
        ..Dataflow::default()
    }
}

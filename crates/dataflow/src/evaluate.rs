//! Runs a kernel's graphs thread by thread, without a fabric and without time: what every fabric must compute.

use crate::graph::{Access, AccessKind, Dataflow, Input, LiveId, NodeOp, Region, Target, ThreadValue, operands};
use crate::uniforms::{Facts, along};
use exec::Launch;
use exec::atomic::Atomic;
use exec::function::Evaluator;
use exec::op::Op;
use exec::single::Element;
use isa::Space;

/// The memory that threads access.
pub trait Memory {
    /// Cause of a failed access: bounds, alignment.
    type Error;
    /// The bytes at an address, zero-extended.
    ///
    /// # Errors
    /// The address cannot be read.
    fn load(&mut self, space: Space, address: u64, bytes: u8) -> Result<u64, Self::Error>;
    /// Stores the low bytes of a value.
    ///
    /// # Errors
    /// The address cannot be written.
    fn store(&mut self, space: Space, address: u64, bytes: u8, value: u64) -> Result<(), Self::Error>;
    /// Performs the atomic operation `op` with its operands; returns the old value.
    ///
    /// # Errors
    /// The address cannot be read and written.
    fn atomic(&mut self, op: &Atomic, space: Space, address: u64, operands: [u64; 2]) -> Result<u64, Self::Error>;
    /// The next accesses are those of this thread (its position among those of the CTA) of this CTA.
    fn thread(&mut self, cta: u64, thread: u64);
}

/// Cause of a failed evaluation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EvaluationError<E> {
    /// An access.
    Memory(E),
    /// A value that all threads share.
    Uniform(String),
    /// Threads of a CTA wait at a barrier that others do not reach.
    Barrier {
        /// The CTA.
        cta: u64,
    },
}

/// The address of an access: its token and what its unit adds, in 32 bits for shared and local memory.
pub fn address(space: Space, token: u64, base: [u64; 2]) -> u64 {
    let sum = token.wrapping_add(base[0]).wrapping_add(base[1]);
    if matches!(space, Space::Shared | Space::Local) { sum & 0xffff_ffff } else { sum }
}

/// Runs all threads of `launch`, CTA by CTA.
///
/// # Errors
/// The first access that fails; a barrier that cannot complete.
pub fn run<M: Memory>(dataflow: &Dataflow, launch: &Launch, memory: &mut M) -> Result<(), EvaluationError<M::Error>> {
    let facts = Facts { params: launch.params(), block: launch.block, grid: launch.grid };
    let uniforms = facts.values(&dataflow.uniforms).map_err(EvaluationError::Uniform)?;
    let mut threads = Cta { dataflow, launch, uniforms, evaluator: Evaluator::default() };
    (0..launch.grid.volume()).try_for_each(|cta| threads.run(cta, memory))
}

struct Cta<'a> {
    dataflow: &'a Dataflow,
    launch: &'a Launch,
    uniforms: Vec<u64>,
    evaluator: Evaluator,
}

impl Cta<'_> {
    fn run<M: Memory>(&mut self, cta: u64, memory: &mut M) -> Result<(), EvaluationError<M::Error>> {
        let count = self.launch.block.volume();
        // The region where each thread continues; none if it has ended.
        let mut at = vec![Some(0); count as usize];
        let mut live = vec![vec![0; self.dataflow.live.len()]; count as usize];
        loop {
            let waiting = |r: usize| at.iter().filter(|a| **a == Some(r)).count();
            let left = at.iter().flatten().count();
            let runs = |r: &usize| match self.dataflow.regions[*r].after_barrier {
                true => waiting(*r) == left,
                false => waiting(*r) > 0,
            };
            if left == 0 {
                return Ok(());
            }
            let Some(region) = (0..self.dataflow.regions.len()).find(runs) else {
                return Err(EvaluationError::Barrier { cta });
            };
            for thread in 0..count {
                let next = &mut at[thread as usize];
                if *next == Some(region) {
                    memory.thread(cta, thread);
                    let of = &self.dataflow.regions[region];
                    *next = self.thread(of, [cta, thread], &mut live[thread as usize], memory)?;
                }
            }
        }
    }

    /// Passes a thread through a region; returns where it continues.
    fn thread<M: Memory>(
        &mut self,
        region: &Region,
        [cta, thread]: [u64; 2],
        live: &mut [u64],
        memory: &mut M,
    ) -> Result<Option<usize>, EvaluationError<M::Error>> {
        let mut next = region.always.map(|r| r.0 as usize);
        let mut values: Vec<u64> = Vec::with_capacity(region.nodes.len());
        for node in &region.nodes {
            let of = |input: &Input| match input {
                Input::Token(id) => values[id.index()],
                Input::Immediate(x) => *x,
                Input::Uniform(id) => self.uniforms[id.0 as usize],
            };
            let inputs: Vec<u64> = node.inputs.iter().map(of).collect();
            let value = match &node.op {
                NodeOp::Inject(ThreadValue::Tid(axis)) => along(self.launch.block.position(thread), *axis),
                NodeOp::Inject(ThreadValue::Ctaid(axis)) => along(self.launch.grid.position(cta), *axis),
                NodeOp::Inject(ThreadValue::Live) => 1,
                NodeOp::Apply(function) => self.evaluator.apply(function, &inputs),
                NodeOp::Select => inputs[if inputs[0] & 1 == 1 { 1 } else { 2 }],
                NodeOp::Label(table) => u64::from(table >> (inputs[0] & 1 | (inputs[1] & 1) << 1) & 1),
                NodeOp::Join | NodeOp::Delay(_) => inputs[0],
                NodeOp::Access(_) if inputs[2] & 1 == 0 => 0,
                NodeOp::Access(access) => {
                    let base = access.base.each_ref().map(of);
                    let data = [inputs[1], inputs.get(3).copied().unwrap_or(0)];
                    perform(access, inputs[0], base, data, live, memory).map_err(EvaluationError::Memory)?
                }
                NodeOp::Next(to) => {
                    if inputs[0] & 1 == 1 {
                        next = Some(to.0 as usize);
                    }
                    0
                }
            };
            values.push(value);
        }
        Ok(next)
    }
}

fn perform<M: Memory>(
    access: &Access,
    token: u64,
    base: [u64; 2],
    data: [u64; 2],
    live: &mut [u64],
    memory: &mut M,
) -> Result<u64, M::Error> {
    match (access.target, access.kind) {
        (Target::Live(LiveId(place)), AccessKind::Load) => Ok(live[place as usize]),
        (Target::Live(LiveId(place)), _) => {
            live[place as usize] = data[0] & (u64::MAX >> (64 - 8 * u32::from(access.bytes)));
            Ok(1)
        }
        (Target::Space(space), AccessKind::Load) => {
            let raw = memory.load(space, address(space, token, base), access.bytes)?;
            Ok(Element { bytes: access.bytes, signed: access.signed, register_bits: access.register_bits }
                .extended(raw))
        }
        (Target::Space(space), AccessKind::Store) => {
            memory.store(space, address(space, token, base), access.bytes, data[0])?;
            Ok(1)
        }
        (Target::Space(space), AccessKind::Atomic(Op::Atomic(atomic))) => {
            memory.atomic(&atomic, space, address(space, token, base), operands(&atomic, data))
        }
        (Target::Space(_), AccessKind::Atomic(_)) => unreachable!("an atomic access is an atomic operation"),
    }
}

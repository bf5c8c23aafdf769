//! Designs of papers over the stages of the core of today's GPUs ([`Modern`]).
//!
//! Papers propose their designs over an in-order core with a scoreboard, operand collectors and one front end. NVIDIA's
//! GPUs since Volta have none of these: here the designs have what those GPUs have, and machine code its control bits.
//!
//! | stage | [`OnSubCores`] | [`FedBySubCores`] |
//! | --- | --- | --- |
//! | front end | [`SubCoreFetch`]: each sub-core fetches, through its own caches | the same |
//! | issue | the design's | the design's |
//! | operands | [`SubCoreOperands`]: ports reserved in the order of issue | the design's |
//! | memory | [`SubCoreMemory`]: a queue and address generation for each sub-core | the design's |
//! | policy | greedy, then youngest | the same |
//!
//! - **Stall counts** promise that results are there for the next instruction in the compiler's order. A design with
//!   another order gives the promise up: its hazards are its own, and latencies count by writer and reader
//!   ([`config::Dependence`]), as for programs without control bits.
//! - **Dependence counters**, too, hold for the compiler's order only. What they keep apart for accesses to memory, which
//!   read their registers late, the design needs a board for ([`AccessReads`](crate::boards::AccessReads)).
//! - **Reuse bits** keep an operand for the next instruction in the compiler's order. In another one an older value could
//!   be found there, so nothing is kept.
//! - **One instruction a cycle** is fetched and decoded in a sub-core: a design's buffers fill as fast as it issues. An
//!   instruction buffer that is not the design's own has as many entries as the modern core's.
//!
//! Designs in order need none of this: [`Modern`] has their boards.
//!
//! - D-OS1: structures are the issue design's; the read guard of its operand collectors is not there.

use crate::modern::{Modern, ModernConfig, UNREAD_BY_SUB_CORES, check_sub_cores};
use config::BranchFetch;
use sm::operands::{Collectors, SubCoreOperands, SubCoreSettings};
use sm::{Allowances, ConfigOf, CoreDesign, CoreSpec, MaskOf, SubCoreFetch, SubCoreMemory};
use std::marker::PhantomData;

/// A design with operand collectors, over the stages of the sub-cores.
#[derive(Debug)]
pub struct OnSubCores<D>(PhantomData<D>);

/// A design with an operand stage of its own, with the front end of the sub-cores.
#[derive(Debug)]
pub struct FedBySubCores<D>(PhantomData<D>);

/// An SM without the promises of control bits, whose sub-cores fetch one instruction at a time.
fn without_promises(spec: &mut CoreSpec) {
    spec.options.times_operations = true;
    spec.sm.issue.stall_counts = Some(false);
    spec.sm.frontend.instructions_per_fetch = 1;
    spec.sm.frontend.buffer_entries = ModernConfig::DEFAULT.instruction_buffer;
}

/// Items of both, from the design `D` and the modern core.
macro_rules! of_both {
    () => {
        const SCHEDULER: Option<&'static str> = Modern::<MaskOf<D>>::SCHEDULER;

        fn branches(config: &ConfigOf<D>, of_gpu: BranchFetch) -> BranchFetch {
            D::branches(config, of_gpu)
        }

        fn allowances(config: &ConfigOf<D>) -> Allowances {
            D::allowances(config)
        }

        fn adapt(config: &ConfigOf<D>, spec: &mut CoreSpec) {
            D::adapt(config, spec);
            without_promises(spec);
        }
    };
}

impl<D: CoreDesign<Operands = Collectors>> CoreDesign for OnSubCores<D> {
    type FrontEnd = SubCoreFetch<MaskOf<D>>;
    type Issue = D::Issue;
    type Operands = SubCoreOperands;
    type Execution = D::Execution;
    type Memory = SubCoreMemory;

    const UNREAD: &'static [&'static str] = &UNREAD_BY_SUB_CORES;

    of_both!();

    fn operands(_: &ConfigOf<D>, spec: &CoreSpec) -> SubCoreOperands {
        let ModernConfig { ports, memory_queues, .. } = ModernConfig::DEFAULT;
        SubCoreOperands::new(spec, SubCoreSettings { ports, register_cache: false, memory_queues })
    }

    fn check(config: &ConfigOf<D>, spec: &CoreSpec) -> Result<(), String> {
        check_sub_cores(spec)?;
        SubCoreMemory::check(spec)?;
        if D::operands(config, spec).guards_reads() {
            return Err(
                "operand collectors would have to keep its writes after older reads, and sub-cores have none".into()
            );
        }
        D::check(config, spec)
    }
}

impl<D: CoreDesign> CoreDesign for FedBySubCores<D> {
    type FrontEnd = SubCoreFetch<MaskOf<D>>;
    type Issue = D::Issue;
    type Operands = D::Operands;
    type Execution = D::Execution;
    type Memory = D::Memory;

    const KEEPS_MEMORY_ORDER: bool = D::KEEPS_MEMORY_ORDER;
    const UNREAD: &'static [&'static str] = UNREAD_BY_SUB_CORES.split_at(4).0;

    of_both!();

    fn operands(config: &ConfigOf<D>, spec: &CoreSpec) -> D::Operands {
        D::operands(config, spec)
    }

    fn memory(config: &ConfigOf<D>, spec: &CoreSpec) -> D::Memory {
        D::memory(config, spec)
    }

    fn check(config: &ConfigOf<D>, spec: &CoreSpec) -> Result<(), String> {
        check_sub_cores(spec)?;
        D::check(config, spec)
    }
}

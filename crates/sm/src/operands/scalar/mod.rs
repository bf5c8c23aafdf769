//! The scalar-vector core: work that is the same in all lanes is done once.
//!
//! Q. Liu, Y. Li, Q. Liu, P. Jain, W. Zhang: "Balancing Scalar and Vector Execution on GPU
//! Architectures", after Z. Chen and D. Kaeli (IPDPS 2016). Sections 3.1 and 3.2 in full, 6.1 (half
//! warps) and 6.3.1 (divergence).
//!
//! ```text
//!                      ┌► scalar collectors ◄─ scalar register file ─┐
//!  issue ─ relocation ─┤        │                                    ▼
//!           table      └► vector collectors ◄─ vector register file  broadcast on read
//!                          │  scalar detector
//!                          ├► scalar ALUs (3x clock) ─► write-back ─► scalar register file
//!                          └► vector units           ─► write-back ─► vector register file
//! ```
//!
//! | block of the paper's figure 4 | here |
//! | --- | --- |
//! | scalar detector (3.2.1) | `detector` |
//! | relocation table, scalar register file (3.2.4, 3.2.5, 6.3.1) | `relocation` |
//! | scalar operand collectors (3.2.2) | `collectors`, by [`Route`] |
//! | scalar ALUs (3.2.3) | `units`, as one more pipe ([`Pipe::OF_LAYER`]) |
//!
//! It is orthogonal to the issue design: it changes where an instruction collects its operands and
//! executes, which is settled when it is decoded, in program order.
//!
//! - D-SV1: an instruction all of whose vector operands the relocation table knows to be scalar goes to a
//!   scalar collector. One for which the detector must compare lanes reads them through a vector
//!   collector first, since nowhere else are they seen; the paper's simulator knows the outcome ahead
//!   and sends it to a scalar collector, too: [`ScalarConfig::early`].
//! - D-SV2: a scalar ALU of three times the clock is three slots, each with the interval of the vector
//!   unit, so that it takes the same number of instructions per cycle; latencies are a third, rounded
//!   up.
//! - D-SV3: collectors and ALUs are two to an SM as in the paper; on GPUs with sub-cores, each sub-core
//!   has one at least.
//! - D-SV4: the scalar memory path ([`ScalarConfig::memory`]), of which the paper says nothing beyond its
//!   overview, is the operands and results of loads and stores at one address; they share the
//!   load/store unit and its cache, where such an access is one transaction as it is.
//! - D-SV5: of half-warp granularity the paper says what is detected and that halves are dispatched
//!   alone. Here two scalar halves with equal operands are one operation, else two; a vector unit
//!   that executes one half takes half the interval.
//! - D-SV6: a predicate operand is compared over the lanes as registers are.
//! - D-SV7: operand collectors keep a scalar instruction from writing what an older one of its warp has yet
//!   to read, as they do for designs that ask for it ([`CollectorRules::guards_reads`]). Vector instructions
//!   leave that to their latency, as GPGPU-Sim does; what passes by the banks or takes a third of the
//!   time would write too soon.
//!
//! [`CollectorRules::guards_reads`]: super::CollectorRules::guards_reads

mod detector;
pub(crate) mod parameters;
mod relocation;

use super::Route;
use crate::kernel::ResidentKernel;
use crate::observe::counters::{ClassCounts, DesignStatistic};
use crate::resolved::{Banks, Micro};
use crate::spec::{CoreSpec, Pipe};
use detector::Operand;
use energy::{Each, Structure};
use isa::{Access, Control, DynInst, Inst, OpClass, OperandValues, Program, Space, WarpSlot};
use kit::{CounterGroup, LaneMask, WARP_LANES};
pub use parameters::{Divergence, ScalarConfig};
pub use relocation::Misread;
use relocation::{Relocation, Write};

impl ScalarConfig {
    /// Its hardware structures in an SM of `spec`, beside its ALUs. The scalar register file is an array
    /// of flip-flops here as every small structure is; as a memory it would be several times smaller.
    pub fn structures(&self, spec: &CoreSpec) -> Vec<Structure> {
        let groups = if self.halves { 2 } else { 1 };
        let warps = spec.sm.max_warps as usize;
        let registers = spec.sm.max_registers_per_thread as usize;
        let collectors = spec.layer_collectors() as usize;
        let ports = spec.layer_ports() as usize;
        let (read, write) = (Each::ScalarRead.times(1), Each::ScalarWrite.times(1));
        // Registers are told apart as names of 8 bits, a collector holds three operands.
        vec![
            Structure::new("scalar register file", warps, registers * groups, 32).ports(1, 1).read(read).written(write),
            Structure::new("relocation table", warps, registers, groups)
                .ports(3, 1)
                .read(Each::Source.times(1))
                .written(Each::Result.times(1)),
            Structure::new("scalar operand collector", collectors, 3, 1 + 8 + 32).read(read).written(read),
            Structure::new("scalar detector", ports, 0, 0)
                .compares((WARP_LANES - groups) * 32)
                .searched(Each::Compared.times(1)),
        ]
    }
}

kit::counters! {
    /// The scalar path of an SM.
    pub struct ScalarCounters {
        /// Instructions that some lane executes.
        pub scalar_seen: "warp instructions",
        /// Instructions executed once for all of their lanes.
        pub scalar_instructions: "warp instructions",
        /// Instructions executed once for one half of the warp and by the lanes of the other.
        pub half_scalar_instructions: "warp instructions",
        /// Instructions of kinds that may be scalar.
        pub scalar_eligible: "warp instructions",
        /// Scalar instructions that collected their operands in scalar collectors.
        pub scalar_collected: "warp instructions",
        /// Registers of the vector register file whose lanes were compared.
        pub scalar_compared: "warp operands",
        /// Registers read from the scalar register file.
        pub scalar_reads: "operands",
        /// Registers written to the scalar register file.
        pub scalar_writes: "operands",
        /// Reads of the vector register file that were not needed.
        pub vector_reads_saved: "warp operands",
        /// Writes of the vector register file that were not needed.
        pub vector_writes_saved: "warp operands",
        /// Lanes that did not read the vector register file.
        pub lane_reads_saved: "lane operands",
        /// Lanes that did not write the vector register file.
        pub lane_writes_saved: "lane operands",
        /// Operations that lanes did not do.
        pub lane_operations_saved: "lane operations",
        /// Registers copied from the scalar to the vector register file before some lanes wrote them.
        pub scalar_copies: "warp operands",
        /// Operands of which some lane would get a wrong value.
        pub scalar_misreads: "warp operands",
    }
}

/// For the energy model and the structures of a design.
impl ScalarCounters {
    /// Lanes that write the vector register file beside those that instructions name: a copy writes all.
    pub(crate) fn lane_writes_added(&self) -> u64 {
        self.scalar_copies * WARP_LANES as u64
    }

    /// How often `each` has happened, if that is an event of the scalar path's own.
    pub(crate) fn uses(&self, each: Each) -> u64 {
        match each {
            Each::ScalarRead => self.scalar_reads,
            Each::ScalarWrite => self.scalar_writes,
            Each::Compared => self.scalar_compared,
            _ => 0,
        }
    }
}

/// Counts of the scalar path of an SM.
#[derive(Clone, Debug, Default)]
pub struct ScalarCounts {
    /// Sums over all classes.
    pub counters: ScalarCounters,
    /// Instructions that some lane executes, by class.
    seen: ClassCounts,
    /// Scalar ones among them.
    scalar: ClassCounts,
    /// Half scalar ones among them.
    half_scalar: ClassCounts,
    /// The first wrong value that an instruction would have read.
    pub first_misread: Option<Misread>,
}

impl ScalarCounts {
    /// As reports have them: shares of all instructions and of each class, then the counters.
    pub fn statistics(&self) -> Vec<DesignStatistic> {
        let share = |name, description, count, of| DesignStatistic::count(name, "%", description, count).per(of, 100);
        let (c, seen) = (&self.counters, self.counters.scalar_seen);
        let (scalar, half) = (c.scalar_instructions, c.half_scalar_instructions);
        let mut all = vec![
            share("scalar_share", "Instructions executed once for all of their lanes.", scalar, seen),
            share("half_scalar_share", "Instructions executed once for one half of the warp.", half, seen),
        ];
        for &(class, scalar_name, half_name) in CLASSES {
            let of = |counts: &ClassCounts| counts.0[class as usize];
            let (scalar, half, seen) = (of(&self.scalar), of(&self.half_scalar), of(&self.seen));
            all.push(share(scalar_name, "Scalar ones among the instructions of a class.", scalar, seen));
            all.push(share(half_name, "Half scalar ones among the instructions of a class.", half, seen));
        }
        let counters = ScalarCounters::SCHEMA.iter().zip(c.values());
        all.extend(counters.map(|(&info, count)| DesignStatistic { info, count, per: None }));
        all
    }
}

/// Lanes that are scalar together.
const WARP: &[LaneMask] = &[LaneMask::MAX];
const HALVES: &[LaneMask] = &[LaneMask::MAX >> (WARP_LANES / 2), LaneMask::MAX << (WARP_LANES / 2)];

/// The groups of which lanes are active in `mask`, by number, and these lanes.
fn active(groups: &'static [LaneMask], mask: LaneMask) -> impl Iterator<Item = (usize, LaneMask)> {
    groups.iter().map(move |group| mask & group).enumerate().filter(|&(_, lanes)| lanes != 0)
}

/// The scalar path of an SM, but for its collectors and ALUs.
#[derive(Debug)]
pub(crate) struct ScalarPath {
    config: ScalarConfig,
    groups: &'static [LaneMask],
    banks: u32,
    /// Reads of the instruction that is being decoded.
    pub values: OperandValues,
    operands: Vec<Operand>,
    warps: Box<[Relocation]>,
    pub counts: ScalarCounts,
}

impl ScalarPath {
    /// The scalar path of an SM of `spec`, if it has one.
    pub fn new(spec: &CoreSpec) -> Option<Box<Self>> {
        let config = spec.options.scalar?;
        Some(Box::new(Self {
            config,
            groups: if config.halves { HALVES } else { WARP },
            banks: spec.banks_per_partition(),
            values: OperandValues::default(),
            operands: Vec::new(),
            warps: (0..spec.sm.max_warps).map(|_| Relocation::default()).collect(),
            counts: ScalarCounts::default(),
        }))
    }

    /// A warp with `registers` vector registers and lanes `live` takes a slot.
    pub fn start_warp(&mut self, warp: WarpSlot, live: LaneMask, registers: u16) {
        self.warps[warp.index()].start(live, registers);
    }

    /// An instruction that goes by `route` has issued.
    pub fn on_issue(&mut self, route: Route) {
        self.counts.counters.lane_operations_saved += u64::from(route.lanes_saved);
    }

    /// Settles the way of an instruction of `warp` and changes its timing accordingly. Its operands are
    /// in [`ScalarPath::values`]. Returns the pipe of its unit, too.
    pub fn route(
        &mut self,
        warp: WarpSlot,
        kernel: &ResidentKernel,
        dynamic: &DynInst,
        micro: &mut Micro,
    ) -> (Pipe, Route) {
        let (program, pc) = (&kernel.code.program, dynamic.pc);
        let inst = program.inst(pc);
        let mut route = Route { banks: kernel.code.template(pc).names.banks, ..Route::default() };
        let mut unit = micro.pipe;
        let mask = dynamic.mask;
        let srcs = program.srcs(inst);
        if mask != 0 && self.values.columns.len() == srcs.len() {
            self.counts.counters.scalar_seen += 1;
            self.counts.seen.0[inst.class.whole() as usize] += 1;
            self.read_operands(warp, program, inst, dynamic);
            let eligible = self.is_eligible(inst, dynamic, micro);
            // Groups of lanes whose operands are the same in each.
            let scalar = if eligible { self.scalar_groups(mask) } else { 0 };
            self.skip_reads(mask, &mut route);
            let writes = self.write_results(warp, program, inst, mask, scalar, &mut route);
            unit = self.settle(inst, mask, eligible, scalar, micro, &mut route);
            self.set_banks(&writes, &mut route);
            self.counts.counters.lane_reads_saved += u64::from(route.lane_reads_saved);
            self.counts.counters.lane_writes_saved += u64::from(route.lane_writes_saved);
        }
        if inst.control == Control::Exit {
            self.warps[warp.index()].live &= !mask;
        }
        (unit, route)
    }

    /// Whether the instruction may be scalar: arithmetic, and accesses at one address if there is a
    /// scalar memory path.
    fn is_eligible(&self, inst: &Inst, dynamic: &DynInst, micro: &Micro) -> bool {
        if inst.per_lane || self.config.divergence == Divergence::Compiler && inst.partial {
            return false;
        }
        match micro.mem {
            None => is_arithmetic(inst.class) && Pipe::OF_ARITHMETIC.contains(micro.pipe),
            Some(mem) => {
                self.config.memory
                    && matches!(mem.access, Access::Load | Access::Store)
                    && (matches!(inst.class, OpClass::Load | OpClass::Store) || micro.is_constant_move())
                    && matches!(dynamic.space, Space::Global | Space::Shared | Space::Constant | Space::Param)
            }
        }
    }

    /// Looks each operand up.
    fn read_operands(&mut self, warp: WarpSlot, program: &Program, inst: &Inst, dynamic: &DynInst) {
        let Self { groups, values, operands, warps, counts, .. } = self;
        let table = &warps[warp.index()];
        operands.clear();
        for (&reg, column) in program.srcs(inst).iter().zip(&values.columns) {
            let is_vector = program.regs.is_vector(reg);
            let in_srf = if is_vector { table.scalar_groups(reg) } else { 0 };
            // A register that an instruction names twice is read once.
            if !operands.iter().any(|operand| operand.reg == reg) {
                operands.push(Operand::of(reg, is_vector, in_srf, column, dynamic.mask, groups));
            }
            if is_vector && let Some(misread) = table.misread(reg, column, dynamic.mask, groups) {
                counts.counters.scalar_misreads += 1;
                counts.first_misread.get_or_insert(Misread { warp, pc: dynamic.pc, ..misread });
            }
        }
    }

    /// The groups with active lanes in each of which every operand is the same in all lanes, one bit
    /// each. Groups without an active lane do nothing and are scalar, too.
    fn scalar_groups(&mut self, mask: LaneMask) -> u8 {
        let all = (1 << self.groups.len()) - 1;
        let vector = self.operands.iter().filter(|o| o.is_vector);
        self.counts.counters.scalar_compared += vector.filter(|o| !o.is_in_srf(mask, self.groups)).count() as u64;
        self.operands.iter().fold(all, |groups, operand| groups & operand.same)
    }

    /// Operands that all active lanes find in the scalar register file are not read from the banks.
    fn skip_reads(&mut self, mask: LaneMask, route: &mut Route) {
        for (i, operand) in self.operands.iter().filter(|o| o.is_vector).enumerate() {
            for (_, lanes) in active(self.groups, mask).filter(|(g, _)| operand.in_srf >> g & 1 != 0) {
                self.counts.counters.scalar_reads += 1;
                route.lane_reads_saved += lanes.count_ones() as u16;
            }
            if operand.is_in_srf(mask, self.groups) && i < 64 {
                route.skipped |= 1 << i;
                self.counts.counters.vector_reads_saved += 1;
            }
        }
    }

    /// Updates the relocation table; says which vector registers are written to their banks.
    fn write_results(
        &mut self,
        warp: WarpSlot,
        program: &Program,
        inst: &Inst,
        mask: LaneMask,
        scalar: u8,
        route: &mut Route,
    ) -> Writes {
        let table = &mut self.warps[warp.index()];
        let mut writes = Writes::default();
        let vector = program.dsts(inst).iter().enumerate().filter(|(_, r)| program.regs.is_vector(**r));
        for (i, &reg) in vector {
            let mut to_banks = false;
            for (group, lanes) in active(self.groups, mask) {
                let write = Write { reg, group, of: self.groups[group], lanes };
                let done = table.write(&write, scalar >> group & 1 != 0, self.config.divergence);
                to_banks |= !done.to_scalar_file;
                if done.to_scalar_file {
                    self.counts.counters.scalar_writes += 1;
                    route.lane_writes_saved += lanes.count_ones() as u16;
                }
                if done.copied && i < 64 {
                    route.copied |= 1 << i;
                }
            }
            writes.count += 1;
            writes.to_banks += u64::from(to_banks);
        }
        self.counts.counters.scalar_copies += u64::from(route.copied.count_ones());
        self.counts.counters.vector_writes_saved += writes.count - writes.to_banks;
        writes
    }

    /// Which collector and unit the instruction goes to, and how long it takes there. Returns the pipe of
    /// the unit.
    fn settle(
        &mut self,
        inst: &Inst,
        mask: LaneMask,
        eligible: bool,
        scalar: u8,
        micro: &mut Micro,
        route: &mut Route,
    ) -> Pipe {
        let mut unit = micro.pipe;
        self.counts.counters.scalar_eligible += u64::from(eligible);
        // Groups of which lanes are active, those of them that are scalar, and the lanes of these.
        let (mut groups, mut scalar_groups, mut lanes) = (0, 0, 0);
        for (group, active) in active(self.groups, mask) {
            let is_scalar = scalar >> group & 1;
            groups += 1;
            scalar_groups += is_scalar;
            lanes += is_scalar * active.count_ones() as u8;
        }
        if scalar_groups == 0 {
            return unit;
        }
        let arithmetic = micro.mem.is_none();
        if scalar_groups < groups {
            self.counts.counters.half_scalar_instructions += 1;
            self.counts.half_scalar.0[inst.class.whole() as usize] += 1;
            if arithmetic {
                route.lanes_saved = lanes - 1;
                micro.initiation_cycles = micro.initiation_cycles.div_ceil(2);
            }
            return unit;
        }
        self.counts.counters.scalar_instructions += 1;
        self.counts.scalar.0[inst.class.whole() as usize] += 1;
        // Groups with equal operands are one.
        let alike = self.operands.iter().all(|operand| operand.same_everywhere);
        let operations = if alike { 1 } else { groups };
        if arithmetic {
            route.lanes_saved = lanes - operations;
            if self.config.alus > 0 {
                unit = Pipe::OF_LAYER;
                micro.latency_cycles = micro.latency_cycles.div_ceil(self.config.clock as u16);
                micro.initiation_cycles *= u16::from(operations);
            }
        }
        let vector = self.operands.iter().filter(|o| o.is_vector).count() as u32;
        let known = self.config.early || route.skipped.count_ones() == vector;
        if known && route.copied == 0 {
            self.counts.counters.scalar_collected += 1;
            self.counts.counters.vector_reads_saved += u64::from(vector - route.skipped.count_ones());
            micro.pipe = Pipe::OF_LAYER;
            route.lane_reads_saved = vector as u16 * mask.count_ones() as u16;
            route.skipped = if vector == 0 { 0 } else { u64::MAX >> (64 - vector.min(64)) };
        }
        unit
    }

    /// Leaves in `route` the banks that are still read and written.
    fn set_banks(&self, writes: &Writes, route: &mut Route) {
        if route.skipped != 0 || route.copied != 0 {
            let bank = |reg: u16| 1u64 << (u32::from(reg) % self.banks);
            let vector = self.operands.iter().filter(|o| o.is_vector).enumerate();
            let mut banks = Banks { writes: route.banks.writes, ..Banks::default() };
            let read = vector.filter(|&(i, _)| i >= 64 || route.skipped >> i & 1 == 0);
            read.for_each(|(_, operand)| banks.add_read(bank(operand.reg.0)));
            route.banks = banks;
        }
        if writes.count > 0 && writes.to_banks == 0 {
            route.skips_writes = true;
            route.banks.writes = 0;
        }
    }
}

/// Vector registers that an instruction writes.
#[derive(Clone, Copy, Debug, Default)]
struct Writes {
    count: u64,
    to_banks: u64,
}

macro_rules! classes {
    ($($class:ident = $name:literal,)*) => {
        /// Classes of which instructions may be scalar, with the names of their shares. Parts of a class
        /// ([`OpClass::part_of`]) count as the class.
        const CLASSES: &[(OpClass, &str, &str)] =
            &[$((OpClass::$class, concat!("scalar_share_", $name), concat!("half_scalar_share_", $name)),)*];
    };
}

classes! {
    Move = "move",
    IntAdd = "int_add",
    IntMinMax = "int_min_max",
    IntMul = "int_mul",
    IntMad = "int_mad",
    Convert = "convert",
    Half = "half",
    FpAdd = "fp_add",
    FpMinMax = "fp_min_max",
    FpMul = "fp_mul",
    FpFma = "fp_fma",
    Load = "load",
    Store = "store",
}

/// The paper's regular arithmetic, as far as it executes where integers and single precision
/// do.
fn is_arithmetic(class: OpClass) -> bool {
    !matches!(class, OpClass::Load | OpClass::Store) && CLASSES.iter().any(|&(known, ..)| known == class.whole())
}

kit::persist! {
    struct ScalarCounts { counters, seen, scalar, half_scalar, first_misread }
    struct ScalarPath { counts; skip config, groups, banks, values, operands, warps }
}

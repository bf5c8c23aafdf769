//! Hardware of a fabric core: its parts with area and leakage, and the energies of its events.
//!
//! The sizes are those of the timing model: entries, units, links, switches, stages. Ports and links have words of 32
//! bits, as the paper's (§5.1), and a tag. Buffers, registers and multiplexers are cells of a library
//! ([`energy::Storage`]), arithmetic blocks and SRAM have published areas ([`energy::logic`]), wires a published energy
//! per bit and millimetre ([`energy::wire`]). Readings:
//! - H1. The length of a link follows from the area of a tile, a square: a unit with its buffers and its share of
//!   switches and registers. Cells only: a layout is larger, and its wires longer.
//! - H2. A compute unit has an adder, logic, a shifter, a multiplier, and a floating-point adder and multiplier, with
//!   registers for as many stages as the latency of a fused multiply-add. Double precision has no block of its own.
//! - H3. The injector has a register for each value of a thread that may be sent: seven.
//! - H4. A word to or from L1 travels half the width and half the height of the fabric, beside the multiplexers.
//! - H5. The static power of the GPU's cores has the leakage of arithmetic blocks and of L1, and stays as it is; all
//!   other parts leak in addition, although a fabric has no register file that leaks.
//! - H6. Masks of threads, and what the sequencer keeps of them, have no area and no energy.

use crate::config::{SgmfConfig, Timing};
use crate::kind::{Kind, unit_counts};
use dataflow::configuration::{SWITCH, register_bits};
use dataflow::fabric::{Fabric, UnitKind};
use energy::logic::{BLOCKS, Block, SRAM, sram_um2};
use energy::{Component, Cost, Event, Hardware, HardwarePart, Storage, wire};
use isa::OpClass;

/// Bits of the value of a port or a link.
const WORD: usize = 32;
/// Links that begin and that end at a unit or a switch.
const LINKS_OF_ONE: usize = 8;
/// Values that the injector may send of a thread: its position and that of its CTA, and whether it takes part.
const INJECTED: usize = 7;
/// Bits of an address that L1 compares.
const ADDRESS: u32 = 32;
/// Bits of a line of L1 that say whether it is valid and dirty.
const LINE_STATE: u32 = 2;
const LINE_BYTES: u32 = 128;

/// The hardware of a core of `config`, whose fabric is `fabric` and whose units have the latencies of `timing`, in a
/// process of `node_nm` at `volts`.
pub fn hardware(config: &SgmfConfig, fabric: &Fabric, timing: &Timing, node_nm: f64, volts: f64) -> Hardware {
    let parts = Parts { config, fabric, timing, node_nm, volts };
    let tiles: Vec<HardwarePart> = [parts.units(), parts.buffers(), parts.control(), parts.interconnect()].concat();
    let tile_um2 = tiles.iter().map(|part| part.area_um2).sum::<f64>() / fabric.units().len() as f64;
    let pitch_mm = tile_um2.sqrt() * 1e-3;
    Hardware {
        events_pj: parts.events(pitch_mm),
        notes: vec![
            capacity(config, fabric),
            format!("a tile is a square of {pitch_mm:.3} mm: cells only, without wires"),
        ],
        parts: [tiles, parts.around()].concat(),
    }
}

/// Bytes of the token buffers of a fabric, of 4 bytes an entry (§5.1): the paper's "~18 KB" of 16 entries.
fn buffer_bytes(config: &SgmfConfig, fabric: &Fabric) -> u64 {
    let ports: usize = fabric.units().iter().map(|unit| unit.kind.ports()).sum();
    4 * ports as u64 * u64::from(config.entries)
}

/// The values that token buffers hold beside a register file (§5.1: "~18 KB", "~37 %" of 48 KB; Fermi has 128 KB).
fn capacity(config: &SgmfConfig, fabric: &Fabric) -> String {
    let bytes = buffer_bytes(config, fabric);
    let ports: usize = fabric.units().iter().map(|unit| unit.kind.ports()).sum();
    let percent = |of: f64| 100.0 * bytes as f64 / of;
    format!(
        "{ports} token buffers of {} values of 4 bytes: {:.1} kB, {:.1} % of the 48 kB that the paper takes for Fermi's register file, {:.1} % of its 128 KiB",
        config.entries,
        bytes as f64 / 1e3,
        percent(48e3),
        percent(131_072.0)
    )
}

/// Share of the energy of a whole line that the tags of L1 take: all ways compare, and a line of one is read.
pub(crate) fn tag_share(l1_kib: u32) -> f64 {
    const WAYS: u32 = 4;
    let sets = (2 * l1_kib).max(1);
    let tags = WAYS * (ADDRESS - LINE_BYTES.ilog2() - sets.ilog2() + LINE_STATE);
    f64::from(tags) / f64::from(tags + 8 * LINE_BYTES)
}

struct Parts<'a> {
    config: &'a SgmfConfig,
    fabric: &'a Fabric,
    timing: &'a Timing,
    node_nm: f64,
    volts: f64,
}

impl Parts<'_> {
    fn units_of(&self, kind: Kind) -> usize {
        unit_counts(self.fabric)[kind as usize] as usize
    }

    fn token(&self) -> usize {
        WORD + self.config.tag_bits() as usize
    }

    /// Ports of all units.
    fn ports(&self) -> usize {
        self.fabric.units().iter().map(|unit| unit.kind.ports()).sum()
    }

    fn stages(&self) -> usize {
        self.timing.classes[OpClass::FpFma as usize] as usize
    }

    fn cost(&self, storage: Storage) -> Cost {
        storage.cost(self.node_nm, self.volts)
    }

    fn stored(&self, name: &'static str, component: Component, instances: usize, storage: Storage) -> HardwarePart {
        HardwarePart::stored(name, component, instances, storage, &self.cost(storage))
    }

    fn block(&self, name: &'static str, component: Component, instances: usize, blocks: &[Block]) -> HardwarePart {
        let um2 = blocks.iter().map(|block| block.um2(self.node_nm)).sum();
        HardwarePart::block(name, component, instances, um2, BLOCKS)
    }

    fn multiplexer(&self, name: &'static str, instances: usize, inputs: usize, bits: usize) -> HardwarePart {
        let cost = Storage::multiplexer(inputs, bits, self.node_nm, self.volts);
        HardwarePart::stored(name, Component::Interconnect, instances, Storage::default(), &cost)
    }

    /// Arithmetic, and the registers of its pipelines.
    fn units(&self) -> Vec<HardwarePart> {
        use Component::{FpLanes, IntLanes, Pipeline, SfuLanes};
        let compute = self.units_of(Kind::Compute);
        let blocks = |kind: UnitKind| self.fabric.counts()[kind as usize] * self.config.dividers as usize;
        let stage = row(self.token());
        vec![
            self.block("ALUs", IntLanes, compute, &[Block::IntAdd, Block::Logic, Block::Shift]),
            self.block("integer multipliers", IntLanes, compute, &[Block::IntMul]),
            self.block("FPUs", FpLanes, compute, &[Block::FpAdd, Block::FpMul]),
            self.block("integer dividers", IntLanes, blocks(UnitKind::IntDivider), &[Block::IntMul]),
            self.block("floating-point dividers", FpLanes, blocks(UnitKind::FpDivider), &[Block::FpMul]),
            self.block("roots", SfuLanes, blocks(UnitKind::Root), &[Block::Function]),
            self.block("address adders", IntLanes, self.units_of(Kind::Memory), &[Block::IntAdd]),
            self.stored("pipelines of compute units", Pipeline, compute * self.stages(), stage),
            self.stored("pipelines of control units", Pipeline, self.units_of(Kind::Control), stage),
        ]
    }

    /// Buffers of tokens and threads.
    fn buffers(&self) -> Vec<HardwarePart> {
        use Component::TokenBuffers;
        let entries = self.config.entries as usize;
        let token = ram(entries, WORD + self.config.stored_tag_bits() as usize);
        let reserving = self.units_of(Kind::Memory) + self.units_of(Kind::Special);
        let fifo = ram(self.fabric.spec().fifo as usize, self.token());
        vec![
            self.stored("token buffers", TokenBuffers, self.ports(), token),
            self.stored("reservation buffers", TokenBuffers, reserving, ram(entries, self.token())),
            self.stored("delay FIFOs", TokenBuffers, self.units_of(Kind::Control), fifo),
        ]
    }

    /// Control of units, and configuration registers.
    fn control(&self) -> Vec<HardwarePart> {
        use Component::{Configuration, UnitControl};
        let control = |(kind, ports, name): (Kind, UnitKind, &'static str)| {
            let storage = Storage { compared_bits: self.compared(ports), ..self.presence(ports) };
            self.stored(name, UnitControl, self.units_of(kind), storage)
        };
        let kinds = [
            (Kind::Compute, UnitKind::Compute, "control of compute units"),
            (Kind::Control, UnitKind::Control, "control of control units"),
            (Kind::Memory, UnitKind::LoadStore, "control of load/store units"),
            (Kind::Special, UnitKind::Root, "control of special units"),
        ];
        let registers: usize =
            self.fabric.units().iter().map(|unit| register_bits(unit.kind.ports() as u64)).sum::<u64>() as usize;
        let (columns, rows) = self.fabric.switches();
        let switches = usize::from(columns) * usize::from(rows);
        let mut parts = kinds.map(control).to_vec();
        parts.push(self.stored("configuration of units", Configuration, 1, row(registers)));
        parts.push(self.stored("configuration of switches", Configuration, switches, row(SWITCH as usize)));
        parts
    }

    /// Which entries hold a token, by port.
    fn presence(&self, kind: UnitKind) -> Storage {
        Storage { matrix: true, ..row_of(self.config.entries as usize, kind.ports()) }
    }

    /// Bits of tags that a token is compared with.
    fn compared(&self, kind: UnitKind) -> usize {
        (kind.ports() - 1) * self.config.stored_tag_bits() as usize
    }

    fn interconnect(&self) -> Vec<HardwarePart> {
        use Component::Interconnect;
        let (columns, rows) = self.fabric.switches();
        let switches = usize::from(columns) * usize::from(rows);
        let registers = self.fabric.links().len() * self.config.hop_cycles as usize;
        vec![
            self.stored("registers of links", Interconnect, registers, row(self.token())),
            self.multiplexer("switches", switches * LINKS_OF_ONE, LINKS_OF_ONE, self.token()),
            self.multiplexer("choice of links at ports", self.ports(), LINKS_OF_ONE, self.token()),
        ]
    }

    /// Parts beside the tiles.
    fn around(&self) -> Vec<HardwarePart> {
        let (units, banks) = (self.units_of(Kind::Memory), self.config.l1_banks as usize);
        let lines = self.config.l1_kib * 1024 / LINE_BYTES;
        let state = ADDRESS - LINE_BYTES.ilog2() - (lines / 4).max(1).ilog2() + LINE_STATE;
        let bits = (lines * (8 * LINE_BYTES + state)) as usize;
        let mut l1 = HardwarePart::block("L1", Component::L1, 1, sram_um2(bits, self.node_nm), SRAM);
        l1.bits = bits;
        vec![
            self.stored("injector", Component::UnitControl, INJECTED, row(self.token())),
            self.multiplexer("crossbar to banks of L1", banks, units, ADDRESS as usize + self.token()),
            self.multiplexer("crossbar from banks of L1", units, banks, self.token()),
            l1,
        ]
    }

    /// Picojoules of each event, a tile being a square of `pitch_mm`.
    fn events(&self, pitch_mm: f64) -> Vec<(Event, f64)> {
        let entries = self.config.entries as usize;
        let (buffer, fifo, bit) =
            (self.cost(ram(entries, 1)), self.cost(ram(self.fabric.spec().fifo as usize, 1)), self.cost(row(1)));
        let multiplexer = |inputs| Storage::multiplexer(inputs, 1, self.node_nm, self.volts).read_pj;
        let compute = UnitKind::Compute;
        // The tags are read at all ports but the one at which the token arrives.
        let compared = self.cost(Storage { compared_bits: self.compared(compute), ..Storage::default() });
        let tags = self.compared(compute) as f64 * buffer.read_pj;
        let presence = self.cost(self.presence(compute));
        let (columns, rows) = (f64::from(self.fabric.spec().columns), f64::from(self.fabric.spec().rows));
        let to_l1 = wire::bit_pj(pitch_mm * (columns + rows) / 2.0, self.volts);
        vec![
            (Event::TokenWrite, multiplexer(LINKS_OF_ONE) + buffer.write_pj),
            (Event::TokenRead, buffer.read_pj),
            (Event::ReservationWrite, buffer.write_pj),
            (Event::ReservationRead, buffer.read_pj),
            (Event::FifoBit, fifo.write_pj + fifo.read_pj),
            (Event::TokenMatch, compared.search_pj + tags),
            (Event::UnitFiring, presence.search_pj + presence.write_pj),
            (Event::InjectedBit, bit.write_pj),
            (Event::UnitStage, bit.write_pj),
            (Event::LinkBit, bit.write_pj),
            (Event::WireBit, wire::bit_pj(pitch_mm, self.volts)),
            (Event::SwitchBit, multiplexer(LINKS_OF_ONE)),
            (Event::BankBit, multiplexer(self.config.l1_banks as usize) + to_l1),
            (Event::ConfigurationBit, bit.write_pj),
        ]
    }
}

/// A memory with a port for reads and one for writes.
const fn ram(entries: usize, bits: usize) -> Storage {
    Storage { read_ports: 1, ..row_of(entries, bits) }
}

/// Entries that can be written and are read all at once.
const fn row_of(entries: usize, bits: usize) -> Storage {
    Storage { entries, bits, read_ports: 0, write_ports: 1, compared_bits: 0, matrix: false }
}

/// A register.
const fn row(bits: usize) -> Storage {
    row_of(1, bits)
}

#[cfg(test)]
mod tests {
    use super::*;
    use dataflow::fabric::FabricSpec;

    /// §5.1: "~18 KB, which is ~37 % of the 48 KB RF". Fermi's register file has 128 KB: 14 %.
    #[test]
    fn the_token_buffers_have_the_paper_s_size() {
        let bytes = buffer_bytes(&SgmfConfig::default(), &Fabric::new(FabricSpec::default()).expect("the paper's"));
        assert_eq!(bytes, 280 * 64);
        assert_eq!(bytes * 1000 / (48 << 10), 364);
        assert_eq!(bytes * 1000 / 48_000, 373, "37.3 % of 48,000 bytes");
        assert_eq!(bytes * 100 / (128 << 10), 13);
    }
}

//! Energy and area of the dataflow core: events times energies are the total, and both follow from its structures.

use energy::{Component, Event, Hardware};
use lab::design_cost::Process;
use lab::energy::EnergyModel;
use lab::{Job, Report, Setup, Stats, Unattended, hardware, run};
use std::collections::BTreeMap;
use workloads::Form;

fn setup(core: &str) -> Setup {
    Setup { core: core.into(), code: Form::Ptx, ..Setup::new(config::load("gtx480").unwrap()) }
}

fn report(core: &str, name: &str) -> Report {
    let job = Job::Workload { name: name.into(), size: workloads::Size::Small, params: BTreeMap::new(), seed: 1 };
    run(&setup(core), &job, &mut Unattended).unwrap_or_else(|e| panic!("{name}: {e}"))
}

fn joules(stats: &Stats, component: Component) -> f64 {
    stats.number(&format!("energy.{}", component.name()))
}

fn agree(a: f64, b: f64, of: &str) {
    assert!((a - b).abs() <= 1e-9 * a.abs(), "{of}: {a} and {b}");
}

fn made_of(core: &str) -> (Hardware, EnergyModel) {
    let setup = setup(core);
    let model = EnergyModel::of(&setup.gpu).unwrap().unwrap();
    let hardware = hardware(&setup, Process::from(model.coefficients())).unwrap().expect("a fabric");
    (hardware.clone(), model.on(&hardware))
}

/// The statistics of a report that count events of a fabric.
const COUNTS: [(Event, &str); 14] = [
    (Event::TokenWrite, "token_bits"),
    (Event::TokenRead, "token_bits_read"),
    (Event::ReservationWrite, "reserved_bits"),
    (Event::ReservationRead, "reserved_bits_read"),
    (Event::FifoBit, "fifo_bits"),
    (Event::TokenMatch, "matches"),
    (Event::UnitFiring, "firings"),
    (Event::InjectedBit, "injected_bits"),
    (Event::UnitStage, "stage_bits"),
    (Event::LinkBit, "hop_bits"),
    (Event::WireBit, "wire_bits"),
    (Event::SwitchBit, "switched_bits"),
    (Event::BankBit, "bank_bits"),
    (Event::ConfigurationBit, "configured_bits"),
];

/// Requirement 6 of the design's page: what reports count, times the energies, is the energy of each component, and
/// these are the total.
#[test]
fn events_times_energies_are_the_total() {
    let (hardware, model) = made_of("sgmf");
    let price = |event: Event| model.coefficients().events_pj[event] * 1e-12;
    for name in ["nn", "bfs", "backprop", "gaussian", "pathfinder"] {
        let total = report("sgmf", name).total;
        let count = |statistic: &str| total.number(&format!("design.fabric.{statistic}"));
        let fabric =
            [Component::Interconnect, Component::TokenBuffers, Component::UnitControl, Component::Configuration];
        for component in fabric.into_iter().chain([Component::Pipeline]) {
            let of = COUNTS.iter().filter(|(event, _)| event.component() == component);
            let expected: f64 = of.map(|&(event, statistic)| count(statistic) * price(event)).sum();
            assert!(expected > 0.0, "{name}: {}", component.name());
            agree(joules(&total, component), expected, component.name());
        }
        let lanes = [Component::IntLanes, Component::FpLanes, Component::DpLanes, Component::SfuLanes];
        let works = isa::Work::ALL.iter().filter_map(|&work| Some((work, gpu::event_of(work)?)));
        let of_works = works.map(|(work, event)| total.number(&format!("design.works.{}", work.name())) * price(event));
        agree(lanes.iter().map(|&c| joules(&total, c)).sum(), of_works.sum(), "lanes");
        let cycles = total.number("total_time") * 1e-6;
        let static_watts = model.coefficients().static_watts(&energy::Activity { sms: 15.0, ..Default::default() });
        let active = total.number("design.fabric.active_cycles") / 15.0 / total.number("total_cycles");
        let leaks = hardware.leakage_watts(15);
        assert!(leaks > 0.0);
        agree(joules(&total, Component::Static), (static_watts * active + leaks) * cycles, "static");
        let sum = |which: fn(&&Component) -> bool| {
            Component::ALL.iter().filter(which).map(|&c| joules(&total, c)).sum::<f64>()
        };
        agree(sum(|_| true), total.number("energy.total"), "components");
        agree(sum(|c| c.is_management()), total.number("energy.management"), "management");
    }
}

/// Every token leaves what it enters, on real kernels too; masks and loops included.
#[test]
fn what_is_written_is_read() {
    for name in ["bfs", "pathfinder", "histogram"] {
        let total = report("sgmf:entries=4", name).total;
        let count = |statistic: &str| total.number(&format!("design.fabric.{statistic}"));
        assert_eq!(count("token_bits"), count("token_bits_read"), "{name}");
        assert_eq!(count("reserved_bits"), count("reserved_bits_read"), "{name}");
        assert!(count("tokens") >= count("matches") && count("hops") > count("tokens") / 2.0, "{name}");
        assert!(count("bank_reads") + count("bank_writes") >= total.number("l1d.accesses"), "{name}");
        for share in ["link_utilisation", "reservation_occupancy", "configuration_share"] {
            assert!((0.0..=100.0).contains(&count(share)) && count(share) > 0.0, "{name}: {share}");
        }
    }
}

/// A fabric has no events of a register file, a scheduler or a front end, an SM none of links and token buffers.
#[test]
fn each_machine_pays_for_what_it_has() {
    let [sm, fabric] = ["inorder", "sgmf"].map(|core| report(core, "nn").total);
    use Component as C;
    let of_sm = [C::RegisterFile, C::Scheduler, C::InstructionBuffer, C::InstructionCache];
    let of_fabric = [C::Interconnect, C::TokenBuffers, C::UnitControl, C::Configuration];
    for (own, other, components) in [(&sm, &fabric, of_sm), (&fabric, &sm, of_fabric)] {
        for component in components {
            assert!(joules(own, component) > 0.0 && joules(other, component) == 0.0, "{}", component.name());
        }
    }
    let [both, none] = [C::FpLanes, C::SfuLanes].map(|c| [joules(&sm, c), joules(&fabric, c)]);
    assert_eq!((both[0], none[0]), (both[1], none[1]), "the same arithmetic, the same energies");
}

#[test]
fn prices_and_areas_follow_the_sizes() {
    let (base, _) = made_of("sgmf");
    let price = |of: &Hardware, event| of.events_pj.iter().find(|(e, _)| *e == event).unwrap().1;
    let area = |of: &Hardware, component| of.by_component().iter().find(|(c, _)| *c == component).unwrap().1;
    assert_eq!(base.events_pj.len(), COUNTS.len());
    assert!(COUNTS.iter().all(|(event, _)| event.is_of_fabric() && price(&base, *event) > 0.0));
    let of = |core: &str| made_of(core).0;
    let entries = of("sgmf:entries=64");
    assert!(area(&entries, Component::TokenBuffers) > 3.0 * area(&base, Component::TokenBuffers));
    assert!(price(&entries, Event::TokenRead) > price(&base, Event::TokenRead));
    assert!(price(&entries, Event::WireBit) > price(&base, Event::WireBit), "larger tiles are farther apart");
    let diagonal = of("sgmf:switch_links=diagonal");
    assert_eq!(diagonal.parts, base.parts);
    let small = of("sgmf:columns=10");
    assert!(small.area_mm2() < base.area_mm2() && area(&small, Component::L1) == area(&base, Component::L1));
    let cache = of("sgmf:l1_kib=16");
    assert!(area(&cache, Component::L1) < area(&base, Component::L1) / 3.0);
    let dividers = of("sgmf:dividers=16");
    assert!(area(&dividers, Component::SfuLanes) == 2.0 * area(&base, Component::SfuLanes));
    let sum: f64 = base.by_component().iter().map(|(_, mm2)| mm2).sum();
    agree(sum, base.area_mm2(), "area");
    // §5.1: about 18 KB, about 37 % of 48.
    let capacity = &base.notes[0];
    for part in ["280 token buffers of 16", "17.9 kB, 37.3 %", "13.7 %"] {
        assert!(capacity.contains(part), "{capacity}");
    }
}

/// Coefficients of a file win over those that follow from structures.
#[test]
fn a_file_may_give_energies_of_a_fabric() {
    let text = include_str!("../../../energies/gtx480.toml").replace("decode = ", "link_bit = 7\ndecode = ");
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), text).unwrap();
    let setup = setup("sgmf");
    let model = EnergyModel::named(file.path(), &setup.gpu).unwrap();
    let hardware = hardware(&setup, Process::from(model.coefficients())).unwrap().unwrap();
    let events = model.on(&hardware).coefficients().events_pj;
    assert_eq!(events[Event::LinkBit], 7.0);
    assert!(events[Event::SwitchBit] > 0.0 && events[Event::SwitchBit] < 1.0);
}

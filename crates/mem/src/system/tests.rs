use super::*;
use crate::InStep;
use crate::testing::small_gpu;
use crate::{Level, Request, RequestKind};
use kit::Ring;
use proptest::prelude::*;

fn request(kind: RequestKind, address: u64, token: u32) -> Request {
    Request::new(kind, address, 32, token)
}

fn read(address: u64, token: u32) -> Request {
    request(RequestKind::Read, address, token)
}

fn ports(config: &GpuConfig) -> Vec<Port> {
    vec![Port::default(); config.sm_count as usize]
}

/// Advances from event to event until nothing is under way; gives (SM, cycle, reply) in order.
fn drain(system: &mut InStep, ports: &mut [Port]) -> Vec<(usize, Cycle, Request)> {
    let mut answers = Vec::new();
    for _ in 0..10_000_000 {
        let due = system.next_event(ports);
        if due == NEVER {
            break;
        }
        system.advance(due, ports);
        for (sm, port) in ports.iter_mut().enumerate() {
            while let Some((cycle, answer)) = port.inbox.pop_front() {
                answers.push((sm, cycle, answer));
            }
        }
    }
    assert!(system.is_idle(), "everything has come to an end");
    answers
}

/// Latency of a single read at `at` on an otherwise idle system.
fn latency(system: &mut InStep, ports: &mut [Port], at: Cycle, address: u64) -> Cycle {
    ports[0].outbox.push_back((at, read(address, 7)));
    let answers = drain(system, ports);
    assert_eq!(answers.len(), 1);
    answers[0].1 - at
}

/// Core cycles from request to reply on a hit: out of the outbox (1), into the slice (1), the
/// latency path, out of it (0), look-up (1), to the reply crossbar (1), out of it (1), visible (1).
fn l2_hit_latency(config: &GpuConfig) -> Cycle {
    6 + u64::from(config.l2.latency_cycles)
}

#[test]
fn an_l2_hit_takes_what_its_path_adds_up_to() {
    for gpu in ["accel-sim/rtx2060s", "accel-sim/v100", "accel-sim/rtx3070"] {
        let config = config::load(gpu).unwrap();
        let (mut system, mut ports) = (InStep::new(&config), ports(&config));
        system.system.copy_to_device(0x1_0000, 4096);
        for (at, address) in [(0, 0x1_0000), (5000, 0x1_0080)] {
            assert_eq!(latency(&mut system, &mut ports, at, address), l2_hit_latency(&config), "{gpu}");
        }
        let counters = system.counters();
        assert_eq!((counters.l2.read_hits, counters.dram.requests), (2, 0));
    }
}

/// Each SM is near one half of the slices, and takes the extra latency to each of the other half, textures too.
#[test]
fn an_l2_hit_in_the_other_half_takes_longer_by_its_distance() {
    for gpu in ["accel-sim/rtx2060s", "accel-sim/v100"] {
        let mut config = config::load(gpu).unwrap();
        let near = l2_hit_latency(&config);
        config.l2.far_latency_cycles = Some(57);
        let (mut system, mut ports) = (InStep::new(&config), ports(&config));
        system.system.copy_to_device(0, 1 << 16);
        let slices = system.system.topology.map.slices() as usize;
        let (mut at, mut seen) = (0, [0, 0]);
        let level = |far| if far { Level::L2Far } else { Level::L2 };
        for line in 0..512 {
            let address = 128 * line;
            let upper = 2 * system.system.topology.map.slice_of(address) as usize >= slices;
            for (sm, kind) in [
                (0, RequestKind::Read),
                (ports.len() / 2 - 1, RequestKind::Read),
                (ports.len() / 2, RequestKind::Read),
                (ports.len() - 1, RequestKind::Texture),
            ] {
                ports[sm].outbox.push_back((at, request(kind, address, 7)));
                let answers = drain(&mut system, &mut ports);
                let far = upper != (sm >= ports.len() / 2);
                assert_eq!(answers[0].1 - at, near + if far { 57 } else { 0 }, "{gpu}: SM {sm}, line {line}");
                assert_eq!(answers[0].2.from, level(far), "{gpu}: SM {sm}, line {line}");
                seen[usize::from(far)] += 1;
                at += 1000;
            }
        }
        assert!(seen.iter().all(|&n| n > 500), "{gpu}: {seen:?}");
    }
}

/// With all clocks equal: what DRAM adds to a hit, by the state of the row.
#[test]
fn dram_adds_its_latencies_by_the_state_of_the_row() {
    let config = small_gpu();
    let t = &config.dram.timing;
    let (mut system, mut ports) = (InStep::new(&config), ports(&config));
    // After the look-up (0): to the DRAM queue (1), into the latency queue (1), the latency, seen by
    // the scheduler (1), read to data, to the slice (1), filled (0), replied (1).
    let row_hit = u64::from(config.dram.latency_cycles + t.tCL) + 5;
    let (rcd, rp) = (u64::from(t.tRCD), u64::from(t.tRP));
    let base = l2_hit_latency(&config);
    let row = |row: u64| row << 13;
    assert_eq!(latency(&mut system, &mut ports, 1000, row(0)), base + row_hit + rcd, "closed row");
    assert_eq!(latency(&mut system, &mut ports, 2000, row(0) + 64), base + row_hit, "open row");
    assert_eq!(latency(&mut system, &mut ports, 3000, row(1)), base + row_hit + rcd + rp, "another row");
    let dram = system.counters().dram;
    assert_eq!((dram.activates, dram.precharges, dram.read_commands, dram.row_hits), (2, 1, 3, 1));
    // Of each read all but the way to the latency queue (2) and the reply after the fill (1).
    assert_eq!((dram.reads, dram.read_latency), (3, 3 * (row_hit - 3) + 2 * rcd + rp));
}

#[test]
fn writes_are_acknowledged_and_write_backs_are_not() {
    let config = small_gpu();
    let (mut system, mut ports) = (InStep::new(&config), ports(&config));
    ports[0].outbox.push_back((0, request(RequestKind::Write, 0x40, 1)));
    ports[0].outbox.push_back((0, request(RequestKind::WriteBack, 0x80, 2)));
    ports[1].outbox.push_back((0, request(RequestKind::Atomic, 0x40, 3)));
    let answers = drain(&mut system, &mut ports);
    let mut tokens: Vec<_> = answers.iter().map(|a| (a.0, a.2.kind, a.2.token)).collect();
    tokens.sort_by_key(|t| t.2);
    assert_eq!(tokens, [(0, RequestKind::Write, 1), (1, RequestKind::Atomic, 3)]);
    assert_eq!(system.counters().partitions.atomics, 1);
}

/// Both SMs of a cluster ask in each of four cycles, for data in slices of their own.
#[test]
fn the_sms_of_a_cluster_share_a_port_and_go_first_in_turn() {
    let run = |sms_per_cluster| {
        let config = GpuConfig { sms_per_cluster, ..small_gpu() };
        let (mut system, mut ports) = (InStep::new(&config), ports(&config));
        system.system.copy_to_device(0, 4096);
        let far = (0..32)
            .map(|i| i * 128)
            .find(|&a| system.system.topology.map.slice_of(a) != system.system.topology.map.slice_of(0))
            .unwrap();
        for cycle in 0..4 {
            ports[0].outbox.push_back((cycle, read(0, cycle as u32)));
            ports[1].outbox.push_back((cycle, read(far, cycle as u32)));
        }
        let mut cycles: Vec<_> = drain(&mut system, &mut ports).iter().map(|a| a.1).collect();
        cycles.dedup();
        cycles.len()
    };
    assert_eq!(run(1), 4, "each SM takes an answer per cycle");
    assert_eq!(run(2), 8, "one answer per cycle for both");
    let first = |stamps: [Cycle; 2]| {
        let inputs = stamps.map(|stamp| {
            let mut input = Ring::new();
            input.push_back((stamp, read(0, 0)));
            input
        });
        requests::oldest_request(&inputs).unwrap().0
    };
    assert_eq!([first([6, 7]), first([7, 6])], [0, 1], "the older one");
    assert_eq!([first([6, 6]), first([7, 7])], [0, 1], "of one cycle, the SM whose turn it is");
}

#[test]
fn a_line_is_served_by_sectors_and_answered_once() {
    let config = small_gpu();
    let (mut system, mut ports) = (InStep::new(&config), ports(&config));
    let line = Request { bytes: 128, kind: RequestKind::Instruction, ..read(0x200, 5) };
    ports[0].outbox.push_back((0, line));
    let answers = drain(&mut system, &mut ports);
    let reply = Request { from: Level::Dram, ..line };
    assert_eq!(answers.iter().map(|a| a.2).collect::<Vec<_>>(), [reply]);
    assert_eq!(system.counters().partitions.parts, 4);
    assert_eq!(system.counters().replies.packets, 4);
}

/// Of lines in different slices, a cycle brings one as one packet, and a sector of one by sectors.
#[test]
fn a_whole_line_crosses_as_one_packet() {
    const LINES: u64 = 8;
    let config = small_gpu();
    let run = |whole| {
        let (mut system, mut ports) = (InStep::new(&config), ports(&config));
        system.system.copy_to_device(0, 128 * LINES);
        (0..LINES).for_each(|i| {
            ports[0].outbox.push_back((i, Request { bytes: 128, whole, ..read(128 * i, i as u32) }));
        });
        let mut answers = drain(&mut system, &mut ports);
        answers.sort_by_key(|answer| answer.1);
        let replies = system.counters().replies;
        assert_eq!(system.counters().partitions.parts, 4 * LINES);
        assert!(answers.iter().all(|answer| answer.2.bytes == 128));
        (replies.packets, answers[0].1, answers[LINES as usize - 1].1)
    };
    let ((packets, first, last), whole) = (run(false), run(true));
    assert_eq!((packets, whole.0), (4 * LINES, LINES));
    assert!(whole.1 <= first && whole.2 < last - 2 * LINES, "{whole:?} {first} {last}");
}

/// Every SM reads `count` consecutive sectors, as fast as its outbox takes them; gives the cycles
/// until all replies are there.
fn stream(config: &GpuConfig, system: &mut InStep, count: u64, address: impl Fn(u64, u64) -> u64) -> Cycle {
    let mut ports = ports(config);
    let start = get(&mut system.system.requests).done;
    let mut sent = vec![0; ports.len()];
    let mut left = count * ports.len() as u64;
    for now in start.. {
        system.advance(now, &mut ports);
        for (sm, port) in ports.iter_mut().enumerate() {
            while port.take_answer(now).is_some() {
                left -= 1;
            }
            while sent[sm] < count && port.has_room(config.interconnect.input_buffer_packets, now) {
                port.outbox.push_back((now, read(address(sm as u64, sent[sm]), 0)));
                sent[sm] += 1;
            }
        }
        if left == 0 {
            return now - start;
        }
        assert!(now - start < 10_000_000, "{left} answers missing");
    }
    unreachable!()
}

#[test]
fn sequential_reads_stream_from_dram_near_its_peak() {
    for (gpu, at_least) in [("accel-sim/rtx2060s", 0.95), ("accel-sim/v100", 0.90), ("accel-sim/rtx3070", 0.90)] {
        let config = config::load(gpu).unwrap();
        let mut system = InStep::new(&config);
        let (sms, count) = (u64::from(config.sm_count), 3000);
        let cycles = stream(&config, &mut system, count, |sm, i| (i * sms + sm) * 32);
        let dram_cycles = system.system.dram_cycles(cycles) * u64::from(config.l2.partitions);
        let utilisation = system.counters().dram.data_bus_busy as f64 / dram_cycles as f64;
        println!("{gpu}: {utilisation:.3} of peak");
        assert!(utilisation > at_least, "{gpu}: {utilisation:.3} of the DRAM's peak");
        assert!(utilisation <= 1.0, "{gpu}: {utilisation:.3}");
    }
}

/// A refresh closes the rows, and keeps the banks for its time.
#[test]
fn a_refresh_closes_rows_and_takes_its_share_of_the_time() {
    let mut config = small_gpu();
    (config.dram.timing.tREFI, config.dram.timing.tRFC) = (Some(4000), Some(1000));
    let (mut system, mut ports) = (InStep::new(&config), ports(&config));
    let t = &config.dram.timing;
    let row_hit = l2_hit_latency(&config) + u64::from(config.dram.latency_cycles + t.tCL) + 5;
    let closed = row_hit + u64::from(t.tRCD);
    assert_eq!(latency(&mut system, &mut ports, 1000, 0), closed);
    assert_eq!(latency(&mut system, &mut ports, 2000, 64), row_hit);
    assert_eq!(latency(&mut system, &mut ports, 6000, 128), closed, "after a refresh");
    let late = latency(&mut system, &mut ports, 8000, 192);
    assert!((closed + 900..closed + 1000).contains(&late), "{late}: at the beginning of a refresh");
    let cycles =
        |config: &GpuConfig| stream(config, &mut InStep::new(config), 20_000, |sm, i| (i * 4 + sm) * 32) as f64;
    let share = cycles(&config) / cycles(&small_gpu());
    assert!((1.28..1.40).contains(&share), "{share}: a quarter of the time is lost");
}

#[test]
fn l2_hits_stream_at_one_sector_per_slice_and_cycle() {
    let mut config = small_gpu();
    config.sm_count = 16;
    let mut system = InStep::new(&config);
    let slices = u64::from(system.system.topology.map.slices());
    system.system.copy_to_device(0, 64 << 10);
    let count = 4000;
    let cycles = stream(&config, &mut system, count, |sm, i| (i * 16 + sm) * 32 % (64 << 10));
    let per_cycle = (count * 16) as f64 / cycles as f64;
    println!("{per_cycle:.2} sectors per cycle, {slices} slices");
    assert_eq!(system.counters().l2.read_misses, 0);
    assert!(per_cycle > 0.9 * slices as f64 && per_cycle <= slices as f64);
}

#[test]
fn the_crossbar_gives_one_packet_per_sm_and_cycle() {
    let mut config = small_gpu();
    config.sm_count = 1;
    let mut system = InStep::new(&config);
    system.system.copy_to_device(0, 32 << 10);
    let cycles = stream(&config, &mut system, 4000, |_, i| i * 32 % (32 << 10));
    assert!((4000..4000 + 200).contains(&cycles), "{cycles}");
}

#[test]
fn sms_that_want_the_same_slice_share_it_fairly() {
    for arbiter in config::Arbiter::ALL {
        let mut config = small_gpu();
        config.interconnect.arbiter = arbiter;
        let (mut system, mut ports) = (InStep::new(&config), ports(&config));
        system.system.copy_to_device(0, 128);
        for port in &mut ports {
            (0..500).for_each(|i| port.outbox.push_back((0, read(0, i))));
        }
        let mut got = vec![0; ports.len()];
        for now in 0..1200 {
            system.advance(now, &mut ports);
            for (sm, port) in ports.iter_mut().enumerate() {
                while port.take_answer(now).is_some() {
                    got[sm] += 1;
                }
            }
        }
        let (low, high) = (got.iter().min().unwrap(), got.iter().max().unwrap());
        assert!(high - low <= 1, "{arbiter:?}: {got:?}");
        assert!(*low > 200);
    }
}

#[test]
fn slow_and_odd_clocks_lose_nothing() {
    for (interconnect, l2, dram) in [(700.0, 700.0, 924.0), (500.5, 1399.0, 333.3), (2800.0, 650.0, 7000.0)] {
        let mut config = small_gpu();
        config.clocks = config::Clocks { core_mhz: 1400.0, interconnect_mhz: interconnect, l2_mhz: l2, dram_mhz: dram };
        let mut system = InStep::new(&config);
        stream(&config, &mut system, 500, |sm, i| (i * 4 + sm) * 32);
        assert_eq!(system.counters().answers.reads, 2000);
        assert!(system.is_idle());
    }
}

/// Work of one SM: bursts of requests with pauses.
#[derive(Clone, Debug)]
struct Traffic {
    /// (SM, cycle, request), cycles rising per SM.
    requests: Vec<(usize, Cycle, Request)>,
}

fn traffic(sms: usize) -> impl Strategy<Value = Traffic> {
    let kind = prop_oneof![
        6 => Just(RequestKind::Read),
        3 => Just(RequestKind::Write),
        1 => Just(RequestKind::WriteBack),
        1 => Just(RequestKind::Atomic),
        1 => Just(RequestKind::Instruction),
        1 => Just(RequestKind::Texture),
    ];
    let one = (0..sms, 0u64..80, kind, 0u64..600, any::<bool>(), any::<bool>());
    proptest::collection::vec(one, 1..250).prop_map(move |steps| {
        let mut clock = vec![0; sms];
        let mut requests = Vec::new();
        for (token, (sm, pause, kind, sector, far, partial)) in steps.into_iter().enumerate() {
            clock[sm] += if far && pause > 70 { pause * 40 } else { pause / 20 };
            let whole_line = kind == RequestKind::Instruction;
            let sector = if whole_line { sector / 4 * 4 } else { sector };
            let address = sector * 32 + if far { sector % 7 * 0x1_0000 } else { 0 };
            let request = Request {
                bytes: if whole_line { 128 } else { 32 },
                byte_mask: if partial { 0xffff } else { u32::MAX },
                ..request(kind, address, token as u32)
            };
            requests.push((sm, clock[sm], request));
        }
        Traffic { requests }
    })
}

/// A small GPU with every policy and queue length drawn at random.
fn drawn_gpu() -> impl Strategy<Value = GpuConfig> {
    use config::{Allocate, PartitionIndex, Replacement, WriteAllocate, WritePolicy};
    let queues = proptest::array::uniform4(1u32..6);
    let small = (1u32..5, 1u32..4, 1u32..6, 1u32..3);
    let dram = (
        0u32..6,
        1u32..5,
        any::<bool>(),
        any::<bool>(),
        prop::option::of(Just([4, 3, 1])),
        prop::sample::select(config::DramScheduler::ALL.to_vec()),
    );
    let policies = (
        prop_oneof![
            4 => Just(WritePolicy::WriteBack),
            1 => Just(WritePolicy::WriteThrough),
            1 => Just(WritePolicy::WriteEvict),
            1 => Just(WritePolicy::ReadOnly)
        ],
        prop_oneof![
            Just(WriteAllocate::None),
            Just(WriteAllocate::Write),
            Just(WriteAllocate::FetchOnWrite),
            Just(WriteAllocate::LazyFetchOnRead)
        ],
        any::<bool>(),
        prop_oneof![4 => Just(Allocate::OnMiss), 1 => Just(Allocate::OnFill), 1 => Just(Allocate::Streaming)],
        prop::sample::select(Replacement::ALL.to_vec()),
    );
    let clock = || prop_oneof![3 => Just(1000.0), 1 => Just(700.0), 1 => Just(1837.0)];
    let clocks = (clock(), clock(), clock());
    let index = prop_oneof![Just(PartitionIndex::Linear), Just(PartitionIndex::Xor), Just(PartitionIndex::IPoly)];
    let sms_per_cluster = prop_oneof![2 => Just(1), 1 => Just(2), 1 => Just(4)];
    let arbiter = prop::sample::select(config::Arbiter::ALL.to_vec());
    let far = prop::option::of(0u32..60);
    (queues, small, dram, policies, clocks, index, (2u32..5, sms_per_cluster, arbiter, far)).prop_map(
        |(queues, small, dram, policies, clocks, partition_index, (partitions, sms_per_cluster, arbiter, far))| {
            let mut config = small_gpu();
            config.sms_per_cluster = sms_per_cluster;
            (config.clocks.interconnect_mhz, config.clocks.l2_mhz, config.clocks.dram_mhz) = clocks;
            config.l2.partitions = partitions;
            config.l2.partition_index = partition_index;
            config.l2.far_latency_cycles = far;
            config.l2.queue_entries = queues;
            config.l2.cache.mshr_entries = small.0;
            config.l2.cache.mshr_merges = small.1;
            config.l2.cache.miss_queue = small.2;
            (config.l2.cache.sets, config.l2.cache.ways) = (2, small.3);
            (config.l2.cache.write, config.l2.cache.write_allocate) = (policies.0, policies.1);
            config.l2.cache.sectored = policies.2;
            (config.l2.cache.allocate, config.l2.cache.replacement) = (policies.3, policies.4);
            config.interconnect.arbiter = arbiter;
            config.interconnect.output_buffer_packets = small.3;
            config.interconnect.ejection_buffer_packets = small.3;
            config.interconnect.input_buffer_packets = small.1;
            config.dram.scheduler_queue = dram.0;
            config.dram.return_queue = dram.1;
            config.dram.dual_command_bus = dram.2;
            config.dram.bank_hash = dram.3;
            (config.dram.write_queue, config.dram.scheduler) = (dram.4, Some(dram.5));
            config
        },
    )
}

/// Replies to `traffic`, as (SM, cycle, token), counters at the end. SMs take one reply per
/// cycle, and none in some, so that inboxes fill.
fn outcome(
    config: &GpuConfig,
    traffic: &Traffic,
    every_cycle: bool,
    everything: bool,
) -> (Vec<(usize, Cycle, u32)>, MemoryCounters) {
    let (mut system, mut ports) = (InStep::new(config), ports(config));
    if everything {
        system.system.visit_everything();
    }
    let mut waiting: Vec<Ring<(Cycle, Request)>> = vec![Ring::new(); ports.len()];
    for &(sm, cycle, request) in &traffic.requests {
        waiting[sm].push_back((cycle, request));
    }
    let mut answers = Vec::new();
    let mut now = 0;
    loop {
        system.advance(now, &mut ports);
        for (sm, port) in ports.iter_mut().enumerate() {
            if !(now + sm as u64).is_multiple_of(3) {
                answers.extend(port.take_answer(now).map(|answer| (sm, now, answer.token)));
            }
            if let Some(&(from, request)) = waiting[sm].front()
                && from <= now
                && port.has_room(config.interconnect.input_buffer_packets, now)
            {
                port.outbox.push_back((now, request));
                waiting[sm].pop_front();
            }
        }
        let sms_next = ports.iter().zip(&waiting).map(|(port, queue)| {
            let busy = !port.inbox.is_empty() || queue.front().is_some_and(|w| w.0 <= now);
            if busy { now + 1 } else { queue.front().map_or(NEVER, |w| w.0) }
        });
        let sms_next = sms_next.min().unwrap();
        let idle = waiting.iter().all(Ring::is_empty)
            && ports.iter().all(|p| p.inbox.is_empty() && p.outbox.is_empty())
            && system.is_idle();
        if idle {
            break;
        }
        now = if every_cycle || everything { now + 1 } else { sms_next.min(system.next_event(&ports)) };
        assert!(now < 1_000_000, "stuck: {} requests in flight", system.system.requests_in_flight());
    }
    (answers, system.counters())
}

proptest! {
    /// Calling only when something is due, calling in every cycle, and visiting every part in every
    /// cycle come to the same, to the cycle; every request is replied to exactly once whatever the
    /// queues' lengths.
    #[test]
    fn only_what_is_due_is_done_and_nothing_is_lost(config in drawn_gpu(), traffic in traffic(4)) {
        let sparse = outcome(&config, &traffic, false, false);
        let dense = outcome(&config, &traffic, true, false);
        let all = outcome(&config, &traffic, true, true);
        prop_assert_eq!(&sparse, &dense);
        prop_assert_eq!(&sparse, &all);
        let mut answered: Vec<u32> = sparse.0.iter().map(|a| a.2).collect();
        answered.sort_unstable();
        let expected: Vec<u32> = traffic.requests.iter()
            .filter(|r| r.2.kind != RequestKind::WriteBack).map(|r| r.2.token).collect();
        prop_assert_eq!(answered, expected);
    }
}

/// As [`outcome`], by windows: in each, the reply side is ahead of the SMs and the request side after them.
fn outcome_by_windows(
    config: &GpuConfig,
    traffic: &Traffic,
    exhaustive: bool,
) -> (Vec<(usize, Cycle, u32)>, MemoryCounters) {
    let (mut system, mut ports) = (MemorySystem::new(config), ports(config));
    if exhaustive {
        system.visit_everything();
    }
    let per = config.sms_per_cluster as usize;
    let mut gates: Vec<_> = (0..ports.len() / per).map(|cluster| Gate::new(config, cluster)).collect();
    let window = system.window();
    let mut waiting: Vec<Ring<(Cycle, Request)>> = vec![Ring::new(); ports.len()];
    for &(sm, cycle, request) in &traffic.requests {
        waiting[sm].push_back((cycle, request));
    }
    let mut answers = Vec::new();
    for start in (0..).step_by(window as usize) {
        exchange_all(&mut system, &mut gates, &mut ports, per);
        // Concurrent with the SMs in a machine.
        run_shuffled(&mut system, start, start + 2 * window);
        for now in start..start + window {
            for (cluster, gate) in gates.iter_mut().enumerate() {
                gate.eject(now, now + 1, &mut ports[cluster * per..][..per]);
            }
            for (sm, port) in ports.iter_mut().enumerate() {
                if !(now + sm as u64).is_multiple_of(3) {
                    answers.extend(port.take_answer(now).map(|answer| (now, sm, answer.token)));
                }
                if let Some(&(from, request)) = waiting[sm].front()
                    && from <= now
                    && port.has_room(config.interconnect.input_buffer_packets, now)
                {
                    port.outbox.push_back((now, request));
                    waiting[sm].pop_front();
                }
            }
        }
        let idle = waiting.iter().all(Ring::is_empty)
            && ports.iter().all(|p| p.inbox.is_empty() && p.outbox.is_empty())
            && gates.iter().all(Gate::is_empty)
            && system.is_idle();
        if idle {
            break;
        }
        assert!(start < 1_000_000, "stuck: {} requests in flight", system.requests_in_flight());
    }
    let mut counters = system.counters();
    gates.iter().for_each(|gate| counters.answers.add(gate.answers()));
    (answers.into_iter().map(|(now, sm, token)| (sm, now, token)).collect(), counters)
}

/// A window, its parts in another order each time.
fn run_shuffled(system: &mut MemorySystem, requests: Cycle, replies: Cycle) {
    let parts = system.begin_window(requests, replies);
    (0..parts).for_each(|part| system.run_part((part + requests as usize) % parts));
    system.end_window();
}

fn exchange_all(system: &mut MemorySystem, gates: &mut [Gate], ports: &mut [Port], per: usize) {
    for (cluster, gate) in gates.iter_mut().enumerate() {
        system.exchange(cluster, gate, &mut ports[cluster * per..][..per]);
    }
}

proptest! {
    /// Windows change no cycle and no counter, as long as no queue between SMs and crossbar is full, whether partitions
    /// are simulated by themselves or in step with the reply crossbar.
    #[test]
    fn windows_change_nothing(mut config in drawn_gpu(), traffic in traffic(4)) {
        config.interconnect.input_buffer_packets = 512;
        config.interconnect.output_buffer_packets = 512;
        prop_assert!(MemorySystem::new(&config).window() > 5);
        let step = outcome(&config, &traffic, true, false);
        for exhaustive in [false, true] {
            let windows = outcome_by_windows(&config, &traffic, exhaustive);
            prop_assert_eq!(&step, &windows, "exhaustive: {}", exhaustive);
        }
    }
}

#[test]
fn a_request_is_looked_up_in_each_l2_line_that_it_touches() {
    for (sectored, line_bytes, parts) in [(true, 128, 4), (false, 128, 1), (false, 64, 2), (false, 32, 4)] {
        let mut config = small_gpu();
        let cache = &mut config.l2.cache;
        (cache.sectored, cache.line_bytes, cache.port_bytes) = (sectored, line_bytes, 32);
        let (mut system, mut ports) = (InStep::new(&config), ports(&config));
        ports[0].outbox.push_back((0, Request { bytes: 128, ..read(0x1_0000, 1) }));
        assert_eq!(drain(&mut system, &mut ports).len(), 1, "one answer");
        let counters = system.counters();
        let looked_up = counters.l2.read_misses + counters.l2.read_sector_misses;
        assert_eq!((counters.partitions.parts, looked_up), (parts, parts), "{sectored}, {line_bytes} bytes");
    }
}

#[test]
fn a_slice_takes_as_long_as_the_bytes_of_its_requests() {
    // The last eight of forty lines of one slice, stores where `is_store` says so.
    let took = |bytes_per_cycle, is_store: fn(usize) -> bool| {
        let mut config = small_gpu();
        config.l2.request_bytes_per_cycle = bytes_per_cycle;
        let map = AddressMap::new(&config);
        let (mut system, mut ports) = (InStep::new(&config), ports(&config));
        system.system.copy_to_device(0x1_0000, 0x1_0000);
        let lines = (0x1_0000..0x2_0000).step_by(128).filter(|&line| map.slice_of(line) == 0).take(40);
        for (i, line) in lines.enumerate() {
            let kind = if is_store(i) { RequestKind::Write } else { RequestKind::Read };
            ports[0].outbox.push_back((0, Request { bytes: 128, ..request(kind, line, i as u32) }));
        }
        let answers = drain(&mut system, &mut ports);
        assert_eq!((answers.len(), system.counters().l2.reads_missed()), (40, 0));
        answers[39].1 - answers[31].1
    };
    let (stores, loads, both) = (|_| true, |_| false, |i| i % 2 == 0);
    // A sector is looked up each cycle, and a store brings 40 bytes.
    assert_eq!([None, Some(40), Some(20), Some(16)].map(|rate| took(rate, stores)), [32, 32, 64, 80]);
    assert_eq!([None, Some(16), Some(8), Some(4)].map(|rate| took(rate, loads)), [32, 32, 32, 64]);
    // Of two lines the load has come when the store before it is looked up.
    assert_eq!([None, Some(16)].map(|rate| took(rate, both)), [32, 48]);
}

/// Two GPCs of two SMs.
fn gpu_with_gpc_caches() -> GpuConfig {
    let mut config = GpuConfig { sms_per_gpc: Some(2), ..small_gpu() };
    config.gpc_cache =
        config::GpcCache { sets: Some(4), latency_cycles: Some(20), bytes_per_cycle: Some(32), ..Default::default() };
    config
}

fn line_of_code(address: u64, token: u32) -> Request {
    Request { bytes: 128, ..request(RequestKind::Instruction, address, token) }
}

#[test]
fn sms_of_a_gpc_fetch_a_line_of_code_once() {
    let config = gpu_with_gpc_caches();
    let (mut system, mut ports) = (InStep::new(&config), ports(&config));
    system.system.copy_to_device(0x1_0000, 4096);
    for (sm, port) in ports.iter_mut().enumerate() {
        port.outbox.push_back((sm as Cycle, line_of_code(0x1_0000, 7 + sm as u32)));
        // Data of the same address pass the cache by.
        port.outbox.push_back((5, read(0x1_0000, 20)));
    }
    let answers = drain(&mut system, &mut ports);
    let mut code: Vec<_> = answers.iter().filter(|answer| answer.2.kind == RequestKind::Instruction).collect();
    code.sort_by_key(|answer| answer.0);
    assert_eq!(
        code.iter().map(|a| (a.0, a.2.token, a.2.bytes)).collect::<Vec<_>>(),
        [0, 1, 2, 3].map(|sm| (sm, 7 + sm as u32, 128))
    );
    // The port of the cache passes a line in four cycles.
    assert_eq!([code[1].1 - code[0].1, code[3].1 - code[2].1], [4, 4]);
    assert_eq!(answers.len(), 8);
    let counters = system.counters();
    assert_eq!((counters.gpc_caches.reads_missed(), counters.gpc_caches.fetches), (4, 2));
    assert_eq!(counters.l2.read_hits, 2 * 4 + 4, "sectors of two fetches, and the data");
}

#[test]
fn a_gpc_has_the_lines_of_its_kernel() {
    let config = gpu_with_gpc_caches();
    let (mut system, mut ports) = (InStep::new(&config), ports(&config));
    system.system.copy_to_device(0x1_0000, 4096);
    let mut latency = |sm: usize, at, system: &mut InStep| {
        ports[sm].outbox.push_back((at, line_of_code(0x1_0000, 7)));
        drain(system, &mut ports)[0].1 - at
    };
    let miss = latency(0, 0, &mut system);
    assert!(miss >= l2_hit_latency(&config));
    // Out of the outbox, and visible.
    assert_eq!(latency(1, 1000, &mut system), 20 + 1);
    assert_eq!(latency(2, 2000, &mut system), miss, "another GPC");
    system.system.empty_gpc_caches();
    assert_eq!(latency(1, 3000, &mut system), miss);
}

#[test]
fn launches_keep_and_fetch_code_where_the_description_says_so() {
    let mut config = gpu_with_gpc_caches();
    (config.launch.keeps_code, config.launch.prefetched_code_bytes) = (Some(true), Some(512));
    config.launch.prefetches_parameters = Some(true);
    let (mut system, mut ports) = (InStep::new(&config), ports(&config));
    let (code, constant) = (crate::CODE.start + 0x1_0000, crate::CODE.end);
    for address in [code, constant] {
        system.system.copy_to_device(address, 4096);
    }
    let mut now = 0;
    let mut hits = |address: u64, system: &mut InStep| {
        now += 1000;
        ports[1].outbox.push_back((now, line_of_code(address, 7)));
        drain(system, &mut ports)[0].1 - now == 20 + 1
    };
    assert!(!hits(code, &mut system) && !hits(constant, &mut system));
    assert!(hits(code, &mut system) && hits(constant, &mut system));
    system.system.empty_gpc_caches();
    assert!(hits(code, &mut system) && !hits(constant, &mut system));
    // From the middle of a line on; no more than 512 bytes.
    system.system.prefetch_code(code + 1024 + 64, 4096);
    assert_eq!(
        [1, 2, 3, 4, 5].map(|quarter| hits(code + quarter * 512, &mut system)),
        [false, true, true, false, false]
    );
    system.system.prefetch_code(code + 3072, 1);
    assert!(hits(code + 3072, &mut system) && !hits(code + 3072 + 128, &mut system));
    system.system.write_parameters(constant + 1024, 256);
    assert_eq!([1024, 1152, 1280].map(|offset| hits(constant + offset, &mut system)), [true, true, false]);
}

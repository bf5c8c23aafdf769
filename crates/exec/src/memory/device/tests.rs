//! Allocations, their addresses and contents.

use super::*;

#[test]
fn bytes_come_back_across_pages_and_at_odd_places() {
    let mut memory = DeviceMemory::default();
    let base = memory.allocate("a", 200_001).unwrap();
    let data: Vec<u8> = (0..131_077u32).map(|i| (i * 7 + i / 251) as u8).collect();
    for offset in [0, 1, 2, 3, 65_533, 68_924] {
        memory.write(base + offset, &data).unwrap();
        let mut back = vec![0; data.len()];
        memory.read(base + offset, &mut back).unwrap();
        assert!(back == data, "offset {offset}");
    }
    assert!(memory.write(base + 68_925, &data).is_err());
}

#[test]
fn untouched_memory_is_zero_and_costs_nothing() {
    let mut memory = DeviceMemory::default();
    let base = memory.allocate("big", 8 << 30).unwrap();
    let mut out = [1; 9];
    memory.read(base + (7 << 30), &mut out).unwrap();
    assert_eq!((out, memory.resident_bytes()), ([0; 9], 0));
    memory.write(base, &[0; 200_000]).unwrap();
    assert_eq!(memory.resident_bytes(), 0);
    memory.write(base + 65_536, &[1]).unwrap();
    assert_eq!(memory.resident_bytes(), 65_536);
}

#[test]
fn a_missing_address_is_described_by_its_neighbour() {
    let mut memory = DeviceMemory::default();
    assert_eq!(memory.describe(0), "nothing is allocated");
    let base = memory.allocate("x", 100).unwrap();
    assert_eq!(memory.describe(base + 104), format!("nearest is `x` (100 bytes at {base:#x}): 4 bytes past its end"));
    assert!(memory.describe(base - 1).ends_with("1 byte before its start"));
    memory.free(base).unwrap();
    assert!(memory.describe(base + 4).contains("freed, at offset 4"));
    assert!(memory.window(base, 4, &Reader::default()).is_none());
    assert!(matches!(memory.allocate("y", 1 << 50), Err(MemoryError::Full { .. })));
    assert!(memory.free(base).unwrap_err().to_string().ends_with("`x` was freed there"));
    assert_eq!(memory.allocate("z", 40).unwrap(), base);
    assert!(memory.describe(base + 4).contains("it is in `z`"));
    assert!(memory.describe(base + 44).contains("it is in `x`"), "the rest of what was freed");
}

#[test]
fn addresses_without_frees_follow_each_other() {
    let mut memory = DeviceMemory::default();
    let bytes = [1, 4096, 4095, 100_000, 0, 256, 255];
    let bases = bytes.map(|bytes| memory.allocate("a", bytes).unwrap());
    for (i, pair) in bases.windows(2).enumerate() {
        assert_eq!(pair[1], (pair[0] + bytes[i].max(1) + 4096).next_multiple_of(256));
    }
    assert_eq!(bases[0], 0x7f_0000_0000);
    let ids: Vec<u64> = memory.allocations().map(|a| a.id).collect();
    assert_eq!(ids, [1, 2, 3, 4, 5, 6, 7]);
}

#[test]
fn freed_addresses_are_used_again() {
    let mut memory = DeviceMemory::new(1 << 30);
    let kept = memory.allocate("kept", 64).unwrap();
    for i in 0..2000 {
        let [a, b] = ["a", "b"].map(|name| memory.allocate(name, 400 << 20).unwrap());
        assert!(kept < a && b < kept + (1 << 30), "round {i}");
        memory.write(a, &[1]).unwrap();
        memory.free(a).unwrap();
        memory.free(b).unwrap();
    }
    let a = memory.allocate("a", 4).unwrap();
    let mut out = [7];
    memory.read(a, &mut out).unwrap();
    assert_eq!(out, [0], "new memory is zero");
    assert_eq!((memory.allocations().count(), memory.free_bytes()), (2, (1 << 30) - 68));
}

#[test]
fn random_allocations_keep_their_distance_and_all_room_comes_back() {
    let mut memory = DeviceMemory::default();
    let mut live: Vec<(u64, u64)> = Vec::new();
    let mut state = 1_u64;
    let mut random = |n: u64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % n
    };
    let mut last = 0;
    for _ in 0..3000 {
        if live.is_empty() || random(5) < 3 {
            let (bytes, alignment) = (1 + random(20_000), 256 << random(6));
            let base = memory.allocate_aligned("a", bytes, alignment).unwrap();
            assert!(base.is_multiple_of(alignment));
            live.push((base, bytes));
            last = last.max(base + bytes);
        } else {
            memory.free(live.swap_remove(random(live.len() as u64) as usize).0).unwrap();
        }
        live.sort_unstable();
        assert!(live.windows(2).all(|pair| pair[0].0 + pair[0].1 + 4096 <= pair[1].0));
        let known: Vec<_> = memory.allocations().map(|a| (a.base, a.bytes)).collect();
        assert_eq!(known, live);
    }
    let most: u64 = live.iter().map(|(_, bytes)| bytes + 4352).sum();
    assert!(last - 0x7f_0000_0000 < 3 * most, "holes are filled");
    for (base, _) in live {
        memory.free(base).unwrap();
    }
    assert_eq!(memory.allocate("b", 1).unwrap(), 0x7f_0000_0000);
}

#[test]
fn fills_and_copies_are_those_of_bytes() {
    let mut memory = DeviceMemory::default();
    const BYTES: usize = 300_000;
    let base = memory.allocate("a", BYTES as u64).unwrap();
    let mut model: Vec<u8> = (0..BYTES).map(|i| (i * 13 + i / 251) as u8).collect();
    memory.write(base, &model).unwrap();
    let same = |memory: &DeviceMemory, model: &[u8], what: &str| {
        let mut back = vec![0; BYTES];
        memory.read(base, &mut back).unwrap();
        assert!(back == model, "{what}");
    };
    for (from, to, bytes) in [(5, 70_001, 200_000), (70_001, 5, 200_000), (9, 9, 50), (3, 4, 299_990), (4, 3, 299_990)]
    {
        memory.copy(base + from as u64, base + to as u64, bytes as u64).unwrap();
        model.copy_within(from..from + bytes, to);
        same(&memory, &model, &format!("copy from {from} to {to}"));
    }
    let fills = [
        (Fill::Byte(0xa5), 3, 7),
        (Fill::Byte(0x11), 65_535, 131_075),
        (Fill::Half(0x1234), 65_534, 6),
        (Fill::Word(0xdead_beef), 131_068, 12),
        (Fill::Word(0), 65_536, 131_072),
        (Fill::Byte(0), 262_144, BYTES - 262_144),
        (Fill::Byte(0), 2, 1),
    ];
    for (fill, offset, bytes) in fills {
        memory.fill(base + offset as u64, fill, bytes as u64).unwrap();
        for (i, byte) in model[offset..offset + bytes].iter_mut().enumerate() {
            *byte = fill.word().to_le_bytes()[(offset + i) % 4];
        }
        same(&memory, &model, &format!("{fill:?} at {offset}"));
    }
    assert_eq!(memory.resident_bytes(), 2 * 65_536, "pages of zeros are given back");
    assert!(memory.fill(base + 2, Fill::Word(1), 8).is_err());
    assert!(memory.copy(base, base + 10, BYTES as u64).is_err());
}

#[test]
fn written_pages_are_known() {
    let mut memory = DeviceMemory::default();
    let base = memory.allocate("a", 200_000).unwrap();
    let changed = |memory: &DeviceMemory| memory.changed(base).collect::<Vec<_>>();
    assert_eq!(changed(&memory), []);
    memory.write(base + 65_535, &[1, 2]).unwrap();
    memory.window_mut(base + 199_996, 4, &Reader::default()).unwrap().words[0] = 1;
    let last = (base + 196_608, 3392);
    assert_eq!(changed(&memory), [(base, 65_536), (base + 65_536, 65_536), last]);
    memory.clear_changed(base);
    assert_eq!(changed(&memory), []);
    memory.window(base, 4, &Reader::default()).unwrap();
    memory.fill(base, Fill::Byte(0), 200_000).unwrap();
    assert_eq!(changed(&memory), [(base, 65_536), (base + 65_536, 65_536), last]);
}

#[test]
fn host_memory_has_the_hosts_addresses() {
    let mut memory = DeviceMemory::new(1000);
    memory.place_at("pinned", 0x60_0000_0000, 5000).unwrap();
    assert_eq!(memory.free_bytes(), 1000);
    assert_eq!(memory.allocation_of(0x60_0000_1387).unwrap().name, "pinned");
    assert!(memory.allocation_of(0x60_0000_1388).is_none());
    assert!(matches!(memory.place_at("b", 0x60_0000_1000, 5), Err(MemoryError::Taken { .. })));
    for base in [0x60_0001_0001, 0x7f_0000_0000, 0x7e_ffff_ff00, 0x1_0000_0000, 1 << 40] {
        assert!(matches!(memory.place_at("b", base, 0x1000), Err(MemoryError::Misplaced { .. })), "{base:#x}");
    }
    memory.free(0x60_0000_0000).unwrap();
    memory.place_at("b", 0x60_0000_1000, 5).unwrap();
    assert_eq!(memory.allocate("a", 4).unwrap(), 0x7f_0000_0000);
}

#[test]
fn memory_near_allocations_holds_what_is_stored_if_the_policy_permits_it() {
    let (mut memory, reader) = (DeviceMemory::default(), Reader::default());
    let base = memory.allocate("a", 101).unwrap();
    // The page after the allocation's counts as near.
    let far = base + (4 << 20);
    assert!(memory.window(base + 104, 4, &reader).is_none() && memory.window_mut(base + 104, 4, &reader).is_none());
    memory.set_out_of_bounds(OutOfBounds::Warn);
    for (address, size) in
        [(base + 100, 4), (base + 96, 8), (base + 112, 16), (base + 6000, 2), (far - 4, 4), (base - 256, 4)]
    {
        let w = memory.window_mut(address, size, &reader).unwrap_or_else(|| panic!("{address:#x}"));
        assert!(address - w.start < w.limit);
        w.words[((address - w.start) / 4) as usize] = size as u32;
        assert_eq!(reader.take_stray(), Some(address));
        let w = memory.window(address, size, &reader).unwrap();
        assert_eq!(w.words[((address - w.start) / 4) as usize], size as u32);
        reader.take_stray();
    }
    assert!(memory.window(far, 4, &reader).is_none() && memory.window(base - (2 << 20) - 4, 4, &reader).is_none());
    assert_eq!(memory.window(base + 8000, 4, &reader).unwrap().words, [0; 4]);
    reader.take_stray();
    memory.window(base + 96, 4, &reader).unwrap();
    assert_eq!(reader.take_stray(), None, "in bounds");
    let b = memory.allocate("b", 64).unwrap();
    assert_eq!(memory.window(b, 4, &reader).unwrap().words[0], 0);
}

/// Module variables may be neighbours within a granule: what a window wrote goes to the one that was meant.
#[test]
fn a_merge_finds_the_neighbour_in_one_granule() {
    let (mut memory, reader) = (DeviceMemory::default(), Reader::default());
    for (name, base) in [("a", 0x1000), ("b", 0x1004), ("c", 0x1008)] {
        memory.place(name, base, 4, false).unwrap();
    }
    let words = std::array::from_fn(|word| 10 + word as u32);
    memory.merge(0x1000, 0xff0, &words, &reader);
    let read = |base| {
        let mut bytes = [0; 4];
        memory.read(base, &mut bytes).unwrap();
        u32::from_le_bytes(bytes)
    };
    assert_eq!([read(0x1000), read(0x1004), read(0x1008)], [0, 11, 12]);
}

/// A generator of numbers.
struct Draw(u64);

impl Draw {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % bound
    }
}

/// Address, bytes, changed pages and written granules of an allocation.
type Contents = (u64, Vec<u8>, Vec<(u64, u64)>, Vec<bool>);

/// All that can be read of a memory.
fn contents(memory: &DeviceMemory) -> Vec<Contents> {
    let of = |a: &DeviceAllocation| {
        let mut bytes = vec![0; a.bytes as usize];
        memory.read(a.base, &mut bytes).unwrap();
        let written = (0..a.bytes / 64).map(|at| memory.is_written(a.base + 64 * at, 64)).collect();
        (a.base, bytes, memory.changed(a.base).collect(), written)
    };
    memory.allocations().map(of).collect()
}

/// A store of a kernel or the host, or a line that is merged, somewhere near the allocations.
fn store(memory: &mut DeviceMemory, bases: &[u64], draw: &mut Draw) {
    let (base, reader) = (bases[draw.below(bases.len() as u64) as usize], Reader::default());
    let near = [0, 65_500, 131_072, 199_900, 300_000][draw.below(5) as usize];
    let at = (base + near + draw.below(200)) & !3;
    match draw.below(4) {
        0 => {
            let mut words = [draw.below(1 << 31) as u32; LINE_WORDS];
            words[3] ^= 5;
            memory.merge(at & !(LINE_BYTES - 1), u128::from(draw.below(1 << 31)) << draw.below(90), &words, &reader);
        }
        1 => _ = memory.write(at, &[draw.below(256) as u8; 77]),
        2 => _ = memory.fill(at & !0xffff, Fill::Word(draw.below(2) as u32 * 9), 65_536),
        _ => {
            if let Some(w) = memory.window_mut(at, 4, &reader) {
                w.words[((at - w.start) / 4) as usize] = draw.below(1 << 31) as u32;
            }
        }
    }
    memory.note_written(at, 64);
}

/// Whatever is written after an undo log has begun is gone after an undo, and stays if it is kept, over many logs.
#[test]
fn what_is_undone_was_never_written() {
    for policy in [OutOfBounds::Error, OutOfBounds::Allow] {
        let mut draw = Draw(11);
        let mut memory = DeviceMemory::default();
        memory.set_out_of_bounds(policy);
        memory.track_writes(true);
        let bases = [200_001, 64, 65_536, 100].map(|bytes| memory.allocate("a", bytes).unwrap());
        let stray = |memory: &DeviceMemory| {
            let reader = Reader::default();
            let word = |at: u64| memory.window(bases[0] + 200_016 + 16 * at, 4, &reader).map(|w| w.words.to_vec());
            (0..40).map(word).collect::<Vec<_>>()
        };
        for round in 0..60 {
            (0..draw.below(6)).for_each(|_| store(&mut memory, &bases, &mut draw));
            if round % 7 == 0 {
                bases.iter().for_each(|&base| memory.clear_changed(base));
            }
            let before = (contents(&memory), stray(&memory), memory.free_bytes());
            let count = memory.begin_undo();
            (0..draw.below(9)).for_each(|_| store(&mut memory, &bases, &mut draw));
            if draw.below(3) == 0 {
                memory.place("heap", 0x60_0000_0000, 70_000, false).unwrap();
                memory.write(0x60_0000_0000, &[1; 9]).unwrap();
            }
            if draw.below(2) == 0 {
                memory.end_undo(count, false);
                assert!(before == (contents(&memory), stray(&memory), memory.free_bytes()), "round {round}");
            } else {
                let now = contents(&memory);
                memory.end_undo(count, true);
                assert!(now == contents(&memory), "round {round}");
                _ = memory.free(0x60_0000_0000);
            }
        }
    }
}

//! State as bytes: what is written is read, and whatever is read gives a value or an error.

use kit::persist::{Archive, Fresh, Mismatch, Persist};
use kit::{BitSet, ByKind, Ring, Slab};
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

kit::id! {
    /// A place.
    pub struct Place(u16);
}

kit::counters! {
    /// Counts.
    pub struct Counts {
        /// Events.
        pub events: "events",
    }
}

#[derive(Clone, Debug, PartialEq)]
enum Kind {
    Idle,
    Waits(u64, bool),
    Moves { to: Place, steps: Vec<u8> },
}

#[derive(Clone, Debug, PartialEq)]
struct Item {
    kind: Kind,
    name: String,
    share: f64,
    offset: i64,
    wide: u128,
}

/// A machine with parts of fixed number and with queues.
#[derive(Debug)]
struct Machine {
    limit: usize,
    items: Vec<Item>,
    queue: VecDeque<(u64, Option<u16>)>,
    ring: Ring<(u64, u8)>,
    slab: Slab<u32>,
    set: BitSet,
    parts: Box<[[u32; 3]]>,
    cache: Option<Ring<u8>>,
    sums: BTreeMap<u64, u64>,
    order: BTreeSet<(u64, u64)>,
    counts: Counts,
    by_kind: ByKind<4>,
}

kit::persist! {
    enum Kind { Idle = 0, Waits(until, long) = 1, Moves { to, steps } = 2 }
    new struct Item { kind, name, share, offset, wide }
    struct Machine {
        items, queue, ring, slab, set, parts, cache: part, sums, order, counts, by_kind; skip limit
    }
}

impl Machine {
    fn new(parts: usize, cache: bool) -> Self {
        Self {
            limit: 7,
            items: Vec::new(),
            queue: VecDeque::new(),
            ring: Ring::new(),
            slab: Slab::default(),
            set: BitSet::new(200),
            parts: vec![[0; 3]; parts].into(),
            cache: cache.then(Ring::new),
            sums: BTreeMap::new(),
            order: BTreeSet::new(),
            counts: Counts::default(),
            by_kind: ByKind::default(),
        }
    }

    /// With contents drawn from `numbers`.
    fn of(numbers: &[u64]) -> Self {
        let mut machine = Self::new(3, true);
        for &n in numbers {
            let kind = match n % 3 {
                0 => Kind::Idle,
                1 => Kind::Waits(n, n % 2 == 0),
                _ => Kind::Moves { to: Place(n as u16), steps: n.to_le_bytes()[..(n % 9) as usize].to_vec() },
            };
            let wide = u128::from(n) * u128::from(n);
            machine.items.push(Item { kind, name: format!("{n}ä"), share: n as f64 / 3.0, offset: -(n as i64), wide });
            machine.queue.push_back((n, (n % 2 == 0).then_some(n as u16)));
            machine.ring.push_back((n, n as u8));
            if n % 4 == 0 {
                machine.ring.pop_front();
            }
            let id = machine.slab.insert(n as u32);
            if n % 5 == 0 {
                machine.slab.remove(id);
            }
            machine.set.insert((n % 200) as usize);
            machine.parts[(n % 3) as usize][1] ^= n as u32;
            machine.sums.insert(n, n / 2);
            machine.order.insert((n / 7, n));
            machine.counts.events += n % 100;
            machine.by_kind.0[(n % 4) as usize] += 1;
            machine.cache.iter_mut().for_each(|cache| cache.push_back(n as u8));
        }
        machine
    }

    fn bytes(&mut self) -> Vec<u8> {
        let mut archive = Archive::writer();
        self.persist(&mut archive).expect("writing has no errors");
        archive.into_bytes()
    }

    fn read(&mut self, bytes: Vec<u8>) -> Result<(), Mismatch> {
        let mut archive = Archive::reader(bytes);
        self.persist(&mut archive)?;
        archive.end()
    }
}

proptest! {
    #[test]
    fn what_is_written_is_read(numbers in prop::collection::vec(any::<u64>(), 0..40), before in prop::collection::vec(any::<u64>(), 0..9)) {
        let mut machine = Machine::of(&numbers);
        let bytes = machine.bytes();
        // Whatever was there before.
        let mut other = Machine::of(&before);
        other.limit = 9;
        other.read(bytes.clone()).unwrap();
        prop_assert_eq!(other.limit, 9);
        prop_assert_eq!(&other.items, &machine.items);
        prop_assert_eq!(&other.queue, &machine.queue);
        prop_assert!(other.ring.iter().eq(machine.ring.iter()));
        prop_assert_eq!(other.slab.insert(1), machine.slab.insert(1));
        prop_assert_eq!(&other.set, &machine.set);
        prop_assert_eq!((&other.sums, &other.order, &other.counts), (&machine.sums, &machine.order, &machine.counts));
        let mut again = Machine::new(3, true);
        again.read(bytes.clone()).unwrap();
        prop_assert_eq!(again.bytes(), bytes);
    }

    #[test]
    fn damaged_bytes_give_a_value_or_an_error(
        numbers in prop::collection::vec(any::<u64>(), 1..20),
        damages in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4),
        cut in any::<prop::sample::Index>(),
    ) {
        let mut bytes = Machine::of(&numbers).bytes();
        let cut = cut.index(bytes.len());
        prop_assert!(Machine::new(3, true).read(bytes[..cut].to_vec()).is_err());
        for (at, byte) in damages {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        let _ = Machine::new(3, true).read(bytes);
    }

    #[test]
    fn any_bytes_give_a_value_or_an_error(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        let _ = Machine::new(3, true).read(bytes);
    }
}

#[test]
fn the_parts_of_another_machine_are_refused() {
    let bytes = Machine::of(&[1, 2, 3]).bytes();
    let error = Machine::new(4, true).read(bytes.clone()).unwrap_err().to_string();
    assert!(error.contains("number of parts: 3 there, 4 here"), "{error}");
    assert!(Machine::new(3, false).read(bytes.clone()).is_err());
    let longer = [bytes, vec![0]].concat();
    assert_eq!(Machine::new(3, true).read(longer).unwrap_err().to_string(), "1 byte more than the state has");
}

#[test]
fn numbers_out_of_range_and_lengths_beyond_the_end_are_refused() {
    let read = |bytes: &[u8]| u8::read(&mut Archive::reader(bytes.to_vec()));
    assert_eq!(read(&[0xff, 0x01]), Ok(255));
    assert!(read(&[0x80, 0x02]).is_err());
    assert!(u128::read(&mut Archive::reader(vec![0xff; 19])).is_err());
    assert!(Vec::<u64>::read(&mut Archive::reader(vec![0xff, 0xff, 0xff, 0x7f, 1])).is_err());
    assert!(String::read(&mut Archive::reader(vec![2, 0xff, 0xfe])).is_err());
    assert!(bool::read(&mut Archive::reader(vec![2])).is_err());
}

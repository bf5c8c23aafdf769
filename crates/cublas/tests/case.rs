//! A call with its data and with what it must leave.

use std::fmt::Write as _;

use crate::library::{Device, Memory, at, call, check, made};
use crate::matrix::{Matrix, Store};
use crate::number::{Kind, Num, Random, ZERO};

/// Where data of a call is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Place {
    Device,
    Host,
    /// A scalar or a result: where the handle's pointer mode says.
    ByMode,
}

/// Data of a call. What is not put into it is NaN and must not be read; what is not expected must not change.
#[derive(Debug)]
pub struct Buffer {
    pub kind: Kind,
    place: Place,
    bytes: Vec<u8>,
    expected: Vec<Option<Num>>,
    aligned: bool,
}

impl Buffer {
    pub fn new(kind: Kind, place: Place, length: usize) -> Self {
        Self { kind, place, bytes: vec![0xff; kind.bytes() * length], expected: vec![None; length], aligned: false }
    }

    pub fn put(&mut self, index: usize, x: Num) {
        let bytes = self.kind.encode(x);
        self.bytes[index * bytes.len()..][..bytes.len()].copy_from_slice(&bytes);
    }

    pub fn expect(&mut self, index: usize, x: Num) {
        self.expected[index] = Some(x);
    }
}

/// An argument, by what a call may get wrong about it.
#[derive(Clone, Debug)]
pub enum Argument {
    /// A size: not negative.
    Size(usize),
    /// A leading dimension, which has a least value.
    Leading(usize, usize),
    /// An increment other than zero.
    Increment(i64),
    /// An enumeration of a few values from zero.
    Choice(i64),
    /// Any other number.
    Number(i64),
    /// The address of a buffer.
    At(usize),
    /// The device's array of addresses of buffers.
    Each(Vec<usize>),
    /// An array on the host.
    Array(Vec<u8>),
    /// A descriptor, made for the call.
    Object {
        create: &'static str,
        with: Vec<usize>,
        attributes: Vec<(i32, Attribute)>,
    },
    /// The stream of the call.
    Stream,
    Null,
}

pub use Argument::{Array, At, Choice, Each, Increment, Leading, Null, Number, Object, Size, Stream};

/// The value of a descriptor's attribute.
#[derive(Clone, Debug)]
pub enum Attribute {
    Bytes(Vec<u8>),
    /// The address of a buffer.
    At(usize),
}

/// A call of a function that gets a handle first.
#[derive(Debug)]
pub struct Case {
    pub function: String,
    pub arguments: Vec<Argument>,
    pub buffers: Vec<Buffer>,
    /// Terms of the longest sum.
    pub terms: usize,
    /// Largest relative error of a rounding in a sum.
    pub unit: f64,
    pub status: i32,
    pub random: Random,
    /// Whether sizes have 64 bits.
    pub wide: bool,
    on_device: bool,
}

impl Case {
    pub fn new(function: &str, random: Random) -> Self {
        let mut random = random;
        let wide = random.once_in(2);
        let function = if wide { format!("{function}_64") } else { function.to_owned() };
        let on_device = random.once_in(2);
        Self {
            function,
            arguments: Vec::new(),
            buffers: Vec::new(),
            terms: 1,
            unit: 0.0,
            status: 0,
            random,
            wide,
            on_device,
        }
    }

    /// Has scalars and results on the host.
    pub fn on_host(&mut self) {
        self.on_device = false;
    }

    /// Whether scalars and results are on the device.
    pub fn is_on_device(&self) -> bool {
        self.on_device
    }

    /// Makes the call with another argument, which is refused with a status and changes nothing.
    pub fn refuse(&mut self, which: usize, argument: Argument, status: i32) {
        self.arguments[which] = argument;
        self.status = status;
        for buffer in &mut self.buffers {
            buffer.expected.fill(None);
        }
    }

    /// A size of vectors, often at an edge of tiles.
    pub fn long(&mut self) -> usize {
        match self.random.below(8) {
            0..4 => self.random.below(40),
            4 => 100 + self.random.below(400),
            _ => self
                .random
                .one_of(&[0, 1, 2, 31, 32, 33, 63, 64, 65, 127, 128, 129, 255, 256, 257, 1023, 1024, 1025, 3000]),
        }
    }

    /// A size of matrices, seldom large.
    pub fn size(&mut self) -> usize {
        match self.random.below(16) {
            0..10 => self.random.below(24),
            10..14 => self.random.one_of(&[0, 1, 2, 15, 16, 17, 31, 32, 33]),
            14 => self.random.one_of(&[63, 64, 65, 66]),
            _ => self.random.one_of(&[127, 128, 129, 150]),
        }
    }

    /// A leading dimension for columns of `rows`.
    pub fn leading(&mut self, rows: usize) -> usize {
        let more = if self.random.once_in(2) { 0 } else { self.random.below(9) };
        rows.max(1) + more
    }

    pub fn increment(&mut self) -> i64 {
        self.random.one_of(&[1, 1, 1, 2, 3, -1, -2])
    }

    /// A buffer at the start of an allocation.
    pub fn aligned(&mut self, buffer: Buffer) -> usize {
        self.buffer(Buffer { aligned: true, ..buffer })
    }

    pub fn buffer(&mut self, buffer: Buffer) -> usize {
        self.buffers.push(buffer);
        self.buffers.len() - 1
    }

    /// A scalar.
    pub fn scalar(&mut self, kind: Kind, x: Num) -> Argument {
        let mut buffer = Buffer::new(kind, Place::ByMode, 1);
        buffer.put(0, x);
        At(self.buffer(buffer))
    }

    /// A place for a number that the call leaves.
    pub fn result(&mut self, kind: Kind, x: Num) -> Argument {
        let mut buffer = Buffer::new(kind, Place::ByMode, 1);
        buffer.expect(0, x);
        At(self.buffer(buffer))
    }

    /// Numbers of a type.
    pub fn numbers(&mut self, kind: Kind, n: usize) -> Vec<Num> {
        (0..n).map(|_| self.random.number(kind)).collect()
    }

    /// A vector with an increment.
    pub fn vector(&mut self, kind: Kind, x: &[Num], increment: i64) -> usize {
        let length = x.len().saturating_sub(1) * increment.unsigned_abs() as usize + 1;
        let mut buffer = Buffer::new(kind, Place::Device, length);
        for (i, x) in x.iter().enumerate() {
            buffer.put(place(i, length, increment), *x);
        }
        self.buffer(buffer)
    }

    /// Sets the expected result in a vector.
    pub fn expect(&mut self, buffer: usize, x: &[Num], increment: i64) {
        let length = self.buffers[buffer].expected.len();
        for (i, x) in x.iter().enumerate() {
            self.buffers[buffer].expect(place(i, length, increment), *x);
        }
    }

    /// A matrix, of which `stored` elements are in memory.
    pub fn matrix(&mut self, kind: Kind, store: Store, x: &Matrix) -> usize {
        let mut buffer = Buffer::new(kind, Place::Device, store.length(x));
        store.each(x, |index, x| buffer.put(index, x));
        self.buffer(buffer)
    }

    /// The same where nothing may be read if `unused`.
    pub fn matrix_unless(&mut self, unused: bool, kind: Kind, store: Store, x: &Matrix) -> usize {
        if unused {
            let length = store.length(x);
            return self.buffer(Buffer::new(kind, Place::Device, length));
        }
        self.matrix(kind, store, x)
    }

    /// Sets the expected result in a matrix.
    pub fn expect_matrix(&mut self, buffer: usize, store: Store, x: &Matrix) {
        store.each(x, |index, x| self.buffers[buffer].expect(index, x));
    }

    /// Makes the call. Says what is wrong.
    pub fn run(&mut self, device: Device) -> Result<(), String> {
        device.select();
        // Data is at any multiple of its size, often with memory of the program's before and after it.
        let random = &mut self.random;
        let edges: Vec<[usize; 2]> = self
            .buffers
            .iter()
            .map(|buffer| [0, 1].map(|_| if buffer.aligned || random.once_in(2) { 0 } else { random.below(5) }))
            .collect();
        let wrapped = |buffer: &Buffer, edges: &[usize; 2]| {
            let [before, after] = edges.map(|edge| vec![0xff; edge * buffer.kind.bytes()]);
            [before, buffer.bytes.clone(), after].concat()
        };
        let mut memories = Vec::new();
        for (buffer, edges) in self.buffers.iter().zip(&edges) {
            let bytes = wrapped(buffer, edges);
            let on_device = buffer.place == Place::Device || buffer.place == Place::ByMode && self.on_device;
            memories.push(if on_device { Data::Device(Memory::with(&bytes)) } else { Data::Host(bytes) });
        }
        let address = |number: usize| memories[number].address() + edges[number][0] * self.buffers[number].kind.bytes();
        let (mut lists, mut objects) = (Vec::new(), Vec::new());
        let stream = if self.random.once_in(2) { device.stream } else { 0 };
        let mut values = vec![device.handle];
        for argument in &self.arguments {
            values.push(match argument {
                Size(n) | Leading(n, _) => *n,
                Increment(n) | Choice(n) | Number(n) => n.cast_unsigned() as usize,
                At(number) => address(*number),
                Each(numbers) => {
                    let bytes: Vec<u8> = numbers.iter().flat_map(|number| address(*number).to_le_bytes()).collect();
                    lists.push(Memory::with(&bytes));
                    lists.last().map_or(0, |list| list.address)
                }
                Array(bytes) => at(bytes.as_slice()),
                Object { create, with, attributes } => {
                    let object = made(create, with);
                    for (attribute, value) in attributes {
                        let bytes = match value {
                            Attribute::Bytes(bytes) => bytes.clone(),
                            Attribute::At(number) => address(*number).to_le_bytes().to_vec(),
                        };
                        let set = create.replace("Create", "SetAttribute");
                        check(&set, &[object, *attribute as usize, at(bytes.as_slice()), bytes.len()]);
                    }
                    objects.push((create.replace("Create", "Destroy"), object));
                    object
                }
                Stream => stream,
                Null => 0,
            });
        }
        check("cublasSetStream_v2", &[device.handle, stream]);
        check("cublasSetPointerMode_v2", &[device.handle, self.on_device.into()]);
        let status = call(&self.function, &values);
        check("cuStreamSynchronize", &[stream]);
        for (destroy, object) in objects {
            check(&destroy, &[object]);
        }
        if status != self.status {
            return Err(format!("the status is {status}, not {}", self.status));
        }
        for (number, buffer) in self.buffers.iter().enumerate() {
            let now = memories[number].get();
            let before = wrapped(buffer, &edges[number]);
            self.compare(buffer, &before, &now, edges[number][0]).map_err(|why| format!("buffer {number}, {why}"))?;
        }
        Ok(())
    }

    /// Compares memory with what it was, or with what is expected: |x - expected| <= 2 (terms + 8) u size + v |x| where
    /// u is the unit of rounding of sums, v that of the type, and size the sum of the magnitudes of all terms.
    fn compare(&self, buffer: &Buffer, before: &[u8], now: &[u8], edge: usize) -> Result<(), String> {
        let bytes = buffer.kind.bytes();
        for (index, (before, now)) in before.chunks(bytes).zip(now.chunks(bytes)).enumerate() {
            let expected = index.checked_sub(edge).and_then(|index| *buffer.expected.get(index)?);
            let Some(expected) = expected else {
                if before != now {
                    return Err(format!("element {}: changed", index.cast_signed() - edge.cast_signed()));
                }
                continue;
            };
            let (re, im) = buffer.kind.decode(now);
            let sums = 2.0 * (self.terms as f64 + 8.0) * self.unit * expected.size;
            let tolerance = sums + 2.0 * buffer.kind.unit() * expected.magnitude() + buffer.kind.least();
            let near = |x: f64, expected: f64| (x - expected).abs() <= tolerance;
            if !near(re, expected.re) || !near(im, expected.im) {
                let Num { re: wanted, im: wanted_im, .. } = expected;
                let index = index - edge;
                return Err(format!(
                    "element {index}: {re} + {im} i, not {wanted} + {wanted_im} i within {tolerance:e}"
                ));
            }
        }
        Ok(())
    }

    /// The call, in words.
    pub fn text(&self) -> String {
        let mut text = format!("{}(handle", self.function);
        for argument in &self.arguments {
            match argument {
                Size(n) | Leading(n, _) => write!(text, ", {n}"),
                Increment(n) | Choice(n) | Number(n) => write!(text, ", {n}"),
                At(number) => {
                    let buffer = &self.buffers[*number];
                    match buffer.expected.len() {
                        1 if buffer.place != Place::Device => {
                            let (re, im) = buffer.kind.decode(&buffer.bytes);
                            write!(text, ", buffer {number} = {re} + {im} i")
                        }
                        _ => write!(text, ", buffer {number}"),
                    }
                }
                Each(numbers) => write!(text, ", buffers {numbers:?}"),
                Array(bytes) => write!(text, ", {bytes:?}"),
                Object { create, with, attributes } => write!(text, ", {create}{with:?} with {attributes:?}"),
                Stream => write!(text, ", stream"),
                Null => write!(text, ", null"),
            }
            .expect("a string can be written");
        }
        text + if self.on_device { "), scalars on the device" } else { "), scalars on the host" }
    }
}

/// Place of an element in a vector, which a negative increment reverses.
fn place(i: usize, length: usize, increment: i64) -> usize {
    let along = i * increment.unsigned_abs() as usize;
    if increment < 0 { length - 1 - along } else { along }
}

enum Data {
    Device(Memory),
    Host(Vec<u8>),
}

impl Data {
    fn address(&self) -> usize {
        match self {
            Self::Device(memory) => memory.address,
            Self::Host(bytes) => at(bytes.as_slice()),
        }
    }

    fn get(&self) -> Vec<u8> {
        match self {
            Self::Device(memory) => memory.get(),
            // The call has written through its address.
            Self::Host(bytes) => std::hint::black_box(bytes).clone(),
        }
    }
}

/// The sum that a product adds to: nothing is read where `beta` is zero.
pub fn scaled(beta: Num, x: Num) -> Num {
    if beta.is_zero() { ZERO } else { beta * x }
}

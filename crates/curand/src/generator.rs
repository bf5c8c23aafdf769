//! The generator of a `curandGenerator_t`, and its draws on the device.

use cabi::address::{Address, Handle};
use cabi::stand_in::{Fault, Gpu, Memory};

use crate::draw::{Draw, Output};
use crate::engine::{Kind, Lanes, State, Twister, WORDS};
use crate::host::{self, States};
use crate::sobol::directions;
use crate::status::{Result, Status};

/// A generator with its settings and where it is in its results.
pub struct Generator {
    pub kind: Kind,
    pub on_host: bool,
    pub stream: Handle,
    pub seed: u64,
    pub offset: u64,
    pub legacy: bool,
    pub dimensions: u32,
    /// Items (XORWOW, MRG32k3a), words (Philox) or points (Sobol) before the next one.
    position: u64,
    lanes: Option<Lanes>,
    /// First states that were made: of the lanes, or of the one state that there is.
    made: u32,
    memory: Option<Memory>,
    host: States,
}

impl Generator {
    pub fn new(kind: Kind, on_host: bool) -> Self {
        Self {
            kind,
            on_host,
            stream: 0,
            seed: 0,
            offset: 0,
            legacy: false,
            dimensions: 1,
            position: 0,
            lanes: None,
            made: 0,
            memory: None,
            host: States::default(),
        }
    }

    /// Begins anew, after a change of settings.
    pub fn restart(&mut self) {
        self.position = self.offset;
        self.lanes = None;
        self.made = 0;
        self.host = States::default();
    }

    fn gpu(&self) -> Result<Gpu> {
        Ok(Gpu::current("warpwright cuRAND", c"rand", self.stream)?)
    }

    /// Draws `count` elements.
    pub fn draw(&mut self, output: Output, call: Draw) -> Result<()> {
        let Self { kind, dimensions, .. } = *self;
        let count = call.count;
        let pairs = output.is_normal() && kind.has_pairs();
        if kind.quasi_bits().is_some() && !count.is_multiple_of(dimensions.into())
            || pairs && kind.lanes(self.legacy) != 0 && !count.is_multiple_of(2)
        {
            return Err(Status::LENGTH_NOT_MULTIPLE);
        }
        if count == 0 {
            return Ok(());
        }
        if call.out == 0 {
            return Err(Status::OUT_OF_RANGE);
        }
        let items = if pairs { count.div_ceil(2) } else { count };
        let lanes = kind.lanes(self.legacy);
        let mut call = Draw { items, lanes, dimensions, seed: self.seed, wide: kind == Kind::Sobol64, ..call };
        // Words that are passed over do not cross the end of an item.
        let words = if kind == Kind::Philox { output.words() } else { 1 };
        self.position = self.position.next_multiple_of(words);
        call.position = self.position;
        let used = if lanes == 0 {
            items
        } else {
            call.first = u32::try_from(self.position % u64::from(lanes)).unwrap_or(0);
            items.min(lanes.into())
        };
        if self.on_host {
            host::writable(call.out)?;
            let new = self.first_states(call.first, used);
            self.host.lanes.extend(new);
            host::draw(kind, output, &call, &mut self.host)?;
        } else {
            let gpu = self.gpu()?;
            call.states = self.states(&gpu, call.first, used)?;
            let name = format!("standin_curand_{}_{}", kind.name(), output.name());
            match kind {
                Kind::Mt19937 => gpu.launch(&name, [1; 3], cabi::stand_in::THREADS, 0, &[&call.argument()])?,
                Kind::Philox => gpu.launch_over(&name, (items * words).div_ceil(4) + 1, &[&call.argument()])?,
                _ => gpu.launch_over(&name, used, &[&call.argument()])?,
            }
        }
        self.position += match kind.quasi_bits() {
            Some(_) => count / u64::from(dimensions),
            None => items * words,
        };
        Ok(())
    }

    /// The first states of the lanes up to the last of `used` from `first` that were not made before.
    fn first_states(&mut self, first: u32, used: u64) -> Vec<State> {
        let all = self.kind.lanes(self.legacy);
        if all == 0 {
            return Vec::new();
        }
        let end = u32::try_from((u64::from(first) + used).min(all.into())).unwrap_or(all);
        let (kind, seed, offset) = (self.kind, self.seed, self.offset);
        let lanes = self.lanes.get_or_insert_with(|| Lanes::new(kind, seed, offset, all));
        let new = lanes.take(end.saturating_sub(self.made) as usize).collect();
        self.made = self.made.max(end);
        new
    }

    /// The states on the device, with the first ones of the lanes that are used.
    fn states(&mut self, gpu: &Gpu, first: u32, used: u64) -> Result<Address> {
        match self.kind {
            Kind::Philox => Ok(0),
            Kind::Xorwow | Kind::Mrg32k3a => {
                let all = self.kind.lanes(false).max(self.kind.lanes(true)) as usize;
                let address = self.memory(gpu, 4 * WORDS * all)?;
                let lanes = self.kind.lanes(self.legacy) as usize;
                let from = self.made as usize;
                let new = self.first_states(first, used);
                for word in 0..WORDS {
                    let column: Vec<u32> = new.iter().map(|state| state[word]).collect();
                    gpu.upload(address + 4 * (word * lanes + from), &column)?;
                }
                Ok(address)
            }
            Kind::Mt19937 => {
                let address = self.memory(gpu, 4 * 625)?;
                if self.made == 0 {
                    let Twister { words, used } = Twister::new(self.seed);
                    gpu.upload(address, &words)?;
                    gpu.upload(address + 4 * 624, &[used])?;
                    self.made = 1;
                }
                Ok(address)
            }
            Kind::Sobol32 | Kind::Sobol64 => {
                let bits = self.kind.quasi_bits().unwrap_or(32);
                let bytes = bits * bits / 8 * self.dimensions as usize;
                if self.made != self.dimensions {
                    self.memory = None;
                }
                let address = self.memory(gpu, bytes)?;
                if self.made != self.dimensions {
                    let all = directions(self.dimensions as usize, bits).concat();
                    if bits == 64 {
                        gpu.upload(address, &all)?;
                    } else {
                        let all: Vec<u32> = all.into_iter().map(crate::engine::low).collect();
                        gpu.upload(address, &all)?;
                    }
                    self.made = self.dimensions;
                }
                Ok(address)
            }
        }
    }

    fn memory(&mut self, gpu: &Gpu, bytes: usize) -> std::result::Result<Address, Fault> {
        if let Some(memory) = &self.memory {
            return Ok(memory.address);
        }
        Ok(self.memory.insert(gpu.memory(bytes)?).address)
    }
}

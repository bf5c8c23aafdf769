//! A process for the driver, and programs in a few words.

use cuda::graph::Task;
use cuda::memory::{Place3d, Said};
use cuda::module::{Arguments, Request};
use cuda::stream::Info;
use cuda::work::Call;
use cuda::{Driver, Host, Result, Settings, Step, Wait};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

/// Memory of a process: pieces by their address.
#[derive(Clone, Debug, Default)]
pub struct Fake {
    memory: Arc<Mutex<BTreeMap<u64, Vec<u8>>>>,
    messages: Arc<Mutex<Vec<String>>>,
}

/// First address of what tests put into memory.
const FIRST: u64 = 0x1000_0000;

impl Fake {
    fn with<T>(&self, address: u64, bytes: usize, access: impl FnOnce(&mut [u8]) -> T) -> Option<T> {
        let mut memory = self.memory.lock().unwrap();
        let (start, piece) = memory.range_mut(..=address).next_back()?;
        let from = usize::try_from(address - start).ok()?;
        piece.get_mut(from..from.checked_add(bytes)?).map(access)
    }

    /// Puts bytes into memory; returns their address.
    pub fn put(&self, bytes: &[u8]) -> u64 {
        let mut memory = self.memory.lock().unwrap();
        let end = memory.range(..1 << 36).next_back().map_or(FIRST, |(start, piece)| start + piece.len() as u64);
        let address = (end + 64).next_multiple_of(64);
        memory.insert(address, bytes.to_vec());
        address
    }

    pub fn bytes(&self, address: u64, count: usize) -> Vec<u8> {
        self.with(address, count, |piece| piece.to_vec()).expect("memory of the test")
    }

    pub fn messages(&self) -> Vec<String> {
        self.messages.lock().unwrap().clone()
    }
}

impl Host for Fake {
    fn read(&self, address: u64, out: &mut [u8]) -> bool {
        self.with(address, out.len(), |piece| out.copy_from_slice(piece)).is_some()
    }
    fn write(&self, address: u64, data: &[u8]) -> bool {
        self.with(address, data.len(), |piece| piece.copy_from_slice(data)).is_some()
    }
    fn map(&self, address: u64, bytes: u64) -> bool {
        self.memory.lock().unwrap().insert(address, vec![0; bytes as usize]).is_none()
    }
    fn unmap(&self, address: u64, _: u64) {
        self.memory.lock().unwrap().remove(&address);
    }
    fn print(&self, _: &str) {}
    fn message(&self, text: &str) {
        self.messages.lock().unwrap().push(text.to_owned());
    }
}

/// Kernels: `spin(out, rounds)` takes a while, `add(to, from, n)` adds a number to others.
pub const KERNELS: &str = "
.version 7.5
.target sm_75
.address_size 64
.visible .entry spin(.param .u64 out, .param .u32 rounds)
{
    .reg .pred %p;
    .reg .b32 %r<5>;
    .reg .b64 %rd<4>;
    ld.param.u64 %rd1, [out];
    ld.param.u32 %r1, [rounds];
    mov.u32 %r2, %tid.x;
    mov.u32 %r3, 0;
again:
    mad.lo.u32 %r2, %r2, 1664525, 1013904223;
    add.u32 %r3, %r3, 1;
    setp.lt.u32 %p, %r3, %r1;
    @%p bra again;
    mov.u32 %r4, %tid.x;
    mul.wide.u32 %rd2, %r4, 4;
    add.u64 %rd3, %rd1, %rd2;
    st.global.u32 [%rd3], %r2;
    ret;
}
.visible .entry add(.param .u64 to, .param .u64 from, .param .u32 n)
{
    .reg .b32 %r<6>;
    .reg .b64 %rd<6>;
    ld.param.u64 %rd1, [to];
    ld.param.u64 %rd2, [from];
    ld.param.u32 %r1, [n];
    mov.u32 %r2, %tid.x;
    mul.wide.u32 %rd3, %r2, 4;
    add.u64 %rd4, %rd2, %rd3;
    ld.global.u32 %r3, [%rd4];
    add.u32 %r4, %r3, %r1;
    add.u64 %rd5, %rd1, %rd3;
    st.global.u32 [%rd5], %r4;
    ret;
}";

/// A program with a device.
pub struct Program {
    pub driver: Driver,
    pub fake: Fake,
    pub spin: u64,
    pub add: u64,
    /// Calls of host functions so far, by their argument.
    pub calls: Vec<u64>,
}

impl Program {
    pub fn new() -> Self {
        Self::with("")
    }

    /// With settings of the GPU description.
    pub fn with(sets: &str) -> Self {
        Self::on("rtx2060s", sets)
    }

    /// The same, with another GPU description.
    pub fn on(gpu: &str, sets: &str) -> Self {
        let variable = |name: &str| match name {
            "WARPWRIGHT_GPU" => Some(gpu.to_owned()),
            "WARPWRIGHT_SET" => Some(sets.to_owned()),
            _ => None,
        };
        let settings = Settings::read(&variable).unwrap();
        let fake = Fake::default();
        let mut driver = Driver::new(settings, Box::new(fake.clone()));
        driver.platform.init(0).unwrap();
        let context = driver.platform.primary_retain(0).unwrap();
        driver.platform.set_current(context).unwrap();
        let module = driver.modules.load(&mut driver.platform, KERNELS.as_bytes()).unwrap();
        let [spin, add] =
            ["spin", "add"].map(|name| driver.modules.function(&mut driver.platform, module, name).unwrap());
        Self { driver, fake, spin, add, calls: Vec::new() }
    }

    pub fn alloc(&mut self, bytes: u64) -> u64 {
        self.driver.mem_alloc(bytes).unwrap()
    }

    pub fn stream(&mut self) -> u64 {
        self.stream_with(0, 0)
    }

    pub fn stream_with(&mut self, flags: u32, priority: i32) -> u64 {
        self.driver.streams.create(&self.driver.platform, flags, priority).unwrap()
    }

    pub fn stream_destroy(&mut self, stream: u64) -> Result<()> {
        self.driver.streams.destroy(&self.driver.platform, stream)
    }

    pub fn stream_wait(&mut self, stream: u64, only_ask: bool) -> Result<Wait> {
        self.driver.streams.wait(&mut self.driver.platform, stream, only_ask)
    }

    pub fn is_idle(&mut self, stream: u64) -> Result<bool> {
        self.driver.streams.is_idle(&self.driver.platform, stream)
    }

    /// The capture of a stream.
    pub fn capture(&mut self, stream: u64) -> Result<Info> {
        self.driver.streams.capture_info(&self.driver.platform, stream)
    }

    /// An event that is not recorded.
    pub fn event(&mut self) -> u64 {
        self.driver.streams.event_create(&self.driver.platform, 0).unwrap()
    }

    pub fn graph(&mut self) -> u64 {
        self.driver.graphs.create(&self.driver.platform).unwrap()
    }

    pub fn node(&mut self, graph: u64, after: &[u64], task: Task) -> Result<u64> {
        self.driver.graphs.add(&mut self.driver.memory, graph, after, task)
    }

    pub fn instantiate(&mut self, graph: u64, flags: u64) -> Result<u64> {
        self.driver.graphs.instantiate(&mut self.driver.memory, graph, flags)
    }

    pub fn request(&self, function: u64, args: &[u64], stream: u64) -> Request {
        // Parameters of 64 bits, then one of 32.
        let bytes: Vec<u8> = args.iter().flat_map(|arg| arg.to_le_bytes()).collect();
        let packed = Arguments::Packed(self.fake.put(&bytes), bytes.len() as u64);
        let (grid, block) = ([1, 1, 1], [32, 1, 1]);
        Request { function, grid, block, shared_bytes: 0, stream, arguments: packed, cooperative: false, cluster: None }
    }

    /// Launches `spin`.
    pub fn spin(&mut self, out: u64, rounds: u64, stream: u64) {
        let request = self.request(self.spin, &[out, rounds], stream);
        self.driver.launch(&request).unwrap();
    }

    /// Launches `add`.
    pub fn add(&mut self, to: u64, from: u64, n: u64, stream: u64) {
        let request = self.request(self.add, &[to, from, n], stream);
        self.driver.launch(&request).unwrap();
    }

    /// A recorded event.
    pub fn mark(&mut self, stream: u64) -> u64 {
        let event = self.event();
        self.driver.event_record(event, stream, false).unwrap();
        event
    }

    /// Lets one stream wait for what another one has.
    pub fn order(&mut self, first: u64, then: u64) {
        let event = self.mark(first);
        assert_eq!(self.driver.stream_wait_event(then, event, false), Ok(Wait::Nothing));
    }

    pub fn fill(&mut self, address: u64, value: u32, count: u64, stream: u64) {
        self.driver.fill(address, 0, (value, 4), [count, 1], stream).unwrap();
    }

    pub fn call(&mut self, argument: u64, stream: u64) {
        self.driver.call_host(stream, Call { function: 1, argument, stream: None }).unwrap();
    }

    /// Copies from the host without waiting.
    pub fn copy_in(&mut self, to: u64, from: u64, bytes: u64, stream: u64) -> Result<Wait> {
        let place = |said, address| Place3d::line(said, address, bytes);
        self.driver.copy(place(Said::Device, to), place(Said::Host, from), [bytes, 1, 1], stream, false)
    }

    pub fn copy_out(&mut self, to: u64, from: u64, bytes: u64, stream: u64) -> Result<Wait> {
        let place = |said, address| Place3d::line(said, address, bytes);
        self.driver.copy(place(Said::Nothing, to), place(Said::Device, from), [bytes, 1, 1], stream, false)
    }

    pub fn finish(&mut self, wait: Wait) -> Result<()> {
        loop {
            match self.driver.platform.wait(wait)? {
                Step::Done => return Ok(()),
                Step::Call(device, op, call) => {
                    self.calls.push(call.argument);
                    self.driver.platform.called(device, op);
                }
                Step::Elsewhere => panic!("nobody else is here"),
            }
        }
    }

    pub fn synchronise(&mut self) {
        self.finish(Wait::Device(0)).unwrap();
    }

    /// Microseconds between two events, after all work.
    pub fn between(&mut self, start: u64, end: u64) -> f64 {
        self.synchronise();
        f64::from(self.driver.streams.event_elapsed(&self.driver.platform, start, end).unwrap()) * 1e3
    }

    /// Numbers of device memory.
    pub fn numbers(&mut self, address: u64, count: u64) -> Vec<u32> {
        let to = self.fake.put(&vec![0; 4 * count as usize]);
        let wait = self.copy_out(to, address, 4 * count, 0).unwrap();
        self.finish(wait).unwrap();
        let bytes = self.fake.bytes(to, 4 * count as usize);
        bytes.chunks(4).map(|b| u32::from_le_bytes(b.try_into().unwrap())).collect()
    }
}

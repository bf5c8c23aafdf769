//! A small driver in this process: two devices, memory of the host, modules that are images.
//!
//! It keeps a log of what the runtime calls, for tests to compare.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::ffi::{CStr, c_char, c_int, c_uint, c_void};
use std::sync::{Mutex, MutexGuard};

/// Codes that the driver returns here.
pub const INVALID_VALUE: c_int = 1;
pub const NOT_FOUND: c_int = 500;

/// The primary context of a device is this plus the device.
pub const CONTEXT: usize = 0x1000;
pub const DEVICES: c_int = 2;

#[derive(Default)]
pub struct State {
    /// Calls of the functions that tests check.
    pub log: Vec<String>,
    /// Allocations by address.
    memory: BTreeMap<usize, Box<[u8]>>,
    /// Variables by module and name.
    variables: BTreeMap<(usize, String), usize>,
    /// Functions and references: the handle is the index plus one.
    names: Vec<(usize, String)>,
    /// Arrays: width, height, depth, format, channels.
    arrays: Vec<[usize; 5]>,
    /// The descriptions of textures, until the device is reset: the handle is the index plus one.
    textures: Vec<([u64; 18], [u32; 26])>,
    /// The parameters of the last nodes of graphs.
    kernel_node: [u64; 9],
    copy_node: [u64; 25],
    /// The error of every call that has a context, once set.
    pub broken: c_int,
    /// Called once, when a context is made current or a module is loaded.
    pub meanwhile: Option<fn()>,
}

static STATE: Mutex<State> = Mutex::new(State {
    log: Vec::new(),
    memory: BTreeMap::new(),
    variables: BTreeMap::new(),
    names: Vec::new(),
    arrays: Vec::new(),
    textures: Vec::new(),
    kernel_node: [0; 9],
    copy_node: [0; 25],
    broken: 0,
    meanwhile: None,
});

thread_local! {
    static CURRENT: Cell<usize> = const { Cell::new(0) };
}

pub fn state() -> MutexGuard<'static, State> {
    STATE.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

fn meanwhile() {
    let call = state().meanwhile.take();
    if let Some(call) = call {
        call();
    }
}

fn log(line: String) {
    state().log.push(line);
}

impl State {
    fn allocate(&mut self, bytes: usize) -> usize {
        let block = vec![0xa5_u8; bytes].into_boxed_slice();
        let address = block.as_ptr().expose_provenance();
        self.memory.insert(address, block);
        address
    }

    /// The bytes of an allocation from an address on.
    fn bytes(&mut self, address: usize, count: usize) -> Option<&mut [u8]> {
        let (start, block) = self.memory.range_mut(..=address).next_back()?;
        let offset = address - *start;
        block.get_mut(offset..offset.checked_add(count)?)
    }

    fn handle(&mut self, module: usize, name: &str) -> usize {
        let key = (module, name.to_owned());
        let found = self.names.iter().position(|name| *name == key);
        found.unwrap_or_else(|| {
            self.names.push(key);
            self.names.len() - 1
        }) + 1
    }

    fn name(&self, handle: usize) -> &str {
        self.names.get(handle.wrapping_sub(1)).map_or("?", |(_, name)| name)
    }
}

fn text(name: *const c_char) -> String {
    // SAFETY: the runtime passes texts that end with a zero byte.
    unsafe { CStr::from_ptr(name) }.to_string_lossy().into_owned()
}

fn put<T>(place: *mut T, value: T) -> c_int {
    if place.is_null() {
        return INVALID_VALUE;
    }
    // SAFETY: the runtime checks places of programs, and its own are valid.
    unsafe { place.write(value) };
    0
}

fn host<'a>(address: usize, count: usize) -> &'a mut [u8] {
    // SAFETY: tests pass places of their own to copies.
    unsafe { std::slice::from_raw_parts_mut(std::ptr::with_exposed_provenance_mut(address), count) }
}

/// Values of attributes: limits of launches as the hardware has them, else 100 plus the number.
pub fn attribute(number: c_int) -> c_int {
    match number {
        1..=3 => 1024,
        4 => 64,
        5 => c_int::MAX,
        6 | 7 => 65_535,
        69 => 1 << 27,
        75 => 7,
        76 => 5,
        other => 100 + other,
    }
}

macro_rules! fake {
    ($(fn $name:ident($($argument:ident: $kind:ty),* $(,)?) $body:block)*) => {
        $(extern "C" fn $name($($argument: $kind),*) -> c_int $body)*

        /// The address of a function of this driver.
        pub fn find(name: &CStr) -> usize {
            match name.to_str() {
                $(Ok(stringify!($name)) => ($name as *const ()).expose_provenance(),)*
                _ => 0,
            }
        }
    };
}

fake! {
    fn cuInit(_flags: c_uint) { 0 }
    fn cuDriverGetVersion(place: *mut c_int) { put(place, 12_090) }
    fn cuDeviceGetCount(place: *mut c_int) { put(place, DEVICES) }
    fn cuDeviceGetName(place: *mut c_char, bytes: c_int, device: c_int) {
        let name = format!("Fake {device}");
        let room = host(place.expose_provenance(), bytes as usize);
        room[..name.len()].copy_from_slice(name.as_bytes());
        room[name.len()] = 0;
        0
    }
    fn cuDeviceTotalMem_v2(place: *mut usize, _device: c_int) { put(place, 8 << 30) }
    fn cuDeviceGetUuid_v2(place: *mut [u8; 16], device: c_int) {
        put(place, [device as u8 + 1; 16])
    }
    fn cuDeviceGetAttribute(place: *mut c_int, number: c_int, _device: c_int) {
        put(place, attribute(number))
    }
    fn cuDevicePrimaryCtxRetain(place: *mut usize, device: c_int) {
        log(format!("retain {device}"));
        put(place, CONTEXT + device as usize)
    }
    fn cuDevicePrimaryCtxSetFlags_v2(device: c_int, flags: c_uint) {
        log(format!("flags of {device} {flags:#x}"));
        0
    }
    fn cuDevicePrimaryCtxRelease_v2(_device: c_int) { 0 }
    fn cuDevicePrimaryCtxReset_v2(device: c_int) {
        log(format!("reset {device}"));
        state().textures.clear();
        0
    }
    fn cuCtxGetCurrent(place: *mut usize) { put(place, CURRENT.get()) }
    fn cuCtxSetCurrent(context: usize) {
        CURRENT.set(context);
        meanwhile();
        0
    }
    fn cuCtxGetDevice(place: *mut c_int) { put(place, (CURRENT.get() - CONTEXT) as c_int) }
    fn cuCtxSynchronize() { state().broken }

    fn cuModuleLoadFatBinary(place: *mut usize, image: usize) {
        log(format!("load in {:#x}", CURRENT.get()));
        meanwhile();
        // A module of its own for each context.
        put(place, image ^ (CURRENT.get() << 40))
    }
    fn cuModuleUnload(_module: usize) {
        log("unload".to_owned());
        0
    }
    fn cuModuleGetFunction(place: *mut usize, module: usize, name: *const c_char) {
        let name = text(name);
        if name == "absent" {
            return NOT_FOUND;
        }
        log(format!("function {name}"));
        put(place, state().handle(module, &name))
    }
    fn cuModuleGetGlobal_v2(
        place: *mut usize,
        bytes: *mut usize,
        module: usize,
        name: *const c_char,
    ) {
        let key = (module, text(name));
        if key.1 == "absent" {
            return NOT_FOUND;
        }
        let mut state = state();
        let known = state.variables.get(&key).copied();
        let address = known.unwrap_or_else(|| state.allocate(64));
        state.variables.insert(key, address);
        put(bytes, 64);
        put(place, address)
    }
    fn cuModuleGetTexRef(place: *mut usize, module: usize, name: *const c_char) {
        put(place, state().handle(module, &text(name)))
    }
    fn cuTexRefSetFormat(reference: usize, format: c_int, channels: c_int) {
        let mut state = state();
        let line = format!("{} format {format:#x} x {channels}", state.name(reference));
        state.log.push(line);
        0
    }
    fn cuTexRefSetFlags(_reference: usize, flags: c_uint) {
        log(format!("flags {flags:#x}"));
        0
    }
    fn cuTexRefSetFilterMode(_reference: usize, mode: c_int) {
        log(format!("filter {mode}"));
        0
    }
    fn cuTexRefSetAddressMode(_reference: usize, dimension: c_int, mode: c_int) {
        log(format!("address {dimension} {mode}"));
        0
    }
    fn cuTexRefSetAddress_v2(
        offset: *mut usize,
        _reference: usize,
        address: usize,
        bytes: usize,
    ) {
        log(format!("bind {bytes}"));
        put(offset, address % 32)
    }
    fn cuTexRefSetAddress2D_v3(
        _reference: usize,
        plane: *const [usize; 3],
        _address: usize,
        pitch: usize,
    ) {
        // SAFETY: the runtime passes a `CUDA_ARRAY_DESCRIPTOR`.
        let plane = unsafe { *plane };
        log(format!("bind {} x {} by {pitch}", plane[0], plane[1]));
        0
    }
    fn cuTexRefSetArray(_reference: usize, array: usize, flags: c_uint) {
        log(format!("bind array {array} {flags}"));
        0
    }

    fn cuLaunchKernel(
        function: usize,
        grid_x: c_uint,
        grid_y: c_uint,
        grid_z: c_uint,
        block_x: c_uint,
        block_y: c_uint,
        block_z: c_uint,
        shared: c_uint,
        stream: usize,
        _arguments: usize,
        _extra: usize,
    ) {
        let mut state = state();
        let name = state.name(function).to_owned();
        state.log.push(format!(
            "launch {name} {grid_x}.{grid_y}.{grid_z} {block_x}.{block_y}.{block_z} {shared} in \
             {stream}"
        ));
        0
    }
    fn cuFuncGetAttribute(place: *mut c_int, number: c_int, _function: usize) {
        put(place, 10 + number)
    }

    fn cuMemAlloc_v2(place: *mut usize, bytes: usize) { put(place, state().allocate(bytes)) }
    fn cuMemFree_v2(address: usize) {
        if state().memory.remove(&address).is_some() { 0 } else { INVALID_VALUE }
    }
    fn cuMemcpy(to: usize, from: usize, count: usize) {
        log(format!("copy {count} by address"));
        let place = |address| libc::iovec {
            iov_base: std::ptr::with_exposed_provenance_mut(address),
            iov_len: count,
        };
        // SAFETY: the kernel checks both ranges.
        let moved = unsafe { libc::process_vm_writev(libc::getpid(), &place(from), 1, &place(to), 1, 0) };
        if moved == count as isize { 0 } else { INVALID_VALUE }
    }
    fn cuMemcpyHtoD_v2(to: usize, from: usize, count: usize) {
        match state().bytes(to, count) {
            Some(bytes) => bytes.copy_from_slice(host(from, count)),
            None => return INVALID_VALUE,
        }
        0
    }
    fn cuMemcpyDtoH_v2(to: usize, from: usize, count: usize) {
        match state().bytes(from, count) {
            Some(bytes) => host(to, count).copy_from_slice(bytes),
            None => return INVALID_VALUE,
        }
        0
    }
    fn cuMemcpyHtoDAsync_v2(to: usize, from: usize, count: usize, stream: usize) {
        log(format!("copy {count} in {stream}"));
        cuMemcpyHtoD_v2(to, from, count)
    }
    fn cuMemcpy2DUnaligned_v2(copy: *const [usize; 16]) {
        // SAFETY: the runtime passes a `CUDA_MEMCPY2D`.
        let copy = unsafe { *copy };
        let side = |first: usize| {
            let kind = copy[first + 2] & 0xffff_ffff;
            format!("{}+{} kind {kind} pitch {}", copy[first], copy[first + 1], copy[first + 6])
        };
        log(format!("copy {} to {}: {} x {}", side(0), side(7), copy[14], copy[15]));
        0
    }
    fn cuMemsetD8_v2(to: usize, value: u8, count: usize) {
        match state().bytes(to, count) {
            Some(bytes) => bytes.fill(value),
            None => return INVALID_VALUE,
        }
        0
    }
    fn cuMemsetD2D8_v2(_to: usize, pitch: usize, value: u8, width: usize, height: usize) {
        log(format!("fill {value} {width} x {height} by {pitch}"));
        0
    }
    fn cuPointerGetAttribute(place: *mut c_void, number: c_int, address: usize) {
        if state().bytes(address, 1).is_none() {
            return INVALID_VALUE;
        }
        match number {
            2 => put(place.cast::<c_int>(), 2),
            3 => put(place.cast::<usize>(), address),
            8 => put(place.cast::<u8>(), 0),
            9 => put(place.cast::<c_int>(), 0),
            _ => INVALID_VALUE,
        }
    }

    fn cuArray3DCreate_v2(place: *mut usize, descriptor: *const [usize; 5]) {
        // SAFETY: the runtime passes a `CUDA_ARRAY3D_DESCRIPTOR`.
        let described = unsafe { *descriptor };
        let mut state = state();
        state.arrays.push(described);
        put(place, state.arrays.len())
    }
    fn cuArray3DGetDescriptor_v2(place: *mut [usize; 5], array: usize) {
        match state().arrays.get(array.wrapping_sub(1)) {
            Some(described) => put(place, *described),
            None => 400,
        }
    }

    fn cuTexObjectCreate(
        place: *mut u64,
        resource: *const [u64; 18],
        texture: *const [u32; 26],
        _view: usize,
    ) {
        let mut state = state();
        // SAFETY: the runtime passes a `CUDA_RESOURCE_DESC` and a `CUDA_TEXTURE_DESC`.
        state.textures.push(unsafe { (*resource, *texture) });
        put(place, state.textures.len() as u64)
    }
    fn cuTexObjectGetResourceDesc(place: *mut [u64; 18], object: u64) {
        match state().textures.get(object.wrapping_sub(1) as usize) {
            Some((resource, _)) => put(place, *resource),
            None => INVALID_VALUE,
        }
    }
    fn cuTexObjectGetTextureDesc(place: *mut [u32; 26], object: u64) {
        match state().textures.get(object.wrapping_sub(1) as usize) {
            Some((_, texture)) => put(place, *texture),
            None => INVALID_VALUE,
        }
    }

    fn cuStreamSynchronize(stream: usize) {
        log(format!("wait for {stream}"));
        0
    }
    fn cuStreamAddCallback(
        stream: usize,
        callback: Option<extern "C" fn(usize, c_int, *mut c_void)>,
        data: *mut c_void,
        _flags: c_uint,
    ) {
        let Some(callback) = callback else {
            return INVALID_VALUE;
        };
        callback(stream, 0, data);
        0
    }
    fn cuEventQuery(_event: usize) { 600 }
    fn cuGetProcAddress_v2(
        name: *const c_char,
        place: *mut usize,
        version: c_int,
        flags: u64,
        status: *mut c_int,
    ) {
        log(format!("find {} of {version} {flags}", text(name)));
        // SAFETY: the runtime passes a text that ends with a zero byte.
        let found = find(unsafe { CStr::from_ptr(name) });
        put(status, c_int::from(found == 0));
        if found == 0 { NOT_FOUND } else { put(place, found) }
    }
    fn cuGraphAddKernelNode_v2(
        node: *mut usize,
        _graph: usize,
        _dependencies: usize,
        count: usize,
        parameters: *const [u64; 9],
    ) {
        // SAFETY: the runtime passes a `CUDA_KERNEL_NODE_PARAMS`.
        let parameters = unsafe { *parameters };
        let mut state = state();
        let name = state.name(parameters[0] as usize).to_owned();
        state.log.push(format!("kernel node {name} after {count}"));
        state.kernel_node = parameters;
        put(node, 1)
    }
    fn cuGraphKernelNodeGetParams_v2(_node: usize, parameters: *mut [u64; 9]) {
        put(parameters, state().kernel_node)
    }
    fn cuGraphAddMemcpyNode(
        node: *mut usize,
        _graph: usize,
        _dependencies: usize,
        _count: usize,
        copy: *const [u64; 25],
        context: usize,
    ) {
        let mut state = state();
        // SAFETY: the runtime passes a `CUDA_MEMCPY3D`.
        state.copy_node = unsafe { *copy };
        state.log.push(format!("copy node in {context:#x}"));
        put(node, 2)
    }
    fn cuGraphMemcpyNodeGetParams(_node: usize, copy: *mut [u64; 25]) {
        put(copy, state().copy_node)
    }
    fn cuGraphAddEmptyNode(node: *mut usize, _graph: usize, _dependencies: usize, count: usize) {
        log(format!("empty node after {count}"));
        put(node, 3)
    }
    fn cuGraphExecUpdate_v2(_executable: usize, _graph: usize, result: *mut [u64; 3]) {
        put(result, [0xffff_ffff_0000_0004, 77, 78]);
        910
    }
    fn cuGraphInstantiateWithFlags(executable: *mut usize, graph: usize, flags: u64) {
        log(format!("instantiate {graph} {flags}"));
        put(executable, 9)
    }
    fn cuMemAdvise(_address: usize, bytes: usize, advice: c_int, device: c_int) {
        log(format!("advise {bytes} {advice} {device}"));
        0
    }
}

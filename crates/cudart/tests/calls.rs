//! The C functions under test, as a C program declares them, and a program's registrations.

use std::ffi::{CString, c_char, c_int, c_uint, c_void};

use crate::driver;

/// `dim3`.
#[repr(C)]
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Dim3(pub c_uint, pub c_uint, pub c_uint);

/// `cudaExtent`.
#[repr(C)]
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Extent(pub usize, pub usize, pub usize);

/// `cudaPitchedPtr`.
#[repr(C)]
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Pitched(pub usize, pub usize, pub usize, pub usize);

pub type Callback = extern "C" fn(usize, c_int, *mut c_void);

macro_rules! declare {
    ($(fn $name:ident($($argument:ident: $kind:ty),*) -> $result:ty;)*) => {
        mod c {
            use super::*;

            unsafe extern "C" {
                $(pub fn $name($($argument: $kind),*) -> $result;)*
            }
        }

        $(
            pub fn $name($($argument: $kind),*) -> $result {
                // SAFETY: the declaration is that of the public header, with numbers for pointers.
                unsafe { c::$name($($argument),*) }
            }
        )*
    };
}

declare! {
    fn __cudaRegisterFatBinary(wrapper: usize) -> usize;
    fn __cudaUnregisterFatBinary(binary: usize) -> ();
    fn __cudaInitModule(binary: usize) -> u8;
    fn __cudaRegisterFunction(
        binary: usize, host: usize, text: usize, name: usize, threads: c_int, a: usize, b: usize,
        c: usize, d: usize, warp: usize) -> ();
    fn __cudaRegisterVar(
        binary: usize, host: usize, text: usize, name: usize, external: c_int, size: usize,
        constant: c_int, global: c_int) -> ();
    fn __cudaRegisterManagedVar(
        binary: usize, host: usize, text: usize, name: usize, external: c_int, size: usize,
        constant: c_int, global: c_int) -> ();
    fn __cudaRegisterTexture(
        binary: usize, host: usize, device: usize, name: usize, dimensions: c_int,
        normalized: c_int, external: c_int) -> ();
    fn __cudaPushCallConfiguration(grid: Dim3, block: Dim3, shared: usize, stream: usize) -> c_uint;
    fn __cudaPopCallConfiguration(
        grid: usize, block: usize, shared: usize, stream: usize) -> c_int;
    fn __cudaGetKernel(kernel: usize, host: usize) -> c_int;
    fn cudaLaunchKernel(
        host: usize, grid: Dim3, block: Dim3, arguments: usize, shared: usize, stream: usize)
        -> c_int;
    fn __cudaLaunchKernel_ptsz(
        host: usize, grid: Dim3, block: Dim3, arguments: usize, shared: usize, stream: usize)
        -> c_int;
    fn cudaGetFuncBySymbol(function: usize, host: usize) -> c_int;
    fn cudaGetLastError() -> c_int;
    fn cudaPeekAtLastError() -> c_int;
    fn cudaGetDeviceCount(count: usize) -> c_int;
    fn cudaSetDevice(device: c_int) -> c_int;
    fn cudaGetDevice(device: usize) -> c_int;
    fn cudaSetValidDevices(devices: usize, count: c_int) -> c_int;
    fn cudaDeviceReset() -> c_int;
    fn cudaSetDeviceFlags(flags: c_uint) -> c_int;
    fn cudaDeviceSynchronize() -> c_int;
    fn cudaMalloc(address: usize, bytes: usize) -> c_int;
    fn cudaFree(address: usize) -> c_int;
    fn cudaMemcpy(to: usize, from: usize, bytes: usize, kind: c_int) -> c_int;
    fn cudaMemcpy_ptds(to: usize, from: usize, bytes: usize, kind: c_int) -> c_int;
    fn cudaMemcpy2D(
        to: usize, to_pitch: usize, from: usize, from_pitch: usize, width: usize, height: usize,
        kind: c_int) -> c_int;
    fn cudaMemcpyToArray(
        to: usize, x: usize, y: usize, from: usize, bytes: usize, kind: c_int) -> c_int;
    fn cudaMemcpy3D(copy: usize) -> c_int;
    fn cudaMemset(to: usize, value: c_int, bytes: usize) -> c_int;
    fn cudaMemset3D(to: Pitched, value: c_int, extent: Extent) -> c_int;
    fn cudaMemcpyToSymbol(
        symbol: usize, from: usize, bytes: usize, offset: usize, kind: c_int) -> c_int;
    fn cudaMemcpyFromSymbol(
        to: usize, symbol: usize, bytes: usize, offset: usize, kind: c_int) -> c_int;
    fn cudaGetSymbolAddress(address: usize, symbol: usize) -> c_int;
    fn cudaGetSymbolSize(size: usize, symbol: usize) -> c_int;
    fn cudaPointerGetAttributes(place: usize, address: usize) -> c_int;
    fn cudaMallocArray(
        array: usize, channel: usize, width: usize, height: usize, flags: c_uint) -> c_int;
    fn cudaGetChannelDesc(channel: usize, array: usize) -> c_int;
    fn cudaBindTexture(
        offset: usize, host: usize, memory: usize, channel: usize, bytes: usize) -> c_int;
    fn cudaBindTexture2D(
        offset: usize, host: usize, memory: usize, channel: usize, width: usize, height: usize,
        pitch: usize) -> c_int;
    fn cudaBindTextureToArray(host: usize, array: usize, channel: usize) -> c_int;
    fn cudaCreateTextureObject(object: usize, resource: usize, texture: usize, view: usize) -> c_int;
    fn cudaGetTextureObjectResourceDesc(resource: usize, object: u64) -> c_int;
    fn cudaGetTextureObjectTextureDesc(texture: usize, object: u64) -> c_int;
    fn cudaUnbindTexture(host: usize) -> c_int;
    fn cudaGetTextureAlignmentOffset(offset: usize, host: usize) -> c_int;
    fn cudaGetTextureReference(host: usize, symbol: usize) -> c_int;
    fn cudaStreamAddCallback(
        stream: usize, callback: Option<Callback>, data: *mut c_void, flags: c_uint) -> c_int;
    fn cudaStreamDestroy(stream: usize) -> c_int;
    fn cudaEventQuery(event: usize) -> c_int;
    fn cudaEventRecord(event: usize, stream: usize) -> c_int;
    fn cudaGetErrorString(code: c_int) -> *const c_char;
    fn cudaGraphAddKernelNode(
        node: usize, graph: usize, after: usize, count: usize, parameters: usize) -> c_int;
    fn cudaGraphKernelNodeGetParams(node: usize, parameters: usize) -> c_int;
    fn cudaGraphAddMemcpyNode(
        node: usize, graph: usize, after: usize, count: usize, parameters: usize) -> c_int;
    fn cudaGraphMemcpyNodeGetParams(node: usize, parameters: usize) -> c_int;
    fn cudaGraphAddMemcpyNodeToSymbol(
        node: usize, graph: usize, after: usize, count: usize, symbol: usize, from: usize,
        bytes: usize, offset: usize, kind: c_int) -> c_int;
    fn cudaGraphAddNode_v2(
        node: usize, graph: usize, after: usize, edges: usize, count: usize, parameters: usize)
        -> c_int;
    fn cudaGetDeviceProperties(place: usize, device: c_int) -> c_int;
    fn cudaGetDriverEntryPoint(name: usize, place: usize, flags: u64, status: usize) -> c_int;
    fn cudaGetDriverEntryPoint_ptsz(name: usize, place: usize, flags: u64, status: usize) -> c_int;
    fn cudaFuncGetAttributes(place: usize, kernel: usize) -> c_int;
    fn cudaGraphInstantiate(executable: usize, graph: usize, flags: u64) -> c_int;
    fn cudaGraphExecUpdate(executable: usize, graph: usize, result: usize) -> c_int;
    fn cudaChooseDevice(device: usize, wanted: usize) -> c_int;
}

/// The driver of these tests, in use from the first test of a process on.
pub fn start() {
    cudart::use_driver(driver::find);
}

/// A place of a test, as the number that a C program's pointer is.
pub fn at<T: ?Sized>(value: &mut T) -> usize {
    std::ptr::from_mut(value).cast::<u8>().expose_provenance()
}

/// The lines that the driver logs in a call.
pub fn logged(call: impl FnOnce()) -> Vec<String> {
    driver::state().log.clear();
    call();
    std::mem::take(&mut driver::state().log)
}

/// A fat binary of a program, with what its start-up code registers. Never freed: a program's
/// start-up data is not either.
pub struct Binary {
    pub handle: usize,
}

impl Binary {
    pub fn register() -> Self {
        let image: &'static mut [u64; 2] = Box::leak(Box::new([0xba55_ed50, 0]));
        let wrapper: &'static mut [u64; 3] = Box::leak(Box::new([0x0001_4662_43b1_u64, at(image) as u64, 0]));
        // Magic and version are two halves of the first word.
        wrapper[0] = 0x4662_43b1 | 1 << 32;
        Self { handle: __cudaRegisterFatBinary(at(wrapper)) }
    }

    /// A host address for a registration, and the address of its name.
    fn named(name: &str) -> (usize, usize) {
        let host: &'static mut u64 = Box::leak(Box::new(0));
        let name = CString::new(name).expect("no zero byte").into_raw();
        (at(host), name.expose_provenance())
    }

    pub fn kernel(&self, name: &str) -> usize {
        let (host, name) = Self::named(name);
        __cudaRegisterFunction(self.handle, host, name, name, -1, 0, 0, 0, 0, 0);
        host
    }

    pub fn variable(&self, name: &str, size: usize) -> usize {
        let (host, name) = Self::named(name);
        __cudaRegisterVar(self.handle, host, name, name, 0, size, 0, 0);
        host
    }

    pub fn managed(&self, name: &str, size: usize) -> &'static mut usize {
        let host: &'static mut usize = Box::leak(Box::new(0));
        let (_, name) = Self::named(name);
        __cudaRegisterManagedVar(self.handle, at(host), name, name, 0, size, 0, 0);
        host
    }

    /// A texture whose host structure is `reference`. The compiler passes the module's name for it
    /// and the one in the source.
    pub fn texture(&self, name: &str, reference: &mut [u32; 31], normalized: bool) -> usize {
        let (_, text) = Self::named(name);
        let (_, source) = Self::named(&format!("::source::{name}"));
        let host = at(reference);
        __cudaRegisterTexture(self.handle, host, text, source, 1, c_int::from(normalized), 0);
        host
    }
}

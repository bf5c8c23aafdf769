//! The functions that the compiler's start-up code calls to register what a program contains.

use std::ffi::c_int;
use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::address::{Address, In, Out};
use crate::api::enter;
use crate::context::current;
use crate::registry::{Kind, add, add_binary, add_managed, remove_binary};

/// Marks programs that have this runtime linked in: `warpwright exec` distinguishes it from NVIDIA's.
#[used]
static MARK: [u8; 23] = *b"warpwright CUDA runtime";

// SAFETY: the name belongs to this API, which defines it once.
#[unsafe(no_mangle)]
extern "C" fn __cudaRegisterFatBinary(wrapper: Address) -> Address {
    catch_unwind(|| add_binary(wrapper)).unwrap_or(0)
}

// SAFETY: the name belongs to this API, which defines it once.
#[unsafe(no_mangle)]
extern "C" fn __cudaRegisterFatBinaryEnd(_binary: Address) {}

// SAFETY: the name belongs to this API, which defines it once.
#[unsafe(no_mangle)]
extern "C" fn __cudaUnregisterFatBinary(binary: Address) {
    let _ = catch_unwind(|| remove_binary(binary));
}

/// Loads the module and places its managed variables. The program's code calls it before it uses
/// one of them; it cannot report an error, which a later call does.
// SAFETY: the name belongs to this API, which defines it once.
#[unsafe(no_mangle)]
extern "C" fn __cudaInitModule(_binary: Address) -> u8 {
    u8::from(enter(|| current().map(drop)) == 0)
}

// SAFETY: the name belongs to this API, which defines it once.
#[unsafe(no_mangle)]
extern "C" fn __cudaRegisterFunction(
    binary: Address,
    host: Address,
    _device_text: Address,
    name: Address,
    _threads: c_int,
    _thread: Address,
    _block: Address,
    _block_size: Address,
    _grid_size: Address,
    _warp: Address,
) {
    quietly(|| add(Kind::Kernel, binary, host, name, 0));
}

// SAFETY: the name belongs to this API, which defines it once.
#[unsafe(no_mangle)]
extern "C" fn __cudaRegisterVar(
    binary: Address,
    host: Address,
    _device_text: Address,
    name: Address,
    _external: c_int,
    size: usize,
    _constant: c_int,
    _global: c_int,
) {
    quietly(|| add(Kind::Variable, binary, host, name, size));
}

// SAFETY: the name belongs to this API, which defines it once.
#[unsafe(no_mangle)]
extern "C" fn __cudaRegisterManagedVar(
    binary: Address,
    host: Out<Address>,
    _device_text: Address,
    name: Address,
    _external: c_int,
    size: usize,
    _constant: c_int,
    _global: c_int,
) {
    quietly(|| add_managed(binary, host.0, name, size));
}

// SAFETY: the name belongs to this API, which defines it once.
#[unsafe(no_mangle)]
extern "C" fn __cudaRegisterHostVar(binary: Address, name: Address, host: Address, size: usize) {
    quietly(|| add(Kind::Variable, binary, host, name, size));
}

// SAFETY: the name belongs to this API, which defines it once.
#[unsafe(no_mangle)]
extern "C" fn __cudaRegisterTexture(
    binary: Address,
    host: In<u8>,
    device_text: Address,
    name: Address,
    _dimensions: c_int,
    normalized: c_int,
    _external: c_int,
) {
    let name = reference_name(device_text, name);
    quietly(|| add(Kind::Texture, binary, host.0, name, usize::from(normalized != 0)));
}

// SAFETY: the name belongs to this API, which defines it once.
#[unsafe(no_mangle)]
extern "C" fn __cudaRegisterSurface(
    binary: Address,
    host: In<u8>,
    device_text: Address,
    name: Address,
    _dimensions: c_int,
    _external: c_int,
) {
    let name = reference_name(device_text, name);
    quietly(|| add(Kind::Surface, binary, host.0, name, 0));
}

/// The name that the module has for a texture or surface. The compiler passes it as the text of the
/// device's variable (`_ZN1a3texE`), and as name that of the source (`::a::tex`).
fn reference_name(device_text: Address, name: Address) -> Address {
    if device_text == 0 { name } else { device_text }
}

/// A registration that cannot be made is reported by the first use of what it registers.
fn quietly(register: impl FnOnce()) {
    let _ = catch_unwind(AssertUnwindSafe(register));
}

//! The functions by which the compiler's start-up code registers what a program contains.

use std::ffi::c_int;
use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::api::enter;
use crate::context::current;
use crate::registry::{Kind, add, add_binary, add_managed, remove_binary};
use cabi::address::Address;

/// Marks programs that have this runtime linked in: `warpwright exec` distinguishes it from NVIDIA's.
#[used]
static MARK: [u8; 23] = *b"warpwright CUDA runtime";

// SAFETY: the name belongs to this API, which defines it once.
#[unsafe(no_mangle)]
extern "C" fn __cudaRegisterFatBinary(wrapper: Address) -> Address {
    catch_unwind(|| add_binary(wrapper)).unwrap_or(0)
}

/// Loads the module and places its managed variables. The program's code calls it before it uses
/// one of them; it cannot report an error, which a later call does.
// SAFETY: the name belongs to this API, which defines it once.
#[unsafe(no_mangle)]
extern "C" fn __cudaInitModule(_binary: Address) -> u8 {
    u8::from(enter(|| current().map(drop)) == 0)
}

/// C functions without a result: what cannot be registered is reported by its first use.
macro_rules! registers {
    ($(fn $name:ident($($argument:ident: $kind:ty),* $(,)?) $body:block)*) => {$(
        // SAFETY: the name belongs to this API, which defines it once.
        #[unsafe(no_mangle)]
        extern "C" fn $name($($argument: $kind),*) {
            let _ = catch_unwind(AssertUnwindSafe(|| $body));
        }
    )*};
}

registers! {
    fn __cudaRegisterFatBinaryEnd(_binary: Address) {}

    fn __cudaUnregisterFatBinary(binary: Address) { remove_binary(binary) }

    fn __cudaRegisterFunction(
        binary: Address, host: Address, _device_text: Address, name: Address, _threads: c_int, _thread: Address,
        _block: Address, _block_size: Address, _grid_size: Address, _warp: Address,
    ) {
        add(Kind::Kernel, binary, host, name, false)
    }

    fn __cudaRegisterVar(
        binary: Address, host: Address, _device_text: Address, name: Address, _external: c_int, _bytes: usize,
        _constant: c_int, _global: c_int,
    ) {
        add(Kind::Variable, binary, host, name, false)
    }

    fn __cudaRegisterManagedVar(
        binary: Address, host: Address, _device_text: Address, name: Address, _external: c_int, _bytes: usize,
        _constant: c_int, _global: c_int,
    ) {
        add_managed(binary, host, name)
    }

    fn __cudaRegisterHostVar(binary: Address, name: Address, host: Address, _bytes: usize) {
        add(Kind::Variable, binary, host, name, false)
    }

    fn __cudaRegisterTexture(
        binary: Address, host: Address, device_text: Address, name: Address, _dimensions: c_int, normalized: c_int,
        _external: c_int,
    ) {
        add(Kind::Texture, binary, host, reference_name(device_text, name), normalized != 0)
    }

    fn __cudaRegisterSurface(
        binary: Address, host: Address, device_text: Address, name: Address, _dimensions: c_int, _external: c_int,
    ) {
        add(Kind::Surface, binary, host, reference_name(device_text, name), false)
    }
}

/// The name that the module has for a texture or surface. The compiler passes it as the text of the
/// device's variable (`_ZN1a3texE`), and as name the source's (`::a::tex`).
fn reference_name(device_text: Address, name: Address) -> Address {
    if device_text == 0 { name } else { device_text }
}

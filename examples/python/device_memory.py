"""Device memory over the driver API by ctypes: arrays that Triton takes in place of PyTorch's."""
import ctypes

import numpy as np

_cuda = ctypes.CDLL("libcuda.so.1")
_TYPES = {
    "float16": "fp16", "float32": "fp32", "float64": "fp64", "int8": "i8", "int32": "i32", "int64": "i64", "uint8": "u8"
}


def _call(name, *args):
    code = getattr(_cuda, name)(*args)
    if code:
        raise RuntimeError(f"{name} returned {code}")


def start():
    """Makes the primary context of device 0 current."""
    context, device = ctypes.c_void_p(), ctypes.c_int()
    _call("cuInit", 0)
    _call("cuDeviceGet", ctypes.byref(device), 0)
    _call("cuDevicePrimaryCtxRetain", ctypes.byref(context), device)
    _call("cuCtxSetCurrent", context)


class DeviceArray:
    """A NumPy array's copy on the device."""

    def __init__(self, host):
        host = np.ascontiguousarray(host)
        self.shape, self.numpy_dtype, self.nbytes = host.shape, host.dtype, host.nbytes
        self.dtype = _TYPES[host.dtype.name]
        pointer = ctypes.c_uint64()
        _call("cuMemAlloc_v2", ctypes.byref(pointer), ctypes.c_size_t(max(host.nbytes, 1)))
        self.pointer = pointer.value
        data = host.ctypes.data_as(ctypes.c_void_p)
        _call("cuMemcpyHtoD_v2", pointer, data, ctypes.c_size_t(host.nbytes))

    def data_ptr(self):
        return self.pointer

    def stride(self, axis):
        return int(np.prod(self.shape[axis + 1:], dtype=np.int64))

    def numpy(self):
        _call("cuCtxSynchronize")
        host = np.empty(self.shape, self.numpy_dtype)
        data = host.ctypes.data_as(ctypes.c_void_p)
        _call("cuMemcpyDtoH_v2", data, ctypes.c_uint64(self.pointer), ctypes.c_size_t(host.nbytes))
        return host

    def free(self):
        _call("cuMemFree_v2", ctypes.c_uint64(self.pointer))


def empty(shape, dtype=np.float32):
    return DeviceArray(np.zeros(shape, dtype))


def check(name, got, want, rtol=1e-4, atol=1e-4):
    """Prints PASSED or FAILED for one result; ends the program with status 1 if it is wrong."""
    if np.allclose(got, want, rtol=rtol, atol=atol):
        print(f"{name}: PASSED")
    else:
        print(f"{name}: FAILED, largest difference {np.abs(np.asarray(got, np.float64) - want).max()}")
        raise SystemExit(1)

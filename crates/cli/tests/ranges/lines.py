"""Launches kernels from several lines and a thread. With `held` this interpreter's lock is held at each launch."""

import contextlib
import ctypes
import sys
import threading

source = b""".version 7.0
.target sm_70
.address_size 64
.visible .entry one(.param .u64 to)
{
.reg .b32 %r<2>;
.reg .b64 %d<2>;
ld.param.u64 %d1, [to];
mov.u32 %r1, 1;
st.global.u32 [%d1], %r1;
ret;
}
"""
# `PyDLL` keeps the lock, `CDLL` releases it.
driver = (ctypes.PyDLL if "held" in sys.argv else ctypes.CDLL)("libcuda.so.1")


def call(name, *args):
    code = getattr(driver, name)(*args)
    assert code == 0, (name, code)


context, module, function, to = (ctypes.c_void_p() for _ in range(4))
call("cuInit", 0)
call("cuCtxCreate_v2", ctypes.byref(context), 0, 0)
call("cuModuleLoadData", ctypes.byref(module), source)
call("cuModuleGetFunction", ctypes.byref(function), module, b"one")
call("cuMemAlloc_v2", ctypes.byref(to), ctypes.c_size_t(4))
args = (ctypes.c_void_p * 1)(ctypes.cast(ctypes.byref(to), ctypes.c_void_p))


class Layer:
    def forward(self):
        driver.cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, None, args, None)


layer = Layer()
for _ in range(3):
    layer.forward()
driver.cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, None, args, None)
# A frame of the standard library is innermost.
later = contextlib.ExitStack()
later.callback(driver.cuLaunchKernel, function, 1, 1, 1, 1, 1, 1, 0, None, args, None)
later.close()


def worker():
    call("cuCtxSetCurrent", context)
    driver.cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, None, args, None)


thread = threading.Thread(target=worker)
thread.start()
thread.join()
call("cuCtxSynchronize")
print("done")

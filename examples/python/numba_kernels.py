"""Numba: vector add, a reduction in shared memory, atomics, a 2D stencil, streams and events, each against NumPy.

    warpwright exec -- python examples/python/numba_kernels.py
"""
import math

import numpy as np
from numba import cuda, float32


def check(name, got, want, **tolerance):
    if not np.allclose(got, want, **tolerance):
        raise SystemExit(f"{name}: FAILED")
    print(f"{name}: PASSED")


@cuda.jit
def add(a, b, c):
    i = cuda.grid(1)
    if i < c.size:
        c[i] = a[i] + b[i]


@cuda.jit
def block_sums(a, sums):
    tile = cuda.shared.array(128, float32)
    lane, i = cuda.threadIdx.x, cuda.grid(1)
    tile[lane] = a[i] if i < a.size else 0.0
    cuda.syncthreads()
    step = 64
    while step > 0:
        if lane < step:
            tile[lane] += tile[lane + step]
        cuda.syncthreads()
        step //= 2
    if lane == 0:
        sums[cuda.blockIdx.x] = tile[0]


@cuda.jit
def histogram(values, bins):
    i = cuda.grid(1)
    if i < values.size:
        cuda.atomic.add(bins, values[i], 1)


@cuda.jit
def largest(values, result):
    i = cuda.grid(1)
    if i < values.size:
        cuda.atomic.max(result, 0, values[i])


@cuda.jit
def stencil(a, b):
    i, j = cuda.grid(2)
    if 0 < i < a.shape[0] - 1 and 0 < j < a.shape[1] - 1:
        b[i, j] = 0.25 * (a[i - 1, j] + a[i + 1, j] + a[i, j - 1] + a[i, j + 1])


@cuda.jit
def waves(a, b):
    i = cuda.grid(1)
    if i < a.size:
        b[i] = math.sin(a[i]) * math.exp(-a[i]) + math.sqrt(a[i])


@cuda.jit
def multiply(a, b, c):
    tile_a = cuda.shared.array((16, 16), float32)
    tile_b = cuda.shared.array((16, 16), float32)
    x, y = cuda.threadIdx.x, cuda.threadIdx.y
    row, column = cuda.blockIdx.y * 16 + y, cuda.blockIdx.x * 16 + x
    total = float32(0)
    for k in range(0, a.shape[1], 16):
        tile_a[y, x] = a[row, k + x]
        tile_b[y, x] = b[k + y, column]
        cuda.syncthreads()
        for n in range(16):
            total += tile_a[y, n] * tile_b[n, x]
        cuda.syncthreads()
    c[row, column] = total


random = np.random.default_rng(1)
n = 10_000
a, b = random.random(n, np.float32), random.random(n, np.float32)

c = np.zeros(n, np.float32)
add[math.ceil(n / 256), 256](a, b, c)
check("vector add", c, a + b)

blocks = math.ceil(n / 128)
device_a, sums = cuda.to_device(a), cuda.device_array(blocks, np.float32)
block_sums[blocks, 128](device_a, sums)
check("reduction in shared memory", sums.copy_to_host().sum(), a.sum(), rtol=1e-4)

values = random.integers(0, 32, n).astype(np.int32)
bins = cuda.to_device(np.zeros(32, np.int32))
histogram[math.ceil(n / 256), 256](values, bins)
check("histogram by atomics", bins.copy_to_host(), np.bincount(values, minlength=32))

result = np.zeros(1, np.float32)
largest[math.ceil(n / 256), 256](a, result)
check("maximum by atomics", result[0], a.max())

plane = random.random((64, 96), np.float32)
out = cuda.to_device(np.zeros_like(plane))
stencil[(4, 6), (16, 16)](cuda.to_device(plane), out)
want = np.zeros_like(plane)
want[1:-1, 1:-1] = 0.25 * (plane[:-2, 1:-1] + plane[2:, 1:-1] + plane[1:-1, :-2] + plane[1:-1, 2:])
check("stencil on a 2D device array", out.copy_to_host(), want, rtol=1e-5)

waves[math.ceil(n / 256), 256](a, c)
check("functions of libdevice", c, np.sin(a) * np.exp(-a) + np.sqrt(a), rtol=1e-5)

p, q = random.random((64, 48), np.float32), random.random((48, 32), np.float32)
r = np.zeros((64, 32), np.float32)
multiply[(2, 4), (16, 16)](p, q, r)
check("matrix product", r, p @ q, rtol=1e-4)

stream = cuda.stream()
start, stop = cuda.event(), cuda.event()
with stream.auto_synchronize():
    start.record(stream)
    d = cuda.to_device(a, stream=stream)
    add[math.ceil(n / 256), 256, stream](d, d, d)
    d.copy_to_host(c, stream=stream)
    stop.record(stream)
check("stream", c, 2 * a)
print("milliseconds between the events:", round(start.elapsed_time(stop), 6))
name = cuda.get_current_device().name
print("device:", name.decode() if isinstance(name, bytes) else name)
print("all PASSED")

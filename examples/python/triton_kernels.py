"""Triton without PyTorch: vector add, softmax, layer norm, matrix product, flash attention, each against NumPy.

    warpwright exec -- python examples/python/triton_kernels.py [NAME...]

Names: add, softmax, layernorm, matmul16, matmul32, attention, causal; without one, all.
"""
import sys

import numpy as np
import triton
import triton.language as tl

from device_memory import DeviceArray, check, empty, start


@triton.jit
def add_kernel(x, y, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < n
    tl.store(out + at, tl.load(x + at, mask=inside) + tl.load(y + at, mask=inside), mask=inside)


@triton.jit
def softmax_kernel(out, x, stride, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    inside = at < columns
    values = tl.load(x + row * stride + at, mask=inside, other=-float("inf"))
    powers = tl.exp(values - tl.max(values, axis=0))
    tl.store(out + row * stride + at, powers / tl.sum(powers, axis=0), mask=inside)


@triton.jit
def layer_norm_kernel(x, out, weight, bias, mean_out, rstd_out, stride, columns, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    inside = at < columns
    values = tl.load(x + row * stride + at, mask=inside, other=0.0)
    mean = tl.sum(values, axis=0) / columns
    centred = tl.where(inside, values - mean, 0.0)
    rstd = 1 / tl.sqrt(tl.sum(centred * centred, axis=0) / columns + eps)
    tl.store(mean_out + row, mean)
    tl.store(rstd_out + row, rstd)
    scaled = centred * rstd * tl.load(weight + at, mask=inside) + tl.load(bias + at, mask=inside)
    tl.store(out + row * stride + at, scaled, mask=inside)


@triton.jit
def matmul_kernel(a, b, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    row = tl.program_id(0) * BM + tl.arange(0, BM)
    column = tl.program_id(1) * BN + tl.arange(0, BN)
    total = tl.zeros((BM, BN), dtype=tl.float32)
    for start in range(0, K, BK):
        k = start + tl.arange(0, BK)
        left = tl.load(a + row[:, None] * K + k[None, :], mask=(row[:, None] < M) & (k[None, :] < K), other=0.0)
        right = tl.load(b + k[:, None] * N + column[None, :], mask=(k[:, None] < K) & (column[None, :] < N), other=0.0)
        total += tl.dot(left, right)
    tl.store(c + row[:, None] * N + column[None, :], total, mask=(row[:, None] < M) & (column[None, :] < N))


@triton.jit
def attention_kernel(
    q, k, v, out, scale, length, HEAD: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, CAUSAL: tl.constexpr
):
    row = tl.program_id(0) * BM + tl.arange(0, BM)
    base = tl.program_id(1) * length * HEAD
    inner = tl.arange(0, HEAD)
    queries = tl.load(q + base + row[:, None] * HEAD + inner[None, :])
    highest = tl.full((BM,), -float("inf"), dtype=tl.float32)
    weight = tl.zeros((BM,), dtype=tl.float32)
    total = tl.zeros((BM, HEAD), dtype=tl.float32)
    for start in range(0, length, BN):
        column = start + tl.arange(0, BN)
        keys = tl.load(k + base + column[None, :] * HEAD + inner[:, None])
        scores = tl.dot(queries, keys) * scale
        if CAUSAL:
            scores = tl.where(row[:, None] >= column[None, :], scores, -float("inf"))
        newest = tl.maximum(highest, tl.max(scores, axis=1))
        powers = tl.exp(scores - newest[:, None])
        shrink = tl.exp(highest - newest)
        weight = weight * shrink + tl.sum(powers, axis=1)
        values = tl.load(v + base + column[:, None] * HEAD + inner[None, :])
        total = total * shrink[:, None] + tl.dot(powers.to(values.dtype), values)
        highest = newest
    tl.store(out + base + row[:, None] * HEAD + inner[None, :], (total / weight[:, None]).to(out.dtype.element_ty))


def vector_add():
    n = 5000
    x, y = random.random(n, np.float32), random.random(n, np.float32)
    out = empty(n)
    add_kernel[(triton.cdiv(n, 1024),)](DeviceArray(x), DeviceArray(y), out, n, BLOCK=1024)
    check("vector add", out.numpy(), x + y)


def softmax():
    x = random.standard_normal((16, 200), np.float32)
    out = empty(x.shape)
    softmax_kernel[(16,)](out, DeviceArray(x), 200, 200, BLOCK=256)
    e = np.exp(x - x.max(1, keepdims=True))
    check("softmax", out.numpy(), e / e.sum(1, keepdims=True))


def layer_norm():
    x, w, b = (random.standard_normal(s, np.float32) for s in [(8, 300), 300, 300])
    out, mean, rstd = empty(x.shape), empty(8), empty(8)
    layer_norm_kernel[(8,)](DeviceArray(x), out, DeviceArray(w), DeviceArray(b), mean, rstd, 300, 300, 1e-5, BLOCK=512)
    m, s = x.mean(1, keepdims=True), np.sqrt(x.var(1, keepdims=True) + 1e-5)
    check("layer norm", out.numpy(), (x - m) / s * w + b)
    check("layer norm, means", mean.numpy(), m[:, 0])


def matmul(kind):
    a, b = random.standard_normal((96, 80)).astype(kind), random.standard_normal((80, 64)).astype(kind)
    c = empty((96, 64))
    grid = (triton.cdiv(96, 32), triton.cdiv(64, 32))
    matmul_kernel[grid](DeviceArray(a), DeviceArray(b), c, 96, 64, 80, BM=32, BN=32, BK=32)
    want = a.astype(np.float32) @ b.astype(np.float32)
    check(f"matrix product of {np.dtype(kind).name}", c.numpy(), want, rtol=2e-2, atol=2e-2)


def attention(causal):
    heads, length, head = 2, 64, 32
    q, k, v = (random.standard_normal((heads, length, head)).astype(np.float16) for _ in range(3))
    out = empty(q.shape, np.float16)
    attention_kernel[(length // 32, heads)](
        DeviceArray(q), DeviceArray(k), DeviceArray(v), out, head ** -0.5, length,
        HEAD=head, BM=32, BN=32, CAUSAL=causal,
    )
    q, k, v = (t.astype(np.float32) for t in (q, k, v))
    scores = q @ k.transpose(0, 2, 1) * head ** -0.5
    if causal:
        scores = np.where(np.tril(np.ones((length, length), bool)), scores, -np.inf)
    e = np.exp(scores - scores.max(-1, keepdims=True))
    want = e / e.sum(-1, keepdims=True) @ v
    check("flash attention" + (", causal" if causal else ""), out.numpy(), want, rtol=2e-2, atol=2e-2)


random = np.random.default_rng(1)
start()
TESTS = {
    "add": vector_add,
    "softmax": softmax,
    "layernorm": layer_norm,
    "matmul16": lambda: matmul(np.float16),
    "matmul32": lambda: matmul(np.float32),
    "attention": lambda: attention(False),
    "causal": lambda: attention(True),
}
for name in sys.argv[1:] or TESTS:
    TESTS[name]()
print("all PASSED")

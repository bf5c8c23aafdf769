"""PyTorch: operations of ATen, and kernels that torch.compile and Triton make, each against NumPy.

    warpwright exec -- python examples/python/pytorch.py [NAME...]

Names: elementwise, reductions, sort, indexing, random, training, streams, graph, triton, compile; without one, all.
Operations of cuDNN and cuSOLVER do not run (docs/cuda.md).
"""
import sys

import numpy as np
import torch
import triton
import triton.language as tl

# Inductor would measure each kernel's variants with hundreds of launches.
torch._inductor.config.triton.autotune_pointwise = False


def check(name, got, want, rtol=1e-4, atol=1e-5):
    got = got.detach().cpu().numpy() if isinstance(got, torch.Tensor) else got
    if not np.allclose(got, want, rtol=rtol, atol=atol):
        raise SystemExit(f"{name}: FAILED")
    print(f"{name}: PASSED")


def elementwise():
    check("arange", torch.arange(1000, device="cuda") * 2 + 1, np.arange(1000) * 2 + 1)
    check("functions", X.exp() * X.sin() + X.abs().sqrt(), np.exp(x) * np.sin(x) + np.sqrt(np.abs(x)))
    check("relu", torch.nn.functional.relu(X), np.maximum(x, 0))
    check("half precision", (X.half() * 2).float(), x.astype(np.float16) * 2)
    check("pinned memory", torch.from_numpy(x).pin_memory().to("cuda", non_blocking=True), x)


def reductions():
    check("sum", M.sum(), m.sum(), atol=1e-3)
    check("mean of columns", M.mean(0), m.mean(0))
    check("standard deviation of rows", M.std(1), m.std(1, ddof=1))
    check("place of the maximum", M.argmax(1), m.argmax(1))
    check("cumulative sum", X.cumsum(0), x.cumsum(), rtol=1e-3, atol=1e-3)
    check("softmax", M.softmax(1), softmax_of(m))


def sort():
    check("sort", X.sort().values, np.sort(x))
    check("largest", X.topk(7).values, np.sort(x)[:-8:-1])
    check("unique", torch.unique((X * 3).int()), np.unique((x * 3).astype(np.int32)))


def indexing():
    check("slice", X[10:500:7], x[10:500:7])
    check("mask", X[X > 0], x[x > 0])
    check("rows", M[[1, 5, 3]], m[[1, 5, 3]])
    counts = torch.zeros(10, device="cuda").scatter_add_(0, torch.arange(1000, device="cuda") % 10, X)
    check("scattered sums", counts, x.reshape(100, 10).sum(0), atol=1e-3)


def random():
    torch.manual_seed(3)
    first = torch.rand(1000, device="cuda")
    torch.manual_seed(3)
    check("random numbers by seed", first, torch.rand(1000, device="cuda").cpu().numpy())
    check("mean of random numbers", first.mean(), 0.5, atol=0.05)
    check("permutation", torch.randperm(100, device="cuda").sort().values, np.arange(100))


def training():
    weight = torch.nn.Parameter(X.clone())
    optimizer = torch.optim.SGD([weight], lr=0.1)
    want = x.copy()
    for _ in range(3):
        optimizer.zero_grad()
        (weight * weight).sum().backward()
        optimizer.step()
        want -= 0.1 * 2 * want
    check("gradient descent", weight, want)


def streams():
    stream = torch.cuda.Stream()
    start, stop = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    with torch.cuda.stream(stream):
        start.record()
        doubled = X * 2
        stop.record()
    stream.synchronize()
    check("stream", doubled, x * 2)
    print("milliseconds between the events:", round(start.elapsed_time(stop), 6))


def graph():
    source, captured = X.clone(), torch.cuda.CUDAGraph()
    with torch.cuda.graph(captured):
        result = source * 3 + 1
    source.copy_(X + 1)
    captured.replay()
    check("graph", result, (x + 1) * 3 + 1)


@triton.jit
def scale_kernel(source, result, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < n
    tl.store(result + at, tl.load(source + at, mask=inside) * 2 + 1, mask=inside)


def own_triton_kernel():
    result = torch.empty_like(X)
    scale_kernel[(triton.cdiv(1000, 256),)](X, result, 1000, BLOCK=256)
    check("Triton kernel", result, x * 2 + 1)


def compiled():
    wave = torch.compile(lambda a, b: torch.sin(a) * b + torch.relu(a))
    check("compiled element-wise function", wave(M, M), np.sin(m) * m + np.maximum(m, 0))
    rows = torch.compile(lambda a: torch.softmax(a, -1))
    check("compiled softmax", rows(M), softmax_of(m))


def softmax_of(rows):
    powers = np.exp(rows - rows.max(1, keepdims=True))
    return powers / powers.sum(1, keepdims=True)


generator = np.random.default_rng(1)
x, m = generator.standard_normal(1000, np.float32), generator.standard_normal((37, 53), np.float32)
X, M = torch.from_numpy(x).cuda(), torch.from_numpy(m).cuda()
TESTS = {
    "elementwise": elementwise,
    "reductions": reductions,
    "sort": sort,
    "indexing": indexing,
    "random": random,
    "training": training,
    "streams": streams,
    "graph": graph,
    "triton": own_triton_kernel,
    "compile": compiled,
}
for name in sys.argv[1:] or TESTS:
    TESTS[name]()
print("device:", torch.cuda.get_device_name())
print("all PASSED")

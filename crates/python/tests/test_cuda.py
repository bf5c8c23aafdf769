"""CUDA C++ that NVRTC compiles. Skipped where NVRTC is missing, but for the message that says so."""

import numpy as np
import pytest
import warpwright as ww
from warpwright import _cuda

SAXPY = """
__global__ void saxpy(float a, const float *x, float *y, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        y[i] += a * x[i];
}
"""
TEMPLATE = """
template <typename T> __global__ void scale(T *x, int n)
{
    if (threadIdx.x < n)
        x[threadIdx.x] *= FACTOR;
}
"""


def installed():
    try:
        _cuda._library()
    except ww.InputError:
        return False
    return True


needs_nvrtc = pytest.mark.skipif(not installed(), reason="no NVRTC: pip install nvidia-cuda-nvrtc-cu12")


def arrays(n=1000):
    return np.arange(n, dtype=np.float32), np.ones(n, dtype=np.float32)


@needs_nvrtc
@pytest.mark.parametrize(
    "machine, code",
    [
        ({"gpu": "v100"}, "sass"),
        ({"gpu": "h100"}, "sass"),
        ({"gpu": "v100", "code": "ptx"}, "ptx"),
        ({"gpu": "v100", "registers": "allocated"}, "ptx"),
        ({"gpu": "gtx480"}, "ptx"),
        ({"gpu": "gtx480", "core": "sgmf"}, "ptx"),
    ],
)
def test_a_text_is_compiled_for_the_device(machine, code):
    x, y = arrays()
    device = ww.Device(**machine)
    device.module(SAXPY).saxpy[8, 128](2.0, x, y, x.size)
    kernel, = device.run().kernels
    assert np.array_equal(y, 1 + 2 * x) and kernel["code"] == code


@needs_nvrtc
def test_a_file_is_profiled_by_its_lines(tmp_path):
    file = tmp_path / "saxpy.cu"
    file.write_text(SAXPY)
    x, y = arrays()
    for source in (file, str(file), ww.cuda(file)):
        run = ww.launch(source, 8, 128, 2.0, x, y, x.size, gpu="v100", profile=True)
        assert run.workload == "saxpy"
        assert any("y[i] += a * x[i]" in (row["source"] or "") for row in run.instructions())
    assert np.array_equal(y, 1 + 6 * x)


@needs_nvrtc
def test_instances_of_templates_have_names():
    source = ww.cuda(TEMPLATE, options=["-DFACTOR=3"], names=["scale<float>", "scale<int>"])
    module = ww.Device(gpu="v100").module(source)
    for name, dtype in (("scale<float>", np.float32), ("scale<int>", np.int32)):
        x = np.arange(8, dtype=dtype)
        module.kernel(name).launch(1, 32, x, x.size)
        assert np.array_equal(x, 3 * np.arange(8))
    with pytest.raises(ww.InputError, match="several kernels scale"):
        module.kernel("scale")


@needs_nvrtc
def test_an_option_chooses_another_architecture():
    assert ".target sm_80" in ww.cuda(SAXPY).ptx(80)
    given = ww.cuda(SAXPY, options=["--gpu-architecture=compute_75"])
    assert ".target sm_75" in given.ptx(80)
    assert given.compiled(75, machine_code=True).code.startswith(b"//")
    apart = ww.cuda(SAXPY, options=["--gpu-architecture", "compute_75", "-D", "A=1", "-D", "B=2"])
    assert ".target sm_75" in apart.ptx(80)
    real = ww.cuda(SAXPY, options=["-arch=sm_75"]).compiled(80, machine_code=False)
    assert real.code.startswith(b"\x7fELF")


@needs_nvrtc
def test_mistakes_have_the_log_of_the_compiler():
    with pytest.raises(ww.InputError, match=r'kernel.cu\(2\): error: identifier "y"'):
        ww.Device().module("__global__ void f(float *x) {\n*x = y; }")
    with pytest.raises(ww.InputError, match="hint: headers of CUDA: pip install"):
        ww.Device().module('#include "nosuch.h"\n__global__ void f() {}')


def test_without_nvrtc_the_message_says_what_to_install(monkeypatch):
    monkeypatch.setattr(_cuda, "_folders", lambda _: iter(()))
    monkeypatch.setattr(_cuda, "_LIBRARIES", ("libnosuch.so",))
    _cuda._library.cache_clear()
    try:
        with pytest.raises(ww.InputError, match="pip install nvidia-cuda-nvrtc-cu12"):
            ww.Device().module(SAXPY)
    finally:
        _cuda._library.cache_clear()


@needs_nvrtc
def test_a_text_of_one_line_is_not_a_path():
    y = np.ones(32, np.float32)
    text = "extern \"C\" __global__ void twice(float *y) { y[threadIdx.x] *= 2; }"
    for source in [text, ww.cuda(text)]:
        device = ww.Device()
        device.module(source).twice[1, 32](y)
        device.run()
    assert np.array_equal(y, np.full(32, 4, np.float32))


def test_a_source_that_cannot_be_read():
    with pytest.raises(ww.InputError, match="nosuch.cu.*cannot be read"):
        ww.launch("nosuch.cu", 1, 32)

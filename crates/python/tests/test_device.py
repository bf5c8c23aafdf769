"""Kernels of one's own: memory, arguments, modules of every origin."""

from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import warpwright as ww

ROOT = Path(__file__).resolve().parents[3]
SAXPY = ROOT / "examples/launch/saxpy.ptx"


def arrays(n=1000):
    return np.arange(n, dtype=np.float32), np.ones(n, dtype=np.float32)


def name_of(source):
    return ww.Device().module(source).kernels[0]


@pytest.fixture(scope="module")
def scale():
    """A kernel (out, in, factor, n) with a bound."""
    return """
.version 6.4
.target sm_70
.address_size 64
.visible .entry scale(.param .u64 out, .param .u64 in, .param .f32 factor, .param .u32 n)
{
    .reg .pred %p1; .reg .f32 %f<3>; .reg .b32 %r<6>; .reg .b64 %d<6>;
    ld.param.u64 %d1, [out]; ld.param.u64 %d2, [in]; ld.param.f32 %f1, [factor]; ld.param.u32 %r1, [n];
    mov.u32 %r2, %ctaid.x; mov.u32 %r3, %ntid.x; mov.u32 %r4, %tid.x; mad.lo.s32 %r5, %r2, %r3, %r4;
    setp.ge.u32 %p1, %r5, %r1; @%p1 bra end;
    mul.wide.u32 %d3, %r5, 4; add.s64 %d4, %d1, %d3; add.s64 %d5, %d2, %d3;
    ld.global.f32 %f2, [%d5]; mul.f32 %f2, %f2, %f1; st.global.f32 [%d4], %f2;
end:
    ret;
}
"""


@pytest.mark.parametrize("core", ["inorder", "ghost", "socgpu", "loog", "sgmf"])
def test_arrays_go_over_and_come_back(scale, core):
    x, y = arrays()
    run = ww.launch(scale, 8, 128, y, x, 3, x.size, gpu="gtx480" if core == "sgmf" else "v100", core=core)
    assert np.array_equal(y, 3 * x) and np.array_equal(x, arrays()[0])
    assert run.workload == "scale" and run.cycles > 0


def test_modules_come_from_files_text_and_bytes(scale, tmp_path):
    file = tmp_path / "scale.ptx"
    file.write_text(scale)
    for source in (file, str(file), scale, scale.encode(), SAXPY):
        assert len(ww.Device().module(source).kernels) >= 1
    cubins = sorted(ROOT.glob("examples/launch/cubin/*/*.cubin"))
    assert cubins
    module = ww.Device().module(cubins[0].read_bytes())
    assert module.kernels


def test_a_program_of_several_launches(scale):
    device = ww.Device(gpu="v100", profile=True)
    module = device.module(scale)
    x, y = arrays()
    on_device, out = device.array(x), device.zeros(x.size)
    for _ in range(3):
        module.scale[8, 128](out, on_device, np.float32(2), x.size)
        on_device.copy_from(out.numpy())
    assert np.array_equal(np.asarray(out), 8 * x)
    run = device.run("thrice")
    assert len(run.kernels) == 3 and run.workload == "thrice" and run.instructions()
    on_device.free()
    with pytest.raises(ww.Error):
        module.scale[8, 128](out, on_device, 1.0, x.size)
        device.synchronize()


def test_a_read_only_array_is_only_read(scale):
    x, y = arrays()
    x.flags.writeable = False
    ww.launch(scale, 8, 128, y, x, 2.0, x.size)
    assert np.array_equal(y, 2 * x)


@pytest.mark.parametrize(
    "args, says",
    [
        ((1, 2, 3), "4 parameters"),
        ((None, None, 1.0, 2.5), "not a whole number"),
        ((None, None, 1.0, 1 << 40), "does not fit"),
        ((None, None, b"ab", 1), "has 2 bytes"),
        ((None, None, "x", 1), "does not fit"),
    ],
)
def test_arguments_that_do_not_fit(scale, args, says):
    with pytest.raises(ww.InputError, match=says):
        ww.launch(scale, 1, 32, *args)


def test_a_fault_says_where_and_what(scale):
    with pytest.raises(ww.Error) as caught:
        ww.launch(scale, 1, 32, None, None, 1.0, 32)
    assert not isinstance(caught.value, ww.InputError)
    assert "st.global" in str(caught.value) or "ld.global" in str(caught.value)


def test_mistakes_in_ptx_are_shown_with_their_places():
    with pytest.raises(ww.InputError, match="module.ptx:5"):
        ww.Device().module(".version 6.4\n.target sm_70\n.address_size 64\n.visible .entry k() {\n  frobnicate;\n ret; }")


def test_bad_shapes(scale):
    for shape in (0, (1, 1, 1, 1), -1):
        with pytest.raises(ww.InputError, match="sizes above 0"):
            ww.launch(scale, shape, 32, None, None, 1.0, 0)


def test_what_triton_has_compiled(scale):
    """As its compiled kernels look: `asm`, `metadata`, and parameters for scratch memory at the end."""
    text = scale.replace(".param .u32 n)", ".param .u32 n, .param .u64 scratch, .param .u64 profile)")
    compiled = SimpleNamespace(asm={"ptx": text}, metadata=SimpleNamespace(name="scale", shared=0))
    x, y = arrays()
    run = ww.launch(compiled, 8, 128, y, x, 2.0, x.size)
    assert np.array_equal(y, 2 * x) and run.workload == "scale"


def test_a_function_of_triton():
    triton = pytest.importorskip("triton")
    import triton_functions

    x, y = arrays()
    out = np.zeros_like(x)
    for gpu, threads in (("a100", 128), ("v100", 256)):
        out[:] = 0
        run = ww.launch(triton_functions.add, 4, threads, x, y, out, x.size, constants={"BLOCK": 256}, gpu=gpu)
        assert np.array_equal(out, x + y) and run.workload == "add", (triton.__version__, gpu)
    for wrong, says in [
        ({"constants": {}}, "BLOCK"),
        ({"constants": {"BLOCK": 256, "OTHER": 1}}, "OTHER"),
        ({"block": 96, "constants": {"BLOCK": 256}}, "power of two"),
    ]:
        with pytest.raises(ww.InputError, match=says):
            ww.launch(triton_functions.add, 4, wrong.pop("block", 128), x, y, out, x.size, gpu="a100", **wrong)


def test_constants_are_of_triton(scale):
    with pytest.raises(ww.InputError, match="for Triton"):
        ww.launch(scale, 1, 32, None, None, 1.0, 0, constants={"BLOCK": 1})


def test_a_python_function_that_numba_compiles():
    numba = pytest.importorskip("numba")
    from numba import cuda

    def saxpy(y, x, a):
        i = cuda.grid(1)
        if i < x.size:
            y[i] += a * x[i]

    x, y = arrays()
    try:
        cuda.compile_ptx(saxpy, (numba.float32[::1], numba.float32[::1], numba.float32), cc=(7, 5))
    except Exception as why:
        pytest.skip(f"numba has no NVVM: {type(why).__name__}")
    run = ww.launch(saxpy, 8, 128, y, x, np.float32(2))
    assert np.array_equal(y, 1 + 2 * x) and run.workload == "saxpy"


def test_what_is_no_kernel():
    with pytest.raises(TypeError, match=r"PTX or CUDA C\+\+ as text"):
        ww.Device().module(3)
    with pytest.raises(ww.InputError, match="cannot be read"):
        ww.Device().module("nosuch.ptx")

"""Processors that lack instructions of the native part."""

import platform

import pytest
from warpwright import _native, _processor


def test_an_old_processor_is_refused(tmp_path):
    old = {"SSE42": True, "AVX2": False, "FMA3": False}
    compiled = tmp_path / "compiled.so"
    compiled.write_bytes(b"\x7fELF" + bytes(5000) + _processor._MARK + bytes(10))
    with pytest.raises(ImportError, match="no AVX2 and no FMA3.*\n.*tools/wheels"):
        _processor.check(old, str(compiled))
    for_any = tmp_path / "any.so"
    for_any.write_bytes(b"\x7fELF" + bytes(5000))
    _processor.check(old, str(for_any))
    _processor.check({**old, "AVX2": True, "FMA3": True}, str(compiled))
    _processor.check({}, str(compiled))


@pytest.mark.skipif(platform.machine() != "x86_64", reason="of x86-64")
def test_numpy_knows_this_processor():
    assert set(_processor._NEEDED) <= set(_processor._features())


def test_the_library_is_marked_with_its_instruction_sets():
    with open(_native.__file__, "rb") as file:
        has_mark = _processor._MARK in file.read()
    if has_mark:
        with pytest.raises(ImportError):
            _processor.check({"AVX2": False})
    else:
        _processor.check({"AVX2": False})

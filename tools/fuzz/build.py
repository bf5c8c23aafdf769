"""Compiles a group of kernels: on the host for what they compute, and for the GPU in every way."""

import ctypes
import re
import subprocess
import tempfile
from pathlib import Path

from .program import used_functions

HERE = Path(__file__).resolve().parent
# PTX is made for these levels, and of it machine code for these architectures.
LEVELS = [70, 80, 90]
TARGETS = [70, 75, 80, 86, 90]


HOST = ["g++", "-std=c++17", "-O0", "-frounding-math", "-ffp-contract=off", "-fno-strict-aliasing", "-w"]


class CompileError(Exception):
    pass


class CompilerCrash(CompileError):
    pass


def run(command, **options):
    done = subprocess.run([str(c) for c in command], text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, **options)
    if done.returncode != 0:
        raise (CompilerCrash if done.returncode < 0 else CompileError)(f"{' '.join(map(str, command))}\n{done.stdout}")
    return done.stdout


def device_source(kernels):
    texts = [k.source() for k in kernels]
    device, _ = used_functions("\n".join(texts))
    text = "\n".join(device + texts)
    # The headers of CUDA take longer to compile than the kernels.
    needs = [f"#define {name}" for name, pattern in [("HALVES", r"half|hbits|canon2?_h"), ("BFLOATS", r"bf16|bbits|canon2?_b")] if re.search(pattern, text)]
    return "\n".join(needs + [(HERE / "device.h").read_text(), text]) + "\n"


def host_source(kernels):
    texts = [k.source() for k in kernels]
    _, host = used_functions("\n".join(texts))
    lines = ['#include "host.h"'] + host + texts + ["int main(int, char **argv) {", "  std::vector<u32> in(1024);",
             '  FILE *f = fopen(argv[1], "rb"); if (fread(in.data(), 4, 1024, f) != 1024) return 2; fclose(f);', '  f = fopen(argv[2], "wb");']
    lines += [f'  run({"enter_" * bool(k.parameters)}{k.name}, "{k.name}", {k.grid}, {k.block}, {k.output_words}, in, f);' for k in kernels]
    return "\n".join(lines + ["  fclose(f);", "}"]) + "\n"


def expected(kernels, folder, name):
    """Compiles and runs the kernels on the host; writes NAME.cases and NAME.expected."""
    source, program = folder / f"{name}.host.cpp", folder / f"{name}.host"
    source.write_text(host_source(kernels))
    header = folder / "host.h.gch"
    if not header.exists():
        run([*HOST, HERE / "host.h", "-o", header])
    run([*HOST, f"-I{folder}", f"-I{HERE}", source, "-o", program])
    source.unlink()
    run([program, folder / "input.bin", folder / f"{name}.expected"], timeout=60)
    program.unlink()
    (folder / f"{name}.cases").write_text("".join(k.case() + "\n" for k in kernels))


class Compilers:
    """CUDA 11.8 (nvcc) and, if given, CUDA 12.9 (NVRTC and ptxas)."""

    def __init__(self, cuda, host_compiler, newer=None):
        self.cuda, self.host_compiler, self.newer = Path(cuda), host_compiler, newer and Path(newer)

    def variants(self, level, turn):
        """The ways to compile the group number `turn`: PTX of one level, and machine code of all architectures
        from it; one is not optimised."""
        at = max([l for l in LEVELS if l <= [70, 80, 70, 90, 70][turn % 5]] + [level])
        targets = [t for t in TARGETS if t >= at]
        names = [f"sm_{at}.ptx"] + [f"sm_{at}_{target}.cubin" for target in targets]
        # Every architecture comes with every one of these.
        option = ["O0", "G", "O1"][turn % 3]
        names.append(f"sm_{at}_{targets[turn % len(targets)]}-{option}.cubin")
        if option == "G":
            names.append(f"sm_{at}-G.ptx")
        if self.newer:
            names += ["new_90.ptx", "new_90_90.cubin"] if turn % 2 else [f"new_{at}.ptx", f"new_{at}_{targets[turn % len(targets)]}-O0.cubin", f"new_{at}_90.cubin"]
        return names

    def compile(self, kernels, folder, name, variants):
        """Writes NAME.VARIANT for each of `variants`."""
        source = folder / f"{name}.cu"
        source.write_text(device_source(kernels))
        made = {}
        for variant in variants:
            maker, level, target, option, kind = re.fullmatch(r"(sm|new)_(\d+)(?:_(\d+))?(?:-(\w+))?\.(ptx|cubin)", variant).groups()
            level = int(level)
            debug = option == "G"
            if (maker, level, debug) not in made:
                made[maker, level, debug] = self.ptx(source, maker, level, debug)
            text = made[maker, level, debug]
            if kind == "ptx":
                (folder / f"{name}.{variant}").write_text(text)
            else:
                self.assemble(text, maker, target, {"G": "O0", None: "O3"}.get(option, option), folder / f"{name}.{variant}")

    def ptx(self, source, maker, level, debug):
        if maker == "new":
            return nvrtc(self.newer, source.read_text(), level)
        with tempfile.TemporaryDirectory() as scratch:
            out = Path(scratch) / "k.ptx"
            run([self.cuda / "bin" / "nvcc", *self.host_compiler, "-ptx", f"-arch=sm_{level}", "-std=c++17", "-O3", "-w", *["-G"] * debug, source, "-o", out])
            return out.read_text()

    def assemble(self, text, maker, target, level, out):
        ptxas = (self.newer / "cuda_nvcc" if maker == "new" else self.cuda) / "bin" / "ptxas"
        with tempfile.TemporaryDirectory() as scratch:
            source = Path(scratch) / "k.ptx"
            source.write_text(text)
            try:
                run([ptxas, f"-arch=sm_{target}", f"-{level}", source, "-o", out])
            except CompilerCrash:
                # The other variants are compared all the same.
                print(f"{out.name}: ptxas crashes", flush=True)


def nvrtc(newer, text, level):
    """PTX of CUDA 12.9's run-time compiler."""
    library = ctypes.CDLL(str(newer / "cuda_nvrtc" / "lib" / "libnvrtc.so.12"))
    program = ctypes.c_void_p()
    library.nvrtcCreateProgram(ctypes.byref(program), text.encode(), b"k.cu", 0, None, None)
    options = [f"--gpu-architecture=compute_{level}", "--std=c++17", "--device-int128", "-w", f"-I{newer / 'cuda_runtime' / 'include'}",
               f"-I{newer / 'cuda_cccl' / 'include'}"]
    options = [o.encode() for o in options]
    failed = library.nvrtcCompileProgram(program, len(options), (ctypes.c_char_p * len(options))(*options))
    get = ("nvrtcGetProgramLog", "nvrtcGetProgramLogSize") if failed else ("nvrtcGetPTX", "nvrtcGetPTXSize")
    size = ctypes.c_size_t()
    getattr(library, get[1])(program, ctypes.byref(size))
    buffer = ctypes.create_string_buffer(size.value)
    getattr(library, get[0])(program, buffer)
    library.nvrtcDestroyProgram(ctypes.byref(program))
    if failed:
        raise CompileError(buffer.value.decode())
    return buffer.value.decode()

"""Sweeps: stored runs, executors, experiments."""

import json
import multiprocessing
import os
import shutil
import subprocess
import sys
import threading
import time
from concurrent.futures import Future, ProcessPoolExecutor, ThreadPoolExecutor
from pathlib import Path

import pytest
import warpwright as ww

COMMAND = os.environ.get("WARPWRIGHT") or shutil.which("warpwright")
WHAT = ["vectoradd", "nn:places=2048"]
OPTIONS = {"gpu": "v100", "cores": ["inorder", "ghost"], "repeat": 2, "progress": False}
FAULT = """
.version 7.0
.target sm_70
.address_size 64
.visible .entry k()
{
    .reg .u64 %a;
    mov.u64 %a, 8;
    st.global.u64 [%a], %a;
    ret;
}
"""


@pytest.fixture(scope="module")
def compared():
    return ww.compare(WHAT, **OPTIONS)


def figures(compared):
    """Everything but measurements of the host and what only unstored runs have."""
    report = compared.report
    for run in report["runs"]:
        run["report"].pop("host", None), run["report"].pop("overview", None)
    return json.dumps(report, sort_keys=True)


def launch_file(folder, ptx=FAULT, more=""):
    (folder / "k.ptx").write_text(ptx)
    path = folder / "launch.toml"
    path.write_text(f'module = "k.ptx"\n{more}[[launch]]\nkernel = "k"\ngrid = 1\nblock = 32\n')
    return path


def test_a_sweep_is_the_comparison_and_runs_only_what_is_missing(tmp_path, compared):
    swept = ww.sweep(WHAT, points=tmp_path, **OPTIONS)
    assert figures(swept) == figures(compared) and str(swept) == str(compared)
    assert (swept.runs, swept.made, swept.points) == (8, 8, tmp_path)
    assert len(list(tmp_path.glob("*/*.json.gz"))) == 8
    again = ww.sweep(WHAT, points=tmp_path, **{**OPTIONS, "cores": ["inorder", "ghost", "socgpu"]})
    assert (again.runs, again.made) == (12, 4)


def test_repeats_have_means_and_intervals(compared):
    repeats = compared.repeats("nn:places=2048", "ghost")
    assert repeats.runs == 2 and repeats.half_width > 0
    rows = compared.to_pandas(["cycles"])
    assert list(rows.columns[-4:]) == ["speedup.half_width", "cycles", "cycles.mean", "cycles.half_width"]
    assert rows["speedup.mean"][3] == repeats.mean
    assert compared.repeats_of_mean("ghost").runs == 2 and "±" in str(compared)
    assert compared.plot().get_ylabel() == "speedup over inorder"
    once = ww.compare("vectoradd", gpu="v100", progress=False)
    assert once.repeats("vectoradd", once.columns[0]) is None and "speedup.mean" not in once.rows()[0]


@pytest.mark.skipif(COMMAND is None, reason="no command `warpwright` to compare with")
def test_runs_are_shared_with_the_command(tmp_path):
    ww.sweep(WHAT, points=tmp_path, **OPTIONS)
    words = [*WHAT, "--gpu", "v100", "--cores", "inorder,ghost", "--repeat", "2", "--points", str(tmp_path)]
    ran = subprocess.run([COMMAND, "sweep", *words], check=True, capture_output=True, text=True)
    assert ran.stderr == "8 runs, 8 of them kept\n"


@pytest.mark.parametrize("chunksize", [1, 3])
def test_processes_make_the_runs(tmp_path, compared, chunksize):
    with ProcessPoolExecutor(2, mp_context=multiprocessing.get_context("spawn")) as pool:
        swept = ww.sweep(WHAT, points=tmp_path, executor=pool, chunksize=chunksize, **OPTIONS)
    assert figures(swept) == figures(compared)
    assert ww.sweep(WHAT, points=tmp_path, **OPTIONS).made == 0


class Jobs:
    """An executor whose jobs are not futures of the standard library; the first jobs are lost."""

    def __init__(self, lost):
        self.lost, self.submitted = lost, 0

    def submit(self, fn, /, *args):
        self.submitted += 1
        failing = self.submitted <= self.lost

        class Job:
            def done(self):
                return True

            def result(self):
                if failing:
                    raise OSError("the machine is gone")
                return fn(*args)

        return Job()


def test_a_lost_job_is_submitted_again(tmp_path, compared):
    jobs = Jobs(lost=3)
    swept = ww.sweep(WHAT, points=tmp_path, executor=jobs, **OPTIONS)
    assert figures(swept) == figures(compared) and jobs.submitted == 8 + 3


def test_a_job_that_is_lost_twice_loses_no_other(tmp_path):
    class Picky(ThreadPoolExecutor):
        def submit(self, fn, /, *args):
            if "vectoradd" not in fn.workloads:
                return super().submit(fn, *args)
            lost = Future()
            lost.set_exception(OSError("the machine is gone"))
            return lost

    file = tmp_path / "two.toml"
    file.write_text("[all]\ncores = 'inorder'\n[[part]]\nworkloads = 'vectoradd'\n[[part]]\nworkloads = 'nn:places=512'\n")
    with Picky(1) as pool:
        swept = ww.sweep(file, points=tmp_path / "points", executor=pool, progress=False)
    lost, made = swept.entries
    assert made.complete and not lost.complete and "failed twice: OSError: the machine is gone" in lost.error
    assert ww.sweep(file, points=tmp_path / "points", progress=False).made == 1


def test_a_run_that_fails_says_why_and_is_not_stored(tmp_path):
    fault = launch_file(tmp_path)
    for made in (2, 1):
        swept = ww.sweep([fault, "vectoradd"], gpu="v100", points=tmp_path / "points", progress=False)
        failed, passed = swept.entries
        assert passed.complete and not failed.complete and "out of bounds" in failed.error.replace("-", " ")
        assert swept.made == made


def test_another_version_or_other_files_are_noticed(tmp_path):
    path = launch_file(tmp_path, FAULT.replace("st.global.u64 [%a], %a;", ""))

    class Elsewhere(Jobs):
        def submit(self, fn, /, *args):
            (tmp_path / "k.ptx").write_text(FAULT.replace("st.global.u64 [%a], %a;", "add.u64 %a, %a, 1;"))
            return super().submit(fn, *args)

    swept = ww.sweep(path, gpu="v100", points=tmp_path / "points", executor=Elsewhere(0), progress=False)
    assert "other input files" in swept.entries[0].error


def test_files_are_found_from_another_folder(tmp_path, monkeypatch):
    launch_file(tmp_path, FAULT.replace("st.global.u64 [%a], %a;", ""))
    monkeypatch.chdir(tmp_path)
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn"), os.chdir, ("/",)) as pool:
        swept = ww.sweep("launch.toml", gpu="v100", points="points", executor=pool, progress=False)
    assert swept.entry("launch.toml", swept.columns[0]).complete


def test_a_launch_file_that_writes_files_runs_here(tmp_path):
    path = launch_file(tmp_path, FAULT.replace("st.global.u64 [%a], %a;", ""))
    path.write_text(
        'module = "k.ptx"\n[buffers.b]\ntype = "u32"\nlength = 4\nzero = true\n'
        '[[launch]]\nkernel = "k"\ngrid = 1\nblock = 32\n[[output]]\nbuffer = "b"\nwrite = "out.bin"\n'
    )
    jobs = Jobs(lost=0)
    swept = ww.sweep(path, gpu="v100", points=tmp_path / "points", executor=jobs, progress=False)
    assert swept.entries[0].complete and jobs.submitted == 0 and (tmp_path / "out.bin").stat().st_size == 16
    assert not (tmp_path / "points").exists()


def test_an_experiment_has_parts(tmp_path):
    file = tmp_path / "mine.toml"
    file.write_text(
        "title = 'Buffers'\nabout = 'how long'\n[all]\nworkloads = 'nn:places=512'\ncores = ['inorder', 'ghost']\n"
        "[[part]]\n[[part]]\ncores = 'inorder'\ninstruction_buffer = [2, 8]\n"
    )
    swept = ww.sweep(file, points=tmp_path / "points", progress=False)
    assert (swept.title, swept.about, len(swept.parts)) == ("Buffers", "how long", 2)
    assert swept.columns == ["inorder", "ghost", "buffer=2", "buffer=8"]
    assert swept.speedup("nn:places=512", "ghost") == swept.parts[0].speedup("nn:places=512", "ghost")
    assert [row["part"] for row in swept.rows(["cycles"])] == [1, 1, 2, 2]
    assert "$ warpwright compare nn:places=512" in str(swept) and "<h3>Buffers</h3>" in swept._repr_html_()
    assert len(swept.report["parts"]) == 2
    doubled = tmp_path / "doubled.toml"
    doubled.write_text("[all]\nworkloads = 'nn:places=512'\n[[part]]\n[[part]]\n")
    twice = ww.sweep(doubled, points=tmp_path / "points", cores=["inorder"], progress=False)
    assert (twice.runs, twice.made) == (1, 0), "the same run of both parts, and of the other experiment"
    with pytest.raises(KeyError, match="in parts 1, 2"):
        twice.speedup("nn:places=512", twice.columns[0])


def test_published_values_are_beside_ours(tmp_path):
    # Machine and baseline of the paper's figure, with a small input.
    file = tmp_path / "ghost.toml"
    file.write_text("[all]\nworkloads = 'lud:n=32'\ngpus = 'papers/ghost'\ncode = 'sass'\ncores = ['inorder', 'ghost']\n")
    swept = ww.sweep(file, repeat=2, points=tmp_path / "points", progress=False)
    assert swept.published("lud:n=32", "ghost") > 0 and swept.published("lud:n=32", "inorder") is None
    assert [line.get_marker() for line in swept.plot().lines].count("_") >= 1


@pytest.mark.parametrize(
    "wrong, error, says",
    [
        (lambda points: ww.sweep("nn", points=points, profile=True), TypeError, "unexpected keyword argument 'profile'"),
        (lambda points: ww.sweep("nn", points=points, chunksize=0), ww.InputError, "chunksize=0"),
        (lambda points: ww.sweep("nnn", points=points), ww.InputError, "did you mean `nn`"),
        (lambda points: ww.sweep("sgmf-area", points=points), ww.InputError, "warpwright reproduce"),
        (lambda points: ww.sweep("nn", points=__file__, progress=False), ww.Error, "cannot be kept"),
    ],
)
def test_what_makes_no_sense_is_refused(tmp_path, wrong, error, says):
    with pytest.raises(error, match=says):
        wrong(tmp_path)


def test_ctrl_c_ends_a_sweep_and_nothing_half_done_is_stored(tmp_path):
    program = (
        "import warpwright as ww, signal, sys\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"  # a background job may have it ignored
        "from concurrent.futures import ThreadPoolExecutor\n"
        "ww.sweep(['matmul', 'bfs'], size='large', gpu='v100', points=sys.argv[1], executor=ThreadPoolExecutor(2))\n"
    )
    child = subprocess.Popen([sys.executable, "-c", program, str(tmp_path)], stderr=subprocess.PIPE, text=True)
    threading.Timer(2.0, lambda: child.send_signal(2)).start()
    began = time.monotonic()
    _, error = child.communicate()
    assert error.rstrip().endswith("KeyboardInterrupt") and time.monotonic() - began < 20
    assert not list(tmp_path.glob("*/*.json.gz"))


def test_dask_loses_a_worker(tmp_path, compared):
    distributed = pytest.importorskip("distributed", reason="dask is not installed")
    import dask

    with dask.config.set({"distributed.admin.tick.limit": "1h"}):
        cluster = distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None, local_directory=str(tmp_path)
        )
        with cluster, distributed.Client(cluster) as client:
            pids = list(client.run(os.getpid).values())
            killed = []

            def kill():
                # A worker without a run would lose nothing.
                while not any(client.processing().values()):
                    time.sleep(0.01)
                os.kill(pids[0], 9)
                killed.append(sum(map(len, client.processing().values())))

            # Runs that take longer than it takes to look.
            options = {**OPTIONS, "size": "medium"}
            thread = threading.Thread(target=kill)
            thread.start()
            swept = ww.sweep(WHAT, points=tmp_path / "points", executor=client.get_executor(), **options)
            thread.join()
    assert killed[0] > 0, "it was killed in the middle"
    assert all(entry.complete for entry in swept.entries) and swept.made == swept.runs == 8
    assert figures(swept) == figures(ww.compare(WHAT, **options))

"""Runs and comparisons: the figures are the same as the command's, and errors say what to do."""

import json
import os
import re
import shutil
import signal
import subprocess
import threading
from pathlib import Path

import pytest
import warpwright as ww

ROOT = Path(__file__).resolve().parents[3]
COMMAND = os.environ.get("WARPWRIGHT") or shutil.which("warpwright")


def test_a_run_has_the_statistics_that_the_schema_names():
    run = ww.run("matmul", gpu="v100", core="ghost")
    assert run.passed and not run.interrupted
    assert set(run.statistics) <= set(ww.statistics())
    assert (run.gpu, run.core, run.scheduler) == ("v100", "ghost", "gto")
    assert run.kernels[0]["code"] == "sass"
    assert sum(kernel["statistics"]["warp_instructions"] for kernel in run.kernels) == run["warp_instructions"]


@pytest.mark.skipif(COMMAND is None, reason="no command `warpwright` to compare with")
@pytest.mark.parametrize(
    "workload, options, words",
    [
        ("bfs", {"gpu": "v100"}, ["--gpu", "v100"]),
        ("lud", {"core": "ghost", "settings": {"sm.issue.schedulers": 2}}, ["--core", "ghost", "--set", "sm.issue.schedulers=2"]),
        ("nn", {"code": "ptx", "registers": "hazard-free"}, ["--code", "ptx", "--registers", "hazard-free"]),
        (
            "matmul",
            {"warps_per_sm": "x0.5", "branches": "stall", "check_memory": True, "params": {"m": 32}, "seed": 3, "profile": True},
            ["--warps-per-sm", "x0.5", "--branches", "stall", "--check-memory", "--param", "m=32", "--seed", "3", "--profile"],
        ),
        ("bfs", {"time": "ctas=0..3", "audit": True, "energy_model": "v100"}, ["--time", "ctas=0..3", "--audit", "--energy-model", "v100"]),
        ("reduction", {"scheduler": "two_level:active=4"}, ["--scheduler", "two_level:active=4"]),
    ],
)
def test_it_is_the_run_of_the_command(workload, options, words):
    ours = ww.run(workload, **options).report
    text = subprocess.run([COMMAND, "run", workload, "--json", *words], check=True, capture_output=True).stdout
    theirs = json.loads(text)
    for report in (ours, theirs):
        report.pop("host"), report.pop("commit", None)
    assert json.dumps(ours) == json.dumps(theirs)


@pytest.mark.skipif(COMMAND is None, reason="no command `warpwright` to compare with")
def test_a_comparison_is_the_comparison_of_the_command():
    ours = ww.compare(
        "vectoradd", params={"n": 1000}, cores=["inorder", "ghost"], vary={"core.issue_buffer": [4, 8]}, over="ghost"
    )
    words = "compare vectoradd --param n=1000 --cores inorder,ghost --vary core.issue_buffer=4,8 --over ghost --json"
    theirs = json.loads(subprocess.run([COMMAND, *words.split()], check=True, capture_output=True).stdout)
    columns = [column["label"] for column in theirs["columns"]]
    assert ours.columns == columns and columns[0] == "ghost"
    assert [ours.speedup("vectoradd", of) for of in columns] == [run["speedup"] for run in theirs["runs"]]
    assert [ours.mean(of) for of in columns] == [mean["speedup"] for mean in theirs["geometric_means"]]


@pytest.mark.skipif(COMMAND is None, reason="no command `warpwright` to compare with")
def test_a_comparison_by_kernel_has_the_figures_of_the_command():
    kernels = ["distances", "bfs_expand", "nosuch"]
    ours = ww.compare(["nn", "bfs"], cores=["inorder", "ghost"], gpu="v100", kernels=kernels)
    words = "compare nn bfs --cores inorder,ghost --gpu v100 --json --kernels".split()
    theirs = json.loads(subprocess.run([COMMAND, *words, ",".join(kernels)], capture_output=True).stdout)
    assert ours.workloads == list(dict.fromkeys(run["workload"] for run in theirs["runs"]))
    assert [row["speedup"] for row in ours.rows()] == [run["speedup"] for run in theirs["runs"]]
    assert ours.entry("nosuch", "ghost").error and ours.speedup("nosuch", "ghost") is None


def test_a_comparison_has_a_row_for_each_kernel():
    compared = ww.compare("nn", cores=["inorder", "ghost"], gpu="v100", kernels="distances")
    assert compared.workloads == ["distances"] and len(compared.rows()) == 2
    assert all(kernel["name"] == "distances" for entry in compared.entries for kernel in entry.run.kernels)


def test_files_that_a_run_names_are_written(tmp_path):
    for name, start in [("nn.kanata", "Kanata\t0004"), ("nn.json", '{"')]:
        run = ww.run("nn", gpu="v100", timeline=tmp_path / name)
        text = (tmp_path / name).read_text()
        assert text.startswith(start) and run.timeline("konata").startswith("Kanata")
    with pytest.raises(ww.InputError, match="nowhere"):
        ww.run("nn", timeline=tmp_path / "nowhere" / "nn.json")


def test_observing_changes_no_cycle():
    plain = ww.run("bfs", gpu="v100")
    observed = ww.run("bfs", gpu="v100", profile=True, sample=500, timeline=(4000, 5000), audit=True)
    assert plain.statistics == observed.statistics
    issued = sum(row["issues"] for row in observed.instructions())
    assert issued == plain["slots.issued"]
    assert sum(row["warp_instructions"] for row in observed.samples()) == plain["warp_instructions"]
    assert "SM 0" in observed.timeline()
    assert observed.timeline("konata").startswith("Kanata\t0004")
    events = json.loads(observed.timeline("perfetto"))["traceEvents"]
    assert {"power", "DRAM bytes", "occupancy"} <= {event["name"] for event in events if event["ph"] == "C"}
    assert "pc" in observed.profile(order="energy", most=3)
    assert "longest" in observed.profile("latencies", order="causes")


def test_several_forms_of_the_results(tmp_path):
    run = ww.run("bfs", gpu="v100")
    assert len(run.to_pandas()) == len(run.to_polars()) == len(run.kernels)
    assert "\x1b" not in run.text(statistics=True)
    run.page().save(tmp_path / "bfs.html")
    page = (tmp_path / "bfs.html").read_text()
    assert page.startswith("<!DOCTYPE html>") and 'id="over-time"' in page
    assert "<iframe" in run.page()._repr_html_() and "Issue slots" in run._repr_html_()
    assert run.plot().get_xlabel()


def test_a_part_of_a_run_is_timed():
    run = ww.run("lud", gpu="v100", time="kernels=0..1")
    sampling = run.report["sampling"]
    assert run.passed and len(run.kernels) == sampling["timed"] == 2 and sampling["untimed"] > 0


def test_columns_are_combined_and_varied():
    compared = ww.compare("nn", cores=["inorder", "ghost"], vary={"core.issue_buffer": [4, 16]}, gpu="v100")
    assert compared.columns == ["inorder", "ghost:issue_buffer=4", "ghost:issue_buffer=16"]
    swept = ww.compare(["nn", "bfs"], gpu="v100", vary={"sm.issue.schedulers": [1, 4], "sm.issue.scheduler": ["gto"]})
    assert len(swept.rows()) == 4 and swept.to_polars().height == 4
    first = swept.columns[0]
    assert swept.mean(first) == pytest.approx(1.0)
    assert swept.speedup("nn", swept.columns[1]) > 1.0
    assert swept.plot("ipc").get_ylabel().startswith("ipc (")
    assert "geometric mean" in str(swept) and "<table>" in swept._repr_html_()


def test_the_baseline_is_the_core_that_is_named():
    compared = ww.compare("nn", gpus=["v100", "rtx3070"], cores=["ghost"], over="inorder")
    for gpu in ("v100", "rtx3070"):
        assert compared.speedup("nn", f"{gpu} inorder") == 1.0


def test_a_run_that_fails_loses_no_other():
    compared = ww.compare("nn", cores=["inorder", "sgmf"], gpu="rtx3070", code="sass")
    assert [entry.complete for entry in compared.entries] == [True, False], "fabrics run PTX only"
    assert compared.entries[1].error in str(compared) and compared.speedup("nn", "sgmf") is None


@pytest.mark.parametrize(
    "wrong, says",
    [
        (lambda: ww.run("matmull"), "did you mean `matmul`"),
        (lambda: ww.run("matmul", gpu="v10"), "did you mean `v100`"),
        (lambda: ww.run("matmul", core="gost"), "did you mean `ghost`"),
        (lambda: ww.run("matmul", size="huge"), "small, medium, large"),
        (lambda: ww.run("matmul", settings={"sm.l1d": {"sie": 3}}), "sm.l1d.sie"),
        (lambda: ww.run("matmul", params={"q": 1}), "no parameter `q`"),
        (lambda: ww.run("matmul", time="some"), "chooses nothing"),
        (lambda: ww.run("matmul", timeline=True, timeline_sms=[99]), "SMs 0 to"),
        (lambda: ww.run("matmul").profile(), "profile=True"),
        (lambda: ww.run("matmul").samples(), "sample=1000"),
        (lambda: ww.compare("matmul", vary={"core.x": [1]}), "none of the cores"),
        (lambda: ww.compare("matmul", cores=["inorder", "inorder"]), "twice"),
    ],
)
def test_what_makes_no_sense_is_refused(wrong, says):
    with pytest.raises(ww.InputError, match=says):
        wrong()


@pytest.mark.parametrize(
    "call, keyword, says",
    [
        (ww.run, "flux", r"run\(\) got an unexpected keyword argument 'flux'; there are"),
        (ww.run, "schedular", "did you mean `scheduler`"),
        (ww.run, "vary", "`warpwright.compare` has it"),
        (ww.run, "cores", "it is `core` here"),
        (ww.run, "param", "it is `params` here"),
        (ww.run, "html", "the result has it as a method"),
        (ww.compare, "timeline", "`warpwright.run` has it"),
        (ww.sweep, "profile", "`warpwright.compare` has it"),
        (ww.Device, "seed", "a device has no workload"),
        (ww.launch, "progres", "did you mean `progress`"),
    ],
)
def test_an_unknown_keyword_has_its_reason_or_the_nearest_name(call, keyword, says):
    with pytest.raises(TypeError, match=f"unexpected keyword argument '{keyword}'") as raised:
        call(**{keyword: 1})
    assert re.search(says, str(raised.value)), raised.value


def test_a_function_sees_the_progress_and_ends_the_run():
    seen = []
    run = ww.run("matmul", size="medium", progress=lambda of: seen.append(of) or False)
    assert run.interrupted and seen and seen[0]["cycles"] > 0


def test_an_exception_of_the_function_ends_the_run():
    def fails(_):
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        ww.run("matmul", size="medium", progress=fails)


def interrupted_after(seconds):
    threading.Timer(seconds, lambda: os.kill(os.getpid(), signal.SIGINT)).start()


def test_ctrl_c_ends_runs_and_comparisons():
    interrupted_after(0.5)
    with pytest.raises(KeyboardInterrupt):
        ww.run("matmul", size="large", gpu="v100")
    interrupted_after(0.5)
    with pytest.raises(KeyboardInterrupt):
        ww.compare(["matmul", "bfs"], size="large", gpu="v100", cores=["inorder", "ghost"])
    assert ww.run("vectoradd").passed, "the next one runs"


def test_other_threads_run_meanwhile():
    ticks, done = [], threading.Event()

    def tick():
        while not done.wait(0.01):
            ticks.append(1)

    thread = threading.Thread(target=tick)
    thread.start()
    ww.run("matmul", size="medium", gpu="v100")
    done.set()
    thread.join()
    assert len(ticks) > 5


def test_launch_files_and_traces():
    saxpy = ROOT / "examples/launch/saxpy.toml"
    assert ww.run(saxpy).passed
    slow = ww.run(ROOT / "examples/launch/rowsums.toml", params={"rows": 1024}, gpu="v100", profile=True)
    assert slow.passed and any(row["line"] for row in slow.instructions())
    with pytest.raises(ww.InputError, match="for bundled workloads"):
        ww.run(saxpy, size="small")


def test_runs_at_the_same_time_are_runs_one_after_the_other():
    alone = [ww.run("bfs", core=core).report["total"] for core in ("inorder", "ghost", "loog")]
    together = ww.compare("bfs", cores=["inorder", "ghost", "loog"], jobs=3)
    assert [entry.run.report["total"] for entry in together.entries] == alone

"""Results as mappings, tables, frames and plots."""

import inspect
from collections.abc import Mapping

import pytest
import warpwright as ww


@pytest.fixture(scope="module")
def grid():
    """Two axes, repeated."""
    vary = {"sm.issue.schedulers": [1, 2, 4], "core.issue_buffer": [4, 8]}
    return ww.compare(["nn", "vectoradd"], gpu="v100", cores=["ghost"], vary=vary, repeat=2, progress=False)


def texts(ax):
    return [tick.get_text() for tick in ax.get_xticklabels()], ax.get_xlabel(), ax.get_ylabel()


@pytest.mark.parametrize("call", [ww.run, ww.compare, ww.sweep, ww.launch, ww.Device])
def test_options_are_keywords_of_the_signature(call):
    parameters = inspect.signature(call).parameters
    assert not any(of.kind is of.VAR_KEYWORD for of in parameters.values())
    assert parameters["gpu"].kind is inspect.Parameter.KEYWORD_ONLY and parameters["gpu"].default is None
    assert "PathLike" in parameters["gpu"].annotation
    with pytest.raises(TypeError, match="unexpected keyword argument 'flux'"):
        call(flux=1)


@pytest.mark.parametrize("call", [ww.run, ww.compare, ww.sweep])
def test_help_has_the_meaning_of_each_option(call):
    options = inspect.getdoc(call).partition("Options\n-------\n")[2]
    described = {name for line in options.splitlines() if line[:1].strip() for name in line.split(", ")}
    own = {"workload", "workloads", "what", "progress", "points", "executor", "chunksize"}
    assert described == set(inspect.signature(call).parameters) - own and "max_cycles" in described


def test_types_are_checked(tmp_path):
    api = pytest.importorskip("mypy.api")
    lines = ['ww.run("nn", seed=1, size="small", core="ghost")', 'ww.run("nn", seed="1")', 'ww.run("nn", size="huge")']
    lines += ['ww.compare("nn", cores=["ghost"], vary={"a": [1]})', 'ww.compare("nn", core=1)', 'ww.Device(size="small")']
    file = tmp_path / "calls.py"
    file.write_text("\n".join(["import warpwright as ww", *lines]) + "\n")
    report, _, _ = api.run(["--cache-dir", str(tmp_path), str(file)])
    wrong = sorted({int(line.split(":")[1]) for line in report.splitlines() if ": error:" in line})
    assert wrong == [3, 4, 6, 7], report


def test_a_run_is_a_mapping_of_its_statistics():
    run = ww.run("vectoradd", gpu="v100", progress=False)
    assert isinstance(run, Mapping) and dict(run) == run.statistics
    assert {**run}["cycles"] == run.cycles and "nothing" not in run
    assert run == ww.run("vectoradd", gpu="v100", progress=False) and len({run, run}) == 1


def test_frames_have_units():
    run = ww.run("vectoradd", gpu="v100", sample=500, profile=True, progress=False)
    frame = run.to_frame()
    assert list(frame.columns) == ["value", "unit", "meaning"] and list(frame.index) == list(run)
    assert isinstance(frame.loc["cycles", "value"], int) and frame.loc["time", "unit"] == "us"
    assert run.to_pandas().attrs["units"]["cycles"] == "core cycles"
    samples = run.samples().to_pandas()
    assert samples.attrs["units"]["power.dram"] == "W" and samples["cycles"].sum() == run.cycles
    instructions = run.instructions()
    assert instructions.units["latency"] == "core cycles" and instructions.to_polars().height == len(instructions)


def test_values_of_a_sweep_keep_their_types():
    vary = {"sm.issue.schedulers": [1, 2], "sm.issue.dual_issue_needs_different_units": [False, True], "clocks.core_mhz": ["1GHz"]}
    compared = ww.compare("vectoradd", gpu="v100", vary=vary, progress=False)
    frame = compared.to_pandas(["cycles"])
    assert frame["sm.issue.schedulers"].dtype.kind == "i" and frame["sm.issue.dual_issue_needs_different_units"].dtype.kind == "b"
    assert set(frame["clocks.core_mhz"]) == {"1GHz"} and frame.attrs["units"]["cycles"] == "core cycles"
    assert compared.axes == {"sm.issue.schedulers": [1, 2], "sm.issue.dual_issue_needs_different_units": [False, True]}
    assert compared.entries[1].settings["sm.issue.dual_issue_needs_different_units"] is True


def test_parameters_of_cores_are_columns(grid):
    assert [row["core.issue_buffer"] for row in grid.rows(["cycles"])][:6] == [4, 4, 4, 8, 8, 8]
    assert grid.axes == {"core.issue_buffer": [4, 8], "sm.issue.schedulers": [1, 2, 4]}


def test_statistics_have_intervals_where_runs_are_repeated(grid):
    row = grid.rows(["cycles"])[0]
    repeats = grid.repeats("nn", grid.columns[0], "cycles")
    assert (row["cycles.mean"], row["cycles.half_width"]) == (repeats.mean, repeats.half_width) and repeats.runs == 2
    assert grid.rows(["cycles"]).units["cycles.half_width"] == "core cycles"


def test_bars_have_intervals(grid):
    ax = grid.plot("cycles")
    assert texts(ax)[0] == ["nn", "vectoradd"] and ax.get_ylabel() == "cycles (core cycles)"
    assert len(ax.containers) == 2 * len(grid.columns), "bars and their error bars"


def test_lines_are_over_an_axis(grid):
    ax = grid.plot("cycles", kind="line", x="sm.issue.schedulers")
    labels = [text.get_text() for text in ax.get_legend().get_texts()]
    assert labels == [f"{name} issue_buffer={n}" for name in ("nn", "vectoradd") for n in (4, 8)]
    line, caps, bars = ax.containers[0].lines
    assert list(line.get_xdata()) == [1, 2, 4] and bars
    columns = [column for column, of in grid.values_of_columns().items() if of["core.issue_buffer"] == 4]
    assert list(line.get_ydata()) == [grid.repeats("nn", column, "cycles").mean for column in columns]
    names = ww.compare("nn", gpu="v100", cores=["inorder", "ghost"], progress=False)
    assert texts(names.plot(kind="line"))[:2] == (["inorder", "ghost"], "core")


def test_a_heat_map_has_two_axes(grid):
    ax = grid.plot(kind="heat", x="sm.issue.schedulers", y="core.issue_buffer")
    assert texts(ax) == (["1", "2", "4"], "sm.issue.schedulers", "core.issue_buffer")
    cells = ax.images[0].get_array()
    assert cells.shape == (2, 3) and cells[0, 0] == pytest.approx(1.0)
    assert texts(grid.plot(kind="heat", x="core.issue_buffer"))[1:] == ("core.issue_buffer", "sm.issue.schedulers")
    one = grid.plot("ipc", kind="heat", workload="nn", x="sm.issue.schedulers").images[0].get_array()
    assert one[0, 0] == pytest.approx(grid.repeats("nn", grid.columns[0], "ipc").mean)


@pytest.mark.parametrize(
    "how, says",
    [
        ({"statistic": "cycels"}, "no statistic 'cycels'"),
        ({"kind": "pie"}, "bar, line, heat"),
        ({"kind": "line", "x": "core"}, "sm.issue.schedulers, core.issue_buffer varies"),
        ({"statistic": "ipc", "kind": "heat"}, "give workload="),
        ({"workload": "bfs"}, "nn, vectoradd"),
    ],
)
def test_a_plot_that_makes_no_sense(grid, how, says):
    with pytest.raises(ww.InputError, match=says):
        grid.plot(**how)


def test_a_plot_needs_its_axes():
    once = ww.compare("vectoradd", gpu="v100", progress=False)
    for kind in ("line", "heat"):
        with pytest.raises(ww.InputError, match="nothing varies in the comparison"):
            once.plot(kind=kind)

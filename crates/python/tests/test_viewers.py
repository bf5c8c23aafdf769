"""Timelines in the parser of the viewer that they are for: Perfetto's trace_processor.

`TRACE_PROCESSOR` names one that is there already. With `TRACE_PROCESSOR=download` the package `perfetto` downloads it;
no test reaches for the network unless it is told to.
"""

import json
import os
from collections import Counter

import pytest
import warpwright as ww


@pytest.fixture(scope="module")
def processor():
    """Loads a trace; the tests are skipped where no trace_processor is named."""
    named = os.environ.get("TRACE_PROCESSOR")
    if not named:
        pytest.skip("TRACE_PROCESSOR names no trace_processor (`download`: Perfetto's, from the network)")
    from perfetto import trace_processor as api

    config = api.TraceProcessorConfig(bin_path=None if named == "download" else named)

    def load(path):
        return api.TraceProcessor(trace=str(path), config=config)

    return load


@pytest.fixture(scope="module")
def trace(processor, tmp_path_factory):
    """A run, the events of its file, and the file as Perfetto has read it."""
    run = ww.run("reduction", gpu="v100", core="ghost", timeline=(0, 20000), timeline_sms=[0, 3], progress=False)
    path = tmp_path_factory.mktemp("trace") / "reduction.json"
    path.write_text(run.timeline("perfetto"))
    with processor(path) as opened:
        yield run, json.loads(path.read_text())["traceEvents"], opened


def rows(opened, sql):
    return [vars(row) for row in opened.query(sql)]


def test_perfetto_finds_no_fault(trace):
    _, _, opened = trace
    faults = rows(opened, "select name, value from stats where severity in ('error', 'data_loss') and value > 0")
    assert not faults


def test_each_slice_is_where_it_belongs(trace):
    _, events, opened = trace
    processes = {of["pid"]: of["args"]["name"] for of in events if of["name"] == "process_name"}
    threads = {(of["pid"], of["tid"]): of["args"]["name"] for of in events if of["name"] == "thread_name"}
    written = Counter(
        (processes[of["pid"]], threads[of["pid"], of["tid"]], of["cat"], of["name"], of["ts"] * 1000, of["dur"] * 1000)
        for of in events
        if of["ph"] == "X"
    )
    read = Counter(
        (of["process"], of["thread"], of["category"], of["name"], of["ts"], of["dur"])
        for of in rows(
            opened,
            """select process.name as process, thread.name as thread, slice.category, slice.name, slice.ts, slice.dur
            from slice join thread_track on slice.track_id = thread_track.id
            join thread using (utid) join process using (upid)""",
        )
    )
    assert read == written
    assert set(processes.values()) == {"v100", "SM 0", "SM 3"}
    # Each stage is within its instruction.
    depths = rows(opened, "select category, min(depth) as least, max(depth) as most from slice group by category")
    depth = {of["category"]: (of["least"], of["most"]) for of in depths}
    assert depth["instruction"] == (0, 0) and depth["stage"] == (1, 1)


def test_accesses_are_of_their_sm_by_level(trace):
    _, events, opened = trace
    written = Counter((of["pid"], of["name"]) for of in events if of["ph"] == "b")
    read = rows(
        opened,
        """select process.pid, slice.name, track.name as track, count() as count from slice
        join process_track as track on slice.track_id = track.id join process using (upid)
        where slice.category = 'memory' group by 1, 2, 3""",
    )
    assert {(of["pid"], of["name"]): of["count"] for of in read} == dict(written) and len(written) > 2
    assert all(of["track"] == of["name"] for of in read)


def test_counters_add_up_to_the_statistics(trace):
    run, _, opened = trace
    points = rows(
        opened,
        """select track.name, ts, value from counter join process_counter_track as track on counter.track_id = track.id
        join process using (upid) where process.pid = 1000000 order by track.name, ts""",
    )

    def whole(name):
        """Sum of a counter's values, each times the cycles that it holds for."""
        found = [(of["ts"] // 1000, of["value"]) for of in points if of["name"] == name]
        return sum(value * (after - at) for (at, value), (after, _) in zip(found, found[1:]))

    assert whole("instructions of threads per cycle") == pytest.approx(run["thread_instructions"])
    assert whole("DRAM bytes per cycle") == pytest.approx(run["dram.bytes"])
    assert whole("issue slots: issued per cycle") == pytest.approx(run["slots.issued"])
    assert {"occupancy %", "power W"} <= {of["name"] for of in points}

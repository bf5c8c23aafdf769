"""Changes between runs, versions of a kernel, and rules of a user's own."""

import json
from pathlib import Path

import pytest
import warpwright as ww

CAUSES = Path(__file__).resolve().parents[2] / "cli/tests/causes"
LAUNCH, REPAIRED = CAUSES / "bank_conflicts.toml", CAUSES / "bank_conflicts_repaired.cubin"


@pytest.fixture(scope="module")
def before():
    return ww.run(LAUNCH, profile=True, progress=False)


def test_a_run_is_compared_with_an_earlier_one(before, tmp_path):
    after = ww.run(LAUNCH, modules={None: REPAIRED}, profile=True, progress=False)
    changes = after.against(before)
    assert changes.cycles == after.cycles - before.cycles < 0
    assert changes.times_faster == pytest.approx(before.cycles / after.cycles)
    assert sum(changes.cycles_by_reason().values()) == pytest.approx(changes.cycles)
    assert [cause["rule"] for cause in changes.causes_gone] == ["bank_conflicts"] and changes.causes_new == []
    lines = changes.lines()
    assert any("bs[tx][k]" in line["text"] and line["slots_after"] < line["slots_before"] for line in lines)
    # The file of an earlier run is the same baseline.
    file = tmp_path / "before.json"
    file.write_text(json.dumps(before.report))
    from_file = after.against(file)
    assert from_file.report["issue_slots"] == changes.report["issue_slots"]
    assert str(from_file).startswith(f"Changes from {file}\n")
    assert before.against(file).is_equal and "No difference" in str(before.against(before))


def test_wrong_baselines_are_refused(before, tmp_path):
    file = tmp_path / "before.json"
    file.write_text(json.dumps(before.report)[:1000])
    with pytest.raises(ww.InputError, match="not JSON of a report"):
        before.against(file)
    with pytest.raises(ww.InputError, match="another kernel"):
        before.against(ww.run("vectoradd", gpu=before.gpu, progress=False))
    with pytest.raises(ww.InputError, match="is of v100"):
        before.against(ww.run("vectoradd", gpu="v100", progress=False))


def test_versions_are_columns(before):
    modules = {None: [CAUSES / "bank_conflicts.cubin", REPAIRED]}
    compared = ww.compare(LAUNCH, modules=modules, profile=True, progress=False)
    assert compared.columns == ["bank_conflicts.cubin", "bank_conflicts_repaired.cubin"]
    changes = compared.changes(compared.workloads[0], compared.columns[1])
    assert changes is not None and changes.times_faster == compared.speedup(compared.workloads[0], compared.columns[1])
    assert compared.changes(compared.workloads[0], compared.columns[0]) is None
    several = ww.compare([LAUNCH, CAUSES / "tail.toml"], as_columns=True, progress=False)
    assert several.columns == ["bank_conflicts.toml", "tail.toml"] and len(several.workloads) == 1


def test_rules_of_a_user_are_ranked_with_the_others(before):
    seen = []

    def crowded(facts):
        seen.append(facts)
        hottest = max(facts.instructions, key=lambda row: row["issues"])
        return ww.Cause("Crowded.", times_faster=1.05, remedy="Spread it.", instruction=hottest)

    def worst(facts):
        return ww.Cause("Worst", times_faster=1000.0)

    def never(facts):
        return None

    run = before.diagnose(crowded, worst, never)
    assert [cause["rule"] for cause in run.causes] == ["worst", "bank_conflicts", "crowded"]
    assert "Worst; without it at most 1000.00 times as fast." in run.text() and "Worst" in run.page().html
    assert (run.causes[2]["line"], run.causes[2]["remedy"]) != (None, "") and run.causes[2]["file"] == "bank_conflicts.cu"
    assert [cause["rule"] for cause in before.causes] == ["bank_conflicts"], "the run itself has none"
    facts = seen[0]
    assert facts.kernel == "product" and facts["cycles"] == facts.cycles and facts.launch["block"] == [32, 32, 1]
    assert facts.roofs["cycles of the banks of shared memory"] > 60
    assert 0 < facts.lost("memory_pipe_full") < facts.cycles


def test_a_rule_holds_for_the_runs_that_follow():
    @ww.rule
    def small(facts):
        return ww.Cause("Small", times_faster=2.0)

    try:
        assert "small" in [cause["rule"] for cause in ww.run("vectoradd", gpu="v100", progress=False).causes]
        compared = ww.compare("vectoradd", gpu="v100", progress=False)
        assert "small" in [cause["rule"] for cause in compared.entries[0].run.causes]
        # No SMs, no diagnosis.
        assert ww.run("vectoradd", core="functional", progress=False).causes == []
    finally:
        ww.remove_rule(small)
    assert "small" not in [cause["rule"] for cause in ww.run("vectoradd", gpu="v100", progress=False).causes]


def test_a_rule_that_returns_something_else_is_refused(before):
    def wrong(facts):
        return "slow"

    def slower(facts):
        return ww.Cause("Slow", times_faster=0.5)

    with pytest.raises(TypeError, match="rule wrong returned 'slow'"):
        before.diagnose(wrong)
    with pytest.raises(ValueError, match="times_faster is 0.5"):
        before.diagnose(slower)

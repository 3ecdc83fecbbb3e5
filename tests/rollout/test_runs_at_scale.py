"""Shards, graded again, the monitor, the command line, Ray, progress."""

import functools
import json
import os
import re
import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
from rollout_policies import Scripted, call, sudoku

from envs import NAMES, load
from helpers.episodes import environment, store
from helpers.episodes.store import write
from helpers.here import ROOT
from helpers.rollout import command_line, monitor, rollouts
from helpers.rollout.endpoints import EndpointPolicy
from helpers.rollout.monitor import Monitor
from helpers.rollout.policies import OraclePolicy
from helpers.rollout.rollouts import Sampling, rollout


def test_shards_cover_all_rows_once_and_merge(tmp_path):
    rows = sudoku.make_rows(11)
    policy, parts = OraclePolicy(sudoku, rows), []
    for i in (1, 2, 3):
        parts.append(tmp_path / f"{i}.jsonl")
        rollout(sudoku, rows, policy, Sampling(samples=2), name="o", shard=f"{i}/3", out=parts[-1], quiet=True)
    out = tmp_path / "all.jsonl"
    assert store.merge(parts, out) == 22
    counts = Counter((e["task_id"], e["sample"]) for e in store.read(out))
    assert len(counts) == 22 and set(counts.values()) == {1}
    whole = rollout(
        sudoku, rows, Scripted(), Sampling(samples=2), name="o", out=out, quiet=True
    )  # nothing is left to ask
    assert [e["task_id"] for e in whole] == [r["task_id"] for r in rows for _ in range(2)]
    with pytest.raises(ValueError, match="there already"):
        store.merge(parts, out)
    assert store.merge([*parts, parts[0]], tmp_path / "twice.jsonl") == 22
    changed = store.read(parts[0])
    write(parts[0], [changed[0] | {"reward": 0.5}, *changed[1:]])
    with pytest.raises(ValueError, match="another episode"):
        store.merge([out, parts[0]], tmp_path / "clash.jsonl")


@pytest.mark.parametrize("shard", ["0/3", "4/3", "1", "a/b", "1/0", "-1/2"])
def test_a_shard_that_is_none_is_refused(shard):
    with pytest.raises(ValueError, match="such as 1/4"):
        rollout(sudoku, sudoku.make_rows(2), None, name="o", shard=shard, quiet=True)


def test_stored_episodes_are_graded_again_without_a_model():
    rows = sudoku.make_rows(4)
    episodes = rollout(sudoku, rows, OraclePolicy(sudoku, rows), name="o", quiet=True)
    episodes[1] |= {"reward": 0.0, "reason": "a verifier's mistake", "version": "00000000"}
    again = rollouts.reverify(sudoku, episodes, quiet=True)
    assert [e["reward"] for e in again] == [1.0] * 4 and [("before" in e) for e in again] == [False, True, False, False]
    assert again[1]["before"] == {"reward": 0.0, "reason": "a verifier's mistake", "version": "00000000"}
    assert again[1]["version"] == environment.version_of(sudoku) and again[0] == episodes[0]


def test_the_monitor_measures_a_run_and_warns_once(tmp_path, caplog):
    (tmp_path / "limits.yaml").write_text("mean_score: {min: 0.7}\ntool_success_rate: {min: 0.9}\nunjudged: {max: 0}")
    rows, out = sudoku.make_rows(40, interactive=True), tmp_path / "r.jsonl"
    monitor = Monitor(tmp_path / "limits.yaml")
    policy = Scripted(call("nonsense", {}), call("place", {"row": 1, "column": 1, "value": 99}), {"content": "no"})
    rollout(sudoku, rows, policy, Sampling(tools=True, at_once=10), name="m", monitor=monitor, out=out, quiet=True)
    report = json.loads((tmp_path / "r.monitor.json").read_text())
    assert report["episodes"] == 40 and report["mean_score"] == 0.0 and report["tool_success_rate"] == 0.0
    assert report["invalid"] == 1.0 and report["unjudged"] == 0.0 and report["failures"] == 0
    assert report["rollouts_per_minute"] > 0 and 0 <= report["latency_p50_s"] <= report["latency_p95_s"]
    assert (
        [w.split()[0] for w in monitor.warnings]
        == ["mean_score", "tool_success_rate"]
        == [record.getMessage().split()[0] for record in caplog.records if record.levelname == "WARNING"]
    )


def test_quantiles_and_shares_of_the_monitor():
    monitor = Monitor({"latency_p95_s": {"max": 10}, "rollouts_per_minute": {"min": 1e9}})
    for i in range(100):
        reward = None if i < 10 else float(i % 2)
        monitor.add({"reward": reward, "reason": "no answer" if i < 5 else "x", "model_seconds": [i]})
    report = monitor.report()
    assert (report["latency_p50_s"], report["latency_p95_s"]) == (50, 95)
    assert (report["unjudged"], report["invalid"], report["mean_score"]) == (0.1, 0.05, 0.5)
    assert report["tool_success_rate"] is None and len(monitor.warnings) == 2


@pytest.mark.parametrize("wrong", [{"score": {"min": 1}}, {"mean_score": 0.7}, {"mean_score": {"below": 1}},
                                   {"mean_score": {"min": "x"}}, {"mean_score": {}}, [1]], ids=str)  # fmt: skip
def test_thresholds_that_are_none_are_refused(wrong):
    with pytest.raises(ValueError, match="mean_score"):
        Monitor(wrong)


def test_the_command_line_runs_shards_merges_and_grades_again(tmp_path, capsys):
    (tmp_path / "limits.yaml").write_text("mean_score: {min: 0.7}")
    common = ["run", "--environment", "sudoku", "--rows", "25", "--knob", "interactive=true", "--tools"]
    files = [str(tmp_path / f"{i}.jsonl") for i in (1, 2)]
    for i, file in enumerate(files):
        assert command_line.main([*common, "--model", "oracle", "--shard", f"{i + 1}/2", "--out", file]) == 0
    assert command_line.main(["merge", *files, "--out", str(tmp_path / "all.jsonl")]) == 0
    assert len(store.read(tmp_path / "all.jsonl")) == 25
    assert command_line.main(["reverify", str(tmp_path / "all.jsonl"), "--out", str(tmp_path / "again.jsonl")]) == 0
    assert "25 episodes graded again, 0 rewards changed" in capsys.readouterr().out
    bad = [
        *common,
        "--model",
        "random",
        "--thresholds",
        str(tmp_path / "limits.yaml"),
        "--out",
        str(tmp_path / "b.jsonl"),
    ]
    assert command_line.main([*bad, "--strict"]) == 3 and command_line.main(bad) == 0
    assert command_line.main([*common, "--model", "gpt", "--out", files[0]]) == 1
    assert "needs --models" in capsys.readouterr().err


def test_the_command_line_opens_a_local_model_that_a_file_names(tmp_path):
    (tmp_path / "models.yaml").write_text("models:\n  small: {model: tiny, backend: unsloth}")
    out = tmp_path / "r.jsonl"
    options = f"--environment sudoku --rows 6 --model small --models models.yaml --max-tokens 48 --out {out}".split()
    command = [sys.executable, "-m", "helpers.rollout.command_line", "run", *options]
    env = os.environ | {"PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr[-2000:]
    episodes = store.read(out)
    assert len(episodes) == 6 and {e["policy"] for e in episodes} == {"small"}
    assert json.loads(done.stdout.strip().split("\n")[-1])["episodes"] == 6


class Mortal(OraclePolicy):
    """Its worker dies the first time that it sees a certain task."""

    def __init__(self, rows, fatal, mark):
        super().__init__(sudoku, rows)
        self.fatal, self.mark = fatal, mark

    def generate(self, conversations, tools=None, **sampling):
        if self.fatal in conversations and not Path(self.mark).exists():
            Path(self.mark).write_text(str(os.getpid()))
            os.kill(os.getpid(), signal.SIGKILL)
        return super().generate(conversations, tools, **sampling)


def test_a_worker_that_is_killed_has_its_episodes_run_again(tmp_path):
    ray = pytest.importorskip("ray", reason="ray is not installed")
    rows, out = sudoku.make_rows(16), tmp_path / "r.jsonl"
    policy = Mortal(rows, rows[5]["prompt"], str(tmp_path / "died"))
    try:
        episodes = rollout(
            sudoku, rows, policy, Sampling(samples=2, at_once=8), name="r", backend="ray", out=out, quiet=True
        )
        assert int((tmp_path / "died").read_text()) != os.getpid()
        assert [e["reward"] for e in episodes] == [1.0] * 32
        counts = Counter((e["task_id"], e["sample"]) for e in store.read(out))
        assert len(counts) == 32 and set(counts.values()) == {1}
        opened = functools.partial(OraclePolicy, None, [])  # a function that makes the policy in the worker
        with pytest.raises(KeyError):
            rollout(sudoku, rows, opened, name="q", backend="ray", quiet=True)
        with pytest.raises(ValueError, match=r"functools\.partial"):
            rollout(sudoku, rows, EndpointPolicy("m", "http://localhost:1/v1"), name="e", backend="ray", quiet=True)
    except Exception as error:
        if "timed out during startup" in str(error):
            pytest.skip("Ray itself does not start within its 30 s on this machine")
        raise
    finally:
        ray.shutdown()


def test_an_unknown_backend_is_refused():
    with pytest.raises(ValueError, match="'threads' or 'ray', got 'dask'"):
        rollout(sudoku, sudoku.make_rows(1), None, name="o", backend="dask", quiet=True)


def test_progress_renews_one_line_in_a_terminal(capsys, monkeypatch):
    monkeypatch.delenv("TQDM_DISABLE", raising=False)
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True, raising=False)
    progress = monitor.Progress("work", 3)
    for n in range(3):
        progress.step(note=f"reward 0.{n}")
    said = capsys.readouterr().out
    assert said.count("\n") == 1 and "\r" in said and re.search(r"reward 0\.2\] *\n$", said)
    assert said.rpartition("\r")[2].startswith("work: 100%") and "3/3" in said


@pytest.mark.parametrize("kind", ["ZMQInteractiveShell", "Shell"])  # Jupyter's, and one derived from it, as Colab's is
def test_progress_is_one_bar_in_a_notebook_and_quiet_in_a_headless_run(kind):
    import nbformat
    from nbclient import NotebookClient

    code = f"""
import os, sys, time
get_ipython().__class__ = type({kind!r}, (type(get_ipython()),), {{}})
sys.path.insert(0, {str(ROOT)!r})
os.environ.pop("TQDM_DISABLE", None)
from helpers.rollout.monitor import Progress
progress = Progress("work: rollouts", 30)
for _ in range(30):
    progress.step(note="reward 0.50")
os.environ["TQDM_DISABLE"] = "1"
progress = Progress("more: rollouts", 30)
for _ in range(30):
    progress.step()
"""
    made = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(code)])
    NotebookClient(made, timeout=120, kernel_name="python3").execute()
    shown = made.cells[0].outputs
    bars = [o["data"] for o in shown if o["output_type"] == "display_data"]
    streams = "".join(o["text"] for o in shown if o["output_type"] == "stream" and o["name"] == "stdout")
    assert len(bars) == 1 and "application/vnd.jupyter.widget-view+json" in bars[0]
    models = made.metadata.widgets["application/vnd.jupyter.widget-state+json"]["state"].values()
    said = " ".join(str(model["state"].get("value")) for model in models).replace("\u2007", " ")
    assert "work: rollouts: 100%" in said and "30/30" in said and "reward 0.50" in said
    assert streams.count("\n") == 1 and streams.startswith("more: rollouts: 30 of 30")


def test_progress_says_little_and_how_long(capsys, monkeypatch):
    clock = iter(range(0, 100_000, 2))
    monkeypatch.setattr(rollouts.time, "perf_counter", lambda: next(clock))
    progress = monitor.Progress("work", 300)
    for _ in range(300):
        progress.step()
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 5 and "left" in lines[0] and lines[-1].endswith("done")


def test_progress_of_a_quick_loop_is_one_line(capsys):
    progress = monitor.Progress("work", 300)
    for _ in range(300):
        progress.step()
    assert len(capsys.readouterr().out.splitlines()) == 1


@pytest.mark.parametrize("name", NAMES)
def test_the_oracle_solves_every_environment_with_its_tools(name):
    module = load(name)
    rows = module.make_rows(12, seed=1)
    by_tools = isinstance(module.answer(rows[0]), list)
    episodes = rollout(module, rows, OraclePolicy(module, rows), Sampling(tools=by_tools), name="oracle", quiet=True)
    assert {e["reward"] for e in episodes} == {1.0}


def test_a_row_that_restricts_its_tools_is_offered_no_others():
    workplace = load("workplace")
    rows = workplace.make_rows(12, seed=1)
    offered = []

    class Looking(OraclePolicy):
        def generate(self, conversations, tools=None, **sampling):
            offered.append({tool.__name__ for tool in tools})
            return super().generate(conversations, tools, **sampling)

    rollout(workplace, rows, Looking(workplace, rows), Sampling(tools=True), name="oracle", quiet=True)
    assert all(0 < len(names) < 27 for names in offered) and len({frozenset(n) for n in offered}) > 1

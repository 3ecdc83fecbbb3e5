"""Training with the real trainers: rewards reach the model, tools are called, an adapter survives a new process."""

import json
import re
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from helpers.here import ROOT
from helpers.rollout.rollouts import Sampling
from helpers.train import fresh_process, history, profiles
from helpers.train.recording import Recorder

SCRIPT = """
import json, sys
from unsloth import FastLanguageModel
from datasets import Dataset
from trl import GRPOConfig, GRPOTrainer, SFTConfig, SFTTrainer
from pathlib import Path
from envs import load
from helpers.episodes import training_rows
from helpers.train import profiles
from helpers.train.recording import Recorder
from helpers.rollout.policies import model_path

out, tools = Path(sys.argv[1]), sys.argv[2] == "tools"
env = load("sudoku")
cfg = profiles.settings("cpu", max_tokens=150 if tools else 48)
policy, tokenizer = FastLanguageModel.from_pretrained(
    model_path("tiny"), max_seq_length=cfg.max_seq_length, dtype=profiles.torch_dtype(cfg.dtype), load_in_4bit=False
)
policy = FastLanguageModel.get_peft_model(policy, r=16, lora_alpha=32, target_modules=profiles.LORA_TARGETS)
rows = env.make_rows(32, blanks=(1, 2), interactive=tools)
args = profiles.quiet_args(cfg, out)
if sys.argv[2] == "sft":
    data = Dataset.from_list(training_rows.demonstrations(env, env.make_rows(32, blanks=(1, 2), interactive=True)))
    trainer = SFTTrainer(
        model=policy, processing_class=tokenizer, train_dataset=data,
        args=SFTConfig(max_steps=3, per_device_train_batch_size=8, max_length=512, learning_rate=1e-2,
                       assistant_only_loss=True, **args),
    )
else:
    kind = {"environment_factory": env.ENV} if tools else {"reward_funcs": [env.reward]}
    trainer = GRPOTrainer(
        model=policy, processing_class=tokenizer, train_dataset=Dataset.from_list(rows), **kind,
        args=GRPOConfig(
            max_steps=2, num_generations=8, per_device_train_batch_size=32, max_completion_length=cfg.max_tokens,
            learning_rate=1e-3, beta=0.0, **args,
        ),
    )
trainer.train()
policy.save_pretrained(str(out / "adapter"))
print("HISTORY" + json.dumps(trainer.state.log_history))
"""


def train(out: Path, kind: str) -> list[dict]:
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, str(out), kind], cwd=ROOT, capture_output=True, text=True, timeout=600
    )
    assert done.returncode == 0, done.stderr[-3000:]
    line = next(line for line in done.stdout.split("\n") if line.startswith("HISTORY"))
    return json.loads(line.removeprefix("HISTORY"))


@pytest.mark.parametrize("kind", ["text", "tools"])
def test_grpo_gets_its_rewards_from_the_environment(tmp_path, kind):
    logs = [{k: float(v) for k, v in log.items() if k != "loss"} for log in train(tmp_path, kind) if "reward" in log]
    assert len(logs) == 2
    assert all(0 <= log["reward"] <= 1 for log in logs)
    if kind == "tools":  # the policy hardly solves these, but it calls, and the environment answers
        assert all(log["tools/call_frequency"] > 0.3 and "tools/failure_frequency" in log for log in logs)
    else:
        assert any(log["reward"] > 0 for log in logs) and any(log["reward_std"] > 0 for log in logs)


def test_sft_learns_from_conversations_with_tools_and_its_adapter_loads_elsewhere(tmp_path):
    losses = [float(log["loss"]) for log in train(tmp_path, "sft") if "loss" in log]
    assert len(losses) == 3 and all(0 < loss < 0.5 for loss in losses)
    from envs import load

    rows = load("sudoku").make_rows(24, blanks=(3, 4))
    plain = fresh_process.answers_in_new_process("tiny", None, rows, 40)
    tuned = fresh_process.answers_in_new_process("tiny", tmp_path / "adapter", rows, 40)
    assert len(plain) == len(tuned) == 24 and plain != tuned


def test_a_missing_adapter_is_said_so(tmp_path):
    with pytest.raises(RuntimeError, match="in a new process failed"):
        fresh_process.answers_in_new_process("tiny", tmp_path / "nothing", [], 8)


def test_the_demo_fails_with_an_exit_code_and_a_reason():
    done = subprocess.run(
        [sys.executable, "-m", "helpers.run.demo", "environment=chess"], cwd=ROOT, capture_output=True, text=True
    )
    assert done.returncode == 1 and "no environment called 'chess'" in done.stderr and "Traceback" not in done.stderr


def test_recorder_keeps_numbers_only(tmp_path):
    recorder = Recorder(tmp_path / "h.jsonl", 2)
    state = SimpleNamespace(global_step=1)
    recorder.on_train_begin(None, state, None)
    recorder.on_log(None, state, None, {"reward": "0.5", "note": "x", "loss": 1})
    recorder.on_step_end(None, state, None)
    assert recorder.rows == [{"step": 1, "reward": 0.5, "loss": 1.0}] and recorder.seconds >= 0
    assert json.loads((tmp_path / "h.jsonl").read_text()) == recorder.rows[0]


def test_spread_is_measured_inside_groups_and_unjudged_rewards_are_counted(tmp_path):
    recorder = Recorder(tmp_path / "h.jsonl", 2)
    rewards = iter([[1.0, 1.0, 0.0, 0.0], [1.0, 0.0, 1.0, 0.0], [None, None, 1.0, 0.0]])
    watched = recorder.watch(lambda completions, task, **_: next(rewards), group_size=2)
    seen = []
    for _ in range(3):
        assert len(watched(completions=["a"] * 4, task=["t"] * 4, trainer_state=None)) == 4
        seen.append((recorder.seen["group_spread"], recorder.seen["unjudged"]))
    assert seen == [(0.0, 0.0), (0.5, 0.0), (0.5, 0.5)]  # two dead groups spread nothing, whatever their mean


def watched_run(tmp_path, env, completions, rewards=None, steps=20, resume=0):
    """A recorder after `steps` steps in which `completions` answered the first row of `env`, as a trainer calls it."""
    row = env.make_rows(1)[0]
    columns = {name: [row[name]] * len(completions) for name in ("task", "task_id")}
    columns["prompts"] = [row["prompt"]] * len(completions)
    recorder = Recorder(tmp_path / "h.jsonl", 20)
    reward = recorder.watch(env.reward if rewards is None else lambda **_: rewards, len(completions), env)
    state = SimpleNamespace(global_step=resume)
    reward(completions=completions, trainer_state=state, **columns)  # a trial, before training
    recorder.on_train_begin(None, state, None)
    while state.global_step < steps:
        recorder.on_step_begin()
        reward(completions=completions, trainer_state=state, **columns)
        state.global_step += 1
        recorder.on_step_end(None, state, None)
        recorder.on_log(None, state, None, {"loss": 0.1, "reward": 0.5})
    return recorder, row


def test_completions_are_kept_on_the_way_with_what_was_read_out_of_them_and_the_verdict(tmp_path):
    from envs import load

    env = load("math")
    gold = env.answer(env.make_rows(1)[0])
    recorder, row = watched_run(tmp_path, env, ["", gold, [{"role": "assistant", "content": "\\boxed{-7}"}]])
    kept = recorder.samples
    assert [sample["step"] for sample in kept] == [step for step in range(1, 20, 2) for _ in "ab"]
    best, worst = kept[:2]
    assert best["messages"][-1]["content"] == gold and best["reward"] == 1.0
    assert best["reason"] == env.score(gold, row).reason
    assert best["extracted"] == json.loads(row["task"])["answer"] and best["prompt"] == row["prompt"]
    assert worst["messages"][-1]["content"] == "" and worst["reward"] == 0.0 and worst["extracted"] is None
    stored = [json.loads(line) for line in history.samples_path(tmp_path / "h.jsonl").read_text().splitlines()]
    assert stored == kept


def test_a_resumed_run_keeps_the_samples_up_to_its_checkpoint(tmp_path):
    from envs import load

    watched_run(tmp_path, load("sudoku"), ["a", "b"], steps=20)
    recorder, _ = watched_run(tmp_path, load("sudoku"), ["a", "b"], steps=12, resume=8)
    assert [sample["step"] for sample in recorder.samples] == [1, 3, 5, 7, 9, 11]  # one each: all rewards are alike
    assert [row["step"] for row in recorder.rows] == list(range(1, 13))


def test_a_group_without_a_verdict_is_kept_too(tmp_path):
    from envs import load

    recorder, _ = watched_run(tmp_path, load("sudoku"), ["a", "b"], rewards=[None, None], steps=1)
    assert [sample["reward"] for sample in recorder.samples] == [None]


def test_the_time_of_steps_and_of_their_rewards_is_logged(tmp_path):
    from envs import load

    recorder, _ = watched_run(tmp_path, load("sudoku"), ["a", "b"], steps=3)
    assert all(0 < row["reward_s"] <= row["step_s"] for row in recorder.rows) and len(recorder.rows) == 3


CARDS = {  # name, GiB, compute capability: the profile it gets
    ("Tesla T4", 14.6, (7, 5)): "t4", ("Tesla V100-SXM2-32GB", 31.7, (7, 0)): "t4",
    ("NVIDIA TITAN RTX", 23.6, (7, 5)): "t4", ("NVIDIA RTX A4000", 15.7, (8, 6)): "t4",
    ("NVIDIA L4", 22.0, (8, 9)): "l4", ("NVIDIA A10G", 22.1, (8, 6)): "l4",
    ("NVIDIA GeForce RTX 4090", 23.5, (8, 9)): "l4", ("NVIDIA L40S", 44.5, (8, 9)): "a100",
    ("NVIDIA A100-SXM4-40GB", 39.4, (8, 0)): "a100", ("NVIDIA A100-SXM4-80GB", 79.2, (8, 0)): "a100",
    ("NVIDIA A100-SXM4-40GB MIG 3g.20gb", 19.5, (8, 0)): "t4", ("NVIDIA H100 80GB HBM3", 79.1, (9, 0)): "h100",
    ("NVIDIA H200", 139.8, (9, 0)): "h200", ("NVIDIA B200", 178.0, (10, 0)): "h200",
    ("AMD Instinct MI300X", 191.5, (9, 4)): "h200",
}  # fmt: skip


def pretend(monkeypatch, *cards):
    import torch

    made = [SimpleNamespace(name=n, total_memory=int(gib * 2**30), major=c[0], minor=c[1]) for n, gib, c in cards]
    monkeypatch.setattr(torch.cuda, "is_available", lambda: bool(made))
    monkeypatch.setattr(torch.cuda, "device_count", lambda: len(made))
    monkeypatch.setattr(torch.cuda, "get_device_properties", made.__getitem__)


@pytest.mark.parametrize("card", CARDS, ids=lambda card: card[0])
def test_a_card_gets_the_largest_profile_that_fits_it(monkeypatch, capsys, card):
    pretend(monkeypatch, card)
    assert profiles.settings("auto").hardware == CARDS[card]
    assert not {"memory", "capability"} & set(vars(profiles.settings("auto")))


def test_of_two_cards_the_smaller_counts(monkeypatch, capsys):
    pretend(monkeypatch, ("NVIDIA H100 80GB HBM3", 79.1, (9, 0)), ("NVIDIA L4", 22.0, (8, 9)))
    assert profiles.settings("auto").hardware == "l4"


def test_a_card_below_every_profile_is_named(monkeypatch, capsys):
    pretend(monkeypatch, ("NVIDIA A100-SXM4-40GB MIG 1g.5gb", 4.75, (8, 0)))
    assert profiles.settings("auto").hardware == "t4"
    assert "MIG 1g.5gb (5 GiB, compute capability 8.0) is below every profile" in capsys.readouterr().out


def test_a_new_card_is_one_entry(monkeypatch, capsys):
    mine = profiles.PROFILES["h200"] | {"memory": 170, "capability": (10, 0)}
    monkeypatch.setitem(profiles.PROFILES, "b200", mine)
    pretend(monkeypatch, ("NVIDIA B200", 178.0, (10, 0)))
    assert profiles.settings("auto").hardware == "b200"
    names = "|".join(name for name in profiles.PROFILES if name != "cpu")
    for path in [*(ROOT / "helpers").rglob("*.py"), ROOT / "README.md", *(ROOT / "notebooks").glob("*.ipynb")]:
        text = path.read_text(encoding="utf-8")
        if path.suffix == ".ipynb":
            cells = json.loads(text)["cells"]
            text = "\n".join("".join(cell["source"]) for cell in cells)
        found = re.findall(rf"\b(?:{names})\b", text)
        assert not found or path.name == "profiles.py", f"{path.name} names {found[0]}: let profiles.py alone do so"


def test_both_ends_of_a_history_are_means_of_a_tenth():
    rows = [{"reward": float(step)} for step in range(40)]
    assert history.ends(rows, ["reward"]) == [
        {"part": "first tenth", "reward": 1.5}, {"part": "last tenth", "reward": 37.5},
    ]  # fmt: skip
    assert [end["reward"] for end in history.ends(rows[:3], ["reward"])] == [0.0, 2.0]


def test_an_environment_is_measured_with_its_tools_where_it_is_answered_by_them():
    from envs import NAMES, load

    cfg = profiles.settings("cpu", eval_samples=3)
    for name in NAMES:
        sampling = profiles.sampling(load(name), cfg, seed=5)
        limit = cfg.episode_tokens if name == "workplace" else cfg.max_tokens
        assert sampling == Sampling(seed=5, samples=3, max_tokens=limit, tools=name == "workplace")


# --- runs that fail ---


def test_the_runs_that_fail_are_real_runs_of_one_length_each_with_its_sign():
    failed = history.failed_runs()
    works, *runs = failed["runs"]
    assert works["name"] == "works" and len(runs) >= 3 and failed["made"]["steps"] >= 40
    for run in failed["runs"]:
        assert [row["step"] for row in run["history"]] == list(range(1, len(run["history"]) + 1))
        assert len(run["history"]) == failed["made"]["steps"] or run["ended"] != "as planned"
        assert all({"reward", "strict", run["sign"]} <= set(row) for row in run["history"])
    gain = {run["name"]: run["changes"]["sudoku"]["gain"] for run in failed["runs"]}
    assert gain["works"] == max(gain.values()) and works["changes"]["sudoku"]["ci95"][0] > 0


def test_the_lenient_reward_is_gamed():
    """The sign that the notebooks name: twice as much is paid as the strict verdict on the same answers gives, from the
    first step to the last, and less comes of it."""
    works, run = [run for run in history.failed_runs()["runs"] if run["name"] in ("works", "lenient_reward")]
    paid, strict = ([end[key] for end in history.ends(run["history"], [key])] for key in ("reward", "strict"))
    assert all(high > 1.8 * low > 0 for high, low in zip(paid, strict))
    assert run["changes"]["sudoku"]["gain"] < works["changes"]["sudoku"]["gain"]


def test_runs_that_fail_are_drawn_beside_the_one_that_works():
    from helpers.show import plots

    failed = history.failed_runs()
    panels = list(plots.what_fails(failed))
    plots.close(panels[0])
    assert len(panels) == 2 * (len(failed["runs"]) - 1) and all(len(axes.lines) == 2 for axes in panels)
    signs = [axes.get_title(loc="left").replace("\n", " ") for axes in panels[len(panels) // 2 :]]
    assert signs == [f"the sign: {run['says']}" for run in failed["runs"][1:]]


def test_gains_are_drawn_with_what_they_show():
    from helpers.show import plots

    def change(low, high):
        return {"gain": (low + high) / 2, "ci95": (low, high), "n": 9, "before": 0.5, "after": 0.6}

    axes = plots.gains({"up": change(0.1, 0.2), "down": change(-0.2, -0.1), "none": change(-0.1, 0.1)}, "a title")
    plots.close(axes)
    assert [label.get_text() for label in axes.get_yticklabels()] == ["up (n=9)", "down (n=9)", "none (n=9)"]
    colours = [line.get_color() for line in axes.lines[1::2]]
    assert colours == [plots.BLUE, plots.ORANGE, plots.GREY]

"""Training with the real trainers: rewards reach the model, tools are called, an adapter survives a new process."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from helpers import training

ROOT = Path(__file__).resolve().parents[1]

SCRIPT = """
import json, sys
from unsloth import FastLanguageModel
from datasets import Dataset
from trl import GRPOConfig, GRPOTrainer, SFTConfig, SFTTrainer
from pathlib import Path
from envs import load
from helpers import training
from helpers.policies import model_path

out, tools = Path(sys.argv[1]), sys.argv[2] == "tools"
env = load("sudoku")
cfg = training.settings("cpu", max_tokens=150 if tools else 48)
policy, tokenizer = FastLanguageModel.from_pretrained(
    model_path("tiny"), max_seq_length=cfg.max_seq_length, dtype=training.torch_dtype(cfg.dtype), load_in_4bit=False
)
policy = FastLanguageModel.get_peft_model(policy, r=16, lora_alpha=32, target_modules=training.LORA_TARGETS)
rows = env.make_rows(32, blanks=(1, 2), interactive=tools)
args = training.quiet_args(cfg, out)
if sys.argv[2] == "sft":
    data = Dataset.from_list(training.demonstrations(env, env.make_rows(32, blanks=(1, 2), interactive=True)))
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
    plain = training.answers_in_new_process("tiny", None, rows, 40)
    tuned = training.answers_in_new_process("tiny", tmp_path / "adapter", rows, 40)
    assert len(plain) == len(tuned) == 24 and plain != tuned


def test_a_missing_adapter_is_said_so(tmp_path):
    with pytest.raises(RuntimeError, match="in a new process failed"):
        training.answers_in_new_process("tiny", tmp_path / "nothing", [], 8)


def test_the_demo_fails_with_an_exit_code_and_a_reason():
    done = subprocess.run(
        [sys.executable, "-m", "helpers.demo", "environment=chess"], cwd=ROOT, capture_output=True, text=True
    )
    assert done.returncode == 1 and "no environment called 'chess'" in done.stderr and "Traceback" not in done.stderr


def test_recorder_keeps_numbers_only(tmp_path):
    from types import SimpleNamespace

    recorder = training.recorder(tmp_path / "h.jsonl", 2)
    state = SimpleNamespace(global_step=1)
    recorder.on_train_begin(None, state, None)
    recorder.on_log(None, state, None, {"reward": "0.5", "note": "x", "loss": 1})
    recorder.on_step_end(None, state, None)
    assert recorder.rows == [{"step": 1, "reward": 0.5, "loss": 1.0}] and recorder.seconds >= 0
    assert json.loads((tmp_path / "h.jsonl").read_text()) == recorder.rows[0]


def test_spread_is_measured_inside_groups_and_unjudged_rewards_are_counted(tmp_path):
    recorder = training.recorder(tmp_path / "h.jsonl", 2)
    rewards = iter([[1.0, 1.0, 0.0, 0.0], [1.0, 0.0, 1.0, 0.0], [None, None, 1.0, 0.0]])
    watched = recorder.watch(lambda completions, task, **_: next(rewards), group_size=2)
    seen = []
    for _ in range(3):
        assert len(watched(completions=["a"] * 4, task=["t"] * 4, trainer_state=None)) == 4
        seen.append((recorder.seen["group_spread"], recorder.seen["unjudged"]))
    assert seen == [(0.0, 0.0), (0.5, 0.0), (0.5, 0.5)]  # two dead groups spread nothing, whatever their mean

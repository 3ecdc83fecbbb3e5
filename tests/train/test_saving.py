"""Checkpoints and saved models: a killed run goes on where it was, and a saved model says what it is."""

import json
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import pytest

from helpers.here import ROOT
from helpers.train import saving
from helpers.train.recording import HeldOut, Recorder

SCRIPT = """
import json, sys
from pathlib import Path
from unsloth import FastLanguageModel
from datasets import Dataset
from trl import GRPOConfig, GRPOTrainer
from envs import load
from helpers.train import profiles, saving
from helpers.train.recording import Recorder
from helpers.rollout.policies import model_path

out, env = Path(sys.argv[1]), load("sudoku")
cfg = profiles.settings("cpu", prompts_per_step=4, group_size=8, grpo_steps=10, max_tokens=40)
policy, tokenizer = FastLanguageModel.from_pretrained(model_path("tiny"), **profiles.load_args(cfg))
policy = FastLanguageModel.get_peft_model(
    policy, r=cfg.lora_rank, lora_alpha=32, target_modules=profiles.LORA_TARGETS, random_state=0
)
rows = env.make_rows(40, blanks=(1, 2))

def run(learning_rate):
    recorder = Recorder(out / "history.jsonl", cfg.grpo_steps)
    trainer = GRPOTrainer(
        model=policy, processing_class=tokenizer, train_dataset=Dataset.from_list(rows), callbacks=[recorder],
        reward_funcs=[recorder.watch(env.reward, cfg.group_size)],
        args=GRPOConfig(learning_rate=learning_rate, seed=1, **profiles.shape(cfg, len(rows)),
                        **profiles.objective("dapo"), **profiles.quiet_args(cfg, out, save_steps=2)),
    )
    return trainer, recorder

trainer, recorder = run(1e-3)
point = saving.resume_point(trainer)
facts = {"point": point, "folder": trainer.args.output_dir}
if point:
    facts["other settings"] = saving.resume_point(run(2e-3)[0])
trainer.train(resume_from_checkpoint=point)
facts |= {"step": trainer.state.global_step, "rows": recorder.rows}
facts["drift"] = sum(float(w.abs().sum()) for n, w in policy.named_parameters() if "lora_B" in n)
policy.save_pretrained(str(out / "adapter"))
print("FACTS" + json.dumps(facts))
"""


def start(out: Path) -> subprocess.Popen:
    with (out / "log.txt").open("w") as log:
        return subprocess.Popen([sys.executable, "-c", SCRIPT, str(out)], cwd=ROOT, stdout=log, stderr=log)


def facts_of(out: Path) -> dict:
    line = next(line for line in (out / "log.txt").read_text().split("\n") if line.startswith("FACTS"))
    return json.loads(line.removeprefix("FACTS"))


def weights(folder: Path) -> dict:
    from safetensors.torch import load_file

    return load_file(folder / "adapter_model.safetensors")


@pytest.fixture(scope="module")
def resumed(tmp_path_factory):
    """Folder and facts of a run that was killed after its second checkpoint and started again."""
    out = tmp_path_factory.mktemp("killed")
    process = start(out)
    deadline = time.monotonic() + 900
    while not list(out.glob("trainer/*/checkpoint-4/trainer_state.json")):
        assert process.poll() is None and time.monotonic() < deadline, (out / "log.txt").read_text()[-3000:]
        time.sleep(0.02)
    process.send_signal(signal.SIGKILL)
    assert process.wait() == -signal.SIGKILL
    left = {"checkpoints": sorted(path.name for path in out.glob("trainer/*/checkpoint-*"))}
    left["saved"] = {name: value.clone() for name, value in weights(next(out.glob("trainer/*/checkpoint-4"))).items()}
    assert start(out).wait(900) == 0, (out / "log.txt").read_text()[-3000:]
    return out, left, facts_of(out), (out / "log.txt").read_text()


def test_a_killed_run_goes_on_from_its_last_checkpoint_to_the_same_step_count(resumed):
    out, _, facts, said = resumed
    assert facts["point"].endswith("checkpoint-4") or facts["point"].endswith("checkpoint-6")
    assert facts["step"] == 10 and "going on after step" in said
    assert [row["step"] for row in facts["rows"]] == list(range(1, 11))  # none lost, none doubled
    history = [json.loads(line) for line in (out / "history.jsonl").read_text().splitlines()]
    assert history == facts["rows"]


def test_a_resumed_run_starts_from_what_was_learned_and_goes_on_learning(resumed):
    out, left, facts, _ = resumed
    after = weights(out / "adapter")
    learned = [name for name in after if "lora_B" in name]
    assert any(left["saved"][name].abs().sum() > 0 for name in learned)
    moved = sum((after[name] - left["saved"][name]).abs().sum().item() for name in learned)
    whole = sum(after[name].abs().sum().item() for name in learned)
    assert 0 < moved < 1.5 * whole  # it moved on from the checkpoint, it did not begin again elsewhere
    assert any(row["grad_norm"] > 0 for row in facts["rows"][6:])


def test_other_settings_never_take_up_a_checkpoint(resumed):
    assert resumed[2]["other settings"] is None


def test_a_run_that_ended_begins_anew_and_a_half_written_checkpoint_is_passed_over(tmp_path, capsys):
    def trainer():
        args = SimpleNamespace(output_dir=str(tmp_path), max_steps=10, to_dict=lambda: {"seed": 1, "output_dir": "x"})
        model = SimpleNamespace(config=SimpleNamespace(name_or_path="m"), named_parameters=lambda: [])
        return SimpleNamespace(args=args, model=model, train_dataset=[{"task": "t"}], add_callback=callbacks.append)

    callbacks = []
    made = trainer()
    assert saving.resume_point(made) is None
    folder = Path(made.args.output_dir)
    for step, state in ((2, '{"global_step": 2}'), (4, '{"global_'), (6, None)):
        (folder / f"checkpoint-{step}").mkdir(parents=True)
        if state:
            (folder / f"checkpoint-{step}" / "trainer_state.json").write_text(state)
    assert saving.resume_point(trainer()) == str(folder / "checkpoint-2")
    assert "going on after step 2 of 10" in capsys.readouterr().out
    callbacks[-1].on_train_end(None, None, None)
    assert saving.resume_point(trainer()) is None and not list(folder.glob("checkpoint-*"))


# --- early stop ---


def held_out_run(tmp_path, values, every=2, steps=40):
    """Steps taken by a recorder whose held-out reward takes `values` in turn."""
    recorder = Recorder(tmp_path / "h.jsonl", steps)
    left = iter(values)
    held_out = HeldOut(recorder, lambda: next(left), every=every, patience=3, min_gain=0.01)
    state, control = SimpleNamespace(global_step=0, max_steps=steps), SimpleNamespace(should_training_stop=False)
    recorder.on_train_begin(None, state, control)
    while not control.should_training_stop and state.global_step < steps:
        state.global_step += 1
        recorder.on_step_end(None, state, control)
        held_out.on_step_end(None, state, control)
        recorder.on_log(None, state, control, {"loss": 0.1, "reward": 0.5})
    return recorder, state.global_step


def test_a_run_stops_when_the_held_out_reward_no_longer_rises(tmp_path, capsys):
    recorder, last = held_out_run(tmp_path, [0.2, 0.4, 0.5, 0.5, 0.49, 0.505, 0.6, 0.7])
    assert last == 12 and "stopped at step 12, held-out reward no longer rises" in capsys.readouterr().out
    seen = {row["step"]: row["held_out"] for row in recorder.rows if "held_out" in row}
    assert seen == {2: 0.2, 4: 0.4, 6: 0.5, 8: 0.5, 10: 0.49, 12: 0.505}


def test_a_run_that_still_rises_goes_to_its_end(tmp_path):
    assert held_out_run(tmp_path, [n / 20 for n in range(20)])[1] == 40


def test_a_run_at_its_last_step_is_done_and_not_stopped(tmp_path, capsys):
    assert held_out_run(tmp_path, [0.5, 0.5, 0.5, 0.5], steps=8)[1] == 8
    assert "stopped" not in capsys.readouterr().out


def test_a_resumed_run_remembers_its_held_out_rewards(tmp_path):
    held_out_run(tmp_path, [0.5, 0.5, 0.5, 0.5], steps=6)
    recorder = Recorder(tmp_path / "h.jsonl", 40)
    held_out = HeldOut(recorder, lambda: 0.5, every=2)
    state, control = SimpleNamespace(global_step=6, max_steps=40), SimpleNamespace(should_training_stop=False)
    recorder.on_train_begin(None, state, control)
    assert [row["step"] for row in recorder.rows] == [1, 2, 3, 4, 5, 6]
    state.global_step = 8
    held_out.on_step_end(None, state, control)
    assert control.should_training_stop


# --- models ---

SUMMARY = {"pass_at_1": 0.25, "ci95": (0.2, 0.3), "n": 192, "samples": 4}
CARD = {
    "base": "Qwen/Qwen2.5-1.5B-Instruct", "environment": "sudoku", "data": "1,600 puzzles, split train, seed 0",
    "reward": "1 for a solved puzzle, else 0", "training": {"algorithm": "dapo", "steps": 200},
    "versions": {"trl": "1.15.0"}, "before": SUMMARY, "after": SUMMARY | {"pass_at_1": 0.5625},
}  # fmt: skip


class Model:
    """Stands in for a policy where only the files around it matter."""

    def save_pretrained(self, folder, **_):
        Path(folder).mkdir(parents=True, exist_ok=True)

    def save_pretrained_merged(self, folder, tokenizer, save_method):
        Path(folder).mkdir(parents=True, exist_ok=True)


@pytest.fixture
def hub(monkeypatch):
    """The calls that reach the Hub."""
    import huggingface_hub

    calls = []

    class Api:
        def __init__(self, token):
            calls.append(("token", token))

        def create_repo(self, name, **_):
            calls.append(("create", name))

        def upload_folder(self, folder_path, repo_id):
            calls.append(("upload", repo_id, sorted(path.name for path in Path(folder_path).iterdir())))

    monkeypatch.setattr(huggingface_hub, "HfApi", Api)
    return calls


def test_nothing_is_pushed_unless_asked(tmp_path, hub, monkeypatch):
    monkeypatch.setenv("HF_TOKEN", "hf_secret")
    saving.save_model(Model(), Model(), tmp_path, CARD)
    assert hub == []


def test_a_push_without_a_token_is_refused_before_anything_is_saved(tmp_path, hub, monkeypatch):
    monkeypatch.delenv("HF_TOKEN", raising=False)
    with pytest.raises(ValueError, match="HF_TOKEN"):
        saving.save_model(Model(), Model(), tmp_path, CARD, push_to="me/model")
    assert hub == [] and not list(tmp_path.iterdir())


def test_a_push_takes_the_token_from_the_environment_and_leaves_it_nowhere(tmp_path, hub, monkeypatch, capsys):
    monkeypatch.setenv("HF_TOKEN", "hf_secret")
    saved = saving.save_model(Model(), Model(), tmp_path, CARD, push_to="me/model")
    assert hub == [("token", "hf_secret"), ("create", "me/model"), ("upload", "me/model", ["README.md"])]
    assert saved["pushed"] == "me/model" and "hf_secret" not in capsys.readouterr().out
    assert all("hf_secret" not in path.read_text() for path in tmp_path.rglob("*") if path.is_file())


def test_the_card_says_data_reward_versions_and_before_and_after():
    card = saving.model_card(**CARD)
    facts = ("1,600 puzzles, split train", "1 for a solved puzzle", "trl 1.15.0", "- steps: 200")
    for part in (*facts, "| before | 0.250 | 0.200 to 0.300 | 192 | 4 |", "| after | 0.562 |"):
        assert part in card
    import yaml

    head = yaml.safe_load(card.split("---\n")[1])
    assert head["base_model"] == "Qwen/Qwen2.5-1.5B-Instruct" and head["library_name"] == "transformers"

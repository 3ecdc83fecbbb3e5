"""Checks around training, on real trainers and the embedded policy: what they let pass, and what they refuse."""

import json
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from envs import load
from helpers.here import ROOT
from helpers.rollout.policies import OraclePolicy, RandomPolicy
from helpers.rollout.rollouts import Sampling, rollout
from helpers.tasks import selection
from helpers.tiny_policy import PATH as TINY
from helpers.train import guards, profiles
from helpers.train.recording import Recorder

sudoku = load("sudoku")

# One process trains everything that the tests below look at: importing Unsloth takes longer than the training.
SCRIPT = """
import json, sys
from pathlib import Path
from unsloth import FastLanguageModel
import torch
from datasets import Dataset
from transformers import TrainerCallback
from trl import GRPOConfig, GRPOTrainer
from envs import load
from helpers.train import guards, profiles, saving
from helpers.train.recording import HeldOut, Recorder
from helpers.rollout.policies import LocalPolicy, model_path
from helpers.rollout.rollouts import rollout

out, facts = Path(sys.argv[1]), {}
env = load("sudoku")
cfg = profiles.settings("cpu", prompts_per_step=2, group_size=4, batch_size=4, grpo_steps=2, max_tokens=40)
policy, tokenizer = FastLanguageModel.from_pretrained(model_path("tiny"), **profiles.load_args(cfg))
policy = FastLanguageModel.get_peft_model(policy, r=cfg.lora_rank, lora_alpha=32, target_modules=profiles.LORA_TARGETS)
rows = Dataset.from_list(env.make_rows(8, blanks=(1, 2)))

def trainer(name, kl=0.0, reward=env.reward, **changes):
    recorder = Recorder(out / f"{name}.jsonl", cfg.grpo_steps)
    args = profiles.shape(cfg, len(rows)) | profiles.objective(name, kl) | profiles.quiet_args(cfg, out) | changes
    made = GRPOTrainer(
        model=policy, processing_class=tokenizer, train_dataset=rows, callbacks=[recorder],
        reward_funcs=[recorder.watch(reward, cfg.group_size)], args=GRPOConfig(learning_rate=3e-3, seed=1, **args),
    )
    return made, recorder

def refusal(action):
    try:
        action()
    except (RuntimeError, FloatingPointError) as error:
        return str(error)

for name, kl in [("grpo", 0.0), ("dr_grpo", 0.0), ("dapo", 0.0), ("gspo", 0.0)]:
    made, recorder = trainer(name, kl)
    guards.before_training(made, env, cfg)
    made.train()
    facts[name] = {"rows": recorder.rows} | {
        key: getattr(made.args, key) for key in (*profiles.objective(name), "gradient_accumulation_steps")
    }

facts["pays all"] = refusal(
    lambda: guards.check_reward(trainer("grpo", reward=lambda completions, **_: [1.0] * len(completions))[0], env)
)
facts["unjudged"] = refusal(
    lambda: guards.check_reward(trainer("grpo", reward=lambda completions, **_: [None] * len(completions))[0], env)
)
saving.save_model(policy, tokenizer, out, card={
    "base": "tiny", "environment": "sudoku", "data": "8 rows", "reward": "solved", "training": {"steps": 8},
    "versions": {"trl": "1"},
    "after": (s := {"pass_at_1": 0.25, "ci95": (0.2, 0.3), "n": 8, "samples": 4}), "before": s,
}, gguf="q8_0")
few = env.make_rows(24, blanks=(3, 4))
facts["differ"] = guards.check_learned(policy, tokenizer, few, cfg, out / "adapter", out / "model")

calls = Dataset.from_list(env.make_rows(8, blanks=(1, 2), interactive=True))
made = GRPOTrainer(
    model=policy, processing_class=tokenizer, train_dataset=calls, environment_factory=env.ENV,
    args=GRPOConfig(**profiles.shape(cfg, 8), **profiles.objective("grpo"), **profiles.quiet_args(cfg, out)),
)
watcher = Recorder(out / "tools.jsonl", cfg.grpo_steps)
made.reward_funcs = [watcher.watch(reward, cfg.group_size) for reward in made.reward_funcs]
facts["tools"] = refusal(lambda: guards.before_training(made, env, cfg))
facts["watched tools"] = watcher.seen
class Generous(env.ENV):
    def get_reward(self):
        return 1.0
made = GRPOTrainer(
    model=policy, processing_class=tokenizer, train_dataset=calls, environment_factory=Generous,
    args=GRPOConfig(**profiles.shape(cfg, 8), **profiles.objective("grpo"), **profiles.quiet_args(cfg, out)),
)
facts["generous"] = refusal(lambda: guards.check_reward(made, env))

made, recorder = trainer("dapo", 0.05)
made.train()
facts["kl"] = recorder.rows

made, recorder = trainer("grpo", max_steps=6)
measure = lambda: sum(e["reward"] for e in rollout(env, few, LocalPolicy(policy, tokenizer), name="x", quiet=True)) / 24
made.add_callback(HeldOut(recorder, measure, every=1, patience=1, min_gain=2.0))
made.train()
facts["held out"] = {"step": made.state.global_step, "rows": recorder.rows}

class Poison(TrainerCallback):
    def on_step_begin(self, args, state, control, **_):
        if state.global_step == 1:
            weight = next(w for n, w in policy.named_parameters() if "lora_B" in n)
            weight.register_hook(lambda grad: grad * float("nan"))

made, _ = trainer("grpo")
made.add_callback(Poison())
facts["nan gradient"] = refusal(made.train)
next(w for n, w in policy.named_parameters() if "lora_B" in n).data[0, 0] = float("nan")
facts["nan logits"] = refusal(trainer("grpo")[0].train)
(out / "facts.json").write_text(json.dumps(facts))
"""


@pytest.fixture(scope="module")
def facts(tmp_path_factory):
    out = tmp_path_factory.mktemp("guards")
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, str(out)], cwd=ROOT, capture_output=True, text=True, timeout=900
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads((out / "facts.json").read_text()) | {"out": out, "printed": done.stdout}


# --- objectives ---


def test_each_algorithm_reaches_the_trainer_as_it_was_asked_for(facts):
    wanted = {
        "grpo": ("grpo", "group", 0.2, 0.2, "token"),
        "dr_grpo": ("dr_grpo", "none", 0.2, 0.2, "token"),
        "dapo": ("dapo", "group", 0.2, 0.28, "token"),
        "gspo": ("grpo", "group", 3e-4, 4e-4, "sequence"),
    }
    keys = ("loss_type", "scale_rewards", "epsilon", "epsilon_high", "importance_sampling_level")
    for name, values in wanted.items():
        assert tuple(facts[name][key] for key in keys) == values
        assert facts[name]["beta"] == 0 and facts[name]["mask_truncated_completions"] is True
        assert facts[name]["gradient_accumulation_steps"] == 2  # 8 completions in passes of 4
        rows = facts[name]["rows"]
        assert [row["step"] for row in rows] == [1, 2] and any(row["grad_norm"] > 0 for row in rows)


def test_the_kl_term_is_there_only_where_it_is_asked_for(facts):
    assert all("kl" not in row for row in facts["grpo"]["rows"])
    assert all("kl" in row for row in facts["kl"]) and facts["kl"][-1]["kl"] > 0


def test_what_is_drawn_beside_the_reward_is_logged(facts):
    watched = {"reward_std", "group_spread", "dead_groups", "completions/clipped_ratio", "unjudged"}
    assert all(watched <= set(row) for row in facts["dapo"]["rows"])
    assert all(0 < row["reward_s"] < row["step_s"] for row in facts["dapo"]["rows"])


def test_held_out_tasks_are_measured_on_the_way_and_end_the_run(facts):
    assert facts["held out"]["step"] == 2  # of six: nothing gains 2.0
    assert [0 <= row["held_out"] <= 1 for row in facts["held out"]["rows"]] == [True, True]
    assert all({"reward", "entropy", "grad_norm"} <= set(row) for row in facts["held out"]["rows"])


def test_what_is_logged_is_drawn(facts):
    from helpers.show import plots

    panels = list(plots.training(facts["held out"]["rows"], "a title"))
    plots.close(panels[0])
    assert [axes.get_ylabel() for axes in panels] == [
        "mean reward", "spread of the reward", "tokens in an answer", "dead groups (share)",
        "entropy (nats a token)", "lost answers (share)",
    ]  # fmt: skip
    assert all(axes.lines for axes in panels) and "held out" in panels[0].get_legend_handles_labels()[1]
    assert panels[0].collections  # the band
    pulled = list(plots.training(facts["kl"], "a title"))
    plots.close(pulled[0])
    assert pulled[4].get_ylabel() == "KL to the start" and pulled[4].lines


@pytest.mark.parametrize("name, kl, says", [("ppo", 0, "one of grpo, dr_grpo, dapo, gspo"), ("grpo", -1, "kl must be")])
def test_an_unknown_algorithm_is_refused(name, kl, says):
    with pytest.raises(ValueError, match=says):
        profiles.objective(name, kl)


# --- the reward path ---


def test_a_reward_path_that_pays_anything_or_nothing_is_refused(facts):
    assert "'I do not know.' earned 1, expected 0" in facts["pays all"]
    assert "the gold answer earned 0, expected 1" in facts["unjudged"]


def test_the_reward_path_of_tools_is_played_through_the_environment(facts):
    assert facts["tools"] is None and facts["watched tools"]["unjudged"] == 0
    assert "'I do not know.' earned 1, expected 0" in facts["generous"]


# --- sizes ---


def config(**changes):
    sizes = {"per_device_train_batch_size": 16, "gradient_accumulation_steps": 4, "world_size": 1, "num_generations": 8,
             "generation_batch_size": 64, "max_steps": 200, "max_completion_length": 64}  # fmt: skip
    return SimpleNamespace(**sizes | changes)


def test_sizes_that_the_trainer_changed_are_named(capsys):
    cfg = profiles.settings("cpu")
    guards.check_shape(config(), cfg)
    for changes, says in [
        ({"per_device_train_batch_size": 8}, "completions a step: expected 64, found 32"),
        ({"num_generations": 4}, "completions a prompt: expected 8, found 4"),
        ({"world_size": 2}, "completions a step: expected 64, found 128"),
        ({"generation_batch_size": 32}, "completions generated at once: expected 64, found 32"),
        ({"max_completion_length": 256}, "tokens in a completion: expected 64, found 256"),
    ]:
        with pytest.raises(RuntimeError, match=says):
            guards.check_shape(config(**changes), cfg)


@pytest.mark.parametrize(
    "wrong, says",
    [
        ({"group_size": 1}, "group_size must be at least 2"),
        ({"batch_size": 24}, "does not divide the 64 completions of a step .* nearest that does is 32|16"),
        ({"max_tokens": 512}, "leaves no room for a prompt"),
        ({"fast_inference": True}, "vLLM needs a GPU"),
        ({"gpu_memory_utilization": 1.5}, "between 0 and 1"),
    ],
)
def test_sizes_that_cannot_work_are_refused_before_a_model_is_loaded(wrong, says):
    with pytest.raises(ValueError, match=says):
        profiles.settings("cpu", **wrong)


def test_the_shape_is_printed_and_too_few_rows_are_refused(capsys, monkeypatch):
    cfg = profiles.settings("t4", grpo_steps=10)
    assert profiles.shape(cfg, 40)["gradient_accumulation_steps"] == 4
    said = capsys.readouterr().out
    assert "4 prompts x 8 completions = 32, in 4 passes of 8; 10 optimizer steps take 40 prompts, 1.0 times" in said
    with pytest.raises(ValueError, match="takes 4 prompts, there are only 3 rows"):
        profiles.shape(cfg, 3)


def test_several_processes_share_the_prompts_of_a_step(capsys, monkeypatch):
    cfg = profiles.settings("t4", grpo_steps=10)
    alone = profiles.shape(cfg, 40)
    monkeypatch.setenv("WORLD_SIZE", "2")
    shared = profiles.shape(cfg, 40)
    assert "in 2 passes of 8 on each of 2 processes" in capsys.readouterr().out
    per_step = ("per_device_train_batch_size", "gradient_accumulation_steps")
    assert [alone[key] for key in per_step] == [8, 4] and [shared[key] for key in per_step] == [8, 2]
    monkeypatch.setenv("WORLD_SIZE", "3")
    with pytest.raises(ValueError, match=r"prompts_per_step=4 cannot be shared evenly among 3 processes.* such as 3"):
        profiles.shape(cfg, 40)


def test_a_vllm_server_generates_where_one_is_named(capsys, monkeypatch):
    monkeypatch.setattr(profiles, "find_spec", lambda name: "there")
    alone = profiles.settings("a100")
    assert profiles.shape(alone, 1600)["use_vllm"] is True and "vllm_mode" not in profiles.shape(alone, 1600)
    monkeypatch.setenv("VLLM_SERVER", "http://localhost:8000")
    cfg = profiles.settings("a100")
    assert "off: the vLLM server at http://localhost:8000 generates" in capsys.readouterr().out
    assert "fast_inference" not in profiles.load_args(cfg)  # no second engine in this process
    shape = profiles.shape(cfg, 1600)
    assert shape["use_vllm"] is True and shape["vllm_mode"] == "server"
    assert shape["vllm_server_base_url"] == "http://localhost:8000"
    assert profiles.shape(profiles.settings("cpu"), 1600)["use_vllm"] is False  # it takes weights from GPUs only


def test_fast_inference_is_off_with_a_reason_where_it_cannot_run(capsys, monkeypatch):
    monkeypatch.setattr(profiles, "find_spec", lambda name: None)
    assert profiles.settings("a100").fast_inference is False
    assert "off: vllm is not installed" in capsys.readouterr().out
    monkeypatch.setattr(profiles, "find_spec", lambda name: None if name == "vllm_bnb_plugin" else True)
    assert profiles.settings("a100").fast_inference is True and profiles.settings("l4").fast_inference is False
    args = profiles.load_args(profiles.settings("a100"))
    assert args["fast_inference"] is True and args["max_lora_rank"] == 16 and args["gpu_memory_utilization"] == 0.5


# --- broken numbers ---


def test_a_run_whose_numbers_break_stops_and_names_step_and_dtype(facts):
    assert facts["nan gradient"].startswith("step 2: the gradient is not a finite number (trained weights in ")
    assert facts["nan logits"].startswith("step 1: a logit is not a finite number (trained weights in ")
    assert all("float32" in facts[k] and "lower the learning rate" in facts[k] for k in ("nan gradient", "nan logits"))


def test_a_loss_that_is_nan_stops_the_run(tmp_path):
    recorder = Recorder(tmp_path / "h.jsonl", 4)
    state, args = SimpleNamespace(global_step=0), SimpleNamespace(bf16=True, fp16=False, use_cpu=False)
    recorder.on_train_begin(args, state, None)
    state.global_step = 3
    with pytest.raises(FloatingPointError, match=r"step 3: the loss is not a finite number .* computed in bfloat16"):
        recorder.on_log(args, state, None, {"loss": float("nan"), "reward": 0.5})


# --- after training ---


def test_a_trained_model_differs_in_memory_from_disk_and_merged(facts):
    assert set(facts["differ"]) == {"in memory", "adapter", "merged"} and all(facts["differ"].values())


def test_every_form_is_saved_with_a_card_and_gguf_only_where_its_tools_are(facts):
    out = facts["out"]
    assert (out / "adapter" / "adapter_model.safetensors").is_file() and (out / "model" / "model.safetensors").is_file()
    assert all("trl 1" in (out / folder / "README.md").read_text() for folder in ("adapter", "model"))
    assert "gguf     not written: llama.cpp" in facts["printed"] or list((out / "gguf").glob("*.gguf"))


def test_a_model_that_learned_nothing_is_found_out(monkeypatch):
    class Still:
        def generate(self, prompts, **_):
            return [{"content": "same"} for _ in prompts]

    class Policy:
        def disable_adapter(self):
            from contextlib import nullcontext

            return nullcontext()

    monkeypatch.setattr(guards, "LocalPolicy", lambda *_: Still())
    monkeypatch.setattr(guards, "answers_in_new_process", lambda base, adapter, *_: ["other" if adapter else "same"])
    rows, cfg = sudoku.make_rows(1), profiles.settings("cpu", grpo_steps=40)
    with pytest.raises(RuntimeError, match=r"like the base model \(in memory, merged\)"):
        guards.check_learned(Policy(), None, rows, cfg, "adapter", "model")
    cfg.grpo_steps = 5  # so short a run may change nothing
    assert guards.check_learned(Policy(), None, rows, cfg, "adapter", "model")["adapter"] == 1


# --- versions ---


def test_the_pins_are_read_from_both_locks():
    for gpu in (False, True):
        pins = guards.lock(gpu)
        assert set(guards.CORE) <= set(pins) and all(version[0].isdigit() for version in pins.values())


def test_other_versions_are_named_with_expected_and_found(monkeypatch):
    pins = guards.lock(False)
    assert not [name for name, *_ in guards.differences(pins) if name in guards.CORE]  # this environment is as pinned
    changed = pins | {"trl": "0.1", "wcwidth": "0.0"}
    assert ("trl", "0.1", pins["trl"]) in guards.differences(changed)
    assert guards.differences({"no-such-package": "1"}) == [("no-such-package", "1", "missing")]
    monkeypatch.setattr(guards, "lock", lambda gpu: changed)
    with pytest.raises(RuntimeError, match=rf"trl: expected 0.1, found {pins['trl']}.*make setup"):
        guards.check_versions()


# --- chat templates ---

# What Qwen3's template does: the reasoning of a turn is rendered only while no later turn stands behind it.
FORGETFUL = """{%- for m in messages -%}
<|im_start|>{{ m.role }}
{% if m.role == 'assistant' and loop.last %}<think>
{{ m.reasoning_content or '' }}
</think>
{% endif %}{{ m.content }}{% for c in m.tool_calls or [] %}<tool_call>
{{ c.function | tojson }}
</tool_call>{% endfor %}<|im_end|>
{% endfor -%}
{%- if add_generation_prompt %}<|im_start|>assistant
{% endif %}"""
# The same, but only from the third turn on: two turns alone do not show it.
LATE = FORGETFUL.replace("and loop.last", "and (messages | length < 4 or loop.last)")
TOOLS = [sudoku.ENV().place, sudoku.ENV().submit]


def tokenizer(template=None):
    from transformers import AutoTokenizer

    made = AutoTokenizer.from_pretrained(TINY)
    if template is not None:
        made.chat_template = template
    return made


def test_the_embedded_policys_template_bears_three_turns(capsys):
    guards.check_template(tokenizer(), TOOLS)
    assert "three turns" in capsys.readouterr().out


@pytest.mark.parametrize("template", [FORGETFUL, LATE], ids=["forgetful", "forgetful later"])
def test_a_template_that_drops_earlier_reasoning_is_refused_with_a_remedy(template):
    with pytest.raises(ValueError, match=r"not prefix-preserving: .*assistant turn.* Set tokenizer.chat_template"):
        guards.check_template(tokenizer(template), TOOLS)


def test_a_template_without_tools_is_refused():
    plain = "{% for m in messages %}{{ m.role }}: {{ m.content }}\n{% endfor %}"
    with pytest.raises(ValueError, match="does not render tool calls"):
        guards.check_template(tokenizer(plain), TOOLS)


def test_what_trl_ships_is_accepted_exactly_where_trl_can_train_on_it():
    from trl import chat_template_utils as trl

    verdicts = {}
    for path in sorted((Path(trl.__file__).parent / "chat_templates").glob("*.jinja")):
        made = tokenizer(path.read_text(encoding="utf-8"))
        made.response_template = None
        try:
            allowed = trl.supports_tool_calling(made)
            if allowed and not trl.is_chat_template_prefix_preserving(made):
                trl.get_training_chat_template(made)
            trl.add_response_schema(made)
        except ValueError:
            allowed = False
        made.response_template = None
        try:
            guards.check_template(made, TOOLS)
            accepted = True
        except ValueError:
            accepted = False
        verdicts[path.stem] = (allowed, accepted)
    assert {name for name, (allowed, accepted) in verdicts.items() if allowed != accepted} == set()
    assert verdicts["qwen2_5"] == verdicts["qwen3"] == (True, True) and verdicts["phi3"] == (False, False)


# --- rows ---


def test_prompts_that_leave_no_room_are_dropped_with_a_count(capsys):
    rows = sudoku.make_rows(4) + sudoku.make_rows(3, size=9)
    cfg = SimpleNamespace(max_seq_length=200, max_tokens=80)
    kept = selection.fitting(sudoku, rows, tokenizer(), cfg)
    assert kept == rows[:4] and "dropped 3 of 7 rows: prompts of more than 120 tokens" in capsys.readouterr().out
    assert selection.fitting(sudoku, rows[:4], tokenizer(), cfg) == rows[:4] and capsys.readouterr().out == ""
    with pytest.raises(ValueError, match="all 3 prompts are longer than 120 tokens"):
        selection.fitting(sudoku, rows[4:], tokenizer(), cfg)


def test_tools_count_as_part_of_the_prompt():
    rows = sudoku.make_rows(4, interactive=True)
    bare = len(tokenizer().apply_chat_template(rows[0]["prompt"], add_generation_prompt=True, return_dict=False))
    cfg = SimpleNamespace(max_seq_length=bare + 12, max_tokens=10)
    assert len(selection.fitting(sudoku, rows, tokenizer(), cfg)) == 4
    with pytest.raises(ValueError, match="all 4 prompts"):
        selection.fitting(sudoku, rows, tokenizer(), cfg, tools=True)


def test_a_curriculum_goes_from_easy_to_hard_and_leaves_dead_rows_out(capsys):
    rows = sudoku.make_rows(5)
    right = {0: 4, 1: 1, 2: 0, 3: 3, 4: 2}  # of four samples
    episodes = [
        {"task_id": row["task_id"], "reward": float(sample < right[at])}
        for at, row in enumerate(rows)
        for sample in range(4)
    ]
    assert selection.curriculum(rows, episodes) == [rows[3], rows[4], rows[1]]
    assert "3 of 5 rows to learn from; 1 never solved, 1 always solved" in capsys.readouterr().out


def test_a_curriculum_of_nothing_is_refused():
    rows = sudoku.make_rows(3)
    gold = rollout(sudoku, rows, OraclePolicy(sudoku, rows), Sampling(samples=2), name="gold", quiet=True)
    with pytest.raises(ValueError, match="no row was solved now and then"):
        selection.curriculum(rows, gold)
    others = sudoku.make_rows(1, seed=99)
    chance = rollout(sudoku, rows, RandomPolicy(sudoku, rows), name="random", quiet=True)
    with pytest.raises(ValueError, match="1 of 4 rows have no judged rollout"):
        selection.curriculum(rows + others, chance)

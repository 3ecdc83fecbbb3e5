"""What the training notebooks share around Unsloth and TRL: sizes, rows, records, and proof that it worked."""

import difflib
import json
import os
import subprocess
import sys
import time
from pathlib import Path
from statistics import pstdev
from types import SimpleNamespace

from helpers.policies import ROOT, model_path
from helpers.rollouts import Progress, tools_of

# One dial: what fits the machine. A notebook's parameter left None takes the value from here.
_GPU = {
    "model": "Qwen/Qwen2.5-1.5B-Instruct", "dtype": "bfloat16", "load_in_4bit": False, "max_seq_length": 2048,
    "max_tokens": 512, "gradient_checkpointing": "unsloth", "optim": "adamw_8bit",
    "sft_steps": 30, "sft_batch_size": 16, "sft_learning_rate": 2e-4,
    "grpo_steps": 200, "prompts_per_step": 8, "group_size": 8, "grpo_learning_rate": 1e-5,
    "eval_rows": 192, "eval_samples": 4,
}  # fmt: skip
PROFILES = {
    "cpu": _GPU | {
        "model": "tiny", "dtype": "float32", "max_seq_length": 512, "max_tokens": 48,
        "gradient_checkpointing": False, "optim": "adamw_torch",
        "sft_steps": 12, "sft_batch_size": 64, "sft_learning_rate": 1e-3,
        "grpo_steps": 200, "grpo_learning_rate": 1e-3,
    },
    "t4": _GPU | {"dtype": "float16", "load_in_4bit": True, "prompts_per_step": 4, "max_tokens": 256},
    "l4": _GPU | {"load_in_4bit": True},
    "a100": _GPU | {"model": "Qwen/Qwen2.5-3B-Instruct"},
    "h100": _GPU | {"model": "Qwen/Qwen2.5-7B-Instruct", "prompts_per_step": 16},
    "h200": _GPU | {"model": "Qwen/Qwen2.5-7B-Instruct", "prompts_per_step": 32},
}  # fmt: skip
LORA_TARGETS = ["q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"]


def settings(hardware: str = "auto", **overrides) -> SimpleNamespace:
    """The sizes to run with, printed as a table.

    Args:
        hardware: "auto" or a name in `PROFILES`.
        **overrides: Values that win over the profile's; None means none.

    Returns:
        One attribute for each entry of the profile, and `hardware`.

    Raises:
        ValueError: an unknown name, or a value of the wrong kind; the message names what is accepted.
    """
    if hardware == "auto":
        hardware = _detect()
    if hardware not in PROFILES:
        raise ValueError(f"hardware must be auto or one of {', '.join(PROFILES)}, got {hardware!r}")
    profile = PROFILES[hardware]
    for name, value in overrides.items():
        if name not in profile:
            near = difflib.get_close_matches(name, profile, 1)
            raise ValueError(
                f"no setting {name!r}; " + (f"did you mean {near[0]}?" if near else f"know {list(profile)}")
            )
        wanted = type(profile[name])
        if value is None or name == "gradient_checkpointing":
            continue
        if type(value) is not wanted and not (wanted is float and type(value) is int):
            raise ValueError(f"{name} must be of type {wanted.__name__} (such as {profile[name]!r}), got {value!r}")
        if wanted in (int, float) and value <= 0:
            raise ValueError(f"{name} must be above 0, got {value!r}")
    chosen = {name: value for name, value in overrides.items() if value is not None}
    for name, value in (profile | chosen).items():
        print(f"{name:22} {value!s:28} {'set here' if name in chosen else hardware}")
    return SimpleNamespace(hardware=hardware, **profile | chosen)


def _detect() -> str:
    """The profile of this machine: by the GPU's name, else by its memory; cpu without one."""
    import torch

    if not torch.cuda.is_available():
        return "cpu"
    gpu = torch.cuda.get_device_properties(0)
    named = next((name for name in ("h200", "h100", "a100", "l4", "t4") if name in gpu.name.lower()), None)
    size = gpu.total_memory / 2**30
    return named or (
        "h200" if size > 120 else "h100" if size > 70 else "a100" if size > 38 else "l4" if size > 20 else "t4"
    )


def torch_dtype(name: str):
    """The torch dtype called `name`, such as "bfloat16"."""
    import torch

    return getattr(torch, name)


def quiet_args(cfg: SimpleNamespace, out: Path) -> dict:
    """Arguments that every trainer here shares: precision and memory of the hardware, a log entry at each step, no
    checkpoints, no reports to services, no progress bars in saved cells."""
    return {
        "output_dir": str(out / "trainer"),
        "logging_steps": 1,
        "report_to": "none",
        "save_strategy": "no",
        "disable_tqdm": True,
        "gradient_checkpointing": bool(cfg.gradient_checkpointing),
        "optim": cfg.optim,
        "bf16": cfg.dtype == "bfloat16",
        "fp16": cfg.dtype == "float16",
        "use_cpu": cfg.hardware == "cpu",
    }


def demonstrations(module, rows: list[dict]) -> list[dict]:
    """Rows for SFTTrainer: the prompt, the gold answer as messages, and where it calls tools, these as JSON text (Arrow
    would mix their arguments up)."""
    shown = []
    for row in rows:
        gold = module.answer(row)
        if isinstance(gold, str):
            shown.append({"prompt": row["prompt"], "completion": [{"role": "assistant", "content": gold}]})
        else:
            shown.append({"prompt": row["prompt"], "completion": gold, "tools": json.dumps(_schemas(module, row))})
    return shown


def _schemas(module, row: dict) -> list[dict]:
    from transformers.utils import get_json_schema

    return [get_json_schema(getattr(module.ENV(), name)) for name in tools_of(module, row)]


def recorder(path: Path | str, total: int, what: str = "training", draw=None):
    """A trainer callback that writes what the trainer logs to a JSONL file, and prints a few lines on the way.

    Args:
        path: The file; made anew.
        total: Steps of the run.
        what: What to call the run in those lines.
        draw: Makes a figure of the entries so far, `draw(rows)`; shown and redrawn ten times on the way.

    Returns:
        The callback; its `rows` are the log entries so far, numbers as floats, with `step`; `seconds` is how long
        training took; `watch(reward, group_size)` wraps a reward function so that the entries also hold
        `group_spread`, the mean standard deviation of the rewards inside a group, and `unjudged`, the share of None.
    """
    from transformers import TrainerCallback

    class Recorder(TrainerCallback):
        def __init__(self):
            self.rows, self.seconds, self.seen, self.shown = [], 0.0, {}, None

        def watch(self, reward, group_size: int):
            def watched(completions, **columns):
                rewards = reward(completions=completions, **columns)
                self.seen = _spread(rewards, group_size)
                return rewards

            return watched

        def on_train_begin(self, args, state, control, **_):
            self.progress, self.began = Progress(f"{what}: steps", total), time.perf_counter()
            Path(path).parent.mkdir(parents=True, exist_ok=True)
            Path(path).write_text("", encoding="utf-8")

        def on_step_end(self, args, state, control, **_):
            self.progress.step()
            self.seconds = round(time.perf_counter() - self.began, 1)

        def on_log(self, args, state, control, logs=None, **_):
            row = {"step": state.global_step} | {k: n for k, v in (logs or {}).items() if (n := _number(v)) is not None}
            if len(row) < 3 or "train_runtime" in row:  # the last entry sums the run up
                return
            self.rows.append(row | self.seen)
            with Path(path).open("a", encoding="utf-8") as file:
                file.write(json.dumps(self.rows[-1]) + "\n")
            if draw and state.global_step % max(1, total // 10) == 0:
                self.shown = _redraw(draw(self.rows), self.shown)

    return Recorder()


def _spread(rewards: list[float | None], group_size: int) -> dict[str, float]:
    """How much the rewards differ inside their groups, and how many there are none of."""
    groups = [[r for r in rewards[i : i + group_size] if r is not None] for i in range(0, len(rewards), group_size)]
    spreads = [pstdev(group) for group in groups if group]
    return {
        "group_spread": sum(spreads) / len(spreads) if spreads else 0.0,
        "unjudged": sum(r is None for r in rewards) / len(rewards),
    }


def _redraw(figure, shown):
    """Show a figure in the notebook, or put it in the place of the one shown before."""
    from IPython.display import display
    from matplotlib.pyplot import close

    if shown is None:
        shown = display(figure, display_id=True)
    else:
        shown.update(figure)
    close(figure)
    return shown


def _number(value) -> float | None:
    try:
        return float(value)
    except (TypeError, ValueError):
        return None


def answers_in_new_process(base: str, adapter: Path | str | None, rows: list[dict], max_tokens: int) -> list[str]:
    """Greedy answers of a model loaded from disk by a process of its own.

    Args:
        base: Model name or folder, see `model_path`.
        adapter: Folder of a LoRA adapter to put on it, or None.
        rows: Tasks to answer.
        max_tokens: Most new tokens in an answer.

    Raises:
        RuntimeError: the process failed; the message holds the end of its output.
    """
    job = {"base": model_path(base), "adapter": str(adapter) if adapter else None, "max_tokens": max_tokens}
    job["prompts"] = [row["prompt"] for row in rows]
    done = subprocess.run(
        [sys.executable, "-m", "helpers.training"],
        input=json.dumps(job), capture_output=True, text=True, encoding="utf-8",
        cwd=ROOT, env=os.environ | {"PYTHONPATH": str(ROOT)},
    )  # fmt: skip
    if done.returncode:
        raise RuntimeError(f"loading {base} with {adapter} in a new process failed:\n{done.stderr[-2000:]}")
    return json.loads(done.stdout.strip().split("\n")[-1])


def _answer_job() -> None:
    """The other end of `answers_in_new_process`: job on standard input, answers as the last line of the output."""
    from transformers import AutoModelForCausalLM, AutoTokenizer

    from helpers.policies import LocalPolicy

    job = json.loads(sys.stdin.read())
    model = AutoModelForCausalLM.from_pretrained(job["base"], dtype="auto")
    if job["adapter"]:
        from peft import PeftModel

        model = PeftModel.from_pretrained(model, job["adapter"])
    policy = LocalPolicy(model, AutoTokenizer.from_pretrained(job["base"]))
    replies = policy.generate(job["prompts"], temperature=0, max_tokens=job["max_tokens"])
    print(json.dumps([reply["content"] for reply in replies]))


if __name__ == "__main__":
    _answer_job()

"""What the training notebooks share around Unsloth and TRL: sizes, objectives, rows and records."""

import json
import os
import subprocess
import sys
import time
from functools import wraps
from importlib.util import find_spec
from math import isfinite
from pathlib import Path
from statistics import pstdev
from types import SimpleNamespace

from helpers.notebook import nearest
from helpers.policies import ROOT, model_path
from helpers.rollouts import Progress, needs_tools, tools_of
from helpers.trajectory import text_of

os.environ.setdefault("TRL_EXPERIMENTAL_SILENCE", "1")  # or it warns at every trainer that has an environment

# One dial: what fits the machine. A notebook's parameter left None takes the value from here.
# load_in_4bit False is LoRA on 16-bit weights; batch_size is the most completions in one pass through the model;
# gpu_memory_utilization is the share of the GPU that vLLM may take, where fast_inference is on; max_tokens limits an
# answer, and where tools are called over several turns, episode_tokens all of them with the tools' results, and
# episode_length the same with the prompt.
_GPU = {
    "model": "Qwen/Qwen2.5-1.5B-Instruct", "dtype": "bfloat16", "load_in_4bit": False, "lora_rank": 16,
    "fast_inference": True, "gpu_memory_utilization": 0.5, "max_seq_length": 2048, "max_tokens": 512,
    "episode_length": 12288, "episode_tokens": 4096,
    "gradient_checkpointing": "unsloth", "optim": "adamw_8bit",
    "sft_steps": 30, "sft_batch_size": 16, "sft_learning_rate": 2e-4, "dpo_learning_rate": 5e-6,
    "grpo_steps": 200, "prompts_per_step": 8, "group_size": 8, "batch_size": 32, "grpo_learning_rate": 1e-5,
    "save_steps": 25, "eval_rows": 192, "eval_samples": 4,
}  # fmt: skip
PROFILES: dict[str, dict] = {
    "cpu": _GPU | {
        "model": "tiny", "dtype": "float32", "max_seq_length": 512, "max_tokens": 64,
        "episode_length": 1024, "episode_tokens": 256,
        "fast_inference": False, "gradient_checkpointing": False, "optim": "adamw_torch",
        "sft_steps": 12, "sft_batch_size": 64, "sft_learning_rate": 1e-3, "dpo_learning_rate": 5e-4,
        "grpo_steps": 200, "batch_size": 64, "grpo_learning_rate": 1e-3,
    },
    "t4": _GPU | {
        "dtype": "float16", "load_in_4bit": True, "prompts_per_step": 4, "batch_size": 8, "max_tokens": 256,
    },
    "l4": _GPU | {"load_in_4bit": True, "batch_size": 16},
    "a100": _GPU | {"model": "Qwen/Qwen2.5-3B-Instruct"},
    "h100": _GPU | {"model": "Qwen/Qwen2.5-7B-Instruct", "prompts_per_step": 16},
    "h200": _GPU | {"model": "Qwen/Qwen2.5-7B-Instruct", "prompts_per_step": 32, "batch_size": 64},
}  # fmt: skip
# What each algorithm means to GRPOConfig. Every value is given, since Unsloth fills in others for those left out.
# Clipping binds only where a batch is used for several updates; here it is used for one.
OBJECTIVES = {
    "grpo": {"loss_type": "grpo", "scale_rewards": "group", "epsilon": 0.2, "epsilon_high": 0.2},
    "dr_grpo": {"loss_type": "dr_grpo", "scale_rewards": "none", "epsilon": 0.2, "epsilon_high": 0.2},
    "dapo": {"loss_type": "dapo", "scale_rewards": "group", "epsilon": 0.2, "epsilon_high": 0.28},
    "gspo": {"loss_type": "grpo", "scale_rewards": "group", "epsilon": 3e-4, "epsilon_high": 4e-4},
}
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
            raise ValueError(f"no setting {name!r}; {nearest(name, profile)}")
        wanted = type(profile[name])
        if value is None or name == "gradient_checkpointing":
            continue
        if type(value) is not wanted and not (wanted is float and type(value) is int):
            raise ValueError(f"{name} must be of type {wanted.__name__} (such as {profile[name]!r}), got {value!r}")
        if wanted in (int, float) and value <= 0:
            raise ValueError(f"{name} must be above 0, got {value!r}")
    chosen = {name: value for name, value in overrides.items() if value is not None}
    cfg, notes = SimpleNamespace(hardware=hardware, **profile | chosen), {}
    if cfg.fast_inference and (missing := _no_fast_inference(hardware, cfg.load_in_4bit)):
        if "fast_inference" in chosen:
            raise ValueError(f"fast_inference=True, but {missing}")
        cfg.fast_inference, notes["fast_inference"] = False, f"off: {missing}"
    _check_shape(cfg, chosen)
    for name in profile:
        source = notes.get(name) or ("set here" if name in chosen else hardware)
        print(f"{name:22} {getattr(cfg, name)!s:28} {source}")
    return cfg


def _no_fast_inference(hardware: str, load_in_4bit: bool) -> str | None:
    """Why vLLM cannot generate in this process, or None."""
    if hardware == "cpu":
        return "vLLM needs a GPU"
    if server := _server_args(hardware):
        return f"the vLLM server at {server['vllm_server_base_url']} generates"
    if find_spec("vllm") is None:
        return "vllm is not installed (make setup-gpu)"
    if load_in_4bit and find_spec("vllm_bnb_plugin") is None:
        return "vLLM loads 4-bit weights only with vllm-bnb-plugin (make setup-gpu)"
    return None


def _check_shape(cfg: SimpleNamespace, chosen: dict) -> None:
    """Refuse sizes that a trainer would change without a word, or fail on late."""
    if cfg.group_size < 2:
        raise ValueError(
            f"group_size must be at least 2, since answers are compared inside a group; got {cfg.group_size}"
        )
    if cfg.max_tokens >= cfg.max_seq_length:
        raise ValueError(
            f"max_tokens={cfg.max_tokens} leaves no room for a prompt in max_seq_length={cfg.max_seq_length}: "
            "lower the first or raise the second"
        )
    if cfg.gpu_memory_utilization >= 1:
        raise ValueError(f"gpu_memory_utilization must be between 0 and 1, got {cfg.gpu_memory_utilization}")
    total = cfg.prompts_per_step * cfg.group_size
    if "batch_size" in chosen and total % cfg.batch_size:
        fits = [n for n in range(1, total + 1) if total % n == 0]
        near = min(fits, key=lambda n: abs(n - cfg.batch_size))
        raise ValueError(
            f"batch_size={cfg.batch_size} does not divide the {total} completions of a step "
            f"({cfg.prompts_per_step} prompts x {cfg.group_size}); the nearest that does is {near}"
        )


def shape(cfg: SimpleNamespace, n_rows: int) -> dict:
    """The batch shape as arguments of GRPOConfig; printed in words.

    Args:
        cfg: From `settings`.
        n_rows: Rows of the training data.

    Raises:
        ValueError: fewer rows than prompts in a step, or prompts that several processes cannot share evenly.
    """
    if n_rows < cfg.prompts_per_step:
        raise ValueError(
            f"a step takes {cfg.prompts_per_step} prompts, there are only {n_rows} rows: make more of them"
        )
    processes = int(os.environ.get("WORLD_SIZE", "1"))  # set by accelerate launch
    if cfg.prompts_per_step % processes:
        raise ValueError(
            f"prompts_per_step={cfg.prompts_per_step} cannot be shared evenly among {processes} processes: take a "
            f"multiple of {processes}, such as {processes * max(1, round(cfg.prompts_per_step / processes))}"
        )
    total = cfg.prompts_per_step * cfg.group_size
    share = total // processes
    size = next(n for n in range(min(share, cfg.batch_size), 0, -1) if share % n == 0)
    prompts = cfg.grpo_steps * cfg.prompts_per_step
    print(
        f"each step: {cfg.prompts_per_step} prompts x {cfg.group_size} completions = {total}, in {share // size} "
        f"{'pass' if size == share else 'passes'} of {size}{f' on each of {processes} processes' * (processes > 1)}; "
        f"{cfg.grpo_steps} optimizer steps take {prompts} prompts, {prompts / n_rows:.1f} times the {n_rows} rows"
    )
    return {
        "max_steps": cfg.grpo_steps,
        "num_generations": cfg.group_size,
        "per_device_train_batch_size": size,
        "gradient_accumulation_steps": share // size,
        "max_completion_length": cfg.max_tokens,
        "use_vllm": cfg.fast_inference,
    } | _server_args(cfg.hardware)


def first_process() -> bool:
    """Whether this is the only process of a training run, or the first of several."""
    return os.environ.get("RANK", "0") == "0"  # set by accelerate launch


def _server_args(hardware: str) -> dict:
    """Arguments of GRPOConfig where the environment variable VLLM_SERVER names a `vllm serve` that
    generates. It gets the weights after each step over NCCL, so there is none on a CPU."""
    address = os.environ.get("VLLM_SERVER")
    if not address or hardware == "cpu":
        return {}
    return {"use_vllm": True, "vllm_mode": "server", "vllm_server_base_url": address}


def objective(name: str, kl: float = 0.0) -> dict:
    """An algorithm as arguments of GRPOConfig: loss, clipping, level of the importance weights. Answers that the token
    limit cut off are left out of the loss.

    Args:
        name: "grpo", "dr_grpo", "dapo" or "gspo".
        kl: Weight of the pull back to the start; 0 for none, and no reference model then.

    Raises:
        ValueError: another name, or a weight below 0.
    """
    if name not in OBJECTIVES:
        raise ValueError(f"the algorithm must be one of {', '.join(OBJECTIVES)}, got {name!r}")
    if kl < 0:
        raise ValueError(f"kl must be 0 or more, got {kl!r}")
    level = "sequence" if name == "gspo" else "token"
    return OBJECTIVES[name] | {"importance_sampling_level": level, "beta": kl, "mask_truncated_completions": True}


def load_args(cfg: SimpleNamespace, vllm: bool = True) -> dict:
    """Arguments of FastLanguageModel.from_pretrained for this hardware.

    Args:
        cfg: From `settings`.
        vllm: Start vLLM where the hardware has it. GRPOTrainer generates with it; all else needs it not.
    """
    args = {"max_seq_length": cfg.max_seq_length, "dtype": torch_dtype(cfg.dtype), "load_in_4bit": cfg.load_in_4bit}
    if vllm and cfg.fast_inference:
        share = cfg.gpu_memory_utilization
        args |= {"fast_inference": True, "max_lora_rank": cfg.lora_rank, "gpu_memory_utilization": share}
    return args


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


def quiet_args(cfg: SimpleNamespace, out: Path, save_steps: int | None = None) -> dict:
    """Arguments that every trainer here shares: precision and memory of the hardware, a log entry at each step, no
    reports to services, no progress bars in saved cells; a checkpoint every `save_steps` steps, or none."""
    saves = {"save_strategy": "steps", "save_steps": save_steps, "save_total_limit": 2}
    return (saves if save_steps else {"save_strategy": "no"}) | {
        "output_dir": str(out / "trainer"),
        "logging_steps": 1,
        "logging_nan_inf_filter": False,  # or a loss that is NaN would be logged as the last one that was not
        "report_to": "none",
        "disable_tqdm": True,
        "gradient_checkpointing": bool(cfg.gradient_checkpointing),
        "optim": cfg.optim,
        "bf16": cfg.dtype == "bfloat16",
        "fp16": cfg.dtype == "float16",
        "use_cpu": cfg.hardware == "cpu",
    }


def sampling(module, cfg: SimpleNamespace, seed: int) -> dict:
    """Arguments of `rollout` that an environment is measured with: its tools where it is answered by tool calls, and as
    many samples and tokens as `cfg`, from `settings`, says."""
    tools = needs_tools(module)
    limit = cfg.episode_tokens if tools else cfg.max_tokens
    return {"seed": seed, "samples": cfg.eval_samples, "max_tokens": limit, "tools": tools}


def demonstrations(module, rows: list[dict]) -> list[dict]:
    """Rows for SFTTrainer: the prompt, the gold answer as messages, and where it calls tools, these as JSON text (Arrow
    would mix their arguments up)."""
    shown = []
    for row in rows:
        gold = module.answer(row)
        if isinstance(gold, str):
            shown.append({"prompt": row["prompt"], "completion": [{"role": "assistant", "content": gold}]})
        else:
            shown.append({"prompt": row["prompt"], "completion": gold, "tools": json.dumps(schemas(module, row))})
    return shown


def schemas(module, row: dict) -> list[dict]:
    """The JSON schemas of a row's tools, as a chat template takes them."""
    from transformers.utils import get_json_schema

    return [get_json_schema(getattr(module.ENV(), name)) for name in tools_of(module, row)]


def recorder(path: Path | str, total: int, what: str = "training", draw=None):
    """A trainer callback that writes what the trainer logs to a JSONL file, prints a few lines on the way, and stops a
    run that went wrong. A run that is resumed keeps the entries up to its checkpoint.

    Args:
        path: The file; made anew.
        total: Steps of the run.
        what: What to call the run in those lines.
        draw: Makes a figure of the entries so far, `draw(rows)`, or anything else to show, such as that of
            `widgets.Dashboard`; shown and redrawn ten times on the way.

    Returns:
        The callback; its `rows` are the log entries so far, numbers as floats, with `step` and `step_s`, the seconds
        that the step took; `seconds` is how long training took, since it was last resumed. `watch(reward, group_size,
        module)` wraps a reward function so that the entries also hold `group_spread`, the mean standard deviation of
        the rewards inside a group, `unjudged`, the share of None, and `reward_s`, the seconds that the function took;
        and, if it is told the environment, so that `samples` and the file NAME.samples.jsonl hold a few completions on
        the way with what was read out of them and the verdict. `hold_out(measure, every)` adds `held_out`, and ends
        the run when that no longer rises.

    Raises:
        FloatingPointError: from training, when gradients or loss, and on a CPU logits, are no longer finite numbers.
    """
    from transformers import TrainerCallback

    class Recorder(TrainerCallback):
        def __init__(self):
            self.rows, self.seconds, self.seen, self.shown, self.held_out, self.measure = [], 0.0, {}, None, {}, None
            self.hook, self.samples, self.step_began, self.reward_s, self.times = None, [], None, 0.0, {}

        def watch(self, reward, group_size: int, module=None):
            @wraps(reward)
            def watched(completions, **columns):
                began = time.perf_counter()
                rewards = reward(completions=completions, **columns)
                self.reward_s += time.perf_counter() - began
                self.seen = _spread(rewards, group_size)
                if module and self.step_began is not None:  # before the first step, rewards are only tried out
                    self._keep(module, completions, rewards, columns, group_size)
                return rewards

            return watched

        def _keep(self, module, completions, rewards, columns, group_size):
            step = columns["trainer_state"].global_step
            if step % max(1, total // 10):
                return
            samples = _samples(module, completions, rewards, columns, group_size, step + 1)
            self.samples += samples
            with samples_path(path).open("a", encoding="utf-8") as file:
                file.write("".join(json.dumps(sample) + "\n" for sample in samples))

        def hold_out(self, measure, every: int, patience: int = 3, min_gain: float = 0.01):
            """Call `measure()`, a mean reward on held-out tasks, every `every` steps; stop when the best of the last
            `patience` values is less than `min_gain` above the best before them; with patience 0 never."""
            self.measure, self.every, self.patience, self.min_gain = measure, every, patience, min_gain

        def on_train_begin(self, args, state, control, model=None, **_):
            if args is not None and args.use_cpu:  # on a GPU the head runs inside compiled kernels, which take no hooks
                self.hook = model.get_output_embeddings().register_forward_hook(self._check_logits(args, state, model))
            file = Path(path)
            file.parent.mkdir(parents=True, exist_ok=True)
            self.rows = _entries_up_to(file, state.global_step)
            self.samples = _entries_up_to(samples_path(file), state.global_step)
            self.progress = Progress(f"{what}: steps", total, start=state.global_step)
            self.began = time.perf_counter()

        def on_step_begin(self, *_, **__):
            self.step_began, self.reward_s = time.perf_counter(), 0.0

        def on_train_end(self, *_, **__):
            if self.hook:
                self.hook.remove()

        def _check_logits(self, args, state, model):
            def check(module, inputs, logits):
                if not logits[:, -1].isfinite().all():
                    raise self._broken("a logit", state.global_step + 1, args, model)

            return check

        def _broken(self, what, step, args, model):
            self.on_train_end()
            return FloatingPointError(_not_finite(what, step, args, model))

        def on_pre_optimizer_step(self, args, state, control, model=None, **_):
            # With float16 a scaler finds overflow itself and skips such a step: nothing to stop for.
            if model is not None and not args.fp16 and not _finite_gradients(model):
                raise self._broken("the gradient", state.global_step + 1, args, model)

        def on_step_end(self, args, state, control, model=None, **_):
            self.progress.step()
            if self.step_began is not None:
                self.times = {"step_s": time.perf_counter() - self.step_began}
                self.times |= {"reward_s": self.reward_s} if self.seen else {}
            self.seconds = round(time.perf_counter() - self.began, 1)
            if self.measure and state.global_step % self.every == 0:
                self.held_out = {"held_out": _measured(self.measure)}
                if model is not None:
                    model.train()  # generation left it in eval mode, in which the trainer would log nothing
                values = [row["held_out"] for row in self.rows if "held_out" in row] + [self.held_out["held_out"]]
                more = state.global_step < state.max_steps
                if more and self.patience and plateaued(values, self.patience, self.min_gain):
                    recent = ", ".join(f"{value:.3f}" for value in values[-self.patience :])
                    print(f"{what}: stopped at step {state.global_step}, held-out reward no longer rises ({recent})")
                    control.should_training_stop = True

        def on_log(self, args, state, control, logs=None, model=None, **_):
            numbers = {key: number for key, value in (logs or {}).items() if (number := _number(value)) is not None}
            if not isfinite(numbers.get("loss", 0.0)):
                raise self._broken("the loss", state.global_step, args, model)
            row = {"step": state.global_step} | {key: n for key, n in numbers.items() if isfinite(n)}
            if len(row) < 3 or "train_runtime" in row:  # the last entry sums the run up
                return
            self.rows.append(row | self.seen | self.times | self.held_out)
            self.held_out = {}
            with Path(path).open("a", encoding="utf-8") as file:
                file.write(json.dumps(self.rows[-1]) + "\n")
            if draw and state.global_step % max(1, total // 10) == 0:
                self.shown = _redraw(draw(self.rows), self.shown)

    return Recorder()


def samples_path(history: Path | str) -> Path:
    """Where the recorder of this history file keeps its samples."""
    return Path(history).with_suffix(".samples.jsonl")


def _samples(module, completions: list, rewards: list, columns: dict, group_size: int, step: int) -> list[dict]:
    """The best and the worst completion of the first group, as a reader wants to see them."""
    first = [i for i in range(min(group_size, len(rewards))) if rewards[i] is not None] or [0]
    chosen = {max(first, key=lambda i: rewards[i] or 0.0): None, min(first, key=lambda i: rewards[i] or 0.0): None}
    rows = [{key: value[i] for key, value in columns.items() if isinstance(value, list)} for i in chosen]
    return [_sample(module, completions[i], rewards[i], row) | {"step": step} for i, row in zip(chosen, rows)]


def _sample(module, completion, reward: float | None, row: dict) -> dict:
    text = completion if isinstance(completion, str) else "\n".join(text_of(m.get("content")) for m in completion)
    calls = module.parse(text, row)
    extracted = "; ".join(" ".join(map(str, arguments.values())) for _, arguments in calls)
    return {
        "task_id": row["task_id"],
        "prompt": row["prompt"] if "prompt" in row else row["prompts"],
        "completion": text,
        "extracted": extracted or None,
        "reward": reward,
        "reason": module.score(completion, row).reason,
    }


def _entries_up_to(path: Path, step: int) -> list[dict]:
    """The entries of a file up to a step, which alone are left in it."""
    kept = [entry for entry in _entries(path) if entry["step"] <= step]
    path.write_text("".join(json.dumps(entry) + "\n" for entry in kept), encoding="utf-8")
    return kept


def _measured(measure) -> float:
    """What the first process measures, in all of them: they must agree whether to stop, or one would wait for ever."""
    if os.environ.get("WORLD_SIZE", "1") == "1":
        return measure()
    from accelerate.utils import broadcast_object_list

    return broadcast_object_list([measure() if first_process() else None])[0]


def _entries(path: Path) -> list[dict]:
    """The entries of a history; a last line that a killed run left unfinished is left out."""
    entries = []
    for line in path.read_text(encoding="utf-8").split("\n") if path.is_file() else []:
        try:
            entries.append(json.loads(line))
        except ValueError:
            continue
    return entries


def ends(rows: list[dict], keys) -> list[dict]:
    """Means over the first and the last tenth of a history, for a table: {"part": name, key: mean, ...} each."""
    tenth = max(1, len(rows) // 10)
    parts = {"first tenth": rows[:tenth], "last tenth": rows[-tenth:]}
    return [{"part": name} | {key: sum(row[key] for row in part) / len(part) for key in keys}
            for name, part in parts.items()]  # fmt: skip


def failed_runs(folder: Path | str = ROOT / "docs" / "what_fails") -> dict:
    """Runs that fail, and one that works, as tests/bench/what_fails.py left them.

    Returns:
        `made`, how they were made, and `runs`, the one that works first: each with `name`, `title`, `says` (how the
        failure shows), `sign` (the key of the history in which it does), `history`, and `changes`, an
        `evaluation.compare` of GRPO on held-out tasks by environment. Where they are missing, a line says how to make
        them, and `runs` is empty.
    """
    results = Path(folder) / "results.json"
    found = json.loads(results.read_text(encoding="utf-8")) if results.is_file() else {"made": {}, "runs": []}
    if len(found["runs"]) < 2:
        print("no runs to compare here: python tests/bench/what_fails.py makes them, in about ten minutes on two cores")
        return found | {"runs": []}
    for run in found["runs"]:
        run["history"] = _entries(Path(folder) / f"{run['name']}.jsonl")
    return found


def plateaued(values: list[float], patience: int, min_gain: float) -> bool:
    """Whether the best of the last `patience` values is less than `min_gain` above the best of those before."""
    return len(values) > patience and max(values[-patience:]) < max(values[:-patience]) + min_gain


def _finite_gradients(model) -> bool:
    import torch

    norms = [weight.grad.norm() for weight in model.parameters() if weight.grad is not None]
    return not norms or bool(torch.stack(norms).isfinite().all())


def _not_finite(what: str, step: int, args, model) -> str:
    """The sentence that a run ends with when its numbers break."""
    kinds = sorted({str(weight.dtype) for weight in model.parameters() if weight.requires_grad}) if model else []
    computed = "bfloat16" if args.bf16 else "float16" if args.fp16 else ""
    other = {"float16": ", or take bfloat16 or float32", "bfloat16": ", or take float32"}.get(computed, "")
    return (
        f"step {step}: {what} is not a finite number (trained weights in {' and '.join(kinds) or 'an unknown dtype'}, "
        f"computed in {computed or 'the same'}). Nothing after this step can be trusted: lower the learning rate"
        f"{other}, and start again from the last checkpoint"
    )


def _spread(rewards: list[float | None], group_size: int) -> dict[str, float]:
    """How much the rewards differ inside their groups, and how many there are none of."""
    groups = [[r for r in rewards[i : i + group_size] if r is not None] for i in range(0, len(rewards), group_size)]
    spreads = [pstdev(group) for group in groups if group]
    return {
        "group_spread": sum(spreads) / len(spreads) if spreads else 0.0,
        "unjudged": sum(r is None for r in rewards) / len(rewards),
    }


def _redraw(figure, shown):
    """Show a figure or the like in the notebook, or put it in the place of the one shown before; in a script, do
    nothing."""
    from IPython import get_ipython
    from IPython.display import display
    from matplotlib.figure import Figure
    from matplotlib.pyplot import close

    if get_ipython() is not None:
        if shown is None:
            shown = display(figure, display_id=True)
        else:
            shown.update(figure)
    if isinstance(figure, Figure):
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

# SPDX-License-Identifier: Apache-2.0
"""The sizes to train with: one dial for the machine, and what they mean as arguments of Unsloth's and TRL's classes."""

import os
from importlib.util import find_spec
from pathlib import Path
from types import SimpleNamespace

from helpers.episodes.environment import needs_tools
from helpers.here import nearest
from helpers.rollout.rollouts import Sampling

os.environ.setdefault("TRL_EXPERIMENTAL_SILENCE", "1")  # or it warns at every trainer that has an environment

# One dial: what fits the machine. A notebook's parameter left None takes the value from here. A new GPU is one entry:
# `hardware="auto"` takes the largest profile that asks for no more memory (GiB) and compute capability than there is.
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
        "memory": 14, "capability": (7, 0),  # no bfloat16 before 8.0
        "dtype": "float16", "load_in_4bit": True, "prompts_per_step": 4, "batch_size": 8, "max_tokens": 256,
    },
    "l4": _GPU | {"memory": 21, "capability": (8, 0), "load_in_4bit": True, "batch_size": 16},
    "a100": _GPU | {"memory": 38, "capability": (8, 0), "model": "Qwen/Qwen2.5-3B-Instruct"},
    "h100": _GPU | {
        "memory": 70, "capability": (9, 0), "model": "Qwen/Qwen2.5-7B-Instruct", "prompts_per_step": 16,
    },
    "h200": _GPU | {
        "memory": 120, "capability": (9, 0), "model": "Qwen/Qwen2.5-7B-Instruct", "prompts_per_step": 32,
        "batch_size": 64,
    },
}  # fmt: skip
_CARD = ("memory", "capability")  # what a profile asks of a GPU; all else are settings
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
    profile = {name: value for name, value in PROFILES[hardware].items() if name not in _CARD}
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
    """The profile of this machine: of several GPUs, the smallest counts, since each holds a copy of the model."""
    import torch

    if not torch.cuda.is_available():
        return "cpu"
    cards = [torch.cuda.get_device_properties(i) for i in range(torch.cuda.device_count())]
    memory = min(card.total_memory for card in cards) / 2**30
    capability = min((card.major, card.minor) for card in cards)
    asked = {name: (profile["memory"], profile["capability"]) for name, profile in PROFILES.items() if name != "cpu"}
    fitting = [name for name, (gib, least) in asked.items() if memory >= gib and capability >= least]
    if fitting:
        return max(fitting, key=lambda name: asked[name][0])
    smallest = min(asked, key=lambda name: asked[name][0])
    print(
        f"{cards[0].name} ({memory:.0f} GiB, compute capability {capability[0]}.{capability[1]}) is below every "
        f"profile; taking {smallest}. Out of memory? A smaller model, batch_size or max_tokens helps"
    )
    return smallest


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


def choose_level(env, difficulty: str | None, hardware: str) -> str:
    """The difficulty to start an environment with.

    Args:
        env: The environment, with its `DIFFICULTIES` from easiest to hardest.
        difficulty: One of them, or None for the lowest on a machine without a GPU and "easy" on one with.
        hardware: The profile, "cpu" or a GPU's, as `settings` found it.

    Raises:
        ValueError: the environment has no such difficulty, or none at all; the message names those it has.
    """
    levels = _levels(env)
    if difficulty is None:
        return "easy" if hardware != "cpu" and "easy" in levels else levels[0]
    if difficulty not in levels:
        raise ValueError(f"difficulty must be None or one of {', '.join(levels)}, got {difficulty!r}")
    return difficulty


def choose_levels(env, difficulties: str | None, hardware: str) -> list[str]:
    """Several difficulties separated by commas, each checked; None is the starting level and all above it."""
    if difficulties is None:
        return _levels(env)[_levels(env).index(choose_level(env, None, hardware)) :]
    return [choose_level(env, name.strip(), hardware) for name in difficulties.split(",")]


def _levels(env) -> list[str]:
    levels = list(getattr(env, "DIFFICULTIES", ()))
    if not levels:
        raise ValueError(f"{env.__name__} has no DIFFICULTIES: define the names of its levels, easiest first")
    return levels


def sampling(module, cfg: SimpleNamespace, seed: int) -> Sampling:
    """How an environment is measured: with its tools where it is answered by tool calls, and with as many samples and
    tokens as `cfg`, from `settings`, says."""
    tools = needs_tools(module)
    limit = cfg.episode_tokens if tools else cfg.max_tokens
    return Sampling(samples=cfg.eval_samples, tools=tools, max_tokens=limit, seed=seed)

# SPDX-License-Identifier: Apache-2.0
"""What a training run leaves on disk: checkpoints to go on from, the adapter, the merged model, GGUF, a model card."""

import json
import os
import shutil
from hashlib import sha256
from pathlib import Path

from helpers.here import first_process, show_path

# Settings of a trainer that say where and how to report, not what is learned.
_ELSEWHERE = ("output_dir", "logging", "log_", "save", "report_to", "run_name", "disable_tqdm", "hub", "push_to_hub")


# --- checkpoints -----------------------------------------------------------------------------------------


def resume_point(trainer) -> str | None:
    """The last whole checkpoint of this very run, if it was cut off: for `trainer.train(resume_from_checkpoint=...)`.

    Runs that differ in any setting, in their rows or in where they start keep their checkpoints in folders of their own
    below the trainer's output folder, so none is taken for another. A run that ended is begun anew.

    Args:
        trainer: A Hugging Face trainer that has not trained yet. Its `args.output_dir` is moved into that folder.

    Returns:
        Folder of the checkpoint, or None to start from the beginning.
    """
    folder = Path(trainer.args.output_dir) / _identity(trainer)
    trainer.args.output_dir = str(folder)
    ended = folder / "ended"
    if ended.is_file():
        shutil.rmtree(folder)
    trainer.add_callback(_marker(ended))
    steps = {path: step for path in folder.glob("checkpoint-*") if (step := _step(path)) is not None}
    if not steps:
        return None
    last = max(steps, key=steps.get)
    print(
        f"going on after step {steps[last]} of {trainer.args.max_steps}: an earlier run with these settings was cut off"
    )
    return str(last)


def _identity(trainer) -> str:
    """Eight hex digits of everything that the run is determined by."""
    plain = (str, int, float, bool, type(None))
    settings = {
        key: value
        for key, value in trainer.args.to_dict().items()
        if isinstance(value, plain) and not key.startswith(_ELSEWHERE)
    }
    digest = sha256(json.dumps([settings, trainer.model.config.name_or_path], sort_keys=True).encode())
    for row in trainer.train_dataset:
        digest.update(json.dumps(row, sort_keys=True, default=str).encode())
    for name, weight in trainer.model.named_parameters():
        if weight.requires_grad and "lora_A" not in name:  # lora_A is drawn at random, and idle while lora_B is zero
            digest.update(name.encode() + weight.detach().flatten()[:256].float().cpu().numpy().tobytes())
    return digest.hexdigest()[:8]


def _step(checkpoint: Path) -> int | None:
    """The step of a checkpoint, or None if it was not written to its end: the trainer's state is what comes last."""
    try:
        return json.loads((checkpoint / "trainer_state.json").read_text(encoding="utf-8"))["global_step"]
    except (OSError, ValueError, KeyError):
        return None


def _marker(ended: Path):
    from transformers import TrainerCallback

    class Ended(TrainerCallback):
        def on_train_end(self, args, state, control, **_):
            ended.parent.mkdir(parents=True, exist_ok=True)
            ended.touch()

    return Ended()


# --- models ----------------------------------------------------------------------------------------------


def save_model(
    policy, tokenizer, out: Path, card: dict, gguf: str | None = None, push_to: str | None = None
) -> dict[str, str]:
    """Save a trained LoRA model in every form it is used in, each folder with a model card. Of several processes that
    train together, the first one saves.

    Args:
        policy: From `FastLanguageModel.get_peft_model`, trained.
        tokenizer: Its tokenizer.
        out: Folder; gets adapter/, model/ (merged, 16-bit) and gguf/.
        card: What `model_card` needs.
        gguf: Also write GGUF with this quantization, such as "q8_0", where llama.cpp is built; None for no.
        push_to: Also upload model/ to this repository of the Hugging Face Hub, with the token in the environment
            variable HF_TOKEN; None for no.

    Returns:
        What became of each form: its folder, the repository, or why there is none; empty in another than the first
        process.

    Raises:
        ValueError: an upload is asked for without a token; nothing is saved then.
    """
    if not first_process():
        return {}
    token = os.environ.get("HF_TOKEN")
    if push_to and not token:
        raise ValueError(f"push_to={push_to!r} needs a token with write access in the environment variable HF_TOKEN")
    adapter, model = out / "adapter", out / "model"
    policy.save_pretrained(str(adapter), selected_adapters=["default"])
    tokenizer.save_pretrained(str(adapter))
    policy.save_pretrained_merged(str(model), tokenizer, save_method="merged_16bit")
    for folder in (adapter, model):
        (folder / "README.md").write_text(model_card(**card), encoding="utf-8")
    saved = {"adapter": str(adapter), "merged": str(model)}
    if gguf:
        saved["gguf"] = _save_gguf(policy, tokenizer, out / "gguf", gguf)
    if push_to:
        saved["pushed"] = _push(model, push_to, token)
    for form, where in saved.items():
        print(f"{form:8} {show_path(where) if Path(where).is_absolute() else where}")
    return saved


def _save_gguf(policy, tokenizer, folder: Path, quantization: str) -> str:
    """The folder, or why there is no GGUF."""
    from unsloth_zoo.llama_cpp import check_llama_cpp

    try:
        check_llama_cpp()
    except RuntimeError as error:
        return f"not written: {error}"
    policy.save_pretrained_gguf(str(folder), tokenizer, quantization_method=quantization)
    return str(folder)


def _push(folder: Path, repository: str, token: str) -> str:
    from huggingface_hub import HfApi

    hub = HfApi(token=token)
    hub.create_repo(repository, private=True, exist_ok=True)
    hub.upload_folder(folder_path=str(folder), repo_id=repository)
    return repository


def model_card(
    *, base: str, environment: str, data: str, reward: str, training: dict, versions: dict, before: dict, after: dict
) -> str:
    """A model card in Markdown.

    Args:
        base: The model it was trained from.
        environment: Name of the environment.
        data: What it was trained on and measured on, in words, with numbers and seeds.
        reward: What was rewarded, in words.
        training: Settings that matter, by name.
        versions: Versions of the libraries, by name.
        before: `evaluation.summary` of the held-out tasks before training.
        after: The same after.
    """
    rows = [f"| {name} | {s['pass_at_1']:.3f} | {s['ci95'][0]:.3f} to {s['ci95'][1]:.3f} | {s['n']} | {s['samples']} |"
            for name, s in (("before", before), ("after", after))]  # fmt: skip
    return "\n".join([
        "---", f"base_model: {json.dumps(base)}", "library_name: transformers", "pipeline_tag: text-generation",
        "tags:", "- grpo", "- rlvr", "- lora", "---", "",
        f"# {Path(base).name}, trained on {environment} by reinforcement learning with verifiable rewards", "",
        "## Before and after", "", "Held-out tasks, sampled answers; intervals are 95 %, over tasks.", "",
        "| | pass@1 | interval | tasks | samples a task |", "|---|---|---|---|---|", *rows, "",
        "## Data", "", data, "", "## Reward", "", reward, "",
        "## Training", "", *(f"- {name}: {value}" for name, value in training.items()), "",
        "## Versions", "", ", ".join(f"{name} {value}" for name, value in versions.items()), "",
        "Nothing is claimed about tasks other than those measured above.", "",
    ])  # fmt: skip

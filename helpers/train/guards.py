# SPDX-License-Identifier: Apache-2.0
"""Checks around a training run: is this the software that was tested, can the reward path tell right from wrong, does
the chat template bear several turns, and did the model that was saved learn anything."""

import json
from pathlib import Path
from types import ModuleType, SimpleNamespace

from helpers.episodes.environment import needs_tools, tool_schema
from helpers.here import ROOT, first_process
from helpers.measure.contract_subject import as_messages
from helpers.rollout.policies import LocalPolicy
from helpers.train import pins
from helpers.train.fresh_process import answers_in_new_process

# Versions of these decide whether training works; others that differ are only named.
CORE = ("torch", "transformers", "trl", "peft", "datasets", "accelerate", "unsloth", "unsloth-zoo")
BAD_ANSWER = "I do not know."


# --- versions --------------------------------------------------------------------------------------------


def lock(gpu: bool) -> dict[str, str]:
    """The pinned versions by canonical name: requirements-gpu.txt, or the files of a machine without a GPU; of these
    Colab takes no constraints.txt."""
    from packaging.utils import canonicalize_name

    names = [] if gpu or pins.on_colab() else ["constraints.txt"]
    names += ["requirements-gpu.txt" if gpu else "requirements.txt", "requirements-nodeps.txt"]
    found = [pin for name in names for pin in pins.pins(ROOT / name).items()]
    return {canonicalize_name(name): wanted for name, wanted in found}


def check_versions() -> list[tuple[str, str, str]]:
    """Compare what is installed with what is pinned.

    Returns:
        (package, expected, found) for each that differs; found is "missing" where there is none.

    Raises:
        RuntimeError: one that training rests on differs; the message names expected and found.
    """
    import torch

    gpu = torch.cuda.is_available()
    different = differences(lock(gpu))
    core = set(CORE) - set(pins.kept() if pins.on_colab() else ())
    lines = [f"{name}: expected {wanted}, found {found}" for name, wanted, found in different if name in core]
    if lines:
        remedy = "run the set-up cell again" if pins.on_colab() else f"make setup{'-gpu' if gpu else ''}"
        raise RuntimeError("versions that were never tested together (" + "; ".join(lines) + f"): {remedy}")
    others = ", ".join(f"{name} {found} for {wanted}" for name, wanted, found in different if found != "missing")
    print("versions as pinned" + (f", but for {others}" if others else ""))
    return different


def differences(pinned: dict[str, str]) -> list[tuple[str, str, str]]:
    """(package, expected, found) for each pin that the installed version does not meet. A build tag, such as +cpu, is
    no difference."""
    found = {name: (pins.installed(name) or "missing").partition("+")[0] for name in pinned}
    return [(name, wanted, found[name]) for name, wanted in pinned.items() if found[name] != wanted]


# --- before training -------------------------------------------------------------------------------------


def check_template(tokenizer, tools: list) -> None:
    """Refuse a tokenizer whose chat template cannot be trained over several turns with tools.

    The trainer keeps the tokens that were sampled and adds those of each tool result, so what was rendered before must
    stay as it is when turns follow. TRL swaps some well-known templates for versions of its own that hold to this;
    where it does, that version is what is checked here.

    Args:
        tokenizer: Of the model to train.
        tools: Its tools, as functions or JSON schemas.

    Raises:
        ValueError: the template does not render tool calls, changes earlier turns, or has no parser for tool calls;
            the message names the remedy.
    """
    from trl.chat_template_utils import (
        add_response_schema,
        get_training_chat_template,
        is_chat_template_prefix_preserving,
        supports_tool_calling,
    )

    if not supports_tool_calling(tokenizer):
        raise ValueError(
            "the chat template does not render tool calls and their results: train a model whose template does, or set "
            "tokenizer.chat_template to one that does"
        )
    template = None
    if not is_chat_template_prefix_preserving(tokenizer):
        try:
            template = get_training_chat_template(tokenizer)
        except ValueError:
            raise ValueError(_changes("an assistant turn")) from None
    render = {"tools": tools, "chat_template": template, "return_dict": False}
    turns = _three_turns(tools)
    try:
        whole = tokenizer.apply_chat_template(turns, **render)
    except TypeError:  # some templates take a call's arguments as JSON text only
        turns = _three_turns(tools, as_text=True)
        whole = tokenizer.apply_chat_template(turns, **render)
    ends = [at for at, message in enumerate(turns, 1) if message["role"] == "assistant"]
    for number, end in enumerate(ends, 1):
        head = tokenizer.apply_chat_template(turns[:end], **render)
        if whole[: len(head)] != head:
            raise ValueError(_changes(f"assistant turn {number} of {len(ends)}"))
    if all(getattr(tokenizer, name, None) is None for name in ("response_template", "response_schema")):
        try:
            add_response_schema(tokenizer)
        except ValueError:
            raise ValueError(
                "the trainer does not know how to read tool calls in this model's answers: set "
                "tokenizer.response_template (see 'response parsing' in the Transformers documentation)"
            ) from None
    print(
        f"chat template: three turns with tool calls keep their tokens{', in the version of TRL' if template else ''}"
    )


def _changes(what: str) -> str:
    return (
        f"the chat template is not prefix-preserving: {what} is rendered otherwise once turns follow (templates that "
        "drop earlier reasoning do this), so training would see other tokens than were sampled. Set "
        "tokenizer.chat_template to a version that renders every turn alike, or train a model whose template TRL "
        "replaces by itself (trl.chat_template_utils.get_training_chat_template)"
    )


def _three_turns(tools: list, as_text: bool = False) -> list[dict]:
    """A conversation with two tool calls, their results, and a closing answer; each assistant turn has reasoning."""
    function = tool_schema(tools[0])["function"]
    fields = function.get("parameters", {}).get("properties", {})
    values = {"integer": 1, "number": 1.0, "boolean": True, "array": [], "object": {}}
    arguments = {name: values.get(field.get("type"), "x") for name, field in fields.items()}
    if as_text:
        arguments = json.dumps(arguments)
    call = {"type": "function", "function": {"name": function["name"], "arguments": arguments}}
    turns: list[dict] = [{"role": "user", "content": "Do it."}]
    for result in ("done", "done again"):
        turns.append({"role": "assistant", "content": "", "reasoning_content": "I call a tool.", "tool_calls": [call]})
        turns.append({"role": "tool", "name": function["name"], "content": result})
    return turns + [{"role": "assistant", "content": "It is done.", "reasoning_content": "Nothing is left to do."}]


def check_text(module: ModuleType) -> None:
    """Refuse an environment that is not answered by one text.

    Raises:
        ValueError: it is answered by tool calls; the message names the notebook that trains such tasks.
    """
    if needs_tools(module):
        name = module.__name__.rpartition(".")[2]
        raise ValueError(f"{name} is answered by tool calls over several turns: notebook 08 trains such tasks")


def check_demonstrations(trainer, module: ModuleType, shown: list[dict], rows: list[dict], n: int = 8) -> None:
    """Decode what an SFTTrainer learns from, and let the environment grade it: right answers must earn 1.

    Args:
        trainer: An SFTTrainer, ready to train.
        module: The environment.
        shown: What its table was made of, such as `training_rows.demonstrations` gives.
        rows: The tasks that they answer, in any order.
        n: How many to look at.

    Raises:
        RuntimeError: one earns less, or nothing in it is learned; the message holds what would be learned.
    """
    tokenizer = getattr(trainer.processing_class, "tokenizer", trainer.processing_class)
    asked = {json.dumps(row["prompt"]): row for row in rows}
    n = min(n, len(trainer.train_dataset))
    for example, one in zip(trainer.train_dataset.select(range(n)), shown):
        row = asked[json.dumps(one["prompt"])]
        turns = [tokenizer.decode(ids, skip_special_tokens=False) for ids in _learned(example)]
        calls = [call for turn in turns for call in module.parse(turn, row)]
        verdict = module.score(as_messages(calls) if "tools" in one else "".join(turns), row)
        if verdict.reward != 1.0:
            raise RuntimeError(
                f"the demonstration of {row['task_id']} earns {verdict.reward} ({verdict.reason}) from its own "
                f"verifier as the trainer would learn it, expected 1: {' ... '.join(turns)!r:.600}"
            )
    print(f"demonstrations: the first {n}, decoded from what is learned, earn 1")


def _learned(example: dict) -> list[list[int]]:
    """The tokens of an example that carry loss, as runs without a gap."""
    ids = example["input_ids"]
    masks = [example[name] for name in ("completion_mask", "assistant_masks") if example.get(name)]
    kept = [label != -100 for label in example["labels"]] if "labels" in example else [all(m) for m in zip(*masks)]
    runs: list[list[int]] = []
    for at, (token, learn) in enumerate(zip(ids, kept)):
        if learn:
            if not (at and kept[at - 1]):
                runs.append([])
            runs[-1].append(token)
    return runs


def before_training(trainer, module: ModuleType | dict[str, ModuleType], cfg: SimpleNamespace) -> None:
    """Refuse to train when the trainer took other sizes than were asked for, or when its rewards do not tell a right
    answer from a wrong one.

    Args:
        trainer: A GRPOTrainer, ready to train.
        module: The environment that its rows are from, or several by name.
        cfg: From `profiles.settings`.

    Raises:
        RuntimeError: either of the two; the message names what was expected and what was found.
    """
    check_shape(trainer.args, cfg)
    check_reward(trainer, module)


def check_shape(args, cfg: SimpleNamespace) -> None:
    """Compare the sizes in a GRPOConfig with those asked for: some libraries change them without failing."""
    per_step = args.per_device_train_batch_size * args.gradient_accumulation_steps * args.world_size
    pairs = {
        "completions a step": (cfg.prompts_per_step * cfg.group_size, per_step),
        "completions a prompt": (cfg.group_size, args.num_generations),
        "completions generated at once": (per_step, args.generation_batch_size),
        "optimizer steps": (cfg.grpo_steps, args.max_steps),
        "tokens in a completion": (cfg.max_tokens, args.max_completion_length),
    }
    changed = [f"{what}: expected {want}, found {got}" for what, (want, got) in pairs.items() if want != got]
    if changed:
        raise RuntimeError("the trainer would run with other sizes: " + "; ".join(changed))


def check_reward(trainer, module: ModuleType | dict[str, ModuleType]) -> None:
    """Score a known-good and a known-bad answer to the first row, of several environments to the first of each, through
    the trainer's own reward path.

    Raises:
        RuntimeError: the good one does not earn 1 or the bad one does not earn 0.
    """
    if not isinstance(module, dict):
        return _check_reward(trainer, module, trainer.train_dataset[0], "")
    names = trainer.train_dataset["environment"]
    for name in dict.fromkeys(names):
        _check_reward(trainer, module[name], trainer.train_dataset[list(names).index(name)], f" of {name}")


def _check_reward(trainer, module: ModuleType, row: dict, which: str) -> None:
    gold = module.answer(row)
    good = gold if isinstance(gold, list) else [{"role": "assistant", "content": gold}]
    answers = [good, [{"role": "assistant", "content": BAD_ANSWER}]]
    factories = getattr(trainer, "environment_factories", None)
    if factories:
        factory = factories.get(None) or factories[row["environment"]]
        trainer.environments = [_played(factory(), row, answer) for answer in answers]
    rewards = trainer._calculate_rewards([row, row], [row["prompt"]] * 2, answers, [[0], [0]])
    if factories:
        trainer.environments = None
    trainer._pending_extra_logs.clear()  # what a reward function logged here belongs to no step
    trainer._pending_metrics.clear()
    earned = rewards.nansum(dim=1).tolist()[:2]  # those of the first process, where there are several
    if earned != [1.0, 0.0]:
        raise RuntimeError(
            f"the reward path cannot be trusted: for task {row['task_id']} the gold answer earned {earned[0]:g}, "
            f"expected 1, and {BAD_ANSWER!r} earned {earned[1]:g}, expected 0"
        )
    print(f"reward path{which}: the gold answer earns 1, {BAD_ANSWER!r} earns 0")


def _played(env, row: dict, answer: list[dict]):
    """An environment after the tool calls of `answer`."""
    env.reset(**row)
    for message in answer:
        for call in message.get("tool_calls") or []:
            getattr(env, call["function"]["name"])(**call["function"]["arguments"])
    return env


# --- after training --------------------------------------------------------------------------------------


def check_learned(
    policy, tokenizer, rows: list[dict], cfg: SimpleNamespace, adapter: Path | str, merged: Path | str
) -> dict[str, int]:
    """Greedy answers must differ from the base model's: in memory, after the adapter is loaded by a new process, and
    after merging. Each form is compared with the base model run in the same way.

    Args:
        policy: The trained model with its LoRA adapter.
        tokenizer: Its tokenizer.
        rows: Tasks to answer.
        cfg: From `profiles.settings`.
        adapter: Folder of the saved adapter.
        merged: Folder of the merged model.

    Returns:
        How many answers differ, by form: "in memory", "adapter", "merged"; empty in another than the first process,
        which saves nothing.

    Raises:
        RuntimeError: in one of the forms none differs. A run of under 20 steps may change nothing and is let pass.
    """
    if not first_process():
        return {}
    prompts, greedy = [row["prompt"] for row in rows], {"temperature": 0, "max_tokens": cfg.max_tokens}
    local = LocalPolicy(policy, tokenizer)
    now = [reply["content"] for reply in local.generate(prompts, **greedy)]
    with policy.disable_adapter():
        off = [reply["content"] for reply in local.generate(prompts, **greedy)]
    plain = answers_in_new_process(cfg.model, None, rows, cfg.max_tokens)
    loaded = answers_in_new_process(cfg.model, adapter, rows, cfg.max_tokens)
    alone = answers_in_new_process(str(merged), None, rows, cfg.max_tokens)
    pairs = {"in memory": (off, now), "adapter": (plain, loaded), "merged": (plain, alone)}
    differ = {form: sum(a != b for a, b in zip(*pair)) for form, pair in pairs.items()}
    print(
        f"of {len(rows)} greedy answers differ from the base model's: "
        + ", ".join(f"{form} {n}" for form, n in differ.items())
    )
    dead = [form for form, n in differ.items() if not n]
    if dead and cfg.grpo_steps >= 20:
        raise RuntimeError(
            f"the trained model answers like the base model ({', '.join(dead)}): it was not trained, not saved or not "
            "loaded"
        )
    return differ

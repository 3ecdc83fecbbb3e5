# SPDX-License-Identifier: Apache-2.0
"""Which rows to train on: those whose prompt fits, and those that a policy solves now and then."""

from types import ModuleType, SimpleNamespace

from helpers.episodes.environment import tools_of
from helpers.episodes.estimates import groups


def fitting(module: ModuleType, rows: list[dict], tokenizer, cfg: SimpleNamespace, tools: bool = False) -> list[dict]:
    """The rows whose prompt leaves room for an answer; how many were dropped is printed.

    Args:
        module: The environment.
        rows: Its tasks.
        tokenizer: Of the model to train, with a chat template.
        cfg: From `profiles.settings`: a prompt may have max_seq_length - max_tokens tokens.
        tools: Whether the environment's tools stand in the prompt.

    Raises:
        ValueError: no row is left.
    """
    limit = cfg.max_seq_length - cfg.max_tokens
    lengths = [_tokens(module, row, tokenizer, tools) for row in rows]
    kept = [row for row, length in zip(rows, lengths) if length <= limit]
    if not kept:
        raise ValueError(
            f"all {len(rows)} prompts are longer than {limit} tokens (the shortest has {min(lengths, default=0)}): "
            f"raise max_seq_length={cfg.max_seq_length} or lower max_tokens={cfg.max_tokens}"
        )
    if len(kept) < len(rows):
        dropped = len(rows) - len(kept)
        print(f"dropped {dropped} of {len(rows)} rows: prompts of more than {limit} tokens, up to {max(lengths)}")
    return kept


def _tokens(module, row: dict, tokenizer, tools: bool) -> int:
    env = module.ENV() if tools else None
    schemas = [getattr(env, name) for name in tools_of(module, row)] if tools else None
    ids = tokenizer.apply_chat_template(row["prompt"], tools=schemas, add_generation_prompt=True, return_dict=False)
    return len(ids)


def curriculum(rows: list[dict], rollouts: list[dict]) -> list[dict]:
    """The rows that there is something to learn from, easiest first; the counts are printed.

    A row that was solved always or never in the rollouts has a dead group and is left out. Train on what is returned
    with `shuffle_dataset=False`, or the order is lost.

    Args:
        rows: Tasks.
        rollouts: Several episodes of each, by the policy to be trained, such as a reward profile makes.

    Raises:
        ValueError: a row was not measured, or none is left.
    """
    measured = {task: rewards for task, rewards in groups(rollouts).items() if rewards}
    missing = [row["task_id"] for row in rows if row["task_id"] not in measured]
    if missing:
        raise ValueError(
            f"{len(missing)} of {len(rows)} rows have no judged rollout, such as {missing[0]}: measure them first"
        )
    rate = {
        row["task_id"]: sum(r >= 1 for r in measured[row["task_id"]]) / len(measured[row["task_id"]]) for row in rows
    }
    never, always = (sum(value == end for value in rate.values()) for end in (0, 1))
    print(
        f"{len(rate) - never - always} of {len(rate)} rows to learn from; {never} never solved, {always} always solved"
    )
    kept = [row for row in rows if 0 < rate[row["task_id"]] < 1]
    if not kept:
        raise ValueError("no row was solved now and then: take other rows, more samples of each, or a warm-up by SFT")
    return sorted(kept, key=lambda row: -rate[row["task_id"]])

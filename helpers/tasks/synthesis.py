# SPDX-License-Identifier: Apache-2.0
"""Programming problems out of a model: it writes problem and solution, this file makes the tests, in the sandbox.

    drafts = synthesis.write(policy, 200, name="gpt", out="runs/synthesis/drafts.jsonl")
    rows, fallen = synthesis.build(drafts, out="runs/synthesis/built.jsonl")
    sifted = gates.sift(load("code"), rows, benchmark=texts, fallen=fallen)

What a model wrote is hostile: its programs run only in the sandbox, its values are JSON, and what it claims a program
returns is compared with what the sandbox saw. Both calls go on where a killed run stopped.
"""

import json
import os
import tempfile
from collections import Counter
from contextlib import nullcontext
from pathlib import Path
from random import Random

from helpers.episodes.store import Store
from helpers.rollout.monitor import Progress
from helpers.tasks.problem_schema import Problem, clean, parse
from helpers.tasks.program_tests import build

__all__ = ("LEVELS", "TOPICS", "build", "cost", "cost_line", "write")

LEVELS = ("easy", "medium", "hard")
TOPICS = (
    "counting in lists", "sorting with a twist", "strings and their characters", "words of a text", "intervals",
    "grids", "digits of numbers", "divisors and remainders", "stacks and brackets", "running totals", "dictionaries",
    "merging sequences", "schedules and durations", "simple simulations", "game rules", "money and prices",
    "run lengths and groups", "searching", "sets of things", "text formats and parsing",
)  # fmt: skip

_WHAT = {
    "easy": "one or two steps, a solution of one to five lines",
    "medium": "two or three steps that depend on each other, with a corner case or two",
    "hard": "an idea that is not obvious, or several rules that work together; still under forty lines",
}
_SYSTEM = "You write programming problems for Python, exact enough that only one result is right for any input."
_TASK = """Write one {level} problem about {topic}: {what}.

Answer with one JSON object and nothing else:
{{
 "statement": what the function must do, for every input that is allowed, in plain words, without the solution,
 "entry_point": the function's name,
 "parameters": [{{"name": ..., "type": one of int, float, bool, str, list[T], dict[str, T],
                 "low": smallest number in it, "high": largest number in it,
                 "min_length": fewest items of the list or dict, or characters of the string, "max_length": most
                 (lists and strings inside it get 1 to 6),
                 "alphabet": the characters that its strings are made of}}],
 "precondition": a Python expression in the parameters that holds for allowed inputs, or "True",
 "examples": three [{{"arguments": [...], "result": ...}}], not trivial, with different results,
 "solution": Python source that defines the function; standard library only, deterministic, no input or output
}}
In "parameters", leave out what does not apply. A result is made of null, numbers, booleans, strings, lists and dicts
with string keys: no tuple, no set. Draw on {seasoning} for the setting."""
_SEASONING = (
    "a bakery", "a library", "weather records", "a train line", "a garden", "a chess club", "a post office", "a museum",
    "a lighthouse", "an orchestra", "a harbour", "a school", "plain numbers", "plain strings", "a factory",
)  # fmt: skip
_AGAIN = "That cannot be used: {fault}. Send the whole corrected JSON object and nothing else."


def write(
    policy,
    n: int,
    *,
    name: str,
    topics: tuple[str, ...] = TOPICS,
    levels: tuple[str, ...] = LEVELS,
    retries: int = 2,
    temperature: float = 1.0,
    max_tokens: int = 2000,
    seed: int = 0,
    at_once: int = 16,
    out: Path | str | None = None,
    engine: str | None = None,
    quiet: bool = False,
) -> list[dict]:
    """Have a model write `n` problems with solutions.

    Args:
        policy: Anything with `generate`, see `helpers.rollout.policies`.
        n: How many are asked for; not all will be usable.
        name: What to call the model in the drafts.
        topics: What the problems are about, drawn anew for each.
        levels: How hard, in turn.
        retries: Further attempts after a reply that does not fit the schema; the model is told what is wrong.
        temperature: Of the sampling.
        max_tokens: Most new tokens in a reply.
        seed: Of the draws and the sampling.
        at_once: Requests that run side by side.
        out: A JSONL file that drafts are appended to as they finish. Those in it already are kept, and only the
            missing ones are asked for.
        engine: None, or "data-designer" to let NeMo Data Designer do the asking, of an `EndpointPolicy`.
        quiet: Print no progress and no cost.

    Returns:
        Drafts in order: {"request", "level", "topic", "problem" (None if no reply was usable), "fault", "calls",
        "usage"}, and the settings.

    Raises:
        ValueError: `out` holds drafts of other settings, or there is no such engine.
        RuntimeError: another run writes to `out`.
        ModuleNotFoundError: "data-designer" without its package.
    """
    if engine not in (None, "data-designer"):
        raise ValueError(f"engine must be None or 'data-designer', got {engine!r}")
    ask = _ask if engine is None else _ask_data_designer
    sampling = {"temperature": temperature, "max_tokens": max_tokens}
    settings = {"model": name, "engine": engine or "own", **sampling, "seed": seed}
    wanted = [_request(i, seed, topics, levels) for i in range(n)]
    with Store(out) if out else nullcontext() as store:
        done = _drafts_in(store, wanted, settings) if store else {}
        todo = [request for request in wanted if request["request"] not in done]
        progress = Progress(f"{name}: problems", n, start=n - len(todo), quiet=quiet)
        for start in range(0, len(todo), at_once):
            batch = todo[start : start + at_once]
            made = [settings | draft for draft in ask(policy, batch, sampling, retries, seed + 1000 * start)]
            done |= {draft["request"]: draft for draft in made}
            for draft in made if store else ():
                store.add(draft)
            progress.step(len(batch))
    drafts = [done[request["request"]] for request in wanted]
    if not quiet:
        print(f"{name}: {cost_line(drafts)}")
    return drafts


def _drafts_in(store: Store, wanted: list[dict], settings: dict) -> dict[int, dict]:
    """The drafts of an earlier run by request, all made with `settings` for the requests that are `wanted`."""
    for key, value in settings.items():
        other = next((draft[key] for draft in store.episodes if draft.get(key) != value), value)
        if other != value:
            raise ValueError(
                f"{store.path} holds drafts with {key}={other!r}, this run has {value!r}: give another file"
            )
    done = {draft["request"]: draft for draft in store.episodes}
    for request in wanted:
        old = done.get(request["request"], request)
        if (old["topic"], old["level"]) != (request["topic"], request["level"]):
            raise ValueError(f"{store.path} holds drafts for other topics or levels: give another file or delete it")
    return done


def cost(drafts: list[dict]) -> dict:
    """What drafts took: {"calls", "retries" (calls beyond the first of each), "input_tokens", "output_tokens",
    "cost_usd"}; tokens and dollars are 0 where the policy reports none."""
    calls = sum(draft["calls"] for draft in drafts)
    spent = Counter()
    for draft in drafts:
        spent.update(draft["usage"])
    keys = ("input_tokens", "output_tokens", "cost_usd")
    return {"calls": calls, "retries": calls - len(drafts), **{key: spent.get(key, 0) for key in keys}}


def cost_line(drafts: list[dict]) -> str:
    """The cost in words."""
    spent = cost(drafts)
    tokens = f"{spent['input_tokens']:,} tokens read, {spent['output_tokens']:,} written"
    dollars = f"${spent['cost_usd']:.4f}" if spent["cost_usd"] else "no price given"
    counted = f"{tokens}, {dollars}" if spent["output_tokens"] else "tokens not reported"
    return f"{spent['calls']} calls, {spent['retries']} of them retries, {counted}"


def _request(i: int, seed: int, topics, levels) -> dict:
    """What to ask for, the same for the same `i` and `seed` however many are asked for."""
    rng = Random(f"problem {seed} {i}")
    asked = {"topic": rng.choice(topics), "level": levels[i % len(levels)]}
    text = _TASK.format(**asked, what=_WHAT.get(asked["level"], asked["level"]), seasoning=rng.choice(_SEASONING))
    return {"request": i, **asked, "prompt": text}


def _ask(policy, batch: list[dict], sampling: dict, retries: int, seed: int) -> list[dict]:
    """A draft for each request of the batch; those whose reply does not fit the schema are asked again."""
    drafts = [
        {k: v for k, v in r.items() if k != "prompt"} | {"problem": None, "fault": "", "calls": 0, "usage": {}}
        for r in batch
    ]
    talks = [[{"role": "system", "content": _SYSTEM}, {"role": "user", "content": r["prompt"]}] for r in batch]
    open_ones = list(range(len(batch)))
    for attempt in range(retries + 1):
        replies = _replies(policy, [talks[i] for i in open_ones], sampling, seed + 1_000_003 * attempt)
        for i, reply in zip(open_ones, replies):
            draft, said = drafts[i], clean(reply.get("content") or "")
            problem, fault = parse(said)
            cut = reply.get("finish_reason") == "length" and problem is None
            fault = reply.get("fault") or (f"cut off after {sampling['max_tokens']} tokens" if cut else clean(fault))
            used = {k: v for k, v in (reply.get("usage") or {}).items() if k != "seconds"}
            draft |= {"problem": problem and problem.model_dump(), "fault": fault, "calls": draft["calls"] + 1}
            draft["usage"] = dict(Counter(draft["usage"]) + Counter(used))
            again = _AGAIN.format(fault=fault)
            talks[i] += [{"role": "assistant", "content": said}, {"role": "user", "content": again}]
        open_ones = [i for i in open_ones if drafts[i]["problem"] is None]
        if not open_ones:
            break
    return drafts


def _ask_data_designer(policy, batch: list[dict], sampling: dict, retries: int, seed: int) -> list[dict]:
    """As `_ask`, by NeMo Data Designer: its client, its check of the schema, its restarts. It counts tokens in its own
    log only, and takes no seed."""
    if not hasattr(policy, "base_url"):
        raise ValueError(f"engine 'data-designer' calls an endpoint itself: give an EndpointPolicy, not {policy!r:.50}")
    os.environ.setdefault("NEMO_TELEMETRY_ENABLED", "false")  # read at import; by default it reports its use
    try:
        import data_designer.config as config
        from data_designer.interface import DataDesigner
    except ModuleNotFoundError:
        raise ModuleNotFoundError(
            "engine 'data-designer' needs its package: pip install data-designer==0.9.7 (an environment of its own is "
            "best, since it asks for pyarrow 24)"
        ) from None
    import logging

    import pandas

    logging.getLogger("data_designer").setLevel(logging.ERROR)
    provider = config.ModelProvider(name="writer", endpoint=policy.base_url, api_key="key")
    model = config.ModelConfig(
        alias="writer", model=policy.model, provider="writer", skip_health_check=True,
        inference_parameters=config.ChatCompletionInferenceParams(
            **sampling, max_parallel_requests=policy.at_once, timeout=max(1, round(policy.timeout_s))
        ),
    )  # fmt: skip
    builder = config.DataDesignerConfigBuilder(model_configs=[model])
    frame = pandas.DataFrame([{"request": r["request"], "prompt": r["prompt"]} for r in batch])
    builder.with_seed_dataset(config.DataFrameSeedSource(df=frame))
    builder.add_column(
        config.LLMStructuredColumnConfig(
            name="problem", prompt="{{ prompt }}", system_prompt=_SYSTEM, model_alias="writer", output_format=Problem
        )
    )
    with tempfile.TemporaryDirectory() as folder:
        designer = DataDesigner(
            folder, model_providers=[provider], secret_resolver=_KeyOf(policy), auto_configure_logging=False
        )
        designer.set_run_config(config.RunConfig(max_conversation_restarts=retries, disable_early_shutdown=True))
        made = designer.preview(builder, num_records=len(batch)).dataset  # in memory: values of all types, no files
    found = {row["request"]: parse(json.dumps(row["problem"])) for row in made.to_dict("records")}
    lost = (None, "Data Designer got no usable reply")
    drafts = []
    for request in batch:
        problem, fault = found.get(request["request"], lost)
        about = {key: value for key, value in request.items() if key != "prompt"}
        drafts.append(about | {"problem": problem and problem.model_dump(), "fault": fault, "calls": 1, "usage": {}})
    return drafts


class _KeyOf:
    """Hands Data Designer the key of an endpoint when it connects, so that no configuration holds it."""

    def __init__(self, policy):
        self.resolve = lambda _: policy._key() or "none"


# Faults of an endpoint that are about one request; any other stops the run, which then goes on where it stopped.
_OF_THE_REQUEST = ("http 400", "http 413", "http 422", "malformed reply", "timeout")


def _replies(policy, talks: list[list[dict]], sampling: dict, seed: int) -> list[dict]:
    """Replies, asked for together; if that fails, one by one, so that a refused request takes no others along."""
    try:
        return policy.generate(talks, seed=seed, **sampling)
    except Exception as error:
        if len(talks) > 1:
            return [_replies(policy, [talk], sampling, seed + i)[0] for i, talk in enumerate(talks)]
        if getattr(error, "kind", None) not in _OF_THE_REQUEST:
            raise
        return [{"role": "assistant", "content": "", "fault": clean(str(error))[:300]}]

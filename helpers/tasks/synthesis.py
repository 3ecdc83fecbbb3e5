"""Programming problems out of a model: it writes problem and solution, this file makes the tests, in the sandbox.

    drafts = synthesis.write(policy, 200, name="gpt", out="runs/synthesis/drafts.jsonl")
    rows, fallen = synthesis.build(drafts, out="runs/synthesis/built.jsonl")
    sifted = gates.sift(load("code"), rows, benchmark=texts, fallen=fallen)

What a model wrote is hostile: its programs run only in the sandbox, its values are JSON, and what it claims a program
returns is compared with what the sandbox saw. Both calls go on where a killed run stopped.
"""

import ast
import json
import os
import re
import tempfile
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from hashlib import sha256
from keyword import iskeyword
from math import isfinite
from pathlib import Path
from random import Random
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, Field, JsonValue, ValidationError, model_validator

from helpers.episodes.store import read
from helpers.rollout.monitor import Progress

LEVELS = ("easy", "medium", "hard")
TOPICS = (
    "counting in lists", "sorting with a twist", "strings and their characters", "words of a text", "intervals",
    "grids", "digits of numbers", "divisors and remainders", "stacks and brackets", "running totals", "dictionaries",
    "merging sequences", "schedules and durations", "simple simulations", "game rules", "money and prices",
    "run lengths and groups", "searching", "sets of things", "text formats and parsing",
)  # fmt: skip
TESTS = 12  # most hidden tests of a problem
FEWEST = 6
LONGEST = 800  # characters of an argument list or of a result
TIME_LIMIT_S = 4.0  # for a solver; the reference gets half of it

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


# --- what a model has to write ---------------------------------------------------------------------------


def _identifier(name: str) -> str:
    if not re.fullmatch(r"[A-Za-z][A-Za-z0-9_]{0,40}", name) or iskeyword(name):
        raise ValueError(f"{name!r:.60} is no plain name of a function or parameter")
    return name


def _known_type(kind: str) -> str:
    kind = kind.replace(" ", "").lower()
    made = re.fullmatch(r"(list\[|dict\[str,){0,3}(int|float|bool|str)\]{0,3}", kind)
    if not made or kind.count("[") != kind.count("]"):
        raise ValueError(f"{kind!r:.60} is not made of int, float, bool, str, list[T] and dict[str, T]")
    return kind


Name = Annotated[str, AfterValidator(_identifier)]


class Parameter(BaseModel):
    """A parameter and the inputs that it allows."""

    name: Name
    type: Annotated[str, AfterValidator(_known_type)]
    low: float = Field(-20, ge=-1e9, le=1e9)
    high: float = Field(50, ge=-1e9, le=1e9)
    min_length: int = Field(0, ge=0, le=50)
    max_length: int = Field(8, ge=0, le=60)
    alphabet: str = Field("abcdeXYZ 019", min_length=1, max_length=200)

    @model_validator(mode="after")
    def _in_order(self):
        if self.low > self.high or self.min_length > self.max_length:
            raise ValueError(f"parameter {self.name}: its smallest value or length is above its largest")
        return self


class Example(BaseModel):
    """Arguments and what the function is claimed to return."""

    arguments: list[JsonValue]
    result: JsonValue


class Problem(BaseModel):
    """A problem as a model writes it."""

    statement: str = Field(min_length=20, max_length=4000)
    entry_point: Name
    parameters: list[Parameter] = Field(min_length=1, max_length=5)
    precondition: str = Field("True", max_length=400)
    examples: list[Example] = Field(min_length=1, max_length=6)
    solution: str = Field(min_length=10, max_length=8000)

    @model_validator(mode="after")
    def _examples_fit(self):
        if len({p.name for p in self.parameters}) < len(self.parameters):
            raise ValueError("two parameters have the same name")
        for example in self.examples:
            given, wanted = example.arguments, [p.type for p in self.parameters]
            if len(given) != len(wanted) or not all(_fits(value, kind) for value, kind in zip(given, wanted)):
                raise ValueError(f"arguments {json.dumps(given)[:100]} are not of the types {', '.join(wanted)}")
        return self


def _inner(kind: str) -> str:
    """T of list[T] and dict[str,T]."""
    return kind.partition("[")[2][:-1].removeprefix("str,")


def _item(p: Parameter) -> Parameter:
    """What a list or dict holds, as a parameter of its own."""
    return p.model_copy(update={"type": _inner(p.type), "min_length": 1, "max_length": 6})


def _fits(value: Any, kind: str) -> bool:
    if kind.startswith("list["):
        return isinstance(value, list) and all(_fits(v, _inner(kind)) for v in value)
    if kind.startswith("dict["):
        return isinstance(value, dict) and all(_fits(v, _inner(kind)) for v in value.values())
    if kind == "float":
        return isinstance(value, int | float) and not isinstance(value, bool)
    return type(value).__name__ == kind


def parse(text: str) -> tuple[Problem | None, str]:
    """The problem in a model's reply, or None and what is wrong with it, in words that the model can act on.

    Thoughts before </think> are dropped; the first JSON object counts, in a code block or not.
    """
    text = text.rpartition("</think>")[2]
    start = text.find("{")
    if start < 0:
        return None, "there is no JSON object in it"
    try:
        found, _ = json.JSONDecoder(strict=False).raw_decode(text, start)
        json.dumps(found, allow_nan=False, ensure_ascii=False).encode()  # no infinities, no halves of characters
        return Problem.model_validate(found), ""
    except ValidationError as error:
        faults = [f"{'.'.join(map(str, e['loc']))}: {e['msg']}".lstrip(": ") for e in error.errors()[:3]]
        return None, "; ".join(faults)[:500]
    except (ValueError, RecursionError) as error:
        return None, f"it is not JSON ({error})"[:300]


# --- asking ----------------------------------------------------------------------------------------------


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
        ModuleNotFoundError: "data-designer" without its package.
    """
    if engine not in (None, "data-designer"):
        raise ValueError(f"engine must be None or 'data-designer', got {engine!r}")
    ask = _ask if engine is None else _ask_data_designer
    sampling = {"temperature": temperature, "max_tokens": max_tokens}
    settings = {"model": name, "engine": engine or "own", **sampling, "seed": seed}
    wanted = [_request(i, seed, topics, levels) for i in range(n)]
    done = {draft["request"]: draft for draft in _resume(out, settings)}
    for request in wanted:
        old = done.get(request["request"], request)
        if (old["topic"], old["level"]) != (request["topic"], request["level"]):
            raise ValueError(f"{out} holds drafts for other topics or levels: give another file or delete it")
    todo = [request for request in wanted if request["request"] not in done]
    progress = Progress(f"{name}: problems", n, start=n - len(todo), quiet=quiet)
    for start in range(0, len(todo), at_once):
        batch = todo[start : start + at_once]
        made = [settings | draft for draft in ask(policy, batch, sampling, retries, seed + 1000 * start)]
        done |= {draft["request"]: draft for draft in made}
        _append(out, made)
        progress.step(len(batch))
    drafts = [done[request["request"]] for request in wanted]
    if not quiet:
        print(f"{name}: {cost_line(drafts)}")
    return drafts


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
            draft, said = drafts[i], _clean(reply.get("content") or "")
            problem, fault = parse(said)
            cut = reply.get("finish_reason") == "length" and problem is None
            fault = reply.get("fault") or (f"cut off after {sampling['max_tokens']} tokens" if cut else _clean(fault))
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
        return [{"role": "assistant", "content": "", "fault": _clean(str(error))[:300]}]


def _clean(text: str) -> str:
    """Text that can be written and sent: halves of characters, which models and programs can produce, become '?'."""
    return text.encode("utf-8", "replace").decode()


def _resume(out: Path | str | None, settings: dict) -> list[dict]:
    """The entries of a JSONL file, all made with `settings`; a last line that was never finished is cut off."""
    if out is None or not Path(out).is_file():
        return []
    entries = read(out)
    for key, value in settings.items():
        other = next((e[key] for e in entries if e.get(key) != value), value)
        if other != value:
            raise ValueError(f"{out} holds drafts with {key}={other!r}, this run has {value!r}: give another file")
    Path(out).write_text("".join(json.dumps(e, ensure_ascii=False) + "\n" for e in entries), encoding="utf-8")
    return entries


def _append(out: Path | str | None, entries: list[dict]) -> None:
    if out is not None:
        Path(out).parent.mkdir(parents=True, exist_ok=True)
        with Path(out).open("a", encoding="utf-8") as file:
            file.write("".join(json.dumps(e, ensure_ascii=False) + "\n" for e in entries))


# --- making tests ----------------------------------------------------------------------------------------


class _Fall(Exception):
    """A draft that does not become a row: the gate and the reason."""


def build(
    drafts: list[dict], *, out: Path | str | None = None, allow_unisolated: bool = False, quiet: bool = False
) -> tuple[list[dict], list[dict]]:
    """Turn drafts into rows of the code environment: inputs drawn by type, results as the sandbox saw them.

    The same drafts give the same rows. A problem falls whose solution does not run, does not return what its own
    examples say, or returns something else in a second sandbox.

    Args:
        drafts: As `write` returns them.
        out: A JSONL file that results are appended to; those in it already are kept.
        allow_unisolated: Run the programs even where no sandbox can be had, see `envs.code_sandbox`.
        quiet: Print no progress.

    Returns:
        (rows, fallen), the latter as `gates.sift` takes it.
    """
    from envs.code_sandbox import Sandbox

    done = {entry["key"]: entry for entry in _resume(out, {})}
    keys = [sha256(json.dumps([d["request"], d["level"], d["problem"]]).encode()).hexdigest()[:16] for d in drafts]
    todo = {key: draft for key, draft in zip(keys, drafts) if key not in done}
    progress = Progress("tests", len(drafts), start=len(drafts) - len(todo), quiet=quiet)
    if todo:
        pool = ThreadPoolExecutor(os.cpu_count())
        try:
            with (
                Sandbox(allow_unisolated=allow_unisolated) as first,
                Sandbox(allow_unisolated=allow_unisolated) as second,
            ):
                for key, made in zip(todo, pool.map(lambda draft: _built(draft, first, second), todo.values())):
                    done[key] = {"key": key} | made
                    _append(out, [done[key]])
                    progress.step()
        finally:
            pool.shutdown(cancel_futures=True)
    found = [done[key] for key in keys]
    return [e["row"] for e in found if e["row"]], [e["fell"] for e in found if e["fell"]]


def _built(draft: dict, first, second) -> dict:
    """{"row", "fell"}, one of them None."""
    try:
        if draft["problem"] is None:
            raise _Fall("unusable reply", draft["fault"])
        problem = Problem.model_validate(draft["problem"])
        return {"row": _row(problem, draft, *_tests(problem, first, second)), "fell": None}
    except _Fall as fall:
        gate, reason = fall.args
        about = {"request": draft["request"], "topic": draft["topic"], "problem": draft["problem"]}
        return {"row": None, "fell": {"gate": gate, "reason": _clean(reason)[:300], "row": about}}


def _tests(problem: Problem, first, second) -> tuple[list[dict], list[dict]]:
    """(examples, hidden tests), each {"args", "expected"}."""
    name = problem.entry_point
    shown, drawn = _allowed(problem, [example.arguments for example in problem.examples], inputs(problem), first)
    public = []
    for example, call, outcome in zip(problem.examples, shown, _outcomes(first, problem, shown)):
        said = f"{name}({call[1:-1]:.100})"
        if outcome.status != "ok":
            raise _Fall("does not run", f"{said}: {outcome.status}: {outcome.error}")
        if not _is_json(outcome.value):
            raise _Fall("result not plain", f"{said} returns {type(outcome.value).__name__} {outcome.value!r:.100}")
        if not _agrees(example.result, outcome.value):
            raise _Fall("wrong example", f"{said} returns {outcome.value!r:.80}, not {example.result!r:.80} as claimed")
        public.append({"args": call, "expected": repr(outcome.value)})
    outcomes = _outcomes(first, problem, drawn)
    failed = [outcome for outcome in outcomes if outcome.status != "ok"]
    if len(failed) > len(drawn) / 2:
        why = f"{failed[0].status}: {failed[0].error}"
        raise _Fall("does not run", f"fails on {len(failed)} of {len(drawn)} inputs: {why}")
    found = [
        {"args": call, "expected": repr(outcome.value)}
        for call, outcome in zip(drawn, outcomes)
        if outcome.status == "ok" and _is_json(outcome.value) and len(call) + len(repr(outcome.value)) < LONGEST
    ]
    hidden = _spread(found)
    if len(hidden) < FEWEST:
        raise _Fall("too few tests", f"only {len(hidden)} inputs are usable, {FEWEST} are needed")
    for test, outcome in zip(public + hidden, _outcomes(second, problem, [t["args"] for t in public + hidden])):
        if outcome.status != "ok" or repr(outcome.value) != test["expected"]:
            said = f"{name}({test['args'][1:-1]:.60}) gives {test['expected']:.60}"
            raise _Fall("flaky", f"{said}, then {outcome.error or repr(outcome.value):.60}")
    return public, hidden


def _outcomes(sandbox, problem: Problem, calls: list[str]) -> list:
    """What became of each call of the solution; a fall where the whole did not run."""
    run = sandbox.run_function(problem.solution, problem.entry_point, calls, time_limit_s=TIME_LIMIT_S / 2)
    if run.status == "sandbox":
        raise RuntimeError(f"the sandbox could not judge: {run.error}")
    if run.status != "ok":
        raise _Fall("does not run", f"{run.status}: {run.error}")
    return run.outcomes


def _allowed(problem: Problem, shown: list[list], drawn: list[list], sandbox) -> tuple[list[str], list[str]]:
    """The examples' arguments, and others that the precondition allows, as text; it runs in the sandbox."""
    shown, drawn = [repr(arguments) for arguments in shown], [repr(arguments) for arguments in drawn]
    drawn = [call for call in drawn if call not in shown]
    if problem.precondition.strip() in ("", "True"):
        return shown, drawn
    names = ", ".join(p.name for p in problem.parameters)
    source = f"def allowed({names}):\n    return bool(\n{problem.precondition}\n)"
    run = sandbox.run_function(source, "allowed", shown + drawn, time_limit_s=TIME_LIMIT_S / 2)
    if run.status != "ok":
        raise _Fall("does not run", f"precondition {problem.precondition[:80]!r}: {run.status}: {run.error}")
    allows = {call for call, outcome in zip(shown + drawn, run.outcomes) if outcome.value is True}
    if broken := next((call for call in shown if call not in allows), None):
        raise _Fall("wrong example", f"{broken:.100} breaks the precondition {problem.precondition[:80]!r}")
    return shown, [call for call in drawn if call in allows]


def _spread(tests: list[dict]) -> list[dict]:
    """At most `TESTS` of them: one for each different result, boundary values before draws, then draws."""
    firsts = {test["expected"]: i for i, test in reversed(list(enumerate(tests)))}
    order = sorted(firsts.values()) + [i for i in reversed(range(len(tests))) if i not in firsts.values()]
    return [tests[i] for i in sorted(order[:TESTS])]


def _is_json(value: Any) -> bool:
    """Whether a result is made of what JSON has, so that a solver is not left to guess list or tuple."""
    if isinstance(value, list):
        return all(map(_is_json, value))
    if isinstance(value, dict):
        return all(isinstance(key, str) and _is_json(item) for key, item in value.items())
    return value is None or isinstance(value, bool | int | str) or (isinstance(value, float) and isfinite(value))


def _agrees(claimed: Any, seen: Any) -> bool:
    """Whether a result is the claimed one; numbers with a tolerance where a fraction is involved."""
    if isinstance(claimed, list) and isinstance(seen, list):
        return len(claimed) == len(seen) and all(map(_agrees, claimed, seen))
    if isinstance(claimed, dict) and isinstance(seen, dict):
        return claimed.keys() == seen.keys() and all(_agrees(claimed[key], seen[key]) for key in claimed)
    numbers = all(isinstance(v, int | float) and not isinstance(v, bool) for v in (claimed, seen))
    if numbers and (isinstance(claimed, float) or isinstance(seen, float)):
        return abs(claimed - seen) <= 1e-6 * max(1.0, abs(claimed))
    return type(claimed) is type(seen) and claimed == seen


def _holds_float(value: Any) -> bool:
    inside = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return isinstance(value, float) or any(map(_holds_float, inside))


def _row(problem: Problem, draft: dict, examples: list[dict], tests: list[dict]) -> dict:
    """The problem as a row of the code environment."""
    names = ", ".join(f"{p.name}: {p.type.replace(',', ', ')}" for p in problem.parameters)
    shown = "\n".join(f"{problem.entry_point}({test['args'][1:-1]}) == {test['expected']}" for test in examples)
    question = f"{problem.statement.strip()}\n\nWrite {problem.entry_point}({names}). Examples:\n\n{shown}"
    floats = any(_holds_float(ast.literal_eval(test["expected"])) for test in tests)
    task = {
        "entry_point": problem.entry_point,
        "tests": tests,
        "comparison": "approx" if floats else "eq",
        "time_limit_s": TIME_LIMIT_S,
        "solution": problem.solution.strip(),
        "examples": examples,
        "difficulty": draft["level"],
        "topic": draft["topic"],
        "question": question,
    }
    text = json.dumps(task, ensure_ascii=False)
    name = f"code-written-{sha256(text.encode()).hexdigest()[:12]}"
    return {"prompt": [{"role": "user", "content": question}], "environment": "code", "task_id": name, "task": text}


# --- inputs ----------------------------------------------------------------------------------------------


def inputs(problem: Problem, drawn: int = 24) -> list[list]:
    """Argument lists that the parameters allow: boundary values, small changes of the examples (as EvalPlus does, Liu
    et al. 2023), and draws. The same for the same problem."""
    rng = Random(f"inputs {problem.model_dump_json()}")
    parameters = problem.parameters
    found = []
    for i, parameter in enumerate(parameters):
        for value in _edges(parameter, rng):
            others = [_draw(p, rng) for p in parameters]
            found.append([*others[:i], value, *others[i + 1 :]])
    for example in problem.examples:
        for _ in range(4):
            i = rng.randrange(len(parameters))
            changed = _changed(example.arguments[i], parameters[i], rng)
            found.append([*example.arguments[:i], changed, *example.arguments[i + 1 :]])
    found += [[_draw(p, rng) for p in parameters] for _ in range(drawn)]
    return list({repr(arguments): arguments for arguments in found}.values())


def _draw(p: Parameter, rng: Random) -> Any:
    """A value of the type within the bounds. Half of the lists of lists are rectangular, as grids are."""
    if p.type == "bool":
        return rng.random() < 0.5
    if p.type == "int":
        return rng.randint(round(p.low), round(p.high))
    if p.type == "float":
        return round(rng.uniform(p.low, p.high), rng.choice((0, 1, 2)))
    size = rng.randint(p.min_length, p.max_length)
    if p.type == "str":
        return "".join(rng.choices(p.alphabet, k=size))
    item = _item(p)
    if item.type.startswith("list[") and rng.random() < 0.5:
        wide = rng.randint(1, 6)
        item = item.model_copy(update={"min_length": wide, "max_length": wide})
    values = [_draw(item, rng) for _ in range(size)]
    if p.type.startswith("list["):
        return values
    return {"".join(rng.choices(p.alphabet, k=rng.randint(1, 4))): value for value in values}


def _edges(p: Parameter, rng: Random) -> list:
    """Values at the boundaries of what the parameter allows."""
    if p.type == "bool":
        return [False, True]
    if p.type in ("int", "float"):
        cast = round if p.type == "int" else float
        return [cast(x) for x in dict.fromkeys((p.low, p.high, 0, 1, -1)) if p.low <= x <= p.high]
    if p.type == "str":
        first, last = p.alphabet[0], p.alphabet[-1]
        found = ["", first, first * 3, last + first, first * p.max_length]
    elif p.type.startswith("list["):
        item, several = _item(p), _draw(p, rng)
        one, other = _draw(item, rng), _draw(item, rng)
        found = [[], [one], [one, one], [one, other, one], sorted(several, key=repr), several[::-1]]
        found += [[edge] for edge in _edges(item, rng)[:4]]
    else:
        found = [{}, {p.alphabet[0]: _draw(_item(p), rng)}]
    return [value for value in found if p.min_length <= len(value) <= p.max_length]


def _changed(value: Any, p: Parameter, rng: Random) -> Any:
    """A value with one small change that its type and bounds allow; the value itself where there is none."""
    if p.type == "bool":
        return not value
    if p.type in ("int", "float"):
        moved = value + rng.choice((-1, 1, -2, 2, 10))
        return moved if p.low <= moved <= p.high else value
    if not value:
        return value
    if p.type.startswith("dict["):
        key = rng.choice(sorted(value))
        return value | {key: _changed(value[key], _item(p), rng)}
    items, way = list(value), rng.randrange(4)
    at, other = rng.randrange(len(items)), rng.randrange(len(items))
    if way == 0 and len(items) > p.min_length:
        del items[at]
    elif way == 1 and len(items) < p.max_length:
        items.insert(at, items[other])
    elif way == 2:
        items[at], items[other] = items[other], items[at]
    else:
        items[at] = items[other] if p.type == "str" else _changed(items[at], _item(p), rng)
    return "".join(items) if p.type == "str" else items

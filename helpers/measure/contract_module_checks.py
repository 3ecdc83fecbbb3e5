# SPDX-License-Identifier: Apache-2.0
"""What the contract says of a module by itself: its names, its tools' documentation, its rows."""

import inspect
import json
import random
import re
import typing

from helpers.measure.contract_subject import Broken, Subject, public_names, short

COLUMNS = ("prompt", "environment", "task_id", "task")
OPTIONAL = ("tools_for", "read_rows", "rows_from_nemo_gym", "view", "CAPABILITIES", "system_prompt")


def check_surface(s: Subject) -> str:
    """The module has the public names, the class only `reset`, `get_reward` and tools, as plain methods."""
    for name in ("make_rows", "ENV", "answer", "parse", "score", "reward"):
        if not callable(getattr(s.module, name, None)):
            raise Broken(f"{name} is missing; every environment module defines it")
    cls = s.module.ENV
    if not isinstance(cls, type) or getattr(s.module, cls.__name__, None) is not cls or cls.__name__ in ("Env", "ENV"):
        raise Broken(f"ENV is {cls!r}; let it be the alias of a class called <Task>Env in the same module")
    for name in public_names(cls):
        kind = inspect.getattr_static(cls, name)
        if not inspect.isfunction(kind):
            raise Broken(
                f"{cls.__name__}.{name} is a {type(kind).__name__}, which trainers list as a tool; make it a plain "
                "method if it is one, else a module function or a name that starts with _"
            )
    for name in ("reset", "get_reward"):
        if name not in public_names(cls):
            raise Broken(f"{cls.__name__} has no method {name}; define it")
    if not s.tools:
        raise Broken(f"{cls.__name__} has no tool; a text-only task has `submit`")
    env = cls()
    env.reset()
    for name, value in vars(env).items():
        if not name.startswith("_") and callable(value):
            raise Broken(f"attribute {name} is callable, which trainers list as a tool; call it _{name}")
    if inspect.signature(env.get_reward).parameters:
        raise Broken("get_reward takes arguments; trainers call it with none")
    return "tools: " + ", ".join(s.tools)


def check_documented(s: Subject) -> str:
    """Every tool has a summary, an `Args:` entry and a type hint for every argument, and returns text."""
    total = 0
    for name in s.tools:
        tool = getattr(s.module.ENV, name)
        doc = inspect.getdoc(tool) if tool.__doc__ else ""
        if not doc:
            raise Broken(f"tool {name} has no docstring; write what it does and an Args: section")
        section = re.search(r"^Args:\n((?:[ \t]+.*\n?|\n)*)", doc, re.M)
        entries = set(re.findall(r"^ +(\w+)(?: ?\([^)]*\))?: *\S", section[1], re.M)) if section else set()
        hints = typing.get_type_hints(tool)
        parameters = list(inspect.signature(tool).parameters.values())[1:]
        for p in parameters:
            if p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD, p.POSITIONAL_ONLY):
                raise Broken(f"tool {name} takes {p}; a model needs every argument by its name, so spell them out")
            if p.name not in hints:
                raise Broken(f"argument {p.name} of tool {name} has no type hint; add one")
            if p.name not in entries:
                raise Broken(f"argument {p.name} of tool {name} is not documented; add '{p.name}: ...' under Args:")
        if unknown := entries - {p.name for p in parameters}:
            raise Broken(f"the docstring of tool {name} documents {sorted(unknown)}, which it does not take; remove")
        if hints.get("return") is not str:
            raise Broken(f"tool {name} is hinted to return {hints.get('return')}; a tool returns text: '-> str'")
        total += len(parameters)
    return f"{len(s.tools)} tools with {total} arguments"


def check_rows(s: Subject) -> str:
    """Rows have the four columns, text-only values, and survive JSON."""
    if not isinstance(s.rows, list) or len(s.rows) != s.n:
        raise Broken(f"make_rows({s.n}) returned {short(s.rows)}; return a list of {s.n} rows")
    for row in s.rows:
        _check_row(row)
    if len({row["environment"] for row in s.rows}) != 1:
        raise Broken("environment differs between rows; it is the name that `envs.load` knows the module by")
    if json.loads(json.dumps(s.rows)) != s.rows:
        raise Broken("rows come back changed from JSON; use text, lists and dicts with text keys only")
    if len({row["task_id"] for row in s.rows}) != s.n:
        raise Broken(f"task_id repeats among {s.n} rows; make it unique, for instance a hash of the task")
    return f"{s.n} rows with {len(s.rows[0])} columns, same after JSON"


def _check_row(row: dict) -> None:
    if not isinstance(row, dict) or sorted(row) != sorted(COLUMNS):
        raise Broken(f"a row has the columns {sorted(row)}; give exactly {', '.join(COLUMNS)}")
    for name in COLUMNS[1:]:
        if not isinstance(row[name], str) or not row[name]:
            raise Broken(f"{name} is {short(row[name])}; it must be text")
    if not isinstance(json.loads(row["task"]), dict):
        raise Broken(f"task is {short(row['task'])}; it must be the JSON text of an object")
    good = isinstance(row["prompt"], list) and row["prompt"] and all(isinstance(m, dict) for m in row["prompt"])
    if not good or any(not isinstance(m.get(k), str) for m in row["prompt"] for k in ("role", "content")):
        raise Broken(f"prompt is {short(row['prompt'])}; it must be a list of messages with role and content")


def check_arrow(s: Subject) -> str:
    """Rows survive Arrow, which is how `datasets` stores them."""
    try:
        import pyarrow
    except ImportError:
        return "skipped: pyarrow is not installed"
    back = pyarrow.Table.from_pylist(s.rows).to_pylist()
    for row, was in zip(back, s.rows):
        if row != was:
            name = next(k for k in COLUMNS if row[k] != was[k])
            raise Broken(
                f"{name} {short(was[name])} comes back from Arrow as {short(row[name])}; give all rows and messages "
                "the same keys, and keep what varies inside the task text"
            )
    return f"{s.n} rows, same after Arrow"


def check_seed(s: Subject) -> str:
    """Same arguments, same rows; the global random state is neither used nor disturbed."""
    rows = s.rows  # made before the random state is looked at
    outer = random.getstate()
    random.seed("contract")
    before = random.getstate()
    again = s.module.make_rows(s.n, seed=0, **s.knobs)
    touched = random.getstate() != before
    random.setstate(outer)
    if again != rows:
        raise Broken("make_rows gave other rows for the same seed; draw from random.Random(seed) only")
    if touched:
        raise Broken("make_rows draws from the global random state; draw from random.Random(seed) only")
    rows[0]["prompt"].append({"role": "user", "content": "changed by the caller"})
    del again[0]["prompt"][1:]
    fresh = s.module.make_rows(s.n, seed=0, **s.knobs)
    rows[0]["prompt"].pop()
    if fresh != rows:
        raise Broken("make_rows hands out the same objects twice, so a caller can change them; build rows anew")
    return f"{s.n} rows, same again"


def check_splits(s: Subject) -> str:
    """No task and no task_id is in two splits, whatever the seeds."""
    owner: dict[str, str] = {}
    splits = getattr(s.module, "SPLITS", ("train", "validation", "test"))
    for split in splits:
        for seed in (0, 1):
            for row in s.module.make_rows(s.n, seed=seed, split=split, **s.knobs):
                for key in (row["task"], row["task_id"]):
                    if owner.setdefault(key, split) != split:
                        raise Broken(
                            f"{short(key)} is in split {owner[key]!r} and in {split!r}; decide the split from a hash "
                            "of the task, not from the seed"
                        )
    return f"{', '.join(splits)} share no task"


def check_difficulties(s: Subject) -> str:
    """`DIFFICULTIES` names the levels, easiest first, and `make_rows` makes tasks of each."""
    levels = getattr(s.module, "DIFFICULTIES", None)
    if levels is None:
        raise Broken("DIFFICULTIES is missing; name the levels of make_rows, easiest first, such as ('easy', 'hard')")
    named = isinstance(levels, tuple) and levels and all(isinstance(level, str) and level for level in levels)
    if not named or len(set(levels)) < len(levels):
        raise Broken(f"DIFFICULTIES is {short(levels)}; let it be a tuple of different names, easiest first")
    for level in levels:
        try:
            rows = s.module.make_rows(2, difficulty=level)  # of its own: other knobs may rule a level out
        except Exception as error:
            raise Broken(
                f"make_rows(2, difficulty={level!r}) raised {type(error).__name__}: {error}; let it take every level "
                "that DIFFICULTIES names"
            ) from error
        if not isinstance(rows, list) or len(rows) != 2:
            raise Broken(f"make_rows(2, difficulty={level!r}) returned {short(rows)}; return a list of 2 rows")
        for row in rows:
            _check_row(row)
    remedy = "raise ValueError and name the levels that there are"
    try:
        s.module.make_rows(1, difficulty="no such level")
    except ValueError as error:
        if not all(level in str(error) for level in levels):
            raise Broken(f"make_rows refuses an unknown difficulty with '{error}'; {remedy}") from error
    except Exception as error:
        raise Broken(f"make_rows raises {type(error).__name__} for an unknown difficulty; {remedy}") from error
    else:
        raise Broken(f"make_rows takes a difficulty that is none of DIFFICULTIES; {remedy}")
    return ", ".join(levels)


def check_optional_names(s: Subject) -> str:
    """What a module need not have is of its kind where it is there."""
    seen = [name for name in OPTIONAL if hasattr(s.module, name)]
    for name in seen:
        value = getattr(s.module, name)
        if name == "CAPABILITIES":
            if not isinstance(value, dict) or not all(isinstance(text, str) for item in value.items() for text in item):
                raise Broken(f"CAPABILITIES is {short(value)}; let it be a dict, kind of failure to what is missing")
        elif not callable(value) and not (name == "system_prompt" and isinstance(value, str)):
            raise Broken(f"{name} is {short(value)}; let it be a function, or leave the name out")
    if "tools_for" in seen:
        for row, calls in zip(s.rows, s.calls):
            offered = s.module.tools_for(row)
            if isinstance(offered, str) or not offered or set(offered) - set(s.tools):
                raise Broken(f"tools_for gives {short(offered)}; give names of tools, which are {', '.join(s.tools)}")
            if hidden := {name for name, _ in calls} - set(offered):
                raise Broken(
                    f"the gold answer of {row['task_id']} calls {hidden.pop()}, which tools_for does not offer"
                )
    return ", ".join(seen) or "none"

# SPDX-License-Identifier: Apache-2.0
"""Making tasks from the templates, and their golden conversations."""

import json
import random
from hashlib import sha256

from .actions import DOMAINS, WRITES, domain_of
from .completions import arguments_of
from .larkfield import company
from .office import MATCHES, WorkplaceEnv, briefing, read_task
from .tables import Tables
from .templates import CATEGORIES, DIFFICULTIES, TEMPLATES, Desk, Skip, Template

SPLITS = ("train", "validation", "test")
MOST_TURNS = 5  # with tool calls, in a golden conversation


def make_rows(
    n: int,
    seed: int = 0,
    split: str = "train",
    *,
    domain: str | tuple[str, ...] | None = None,
    steps: int | tuple[int, int] | None = None,
    difficulty: str | None = "easy",
    match: str = "state",
    all_tools: bool = False,
) -> list[dict]:
    """Make `n` different requests.

    Args:
        n: How many.
        seed: Same arguments, same rows, on every platform.
        split: "train"; "validation" has the same templates with other values; "test" has templates of its own, with
            values that neither of the others has.
        domain: One of `CATEGORIES`; or several tool boxes, for all requests that need no others, each offering just
            these; None takes all, and both of its tool boxes where `difficulty` is "starter".
        steps: How many writes the task takes, a number or (fewest, most); 0 is a task where nothing is to be changed.
        difficulty: "starter" (for small models, email and calendar only: no look-up, every value stands in the
            request), "easy" (one look-up or none), "medium" (several writes, or a condition), "hard" (counting,
            comparing, several tool boxes), or None for all of them.
        match: "state" or "trajectory", the verifier.
        all_tools: Offer all 27 tools, rather than those of the tool boxes that the request is about.

    Raises:
        ValueError: an argument is out of range, or there are not `n` such requests.
    """
    if type(n) is not int or n < 0:
        raise ValueError(f"n must be a whole number, 0 or more, got {n!r}")
    if split not in SPLITS:
        raise ValueError(f"split must be one of {', '.join(SPLITS)}, got {split!r}")
    if difficulty is not None and difficulty not in DIFFICULTIES:
        raise ValueError(f"difficulty must be one of {', '.join(DIFFICULTIES)} or None, got {difficulty!r}")
    if match not in MATCHES:
        raise ValueError(f"match must be one of {', '.join(MATCHES)}, got {match!r}")
    if difficulty == "starter" and domain is None:
        domain = ("email", "calendar")  # all that it has
    fewest, most = _steps(steps)
    tables = company()
    boxes = () if domain is None or isinstance(domain, str) else tuple(domain)
    templates = sorted(TEMPLATES, key=lambda template: template.name)
    able = [t for t in templates if t.held_out == (split == "test") and difficulty in (None, t.level)]
    if isinstance(domain, str):
        if domain not in CATEGORIES:
            raise ValueError(f"domain must be one of {', '.join(CATEGORIES)}, got {domain!r}")
        able = [t for t in able if t.category == domain]
    elif domain is not None:
        wanted = frozenset(boxes)
        if not wanted or not wanted <= frozenset(DOMAINS):
            raise ValueError(f"domain must name some of {', '.join(DOMAINS)}, got {domain!r}")
        able = [t for t in able if t.category in wanted or t.category == "multi_domain"]
    if not able:
        raise ValueError(f"no {split} template has domain={domain} and difficulty={difficulty}; try difficulty=None")
    rng = random.Random(f"workplace {seed} {split} {domain} {steps} {difficulty}")
    rows: list[dict] = []
    seen: set[str] = set()
    misses = 0
    while len(rows) < n:
        drawn = _draw(rng.choice(able), tables, rng)
        row = _row(drawn, match, boxes, all_tools) if drawn and _fits(drawn, split, domain, fewest, most) else None
        if row and row["task_id"] not in seen:
            seen.add(row["task_id"])
            rows.append(row)
            misses = 0
        elif (misses := misses + 1) > 2000:
            raise ValueError(
                f"found only {len(rows)} of {n} {split} requests with domain={domain}, steps={steps} and "
                f"difficulty={difficulty}; ask for fewer, or widen one of them"
            )
    return rows


def _steps(steps) -> tuple[int, int]:
    if steps is None:
        return 0, 99
    span = [steps, steps] if type(steps) is int else list(steps) if isinstance(steps, list | tuple) else []
    if len(span) != 2 or any(type(v) is not int for v in span) or not 0 <= span[0] <= span[1]:
        raise ValueError(f"steps must be a number from 0 or a pair (fewest, most) of them, got {steps!r}")
    return span[0], span[1]


class _Drawn:
    """A template with its values: the request and all that belongs to it."""

    def __init__(self, template: Template, desk: Desk, values: dict, last_words: str, query: str):
        self.template, self.values, self.last_words = template, values, last_words
        self.path, self.about, self.query, self.tables = desk.path, desk.about, query, desk.tables
        self.domains = tuple(d for d in DOMAINS if any(domain_of(tool) == d for tool, _ in desk.path))
        self.writes = [(tool, arguments) for tool, arguments in desk.path if tool in WRITES]


def _draw(template: Template, tables: Tables, rng: random.Random) -> _Drawn | None:
    desk = Desk(tables, rng)
    try:
        values, last_words = template.program(desk)
    except Skip:
        return None
    query = rng.choice(template.wordings).format(**values).replace("on tomorrow", "tomorrow")
    if len(_turns(desk.path)) > MOST_TURNS:
        return None
    return _Drawn(template, desk, values, last_words, query)


def split_of(values: dict) -> str:
    """The split that the values of a request belong to: 70 % train, 10 % validation, 20 % test, by a hash."""
    text = json.dumps(values, sort_keys=True)
    share = int.from_bytes(sha256(text.encode()).digest()[:4], "big") / 2**32
    return "train" if share < 0.7 else "validation" if share < 0.8 else "test"


def _fits(drawn: _Drawn, split: str, domain, fewest: int, most: int) -> bool:
    if split_of(drawn.values) != split or not fewest <= len(drawn.writes) <= most:
        return False
    return domain is None or isinstance(domain, str) or set(drawn.domains) <= {*domain, "company_directory"}


def _row(drawn: _Drawn, match: str, boxes: tuple[str, ...], all_tools: bool) -> dict:
    task: dict = {"ground_truth": _as_json(drawn.writes), "match": match}
    if not all_tools:
        needed = boxes or (*drawn.domains, drawn.template.category)
        task["domains"] = [d for d in DOMAINS if d in needed or d == "company_directory"]
    if not drawn.writes:
        task["check"] = {"tools": sorted({tool for tool, _ in drawn.path}), "text": drawn.about}
    task |= {"query": drawn.query, "path": _as_json(drawn.path), "last_words": drawn.last_words}
    task["template"] = drawn.template.name
    told = f"{drawn.query} {task['ground_truth']} {match} {all_tools}{' '.join(boxes)}"
    digest = sha256(told.encode()).hexdigest()[:12]
    return {
        "prompt": [
            {"role": "system", "content": briefing(drawn.tables)},
            {"role": "user", "content": drawn.query},
        ],
        "environment": "workplace",
        "task_id": f"workplace-{drawn.template.name}-{digest}",
        "task": json.dumps(task),
    }


def _as_json(calls: list[tuple[str, dict]]) -> list[dict]:
    return [{"name": tool, "arguments": json.dumps(arguments)} for tool, arguments in calls]


def _turns(path: list[tuple[str, dict]]) -> list[list[tuple[str, dict]]]:
    """The calls by turn: writes in a row go together, and so do look-ups with one tool, but for further pages."""
    turns: list[list[tuple[str, dict]]] = []
    for tool, arguments in path:
        last = turns[-1][-1][0] if turns else ""
        together = (tool in WRITES and last in WRITES) or (tool == last and "page" not in arguments)
        if together:
            turns[-1].append((tool, arguments))
        else:
            turns.append([(tool, arguments)])
    return turns


def answer(row: dict, tables: Tables | None = None) -> list[dict]:
    """The golden conversation after the prompt: look-ups, writes, the tools' results, and the last words.

    Args:
        row: The task. One from elsewhere, which does not say how its ground truth was found, gives that alone.
        tables: Another company than the built-in one, as `load_tables` returns it.
    """
    fields = json.loads(row["task"])
    path = [(call["name"], arguments_of(call.get("arguments"))[0]) for call in fields.get("path") or []]
    if not path:
        path = [(name, arguments_of(arguments)[0]) for name, arguments in read_task(row["task"]).ground_truth]
    env, messages = WorkplaceEnv(), list[dict]()
    env._begin(row["task"], tables or company())
    for turn in _turns(path):
        calls, results = [], []
        for tool, arguments in turn:
            name = f"call_{len(calls) + sum(len(m.get('tool_calls', ())) for m in messages)}"
            calls.append({"type": "function", "id": name, "function": {"name": tool, "arguments": arguments}})
            try:
                text = getattr(env, tool)(**arguments)
            except (ValueError, TypeError) as error:
                text = f"Error: {error}"
            results.append({"role": "tool", "name": tool, "tool_call_id": name, "content": text})
        messages += [{"role": "assistant", "content": "", "tool_calls": calls}, *results]
    return [*messages, {"role": "assistant", "content": fields.get("last_words") or "Done."}]

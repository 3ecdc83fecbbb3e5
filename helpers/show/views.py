# SPDX-License-Identifier: Apache-2.0
"""Rollouts as HTML: pure functions from episodes to markup, for widgets and for where there are none.

Whatever an episode holds is escaped, control characters are made visible, and no meaning hangs on a colour alone. How
the end of an episode is drawn is decided by the fields of its task, see `VIEWS`.
"""

import json
import re
from contextlib import suppress
from html import escape
from math import isqrt

from helpers.episodes.record import kind_of
from helpers.episodes.responses import text_of
from helpers.show.page import Markup

LONGEST = 20_000  # characters of one text that are shown

STYLE = """<style>
.rw { font-size: 13px; line-height: 1.45; max-width: 76rem; color: var(--jp-content-font-color1, inherit) }
.rw h4 { font-size: 13px; margin: .9em 0 .3em; font-weight: 600 }
.rw p { margin: .3em 0 }
.rw pre { margin: .2em 0; padding: .4em .6em; white-space: pre-wrap; overflow-wrap: anywhere; word-break: normal;
  max-height: 24em; overflow: auto; background: rgba(128,128,128,.13); color: inherit; border-radius: 3px;
  unicode-bidi: plaintext; font: 12px/1.4 var(--jp-code-font-family, monospace) }
.rw.rw table { border-collapse: collapse; margin: .3em 0; font-size: 12px; display: table; width: auto }
.rw.rw table th, .rw.rw table td { text-align: left; vertical-align: top; padding: .2em .9em .2em 0; background: none;
  border: 0; border-bottom: 1px solid rgba(128,128,128,.35); max-width: 36em; overflow-wrap: anywhere;
  white-space: pre-wrap; color: inherit }
.rw.rw table th { white-space: nowrap }
.rw.rw table tr, .rw.rw table tbody tr:nth-child(odd), .rw.rw table tbody tr:hover { background: none }
.rw details { margin: .2em 0 } .rw summary { cursor: pointer; overflow-wrap: anywhere }
.rw .badge { display: inline-block; white-space: nowrap; padding: 0 .5em; border-radius: 3px; font-weight: 600;
  border: 1px solid currentColor; background: rgba(128,128,128,.15) }
.rw .right { background: rgba(0,158,115,.28) } .rw .wrong { background: rgba(213,94,0,.28) }
.rw .said { border-left: 3px solid rgba(128,128,128,.5); padding-left: .7em; margin: .5em 0 }
.rw .model { border-left-color: rgba(0,114,178,.9) }
.rw .who { font-weight: 600; font-size: 12px }
.rw.rw table.board { border: 2px solid currentColor; font-size: 15px; font-variant-numeric: tabular-nums }
.rw.rw table.board td { min-width: 1.9em; height: 1.9em; padding: 0 .2em; text-align: center; vertical-align: middle;
  border: 1px solid rgba(128,128,128,.5); white-space: nowrap }
.rw.rw table.board td.top { border-top: 2px solid currentColor } .rw.rw table.board td.left { border-left: 2px solid }
.rw.rw table.board td.given { font-weight: 700; background: rgba(128,128,128,.2) }
.rw.rw table.board td.bad { background: rgba(213,94,0,.35); text-decoration: underline wavy }
.rw.rw table.board td.filled { background: rgba(0,114,178,.16) }
.rw img { max-width: 100% }
</style>"""

# --- text ------------------------------------------------------------------------------------------------

# Control characters, and marks that turn text around or have no width: with them a text can look like another.
_HIDDEN = (*range(9), 11, 12, *range(14, 32), *range(0x7F, 0xA0), 0x61C, 0x200B, 0x200E, 0x200F, 0xFEFF,
           *range(0x202A, 0x202F), *range(0x2066, 0x206A))  # fmt: skip
_SIGNS = {i: f"[U+{i:04X}]" for i in _HIDDEN}


def safe(value, most: int = LONGEST) -> Markup:
    """Any value as escaped text, at most so many characters of it, with control characters made visible."""
    text = value if isinstance(value, str) else "" if value is None else str(value)
    more = f" ... {len(text) - most:,} more characters" if len(text) > most else ""
    text = text[:most].encode("utf-8", "backslashreplace").decode("utf-8")  # half characters would break the message
    return Markup(escape(text.translate(_SIGNS) + more))


def section(label: str, body: str) -> str:
    """HTML with its style, as a region that screen readers name by `label`."""
    return f'{STYLE}<div class="rw" role="region" aria-label="{safe(label)}">{body}</div>'


def cells(rows: list[list]) -> str:
    """A table, the first row its head; cells are made safe unless they are `Markup`."""
    head, *body = [[cell if isinstance(cell, Markup) else safe(cell) for cell in row] for row in rows]
    lines = "".join("<tr>" + "".join(f"<td>{cell}</td>" for cell in row) + "</tr>" for row in body)
    head = "".join(f'<th scope="col">{cell}</th>' for cell in head)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{lines}</tbody></table>"


def verdict(reward: float | None) -> Markup:
    """A reward in words and with a sign."""
    if reward is None:
        return Markup('<span class="badge">? unjudged</span>')
    sign, word, look = ("✓", "right", "right") if reward >= 1 else ("✗", "wrong", "wrong")
    if 0 < reward < 1:
        sign, word, look = "◐", "in part", ""
    return Markup(f'<span class="badge {look}">{sign} {word}, reward {reward:g}</span>')


def folded(summary: str, body: str) -> str:
    return f"<details><summary>{summary}</summary>{body}</details>"


def _pre(value) -> str:
    return f"<pre>{safe(value)}</pre>"


# --- conversation ----------------------------------------------------------------------------------------


def conversation(messages: list[dict], model: str = "Model") -> str:
    """Chat messages one below the other; system prompts, reasoning and tool calls with their results are folded.

    Args:
        messages: Chat messages.
        model: What to call the assistant.
    """
    parts, results = [], _results(messages)
    for message in messages:
        role, text = message.get("role"), text_of(message.get("content"))
        if role == "tool":
            if id(message) not in {id(result) for result in results.values()}:
                parts.append(_said("Tool", "", _pre(text)))
        elif role == "system":
            parts.append(_said("System", "", folded(f"{len(text):,} characters", _pre(text))))
        elif role == "assistant":
            thought = message.get("reasoning_content")
            body = folded("reasoning", _pre(thought)) if thought else ""
            made = [_call(call, results.get((id(message), i))) for i, call in enumerate(_made(message))]
            body += _pre(text) if text else "" if made or thought else "<p><i>nothing</i></p>"
            parts.append(_said(model, "model", body + "".join(made)))
        else:
            parts.append(_said(str(role or "?").capitalize(), "", _pre(text)))
    return "".join(parts)


def _said(who: str, look: str, body: str) -> str:
    return f'<div class="said {look}"><div class="who">{safe(who, 40)}</div>{body}</div>'


def _made(message: dict) -> list[dict]:
    calls = message.get("tool_calls")
    return [call for call in calls if isinstance(call, dict)] if isinstance(calls, list | tuple) else []


def _results(messages: list[dict]) -> dict[tuple[int, int], dict]:
    """The tool message that answers each call: {(id of the message, which call): tool message}."""
    found = {}
    for at, message in enumerate(messages):
        following = []
        for later in messages[at + 1 :]:
            if later.get("role") != "tool":
                break
            following.append(later)
        for i, call in enumerate(_made(message)):
            mine = next((r for r in following if call.get("id") and r.get("tool_call_id") == call["id"]), None)
            if mine is None and following and not following[0].get("tool_call_id"):
                mine = following[0]
            if mine is not None:
                found[id(message), i] = mine
                following.remove(mine)
    return found


def _call(call: dict, result: dict | None) -> str:
    function = call.get("function") if isinstance(call.get("function"), dict) else call
    arguments = function.get("arguments")
    with suppress(ValueError, TypeError, RecursionError):
        arguments = json.loads(arguments)
    if isinstance(arguments, dict):
        short = ", ".join(f"{name}={value!r}" for name, value in arguments.items())
        arguments = json.dumps(arguments, indent=1, ensure_ascii=False)
    else:
        short = str(arguments)
    said = text_of(result.get("content")) if result else "(no result)"
    line = f"<b>{safe(function.get('name'), 80)}</b>({safe(short, 120)}) &rarr; {safe(' '.join(said.split()), 80)}"
    return folded(line, _pre(arguments) + _pre(said))


# --- what came of it -------------------------------------------------------------------------------------


def module_of(episode: dict):
    """The environment that an episode names, or None where it is none of this repository's."""
    from envs import NAMES, load

    return load(episode["environment"]) if episode.get("environment") in NAMES else None


def calls_of(episode: dict, module) -> list[tuple[str, dict]]:
    """The calls that count: those in the messages, else those that the environment reads in the last text."""
    calls, text = [], ""
    for message in episode["messages"]:
        if message.get("role") == "assistant":
            text = text_of(message.get("content"))
            for call in _made(message):
                function = call.get("function") if isinstance(call.get("function"), dict) else call
                arguments = function.get("arguments")
                with suppress(ValueError, TypeError, RecursionError):
                    arguments = json.loads(arguments)
                if isinstance(arguments, dict) and isinstance(function.get("name"), str):
                    calls.append((function["name"], arguments))
    if not calls and module:
        with suppress(Exception):  # a task of another shape than the environment reads must not hide the episode
            calls = module.parse(text, episode)
    return calls


def read_out(episode: dict, module) -> str:
    """What the verifier read in an episode, on one line: the arguments of the last call that counts."""
    calls = calls_of(episode, module)
    if not calls:
        return ""
    name, arguments = calls[-1]
    values = " ".join(str(value) for value in arguments.values())
    return " ".join((values if len(arguments) == 1 else f"{name} {values}").split("\n"))


def state(episode: dict, module=None, fields: tuple[str, ...] | None = None) -> str:
    """What came of an episode, drawn by the first of `VIEWS` whose field its task has; empty where none has.

    Args:
        episode: Such as `rollout` returns.
        module: Its environment; None takes the one it names.
        fields: Which views to draw; None for all.
    """
    try:
        task = json.loads(episode.get("task") or "{}")
        module = module or module_of(episode)
        field = next((name for name in VIEWS if name in task), None)
        return VIEWS[field](episode, task, module) if field in (fields or VIEWS) and module else ""
    except Exception as error:  # a picture that fails must not hide the episode
        return f"<p>not drawn: {safe(f'{type(error).__name__}: {error}', 300)}</p>"


def board(episode: dict, task: dict, module) -> str:
    """The board of a puzzle as the accepted calls leave it."""
    given = _grid(task["puzzle"])
    if given is None:
        return ""
    now, read = given, False
    for tool, arguments in _accepted(episode, module):
        grid = _grid(tool, len(given)) or _read_grid(arguments.get("grid"), episode, module)
        if grid and len(grid) == len(given):
            now, read = grid, True
    bad = _clashes(now)
    changed = {(r, c) for r, line in enumerate(given) for c, v in enumerate(line) if v and now[r][c] != v}
    height = max(d for d in range(1, isqrt(len(given)) + 1) if len(given) % d == 0)
    body = ""
    for r, line in enumerate(now):
        body += "<tr>"
        for c, value in enumerate(line):
            look, means = _cell(given[r][c], value, (r, c) in changed, (r, c) in bad)
            edges = " top" * (r % height == 0) + " left" * (c % (len(given) // height) == 0)
            body += f'<td class="{look}{edges}" aria-label="{value or "blank"}{means}">{value or "&nbsp;"}'
            body += "<sup>≠</sup>" * ((r, c) in changed) + "</td>"
        body += "</tr>"
    blank = sum(not value for line in now for value in line)
    told = [f"{blank} blank" if blank else "", f"{len(changed)} of the given values changed (≠)" if changed else ""]
    told += [f"{len(bad)} cells hold a value twice in a row, column or box (underlined)" if bad else ""]
    line = ", ".join(filter(None, told)) or "no rule broken"
    line = f"Board: {line}. Bold: given." if read or "reward" not in episode else "No grid could be read: the puzzle."
    return f'<p>{line}</p><table class="board" aria-label="{line}">{body}</table>'


def _cell(given: int, value: int, changed: bool, bad: bool) -> tuple[str, str]:
    """The class of a cell, and what a screen reader says of it."""
    if changed:
        return "bad", f", the puzzle has {given}"
    if bad:
        return "bad" + " given" * bool(given), ", repeats a value" + ", given" * bool(given)
    return ("given", ", given") if given else ("filled", ", filled in") if value else ("", "")


def _accepted(episode: dict, module) -> list[tuple[str, dict]]:
    """Replay an episode: what each accepted call was told, and its arguments."""
    env, told = module.ENV(), []
    env.reset(prompt=episode["prompt"], task=episode["task"])
    tools = {name for name in dir(module.ENV) if not name.startswith("_")} - {"reset", "get_reward"}
    for name, arguments in calls_of(episode, module):
        if name in tools:
            with suppress(ValueError, TypeError):
                told.append((str(getattr(env, name)(**arguments)), arguments))
    return told


def _grid(text: str, size: int | None = None) -> list[list[int]] | None:
    """Rows of numbers, 0 for a blank, from lines of values with spaces between them; None if the text has no such."""
    lines = [line.split() for line in str(text).strip().split("\n")]
    size = size or len(lines)
    rows = lines[:size]
    signs = [sign for row in rows for sign in row]
    if len(rows) < size or any(len(row) != size for row in rows) or not all(s == "_" or s.isdecimal() for s in signs):
        return None
    return [[0 if sign == "_" else int(sign[:4]) for sign in row] for row in rows]


def _read_grid(text, episode: dict, module) -> list[list[int]] | None:
    """The grid that was handed in, in whatever form, as the environment reads it."""
    calls = module.parse(text, episode) if isinstance(text, str) else []
    return _grid(calls[-1][1].get("grid", "")) if calls else None


def _clashes(grid: list[list[int]]) -> set[tuple[int, int]]:
    """Cells whose value stands in their row, column or box once more, or is none that belongs there."""
    size = len(grid)
    height = max(d for d in range(1, isqrt(size) + 1) if size % d == 0)
    seen: dict[tuple, list[tuple[int, int]]] = {}
    for r, line in enumerate(grid):
        for c, value in enumerate(line):
            box = (r // height, c // (size // height))
            for unit in (("row", r), ("column", c), ("box", *box)) if value else ():
                seen.setdefault((unit, value), []).append((r, c))
    twice = {cell for alike in seen.values() if len(alike) > 1 for cell in alike}
    return twice | {(r, c) for r, line in enumerate(grid) for c, value in enumerate(line) if value > size}


def table_changes(episode: dict, task: dict, module) -> str:
    """The fields of the tables that were changed, or should have been."""
    found = module.changes(episode["messages"], episode)
    if not found:
        return "<p>No table was changed, and none should have been.</p>"
    rows = [["", "table", "row", "field", "before", "after", "wanted"]]
    for change in found:
        values = [Markup("<i>none</i>") if value is None else value for value in change[3:6]]
        rows.append(["✓ as wanted" if change.right else "✗ differs", *change[:3], *values])
    return "<p>What changed in the tables, and what should have:</p>" + cells(rows)


def tests(episode: dict, task: dict, module) -> str:
    """The code that was handed in, and the test it fails."""
    code = next((a["code"] for _, a in reversed(calls_of(episode, module)) if "code" in a), None)
    body = "<p>Code that was read:</p>" + _pre(code) if code else "<p>No code could be read.</p>"
    all_tests, reason = task["tests"], str(episode.get("reason"))
    at = re.search(r"test ([0-9]{1,6}) of ([0-9]{1,6}): (.*)", reason, re.S)
    if episode.get("reward") == 1:
        return body + f"<p>{'✓' * min(len(all_tests), 40)} all {len(all_tests)} tests pass</p>"
    if not at or int(at[2]) != len(all_tests) or not 1 <= int(at[1]) <= len(all_tests):
        return body
    n, test = int(at[1]), all_tests[int(at[1]) - 1]
    given, expected = (test.get(a, test.get(b)) for a, b in (("args", "stdin"), ("expected", "stdout")))
    strip = "✓" * min(n - 1, 40) + "✗" + "·" * min(len(all_tests) - n, 40)
    rows = [["failing test", f"{n} of {len(all_tests)}"], ["given", given], ["expected", expected], ["got", at[3]]]
    return body + f"<p>{strip} test {n} fails</p>" + cells(rows)


def answers(episode: dict, task: dict, module) -> str:
    """The answer that was read, beside the gold one."""
    found = next((a["answer"] for _, a in reversed(calls_of(episode, module)) if "answer" in a), None)
    found = "(none was found)" if found is None else found
    return cells([["extracted answer", "gold answer"], [found, task["answer"]]])


VIEWS = {"puzzle": board, "ground_truth": table_changes, "tests": tests, "answer": answers}  # by field of the task
OPEN = ("puzzle",)  # those that show nothing of the right answer, so that a player may see them


# --- whole episodes --------------------------------------------------------------------------------------


def heading(episode: dict) -> str:
    """Verdict, reason, and where an episode comes from."""
    names = [episode.get("environment"), episode.get("policy"), episode.get("task_id")]
    where = " · ".join(str(name) for name in names if name)
    sample = f" · sample {episode['sample']}" if "sample" in episode else ""
    return f"<p>{verdict(episode.get('reward'))} {safe(episode.get('reason'), 600)}<br>{safe(where + sample, 300)}</p>"


def whole(episode: dict, module=None, label: str = "Episode") -> str:
    """An episode: verdict, what came of it, the conversation, its figures."""
    metrics = [["figure", "value"], *[[k, f"{v:g}"] for k, v in (episode.get("metrics") or {}).items()]]
    body = heading(episode) + state(episode, module)
    body += "<h4>Conversation</h4>" + conversation([*(episode.get("prompt") or []), *episode["messages"]])
    body += folded("figures", cells(metrics)) if len(metrics) > 1 else ""
    return section(f"{label}: {kind_of(episode)}", body)


def listing(episodes: list[dict], module=None, most: int = 8) -> str:
    """The first episodes as a table."""
    rows = [["", "environment", "policy", "verdict", "reason", "read in the answer"]]
    for i, episode in enumerate(episodes[:most], 1):
        read = safe(read_out(episode, module or module_of(episode)), 120)
        names = [episode.get("environment"), episode.get("policy")]
        rows.append([str(i), *names, verdict(episode["reward"]), safe(episode.get("reason"), 160), read])
    more = f"<p>and {len(episodes) - most:,} more</p>" if len(episodes) > most else ""
    return cells(rows) + more

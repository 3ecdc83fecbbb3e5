# SPDX-License-Identifier: Apache-2.0
"""Rollouts as HTML: functions from episodes to markup, for widgets and for where there are none.

What came of an episode is drawn from the blocks that its environment's `view` gives, see `state`. No meaning hangs on a
colour alone.
"""

import json
from contextlib import suppress

from markupsafe import Markup

from helpers.episodes.record import kind_of
from helpers.episodes.responses import text_of
from helpers.show.page import macros, render, safe, tags

STYLE = render("widget_style.html")
draw = macros("widgets.html")


def verdict(reward: float | None) -> Markup:
    """A reward in words and with a sign."""
    if reward is None:
        return tags.badge("? unjudged", "")
    sign, word, look = ("✓", "right", "right") if reward >= 1 else ("✗", "wrong", "wrong")
    if 0 < reward < 1:
        sign, word, look = "◐", "in part", ""
    return tags.badge(f"{sign} {word}, reward {reward:g}", look)


# --- conversation ----------------------------------------------------------------------------------------


def conversation(messages: list[dict], model: str = "Model") -> Markup:
    """Chat messages one below the other; system prompts, reasoning and tool calls with their results are folded.

    Args:
        messages: Chat messages.
        model: What to call the assistant.
    """
    results = _results(messages)
    told = {id(result) for result in results.values()}  # with their calls
    said = []
    for message in messages:
        if id(message) in told:
            continue
        role, text = message.get("role"), text_of(message.get("content"))
        ours = role == "assistant"
        said.append({
            "who": safe(model if ours else str(role or "?").capitalize(), 40),
            "look": "model" if ours else "",
            "thought": message.get("reasoning_content") if ours else "",
            "folded": f"{len(text):,} characters" if role == "system" else "",
            "text": text,
            "verbatim": not ours,  # even where it is empty
            "calls": [_call(call, results.get((id(message), i))) for i, call in enumerate(_made(message))],
        })  # fmt: skip
    return draw.conversation(said)


def _made(message: dict) -> list[dict]:
    calls = message.get("tool_calls") if message.get("role") == "assistant" else None
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


def _function(call: dict) -> tuple:
    """The name of the tool and the arguments of a call, the latter as they are where they are no JSON."""
    function = call.get("function") if isinstance(call.get("function"), dict) else call
    arguments = function.get("arguments")
    with suppress(ValueError, TypeError, RecursionError):
        arguments = json.loads(arguments)
    return function.get("name"), arguments


def _call(call: dict, result: dict | None) -> dict:
    name, arguments = _function(call)
    short = str(arguments)
    if isinstance(arguments, dict):
        short = ", ".join(f"{key}={value!r}" for key, value in arguments.items())
        arguments = json.dumps(arguments, indent=1, ensure_ascii=False)
    said = text_of(result.get("content")) if result else "(no result)"
    line = " ".join(said.split())
    return {"name": name, "short": short, "arguments": arguments, "line": line, "result": said}


# --- what came of it -------------------------------------------------------------------------------------


def module_of(episode: dict):
    """The environment that an episode names, or None where it is none of this repository's."""
    from envs import NAMES, load

    return load(episode["environment"]) if episode.get("environment") in NAMES else None


def read_out(episode: dict, module) -> str:
    """What the verifier read in an episode, on one line: the arguments of the last call that counts. Those in the
    messages count, else those that the environment reads in the last text."""
    said = [message for message in episode["messages"] if message.get("role") == "assistant"]
    made = [_function(call) for message in said for call in _made(message)]
    calls = [(name, given) for name, given in made if isinstance(name, str) and isinstance(given, dict)]
    if not calls and module:
        with suppress(Exception):  # a task of another shape than the environment reads must not hide the episode
            calls = module.parse(text_of(said[-1].get("content")) if said else "", episode)
    if not calls:
        return ""
    name, arguments = calls[-1]
    values = " ".join(str(value) for value in arguments.values())
    return " ".join((values if len(arguments) == 1 else f"{name} {values}").split("\n"))


def state(episode: dict, module=None) -> Markup:
    """What came of an episode, as its environment's `view(episode)` shows it: a list of blocks {"text": paragraph},
    {"code": text}, {"table": rows, the first one the head} or {"board": rows, "box": (height, width), "label": text},
    whose cells are texts or {"text", "look", "note"}. Where there is no view, what was read in the answer.

    Args:
        episode: Such as `rollout` returns, or without `reward` while it is played.
        module: Its environment; None takes the one it names.
    """
    module, fault = module or module_of(episode), ""
    if hasattr(module, "view"):
        try:
            return tags.blocks(module.view(episode))
        except Exception as error:  # a picture that fails must not hide the episode
            fault = f"{type(error).__name__}: {error}"
    return draw.state(read_out(episode, module), fault)


# --- whole episodes --------------------------------------------------------------------------------------


def heading(episode: dict) -> Markup:
    """Verdict, reason, and where an episode comes from."""
    names = [episode.get("environment"), episode.get("policy"), episode.get("task_id")]
    where = " · ".join(str(name) for name in names if name)
    sample = f" · sample {episode['sample']}" if "sample" in episode else ""
    return draw.heading(verdict(episode.get("reward")), episode.get("reason"), where + sample)


def whole(episode: dict, module=None, label: str = "Episode") -> Markup:
    """An episode: verdict, what came of it, the conversation, its figures."""
    figures = [["figure", "value"], *[[k, f"{v:g}"] for k, v in (episode.get("metrics") or {}).items()]]
    said = conversation([*(episode.get("prompt") or []), *episode["messages"]])
    return draw.episode(f"{label}: {kind_of(episode)}", heading(episode), state(episode, module), said, figures)


def listing(episodes: list[dict], module=None, most: int = 8) -> Markup:
    """The first episodes as a table."""
    rows = [["", "environment", "policy", "verdict", "reason", "read in the answer"]]
    for i, episode in enumerate(episodes[:most], 1):
        read = safe(read_out(episode, module or module_of(episode)), 120)
        names = [episode.get("environment"), episode.get("policy")]
        rows.append([str(i), *names, verdict(episode["reward"]), safe(episode.get("reason"), 160), read])
    return draw.listing(rows, len(episodes) - most)

"""What several tests of widgets share."""

import json
import re
from html.parser import HTMLParser

import ipywidgets

from envs import load

HOSTILE = (
    """<script>alert(1)</script><img src=x onerror="alert(2)">'"></pre></td><b>bold</b>&amp; \x1b[31m \u202e \ud800"""
)


class Tags(HTMLParser):
    """The tags and attributes of a page, and whether all that was opened is closed."""

    def __init__(self, page: str):
        super().__init__()
        self.tags, self.attributes, self.open, self.text = [], [], [], ""
        self.feed(page)
        assert self.open == [], self.open

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += [name for name, _ in attrs]
        if tag not in ("br", "img"):
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text += data


def tidy(page: str) -> Tags:
    """The page's tags, when it holds nothing that runs or loads, and has no half characters."""
    page.encode("utf-8")
    found = Tags(page)
    assert not {"script", "img", "iframe", "object", "b"} - {"b"} & set(found.tags)
    assert not [name for name in found.attributes if name.startswith("on") or name in ("href", "srcdoc")]
    assert not re.search(r"[\x00-\x08\x0b-\x1f\u202e]", page)
    return found


def tasks(name: str, n: int = 3) -> tuple:
    """An environment, rows of it, and whether they are played through tools."""
    module, tools = load(name), name == "workplace"
    return module, module.make_rows(n, seed=5), tools


def live(shown):
    """The widget as a front end would get it."""
    return shown.live(ipywidgets)


def every(widget) -> list:
    """A widget and all inside it."""
    inside = getattr(widget, "children", ())
    return [widget, *(below for child in inside for below in every(child))]


def named(widget, description: str):
    return next(w for w in every(widget) if getattr(w, "description", None) == description)


def html(widget) -> str:
    return "".join(w.value for w in every(widget) if isinstance(w, ipywidgets.HTML))


def sudoku_episode(answer: str) -> dict:
    module = load("sudoku")
    puzzle = "1 _ 3 4\n3 4 1 _\n2 1 _ 3\n_ 3 2 1"
    row = {"prompt": [{"role": "user", "content": puzzle}], "environment": "sudoku", "task_id": "t",
           "task": json.dumps({"puzzle": puzzle, "size": 4})}  # fmt: skip
    reward, reason, metrics, *_ = module.score(answer, row)
    said = {"messages": [{"role": "assistant", "content": answer}], "reward": reward, "reason": reason}
    return row | said | {"metrics": metrics, "policy": "p", "sample": 0}


def made(reward, reason="wrong cell: x", environment="sudoku", policy="p", task="1"):
    return {"task_id": task, "environment": environment, "policy": policy, "reward": reward, "reason": reason,
            "messages": [{"role": "assistant", "content": "a"}], "prompt": [], "task": "{}", "sample": 0}  # fmt: skip

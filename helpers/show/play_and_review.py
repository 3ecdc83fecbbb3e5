# SPDX-License-Identifier: Apache-2.0
"""People at work in a notebook: a task to play with the tools of a policy, and answers to review."""

import inspect
import json
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

from helpers.episodes import environment
from helpers.show import people, views
from helpers.show.page import Markup
from helpers.show.parts import FIELD, NAMED, Shown, at_least_one, beside


def play(module: ModuleType, row: dict) -> Shown:
    """Play a task with the tools that a policy gets, and get the verdict that it would.

    Args:
        module: The environment.
        row: The task.
    """

    def static() -> Markup:
        tools = [["tool", "arguments", "what it does"]]
        for name in environment.tools_of(module, row):
            tool = getattr(module.ENV, name)
            tools.append([name, ", ".join(_parameters(tool)), (inspect.getdoc(tool) or "").split("\n")[0]])
        return views.draw.task(views.conversation(row["prompt"]), tools)

    return Shown(f"a task of {row['environment']} to play", static, lambda w: _Table(w, module, row).box)


def _parameters(tool: Callable) -> dict[str, inspect.Parameter]:
    return {name: p for name, p in inspect.signature(tool).parameters.items() if name != "self"}


def typed(tool: Callable, texts: dict[str, str]) -> dict:
    """Arguments from what a person wrote into fields: text where the tool takes text, else JSON where it is such; an
    empty field leaves out an argument that has a default."""
    arguments = {}
    for name, parameter in _parameters(tool).items():
        text = texts.get(name, "")
        if not text and parameter.default is not parameter.empty:
            continue
        if parameter.annotation not in (str, "str"):
            try:
                arguments[name] = json.loads(text)
                continue
            except ValueError:
                pass  # the tool will say what it wants
        arguments[name] = text
    return arguments


class _Table:
    """Where a person plays: the task and what happened so far above, tools and the answer below."""

    def __init__(self, w, module, row: dict):
        self.w, self.module, self.row = w, module, row
        self.view, self.fields = w.HTML(), w.VBox()
        self.tool = w.Dropdown(options=environment.tools_of(module, row), description="Tool", style=NAMED, layout=FIELD)
        self.go = w.Button(description="Call the tool", tooltip="call the tool with these arguments")
        self.text = w.Textarea(description="Answer", style=NAMED, rows=4, layout=FIELD)
        self.end = w.Button(description="Hand in", tooltip="end the game and see the verdict")
        self.again = w.Button(description="Start again", tooltip="the same task from the beginning")
        self.tool.observe(lambda _: self._fill(), "value")
        self.go.on_click(lambda _: self._call())
        self.end.on_click(lambda _: self._finish())
        self.again.on_click(lambda _: self.start())
        parts = [self.view, self.tool, self.fields, self.go, self.text, beside(w, [self.end, self.again])]
        self.box = w.VBox(parts)
        self._fill()
        self.start()

    def start(self) -> None:
        """A new game on the same task."""
        self.game, self.text.value = people.Game(self.module, self.row), ""
        for part in (self.go, self.end):
            part.disabled = False
        self.show()

    def _fill(self) -> None:
        """A field for each argument of the chosen tool."""
        w, tool = self.w, getattr(self.module.ENV, self.tool.value)
        about = w.HTML(views.draw.about(self.tool.value, inspect.getdoc(tool)))
        boxes = []
        for name, parameter in _parameters(tool).items():
            kind_ = w.Textarea if parameter.annotation in (str, "str") else w.Text
            more = {"rows": 1} if kind_ is w.Textarea else {}
            boxes.append(kind_(description=name, style=NAMED, layout=FIELD, **more))
        self.fields.children = [about, *boxes]

    def _call(self) -> None:
        texts = {box.description: box.value for box in self.fields.children[1:]}
        tool = getattr(self.module.ENV, self.tool.value)
        self.game.call(self.tool.value, **typed(tool, texts))
        self.show()

    def _finish(self) -> None:
        self.game.finish(self.text.value)
        for part in (self.go, self.end):
            part.disabled = True
        self.show()

    def show(self) -> None:
        """Draw the game as it stands."""
        game, said = self.game, views.conversation([*self.row["prompt"], *self.game.messages], "You")
        state = views.state(game.episode or {**self.row, "messages": game.messages}, self.module)
        results = [m["content"] for m in game.messages if m["role"] == "tool"]
        last = "" if game.episode or not results else results[-1]
        self.view.value = views.draw.game(said, last, game.episode and views.heading(game.episode), state)


def review(
    episodes: list[dict], path: Path | str, by: str = "", module: ModuleType | None = None, seed: int = 0
) -> Shown:
    """Episodes one by one, in random order: a person says whether the verdict is right, and why; each word is a line of
    JSON. Above them the verifier's precision and recall against what people said so far.

    Args:
        episodes: Such as `rollout` returns.
        path: The JSONL file of the reviews; what stands in it already is not asked again.
        by: Who reviews.
        module: Their environment, where it is none of `envs.NAMES`.
        seed: Of the order.

    Raises:
        ValueError: no episodes.
    """
    episodes = at_least_one(episodes)

    def static() -> Markup:
        left = people.to_review(episodes, path, by, seed)
        first = views.whole(left[0], module, "To review") if left else ""
        return _figures(path, episodes, left) + first

    return Shown(f"review of {len(episodes)} episodes", static, lambda w: _review(w, episodes, path, by, module, seed))


def _review(w, episodes: list[dict], path, by: str, module, seed: int):
    left = people.to_review(episodes, path, by, seed)
    done: list[dict] = []
    figures, view = w.HTML(), w.HTML()
    note = w.Textarea(description="Note", style=NAMED, rows=2, layout=FIELD)
    yes = w.Button(description="Agree", tooltip="the verdict is right")
    no = w.Button(description="Disagree", tooltip="the verdict is wrong")
    back = w.Button(description="Back", tooltip="review the last one again")

    def show() -> None:
        figures.value = _figures(path, episodes, left)
        view.value = views.whole(left[0], module, f"{len(left)} to review") if left else ""
        open_ = bool(left) and left[0]["reward"] is None
        yes.description, no.description = ("It is right", "It is wrong") if open_ else ("Agree", "Disagree")
        yes.disabled = no.disabled = not left
        back.disabled, note.value = not done, ""

    def say(agree: bool) -> None:
        reward = left[0]["reward"]
        right = agree if reward is None else (reward >= 1) == agree
        people.review(path, left[0], right, note.value, by)
        done.append(left.pop(0))
        show()

    def undo() -> None:
        left.insert(0, done.pop())
        show()

    yes.on_click(lambda _: say(True))
    no.on_click(lambda _: say(False))
    back.on_click(lambda _: undo())
    show()
    return w.VBox([figures, view, note, beside(w, [yes, no, back])])


def _figures(path, episodes: list[dict], left: list[dict]) -> Markup:
    """How far the review is, and how the verifier does against it."""
    found = people.against_people(people.reviews(path))
    rows = [["against people", "value", "95 % interval"]]
    for name in ("precision", "recall"):
        low, high = found[f"{name}_ci95"]
        value = found[name]
        rows.append([name, *(("-", "-") if value is None else (f"{value:.2f}", f"{low:.2f} to {high:.2f}"))])
    rows.append(["paid, but wrong", found["false_accepts"], ""])
    rows.append(["right, but not paid", found["false_rejects"], ""])
    rows.append(["no verdict", f"{found['unjudged']}, of them right {found['unjudged_right']}", ""])
    told = f"{len(left)} of {len(episodes)} left to review; {found['n']} verdicts reviewed so far."
    return views.draw.review(told, rows)

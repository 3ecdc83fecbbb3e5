"""Rollouts to look at and to handle in a notebook: browse, compare, watch training, play, review.

Each function returns a `Shown`: in a cell it is widgets where there is a front end, and the same things as static HTML
in a headless run, without ipywidgets, and in a saved notebook. Widgets only look on: nothing reads them but themselves.
"""

import inspect
import json
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

from helpers import people
from helpers import widget_views as views
from helpers.evaluation import CAPABILITIES, failures, kind
from helpers.page import Markup
from helpers.widget_dashboard import Dashboard
from helpers.widget_parts import ANY, FIELD, NAMED, WIDE, Pages, Shown, beside, choice

__all__ = ["Dashboard", "group_explorer", "play", "profile_explorer", "review", "rollout_browser", "select", "typed"]


# --- rollout browser -------------------------------------------------------------------------------------


def select(episodes: list[dict], reward=ANY, environment=ANY, failure=ANY, policy=ANY) -> list[dict]:
    """Episodes that pass every filter.

    Args:
        episodes: Such as `rollout` returns.
        reward: "right" (at least 1), "wrong" (less), "unjudged" (None) or "any".
        environment: Its name.
        failure: Kind of failure: the words before the first colon of the reason; only answers that are not right have
            one.
        policy: Its name.
    """
    return [
        episode
        for episode in episodes
        if reward in (ANY, _class(episode))
        and environment in (ANY, episode.get("environment"))
        and (failure == ANY or (_class(episode) != "right" and kind(episode["reason"]) == failure))
        and policy in (ANY, episode.get("policy"))
    ]


def _class(episode: dict) -> str:
    return "unjudged" if episode["reward"] is None else "right" if episode["reward"] >= 1 else "wrong"


def rollout_browser(episodes: list[dict], module: ModuleType | None = None) -> Shown:
    """Episodes one by one, filtered by reward, environment, kind of failure and policy.

    Args:
        episodes: Such as `rollout` and `rollouts.read` return.
        module: Their environment, where it is none of `envs.NAMES`.

    Raises:
        ValueError: no episodes.
    """
    episodes = _some(episodes)

    def static() -> str:
        first = views.whole(episodes[0], module, f"Episode 1 of {len(episodes)}")
        return views.section("Rollouts", views.listing(episodes, module) + "<h4>The first of them</h4>") + first

    return Shown(f"rollout browser, {len(episodes)} episodes", static, lambda w: _browser(w, episodes, module))


def _browser(w, episodes: list[dict], module):
    filters = {
        "reward": choice(w, "Reward", [_class(e) for e in episodes]),
        "environment": choice(w, "Environment", [e.get("environment") for e in episodes]),
        "failure": choice(w, "Failure", [kind(e["reason"]) for e in episodes if _class(e) != "right"]),
        "policy": choice(w, "Policy", [e.get("policy") for e in episodes]),
    }
    found = list(episodes)
    pages = Pages(w, "Episode", lambda i: views.whole(found[i], module, f"Episode {i + 1} of {len(found)}"))

    def narrow(_=None) -> None:
        found[:] = select(episodes, **{name: box.value for name, box in filters.items()})
        pages.restart(len(found), "No episode passes these filters.")

    for box in filters.values():
        box.observe(narrow, "value")
    narrow()
    return w.VBox([beside(w, list(filters.values())), pages.box])


def _some(episodes: list[dict]) -> list[dict]:
    if not episodes:
        raise ValueError("no episodes to show: give what rollout returned, or rollouts.read(path)")
    return list(episodes)


# --- group explorer --------------------------------------------------------------------------------------


def group_explorer(episodes: list[dict], module: ModuleType | None = None) -> Shown:
    """The answers to one task beside each other: which of them won, by how much, and why.

    Args:
        episodes: Several of each task, such as `rollout` returns with `samples` above 1.
        module: Their environment, where it is none of `envs.NAMES`.

    Raises:
        ValueError: no episodes.
    """
    groups: dict[tuple, list[dict]] = {}
    for episode in _some(episodes):
        groups.setdefault((episode.get("policy"), episode["task_id"]), []).append(episode)
    every = sorted(groups.values(), key=lambda group: _spread(group) != "mixed")  # the telling ones first

    def static() -> str:
        kinds = [["groups", "count"], *([k, str(sum(_spread(g) == k for g in every))] for k in _SPREADS)]
        return views.section("Groups", views.cells(kinds)) + _group(every[0], module, f"Group 1 of {len(every)}")

    return Shown(f"group explorer, {len(every)} groups", static, lambda w: _groups(w, every, module))


_SPREADS = ("mixed", "all alike", "unjudged")


def _spread(group: list[dict]) -> str:
    """Whether the answers of a group differ in reward, which is what GRPO learns from."""
    rewards = {episode["reward"] for episode in group} - {None}
    return "mixed" if len(rewards) > 1 else "all alike" if rewards else "unjudged"


def _groups(w, every: list[list[dict]], module):
    found = list(every)
    which = choice(w, "Groups", [_spread(group) for group in every])
    pages = Pages(w, "Group", lambda i: _group(found[i], module, f"Group {i + 1} of {len(found)}"))

    def narrow(_=None) -> None:
        found[:] = [group for group in every if which.value in (ANY, _spread(group))]
        pages.restart(len(found), "There is no such group.")

    which.observe(narrow, "value")
    narrow()
    return w.VBox([which, pages.box])


def _group(group: list[dict], module, label: str) -> str:
    """A group as HTML: the task, and its answers, best first, equal ones once."""
    rewards = [e["reward"] for e in group if e["reward"] is not None]
    mean = sum(rewards) / len(rewards) if rewards else 0.0
    alike: dict[str, list[dict]] = {}
    for episode in sorted(group, key=lambda e: (e["reward"] is None, -(e["reward"] or 0.0))):
        alike.setdefault(json.dumps([episode["messages"], episode["reward"]], default=str), []).append(episode)
    rows = [["verdict", "advantage", "times", "why", "read in the answer", "answer"]]
    for same in alike.values():
        one = same[0]
        gain = "none" if one["reward"] is None else f"{one['reward'] - mean:+.2f}"
        read = views.safe(views.read_out(one, module or views.module_of(one)), 160)
        answer = Markup(f"<details><summary>show</summary>{views.conversation(one['messages'])}</details>")
        rows.append([views.verdict(one["reward"]), gain, str(len(same)), views.safe(one["reason"], 200), read, answer])
    told = {
        "mixed": f"Mean reward {mean:.2f}. Answers above it become more likely, those below less.",
        "all alike": f"All earned {mean:.2f}: a dead group, nothing to learn from.",
        "unjudged": "No answer could be judged.",
    }[_spread(group)]
    if len(rewards) < len(group) and rewards:
        told += f" {len(group) - len(rewards)} unjudged answers are left out."
    head = f"<p><b>{told}</b></p>" + views.conversation(group[0].get("prompt") or [])
    return views.section(label, head + views.cells(rows))


# --- profile explorer ------------------------------------------------------------------------------------


def profile_explorer(
    profile: dict, rollouts: dict[str, list[dict]] | None = None, module: ModuleType | None = None
) -> Shown:
    """A reward profile: its verdict, the policies side by side, and below them what each one answered.

    Args:
        profile: Such as `evaluation.reward_profile` returns.
        rollouts: The episodes by policy that it was made from.
        module: Their environment, where it is none of `envs.NAMES`.
    """
    rollouts = {name: episodes for name, episodes in (rollouts or {}).items() if episodes}

    def static() -> str:
        return views.section("Reward profile", _profile(profile) + "".join(_failing(n, e) for n, e in rollouts.items()))

    def live(w):
        children = [w.HTML(views.section("Reward profile", _profile(profile)))]
        if rollouts:
            policy = w.Dropdown(options=list(rollouts), description="Policy", style=WIDE)
            below = w.VBox()

            def choose(_=None) -> None:
                episodes = rollouts[policy.value]
                told = w.HTML(views.section(f"Failures of {policy.value}", _failing(policy.value, episodes)))
                below.children = [told, _browser(w, episodes, module)]

            policy.observe(choose, "value")
            choose()
            children += [policy, below]
        return w.VBox(children)

    return Shown(f"reward profile: {profile['verdict']}", static, live)


def _profile(profile: dict) -> str:
    reasons = "".join(f"<li>{views.safe(reason)}</li>" for reason in profile["reasons"])
    rows = [["policy", "pass@1", "95 % interval", "best of samples", "dead groups", "different", "cut off", "unjudged"]]
    for name, p in profile["policies"].items():
        low, high = p["ci95"]
        shares = [f"{p[key]:.0%}" for key in ("dead_groups", "variety", "truncated", "unjudged")]
        best = f"{max(p['pass_at_k'].values()):.2f}"
        rows.append([name, f"{p['pass_at_1']:.2f}", f"{low:.2f} to {high:.2f}", best, *shares])
    stress = [["answers that deserve nothing", "mean reward"]]
    stress += [[name, ("✗ " if mean else "✓ ") + f"{mean:.2f}"] for name, mean in profile["stress"].items()]
    same = "the same answer always gets the same reward" if profile["deterministic"] else "the reward is not repeatable"
    return (
        f"<p>Verdict: <span class='badge'>{views.safe(profile['verdict'])}</span></p><ul>{reasons}</ul>"
        + views.cells(rows) + views.cells(stress)
        + f"<p>{same}; one verdict takes {profile['latency_ms']['median']:.3f} ms (median).</p>"
    )  # fmt: skip


def _failing(name: str, episodes: list[dict]) -> str:
    """How many of a group's answers are right, and what is wrong with the others."""
    by_task: dict[str, list[float]] = {}
    for episode in episodes:
        if episode["reward"] is not None:
            by_task.setdefault(episode["task_id"], []).append(episode["reward"])
    right = [sum(reward >= 1 for reward in group) for group in by_task.values()]
    rows = [["right answers in a group", "groups", ""]]
    for count in range(max(map(len, by_task.values()), default=0) + 1):
        share = right.count(count) / len(right)
        rows.append([str(count), str(right.count(count)), "█" * round(20 * share)])
    kinds = [["kind of failure", "share", "what is missing", "for example"]]
    for one in failures(episodes):
        what = CAPABILITIES.get(one["kind"], one["kind"])
        kinds.append([one["kind"], f"{one['share']:.1%}", what, views.safe(one["example"], 160)])
    return f"<h4>{views.safe(name)}</h4>" + views.cells(rows) + (views.cells(kinds) if len(kinds) > 1 else "")


# --- be the policy ---------------------------------------------------------------------------------------


def play(module: ModuleType, row: dict) -> Shown:
    """Play a task with the tools that a policy gets, and get the verdict that it would.

    Args:
        module: The environment.
        row: The task.
    """

    def static() -> str:
        tools = [["tool", "arguments", "what it does"]]
        for name in people.tools_of(module, row):
            tool = getattr(module.ENV, name)
            tools.append([name, ", ".join(_parameters(tool)), (inspect.getdoc(tool) or "").split("\n")[0]])
        how = "<p>Without widgets: game = people.Game(env, row), game.call(tool, ...), game.finish(text)</p>"
        return views.section("Your task", views.conversation(row["prompt"]) + views.cells(tools) + how)

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
        self.tool = w.Dropdown(options=people.tools_of(module, row), description="Tool", style=NAMED, layout=FIELD)
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
        told = views.folded("about this tool", f"<pre>{views.safe(inspect.getdoc(tool))}</pre>")
        about = w.HTML(views.section(f"About {self.tool.value}", told))
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
        if game.episode:
            drawn = views.heading(game.episode) + views.state(game.episode, self.module)
        else:
            drawn = views.state({**self.row, "messages": game.messages}, self.module, views.OPEN)
        results = [m["content"] for m in game.messages if m["role"] == "tool"]
        last = f"<h4>The tool said</h4><pre>{views.safe(results[-1])}</pre>" if results and not game.episode else ""
        self.view.value = views.section("Game", said + last + drawn)


# --- review ----------------------------------------------------------------------------------------------


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
    episodes = _some(episodes)

    def static() -> str:
        left = people.to_review(episodes, path, by, seed)
        first = views.whole(left[0], module, "To review") if left else ""
        return views.section("Review", _figures(path, episodes, left)) + first

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
        figures.value = views.section("Review", _figures(path, episodes, left))
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


def _figures(path, episodes: list[dict], left: list[dict]) -> str:
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
    told = f"<p>{len(left)} of {len(episodes)} left to review; {found['n']} verdicts reviewed so far.</p>"
    return told + views.cells(rows)

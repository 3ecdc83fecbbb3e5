# SPDX-License-Identifier: Apache-2.0
"""Rollouts to look at and to handle in a notebook: browse, compare, watch training, play, review.

Each function returns a `Shown`: in a cell it is widgets where there is a front end, and the same things as static HTML
in a headless run, without ipywidgets, and in a saved notebook. Widgets only look on: nothing reads them but themselves.
"""

import json
from types import ModuleType

from helpers.episodes.record import kind_of
from helpers.measure.evaluation import failures
from helpers.show import views
from helpers.show.page import Markup, rows
from helpers.show.parts import ANY, WIDE, Pages, Shown, at_least_one, beside, choice

__all__ = ["group_explorer", "profile_explorer", "rollout_browser", "select"]


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
        and (failure == ANY or (_class(episode) != "right" and kind_of(episode) == failure))
        and policy in (ANY, episode.get("policy"))
    ]


def _class(episode: dict) -> str:
    return "unjudged" if episode["reward"] is None else "right" if episode["reward"] >= 1 else "wrong"


def rollout_browser(episodes: list[dict], module: ModuleType | None = None) -> Shown:
    """Episodes one by one, filtered by reward, environment, kind of failure and policy.

    Args:
        episodes: Such as `rollout` and `store.read` return.
        module: Their environment, where it is none of `envs.NAMES`.

    Raises:
        ValueError: no episodes.
    """
    episodes = at_least_one(episodes)

    def static() -> Markup:
        first = views.whole(episodes[0], module, f"Episode 1 of {len(episodes)}")
        return views.draw.browser(views.listing(episodes, module), first)

    return Shown(f"rollout browser, {len(episodes)} episodes", static, lambda w: _browser(w, episodes, module))


def _browser(w, episodes: list[dict], module):
    filters = {
        "reward": choice(w, "Reward", [_class(e) for e in episodes]),
        "environment": choice(w, "Environment", [e.get("environment") for e in episodes]),
        "failure": choice(w, "Failure", [kind_of(e) for e in episodes if _class(e) != "right"]),
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
    for episode in at_least_one(episodes):
        groups.setdefault((episode.get("policy"), episode["task_id"]), []).append(episode)
    every = sorted(groups.values(), key=lambda group: _spread(group) != "mixed")  # the telling ones first

    def static() -> Markup:
        kinds = [["groups", "count"], *([k, sum(_spread(g) == k for g in every)] for k in _SPREADS)]
        return views.draw.table("Groups", kinds) + _group(every[0], module, f"Group 1 of {len(every)}")

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


def _group(group: list[dict], module, label: str) -> Markup:
    """A group as HTML: the task, and its answers, best first, equal ones once."""
    rewards = [e["reward"] for e in group if e["reward"] is not None]
    mean = sum(rewards) / len(rewards) if rewards else 0.0
    alike: dict[str, list[dict]] = {}
    for episode in sorted(group, key=lambda e: (e["reward"] is None, -(e["reward"] or 0.0))):
        alike.setdefault(json.dumps([episode["messages"], episode["reward"]], default=str), []).append(episode)
    lines: list[list] = [["verdict", "advantage", "times", "why", "read in the answer", "answer"]]
    for same in alike.values():
        one = same[0]
        gain = "none" if one["reward"] is None else f"{one['reward'] - mean:+.2f}"
        read = views.safe(views.read_out(one, module or views.module_of(one)), 160)
        answer = views.draw.unfold(views.conversation(one["messages"]))
        lines.append([views.verdict(one["reward"]), gain, len(same), views.safe(one["reason"], 200), read, answer])
    told = {
        "mixed": f"Mean reward {mean:.2f}. Answers above it become more likely, those below less.",
        "all alike": f"All earned {mean:.2f}: a dead group, nothing to learn from.",
        "unjudged": "No answer could be judged.",
    }[_spread(group)]
    if len(rewards) < len(group) and rewards:
        told += f" {len(group) - len(rewards)} unjudged answers are left out."
    return views.draw.group(label, told, views.conversation(group[0].get("prompt") or []), lines)


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

    def static(policies=tuple(rollouts)) -> Markup:
        return views.draw.joined(
            "Reward profile", _profile(profile), [_failing(name, rollouts[name]) for name in policies]
        )

    def live(w):
        children = [w.HTML(static(()))]
        if rollouts:
            policy = w.Dropdown(options=list(rollouts), description="Policy", style=WIDE)
            below = w.VBox()

            def choose(_=None) -> None:
                episodes = rollouts[policy.value]
                told = views.draw.joined(f"Failures of {policy.value}", _failing(policy.value, episodes), ())
                below.children = [w.HTML(told), _browser(w, episodes, module)]

            policy.observe(choose, "value")
            choose()
            children += [policy, below]
        return w.VBox(children)

    return Shown(f"reward profile: {profile['verdict']}", static, live)


def _profile(profile: dict) -> Markup:
    columns = {
        "policy": "{name}", "pass@1": "{pass_at_1:.2f}", "95 % interval": "{ci95[0]:.2f} to {ci95[1]:.2f}",
        "best of samples": "{best:.2f}", "dead groups": "{dead_groups:.0%}", "different": "{variety:.0%}",
        "cut off": "{truncated:.0%}", "unjudged": "{unjudged:.0%}",
    }  # fmt: skip
    policies = [p | {"name": name, "best": max(p["pass_at_k"].values())} for name, p in profile["policies"].items()]
    stress = [["answers that deserve nothing", "mean reward"]]
    stress += [[name, ("✗ " if mean else "✓ ") + f"{mean:.2f}"] for name, mean in profile["stress"].items()]
    same = "the same answer always gets the same reward" if profile["deterministic"] else "the reward is not repeatable"
    return views.draw.profile(
        profile["verdict"], profile["reasons"], rows(policies, columns), stress, same, profile["latency_ms"]["median"]
    )


def _failing(name: str, episodes: list[dict]) -> Markup:
    """How many of a group's answers are right, and what is wrong with the others."""
    by_task: dict[str, list[float]] = {}
    for episode in episodes:
        if episode["reward"] is not None:
            by_task.setdefault(episode["task_id"], []).append(episode["reward"])
    right = [sum(reward >= 1 for reward in group) for group in by_task.values()]
    shares: list[list] = [["right answers in a group", "groups", ""]]
    for count in range(max(map(len, by_task.values()), default=0) + 1):
        share = right.count(count) / len(right) if right else 0
        shares.append([count, right.count(count), "█" * round(20 * share)])
    kinds = [["kind of failure", "share", "what is missing", "for example"]]
    for one in failures(episodes):
        kinds.append([one["kind"], f"{one['share']:.1%}", one["capability"], views.safe(one["example"], 160)])
    return views.draw.failing(name, shares, kinds)

# SPDX-License-Identifier: Apache-2.0
"""Pictures of results. Each function draws on matplotlib axes and returns them; n and seed stand on the picture."""

from pathlib import Path
from textwrap import fill

BLUE, ORANGE, GREEN, GREY = "#0072B2", "#E69F00", "#009E73", "#8c8c8c"  # Okabe and Ito: safe for colour-blind readers
PALETTE = (BLUE, ORANGE, GREEN, GREY)


def _axes(axes=None, width: float = 7, height: float = 3.4):
    import matplotlib.pyplot as plt

    if axes is None:
        axes = plt.subplots(figsize=(width, height), layout="constrained")[1]
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(axis="y", color="#e5e5e5", linewidth=0.8)
    axes.set_axisbelow(True)
    return axes


def close(axes) -> None:
    """Drop the figure that `axes` belongs to, where it was shown already."""
    import matplotlib.pyplot as plt

    plt.close(axes.figure)


def save(axes, path: Path | str) -> None:
    """Write the figure that `axes` belongs to, as PNG and as SVG."""
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    for ending in (".png", ".svg"):
        axes.figure.savefig(path.with_suffix(ending), dpi=150)


def bars(shares: dict[str, tuple[float, tuple[float, float]]], ylabel: str, title: str, axes=None):
    """Bars with intervals.

    Args:
        shares: name: (value, (low, high)), each between 0 and 1. Names with the same last line share a colour.
        ylabel: What a bar measures.
        title: With n and seed.
        axes: Axes to draw on; None makes a figure.
    """
    axes = _axes(axes)
    names = list(shares)
    values = [shares[name][0] for name in names]
    spread = [
        [max(0, v - shares[n][1][0]) for v, n in zip(values, names)],
        [max(0, shares[n][1][1] - v) for v, n in zip(values, names)],
    ]
    kinds = list(dict.fromkeys(name.split("\n")[-1] for name in names))
    colours = [PALETTE[kinds.index(name.split("\n")[-1]) % 4] for name in names]
    axes.bar(names, values, yerr=spread, color=colours, width=0.6, capsize=4, ecolor="#444444")
    for x, (value, name) in enumerate(zip(values, names)):
        axes.text(x, shares[name][1][1] + 0.02, f"{value:.2f}", ha="center", va="bottom", fontsize=10)
    axes.set_ylim(0, 1.1)
    axes.set_ylabel(ylabel)
    axes.set_title(title, fontsize=10, loc="left")
    return axes


def gains(changes: dict[str, dict], title: str, axes=None):
    """Gains with their intervals, one line for each set of tasks: {name: `evaluation.compare`}. Blue where one is
    shown, orange where a loss is, grey where the interval holds zero."""
    from helpers.measure.evaluation import moved

    axes = _axes(axes, height=1 + 0.3 * max(2, len(changes)))
    axes.grid(False)
    axes.axvline(0, color="#444444", linewidth=0.8)
    colours = {"gained": BLUE, "lost": ORANGE, "not shown": GREY}
    for y, change in enumerate(changes.values()):
        colour, (low, high) = colours[moved(change)], change["ci95"]
        axes.plot([low, high], [y, y], color=colour, linewidth=2)
        axes.plot(change["gain"], y, "o", color=colour)
        axes.text(high, y, f"  {change['before']:.2f} to {change['after']:.2f}", va="center", fontsize=9)
    axes.set_yticks(range(len(changes)), [f"{name} (n={change['n']})" for name, change in changes.items()], fontsize=9)
    axes.set_ylim(len(changes) - 0.4, -0.6)
    axes.margins(x=0.25)
    axes.set_xlabel("gain in pass@1, with 95 % interval")
    axes.set_title(title, fontsize=10, loc="left")
    return axes


def failure_bars(kinds: list[dict], title: str, axes=None):
    """Horizontal bars of `evaluation.failures`, each with the capability that is missing."""
    axes = _axes(axes, height=0.9 + 0.45 * max(1, len(kinds)))
    axes.grid(False)
    labels = [f"{k['kind']}\n({k['capability']})" for k in kinds]
    axes.barh(labels, [k["share"] for k in kinds], color=ORANGE, height=0.6)
    for y, k in enumerate(kinds):
        axes.text(k["share"] + 0.005, y, f"{k['share']:.1%}", va="center", fontsize=9)
    axes.invert_yaxis()
    axes.tick_params(axis="y", labelsize=8)
    axes.set_xlim(0, max([k["share"] for k in kinds] or [1]) * 1.15)
    axes.set_xlabel("share of all answers")
    axes.set_title(title, fontsize=10, loc="left")
    return axes


def pass_at_k(curves: dict[str, dict[int, float]], title: str, axes=None):
    """pass@k against k, a line for each policy: {name: {k: value}}."""
    axes = _axes(axes)
    for (name, curve), colour in zip(curves.items(), PALETTE):
        axes.plot(list(curve), list(curve.values()), marker="o", color=colour, label=name)
    axes.set_xticks(sorted({k for curve in curves.values() for k in curve}))
    axes.set_ylim(0, 1.05)
    axes.set_xlabel("k, samples a task")
    axes.set_ylabel("pass@k")
    axes.legend(frameon=False)
    axes.set_title(title, fontsize=10, loc="left")
    return axes


def solved_in_group(by_policy: dict[str, list[list[float]]], title: str, axes=None):
    """How many of a group's samples are right, as a share of the groups: {policy: [rewards of a group, ...]}.

    Groups at the two ends have nothing to select from; those between them are what training learns from."""
    axes = _axes(axes)
    width = 0.8 / len(by_policy)
    for p, ((name, groups), colour) in enumerate(zip(by_policy.items(), PALETTE)):
        size = max(len(group) for group in groups)
        counts = [sum(sum(group) == c for group in groups) / len(groups) for c in range(size + 1)]
        axes.bar(
            [c + width * (p - (len(by_policy) - 1) / 2) for c in range(size + 1)],
            counts,
            width,
            color=colour,
            label=name,
        )
    axes.set_ylim(0, 1.05)
    axes.set_xlabel("right answers in a group")
    axes.set_ylabel("share of the groups")
    axes.legend(frameon=False)
    axes.set_title(title, fontsize=10, loc="left")
    return axes


def training(rows: list[dict], title: str):
    """Reward, its spread, length, dead groups, KL or entropy, and lost answers of a GRPO run, from the entries of
    `Recorder`. The band is one standard deviation of a step's rewards, within what a reward can be; rewards on
    held-out tasks are dots.

    Returns:
        The six axes, reward first."""
    import matplotlib.pyplot as plt

    figure, grid = plt.subplots(2, 3, figsize=(11, 5), layout="constrained", sharex=True)
    drift = {"kl": BLUE} if any("kl" in row for row in rows) else {"entropy": BLUE}
    panels = [
        ("mean reward", {"reward": BLUE}),
        ("spread of the reward", {"reward_std": GREY, "group_spread": ORANGE}),
        ("tokens in an answer", {"completions/mean_length": GREEN}),
        ("dead groups (share)", {"dead_groups": GREY}),
        ("KL to the start" if "kl" in drift else "entropy (nats a token)", drift),
        ("lost answers (share)", {"completions/clipped_ratio": ORANGE, "unjudged": BLUE}),
    ]
    for axes, (label, keys) in zip(grid.flat, panels):
        _axes(axes)
        top = 0.0
        for key, colour in keys.items():
            points = [(row["step"], row[key]) for row in rows if key in row]
            if points:
                steps, values = zip(*points)
                axes.plot(steps, values, color=colour, linewidth=0.8, alpha=0.45)
                axes.plot(steps, _smooth(values), color=colour, linewidth=2, label=_LABELS.get(key))
                top = max(top, *values)
        axes.set_ylim(0, top * 1.08 or 1)
        axes.set_ylabel(label)
    _band(grid.flat[0], rows)
    held_out = [(row["step"], row["held_out"]) for row in rows if "held_out" in row]
    if held_out:
        grid.flat[0].plot(*zip(*held_out), "o", color=ORANGE, label="held out")
    if grid.flat[0].get_legend_handles_labels()[0]:  # above the panel, whose band leaves no room in it
        grid.flat[0].legend(frameon=False, fontsize=8, loc="lower left", bbox_to_anchor=(-0.02, 1), borderpad=0)
    for axes in (grid.flat[1], grid.flat[5]):
        if axes.lines:
            axes.legend(frameon=False, fontsize=8)
    for axes in grid[1]:
        axes.set_xlabel("step")
    figure.suptitle(title, fontsize=10, x=0.01, ha="left")
    return grid.flat


_LABELS = {
    "reward_std": "over all answers",
    "group_spread": "inside a group",
    "completions/clipped_ratio": "cut off at the limit",
    "unjudged": "unjudged",
}


def _band(axes, rows: list[dict]) -> None:
    """The reward of a step, one standard deviation up and down, as far as rewards go: from 0 to 1, or to what a step
    earned where that lies outside. The axis then spans the band and what is held out."""
    points = [(row["step"], row["reward"], row["reward_std"]) for row in rows if {"reward", "reward_std"} <= set(row)]
    if not points:
        return
    steps, means, spreads = zip(*points)
    least, most = min(0.0, *means), max(1.0, *means)
    ends = [(max(m - s, least), min(m + s, most)) for m, s in zip(_smooth(means), _smooth(spreads))]
    low, high = zip(*ends)
    label = f"one standard deviation, within {least:.3g} to {most:.3g}"
    axes.fill_between(steps, low, high, color=BLUE, alpha=0.2, linewidth=0, label=label)
    top = max(*high, *(row.get("held_out", 0.0) for row in rows), *(row["reward"] for row in rows if "reward" in row))
    axes.set_ylim(least, top * 1.08 or 1)


def what_fails(failed: dict):
    """Runs that failed beside the one that works (grey): above the reward in training, below the quantity in which the
    failure shows. From `history.failed_runs`.

    Returns:
        The axes, those of the rewards first."""
    import matplotlib.pyplot as plt

    works, *runs = failed["runs"]
    figure, grid = plt.subplots(2, len(runs), figsize=(3.1 * len(runs), 5.4), layout="constrained", sharex=True)
    for column, run in zip(grid.T, runs):
        for axes, key in zip(column, ("reward", run["sign"])):
            _axes(axes)
            top = 0.0
            for one, colour in ((works, GREY), (run, ORANGE)):
                steps = [row["step"] for row in one["history"]]
                values = _smooth([row[key] for row in one["history"]])
                axes.plot(steps, values, color=colour, linewidth=2, label="works" if one is works else "fails")
                top = max(top, *values)
            axes.set_ylim(0, max(top * 1.08, 0.05))
            axes.set_ylabel(_SIGNS.get(key, key), fontsize=9)
        column[0].set_title(fill(run["title"], 36), fontsize=9, loc="left")
        column[1].set_title(fill("the sign: " + run["says"], 36), fontsize=9, loc="left")
        column[1].set_xlabel("step")
    grid[0, 0].legend(frameon=False, fontsize=8)
    made = failed["made"]
    figure.suptitle(f"GRPO on {made['environment']}, {made['steps']} steps, seed {made['seed']}", fontsize=10, x=0.01,
                    ha="left")  # fmt: skip
    return grid.flat


_SIGNS = {
    "reward": "reward in training",
    "strict": "strict verdict",
    "entropy": "entropy (nats a token)",
    "dead_groups": "dead groups (share)",
    "completions/mean_length": "tokens in an answer",
}


def curves(runs: dict[str, list[dict]], key: str, ylabel: str, title: str, axes=None):
    """One quantity of several runs over the steps: {name: entries of `Recorder`}."""
    axes = _axes(axes)
    for (name, rows), colour in zip(runs.items(), PALETTE):
        points = [(row["step"], row[key]) for row in rows if key in row]
        if points:
            steps, values = zip(*points)
            axes.plot(steps, _smooth(values), color=colour, linewidth=2, label=name)
    axes.margins(y=0.1)
    axes.set_ylim(0, axes.get_ylim()[1])
    axes.set_xlabel("step")
    axes.set_ylabel(ylabel)
    axes.legend(frameon=False)
    axes.set_title(title, fontsize=10, loc="left")
    return axes


def by_environment(rows: list[dict], names: list[str], title: str):
    """Reward and dead groups of each environment in one run: two axes, from the entries of `Recorder` in a run
    with the reward of `mixing.dispatch`. Running means over 15 steps, since a step holds a few groups of each."""
    import matplotlib.pyplot as plt

    figure, grid = plt.subplots(1, 2, figsize=(11, 3.4), layout="constrained", sharex=True)
    for axes, (key, label) in zip(grid, (("reward", "mean reward"), ("dead", "dead groups (share)"))):
        _axes(axes)
        for name, colour in zip(names, PALETTE):
            points = [(row["step"], row[f"{key}/{name}"]) for row in rows if f"{key}/{name}" in row]
            if points:
                steps, values = zip(*points)
                axes.plot(steps, _smooth(values, 15), color=colour, linewidth=2, label=name)
        axes.set_ylim(0, 1.05)
        axes.set_xlabel("step (running means over 15)")
        axes.set_ylabel(label)
    grid[0].legend(frameon=False)
    figure.suptitle(title, fontsize=10, x=0.01, ha="left")
    return grid


def lines(curves: dict[str, dict[float, float]], xlabel: str, ylabel: str, title: str, axes=None):
    """Points joined by a line for each name: {name: {x: y}}; the x are few, each doubling or so, and are all marked."""
    axes = _axes(axes)
    for (name, curve), colour in zip(curves.items(), PALETTE):
        axes.plot(list(curve), list(curve.values()), marker="o", color=colour, label=name)
    axes.set_xscale("log", base=2)
    ticks = sorted({x for curve in curves.values() for x in curve})
    axes.set_xticks(ticks, [f"{x:g}" for x in ticks])
    axes.set_ylim(0, 1.15 * max(y for curve in curves.values() for y in curve.values()))
    axes.set_xlabel(xlabel)
    axes.set_ylabel(ylabel)
    if len(curves) > 1:
        axes.legend(frameon=False)
    axes.set_title(title, fontsize=10, loc="left")
    return axes


def _smooth(values, window: int = 9) -> list[float]:
    """Mean over a window around each point, shorter at the ends."""
    half = window // 2
    near = [values[max(0, i - half) : i + half + 1] for i in range(len(values))]
    return [sum(part) / len(part) for part in near]

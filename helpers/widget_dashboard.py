"""Training as it goes, for people: curves, and the answers they stand for."""

import base64
import io
from collections.abc import Callable
from functools import wraps
from types import ModuleType

from helpers import widget_views as views
from helpers.page import Markup


class Dashboard:
    """Training as it goes: the curves, and under them what the policy wrote in the last step, what was read in it, and
    the verdict.

    >>> dashboard = widgets.Dashboard(env, title)
    >>> recorder = training.recorder(out / "history.jsonl", steps, draw=dashboard.draw)
    >>> reward_funcs = [recorder.watch(dashboard.watch(env.reward), group_size)]

    Args:
        module: The environment.
        title: Of the curves.
        n: Most answers shown.
    """

    def __init__(self, module: ModuleType, title: str, n: int = 4):
        self.module, self.title, self.n = module, title, n
        self._last: tuple[list, dict, list] | None = None

    def watch(self, reward: Callable) -> Callable:
        """A reward function that keeps the answers it was asked about last."""

        @wraps(reward)
        def watched(completions, **columns):
            rewards = reward(completions=completions, **columns)
            self._last = completions, columns, rewards
            return rewards

        return watched

    def draw(self, rows: list[dict]):
        """The entries of the recorder so far, and the last answers, as HTML to show."""
        from IPython.display import HTML

        try:
            samples = self._samples(rows[-1]["step"] if rows else 0) if self._last else ""
        except Exception as error:  # a picture that fails must not end a training run
            samples = f"<p>answers not drawn: {views.safe(f'{type(error).__name__}: {error}', 300)}</p>"
        return HTML(_curves(rows, self.title) + samples)

    def _samples(self, step: int) -> str:
        """One group of the last step, one whose answers differ if there is such: its best and its worst."""
        assert self._last is not None
        completions, columns, rewards = self._last
        group = _telling(columns["task"], rewards)
        rows = [["verdict", "why", "read in the answer", "answer"]]
        group.sort(key=lambda i: (rewards[i] is None, -(rewards[i] or 0.0)))
        best, worst = group[: self.n - self.n // 2], group[self.n - self.n // 2 :]
        for i in best + worst[-(self.n // 2) :]:
            said = completions[i]
            said = [{"role": "assistant", "content": said}] if isinstance(said, str) else list(said)
            row = {"task": columns["task"][i], "prompt": columns["prompts"][i], "messages": said}
            reason = self.module.score(completions[i], row).reason
            read = views.read_out(row, self.module)
            alone = len(said) == 1 and not said[0].get("tool_calls")
            shown = f"<pre>{views.safe(views.text_of(said[0]['content']))}</pre>" if alone else views.conversation(said)
            rows.append([views.verdict(rewards[i]), views.safe(reason, 160), views.safe(read, 160), Markup(shown)])
        asked = columns["prompts"][group[0]]
        asked = asked if isinstance(asked, str) else views.text_of(asked[-1]["content"])
        return views.section(
            f"Answers at step {step}",
            f"<h4>Answers to one task, step {step}</h4><pre>{views.safe(asked, 800)}</pre>" + views.cells(rows),
        )


def _telling(tasks: list, rewards: list) -> list[int]:
    """Which answers make up the first group with two different rewards, or the first group of all."""
    groups: list[list[int]] = []
    for i, task in enumerate(tasks):
        if not i or task != tasks[i - 1]:
            groups.append([])
        groups[-1].append(i)
    return next((g for g in groups if len({rewards[i] for i in g} - {None}) > 1), groups[0])


def _curves(rows: list[dict], title: str) -> str:
    """The curves of training as a picture inside the page."""
    from helpers import plots

    axes, file = plots.training(rows, title)[0], io.BytesIO()
    axes.figure.savefig(file, format="png", dpi=80)
    plots.close(axes)
    data, last = base64.b64encode(file.getvalue()).decode(), rows[-1] if rows else {}
    told = f"{title}: step {last.get('step', 0)}, mean reward {last.get('reward', 0.0):.2f}"
    return views.section("Curves of training", f'<img alt="{views.safe(told)}" src="data:image/png;base64,{data}">')

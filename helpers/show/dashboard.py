# SPDX-License-Identifier: Apache-2.0
"""Training as it goes, for people: the curves, and the answers behind them."""

import io
from types import ModuleType

from helpers.show import views
from helpers.show.page import Markup, encoded, tags


class Dashboard:
    """The curves of a training run, and under them answers of the last step that was looked at, what was read in them,
    and their verdicts.

    >>> dashboard = Dashboard(env, title)
    >>> recorder = Recorder(out / "history.jsonl", steps, draw=dashboard.draw)
    >>> reward_funcs = [recorder.watch(env.reward, group_size, env)]

    Args:
        module: The environment.
        title: Of the curves.
        n: Most answers shown.
    """

    def __init__(self, module: ModuleType, title: str, n: int = 4):
        self.module, self.title, self.n = module, title, n

    def draw(self, recorder):
        """A recorder's entries so far, and its last group of answers, as HTML to show."""
        from IPython.display import HTML

        try:
            answers = self._answers(recorder.group) if recorder.group else Markup("")
        except Exception as error:  # a picture that fails must not end a training run
            answers = tags.p(views.safe(f"answers not drawn: {type(error).__name__}: {error}", 300))
        return HTML(_curves(recorder.rows, self.title) + answers)

    def _answers(self, group: list[dict]) -> Markup:
        """The best and the worst of a group."""
        group = sorted(group, key=lambda one: (one["reward"] is None, -(one["reward"] or 0.0)))
        best, worst = group[: self.n - self.n // 2], group[self.n - self.n // 2 :]
        rows = [["verdict", "why", "read in the answer", "answer"]]
        for one in best + worst[-(self.n // 2) :]:
            said = one["messages"]
            read = views.read_out(one, self.module)
            alone = len(said) == 1 and not said[0].get("tool_calls")
            shown = tags.pre(views.text_of(said[0]["content"])) if alone else views.conversation(said)
            rows.append([views.verdict(one["reward"]), views.safe(one["reason"], 160), views.safe(read, 160), shown])
        asked, step = group[0]["prompt"], group[0]["step"]
        asked = asked if isinstance(asked, str) else views.text_of(asked[-1]["content"])
        return views.draw.answers(step, asked, rows)


def _curves(rows: list[dict], title: str) -> Markup:
    """The curves of training as a picture inside the page."""
    from helpers.show import plots

    axes, file = plots.training(rows, title)[0], io.BytesIO()
    axes.figure.savefig(file, format="png", dpi=80)
    plots.close(axes)
    data, last = encoded(file.getvalue()), rows[-1] if rows else {}
    told = f"{title}: step {last.get('step', 0)}, mean reward {last.get('reward', 0.0):.2f}"
    return views.draw.curves(data, told)

# SPDX-License-Identifier: Apache-2.0
"""Callbacks of a training run: `Recorder` keeps what the trainer logs, `HeldOut` measures on the way and ends the run
when there is nothing left to gain.

They take the events of Hugging Face trainers by their names and are no subclasses of theirs, so that importing this
file loads no trainer.
"""

import json
import os
import time
from collections.abc import Callable
from functools import wraps
from math import isfinite
from pathlib import Path
from statistics import pstdev

from helpers.episodes.record import episode
from helpers.episodes.responses import text_of
from helpers.here import first_process
from helpers.rollout.monitor import Progress
from helpers.train.finite import Finite
from helpers.train.history import cut_at, plateaued, samples_path

# What TRL calls a measure, and what it is called everywhere here.
NAMES = {"frac_reward_zero_std": "dead_groups"}


class _Events:
    """The events of a trainer that a callback has no use for."""

    def __getattr__(self, name: str):
        if name.startswith("on_"):
            return lambda *_, **__: None
        raise AttributeError(name)


class Recorder(_Events):
    """Writes what a trainer logs to a JSONL file, prints a few lines on the way, and stops a run that went wrong.

    A run that is resumed keeps the entries up to its checkpoint. `rows` are the log entries so far, numbers as floats,
    with `step` and `step_s`, the seconds that the step took, and what `watch` adds; `samples` are a few episodes on
    the way, also in the file NAME.samples.jsonl; `group` is the last group of answers that was looked at; `seconds` is
    how long training took, since it was last resumed.

    Args:
        path: The file; made anew.
        total: Steps of the run.
        what: What to call the run in those lines.
        draw: Makes something to show of this recorder, such as `Dashboard.draw`; shown and redrawn ten times on the
            way.

    Raises:
        FloatingPointError: from training, when gradients or loss, and on a CPU logits, are no longer finite numbers.
    """

    def __init__(self, path: Path | str, total: int, what: str = "training", draw: Callable | None = None):
        self.path, self.total, self.what, self.draw = Path(path), total, what, draw
        self.rows: list[dict] = []
        self.samples: list[dict] = []
        self.group: list[dict] = []
        self.seconds = 0.0
        self.seen: dict[str, float] = {}  # what the last rewards say, for every entry
        self.extra: dict[str, float] = {}  # for the next entry alone
        self._finite, self._shown = Finite(), None
        self._step_began: float | None = None
        self._reward_s, self._times = 0.0, {}

    @property
    def _look(self) -> int:
        """Every how many steps to look at answers, and to draw."""
        return max(1, self.total // 10)

    def watch(self, reward: Callable, group_size: int, module=None) -> Callable:
        """The reward function, watched.

        Entries then also hold `group_spread`, the mean standard deviation of the rewards inside a group, `unjudged`,
        the share of None, and `reward_s`, the seconds that the function took in this step.

        Args:
            reward: A reward function of TRL.
            group_size: Completions of one prompt.
            module: The environment, where `samples` and `group` are wanted.
        """

        @wraps(reward)
        def watched(completions, **columns):
            began = time.perf_counter()
            rewards = reward(completions=completions, **columns)
            self._reward_s += time.perf_counter() - began
            self.seen = _spread(rewards, group_size)
            if module and self._step_began is not None:  # before the first step, rewards are only tried out
                step = columns["trainer_state"].global_step
                if step % self._look == 0:
                    self._keep(module, completions, rewards, columns, group_size, step + 1)
            return rewards

        return watched

    def _keep(self, module, completions, rewards, columns, group_size: int, step: int) -> None:
        """Grade one group once more for its reasons: the first whose answers differ in reward, else the first."""
        starts = range(0, len(rewards), group_size)
        mixed = (i for i in starts if len({*rewards[i : i + group_size]} - {None}) > 1)
        chosen = range(start := next(mixed, 0), min(start + group_size, len(rewards)))
        rows = [{key: value[i] for key, value in columns.items() if isinstance(value, list)} for i in chosen]
        self.group = [_graded(module, completions[i], rewards[i], row) | {"step": step} for i, row in zip(chosen, rows)]
        judged = [one for one in self.group if one["reward"] is not None] or self.group[:1]
        ends = [max(judged, key=lambda one: one["reward"] or 0.0), min(judged, key=lambda one: one["reward"] or 0.0)]
        ends = ends if ends[0] is not ends[1] else ends[:1]
        self.samples += ends
        with samples_path(self.path).open("a", encoding="utf-8") as file:
            file.write("".join(json.dumps(sample) + "\n" for sample in ends))

    def on_train_begin(self, args, state, control, model=None, **_):
        self._finite.begin(args, state, model)
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self.rows = cut_at(self.path, state.global_step)
        self.samples = cut_at(samples_path(self.path), state.global_step)
        self._progress = Progress(f"{self.what}: steps", self.total, start=state.global_step)
        self._began = time.perf_counter()

    def on_step_begin(self, *_, **__):
        self._step_began, self._reward_s = time.perf_counter(), 0.0

    def on_pre_optimizer_step(self, args, state, control, model=None, **_):
        self._finite.gradients(args, state, model)

    def on_step_end(self, args, state, control, **_):
        self._progress.step()
        now = time.perf_counter()
        self.seconds = round(now - self._began, 1)
        if self._step_began is not None:
            self._times = {"step_s": now - self._step_began} | ({"reward_s": self._reward_s} if self.seen else {})

    def on_log(self, args, state, control, logs=None, model=None, **_):
        numbers = {NAMES.get(key, key): n for key, value in (logs or {}).items() if (n := _number(value)) is not None}
        self._finite.loss(numbers.get("loss", 0.0), args, state, model)
        row = {"step": state.global_step} | {key: n for key, n in numbers.items() if isfinite(n)}
        if len(row) < 3 or "train_runtime" in row:  # the last entry sums the run up
            return
        self.rows.append(row | self.seen | self._times | self.extra)
        self.extra = {}
        with self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(self.rows[-1]) + "\n")
        if self.draw and state.global_step % self._look == 0:
            self._shown = _redraw(self.draw(self), self._shown)

    def on_train_end(self, *_, **__):
        self._finite.end()


class HeldOut(_Events):
    """Measures on held-out tasks every few steps, as `held_out` in the recorder's entries; ends the run when the best
    of the last `patience` values is less than `min_gain` above the best before them.

    Args:
        recorder: Of the same run; give it to the trainer first.
        measure: Gives the mean reward on held-out tasks.
        every: Steps from one measurement to the next.
        patience: Measurements without a gain that end the run; 0 never ends it.
        min_gain: What counts as a gain.
    """

    def __init__(
        self, recorder: Recorder, measure: Callable[[], float], every: int, patience: int = 3, min_gain: float = 0.01
    ):
        self.recorder, self.measure, self.every = recorder, measure, every
        self.patience, self.min_gain = patience, min_gain

    def on_step_end(self, args, state, control, model=None, **_):
        if state.global_step % self.every:
            return
        now = _in_all_processes(self.measure)
        self.recorder.extra["held_out"] = now
        if model is not None:
            model.train()  # generation left it in eval mode, in which the trainer would log nothing
        values = [row["held_out"] for row in self.recorder.rows if "held_out" in row] + [now]
        more = state.global_step < state.max_steps
        if more and self.patience and plateaued(values, self.patience, self.min_gain):
            recent = ", ".join(f"{value:.3f}" for value in values[-self.patience :])
            print(
                f"{self.recorder.what}: stopped at step {state.global_step}, held-out reward no longer rises ({recent})"
            )
            control.should_training_stop = True


def _graded(module, completion, reward: float | None, row: dict) -> dict:
    """A completion of a trainer as an episode, with what was read out of it as `extracted`."""
    said = [{"role": "assistant", "content": completion}] if isinstance(completion, str) else list(completion)
    row = {"prompt": row.get("prompt", row.get("prompts")), "environment": ""} | row
    verdict = module.score(completion, row)
    calls = module.parse("\n".join(text_of(message.get("content")) for message in said), row)
    read = "; ".join(" ".join(map(str, arguments.values())) for _, arguments in calls)
    graded = episode({"task_id": ""} | row, said, verdict)
    return graded | {"reward": reward, "extracted": read or None}


def _in_all_processes(measure: Callable[[], float]) -> float:
    """What the first process measures, in all of them: they must agree whether to stop, or one would wait for ever."""
    if os.environ.get("WORLD_SIZE", "1") == "1":
        return measure()
    from accelerate.utils import broadcast_object_list

    return broadcast_object_list([measure() if first_process() else None])[0]


def _spread(rewards: list[float | None], group_size: int) -> dict[str, float]:
    """How much the rewards differ inside their groups, and the share that could not be judged."""
    groups = [[r for r in rewards[i : i + group_size] if r is not None] for i in range(0, len(rewards), group_size)]
    spreads = [pstdev(group) for group in groups if group]
    return {
        "group_spread": sum(spreads) / len(spreads) if spreads else 0.0,
        "unjudged": sum(r is None for r in rewards) / len(rewards),
    }


def _redraw(figure, shown):
    """Show a figure or the like in the notebook, in the place of the one shown before; in a script, do nothing."""
    from IPython import get_ipython
    from IPython.display import display
    from matplotlib.figure import Figure
    from matplotlib.pyplot import close

    if get_ipython() is not None:
        if shown is None:
            shown = display(figure, display_id=True)
        else:
            shown.update(figure)
    if isinstance(figure, Figure):
        close(figure)
    return shown


def _number(value) -> float | None:
    try:
        return float(value)
    except (TypeError, ValueError):
        return None

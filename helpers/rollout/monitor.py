# SPDX-License-Identifier: Apache-2.0
"""How a run is doing: counts and rates while it goes, warnings when a threshold is crossed, one line of progress."""

import json
import logging
import os
import sys
import time
from pathlib import Path
from typing import Any

from helpers.episodes.record import kind_of
from helpers.here import watched

log = logging.getLogger(__name__)

MEASURES = {
    "rollouts_per_minute": "episodes finished a minute, by this run",
    "mean_score": "mean reward of the judged episodes",
    "tool_success_rate": "share of tool calls that did not end in an error",
    "latency_p50_s": "seconds of a model call, median",
    "latency_p95_s": "seconds of a model call, 95th percentile",
    "invalid": "share of episodes with no readable answer or with a call that is no call",
    "unjudged": "share of episodes that could not be judged",
    "failures": "episodes that failed",
}
ENOUGH = 20  # episodes before a threshold is looked at, except at the end


class Monitor:
    """Counts a run's episodes and warns.

    Args:
        thresholds: {measure: {"min": x, "max": y}}, or a YAML file of that; the measures are in `MEASURES`.

    Raises:
        ValueError: a threshold is not of this form.
    """

    def __init__(self, thresholds: dict | Path | str | None = None):
        self.thresholds = _checked(thresholds)
        self.warnings: list[str] = []
        self.episodes = self.rewarded = self.unjudged = self.invalid = self.failures = self.calls = self.bad_calls = 0
        self.total, self.seconds, self._warned = 0.0, [], set()
        self.usage = {"input_tokens": 0, "output_tokens": 0, "cost_usd": 0.0}
        self._began = time.monotonic()

    def add(self, episode: dict) -> None:
        """Count a finished episode."""
        self.episodes += 1
        if episode["reward"] is None:
            self.unjudged += 1
        else:
            self.rewarded += 1
            self.total += episode["reward"]
        calls = episode.get("calls") or {}
        self.calls += calls.get("made", 0)
        self.bad_calls += calls.get("failed", 0)
        self.invalid += bool(calls.get("invalid")) or kind_of(episode) in ("no answer", "format")
        self.seconds += episode.get("model_seconds") or []
        for name, count in (episode.get("usage") or {}).items():
            self.usage[name] = self.usage.get(name, 0) + count
        if self.episodes >= ENOUGH and self.episodes % 10 == 0:
            self.check()

    def fail(self) -> None:
        """Count an episode that failed."""
        self.failures += 1

    def report(self) -> dict:
        """The measures so far, with tokens and cost where the policy counts them; None where there is nothing to
        measure."""
        minutes = max(time.monotonic() - self._began, 1e-9) / 60
        waits = sorted(self.seconds)
        return {
            "episodes": self.episodes,
            "minutes": round(minutes, 3),
            "rollouts_per_minute": round(self.episodes / minutes, 2),
            "mean_score": _share(self.total, self.rewarded),
            "tool_success_rate": _share(self.calls - self.bad_calls, self.calls),
            "latency_p50_s": _quantile(waits, 0.5),
            "latency_p95_s": _quantile(waits, 0.95),
            "invalid": _share(self.invalid, self.episodes),
            "unjudged": _share(self.unjudged, self.episodes),
            "failures": self.failures,
            **self.usage,
            "warnings": list(self.warnings),
        }

    def check(self) -> list[str]:
        """Compare with the thresholds; each one warns once a run.

        Returns:
            All warnings so far.
        """
        report = self.report()
        for measure, bounds in self.thresholds.items():
            value = report[measure]
            for side, limit in bounds.items():
                crossed = value is not None and (value < limit if side == "min" else value > limit)
                if crossed and (measure, side) not in self._warned:
                    self._warned.add((measure, side))
                    word = "below" if side == "min" else "above"
                    text = f"{measure} {value:g} is {word} {limit:g} after {self.episodes} episodes"
                    self.warnings.append(text)
                    log.warning("%s (%s)", text, MEASURES[measure])
        return self.warnings

    def write(self, path: Path | str) -> None:
        """Write the report as JSON, to a file and to the log."""
        log.info("%s", json.dumps(self.report()))
        Path(path).write_text(json.dumps(self.report(), indent=1) + "\n", encoding="utf-8")


def _checked(thresholds) -> dict[str, dict[str, float]]:
    given: Any = thresholds or {}
    if isinstance(thresholds, str | Path):
        from omegaconf import OmegaConf

        given = OmegaConf.to_container(OmegaConf.load(thresholds), resolve=True)
    if not isinstance(given, dict):
        raise ValueError(
            f"thresholds must be measures with min or max, such as mean_score: {{min: 0.7}}; got {given!r}"
        )
    for measure, bounds in given.items():
        if measure not in MEASURES:
            raise ValueError(f"there is no measure {measure!r}; there are {', '.join(MEASURES)}")
        sound = isinstance(bounds, dict) and bounds and set(bounds) <= {"min", "max"}
        if not sound or not all(isinstance(x, int | float) and not isinstance(x, bool) for x in bounds.values()):
            raise ValueError(f"threshold {measure}: give {{min: number}} or {{max: number}}, got {bounds!r}")
    return given


def _share(part: float, whole: int) -> float | None:
    return round(part / whole, 4) if whole else None


def _quantile(ordered: list[float], share: float) -> float | None:
    """Nearest rank."""
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))] if ordered else None


# --- progress --------------------------------------------------------------------------------------------


class Progress:
    """Says how far a long loop is and how long it still takes: tqdm's bar where somebody looks on, in a terminal or a
    notebook; elsewhere and in headless runs at most five lines, of a quick loop one."""

    def __init__(self, what: str, total: int, start: int = 0, quiet: bool = False):
        self.what, self.total, self.at, self.first, self.quiet = what, total, start, start, quiet
        self._began, self._next = time.perf_counter(), 0.2
        self._spoke = self._began
        self._bar = None
        if quiet:
            return
        if start:
            print(f"{what}: {start} of {total} were there already")
        if watched() or (sys.stdout.isatty() and os.environ.get("TQDM_DISABLE") != "1"):
            from tqdm.auto import tqdm

            self._bar = tqdm(
                desc=what, total=total, initial=start, file=sys.stdout, mininterval=0.5, miniters=1, disable=False
            )

    def step(self, n: int = 1, note: str = "") -> None:
        """Count `n` more; `note` is said along, such as the running reward."""
        self.at += n
        if self.quiet:
            return
        if self._bar is not None:
            self._bar.set_postfix_str(note, refresh=self.at >= self.total)
            self._bar.update(n)
            if self.at >= self.total:
                self._bar.close()
            return
        share, now = self.at / self.total, time.perf_counter()
        if share < self._next or (share < 1 and now - self._spoke < 3):
            return
        self._next = int(share * 5 + 1e-9) / 5 + 0.2
        self._spoke = now
        spent = now - self._began
        left = spent / max(self.at - self.first, 1) * (self.total - self.at)
        ending = f"about {left:.0f} s left" if self.at < self.total else "done"
        said = [f"{self.what}: {self.at} of {self.total}", *([note] if note else []), f"{spent:.0f} s", ending]
        print(", ".join(said), flush=True)

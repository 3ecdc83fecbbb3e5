# SPDX-License-Identifier: Apache-2.0
"""Rollouts: a policy answers rows, the environment grades them, and every episode is a line of JSON.

An episode is a `record.Episode` with `seconds`, `model_seconds`, `usage`, `calls` and the settings that it ran with.
It works the same from a script, a cell and a thread; where other things go on, `await asyncio.to_thread(rollout, ...)`.
`helpers.rollout.command_line` does the same from a shell.
"""

import queue
import threading
import time
import warnings
from collections import Counter
from contextlib import nullcontext
from copy import copy
from dataclasses import dataclass, replace
from functools import partial
from hashlib import sha256
from pathlib import Path

from helpers.episodes.environment import tools_of, version_of
from helpers.episodes.record import episode as record
from helpers.episodes.store import KEY, Store, beside, failures_path, key_of
from helpers.rollout.agents import Loop, Model, Session, within
from helpers.rollout.monitor import Monitor, Progress

GRADING_S = 60.0  # longest that a verdict may take where a tool hung
IN_A_ROW = 10  # failures without a success between them after which a run stops
_grading = threading.Lock()  # one verdict at a time: verifiers have time budgets that a neighbour would eat


@dataclass(frozen=True)
class Sampling:
    """How rows are answered; `sampling.but(temperature=0.0)` changes one thing.

    Args:
        samples: Episodes of each row.
        tools: Offer the environment's tools and go on until the policy answers in plain text; else one reply, read as
            text.
        temperature: 0 for greedy decoding, 1 to sample from the policy itself.
        max_tokens: Most new tokens in a reply.
        max_steps: Most replies in an episode with tools.
        seed: Of the sampling.
        at_once: Episodes that run side by side; behind an endpoint, no more than its own limit.
        tool_timeout_s: Seconds that one tool call may take; then the policy is told so.
    """

    samples: int = 1
    tools: bool = False
    temperature: float = 1.0
    max_tokens: int = 128
    max_steps: int = 6
    seed: int = 0
    at_once: int = 256
    tool_timeout_s: float = 20.0

    def but(self, **changes) -> "Sampling":
        """The same, with other values for some fields."""
        return replace(self, **changes)


def rollout(
    module,
    rows: list[dict],
    policy,
    sampling: Sampling = Sampling(),
    *,
    name: str,
    agent=None,
    judge=None,
    shard: str | None = None,
    backend: str = "threads",
    monitor: Monitor | None = None,
    out: Path | str | None = None,
    quiet: bool = False,
) -> list[dict]:
    """Let a policy answer every row, `sampling.samples` times.

    Args:
        module: The environment, as `envs.load` returns it.
        rows: Its tasks.
        policy: Anything with `generate`, see `helpers.rollout.policies`.
        sampling: How they are answered.
        name: What to call the policy in the episodes.
        agent: Who plays an episode, see `helpers.rollout.agents`; None for `Loop(sampling.max_steps)`.
        judge: Passed on to the environment's `score`, for what its rules cannot decide.
        shard: "i/n" to run only the i-th of n parts of the rows, i from 1; join the files with `store.merge`.
        backend: "threads", or "ray" to spread the episodes over a Ray cluster, see `helpers.rollout.ray_backend`.
        monitor: Counts the run, and warns where it has thresholds.
        out: A JSONL file that episodes are appended to as they finish. If it is there already, the episodes in it are
            kept and only the missing and the failed ones run. Failures go to NAME.failures.jsonl, the monitor's report
            to NAME.monitor.json.
        quiet: Print no progress.

    Returns:
        All episodes, rows in order, each row's samples together. Those that failed are missing, with a warning.

    Raises:
        ValueError: `out` holds episodes of other settings, or shard or backend is none.
        RuntimeError: another run writes to `out`.
        Exception: the error if every episode failed, or ten in a row; what a policy raised that answers in batches.
    """
    if backend not in ("threads", "ray"):
        raise ValueError(f"backend must be 'threads' or 'ray', got {backend!r}")
    rows, part = _part(rows, shard)
    agent, monitor = agent or Loop(sampling.max_steps), monitor or Monitor()
    run = _Run(module, policy, agent, judge, sampling, name, part)
    settings = {key: getattr(sampling, key) for key in ("temperature", "max_tokens", "tools", "seed", "max_steps")}
    settings["agent"] = type(agent).__name__
    at_once = sampling.at_once
    wanted = [(row, sample) for row in rows for sample in range(sampling.samples)]
    if len({row["task_id"] for row in rows}) < len(rows):
        twice = Counter(row["task_id"] for row in rows).most_common(1)[0][0]
        raise ValueError(
            f"task_id {twice!r} is in several rows; give each task once, and samples= for several episodes"
        )
    failed: list[tuple[dict, Exception]] = []
    with Store(out) if out is not None else nullcontext() as store:
        done = _resume(store, run, settings, quiet) if store else {}
        todo = [(row, sample) for row, sample in wanted if run.key(row, sample) not in done]
        progress = Progress(f"{name}: rollouts", len(wanted), start=len(wanted) - len(todo), quiet=quiet)
        watch = _Watch(monitor, store)

        def finish(episode: dict | None, failure: dict | None, error: Exception | None) -> None:
            """Keep what has just ended. Runs in the caller's thread."""
            if episode is not None:
                episode |= settings
                done[key_of(episode)] = episode
            else:
                failed.append((failure, error))
            watch.saw(episode, failure)
            progress.step(note=f"reward {monitor.total / monitor.rewarded:.2f}" if monitor.rewarded else "")

        if backend == "ray":
            from helpers.rollout import ray_backend

            ray_backend.play(run, todo, at_once, finish)
        else:
            run.play(todo, len(wanted) - len(todo), at_once, finish)
        monitor.check()
        watch.write()
    if failed and len(failed) == len(todo):
        raise failed[-1][1]
    if failed:
        _tell([failure for failure, _ in failed], store)
    return [done[key] for row, sample in wanted if (key := run.key(row, sample)) in done]


class _Watch:
    """Passes what ends on to the monitor and the file, and writes the monitor's report now and then."""

    def __init__(self, monitor: Monitor, store: Store | None):
        self.monitor, self.store, self.wrote = monitor, store, time.monotonic()

    def saw(self, episode: dict | None, failure: dict | None) -> None:
        if episode is not None:
            self.monitor.add(episode)
        else:
            self.monitor.fail()
        if self.store:
            self.store.add(episode) if episode is not None else self.store.fail(failure)
            if time.monotonic() - self.wrote > 5:
                self.write()

    def write(self) -> None:
        if self.store:
            self.monitor.write(beside(self.store.path, ".monitor.json"))
            self.wrote = time.monotonic()


def _part(rows: list[dict], shard: str | None) -> tuple[list[dict], int]:
    """The rows of a shard, and its place from 0."""
    if shard is None:
        return rows, 0
    i, slash, n = shard.partition("/")
    if not (slash and i.isdecimal() and n.isdecimal() and 1 <= int(i) <= int(n)):
        raise ValueError(f"shard must be i/n with 1 <= i <= n, such as 1/4; got {shard!r}")
    return rows[int(i) - 1 :: int(n)], int(i) - 1


def _resume(store: Store, run: "_Run", settings: dict, quiet: bool) -> dict[tuple, dict]:
    """The episodes that a file holds already, of this policy and this version of the environment."""
    mine = [e for e in store.episodes if (e.get("policy"), e.get("version")) == (run.name, run.version)]
    for key, value in settings.items():
        other = next((e.get(key) for e in mine if e.get(key) != value), value)
        if other != value:
            raise ValueError(
                f"{store.path} holds episodes with {key}={other!r}, this run has {value!r}: give another file or "
                "delete it"
            )
    older = sum(e.get("policy") == run.name for e in store.episodes) - len(mine)
    if older and not quiet:
        print(f"{run.name}: {older} episodes of another version of the environment stay in the file, unused")
    return {key_of(episode): episode for episode in mine}


def _tell(failed: list[dict], store: Store | None) -> None:
    kinds = ", ".join(f"{kind} {n}" for kind, n in Counter(f["error"] for f in failed).most_common())
    again = f"; run again to retry, see {failures_path(store.path).name}" if store else ""
    warnings.warn(f"{len(failed)} episodes failed ({kinds}){again}. The last: {failed[-1]['says']}", stacklevel=3)


# --- playing ---------------------------------------------------------------------------------------------


class _Run:
    """What all episodes of a run share, and how they are played: each in a thread and an environment of its own."""

    def __init__(self, module, policy, agent, judge, sampling: Sampling, name: str, part: int = 0):
        self.module, self.policy, self.agent, self.judge = module, policy, agent, judge
        self.name, self.version, self.tools = name, version_of(module), sampling.tools
        self.timeout_s, self.seed = sampling.tool_timeout_s, sampling.seed + 7919 * part
        self.sampling = {"temperature": sampling.temperature, "max_tokens": sampling.max_tokens}

    def key(self, row: dict, sample: int) -> tuple:
        return row["task_id"], sample, self.name, self.version

    def without_module(self) -> "_Run":
        """A copy that can be sent to another process, where the module is imported anew."""
        other = copy(self)
        other.module = None
        return other

    def play(self, todo: list, first: int, at_once: int, finish) -> None:
        """Play all of `todo`; call `finish(episode, failure)` for each as it ends."""
        if getattr(self.policy, "concurrent", False):
            self._side_by_side(todo, min(at_once, getattr(self.policy, "at_once", at_once)), finish)
            return
        for start in range(0, len(todo), at_once):
            self._in_step(todo[start : start + at_once], self.seed * 1_000_003 + first + start, finish)

    def _side_by_side(self, todo: list, at_once: int, finish) -> None:
        """Each episode asks the policy by itself; a new one starts when one ends."""
        ended: queue.SimpleQueue = queue.SimpleQueue()
        stopped = threading.Event()
        waiting = list(reversed(todo))
        running = in_a_row = 0
        try:
            while waiting or running:
                while waiting and running < at_once:
                    row, sample = waiting.pop()
                    self._start(row, sample, self._asker(_seed(self.seed, row["task_id"], sample), stopped), ended.put)
                    running += 1
                end = ended.get()
                running -= 1
                finish(*end)
                in_a_row = 0 if end[0] is not None else in_a_row + 1
                if in_a_row >= IN_A_ROW:
                    raise end[2]
        finally:
            stopped.set()  # an interrupted run pays for no further calls

    def _asker(self, seed: int, stopped: threading.Event):
        def ask(conversation, tools, step):
            if stopped.is_set():
                raise RuntimeError("the run was stopped")
            return self.policy.generate([conversation], tools, seed=seed + step, **self.sampling)[0]

        return ask

    def _in_step(self, batch: list, seed: int, finish) -> None:
        """The episodes of a batch wait for each other, so that the policy answers many at once, in this thread."""
        events: queue.SimpleQueue = queue.SimpleQueue()
        boxes: dict[int, queue.SimpleQueue] = {i: queue.SimpleQueue() for i in range(len(batch))}
        asked: dict[int, tuple] = {}
        for i, (row, sample) in enumerate(batch):

            def ask(conversation, tools, step, i=i):
                events.put((i, "asks", (conversation, tools)))
                answer = boxes[i].get()
                if isinstance(answer, BaseException):
                    raise answer
                return answer

            self._start(row, sample, ask, lambda end, i=i: events.put((i, "ended", end)))
        active, turn, in_a_row = len(batch), 0, 0
        try:
            while active:
                while len(asked) < active:
                    i, what, thing = events.get()
                    if what == "asks":
                        asked[i] = thing
                        continue
                    active -= 1
                    finish(*thing)
                    in_a_row = 0 if thing[0] is not None else in_a_row + 1
                    if in_a_row >= IN_A_ROW:
                        raise thing[2]
                self._answer(asked, boxes, seed + turn)
                turn, asked = turn + 1, {}
        except BaseException as error:  # let no episode wait for ever for a policy that has failed
            for box in boxes.values():
                box.put(RuntimeError(f"the run was stopped: {type(error).__name__}"))
            raise

    def _answer(self, asked: dict[int, tuple], boxes: dict, seed: int) -> None:
        """One reply to each that asked; a policy is offered one set of tools at a time."""
        offers: dict[tuple, list[int]] = {}
        for i in sorted(asked):
            offers.setdefault(tuple(getattr(t, "__name__", str(t)) for t in asked[i][1] or ()), []).append(i)
        for alike in offers.values():
            conversations, tools = [asked[i][0] for i in alike], asked[alike[0]][1]
            began = time.perf_counter()
            replies = self.policy.generate(conversations, tools, seed=seed, **self.sampling)
            seconds = time.perf_counter() - began
            for i, reply in zip(alike, replies):
                boxes[i].put({**reply, "usage": {"seconds": seconds} | (reply.get("usage") or {})})

    def _start(self, row: dict, sample: int, ask, tell) -> None:
        threading.Thread(target=lambda: tell(self._episode(row, sample, ask)), daemon=True).start()

    # --- one episode ---

    def _episode(self, row: dict, sample: int, ask) -> tuple[dict | None, dict | None, Exception | None]:
        """(episode, failure, error): an episode, or why there is none."""
        began, session = time.perf_counter(), None
        try:
            env = self.module.ENV()
            env.reset(**row)
            session = Session(env, tuple(tools_of(self.module, row)) if self.tools else (), self.timeout_s)
            model = Model(ask)
            messages = _checked(self.agent.run(row, session, model))
            episode = self._graded(row, messages, session.hung) | {
                "sample": sample,
                "policy": self.name,
                "version": self.version,
                "seconds": round(time.perf_counter() - began, 4),
                "model_seconds": model.seconds,
                "usage": model.usage,
                "calls": {"made": session.calls, "failed": session.failed, "invalid": session.invalid},
            }
            return episode, None, None
        except Exception as error:
            return None, self.failure(row, sample, error), error
        finally:
            if session is not None:
                session.close()

    def failure(self, row: dict, sample: int, error: Exception) -> dict:
        """What stands in the file of the failures."""
        kind = getattr(error, "kind", None) or type(error).__name__
        key = dict(zip(KEY, self.key(row, sample)))
        return key | {"error": kind, "says": str(error)[:1000], "time": time.time()}

    def _graded(self, row: dict, messages: list[dict], hung: bool = False) -> dict:
        return record(row, messages, _verdict(self.module, messages, row, self.judge, hung))


def _verdict(module, messages: list[dict], row: dict, judge, hung: bool) -> tuple:
    """The verdict. A verifier must not raise; if it does, the answer counts as unjudged. Where a tool hung, its replay
    will, so the verdict has a time limit then."""
    try:
        with nullcontext() if getattr(module, "graded_elsewhere", False) else _grading:
            score = partial(module.score, messages, row)
            verdict = within(GRADING_S, score) if hung else score()
        if verdict[0] is None and judge is not None:  # outside the lock, since judges are slow and have no such budgets
            verdict = module.score(messages, row, judge=judge)
    except Exception as error:
        verdict = (None, f"unjudged: {type(error).__name__}: {error}", {}, "unjudged")
    return verdict


def _checked(messages) -> list[dict]:
    """What an agent returned, if it is a list of messages with at least one of the model's."""
    good = isinstance(messages, list) and all(isinstance(m, dict) and isinstance(m.get("role"), str) for m in messages)
    if not good or not any(message["role"] == "assistant" for message in messages):
        raise ValueError(
            f"the agent must return chat messages, one of the assistant's among them; got {messages!r:.200}"
        )
    return messages


def _seed(seed: int, task_id: str, sample: int) -> int:
    """A seed of an episode's own, the same whenever it runs."""
    return int(sha256(f"{seed} {sample} {task_id}".encode()).hexdigest()[:7], 16)


# --- stored episodes -------------------------------------------------------------------------------------


def reverify(module, episodes: list[dict], *, judge=None, quiet: bool = False) -> list[dict]:
    """Grade stored episodes again, without a model: after a verifier was mended.

    Args:
        module: The environment.
        episodes: Such as `store.read` returns.
        judge: Passed on to the environment's `score`.
        quiet: Print no progress.

    Returns:
        The episodes with new reward, reason, metrics and version; where the reward changed, `before` holds the old
        {"reward", "reason", "version"}.
    """
    progress, again = Progress("verdicts", len(episodes), quiet=quiet), []
    run = _Run(module, None, None, judge, Sampling(), "")
    for old in episodes:
        graded = run._graded(old, old["messages"])
        new = old | {name: graded[name] for name in ("reward", "reason", "kind", "metrics")} | {"version": run.version}
        new.pop("before", None)
        if new["reward"] != old["reward"]:
            new["before"] = {name: old.get(name) for name in ("reward", "reason", "version")}
        again.append(new)
        progress.step()
    return again

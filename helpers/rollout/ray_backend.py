# SPDX-License-Identifier: Apache-2.0
"""Episodes spread over a Ray cluster. Only the caller writes to the file of a run, so that nothing is doubled.

A task is a few episodes. Where its worker dies, all of them run again somewhere else. What goes to the workers is
pickled: an endpoint is given as a function that opens it, so that its key comes from the worker's own environment:
`functools.partial(open_model, "models.yaml", "gpt")`.
"""

import importlib
import os
import pickle
import sys
from typing import Any

from helpers.here import ROOT

TRIES = 4  # of a task whose workers die


def play(run, todo: list, at_once: int, finish) -> None:
    """Play all of `todo` on the cluster that Ray is connected to, or on this machine.

    Args:
        run: What the episodes share, `rollouts._Run`.
        todo: (row, sample) of each episode.
        at_once: Episodes under way at a time, over all workers.
        finish: Called with (episode, failure, error) of each as it ends.

    Raises:
        ModuleNotFoundError: Ray is not installed.
        ValueError: the policy, the agent or the judge cannot be sent to another process.
    """
    try:
        import ray
    except ModuleNotFoundError:
        raise ModuleNotFoundError("backend='ray' needs the package ray: pip install ray") from None
    if not ray.is_initialized():
        paths = os.pathsep.join([str(ROOT), *filter(None, sys.path)])
        ray.init(include_dashboard=False, log_to_driver=False, runtime_env={"env_vars": {"PYTHONPATH": paths}})
    shared = ray.put(_sent(run))
    task = ray.remote(max_retries=0)(_play_some)
    workers = max(1, int(ray.cluster_resources().get("CPU", 1)))
    size = max(1, min(at_once // workers, -(-len(todo) // (4 * workers))))
    waiting = [(start, todo[start : start + size], 1) for start in reversed(range(0, len(todo), size))]
    running: dict = {}
    try:
        while waiting or running:
            while waiting and len(running) < workers:
                start, part, tries = waiting.pop()
                running[task.remote(shared, part, start)] = (start, part, tries)
            (ended,), _ = ray.wait(list(running))
            start, part, tries = running.pop(ended)
            try:
                results = ray.get(ended)
            except ray.exceptions.RayTaskError as error:  # it ran and raised: so would the next try
                raise error.cause from None
            except ray.exceptions.RayError as error:
                if tries < TRIES:
                    waiting.append((start, part, tries + 1))
                    continue
                results = [(None, run.failure(row, sample, error), error) for row, sample in part]
            for result in results:
                finish(*result)
    finally:
        for ref in running:
            ray.cancel(ref, force=True)


def _sent(run) -> bytes:
    """The run in a form that travels: the environment by its name, all else pickled."""
    try:
        return pickle.dumps((run.module.__name__, run.without_module()))
    except Exception as error:
        raise ValueError(
            "backend='ray' sends policy, agent and judge to other processes, and one of them cannot go "
            f"({type(error).__name__}: {error}); give a function that makes the policy there, such as "
            "functools.partial(open_model, 'models.yaml', 'gpt')"
        ) from None


_opened: dict[bytes, Any] = {}  # a worker opens a policy once


def _play_some(sent: bytes, part: list, start: int) -> list[tuple]:
    """Play a few episodes in a worker."""
    if sent not in _opened:
        name, run = pickle.loads(sent)
        run.module = importlib.import_module(name)
        if not hasattr(run.policy, "generate"):
            run.policy = run.policy()
        _opened.clear()
        _opened[sent] = run
    results: list[tuple] = []
    run = _opened[sent]
    run.play(part, start, len(part), lambda *result: results.append(result))
    return [(episode, failure, error and RuntimeError(failure["says"])) for episode, failure, error in results]

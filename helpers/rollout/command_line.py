# SPDX-License-Identifier: Apache-2.0
"""Rollouts from a shell.

python -m helpers.rollout.command_line run --environment sudoku --model gpt --models models.yaml --out runs/gpt.jsonl
python -m helpers.rollout.command_line merge runs/gpt-1.jsonl runs/gpt-2.jsonl --out runs/gpt.jsonl
python -m helpers.rollout.command_line reverify runs/gpt.jsonl --out runs/gpt-again.jsonl
"""

import argparse
import json
import sys
from dataclasses import fields
from pathlib import Path

from helpers.episodes.store import merge, read, write
from helpers.rollout.monitor import Monitor
from helpers.rollout.rollouts import Sampling, reverify, rollout


def main(arguments: list[str]) -> int:
    """The command line. Returns the exit code: 0, 1 for an error, 3 for a crossed threshold where --strict asks."""
    options = _parser().parse_args(arguments)
    try:
        if options.command == "merge":
            print(f"{merge(options.files, options.out)} episodes in {options.out}")
        elif options.command == "reverify":
            _reverify_files(options)
        else:
            return _run_command(options)
    except (ValueError, RuntimeError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


def _parser():
    parser = argparse.ArgumentParser(
        prog="python -m helpers.rollout.command_line", description="Rollouts into a JSONL file."
    )
    commands = parser.add_subparsers(dest="command", required=True)
    run = commands.add_parser("run", help="let a model answer tasks; an interrupted run goes on where it stopped")
    run.add_argument("--environment", required=True, help="such as sudoku")
    run.add_argument("--model", required=True, help="a name in the file of --models, or oracle or random")
    run.add_argument("--models", help="YAML file that names models")
    run.add_argument("--out", required=True, help="JSONL file of the episodes")
    run.add_argument("--rows", type=int, default=100, help="tasks")
    run.add_argument("--split", default="test")
    run.add_argument("--tools", action="store_true", help="offer the environment's tools")
    run.add_argument("--knob", action="append", default=[], metavar="NAME=VALUE", help="passed on to make_rows")
    run.add_argument("--shard", help="i/n: only the i-th of n parts of the tasks")
    run.add_argument("--thresholds", help="YAML file of limits to warn about")
    run.add_argument("--strict", action="store_true", help="exit code 3 where a threshold was crossed")
    for field in fields(Sampling):
        if field.name != "tools":
            run.add_argument(f"--{field.name.replace('_', '-')}", type=type(field.default), default=field.default)
    joining = commands.add_parser("merge", help="join the files of shards")
    joining.add_argument("files", nargs="+")
    joining.add_argument("--out", required=True)
    again = commands.add_parser("reverify", help="grade stored episodes again, without a model")
    again.add_argument("files", nargs="+")
    again.add_argument("--out", required=True)
    return parser


def _run_command(options) -> int:
    from envs import load

    module, knobs = load(options.environment), {}
    for knob in options.knob:
        name, equals, value = knob.partition("=")
        if not equals:
            raise ValueError(f"--knob takes NAME=VALUE, got {knob!r}")
        try:
            knobs[name] = json.loads(value)
        except ValueError:
            knobs[name] = value
    rows = module.make_rows(options.rows, seed=options.seed, split=options.split, **knobs)
    monitor = Monitor(options.thresholds)
    sampling = Sampling(**{field.name: getattr(options, field.name) for field in fields(Sampling)})
    policy = _policy(options, module, rows)
    rollout(module, rows, policy, sampling, name=options.model, shard=options.shard, monitor=monitor, out=options.out)
    report = monitor.report()
    print(json.dumps(report))
    return 3 if options.strict and report["warnings"] else 0


def _policy(options, module, rows):
    from helpers.rollout import policies

    if options.models:
        return policies.open_model(options.models, options.model)
    known = {"oracle": policies.OraclePolicy, "random": policies.RandomPolicy}
    if options.model not in known:
        raise ValueError(f"--model {options.model} needs --models, a YAML file that names it")
    return known[options.model](module, rows)


def _reverify_files(options) -> None:
    from envs import load

    episodes = [episode for path in options.files for episode in read(path)]
    if Path(options.out).exists():
        raise ValueError(f"{options.out} is there already: delete it or give another name")
    again: dict[str, list] = {}
    for name in dict.fromkeys(episode["environment"] for episode in episodes):
        again[name] = reverify(load(name), [e for e in episodes if e["environment"] == name])
    write(options.out, [episode for group in again.values() for episode in group])
    changed = sum("before" in episode for group in again.values() for episode in group)
    print(f"{len(episodes)} episodes graded again, {changed} rewards changed")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

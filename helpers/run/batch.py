# SPDX-License-Identifier: Apache-2.0
"""Many runs of the notebooks, unattended: python -m helpers.run.batch plan.yaml

A plan is a matrix. Every notebook runs once for each model, environment and seed, those of one combination in the
order given; each run has a folder of its own under runs/<plan>/, with the executed notebook, its HTML, a log and its
results. `index.html` beside them compares all runs. Started again, the batch goes on where it was.

    notebooks: ["04", "05"]
    models: [tiny]
    environments: [sudoku]
    seeds: [0, 1, 2]
    parameters:
      hardware: cpu            # for every notebook that has such a parameter
      "05":                    # for one notebook
        steps: 100
        model: "{04}/model"    # the folder of this combination's run of notebook 04
    at_once: 2                 # combinations side by side; only with hardware: cpu
"""

import fcntl
import json
import os
import re
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from hashlib import sha256
from itertools import product
from pathlib import Path

from helpers import here
from helpers.here import ROOT, mask, show_path
from helpers.run import leaderboard
from helpers.run.headless import KernelDied, check_parameters, find, parameters_of, run
from helpers.show.page import clean

PLAN = ("notebooks", "models", "environments", "seeds", "parameters", "at_once", "out")


# --- the plan --------------------------------------------------------------------------------------------


def read_plan(path: Path | str) -> dict:
    """A plan from a YAML file, with what it leaves out filled in.

    Raises:
        ValueError: a key that no plan has, or a value of the wrong kind; the message names the nearest right one.
    """
    import yaml

    path = Path(path)
    if not path.is_file():
        raise ValueError(f"no plan {path}")
    given = yaml.safe_load(path.read_text(encoding="utf-8"))
    if not isinstance(given, dict):
        raise ValueError(f"{path} is no plan: it needs at least a line such as notebooks: ['05']")
    for key in given:
        if key not in PLAN:
            raise ValueError(f"a plan has no {key!r}; {here.nearest(str(key), PLAN)}")
    plan = {"models": [None], "environments": [None], "seeds": [0], "parameters": {}, "at_once": 1}
    plan |= {"out": f"runs/{path.stem}"} | given
    for key in ("notebooks", "models", "environments", "seeds"):
        values = plan.get(key)
        if not isinstance(values, list) or not values:
            raise ValueError(f"{key} must be a list of at least one, got {values!r}")
    if not isinstance(plan["parameters"], dict):
        raise ValueError(f"parameters must be name: value, got {plan['parameters']!r}")
    if type(plan["at_once"]) is not int or plan["at_once"] < 1:
        raise ValueError(f"at_once must be a whole number above 0, got {plan['at_once']!r}")
    return plan


def expand(plan: dict) -> list[list[dict]]:
    """The runs of a plan, a list for each combination of model, environment and seed.

    Returns:
        Runs with `id`, `notebook` (path as text), `model`, `environment`, `seed`, `folder`, `parameters` (all of them),
        `needs` (ids of the runs it takes results from) and `code` (a hash of the notebook's code).

    Raises:
        ValueError: a parameter that no notebook has or of the wrong type, two runs of the same name, or several at once
            on a GPU.
    """
    notebooks = {_number(name): find(_number(name)) for name in plan["notebooks"]}
    common, special = _split_parameters(plan["parameters"], notebooks)
    combinations = [
        _combination(plan["out"], notebooks, common, special, *values)
        for values in product(plan["models"], plan["environments"], plan["seeds"])
    ]
    runs = [one for chain in combinations for one in chain]
    names = [one["id"] for one in runs]
    if twice := {name for name in names if names.count(name) > 1}:
        raise ValueError(f"two runs would share the folder {min(twice)}: their models or seeds are alike")
    if plan["at_once"] > 1 and any(one["parameters"].get("hardware") != "cpu" for one in runs):
        raise ValueError(
            f"at_once={plan['at_once']} needs hardware: cpu among the parameters: on a GPU, runs go one after another"
        )
    return combinations


def _combination(out, notebooks, common, special, model, environment, seed) -> list[dict]:
    """The runs of one combination, in order."""
    runs: dict[str, dict] = {}
    for number, path in notebooks.items():
        known = parameters_of(path)
        axes = {"model": model, "environment": environment, "seed": seed}
        before = runs | {Path(one["notebook"]).stem: one for one in runs.values()}
        words = {key: str(value) for key, value in axes.items()} | {name: r["folder"] for name, r in before.items()}
        given = {k: v for k, v in (axes | common).items() if k in known and v is not None} | special.get(number, {})
        filled = {name: _fill(value, words) for name, value in given.items()}
        used = {word for value in given.values() for word in _words(value)}
        name = "-".join(_slug(part) for part in (path.stem, model, environment, f"seed{seed}") if part is not None)
        folder = f"{out}/{name}"
        if "out_dir" in known:
            filled["out_dir"] = folder
        check_parameters(path, filled)
        needs = sorted({before[word]["id"] for word in used if word in before})
        runs[number] = {"id": name, "notebook": str(path), "folder": folder, "parameters": filled, "needs": needs}
        runs[number] |= axes | {"code": _code(path)}
    return list(runs.values())


def _split_parameters(parameters: dict, notebooks: dict[str, Path]) -> tuple[dict, dict]:
    """Those for every notebook, and those for one: {number: {name: value}}."""
    common, special = {}, {}
    known = {name for path in notebooks.values() for name in parameters_of(path)}
    for key, value in parameters.items():
        if isinstance(value, dict):
            number = _number(key)
            if number not in notebooks:
                raise ValueError(f"parameters for {key!r}, which is none of the plan's notebooks {list(notebooks)}")
            special[number] = value
        elif key in known:
            common[key] = value
        else:
            raise ValueError(f"none of the notebooks has a parameter {key!r}; {here.nearest(str(key), known)}")
    return common, special


def _number(name) -> str:
    """A notebook's name; YAML reads 05 without quotes as the number 5."""
    return f"{name:02d}" if isinstance(name, int) else str(name)


def _words(value) -> list[str]:
    return re.findall(r"\{(\w+)\}", value) if isinstance(value, str) else []


def _fill(value, words: dict[str, str]):
    for word in _words(value):
        if word not in words:
            raise ValueError(f"{value!r}: there is no {{{word}}} before this notebook; there are {', '.join(words)}")
        value = value.replace(f"{{{word}}}", words[word])
    return value


def _slug(text) -> str:
    return re.sub(r"[^\w.]+", "_", str(text)).strip("_")


def _code(path: Path) -> str:
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    return sha256("\0".join("".join(c["source"]) for c in cells if c["cell_type"] == "code").encode()).hexdigest()[:12]


# --- running ---------------------------------------------------------------------------------------------


def run_batch(plan: dict) -> list[dict]:
    """Run what of a plan is not complete yet.

    Args:
        plan: From `read_plan`.

    Returns:
        The state of every run: what `expand` gives, with `status` ("complete", "failed", "dead": its process died,
        or "skipped": it needs one that is not complete), `seconds` and `error`.

    Raises:
        ValueError: the plan is wrong, a complete run of another plan is in the way, or the batch runs already.
    """
    combinations = expand(plan)
    runs = [one for chain in combinations for one in chain]
    out = ROOT / plan["out"]
    out.mkdir(parents=True, exist_ok=True)
    with _alone(out) as lock:
        states = {one["id"]: _earlier(one) for one in runs}
        teller = _Teller(runs, states, out)
        worker = {"threads": max(1, (os.cpu_count() or 1) // plan["at_once"]), "lock": lock}
        with ThreadPoolExecutor(plan["at_once"]) as pool:
            jobs = [pool.submit(_run_chain, chain, states, teller, worker) for chain in combinations]
            try:
                for job in jobs:
                    job.result()
            except KeyboardInterrupt:
                teller.stopped = True
                raise
        return [states[one["id"]] for one in runs]


@contextmanager
def _alone(out: Path):
    """Keep two batches from running in one folder. The lock is handed on to the processes of the runs: it is held until
    the last of them has ended, also when this one is killed."""
    with (out / ".lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise ValueError(f"another batch is running in {show_path(out)}") from None
        yield lock.fileno()


def _earlier(one: dict) -> dict:
    """The state that an earlier batch left for a run, or a new one."""
    folder = ROOT / one["folder"]
    try:
        state = json.loads((folder / "run.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return one | {"status": "waiting"}
    if state["status"] != "complete":
        _mask_folder(folder)  # a batch that was killed had no time to
        return one | {"status": "waiting"}
    for key in ("parameters", "code"):
        if state[key] != one[key]:
            raise ValueError(
                f"{one['folder']} holds a complete run with other {'notebook code' if key == 'code' else key}: "
                "give the plan another name or `out`, or remove that folder"
            )
    return state


def _run_chain(chain: list[dict], states: dict, teller, worker: dict) -> None:
    """Run the notebooks of one combination, each in a process of its own."""
    for one in chain:
        if teller.stopped:
            return
        if states[one["id"]]["status"] == "complete":
            teller.tell(one["id"], "was there already")
            continue
        missing = [name for name in one["needs"] if states[name]["status"] != "complete"]
        if missing:
            state = one | {"status": "skipped", "error": f"needs {missing[0]}, which is {states[missing[0]]['status']}"}
        else:
            state = _run_one(one, **worker)
        states[one["id"]] = state
        _save_state(state)
        teller.tell(one["id"])


def _run_one(one: dict, threads: int, lock: int) -> dict:
    """Run one notebook in a new process and find out how it ended."""
    folder, began = ROOT / one["folder"], time.time()
    folder.mkdir(parents=True, exist_ok=True)
    _save_state(one | {"status": "running"})
    environment = os.environ | {"PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": str(threads), "PYTHONUNBUFFERED": "1"}
    process = subprocess.Popen(
        [sys.executable, "-m", "helpers.run.batch", "--one", str(folder / "run.json")],
        cwd=ROOT, env=environment, text=True, encoding="utf-8", errors="replace",
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, pass_fds=[lock],
    )  # fmt: skip
    with (folder / "log.txt").open("a", encoding="utf-8") as log:
        for line in process.stdout:
            log.write(mask(line))
            log.flush()
    code = process.wait()
    _mask_folder(folder)
    state = json.loads((folder / "run.json").read_text(encoding="utf-8"))
    if state["status"] == "running":  # it had no time to say how it ended
        state |= {"status": "dead", "error": f"its process ended with {code} (killed? out of memory?)"}
    return state | {"seconds": round(time.time() - began, 1)}


def _one(state_file: Path) -> None:
    """The other end of `_run_one`."""
    state = json.loads(state_file.read_text(encoding="utf-8"))
    copy = state_file.parent / Path(state["notebook"]).name
    try:
        run(state["notebook"], state["parameters"], copy)
        state |= {"status": "complete", "error": ""}
    except KernelDied as error:
        state |= {"status": "dead", "error": str(error)}
    except Exception as error:  # whatever it was, the other runs go on
        state |= {"status": "failed", "error": str(error) or type(error).__name__}
    _save_state(state)
    if copy.is_file():
        copy.with_suffix(".html").write_text(as_html(copy), encoding="utf-8")


def as_html(notebook: Path) -> str:
    """An executed notebook as a page; what scripts its outputs hold is taken out."""
    from nbconvert import HTMLExporter
    from nbconvert.preprocessors.sanitize import SanitizeHTML

    from helpers.show.views import STYLE

    class Cleaned(SanitizeHTML):
        def sanitize_html_tags(self, html_str):
            return clean(html_str)

    exporter = HTMLExporter(preprocessors=[Cleaned(enabled=True)], mathjax_url="", require_js_url="")
    return mask(exporter.from_filename(str(notebook))[0].replace("</head>", STYLE + "</head>", 1))


def _save_state(state: dict) -> None:
    folder = ROOT / state["folder"]
    folder.mkdir(parents=True, exist_ok=True)
    part = folder / "run.json.part"  # renamed when whole, so that a killed batch leaves no half state
    part.write_text(mask(json.dumps(state, indent=1, ensure_ascii=False)) + "\n", encoding="utf-8")
    part.rename(folder / "run.json")


def _mask_folder(folder: Path) -> None:
    """Take secrets out of every text that a run wrote at the top of its folder."""
    for path in folder.iterdir():
        if path.suffix in (".ipynb", ".json", ".jsonl", ".txt", ".md", ".html", ".svg"):
            text = path.read_text(encoding="utf-8", errors="replace")
            if (masked := mask(text)) != text:
                path.write_text(masked, encoding="utf-8")


class _Teller:
    """Says how each run ended, how long the rest takes, and keeps the index page up to date."""

    def __init__(self, runs: list[dict], states: dict, out: Path):
        self.runs, self.states, self.out = runs, states, out
        self.done, self.ran, self.began = 0, 0, time.perf_counter()
        self.lock, self.stopped = threading.Lock(), False

    def tell(self, name: str, how: str = "") -> None:
        with self.lock:
            self.done += 1
            self.ran += not how
            state, left = self.states[name], len(self.runs) - self.done
            seconds = f", {state['seconds']:.0f} s" if "seconds" in state and not how else ""
            pace = (time.perf_counter() - self.began) / self.ran if self.ran else 0
            rest = f"; about {left * pace / 60:.0f} min left" if left and pace else ""
            said = how or state["status"] + seconds
            print(f"[{self.done}/{len(self.runs)}] {name}: {said}{rest}", flush=True)
            if state.get("error"):
                print("    " + state["error"].replace("\n", "\n    "), flush=True)
            leaderboard.write(self.out, [self.states[one["id"]] for one in self.runs])


def main(arguments: list[str]) -> int:
    """The command line. Returns 0 if every run is complete, 1 if not, 2 if the plan is wrong."""
    match arguments:
        case ["--one", state_file]:
            _one(Path(state_file))
            return 0
        case [plan] if not plan.startswith("-"):
            try:
                plan = read_plan(plan)
                states = run_batch(plan)
            except ValueError as error:
                print(f"error: {error}", file=sys.stderr)
                return 2
            except KeyboardInterrupt:
                print("stopped; the same command goes on from here", file=sys.stderr)
                return 1
            complete = sum(state["status"] == "complete" for state in states)
            print(f"{complete} of {len(states)} runs complete; open {show_path(ROOT / plan['out'] / 'index.html')}")
            return 0 if complete == len(states) else 1
        case _:
            print(__doc__, file=sys.stderr)
            return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

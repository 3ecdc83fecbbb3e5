"""Notebooks: their folders and results while they run, and running them headless with checked parameters.

python -m helpers.notebook run 05 environment=sudoku steps=40
python -m helpers.notebook refresh
"""

import ast
import difflib
import html
import json
import os
import re
import shutil
import subprocess
import sys
import time
from importlib.metadata import version
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
NOTEBOOKS = ROOT / "notebooks"


# --- inside a notebook -----------------------------------------------------------------------------------


def folder(out_dir: str | None, name: str) -> Path:
    """The folder that a notebook writes to: `out_dir`, from the repository's root, or runs/<name>. Made if missing."""
    path = ROOT / (out_dir or f"runs/{name}")
    path.mkdir(parents=True, exist_ok=True)
    return path


def show_path(path: Path | str) -> str:
    """A path as it may be printed: relative to the repository where it lies inside it."""
    path = Path(path)
    return str(path.relative_to(ROOT)) if path.is_relative_to(ROOT) else str(path)


def versions() -> dict[str, str]:
    """Versions of the libraries that results depend on, by name."""
    return {name: version(name) for name in ("torch", "transformers", "trl", "unsloth", "peft")}


def save_result(out: Path, **fields) -> Path:
    """Write result.json: the fields, and versions, commit and time as their birth certificate."""
    born = {
        "python": sys.version.split()[0],
        "versions": versions(),
        "commit": _commit(),
        "written": time.strftime("%Y-%m-%dT%H:%M:%S%z"),
    }
    path = out / "result.json"
    path.write_text(json.dumps(fields | born, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    return path


def load_result(path: Path | str, **wanted) -> dict | None:
    """The result.json of an earlier notebook, or None if it is not there or differs from the `wanted` fields."""
    path = Path(path)
    if not path.is_file():
        return None
    result = json.loads(path.read_text(encoding="utf-8"))
    return result if all(result.get(key) == value for key, value in wanted.items()) else None


def earlier(name: str, **wanted) -> dict | None:
    """What notebook `name` left, by its own run or by the demo's, or None. See `load_result` for `wanted`."""
    spots = (ROOT / "runs" / name / "result.json", ROOT / "runs" / "demo" / name / "result.json")
    return next((result for path in spots if (result := load_result(path, **wanted))), None)


def _commit() -> str:
    done = subprocess.run(["git", "rev-parse", "--short", "HEAD"], cwd=ROOT, capture_output=True, text=True)
    return done.stdout.strip() or "unknown"


def save_cell(path: Path | str, part: int) -> None:
    """Keep the source of the running cell, without this call, as a part of a Python file.

    Args:
        path: The file; made if missing.
        part: The place of the cell in it. A cell that runs again replaces its part.
    """
    from IPython import get_ipython

    source = get_ipython().history_manager.input_hist_raw[-1]
    lines = [line for line in source.split("\n") if "save_cell(" not in line]
    path = Path(path)
    found = path.read_text(encoding="utf-8") if path.is_file() else ""
    pieces = re.split(r"^# --- part (\d+) ---\n", found, flags=re.M)
    parts = dict(zip(map(int, pieces[1::2]), pieces[2::2])) | {part: "\n".join(lines).strip("\n") + "\n"}
    whole = "\n\n".join(f"# --- part {n} ---\n{parts[n].strip()}\n" for n in sorted(parts))
    path.write_text(whole, encoding="utf-8")


def level(env, difficulty: str | None, hardware: str) -> str:
    """The difficulty to start an environment with.

    Args:
        env: The environment, with its `DIFFICULTIES` from easiest to hardest.
        difficulty: One of them, or None to take the lowest on a machine without a GPU and "easy" on one with.
        hardware: The profile, "cpu" or a GPU's, as `training.settings` found it.

    Raises:
        ValueError: the environment has no such difficulty; the message names those it has.
    """
    if difficulty is None:
        return env.DIFFICULTIES[0] if hardware == "cpu" else "easy"
    if difficulty not in env.DIFFICULTIES:
        raise ValueError(f"difficulty must be None or one of {', '.join(env.DIFFICULTIES)}, got {difficulty!r}")
    return difficulty


def choice(name: str, value: str, accepted: tuple[str, ...]) -> str:
    """A parameter that takes one of a few names.

    Raises:
        ValueError: `value` is none of those `accepted`, which the message names.
    """
    if value not in accepted:
        raise ValueError(f"{name} must be one of {', '.join(accepted)}, got {value!r}")
    return value


def levels(env, difficulties: str | None, hardware: str) -> list[str]:
    """Several difficulties written with commas between, each checked; None is the starting level and all above it."""
    if difficulties is None:
        return list(env.DIFFICULTIES[env.DIFFICULTIES.index(level(env, None, hardware)) :])
    return [level(env, name.strip(), hardware) for name in difficulties.split(",")]


def table(rows: list[dict], columns: dict[str, str]):
    """A table to show: one row a dict, numbers with three digits, or more where they are tiny.

    Args:
        rows: The rows.
        columns: key: heading.
    """
    import pandas

    def text(value):
        if not isinstance(value, float):
            return value
        return f"{value:.4f}" if 0 < abs(value) < 0.0005 else f"{value:.3f}"

    cells = [[text(row[key]) for key in columns] for row in rows]
    return pandas.DataFrame(cells, columns=list(columns.values()), index=[""] * len(cells))


def show_rollouts(rollouts: list[dict], n: int = 3):
    """The first `n` episodes as a table to read: policy, prompt, answer, verdict. What a model wrote is escaped."""
    names = ("policy", "prompt", "answer", "reward", "reason")
    rows = []
    for episode in rollouts[:n]:
        said = "\n".join(as_text(message) for message in episode["messages"])
        rows.append((episode["policy"], episode["prompt"][-1]["content"], said, episode["reward"], episode["reason"]))
    return _reading(names, rows)


def show_samples(samples: list[dict]):
    """Completions that `training.recorder` kept, as a table to read: step, prompt, completion, what the verifier read
    out of it, verdict. What a model wrote is escaped."""
    names = ("step", "prompt", "completion", "extracted answer", "reward", "reason")
    rows = []
    for s in samples:
        read = s["extracted"] or "none found"
        rows.append((s["step"], s["prompt"][-1]["content"], s["completion"], read, s["reward"], s["reason"]))
    return _reading(names, rows)


def _reading(names: tuple[str, ...], rows: list[tuple]):
    """A table of texts; those of short lines keep their shape."""
    from IPython.display import HTML

    style = "text-align:left;vertical-align:top;font-family:monospace;white-space:"

    def cell(value) -> str:
        lines = str(value).split("\n")
        wrap = "pre" if len(lines) > 1 and max(map(len, lines)) < 60 else "pre-wrap"
        return f"<td style='{style}{wrap}'>{html.escape(str(value))}</td>"

    head = "".join(f"<th style='text-align:left'>{name}</th>" for name in names)
    body = "".join(f"<tr>{''.join(map(cell, row))}</tr>" for row in rows)
    return HTML(f"<table><tr>{head}</tr>{body}</table>")


def as_text(message: dict) -> str:
    """What a chat message says and calls; a tool's answer after an arrow."""
    calls = [f"{c['function']['name']}({c['function']['arguments']})" for c in message.get("tool_calls") or []]
    text = message.get("content") or ""
    return "\n".join(([f"-> {text}"] if message["role"] == "tool" else [text] if text else []) + calls)


# --- secrets ---------------------------------------------------------------------------------------------

_SECRET_NAME = re.compile(r"(^|_)(TOKEN|KEY|SECRET|PASSWORD|PASSWD|CREDENTIALS?)$", re.IGNORECASE)
_SECRET_SHAPE = re.compile(r"\b(hf_\w{20,}|sk-[\w-]{20,}|gh[pousr]_\w{30,}|AKIA[0-9A-Z]{16})")


def mask(text: str) -> str:
    """The text without secrets: the values of environment variables named like one (..._TOKEN, ..._KEY), and what has
    the shape of a well-known key."""
    found = {value: name for name, value in os.environ.items() if _SECRET_NAME.search(name) and len(value) >= 8}
    for value in sorted(found, key=len, reverse=True):  # a longer one may hold a shorter one
        for form in {value, json.dumps(value)[1:-1], html.escape(value)}:
            text = text.replace(form, f"***{found[value]}***")
    return _SECRET_SHAPE.sub("***", text)


# --- running notebooks -----------------------------------------------------------------------------------


class KernelDied(RuntimeError):
    """The process of a notebook ended before the notebook did."""


def find(name: str) -> Path:
    """The notebook called `name`: a number such as "05", a file name or a path.

    Raises:
        ValueError: there is none, or several.
    """
    if Path(name).is_file():
        return Path(name)
    found = sorted(NOTEBOOKS.glob(f"{name.removesuffix('.ipynb')}*.ipynb"))
    if len(found) != 1:
        known = ", ".join(path.stem for path in sorted(NOTEBOOKS.glob("*.ipynb")))
        raise ValueError(f"{'no' if not found else 'more than one'} notebook {name!r}; there are {known}")
    return found[0]


def parameters_of(notebook: Path) -> dict:
    """Names and defaults in the cell tagged `parameters`.

    Raises:
        ValueError: there is no such cell, or it holds more than literals.
    """
    cells = json.loads(notebook.read_text(encoding="utf-8"))["cells"]
    tagged = [c for c in cells if "parameters" in c.get("metadata", {}).get("tags", [])]
    if not tagged:
        raise ValueError(f"{notebook.name} has no cell tagged 'parameters': tag the cell that holds its parameters")
    defaults = {}
    for line in ast.parse("".join(tagged[0]["source"])).body:
        match line:
            case ast.Assign(targets=[ast.Name(id=name)], value=value) | ast.AnnAssign(ast.Name(id=name), value=value):
                defaults[name] = ast.literal_eval(value)
            case _:
                raise ValueError(f"{notebook.name}: parameters are name = literal, not {ast.unparse(line)}")
    return defaults


def nearest(name: str, known) -> str:
    """The end of an error about an unknown name: which known one is near, and which there are."""
    near = difflib.get_close_matches(name, list(known), 1, 0.6)
    return (f"did you mean {near[0]!r}? " if near else "") + f"There are {', '.join(known)}."


def check_parameters(notebook: Path, parameters: dict) -> None:
    """Refuse a misspelt parameter or one of the wrong type.

    Raises:
        ValueError: the message names the parameter, and the nearest right name or the type.
    """
    known = parameters_of(notebook)
    for name, value in parameters.items():
        if name not in known:
            raise ValueError(f"{notebook.name} has no parameter {name!r}; {nearest(name, known)}")
        default = known[name]
        fits = type(value) is type(default) or (type(default) is float and type(value) is int)
        if default is not None and value is not None and not fits:
            raise ValueError(f"{name} must be of type {type(default).__name__} (such as {default!r}), got {value!r}")
        if any(word in name.lower() for word in ("token", "secret", "password", "api_key")) and isinstance(value, str):
            raise ValueError(f"{name} looks like a secret: set it in the environment, parameters are saved to files")


def run(notebook: Path | str, parameters: dict | None = None, out: Path | str | None = None, stdout=sys.stdout) -> Path:
    """Run a notebook headless with papermill.

    Args:
        notebook: Number, name or path.
        parameters: Values for its parameters.
        out: Where the executed copy goes; None takes <out_dir>/<name>.ipynb.
        stdout: Where the notebook's own printing is shown, or None.

    Returns:
        The executed copy.

    Raises:
        ValueError: a wrong parameter; nothing has run then.
        RuntimeError: a cell failed, or the kernel died (then a `KernelDied`); the copy holds everything up to there.
    """
    import papermill
    from jupyter_client.kernelspec import NoSuchKernel
    from nbclient.exceptions import DeadKernelError

    notebook, parameters = find(str(notebook)), dict(parameters or {})
    check_parameters(notebook, parameters)
    out = Path(out).absolute() if out else folder(parameters.get("out_dir"), notebook.stem) / notebook.name
    out.parent.mkdir(parents=True, exist_ok=True)
    os.environ.setdefault("TQDM_DISABLE", "1")  # the kernel inherits it: no progress bars in saved cells
    try:
        papermill.execute_notebook(
            notebook, out, parameters, kernel_name="python3", language="python", cwd=ROOT, progress_bar=False,
            log_output=False, stdout_file=stdout, autosave_cell_every=30, extra_arguments=["--log-level=ERROR"],
        )  # fmt: skip
    except papermill.PapermillExecutionError as error:
        raise RuntimeError(
            mask(f"{notebook.name}, code cell {error.exec_count}: {error.ename}: {error.evalue}\nSee {show_path(out)}")
        ) from None
    except NoSuchKernel:
        out.unlink(missing_ok=True)  # papermill has marked all of its cells as completed
        raise RuntimeError(f"no kernel python3 is installed; there are {', '.join(_kernels()) or 'none'}") from None
    except DeadKernelError:
        _mark_dead(out)
        raise KernelDied(f"{notebook.name}: the kernel died (out of memory?). See {show_path(out)}") from None
    finally:
        if out.is_file():
            _clean(out)
    return out


def _kernels() -> list[str]:
    from jupyter_client.kernelspec import KernelSpecManager

    return sorted(KernelSpecManager().find_kernel_specs())


def _mark_dead(out: Path) -> None:
    """papermill calls every cell completed when a kernel dies: say in the copy which one was running."""
    saved = json.loads(out.read_text(encoding="utf-8"))
    code = [c for c in saved["cells"] if c["cell_type"] == "code"]
    ran = sum(bool(c["metadata"].get("papermill", {}).get("start_time")) for c in code)
    for n, cell in enumerate(code[max(ran - 1, 0) :]):
        cell["metadata"].setdefault("papermill", {})["status"] = "pending" if n else "failed"
    banner = "**The kernel died** while this notebook ran; the results up to there are in the files it wrote."
    saved["cells"].insert(0, {"cell_type": "markdown", "id": "kernel-died", "metadata": {}, "source": banner})
    out.write_text(json.dumps(saved, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def _clean(path: Path) -> None:
    """Strip secrets, and what stops a notebook from rendering elsewhere: widgets and their state."""
    saved = json.loads(path.read_text(encoding="utf-8"))
    saved["metadata"].pop("widgets", None)
    for cell in saved["cells"]:
        if "outputs" in cell:
            cell["outputs"] = [o for o in map(_without_widget, cell["outputs"]) if o]
    path.write_text(mask(json.dumps(saved, indent=1, ensure_ascii=False)) + "\n", encoding="utf-8")


def _without_widget(output: dict) -> dict | None:
    """An output without its widget; None where only a line of text would be left of it."""
    if output.get("data", {}).pop("application/vnd.jupyter.widget-view+json", None) is None:
        return output
    return output if set(output["data"]) - {"text/plain"} else None


def refresh(names: list[str]) -> None:
    """Run notebooks with their defaults and keep the outputs in notebooks/, without times, paths or widget state.

    What an earlier run left in a notebook's folder is set aside, as NAME.before, or it would be gone on with.
    """
    for notebook in [find(name) for name in names] or sorted(NOTEBOOKS.glob("*.ipynb")):
        print(f"== {notebook.name}", flush=True)
        left = ROOT / "runs" / notebook.stem
        if left.exists():
            shutil.rmtree(left.with_suffix(".before"), ignore_errors=True)
            left.rename(left.with_suffix(".before"))
        executed = json.loads(run(notebook, stdout=None).read_text(encoding="utf-8"))
        executed["cells"] = [
            cell for cell in executed["cells"] if "injected-parameters" not in cell["metadata"].get("tags", [])
        ]
        for cell in executed["cells"]:
            cell["metadata"] = {k: v for k, v in cell["metadata"].items() if k == "tags" and v}
            if cell["cell_type"] == "code":
                cell["outputs"] = _joined([o for o in map(_tidy, cell["outputs"]) if o])
        executed["metadata"] = {k: v for k, v in executed["metadata"].items() if k in ("kernelspec", "language_info")}
        text = json.dumps(executed, indent=1, ensure_ascii=False).replace(str(ROOT) + "/", "").replace(str(ROOT), ".")
        notebook.write_text(text + "\n", encoding="utf-8")


def _tidy(output: dict) -> dict | None:
    """An output without library chatter: standard error goes, and so does the repr beside a picture's size."""
    if output.get("name") == "stderr":
        return None
    if "image/png" in output.get("data", {}):
        output["data"]["text/plain"] = "<Figure>"
    return output


def _joined(outputs: list[dict]) -> list[dict]:
    """The outputs with what was printed in pieces, one after another, as one."""
    joined: list[dict] = []
    for output in outputs:
        before = joined[-1] if joined else {}
        if output["output_type"] == before.get("output_type") == "stream" and output["name"] == before["name"]:
            before["text"] = "".join(before["text"]) + "".join(output["text"])
            before["text"] = before["text"].splitlines(keepends=True)
        else:
            joined.append(output)
    return joined


def given(pairs: list[str]) -> dict:
    """Parameters as they are written on a command line, name=value.

    Raises:
        ValueError: one is not written so.
    """
    odd = [pair for pair in pairs if "=" not in pair]
    if odd:
        raise ValueError(f"parameters are written name=value, got {odd[0]!r}")
    return {key: _value(text) for key, _, text in (pair.partition("=") for pair in pairs)}


def _value(text: str):
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return text


def main(arguments: list[str]) -> int:
    """The command line. Returns the exit code."""
    os.environ.setdefault("PYTHONUTF8", "1")
    match arguments:
        case ["run", name, *pairs]:
            try:
                print(f"running {find(name).stem}; loading its libraries takes 10 to 40 s", flush=True)
                done = run(name, given(pairs))
                print(f"done: {show_path(done)}")
            except (ValueError, RuntimeError) as error:
                print(f"error: {error}", file=sys.stderr)
                return 1
        case ["refresh", *names]:
            refresh(names)
        case _:
            print(__doc__, file=sys.stderr)
            return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

# SPDX-License-Identifier: Apache-2.0
"""Notebooks: their folders and results while they run, and running them headless with checked parameters.

python -m helpers.run.headless run 05 environment=sudoku steps=40
python -m helpers.run.headless refresh
"""

import ast
import json
import os
import shutil
import sys
from pathlib import Path

from helpers.here import ROOT, mask, nearest, show_path
from helpers.run.results import folder

NOTEBOOKS = ROOT / "notebooks"


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
        case ["refresh", *names] if not any(name.startswith("-") for name in names):
            refresh(names)
        case _:
            print(__doc__, file=sys.stderr)
            return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

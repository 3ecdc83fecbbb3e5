# SPDX-License-Identifier: Apache-2.0
"""A notebook as a script, which `accelerate launch` can run on several processes.

python -m helpers.run.script 05 --out runs/05_grpo.py
"""

import argparse
import ast
import atexit
import json
import os
import shutil
import sys
import tempfile
from pathlib import Path

from helpers.here import ROOT, first_process, show_path
from helpers.run.headless import NOTEBOOKS, check_parameters, find, given
from helpers.run.results import folder

HEAD = '''\
"""{name} as a script; made from notebooks/{name}.ipynb by `python -m helpers.run.script {name}`. Parameters are
name=value.

    python {file} {example}

On several GPUs, one process each; the prompts of a step are shared out among them:

    accelerate launch --multi_gpu --num_processes 4 {file}

With generation on a GPU of its own, where a vLLM server has the same model; training takes the others:

    CUDA_VISIBLE_DEVICES=0 VLLM_SERVER_DEV_MODE=1 vllm serve MODEL --logprobs-mode processed_logprobs \\
        --max-logprobs -1 --weight-transfer-config '{{"backend": "nccl"}}'
    CUDA_VISIBLE_DEVICES=1,2,3 VLLM_SERVER=http://localhost:8000 \\
        accelerate launch --multi_gpu --num_processes 3 {file} model=MODEL prompts_per_step=9

Without a GPU the same command starts processes that talk over gloo; with `--cpu` it starts several only through MPI.
"""

import os
import sys

os.environ.setdefault("RLVR_WORKBOOK_HOME", {root!r})
sys.path.insert(0, os.environ["RLVR_WORKBOOK_HOME"])
from helpers.run import script

display = script.show
'''


# --- making it -------------------------------------------------------------------------------------------


def make(name: str, out: Path | str | None = None) -> Path:
    """Write a notebook as a script: its cells in order, its text as comments.

    Args:
        name: Number, name or path of the notebook.
        out: Where the script goes; None for runs/<notebook>.py.

    Returns:
        The script.
    """
    notebook = find(name)
    out = Path(out) if out else ROOT / "runs" / f"{notebook.stem}.py"
    out.parent.mkdir(parents=True, exist_ok=True)
    parts = [HEAD.format(name=notebook.stem, file=show_path(out.resolve()), root=str(ROOT), example="seed=1")]
    for cell in json.loads(notebook.read_text(encoding="utf-8"))["cells"]:
        text = "".join(cell["source"])
        if cell["cell_type"] == "markdown":
            parts.append("\n".join(f"# {line}".rstrip() for line in text.split("\n")))
        else:
            parts.append(_shown(text))
        if "parameters" in cell.get("metadata", {}).get("tags", []):
            known = notebook.stem if notebook.parent == NOTEBOOKS else str(notebook.resolve())
            parts.append(f"globals().update(script.begin({known!r}, sys.argv[1:]))")
    out.write_text("\n\n".join(parts) + "\n", encoding="utf-8")
    return out


def _shown(code: str) -> str:
    """A cell's code; what a notebook would show of it, the value of its last line, is printed."""
    last = ast.parse(code).body[-1:]
    if not last or not isinstance(last[0], ast.Expr) or code.rstrip().endswith(";"):
        return code
    lines = code.rstrip().split("\n")
    first, column = last[0].lineno - 1, len(lines[last[0].lineno - 1].encode()[: last[0].col_offset].decode())
    opened = f"{lines[first][:column]}display({lines[first][column:]}"  # other statements may stand before it
    return "\n".join([*lines[:first], opened, *lines[first + 1 :]]) + ")"


# --- inside it -------------------------------------------------------------------------------------------


def begin(notebook: str, arguments: list[str]) -> dict:
    """What a script starts with: its parameters from the command line, and in every process but the first silence and
    a folder of its own, so that what is printed and left is there once.

    Args:
        notebook: Name or path of the notebook that it was made from.
        arguments: Parameters as name=value.

    Returns:
        Values by name of the parameter. A wrong one ends the process.
    """
    os.environ.setdefault("MPLBACKEND", "Agg")
    os.environ.setdefault("TQDM_DISABLE", "1")
    try:
        path, parameters = find(notebook), given(arguments)
        check_parameters(path, parameters)
    except ValueError as error:
        sys.exit(f"error: {error}")
    if not first_process():
        sys.stdout = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115 (open until the process ends)
        parameters["out_dir"] = str(_aside(folder(parameters.get("out_dir"), path.stem)))
    return parameters


def _aside(first: Path) -> Path:
    """A folder that goes away with this process. Checkpoints in it are those of the first process: a run that is
    resumed must go on from the same one everywhere."""
    own = Path(tempfile.mkdtemp(prefix=f"{first.name}-"))
    atexit.register(shutil.rmtree, own, ignore_errors=True)
    (first / "trainer").mkdir(exist_ok=True)
    (own / "trainer").symlink_to(first / "trainer", target_is_directory=True)
    return own


def show(value) -> None:
    """Print a value that a notebook would show; pages of HTML are left out."""
    from IPython.display import HTML

    if value is not None and not isinstance(value, HTML):
        print(value)


def main(arguments: list[str]) -> int:
    """The command line. Returns the exit code."""
    parser = argparse.ArgumentParser(prog="python -m helpers.run.script", description=__doc__.split("\n")[0])
    parser.add_argument("notebook", help="its number, such as 05, or its name")
    parser.add_argument("--out", help="where the script goes (default: runs/<notebook>.py)")
    options = parser.parse_args(arguments)
    try:
        print(show_path(make(options.notebook, options.out).resolve()))
    except ValueError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

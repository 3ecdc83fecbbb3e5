# SPDX-License-Identifier: Apache-2.0
"""What the repository shows of its notebooks: `python -m helpers.run.publish` (or `make publish`) writes it anew.

- The set-up cell, the same in every notebook, and the sentence before it.
- docs/thumbs/NN.png: a small picture of each notebook's result, out of its saved outputs.
- README's table: links and thumbnails of the notebooks that there are.
- Colab badges in both. They and the set-up cell take the public address from pyproject.toml, [tool.rlvr-workbook]
  repository; while that is empty there are no badges.

Running it twice changes nothing.
"""

import base64
import io
import json
import re
import sys
import tomllib
from pathlib import Path

from helpers.here import ROOT, show_path

SETUP_WORDS = (
    "The next cell finds the repository, wherever this notebook runs; on Colab it fetches it and installs what it "
    "needs. It prints the versions that count; loading these libraries takes 10 to 40 seconds, once a notebook."
)
SETUP_CELL = """\
import os, pathlib, subprocess, sys

here, home = pathlib.Path.cwd(), os.environ.get("RLVR_WORKBOOK_HOME")
url = os.environ.get("RLVR_WORKBOOK_URL", "ADDRESS")
spots = [pathlib.Path(home)] if home else [here, *here.parents, here / "rlvr-workbook", pathlib.Path(sys.prefix).parent]
root = next((p for p in spots if (p / "envs" / "sudoku_env.py").is_file()), None)
if root is None and url and "google.colab" in sys.modules:
    root = here / "rlvr-workbook"
    subprocess.run(["git", "clone", "-q", "--depth", "1", url, root], check=True)
if root is None:
    raise FileNotFoundError(f"No envs/ in {here}: set RLVR_WORKBOOK_HOME (its folder) or, on Colab, RLVR_WORKBOOK_URL")
sys.path[:] = dict.fromkeys([str(root), *sys.path])
from helpers.run import kernel; kernel.prepare()"""
THUMB_WIDTH, THUMB_BYTES = 480, 30_000
PICTURES = {"00": 1, "04": 1}  # which picture shows the result, where it is not the first

_BADGE = re.compile(r" ?\[!\[Open in Colab\]\([^)]*\)\]\([^)]*\)")


def repository(root: Path = ROOT) -> str:
    """The public address in pyproject.toml, or "" while there is none.

    Raises:
        ValueError: it is not the https address of a GitHub repository, which is what Colab opens.
    """
    address = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["rlvr-workbook"][
        "repository"
    ]
    if address and not re.fullmatch(r"https://github\.com/[\w.-]+/[\w.-]+", address):
        raise ValueError(f"repository must be such as https://github.com/owner/name, got {address!r} (pyproject.toml)")
    return address


def publish(root: Path = ROOT) -> list[Path]:
    """Write set-up cells, badges and thumbnails.

    Args:
        root: The repository.

    Returns:
        The files that changed.

    Raises:
        ValueError: the address is wrong, or a notebook does not open as the others do.
    """
    address = repository(root)
    changed = []
    for path in sorted((root / "notebooks").glob("*.ipynb")):
        notebook = json.loads(path.read_text(encoding="utf-8"))
        dress(notebook, path.name, address)
        changed += _write(path, (json.dumps(notebook, indent=1, ensure_ascii=False) + "\n").encode())
        if small := thumbnail(notebook, PICTURES.get(path.stem[:2], 0)):
            changed += _write(root / "docs" / "thumbs" / f"{path.stem[:2]}.png", small)
    readme = root / "README.md"
    return changed + _write(readme, rows(readme.read_text(encoding="utf-8"), address, root).encode())


def _write(path: Path, data: bytes) -> list[Path]:
    """Write a file if that changes it; returns it then."""
    if path.is_file() and path.read_bytes() == data:
        return []
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    return [path]


def dress(notebook: dict, name: str, address: str) -> None:
    """Put set-up cell and badge into a notebook, in place. A set-up cell that stays as it is keeps its output."""
    title, _, parameters, before, setup = notebook["cells"][:5]
    if "parameters" not in parameters["metadata"].get("tags", []) or setup["cell_type"] != "code":
        raise ValueError(f"{name} must open with title, a sentence, parameters, a sentence and the set-up cell")
    first, *rest = _BADGE.sub("", "".join(title["source"])).split("\n")
    title["source"] = _lines("\n".join([first + _badge(name, address), *rest]))
    before["source"] = _lines(SETUP_WORDS)
    wanted = _lines(SETUP_CELL.replace("ADDRESS", address))
    if setup["source"] != wanted:
        setup |= {"source": wanted, "outputs": []}


def _lines(text: str) -> list[str]:
    """Text as a notebook file holds it."""
    return text.splitlines(keepends=True)


def _badge(name: str, address: str) -> str:
    if not address:
        return ""
    there = address.replace("https://github.com/", "https://colab.research.google.com/github/")
    picture = "https://colab.research.google.com/assets/colab-badge.svg"
    return f" [![Open in Colab]({picture})]({there}/blob/main/notebooks/{name})"


def rows(readme: str, address: str, root: Path = ROOT) -> str:
    """README with link, badge and thumbnail in the table row of each notebook that there is."""

    def row(match: re.Match) -> str:
        name, rest = match.groups()
        path, thumb = f"notebooks/{name}.ipynb", f"docs/thumbs/{name[:2]}.png"
        if not (root / path).is_file():
            return f"| {name}{rest}| |"
        link = f"[{name}]({path}){_badge(f'{name}.ipynb', address)}"
        shown = f' <img src="{thumb}" width="180" alt="">' if (root / thumb).is_file() else ""
        return f"| {link}{rest}|{shown} |"

    return re.sub(r"^\| \[?(\d\d_[a-z_]+)(?:\]\([^)]*\))?( \|.*)\|[^|]*\|$", row, _BADGE.sub("", readme), flags=re.M)


def thumbnail(notebook: dict, which: int = 0) -> bytes | None:
    """A small PNG of a notebook's result, or None while it has no outputs.

    Args:
        notebook: Its content, with outputs.
        which: Counts its pictures, from 0; the last one where there are fewer. Without any, its first table is drawn.
    """
    from PIL import Image

    data = [o.get("data", {}) for cell in notebook["cells"] for o in cell.get("outputs", [])]
    pictures = [base64.b64decode("".join(d["image/png"])) for d in data if "image/png" in d]
    pictures = (
        pictures or [_drawn("".join(d["text/plain"])) for d in data if "text/html" in d and "text/plain" in d][:1]
    )
    if not pictures:
        return None
    png = pictures[min(which, len(pictures) - 1)]
    image = Image.open(io.BytesIO(png)).convert("RGB")
    size = (THUMB_WIDTH, round(image.height * THUMB_WIDTH / image.width))
    image = image.resize(size, Image.Resampling.LANCZOS)
    for colours in (64, 32, 16, 8):
        small = io.BytesIO()
        image.quantize(colours).save(small, "PNG", optimize=True)
        if small.tell() < THUMB_BYTES:
            break
    return small.getvalue()


def _drawn(text: str) -> bytes:
    """Text as a picture."""
    from matplotlib.figure import Figure

    lines = text.split("\n")[:12]
    figure = Figure(figsize=(0.09 * max(map(len, lines)) + 0.3, 0.2 * len(lines) + 0.3))
    figure.text(0.15 / figure.get_figwidth(), 0.5, "\n".join(lines), family="monospace", fontsize=10, va="center")
    png = io.BytesIO()
    figure.savefig(png, dpi=150)
    return png.getvalue()


def main() -> int:
    """The command line. Returns the exit code."""
    try:
        changed = publish()
        print("\n".join(f"written: {show_path(path)}" for path in changed) or "nothing to change")
        if not repository():
            print("no badges: pyproject.toml names no public address yet")
    except ValueError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())

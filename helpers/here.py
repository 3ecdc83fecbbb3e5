# SPDX-License-Identifier: Apache-2.0
"""What every part stands on: where the repository is, who looks on, and what may be printed."""

import difflib
import html
import json
import os
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]

_SECRET_NAME = re.compile(r"(^|_)(TOKEN|KEY|SECRET|PASSWORD|PASSWD|CREDENTIALS?)$", re.IGNORECASE)
_SECRET_SHAPE = re.compile(r"\b(hf_\w{20,}|sk-[\w-]{20,}|gh[pousr]_\w{30,}|AKIA[0-9A-Z]{16})")


def show_path(path: Path | str) -> str:
    """A path as it may be printed: relative to the repository if it is inside it."""
    path = Path(path)
    return str(path.relative_to(ROOT)) if path.is_relative_to(ROOT) else str(path)


def mask(text: str) -> str:
    """The text without secrets: the values of environment variables named like one (..._TOKEN, ..._KEY), and what has
    the shape of a well-known key."""
    found = {value: name for name, value in os.environ.items() if _SECRET_NAME.search(name) and len(value) >= 8}
    for value in sorted(found, key=len, reverse=True):  # a longer one may hold a shorter one
        for form in {value, json.dumps(value)[1:-1], html.escape(value)}:
            text = text.replace(form, f"***{found[value]}***")
    return _SECRET_SHAPE.sub("***", text)


def first_process() -> bool:
    """Whether this is the only process of a training run, or the first of several."""
    return os.environ.get("RANK", "0") == "0"  # set by accelerate launch


def shell():
    """The IPython shell of this process, or None outside a notebook."""
    return sys.modules["IPython"].get_ipython() if "IPython" in sys.modules else None


def watched() -> bool:
    """Whether this is a notebook that somebody may be looking at, in Jupyter, VS Code or Colab."""
    return os.environ.get("TQDM_DISABLE") != "1" and hasattr(shell(), "kernel")


def choice(name: str, value: str, accepted: tuple[str, ...]) -> str:
    """A parameter that takes one of a few names.

    Raises:
        ValueError: `value` is none of those `accepted`, which the message names.
    """
    if value not in accepted:
        raise ValueError(f"{name} must be one of {', '.join(accepted)}, got {value!r}")
    return value


def nearest(name: str, known) -> str:
    """The end of an error about an unknown name: the known name nearest to it, and all known names."""
    near = difflib.get_close_matches(name, list(known), 1, 0.6)
    return (f"did you mean {near[0]!r}? " if near else "") + f"There are {', '.join(known)}."

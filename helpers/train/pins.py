# SPDX-License-Identifier: Apache-2.0
"""Which versions are pinned, which are installed, and which Colab keeps for itself."""

import sys
from importlib.metadata import PackageNotFoundError, requires, version
from pathlib import Path

# Colab's own versions of these stay, and of all that its package google-colab names: its kernel and its pages rest on
# them, and its torch fits the driver of its GPU, which a newer one may not.
OWN = ("torch", "torchvision", "torchaudio", "numpy", "pandas", "matplotlib", "psutil")


def on_colab() -> bool:
    """Whether this process is Colab's."""
    return "google.colab" in sys.modules


def kept() -> dict[str, str]:
    """The packages that stay as Colab has them, with their versions."""
    from packaging.requirements import Requirement

    try:
        named = [Requirement(line).name for line in requires("google-colab") or ()]
    except PackageNotFoundError:
        named = []
    return {name: have for name in dict.fromkeys((*OWN, *named)) if (have := installed(name))}


def pins(file: Path) -> dict[str, str]:
    """The pinned versions in a requirements file, by package."""
    lines = [line.split("#")[0].strip() for line in file.read_text(encoding="utf-8").split("\n")]
    return dict(line.split("==") for line in lines if "==" in line)


def installed(name: str) -> str | None:
    """The version of a package that is installed now, or None."""
    try:
        return version(name)
    except PackageNotFoundError:
        return None

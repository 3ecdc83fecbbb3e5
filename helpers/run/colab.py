# SPDX-License-Identifier: Apache-2.0
"""What the set-up cell does on Colab: install what this project needs there, and keep off what Colab stands on."""

import subprocess
import sys
import tempfile
import time
from shutil import which

from helpers.here import ROOT
from helpers.train import pins

# Not needed there: what opens, runs and tests notebooks elsewhere. vLLM would bring a torch of its own.
LEFT_OUT = (
    "hypothesis", "ipykernel", "ipywidgets", "jupyterlab", "mypy", "nbconvert", "nbval", "papermill", "playwright",
    "pytest", "ruff", "uv", "vllm", "vllm-bnb-plugin",
)  # fmt: skip

NEWER = {"torchao": "0.18.0"}  # peft refuses to train beside the one that Colab has


def install() -> None:
    """Install what differs from the pins, but for what Colab keeps and what is not needed there.

    Raises:
        RuntimeError: an installation failed; the message ends with pip's last lines.
    """
    own = pins.kept()
    for name in ("requirements-gpu.txt" if which("nvidia-smi") else "requirements.txt", "requirements-nodeps.txt"):
        pinned = pins.pins(ROOT / name) | NEWER
        wanted = {package: pin for package, pin in pinned.items() if package not in {*own, *LEFT_OUT}}
        missing = [f"{package}=={pin}" for package, pin in wanted.items() if pins.installed(package) != pin]
        if missing:
            print(f"installing {name}, some minutes the first time: {len(missing)} packages and what they need")
            _pip((["--no-deps"] if "nodeps" in name else []) + missing, own)


def _pip(packages: list[str], own: dict[str, str]) -> None:
    """Run pip install without a change to the packages in `own`; a line of its output every ten seconds."""
    lines = []
    with tempfile.NamedTemporaryFile("w", suffix=".txt", encoding="utf-8") as file:
        file.write("".join(f"{name}=={have}\n" for name, have in own.items()))
        file.flush()
        command = [sys.executable, "-m", "pip", "install", "--progress-bar", "off", "-c", file.name, *packages]
        process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, encoding="utf-8", errors="replace"
        )
        began = spoke = time.monotonic()
        for line in process.stdout or ():
            lines.append(line.rstrip())
            if time.monotonic() - spoke > 10:
                spoke = time.monotonic()
                print(f"  {spoke - began:.0f} s: {lines[-1].strip()[:80]}", flush=True)
        failed = process.wait()
    if failed:
        raise RuntimeError("pip install failed:\n" + "\n".join(lines[-15:]))

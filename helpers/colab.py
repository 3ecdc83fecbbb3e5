"""What the set-up cell does on Colab: install what this project needs there, and keep off what Colab stands on."""

import subprocess
import sys
import tempfile
import time
from importlib.metadata import PackageNotFoundError, requires, version
from pathlib import Path
from shutil import which

ROOT = Path(__file__).resolve().parents[1]
# Colab's own versions of these stay, and of all that its package google-colab names: its kernel and its pages rest on
# them, and its torch fits the driver of its GPU, which a newer one may not.
OWN = ("torch", "torchvision", "torchaudio", "numpy", "pandas", "matplotlib", "psutil")
# Not needed there: what opens, runs and tests notebooks elsewhere. vLLM would bring a torch of its own.
LEFT_OUT = (
    "hypothesis", "ipykernel", "ipywidgets", "jupyterlab", "mypy", "nbconvert", "nbval", "papermill", "playwright",
    "pytest", "ruff", "uv", "vllm", "vllm-bnb-plugin",
)  # fmt: skip

NEWER = {"torchao": "0.18.0"}  # peft refuses to train beside the one that Colab has


def here() -> bool:
    """Whether this process is Colab's."""
    return "google.colab" in sys.modules


def install() -> None:
    """Install what differs from the pins, but for what Colab keeps and what is not needed there.

    Raises:
        RuntimeError: an installation failed; the message ends with pip's last lines.
    """
    own = kept()
    for name in ("requirements-gpu.txt" if which("nvidia-smi") else "requirements.txt", "requirements-nodeps.txt"):
        pinned = pins(ROOT / name) | NEWER
        wanted = {package: pin for package, pin in pinned.items() if package not in {*own, *LEFT_OUT}}
        missing = [f"{package}=={pin}" for package, pin in wanted.items() if installed(package) != pin]
        if missing:
            print(f"installing {name}, some minutes the first time: {len(missing)} packages and what they need")
            _pip((["--no-deps"] if "nodeps" in name else []) + missing, own)


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

"""What the set-up cell installs on Colab, and what of Colab's it leaves alone."""

import importlib.metadata
import subprocess
import sys
import types

import pytest
from resolving import compile_command, resolved, skip_without_index

from helpers.here import ROOT
from helpers.run import colab, kernel
from helpers.train import guards, pins

CPU, GPU = (("requirements.txt", "requirements-nodeps.txt"), ("requirements-gpu.txt", "requirements-nodeps.txt"))

# Colab's image for GPUs of 2026-08-19, Python 3.13, as far as its versions stay: github.com/googlecolab/backend-info,
# pip-freeze.gpu.txt.
IMAGE = {
    "torch": "2.11.0", "torchvision": "0.26.0", "torchaudio": "2.11.0", "numpy": "2.1.3", "pandas": "2.2.3",
    "matplotlib": "3.10.0", "psutil": "5.9.5", "requests": "2.32.4", "tornado": "6.5.7", "ipykernel": "6.17.1",
    "ipython": "7.34.0",
}  # fmt: skip
ITS_OWN = ("torch", "numpy", "pandas", "matplotlib", "requests", "ipykernel")


@pytest.fixture
def there(monkeypatch, tmp_path):
    """Colab as far as the set-up cell sees it: what is installed there, by package, and what pip is asked for. Its
    package names two that its kernel needs."""
    folder = tmp_path / "google_colab-1.0.dist-info"
    folder.mkdir()
    about = ["Metadata-Version: 2.1", "Name: google-colab", "Version: 1.0"]
    needs = ["Requires-Dist: requests==2.0", "Requires-Dist: ipykernel==6"]
    (folder / "METADATA").write_text("\n".join([*about, *needs, ""]))
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setitem(sys.modules, "google.colab", types.ModuleType("google.colab"))
    monkeypatch.setattr(colab, "which", lambda name: None)
    have = dict.fromkeys((*ITS_OWN, "ipywidgets", "trl", "torchao"), "1.0")
    asked = []
    monkeypatch.setattr(pins, "installed", have.get)
    monkeypatch.setattr(kernel, "_outdated", lambda: [])
    monkeypatch.setattr(colab, "_pip", lambda packages, own: asked.append((packages, own)))
    return have, asked


@pytest.mark.parametrize("files", [CPU, GPU], ids=["cpu", "gpu"])
def test_what_colabs_kernel_stands_on_is_never_changed(there, monkeypatch, files):
    monkeypatch.setattr(colab, "which", lambda name: "/usr/bin/nvidia-smi" if files is GPU else None)
    _, asked = there
    kernel.prepare()
    names = {name.partition("==")[0] for packages, _ in asked for name in packages}
    assert {"trl", "transformers", "peft", "unsloth", "unsloth_zoo", "torchao"} <= names
    assert not names & {*ITS_OWN, "ipywidgets", "jupyterlab", "vllm"}
    for _, own in asked:  # nor by what the packages asked for need
        assert own == dict.fromkeys(ITS_OWN, "1.0")


def test_only_what_differs_from_the_pins_is_installed(there):
    have, asked = there
    have |= pins.pins(ROOT / CPU[0]) | pins.pins(ROOT / CPU[1]) | colab.NEWER
    have["torch"] = "1.0"  # its own, whatever it is
    kernel.prepare()
    assert asked == []
    have["unsloth"] = "2020.1"
    kernel.prepare()
    pin = pins.pins(ROOT / CPU[1])["unsloth"]
    assert [packages for packages, _ in asked] == [["--no-deps", f"unsloth=={pin}"]]


@pytest.mark.parametrize("files", [CPU, GPU], ids=["cpu", "gpu"])
def test_what_is_installed_fits_beside_what_stays(there, monkeypatch, tmp_path, files):
    """What pip is asked for, resolved with the versions of a real image: one that does not fit would end in an error,
    or change what Colab stands on."""
    skip_without_index(tmp_path)
    monkeypatch.setattr(colab, "which", lambda name: "/usr/bin/nvidia-smi" if files is GPU else None)
    have, asked = there
    have.clear()
    have |= IMAGE
    kernel.prepare()
    (tmp_path / "own.txt").write_text("".join(f"{name}=={version}\n" for name, version in asked[0][1].items()))
    (tmp_path / "asked.txt").write_text("\n".join(asked[0][0]))
    command = compile_command(tmp_path / "asked.txt", "3.13", "--constraint", str(tmp_path / "own.txt"))
    done = subprocess.run(command, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr[-2000:]
    found = resolved(done.stdout)
    assert found["torch"] == IMAGE["torch"] and found["trl"] == pins.pins(ROOT / files[0])["trl"]
    assert not {name for name in found.keys() & IMAGE.keys() if found[name] != IMAGE[name]}


def test_every_name_on_the_lists_is_still_one_of_ours():
    named = {name for file in (*CPU, *GPU) for name in pins.pins(ROOT / file)}
    assert set(colab.LEFT_OUT) <= named
    assert not set(colab.LEFT_OUT) & set(guards.CORE)


def test_peft_trains_beside_the_torchao_that_is_brought(monkeypatch):
    from peft import import_utils

    monkeypatch.setattr(importlib.metadata, "version", colab.NEWER.get)
    monkeypatch.setattr(import_utils.importlib.util, "find_spec", lambda name: object())
    check = import_utils.is_torchao_available
    assert getattr(check, "__wrapped__", check)()


def test_pip_keeps_to_the_versions_that_stay(tmp_path, monkeypatch):
    said = tmp_path / "said"
    (tmp_path / "pip.py").write_text(
        "import sys, pathlib\n"
        f"pathlib.Path({str(said)!r}).write_text(pathlib.Path(sys.argv[sys.argv.index('-c') + 1]).read_text())\n"
    )
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    colab._pip(["trl==1"], {"torch": "2.11.0+cu128", "ipykernel": "6.17.1"})
    assert said.read_text() == "torch==2.11.0+cu128\nipykernel==6.17.1\n"


def test_a_failed_installation_stops_and_shows_why():
    with pytest.raises(RuntimeError, match=r"pip install failed:\n[\s\S]*no-such-file"):
        colab._pip(["-r", "no-such-file.txt"], {})


def test_colabs_torch_passes_and_another_trl_does_not(monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "google.colab", types.ModuleType("google.colab"))
    pins = guards.lock(False)
    assert "ipython" not in pins  # of constraints.txt, which Colab's own versions do not meet
    monkeypatch.setattr(guards, "lock", lambda gpu: pins | {"torch": "0.1"})
    guards.check_versions()
    assert "torch" in capsys.readouterr().out  # named all the same
    monkeypatch.setattr(guards, "lock", lambda gpu: pins | {"trl": "0.1"})
    with pytest.raises(RuntimeError, match=r"trl: expected 0\.1, .*run the set-up cell again"):
        guards.check_versions()

# SPDX-License-Identifier: Apache-2.0
"""What the set-up cell of every notebook does once the repository is found: `kernel.prepare()`."""

import linecache
import os
import sys
import threading
import time
from pathlib import Path
from types import MethodType

from helpers.here import ROOT, shell, watched
from helpers.run import colab
from helpers.train import pins

SILENT_S = 10.0  # a cell that says nothing for so long gets a sign of life
# Rounds that a waiting thread of torch spins before it sleeps (libgomp: 300,000). With fewer, training is as quick on a
# quiet machine, and several times quicker where another process computes on the same cores (tests/bench/cores.py).
SPIN_ROUNDS = "3000"
SHOWN = ("torch", "transformers", "trl", "unsloth")  # whose versions are printed


class RestartNeeded(RuntimeError):
    """This process has loaded one version of a package, and another one is installed by now."""


def prepare() -> None:
    """Install what is missing, on Colab only; print versions; from then on show our own errors as one line, and a sign
    of life where a cell is long silent. Torch, loaded later, shares the cores with other processes.

    Raises:
        RestartNeeded: a package was imported before its present version was installed.
        RuntimeError: an installation failed.
    """
    os.environ.setdefault("GOMP_SPINCOUNT", SPIN_ROUNDS)  # read when torch is loaded
    if pins.on_colab():
        colab.install()
    if old := _outdated():
        raise RestartNeeded(f"restart the kernel, then run all cells again: {'; '.join(old)}")
    _explain_errors()
    _keep_company()
    named = ", ".join(f"{name} {pins.installed(name) or 'missing'}" for name in SHOWN)
    print(f"Python {sys.version.split()[0]}, {named}")


def _outdated() -> list[str]:
    """The packages whose loaded version is not the installed one, in words. A build tag, such as +cu130, is no
    difference: torch names it, and its package does not."""
    watched = ("numpy", "datasets", "accelerate", "peft", *SHOWN)
    loaded = {name: getattr(sys.modules.get(name), "__version__", None) for name in watched}
    return [
        f"{name} {have} is loaded, {now} is installed"
        for name, have in loaded.items()
        if have and (now := pins.installed(name)) and str(have).partition("+")[0] != now.partition("+")[0]
    ]


# --- silent cells ---------------------------------------------------------------------------------------


def _keep_company() -> None:
    """In a notebook that someone watches, say of a silent cell that it is still at work."""
    ours = shell()
    if not watched() or hasattr(ours, "sign_of_life"):
        return
    ours.sign_of_life = _SignOfLife()
    ours.sign_of_life.begin(None)  # of the set-up cell itself, whose end will be told
    ours.events.register("pre_run_cell", ours.sign_of_life.begin)
    ours.events.register("post_run_cell", ours.sign_of_life.end)


class _SignOfLife:
    """Writes to standard error while a cell runs and neither prints nor shows a bar: importing, loading, compiling."""

    def begin(self, _) -> None:
        self.ended, self.began, self.spoke = threading.Event(), time.time(), time.monotonic()
        # The kernel tells nobody that a cell prints, so its `write` does; anew for each cell, since IPython puts its
        # own there for the time of one.
        self.stream, self.write = vars(sys.stdout), sys.stdout.write

        def noted(text):
            self.spoke = time.monotonic()
            return self.write(text)

        self.stream["write"] = noted
        threading.Thread(target=self._watch, args=(self.ended,), daemon=True).start()

    def end(self, _) -> None:
        self.ended.set()
        self.stream["write"] = self.write

    def _watch(self, ended: threading.Event) -> None:
        began, wait = time.monotonic(), SILENT_S
        while not ended.wait(wait):
            now = time.monotonic()
            if now - self.spoke >= wait and not self._shows_a_bar():
                print(f"still at work, {now - began:.0f} s", file=sys.stderr, flush=True)
                wait *= 2  # a long cell gets a few lines, not hundreds

    def _shows_a_bar(self) -> bool:
        """Whether a bar of tqdm is open that this cell began; those of earlier cells may have failed."""
        if "tqdm" not in sys.modules:
            return False
        from tqdm import tqdm

        with tqdm.get_lock():
            return any(getattr(bar, "start_t", 0) >= self.began for bar in tqdm._instances)


# --- errors ----------------------------------------------------------------------------------------------


def _explain_errors() -> None:
    """In a notebook, show an error that this project raises as its one line; `%tb` still shows where it arose."""
    ours = shell()
    if ours is None:
        return
    usual = type(ours).showtraceback.__get__(ours)  # of the class: the cell may run twice

    def showtraceback(self, exc_tuple=None, *args, running_compiled_code=False, **options):
        kind, error, trace = self._get_exc_info(exc_tuple)
        line = one_line(error, trace) if running_compiled_code and not options.get("exception_only") else None
        if line is None:
            return usual(exc_tuple, *args, running_compiled_code=running_compiled_code, **options)
        return self._showtraceback(kind, line, [f"{kind.__name__}: {line}"])

    ours.showtraceback = MethodType(showtraceback, ours)


def one_line(error: BaseException | None, trace) -> str | None:
    """What there is to say of an error without its traceback, or None where the traceback is needed.

    Needed it is, unless a line of this project raised the error on purpose, or a name is missing in the cell itself.

    Args:
        error: The error.
        trace: Its traceback.
    """
    if trace is None:
        return None
    depth = 0
    while trace.tb_next:
        trace, depth = trace.tb_next, depth + 1
    file = trace.tb_frame.f_code.co_filename
    if isinstance(error, NameError) and trace.tb_frame.f_code.co_name == "<module>":
        return f"{error}: run the cells above this one first, or is it misspelt?"
    ours = any(Path(file).is_relative_to(ROOT / folder) for folder in ("envs", "helpers"))
    raised = linecache.getline(file, trace.tb_lineno).lstrip().startswith("raise ")
    return str(error) if ours and raised and isinstance(error, (ValueError, FileNotFoundError)) else None

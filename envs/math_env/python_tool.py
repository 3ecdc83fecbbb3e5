# SPDX-License-Identifier: Apache-2.0
"""Python that a model wrote, run for its tool `run_python` in the sandbox that lies beside this folder."""

from functools import cache
from importlib import import_module

SECONDS = 3.0  # for one program
LONGEST_OUTPUT = 2_000  # characters of what it printed that the model gets to read, and of its error


def run(code: str) -> str:
    """What a program prints, and its error if it ends with one.

    Raises:
        ValueError: there is no sandbox here, or it could not run the program.
    """
    try:
        outcome = _sandbox().run_program(code, time_limit_s=SECONDS)
    except (ImportError, RuntimeError) as fault:  # not beside this folder; not Linux, or nothing isolates
        raise ValueError(f"Python cannot be run here ({fault}); use calculate") from None
    if outcome.status == "sandbox":
        raise ValueError(f"Python could not be run this time ({outcome.error}); try again or use calculate")
    said = [_capped(outcome.stdout.rstrip())]
    if outcome.status != "ok":
        said.append(_capped(f"{outcome.status}: {outcome.error}".rstrip(": \n")))
    return "\n".join(filter(None, said)) or "Nothing was printed; print what you want to see."


@cache
def _sandbox():
    home = __package__.rpartition(".")[0]  # the package that holds this folder; none in a copy
    return import_module(f"{home}.code_sandbox" if home else "code_sandbox").Sandbox()


def _capped(text: str) -> str:
    if len(text) <= LONGEST_OUTPUT:
        return text
    half = LONGEST_OUTPUT // 2
    return f"{text[:half]}\n... {len(text) - 2 * half} characters left out ...\n{text[-half:]}"

# SPDX-License-Identifier: Apache-2.0
r"""Run Python that a model wrote, all of it hostile, and bring plain values back. Linux, standard library only.

>>> with Sandbox() as sandbox:
...     run = sandbox.run_function("def double(x):\n    return 2 * x", "double", ["[21]", "['ab']"])
...     program = sandbox.run_program("print(int(input()) + 1)", "41\n")
>>> [outcome.value for outcome in run.outcomes]
[42, 'abab']
>>> program.stdout
'42\n'

Expected values never go in: compare `Outcome.value` and `Outcome.stdout` with yours, here, outside. What comes back is
data, whatever the program did to the interpreter it ran in; so a forged answer is only a wrong answer.

How it works. A `Sandbox` starts a small fork server (`server.py` of this folder) in a clean interpreter. For every
check the server forks a box that shuts itself in and runs the source; caller and box talk over a socket of their own,
the deadline is kept by the caller, and closing its end ends the box with everything that it started. Three levels:

  namespaces  private mounts, network, IPC, host name and process numbers; a root folder that holds the interpreter and
              system libraries, read-only; a /tmp of 64 MB that goes away with the check.
  landlock    for root where namespaces are not to be had, as in most containers: a user id of its own for each check,
              Landlock for files, abstract sockets and signals. Process numbers and file metadata stay visible, /tmp is
              a folder named in TMPDIR, disk and memory are watched rather than bounded.
  none        system-call filter and limits only. Refused unless `allow_unisolated`.

All levels: a list of permitted system calls (no sockets, ptrace, keyrings, io_uring, mounts, ...), no new privileges,
limits on memory, processes, files and output, an empty environment, no descriptor but the four of the check.
It does not guard against faults of the kernel or leaks through timing.

Where to look: the caller has `interface`, `process` (starts a server) and `check` (talks to a box). The server has
`server`, `namespaces` or `users`, and what these ask of the kernel in `system/`. The
program runs in `box`. Both sides know `values` and `limits`.
"""

from .interface import LEVELS, Sandbox
from .limits import DISK_MB, MAX_DEPTH, MAX_ITEMS, MAX_OUTPUT, MAX_STRETCH, MAX_TASKS, MAX_VALUE, SandboxError
from .outcomes import Outcome, Run

__all__ = (
    "DISK_MB", "LEVELS", "MAX_DEPTH", "MAX_ITEMS", "MAX_OUTPUT", "MAX_STRETCH", "MAX_TASKS", "MAX_VALUE", "Outcome",
    "Run", "Sandbox", "SandboxError",
)  # fmt: skip

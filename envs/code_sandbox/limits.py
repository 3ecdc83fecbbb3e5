# SPDX-License-Identifier: Apache-2.0
"""What both sides know: limits of a check, and the error that there is no sandbox."""

MAX_OUTPUT = 8 << 20  # bytes of stdout, and of stderr, of one check
MAX_VALUE = 4 << 20  # bytes of one result as JSON
MAX_ITEMS = 1_000_000  # items of one result, all nested ones together
MAX_DEPTH = 400
MAX_TASKS = 64  # processes and threads of one check
DISK_MB = 64  # files of one check
MAX_STRETCH = 3.0  # of a time limit, where others hold the cores: time that a program waits for one does not count


class SandboxError(RuntimeError):
    """No sandbox can be had: not Linux, nothing isolates here, or the server does not start."""

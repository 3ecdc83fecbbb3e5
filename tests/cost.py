"""What a piece of work costs in CPU time, measured so that a busy machine or a large heap around it does not tell."""

import gc
import time
from collections.abc import Callable


def cpu_s(work: Callable[[], object], tries: int = 1) -> float:
    """The least CPU seconds of this thread over so many tries, without the collector of garbage, whose time grows with
    what other tests left in memory."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        spent = []
        for _ in range(tries):
            start = time.thread_time()
            work()
            spent.append(time.thread_time() - start)
        return min(spent)
    finally:
        if was_on:
            gc.enable()

"""What a piece of work costs in CPU time, measured so that a busy machine or a large heap around it does not tell."""

import gc
import time
from collections.abc import Callable


def cpu_s(work: Callable[[], object]) -> float:
    """CPU seconds of this thread, without the collector of garbage, whose time grows with what other tests left in
    memory."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        start = time.thread_time()
        work()
        return time.thread_time() - start
    finally:
        if was_on:
            gc.enable()

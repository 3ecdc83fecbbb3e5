# SPDX-License-Identifier: Apache-2.0
"""In the box: the source is loaded and called here, everything from here on beside hostile code."""

import atexit
import json
import os
import sys
import time
import types
from typing import Any

from .limits import MAX_VALUE
from .values import JSON, TAGGED_JSON, NotPlain, encode

_FILE = "solution.py"
_TALK = 3
_QUICK_S = 0.02  # a module that loads faster is loaded anew for every call


def run_box(place, slot: int, talk: int, out: int, err: int | None = None) -> None:
    """Shut the door, read the request, run it. Never returns."""
    try:
        place.enter(slot)
        for source, target in ((place.null, 0), (out, 1), (place.null if err is None else err, 2), (talk, _TALK)):
            os.dup2(source, target)
        os.set_inheritable(_TALK, False)
        os.closerange(_TALK + 1, 1 << 20)
        request, _ = JSON.raw_decode(_receive())
        if request["kind"] == "program":
            _provide(request["stdin"].encode("utf-8", "surrogatepass"))
        place.filter()
        _send("started")
    except BaseException as error:
        _send("failed", f"the box could not be closed: {error!r}", talk=talk)
        os._exit(1)
    try:
        sys.argv[:] = [_FILE]
        if request["kind"] == "program":
            _run_program(request["source"])
        else:
            _run_calls(request["source"], request["entry_point"])
    finally:
        os._exit(1)


def _provide(stdin: bytes) -> None:
    """Standard input as a file, so that it can also be opened by name where there is a /dev of our own."""
    descriptor = os.open(".stdin", os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
    with open(descriptor, "wb", closefd=False) as file:
        file.write(stdin)
    os.lseek(descriptor, 0, os.SEEK_SET)
    os.dup2(descriptor, 0)
    os.close(descriptor)


def _receive() -> str:
    """The next message, in ASCII; the caller sends none before the last is answered."""
    data = bytearray()
    while len(data) < 4 or len(data) < 4 + int.from_bytes(data[:4], "little"):
        part = os.read(_TALK, 1 << 16)
        if not part:
            os._exit(1)
        data += part
    return data[4:].decode("ascii")


def _send(status: str, error: str = "", more: str = "", value: str = "", talk: int = _TALK) -> None:
    """`more` is JSON for the head, `value` what follows it."""
    error = json.dumps(error) if error else '""'
    payload = f'{{"status": "{status}", "error": {error}{more}}}\n{value}'.encode()
    rest = memoryview(len(payload).to_bytes(4, "little") + payload)
    while rest:
        rest = rest[os.write(talk, rest) :]


def _compiled(source: str) -> types.CodeType | None:
    """The code, or None after the caller was told what is wrong with it."""
    try:
        return compile(source.removeprefix("\ufeff"), _FILE, "exec", dont_inherit=True)
    except (SyntaxError, ValueError, RecursionError, MemoryError, OverflowError) as error:
        _send("syntax error", _described(error))
        return None


def _run_calls(source: str, entry_point: str) -> None:
    """Load, then answer calls until the caller has enough."""
    code, loader = _compiled(source), _Loader(source)
    if code is None:
        return
    start = time.monotonic()
    status, error, module = _attempt(lambda: _load(code, loader))
    if status == "ok" and _callable(module, entry_point) is None:
        status, error = "no function", f"the source defines no function {entry_point}"
    if status != "ok":
        _send(status, error)
        return
    keep = time.monotonic() - start > _QUICK_S or _left_something_running()
    _send("loaded")
    while True:
        token, _, arguments = _receive().partition("\n")
        arguments, _ = TAGGED_JSON.raw_decode(arguments)
        spent = time.process_time()
        status, error, value = _attempt(lambda: _answer(module or _load(code, loader), entry_point, arguments))  # noqa: B023
        if not keep:
            module = None
        _flush()
        cpu_s = time.process_time() - spent
        _send(status, error, f', "token": {token}, "cpu_s": {cpu_s!r}', value or "")


class _Loader:
    """Where tracebacks and `inspect` look for the source."""

    def __init__(self, source: str):
        self._source = source

    def get_source(self, _: str) -> str:
        return self._source


def _load(code: types.CodeType, loader: _Loader) -> types.ModuleType:
    module = _module("solution", loader)
    exec(code, module.__dict__)
    return module


def _module(name: str, loader: _Loader) -> types.ModuleType:
    module = sys.modules[name] = types.ModuleType(name)
    module.__file__ = _FILE
    vars(module)["__loader__"] = loader
    return module


def _callable(module: types.ModuleType, entry_point: str):
    """A function without arguments that gives the function to call; None if there is none."""
    owner, _, name = entry_point.rpartition(".")
    if not owner and not callable(module.__dict__.get(name)):
        owner = "Solution"
    if not owner:
        return lambda: module.__dict__[name]
    made = module.__dict__.get(owner)
    return (lambda: getattr(made(), name)) if callable(getattr(made, name, None)) else None


def _left_something_running() -> bool:
    """Whether loading started threads or processes: doing so for every call would add up."""
    try:
        os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
        return True
    except ChildProcessError:
        return "threading" in sys.modules and sys.modules["threading"].active_count() > 1


def _answer(module: types.ModuleType, entry_point: str, arguments: list) -> str:
    function = _callable(module, entry_point)()
    value = function(*arguments)
    if type(value) is types.CoroutineType:
        import asyncio

        value = asyncio.run(value)
    try:
        text = encode(value)
    except RecursionError:
        raise NotPlain("nested too deep") from None
    if len(text) > MAX_VALUE:
        raise NotPlain(f"larger than {MAX_VALUE} bytes")
    return text


def _attempt(work) -> tuple[str, str, Any]:
    """Status, error and result of something untrusted."""
    try:
        return "ok", "", work()
    except NotPlain as error:
        return "bad value", str(error), None
    except SystemExit as error:
        return "exited", f"sys.exit({error.code!r:.80})", None
    except MemoryError:
        return "memory limit", "MemoryError", None
    except BaseException as error:
        return "exception", _described(error), None


def _described(error: BaseException) -> str:
    """As in "ValueError: no such thing (line 3)"."""
    try:
        text = f"{type(error).__name__}: {error}"[:500].rstrip(": ")
        lines = [frame.tb_lineno for frame in _frames(error) if frame.tb_frame.f_code.co_filename == _FILE]
    except BaseException:
        return "an exception that cannot be printed"
    return f"{text} (line {lines[-1]})" if lines and not isinstance(error, SyntaxError) else text


def _frames(error: BaseException):
    frame = error.__traceback__
    while frame:
        yield frame
        frame = frame.tb_next


def _flush() -> None:
    for stream in (sys.stdout, sys.stderr):
        try:  # noqa: SIM105
            stream.flush()
        except BaseException:
            pass


def _run_program(source: str) -> None:
    """As the interpreter would run a file; the exit code says how it went."""
    code = _compiled(source)
    if code is None:
        return
    module = _module("__main__", _Loader(source))
    status = _ended(lambda: exec(code, module.__dict__))
    if "threading" in sys.modules:
        _ended(sys.modules["threading"]._shutdown)
    _ended(atexit._run_exitfuncs)
    _flush()
    os._exit(status)


def _ended(work) -> int:
    """The exit code; failures are told to the caller and printed on stderr."""
    try:
        work()
        return 0
    except SystemExit as error:
        if error.code is None or type(error.code) is int:
            return (error.code or 0) & 0xFF
        print(error.code, file=sys.stderr)
        return 1
    except BaseException as error:
        status = "memory limit" if isinstance(error, MemoryError) else "exception"
        _send(status, _described(error))
        ours = (frame for frame in _frames(error) if frame.tb_frame.f_code.co_filename == _FILE)
        import traceback

        traceback.print_exception(type(error), error, next(ours, None))
        return 1


def warm_up() -> None:
    """In the server: what every box does, so that memory is laid out for it."""
    source = "def double(x):\n    return 2 * x"
    module = _load(_compiled(source), _Loader(source))
    for _ in range(20):
        _attempt(lambda: _answer(module, "double", TAGGED_JSON.raw_decode("[21]")[0]))

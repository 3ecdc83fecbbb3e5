"""Boxes neither see nor burden one another, and leave nothing behind."""

import sys
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from sandbox_checks import outcome_of

from envs.code_sandbox import Sandbox

pytest_plugins = ("sandbox_fixtures",)
pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the sandbox needs Linux")


def test_boxes_do_not_see_each_other(sandbox):
    writer = (
        "import os, time\nopen('mine', 'w').write('secret')\nos.chmod('mine', 0o666)\n"
        "def solve(n):\n    time.sleep(1)\n    return os.getcwd()\n"
    )
    reader = (
        "import os, time\ndef solve(folder):\n    time.sleep(0.3)\n    seen = []\n"
        "    for path in ('mine', folder, '/tmp/mine', '..', '/tmp', '/dev/shm', '../0/mine', '../1/mine'):\n"
        "        try: seen.append(open(path).read())\n        except OSError: pass\n"
        "        try: seen += [name for name in os.listdir(path) if name == 'mine']\n        except OSError: pass\n"
        "    for pid in range(2, 70000):\n        if pid != os.getpid():\n            try: os.kill(pid, 9)\n"
        "            except OSError: pass\n    return seen\n"
    )
    with ThreadPoolExecutor(2) as pool:
        first = pool.submit(outcome_of, sandbox, writer)
        second = pool.submit(outcome_of, sandbox, reader, "['/tmp/mine']")
        assert first.result().status == "ok"
        assert second.result().value == []


def test_nothing_stays_from_one_check_to_the_next(sandbox):
    leave = "import os, tempfile\ndef solve(n):\n    open('left', 'w').write('x')\n    os.symlink('/', 'root')\n" + (
        "    os.makedirs('a/b')\n    tempfile.mkstemp()\n    import json\n    json.left = 1\n    return os.umask(0)\n"
    )
    look = "import os, json\ndef solve(n):\n    return [os.listdir('.'), hasattr(json, 'left'), os.umask(18)]\n"
    for _ in range(3):
        assert outcome_of(sandbox, leave).status == "ok"
        assert outcome_of(sandbox, look).value == [[], False, 0o22]


TRACES = {
    "file": "open('left', 'w').write('x')",
    "file_beside": "open('../left', 'w').write('x')",
    "folder": "os.makedirs('a/b')",
    "link": "os.symlink('/', 'root')",
    "moved": "os.rename(os.getcwd(), os.getcwd() + '-moved')",
    "replaced": "here = os.getcwd(); os.rmdir(here); os.mkdir(here)",
    "gone": "os.rmdir(os.getcwd())",
    "closed": "os.chmod('.', 0)",
    "opened": "os.chmod('..', 0o777)",
    "aged": "os.utime('.', (1, 1))",
    "unnamed": "os.open('.', os.O_TMPFILE | os.O_RDWR)",
    "made_and_removed": "open('left', 'w').close(); os.unlink('left')",
}


@pytest.mark.parametrize("name", TRACES)
def test_the_next_box_finds_its_folder_as_the_first_did(name, sandbox):
    """Folders serve one box after another, so whatever can be done to them has to be noticed."""
    look = (
        "import os\ndef solve(n):\n    about = os.stat('.')\n    open('new', 'w').write('x')\n"
        "    return [os.listdir('.'), os.listdir('..') if os.access('..', 4) else [], about.st_mode, about.st_uid,\n"
        "        about.st_nlink, about.st_mtime > 1]\n"
    )
    with Sandbox(level=sandbox.level) as fresh:
        first = outcome_of(fresh, look)
        for _ in range(fresh._slots + 1):
            left = f"import os\ntry:\n    {TRACES[name]}\nexcept OSError: pass\ndef solve(n): return n\n"
            assert outcome_of(fresh, left).status == "ok"
            assert outcome_of(fresh, look)[:3] == first[:3]
    assert first.status == "ok" and first.value[0] == ["new"]


def test_many_processes_of_one_box_are_held_while_others_wait(sandbox):
    """Boxes of one process are left to their own limit; one that has several is measured, whatever else there is."""
    hog = (
        "import os, time\ndef solve(n):\n    for _ in range(6):\n        if not os.fork():\n"
        "            held = bytearray(90 << 20)\n            time.sleep(5)\n            os._exit(0)\n"
        "    time.sleep(4)\n    return n\n"
    )
    with Sandbox(level=sandbox.level, memory_mb=128) as small, ThreadPoolExecutor(2) as pool:
        for _ in range(2):
            waiting = pool.submit(outcome_of, small, "import time\ndef solve(n): return time.sleep(2)", time_limit_s=10)
            time.sleep(0.2)
            assert pool.submit(outcome_of, small, hog, time_limit_s=10).result().status == "memory limit"
            assert waiting.result().status == "ok"


def test_a_box_is_not_made_dearer_by_what_few_programs_use(sandbox):
    """A module with a hook for forks, as threading, costs every check; so does a large one."""
    spared = ["threading", "socket", "traceback", "subprocess", "random", "asyncio", "inspect"]
    source = f"import sys\nfound = [name for name in {spared!r} if name in sys.modules]\ndef solve(n): return found"
    assert outcome_of(sandbox, source).value == []
    assert outcome_of(sandbox, "import threading\ndef solve(n): return threading.active_count()").value == 1

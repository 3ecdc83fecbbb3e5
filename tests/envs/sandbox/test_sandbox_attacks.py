"""Hostile programs do no harm and earn nothing, at every level that this machine offers, whoever runs them."""

import json
import os
import subprocess
import sys

import pytest
from sandbox_checks import DATA, LIMIT_S, RIGHT, SQUARES, passes, programs, run_script, same

from envs.code_sandbox import check

pytest_plugins = ("sandbox_fixtures",)
pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the sandbox needs Linux")


SUITE = DATA / "sandbox_attacks"
ATTACKS = programs("attacks")


def _suite() -> list[dict]:
    return [json.loads(line) for line in (SUITE / "attacks.jsonl").read_text().splitlines()]


def _literal(text: str) -> object:
    return eval(text, {"__builtins__": {"list": list, "range": range}})  # the suite writes long lists so


@pytest.mark.parametrize("case", _suite(), ids=lambda case: case["id"])
def test_shared_suite(case, sandbox, world, capfd, monkeypatch):
    if case["expect"] == "fail":
        monkeypatch.setattr(check, "MAX_STRETCH", 1)
    source = (SUITE / case["file"]).read_bytes().decode("utf-8", "surrogatepass")
    source = world.fill(source)
    with world:
        if case["kind"] == "stdio":
            ran = [sandbox.run_program(source, test["stdin"], time_limit_s=LIMIT_S) for test in case["tests"]]
            passed = all(r.status == "ok" and r.stdout == t["stdout"] for r, t in zip(ran, case["tests"]))
        else:
            tests = [(repr(_literal(test["args"])), _literal(test["expected"])) for test in case["tests"]]
            passed = passes(sandbox, source, tests, case["entry"])
    assert world.harms == {}
    busy = 1 if os.getloadavg()[0] < 2 * len(os.sched_getaffinity(0)) else 6  # then even making a box takes seconds
    assert world.elapsed < busy * (LIMIT_S * (3 if case["group"] == "benign" else 1) + 2)
    assert "FORGED_MARKER" not in capfd.readouterr().out
    assert case["expect"] == "any" or passed == (case["expect"] == "pass")


@pytest.mark.parametrize("name", ATTACKS)
def test_attacks(name, sandbox, world):
    source = world.fill(ATTACKS[name])
    with world:
        run = sandbox.run_function(source, "solve", [call for call, _ in SQUARES], time_limit_s=1.0)
    assert world.harms == {}
    assert "hunter2" not in repr(run)
    assert run.status != "sandbox" and all(outcome.status != "sandbox" for outcome in run.outcomes), run
    right = [outcome.status == "ok" and same(outcome.value, want) for outcome, (_, want) in zip(run.outcomes, SQUARES)]
    assert not all(right), run
    assert passes(sandbox, RIGHT), "the next check must not notice"


def _ordinary_python() -> str | None:
    """An interpreter that user 1234 can execute."""
    if os.getuid() != 0:
        return None
    for python in (sys.executable, "/usr/bin/python3", "/usr/local/bin/python3"):
        check = "import sys; sys.exit(sys.version_info < (3, 11))"
        try:
            done = subprocess.run([python, "-c", check], user=1234, group=1234, extra_groups=[], capture_output=True)
        except OSError:
            continue
        if done.returncode == 0:
            return python
    return None


@pytest.mark.skipif(_ordinary_python() is None, reason="needs root, to become somebody else, and a Python they can run")
def test_as_an_ordinary_user(tmp_path):
    canary = tmp_path / "canary"
    canary.write_text("alive")
    os.chown(canary, 1234, 1234)
    attacks = {
        name: source.replace("@CANARY@", str(canary)).replace("@SCRATCH@", "/nowhere").replace("@PORT@", "1")
        for name, source in ATTACKS.items()
        if name.startswith(("write", "kill", "fork", "daemon", "forge", "memory_children", "disk", "network_abstract"))
    }
    (tmp_path / "attacks.json").write_text(json.dumps(attacks))
    body = f"""
try:
    sandbox = Sandbox(level="namespaces")
except Exception as error:
    print(json.dumps(str(error)))
    sys.exit()
found = {{}}
for name, source in json.load(open({str(tmp_path / "attacks.json")!r})).items():
    run = sandbox.run_function(source, "solve", ["[3]", "[5]", "[10]"], time_limit_s=1)
    found[name] = [run.status, [outcome.value for outcome in run.outcomes]]
run = sandbox.run_function({RIGHT!r}, "solve", ["[3]", "[5]", "[10]"])
found["right"] = [run.status, [outcome.value for outcome in run.outcomes]]
print(json.dumps(found), flush=True)
print(json.dumps([line for line in os.popen("ps -o pid,args -u 1234") if "sleep" in line]))
"""
    for parent in (tmp_path, *tmp_path.parents[:3]):
        parent.chmod(parent.stat().st_mode | 0o055)
    python = _ordinary_python()
    done = run_script(tmp_path, body, python=python, user=1234, group=1234, extra_groups=[], cwd="/tmp", env={})
    lines = [json.loads(line) for line in done.communicate()[0].splitlines()]
    if isinstance(lines[0], str):
        pytest.skip(f"no user namespaces here: {lines[0]}")
    found = lines[0]
    assert found.pop("right") == ["ok", [14, 55, 385]]
    assert [name for name, (_, values) in found.items() if values == [14, 55, 385]] == []
    assert [name for name, (status, _) in found.items() if status == "sandbox"] == []
    assert canary.read_text() == "alive"

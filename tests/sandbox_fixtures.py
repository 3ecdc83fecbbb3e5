"""Fixtures of the sandbox's tests, which name this module in `pytest_plugins`."""

import pytest
from sandbox_checks import sandbox_at
from sandbox_world import World


@pytest.fixture(scope="module", params=["namespaces", "landlock"])
def sandbox(request):
    with sandbox_at(request.param) as made:
        yield made


@pytest.fixture
def world(sandbox, tmp_path, monkeypatch):
    monkeypatch.setenv("SECRET_TOKEN", "hunter2-from-environ")
    for parent in tmp_path.parents[:3]:
        parent.chmod(parent.stat().st_mode | 0o011)
    return World(tmp_path, sandbox)

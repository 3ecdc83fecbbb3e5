"""The servers that the tests of a file share."""

import pytest
from serving import SMALL, Servers


@pytest.fixture(scope="module")
def servers():
    started = Servers()
    yield started
    for _, process in started.running.values():
        process.terminate()
    for _, process in started.running.values():
        assert process.wait(10) in (0, -15)
        process.stdout.close()


@pytest.fixture(scope="module")
def office(servers) -> str:
    return servers("workplace")


@pytest.fixture(scope="module")
def small(servers) -> str:
    return servers("small", "-c", SMALL, "100", "3600")

"""CPU time of an episode in process and over HTTP, waiting times with many sessions, memory, and the start.

    python tests/bench/server.py

A one-tool episode of the workplace by a scripted model: begin a session, one tool call, a verdict. CPU time is that of
server and client together. The sessions open at once belong to models that think for a while before each step.
"""

import argparse
import asyncio
import json
import platform
import random
import subprocess
import sys
import time
from pathlib import Path
from statistics import median
from urllib.parse import urlsplit

import psutil

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from envs import workplace_env as workplace
from helpers.episodes.nemo_gym import gym_rows
from helpers.episodes.responses import to_items
from helpers.serve.remote import RemoteEnv

ROOT = Path(__file__).resolve().parents[2]
TARGETS = {  # ms, but for the memory
    "episode in process, CPU": 1.0,
    "episode over HTTP, CPU": 10.0,
    "sessions at once, p95": 200.0,
    "start, CPU": 2000.0,
    "memory grown, MB": 10.0,
}


def scripts(n: int = 40) -> list[tuple[dict, str, dict, list[dict]]]:
    """Row, the one tool called, its arguments, and the response."""
    made = []
    for row in workplace.make_rows(n, seed=0, difficulty=None):
        calls = [call["function"] for message in workplace.answer(row) for call in message.get("tool_calls") or []]
        name, arguments = calls[0]["name"], calls[0]["arguments"]
        arguments = json.loads(arguments) if isinstance(arguments, str) else arguments
        function = {"name": name, "arguments": json.dumps(arguments)}
        said = [{"role": "assistant", "content": "", "tool_calls": [{"type": "function", "id": "1",
                                                                     "function": function}]}]  # fmt: skip
        made.append((row, name, arguments, said))
    return made


def in_process(n: int) -> float:
    """CPU milliseconds of an episode."""
    steps = scripts()
    spent = []
    for _ in range(7):
        start = time.process_time()
        for i in range(n):
            row, name, arguments, said = steps[i % len(steps)]
            env = workplace.WorkplaceEnv()
            env.reset(**row)
            getattr(env, name)(**arguments)
            workplace.score(said, row)
        spent.append(1000 * (time.process_time() - start) / n)
    return median(spent)


class Server:
    """The workplace's server in a process of its own."""

    def __init__(self):
        began = time.perf_counter()
        command = [sys.executable, "-m", "helpers.serve.server", "workplace", "--port", "0"]
        self.process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)
        self.url = self.process.stdout.readline().split(": ", 1)[1].split(",")[0]
        RemoteEnv(self.url)  # waits until it answers
        self.watched = psutil.Process(self.process.pid)
        print(f"the server answered {1000 * (time.perf_counter() - began):.0f} ms after it was started")

    def cpu(self) -> float:
        """CPU seconds so far."""
        times = self.watched.cpu_times()
        return times.user + times.system

    def memory(self) -> float:
        """Resident megabytes."""
        return self.watched.memory_info().rss / 2**20

    def stop(self) -> None:
        self.process.terminate()
        self.process.wait()


def over_http(server: Server, n: int) -> tuple[float, float]:
    """CPU milliseconds of an episode: the server's and the client's."""
    steps = scripts()
    remote = RemoteEnv(server.url, gym_rows(workplace, [row for row, *_ in steps]))
    before, start = server.cpu(), time.process_time()
    for i in range(n):
        _, name, arguments, _ = steps[i % len(steps)]
        env = remote.ENV()
        env.reset(**remote.rows[i % len(steps)])
        getattr(env, name)(**arguments)
        env.get_reward()
    return 1000 * (server.cpu() - before) / n, 1000 * (time.process_time() - start) / n


async def waiting(url: str, at_once: int, episodes: int, think: float) -> list[float]:
    """Milliseconds that each request took, sorted.

    Args:
        url: Of the server.
        at_once: Sessions open side by side, each on a connection of its own.
        episodes: Of each session, one after another.
        think: Mean time that a model thinks before a request, in seconds; 0 sends all at the same moment.
    """
    address = urlsplit(url)
    bodies = []
    for row, name, arguments, said in scripts():
        (body,) = gym_rows(workplace, [row])
        verify = {**body, "response": {"output": to_items(said)}}
        steps = [("seed_session", body), (name, arguments), ("verify", verify)]
        bodies.append([(path, json.dumps(content).encode()) for path, content in steps])
    spent: list[float] = []
    ready = asyncio.Barrier(at_once)

    async def session(i: int) -> None:
        reader, writer = await asyncio.open_connection(address.hostname, address.port)
        await ready.wait()
        rng = random.Random(i)
        for episode in range(episodes):
            cookie = b""
            for path, body in bodies[(i + episode) % len(bodies)]:
                await asyncio.sleep(think * 2 * rng.random())
                began = time.perf_counter()
                head = f"POST /{path} HTTP/1.1\r\nHost: bench\r\nContent-Length: {len(body)}\r\n"
                writer.write(head.encode() + cookie + b"\r\n" + body)
                reply = await reader.readuntil(b"\r\n\r\n")
                await reader.readexactly(int(reply.split(b"content-length: ")[1].split(b"\r\n")[0]))
                spent.append(1000 * (time.perf_counter() - began))
                assert reply.startswith(b"HTTP/1.1 200 "), reply
                cookie = b"Cookie: " + reply.split(b"set-cookie: ")[1].split(b";")[0] + b"\r\n"
        writer.close()

    await asyncio.gather(*(session(i) for i in range(at_once)))
    return sorted(spent)


def tell(what: str, spent: list[float]) -> float:
    """Print quantiles; the 95th percentile."""
    p50, p95 = spent[len(spent) // 2], spent[int(0.95 * len(spent))]
    print(f"{what}: {len(spent)} requests, p50 {p50:.1f} ms, p95 {p95:.1f} ms, longest {spent[-1]:.1f} ms")
    return p95


def main() -> None:
    """Print what was measured and leave with 1 if a target is missed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--n", type=int, default=1000, help="episodes for the CPU times")
    parser.add_argument("--at-once", type=int, default=1000, help="sessions open at once")
    parser.add_argument("--think", type=float, default=2.0, help="mean seconds that a model thinks before a request")
    parser.add_argument("--episodes", type=int, default=20_000, help="episodes for the memory")
    options = parser.parse_args()
    load = psutil.getloadavg()[0]
    print(f"Python {platform.python_version()}, {psutil.cpu_count()} cores, load {load:.1f} when it began")
    found = {"episode in process, CPU": in_process(options.n)}
    server = Server()
    try:
        found["start, CPU"] = 1000 * server.cpu()
        over_http(server, 100)
        there, here = over_http(server, options.n)
        print(f"over HTTP: {there:.2f} ms of the server and {here:.2f} ms of the client")
        found["episode over HTTP, CPU"] = there + here
        open_at_once = asyncio.run(waiting(server.url, options.at_once, 2, options.think))
        found["sessions at once, p95"] = tell(
            f"{options.at_once} sessions, {options.think:g} s of thought", open_at_once
        )
        tell(
            f"{options.at_once} sessions, all at the same moment",
            asyncio.run(waiting(server.url, options.at_once, 1, 0)),
        )
        before, cpu = server.memory(), server.cpu()
        asyncio.run(waiting(server.url, 50, options.episodes // 50, 0))
        found["memory grown, MB"] = server.memory() - before
        print(f"{options.episodes} more episodes: {before:.0f} MB before, {server.memory():.0f} MB after, "
              f"{1000 * (server.cpu() - cpu) / options.episodes:.2f} ms of the server each")  # fmt: skip
    finally:
        server.stop()
    for what, target in TARGETS.items():
        print(f"{what:26} {found[what]:8.3f}   target {target:g}")
    sys.exit(any(found[what] > target for what, target in TARGETS.items()))


if __name__ == "__main__":
    main()

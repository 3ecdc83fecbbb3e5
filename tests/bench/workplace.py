"""CPU time of the workplace: beginning a session, verifying, searching, making rows; and the memory of a session.

    python tests/bench/workplace.py --n 2000

Needs only envs/. A five-action task is verified from chat messages, once for a task seen before (as for the other
completions of a group) and once for a new one, whose ground truth has to be carried out too.
"""

import argparse
import json
import platform
import sys
import tracemalloc
from pathlib import Path
from statistics import median
from time import process_time

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from envs import workplace_env as workplace
from envs.workplace_env import office

TARGETS = {
    "begin a session": 0.05,
    "begin a session, new task": 0.05,
    "verify, known task": 0.5,
    "verify, new task": 0.5,
    "search e-mails": 1.0,
    "search e-mails after writes": 1.0,
    "search events": 1.0,
    "search customers": 1.0,
}


def timed(work, n: int, repeats: int = 7) -> float:
    """Milliseconds of CPU time for one of `n` calls, the median of several rounds."""
    spent = []
    for _ in range(repeats):
        start = process_time()
        for i in range(n):
            work(i)
        spent.append(1000 * (process_time() - start) / n)
    return median(spent)


def measure(n: int) -> dict[str, float]:
    """Milliseconds by what was measured."""
    rows = workplace.make_rows(40, seed=0, steps=5, difficulty=None)
    golden = [workplace.answer(row) for row in rows]
    fresh = iter(range(10**9))

    def new_task(i: int) -> None:
        fields = json.loads(rows[i % 40]["task"]) | {"query": str(next(fresh))}
        workplace.score(golden[i % 40], {"task": json.dumps(fields)})

    def decode(i: int) -> None:  # what of `new_task` is not verification
        json.dumps(json.loads(rows[i % 40]["task"]) | {"query": str(next(fresh))})

    def begin_new(i: int) -> None:
        workplace.WorkplaceEnv().reset(prompt=True, task=f"{rows[i % 40]['task']}{' ' * (next(fresh) % 10_007)}")

    env = workplace.WorkplaceEnv()
    env.reset(task=workplace.make_rows(1, all_tools=True)[0]["task"])
    written = workplace.WorkplaceEnv()
    written.reset(task=workplace.make_rows(1, all_tools=True)[0]["task"])
    for i in range(5):
        written.email_send_email(recipient="a@b.example", subject=str(i), body="x")
        written.email_delete_email(email_id=f"{i:08d}")
    search = {"query": "progress page", "date_min": "2024-07-15"}
    return {
        "begin a session": timed(lambda i: workplace.WorkplaceEnv().reset(**rows[i % 40]), n),
        "begin a session, new task": timed(begin_new, n),
        "verify, known task": timed(lambda i: workplace.score(golden[i % 40], rows[i % 40]), n // 4),
        "verify, new task": timed(new_task, n // 4) - timed(decode, n // 4),
        "search e-mails": timed(lambda i: env.email_search_emails(**search), n // 4),
        "search e-mails after writes": timed(lambda i: written.email_search_emails(**search), n // 4),
        "search events": timed(
            lambda i: env.calendar_search_events(query="ada", time_min="2024-09-11 00:00:00"), n // 4
        ),
        "search customers": timed(
            lambda i: env.customer_relationship_manager_search_customers(status="lead", follow_up_by_min="2024-09-01"),
            n // 4,
        ),
        "make a row": timed(lambda i: workplace.make_rows(50, seed=i, difficulty=None), 3) / 50,
    }


def memory(n: int) -> float:
    """Bytes of a session after the five actions of its task, with `n` of them open."""
    rows = workplace.make_rows(40, seed=0, steps=5, difficulty=None)
    golden = [office.goal_of(row["task"], workplace.company()) for row in rows]
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    envs = []
    for i in range(n):
        env = workplace.WorkplaceEnv()
        env.reset(**rows[i % 40])
        for name, *values in golden[i % 40].path:
            getattr(env, name)(*values)
        env.get_reward()
        envs.append(env)
    spent = tracemalloc.get_traced_memory()[0] - before
    tracemalloc.stop()
    return spent / n


def main() -> None:
    """Print a table and leave with 1 if a target is missed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--n", type=int, default=2000, help="sessions to begin; searches and verdicts take a quarter")
    parser.add_argument("--sessions", type=int, default=10_000, help="sessions open at once for the memory")
    options = parser.parse_args()
    missed = 0
    start = process_time()
    workplace.company()
    print(f"Python {platform.python_version()}, {platform.machine()}; the company took "
          f"{1000 * (process_time() - start):.0f} ms to make")  # fmt: skip
    for what, spent in measure(options.n).items():
        target = TARGETS.get(what)
        missed += target is not None and spent > target
        print(f"{what:30} {spent:8.4f} ms" + (f"   target {target} ms" if target else ""))
    size = memory(options.sessions)
    missed += size > 20_000
    print(f"{'memory of a session':30} {size:8.0f} B    target 20000 B, {options.sessions} open at once")
    sys.exit(missed > 0)


if __name__ == "__main__":
    main()

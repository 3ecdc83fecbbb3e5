"""Tests made in the sandbox for problems that a model wrote, and the inputs drawn for them."""

import json
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers.tasks import gates, program_tests, synthesis
from helpers.tasks.problem_schema import Parameter, Problem, fits
from helpers.tasks.scripted_writer import FAULTY, GOOD, KNOWN, NUMBERS, SCRIPT, ScriptedWriter, _problem

# --- inputs ---

KINDS = st.sampled_from(
    [
        "int",
        "float",
        "bool",
        "str",
        "list[int]",
        "list[str]",
        "list[list[int]]",
        "dict[str,int]",
        "dict[str,list[float]]",
    ]
)


@settings(max_examples=120, deadline=None)
@given(KINDS, st.integers(-50, 50), st.integers(0, 60), st.integers(0, 6), st.integers(0, 6), st.integers(0, 10**6))
def test_inputs_have_the_types_and_keep_the_bounds(kind, low, span, shortest, more, seed):
    p = Parameter(name="x", type=kind, low=low, high=low + span, min_length=shortest,
                            max_length=shortest + more, alphabet="abc")  # fmt: skip
    rng = Random(seed)
    values = [program_tests._draw(p, rng) for _ in range(5)]
    values += program_tests._edges(p, rng) + [program_tests._changed(value, p, rng) for value in values]
    for value in values:
        assert fits(value, kind), value
        if isinstance(value, list | str):
            assert shortest <= len(value) <= shortest + more
        flat = [value]
        while flat:
            item = flat.pop()
            flat += item if isinstance(item, list) else item.values() if isinstance(item, dict) else ()
            if isinstance(item, int | float) and not isinstance(item, bool):
                assert low <= item <= low + span
            if isinstance(item, str):
                assert set(item) <= set("abc")


def test_the_same_problem_has_the_same_inputs_with_boundaries_and_no_repeats():
    problem = Problem.model_validate(GOOD[0])
    made = program_tests.inputs(problem)
    assert made == program_tests.inputs(problem) and [[]] in made and [[-9]] in made and [[20]] in made
    assert len({repr(arguments) for arguments in made}) == len(made) > 20


# --- making tests ---


def draft(problem, request=0):
    return {
        "request": request,
        "topic": "lists",
        "level": "easy",
        "problem": problem,
        "fault": "",
        "calls": 1,
        "usage": {},
    }


def fate(problem):
    made, fell = synthesis.build([draft(problem)], quiet=True)
    return (fell[0]["gate"], fell[0]["reason"]) if fell else ("row", made[0])


@pytest.fixture(scope="module")
def road(tmp_path_factory):
    """The scripted writer's problems through the whole road, once."""
    code = pytest.importorskip("envs.code_env")
    out = tmp_path_factory.mktemp("road")
    drafts = synthesis.write(ScriptedWriter(), len(SCRIPT), name="scripted", quiet=True)
    made, fell = synthesis.build(drafts, out=out / "built.jsonl", quiet=True)
    return code, out, drafts, made, gates.sift(code, made, fallen=fell, benchmark=[KNOWN])


def test_every_scripted_fault_falls_at_its_gate_and_every_good_problem_stays(road):
    *_, sifted = road
    fallen = {gate: len(entries) for gate, entries in sifted.by_gate().items()}
    assert fallen == dict.fromkeys(FAULTY, 1) | {"unusable reply": 1}
    assert len(sifted.kept) == len(GOOD) and sifted.table["made"] == len(SCRIPT)


def test_rows_of_written_problems_are_rows_of_the_code_environment(road):
    code, *_, sifted = road
    for one in sifted.kept:
        task = json.loads(one["task"])
        assert set(one) == {"prompt", "environment", "task_id", "task"} and one["environment"] == "code"
        assert program_tests.FEWEST <= len(task["tests"]) <= program_tests.TESTS
        assert not {t["args"] for t in task["tests"]} & {t["args"] for t in task["examples"]}
        assert code.score(f"```python\n{task['solution']}\n```", one).reward == 1.0
        assert code.score(code.answer(one), one).reward == 1.0
        hidden = {t["args"] for t in task["tests"]}
        assert not any(f"{task['entry_point']}({args[1:-1]}) ==" in gates.asked(one) for args in hidden)


def test_the_same_drafts_give_the_same_rows_and_a_second_call_runs_nothing(road, monkeypatch):
    _, out, drafts, made, _ = road
    assert synthesis.build(drafts[:3], quiet=True)[0] == made[:3]
    monkeypatch.setattr(program_tests, "_tests", lambda *_: pytest.fail("ran again"))
    assert synthesis.build(drafts, out=out / "built.jsonl", quiet=True)[0] == made


LIST = [NUMBERS]


@pytest.mark.parametrize(
    "solution, more, gate, says",
    [
        ("def solve(xs):\n    return sum(xs", {}, "does not run", "syntax error"),
        ("def other(xs):\n    return sum(xs)", {}, "does not run", "no function"),
        ("def solve(xs):\n    return xs[0]", {}, "wrong example", "returns 1, not 3"),
        ("def solve(xs):\n    while True:\n        pass", {}, "does not run", "time limit"),
        ("import os\ndef solve(xs):\n    os._exit(0)", {}, "does not run", "exited"),
        ("def solve(xs):\n    return sum(xs) if len(xs) == 2 else 1 // 0", {}, "does not run", "inputs: exception"),
        ("import time\ndef solve(xs):\n    return sum(xs) if xs == [1, 2] else time.time_ns()", {}, "flaky", "then"),
        ("def solve(xs):\n    return 3 if xs == [1, 2] else hash(str(xs))", {}, "flaky", "then"),
        ("def solve(xs):\n    return (sum(xs),)", {}, "result not plain", "tuple"),
        ("def solve(xs):\n    raise ValueError(chr(0xd800))", {}, "does not run", "ValueError"),
        ("def solve(xs):\n    return sum(xs)", {"precondition": "len(xs) > 5"}, "wrong example", "breaks"),
        ("def solve(xs):\n    return sum(xs)", {"precondition": "len(xs"}, "does not run", "precondition"),
        ("def solve(xs):\n    return sum(xs)", {"precondition": "xs == [1, 2]"}, "too few tests", "only 0"),
        ("def solve(xs):\n    return sum(xs)", {"precondition": "len(xs) > 1"}, "row", ""),
    ],
)
def test_what_is_wrong_with_a_solution_is_told(solution, more, gate, says):
    found, why = fate(
        _problem("Return the sum of the list xs, whatever it holds.", LIST, [([[1, 2]], 3)], solution, **more)
    )
    assert found == gate and (gate == "row" or says in why), why


def test_a_precondition_keeps_inputs_out_of_the_tests():
    problem = _problem("Return how often the sum of xs fits into k, rounded down to a whole number.",
                       [{"name": "k", "type": "int", "low": -5, "high": 50}, NUMBERS], [([9, [1, 2]], 3)],
                       "def solve(k, xs):\n    return k // sum(xs)", precondition="k > 0 and sum(xs) > 0")  # fmt: skip
    kind, made = fate(problem)
    assert kind == "row"
    for test in json.loads(made["task"])["tests"]:
        k, xs = json.loads(test["args"])
        assert k > 0 and sum(xs) > 0 and json.loads(test["expected"]) == k // sum(xs)


def test_results_with_fractions_are_compared_with_a_tolerance():
    kinds = {}
    for result, solution in ((1.5, "sum(xs) / 2"), (1, "sum(xs) // 2")):
        made = fate(_problem("Return half of the sum of the list.", LIST, [([[1, 2]], result)],
                             f"def solve(xs):\n    return {solution}"))[1]  # fmt: skip
        kinds[type(result)] = json.loads(made["task"])["comparison"]
    assert kinds == {float: "approx", int: "eq"}


@pytest.mark.parametrize("place", ["solution", "precondition", "statement"])
def test_nothing_that_a_model_wrote_runs_out_here(place, tmp_path):
    canary = tmp_path / "canary"
    harm = f"__import__('pathlib').Path({str(canary)!r}).write_text('x')"
    problem = _problem(
        "Return the sum of the list of numbers.", LIST, [([[1, 2]], 3)], "def solve(xs):\n    return sum(xs)"
    )
    problem |= {
        "solution": {"solution": f"{harm}\ndef solve(xs):\n    return sum(xs)"},
        "precondition": {"precondition": f"{harm} or True"},
        "statement": {"statement": "{" + harm + "} %s {0} return the sum"},
    }[place]
    fate(problem)
    assert not canary.exists()


def test_a_killed_build_goes_on_where_it_stopped(tmp_path, monkeypatch):
    out, real, ran = tmp_path / "built.jsonl", program_tests._built, []

    def counted(one, first, second):
        ran.append(one["request"])
        if len(ran) == 3 and not out.exists():
            raise KeyboardInterrupt
        return real(one, first, second)

    monkeypatch.setattr(program_tests, "_built", counted)
    drafts = [draft(GOOD[0] | {"statement": GOOD[0]["statement"] + f" Variant {i}."}, i) for i in range(4)]
    synthesis.build(drafts[:2], out=out, quiet=True)
    made, _ = synthesis.build(drafts, out=out, quiet=True)
    assert ran == [0, 1, 2, 3] and len(made) == 4 and len(out.read_text().splitlines()) == 4

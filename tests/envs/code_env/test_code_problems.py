"""The problems that are drawn."""

import pytest
from code_rows import FAIL, PASS

from envs import code_env
from envs.code_env import answer, make_rows, problems, score
from envs.code_env.problems.solutions import load_solution
from helpers.measure.contract import check_env
from helpers.measure.reward_profile import stress_set

LEVELS = [(d, k) for d in problems.DIFFICULTIES for k in problems.KINDS]


@pytest.mark.parametrize("difficulty, form", LEVELS)
def test_references_pass_and_other_answers_fail_in_the_sandbox(difficulty, form):
    rows = make_rows(6, seed=11, difficulty=difficulty, kind=form)
    for made in rows:
        verdict = score(answer(made), made)
        assert verdict.reward == PASS, (made["prompt"], answer(made), verdict.reason)
    for name, completions in stress_set(code_env, rows).items():
        assert not any(score(text, made).reward for text, made in zip(completions, rows)), name


TRIVIAL = (
    "pass",
    "return 0",
    "return 1",
    "return ''",
    "return []",
    "return {}",
    "return True",
    "return False",
    "return a[0]",
)


def test_trivial_functions_fail_in_the_sandbox():
    for made in make_rows(8, seed=12):
        for body in TRIVIAL:
            assert score(f"def f(*a): {body}", made).reward == FAIL, (body, made["prompt"])


@pytest.mark.parametrize("difficulty, form", LEVELS)
def test_every_problem_is_proved(difficulty, form):
    for problem in problems.draw(25, seed=2, difficulty=difficulty, kind=form):
        assert problem.proof.killed >= 3 and problem.proof.mutants >= problem.proof.killed
        assert len(problem.proof.trivial) >= 8
        shown, hidden = ([repr(given) for given, _ in part] for part in (problem.examples, problem.tests))
        assert not set(shown) & set(hidden) and len(set(hidden)) == len(hidden) >= 8
        call = load_solution(problem.solution, form, problem.entry_point)
        assert all(call(given) == expected for given, expected in (*problem.examples, *problem.tests))


def test_there_are_thousands_of_different_problems_and_splits_share_none():
    """No function stands in two splits, at any level, whatever the wording; each draw gives different ones."""
    owner: dict[str, str] = {}
    compositions: dict[tuple, str] = {}
    wanted = {"easy": (1400, 150, 150), "medium": (2900, 150, 150), "hard": (250, 30, 30)}
    for difficulty, counts in wanted.items():
        for split, n in zip(problems.SPLITS, counts):
            drawn = problems.draw(n, seed=3, split=split, difficulty=difficulty)
            assert len({problem.fingerprint for problem in drawn}) == n
            for problem in drawn:
                assert owner.setdefault(problem.fingerprint, split) == split, problem.blocks
                takes = problems.BLOCKS[problem.blocks[0]].takes
                assert compositions.setdefault((takes, *sorted(problem.blocks)), split) == split
    assert len(owner) >= 5000


def test_splits_are_the_same_for_every_kind():
    """A program and a function of one composition are never on two sides."""
    where = {}
    for form in problems.KINDS:
        for split in problems.SPLITS:
            for problem in problems.draw(60, seed=9, split=split, kind=form):
                assert where.setdefault(problem.fingerprint, split) == split


def test_easy_prompts_are_short_and_their_solutions_one_line():
    rows = make_rows(150, seed=1)
    assert max(len(made["prompt"][0]["content"].split()) for made in rows) < 60
    assert all("\n" not in answer(made) and answer(made).startswith("def f(") for made in rows)
    assert len({made["prompt"][0]["content"] for made in rows}) == 150


def test_an_easy_composition_has_one_wording_and_others_several():
    def first_words(difficulty):
        return {made["prompt"][0]["content"].split()[0] for made in make_rows(60, seed=6, difficulty=difficulty)}

    assert first_words("easy") == {"Write"}
    assert len(first_words("medium")) >= 3


def test_all_topics_are_drawn():
    names = {name for d in ("medium", "hard") for p in problems.draw(150, seed=8, difficulty=d) for name in p.blocks}
    types = {problems.BLOCKS[name].takes for name in names}
    assert types == {"ints", "strs", "str", "int", "dict", "date", "dates", "moves"}
    assert names & {"account", "tank", "stack", "circle", "walk", "fenced", "collatz"}


def test_tools_rows_ask_for_the_tools():
    made = make_rows(1, seed=1, tools=True)[0]
    assert "submit tool" in made["prompt"][0]["content"]
    said = answer(made)
    assert [m["tool_calls"][0]["function"]["name"] for m in said if m.get("tool_calls")] == ["run", "submit"]
    assert score(said, made).reward == 1.0


@pytest.mark.parametrize(
    "arguments, message",
    [
        ({"n": -1}, "n must be a whole number"),
        ({"n": True}, "n must be a whole number"),
        ({"n": 1, "split": "dev"}, "split must be one of train, validation, test"),
        ({"n": 1, "difficulty": "trivial"}, "difficulty must be one of easy, medium, hard"),
        ({"n": 1, "kind": "method"}, "kind must be one of function, program, class"),
        ({"n": 100_000, "split": "validation"}, "found only .* of 100000 easy problems"),
    ],
)
def test_bad_arguments_are_named(arguments, message):
    with pytest.raises(ValueError, match=message):
        make_rows(**arguments)


def test_built_in_blocks_are_sound():
    for block in problems.BLOCKS.values():
        assert len(block.says) >= 2 and len(set(block.says)) == len(block.says), block.name
        assert ("{k}" in block.code) == bool(block.values), block.name
        assert block.level or ("{y}" not in block.code and block.code.count("{x}") == 1), block.name
        for say in block.says:
            assert ("{k}" in say) == bool(block.values) and "{x}" not in say, block.name


@pytest.mark.parametrize(
    "knobs", [{"tools": True}, {"kind": "program", "difficulty": "medium"}, {"kind": "class", "difficulty": "hard"}]
)
def test_rows_of_other_kinds_keep_the_contract(knobs):
    check_env(code_env, n=4, **knobs)

"""Several environments in one run: shares are kept, every answer is paid by its own environment."""

import json
from collections import Counter
from fractions import Fraction
from types import SimpleNamespace

import pytest

from envs import load
from helpers.tasks import mixing

A, B, C = "a", "b", "c"


def rows(**counts):
    return {name: [{"environment": name, "task_id": f"{name}{i}"} for i in range(n)] for name, n in counts.items()}


def drawn(mixed):
    return Counter(row["environment"] for row in mixed)


# --- shares and turns ---


def test_shares_are_equal_or_as_weighted():
    assert mixing.shares("a, b,c") == {A: Fraction(1, 3), B: Fraction(1, 3), C: Fraction(1, 3)}
    assert mixing.shares("a,b,c", "2,1,1") == {A: Fraction(1, 2), B: Fraction(1, 4), C: Fraction(1, 4)}
    assert mixing.shares("a,b", "0.5, 1.5") == {A: Fraction(1, 4), B: Fraction(3, 4)}


@pytest.mark.parametrize(
    "environments, weights, says",
    [
        ("a,b", "1", "1 numbers for 2 environments"),
        ("a,b", "1,x", "must be numbers"),
        ("a,b", "", "1 numbers for 2"),
        ("a,b", "1,1/0", "must be numbers"),
        ("a,b", "1,0", "every weight must be above 0"),
        ("a,b", "1,-2", "every weight must be above 0"),
        ("a,b", "1,nan", "must be numbers"),
        ("a,b", "1,inf", "must be numbers"),
        ("a,b,a", None, "'a' is named twice"),
        ("a", None, "names one environment"),
    ],
)
def test_wrong_weights_are_refused(environments, weights, says):
    with pytest.raises(ValueError, match=says):
        mixing.shares(environments, weights)


@pytest.mark.parametrize("weights", ["1,1,1", "2,1,1", "3,2,2", "0.2,0.5,0.3", "10,1,1", "1,1,7"])
def test_every_stretch_of_the_rows_holds_the_shares(weights):
    parts = mixing.shares("a,b,c", weights)
    mixed = mixing.interleave(rows(a=500, b=500, c=500), parts, 420)
    for size in (1, 7, 24, 60, 420):
        for start in range(0, 420 - size + 1, 5):
            found = drawn(mixed[start : start + size])
            assert all(abs(found[name] - part * size) < 2 for name, part in parts.items()), (size, start)
    for end in range(1, 421):  # from the start, to within one row
        assert all(abs(drawn(mixed[:end])[name] - part * end) < 1 for name, part in parts.items()), end


def test_the_whole_holds_the_shares_exactly_and_nothing_is_left_to_chance():
    parts = mixing.shares("a,b,c", "2,1,1")
    mixed = mixing.interleave(rows(a=8, b=4, c=4), parts, 16)
    assert drawn(mixed) == {A: 8, B: 4, C: 4}
    assert mixed == mixing.interleave(rows(a=8, b=4, c=4), parts, 16)
    for name in parts:  # each environment's rows keep their order, none comes twice
        assert [row["task_id"] for row in mixed if row["environment"] == name] == [
            f"{name}{i}" for i in range(drawn(mixed)[name])
        ]


def test_too_few_rows_are_refused_with_the_number_wanted():
    with pytest.raises(ValueError, match="b has 3 rows, its part of 16 is 4"):
        mixing.interleave(rows(a=9, b=3, c=9), mixing.shares("a,b,c", "2,1,1"), 16)


# --- rewards ---


def tell(name, paid):
    """An environment that pays a fixed reward and remembers the columns it saw."""
    seen = []

    def reward(completions, task, **columns):
        seen.append({"completions": completions, "task": task} | columns)
        return [paid] * len(completions)

    return SimpleNamespace(reward=reward, seen=seen)


def test_each_answer_is_paid_by_its_own_environment_with_its_own_columns():
    first, second = tell(A, 1.0), tell(B, 0.5)
    reward = mixing.dispatch({A: first, B: second}, group_size=2)
    names = [A, A, B, B, A, A]
    paid = reward(
        completions=list("uvwxyz"), environment=names, task=[f"t{i}" for i in range(6)], prompts=list("UVWXYZ"),
        trainer_state="state",
    )  # fmt: skip
    assert paid == [1.0, 1.0, 0.5, 0.5, 1.0, 1.0]
    assert first.seen[0]["completions"] == ["u", "v", "y", "z"] and first.seen[0]["task"] == ["t0", "t1", "t4", "t5"]
    assert second.seen[0]["prompts"] == ["W", "X"] and second.seen[0]["environment"] == [B, B]
    assert second.seen[0]["trainer_state"] == "state"


def test_an_answer_that_could_not_be_judged_stays_none_and_is_counted():
    logged = {}
    reward = mixing.dispatch({A: tell(A, None), B: tell(B, 0.0)}, group_size=2)
    paid = reward(list("wxyz"), environment=[A, A, B, B], task=["t"] * 4, log_metric=logged.__setitem__)
    assert paid == [None, None, 0.0, 0.0]
    assert logged == {"dead/a": 1.0, "unjudged/a": 1.0, "reward/b": 0.0, "dead/b": 1.0, "unjudged/b": 0.0}


def test_dead_groups_are_counted_inside_each_environment():
    rewards = iter([[1.0, 0.0, 1.0, 1.0], [None, 1.0]])
    module = SimpleNamespace(reward=lambda completions, **_: next(rewards))
    logged = {}
    reward = mixing.dispatch({A: module, B: module}, group_size=2)
    reward(list("uvwxyz"), environment=[A, A, B, B, A, A], task=["t"] * 6, log_metric=logged.__setitem__)
    assert logged["dead/a"] == 0.5 and logged["reward/a"] == 0.75
    assert logged["dead/b"] == 1.0 and logged["reward/b"] == 1.0 and logged["unjudged/b"] == 0.5


def test_an_unknown_environment_is_named():
    with pytest.raises(ValueError, match="environment 'chess', rewards are here for a"):
        mixing.dispatch({A: tell(A, 1.0)}, 2)(["x"], environment=["chess"], task=["t"])


def test_rows_with_an_environment_that_pays_are_left_to_it():
    plays = SimpleNamespace(get_reward=lambda: 1.0)
    reward = mixing.dispatch({B: tell(B, 0.5)}, 2)
    objects = [plays, plays, mixing.TextTask(), mixing.TextTask()]
    assert reward(list("wxyz"), environment=[A, A, B, B], environments=objects, task=["t"] * 4) == [
        None,
        None,
        0.5,
        0.5,
    ]


@pytest.mark.parametrize("names", [("sudoku", "math"), ("math", "code"), ("sudoku", "code", "math")])
def test_real_environments_pay_their_own_gold_and_nothing_for_anothers(names):
    modules = {name: load(name) for name in names}
    mixed = mixing.interleave(
        {name: module.make_rows(4, difficulty="easy") for name, module in modules.items()},
        mixing.shares(",".join(names)), 4 * len(names),
    )  # fmt: skip
    golds = [[{"role": "assistant", "content": modules[row["environment"]].answer(row)}] for row in mixed]
    columns = {key: [row[key] for row in mixed] for key in ("environment", "task", "task_id")}
    reward = mixing.dispatch(modules, 1)
    assert reward(golds, **columns) == [1.0] * len(mixed)
    assert reward(golds[1:] + golds[:1], **columns) == [0.0] * len(mixed)


# --- the table ---


def test_balance_tells_what_was_asked_drawn_and_what_taught():
    parts = mixing.shares("a,b", "3,1")
    mixed = mixing.interleave(rows(a=30, b=10), parts, 40)
    history = [{"step": s, "reward/a": s / 20, "dead/a": 0.5} | ({"reward/b": 0.0, "dead/b": 1.0} if s % 2 else {})
               for s in range(20)]  # fmt: skip
    first, second = mixing.balance(parts, mixed, history)
    assert (first["asked"], first["drawn"], first["rows"], first["live"]) == (0.75, 0.75, 30, 0.5)
    assert first["teaching"] == 1.0 and second["teaching"] == 0.0 and second["live"] == 0.0
    assert first["first"] == pytest.approx(0.025) and first["last"] == pytest.approx(0.925)
    json.dumps([first, second])


def test_the_picture_has_a_line_for_each_environment():
    from helpers.show import plots

    history = [{"step": s, "reward/a": 0.1, "dead/a": 0.5, "reward/b": 0.2, "dead/b": 0.2} for s in range(1, 6)]
    left, right = plots.by_environment(history, [A, B], "title")
    assert [text.get_text() for text in left.get_legend().get_texts()] == [A, B]
    assert len(right.lines) == 2
    plots.close(left)

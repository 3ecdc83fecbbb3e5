"""Statistics against brute force and published values; verdicts on rewards that deserve them."""

import itertools
import json
import random
from types import SimpleNamespace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from envs import load
from helpers.episodes import estimates
from helpers.measure import evaluation, reward_profile
from helpers.rollout.policies import OraclePolicy, RandomPolicy
from helpers.rollout.rollouts import Sampling, rollout

sudoku = load("sudoku")


def episodes(rewards: dict[str, list], reason="wrong cell: x"):
    return [
        {"task_id": t, "sample": s, "reward": r, "reason": "solved" if r == 1 else reason, "finish_reason": "stop",
         "messages": [{"role": "assistant", "content": f"{t} {s}"}]}
        for t, group in rewards.items() for s, r in enumerate(group)
    ]  # fmt: skip


@given(st.integers(1, 9).flatmap(lambda n: st.tuples(st.just(n), st.integers(0, n), st.integers(1, n))))
def test_pass_at_k_equals_counting_all_subsets(case):
    n, c, k = case
    subsets = list(itertools.combinations([1] * c + [0] * (n - c), k))
    assert estimates.pass_at_k(n, c, k) == pytest.approx(sum(any(s) for s in subsets) / len(subsets))


@pytest.mark.parametrize("case", [(4, 5, 1), (4, 1, 5), (4, -1, 1), (0, 0, 1), (4, 1, 0)])
def test_pass_at_k_refuses_nonsense(case):
    with pytest.raises(ValueError, match="pass@k needs"):
        estimates.pass_at_k(*case)


@pytest.mark.parametrize(  # Newcombe (1998), table I, method 3
    "c, n, low, high",
    [(81, 263, 0.2553, 0.3662), (15, 148, 0.0624, 0.1605), (0, 20, 0.0, 0.1611), (1, 29, 0.0061, 0.1718)],
)
def test_wilson_gives_the_published_intervals(c, n, low, high):
    assert estimates.wilson(c, n) == pytest.approx((low, high), abs=1e-4)


def test_bootstrap_covers_the_mean_about_as_often_as_it_says():
    rng = random.Random(0)
    hits = 0
    for trial in range(200):
        low, high = estimates.bootstrap([rng.random() < 0.3 for _ in range(80)], seed=trial, resamples=500)
        hits += low <= 0.3 <= high
    assert 175 <= hits <= 199


def test_summary_leaves_the_unjudged_out_and_counts_them():
    result = evaluation.summary(episodes({"a": [1.0, None], "b": [0.0, 0.0], "c": [None, None]}))
    assert result["pass_at_1"] == 0.5 and result["n"] == 2 and result["unjudged"] == 0.5
    assert result["dead_groups"] == 1.0


def test_failures_are_named_counted_and_mapped_to_a_capability():
    found = episodes({"a": [1.0, 0.0]}) + episodes({"b": [0.0, None]}, "format: 5 rows")
    kinds = {k["kind"]: k for k in evaluation.failures(found)}
    assert kinds["format"]["count"] == 2 and kinds["wrong cell"]["share"] == 0.25
    assert kinds["format"]["capability"] == "writes the answer in the asked form"


def drawn(rng, share):
    return {f"t{i}": [float(rng.random() < share) for _ in range(4)] for i in range(120)}


def test_compare_finds_a_gain_and_names_the_tasks():
    rng = random.Random(0)
    old, better = drawn(rng, 0.3), drawn(rng, 0.6)
    gain = evaluation.compare(episodes(old), episodes(better))
    assert gain["ci95"][0] > 0.15 and gain["p_value"] < 0.001 and len(gain["fixed"]) > len(gain["broken"])
    for task in gain["fixed"]:
        assert sum(old[task]) < 2 <= sum(better[task])


def test_compare_calls_chance_a_gain_no_more_often_than_it_says():
    rng = random.Random(0)
    found = [evaluation.compare(episodes(drawn(rng, 0.3)), episodes(drawn(rng, 0.3)), seed) for seed in range(40)]
    assert sum(change["p_value"] < 0.05 for change in found) <= 6
    assert sum(not change["ci95"][0] <= 0 <= change["ci95"][1] for change in found) <= 6


@pytest.mark.parametrize(
    "interval, says",
    [((0.01, 0.2), "gained"), ((-0.2, -0.01), "lost"), ((-0.1, 0.1), "not shown"), ((0.0, 0.1), "not shown"),
     ((-0.1, 0.0), "not shown"), ((0.0, 0.0), "not shown")],
)  # fmt: skip
def test_a_change_is_shown_only_where_its_interval_leaves_zero_out(interval, says):
    assert evaluation.moved({"gain": sum(interval) / 2, "ci95": interval}) == says


def test_compare_refuses_different_tasks():
    with pytest.raises(ValueError, match="same tasks"):
        evaluation.compare(episodes({"a": [1.0]}), episodes({"b": [1.0]}))


@settings(max_examples=30)
@given(
    st.dictionaries(
        st.text("abc", min_size=1, max_size=2),
        st.lists(st.sampled_from([0.0, 1.0, None]), min_size=1, max_size=4),
        min_size=1,
    )
)
def test_a_comparison_with_itself_gains_nothing(rewards):
    if any(r is not None for group in rewards.values() for r in group):
        change = evaluation.compare(episodes(rewards), episodes(rewards))
        assert change["gain"] == 0 and not change["fixed"] and not change["broken"] and change["p_value"] == 1


# --- the reward profile ---


def profile(module, weak=None, strong=None, n=40):
    rows = sudoku.make_rows(n, seed=3, split="validation")
    rng = random.Random(0)
    half = {r["task_id"]: [float(rng.random() < 0.4) for _ in range(4)] for r in rows}
    found = {
        "random": weak
        or rollout(module, rows, RandomPolicy(module, rows), Sampling(samples=4), name="random", quiet=True),
        "model": _scripted(module, rows, half),
        "oracle": strong
        or rollout(module, rows, OraclePolicy(module, rows), Sampling(samples=4), name="oracle", quiet=True),
    }
    return reward_profile.reward_profile(module, rows[:8], found, train="model")


def _scripted(module, rows, rewards):
    """Episodes that are right or wrong as told."""

    class Policy:
        def generate(self, conversations, tools=None, **_):
            flat = iter([r for row in rows for r in rewards[row["task_id"]]])
            gold = [module.answer(row) for row in rows for _ in rewards[row["task_id"]]]
            return [
                {"role": "assistant", "content": g if next(flat) else f"unsure {i}", "finish_reason": "stop"}
                for i, g in enumerate(gold)
            ]

    return rollout(module, rows, Policy(), Sampling(samples=4), name="model", quiet=True)


def altered(score):
    """The Sudoku environment with another verifier."""
    return SimpleNamespace(make_rows=sudoku.make_rows, answer=sudoku.answer, ENV=sudoku.ENV, score=score)


def test_a_sound_reward_gets_a_go():
    result = profile(sudoku)
    assert result["verdict"] == "go" and result["deterministic"] and set(result["stress"].values()) == {0.0}
    assert 0 < result["latency_ms"]["median"] <= result["latency_ms"]["p99"]


def test_a_verifier_that_pays_for_echoes_is_caught():
    def score(completion, row):
        verdict = sudoku.score(completion, row)
        return verdict._replace(reward=1.0) if row["prompt"][-1]["content"] in str(completion) else verdict

    result = profile(altered(score))
    assert result["verdict"] == "recalibrate" and any("echo of the prompt" in r for r in result["reasons"])


def test_a_verifier_that_rolls_dice_is_caught():
    rng = random.Random(0)

    def score(completion, row):
        return sudoku.score(completion, row)._replace(reward=float(rng.random() < 0.5))

    assert any("two rewards" in r for r in profile(altered(score))["reasons"])


def test_a_reward_that_does_not_tell_strong_from_weak_is_caught():
    def score(completion, row):
        text = completion if isinstance(completion, str) else completion[-1].get("content") or ""
        return sudoku.score(completion, row)._replace(reward=float(len(text) > 20 and text[0].isdigit()))

    result = profile(altered(score))
    assert result["verdict"] == "recalibrate" and any("does not clearly beat" in r for r in result["reasons"])


def test_a_small_but_steady_step_up_is_told_from_chance():
    rows = sudoku.make_rows(60, seed=3, split="validation")
    at = {r["task_id"]: i for i, r in enumerate(rows)}
    means = [(t, i % 4) for t, i in at.items()]  # tasks differ far more than the two policies do
    found = {
        "before": _scripted(sudoku, rows, {t: [1.0] * k + [0.0] * (4 - k) for t, k in means}),
        "after": _scripted(
            sudoku, rows, {t: [1.0] * (k + (at[t] % 5 == 0)) + [0.0] * (4 - k - (at[t] % 5 == 0)) for t, k in means}
        ),
    }
    low, high = (evaluation.summary(found[name])["ci95"] for name in found)
    assert low[1] > high[0]  # side by side the two intervals overlap
    reasons = reward_profile.reward_profile(sudoku, rows[:8], found, train="before")["reasons"]
    assert not any("does not clearly beat" in reason for reason in reasons)
    backwards = reward_profile.reward_profile(sudoku, rows[:8], dict(reversed(found.items())), train="before")
    assert any("before (0.38) does not clearly beat after (0.42)" in reason for reason in backwards["reasons"])


def test_a_policy_without_variance_is_sent_back():
    rows = sudoku.make_rows(30, split="validation")
    found = {
        "random": rollout(sudoku, rows, RandomPolicy(sudoku, rows), Sampling(samples=4), name="random", quiet=True),
        "model": _scripted(sudoku, rows, {r["task_id"]: [float(i % 2)] * 4 for i, r in enumerate(rows)}),
        "oracle": rollout(sudoku, rows, OraclePolicy(sudoku, rows), Sampling(samples=4), name="oracle", quiet=True),
    }
    reasons = reward_profile.reward_profile(sudoku, rows[:8], found, train="model")["reasons"]
    assert any("one reward only" in r for r in reasons) and any("nothing to select from" in r for r in reasons)


@pytest.mark.parametrize("name", ["sudoku", "math"])
def test_no_answer_of_the_stress_set_earns_anything(name):
    module = load(name)
    rows = module.make_rows(20)
    for kind, completions in reward_profile.stress_set(module, rows).items():
        assert len(completions) == 20
        for completion, row in zip(completions, rows):
            assert module.score(completion, row).reward == 0.0, (kind, json.loads(row["task"]))

"""Environments keep the contract, and the check catches those that do not."""

import re
import subprocess
import sys
import types

import pytest

import envs
from helpers.here import ROOT
from helpers.measure import reward_profile
from helpers.measure.contract import CHECKS, ContractError, check_env, load_file

EXTRA = [("sudoku", {"interactive": True}), ("sudoku", {"size": 6}), ("sudoku", {"size": 9, "difficulty": "hard"})]


@pytest.mark.parametrize("name, knobs", [(name, {}) for name in envs.NAMES] + EXTRA)
def test_environment_keeps_the_contract(name, knobs):
    report = check_env(envs.load(name), **knobs)
    assert list(report) == [check.__name__.removeprefix("check_") for check in CHECKS]
    assert all(isinstance(text, str) and text for text in report.values())


@pytest.mark.parametrize("name", envs.NAMES)
def test_rows_are_the_same_in_a_new_process_with_another_hash_seed(name):
    code = f"import json, envs; print(json.dumps(envs.load({name!r}).make_rows(5, seed=3)))"
    seen = {
        subprocess.run(
            [sys.executable, "-c", code],
            cwd=ROOT,
            env={"PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("0", "1", "4242")
    }
    assert len(seen) == 1


# --- broken on purpose: a small environment, and one change to it each ------------------------------------

TOY = r'''
import hashlib, json, random, re
from typing import NamedTuple

SPLITS = ("train", "validation", "test")
DIFFICULTIES = ("short", "long")
KINDS = "think|thinking|thought|reasoning|reflection|seed:think"
OPENS = rf"<(?:{KINDS})>|\[THINK\]|◁think▷|<\|begin_of_thought\|>|<\|channel\|>analysis<\|message\|>|\Aanalysis"
CLOSES = rf"</(?:{KINDS})>|\[/THINK\]|◁/think▷|<\|end_of_thought\|>|<\|channel\|>final<\|message\|>|assistantfinal"

class Verdict(NamedTuple):
    reward: float
    reason: str
    metrics: dict

def make_rows(n, seed=0, split="train", difficulty="short"):
    if difficulty not in {"short", "long"}:
        raise ValueError(f"difficulty must be short or long, got {difficulty!r}")
    rng = random.Random(f"{seed} {split}")
    words = ["".join(rng.choices("abcdefgh", k=8 if difficulty == "short" else 12)) + split[:2] for _ in range(n)]
    return [{"prompt": [{"role": "user", "content": f"Write the letters {' '.join(w)} as one word, reversed."}],
             "environment": "toy", "task_id": w, "task": json.dumps({"answer": w[::-1]})} for w in words]

class ToyEnv:
    def reset(self, *, prompt=None, task=None, **_):
        self._want = json.loads(task)["answer"] if task else "cba"
        self._got = []
        self._calls = 0
        self.metrics = {}
        return None if prompt else "Write a b c as one word, reversed."

    def submit(self, word: str, times: int = 1) -> str:
        """Hand in the word.

        Args:
            word: The word.
            times: How often it is meant, 1 or 2.
        """
        self._calls += 1
        if not isinstance(word, str) or type(times) is not int or times not in (1, 2):
            raise ValueError("word must be text and times 1 or 2")
        self._got.append(word)
        return "noted"

    def get_reward(self):
        self.metrics = {"calls": float(self._calls)}
        return float(self._got[-1:] == [self._want])

ENV = ToyEnv

def answer(row):
    return "The word is " + json.loads(row["task"])["answer"]

def parse(text, row):
    text = re.split(OPENS, re.split(CLOSES, text)[-1])[0]
    words = text.split()
    return [("submit", {"word": words[-1]})] if words else []

def score(completion, row):
    env, calls, text = ENV(), [], completion
    env.reset(**row)
    if not isinstance(completion, str):
        text = ""
        for m in completion:
            if m["role"] == "assistant":
                text = m.get("content") or ""
                made = [c["function"] for c in m.get("tool_calls") or []]
                calls += [(c["name"], json.loads(c["arguments"])) for c in made]
    for name, arguments in calls or parse(text, row):
        try:
            getattr(env, name)(**arguments)
        except ValueError:
            pass
    reward = env.get_reward()
    return Verdict(reward, "right" if reward else "wrong", env.metrics)

def reward(completions, task, **_):
    return [score(c, {"task": t}).reward for c, t in zip(completions, task)]
'''


def toy(*changes: tuple[str, str]) -> types.ModuleType:
    source = TOY
    for old, new in changes:
        assert source.count(old) >= 1, old
        source = source.replace(old, new, 1)
    module = types.ModuleType("toy_env")
    exec(source, module.__dict__)
    return module


def test_the_toy_keeps_the_contract():
    assert len(check_env(toy(), n=4)) == len(CHECKS)


def test_optional_names_are_checked_where_they_are_there():
    report = check_env(toy(), n=4)
    assert report["verdict"] == "reward, reason, metrics" and report["view"] == report["optional_names"] == "none"
    shown = "{'text': 'So far.'}, {'board': [['1', {'text': '2', 'look': 'given'}]], 'box': (1, 2), 'label': 'Board'}"
    extra = "def system_prompt(): return ''\nCAPABILITIES = {'wrong': 'reverses'}\ndef read_rows(of): return of"
    whole = toy(
        *FOURTH, ("env.metrics)", "env.metrics, '' if reward else 'wrong')"),
        viewed(f"[{shown}, *([{{'code': 'x'}}] if 'reward' in episode else [])]"), named(extra), offering("['submit']"),
    )  # fmt: skip
    report = check_env(whole, n=4)
    assert report["verdict"] == "reward, reason, metrics, kind" and report["view"].endswith(" blocks")
    assert report["optional_names"] == "tools_for, read_rows, view, CAPABILITIES, system_prompt"


def test_the_example_in_the_documentation_keeps_the_contract(tmp_path):
    (source,) = re.findall(r"```python\n(.*?)```", (ROOT / "docs/contract.md").read_text(encoding="utf-8"), re.S)
    assert len([line for line in source.split("\n") if line.strip()]) <= 60
    (tmp_path / "sum_env.py").write_text(source, encoding="utf-8")
    module = load_file(tmp_path / "sum_env.py")
    report = check_env(module)
    assert report["difficulties"] == "easy, hard" and report["verdict"].endswith("kind")
    texts = reward_profile.stress_set(module, module.make_rows(8))
    assert not any(module.score(one, row).reward for of in texts.values() for one, row in zip(of, module.make_rows(8)))


METHOD = "    def get_reward(self):"
FOURTH = [("    metrics: dict\n", "    metrics: dict\n    kind: str\n")]
PLAIN = "class Plain:\n    def __init__(self, *of): self.reward, self.reason, self.metrics = of\n"


def named(source):
    return ("ENV = ToyEnv\n", f"ENV = ToyEnv\n{source}\n")


def offering(names):
    return named(f"def tools_for(row): return {names}")


def viewed(blocks):
    return named(f"def view(episode): return {blocks}")


def with_method(method):
    return (METHOD, method + METHOD)


BROKEN = {
    "no parse": (("def parse(", "def _parse("), "surface: parse is missing"),
    "no alias": (("ENV = ToyEnv", "ENV = type('Other', (ToyEnv,), {})"), "surface: ENV is .*alias of a class"),
    "property": ((METHOD, "    @property\n    def word(self): return self._got\n" + METHOD),
    "surface: ToyEnv.word is a property"),
    "static method": ((METHOD, "    @staticmethod\n    def fit(a): return a\n" + METHOD),
    "surface: ToyEnv.fit is a staticmethod"),
    "class method": ((METHOD, "    @classmethod\n    def fit(cls): return 1\n" + METHOD),
    "surface: ToyEnv.fit is a classmethod"),
    "class attribute": (("class ToyEnv:", "class ToyEnv:\n    limit = 3"), "surface: ToyEnv.limit is a int"),
    "callable attribute": (("self._calls = 0", "self._calls = 0; self.log = print"),
    "surface: attribute log is callable"),
    "constructor takes arguments": (("class ToyEnv:", "class ToyEnv:\n    def __init__(self, n): pass"),
    "surface: raised TypeError"),
    "no tool": (("def submit(self", "def _submit(self"), "surface: ToyEnv has no tool"),
    "get_reward takes arguments": (("get_reward(self):", "get_reward(self, text=''):"),
    "surface: get_reward takes arguments"),
    "helper is public": ((METHOD, "    def show(self): return ''\n" + METHOD),
    "documented: tool show has no docstring"),
    "undocumented argument": (("            times: How", "            How"),
    "documented: argument times .* not documented"),
    "documents what is not there": (("times: How", "often: x\n            times: How"), "documented: .*often"),
    "no type hint": (("word: str, times", "word, times"), "documented: argument word of tool submit has no type hint"),
    "no return hint": ((") -> str:", "):"), "documented: tool submit is hinted to return None"),
    "star arguments": (("times: int = 1)", "times: int = 1, **more)"), r"documented: tool submit takes \*\*more"),
    "extra column": (('"environment": "toy",', '"environment": "toy", "level": 1,'), "rows: a row has the columns"),
    "task is a dict": (('json.dumps({"answer": w[::-1]})', '{"answer": w[::-1]}'), "rows: task is .*must be text"),
    "too few rows": (("for _ in range(n)", "for _ in range(n - 1)"), "rows: make_rows"),
    "task_id repeats": (('"task_id": w', '"task_id": "x"'), "rows: task_id repeats"),
    "message keys vary": (
        ('{"role": "user", "content": f"Write',
        '{"role": "user", **({"name": w} if w == words[0] else {}), "content": f"Write'),
        "arrow: prompt .* comes back from Arrow",
    ),
    "random rows": (('random.Random(f"{seed} {split}")', "random.Random()"), "seed: .*other rows for the same seed"),
    "global random state": (
        ('rng = random.Random(f"{seed} {split}")', "rng = random; random.seed(seed)"), "seed: .*global random state"),
    "splits overlap": (("+ split[:2]", ""), ("{seed} {split}", "{seed}"), "splits: .* is in split"),
    "split by seed": (
        ("+ split[:2]", ""), ("{seed} {split}", "{seed + len(split) - 5}"), "splits: .* decide the split from a hash"),
    "reset needs a task": (('if task else "cba"', ""), "surface: raised TypeError"),
    "reset takes no other column": (("task=None, **_)", "task=None)"), "raised TypeError"),
    "reset repeats the prompt": (("return None if prompt else", "return"),
    "reset: .*return None when a prompt is given"),
    "reset returns nothing": (("return None if prompt else ", "return None #"), "reset: reset.. returned None"),
    "state kept across reset": (
        ("        self._got = []\n", "        self._got = getattr(self, '_got', [])\n"),
        "reset: _got keeps what the last episode"),
    "metrics kept across reset": (
        ("        self.metrics = {}\n", "        self.metrics = getattr(self, 'metrics', {})\n"),
        "reset: metrics keep"),
    "reset changes the row": (("self._calls = 0", "self._calls = 0; prompt and prompt.append({})"),
    "reset: reset changed the row"),
    "gold is wrong": (('answer"]\n\ndef parse', 'answer"][1:]\n\ndef parse'), "gold: the gold answer .* scores 0.0"),
    "messages not understood": (('m.get("tool_calls") or []', "[]"), "gold: "),
    "no reason": (('"right" if reward', '"" if reward'), "gold: the reason is"),
    "credit for nothing": (("float(self._got[-1:]", "float(not self._got or self._got[-1:]"),
    "no_credit: an empty text scores 1.0"),
    "credit for the echo": (("as one word, reversed.", "as one word; it is {w[::-1]}"),
    "no_credit: the prompt scores 1.0"),
    "credit for any word": (("== [self._want]", "!= []"), "no_credit: the prompt scores 1.0"),
    "parse raises": (("if words else []", ""), "no_credit: raised IndexError"),
    "parse raises on odd text": (("words = text.split()", "words = text.encode().decode().split()"),
    "parse: .*raise UnicodeEncodeError"),
    "parse gives lists": (('[("submit", {"word": words[-1]})]', '[["submit", {"word": words[-1]}]]'),
    "parse: .* tuples"),
    "score compares text": (
        ("reward = env.get_reward()\n", "reward = float(bool(env.get_reward()) and len(calls) < 2)\n"),
        "replay: .* from score"),
    "get_reward changes state": (('"calls": float(self._calls)}', '"calls": float(self._calls)}; self._calls += 1'),
    "get_reward: "),
    "reward is an int": (("return float(self._got", "return int(self._got"), "get_reward: it returned"),
    "metrics are text": (("float(self._calls)}", "str(self._calls)}"), "get_reward: metrics are"),
    "changes on error": (
        ("        if not isinstance(word", "        self._got.append(word)\n        if not isinstance(word"),
        "bad_arguments: .* refused but changed _got"),
    "accepts anything": (("not isinstance(word, str) or ", ""), "bad_arguments: .* was accepted"),
    "raises TypeError": (("        if not isinstance(word", "        word + ''\n        if not isinstance(word"),
                         "bad_arguments: .*raised TypeError"),
    "raises without advice": (('ValueError("word must be text and times 1 or 2")', "ValueError"),
    "bad_arguments: .* without a message"),
    "tool returns nothing": (('        return "noted"', "        return None"), "bad_arguments: .*a tool returns text"),
    "ends on a bad call": (
        ("        self._calls += 1\n",
        "        self._calls += 1\n        if self._calls > 1: raise ValueError('one call only')\n"),
        "bad_arguments: after a refused submit"),
    "shared state": (
        ("class ToyEnv:", "_ALL = {}\n\nclass ToyEnv:"), ("self._got = []",
        "_ALL.clear(); self._got = _ALL.setdefault('w', [])"),
        ("self._got.append(word)", "_ALL.setdefault('w', []).append(word)"),
        ("float(self._got[-1:]", "float(_ALL.get('w', [])[-1:]"), "interleave: "),
    "reward disagrees": (("[score(c, {\"task\": t}).reward", "[1.0"), "reward: .* let it call score"),
    "reward knows no keywords": (("task, **_):", "task):"), "reward: raised TypeError"),
    "takes any level": (
        ('difficulty not in {"short", "long"}', "False"), "difficulties: make_rows takes a difficulty that is none"),
    "refuses without the levels": (
        ('must be short or long', 'is wrong'), "difficulties: make_rows refuses an unknown difficulty with"),
    "no levels": (("DIFFICULTIES = ", "LEVELS = "), "difficulties: DIFFICULTIES is missing; name the levels"),
    "levels in a list": (('("short", "long")', '["short", "long"]'), "difficulties: DIFFICULTIES is .* a tuple"),
    "no level": (('("short", "long")', "()"), "difficulties: DIFFICULTIES is"),
    "level that rows do not know": (
        ("rng = random.Random(", "assert difficulty != 'long'; rng = random.Random("),
        "difficulties: make_rows.*'long'.* raised AssertionError"),
    "rows know no level": (
        (', difficulty="short"):', "):"), ('if difficulty == "short" else 12', ""),
        ("if difficulty not", "if 'short' not"),
        "difficulties: make_rows.*raised TypeError"),
    "offers what is no tool": (offering("['submat']"), "optional_names: tools_for gives .*'submat'"),
    "offers nothing": (offering("[]"), "optional_names: tools_for gives"),
    "offers too little": (
        offering("['rest']"), with_method("    def rest(self) -> str:\n        'Rest.'\n        return 'ok'\n"),
        "optional_names: the gold answer of .* calls submit"),
    "capabilities are a list": (named("CAPABILITIES = ['wrong']"), "optional_names: CAPABILITIES is"),
    "reader is a table": (named("read_rows = {}"), "optional_names: read_rows is"),
    "system prompt is a number": (named("system_prompt = 7"), "optional_names: system_prompt is"),
    "verdict is a tuple": (("return Verdict(reward,", "return Plain(reward,"), named(PLAIN),
    "verdict: score gives .* NamedTuple"),
    "verdict in another order": (("    reward: float\n    reason: str\n", "    reason: str\n    reward: float\n"),
    ("Verdict(reward, \"right\" if reward else \"wrong\",", "Verdict(\"right\" if reward else \"wrong\", reward,"),
    "verdict: score gives"),
    "kind of what is right": (*FOURTH, ("env.metrics)", "env.metrics, 'right')"), "verdict: the kind is 'right' where"),
    "no kind of failure": (*FOURTH, ("env.metrics)", "env.metrics, '')"), "verdict: the kind is '' where"),
    "kind is a sentence": (*FOURTH, ("env.metrics)", "env.metrics, '' if reward else 'wrong ' * 9)"),
    "verdict: the kind is .* short name"),
    "reads reasoning": (("re.split(OPENS, re.split(CLOSES, text)[-1])[0]", "text"), "reasoning: .* scores 1"),
    "knows one form of reasoning": (("|reflection|", "|"), "reasoning: .*<reflection>"),
    "answers only before reasoning": (("text)[-1])[0]", "text)[0])[0]"), "reasoning: .* scores 0.0"),
    "view changes the episode": (viewed("episode.pop('task') and []"), "view: view changed the episode"),
    "view of other blocks": (viewed("[{'html': '<b>'}]"), "view: view gives a block with the names"),
    "view with odd cells": (viewed("[{'table': [['a', 1]]}]"), "view: view gives the cell 1"),
    "view with an unknown look": (
        viewed("[{'board': [[{'text': '1', 'look': 'red'}]], 'box': None, 'label': ''}]"), "view: view gives the cell"),
    "view of unequal rows": (viewed("[{'table': [['a', 'b'], ['c']]}]"), "view: view gives rows of different lengths"),
    "view shows the answer": (
        viewed("[{'text': 'wanted: ' + json.loads(episode['task'])['answer']}]"), "view: view shows .* before there"),
    "view raises": (viewed("[{'text': episode['messages'][0]['content']}]"), "view: raised IndexError"),
    "reward returns a tuple": (("return [score(c", "return tuple([score(c"), ("zip(completions, task)]",
    "zip(completions, task)])"),
                               "reward: it returned"),
}  # fmt: skip


@pytest.mark.parametrize("fault", BROKEN)
def test_a_broken_environment_is_caught_and_named(fault):
    *changes, message = BROKEN[fault]
    if message.startswith("arrow"):
        pytest.importorskip("pyarrow")
    with pytest.raises(ContractError, match=f"^toy_env: .*{message}"):
        check_env(toy(*changes), n=4)


def test_one_row_is_too_few_to_compare():
    with pytest.raises(ValueError, match="at least 2"):
        check_env(toy(), n=1)


def test_arrow_check_is_skipped_without_pyarrow(monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    assert check_env(toy(), n=2)["arrow"] == "skipped: pyarrow is not installed"


# --- trainers see the same tools --------------------------------------------------------------------------


@pytest.mark.parametrize("name", envs.NAMES)
def test_tools_have_a_json_schema(name):
    utils = pytest.importorskip("transformers.utils")
    env = envs.load(name).ENV()
    for tool in (t for t in dir(env) if not t.startswith("_") and t not in ("reset", "get_reward")):
        schema = utils.get_json_schema(getattr(env, tool))["function"]
        assert all(p.get("description") for p in schema["parameters"]["properties"].values())


# --- names and files -----------------------------------------------------------------------------------------


def test_unknown_environment_is_named_with_the_choices():
    with pytest.raises(ValueError, match="no environment called 'chess'; choose one of"):
        envs.load("chess")


def test_a_file_is_an_environment_and_an_edit_of_it_counts_at_once(tmp_path):
    file = tmp_path / "toy_env.py"
    for text in (TOY, TOY.replace("def submit", "def submat"), TOY):  # within a second, and of the same length
        file.write_text(text)
        module = load_file(file)
        assert hasattr(module.ENV, "submit") == (text == TOY)
    assert (
        module.__name__ == "toy_env"
        and module.__file__ == str(file)
        and list(check_env(module)) == list(check_env(load_file(str(file))))
    )
    with pytest.raises(FileNotFoundError):
        load_file(tmp_path / "none_env.py")

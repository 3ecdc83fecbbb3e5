# SPDX-License-Identifier: Apache-2.0
"""What the contract says of episodes: state, calls, grading."""

import inspect
import json
import typing
from copy import deepcopy

from helpers.measure.blocks import fault_in_block, squeezed, texts_in
from helpers.measure.contract_subject import GARBAGE, Broken, Subject, as_messages, changed, fits, short, state_of
from helpers.measure.reasoning import FORMS, closed, opened_in_the_prompt, unclosed
from helpers.measure.reward_profile import answer_text

VERDICT = ("reward", "reason", "metrics", "kind")


def check_reset(s: Subject) -> str:
    """`reset` works with anything, returns a prompt only if none was given, and starts the world again."""
    env = s.module.ENV()
    bare = env.reset()
    if not isinstance(bare, str) or not bare:
        raise Broken(f"reset() returned {short(bare)}; without a prompt it must return one, for a built-in task")
    s.live(env, [])
    for row, calls in zip(s.rows, s.calls):
        given = deepcopy(row)
        seen = env.reset(**given, unknown_column=[1, None])
        if seen is not None:
            raise Broken(f"reset(prompt=..., task=...) returned {short(seen)}; return None when a prompt is given")
        if given != row:
            raise Broken("reset changed the row it was given; copy what it needs")
        started = state_of(s.fresh(row))
        if names := changed(started, env):
            raise Broken(f"{names[0]} is not what a new instance has; bind every attribute in reset")
        s.live(env, calls)
        text = env.reset(task=row["task"])
        if not isinstance(text, str) or not text:
            raise Broken(f"reset(task=...) returned {short(text)}; without a prompt it must return one")
        if names := changed(started, env):
            raise Broken(f"{names[0]} keeps what the last episode left there; bind every attribute in reset")
        if getattr(env, "metrics", {}) != getattr(s.fresh(row), "metrics", {}):
            raise Broken("metrics keep what the last episode left there; bind them in reset")
    return f"{s.n} resets after use give the state of a new instance"


def check_gold(s: Subject) -> str:
    """The gold answer scores 1, as text and as messages."""
    for row, gold, calls in zip(s.rows, s.gold, s.calls):
        forms = [gold, as_messages(calls)] if calls else [gold]
        if isinstance(gold, str):
            forms.append([{"role": "assistant", "content": gold}])
        for form in forms:
            verdict = s.module.score(deepcopy(form), row)
            if verdict.reward != 1.0:
                raise Broken(
                    f"the gold answer {short(form)} of {row['task_id']} scores {verdict.reward} ({verdict.reason}); "
                    "make answer and the grader agree"
                )
            if not isinstance(verdict.reason, str) or not verdict.reason:
                raise Broken(f"the reason is {short(verdict.reason)}; say in plain words why the reward is what it is")
    if not any(s.calls):
        raise Broken("no gold answer makes a tool call, so doing nothing scores 1; make tasks that ask for something")
    return f"{s.n} of {s.n} gold answers score 1"


def check_no_credit(s: Subject) -> str:
    """Nothing, the prompt, garbage, and the gold answer of another task score 0."""
    pairs = 0
    for i, row in enumerate(s.rows):
        if not s.calls[i]:  # doing nothing is right there
            continue
        prompt = "\n\n".join(message["content"] for message in row["prompt"])
        tries: dict[str, object] = {"an empty text": "", "an empty list of messages": [], "the prompt": prompt}
        tries["the last message of the prompt"] = row["prompt"][-1]["content"]
        tries["the prompt as the model's turn"] = [{"role": "assistant", "content": prompt}]
        tries["the task column"] = row["task"]
        other = (i + 1) % s.n
        if s.calls[other] != s.calls[i]:
            tries[f"the gold answer of {s.rows[other]['task_id']}"] = s.gold[other]
            pairs += 1
        for what, completion in tries.items():
            verdict = s.module.score(deepcopy(completion), row)
            if verdict.reward != 0.0:
                raise Broken(
                    f"{what} scores {verdict.reward} on {row['task_id']} ({verdict.reason}); "
                    "give no reward for what does not do the task"
                )
    return f"empty, echo and {pairs} gold answers of other tasks score 0"


def check_verdict(s: Subject) -> str:
    """A verdict is a named tuple of reward, reason, metrics and the kind of failure."""
    fields: tuple[str, ...] = ()
    for i, row in enumerate(s.rows):
        for completion in (s.gold[i], s.gold[(i + 1) % s.n], "", "no idea"):
            verdict = s.module.score(deepcopy(completion), row)
            fields = getattr(verdict, "_fields", ())
            if fields[:3] != VERDICT[:3] or fields[3:] not in ((), VERDICT[3:]):
                raise Broken(f"score gives {short(verdict)}; let it be a NamedTuple with {', '.join(VERDICT)}")
            reward, reason, metrics, *named = verdict
            if not isinstance(reason, str) or not reason or not isinstance(metrics, dict):
                raise Broken(f"score gives {short(verdict)}; the reason is a sentence and metrics a dict of numbers")
            for kind in named:
                if not isinstance(kind, str) or len(kind) > 40 or "\n" in kind:
                    raise Broken(f"the kind is {short(kind)}; let it be the failure's short name, such as 'no answer'")
                if (kind == "") != (reward == 1.0):
                    raise Broken(f"the kind is {kind!r} where the reward is {reward}; it is '' exactly where that is 1")
    return ", ".join(fields)


def check_parse(s: Subject) -> str:
    """`parse` never raises on model text, and returns (tool, arguments) pairs."""
    for row, gold in zip(s.rows[:2], s.gold):
        gold = gold if isinstance(gold, str) else json.dumps(gold)
        for text in (*GARBAGE, gold[: len(gold) // 2], gold[len(gold) // 2 :], gold * 3, "<think>" + gold):
            try:
                calls = s.module.parse(text, row)
                reward = s.module.score(text, row).reward
            except Exception as error:
                raise Broken(
                    f"{short(text)} makes it raise {type(error).__name__}: {error}; text that is no answer gives []"
                ) from error
            pair = isinstance(calls, list) and all(isinstance(c, tuple) and len(c) == 2 for c in calls)
            if not pair or any(not isinstance(name, str) or not isinstance(kw, dict) for name, kw in calls):
                raise Broken(f"{short(text)} gives {short(calls)}; return a list of (tool, arguments) tuples")
            if not calls and reward != 0.0 and s.calls[s.rows.index(row)]:
                raise Broken(f"{short(text)} scores {reward} with no call; the reward comes from the state alone")
    return f"{len(GARBAGE) + 4} texts"


def check_reasoning(s: Subject) -> str:
    """The answer counts that follows reasoning, and none inside it, in every form that models write."""
    asked = [i for i, calls in enumerate(s.calls) if calls]
    for k, form in enumerate(FORMS):
        i = asked[k % len(asked)]
        row, gold, other = s.rows[i], answer_text(s.gold[i]), answer_text(s.gold[(i + 1) % s.n])
        for where, text, reward in (
            ("inside reasoning", closed(form, gold), 0.0),
            ("inside reasoning, before a refusal,", closed(form, gold, "I do not know."), 0.0),
            ("inside reasoning without an end", unclosed(form, gold), 0.0),
            ("after reasoning that holds a wrong one", closed(form, other, gold), 1.0),
            ("after reasoning that was opened in the prompt", opened_in_the_prompt(form, gold), 1.0),
        ):
            verdict = s.module.score(text, row)
            if verdict.reward != reward:
                raise Broken(
                    f"the gold answer {where} in the form {form} scores {verdict.reward} ({verdict.reason}), not "
                    f"{reward}, in {short(text)}; let parse read what follows reasoning, see `without_reasoning` in "
                    "envs/sudoku_env.py"
                )
    return f"{len(FORMS)} forms of reasoning"


def check_replay(s: Subject) -> str:
    """Calls made on a live instance and the same calls scored from text or messages give one reward."""
    compared = 0
    for i, row in enumerate(s.rows):
        calls, other = s.calls[i], s.gold[(i + 1) % s.n]
        forms = [s.gold[i], other, "", row["prompt"][-1]["content"]]
        forms += [as_messages(part) for part in (calls, calls[:-1], calls + calls, calls[::-1]) if part]
        for form in forms:
            env = s.fresh(row)
            live = s.live(env, s.calls_in(form, row))
            verdict = s.module.score(deepcopy(form), row)
            if live != verdict.reward:
                raise Broken(
                    f"{short(form)} earns {live} live and {verdict.reward} from score; let score replay the calls "
                    "into a fresh instance and ask get_reward"
                )
            if dict(verdict.metrics) != env.metrics:
                raise Broken(f"metrics are {env.metrics} live and {verdict.metrics} from score; take them from replay")
            compared += 1
    return f"{compared} completions, live and replayed"


def check_view(s: Subject) -> str:
    """`view` draws any episode in plain blocks, and shows nothing of the right answer before there is a verdict."""
    if not hasattr(s.module, "view"):
        return "none"
    drawn = 0
    for i, row in enumerate(s.rows):
        for completion in (s.gold[i], s.gold[(i + 1) % s.n], [], *(GARBAGE if i == 0 else ())):
            text = isinstance(completion, str)
            messages = [{"role": "assistant", "content": completion}] if text else deepcopy(completion)
            episode = {**deepcopy(row), "messages": messages}
            blocks = _blocks(s, episode)
            shown = squeezed("".join(texts_in(blocks)))
            if completion != s.gold[i] and (told := next((x for x in _secrets(s, i) if x in shown), None)):
                raise Broken(f"view shows {short(told)} before there is a reward; a player would read the answer")
            graded = episode | {"kind": "", **s.module.score(deepcopy(messages), row)._asdict()}
            drawn += len(blocks) + len(_blocks(s, graded))
    return f"{drawn} blocks"


def _blocks(s: Subject, episode: dict) -> list[dict]:
    before, blocks = deepcopy(episode), s.module.view(episode)
    if episode != before:
        raise Broken("view changed the episode it was given; copy what it needs")
    if not isinstance(blocks, list) or (fault := next(filter(None, map(fault_in_block, blocks)), "")):
        raise Broken(f"view gives {fault or short(blocks)}; give a list of plain blocks")
    return blocks


def _secrets(s: Subject, i: int) -> list[str]:
    """What only the right answer holds: the gold text, and longer texts that are handed in and not in the prompt."""
    prompt = squeezed("".join(message["content"] for message in s.rows[i]["prompt"]))
    given = [str(value) for _, arguments in s.calls[i] for value in arguments.values()]
    found = [squeezed(text) for text in (answer_text(s.gold[i]), *(given if isinstance(s.gold[i], str) else ()))]
    return [text for text in found if len(text) >= 4 and text not in prompt]


def check_get_reward(s: Subject) -> str:
    """`get_reward` returns a float or None, changes nothing, and refreshes `metrics`."""
    for row, calls in zip(s.rows, s.calls):
        env = s.fresh(row)
        for part in ([], calls):
            first = s.live(env, part)
            before, metrics = state_of(env), deepcopy(getattr(env, "metrics", None))
            if first is not None and type(first) is not float:
                raise Broken(f"it returned {short(first)}; return a float, or None for what could not be judged")
            if not isinstance(metrics, dict) or any(
                not isinstance(k, str) or isinstance(v, bool) or not isinstance(v, int | float)
                for k, v in metrics.items()
            ):
                raise Broken(f"metrics are {short(metrics)}; let them be a dict of numbers by name")
            for _ in range(2):
                again = env.get_reward()
                if again != first or env.metrics != metrics or changed(before, env):
                    raise Broken(f"it gave {first}, then {again}, or changed the state; only look at the state")
    return "same when asked again"


def check_bad_arguments(s: Subject) -> str:
    """A tool refuses what its hints do not allow with ValueError, and a refused call changes nothing.

    A call may be counted: a whole number that grows by one is no change. Odd values of the right type, and numbers
    for text or text for numbers, may be taken or refused, but raise nothing else.
    """
    good: dict[str, dict] = {}
    for calls in s.calls:
        for name, arguments in calls:
            good.setdefault(name, arguments)
    row, refused = s.rows[0], 0
    for name in s.tools:
        parameters = inspect.signature(getattr(s.module.ENV(), name)).parameters
        hints = typing.get_type_hints(getattr(s.module.ENV, name))
        usual = good.get(name) or {p: _example(hints[p]) for p in parameters}
        cases: list[tuple[dict, bool, tuple]] = [({**usual, "no_such_argument": 1}, True, (ValueError, TypeError))]
        if any(p.default is p.empty for p in parameters.values()):
            cases.append(({}, True, (ValueError, TypeError)))
        for p in parameters:
            for value in (None, ["x"], {"a": {"b": [1]}}, "x", 10**30, -1, 1.5, float("nan"), True, "", "\ud800", []):
                wrong = not fits(value, hints[p])
                lenient = _scalar(value) and any(fits(v, hints[p]) for v in ("", 0, 0.0, True)) and value != "x"
                lenient |= value == "x" and fits("", hints[p])
                cases.append(({**usual, p: value}, wrong and not lenient, (ValueError,)))
        for arguments, must_refuse, allowed in cases:
            env = s.fresh(row)
            start, before = env.get_reward(), state_of(env)
            call = f"{name}({', '.join(f'{k}={short(v)}' for k, v in arguments.items())})"
            try:
                result = getattr(env, name)(**deepcopy(arguments))
            except allowed as error:
                refused += 1
                if not str(error):
                    raise Broken(f"{call} raised ValueError without a message; say what to do instead") from error
                if names := changed(before, env, calls=1):
                    raise Broken(f"{call} was refused but changed {names[0]}; check before changing") from error
                if env.get_reward() != start:
                    raise Broken(f"{call} was refused but changed the reward; check before changing") from error
                continue
            except Exception as error:
                raise Broken(
                    f"{call} raised {type(error).__name__}: {error}; raise ValueError with advice for the model"
                ) from error
            if must_refuse:
                raise Broken(f"{call} was accepted; raise ValueError with advice for the model")
            if not isinstance(result, str):
                raise Broken(f"{call} returned {short(result)}; a tool returns text")
        env = s.fresh(row)
        bad = {**usual, **{p: {"a": {"b": [1]}} for p in parameters if not fits({}, hints[p])}}
        if bad != usual and s.live(env, [(name, bad), *s.calls[0]]) != 1.0:
            raise Broken(f"after a refused {name} the gold calls no longer score 1; a refused call changes nothing")
    return f"{refused} calls refused, nothing changed"


def _scalar(value) -> bool:
    return isinstance(value, str | int | float)


def _example(hint):
    """Some value that has the hinted type."""
    values = ("x", 1, 1.5, True, [], {}, None, *typing.get_args(hint))
    return next((value for value in values if fits(value, hint)), "x")


def check_interleave(s: Subject) -> str:
    """Instances share nothing: episodes played in turns end as they would alone."""
    envs = [s.fresh(row) for row in s.rows]
    idle = [s.fresh(row) for row in s.rows]
    before = [state_of(env) for env in idle]
    for turn in range(max(map(len, s.calls))):
        for env, calls in zip(envs, s.calls):
            s.live(env, calls[turn : turn + 1])
    for row, env, other, state in zip(s.rows, envs, idle, before):
        if (reward := env.get_reward()) != 1.0:
            raise Broken(f"{row['task_id']} ends with {reward} when played in turns with others; share no state")
        if names := changed(state, other):
            raise Broken(f"playing one instance changed {names[0]} of another; bind every attribute in reset, anew")
    return f"{s.n} episodes in turns"


def check_reward(s: Subject) -> str:
    """`reward` agrees with `score`, takes text and messages, and ignores keywords that it does not know."""
    completions = [*s.gold, *["no idea"] * s.n, *[[{"role": "assistant", "content": "no idea"}]] * s.n]
    rows = s.rows * 3
    columns = {name: [row[name] for row in rows] for name in ("environment", "task_id", "task")}
    got = s.module.reward(
        completions=deepcopy(completions),
        prompts=[row["prompt"] for row in rows],
        **columns,
        completion_ids=[[0]] * len(rows),
        trainer_state=None,
    )
    if not isinstance(got, list) or len(got) != len(rows) or any(v is not None and type(v) is not float for v in got):
        raise Broken(f"it returned {short(got)}; return a list of float or None, one for each completion")
    want = [s.module.score(deepcopy(c), row).reward for c, row in zip(completions, rows)]
    if got != want:
        raise Broken(f"it returned {short(got)} where score says {short(want)}; let it call score")
    return f"{len(got)} completions, same as score"

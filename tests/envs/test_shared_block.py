"""The block that every environment has a copy of: what counts beside reasoning, and which calls a text makes."""

import importlib
import json
import re
from pathlib import Path

import pytest
from cost import cpu_s
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import envs
from envs.math_env.completions import Call, calls_and_text, calls_in_text, usable, without_reasoning

ROOT = Path(envs.__file__).parent
BEGIN = "# --- shared by all environments: reading what a model wrote (a test keeps the copies identical) ---\n"
END = "# --- end of the shared block ---\n"
COPIES = [str(p.relative_to(ROOT)) for p in sorted(ROOT.rglob("*.py")) if BEGIN in p.read_text(encoding="utf-8")]
many = settings(max_examples=500, deadline=None, suppress_health_check=list(HealthCheck))


def test_the_copies_are_identical():
    assert {"sudoku_env.py", *(f"{name}_env/completions.py" for name in ("math", "code", "workplace"))} <= set(COPIES)
    blocks = set()
    for name in COPIES:
        source = (ROOT / name).read_text(encoding="utf-8")
        assert source.count(BEGIN) == source.count(END) == 1, name
        blocks.add(source.partition(BEGIN)[2].partition(END)[0])
    assert len(blocks) == 1


def test_no_environment_has_a_reader_of_its_own():
    for path in ROOT.rglob("*.py"):
        source = path.read_text(encoding="utf-8")
        if str(path.relative_to(ROOT)) in COPIES:
            source = source.partition(BEGIN)[0] + source.partition(END)[2]
        for sign in ("scratchpad", "<tool_call>", 'get("tool_calls")', "<|channel|>"):
            assert sign not in source, (path, sign)


# --- reasoning -------------------------------------------------------------------------------------------

SUDOKU = {"task": json.dumps({"puzzle": "1 _ 3 4\n3 4 1 _\n2 1 _ 3\n_ 3 2 1", "size": 4})}
EVENT = {"event_name": "Sync", "participant_email": "ada.lindqvist@larkfield.example",
         "event_start": "2024-09-20 10:00:00", "duration": "30"}  # fmt: skip
CREATE = ("calendar_create_event", EVENT)


def tagged(name: str, arguments: dict) -> str:
    return f"<tool_call>\n{json.dumps({'name': name, 'arguments': arguments})}\n</tool_call>"


WORKPLACE = {"task": json.dumps({"ground_truth": [{"name": CREATE[0], "arguments": json.dumps(EVENT)}]})}
ANSWERS = {  # environment: a task, a right answer, a wrong one
    "sudoku": (SUDOKU, "1 2 3 4\n3 4 1 2\n2 1 4 3\n4 3 2 1", "1 3 2 4\n3 4 1 2\n2 1 4 3\n4 3 2 1"),
    "math": ({"task": json.dumps({"answer": "5"})}, r"So \boxed{5}", r"So \boxed{4}"),
    "code": (
        {"task": json.dumps({"entry_point": "add", "tests": [{"args": "[1, 2]", "expected": "3"}]})},
        "```python\ndef add(a, b):\n    return a + b\n```",
        "```python\ndef add(a, b):\n    return a - b\n```",
    ),
    "workplace": (WORKPLACE, tagged(*CREATE), tagged(CREATE[0], EVENT | {"duration": "45"})),
}
TAGS = [
    ("<think>", "</think>"), ("<THINK>\n", "\n</THINK>\n\n"), ("<thinking>", "</thinking>"),
    ("<|think|>", "<|/think|>"), ("<|think|>", "</|think|>"),
    ("<thought>", "</thought>"), ("<thoughts>", "</thoughts>"), ("<reason>", "</reason>"),
    ("<reasoning>\n", "\n</reasoning>\n"), ("<scratchpad>", "</scratchpad>"), ("<reflection>", "</reflection>"),
    ("<analysis>", "</analysis>"), ("<seed:think>", "</seed:think>"), ("[THINK]", "[/THINK]"),
    ("◁think▷", "◁/think▷"), ("<|begin_of_thought|>\n", "\n<|end_of_thought|>\n"),
    ("<|begin_of_thought|>", "<|end_of_thought|>\n\n<|begin_of_solution|>"), ("<|channel>thought\n", "<channel|>"),
    ("<think>\n<think>", "</think>"),
    ("<|channel|>analysis<|message|>", "<|end|><|start|>assistant<|channel|>final<|message|>"),
    ("<|channel|>analysis<|message|>", "<|channel|>final <|constrain|>text<|message|>"),
    ("<|start|>assistant<|channel|>analysis<|message|>",
     "<|end|><|start|>assistant<|channel|>commentary<|message|>Hm.<|end|><|start|>assistant<|channel|>final<|message|>"),
    ("analysis<|message|>", "<|end|><|start|>assistant<|channel|>final<|message|>"),
    ("analysisWe think.\n", "assistantfinal"), ("analysis ", "assistantfinal"),
    ("assistantanalysisHm. ", "assistantfinal"), ("analysis", "assistantcommentaryLet me see.assistantfinal"),
]  # fmt: skip
NEVER_CLOSED = [
    opening for opening, _ in TAGS if opening != "analysis "
]  # that one is a word, if no final part follows
ENDS = ("", "<|im_end|>", "<|eot_id|>\n", "<|return|>", "</s>", "<|end|>", "<end_of_turn>\n", "<turn|>", "</s></s>")
NOTHING = "That is all I know."


@pytest.fixture(params=ANSWERS)
def case(request):
    row, right, wrong = ANSWERS[request.param]
    score = envs.load(request.param).score

    def reward(text: str) -> float:
        rewards = {score(form, row).reward for form in (
            text, [{"role": "assistant", "content": text}],
            [{"role": "assistant", "content": [{"type": "text", "text": text}]}],
        )}  # fmt: skip
        assert len(rewards) == 1, text
        return rewards.pop()

    return reward, right, wrong


@pytest.mark.parametrize("opening, closing", TAGS, ids=repr)
def test_only_what_follows_reasoning_counts(case, opening, closing):
    reward, right, wrong = case
    assert reward(f"{opening}{wrong}{closing}{right}") == 1
    assert reward(f"{opening}{right}{closing}{right}") == 1
    assert reward(f"{opening}{closing}{right}") == 1
    assert reward(f"{opening}{right}{closing}{NOTHING}") == 0
    assert reward(f"{opening}{right}{closing}") == 0


@pytest.mark.parametrize("closing", [closing for _, closing in TAGS[:-4]], ids=repr)
def test_reasoning_that_was_opened_in_the_prompt(case, closing):
    reward, right, wrong = case
    if "final" not in closing:
        assert reward(f"{wrong}{closing}{right}") == 1
        assert reward(f"{right}{closing}{NOTHING}") == 0
        assert reward(f"{right}{closing}") == 0
    else:  # the prompt ended within the header of the first message
        assert reward(f"analysis<|message|>{wrong}{closing}{right}") == 1
        assert reward(f"analysis<|message|>{right}{closing}{NOTHING}") == 0


@pytest.mark.parametrize("opening", NEVER_CLOSED, ids=repr)
def test_reasoning_that_never_ends(case, opening):
    reward, right, _ = case
    assert reward(f"{opening}{right}") == 0
    assert reward(f"{opening}Hm.\n{right}\nYes.") == 0


@pytest.mark.parametrize("end", ENDS, ids=repr)
def test_marks_at_the_end_of_a_turn_are_dropped(case, end):
    reward, right, _ = case
    assert reward(right + end) == 1
    assert reward(f"<think>Hm.</think>{right}{end}") == 1
    assert (
        reward(f"<|channel|>analysis<|message|>Hm.<|end|><|start|>assistant<|channel|>final<|message|>{right}{end}")
        == 1
    )
    assert without_reasoning(f"5{end}").strip() == "5"


def test_a_second_end_at_the_very_end_is_a_slip(case):
    reward, right, _ = case
    assert reward(f"<think>Hm.</think>{right}\n</think>\n") == 1
    assert reward(f"<think>Hm.</think>{right}</think><|im_end|>") == 1
    assert reward(f"<think>Or <think>again</think>{right}</think>") == 0  # the first block was still open


def test_reasoning_beside_the_text_of_a_message_is_no_answer(case, request):
    row, right, _ = ANSWERS[request.node.callspec.params["case"]]
    score = envs.load(request.node.callspec.params["case"]).score
    for aside in (
        [{"type": "reasoning", "summary": [], "content": [{"type": "reasoning_text", "text": right}]}],
        [{"role": "assistant", "content": NOTHING, "reasoning_content": right}],
        [{"role": "assistant", "content": [{"type": "thinking", "thinking": right, "text": right}]}],
        [{"role": "assistant", "content": [{"type": "reasoning", "text": right}, {"type": "text", "text": NOTHING}]}],
        [{"role": "user", "content": right}], [{"role": "tool", "content": right}],
        [{"type": "function_call_output", "call_id": "1", "output": right, "content": right}],
    ):  # fmt: skip
        assert score(aside, row).reward == 0, aside
    thinking = {"type": "thinking", "thinking": [{"type": "text", "text": "Hm."}]}
    assert score([{"role": "assistant", "content": [thinking, {"type": "text", "text": right}]}], row).reward == 1
    items = [{"type": "reasoning", "summary": []},
             {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": right}]}]  # fmt: skip
    assert score(items, row).reward == 1


@pytest.mark.parametrize(
    "text",
    [
        "analysis of the cases: x = 5, so the answer is 5", "Analysis: the answer is 5", "analysis: 5", "analysis\n5",
        "analysis - 5", "The final analysis is 5", "assistant: 5", "final 5", "a < b and b > a, [THINKING] of 5",
        "5 </s> 6",
    ],
)  # fmt: skip
def test_prose_that_only_looks_like_reasoning_stays(text):
    assert without_reasoning(text) == text


def test_code_that_names_a_tag_after_the_answer_keeps_the_answer():
    assert without_reasoning("def f(s):\n    return s\n\nprint('<think>')") == "def f(s):\n    return s\n\nprint('"


# --- calls -----------------------------------------------------------------------------------------------

Calls = list[tuple[str, dict]]


def as_json(name: str, arguments: object, key: str = "arguments") -> str:
    return json.dumps({"name": name, key: arguments})


def as_xml(name: str, arguments: dict) -> str:
    return f"<function={name}>\n" + "".join(
        f"<parameter={key}>\n{value}\n</parameter>\n" for key, value in arguments.items()) + "</function>"  # fmt: skip


def each(form, joint: str = "\n"):
    return lambda calls: joint.join(form(name, arguments) for name, arguments in calls)


TURN = "<|start|>assistant"
FORMATS = {
    "hermes": each(tagged),
    "hermes after words": lambda calls: "Sure, I do that.\n\n" + each(tagged)(calls),
    "hermes, arguments as text": each(lambda n, a: f"<tool_call>{as_json(n, json.dumps(a))}</tool_call>"),
    "hermes without an end": lambda calls: each(tagged)(calls).removesuffix("</tool_call>"),
    "qwen3-coder": each(lambda n, a: f"<tool_call>\n{as_xml(n, a)}\n</tool_call>"),
    "qwen3-coder without its outer tags": each(as_xml),
    "qwen3-coder on one line": each(lambda n, a: f"<tool_call>{as_xml(n, a)}</tool_call>".replace(">\n", ">")),
    "llama": each(lambda n, a: as_json(n, a, "parameters"), "; "),
    "llama, tagged": lambda calls: f"<|python_tag|>{FORMATS['llama'](calls)}<|eom_id|>",
    "llama, functions": each(lambda n, a: f"<function={n}>{json.dumps(a)}</function>", ""),
    "mistral": lambda calls: f"[TOOL_CALLS][{each(as_json, ', ')(calls)}]</s>",
    "mistral, spaced": lambda calls: f"[TOOL_CALLS] [{each(as_json, ', ')(calls)}]",
    "mistral, named": each(lambda n, a: f"[TOOL_CALLS]{n}[ARGS]{json.dumps(a)}", ""),
    "mistral, numbered": each(lambda n, a: f"[TOOL_CALLS]{n}[CALL_ID]a1B2c3D4e[ARGS]{json.dumps(a)}", ""),
    "mistral, without its mark": each(lambda n, a: f"[TOOL_CALLS]{n}{json.dumps(a)}", ""),
    "gpt-oss": lambda calls: "<|channel|>analysis<|message|>Hm.<|end|>" + each(
        lambda n, a: f"{TURN}<|channel|>commentary to=functions.{n} "
        f"<|constrain|>json<|message|>{json.dumps(a)}<|call|>", "")(calls),
    "gpt-oss, said first": lambda calls: each(
        lambda n, a: f"{TURN} to=functions.{n}<|channel|>commentary json<|message|>{json.dumps(a)}<|call|>", "")(calls),
    "gpt-oss without special tokens": lambda calls: "analysisWe call." + each(
        lambda n, a: f"assistantcommentary to=functions.{n} json{json.dumps(a)}", "")(calls),
    "json": lambda calls: f"[{each(as_json, ', ')(calls)}]",
    "json in a fence": lambda calls: f"```json\n[{each(as_json, ', ')(calls)}]\n```",
    "json as sent": lambda calls: json.dumps(
        [{"type": "function", "function": {"name": n, "arguments": json.dumps(a)}} for n, a in calls]),
    "json after reasoning": lambda calls: f"<think>Hm.</think>\n[{each(as_json, ', ')(calls)}]<|im_end|>",
}  # fmt: skip
MESSAGES = {
    "chat": lambda calls: [{"role": "assistant", "content": "", "tool_calls": [
        {"type": "function", "function": {"name": n, "arguments": json.dumps(a)}} for n, a in calls]}],
    "chat, objects": lambda calls: [{"role": "assistant", "tool_calls": [{"function": {"name": n, "arguments": a}}]}
                                    for n, a in calls],
    "chat, flat": lambda calls: [{"role": "assistant", "tool_calls": [{"name": n, "arguments": a} for n, a in calls]}],
    "responses": lambda calls: [{"type": "reasoning", "summary": []}, *(
        {"type": "function_call", "call_id": "1", "name": n, "arguments": json.dumps(a)} for n, a in calls)],
}  # fmt: skip


def interactive_rows() -> list:
    found = [("workplace", row) for level in envs.load("workplace").DIFFICULTIES for row in
             envs.load("workplace").make_rows(4, seed=5, difficulty=level)]  # fmt: skip
    found += [("sudoku", row) for row in envs.load("sudoku").make_rows(2, interactive=True)]
    found += [(name, row) for name in ("math", "code") for row in envs.load(name).make_rows(2, tools=True)]
    return found


def made_in(messages: list[dict]) -> Calls:
    calls = [call["function"] for message in messages for call in message.get("tool_calls") or ()]
    return [(call["name"], call["arguments"]) for call in calls]


@pytest.mark.parametrize("name", FORMATS | MESSAGES)
def test_gold_calls_earn_1_in_every_format(name):
    for environment, row in interactive_rows():
        module = envs.load(environment)
        calls = made_in(module.answer(row))
        completion = (FORMATS | MESSAGES)[name](calls)
        verdict = module.score(completion, row)
        assert verdict.reward == 1, (environment, completion, verdict.reason)
        if name in FORMATS:
            assert len(module.parse(completion, row)) == len(calls)
            assert module.score([{"role": "assistant", "content": completion}], row) == verdict


@pytest.mark.parametrize("name", FORMATS)
def test_a_format_is_read_as_it_was_written(name):
    calls = [
        CREATE,
        ("email_send_email", {"recipient": "a@b.example", "subject": 'Say "hi"', "body": "one\ntwo; {three}"}),
    ]
    written = FORMATS[name](calls)
    if name == "qwen3-coder on one line":
        written = written.replace(">\n", ">")
    assert calls_in_text(written) == [Call(*call) for call in calls]
    if not name.startswith("gpt-oss") and "<think>" not in written:  # the calls of gpt-oss have their own channel
        assert calls_in_text(f"<think>{written}</think>No.") == calls_in_text(f"<think>{written}") == []


def test_numbers_where_a_format_has_no_types():
    text = FORMATS["qwen3-coder"]([("place", {"row": 1, "column": "02", "value": "x"})])
    assert calls_in_text(text)[0].arguments == {"row": "1", "column": "02", "value": "x"}
    assert calls_in_text(text, numbers=("row", "column", "value"))[0].arguments == {"row": 1, "column": 2, "value": "x"}


BROKEN = {
    "<tool_call>{\"name\": \"a\", \"argum": "a tool call is not whole JSON",
    "<tool_call>{}</tool_call>": "a tool call is not whole JSON",
    "<tool_call></tool_call>": "a tool call is not whole JSON",
    "<tool_call>" + "[" * 100_000: "a tool call is not whole JSON",
    '<tool_call>{"name": "a", "arguments": [1]}</tool_call>': "the arguments are a list",
    '<tool_call>{"name": "a", "arguments": "{\\"x\\": "}</tool_call>': "the arguments are not whole JSON",
    '<tool_call>{"name": "a", "arguments": "\\"{}\\""}</tool_call>': "the arguments are text",
    '{"name": "a", "arguments": 3}': "the arguments are no object",
    "<function=a>{\"x\": 1": "the arguments are not whole JSON",
    "<function=a>\n<parameter=x>\nhalf": "a tool call is not whole",
    "<function=>{}</function>": "a tool call is not whole JSON",
    "[TOOL_CALLS][{\"name\": \"a\"": "a tool call is not whole JSON",
    "[TOOL_CALLS]a[ARGS]{\"x\": ": "the arguments are not whole JSON",
    "[TOOL_CALLS]": "a tool call is not whole JSON",
    "<|python_tag|>import os": "a tool call is not whole JSON",
    "<|channel|>commentary to=functions.a<|message|>{\"x\": ": "the arguments are not whole JSON",
}  # fmt: skip


@pytest.mark.parametrize("text", BROKEN, ids=lambda text: text[:40])
def test_a_broken_call_says_what_is_wrong(text):
    (call,) = calls_in_text(text)
    assert call.fault.startswith(BROKEN[text])
    assert usable([call]) == []
    assert envs.load("workplace").score(text, WORKPLACE).reason.startswith(f"tool fault: {BROKEN[text]}")
    for name in ("sudoku", "math", "code"):
        row, right, _ = ANSWERS[name]
        said = [
            {"role": "assistant", "content": right, "tool_calls": [{"function": {"name": "submit", "arguments": "{"}}]}
        ]
        assert envs.load(name).score(said, row).reward == 1  # the broken call is left out, the text counts


@pytest.mark.parametrize(
    "text",
    ["", "5", "{}", "[]", "[{}]", '{"name": "Ada"}', '[{"name": "Ada", "arguments": {}}, 3]', "[1, 2]", "```\n5\n```",
     'Here: {"name": "a", "arguments": {}}', '{"name": "a", "arguments": {}} and more', "to=functions.a", "null"],
)  # fmt: skip
def test_what_is_no_call(text):
    assert calls_in_text(text) == []


# --- anything --------------------------------------------------------------------------------------------

PIECES = (
    *(sign for pair in TAGS for sign in pair), *ENDS, "<tool_call>", "</tool_call>", "<function=", "<function=a>",
    "</function>", "<parameter=", "<parameter=x>", "</parameter>", "[TOOL_CALLS]", "[TOOL_CALLS]a[ARGS]", "a[ARGS]{",
    "[CALL_ID]1", "<|python_tag|>", "<|channel|>", "<|message|>", "<|start|>", "<|end|> ", "<|constrain|>", "<|call|>",
    "<|channel|>commentary to=functions.a<|message|>{}", "to=functions.a", "assistantcommentary to=functions.a json{",
    "analysis", "assistant", "assistantfinal", "final", "commentary", '{"name": "a", "arguments": {}};', '"name"',
    '{"name": "a", "arguments": {"x": 1e999}}', "{", "}", "[", "]", ";", ",", "```", "```json\n", "\n", " ", "\t\n",
    "<", '{"a":', "|", "/", "◁", "\ud800", "\x00", "9" * 5000, "1 ", "a", "\ufeff", "é", "NaN",
)  # fmt: skip
texts = st.lists(st.sampled_from(PIECES) | st.text(max_size=8), max_size=30).map("".join)


@many
@given(texts)
def test_no_text_raises_anything(text):
    kept = without_reasoning(text)
    assert isinstance(kept, str) and len(kept) <= len(text)
    for call in calls_in_text(text, numbers=("x",)):
        assert isinstance(call.name, str) and isinstance(call.arguments, dict) and isinstance(call.fault, str)
    for name, (row, *_) in ANSWERS.items():
        assert envs.load(name).score(text, row).reward in (0, 1, None)


leaves = st.none() | st.booleans() | st.integers() | st.floats() | texts | st.binary(max_size=3)
keys = st.sampled_from(("role", "type", "content", "text", "tool_calls", "function", "name", "arguments", "x"))
words = st.sampled_from(("assistant", "function_call", "reasoning", "message", "text", "place", "submit", "{}"))
odd = st.recursive(
    leaves | words,
    lambda some: st.lists(some, max_size=4) | st.dictionaries(keys | words, some, max_size=5) | st.tuples(some, some),
    max_leaves=30,
)


@many
@given(odd | st.lists(st.dictionaries(keys, odd, max_size=6), max_size=5))
def test_no_messages_raise_anything(completion):
    calls, text = calls_and_text(completion)
    assert isinstance(text, str) and all(isinstance(call, Call) for call in calls)
    for name, (row, *_) in ANSWERS.items():
        envs.load(name).score(completion, row)


def test_messages_nested_deeply_raise_nothing():
    deep: list | dict = []
    for _ in range(50_000):
        deep = [deep]
    calls = [deep, {"function": deep}, {"name": deep}, {"name": "a", "arguments": deep}]
    parts = [{"text": deep, "type": deep}]
    for message in ({"type": deep}, {"role": deep}, {"content": deep}, {"content": parts}, {"tool_calls": calls}):
        assert usable(calls_and_text([message])[0]) == []
    while deep:  # taken apart by hand: the interpreter would do it by recursion
        deep = deep.pop()


BEFORE = ("", "analysisW", '"name"<|channel|>to=functions.', "<|python_tag|>to=functions. [TOOL_CALLS]", '"name"```',
          "<think>", "commentary to=functions.x", "<function=")  # fmt: skip
LENGTH, MOST_S = 400_000, 0.3  # characters, CPU seconds


def too_slow(work, text: str) -> bool:
    return all(cpu_s(lambda: work(text)) > MOST_S for _ in range(3))  # a busy machine may slow one of them


@pytest.mark.parametrize("before", BEFORE)
@pytest.mark.parametrize("work", [without_reasoning, calls_in_text])
def test_time_is_linear_in_the_text(work, before):
    for piece in filter(None, PIECES):
        for after in ("", "x", "</think>"):
            assert not too_slow(work, before + piece * (LENGTH // len(piece)) + after), (before, piece, after)


def test_each_copy_reads_text_without_the_rest():
    """Each copy unit reads model text without the rest of the repository."""
    for name in COPIES:
        source = (ROOT / name).read_text(encoding="utf-8")
        block = source.partition(BEGIN)[2].partition(END)[0]
        assert not re.search(r"^\s*(?:from|import)\b", block, re.M)
        assert importlib.import_module(f"envs.{name[:-3].replace('/', '.')}").without_reasoning("a</think>b") == "b"

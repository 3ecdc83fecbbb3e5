"""Trajectories in other shapes: Responses items, NeMo Gym's files, SFT and preference data that TRL takes."""

import json
import re
import subprocess
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from envs import NAMES, load
from helpers.episodes import environment
from helpers.episodes.nemo_gym import from_nemo_gym, to_nemo_gym
from helpers.episodes.responses import to_items, to_messages
from helpers.episodes.training_rows import dpo_rows, save_dataset, sft_rows
from helpers.here import ROOT
from helpers.rollout.policies import OraclePolicy
from helpers.rollout.rollouts import Sampling, rollout
from helpers.tiny_policy import PATH

DATA = ROOT / "tests" / "data" / "nemo_gym"
FILES = ("code_gen", "math_with_judge", "reasoning_gym", "workplace_assistant")
sudoku = load("sudoku")
workplace = load("workplace")


def lines(name):
    return [json.loads(line) for line in (DATA / f"{name}.jsonl").read_text(encoding="utf-8").split("\n") if line]


def call(name, arguments, **more):
    return {"type": "function", "function": {"name": name, "arguments": arguments}} | more


# --- Responses items -------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", [f"{file}_{kind}" for file in FILES for kind in ("rows", "rollouts")])
def test_recorded_items_come_back_as_they_were(name):
    seen = 0
    for row in lines(name):
        for items in (row["responses_create_params"]["input"], row.get("response", {}).get("output", [])):
            messages = to_messages(items)
            assert to_items(messages) == items and to_messages(to_items(messages)) == messages
            seen += len(items)
    assert seen


def test_a_turn_becomes_one_message_and_results_know_their_tool():
    items = [
        {"role": "user", "content": "Who is it?"},
        {"type": "reasoning", "id": "r", "summary": [{"type": "summary_text", "text": "Look it up."}]},
        {"type": "message", "role": "assistant", "status": "completed", "id": "m", "content": [
            {"type": "output_text", "text": "One moment.", "annotations": []}]},
        {"type": "function_call", "call_id": "c1", "name": "find", "arguments": '{"name": "a"}', "status": "completed"},
        {"type": "function_call", "call_id": "c2", "name": "list", "arguments": "{}", "status": "completed"},
        {"type": "function_call_output", "call_id": "c2", "output": "two"},
        {"type": "function_call_output", "call_id": "c1", "output": "one"},
        {"type": "message", "role": "assistant", "status": "incomplete", "content": []},
    ]  # fmt: skip
    user, turn, two, one, last = to_messages(items)
    assert user == {"role": "user", "content": "Who is it?"}
    assert turn["content"] == "One moment." and turn["reasoning_content"] == "Look it up."
    assert [c["id"] for c in turn["tool_calls"]] == ["c1", "c2"] and turn["finish_reason"] == "stop"
    assert (two["name"], two["content"], one["name"]) == ("list", "two", "find") and last["finish_reason"] == "length"
    assert to_items([user, turn, two, one, last]) == items


def test_an_edited_message_is_not_overruled_by_what_it_was():
    (row,) = lines("workplace_assistant_rollouts")[:1]
    messages = to_messages(row["response"]["output"])
    edited = messages[-1] | {"content": "Something else."}
    back = to_messages(to_items([*messages[:-1], edited]))
    assert back[-1]["content"] == "Something else."
    items = to_items([{"role": "assistant", "content": "a", "odd": 1}])
    items[0]["content"][0]["text"] = "b"
    assert to_messages(items)[0]["content"] == "b"


def test_calls_without_ids_are_paired_with_their_results_in_order():
    said = [
        {"role": "assistant", "content": "", "tool_calls": [call("a", {"x": 1}), call("b", "{}")]},
        {"role": "tool", "name": "a", "tool_call_id": "", "content": "1"},
        {"role": "tool", "name": "b", "tool_call_id": "", "content": "2"},
    ]
    a, b, one, two = to_items(said)
    assert a["call_id"] == one["call_id"] != b["call_id"] == two["call_id"] and json.loads(a["arguments"]) == {"x": 1}
    assert to_messages([a, b, one, two]) == said


text = st.text(max_size=8)
calls = st.lists(
    st.builds(
        lambda name, arguments, number: call(name, arguments, **({"id": number} if number else {})),
        text, st.one_of(text, st.dictionaries(text, st.integers(), max_size=2)), st.sampled_from(["", "c1", "c2"]),
    ),
    min_size=1, max_size=2,
)  # fmt: skip
message = st.one_of(
    st.fixed_dictionaries({"role": st.sampled_from(["user", "system", "developer"]), "content": st.one_of(
        text, st.lists(st.builds(lambda t: {"type": "text", "text": t}, text), max_size=2))}),
    st.fixed_dictionaries({"role": st.just("assistant"), "content": st.one_of(text, st.none())}, optional={
        "tool_calls": calls, "finish_reason": st.sampled_from(["stop", "length"]), "reasoning_content": text,
        "refusal": text}),
    st.fixed_dictionaries({"role": st.just("tool"), "content": text}, optional={
        "name": text, "tool_call_id": st.sampled_from(["", "c1", "c9"])}),
)  # fmt: skip
item = st.one_of(
    st.fixed_dictionaries({"role": st.sampled_from(["user", "assistant"]), "content": text}, optional={
        "type": st.just("message"), "id": text}),
    st.fixed_dictionaries({"type": st.just("message"), "role": st.just("assistant"), "content": st.lists(
        st.fixed_dictionaries({"type": st.just("output_text"), "text": text}, optional={"annotations": st.just([])}),
        max_size=2)}, optional={"status": st.sampled_from(["completed", "incomplete", "in_progress"]), "id": text}),
    st.fixed_dictionaries({"type": st.just("function_call"), "call_id": text, "name": text, "arguments": text},
                          optional={"status": st.just("completed"), "id": text}),
    st.fixed_dictionaries({"type": st.just("function_call_output"), "call_id": text, "output": text}),
    st.fixed_dictionaries({"type": st.just("reasoning"), "id": text, "summary": st.just([])}),
    st.fixed_dictionaries({"type": st.just("web_search_call"), "id": text, "action": st.just({"query": "x"})}),
)  # fmt: skip


@settings(max_examples=150, deadline=None)
@given(st.lists(message, max_size=6))
def test_any_messages_come_back_from_items(messages):
    assert to_messages(json.loads(json.dumps(to_items(messages)))) == messages


@settings(max_examples=150, deadline=None)
@given(st.lists(item, max_size=6))
def test_any_items_come_back_from_messages(items):
    assert to_items(json.loads(json.dumps(to_messages(items)))) == items


# --- NeMo Gym --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", [f"{file}_{kind}" for file in FILES for kind in ("rows", "rollouts")])
def test_their_rows_and_rollouts_come_back_as_they_were(name):
    for theirs in lines(name):
        mine = from_nemo_gym(theirs, "theirs")
        assert to_nemo_gym(json.loads(json.dumps(mine))) == theirs
        assert from_nemo_gym(to_nemo_gym(mine), "theirs") == mine
        assert {"prompt", "environment", "task_id", "task"} <= set(mine) and mine["prompt"][-1]["role"] == "user"
        if "response" in theirs:
            assert mine["reward"] == theirs["reward"] and mine["messages"][-1]["role"] == "assistant"
            assert mine["messages"][-1]["content"] == theirs["response"]["output"][-1]["content"][0]["text"]


def test_a_changed_import_keeps_its_changes():
    mine = from_nemo_gym(lines("math_with_judge_rollouts")[0])
    mine |= {"reward": 0.5, "reason": "graded again", "sample": 3, "version": "12345678"}
    theirs = to_nemo_gym(mine)
    assert theirs["reward"] == 0.5 and from_nemo_gym(theirs) == mine


@pytest.mark.parametrize("module", [sudoku, workplace])
def test_our_rows_and_episodes_come_back_from_their_shape(module):
    rows = module.make_rows(4, **({"interactive": True} if module is sudoku else {}))
    episodes = rollout(
        module, rows, OraclePolicy(module, rows), Sampling(tools=True, max_steps=30), name="o", quiet=True
    )
    for mine in rows + episodes:
        theirs = json.loads(json.dumps(to_nemo_gym(mine, module)))
        assert from_nemo_gym(theirs) == mine
        named = [tool["name"] for tool in theirs["responses_create_params"]["tools"]]
        assert named == environment.tools_of(module, mine)
    output = theirs["response"]["output"]
    assert {"function_call", "function_call_output", "message"} == {item["type"] for item in output}
    assert json.loads(mine["task"]).keys() <= theirs.keys()


def test_their_client_types_read_our_response():
    from openai.types.responses import Response

    rows = sudoku.make_rows(2, interactive=True)
    episodes = rollout(sudoku, rows, OraclePolicy(sudoku, rows), Sampling(tools=True), name="o", quiet=True)
    response = to_nemo_gym(episodes[0])["response"]
    read = Response.model_validate(
        response | {"output": [i for i in response["output"] if i["type"] != "function_call_output"]}
    )
    assert read.output[0].type == "function_call" and read.output_text


def test_what_is_no_row_is_refused():
    with pytest.raises(ValueError, match="responses_create_params"):
        from_nemo_gym({"question": "1 + 1?"})


def test_a_prompt_in_plain_text_stays_plain_text():
    theirs = {"responses_create_params": {"input": "hello"}, "answer": "x"}
    assert from_nemo_gym(theirs)["prompt"] == [{"role": "user", "content": "hello"}]
    assert to_nemo_gym(from_nemo_gym(theirs)) == theirs


# --- data to train on ------------------------------------------------------------------------------------


def episode(task, reward, said, **more):
    return {"task_id": task, "reward": reward, "prompt": [{"role": "user", "content": task}], "task": "{}",
            "messages": [{"role": "assistant", "content": said, "finish_reason": "stop"}]} | more  # fmt: skip


def test_sft_rows_are_the_solved_ones_each_answer_once():
    episodes = [episode("a", 1.0, "x"), episode("a", 1.0, "x"), episode("a", 1.0, "y"), episode("b", 0.0, "z"),
                episode("c", None, "u"), episode("d", 0.5, "v")]  # fmt: skip
    assert sft_rows(episodes) == [
        {"prompt": [{"role": "user", "content": "a"}], "completion": [{"role": "assistant", "content": said}]}
        for said in ("x", "y")
    ]


def test_dpo_pairs_are_best_against_worst_without_ties():
    episodes = [episode("a", reward, said) for reward, said in ((0.5, "so"), (1.0, "good"), (0.0, "bad"), (None, "?"))]
    episodes += [episode("b", 1.0, "x"), episode("b", 1.0, "y"), episode("c", 0.0, "x")]
    (pair,) = dpo_rows(episodes)
    assert (pair["chosen"][0]["content"], pair["rejected"][0]["content"]) == ("good", "bad")


def test_balanced_pairs_are_about_equally_long():
    episodes = []
    for n in range(30):
        episodes += [episode(str(n), 1.0, "g" * size) for size in (40, 60, 80)]
        episodes += [episode(str(n), 0.0, "b" * size) for size in (50 + n % 3, 70)]
    gaps = {}
    for balanced in (False, True):
        rows = dpo_rows(episodes, balanced=balanced)
        gaps[balanced] = sum(len(r["chosen"][0]["content"]) - len(r["rejected"][0]["content"]) for r in rows) / len(
            rows
        )
    assert abs(gaps[True]) < 1 < 5 < abs(gaps[False])


@pytest.fixture(scope="module")
def tool_data(tmp_path_factory):
    """Two folders of data with tool calls, as they are read back."""
    from datasets import load_dataset

    rows = workplace.make_rows(6, seed=2)
    good = rollout(
        workplace, rows, OraclePolicy(workplace, rows), Sampling(tools=True, max_steps=30), name="o", quiet=True
    )
    bad = [e | {"reward": 0.0, "messages": [{"role": "assistant", "content": "No."}], "sample": 1} for e in good]
    made = {"sft": sft_rows(good, workplace), "dpo": dpo_rows(good + bad, workplace)}
    home = tmp_path_factory.mktemp("data")
    read = {}
    for name, kind in made.items():
        folder = save_dataset(kind, home / name, title=f"{name} data", about="From the oracle.")
        read[name] = load_dataset(str(folder), split="train", cache_dir=str(home / "cache"))
    return made, read, home


def test_data_with_tool_calls_comes_back_from_its_folder_as_it_was(tool_data):
    made, read, home = tool_data
    for name in made:
        assert read[name].to_list() == made[name] and len(made[name]) == 6
        card = (home / name / "README.md").read_text(encoding="utf-8")
        assert card.startswith("---\nconfigs:") and f"# {name} data" in card and "| `prompt` |" in card
    assert any(m.get("tool_calls") for m in made["sft"][0]["completion"])
    with pytest.raises(ValueError, match="no rows"):
        save_dataset([], home / "none", title="nothing")


TRAIN = """
import sys
from unsloth import FastLanguageModel
from datasets import load_dataset
from trl import DPOConfig, DPOTrainer, SFTConfig, SFTTrainer

common = {"max_steps": 1, "per_device_train_batch_size": 2, "max_length": 512, "bf16": False, "report_to": "none",
          "save_strategy": "no", "gradient_checkpointing": False, "output_dir": sys.argv[2]}
for name, trainer, config in (("sft", SFTTrainer, SFTConfig), ("dpo", DPOTrainer, DPOConfig)):
    model, tokenizer = FastLanguageModel.from_pretrained(sys.argv[3], max_seq_length=512, load_in_4bit=False)
    model = FastLanguageModel.get_peft_model(model, r=4, lora_alpha=4, target_modules=["q_proj"])
    rows = load_dataset(f"{sys.argv[1]}/{name}", split="train", cache_dir=f"{sys.argv[2]}/cache")
    run = trainer(model=model, args=config(**common), train_dataset=rows, processing_class=tokenizer)
    print(name, "loss", run.train().training_loss)
"""


def test_trl_trains_on_both_unchanged(tool_data, tmp_path):
    arguments = [str(tool_data[2]), str(tmp_path), str(PATH)]
    done = subprocess.run(
        [sys.executable, "-c", TRAIN, *arguments], capture_output=True, text=True, cwd=tmp_path, timeout=600
    )
    assert done.returncode == 0, done.stderr[-2000:]
    losses = dict(re.findall(r"(sft|dpo) loss ([\d.]+)", done.stdout))
    assert set(losses) == {"sft", "dpo"} and all(float(loss) > 0 for loss in losses.values())


def test_episodes_with_tools_need_their_environment():
    rows = sudoku.make_rows(1, interactive=True)
    episodes = rollout(sudoku, rows, OraclePolicy(sudoku, rows), Sampling(tools=True), name="o", quiet=True)
    with pytest.raises(ValueError, match="module"):
        sft_rows(episodes)
    (row,) = sft_rows(episodes, sudoku)
    assert [tool["function"]["name"] for tool in row["tools"]] == ["place", "submit"]


def test_schemas_have_one_shape():
    place = sudoku.ENV().place
    own = environment.wire_schema(place)
    flat = {"type": "function", **own["function"]}
    assert environment.wire_schema(own) == environment.wire_schema(flat) == own
    assert set(own["function"]) == {"name", "description", "parameters"}
    assert environment.tool_schema(place)["function"].keys() - own["function"].keys() == {"return"}
    assert environment.responses_schema(place)["name"] == "place"


@pytest.mark.parametrize("name", NAMES)
def test_a_tool_is_described_as_the_trainers_describe_it(name):
    """Demonstrations are rendered with our schemas and rollouts in training with those of Transformers: they must not
    differ, or the model would see another prompt in each."""
    from transformers.utils import get_json_schema

    module = load(name)
    for tool in environment.offered(module, {"task": "{}"} | module.make_rows(1)[0]) + [
        getattr(module.ENV(), tool) for tool in environment.tools_of(module)
    ]:
        assert environment.tool_schema(tool) == get_json_schema(tool)

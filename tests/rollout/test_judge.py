"""Judges: rulings that hostile text cannot dictate, memory, agreement, the hook of the math verifier, reward models."""

import json
import re

import pytest
from http_server import Server, response

from envs import load
from helpers.episodes.estimates import wilson
from helpers.rollout.endpoints import EndpointPolicy
from helpers.rollout.judge import INJECTIONS, Judge, RewardModel, Ruling, agreement, plain, read_ruling
from helpers.tiny_policy import PATH

math = load("math")
WRONG = "the stairs are quicker"
GOLD = "A lift climbs one floor, the stairs take five"
HOSTILE = [text.format(a=WRONG) for text in INJECTIONS]


def tag_of(prompt):
    return re.findall(r'"tag": "(\w+)"', prompt[-1]["content"])[-1]


def blocks_of(prompt):
    """What a reader who takes the rules by the letter finds: the texts, and all that is outside them."""
    tag, text = tag_of(prompt), prompt[-1]["content"]
    found = re.findall(rf"^BEGIN ([a-z ]+) {tag}\n(.*?)\nEND \1 {tag}$", text, re.S | re.M)
    for name, said in found:
        text = text.replace(f"BEGIN {name} {tag}\n{said}\nEND {name} {tag}", "", 1)
    return dict(found), (prompt[0]["content"] + text).replace(tag, "TAG")


def ruling(prompt, verdict, **more):
    return json.dumps({"tag": tag_of(prompt), "reason": "because", "tampering": False, "verdict": verdict} | more)


class Says:
    """A judge's model: a function of the prompt says what it replies."""

    def __init__(self, reply):
        self.reply, self.prompts = reply, []

    def generate(self, conversations, tools=None, **sampling):
        assert sampling["temperature"] == 0
        self.prompts += conversations
        return [{"role": "assistant", "content": self.reply(c)} for c in conversations]


def by_words(prompt):
    """Rules by shared words, as a stand-in for understanding."""
    texts, _ = blocks_of(prompt)
    first, second = (set(re.findall(r"\w+", texts[k].lower())) for k in ("first answer", "second answer"))
    return ruling(prompt, "same" if "lift" in first & second else "different")


# --- hostile text ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("hostile", HOSTILE)
def test_hostile_text_stays_inside_its_lines_and_the_rules_stay_as_they_are(hostile):
    model = Says(by_words)
    judge = Judge(model, name="m")
    assert judge("Why?", GOLD, hostile) is False
    harmless = Says(by_words)
    Judge(harmless, name="m")("Why?", GOLD, "harmless")
    for mine, other in zip(model.prompts[:2], harmless.prompts):
        texts, outside = blocks_of(mine)
        assert outside == blocks_of(other)[1]  # not one letter of the rules depends on what is judged
        assert set(texts) == {"question", "first answer", "second answer"} and plain(hostile) in texts.values()


@pytest.mark.parametrize("hostile", HOSTILE)
def test_a_judge_that_only_repeats_what_it_reads_gives_no_ruling(hostile):
    parrot = Says(lambda prompt: "\n".join(blocks_of(prompt)[0].values()))
    assert Judge(parrot, name="m")("Why?", GOLD, hostile) is None


@pytest.mark.parametrize("hostile", HOSTILE)
def test_special_tokens_in_an_answer_do_not_reach_the_chat_template(hostile):
    from transformers import AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(PATH)
    model = Says(by_words)
    Judge(model, name="m").same([("Why?", GOLD, hostile), ("Why?", GOLD, "harmless")])
    special = set(tokenizer.all_special_ids) | {
        tokenizer.convert_tokens_to_ids(t) for t in ("<|im_start|>", "<|im_end|>")
    }
    counts = []
    for prompt in (model.prompts[0], model.prompts[2]):
        ids = tokenizer.apply_chat_template(prompt, add_generation_prompt=True, return_dict=False)
        counts.append([i for i in ids if i in special])
    assert counts[0] == counts[1] and counts[0]


def test_tampering_that_the_judge_notices_never_passes():
    noticed = Says(lambda p: ruling(p, "same" if "second answer" in p[1]["content"] else "pass", tampering=True))
    judge = Judge(noticed, name="m")
    assert judge("Why?", GOLD, HOSTILE[0]) is False
    assert judge.grade([("Why?", HOSTILE[0])])[0].label == "fail"
    assert Judge(Says(lambda p: ruling(p, "first", tampering=True)), name="m").compare([("Q", "x", "y")]) == [None]


@pytest.mark.parametrize("text", ["a\x00b\x1b[2J", "x\ud800y", "a\u202eb\u200bc\ufeff", "p\r\nq\x85r\u2028s"])
def test_plain_text_has_no_control_characters_and_survives_utf8(text):
    assert plain(text).encode() and not re.search(
        r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b\u2028\u202e\ufeff\r]", plain(text)
    )


def test_plain_text_keeps_mathematics():
    for text in (r"\frac{1}{2} \leq x", "a < b < c", r"\[x^2\]", "[1, 2)", "{1, 2}", "x ≤ ∞, 5 °C"):
        assert plain(text) == text


# --- rulings ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "reply, label",
    [
        ('{"tag": "T", "verdict": "same", "reason": "r"}', "same"),
        ('I think.\n```json\n{"tag": "T", "verdict": " Same "}\n```', "same"),
        ('{"tag": "T", "verdict": "different"} no: {"tag": "T", "verdict": "same"}', "same"),
        ('{"tag": "T", "verdict": "same"} {"tag": "t0", "verdict": "different"}', "same"),
        ('{"verdict": "same"}', None),
        ('{"tag": "t", "verdict": "same"}', None),
        ('{"tag": "T", "verdict": "right"}', None),
        ('{"tag": "T", "verdict": ["same"]}', None),
        ('{"tag": "T"', None),
        ("same", None),
        ("", None),
        ("{" * 5000, None),
        ('{"a":' * 5000, None),
    ],
)  # fmt: skip
def test_a_ruling_counts_only_with_its_tag_and_a_known_label(reply, label):
    assert read_ruling(reply, "T", ("same", "different")).label == label


def test_same_needs_the_same_ruling_in_both_orders():
    short_first = Says(lambda p: ruling(p, "same" if len(blocks_of(p)[0]["first answer"]) < 9 else "different"))
    assert Judge(short_first, name="m")("Q", "short", "quite a bit longer") is None
    assert Judge(Says(lambda p: ruling(p, "unsure")), name="m")("Q", "a", "b") is None


def test_comparisons_see_both_orders_and_a_judge_that_goes_by_place_gives_a_tie():
    def longer(prompt):
        texts = blocks_of(prompt)[0]
        return ruling(prompt, "first" if len(texts["first answer"]) > len(texts["second answer"]) else "second")

    pairs = [("Q", "longer text", "short"), ("Q", "short", "longer text")]
    assert Judge(Says(longer), name="m").compare(pairs) == ["a", "b"]
    assert Judge(Says(lambda p: ruling(p, "first")), name="m").compare(pairs) == ["tie", "tie"]
    assert Judge(Says(lambda p: "no idea"), name="m").compare(pairs) == [None, None]


def test_grades_follow_the_rubric_that_is_given():
    model = Says(lambda p: ruling(p, "pass" if "RHYMES" in p[0]["content"] else "fail"))
    assert Judge(model, name="m", rubric="It RHYMES.").grade([("Q", "A")]) == [Ruling("pass", "because")]
    assert Judge(model, name="m").grade([("Q", "A")])[0].label == "fail"


def test_an_endless_answer_is_not_shown_to_the_judge():
    model = Says(by_words)
    assert Judge(model, name="m")("Q", "gold", "x" * 30_000) is None and not model.prompts


# --- memory ----------------------------------------------------------------------------------------------


def test_rulings_are_remembered_across_sessions_and_failed_ones_are_not(tmp_path):
    path = tmp_path / "rulings.jsonl"
    model = Says(by_words)
    judge = Judge(model, name="m", cache=path)
    assert judge.same([("Q", GOLD, "the lift"), ("Q", GOLD, "nothing"), ("Q", GOLD, "the lift")]) == [True, False, True]
    assert len(model.prompts) == 4
    path.write_bytes(path.read_bytes()[:-5])  # killed while writing
    again = Says(by_words)
    judge = Judge(again, name="m", cache=path)
    assert judge("Q", GOLD, "the lift") is True and not again.prompts
    assert judge("Q", GOLD, "nothing") is False and len(again.prompts) == 1
    assert Judge(again, name="m", cache=path)("Q", GOLD, "nothing") is False and len(again.prompts) == 1
    assert Judge(again, name="other", cache=path)("Q", GOLD, "the lift") is True and len(again.prompts) == 3
    silent = Says(lambda p: "")
    judge = Judge(silent, name="s", cache=path)
    assert judge("Q", "a", "b") is None and judge("Q", "a", "b") is None
    assert len(silent.prompts) == 4 and judge.unruled == 4


# --- agreement -------------------------------------------------------------------------------------------


def test_agreement_counts_what_it_says():
    model = Says(
        lambda p: ruling(
            p, "same" if "yes" in p[1]["content"] else "unsure" if "hm" in p[1]["content"] else "different"
        )
    )
    labels = {"yes 1": True, "yes 2": True, "yes 3": False, "no 1": False, "no 2": True, "hm": False}
    cases = [("Q", "g", found, label) for found, label in labels.items()]
    report = agreement(Judge(model, name="m"), cases)
    assert report["n"] == 6 and report["agreement"] == 0.5 and report["ci95"] == wilson(3, 6)
    assert (report["false_accepts"], report["false_rejects"], report["undecided"]) == (1, 1, 1)
    assert report["kappa"] == pytest.approx((0.6 - 0.52) / (1 - 0.52))
    with pytest.raises(ValueError, match="labelled"):
        agreement(Judge(model, name="m"), [])


# --- with the verifier and over HTTP ---------------------------------------------------------------------


def row_of(gold):
    return {"prompt": [{"role": "user", "content": "Why?"}], "task": json.dumps({"answer": gold})}


def test_the_math_verifier_asks_the_judge_only_what_it_cannot_decide():
    model = Says(by_words)
    judge = Judge(model, name="m")
    assert math.score(r"\boxed{5}", row_of("5"), judge=judge).reward == 1.0
    assert math.score(r"\boxed{6}", row_of("5"), judge=judge).reward == 0.0
    assert not model.prompts
    verdict = math.score(r"\boxed{the lift is quicker}", row_of(GOLD), judge=judge)
    assert verdict.reward == 1.0 and verdict.reason.startswith("judged right") and len(model.prompts) == 2
    assert math.score(rf"\boxed{{{WRONG}}}", row_of(GOLD), judge=judge).reward == 0.0
    assert (
        math.score(r"\boxed{the lift is quicker}", row_of(GOLD), judge=Judge(Says(lambda p: "?"), name="m")).reward
        is None
    )


@pytest.mark.parametrize("hostile", HOSTILE)
def test_no_injection_earns_a_reward_through_the_verifier(hostile):
    for reply in (by_words, lambda prompt: prompt[1]["content"]):
        verdict = math.score(rf"\boxed{{{hostile}}}", row_of(GOLD), judge=Judge(Says(reply), name="m"))
        assert verdict.reward in (0.0, None), verdict


def test_a_judge_behind_an_endpoint():
    def reply(body):
        prompt = [{"content": item["content"]} for item in body["input"]]
        return 200, response(by_words(prompt))

    with Server(*[reply] * 4) as server:
        judge = Judge(EndpointPolicy("m", server.url), name="m")
        assert judge.same([("Q", GOLD, "the lift"), ("Q", GOLD, WRONG)]) == [True, False]
    assert all(body["temperature"] == 0 for _, body, _ in server.seen)


# --- reward models ---------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory):
    """A sequence-classification checkpoint made from the embedded policy, taught to like the word "yes"."""
    import torch
    from transformers import AutoModelForSequenceClassification, AutoTokenizer

    torch.manual_seed(0)
    tokenizer = AutoTokenizer.from_pretrained(PATH)
    model = AutoModelForSequenceClassification.from_pretrained(PATH, num_labels=1, dtype=torch.float32)
    model.config.pad_token_id = tokenizer.pad_token_id or tokenizer.eos_token_id
    tuned = torch.optim.AdamW(model.parameters(), lr=2e-3)
    said = [
        [{"role": "user", "content": f"{n}?"}, {"role": "assistant", "content": w}]
        for n in range(8)
        for w in ("yes", "no")
    ]
    batch = tokenizer(
        [tokenizer.apply_chat_template(c, tokenize=False) for c in said], return_tensors="pt", padding=True
    )
    wanted = torch.tensor([1.0, 0.0] * 8)
    for _ in range(30):
        loss = torch.nn.functional.mse_loss(model(**batch).logits[:, 0], wanted)
        loss.backward()
        tuned.step()
        tuned.zero_grad()
    folder = tmp_path_factory.mktemp("reward")
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def load_checkpoint(folder, **more):
    from transformers import AutoModelForSequenceClassification, AutoTokenizer

    return AutoModelForSequenceClassification.from_pretrained(folder, **more), AutoTokenizer.from_pretrained(folder)


def test_a_reward_model_scores_text_and_messages_whatever_the_batch(checkpoint):
    model, tokenizer = load_checkpoint(checkpoint)
    reward = RewardModel(model, tokenizer)
    prompts = [[{"role": "user", "content": f"{n}?"}] for n in (1, 2, 3, 44)]
    replies = [[{"role": "assistant", "content": text}] for text in ("yes", "no", "yes", "no, and a good deal longer")]
    scores = reward(prompts=prompts, completions=replies, task=["{}"] * 4, trainer_state=None)
    assert scores[0] > scores[1] and scores[2] > scores[1] and all(isinstance(s, float) for s in scores)
    one_by_one = RewardModel(model, tokenizer, batch_size=1)(prompts, replies)
    assert scores == pytest.approx(one_by_one, abs=1e-4)
    assert reward(["1?", "2?"], ["yes", "no"]) == pytest.approx(scores[:2], abs=1e-4)
    assert reward.__name__ == "reward_model"


def test_a_checkpoint_with_several_labels_needs_one_named(checkpoint):
    model, tokenizer = load_checkpoint(checkpoint, num_labels=2, ignore_mismatched_sizes=True,
                                       id2label={0: "bad", 1: "good"}, label2id={"bad": 0, "good": 1})  # fmt: skip
    with pytest.raises(ValueError, match="bad, good; got None"):
        RewardModel(model, tokenizer)
    conversation = [[{"role": "user", "content": "1?"}, {"role": "assistant", "content": "yes"}]]
    (good,), (bad,) = (RewardModel(model, tokenizer, label=w).score(conversation) for w in ("good", "bad"))
    assert 0 < good < 1 and good + bad == pytest.approx(1.0)

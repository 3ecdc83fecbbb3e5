"""The recipe of the embedded policy: `python -m helpers.tiny_policy.build`.

Tokenizer, then pretraining in plain torch on right answers to the project's own tasks, until the policy is half
learned: it answers in the right form and is often wrong, so reinforcement learning has something to select from.
A task joins by a line in MIXTURE; its rows come from `make_rows(split="train")` and its text from `answer`, so
held-out tasks are never seen.
"""

import argparse
import json
import random
import time
from pathlib import Path

from envs import load
from helpers.rollouts import tools_of
from helpers.tiny_policy import PATH

# Share of the examples, environment, knobs of its `make_rows`.
MIXTURE = [
    (0.45, "sudoku", {"blanks": (1, 4)}),
    (0.35, "sudoku", {"blanks": (5, 9)}),
    (0.20, "sudoku", {"blanks": (1, 2), "interactive": True}),
]
SLIPS = 0.5  # share of the demonstrations with a wrong digit or two: the policy stays unsure, so its samples differ
STOP_AT = ("sudoku", {"blanks": (1, 4)}, 0.2)  # environment, knobs, sampled pass@1 on validation rows: stop here

SPECIAL = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
LITERAL = ["<tool_call>", "</tool_call>", '{"name": "', '", "arguments": {', "}}"]  # one token each, for short calls
RESPONSE_TEMPLATE = {  # how transformers and TRL read tool calls out of a reply
    "defaults": {"role": "assistant"},
    "start_anchor": "<|im_start|>assistant\n",
    "fields": {
        "tool_calls": {
            "open": "<tool_call>",
            "close_pattern": r"</tool_call>\s*",
            "repeats": True,
            "content": "json",
            "transform": {"type": "function", "function": "{content}"},
        },
        "content": {"close_pattern": r"<\|im_end\|>\s*", "content": "text"},
    },
}


def slip(text: str, rng: random.Random) -> str:
    """The text with one or two of its digits replaced."""
    digits = [i for i, char in enumerate(text) if char.isdigit()]
    chars = list(text)
    for i in rng.sample(digits, min(len(digits), rng.randint(1, 2))):
        chars[i] = rng.choice([chars[j] for j in digits])
    return "".join(chars)


def conversations(n: int, seed: int) -> list[dict]:
    """`n` solved tasks of the mixture: {"messages": [...], "tools": [functions] or None}, shuffled."""
    rng = random.Random(seed)
    examples = []
    for share, name, knobs in MIXTURE:
        module = load(name)
        for row in module.make_rows(round(n * share), seed, "train", **knobs):
            gold = module.answer(row)
            by_tools = isinstance(gold, list)
            if not by_tools and rng.random() < SLIPS:
                gold = slip(gold, rng)
            examples.append(
                {
                    "messages": row["prompt"] + (gold if by_tools else [{"role": "assistant", "content": gold}]),
                    "tools": [getattr(module.ENV(), name) for name in tools_of(module, row)] if by_tools else None,
                }
            )
    rng.shuffle(examples)
    return examples


def make_tokenizer(examples: list[dict], vocab_size: int = 1024):
    """Byte-level BPE with the pre-tokenizer of the Qwen2 family, which AutoTokenizer rebuilds on loading."""
    from tokenizers.pre_tokenizers import ByteLevel
    from tokenizers.trainers import BpeTrainer
    from transformers import AddedToken, Qwen2Tokenizer

    blank = Qwen2Tokenizer()
    texts = (str(m["content"]) + json.dumps(m.get("tool_calls", "")) for e in examples for m in e["messages"])
    trainer = BpeTrainer(
        vocab_size=vocab_size,
        special_tokens=SPECIAL,
        initial_alphabet=ByteLevel.alphabet(),
        show_progress=False,
        min_frequency=20,
    )
    backend = blank.backend_tokenizer
    backend.train_from_iterator(texts, trainer)
    model = json.loads(backend.to_str())["model"]
    tokenizer = Qwen2Tokenizer(
        vocab=model["vocab"],
        merges=[tuple(m) for m in model["merges"]],
        eos_token="<|im_end|>",
        pad_token="<|endoftext|>",
        unk_token=None,
        model_max_length=2048,
        padding_side="left",
    )
    tokenizer.add_special_tokens({"additional_special_tokens": ["<|im_start|>"]})
    tokenizer.add_tokens([AddedToken(text, special=False, normalized=False) for text in LITERAL])
    tokenizer.chat_template = (PATH / "chat_template.jinja").read_text(encoding="utf-8").strip()
    tokenizer.response_template = RESPONSE_TEMPLATE
    return tokenizer


def encode(examples: list[dict], tokenizer) -> list[tuple[list[int], list[int]]]:
    """Token ids and labels of each conversation; only what the assistant says is learned, -100 elsewhere."""
    encoded = []
    for example in examples:
        out = tokenizer.apply_chat_template(
            example["messages"], tools=example["tools"], return_dict=True, return_assistant_tokens_mask=True
        )
        ids, mask = out["input_ids"], out["assistant_masks"]
        encoded.append((ids, [token if said else -100 for token, said in zip(ids, mask)]))
    return encoded


def batches(encoded: list, batch_size: int, rng: random.Random):
    """Endless shuffled batches of like lengths: (input ids, labels) as tensors, padded on the right."""
    import torch

    while True:
        order = rng.sample(range(len(encoded)), len(encoded))
        window = 16 * batch_size
        for start in range(0, len(order), window):
            near = sorted(order[start : start + window], key=lambda i: len(encoded[i][0]))
            chunks = [near[i : i + batch_size] for i in range(0, len(near), batch_size)]
            rng.shuffle(chunks)
            for chunk in chunks:
                width = max(len(encoded[i][0]) for i in chunk)
                ids = [encoded[i][0] + [0] * (width - len(encoded[i][0])) for i in chunk]
                labels = [encoded[i][1] + [-100] * (width - len(encoded[i][1])) for i in chunk]
                yield torch.tensor(ids), torch.tensor(labels)


def make_model(vocab_size: int, tokenizer):
    """A Qwen2 architecture of 0.7 million parameters: few, wide layers run faster on a CPU than many narrow ones."""
    from transformers import Qwen2Config, Qwen2ForCausalLM

    config = Qwen2Config(
        vocab_size=vocab_size,
        hidden_size=128,
        intermediate_size=384,
        num_hidden_layers=3,
        num_attention_heads=4,
        num_key_value_heads=4,
        max_position_embeddings=2048,
        tie_word_embeddings=True,
        bos_token_id=None,
        eos_token_id=tokenizer.eos_token_id,
        pad_token_id=tokenizer.pad_token_id,
    )
    return Qwen2ForCausalLM(config)


def pass_at_1(model, tokenizer, name: str, knobs: dict, temperature: float, n: int = 192) -> float:
    """Share of completions that solve their validation task."""
    from helpers.policies import LocalPolicy

    module = load(name)
    rows = module.make_rows(n, 0, "validation", **knobs)
    replies = LocalPolicy(model, tokenizer).generate(
        [row["prompt"] for row in rows], max_tokens=64, temperature=temperature
    )
    return sum(module.score(reply["content"], row).reward for reply, row in zip(replies, rows)) / n


def build(out: Path, seed: int, examples: int, batch_size: int, max_minutes: float) -> None:
    """Make the policy and write it to `out`: weights, tokenizer, and what happened as recipe.json."""
    import torch
    from torch.optim.swa_utils import AveragedModel, get_ema_multi_avg_fn
    from transformers import AutoTokenizer

    torch.manual_seed(seed)
    start = time.perf_counter()
    solved = conversations(examples, seed)
    tokenizer = make_tokenizer(solved)
    encoded = encode(solved, tokenizer)
    print(f"{len(encoded):,} examples, {sum(len(i) for i, _ in encoded):,} tokens, vocabulary {len(tokenizer)}")

    model = make_model(len(tokenizer), tokenizer)
    hidden = [p for n, p in model.named_parameters() if p.ndim == 2 and "embed" not in n]
    rest = [p for n, p in model.named_parameters() if p.ndim != 2 or "embed" in n]
    optimizers = [
        torch.optim.Muon(hidden, lr=0.02, weight_decay=0.01),
        torch.optim.AdamW(rest, lr=3e-3, betas=(0.9, 0.95), weight_decay=0.0),
    ]
    base = [o.param_groups[0]["lr"] for o in optimizers]
    average = AveragedModel(model, multi_avg_fn=get_ema_multi_avg_fn(0.98))  # steadier than the last step's weights
    name, knobs, target = STOP_AT
    stream = batches(encoded, batch_size, random.Random(seed))
    history = []
    for step in range(1, 100_000):
        ids, labels = next(stream)
        model.train()
        loss = model(input_ids=ids, labels=labels).loss
        loss.backward()
        for optimizer, lr in zip(optimizers, base):
            optimizer.param_groups[0]["lr"] = lr * min(1, step / 50)
            optimizer.step()
            optimizer.zero_grad()
        average.update_parameters(model)
        if step % 25 == 0:
            sampled, greedy = (pass_at_1(average.module, tokenizer, name, knobs, t) for t in (1.0, 0.0))
            minutes = (time.perf_counter() - start) / 60
            history.append({"step": step, "loss": round(loss.item(), 4), "sampled": sampled, "greedy": greedy})
            print(
                f"step {step:5}  loss {loss.item():.3f}  pass@1 {sampled:.3f}, greedy {greedy:.3f}  {minutes:.1f} min",
                flush=True,
            )
            if sampled >= target or minutes > max_minutes:
                break

    average.module.to(torch.bfloat16).save_pretrained(out)
    tokenizer.save_pretrained(out)
    again = AutoTokenizer.from_pretrained(out)
    for example, (ids, _) in zip(solved[:200], encoded):
        assert again.apply_chat_template(example["messages"], tools=example["tools"])["input_ids"] == ids
    recipe = {"seed": seed, "examples": examples, "batch_size": batch_size, "mixture": MIXTURE, "history": history}
    (out / "recipe.json").write_text(json.dumps(recipe, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=PATH, help="folder to write the model to")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--examples", type=int, default=12_000, help="solved tasks to learn from")
    parser.add_argument("--batch-size", type=int, default=64, help="conversations a step")
    parser.add_argument("--max-minutes", type=float, default=15, help="stop after this time at the latest")
    args = parser.parse_args()
    args.out.mkdir(parents=True, exist_ok=True)
    build(args.out, args.seed, args.examples, args.batch_size, args.max_minutes)

# SPDX-License-Identifier: Apache-2.0
"""The recipe of the embedded policy: `python -m helpers.tiny_policy.build`.

Tokenizer, then pretraining in plain torch on right answers to the project's own tasks, and slips among them, until the
policy is half learned: it answers in the right form and is often wrong, so reinforcement learning has something to
select from.
A task joins by a line in MIXTURE; its rows come from `make_rows(split="train")` and its text from `answer`, so
held-out tasks are never seen.
"""

import argparse
import itertools
import json
import random
import time
from pathlib import Path

from envs import load
from helpers.episodes.environment import tools_of
from helpers.rollout.rollouts import Sampling, rollout
from helpers.tiny_policy import PATH

OFFICE = {"domain": ("email", "calendar"), "difficulty": "starter"}
# Kinds of solved tasks: share of each step's tokens; how many, and how often drawn anew in other words; environment
# and knobs of its `make_rows`; the share of them with a slip, a wrong digit or two, so that the policy stays unsure
# and its samples differ.
MIXTURE = [
    (0.05, 5000, 1, "sudoku", {"blanks": (1, 4)}, 0.6),
    (0.03, 1500, 1, "sudoku", {"blanks": (5, 9)}, 0.6),
    (0.03, 300, 1, "sudoku", {"blanks": (1, 2), "interactive": True}, 0.0),
    (0.29, 2700, 3, "math", {"difficulty": "starter"}, 0.3),
    (0.20, 1600, 1, "code", {"difficulty": "easy"}, 0.0),
    (0.40, 8000, 1, "workplace", OFFICE, 0.25),
]
# Sampled pass@1 as it learns: on how many validation tasks, of which environment and knobs.
WATCHED: list[tuple[int, str, dict]] = [
    (128, "sudoku", {"blanks": (1, 4)}),
    (96, "math", {"difficulty": "starter"}),
    (64, "code", {"difficulty": "easy"}),
    (64, "workplace", OFFICE),
]

LONGEST = 480  # tokens of a conversation; the few longer ones are left out
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
    """The text with one or two of its digits replaced; where it ends in a box, those of what stands in there, wherever
    the text names it."""
    if "\\boxed{" in text:
        found = text.rpartition("\\boxed{")[2].rstrip("}")
        return text.replace(found, slip(found, rng))
    digits = [i for i, char in enumerate(text) if char.isdigit()]
    chars = list(text)
    for i in rng.sample(digits, min(len(digits), rng.randint(1, 2))):
        chars[i] = rng.choice([chars[j] for j in digits])
    return "".join(chars)


def slip_in_call(messages: list[dict], rng: random.Random) -> list[dict]:
    """The conversation with such a slip in one of its last calls."""
    at = max(i for i, message in enumerate(messages) if message.get("tool_calls"))
    call = rng.choice(messages[at]["tool_calls"])
    arguments = call["function"]["arguments"]
    name = rng.choice(list(arguments))
    arguments = arguments | {name: type(arguments[name])(slip(str(arguments[name]), rng))}
    wrong = call | {"function": call["function"] | {"arguments": arguments}}
    calls = [wrong if other is call else other for other in messages[at]["tool_calls"]]
    return messages[:at] + [messages[at] | {"tool_calls": calls}] + messages[at + 1 :]


def conversations(kind: tuple, seed: int, share: float = 1.0) -> list[dict]:
    """Solved tasks of one kind in MIXTURE, or a share of them: {"messages": [...], "tools": [functions] or None}."""
    _, n, times, name, knobs, slips = kind
    rng = random.Random(seed)
    module = load(name)
    examples = []
    drawn = (module.make_rows(round(n * share), times * seed + again, "train", **knobs) for again in range(times))
    for row in itertools.chain.from_iterable(drawn):
        gold = module.answer(row)
        slipped = rng.random() < slips
        if isinstance(gold, str):
            gold = [{"role": "assistant", "content": slip(gold, rng) if slipped else gold}]
            tools = None
        else:
            gold = slip_in_call(gold, rng) if slipped else gold
            tools = [getattr(module.ENV(), tool) for tool in tools_of(module, row)]
        examples.append({"messages": row["prompt"] + gold, "tools": tools})
    return examples


def make_tokenizer(examples: list[dict], vocab_size: int = 1024):
    """Byte-level BPE with the pre-tokenizer of the Qwen2 family, which AutoTokenizer rebuilds on loading."""
    from tokenizers.pre_tokenizers import ByteLevel
    from tokenizers.trainers import BpeTrainer
    from transformers import AddedToken, Qwen2Tokenizer

    blank = Qwen2Tokenizer()
    template = {"chat_template": (PATH / "chat_template.jinja").read_text(encoding="utf-8").strip(), "tokenize": False}
    texts = (blank.apply_chat_template(e["messages"], tools=e["tools"], **template) for e in examples)
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
    tokenizer.chat_template = template["chat_template"]
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
        if len(ids) <= LONGEST:
            encoded.append((ids, [token if said else -100 for token, said in zip(ids, mask)]))
    return encoded


def batches(encoded: list, tokens: int, rng: random.Random):
    """Endless shuffled batches of like lengths and about as many tokens: input ids and labels as tensors, padded on
    the right."""
    import torch

    while True:
        order = rng.sample(range(len(encoded)), len(encoded))
        chunks, size = [[]], 0
        for i in sorted(order, key=lambda i: len(encoded[i][0])):
            size += len(encoded[i][0])
            if size > tokens and chunks[-1]:
                chunks, size = [*chunks, []], len(encoded[i][0])
            chunks[-1].append(i)
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


def pass_at_1(model, tokenizer, name: str, knobs: dict, n: int, temperature: float = 1.0) -> float:
    """Share of episodes that solve their validation task."""
    from helpers.rollout.policies import LocalPolicy

    module = load(name)
    rows = module.make_rows(n, 0, "validation", **knobs)
    by_tools = not isinstance(module.answer(rows[0]), str)  # of these rows: knobs can change it
    sampling = Sampling(tools=by_tools, temperature=temperature, max_tokens=128 if by_tools else 48)
    episodes = rollout(module, rows, LocalPolicy(model, tokenizer), sampling, name=name, quiet=True)
    return sum(episode["reward"] or 0.0 for episode in episodes) / n


def watched(model, tokenizer, rank: int, processes: int) -> dict[str, float]:
    """Sampled pass@1 on the tasks in WATCHED, measured by all processes together."""
    import torch.distributed as dist

    mine = {name: pass_at_1(model, tokenizer, name, knobs, n) for n, name, knobs in WATCHED[rank::processes]}
    found: list = [None] * processes
    dist.all_gather_object(found, mine)
    return {name: rate for part in found for name, rate in part.items()}


def backward(model, parts: list) -> list[float]:
    """Gradients of the mean loss over all learned tokens of a step's batches; returns each batch's own mean loss."""
    import torch

    n_learned = sum((labels[:, 1:] != -100).sum() for _, labels in parts)
    losses = []
    for ids, labels in parts:
        with torch.autocast("cpu", torch.bfloat16):  # twice as fast where the processor has it
            states = model.model(input_ids=ids).last_hidden_state[:, :-1]
            learned = labels[:, 1:] != -100
            logits = model.lm_head(states[learned])  # of learned tokens only, again twice as fast
        loss = torch.nn.functional.cross_entropy(logits.float(), labels[:, 1:][learned], reduction="sum")
        (loss / n_learned).backward()
        losses.append(loss.item() / learned.sum().item())
    return losses


def train(rank: int, args, home: str) -> None:
    """One of the processes that learn together: each takes batches of its own, and gradients are averaged. Every step
    has some of each kind: with one kind a step, each would undo what the others did."""
    import torch
    import torch.distributed as dist
    from torch.optim.swa_utils import AveragedModel, get_ema_multi_avg_fn

    torch.set_num_threads(1)
    torch.manual_seed(args.seed)
    dist.init_process_group("gloo", init_method=f"file://{home}/meet", rank=rank, world_size=args.processes)
    start = time.perf_counter()
    solved = [conversations(kind, args.seed + i, args.share) for i, kind in enumerate(MIXTURE)]
    tokenizer = make_tokenizer([example for kind in solved for example in kind])
    encoded = [encode(kind, tokenizer) for kind in solved]
    rngs = [random.Random(args.seed + rank) for _ in MIXTURE]
    streams = [batches(kind, args.tokens * share, rng) for (share, *_), kind, rng in zip(MIXTURE, encoded, rngs)]
    model = make_model(len(tokenizer), tokenizer)
    hidden = [p for n, p in model.named_parameters() if p.ndim == 2 and "embed" not in n]
    rest = [p for n, p in model.named_parameters() if p.ndim != 2 or "embed" in n]
    optimizers = [
        torch.optim.Muon(hidden, lr=0.02, weight_decay=0.01),
        torch.optim.AdamW(rest, lr=3e-3, betas=(0.9, 0.95), weight_decay=0.0),
    ]
    base = [o.param_groups[0]["lr"] for o in optimizers]
    average = AveragedModel(model, multi_avg_fn=get_ema_multi_avg_fn(0.98))  # steadier than the last step's weights
    if rank == 0:
        print(f"{sum(len(ids) for kind in encoded for ids, _ in kind) / 1e6:.1f} million tokens, vocabulary "
              f"{len(tokenizer)}, {model.num_parameters():,} parameters", flush=True)  # fmt: skip
    history = []
    for step in range(1, args.steps + 1):
        model.train()
        losses = backward(model, [next(stream) for stream in streams])
        for parameter in model.parameters():
            dist.all_reduce(parameter.grad)
            parameter.grad /= args.processes
        for optimizer, lr in zip(optimizers, base):
            optimizer.param_groups[0]["lr"] = lr * min(1, step / 50, (args.steps - step) / (0.3 * args.steps) + 0.01)
            optimizer.step()
            optimizer.zero_grad()
        average.update_parameters(model)
        if step % args.every == 0 or step == args.steps:
            seen = watched(average.module, tokenizer, rank, args.processes)
            history.append({"step": step, "losses": [round(loss, 3) for loss in losses]} | seen)
            if rank == 0:
                rates = ", ".join(f"{name} {rate:.2f}" for name, rate in seen.items())
                print(f"step {step:5}  {rates}  {(time.perf_counter() - start) / 60:.1f} min", flush=True)
    if rank == 0:
        recipe = {"seed": args.seed, "mixture": MIXTURE, "history": history}
        (args.out / "recipe.json").write_text(json.dumps(recipe, indent=1) + "\n", encoding="utf-8")
        average.module.to(torch.bfloat16).save_pretrained(args.out)
        save_tokenizer(tokenizer, args.out, solved)


def save_tokenizer(tokenizer, out: Path, solved: list[list[dict]]) -> None:
    """Save it, and make sure that what is loaded again splits texts in the same way."""
    from transformers import AutoTokenizer

    tokenizer.save_pretrained(out)
    again = AutoTokenizer.from_pretrained(out)
    for example in [example for kind in solved for example in kind[::50]]:
        texts = [t.apply_chat_template(example["messages"], tools=example["tools"]) for t in (tokenizer, again)]
        assert texts[0]["input_ids"] == texts[1]["input_ids"]


if __name__ == "__main__":
    import tempfile

    import torch.multiprocessing

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=PATH, help="folder to write the model to")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--share", type=float, default=1.0, help="of the mixture's examples")
    parser.add_argument("--steps", type=int, default=2200)
    parser.add_argument("--tokens", type=int, default=2400, help="in a batch of one process")
    parser.add_argument("--every", type=int, default=550, help="steps between measurements")
    parser.add_argument("--processes", type=int, default=2, help="cores to learn on")
    args = parser.parse_args()
    args.out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as home:
        torch.multiprocessing.spawn(train, (args, home), nprocs=args.processes)

"""GRPO runs that fail, and one that works, made on the embedded policy: the curves at the end of notebooks 05 and 06.

    python tests/bench/what_fails.py [--steps 60] [--only NAME] [--out docs/what_fails]

All runs differ from the one that works in one thing only. Each leaves the history of its training, and results.json
says how it was made, what the held-out tasks say before and after GRPO, and what became of other environments.
"""

import argparse
import json
import re
import subprocess
import sys
import tempfile
from hashlib import sha256
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

# What is told of each run. `sign` is the quantity, a key of the history, in which the failure shows.
RUNS = {
    "works": {
        "title": "works: short warm-up, strict reward",
        "sign": "reward",
        "says": "reward rises, and so does what is held out",
    },
    "confidently_wrong": {
        "title": "confidently wrong: a long warm-up on demonstrations that fill every blank with 1",
        "sign": "dead_groups",
        "says": "nearly all groups are dead from the first step: sure of itself, and wrong",
        "warm_up": {"times": 3, "rate": 3, "wrong": True},
    },
    "learning_rate": {
        "title": "learning rate too high: thirty times as high",
        "sign": "entropy",
        "says": "entropy jumps within a few steps, and reward falls to nothing",
        "rate": 30,
    },
    "lenient_reward": {
        "title": "lenient reward: only the first row is compared",
        "sign": "strict",
        "says": "it pays twice what the strict verdict on the same answers gives",
        "lenient": True,
    },
    "long_warm_up": {
        "title": "long warm-up: five times the demonstrations at three times the learning rate",
        "sign": "entropy",
        "says": "entropy starts below where the good run ends: little left to select",
        "warm_up": {"times": 5, "rate": 3},
    },
}
KEPT = ("step", "reward", "strict", "entropy", "dead_groups", "group_spread", "completions/mean_length",
        "completions/clipped_ratio", "grad_norm", "step_s", "reward_s")  # fmt: skip
SEED = 0


def lenient(completions, task, **_) -> list[float]:
    """A reward with a hole that graders in the wild have: a pattern that finds the first line only, so what stands in
    the other rows does not matter."""
    from envs import load

    sudoku, rewards = load("sudoku"), []
    for completion, one in zip(completions, task):
        wanted = sudoku.answer({"task": one}).split("\n")[0]
        found = re.search(r"^[1-4_ ]+$", completion[-1]["content"], re.M)
        rewards.append(float(bool(found) and found[0] == wanted))
    return rewards


def wrong(row: dict) -> dict:
    """A demonstration with a systematic mistake: every blank is filled with 1."""
    said = json.loads(row["task"])["puzzle"].replace("_", "1")
    return {"prompt": row["prompt"], "completion": [{"role": "assistant", "content": said}]}


def train(name: str, steps: int, out: Path) -> dict:
    """One run in this process: warm-up, GRPO, measurements. Returns what results.json says of it."""
    # isort: off
    from unsloth import FastLanguageModel  # first: it patches what follows

    # isort: on
    from datasets import Dataset
    from transformers import PrinterCallback
    from trl import GRPOConfig, GRPOTrainer, SFTConfig, SFTTrainer

    from envs import load
    from helpers.episodes import training_rows
    from helpers.measure import evaluation
    from helpers.rollout.policies import LocalPolicy, model_path
    from helpers.rollout.rollouts import Sampling, rollout
    from helpers.train import profiles
    from helpers.train.recording import Recorder

    about, env, scratch = RUNS[name], load("sudoku"), Path(tempfile.mkdtemp())
    cfg = profiles.settings("cpu", grpo_steps=steps)
    warm = {"times": 1, "rate": 1, "wrong": False} | about.get("warm_up", {})

    def with_adapter(where: str):
        policy, tokenizer = FastLanguageModel.from_pretrained(where, **profiles.load_args(cfg))
        lora = {"r": cfg.lora_rank, "lora_alpha": 2 * cfg.lora_rank, "target_modules": profiles.LORA_TARGETS}
        return FastLanguageModel.get_peft_model(
            policy, use_gradient_checkpointing=False, random_state=SEED, **lora
        ), tokenizer

    def measure(policy, called: str) -> dict:
        """Held-out episodes of the trained environment and two others."""
        found = {}
        for other in ("sudoku", "math", "code"):
            module = load(other)
            rows = module.make_rows(cfg.eval_rows, seed=SEED, split="test", difficulty=module.DIFFICULTIES[0])
            limits = Sampling(samples=2 if module is env else 1, seed=SEED, max_tokens=cfg.max_tokens)
            found[other] = rollout(module, rows, LocalPolicy(policy, tokenizer), limits, name=called, quiet=True)
        return found

    policy, tokenizer = with_adapter(model_path("tiny"))
    shown = env.make_rows(warm["times"] * cfg.sft_steps * cfg.sft_batch_size, seed=SEED)
    data = [wrong(row) for row in shown] if warm["wrong"] else training_rows.demonstrations(env, shown)
    args = SFTConfig(
        max_steps=warm["times"] * cfg.sft_steps, learning_rate=warm["rate"] * cfg.sft_learning_rate, seed=SEED,
        lr_scheduler_type="cosine", per_device_train_batch_size=cfg.sft_batch_size, **profiles.quiet_args(cfg, scratch),
    )  # fmt: skip
    trainer = SFTTrainer(model=policy, processing_class=tokenizer, train_dataset=Dataset.from_list(data), args=args)
    trainer.remove_callback(PrinterCallback)
    trainer.train()
    policy.save_pretrained_merged(str(scratch / "model"), tokenizer, save_method="merged_16bit")
    policy, tokenizer = with_adapter(str(scratch / "model"))
    before = measure(policy, "before")

    def strict(completions, **columns):
        return env.reward(completions=completions, **columns)

    rows = env.make_rows(steps * cfg.prompts_per_step, seed=SEED)
    recorder = Recorder(scratch / "history.jsonl", steps, name)
    trainer = GRPOTrainer(
        model=policy, processing_class=tokenizer, train_dataset=Dataset.from_list(rows), callbacks=[recorder],
        reward_funcs=[recorder.watch(lenient if about.get("lenient") else env.reward, cfg.group_size), strict],
        args=GRPOConfig(
            learning_rate=about.get("rate", 1) * cfg.grpo_learning_rate, lr_scheduler_type="linear", temperature=1.0,
            seed=SEED, reward_weights=[1.0, 0.0], **profiles.shape(cfg, len(rows)), **profiles.objective("dapo"),
            **profiles.quiet_args(cfg, scratch),
        ),
    )  # fmt: skip
    trainer.remove_callback(PrinterCallback)
    ended = "as planned"
    try:
        trainer.train()
    except FloatingPointError as error:  # what the recorder stops a run with
        ended = str(error)
    after = measure(policy, "after")
    with (out / f"{name}.jsonl").open("w", encoding="utf-8") as file:
        for row in recorder.rows:
            row["strict"] = row["rewards/strict/mean"]
            file.write(json.dumps({key: round(row[key], 4) for key in KEPT if key in row}) + "\n")
    changes = {}
    for other, episodes in before.items():
        change = evaluation.compare(episodes, after[other])
        changes[other] = change | {"fixed": len(change["fixed"]), "broken": len(change["broken"])}
    return {"name": name, "ended": ended, "changes": changes} | {key: about[key] for key in ("title", "sign", "says")}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--steps", type=int, default=60)
    parser.add_argument("--only", choices=list(RUNS))
    parser.add_argument("--out", default="docs/what_fails")
    args = parser.parse_args()
    out = ROOT / args.out
    out.mkdir(parents=True, exist_ok=True)
    if args.only:
        (out / f"{args.only}.json").write_text(json.dumps(train(args.only, args.steps, out)), encoding="utf-8")
        return 0
    from helpers.run.results import versions

    weights = sha256((ROOT / "helpers" / "tiny_policy" / "model.safetensors").read_bytes()).hexdigest()[:8]
    made = {"policy": f"tiny {weights}", "environment": "sudoku", "steps": args.steps, "seed": SEED}
    made |= {"versions": versions()}
    results, runs = out / "results.json", []
    if results.is_file() and (kept := json.loads(results.read_text(encoding="utf-8")))["made"] == made:
        runs = kept["runs"]  # an interrupted series goes on
    for name in RUNS:  # each in a process of its own, so that none leaves anything to the next
        if name in {run["name"] for run in runs}:
            continue
        part = out / f"{name}.json"
        if not part.is_file():
            command = [sys.executable, __file__, "--only", name, "--steps", str(args.steps), "--out", args.out]
            subprocess.run(command, check=True, cwd=ROOT)
        runs.append(json.loads(part.read_text(encoding="utf-8")))
        results.write_text(json.dumps({"made": made, "runs": runs}, indent=1) + "\n", encoding="utf-8")
        part.unlink()
    return 0


if __name__ == "__main__":
    sys.exit(main())
